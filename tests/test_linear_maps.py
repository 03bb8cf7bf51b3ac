"""Covariances under linear maps of the features: A Σ Aᵀ by plain matrices is the judge."""

import numpy as np
import pytest
import scipy.sparse
from conftest import every_uncertain_kind, make_problem

import svmgsu

COUNT, FEATURES = 11, 5


def rng():
    return np.random.default_rng(7)


def agrees(p, cov, wanted, rtol=1e-12):
    got = cov.to_full(*wanted.shape[:2], y=p.y)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * max(1.0, np.abs(wanted).max()))


LINEAR = {
    "fewer": rng().normal(size=(3, FEATURES)),
    "square": rng().normal(size=(FEATURES, FEATURES)),
    "many more": rng().normal(size=(12, FEATURES)),
    "diagonal": np.diag([2.0, -1.0, 0.0, 0.5, 3.0]),
    "permutation": np.eye(FEATURES)[[3, 1, 0, 4, 2]],
    "orthonormal": np.linalg.qr(rng().normal(size=(FEATURES, FEATURES)))[0][:4],
    "sums of columns": np.array([[1.0, 1.0, 0, 0, 0], [0, 0, 1.0, 2.0, 0]]),
    "one row": np.ones((1, FEATURES)),
    "zero": np.zeros((2, FEATURES)),
}


@pytest.mark.parametrize("A", LINEAR.values(), ids=LINEAR)
@every_uncertain_kind
def test_a_matrix_maps_the_covariance(kind, A):
    p = make_problem(kind, COUNT, FEATURES)
    agrees(p, p.cov.map(A), A @ p.full @ A.T)


@every_uncertain_kind
def test_factors_scale_the_features(kind):
    p = make_problem(kind, COUNT, FEATURES)
    d = np.array([2.0, -1.0, 0.0, 0.5, 3.0])
    agrees(p, p.cov.scale_features(d), p.full * np.outer(d, d))


@every_uncertain_kind
def test_factors_may_differ_from_example_to_example(kind):
    p = make_problem(kind, COUNT, FEATURES)
    d = rng().normal(size=(COUNT, FEATURES))
    if kind == "shared by class":
        with pytest.raises(ValueError, match=r"Shared\(matrices, groups=y\)"):
            p.cov.scale_features(d)
    else:
        agrees(p, p.cov.scale_features(d), p.full * d[:, :, None] * d[:, None, :])


@pytest.mark.parametrize("columns", [[3], [4, 0, 2], np.array([True, False, True, True, False]), [-1, 0]])
@every_uncertain_kind
def test_columns_are_selected(kind, columns):
    p = make_problem(kind, COUNT, FEATURES)
    if kind.startswith("isotropic") and isinstance(columns, list) and min(columns) < 0:
        columns = [4, 0]  # it knows no last feature
    chosen = np.arange(FEATURES)[columns]
    agrees(p, p.cov.select(columns), p.full[:, chosen][:, :, chosen])


def test_a_linear_image_is_of_the_cheapest_kind():
    v, V = rng().uniform(1, 2, COUNT), rng().uniform(1, 2, (COUNT, FEATURES))
    kinds = {
        ("Isotropic", "orthonormal"): svmgsu.Isotropic(v).map(LINEAR["orthonormal"]),
        ("Isotropic", "scalar"): svmgsu.Isotropic(0.3).map(LINEAR["orthonormal"]),
        ("Shared", "scalar"): svmgsu.Isotropic(0.3).map(LINEAR["fewer"]),
        ("Diagonal", "diagonal"): svmgsu.Isotropic(v).map(LINEAR["diagonal"]),
        ("Full", "any"): svmgsu.Isotropic(v).map(LINEAR["square"]),
        ("LowRank", "many outputs"): svmgsu.Isotropic(v).map(LINEAR["many more"]),
        ("Diagonal", "columns"): svmgsu.Diagonal(V).map(LINEAR["sums of columns"]),
        ("Diagonal", "jacobian"): svmgsu.Diagonal(V).scale_features(V),
        ("Full", "diagonal"): svmgsu.Diagonal(V).map(LINEAR["fewer"]),
        ("LowRank", "diagonal"): svmgsu.Diagonal(V).map(LINEAR["many more"]),
        ("LowRank", "low rank"): svmgsu.LowRank(V[:, None]).map(LINEAR["square"]),
        ("Shared", "shared"): svmgsu.Shared(np.eye(FEATURES)).map(LINEAR["fewer"]),
        ("Isotropic", "select"): svmgsu.Isotropic(v).select([0, 2]),
    }
    for (name, _), cov in kinds.items():
        assert type(cov).__name__ == name


def test_sparse_variances_stay_sparse_under_factors_and_selections():
    V = scipy.sparse.random_array((20, 8), density=0.3, rng=rng(), format="csr")
    for cov in (
        svmgsu.Diagonal(V).scale_features(np.arange(8.0)),
        svmgsu.Diagonal(V).scale_features(np.ones((20, 8))),
        svmgsu.Diagonal(V).select([3, 1]),
    ):
        assert scipy.sparse.issparse(cov.matrix)


def test_variances_that_float32_cannot_hold_become_float64():
    cov = svmgsu.Diagonal(np.ones((2, 2), np.float32))
    for factors in ([1e-25, 1e25], [[1e-25, 1e25], [1.0, 1.0]]):
        found = cov.scale_features(np.array(factors))
        np.testing.assert_allclose(found.variances[0], [1e-50, 1e50], rtol=1e-6)
    assert cov.scale_features(np.array([0.5, 2.0])).variances.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_uncertain_kind
def test_the_diagonals_are_those_of_the_matrices(kind, dtype):
    p = make_problem(kind, COUNT, FEATURES, dtype=dtype)
    np.testing.assert_allclose(
        p.cov.diagonals(COUNT, FEATURES, p.y), np.diagonal(p.full, axis1=1, axis2=2), rtol=1e-6, atol=1e-12
    )


def test_what_does_not_fit_is_named():
    cov = svmgsu.Diagonal(np.ones((4, 3)))
    with pytest.raises(ValueError, match="A: it is for 2 features, but the covariance has 3"):
        cov.map(np.ones((2, 2)))
    with pytest.raises(ValueError, match="d: it is for 5 samples, but the covariance has 4"):
        cov.scale_features(np.ones((5, 3)))
    with pytest.raises(ValueError, match="A: sample 0, feature 1 is nan"):
        cov.map([[0.0, np.nan, 1.0]])
    with pytest.raises(ValueError, match="columns: a feature is chosen twice"):
        cov.select([1, 1])
    with pytest.raises(ValueError, match=r"columns: .* not among 3 features"):
        cov.select([3])
    with pytest.raises(ValueError, match="columns: a mask of 2 entries for 3 features"):
        cov.select([True, False])
    with pytest.raises(ValueError, match="columns: expected indices"):
        cov.select(["a"])


# Groups: one covariance for each group of examples


def test_groups_have_one_covariance_each_and_are_sliced_with_the_examples():
    A, B = np.eye(2), np.array([[2.0, 1.0], [1.0, 3.0]])
    cov = svmgsu.Shared({"a": A, "b": B}, groups=["b", "a", "b"])
    np.testing.assert_allclose(cov.to_full(), [B, A, B])
    np.testing.assert_allclose(cov[[2, 1]].to_full(), [B, A])
    assert cov.shape == (3, 2)
    with pytest.raises(ValueError, match="no covariance for group 'c'; it has"):
        svmgsu.Shared({"a": A}, groups=["c"])
    with pytest.raises(ValueError, match="groups: they need a dict"):
        svmgsu.Shared(A, groups=["c"])
