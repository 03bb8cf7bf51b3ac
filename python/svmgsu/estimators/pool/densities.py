"""Members that are densities: a deconvolution of each class, and of values together with a target.

Of summaries of many instances, whose covariances are their own spread, there are two more: Gaussians with
the exact moments of a class, and mixtures of the samples' own Gaussians.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...data.covariances import Diagonal
from ...support.validation import Array, FloatArray
from ..archive import NOT_SAVED
from ..observations import Observed
from .mixture import Budget, Mixture, learn_mixtures
from .samples import WIDE_SHARE, View
from .weights import Member, Task, classification_weights, log_pool

CLASS_COMPONENTS = (1, 2, 3, 5, 8)
CLASS_FLOOR = 0.03  # the least variance of a class's component, in units of the spread
CLASS_STARTS = 3  # whose densities are averaged
JOINT_COMPONENTS = (1, 2, 3, 5, 8, 12)
JOINT_FLOOR = 0.01
JOINT_STARTS = 5  # whose conditional means are averaged
EACH = 5  # samples that each component should have; of the joint density for each feature
CHOICE_FOLDS = 2  # folds that choose the number of components
BANDWIDTHS = (0.01, 0.03, 0.1, 0.3, 1.0)  # variances that are added to samples' own, in units of the spread
RARE = 1e-6  # the prior of a class without samples in a fold
CALIBRATION = 1e-4  # the penalty of temperature and biases


def best_setting(settings: Sequence[Any], loss_of: Callable[[Any], float], budget: Budget) -> Any:
    """Return the last of increasing settings before the loss rises, or time is over."""
    chosen, best = settings[0], np.inf
    for setting in settings:
        if best < np.inf and budget.over:
            break
        loss = loss_of(setting)
        if loss > best:
            break
        chosen, best = setting, loss
    return chosen


def with_biases(logs: FloatArray) -> FloatArray:
    """Return scores of a pool whose weights are a temperature and one bias for each class, (1 + K, l, K).

    Biases only count up to a constant, so that weights >= 0 are no restriction.
    """
    count, K = logs.shape
    logs = logs - logs.max(axis=1, keepdims=True)
    return np.concatenate([logs[np.newaxis], np.broadcast_to(np.eye(K)[:, np.newaxis], (K, count, K))])


def log_priors(task: Task, rows: Array) -> FloatArray:
    """Return the logarithms of the class priors."""
    mass = task.weights[rows] @ task.targets[rows]
    return np.asarray(np.log(np.maximum(mass / mass.sum(), RARE)))


@dataclass
class DensityMember(Member):
    """p(y | x, Σ) ∝ π_y Σ_k π_yk N(x; μ_yk, S_yk + Σ), with a temperature and biases by held-out samples."""

    mixtures: list[list[Mixture]] = field(default_factory=list)  # for each class, one for each start
    log_priors: FloatArray = field(default_factory=lambda: np.zeros(0))
    calibration: FloatArray = field(default_factory=lambda: np.zeros(0))
    setting: float = 1.0  # the number of components
    seed: int = field(default=0, metadata=NOT_SAVED)

    def learn(self, view: View, task: Task) -> FloatArray:
        """Choose the number of components, fit to all samples; return held-out log-probabilities (l, K)."""
        count = len(task.base)
        parts = [known[known < count] for known, _ in task.folds]

        def loss_of(setting: float) -> float:
            tried = [self._fit(task, known, setting, 1) for known in parts[:CHOICE_FOLDS]]
            return task.mean(task.losses(self._held_out(view, task, tried)))

        self.setting = best_setting(self._settings(task), loss_of, task.budget)
        everyone = np.arange(count)
        fits = [self._fit(task, known, self.setting, CLASS_STARTS) for known in [*parts, everyone]]
        self.mixtures = fits.pop()
        self.log_priors = log_priors(task, everyone)
        return self._held_out(view, task, fits)

    def _settings(self, task: Task) -> list[float]:
        """Return numbers of components to try."""
        smallest = int(np.count_nonzero(task.targets[: len(task.base)], axis=0).min())
        return [float(K) for K in CLASS_COMPONENTS if K == 1 or smallest >= K * EACH]

    def _fit(self, task: Task, rows: Array, setting: float, starts: int) -> list[list[Mixture]]:
        """Fit mixtures to each class of some samples; a class without any has none."""
        found = []
        for k in range(task.targets.shape[1]):
            counts = task.weights * task.targets[:, k]
            own = rows[counts[rows] > 0]
            found.append(
                learn_mixtures(
                    task.base,
                    min(int(setting), len(own) // EACH),
                    self.seed + k,
                    task.budget,
                    rows=own,
                    weights=counts[: len(task.base)],
                    starts=starts,
                    floor=CLASS_FLOOR,
                    tol=3e-3,
                    steps=50,
                )
            )
        return found

    def _held_out(self, view: View, task: Task, fits: list[list[list[Mixture]]]) -> FloatArray:
        """Calibrate by held-out samples of the first folds; return their log-probabilities, 0 for others."""
        held_out = np.zeros_like(task.targets)
        rows = np.concatenate([held for _, held in task.folds[: len(fits)]])
        for mixtures, (known, held) in zip(fits, task.folds, strict=False):
            logs = self._densities(view.take(held), mixtures)
            held_out[held] = logs + log_priors(task, known[known < len(task.base)])
        scores = with_biases(held_out[rows])
        found = classification_weights(scores, task.targets[rows], task.weights[rows], CALIBRATION)
        self.calibration = found.values
        held_out[rows] = log_pool(scores, self.calibration)
        return held_out

    def _densities(self, view: View, mixtures: list[list[Mixture]]) -> FloatArray:
        """Return log-densities in each class, (l, K); the wide component has a share, for distant samples."""
        out = np.empty((len(view), len(mixtures)))
        for k, starts in enumerate(mixtures):
            logs = view.far
            for mixture in starts:
                one = mixture.log_density(view.seen, view.threads) + np.log((1 - WIDE_SHARE) / len(starts))
                logs = np.logaddexp(logs, one)
            out[:, k] = logs
        return out

    def predict(self, view: View) -> FloatArray:
        """Return log-probabilities of the classes, (l, K)."""
        logs = self._densities(view, self.mixtures) + self.log_priors
        return log_pool(with_biases(logs), self.calibration)


@dataclass
class QuadraticDiscriminant(DensityMember):
    """A Gaussian for each class, with the exact moments of its samples' instances."""

    def _settings(self, task: Task) -> list[float]:
        return [CLASS_FLOOR]

    def _fit(self, task: Task, rows: Array, setting: float, starts: int) -> list[list[Mixture]]:
        """Return a Gaussian for each class; `setting` is its least variance in any direction."""
        found: list[list[Mixture]] = []
        for weights, means, covs in _classes(task, rows):
            found.append([])
            if len(weights):
                mean = weights @ means
                away = means - mean
                total = np.einsum("i,ijk->jk", weights, covs) + (away * weights[:, np.newaxis]).T @ away
                values, vectors = np.linalg.eigh(total)
                cov = (vectors * np.maximum(values, setting)) @ vectors.T
                found[-1].append(Mixture(np.ones(1), mean[np.newaxis], (cov + cov.T)[np.newaxis] / 2))
        return found


@dataclass
class OwnCovariances(DensityMember):
    """The density of a class is the mean of its samples' own Gaussians N(m_i, Σ_i + h² I)."""

    def _settings(self, task: Task) -> list[float]:
        return list(BANDWIDTHS)

    def _fit(self, task: Task, rows: Array, setting: float, starts: int) -> list[list[Mixture]]:
        """Return the samples' Gaussians, class by class; `setting` is h²."""
        return [
            [Mixture(weights, means, covs + setting * np.eye(means.shape[1]))] if len(weights) else []
            for weights, means, covs in _classes(task, rows)
        ]


def _classes(task: Task, rows: Array) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Return weights, means and covariances of the samples of each class whose instances are `rows`."""
    assert task.summaries is not None
    count = len(task.summaries)
    chosen = np.unique(rows % count)
    n = task.summaries.values.shape[1]
    found = []
    for k in range(task.targets.shape[1]):
        counts = task.weights[:count] * task.targets[:count, k]
        own = chosen[counts[chosen] > 0]
        some = task.summaries.take(own)
        covs = np.zeros((len(own), n, n))
        if some.cov is not None and len(own):
            covs = np.asarray(some.cov.to_full(len(own), n), dtype=np.float64)
        found.append((counts[own] / max(counts[own].sum(), 1e-300), some.values, covs))
    return found


@dataclass
class JointMember(Member):
    """E[y | x, Σ] and Var[y | x, Σ] of a mixture of Gaussians for (x, y): y is missing in new samples."""

    mixtures: list[Mixture] = field(default_factory=list)
    components: int = 1
    seed: int = field(default=0, metadata=NOT_SAVED)
    variance: FloatArray = field(default_factory=lambda: np.zeros(0), metadata=NOT_SAVED)  # held out

    def learn(self, view: View, task: Task) -> FloatArray:
        """Choose the number of components, fit to all samples; return held-out predictions (l,)."""
        count = len(task.base)
        joint = _joined(task.base, task.targets[:count, 0], task.targets[:count, 1])
        parts = [known[known < count] for known, _ in task.folds]

        def loss_of(components: int) -> float:
            loss = 0.0
            for known, (_, out) in zip(parts[:CHOICE_FOLDS], task.folds, strict=False):
                tried = self._fit(joint, task, known, components, 1)
                mean, _ = _conditional(view.seen.take(out), tried, view.threads)
                loss += float(task.weights[out] @ (task.targets[out, 0] - mean) ** 2)
            return loss

        most = count / (EACH * joint.values.shape[1])
        self.components = best_setting(
            [K for K in JOINT_COMPONENTS if K == 1 or most >= K], loss_of, task.budget
        )
        held_out = np.empty(len(view))
        self.variance = np.empty(len(view))
        for known, (_, out) in zip(parts, task.folds, strict=True):
            mixtures = self._fit(joint, task, known, self.components, JOINT_STARTS)
            held_out[out], self.variance[out] = _conditional(view.seen.take(out), mixtures, view.threads)
        self.mixtures = self._fit(joint, task, np.arange(count), self.components, JOINT_STARTS)
        return held_out

    def _fit(self, joint: Observed, task: Task, rows: Array, components: int, starts: int) -> list[Mixture]:
        return learn_mixtures(
            joint,
            min(components, len(rows) // 2),
            self.seed,
            task.budget,
            rows=rows,
            weights=task.weights[: len(joint)],
            starts=starts,
            floor=JOINT_FLOOR,
            tol=1e-3,
            steps=100,
        )

    def predict(self, view: View) -> FloatArray:
        """Return predictions (l,)."""
        return _conditional(view.seen, self.mixtures, view.threads, False)[0]

    def moments(self, view: View) -> tuple[FloatArray, FloatArray]:
        """Return conditional means and variances (l,); the latter cost more."""
        return _conditional(view.seen, self.mixtures, view.threads)


def _joined(seen: Observed, targets: FloatArray, noise: FloatArray | None = None) -> Observed:
    """Return samples with their targets as one more feature, which has `noise`; NaN is a missing one."""
    n = seen.values.shape[1]
    cov = None if seen.cov is None else seen.cov.map(np.eye(n + 1, n))
    if noise is not None and noise.any():
        own = Diagonal(np.column_stack([np.zeros((len(seen), n)), noise]))
        cov = own if cov is None else cov + own
    return Observed(np.ascontiguousarray(np.column_stack([seen.values, targets])), cov, None)


def _conditional(
    seen: Observed, mixtures: list[Mixture], threads: int, spreads: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the target over mixtures; without `spreads` the means alone count."""
    unknown = _joined(seen, np.full(len(seen), np.nan))
    means = []
    variances = []
    for mixture in mixtures:
        _, _, r, m, v = mixture.posterior(unknown, threads, True, spreads)
        m = m[:, :, -1]
        within = v[:, :, -1, -1] if spreads else 0.0
        means.append((r * m).sum(axis=1))
        variances.append((r * (within + m**2)).sum(axis=1) - means[-1] ** 2)
    return np.mean(means, axis=0), np.maximum(np.mean(variances, axis=0) + np.var(means, axis=0), 1e-12)
