"""Commercials in TV news (Table 4): train on one channel, test on another; F1."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

import svmgsu

from . import systems
from .harness import Experiment, Record
from .report import Page, number, show, show_gain
from .statistics import Estimate, estimate, hindsight, paired, values
from .systems import Array

CHANNELS = ("BBC", "NDTV")
FILES = tuple(f"tvnews/{channel}.csv.gz" for channel in CHANNELS)
LAMS = np.logspace(-1, -5, 9)
FOLDS = 3
A_SEED = 4000  # shots to train on
PAPER_LSVM = 0.8484  # on NDTV, whatever it was trained on
SYSTEMS = {
    "LSVM": systems.lsvm,
    "LSVM-GSU": systems.gsu,
    "LSVM-GSU, 0.1 Σ": systems.scaled(systems.gsu, 0.1),
}


def load_channel(folder: Path, channel: str) -> tuple[Array, Array, Array]:
    """Nine features, their standard deviations (none for the shot length), labels. Rows of zeros and the
    edge change ratio, which is noise, are left out."""
    with gzip.open(folder / f"tvnews/{channel}.csv.gz", "rt") as file:
        columns = file.readline().strip().split(",")
        table = np.loadtxt(file, delimiter=",")
    table = table[(table[:, 2:18] != 0).any(axis=1)]
    of = {name: table[:, k] for k, name in enumerate(columns)}
    names = [name[: -len("_Mean")] for name in columns if name.endswith("_Mean") and "Edge" not in name]
    X = np.column_stack([of["Shot_Length"], *(of[f"{name}_Mean"] for name in names)])
    S = np.column_stack([np.zeros(len(X)), *(of[f"{name}_Variance"] for name in names)])
    return X, S, of["label"]


def features(X: Array, S: Array, deviations: bool) -> Array:
    """The means, with the deviations beside them or not (the shot length has none)."""
    return np.hstack([X, S[:, 1:]]) if deviations else X


def run(folder: Path, seed: int, quick: bool) -> Record:
    """F1 by training and test channel; with the means as features, or means and deviations."""
    out: Record = {}
    loaded = {channel: load_channel(folder, channel) for channel in CHANNELS}
    for source in CHANNELS:
        X, S, y = loaded[source]
        order = np.random.default_rng([seed, CHANNELS.index(source)]).permutation(len(y))
        known = np.sort(order[: A_SEED // 4 if quick else A_SEED])
        parts = systems.folds(y[known], FOLDS, seed)
        for deviations, words in ((False, "means"), (True, "means and deviations")):
            F = features(X[known], S[known], deviations)
            centre, scale = F.mean(axis=0), F.std(axis=0)
            V = np.zeros_like(F)
            V[:, : X.shape[1]] = (S[known] / scale[: X.shape[1]]) ** 2
            data = svmgsu.Gaussians((F - centre) / scale, svmgsu.Diagonal(V))
            for name, path in SYSTEMS.items():
                found = systems.search(path, data, y[known], LAMS, parts, systems.f1)
                for target in CHANNELS:
                    T, D, truth = (a[order[A_SEED:]] if target == source else a for a in loaded[target])
                    test = svmgsu.Gaussians((features(T, D, deviations) - centre) / scale)
                    cell = out.setdefault(f"{source} to {target}, {words}", {})
                    cell[name] = systems.outcome(found, lambda h, t=test, u=truth: systems.f1(h, t, u))
                    share = float((truth > 0).mean())
                    cell["all positive"] = 2 * share / (1 + share)
    return out


def report(records: list[Record], page: Page) -> None:
    share = 12564 / 17051
    all_positive = 2 * share / (1 + share)
    page.text(
        "The paper's LSVM column does not depend on the training channel: whatever it is trained on, F1 "
        "on NDTV is 0.8484. That is the F1 of calling every shot a commercial: NDTV has 12,564 of "
        f"17,051, so 2p/(1 + p) = {all_positive:.4f}. Its baseline was a trivial classifier, so the "
        "paper's gains are not gains over an SVM."
    )
    page.text(
        f"{len(records)} seeds: {A_SEED:,} shots of one channel to train on, 9 of the 17 usable features "
        "are means (standardised), 8 are their standard deviations, given as covariances, and in the "
        "second half of the table as features too. Only BBC (4,013 rows of zeros left out) and NDTV "
        "could be had, without the 4,000 audio words: the paper's values cannot be compared with."
    )
    rows = []
    for key, cell in records[0].items():
        plain = values(records, key, "LSVM")
        cells = [show(estimate(values(records, key, s))) for s in cell]
        gains = [show_gain(paired(values(records, key, s), plain)) for s in ("LSVM-GSU", "LSVM-GSU, 0.1 Σ")]
        page.keep(f"{key}, gain of LSVM-GSU over LSVM", paired(values(records, key, "LSVM-GSU"), plain))
        rows.append((key, *cells, *gains))
    heads = list(next(iter(records[0].values())))
    page.table(("train to test, features", *heads, "gain of LSVM-GSU over LSVM", "gain with 0.1 Σ"), rows)
    page.text("With the best λ in hindsight:")
    shown = [h for h in heads if h != "all positive"]
    page.table(
        ("F1, hindsight", *shown),
        [(key, *(number(hindsight(records, key, s).mean()) for s in shown)) for key in records[0]],
    )
    page.claim(
        "TV: the LSVM column is a linear SVM; F1 on NDTV of calling everything a commercial",
        paper=PAPER_LSVM,
        found=Estimate(all_positive, 0.0, 1),
        verdict="not reproduced",
        note="the paper's baseline is the all-positive classifier",
    )
    for source, target in (("BBC", "NDTV"), ("NDTV", "BBC")):
        gain = paired(
            values(records, f"{source} to {target}, means", "LSVM-GSU"),
            values(records, f"{source} to {target}, means", "LSVM"),
        )
        page.claim(
            f"TV, {source} to {target}: gain in F1 of LSVM-GSU over a proper LSVM",
            paper=None,
            found=gain,
            verdict="partly" if gain.mean > 2 * gain.se else "not reproduced",
            note="other channels and features than the paper's",
        )


EXPERIMENT = Experiment("tv", "Commercials in TV news (Table 4)", run, report, seeds=10, needs=FILES)
