"""The toy example (Fig. 4 and 5): how many samples replace a Gaussian?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import svmgsu
from svmgsu.demo import crossing

from .harness import Experiment, Record
from .report import Page, number
from .statistics import Estimate
from .systems import Array

DIMENSIONS = (2, 3, 10, 50)
SIZES = (10, 100, 1000, 10_000, 100_000)
A_CLASS = 4
LAM = 1e-2


def random_set(n: int, rng: np.random.Generator) -> tuple[svmgsu.Gaussians, Array]:
    """Two classes 3 apart, of Gaussians with random axes and standard deviations between .2 and 1.4."""
    y = np.repeat([-1.0, 1.0], A_CLASS)
    X = rng.normal(size=(2 * A_CLASS, n)) * 0.7
    X[:, 0] += 1.5 * y
    axes = np.linalg.qr(rng.normal(size=(2 * A_CLASS, n, n)))[0]
    deviations = np.exp(rng.uniform(np.log(0.2), np.log(1.4), (2 * A_CLASS, 1, n)))
    roots = axes * deviations
    return svmgsu.Gaussians(X, svmgsu.Full(roots @ roots.transpose(0, 2, 1))), y


def angle(first: Array, second: Array) -> float:
    """Degrees between two normals, exact for small angles too."""
    a, b = first / np.linalg.norm(first), second / np.linalg.norm(second)
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))))


def run(folder: Path, seed: int, quick: bool) -> Record:
    """The angle between LSVM-GSU and the SVM on N samples a Gaussian, by dimension and N."""
    sizes = SIZES[:3] if quick else SIZES
    angles = {}
    for n in DIMENSIONS:
        rng = np.random.default_rng([seed, n])
        data, y = random_set(n, rng)
        gsu = svmgsu.train(data, y, lam=LAM, tol=1e-9, probability=False)
        row = []
        for count in sizes:
            X = data.sample(count, rng).reshape(-1, n)
            # The optimum is unique; starting near it only saves time.
            svm = svmgsu.train(X, np.repeat(y, count), lam=LAM, tol=1e-6, probability=False, start=gsu)
            row.append(angle(gsu.coef_[0], svm.coef_[0]))
        angles[str(n)] = row
    return {"sizes": list(sizes), "angles": angles}


def report(records: list[Record], page: Page) -> None:
    sizes = records[0]["sizes"]
    table = {n: np.array([r["angles"][str(n)] for r in records]) for n in DIMENSIONS}
    page.text(
        f"{len(records)} random sets of {2 * A_CLASS} Gaussians with random axes; λ = {LAM:g} for both. "
        "The paper's own two sets are not published: its 1.7° at N = 10³ (2-D) and 5·10⁴ (3-D) belong to "
        "them."
    )
    _picture(page)
    _angles(page, table, sizes)
    head = ("dimensions", *(f"N = {n:,}" for n in sizes))
    rows = []
    for n, a in table.items():
        low, middle, high = np.quantile(a, (0.25, 0.5, 0.75), axis=0)
        cells = [
            f"{number(m, 2)}° ({number(x, 2)} to {number(z, 2)})"
            for x, m, z in zip(low, middle, high, strict=True)
        ]
        rows.append((str(n), *cells))
    page.text("Angle between the hyperplanes, median (quartiles):")
    page.table(head, rows)
    medians = np.array([np.median(a, axis=0) for a in table.values()])
    page.numbers["median angle"] = {str(n): list(m) for n, m in zip(table, medians.tolist(), strict=True)}
    falls = bool((np.diff(medians, axis=1) < 0).all())
    rises = bool((np.diff(medians, axis=0) > 0).all())
    at = sizes.index(1000)
    page.claim(
        "Fig. 5: the angle to the SVM on N samples falls with N, in degrees at N = 1000, 2-D",
        paper=1.7,
        found=Estimate(float(medians[0, at]), _se_of_median(table[2][:, at]), 1),
        verdict="reproduced" if falls else "not reproduced",
        note="every median falls" if falls else "not every median falls",
    )
    page.claim(
        "Fig. 5: more samples are needed in more dimensions, angle at N = 1000, 3-D",
        paper=None,
        found=Estimate(float(medians[1, at]), _se_of_median(table[3][:, at]), 1),
        verdict="reproduced" if rises else "partly" if medians[-1, -1] > medians[0, -1] else "not reproduced",
        note=_slope(medians, sizes),
    )


def _slope(medians: Array, sizes: list[int]) -> str:
    rates = np.polyfit(np.log10(sizes), np.log10(medians).T, 1)[0]
    return f"the angle falls like N to the power of {number(rates.max(), 2)} to {number(rates.min(), 2)}"


def _se_of_median(x: Array) -> float:
    """By the quartiles, as for a normal distribution."""
    low, high = np.quantile(x, (0.25, 0.75))
    return float(1.2533 * (high - low) / 1.349 / np.sqrt(len(x)))


def _picture(page: Page) -> None:
    """Fig. 4: the boundaries of LSVM-GSU, of the SVM on the means, and of SVMs on N samples."""
    import matplotlib.pyplot as plt

    from svmgsu import plot

    data, y = crossing()
    gsu = svmgsu.train(data, y, lam=LAM)
    figure, axes = plt.subplots(1, 4, figsize=(13, 4.2), layout="constrained", sharex=True, sharey=True)
    for ax, count in zip(axes, (0, 10, 100, 1000), strict=True):
        if count:
            X = data.sample(count, count).reshape(-1, 2)
            other, name = svmgsu.train(X, np.repeat(y, count), lam=LAM), f"SVM, N = {count}"
        else:
            other, name = svmgsu.train(data.mean, y, lam=LAM), "SVM on the means"
        plot.boundary(gsu, data, y, ax, other=other, labels=("LSVM-GSU", name))
        ax.set_aspect("equal")
        _own_legend(ax)
    words = (
        "Fig. 4: LSVM-GSU (solid) beside the SVM on the means, and on N samples from each Gaussian (dashed)."
    )
    page.figure(figure, "toy", words)


def _own_legend(ax: Any) -> None:
    handles, names = ax.get_legend_handles_labels()
    ax.legend(
        handles[2:], names[2:], loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize=9
    )
    ax.set(xlabel="feature 1", ylabel="feature 2" if ax.get_subplotspec().is_first_col() else "")


def _angles(page: Page, table: dict[int, Array], sizes: list[int]) -> None:
    import matplotlib.pyplot as plt

    from svmgsu.plot import CYCLE

    figure, ax = plt.subplots(figsize=(5.8, 4), layout="constrained")
    for (n, a), (colour, dashes, marker) in zip(table.items(), CYCLE, strict=False):
        low, middle, high = np.quantile(a, (0.25, 0.5, 0.75), axis=0)
        ax.plot(sizes, middle, color=colour, linestyle=dashes, marker=marker, label=f"{n} dimensions")
        ax.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.set(xscale="log", yscale="log", xlabel="samples from each Gaussian, N", ylabel="angle, degrees")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    page.figure(
        figure, "toy-angles", "Fig. 5: angle between LSVM-GSU and the SVM on samples; median and quartiles."
    )


EXPERIMENT = Experiment("toy", "Toy example (Fig. 4, 5)", run, report, seeds=20)
