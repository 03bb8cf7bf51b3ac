"""`svmgsu demo`: train with and without standard errors, on the Wisconsin breast cancer data.

The data give ten averages over the cells of each tumour, and the standard errors of these averages. New
tumours are measured with more noise, as if over fewer cells; a linear model that was trained with the
standard errors is compared with one that was trained on the values alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .data.gaussians import Gaussians
from .fit.train import train
from .io.output import check_output, replacing
from .models.classifier import Model
from .support.validation import Array, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAMS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
COPIES = 10  # noisy measurements of each sample, to choose λ with and to test on
CLEAR = 3  # standard errors of a clear difference: splits share samples, so two would come too easily
NAMES = ("values only", "with standard errors")


@dataclass
class Outcome:
    """Accuracies of both models in each split, where new samples have noise of `level` × se²."""

    level: float
    accuracy: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    @property
    def name(self) -> str:
        return f"{self.level:g} × se²"

    def mean(self, k: int) -> tuple[float, float]:
        """Return the mean accuracy of a model in percent, and its standard error."""
        return _mean_and_error(100 * np.array(self.accuracy[k]))

    def gain(self) -> tuple[float, float]:
        """Return the gain by the standard errors in percent, split by split, and its standard error."""
        return _mean_and_error(100 * (np.array(self.accuracy[1]) - np.array(self.accuracy[0])))


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def run(splits: int = 10, noise: float = 10.0, output: str | None = "svmgsu-demo.png") -> None:
    """Run the comparison, print it, and draw it into the file `output` (None: no picture)."""
    if splits < 2:
        raise ValueError(f"splits: a standard error needs at least 2, got {splits}")
    if not (noise > 0 and np.isfinite(noise)):
        raise ValueError(f"noise: must be > 0 and finite, got {noise:g}")
    if output is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        # Refuse before the work what could not be written after it.
        formats = FigureCanvasBase.get_supported_filetypes()
        if os.path.splitext(output)[1][1:].lower() not in formats:
            known = ", ".join("." + name for name in sorted(formats))
            raise ValueError(f"output: {output!r} should end in one of {known}")
        check_output(output)
    outcomes = compare(splits, noise)
    print(describe(outcomes))
    if output is not None:
        picture(outcomes, output)
        print(f"\nPicture: {output}")
    print("\nNext: svmgsu report YOUR_TABLE.csv --target COLUMN -o report.html")


def compare(splits: int, noise: float) -> list[Outcome]:
    """Train both models on random halves of the data and test them on the other halves, with more noise."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import StratifiedShuffleSplit

    from .support.progress import counter

    cancer = load_breast_cancer()
    X = cancer.data[:, :10]
    errors = cancer.data[:, 10:20]
    y = cancer.target_names[cancer.target]
    outcomes = [Outcome(level) for level in sorted({1.0, noise})]
    done = counter(os.isatty(2), splits * len(outcomes), "svmgsu demo")
    halves = StratifiedShuffleSplit(splits, test_size=0.5, random_state=0).split(X, y)
    for k, (training, new) in enumerate(halves):
        rng = np.random.default_rng(k)
        scale = X[training].std(axis=0)
        Z = (X - X[training].mean(axis=0)) / scale
        for outcome in outcomes:
            se = np.sqrt(outcome.level) * errors / scale
            practice = _measured_again(Z[training], se[training], rng)
            test = _measured_again(Z[new], se[new], rng)
            for accuracy, std in zip(outcome.accuracy, (None, se[training]), strict=True):
                accuracy.append(_best_accuracy(Z[training], std, y[training], practice, test, y[new]))
            done()
    return outcomes


def _measured_again(X: FloatArray, se: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return noisy measurements of each sample, of shape (copies, l, n)."""
    return np.asarray(X + se * rng.standard_normal((COPIES, *X.shape)))


def _best_accuracy(
    X: FloatArray, std: FloatArray | None, y: Array, practice: FloatArray, test: FloatArray, truth: Array
) -> float:
    """Return the accuracy on `test`; λ is chosen by that on `practice`, noisy training samples."""

    def accuracy(model: Model, copies: FloatArray, labels: Array) -> float:
        predicted = model.predict(copies.reshape(-1, copies.shape[-1]))
        return float((predicted == np.tile(labels, len(copies))).mean())

    models = [train(X, y, std=std, lam=lam, probability=False) for lam in LAMS]
    best = max(models, key=lambda model: accuracy(model, practice, y))
    return accuracy(best, test, truth)


def describe(outcomes: list[Outcome]) -> str:
    """Return the comparison as text, with a verdict in words."""
    splits = len(outcomes[0].accuracy[0])
    lines = [
        "Wisconsin breast cancer: 569 tumours, 10 features, each with its standard error (se).",
        f"A linear model, trained on one half and tested on the other, in {splits} random splits.",
        "",
        f"{'test noise':<12}{NAMES[0]:>16}{NAMES[1]:>24}{'gain':>18}",
    ]
    for outcome in outcomes:
        plain, plain_error = outcome.mean(0)
        told, told_error = outcome.mean(1)
        gain, error = outcome.gain()
        columns = f"{plain:.2f} ± {plain_error:.2f} %", f"{told:.2f} ± {told_error:.2f} %"
        lines.append(
            f"{outcome.name:<12}{columns[0]:>16}{columns[1]:>24}{f'{gain:+.2f} ± {error:.2f} %':>18}"
        )
    lines.append("")
    for outcome in outcomes:
        gain, error = outcome.gain()
        clear = "better" if gain > CLEAR * error else "worse" if gain < -CLEAR * error else "about as good"
        lines.append(f"With noise of {outcome.name}, training with standard errors is {clear}.")
    return "\n".join(lines)


def crossing(count: int = 11, seed: int = 3) -> tuple[Gaussians, Array]:
    """Return two classes of long, slanted Gaussians; their means alone suggest another boundary."""
    rng = np.random.default_rng(seed)
    angle = np.radians(38 + rng.uniform(-9, 9, 2 * count))
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    length = rng.uniform(0.8, 1.7, 2 * count)
    breadth = rng.uniform(0.12, 0.22, 2 * count)
    factors = np.stack([length[:, None] * along, breadth[:, None] * across], axis=1)
    y = np.repeat([1, 2], count)
    centre = np.where(y[:, None] == 1, [-1.5, 0.55], [1.5, -0.55])
    mean = centre + rng.uniform(-1, 1, (2 * count, 2)) * [0.75, 1.5]
    return Gaussians(mean, np.einsum("lri,lrj->lij", factors, factors)), y


def draw_crossing(ax: Axes) -> None:
    """Draw the toy problem with the boundaries of models trained with and without uncertainties."""
    from . import plot

    data, labels = crossing()
    y = np.array(["star", "quasar"])[labels - 1]
    told = train(data, y, lam=1e-2)
    plain = train(data.mean, y, lam=1e-2)
    plot.boundary(told, data, y, ax, other=plain, labels=("with uncertainties", "values only"))


def picture(outcomes: list[Outcome], path: str) -> None:
    """Draw the toy problem and the comparison side by side into a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from .plot.style import BLUE, GREY, save_figure

    figure = Figure(figsize=(10.5, 4.6), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    draw_crossing(left)
    left.set_title("Uncertainties move the boundary", fontsize=11)
    for x, outcome in enumerate(outcomes):
        pairs = 100 * np.array(outcome.accuracy)
        places = (x - 0.17, x + 0.17)
        right.plot(places, pairs, color="#B0B0B0", linewidth=0.7, zorder=1)
        for k, (colour, marker) in enumerate(((GREY, "s"), (BLUE, "o"))):
            look = {"color": colour, "marker": marker, "markersize": 7, "capsize": 4, "linestyle": "none"}
            mean, error = outcome.mean(k)
            right.errorbar(places[k], mean, error, label=NAMES[k] if x == 0 else None, zorder=3, **look)
        gain, error = outcome.gain()
        text = f"{gain:+.1f} ± {error:.1f}"
        right.annotate(text, (x, pairs.max()), (0, 8), textcoords="offset points", ha="center", fontsize=10)
    right.set_xticks(range(len(outcomes)), [outcome.name for outcome in outcomes])
    right.set(xlabel="noise of new samples", ylabel="accuracy, %", xlim=(-0.55, len(outcomes) - 0.45))
    right.margins(y=0.12)
    right.set_title("Breast cancer: a line is a split, numbers are gains", fontsize=11)
    right.legend(loc="lower left", frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    with replacing(path) as (file,):
        save_figure(figure, file, os.path.splitext(path)[1][1:].lower())
