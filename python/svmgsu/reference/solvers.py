"""Solvers: Algorithm 1 of the paper, corrected, and a plain Newton method for every loss."""

from __future__ import annotations

import math

import numpy as np

from .covariances import Array, Covariance, quadratic, take
from .objective import best_intercept, gradient, hessian, loss_gradients, objective, weights


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
    c = weights(y, sample_weight) * count
    radius = math.sqrt(c.mean() / lam)  # the optimum lies within
    rng, order = SplitMix64(seed), np.arange(count)
    w, b, mean = np.zeros(n), 0.0, np.zeros(n)
    first = T - math.floor(average * T)
    for t in range(1, T + 1):
        for j in range(k):  # the start of a Fisher-Yates shuffle: k examples without replacement
            i = j + rng.below(count - j)
            order[j], order[i] = order[i], order[j]
        rows = order[:k]
        in_w, in_b = loss_gradients(w, b, X[rows], y[rows], take(cov, rows))
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


def train(
    X: Array,
    y: Array,
    cov: Covariance,
    lam: float,
    sample_weight: Array | None = None,
    loss: str = "hinge",
    parameter: float | None = None,
    most_steps: int = 60,
) -> tuple[Array, float]:
    """(w, b) that minimise J, by Newton's method with backtracking and the dense Hessian.

    A loss with a kink is smoothed, its s never below eps, for eps from 1 down to 1e-7.
    """
    w, b = np.zeros(X.shape[1]), 0.0
    kinked = loss in ("hinge", "epsilon_insensitive")
    for smoothing in 10.0 ** -np.arange(8.0) if kinked else [0.0]:
        rest = (X, y, cov, lam, sample_weight, loss, parameter, float(smoothing))
        for _ in range(most_steps):
            in_w, in_b = gradient(w, b, *rest)
            slope, H = np.append(in_w, in_b), hessian(w, b, *rest)
            H[-1, -1] += 1e-12 * (1.0 + H[-1, -1])
            step = -np.linalg.solve(H, slope)
            now, descent, size = objective(w, b, *rest), float(slope @ step), 1.0
            if -descent <= 1e-14 * now:
                break
            while objective(w + size * step[:-1], b + size * step[-1], *rest) > now + 1e-4 * size * descent:
                size /= 2.0
                if size < 1e-9:
                    break
            w, b = w + size * step[:-1], b + size * float(step[-1])
    return w, best_intercept(X @ w, np.sqrt(quadratic(cov, w)), y, sample_weight, loss, parameter)
