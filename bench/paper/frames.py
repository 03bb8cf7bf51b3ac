"""Train on summaries, deploy on single frames: nine speakers of Japanese Vowels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import svmgsu
from svmgsu.uncertainty import from_repeats

from .harness import Experiment, Record
from .recordings import VOWELS, vowels
from .report import Page, show, show_gain
from .statistics import estimate, paired, values
from .systems import Array

SPLITS, REPEATS = 5, 2
LAMS = (1e-1, 1e-2, 1e-3, 1e-4)
DRAWS = 10  # of a held-out utterance
OVERLAP = 1 / (SPLITS - 1)
PLAIN, DIAGONAL, FULL = "LSVM on the means", "LSVM-GSU, diagonal", "LSVM-GSU, full"
ALL_FRAMES, LDA, QDA = "LSVM on all frames", "LDA from the summaries", "QDA from the summaries"


class GaussianClasses:
    """Discriminant analysis from summaries: the moments of a class are those of its utterances together."""

    def __init__(self, data: svmgsu.Gaussians, sizes: Array, y: Array, shared: bool) -> None:
        self.classes = np.unique(y)
        cov = data.cov.to_full()
        means, spreads, counts = [], [], []
        for label in self.classes:
            rows = y == label
            weight = sizes[rows] / sizes[rows].sum()
            mean = weight @ data.mean[rows]
            apart = data.mean[rows] - mean
            within = np.einsum("l,lij->ij", weight, cov[rows])
            means.append(mean)
            spreads.append(within + (weight[:, None] * apart).T @ apart)
            counts.append(sizes[rows].sum())
        self.prior = np.array(counts) / np.sum(counts)
        if shared:
            spreads = [np.einsum("k,kij->ij", self.prior, np.array(spreads))] * len(means)
        self.means, self.spreads = means, spreads

    def predict(self, X: Array) -> Array:
        return self.classes[np.argmax(self._log_odds(X), axis=0)]

    def predict_proba(self, X: Array) -> Array:
        scores = self._log_odds(X)
        p = np.exp(scores - scores.max(axis=0))
        return (p / p.sum(axis=0)).T

    def _log_odds(self, X: Array) -> Array:
        """Up to a constant, (classes, l)."""
        scores = []
        for mean, S, prior in zip(self.means, self.spreads, self.prior, strict=True):
            z = np.linalg.solve(np.linalg.cholesky(S), (X - mean).T)
            scores.append(np.log(prior) - (z**2).sum(axis=0) / 2 - np.linalg.slogdet(S)[1] / 2)
        return np.array(scores)


def run(folder: Path, seed: int, quick: bool) -> Record:
    """Accuracy on the frames of held-out utterances; a seed is a fold of a repetition."""
    everything = vowels(folder)
    repeat, fold = divmod(seed, SPLITS)
    splits = StratifiedKFold(SPLITS, shuffle=True, random_state=repeat)
    known, new = list(splits.split(everything.speaker, everything.speaker))[fold]
    frames, owner = everything.of(known)
    test, test_owner = everything.of(new)
    y, truth = everything.speaker[known], everything.speaker[new][test_owner]
    centre, scale = frames.mean(axis=0), frames.std(axis=0)
    frames, test = (frames - centre) / scale, (test - centre) / scale
    full = from_repeats(frames, owner, covariance="full")
    diagonal = from_repeats(frames, owner, covariance="diagonal")
    inner = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(y, y))
    by_frame = [(np.flatnonzero(np.isin(owner, a)), np.flatnonzero(np.isin(owner, b))) for a, b in inner]
    models: dict[str, Any] = {
        PLAIN: _searched(full, y, inner, quick, cov=False),
        DIAGONAL: _searched(diagonal, y, inner, quick),
        FULL: _searched(full, y, inner, quick),
        ALL_FRAMES: _searched(svmgsu.Gaussians(frames), y[owner], by_frame, quick, cov=False),
        LDA: GaussianClasses(full, np.bincount(owner), y, shared=True),
        QDA: GaussianClasses(full, np.bincount(owner), y, shared=False),
    }
    return {name: float((model.predict(test) == truth).mean()) for name, model in models.items()}


def _searched(
    data: svmgsu.Gaussians, y: Array, folds: list[tuple[Array, Array]], quick: bool, cov: bool = True
) -> Any:
    """Choose λ by held-out draws, which stand for frames; train with or without covariances."""

    def train(rows: Array, lam: float) -> Any:
        known = data[rows] if cov else svmgsu.Gaussians(data.mean[rows])
        return svmgsu.train(known, y[rows], lam=lam, tol=1e-4, threads=1, probability=False)

    def score(lam: float) -> float:
        right = []
        for known, held_out in folds:
            draws = data.mean[held_out] if data.cov is None else data[held_out].sample(DRAWS, 0)
            X = draws.reshape(-1, data.shape[1])
            right.append(train(known, lam).predict(X) == np.repeat(y[held_out], len(X) // len(held_out)))
        return float(np.mean(np.concatenate(right)))

    return train(np.arange(len(y)), max(LAMS[1:3] if quick else LAMS, key=score))


def report(records: list[Record], page: Page) -> None:
    page.text(
        f"{SPLITS} folds × {REPEATS} by utterance. Training data are 512 means and covariances of the "
        "frames of an utterance (12 coefficients); what is classified is a single frame, among nine "
        "speakers. λ by cross-validation within the training set."
    )
    plain = values(records, PLAIN)
    rows = []
    for name in records[0]:
        scores = values(records, name)
        page.keep(name, estimate(scores))
        gain = "" if name == PLAIN else show_gain(paired(scores, plain, OVERLAP))
        rows.append((name, show(estimate(scores)), gain))
    page.table(("trained on", "accuracy on frames", "gain over the means"), rows)
    best = max(records[0], key=lambda name: values(records, name).mean())
    qda = paired(values(records, QDA), values(records, FULL), OVERLAP)
    page.text(
        f"The best row is {best}. QDA from the same summaries − LSVM-GSU: {show_gain(qda)}. Where classes "
        "are Gaussian clouds of different shapes, a quadratic boundary is the right one, and the "
        "summaries suffice for it too."
    )
    wide = values(records, FULL)
    for words, other, wanted in (
        ("Frames: full covariances − LSVM on the means", PLAIN, 0.06),
        ("Frames: full covariances − LSVM on all frames", ALL_FRAMES, -0.007),
        ("Frames: full − diagonal covariances", DIAGONAL, 0.05),
    ):
        gain = paired(wide, values(records, other), OVERLAP)
        page.target(words, gain.mean, gain.se, wanted)


EXPERIMENT = Experiment(
    "frames",
    "Where it helps: train on summaries, deploy on frames",
    run,
    report,
    seeds=SPLITS * REPEATS,
    quick_seeds=1,
    revision=2,
    needs=(VOWELS,),
)
