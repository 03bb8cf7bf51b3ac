"""Scores of Gaussian examples: what a classifier will do on draws from them.

`mean` and `std` are the decision value's mean w·x + b and standard deviation √(wᵀΣw), `signs` the
labels ±1, `weights` the examples' weights. All scores are means; larger losses are worse. For two classes
they have closed forms. For more, how draws of several decision values compare has none, so that those
scores are means over a fixed set of draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from . import _core
from .validation import Array, FloatArray

NODES = 24  # of Gauss and Legendre's rule
DRAWS = 256  # an example, of several classes
_NUMBERS_AT_A_TIME = 2_000_000


def probability_right(mean: FloatArray, std: FloatArray, signs: FloatArray) -> FloatArray:
    """P(y (w·X + b) > 0) = Φ(y mean/std); a certain example on the boundary counts half."""
    _, right, _ = _core.expected_hinge(np.ascontiguousarray(signs * mean), np.ascontiguousarray(std))
    undecided: FloatArray = np.where((std == 0) & (mean == 0), 0.5, right)
    return undecided


def expected_accuracy(mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray) -> float:
    """The expected share of draws that is classified rightly."""
    return float(np.average(probability_right(mean, std, signs), weights=weights))


def expected_hinge(mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray) -> float:
    """The expected hinge loss, as in training."""
    loss, _, _ = _core.expected_hinge(np.ascontiguousarray(1 - signs * mean), np.ascontiguousarray(std))
    return float(np.average(loss, weights=weights))


def expected_log_loss(
    mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray, platt: tuple[float, float]
) -> float:
    """The expected logarithmic loss of Platt's probabilities 1/(1 + exp(A f + B))."""
    a, b = platt
    loss = expected_softplus(signs * (a * mean + b), abs(a) * std)
    return float(np.average(loss, weights=weights))


def expected_softplus(mean: FloatArray, std: FloatArray) -> FloatArray:
    """E log(1 + exp Z) for Z ~ N(mean, std²), to ten digits."""
    out = np.empty(len(mean))
    narrow, wide = std <= 1, std > 4
    for rows, step in ((narrow, 0.5), (~narrow & ~wide, 0.15)):
        out[rows] = _in_pieces(_softplus_by_trapezes, mean[rows], std[rows], step)
    # log(1 + exp z) = max(z, 0) + log(1 + exp -|z|): the first has a closed form, the second is short
    ramp, _, _ = _core.expected_hinge(np.ascontiguousarray(mean[wide]), np.ascontiguousarray(std[wide]))
    out[wide] = ramp + _in_pieces(_rest_by_legendre, mean[wide], std[wide])
    return out


def _in_pieces(
    rule: Callable[..., FloatArray], mean: FloatArray, std: FloatArray, *extra: float
) -> FloatArray:
    step = _NUMBERS_AT_A_TIME // 100
    parts = [rule(mean[k : k + step], std[k : k + step], *extra) for k in range(0, len(mean), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _softplus_by_trapezes(mean: FloatArray, std: FloatArray, step: float) -> FloatArray:
    """The trapezoidal rule. Its error is exp(-2π²/(std step)): log(1 + exp z) is analytic for |Im z| < π."""
    nodes = np.arange(-9, 9 + std.max(), step)  # exp z moves the weight by std
    z = mean[:, np.newaxis] + std[:, np.newaxis] * nodes
    return np.asarray(np.logaddexp(0, z) @ (np.exp(-(nodes**2) / 2) * step / np.sqrt(2 * np.pi)))


def _rest_by_legendre(mean: FloatArray, std: FloatArray) -> FloatArray:
    """E log(1 + exp -|Z|) where Z is wide, by Gauss and Legendre's rule on three pieces of |z| < 40."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    pieces = ((0.0, 4.0), (4.0, 14.0), (14.0, 40.0))
    u = np.concatenate([(high + low + (high - low) * nodes) / 2 for low, high in pieces])
    w = np.concatenate([(high - low) / 2 * weights for low, high in pieces])
    scaled = [(sign * u - mean[:, np.newaxis]) / std[:, np.newaxis] for sign in (1.0, -1.0)]
    density = sum(np.exp(-(x**2) / 2) for x in scaled) / (np.sqrt(2 * np.pi) * std[:, np.newaxis])
    return np.asarray(density @ (w * np.log1p(np.exp(-u))))


def expected_class_scores(
    mean: FloatArray, cov: FloatArray, codes: Array, weights: FloatArray
) -> tuple[float, float]:
    """(expected accuracy, expected log-loss) of several classes.

    Parameters
    ----------
    mean, cov : arrays of shape (l, K) and (l, K, K)
        The log-odds of each class against the rest are Gaussian, too: their means and covariances.
    codes : array of shape (l,)
        The place of each example's class.
    weights : array of shape (l,)

    Notes
    -----
    A draw is of the class with the largest log-odds z; its probability is σ(z) over their sum. The draws
    are a lattice, moved by a random vector of its own for each example from a fixed seed: the same for
    every model, so that comparisons are fair.
    """
    right, loss = np.empty(len(mean)), np.empty(len(mean))
    for rows, z in _draws(mean, cov):
        own = np.take_along_axis(z, codes[rows][:, np.newaxis, np.newaxis], axis=2)[:, :, 0]
        best = z.max(axis=2)
        ties = (z == best[:, :, np.newaxis]).sum(axis=2)
        right[rows] = ((own == best) / ties).mean(axis=1)
        logs = -np.logaddexp(0, -z)
        top = logs.max(axis=2)
        total = top + np.log(np.exp(logs - top[:, :, np.newaxis]).sum(axis=2))
        loss[rows] = (total + np.logaddexp(0, -own)).mean(axis=1)
    return float(np.average(right, weights=weights)), float(np.average(loss, weights=weights))


def _draws(mean: FloatArray, cov: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Draws of the examples, some examples at a time, as (l, draws, K)."""
    from scipy.special import ndtri

    count, K = mean.shape
    uncertain = bool(cov.any())
    draws = DRAWS if uncertain else 1
    lattice = np.arange(draws)[:, np.newaxis] * np.sqrt(_primes(K))  # Richtmyer's: irrational steps
    shifts = np.random.default_rng(0).random((count, 1, K))
    step = max(1, _NUMBERS_AT_A_TIME // (draws * K))
    for first in range(0, count, step):
        rows = slice(first, min(count, first + step))
        if not uncertain:
            yield rows, mean[rows, np.newaxis]
            continue
        values, vectors = np.linalg.eigh(cov[rows])
        factor = vectors * np.sqrt(np.maximum(values, 0.0))[:, np.newaxis]
        uniform = np.clip((lattice + shifts[rows]) % 1.0, 1e-16, None)
        yield rows, mean[rows, np.newaxis] + ndtri(uniform) @ factor.transpose(0, 2, 1)


def _primes(count: int) -> FloatArray:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % p for p in found):
            found.append(number)
        number += 1
    return np.array(found, dtype=np.float64)
