"""The authors' toy data, real text files: the core against the twin."""

import numpy as np
import pytest
from conftest import relative_error, train_with

import svmgsu
from svmgsu import reference


@pytest.mark.parametrize("uncertainty", ["diagonal", "isotropic", "none"])
def test_value_gradient_and_hessian_are_the_twin_s(toy_text, uncertainty):
    X, y, V, v = toy_text
    cov = {"diagonal": V, "isotropic": v, "none": None}[uncertainty]
    objective = svmgsu.Objective(X, y, cov, lam=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        w, b, vw, vb = rng.normal(size=X.shape[1]), rng.normal(), rng.normal(size=X.shape[1]), rng.normal()
        value, gw, gb = objective.value_and_gradient(w, b)
        assert value == pytest.approx(reference.Objective(X, y, cov, 1e-3).value(w, b), rel=1e-12)
        gradient = np.append(*reference.Objective(X, y, cov, 1e-3).gradient(w, b))
        assert relative_error(np.append(gw, gb), gradient) <= 1e-12
        hessian = reference.Objective(X, y, cov, 1e-3).hessian(w, b) @ np.append(vw, vb)
        assert relative_error(np.append(*objective.hessian_product(w, b, vw, vb)), hessian) <= 1e-12


def test_sgd_is_the_twin_s(toy_text):
    X, y, V, _ = toy_text
    model = train_with(X, y, V, lam=0.01, steps=200, batch_size=20, seed=3, solver="sgd")
    w, b = reference.Objective(X, y, V, 1e-2).sgd(steps=200, batch=20, seed=3)
    assert relative_error(np.append(model.coef_[0], model.intercept_), np.append(w, b)) <= 1e-10
    assert (model.predict(X) == y).mean() > 0.9
