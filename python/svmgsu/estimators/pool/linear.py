"""The linear family: values, or their posterior means, with standard errors as features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.mixtures import Mixtures
from ...support.validation import FloatArray
from .inputs import View

LAMS = np.logspace(-1, -6, 6)


@dataclass
class LinearFeatures:
    """Expected values of a sample, and its standard errors."""

    on_posterior: bool
    with_errors: bool

    def __call__(self, view: View, threads: int) -> FloatArray:
        values = expected_values(view) if self.on_posterior else view.points
        if not self.with_errors:
            return values
        assert view.errors is not None
        return np.hstack([values, view.errors])

    def scores(self, view: View, W: FloatArray, threads: int) -> FloatArray:
        """The features times each row of W."""
        return np.asarray(self(view, threads) @ W.T)

    def state(self) -> dict[str, Any]:
        return {"kind": "linear", "on_posterior": self.on_posterior, "with_errors": self.with_errors}


def expected_values(view: View) -> FloatArray:
    """E x of each sample, given what was measured."""
    if view.posterior is None:
        return view.points
    if isinstance(view.posterior, Mixtures):
        return np.asarray(np.einsum("lk,lkn->ln", view.posterior.weights, view.posterior.mean))
    return np.asarray(view.posterior.mean)
