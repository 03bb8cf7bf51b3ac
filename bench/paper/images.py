"""MNIST's ones and sevens, turned and shifted as in the paper."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import ndimage

import svmgsu

from .systems import Array

FILE = "mnist/mnist.npz"
DIGITS = (1, 7)
SHIFTS = {"D0": None, "D1": 3, "D2": 5, "D3": 7, "D4": 9, "D5": 11}  # pixels; D0 is left as it is
TURN = 15  # degrees
SHIFT_DEVIATION = 5 / 3  # pixels: the paper's p_t = 5
TURN_DEVIATION = TURN / np.sqrt(3)  # degrees, of the uniform distribution


@lru_cache(maxsize=1)
def digits(folder: Path) -> dict[str, Array]:
    """Images of the two digits as float32 in [0, 1], with labels -1 (digit 1) and +1 (digit 7)."""
    with np.load(folder / FILE) as found:
        out = {}
        for part in ("train", "test"):
            keep = np.isin(found[f"y_{part}"], DIGITS)
            out[f"x_{part}"] = found[f"x_{part}"][keep].astype(np.float32) / 255
            out[f"y_{part}"] = np.where(found[f"y_{part}"][keep] == DIGITS[1], 1.0, -1.0)
    return out


def moved(images: Array, angles: Array, shifts: Array) -> Array:
    """Each image turned by its angle (radians) about its centre, then shifted (pixels), bilinearly."""
    out = np.empty_like(images)
    centre = (np.array(images.shape[1:]) - 1) / 2
    for image, angle, shift, target in zip(images, angles, shifts, out, strict=True):
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, -s], [s, c]])
        ndimage.affine_transform(image, R, centre - R @ (centre + shift), order=1, output=target)
    return out


def polluted(images: Array, t: float | None, rng: np.random.Generator) -> Array:
    """The paper's noise: a turn in ±15 degrees and a shift in ±t pixels, both uniform."""
    if t is None:
        return images
    angles = np.radians(rng.uniform(-TURN, TURN, len(images)))
    return moved(images, angles, rng.uniform(-t, t, (len(images), 2)))


def augmented(images: Array, copies: int, rng: np.random.Generator) -> Array:
    """(copies, l, h, w): turned and shifted at random, with the deviations that the models assume."""
    count = copies * len(images)
    angles = np.radians(rng.normal(0, TURN_DEVIATION, count))
    shifts = rng.normal(0, SHIFT_DEVIATION, (count, 2))
    tiled = np.tile(images, (copies, 1, 1))
    return moved(tiled, angles, shifts).reshape(copies, *images.shape)


def moments(images: Array, seed: int, rank: int = 8) -> svmgsu.Gaussians:
    """Mean and leading directions of augmented copies, instead of tangents."""
    copies = augmented(images, 64, np.random.default_rng(seed)).reshape(64, len(images), -1)
    mean = copies.mean(axis=0)
    apart = (copies - mean).transpose(1, 0, 2)
    _, vectors = np.linalg.eigh(apart @ apart.transpose(0, 2, 1))  # 64 by 64, instead of 784 by 784
    factors = vectors[:, :, -rank:].transpose(0, 2, 1) @ apart / np.sqrt(63)
    return svmgsu.Gaussians(mean, svmgsu.LowRank(factors.astype(images.dtype)))


def draw(
    folder: Path, name: str, a_class: int, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Training images and labels (a_class of each digit), test images (as rows) and labels."""
    found = digits(folder)
    labels = found["y_train"]
    rows = [rng.choice(np.flatnonzero(labels == s), a_class, replace=False) for s in (-1.0, 1.0)]
    rows = np.concatenate([np.sort(r) for r in rows])
    images = polluted(found["x_train"][rows], SHIFTS[name], rng)
    test = polluted(found["x_test"], SHIFTS[name], rng)
    return images, labels[rows], test.reshape(len(test), -1), found["y_test"]


def with_shifts(images: Array) -> svmgsu.Gaussians:
    """Appendix B: the covariance of small random shifts, to first order."""
    return svmgsu.uncertainty.from_images(images, shift=SHIFT_DEVIATION)
