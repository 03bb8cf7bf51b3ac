"""Machine learning for measurements with error bars: every sample is a Gaussian, a mean with a covariance.

>>> import numpy as np, svmgsu
>>> model = svmgsu.train(np.array([[-1.0], [1.0]]), ["no", "yes"], std=[[0.5], [0.1]], lam=0.1)
>>> model.predict([[0.9]]).item()
'yes'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core, exceptions
from .data.covariances import Diagonal, Full, Isotropic, LowRank, Shared
from .data.gaussians import Gaussians
from .data.mixtures import Mixtures
from .fit.train import train
from .models.files import load
from .objective import Objective
from .support.package import get_cmake_dir, get_include, lazy

if TYPE_CHECKING:
    from . import dask, features, io, metrics, plot, reference, uncertainty
    from .estimators.deconvolution import Deconvolution
    from .estimators.linear import SGDSVMGSU, LinearSVMGSU, LinearSVRGSU
    from .estimators.pool.classifier import GSUClassifier
    from .estimators.pool.regressor import GSURegressor
    from .estimators.propagate import Propagate
    from .io import read
    from .outofcore.open import open
    from .reporting import report

__version__: str = _core.config()["version"]

# Loaded when first used, so that `import svmgsu` loads NumPy alone.
__getattr__ = lazy(
    __name__,
    {
        "Deconvolution": "estimators.deconvolution",
        "GSUClassifier": "estimators.pool.classifier",
        "GSURegressor": "estimators.pool.regressor",
        "LinearSVMGSU": "estimators.linear",
        "LinearSVRGSU": "estimators.linear",
        "Propagate": "estimators.propagate",
        "SGDSVMGSU": "estimators.linear",
        "dask": "dask",
        "features": "features",
        "io": "io",
        "metrics": "metrics",
        "open": "outofcore.open",
        "plot": "plot",
        "read": "io",
        "reference": "reference",
        "report": "reporting",
        "uncertainty": "uncertainty",
    },
)

__all__ = [
    "SGDSVMGSU",
    "Deconvolution",
    "Diagonal",
    "Full",
    "GSUClassifier",
    "GSURegressor",
    "Gaussians",
    "Isotropic",
    "LinearSVMGSU",
    "LinearSVRGSU",
    "LowRank",
    "Mixtures",
    "Objective",
    "Propagate",
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
    "plot",
    "read",
    "reference",
    "report",
    "train",
    "uncertainty",
]


def __dir__() -> list[str]:
    return sorted(__all__)
