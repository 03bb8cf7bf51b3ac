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
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupShuffleSplit

import svmgsu
from bench.timing import machine
from svmgsu.calibration import held_out
from svmgsu.parallel import Team
from svmgsu.training import Problem, make_options

LAM = 1e-3
METHODS = ("Platt", "isotonic", "error bars", "γ")


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


def losses(data: Data, known: np.ndarray, new: np.ndarray) -> list[float]:
    """The test log-loss of each method, and γ."""
    X, cov, y = data.standardised(known)
    model = svmgsu.train(X[known], y[known], cov[known], lam=LAM)
    problem = Problem(X[known], y[known], cov[known])
    margin = held_out(problem, model, make_options(len(problem), lam=LAM), Team())[0][:, 0]
    isotonic = IsotonicRegression(out_of_bounds="clip", y_min=1 / len(margin), y_max=1 - 1 / len(margin))
    isotonic.fit(margin, y[known])
    tested = (
        model.predict_proba(X[new])[:, 1],
        isotonic.predict(model.decision_function(X[new])),
        model.predict_proba(X[new], cov[new])[:, 1],
    )
    return [*(log_loss(y[new], p) for p in tested), model.calibration_[0].gamma]


def rows(folder: Path, splits: int) -> Iterator[tuple[str, np.ndarray]]:
    """A name and the mean of `losses` over the splits."""
    for redshift in (2.2, 1.5):
        data, error = sdss(folder, redshift)
        precise = error <= np.median(error)
        halves = np.flatnonzero(precise), np.flatnonzero(~precise)
        yield f"SDSS z ≥ {redshift}, precise → noisy", np.array(losses(data, *halves))
    data, stars = kepler(folder)
    shuffled = GroupShuffleSplit(splits, test_size=0.5, random_state=0).split(data.X, data.y, stars)
    found = np.array([losses(data, known, new) for known, new in shuffled])
    yield f"Kepler, {splits} random halves", found.mean(axis=0)
    permuted = np.random.default_rng(0).permutation(len(data.y))
    shuffled = GroupShuffleSplit(2, test_size=0.5, random_state=0).split(data.X, data.y, stars)
    wrong = data._replace(cov=data.cov[permuted])
    found = np.array([losses(wrong, known, new) for known, new in shuffled])
    yield "Kepler, error bars of another object", found.mean(axis=0)


def report(folder: Path, splits: int) -> str:
    about = machine()
    core = about["svmgsu"]
    lines = [
        "# Probabilities of objects with error bars",
        "",
        f"{about['cpu']}, {about['cores']} cores, {core['compiler']}, {core['instruction_set']}; NumPy "
        f"{np.__version__}, scikit-learn {sklearn.__version__}. Log-loss on test data, "
        f"λ = {LAM:g}. The prior of γ (not γ) was chosen on splits of these data sets, among others.",
        "",
        "| data | " + " | ".join(METHODS) + " | to Platt | to isotonic |",
        "| --- |" + " ---: |" * (len(METHODS) + 2),
    ]
    for name, (platt, isotonic, ours, gamma) in rows(folder, splits):
        lines.append(
            f"| {name} | {platt:.4f} | {isotonic:.4f} | {ours:.4f} | {gamma:.2g} | {ours / platt:.2f} × "
            f"({ours - platt:+.4f}) | {ours / isotonic:.2f} × ({ours - isotonic:+.4f}) |"
        )
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
