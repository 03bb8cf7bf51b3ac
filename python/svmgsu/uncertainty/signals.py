"""Signals by their spectrum: log band powers, with their spread over the windows of Welch's method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.gaussians import Gaussians
from ..support.arrays import blocks
from ..support.validation import Array, ArrayLike, as_float_array, check_count, check_finite, check_positive
from ._support import need
from .repeats import from_repeats

DEAP_BANDS: dict[str, tuple[float, float]] = {
    "theta": (4.0, 8.0),
    "slow alpha": (8.0, 10.0),
    "alpha": (8.0, 12.0),
    "beta": (12.0, 30.0),
    "gamma": (30.0, np.inf),
}
"""The bands of the paper's EEG features, in Hz; gamma goes up to half the sampling rate."""

DEAP_PAIR_BANDS = ("theta", "alpha", "beta", "gamma")
"""The bands in which the hemispheres are compared."""

DEAP_PAIRS = tuple(zip(range(14), (16, 17, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31), strict=True))
"""(left, right) electrodes, in the order Fp1 AF3 F3 F7 FC5 FC1 C3 T7 CP5 CP1 P3 P7 PO3 O1 Oz Pz Fp2 AF4
Fz F4 F8 FC6 FC2 Cz C4 T8 CP6 CP2 P4 P8 PO4 O2: 32 × 5 powers and 14 × 4 differences are 216 features."""


def from_welch(
    signals: ArrayLike,
    fs: float,
    *,
    bands: Mapping[str, tuple[float, float]] = DEAP_BANDS,
    nperseg: int = 256,
    noverlap: int | None = None,
    window: ArrayLike = "hann",
    pairs: Sequence[tuple[int, int]] = (),
    pair_bands: Sequence[str] | None = None,
    covariance: str = "diagonal",
    of_mean: bool = False,
) -> Gaussians:
    """Compute log band powers of signals, with their spread over Welch's windows (the paper's Sect. 4.4).

    Model: a signal is cut into windows; each gives a periodogram, and the natural logarithm of its power in
    each band is a feature. The windows are samples of the features: mean and covariance are taken over
    them (see `from_repeats`). The logarithm makes the powers of windows nearly normal.

    Assumes that a signal is stationary: a trend over the windows counts as uncertainty. The result describes
    one window. To classify whole signals of the same length, pass of_mean=True; the full spread would harm,
    for new signals are averaged too. Overlapping windows share data, so the variance of the mean comes out
    too small: by less than a tenth for Hann windows that overlap by half (the default).

    Parameters
    ----------
    signals : array of shape (l, time) or (l, channels, time)
        Signals of one or more channels.
    fs : float
        Samples a second.
    bands : dict from name to (low, high), in Hz
        Power from low up to, not including, high; above fs/2 there is none. By default the five bands of
        the paper.
    nperseg : int, default=256
        Samples a window.
    noverlap : int, optional
        Samples that neighbours share; by default half a window.
    window : str, tuple or array, default="hann"
        As in `scipy.signal.get_window`.
    pairs : list of (left, right) channels, default=()
        For each, the differences of the log powers right − left follow the powers.
    pair_bands : list of str, optional
        The bands of these differences; by default all.
    covariance : {"diagonal", "full", "lowrank"}
        See `from_repeats`; "diagonal" is the paper's.
    of_mean : bool, default=False
        Whether to describe the average over the windows instead of a window.

    Returns
    -------
    Gaussians
        Features in the order channel by channel, band by band; then pair by pair, band by band. float32 if
        the signals are.

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.uncertainty import DEAP_PAIR_BANDS, DEAP_PAIRS, from_welch
    >>> eeg = np.random.default_rng(0).normal(size=(3, 32, 1024))
    >>> from_welch(eeg, fs=128, pairs=DEAP_PAIRS, pair_bands=DEAP_PAIR_BANDS).shape
    (3, 216)
    """
    x = as_float_array(signals, "signals", (2, 3))
    if 0 in x.shape:
        raise ValueError(f"signals: expected one or more signals, got an array of shape {x.shape}")
    check_finite(x.reshape(len(x), -1), "signals")
    x = x[:, np.newaxis] if x.ndim == 2 else x
    rate = check_positive(fs, "fs")
    size = check_count(nperseg, "nperseg", least=2)
    overlap = size // 2 if noverlap is None else check_count(noverlap, "noverlap", least=0, most=size - 1)
    windows = (x.shape[2] - overlap) // (size - overlap)
    if x.shape[2] < size or windows < 2:
        raise ValueError(
            f"nperseg: windows of {size} samples fit {max(windows, 0)} times into signals of {x.shape[2]}; "
            "a variance needs two"
        )
    frequencies = np.fft.rfftfreq(size, 1 / rate)
    chosen = _band_masks(bands, frequencies)
    names = list(bands)
    pairs = list(pairs)  # an array has no truth value
    for pair in pairs:
        if len(pair) != 2 or any(c not in range(x.shape[1]) for c in pair):
            raise ValueError(f"pairs: {tuple(pair)} is not a pair of channels from 0 to {x.shape[1] - 1}")
    for name in pair_bands or ():
        if name not in names:
            raise ValueError(f"pair_bands: {name!r} is not one of the bands {names}")
    compared = [names.index(name) for name in (names if pair_bands is None else pair_bands)]
    left, right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    spectrogram = need("scipy.signal", "from_welch").spectrogram
    powers = x.shape[1] * len(names)
    features = np.empty((len(x), windows, powers + len(pairs) * len(compared)), dtype=x.dtype)
    for rows in blocks(len(x), 6 * x.shape[1] * windows * size):
        _, _, P = spectrogram(x[rows], rate, window=window, nperseg=size, noverlap=overlap, axis=-1)
        power = np.einsum("lcft,bf->ltcb", P, chosen.astype(P.dtype)) * P.dtype.type(rate / size)
        if not (power > 0).all():
            i, t, c, b = np.argwhere(~(power > 0))[0].tolist()
            raise ValueError(
                f"signals: sample {rows.start + i}, channel {c} has no power in band {names[b]!r} in window "
                f"{t} (a flat signal?); its logarithm is not finite"
            )
        logs = np.log(power)
        features[rows, :, :powers] = logs.reshape(*logs.shape[:2], -1)
        apart = logs[:, :, right][..., compared] - logs[:, :, left][..., compared]
        features[rows, :, powers:] = apart.reshape(*logs.shape[:2], -1)
    return from_repeats(features, covariance=covariance, of_mean=of_mean)


def _band_masks(bands: Mapping[str, tuple[float, float]], frequencies: Array) -> Array:
    if not isinstance(bands, Mapping) or not bands:
        raise ValueError(f"bands: expected a dict from name to (low, high) in Hz, got {bands!r}")
    masks = []
    for name, edges in bands.items():
        if np.shape(edges) != (2,):
            raise ValueError(f"bands: expected (low, high) in Hz for {name!r}, got {edges!r}")
        low, high = edges
        inside = (frequencies >= low) & (frequencies < high)
        if not inside.any():
            raise ValueError(
                f"bands: {name!r}, {low:g} to {high:g} Hz, holds no frequency of the windows, which are "
                f"{frequencies[1]:g} Hz apart up to {frequencies[-1]:g} Hz; lengthen nperseg or the band"
            )
        masks.append(inside)
    return np.array(masks)
