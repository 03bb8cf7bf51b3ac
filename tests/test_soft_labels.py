"""Labels with doubt: class probabilities for y in all classifiers; each class counts with its probability."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import train_with

import svmgsu
from svmgsu import _core
from svmgsu.cli import main

LAM = 0.05


def doubtful(count=120, K=3, seed=0, n=4):
    """Examples around K centres, and what a careful person would say of their classes."""
    rng = np.random.default_rng(seed)
    X = 2 * np.eye(K, n)[rng.integers(K, size=count)] + rng.normal(size=(count, n))
    z = 2 * X[:, :K] - 3 * rng.random((count, 1))
    P = np.exp(z - z.max(axis=1, keepdims=True))
    P[P < 0.05] = 0
    return X, P / P.sum(axis=1, keepdims=True)


def duplicated(X, P):
    source, y = np.nonzero(P)
    return X[source], y, P[source, y]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_are_weighted_duplicates(loss, multi_class):
    X, P = doubtful()
    options = {"std": 0.3, "lam": LAM, "loss": loss, "multi_class": multi_class, "tol": 1e-11}
    model = train_with(X, P, probability="train", **options)
    rows, y, weights = duplicated(X, P)
    other = train_with(rows, y, sample_weight=weights, probability="train", **options)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-9)
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=1e-10)
    for k, found in enumerate(model.calibration_):  # the weights of a sample's classes sum to 1, as one count
        negative, positive = np.stack(np.triu_indices(3, 1), axis=1)[k] if multi_class == "ovo" else (-1, k)
        used = (y == negative) | (y == positive) | (negative < 0)
        margin = rows[used] @ model.coef_[k] + model.intercept_[k]
        variance = np.full(len(margin), 0.09 * model.coef_[k] @ model.coef_[k])
        signs = np.where(y[used] == positive, 1.0, -1.0)
        wanted = _core.fit_calibration(margin, variance, signs, weights[used])
        np.testing.assert_allclose([found.a, found.b, found.kappa, found.base], wanted, rtol=1e-6)


@pytest.mark.parametrize("probability", [True, "train"])
@pytest.mark.parametrize("K", [2, 3])
def test_certain_probabilities_give_the_bits_of_labels(probability, K):
    X, P = doubtful(K=K)
    y = P.argmax(axis=1)
    names = np.array(["zebra", "ant", "bee"])[:K]
    certain = np.eye(K)[y]
    one = svmgsu.train(X, dict(zip(names, certain.T, strict=True)), std=0.3, lam=LAM, probability=probability)
    other = svmgsu.train(X, names[y], std=0.3, lam=LAM, probability=probability)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_array_equal(one.predict_proba(X, std=0.2), other.predict_proba(X, std=0.2))


def test_weights_and_the_order_of_columns():
    X, P = doubtful()
    weights = np.random.default_rng(1).random(len(X))
    options = {"std": 0.3, "lam": LAM, "probability": False, "tol": 1e-11}
    model = train_with(X, dict(zip("abc", P.T, strict=True)), sample_weight=weights, **options)
    turned = train_with(X, dict(zip("cba", P.T[::-1], strict=True)), sample_weight=weights, **options)
    np.testing.assert_allclose(model.coef_, turned.coef_, atol=1e-7)
    rows, y, shares = duplicated(X, P)
    own = weights[np.nonzero(P)[0]] * shares
    for class_weight in (None, "balanced"):
        one = train_with(X, P, sample_weight=weights, class_weight=class_weight, **options)
        other = train_with(rows, y, sample_weight=own, class_weight=class_weight, **options)
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-7)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_name_the_classes(frame):
    X, P = doubtful()
    y = frame({name: P[:, k] for k, name in enumerate(("star", "quasar", "galaxy"))})
    model = svmgsu.train(X, y, lam=LAM)
    assert model.classes_.tolist() == ["galaxy", "quasar", "star"]
    fitted = svmgsu.LinearSVMGSU(lam=LAM).fit(X, y)
    np.testing.assert_array_equal(fitted.coef_, model.coef_)
    assert np.mean(fitted.predict(X) == np.array(["star", "quasar", "galaxy"])[P.argmax(axis=1)]) > 0.8


# Streams


def streamed(est, X, y, pieces=200, size=60, **given):
    rng = np.random.default_rng(1)
    for _ in range(pieces):
        rows = rng.choice(len(X), size=size, replace=False)
        est.partial_fit(X[rows], y[rows], std=0.3, **given)
    return est


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("K", [2, 3])
def test_a_stream_of_probabilities_goes_to_the_same_optimum(K, multi_class):
    X, P = doubtful(K=K)
    model = train_with(X, P, std=0.3, lam=LAM, multi_class=multi_class, probability=False)
    est = streamed(
        svmgsu.SGDSVMGSU(lam=LAM, batch_size=5, multi_class=multi_class), X, P, 100, classes=range(K)
    )
    for w, b, found, c in zip(model.coef_, model.intercept_, est.coef_, est.intercept_, strict=True):
        assert np.linalg.norm(found - w) < 0.1 * np.linalg.norm(w)
        assert abs(c - b) < 0.1 * np.linalg.norm(w)


def test_a_stream_refuses_columns_and_covariances_that_do_not_fit():
    X, P = doubtful()
    est = svmgsu.SGDSVMGSU(lam=LAM)
    with pytest.raises(ValueError, match="y: the column 'd' is none of the classes 'a', 'b', 'c'"):
        est.partial_fit(X, pd.DataFrame(P, columns=list("abd")), classes=list("abc"))
    with pytest.raises(ValueError, match=r"classes: 3 names .* for the 2 columns of y"):
        est.partial_fit(X, P[:, :2], classes=list("abc"))
    per_class = svmgsu.Shared({0: np.ones(4), 1: np.ones(4), 2: np.ones(4)})
    with pytest.raises(ValueError, match="y: soft labels do not go with a covariance for each class"):
        est.partial_fit(X, P, classes=range(3), cov=per_class)


# What is refused


def spoilt(P, i, k, value):
    out = P.copy()
    out[i, k] = value
    return out


def test_what_is_no_table_of_probabilities_is_refused():
    X, P = doubtful(20)
    cases = {
        "y: sample 3, feature 1 is nan": spoilt(P, 3, 1, np.nan),
        "y: sample 4 has the probability -0.5 of class 2; probabilities must be >= 0": spoilt(P, 4, 2, -0.5),
        "y: sample 5 has class probabilities that sum to": spoilt(P, 5, 0, P[5, 0] + 0.01),
        "y: 19 rows of class probabilities for 20 samples": P[:19],
        "y: the probability of class 3 is 0 in every row": np.column_stack([P, np.zeros(20)]),
        "y: expected numbers, got dtype": P.astype(str),
    }
    for message, y in cases.items():
        for fit in (svmgsu.train, svmgsu.LinearSVMGSU().fit):
            with pytest.raises((ValueError, TypeError), match=message):
                fit(X, y)
    with pytest.raises(ValueError, match="y: the columns of class probabilities differ in length"):
        svmgsu.train(X, {"a": P[:, 0], "b": P[1:, 1]})
    with pytest.raises(ValueError, match="do not go with a covariance for each class"):
        svmgsu.train(X, P, svmgsu.Shared({0: np.eye(4), 1: np.eye(4), 2: np.eye(4)}))


# The command line


def write(path, X, P, names):
    header = ",".join([f"x{j}" for j in range(X.shape[1])] + [f"p_{name}" for name in names])
    rows = [",".join(repr(float(v)) for v in row) for row in np.column_stack([X, P])]
    path.write_text(header + "\n" + "\n".join(rows) + "\n")
    return str(path)


def test_lines_whose_probabilities_are_wrong_are_named(tmp_path, capsys):
    X, P = doubtful(20)
    table = write(tmp_path / "t.csv", X, spoilt(P, 7, 1, 2.0), "abc")
    assert main(["train", table, "-o", str(tmp_path / "m.svmgsu")]) != 0
    error = capsys.readouterr().err
    assert "t.csv:9" in error
    assert "they must be >= 0 and sum to 1" in error
