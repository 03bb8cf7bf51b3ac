"""Other ways to the same objective and optimum: what one would write with NumPy and SciPy.

An objective is a function of z = (w, b) that returns J and its gradient.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

import svmgsu
from svmgsu import reference

from .problems import Problem

ACCURACY = 1e-6

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


# Objectives


def our_objective(problem: Problem, lam: float, threads: int = 1) -> Function:
    """The library's C++."""
    return as_function(svmgsu.Objective(problem.X, problem.y, problem.cov, lam=lam, threads=threads))


def as_function(objective: svmgsu.Objective) -> Function:
    def value_and_gradient(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gw, gb = objective.value_and_gradient(z[:-1], z[-1])
        return value, np.append(gw, gb)

    return value_and_gradient


def reference_objective(problem: Problem, lam: float) -> Function:
    """The pure-Python version, svmgsu.reference."""
    cov: Any = problem.variances if problem.variances is not None else problem.matrices
    if problem.factors is not None:
        cov = reference.Factors(problem.factors)

    J = reference.Objective(problem.X, problem.y, cov, lam)

    def value_and_gradient(z: np.ndarray) -> tuple[float, np.ndarray]:
        return J.value(z[:-1], float(z[-1])), np.append(*J.gradient(z[:-1], float(z[-1])))

    return value_and_gradient


def numpy_objective(problem: Problem, lam: float, einsum: bool = False) -> Function:
    """Vectorised NumPy. The sums over covariances are calls of BLAS, or of einsum: of (l, n, r) factors."""
    X, y, count, n = problem.X, problem.y, len(problem.y), problem.X.shape[1]
    V, S, F = problem.variances, problem.matrices, problem.factors
    flat: Any = next((a.reshape(-1, n) for a in (S, F) if a is not None), None)
    turned: Any = np.ascontiguousarray(F.transpose(0, 2, 1)) if einsum and F is not None else None

    def value_and_gradient(z: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = z[:-1], z[-1]
        if V is not None:
            q = V @ (w * w)
        elif S is not None:
            u = np.einsum("ijk,k->ij", S, w) if einsum else (flat @ w).reshape(count, n)
            q = u @ w
        elif F is not None:
            p = np.einsum("inr,n->ir", turned, w) if einsum else (flat @ w).reshape(count, -1)
            q = (p * p).sum(axis=1)
        else:
            q = np.zeros(count)
        s = np.sqrt(np.maximum(q, 1e-30))
        d = 1.0 - y * (X @ w + b)
        loss, Phi, kappa = _hinge(d, s)
        yPhi = y * Phi
        gradient = lam * w - X.T @ yPhi / count
        kappa /= count
        if V is not None:
            gradient += (V.T @ kappa) * w
        elif S is not None:
            gradient += kappa @ u
        elif F is not None:
            weighted = kappa[:, None] * p
            gradient += np.einsum("inr,ir->n", turned, weighted) if einsum else weighted.ravel() @ flat
        return float(0.5 * lam * (w @ w) + loss.sum() / count), np.append(gradient, -yPhi.sum() / count)

    return value_and_gradient


def sparse_objective(X: Any, y: np.ndarray, V: Any, lam: float) -> Function:
    """SciPy's sparse matrices."""
    count, XT, VT = len(y), X.T, V.T

    def value_and_gradient(z: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = z[:-1], z[-1]
        s = np.sqrt(np.maximum(V @ (w * w), 1e-30))
        loss, Phi, kappa = _hinge(1.0 - y * (X @ w + b), s)
        gradient = lam * w - XT @ (y * Phi) / count + (VT @ kappa) * w / count
        return float(0.5 * lam * (w @ w) + loss.sum() / count), np.append(gradient, -(y @ Phi) / count)

    return value_and_gradient


def _hinge(d: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loss, Φ and φ/s."""
    r = d / s
    Phi, phi = ndtr(r), np.exp(-0.5 * r * r) / np.sqrt(2.0 * np.pi)
    return d * Phi + s * phi, Phi, phi / s


# Whole trainings


def ours(problem: Problem, lam: float, tol: float = ACCURACY, threads: int = 1, limit: float = np.inf) -> Any:
    """Our solver, for `limit` seconds of the processor at the most."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", svmgsu.exceptions.ConvergenceWarning
        )  # the gap reached is in the table
        warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
        return svmgsu.train(
            problem.X,
            problem.y,
            problem.cov,
            lam=lam,
            tol=tol,
            threads=threads,
            verbose=lambda progress: time.process_time() - began < limit,
            probability=False,
        )


class Enough(Exception):
    """The asked accuracy is reached, or the patience is over."""


class LBFGS:
    """SciPy's L-BFGS-B on a function, stopped when its value first comes within `tol` of the optimum."""

    def __init__(
        self, function: Function, size: int, optimum: float, patience: float, tol: float = ACCURACY
    ) -> None:
        self.function, self.size, self.patience = function, size, patience
        self.optimum, self.target = optimum, optimum + tol * abs(optimum)
        self.trace: list[tuple[float, float]] = []  # (seconds, value), of the fastest run
        self.reached = False
        self.suboptimality = np.inf

    def run(self) -> float:
        """Its seconds of the processor; infinite if it did not get there."""
        trace: list[tuple[float, float]] = []
        began = time.process_time()

        def record(z: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.function(z)
            trace.append((time.process_time() - began, value))
            if value <= self.target or trace[-1][0] > self.patience:
                raise Enough
            return value, gradient

        options = {"maxiter": 10**6, "maxfun": 10**6, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
        with contextlib.suppress(Enough):
            minimize(record, np.zeros(self.size), jac=True, method="L-BFGS-B", options=options)
        reached = trace[-1][1] <= self.target
        if not self.trace or (reached and trace[-1][0] < self.trace[-1][0]):
            self.trace, self.reached = trace, reached
            self.suboptimality = min(value for _, value in trace) / self.optimum - 1.0
        return trace[-1][0] if reached else np.inf


class Liblinear:
    """scikit-learn's LinearSVC(loss="hinge"), with the loosest settings that reach the accuracy."""

    def __init__(
        self, problem: Problem, lam: float, optimum: float, patience: float, tol: float = ACCURACY
    ) -> None:
        from sklearn.svm import LinearSVC

        self.problem = problem
        objective = svmgsu.Objective(problem.X, problem.y, lam=lam, threads=1)
        self.suboptimality, self.reached = np.inf, False
        began = time.process_time()
        # Its intercept is penalised: the larger intercept_scaling, the less, and the slower.
        for scaling in (10.0, 100.0):
            for its_tol in 10.0 ** -np.arange(1, 7):
                estimator = LinearSVC(
                    loss="hinge",
                    C=1.0 / (lam * len(problem.y)),
                    tol=its_tol,
                    intercept_scaling=scaling,
                    max_iter=20_000,
                    random_state=0,
                )
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    estimator.fit(problem.X, problem.y)
                value = objective.value(estimator.coef_[0], estimator.intercept_[0])
                if value / optimum - 1.0 < self.suboptimality:
                    self.estimator, self.suboptimality = estimator, value / optimum - 1.0
                self.reached = self.suboptimality <= tol
                late = time.process_time() - began > patience
                if self.reached or caught or late:  # a smaller tol would stop at the same limit
                    break
            if self.reached or late:
                break

    def run(self) -> float:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.estimator.fit(self.problem.X, self.problem.y)
        return time.process_time() - began


def improvements(trace: list[tuple[float, float]], optimum: float) -> list[tuple[float, float]]:
    """(seconds, suboptimality) where it fell by a tenth, and at the end: enough for a curve."""
    kept: list[tuple[float, float]] = []
    for seconds, value in trace:
        above = value / optimum - 1.0
        if not kept or above < 0.9 * kept[-1][1]:
            kept.append((seconds, above))
    return [*kept, (trace[-1][0], min(kept[-1][1], trace[-1][1] / optimum - 1.0))]
