"""Training on a Dask cluster, with the conventions of xgboost.dask and lightgbm.dask.

>>> import svmgsu.dask  # doctest: +SKIP
>>> model = svmgsu.dask.train(client, dX, dy, std=dE)  # doctest: +SKIP
"""

from __future__ import annotations

try:
    import dask.array as _array
    import distributed as _distributed
except ImportError as error:
    raise ImportError("svmgsu.dask needs Dask: pip install 'svmgsu[dask]'") from error

from .estimators import (
    DaskLinearSVMGSU,
    DaskLinearSVRGSU,
    decision_function,
    predict,
    predict_proba,
)
from .rounds import ShardLostError
from .training import train

__all__ = [
    "DaskLinearSVMGSU",
    "DaskLinearSVRGSU",
    "ShardLostError",
    "decision_function",
    "predict",
    "predict_proba",
    "train",
]
del _array, _distributed


def __dir__() -> list[str]:
    return sorted(__all__)
