"""Maximum-margin learning from uncertain data: every example is a Gaussian, a mean with a covariance.

>>> import numpy as np, svmgsu
>>> model = svmgsu.train(np.array([[-1.0], [1.0]]), ["no", "yes"], std=[[0.5], [0.1]], lam=0.1)
>>> model.predict([[0.9]]).item()
'yes'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core, exceptions
from .data.covariances import Covariance, Diagonal, Full, Isotropic, LowRank, Shared
from .data.gaussians import Gaussians
from .data.mixtures import Mixtures
from .fit.classification import path, train
from .fit.regression import path_regressor, train_regressor
from .models.classifier import Model
from .models.files import load
from .models.regressor import RegressionModel
from .objective import Objective
from .support.build import get_cmake_dir, get_include, show_config
from .support.lazy import lazy

if TYPE_CHECKING:
    from . import dask, features, io, metrics, plot, reference, uncertainty
    from .estimators.classifier import LinearSVMGSU
    from .estimators.classifier_search import LinearSVMGSUCV
    from .estimators.deconvolution import Deconvolution
    from .estimators.pool.classifier import GSUClassifier
    from .estimators.pool.regressor import GSURegressor
    from .estimators.propagate import Propagate
    from .estimators.regressor import LinearSVRGSU, LinearSVRGSUCV
    from .io import read_text
    from .outofcore.blocks import Blocks
    from .outofcore.open import open
    from .reporting import report

__version__: str = _core.config()["version"]

# Loaded when first used: what needs scikit-learn or matplotlib, the twin, files and the builders.
__getattr__ = lazy(
    __name__,
    {
        "Blocks": "outofcore.blocks",
        "Deconvolution": "estimators.deconvolution",
        "GSUClassifier": "estimators.pool.classifier",
        "GSURegressor": "estimators.pool.regressor",
        "LinearSVMGSU": "estimators.classifier",
        "LinearSVMGSUCV": "estimators.classifier_search",
        "LinearSVRGSU": "estimators.regressor",
        "LinearSVRGSUCV": "estimators.regressor",
        "Propagate": "estimators.propagate",
        "dask": "dask",
        "features": "features",
        "io": "io",
        "metrics": "metrics",
        "open": "outofcore.open",
        "plot": "plot",
        "read_text": "io",
        "reference": "reference",
        "report": "reporting",
        "uncertainty": "uncertainty",
    },
)

__all__ = [
    "Blocks",
    "Covariance",
    "Deconvolution",
    "Diagonal",
    "Full",
    "GSUClassifier",
    "GSURegressor",
    "Gaussians",
    "Isotropic",
    "LinearSVMGSU",
    "LinearSVMGSUCV",
    "LinearSVRGSU",
    "LinearSVRGSUCV",
    "LowRank",
    "Mixtures",
    "Model",
    "Objective",
    "Propagate",
    "RegressionModel",
    "Shared",
    "dask",
    "exceptions",
    "features",
    "get_cmake_dir",
    "get_include",
    "io",
    "load",
    "metrics",
    "open",
    "path",
    "path_regressor",
    "plot",
    "read_text",
    "reference",
    "report",
    "show_config",
    "train",
    "train_regressor",
    "uncertainty",
]


def __dir__() -> list[str]:
    return sorted(__all__)
