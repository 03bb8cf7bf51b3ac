"""`svmgsu demo`: error bars in training, tried on the Wisconsin breast cancer data, in a table and a picture.

The data give ten averages over the cells of each tumour, and the standard errors of these averages. The
question is whether a classifier trained with the standard errors does better, and at which noise.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .data.gaussians import Gaussians
from .fit.train import train
from .io.output import check_output, replacing
from .models.calibration import fit
from .models.classifier import Model
from .support.validation import Array, FloatArray

LAMS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
FOLDS = 3
PRACTICE_COPIES, TEST_COPIES = 5, 20  # noisy copies of each example, to calibrate on and to test on
CLEAR = 3  # standard errors that make a difference clear: splits share examples, so two would come too easily
MEASURES = ("accuracy", "log-loss")


class Outcome(NamedTuple):
    """What both methods reached where new examples carry noise of `level` × se²: (splits,) by measure."""

    level: float
    svm: dict[str, FloatArray]
    gsu: dict[str, FloatArray]

    @property
    def name(self) -> str:
        return f"{self.level:g} × se²" if self.level else "none"

    @property
    def factor(self) -> float:
        """SVM-GSU is trained with this × se²: the noise to come, or the error bars as they are."""
        return self.level or 1.0

    def gain(self, measure: str) -> FloatArray:
        """SVM-GSU against the SVM, split by split; positive favours SVM-GSU."""
        difference = self.gsu[measure] - self.svm[measure]
        return difference if measure == "accuracy" else -difference


def run(splits: int = 20, noise: float = 10.0, output: str | None = "svmgsu-demo.png") -> None:
    """Runs the comparison, prints it, and draws it into the file `output` (None: no picture)."""
    if splits < 2:
        raise ValueError(f"splits: a standard error needs at least 2, got {splits}")
    if not (noise > 0 and np.isfinite(noise)):
        raise ValueError(f"noise: must be > 0 and finite, got {noise:g}")
    if output is not None:
        _check_output(output)
    outcomes = compare(splits, noise)
    print(table(outcomes))
    if output is not None:
        picture(outcomes, output)
        print(f"\nPicture: {output}")


def breast_cancer() -> tuple[FloatArray, FloatArray, Array]:
    """Ten averages of each tumour, their standard errors, and "malignant" or "benign"."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    return found.data[:, :10], found.data[:, 10:20], found.target_names[found.target]


def compare(splits: int, noise: float) -> list[Outcome]:
    """The linear SVM and SVM-GSU on the same random halves of the data, at each level of noise."""
    from sklearn.model_selection import StratifiedShuffleSplit

    X, se, y = breast_cancer()
    levels = sorted({0.0, 1.0, noise})
    outcomes = [Outcome(v, *({m: np.zeros(splits) for m in MEASURES} for _ in range(2))) for v in levels]
    halves = StratifiedShuffleSplit(splits, test_size=0.5, random_state=0).split(X, y)
    for k, (known, new) in enumerate(_progress(halves, splits)):
        centre, scale = X[known].mean(axis=0), X[known].std(axis=0)
        Z, bars = (X - centre) / scale, se / scale
        rng = np.random.default_rng(k)
        for outcome in outcomes:
            practice = noisy(Z[known], bars[known], outcome.level, PRACTICE_COPIES, rng)
            test = noisy(Z[new], bars[new], outcome.level, TEST_COPIES, rng)
            for into, factor in ((outcome.svm, 0.0), (outcome.gsu, outcome.factor)):
                model = tuned(Z[known], bars[known], y[known], factor, outcome.level, practice)
                for measure, value in zip(MEASURES, _scores(model, test, y[new]), strict=True):
                    into[measure][k] = value
    return outcomes


def noisy(X: FloatArray, se: FloatArray, level: float, copies: int, rng: np.random.Generator) -> FloatArray:
    """Copies of the examples with noise of level × se², of shape (copies, l, n)."""
    if level == 0:
        return X[np.newaxis]
    return np.asarray(X + np.sqrt(level) * se * rng.standard_normal((copies, *X.shape)))


def tuned(
    X: FloatArray, se: FloatArray, y: Array, factor: float, level: float, practice: FloatArray
) -> Model:
    """A model with covariances factor × se² (0: the ordinary SVM), for noise of level × se² to come.

    Both methods are tuned and calibrated for the noise that they will meet, on training data alone: λ by
    the accuracy expected under it, the probabilities on noisy `practice`.
    """
    from .estimators.linear import LinearSVMGSU

    data = Gaussians(X, (level or factor) * se**2)  # held-out samples carry these
    scale = factor / (level or factor or 1.0)
    model: Model = LinearSVMGSU(LAMS, cov_scale=scale, probability=False).fit(data, y).model_
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    scores = model.decision_function(practice.reshape(-1, practice.shape[-1]))
    labels = np.tile(signs, len(practice))
    model.calibration_ = (fit(scores, None, labels, np.ones(len(labels))),)
    return model


def _scores(model: Model, copies: FloatArray, y: Array) -> tuple[float, float]:
    """Accuracy and log-loss over all noisy copies."""
    X, truth = copies.reshape(-1, copies.shape[-1]), np.tile(y, len(copies))
    right = model.predict_proba(X)[np.arange(len(X)), (truth == model.classes_[1]).astype(int)]
    return float((model.predict(X) == truth).mean()), float(-np.log(np.maximum(right, 1e-300)).mean())


def table(outcomes: list[Outcome]) -> str:
    """The comparison as text, with a verdict in words."""
    splits = len(outcomes[0].svm["accuracy"])
    lines = [
        "Wisconsin breast cancer: 569 tumours, 10 features, each with its standard error (se).",
        f"Trained on one half, tested on the other; {splits} random splits, mean ± standard error over them.",
        "Both methods are tuned and calibrated for the noise of the test data, on training data alone.",
        "",
        f"{'test noise':<11} {'measure':<11} {'linear SVM':>15} {'SVM-GSU':>15} {'gain':>16}   better in",
    ]
    for outcome in outcomes:
        for i, measure in enumerate(MEASURES):
            name = f"{measure} %" if measure == "accuracy" else measure
            columns = [_mean(outcome.svm[measure], measure), _mean(outcome.gsu[measure], measure)]
            gain = outcome.gain(measure)
            lines.append(
                f"{outcome.name if i == 0 else '':<11} {name:<11} {columns[0]:>15} {columns[1]:>15} "
                f"{_mean(gain, measure, sign='+'):>16}   {int((gain > 0).sum())} of {splits}"
            )
    lines.append("")
    lines += [f"{f'At {o.name}' if o.level else 'Without noise'}: {_verdict(o)}." for o in outcomes]
    return "\n".join(lines)


def _mean(values: FloatArray, measure: str, sign: str = "") -> str:
    percent, digits = (100, 2) if measure == "accuracy" else (1, 3)
    return f"{percent * values.mean():{sign}.{digits}f} ± {percent * _standard_error(values):.{digits}f}"


def _standard_error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _verdict(outcome: Outcome) -> str:
    """In words."""
    words = []
    for measure in MEASURES:
        gain = outcome.gain(measure)
        if abs(gain.mean()) <= CLEAR * _standard_error(gain):
            words.append(("no clear difference", measure))
        else:
            words.append(("SVM-GSU is better" if gain.mean() > 0 else "SVM-GSU is worse", measure))
    (first, a), (second, b) = words
    return f"{first} in {a} and {b}" if first == second else f"{first} in {a}, {second} in {b}"


def crossing(count: int = 11, seed: int = 3) -> tuple[Gaussians, Array]:
    """Two classes of long, slanted Gaussians; their means alone suggest another boundary."""
    rng = np.random.default_rng(seed)
    angle = np.radians(38 + rng.uniform(-9, 9, 2 * count))
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    length, breadth = rng.uniform(0.8, 1.7, 2 * count), rng.uniform(0.12, 0.22, 2 * count)
    factors = np.stack([length[:, None] * along, breadth[:, None] * across], axis=1)
    y = np.repeat([1, 2], count)
    centre = np.where(y[:, None] == 1, [-1.5, 0.55], [1.5, -0.55])
    mean = centre + rng.uniform(-1, 1, (2 * count, 2)) * [0.75, 1.5]
    return Gaussians(mean, np.einsum("lri,lrj->lij", factors, factors)), y


def picture(outcomes: list[Outcome], path: str) -> None:
    """The toy problem and the comparison, side by side, in a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    figure = Figure(figsize=(10.5, 4.9), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
    draw_crossing(left)
    _draw_outcomes(right, outcomes)
    with replacing(path) as (file,):
        figure.savefig(file, format=os.path.splitext(path)[1][1:].lower())


def draw_crossing(ax: Any) -> None:
    """The toy problem with the boundaries of SVM-GSU and of the ordinary SVM."""
    from . import plot

    data, y = crossing()
    gsu = train(data, y, lam=1e-2)
    svm = train(data.mean, y, lam=1e-2)
    plot.boundary(gsu, data, y, ax, other=svm, labels=("SVM-GSU", "SVM on the means"))
    ax.set_aspect("equal")
    ax.set(xlabel="feature 1", ylabel="feature 2")
    ax.spines[["top", "right"]].set_visible(False)


def _draw_outcomes(ax: Any, outcomes: list[Outcome]) -> None:
    from .plot import BLUE, GREY

    for x, outcome in enumerate(outcomes):
        places = (x - 0.17, x + 0.17)
        pairs = 100 * np.stack([outcome.svm["accuracy"], outcome.gsu["accuracy"]])
        ax.plot(places, pairs, color="#B0B0B0", linewidth=0.7, zorder=1)
        for place, values, colour, marker, name in zip(
            places, pairs, (GREY, BLUE), ("s", "o"), ("linear SVM", "SVM-GSU"), strict=True
        ):
            style = {"color": colour, "marker": marker, "markersize": 7, "capsize": 4, "linewidth": 1.8}
            label = name if x == 0 else None
            ax.errorbar(place, values.mean(), _standard_error(values), label=label, zorder=3, **style)
        gain = _mean(outcome.gain("accuracy"), "accuracy", sign="+")
        ax.annotate(gain, (x, pairs.max()), (0, 8), textcoords="offset points", ha="center", fontsize=10)
    ax.set_xticks(range(len(outcomes)), [o.name for o in outcomes])
    ax.set(xlabel="noise of the test data", ylabel="accuracy, %", xlim=(-0.55, len(outcomes) - 0.45))
    ax.margins(y=0.12)
    ax.set_title("Wisconsin breast cancer: a line is a split, numbers are gains", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", frameon=False)


def _check_output(path: str) -> None:
    """Refuses before the work what could not be written after it."""
    from matplotlib.backend_bases import FigureCanvasBase

    suffix = os.path.splitext(path)[1][1:].lower()
    formats = FigureCanvasBase.get_supported_filetypes()
    if suffix not in formats:
        known = ", ".join("." + name for name in sorted(formats))
        raise ValueError(f"output: {path!r} should end in one of {known}")
    check_output(path)


def _progress(items: Iterable[Any], total: int) -> Iterable[Any]:
    """A progress bar on a terminal, where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    bar: Iterable[Any] = tqdm(items, total=total, desc="splits", unit="split", disable=None, leave=False)
    return bar
