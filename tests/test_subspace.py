"""Learning in linear subspaces: both readings, against NumPy and the twin."""

import numpy as np
import pytest
import scipy.sparse
from conftest import every_uncertain_kind, make_problem, relative_error, spd

import svmgsu
from svmgsu import reference

LAM = 0.3


def kept_by_hand(S, p):
    """Eigenvalues, largest first, until their share exceeds p, as factors."""
    values, vectors = np.linalg.eigh(S)
    rows, total = [], 0.0
    for value, vector in zip(values[::-1], vectors.T[::-1], strict=True):
        if value <= len(S) * np.finfo(float).eps * values[-1]:
            break
        rows.append(np.sqrt(value) * vector)
        total += value
        if p < 1 and total > p * values.sum():
            break
    return np.array(rows).reshape(-1, len(S))


def factors_of(data, i):
    cov = data.cov
    return cov.factors[cov.start[i] : cov.start[i + 1]]


@every_uncertain_kind
def test_truncating_at_one_changes_nothing(kind):
    p = make_problem(kind)
    whole = svmgsu.Gaussians(p.X, p.cov)
    same = whole.subspace(1.0, y=p.y)
    w, b = np.random.default_rng(0).normal(size=7), 0.3
    before, after = svmgsu.Objective(whole, p.y, lam=LAM), svmgsu.Objective(same, p.y, lam=LAM)
    assert after.value(w, b) == pytest.approx(before.value(w, b), rel=1e-10)
    assert relative_error(after.gradient(w, b)[0], before.gradient(w, b)[0]) <= 1e-10
    np.testing.assert_allclose(same.cov.to_full(), p.full, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8, 0.95, 0.999, 1.0])
def test_it_keeps_the_fewest_leading_eigenvectors_whose_share_exceeds_p(p):
    S = spd(np.random.default_rng(1), 20, 6)
    S[3] = np.diag([4.0, 1.0, 0, 0, 0, 0])  # rank two
    S[4] = 0
    data = svmgsu.Gaussians(np.zeros((20, 6)), svmgsu.Full(S)).subspace(p)
    twin = reference.to_full(reference.truncate(S, p), 20, 6)
    for i in range(20):
        rows, wanted = factors_of(data, i), kept_by_hand(S[i], p)
        assert rows.shape == wanted.shape
        np.testing.assert_allclose(rows.T @ rows, wanted.T @ wanted, atol=1e-12)
        np.testing.assert_allclose(rows.T @ rows, twin[i], atol=1e-12)
        np.testing.assert_allclose((rows**2).sum(1), (wanted**2).sum(1), rtol=1e-10)  # largest first


def test_a_share_of_exactly_p_is_not_enough():
    data = svmgsu.Gaussians(np.zeros((1, 4)), [[1.0, 1.0, 1.0, 1.0]])
    assert [len(data.subspace(p).cov.factors) for p in (0.25, 0.5, 0.74, 0.75, 0.76, 1.0)] == [
        2,
        3,
        3,
        4,
        4,
        4,
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("kind", ["low rank", "ragged low rank"])
def test_factors_through_their_gram_matrix_give_what_full_matrices_give(kind, p, dtype):
    problem = make_problem(kind, 30, 12, dtype=dtype)
    few = svmgsu.Gaussians(problem.X, problem.cov).subspace(p)
    many = svmgsu.Gaussians(problem.X, svmgsu.Full(problem.full)).subspace(p)
    np.testing.assert_array_equal(few.cov.start, many.cov.start)
    np.testing.assert_allclose(few.cov.to_full(), many.cov.to_full(), atol=1e-11)


@pytest.mark.parametrize("p", [0.4, 0.9, 1.0])
@pytest.mark.parametrize("kind", ["full", "low rank", "ragged low rank", "scaled sum"])
def test_projecting_is_the_twin_s_and_not_truncating(kind, p):
    problem = make_problem(kind, 20, 6)
    data = svmgsu.Gaussians(problem.X, problem.cov)
    projected, truncated = data.subspace(p, "project"), data.subspace(p)
    z, factors = reference.project(problem.means, problem.full, p)
    np.testing.assert_allclose(projected.mean, z, atol=1e-11)
    np.testing.assert_allclose(projected.cov.to_full(), reference.to_full(factors, 20, 6), atol=1e-11)
    np.testing.assert_array_equal(truncated.mean, problem.means)
    np.testing.assert_allclose(projected.cov.to_full(), truncated.cov.to_full(), atol=1e-11)
    if kind in ("full", "scaled sum") and p == 1:
        np.testing.assert_allclose(projected.mean, problem.means, atol=1e-11)
    else:
        assert np.abs(projected.mean - problem.means).max() > 0.1


def test_a_zero_covariance_keeps_nothing():
    data = svmgsu.Gaussians(np.ones((3, 4)), np.zeros((3, 4)))
    for p in (0.5, 1.0):
        assert data.subspace(p).cov.factors.shape == (0, 4)
        np.testing.assert_array_equal(data.subspace(p).mean, 1)
        np.testing.assert_array_equal(data.subspace(p, "project").mean, 0)  # the paper's reading loses all


def test_sparse_means_are_kept_sparse_where_they_are_kept():
    p = make_problem("diagonal CSR", 20, 6)
    data = svmgsu.Gaussians(p.X, p.cov)
    assert scipy.sparse.issparse(data.subspace(0.5).mean)
    z, _ = reference.project(p.means, p.full, 0.5)
    np.testing.assert_allclose(data.subspace(0.5, "project").mean, z, atol=1e-11)
