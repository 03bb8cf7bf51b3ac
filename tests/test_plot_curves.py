"""Pictures of probabilities, searches and weights show the given numbers."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from sklearn.calibration import calibration_curve
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import svmgsu
from svmgsu import plot
from svmgsu.demo import crossing


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def problem():
    data, y = crossing()
    return svmgsu.train(data, y, lam=0.05), svmgsu.train(data.mean, y, lam=0.05), data, y


@pytest.fixture(scope="module")
def three():
    """A model of three classes with a hyperplane each, and its examples."""
    y = np.repeat(["a", "b", "c"], 20)
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[3, 0], [0, 3], [-3, -3]], 20, axis=0)
    return LinearSVC().fit(X, y), svmgsu.Gaussians(X, std=0.5), y


@pytest.fixture(scope="module")
def search():
    y = np.repeat([0, 1], 40)
    X = np.random.default_rng(1).normal(size=(80, 3)) + y[:, np.newaxis]
    lams = [1e-2, 1.0, 1e-1]  # in no order
    return svmgsu.LinearSVMGSU(lams, cov_scale=[1, 0, 0.3]).fit(X, y, std=0.7), X, y


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def chances():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    return p, np.where(rng.uniform(size=400) < p, "yes", "no")


class Stated:
    """A classifier that predicts the probabilities it is given as X."""

    def __init__(self, classes=("no", "yes")):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return np.column_stack([1 - X, X]) if X.ndim == 1 else X


def test_reliability_curves_are_scikit_learns(chances):
    p, y = chances
    sure = np.clip(1.5 * p - 0.25, 0, 1)
    ax = plot.reliability(Stated(), {"one": p, "other": sure}, y, bins=6)
    assert ax.get_lines()[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    for container, chance in zip(ax.containers, (p, sure), strict=True):
        frequency, probability = calibration_curve(y == "yes", chance, n_bins=6)
        np.testing.assert_allclose(container.lines[0].get_xydata(), np.column_stack([probability, frequency]))
    error = svmgsu.metrics.calibration_error(y == "yes", p, bins=6)
    assert legend_texts(ax)[:2] == ["calibrated", f"one, ECE {error:.3f}"]
    assert ax.get_xlabel() == "predicted probability of class yes"
    several = plot.reliability({"a": Stated(), "b": Stated()}, p, y)
    assert len(several.containers) == 2


def test_reliability_of_a_model_and_uncertain_samples(problem):
    model, _, data, y = problem
    ax = plot.reliability(model, {"values": data.mean, "Gaussians": data}, y, bins=3)
    p = model.predict_proba(data)[:, 1]
    _, probability = calibration_curve(y == model.classes_[1], p, n_bins=3)
    np.testing.assert_allclose(ax.containers[1].lines[0].get_xdata(), probability)


def test_bars_of_the_reliability_diagram_are_wilson_intervals(chances):
    p, y = chances
    (container,) = plot.reliability(Stated(), p, y, bins=5).containers
    for k, (low, high) in enumerate(container.lines[2][0].get_segments()):
        inside = (p > k / 5) & (p <= (k + 1) / 5)
        hits = int((y[inside] == "yes").sum())
        interval = scipy.stats.binomtest(hits, int(inside.sum())).proportion_ci(0.95, "wilson")
        assert (low[1], high[1]) == pytest.approx((interval.low, interval.high), abs=1e-4)


def test_reliability_of_one_class_of_several():
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    three = Stated((1, 2, 3))
    ax = plot.reliability(three, proba, [1, 2, 3], class_=2, bins=2)
    assert ax.containers[0].lines[0].get_xydata().tolist() == [
        [pytest.approx(0.2), 0],
        [pytest.approx(0.6), 1],
    ]
    with pytest.raises(ValueError, match=r"class_: there are 3 classes; choose one of \[1, 2, 3\]"):
        plot.reliability(three, proba, [1, 2, 3])
    # a class that does not occur
    ax = plot.reliability(three, proba, [1, 2, 2], class_=3, bins=1)
    assert ax.containers[0].lines[0].get_xydata()[0] == pytest.approx([1 / 3, 0])


def test_reliability_says_what_is_wrong(chances):
    p, y = chances
    with pytest.raises(ValueError, match=r"predict_proba of 'p': example 0 has .* from 0 to 1"):
        plot.reliability(Stated(), {"p": np.full(400, 2.0)}, y)
    with pytest.raises(ValueError, match="y: 400 labels for 3 samples of 'p'"):
        plot.reliability(Stated(), {"p": p[:3]}, y)
    with pytest.raises(ValueError, match="model: there is nothing to draw"):
        plot.reliability({}, p, y)
    with pytest.raises(ValueError, match=r"data: its names are \['b'\], but those of the models are \['a'\]"):
        plot.reliability({"a": Stated()}, {"b": p}, y)
    with pytest.raises(ValueError, match="model: 'b' has the classes"):
        plot.reliability({"a": Stated(), "b": Stated(("x", "y"))}, p, y)
    with pytest.raises(ValueError, match="class_: 'maybe' is not one of the classes"):
        plot.reliability(Stated(), p, y, class_="maybe")
    with pytest.raises(ValueError, match="y: expected one label per example"):
        plot.reliability(Stated(), p, y[:, None])


def test_the_path_is_the_mean_score_of_the_chosen_scale_with_its_standard_error(search):
    found, _, _ = search
    ax = plot.path(found)
    results = found.cv_results_
    rows = [k for k in np.argsort(results["param_lam"]) if results["param_cov_scale"][k] == found.cov_scale_]
    curve, _, mark = ax.get_lines()
    assert curve.get_xdata().tolist() == [1e-2, 1e-1, 1.0]
    assert curve.get_ydata().tolist() == results["mean_test_score"][rows].tolist()
    assert mark.get_xydata().tolist() == [[found.lam_, found.best_score_]]
    folds = np.array([results[f"split{f}_test_score"][rows] for f in range(4)])
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    for lam, mean, error in zip(
        curve.get_xdata(), folds.mean(0), scipy.stats.sem(folds, axis=0), strict=True
    ):
        heights = corners[corners[:, 0] == lam][:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((mean - error, mean + error))
    assert ax.get_xscale() == "log"
    assert f"chosen: λ = {found.lam_:.3g}" in legend_texts(ax)


def test_the_scale_curve_is_the_best_score_of_each_scale(search):
    found, _, _ = search
    ax = plot.cov_scale(found)
    results = found.cv_results_
    curve, _, mark = ax.get_lines()
    assert curve.get_xdata().tolist() == [0, 0.3, 1]
    for scale, score in curve.get_xydata():
        assert score == results["mean_test_score"][results["param_cov_scale"] == scale].max()
    assert mark.get_xydata().tolist() == [[found.cov_scale_, found.best_score_]]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0\n(SVM)", "0.3", "1"]


def test_searches_of_scikit_learn_are_drawn_as_well(search):
    _, X, y = search
    data = svmgsu.Gaussians(X, std=0.7)
    grid = {"lam": [0.1, 1.0], "cov_scale": [0.0, 1.0]}
    found = GridSearchCV(svmgsu.LinearSVMGSU(), grid, cv=3, scoring="neg_log_loss").fit(data, y)
    assert plot.path(found).get_ylabel() == "neg log loss"
    assert plot.cov_scale(found).get_lines()[2].get_ydata().tolist() == [found.best_score_]


def test_a_search_of_one_scale_has_no_curve_of_scales(search):
    _, X, y = search
    found = svmgsu.LinearSVMGSU([0.1, 1]).fit(X, y, std=0.7)
    assert plot.path(found).get_ylabel() == "expected accuracy"
    with pytest.raises(ValueError, match="search: only the scale 1 was tried"):
        plot.cov_scale(found)
    with pytest.raises(ValueError, match="search: this LinearSVMGSU has no cv_results_; fit it first"):
        plot.path(svmgsu.LinearSVMGSU())


def test_every_picture_draws_on_the_axes_it_is_given_and_labels_them(problem, search, chances):
    model, _, data, y = problem
    found = search[0]
    pictures = [
        lambda ax: plot.boundary(model, data, y, ax),
        lambda ax: plot.convergence(model, ax),
        lambda ax: plot.histogram(model, data, y, ax),
        lambda ax: plot.reliability(Stated(), *chances, ax),
        lambda ax: plot.path(found, ax),
        lambda ax: plot.cov_scale(found, ax),
    ]
    for picture in pictures:
        figure, ax = plt.subplots()
        assert picture(ax) is ax
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert figure.axes == [ax]
    assert len(plt.get_fignums()) == len(pictures)
