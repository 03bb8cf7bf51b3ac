"""Fits in a loop on a local Dask cluster while workers are killed at random: same bits, no hang, flat memory.

python -m bench.soak --minutes 30
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time

import numpy as np


def resident() -> float:
    """Megabytes of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


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
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X, E = rng.normal(size=(20_000, 20)), rng.uniform(0.1, 0.5, size=(20_000, 20))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1, 0)
    known = svmgsu.train(X, y, std=E, probability=False)
    dX, dE = (da.from_array(a, chunks=(4000, -1)) for a in (X, E))
    over = threading.Event()
    kills = fits = 0
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),  # a worker killed twice comes back
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill() -> None:
            nonlocal kills
            while not over.wait(random.expovariate(1 / args.pause)):
                alive = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                if len(alive) == 2:
                    os.kill(random.choice(alive), signal.SIGKILL)
                    kills += 1

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        began = time.monotonic()
        while time.monotonic() - began < 60 * args.minutes:
            found = svmgsu.dask.train(client, dX, y, std=dE, probability=False, timeout=120)
            assert np.array_equal(found.coef_, known.coef_), "another plane than in memory"
            fits += 1
            if fits % 10 == 0:
                seconds = time.monotonic() - began
                print(
                    f"{seconds:.0f} s: {fits} fits, {kills} kills, {resident():.0f} MB resident", flush=True
                )
        over.set()
        killer.join()
    print(f"{fits} fits, {kills} kills, no other bit, {resident():.0f} MB resident")


if __name__ == "__main__":
    main()
