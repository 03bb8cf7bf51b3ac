"""The objective with every loss, of labels and of targets: against the twin, and the same for any threads."""

import numpy as np
import pytest
from conftest import KINDS, make_problem, relative_error

import svmgsu
from svmgsu import _core, reference

LAM = 0.05
REGRESSION = {name: task == "regression" for name, task, _, _ in _core.known_losses()}
every_loss = pytest.mark.parametrize("loss", REGRESSION)


def cases(loss, count, n, kinds=KINDS):
    """Problems of every kind with labels, or with targets that a linear rule with outliers made."""
    rng = np.random.default_rng(11)
    for kind in kinds:
        if REGRESSION[loss] and kind == "shared by class":
            continue
        p = make_problem(kind, count, n)
        t = p.means @ rng.normal(size=n) + rng.standard_t(3, size=count) + 4.0
        yield kind, p, t if REGRESSION[loss] else p.y, rng.uniform(0, 2, size=count)


@every_loss
def test_value_gradient_hessian_and_gap_are_the_twins(loss):
    rng = np.random.default_rng(2)
    for kind, p, y, c in cases(loss, 40, 4):
        objective = svmgsu.Objective(p.X, y, p.cov, lam=LAM, loss=loss, sample_weight=c)
        w, b, v = rng.normal(size=4) / 2, 0.3, rng.normal(size=5)
        J = reference.Objective(p.means, y, p.twin, LAM, c / c.mean(), loss)
        value, gw, gb = objective.value_and_gradient(w, b)
        assert value == pytest.approx(J.value(w, b), rel=1e-11), kind
        assert objective.value(w, b) == value
        twin = np.append(*J.gradient(w, b))
        assert relative_error(np.append(gw, gb), twin) <= 1e-10, kind
        got = np.append(*objective.hessian_product(w, b, v[:-1], v[-1]))
        assert relative_error(got, J.hessian(w, b) @ v) <= 1e-9, kind
        assert objective.gap(w, b) > 0


@every_loss
def test_the_gap_closes_where_training_ends(loss):
    train = svmgsu.train_regressor if REGRESSION[loss] else svmgsu.train
    options = {} if REGRESSION[loss] else {"probability": False}
    for kind, p, y, _ in cases(loss, 60, 3, ("diagonal", "full", "low rank", "diagonal CSR")):
        model = train(p.X, y, p.cov, lam=LAM, loss=loss, tol=1e-9, **options)
        objective = svmgsu.Objective(p.X, y, p.cov, lam=LAM, loss=loss)
        w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
        assert objective.value(w, b) == pytest.approx(model.objective_, rel=1e-12), kind
        assert objective.gap(w, b) <= 1e-5 * model.objective_, kind


@every_loss
def test_the_bits_are_the_same_for_one_two_and_three_threads(loss):
    rng = np.random.default_rng(3)
    w, vw = rng.normal(size=20) / 4, rng.normal(size=20)
    train = svmgsu.train_regressor if REGRESSION[loss] else svmgsu.train
    options = {} if REGRESSION[loss] else {"probability": False}
    for kind, p, y, c in cases(loss, 1100, 20):
        data = svmgsu.Gaussians(p.X, p.cov)

        def everything(threads, data=data, y=y, c=c):
            objective = svmgsu.Objective(data, y, lam=LAM, loss=loss, sample_weight=c, threads=threads)
            _, gw, gb = objective.value_and_gradient(w, 0.3)
            hw, hb = objective.hessian_product(w, 0.3, vw, -0.7)
            numbers = [objective.gap(w, 0.3), objective.value(w, 0.3), gb, hb, objective.best_intercept(w)]
            model = train(data, y, lam=LAM, loss=loss, sample_weight=c, threads=threads, **options)
            found = [model.coef_.ravel(), np.ravel(model.intercept_), [model.objective_, model.gap_]]
            return np.concatenate([numbers, gw, hw, *found])

        one = everything(1)
        for threads in (2, 3):
            np.testing.assert_array_equal(everything(threads), one, err_msg=kind)


def test_an_objective_of_a_regression_has_its_parameter_and_refuses_what_is_wrong():
    X, t = np.arange(6.0)[:, None], np.array([0.0, 1.2, 1.9, 3.3, 3.7, 5.2])
    narrow, wide = (svmgsu.Objective(X, t, loss="epsilon_insensitive", epsilon=e) for e in (0.0, 10.0))
    assert narrow.value([0.0], 0.0) == pytest.approx(np.abs(t).mean())
    assert wide.value([0.0], 0.0) == 0.0
    assert narrow.classes is None
    for given, message in (
        ({"loss": "squard"}, "loss: expected one of 'hinge', .*'huber', got 'squard'"),
        ({"loss": "squared", "epsilon": 1.0}, "epsilon: the loss 'squared' has none"),
        ({"loss": "hinge", "epsilon": 1.0}, "epsilon: the loss 'hinge' has none"),
        ({"loss": "epsilon_insensitive", "epsilon": -1.0}, "epsilon: must be >= 0 and finite, got -1"),
    ):
        with pytest.raises(ValueError, match=message):
            svmgsu.Objective(X, t, **given)
    with pytest.raises(ValueError, match="y: 5 targets for 6 samples"):
        svmgsu.Objective(X, t[:5], loss="squared")
    with pytest.raises(ValueError, match="y: all targets are 2"):
        svmgsu.Objective(X, np.full(6, 2.0), loss="squared")
