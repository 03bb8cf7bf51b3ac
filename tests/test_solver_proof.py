"""What a solution proves with all its passes together, beyond what its last point proves alone."""

import numpy as np
import pytest
from conftest import train_with
from solver_cases import train

from svmgsu import reference


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
