"""A compact copy of blocks makes training faster; what is proven is proven of the numbers themselves."""

import os

import numpy as np
import pytest

import svmgsu
from svmgsu import reference
from svmgsu.data.coded import encode

L, N = 3000, 7
KINDS = ["none", "isotropic", "diagonal", "low rank", "low rank with diagonal", "shared"]


def made(kind="diagonal", dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3, size=N)  # odd units
    X = (rng.normal(size=(L, N)) * scale + 5 * scale).astype(dtype)
    V = (rng.uniform(0.01, 0.5, size=(L, N)) ** 2 * scale**2).astype(dtype)
    V[::17, 2] = 0.0
    F = (rng.normal(size=(L, 2, N)) / 5 * scale).astype(dtype)
    cov = {
        "none": None,
        "isotropic": svmgsu.Isotropic(V[:, 0]),
        "diagonal": svmgsu.Diagonal(V),
        "low rank": svmgsu.LowRank(F),
        "low rank with diagonal": svmgsu.LowRank(F, diagonal=V),
        "shared": svmgsu.Shared(np.diag(V[0].astype(np.float64))),
    }[kind]
    y = np.where((X[:, 0] / scale[0] - 5) + 0.5 * rng.normal(size=L) > 0, 1.0, -1.0)
    return svmgsu.Gaussians(X / scale.astype(dtype) if kind in ("isotropic", "shared") else X, cov), y


def opened(data, y, **more):
    parts = (slice(0, 1100), slice(1100, L))
    return svmgsu.open(({"X": data[p], "y": y[p]} for p in parts), **more)


def exactly(data, y, model):
    """J of the numbers themselves, by the plain twin."""
    cov = np.zeros(data.shape) if data.cov is None else data.cov.to_full(*data.shape)
    mean = np.asarray(data.mean, dtype=np.float64)
    return reference.objective(model.coef_[0], model.intercept_[0], mean, y, cov, model.lam, loss=model.loss)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kind_is_solved_to_the_optimum_of_the_numbers_themselves(kind, dtype):
    data, y = made(kind, dtype)
    blocks = opened(data, y, cache="compact")
    found = svmgsu.train(blocks, probability=False, lam=1e-3)
    known = svmgsu.train(data, y, probability=False, lam=1e-3, tol=1e-9)
    assert found.status_ == "converged"
    assert found.gap_ <= 1e-6 * found.objective_
    assert found.objective_ == pytest.approx(known.objective_, rel=2e-6)
    assert found.objective_ == pytest.approx(exactly(data, y, found), rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_every_loss_and_the_copy_saves_passes(loss):
    data, y = made()
    found = svmgsu.train(opened(data, y, cache="compact"), probability=False, loss=loss)
    known = svmgsu.train(data, y, probability=False, loss=loss)
    assert found.gap_ <= 1e-6 * found.objective_
    assert found.objective_ == pytest.approx(known.objective_, rel=2e-6)
    assert found.objective_ == pytest.approx(exactly(data, y, found), rel=1e-9)
    assert len(found.history_) < len(known.history_)  # of passes over the numbers themselves
    assert found.history_[-1]["passes"] > len(found.history_)


def test_regressions_and_several_classes_use_the_copy():
    data, _ = made()
    t = np.asarray(data.mean, dtype=np.float64)[:, np.argmax(np.std(data.mean, axis=0))]
    t = t / t.std() + 0.5 * np.random.default_rng(1).normal(size=L)
    found, known = svmgsu.train_regressor(opened(data, t, compact=True)), svmgsu.train_regressor(data, t)
    assert found.objective_ == pytest.approx(known.objective_, rel=2e-6)
    assert found.gap_ <= 1e-6 * found.objective_
    y = np.digitize(t, np.quantile(t, [0.3, 0.6]))
    found = svmgsu.train(opened(data, y, compact=True), probability="train", lam=1e-3)
    known = svmgsu.train(data, y, probability="train", lam=1e-3)
    assert found.objective_ == pytest.approx(known.objective_, rel=3e-6)


def test_codes_are_near_the_numbers_and_keep_zeros():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        values = (rng.normal(size=(500, 4)) * [1e-8, 1.0, 1e8, 0.0] + [0, 1e3, 0, 7]).astype(dtype)
        codes, (a, b) = encode("levels", values)
        assert codes.dtype == np.int16
        assert (np.abs(a + b * codes - values) <= 0.51 * b + 1e-6 * np.abs(values)).all()
        variances = (values - values.min(axis=0)) ** 2
        variances[:, 3] = 0.0
        codes, (a, b) = encode("logarithms", variances)
        assert codes.dtype == np.uint8
        found = np.where(codes > 0, np.exp(a + b * codes), 0.0)
        assert ((found == 0) == (variances == 0)).all()
        assert (np.abs(found - variances) <= np.expm1(b) * variances * 1.01).all()
        assert abs(found[:, 1].mean() / variances[:, 1].astype(float).mean() - 1) < 2e-3  # not biased


def test_one_value_far_away_costs_its_neighbours_alone():
    data, y = made()
    X = np.array(data.mean)
    X[5, 3] *= 1e6
    data = svmgsu.Gaussians(X, data.cov)
    found = svmgsu.train(opened(data, y, cache="compact"), probability=False, lam=1e-3)
    assert found.gap_ <= 1e-6 * found.objective_
    assert found.objective_ == pytest.approx(exactly(data, y, found), rel=1e-9)


def test_a_folder_keeps_the_copy_until_the_data_change(tmp_path):
    data, y = made()
    np.save(tmp_path / "X.npy", data.mean)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "v.npy", data.cov.variances)
    files = [tmp_path / name for name in ("X.npy", "y.npy", "v.npy")]
    blocks = svmgsu.open(*files, cache=tmp_path / "kept", compact=True)
    assert "compact" in repr(blocks)
    copy = tmp_path / "kept.compact"
    assert sum(file.stat().st_size for file in copy.glob("[mv]*.bin")) < 3.3 * L * N
    made_at = os.stat(copy).st_mtime_ns
    svmgsu.open(*files, cache=tmp_path / "kept", compact=True)
    assert os.stat(copy).st_mtime_ns == made_at
    np.save(tmp_path / "X.npy", 2 * np.asarray(data.mean))
    with pytest.raises(ValueError, match=r"X\.npy: it has changed since it was opened"):
        svmgsu.train(blocks)
    again = svmgsu.open(*files, cache=tmp_path / "kept", compact=True)
    assert os.stat(copy).st_mtime_ns != made_at
    known = svmgsu.train(2 * np.asarray(data.mean), y, data.cov, probability=False)
    assert svmgsu.train(again, probability=False).objective_ == pytest.approx(known.objective_, rel=2e-6)
    with pytest.raises(ValueError, match=r"is the compact copy of data; open the data with compact=True"):
        svmgsu.open(copy)
    with open(copy / "mean.bin", "r+b") as file:
        file.truncate(100)
    with pytest.raises(ValueError, match=r"mean\.bin: it has changed"):
        svmgsu.train(again)
    with pytest.raises(ValueError, match=r"mean\.bin: it is cut off"):
        svmgsu.open(*files, cache=tmp_path / "kept", compact=True)


def test_what_cannot_be_compact_is_told(tmp_path):
    data, y = made("low rank")
    full = svmgsu.Gaussians(data.mean, svmgsu.Full(data.cov.to_full(*data.shape)))
    with pytest.raises(ValueError, match=r"cache: full covariances cannot be compact"):
        opened(full, y, cache="compact")
    X = np.array(data.mean)
    X[2345, 1] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"X: example 2345, feature 1 is nan"):
        svmgsu.open(tmp_path / "X.npy", cache=tmp_path / "kept", compact=True)
    assert not list(tmp_path.glob("kept*"))


def test_a_fit_that_is_stopped_has_the_gap_of_the_numbers_themselves():
    data, y = made()
    blocks = opened(data, y, cache="compact")
    model = svmgsu.train(blocks, probability=False, lam=1e-4, callback=lambda p: p.iteration < 1)
    assert model.status_ == "stopped"
    assert model.objective_ == pytest.approx(exactly(data, y, model), rel=1e-9)
    best = svmgsu.train(data, y, probability=False, lam=1e-4)
    assert best.objective_ <= model.objective_ <= best.objective_ + model.gap_ * (1 + 1e-9)


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    resource = pytest.importorskip("resource")
    data, y = made()
    np.save(tmp_path / "X.npy", data.mean)
    np.save(tmp_path / "y.npy", y)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="the cache could not be written"):
            svmgsu.open(tmp_path / "X.npy", tmp_path / "y.npy", cache=tmp_path / "kept", compact=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.glob("kept*"))


def test_a_budget_that_is_too_small_is_told_before_training():
    data, y = made()
    blocks = opened(data, y, cache="compact", memory="5MB")
    with pytest.raises(
        ValueError, match=r"memory: 5000000 bytes, but 3000 examples of 7 features need at least \d+"
    ):
        svmgsu.train(blocks)
