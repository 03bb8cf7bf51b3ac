"""The method in plain NumPy, written to be read beside the paper.

Equation numbers are those of Tzelepis, Mezaris and Patras, "Linear Maximum Margin Classifier for
Learning from Uncertain Data"; "corrected" marks the places where the printed formula is wrong.

Example i is the Gaussian N(x_i, Sigma_i) with label y_i = +-1. For a hyperplane (w, b), an example has
d = 1 - y (w.x + b), s = sqrt(w' Sigma w) and r = d / s. The paper writes d_x for d and d_Sigma for
sqrt(2) s, so its (erf(d_x / d_Sigma) + 1) / 2 is Phi(r).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer[Any]]  # one integer an example

_erfc = np.frompyfunc(math.erfc, 1, 1)


def normal_cdf(r: npt.ArrayLike) -> Array:
    """Phi(r), by erfc: erf would lose every digit of the lower tail."""
    return np.asarray(0.5 * _erfc(-np.asarray(r, dtype=float) / math.sqrt(2.0)), dtype=float)


def normal_pdf(r: npt.ArrayLike) -> Array:
    """phi(r)."""
    r = np.asarray(r, dtype=float)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-0.5 * r * r) / math.sqrt(2.0 * math.pi))


def _tail_ratio(x: Array) -> Array:
    """1 - x R(x) for x >= 4, where R(x) = Phi(-x) / phi(x) is Mills' ratio.

    Laplace's continued fraction is R = 1 / (x + t), t = 1 / (x + 2 / (x + 3 / (x + ...))), hence
    1 - x R = t / (x + t): nothing cancels. Fifty levels are exact to rounding from x = 4 on.
    """
    t = np.zeros_like(x)
    for level in range(50, 0, -1):
        t = level / (x + t)
    return t / (x + t)


def expected_hinge(d: npt.ArrayLike, s: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Eq. (6), the mean of max(0, D) for D ~ N(d, s^2), and what its derivatives are made of.

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
        far = r < -4  # here the two terms cancel: L = s phi(r) (1 - x R(x)), x = -r
        loss[far] = s[far] * phi[far] * _tail_ratio(-r[far])
        kappa = np.where(s > 0, phi / s, 0.0)
    return loss, Phi, kappa


class Factors(NamedTuple):
    """Sigma_i = F_i' F_i, with F of shape (l, r, n)."""

    F: Array


class SharedMatrix(NamedTuple):
    """One S (n, n) for all examples, or Sigma_i = S[group[i]] with S (K, n, n) and group (l,)."""

    S: Array
    group: Rows | None = None


# An array is read by its dimensions: () or (l,) isotropic variances, (l, n) diagonal variances, (l, n, n)
# full matrices. None is no uncertainty, a list is the sum of its members.
Covariance = None | float | Array | Factors | SharedMatrix | list["Covariance"]


def take(cov: Covariance, rows: Rows) -> Covariance:
    """The covariances of the examples `rows`, one for each even where all examples share one."""
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


def times(cov: Covariance, v: Array, rows: Rows | None = None) -> Array:
    """Sigma_i v, (l, n); without `rows`, (1, n) where all examples share one covariance."""
    if rows is not None:
        cov = take(cov, rows)
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


def quadratic(cov: Covariance, w: Array, rows: Rows | None = None) -> Array:
    """w' Sigma_i w, (l,), never negative; without `rows`, (1,) where all examples share one covariance."""
    if rows is not None:
        cov = take(cov, rows)
    if isinstance(cov, list):
        return sum((quadratic(part, w) for part in cov), np.zeros(1))
    if isinstance(cov, Factors):
        return np.asarray(((cov.F @ w) ** 2).sum(axis=1))
    if isinstance(cov, SharedMatrix):
        q = np.maximum(cov.S @ w @ w, 0.0)
        return np.asarray(np.atleast_1d(q) if cov.group is None else q[cov.group])
    cov = np.asarray(0.0 if cov is None else cov)
    if cov.ndim == 3:
        return np.maximum(cov @ w @ w, 0.0)
    return np.asarray(cov @ w**2 if cov.ndim == 2 else cov.reshape(-1) * (w @ w))


def to_full(cov: Covariance, count: int, n: int) -> Array:
    """Any covariance of `count` examples as (count, n, n)."""
    if isinstance(cov, np.ndarray) and cov.ndim == 3:
        return cov.copy()
    columns = [np.broadcast_to(times(cov, unit), (count, n)) for unit in np.eye(n)]
    return np.stack(columns, axis=2)


def _weights(y: Array, sample_weight: Array | None) -> Array:
    """c_i / l: what example i counts in J."""
    return (np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)) / len(y)


def _distances(w: Array, b: float, X: Array, y: Array, cov: Covariance) -> tuple[Array, Array]:
    """d = 1 - y (w.x + b) and s = sqrt(w' Sigma w)."""
    return 1.0 - y * (X @ w + b), np.broadcast_to(np.sqrt(quadratic(cov, w)), len(y))


def objective(
    w: Array, b: float, X: Array, y: Array, cov: Covariance, lam: float, sample_weight: Array | None = None
) -> float:
    """Eq. (3): J = lam/2 |w|^2 + (1/l) sum c_i L_i."""
    loss, _, _ = expected_hinge(*_distances(w, b, X, y, cov))
    return float(0.5 * lam * (w @ w) + _weights(y, sample_weight) @ loss)


def _loss_gradients(w: Array, b: float, X: Array, y: Array, cov: Covariance) -> tuple[Array, Array]:
    """The bracket of eq. (7), corrected, (l, n), and that of eq. (8), corrected, (l,).

    The printed (7) lacks the label in its second term; (8) lacks the label and a factor 1/2.
    """
    _, Phi, kappa = expected_hinge(*_distances(w, b, X, y, cov))
    return kappa[:, None] * times(cov, w) - (y * Phi)[:, None] * X, -y * Phi


def gradient(
    w: Array, b: float, X: Array, y: Array, cov: Covariance, lam: float, sample_weight: Array | None = None
) -> tuple[Array, float]:
    """Eqs. (7) and (8), corrected: the derivatives of J in w and in b."""
    in_w, in_b = _loss_gradients(w, b, X, y, cov)
    c = _weights(y, sample_weight)
    return lam * w + c @ in_w, float(c @ in_b)


def _curvature(
    w: Array, b: float, X: Array, y: Array, cov: Covariance, sample_weight: Array | None
) -> tuple[Array, Array, Array]:
    """What the Hessian of J is made of, example by example.

    c kappa / l; u/s = Sigma w / s, which stays bounded as s -> 0; and z = y (x; 1) + r (u/s; 0).
    """
    d, s = _distances(w, b, X, y, cov)
    _, _, kappa = expected_hinge(d, s)
    bends = kappa > 0
    r = np.divide(d, s, out=np.zeros_like(d), where=bends)
    u = np.broadcast_to(times(cov, w), X.shape)
    unit = np.divide(u, s[:, None], out=np.zeros(X.shape), where=bends[:, None])
    z = np.column_stack([y[:, None] * X + r[:, None] * unit, y])
    return _weights(y, sample_weight) * kappa, unit, z


def hessian_product(
    w: Array,
    b: float,
    vw: Array,
    vb: float,
    X: Array,
    y: Array,
    cov: Covariance,
    lam: float,
    sample_weight: Array | None = None,
) -> tuple[Array, float]:
    """The Hessian of J times (v_w; v_b) (not in the paper).

    lam (v_w; 0) + (1/l) sum c kappa [z (z.v) + (Sigma v_w - u (u.v_w) / s^2; 0)]
    """
    k, unit, z = _curvature(w, b, X, y, cov, sample_weight)
    kzv = k * (z @ np.append(vw, vb))
    spread = times(cov, vw) - (unit @ vw)[:, None] * unit
    return lam * vw + kzv @ z[:, :-1] + k @ spread, float(kzv @ z[:, -1])


def hessian(
    w: Array, b: float, X: Array, y: Array, cov: Covariance, lam: float, sample_weight: Array | None = None
) -> Array:
    """The same as a dense (n + 1, n + 1) matrix, b last."""
    n = len(w)
    k, unit, z = _curvature(w, b, X, y, cov, sample_weight)
    H = (k * z.T) @ z
    H[:n, :n] += lam * np.eye(n)
    H[:n, :n] += np.tensordot(k, to_full(cov, len(y), n), axes=1) - (k * unit.T) @ unit
    return np.asarray(H)


def best_intercept(margins: Array, s: Array, y: Array, sample_weight: Array | None = None) -> float:
    """The b that minimises J for a fixed w, the smallest where there are several.

    margins = X @ w and s = sqrt(w' Sigma w). The derivative in b, eq. (8) corrected, never decreases:
    bisection. 40 standard deviations outside every margin the two classes' Phi are exactly 0 and 1.
    """
    c = _weights(y, sample_weight)
    low = float(np.min(y - margins - 40.0 * s))
    high = float(np.max(y - margins + 40.0 * s))
    while high - low > np.finfo(float).eps * max(1.0, abs(low), abs(high)):
        b = low + 0.5 * (high - low)
        _, Phi, _ = expected_hinge(1.0 - y * (margins + b), s)
        low, high = (b, high) if -(c * y) @ Phi < 0 else (low, b)
    return low + 0.5 * (high - low)


def gap(
    w: Array, b: float, X: Array, y: Array, cov: Covariance, lam: float, sample_weight: Array | None = None
) -> float:
    """A proven upper bound of J(w, b) - min J (not in the paper).

    L_i is the largest E[a(X) (1 - y (w.X + b))] over functions a with values in [0, 1], so every choice of
    the a_i with sum c_i y_i E[a_i] = 0 bounds J from below, for all (w, b), by
    D = (1/l) sum c_i E[a_i] - lam/2 |w(a)|^2,  w(a) = (1/(lam l)) sum c_i y_i E[a_i(X) X].
    Chosen here: the indicator of the half-space Omega_i of eq. (5), scaled down in the class with more mass.
    """
    in_w, in_b = _loss_gradients(w, b, X, y, cov)
    c = _weights(y, sample_weight)
    of_class = y == np.array([[1.0], [-1.0]])
    P = of_class @ (c * np.abs(in_b))  # the masses P+, P-
    g = -(of_class * c) @ in_w  # g+, g-
    rho = np.divide(P.min(), P, out=np.zeros(2), where=P > 0)
    w_a = rho @ g / lam
    return objective(w, b, X, y, cov, lam, sample_weight) - float(rho @ P - 0.5 * lam * (w_a @ w_a))


def _leading(cov_full: Array, p: float) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Eigenvalues (l, n), descending; eigenvectors (l, n, n), in columns; and which of them are kept."""
    values, vectors = np.linalg.eigh(cov_full)
    values, vectors = np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]
    n = values.shape[1]
    rank = (values > n * np.finfo(float).eps * values[:, :1]).sum(axis=1)
    if p < 1:  # the smallest d_i with sum_{t <= d_i} lambda_t / trace > p
        not_enough = np.cumsum(values, axis=1) <= p * values.sum(axis=1, keepdims=True)
        rank = np.minimum(rank, not_enough.sum(axis=1) + 1)
    return values, vectors, np.arange(n) < rank[:, None]


def eigen_subspace(S: Array, p: float) -> tuple[Array, Array]:
    """The leading eigenvalues that hold more than the share p of S's trace, and their vectors U' (n, d).

    At p = 1 the numerical rank is kept; of a zero matrix, nothing.
    """
    values, vectors, keep = _leading(S[None], p)
    return values[0, keep[0]], vectors[0][:, keep[0]]


def truncate(cov_full: Array, p: float) -> Factors:
    """Sigma_i -> U' Lambda' U'', the mean kept (beyond the paper): eq. (6) itself at p = 1."""
    values, vectors, keep = _leading(cov_full, p)
    F = np.sqrt(values * keep)[:, :, None] * vectors.transpose(0, 2, 1)
    return Factors(F[:, : int(keep.sum(axis=1).max(initial=0))])


def project(X: Array, cov_full: Array, p: float) -> tuple[Array, Factors]:
    """The paper's reading: z = P x with P = U'', for which eqs. (9)-(12) are (6)-(8) at P' P x, P' Lambda' P.

    What x has outside its subspace is lost, all of x where Sigma_i = 0: at p = 1 this is eq. (6) only where
    the covariances have full rank.
    """
    _, vectors, keep = _leading(cov_full, p)
    z = keep * np.einsum("ijd,ij->id", vectors, X)
    return np.einsum("ijd,id->ij", vectors, z), truncate(cov_full, p)


class SplitMix64:
    """Steele, Lea and Flood's 64-bit generator: the same numbers in every language."""

    def __init__(self, seed: int) -> None:
        self.state = seed % 2**64

    def next(self) -> int:
        """The next 64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), n < 2^32: Lemire's multiplication, rejecting what would be biased."""
        product = (self.next() >> 32) * n
        if product % 2**32 < n:
            threshold = (2**32 - n) % n
            while product % 2**32 < threshold:
                product = (self.next() >> 32) * n
        return product >> 32


def sgd(
    X: Array,
    y: Array,
    cov: Covariance,
    lam: float,
    T: int,
    k: int,
    seed: int = 0,
    average: float = 0.5,
    sample_weight: Array | None = None,
) -> tuple[Array, float]:
    """Algorithm 1, corrected: the step is eta times the mean gradient of k examples, not eta/k times it.

    Beyond the paper: w is the mean of the last `average` of the iterates (0: the last one); b takes steps of
    its own, since 1/(lam t) throws it many margins away, and is solved for exactly at the end.
    """
    count, n = X.shape
    c = _weights(y, sample_weight) * count
    radius = math.sqrt(c.mean() / lam)  # the optimum lies within
    rng, order = SplitMix64(seed), np.arange(count)
    w, b, mean = np.zeros(n), 0.0, np.zeros(n)
    first = T - math.floor(average * T)
    for t in range(1, T + 1):
        for j in range(k):  # the start of a Fisher-Yates shuffle: k examples without replacement
            i = j + rng.below(count - j)
            order[j], order[i] = order[i], order[j]
        rows = order[:k]
        in_w, in_b = _loss_gradients(w, b, X[rows], y[rows], take(cov, rows))
        w = (1.0 - 1.0 / t) * w - c[rows] @ in_w / k / (lam * t)
        norm = math.sqrt(w @ w)
        if norm > radius:
            w *= radius / norm
        b -= min(1.0 / (lam * t), 1.0 / math.sqrt(t)) * float(c[rows] @ in_b) / k
        if t > first:
            mean += (w - mean) / (t - first)
    if first < T:
        w = mean
    return w, best_intercept(X @ w, np.sqrt(quadratic(cov, w)), y, sample_weight)


def platt(scores: Array, y: Array) -> tuple[float, float]:
    """A, B of P(y = 1 | f) = 1 / (1 + exp(A f + B)): Newton with backtracking (Lin, Lin and Weng, 2007)."""
    scale = float(np.max(np.abs(scores))) or 1.0  # the stop below then means the same for all units of f
    positives, negatives = int(np.sum(y > 0)), int(np.sum(y <= 0))
    target = np.where(y > 0, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
    features = np.column_stack([scores / scale, np.ones(len(y))])

    def value(theta: Array) -> float:
        z = features @ theta
        return float(np.sum(target * z + np.logaddexp(0.0, -z)))

    theta = np.array([0.0, math.log((negatives + 1.0) / (positives + 1.0))])
    for _ in range(100):
        z = features @ theta
        probability = np.exp(-np.logaddexp(0.0, z))
        slope = features.T @ (target - probability)
        if math.sqrt(slope @ slope) < 1e-10 * len(y):
            break
        curvature = features.T @ ((probability * (1.0 - probability))[:, None] * features)
        direction = -np.linalg.solve(curvature + 1e-12 * np.eye(2), slope)
        now, step = value(theta), 1.0
        rounding = 4 * np.finfo(float).eps * abs(now)
        while value(theta + step * direction) > now + 1e-4 * step * (slope @ direction) + rounding:
            step /= 2.0
        theta = theta + step * direction
    return float(theta[0]) / scale, float(theta[1])
