"""What all figures share: colours, axes, legends, and names of features and classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from ..data.gaussians import Gaussians
from ..support.types import Fields
from ..support.validation import Array, ArrayLike, FloatArray

Look: TypeAlias = Fields  # options of matplotlib
Model: TypeAlias = Any  # of `svmgsu.train`, an estimator of any library, or a pipeline that ends with one

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
ORANGE = "#E69F00"
PURPLE = "#CC79A7"
GREY = "#595959"
# Colour is never alone: a marker or a dash pattern goes with it.
CLASS_STYLES = ((BLUE, "o"), (VERMILLION, "s"), (GREEN, "^"), (PURPLE, "D"), (ORANGE, "v"), (GREY, "P"))
CYCLE = (
    ("black", "-", "o"),
    (BLUE, "--", "s"),
    (GREEN, "-.", "^"),
    (VERMILLION, ":", "D"),
    (PURPLE, (0, (5, 1, 1, 1, 1, 1)), "v"),
    (ORANGE, (0, (8, 2)), "P"),
)


def own_axes(size: tuple[float, float] = (5.6, 3.8), equal: bool = False) -> Axes:
    """Return new axes of a size in inches."""
    _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    if equal:
        ax.set_aspect("equal", adjustable="datalim")
    return ax


def legend(ax: Axes, *entries: object, **options: object) -> None:
    """Put a legend inside the axes, on white, so that lines behind it do not cross its words."""
    look = {"edgecolor": "none", "facecolor": "white", "framealpha": 0.85, "fontsize": 9}
    ax.legend(*entries, **{**look, **options})


def save_figure(figure: Figure, file: IO[bytes], format: str, dpi: float | None = None) -> None:
    """Write a figure without the date and random names of SVG and PDF: the same figure has the same bytes."""
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
    with plt.rc_context({"svg.hashsalt": "svmgsu"}):
        figure.savefig(file, format=format, dpi=dpi or "figure", metadata=metadata)


def ellipse(center: FloatArray, matrix: Array, mass: float, colour: str) -> Ellipse:
    """Return where a 2-D Gaussian has `mass` of its probability: the squared radius is χ²(2)."""
    radius = np.sqrt(-2 * np.log1p(-mass))
    variances, axes = np.linalg.eigh(matrix)
    width, height = 2 * radius * np.sqrt(np.maximum(variances, 0))
    angle = np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))
    look = {"facecolor": (colour, 0.13), "edgecolor": (colour, 0.65), "linewidth": 0.9}
    return Ellipse(tuple(center), width, height, angle=angle, **look)


def last_step(model: Model) -> Model:
    """Return a model itself, or what a pipeline ends with."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def transformed(model: Model, data: Gaussians) -> Gaussians:
    """Return what the last step of a pipeline sees of samples."""
    return model[:-1].transform(data) if hasattr(model, "steps") and len(model.steps) > 1 else data


def feature_names(model: Model, data: Gaussians) -> list[str]:
    """Return the names of the features, of the data or of the model."""
    known = data.feature_names_in_
    if known is None:
        known = getattr(model, "feature_names_in_", None)
    return [f"feature {j + 1}" for j in range(data.shape[1])] if known is None else [str(n) for n in known]


def classes_of(model: Model) -> list[object]:
    """Return the classes of a fitted classifier."""
    found = getattr(last_step(model), "classes_", None)
    if found is None:
        name = type(last_step(model)).__name__
        raise ValueError(f"model: expected a fitted classifier, but this {name} has no classes_")
    return list(np.asarray(found).tolist())


def choose_class(classes: list[object], class_: object) -> object:
    """Return the class that is drawn: the one asked for, or the second of two."""
    if class_ is None and len(classes) == 2:
        return classes[1]
    if class_ is None:
        raise ValueError(f"class_: there are {len(classes)} classes; choose one of {classes}")
    if class_ not in classes:
        raise ValueError(f"class_: {class_!r} is not one of the model's classes {classes}")
    return class_


def check_labels(y: ArrayLike, samples: int, classes: list[object]) -> Array:
    """Return labels of classes that the model knows."""
    labels = np.asarray(y)
    if labels.shape != (samples,):
        raise ValueError(f"y: shape {labels.shape} for {samples} samples")
    unknown = np.flatnonzero(~np.isin(labels, np.asarray(classes)))
    if len(unknown):
        raise ValueError(
            f"y: sample {unknown[0]} is of class {labels[unknown[0]]}; the model knows {classes}"
        )
    return labels


@contextmanager
def quietly() -> Iterator[None]:
    """Silence warnings: figures ask models about samples unlike those of the training set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
