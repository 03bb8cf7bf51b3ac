"""Repeats of each sample."""

import numpy as np
import pytest
from moments import assert_moments
from sklearn.covariance import LedoitWolf
from sklearn.preprocessing import StandardScaler

import svmgsu
from svmgsu.uncertainty import from_repeats

KINDS = ("diagonal", "full", "lowrank", "ledoit_wolf")


def ragged(sizes=(2, 5, 9, 3), n=4, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(k, n)) @ rng.normal(size=(n, n)) + 5).astype(dtype) for k in sizes]


def wanted(groups, kind):
    if kind == "ledoit_wolf":  # in units of the deviations within the groups
        squares = sum(((g - g.mean(axis=0)) ** 2).sum(axis=0) for g in groups)
        unit = np.sqrt(squares / sum(len(g) - 1 for g in groups))
        return [LedoitWolf().fit(g / unit).covariance_ * np.outer(unit, unit) for g in groups]
    full = [np.cov(g.T) for g in groups]
    return [np.diag(np.diag(S)) for S in full] if kind == "diagonal" else full


def test_by_hand():
    data = from_repeats([[[0.0, 0.0], [2.0, 4.0]]], covariance="full")
    np.testing.assert_allclose(data.mean, [[1, 2]])
    np.testing.assert_allclose(data.cov.to_full(), [[[2, 4], [4, 8]]])


@pytest.mark.parametrize("kind", KINDS)
def test_covariances_are_those_of_numpy_and_scikit_learn(kind):
    groups = ragged()
    data = from_repeats(groups, covariance=kind)
    np.testing.assert_allclose(data.mean, [g.mean(axis=0) for g in groups])
    np.testing.assert_allclose(data.cov.to_full(), wanted(groups, kind), rtol=1e-10, atol=1e-10)
    divided = from_repeats(groups, covariance=kind, of_mean=True).cov.to_full()
    sizes = np.array([len(g) for g in groups])
    np.testing.assert_allclose(divided * sizes[:, None, None], data.cov.to_full(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_group_ids_are_the_same_in_any_order(kind):
    groups = ragged()
    ids = np.repeat(["b", "d", "a", "c"], [len(g) for g in groups])
    rows = np.concatenate(groups)
    shuffled = np.random.default_rng(1).permutation(len(rows))
    listed = from_repeats([groups[i] for i in (2, 0, 3, 1)], covariance=kind)  # a, b, c, d
    grouped = from_repeats(rows[shuffled], ids[shuffled], covariance=kind)
    np.testing.assert_allclose(grouped.mean, listed.mean)
    np.testing.assert_allclose(grouped.cov.to_full(), listed.cov.to_full(), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter(kind):
    """Metres or millimetres: the covariances are the same, in their units."""
    units = np.array([1.0, 1e3, 1e-3, 1.0])
    groups = ragged((3, 4, 6))
    one, other = (from_repeats([g * u for g in groups], covariance=kind).cov.to_full() for u in (1.0, units))
    np.testing.assert_allclose(other, one * np.outer(units, units), rtol=1e-8)


def test_two_samples_each_are_shrunk_to_what_training_takes():
    rng = np.random.default_rng(0)
    data = from_repeats(list(rng.normal(size=(200, 2, 3)) * [1.0, 1e4, 1e-4]), covariance="ledoit_wolf")
    scaled = svmgsu.Propagate(StandardScaler()).fit_transform(data)
    svmgsu.LinearSVMGSU(0.01, probability=False).fit(scaled, scaled.mean[:, 0] > 0)
    assert np.linalg.eigvalsh(data.cov.scale_features([1.0, 1e-4, 1e4]).to_full()).min() > -1e-12


def test_low_rank_has_as_many_factors_as_the_samples_determine():
    cov = from_repeats(ragged((2, 5, 9, 3)), covariance="lowrank").cov
    assert isinstance(cov, svmgsu.LowRank)
    np.testing.assert_array_equal(np.diff(cov.start), [1, 4, 4, 2])  # min(k − 1, n) with n = 4


def test_low_rank_of_wide_examples_forms_no_matrix():
    import tracemalloc

    n = 20_000  # a matrix would take 3.2 GB
    groups = ragged((3, 2), n=2)
    wide = [np.repeat(g, n // 2, axis=1) for g in groups]
    tracemalloc.start()
    data = from_repeats(wide, covariance="lowrank")
    assert tracemalloc.get_traced_memory()[1] < 20 * sum(g.nbytes for g in wide)
    tracemalloc.stop()
    assert data.cov.factors.shape == (3, n)


def test_the_covariance_is_that_of_more_samples_and_of_mean_that_of_averages():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    known = rng.normal(size=(200_000, 3)) @ root
    data = from_repeats([known], covariance="full")
    assert_moments(rng.normal(size=(200_000, 3)) @ root, data.mean[0], data.cov.to_full()[0], slack=0.02)
    averages = (rng.normal(size=(200_000, 7, 3)) @ root).mean(axis=1)
    seven = from_repeats((rng.normal(size=(40_000, 7, 3)) @ root), covariance="full", of_mean=True)
    assert_moments(averages, np.zeros(3), seven.cov.to_full().mean(axis=0), slack=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_sample_is_refused_or_gets_what_the_others_share(kind):
    groups = [*ragged(), np.ones((1, 4))]
    with pytest.raises(ValueError, match=r'repeats: sample 4 has one repeat.*single="pooled"'):
        from_repeats(groups, covariance=kind)
    data = from_repeats(groups, covariance=kind, single="pooled")
    D = np.concatenate([g - g.mean(axis=0) for g in groups])
    pooled = D.T @ D / sum(len(g) - 1 for g in groups)
    expected = pooled if kind == "full" else np.diag(np.diag(pooled))
    np.testing.assert_allclose(data.cov.to_full()[4], expected, atol=1e-10)
    np.testing.assert_allclose(
        data.cov.to_full()[:4], from_repeats(groups[:4], covariance=kind).cov.to_full()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_and_the_result_trains(kind):
    groups = ragged((4, 5, 6, 5), dtype=np.float32)
    data = from_repeats(groups, covariance=kind)
    assert data.mean.dtype == np.float32
    parts = [k for _, k in data.cov.parts] if hasattr(data.cov, "parts") else [data.cov]
    arrays = [getattr(p, a) for p in parts for a in ("variances", "factors", "packed") if hasattr(p, a)]
    assert arrays
    assert all(a.dtype == np.float32 for a in arrays)
    reference = from_repeats([g.astype(float) for g in groups], covariance=kind)
    np.testing.assert_allclose(data.cov.to_full(), reference.cov.to_full(), rtol=1e-4, atol=1e-5)
    assert np.isfinite(svmgsu.train(data, [0, 1, 0, 1], lam=0.1).coef_).all()


@pytest.mark.parametrize("kind", KINDS)
def test_samples_that_do_not_vary_are_certain(kind):
    data = from_repeats([np.ones((3, 2)), np.zeros((2, 2))], covariance=kind)
    assert not data.cov.to_full().any()
