"""The method in plain NumPy, written to be read beside the paper; the compiled code is tested against it.

Equation numbers are those of Tzelepis, Mezaris and Patras, "Linear Maximum Margin Classifier for
Learning from Uncertain Data"; "corrected" marks the places where the printed formula is wrong.

Sample i is the Gaussian N(x_i, Sigma_i) with label y_i = +-1. For a hyperplane (w, b), a sample has
d = 1 - y (w.x + b), s = sqrt(w' Sigma w) and r = d / s. The paper writes d_x for d and d_Sigma for
sqrt(2) s, so its (erf(d_x / d_Sigma) + 1) / 2 is Phi(r). The paper has the hinge loss; `Objective` also
takes other losses and, for regression, targets as y, when d = y - (w.x + b).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "LOSSES",
    "Factors",
    "Objective",
    "SharedMatrix",
    "SplitMix64",
    "expected_hinge",
    "expected_loss",
    "normal_cdf",
    "normal_pdf",
    "project",
    "quadratic",
    "take",
    "times",
    "to_full",
    "truncate",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer[Any]]
Numbers = tuple[Array, Array, Array, Array, Array]

# Covariances


class Factors(NamedTuple):
    """Hold Sigma_i = F_i' F_i, with F of shape (l, r, n)."""

    F: Array


class SharedMatrix(NamedTuple):
    """Hold one S (n, n) for all samples, or Sigma_i = S[group[i]] with S (K, n, n) and group (l,)."""

    S: Array
    group: Rows | None = None


# An array is read by its dimensions: () or (l,) isotropic variances, (l, n) diagonal variances, (l, n, n)
# full matrices. None is no uncertainty, a list is the sum of its members.
Covariance = None | float | Array | Factors | SharedMatrix | list["Covariance"]


def take(cov: Covariance, rows: Rows) -> Covariance:
    """Return the covariances of the samples `rows`, one for each even where all samples share one."""
    if cov is None:
        return np.zeros(len(rows))
    if isinstance(cov, list):
        return [take(part, rows) for part in cov]
    if isinstance(cov, Factors):
        return Factors(cov.F[rows])
    if isinstance(cov, SharedMatrix):
        if cov.group is None:
            return SharedMatrix(cov.S[None], np.zeros(len(rows), dtype=np.intp))
        return SharedMatrix(cov.S, cov.group[rows])
    cov = np.asarray(cov)
    return cov[rows] if cov.ndim else np.full(len(rows), cov, dtype=float)


def times(cov: Covariance, v: Array) -> Array:
    """Return Sigma_i v, of shape (l, n), or (1, n) where all samples share one covariance."""
    if cov is None:
        return np.zeros((1, len(v)))
    if isinstance(cov, list):
        return sum((times(part, v) for part in cov), np.zeros((1, len(v))))
    if isinstance(cov, Factors):
        return np.asarray(((cov.F @ v)[:, None, :] @ cov.F)[:, 0])
    if isinstance(cov, SharedMatrix):
        Sv = cov.S @ v
        return np.asarray(Sv[None] if cov.group is None else Sv[cov.group])
    cov = np.asarray(cov)
    if cov.ndim == 3:
        return np.asarray(cov @ v)
    return np.asarray((cov if cov.ndim == 2 else cov.reshape(-1, 1)) * v)


def quadratic(cov: Covariance, w: Array) -> Array:
    """Return w' Sigma_i w >= 0, of shape (l,), or (1,) where all samples share one covariance."""
    return np.maximum(times(cov, w) @ w, 0.0)


def to_full(cov: Covariance, count: int, n: int) -> Array:
    """Return any covariance of `count` samples as matrices, of shape (count, n, n)."""
    columns = [np.broadcast_to(times(cov, unit), (count, n)) for unit in np.eye(n)]
    return np.stack(columns, axis=2)


# Losses
# The mean L of each loss over D ~ N(d, s^2), and the derivatives L1, L2, L3, L4 of that mean in d. The heat
# equation dL/d(s^2) = L2/2 makes derivatives in d suffice. The docstrings have r = d/s, Phi = Phi(r) and
# kappa = phi(r)/s; docs/theory.md has the table.

_erfc = np.frompyfunc(math.erfc, 1, 1)


def normal_cdf(r: npt.ArrayLike) -> Array:
    """Compute Phi(r) by erfc: erf would lose every digit of the lower tail."""
    return np.asarray(0.5 * _erfc(-np.asarray(r, dtype=float) / math.sqrt(2.0)), dtype=float)


def normal_pdf(r: npt.ArrayLike) -> Array:
    """Compute phi(r)."""
    r = np.asarray(r, dtype=float)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-0.5 * r * r) / math.sqrt(2.0 * math.pi))


def _fraction(x: Array, first: int) -> Array:
    """Compute k / (x + (k+1) / (x + (k+2) / (x + ...))) from k = `first` on: exact to rounding for x >= 4."""
    t = np.zeros_like(x)
    for level in range(60, first - 1, -1):
        t = level / (x + t)
    return t


def expected_hinge(d: npt.ArrayLike, s: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Compute eq. (6), the mean of max(0, D) for D ~ N(d, s^2), and its first two derivatives in d.

    Returns
    -------
    loss : d Phi(r) + s phi(r); max(0, d) where s = 0.
    Phi : Phi(r), the derivative in d; where s = 0 it is 1 for d > 0, else 0.
    kappa : phi(r) / s, the second derivative in d; 0 where s = 0.
    """
    d, s = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(s, dtype=float))
    with np.errstate(all="ignore"):
        r = np.where(s > 0, d / s, np.where(d > 0, np.inf, -np.inf))
        Phi, phi = normal_cdf(r), normal_pdf(r)
        loss = np.asarray(d * Phi + s * phi)
        # Far below zero the two terms cancel. With x = -r and Mills' ratio R = Phi(-x) / phi(x), which is
        # 1 / (x + t) for Laplace's continued fraction t, L = s phi (1 - x R) = s phi t / (x + t).
        far = r < -4
        t = _fraction(-r[far], 1)
        loss[far] = s[far] * phi[far] * t / (t - r[far])
        kappa = np.where(s > 0, phi / s, 0.0)
    return loss, Phi, kappa


def _upper(d: Array, s: Array) -> Array:
    """Compute E max(0, D)^2 = (d^2 + s^2) Phi + d s phi; below r = -4, where that cancels, 2 s^2 I_2.

    I_k = E max(0, Z - x)^k / k!, x = -r, has I_{k+1} / I_k = 1 / (x + (k+2) / (x + (k+3) / (x + ...))).
    """
    loss, Phi, _ = expected_hinge(d, s)
    square = np.asarray(d * loss + s * s * Phi)
    far = np.asarray((s > 0) & (d < -4 * s))
    x = -d[far] / s[far]
    square[far] = 2 * s[far] * loss[far] / (x + _fraction(x, 3))
    return square


def _hinge(d: Array, s: Array, _: float) -> Numbers:
    """Compute those of max(0, D): d Phi + s phi, Phi, kappa, -r kappa / s, (r^2 - 1) kappa / s^2."""
    loss, Phi, kappa = expected_hinge(d, s)
    r = np.divide(d, s, out=np.zeros_like(d), where=kappa > 0)
    return loss, Phi, kappa, -r * kappa, (r * r - 1) * kappa


def _squared_hinge(d: Array, s: Array, _: float) -> Numbers:
    """Compute those of max(0, D)^2: (d^2 + s^2) Phi + d s phi, twice the hinge, and so on."""
    loss, Phi, kappa = expected_hinge(d, s)
    return _upper(d, s), 2 * loss, 2 * Phi, 2 * s * kappa, -2 * d * kappa


def _logistic(d: Array, s: Array, _: float) -> Numbers:
    """Compute those of log(1 + e^(D - 1)) by Gauss-Legendre panels that follow the density and the loss."""
    x = (d - 1.0)[:, None]
    bends = np.array([0.0, 2.0, 5.0, 10.0, 20.0, 40.0])
    with np.errstate(all="ignore"):
        cuts = np.where(s[:, None] > 0, (np.concatenate([-bends, bends]) - x) / s[:, None], 0.0)
    steps = np.broadcast_to(np.arange(-9.0, 10.0, 2.0), (len(d), 10))
    ends = np.sort(np.concatenate([np.clip(np.nan_to_num(cuts), -9.0, 9.0), steps], axis=1), axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(ends, axis=1)[:, :, None]
    z = (ends[:, :-1, None] + half * (1.0 + nodes)).reshape(len(d), -1)
    mass = (half * weights).reshape(len(d), -1) * normal_pdf(z)
    y = x + s[:, None] * z
    e = np.exp(-np.abs(y))
    p, v = np.where(y > 0, 1.0, e) / (1.0 + e), e / (1.0 + e) ** 2
    functions = (np.log1p(e), p, v, v * (1 - 2 * p), v * (1 - 6 * v))
    L, L1, L2, L3, L4 = (np.sum(mass * f, axis=1) for f in functions)
    return L + expected_hinge(d - 1.0, s)[0], L1, L2, s * L3, s * s * L4


def _squared(d: Array, s: Array, _: float) -> Numbers:
    """Compute those of D^2 / 2: (d^2 + s^2) / 2, d, 1."""
    zero = np.zeros_like(d)
    return 0.5 * (d * d + s * s), d.copy(), zero + 1.0, zero, zero


def _two_sided(
    one_sided: Callable[[Array, Array, float], Numbers],
) -> Callable[[Array, Array, float], Numbers]:
    """Return the loss of |D| - epsilon: one on each side, the odd derivatives of the second negated."""

    def numbers(d: Array, s: Array, epsilon: float) -> Numbers:
        above = one_sided(d - epsilon, s, 0.0)
        below = one_sided(-d - epsilon, s, 0.0)
        L, L1, L2, L3, L4 = ((a + (-1) ** k * b) for k, (a, b) in enumerate(zip(above, below, strict=True)))
        return L, L1, L2, L3, L4

    return numbers


def _huber(d: Array, s: Array, delta: float) -> Numbers:
    """Compute those of D^2/2 up to delta, then delta (|D| - delta/2): the square less two squared hinges."""
    a = np.abs(d)
    sign = np.where(d < 0, -1.0, 1.0)
    inside = a <= delta
    near = -np.abs(a - delta)
    far = -a - delta
    H1, F1, k1 = expected_hinge(near, s)
    H2, F2, k2 = expected_hinge(far, s)
    S1 = _upper(near, s)
    S2 = _upper(far, s)
    within = 0.5 * (a * a + s * s - S1 - S2)
    beyond = delta * (a - 0.5 * delta) + 0.5 * (S1 - S2)
    L1 = sign * (np.where(inside, a, delta) - H1 + H2)
    L2 = np.where(inside, 1.0 - F1, F1) - F2
    L3 = s * sign * (k2 - k1)
    L4 = (a - delta) * k1 - (a + delta) * k2
    return np.where(inside, within, beyond), L1, L2, L3, L4


class Loss(NamedTuple):
    """Describe a loss; `numbers` computes L, L1, L2, s L3 and s^2 L4."""

    numbers: Callable[[Array, Array, float], Numbers]
    regression: bool = False
    parameter: float = math.nan  # its default


LOSSES = {
    "hinge": Loss(_hinge),
    "squared_hinge": Loss(_squared_hinge),
    "logistic": Loss(_logistic),
    "squared": Loss(_squared, True),
    "epsilon_insensitive": Loss(_two_sided(_hinge), True, 0.1),
    "squared_epsilon_insensitive": Loss(_two_sided(_squared_hinge), True, 0.1),
    "huber": Loss(_huber, True, 1.35),
}


def _scaled_loss(d: npt.ArrayLike, s: npt.ArrayLike, loss: str, parameter: float | None) -> Numbers:
    """Compute L, L1, L2, s L3 and s^2 L4: the last two stay as small as the others where s vanishes."""
    d, s = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(s, dtype=float))
    rule = LOSSES[loss]
    with np.errstate(under="ignore"):
        numbers = rule.numbers(d.ravel(), s.ravel(), rule.parameter if parameter is None else parameter)
    L, L1, L2, L3, L4 = (a.reshape(d.shape) for a in numbers)
    return L, L1, L2, L3, L4


def expected_loss(
    d: npt.ArrayLike, s: npt.ArrayLike, loss: str = "hinge", parameter: float | None = None
) -> Numbers:
    """Compute L = E l(D), D ~ N(d, s^2), and four derivatives in d; 0 for what is infinite at s = 0."""
    L, L1, L2, L3, L4 = _scaled_loss(d, s, loss, parameter)
    deviation = np.broadcast_to(np.asarray(s, dtype=float), L.shape)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(L), where=deviation > 0)
    return L, L1, L2, L3 * inverse, L4 * inverse**2


# The objective


class Objective:
    """Hold the objective J of eq. (3): its value, derivatives and certificate, and two ways to minimise it.

    Parameters
    ----------
    X : array of shape (l, n)
        Means x_i.
    y : array of shape (l,)
        Labels +-1, or targets for a regression loss.
    cov : Covariance
        Covariances Sigma_i, in any of the forms above.
    lam : float
        The factor lambda of |w|^2 / 2.
    sample_weight : array of shape (l,), optional
        Weights c_i; by default 1.
    loss : str, default="hinge"
        One of `LOSSES`.
    parameter : float, optional
        Parameter of the loss: epsilon, or Huber's delta.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        cov: Covariance,
        lam: float,
        sample_weight: Array | None = None,
        loss: str = "hinge",
        parameter: float | None = None,
    ) -> None:
        self.X = X
        self.y = np.asarray(y, dtype=float)
        self.cov = cov
        self.lam = lam
        self.c = np.ones(len(self.y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.loss = loss
        self.parameter = parameter
        self.smoothing = 0.0  # its square is added to every s^2, which smooths the kinks of a loss
        # The residual is D = t - sigma (w.X + b) for labels and targets alike.
        ones = np.ones_like(self.y)
        self.sigma, self.t = (ones, self.y) if LOSSES[loss].regression else (self.y, ones)

    def _distances(self, w: Array, b: float) -> tuple[Array, Array]:
        """Return d = t - sigma (w.x + b) and the smoothed s = sqrt(w' Sigma w)."""
        d = self.t - self.sigma * (self.X @ w + b)
        s = np.broadcast_to(np.sqrt(quadratic(self.cov, w)), len(self.y))
        return d, np.hypot(s, self.smoothing)

    def _weighted_loss(self, d: Array, s: Array) -> Numbers:
        """Return c_i/l times L, L1, L2, s L3 and s^2 L4."""
        L, L1, L2, L3, L4 = (self.c / len(self.y) * a for a in _scaled_loss(d, s, self.loss, self.parameter))
        return L, L1, L2, L3, L4

    def value(self, w: Array, b: float) -> float:
        """Compute eq. (3): J = lam/2 |w|^2 + (1/l) sum c_i L_i."""
        return float(0.5 * self.lam * (w @ w) + self._weighted_loss(*self._distances(w, b))[0].sum())

    def gradient(self, w: Array, b: float) -> tuple[Array, float]:
        """Compute eqs. (7) and (8), corrected: the sums of L2 u - sigma L1 x and of -sigma L1, u = Sigma w.

        The printed (7) lacks the label in its second term; (8) lacks the label and a factor 1/2.
        """
        _, L1, L2, _, _ = self._weighted_loss(*self._distances(w, b))
        u = np.broadcast_to(times(self.cov, w), self.X.shape)
        slope = self.sigma * L1
        return self.lam * w + L2 @ u - slope @ self.X, -float(slope.sum())

    def hessian(self, w: Array, b: float) -> Array:
        """Compute the Hessian (not in the paper), (n + 1, n + 1), b last.

        With z = sigma (x; 1), u = (Sigma w; 0) a sample adds L2 (z z' + Sigma) - L3 (z u' + u z') + L4 u u'.
        """
        n = len(w)
        d, s = self._distances(w, b)
        _, _, L2, L3, L4 = self._weighted_loss(d, s)
        z = self.sigma[:, None] * np.column_stack([self.X, np.ones(len(d))])
        # Sigma w / s stays bounded as s -> 0; it meets s L3 and s^2 L4.
        u = np.zeros((len(d), n + 1))
        np.divide(times(self.cov, w) + u[:, :n], s[:, None], out=u[:, :n], where=s[:, None] > 0)
        cross = (L3 * z.T) @ u
        H = (L2 * z.T) @ z - cross - cross.T + (L4 * u.T) @ u
        H[:n, :n] += self.lam * np.eye(n) + np.tensordot(L2, to_full(self.cov, len(d), n), axes=1)
        return np.asarray(H)

    def best_intercept(self, w: Array) -> float:
        """Find the b that minimises J for a fixed w, the smallest where there are several.

        The derivative in b, eq. (8) corrected, never decreases: bisection.
        """
        margins = self.X @ w
        s = np.broadcast_to(np.sqrt(quadratic(self.cov, w)), len(margins))

        def slope(b: float) -> float:
            return -float(self.sigma @ self._weighted_loss(self.t - self.sigma * (margins + b), s)[1])

        # 40 standard deviations outside every margin the hinge's Phi are exactly 0 and 1; a loss that is
        # never 0 may need more, and gets it.
        low = float(np.min(self.sigma * self.t - margins - 40.0 * s))
        high = float(np.max(self.sigma * self.t - margins + 40.0 * s))
        for step in 2.0 ** np.arange(10):
            low -= step * (slope(low) > 0)
            high += step * (slope(high) < 0)
        while high - low > np.finfo(float).eps * max(1.0, abs(low), abs(high)):
            b = low + 0.5 * (high - low)
            low, high = (b, high) if slope(b) < 0 else (low, b)
        return low + 0.5 * (high - low)

    def gap(self, w: Array, b: float) -> float:
        """Compute a proven upper bound of J(w, b) - min J (not in the paper), without smoothing.

        L_i is the largest E[a(D) D - l*(a(D))] over functions a, l* the conjugate of the loss: every choice
        of the a_i with sum c_i sigma_i E[a_i] = 0 bounds J from below, for all (w, b), by
        D = (1/l) sum c_i E[a_i t_i - l*(a_i)] - lam/2 |w(a)|^2,
        w(a) = (1/(lam l)) sum c_i sigma_i E[a_i(D) X].
        Chosen here: the slope of the loss at (w, b), scaled down on the side, by the sign of sigma L1, of
        more mass; E l*(l'(D)) = d L1 + s^2 L2 - L. For the hinge it is the indicator of the half-space of
        eq. (5).
        """
        d, s = self._distances(w, b)
        L, L1, L2, _, _ = self._weighted_loss(d, s)
        a = self.sigma * L1
        of_side = np.sign(a) == np.array([[1.0], [-1.0]])
        mass = of_side @ np.abs(a)
        rho = np.divide(mass.min(), mass, out=np.zeros(2), where=mass > 0) @ of_side
        w_a = rho @ (a[:, None] * self.X - L2[:, None] * times(self.cov, w)) / self.lam
        bound = float(rho @ (self.t * L1 - (d * L1 + s * s * L2 - L))) - 0.5 * self.lam * float(w_a @ w_a)
        return self.value(w, b) - bound

    def newton(self, most_steps: int = 60) -> tuple[Array, float]:
        """Minimise J by Newton's method with backtracking and the dense Hessian.

        A loss with a kink is smoothed, by less and less: from 1 down to 1e-7.
        """
        theta = np.zeros(self.X.shape[1] + 1)
        kinked = self.loss in ("hinge", "epsilon_insensitive")
        for smoothing in 10.0 ** -np.arange(8.0) if kinked else [0.0]:
            J = copy.copy(self)
            J.smoothing = float(smoothing)
            for _ in range(most_steps):
                slope = np.append(*J.gradient(theta[:-1], theta[-1]))
                H = J.hessian(theta[:-1], theta[-1])
                H[-1, -1] += 1e-12 * (1.0 + H[-1, -1])
                step = -np.linalg.solve(H, slope)
                now = J.value(theta[:-1], theta[-1])
                descent = float(slope @ step)
                if -descent <= 1e-14 * now:
                    break
                size = 1.0
                while size >= 1e-9:
                    new = theta + size * step
                    if J.value(new[:-1], new[-1]) <= now + 1e-4 * size * descent:
                        break
                    size /= 2.0
                theta = theta + size * step
        return theta[:-1], self.best_intercept(theta[:-1])

    def sgd(self, steps: int, batch: int, seed: int = 0, average: float = 0.5) -> tuple[Array, float]:
        """Minimise J by Algorithm 1, corrected: the step is eta times the mean gradient, not eta/k times it.

        Beyond the paper: w is the mean of the last `average` of the iterates (0: the last one); b takes
        steps of its own, since 1/(lam t) throws it many margins away, and is solved for exactly at the end.
        """
        count, n = self.X.shape
        radius = math.sqrt(self.c.mean() / self.lam)  # the optimum lies within
        rng = SplitMix64(seed)
        order = np.arange(count)
        w = np.zeros(n)
        b = 0.0
        mean = np.zeros(n)
        first = steps - math.floor(average * steps)
        for t in range(1, steps + 1):
            # The start of a Fisher-Yates shuffle: `batch` samples without replacement.
            for j in range(batch):
                i = j + rng.below(count - j)
                order[j], order[i] = order[i], order[j]
            rows = order[:batch]
            part = Objective(
                self.X[rows], self.y[rows], take(self.cov, rows), 0.0, self.c[rows], self.loss, self.parameter
            )
            in_w, in_b = part.gradient(w, b)
            w = (1.0 - 1.0 / t) * w - in_w / (self.lam * t)
            norm = math.sqrt(w @ w)
            if norm > radius:
                w *= radius / norm
            b -= min(1.0 / (self.lam * t), 1.0 / math.sqrt(t)) * in_b
            if t > first:
                mean += (w - mean) / (t - first)
        if first < steps:
            w = mean
        return w, self.best_intercept(w)


class SplitMix64:
    """Draw Steele, Lea and Flood's 64-bit pseudorandom numbers: the same in every language."""

    def __init__(self, seed: int) -> None:
        self.state = seed % 2**64

    def next(self) -> int:
        """Return the next 64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n), n < 2^32: Lemire's multiplication, rejecting what is biased."""
        product = (self.next() >> 32) * n
        if product % 2**32 < n:
            threshold = (2**32 - n) % n
            while product % 2**32 < threshold:
                product = (self.next() >> 32) * n
        return product >> 32


# Linear subspaces: the two readings of the paper's Sect. 3.2


def _leading(cov_full: Array, p: float) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Return eigenvalues (l, n), descending, eigenvectors (l, n, n), in columns, and which are kept.

    These hold more than the share p of each trace; at p = 1 the numerical rank is kept.
    """
    values, vectors = np.linalg.eigh(cov_full)
    values = np.maximum(values[:, ::-1], 0.0)
    vectors = vectors[:, :, ::-1]
    n = values.shape[1]
    rank = (values > n * np.finfo(float).eps * values[:, :1]).sum(axis=1)
    if p < 1:  # the smallest d_i with sum_{t <= d_i} lambda_t / trace > p
        not_enough = np.cumsum(values, axis=1) <= p * values.sum(axis=1, keepdims=True)
        rank = np.minimum(rank, not_enough.sum(axis=1) + 1)
    return values, vectors, np.arange(n) < rank[:, None]


def truncate(cov_full: Array, p: float) -> Factors:
    """Replace Sigma_i by U' Lambda' U'', the mean kept (beyond the paper): eq. (6) itself at p = 1."""
    values, vectors, keep = _leading(cov_full, p)
    F = np.sqrt(values * keep)[:, :, None] * vectors.transpose(0, 2, 1)
    return Factors(F[:, : int(keep.sum(axis=1).max(initial=0))])


def project(X: Array, cov_full: Array, p: float) -> tuple[Array, Factors]:
    """Project as the paper does: z = P x with P = U''; eqs. (9)-(12) are (6)-(8) at P' P x, P' Lambda' P.

    What x has outside its subspace is lost, all of x where Sigma_i = 0: at p = 1 this is eq. (6) only where
    the covariances have full rank.
    """
    _, vectors, keep = _leading(cov_full, p)
    z = keep * np.einsum("ijd,ij->id", vectors, X)
    return np.einsum("ijd,id->ij", vectors, z), truncate(cov_full, p)
