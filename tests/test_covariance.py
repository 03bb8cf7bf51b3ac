"""The kinds of covariance: what they mean, how they add and slice, and what they copy (nothing)."""

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse
from conftest import UNCERTAIN_KINDS, every_kind, every_uncertain_kind, make_problem, spd, train_with
from hypothesis import given
from hypothesis import strategies as st

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


def test_sums_of_sums_are_flat_sums():
    p = make_problem("sum", 11, 5)
    iso = svmgsu.Isotropic(0.5)
    nested = 2 * (p.cov + 3 * (iso + p.cov)) + iso
    np.testing.assert_allclose(full_of(p, nested), 8 * p.full + 3.5 * np.eye(5), rtol=1e-13)
    assert (nested.n_samples, nested.n_features) == (11, 5)


def test_the_terms_of_a_sum_must_fit_each_other():
    with pytest.raises(ValueError, match=re.escape("the terms of a sum disagree about n_features: [2, 3]")):
        svmgsu.Diagonal(np.ones((4, 2))) + svmgsu.Diagonal(np.ones((4, 3)))


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


def test_a_shared_covariance_is_never_sliced_even_if_there_are_as_many_examples_as_features():
    S = spd(np.random.default_rng(0), 1, 4)[0]
    data = svmgsu.Gaussians(np.zeros((4, 4)), svmgsu.Shared(S))
    np.testing.assert_allclose(data[[2, 0]].cov.to_full(n_samples=2), [S, S], rtol=1e-15)


@pytest.mark.parametrize("key", [3, (1, 2), np.zeros((2, 2), dtype=int), 99, [99], np.ones(3, dtype=bool)])
def test_what_is_no_choice_of_examples_is_an_index_error(key):
    with pytest.raises(IndexError, match=r"one sample is|expected a slice|out of range|the mask has 3"):
        svmgsu.Gaussians(np.zeros((11, 2)), 1.0)[key]


@given(st.lists(st.integers(0, 10), min_size=1, max_size=30), st.sampled_from(UNCERTAIN_KINDS))
def test_taking_twice_is_taking_the_taken(rows, kind):
    p = make_problem(kind, 11, 5)
    rows = np.array(rows)
    twice = p.cov.take(rows).take(np.arange(len(rows))[::-1])
    once = p.cov.take(rows[::-1])
    y = p.y[rows][::-1]
    np.testing.assert_array_equal(twice.to_full(len(rows), 5, y=y), once.to_full(len(rows), 5, y=y))


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_maps_are_used_without_a_copy(tmp_path, dtype):
    rng = np.random.default_rng(0)
    maps = []
    for i, shape in enumerate([(5, 6), (5, 6), (5, 2, 6), (5,)]):
        array = np.memmap(tmp_path / f"{i}.bin", dtype=dtype, mode="w+", shape=shape)
        array[:] = rng.uniform(size=shape)
        array.flush()
        maps.append(np.memmap(tmp_path / f"{i}.bin", dtype=dtype, mode="r", shape=shape))
    for name, (given_array, held) in holders(*maps).items():
        assert np.shares_memory(given_array, held), name
    X, V = maps[:2]
    model = train_with(X, [0, 1, 0, 1, 1], V, lam=0.1, steps=20, solver="sgd")
    again = train_with(np.array(X), [0, 1, 0, 1, 1], np.array(V), lam=0.1, steps=20, solver="sgd")
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_csr_values_are_used_without_a_copy():
    V = scipy.sparse.random_array((20, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    assert np.shares_memory(V.data, svmgsu.Diagonal(V).variances.value)
    assert np.shares_memory(V.data, svmgsu.Gaussians(V).mean.data)


@pytest.mark.parametrize("form", ["csc", "coo", "csr", "lil"])
def test_any_sparse_format_is_taken(form):
    V = scipy.sparse.random_array((20, 30), density=0.2, rng=np.random.default_rng(0), format=form)
    np.testing.assert_array_equal(svmgsu.Diagonal(V).to_full().diagonal(axis1=1, axis2=2), V.toarray())


def test_duplicate_sparse_entries_add_up_and_the_user_s_matrix_stays():
    V = scipy.sparse.csr_matrix(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    np.testing.assert_array_equal(svmgsu.Diagonal(V).to_full()[0], np.diag([0.0, 3.0]))
    assert V.nnz == 3


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


def test_a_full_array_in_fortran_order_is_read_right():
    S = spd(np.random.default_rng(0), 6, 5)
    np.testing.assert_array_equal(svmgsu.Full(np.asfortranarray(S)).to_full(), svmgsu.Full(S).to_full())


def test_full_covariances_of_784_features_need_no_more_memory_than_array_and_packed_copy():
    """500 float32 matrices: the user's array is 1.23 GB, the packed copy 0.61 GB, the slack 0.15 GB."""
    script = """
        import resource
        import numpy as np
        import svmgsu

        def peak():
            return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        count, n = 500, 784
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
