"""Ctrl-C reaches a fit inside its factorisations, too."""

import os
import time

import pytest
from conftest import interrupted

from svmgsu.support.parallel import Team

FITS = """
import sys, threading
import numpy as np, svmgsu
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 1800)) / 40, np.arange(300) % 2
cov = svmgsu.LowRank(rng.normal(size=(300, 4, 1800)) / 80) if "KIND" == "factors" else np.full(300, 0.01)
threading.Timer(0.5, lambda: print("training", flush=True)).start()
try:
    while True:
        svmgsu.train(X, y, cov, lam=1e-4, threads=2, probability=False)
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(7)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("kind", ["factors", "dense"])
def test_ctrl_c_stops_the_exact_solver_wherever_it_is(kind):
    assert interrupted(FITS.replace("KIND", kind)) == ("interrupted\n", 7)


def test_ctrl_c_while_threads_are_started_stops_those_at_work():
    team = Team(2)
    ended = []

    def work(_):
        began = time.monotonic()
        while not team.stopped and time.monotonic() < began + 20:
            time.sleep(0.01)
        ended.append(team.stopped)

    class Items(list):
        def __iter__(self):
            yield 0
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        team.map(work, Items([0, 1]))
    assert ended == [True]
