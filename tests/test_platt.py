"""Platt's sigmoid against SciPy on the same likelihood, and at scales that break naive code."""

import numpy as np
import pytest
import scipy.optimize
from conftest import train_with

from svmgsu import _core, reference


def sample(seed=0, count=300, shift=1.0, share=0.4):
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=count) < share, 1.0, -1.0)
    return rng.normal(size=count) + shift * y, y


def likelihood(theta, scores, y):
    """Lin, Lin and Weng's regularised negative log-likelihood and its gradient."""
    positives, negatives = (y > 0).sum(), (y < 0).sum()
    target = np.where(y > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    z = theta[0] * scores + theta[1]
    residual = target - np.exp(-np.logaddexp(0, z))
    return (target * z + np.logaddexp(0, -z)).sum(), np.array([residual @ scores, residual.sum()])


def by_scipy(scores, y):
    start = np.array([0.0, np.log(((y < 0).sum() + 1) / ((y > 0).sum() + 1))])
    options = {"gtol": 1e-9, "maxiter": 500}
    return scipy.optimize.minimize(likelihood, start, (scores, y), "BFGS", jac=True, options=options).x


def probability(theta, scores):
    return np.exp(-np.logaddexp(0, theta[0] * scores + theta[1]))


@pytest.mark.parametrize("share", [0.05, 0.4, 0.95])
@pytest.mark.parametrize("shift", [0.1, 1.0, 3.0])
def test_it_finds_scipy_s_minimum(shift, share):
    scores, y = sample(1, shift=shift, share=share)
    got = np.array(_core.fit_platt(scores, y))
    np.testing.assert_allclose(got, by_scipy(scores, y), rtol=1e-6, atol=1e-7)
    assert np.linalg.norm(likelihood(got, scores, y)[1]) <= 1e-8 * len(y)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_twin_s(seed):
    scores, y = sample(seed)
    np.testing.assert_allclose(_core.fit_platt(scores, y), reference.platt(scores, y), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e8])
def test_the_unit_of_the_scores_does_not_matter(scale):
    scores, y = sample()
    a, b = _core.fit_platt(scores, y)
    scaled_a, scaled_b = _core.fit_platt(scale * scores, y)
    np.testing.assert_allclose([scale * scaled_a, scaled_b], [a, b], rtol=1e-8)


@pytest.mark.parametrize("offset", [-1e6, 1e3])
def test_an_offset_of_the_scores_does_not_matter(offset):
    scores, y = sample()
    plain, moved = _core.fit_platt(scores, y), _core.fit_platt(scores + offset, y)
    np.testing.assert_allclose(probability(moved, scores + offset), probability(plain, scores), atol=1e-6)


@pytest.mark.parametrize("gap", [1e-8, 1.0, 1e8])
def test_separable_scores_give_finite_numbers_and_the_targets_as_probabilities(gap):
    y = np.where(np.arange(50) < 20, 1.0, -1.0)
    theta = np.array(_core.fit_platt(gap * y, y))
    assert np.isfinite(theta).all()
    assert theta[0] < 0
    np.testing.assert_allclose(probability(theta, gap * y), np.where(y > 0, 21 / 22, 1 / 32), rtol=1e-6)


def test_widely_separable_scores_give_finite_numbers():
    y = np.where(np.arange(50) < 20, 1.0, -1.0)
    scores = y * np.linspace(1, 1e4, 50)
    theta = np.array(_core.fit_platt(scores, y))
    assert np.isfinite(theta).all()
    assert (np.diff(probability(theta, np.sort(scores))) >= 0).all()


def test_a_majority_of_positives_is_no_special_case():
    scores, y = sample(4, share=0.97)
    got, mirrored = _core.fit_platt(scores, y), _core.fit_platt(-scores, -y)
    np.testing.assert_allclose(probability(got, scores), 1 - probability(mirrored, -scores), atol=1e-9)
    assert probability(got, scores).mean() > 0.9


@pytest.mark.parametrize("y", [[1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 1.0]])
def test_constant_scores_give_the_classes_shares(y):
    y = np.array(y)
    a, b = _core.fit_platt(np.full(len(y), 3.7), y)
    positives, negatives = (y > 0).sum(), (y < 0).sum()
    target = np.where(y > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2)).mean()
    assert probability((a, b), 3.7) == pytest.approx(target, rel=1e-9)


def test_a_weight_is_a_repetition_for_probabilities_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    X[:, 0] += y
    c = np.where(np.arange(30) < 10, 3, 1)
    settings = {"lam": 0.1, "std": 0.5, "solver": "sgd", "steps": 50, "batch_size": 30}
    weighted = train_with(X, y, sample_weight=c, **settings)
    repeated = train_with(np.repeat(X, c, axis=0), np.repeat(y, c), **{**settings, "batch_size": c.sum()})
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)  # k = l: every step is exact
    np.testing.assert_allclose(weighted.platt_, repeated.platt_, rtol=1e-7)


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="scores: number 1 is not finite"):
        _core.fit_platt(np.array([0.0, np.nan]), np.array([1.0, -1.0]))
