"""Names of features: saved with a model, and matched at prediction, so that columns cannot be mistaken."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import make_problem

import svmgsu

NAMES = ["colour", "size in\nm", '"quoted" %41', "größe 猫", "", " ", "x\ty\x7f", "=1+1"]
ORDER = [3, 0, 7, 2, 6, 1, 5, 4]


def problem(kind="diagonal"):
    p = make_problem(kind, 60, len(NAMES))
    return svmgsu.Gaussians(p.X, p.cov, feature_names=NAMES), p.y


def turned(data):
    """Return the same samples with their columns in another order, without the library's own reordering."""
    mean = data.mean[:, ORDER]
    names = [NAMES[j] for j in ORDER]
    if data.cov is None:
        return svmgsu.Gaussians(mean, feature_names=names)
    full = data.cov.to_full(*data.shape)[:, ORDER][:, :, ORDER]
    return svmgsu.Gaussians(mean, svmgsu.Full(full), feature_names=names)


def test_names_of_any_text_come_back_from_a_file(tmp_path):
    data, y = problem()
    model = svmgsu.train(data, y, lam=0.1, probability=False)
    assert model.feature_names_in_ == NAMES
    model.save(tmp_path / "m")
    assert svmgsu.load(tmp_path / "m").feature_names_in_ == NAMES
    assert len((tmp_path / "m").read_text().splitlines()) == 8 + len(NAMES)  # one line holds them all


def test_names_that_no_file_can_hold_are_refused(tmp_path):
    model = svmgsu.train(svmgsu.Gaussians([[0.0], [1.0]], feature_names=["\udc80"]), [0, 1])
    with pytest.raises(ValueError, match=r"feature_names_in_: '\\udc80' is no text that a file can hold"):
        model.save(tmp_path / "m")


@pytest.mark.parametrize(
    "kind", ["none", "isotropic", "diagonal", "full", "low_rank", "low_rank_diagonal", "shared", "sum"]
)
def test_columns_in_another_order_are_put_in_order_with_their_covariances(kind, tmp_path):
    rng = np.random.default_rng(3)
    n, y = len(NAMES), np.arange(60) % 2
    X = rng.normal(size=(60, n)) + y[:, np.newaxis]
    A = rng.normal(size=(60, 3, n))
    kinds = {
        "none": None,
        "isotropic": svmgsu.Isotropic(rng.random(60)),
        "diagonal": svmgsu.Diagonal(rng.random((60, n))),
        "full": svmgsu.Full(A.transpose(0, 2, 1) @ A),
        "low_rank": svmgsu.LowRank(A),
        "low_rank_diagonal": svmgsu.LowRank(A, rng.random((60, n))),
        "shared": svmgsu.Shared(A[0].T @ A[0]),
        "sum": svmgsu.Shared(rng.random(n)) + 0.5 * svmgsu.LowRank(A),
    }
    data = svmgsu.Gaussians(X, kinds[kind], feature_names=NAMES)
    model = svmgsu.train(data, y, lam=0.1)
    model.save(tmp_path / "m")
    for rule in (model, svmgsu.load(tmp_path / "m"), svmgsu.LinearSVMGSU(0.1).fit(data, y)):
        np.testing.assert_allclose(
            rule.decision_function(turned(data)), rule.decision_function(data), rtol=1e-12
        )
        np.testing.assert_allclose(rule.predict_proba(turned(data)), rule.predict_proba(data), rtol=1e-9)
        np.testing.assert_array_equal(rule.predict(turned(data)), rule.predict(data))
    if kind != "none":
        back = turned(data).in_order(NAMES)
        np.testing.assert_allclose(back.cov.to_full(*data.shape), data.cov.to_full(*data.shape), rtol=1e-12)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_are_matched_by_the_names_of_their_columns(frame):
    rng = np.random.default_rng(0)
    y = np.arange(50) % 2
    X = {"colour": rng.normal(size=50) + 3 * y, "size": 100 * rng.normal(size=50)}
    std = {"colour": np.full(50, 0.1), "size": np.full(50, 20.0)}
    model = svmgsu.train(frame(X), y, std=frame(std))
    swapped = {name: X[name] for name in ("size", "colour")}
    std_swapped = {name: std[name] for name in ("size", "colour")}
    np.testing.assert_array_equal(model.predict(frame(swapped)), model.predict(frame(X)))
    np.testing.assert_array_equal(
        model.predict_proba(frame(swapped), std=frame(std_swapped)),
        model.predict_proba(frame(X), std=frame(std)),
    )
    unnamed = np.column_stack([X["colour"], X["size"]])
    np.testing.assert_array_equal(model.predict(unnamed), model.predict(frame(X)))
    with pytest.raises(ValueError, match="X: its features are not those of the model: unknown 'mass'"):
        model.predict(frame({**X, "mass": X["size"]}))
    with pytest.raises(ValueError, match="missing 'colour'; unknown 'Colour'"):
        model.predict(frame({"Colour": X["colour"], "size": X["size"]}))
    with pytest.raises(ValueError, match=r"not those of the model: missing 'colour'$"):
        model.predict(frame({"size": X["size"]}))


def test_a_name_for_two_features_is_refused():
    with pytest.raises(ValueError, match="feature_names: 'a' is there twice"):
        svmgsu.Gaussians(np.zeros((2, 3)), feature_names=["a", "b", "a"])
