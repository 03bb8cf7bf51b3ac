"""Log band powers of signals."""

import sys

import numpy as np
import pytest
import scipy.signal
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import DEAP_BANDS, DEAP_PAIR_BANDS, DEAP_PAIRS, from_welch

FS = 128.0


def eeg(count=3, channels=4, time=1024, seed=0):
    return np.random.default_rng(seed).normal(size=(count, channels, time))


def log_powers(x, bands, nperseg=256, step=128):
    """Plainly: one window at a time, one band at a time; (windows, channels, bands)."""
    taper = scipy.signal.get_window("hann", nperseg)
    frequencies = np.fft.rfftfreq(nperseg, 1 / FS)
    rows = []
    for first in range(0, x.shape[1] - nperseg + 1, step):
        piece = x[:, first : first + nperseg]
        spectrum = np.abs(np.fft.rfft((piece - piece.mean(axis=1, keepdims=True)) * taper)) ** 2
        spectrum[:, 1:-1] *= 2  # one side stands for both
        density = spectrum / (FS * (taper**2).sum())
        rows.append(
            [
                [
                    np.log(d[(frequencies >= low) & (frequencies < high)].sum() * FS / nperseg)
                    for low, high in bands
                ]
                for d in density
            ]
        )
    return np.array(rows)


def test_mean_and_variance_over_the_windows():
    x = eeg()
    data = from_welch(x, FS)
    assert isinstance(data.cov, svmgsu.Diagonal)
    for i in range(3):
        powers = log_powers(x[i], DEAP_BANDS.values()).reshape(7, -1)
        np.testing.assert_allclose(data.mean[i], powers.mean(axis=0))
        np.testing.assert_allclose(data.cov.variances[i], powers.var(axis=0, ddof=1))


def test_the_power_is_that_of_a_sine():
    """By hand: amplitude 3 has the power 9/2, at 10 Hz: alpha, and none of its neighbours."""
    t = np.arange(2048) / FS
    rng = np.random.default_rng(0)
    x = 3 * np.sin(2 * np.pi * 10 * t) + 1e-6 * rng.normal(size=t.size)
    data = from_welch(x[None], FS, bands={"alpha": (8, 12), "beta": (12, 30)})
    assert data.mean[0, 0] == pytest.approx(np.log(4.5), abs=1e-6)
    assert data.mean[0, 1] < -20
    assert data.cov.variances[0, 0] < 1e-10


def test_windows_average_to_scipy_s_welch():
    x = eeg(1, 1)
    f, density = scipy.signal.welch(x[0, 0], FS, nperseg=128)
    band = (f >= 8) & (f < 12)
    powers = np.exp(log_powers(x[0], [(8, 12)], 128, 64)[:, 0, 0])
    assert powers.mean() == pytest.approx(density[band].sum() * FS / 128)
    data = from_welch(x, FS, bands={"alpha": (8, 12)}, nperseg=128)
    assert data.mean[0, 0] == pytest.approx(np.log(powers).mean())


def test_the_moments_are_those_of_windows_of_new_signals():
    long = eeg(1, 2, 256 * 3000, seed=1)
    bands = {"theta": (4, 8), "beta": (12, 30)}
    data = from_welch(long, FS, bands=bands, noverlap=0, covariance="full")
    fresh = log_powers(eeg(1, 2, 256 * 3000, seed=2)[0], bands.values(), step=256).reshape(3000, -1)
    cov = data.cov.to_full()[0]
    assert_moments(fresh, data.mean[0], cov, slack=0.15)  # 3000 windows on both sides: 6 × √(2/3000)


def test_deap_s_features():
    data = from_welch(eeg(2, 32), FS, pairs=DEAP_PAIRS, pair_bands=DEAP_PAIR_BANDS)
    assert data.shape == (2, 216)


def test_differences_are_right_minus_left_window_by_window():
    x = eeg()
    data = from_welch(x, FS, pairs=[(0, 1), (2, 3)], pair_bands=["beta", "theta"])
    powers = log_powers(x[1], DEAP_BANDS.values())
    apart = (powers[:, [1, 3]] - powers[:, [0, 2]])[:, :, [3, 0]].reshape(7, -1)
    np.testing.assert_allclose(data.mean[1, 20:], apart.mean(axis=0))
    np.testing.assert_allclose(data.cov.variances[1, 20:], apart.var(axis=0, ddof=1))
    assert from_welch(x, FS, pairs=[(0, 1)]).shape == (3, 25)


def test_covariances_of_other_kinds_and_of_the_mean():
    x = eeg()
    full = from_welch(x, FS, covariance="full").cov.to_full()
    np.testing.assert_allclose(from_welch(x, FS, covariance="lowrank").cov.to_full(), full, atol=1e-12)
    of_mean = from_welch(x, FS, of_mean=True).cov.variances
    np.testing.assert_allclose(7 * of_mean, from_welch(x, FS).cov.variances)


def test_float32_stays_one_channel_needs_no_axis_and_blocks_do_not_show(monkeypatch):
    x = eeg(5, 1)
    data = from_welch(x[:, 0].astype(np.float32), FS)
    assert data.mean.dtype == data.cov.variances.dtype == np.float32
    np.testing.assert_allclose(data.mean, from_welch(x, FS).mean, atol=1e-4)
    monkeypatch.setattr("svmgsu.support.arrays.BLOCK", 1)
    np.testing.assert_array_equal(from_welch(x[:, 0].astype(np.float32), FS).mean, data.mean)


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"from_welch needs scipy: pip install 'svmgsu\[uncertainty\]'"):
        from_welch(eeg(), FS)


def test_pairs_may_be_an_array():
    x = eeg()
    as_array = from_welch(x, FS, pairs=np.array([[0, 1], [2, 3]]))
    np.testing.assert_array_equal(as_array.mean, from_welch(x, FS, pairs=[(0, 1), (2, 3)]).mean)
