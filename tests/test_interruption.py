"""Ctrl-C, memory that runs out and forks: training on several threads ends with a Python exception."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from conftest import interrupted

import svmgsu
from svmgsu import _core
from svmgsu.support.parallel import parallel_map

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals, limits and fork")

FITS = """
import sys, threading
import numpy as np, svmgsu
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 1800)) / 40, np.arange(300) % 2
F = rng.normal(size=(300, 4, 1800)) / 80
sgd = {"n_steps": 10**12, "lam": 1e-4}
threading.Timer(0.5, lambda: print("training", flush=True)).start()
try:
    while True:
        TRAIN
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(7)
"""


@pytest.mark.parametrize(
    "train",
    [
        "svmgsu.train(X, y, svmgsu.LowRank(F), lam=1e-4, probability=False)",
        "svmgsu.train(X, y, np.full(300, 0.01), lam=1e-4, probability=False)",
        "svmgsu.Deconvolution(20, init=1, tol=1e-12, max_iter=10**6).fit(X.reshape(-1, 9), std=0.01)",
        "svmgsu.SGDSVMGSU(**sgd).fit(X, y, 1.0)",
        "svmgsu.SGDSVMGSU(**sgd, threads=2).fit(X, np.arange(300) % 3, 1.0)",
    ],
    ids=["factors", "dense", "deconvolution", "stochastic", "stochastic, three classes"],
)
def test_ctrl_c_stops_a_solver_wherever_it_is(train):
    """Fits go on for hours, or one after another; the time limit of the test guards against a hang alone."""
    assert interrupted(FITS.replace("TRAIN", train)) == ("interrupted\n", 7)


def test_signals_are_heard_while_many_classes_are_calibrated(monkeypatch):
    """Once all pairs are trained nothing reports progress, and 11,175 calibrations are left."""
    codes = np.arange(600) % 150
    X = np.random.default_rng(0).normal(size=(600, 2))
    reports, heard = [], []

    def stop(progress):
        reports.append(progress.iteration)
        return False

    def fit(*arguments):
        found = known(*arguments)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return found

    known = _core.fit
    monkeypatch.setattr(_core, "fit", fit)
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(len(reports)))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        svmgsu.train(X, codes, lam=10.0, probability="train", verbose=stop, threads=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard.count(len(reports)) > 5


def test_after_ctrl_c_while_threads_are_started_nothing_else_is_begun():
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.1)

    class Items(list):
        def __iter__(self):
            yield from range(5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_map(work, Items(range(5)), 2)
    assert begun == [0, 1]


OPEN = """
import os, resource, signal, sys, threading, time
import numpy as np, svmgsu
y = np.load("y.npy")
data = svmgsu.open("X.npy", cov="cov.npy", memory="30MB")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that take a few seconds to train on, with probabilities."""
    path = tmp_path_factory.mktemp("outofcore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 30)).astype(np.float32)
    np.save(path / "X.npy", X)
    np.save(path / "cov.npy", rng.random(X.shape, dtype=np.float32))
    np.save(path / "y.npy", (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int))
    return path


def run(script, folder, *arguments):
    """Return what a Python program prints, after checking that it ended by itself."""
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


@pytest.mark.parametrize("seconds", [0.02, 0.2])
def test_ctrl_c_during_out_of_core_training_is_a_keyboard_interrupt(folder, seconds):
    script = (
        OPEN
        + """
def press():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)
try:
    threading.Thread(target=press).start()
    while True:
        svmgsu.train(data, y, lam=1e-5, threads=2)
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    assert run(script, folder, seconds) == "interrupted"


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS and /proc")
@pytest.mark.parametrize("megabytes", [8, 40, 120])
def test_memory_that_runs_out_is_a_memory_error(folder, megabytes):
    script = (
        OPEN
        + """
np.ones((300, 300)) @ np.ones((300, 300))  # NumPy's BLAS ends the process where its own buffers do not fit
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    svmgsu.train(data, y, threads=4, probability=False)
    print("trained")
except MemoryError:
    print("memory")
"""
    )
    found = run(script, folder, megabytes)
    assert found == "memory" or (found == "trained" and megabytes > 8)


def test_a_forked_child_trains_after_its_parent_has_trained_on_two_threads(folder):
    script = """
import multiprocessing
import numpy as np, svmgsu
X, cov, y = np.load("X.npy")[:20000], np.load("cov.npy")[:20000], np.load("y.npy")[:20000]
def fit(threads):
    return svmgsu.train(X, y, cov, threads=threads, probability=False).coef_.tobytes()
known = fit(2)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(fit, [None, 1, 2]).get(60) == [known] * 3
print("same")
"""
    assert run(script, folder) == "same"
