"""Noisy samples drawn towards the population they come from: empirical Bayes."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..data.covariances import Diagonal, Full
from ..data.gaussians import Gaussians
from ..exceptions import ConvergenceWarning
from ..support.arrays import blocks, dense
from ..support.precision import stored_as
from ..support.validation import Array, FloatArray, check_choice, check_count, check_positive
from ._support import check_no_deployment, track

HALVINGS = 40
JITTER = 1e-10  # of a feature's variance: certain samples and flat populations can then be inverted


class OnePopulationWarning(UserWarning):
    """`posterior` assumes that all samples come from one Gaussian population."""


def posterior(
    data: Gaussians,
    *,
    population: str = "full",
    n_components: int | str = 10,
    cap: float | None = None,
    floor: float | None = None,
    one_population: bool = False,
    tol: float = 1e-3,
    max_iter: int = 1000,
    verbose: bool = False,
) -> Any:
    """What is known of each sample once the others are known: empirical Bayes.

    Model: true samples come from one population N(m, T) and are measured with the noise of their given
    covariances, x_i ~ N(truth_i, Σ_i). m and T are those of the largest likelihood Π N(x_i; m, T + Σ_i),
    which takes the noise out of the spread; then truth_i given x_i is Gaussian with

        mean  m + T (T + Σ_i)⁻¹ (x_i − m),   covariance  T − T (T + Σ_i)⁻¹ T.

    For training on noisy samples and use on precise ones: the measured means are spread too widely, and
    their raw covariance would add the noise a second time. Not for use on samples as noisy as those of
    training, where it harms, unless these are treated in the same way.

    Assumes one Gaussian population for both classes, and warns so: samples are drawn towards the common
    mean, so classes far apart against their widths move towards each other. It knows no labels and uses
    none, for those of new samples are not known. Assumes noise that is independent of the truth.

    Parameters
    ----------
    data : Gaussians
    population : {"full", "diagonal", "mixture"}
        "full": T is a matrix, features inform each other, and the result has a matrix per sample.
        "diagonal": each feature by itself, with the variances of the given covariances only.
        "mixture": not one Gaussian but several, so that nothing is assumed of the population's form and
        nothing is drawn to a common mean: `svmgsu.Deconvolution`, which has more to set, fits it.
    n_components : int or "auto", default=10
        Of a "mixture": how many Gaussians.
    cap : float, optional
        The largest standard deviation of the result, in units of the feature's spread (the standard
        deviation of the given means). Correlations are kept. Not for a "mixture".
    floor : float, optional
        The smallest standard deviation of the result, in the same units; what lacks is added to the
        diagonal. Not for a "mixture".
    one_population : bool, default=False
        True says that you know the assumption, and silences the `OnePopulationWarning`.
    tol : float, default=1e-3
        Stop when the next step promises to raise the log-likelihood by less than tol²/2: m and T are then
        within about `tol` of their own statistical errors. (A "mixture" stops as
        `svmgsu.Deconvolution` does by default.)
    max_iter : int, default=1000
        Steps at the most; a `ConvergenceWarning` says if they were not enough. Some tens are usual.
    verbose : bool, default=False
        Show a progress bar (with tqdm where it is installed).

    Returns
    -------
    Gaussians, or Mixtures of a "mixture"
        With `Full` or `Diagonal` covariances; float32 if the means are. `Mixtures.to_gaussians()` has one
        Gaussian for each sample.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from svmgsu.uncertainty import posterior
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(2000, 1))
    >>> noisy = svmgsu.Gaussians(truth + rng.normal(size=truth.shape), std=np.ones(truth.shape))
    >>> shrunk = posterior(noisy, one_population=True)  # half signal, half noise: halfway to the mean
    >>> bool(abs(shrunk.cov.to_full().mean() - 0.5) < 0.05)
    True
    """
    check_choice(population, "population", ("full", "diagonal", "mixture"))
    if not isinstance(data, Gaussians) or data.cov is None:
        raise ValueError(
            "data: expected Gaussians with covariances; without noise there is nothing to shrink"
        )
    check_no_deployment(data, "posterior")
    most = None if cap is None else check_positive(cap, "cap")
    least = None if floor is None else check_positive(floor, "floor")
    if most is not None and least is not None and least > most:
        raise ValueError(f"floor: {least:g} is above cap, {most:g}")
    check_positive(tol, "tol")
    check_count(max_iter, "max_iter")
    if population == "mixture":
        return _mixtures(data, n_components, cap, floor, max_iter, verbose)
    if not one_population:
        warnings.warn(
            "posterior assumes that all samples, of whatever class, come from one Gaussian population; "
            "pass one_population=True if that is meant",
            OnePopulationWarning,
            stacklevel=2,
        )
    means = dense(data.mean)
    centre, spread = means.mean(axis=0, dtype=np.float64), means.std(axis=0, dtype=np.float64)
    spread[spread == 0] = 1.0
    Z = (means - centre) / spread
    solver: _Diagonal | _Full = (_Diagonal if population == "diagonal" else _Full)(Z, data, spread)
    _fit(solver, tol, max_iter, verbose)
    shrunk, cov = solver.result(most, least, means.dtype)
    mean = (centre + spread * shrunk).astype(means.dtype)
    return Gaussians(mean, cov, feature_names=data.feature_names_in_)


def _mixtures(data: Gaussians, n_components: Any, cap: Any, floor: Any, max_iter: int, verbose: bool) -> Any:
    """What deconvolution makes of the samples."""
    for name, value in (("cap", cap), ("floor", floor)):
        if value is not None:
            raise ValueError(f'{name}: a population="mixture" has none; pass None')
    from ..estimators.deconvolution import Deconvolution

    return Deconvolution(n_components, max_iter=max_iter, verbose=verbose).fit_transform(data)


def _fit(solver: _Diagonal | _Full, tol: float, max_iter: int, verbose: bool) -> None:
    """Fisher's scoring: steps by the expected curvature, halved until the likelihood does not fall."""
    for _ in track(range(max_iter), max_iter, "empirical Bayes", verbose):
        gain = solver.step()
        if gain <= tol**2 / 2:
            return
    warnings.warn(
        f"posterior: after {max_iter} steps the next one still promises to raise the log-likelihood by "
        f"{gain:.2g} (tol={tol:g} asks for {tol**2 / 2:.2g}); raise max_iter",
        ConvergenceWarning,
        stacklevel=3,
    )


class _Diagonal:
    """Each feature by itself; everything (l, n)."""

    def __init__(self, Z: FloatArray, data: Gaussians, spread: FloatArray) -> None:
        assert data.cov is not None
        self.Z, self.spread = Z, spread
        self.V = data.cov.diagonals(*data.shape) / spread**2
        self.T = np.maximum(Z.var(axis=0) - self.V.mean(axis=0), 0.1)
        self.m = self._best_mean(self.T)

    def posterior(self) -> tuple[FloatArray, FloatArray]:
        gain = self.T / (self.T + self.V + JITTER)
        return self.m + gain * (self.Z - self.m), (1 - gain) ** 2 * self.T + gain**2 * self.V

    def _best_mean(self, T: FloatArray) -> FloatArray:
        W = 1 / (T + self.V + JITTER)
        return np.asarray((W * self.Z).sum(axis=0) / W.sum(axis=0))

    def _likelihood(self, T: FloatArray) -> FloatArray:
        """Twice the logarithm, for each feature, at the best mean."""
        A = T + self.V + JITTER
        return np.asarray(-(np.log(A) + (self.Z - self._best_mean(T)) ** 2 / A).sum(axis=0))

    def step(self) -> float:
        """One step; returns the rise of the log-likelihood that it promised."""
        W = 1 / (self.T + self.V + JITTER)
        slope = (W**2 * (self.Z - self.m) ** 2 - W).sum(axis=0) / 2
        curvature = (W**2).sum(axis=0) / 2
        change = np.maximum(self.T + slope / curvature, 0.0) - self.T
        promised = slope * change - curvature * change**2 / 2
        before = self._likelihood(self.T)
        for _ in range(HALVINGS):
            worse = self._likelihood(self.T + change) < before
            if not worse.any():
                break
            change = np.where(worse, change / 2, change)
        self.T = self.T + np.where(worse, 0.0, change)
        self.m = self._best_mean(self.T)
        return float(promised.max())

    def result(
        self, cap: float | None, floor: float | None, dtype: np.dtype[Any]
    ) -> tuple[FloatArray, Diagonal]:
        mean, P = self.posterior()
        P = np.clip(P, None if floor is None else floor**2, None if cap is None else cap**2)
        return mean, Diagonal(stored_as(P * self.spread**2, dtype))


class _Full:
    """A matrix T; the samples' matrices are made block by block."""

    def __init__(self, Z: FloatArray, data: Gaussians, spread: FloatArray) -> None:
        self.Z, self.data, self.spread = Z, data, spread
        self.n = Z.shape[1]
        assert data.cov is not None
        noise = data.cov.diagonals(*data.shape).mean(axis=0) / spread**2
        self.m, self.T = np.zeros(self.n), np.diag(np.maximum(Z.var(axis=0) - noise, 0.1))
        self._sums = self._evaluate(self.m, self.T)

    def _noise(self, rows: slice) -> FloatArray:
        cov = self.data.cov
        assert cov is not None
        part = cov.take(np.arange(rows.start, rows.stop)).to_full(rows.stop - rows.start, self.n)
        return np.asarray(part / (self.spread[:, None] * self.spread))

    def _posterior(self, rows: slice) -> tuple[FloatArray, FloatArray]:
        S = self._noise(rows)
        gain = np.linalg.solve(self.T + S + JITTER * np.eye(self.n), self.T).transpose(0, 2, 1)
        mean = self.m + (gain @ (self.Z[rows] - self.m)[:, :, None])[:, :, 0]
        keep = np.eye(self.n) - gain
        # Joseph's form: positive semidefinite whatever the rounding.
        return mean, keep @ self.T @ keep.transpose(0, 2, 1) + gain @ S @ gain.transpose(0, 2, 1)

    def _evaluate(self, m: FloatArray, T: FloatArray) -> _Sums:
        """The log-likelihood and what a step needs, with W_i = (T + S_i)⁻¹ and r_i = z_i − m."""
        n, value = self.n, 0.0
        score, weight, slope, square = np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
        for rows in blocks(len(self.Z), 6 * n**2):
            A = self._noise(rows) + T + JITTER * np.eye(n)
            W = np.linalg.inv(A)
            r = self.Z[rows] - m
            u = (W @ r[:, :, None])[:, :, 0]
            value -= (np.linalg.slogdet(A)[1].sum() + (r * u).sum()) / 2
            total = W.sum(axis=0)
            score, weight, slope = score + u.sum(axis=0), weight + total, slope + u.T @ u - total
            square += (W.transpose(0, 2, 1) @ W).sum(axis=0)
        return _Sums(float(value), score, weight, slope, square)

    def step(self) -> float:
        """One step; returns the rise of the log-likelihood that it promised.

        The expected curvature in T is ½ Σ W_i ⊗ W_i. ½ l K ⊗ K with K² = mean(W_i²) stands for it: exact
        where all samples have the same noise, and never smaller where the W_i commute. In coordinates
        where K is the identity, the best T is the positive part of T plus its slope.
        """
        at, count = self._sums, len(self.Z)
        values, axes = np.linalg.eigh(at.square / count)
        values = np.maximum(values, np.finfo(float).tiny)
        half, back = (axes * values**0.25) @ axes.T, (axes * values**-0.25) @ axes.T
        slope = back @ (at.slope / count) @ back
        inside = half @ self.T @ half
        change = _positive_part(inside + slope) - inside
        shift = np.linalg.solve(at.weight, at.score)
        promised = count * ((slope * change).sum() / 2 - (change**2).sum() / 4) + at.score @ shift / 2
        length = 1.0
        for _ in range(HALVINGS):
            m = self.m + length * shift
            T = _symmetric(back @ (inside + length * change) @ back)
            after = self._evaluate(m, T)
            if after.value >= at.value:
                self.m, self.T, self._sums = m, T, after
                break
            length /= 2
        return float(promised)

    def result(self, cap: float | None, floor: float | None, dtype: np.dtype[Any]) -> tuple[FloatArray, Full]:
        upper = np.triu_indices(self.n)
        mean = np.empty_like(self.Z)
        packed: Array = np.empty((len(self.Z), len(upper[0])), dtype=dtype)
        for rows in blocks(len(self.Z), 6 * self.n**2):
            mean[rows], P = self._posterior(rows)
            P = _limited(P, cap, floor) * (self.spread[:, None] * self.spread)
            packed[rows] = P[:, upper[0], upper[1]]
        return mean, Full.from_packed(packed)


class _Sums(NamedTuple):
    """The log-likelihood; Σ W r, Σ W, Σ (W r rᵀ W − W) and Σ W²."""

    value: float
    score: FloatArray
    weight: FloatArray
    slope: FloatArray
    square: FloatArray


def _symmetric(a: FloatArray) -> FloatArray:
    return np.asarray((a + a.T) / 2)


def _positive_part(a: FloatArray) -> FloatArray:
    """The nearest positive semidefinite matrix."""
    values, axes = np.linalg.eigh(_symmetric(a))
    return np.asarray((axes * np.maximum(values, 0.0)) @ axes.T)


def _limited(P: FloatArray, cap: float | None, floor: float | None) -> FloatArray:
    """Covariances with deviations between floor and cap."""
    variances = np.diagonal(P, axis1=1, axis2=2)
    if cap is not None:
        tight = np.minimum(1.0, cap / np.sqrt(np.maximum(variances, np.finfo(float).tiny)))
        P = tight[:, :, None] * P * tight[:, None, :]
        variances = np.diagonal(P, axis1=1, axis2=2)
    if floor is not None:
        lacking = np.maximum(floor**2 - variances, 0.0)
        P = P + lacking[:, :, None] * np.eye(P.shape[1])
    return P
