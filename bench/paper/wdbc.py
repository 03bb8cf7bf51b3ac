"""Wisconsin breast cancer (Table 2): averages over cells, with their standard errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit

import svmgsu

from . import systems
from .harness import Experiment, Record
from .report import Page, number, show, show_gain
from .statistics import estimate, hindsight, paired, values
from .systems import Array

LAMS = np.logspace(0, -4, 9)
FOLDS = 10
NOISE = 10.0  # × se², where the test is noisy
FLOOR = 1e-6  # the paper's σ0² of features without a standard error
OVERLAP = 1 / 9  # test over training examples
PAPER = {"LSVM": 0.9515, "PSVM": 0.9637, "LSVM-iso": 0.9653, "LSVM-GSU": 0.9714}
MODELS = {"se²": "variance se²", "80 % rule": "the paper's rule: the largest variance is 80 % of the range"}


def examples() -> tuple[Array, Array, Array]:
    """30 features, the standard errors of the first ten (0 for the rest), and +1 for malignant."""
    found = load_breast_cancer()
    se = np.zeros_like(found.data)
    se[:, :10] = found.data[:, 10:20]
    return found.data, se, np.where(found.target == 0, 1.0, -1.0)


def variances(X: Array, se: Array, model: str, known: Array) -> Array:
    """Of each example by one of MODELS; the rule looks at the training examples `known` alone."""
    if model == "se²":
        V = se**2
    else:
        span, top = np.ptp(X[known], axis=0), (se[known] ** 2).max(axis=0)
        V = se**2 * np.divide(0.8 * span, top, out=np.zeros_like(top), where=top > 0)
    return np.maximum(V, FLOOR)


def run(folder: Path, seed: int, quick: bool) -> Record:
    """Accuracy on 10 % of the data: clean, raw or standardised; and standardised with noise in the test."""
    X, se, y = examples()
    known, new = next(StratifiedShuffleSplit(1, test_size=0.1, random_state=seed).split(X, y))
    parts = systems.folds(y[known], 3 if quick else FOLDS, seed)
    centre, scale = X[known].mean(axis=0), X[known].std(axis=0)
    Z, bars = (X - centre) / scale, se / scale
    out: Record = {"clean": _clean(Z, bars, y, known, new, parts)}
    if not quick:
        out["raw"] = _clean(X, se, y, known, new, parts, psvm=False)
    out["noisy"] = _noisy(Z, bars, y, known, new, parts, seed)
    return out


Parts = list[tuple[Array, Array]]


def _clean(
    X: Array, se: Array, y: Array, known: Array, new: Array, parts: Parts, psvm: bool = True
) -> Record:
    # On raw data (areas of 2,500 beside fractions) λ means something else: the grid follows the scale.
    lams = LAMS * np.mean(np.sum((X[known] - X[known].mean(axis=0)) ** 2, axis=1)) / X.shape[1]
    test = systems.right(X[new], y[new])
    row: Record = {}
    for model in MODELS:
        data = svmgsu.Gaussians(X[known], svmgsu.Diagonal(variances(X, se, model, known)[known]))
        paths = {"LSVM-iso": systems.isotropic, "LSVM-GSU": systems.gsu}
        if psvm:
            paths["PSVM"] = systems.power
        if model == "se²":
            plain = systems.search(systems.lsvm, data, y[known], lams, parts)
            row["LSVM"] = systems.outcome(plain, test)
            row["naive Bayes"] = systems.accuracy(systems.naive_bayes(data, y[known]), _at(X[new]), y[new])
        for name, path in paths.items():
            found = systems.search(path, data, y[known], lams, parts)
            row[f"{name}, {model}"] = systems.outcome(found, test)
    return row


def _noisy(X: Array, se: Array, y: Array, known: Array, new: Array, parts: Parts, seed: int) -> Record:
    """The ten averages alone. New examples carry noise of NOISE × se²; λ is chosen for that noise by the
    expected accuracy on held-out Gaussians, for every system alike."""
    X, se = X[:, :10], se[:, :10]
    data = svmgsu.Gaussians(X[known], svmgsu.Diagonal(NOISE * se[known] ** 2))
    target = svmgsu.Gaussians(X[new], svmgsu.Diagonal(NOISE * se[new] ** 2))
    paths = {
        "LSVM": systems.lsvm,
        "PSVM": systems.power,
        "LSVM-iso": systems.isotropic,
        "LSVM-GSU": systems.gsu,
        "LSVM, 10 samples": systems.sampled(10, seed),
    }
    row: Record = {}
    for name, path in paths.items():
        found = systems.search(path, data, y[known], LAMS, parts, systems.expected_accuracy)
        row[name] = systems.outcome(found, lambda h: systems.expected_accuracy(h, target, y[new]))
    return row


def _at(X: Array) -> svmgsu.Gaussians:
    return svmgsu.Gaussians(X)


def report(records: list[Record], page: Page) -> None:
    page.text(
        f"{len(records)} random splits into 90 % and 10 %, λ by {FOLDS}-fold cross-validation. Two models "
        "of the covariance: "
        + "; ".join(f"{k}: {v}" for k, v in MODELS.items())
        + ". *Noisy*: the ten averages alone, "
        f"standardised; the test examples carry noise of {NOISE:g} × se², all systems choose λ for it, "
        "and the accuracy is the exact expectation over the noise."
    )
    titles = {"clean": "standardised", "raw": "raw", "noisy": f"noisy, {NOISE:g} se²"}
    for part in (p for p in titles if p in records[0]):
        rows = []
        for system, found in records[0][part].items():
            scores = values(records, part, system)
            e, gain = estimate(scores), paired(scores, values(records, part, "LSVM"), OVERLAP)
            page.keep(f"{titles[part]}, {system}", e)
            known = PAPER.get(system.split(",")[0]) if part != "noisy" else None
            best = number(hindsight(records, part, system).mean()) if isinstance(found, dict) else "–"
            cells = ("–" if known is None else number(known), show(e), best)
            rows.append((system, *cells, "" if system == "LSVM" else show_gain(gain)))
        page.table((titles[part], "paper", "accuracy", "best λ in hindsight", "gain over LSVM"), rows)
    _claims(records, page)


def _claims(records: list[Record], page: Page) -> None:
    for part, words in (("clean", "standardised"), ("raw", "raw")):
        if part not in records[0]:
            continue
        for system, paper in (("LSVM", PAPER["LSVM"]), ("LSVM-GSU, se²", PAPER["LSVM-GSU"])):
            ours = estimate(values(records, part, system))
            page.claim(f"WDBC, {words}: accuracy of {system}", paper=paper, found=ours, tolerance=0.005)
        for model in MODELS:
            gain = paired(values(records, part, f"LSVM-GSU, {model}"), values(records, part, "LSVM"), OVERLAP)
            paper = PAPER["LSVM-GSU"] - PAPER["LSVM"]
            page.claim(f"WDBC, {words}: gain of LSVM-GSU over LSVM, {model}", paper=paper, found=gain)
    gain = paired(values(records, "clean", "LSVM-GSU, se²"), values(records, "clean", "LSVM"), OVERLAP)
    page.target("WDBC, clean: LSVM-GSU − LSVM + 2 standard errors", gain.mean + 2 * gain.se, gain.se, 0.0)
    gain = paired(values(records, "noisy", "LSVM-GSU"), values(records, "noisy", "LSVM"), OVERLAP)
    page.target(f"WDBC, noise of {NOISE:g} se²: LSVM-GSU − LSVM", gain.mean, gain.se, 0.015)


EXPERIMENT = Experiment("wdbc", "Wisconsin breast cancer (Table 2)", run, report, seeds=30)
