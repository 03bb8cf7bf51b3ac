"""Non-linear estimators on a Dask cluster: one model for any number of workers, and that of memory."""

import numpy as np
import pytest

import svmgsu

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of tornado

L, N = 1600, 2
FIXED = {"n_features": 20, "search": False, "tol": 1e-4}


@pytest.fixture(scope="module", autouse=True)
def clusters():
    """Clients of one, two and three workers."""
    import svmgsu.dask  # noqa: F401

    made = []
    for count in (1, 2, 3):
        options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
        made.append(distributed.LocalCluster(n_workers=count, processes=False, **options))
    clients = [distributed.Client(cluster, set_as_default=False) for cluster in made]
    yield clients
    for client, cluster in zip(clients, made, strict=True):
        client.close()
        cluster.close()


def made(classes=2, count=L):
    rng = np.random.default_rng(4)
    X, E = rng.normal(size=(count, N)), rng.uniform(0.1, 0.5, size=(count, N))
    r = (X**2).sum(axis=1)
    k = np.searchsorted(np.quantile(r, np.arange(1, classes) / classes), r)
    return X + E * rng.normal(size=X.shape), E, np.array(["near", "far", "away"])[k]


def arrays(*given, chunk=700):
    import dask.array as da

    return [da.from_array(a, chunks=(chunk, *a.shape[1:])) for a in given]


def same_bits(found, known):
    assert np.array_equal(found.scores_.W, known.scores_.W)
    assert np.array_equal(found.scores_.b, known.scores_.b)
    assert (found.objective_, found.gap_) == (known.objective_, known.gap_)


@pytest.mark.parametrize(
    "settings, in_memory",
    [
        ({"link": True}, True),
        ({"loss": "hinge", "class_weight": "balanced"}, True),
        ({"approximation": "landmarks", "metric": True, "damping": True}, True),
        ({"deployment_cov": 0.1, "copies": 2}, False),  # other draws
        ({"population": None, "loss": "logistic", "copies": 3}, False),
        ({"population": None}, True),  # second moments
        ({"loss": "squared"}, False),  # but for rounding, which depends on threads there
    ],
)
def test_any_number_of_workers_gives_one_model(clusters, settings, in_memory):
    X, E, y = made()
    dX, dE, dy = arrays(X, E, y)
    found = [
        svmgsu.dask.DaskSVMGSU(client=client, **FIXED, **settings).fit(dX, dy, std=dE) for client in clusters
    ]
    for other in found[1:]:
        same_bits(other, found[0])
    known = svmgsu.SVMGSU(**FIXED, **settings).fit(X, y, std=E)
    if in_memory:
        same_bits(found[0], known)
    local = found[0].to_local()
    assert np.mean(local.predict(X, std=E) == known.predict(X, std=E)) > 0.97


def test_a_search_of_three_classes_is_that_of_memory(clusters):
    X, E, y = made(3, 900)
    dX, dE, dy = arrays(X, E, y, chunk=(250, 50, 600))
    settings = {"n_features": 20, "cv": 2, "metric": False, "gamma": 0.3}
    found = svmgsu.dask.DaskSVMGSU(client=clusters[2], **settings).fit(dX, dy, std=dE)
    known = svmgsu.SVMGSU(**settings).fit(X, y, std=E)
    same_bits(found, known)
    assert found.search_ == known.search_ and (found.lam_, found.lapse_) == (known.lam_, known.lapse_)


def test_predictions_are_lazy_and_those_of_the_local_estimator(clusters):
    from sklearn.base import clone

    X, E, y = made()
    dX, dE, dy = arrays(X, E, y)
    found = svmgsu.dask.DaskSVMGSU(client=clusters[1], **FIXED).fit(dX, dy, std=dE)
    local = found.to_local()
    assert type(local) is svmgsu.SVMGSU and local.get_params()["n_features"] == 20
    with clusters[1].as_current():
        lazy = found.predict(dX, std=dE)
        assert dask.is_dask_collection(lazy) and lazy.dtype == y.dtype and lazy.chunks[0] == dX.chunks[0]
        assert np.array_equal(lazy.compute(), local.predict(X, std=E))
        p = found.predict_proba(dX, std=dE)
        assert p.shape == (L, 2)
        assert np.allclose(p.compute(), local.predict_proba(X, std=E), rtol=1e-12, atol=1e-15)
        some = found.decision_function(dX[dX[:, 0] > 0], std=dE[dX[:, 0] > 0])  # of unknown lengths
        kept = X[:, 0] > 0
        assert np.allclose(some.compute(), local.decision_function(X[kept], std=E[kept]), atol=1e-12)
        assert np.array_equal(found.predict(X, std=E), local.predict(X, std=E))
    import pickle

    again = pickle.loads(pickle.dumps(found))
    assert again.client is None and np.array_equal(again.predict(X, std=E), local.predict(X, std=E))
    assert clone(found).get_params()["client"] is clusters[1]
    known = svmgsu.SVMGSU(**FIXED).fit(X, y, std=E)
    same_bits(svmgsu.dask.DaskSVMGSU(**FIXED).fit(X, y, std=E), known)  # in memory


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_regression(clusters, loss):
    X, E, _ = made()
    t = 100 + 5 * np.sin(X[:, 0])
    dX, dE, dt, errors = arrays(X, E, t, E[:, 1])
    settings = {**FIXED, "loss": loss}
    found = [
        svmgsu.dask.DaskSVRGSU(client=client, **settings).fit(dX, dt, std=dE, y_std=errors)
        for client in clusters
    ]
    for other in found[1:]:
        same_bits(other, found[0])
    known = svmgsu.SVRGSU(**settings).fit(X, t, std=E, y_std=E[:, 1])
    if loss == "huber":
        same_bits(found[0], known)
    assert np.allclose(found[0].to_local().predict(X, std=E), known.predict(X, std=E), rtol=1e-9)
    with clusters[1].as_current():
        lazy = found[1].predict(dX, std=dE).compute()
    assert np.allclose(lazy, found[1].to_local().predict(X, std=E), rtol=1e-12)


def test_of_very_many_a_sample_says_all_but_the_scores(clusters, monkeypatch):
    from svmgsu.estimators.nonlinear import beyond

    monkeypatch.setattr(beyond, "SAMPLE", 500)
    X, E, y = made()
    y[1500:1503] = "rare"  # three of 1600
    dX, dE, dy = arrays(X, E, y)
    found = [svmgsu.dask.DaskSVMGSU(client=client, **FIXED).fit(dX, dy, std=dE) for client in clusters[1:]]
    same_bits(*found)
    assert set(found[0].classes_) == {"far", "near", "rare"}
    known = svmgsu.SVMGSU(**FIXED).fit(X, y, std=E)
    assert np.mean(found[0].to_local().predict(X, std=E) == known.predict(X, std=E)) > 0.9
    assert not np.array_equal(found[0].lift_.centre, known.lift_.centre)
    everybody = [(np.arange(800), np.arange(800, L))]
    with pytest.raises(ValueError, match="cv: lists of examples are for at most 500 of them, got 1600"):
        svmgsu.dask.DaskSVMGSU(client=clusters[1], **FIXED, cv=everybody).fit(dX, dy, std=dE)


def test_objects_without_weight_say_nothing(clusters):
    X, E, y = made()
    w = np.ones(L)
    w[::3] = 0.0
    strange = X.copy()
    strange[::3] = 1e6
    dX, dE, dw = arrays(strange, E, w)
    found = svmgsu.dask.DaskSVMGSU(client=clusters[1], **FIXED).fit(dX, y, std=dE, sample_weight=dw)
    known = svmgsu.SVMGSU(**FIXED).fit(X[w > 0], y[w > 0], std=E[w > 0])
    assert np.array_equal(found.lift_.centre, known.lift_.centre)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-3)


def test_data_frames_may_lack_values(clusters):
    import dask.dataframe as dd
    import pandas as pd

    X, E, y = made()
    order = np.argsort(y, kind="stable")  # shards of one class
    X, E, y = X[order], E[order], y[order]
    X[::7, 1] = np.nan
    frame = pd.DataFrame({"a": X[:, 0], "a_err": E[:, 0], "b": X[:, 1], "b_err": E[:, 1]})
    frame.loc[0, "b_err"] = np.nan
    parts = dd.from_pandas(frame, npartitions=3)
    labels = dd.from_pandas(pd.Series(pd.Categorical(y)), npartitions=3)
    found = svmgsu.dask.DaskSVMGSU(client=clusters[1], **FIXED).fit(parts, labels)
    same_bits(found, svmgsu.SVMGSU(**FIXED).fit(X, y, std=E))
    assert found.feature_names_in_.tolist() == ["a", "b"]
    with clusters[1].as_current():
        lazy = found.predict(parts).compute()
    assert np.array_equal(lazy, found.to_local().predict(frame[["a", "b"]], std=np.nan_to_num(E)))
    emptied = parts.map_partitions(lambda part: part[part.index >= L // 2])  # one is empty, one is cut
    same_bits(
        svmgsu.dask.DaskSVMGSU(client=clusters[2], **FIXED).fit(emptied, y[L // 2 - 100 : -100]),
        svmgsu.SVMGSU(**FIXED).fit(X[L // 2 :], y[L // 2 - 100 : -100], std=E[L // 2 :]),
    )
    frame.loc[777, "a_err"] = np.nan
    with pytest.raises(ValueError, match=r"row 777|example 777"):
        svmgsu.dask.DaskSVMGSU(client=clusters[1], **FIXED).fit(dd.from_pandas(frame, npartitions=3), y)


def test_what_is_wrong_is_said(clusters):
    X, E, y = made()
    Z = X.copy()
    Z[1444, 1] = np.inf
    dX, dZ, dE = arrays(X, Z, E)
    make = svmgsu.dask.DaskSVMGSU
    for settings, given, more, message in (
        ({}, (dZ, y), {}, r"X: example 1444, feature 1 is infinite"),
        ({}, (dX, np.ones(L)), {}, r"y: only one class"),
        ({}, (dX, y[:5]), {}, r"y: 5 labels for 1600 examples"),
        ({"link": "x"}, (dX, y), {}, r"link: expected"),
        ({"kernel": "x"}, (dX, y), {}, r"kernel: expected"),
        ({}, (dX, y), {"groups": y[:5]}, r"groups: 5 values for 1600 examples"),
        ({"population": None}, (arrays(np.where(X > 2, np.nan, X))[0], y), {}, r"is missing .*population"),
    ):
        with pytest.raises(ValueError, match=message):
            made_now = make(client=clusters[1], **{**FIXED, **settings})
            made_now.fit(*given, std=dE, **more)
        assert not [name for name in vars(made_now) if name.startswith("_")]


def test_a_population_is_one_for_any_number_of_workers(clusters, monkeypatch):
    from svmgsu.dask import population

    monkeypatch.setattr(population, "LEAST_GROUP", 256)
    X, E, _ = made()
    X[::9, 0] = np.nan
    w = E[:, 0]
    dX, dE, dw = arrays(X, E, w)
    kinds = {"n_components": 2, "n_init": 1, "max_iter": 20}
    found = [
        svmgsu.dask.DaskDeconvolution(client=client, **kinds).fit(dX, std=dE, sample_weight=dw)
        for client in clusters
    ]
    for other in found[1:]:
        for name in ("weights_", "means_", "covariances_", "lower_bounds_"):
            assert np.array_equal(getattr(other, name), getattr(found[0], name))
    known = svmgsu.Deconvolution(**kinds).fit(X, std=E, sample_weight=w)
    assert np.allclose(found[0].lower_bound_, known.lower_bound_, atol=1e-3)
    local = found[0].to_local()
    assert type(local) is svmgsu.Deconvolution
    assert np.average(local.score_samples(X, std=E), weights=w) == pytest.approx(local.lower_bound_, abs=1e-9)
    with clusters[1].as_current():
        assert np.allclose(
            found[0].score_samples(dX, std=dE).compute(), local.score_samples(X, std=E), rtol=1e-12
        )
        assert found[0].predict_proba(dX, std=dE).compute().shape == (L, 2)
        assert np.array_equal(found[0].predict(dX, std=dE).compute(), local.predict(X, std=E))
        parts = dask.compute(*found[0].transform(dX, std=dE))
    assert sum(len(part) for part in parts) == L
    assert np.allclose(parts[1].mean, local.transform(X[700:1400], std=E[700:1400]).mean, rtol=1e-12)
    again = svmgsu.dask.DaskDeconvolution(2, init=local, client=clusters[2], max_iter=3)
    assert again.fit(dX, std=dE, sample_weight=dw).lower_bound_ >= local.lower_bound_ - 1e-12
    with pytest.raises(ValueError, match="X: feature 1 is 3 in every example"):
        svmgsu.dask.DaskDeconvolution(client=clusters[1]).fit(
            arrays(np.column_stack([X[:, 1], 0 * w + 3]))[0]
        )


def test_sums_of_a_population_are_those_of_its_parts():
    from svmgsu import _core
    from svmgsu.fit.population import observe

    X, E, _ = made()
    start = _core.Mixture(
        np.array([0.4, 0.6]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.tile(np.eye(2), (2, 1, 1))
    )
    units = _core.Units(np.zeros(2), np.ones(2))

    def sums(rows, at):
        return _core.population_sums(observe(X[rows], std=E[rows]).core(), units, at, 1)

    def halves(at):
        return tuple(a + b for a, b in zip(sums(slice(0, 800), at), sums(slice(800, L), at), strict=True))

    for whole, parts in zip(sums(slice(0, L), start), halves(start), strict=True):
        assert np.allclose(whole, parts, rtol=1e-12)
    pi = np.array([0.4, 0.6])
    d = X[:, None] - np.array([[0.0, 1.0], [1.0, 0.0]])
    v = 1 + E[:, None] ** 2
    density = pi * np.exp(-0.5 * (d**2 / v).sum(axis=2)) / (2 * np.pi * np.sqrt(v.prod(axis=2)))
    share = density / density.sum(axis=1, keepdims=True)
    found = sums(slice(0, L), start)
    assert found[0] == pytest.approx(np.log(density.sum(axis=1)).sum(), rel=1e-12) and found[1] == L
    assert np.allclose(found[2], share.sum(axis=0), rtol=1e-12)
    assert np.allclose(found[3], np.einsum("lk,lkn->kn", share, d / v), rtol=1e-10)
    whole = _core.deconvolve(observe(X, std=E).core(), units, start, 1e-9, 40, 1e-6, 1)
    parts = _core.deconvolve_by(halves, units, start, 1e-9, 40, 1e-6)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-9)
    assert parts.iterations == whole.iterations and parts.stop == whole.stop
    with pytest.raises(ConnectionError, match="gone"):

        def broken(at):
            raise ConnectionError("gone")

        _core.deconvolve_by(broken, units, start, 1e-9, 40, 1e-6)
