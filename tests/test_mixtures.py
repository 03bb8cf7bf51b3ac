"""`Mixtures`: a container of mixtures of Gaussians that can be sliced, joined and drawn from."""

import pickle

import numpy as np
import pytest
from conftest import spd
from moments import assert_moments
from sklearn.utils import _safe_indexing

import svmgsu

NAMES = ["u", "größe"]


def mixtures(count=5, components=3, n=2, seed=0, diagonal=False, names=None):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(components), count)
    mean = rng.normal(size=(count, components, n))
    cov = spd(rng, count * components, n).reshape(count, components, n, n)
    if diagonal:
        cov = np.ascontiguousarray(np.diagonal(cov, axis1=2, axis2=3))
    return svmgsu.Mixtures(weights, mean, cov, feature_names=names)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("weights", "mean", "cov"))


def test_it_is_sliced_like_an_array():
    data = mixtures()
    assert data.shape == (5, 2) and len(data) == 5 and data.n_components == 3
    mask = np.array([True, False, True, False, True])
    for some in (data[::2], data[[0, 2, 4]], data[mask], data[(np.array([0, 2, 4]), ...)]):
        assert same(some, svmgsu.Mixtures(data.weights[::2], data.mean[::2], data.cov[::2]))
    assert same(_safe_indexing(data, [1, 3]), data[[1, 3]])
    assert np.shares_memory(data[1:3].cov, data.cov)
    for key, message in ((3, "one sample is chosen"), ([7], "out of range"), (slice(3, 3), "chooses none")):
        with pytest.raises(IndexError, match=message):
            data[key]


@pytest.mark.parametrize("diagonal", [True, False])
def test_one_gaussian_has_the_moments_of_draws_from_the_mixture(diagonal):
    data = mixtures(3, diagonal=diagonal, names=NAMES)
    joined, draws = data.to_gaussians(), data.sample(100_000, random_state=0)
    assert joined.feature_names_in_ == NAMES
    for i in range(3):
        assert_moments(draws[i], joined.mean[i], joined.cov.to_full()[i])


def test_blocks_do_not_show(monkeypatch):
    data = mixtures(7)
    whole, drawn = data.to_gaussians(), data.sample(2, random_state=1)
    monkeypatch.setattr("svmgsu.support.arrays.BLOCK", 1)
    np.testing.assert_array_equal(data.to_gaussians().cov.packed, whole.cov.packed)
    np.testing.assert_array_equal(data.sample(2, random_state=1), drawn)


@pytest.mark.parametrize("diagonal", [True, False])
def test_it_comes_back_from_a_pickle(diagonal):
    data = mixtures(diagonal=diagonal, names=NAMES)
    back = pickle.loads(pickle.dumps(data))
    assert same(back, data) and back.feature_names_in_ == NAMES and back.shape == data.shape


def test_it_shows_what_it_is():
    assert repr(mixtures()) == "Mixtures(5 samples, 2 features, 3 components, full covariances)"
    text = mixtures(names=["<b>", "x"])._repr_html_()
    assert "&lt;b&gt;" in text and "components that a sample uses" in text
    with pytest.raises(TypeError, match="Mixtures are no plain array"):
        np.asarray(mixtures())
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(mixtures())


def test_float32_stays():
    data = mixtures()
    single = svmgsu.Mixtures(*(a.astype(np.float32) for a in (data.weights, data.mean, data.cov)))
    assert single.to_gaussians().mean.dtype == single.to_gaussians().cov.packed.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": np.ones((2, 2))}, "mean: expected 3 dimensions"),
        ({"mean": np.ones((0, 2, 2))}, "mean: there is no sample"),
        ({"mean": np.full((2, 2, 2), np.nan)}, "mean: sample 0"),
        ({"weights": np.ones((2, 3))}, r"weights: shape \(2, 3\) for means of 2 samples with 2 components"),
        ({"weights": [[0.5, 0.5], [1.5, -0.5]]}, "weights: sample 1 has -0.5 for component 1"),
        ({"weights": [[0.5, 0.5], [0.5, 0.4]]}, "weights: those of sample 1 sum to 0.9"),
        ({"cov": np.ones((2, 2, 3))}, r"cov: shape \(2, 2, 3\); expected variances \(2, 2, 2\)"),
        ({"cov": -np.ones((2, 2, 2))}, "cov: sample 0 has variance -1"),
        (
            {"cov": np.array([np.eye(2)] * 3 + [[[1, 1], [0, 1]]]).reshape(2, 2, 2, 2)},
            "sample 1, component 1",
        ),
        (
            {"cov": np.array([np.eye(2)] * 2 + [[[1, 2], [2, 1]]] * 2).reshape(2, 2, 2, 2)},
            "not positive semi",
        ),
        ({"feature_names": ["a"]}, "feature_names: expected 2 strings"),
    ],
)
def test_errors_say_what_is_wrong(change, message):
    good = {"weights": np.full((2, 2), 0.5), "mean": np.ones((2, 2, 2)), "cov": np.ones((2, 2, 2))}
    with pytest.raises(ValueError, match=message):
        svmgsu.Mixtures(**good | change)
