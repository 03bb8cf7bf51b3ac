"""On a Dask cluster a fit has the bits of memory, for any number of workers and whoever is killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from conftest import train_with

import svmgsu
from svmgsu.fit.options import LAMS
from svmgsu.outofcore.shards import answer

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from svmgsu.dask.rounds import Rounds  # noqa: E402
from svmgsu.dask.shards import Shards, describe  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of tornado, and of workers that were killed

L, N = 1200, 5


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set(
            {
                "distributed.comm.timeouts.connect": "10s",
                "distributed.deploy.lost-worker-timeout": "1h",  # a cluster gives up a worker killed twice
            }
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(lambda: __import__("svmgsu.dask"))
        yield client


def made():
    rng = np.random.default_rng(4)
    X, E = rng.normal(size=(L, N)), rng.uniform(0.1, 0.5, size=(L, N))
    return X, E, np.where(X[:, 0] + 0.5 * rng.normal(size=L) > 0, "quasar", "star")


def arrays(*given, chunk=350):
    import dask.array as da

    return [da.from_array(a, chunks=(chunk, *a.shape[1:])) for a in given]


def same_bits(found, known):
    assert np.array_equal(found.coef_, known.coef_)
    assert np.array_equal(found.intercept_, known.intercept_)
    assert (found.objective_, found.gap_) == (known.objective_, known.gap_)


@pytest.mark.parametrize("chunk", [100, 350])
def test_training_gives_the_bits_of_memory(client, chunk):
    X, E, y = made()
    dX, dE, dy = arrays(X, E, y, chunk=chunk)
    known = svmgsu.train(X, y, std=E, probability=False)
    same_bits(svmgsu.dask.train(client, dX, dy, std=dE, probability=False), known)
    same_bits(svmgsu.dask.train(None, dX, y, std=dE, probability=False), known)
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
    ):
        same_bits(svmgsu.dask.train(other, dX, dy, std=dE, probability=False), known)


def counted_rounds(monkeypatch):
    """The sizes of all responses, in bytes, round by round."""
    sizes = []
    ask = svmgsu.dask.rounds.Rounds.ask

    def measured(self, task, *args):
        found = ask(self, task, *args)
        if task is answer:
            sizes.append(sum(map(len, found)))
        return found

    monkeypatch.setattr(svmgsu.dask.rounds.Rounds, "ask", measured)
    return sizes


def test_estimators_predict_lazily_and_come_back(client):
    X, E, y = made()
    dX, dE, dy = arrays(X, E, y)
    known = svmgsu.LinearSVMGSU(lam=0.1).fit(X, y, std=E)
    found = svmgsu.dask.DaskLinearSVMGSU(lam=0.1).fit(dX, dy, std=dE)
    same_bits(found, known)
    lazy = found.predict(dX, std=dE)
    assert dask.is_dask_collection(lazy) and lazy.dtype == y.dtype and lazy.chunks[0] == dX.chunks[0]
    local = found.to_local()
    assert type(local) is svmgsu.LinearSVMGSU and local.lam == 0.1
    assert np.array_equal(lazy.compute(), local.predict(X, std=E))
    assert np.array_equal(found.predict_proba(dX, std=dE).compute(), local.predict_proba(X, std=E))
    wanted = local.decision_function(X, std=E)
    assert np.array_equal(found.decision_function(dX, std=dE).compute(), wanted)
    assert np.array_equal(found.predict(X, std=E), local.predict(X, std=E))  # in memory, too
    assert np.allclose(local.predict_proba(X, std=E), known.predict_proba(X, std=E), atol=0.02)
    assert svmgsu.dask.DaskLinearSVMGSU(probability=False).fit(dX, dy, std=dE).lam_ in LAMS
    regression = svmgsu.dask.DaskLinearSVRGSU(lam=1e-2).fit(dX, *arrays(X[:, 1] * 2), std=dE)
    same_bits(regression, svmgsu.LinearSVRGSU(lam=1e-2).fit(X, X[:, 1] * 2, std=E))
    assert np.array_equal(regression.predict(dX).compute(), regression.to_local().predict(X))


def test_scikit_learn_knows_the_parameters_of_the_estimators(client):
    import sklearn

    classifier, regressor = svmgsu.dask.DaskLinearSVMGSU(), svmgsu.dask.DaskLinearSVRGSU()
    with sklearn.config_context(enable_metadata_routing=True):
        classifier.set_fit_request(sample_weight=True).set_decision_function_request(std=True)
        regressor.set_fit_request(y_std=True, sample_weight=True).set_predict_request(std=True)
    X, E, y = made()
    dX, dE = arrays(X, E)
    for est in (classifier.set_params(lam=0.1, probability=False), regressor.set_params(lam=0.1)):
        target = y if est is classifier else X[:, 1]
        with pytest.raises(TypeError, match=r"^X: expected a Dask array or data frame, got ndarray"):
            est.fit(X, target)
        est.fit(dX, target, std=dE, sample_weight=E[:, 0])
        same_bits(est, est.to_local().fit(X, target, std=E, sample_weight=E[:, 0]))


def test_clones_keep_the_client_and_its_timeout(client, monkeypatch):
    from sklearn.base import clone

    est = svmgsu.dask.DaskLinearSVMGSU(lam=0.1)
    est.client, est.timeout = client, 7.0
    made_again = clone(est)
    assert made_again.client is client and made_again.timeout == 7.0 and made_again.lam == 0.1

    def none_is_running():
        raise ValueError("none")

    monkeypatch.setattr("svmgsu.dask.rounds.get_client", none_is_running)
    with pytest.raises(ValueError, match=r"client: no distributed.Client is running; make one with"):
        svmgsu.dask.DaskLinearSVMGSU().fit(*arrays(*made()[::2]))


def test_data_frames_have_values_and_errors_by_their_names(client):
    import dask.dataframe as dd
    import pandas as pd

    X, E, y = made()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(
        **{f"{c}_err": E[:, k] for k, c in enumerate("abcde")}
    )
    parts = dd.from_pandas(frame, npartitions=3)
    labels = dd.from_pandas(pd.Series(y), npartitions=3)
    found = svmgsu.dask.DaskLinearSVMGSU(lam=1e-2, probability=False).fit(parts, labels)
    same_bits(found, svmgsu.train(X, y, std=E, probability=False))
    assert found.feature_names_in_.tolist() == list("abcde")
    assert np.array_equal(
        found.predict(parts).compute(), found.to_local().predict(frame[list("abcde")], std=E)
    )
    empty = parts[parts.a > 0.5]  # partitions of unknown lengths
    kept = frame.a.to_numpy() > 0.5
    same_bits(
        svmgsu.dask.train(client, empty, y[kept], probability=False),
        svmgsu.train(X[kept], y[kept], std=E[kept], probability=False),
    )
    nothing = parts.map_partitions(lambda frame: frame[frame.index >= L // 2])  # the first ones are empty
    same_bits(
        svmgsu.dask.train(client, nothing, y[L // 2 :], probability=False),
        svmgsu.train(X[L // 2 :], y[L // 2 :], std=E[L // 2 :], probability=False),
    )


def test_weights_and_shards_of_one_class(client):
    X, E, _ = made()
    y = np.sort(np.argmax(X[:, :3], axis=1))  # each shard has one or two classes
    w = E[:, 0]
    more = {"class_weight": "balanced", "probability": False, "lam": 1e-3}
    dX, dE, dw = arrays(X, E, w)
    two = (y > 0).astype(int)
    same_bits(
        svmgsu.dask.train(client, dX, two, std=dE, sample_weight=dw, **more),
        train_with(X, two, std=E, sample_weight=w, **more),
    )
    found = svmgsu.dask.train(client, dX, y, std=dE, probability=False, lam=1e-3)
    known = svmgsu.train(X, y, std=E, probability=False, lam=1e-3)
    assert found.objective_ == pytest.approx(known.objective_, rel=2e-6)
    assert (found.predict(X) == known.predict(X)).mean() > 0.99


def pids_of(client):
    """The processes of the workers that are there, by their addresses."""
    nannies = client.cluster.workers.values()
    return {nanny.worker_address: nanny.pid for nanny in nannies if nanny.worker_address and nanny.pid}


def killing(client, rounds):
    """A callback that kills a worker in some rounds."""
    seen = []

    def callback(progress):
        seen.append(progress.iteration)
        if len(seen) in rounds:
            os.kill(sorted(pids_of(client).items())[0][1], signal.SIGKILL)

    callback.seen = seen
    return callback


def rounds_of(data, y, **more):
    """How often a callback is called in a fit of these data."""
    seen = []
    train_with(data, y, probability=False, verbose=seen.append, **more)
    return len(seen)


def test_a_killed_worker_costs_a_round_and_no_bit(client):
    client.wait_for_workers(2, timeout=60)
    X, E, y = made()
    dX, dE, dy = arrays(X, E, y)
    known = svmgsu.train(X, y, std=E, probability=False)
    last = rounds_of(X, y, std=E) - 1  # after the very last there is nothing left to ask
    rounds = (1, last)
    callback = killing(client, rounds)
    found = svmgsu.dask.train(client, dX, dy, std=dE, probability=False, verbose=callback, timeout=120)
    same_bits(found, known)
    client.wait_for_workers(2, timeout=60)
    same_bits(found, svmgsu.dask.train(client, dX, dy, std=dE, probability=False))
    assert len(callback.seen) >= max(rounds)


def test_a_client_that_was_killed_is_followed_by_one_that_starts_from_its_checkpoint(
    client, tmp_path, monkeypatch
):
    client.wait_for_workers(2, timeout=60)
    X, E, y = made()
    path = tmp_path / "stars.ckpt"
    np.savez(tmp_path / "data.npz", X=X, E=E, y=y)
    script = f"""
        import os, signal
        import dask.array as da, distributed, numpy as np, svmgsu.dask
        from svmgsu.fit import checkpoint
        checkpoint.SECONDS = 0
        found = np.load({str(tmp_path / "data.npz")!r})
        dX, dE = (da.from_array(found[k], chunks=(350, -1)) for k in "XE")
        seen = []
        def killer(progress):
            seen.append(progress)
            if len(seen) == {rounds_of(X, y, std=E) - 1}:
                os.kill(os.getpid(), signal.SIGKILL)
        client = distributed.Client({client.scheduler.address!r})
        options = dict(std=dE, probability=False, verbose=killer, start={str(path)!r})
        svmgsu.dask.train(client, dX, found["y"], **options)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    dX, dE, dy = arrays(X, E, y, chunk=100)
    asked = counted_rounds(monkeypatch)
    options = {"std": dE, "probability": False}
    known = svmgsu.dask.train(client, dX, dy, **options)
    rounds = len(asked)
    same_bits(known, svmgsu.train(X, y, std=E, probability=False))
    found = svmgsu.dask.train(client, dX, dy, start=path, **options)
    assert abs(found.objective_ - known.objective_) <= 1e-6 * known.objective_
    assert found.status_ == "converged" and len(asked) < 2 * rounds
    Z = X.copy()
    Z[777, 2] += 1e-6
    with pytest.raises(ValueError, match=r"checkpoint: .*stars.ckpt belongs to other data"):
        svmgsu.dask.train(client, *arrays(Z, y), start=path, **options)


def test_a_stalled_worker_is_an_error_after_the_timeout(client):
    client.wait_for_workers(2, timeout=60)
    X, _, _ = made()
    held = Shards(Rounds(client, 60), *arrays(X))
    held.rounds.timeout = 1.0
    pid = pids_of(client)[held.shards[-1].bundle.worker]
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(
            TimeoutError, match=r"no answer within timeout=1 seconds about .*samples \d+ to 1199 at"
        ):
            held.rounds.ask(describe, held.shards)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_wrong_data_are_named_with_the_row_of_the_whole(client):
    X, E, y = made()
    Z = X.copy()
    Z[777, 2] = np.nan
    dX, dZ, dE = arrays(X, Z, E)
    for given, message in (
        ((dZ, y), r"X: sample 777, feature 2 is nan"),
        ((dX, y[:5]), r"y: 5 labels for 1200 samples"),
        ((dX, np.ones(L)), r"y: only one class"),
        ((X, y), r"X: expected a Dask array or data frame, got ndarray"),
        ((dX, *arrays(y[:600])), r"y: 600 values for 1200 samples"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            svmgsu.dask.train(client, *given, std=dE if given[0] is not X else None)
    with pytest.raises(ValueError, match=r"sample 350 has standard deviation -1"):
        bad = E.copy()
        bad[350] = -1
        svmgsu.dask.train(client, dX, y, std=arrays(bad)[0])
    with pytest.raises(TypeError, match=r"std: expected a Dask collection like X"):
        svmgsu.dask.train(client, dX, y, std=0.3)
    with pytest.raises(TypeError, match=r"lambada: there is no such option"):
        svmgsu.dask.train(client, dX, y, lambada=1)
    with pytest.raises(ValueError, match=r"timeout: must be positive"):
        svmgsu.dask.train(client, dX, y, timeout=0)
    with pytest.raises(TypeError, match=r"client: expected a distributed.Client"):
        svmgsu.dask.train("tcp://nowhere", dX, y)


def test_samples_that_cannot_be_made_again_are_named(client):
    import dask.array as da

    X, _, _ = made()
    client.wait_for_workers(2, timeout=60)
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    halves = [client.scatter(X[k * 600 : (k + 1) * 600], workers=[w]) for k, w in enumerate(workers)]
    dX = da.concatenate([da.from_delayed(dask.delayed(h), (L // 2, N), float) for h in halves])
    held = Shards(Rounds(client, 60), dX)
    os.kill(pids_of(client)[held.shards[0].bundle.worker], signal.SIGKILL)
    with pytest.raises(
        svmgsu.dask.ShardLostError, match=r"samples 0 to \d+.* were lost .* cannot be made again"
    ):
        for _ in range(100):
            held.rounds.ask(describe, held.shards)
            time.sleep(0.05)
