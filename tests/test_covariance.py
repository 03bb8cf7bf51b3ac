"""The kinds of covariance: what they mean, how they add and slice, and what they copy (nothing)."""

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse
from conftest import every_kind, every_uncertain_kind, make_problem, spd

import svmgsu


def full_of(p, cov=None):
    cov = p.cov if cov is None else cov
    return cov.to_full(*p.means.shape, y=p.y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_uncertain_kind
def test_to_full_is_what_numpy_says(kind, dtype):
    p = make_problem(kind, 11, 5, dtype=dtype)
    np.testing.assert_allclose(full_of(p), p.full, rtol=1e-14, atol=1e-15)


def test_kinds_that_do_not_know_a_size_ask_for_it():
    with pytest.raises(ValueError, match="n_features: Isotropic does not know it; pass n_features="):
        svmgsu.Isotropic([1.0, 2.0]).to_full()
    with pytest.raises(ValueError, match="n_samples: Shared does not know it"):
        svmgsu.Shared(np.eye(2)).to_full()
    with pytest.raises(ValueError, match="one covariance per class needs the labels y"):
        svmgsu.Shared({0: np.eye(2), 1: np.eye(2)}).to_full(n_samples=3)
    with pytest.raises(ValueError, match=re.escape("no covariance for class 2; it has [0, 1]")):
        svmgsu.Shared({0: np.eye(2), 1: np.eye(2)}).to_full(n_samples=3, y=[0, 1, 2])


# Sums and factors


def test_covariances_add_and_scale():
    p = make_problem("sum", 11, 5)
    one, two = make_problem("full", 11, 5, seed=3), make_problem("low rank", 11, 5, seed=4)
    np.testing.assert_allclose(full_of(p, one.cov + two.cov), one.full + two.full, rtol=1e-14)
    np.testing.assert_allclose(full_of(p, 2.5 * one.cov), 2.5 * one.full, rtol=1e-14)
    np.testing.assert_allclose(full_of(p, one.cov * np.float64(2.5)), 2.5 * one.full, rtol=1e-14)
    np.testing.assert_allclose(full_of(p, np.float64(2.5) * one.cov), 2.5 * one.full, rtol=1e-14)
    np.testing.assert_allclose(full_of(p, 0 * one.cov), np.zeros_like(one.full))


@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf")])
def test_a_factor_is_finite_and_not_negative(factor):
    with pytest.raises(ValueError, match="a factor must be >= 0 and finite"):
        factor * svmgsu.Isotropic(1.0)


@pytest.mark.parametrize("other", ["2", np.ones(3), None])
def test_only_numbers_are_factors_and_only_covariances_are_terms(other):
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        other * svmgsu.Isotropic(1.0)
    with pytest.raises(TypeError, match="operand"):
        svmgsu.Isotropic(1.0) + other


def test_a_representation_says_what_it_is():
    cov = svmgsu.Diagonal(np.ones((4, 2))) + 0.5 * svmgsu.Shared(np.eye(2))
    assert repr(cov) == "Diagonal(n_samples=4, n_features=2) + 0.5 * Shared(n_samples=None, n_features=2)"


# Slices

SLICES = {
    "slice": slice(2, 9, 3),
    "backwards": slice(None, None, -1),
    "indices": np.array([4, 0, 4, 10]),
    "list": [3, 1],
    "mask": np.arange(11) % 3 == 0,
    "scikit-learn's": (np.array([5, 2]), Ellipsis),
}


@pytest.mark.parametrize("rows", SLICES.values(), ids=SLICES)
@every_kind
def test_slicing_examples_slices_their_covariances(kind, rows):
    p = make_problem(kind, 11, 5)
    plain = rows[0] if isinstance(rows, tuple) else rows
    data = svmgsu.Gaussians(p.X, p.cov)
    part = data[rows]
    means = part.mean.toarray() if scipy.sparse.issparse(part.mean) else part.mean
    np.testing.assert_array_equal(means, p.means[plain])
    assert len(part) == part.shape[0] == len(p.means[plain])
    if kind == "none":
        assert part.cov is None
    else:
        full = part.cov.to_full(*part.shape, y=p.y[plain])
        np.testing.assert_allclose(full, p.full[plain], rtol=1e-14, atol=1e-15)


# Storage


def holders(X, V, F, v):
    """Each array of the user beside the array that the library holds."""
    return {
        "mean": (X, svmgsu.Gaussians(X).mean),
        "isotropic": (v, svmgsu.Isotropic(v).variances),
        "diagonal": (V, svmgsu.Diagonal(V).variances),
        "by shape": (V, svmgsu.Gaussians(X, V).cov.variances),
        "factors": (F, svmgsu.LowRank(F).factors),
        "ragged": (X, svmgsu.LowRank(X, start=[0, 2, len(X)]).factors),
        "low rank's diagonal": (V, svmgsu.LowRank(F, V).diagonal.variances),
        "packed": (V, svmgsu.Full.from_packed(V).packed),
        "sum": (V, (svmgsu.Diagonal(V) + svmgsu.Isotropic(v)).parts[0][1].variances),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_user_s_arrays_are_used_without_a_copy(dtype):
    rng = np.random.default_rng(0)
    X, V, F, v = (rng.uniform(size=s).astype(dtype) for s in [(5, 6), (5, 6), (5, 2, 6), (5,)])
    for name, (given_array, held) in holders(X, V, F, v).items():
        assert np.shares_memory(given_array, held), name
        assert held.dtype == dtype, name


def test_csr_values_are_used_without_a_copy():
    V = scipy.sparse.random_array((20, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    assert np.shares_memory(V.data, svmgsu.Diagonal(V).variances.value)
    assert np.shares_memory(V.data, svmgsu.Gaussians(V).mean.data)


@pytest.mark.parametrize("form", ["csc", "coo", "csr", "lil"])
def test_any_sparse_format_is_taken(form):
    V = scipy.sparse.random_array((20, 30), density=0.2, rng=np.random.default_rng(0), format=form)
    np.testing.assert_array_equal(svmgsu.Diagonal(V).to_full().diagonal(axis1=1, axis2=2), V.toarray())


ODD_ARRAYS = {
    "Fortran order": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "integers": lambda a: a.astype(int),
    "float16": lambda a: a.astype(np.float16),
    "big endian": lambda a: a.astype(">f8"),
    "long double": lambda a: a.astype(np.longdouble),
    "booleans of ones": lambda a: a.astype(bool),
    "lists": lambda a: a.tolist(),
    "objects": lambda a: a.astype(object),
}


@pytest.mark.parametrize("convert", ODD_ARRAYS.values(), ids=ODD_ARRAYS)
def test_other_arrays_are_converted(convert):
    rng = np.random.default_rng(0)
    V = rng.integers(0, 2, (4, 3)).astype(float)
    kind = svmgsu.Diagonal(convert(V))
    assert kind.variances.dtype == np.float64
    assert kind.variances.flags.c_contiguous
    np.testing.assert_array_equal(kind.variances, V)
    np.testing.assert_array_equal(svmgsu.Gaussians(convert(V)).mean, V)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_full_keeps_only_the_packed_triangle(dtype):
    S = spd(np.random.default_rng(0), 6, 5, dtype)
    kind = svmgsu.Full(S)
    held = [a for a in vars(kind).values() if isinstance(a, np.ndarray)]
    assert [(a.shape, a.dtype) for a in held] == [((6, 15), np.dtype(dtype))]
    assert not np.shares_memory(kind.packed, S)
    rows, columns = np.triu_indices(5)
    np.testing.assert_array_equal(kind.packed, S[:, rows, columns])
    np.testing.assert_array_equal(svmgsu.Full.from_packed(kind.packed).to_full(), S)


def test_full_covariances_of_784_features_need_no_more_memory_than_array_and_packed_copy():
    """150 float32 matrices: the user's array is 369 MB, the packed copy 185 MB, the slack 150 MB."""
    script = """
        import resource
        import numpy as np
        import svmgsu

        def peak():
            return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        count, n = 150, 784
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(count, n)).astype(np.float32), np.arange(count) % 2
        before = peak()
        S = np.zeros((count, n, n), dtype=np.float32)
        S[:] = 0.01
        S[:, np.arange(n), np.arange(n)] = 1.0
        cov = svmgsu.Full(S, check=False)
        model = svmgsu.SGDSVMGSU(lam=0.1, n_steps=3, batch_size=20, random_state=0).fit(X, y, cov)
        assert np.isfinite(model.objective_) and model.gap_ >= 0
        print(peak() - before, S.nbytes, cov.packed.nbytes)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    used, array, packed = map(int, done.stdout.split())
    assert used <= array + packed + 150e6


def test_a_variance_below_zero_by_rounding_counts_as_zero():
    matrix = np.array([[-1e-300, 0.0], [0.0, 1.0]])
    for kind in (svmgsu.Full([matrix, matrix]), svmgsu.Shared(matrix)):
        assert kind.diagonals(2, 2).tolist() == [[0.0, 1.0], [0.0, 1.0]]
        assert "typical error 0.5 of the spread" in repr(svmgsu.Gaussians([[0.0, 1.0], [1.0, 3.0]], kind))


@pytest.mark.parametrize("start", [None, [0, 1, 2]])
def test_factors_without_a_finite_square_are_refused(start):
    F = np.array([[[1.0, 2.0]], [[1.0, -1e151]]])
    with pytest.raises(ValueError, match=r"factors: -1e\+151 at feature 1 .* 1e\+150"):
        svmgsu.LowRank(F if start is None else F[:, 0], start=start)
    assert np.isfinite(svmgsu.LowRank(np.clip(F, -1e150, None)).diagonals(2, 2)).all()
