"""The objective J of a hyperplane: value, gradient, Hessian, best intercept, certificate of optimality."""

from __future__ import annotations

import numpy as np

from .covariances import Array, Covariance, quadratic, times, to_full
from .losses import LOSSES, scaled_loss


def weights(y: Array, sample_weight: Array | None) -> Array:
    """c_i / l: what example i counts in J."""
    return (np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)) / len(y)


def _residual(y: Array, loss: str) -> tuple[Array, Array]:
    """sigma and t of the residual D = t - sigma (w.X + b): y and 1 for a label, 1 and y for a target."""
    y = np.asarray(y, dtype=float)
    return (np.ones_like(y), y) if LOSSES[loss].regression else (y, np.ones_like(y))


def _distances(
    w: Array, b: float, X: Array, y: Array, cov: Covariance, loss: str
) -> tuple[Array, Array, Array]:
    """sigma, d = t - sigma (w.x + b) and s = sqrt(w' Sigma w)."""
    sigma, t = _residual(y, loss)
    return sigma, t - sigma * (X @ w + b), np.broadcast_to(np.sqrt(quadratic(cov, w)), len(y))


def objective(
    w: Array,
    b: float,
    X: Array,
    y: Array,
    cov: Covariance,
    lam: float,
    sample_weight: Array | None = None,
    loss: str = "hinge",
    parameter: float | None = None,
    smoothing: float = 0.0,
) -> float:
    """Eq. (3): J = lam/2 |w|^2 + (1/l) sum c_i L_i. The square of `smoothing` is added to every s^2."""
    _, d, s = _distances(w, b, X, y, cov, loss)
    L = scaled_loss(d, np.hypot(s, smoothing), loss, parameter)[0]
    return float(0.5 * lam * (w @ w) + weights(y, sample_weight) @ L)


def loss_gradients(
    w: Array,
    b: float,
    X: Array,
    y: Array,
    cov: Covariance,
    loss: str = "hinge",
    parameter: float | None = None,
    smoothing: float = 0.0,
) -> tuple[Array, Array]:
    """The brackets of eqs. (7) and (8), corrected, (l, n) and (l,): L2 u - sigma L1 x and -sigma L1.

    The printed (7) lacks the label in its second term; (8) lacks the label and a factor 1/2.
    """
    sigma, d, s = _distances(w, b, X, y, cov, loss)
    _, L1, L2, _, _ = scaled_loss(d, np.hypot(s, smoothing), loss, parameter)
    return L2[:, None] * times(cov, w) - (sigma * L1)[:, None] * X, -sigma * L1


def gradient(
    w: Array,
    b: float,
    X: Array,
    y: Array,
    cov: Covariance,
    lam: float,
    sample_weight: Array | None = None,
    loss: str = "hinge",
    parameter: float | None = None,
    smoothing: float = 0.0,
) -> tuple[Array, float]:
    """Eqs. (7) and (8), corrected: the derivatives of J in w and in b."""
    in_w, in_b = loss_gradients(w, b, X, y, cov, loss, parameter, smoothing)
    c = weights(y, sample_weight)
    return lam * w + c @ in_w, float(c @ in_b)


def hessian(
    w: Array,
    b: float,
    X: Array,
    y: Array,
    cov: Covariance,
    lam: float,
    sample_weight: Array | None = None,
    loss: str = "hinge",
    parameter: float | None = None,
    smoothing: float = 0.0,
) -> Array:
    """The Hessian of J (not in the paper), (n + 1, n + 1), b last.

    With z = sigma (x; 1) and u = (Sigma w; 0) an example adds L2 (z z' + Sigma) - L3 (z u' + u z') + L4 u u'.
    """
    n = len(w)
    sigma, d, s = _distances(w, b, X, y, cov, loss)
    s = np.hypot(s, smoothing)
    _, _, L2, L3, L4 = (weights(y, sample_weight) * a for a in scaled_loss(d, s, loss, parameter))
    z = sigma[:, None] * np.column_stack([X, np.ones(len(y))])
    u = np.zeros_like(z)  # over s: it stays bounded as s -> 0
    np.divide(times(cov, w) + np.zeros(X.shape), s[:, None], out=u[:, :n], where=s[:, None] > 0)
    cross = (L3 * z.T) @ u
    H = (L2 * z.T) @ z - cross - cross.T + (L4 * u.T) @ u
    H[:n, :n] += lam * np.eye(n) + np.tensordot(L2, to_full(cov, len(y), n), axes=1)
    return np.asarray(H)


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
    loss: str = "hinge",
    parameter: float | None = None,
) -> tuple[Array, float]:
    """The same times (v_w; v_b), with xi = z.v and eta = u.v_w:

    lam (v_w; 0) + (1/l) sum c [(L2 xi - L3 eta) z + (L4 eta - L3 xi) u + L2 (Sigma v_w; 0)]
    """
    sigma, d, s = _distances(w, b, X, y, cov, loss)
    _, _, L2, L3, L4 = (weights(y, sample_weight) * a for a in scaled_loss(d, s, loss, parameter))
    u = np.zeros(X.shape)  # over s
    np.divide(times(cov, w) + u, s[:, None], out=u, where=s[:, None] > 0)
    xi, eta = sigma * (X @ vw + vb), u @ vw
    of_z, of_u = sigma * (L2 * xi - L3 * eta), L4 * eta - L3 * xi
    spread = L2 @ np.broadcast_to(times(cov, vw), X.shape)
    return lam * vw + of_z @ X + of_u @ u + spread, float(np.sum(of_z))


def best_intercept(
    margins: Array,
    s: Array,
    y: Array,
    sample_weight: Array | None = None,
    loss: str = "hinge",
    parameter: float | None = None,
) -> float:
    """The b that minimises J for a fixed w, the smallest where there are several.

    margins = X @ w and s = sqrt(w' Sigma w). The derivative in b, eq. (8) corrected, never decreases:
    bisection. 40 standard deviations outside every margin the hinge's Phi are exactly 0 and 1; a loss that
    never ends may want more, and gets it.
    """
    c, (sigma, t) = weights(y, sample_weight), _residual(y, loss)

    def slope(b: float) -> float:
        return float(-(c * sigma) @ scaled_loss(t - sigma * (margins + b), s, loss, parameter)[1])

    low = float(np.min(sigma * t - margins - 40.0 * s))
    high = float(np.max(sigma * t - margins + 40.0 * s))
    for step in 2.0 ** np.arange(10):
        low, high = low - step * (slope(low) > 0), high + step * (slope(high) < 0)
    while high - low > np.finfo(float).eps * max(1.0, abs(low), abs(high)):
        b = low + 0.5 * (high - low)
        low, high = (b, high) if slope(b) < 0 else (low, b)
    return low + 0.5 * (high - low)


def gap(
    w: Array,
    b: float,
    X: Array,
    y: Array,
    cov: Covariance,
    lam: float,
    sample_weight: Array | None = None,
    loss: str = "hinge",
    parameter: float | None = None,
) -> float:
    """A proven upper bound of J(w, b) - min J (not in the paper).

    L_i is the largest E[a(D) D - l*(a(D))] over functions a, l* the conjugate of the loss: every choice of
    the a_i with sum c_i sigma_i E[a_i] = 0 bounds J from below, for all (w, b), by
    D = (1/l) sum c_i E[a_i t_i - l*(a_i)] - lam/2 |w(a)|^2,  w(a) = (1/(lam l)) sum c_i sigma_i E[a_i(D) X].
    Chosen here: the slope of the loss at (w, b), scaled down on the side, by the sign of sigma L1, of more
    mass; E l*(l'(D)) = d L1 + s^2 L2 - L. For the hinge it is the indicator of the half-space of eq. (5).
    """
    sigma, d, s = _distances(w, b, X, y, cov, loss)
    L, L1, L2, _, _ = scaled_loss(d, s, loss, parameter)
    c, a = weights(y, sample_weight), sigma * L1
    of_side = np.sign(a) == np.array([[1.0], [-1.0]])
    P = of_side @ (c * np.abs(a))
    rho = np.divide(P.min(), P, out=np.zeros(2), where=P > 0) @ of_side
    w_a = (c * rho) @ (a[:, None] * X - L2[:, None] * times(cov, w)) / lam
    t = _residual(y, loss)[1]
    bound = float((c * rho) @ (t * L1 - (d * L1 + s * s * L2 - L))) - 0.5 * lam * float(w_a @ w_a)
    return objective(w, b, X, y, cov, lam, sample_weight, loss, parameter) - bound
