"""Readers of recordings: Japanese Vowels, Bonn EEG, and DEAP's preprocessed Python files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .systems import Array

VOWELS = "japvowels/japvowels.npz"
BONN = "eeg_bonn/bonn.npz"
DEAP_RATE = 128.0  # Hz
DEAP_EEG = 32  # the first channels; the others are peripheral
DEAP_BASELINE = 3  # seconds before a video begins
DEAP_SHAPE = (40, 40, 8064)  # videos, channels, samples
RATINGS = ("valence", "arousal", "dominance", "liking")  # 1 to 9


class Utterances(NamedTuple):
    """Frames of all utterances, stacked; which utterance a frame belongs to; the speaker of an utterance."""

    frames: Array
    owner: Array
    speaker: Array

    def of(self, chosen: Array) -> tuple[Array, Array]:
        """Frames of the chosen utterances, and for each its place among `chosen`."""
        place = np.full(len(self.speaker), -1)
        place[chosen] = np.arange(len(chosen))
        keep = place[self.owner] >= 0
        groups = place[self.owner[keep]]
        order = np.argsort(groups, kind="stable")
        return self.frames[keep][order], groups[order]


def vowels(folder: Path) -> Utterances:
    """All 640 utterances of nine speakers, training part first."""
    with np.load(folder / VOWELS) as found:
        frames = np.concatenate([found["train_frames"], found["test_frames"]]).astype(float)
        lengths = np.concatenate([found["train_len"], found["test_len"]])
        speaker = np.concatenate([found["train_y"], found["test_y"]])
    return Utterances(frames, np.repeat(np.arange(len(lengths)), lengths), speaker)


def bonn(folder: Path) -> tuple[Array, Array, float]:
    """500 segments of 4097 samples, their sets Z, O, N, F, S, and the rate in Hz."""
    with np.load(folder / BONN) as found:
        return found["x"].astype(float), found["y"].astype(str), float(found["fs"])


class _ArraysOnly(pickle.Unpickler):
    """DEAP's files are pickles, which could run any code: nothing but NumPy arrays is let through."""

    ALLOWED = (
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("_codecs", "encode"),
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of an array")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def load_deap(path: Path) -> tuple[Array, Array]:
    """One participant of DEAP, sXX.dat of `data_preprocessed_python`: EEG (40, 32, 7680) without the
    baseline, and ratings (40, 4) in the order of RATINGS."""
    with path.open("rb") as file:
        try:
            found = _ArraysOnly(file, encoding="latin1").load()
        except (pickle.UnpicklingError, EOFError) as error:
            raise ValueError(f"{path}: not a file of DEAP ({error})") from None
    data, labels = np.asarray(found["data"]), np.asarray(found["labels"])
    if data.shape != DEAP_SHAPE or labels.shape != (DEAP_SHAPE[0], len(RATINGS)):
        raise ValueError(
            f"{path}: data of shape {data.shape} and labels {labels.shape}, expected {DEAP_SHAPE} and (40, 4)"
        )
    return data[:, :DEAP_EEG, int(DEAP_BASELINE * DEAP_RATE) :], labels
