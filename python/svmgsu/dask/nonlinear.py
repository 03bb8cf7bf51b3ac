"""`DaskSVMGSU` and `DaskSVRGSU`: non-linear estimators on a cluster.

Units, the population, the map and all that is searched for are learnt on the client from at most
`SAMPLE` objects, drawn by their places in the whole, as `SVMGSU` in memory learns them from a part of very
many. The convex stage, which the model's accuracy hangs on, sees every object, where it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators.nonlinear.beyond import Elsewhere, sample_for
from ..estimators.nonlinear.classifier import SVMGSU
from ..estimators.nonlinear.regressor import SVRGSU
from ..fit.regression import check_target_errors
from ..support.validation import Array, check_labels, check_weights
from . import prediction
from .estimators import _Holding, _LazyClassifier, _with_client
from .features import OnWorkers
from .shards import is_dask
from .training import TIMEOUT


class _Remote(_Holding):
    """What both share: objects on a cluster, and groups of them."""

    _elsewhere: Elsewhere | None

    def _hold(self, X: Any, cov: Any, std: Any) -> Any:
        held = super()._hold(X, cov, std)
        self._elsewhere = OnWorkers(held)
        return held

    def _groups(self, given: Any) -> Array | None:
        assert self._held is not None
        found = self._held.column(given, "groups")
        if found is not None and len(found) != self._held.count:
            raise ValueError(f"groups: {len(found)} values for {self._held.count} examples")
        return found


@_with_client
class DaskSVMGSU(_Remote, _LazyClassifier, SVMGSU):
    """`SVMGSU` on a Dask cluster: the same parameters, `client` and `timeout`.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that is there.
    timeout : float, default=600
        Seconds to wait for the answers of a round.

    Notes
    -----
    All other parameters are those of `SVMGSU`. `fit` takes Dask arrays or data frames; of such, predictions
    are lazy. `to_local()` gives an `SVMGSU`. The model is the same, bit by bit, for any number of workers;
    where no noise is drawn at random, and there are at most 50,000 objects, it is that of `SVMGSU`. Of more,
    50,000 (and 50 of every class) say what the units, the population, the map, its settings and the link are.
    The features of all objects stay with the workers: 4 bytes for each of `n_features`.
    """

    def __init__(self, *, client: Any = None, timeout: float | None = TIMEOUT, **settings: Any) -> None:
        super().__init__(**settings)
        self.client, self.timeout = client, timeout

    def fit(
        self,
        X: Any,
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        classes: Any = None,
    ) -> Any:
        """Trains on the rows of X, a Dask array or data frame, with labels y.

        `cov`, `std` and `sample_weight` are as in `svmgsu.dask.train`; `groups`, of each object, is in memory
        or a Dask collection. `classes`, for labels in doubt, is for examples in memory.
        """
        if not is_dask(X):
            return super().fit(X, y, cov, std, sample_weight, groups, classes)
        held = self._hold(X, cov, std)
        try:
            self.classes_, codes = check_labels(held.column(y, "y"), held.count)
            given = check_weights(held.column(sample_weight, "sample_weight"), held.count)
            self._check_settings(held.count)
            weights = self._weights(codes, given)
            self._of_all = codes.astype(np.int8 if len(self.classes_) < 128 else np.int32), weights
            rows = sample_for(self, weights, codes)
            own = self._groups(groups)
            data = self._read(held.take(rows), None, None)
            self._learn(data, codes[rows], weights[rows], None if own is None else own[rows])
        finally:
            self._forget()
        return self

    def predict_proba(self, X: Any, cov: Any = None, std: Any = None) -> Any:
        """Probabilities of the classes for the rows of X, with `cov` or `std`: of Dask collections lazily."""
        if not is_dask(X):
            return super().predict_proba(X, cov, std)
        return prediction.predict_proba(self, X, cov, std)

    def to_local(self) -> SVMGSU:
        """The same classifier for examples in memory, without the cluster."""
        return self._local(SVMGSU)  # type: ignore[no-any-return]


@_with_client
class DaskSVRGSU(_Remote, SVRGSU):
    """`SVRGSU` on a Dask cluster: the same parameters, `client` and `timeout`; see `DaskSVMGSU`.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that is there.
    timeout : float, default=600
        Seconds to wait for the answers of a round.

    Notes
    -----
    The squared loss takes one reading of the objects, whose sums come to the client.
    """

    def __init__(self, *, client: Any = None, timeout: float | None = TIMEOUT, **settings: Any) -> None:
        super().__init__(**settings)
        self.client, self.timeout = client, timeout

    def fit(
        self,
        X: Any,
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        y_std: Any = None,
    ) -> Any:
        """Trains on the rows of X, a Dask array or data frame, with numbers y and their errors `y_std`.

        `cov`, `std` and `sample_weight` are as in `svmgsu.dask.train_regressor`; `groups` as in `DaskSVMGSU`.
        """
        if not is_dask(X):
            return super().fit(X, y, cov, std, sample_weight, groups, y_std)
        held = self._hold(X, cov, std)
        try:
            t = self._targets(held.column(y, "y"), held.count)
            errors = check_target_errors(held.column(y_std, "y_std"), held.count)
            given = check_weights(held.column(sample_weight, "sample_weight"), held.count)
            self._of_all = t, errors, given
            self._check_settings(held.count)
            rows = sample_for(self, given)
            own = self._groups(groups)
            data = self._read(held.take(rows), None, None)
            self._learn(
                data,
                t[rows],
                None if errors is None else errors[rows],
                given[rows],
                None if own is None else own[rows],
            )
        finally:
            self._forget()
        return self

    def predict(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """The value of each row of X, with `cov` or `std` beside it: of a Dask collection lazily.

        `return_std` is for examples in memory.
        """
        if not is_dask(X):
            return super().predict(X, cov, std, return_std)
        return prediction.predict(self, X, cov, std)

    def to_local(self) -> SVRGSU:
        """The same regression for examples in memory, without the cluster."""
        return self._local(SVRGSU)  # type: ignore[no-any-return]
