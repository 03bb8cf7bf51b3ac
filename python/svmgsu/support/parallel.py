"""Several pieces of work at a time in threads: the core releases the lock of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from .. import _core
from .validation import check_count

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def thread_count(threads: object = None) -> int:
    """Return the number of threads, by default all that OpenMP offers to the calling thread."""
    return _core.config()["threads"] if threads is None else check_count(threads, "threads")


def parallel_map(work: Callable[[Item], Answer], items: Sequence[Item], threads: int) -> list[Answer]:
    """Return the answers in the order of the items. After an error, or Ctrl-C, no other item is begun."""
    if min(threads, len(items)) <= 1:
        return [work(item) for item in items]
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        futures = []
        try:
            # Ctrl-C may come while a thread is being started, when others are at work already.
            for item in items:
                futures.append(pool.submit(work, item))
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures if future in done]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
