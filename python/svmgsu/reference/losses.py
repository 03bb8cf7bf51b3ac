"""The losses: the mean of each over D ~ N(d, s^2), and the derivatives L1, L2, L3, L4 of that mean L in d.

The heat equation dL/d(s^2) = L2/2 makes derivatives in d suffice. The docstrings have r = d/s, Phi = Phi(r)
and kappa = phi(r)/s; docs/theory.md has the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .covariances import Array

Numbers = tuple[Array, Array, Array, Array, Array]

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


def _upper(d: Array, s: Array) -> Array:
    """E max(0, D)^2 = (d^2 + s^2) Phi + d s phi; below r = -4, where that cancels, 2 s^2 I_2.

    I_k = E max(0, Z - x)^k / k!, x = -r, has I_{k+1} / I_k = 1 / (x + (k+2) / (x + (k+3) / (x + ...))).
    """
    loss, Phi, _ = expected_hinge(d, s)
    square = np.asarray(d * loss + s * s * Phi)
    far = np.asarray((s > 0) & (d < -4 * s))
    x = -d[far] / s[far]
    t = np.zeros_like(x)
    for level in range(60, 2, -1):
        t = level / (x + t)
    square[far] = 2 * s[far] * loss[far] / (x + t)
    return square


def _hinge(d: Array, s: Array, _: float) -> Numbers:
    """max(0, D): d Phi + s phi, Phi, kappa, -r kappa / s, (r^2 - 1) kappa / s^2."""
    loss, Phi, kappa = expected_hinge(d, s)
    r = np.divide(d, s, out=np.zeros_like(d), where=kappa > 0)
    return loss, Phi, kappa, -r * kappa, (r * r - 1) * kappa


def _squared_hinge(d: Array, s: Array, _: float) -> Numbers:
    """max(0, D)^2: (d^2 + s^2) Phi + d s phi, twice the hinge, 2 Phi, 2 kappa, -2 r kappa / s."""
    loss, Phi, kappa = expected_hinge(d, s)
    return _upper(d, s), 2 * loss, 2 * Phi, 2 * s * kappa, -2 * d * kappa


def _logistic(d: Array, s: Array, _: float) -> Numbers:
    """log(1 + e^(D - 1)), by Gauss-Legendre panels whose ends follow both the density and the loss."""
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
    """D^2 / 2: (d^2 + s^2) / 2, d, 1."""
    zero = np.zeros_like(d)
    return 0.5 * (d * d + s * s), d.copy(), zero + 1.0, zero, zero


def _epsilon_insensitive(d: Array, s: Array, epsilon: float) -> Numbers:
    """max(0, |D| - epsilon): two hinges, the odd derivatives of the second with a minus."""
    above, below = _hinge(d - epsilon, s, 0.0), _hinge(-d - epsilon, s, 0.0)
    L, L1, L2, L3, L4 = (a + (-1) ** k * b for k, (a, b) in enumerate(zip(above, below, strict=True)))
    return L, L1, L2, L3, L4


def _squared_epsilon_insensitive(d: Array, s: Array, epsilon: float) -> Numbers:
    """max(0, |D| - epsilon)^2: two squared hinges, the odd derivatives of the second with a minus."""
    above, below = _squared_hinge(d - epsilon, s, 0.0), _squared_hinge(-d - epsilon, s, 0.0)
    L, L1, L2, L3, L4 = (a + (-1) ** k * b for k, (a, b) in enumerate(zip(above, below, strict=True)))
    return L, L1, L2, L3, L4


def _huber(d: Array, s: Array, delta: float) -> Numbers:
    """D^2/2 up to delta, delta (|D| - delta/2) beyond: the square less two squared hinges."""
    a, sign = np.abs(d), np.where(d < 0, -1.0, 1.0)
    near, far = -np.abs(a - delta), -a - delta
    (H1, F1, k1), (H2, F2, k2) = expected_hinge(near, s), expected_hinge(far, s)
    inside, S1, S2 = a <= delta, _upper(near, s), _upper(far, s)
    within, beyond = 0.5 * (a * a + s * s - S1 - S2), delta * (a - 0.5 * delta) + 0.5 * (S1 - S2)
    L1 = sign * (np.where(inside, a, delta) - H1 + H2)
    L2 = np.where(inside, 1.0 - F1, F1) - F2
    L3, L4 = s * sign * (k2 - k1), (a - delta) * k1 - (a + delta) * k2
    return np.where(inside, within, beyond), L1, L2, L3, L4


class Loss(NamedTuple):
    """A loss as the twin knows it; `numbers` gives L, L1, L2, s L3 and s^2 L4."""

    numbers: Callable[[Array, Array, float], Numbers]
    regression: bool = False
    parameter: float = math.nan  # its default


LOSSES = {
    "hinge": Loss(_hinge),
    "squared_hinge": Loss(_squared_hinge),
    "logistic": Loss(_logistic),
    "squared": Loss(_squared, True),
    "epsilon_insensitive": Loss(_epsilon_insensitive, True, 0.1),
    "squared_epsilon_insensitive": Loss(_squared_epsilon_insensitive, True, 0.1),
    "huber": Loss(_huber, True, 1.35),
}


def scaled_loss(d: npt.ArrayLike, s: npt.ArrayLike, loss: str, parameter: float | None) -> Numbers:
    """L, L1, L2, s L3 and s^2 L4: the last two stay as small as the others where s vanishes."""
    d, s = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(s, dtype=float))
    rule = LOSSES[loss]
    with np.errstate(under="ignore"):
        numbers = rule.numbers(d.ravel(), s.ravel(), rule.parameter if parameter is None else parameter)
    L, L1, L2, L3, L4 = (a.reshape(d.shape) for a in numbers)
    return L, L1, L2, L3, L4


def expected_loss(
    d: npt.ArrayLike, s: npt.ArrayLike, loss: str = "hinge", parameter: float | None = None
) -> Numbers:
    """L = E l(D) for D ~ N(d, s^2) and its first four derivatives in d; 0 for what is infinite at s = 0."""
    L, L1, L2, L3, L4 = scaled_loss(d, s, loss, parameter)
    deviation = np.broadcast_to(np.asarray(s, dtype=float), L.shape)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(L), where=deviation > 0)
    return L, L1, L2, L3 * inverse, L4 * inverse**2
