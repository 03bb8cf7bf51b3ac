"""Training from files that are larger than memory: readings of the data, peak memory, and speed.

python -m bench.streamed --size 300MB --limit 512MB --folder /tmp

makes float32 samples with variances of each feature (100 features), and trains in a process whose memory is
limited (RLIMIT_DATA), to 1e-3 and to 1e-6. Bytes are those of /proc/self/io; raw reading is that of the same
files in order.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from svmgsu.outofcore.open import memory_of

FEATURES = 100
ROWS = 20_000  # made at a time


def make(folder: Path, size: int) -> int:
    """Writes means, variances and labels; returns the number of samples."""
    samples = size // (8 * FEATURES)
    rng = np.random.default_rng(0)
    direction = rng.normal(size=FEATURES).astype(np.float32) / FEATURES**0.5
    labels = np.empty(samples)
    with open(folder / "means", "wb") as means, open(folder / "variances", "wb") as variances:
        for first in range(0, samples, ROWS):
            count = min(ROWS, samples - first)
            sign = np.where(rng.random(count) < 0.5, -1.0, 1.0)
            labels[first : first + count] = sign
            X = rng.standard_normal((count, FEATURES), dtype=np.float32)
            means.write((X + sign[:, np.newaxis].astype(np.float32) * direction).tobytes())
            variances.write((rng.random((count, FEATURES), dtype=np.float32) ** 2).tobytes())
    np.save(folder / "labels.npy", labels)
    return samples


def counter(name: str) -> int:
    """A number of /proc/self/io."""
    text = Path("/proc/self/io").read_text()
    return int(dict(line.split(": ") for line in text.strip().splitlines())[name])


def train(folder: Path, samples: int, limit: int, memory: int, tolerance: float) -> dict[str, float]:
    """One training in this process, whose memory is limited first."""
    from svmgsu import _core
    from svmgsu.outofcore.blocks import FlatFile

    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    shape = (samples, FEATURES)
    means, variances = (
        FlatFile.of(str(folder / name), 0, "float32", shape).core() for name in ("means", "variances")
    )
    labels = np.load(folder / "labels.npy")
    began, read = time.perf_counter(), counter("rchar")
    data = _core.Streamed(means, (("diagonal", variances, 1.0),), labels, None, False, memory, 0, True, 0)
    options = _core.Options()
    options.lam, options.tolerance = 1e-3, tolerance
    result = _core.solve(data, options)
    seconds = time.perf_counter() - began
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert peak is not None
    return {
        "tolerance": tolerance,
        "relative gap": result.gap / result.objective,
        "passes": result.history[-1].passes,
        "readings": (counter("rchar") - read) / data.bytes,
        "seconds": seconds,
        "peak MB": int(peak[1]) / 1000,
        "state per example": 32,
    }


def raw(folder: Path) -> float:
    """Seconds for one reading of the files in their order, past the system's cache where that can be."""
    piece = 8 << 20
    began = time.perf_counter()
    buffer = mmap.mmap(-1, piece)
    for name in ("means", "variances"):
        try:
            file = os.open(folder / name, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
        except OSError:
            file = os.open(folder / name, os.O_RDONLY)
        while os.readv(file, [buffer]):
            pass
        os.close(file)
    return time.perf_counter() - began


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=memory_of, default=memory_of("300MB"))
    parser.add_argument("--limit", type=memory_of, default=memory_of("512MB"))
    parser.add_argument("--memory", type=memory_of, default=memory_of("256MB"), help="of the core")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        folder, tolerance = Path(args.child[0]), float(args.child[1])
        print(json.dumps(train(folder, args.samples, args.limit, args.memory, tolerance)))
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        samples = make(Path(name), args.size)
        print(f"{samples} samples of {FEATURES} features, {8 * FEATURES * samples / 1e6:.0f} MB")
        for tolerance in (1e-3, 1e-6):
            command = [sys.executable, "-m", "bench.streamed", "--child", name, str(tolerance)]
            command += ["--samples", str(samples), "--limit", str(args.limit), "--memory", str(args.memory)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            found["raw seconds"] = raw(Path(name))
            found["share of raw"] = found["raw seconds"] * found["readings"] / found["seconds"]
            print(json.dumps({key: round(value, 9) for key, value in found.items()}))


if __name__ == "__main__":
    main()
