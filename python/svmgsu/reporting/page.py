"""The page of a report: one HTML file without a script, a network address or anything that is not escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import figures
from .result import Feature, Report

STYLE = Path(__file__).with_name("page.css")
MOST_ROWS = 30  # of features in the table
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


class Cell(str):
    """A cell that holds a number, and stands on the right."""


def page_of(found: Report, *, times: bool) -> str:
    """The whole page."""
    parts = [
        f"<h1>{text(found.title)}</h1>",
        _answer(found),
        _models(found, times),
        _recommended(found),
        _data(found),
        _reliability(found),
        _weights(found),
        _doubtful(found),
        _what_if(found),
        _notes(found, times),
    ]
    body = "\n".join(part for part in parts if part)
    return PAGE.format(title=text(found.title), style=STYLE.read_text(encoding="utf-8"), body=body)


def text(value: Any) -> str:
    """Any text, so that nothing in it is markup."""
    shown = html.escape(str(value), quote=True)
    # What HTML does not allow: control characters, and halves of characters.
    return "".join(
        c if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff") else "\ufffd" for c in shown
    )


def paragraph(*words: Any, kind: str | None = None) -> str:
    own = f' class="{kind}"' if kind else ""
    return f"<p{own}>{text(' '.join(map(str, words)))}</p>"


def section(title: str, *parts: str) -> str:
    name = title.lower().replace(" ", "-").replace(",", "").replace("?", "")
    inner = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{text(title)}</h2>\n{inner}\n</section>'


def figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{text(caption)}</figcaption></figure>"


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[Any]], taken: int | None = None) -> str:
    """A table whose first column names its rows; numbers stand on the right."""
    numeric = [bool(rows) and all(isinstance(row[k], Cell) for row in rows) for k in range(len(head))]
    kinds = [' class="number"' if is_number else "" for is_number in numeric]
    lines = [
        "".join(f'<th scope="col"{kind}>{text(name)}</th>' for name, kind in zip(head, kinds, strict=True))
    ]
    for row in rows:
        own = [' class="words"' if not k and len(str(v)) > 30 else k for v, k in zip(row, kinds, strict=True)]
        cells = [f"<td{kind}>{text(value)}</td>" for value, kind in zip(row[1:], own[1:], strict=True)]
        lines.append(f'<th scope="row">{text(row[0])}</th>{"".join(cells)}')
    body = "\n".join(
        f"<tr{' class=taken' if k == taken else ''}>{line}</tr>" for k, line in enumerate(lines[1:])
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(caption)}"><table>\n'
        f"<caption>{text(caption)}</caption>\n<thead><tr>{lines[0]}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def number(value: float | None, digits: int = 3) -> Cell:
    return Cell("–" if value is None else f"{value:.{digits}g}")


def with_error(value: float | None, error: float | None) -> Cell:
    """value ± error, to the error's second digit."""
    if value is None:
        return Cell("–")
    if error is None or not error > 0:
        return number(value)
    from math import floor, log10

    places = max(0, 1 - floor(log10(error)))
    if places > 6 or abs(value) >= 1e6:
        return Cell(f"{value:.3g} ± {error:.1g}")
    return Cell(f"{value:.{places}f} ± {error:.{places}f}")


def _answer(found: Report) -> str:
    said = [paragraph(found.advice.verdict), paragraph("Recommended:", found.advice.name + ".")]
    return "\n".join(['<div class="answer">', *said, "</div>"])


def _models(found: Report, times: bool) -> str:
    timed = times and any(system.seconds is not None for system in found.systems)
    head = ["model", found.measure, "change", found.second_measure, "trained on"] + ["seconds"] * timed
    rows, taken = [], None
    for k, system in enumerate(found.systems):
        if system.key == found.advice.system:
            taken = k
        change = with_error(system.difference, system.difference_error)
        row = [
            system.name,
            with_error(system.score, system.score_error),
            change,
            with_error(system.second, system.second_error),
            Cell(system.trained_on or "–"),
        ]
        rows.append(row + ([number(system.seconds, 2)] if timed else []))
    settings = found.settings
    apart = ", objects of a group always on one side" if settings.get("groups") else ""
    failed = [f"{s.name} failed: {s.failure}" for s in found.systems if s.failure]
    return section(
        "Do they help?",
        paragraph(
            f"Each model was trained and tested in the same {settings.get('folds')} folds{apart}; every "
            f"object was held out once. Less {found.measure} is better. The change is to the first model, on "
            "the same objects. ± is a standard error over held-out objects; it does not count what another "
            "training sample would change."
        ),
        figure(figures.comparison(found), "The diamond is the recommended model."),
        table("Models on held-out objects", head, rows, taken),
        *[paragraph(line, kind="remark") for line in failed],
        *_system_notes(found),
    )


def _system_notes(found: Report) -> list[str]:
    lines = [f"{system.name}: {note}" for system in found.systems for note in system.notes]
    return ["<ul>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>"] if lines else []


def _recommended(found: Report) -> str:
    return section(
        "The model to use",
        paragraph(found.advice.name + ".", found.advice.reason),
        f"<pre><code>{text('import svmgsu')}\n{text(found.advice.code)}</code></pre>",
    )


def _data(found: Report) -> str:
    about = found.table
    rows: list[list[Any]] = [["objects", Cell(about.examples)], ["features", Cell(about.features)]]
    rows.append(["features with error bars", Cell(about.with_bars)])
    if about.median_ratio is not None:
        rows.append(["typical error / spread (median feature)", number(about.median_ratio, 2)])
    rows += [[f"class {label}", Cell(count)] for label, count in list(about.classes.items())[:MOST_ROWS]]
    rows += [[f"target, {name}", number(value, 4)] for name, value in about.target.items()]
    bars = any(f.error is not None for f in found.features)
    chosen = _worth_showing(found.features)
    head = ["feature", "spread"] + (["typical error", "error / spread"] if bars else []) + ["remarks"]
    each = [
        [f.name, number(f.spread)]
        + ([number(f.error), number(f.ratio, 2)] if bars else [])
        + ["; ".join(f.remarks) or "–"]
        for f in chosen
    ]
    rest = len(found.features) - len(chosen)
    return section(
        "The data and their error bars",
        table("The table", ["what", "how many"], rows),
        paragraph(
            f"{about.with_bars} of {about.features} features have error bars; the rest is taken as certain."
            if bars
            else "No feature has error bars."
        ),
        figure(figures.sizes(found.features), "How large the error bars are beside the spread of the values.")
        if any(f.ratio is not None for f in found.features)
        else "",
        table("Features", head, each),
        paragraph(f"{rest} more features are not shown; nothing is to be said of them.") if rest else "",
    )


def _worth_showing(features: list[Feature]) -> list[Feature]:
    if len(features) <= MOST_ROWS:
        return features
    order = sorted(features, key=lambda f: (-len(f.remarks), -(f.ratio or 0.0)))
    return order[:MOST_ROWS]


def _reliability(found: Report) -> str:
    curve = found.reliability
    if curve is None:
        return ""
    names = list(curve.stated)
    if found.task == "regression":
        rows = [
            [f"{level:.0%}", *[Cell(f"{curve.observed[name][k]:.1%}") for name in names]]
            for k, level in enumerate(curve.stated[names[0]])
        ]
        head = ["interval", *names]
    else:
        rows = [[name, Cell(f"{curve.error[name]:.4f}"), Cell(sum(curve.count[name]))] for name in names]
        head = ["probabilities", "mean distance from the truth", "objects"]
    return section(
        "Can its certainty be trusted?",
        paragraph(
            f"{curve.model}, on held-out objects: what it stated against what came true. On the diagonal it "
            "is right; below it, it is too sure."
        ),
        figure(figures.reliability(curve), f"Observed against stated: {curve.what}."),
        table("Reliability", head, rows),
    )


def _weights(found: Report) -> str:
    known = [f for f in found.features if f.weight is not None]
    if not known:
        return ""
    several = len(found.table.classes) > 2
    order = sorted(known, key=lambda f: -abs(f.weight or 0.0))[:MOST_ROWS]
    return section(
        "What the features weigh",
        paragraph(
            "Weights of the linear model, of features in units of their spread",
            "(root mean square over the pairs of classes)."
            if several
            else "(positive: towards the "
            + (f"class {list(found.table.classes)[-1]})." if found.table.classes else "greater target)."),
            "± is a jackknife error over the folds.",
        ),
        figure(figures.weights(found.features), "The largest weights."),
        table(
            "Weights", ["feature", "weight"], [[f.name, with_error(f.weight, f.weight_error)] for f in order]
        ),
    )


def _doubtful(found: Report) -> str:
    if not found.doubtful:
        return ""
    classes = found.task == "classification"
    rows = []
    for one in found.doubtful:
        truth, said = (v if classes else number(v, 4) for v in (one.truth, one.said))
        sure = [Cell(f"{v:.0%}" if classes else f"{v:.3g}") for v in (one.now, one.exact)]
        rows.append([one.id, truth, said, *sure, one.feature or "–"])
    head = ["object", "class" if classes else "target", "said"]
    head += ["sure of it", "if measured exactly"] if classes else ["deviation", "if measured exactly"]
    return section(
        "Objects in doubt because of their noise",
        paragraph(
            "These would gain most if they were measured again, better: how sure the model is now, and how "
            "sure it would be, on average over what they may be, if they were known exactly."
            if classes
            else "These would gain most if they were measured again, better: the deviation of the "
            "prediction now, and if they were known exactly."
        ),
        table("Objects to measure again", [*head, "largest error bar"], rows),
    )


def _what_if(found: Report) -> str:
    curve = found.what_if
    if curve is None:
        return ""
    rows = [
        [f"{factor:g} ×", with_error(score, error), "measured" if was else "modelled"]
        for factor, score, error, was in zip(
            curve.factors, curve.scores, curve.errors, curve.measured, strict=True
        )
    ]
    gained = sorted((f for f in found.features if f.gain is not None), key=lambda f: -(f.gain or 0.0))
    parts = [
        paragraph(
            f"{curve.model}. Larger bars are measured, with noise added to held-out objects.",
            "Smaller ones are modelled: objects are drawn from the population behind the data, the model "
            "says what they would be, and the change is set on the score that was measured."
            if not all(curve.measured)
            else "Of smaller ones see the notes.",
            "Errors are those of the change.",
        ),
        figure(figures.what_if(found), f"The {found.measure} if all error bars were smaller or larger."),
        table("What if", ["error bars", found.measure, "how"], rows),
    ]
    if gained:
        parts += [
            figure(figures.gains(found.features, found.measure), "Halving the error bars of one feature."),
            table(
                "Where better measurements pay",
                ["feature", f"fall of {found.measure}, bars halved"],
                [[f.name, with_error(f.gain, f.gain_error)] for f in gained],
            ),
        ]
    return section("What if the bars were smaller or larger?", *parts)


def _notes(found: Report, times: bool) -> str:
    lines = list(found.notes)
    settings = found.settings
    how = "quickly (fewer objects, folds and trees)" if settings.get("quick") else "in full"
    lines.append(f"Made {how} with seed {settings.get('seed')}.")
    if times and found.seconds is not None:
        lines.append(f"It took {found.seconds:.0f} s.")
    return section("Notes", "<ul>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>")
