"""Options of the exact solver; a long fit is a good citizen."""

import re

import numpy as np
import pytest
from conftest import every_kind, make_problem, relative_error, train_with
from solver_cases import (
    SETS,
    TOL,
    assert_certified,
    every_lam,
    every_set,
    plane,
    solve,
    train,
)

import svmgsu

# Options


@every_kind
def test_a_weight_of_two_is_the_example_twice(kind):
    p = make_problem(kind, 60, 7)
    twice = np.arange(60) % 3 == 0
    rows = np.concatenate([np.arange(60), np.flatnonzero(twice)])
    data = svmgsu.Gaussians(p.X, p.cov)
    weighted = train(data, p.y, lam=1e-2, sample_weight=np.where(twice, 2.0, 1.0))
    repeated = train(data[rows], p.y[rows], lam=1e-2)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=2 * TOL)
    value = svmgsu.Objective(data[rows], p.y[rows], lam=1e-2).value(weighted.coef_[0], weighted.intercept_[0])
    assert weighted.objective_ == pytest.approx(value, rel=1e-12)
    assert relative_error(weighted.coef_, repeated.coef_) <= 1e-2


@every_lam
@every_kind
def test_without_an_intercept(kind, lam):
    p = make_problem(kind, 60, 7)
    model = solve(p, lam, fit_intercept=False)
    assert model.intercept_[0] == 0
    assert_certified(model, p.X, p.y, p.cov)
    best = solve(p, lam)
    assert best.objective_ <= model.objective_ * (1 + TOL)


@pytest.mark.parametrize(
    "name",
    ["smooth diagonal", "near-hinge diagonal", "full", "low rank", "sparse", "sum", "all examples certain"],
)
def test_the_bits_are_the_same_for_any_number_of_threads(name):
    p = SETS[name]()

    def bits(threads):
        model = train(*p, lam=1e-3, threads=threads)
        history = [(h["objective"], h["gap"], h["passes"]) for h in model.history_]
        return plane(model).tobytes(), model.objective_, model.gap_, model.n_iter_, history

    one = bits(1)
    assert all(bits(threads) == one for threads in (1, 2, 3, 8))


# A long fit is a good citizen


def stated_gap(record):
    (warning,) = record
    return float(re.search(r"relative gap of (\S+),", str(warning.message)).group(1))


@pytest.mark.parametrize("name", ["smooth diagonal", "near-hinge diagonal", "all examples certain"])
@pytest.mark.parametrize("limit", [{"max_iter": 2}, {"max_iter": 6}, {"max_time": 1e-9}])
def test_a_limit_warns_states_the_gap_and_keeps_the_best_point(name, limit):
    p = SETS[name]()
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning) as record:
        model = train_with(*p, lam=0.001, tol=1e-12, probability=False, **limit)
    reason = (
        f"after {limit['max_iter']} iterations" if "max_iter" in limit else "after max_time=1e-09 seconds"
    )
    assert f"the solver stopped {reason} with" in str(record[0].message)
    assert stated_gap(record) == pytest.approx(model.gap_ / model.objective_, rel=0.06)
    if "max_iter" in limit:
        assert model.n_iter_ == limit["max_iter"]
    assert model.objective_ == min(h["objective"] for h in model.history_)
    value = svmgsu.Objective(*p, lam=1e-3).value(model.coef_[0], model.intercept_[0])
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    optimum = train(*p, lam=1e-3)
    assert model.objective_ - model.gap_ <= optimum.objective_


@every_set
def test_the_history_is_monotone(name):
    model = train(*SETS[name](), lam=1e-3)
    history = model.history_
    assert set(history[0]) >= {"iteration", "objective", "gap", "seconds", "passes"}
    assert [h["iteration"] for h in history] == sorted({h["iteration"] for h in history})
    for key in ("seconds", "passes"):
        assert all(np.diff([h[key] for h in history]) >= 0)
    for key in ("objective", "gap"):
        assert all(np.diff([h[key] for h in history]) <= 0)
    assert (history[-1]["objective"], history[-1]["gap"]) == (model.objective_, model.gap_)
    assert history[-1]["iteration"] == model.n_iter_


def test_a_callback_sees_the_gap_fall_and_can_stop():
    p = SETS["near-hinge diagonal"]()
    seen = []

    def stop_at_one_percent(progress):
        seen.append((progress.gap, progress.objective))
        return progress.gap > 1e-2 * progress.objective

    model = train(*p, lam=1e-3, verbose=stop_at_one_percent)  # no warning: the user asked for it
    gaps = [gap for gap, _ in seen]
    assert len(seen) >= 3
    assert gaps == sorted(gaps, reverse=True)
    assert TOL * model.objective_ < model.gap_ <= 1e-2 * model.objective_
    assert (model.gap_, model.objective_) == seen[-1]


def test_an_exception_in_a_callback_reaches_the_caller():
    def fail(progress):
        raise RuntimeError(f"at {progress.iteration}")

    with pytest.raises(RuntimeError, match="at 0"):
        train(*SETS["full"](), verbose=fail)
