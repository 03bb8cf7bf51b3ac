"""`DaskSVMGSU` and `DaskSVRGSU`: non-linear estimators on a cluster.

Units, the population, the map and all that is searched for are learnt on the client from at most
`SAMPLE` objects, drawn by their places in the whole, as `SVMGSU` in memory learns them from a part of very
many. The convex stage, which the model's accuracy hangs on, sees every object, where it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..estimators.nonlinear.classifier import SVMGSU
from ..estimators.nonlinear.lift import POPULATION_ROWS as SAMPLE
from ..estimators.nonlinear.regressor import SVRGSU
from ..estimators.nonlinear.solving import signs_of, stage_options
from ..fit.regression import check_target_errors
from ..support.losses import Task
from ..support.parallel import Team
from ..support.validation import Array, FloatArray, check_labels, check_weights
from . import prediction
from .estimators import _Holding, _LazyClassifier, _with_client
from .features import Plan, Targets, solved, summed
from .shards import is_dask, sample_of
from .training import TIMEOUT

MANY = 2**25  # numbers from which on features are float32


class _Remote(_Holding):
    """What both share: the sample, and the convex stage on all objects."""

    _weights_of_all: FloatArray

    def _targets_of_all(self) -> Targets:
        raise NotImplementedError

    def _sample(self, weights: FloatArray, codes: Array | None = None) -> Array:
        """Places of the objects that all but the scores is learnt from; those without weight are left out."""
        me: Any = self
        counted = me._counted(weights)
        if counted is None:
            rows = sample_of(len(weights), SAMPLE, me._seed(), codes)
        else:
            some = None if codes is None else codes[counted]
            rows = counted[sample_of(len(counted), SAMPLE, me._seed(), some)]
        if len(rows) < len(weights) and not isinstance(me.cv, int) and not hasattr(me.cv, "split"):
            raise ValueError(
                f"cv: lists of examples are for at most {SAMPLE} of them, got {len(weights)}; a number, a "
                "splitter or groups= will do"
            )
        return np.asarray(rows)

    def _groups(self, given: Any) -> Array | None:
        assert self._held is not None
        found = self._held.column(given, "groups")
        if found is not None and len(found) != self._held.count:
            raise ValueError(f"groups: {len(found)} values for {self._held.count} examples")
        return found

    def _convex(self, data: Gaussians, seen: Gaussians, stage: Any, lam: float) -> Array | None:
        """As in memory, for all objects; the features are those of the sample."""
        held = self._held
        me: Any = self
        if held is None:
            return super()._convex(data, seen, stage, lam)  # type: ignore[misc,no-any-return]
        copies = len(seen) // len(data)
        large = held.count * copies * me.map_.outputs > MANY
        plan = Plan(
            me.lift_,
            me.map_,
            np.dtype(np.float32 if large else np.float64),
            me._is_exact(data, stage.loss),
            me.deployment_cov,
            copies,
            me.lift_.population is None and (data.cov is not None or me.deployment_cov is not None),
            me._seed(),
        )
        targets, weights = self._targets_of_all(), self._weights_of_all
        if stage.loss == "squared":
            me.scores_ = summed(held, plan, targets, weights, lam)
            return None
        task: Task = "regression" if isinstance(self, SVRGSU) else "classification"
        options = stage_options(
            held.count * copies,
            lam,
            stage.loss,
            labelled=task == "classification",
            tol=me.tol,
            threads=Team(me.threads).threads,
            epsilon=getattr(stage, "epsilon", None),
        )
        me.scores_ = solved(held, plan, targets, weights, task, options)
        several = task == "classification" and stage.classes > 2
        return me._features(seen) if several else None


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
        y: Any,
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
            self._of_all = codes.astype(np.int8 if len(self.classes_) < 128 else np.int32)
            self._check_settings(held.count)
            self._weights_of_all = weights = self._weights(codes, given)
            rows = self._sample(weights, codes)
            own = self._groups(groups)
            data = self._read(held.take(rows), None, None)
            self._learn(data, codes[rows], weights[rows], None if own is None else own[rows])
        finally:
            self._forget()
        return self

    def _targets_of_all(self) -> Targets:
        codes, count = self._of_all, len(self.classes_)
        return lambda rows: signs_of(codes[rows], count).astype(np.int8)

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
        y: Any,
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
            rows = self._sample(given)
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

    def _targets_of_all(self) -> Targets:
        t, errors, given = self._of_all
        inner = None if errors is None else errors / self.y_scale_
        self._weights_of_all = self._weights(given, inner, self.residual_std_ / self.y_scale_)
        standard = ((t - self.y_mean_) / self.y_scale_)[np.newaxis]
        return lambda rows: standard[:, rows]

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
