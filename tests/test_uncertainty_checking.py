"""Is the uncertainty plausible?"""

import warnings

import numpy as np
import pytest
import scipy.sparse
from conftest import UNCERTAIN_KINDS, make_problem
from scipy.stats import norm

import svmgsu
from svmgsu.uncertainty import LargeUncertaintyWarning, check


def two_classes(count, std, seed=0):
    """Correlated normal classes, and the direction that separates them best."""
    rng = np.random.default_rng(seed)
    S, apart = np.array([[1.0, 0.6], [0.6, 2.0]]), np.array([2.0, 0.5])
    y = np.arange(count) % 2
    X = rng.multivariate_normal([0, 0], S, size=count) + np.outer(y, apart)
    return svmgsu.Gaussians(X, std=std), y, np.linalg.solve(S, apart), apart


def test_by_hand():
    """Means 0, 2 and 10, 12: their spread is √26, within a class 1, and the classes are 10 apart."""
    data = svmgsu.Gaussians([[0.0], [2.0], [10.0], [12.0]], svmgsu.Diagonal([[1.0], [1.0], [1.0], [36.0]]))
    found = check(data, ["a", "a", "b", "b"])
    assert found.classes == ("a", "b") and found.dominated.tolist() == [3]
    noise = np.sqrt((1 + 1 + 1 + 36) / 4)
    np.testing.assert_allclose(found.ratio, 1 / np.sqrt(26))
    np.testing.assert_allclose([found.apart / found.within, found.apart / found.noise], [10, 10 / noise])
    np.testing.assert_allclose(found.overlap, norm.sf(5))
    np.testing.assert_allclose(found.overlap_of_draws, norm.sf(5 / np.hypot(1, noise)))
    assert "1 of 4 samples" in repr(found)


def test_overlaps_are_the_errors_of_the_best_line_on_means_and_on_draws():
    data, y, w, apart = two_classes(40_000, std=[[0.5, 1.0]] * 40_000)
    found = check(data, y)
    for X, overlap in ((data.mean, found.overlap), (data.sample(1, 0)[:, 0], found.overlap_of_draws)):
        wrong = ((X - apart / 2) @ w > 0) != y
        assert overlap == pytest.approx(wrong.mean(), abs=4 * 0.5 / np.sqrt(len(y)))


def test_of_three_classes_the_closest_two_are_named_and_too_much_noise_is_warned_of():
    y = np.repeat(["a", "b", "c"], 40)
    centres = {"a": [0, 0], "b": [9, 0], "c": [9, 3]}
    X = np.random.default_rng(0).normal(size=(120, 2)) + [centres[label] for label in y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check(svmgsu.Gaussians(X, std=1.0), y).classes == ("b", "c")
    with pytest.warns(LargeUncertaintyWarning, match="times the distance of the classes 'b' and 'c'"):
        check(svmgsu.Gaussians(X, std=5.0), y)
    with pytest.warns(LargeUncertaintyWarning, match="inf times"):
        check(svmgsu.Gaussians([[1.0], [1.0]], std=1.0), [0, 1])


@pytest.mark.parametrize("kind", UNCERTAIN_KINDS)
def test_every_kind_of_covariance_is_understood(kind):
    problem = make_problem(kind, count=30, n=4)
    found, plain = (
        check(svmgsu.Gaussians(problem.means, cov), problem.y)
        for cov in (problem.cov, svmgsu.Full(problem.full))
    )
    np.testing.assert_allclose(found.ratio, plain.ratio, rtol=1e-6)
    np.testing.assert_allclose([found.apart, found.noise], [plain.apart, plain.noise], rtol=1e-6)


def test_constant_features_and_sparse_means():
    data, y, _, _ = two_classes(100, std=1.0)
    constant = svmgsu.Gaussians(scipy.sparse.csr_array(np.c_[data.mean, np.ones(100)]), std=1.0)
    found = check(constant, y)
    assert np.isinf(found.ratio[2]) and np.isfinite(found.ratio[:2]).all()
    assert "largest: feature 2" in repr(found)
