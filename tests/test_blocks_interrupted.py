"""Ctrl-C in a training on blocks leaves the best model so far, and the checkpoint to go on from."""

import os

import pytest
from conftest import interrupted

FIT = """
import sys, threading
import numpy as np, svmgsu
rng = np.random.default_rng(0)
y = rng.integers(0, CLASSES, size=20_000)
X = rng.normal(size=(20_000, 20)) + np.eye(CLASSES, 20)[y]
blocks = svmgsu.open([{"X": X, "y": y, "std": 0.1}])
begun = threading.Event()
def callback(progress):
    if progress.iteration >= 1 and not begun.is_set():
        begun.set()
        print("training", flush=True)
        while not done.wait(0.05):
            if stopped():
                break
done = threading.Event()
from svmgsu.fit import interrupting
found = []
made = interrupting.Ctrl.__init__
interrupting.Ctrl.__init__ = lambda self: (made(self), found.append(self))[0]
stopped = lambda: found[-1].pressed
try:
    svmgsu.train(blocks, lam=1e-5, probability=False, checkpoint=sys.argv[1], callback=callback)
except KeyboardInterrupt as stop:
    model = stop.model
    J = 0.0
    if len(model.coef_) == 1:
        J = svmgsu.Objective(X, y, std=0.1, lam=1e-5).value(model.coef_[0], model.intercept_[0])
        assert abs(J - model.objective_) < 1e-9 * J
        assert 0 < model.gap_ < model.objective_
    again = svmgsu.train(blocks, lam=1e-5, probability=False, checkpoint=sys.argv[1], resume=True)
    known = svmgsu.train(blocks, lam=1e-5, probability=False)
    assert np.array_equal(again.coef_, known.coef_)
    print(model.status_, model.coef_.shape[0])
    sys.exit(7)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("classes", "problems"), [(2, 1), (3, 3)])
def test_ctrl_c_leaves_the_best_model_and_the_checkpoint(classes, problems, tmp_path):
    script = FIT.replace("CLASSES", str(classes)).replace("sys.argv[1]", repr(str(tmp_path / "fit")))
    assert interrupted(script) == (f"stopped {problems}\n", 7)
