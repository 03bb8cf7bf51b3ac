"""What a user gives is read once to be checked, and what was checked is not checked again."""

import numpy as np
import pytest
import scipy.sparse

import svmgsu
from svmgsu import _core

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = np.arange(40) % 2
E = rng.uniform(0.1, 0.5, (40, 3))
M = np.einsum("lij,lkj->lik", *2 * [rng.normal(size=(40, 3, 3))])


@pytest.fixture
def scans(monkeypatch):
    """The addresses of the arrays that the core looks through, once for each time."""
    seen, scan = [], _core.first_outside

    def counted(a, *range):
        seen.append(a.__array_interface__["data"][0])
        return scan(a, *range)

    monkeypatch.setattr(_core, "first_outside", counted)
    return seen


def times(scans, *arrays):
    return [scans.count(a.__array_interface__["data"][0]) for a in arrays]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_error_bars_are_read_once(scans, dtype):
    x, e = X.astype(dtype), E.astype(dtype)
    svmgsu.train(x, Y, std=e)
    assert times(scans, x, e) == [1, 1]
    assert len(scans) == 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_variances_are_read_once(scans, dtype):
    x, v = X.astype(dtype), E.astype(dtype)
    svmgsu.train(x, Y, v)
    assert times(scans, x, v) == [1, 1]
    assert len(scans) == 2


def test_the_numbers_of_every_kind_are_read_once(scans):
    values = scipy.sparse.csr_array(X)
    svmgsu.train(values, Y, svmgsu.Diagonal(scipy.sparse.csr_array(E)))
    assert times(scans, values.data) == [1]
    assert len(scans) == 2
    scans.clear()
    svmgsu.train(X, Y, M)
    assert times(scans, X, M) == [1, 0]  # the packed triangles are looked through instead
    assert len(scans) == 2
    scans.clear()
    svmgsu.train(X, Y, svmgsu.LowRank(M, E))
    assert times(scans, X, M, E) == [1, 1, 1]
    assert len(scans) == 3


def test_weights_are_read_once(scans):
    weights = rng.random(40)
    svmgsu.train(X, Y, sample_weight=weights)
    assert len(scans) == 2


@pytest.mark.parametrize("kind", ["isotropic", "diagonal", "full", "low rank", "sparse", "sum"])
def test_slices_are_not_read_at_all(scans, kind):
    cov = {
        "isotropic": svmgsu.Isotropic(E[:, 0]),
        "diagonal": svmgsu.Diagonal(E),
        "full": svmgsu.Full(M),
        "low rank": svmgsu.LowRank(M, E),
        "sparse": svmgsu.Diagonal(scipy.sparse.csr_array(E)),
        "sum": svmgsu.Diagonal(E) + svmgsu.Shared(np.ones(3)),
    }[kind]
    data = svmgsu.Gaussians(scipy.sparse.csr_array(X) if kind == "sparse" else X, cov)
    scans.clear()
    part = data[5:25]
    svmgsu.train(part, Y[5:25])
    assert not scans
    np.testing.assert_array_equal(part.cov.to_full(20, 3), svmgsu.Gaussians(X, cov).cov.to_full(40, 3)[5:25])


def test_an_estimator_a_search_and_a_stream_read_once(scans):
    svmgsu.LinearSVMGSU().fit(X, Y, std=E)
    assert len(scans) == 2
    scans.clear()
    svmgsu.LinearSVMGSU([1.0, 0.1]).fit(X, Y, std=E)
    assert times(scans, X, E) == [1, 1]
    scans.clear()
    svmgsu.SGDSVMGSU().partial_fit(X, Y, classes=[0, 1], std=E)
    assert len(scans) == 2


# What is found on the way


def test_error_bars_without_a_finite_square_are_refused():
    e = E.copy()
    e[17, 2] = 1e200
    with pytest.raises(ValueError, match="std: sample 17 has standard deviation 1e\\+200 at feature 2"):
        svmgsu.Gaussians(X, std=e)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_single_precision_error_bars_are_refused_as_double_ones_are(value):
    e = E.astype(np.float32)
    e[17, 2] = value
    with pytest.raises(ValueError, match="std: sample 17") as single:
        svmgsu.Gaussians(X, std=e)
    with pytest.raises(ValueError, match="std: sample 17") as double:
        svmgsu.Gaussians(X, std=e.astype(np.float64))
    assert str(single.value) == str(double.value)


@pytest.mark.parametrize(("value", "kept"), [(0.0, True), (1e-30, False), (1e25, False), (1.2e-19, True)])
def test_single_precision_stays_where_the_squares_fit_in(value, kept):
    e = E.astype(np.float32)
    e[17, 2] = value
    found = svmgsu.Gaussians(X.astype(np.float32), std=e).cov.variances
    assert (found.dtype == np.float32) == kept
    assert found[17, 2] == pytest.approx(float(e[17, 2]) ** 2, rel=1e-6)


def test_full_matrices_are_still_refused_by_place():
    for place, value in (((17, 1, 1), np.nan), ((17, 0, 0), np.inf), ((17, 0, 2), np.inf)):
        bad = M.copy()
        bad[place] = value
        with pytest.raises(ValueError, match=f"cov: sample 17, feature {place[1]}, feature {place[2]} is"):
            svmgsu.Gaussians(X, bad)
