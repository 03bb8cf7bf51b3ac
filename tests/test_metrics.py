"""Measures against scikit-learn, ranks by brute force and by hand; tests against printed examples."""

import json
import math
import re
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

from svmgsu import metrics


@pytest.fixture(scope="module")
def two_classes():
    """Labels, scores with ties, probabilities, weights."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(["no", "yes"], (400, 250)))
    scores = np.round(rng.normal(size=650) + 1.5 * (y == "yes") - 0.5, 1)
    return y, scores, 1 / (1 + np.exp(-2 * scores)), rng.uniform(0.2, 3, 650)


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.repeat([3, 5, 9], (50, 70, 30)))
    scores = rng.normal(size=(150, 3)) + 2 * (y[:, None] == [3, 5, 9])
    proba = np.exp(scores + np.array([0, 0.5, 0]))
    return y, scores, proba / proba.sum(axis=1, keepdims=True), rng.uniform(0.2, 3, 150)


def by_rank(relevant, k):
    """Precision, recall and average precision at k of a list in the order of its ranks, by the textbook."""
    hits, precisions = 0, []
    for rank, good in enumerate(relevant[:k], start=1):
        hits += good
        if good:
            precisions.append(hits / rank)
    positives = sum(relevant)
    return hits / k, hits / positives, sum(precisions) / min(k, positives)


AT_K = (metrics.precision_at_k, metrics.recall_at_k, metrics.average_precision_at_k)


@given(st.lists(st.booleans(), min_size=1, max_size=30).filter(any), st.integers(1, 40), st.randoms())
def test_measures_at_k_are_those_of_the_ranks(relevant, k, random):
    order = list(range(len(relevant)))
    random.shuffle(order)
    y = np.array(relevant)[order]
    scores = -np.array(order, dtype=float)
    got = [f(y, scores, k, positive=True) for f in AT_K]
    assert got == pytest.approx(by_rank(relevant, k))


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=7), st.integers(1, 8))
def test_with_ties_precision_and_recall_are_means_over_all_orders(examples, k):
    if not any(good for _, good in examples):
        return
    scores, y = (np.array(column) for column in zip(*examples, strict=True))
    orders = [p for p in permutations(range(len(y))) if (np.diff(scores[list(p)]) <= 0).all()]
    means = np.mean([by_rank(y[list(order)].tolist(), k)[:2] for order in orders], axis=0)
    assert metrics.precision_at_k(y, scores, k, positive=True) == pytest.approx(means[0])
    assert metrics.recall_at_k(y, scores, k, positive=True) == pytest.approx(means[1])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=40))
def test_average_precision_at_the_end_is_scikit_learns_with_its_ties(examples):
    scores, y = (np.array(column) for column in zip(*examples, strict=True))
    got = metrics.average_precision_at_k(y, scores, len(y), positive=True)
    if not y.any():
        assert math.isnan(got)
        return
    assert got == pytest.approx(sk.average_precision_score(y, scores))


def test_average_precision_at_k_by_hand_where_the_cut_goes_through_ties():
    # A positive at rank 1, then one among 4 equals, of which the cut at 3 takes half: half a positive.
    y, scores = [1, 1, 0, 0, 0, 1], [9.0, 5.0, 5.0, 5.0, 5.0, 1.0]
    hits = Fraction(3, 2)
    expected = (1 * 1 + Fraction(1, 2) * hits / 3) / 3  # three positives, so min(k, positives) = 3
    assert metrics.average_precision_at_k(y, scores, 3) == pytest.approx(float(expected))
    assert metrics.precision_at_k(y, scores, 3) == pytest.approx(float(hits / 3))


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_two_classes_are_scikit_learns(two_classes, weighted):
    y, scores, proba, weights = two_classes
    w = weights if weighted else None
    found = metrics.evaluate(y, scores, proba=proba, sample_weight=w)
    said = np.where(scores > 0, "yes", "no")
    options = {"pos_label": "yes", "sample_weight": w}
    assert found.accuracy == pytest.approx(sk.accuracy_score(y, said, sample_weight=w))
    assert found.precision == pytest.approx(sk.precision_score(y, said, **options))
    assert found.recall == pytest.approx(sk.recall_score(y, said, **options))
    assert found.f_score == pytest.approx(sk.f1_score(y, said, **options))
    assert found.average_precision == pytest.approx(sk.average_precision_score(y, scores, **options))
    assert found.recall_at[100] == metrics.recall_at_k(y, scores, 100, positive="yes")
    assert found.log_loss == pytest.approx(sk.log_loss(y, proba, sample_weight=w))
    expected = sk.confusion_matrix(y, said, sample_weight=w)
    np.testing.assert_allclose(found.confusion / found.confusion.sum(), expected / expected.sum())
    assert found.confusion.sum() == pytest.approx(len(y))
    expected = metrics.calibration_error(y == "yes", proba, bins=10, sample_weight=w)
    assert found.calibration_error == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_three_classes_are_scikit_learns_macro_averages(three_classes, weighted):
    y, scores, proba, weights = three_classes
    w = weights if weighted else None
    found = metrics.evaluate(y, scores, proba=proba, sample_weight=w)
    said = np.array([3, 5, 9])[proba.argmax(axis=1)]
    assert (said != np.array([3, 5, 9])[scores.argmax(axis=1)]).any()
    options = {"average": "macro", "sample_weight": w}
    assert found.accuracy == pytest.approx(sk.accuracy_score(y, said, sample_weight=w))
    assert found.precision == pytest.approx(sk.precision_score(y, said, **options))
    assert found.recall == pytest.approx(sk.recall_score(y, said, **options))
    assert found.f_score == pytest.approx(sk.f1_score(y, said, **options))
    expected = sk.average_precision_score(y, scores, **options)
    assert found.average_precision == pytest.approx(expected)
    assert found.precision_at == {}
    assert found.log_loss == pytest.approx(sk.log_loss(y, proba, sample_weight=w))
    happened = said == y
    expected = metrics.calibration_error(happened, proba.max(axis=1), bins=10, sample_weight=w)
    assert found.calibration_error == pytest.approx(expected)
    by_score = metrics.evaluate(y, scores)
    assert by_score.accuracy == np.mean(y == np.array([3, 5, 9])[scores.argmax(axis=1)])


def test_a_class_without_examples_is_a_normal_case():
    found = metrics.evaluate([0, 0, 0], [-1.0, -2.0, 3.0], labels=[0, 1], proba=[0.1, 0.1, 0.9])
    assert (found.accuracy, found.precision, found.recall) == (pytest.approx(2 / 3), 0.0, 0.0)
    assert math.isnan(found.average_precision)
    assert found.to_dict()["average_precision"] is None
    json.dumps(found.to_dict(), allow_nan=False)
    three = metrics.evaluate([0, 1, 1], np.eye(3)[[0, 1, 1]], labels=[0, 1, 2])
    assert three.average_precision == 1.0
    assert three.precision == pytest.approx(2 / 3)  # as scikit-learn: a class never predicted counts as 0


def test_reliability_bins_are_scikit_learns_calibration_curve(two_classes):
    y, _, proba, _ = two_classes
    found = metrics.reliability_bins(y == "yes", proba, bins=7)
    frequency, probability = calibration_curve(y == "yes", proba, n_bins=7)
    np.testing.assert_allclose(found.frequency, frequency)
    np.testing.assert_allclose(found.probability, probability)
    assert found.weight.sum() == pytest.approx(1)
    assert found.samples.sum() == len(y)
    default = metrics.reliability_bins(y == "yes", proba)
    np.testing.assert_allclose(default.probability, calibration_curve(y == "yes", proba, n_bins=10)[1])


def test_bins_may_have_one_certain_sample_of_little_weight():
    found = metrics.reliability_bins([0, 1, 1], [0.0, 1.0, 0.96], bins=20, sample_weight=[1.0, 20.0, 9.0])
    np.testing.assert_allclose(found.weight, [1 / 30, 29 / 30])
    assert found.frequency.tolist() == [0, 1]
    assert found.samples.tolist() == [1, 2]


def test_the_calibration_error_by_hand():
    outcome = [1, 0, 1, 1, 0]
    proba = [0.1, 0.2, 0.45, 0.9, 0.8]
    # bins of width 1/2: {0.1, 0.2, 0.45} with 2 of 3, {0.9, 0.8} with 1 of 2
    expected = 3 / 5 * abs(0.25 - 2 / 3) + 2 / 5 * abs(0.85 - 1 / 2)
    assert metrics.calibration_error(outcome, proba, bins=2) == pytest.approx(expected)
    # a weight of 2 is the example twice
    doubled = metrics.calibration_error([1, *outcome], [0.1, *proba], bins=2)
    weighted = metrics.calibration_error(outcome, proba, bins=2, sample_weight=[2, 1, 1, 1, 1])
    assert weighted == pytest.approx(doubled)


@pytest.mark.parametrize("outcome", [[1, -1], ["yes", "no"], [1.0, np.nan]])
def test_labels_are_no_outcomes(outcome):
    with pytest.raises(
        ValueError, match=r"outcome: sample [01] has .*; expected True or False, as from y =="
    ):
        metrics.calibration_error(outcome, [0.9, 0.1])


def test_the_evaluation_as_text_and_json_and_dict(three_classes):
    y, scores, proba, _ = three_classes
    found = metrics.evaluate(y, scores, proba=proba)
    read = json.loads(json.dumps(found.to_dict()))
    assert read["accuracy"] == found.accuracy
    assert read["confusion"] == found.confusion.tolist()
    assert read["labels"] == [3, 5, 9]
    shown = repr(found)
    for word in (
        "150 samples",
        "means over 3 classes",
        "log-loss",
        "calibration error",
        "precision",
    ):
        assert word in shown
    two = metrics.evaluate(np.arange(150) % 2, np.arange(150.0))
    assert list(two.precision_at) == list(two.recall_at) == [5, 10, 15, 20, 30, 100]  # of 150 samples
    assert json.loads(json.dumps(two.to_dict()))["recall_at"]["15"] == two.recall_at[15]
    assert " 100\n" in repr(two) and " 200" not in repr(two)
    assert "at k" not in shown and "at k" not in repr(metrics.evaluate([0, 1], [-1.0, 1.0]))
    assert f"{found.accuracy:.4f}" in shown
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_the_metrics_file_has_the_cutoffs_that_were_asked_for():
    many = metrics.evaluate(np.arange(1500) % 2, np.arange(1500.0)).to_text()
    assert re.findall(r"prec@(\d+)", many) == ["5", "10", "15", "20", "30", "100", "200", "500", "1000"]
    text = metrics.evaluate([0, 1, 1, 0], [-1.0, 2.0, -0.5, 1.0], cutoffs=(3, 7)).to_text()
    names = [line.split()[0] for line in text.splitlines() if "@" in line]
    assert names == [f"{name}@{k}" for name in ("prec", "ap", "recall") for k in (3, 7)]
    assert "recall@3\t1\n" in text and "recall@7\t0\n" in text  # of four samples


def test_the_metrics_file_is_of_two_classes_and_never_half_written(three_classes, two_classes, tmp_path):
    y, scores, _, _ = three_classes
    with pytest.raises(ValueError, match="two classes, not for 3"):
        metrics.evaluate(y, scores).save_text(tmp_path / "metrics.txt")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        metrics.evaluate(*two_classes[:2]).save_text(tmp_path / "nowhere" / "metrics.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        metrics.evaluate(*two_classes[:2]).save_text(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


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
    "bins: must be at least 1": lambda: metrics.calibration_error([1], [0.5], bins=0),
    "y: 3 classes; choose the positive one": lambda: metrics.recall_at_k([0, 1, 2], [1.0] * 3, 1),
    "y: labels of shape (2,) for 3 scores": lambda: metrics.precision_at_k([0, 1], [1.0] * 3, 1),
    "y: labels of shape (2, 2) for 2 scores": lambda: metrics.precision_at_k(np.eye(2), [1.0, 2.0], 1),
    "y: there are no samples": lambda: metrics.recall_at_k([], [], 1),
    "scores: sample 0 is nan": lambda: metrics.average_precision_at_k([0, 1], [np.nan, 1.0], 1),
    "scores: sample 2 is inf": lambda: metrics.precision_at_k([0, 1, 1], [0.0, 1.0, np.inf], 1),
    "k: must be at least 1": lambda: metrics.average_precision_at_k([0, 1], [1.0, 2.0], 0),
    "outcome: shape": lambda: metrics.calibration_error([1, 0], [0.5]),
    "proba: there are no samples": lambda: metrics.calibration_error([], []),
    "second: labels of shape (1,) for y of shape (2,)": lambda: metrics.mcnemar([0, 1], [0, 1], [0]),
    "they must come in pairs": lambda: metrics.paired_t_test([1, 2, 3], [1, 2]),
    "at least 2 pairs of scores, got 1": lambda: metrics.paired_t_test([1], [2]),
    "first: sample 1 is nan": lambda: metrics.paired_t_test([1, np.nan], [1, 2]),
    "train, test: give both sizes or neither": lambda: metrics.paired_t_test([1, 2], [3, 5], train=10),
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
    same = metrics.mcnemar(y, first, first)
    assert (same.exact_p_value, same.statistic, same.p_value) == (1, 0, 1)
    equal = from_counts(3, 3)
    assert (equal.exact_p_value, equal.statistic, equal.p_value) == (1, 0, 1)


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


def test_equal_differences_are_certain_or_nothing():
    nothing = metrics.paired_t_test([1, 2, 3], [1, 2, 3], train=2, test=1)
    assert (nothing.statistic, nothing.p_value) == (0, 1)
    certain = metrics.paired_t_test([2, 3, 4], [1, 2, 3])
    assert (certain.statistic, certain.p_value, certain.interval) == (math.inf, 0, (1, 1))
