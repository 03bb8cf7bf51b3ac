"""`partial_dependence` shows what uncertainties do to predictions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import svmgsu
from svmgsu.plot import partial_dependence


def objects(rule, count=300, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(count, 2))
    seen = truth + noise * rng.normal(size=truth.shape)
    return svmgsu.Gaussians(seen, std=noise, feature_names=["u", "g"]), rule(truth)


@pytest.fixture(scope="module")
def model():
    data, y = objects(lambda x: (x**2).sum(axis=1) > 1.4)
    return svmgsu.GSUClassifier(n_frequencies=30, threads=1).fit(data, y), data


def test_lines_of_larger_bars_are_flatter(model):
    fitted, data = model
    ax = partial_dependence(fitted, data, "u", std=[0.0, 2.0], points=9)
    certain, blurred = (line.get_ydata() for line in ax.get_lines()[:2])
    assert np.ptp(blurred) < np.ptp(certain)
    assert ax.get_xlabel() == "u"
    assert ax.get_ylabel() == "mean probability of True"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["certain", "error bar 2"]
    x = ax.get_lines()[0].get_xdata()
    some = data[np.sort(np.random.default_rng(0).permutation(300)[:200])]
    mean = np.column_stack([np.full(200, x[3]), some.mean[:, 1]])
    exact = svmgsu.Gaussians(mean, svmgsu.Diagonal(np.tile([0.0, 0.09], (200, 1))))
    assert certain[3] == pytest.approx(fitted.predict_proba(exact)[:, 1].mean(), rel=1e-6)
    plt.close("all")


def test_a_picture_of_a_regression_and_of_plain_sizes(model):
    data, _ = objects(lambda x: x[:, 0] > 0, count=100)
    fitted = svmgsu.GSURegressor(n_frequencies=10, threads=1).fit(data, data.mean[:, 0])
    ax = partial_dependence(fitted, data, 0, points=5)
    assert ax.get_ylabel() == "mean prediction"
    assert len(ax.get_legend().get_texts()) == 2  # all bars are equal
    for wrong, words in (
        ({"feature": "z"}, "feature: there is no 'z'"),
        ({"feature": 2}, "feature: "),
        ({"feature": 0, "std": [-1]}, "std: expected"),
        ({"feature": 0, "target": "x"}, "target: a regression has no classes"),
    ):
        with pytest.raises(ValueError, match=words):
            partial_dependence(fitted, data, **wrong)
    with pytest.raises(ValueError, match="target: expected one of False, True"):
        partial_dependence(*model, 0, target="maybe")
    plt.close("all")
