"""The compiled module keeps arrays alive and lets other threads run."""

import gc
import sys
import threading

import numpy as np
from conftest import every_kind, make_problem

from svmgsu import _core

# Lifetimes


@every_kind
def test_the_core_keeps_every_array_alive(kind):
    def objective():
        p = make_problem(kind, 300, 20)
        return p.objective()

    lonely = objective()
    gc.collect()
    # What was freed would be overwritten by these.
    clutter = [np.full((300, 20), np.nan) for _ in range(200)]
    w = np.random.default_rng(1).normal(size=20)
    first = lonely.value_and_gradient(w, 0.1)
    del clutter
    again = objective().value_and_gradient(w, 0.1)
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


# Threads


def big():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1000))
    y = np.where(np.arange(4000) % 2, 1.0, -1.0)
    return X, _core.labelled(_core.dense_means(X), ((_core.diagonal(X * X), 1.0),), y, np.ones(4000))


def options(**settings):
    out = _core.Options()
    for name, value in {"solver": "sgd", "lam": 0.1, "steps": 10**9, "batch": 5, **settings}.items():
        setattr(out, name, value)
    return out


def test_other_python_threads_run_during_long_evaluations():
    """Threads switch only where the lock is let go: the switch interval is set beyond the test's life.

    All arrays are made beforehand, since NumPy lets go of the lock as well.
    """
    X, data = big()
    objective, bare = _core.Objective(data, 0.1, 1, True), _core.Gaussians(_core.dense_means(X), ())
    points, settings = (
        [k * np.ones(1000) for k in range(1, 6)],
        options(steps=100),
    )
    symmetric = np.tile(np.eye(200), (200, 1, 1))
    packed = np.empty((200, 200 * 201 // 2))
    terms = ((_core.full(packed, 200), 1.0),)
    calls = {
        "value": lambda w: objective.value(w, 0.0),
        "value_and_gradient": lambda w: objective.value_and_gradient(w, 1.0),
        "hessian_product": lambda w: objective.hessian_product(w, 2.0, w, 1.0),
        "certify": lambda w: objective.certify(w, 0.0),
        "margins": lambda w: _core.margins(bare, w[np.newaxis], 1),
        "solve": lambda w: _core.solve(data, settings),
        "decision_values": lambda w: _core.decision_values(bare, w[np.newaxis], np.zeros(1), 1),
        "first_outside": lambda w: _core.first_outside(X),
        "pack": lambda w: _core.pack(symmetric, 1e-6, packed),
        "clip_indefinite": lambda w: _core.clip_indefinite(packed, 200, 1e-8, 1e-8),
        "eigen_subspaces": lambda w: _core.eigen_subspaces(terms, 10, 200, 0.9),
    }
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        for name, call in calls.items():
            started, finished = threading.Lock(), []

            def work(call=call, started=started, finished=finished):
                started.release()
                for w in points:
                    call(w)
                finished.append(True)

            started.acquire()
            worker = threading.Thread(target=work)
            worker.start()
            started.acquire()
            seen_running = not finished
            worker.join()
            assert seen_running, f"{name} holds the interpreter's lock"
    finally:
        sys.setswitchinterval(interval)
