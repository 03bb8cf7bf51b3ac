"""`recommend` measures models on the same held-out objects; `partial_dependence` shows what bars do."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import svmgsu
from svmgsu.plot import partial_dependence
from svmgsu.uncertainty import LargeUncertaintyWarning, check, recommend
from svmgsu.uncertainty.recommending import _judged


def objects(rule, count=300, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(count, 2))
    seen = truth + noise * rng.normal(size=truth.shape)
    return svmgsu.Gaussians(seen, std=noise, feature_names=["u", "g"]), rule(truth)


def test_a_line_is_recommended_where_nothing_gains_by_a_curve():
    data, y = objects(lambda x: np.where(x[:, 0] > 0, "hot", "cold"))
    found = recommend(data, y, models=["linear", "quadratic", "rbf with prior"])
    assert found.model == "linear"
    assert found.objects == 300 and found.folds == 3
    assert "take: linear" in repr(found)
    assert found.estimator(n_features=20).fit(data, y).score(data, y) > 0.8


def test_a_circle_is_recommended_a_curve():
    data, y = objects(lambda x: (x**2).sum(axis=1) > 1.4)
    with pytest.warns(LargeUncertaintyWarning):  # of the means: they are one circle in the other
        found = check(data, y, cov_scales=(), models=["linear", "quadratic", "trees on draws"])
    best = found.recommendation
    assert best.model == "quadratic"
    gap, doubt = best.behind["linear"]
    assert gap > 5 * doubt
    assert best.behind[best.best] == (0.0, 0.0)
    assert "held-out log-loss" in repr(found)


def test_noise_of_deployment_is_in_what_is_held_out():
    data, y = objects(lambda x: x[:, 0] > 0, noise=0.05)
    calm = recommend(data, y, models=["linear", "trees on draws"])
    rough = recommend(data, y, models=["linear", "trees on draws"], deployment_cov=np.array([1.0, 1.0]))
    for name in calm.losses:
        assert rough.losses[name][0] > calm.losses[name][0] + 0.1


def test_the_simplest_within_a_standard_error_is_taken():
    rng = np.random.default_rng(0)
    common, noise = rng.normal(size=500), rng.normal(size=500)
    noise -= noise.mean()
    found = _judged({"a": common, "b": common - 0.01 + noise, "c": common + 0.2}, 3)
    assert found.model == "a"
    assert found.behind["c"][1] == pytest.approx(noise.std() / np.sqrt(500), rel=0.3)
    noise -= noise.mean()
    found = _judged({"a": common, "b": common - 0.5 + 0.1 * noise}, 3)
    assert found.model == found.best == "b"


def test_bad_questions_are_refused():
    data, y = objects(lambda x: x[:, 0] > 0, count=20)
    with pytest.raises(TypeError, match="data: expected Gaussians"):
        recommend(data.mean, y)
    with pytest.raises(ValueError, match="models: expected some of 'linear'"):
        recommend(data, y, models=["forest"])
    with pytest.raises(ValueError, match="a class has 1 examples"):
        recommend(data, np.arange(20) == 0)


@pytest.fixture(scope="module")
def model():
    data, y = objects(lambda x: (x**2).sum(axis=1) > 1.4)
    return svmgsu.SVMGSU(n_features=60, search=False, threads=1).fit(data, y), data


def test_lines_of_larger_bars_are_flatter(model):
    fitted, data = model
    ax = partial_dependence(fitted, data, "u", std=[0.0, 2.0], points=9)
    certain, blurred = (line.get_ydata() for line in ax.get_lines()[:2])
    assert np.ptp(blurred) < 0.6 * np.ptp(certain)
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
    fitted = svmgsu.SVRGSU(n_features=20, search=False, threads=1).fit(data, data.mean[:, 0])
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
