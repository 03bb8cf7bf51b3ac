"""What a notebook shows of models and estimators: how they were trained, and nothing that can run."""

import numpy as np
import pytest
from sklearn import config_context

import svmgsu

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(60, 2))
    return svmgsu.Gaussians(X, std=0.3, feature_names=[EVIL, "b"])


@pytest.fixture(scope="module")
def y(data):
    return np.where(data.mean[:, 0] > 0, "yes", EVIL)


def test_a_model_shows_its_weights_loss_and_gap(data, y):
    model = svmgsu.train(data, y, lam=0.1)
    shown = model._repr_html_()
    for words in ("hinge", "proven gap", "converged after", "weight of b", "calibrated", "&lt;script&gt;"):
        assert words in shown
    assert EVIL not in shown and 'scope="row"' in shown


def test_of_many_weights_the_largest_are_shown():
    X = np.random.default_rng(0).normal(size=(40, 30))
    shown = svmgsu.train(X, X[:, 3] > 0)._repr_html_()
    assert shown.count("weight of") == 8 and "22 smaller ones" in shown and "weight of feature 4" in shown


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (svmgsu.LinearSVMGSU(), "proven gap"),
        (svmgsu.LinearSVMGSU([1, 0.1]), "weight of b"),
        (svmgsu.GSUClassifier(n_frequencies=10), "class-wise deconvolution"),
        (svmgsu.Deconvolution(2), "weight 1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_estimator_adds_what_it_has_learnt_to_the_diagram(estimator, words, data, y):
    before = estimator._repr_html_()
    assert "<table>\n<caption>" not in before
    estimator.fit(data, y)
    for shown in (estimator._repr_html_(), estimator._repr_mimebundle_()["text/html"]):
        assert "sk-container" in shown and words in shown and EVIL not in shown
    with config_context(display="text"):
        assert "text/html" not in estimator._repr_mimebundle_()


@pytest.mark.parametrize(
    "module", ["dask", "exceptions", "features", "io", "metrics", "plot", "reference", "uncertainty"]
)
def test_completion_shows_only_public_names(module):
    found = pytest.importorskip(f"svmgsu.{module}")
    assert dir(found) == sorted(found.__all__)
    assert module in dir(svmgsu) and dir(svmgsu) == sorted(svmgsu.__all__)
