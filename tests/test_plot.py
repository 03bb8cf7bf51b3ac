"""Pictures say what they claim: ellipses of the stated mass, curves of the given numbers."""

import math
from itertools import pairwise

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
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


def ellipses(ax):
    return [patch for patch in ax.patches if isinstance(patch, Ellipse)]


@pytest.fixture(scope="module")
def three():
    """A model of three classes with a hyperplane each, and its examples."""
    y = np.repeat(["a", "b", "c"], 20)
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[3, 0], [0, 3], [-3, -3]], 20, axis=0)
    return LinearSVC().fit(X, y), svmgsu.Gaussians(X, std=0.5), y


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("mass", [0.1, 0.5, 0.95])
def test_ellipses_hold_the_stated_mass(problem, mass):
    model, _, data, y = problem
    radius = math.sqrt(scipy.stats.chi2(2).ppf(mass))
    drawn = ellipses(plot.boundary(model, data, y, mass=mass))
    assert len(drawn) == len(data)
    for ellipse, covariance in zip(drawn, data.cov.to_full(), strict=True):
        small, large = np.sqrt(np.linalg.eigvalsh(covariance))
        sizes = sorted((ellipse.width, ellipse.height))
        assert sizes == pytest.approx([2 * radius * small, 2 * radius * large])


@pytest.mark.parametrize("mass", [0.2, 0.9])
def test_an_ellipse_has_the_area_of_its_mass(problem, mass):
    # The mass of a Gaussian within Mahalanobis radius r is 1 - exp(-r²/2), its area π r² √det Σ.
    model, _, data, y = problem
    for ellipse, covariance in zip(
        ellipses(plot.boundary(model, data, y, mass=mass)), data.cov.to_full(), strict=True
    ):
        area = math.pi * ellipse.width * ellipse.height / 4
        within = 1 - math.exp(-area / (2 * math.pi * math.sqrt(np.linalg.det(covariance))))
        assert within == pytest.approx(mass)


def test_the_legend_states_the_mass_where_there_are_ellipses(problem):
    model, svm, data, y = problem
    assert "90 % of an example" in legend_texts(plot.boundary(model, data, y, mass=0.9))
    assert not any("%" in text for text in legend_texts(plot.boundary(svm, data.mean, y)))


def test_an_ellipse_holds_that_share_of_samples(problem):
    model, _, data, y = problem
    ellipse = ellipses(plot.boundary(model, data, y, mass=0.7))[4]
    samples = np.random.default_rng(0).multivariate_normal(data.mean[4], data.cov.to_full()[4], 20_000)
    unit = ellipse.get_patch_transform().inverted().transform(samples)
    assert (np.linalg.norm(unit, axis=1) < 1).mean() == pytest.approx(
        0.7, abs=0.015
    )  # over 4 standard errors


def test_ellipses_use_the_class_of_a_shared_covariance():
    X, y = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array(["a", "b"])
    data = svmgsu.Gaussians(X, svmgsu.Shared({"a": [1.0, 1.0], "b": [4.0, 4.0]}))
    a, b = ellipses(plot.boundary(svmgsu.train(data, y, lam=0.1), data, y))
    assert b.width == pytest.approx(2 * a.width)


def test_lines_are_the_boundary_its_margins_and_the_other_boundary(problem):
    model, other, data, y = problem
    ax = plot.boundary(model, data, y, other=other, labels=("mine", "yours"))
    assert isinstance(ax, Axes)
    levels = [(m, v) for m, v in ((model, 0.0), (model, -1.0), (model, 1.0), (other, 0.0))]
    for line, (which, level) in zip(ax.get_lines(), levels, strict=True):
        points = np.array([line.get_xy1(), line.get_xy2()])
        assert which.decision_function(points) == pytest.approx([level, level])
    assert [line.get_linestyle() for line in ax.get_lines()] == ["-", ":", ":", "--"]
    assert {"mine", "yours"} <= set(ax.get_legend_handles_labels()[1])


def test_the_view_is_that_of_the_examples_not_of_the_lines(problem):
    model, _, data, y = problem
    far = svmgsu.models.classifier.Model(np.array([[1.0, 0.0]]), np.array([-1e6]), model.classes_, lam=1.0)
    assert plot.boundary(model, data, y).axis() == plot.boundary(model, data, y, other=far).axis()


def test_boundary_draws_on_given_axes_and_without_covariances(problem):
    _, svm, data, y = problem
    _, ax = plt.subplots()
    assert plot.boundary(svm, svmgsu.Gaussians(data.mean), y, ax) is ax
    assert ellipses(ax) == []


def test_a_trivial_model_has_no_boundary_and_the_legend_says_so(problem):
    model, _, data, y = problem
    trivial = svmgsu.models.classifier.Model(
        coef_=np.zeros((1, 2)), intercept_=np.ones(1), classes_=model.classes_, lam=1.0
    )
    labels = plot.boundary(trivial, data, y).get_legend_handles_labels()[1]
    assert any("w = 0" in label for label in labels)


def test_boundary_refuses_what_it_cannot_draw(problem):
    model, _, data, y = problem
    with pytest.raises(ValueError, match="data: only examples of 2 features"):
        plot.boundary(model, svmgsu.Gaussians(np.zeros((4, 3))), [1, 1, 2, 2])
    with pytest.raises(ValueError, match="mass: must be between 0 and 1"):
        plot.boundary(model, data, y, mass=1.0)
    with pytest.raises(ValueError, match="y: shape"):
        plot.boundary(model, data, y[:-1])
    with pytest.raises(ValueError, match="other: only models of 2 features can be drawn, got 3"):
        plot.boundary(
            model,
            data,
            y,
            other=svmgsu.models.classifier.Model(np.ones((1, 3)), np.zeros(1), model.classes_, 1.0),
        )
    with pytest.raises(ValueError, match="model: this LinearSVMGSU has no coef_; pass a trained"):
        plot.boundary(svmgsu.LinearSVMGSU(), data, y)
    with pytest.raises(ValueError, match=r"class_: 3 is not one of the model's classes \[1, 2\]"):
        plot.boundary(model, data, y, class_=3)
    with pytest.raises(ValueError, match=r"y: sample 0 is of class 5; the model knows \[1, 2\]"):
        plot.boundary(model, data, [5, *y[1:]])


def test_axes_have_the_names_of_the_features(problem):
    _, _, data, y = problem
    named = svmgsu.Gaussians(data.mean, data.cov, feature_names=["mass", "length"])
    model = svmgsu.LinearSVMGSU(0.1).fit(named, y)
    for shown in (named, data):
        ax = plot.boundary(model, shown, y)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("mass", "length")


@pytest.mark.parametrize("engine", ["constrained", None])
@pytest.mark.parametrize("columns", [1, 3])
def test_no_legend_is_clipped(problem, engine, columns):
    data, labels = problem[2:]
    y = np.where(labels == labels[0], "a class with a rather long name", "another one of that kind")
    model = svmgsu.train(data, y, lam=0.1)
    figure, axes = plt.subplots(1, columns, figsize=(4.2 * columns, 4), layout=engine, squeeze=False)
    for ax in axes.flat:
        plot.boundary(model, data, y, ax, other=model, labels=("trained with uncertainties", "without them"))
    figure.canvas.draw()
    boxes = [ax.get_legend().get_window_extent() for ax in axes.flat]
    for box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))


def test_axes_have_the_given_names(problem):
    model, _, data, y = problem
    ax = plot.boundary(model, data, y, names=("mass, kg", "length, m"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mass, kg", "length, m")


def test_of_two_classes_the_first_can_be_chosen(problem):
    model, _, data, y = problem
    ax = plot.boundary(model, data, y, class_=1)
    assert legend_texts(ax)[:2] == ["class 2", "class 1"]
    points = np.array([ax.get_lines()[2].get_xy1(), ax.get_lines()[2].get_xy2()])
    assert model.decision_function(points) == pytest.approx([-1, -1])  # the margin of class 1


def test_of_more_classes_one_is_drawn_against_the_others(three):
    model, data, y = three
    ax = plot.boundary(model, data, y, class_="b")
    line = ax.get_lines()[0]
    points = np.array([line.get_xy1(), line.get_xy2()])
    assert model.decision_function(points)[:, 1] == pytest.approx([0, 0], abs=1e-12)
    assert legend_texts(ax)[:2] == ["the other classes", "class b"]
    assert [len(c.get_offsets()) for c in ax.collections] == [40, 20]
    for picture in (plot.boundary, plot.histogram):
        with pytest.raises(
            ValueError, match=r"class_: the model has 3 classes; choose one of \['a', 'b', 'c'\]"
        ):
            picture(model, data, y)


@pytest.mark.parametrize("sparse", [False, True])
def test_pictures_take_models_estimators_and_sparse_means(problem, sparse):
    _, _, data, y = problem
    means = scipy.sparse.csr_array(data.mean) if sparse else data.mean.astype(np.float32)
    examples = svmgsu.Gaussians(means, std=0.3)
    estimator = svmgsu.LinearSVMGSU(0.05).fit(examples, y)
    for model in (estimator, estimator.model_):
        assert len(ellipses(plot.boundary(model, examples, y))) == len(y)
        assert isinstance(plot.histogram(model, examples, y), Axes)
        assert isinstance(plot.convergence(model), Axes)


def test_convergence_shows_objective_and_gap_where_they_are_known(problem):
    model = problem[0]
    history = [
        {"iteration": k, "objective": objective, "gap": gap, "seconds": 0.0, "passes": float(k)}
        for k, (objective, gap) in enumerate([(1.0, 1.0), (math.nan, math.nan), (0.5, 0.1), (0.45, 0.0)])
    ]
    made = svmgsu.models.classifier.Model(
        model.coef_, model.intercept_, model.classes_, 1.0, history_=history
    )
    objective, gap = plot.convergence(made).get_lines()
    assert objective.get_xydata().tolist() == [[0, 1.0], [2, 0.5], [3, 0.45]]
    assert gap.get_xydata().tolist() == [[0, 1.0], [2, 0.1]]
    assert isinstance(plot.convergence(model), Axes)
    with pytest.raises(ValueError, match="it has no history"):
        plot.convergence(svmgsu.models.classifier.Model(model.coef_, model.intercept_, model.classes_, 1.0))
    with pytest.raises(ValueError, match='against: expected "passes" or "seconds"'):
        plot.convergence(model, against="hours")


@pytest.mark.parametrize(("seconds", "shown", "unit"), [(0.2, 200, "time, ms"), (30.0, 30, "time, s")])
def test_convergence_against_time_has_its_unit(problem, seconds, shown, unit):
    model = problem[0]
    history = [{"objective": 1.0, "gap": 0.5, "seconds": seconds, "passes": 1.0}]
    made = svmgsu.models.classifier.Model(
        model.coef_, model.intercept_, model.classes_, 1.0, history_=history
    )
    ax = plot.convergence(made, against="seconds")
    assert ax.get_lines()[0].get_xdata().tolist() == [pytest.approx(shown)]
    assert ax.get_xlabel() == unit


def bars(ax):
    """(numbers, standard deviations) of each class in a histogram."""
    out = []
    for container in ax.containers:
        points, _, (sticks,) = container.lines
        segments = np.array(sticks.get_segments())
        out.append((points.get_ydata(), (segments[:, 1, 1] - segments[:, 0, 1]) / 2))
    return out


def test_bars_and_error_bars_of_the_histogram_are_those_of_draws(problem):
    model, _, data, y = problem
    edges = np.linspace(-3, 3, 9)
    drawn = bars(plot.histogram(model, data, y, bins=edges))
    rng = np.random.default_rng(0)
    draws = 4000
    samples = [
        rng.multivariate_normal(m, S, draws) for m, S in zip(data.mean, data.cov.to_full(), strict=True)
    ]
    values = np.array([model.decision_function(s) for s in samples])
    for label, (number, deviation) in zip(model.classes_, drawn, strict=True):
        counts = np.array([np.histogram(column, edges)[0] for column in values[np.asarray(y) == label].T])
        assert np.abs(counts.mean(axis=0) - number).max() < 4.5 * deviation.max() / math.sqrt(draws)
        assert counts.std(axis=0) == pytest.approx(deviation, rel=0.1, abs=0.02)


def test_the_histogram_of_certain_examples_is_the_ordinary_one(problem):
    model, _, data, y = problem
    ax = plot.histogram(model, data.mean, y, bins=7)
    values = model.decision_function(data.mean)
    edges = np.histogram_bin_edges(values, 7)
    for label, container in zip(model.classes_, ax.containers, strict=True):
        assert container.lines[0].get_ydata().tolist() == np.histogram(values[y == label], edges)[0].tolist()
    assert ax.get_ylabel() == "examples"


def test_all_examples_are_in_the_histogram_where_its_bins_are_wide_enough(problem):
    model, _, data, y = problem
    (first, _), (second, _) = bars(plot.histogram(model, data, y, bins=[-1e3, 0, 1e3]))
    assert (first.sum(), second.sum()) == pytest.approx((11, 11))
    one = plot.histogram(model, data, np.full(len(data), 1))  # no example of the other class
    assert bars(one)[1][0].max() == 0


def test_the_histogram_uses_the_class_of_a_shared_covariance():
    X, y = np.array([[-1.0], [1.0]]), np.array(["a", "b"])
    data = svmgsu.Gaussians(X, svmgsu.Shared({"a": [[0.0]], "b": [[1.0]]}))
    model = svmgsu.models.classifier.Model(np.array([[1.0]]), np.zeros(1), y, 1.0)
    (a, spread_a), (b, spread_b) = bars(plot.histogram(model, data, y, bins=[-1.5, 0, 1]))
    assert (a.tolist(), spread_a.tolist()) == ([1, 0], [0, 0])
    assert b == pytest.approx(
        [scipy.stats.norm.cdf(-1) - scipy.stats.norm.cdf(-2.5), 0.5 - scipy.stats.norm.cdf(-1)]
    )
    assert spread_b == pytest.approx(np.sqrt(b * (1 - b)))


def test_histogram_says_what_is_wrong(problem):
    model, _, data, y = problem
    with pytest.raises(ValueError, match="data: 3 features, but the model has 2"):
        plot.histogram(model, np.zeros((4, 3)), [1, 1, 2, 2])
    with pytest.raises(ValueError, match="bins: edges must be at least two numbers that increase"):
        plot.histogram(model, data, y, bins=[1, 0])
    with pytest.raises(ValueError, match="bins: must be at least 1"):
        plot.histogram(model, data, y, bins=0)
