"""Probabilities of objects with error bars, on real data: log-loss of Platt, isotonic regression and ours.

    SVMGSU_DATA=... python -m bench.probability [--output bench/results/probability.md]

SDSS quasars: is the redshift at least 2.2? Four colours and the i magnitude, with the full covariance that
the errors of the five magnitudes give. Trained on the precise half, tested on the noisy half. Kepler: is an
object of interest a planet candidate? Nine measurements with error bars, random halves of the stars.
All methods share one model and its held-out scores; they differ in how scores become probabilities.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupShuffleSplit

from bench.timing import machine
from svmgsu.fit.held_out import held_out
from svmgsu.fit.problem import Problem
from svmgsu.fit.settings import Settings
from svmgsu.models.calibration import fit
from svmgsu.support.parallel import Team

LAM = 1e-3
COLUMNS = ("Platt", "isotonic", "bars", "bars, share stated", "bars, shares by noise stated", "no bars")


class Data(NamedTuple):
    X: np.ndarray
    cov: np.ndarray  # (l, n) or (l, n, n)
    y: np.ndarray

    def standardised(self, rows: np.ndarray) -> Data:
        centre, scale = self.X[rows].mean(axis=0), self.X[rows].std(axis=0)
        squares = scale**2 if self.cov.ndim == 2 else np.outer(scale, scale)
        return Data((self.X - centre) / scale, self.cov / squares, self.y)


def sdss(folder: Path, redshift: float = 2.2) -> tuple[Data, np.ndarray]:
    """The data, and each object's error: the sum of its magnitudes' variances."""
    table = pd.read_csv(folder / "sdss_qso" / "SDSS_QSO.tab.gz", sep=r"\s+")
    magnitude = table[[f"{band}_mag" for band in "ugriz"]].to_numpy()
    error = table[[f"sig_{band}_mag" for band in "ugriz"]].to_numpy()
    good = ((magnitude > 0) & (error > 0) & (error < 5)).all(axis=1)
    A = np.vstack([np.eye(5)[:4] - np.eye(5)[1:], np.eye(5)[3]])  # u-g, g-r, r-i, i-z, i
    cov = np.einsum("aj,ij,bj->iab", A, error[good] ** 2, A)
    y = (table["z"].to_numpy()[good] >= redshift).astype(int)
    return Data(magnitude[good] @ A.T, cov, y), (error[good] ** 2).sum(axis=1)


def kepler(folder: Path) -> tuple[Data, np.ndarray]:
    """The data, and each object's star. Means of the upper and lower error; zeros get the 1 % quantile."""
    skewed = ["koi_period", "koi_duration", "koi_depth", "koi_prad", "koi_insol", "koi_srad"]
    columns = [*skewed, "koi_impact", "koi_steff", "koi_slogg"]
    table = pd.read_csv(folder / "kepler" / "cumulative.csv.gz", comment="#")
    table = table.dropna(subset=[c + end for c in columns for end in ("", "_err1", "_err2")])
    table = table[(table[skewed] > 0).all(axis=1)]
    X = table[columns].to_numpy(dtype=float, copy=True)
    error = np.abs(np.stack([table[c + "_err1"] - table[c + "_err2"] for c in columns], axis=1)) / 2
    error[:, : len(skewed)] /= X[:, : len(skewed)]
    X[:, : len(skewed)] = np.log(X[:, : len(skewed)])
    error = np.maximum(error, [np.quantile(e[e > 0], 0.01) for e in error.T])
    y = (table["koi_pdisposition"] == "CANDIDATE").to_numpy().astype(int)
    return Data(X, error**2, y), table["kepid"].to_numpy()


def wdbc() -> Data:
    """Breast cancer: ten measurements with their standard errors."""
    table = load_breast_cancer()
    return Data(table.data[:, :10], table.data[:, 10:20] ** 2, table.target)


def losses(data: Data, known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Test log-losses, in the order of COLUMNS; shares by noise are those of tenths of the test objects."""
    X, cov, y = data.standardised(known)
    problem = Problem(X[known], y[known], cov[known])
    options = Settings(lam=LAM).options(len(problem))
    model = problem.solve(options)
    ((rows, margin, variance),) = held_out(problem, model, options, Team())
    label = y[known][rows]
    f, s = model.decision_function(X[new], cov[new], return_std=True)
    edge = 1 / len(margin)
    isotonic = IsotonicRegression(out_of_bounds="clip", y_min=edge, y_max=1 - edge).fit(margin, label)
    signs, ones = 2.0 * label - 1, np.ones(len(margin))
    platt, ours = fit(margin, None, signs, ones), fit(margin, variance, signs, ones)
    tenth = np.argsort(np.argsort(s)) * 10 // len(s)
    share = np.array([(y[new][tenth == k].sum() + 1) / ((tenth == k).sum() + 2) for k in range(10)])[tenth]
    stated = [np.log(p / (1 - p)) for p in (y[new].mean(), share)]
    chances = [platt.probability(f), isotonic.predict(f), ours.probability(f, s**2)]
    chances += [ours.probability(f, s**2, prior) for prior in stated] + [ours.probability(f)]
    return np.array([log_loss(y[new], p) for p in chances])


def cases(folder: Path, splits: int) -> Iterator[tuple[str, np.ndarray]]:
    """A name and the mean over splits of `losses`."""
    rng = np.random.default_rng(0)
    quasars, error = sdss(folder)
    precise, noisy = np.flatnonzero(error <= np.median(error)), np.flatnonzero(error > np.median(error))
    yield "SDSS z ≥ 2.2, precise → noisy", losses(quasars, precise, noisy)
    yield "SDSS z ≥ 1.5, precise → noisy", losses(sdss(folder, 1.5)[0], precise, noisy)
    koi, stars = kepler(folder)
    halves = list(GroupShuffleSplit(splits, test_size=0.5, random_state=0).split(koi.X, koi.y, stars))
    yield f"Kepler, {splits} random halves", np.mean([losses(koi, *half) for half in halves], axis=0)
    other = koi._replace(cov=rng.permutation(koi.cov))
    yield "Kepler, bars of another object", np.mean([losses(other, *half) for half in halves[:4]], axis=0)

    some, rest = rng.permutation(precise), rng.permutation(noisy)
    for count in (200, 1000):
        parts = np.split(some[: 4 * count], 4)
        yield f"SDSS, {count} precise → noisy", np.mean([losses(quasars, p, noisy) for p in parts], axis=0)
    yield "SDSS, 5000 noisy → precise", losses(quasars, rest[:5000], precise)
    mixed = rng.permutation(len(quasars.y))
    yield "SDSS, 5000 random → random", losses(quasars, mixed[:5000], mixed[5000:])
    other = quasars._replace(cov=rng.permutation(quasars.cov))
    yield "SDSS, 5000, bars of another object", losses(other, mixed[:5000], mixed[5000:])
    for factor, name in ((3.0, "× 3"), (1 / 3, "/ 3")):
        scaled = quasars._replace(cov=factor**2 * quasars.cov)
        yield f"SDSS, 5000 precise → noisy, bars {name}", losses(scaled, some[:5000], noisy)
    few = [(rng.permutation(known)[:300], new) for known, new in halves[:4]]
    yield "Kepler, 300 known", np.mean([losses(koi, *half) for half in few], axis=0)
    tumours = wdbc()
    orders = [rng.permutation(len(tumours.y)) for _ in range(10)]
    yield "WDBC, random halves", np.mean([losses(tumours, o[:285], o[285:]) for o in orders], axis=0)


def report(folder: Path, splits: int) -> str:
    about = machine()
    core = about["svmgsu"]
    lines = [
        "# Probabilities of objects with error bars",
        "",
        f"{about['cpu']}, {about['cores']} cores, {core['compiler']}, {core['instruction_set']}; NumPy "
        f"{np.__version__}, scikit-learn {sklearn.__version__}. Log-loss on test data, λ = {LAM:g}. "
        "Stated shares are those of the test objects, of all or of each tenth by noise. Without bars objects "
        "count as known exactly.",
        "",
        "| data | " + " | ".join(COLUMNS) + " |",
        "| --- |" + " ---: |" * len(COLUMNS),
    ]
    for name, row in cases(folder, splits):
        lines.append(f"| {name} | " + " | ".join(f"{loss:.4f}" for loss in row) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=20, help="random splits of Kepler")
    parser.add_argument("--output", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    folder = os.environ.get("SVMGSU_DATA")
    if not folder:
        sys.exit("SVMGSU_DATA: set it to the folder that holds sdss_qso and kepler")
    text = report(Path(folder), arguments.splits)
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
