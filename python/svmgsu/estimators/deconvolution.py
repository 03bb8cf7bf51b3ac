"""`Deconvolution`: the population behind noisy objects, and each object given its population."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import TransformerTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._repr import ShowsFit
from ..data.gaussians import Gaussians
from ..data.mixtures import Mixtures
from ..exceptions import ConvergenceWarning
from ..fit.population import (
    Observed,
    Settings,
    batches,
    check_near,
    check_spread,
    choose_components,
    fit_mixture,
    observe,
    taken,
)
from ..fit.support import Outside, Support
from ..io.frames import table_for_fit
from ..support.arrays import roots
from ..support.memory import require_memory
from ..support.parallel import Team
from ..support.progress import counter
from ..support.validation import Array, FloatArray, as_float_array, as_generator, check_count, check_positive
from .inputs import ROUTED

WORK = 2**29  # operations of the core at a time, less than a second
NOISE = {**ROUTED, "projection": True}


class Deconvolution(ShowsFit, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Extreme deconvolution: the population of the truths behind noisy values, as a mixture of Gaussians.

    Model: the truth of an object is drawn from Σ π_k N(μ_k, S_k) and seen with the noise of its own known
    covariance, x_i ~ N(truth_i, Σ_i). π, μ and S are those of the largest likelihood Π Σ_k π_k N(x_i; μ_k,
    S_k + Σ_i), found by expectation and maximisation (Bovy, Hogg and Roweis 2011). Given the population an
    object's truth is a mixture as well, which `transform` returns: noisy objects borrow from all others.

    It knows no labels. Noise is taken as independent of the truth. A value that is NaN, or has infinite
    noise, is missing, and no example is left out for it. A population learnt from precise objects may lack
    what only noisy ones have: of objects far noisier than those of the fit, or far from its population, a
    `PopulationWarning` tells.

    Parameters
    ----------
    n_components : int or "auto", default=10
        How many Gaussians. "auto" tries numbers that grow until the likelihood of objects held out (three
        folds) falls.
    n_init : int, default=3
        Starts (k-means), each tried for some steps; the one of the largest likelihood goes on.
    tol : float, default=1e-5
        Stop when a step raises the mean log-likelihood of an object by less.
    max_iter : int, default=500
        Steps at the most; a `ConvergenceWarning` says if they were not enough.
    max_time : float, optional
        Seconds at the most, for all starts and numbers of components; the best population so far is kept, and
        a `ConvergenceWarning` tells.
    reg_covar : float, default=1e-6
        The least variance of a component in any direction, in units of the features' squared spread (half
        the range of the middle 68 %).
    init : (weights, means, covariances) or fitted Deconvolution, optional
        Where to start from, instead of `n_init` starts.
    random_state : int, RandomState or None, default=0
    threads : int, optional
        By default all; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    weights_, means_, covariances_ : arrays of shape (K,), (K, n) and (K, n, n)
        The population.
    lower_bound_ : float
        The mean log-likelihood of an object.
    lower_bounds_ : list of float
        The same before each step.
    n_iter_ : int
    converged_ : bool
    n_components_ : int
    held_out_ : dict of int to float
        With "auto": the mean log-likelihood of objects held out, by the number of components.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice([-1.0, 1.0], size=(2000, 1)) + 0.3 * rng.normal(size=(2000, 1))
    >>> noisy = svmgsu.Gaussians(truth + 0.5 * rng.normal(size=truth.shape), std=0.5)
    >>> prior = svmgsu.Deconvolution(2).fit(noisy)
    >>> np.sqrt(prior.covariances_).ravel().round(1).tolist()  # the noise of 0.5 is taken out
    [0.3, 0.3]
    >>> prior.transform(noisy)
    Mixtures(2000 examples, 1 features, 2 components, full covariances)
    """

    __metadata_request__fit = NOISE
    __metadata_request__transform = NOISE
    __metadata_request__score = NOISE

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        n_init: int = 3,
        tol: float = 1e-5,
        max_iter: int = 500,
        max_time: float | None = None,
        reg_covar: float = 1e-6,
        init: Any = None,
        random_state: Any = 0,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.reg_covar = reg_covar
        self.init = init
        self.random_state = random_state
        self.threads = threads
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        cov: Any = None,
        std: Any = None,
        projection: Any = None,
        sample_weight: Any = None,
    ) -> Deconvolution:
        """Learns the population.

        Parameters
        ----------
        X : Gaussians, array or DataFrame of shape (l, n)
            What was measured. In arrays NaN is a missing value.
        y : ignored
        cov, std : optional
            The noise of an array X, as in `svmgsu.Gaussians`; an infinite one is a missing value.
        projection : array of shape (l, m, n) or (m, n), optional
            X, of shape (l, m), shows R_i x_i instead of the truth x_i, which has n features; its noise is
            m × m.
        sample_weight : array of shape (l,), optional
            How often each example counts.
        """
        settings = self._settings()
        X, _ = table_for_fit(X, None, cov, std, gaps=True)
        seen = observe(X, cov, std, projection, sample_weight)
        if seen.weights is not None and not seen.weights.all():  # what counts nothing has no say
            seen = taken(seen, np.flatnonzero(seen.weights))
        check_spread(seen)
        wanted = self._wanted(len(seen))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        units = seen.core().units()
        self.__dict__.pop("held_out_", None)
        if wanted is None:
            self.held_out_ = self._choose(seen, units, settings, rng)
            wanted = max(self.held_out_, key=self.held_out_.__getitem__)
        if self.init is not None:
            settings = settings._replace(start=_start_of(self.init, wanted, seen.features))
        found = fit_mixture(seen, units, wanted, settings, rng)
        self._keep(found, seen, units)
        self._warn_unfinished(found, stacklevel=3)
        return self

    def transform(self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None) -> Mixtures:
        """What each object is, given what was seen of it and the population: `Mixtures`.

        Object x with noise Σ is of component k with r_k ∝ π_k N(x; μ_k, S_k + Σ), and then N(b_k, B_k):
        b_k = μ_k + S_k (S_k + Σ)⁻¹ (x - μ_k), B_k = S_k - S_k (S_k + Σ)⁻¹ S_k. X, `cov`, `std` and
        `projection` are as in `fit`. For data whose result does not fit into memory see `batches`.
        """
        seen = self._seen(X, cov, std, projection)
        count, components, n = len(seen), len(self.weights_), self.means_.shape[1]
        dtype = seen.values.dtype
        require_memory(
            float(dtype.itemsize) * count * components * (1 + n + n * n),
            f"transform: {count} mixtures of {components} components in {n} features (batches(X, size) makes "
            "some at a time)",
        )
        weights, mean = np.empty((count, components), dtype), np.empty((count, components, n), dtype)
        matrices, distance = np.empty((count, components, n, n), dtype), np.empty(count)
        for rows in batches(count, max(256, WORK // (components * n**3))):  # Ctrl-C is heard between them
            found = self._moments(seen if rows.stop - rows.start == count else taken(seen, rows))
            distance[rows], weights[rows], mean[rows], matrices[rows] = found[1:5]
        Outside().and_of(self.support_, seen, distance).warn(self.support_, stacklevel=2)
        names = getattr(self, "feature_names_in_", None)
        return Mixtures._of(weights, mean, matrices, None if names is None else list(names))

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Mixtures:
        """`fit` to X (y is ignored), then `transform` of X; `options` are those of `fit`."""
        self.fit(X, y, **options)
        options.pop("sample_weight", None)
        return self.transform(X, **options)

    def batches(self, X: Any, size: int = 10_000, **noise: Any) -> Iterator[Mixtures]:
        """`transform` of X, `size` examples at a time, for results that do not fit into memory.

        `noise` is `cov`, `std` or `projection`, as in `transform`.
        """
        seen = self._seen(X, *(noise.pop(name, None) for name in ("cov", "std", "projection")))
        if noise:
            raise TypeError(f"batches: unexpected argument {next(iter(noise))!r}")
        names = getattr(self, "feature_names_in_", None)
        outside = Outside()
        for rows in batches(len(seen), check_count(size, "size")):
            part = taken(seen, rows)
            _, distance, weights, mean, matrices = self._moments(part)
            outside = outside.and_of(self.support_, part, distance)
            arrays = [a.astype(seen.values.dtype, copy=False) for a in (weights, mean, matrices)]
            yield Mixtures._of(arrays[0], arrays[1], arrays[2], None if names is None else list(names))
        outside.warn(self.support_, stacklevel=2)

    def score_samples(
        self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None
    ) -> FloatArray:
        """The log-likelihood of each object, log Σ_k π_k N(x; μ_k, S_k + Σ).

        X, `cov`, `std` and `projection` are as in `fit`. Of an object with missing values it is that of the
        others.
        """
        return self._posterior(self._seen(X, cov, std, projection))[0]

    def score(
        self, X: Any, y: Any = None, *, cov: Any = None, std: Any = None, projection: Any = None
    ) -> float:
        """The mean of `score_samples` of X, `cov`, `std`, `projection`; y is ignored."""
        return float(self.score_samples(X, cov=cov, std=std, projection=projection).mean())

    def predict_proba(
        self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None
    ) -> FloatArray:
        """The probability of each component, (l, K), for objects X with `cov`, `std`, `projection`."""
        return self._posterior(self._seen(X, cov, std, projection))[2]

    def predict(self, X: Any, *, cov: Any = None, std: Any = None, projection: Any = None) -> Array:
        """The most probable component of each object X with `cov`, `std`, `projection`."""
        proba = self.predict_proba(X, cov=cov, std=std, projection=projection)
        return np.asarray(proba.argmax(axis=1))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[FloatArray, Array]:
        """Draws `n_samples` truths from the population: (values, components), as scikit-learn's mixtures do.

        `random_state` is an int, Generator, RandomState or None.
        """
        check_is_fitted(self, "means_")
        count, (components, n) = check_count(n_samples, "n_samples"), self.means_.shape
        rng = as_generator(random_state)
        component = rng.choice(components, count, p=self.weights_ / self.weights_.sum())
        z = rng.standard_normal((count, 1, n))
        return self.means_[component] + (z @ roots(self.covariances_)[component])[:, 0], component

    def bic(self, X: Any, **noise: Any) -> float:
        """The Bayesian information criterion on X, the lower the better; `noise` as in `batches`."""
        values = self.score_samples(X, **noise)
        components, n = self.means_.shape
        free = components * (n + n * (n + 1) / 2) + components - 1
        return float(free * np.log(len(values)) - 2 * values.sum())

    def save(self, path: Any) -> None:
        """Writes what predictions need to `path`, a path or binary file, completely or not at all.

        `svmgsu.load` reads it back, with the same bits. The file is an .npz archive and no pickle: one from a
        stranger can be opened without harm, though what it predicts is theirs.
        """
        from .files import save

        check_is_fitted(self, "means_")
        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags = TransformerTags(preserves_dtype=["float64", "float32"])
        return tags

    def _settings(self) -> Settings:
        if not isinstance(self.reg_covar, (int, float, np.number)) or not 0 < self.reg_covar < 1:
            raise ValueError(f"reg_covar: must be between 0 and 1, got {self.reg_covar!r}")
        return Settings(
            check_count(self.n_init, "n_init"),
            check_positive(self.tol, "tol"),
            check_count(self.max_iter, "max_iter"),
            float(self.reg_covar),
            Team(self.threads).threads,
            bool(self.verbose),
            math.inf
            if self.max_time is None
            else time.monotonic() + check_positive(self.max_time, "max_time"),
        )

    def _wanted(self, count: int) -> int | None:
        """The number of components; None for "auto"."""
        if isinstance(self.n_components, str):
            if self.n_components != "auto":
                raise ValueError(f'n_components: expected a number or "auto", got {self.n_components!r}')
            if self.init is not None:
                raise ValueError('init: it says how many components there are; n_components="auto" asks')
            return None
        wanted = check_count(self.n_components, "n_components")
        if wanted > count:
            raise ValueError(
                f"n_components: {wanted} for n_samples={count}; there must be at least as many examples"
            )
        return wanted

    def _choose(self, seen: Observed, units: Any, settings: Settings, rng: Any) -> dict[int, float]:
        if len(seen) < 6:
            raise ValueError(f'n_components: "auto" needs at least 6 examples, got n_samples={len(seen)}')
        return choose_components(seen, units, settings, rng, counter(settings.verbose, 12, "components"))

    def _warn_unfinished(self, found: Any, stacklevel: int) -> None:
        if found.stop == "callback":
            warnings.warn(
                f"Deconvolution: max_time={self.max_time} seconds were over after {found.iterations} steps "
                f"of {len(self.weights_)} components; the best one found is kept. Raise max_time or tol",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        if found.stop == "iterations" and len(found.history) > 1:
            warnings.warn(
                f"Deconvolution: after max_iter={self.max_iter} steps the last one still raised the mean "
                f"log-likelihood by {found.history[-1] - found.history[-2]:.2g} (tol={self.tol:g}); raise "
                "max_iter or tol",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    def _keep(self, found: Any, seen: Observed, units: Any) -> None:
        self.weights_, self.means_, self.covariances_ = found.mixture.parts
        self.lower_bound_, self.lower_bounds_ = found.log_likelihood, found.history
        self.n_iter_, self.converged_ = found.iterations, found.stop == "converged"
        self.n_components_ = len(self.weights_)
        self.n_features_in_ = seen.values.shape[1]
        self.centre_, self.scale_ = units.centre, units.scale
        self.__dict__.pop("feature_names_in_", None)
        if seen.names is not None:
            self.feature_names_in_ = np.asarray(seen.names, dtype=object)
        self.support_ = Support.of(
            seen, self._posterior(seen)[1], self.weights_, self.means_, self.covariances_
        )

    def _seen(self, X: Any, cov: Any, std: Any, projection: Any) -> Observed:
        """New objects, with their features in the order of the fit."""
        check_is_fitted(self, "means_")
        known = getattr(self, "feature_names_in_", None)
        if isinstance(X, Gaussians) and projection is None:
            X = X.in_order(None if known is None else list(known))
        seen = observe(X, cov, std, projection)
        if seen.features != self.means_.shape[1]:
            raise ValueError(
                f"X has {seen.features} features, but {type(self).__name__} is expecting "
                f"{self.means_.shape[1]} features as input"
            )
        if known is not None and seen.names is not None and seen.names != list(known):
            raise ValueError(
                f"X: its features are {', '.join(seen.names)}; in the fit they were {', '.join(known)} (the "
                "feature names should match those that were passed during fit)"
            )
        check_near(seen, self.centre_, self.scale_)
        return seen

    def _posterior(self, seen: Observed, moments: bool = False) -> tuple[FloatArray, ...]:
        parts = (self.weights_, self.means_, self.covariances_)
        mixture = _core.Mixture(*(np.ascontiguousarray(a) for a in parts))
        units = _core.Units(self.centre_, self.scale_)
        return _core.posterior(seen.core(), units, mixture, Team(self.threads).threads, moments)

    def _moments(self, seen: Observed) -> tuple[FloatArray, ...]:
        return self._posterior(seen, moments=True)


def _start_of(init: Any, components: int, n: int) -> Any:
    """A mixture to start from."""
    if hasattr(init, "covariances_"):
        init = (init.weights_, init.means_, init.covariances_)
    if not isinstance(init, (tuple, list)) or len(init) != 3:
        raise ValueError(
            f"init: expected (weights, means, covariances) or a fitted Deconvolution, got {init!r}"
        )
    names = ("weights", "means", "covariances")
    arrays = [
        as_float_array(a, f"init: {name}", (d,)).astype(np.float64)
        for a, name, d in zip(init, names, (1, 2, 3), strict=True)
    ]
    for array, name, shape in zip(
        arrays, names, ((components,), (components, n), (components, n, n)), strict=True
    ):
        if array.shape != shape:
            raise ValueError(f"init: {name} of shape {array.shape}; expected {shape}")
    try:
        return _core.Mixture(*arrays)
    except ValueError as error:
        raise ValueError(f"init: {error}") from None
