"""`loss=` in classifiers: the hinge, its square and the logistic loss, wherever a classifier is trained."""

import numpy as np
import pytest
from conftest import train_with
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import svmgsu
from svmgsu import _core
from svmgsu.models.calibration import Calibration

LOSSES = ("hinge", "squared_hinge", "logistic")
LAM = 1e-2


def blobs(count=300, share=0.3, K=2, seed=0, n=3):
    rng = np.random.default_rng(seed)
    odds = np.full(K, (1 - share) / (K - 1))
    odds[-1] = share
    y = rng.choice(K, size=count, p=odds)
    return rng.normal(size=(count, n)) + 1.5 * np.eye(K, n)[y], y


# Against other solvers, without noise


def test_logistic_without_noise_is_logistic_regression():
    X, y = blobs()
    model = svmgsu.train(X, y, lam=LAM, loss="logistic", tol=1e-12)
    other = LogisticRegression(C=1 / (LAM * len(y)), tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_squared_hinge_without_noise_is_linear_svc():
    X, y = blobs()
    model = (
        svmgsu.LinearSVMGSU(lam=LAM, loss="squared_hinge", fit_intercept=False, tol=1e-12).fit(X, y).model_
    )
    other = LinearSVC(C=1 / (LAM * len(y)), loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-10)
    np.testing.assert_allclose(model.coef_, other.fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_of_a_model_is_that_of_its_loss_on_draws(loss):
    X, y = blobs(60)
    model = svmgsu.train(X, y, std=0.5, lam=LAM, loss=loss, probability=False)
    rng = np.random.default_rng(1)
    f = model.decision_function(X)[:, np.newaxis] + 0.5 * np.linalg.norm(model.coef_) * rng.normal(
        size=(60, 20_000)
    )
    m = (2 * y - 1)[:, np.newaxis] * f
    losses = {
        "hinge": np.maximum(0, 1 - m),
        "squared_hinge": np.maximum(0, 1 - m) ** 2,
        "logistic": np.logaddexp(0, -m),
    }[loss]
    drawn = LAM / 2 * float((model.coef_**2).sum()) + losses.mean()
    assert abs(drawn - model.objective_) < 5 * losses.std() / np.sqrt(losses.size) + 1e-9
    assert 0 <= model.gap_ <= 1e-6 * model.objective_


# Everywhere a classifier is trained


def test_streams_learn_by_the_logistic_loss_and_refuse_the_squared_hinge():
    X, y = blobs(3000)
    stream = svmgsu.SGDSVMGSU(lam=0.1, loss="logistic")
    for k in range(0, 3000, 300):
        stream.partial_fit(X[k : k + 300], y[k : k + 300], classes=[0, 1], std=0.2)
    best = svmgsu.train(X, y, std=0.2, lam=0.1, loss="logistic")
    objective = svmgsu.Objective(X, y, std=0.2, lam=0.1, loss="logistic")
    assert stream.model_.loss == "logistic"
    assert objective.value(stream.coef_[0], stream.intercept_[0]) < 1.05 * best.objective_
    for fit in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="loss: 'squared_hinge' is not Lipschitz, which stochastic"):
            getattr(svmgsu.SGDSVMGSU(loss="squared_hinge"), fit)(X, y)


# Probabilities of its own


def test_own_probabilities_need_no_folds_and_are_the_sigmoid_of_the_decision_value():
    X, y = blobs()
    model = svmgsu.train(X, y, std=0.3, loss="logistic")
    calibration = model.calibration_[0]
    assert (calibration.a, calibration.b) == (1.0, 0.0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-12)
    fitted = svmgsu.train(X, y, std=0.3, loss="logistic", probability="cv")
    assert fitted.calibration_[0].a != 1.0
    assert svmgsu.train(X, y, loss="logistic", probability=False).calibration_ is None


@pytest.mark.parametrize("K", [2, 3])
def test_no_error_bars_are_bars_of_zero_and_endless_ones_leave_the_shares(K):
    X, y = blobs(600, share=0.05, K=K)
    model = svmgsu.train(X, y, std=0.3, loss="logistic")
    np.testing.assert_array_equal(model.predict_proba(X, std=0.0), model.predict_proba(X))
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(model.predict_proba(X, std=1e4), np.tile(shares, (len(X), 1)), atol=0.02)
    stated = np.full(K, 1 / K)
    np.testing.assert_allclose(model.predict_proba(X, std=1e4, prior=stated), 1 / K, atol=0.03)


def test_own_probability_is_the_expected_sigmoid_of_the_true_decision_value():
    """Normal classes Δ apart with variance τ² = Δ have the log-odds g: draws tell what E[σ(g) | f] is."""
    rng = np.random.default_rng(0)
    delta, base, v, count = 2.0, np.log(0.2 / 0.8), 1.5, 500_000
    y = np.where(rng.random(count) < 0.2, 1.0, -1.0)
    g = y * delta / 2 + np.sqrt(delta) * rng.normal(size=count) + base
    f = g + np.sqrt(v) * rng.normal(size=count)
    fitted = _core.own_calibration(f, np.full(count, v), y, np.ones(count), base)
    assert fitted[2] == pytest.approx(1 / delta, rel=0.03)
    exact = Calibration(1.0, 0.0, 1 / delta, base)
    for level in (-4.0, -2.0, 0.0, 1.0):
        near = np.abs(f - level) < 0.05
        error = 4 * expit(g[near]).std() / np.sqrt(near.sum())
        assert abs(expit(g[near]).mean() - exact.probability(level, v)) < error + 1e-3


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_class_weights_do_not_distort_own_probabilities(multi_class):
    X, y = blobs(4000, share=0.1, K=2 if multi_class == "ovo" else 3)
    plain = train_with(X, y, loss="logistic", lam=0.0001, multi_class=multi_class)
    weighted = train_with(X, y, loss="logistic", lam=0.0001, multi_class=multi_class, class_weight="balanced")
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(weighted.predict_proba(X).mean(axis=0), shares, atol=0.03)
    assert np.abs(weighted.predict_proba(X) - plain.predict_proba(X)).mean() < (
        0.03 if multi_class == "ovo" else 0.05
    )


# Files and the command line


@pytest.mark.parametrize("loss", LOSSES)
def test_files_keep_the_loss(tmp_path, loss):
    X, y = blobs(60, K=3)
    model = svmgsu.train(X, y, std=0.3, loss=loss)
    model.save(tmp_path / "m.svmgsu")
    again = svmgsu.load(tmp_path / "m.svmgsu")
    assert again.loss == loss
    np.testing.assert_array_equal(again.predict_proba(X, std=0.5), model.predict_proba(X, std=0.5))
    assert ("loss=" in repr(model)) == (loss != "hinge")
    text = (tmp_path / "m.svmgsu").read_text()
    assert ("\nloss " in text) == (loss != "hinge")  # older versions read models of the hinge
    text = text.replace(f"\nloss {loss}", "")
    for wrong in ("nonsense", "squared", ""):
        with pytest.raises(OSError, match=r"m:2: loss: '.*' is none that this svmgsu knows for classifiers"):
            svmgsu.models.files.parse(text.replace("\n", f"\nloss {wrong}\n", 1).encode(), "m")
