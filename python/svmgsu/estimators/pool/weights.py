"""How members are judged and weighed, and the gate between two sets of weights.

Weights solve small convex problems, to a proven gap.
Classification pools logarithms of probabilities, p ∝ exp Σ_m w_m log p_m with w >= 0. Regression averages
predictions, f = Σ_m w_m f_m with w >= 0 and Σ w = 1. Both are penalised by ρ ‖w - 1/M‖², which keeps members
that are equally good at equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...support.validation import Array, FloatArray
from ..observations import Observed
from .mixture import Budget, Mixture, learn_mixtures
from .samples import View

PENALTY = 5.0  # of the weights, divided by the number of independent groups
STEPS = 100
PROVEN = 1e-9  # the gap at which the weights are good enough
GATE_COMPONENTS = 8
LIMIT_FOLDS = 2  # folds whose held-out densities set the gate's limit
UNLIKELY = 0.01  # the quantile of held-out densities below which a sample is unlike those of the fit


class Weights(NamedTuple):
    """Weights, the value of their problem, and a proven bound of its distance to the optimum."""

    values: FloatArray
    objective: float
    gap: float


def log_pool(logs: FloatArray, weights: FloatArray) -> FloatArray:
    """Return log-probabilities of the pool, (l, K), from those of the members, (M, l, K)."""
    scores = np.tensordot(weights, logs, axes=1)
    scores -= scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def classification_problem(
    w: FloatArray, logs: FloatArray, targets: FloatArray, counts: FloatArray, penalty: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return the penalised log-loss of the pool, its gradient and its Hessian.

    `logs` are (M, l, K), `targets` class probabilities (l, K), `counts` weights of samples that sum to 1.
    """
    members = len(logs)
    log_p = log_pool(logs, w)
    p = np.exp(log_p)
    away = w - 1 / members
    value = -float(counts @ (targets * log_p).sum(axis=1)) + penalty * float(away @ away)
    gradient = np.einsum("l,lk,mlk->m", counts, p - targets, logs) + 2 * penalty * away
    expected = np.einsum("lk,mlk->ml", p, logs)
    centred = logs - expected[:, :, np.newaxis]
    flat = (centred * np.sqrt(p * counts[:, np.newaxis])).reshape(members, -1)
    hessian = flat @ flat.T + 2 * penalty * np.eye(members)
    return value, gradient, hessian


def gap_of(w: FloatArray, gradient: FloatArray, penalty: float) -> float:
    """Return a bound of F(w) - min F over w >= 0, of a convex F that has the penalty ρ ‖w - 1/M‖².

    F(v) >= F(w) + g·(v - w) + ρ ‖v - w‖² for every v, and the right side has its minimum in closed form.
    """
    step = np.maximum(-w, -gradient / (2 * penalty))
    return float(-(gradient @ step + penalty * (step @ step)))


def classification_weights(
    logs: FloatArray, targets: FloatArray, counts: FloatArray, penalty: float
) -> Weights:
    """Find the weights >= 0 of the least penalised log-loss, by projected Newton steps."""
    counts = counts / counts.sum()
    members = len(logs)
    w = np.full(members, 1 / members)
    value, gradient, hessian = classification_problem(w, logs, targets, counts, penalty)
    for _ in range(STEPS):
        if gap_of(w, gradient, penalty) <= PROVEN * max(1.0, abs(value)):
            break
        # Weights at 0 that the gradient would make negative stay there; Newton's step is in the others.
        free = (w > 0) | (gradient < 0)
        step = np.zeros(members)
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        size = 1.0
        while size > 1e-10:
            trial = np.maximum(w + size * step, 0.0)
            found = classification_problem(trial, logs, targets, counts, penalty)
            if found[0] <= value + 1e-4 * float(gradient @ (trial - w)):
                break
            size /= 2
        else:
            break  # rounding: no step is better
        w = trial
        value, gradient, hessian = found
    return Weights(w, value, gap_of(w, gradient, penalty))


def lapse_rate(log_p: FloatArray, targets: FloatArray, counts: FloatArray, independent: int) -> float:
    """Find the share ε of even odds in (1 - ε) p + ε/K that minimises held-out log-loss, a convex problem.

    Jeffreys' prior, half a sample in so many `independent` ones, keeps it above 0: n samples say nothing of
    probabilities below about 1/n.
    """
    counts = counts / counts.sum()
    p = np.exp(log_p)
    K = p.shape[1]
    low, high = 0.0, 0.5
    for _ in range(50):
        rate = (low + high) / 2
        slope = -counts @ (targets * (1 / K - p) / ((1 - rate) * p + rate / K)).sum(axis=1)
        if slope - 0.5 / (independent * rate) > 0:
            high = rate
        else:
            low = rate
    return (low + high) / 2


def regression_weights(
    predictions: FloatArray, targets: FloatArray, counts: FloatArray, penalty: float
) -> Weights:
    """Find the w >= 0, Σ w = 1, of the least mean (y - Σ w_m f_m)² + ρ ‖w - 1/M‖², for f of shape (M, l).

    Every set of members is tried as those with weights above 0: there are few, and each is a linear system.
    The gap is g·w - min g of the gradient g, a bound for convex functions on the simplex.
    """
    counts = counts / counts.sum()
    members = len(predictions)
    apart = predictions - targets
    A = (apart * counts) @ apart.T + penalty * np.eye(members)  # Σ w = 1, so that y is inside
    shift = 2 * penalty / members

    def value(w: FloatArray) -> float:
        return float(w @ A @ w - shift * w.sum() + penalty / members)

    best = np.full(members, 1 / members)
    for code in range(1, 2**members):
        chosen = np.flatnonzero([code >> m & 1 for m in range(members)])
        one = np.linalg.solve(A[np.ix_(chosen, chosen)], np.ones(len(chosen)))
        w = np.zeros(members)
        w[chosen] = one / one.sum()
        if w.min() >= 0 and value(w) < value(best):
            best = w
    gradient = 2 * A @ best - shift
    return Weights(best, value(best), float(max(0.0, gradient @ best - gradient.min())))


@dataclass
class Task:
    """Targets and weights of samples, and folds that everything is judged by.

    Copies of a sample follow one another as blocks of all samples and are in the fold of their sample.
    """

    targets: FloatArray  # class probabilities (l, K), or numbers and the variances of their errors (l, 2)
    weights: FloatArray
    folds: list[tuple[Array, Array]]  # (known, held out)
    groups: Array  # the number of the independent group of each sample
    budget: Budget
    base: Observed  # the samples that densities are learnt from, standardised
    summaries: Observed | None = None  # with noise="spread", means and covariances of the samples

    @property
    def independent(self) -> int:
        """How many independent groups there are; each sample is one if no groups were given."""
        return int(self.groups.max()) + 1

    def mean(self, losses: FloatArray) -> float:
        """Return the weighted mean."""
        return float(self.weights @ losses / self.weights.sum())

    def standard_error(self, differences: FloatArray) -> float:
        """Return the standard error of a mean over the independent groups."""
        total = np.bincount(self.groups, self.weights * differences)
        mass = np.bincount(self.groups, self.weights)
        G = len(mass)
        apart = total - mass * (total.sum() / mass.sum())
        return float(np.sqrt((apart**2).sum() * G / max(1, G - 1)) / mass.sum())

    def losses(self, predicted: FloatArray) -> FloatArray:
        """Return the log-loss of each sample, of log-probabilities (l, K)."""
        return np.asarray(-(self.targets * predicted).sum(axis=1))

    def pooled(self, each: FloatArray, weights: FloatArray) -> FloatArray:
        """Combine members' predictions."""
        return log_pool(each, weights)

    def best_weights(self, held_out: FloatArray) -> Weights:
        """Find the weights of the least held-out loss."""
        return classification_weights(held_out, self.targets, self.weights, PENALTY / self.independent)


class NumberTask(Task):
    """A task whose targets are numbers, judged by squared errors."""

    def losses(self, predicted: FloatArray) -> FloatArray:
        """Return the squared error of each sample."""
        return np.asarray((self.targets[:, 0] - predicted) ** 2)

    def pooled(self, each: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the mean of the members' predictions."""
        return np.asarray(weights @ each)

    def best_weights(self, held_out: FloatArray) -> Weights:
        """Find the weights of the least held-out squared error."""
        least = min(self.mean(self.losses(one)) for one in held_out)
        penalty = PENALTY / self.independent * max(least, 1e-12)
        return regression_weights(held_out, self.targets[:, 0], self.weights, penalty)


@dataclass
class Member:
    """One model of a pool; subclasses are dataclasses, whose fields are saved in files.

    Members that also have `features`, `W` and `refit` are fitted again if there are more samples than take
    part in choices.
    """

    name: str
    uses_errors: bool = False  # whether standard errors are features
    knows_noise: bool = True  # whether it may predict samples that are noisier than those of the fit
    smooth: bool = False  # whether it predicts numbers outside the support

    def learn(self, view: View, task: Task) -> FloatArray:
        """Fit to all samples; return held-out predictions of the folds."""
        raise NotImplementedError

    def predict(self, view: View) -> FloatArray:
        """Return log-probabilities of classes (l, K), or numbers (l,)."""
        raise NotImplementedError


@dataclass
class PoolSummary:
    """What a pool has learnt; printed, a table of its members."""

    members: list[str]  # their names
    weights: FloatArray
    fallback_weights: (
        FloatArray  # for samples with unlike standard errors; 0 for members not to be trusted then
    )
    losses: FloatArray  # the held-out loss of each member
    loss: float  # of the pool, with weights that were chosen with the same samples
    fallback_loss: float
    gap: float  # a proven bound of the distance of the weights' problem to its optimum
    gated: float  # the share of training samples for which the fallback weights are used
    outside: float  # the mean share by which training samples are outside the support
    left_out: list[str]  # members for which `max_time` was too short

    def __str__(self) -> str:
        width = max(len(name) for name in self.members)
        lines = [f"{'member':{width}} {'weight':>8} {'fallback':>8} {'loss':>8}"]
        columns = (self.members, self.weights, self.fallback_weights, self.losses)
        for name, weight, other, loss in zip(*columns, strict=True):
            lines.append(f"{name:{width}} {weight:8.3f} {other:8.3f} {loss:8.4f}")
        lines.append(f"{'pool':{width}} {'':8} {'':8} {self.loss:8.4f}")
        lines.append(f"fallback used for {self.gated:.1%}, outside the support {self.outside:.1%}")
        return "\n".join(lines)


@dataclass
class Gate:
    """A density of values and standard errors, which tells whether these are unlike those of the fit.

    They are if a sample is unlikely, and its standard errors are unlikely given its values: p(x, e) and
    p(e | x) are below their limits. A sample whose values alone are unlikely is outside the support, which
    says nothing against standard errors as features.
    """

    mixture: Mixture
    limits: FloatArray  # of log p(x, e) and log p(e | x)

    @classmethod
    def learn(cls, view: View, task: Task, seed: int) -> Gate:
        """Fit the density, and its limits by held-out samples."""
        joint = Observed(cls._values_and_errors(view), None, None)
        least = min(len(known) for known, _ in task.folds)
        components = max(1, min(GATE_COMPONENTS, least // (2 * joint.values.shape[1])))

        def fitted(rows: Array | None) -> Mixture:
            (found,) = learn_mixtures(
                joint, components, seed, task.budget, rows=rows, floor=0.01, tol=3e-3, steps=30
            )
            return found

        gates = [(cls(fitted(known), np.zeros(2)), out) for known, out in task.folds[:LIMIT_FOLDS]]
        logs = np.concatenate([gate._log_densities(view.take(out)) for gate, out in gates])
        return cls(fitted(None), np.quantile(logs, UNLIKELY, axis=0))

    def __call__(self, view: View) -> Array:
        """Tell whether the standard errors of a sample are unlike those of the fit."""
        return np.asarray((self._log_densities(view) < self.limits).all(axis=1))

    @staticmethod
    def _values_and_errors(view: View) -> FloatArray:
        assert view.errors is not None
        return np.ascontiguousarray(np.hstack([view.points, view.errors]))

    def _log_densities(self, view: View) -> FloatArray:
        """Return log p(x, e) and log p(e | x) of each sample, (l, 2)."""
        X = self._values_and_errors(view)
        joint, values = self.mixture.log_densities(X, X.shape[1], view.points.shape[1])
        return np.column_stack([joint, joint - values])
