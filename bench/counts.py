"""Instructions of small problems (counts.cpp), counted by callgrind: what noise cannot touch."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import svmgsu

from . import native
from .rows import Case, Row, Settings, Skipped

PROBLEMS = {
    "diagonal": "diagonal pass, 1000 × 50",
    "full": "full pass, 1000 × 50",
    "low-rank": "low-rank pass, 1000 × 3 × 50",
    "sparse": "CSR pass, 1000 × 17 of 50",
    "normal": "Φ, φ and loss of 10000 numbers",
    "hessian": "Hessian product, diagonal, 1000 × 50",
    "sgd": "500 SGD steps of 20 examples, 50 features",
    "training": "training to 1e-6, 500 × 20",
}


class Count(NamedTuple):
    instructions: int
    numbers: int
    instruction_set: str


def cases(settings: Settings) -> list[Case]:
    return [Case(f"instructions, {problem}", partial(measure, problem)) for problem in PROBLEMS]


def measure(problem: str) -> list[Row]:
    found = count(problem)
    return [
        Row(
            f"instructions a number: {PROBLEMS[problem]}",
            found.instructions / found.numbers,
            unit="",
            less=True,
            note=f"{found.instructions:,} in all, {found.instruction_set}",
        )
    ]


def built_by() -> str:
    """What counts depend on besides the code: the compiler, and the instruction set under callgrind."""
    return f"{svmgsu._core.config()['compiler']}, {count('normal').instruction_set}"


@functools.cache
def count(problem: str) -> Count:
    """Between entry and exit of the program's function `measured`."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Skipped("valgrind is not installed")
    tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null"]
    only = ["--collect-atstart=no", "--toggle-collect=measured"]
    done = subprocess.run(
        [valgrind, *tool, *only, str(program()), problem],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=True,
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected is not None, done.stderr
    numbers, instruction_set = done.stdout.strip().split(maxsplit=1)
    return Count(int(collected[1]), int(numbers), instruction_set)


@functools.cache
def program() -> Path:
    """The compiled counts.cpp, linked with the library that is installed beside svmgsu."""
    package = svmgsu.get_cmake_dir()
    targets = Path(package, "svmgsuTargets.cmake").read_text()
    definitions = re.search(r'INTERFACE_COMPILE_DEFINITIONS "(.*)"', targets)
    flags = [f"-D{name}" for name in definitions[1].split(";")] if definitions else []
    archive = Path(package).parents[1] / "libsvmgsu.a"
    target = Path(_folder().name) / "counts"
    try:
        # Hessian products are for solvers: their header is not installed.
        private = Path(__file__).parents[1] / "cpp" / "src"
        native.compiled("counts.cpp", target, "-O2", "-fopenmp", f"-I{private}", *flags, str(archive))
    except native.NoCompiler as reason:
        raise Skipped(str(reason)) from reason
    return target


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Removed when Python ends."""
    return tempfile.TemporaryDirectory(prefix="svmgsu-counts-")
