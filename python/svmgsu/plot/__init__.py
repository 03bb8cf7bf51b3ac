"""Pictures: uncertain data and the boundaries they lead to, searches, decisions, probabilities.

Every function draws on `ax`, or on new axes without it, and returns the axes. It takes what `svmgsu.train`
returns, the estimators, and pipelines that end with one alike.

>>> import numpy as np, svmgsu
>>> X, y = np.array([[-1.0, 0.5], [-2.0, 0.0], [1.0, -0.5], [2.0, 0.0]]), ["a", "a", "b", "b"]
>>> data = svmgsu.Gaussians(X, std=0.4)
>>> ax = svmgsu.plot.boundary(svmgsu.train(data, y), data, y)
>>> ax.figure.savefig("boundary.png")  # doctest: +SKIP
"""

from .calibration import reliability
from .decisions import histogram
from .dependence import partial_dependence
from .plane import boundary
from .populations import population
from .regression import predictions
from .searches import cov_scale, path
from .solving import convergence
from .style import BLUE, CLASS_STYLES, CYCLE, GREEN, GREY, ORANGE, PURPLE, VERMILLION
from .whatif import what_if

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
    "cov_scale",
    "histogram",
    "partial_dependence",
    "path",
    "population",
    "predictions",
    "reliability",
    "what_if",
]
