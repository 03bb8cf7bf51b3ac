"""Trained linear models, as `svmgsu.train` and `svmgsu.load` return them."""

from .classifier import Model
from .regressor import RegressionModel

__all__ = ["Model", "RegressionModel"]
