"""Curved estimators, populations and maps with what tables hold: odd units, offsets, junk, few of a kind."""

import numpy as np
import pytest

import svmgsu

QUICK = {"n_features": 40, "search": False, "threads": 1}


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    E = rng.uniform(0.05, 0.3, X.shape)
    seen = X + E * rng.normal(size=X.shape)
    return seen, E, np.where((X**2).sum(axis=1) > 1.4, "out", "in"), np.sin(X[:, 0]) + X[:, 1] ** 2


def classifier(X, E, y, **options):
    return svmgsu.SVMGSU(**QUICK).fit(X, y, std=E, **options)


def regression(X, E, t, **options):
    return svmgsu.SVRGSU(**QUICK).fit(X, t, std=E, **options)


@pytest.mark.parametrize(
    ("unit", "offset", "digits"), [(1e-12, 1.0, 1e-3), (1e-3, 1e9, 1e-3), (1e130, 0, 1e-9)]
)
def test_a_spread_far_below_the_offset_is_not_taken_for_a_constant(unit, offset, digits, rings):
    X, E, y, _ = rings
    moved = X * unit + offset
    X = (moved - offset) / unit  # as rounding has left it
    wanted = classifier(X, E, y).predict_proba(X, std=E)
    found = classifier(moved, E * unit, y).predict_proba(moved, std=E * unit)
    np.testing.assert_allclose(found, wanted, atol=digits)


@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_targets_may_be_as_large_or_small_as_numbers_are(unit, rings):
    X, E, _, t = rings
    wanted = regression(X, E, t, y_std=0.1).predict(X, std=E, return_std=True)
    found = regression(X, E, t * unit, y_std=0.1 * unit).predict(X, std=E, return_std=True)
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(other / unit, one, rtol=1e-6, atol=1e-9)
    constant = regression(X, E, np.full(len(X), unit)).predict(X[:2], std=E[:2])
    np.testing.assert_allclose(constant / unit, 1.0)


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_features_whose_squares_are_no_numbers_are_refused_by_name(unit, rings):
    X, _, y, t = rings
    wide = X * [1.0, unit]
    for model, target in (
        (svmgsu.SVMGSU(**QUICK), y),
        (svmgsu.SVRGSU(**QUICK), t),
        (svmgsu.Deconvolution(2), None),
    ):
        with pytest.raises(ValueError, match=r"X: feature 1 has values from .* take a unit"):
            model.fit(wide, target)
    with pytest.raises(ValueError, match="gamma: 'scale' is no number for values from"):
        svmgsu.features.FourierFeatures().fit(X * unit)


def test_an_object_beyond_all_distances_is_refused(rings):
    X, E, y, _ = rings
    model, population = classifier(X, E, y), svmgsu.Deconvolution(2).fit(X, std=E)
    for ask in (model.predict, population.transform):
        with pytest.raises(ValueError, match=r"X: example 1, feature 0 is .*further from the population"):
            ask(np.array([[0.0, 0.0], [1e300, 0.0]]), std=0.1)


def test_examples_without_weight_have_no_say(rings):
    X, E, y, t = rings
    weights = np.where(np.arange(len(X)) < 40, 0.0, 1.0)
    junk = np.where(weights[:, np.newaxis] > 0, X, 1e6)
    kept = slice(40, None)
    found = classifier(junk, E, y, sample_weight=weights).predict_proba(X, std=E)
    np.testing.assert_array_equal(found, classifier(X[kept], E[kept], y[kept]).predict_proba(X, std=E))
    found = regression(junk, E, np.where(weights > 0, t, 1e9), sample_weight=weights, y_std=0.1)
    wanted = regression(X[kept], E[kept], t[kept], y_std=0.1)
    np.testing.assert_array_equal(found.predict(X, std=E), wanted.predict(X, std=E))
    found = svmgsu.Deconvolution(3).fit(junk, std=E, sample_weight=weights)
    np.testing.assert_array_equal(found.means_, svmgsu.Deconvolution(3).fit(X[kept], std=E[kept]).means_)


def test_groups_are_checked_and_may_be_fewer_than_folds(rings):
    X, E, y, t = rings
    fast = {**QUICK, "search": True, "gamma": 0.3, "lam": 1e-4, "metric": False, "bars_as_features": False}
    two = np.arange(len(X)) % 2
    for model, target in ((svmgsu.SVMGSU(**fast), y), (svmgsu.SVRGSU(**fast), t)):
        model.fit(X, target, std=E, groups=two)
        with pytest.raises(ValueError, match="groups: all examples are of one group"):
            model.fit(X, target, std=E, groups=0 * two)
        with pytest.raises(ValueError, match=r"groups: shape \(5,\); one for each of 160 examples"):
            model.fit(X, target, std=E, groups=two[:5])
        with pytest.raises(ValueError, match="random_state: expected None, an int or a RandomState"):
            model.set_params(random_state="x").fit(X, target, std=E)


def test_numbers_that_were_taken_for_labels_are_refused_before_work_starts(rings):
    X, E, _, _ = rings
    with pytest.raises(ValueError, match="y: every example has a class of its own"):
        svmgsu.SVMGSU().fit(X, np.arange(len(X)), std=E)


def test_pandas_own_mark_of_a_missing_value_is_one(rings):
    pd = pytest.importorskip("pandas")
    X, _, y, _ = rings
    gaps = np.where(np.arange(len(X)) % 4 == 0, np.nan, X[:, 1].round(2))
    frame = pd.DataFrame({"a": X[:, 0], "b": gaps})
    own = frame.astype({"b": "Float64"})
    assert own["b"].isna().any()
    wanted = classifier(frame, 0.1, y).predict_proba(frame, std=0.1)
    np.testing.assert_array_equal(classifier(own, 0.1, y).predict_proba(own, std=0.1), wanted)


def test_a_column_of_text_is_named_and_not_used(rings):
    pd = pytest.importorskip("pandas")
    X, _, y, _ = rings
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=pd.Categorical(["u", "v"] * 80))
    with pytest.warns(UserWarning, match=r"2 exact \(no errors found\), 1 unused; not used: c \(text\)"):
        model = svmgsu.SVMGSU(**QUICK).fit(frame, y)
    assert model.n_features_in_ == 2


def test_landmarks_keep_their_digits_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    near, far = (
        svmgsu.features.Landmarks(20, landmarks="drawn", gamma=0.5).fit(X + at).transform(X + at)
        for at in (0.0, 1e7)
    )
    np.testing.assert_allclose(far @ far.T, near @ near.T, atol=1e-4)
