"""Simulated transformations."""

import numpy as np
import pytest
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import from_augmentation

ROOT = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 0.1]])


def noise(x, rng):
    return x + rng.normal(size=3) @ ROOT


def two_places(x, rng):
    return x + rng.choice([-1.0, 1.0]) * np.array([3.0, 4.0, 0.0])


X = np.random.default_rng(0).normal(size=(40, 3))


def test_by_hand():
    """Two places 10 apart, about half of the draws at each: one direction, (3, 4, 0) scaled."""
    data = from_augmentation(X[:1], two_places, n=1000, rank=1)
    direction = data.cov.factors[0] / np.linalg.norm(data.cov.factors[0])
    np.testing.assert_allclose(np.abs(direction), [0.6, 0.8, 0.0], atol=1e-12)
    share = (data.mean[0, 0] - X[0, 0] + 3) / 6
    assert np.sum(data.cov.factors**2) == pytest.approx(4 * 25 * share * (1 - share) * 1000 / 999)


def test_the_moments_are_those_of_more_draws():
    data = from_augmentation(X[:1], noise, n=50_000, rank=3)
    rng = np.random.default_rng(1)
    more = X[0] + rng.normal(size=(200_000, 3)) @ ROOT
    assert_moments(more, data.mean[0], data.cov.to_full()[0], slack=0.03)  # the builder samples, too


@pytest.mark.parametrize("draws", [5, 30])
def test_few_and_many_draws_give_the_covariance_of_numpy(draws):
    wide = np.random.default_rng(2).normal(size=(4, 12))
    seen = []

    def shake(x, rng):
        seen.append(x + rng.normal(size=12))
        return seen[-1]

    data = from_augmentation(wide, shake, n=draws, rank=min(draws - 1, 12))
    covariances = [np.cov(np.array(seen[draws * i : draws * (i + 1)]).T) for i in range(4)]
    np.testing.assert_allclose(data.cov.to_full(), covariances, atol=1e-10)


def test_by_default_eight_directions_are_kept_or_all():
    for features, draws, kept in ((3, 30, 3), (20, 30, 8), (20, 5, 4)):
        data = from_augmentation(np.ones((1, features)), lambda x, rng: x + rng.normal(size=x.shape), n=draws)
        assert len(data.cov.factors) == kept


def test_a_rank_keeps_the_largest_directions():
    everything = from_augmentation(X, noise, n=30, rank=3)
    some = from_augmentation(X, noise, n=30, rank=1)
    values, vectors = np.linalg.eigh(everything.cov.to_full())
    leading = values[:, -1, None, None] * vectors[:, :, -1:] @ vectors[:, :, -1:].transpose(0, 2, 1)
    np.testing.assert_allclose(some.cov.to_full(), leading, atol=1e-10)


def test_the_same_seed_gives_the_same_bits():
    one, two = (from_augmentation(X, noise, n=20, rank=2, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.mean, two.mean)
    np.testing.assert_array_equal(one.cov.factors, two.cov.factors)
    other = from_augmentation(X, noise, n=20, rank=2, seed=6)
    assert not np.array_equal(one.mean, other.mean)


def test_an_example_draws_the_same_whoever_comes_after_it():
    few, many = (from_augmentation(X[:k], noise, n=10, rank=2) for k in (3, 40))
    np.testing.assert_array_equal(few.mean, many.mean[:3])
    assert not np.allclose(many.mean[0] - X[0], many.mean[1] - X[1])


def test_images_go_in_as_images_and_come_out_as_rows():
    images = np.random.default_rng(0).uniform(size=(5, 6, 7)).astype(np.float32)
    seen = set()

    def crop(image, rng):
        seen.add(image.shape)
        image *= 2  # a copy: the data stay
        return image[1:5, 1:6]

    kept = images.copy()
    data = from_augmentation(images, crop, n=4, rank=2)
    assert seen == {(6, 7)}
    assert data.shape == (5, 20)
    np.testing.assert_array_equal(images, kept)
    np.testing.assert_allclose(data.mean, 2 * images[:, 1:5, 1:6].reshape(5, -1))
    assert data.mean.dtype == data.cov.factors.dtype == np.float32
    assert not data.cov.factors.any()


def test_the_result_trains():
    data = from_augmentation(X, noise, n=10, rank=3)
    assert np.isfinite(svmgsu.train(data, np.arange(40) % 2, lam=0.1).coef_).all()
