"""DEAP (Table 3): emotions from EEG, for those who have the licensed files in DIR/deap."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import svmgsu
from svmgsu.uncertainty import DEAP_PAIR_BANDS, DEAP_PAIRS, from_welch

from . import systems
from .harness import Experiment, Record
from .recordings import DEAP_RATE, RATINGS, load_deap
from .report import Page, number, show
from .statistics import estimate, paired, same, verdict
from .systems import Array

FILES = tuple(f"deap/s{k:02d}.dat" for k in range(1, 33))
TARGETS = ("arousal", "valence", "liking")
HIGH = 5.0  # ratings above it are "high"
SELECTED = 40  # features kept by Fisher's criterion
LAMS = np.logspace(0, -3, 4)
FOLDS = 3
SYSTEMS = {
    "LSVM": systems.lsvm,
    "PSVM": systems.power,
    "LSVM-iso": systems.isotropic,
    "LSVM-GSU": systems.gsu,
}
PAPER = {  # (accuracy, F1) of arousal, valence, liking
    "naive Bayes": ((0.620, 0.583), (0.576, 0.563), (0.554, 0.502)),
    "LSVM": ((0.626, 0.451), (0.616, 0.538), (0.655, 0.470)),
    "PSVM": ((0.625, 0.521), (0.633, 0.561), (0.651, 0.522)),
    "LSVM-iso": ((0.645, 0.531), (0.645, 0.603), (0.658, 0.530)),
    "LSVM-GSU": ((0.659, 0.551), (0.650, 0.609), (0.666, 0.539)),
}


def run(folder: Path, seed: int, quick: bool) -> Record:
    """One participant (seed): every video left out in turn, by target and system."""
    eeg, ratings = load_deap(folder / FILES[seed])
    data = from_welch(eeg, DEAP_RATE, pairs=DEAP_PAIRS, pair_bands=DEAP_PAIR_BANDS)
    X, V = np.asarray(data.mean, dtype=float), np.asarray(data.cov.variances, dtype=float)
    out: Record = {}
    for target in TARGETS:
        y = np.where(ratings[:, RATINGS.index(target)] > HIGH, 1.0, -1.0)
        if min((y > 0).sum(), (y < 0).sum()) <= FOLDS:  # nothing to learn from
            continue
        guesses: dict[str, list[float]] = {name: [] for name in (*SYSTEMS, "naive Bayes")}
        videos = range(0, len(y), 10) if quick else range(len(y))
        for left_out in videos:
            known = np.delete(np.arange(len(y)), left_out)
            train, test = _prepared(X, V, y, known, left_out)
            parts = systems.folds(y[known], FOLDS, seed)
            for name, path in SYSTEMS.items():
                found = systems.search(path, train, y[known], LAMS, parts)
                guesses[name].append(float(found.best.predict(test)[0]))
            guesses["naive Bayes"].append(float(systems.naive_bayes(train, y[known]).predict(test)[0]))
        out[target] = {name: _scores(np.array(guess), y[videos]) for name, guess in guesses.items()}
    return out


def _prepared(X: Array, V: Array, y: Array, known: Array, new: int) -> tuple[svmgsu.Gaussians, Array]:
    """Standardised, and the features that Fisher's criterion prefers, by the training videos alone."""
    centre, scale = X[known].mean(axis=0), X[known].std(axis=0)
    Z, W = (X - centre) / scale, V / scale**2
    high, low = Z[known][y[known] > 0], Z[known][y[known] < 0]
    fisher = (high.mean(axis=0) - low.mean(axis=0)) ** 2 / (high.var(axis=0) + low.var(axis=0))
    best = np.sort(np.argsort(-fisher, kind="stable")[:SELECTED])
    return svmgsu.Gaussians(Z[known][:, best], svmgsu.Diagonal(W[known][:, best])), Z[new : new + 1, best]


def _scores(guess: Array, y: Array) -> dict[str, float]:
    """Accuracy, and F1 as the mean over both classes."""
    each = []
    for sign in (-1.0, 1.0):
        hits = float(((guess == sign) & (y == sign)).sum())
        each.append(2 * hits / max(float((guess == sign).sum() + (y == sign).sum()), 1.0))
    return {"accuracy": float((guess == y).mean()), "F1": float(np.mean(each))}


def report(records: list[Record], page: Page) -> None:
    page.text(f"{len(records)} participants; one video left out in turn; λ by {FOLDS}-fold cross-validation.")
    for k, target in enumerate(TARGETS):
        those = [r[target] for r in records if target in r]
        if not those:
            continue
        rows = []
        for name, known in PAPER.items():
            cells = []
            for m, measure in enumerate(("accuracy", "F1")):
                e = estimate(np.array([r[name][measure] for r in those]))
                cells.append(f"{show(e, 3)} [{number(known[k][m], 3)}]")
            rows.append((name, *cells))
        page.table((f"{target} [paper]", "accuracy", "F1"), rows)
        scores = {name: np.array([r[name]["accuracy"] for r in those]) for name in ("LSVM", "LSVM-GSU")}
        plain, gain = estimate(scores["LSVM"]), paired(scores["LSVM-GSU"], scores["LSVM"])
        paper = PAPER["LSVM"][k][0]
        page.claim(
            f"DEAP, {target}: accuracy of LSVM",
            paper=paper,
            ours=plain.mean,
            se=plain.se,
            verdict=same(plain, paper, 0.01),
        )
        claimed = PAPER["LSVM-GSU"][k][0] - paper
        page.claim(
            f"DEAP, {target}: gain of LSVM-GSU over LSVM",
            paper=claimed,
            ours=gain.mean,
            se=gain.se,
            verdict=verdict(gain, claimed),
        )


EXPERIMENT = Experiment("eeg-deap", "EEG, DEAP (Table 3)", run, report, seeds=32, quick_seeds=1, needs=FILES)
