"""Readers of catalogues with error bars: Kepler's objects of interest and SDSS quasars."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .systems import Array

KEPLER = "kepler/cumulative.csv.gz"
SDSS = "sdss_qso/SDSS_QSO.tab.gz"
# Quantities over orders of magnitude are taken as log10.
LOGARITHMIC = ("koi_period", "koi_duration", "koi_depth", "koi_prad", "koi_insol", "koi_srad")
PLAIN = ("koi_impact", "koi_steff", "koi_slogg")
EXACT = ("koi_model_snr", "koi_teq", "koi_kepmag")  # no error bars; log10 too
HIGH_REDSHIFT = 2.2


class Objects(NamedTuple):
    """Features, their standard deviations, labels -1 and +1, and the star of each."""

    X: Array
    std: Array
    y: Array
    star: Array


def kepler(folder: Path, candidates: bool = False) -> Objects:
    """Confirmed planets (+1) against false positives: nine features with error bars, three without.

    `candidates` counts those not yet decided as planets too.

    Bars are the mean of the upper and the lower one; zeros are raised to the feature's smallest bar, and
    rows with a value or a bar missing are left out.
    """
    with gzip.open(folder / KEPLER, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))

    def column(name: str) -> Array:
        return np.array([float(row[name]) if row[name] else np.nan for row in rows])

    values, bars = [], []
    for name in (*LOGARITHMIC, *PLAIN):
        x, bar = column(name), (column(f"{name}_err1") - column(f"{name}_err2")) / 2
        if name in LOGARITHMIC:
            positive = np.where(x > 0, x, np.nan)
            x, bar = np.log10(positive), bar / (positive * np.log(10))
        values.append(x)
        bars.append(bar)
    for name in EXACT:
        x = column(name)
        values.append(np.log10(np.where(x > 0, x, np.nan)))
        bars.append(np.zeros(len(x)))
    X, std = np.column_stack(values), np.column_stack(bars)
    keep = np.isfinite(X).all(axis=1) & np.isfinite(std).all(axis=1)
    state = np.array([row["koi_disposition"] for row in rows])
    if not candidates:
        keep &= state != "CANDIDATE"
    X, std = X[keep], std[keep]
    measured = len(LOGARITHMIC) + len(PLAIN)
    smallest = np.min(std[:, :measured], axis=0, initial=np.inf, where=std[:, :measured] > 0)
    std[:, :measured] = np.maximum(std[:, :measured], smallest)
    return Objects(
        X,
        std,
        np.where(state[keep] == "FALSE POSITIVE", -1.0, 1.0),
        np.array([int(row["kepid"]) for row in rows])[keep],
    )


def redshifts(folder: Path) -> tuple[Array, Array, Array]:
    """Colours u-g, g-r, r-i, i-z, their full covariances (neighbours share a band), and the redshifts."""
    with gzip.open(folder / SDSS, "rt", encoding="utf-8") as file:
        file.readline()
        table = np.loadtxt(file, usecols=range(1, 12))
    redshift, magnitude, sigma = table[:, 0], table[:, 1::2], table[:, 2::2]
    good = (magnitude > 0).all(axis=1) & (sigma > 0).all(axis=1) & (sigma < 5).all(axis=1)
    B = np.eye(4, 5) - np.eye(4, 5, k=1)
    cov = np.einsum("ab,lb,cb->lac", B, sigma[good] ** 2, B)
    return magnitude[good] @ B.T, cov, redshift[good]


def quasars(folder: Path, redshift_cut: float = HIGH_REDSHIFT) -> tuple[Array, Array, Array]:
    """Colours, their covariances, and +1 for a redshift of `redshift_cut` or more, else -1."""
    X, cov, redshift = redshifts(folder)
    return X, cov, np.where(redshift >= redshift_cut, 1.0, -1.0)
