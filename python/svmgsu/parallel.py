"""Several fits at a time in threads: the core releases the lock of the interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import _core
from .validation import check_count

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Team:
    """The threads of a fit: `threads` in all, shared by at most `n_jobs` pieces of work at a time.

    The number is asked for here, in the caller's thread, since threadpoolctl limits that one alone.
    """

    def __init__(self, threads: Any = None, n_jobs: Any = None) -> None:
        self.threads = _core.config()["threads"] if threads is None else check_count(threads, "threads")
        self.jobs = self.threads
        if n_jobs is not None and n_jobs != -1:
            self.jobs = check_count(n_jobs, "n_jobs")
        self._stop = threading.Event()

    def inner(self, pieces: int) -> int:
        """The threads of each of so many pieces of work."""
        return max(1, self.threads // max(1, min(self.jobs, pieces)))

    def stop(self) -> None:
        """Asks all work that looks at `stopped` to end soon."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def map(
        self, work: Callable[[Item], Answer], items: Sequence[Item], *, small: bool = False
    ) -> list[Answer]:
        """The answers in the order of the items. An error, or Ctrl-C, stops the others first.

        `small` pieces of work, of less than some milliseconds, are done one after the other: threads
        would wait longer for the interpreter than the work takes.
        """
        if small or min(self.jobs, len(items)) <= 1:
            return [work(item) for item in items]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(self.jobs, len(items))) as pool:
            try:
                return list(pool.map(work, items))
            except BaseException:
                self.stop()
                raise
