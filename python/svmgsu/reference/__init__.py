"""The method in plain NumPy, written to be read beside the paper.

Equation numbers are those of Tzelepis, Mezaris and Patras, "Linear Maximum Margin Classifier for
Learning from Uncertain Data"; "corrected" marks the places where the printed formula is wrong.

Example i is the Gaussian N(x_i, Sigma_i) with label y_i = +-1. For a hyperplane (w, b), an example has
d = 1 - y (w.x + b), s = sqrt(w' Sigma w) and r = d / s. The paper writes d_x for d and d_Sigma for
sqrt(2) s, so its (erf(d_x / d_Sigma) + 1) / 2 is Phi(r). The paper has the hinge; every function of a
hyperplane takes `loss=` and, for a regression, targets as y, when d = y - (w.x + b).
"""

from .calibration import platt
from .covariances import Covariance, Factors, SharedMatrix, quadratic, take, times, to_full
from .losses import LOSSES, expected_hinge, expected_loss, normal_cdf, normal_pdf
from .objective import best_intercept, gap, gradient, hessian, hessian_product, objective
from .solvers import SplitMix64, sgd, train
from .subspaces import eigen_subspace, project, truncate

__all__ = [
    "LOSSES",
    "Covariance",
    "Factors",
    "SharedMatrix",
    "SplitMix64",
    "best_intercept",
    "eigen_subspace",
    "expected_hinge",
    "expected_loss",
    "gap",
    "gradient",
    "hessian",
    "hessian_product",
    "normal_cdf",
    "normal_pdf",
    "objective",
    "platt",
    "project",
    "quadratic",
    "sgd",
    "take",
    "times",
    "to_full",
    "train",
    "truncate",
]
