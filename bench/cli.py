"""The command line from start to end, beside `python -c "import numpy"`: `python -m bench.cli`.

The authors' toy set (10,000 × 16; the folder svm_gsu_toy of SVMGSU_DATA): text in, model and predictions out.
Every program is a new process, in turns. For the clock and for processor time (user and system), which says
more on a busy machine: the least of N rounds, its ratio to numpy's least, and the median of the rounds' own
ratios. Writes cli.json and cli.md.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import svmgsu

from .timing import machine, of_process

SVMGSU = "import sys; from svmgsu.cli import main; sys.exit(main())"
TRAIN = "import sys; from svmgsu.cli.gsvm import train_main; sys.exit(train_main())"
PREDICT = "import sys; from svmgsu.cli.gsvm import predict_main; sys.exit(predict_main())"
LIMIT = 3.0


def programs(data: Path, out: Path) -> dict[str, list[str]]:
    """The code that each console script runs, with its arguments."""
    means, labels, cov = (str(data / f"{name}.dat") for name in ("mean", "labels", "cov_diag"))
    files = [means, "--labels", labels, "--cov", cov]
    model = str(out / "toy.model")
    one = [SVMGSU, "train", *files, "--model", "linear", "--set", "lam=1", "-o", str(out / "a")]
    return {
        "import numpy": ["import numpy"],
        "svmgsu train": one,
        "svmgsu train, probabilities of the training set": [*one, "--set", "probability=train"],
        "gsvm-train": [TRAIN, "-d", "1", means, labels, cov, model],
        "gsvm-predict": [PREDICT, means, model, str(out / "g.txt")],
    }


def measure(data: Path, repeat: int) -> dict[str, dict[str, float]]:
    """Seconds and ratios of each program; a round runs each once."""
    package = Path(svmgsu.__file__).parent
    compileall.compile_dir(package, quiet=1)  # as pip does when it installs
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        rivals = programs(data, Path(folder))
        rounds = [[of_process(words, environment) for words in rivals.values()] for _ in range(repeat)]
    seconds = np.array(rounds)  # (rounds, programs, clock and processor)
    names = [*rivals, "gsvm-train and gsvm-predict"]
    seconds = np.concatenate([seconds, seconds[:, 3:5].sum(axis=1, keepdims=True)], axis=1)
    median = np.median(seconds / seconds[:, :1], axis=0)  # neighbours in time, so that load falls on both
    return {
        name: {
            "clock": float(least[0]),
            "processor": float(least[1]),
            "clock_ratio": float(ratio[0]),
            "processor_ratio": float(ratio[1]),
        }
        for name, least, ratio in zip(names, seconds.min(axis=0), median, strict=True)
    }


def table(found: dict[str, dict[str, float]]) -> str:
    """In Markdown."""
    base = found["import numpy"]
    head = "ms | times numpy, of the least | median of rounds"
    lines = [f"| program | clock, {head} | processor, {head} |", "|---|---|---|---|---|---|---|"]
    for name, row in found.items():
        cells = [
            f"{1e3 * row[k]:.0f} | {row[k] / base[k]:.2f} | {row[f'{k}_ratio']:.2f}"
            for k in ("clock", "processor")
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SVMGSU_DATA"), help="default: SVMGSU_DATA")
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    if not args.data:
        parser.error("--data: the folder that holds svm_gsu_toy is wanted")
    load = os.getloadavg()[0]
    found = measure(Path(args.data) / "svm_gsu_toy", args.repeat)
    text = (
        "# The command line, start to end\n\n"
        f"{__doc__.split(chr(10), 2)[2].strip()} The limit is {LIMIT:g} times. Load average at the start: "
        f"{load:.1f} on {os.cpu_count()} cores.\n\n{table(found)}\n"
    )
    print(text)
    result: dict[str, Any] = {"machine": machine(), "repeat": args.repeat, "seconds": found}
    (args.output / "cli.json").write_text(json.dumps(result, indent=2) + "\n")
    (args.output / "cli.md").write_text(text)


if __name__ == "__main__":
    main()
