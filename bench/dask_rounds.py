"""What a Dask cluster on this machine costs beyond computing: a round, and a whole fit beside local threads.

python -m bench.dask_rounds --out bench/results/dask.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
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


def cluster_of(workers: int) -> Any:
    """Processes with one thread each."""
    import distributed

    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
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


def main() -> None:
    """Prints the figures, and writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="of each of two workers")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each kind; 0 for rounds alone")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    found: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "load": os.getloadavg(),
        "rounds": [a_round(workers) for workers in (1, 2, 3, 4)],
    }
    print(json.dumps(found, indent=1), flush=True)
    if args.repeats:
        found["fit"] = a_fit(args.megabytes, args.repeats)
        print(json.dumps(found["fit"], indent=1))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
