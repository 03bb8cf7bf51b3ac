"""Gaussians through functions."""

import numpy as np
import pytest
from conftest import KINDS, make_problem
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import propagate

A = np.array([[1.0, -1.0, 0.0, 0.5], [0.0, 2.0, -1.0, 0.0]])


def bend(X):
    """Smooth, 4 features to 3."""
    return np.stack([X[:, 0] * X[:, 1], np.sin(X[:, 2]) + X[:, 3], np.exp(0.3 * X[:, 0] - X[:, 3])], axis=1)


def bend_jacobian(X):
    zero, one = np.zeros(len(X)), np.ones(len(X))
    e = np.exp(0.3 * X[:, 0] - X[:, 3])
    rows = [[X[:, 1], X[:, 0], zero, zero], [zero, zero, np.cos(X[:, 2]), one], [0.3 * e, zero, zero, -e]]
    return np.array(rows).transpose(2, 0, 1)


def full(cov, count, y=None):
    return cov.to_full(count, cov.n_features, y=y)


def make(kind):
    problem = make_problem(kind, count=12, n=4)
    return svmgsu.Gaussians(problem.X, problem.cov), problem


def test_by_hand():
    """u − g and g − r share the error of g: variances 0.09 + 0.01 and 0.02, covariance −0.01."""
    data = svmgsu.Gaussians([[20.0, 19.0, 18.5]], std=[[0.3, 0.1, 0.1]])
    colours = propagate([[1, -1, 0], [0, 1, -1]], data)
    np.testing.assert_allclose(colours.mean, [[1.0, 0.5]])
    np.testing.assert_allclose(colours.cov.to_full(), [[[0.1, -0.01], [-0.01, 0.02]]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outputs", [2, 6])
def test_a_matrix_is_exact_for_every_kind(kind, outputs):
    data, problem = make(kind)
    matrix = A if outputs == 2 else np.random.default_rng(0).normal(size=(6, 4))
    out = propagate(matrix, data)
    np.testing.assert_allclose(out.mean, problem.means @ matrix.T, atol=1e-12)
    if kind == "none":
        assert out.cov is None
        return
    wanted = matrix @ problem.full @ matrix.T
    np.testing.assert_allclose(full(out.cov, 12, problem.y), wanted, atol=1e-10)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("none", "shared by class")])
@pytest.mark.parametrize("how", ["numerical", "function", "array"])
def test_a_function_is_followed_to_first_order_for_every_kind(kind, how):
    data, problem = make(kind)
    J = bend_jacobian(problem.means)
    jacobian = {"numerical": None, "function": bend_jacobian, "array": J}[how]
    out = propagate(bend, data, jacobian)
    np.testing.assert_allclose(out.mean, bend(problem.means), atol=1e-12)
    wanted = J @ problem.full @ J.transpose(0, 2, 1)
    np.testing.assert_allclose(out.cov.to_full(), wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("none", "shared by class")])
@pytest.mark.parametrize("jacobian", [None, np.cos])
def test_an_elementwise_function_scales_each_feature(kind, jacobian):
    data, problem = make(kind)
    out = propagate(np.sin, data, jacobian)
    d = np.cos(problem.means)
    wanted = d[:, :, None] * problem.full * d[:, None, :]
    np.testing.assert_allclose(out.cov.to_full(), wanted, rtol=1e-6, atol=1e-8)


def test_moments_are_those_of_draws_through_the_function():
    rng = np.random.default_rng(0)
    x, root = np.array([[1.0, 2.0, 0.5, -0.5]]), 0.02 * rng.normal(size=(4, 4))
    out = propagate(bend, svmgsu.Gaussians(x, svmgsu.LowRank(root[None])))
    draws = bend(x + rng.normal(size=(100_000, 4)) @ root)
    assert_moments(draws, out.mean[0], out.cov.to_full()[0], slack=0.03)  # second order at σ ≈ 0.03


def test_few_factors_stay_factors_and_many_become_a_matrix():
    factors = np.random.default_rng(0).normal(size=(5, 2, 4))
    low = svmgsu.Gaussians(np.ones((5, 4)), svmgsu.LowRank(factors))
    assert isinstance(propagate(bend, low).cov, svmgsu.LowRank)
    assert isinstance(propagate(A[:1], low).cov, svmgsu.Full)
    diagonal = svmgsu.Gaussians(np.ones((5, 4)), std=np.full((5, 4), 0.1))
    assert isinstance(propagate(A, diagonal).cov, svmgsu.Full)
    assert isinstance(propagate(np.sin, diagonal).cov, svmgsu.Diagonal)
    for same_for_all in (svmgsu.Shared(np.eye(4)), svmgsu.Isotropic(0.1)):
        shared = svmgsu.Gaussians(np.ones((5, 4)), same_for_all)
        assert isinstance(propagate(A, shared).cov, svmgsu.Shared)


def test_covariances_by_group_stay_with_their_examples():
    kinds, groups = {"a": np.eye(4), "b": 3 * np.eye(4)}, ["a", "b", "b", "a", "b"]
    out = propagate(A, svmgsu.Gaussians(np.ones((5, 4)), svmgsu.Shared(kinds, groups=groups)))
    assert isinstance(out.cov, svmgsu.Shared)
    np.testing.assert_allclose(out.cov.to_full(), [A @ kinds[g] @ A.T for g in groups])


def test_a_function_near_the_edge_of_its_domain_is_not_asked_beyond_it():
    """Features of tiny values with tiny errors beside large ones: the step goes by each one's own error."""
    X = np.array([[1e-6, 1e6], [2e-6, 3e6]])
    data = svmgsu.Gaussians(X, svmgsu.Diagonal((0.01 * X) ** 2))
    np.testing.assert_allclose(
        propagate(np.log, data).cov.to_full(), [1e-4 * np.eye(2)] * 2, rtol=1e-5, atol=1e-9
    )
    np.testing.assert_allclose(propagate(np.log, data).cov.variances, 1e-4, rtol=1e-6)


def test_errors_far_below_the_value_do_not_drown_in_rounding():
    data = svmgsu.Gaussians([[1e6, 2.0]], svmgsu.Diagonal([[1e-12, 1.0]]))
    out = propagate(lambda X: X**2, data).cov.to_full()[0]
    np.testing.assert_allclose(np.diag(out), [4e12 * 1e-12, 16.0], rtol=1e-4)


def test_a_transformer_of_scikit_learn():
    from sklearn.decomposition import PCA

    data, problem = make("low rank")
    pca = PCA(2).fit(problem.means)
    out = propagate(pca.transform, data)
    exact = pca.components_ @ problem.full @ pca.components_.T
    np.testing.assert_allclose(out.cov.to_full(), exact, rtol=1e-6, atol=1e-8)


def test_float32_stays_and_blocks_do_not_show(monkeypatch):
    for kind in ("low rank + diagonal", "full", "diagonal"):
        problem = make_problem(kind, count=12, n=4, dtype=np.float32)
        data = svmgsu.Gaussians(problem.X, problem.cov)
        for out in (propagate(bend, data), propagate(A, data), propagate(np.sin, data)):
            parts = [k for _, k in out.cov.parts]
            arrays = [
                getattr(p, a) for p in parts for a in ("variances", "factors", "packed") if hasattr(p, a)
            ]
            assert arrays
            assert {a.dtype for a in [out.mean, *arrays]} == {np.dtype(np.float32)}
    data, _ = make("ragged low rank")
    before = propagate(bend, data).cov.to_full()
    monkeypatch.setattr("svmgsu.support.arrays.BLOCK", 1)
    np.testing.assert_allclose(propagate(bend, data).cov.to_full(), before, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("f", "options", "message"),
    [
        (np.ones((2, 3)), {}, r"f: a matrix of shape \(2, 3\) does not fit 4 features"),
        (np.full((1, 4), np.nan), {}, "f: sample 0, feature 0 is nan"),
        (A, {"jacobian": bend_jacobian}, "jacobian: f is a matrix"),
        (lambda X: X[:, 0], {}, r"f: expected an array of shape \(12, m\)"),
        (lambda X: np.full_like(X, np.nan), {}, "f: sample 0 gives nan at output 0"),
        (bend, {"jacobian": np.ones((12, 4, 3))}, r"jacobian: expected shape \(12, 3, 4\), got \(12, 4, 3\)"),
    ],
)
def test_errors_say_what_is_wrong(f, options, message):
    with pytest.raises(ValueError, match=message):
        propagate(f, make("diagonal")[0], **options)


def test_only_gaussians_have_uncertainty_to_carry():
    with pytest.raises(TypeError, match="data: expected Gaussians, got ndarray"):
        propagate(A, np.ones((2, 4)))
