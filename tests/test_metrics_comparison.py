"""Measures refuse bad input by name; measures of a regression; comparisons of two classifiers."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from svmgsu import metrics


def evaluate(y=(0, 1), scores=(1.0, 2.0), **options):
    return metrics.evaluate(list(y), list(scores), **options)


REFUSED = {
    "y: expected one label per sample, got an array of shape (0,)": lambda: evaluate([], []),
    "y: expected one label per sample, got an array of shape (1, 2)": lambda: evaluate([[0, 1]]),
    "y: the only class is [0]; give the model's classes with labels=": lambda: evaluate([0, 0]),
    "y: sample 2 is of class 7, not one of [0, 1]": lambda: evaluate([0, 1, 7], [1.0] * 3, labels=[0, 1]),
    "y: sample 0 is of class 'a'": lambda: evaluate(["a", "b"], labels=[0, 1]),
    "labels: expected different classes": lambda: evaluate(labels=[0, 0]),
    "scores: sample 1 is nan": lambda: evaluate(scores=[1.0, np.nan]),
    "scores: expected shape (2,), got (3,)": lambda: evaluate(scores=[1.0] * 3),
    "scores: expected shape (3, 3)": lambda: evaluate([0, 1, 2], [1.0] * 3),
    "proba: sample 1 has 1.5": lambda: evaluate(proba=[0.1, 1.5]),
    "proba: those of sample 1 add up to 1.1": lambda: evaluate(proba=[[0.5, 0.5], [0.5, 0.6]]),
    "proba: expected shape (2, 2), got (1,)": lambda: evaluate(proba=[0.5]),
    "predicted: sample 1 is of class 3": lambda: evaluate(predicted=[0, 3]),
    "predicted: 1 labels for 2 samples": lambda: evaluate(predicted=[0]),
    "sample_weight: sample 1 has -1": lambda: evaluate(sample_weight=[1, -1]),
    "cutoffs: must be at least 1": lambda: evaluate(cutoffs=(0,)),
    "bins: must be at least 1": lambda: evaluate(proba=[0.5, 0.5], bins=0),
    "y: 3 classes; choose the positive one": lambda: metrics.average_precision([0, 1, 2], [1.0] * 3),
    "y: labels of shape (2,) for 3 scores": lambda: metrics.precision_at_k([0, 1], [1.0] * 3, 1),
    "y: labels of shape (2, 2) for 2 scores": lambda: metrics.precision_at_k(np.eye(2), [1.0, 2.0], 1),
    "y: there are no samples": lambda: metrics.recall_at_k([], [], 1),
    "scores: sample 0 is nan": lambda: metrics.average_precision([0, 1], [np.nan, 1.0]),
    "k: must be at least 1": lambda: metrics.average_precision_at_k([0, 1], [1.0, 2.0], 0),
    "strategy: expected": lambda: metrics.calibration_error([1], [0.5], strategy="other"),
    "outcome: shape": lambda: metrics.calibration_error([1, 0], [0.5]),
    "proba: there are no samples": lambda: metrics.calibration_error([], []),
    "second: labels of shape (1,) for y of shape (2,)": lambda: metrics.mcnemar([0, 1], [0, 1], [0]),
    "they must come in pairs": lambda: metrics.paired_t_test([1, 2, 3], [1, 2]),
    "at least 2 pairs of scores, got 1": lambda: metrics.paired_t_test([1], [2]),
    "first: sample 1 is nan": lambda: metrics.paired_t_test([1, np.nan], [1, 2]),
    "train, test: give both sizes or neither": lambda: metrics.paired_t_test([1, 2], [3, 5], train=10),
    "confidence: must be between 0 and 1": lambda: metrics.paired_t_test([1, 2], [3, 5], confidence=95),
    "predicted: 1 values for 2 targets": lambda: metrics.evaluate_regression([1.0, 2.0], [1.0]),
    "y: sample 1 is nan": lambda: metrics.evaluate_regression([1.0, np.nan], [1.0, 2.0]),
    "std: sample 1 has 0; standard deviations must be > 0": lambda: metrics.evaluate_regression(
        [1.0, 2.0], [1.0, 2.0], std=[1.0, 0.0]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_it_is_refused(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        REFUSED[message]()


def test_measures_of_a_regression_are_scikit_learns_and_scipys():
    rng = np.random.default_rng(0)
    y, predicted, std = rng.normal(size=(3, 50))
    std = np.abs(std) + 0.1
    for weights in (None, rng.uniform(0.1, 2, 50)):
        found = metrics.evaluate_regression(y, predicted, std=std, sample_weight=weights)
        options = {"sample_weight": weights}
        assert found.samples == 50
        assert found.rmse == pytest.approx(np.sqrt(sk.mean_squared_error(y, predicted, **options)))
        assert found.mae == pytest.approx(sk.mean_absolute_error(y, predicted, **options))
        assert found.r2 == pytest.approx(sk.r2_score(y, predicted, **options))
        assert found.bias == pytest.approx(np.average(predicted - y, weights=weights))
        density = scipy.stats.norm.logpdf(y, predicted, std)
        assert found.log_likelihood == pytest.approx(np.average(density, weights=weights))
        within = np.abs(y - predicted) <= std
        assert found.coverage == pytest.approx(np.average(within, weights=weights))
    assert "within one std" in repr(found)
    plain = metrics.evaluate_regression([1.0, 1.0], [1.0, 2.0])
    assert math.isnan(plain.r2) and plain.log_likelihood is None and plain.coverage is None
    assert plain.to_dict()["r2"] is None and "log-likelihood" not in repr(plain)
    assert metrics.evaluate_regression([0.0, 0.0], [1.0, 3.0], std=1.0).coverage == 0.5


def from_counts(only_first, only_second):
    """McNemar's test of classifiers of which only the one is right so often."""
    y = np.zeros(only_first + only_second)
    first = np.repeat([0, 1], (only_first, only_second))
    return metrics.mcnemar(y, first, 1 - first)


@pytest.mark.parametrize(
    ("counts", "statistic", "p_value", "digits"),
    [  # printed by R's mcnemar.test, with its correction
        ((15, 7), 2.2273, 0.1356, 4),
        ((8, 14), 1.1364, 0.2864, 4),
        ((46, 9), 23.564, 1.208499116e-06, 4),
    ],
)
def test_mcnemar_gives_the_numbers_that_r_prints(counts, statistic, p_value, digits):
    found = from_counts(*counts)
    assert found.statistic == pytest.approx(statistic, rel=10.0**-digits)
    assert found.p_value == pytest.approx(p_value, rel=10.0 ** (1 - digits))
    assert found.p_value == pytest.approx(math.erfc(math.sqrt(found.statistic / 2)))  # χ² of one degree


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_exact_p_value_is_a_sum_of_binomial_coefficients(a, b):
    n = a + b
    tail = sum(math.comb(n, i) for i in range(min(a, b) + 1))
    found = from_counts(a, b)
    assert found.exact_p_value == pytest.approx(float(min(Fraction(1), Fraction(2 * tail, 2**n))))


def test_mcnemars_exact_p_value_is_that_of_rs_binom_test():
    assert from_counts(46, 9).exact_p_value == pytest.approx(4.336383137e-07)


def test_mcnemar_counts_where_only_one_is_right():
    y = np.array(["a"] * 4 + ["b"] * 6)
    first, second = y.copy(), y.copy()
    first[:3] = "b"
    second[2:] = "c"
    found = metrics.mcnemar(y, first, second)
    assert (found.only_first, found.only_second) == (7, 2)
    assert found == from_counts(7, 2)
    swapped = metrics.mcnemar(y, second, first)
    assert swapped.exact_p_value == found.exact_p_value


def test_equal_classifiers_do_not_differ():
    same = metrics.mcnemar([0, 1], [0, 1], [0, 1])
    assert (same.exact_p_value, same.p_value, same.statistic) == (1, 1, 0)
    even = from_counts(4, 4)
    assert (even.exact_p_value, even.p_value) == (1, 1)


# Hours of extra sleep with two drugs: the example of the paper in which Student gives his test.
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]


DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_the_t_test_of_students_sleep_data():
    found = metrics.paired_t_test(DRUG_1, DRUG_2)
    assert found.difference == pytest.approx(-1.58)
    assert found.statistic == pytest.approx(-4.0621, abs=5e-5)
    assert found.p_value == pytest.approx(0.002833, abs=5e-7)
    assert found.interval == pytest.approx((-2.4598858, -0.7001142), abs=5e-7)
    assert (found.dof, found.corrected) == (9, False)
    scipys = scipy.stats.ttest_rel(DRUG_1, DRUG_2)
    assert (found.statistic, found.p_value) == pytest.approx((scipys.statistic, scipys.pvalue))


def test_the_corrected_t_test_by_hand():
    # Differences 1, 2, 3, 4, 5: mean 3, variance 5/2; 80 to train and 20 to test: (1/5 + 1/4) 5/2 = 9/8.
    found = metrics.paired_t_test([2, 4, 6, 8, 10], [1, 2, 3, 4, 5], train=80, test=20)
    assert found.standard_error**2 == pytest.approx(9 / 8)
    assert found.statistic == pytest.approx(3 / math.sqrt(9 / 8))
    assert found.p_value == pytest.approx(2 * scipy.stats.t(4).cdf(-math.sqrt(8)))
    assert found.corrected


def test_the_corrected_t_test_of_scikit_learns_worked_example():
    # Ten times ten folds of 100 samples (90 to train, 10 to test): t = 2.611 plain, 0.750 corrected, with
    # the one-sided p-values 0.005 and 0.227. Here the differences are others with the same plain t.
    noise = np.random.default_rng(0).normal(size=100)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    first, second = 0.2611 + noise, np.zeros(100)
    plain = metrics.paired_t_test(first, second)
    corrected = metrics.paired_t_test(first, second, train=90, test=10)
    assert (plain.statistic, plain.p_value / 2) == pytest.approx((2.611, 0.005), abs=5e-4)
    assert (corrected.statistic, corrected.p_value / 2) == pytest.approx((0.750, 0.227), abs=5e-4)


def test_the_corrected_test_finds_what_is_not_there_less_often():
    """Two equally good methods on random splits of the same data: a difference is found in 5 % at best."""
    rng = np.random.default_rng(0)
    plain = corrected = 0
    trials = 400
    for _ in range(trials):
        quality = rng.normal(size=(60, 2))  # of 60 samples, for each of two equally good methods
        scores = np.array([quality[rng.permutation(60)[:20]].mean(axis=0) for _ in range(15)])
        plain += metrics.paired_t_test(*scores.T).p_value < 0.05
        corrected += metrics.paired_t_test(*scores.T, train=40, test=20).p_value < 0.05
    assert plain / trials > 0.3
    assert corrected / trials < 0.15


def test_equal_differences_are_certain_or_nothing():
    nothing = metrics.paired_t_test([1, 2, 3], [1, 2, 3], train=2, test=1)
    assert (nothing.statistic, nothing.p_value) == (0, 1)
    certain = metrics.paired_t_test([2, 3, 4], [1, 2, 3])
    assert (certain.statistic, certain.p_value, certain.interval) == (math.inf, 0, (1, 1))


def test_predictions_that_never_differ_are_no_evidence():
    found = metrics.mcnemar([0, 1, 1], [0, 1, 0], [0, 1, 0])
    assert (found.only_first, found.only_second) == (0, 0)
    assert found.p_value == 1.0
    assert "corrected χ² = 0, p = 1" in repr(found)
