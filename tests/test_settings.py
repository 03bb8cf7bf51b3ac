"""The options of a fit live in one place: every signature, text and check is that of `Settings`."""

import dataclasses
import inspect
import re
import warnings

import numpy as np
import pytest

import svmgsu
from svmgsu.estimators.linear import LinearEstimator
from svmgsu.fit import settings
from svmgsu.fit.settings import Settings

FUNCTIONS = [svmgsu.train, svmgsu.path, svmgsu.train_regressor, svmgsu.path_regressor]
ESTIMATORS = [svmgsu.LinearSVMGSU, svmgsu.LinearSVMGSUCV, svmgsu.LinearSVRGSU, svmgsu.LinearSVRGSUCV]
DOORS = FUNCTIONS + ESTIMATORS
REGRESSIONS = (svmgsu.train_regressor, svmgsu.path_regressor, svmgsu.LinearSVRGSU, svmgsu.LinearSVRGSUCV)
FIELDS = {entry.name: entry for entry in dataclasses.fields(Settings) if entry.init}
OTHERWISE = {  # what a door means by a name of its own, or by default
    ("path", "probability"): False,
    ("LinearSVMGSUCV", "cv"): 5,
    ("LinearSVRGSUCV", "cv"): 5,
    **{(door.__name__, "loss"): "squared" for door in REGRESSIONS},
}
X = np.array([[-2.0, 0.5], [-1.0, -0.5], [-1.5, 0.2], [1.0, 0.3], [2.0, -0.1], [1.5, 0.9]])
Y = np.array([0, 0, 0, 1, 1, 1])


def parameters(door):
    return inspect.signature(door).parameters


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_signature_has_the_defaults_and_types_of_the_settings(door):
    shared = set(parameters(door)) & set(FIELDS)
    assert {"lam", "lams"} & set(parameters(door)) and shared >= {"tol", "max_iter", "psd", "threads"}
    for name in shared:
        wanted = OTHERWISE.get((door.__name__, name), FIELDS[name].default)
        assert parameters(door)[name].default == wanted
        assert parameters(door)[name].annotation == FIELDS[name].type


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_docstring_has_the_text_of_every_setting_once(door):
    text, entries = inspect.getdoc(door), settings._entries()
    assert "{settings}" not in text
    for name in set(parameters(door)) & set(entries):
        head = re.findall(rf"^(?:\w+, )*{name}(?:, \w+)*(?: : .*)?$", text, re.MULTILINE)
        assert len(head) == 1, name
    assert entries["max_iter"] in text


def test_every_setting_has_a_text():
    assert set(FIELDS) - {"task"} == set(settings._entries()) - {"random_state", "warm_start"}


def test_what_has_no_docstring_gets_none():  # as with python -OO
    def plain(lam=1e-2):
        return lam

    assert settings.documented(plain) is plain
    assert plain.__doc__ is None


# What is wrong is refused by its name, whichever door it comes through

WRONG = {
    "psd": "maybe",
    "lam": 0.0,
    "loss": "none",
    "epsilon": "wide",
    "solver": "magic",
    "class_weight": "even",
    "multi_class": "all",
    "cov_scale": -1.0,
    "deployment_cov": -np.ones(2),
    "subspace": 2.0,
    "subspace_mode": "fold",
    "probability": "maybe",
    "prior": [1.0, -1.0],
    "cv": 1,
    "tol": -1e-6,
    "max_iter": 0,
    "max_time": 0.0,
    "T": 0,
    "k": 1.5,
    "average": 1.5,
    "threads": 0,
    "n_jobs": 0,
}


def fitted(door, **given):
    y = Y * 1.0 if door in REGRESSIONS else Y
    if door in FUNCTIONS:
        return door(X, y, std=0.1, **given)
    return door(**{"cv": 2} | given if "lams" in parameters(door) else given).fit(X, y, std=0.1)


def taken(door, name):
    """Whether a door has a parameter that it refuses itself: scikit-learn speaks of the folds of a search."""
    return name in parameters(door) and not (name == "cv" and "lams" in parameters(door))


@pytest.mark.parametrize(
    ("door", "name"),
    [
        pytest.param(door, name, id=f"{door.__name__}-{name}")
        for door in DOORS
        for name in sorted(WRONG)
        if taken(door, name)
    ],
)
def test_what_is_wrong_is_refused_by_name(door, name):
    with pytest.raises((ValueError, TypeError), match=f"^{name}:"):
        fitted(door, **{name: WRONG[name]})


@pytest.mark.parametrize("door", ESTIMATORS, ids=lambda door: door.__name__)
def test_an_estimator_hands_on_every_setting_that_it_has(door):
    given = {"lam": 0.3, "psd": "strict", "tol": 1e-3, "max_iter": 7, "threads": 1, "fit_intercept": False}
    estimator = door(**{name: value for name, value in given.items() if name in parameters(door)})
    made = LinearEstimator._settings(estimator, cv=None)
    for name in (set(parameters(door)) & set(FIELDS)) - {"cv"}:
        assert getattr(made, name) == getattr(estimator, name), name


# psd="strict" reaches every matrix

NEARLY = np.array([[1.0, 1.00005], [1.00005, 1.0]])  # rounded to four digits it would be semidefinite


@pytest.mark.parametrize(
    ("door", "where"),
    [
        pytest.param(door, where, id=f"{door.__name__}-{where}")
        for door in [*DOORS, svmgsu.Objective]
        for where in ("cov", "deployment_cov")
        if where == "cov" or where in parameters(door)
    ],
)
def test_strict_definiteness_reaches_every_matrix(door, where):
    y = Y * 1.0 if door in REGRESSIONS else Y
    cov = np.tile(NEARLY, (6, 1, 1)) if where == "cov" else None
    given = {"psd": "strict"} | ({} if where == "cov" else {"deployment_cov": NEARLY})
    with pytest.raises(ValueError, match=f"{where}.*is not positive semidefinite"):
        if door in ESTIMATORS:
            door(**given).fit(X, y, cov=cov)
        else:
            door(X, y, cov, **given)


def test_strict_definiteness_reaches_deployment_and_new_objects():
    with pytest.raises(ValueError, match=r"deployment_cov.*is not positive semidefinite"):
        svmgsu.Gaussians(X).add_noise(NEARLY, psd="strict")
    estimator = svmgsu.LinearSVMGSU(psd="strict", probability="train").fit(X, Y)
    with pytest.raises(ValueError, match="is not positive semidefinite"):
        estimator.predict_proba(X, cov=np.tile(NEARLY, (6, 1, 1)))


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_warning_points_at_the_users_own_line(door):
    rng = np.random.default_rng(0)
    Z, t = rng.normal(size=(60, 3)), rng.normal(size=60)
    y, loss = (t, "epsilon_insensitive") if door in REGRESSIONS else ((t > 0).astype(int), "hinge")
    given = {"max_iter": 1, "tol": 1e-12, "loss": loss}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        door(Z, y, std=0.1, **given) if door in FUNCTIONS else door(**given).fit(Z, y, std=0.1)
    found = [w for w in caught if w.category is svmgsu.exceptions.ConvergenceWarning]
    assert found
    assert any(w.filename == __file__ for w in found)  # those of folds come from threads of their own
