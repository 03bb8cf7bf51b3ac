"""Proofs hold against arithmetic in 40 digits, and a fit says in a word how it ended."""

import warnings

import extended
import numpy as np
import pytest
from conftest import train_with
from solver_cases import train

import svmgsu
from svmgsu import reference

REGRESSION = ("squared", "epsilon_insensitive", "huber")


def problem(seed):
    """A small problem of any loss and kind, with offsets and units for most."""
    rng = np.random.default_rng(seed)
    loss = list(extended.LOSSES)[seed % len(extended.LOSSES)]
    count, n = int(rng.integers(6, 30)), int(rng.integers(1, 4))
    X = rng.normal(size=(count, n))
    score = X @ rng.normal(size=n) + 0.5 * rng.normal(size=count)
    offset = rng.choice([0.0, 1.0, 1e3, 1e6]) * rng.normal(size=n)
    unit = 10 ** rng.uniform(-3, 3, n) if seed % 3 == 0 else np.ones(n)
    kind = ("none", "diagonal", "low rank", "full")[int(rng.integers(4))]
    size = 10 ** rng.uniform(-3, -0.7) * unit
    F = size * rng.normal(size=(count, 1 if kind == "low rank" else n, n))
    full = np.einsum("irj,irk->ijk", F, F)
    full = (full + full.transpose(0, 2, 1)) / 2
    V = size**2 * rng.uniform(0, 1, (count, n))
    cov, dense = {
        "none": (None, np.zeros((count, n, n))),
        "diagonal": (svmgsu.Diagonal(V), np.stack([np.diag(v) for v in V])),
        "low rank": (svmgsu.LowRank(F), None),
        "full": (svmgsu.Full(full), full),
    }[kind]
    if dense is None:  # without rounding
        f = np.vectorize(extended.number, otypes=[object])(F[:, 0])
        dense = f[:, :, None] * f[:, None, :]
    y = np.where(score > np.median(score), 1.0, -1.0)
    if loss in REGRESSION:
        y = score * 10 ** rng.uniform(-2, 2)
    return (X + offset) * unit, y, cov, dense, float(10 ** rng.uniform(-5, 0)), loss


def fit(X, y, cov, lam, loss, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if loss in REGRESSION:
            return train_with(X, y, cov, lam=lam, loss=loss, threads=1, **options)
        return train_with(X, y, cov, lam=lam, loss=loss, threads=1, probability=False, **options)


def excess(seed, tol=1e-12):
    """(J - J*) / gap_ in 40 digits, and what the fit says of itself."""
    X, y, cov, dense, lam, loss = problem(seed)
    model = fit(X, y, cov, lam, loss, tol=tol)
    regression = loss in REGRESSION
    exact = extended.Problem(
        X, np.ones(len(y)) if regression else y, y if regression else np.ones(len(y)), dense, lam, loss
    )
    at = exact.point(np.ravel(model.coef_), np.ravel(model.intercept_)[0])
    above = exact.value(at) - exact.minimum(at)
    return float(above / model.gap_ if above else above), model


@pytest.mark.parametrize("seed", range(24))
def test_the_gap_is_never_below_the_truth(seed):
    share, model = excess(seed)
    assert share <= 1
    assert model.gap_ > 0 or model.objective_ == 0
    assert model.status_ in ("converged", "rounding", "stalled")


def test_what_rounding_forbids_is_called_rounding_and_a_larger_tol_is_advised():
    X, y, V = np.random.default_rng(0).normal(size=(60, 3)) + 1e7, np.arange(60) % 2, np.full((60, 3), 0.01)
    with pytest.warns(
        svmgsu.exceptions.ConvergenceWarning, match=r"rounding errors allow no smaller proof.*larger tol"
    ):
        model = svmgsu.train(X, y, V, lam=1e-3, tol=1e-15, probability=False)
    assert model.status_ == "rounding"
    reached = 2 * model.gap_ / model.objective_
    assert svmgsu.train(X, y, V, lam=1e-3, tol=reached, probability=False).status_ == "converged"


def test_a_gap_that_rounding_leaves_within_ten_tolerances_is_told_without_a_warning():
    X, y, V = np.random.default_rng(0).normal(size=(60, 3)) + 1e7, np.arange(60) % 2, np.full((60, 3), 0.01)
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning):
        least = svmgsu.train(X, y, V, lam=1e-3, tol=1e-15, probability=False)
    tol = least.gap_ / least.objective_ / 3
    model = svmgsu.train(X, y, V, lam=1e-3, tol=tol, probability=False)  # a warning would be an error
    assert model.status_ == "rounding"
    assert tol < model.gap_ / model.objective_ <= 10 * tol


def test_limits_and_callbacks_have_words_of_their_own():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 2
    for limit, advice in (({"max_iter": 1}, "Scale the features"), ({"max_time": 1e-9}, "Raise max_time")):
        with pytest.warns(svmgsu.exceptions.ConvergenceWarning, match=advice):
            assert train_with(X, y, std=0.1, lam=0.001, probability=False, **limit).status_ == "limit"
    stopped = svmgsu.train(X, y, std=0.1, lam=0.001, probability=False, verbose=lambda progress: False)
    assert stopped.status_ == "stopped"
    assert svmgsu.train(X, y, std=0.1, lam=1e-3, probability=False).status_ == "converged"
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning):
        several = train_with(X, np.arange(60) % 3, std=0.1, lam=0.001, probability=False, max_iter=1)
    assert several.status_ == "limit"


# A proof from a point alone


@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-4])
@pytest.mark.parametrize("kind", ["certain", "half", "uncertain"])
def test_the_gap_of_an_objective_is_within_ten_times_the_solvers(kind, lam):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 6)) * np.arange(1, 7) ** -0.5
    y = np.where(X @ rng.normal(size=6) + 0.7 * rng.normal(size=200) > 0, 1, -1)
    V = np.full(X.shape, 0.05)
    V[:: {"certain": 1, "half": 2, "uncertain": 201}[kind]] = 0
    model = svmgsu.train(X, y, V, lam=lam, probability=False)
    gap = svmgsu.Objective(X, y, V, lam=lam).gap(model.coef_[0], model.intercept_[0])
    assert 0 < gap <= 10 * max(model.gap_, 1e-9 * model.objective_)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200, -1e200])
def test_an_absurd_start_is_a_cold_start(value):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    cold = svmgsu.train(X, y, std=0.1, lam=1e-3, probability=False)
    for name in ("coef_", "intercept_"):
        start = svmgsu.train(X, y, std=0.1, lam=1e-2, probability=False)
        setattr(start, name, np.full_like(getattr(start, name), value))
        model = svmgsu.train(X, y, std=0.1, lam=1e-3, start=start, probability=False)
        assert model.status_ == "converged"
        assert model.objective_ == pytest.approx(cold.objective_, rel=2e-6)


# Data as they come


@pytest.mark.parametrize("seed", range(0, 1000, 25))
def test_no_units_or_offsets_end_in_a_warning(seed):
    X, y, cov, lam, loss = unscaled_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
        model = train_with(X, y, cov, lam=lam, loss=loss, threads=1, probability=False)
    assert model.status_ == "converged"


UNSCALED_KINDS = ("none", "isotropic", "diagonal", "full", "low rank", "shared")
UNSCALED_LOSSES = (
    "hinge",
    "hinge",
    "hinge",
    "logistic",
    "squared_hinge",
    "squared",
    "epsilon_insensitive",
    "huber",
)


def unscaled_problem(seed):
    """Return (X, y, cov, lam, loss): plain, with units of 1e-4 to 1e6, offsets of 1e6 spreads, or both."""
    rng = np.random.default_rng(seed)
    with_units, with_offsets = seed % 4 in (1, 3), seed % 4 in (2, 3)
    count, n = int(np.exp(rng.uniform(np.log(20), np.log(400)))), int(np.exp(rng.uniform(0, np.log(30))))
    kind, loss = str(rng.choice(UNSCALED_KINDS)), str(rng.choice(UNSCALED_LOSSES))
    X = rng.normal(size=(count, n))
    score = X @ rng.normal(size=n) / np.sqrt(n) + rng.uniform(0.1, 2) * rng.normal(size=count)
    y = score if loss in REGRESSION else np.where(score > np.median(score), 1, -1)
    unit = 10 ** rng.uniform(-4, 6, n) if with_units else np.ones(n)
    offset = 10 ** rng.uniform(0, 6, n) if with_offsets else np.zeros(n)
    offset = offset * rng.choice([-1.0, 1.0], n)
    cov = unscaled_covariance(rng, kind, count, n, 10 ** rng.uniform(-2, 0), unit)
    return (X + offset) * unit, y, cov, float(10 ** rng.uniform(-5, 0)), loss


def unscaled_covariance(rng, kind, count, n, size, unit):
    if kind == "none":
        return None
    if kind == "isotropic":
        return svmgsu.Isotropic((size * unit.min()) ** 2 * rng.uniform(0, 1, count))
    if kind == "diagonal":
        return svmgsu.Diagonal((size * unit) ** 2 * rng.uniform(0, 1, (count, n)))
    factors = size * unit * rng.normal(size=(count, min(n, 3), n)) / np.sqrt(n)
    if kind == "low rank":
        return svmgsu.LowRank(factors)
    if kind == "shared":
        return svmgsu.Shared(factors[0].T @ factors[0] + np.diag((0.1 * size * unit) ** 2))
    full = np.einsum("irj,irk->ijk", factors, factors)
    return svmgsu.Full((full + full.transpose(0, 2, 1)) / 2)


def white(seed, count=3000, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, n))
    score = X @ rng.normal(size=n)
    y = np.where(score + 0.2 * score.std() * rng.normal(size=count) > 0, 1.0, -1.0)
    return X, y, 0.09 * rng.gamma(2.0, 0.5, size=X.shape)


def test_points_that_err_to_different_sides_prove_more_than_the_last_one():
    """Without them a pass more would be spent on the intercept."""
    alone = []
    for seed in range(6):
        X, y, V = white(seed)
        model = train(X, y, V, lam=0.1)
        best = train(X, y, V, lam=0.1, tol=1e-11).objective_
        assert model.objective_ - best <= model.gap_ <= 1e-6 * model.objective_
        alone.append(
            reference.Objective(X, y, V, 0.1).gap(model.coef_[0], model.intercept_[0]) / model.objective_
        )
    assert max(alone) > 1e-6


@pytest.mark.parametrize("intercept", (True, False))
@pytest.mark.parametrize("loss", ("squared", "epsilon_insensitive", "huber"))
def test_bounds_of_several_points_hold_where_residuals_change_sides(loss, intercept):
    rng = np.random.default_rng(5)
    for seed in range(5):
        X, _, V = white(seed, count=80, n=4)
        t = X @ rng.normal(size=4) + rng.standard_t(3, size=len(X))
        fit = {"lam": 10 ** rng.uniform(-4, 0), "loss": loss, "fit_intercept": intercept}
        best = train_with(X, t, V, tol=1e-11, **fit)
        for tol in (1e-2, 1e-3, 1e-5, 1e-7):
            model = train_with(X, t, V, tol=tol, **fit)
            assert model.objective_ - best.objective_ <= model.gap_ + best.gap_


@pytest.mark.parametrize("spread", (0.0, 0.01, 0.3))
def test_no_bound_on_the_way_is_above_the_optimum(spread):
    rng = np.random.default_rng(7)
    for seed in range(4):
        X, y, V = white(seed, count=150, n=6)
        y[rng.random(len(y)) < 0.1] *= -1
        lam = 10 ** rng.uniform(-4, 0)
        model = train(X, y, spread**2 * V, lam=lam, tol=1e-9)
        for step in model.history_:
            assert step["objective"] - step["gap"] <= model.objective_
