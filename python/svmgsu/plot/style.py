"""What all pictures share: the colours, the axes, and which hyperplane of a model is meant."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from ..support.validation import Array, FloatArray

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, VERMILLION, GREEN, ORANGE, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"
GREY = "#595959"
# Colour is never alone: a marker or a dash pattern goes with it.
CLASS_STYLES = ((BLUE, "o"), (VERMILLION, "s"))
CYCLE = (
    ("black", "-", "o"),
    (BLUE, "--", "s"),
    (GREEN, "-.", "^"),
    (VERMILLION, ":", "D"),
    (PURPLE, (0, (5, 1, 1, 1, 1, 1)), "v"),
    (ORANGE, (0, (8, 2)), "P"),
)


def own_axes(size: tuple[float, float] = (5.6, 3.8), equal: bool = False) -> Any:
    """New axes of a size in inches."""
    _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    if equal:
        ax.set_aspect("equal")
    return ax


def legend(ax: Any, *entries: Any, **options: Any) -> None:
    """A legend without a frame, on white, so that lines behind it do not cross its words."""
    ax.legend(*entries, **{"edgecolor": "none", "facecolor": "white", "framealpha": 0.85, **options})


def legend_above(ax: Any, *entries: Any, ncols: int = 1) -> None:
    """Put a legend above the picture, where it hides nothing, in as many columns as fit beside each other.

    A figure without a layout engine makes no room above its axes, so the legend goes inside.
    """
    if ax.figure.get_layout_engine() is None:
        legend(ax, *entries, fontsize=9)
        return
    spec = ax.get_subplotspec()
    width = ax.figure.bbox.width / (1 if spec is None else spec.get_gridspec().ncols)
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "frameon": False}
    for columns in range(ncols, 0, -1):
        made = ax.legend(*entries, ncols=columns, fontsize=9, columnspacing=1.2, **place)
        if made.get_window_extent().width <= width:
            break


class Hyperplane(NamedTuple):
    """The class on the side of positive decision values against another, or against the rest."""

    w: FloatArray
    b: float
    positive: Any
    names: tuple[str, str]  # of the negative and the positive side
    negative: Any = None  # the other one of a pair; None for all others

    def is_about(self, labels: Array) -> Array:
        """Which examples the hyperplane was trained on; all, but for a pair among several classes."""
        everybody = np.ones(len(labels), dtype=bool)
        return everybody if self.negative is None else (labels == self.positive) | (labels == self.negative)


def hyperplane(model: Any, class_: Any = None, name: str = "model") -> Hyperplane:
    """The hyperplane of a model: the only one of two classes, or that of one class, or pair, among more."""
    model = _in_units_of_the_data(model)
    if not hasattr(model, "coef_"):
        raise ValueError(f"{name}: this {type(model).__name__} has no coef_; pass a trained linear model")
    if not hasattr(model, "classes_"):
        raise ValueError(f"{name}: a regression has no classes to draw; see svmgsu.plot.predictions")
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    classes = np.asarray(model.classes_).tolist()
    if len(classes) > 2 and getattr(model, "multi_class", "ovr") == "ovo":
        return _pair(coef, intercept, classes, class_, name)
    if class_ is not None and class_ not in classes:
        raise ValueError(f"class_: {class_!r} is not one of the model's classes {classes}")
    if len(classes) == 2:
        sign = -1.0 if class_ is not None and class_ == classes[0] else 1.0
        negative, positive = classes if sign > 0 else classes[::-1]
        w, b = sign * coef[-1], sign * float(intercept[-1])
        return Hyperplane(w, b, positive, (f"class {negative}", f"class {positive}"))
    if class_ is None:
        raise ValueError(f"class_: the {name} has {len(classes)} classes; choose one of {classes}")
    if len(coef) != len(classes):
        raise ValueError(
            f"{name}: {len(coef)} hyperplanes for {len(classes)} classes; one per class is needed"
        )
    k = classes.index(class_)
    return Hyperplane(coef[k], float(intercept[k]), class_, ("the other classes", f"class {class_}"))


def last_step(model: Any) -> Any:
    """A model itself, or what a pipeline ends with."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _in_units_of_the_data(model: Any) -> Any:
    """A pipeline that ends with a linear model as such a model, brought back through its transformers."""
    last = last_step(model)
    if last is model or not hasattr(last, "coef_"):
        return last
    known = {name: getattr(last, name) for name in ("classes_", "multi_class") if hasattr(last, name)}
    plane = last
    for name, step in reversed(model.steps[:-1]):
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        if not hasattr(step, "unscale"):
            raise TypeError(
                f"model: weights cannot be brought back through the step {name!r}; for an affine one, "
                f"use svmgsu.Propagate({type(step).__name__}())"
            )
        plane = step.unscale(plane)
    return SimpleNamespace(coef_=plane.coef_, intercept_=plane.intercept_, **known)


def is_curved(model: Any) -> bool:
    """Whether a trained classifier, or what a pipeline ends with, has decision values but no weights."""
    last = last_step(model)
    return not hasattr(last, "coef_") and hasattr(last, "classes_") and hasattr(last, "decision_function")


def decision_values(model: Any, data: Any) -> tuple[FloatArray, FloatArray]:
    """What a model without weights, or a pipeline that ends with one, says of objects of two classes.

    Above 0 is the second class. Covariances are in the values already: no deviations are known beside them.
    """
    last = last_step(model)
    seen = data if last is model else model[:-1].transform(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # corners of a picture lie far from the population
        values = np.asarray(last.decision_function(seen))
    return values, np.zeros(len(values))


def sides(model: Any) -> Hyperplane:
    """The two sides of a curved boundary, with the names of a hyperplane's."""
    classes = np.asarray(last_step(model).classes_).tolist()
    if len(classes) != 2:
        raise ValueError(f"model: a curved boundary is drawn of two classes, it has {len(classes)}")
    negative, positive = classes
    return Hyperplane(np.zeros(0), 0.0, positive, (f"class {negative}", f"class {positive}"))


def _pair(coef: FloatArray, intercept: FloatArray, classes: list[Any], class_: Any, name: str) -> Hyperplane:
    chosen = list(class_) if isinstance(class_, (tuple, list)) else []
    if len(chosen) != 2 or chosen[0] == chosen[1] or any(label not in classes for label in chosen):
        raise ValueError(
            f"class_: the {name} has a hyperplane for each pair of classes; choose two of {classes}, "
            f"as ({classes[0]!r}, {classes[1]!r}), got {class_!r}"
        )
    places = [classes.index(label) for label in chosen]
    low, high = sorted(places)
    k = low * len(classes) - low * (low + 1) // 2 + high - low - 1
    sign = 1.0 if places[1] == high else -1.0
    names = (f"class {chosen[0]}", f"class {chosen[1]}")
    return Hyperplane(sign * coef[k], sign * float(intercept[k]), chosen[1], names, chosen[0])


def check_labels(y: Any, examples: int, model: Any) -> Array:
    """Labels of classes that the model knows."""
    labels, model = np.asarray(y), last_step(model)
    if labels.shape != (examples,):
        raise ValueError(f"y: shape {labels.shape} for {examples} examples")
    unknown = np.flatnonzero(~np.isin(labels, model.classes_))
    if len(unknown):
        found = labels[unknown[0]]
        known = np.asarray(model.classes_).tolist()
        raise ValueError(f"y: example {unknown[0]} is of class {found}; the model knows {known}")
    return labels
