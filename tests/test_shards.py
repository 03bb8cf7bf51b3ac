"""Examples in several places: any number of shards, and any map, train to the bits of memory."""

import gc
import shutil
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import svmgsu
from svmgsu import _core
from svmgsu.outofcore.shards import Shard, answer, forget, group_rows, mapped, split


def problem(kind, examples=8000, features=4, seed=0, values=False, dtype="float64", offset=2.0):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(examples) < 0.4, -1.0, 1.0)
    X = (rng.normal(size=(examples, features)) + 0.5 * sign[:, None] + offset).astype(dtype)
    y = X @ rng.normal(size=features) + rng.normal(size=examples) if values else sign
    covs = {
        "none": None,
        "isotropic": rng.uniform(0.1, 1.0, examples).astype(dtype),
        "diagonal": rng.uniform(0.1, 1.0, (examples, features)).astype(dtype),
        "shared": svmgsu.Shared(np.diag(rng.uniform(0.1, 1.0, features))),
    }
    if kind == "low_rank":
        cov = svmgsu.LowRank(rng.normal(size=(examples, 2, features)).astype(dtype) / 3)
    elif kind == "full":
        root = rng.normal(size=(examples, features, features)) / features
        cov = (root @ root.transpose(0, 2, 1)).astype(dtype)
    else:
        cov = covs[kind]
    weights = rng.uniform(0.5, 2.0, examples)
    return svmgsu.Gaussians(X, cov), np.asarray(y, dtype=np.float64), weights


def options(loss=None, **more):
    made = _core.Options()
    made.lam, made.threads, made.tolerance = 0.01, 1, 1e-7
    if loss is not None:
        made.loss = _core.Loss(loss)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def bits(result):
    return result.w.tobytes(), result.b, result.objective, result.gap, result.iterations


def memory(data, y, weights, values=False):
    return data.valued(y, weights) if values else data.labelled(y, weights, None)


@pytest.mark.parametrize("kind", ["none", "isotropic", "diagonal", "low_rank", "full", "shared"])
def test_any_number_of_shards_has_the_bits_of_memory(kind):
    data, y, weights = problem(kind, dtype="float32" if kind == "diagonal" else "float64")
    wanted = bits(_core.solve(memory(data, y, weights), options()))
    for count in (1, 2, 7):
        for keeps in (False, True):
            shards = split(data, y, count, weights, keeps=keeps)
            assert len(shards) == count
            assert bits(_core.solve(mapped(map, shards), options())) == wanted


@pytest.mark.parametrize("name, task", [(name, task) for name, task, _, _ in _core.known_losses()])
def test_every_loss_has_the_bits_of_memory(name, task):
    values = task == "regression"
    data, y, weights = problem("diagonal", values=values)
    wanted = bits(_core.solve(memory(data, y, weights, values), options(name)))
    for keeps in (False, True):
        shards = split(data, y, 3, weights, task, keeps=keeps)
        assert bits(_core.solve(mapped(map, shards), options(name))) == wanted


def test_data_far_from_the_origin_have_the_bits_of_memory():
    data, y, weights = problem("diagonal", offset=1e6)
    wanted = bits(_core.solve(memory(data, y, weights), options()))
    assert bits(_core.solve(mapped(map, split(data, y, 3, weights)), options())) == wanted


def test_sums_of_covariances_and_their_factors_have_the_bits_of_memory():
    data, y, weights = problem("diagonal", examples=1200)
    rng = np.random.default_rng(1)
    data = data.with_more_cov(0.3 * svmgsu.Diagonal(rng.uniform(0.1, 1.0, data.shape))).scale_cov(0.7)
    wanted = bits(_core.solve(memory(data, y, weights), options()))
    for keeps in (False, True):
        shards = split(data, y, 4, weights, keeps=keeps)
        assert bits(_core.solve(mapped(map, shards), options())) == wanted


@pytest.mark.parametrize("keeps", [False, True])
def test_a_worker_that_has_lost_its_memory_answers_the_same(keeps):
    data, y, weights = problem("none")  # hinge-like: Newton's products, which remember the most
    wanted = bits(_core.solve(memory(data, y, weights), options()))

    def forgetful(task, shards, questions):
        for shard, question in zip(shards, questions, strict=True):
            forget()
            yield task(shard, question)

    assert bits(_core.solve(mapped(forgetful, split(data, y, 3, weights, keeps=keeps)), options())) == wanted


def test_threads_and_processes_answer_as_well():
    data, y, weights = problem("diagonal")
    wanted = bits(_core.solve(memory(data, y, weights), options()))
    shards = split(data, y, 2, weights)
    with ThreadPoolExecutor(2) as threads:
        assert bits(_core.solve(mapped(threads.map, shards), options())) == wanted
    with ProcessPoolExecutor(2) as processes:
        assert bits(_core.solve(mapped(processes.map, shards), options())) == wanted


def with_joblib(task, shards, questions):
    import joblib

    asked = (joblib.delayed(task)(s, q) for s, q in zip(shards, questions, strict=True))
    return joblib.Parallel(n_jobs=2)(asked)


def test_joblib_answers_as_well():
    pytest.importorskip("joblib", reason="joblib comes with scikit-learn")
    data, y, weights = problem("diagonal", examples=3000)
    wanted = bits(_core.solve(memory(data, y, weights), options()))
    found = mapped(with_joblib, split(data, y, 2, weights))
    assert bits(_core.solve(found, options())) == wanted


@pytest.mark.filterwarnings("ignore")  # its own
def test_ray_answers_as_well():
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
    data, y, weights = problem("diagonal", examples=3000)
    wanted = bits(_core.solve(memory(data, y, weights), options()))

    def with_ray(task, shards, questions):
        remote = ray.remote(task)
        return ray.get([remote.remote(s, q) for s, q in zip(shards, questions, strict=True)])

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        places = [ray.put(shard) for shard in split(data, y, 2, weights)]
        assert bits(_core.solve(mapped(with_ray, places), options())) == wanted
    finally:
        ray.shutdown()


@pytest.mark.filterwarnings("ignore")  # its own
def test_spark_answers_as_well():
    pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    data, y, weights = problem("diagonal", examples=3000)
    wanted = bits(_core.solve(memory(data, y, weights), options()))
    shards = split(data, y, 2, weights)
    with pyspark.SparkContext("local[2]", "svmgsu") as spark:
        held = spark.parallelize(list(enumerate(shards)), len(shards)).cache()

        def with_spark(task, shards, questions):
            asked = spark.broadcast(list(questions))
            answers = held.map(lambda pair: (pair[0], task(pair[1], asked.value[pair[0]]))).collect()
            return [answer for _, answer in sorted(answers)]

        assert bits(_core.solve(mapped(with_spark, shards), options())) == wanted


def test_a_shard_of_one_class_is_a_shard():
    data, y, weights = problem("diagonal")
    order = np.argsort(y, kind="stable")
    data, y, weights = data[order], y[order], weights[order]
    shards = split(data, y, 7, weights)
    assert len(set(shards[0].targets)) == 1
    wanted = bits(_core.solve(memory(data, y, weights), options()))
    assert bits(_core.solve(mapped(map, shards), options())) == wanted


def test_shards_are_let_go_of_with_the_set():
    data, y, weights = problem("diagonal", examples=3000)
    shards = split(data, y, 2, weights)
    kept = [weakref.ref(shard) for shard in shards]
    core = mapped(map, shards)
    del shards
    _core.solve(core, options())
    assert all(ref() is not None for ref in kept)
    del core
    forget()
    gc.collect()
    assert all(ref() is None for ref in kept)


def test_what_is_wrong_is_said():
    data, y, _ = problem("diagonal")
    unit = group_rows(data, len(data))
    cut = unit + 1
    shards = [Shard(data[:cut], y[:cut]), Shard(data[cut:], y[cut:])]
    with pytest.raises(ValueError, match=f"shards: shard 1 begins at example {cut}; .* multiples of {unit}"):
        mapped(map, shards)
    with pytest.raises(ValueError, match="shards: there are none"):
        mapped(map, [])

    def broken(task, shards, questions):
        return (
            list(map(task, shards, questions))[:1]
            if questions[0] != b"describe"
            else map(task, shards, questions)
        )

    with pytest.raises(ValueError, match=r"cut short|1 answers of 2 shards|other rows"):
        _core.solve(mapped(broken, split(data, y, 2)), options())

    def failing(task, shards, questions):
        if questions[0] == b"describe":
            return map(task, shards, questions)
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        _core.solve(mapped(failing, split(data, y, 2)), options())
    for nonsense in (b"", b"x" * 7, b"\xff" * 64):
        with pytest.raises(ValueError, match="message"):
            answer(split(data, y, 1)[0], nonsense)
