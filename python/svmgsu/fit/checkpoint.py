"""Checkpoints of a long training out of core: the best point of each subproblem, to start from again."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..support.validation import Array, FloatArray

SECONDS = 5.0  # between two writings of the file
FORMAT = "svmgsu checkpoint 3"


class Checkpoint:
    """A .npz file with (w, b, epsilon) of each subproblem, written whole or not at all.

    Parameters
    ----------
    path : str or path
        If the file exists, each subproblem starts from its point there.
    fingerprint : str
        Identifies the data and the task; a file with another one is refused.
    shape : (int, int)
        The numbers of subproblems and of features.
    """

    def __init__(self, path: Any, fingerprint: str, shape: tuple[int, int]) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.points = np.full((shape[0], shape[1] + 2), np.nan)  # w, b and epsilon; NaN: not known yet
        if self.path.exists():
            self.points[:] = self._read()
        self._written = time.monotonic()

    def _read(self) -> Array:
        from zipfile import BadZipFile  # which loads lzma and more: not at every import of svmgsu

        try:
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as file:
                form, fingerprint, points = (file[key] for key in ("format", "fingerprint", "points"))
        except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
            raise ValueError(
                f"checkpoint: {self.path} is damaged, or not a checkpoint ({error}); remove it to begin anew"
            ) from None
        if str(form) != FORMAT:
            raise ValueError(
                f"checkpoint: {self.path} was written by another version; remove it to begin anew"
            )
        if str(fingerprint) != self.fingerprint or points.shape != self.points.shape:
            raise ValueError(
                f"checkpoint: {self.path} belongs to other data or classes; remove it to begin anew"
            )
        return np.asarray(points)

    def keep(self, subproblem: int, w: FloatArray, b: float, epsilon: float) -> None:
        """Take the best point of a subproblem so far; it is written now and then."""
        self.points[subproblem] = np.append(w, [b, epsilon])
        if time.monotonic() - self._written >= SECONDS:
            self.write()

    def write(self) -> None:
        """Replace the file. An error, such as a full disk, names it."""
        new = self.path.with_name(self.path.name + ".new")
        made = io.BytesIO()
        np.savez(made, format=FORMAT, fingerprint=self.fingerprint, points=self.points)
        try:
            new.write_bytes(made.getvalue())
            os.replace(new, self.path)
        except OSError as error:
            raise OSError(error.errno, f"checkpoint: {error.strerror}", str(self.path)) from None
        finally:
            new.unlink(missing_ok=True)
        self._written = time.monotonic()
