"""Labels, weights and uncertainties belong to the rows of X, in data frames and in cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import cross_val_score, cross_validate

import svmgsu


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = pd.Series(np.arange(60) % 2, index=np.arange(100, 160))
    X = pd.DataFrame(rng.normal(size=(60, 2)) + 2 * y.to_numpy()[:, np.newaxis], y.index, ["a", "b"])
    return X, y, pd.DataFrame(0.3, y.index, ["a", "b"])


CALLS = {
    "train": lambda X, y, w: svmgsu.train(X, y, sample_weight=w),
    "regression": lambda X, y, w: svmgsu.train(X, y, sample_weight=w, loss="squared"),
    "LinearSVMGSU": lambda X, y, w: svmgsu.LinearSVMGSU().fit(X, y, sample_weight=w),
    "LinearSVRGSU": lambda X, y, w: svmgsu.LinearSVRGSU().fit(X, y, sample_weight=w),
    "partial_fit": lambda X, y, w: svmgsu.SGDSVMGSU().partial_fit(X, y, [0, 1], sample_weight=w),
    "Objective": lambda X, y, w: svmgsu.Objective(X, y, sample_weight=w),
}


@pytest.mark.parametrize("call", CALLS)
def test_series_in_another_order_are_refused(table, call):
    X, y, _ = table
    w = pd.Series(1.0, y.index)
    CALLS[call](X, y, w)
    CALLS[call](X, y.to_numpy(), w.tolist())
    with pytest.raises(ValueError, match=r"y: its rows are labelled 159, .*pass y.loc\[X.index\], or y.to"):
        CALLS[call](X, y[::-1], w)
    with pytest.raises(ValueError, match=r"sample_weight: its rows are labelled 0, .*sample_weight.to_numpy"):
        CALLS[call](X, y, w.reset_index(drop=True))


def test_scores_and_populations_refuse_them_too(table):
    X, y, _ = table
    model = svmgsu.LinearSVMGSU().fit(X, y)
    with pytest.raises(ValueError, match="y: its rows are labelled"):
        model.score(X, y[::-1])
    with pytest.raises(ValueError, match="sample_weight: its rows are labelled"):
        svmgsu.Deconvolution(1).fit(X, sample_weight=y[::-1] + 1.0)


@pytest.mark.parametrize("estimator", [svmgsu.LinearSVMGSU(), svmgsu.LinearSVRGSU()], ids=["class", "value"])
def test_routed_uncertainties_reach_fit_and_score(table, estimator):
    X, y, std = table
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(estimator, X, y, params={"std": std}, cv=3, error_score="raise")
    whole = cross_val_score(estimator, svmgsu.Gaussians(X, std=std), y, cv=3, error_score="raise")
    np.testing.assert_array_equal(found["test_score"], whole)


def test_a_score_without_the_uncertainties_of_the_fit_is_refused(table):
    X, y, std = table
    for model in (svmgsu.LinearSVMGSU(), svmgsu.GSUClassifier(members="linear")):
        with pytest.raises(ValueError, match="the model was fitted with cov or std, but X comes without"):
            cross_val_score(model, X, y, params={"std": std}, cv=2, error_score="raise")
    model = svmgsu.LinearSVMGSU().fit(X, y, std=std)
    assert model.score(X, y, std=0.0) > 0.9
    assert model.score(svmgsu.Gaussians(X), y) > 0.9
