"""Rounds of stateless tasks on the workers that hold the samples: one task per worker, w as an argument.

A worker that is killed costs a round: Dask makes its samples again on another one, and asks it. Samples that
cannot be made again raise `ShardLostError`; a worker that does not respond in time raises `TimeoutError`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from distributed import CancelledError, Client, KilledWorker, get_client, get_worker, wait

from ..support.types import Lazy
from ..support.validation import check_positive

LOST = ("lost", "cancelled")


class ShardLostError(RuntimeError):
    """Samples were lost with a worker and cannot be made again; the message names them."""


@dataclass(eq=False)
class Bundle:
    """The shards on one worker, as the future of their list."""

    future: Any
    worker: str


@dataclass
class Shard:
    """Consecutive samples, `first` to `last` - 1 of the whole, in the bundle of a worker."""

    first: int
    last: int
    bundle: Bundle


def each_of(task: Callable[..., Any], shards: list[Lazy], *args: list[Lazy]) -> list[Lazy]:
    """Task: call `task` with each shard of a bundle and its own arguments."""
    return [task(shard, *own) for shard, *own in zip(shards, *args, strict=True)]


def collected(*shards: object) -> list[Lazy]:
    """Task: make a bundle of shards, which are not copied."""
    return list(shards)


class Rounds:
    """Ask all shards, and wait for all responses, at most `timeout` seconds."""

    def __init__(self, client: Client, timeout: float | None) -> None:
        self.client = client
        self.timeout = None if timeout is None else check_positive(timeout, "timeout")

    def ask(self, task: Callable[..., Any], shards: Sequence[Shard], *args: Sequence[Any]) -> list[Lazy]:
        """Return task(shard, argument, ...) of each shard, with its own arguments, in their order."""
        bundles, futures = self._submit(task, shards, args)
        names, sources = [], []
        for bundle, members in bundles:
            shown = [f"samples {shards[k].first} to {shards[k].last - 1}" for k in members]
            names.append(_some(shown, ", ") + f" at {bundle.worker}")
            sources.append(bundle.future)
        responses: list[Lazy] = [None] * len(shards)
        for (_, members), found in zip(bundles, self.gather(futures, names, sources), strict=True):
            for k, response in zip(members, found, strict=True):
                responses[k] = response
        return responses

    def make(self, task: Callable[..., Any], shards: Sequence[Shard], *args: Sequence[Any]) -> list[Shard]:
        """Do as `ask`, but leave what the tasks return with the workers, as shards of the same samples."""
        out = list(shards)
        bundles, futures = self._submit(task, shards, args)
        for (bundle, members), future in zip(bundles, futures, strict=True):
            made = Bundle(future, bundle.worker)
            for k in members:
                out[k] = Shard(shards[k].first, shards[k].last, made)
        return out

    def _submit(
        self, task: Callable[..., Any], shards: Sequence[Shard], args: Sequence[Sequence[Any]]
    ) -> tuple[list[tuple[Bundle, list[int]]], list[Lazy]]:
        """Submit one task per bundle; return the bundles with the positions of their shards, and the futures.

        A task goes where its bundle is by itself, being far smaller. One that names its worker would wait for
        ever if all workers were killed at once, since those that come instead have other names.
        """
        members: dict[Bundle, list[int]] = {}
        for k, shard in enumerate(shards):
            members.setdefault(shard.bundle, []).append(k)
        own = [[[values[k] for k in some] for some in members.values()] for values in args]
        futures = self.client.map(
            each_of, [task] * len(members), [bundle.future for bundle in members], *own, pure=False
        )
        return list(members.items()), futures

    def gather(
        self, futures: list[Lazy], names: Sequence[str], sources: Sequence[Any] | None = None
    ) -> list[Lazy]:
        """Return the results of tasks, whose errors are raised as they are.

        `names` says what each task is about, and `sources` are the futures that it depends on, for messages.
        """
        began = time.monotonic()
        try:
            with self.client.as_current():  # it need not be the default one
                wait(futures, timeout=self.timeout)
            left = None if self.timeout is None else max(1.0, self.timeout - (time.monotonic() - began))
            return list(self.client.sync(self.client._gather, futures, callback_timeout=left))
        except TimeoutError:
            silent = [name for f, name in zip(futures, names, strict=True) if f.status == "pending"]
            about = _some(silent, "; ") or "any shard"
            raise TimeoutError(f"no answer within timeout={self.timeout:g} seconds about {about}") from None
        except (CancelledError, KilledWorker) as error:
            told = zip(futures, sources or futures, names, strict=True)
            lost = [name for f, source, name in told if f.status in (*LOST, "error") or source.status in LOST]
            about = _some(lost, ", ") or "samples"
            if isinstance(error, KilledWorker):
                reason = f"{about}: every worker that was asked about them died ({error})"
            else:
                reason = (
                    f"{about} were lost with their worker and cannot be made again; keep the data in Dask "
                    "collections that read or compute them, not in futures of client.scatter"
                )
            raise ShardLostError(reason) from error
        finally:
            self.client.cancel([f for f in futures if f.status == "pending"], force=True)


def _some(names: list[str], separator: str) -> str:
    return separator.join([*names[:3], *(["..."] if len(names) > 3 else [])])


def client_of(client: Client | None) -> Client:
    """Return the client given, or the current one."""
    try:
        found = get_client() if client is None else client
    except ValueError:
        raise ValueError(
            "client: no distributed.Client is running; make one with distributed.Client()"
        ) from None
    if not isinstance(found, Client):
        raise TypeError(f"client: expected a distributed.Client, got {found!r}")
    if found.asynchronous:
        raise ValueError(
            "client: an asynchronous one cannot be waited for; make one without asynchronous=True"
        )
    return found


def workers_of(client: Client, timeout: float | None) -> list[str]:
    """Return the sorted addresses of the workers, of which there must be one in time."""
    client.wait_for_workers(1, timeout=timeout or 30.0)
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def threads_here() -> int:
    """Return the number of threads of the worker that runs this task."""
    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return 1
