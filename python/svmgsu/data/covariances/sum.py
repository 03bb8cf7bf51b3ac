"""Several covariances as one: added up, samples below samples, or features beside features."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from ...propagate.linear import LinearMap, MatrixMap
from ...support.arrays import in_blocks, stack_columns
from ...support.validation import Array, ArrayLike, FloatArray
from .base import Covariance, Term, Terms, added
from .diagonal import Diagonal
from .full import Full
from .low_rank import LowRank
from .shared import Shared


class Sum(Covariance):
    """Covariances added up, each with a factor; what `+` and `*` make."""

    def __init__(self, parts: list[Term]) -> None:
        self._parts = parts
        self.n_samples = _agreed(parts, "n_samples")
        self.n_features = _agreed(parts, "n_features")

    @property
    def parts(self) -> list[Term]:
        return self._parts

    @property
    def is_diagonal(self) -> bool:
        return all(kind.is_diagonal for _, kind in self.parts)

    @property
    def needs_classes(self) -> bool:
        return any(kind.needs_classes for _, kind in self.parts)

    def terms(self, samples: int, features: int, y: Array | None) -> Terms:
        return tuple(
            (core, scale * factor)
            for scale, kind in self.parts
            for core, factor in kind.terms(samples, features, y)
        )

    def take(self, rows: Array) -> Covariance:
        return Sum([(scale, kind.take(rows)) for scale, kind in self.parts])

    def diagonals(self, n_samples: int, n_features: int, y: ArrayLike = None) -> FloatArray:
        out = np.zeros((n_samples, n_features))
        for scale, kind in self.parts:
            out += scale * kind.diagonals(n_samples, n_features, y)
        return out

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: ArrayLike = None) -> FloatArray:
        out = np.zeros(shape)
        for scale, kind in self.parts:
            out += np.sqrt(scale) * kind.noise(rng, shape, y)
        return out

    def directions(self, rows: slice, n_features: int, y: ArrayLike = None) -> FloatArray:
        each = [np.sqrt(scale) * kind.directions(rows, n_features, y) for scale, kind in self.parts]
        return np.concatenate(each, axis=1)

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        mapped = [(scale, kind._mapped(linear_map)) for scale, kind in self.parts]
        return Sum([(scale * factor, part) for scale, image in mapped for factor, part in image.parts])

    def __repr__(self) -> str:
        return " + ".join(
            f"{kind!r}" if scale == 1 else f"{scale:g} * {kind!r}" for scale, kind in self.parts
        )


def _agreed(parts: list[Term], name: str) -> int | None:
    known = {getattr(kind, name) for _, kind in parts} - {None}
    if len(known) > 1:
        raise ValueError(f"cov: the terms of a sum disagree about {name}: {sorted(known)}")
    return known.pop() if known else None


def join(covs: Sequence[Covariance | None], counts: Sequence[int], n: int) -> Covariance | None:
    """Join the covariances of several parts of the samples.

    Parts that are sums of the same kinds stay such a sum, term by term. Otherwise they become variances, or
    full matrices where one of them has more.
    """
    terms = [[] if cov is None else list(cov.parts) for cov in covs]
    signatures = {tuple((scale, type(kind)) for scale, kind in own) for own in terms if own}
    if not signatures:
        return None
    if len(signatures) == 1:
        # The scales stay outside, so that sums over the samples have the bits that they have of the whole.
        joined = [
            (scale, kind.joined([own[k][1] if own else None for own in terms], counts, n))
            for k, (scale, kind) in enumerate(signatures.pop())
        ]
        return added(joined)
    if all(cov is None or cov.is_diagonal for cov in covs):
        each = [
            np.zeros((count, n)) if cov is None else cov.diagonals(count, n)
            for cov, count in zip(covs, counts, strict=True)
        ]
        return Diagonal(np.concatenate(each))
    return Covariance.joined(covs, counts, n)


def beside(covs: Sequence[Covariance], sizes: Sequence[int], count: int) -> Covariance:
    """Join covariances of independent groups of features, of `sizes`: variances stay variances."""
    known = [cov.independent(count, size) for cov, size in zip(covs, sizes, strict=True)]
    if all(cov.is_diagonal and cov.n_samples is None for cov in covs):
        each = [cov.diagonals(1, size)[0] for cov, size in zip(covs, sizes, strict=True)]
        return Shared(np.concatenate(each))
    if all(own is not None for own in known):
        return Diagonal(stack_columns(known))
    total = sum(sizes)
    variances = np.zeros((count, total))
    terms: list[Term] = []
    first = 0
    for cov, size in zip(covs, sizes, strict=True):
        if cov.is_diagonal:
            variances[:, first : first + size] = cov.diagonals(count, size)
        else:
            if isinstance(cov, Full) and 2 * size < total + 1:  # factors are smaller than triangles
                factors = in_blocks(count, size * size, functools.partial(cov.directions, n_features=size))
                cov = LowRank(factors.astype(cov.packed.dtype))
            terms += cov.map(MatrixMap(np.eye(total, size, -first))).parts
        first += size
    if variances.any() or not terms:
        terms.insert(0, (1.0, Diagonal(variances)))
    return added(terms)
