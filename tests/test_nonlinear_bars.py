"""Error bars as features: objects whose error bars are unlike those of the fit."""

import warnings

import numpy as np
import pytest

import svmgsu


def test_error_bars_as_features_are_not_trusted_beyond_those_of_the_fit():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    bars = np.exp(rng.normal(size=(400, 2)) + y[:, None])
    X = rng.normal(size=(400, 2)) * bars
    model = svmgsu.SVMGSU(n_features=60, search=False, threads=1, bars_as_features=True).fit(X, y, std=bars)
    learnt, rare = model.lift_.bars, np.full((1, 2), bars.max())
    np.testing.assert_array_equal(learnt.values(rare), learnt.values(1e3 * rare))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.predict(X[:50] / 1e3, std=bars[:50] / 1e3)
    said = [str(w.message) for w in found if w.category is svmgsu.exceptions.PopulationWarning]
    assert any("50 of 50 objects have error bars unlike those of the fit" in text for text in said)
    model.predict(X, std=bars)  # those of the fit are like them


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.filterwarnings("ignore::svmgsu.exceptions.PopulationWarning")
def test_objects_with_other_error_bars_are_asked_of_the_model_without_them(search, tmp_path):
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(400, 2))
    y = (truth[:, 0] > 0).astype(int)
    bars = 0.3 * np.exp(0.3 * rng.normal(size=(400, 2)) + 0.8 * y[:, None])  # they tell about the class
    X = truth + bars * rng.normal(size=(400, 2))
    options = {"search": search, "n_features": 60, "metric": False, "link": False, "damping": False}
    model = svmgsu.SVMGSU(bars_as_features=True, gamma=0.2, lam=1e-4, **options).fit(X, y, std=bars)
    plain = svmgsu.SVMGSU(bars_as_features=False, gamma=0.4, lam=1e-4, **options).fit(X, y, std=bars)
    model.odds_.lapse = plain.odds_.lapse = 0.0
    new, tiny = truth[:30], np.full((30, 2), 1e-3)
    np.testing.assert_allclose(
        model.predict_proba(new, std=tiny), plain.predict_proba(new, std=tiny), atol=1e-9
    )
    np.testing.assert_allclose(
        model.decision_function(new, std=tiny), plain.decision_function(new, std=tiny), atol=1e-7
    )
    common = np.flatnonzero(~model.lift_.strange(svmgsu.Gaussians(X, svmgsu.Diagonal(bars**2))))
    assert 340 < len(common) < 380  # nine tenths of the fit
    X, bars = X[common[:5]], bars[common[:5]]
    both = model.predict_proba(np.vstack([new, X]), std=np.vstack([tiny, bars]))
    np.testing.assert_array_equal(both[:30], model.predict_proba(new, std=tiny))
    np.testing.assert_array_equal(both[30:], model.predict_proba(X, std=bars))
    assert np.abs(both[30:] - plain.predict_proba(X, std=bars)).max() > 1e-3
    model.save(tmp_path / "m.svmgsu")
    again = svmgsu.load(tmp_path / "m.svmgsu")
    np.testing.assert_array_equal(again.predict_proba(new, std=tiny), both[:30])


@pytest.mark.filterwarnings("ignore::svmgsu.exceptions.PopulationWarning")
def test_numbers_of_objects_with_other_error_bars_too():
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(300, 2))
    bars = 0.2 * np.exp(0.3 * rng.normal(size=(300, 2)) + 0.4 * truth[:, :1])
    X, z = truth + bars * rng.normal(size=(300, 2)), truth[:, 0]
    options = {"search": False, "n_features": 60, "metric": False, "lam": 1e-3}
    model = svmgsu.SVRGSU(bars_as_features=True, gamma=0.2, **options).fit(X, z, std=bars)
    plain = svmgsu.SVRGSU(bars_as_features=False, gamma=0.4, **options).fit(X, z, std=bars)
    value, deviation = model.predict(truth, std=1e-4, return_std=True)
    np.testing.assert_allclose(value, plain.predict(truth, std=1e-4), atol=1e-9)
    np.testing.assert_allclose(value, model.predict(truth, std=1e-4), rtol=1e-12)
    assert (deviation >= model.residual_std_).all()
