"""The paper's stochastic solver: step for step that of the twin, and what its options do."""

import numpy as np
import pytest
from conftest import every_kind, make_problem, relative_error, train_with

import svmgsu
from svmgsu import reference

LAM = 0.2


def train(p, **options):
    return train_with(p.X, p.y, p.cov, **{"lam": LAM, "solver": "sgd", "probability": False, **options})


def plane(model):
    return np.append(model.coef_[0], model.intercept_)


@pytest.mark.parametrize("seed", [0, 12345678901])
@every_kind
def test_every_step_is_the_twin_s(kind, seed):
    p = make_problem(kind, 40, 6)
    model = train(p, steps=80, batch_size=5, seed=seed)
    w, b = reference.Objective(p.means, p.y, p.twin, LAM).sgd(steps=80, batch=5, seed=seed)
    assert relative_error(model.coef_[0], w) <= 1e-10
    if kind != "none":  # the hinge may have many best b
        assert model.intercept_[0] == pytest.approx(b, rel=1e-10)
    assert model.objective_ == pytest.approx(
        reference.Objective(p.means, p.y, p.twin, LAM).value(w, b), rel=1e-10
    )


def test_sample_weights_are_the_twin_s_after_scaling_to_mean_one():
    p = make_problem("full", 40, 6)
    c = np.random.default_rng(3).uniform(0, 4, 40)
    model = train(p, steps=50, batch_size=5, sample_weight=c)
    w, b = reference.Objective(p.means, p.y, p.twin, LAM, c / c.mean()).sgd(steps=50, batch=5)
    assert relative_error(plane(model), np.append(w, b)) <= 1e-10
    np.testing.assert_allclose(
        plane(train(p, steps=50, batch_size=5, sample_weight=7 * c)), plane(model), rtol=1e-10
    )


@pytest.mark.parametrize("kind", ["none", "diagonal CSR", "sum"])
def test_the_bits_are_the_same_for_any_number_of_threads(kind):
    p = make_problem(kind, 1500, 40)
    data = svmgsu.Gaussians(p.X, p.cov)

    def run(threads):
        model = train_with(data, p.y, lam=LAM, steps=10, batch_size=1000, threads=threads, solver="sgd")
        return [*plane(model), model.objective_, model.gap_, *model.platt_]

    one = run(1)
    for threads in (2, 3):
        assert run(threads) == one


def test_steps_and_batches_are_what_was_asked():
    p = make_problem("diagonal")
    model = train(p, steps=37, batch_size=6)
    assert model.n_iter_ == 37
    assert model.history_[-1]["passes"] == pytest.approx(37 * 6 / 60 + 3)


@every_kind
def test_it_comes_near_the_optimum_and_knows_how_near(kind):
    p = make_problem(kind, 200, 4)
    model = train(p, steps=3000, batch_size=20)
    objective = p.objective(LAM)
    w, b = model.coef_[0], model.intercept_[0]
    assert model.objective_ == pytest.approx(objective.value(w, b), rel=1e-12)
    # Its own certificate is of one pass; Objective.gap looks for a better one.
    exact = train(p, solver="newton", tol=1e-10)
    assert model.objective_ - exact.objective_ - exact.gap_ <= objective.gap(w, b) <= model.gap_ * (1 + 1e-9)
    assert model.objective_ < 0.9 * objective.value(np.zeros(4), 0.0)
    rough = train(p, steps=10, batch_size=20)
    assert model.objective_ < rough.objective_
    assert rough.objective_ - model.objective_ <= rough.gap_


def test_a_callback_that_returns_false_stops_it():
    p = make_problem("diagonal")
    seen = []

    def stop_after_two(progress):
        seen.append(progress.iteration)
        return len(seen) < 2

    model = train(p, steps=10**9, batch_size=5, verbose=stop_after_two)
    assert len(seen) == 3  # two between steps, and one of the end
    assert model.n_iter_ == seen[1] == seen[2]
    assert np.isfinite(model.objective_)


def test_max_time_stops_it_with_a_warning():
    p = make_problem("diagonal")
    with pytest.warns(
        svmgsu.exceptions.ConvergenceWarning,
        match="stopped after max_time=0.1 seconds with a relative gap of",
    ):
        model = train(p, steps=10**9, batch_size=5, max_time=0.1)
    assert 0 < model.n_iter_ < 10**9
