"""Error bars."""

import numpy as np
import pandas as pd
import pytest
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import from_errors

X = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 50.0]])


def variances(data):
    return data.cov.variances


@pytest.mark.parametrize(
    ("std", "wanted"),
    [
        (0.5, np.full((3, 2), 0.25)),
        ([0.1, 2.0], [[0.01, 4.0]] * 3),
        ([1.0, 2.0, 3.0], [[1, 1], [4, 4], [9, 9]]),
        ([[1.0], [2.0], [3.0]], [[1, 1], [4, 4], [9, 9]]),
        (X / 10, (X / 10) ** 2),
    ],
)
def test_bars_are_for_all_a_feature_an_example_or_a_value(std, wanted):
    data = from_errors(X, std)
    assert isinstance(data.cov, svmgsu.Diagonal)
    np.testing.assert_allclose(variances(data), wanted)
    np.testing.assert_array_equal(data.mean, X)


def test_one_dimension_is_ambiguous_for_as_many_examples_as_features():
    with pytest.raises(ValueError, match=r"std: shape \(2,\) is ambiguous.*std\[:, None\]"):
        from_errors(X[:2], [1.0, 2.0])
    np.testing.assert_allclose(variances(from_errors(X[:2], [[1.0], [2.0]])), [[1, 1], [4, 4]])


@pytest.mark.parametrize("centre", ["median", "mode"])
def test_asymmetric_bars_have_the_moments_of_two_half_normals(centre):
    up, down = np.array([2.0, 0.3]), np.array([0.5, 0.4])
    data = from_errors(X[:1], upper=up[None], lower=down[None], centre=centre)
    rng = np.random.default_rng(0)
    above = rng.uniform(size=(200_000, 2)) < (0.5 if centre == "median" else up / (up + down))
    z = np.abs(rng.normal(size=above.shape))
    draws = X[0] + np.where(above, up * z, -down * z)
    assert_moments(draws, data.mean[0], variances(data)[0])


def test_bars_of_the_median_are_the_quantiles_of_one_deviation():
    """By hand: (2 − 1)/√(2π) = 0.39894 to the right, variance 5/2 − 1/(2π) = 2.34085."""
    data = from_errors([[10.0]], upper=2.0, lower=1.0)
    assert data.mean[0, 0] == pytest.approx(10.39894228)
    assert variances(data)[0, 0] == pytest.approx(2.34084506)


def test_symmetric_bars_are_the_special_case_and_a_minus_sign_is_forgiven():
    for centre in ("median", "mode"):
        both = from_errors(X, upper=0.5, lower=-0.5, centre=centre)
        np.testing.assert_allclose(both.mean, X)
        np.testing.assert_allclose(variances(both), 0.25)
    with pytest.raises(ValueError, match="lower: sample 1 has standard deviation -1 at feature 0"):
        from_errors(X, upper=1.0, lower=[[1.0], [-1.0], [1.0]])


def test_linear_errors_of_logarithms():
    """By hand: log10 of 100 ± 10 has the deviation 10/(100 ln 10) = 0.0434294."""
    data = from_errors(np.log10([[100.0]]), 10.0, units="linear of log10")
    assert np.sqrt(variances(data)[0, 0]) == pytest.approx(0.04342945)
    draws = np.log10(100 + np.random.default_rng(0).normal(scale=1.0, size=(100_000, 1)))
    small = from_errors(np.log10([[100.0]]), 1.0, units="linear of log10")
    assert_moments(draws, small.mean[0], variances(small)[0], slack=0.01)  # σ/x = 1 %: second order
    natural = from_errors(np.log([[100.0]]), 10.0, units="linear of log")
    assert np.sqrt(variances(natural)[0, 0]) == pytest.approx(0.1)
    relative = from_errors([[-100.0]], 0.02, units="relative")
    assert np.sqrt(variances(relative)[0, 0]) == pytest.approx(2.0)


def test_a_floor_raises_short_bars():
    bars = np.array([[0.0, 0.2], [0.5, 0.0], [0.3, 0.1]])
    np.testing.assert_allclose(np.sqrt(variances(from_errors(X, bars, floor=0.15))), np.maximum(bars, 0.15))
    by_feature = np.sqrt(variances(from_errors(X, bars, floor=[0.1, 0.4])))
    np.testing.assert_allclose(by_feature, np.maximum(bars, [0.1, 0.4]))
    smallest = np.sqrt(variances(from_errors(X, bars, floor="smallest")))
    np.testing.assert_allclose(smallest, [[0.3, 0.2], [0.5, 0.1], [0.3, 0.1]])
    assert not variances(from_errors(X, 0.0, floor="smallest")).any()


def test_float32_stays():
    for data in (
        from_errors(X.astype(np.float32), 0.5),
        from_errors(X.astype(np.float32), upper=1.0, lower=2.0),
    ):
        assert data.mean.dtype == variances(data).dtype == np.float32


@pytest.mark.parametrize("argument", ["std", "upper", "lower"])
def test_bars_in_a_frame_of_another_order_are_refused(argument):
    frame = pd.DataFrame(X, columns=["a", "b"])
    bars = {argument: frame[["b", "a"]]}
    if argument in ("upper", "lower"):
        bars = {"upper": frame, "lower": frame} | bars
    with pytest.raises(ValueError, match=rf"{argument}: its columns are 'b', 'a', but those of X"):
        from_errors(frame, **bars)
