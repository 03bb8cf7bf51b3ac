"""Platt's scaling of scores to probabilities."""

from __future__ import annotations

import math

import numpy as np

from .covariances import Array


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
