"""Pictures say what they claim: ellipses of the stated mass, lines of the stated decision value."""

import math
from itertools import pairwise

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

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
    far = svmgsu.Model(np.array([[1.0, 0.0]]), np.array([-1e6]), model.classes_, lam=1.0)
    assert plot.boundary(model, data, y).axis() == plot.boundary(model, data, y, other=far).axis()


def test_boundary_draws_on_given_axes_and_without_covariances(problem):
    _, svm, data, y = problem
    _, ax = plt.subplots()
    assert plot.boundary(svm, svmgsu.Gaussians(data.mean), y, ax) is ax
    assert ellipses(ax) == []


def test_a_trivial_model_has_no_boundary_and_the_legend_says_so(problem):
    model, _, data, y = problem
    trivial = svmgsu.Model(coef_=np.zeros((1, 2)), intercept_=np.ones(1), classes_=model.classes_, lam=1.0)
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
    with pytest.raises(ValueError, match=r"y: example 0 is of class 5; the model knows \[1, 2\]"):
        plot.boundary(model, data, [5, *y[1:]])


def test_loss_is_the_hinge_at_no_uncertainty_and_grows_with_it():
    ax = plot.loss(s=(0, 0.5, 2))
    curves = [line.get_ydata() for line in ax.get_lines()]
    margin = ax.get_lines()[0].get_xdata()
    assert curves[0] == pytest.approx(np.maximum(0, 1 - margin))
    assert all((upper >= lower).all() for lower, upper in pairwise(curves))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["s = 0 (hinge)", "s = 0.5", "s = 2"]


def test_convergence_shows_objective_and_gap_where_they_are_known(problem):
    model = problem[0]
    history = [
        {"iteration": k, "objective": objective, "gap": gap, "seconds": 0.0, "passes": float(k)}
        for k, (objective, gap) in enumerate([(1.0, 1.0), (math.nan, math.nan), (0.5, 0.1), (0.45, 0.0)])
    ]
    made = svmgsu.Model(model.coef_, model.intercept_, model.classes_, 1.0, history_=history)
    objective, gap = plot.convergence(made).get_lines()
    assert objective.get_xydata().tolist() == [[0, 1.0], [2, 0.5], [3, 0.45]]
    assert gap.get_xydata().tolist() == [[0, 1.0], [2, 0.1]]
    assert isinstance(plot.convergence(model), Axes)
    with pytest.raises(ValueError, match="it has no history"):
        plot.convergence(svmgsu.Model(model.coef_, model.intercept_, model.classes_, 1.0))


def test_models_of_more_classes_are_refused():
    X, y = np.eye(3)[:, :2].repeat(5, axis=0), np.arange(3).repeat(5)
    model = svmgsu.train(X, y, std=0.01, lam=1e-3, probability=False)
    with pytest.raises(ValueError, match="model: only models of two classes can be drawn, got 3"):
        svmgsu.plot.boundary(model, svmgsu.Gaussians(X), y)
    with pytest.raises(ValueError, match="model: only models of two classes can be drawn, got 3"):
        svmgsu.plot.convergence(model)
