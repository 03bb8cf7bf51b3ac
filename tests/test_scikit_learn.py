"""The classifiers inside scikit-learn's tools: routed covariances, named columns, jobs and their threads."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest

import svmgsu
from svmgsu.support.parallel import thread_count


def three_classes(count=90):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(count) % 3]
    X = rng.normal(size=(count, 3)) + 4 * np.eye(3)[np.arange(count) % 3]
    return X, y, rng.uniform(0.01, 1, (count, 3))


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


def test_a_stream_keeps_the_names_of_its_first_piece():
    X, y, _ = three_classes()
    frame = named(X)
    est = svmgsu.SGDSVMGSU().partial_fit(frame, y, classes=["a", "b", "c"])
    assert est.feature_names_in_.tolist() == ["u", "g", "r"]
    with pytest.raises(ValueError, match="feature names should match"):
        est.partial_fit(frame[["r", "g", "u"]], y)


# Wrong arguments of fitted estimators


# Threads


def test_a_worker_of_joblib_has_its_share_of_the_threads():
    cores = joblib.cpu_count()
    found = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(thread_count)() for _ in range(2))
    assert set(found) == {max(1, cores // 2)}


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
