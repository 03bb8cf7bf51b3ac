"""The builders on real data: digits, EEG, utterances and planets."""

import csv
import gzip

import numpy as np
import pytest

import svmgsu
from svmgsu.uncertainty import (
    from_errors,
    from_images,
    from_missing,
    from_repeats,
    from_welch,
    posterior,
    propagate,
)


def wanted(data_folder, name):
    path = data_folder / name
    if not path.is_file():
        pytest.skip(f"real data: SVMGSU_DATA has no {name}")
    return path


def test_digits_that_might_be_shifted_and_turned(data_folder):
    with np.load(wanted(data_folder, "mnist/mnist.npz")) as archive:
        images, digit = archive["x_train"][:4000], archive["y_train"][:4000]
        test_images, test_digit = archive["x_test"], archive["y_test"]
    chosen = (digit == 4) | (digit == 9)
    images = images[chosen].astype(np.float32) / 255
    data = from_images(images, shift=0.5, rotation=3.0)
    assert data.cov.factors.shape == (3 * len(images), 784)
    assert data.cov.factors.dtype == np.float32
    model = svmgsu.train(data, digit[chosen], lam=1e-2)
    new = (test_digit == 4) | (test_digit == 9)
    right = model.predict(test_images[new].reshape(-1, 784) / 255.0) == test_digit[new]
    assert right.mean() > 0.94


def test_seizures_by_log_band_powers(data_folder):
    with np.load(wanted(data_folder, "eeg_bonn/bonn.npz")) as archive:
        x, y, fs = archive["x"], archive["y"], float(archive["fs"])
    data = from_welch(x, fs, nperseg=512, of_mean=True)
    assert data.shape == (500, 5)
    assert (data.cov.variances > 0).all()
    seizure = y == "S"
    centred = propagate(lambda X: (X - data.mean.mean(axis=0)) / data.mean.std(axis=0), data)
    model = svmgsu.train(centred[::2], seizure[::2], lam=1e-3)
    assert (model.predict(centred.mean[1::2]) == seizure[1::2]).mean() > 0.93


def test_utterances_as_mean_and_covariance_of_their_frames(data_folder):
    with np.load(wanted(data_folder, "japvowels/japvowels.npz")) as archive:
        frames, lengths, speaker = (archive[f"train_{k}"] for k in ("frames", "len", "y"))
        test_frames, test_lengths, test_speaker = (archive[f"test_{k}"] for k in ("frames", "len", "y"))
    groups = np.repeat(np.arange(len(lengths)), lengths)
    low = from_repeats(frames, groups, covariance="lowrank")
    whole = from_repeats(frames, groups, covariance="full")
    assert len(low) == 270
    np.testing.assert_array_equal(np.diff(low.cov.start), np.minimum(lengths - 1, 12))
    np.testing.assert_allclose(low.cov.to_full(), whole.cov.to_full(), atol=1e-5)
    pair = np.isin(speaker, [1, 2])
    model = svmgsu.train(low[pair], speaker[pair], lam=1e-2)
    truth = np.repeat(test_speaker, test_lengths)
    test = np.isin(truth, [1, 2])
    assert (model.predict(test_frames[test]) == truth[test]).mean() > 0.85


def test_planets_with_asymmetric_errors_of_logarithms_zeros_and_holes(data_folder):
    columns = ("koi_period", "koi_duration", "koi_depth", "koi_prad", "koi_insol")
    with gzip.open(wanted(data_folder, "kepler/cumulative.csv.gz"), "rt") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))

    def column(name):
        return np.array([float(row[name] or "nan") for row in rows])

    X, up, down = (np.stack([column(c + end) for c in columns], axis=1) for end in ("", "_err1", "_err2"))
    known = np.isfinite(X).all(axis=1) & np.isfinite(up + down).all(axis=1) & (X > 0).all(axis=1)
    assert known.sum() > 8000
    assert (up[known] == 0).any()
    options = {"units": "linear of log10", "floor": "smallest"}
    data = from_errors(np.log10(X[known]), upper=up[known], lower=down[known], **options)
    assert (data.cov.variances > 0).all()
    shrunk = posterior(data)
    moved = np.abs(shrunk.mean - data.mean)
    noisy = data.cov.variances > np.median(data.cov.variances, axis=0)
    assert moved[noisy].mean() > moved[~noisy].mean()
    positive = np.where(X > 0, X, np.nan)
    holed = from_missing(np.log10(positive))
    holes = np.isnan(positive)
    assert holes.sum() > 0
    np.testing.assert_allclose(holed.mean[~holes], np.log10(positive[~holes]), atol=1e-4)
