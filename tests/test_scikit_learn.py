"""The classifiers inside scikit-learn's tools: routed covariances, named columns, jobs and their threads."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
import sklearn
import threadpoolctl
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier

import svmgsu
from svmgsu import _core
from svmgsu.support.parallel import Team

FOLDS = StratifiedKFold(3)


def three_classes(count=90):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(count) % 3]
    X = rng.normal(size=(count, 3)) + 4 * np.eye(3)[np.arange(count) % 3]
    return X, y, rng.uniform(0.01, 1, (count, 3))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_a_grid_search_routes_error_bars(routing):
    X, y, V = three_classes()
    est = svmgsu.LinearSVMGSU(probability=False).set_fit_request(std=True)
    search = GridSearchCV(est, {"lam": [0.01, 0.1]}, cv=FOLDS).fit(X, y, std=np.sqrt(V))
    best = svmgsu.LinearSVMGSU(search.best_params_["lam"], probability=False).fit(X, y, std=np.sqrt(V))
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)


@pytest.mark.parametrize("cov", ["diagonal", "shared by class"])
def test_tools_take_gaussians_of_several_classes(cov):
    X, _, V = three_classes()
    y = np.arange(90) % 3  # numbers, since cross_val_predict renames other classes to these
    kind = svmgsu.Diagonal(V) if cov == "diagonal" else svmgsu.Shared({c: np.full(3, 0.1) for c in range(3)})
    data = svmgsu.Gaussians(X, kind)
    proba = cross_val_predict(svmgsu.LinearSVMGSU(0.1), data, y, cv=FOLDS, method="predict_proba")
    assert proba.shape == (90, 3)
    assert (proba.argmax(axis=1) == y).mean() > 0.9
    assert cross_validate(svmgsu.LinearSVMGSU(0.1), data, y, cv=FOLDS)["test_score"].mean() > 0.9
    for tool in (CalibratedClassifierCV, OneVsRestClassifier):
        if cov == "shared by class" and tool is OneVsRestClassifier:
            continue  # it renames the classes, so that those of the covariance are gone
        assert tool(svmgsu.LinearSVMGSU(0.1, probability=False)).fit(data, y).score(data, y) > 0.9


# Named columns


def named(X):
    pandas = pytest.importorskip("pandas", reason="named columns need pandas")
    return pandas.DataFrame(X, columns=["u", "g", "r"])


def test_names_of_columns_are_kept_and_checked():
    X, y, V = three_classes()
    frame = named(X)
    for est in (svmgsu.LinearSVMGSU(0.1), svmgsu.LinearSVMGSU([0.1])):
        est.fit(frame, y, V)
        assert est.feature_names_in_.tolist() == ["u", "g", "r"]
        assert est.predict(frame).shape == (90,)
        with pytest.raises(ValueError, match="feature names should match"):
            est.predict(frame[["g", "u", "r"]])
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            est.predict(X)
        est.fit(X, y, V)
        assert not hasattr(est, "feature_names_in_")


def test_names_of_gaussians_are_kept_and_checked():
    X, y, V = three_classes()
    names = ["u", "g", "r"]
    est = svmgsu.LinearSVMGSU(0.1).fit(svmgsu.Gaussians(X, V, feature_names=names), y)
    assert est.feature_names_in_.tolist() == names
    est.predict(svmgsu.Gaussians(X, V, feature_names=names))
    est.predict(svmgsu.Gaussians(X, V))
    turned = svmgsu.Gaussians(X[:, ::-1], V[:, ::-1], feature_names=names[::-1])
    np.testing.assert_array_equal(est.predict_proba(turned), est.predict_proba(svmgsu.Gaussians(X, V)))
    with pytest.raises(
        ValueError, match="X: its features are not those of the model: missing 'r'; unknown 'z'"
    ):
        est.predict(svmgsu.Gaussians(X, V, feature_names=["u", "g", "z"]))
    est.fit(svmgsu.Gaussians(X, V), y)
    assert not hasattr(est, "feature_names_in_")


def test_a_covariance_by_group_is_known_of_new_objects():
    X, y, _ = three_classes()
    by_group = svmgsu.Shared({"day": np.full(3, 0.1), "night": np.full(3, 4.0)}, groups=["day", "night"] * 45)
    each = np.where(np.arange(90)[:, None] % 2, 4.0, 0.1) * np.ones(3)
    est = svmgsu.LinearSVMGSU(0.1).fit(X, y, each)
    np.testing.assert_allclose(est.predict_proba(X, by_group), est.predict_proba(X, each), rtol=1e-12)


def test_a_stream_keeps_the_names_of_its_first_piece():
    X, y, _ = three_classes()
    frame = named(X)
    est = svmgsu.SGDSVMGSU().partial_fit(frame, y, classes=["a", "b", "c"])
    assert est.feature_names_in_.tolist() == ["u", "g", "r"]
    with pytest.raises(ValueError, match="feature names should match"):
        est.partial_fit(frame[["r", "g", "u"]], y)


# Wrong arguments of fitted estimators


@pytest.mark.parametrize("method", ["decision_function", "predict", "predict_proba", "margin_probability"])
def test_wrong_objects_are_named(method):
    X, y, V = three_classes()
    call = getattr(svmgsu.LinearSVMGSU(0.1).fit(X, y, V), method)
    with pytest.raises(ValueError, match="X has 2 features, but LinearSVMGSU is expecting 3"):
        call(X[:, :2], std=1.0)
    with pytest.raises(ValueError, match=r"cov: shape \(7, 3\) does not fit 90 samples of 3 features"):
        call(X, V[:7])
    with pytest.raises(ValueError, match="std: give either cov or std"):
        call(X, V, std=V)
    with pytest.raises(ValueError, match="cov: one covariance per class cannot be known"):
        call(X, svmgsu.Shared({"a": np.ones(3)}))
    with pytest.raises(ValueError, match="X: sample 0, feature 0 is nan"):
        call(np.full((1, 3), np.nan))


def test_an_estimator_and_its_model_say_the_same():
    X, y, V = three_classes()
    est = svmgsu.LinearSVMGSU(0.1).fit(X, y, V)
    for method in ("predict", "predict_proba", "margin_probability"):
        np.testing.assert_array_equal(getattr(est, method)(X, V), getattr(est.model_, method)(X, V))
    for got, wanted in zip(
        est.decision_function(X, V, return_std=True),
        est.model_.decision_function(X, V, return_std=True),
        strict=True,
    ):
        np.testing.assert_array_equal(got, wanted)


# Threads


def test_negative_numbers_of_jobs_count_from_the_threads_down():
    assert [Team(threads=4, n_jobs=k).jobs for k in (None, -1, -2, -4, -9)] == [4, 4, 3, 1, 1]


def test_limits_of_threadpoolctl_hold_for_the_whole_team():
    if _core.config()["openmp"] is None:
        pytest.skip("built without OpenMP: there is one thread")
    with threadpoolctl.threadpool_limits(1):
        team = Team()
    assert (team.threads, team.jobs, team.inner(10)) == (1, 1, 1)
    with threadpoolctl.threadpool_limits(6):
        team = Team(n_jobs=2)
    assert (team.threads, team.jobs, team.inner(10), team.inner(1)) == (6, 2, 3, 6)


def team_size():
    team = Team()
    return team.threads, team.jobs


def test_a_worker_of_joblib_has_its_share_of_the_threads():
    cores = joblib.cpu_count()
    found = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(team_size)() for _ in range(2))
    assert set(found) == {(max(1, cores // 2), max(1, cores // 2))}


@pytest.mark.parametrize("threads", ["1", "3"])
def test_a_saved_model_says_the_same_with_other_threads(tmp_path, threads):
    X, y, V = three_classes(3000)
    model = svmgsu.train(X, y, V, lam=0.1)
    model.save(tmp_path / "m.svmgsu")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np, svmgsu; folder = sys.argv[1]; X = np.load(folder + '/X.npy');"
        "model = svmgsu.load(folder + '/m.svmgsu');"
        "out = np.hstack([model.decision_function(X), model.predict_proba(X, std=0.5)]);"
        "np.save(folder + '/out.npy', out)"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=environment)
    wanted = np.hstack([model.decision_function(X), model.predict_proba(X, std=0.5)])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), wanted)
