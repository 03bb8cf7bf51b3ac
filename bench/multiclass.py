"""More than two classes: pairs with coupled probabilities, each against the rest, and linear discriminants.

Run as `python -m bench.multiclass`; it writes bench/results/multiclass.md. The speakers need the folder of
data sets in SVMGSU_DATA and are left out without it.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import svmgsu

SEEDS = 5
LAM = 1e-2
RESULTS = Path(__file__).parent / "results" / "multiclass.md"


class Task(NamedTuple):
    """Training means, labels and covariances (l, n) or (l, n, n), and the same of new objects."""

    X: Any
    y: Any
    cov: Any
    new: Any
    truth: Any
    new_cov: Any


def digits(seed: int, setting: str) -> Task:
    """scikit-learn's digits, 500 to train on; noise of .5 (pixels are 0 to 1), uneven from image to image."""
    found, rng = load_digits(), np.random.default_rng(seed)
    rows = rng.permutation(len(found.data))
    known, rest = rows[:500], rows[500:]
    if setting == "imbalanced":
        known = np.concatenate([rows[found.target[rows] == k][: max(4, 60 - 6 * k)] for k in range(10)])
        rest = np.setdiff1d(rows, known)
    X, new = found.data[known] / 16, found.data[rest] / 16
    V, W = (0.25 * rng.uniform(0.2, 1.8, (len(a), 1)) * np.ones(64) for a in (X, new))
    new = new + np.sqrt(W) * rng.normal(size=new.shape)
    if setting == "noisy training":
        X = X + np.sqrt(V) * rng.normal(size=X.shape)
    return Task(X, found.target[known], V, new, found.target[rest], W)


def blobs(seed: int) -> Task:
    """Ten classes of 40 in 12 dimensions, each with error bars of its own; new ones drawn with them."""
    rng = np.random.default_rng(seed)
    centres, y = 1.2 * rng.normal(size=(10, 12)), np.arange(400) % 10
    truth = rng.integers(10, size=1500)
    V, W = (rng.uniform(0.1, 2.0, (len(a), 12)) for a in (y, truth))
    X, new = (centres[a] + rng.normal(size=(len(a), 12)) for a in (y, truth))
    return Task(X, y, V, new + np.sqrt(W) * rng.normal(size=new.shape), truth, W)


def speakers(seed: int, frames: bool) -> Task:
    """Japanese Vowels: summaries of 7 of 10 utterances; new frames, or means of new utterances."""
    with np.load(Path(os.environ["SVMGSU_DATA"]) / "japvowels" / "japvowels.npz") as archive:
        all_frames, length, y = (archive[f"train_{name}"] for name in ("frames", "len", "y"))
        new, new_length, truth = (archive[f"test_{name}"] for name in ("frames", "len", "y"))
    centre, scale = all_frames.mean(axis=0), all_frames.std(axis=0)
    parts = np.split((all_frames - centre) / scale, np.cumsum(length)[:-1])
    rows = np.random.default_rng(seed).permutation(len(parts))[: len(parts) * 7 // 10]
    X = np.array([parts[i].mean(axis=0) for i in rows], dtype=float)
    S = np.array([np.cov(parts[i].T) for i in rows])
    new = ((new - centre) / scale).astype(float)
    if frames:
        return Task(X, y[rows], S, new, np.repeat(truth, new_length), None)
    groups = np.split(new, np.cumsum(new_length)[:-1])
    W = np.array([np.cov(g.T) / len(g) for g in groups])
    counts = length[rows]
    return Task(X, y[rows], S / counts[:, None, None], np.array([g.mean(axis=0) for g in groups]), truth, W)


def lda(task: Task) -> Any:
    """Linear discriminants: within-class covariance, to which the noise of each new object is added."""
    classes = np.unique(task.y)
    codes = np.searchsorted(classes, task.y)
    mean = np.array([task.X[codes == k].mean(axis=0) for k in range(len(classes))])
    S = np.cov((task.X - mean[codes]).T) + 1e-3 * np.eye(task.X.shape[1])
    noise = np.zeros_like(S) if task.new_cov is None else None
    if task.new_cov is None and task.cov is not None:  # frames: within an utterance they spread like this
        noise = task.cov.mean(axis=0) if task.cov.ndim == 3 else np.diag(task.cov.mean(axis=0))
    logs = np.empty((len(task.new), len(classes)))
    for i, x in enumerate(task.new):
        own = noise if noise is not None else task.new_cov[i]
        full = S + (own if own.ndim == 2 else np.diag(own))
        d = x - mean
        logs[i] = (
            np.log(np.bincount(codes) / len(codes))
            - np.einsum("ki,ki->k", d, np.linalg.solve(full, d.T).T) / 2
        )
    return np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def second_method(z: Any, K: int) -> Any:
    """The second method of Wu, Lin and Weng (2004) for the log-odds of pairs."""
    R, off = np.full((len(z), K, K), 0.5), ~np.eye(K, dtype=bool)
    for k, (i, j) in enumerate(zip(*np.triu_indices(K, 1), strict=True)):
        R[:, j, i] = 1 / (1 + np.exp(-np.clip(z[:, k], -16, 16)))
        R[:, i, j] = 1 - R[:, j, i]
    turned = R.transpose(0, 2, 1)
    total = (turned**2 * off).sum(axis=2)
    Q = -turned * R * off + total[:, :, None] * np.eye(K) + (total.sum(axis=1) / K**2)[:, None, None]
    p = np.maximum(np.linalg.solve(Q, np.ones((len(z), K, 1)))[:, :, 0], 1e-15)
    return p / p.sum(axis=1, keepdims=True)


def results_of(task: Task) -> dict[str, tuple[float, float, float]]:
    """Accuracy, log-loss and seconds of training for each method."""
    codes = np.searchsorted(np.unique(task.y), task.truth)
    out = {}

    def note(name: str, p: Any, seconds: float) -> None:
        loss = -np.log(np.maximum(p[np.arange(len(codes)), codes], 1e-15)).mean()
        out[name] = (100 * (p.argmax(axis=1) == codes).mean(), loss, seconds)

    for name, settings in (
        ("each against the rest", {"multi_class": "ovr"}),
        ("the same, balanced", {"multi_class": "ovr", "class_weight": "balanced"}),
        ("pairs, coupled", {}),
        ("pairs, cov_scale=0", {"cov_scale": 0}),
    ):
        began = time.perf_counter()
        model = svmgsu.train(task.X, task.y, task.cov, lam=LAM, **settings)
        seconds = time.perf_counter() - began
        note(name, model.predict_proba(task.new, task.new_cov), seconds)
        if name.endswith("=0"):
            note("pairs, cov_scale=0, no bars at predict", model.predict_proba(task.new), seconds)
        if name == "pairs, coupled":
            data = svmgsu.Gaussians(task.new, task.new_cov)
            f, v = model._values(data, 0), model._variances(data, 0)
            note(
                "pairs, Wu, Lin and Weng's second",
                second_method(model._log_odds(f, v), len(model.classes_)),
                seconds,
            )
    began = time.perf_counter()
    note("LDA with the noise", lda(task), time.perf_counter() - began)
    return out


def main() -> None:
    """Measures, and writes the table."""
    warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
    tasks: dict[str, Any] = {
        f"digits, {name}": (lambda seed, name=name: digits(seed, name))
        for name in ("noisy new ones", "noisy training", "imbalanced")
    } | {"ten blobs": blobs}
    if "SVMGSU_DATA" in os.environ:
        tasks |= {"speakers, frames": lambda seed: speakers(seed, True)}
        tasks |= {"speakers, utterances": lambda seed: speakers(seed, False)}
    lines = [
        "# More than two classes",
        "",
        f"Written by `python -m bench.multiclass`: λ = {LAM:g}, means over {SEEDS} seeds. Gains are over",
        "each against the rest, paired, ± a standard error. Error bars of new objects are used where known",
        "(not for frames). Imbalanced training is used on new digits that are not, and no `prior` is stated.",
        "",
    ]
    for title, make in tasks.items():
        runs = [results_of(make(seed)) for seed in range(SEEDS)]
        table = {name: np.array([run[name] for run in runs]) for name in runs[0]}
        base = table["each against the rest"]
        lines += [
            f"## {title}",
            "",
            "| method | accuracy, % | gain | log-loss | gain | seconds |",
            "|---|---|---|---|---|---|",
        ]
        for name, values in table.items():
            gain = values - base
            error = gain.std(axis=0, ddof=1) / np.sqrt(SEEDS)
            accuracy, loss, seconds = values.mean(axis=0)
            lines.append(
                f"| {name} | {accuracy:.1f} | {gain[:, 0].mean():+.1f} ± {error[0]:.1f} | {loss:.3f} | "
                f"{gain[:, 1].mean():+.3f} ± {error[1]:.3f} | {seconds:.2f} |"
            )
        lines.append("")
        print("\n".join(lines[-len(table) - 5 :]), flush=True)
    RESULTS.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
