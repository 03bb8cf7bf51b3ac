"""Checkpoints of a long training: the best point of each binary subproblem, to start from again."""

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
from .settings import changed_options

SECONDS = 5.0  # between two writings of the file
FORMAT = "svmgsu checkpoint 3"

Start = tuple[FloatArray, float] | None
Report = Callable[[Any], bool | None] | None
Solve = Callable[[_core.Options, Report, Start], Any]


class Checkpoint:
    """A .npz file with (w, b, epsilon) of each of some subproblems, written whole or not at all.

    Parameters
    ----------
    path : str or path
    fingerprint : str
        Tells the data and the subproblems apart from others; a file with another one is refused.
    shape : (int, int)
        The numbers of subproblems and of features.
    resume : bool
        Start each subproblem from its point in the file, if there is one.
    """

    def __init__(self, path: Any, fingerprint: str, shape: tuple[int, int], resume: bool) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.points = np.full((shape[0], shape[1] + 2), np.nan)  # w, b and epsilon; NaN: not known yet
        if resume and self.path.exists():
            self.points[:] = self._read()
        self._resumed = np.isfinite(self.points).all(
            axis=1
        )  # subproblems that have yet to start from the file
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

    def run(self, part: int, solve: Solve, options: _core.Options, report: Report, start: Start) -> Any:
        """Solve subproblem `part`; its best point is saved now and then, and when it ends for any reason."""
        if self._resumed[part]:
            self._resumed[part] = False  # further rounds of a regression start from the last one
            *w, b, epsilon = self.points[part]
            start = np.array(w), float(b)
            options = changed_options(options, start_epsilon=float(epsilon))

        def watch(progress: Any) -> bool | None:
            self._keep(part, progress)
            if time.monotonic() - self._written >= SECONDS:
                self.write()
            return None if report is None else report(progress)

        try:
            result = solve(options, watch, start)
            self._keep(part, result)
            return result
        finally:
            self.write()

    def _keep(self, part: int, at: Any) -> None:
        if at.w is not None and np.any(at.w):  # not the w = 0 that a solver begins with
            with self._lock:
                self.points[part] = np.append(at.w, [at.b, at.epsilon])

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
