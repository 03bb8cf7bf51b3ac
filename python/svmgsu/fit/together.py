"""Several problems on the same files: solved at the same time, one reading of the data for all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np


class Together:
    """Problems that are solved in a thread each and read the data together; see `StreamedSet`."""

    def __init__(self, members: int) -> None:
        self.members = members
        self._lock = threading.Lock()
        self._first: Any = None
        self._finished = 0
        self._own = threading.local()

    def join(self, make: Callable[[int], Any], targets: Any, weights: Any, regression: bool) -> Any:
        """The training set of one of them, in its own thread; `make(problems)` makes the first."""
        with self._lock:
            if self._first is None:
                core = self._first = make(self.members)
                for _ in range(self._finished):
                    self._leave_one()
            else:
                core = self._first.beside(targets, weights, regression)
        self._own.core = core
        return core

    def finish(self) -> None:
        """This thread's problem is solved, or failed: the others wait for it no longer."""
        with self._lock:
            self._finished += 1
            if self._first is None:
                return
            core = getattr(self._own, "core", None)
            if core is None:
                self._leave_one()
            else:
                core.leave()
                self._own.core = None

    def _leave_one(self) -> None:
        """Take a place among the readers for a problem that never joined, and leave it."""
        self._first.beside(np.ones(self._first.examples), None, False).leave()
