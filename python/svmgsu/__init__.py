"""Maximum-margin learning from uncertain data: every example is a Gaussian, a mean with a covariance.

>>> import numpy as np, svmgsu
>>> model = svmgsu.train(np.array([[-1.0], [1.0]]), ["no", "yes"], std=[[0.5], [0.1]], lam=0.1)
>>> model.predict([[0.9]]).item()
'yes'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _core
from .build import get_cmake_dir, get_include, show_config
from .concatenation import concatenate
from .covariance import Covariance, Diagonal, Full, Isotropic, LowRank, Shared
from .gaussians import Gaussians
from .model import Model, load
from .objective import Objective
from .regression import path_regressor, train_regressor
from .regression_model import RegressionModel
from .training import ConvergenceWarning, TrivialModelWarning, path, train

if TYPE_CHECKING:
    from . import io, metrics, plot, reference, uncertainty
    from .composition import GaussianColumnTransformer, GaussianUnion
    from .cross_validation import LinearSVMGSUCV
    from .estimator import LinearSVMGSU
    from .function_transformers import GaussianFunctionTransformer, GaussianNormalizer
    from .io import read_text
    from .regressor import LinearSVRGSU, LinearSVRGSUCV
    from .transformers import (
        GaussianColumnSelector,
        GaussianLinearMap,
        GaussianPCA,
        GaussianScaler,
    )
    from .unscaling import unscale

__version__: str = _core.config()["version"]

# Loaded when first used: what needs scikit-learn or matplotlib, the twin, files and the builders.
_LAZY = {
    "GaussianColumnSelector": "transformers",
    "GaussianColumnTransformer": "composition",
    "GaussianFunctionTransformer": "function_transformers",
    "GaussianLinearMap": "transformers",
    "GaussianNormalizer": "function_transformers",
    "GaussianPCA": "transformers",
    "GaussianScaler": "transformers",
    "GaussianUnion": "composition",
    "LinearSVMGSU": "estimator",
    "LinearSVMGSUCV": "cross_validation",
    "LinearSVRGSU": "regressor",
    "LinearSVRGSUCV": "regressor",
    "io": "io",
    "metrics": "metrics",
    "plot": "plot",
    "read_text": "io",
    "reference": "reference",
    "uncertainty": "uncertainty",
    "unscale": "unscaling",
}

__all__ = [
    "ConvergenceWarning",
    "Covariance",
    "Diagonal",
    "Full",
    "GaussianColumnSelector",
    "GaussianColumnTransformer",
    "GaussianFunctionTransformer",
    "GaussianLinearMap",
    "GaussianNormalizer",
    "GaussianPCA",
    "GaussianScaler",
    "GaussianUnion",
    "Gaussians",
    "Isotropic",
    "LinearSVMGSU",
    "LinearSVMGSUCV",
    "LinearSVRGSU",
    "LinearSVRGSUCV",
    "LowRank",
    "Model",
    "Objective",
    "RegressionModel",
    "Shared",
    "TrivialModelWarning",
    "concatenate",
    "get_cmake_dir",
    "get_include",
    "io",
    "load",
    "metrics",
    "path",
    "path_regressor",
    "plot",
    "read_text",
    "reference",
    "show_config",
    "train",
    "train_regressor",
    "uncertainty",
    "unscale",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'svmgsu' has no attribute {name!r}")
    try:
        module = importlib.import_module(f".{_LAZY[name]}", __name__)
    except ModuleNotFoundError as error:
        extra = {"sklearn": "sklearn", "scipy": "sklearn", "matplotlib": "plot"}.get(
            (error.name or "").split(".")[0]
        )
        if extra is None:
            raise
        raise ImportError(f"svmgsu.{name} needs {error.name}: pip install 'svmgsu[{extra}]'") from error
    return module if name == _LAZY[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
