"""`DaskDeconvolution`: the population behind noisy objects on a cluster.

The sums of expectation and maximisation are sums over objects: each worker adds up groups of rows, and the
client adds up the groups in their order, so that the result does not depend on the workers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .. import _core
from ..data.gaussians import Gaussians
from ..estimators.deconvolution import Deconvolution, _start_of
from ..estimators.nonlinear.beyond import GROUPS, SAMPLE, pieces, sample_of
from ..fit.population import Observed, check_spread, fit_mixture, observe
from ..support.progress import ProgressBar
from ..support.validation import FloatArray, check_weights
from . import prediction
from .estimators import _Holding, _with_client
from .rounds import Shard, threads_here
from .shards import is_dask
from .training import TIMEOUT

LEAST_GROUP = 4096  # rows


def sums_of(
    data: Gaussians, weights: FloatArray | None, mixture: Any, units: Any, first: int, size: int
) -> list[Any]:
    """Task: what a step needs of each `size` rows of a shard."""
    seen, standard, unit = observe(data), _core.Mixture(*mixture), _core.Units(*units)
    found = []
    for _, rows in pieces(len(data), first, size):
        own = None if weights is None else weights[rows]
        cov = None if seen.cov is None else seen.cov.take(np.arange(rows.start, rows.stop))
        part = Observed(seen.values[rows], cov, None, None, own)
        found.append(_core.population_sums(part.core(), unit, standard, threads_here()))
    return found


@_with_client
class DaskDeconvolution(_Holding, Deconvolution):
    """`Deconvolution` on a Dask cluster: the same parameters, `client` and `timeout`.

    Every step sums over all objects. The units, and a mixture to start from, come from at most 50,000 of
    them, drawn by their places in the whole, and so does the choice of n_components="auto". The population
    is the same, bit by bit, for any number of workers; that of `Deconvolution` may be another in the last
    digits, and another maximum of the likelihood where there are several.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that is there.
    timeout : float, default=600
        Seconds to wait for the answers of a round.
    """

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        client: Any = None,
        timeout: float | None = TIMEOUT,
        **settings: Any,
    ) -> None:
        super().__init__(n_components, **settings)
        self.client, self.timeout = client, timeout

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        cov: Any = None,
        std: Any = None,
        projection: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Learns the population of the rows of X, a Dask array or data frame; y is ignored.

        `cov`, `std` and `sample_weight` are as in `svmgsu.dask.train`. NaN is a missing value. `projection`
        is for objects in memory.
        """
        if not is_dask(X):
            return super().fit(X, y, cov=cov, std=std, projection=projection, sample_weight=sample_weight)
        if projection is not None:
            raise ValueError("projection: for objects in memory")
        held = self._hold(X, cov, std)
        try:
            given = held.column(sample_weight, "sample_weight")
            self._weights_of_all = None if given is None else check_weights(given, held.count)
            self._learn()
        finally:
            self._forget()
        return self

    def _learn(self) -> None:
        held, weights = self._held, self._weights_of_all
        assert held is not None
        settings, wanted = self._settings(), self._wanted(held.count)
        drawn = check_random_state(self.random_state).randint(2**31 - 1)
        rows, rng = sample_of(held.count, SAMPLE, drawn), np.random.default_rng(drawn)
        seen = observe(held.take(rows), sample_weight=None if weights is None else weights[rows])
        check_spread(seen)
        units = seen.core().units()
        self.__dict__.pop("held_out_", None)
        if wanted is None:
            self.held_out_ = self._choose(seen, units, settings, rng)
            wanted = max(self.held_out_, key=self.held_out_.__getitem__)
        if self.init is not None:
            start = _start_of(self.init, wanted, seen.features)
        else:
            start = fit_mixture(seen, units, wanted, settings._replace(verbose=False), rng).mixture
        size = max(LEAST_GROUP, 256 * math.ceil(held.count / (256 * GROUPS)))
        asked = _Passes(held.rounds, held.cut(size), weights, units, size)
        with ProgressBar(settings.verbose, _Named(), None) as callback:
            found = _core.deconvolve_by(
                asked, units, start, settings.tol, settings.max_iter, settings.floor, callback
            )
        self._keep(found, seen, units)
        self._warn_unfinished(found, stacklevel=4)

    def transform(self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None) -> Any:
        """As `Deconvolution.transform`; of Dask X, `cov`, `std` a list of delayed `Mixtures`, of each block.

        `projection` is for objects in memory.
        """
        if not is_dask(X):
            return super().transform(X, cov=cov, std=std, projection=projection)
        return prediction.transform(self, X, cov, std)

    def score_samples(self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None) -> Any:
        """The log-likelihood of each object X with `cov`, `std`: of a Dask collection lazily.

        `projection` is for objects in memory.
        """
        if not is_dask(X):
            return super().score_samples(X, cov=cov, std=std, projection=projection)
        return prediction.score_samples(self, X, cov, std)

    def predict_proba(self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None) -> Any:
        """The probability of each component for objects X with `cov`, `std`: of a Dask collection lazily.

        `projection` is for objects in memory.
        """
        if not is_dask(X):
            return super().predict_proba(X, cov=cov, std=std, projection=projection)
        return prediction.predict_proba(self, X, cov, std)

    def predict(self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None) -> Any:
        """The most probable component of each object X with `cov`, `std`: of a Dask collection lazily.

        `projection` is for objects in memory.
        """
        if not is_dask(X):
            return super().predict(X, cov=cov, std=std, projection=projection)
        return prediction.predict(self, X, cov, std)

    def to_local(self) -> Deconvolution:
        """The same population for objects in memory, without the cluster."""
        return self._local(Deconvolution)  # type: ignore[no-any-return]


class _Named:
    solver, steps = "deconvolution", 0


class _Passes:
    """The sums of all objects at a mixture, by one question to all shards."""

    def __init__(
        self, rounds: Any, shards: list[Shard], weights: FloatArray | None, units: Any, size: int
    ) -> None:
        self.rounds, self.shards, self.size = rounds, shards, size
        self.units = units.centre, units.scale
        self.weights = [None if weights is None else weights[s.first : s.last] for s in shards]

    def __call__(self, mixture: Any) -> Any:
        each = [mixture.parts] * len(self.shards)
        firsts = [shard.first for shard in self.shards]
        units, sizes = [self.units] * len(firsts), [self.size] * len(firsts)
        answers = self.rounds.ask(sums_of, self.shards, self.weights, each, units, firsts, sizes)
        groups = [group for answer in answers for group in answer]
        total = list(groups[0])
        for group in groups[1:]:
            total = [a + b for a, b in zip(total, group, strict=True)]
        return tuple(total)
