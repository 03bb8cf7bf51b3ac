"""Sample weights are relative: a factor of all of them changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import train_with

import svmgsu
from svmgsu import metrics

POWERS = [2.0**-900, 2.0**-60, 0.5, 8.0, 2.0**40, 2.0**1000]
FACTORS = [1e-300, 1e-8, 1 / 120, 3.0, 1e8, 1e300]
TINY = 2.0**-1070  # times a small whole number: a subnormal, exactly


def data(classes=2, count=120):
    rng = np.random.default_rng(7)
    y = np.arange(count) % classes
    X = rng.normal(size=(count, 3)) + 1.2 * np.eye(3)[y % 3]
    weights = rng.integers(1, 9, size=count).astype(float)
    weights[::17] = 0
    return X, y, rng.uniform(0.1, 0.6, size=X.shape), weights


def classifier(classes=2, **options):
    def fit(c):
        X, y, std, weights = data(classes)
        model = train_with(X, y, std=std, sample_weight=c * weights, **options)
        return [
            model.coef_,
            model.intercept_,
            model.predict_proba(X, std=std),
            [model.objective_, model.gap_],
        ]

    return fit


def regression(c):
    X, y, std, weights = data()
    model = svmgsu.train(X, X[:, 0] + y, std=std, y_std=0.1 + y, sample_weight=c * weights, loss="squared")
    return [model.coef_, [model.intercept_, model.scatter_, model.objective_, model.gap_]]


def path(c):
    X, y, std, weights = data()
    first = svmgsu.train(X, y, std=std, sample_weight=c * weights, lam=1.0)
    models = [first, svmgsu.train(X, y, std=std, sample_weight=c * weights, start=first)]
    return [part for model in models for part in (model.coef_, model.predict_proba(X))]


def objective(c):
    X, y, std, weights = data()
    found = svmgsu.Objective(X, y, std=std, sample_weight=c * weights)
    value, gradient, slope = found.value_and_gradient(np.ones(3), 0.1)
    return [[value, slope, found.gap(np.ones(3), 0.1)], gradient]


def stochastic(c):
    X, y, std, weights = data()
    model = train_with(X, y, std=std, sample_weight=c * weights, steps=50, solver="sgd")
    return [model.coef_, model.predict_proba(X)]


def stream(c):
    X, y, std, weights = data(3)
    estimator = svmgsu.SGDSVMGSU(batch_size=10)
    for rows in np.split(np.arange(len(X)), 4):
        estimator.partial_fit(
            X[rows], y[rows], classes=[0, 1, 2], std=std[rows], sample_weight=c * weights[rows]
        )
    return [estimator.coef_, estimator.intercept_]


def search(c):
    X, y, std, weights = data()
    found = svmgsu.LinearSVMGSU([1.0, 0.1, 0.01], cov_scale=(0.0, 1.0))
    found.fit(X, y, std=std, sample_weight=c * weights)
    scores = found.cv_results_["mean_test_score"]
    return [found.coef_, scores, [found.lam_, found.score(X, y, c * weights, std=std)]]


def regression_search(c):
    X, y, std, weights = data()
    found = svmgsu.LinearSVRGSU([1.0, 0.1, 0.01]).fit(X, X[:, 0] + y, std=std, sample_weight=c * weights)
    score = found.score(X, X[:, 0] + y, sample_weight=c * weights)
    return [found.coef_, found.cv_results_["mean_test_score"], [found.lam_, score]]


def population(c):
    X, _, std, weights = data()
    found = svmgsu.Deconvolution(2, max_iter=30, tol=1e-3).fit(X, std=std, sample_weight=c * weights)
    return [found.weights_, found.means_, found.covariances_]


def scores(c):
    X, y, _, weights = data()
    p = 1 / (1 + np.exp(-X[:, 1]))
    found = metrics.evaluate(y, X[:, 1], proba=np.stack([1 - p, p], axis=1), sample_weight=c * weights)
    values = metrics.evaluate_regression(X[:, 0], X[:, 1], std=1.0, sample_weight=c * weights)
    numbers = [found.accuracy, found.average_precision, found.log_loss, found.calibration_error]
    return [numbers, found.confusion, [values.rmse, values.r2, values.log_likelihood]]


CASES = {
    "two classes": classifier(),
    "three pairs": classifier(3),
    "three against the rest": classifier(3, multi_class="ovr", class_weight="balanced"),
    "weighted classes": classifier(class_weight={0: 1.0, 1: 5.0}),
    "logistic": classifier(loss="logistic"),
    "training scores": classifier(probability="train"),
    "regression": regression,
    "path": path,
    "objective": objective,
    "sgd": stochastic,
    "stream": stream,
    "search": search,
    "search of a regression": regression_search,
    "population": population,
    "metrics": scores,
}


@pytest.mark.filterwarnings("ignore::svmgsu.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_a_common_factor_of_the_weights_changes_nothing(case):
    run = CASES[case]
    expected = run(1.0)
    for c in [*POWERS, TINY]:
        for got, wanted in zip(run(c), expected, strict=True):
            np.testing.assert_array_equal(got, wanted, err_msg=f"weights times {c}")
    for c in FACTORS:  # each product is rounded
        for got, wanted in zip(run(c), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9, err_msg=f"weights times {c}")


def test_a_stream_refuses_weights_of_another_unit():
    X, y, _, weights = data()
    estimator = svmgsu.SGDSVMGSU().partial_fit(X, y, classes=[0, 1], sample_weight=1e-200 * weights)
    with pytest.raises(ValueError, match=r"sample_weight: .* the same unit"):
        estimator.partial_fit(X, y, sample_weight=weights)
