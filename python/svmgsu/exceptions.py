"""The warnings of this package, to filter or to turn into errors."""

from __future__ import annotations

__all__ = ["ConvergenceWarning", "PopulationWarning", "TrivialModelWarning"]


class ConvergenceWarning(UserWarning):
    """The solver stopped before it reached the requested precision; the message states the gap reached."""


class TrivialModelWarning(UserWarning):
    """The optimum is w = 0: the model predicts the same class for every sample."""


class PopulationWarning(UserWarning):
    """Samples are far noisier than those a population was learnt from, or far from it."""


def __dir__() -> list[str]:
    return sorted(__all__)
