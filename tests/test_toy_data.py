"""The authors' toy data, real text files: the core against the twin."""

import numpy as np
import pytest
from conftest import relative_error

import svmgsu
from svmgsu import reference


def rows_of(path):
    """Lines of `name key:value key:value ...` as {name: [(key, value), ...]}."""
    rows = {}
    for line in path.read_text().splitlines():
        name, *entries = line.split()
        rows[name] = [entry.split(":") for entry in entries]
    return rows


@pytest.fixture(scope="module")
def toy(data_folder):
    folder = data_folder / "svm_gsu_toy"
    labels = dict(line.split() for line in (folder / "labels.dat").read_text().splitlines())
    means = rows_of(folder / "mean.dat")
    names = [name for name in means if name in labels]
    n = max(int(key) for entries in means.values() for key, _ in entries)
    X, V = np.zeros((len(names), n)), np.zeros((len(names), n))
    variances, isotropic = rows_of(folder / "cov_diag.dat"), rows_of(folder / "cov_iso.dat")
    for i, name in enumerate(names):
        for key, value in means[name]:
            X[i, int(key) - 1] = float(value)
        for key, value in variances[name]:
            V[i, int(key.split(",")[0]) - 1] = float(value)
    v = np.array([float(isotropic[name][0][1]) for name in names])
    return X, np.array([float(labels[name]) for name in names]), V, v


@pytest.mark.parametrize("uncertainty", ["diagonal", "isotropic", "none"])
def test_value_gradient_and_hessian_are_the_twin_s(toy, uncertainty):
    X, y, V, v = toy
    cov = {"diagonal": V, "isotropic": v, "none": None}[uncertainty]
    objective = svmgsu.Objective(X, y, cov, lam=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        w, b, vw, vb = rng.normal(size=X.shape[1]), rng.normal(), rng.normal(size=X.shape[1]), rng.normal()
        value, gw, gb = objective.value_and_gradient(w, b)
        assert value == pytest.approx(reference.objective(w, b, X, y, cov, 1e-3), rel=1e-12)
        gradient = np.append(*reference.gradient(w, b, X, y, cov, 1e-3))
        assert relative_error(np.append(gw, gb), gradient) <= 1e-12
        hessian = np.append(*reference.hessian_product(w, b, vw, vb, X, y, cov, 1e-3))
        assert relative_error(np.append(*objective.hessian_product(w, b, vw, vb)), hessian) <= 1e-12


def test_sgd_is_the_twin_s(toy):
    X, y, V, _ = toy
    model = svmgsu.train(X, y, V, lam=1e-2, solver="sgd", T=200, k=20, seed=3)
    w, b = reference.sgd(X, y, V, 1e-2, T=200, k=20, seed=3)
    assert relative_error(np.append(model.coef_[0], model.intercept_), np.append(w, b)) <= 1e-10
    assert (model.predict(X) == y).mean() > 0.9
