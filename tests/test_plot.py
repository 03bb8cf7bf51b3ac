"""Figures show what they claim: ellipses of the stated mass, boundaries where predictions change."""

import math

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
from matplotlib.patches import Ellipse
from sklearn.calibration import calibration_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import svmgsu
from svmgsu import plot
from svmgsu.demo import crossing
from svmgsu.plot.style import save_figure


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
    y = np.repeat(["a", "b", "c"], 20)
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[3, 0], [0, 3], [-3, -3]], 20, axis=0)
    return LinearSVC().fit(X, y), svmgsu.Gaussians(X, std=0.5), y


@pytest.fixture(scope="module")
def named():
    """Samples of two named features in different units, a nonlinear class, and a pool fitted to it."""
    rng = np.random.default_rng(0)
    error = np.tile([0.2, 20.0], (120, 1))
    X = rng.normal(size=(120, 2)) * [1.0, 100.0] + error * rng.normal(size=(120, 2))
    data = svmgsu.Gaussians(X, std=error, feature_names=["a", "b"])
    y = np.where(X[:, 0] + (X[:, 1] / 100) ** 2 > 0.7, "out", "in")
    return svmgsu.GSUClassifier(n_frequencies=20, members=["linear", "rbf"]).fit(data, y), data, y


def ellipses(ax):
    return [patch for patch in ax.patches if isinstance(patch, Ellipse)]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def lines_at(ax, level, color="black"):
    """The points of a contour."""
    found = []
    for contour in ax.collections:
        if hasattr(contour, "levels") and not contour.filled and list(contour.levels) == [level]:
            found += [path.vertices for path in contour.get_paths() if len(path.vertices)]
    return np.concatenate(found)


@pytest.mark.parametrize("mass", [0.1, 0.95])
def test_ellipses_hold_the_stated_mass(problem, mass):
    model, _, data, y = problem
    radius = math.sqrt(scipy.stats.chi2(2).ppf(mass))
    ax = plot.boundary(model, data, y, mass=mass)
    assert len(ellipses(ax)) == len(data) and f"{100 * mass:g} % of a sample" in legend_texts(ax)
    samples = np.concatenate([np.flatnonzero(np.asarray(y) == label) for label in model.classes_])
    for drawn, i in zip(ellipses(ax), samples, strict=True):
        small, large = np.sqrt(np.linalg.eigvalsh(data.cov.to_full()[i]))
        assert sorted((drawn.width, drawn.height)) == pytest.approx([2 * radius * small, 2 * radius * large])
    drawn = ellipses(ax)[4]
    draws = np.random.default_rng(0).multivariate_normal(
        data.mean[samples[4]], data.cov.to_full()[samples[4]], 20_000
    )
    unit = drawn.get_patch_transform().inverted().transform(draws)
    assert (np.linalg.norm(unit, axis=1) < 1).mean() == pytest.approx(mass, abs=0.015)


def test_boundaries_lie_where_predictions_change(problem, named):
    model, other, data, y = problem
    ax = plot.boundary(model, data, y, other=other, labels=("mine", "yours"))
    points = lines_at(ax, 0.5)
    half = [np.abs(m.predict_proba(points)[:, 1] - 0.5) < 1e-3 for m in (model, other)]
    assert np.logical_or(*half).all() and half[0].any() and half[1].any()
    assert {"mine", "yours", "1", "2"} <= set(legend_texts(ax))
    pool, samples, labels = named
    points = lines_at(plot.boundary(pool, samples, labels), 0.5)
    # Far outside the samples the pool's probability jumps where members without support stop to answer.
    assert np.median(np.abs(pool.predict_proba(points)[:, 1] - 0.5)) < 0.02
    ax = plot.boundary(LinearSVC().fit(data.mean, y), data, y)  # without probabilities
    assert np.abs(LinearSVC().fit(data.mean, y).decision_function(lines_at(ax, 0.0))).max() < 1e-6


def test_more_than_two_classes_have_regions_or_one_against_the_rest(three):
    model, data, y = three
    ax = plot.boundary(model, data, y)
    assert legend_texts(ax)[:3] == ["a", "b", "c"]
    scores = np.sort(model.decision_function(lines_at(ax, 0.0)), axis=1)
    assert np.abs(scores[:, -1] - scores[:, -2]).max() < 0.1  # the two best are equal
    ax = plot.boundary(model, data, y, class_="b")
    assert legend_texts(ax)[:2] == ["other classes", "b"]
    assert np.abs(model.decision_function(lines_at(ax, 0.0))[:, 1]).max() < 1e-6
    for picture in (plot.histogram, plot.reliability):
        with pytest.raises(ValueError, match=r"class_: there are 3 classes; choose one of \['a', 'b', 'c'\]"):
            picture(model, data, y)


def test_boundary_refuses_what_it_cannot_draw(problem):
    model, _, data, y = problem
    for change, message in (
        ({"X": np.zeros((4, 3)), "y": [1, 1, 2, 2]}, "X: only samples of 2 features"),
        ({"mass": 1.0}, "mass: must be between 0 and 1"),
        ({"y": y[:-1]}, "y: shape"),
        ({"model": svmgsu.LinearSVMGSU()}, "model: expected a fitted classifier, but this LinearSVMGSU"),
        ({"class_": 3}, r"class_: 3 is not one of the model's classes \[1, 2\]"),
        ({"y": [5, *y[1:]]}, r"y: sample 0 is of class 5; the model knows \[1, 2\]"),
    ):
        with pytest.raises(ValueError, match=message):
            plot.boundary(**{"model": model, "X": data, "y": y} | change)


def bars(ax):
    """(numbers, standard deviations) of each class in a histogram."""
    out = []
    for container in ax.containers:
        points, _, (sticks,) = container.lines
        segments = np.array(sticks.get_segments())
        out.append((points.get_ydata(), (segments[:, 1, 1] - segments[:, 0, 1]) / 2))
    return out


def test_the_histogram_has_the_mean_and_deviation_of_draws(problem):
    model, _, data, y = problem
    edges = np.linspace(-3, 3, 9)
    drawn = bars(plot.histogram(model, data, y, bins=edges))
    rng = np.random.default_rng(0)
    pairs = zip(data.mean, data.cov.to_full(), strict=True)
    values = np.array([model.decision_function(rng.multivariate_normal(m, S, 4000)) for m, S in pairs])
    for label, (number, deviation) in zip(model.classes_, drawn, strict=True):
        counts = np.array([np.histogram(column, edges)[0] for column in values[np.asarray(y) == label].T])
        assert np.abs(counts.mean(axis=0) - number).max() < 4.5 * deviation.max() / math.sqrt(4000)
        assert counts.std(axis=0) == pytest.approx(deviation, rel=0.1, abs=0.02)
    (first, _), (second, _) = bars(plot.histogram(model, data, y, bins=[-1e3, 0, 1e3]))
    assert (first.sum(), second.sum()) == pytest.approx((11, 11))


def test_the_histogram_of_exact_samples_is_the_ordinary_one(problem, named):
    model, _, data, y = problem
    ax = plot.histogram(model, data.mean, y, bins=7)
    values = model.decision_function(data.mean)
    edges = np.histogram_bin_edges(values, 7)
    for label, container in zip(model.classes_, ax.containers, strict=True):
        assert container.lines[0].get_ydata().tolist() == np.histogram(values[y == label], edges)[0].tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("decision value of class 2", "samples")
    pool, samples, labels = named
    counts = plot.histogram(pool, samples, labels, bins=[-1e6, 0, 1e6]).patches
    assert sum(patch.get_data().values.sum() for patch in counts) == pytest.approx(2 * 120)
    for wrong, message in (([1, 0], "bins: edges must be"), (0, "bins: must be at least 1")):
        with pytest.raises(ValueError, match=message):
            plot.histogram(model, data, y, bins=wrong)


class Predicts:
    """A classifier that predicts the probabilities it is given as X."""

    def __init__(self, classes=("no", "yes")):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return np.column_stack([1 - X, X]) if X.ndim == 1 else X


@pytest.fixture(scope="module")
def chances():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    return p, np.where(rng.uniform(size=400) < p, "yes", "no")


def test_reliability_curves_are_scikit_learns_with_wilsons_intervals(chances):
    p, y = chances
    sure = np.clip(1.5 * p - 0.25, 0, 1)
    ax = plot.reliability(Predicts(), {"one": p, "other": sure}, y, bins=5)
    for container, chance in zip(ax.containers, (p, sure), strict=True):
        frequency, probability = calibration_curve(y == "yes", chance, n_bins=5)
        np.testing.assert_allclose(container.lines[0].get_xydata(), np.column_stack([probability, frequency]))
    error = svmgsu.metrics.calibration_error(y == "yes", p, bins=5)
    assert legend_texts(ax)[:2] == ["calibrated", f"one, ECE {error:.3f}"]
    for k, (low, high) in enumerate(ax.containers[0].lines[2][0].get_segments()):
        inside = (p > k / 5) & (p <= (k + 1) / 5)
        hits = int((y[inside] == "yes").sum())
        interval = scipy.stats.binomtest(hits, int(inside.sum())).proportion_ci(0.95, "wilson")
        assert (low[1], high[1]) == pytest.approx((interval.low, interval.high), abs=1e-4)
    assert len(plot.reliability({"a": Predicts(), "b": Predicts()}, p, y).containers) == 2


def test_reliability_of_a_class_of_several_and_what_is_wrong(chances):
    p, y = chances
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    ax = plot.reliability(Predicts((1, 2, 3)), proba, [1, 2, 3], class_=2, bins=2)
    assert ax.containers[0].lines[0].get_xydata().tolist() == [
        [pytest.approx(0.2), 0],
        [pytest.approx(0.6), 1],
    ]
    for model, X, labels, message in (
        (Predicts(), {"p": np.full(400, 2.0)}, y, r"predict_proba of 'p': sample 0 has .* from 0 to 1"),
        (Predicts(), {"p": p[:3]}, y, "y: 400 labels for 3 samples of 'p'"),
        ({}, p, y, "model: there is nothing to draw"),
        ({"a": Predicts()}, {"b": p}, y, r"X: its names are \['b'\], but those of the models are \['a'\]"),
        ({"a": Predicts(), "b": Predicts(("x", "y"))}, p, y, "model: 'b' has the classes"),
        (Predicts(), p, y[:, None], "y: expected one label per sample"),
    ):
        with pytest.raises(ValueError, match=message):
            plot.reliability(model, X, labels)


def test_convergence_shows_objective_and_gap_where_they_are_known(problem):
    model = problem[0]
    ax = plot.convergence(model, against="seconds")
    assert ax.get_xlabel().startswith("time, ") and ax.get_yscale() == "log"
    objective, gap = ax.get_lines()
    assert objective.get_ydata()[-1] == pytest.approx(model.objective_) and (gap.get_ydata() > 0).all()
    with pytest.raises(ValueError, match='against: expected "passes" or "seconds"'):
        plot.convergence(model, against="hours")
    with pytest.raises(ValueError, match="it has no history"):
        plot.convergence(LinearSVC())


def test_predictions_of_regressors_against_targets(named):
    _, data, _ = named
    target = data.mean[:, 0] ** 2
    linear = make_pipeline(svmgsu.Propagate(StandardScaler()), svmgsu.LinearSVRGSU()).fit(data, target)
    pool = svmgsu.GSURegressor(n_frequencies=10, members=["linear"]).fit(data, target)
    for model in (linear, pool):
        ax = plot.predictions(model, data, target, y_std=0.1)
        points = next(line for line in ax.get_lines() if len(line.get_xdata()) == 120)
        assert np.allclose(points.get_ydata(), model.predict(data))
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("target", "predicted target")
    assert plot.predictions(linear, data, pd.Series(target, name="redshift")).get_xlabel() == "redshift"
    with pytest.raises(ValueError, match="y: 3 targets for 120 samples"):
        plot.predictions(linear, data, target[:3])


def test_the_members_of_a_pool_are_drawn(named):
    ax = plot.pool(named[0])
    pool = named[0].pool_
    assert {text.get_text() for text in ax.get_yticklabels()} == set(pool.members)
    points, line = ax.get_lines()
    np.testing.assert_allclose(np.sort(points.get_xdata()), np.sort(pool.losses))
    assert line.get_xdata()[0] == pool.loss
    bars = [patch.get_width() for patch in ax.child_axes[0].patches]
    np.testing.assert_allclose(sorted(bars), sorted([*pool.weights, *pool.fallback_weights]))
    with pytest.raises(ValueError, match="model: expected a fitted GSUClassifier"):
        plot.pool(svmgsu.GSUClassifier())


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_the_same_figure_is_written_with_the_same_bytes(problem, tmp_path, ending):
    model, _, data, y = problem
    for name in ("one", "two"):
        with open(tmp_path / name, "wb") as file:
            save_figure(plot.boundary(model, data, y).figure, file, ending)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
