"""Measures refuse bad input by name; comparisons of two classifiers."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from svmgsu import metrics


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], []), {}, "y: expected one label per sample"),
        (([[0, 1]], [1.0, 2.0]), {}, "y: expected one label per sample"),
        (([0, 0], [1.0, 2.0]), {}, r"y: the only class is \[0\]; give the model's classes with labels="),
        (
            ([0, 1, 7], [1.0, 2.0, 3.0]),
            {"labels": [0, 1]},
            r"y: sample 2 is of class 7, not one of \[0, 1\]",
        ),
        ((["a", "b"], [1.0, 2.0]), {"labels": [0, 1]}, "y: sample 0 is of class 'a'"),
        (([0, 1], [1.0, 2.0]), {"labels": [0, 0]}, "labels: expected different classes"),
        (([0, 1], [1.0, np.nan]), {}, "scores: sample 1 is nan"),
        (([0, 1], [1.0, 2.0, 3.0]), {}, r"scores: expected shape \(2,\), got \(3,\)"),
        (([0, 1, 2], [1.0, 2.0, 3.0]), {}, r"scores: expected shape \(3, 3\)"),
        (([0, 1], [1.0, 2.0]), {"proba": [0.1, 1.5]}, "proba: sample 1 has 1.5"),
        (
            ([0, 1], [1.0, 2.0]),
            {"proba": [[0.5, 0.5], [0.5, 0.6]]},
            "proba: those of sample 1 add up to 1.1",
        ),
        (([0, 1], [1.0, 2.0]), {"proba": [0.5]}, r"proba: expected shape \(2, 2\), got \(1,\)"),
        (([0, 1], [1.0, 2.0]), {"predicted": [0, 3]}, "predicted: sample 1 is of class 3"),
        (([0, 1], [1.0, 2.0]), {"predicted": [0]}, "predicted: 1 labels for 2 samples"),
        (([0, 1], [1.0, 2.0]), {"sample_weight": [1, -1]}, "sample_weight: sample 1 has -1"),
        (([0, 1], [1.0, 2.0]), {"cutoffs": (0,)}, "cutoffs: must be at least 1"),
        (([0, 1], [1.0, 2.0]), {"proba": [0.5, 0.5], "bins": 0}, "bins: must be at least 1"),
    ],
)
def test_evaluate_says_what_is_wrong(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(*arguments, **options)


def test_single_measures_say_what_is_wrong():
    with pytest.raises(ValueError, match="y: 3 classes; choose the positive one"):
        metrics.average_precision([0, 1, 2], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"y: labels of shape \(2,\) for 3 scores"):
        metrics.precision_at_k([0, 1], [1.0, 2.0, 3.0], 1)
    with pytest.raises(ValueError, match="y: there are no samples"):
        metrics.recall_at_k([], [], 1)
    with pytest.raises(ValueError, match="k: must be at least 1"):
        metrics.average_precision_at_k([0, 1], [1.0, 2.0], 0)
    with pytest.raises(ValueError, match="y: classes of shape"):
        metrics.mean_average_precision([0, 1], [[1.0, 2.0, 3.0]] * 2)
    with pytest.raises(ValueError, match="strategy: expected"):
        metrics.calibration_error([1], [0.5], strategy="other")
    with pytest.raises(ValueError, match="outcome: shape"):
        metrics.calibration_error([1, 0], [0.5])
    with pytest.raises(ValueError, match="proba: there are no samples"):
        metrics.calibration_error([], [])


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


def test_comparisons_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"second: labels of shape \(1,\) for y of shape \(2,\)"):
        metrics.mcnemar([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="they must come in pairs"):
        metrics.paired_t_test([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="at least 2 pairs of scores, got 1"):
        metrics.paired_t_test([1], [2])
    with pytest.raises(ValueError, match="first: sample 1 is nan"):
        metrics.paired_t_test([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="train, test: give both sizes or neither"):
        metrics.paired_t_test([1, 2], [3, 5], train=10)
    with pytest.raises(ValueError, match="confidence: must be between 0 and 1"):
        metrics.paired_t_test([1, 2], [3, 5], confidence=95)


def test_predictions_that_never_differ_are_no_evidence():
    found = metrics.mcnemar([0, 1, 1], [0, 1, 0], [0, 1, 0])
    assert (found.only_first, found.only_second) == (0, 0)
    assert found.p_value == 1.0
    assert "corrected χ² = 0, p = 1" in repr(found)
