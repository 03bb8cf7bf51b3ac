"""`Deconvolution`: the distribution of true values behind noisy measurements, and each sample given it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import TransformerTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._repr import ShowsFit
from ..data.gaussians import Gaussians
from ..data.mixtures import Mixtures
from ..exceptions import ConvergenceWarning, PopulationWarning
from ..io.frames import table_for_fit
from ..support.arrays import roots
from ..support.memory import require_memory
from ..support.parallel import thread_count
from ..support.types import Cell, Tags
from ..support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    RandomState,
    as_generator,
    check_count,
    check_positive,
)
from .inputs import ROUTED
from .observations import Observed, check_near, check_spread, observe
from .pool.mixture import Budget

WORK = 2**29  # operations of the core at a time, less than a second
START_SIZE = 20_000  # samples that choose among starts
SHORT = 30  # steps of a start that is only tried
CANDIDATES = (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36)  # numbers of components for "auto"
FOLDS = 3
FAR = 4.75  # deviations of a normal variable: one sample in a million lies beyond
OFTEN = 0.03  # share of unusual samples that is worth a warning
NOISIER = 2.0  # times the noise of the noisiest hundredth of the fit
MATTERS = 0.2  # noise below this share of the population's spread changes little


class Deconvolution(ShowsFit, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Learn the distribution of true values behind noisy measurements, as a mixture of Gaussians.

    Model: the true value of a sample is drawn from Σ π_k N(μ_k, S_k) and measured with noise of its own known
    covariance, x_i ~ N(truth_i, Σ_i). π, μ and S maximise the likelihood Π Σ_k π_k N(x_i; μ_k, S_k + Σ_i), by
    expectation and maximisation (extreme deconvolution; Bovy, Hogg and Roweis 2011). Given this population
    the true value of each sample is a mixture as well, which `transform` returns.

    Labels are not used. Noise is taken as independent of the true values. A value that is NaN, or has
    infinite noise, is missing. A population learnt from precise samples may lack what only noisy ones have: a
    `PopulationWarning` tells of samples far noisier than those of the fit, or far from its population.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of Gaussians. "auto" tries increasing numbers until the likelihood of held-out samples (three
        folds) falls.
    tol : float, default=1e-5
        Stop when a step raises the mean log-likelihood of a sample by less.
    max_iter : int, default=500
        Largest number of steps; a `ConvergenceWarning` says if they were not enough.
    max_time : float, optional
        Seconds for the whole fit; the best population so far is kept, with a `ConvergenceWarning`.
    reg_covar : float, default=1e-6
        Least variance of a component in any direction, in units of the features' squared spread (half the
        range of the middle 68 %).
    init : int, default=3
        Number of k-means starts, of which the one of the largest likelihood after some steps goes on.
    random_state : int, RandomState or None, default=0
        Seed of the starts.
    threads : int, optional
        Number of threads, by default all; the result has the same bits for any number.

    Attributes
    ----------
    weights_, means_, covariances_ : arrays of shape (K,), (K, n) and (K, n, n)
        The population.
    lower_bound_ : float
        Mean log-likelihood of a sample.
    lower_bounds_ : list of float
        The same before each step.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether `tol` was reached.
    n_components_ : int
        Number of Gaussians.
    held_out_ : dict of int to float
        With "auto": mean log-likelihood of held-out samples by the number of components.

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
    Mixtures(2000 samples, 1 features, 2 components, full covariances)
    """

    __metadata_request__fit = ROUTED
    __metadata_request__transform = ROUTED
    __metadata_request__score = ROUTED

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        tol: float = 1e-5,
        max_iter: int = 500,
        max_time: float | None = None,
        reg_covar: float = 1e-6,
        init: int = 3,
        random_state: RandomState = 0,
        threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.reg_covar = reg_covar
        self.init = init
        self.random_state = random_state
        self.threads = threads

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike = None,
        *,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Deconvolution:
        """Learn the population.

        Parameters
        ----------
        X : Gaussians, array or DataFrame of shape (l, n)
            Measured values; in arrays NaN is a missing value.
        y : ignored
            For pipelines.
        cov, std : optional
            Noise of an array X, as in `svmgsu.Gaussians`; an infinite one is a missing value.
        sample_weight : array of shape (l,), optional
            How often each sample counts.
        """
        if not isinstance(self.reg_covar, (int, float, np.number)) or not 0 < self.reg_covar < 1:
            raise ValueError(f"reg_covar: must be between 0 and 1, got {self.reg_covar!r}")
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time")
        budget = Budget(self.max_time, thread_count(self.threads))
        X, _ = table_for_fit(X, None, cov, std, gaps=True)
        seen = observe(X, cov, std, sample_weight)
        if seen.weights is not None and not seen.weights.all():  # samples with zero weight are ignored
            seen = seen.take(np.flatnonzero(seen.weights))
        check_spread(seen)
        starts = check_count(self.init, "init")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        units = seen.core().units()
        self.__dict__.pop("held_out_", None)
        if isinstance(self.n_components, str):
            self.held_out_ = self._choose_components(seen, units, rng, budget)
            wanted = max(self.held_out_, key=self.held_out_.__getitem__)
        else:
            wanted = check_count(self.n_components, "n_components")
        if wanted > len(seen):
            raise ValueError(
                f"n_components: {wanted} for n_samples={len(seen)}; there must be at least as many samples"
            )
        found = self._fit_mixture(seen, units, wanted, rng, starts, self.tol, budget)
        self.weights_, self.means_, self.covariances_ = found.mixture.parts
        self.lower_bound_ = found.log_likelihood
        self.lower_bounds_ = found.history
        self.n_iter_ = found.iterations
        self.converged_ = found.stop == "converged"
        self.n_components_ = len(self.weights_)
        self.n_features_in_ = seen.values.shape[1]
        self.centre_ = units.centre
        self.scale_ = units.scale
        self.__dict__.pop("feature_names_in_", None)
        if seen.names is not None:
            self.feature_names_in_ = np.asarray(seen.names, dtype=object)
        noise, far = self._unlike(seen, self._posterior(seen)[1])
        self._usual = (float(np.quantile(noise, 0.99)), float(far.mean()))
        if found.stop == "callback":
            warnings.warn(
                f"Deconvolution: max_time={self.max_time} seconds were over after {found.iterations} steps "
                f"of {len(self.weights_)} components; the best one found is kept. Raise max_time or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        if found.stop == "iterations" and len(found.history) > 1:
            warnings.warn(
                f"Deconvolution: after max_iter={self.max_iter} steps the last one still raised the mean "
                f"log-likelihood by {found.history[-1] - found.history[-2]:.2g} (tol={self.tol:g}); raise "
                "max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _run(self, seen: Any, units: Cell, start: Any, tol: float, steps: int, budget: Budget) -> Any:
        """Run the core's expectation and maximisation from a start."""
        floor = float(self.reg_covar)
        return _core.deconvolve(seen, units, start, tol, steps, floor, budget.threads, budget)

    def _fit_mixture(
        self,
        seen: Observed,
        units: Cell,
        components: int,
        rng: np.random.Generator,
        starts: int,
        tol: float,
        budget: Budget,
        rows: Array | None = None,
    ) -> Any:
        """Fit the best of several starts, which are tried for some steps on at most `START_SIZE` samples."""
        everybody = seen.core(rows)
        count = len(seen) if rows is None else len(rows)
        some = everybody
        if count > START_SIZE:
            chosen = np.sort(rng.choice(count, START_SIZE, replace=False))
            some = seen.core(chosen if rows is None else rows[chosen])
        begun: list[Any] = []
        for seed in rng.integers(2**62, size=starts).tolist():
            if not begun or not budget.over:
                floor = float(self.reg_covar)
                begun.append(_core.start_mixture(some, units, components, seed, floor, budget.threads))
        if len(begun) > 1 and components > 1:
            steps = min(SHORT, self.max_iter)
            tried = [self._run(some, units, start, 10 * tol, steps, budget) for start in begun]
            begun = [max(tried, key=lambda found: found.log_likelihood).mixture]
        return self._run(everybody, units, begun[0], tol, self.max_iter, budget)

    def _choose_components(
        self, seen: Observed, units: Cell, rng: np.random.Generator, budget: Budget
    ) -> dict[int, float]:
        """Return the mean held-out log-likelihood for numbers of components until it falls twice."""
        if self.n_components != "auto":
            raise ValueError(f'n_components: expected a number or "auto", got {self.n_components!r}')
        if len(seen) < 6:
            raise ValueError(f'n_components: "auto" needs at least 6 samples, got n_samples={len(seen)}')
        order = rng.permutation(len(seen))[: START_SIZE * FOLDS]
        folds = np.array_split(order, FOLDS)
        starts = min(2, self.init)
        scores: dict[int, float] = {}
        for components in CANDIDATES:
            if scores and (components * 2 * FOLDS > len(order) or budget.over):
                break
            total = 0.0
            for i, fold in enumerate(folds):
                known = np.sort(np.concatenate([part for j, part in enumerate(folds) if j != i]))
                found = self._fit_mixture(seen, units, components, rng, starts, 10 * self.tol, budget, known)
                values = _core.posterior(seen.core(fold), units, found.mixture, budget.threads, False)[0]
                weights = None if seen.weights is None else seen.weights[fold]
                total += float(np.average(values, weights=weights)) / FOLDS
            scores[components] = total
            last = list(scores.values())
            if len(last) > 2 and max(last[-2:]) < max(last[:-2]):
                break
        return scores

    def transform(self, X: ArrayLike, *, cov: ArrayLike = None, std: ArrayLike = None) -> Mixtures:
        """Return what each sample may be, given its measurement and the population: `Mixtures`.

        A sample x with noise Σ is of component k with r_k ∝ π_k N(x; μ_k, S_k + Σ), and then N(b_k, B_k):
        b_k = μ_k + S_k (S_k + Σ)⁻¹ (x - μ_k), B_k = S_k - S_k (S_k + Σ)⁻¹ S_k. X, `cov` and `std` are as in
        `fit`.
        """
        seen = self._seen(X, cov, std)
        count, components, n = len(seen), len(self.weights_), self.means_.shape[1]
        dtype = seen.values.dtype
        require_memory(
            float(dtype.itemsize) * count * components * (1 + n + n * n),
            f"transform: {count} mixtures of {components} components in {n} features (transform some samples "
            "at a time)",
        )
        weights = np.empty((count, components), dtype)
        mean = np.empty((count, components, n), dtype)
        matrices = np.empty((count, components, n, n), dtype)
        noise = np.empty(count)
        far = np.empty(count, dtype=bool)
        # Ctrl-C is noticed between pieces.
        size = max(256, WORK // (components * n**3))
        for first in range(0, count, size):
            rows = slice(first, min(first + size, count))
            part = seen.take(rows)
            _, distance, weights[rows], mean[rows], matrices[rows] = self._posterior(part, moments=True)
            noise[rows], far[rows] = self._unlike(part, distance)
        usual_noise, usual_far = self._usual
        texts = []
        for unusual, share, what in (
            (far, max(OFTEN, 3 * usual_far), "far from the population of the fit"),
            (noise > max(MATTERS, NOISIER * usual_noise), OFTEN, "much noisier than those of the fit"),
        ):
            found = np.count_nonzero(unusual)
            if found > share * count + 2 * math.sqrt(share * count):
                texts.append(f"{found} of {count} samples are {what}")
        if texts:
            warnings.warn(
                f"{'; '.join(texts)}: what the population says of them is an extrapolation. Fit it to data "
                "that include such samples (no labels are needed), or leave them out",
                PopulationWarning,
                stacklevel=2,
            )
        names = getattr(self, "feature_names_in_", None)
        return Mixtures._of(weights, mean, matrices, None if names is None else list(names))

    def fit_transform(self, X: ArrayLike, y: ArrayLike = None, **options: object) -> Mixtures:
        """Fit to X (y is ignored) and transform it; `options` are those of `fit`."""
        self.fit(X, y, **options)
        options.pop("sample_weight", None)
        return self.transform(X, **options)

    def _unlike(self, seen: Observed, distance: FloatArray) -> tuple[FloatArray, Array]:
        """Return each sample's noise in units of the population's spread, and whether it is far from it."""
        known = ~np.isnan(seen.values)
        count = np.maximum(known.sum(axis=1), 1)
        # A squared distance is compared with a quantile of χ², by Wilson and Hilferty.
        limit = count * (1 - 2 / (9 * count) + FAR * np.sqrt(2 / (9 * count))) ** 3
        centre = self.weights_ @ self.means_
        within = np.diagonal(self.covariances_, axis1=1, axis2=2)
        variances = self.weights_ @ (within + (self.means_ - centre) ** 2)
        ratios = np.where(known, seen.deviations() ** 2 / variances, 0.0)
        noise = np.sqrt(ratios.sum(axis=1) / count)
        return noise, np.asarray(distance > limit)

    def score_samples(self, X: ArrayLike, *, cov: ArrayLike = None, std: ArrayLike = None) -> FloatArray:
        """Return the log-likelihood of each sample, log Σ_k π_k N(x; μ_k, S_k + Σ).

        X, `cov` and `std` are as in `fit`. Missing values are ignored.
        """
        return self._posterior(self._seen(X, cov, std))[0]

    def score(
        self, X: ArrayLike, y: ArrayLike = None, *, cov: ArrayLike = None, std: ArrayLike = None
    ) -> float:
        """Return the mean of `score_samples` of X, `cov`, `std`; y is ignored."""
        return float(self.score_samples(X, cov=cov, std=std).mean())

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> tuple[FloatArray, Array]:
        """Draw `n_samples` true values from the population: (values, components).

        `random_state` is an int, Generator, RandomState or None.
        """
        check_is_fitted(self, "means_")
        count = check_count(n_samples, "n_samples")
        components, n = self.means_.shape
        rng = as_generator(random_state)
        component = rng.choice(components, count, p=self.weights_ / self.weights_.sum())
        z = rng.standard_normal((count, 1, n))
        return self.means_[component] + (z @ roots(self.covariances_)[component])[:, 0], component

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags = TransformerTags(preserves_dtype=["float64", "float32"])
        return tags

    def _seen(self, X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Observed:
        """Check new samples, and put their features in the order of the fit."""
        check_is_fitted(self, "means_")
        known = getattr(self, "feature_names_in_", None)
        if isinstance(X, Gaussians):
            X = X.in_order(None if known is None else list(known))
        seen = observe(X, cov, std)
        if seen.values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {seen.values.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if known is not None and seen.names is not None and seen.names != list(known):
            raise ValueError(
                f"X: its features are {', '.join(seen.names)}; in the fit they were {', '.join(known)} (the "
                "feature names should match those that were passed during fit)"
            )
        check_near(seen, self.centre_, self.scale_)
        return seen

    def _posterior(self, seen: Observed, moments: bool = False) -> tuple[FloatArray, ...]:
        """Return log-likelihoods, squared distances, responsibilities, and with `moments` the mixtures."""
        parts = (self.weights_, self.means_, self.covariances_)
        mixture = _core.Mixture(*(np.ascontiguousarray(a) for a in parts))
        units = _core.Units(self.centre_, self.scale_)
        return _core.posterior(seen.core(), units, mixture, thread_count(self.threads), moments)
