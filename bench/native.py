"""Rivals written in C++ (native.cpp), compiled for this very machine when they are first needed."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import svmgsu

FLAGS = ["-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-shared", "-fPIC"]


class NoCompiler(RuntimeError):
    """There is no C++ compiler, or it failed."""


def compiled(source: str, target: Path, *flags: str) -> None:
    """Compiles a file of this folder; Eigen is the one that svmgsu was installed with."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise NoCompiler(f"no C++ compiler: c++ is wanted for bench/{source}")
    include = Path(svmgsu.get_include())
    paths = [f"-I{include}", f"-I{include / 'svmgsu' / 'eigen3'}"]
    words = [compiler, "-std=c++17", *paths, str(Path(__file__).with_name(source)), "-o", str(target), *flags]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise NoCompiler(f"{compiler} could not compile bench/{source}:\n{done.stderr}")


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled rivals."""
    with tempfile.TemporaryDirectory() as folder:
        compiled("native.cpp", Path(folder) / "native.so", *FLAGS)
        loaded = ctypes.CDLL(str(Path(folder) / "native.so"))
    loaded.read_streams_double.restype = loaded.read_streams_float.restype = ctypes.c_double
    return loaded


@functools.cache
def available() -> bool:
    """Whether they are to be had; says why not."""
    try:
        library()
    except NoCompiler as reason:
        print(f"without the rivals in C++: {reason}", file=sys.stderr, flush=True)
        return False
    return True


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def read_streams(means: np.ndarray, variances: np.ndarray, threads: int) -> float:
    """The sum of both arrays, each read once, four rows of either at a time: the limit for a pass."""
    function = library().read_streams_double if means.dtype == np.float64 else library().read_streams_float
    count, n = means.shape
    result: float = function(
        _address(means), _address(variances), ctypes.c_int64(count), ctypes.c_int64(n), ctypes.c_int(threads)
    )
    return result
