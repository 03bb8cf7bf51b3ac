"""Fits in a loop on a local Dask cluster while workers are killed at random: same bits, no hang, flat memory.

python -m bench.soak --minutes 30 --out bench/results/soak.json
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np


def resident() -> float:
    """Megabytes of this process, which has the scheduler too."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def data() -> tuple[Any, Any, Any]:
    """20,000 examples of 20 features."""
    rng = np.random.default_rng(0)
    X, E = rng.normal(size=(20_000, 20)), rng.uniform(0.1, 0.5, size=(20_000, 20))
    return X, E, np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1, 0)


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


def main() -> None:
    """Prints a line per ten fits, and ends with an error if a fit differs from that of memory."""
    import dask
    import dask.array as da
    import distributed

    import svmgsu
    import svmgsu.dask

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--pause", type=float, default=10.0, help="seconds between kills, on average")
    parser.add_argument("--out", type=Path, help="a JSON file for what was seen")
    args = parser.parse_args()
    X, E, y = data()
    known = svmgsu.train(X, y, std=E, probability=False)
    dX, dE = (da.from_array(a, chunks=(4000, -1)) for a in (X, E))
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),  # a worker killed twice comes back
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, death_timeout=600
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killer = Killer(cluster, args.pause)
        seen: list[dict[str, float]] = []
        fits, longest, began = 0, 0.0, time.monotonic()
        while time.monotonic() - began < 60 * args.minutes:
            start = time.monotonic()
            found = svmgsu.dask.train(client, dX, y, std=dE, probability=False, timeout=600)
            assert np.array_equal(found.coef_, known.coef_), "another plane than in memory"
            fits += 1
            del found
            gc.collect()
            longest = max(longest, time.monotonic() - start)
            if fits % 10 == 0:
                facts = {
                    "seconds": round(time.monotonic() - began),
                    "fits": fits,
                    "kills": killer.kills,
                    "resident_mb": round(resident()),
                    "futures": len(client.futures),
                    "tasks": len(cluster.scheduler.tasks),
                    "longest_fit_seconds": round(longest, 1),
                }
                seen.append(facts)
                print(facts, flush=True)
        killer.stop()
    print(f"{fits} fits, {killer.kills} kills, no other bit, {resident():.0f} MB resident")
    if args.out:
        args.out.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
