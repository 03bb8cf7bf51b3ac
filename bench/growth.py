"""How time and memory of `GSUClassifier` grow with the number of objects, its search included.

    python -m bench.growth [--sizes 10000 100000] [--output bench/results/growth.md]

Twelve features with error bars, in float32; 300 Fourier features, all settings the default; one thread. Every
size is fitted in a process of its own, whose largest memory counts. Sizes that were measured before are kept
in the JSON file beside the page.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import svmgsu

HERE = Path(__file__).parent / "results" / "growth.md"
FEATURES, KINDS = 12, 6
WANTED = 4.0  # GB


def objects(count: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Objects of six clusters behind noise, their error bars, and two classes with a curved boundary."""
    rng = np.random.default_rng(seed)
    centres = 1.2 * np.random.default_rng(7).normal(size=(KINDS, FEATURES))
    X = centres[rng.integers(KINDS, size=count)] + 0.6 * rng.normal(size=(count, FEATURES))
    f = np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2] - 0.5 * (X[:, 3] ** 2 - 1)
    y = (f + 0.3 * rng.normal(size=count) > 0).astype(int)
    E = rng.uniform(0.1, 0.6, size=X.shape).astype(np.float32)
    return (X + E * rng.normal(size=X.shape)).astype(np.float32), E, y


def measure(count: int) -> dict[str, float]:
    """Processor seconds and the largest memory of a fit, and how good it is on 5,000 new objects."""
    X, E, y = objects(count)
    new, bars, truth = objects(5000, seed=1)
    began = time.process_time()
    model = svmgsu.GSUClassifier(threads=1).fit(X, y, std=E)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "memory": memory, "accuracy": model.score(new, truth, std=bars)}


def page(found: dict[str, dict[str, float]]) -> str:
    """The results as a table."""
    lines = [
        "# Growth of a curved fit",
        "",
        "`python -m bench.growth` writes this page: `GSUClassifier()` on 12 features with error bars,",
        "300 Fourier features, the search included. Settings are chosen with at most 20,000 objects, and the",
        "population is learnt from 50,000; the last fit has all. Seconds are of the processor, one thread,",
        f"on a shared machine; memory is the largest of the process (wanted: {WANTED:g} GB at a million",
        "objects), and the accuracy is that on 5,000 new objects.",
        "",
        "| objects | seconds | memory, GB | accuracy |",
        "|---|---|---|---|",
    ]
    for count, row in sorted(found.items(), key=lambda item: int(item[0])):
        seconds, memory = f"{row['seconds']:.0f}", f"{row['memory']:.2f}"
        lines.append(f"| {int(count):,} | {seconds} | {memory} | {row['accuracy']:.3f} |")
    if "1000000" not in found:
        lines += ["", "A million objects were not measured yet."]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.growth")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one is not None:
        print(json.dumps(measure(options.one)))
        return 0
    kept = options.output.with_suffix(".json")
    found = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    for count in options.sizes:
        words = [sys.executable, "-m", "bench.growth", "--one", str(count)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        found[str(count)] = json.loads(done.stdout.splitlines()[-1])
        kept.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    options.output.write_text(page(found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
