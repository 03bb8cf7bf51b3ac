"""The container: slices, concatenation, draws, what it shows, and copies of it."""

import copy
import io
import itertools
import pickle
import re
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import scipy.sparse
from conftest import KINDS, every_kind, make_problem

import svmgsu

concatenate = svmgsu.Gaussians.concatenate


def dense(a):
    return a.toarray() if scipy.sparse.issparse(a) else np.asarray(a)


def full_of(data, y=None):
    return np.zeros((*data.shape, data.shape[1])) if data.cov is None else data.cov.to_full(*data.shape, y=y)


# Choosing examples


def test_an_index_error_says_what_to_write():
    data = svmgsu.Gaussians(np.zeros((11, 2)), 1.0)
    for key, text in {
        3: "write [[3]] or [3:4]",
        (1, 2): "expected a slice, a mask or indices of samples, got (1, 2)",
        "a": "expected a slice, a mask or indices of samples, got 'a'",
    }.items():
        with pytest.raises(IndexError, match=re.escape(text)):
            data[key]
    with pytest.raises(IndexError, match="the mask has 3 entries for 11 samples"):
        data[np.ones(3, dtype=bool)]
    with pytest.raises(IndexError, match="index -12 is out of range for 11 samples"):
        data[[0, -12]]
    with pytest.raises(IndexError, match="a slice, a mask or indices"):
        data[[0.5]]
    with pytest.raises(IndexError, match="features are chosen by svmgsu"):
        data[:, [0, 1]]
    with pytest.raises(ValueError, match="0 sample"):
        data[[]]


def test_a_container_is_not_taken_for_an_array():
    data = svmgsu.Gaussians(np.zeros((3, 2)), 1.0)
    with pytest.raises(TypeError, match=re.escape("would lose the covariances: use .mean")):
        np.asarray(data)
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(data)
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(data.cov)


def test_covariances_that_belong_to_examples_have_a_shape_and_can_be_sliced():
    assert svmgsu.Diagonal(np.ones((4, 2))).shape == (4, 2)
    assert (svmgsu.Diagonal(np.ones((4, 2))) + svmgsu.Shared(np.eye(2)))[[1, 2], ...].shape == (2, 2)
    for cov in (svmgsu.Shared(np.eye(4)), svmgsu.Isotropic(2.0), svmgsu.Shared({0: np.eye(4), 1: np.eye(4)})):
        assert not hasattr(cov, "shape")
        assert cov[[0, 1]] is cov


def test_names_of_features_stay():
    data = svmgsu.Gaussians(np.zeros((3, 2)), np.ones((3, 2)), feature_names=["u", "g"])
    for other in (data[1:], data.with_cov(None), data.scale_cov(2), data.subspace(0.9), copy.copy(data)):
        assert other.feature_names_in_ == ["u", "g"]
    assert svmgsu.Gaussians(np.zeros((3, 2))).feature_names_in_ is None
    with pytest.raises(ValueError, match="feature_names: expected 2 strings"):
        svmgsu.Gaussians(np.zeros((3, 2)), feature_names=["u"])


# Concatenation


@pytest.mark.parametrize(
    ("one", "two"), [*itertools.pairwise(KINDS), *itertools.product(KINDS, ["none", "shared", "low rank"])]
)
def test_any_two_kinds_concatenate(one, two):
    a, b = make_problem(one, 7, 4, seed=1), make_problem(two, 5, 4, seed=2)
    parts = [svmgsu.Gaussians(p.X, p.cov) for p in (a, b)]
    by_class = [p for p in (a, b) if isinstance(p.cov, svmgsu.Shared) and p.cov.classes]
    if by_class:
        with pytest.raises(ValueError, match=r"one covariance per class.*Shared\(matrices, groups=y\)"):
            concatenate(parts)
        return
    both = concatenate(parts)
    np.testing.assert_array_equal(dense(both.mean), np.concatenate([a.means, b.means]))
    np.testing.assert_allclose(full_of(both), np.concatenate([a.full, b.full]), rtol=1e-12, atol=1e-13)
    assert scipy.sparse.issparse(both.mean) == (one == two == "diagonal CSR")


@every_kind
def test_the_halves_make_the_whole_again(kind):
    p = make_problem(kind, 9, 4)
    data = svmgsu.Gaussians(p.X, p.cov)
    whole = concatenate([data[:2], data[2:3], data[3:]])
    np.testing.assert_allclose(full_of(whole, p.y), p.full, rtol=1e-13, atol=1e-14)
    if not kind.endswith("sum") and "+" not in kind:
        assert type(whole.cov) is type(data.cov)
    if "shared" in kind or kind == "isotropic scalar":
        assert whole.cov.n_samples is None


def test_concatenation_takes_the_cheapest_kind():
    def of(cov, count=6, n=4):
        return svmgsu.Gaussians(np.zeros((count, n)), cov)

    V, S = np.ones((6, 4)), np.eye(4)
    csr = scipy.sparse.csr_array(np.eye(6, 4))
    for parts, wanted in [
        ([of(None), of(None)], "None"),
        ([of(None), of(V)], "Diagonal"),
        ([of(svmgsu.Isotropic(2.0)), of(V)], "Diagonal"),
        ([of(svmgsu.Isotropic(2.0)), of(np.ones(6))], "Isotropic"),
        ([of(svmgsu.Shared(S)), of(svmgsu.Shared(2 * S))], "Shared"),
        ([of(svmgsu.Shared(S)), of(None)], "Shared"),
        ([of(V), of(svmgsu.LowRank(V[:, None]))], "Full"),
        ([of(None), of(svmgsu.LowRank(V[:, None]))], "LowRank"),
        ([of(svmgsu.Full([S] * 6)), of(svmgsu.Full([S] * 6))], "Full"),
        ([of(svmgsu.Diagonal(csr)), of(None)], "Diagonal"),
        (
            [of(svmgsu.Diagonal(V) + svmgsu.Shared(S)), of(svmgsu.Diagonal(V) + svmgsu.Shared(S))],
            "Diagonal + Shared",
        ),
    ]:
        cov = concatenate(parts).cov
        assert re.sub(r"\([^)]*\)", "", repr(cov)) == wanted
    assert scipy.sparse.issparse(concatenate([of(svmgsu.Diagonal(csr)), of(None)]).cov.matrix)
    assert concatenate([of(V.astype("f4")), of(V.astype("f4"))]).cov.variances.dtype == np.float32


def test_what_cannot_be_concatenated_is_named():
    data = svmgsu.Gaussians(np.zeros((3, 2)), feature_names=["u", "g"])
    with pytest.raises(ValueError, match="part 1 has 4 features, but part 0 has 2"):
        concatenate([data, svmgsu.Gaussians(np.zeros((3, 4)))])
    with pytest.raises(TypeError, match="part 1 is list; expected Gaussians"):
        concatenate([data, []])
    with pytest.raises(ValueError, match="nothing to concatenate"):
        concatenate([])
    with pytest.raises(ValueError, match="the names of the features differ"):
        concatenate([data, svmgsu.Gaussians(np.zeros((3, 2)), feature_names=["u", "r"])])
    assert concatenate([data, svmgsu.Gaussians(np.ones((1, 2)))]).feature_names_in_ == [
        "u",
        "g",
    ]


# Draws


@every_kind
def test_draws_have_the_mean_and_the_covariance(kind):
    """Every entry within 6 standard errors: fewer than one of a hundred million is outside by chance."""
    p = make_problem(kind, 7, 4)
    k = 40_000
    draws = svmgsu.Gaussians(p.X, p.cov).sample(k, random_state=1, y=p.y)
    assert draws.shape == (7, k, 4)
    variances = np.diagonal(p.full, axis1=1, axis2=2)
    assert (np.abs(draws.mean(axis=1) - p.means) <= 6 * np.sqrt(variances / k) + 1e-11).all()
    centred = draws - p.means[:, None, :]
    covariance = centred.transpose(0, 2, 1) @ centred / k
    size = np.sqrt((variances[:, :, None] * variances[:, None, :] + p.full**2) / k)
    assert (np.abs(covariance - p.full) <= 6 * size + 1e-11).all()


def test_draws_repeat_with_their_seed():
    p = make_problem("sum", 5, 3)
    data = svmgsu.Gaussians(p.X, p.cov)
    np.testing.assert_array_equal(data.sample(4, 3), data.sample(4, np.random.default_rng(3)))
    np.testing.assert_array_equal(
        data.sample(2, np.random.RandomState(3)), data.sample(2, np.random.RandomState(3))
    )
    assert not np.array_equal(data.sample(4), data.sample(4))
    with pytest.raises(ValueError, match="k: must be at least 1"):
        data.sample(0)


# What it shows


def test_a_representation_says_how_large_the_errors_are():
    X = np.array([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]]) * np.sqrt(1.5)
    text = "Gaussians(3 samples, 2 features, cov=Diagonal(n_samples=3, n_features=2)"
    assert repr(svmgsu.Gaussians(X, std=[[0.5, 5.0]] * 3)) == text + ", typical error 0.5 of the spread)"
    assert repr(svmgsu.Gaussians(X)) == "Gaussians(3 samples, 2 features, cov=None)"
    assert "typical" not in repr(svmgsu.Gaussians(X[:1], std=0.5))
    assert "typical" not in repr(svmgsu.Gaussians(X, svmgsu.Shared({0: np.eye(2), 1: np.eye(2)})))


def test_a_notebook_shows_a_small_table():
    X = np.array([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]]) * np.sqrt(1.5)
    data = svmgsu.Gaussians(X, std=[[0.5, 5.0]] * 3, feature_names=["u", "<g>"])
    shown = data._repr_html_()
    assert shown.startswith("<table>") and "<caption>Gaussians</caption>" in shown
    for name, text in (
        ("samples", "3"),
        ("features", "2 (u, &lt;g&gt;)"),
        ("covariance", "Diagonal"),
        ("u", "error 0.5, spread 1, ratio 0.5"),
    ):
        assert f'<th scope="row">{name}</th><td>{text}</td>' in shown
    assert "<td>none</td>" in data.with_cov(None)._repr_html_()
    assert "<td>0.5 × Diagonal</td>" in data.scale_cov(0.5)._repr_html_()


# Copies


def by_joblib(data):
    file = io.BytesIO()
    joblib.dump(data, file)
    file.seek(0)
    return joblib.load(file)


COPIES = SimpleNamespace(
    pickle=lambda data: pickle.loads(pickle.dumps(data)),
    joblib=by_joblib,
    copy=copy.copy,
    deepcopy=copy.deepcopy,
)


@pytest.mark.parametrize("how", vars(COPIES))
@every_kind
def test_copies_are_the_same(kind, how):
    p = make_problem(kind)
    data = svmgsu.Gaussians(p.X, p.cov, feature_names=list("abcdefg"))
    again = getattr(COPIES, how)(data)
    assert again.feature_names_in_ == data.feature_names_in_
    assert (again.shape, repr(again)) == (data.shape, repr(data))
    np.testing.assert_array_equal(dense(again.mean), dense(data.mean))
    np.testing.assert_array_equal(full_of(again, p.y), full_of(data, p.y))


def test_variances_that_look_like_standard_deviations_are_warned_of():
    """Magnitudes spread by 0.1 with errors of 0.05: as variances these would be a noise of 0.22."""
    X = np.random.default_rng(0).normal(scale=0.1, size=(50, 3))
    E = np.full(X.shape, 0.05)
    with pytest.warns(
        UserWarning, match=r"noise .* exceeds the spread of the data in 3 of 3 features.*pass std="
    ):
        svmgsu.Gaussians(X, E)
    with pytest.warns(UserWarning, match="exceeds the spread"):
        svmgsu.train(X, np.arange(50) % 2, cov=E)
    for quiet in (E**2, svmgsu.Diagonal(E), 0.05):  # variances, variances that are said to be, a number
        svmgsu.Gaussians(X, quiet)
    svmgsu.Gaussians(X, std=E)
    svmgsu.Gaussians(X[:5], E[:5])  # a few samples have no spread to compare with


@pytest.mark.parametrize("columns", [["c", "a"], [2, 0], np.array([2, 0])], ids=["names", "list", "array"])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_are_selected_with_their_covariances_and_test_noise(columns, sparse):
    X = np.arange(6.0).reshape(2, 3)
    means = scipy.sparse.csr_array(X) if sparse else X
    data = svmgsu.Gaussians(means, std=X, feature_names=list("abc")).add_noise([1.0, 2.0, 3.0])
    some = data.select(columns)
    assert some.feature_names_in_ == ["c", "a"] and scipy.sparse.issparse(some.mean) == sparse
    np.testing.assert_array_equal(some.mean.toarray() if sparse else some.mean, X[:, [2, 0]])
    np.testing.assert_array_equal(some.cov.diagonals(2, 2), X[:, [2, 0]] ** 2)
    np.testing.assert_array_equal(some.test_noise.diagonals(2, 2), [[3.0, 1.0]] * 2)
    with pytest.raises(ValueError, match="features: there is no 'd' among the features"):
        data.select(["d"])
    with pytest.raises(ValueError, match="columns: a feature is chosen twice"):
        data.select([0, 0])
