"""Moments of features of Gaussians and mixtures against sampling and quadrature."""

import mpmath
import numpy as np
import pytest
from feature_cases import MAPS, N, full_of, gaussians, kinds, mixtures

import svmgsu
from svmgsu.propagate.features import fourier_map, landmark_map, polynomial_map

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


@every_map
def test_mixtures_with_variances_are_those_with_diagonal_matrices(name):
    feature_map, _ = MAPS[name]
    data = mixtures()
    variances = np.ascontiguousarray(np.diagonal(data.cov, axis1=2, axis2=3))
    plain = svmgsu.Mixtures(data.weights, data.mean, variances)
    full = svmgsu.Mixtures(data.weights, data.mean, variances[..., np.newaxis] * np.eye(N))
    np.testing.assert_allclose(feature_map.mean(plain), feature_map.mean(full), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("x, v, w", [(0.3, 0.5, 1.7), (-2.0, 4.0, 0.2), (0.0, 1e-3, 9.0), (5.0, 30.0, 1.0)])
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
        check(landmark_map(np.array([[0.5]]), 0.7), [lambda t: mpmath.exp(-0.7 * (t - 0.5) ** 2)])
        check(polynomial_map(1), [lambda t: t, lambda t: t * t])


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


def test_huge_uncertainty_leaves_nothing_of_the_mean_and_all_of_the_variance():
    for variance in (1e3, 1e9, 1e200):
        data = svmgsu.Gaussians(np.ones((1, N)), std=np.sqrt(variance))
        z = MAPS["fourier"][0].gaussians(data, "full")
        assert np.abs(z.mean).max() <= 1e-30
        # cos² and sin² of a uniform angle are ½ on the average, over R = 4 frequencies
        np.testing.assert_allclose(z.cov.diagonals(1, 8), 1 / 8, rtol=1e-12)
        off = z.cov.to_full()[0] - np.eye(8) / 8
        assert np.abs(off).max() <= 1e-12
        z = MAPS["landmarks"][0].gaussians(data, "diagonal")
        assert np.isfinite(z.mean).all() and np.abs(z.mean).max() <= 10 / variance**0.4


def test_small_uncertainty_is_that_of_the_first_order():
    data = gaussians("full")
    tiny = data.scale_cov(1e-10)
    for name, (feature_map, _) in MAPS.items():
        full = full_of(feature_map.gaussians(tiny, "full"))
        low = full_of(feature_map.gaussians(tiny, "lowrank"))
        np.testing.assert_allclose(low, full, rtol=1e-4, atol=1e-14, err_msg=name)
    exact = MAPS["fourier"][0].gaussians(data, "full")
    low = MAPS["fourier"][0].gaussians(data, "lowrank")
    np.testing.assert_allclose(low.cov.diagonals(4, 8), exact.cov.diagonals(4, 8), rtol=1e-12)


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
