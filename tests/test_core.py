"""The raw seam: what the compiled module takes, keeps alive, releases and passes on."""

import gc
import os
import sys
import threading

import numpy as np
import pytest
import scipy.sparse
from conftest import interrupted

from svmgsu import _core


def raw(count=40, n=5, seed=0):
    """A core training set with two covariance terms, whose arrays nobody else holds."""
    rng = np.random.default_rng(seed)
    terms = (
        (_core.diagonal(rng.uniform(0.1, 1, (count, n))), 1.0),
        (_core.isotropic(rng.uniform(0.1, 1, count)), 0.5),
    )
    y = np.where(np.arange(count) % 2, 1.0, -1.0)
    return _core.labelled(_core.dense_means(rng.normal(size=(count, n))), terms, y, np.ones(count))


# Types


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.complex128, ">f8", object])
@pytest.mark.parametrize(
    "function",
    ["dense_means", "isotropic", "diagonal", "first_outside"],
)
def test_arrays_of_another_type_are_refused_not_converted(function, dtype):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        getattr(_core, function)(np.ones((2, 3)).astype(dtype))


def test_lists_and_strided_arrays_are_refused():
    for bad in ([[1.0, 2.0]], np.ones((4, 6))[:, ::2], np.asfortranarray(np.ones((4, 6)))):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.dense_means(bad)


def test_float64_functions_refuse_integers():
    objective = _core.Objective(raw(), 0.1, 1, True)
    whole, numbers = np.ones(5, dtype=int), np.ones(5)
    for call in (
        lambda: objective.value(whole, 0.0),
        lambda: objective.value_and_gradient(whole, 0.0),
        lambda: objective.hessian_product(numbers, 0.0, whole, 0.0),
        lambda: objective.certify(whole, 0.0),
        lambda: _core.margins(
            _core.Gaussians(_core.dense_means(np.ones((3, 5))), ()), np.ones((1, 5), int), 1
        ),
        lambda: objective.best_intercept(whole, 0.0),
        lambda: _core.expected_hinge(whole, numbers),
        lambda: _core.fit_platt(whole, numbers),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()


def test_float32_arrays_find_their_own_functions():
    ones = np.ones((3, 2), dtype=np.float32)
    start, column = np.array([0, 1, 1, 2]), np.array([0, 1], dtype=np.int32)
    value = np.ones(2, dtype=np.float32)
    assert _core.dense_means(ones).samples == 3
    assert _core.sparse_means(value, column, start, 2).samples == 3
    for kind in (
        _core.isotropic(ones[:, 0].copy()),
        _core.diagonal(ones),
        _core.sparse_diagonal(value, column, start, 2),
        _core.full(np.ones((3, 3), dtype=np.float32), 2),
        _core.low_rank(ones, np.array([0, 1, 2, 3])),
    ):
        out = np.zeros((2, 2))
        kind.add_full(0, 2.0, out)
        assert out[0, 0] == 2


def test_disagreeing_sizes_are_refused():
    means, y, one = _core.dense_means(np.zeros((3, 2))), np.array([1.0, -1.0, 1.0]), np.ones(3)
    cases = {
        "labels: 2 for 3 samples": lambda: _core.labelled(means, (), y[:2], one),
        "weights: 2 for 3 samples": lambda: _core.labelled(means, (), y, one[:2]),
        "labels must be -1 or": lambda: _core.labelled(means, (), 0 * y, one),
        "covariance: 4 samples": lambda: _core.labelled(means, ((_core.isotropic(np.ones(4)), 1.0),), y, one),
        "covariance: 5 features": lambda: _core.labelled(
            means, ((_core.diagonal(np.ones((3, 5))), 1.0),), y, one
        ),
        "rows: 3 is not a sample": lambda: _core.labelled(means, (), y[:1], one[:1], np.array([3])),
        "lambda: must be positive": lambda: _core.Objective(_core.labelled(means, (), y, one), 0.0, 1, True),
    }
    for message, call in cases.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_rows_choose_samples_without_copying_them():
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(9, 4)), rng.uniform(size=(9, 4))
    y, rows = np.where(rng.uniform(size=9) < 0.5, 1.0, -1.0), np.array([7, 2, 2, 5])
    chosen = _core.labelled(_core.dense_means(X), ((_core.diagonal(V), 1.0),), y[rows], np.ones(4), rows)
    copied = _core.labelled(
        _core.dense_means(X[rows]), ((_core.diagonal(V[rows]), 1.0),), y[rows], np.ones(4)
    )
    assert (chosen.samples, chosen.features) == (4, 4)
    w = rng.normal(size=4)
    a, b = (_core.Objective(data, 0.1, 1, True).value_and_gradient(w, 0.2) for data in (chosen, copied))
    assert a[0] == b[0]
    np.testing.assert_array_equal(a[1], b[1])


# Lifetimes


def all_kinds(rng, count, n):
    start = np.arange(count + 1)
    csr = scipy.sparse.random_array((count, n), density=0.5, rng=rng, format="csr")
    column, begin = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
    group = (np.arange(count) % 2).astype(np.int32)
    packed = np.tile(np.eye(n)[np.triu_indices(n)], (count, 1))
    return (
        (_core.isotropic(rng.uniform(0.1, 1, count)), 1.0),
        (_core.diagonal(rng.uniform(0.1, 1, (count, n))), 1.0),
        (_core.sparse_diagonal(csr.data.copy(), column, begin, n), 1.0),
        (_core.full(packed, n), 1.0),
        (_core.low_rank(rng.normal(size=(count, n)), start), 1.0),
        (_core.shared(packed[:2].copy(), n, False, group), 1.0),
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_the_core_keeps_every_array_alive(sparse):
    count, n = 300, 20

    def objective():
        rng = np.random.default_rng(0)
        if sparse:
            csr = scipy.sparse.random_array((count, n), density=0.5, rng=rng, format="csr")
            column, begin = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
            means = _core.sparse_means(csr.data.copy(), column, begin, n)
        else:
            means = _core.dense_means(rng.normal(size=(count, n)))
        y = np.where(np.arange(count) % 2, 1.0, -1.0)
        return _core.Objective(
            _core.labelled(means, all_kinds(rng, count, n), y, np.ones(count)), 0.1, 1, True
        )

    lonely = objective()
    gc.collect()
    clutter = [np.full((count, n), np.nan) for _ in range(200)]  # takes the memory of what was freed
    w = np.random.default_rng(1).normal(size=n)
    first = lonely.value_and_gradient(w, 0.1)
    del clutter
    again = objective().value_and_gradient(w, 0.1)
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


def test_arrays_are_let_go_with_the_objective():
    X = np.zeros((10, 2))
    before = sys.getrefcount(X)
    means = _core.dense_means(X)
    y = np.where(np.arange(10) % 2, 1.0, -1.0)
    objective = _core.Objective(_core.labelled(means, (), y, np.ones(10)), 0.1, 1, True)
    assert sys.getrefcount(X) > before
    del means, objective
    gc.collect()
    assert sys.getrefcount(X) == before


def test_results_own_their_memory():
    rng = np.random.default_rng(0)
    terms = ((_core.diagonal(rng.uniform(1, 2, (50, 10))), 1.0),)
    factors, start = _core.eigen_subspaces(terms, 50, 10, 1.0)
    copy = factors.copy()
    del terms
    gc.collect()
    factors[0] += 0.0
    np.testing.assert_array_equal(factors, copy)
    assert start.tolist() == list(range(0, 501, 10))


# Threads and signals


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
        "find_indefinite": lambda w: _core.find_indefinite(packed, 200, 1e-8),
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


def test_several_threads_share_an_objective():
    objective = _core.Objective(raw(2000, 30), 0.1, 1, True)
    points = [np.random.default_rng(k).normal(size=30) for k in range(8)]
    alone = [objective.value_and_gradient(w, 0.1)[0] for w in points]
    found = [None] * 8

    def work(k):
        for _ in range(20):
            value, _, _ = objective.value_and_gradient(points[k], 0.1)
            objective.hessian_product(points[k], 0.1, points[k], 1.0)
            found[k] = value

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == alone


class OwnError(Exception):
    pass


def test_what_a_callback_raises_comes_out():
    def complain(progress):
        raise OwnError(f"at {progress.iteration}")

    with pytest.raises(OwnError, match="at "):
        _core.solve(raw(), options(), complain)


def test_a_callback_that_answers_nonsense_is_a_type_error():
    with pytest.raises((TypeError, RuntimeError)):
        _core.solve(raw(), options(), lambda progress: "no answer")


def test_the_core_is_usable_after_an_error():
    data = raw()
    with pytest.raises(ZeroDivisionError):
        _core.solve(data, options(), lambda progress: 1 / 0)
    assert _core.solve(data, options(steps=10)).iterations == 10


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("options", ["classes=2", "classes=3, threads=2"])
def test_ctrl_c_interrupts_training_at_once(options):
    """The child trains for hours; a signal must end it (the time limit only guards against a hang)."""
    script = """
        import sys
        import numpy as np
        import svmgsu

        rng = np.random.default_rng(0)
        X = rng.normal(size=(1200, 20))
        told = []

        def tell(progress):
            if not told:
                told.append(True)
                print("training", flush=True)

        def train(classes, **options):
            svmgsu.SGDSVMGSU(n_steps=10**12, verbose=tell, **options).fit(X, np.arange(1200) % classes, 1.0)

        try:
            train(OPTIONS)
        except KeyboardInterrupt:
            print("interrupted")
            sys.exit(7)
    """
    assert interrupted(script.replace("OPTIONS", options)) == ("interrupted\n", 7)


# Configuration


def test_the_configuration_names_what_matters():
    config = _core.config()
    assert set(config) == {"version", "compiler", "eigen", "openmp", "threads", "instruction_set"}
    assert config["threads"] >= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scans_find_the_first_place(dtype):
    a = np.zeros(500_000, dtype)
    assert _core.first_outside(a) == _core.first_outside(a, 0.0) == -1
    for place in (499_999, 70_000, 0):
        a[place] = -1.0
        assert _core.first_outside(a, 0.0) == place
        a[place] = np.inf if place else np.nan
        assert _core.first_outside(a) == _core.first_outside(a, 0.0) == place
        a[place] = 2.0
        assert _core.first_outside(a, 0.0, 1.5) == place
        assert _core.first_outside(a, 0.0, 2.0) == -1
    a[:] = -0.0
    assert _core.first_outside(a, 0.0) == -1
    a[:2] = np.finfo(dtype).max, np.finfo(dtype).min
    assert _core.first_outside(a) == -1


def test_pack_averages_the_triangles_and_finds_the_first_asymmetric_example():
    S = np.tile(np.array([[2.0, 1.0], [1.0, 3.0]]), (5, 1, 1))
    packed = np.empty((5, 3))
    S[2, 0, 1] += 1e-9
    assert _core.pack(S, 1e-6, packed) == -1
    np.testing.assert_array_equal(packed[0], [2, 1, 3])
    assert packed[2, 1] == pytest.approx(1 + 5e-10, abs=1e-15)
    S[[3, 4], 1, 0] = 0
    assert _core.pack(S, 1e-6, packed) == 3
