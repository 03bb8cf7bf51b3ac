"""Several fits at a time in threads: the core releases the lock of the interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from .. import _core
from .validation import check_count

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Stopped(Exception):
    """Ends a piece of work whose answer nobody waits for any more."""


class Team:
    """The threads of a fit: `threads` in all, shared by at most `n_jobs` pieces of work at a time.

    A negative `n_jobs` counts from the number of threads, -1, down, as in scikit-learn.

    The number is asked for here, in the caller's thread, since threadpoolctl limits that one alone.
    """

    def __init__(self, threads: object = None, n_jobs: object = None) -> None:
        self.threads = _core.config()["threads"] if threads is None else check_count(threads, "threads")
        self.jobs = self.threads
        if n_jobs is not None:
            count = check_count(n_jobs, "n_jobs", least=-(2**31))
            if count == 0:
                raise ValueError("n_jobs: must not be 0; -1 is one for each thread, -2 one less, and so on")
            self.jobs = count if count > 0 else max(1, self.threads + 1 + count)
        self._stop = threading.Event()

    def inner(self, pieces: int) -> int:
        """Return the threads of each of so many pieces of work."""
        return max(1, self.threads // max(1, min(self.jobs, pieces)))

    def stop(self) -> None:
        """Ask all work that looks at `stopped` to end soon."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def go_on(self) -> None:
        """Raise `Stopped` once work should end; work of several steps calls this between them."""
        if self.stopped:
            raise Stopped

    def map(
        self, work: Callable[[Item], Answer], items: Sequence[Item], *, small: bool = False
    ) -> list[Answer]:
        """Return the answers in the order of the items. An error, or Ctrl-C, stops the others first.

        `small` pieces of work, of less than some milliseconds, are done one after the other: threads
        would wait longer for the interpreter than the work takes.
        """
        if small or min(self.jobs, len(items)) <= 1:
            return [work(item) for item in items]
        from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

        with ThreadPoolExecutor(min(self.jobs, len(items))) as pool:
            futures = []
            try:
                # Ctrl-C may come while a thread is being started, when others are at work already.
                for item in items:
                    futures.append(pool.submit(work, item))
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                return [future.result() for future in futures if future in done]
            except BaseException:
                self.stop()
                for future in futures:
                    future.cancel()
                raise
