"""Figures of uncertain data, models and their predictions.

Every function takes a fitted model (of `svmgsu.train`, an estimator, or a pipeline that ends with one), the
samples and their labels or targets, draws on `ax`, or on new axes, and returns the axes.

>>> import numpy as np, svmgsu
>>> X, y = np.array([[-1.0, 0.5], [-2.0, 0.0], [1.0, -0.5], [2.0, 0.0]]), ["a", "a", "b", "b"]
>>> data = svmgsu.Gaussians(X, std=0.4)
>>> ax = svmgsu.plot.boundary(svmgsu.train(data, y), data, y)
>>> ax.figure.savefig("boundary.png", dpi=300)  # doctest: +SKIP
"""

from .classification import boundary, histogram, reliability
from .regression import predictions
from .style import BLUE, CLASS_STYLES, CYCLE, GREEN, GREY, ORANGE, PURPLE, VERMILLION
from .training import convergence, pool

__all__ = [
    "BLUE",
    "CLASS_STYLES",
    "CYCLE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "VERMILLION",
    "boundary",
    "convergence",
    "histogram",
    "pool",
    "predictions",
    "reliability",
]


def __dir__() -> list[str]:
    return sorted(__all__)
