"""What a Dask cluster on this machine costs beyond computing: a round, and a whole fit beside local threads.

python -m bench.dask_rounds --out bench/results/dask.json
python -m bench.dask_rounds --soak 30 --out bench/results/soak.json

`--soak` fits for some minutes while workers are killed at random: same bits, no hang, flat memory.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

FEATURES = 50
ROUNDS = 200


def some(block: int, rows: int) -> tuple[Any, Any, Any]:
    """Examples of a block: values, errors, labels."""
    rng = np.random.default_rng(block)
    X, E = rng.normal(size=(rows, FEATURES)), rng.uniform(0.1, 0.5, size=(rows, FEATURES))
    return X, E, np.where(X[:, 0] + 0.5 * rng.normal(size=rows) > 0, 1, 0)


def both(block: int, rows: int) -> Any:
    """Values and errors of a block beside each other."""
    return np.hstack(some(block, rows)[:2])


def cluster_of(workers: int, **more: Any) -> Any:
    """Processes with one thread each."""
    import distributed

    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50, **more
    )


def a_round(workers: int) -> dict[str, float]:
    """Milliseconds of a question to all shards, and of computing an answer, which is next to nothing.

    The times of processors, of the client with the scheduler and of the busiest worker, do not depend on
    what else a machine is doing.
    """
    import distributed

    from svmgsu import Gaussians
    from svmgsu.dask.rounds import Bundle, Rounds, Shard
    from svmgsu.fit.options import Options
    from svmgsu.outofcore.shards import answer, mapped, split

    with cluster_of(workers) as cluster, distributed.Client(cluster) as client:
        X, E, y = some(0, 2000 * workers)
        rounds, names = Rounds(client, 60), sorted(client.scheduler_info(n_workers=-1)["workers"])
        parts = split(Gaussians(X, std=E), 2.0 * y - 1, workers)
        asked: list[bytes] = []

        def local(task: Any, shards: Any, questions: Any) -> Any:
            asked[:] = questions
            return map(task, shards, questions)

        from svmgsu import _core

        _core.solve(mapped(local, parts, 2.0 * y - 1), Options().core(len(X), 1e-2))
        shards = [
            Shard(k, k + 1, Bundle(client.scatter([[part]], workers=[name], hash=False)[0], name))
            for k, (part, name) in enumerate(zip(parts, names, strict=True))
        ]
        rounds.ask(answer, shards, asked)  # the first has to be prepared
        times, here, there = [], time.process_time(), client.run(time.process_time)
        for _ in range(ROUNDS):
            began = time.perf_counter()
            rounds.ask(answer, shards, asked)
            times.append(time.perf_counter() - began)
        here = time.process_time() - here
        busy = max(now - there[name] for name, now in client.run(time.process_time).items())
        computing = []
        for _ in range(20):
            began = time.perf_counter()
            answer(parts[0], asked[0])
            computing.append(time.perf_counter() - began)
    found = {"workers": workers, "median_ms": np.median(times), "least_ms": min(times)}
    found["computing_ms"] = min(computing)
    found["client_cpu_ms"], found["worker_cpu_ms"] = here / ROUNDS, busy / ROUNDS
    return {k: round(1e3 * v, 2) if k != "workers" else v for k, v in found.items()}


def a_fit(megabytes: int, repeats: int) -> dict[str, Any]:
    """Seconds of a fit on two workers with `megabytes` each, and on two threads, one after the other."""
    import dask
    import dask.array as da
    import distributed

    import svmgsu
    import svmgsu.dask

    chunk = megabytes * 1_000_000 // (4 * 16 * FEATURES)
    y = np.concatenate([some(k, chunk)[2] for k in range(8)])
    local = np.concatenate([both(k, chunk) for k in range(8)])
    X, E = np.ascontiguousarray(local[:, :FEATURES]), np.ascontiguousarray(local[:, FEATURES:])
    del local
    found: dict[str, Any] = {"examples": len(y), "gigabytes": round(2 * X.nbytes / 1e9, 2)}
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        whole = da.concatenate(
            [da.from_delayed(dask.delayed(both)(k, chunk), (chunk, 2 * FEATURES), float) for k in range(8)]
        ).persist()
        dX, dE = (whole[:, part].persist() for part in (slice(FEATURES), slice(FEATURES, None)))
        distributed.wait([whole, dX, dE])
        del whole  # the workers hold what the threads do: values and errors as two arrays
        kinds = {
            "local": lambda: (
                svmgsu.LinearSVMGSU(lam=0.01, probability=False, threads=2).fit(X, y, std=E).model_
            ),
            "dask": lambda: svmgsu.dask.train(client, dX, y, std=dE, probability=False),
        }
        found |= {f"{kind}_{what}": [] for kind in kinds for what in ("seconds", "cpu_seconds")}

        def busy() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        for _ in range(repeats):
            planes = []
            for kind, fit in kinds.items():
                before, began = busy(), time.perf_counter()
                planes.append(fit().coef_)
                found[f"{kind}_seconds"].append(round(time.perf_counter() - began, 2))
                found[f"{kind}_cpu_seconds"].append(round(busy() - before, 2))
            assert np.array_equal(*planes)
    found["ratio"] = round(min(found["dask_seconds"]) / min(found["local_seconds"]), 2)
    found["median_ratio"] = round(
        float(np.median(found["dask_seconds"]) / np.median(found["local_seconds"])), 2
    )
    found["cpu_ratio"] = round(min(found["dask_cpu_seconds"]) / min(found["local_cpu_seconds"]), 2)
    return found


class Killer:
    """Kills one of two workers now and then, as long as both are there."""

    def __init__(self, cluster: Any, pause: float) -> None:
        self.cluster, self.pause, self.kills = cluster, pause, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(random.expovariate(1 / self.pause)):
            alive = [nanny.pid for nanny in self.cluster.workers.values() if nanny.pid]
            if len(alive) == len(self.cluster.scheduler.workers) == 2:
                os.kill(random.choice(alive), signal.SIGKILL)
                self.kills += 1

    def stop(self) -> None:
        """No kill after this."""
        self._over.set()
        self._thread.join()


def soak(minutes: float, pause: float) -> list[dict[str, float]]:
    """Fits while workers are killed, every `pause` seconds on average; each must have the bits of memory."""
    import dask
    import dask.array as da
    import distributed

    import svmgsu
    import svmgsu.dask

    X, E, y = some(0, 10_000)
    known = svmgsu.train(X, y, std=E, probability=False)
    dX, dE = (da.from_array(a, chunks=(2000, -1)) for a in (X, E))
    seen: list[dict[str, float]] = []
    # A worker that was killed twice comes back.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        cluster_of(2, death_timeout=600) as cluster,
        distributed.Client(cluster) as client,
    ):
        killer = Killer(cluster, pause)
        fits, longest, began = 0, 0.0, time.monotonic()
        while time.monotonic() - began < 60 * minutes:
            start = time.monotonic()
            found = svmgsu.dask.train(client, dX, y, std=dE, probability=False, timeout=600)
            assert np.array_equal(found.coef_, known.coef_), "another plane than in memory"
            fits += 1
            del found
            gc.collect()
            longest = max(longest, time.monotonic() - start)
            if fits % 10 == 0:
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                facts = {
                    "seconds": round(time.monotonic() - began),
                    "fits": fits,
                    "kills": killer.kills,
                    "resident_mb": round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6),
                    "futures": len(client.futures),
                    "tasks": len(cluster.scheduler.tasks),
                    "longest_fit_seconds": round(longest, 1),
                }
                seen.append(facts)
                print(facts, flush=True)
        killer.stop()
    return seen


def main() -> None:
    """Prints the figures, and writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="of each of two workers")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each kind; 0 for rounds alone")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="fit while workers are killed instead")
    parser.add_argument("--pause", type=float, default=10.0, help="seconds between kills, on average")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    found: Any
    if args.soak:
        found = soak(args.soak, args.pause)
    else:
        found = {
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
            "load": os.getloadavg(),
            "rounds": [a_round(workers) for workers in (1, 2, 3, 4)],
        }
        if args.repeats:
            found["fit"] = a_fit(args.megabytes, args.repeats)
        print(json.dumps(found, indent=1))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
