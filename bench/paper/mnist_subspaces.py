"""MNIST, learning in subspaces (Fig. 6): accuracy against the fraction of the variance kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import systems
from .harness import Experiment, Record
from .images import FILE, SHIFTS, draw, with_shifts
from .mnist import FOLDS, LAMS
from .report import Page, show_gain
from .statistics import estimate, paired, values

FRACTIONS = (0.25, 0.6, 0.75, 0.9, 1.0)


def run(folder: Path, seed: int, quick: bool) -> Record:
    """Test accuracy against the fraction p of the variance kept, for both readings of subspaces."""
    out: Record = {}
    for name in ("D3",) if quick else SHIFTS:
        rng = np.random.default_rng([seed, list(SHIFTS).index(name)])
        images, y, T, truth = draw(folder, name, 25, rng)
        data = with_shifts(images)
        parts = systems.folds(y, FOLDS, seed)
        paths = {"LSVM": systems.lsvm, "LSVM-GSU": systems.gsu}
        for mode in ("project", "truncate"):
            for p in FRACTIONS[1::3] if quick else FRACTIONS:
                paths[f"{mode} {p:g}"] = systems.subspaces(p, mode)
        out[name] = {
            system: systems.outcome(systems.search(path, data, y, LAMS, parts), systems.right(T, truth))
            for system, path in paths.items()
        }
    return out


def report(records: list[Record], page: Page) -> None:
    page.text(
        f"{len(records)} seeds, otherwise as in Table 1. Appendix B gives covariances of rank two, so p "
        "only decides which images keep one direction instead of two: it cannot do more."
    )
    names = list(records[0])
    _figure(records, page, names)
    rows = []
    for name in names:
        row = [name]
        for mode in ("project", "truncate"):
            shown = [s for s in records[0][name] if s.startswith(mode)]
            best = max(shown, key=lambda s: values(records, name, s).mean())
            gain = paired(values(records, name, best), values(records, name, "LSVM-GSU"))
            row += [best.split()[1], show_gain(gain)]
        full = paired(values(records, name, "truncate 1"), values(records, name, "LSVM-GSU"))
        rows.append((*row, show_gain(full)))
    page.text(
        "Two readings: `project` has the means in the subspaces too, as the paper's text says; `truncate` "
        "keeps the means and cuts the covariances alone."
    )
    page.table(
        (
            "",
            "best p of project (in hindsight)",
            "its gain over the original space",
            "best p of truncate (in hindsight)",
            "its gain over the original space",
            "truncate at p = 1",
        ),
        rows,
    )


def _figure(records: list[Record], page: Page, names: list[str]) -> None:
    import matplotlib.pyplot as plt

    from svmgsu.plot import BLUE, GREY, VERMILLION

    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6), layout="constrained", squeeze=False)
    for ax, name in zip(axes.ravel(), SHIFTS, strict=True):
        if name not in names:
            ax.set_axis_off()
            continue
        for mode, colour, marker in (("project", VERMILLION, "s"), ("truncate", BLUE, "o")):
            shown = [s for s in records[0][name] if s.startswith(mode)]
            points = [estimate(values(records, name, s)) for s in shown]
            x = [float(s.split()[1]) for s in shown]
            ax.errorbar(
                x,
                [e.mean for e in points],
                [e.se for e in points],
                color=colour,
                marker=marker,
                capsize=3,
                label=mode,
            )
        for system, dashes in (("LSVM", "--"), ("LSVM-GSU", "-")):
            ax.axhline(
                values(records, name, system).mean(),
                color=GREY,
                linestyle=dashes,
                linewidth=1.2,
                label=system,
            )
        ax.set_title(name, fontsize=10)
        ax.set(xlabel="fraction p of the variance kept", ylabel="test accuracy")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *axes.ravel()[list(SHIFTS).index(names[0])].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=4,
        frameon=False,
    )
    page.figure(
        figure,
        "mnist-subspaces",
        "Fig. 6: accuracy against the fraction of the variance kept, mean ± standard error.",
    )


EXPERIMENT = Experiment(
    "mnist-subspaces",
    "MNIST, learning in subspaces (Fig. 6)",
    run,
    report,
    seeds=20,
    quick_seeds=1,
    needs=(FILE,),
)
