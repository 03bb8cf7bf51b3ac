"""Read catalogues whose uncertainties nature made: Fermi, VVDS and Chandra."""

from __future__ import annotations

import csv
import gzip
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FERMI_3, FERMI_4 = "fermi/3fgl.csv.gz", "fermi/4fgl_dr2.csv.gz"
VVDS_DEEP, VVDS_WIDE = "vvds/deep.csv.gz", "vvds/wide.csv.gz"
CHANDRA, CHANDRA_PUBLISHED = "chandra/cscv2.csv.gz", "chandra/published_probabilities.csv.gz"
AGN_OF_3FGL = ("bll", "bcu", "fsrq", "rdg", "agn", "nlsy1", "ssrq", "css", "sey")
CHANDRA_MAGNITUDES = ("Gmag", "BPmag", "RPmag", "Jmag", "Hmag", "Kmag", "W1mag", "W2mag", "W3mag")
# Published probabilities are rounded to few digits, many to zero.
PUBLISHED_FLOOR = 1e-3


class Catalogue(NamedTuple):
    """Values, their (co)variances, labels, and the identity of each source."""

    values: NDArray[np.float64]
    cov: NDArray[np.float64]
    labels: NDArray[np.str_]
    names: NDArray[np.str_]


def _columns(path: Path) -> dict[str, list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))


def _numbers(column: list[str]) -> NDArray[np.float64]:
    return np.array([float(text) if text.strip() else np.nan for text in column])


@lru_cache(maxsize=4)
def fermi(folder: Path, which: str) -> Catalogue:
    """Gamma-ray sources of one catalogue.

    Logarithms of two fluxes, the spectral index, the curvature's significance and the pivot energy. A
    significance is a number of standard deviations, so its own is 1. Labels are AGN, PSR, unknown and other.
    """
    table = _columns(folder / which)
    index = "Spectral_Index" if which == FERMI_3 else "PL_Index"
    values = []
    variances = []
    for name in ("Flux1000", "Energy_Flux100"):
        flux = _numbers(table[name])
        values.append(np.log10(flux))
        variances.append((_numbers(table[f"Unc_{name}"]) / (flux * np.log(10))) ** 2)
    values.append(_numbers(table[index]))
    variances.append(_numbers(table[f"Unc_{index}"]) ** 2)
    significance = _numbers(table["Signif_Curve" if which == FERMI_3 else "LP_SigCurv"])
    values.append(np.log1p(significance))
    variances.append(1 / (1 + significance) ** 2)
    values.append(np.log10(_numbers(table["Pivot_Energy"])))
    variances.append(np.zeros(len(significance)))
    if which == FERMI_3:
        kinds = [text.strip().lower() for text in table["CLASS1"]]
        labels = ["AGN" if k in AGN_OF_3FGL else {"psr": "PSR", "": "unknown"}.get(k, "other") for k in kinds]
        names = table["Source_Name_3FGL"]
    else:
        words = {"AGN": "AGN", "PSR": "PSR", "UNAS": "unknown"}
        labels = [words.get(text.strip(), "other") for text in table["Category_4FGL"]]
        # A source of both catalogues goes by its older name.
        pairs = zip(table["ASSOC_FGL"], table["Source_Name"], strict=True)
        names = [older.strip() or newer for older, newer in pairs]
    X, V = np.column_stack(values), np.column_stack(variances)
    known = np.isfinite(X).all(axis=1) & np.isfinite(V).all(axis=1)
    return Catalogue(
        X[known], V[known], np.array(labels)[known], np.array([name.strip() for name in names])[known]
    )


@lru_cache(maxsize=4)
def vvds(folder: Path, which: str) -> tuple[Catalogue, NDArray[np.float64]]:
    """Stars and galaxies of one survey, and their redshifts.

    Colours B-V, V-R, R-I and the magnitude I; features that share a band have correlated errors.
    """
    table = _columns(folder / which)
    magnitudes = np.column_stack([_numbers(table[f"ds_cfh12k.MAG_AUTO_{band}"]) for band in "BVRI"])
    errors = np.column_stack([_numbers(table[f"ds_cfh12k.MAGERR_AUTO_{band}"]) for band in "BVRI"])
    known = ((magnitudes > 0) & (magnitudes < 90) & (errors > 0) & (errors < 90)).all(axis=1)
    B = np.eye(4) - np.eye(4, k=1)
    cov = np.einsum("ab,lb,cb->lac", B, errors[known] ** 2, B)
    redshift = _numbers(table["ds_spectra.Z"])[known]
    labels = np.where(redshift == 0, "star", "galaxy")
    names = np.array(table["ds_spectra.NUM"])[known]
    return Catalogue(magnitudes[known] @ B.T, cov, labels, names), redshift


@lru_cache(maxsize=2)
def chandra(folder: Path) -> tuple[Catalogue, NDArray[np.float64]]:
    """X-ray sources of eight classes, and the published leave-one-out probabilities of the classes.

    Logarithms of three fluxes, nine magnitudes, parallax and proper motion; NaN is a missing value (no
    counterpart was found). A magnitude without a published error has the largest of its band.
    """
    table = _columns(folder / CHANDRA)
    values = []
    variances = []
    for name in ("Fcsc_s", "Fcsc_m", "Fcsc_h"):
        flux = _numbers(table[name])
        flux = np.where(flux > 0, flux, np.nan)
        values.append(np.log10(flux))
        variances.append((_numbers(table[f"e_{name}"]) / (flux * np.log(10))) ** 2)
    for name in CHANDRA_MAGNITUDES:
        error = _numbers(table[f"e_{name}"])
        values.append(_numbers(table[name]))
        variances.append(np.where(np.isnan(error), np.nanmax(error), error) ** 2)
    for name in ("Plx", "PM"):
        values.append(_numbers(table[f"GAIA_{name}"]))
        variances.append(_numbers(table[f"GAIA_e_{name}"]) ** 2)
    X, V = np.column_stack(values), np.column_stack(variances)
    V = np.where(np.isnan(V) | np.isnan(X), 0.0, V)
    labels = np.array(table["Class"])
    names = np.array([name.strip() for name in table["name"]])
    published = _columns(folder / CHANDRA_PUBLISHED)
    place = {name.strip(): k for k, name in enumerate(published["CSCv2_name"])}
    each = np.column_stack([_numbers(published[f"P_{kind}"]) for kind in np.unique(labels)])
    known = np.array([name in place for name in names])
    rows = [place[name] for name in names[known]]
    probabilities = np.maximum(each[rows], PUBLISHED_FLOOR)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return Catalogue(X[known], V[known], labels[known], names[known]), probabilities
