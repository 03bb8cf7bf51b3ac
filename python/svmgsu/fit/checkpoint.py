"""Checkpoints of a long training out of core: the best point of each subproblem, to start from again."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from ..support.validation import Array, FloatArray
from .options import changed

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
        # Subproblems that have yet to start from the file.
        self._resumed = np.isfinite(self.points).all(axis=1)
        self._lock = threading.Lock()
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

    def run(
        self,
        core: Any,
        options: _core.Options,
        report: Callable[[Any], bool | None] | None,
        start: tuple[FloatArray, float] | None,
        subproblem: int,
    ) -> Any:
        """Solve a subproblem; its best point is saved now and then, and when it ends for any reason."""
        if self._resumed[subproblem]:
            self._resumed[subproblem] = False  # further rounds of a regression start from the last one
            *w, b, epsilon = self.points[subproblem]
            start = np.array(w), float(b)
            options = changed(options, start_epsilon=float(epsilon))

        def watch(progress: Any) -> bool | None:
            self._keep(subproblem, progress)
            if time.monotonic() - self._written >= SECONDS:
                self.write()
            return None if report is None else report(progress)

        at = () if start is None else (np.ascontiguousarray(start[0]), float(start[1]))
        try:
            result = _core.solve(core, options, watch, *at)
            self._keep(subproblem, result)
            return result
        finally:
            self.write()

    def _keep(self, subproblem: int, at: Any) -> None:
        if at.w is not None and np.any(at.w):  # not the w = 0 that a solver begins with
            with self._lock:
                self.points[subproblem] = np.append(at.w, [at.b, at.epsilon])

    def write(self) -> None:
        """Replace the file. An error, such as a full disk, names it."""
        new = self.path.with_name(self.path.name + ".new")
        with self._lock:
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
