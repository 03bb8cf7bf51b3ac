"""Pictures of pipelines, of curved models and of populations: as the models themselves say."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Ellipse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmgsu
from svmgsu import plot


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) * [1.0, 100.0]
    error = np.tile([0.2, 20.0], (120, 1))
    return svmgsu.Gaussians(X + error * rng.normal(size=X.shape), std=error, feature_names=["a", "b"])


@pytest.fixture(scope="module")
def y(data):
    a, b = (data.mean / [1, 100]).T
    return np.where(a + b**2 > 0.7, "out", "in")


@pytest.fixture(scope="module")
def curved(data, y):
    return svmgsu.GSUClassifier(n_frequencies=30).fit(data, y)


@pytest.fixture(scope="module")
def pipeline(data, y):
    return make_pipeline(svmgsu.Propagate(StandardScaler()), svmgsu.LinearSVMGSU()).fit(data, y)


def test_the_boundary_of_a_pipeline_is_in_the_units_of_the_data(pipeline, data, y):
    rule = pipeline[0].unscale(pipeline[-1])
    plain = svmgsu.models.classifier.Model(rule.coef_, rule.intercept_, pipeline.classes_, lam=1.0)
    lines = [plot.boundary(model, data, y).get_lines()[0] for model in (pipeline, plain)]
    assert np.allclose(lines[0].get_xy1(), lines[1].get_xy1())
    assert np.allclose(lines[0].get_xy2(), lines[1].get_xy2())


def test_a_curved_boundary_lies_where_decisions_turn(curved, data, y):
    ax = plot.boundary(curved, data, y, other=curved)
    found = [c for c in ax.collections if hasattr(c, "get_paths") and hasattr(c, "levels")]
    assert len(found) == 2
    points = np.concatenate([path.vertices for path in found[0].get_paths()])
    assert np.abs(curved.decision_function(points)).max() < 0.5  # of a range of ten
    assert {"SVM-GSU", "SVM"} <= {text.get_text() for text in ax.get_legend().get_texts()}


def test_a_histogram_counts_the_objects_of_any_model(curved, pipeline, data, y):
    for model in (curved, pipeline):
        counts = plot.histogram(model, data, y, bins=[-1e6, 0, 1e6]).patches
        assert sum(patch.get_data().values.sum() for patch in counts) == pytest.approx(2 * 120)


def test_more_than_two_classes_have_no_curved_picture(data):
    three = svmgsu.GSUClassifier(n_frequencies=10).fit(data, np.arange(120) % 3)
    with pytest.raises(ValueError, match="drawn of two classes, it has 3"):
        plot.histogram(three, data, np.arange(120) % 3)


def test_predictions_of_any_regressor(data):
    target = data.mean[:, 0] ** 2
    linear = make_pipeline(svmgsu.Propagate(StandardScaler()), svmgsu.LinearSVRGSU()).fit(data, target)
    bent = svmgsu.GSURegressor(n_frequencies=20).fit(data, target)
    for model in (linear, bent):
        ax = plot.predictions(model, data, target)
        points = next(line for line in ax.get_lines() if len(line.get_xdata()) == 120)
        assert np.allclose(points.get_ydata(), model.predict(data))


def test_convergence_and_searches_of_a_pipeline(pipeline, data, y):
    assert plot.convergence(pipeline).get_xlabel() == "passes over the data"
    search = svmgsu.LinearSVMGSU([1, 0.1], cov_scale=[0, 1])
    fitted = make_pipeline(svmgsu.Propagate(StandardScaler()), search).fit(data, y)
    assert plot.path(fitted).get_ylabel() == plot.path(fitted[-1]).get_ylabel()
    assert plot.cov_scale(fitted) is not None


def test_the_population_inside_a_curved_model_is_in_the_units_of_the_data(curved, data):
    ax = plot.population(curved, data)
    centres = np.array([patch.center for patch in ax.patches if isinstance(patch, Ellipse)])
    weights = curved.inputs_.population.weights[:-1]
    assert np.allclose(weights @ centres, data.mean.mean(axis=0), atol=[0.3, 30])
    assert ax.get_xlabel() == "a" and ax.get_ylabel() == "b"
