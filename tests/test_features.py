"""Transformers to features: scikit-learn's conventions, metrics, what they take and give, and refusals."""

import pickle

import mpmath
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu.propagate.features import fourier_map, polynomial_map

rng = np.random.default_rng(7)
N = 3
FREQUENCIES = rng.normal(size=(4, N))


def fourier(x):
    angles = x @ FREQUENCIES.T
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=-1) / 2.0


def products(x):
    flat = PolynomialFeatures(2, include_bias=False).fit_transform(x.reshape(-1, x.shape[-1]))
    return flat.reshape(*x.shape[:-1], -1)


MAPS = {
    "fourier": (fourier_map(FREQUENCIES), fourier),
    "polynomial": (polynomial_map(N), products),
}


def kinds(count, seed=0):
    """Every kind of covariance, of count × N examples."""
    draw = np.random.default_rng(seed)
    roots = draw.normal(size=(count, N, N)) * 0.4
    variances = draw.uniform(0.01, 0.5, size=(count, N))
    low = svmgsu.LowRank(draw.normal(size=(count, 2, N)) * 0.4)
    return {
        "none": None,
        "isotropic": svmgsu.Isotropic(variances[:, 0]),
        "diagonal": svmgsu.Diagonal(variances),
        "float32": svmgsu.Diagonal(variances.astype(np.float32)),
        "full": svmgsu.Full(roots @ roots.transpose(0, 2, 1)),
        "low rank": low,
        "shared": svmgsu.Shared(roots[0] @ roots[0].T),
        "a sum": low + 0.5 * svmgsu.Diagonal(variances) + svmgsu.Shared(variances[0]),
    }


def gaussians(kind="full", count=4, seed=0):
    draw = np.random.default_rng([seed, 1])
    return svmgsu.Gaussians(draw.normal(size=(count, N)), kinds(count, seed)[kind])


def full_of(data):
    """The covariances of data as (l, n, n)."""
    count, n = data.shape
    return np.zeros((count, n, n)) if data.cov is None else data.cov.to_full(count, n)


def mixtures(count=3, components=4):
    """Mixtures, of which the first example has a component of weight 0."""
    draw = np.random.default_rng(2)
    weights = draw.dirichlet(np.ones(components), size=count)
    weights[0, :2] = 0.0, weights[0, :2].sum()
    roots = draw.normal(size=(count, components, N, N)) * 0.3
    return svmgsu.Mixtures(weights, draw.normal(size=(count, components, N)), roots @ roots.swapaxes(-1, -2))


def test_points_have_the_features_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(30, N))
    np.testing.assert_allclose(svmgsu.features.Polynomial().fit_transform(X), products(X), rtol=1e-14)
    names = PolynomialFeatures(2, include_bias=False).fit(X).get_feature_names_out()
    assert list(svmgsu.features.Polynomial().fit(X).get_feature_names_out()) == list(names)
    z = svmgsu.features.FourierFeatures(40_000, gamma=0.3).fit_transform(X)
    # A mean of 20000 cosines: six standard errors of at most 1.
    assert np.abs(z @ z.T - rbf_kernel(X, gamma=0.3)).max() <= 6 / np.sqrt(20_000)


def test_transformers_take_and_give_what_they_say():
    data = gaussians("diagonal", count=6)
    for transformer in (
        svmgsu.features.FourierFeatures(n_features=10),
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
    ):
        with pytest.raises(ValueError, match=words):
            transformer.fit(X)
    with pytest.raises(ValueError, match="test-time noise"):
        svmgsu.features.Polynomial().fit_transform(svmgsu.Gaussians(X, std=1.0).add_noise(0.1))
    wide = svmgsu.features.FourierFeatures(n_features=20_000, covariance="full").fit(X)
    many = svmgsu.Gaussians(np.repeat(X, 500, axis=0), std=1.0)
    with pytest.raises(MemoryError, match="'full' covariances of 20000 features of 10000 samples"):
        wide.transform(many)


@parametrize_with_checks(
    [
        svmgsu.features.FourierFeatures(n_features=10),
        svmgsu.features.Polynomial(),
    ]
)
def test_transformers_pass_scikit_learns_checks(estimator, check):
    check(estimator)


every_map = pytest.mark.parametrize("name", MAPS)


@every_map
def test_first_and_second_moments_are_those_of_draws(name):
    feature_map, function = MAPS[name]
    data = gaussians("full")
    draws = 200_000
    found = feature_map.gaussians(data, "full")
    full = found.cov.to_full()
    for i, x in enumerate(data.sample(draws, random_state=3)):
        z = function(x)
        spread = np.cov(z.T)
        deviation = np.sqrt(np.diagonal(spread))
        assert (np.abs(found.mean[i] - z.mean(axis=0)) <= 6 * deviation / np.sqrt(draws) + 1e-12).all()
        # the variance of a product of deviations is at most √(E d⁴ E d′⁴)
        fourth = ((z - z.mean(axis=0)) ** 4).mean(axis=0) ** 0.25
        allowed = 6 * np.outer(fourth**2, fourth**2) ** 0.5 / np.sqrt(draws) + 1e-12
        assert (np.abs(full[i] - spread) <= allowed).all()


@pytest.mark.parametrize("kind", kinds(1))
@every_map
def test_every_kind_has_the_moments_of_its_matrices(name, kind):
    feature_map, _ = MAPS[name]
    data = gaussians(kind)
    dense = svmgsu.Gaussians(data.mean, svmgsu.Full(full_of(data)))
    for spread in ("none", "diagonal", "full"):
        found, wanted = feature_map.gaussians(data, spread), feature_map.gaussians(dense, spread)
        np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(full_of(found), full_of(wanted), rtol=1e-6, atol=1e-9)


@every_map
def test_mixtures_have_the_moments_of_all_their_components(name):
    feature_map, _ = MAPS[name]
    data = mixtures()
    found, diagonal = feature_map.gaussians(data, "full"), feature_map.gaussians(data, "diagonal")
    full = found.cov.to_full()
    for i in range(len(data)):
        parts = feature_map.gaussians(
            svmgsu.Gaussians(data.mean[i], svmgsu.Full(data.cov[i], psd="clip")), "full"
        )
        r = data.weights[i]
        mean = r @ parts.mean
        apart = parts.mean - mean
        cov = np.einsum("k,kab->ab", r, parts.cov.to_full()) + np.einsum("k,ka,kb->ab", r, apart, apart)
        np.testing.assert_allclose(found.mean[i], mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(full[i], cov, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        diagonal.cov.diagonals(*diagonal.shape), np.diagonal(full, axis1=1, axis2=2), rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("x, v, w", [(0.3, 0.5, 1.7), (5.0, 30.0, 1.0)])
def test_moments_in_one_dimension_are_those_of_quadrature(x, v, w):
    data = svmgsu.Gaussians([[x]], [[v]])
    with mpmath.workdps(20):

        def expected(function):
            density = mpmath.mpf(1) / mpmath.sqrt(2 * mpmath.pi * v)
            reach = 12 * mpmath.sqrt(v)
            return mpmath.quad(
                lambda t: function(t) * density * mpmath.exp(-((t - x) ** 2) / (2 * mpmath.mpf(v))),
                mpmath.linspace(x - reach, x + reach, 16),
            )

        def check(feature_map, functions):
            z = feature_map.gaussians(data, "full")
            cov = z.cov.to_full()[0]
            means = [expected(f) for f in functions]
            for j, f in enumerate(functions):
                assert abs(z.mean[0, j] - means[j]) <= 1e-13 * max(1, abs(means[j]))
                for k, g in list(enumerate(functions))[j:]:
                    wanted = expected(lambda t, f=f, g=g, j=j, k=k: (f(t) - means[j]) * (g(t) - means[k]))
                    assert abs(cov[j, k] - wanted) <= 1e-13 * max(1, abs(wanted), means[j] ** 2)

        pair = fourier_map(np.array([[w], [w / 2]]))
        root = mpmath.sqrt(2)
        check(
            pair,
            [
                lambda t: mpmath.cos(w * t) / root,
                lambda t: mpmath.cos(w / 2 * t) / root,
                lambda t: mpmath.sin(w * t) / root,
                lambda t: mpmath.sin(w / 2 * t) / root,
            ],
        )
        check(polynomial_map(1), [lambda t: t, lambda t: t * t])


@every_map
def test_the_bits_are_the_same_for_any_number_of_threads(name):
    feature_map, _ = MAPS[name]
    data = gaussians("full", count=200)

    def everything(threads):
        z = feature_map.gaussians(data, "full", threads=threads)
        yield z.mean
        yield z.cov.packed

    for one, three in zip(everything(1), everything(3), strict=True):
        assert np.array_equal(one, three)


def test_decays_keep_their_digits_where_cosh_overflows_and_where_it_is_one():
    for g, q in (
        (1e-12, 1e-12),
        (1e-6, 2e-6),
        (0.2, 0.3),
        (0.3, 0.3),
        (3.0, 3.1),
        (800.0, 800.5),
        (1e5, 1e5),
    ):
        # two frequencies in two dimensions whose G and q are these numbers
        lower = np.linalg.cholesky(np.array([[q, g], [g, q * (1 + 1e-9)]]))
        feature_map = fourier_map(lower)
        data = svmgsu.Gaussians(np.zeros((1, 2)), std=1.0)
        cov = full_of(feature_map.gaussians(data, "full"))[0]
        G = lower @ lower.T
        with mpmath.workdps(40):
            half = (mpmath.mpf(G[0, 0]) + mpmath.mpf(G[1, 1])) / 2
            even = (mpmath.cosh(G[0, 1]) - 1) * mpmath.exp(-half) / 2
            odd = mpmath.sinh(G[0, 1]) * mpmath.exp(-half) / 2
            # at x = 0 the cosines have cosh G - 1, the sines sinh G; h is rounded to its own digits
            slack = 1e-13 + 4e-16 * float(half)
            assert abs(cov[0, 1] - even) <= slack * abs(even)
            assert abs(cov[2, 3] - odd) <= slack * abs(odd)
