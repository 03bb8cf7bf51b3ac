"""How the time of a pass grows with the examples, the features and the threads."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from .passes import moving, random_sparse, some_point
from .problems import Problem, full, noisy_rule, plain
from .rivals import our_objective
from .rows import LAM, Case, Row, Settings, slope, team
from .timing import race

GROWTH = 1.1  # of the exponent: 1 is linear, and a little is left to noise

Curve = list[tuple[float, float]]


def cases(settings: Settings) -> list[Case]:
    growth = [
        Case("growth with l", partial(examples, settings)),
        Case("growth with n", partial(features, settings)),
        Case("growth with n, CSR", partial(sparse_features, settings)),
        Case("growth with the non-zeros", partial(non_zeros, settings)),
    ]
    return growth if settings.threads == 1 else [*growth, Case("threads", partial(threads, settings))]


def half_decades(first: int, last: int) -> list[int]:
    count = round(2 * np.log10(last / first)) + 1
    return [round(size) for size in np.geomspace(first, last, count)]


def examples(settings: Settings) -> list[Row]:
    n = 30
    sizes = half_decades(10**3, 10**5 if settings.quick else 10**6)
    whole = plain(sizes[-1], n, seed=0)
    assert whole.variances is not None
    problems = (
        (count, Problem(whole.X[:count], whole.y[:count], whole.variances[:count])) for count in sizes
    )
    return [grown(f"growth with l, diagonal, n = {n}", curves(settings, problems))]


def features(settings: Settings) -> list[Row]:
    count = 1000 if settings.quick else 5000
    sizes = half_decades(10, 10**3 if settings.quick else 10**4)
    problems = ((n, plain(count, n, seed=0)) for n in sizes)
    return [grown(f"growth with n, diagonal, l = {count}", curves(settings, problems))]


def sparse_features(settings: Settings) -> list[Row]:
    """A hundredth of the numbers are not zero."""
    count = 1000 if settings.quick else 5000
    sizes = half_decades(10**3, 10**4 if settings.quick else 10**5)
    problems = ((n, Problem(*random_sparse(count, n, n // 100, seed=0))) for n in sizes)
    return [grown(f"growth with n, CSR, l = {count}, n/100 non-zeros an example", curves(settings, problems))]


def non_zeros(settings: Settings) -> list[Row]:
    """More of them in the same number of features."""
    count, n = (5000 if settings.quick else 20000), 10**4
    problems = ((each, Problem(*random_sparse(count, n, each, seed=0))) for each in half_decades(30, 300))
    return [grown(f"growth with the non-zeros, CSR {count} × {n}", curves(settings, problems))]


def curves(settings: Settings, problems: Iterable[tuple[int, Problem]]) -> dict[str, Curve]:
    """(size, seconds) for one thread and for all."""
    found: dict[str, Curve] = {}
    for size, problem in problems:
        z = some_point(problem.X.shape[1])
        crews = {
            f"{t} thread{'s' * (t > 1)}": moving(our_objective(problem, LAM, t), z)
            for t in sorted({1, settings.threads})
        }
        for crew, time in race(crews, settings.repeat).items():
            found.setdefault(crew, []).append((float(size), time.wall))
    return found


def grown(name: str, found: dict[str, Curve]) -> Row:
    """The exponent of growth over the last decade, on one thread."""
    sizes, seconds = zip(*found["1 thread"], strict=True)
    note = "1 is linear; over the last decade of sizes"
    return Row(name, slope(list(sizes), list(seconds)), GROWTH, "", less=True, note=note, curves=found)


def threads(settings: Settings) -> list[Row]:
    """How many times as fast a pass of each kind is as on one thread."""
    shrink = 4 if settings.quick else 1
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000 // shrink, 500))
    dense, single = plain(40000 // shrink, 500, seed=0), plain(40000 // shrink, 500, 0, np.float32)
    kinds = {
        "diagonal": dense,
        "diagonal, float32": single,
        "full": full(4000 // shrink, 100, seed=0),
        "low rank": Problem(X, noisy_rule(rng, X), factors=0.1 * rng.normal(size=(len(X), 5, 500))),
        "CSR": Problem(*random_sparse(60000 // shrink, 10000, 50, seed=0)),
    }
    rows = []
    for kind, problem in kinds.items():
        z = some_point(problem.X.shape[1])
        crews = {f"ours{team(t)}": moving(our_objective(problem, LAM, t), z) for t in (1, settings.threads)}
        found = race(crews, settings.repeat)
        one, all_ = found["ours"], found[f"ours{team(settings.threads)}"]
        curve = [(1.0, one.wall), (float(settings.threads), all_.wall)]
        rows.append(
            Row(
                f"threads, {kind}: {settings.threads} against one",
                one.wall / all_.wall,
                times=found,
                curves={kind: curve},
            )
        )
    return rows


def picture(rows: list[Row], file: BinaryIO) -> None:
    """Time of a pass against l, n and threads."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    blue, orange, grey = "#1f5fa8", "#d9731a", "0.55"
    fig, (by_l, by_n, by_threads) = plt.subplots(1, 3, figsize=(11.5, 4.0))

    def draw(ax: Any, row: Row, colour: str, label: str) -> None:
        for (crew, curve), style in zip(row.curves.items(), ("o-", "s--"), strict=False):
            x, t = np.array(curve).T
            ax.plot(x, t, style, color=colour, ms=3.5, lw=1.4, label=f"{label}, {crew}", mfc="white")
        x, t = np.array(row.curves["1 thread"]).T
        ax.plot(x, t[-1] * x / x[-1], color=grey, lw=0.8, ls=":", zorder=0, label="linear growth")

    for row in rows:
        if row.name.startswith("growth with l"):
            draw(by_l, row, blue, "diagonal")
            by_l.set_title(row.name.removeprefix("growth with l, "), fontsize=10)
        elif row.name.startswith("growth with n, diagonal"):
            draw(by_n, row, blue, "diagonal")
            by_n.set_title(row.name.removeprefix("growth with n, diagonal, "), fontsize=10)
        elif row.name.startswith("growth with n, CSR"):
            draw(by_n, row, orange, "CSR, n/100 non-zeros")
    for ax, what in ((by_l, "examples l"), (by_n, "features n")):
        ax.set(xscale="log", yscale="log", xlabel=what)
    by_l.set_ylabel("seconds a pass")
    speeds = {next(iter(row.curves)): row for row in rows if row.name.startswith("threads, ")}
    if speeds:
        bars = by_threads.bar(range(len(speeds)), [row.figure for row in speeds.values()], 0.6, color=blue)
        by_threads.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
        most = max(row.curves[kind][-1][0] for kind, row in speeds.items())
        by_threads.axhline(most, color=grey, lw=0.8, ls=":", zorder=0)
        by_threads.set(ylim=(0, 1.15 * most), ylabel="times as fast as one thread")
        by_threads.set_xticks(range(len(speeds)), [kind.replace(", ", ",\n") for kind in speeds], fontsize=8)
        by_threads.set_title(f"{most:.0f} threads", fontsize=10)
    for ax in (by_l, by_n, by_threads):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.92", lw=0.6, axis="both" if ax is not by_threads else "y")
        ax.set_axisbelow(True)
    lines = {line.get_label(): line for ax in (by_l, by_n) for line in ax.lines}
    fig.legend(lines.values(), lines, ncols=5, loc="lower center", frameon=False, fontsize=9)
    fig.suptitle("One pass over the data: J and its gradient", fontsize=11)
    fig.tight_layout(rect=(0, 0.07, 1, 1))
    fig.savefig(file, dpi=130)
    plt.close(fig)
