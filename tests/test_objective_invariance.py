"""The objective under changes that should not matter: order, units, weights, names of labels."""

import numpy as np
import pytest
from conftest import KINDS, Problem, every_smooth_kind, make_problem, relative_error
from hypothesis import given
from hypothesis import strategies as st
from objective_cases import LAM, point

import svmgsu


@every_smooth_kind
def test_the_best_intercept_is_a_minimum_in_b(kind):
    p = make_problem(kind)
    objective = p.objective(LAM)
    w, *_ = point(7)
    b = objective.best_intercept(w)
    assert abs(objective.gradient(w, b)[1]) <= 1e-12
    assert objective.value(w, b) <= min(objective.value(w, b + 0.1), objective.value(w, b - 0.1))


@given(st.permutations(range(24)), st.sampled_from(KINDS))
def test_the_order_of_the_examples_does_not_matter(order, kind):
    p = make_problem(kind, 24, 3)
    order = np.array(order)
    data = svmgsu.Gaussians(p.X, p.cov)
    plain = svmgsu.Objective(data, p.y, lam=LAM)
    permuted = svmgsu.Objective(data[order], p.y[order], lam=LAM)
    w, b, vw, vb = point(3)
    assert permuted.value(w, b) == pytest.approx(plain.value(w, b), rel=1e-13)
    assert relative_error(permuted.gradient(w, b)[0], plain.gradient(w, b)[0]) <= 1e-12
    assert (
        relative_error(permuted.hessian_product(w, b, vw, vb)[0], plain.hessian_product(w, b, vw, vb)[0])
        <= 1e-12
    )


@given(st.floats(1e-6, 1e6), st.sampled_from(KINDS))
def test_units_do_not_matter(t, kind):
    p = make_problem(kind, 24, 3)
    scaled = svmgsu.Objective(p.X * t, p.y, None if p.cov is None else t * t * p.cov, lam=LAM * t * t)
    w, b, _, _ = point(3)
    assert scaled.value(w / t, b) == pytest.approx(p.objective(LAM).value(w, b), rel=1e-12)
    if np.trace(p.full, axis1=1, axis2=2).all():  # elsewhere b* may sit on a kink, either side of it
        assert scaled.gap(w / t, b) == pytest.approx(p.objective(LAM).gap(w, b), rel=1e-9)


@given(st.lists(st.integers(1, 4), min_size=24, max_size=24), st.sampled_from(KINDS))
def test_a_weight_is_a_repetition(counts, kind):
    p = make_problem(kind, 24, 3)
    w, b, _, _ = point(3)
    rows = np.repeat(np.arange(24), counts)
    repeated = svmgsu.Objective(svmgsu.Gaussians(p.X, p.cov)[rows], p.y[rows], lam=LAM)
    weighted = p.objective(LAM, sample_weight=np.array(counts, dtype=float))
    assert weighted.value(w, b) == pytest.approx(repeated.value(w, b), rel=1e-12)
    assert relative_error(weighted.gradient(w, b)[0], repeated.gradient(w, b)[0]) <= 1e-12


def test_an_example_of_weight_zero_is_no_example():
    p = make_problem("full")
    w, b, _, _ = point(7)
    c = (np.arange(60) < 45).astype(float)
    part = Problem(p.X[:45], p.y[:45], svmgsu.Full(p.full[:45]), p.means[:45], p.twin[:45], p.full[:45])
    weighted = p.objective(LAM, sample_weight=c)
    assert weighted.value(w, b) == pytest.approx(part.objective(LAM).value(w, b), rel=1e-12)


def test_labels_of_any_type_mean_the_same():
    p = make_problem("shared by class")
    w, b, _, _ = point(7)
    wanted = p.objective(LAM).value(w, b)
    A, B = p.full[p.y < 0][0], p.full[p.y > 0][0]
    for negative, positive in (("no", "yes"), (3, 7), (False, True)):
        y = np.where(p.y > 0, positive, negative)
        for labels in (y, y.tolist(), y[:, None], y.astype(object)):
            objective = svmgsu.Objective(p.X, labels, svmgsu.Shared({negative: A, positive: B}), lam=LAM)
            assert objective.value(w, b) == wanted
