"""`Sum`: covariances added up."""

from __future__ import annotations

import numpy as np

from ...propagate.linear import LinearMap
from ...support.validation import Array, ArrayLike, FloatArray
from .base import Covariance, Term, Terms


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

    def directions(self, rows: slice, n_features: int) -> FloatArray:
        each = [np.sqrt(scale) * kind.directions(rows, n_features) for scale, kind in self.parts]
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
