"""Transformers to features: scikit-learn's conventions, metrics, what they take and give, and refusals."""

import pickle

import numpy as np
import pytest
from feature_cases import N, gaussians, mixtures, products
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu import _core
from svmgsu.propagate.features import fourier_map


def test_points_have_the_features_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(30, N))
    theirs = Nystroem(gamma=0.3, n_components=10, random_state=0).fit(X)
    ours = svmgsu.features.Landmarks(landmarks=theirs.components_, gamma=0.3)
    np.testing.assert_allclose(ours.fit_transform(X), theirs.transform(X), atol=1e-12)
    np.testing.assert_allclose(svmgsu.features.Polynomial().fit_transform(X), products(X), rtol=1e-14)
    names = PolynomialFeatures(2, include_bias=False).fit(X).get_feature_names_out()
    assert list(svmgsu.features.Polynomial().fit(X).get_feature_names_out()) == list(names)
    z = svmgsu.features.FourierFeatures(40_000, gamma=0.3).fit_transform(X)
    # a mean of 20000 cosines: six standard errors of at most 1
    assert np.abs(z @ z.T - rbf_kernel(X, gamma=0.3)).max() <= 6 / np.sqrt(20_000)


def test_transformers_take_and_give_what_they_say():
    data = gaussians("diagonal", count=6)
    for transformer in (
        svmgsu.features.FourierFeatures(n_features=10),
        svmgsu.features.Landmarks(5),
        svmgsu.features.Polynomial(),
    ):
        transformer.set_params(covariance="full").fit(data)
        full = transformer.transform(data)
        assert isinstance(full, svmgsu.Gaussians) and isinstance(full.cov, svmgsu.Full)
        assert transformer.transform(data.mean, data.cov).cov.packed.tolist() == full.cov.packed.tolist()
        assert isinstance(transformer.transform(data.mean), np.ndarray)
        assert transformer.transform(data.mean.astype(np.float32)).dtype == np.float32
        assert transformer.transform(mixtures()).shape == (3, full.shape[1])
        again = pickle.loads(pickle.dumps(transformer))
        assert np.array_equal(again.transform(data).mean, full.mean)
        assert transformer.set_params(covariance="diagonal").transform(data).cov.n_features == full.shape[1]
        assert transformer.set_params(covariance="none").transform(data).cov is None
        assert len(transformer.get_feature_names_out()) == full.shape[1]


def test_bad_input_is_an_error_that_names_it():
    X = np.random.default_rng(0).normal(size=(20, N))
    for transformer, words in (
        (svmgsu.features.FourierFeatures(gamma=0.0), "gamma: must be positive"),
        (svmgsu.features.FourierFeatures(gamma="wide"), 'gamma: expected one of "scale"'),
        (svmgsu.features.FourierFeatures(n_features=5), "n_features: a cosine and a sine"),
        (svmgsu.features.FourierFeatures(covariance="some"), "covariance: expected"),
        (svmgsu.features.Landmarks(landmarks="best"), "landmarks: expected"),
        (svmgsu.features.Landmarks(landmarks=np.eye(2)), "landmarks: 2 columns"),
    ):
        with pytest.raises(ValueError, match=words):
            transformer.fit(X)
    with pytest.raises(ValueError, match="test-time noise"):
        svmgsu.features.Polynomial().fit_transform(svmgsu.Gaussians(X, std=1.0).add_noise(0.1))
    wide = svmgsu.features.FourierFeatures(n_features=20_000, covariance="full").fit(X)
    many = svmgsu.Gaussians(np.repeat(X, 500, axis=0), std=1.0)
    with pytest.raises(MemoryError, match="'full' covariances of 20000 features of 10000 samples"):
        wide.transform(many)
    with pytest.raises(ValueError, match="the map is for 3"):
        _core.map_moments(
            fourier_map(np.eye(3)).core,
            svmgsu.Gaussians(np.zeros((2, 2))).core(),
            None,
            "none",
            np.empty((2, 6)),
            1,
        )


@parametrize_with_checks(
    [
        svmgsu.features.FourierFeatures(n_features=10),
        svmgsu.features.Landmarks(4),
        svmgsu.features.Polynomial(),
    ]
)
def test_transformers_pass_scikit_learns_checks(estimator, check):
    check(estimator)
