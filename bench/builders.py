"""What the builders of uncertainty cost, and whether missing values gain by them: `python -m bench.builders`.

Writes builders.md. The MNIST part needs the folder of real data; the part on missing values needs nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import svmgsu
from svmgsu import uncertainty

from .problems import MissingData, _wanted
from .tables import markdown, write
from .timing import machine, seconds_of

MISSING = 0.3
LAMS = np.logspace(0, -4, 9)
BASELINE = "mean imputation, linear SVM"


# Cost


def measure_mnist(folder: Path | None, repeat: int) -> list[list[str]]:
    """Rows (builder, data, seconds, largest memory, of which result) for MNIST."""
    with np.load(_wanted(folder, "mnist/mnist.npz")) as archive:
        images = archive["x_train"].astype(np.float32) / 255
    tasks: list[tuple[str, str, Callable[[], svmgsu.Gaussians], int]] = [
        (
            "`from_images`, shift and rotation (3 factors)",
            "60,000 digits, float32",
            lambda: uncertainty.from_images(images, shift=5 / 3, rotation=5.0),
            repeat,
        ),
        (
            "`from_images`, all (7 factors)",
            "60,000 digits, float32",
            lambda: uncertainty.from_images(
                images, shift=1.0, rotation=5.0, scale=0.1, shear=5.0, brightness=0.1, blur=1.0
            ),
            1,
        ),
    ]
    for jobs in (1, 2):
        tasks.append(
            (
                f"`from_augmentation`, 64 rotations, rank 8, n_jobs={jobs}",
                "1,000 digits, float32",
                lambda jobs=jobs: uncertainty.from_augmentation(images[:1000], rotate, n_jobs=jobs),  # type: ignore[misc]
                1,
            )
        )
    return [[name, data, *measure(build, rounds)] for name, data, build, rounds in tasks]


def rotate(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    from scipy.ndimage import rotate as turned

    return np.asarray(turned(image, rng.normal(scale=10.0), reshape=False, order=1))


def measure(build: Callable[[], svmgsu.Gaussians], rounds: int) -> list[str]:
    """Least seconds, and the largest memory beyond the input; memory is taken in a round of its own."""
    seconds = min(seconds_of(build) for _ in range(rounds))
    tracemalloc.start()
    data = build()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(data.cov, svmgsu.LowRank)
    result = data.cov.factors.nbytes
    say(f"{seconds:.2f} s, {peak / 1e6:.0f} MB")
    return [f"{seconds:.2f}", f"{peak / 1e6:.0f} MB", f"{result / 1e6:.0f} MB"]


# Missing values


def compare_missing(repetitions: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Accuracies on test rows with holes and on whole test rows, (repetitions,) for each method.

    A repetition is a random half of the Wisconsin breast cancer data (30 features) to train on, with 30 % of
    the values missing completely at random in both halves. All methods see the same halves and holes.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import StratifiedShuffleSplit

    table = load_breast_cancer()
    holed: dict[str, list[float]] = {}
    whole: dict[str, list[float]] = {}
    halves = StratifiedShuffleSplit(repetitions, test_size=0.5, random_state=0).split(
        table.data, table.target
    )
    for k, (known, new) in enumerate(halves):
        rng = np.random.default_rng(k)
        X = np.where(rng.uniform(size=table.data.shape) < MISSING, np.nan, table.data)
        centre, scale = np.nanmean(X[known], axis=0), np.nanstd(X[known], axis=0)
        X, truth = (X - centre) / scale, (table.data - centre) / scale
        for name, (data, test) in prepared(X[known], X[new]).items():
            scales = (0, 0.03, 0.1, 0.3, 1) if name.endswith("tuned scale") else (1.0,)
            search = svmgsu.LinearSVMGSUCV(LAMS, cov_scales=scales, cv=5, scoring="accuracy")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", svmgsu.exceptions.ConvergenceWarning)
                warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
                search.fit(data, table.target[known])
            holed.setdefault(name, []).append(search.score(test, table.target[new]))
            whole.setdefault(name, []).append(search.score(truth[new], table.target[new]))
        say(f"repetition {k + 1}: " + ", ".join(f"{100 * v[-1]:.1f}" for v in holed.values()))
    return {k: np.array(v) for k, v in holed.items()}, {k: np.array(v) for k, v in whole.items()}


def prepared(train: np.ndarray, test: np.ndarray) -> dict[str, tuple[svmgsu.Gaussians, np.ndarray]]:
    """For each method, what it trains on and the test rows with their holes filled."""
    fit = uncertainty.fit_gaussian(train, shrink="ledoit_wolf", tol=1e-2)
    data = uncertainty.from_missing(train, population=fit)
    filled = uncertainty.from_missing(test, population=fit).mean
    mean = uncertainty.from_missing(train, method="marginal")
    zero = np.where(np.isnan(test), 0.0, test)
    return {
        BASELINE: (mean.with_cov(None), zero),
        '`from_missing(method="marginal")`, SVM-GSU': (mean, zero),
        "conditional mean, linear SVM": (data.with_cov(None), filled),
        "`from_missing`, SVM-GSU": (data, filled),
        "`from_missing`, SVM-GSU, tuned scale": (data, filled),
    }


# Report


def report(
    about: dict[str, Any],
    costs: list[list[str]] | str,
    results: tuple[dict[str, np.ndarray], dict[str, np.ndarray]],
) -> str:
    parts = [
        "# Builders of uncertainty",
        f"{about['cpu']}, {about['cores']} cores, load {about['load_at_start']} at the start; "
        f"Python {about['python']}, NumPy {about['numpy']}, SciPy {about['scipy']}, "
        f"scikit-learn {about['scikit-learn']}. Made by `python -m bench.builders`.",
        "## Cost",
        "Largest memory is what NumPy and Python allocate beyond the images themselves.",
        costs
        if isinstance(costs, str)
        else markdown(["builder", "data", "seconds", "largest memory", "factors alone"], costs),
        "## Missing values",
        f"Wisconsin breast cancer, 30 features, {MISSING:.0%} of the values missing completely at random; "
        f"{len(results[0][BASELINE])} random halves, the same for all methods; λ chosen in the training half "
        "by 5-fold cross-validation of the accuracy on the means. The Gaussian is fitted to the training "
        "half, shrunk by Ledoit and Wolf's share. Accuracy in %, mean ± standard error; gains are paired. "
        "The halves share examples, so these standard errors are somewhat too small.",
    ]
    for title, accuracy in zip(("new rows have holes too", "new rows are whole"), results, strict=True):
        base = accuracy[BASELINE]
        rows = [
            [name, _mean(values), _mean(values - base, "+"), f"{int((values > base).sum())} of {len(base)}"]
            for name, values in accuracy.items()
        ]
        rows[0][2:] = ["", ""]
        parts += [
            f"### {title.capitalize()}",
            markdown(["method", "accuracy", "gain over the first", "better in"], rows),
        ]
        plain, gsu = accuracy["conditional mean, linear SVM"], accuracy["`from_missing`, SVM-GSU"]
        tuned = accuracy["`from_missing`, SVM-GSU, tuned scale"]
        parts += [
            "What the covariance adds to the conditional mean: "
            f"{_mean(gsu - plain, '+')} points; with a tuned scale {_mean(tuned - plain, '+')}."
        ]
    return "\n\n".join(parts) + "\n"


def _mean(values: np.ndarray, sign: str = "") -> str:
    return f"{100 * values.mean():{sign}.2f} ± {100 * values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def say(*words: Any) -> None:
    print(*words, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.builders", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("bench/results"), help="default: %(default)s")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("SVMGSU_DATA"),
        help="folder of real data; default: the environment variable SVMGSU_DATA",
    )
    parser.add_argument("--repeat", type=int, default=3, help="rounds, of which the best counts")
    parser.add_argument("--repetitions", type=int, default=30, help="halves of the data with missing values")
    options = parser.parse_args()
    about = machine()
    try:
        costs: list[list[str]] | str = measure_mnist(options.data, options.repeat)
    except MissingData as missing:
        costs = f"Not measured: {missing}."
    text = report(about, costs, compare_missing(options.repetitions))
    write(options.output / "builders.md", text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
