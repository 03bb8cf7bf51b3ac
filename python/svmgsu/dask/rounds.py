"""Rounds of stateless tasks on the workers that hold the examples: one task per worker, w as an argument.

A worker that is killed costs a round: Dask makes its examples anew on another one, and asks it. Data that
cannot be made again raise `ShardLostError`; a worker that does not answer in time raises `TimeoutError`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from distributed import CancelledError, Client, KilledWorker, get_client, get_worker, wait

from ..support.validation import check_positive

_LOST = ("lost", "cancelled")


class ShardLostError(RuntimeError):
    """Examples were lost with a worker, and cannot be made again; the message names their rows."""


@dataclass
class Bundle:
    """The shards that a worker holds, as the future of their list."""

    future: Any
    worker: str


@dataclass
class Shard:
    """Examples that follow one another, on a worker: where they stand in the whole, and in whose bundle."""

    first: int
    last: int
    bundle: Bundle

    @property
    def worker(self) -> str:
        return self.bundle.worker

    @property
    def future(self) -> Any:
        return self.bundle.future

    @property
    def rows(self) -> str:
        return f"examples {self.first} to {self.last - 1}"


def each_of(task: Callable[..., Any], shards: list[Any], *args: list[Any]) -> list[Any]:
    """Task: what a task makes of each shard of a bundle, with its own arguments."""
    return [task(shard, *own) for shard, *own in zip(shards, *args, strict=True)]


def collected(*shards: Any) -> list[Any]:
    """Task: a bundle of shards, which are not copied."""
    return list(shards)


class Held:
    """What a bundle holds, for messages."""

    def __init__(self, shards: Sequence[Shard], places: list[int]) -> None:
        own = [shards[k] for k in places]
        self.future, self.worker = own[0].future, own[0].worker
        self.rows = ", ".join(s.rows for s in own[:3]) + (", ..." if len(own) > 3 else "")


class Rounds:
    """Asks all shards, and waits for all answers, at most `timeout` seconds."""

    def __init__(self, client: Client, timeout: float | None) -> None:
        self.client = client
        self.timeout = None if timeout is None else check_positive(timeout, "timeout")

    def ask(self, task: Callable[..., Any], shards: Sequence[Shard], *args: Sequence[Any]) -> list[Any]:
        """task(shard, argument, ...) of each shard, with its own arguments; the answers in their order."""
        bundles, members = self._bundled(shards)
        found = self.gather(self._submit(task, bundles, members, args), [Held(shards, m) for m in members])
        answers: list[Any] = [None] * len(shards)
        for member, answered in zip(members, found, strict=True):
            for k, one in zip(member, answered, strict=True):
                answers[k] = one
        return answers

    def make(self, task: Callable[..., Any], shards: Sequence[Shard], *args: Sequence[Any]) -> list[Shard]:
        """As `ask`, but what the tasks make stays with the workers, as shards of the same rows."""
        bundles, members = self._bundled(shards)
        made: dict[int, Bundle] = {}
        for future, bundle, member in zip(
            self._submit(task, bundles, members, args), bundles, members, strict=True
        ):
            made |= dict.fromkeys(member, Bundle(future, bundle.worker))
        return [Shard(shard.first, shard.last, made[k]) for k, shard in enumerate(shards)]

    def _submit(
        self,
        task: Callable[..., Any],
        bundles: list[Bundle],
        members: list[list[int]],
        args: Sequence[Sequence[Any]],
    ) -> list[Any]:
        """One task where each bundle is; elsewhere, with its shards made anew, if that worker is gone.

        It goes where the bundle is by itself, being far smaller. A task that names its worker would wait for
        ever if all workers were killed at once, since those that come instead have other names.
        """
        own = [[[values[k] for k in member] for member in members] for values in args]
        futures: list[Any] = self.client.map(
            each_of, [task] * len(bundles), [bundle.future for bundle in bundles], *own, pure=False
        )
        return futures

    @staticmethod
    def _bundled(shards: Sequence[Shard]) -> tuple[list[Bundle], list[list[int]]]:
        """The bundles of some shards, all of whose shards these are, and the places of these in each."""
        bundles: dict[int, Bundle] = {}
        members: dict[int, list[int]] = {}
        for k, shard in enumerate(shards):
            bundles[id(shard.bundle)] = shard.bundle
            members.setdefault(id(shard.bundle), []).append(k)
        return list(bundles.values()), list(members.values())

    def gather(self, futures: list[Any], shards: Sequence[Any]) -> list[Any]:
        """What the tasks say. Errors of theirs are raised as they are."""
        began = time.monotonic()
        try:
            with self.client.as_current():  # it need not be the default one
                wait(futures, timeout=self.timeout)
            left = None if self.timeout is None else max(1.0, self.timeout - (time.monotonic() - began))
            return list(self.client.sync(self.client._gather, futures, callback_timeout=left))
        except TimeoutError:
            raise TimeoutError(self._silent(futures, shards)) from None
        except (CancelledError, KilledWorker) as error:
            raise ShardLostError(self._lost(futures, shards, error)) from error
        finally:
            self.client.cancel([f for f in futures if f.status == "pending"], force=True)

    def _silent(self, futures: list[Any], shards: Sequence[Any]) -> str:
        missing = [s for f, s in zip(futures, shards, strict=True) if f.status == "pending"]
        shown = "; ".join(f"{s.rows} at {s.worker}" for s in missing[:3]) + (
            "; ..." if len(missing) > 3 else ""
        )
        return f"no answer within timeout={self.timeout:g} seconds about {shown or 'any shard'}"

    def _lost(self, futures: list[Any], shards: Sequence[Any], error: BaseException) -> str:
        pairs = zip(futures, shards, strict=True)
        lost = [s for f, s in pairs if f.status in (*_LOST, "error") or s.future.status in _LOST]
        shown = ", ".join(s.rows for s in lost[:3]) + (", ..." if len(lost) > 3 else "")
        if isinstance(error, KilledWorker):
            return f"{shown or 'examples'}: every worker that was asked about them died ({error})"
        return (
            f"{shown or 'examples'} were lost with their worker and cannot be made again; keep the data in "
            "Dask collections that read or compute them, not in futures of client.scatter"
        )


def client_of(client: Client | None) -> Client:
    """The client given, or the one that is there."""
    try:
        found = get_client() if client is None else client
    except ValueError:
        raise ValueError("client: there is none; make a distributed.Client, or pass client=") from None
    if not isinstance(found, Client):
        raise TypeError(f"client: expected a distributed.Client, got {found!r}")
    if found.asynchronous:
        raise ValueError(
            "client: an asynchronous one cannot be waited for; make one without asynchronous=True"
        )
    return found


def workers_of(client: Client, timeout: float | None) -> list[str]:
    """The addresses of the workers, in order; an error if there are none in time."""
    deadline = time.monotonic() + (30.0 if timeout is None else timeout)
    while True:
        found = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError("client: the cluster has no worker")
        time.sleep(0.05)


def threads_here() -> int:
    """As many as the worker has that runs this task."""
    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return 1
