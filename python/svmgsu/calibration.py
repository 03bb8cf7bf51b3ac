"""Probabilities from decision values: Platt's sigmoid, and one that is humbler where an object is blurred."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .progress import counter
from .validation import Array, FloatArray

if TYPE_CHECKING:
    from .model import Model
    from .parallel import Team
    from .problem import Problem

# The prior of log γ, its mean and deviation: around 0, where error bars are exactly the margin's noise.
PRIOR = (0.0, 1.0)
MOST_STEPS = 200
FOLDS = 5
FOLD_TOLERANCE = 1e-3  # held-out scores need no more: their noise is larger


@dataclass(frozen=True)
class Calibration:
    """How a decision value f becomes a probability of the positive class.

    Two sigmoids, both fitted to the same scores:

    - where the covariance of the object is given, with v = wᵀΣw,
      σ((a f + b) / √(1 + (π/8) γ a² v)): the mean of a sigmoid over N(f, γ v), in MacKay's approximation;
    - where nothing is known of it, Platt's 1/(1 + exp(A f + B)).

    They are two, because an object of which nothing is said is not one that is known exactly: the first
    sigmoid at v = 0 is too sure of it (bench/results/probability.md, "bars of 0").

    Attributes
    ----------
    a, b, gamma : float
        γ says how much of the error bars is noise of the margin: 1, as they stand; 0, none.
    platt : tuple (A, B)

    Examples
    --------
    >>> from svmgsu.calibration import Calibration
    >>> sure = Calibration(a=2.0, b=0.0, gamma=1.0, platt=(-2.0, 0.0))
    >>> [round(float(sure.probability(1.5, variance)), 2) for variance in (0.0, 1.0, 100.0)]
    [0.95, 0.87, 0.56]
    """

    a: float
    b: float
    gamma: float
    platt: tuple[float, float]

    @classmethod
    def from_platt(cls, platt: tuple[float, float]) -> Calibration:
        """From `platt` alone: nothing was learnt about error bars, so that they count as they are (γ = 1)."""
        return cls(-platt[0], -platt[1], 1.0, platt)

    def log_odds(self, margin: FloatArray, variance: FloatArray | None = None) -> FloatArray:
        """log(p/(1 - p)) of objects with decision values `margin` and their `variance`, None if unknown."""
        if variance is None:
            return -(self.platt[0] * margin + self.platt[1])
        damping = np.sqrt(1 + np.pi / 8 * self.gamma * self.a**2 * variance)
        return np.asarray((self.a * margin + self.b) / damping)

    def probability(self, margin: FloatArray, variance: FloatArray | None = None) -> FloatArray:
        """P(positive) of objects with decision values `margin` and their `variance`, None if unknown."""
        return np.exp(-np.logaddexp(0, -self.log_odds(margin, variance)))


def fit(
    margin: FloatArray,
    variance: FloatArray | None,
    signs: FloatArray,
    weights: FloatArray,
    prior: tuple[float, float] = PRIOR,
) -> Calibration:
    """The calibration of largest penalised likelihood.

    Parameters
    ----------
    margin, variance : array of shape (l,)
        Decision values of examples that were not trained on, and their variances wᵀΣw; None if there are
        no covariances.
    signs : array of shape (l,)
        The classes, -1 and +1.
    weights : array of shape (l,)
        An example of weight 2 counts like two.
    prior : tuple of two floats
        Mean and deviation of the normal prior of log γ.

    Notes
    -----
    a, b and γ are fitted together, to the smoothed targets of Platt. The prior was chosen by measurement
    on SDSS, Kepler and WDBC, with bars as given, too large, too small, or of another object (the second
    table of bench/results/probability.md): around 1 it gains most where bars are noise of the margin; a
    width of 0.25 costs most where they mean nothing, a width of 3 makes γ 60 from 300 examples; between
    0.5 and 1 little changes.
    """
    platt = _core.fit_platt(margin, signs, weights)
    if variance is None or not variance.any():
        return Calibration.from_platt(platt)
    centre = float(np.average(margin, weights=weights))
    spread = float(np.abs(margin - centre).max())
    if spread <= 1e-12 * abs(centre):  # a trivial model: error bars cannot matter
        return Calibration.from_platt(platt)
    x, v = (margin - centre) / spread, variance / spread**2
    positives = float(weights[signs > 0].sum())
    negatives = float(weights.sum()) - positives
    target = np.where(signs > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(theta: FloatArray) -> float:
        z = _damped(theta, x, v)[0]
        likelihood = float(weights @ (np.logaddexp(0, z) - target * z))
        return likelihood + float(theta[2] - prior[0]) ** 2 / (2 * prior[1] ** 2)

    def derivatives(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        z, slopes = _damped(theta, x, v)
        p = np.exp(-np.logaddexp(0, -z))
        gradient = slopes @ (weights * (p - target))
        hessian = (slopes * (weights * p * (1 - p))) @ slopes.T
        gradient[2] += (theta[2] - prior[0]) / prior[1] ** 2
        hessian[2, 2] += 1 / prior[1] ** 2
        return gradient, hessian

    start = np.array([-platt[0] * spread, -platt[1] - platt[0] * centre, prior[0]])
    a, b, log_gamma = _minimise(loss, derivatives, start).tolist()
    return Calibration(a / spread, b - a * centre / spread, float(np.exp(log_gamma)), platt)


def _damped(theta: FloatArray, x: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The log-odds z at θ = (a, b, log γ), and their derivatives, a row each."""
    a, b, log_gamma = theta.tolist()
    blur = np.pi / 8 * np.exp(log_gamma) * v
    damping = 1 / np.sqrt(1 + blur * a**2)
    line = a * x + b
    shrink = line * damping**3 * blur
    return line * damping, np.stack([x * damping - shrink * a, damping, -shrink * a**2 / 2])


def _minimise(
    loss: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    theta: FloatArray,
) -> FloatArray:
    """Fisher's scoring with the damping of Levenberg and Marquardt: the loss is not convex in γ."""
    with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long is not taken
        return _search(loss, derivatives, theta)


def _search(
    loss: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    theta: FloatArray,
) -> FloatArray:
    now, damping = loss(theta), 1e-9
    for _ in range(MOST_STEPS):
        gradient, hessian = derivatives(theta)
        scale = np.diag(np.diag(hessian) + 1e-12)
        while True:
            step = -np.linalg.solve(hessian + damping * scale, gradient)
            following = loss(theta + step)
            if following <= now:
                break
            damping *= 10
            if damping > 1e9:  # no descent is left at this precision
                return theta
        theta, gained, now = theta + step, now - following, following
        if gained <= 1e-13 * now:
            break
        damping = max(damping / 10, 1e-12)
    return theta


def check_probability(value: Any) -> str:
    """What a user gave as `probability`: "cv", "train" or "" for none."""
    if isinstance(value, (bool, np.bool_)):
        return "cv" if value else ""
    if isinstance(value, str) and value in ("cv", "train"):
        return value
    raise ValueError(f'probability: expected True, "cv", "train" or False, got {value!r}')


def calibrate(
    problem: Problem,
    model: Model,
    how: str,
    options: Any,
    team: Team,
    *,
    cov_scale: float | None = None,
    deadline: float = math.inf,
    verbose: bool = False,
) -> None:
    """Gives `model` its probabilities, from held-out scores (`how` is "cv") or training scores ("train").

    Scores and variances are those that prediction will see: of the data as they were given.
    """
    if how == "cv":
        margin, variance = held_out(
            problem, model, options, team, cov_scale=cov_scale, deadline=deadline, verbose=verbose
        )
    else:
        margin, variance = _training_scores(problem, model, team)
    used = problem.given_weights > 0
    uncertain = problem.observed.cov is not None
    model.calibration_ = tuple(
        fit(
            np.ascontiguousarray(margin[used, part]),
            variance[used, part] if uncertain else None,
            problem.signs(part)[used],
            problem.given_weights[used],
        )
        for part in range(problem.parts)
    )


def _training_scores(problem: Problem, model: Model, team: Team) -> tuple[FloatArray, FloatArray]:
    margin, variance = problem.margins(model.coef_, observed=True, threads=team.threads)
    return margin + model.intercept_, variance


def held_out(
    problem: Problem,
    model: Model,
    options: Any,
    team: Team,
    *,
    cov_scale: float | None = None,
    deadline: float = math.inf,
    verbose: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Decision values and variances (l, problems) from models that have not seen the example.

    Training scores where a class cannot be divided: of one example, or one decision value for all.
    """
    margin, variance = _training_scores(problem, model, team)
    folds = _folds(margin, problem.codes, problem.given_weights > 0)
    if folds is not None:
        fits = _FoldFits(problem, model, options, team, cov_scale, deadline, verbose)
        fits.hold_out(folds, margin, variance)
    return margin, variance


def _folds(scores: FloatArray, codes: Array, used: Array) -> Array | None:
    """The fold of each example, -1 for those without weight; None where a class cannot be divided.

    A class's examples are dealt out in the order of their scores (of several, its own first), equal ones
    to the same fold. So the folds depend neither on the order of the examples nor on whether one is there
    twice or has weight 2, and a copy of an example is never held out from itself.
    """
    dealt = []
    for code in np.unique(codes):
        members = np.flatnonzero((codes == code) & used)
        own = code if scores.shape[1] > 1 else 0
        keys = np.roll(scores[members], -own, axis=1)
        different, place = np.unique(keys, axis=0, return_inverse=True)
        dealt.append((members, place.ravel(), len(different)))
    count = min(FOLDS, *[different for _, _, different in dealt])
    if count < 2:
        return None
    folds = np.full(len(scores), -1)
    for members, place, _ in dealt:
        folds[members] = place % count
    return folds


@dataclass
class _FoldFits:
    """Fits without one fold each, all problems and folds in parallel."""

    problem: Problem
    model: Model
    options: Any
    team: Team
    cov_scale: float | None
    deadline: float
    verbose: bool

    def hold_out(self, folds: Array, margin: FloatArray, variance: FloatArray) -> None:
        """Overwrites margins and variances by those of models that have not seen the example."""
        jobs = [(fold, part) for fold in range(int(folds.max()) + 1) for part in range(self.problem.parts)]
        inner = self.team.inner(len(jobs))
        done = counter(self.verbose, len(jobs), "svmgsu calibration")

        def work(job: tuple[int, int]) -> None:
            fold, part = job
            known = np.flatnonzero((folds >= 0) & (folds != fold))
            new = np.flatnonzero(folds == fold)
            result = self.problem.run(
                self._options(len(known), inner), part, self.model, known, self.cov_scale, self._go_on
            )
            m, v = self.problem.margins(result.w[np.newaxis], new, observed=True, threads=inner)
            margin[new, part], variance[new, part] = m[:, 0] + result.b, v[:, 0]
            done()

        self.team.map(work, jobs, small=self.problem.small)

    def _options(self, examples: int, threads: int) -> Any:
        from .problem import changed_options

        return changed_options(
            self.options,
            threads=threads,
            tolerance=max(self.options.tolerance, FOLD_TOLERANCE),
            max_seconds=max(self.deadline - time.monotonic(), 1e-3),
            batch=min(self.options.batch, examples),
        )

    def _go_on(self, progress: Any) -> bool:
        return not self.team.stopped
