"""Measures against scikit-learn, ranks by brute force and by hand; tests against printed examples."""

import json
import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
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
    assert [f(y, scores, 5) for f in AT_K] == pytest.approx([2 / 5, 1.0, (1 + 2 / 3) / 2])


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
    expected = sk.confusion_matrix(y, said, sample_weight=w)
    np.testing.assert_allclose(found.confusion / found.confusion.sum(), expected / expected.sum())
    assert found.confusion.sum() == pytest.approx(len(y))


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
    assert found.log_loss == pytest.approx(sk.log_loss(y, proba, sample_weight=w))
    by_score = metrics.evaluate(y, scores)
    assert by_score.accuracy == np.mean(y == np.array([3, 5, 9])[scores.argmax(axis=1)])


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
    json.dumps(found.to_dict(), allow_nan=False)
    three = metrics.evaluate([0, 1, 1], np.eye(3)[[0, 1, 1]], labels=[0, 1, 2])
    assert three.average_precision == 1.0
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
    assert found.samples.sum() == len(y)


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
        ValueError, match=r"outcome: sample [01] has .*; expected True or False, as from y =="
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
    read = json.loads(json.dumps(found.to_dict()))
    assert read["accuracy"] == found.accuracy
    assert read["recall_at"]["15"] == found.recall_at[15]
    assert read["confusion"] == found.confusion.tolist()
    assert [c["label"] for c in read["by_class"]] == [3, 5, 9]
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
    # There are only 150 samples.
    assert list(found.precision_at) == list(found.by_class[0].recall_at) == [5, 10, 15, 20, 30, 100]
    assert " 100\n" in shown and " 200" not in shown
    assert "at k" not in repr(metrics.evaluate([0, 1], [-1.0, 1.0]))
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
    with pytest.raises(ValueError, match="two classes, not for 3"):
        metrics.evaluate(y, scores).save_text(tmp_path / "metrics.txt")
    with pytest.raises(FileNotFoundError, match="nowhere"):
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


def test_ten_bins_are_the_default(two_classes):
    y, proba = two_classes[0], np.linspace(0.01, 0.99, len(two_classes[0]))
    found, asked = (metrics.reliability_bins(y == "yes", proba, **more) for more in ({}, {"bins": 10}))
    assert found.samples.tolist() == asked.samples.tolist()
