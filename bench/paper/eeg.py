"""EEG by the powers of its bands (Table 3): Bonn's segments, and DEAP for those who have its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

import svmgsu
from svmgsu.uncertainty import DEAP_PAIR_BANDS, DEAP_PAIRS, from_welch

from . import systems
from .harness import Experiment, Record
from .recordings import BONN, DEAP_RATE, RATINGS, bonn, load_deap
from .report import Page, number, show, show_gain
from .statistics import estimate, hindsight, paired, values
from .systems import Array

TASKS = {
    "eyes open, closed (Z, O)": ("Z", "O"),
    "interictal, two places (N, F)": ("N", "F"),
    "healthy, interictal (ZO, NF)": ("ZO", "NF"),
    "interictal, seizure (NF, S)": ("NF", "S"),
    "all others, seizure (ZONF, S)": ("ZONF", "S"),
}
BANDS = {"delta": (1.0, 4.0), **svmgsu.uncertainty.DEAP_BANDS}
LAMS = np.logspace(0, -4, 9)
FOLDS = 3
OVERLAP = 1 / 4
MODELS = ("LSVM", "PSVM", "LSVM-iso", "LSVM-GSU", "LSVM-GSU, spread of the mean", "naive Bayes")


def run(folder: Path, seed: int, quick: bool) -> Record:
    """Accuracy on whole segments, and on single windows of 1.5 s."""
    signals, sets, rate = bonn(folder)
    data = from_welch(signals, rate, bands=BANDS)
    means, V = data.mean, np.asarray(data.cov.variances)
    cut = windows(signals, rate)
    out: Record = {}
    for task, (negative, positive) in TASKS.items():
        rows = np.flatnonzero([s in negative + positive for s in sets])
        y = np.where([sets[i] in positive for i in rows], 1.0, -1.0)
        known, new = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=seed).split(rows, y))
        centre, scale = means[rows[known]].mean(axis=0), means[rows[known]].std(axis=0)
        train = svmgsu.Gaussians(
            (means[rows[known]] - centre) / scale, svmgsu.Diagonal(V[rows[known]] / scale**2)
        )
        test = svmgsu.Gaussians((means[rows[new]] - centre) / scale)
        single = svmgsu.Gaussians(((cut[rows[new]] - centre) / scale).reshape(-1, means.shape[1]))
        truth = np.repeat(y[new], cut.shape[1])
        parts = systems.folds(y[known], FOLDS, seed)
        paths = {
            "LSVM": systems.lsvm,
            "PSVM": systems.power,
            "LSVM-iso": systems.isotropic,
            "LSVM-GSU": systems.gsu,
            "LSVM-GSU, spread of the mean": systems.scaled(systems.gsu, 1 / cut.shape[1]),
        }
        cell: Record = {"segments": {}, "windows": {}}
        for name, path in paths.items():
            found = systems.search(path, train, y[known], LAMS, parts)
            cell["segments"][name] = systems.outcome(found, systems.right(test.mean, y[new]))
            found = systems.search(path, train, y[known], LAMS, parts, systems.expected_accuracy)
            cell["windows"][name] = systems.outcome(found, systems.right(single.mean, truth))
        bayes = systems.naive_bayes(train, y[known])
        cell["segments"]["naive Bayes"] = systems.accuracy(bayes, test, y[new])
        cell["windows"]["naive Bayes"] = systems.accuracy(bayes, single, truth)
        out[task] = cell
    return out


def windows(signals: Array, rate: float) -> Array:
    """(l, windows, features): the features of every window that `from_welch` averages."""
    size = 256
    starts = range(0, signals.shape[1] - size + 1, size // 2)
    cut = np.stack([signals[:, s : s + size] for s in starts], axis=1).reshape(-1, 1, size)
    # A window twice is a signal of two equal windows: its mean is the window's own feature.
    doubled = np.concatenate([cut, cut], axis=2)
    features = from_welch(doubled[:, 0], rate, bands=BANDS, noverlap=0).mean
    return features.reshape(len(signals), len(starts), -1)


def report(records: list[Record], page: Page) -> None:
    page.text(
        "DEAP is licensed: `--only eeg-deap` runs the paper's own table where its files are. Here: Bonn's "
        f"five sets of 100 segments (single channel, 23.6 s), {len(records)} random splits into 80 % and "
        "20 %, log powers of six bands with their spread over the windows of Welch's method. The files "
        "do not name people, so that segments of one person can be on both sides. *Segments*: whole "
        "segments are classified, as in the paper. *Windows*: trained on the same summaries, single "
        "windows of 1.5 s are classified; λ is chosen by the expected accuracy."
    )
    for kind in ("segments", "windows"):
        rows = []
        for task in records[0]:
            cells = [show(estimate(values(records, task, kind, m)), 3) for m in MODELS]
            gain = paired(
                values(records, task, kind, "LSVM-GSU"), values(records, task, kind, "LSVM"), OVERLAP
            )
            best = hindsight(records, task, kind, "LSVM-GSU") - hindsight(records, task, kind, "LSVM")
            page.keep(f"{kind}, {task}, gain of LSVM-GSU over LSVM", gain)
            rows.append((task, *cells, show_gain(gain, 3), f"{best.mean():+.3f}".replace("-", "−")))
        page.table((f"accuracy, {kind}", *MODELS, "LSVM-GSU − LSVM", "the same, best λ in hindsight"), rows)
    paper = np.mean([0.659 - 0.626, 0.650 - 0.616, 0.666 - 0.655])
    for kind in ("segments", "windows"):
        means = [
            np.mean([values([r], task, kind, name)[0] for task in r])
            for name in ("LSVM-GSU", "LSVM")
            for r in records
        ]
        gain = paired(means[: len(records)], means[len(records) :], OVERLAP)
        clear = gain.mean > 2 * gain.se
        page.claim(
            f"EEG (Bonn for DEAP), {kind}: mean gain of LSVM-GSU over LSVM in accuracy",
            paper=float(paper) if kind == "segments" else None,
            found=gain,
            verdict="partly" if clear else "not reproduced",
            note="other data than the paper's",
        )


EXPERIMENT = Experiment("eeg", "EEG (Table 3)", run, report, seeds=15, quick_seeds=1, needs=(BONN,))


# DEAP, whose files are licensed: DIR/deap

DEAP_FILES = tuple(f"deap/s{k:02d}.dat" for k in range(1, 33))
DEAP_TARGETS = ("arousal", "valence", "liking")
HIGH = 5.0  # ratings above it are "high"
SELECTED = 40  # features kept by Fisher's criterion
DEAP_LAMS = np.logspace(0, -3, 4)
DEAP_SYSTEMS = {
    "LSVM": systems.lsvm,
    "PSVM": systems.power,
    "LSVM-iso": systems.isotropic,
    "LSVM-GSU": systems.gsu,
}
DEAP_PAPER = {  # (accuracy, F1) of arousal, valence, liking
    "naive Bayes": ((0.620, 0.583), (0.576, 0.563), (0.554, 0.502)),
    "LSVM": ((0.626, 0.451), (0.616, 0.538), (0.655, 0.470)),
    "PSVM": ((0.625, 0.521), (0.633, 0.561), (0.651, 0.522)),
    "LSVM-iso": ((0.645, 0.531), (0.645, 0.603), (0.658, 0.530)),
    "LSVM-GSU": ((0.659, 0.551), (0.650, 0.609), (0.666, 0.539)),
}


def run_deap(folder: Path, seed: int, quick: bool) -> Record:
    """One participant (seed): every video left out in turn, by target and system."""
    eeg, ratings = load_deap(folder / DEAP_FILES[seed])
    data = from_welch(eeg, DEAP_RATE, pairs=DEAP_PAIRS, pair_bands=DEAP_PAIR_BANDS)
    X, V = np.asarray(data.mean, dtype=float), np.asarray(data.cov.variances, dtype=float)
    out: Record = {}
    for target in DEAP_TARGETS:
        y = np.where(ratings[:, RATINGS.index(target)] > HIGH, 1.0, -1.0)
        if min((y > 0).sum(), (y < 0).sum()) <= FOLDS:  # nothing to learn from
            continue
        guesses: dict[str, list[float]] = {name: [] for name in (*DEAP_SYSTEMS, "naive Bayes")}
        videos = range(0, len(y), 10) if quick else range(len(y))
        for left_out in videos:
            known = np.delete(np.arange(len(y)), left_out)
            train, test = _prepared(X, V, y, known, left_out)
            parts = systems.folds(y[known], FOLDS, seed)
            for name, path in DEAP_SYSTEMS.items():
                found = systems.search(path, train, y[known], DEAP_LAMS, parts)
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


def report_deap(records: list[Record], page: Page) -> None:
    page.text(f"{len(records)} participants; one video left out in turn; λ by {FOLDS}-fold cross-validation.")
    for k, target in enumerate(DEAP_TARGETS):
        those = [r[target] for r in records if target in r]
        if not those:
            continue
        rows = []
        for name, known in DEAP_PAPER.items():
            cells = []
            for m, measure in enumerate(("accuracy", "F1")):
                e = estimate(np.array([r[name][measure] for r in those]))
                cells.append(f"{show(e, 3)} [{number(known[k][m], 3)}]")
            rows.append((name, *cells))
        page.table((f"{target} [paper]", "accuracy", "F1"), rows)
        scores = {name: np.array([r[name]["accuracy"] for r in those]) for name in ("LSVM", "LSVM-GSU")}
        plain, gain = estimate(scores["LSVM"]), paired(scores["LSVM-GSU"], scores["LSVM"])
        paper = DEAP_PAPER["LSVM"][k][0]
        page.claim(f"DEAP, {target}: accuracy of LSVM", paper=paper, found=plain, tolerance=0.01)
        claimed = DEAP_PAPER["LSVM-GSU"][k][0] - paper
        page.claim(f"DEAP, {target}: gain of LSVM-GSU over LSVM", paper=claimed, found=gain)


DEAP = Experiment(
    "eeg-deap", "EEG, DEAP (Table 3)", run_deap, report_deap, seeds=32, quick_seeds=1, needs=DEAP_FILES
)
