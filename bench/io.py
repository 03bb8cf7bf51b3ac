"""How fast text files are read, beside others: `python -m bench.io`.

The same numbers as the authors' text and as svmlight, in a temporary folder that is deleted. One thread, in
turns; the least processor time of N counts. Writes io.json and io.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

import svmgsu
from svmgsu import _core

from .timing import interleaved, machine

FEATURES = 200
PLAIN_SHARE = 20  # the plain Python reader gets one line in so many, for it is slow


def seconds_of(function: Callable[[], Any]) -> float:
    """Processor time: all use one thread, and on a busy machine it says more than the clock."""
    began = time.process_time()
    function()
    return time.process_time() - began


def plain_reader(path: Path) -> np.ndarray:
    """What one writes without a library: split, int, float."""
    rows = []
    with open(path) as lines:
        for line in lines:
            row = np.zeros(FEATURES)
            for entry in line.split()[1:]:
                j, _, value = entry.partition(":")
                row[int(j) - 1] = float(value)
            rows.append(row)
    return np.array(rows)


def rounded(a: np.ndarray, digits: int) -> np.ndarray:
    """As if printed with so many significant digits."""
    return np.array([float(f"{v:.{digits}g}") for v in a.ravel()]).reshape(a.shape)


class Files:
    """Means, diagonal and full covariances, svmlight, and a short means file, of about `megabytes` each."""

    def __init__(self, folder: Path, megabytes: float, digits: int) -> None:
        rng = np.random.default_rng(0)
        block = rounded(rng.normal(size=(500, FEATURES)), digits)
        a_row = len(_core.format_dense(["doc_123456"], block[:1].copy(), FEATURES, "feature"))
        self.samples = max(PLAIN_SHARE, int(megabytes * 1e6 / a_row))
        X = block[np.arange(self.samples) % len(block)]
        ids = [f"doc_{i}" for i in range(self.samples)]
        self.means, self.diagonal, self.full = folder / "means", folder / "diagonal", folder / "full"
        self.svmlight, self.short = folder / "svmlight", folder / "short"
        svmgsu.io.write(svmgsu.Gaussians(X, svmgsu.Diagonal(X * X)), self.means, cov=self.diagonal, ids=ids)
        svmgsu.io.write(X, self.svmlight, format="svmlight", y=np.ones(len(X)))
        svmgsu.io.write(X[: len(X) // PLAIN_SHARE], self.short)
        self._write_full(np.abs(block[:, : FEATURES // 2]), megabytes)

    def _write_full(self, rows: np.ndarray, megabytes: float) -> None:
        """Both triangles of matrices of 100 features, row after row."""
        n, written, i = rows.shape[1], 0, 0
        with open(self.full, "w") as file:
            while written < megabytes * 1e6:
                v = [repr(x) for x in rows[i % len(rows)].tolist()]
                entries = (f"{a + 1},{b + 1}:{v[(a + b) % n]}" for a in range(n) for b in range(n))
                written += file.write(f"doc_{i} " + " ".join(entries) + "\n")
                i += 1


def measure(megabytes: float, digits: int, repeat: int) -> dict[str, Any]:
    """Megabytes per second of every reader."""

    def parse(path: Path, format: Any) -> Callable[[], Any]:
        return lambda: _core.read_rows(str(path), format, path.name, 2**31 - 1, "", False, False, False, 1)

    with tempfile.TemporaryDirectory() as name:
        files = Files(Path(name), megabytes, digits)
        readers: dict[str, tuple[Path, Callable[[], Any]]] = {
            "means": (files.means, parse(files.means, "means")),
            "diagonal covariances": (files.diagonal, parse(files.diagonal, "covariances")),
            "full covariances": (files.full, parse(files.full, "covariances")),
            "io.read, means": (
                files.means,
                lambda: svmgsu.io.read(files.means, format="text", threads=1),
            ),
            "svmlight": (files.svmlight, lambda: svmgsu.io.read_svmlight(files.svmlight, threads=1)),
            "load_svmlight_file": (files.svmlight, lambda: load_svmlight_file(str(files.svmlight))),
            "plain Python": (files.short, lambda: plain_reader(files.short)),
        }
        bytes_ = {reader: path.stat().st_size for reader, (path, _) in readers.items()}
        runs = {reader: partial(seconds_of, run) for reader, (_, run) in readers.items()}
        best = interleaved(runs, repeat, budget=120.0)
    speed = {reader: bytes_[reader] / 1e6 / best[reader] for reader in readers}
    return {"digits": digits, "megabytes": bytes_["means"] / 1e6, "megabytes_per_second": speed}


def report(results: dict[str, Any]) -> str:
    lines = [
        "# Reading text files",
        "",
        f"{results['machine']['cpu']}, best of {results['repeat']}, one thread, processor time; load at the "
        f"start {results['machine']['load_at_start']}.",
        "",
    ]
    for table in results["parsers"]:
        speed = table["megabytes_per_second"]
        lines += [
            f"Files of {table['megabytes']:.0f} MB, numbers of {table['digits']} digits "
            f"(asked: ≥ 400 MB/s, ≥ 15 × scikit-learn):",
            "",
            "| reader | MB/s | × load_svmlight_file | × plain Python |",
            "|---|---|---|---|",
        ]
        for rival, value in speed.items():
            sklearn, plain = value / speed["load_svmlight_file"], value / speed["plain Python"]
            lines.append(f"| {rival} | {value:.0f} | {sklearn:.1f} | {plain:.0f} |")
        lines.append("")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.io", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="files of 10 MB")
    parser.add_argument("--megabytes", type=float, help="the size of a file; default: 200, quick 10")
    parser.add_argument("--output", type=Path, default=Path("bench/results"), help="default: %(default)s")
    parser.add_argument("--repeat", type=int, default=5, help="rounds, of which the best counts; default: 5")
    args = parser.parse_args()
    megabytes = args.megabytes or (10.0 if args.quick else 200.0)
    results: dict[str, Any] = {"machine": machine(), "repeat": args.repeat, "parsers": []}
    for digits in (6, 17):
        results["parsers"].append(measure(megabytes, digits, args.repeat))
    args.output.mkdir(parents=True, exist_ok=True)
    text = report(results)
    (args.output / "io.md").write_text(text)
    (args.output / "io.json").write_text(json.dumps(results, indent=1) + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
