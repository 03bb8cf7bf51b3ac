"""Writes three tables to report on: from the data sets in SVMGSU_DATA where they are, else made up.

python tools/report_tables.py FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

KEPLER = [
    "koi_period",
    "koi_impact",
    "koi_duration",
    "koi_depth",
    "koi_prad",
    "koi_insol",
    "koi_steff",
    "koi_slogg",
]


def kepler(folder: Path) -> pd.DataFrame:
    """Planets or not: measurements with upper and lower errors, several of a star."""
    frame = pd.read_csv(folder / "kepler" / "cumulative.csv.gz", comment="#")
    columns = [c for name in KEPLER for c in (name, name + "_err1", name + "_err2")]
    names = {"koi_pdisposition": "label", "kepid": "group"}
    return frame[["kepid", *columns, "koi_pdisposition"]].rename(columns=names)


def quasars(folder: Path) -> pd.DataFrame:
    """Redshifts of quasars from five magnitudes with errors."""
    frame = pd.read_csv(folder / "sdss_qso" / "SDSS_QSO.tab.gz", sep=r"\s+")
    bands = [c for c in frame if str(c).endswith("_mag") and not str(c).startswith("sig")]
    errors = {f"sig_{band}": f"{band}_err" for band in bands}
    fine = ((frame[bands] > 0).all(axis=1)) & ((frame[list(errors)] > 0).all(axis=1))
    chosen = frame[fine].sample(4000, random_state=0)
    chosen["group"] = np.arange(len(chosen))
    return chosen[["group", "z", *bands, *errors]].rename(columns={**errors, "z": "target"})


def vowels(folder: Path) -> pd.DataFrame:
    """Nine speakers: the mean of an utterance's frames and its standard error."""
    with np.load(folder / "japvowels" / "japvowels.npz") as held:
        frames, lengths, y = held["train_frames"], held["train_len"], held["train_y"]
    ends = np.cumsum(lengths)
    groups = [frames[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    table = {}
    for j in range(frames.shape[1]):
        table[f"c{j + 1}"] = [g[:, j].mean() for g in groups]
        table[f"c{j + 1}_err"] = [g[:, j].std(ddof=1) / np.sqrt(len(g)) for g in groups]
    return pd.DataFrame({**table, "group": np.arange(len(y)), "label": [f"speaker {k}" for k in y]})


def made(task: str) -> pd.DataFrame:
    """Rings, or a curve, behind noise of known size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    error = rng.uniform(0.1, 0.8, size=X.shape)
    seen = X + error * rng.normal(size=X.shape)
    table = {name: seen[:, j] for j, name in enumerate("abcd")}
    table["group"] = np.arange(600) // 2
    table |= {f"{name}_err": error[:, j] for j, name in enumerate("abcd")}
    far = (X[:, :2] ** 2).sum(axis=1)
    if task == "numbers":
        return pd.DataFrame({**table, "target": far + X[:, 2]})
    classes = 2 if task == "two" else 3
    return pd.DataFrame({**table, "label": [f"ring {k}" for k in np.minimum(far, classes - 1).astype(int)]})


def main() -> None:
    """Writes kepler.csv, quasars.csv and vowels.csv."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    data = os.environ.get("SVMGSU_DATA")
    tables = {"kepler": (kepler, "two"), "quasars": (quasars, "numbers"), "vowels": (vowels, "three")}
    for name, (reader, task) in tables.items():
        table = made(task) if data is None else reader(Path(data))
        table.to_csv(out / f"{name}.csv", index=False)
        print(f"{name}.csv: {len(table)} rows{' (made up)' if data is None else ''}")


if __name__ == "__main__":
    main()
