"""Knowing nothing gives the classes' shares; groups are held out; `predict` is the most probable class."""

import numpy as np
import pytest
from conftest import train_with

import svmgsu


def rare(share, seed=0, count=2000):
    rng = np.random.default_rng(seed)
    y = (rng.random(count) < share).astype(int)
    y[:2] = 1
    return rng.normal(size=(count, 2)) + 3.0 * y[:, None], y


@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
@pytest.mark.parametrize("std", [None, 0.3])
def test_a_blurred_object_has_the_share_of_its_class_or_the_one_stated(share, std):
    X, y = rare(share)
    model = svmgsu.train(X, y, std=std, lam=1e-3)
    new = X + 30 * np.random.default_rng(1).normal(size=X.shape)
    np.testing.assert_allclose(model.predict_proba(new, std=30.0)[:, 1].mean(), y.mean(), atol=0.02)
    np.testing.assert_allclose(model.predict_proba(new, std=1e4)[:, 1], y.mean(), atol=1e-3)
    stated = model.predict_proba(new, std=1e4, prior={0: 0.3, 1: 0.7})
    np.testing.assert_allclose(stated[:, 1], 0.7, atol=1e-2)
    np.testing.assert_allclose(model.set_prior([3, 7]).predict_proba(new, std=1e4), stated)
    assert model.set_prior(None).prior_ is None


def test_three_classes_have_their_shares(tmp_path):
    rng = np.random.default_rng(2)
    y = rng.choice(3, 3000, p=[0.90, 0.08, 0.02])
    X = rng.normal(size=(3000, 2)) + np.array([[0, 0], [5, 0], [0, 5]])[y]
    model = svmgsu.train(X, y, std=0.2, lam=1e-3)
    shares = np.bincount(y) / 3000
    new = X[:50] + 1e4 * rng.normal(size=(50, 2))
    np.testing.assert_allclose(model.predict_proba(new, std=1e4), np.tile(shares, (50, 1)), atol=0.02)
    np.testing.assert_array_equal(model.predict(X, std=1.0), model.predict_proba(X, std=1.0).argmax(axis=1))


def test_groups_are_held_out_of_the_calibration():
    """Repeated patients whose class is chance: a model knows the patients by heart, and no others."""
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(60), 10)
    label = rng.permutation(60) % 2
    X = (rng.normal(size=(60, 40)) + 0.2 * label[:, None])[patient] + 0.1 * rng.normal(size=(600, 40))
    y = label[patient]
    sure = [
        train_with(X, y, lam=0.001, **more).predict_proba(rng.normal(size=(500, 40))).max(axis=1).mean()
        for more in ({}, {"groups": patient})
    ]
    assert sure[1] < sure[0] - 0.1
    search = svmgsu.LinearSVMGSU([0.001]).fit(X, y, groups=patient)
    assert search.model_.calibration_ != svmgsu.LinearSVMGSU([0.001]).fit(X, y).model_.calibration_


def test_a_class_of_one_group_is_warned_of_and_bad_splits_are_refused():
    X, y = rare(0.3, count=200)
    with pytest.warns(UserWarning, match="groups: they cannot be held out"):
        svmgsu.train(X, y, groups=y)
    with pytest.raises(ValueError, match="groups: expected one for each of 200"):
        svmgsu.train(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match=r"prior: expected shape \(2,\), got \(3,\)"):
        svmgsu.train(X, y).set_prior([0.5, 0.6, 0.1])


@pytest.mark.filterwarnings("ignore::svmgsu.exceptions.TrivialModelWarning")
@pytest.mark.parametrize("seed", range(5))
def test_with_label_noise_predict_is_the_more_probable_class(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), np.array(["no", "yes"])[(rng.random(60) < 0.4).astype(int)]
    model = svmgsu.train(X, y, std=0.1, lam=1e-2)
    best = model.classes_[model.predict_proba(X, std=0.1).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X, std=0.1), best)
