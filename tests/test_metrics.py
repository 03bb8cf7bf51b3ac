"""Measures against scikit-learn, ranks by brute force and by hand; tests against printed examples."""

import json
import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

import svmgsu
from svmgsu import metrics

NAMES_IN_THE_FILE = (
    *("num_ret", "num_rel", "TP", "TN", "FP", "FN", "acc"),
    *("prec", "prec@5", "prec@10", "prec@15", "prec@20", "prec@30", "prec@100", "prec@200", "prec@500"),
    *("prec@1000", "ap", "ap@5", "ap@10", "ap@15", "ap@20", "ap@30", "ap@100", "ap@200", "ap@500", "ap@1000"),
    *("recall", "recall@5", "recall@10", "recall@15", "recall@20", "recall@30", "recall@100", "recall@200"),
    *("recall@500", "recall@1000", "f-score"),
)


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


def at_k(y, scores, k):
    return tuple(f(y, scores, k) for f in metrics._AT.values())


@given(st.lists(st.booleans(), min_size=1, max_size=30).filter(any), st.integers(1, 40), st.randoms())
def test_measures_at_k_are_those_of_the_ranks(relevant, k, random):
    order = list(range(len(relevant)))
    random.shuffle(order)
    y = np.array(relevant)[order]
    scores = -np.array(order, dtype=float)
    got = [f(y, scores, k, positive=True) for f in metrics._AT.values()]
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
    assert got == pytest.approx(metrics.average_precision(y, scores, positive=True))


def test_average_precision_at_k_by_hand_where_the_cut_goes_through_ties():
    # A positive at rank 1, then one among 4 equals, of which the cut at 3 takes half: half a positive.
    y, scores = [1, 1, 0, 0, 0, 1], [9.0, 5.0, 5.0, 5.0, 5.0, 1.0]
    hits = Fraction(3, 2)
    expected = (1 * 1 + Fraction(1, 2) * hits / 3) / 3  # three positives, so min(k, positives) = 3
    assert metrics.average_precision_at_k(y, scores, 3) == pytest.approx(float(expected))
    assert metrics.precision_at_k(y, scores, 3) == pytest.approx(float(hits / 3))


def test_the_best_ranking_has_average_precision_one_at_every_k():
    y = np.repeat([1, 0], [40, 60])
    assert [metrics.average_precision_at_k(y, -np.arange(100.0), k) for k in (5, 40, 100, 1000)] == [1] * 4


def test_with_fewer_than_k_examples_precision_is_still_divided_by_k():
    y, scores = [1, 0, 1], [3.0, 2.0, 1.0]
    assert at_k(y, scores, 5) == pytest.approx((2 / 5, 1.0, (1 + 2 / 3) / 2))


def test_the_order_of_the_examples_does_not_matter(two_classes):
    y, scores, proba, weights = two_classes
    order = np.random.default_rng(5).permutation(len(y))
    one = metrics.evaluate(y, scores, proba=proba, sample_weight=weights)
    two = metrics.evaluate(y[order], scores[order], proba=proba[order], sample_weight=weights[order])
    for name, value in one.to_dict().items():
        if isinstance(value, float):
            assert two.to_dict()[name] == pytest.approx(value, rel=1e-12)
    assert two.precision_at == pytest.approx(one.precision_at, rel=1e-12)


def test_a_ranking_needs_decision_values_where_probabilities_saturate():
    y, scores = np.array([0, 1, 0, 1]), np.array([800.0, 900.0, 1000.0, 1100.0])
    saturated = 1 / (1 + np.exp(-scores))
    found = metrics.evaluate(y, scores, proba=saturated)
    assert found.average_precision == sk.average_precision_score(y, scores)
    assert found.average_precision != sk.average_precision_score(y, saturated)


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
    other = sk.average_precision_score(y, -scores, pos_label="no", sample_weight=w)
    assert found.mean_average_precision == pytest.approx((found.average_precision + other) / 2)
    assert found.log_loss == pytest.approx(sk.log_loss(y, proba, sample_weight=w))
    np.testing.assert_allclose(found.confusion, sk.confusion_matrix(y, said, sample_weight=w))


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
    assert found.average_precision == found.mean_average_precision == pytest.approx(expected)
    assert metrics.mean_average_precision(y, scores, sample_weight=w) == pytest.approx(expected)
    assert found.log_loss == pytest.approx(sk.log_loss(y, proba, sample_weight=w))
    by_score = metrics.evaluate(y, scores)
    assert by_score.accuracy == np.mean(y == np.array([3, 5, 9])[scores.argmax(axis=1)])


def test_mean_average_precision_takes_examples_of_no_class_or_several():
    truth = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    scores = np.array([[2.0, 1.0], [1.0, 3.0], [1.5, 2.5], [0.0, 2.0]])
    expected = sk.average_precision_score(truth, scores, average="macro")
    assert metrics.mean_average_precision(truth, scores) == pytest.approx(expected)
    # without its examples a class has no average precision, and does not count
    alone = metrics.mean_average_precision(np.column_stack([truth[:, 0], np.zeros(4)]), scores)
    assert alone == pytest.approx(sk.average_precision_score(truth[:, 0], scores[:, 0]))


def test_predictions_of_the_model_take_precedence():
    found = metrics.evaluate([0, 1], [-1.0, 1.0], predicted=[1, 1])
    assert found.accuracy == 0.5
    assert found.average_precision == 1.0


def test_the_order_of_labels_says_which_class_is_positive():
    y, scores = ["a", "b", "b"], [1.0, -1.0, -2.0]
    found = metrics.evaluate(y, scores, labels=["b", "a"], proba=[0.9, 0.2, 0.1])
    assert found.accuracy == found.precision == found.average_precision == 1.0
    assert found.log_loss == pytest.approx(-np.mean(np.log([0.9, 0.8, 0.9])))


def test_a_class_without_examples_is_a_normal_case():
    found = metrics.evaluate([0, 0, 0], [-1.0, -2.0, 3.0], labels=[0, 1], proba=[0.1, 0.1, 0.9])
    assert (found.accuracy, found.precision, found.recall) == (pytest.approx(2 / 3), 0.0, 0.0)
    assert math.isnan(found.average_precision)
    assert found.mean_average_precision == 1.0  # of the class that is there
    assert found.to_dict()["average_precision"] is None
    json.loads(found.to_json())
    three = metrics.evaluate([0, 1, 1], np.eye(3)[[0, 1, 1]], labels=[0, 1, 2])
    assert three.average_precision == three.recall_at[5] == 1.0
    assert three.precision == pytest.approx(2 / 3)  # as scikit-learn: a class never predicted counts as 0


def test_one_example_and_float32_and_read_only_and_strided_arrays(two_classes):
    y, scores, _, _ = two_classes
    assert metrics.evaluate([1], [2.0], labels=[0, 1]).accuracy == 1.0
    wide = np.repeat(scores.astype(np.float32), 2)[::2]
    wide.flags.writeable = False
    assert metrics.evaluate(y, wide).to_dict() == metrics.evaluate(y, scores.astype(np.float32)).to_dict()


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_bins_are_scikit_learns_calibration_curve(two_classes, strategy):
    y, _, proba, _ = two_classes
    found = metrics.reliability_bins(y == "yes", proba, bins=7, strategy=strategy)
    frequency, probability = calibration_curve(y == "yes", proba, n_bins=7, strategy=strategy)
    np.testing.assert_allclose(found.frequency, frequency)
    np.testing.assert_allclose(found.probability, probability)
    assert found.weight.sum() == pytest.approx(1)
    assert found.examples.sum() == len(y)


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


def test_true_probabilities_are_calibrated_and_others_are_not():
    rng = np.random.default_rng(3)
    proba = rng.uniform(size=100_000)
    outcome = rng.uniform(size=100_000) < proba
    # a bin of 10 000 examples: a mean distance below 0.005, its standard deviation
    assert metrics.calibration_error(outcome, proba) < 0.005
    assert metrics.calibration_error(outcome, np.sqrt(proba)) == pytest.approx(2 / 3 - 1 / 2, abs=0.01)


@pytest.mark.parametrize("outcome", [[1, -1], ["yes", "no"], [1.0, np.nan]])
def test_labels_are_no_outcomes(outcome):
    with pytest.raises(
        ValueError, match=r"outcome: example [01] has .*; expected True or False, as from y =="
    ):
        metrics.calibration_error(outcome, [0.9, 0.1])


def test_with_more_classes_the_calibration_error_is_that_of_the_greatest_probability(three_classes):
    y, scores, proba, weights = three_classes
    right = np.array([3, 5, 9])[proba.argmax(axis=1)] == y
    expected = metrics.calibration_error(right, proba.max(axis=1), sample_weight=weights)
    assert metrics.evaluate(y, scores, proba=proba, sample_weight=weights).calibration_error == expected


def test_integer_weights_count_an_example_as_often(two_classes):
    y, scores, proba, _ = two_classes
    times = np.random.default_rng(4).integers(0, 4, len(y))
    weighted = metrics.evaluate(y, scores, proba=proba, sample_weight=times)
    repeated = metrics.evaluate(*(np.repeat(a, times) for a in (y, scores)), proba=np.repeat(proba, times))
    for name in ("accuracy", "precision", "recall", "f_score", "average_precision", "log_loss"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name))
    assert weighted.calibration_error == pytest.approx(repeated.calibration_error)


def test_the_evaluation_as_text_and_json_and_dict(three_classes):
    y, scores, proba, _ = three_classes
    found = metrics.evaluate(y, scores, proba=proba)
    read = json.loads(found.to_json())
    assert read["accuracy"] == found.accuracy
    assert read["recall_at"]["15"] == found.recall_at[15]
    assert read["confusion"] == found.confusion.tolist()
    assert [c["label"] for c in read["by_class"]] == [3, 5, 9]
    assert read["labels"] == [3, 5, 9]
    assert "\n" not in found.to_json(indent=None)
    shown = repr(found)
    for word in (
        "150 examples",
        "means over 3 classes",
        "log-loss",
        "calibration error",
        "1000",
        "precision",
    ):
        assert word in shown
    assert f"{found.accuracy:.4f}" in shown
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_the_metrics_file_has_the_known_names_and_the_right_numbers(two_classes, tmp_path):
    y, scores, _, _ = two_classes
    found = metrics.evaluate(y, scores)
    path = tmp_path / "metrics.txt"
    path.write_text("old")
    found.save_text(path)
    lines = [line.split() for line in path.read_text().splitlines()]
    assert tuple(name for name, _ in lines) == NAMES_IN_THE_FILE
    value = {name: float(text) for name, text in lines}
    said = scores > 0
    assert value["num_ret"] == 650
    assert value["num_rel"] == 250
    assert value["TP"] == (said & (y == "yes")).sum()
    assert value["FP"] == (said & (y == "no")).sum()
    assert value["TN"] + value["FN"] == (~said).sum()
    assert value["recall"] == pytest.approx(value["TP"] / 250, abs=1e-6) != pytest.approx(value["prec"])
    assert value["ap"] == pytest.approx(sk.average_precision_score(y == "yes", scores), abs=1e-6)
    assert value["prec@500"] == pytest.approx(metrics.precision_at_k(y, scores, 500), abs=1e-6)
    assert value["prec@1000"] == value["ap@1000"] == value["recall@1000"] == 0  # there are only 650
    assert list(tmp_path.iterdir()) == [path]


def test_the_metrics_file_is_of_two_classes_and_never_half_written(three_classes, two_classes, tmp_path):
    y, scores, _, _ = three_classes
    with pytest.raises(ValueError, match="two classes, and these are 3"):
        metrics.evaluate(y, scores).save_text(tmp_path / "metrics.txt")
    with pytest.raises(FileNotFoundError):
        metrics.evaluate(*two_classes[:2]).save_text(tmp_path / "nowhere" / "metrics.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        metrics.evaluate(*two_classes[:2]).save_text(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_evaluation_of_a_trained_model(two_classes):
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) + y[:, None]
    model = svmgsu.train(X, y, std=0.3)
    f, p = model.decision_function(X), model.predict_proba(X)
    found = metrics.evaluate(y, f, labels=model.classes_, proba=p)
    assert found.accuracy == np.mean(model.predict(X) == y)
    assert found.log_loss == pytest.approx(-np.mean(np.log(p[np.arange(80), y])))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], []), {}, "y: expected one label per example"),
        (([[0, 1]], [1.0, 2.0]), {}, "y: expected one label per example"),
        (([0, 0], [1.0, 2.0]), {}, r"y: only the classes \[0\]; give all that the model knows with labels="),
        (
            ([0, 1, 7], [1.0, 2.0, 3.0]),
            {"labels": [0, 1]},
            r"y: example 2 is of class 7, not one of \[0, 1\]",
        ),
        ((["a", "b"], [1.0, 2.0]), {"labels": [0, 1]}, "y: example 0 is of class 'a'"),
        (([0, 1], [1.0, 2.0]), {"labels": [0, 0]}, "labels: expected different classes"),
        (([0, 1], [1.0, np.nan]), {}, "scores: example 1 is nan"),
        (([0, 1], [1.0, 2.0, 3.0]), {}, r"scores: shape \(3,\); for 2 examples of 2 classes"),
        (([0, 1, 2], [1.0, 2.0, 3.0]), {}, r"it should be \(3, 3\)"),
        (([0, 1], [1.0, 2.0]), {"proba": [0.1, 1.5]}, "proba: example 1 has 1.5"),
        (
            ([0, 1], [1.0, 2.0]),
            {"proba": [[0.5, 0.5], [0.5, 0.6]]},
            "proba: those of example 1 add up to 1.1",
        ),
        (([0, 1], [1.0, 2.0]), {"proba": [0.5]}, r"proba: shape \(1,\)"),
        (([0, 1], [1.0, 2.0]), {"predicted": [0, 3]}, "predicted: example 1 is of class 3"),
        (([0, 1], [1.0, 2.0]), {"predicted": [0]}, "predicted: 1 labels for 2 examples"),
        (([0, 1], [1.0, 2.0]), {"sample_weight": [1, -1]}, "sample_weight: example 1 has -1"),
        (([0, 1], [1.0, 2.0]), {"cutoffs": (0,)}, "cutoffs: must be at least 1"),
        (([0, 1], [1.0, 2.0]), {"proba": [0.5, 0.5], "bins": 0}, "bins: must be at least 1"),
    ],
)
def test_evaluate_says_what_is_wrong(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(*arguments, **options)


def test_single_measures_say_what_is_wrong():
    with pytest.raises(ValueError, match="y: 3 classes; say which one"):
        metrics.average_precision([0, 1, 2], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"y: labels of shape \(2,\) for 3 scores"):
        metrics.precision_at_k([0, 1], [1.0, 2.0, 3.0], 1)
    with pytest.raises(ValueError, match="y: there are no examples"):
        metrics.recall_at_k([], [], 1)
    with pytest.raises(ValueError, match="k: must be at least 1"):
        metrics.average_precision_at_k([0, 1], [1.0, 2.0], 0)
    with pytest.raises(ValueError, match="y: classes of shape"):
        metrics.mean_average_precision([0, 1], [[1.0, 2.0, 3.0]] * 2)
    with pytest.raises(ValueError, match="strategy: expected"):
        metrics.calibration_error([1], [0.5], strategy="other")
    with pytest.raises(ValueError, match="outcome: shape"):
        metrics.calibration_error([1, 0], [0.5])
    with pytest.raises(ValueError, match="proba: there are no examples"):
        metrics.calibration_error([], [])


@pytest.mark.parametrize(
    ("counts", "statistic", "p_value", "digits"),
    [  # printed by R's mcnemar.test, with its correction
        ((15, 7), 2.2273, 0.1356, 4),
        ((8, 14), 1.1364, 0.2864, 4),
        ((46, 9), 23.564, 1.208499116e-06, 4),
    ],
)
def test_mcnemar_gives_the_numbers_that_r_prints(counts, statistic, p_value, digits):
    found = metrics.mcnemar_from_counts(*counts)
    assert found.statistic == pytest.approx(statistic, rel=10.0**-digits)
    assert found.p_value == pytest.approx(p_value, rel=10.0 ** (1 - digits))
    assert found.p_value == pytest.approx(math.erfc(math.sqrt(found.statistic / 2)))  # χ² of one degree


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_exact_p_value_is_a_sum_of_binomial_coefficients(a, b):
    n = a + b
    tail = sum(math.comb(n, i) for i in range(min(a, b) + 1))
    found = metrics.mcnemar_from_counts(a, b)
    assert found.exact_p_value == pytest.approx(float(min(Fraction(1), Fraction(2 * tail, 2**n))))


def test_mcnemars_exact_p_value_is_that_of_rs_binom_test():
    assert metrics.mcnemar_from_counts(46, 9).exact_p_value == pytest.approx(4.336383137e-07)


def test_mcnemar_counts_where_only_one_is_right():
    y = np.array(["a"] * 4 + ["b"] * 6)
    first, second = y.copy(), y.copy()
    first[:3] = "b"
    second[2:] = "c"
    found = metrics.mcnemar(y, first, second)
    assert (found.only_first, found.only_second) == (7, 2)
    assert found == metrics.mcnemar_from_counts(7, 2)
    swapped = metrics.mcnemar(y, second, first)
    assert swapped.exact_p_value == found.exact_p_value


def test_equal_classifiers_do_not_differ():
    same = metrics.mcnemar([0, 1], [0, 1], [0, 1])
    assert (same.exact_p_value, same.p_value, same.statistic) == (1, 1, 0)
    even = metrics.mcnemar_from_counts(4, 4)
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
    # Ten times ten folds of 100 examples (90 to train, 10 to test): t = 2.611 plain, 0.750 corrected, with
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
        quality = rng.normal(size=(60, 2))  # of 60 examples, for each of two equally good methods
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
    with pytest.raises(ValueError, match="only_second: must be at least 0"):
        metrics.mcnemar_from_counts(1, -1)
    with pytest.raises(ValueError, match="they must come in pairs"):
        metrics.paired_t_test([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="at least 2 pairs of scores, got 1"):
        metrics.paired_t_test([1], [2])
    with pytest.raises(ValueError, match="first: example 1 is nan"):
        metrics.paired_t_test([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="train, test: give both sizes or neither"):
        metrics.paired_t_test([1, 2], [3, 5], train=10)
    with pytest.raises(ValueError, match="confidence: must be between 0 and 1"):
        metrics.paired_t_test([1, 2], [3, 5], confidence=95)
