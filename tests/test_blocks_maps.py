"""Features of blocks that a map makes as they are read: the bits of mapped examples in memory."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import svmgsu
from svmgsu.outofcore.writing import write_blocks

L, N = 3000, 3


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(L, N))
    y = np.where(np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=L) > 1.1, "out", "in")
    return svmgsu.Gaussians(X, svmgsu.Diagonal(rng.uniform(0.01, 0.1, size=(L, N)))), y


def opened(data, y, **more):
    parts = (slice(0, 1100), slice(1100, L))
    return svmgsu.open(({"X": data[p], "y": y[p]} for p in parts), **more)


@pytest.mark.parametrize("covariance", ["none", "diagonal", "lowrank"])
def test_fourier_features_on_the_fly_have_the_bits_of_memory(data, covariance):
    examples, y = data
    blocks = opened(examples, y)
    fourier = svmgsu.features.FourierFeatures(n_features=40, covariance=covariance).fit(blocks[0:1000])
    mapped = blocks.map(fourier)
    assert mapped.shape == (L, 40) and len(mapped.labels()) == L
    found = svmgsu.train(mapped, loss="logistic", lam=1e-4)
    known = svmgsu.train(fourier.transform(examples), y, loss="logistic", lam=1e-4)
    if covariance == "lowrank":  # whose factors have other last bits among other neighbours
        assert np.allclose(found.coef_, known.coef_, rtol=1e-7)
    else:
        assert np.array_equal(found.coef_, known.coef_)
        assert (found.objective_, found.gap_) == (known.objective_, known.gap_)
    assert np.allclose(found.predict_proba(mapped), known.predict_proba(fourier.transform(examples)))
    assert (found.predict(mapped) == y).mean() > 0.85


def test_maps_follow_one_another_and_regressions_take_them(data, tmp_path):
    examples, _ = data
    t = np.hypot(*np.asarray(examples.mean)[:, :2].T)
    scaler = svmgsu.Propagate(StandardScaler()).fit(examples)
    fourier = svmgsu.features.FourierFeatures(n_features=30).fit(scaler.transform(examples))
    mapped = opened(examples, t).map(scaler).map(fourier.transform)
    found = svmgsu.train_regressor(mapped, checkpoint=tmp_path / "fit")
    known = svmgsu.train_regressor(fourier.transform(scaler.transform(examples)), t)
    assert np.array_equal(found.coef_, known.coef_) and found.gap_ == known.gap_
    again = svmgsu.train_regressor(mapped, checkpoint=tmp_path / "fit", resume=True)
    assert abs(again.objective_ - found.objective_) <= 1e-6 * found.objective_
    estimator = svmgsu.LinearSVRGSU().fit(mapped)
    assert np.array_equal(estimator.coef_, found.coef_)


def test_what_a_map_must_not_do_is_told(data):
    examples, y = data
    blocks = opened(examples, y)
    with pytest.raises(TypeError, match=r"map: expected a fitted transformer or a function"):
        blocks.map(3)
    with pytest.raises(TypeError, match=r"map: it must make Gaussians of Gaussians, but made ndarray"):
        blocks.map(lambda some: np.asarray(some.mean))
    with pytest.raises(ValueError, match=r"map: it made \(\d+, 3\) examples and features"):
        svmgsu.train(blocks.map(lambda some: some if len(some) == 1 else some[1:]))
    fourier = svmgsu.features.FourierFeatures(n_features=2000).fit(examples)
    mapped = opened(examples, y, memory="2MB").map(fourier)
    with pytest.raises(
        ValueError, match=r"memory: .* 3000 examples of 2000 features made as .* at least \d+ bytes"
    ):
        svmgsu.train(mapped)
    with pytest.raises(ValueError, match=r"features that a map makes are not written"):
        write_blocks(mapped, "never.npz")
