"""The options of a fit: signatures that fit a page, refusals by name, warnings at the user's line."""

import inspect
import re
import warnings

import numpy as np
import pytest

import svmgsu

ESTIMATORS = [svmgsu.LinearSVMGSU, svmgsu.LinearSVRGSU, svmgsu.SGDSVMGSU]
X = np.array([[-2.0, 0.5], [-1.0, -0.5], [-1.5, 0.2], [1.0, 0.3], [2.0, -0.1], [1.5, 0.9]])
Y = np.array([0, 0, 0, 1, 1, 1])


def parameters(door):
    return [name for name in inspect.signature(door).parameters if name != "self"]


def fitted(door, **given):
    if door is svmgsu.train:
        return door(X, Y, std=0.1, **given)
    return door(**given).fit(X, Y * 1.0 if door is svmgsu.LinearSVRGSU else Y, std=0.1)


def test_the_surface_fits_a_page():
    assert len(parameters(svmgsu.train)) <= 16
    for door in ESTIMATORS:
        assert len(parameters(door)) <= 12


@pytest.mark.parametrize("door", [svmgsu.train, *ESTIMATORS], ids=lambda door: door.__name__)
def test_every_parameter_has_a_text(door):
    text = inspect.getdoc(door)
    for name in parameters(door):
        found = re.search(rf"^(?:\w+, )*{name}(?:, \w+)* : .*\n    \S", text, re.MULTILINE)
        assert found, name


WRONG = {
    "lam": 0.0,
    "loss": "none",
    "epsilon": "wide",
    "class_weight": "even",
    "multi_class": "all",
    "cov_scale": -1.0,
    "probability": "maybe",
    "tol": -1e-6,
    "max_time": 0.0,
    "n_steps": 0,
    "batch_size": 1.5,
    "average": 1.5,
    "threads": 0,
    "verbose": "much",
}


@pytest.mark.parametrize(
    ("door", "name"),
    [
        pytest.param(door, name, id=f"{door.__name__}-{name}")
        for door in [svmgsu.train, *ESTIMATORS]
        for name in sorted(set(WRONG) & set(parameters(door)))
    ],
)
def test_what_is_wrong_is_refused_by_name(door, name):
    with pytest.raises((ValueError, TypeError), match=f"^{'steps' if name == 'n_steps' else name}:"):
        fitted(door, **{name: WRONG[name]})


@pytest.mark.parametrize("name", ["n_steps", "batch_size", "threads"])
def test_counts_are_positive_whole_numbers(name):
    called = "steps" if name == "n_steps" else name
    with pytest.raises(ValueError, match=f"{called}: must be at least 1, got 0"):
        fitted(svmgsu.SGDSVMGSU, **{name: 0})
    for value in (1.5, "3"):
        with pytest.raises(TypeError, match=f"{called}: expected a whole number, got {value!r}"):
            fitted(svmgsu.SGDSVMGSU, **{name: value})
    with pytest.raises(ValueError, match=f"{called}: must be at most"):
        fitted(svmgsu.SGDSVMGSU, **{name: 2**70})


def test_a_batch_is_no_larger_than_the_data():
    with pytest.raises(ValueError, match="batch_size: 7 samples of 6; it must be <= 6"):
        fitted(svmgsu.SGDSVMGSU, batch_size=7)
    fitted(svmgsu.SGDSVMGSU, batch_size=6, random_state=2**64 - 1)
    with pytest.raises(ValueError, match="seed: must be at least 0, got -1"):
        fitted(svmgsu.SGDSVMGSU, random_state=-1)


def test_a_pair_sets_the_parameter_of_a_loss():
    t = X[:, 0] ** 2
    pair = svmgsu.train(X, t, loss=("huber", 0.5), lam=0.1)
    assert pair.epsilon == 0.5
    np.testing.assert_array_equal(
        pair.coef_, svmgsu.LinearSVRGSU(0.1, loss="huber", epsilon=0.5).fit(X, t).coef_
    )
    with pytest.raises(ValueError, match="epsilon: the loss 'squared' has no parameter"):
        svmgsu.train(X, t, loss=("squared", 0.5))


def test_the_loss_decides_what_is_trained():
    with pytest.raises(
        ValueError, match=r"loss: 'squared' is for regression; use svmgsu.train or LinearSVRGSU"
    ):
        svmgsu.LinearSVMGSU(loss="squared").fit(X, Y)
    with pytest.raises(ValueError, match=r"loss: 'hinge' is for classification; .*LinearSVMGSU"):
        svmgsu.LinearSVRGSU(loss="hinge").fit(X, Y)
    with pytest.raises(ValueError, match=r'y_std: the loss is for classification; .*loss="squared"'):
        svmgsu.train(X, Y, y_std=0.1)
    with pytest.raises(ValueError, match=r'y: looks continuous, .*expected class labels.*loss="squared"'):
        svmgsu.train(X, X[:, 0])


@pytest.mark.parametrize("door", [svmgsu.train, *ESTIMATORS[:2]], ids=lambda door: door.__name__)
def test_a_warning_points_at_the_users_own_line(door):
    rng = np.random.default_rng(0)
    Z, t = rng.normal(size=(60, 3)), rng.normal(size=60)
    y, loss = (t, "epsilon_insensitive") if door is svmgsu.LinearSVRGSU else ((t > 0).astype(int), "hinge")
    given = {"max_time": 1e-9, "loss": loss, "lam": 0.01}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        door(Z, y, std=0.1, **given) if door is svmgsu.train else door(**given).fit(Z, y, std=0.1)
    found = [w for w in caught if w.category is svmgsu.exceptions.ConvergenceWarning]
    assert any(w.filename == __file__ for w in found)  # those of folds come from threads of their own


def test_a_start_must_fit():
    model = svmgsu.train(X[:, :1], Y, probability=False)
    with pytest.raises(ValueError, match="start: 1 features, but X has 2"):
        svmgsu.train(X, Y, start=model)
    with pytest.raises(TypeError, match="start: expected a Model, got 3"):
        svmgsu.train(X, Y, start=3)
    with pytest.raises(TypeError, match="start: expected a RegressionModel"):
        svmgsu.train(X[:, :1], X[:, 1], loss="squared", start=model)
    three = svmgsu.train(X[:, :1], [0, 0, 1, 1, 2, 2], probability=False)
    with pytest.raises(ValueError, match="start: 3 classes, but y has 2"):
        svmgsu.train(X[:, :1], Y, start=three)
    with pytest.raises(ValueError, match="start: a checkpoint is for blocks"):
        svmgsu.train(X, Y, start="file.ckpt")
