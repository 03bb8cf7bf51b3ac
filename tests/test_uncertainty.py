"""All builders of uncertain samples: what they refuse, that the kinds take what they make, real data."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import svmgsu
from svmgsu import uncertainty as un

X = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 50.0]])
IMAGE = np.random.default_rng(0).uniform(size=(1, 5, 6))
REPEATS = [np.random.default_rng(k).normal(size=(k, 4)) for k in (2, 5, 9)]
EEG = np.random.default_rng(0).normal(size=(3, 4, 1024))


def entry(array, place, value):
    """A copy of an array with another value at a place."""
    out = np.array(array)
    out[place] = value
    return out


def images(**options):
    return un.from_images(IMAGE, **options)


def welch(signals=EEG, fs=128.0, **options):
    return un.from_welch(signals, fs, **options)


def augmented(samples=X, augment=lambda x, rng: x + rng.normal(size=x.shape), **options):
    return un.from_augmentation(samples, augment, **options)


REFUSED = {
    # Error bars
    "std: sample 1 has standard deviation -1 at feature 1": lambda: un.from_errors(X, entry(X, (1, 1), -1)),
    "std: sample 2, feature 0 is nan": lambda: un.from_errors(X, entry(X, (2, 0), np.nan)),
    "std: shape (2, 2) does not fit 3 samples of 2 features": lambda: un.from_errors(X, X[:2]),
    "std: 7 values for 3 samples of 2 features": lambda: un.from_errors(X, np.ones(7)),
    "std: missing; give std, or both upper and lower": lambda: un.from_errors(X, upper=1.0),
    "std: give either std or upper and lower": lambda: un.from_errors(X, 1.0, upper=1.0),
    "upper: sample 0, feature 0 is inf": lambda: un.from_errors(X, upper=np.inf, lower=1.0),
    'units: expected one of "same"': lambda: un.from_errors(X, 1.0, units="dex"),
    "centre: expected": lambda: un.from_errors(X, 1.0, centre="mean"),
    "floor: must be >= 0": lambda: un.from_errors(X, 1.0, floor=-1.0),
    "floor: 3 values for 2 features": lambda: un.from_errors(X, 1.0, floor=[1.0, 1.0, 1.0]),
    "floor: expected": lambda: un.from_errors(X, 1.0, floor="least"),
    "X: sample 0, feature 1 is nan": lambda: un.from_errors([[1.0, np.nan]], 1.0),
    "X: expected at least one sample": lambda: un.from_errors(X[:0], 1.0),
    # Images
    "shift: no transformation has a deviation above zero": lambda: images(),
    "shift: a standard deviation must be >= 0": lambda: images(shift=-1.0),
    "shift: expected a number, a pair or": lambda: images(shift=(1.0, 2.0, 3.0)),
    "shift: the covariance is not positive semidefinite": lambda: images(shift=[[1.0, 2.0], [2.0, 1.0]]),
    "shift: must be finite": lambda: images(shift=np.nan),
    "rotation: a standard deviation must be >= 0, got -2": lambda: images(rotation=-2.0),
    "blur: must be finite": lambda: images(blur=np.inf),
    "images: expected 3 or 4 dimensions, got an array of shape (5, 6)": lambda: un.from_images(
        IMAGE[0], shift=1.0
    ),
    "images: sample 0, feature 7 is nan": lambda: un.from_images(entry(IMAGE, (0, 1, 1), np.nan), shift=1.0),
    "images: gradients need 2 by 2 pixels": lambda: un.from_images(IMAGE[:, :1], shift=1.0),
    "images: expected at least one image": lambda: un.from_images(IMAGE[:0], shift=1.0),
    # Repeats
    "repeats: sample 2, repeat 1, feature 3 is nan": lambda: un.from_repeats(
        [*REPEATS[:2], entry(REPEATS[2], (1, 3), np.nan)]
    ),
    "repeats: sample 0, repeat 0, feature 1 is inf": lambda: un.from_repeats(np.array([[[0.0, np.inf]]])),
    "repeats: sample 1 is empty": lambda: un.from_repeats([REPEATS[0], np.empty((0, 4))]),
    "repeats: sample 1 has 3 features, but sample 0 has 4": lambda: un.from_repeats(
        [REPEATS[0], REPEATS[1][:, :3]]
    ),
    "repeats: sample 1: expected 2 dimensions": lambda: un.from_repeats([REPEATS[0], REPEATS[1][0]]),
    "repeats: no samples": lambda: un.from_repeats([]),
    "groups: shape (4,), but repeats has 5 rows": lambda: un.from_repeats(REPEATS[1], [1, 1, 2, 2]),
    "groups: sample 1 is nan": lambda: un.from_repeats(REPEATS[1], [1, np.nan, 2, 2, 2]),
    "groups: the ids cannot be sorted; they must be all numbers or all": lambda: un.from_repeats(
        np.ones((3, 4)), ["a", None, "a"]
    ),
    "repeats: every sample has one repeat": lambda: un.from_repeats([np.ones((1, 2))], single="pooled"),
    "covariance: expected one of": lambda: un.from_repeats(REPEATS, covariance="spherical"),
    # Signals
    "fs: must be positive": lambda: welch(fs=0),
    "nperseg: windows of 2000 samples fit 0 times into signals of 1024": lambda: welch(nperseg=2000),
    "nperseg: windows of 1024 samples fit 1 times": lambda: welch(nperseg=1024),
    "noverlap: must be at most 255": lambda: welch(noverlap=256),
    "bands: expected a dict from name to (low, high) in Hz, got {}": lambda: welch(bands={}),
    "bands: expected a dict from name to (low, high) in Hz, got [": lambda: welch(bands=[(4, 8)]),
    "bands: expected (low, high) in Hz for 'theta', got 4": lambda: welch(bands={"theta": 4}),
    "bands: 'high', 70 to 90 Hz, holds no frequency": lambda: welch(bands={"high": (70, 90)}),
    "pairs: (0, 1.5) is not a pair of channels": lambda: welch(pairs=[(0, 1.5)]),
    "pairs: (0, 4) is not a pair of channels from 0 to 3": lambda: welch(pairs=[(0, 4)]),
    "pair_bands: 'delta' is not one of the bands": lambda: welch(pairs=[(0, 1)], pair_bands=["delta"]),
    "signals: sample 0, feature 0 is nan": lambda: welch(entry(EEG, 0, np.nan)),
    "nperseg: windows of 256 samples fit": lambda: welch(X),
    "signals: expected one or more signals": lambda: welch(X[:0]),
    "signals: sample 2, channel 1 has no power in band 'theta' in window 0": lambda: welch(
        entry(EEG, (2, 1), 0.0)
    ),
    # Simulated transformations
    "n: must be at least 2": lambda: augmented(n=1),
    "rank: 64 draws of 2 features have 2 directions, got 4": lambda: augmented(rank=4),
    "seed: must be at least 0": lambda: augmented(seed=-1),
    "augment: draw 0 of sample 0 is nan at feature 1": lambda: augmented(
        augment=lambda x, rng: entry(x, 1, np.nan)
    ),
    "augment: draw 2 of sample 0 has 1 features, not 2": lambda: augmented(
        augment=lambda x, rng: x[: rng.integers(1, 3)]
    ),
    "augment: draw 0 of sample 1 has 1 features, not 2": lambda: augmented(
        augment=lambda x, rng: x if x[0] == 1 else x[:1], rank=1
    ),
    "X: sample 1, feature 0 is nan": lambda: augmented(entry(X, (1, 0), np.nan)),
    "X: expected one or more samples of one or more features, got (0, 2)": lambda: augmented(X[:0]),
    "X: expected one or more samples of one or more features, got (2,)": lambda: augmented(X[0]),
    # Populations
    "data: expected Gaussians with covariances; without noise there is nothing to estimate": lambda: (
        un.posterior(svmgsu.Gaussians(X))
    ),
    "X: 2 samples do not determine the covariance of 2 features": lambda: un.from_missing(X[:2]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_it_is_refused(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        REFUSED[message]()


def test_what_is_no_function_or_list_is_refused():
    with pytest.raises(TypeError, match="augment: expected a function"):
        augmented(augment=3)
    with pytest.raises(TypeError, match=r"rows together with groups=; got ndarray of shape \(5, 4\)"):
        un.from_repeats(REPEATS[1])


# What is public


def test_importing_the_builders_loads_numpy_alone():
    code = (
        "import sys, svmgsu; assert 'svmgsu.uncertainty' not in sys.modules\n"
        "svmgsu.uncertainty.from_errors\n"
        "optional = ('scipy', 'sklearn', 'joblib', 'tqdm', 'pandas', 'matplotlib')\n"
        "print([m for m in optional if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_of_columns_are_kept():
    frame = pd.DataFrame({"u": [1.0, 2.0, 4.0], "g": [3.0, 5.0, 4.0]})
    bars = un.from_errors(frame, 0.1)
    built = [
        bars,
        un.from_errors(frame, upper=0.1, lower=0.2),
        un.from_repeats(frame, ["a", "a", "a"]),
        un.from_missing(frame),
        un.posterior(bars),
    ]
    assert [data.feature_names_in_ for data in built] == [["u", "g"]] * len(built)


# No builder makes what the kinds refuse


SETTINGS = settings(max_examples=8, deadline=None, derandomize=True)


@st.composite
def tables(draw, least=2, most=6):
    """Rows of numbers in units far apart, some features constant or nearly so, in float32 or float64."""
    g = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    n = draw(st.integers(1, 4))
    power = 22 if dtype is np.float32 else 80
    units = 10.0 ** g.integers(-power, power, n)
    X = g.normal(size=(draw(st.integers(least, most)), n))
    kind = g.integers(0, 4, n)
    X[:, kind == 1] = 0.1  # constant, and its mean is rounded
    X[:, kind == 2] = 1 + 1e-9 * X[:, kind == 2]
    return (X * units).astype(dtype)


def accepted(data):
    """The kinds take what the builder made, as arrays of its own and as whole matrices."""
    assert isinstance(data, svmgsu.Gaussians)
    full = data.cov.to_full(*data.shape)
    assert np.isfinite(full).all()
    assert (np.diagonal(full, axis1=1, axis2=2) >= 0).all()
    for _, kind in data.cov.parts:
        if isinstance(kind, svmgsu.Diagonal):
            svmgsu.Diagonal(kind.matrix)
        elif isinstance(kind, svmgsu.LowRank):
            svmgsu.LowRank(
                kind.factors, None if kind.diagonal is None else kind.diagonal.matrix, start=kind.start
            )
        elif isinstance(kind, svmgsu.Full):
            svmgsu.Full.from_packed(kind.packed, check=True, psd="strict")
    if not any(isinstance(kind, svmgsu.Full) for _, kind in data.cov.parts):
        svmgsu.Full(full, psd="strict")


@pytest.mark.parametrize("of_mean", [False, True])
@pytest.mark.parametrize("covariance", ["diagonal", "full", "lowrank"])
def test_repeats_are_accepted(covariance, of_mean):
    @SETTINGS
    @given(tables(7, 7))
    def holds(X):
        for groups in ([0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1, 2]):
            accepted(un.from_repeats(X, groups, covariance=covariance, of_mean=of_mean, single="pooled"))

    holds()


# Real data


def wanted(data_folder, name):
    path = data_folder / name
    if not path.is_file():
        pytest.skip(f"real data: SVMGSU_DATA has no {name}")
    return path


def test_utterances_as_mean_and_covariance_of_their_frames(data_folder):
    with np.load(wanted(data_folder, "japvowels/japvowels.npz")) as archive:
        frames, lengths, speaker = (archive[f"train_{k}"] for k in ("frames", "len", "y"))
        test_frames, test_lengths, test_speaker = (archive[f"test_{k}"] for k in ("frames", "len", "y"))
    groups = np.repeat(np.arange(len(lengths)), lengths)
    low = un.from_repeats(frames, groups, covariance="lowrank")
    whole = un.from_repeats(frames, groups, covariance="full")
    assert len(low) == 270
    np.testing.assert_array_equal(np.diff(low.cov.start), np.minimum(lengths - 1, 12))
    np.testing.assert_allclose(low.cov.to_full(), whole.cov.to_full(), atol=1e-5)
    pair = np.isin(speaker, [1, 2])
    model = svmgsu.train(low[pair], speaker[pair], lam=1e-2)
    truth = np.repeat(test_speaker, test_lengths)
    test = np.isin(truth, [1, 2])
    assert (model.predict(test_frames[test]) == truth[test]).mean() > 0.85
