"""Options of the exact solver; a long fit is a good citizen."""

import re

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import every_kind, make_problem, relative_error, train_with
from solver_cases import (
    SETS,
    TOL,
    assert_certified,
    diagonal,
    every_lam,
    every_set,
    plane,
    solve,
    train,
)

import svmgsu
from svmgsu import reference

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


def test_an_example_of_weight_zero_does_not_count():
    X, y, V = diagonal(0.3, 400, 20)
    c = (np.arange(400) % 4 > 0).astype(float)
    X_wild = np.where(c[:, None] > 0, X, 50 * X[::-1])
    weighted = train(X_wild, y, V, lam=1e-2, sample_weight=c)
    left_out = train(X[c > 0], y[c > 0], V[c > 0], lam=1e-2)
    assert weighted.gap_ <= TOL * weighted.objective_
    assert weighted.objective_ == pytest.approx(left_out.objective_, rel=2 * TOL)


def test_weights_of_many_magnitudes():
    X, y, V = diagonal(0.3, 400, 20)
    c = 10 ** np.random.default_rng(0).uniform(-6, 2, 400)
    model = train(X, y, V, lam=1e-2, sample_weight=c)
    value = svmgsu.Objective(X, y, V, lam=1e-2, sample_weight=c / c.mean()).value(
        model.coef_[0], model.intercept_[0]
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.gap_ <= TOL * model.objective_


@every_lam
@every_kind
def test_without_an_intercept(kind, lam):
    p = make_problem(kind, 60, 7)
    model = solve(p, lam, fit_intercept=False)
    assert model.intercept_[0] == 0
    assert_certified(model, p.X, p.y, p.cov)
    best = solve(p, lam)
    assert best.objective_ <= model.objective_ * (1 + TOL)


@pytest.mark.parametrize("lam", [1e-1, 1e-3])
def test_without_an_intercept_the_optimum_is_that_of_the_restricted_problem(lam):
    p = make_problem("full", 60, 5)
    args = (p.means, p.y, p.twin, lam)
    found = scipy.optimize.minimize(
        lambda w: reference.Objective(*args).value(w, 0.0),
        p.y @ p.means / 60,
        jac=lambda w: reference.Objective(*args).gradient(w, 0.0)[0],
        method="BFGS",
        options={"gtol": 1e-8},
    )
    assert solve(p, lam, fit_intercept=False).objective_ == pytest.approx(found.fun, rel=2e-6)


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


def test_the_bits_are_the_same_with_many_features():
    X, y, V = diagonal(0.3, 150, 1600)
    models = [train(X, y, V, lam=1e-2, threads=threads) for threads in (1, 2, 3, 1)]
    assert len({plane(model).tobytes() for model in models}) == 1


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


def test_more_iterations_never_make_it_worse():
    X, y, V = SETS["near-hinge diagonal"]()
    found = []
    for max_iter in range(1, 8):
        with pytest.warns(svmgsu.exceptions.ConvergenceWarning):
            model = train_with(X, y, V, lam=0.001, max_iter=max_iter, probability=False)
        found.append((model.objective_, model.gap_))
    assert all(np.diff([objective for objective, _ in found]) <= 0)
    assert all(np.diff([gap for _, gap in found]) <= 0)


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


def test_a_callback_that_returns_none_does_not_stop():
    p = SETS["smooth diagonal"]()
    calls = []
    assert_certified(train(*p, lam=1e-2, verbose=calls.append), *p)
    assert calls


def test_an_exception_in_a_callback_reaches_the_caller():
    def fail(progress):
        raise RuntimeError(f"at {progress.iteration}")

    with pytest.raises(RuntimeError, match="at 0"):
        train(*SETS["full"](), verbose=fail)


@pytest.mark.parametrize("name", [name for name in SETS if "trivial" not in name])
def test_a_start_at_the_solution_gives_the_same_optimum_in_hardly_more_iterations(name):
    p = SETS[name]()
    cold = train(*p, lam=1e-3)
    warm = train(*p, lam=1e-3, start=cold)
    assert_certified(warm, *p)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2 * TOL)
    assert warm.n_iter_ <= 1.25 * cold.n_iter_


@pytest.mark.parametrize("name", ["smooth diagonal", "near-hinge diagonal", "WDBC, standardised"])
def test_a_start_at_a_neighbouring_lam_gives_the_same_optimum(name):
    p = SETS[name]()
    start = train(*p, lam=2e-3)
    cold, warm = train(*p, lam=1e-3), train(*p, lam=1e-3, start=start)
    assert_certified(warm, *p)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2 * TOL)


@pytest.mark.parametrize("length", [1e-8, 1e3, 1e6])
def test_a_bad_start_does_no_harm(length):
    X, y, V = SETS["smooth diagonal"]()
    start = train(X, -y, V, lam=1e-1)
    start.coef_ = start.coef_ * length
    assert_certified(train(X, y, V, lam=1e-2, start=start), X, y, V)
