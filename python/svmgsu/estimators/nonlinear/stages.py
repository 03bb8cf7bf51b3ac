"""Convex stages that a search can cross-validate: scores for classes, and for numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...support.validation import Array, FloatArray
from .link import Components, chances, likelihood, polish
from .solving import Scores, Sums, signs_of, solve


class LabelStage:
    """Scores for classes: one of two, one against the rest of more."""

    def __init__(
        self, codes: Array, weights: FloatArray, classes: int, loss: str, threads: int, copies: int = 1
    ) -> None:
        self.labels, self.weights = np.tile(codes, copies), np.tile(weights, copies)
        self.classes, self.loss, self.threads = classes, loss, threads
        self.targets = signs_of(self.labels, classes)

    def path(self, Z: Array, rows: Array | None, lams: list[float], tol: float) -> Iterator[Scores]:
        """The scores for each λ, each started from the last."""
        if self.loss == "squared":
            every = slice(None) if rows is None else rows
            sums = Sums.of_features(Z[every], self.targets[:, every], self.weights[every])
            yield from (sums.ridge(lam) for lam in lams)
            return
        options: dict[str, Any] = {"labelled": True, "tol": tol, "threads": self.threads}
        yield from _solved(Z, self.targets, self.weights, rows, lams, self.loss, **options)

    def some(self, rows: Array) -> LabelStage:
        """The stage of these rows alone."""
        return LabelStage(self.labels[rows], self.weights[rows], self.classes, self.loss, self.threads)

    def chances(self, scores: FloatArray) -> FloatArray:
        """Probabilities of the classes, of a logistic loss."""
        return one_against_rest(scores)

    def losses(self, scores: FloatArray, rows: Array) -> FloatArray:
        """-log p of the right class; for a loss without probabilities the loss itself."""
        if self.loss == "logistic":
            p = likelihood(self.chances(scores), self.labels[rows])
            return np.asarray(-np.log(np.maximum(p, 1e-15)))
        distance = 1 - self.targets[:, rows].T * scores
        if self.loss != "squared":
            distance = np.maximum(0.0, distance)
        return np.asarray((distance if self.loss == "hinge" else distance**2).mean(axis=1))


class DoubtStage:
    """Scores for classes of labels that may be wrong: the likelihood is log Σ_k P(k) p_k of an object.

    P(k) is how probable the class is by its label alone. This is not convex: it starts from the optimum of
    the expected loss, whose objective and gap the scores have.
    """

    loss = "logistic"

    def __init__(self, labels: FloatArray, weights: FloatArray, threads: int, copies: int = 1) -> None:
        self.labels, self.weights = np.tile(labels, (copies, 1)), np.tile(weights, copies)
        self.classes, self.threads = labels.shape[1], threads

    def path(self, Z: Array, rows: Array | None, lams: list[float], tol: float) -> Iterator[Scores]:
        """The scores for each λ: the convex ones, each started from the last, and the steps from there on."""
        every = np.arange(len(Z)) if rows is None else rows
        source, codes = np.nonzero(self.labels[every])
        shares = self.weights[every][source] * self.labels[every][source, codes]
        whole = Components(Z[every], np.ones(len(every)), np.arange(len(every)))
        start: Scores | None = None
        for lam in lams:
            start = solve(
                Z,
                signs_of(codes, self.classes),
                shares,
                every[source],
                lam,
                self.loss,
                labelled=True,
                tol=tol,
                threads=self.threads,
                start=start,
            )
            yield polish(start, whole, self.labels[every], self.weights[every], lam)

    def some(self, rows: Array) -> DoubtStage:
        """The stage of these rows alone."""
        return DoubtStage(self.labels[rows], self.weights[rows], self.threads)

    def chances(self, scores: FloatArray) -> FloatArray:
        """Probabilities of the classes."""
        return chances(scores)

    def losses(self, scores: FloatArray, rows: Array) -> FloatArray:
        """-log of the likelihood of each of these rows."""
        return np.asarray(-np.log(np.maximum(likelihood(chances(scores), self.labels[rows]), 1e-15)))


def one_against_rest(scores: FloatArray) -> FloatArray:
    """Probabilities of scores that were trained one against the rest."""
    if scores.shape[1] == 1:
        return chances(scores)
    p = 0.5 * (1 + np.tanh(0.5 * scores)) + 1e-12
    return np.asarray(p / p.sum(axis=1, keepdims=True))


class NumberStage:
    """One score for numbers, in units of their spread, with the errors of these where they are known."""

    def __init__(
        self,
        targets: FloatArray,
        weights: FloatArray,
        loss: str,
        threads: int,
        copies: int = 1,
        *,
        epsilon: float | None = None,
        errors: FloatArray | None = None,
    ) -> None:
        self.targets, self.weights = np.tile(targets, copies)[np.newaxis], np.tile(weights, copies)
        self.errors = np.zeros(len(self.weights)) if errors is None else np.tile(errors, copies)
        self.loss, self.epsilon, self.threads = loss, epsilon, threads

    def path(self, Z: Array, rows: Array | None, lams: list[float], tol: float) -> Iterator[Scores]:
        """The scores for each λ; of the squared loss all by one sum over the examples."""
        if self.loss == "squared":
            every = slice(None) if rows is None else rows
            sums = Sums.of_features(Z[every], self.targets[:, every], self.weights[every])
            yield from (sums.ridge(lam) for lam in lams)
            return
        options: dict[str, Any] = {"labelled": False, "tol": tol, "threads": self.threads}
        yield from _solved(
            Z, self.targets, self.weights, rows, lams, self.loss, epsilon=self.epsilon, **options
        )

    def some(self, rows: Array) -> NumberStage:
        """The stage of these rows alone."""
        return NumberStage(
            self.targets[0, rows],
            self.weights[rows],
            self.loss,
            self.threads,
            epsilon=self.epsilon,
            errors=self.errors[rows],
        )

    def losses(self, scores: FloatArray, rows: Array) -> FloatArray:
        """Squared errors; for a robust loss their absolute values."""
        errors = np.abs(scores[:, 0] - self.targets[0, rows])
        return np.asarray(errors**2 if self.loss == "squared" else errors)


def _solved(
    Z: Array,
    targets: FloatArray,
    weights: FloatArray,
    rows: Array | None,
    lams: list[float],
    loss: str,
    **options: Any,
) -> Iterator[Scores]:
    """The scores for each λ, each started from the last."""
    start: Scores | None = None
    if rows is not None:
        targets, weights = targets[:, rows], weights[rows]
    for lam in lams:
        start = solve(Z, targets, weights, rows, lam, loss, start=start, **options)
        yield start
