"""`svmgsu demo`: train with and without standard errors, on the Wisconsin breast cancer data.

The data give ten averages over the cells of each tumour, and the standard errors of these averages. New
tumours are measured with more noise, as if over fewer cells; a linear model that was trained with the
standard errors is compared with one that was trained on the values alone.
"""

from __future__ import annotations

import argparse
import os

import numpy as np

from ..support.validation import Array, FloatArray
from .base import UsageError, count

EXAMPLES = """\
examples:
  svmgsu demo                  10 random splits
  svmgsu demo --splits 100     smaller standard errors
"""
LEVELS = (1, 10)  # noise of new samples, in squared standard errors
LAMS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
COPIES = 10  # noisy measurements of each sample, to choose λ with and to test on
CLEAR = 3  # standard errors of a clear difference: splits share samples, so two would come too easily


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--splits", type=count, default=10, metavar="N", help="random splits (default: 10)")


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.splits < 2:
        raise UsageError(f"--splits: a standard error needs at least 2, got {args.splits}")
    try:
        accuracy = compare(args.splits)
        print(describe(accuracy))
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        raise ImportError(f"needs {package}: pip install 'svmgsu[demo]'") from error
    print("\nNext: svmgsu report YOUR_TABLE.csv --target COLUMN -o report.html")


def compare(splits: int) -> FloatArray:
    """Return the accuracy in percent for each noise of new samples, without and with errors, and split."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import StratifiedShuffleSplit

    from ..support.progress import counter

    cancer = load_breast_cancer()
    X, errors = cancer.data[:, :10], cancer.data[:, 10:20]
    y = cancer.target_names[cancer.target]
    accuracy = np.zeros((len(LEVELS), 2, splits))
    done = counter(os.isatty(2), splits * len(LEVELS), "svmgsu demo")
    halves = StratifiedShuffleSplit(splits, test_size=0.5, random_state=0).split(X, y)
    for k, (training, new) in enumerate(halves):
        rng = np.random.default_rng(k)
        scale = X[training].std(axis=0)
        Z = (X - X[training].mean(axis=0)) / scale
        for i, level in enumerate(LEVELS):
            se = np.sqrt(level) * errors / scale
            # Noisy measurements of each sample, of shape (copies, l, n).
            practice = Z[training] + se[training] * rng.standard_normal((COPIES, *Z[training].shape))
            test = Z[new] + se[new] * rng.standard_normal((COPIES, *Z[new].shape))
            for j, std in enumerate((None, se[training])):
                best = _best_accuracy(Z[training], std, y[training], practice, test, y[new])
                accuracy[i, j, k] = 100 * best
            done()
    return accuracy


def _best_accuracy(
    X: FloatArray, std: FloatArray | None, y: Array, practice: FloatArray, test: FloatArray, truth: Array
) -> float:
    """Return the accuracy on `test`; λ is chosen by that on `practice`, noisy training samples."""
    from ..fit.train import train
    from ..models.classifier import Model

    def accuracy(model: Model, copies: FloatArray, labels: Array) -> float:
        predicted = model.predict(copies.reshape(-1, copies.shape[-1]))
        return float((predicted == np.tile(labels, len(copies))).mean())

    models = [train(X, y, std=std, lam=lam, probability=False) for lam in LAMS]
    best = max(models, key=lambda model: accuracy(model, practice, y))
    return accuracy(best, test, truth)


def describe(accuracy: FloatArray) -> str:
    """Return the comparison as text, with a verdict in words."""
    splits = accuracy.shape[2]
    lines = [
        "Wisconsin breast cancer: 569 tumours, 10 features, each with its standard error (se).",
        f"A linear model, trained on one half and tested on the other, in {splits} random splits.",
        "",
        f"{'test noise':<12}{'values only':>16}{'with standard errors':>24}{'gain':>18}",
    ]
    verdicts = []
    for level, (plain, told) in zip(LEVELS, accuracy, strict=True):
        means = [values.mean() for values in (plain, told, told - plain)]
        errors = [values.std(ddof=1) / np.sqrt(splits) for values in (plain, told, told - plain)]
        cells = [f"{mean:.2f} ± {error:.2f} %" for mean, error in zip(means, errors, strict=True)]
        gain = means[2]
        lines.append(
            f"{f'{level} × se²':<12}{cells[0]:>16}{cells[1]:>24}{'+' if gain > 0 else '':>4}{cells[2]}"
        )
        sure = CLEAR * errors[2]
        clear = "better" if gain > sure else "worse" if gain < -sure else "about as good"
        verdicts.append(f"With noise of {level} × se², training with standard errors is {clear}.")
    return "\n".join([*lines, "", *verdicts])
