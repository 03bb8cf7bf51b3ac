"""Figures in the README and the guides are those of files that a command wrote."""

import json
import re
from pathlib import Path

import pytest
from bench.evidence import report, rule, run

ROOT = Path(__file__).parents[1]
PAGES = [p for p in (ROOT / "README.md", ROOT / "docs/choosing.md") if p.exists()]
RESULTS = [
    *ROOT.glob("bench/results/*.*"),
    ROOT / "bench/paper/RESULTS.md",
    ROOT / "bench/paper/results.json",
]
FIGURE = re.compile(r"([+−-]?)(\d*\.?\d+) ± (\d*\.?\d+)")
CHANGE = re.compile(r"(\d*\.\d+) → (\d*\.\d+)")
MEANS = ("mean", "value", "ours", "gain", "beyond")
LONGEST = 3_000_000


# What a page may call a data set, and how results files name it.
DATA = {
    "kepler": ("kepler",),
    "breast cancer": ("wdbc", "breast"),
    "wdbc": ("wdbc",),
    "sdss": ("sdss", "quasar"),
    "mnist": ("mnist",),
    "vowels": ("vowel", "frames"),
    "eeg": ("eeg",),
    "tv news": ("tv",),
}


def in_json(node, where=""):
    """All (where, mean, standard error) of a tree."""
    if isinstance(node, dict):
        where += " ".join(str(v) for v in node.values() if isinstance(v, str))
        if isinstance(node.get("se"), float):
            yield from ((where, node[k], node["se"]) for k in MEANS if isinstance(node.get(k), float))
        for key, item in node.items():
            yield from in_json(item, f"{where} {key}")
    elif isinstance(node, list):
        for item in node:
            yield from in_json(item, where)


def in_text(text):
    """The same of a page; where: its last heading and the line, and the heads of its table."""
    heading = head = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line
        head = head if line.startswith("|") and head else line
        for _, mean, se in FIGURE.findall(line):
            yield f"{heading} {head} {line}", float(mean), float(se)


def measured():
    for path in RESULTS:
        text = path.read_text(encoding="utf-8") if path.suffix in (".json", ".md") else ""
        found = in_json(json.loads(text)) if path.suffix == ".json" else in_text(text)
        yield from ((where.lower(), mean, se) for where, mean, se in found)


def figures(page):
    """(data sets that it may be of, mean, standard error) of each figure, as printed."""
    for line in page.read_text(encoding="utf-8").splitlines():
        for match in FIGURE.finditer(line):
            cell = line[: match.start()].rpartition("|")[2].lower()
            yield named_in(cell, line), match[2], match[3]


def named_in(cell, line):
    """Return how results files may name the data set that a figure is of."""
    near = max(DATA, key=cell.rfind)
    words = [near] if near in cell else [word for word in DATA if word in line.lower()]
    return [name for word in words for name in DATA[word]]


def digits(text):
    return len(text.partition(".")[2])


def is_rounded(printed, exact, scale):
    """Whether the figure is `exact` in its units (100: points), rounded; half a digit either way."""
    return abs(float(printed) - scale * abs(exact)) <= 0.5 * 10.0 ** -digits(printed) + 1e-4 * scale


def test_rounding_is_told_from_another_figure():
    assert is_rounded("3.1", 0.0311, 100) and is_rounded("0.005", 0.0053, 1)
    assert not is_rounded("2.6", 0.0251, 100) and not is_rounded("0.8", 0.0075, 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_with_an_error_is_in_a_results_file(page):
    found = list(measured())
    missing = [
        f"{mean} ± {se}"
        for names, mean, se in figures(page)
        if not any(
            is_rounded(mean, m, scale) and is_rounded(se, e, scale)
            for where, m, e in found
            if not names or any(name in where for name in names)
            for scale in (1, 100)
        )
    ]
    assert not missing, f"{page.name}: no results file has {missing}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_both_ends_of_a_change_are_in_a_results_file(page):
    found = list(measured())
    changes = 0
    for line in page.read_text(encoding="utf-8").splitlines():
        for match in CHANGE.finditer(line):
            names = named_in(line[: match.start()].rpartition("|")[2].lower(), line)
            for printed in match.groups():
                assert any(
                    is_rounded(printed, m, scale)
                    for where, m, _ in found
                    if any(name in where for name in names)
                    for scale in (1, 100)
                ), f"{page.name}: no results file has {printed}"
            changes += 1
    assert changes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_results_that_a_page_links_to_are_there(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?:\.\./)?(bench/[^)#]+|docs/images/[^)#]+)\)", text):
        assert (ROOT / link).exists(), f"{page.name}: there is no {link}"


def test_the_evidence_is_what_its_records_say_and_the_readme_repeats_it():
    path = ROOT / "bench/results/evidence.jsonl"
    assert path.stat().st_size < LONGEST
    figures = rule.summary(run.read(path))
    written = (path.parent / "evidence.md").read_text(encoding="utf-8")
    assert written == report.page(figures, False, f"../../docs/images/{report.CURVES}")
    block = report.between((ROOT / "README.md").read_text(encoding="utf-8"))
    assert block == report.block(figures), "run python -m bench.evidence --report"
