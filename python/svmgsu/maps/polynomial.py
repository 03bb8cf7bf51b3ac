"""Polynomials of degree two, whose moments are those of Isserlis' theorem."""

from __future__ import annotations

from .features import FeatureMap


def polynomial_map(features: int) -> FeatureMap:
    """x_j and x_j x_k, in the order of scikit-learn's `PolynomialFeatures` without the bias."""
    return FeatureMap("polynomial", (features,))
