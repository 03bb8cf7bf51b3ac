"""How this installation was built, and where a C++ application finds its headers and CMake package."""

from __future__ import annotations

import os

from .. import _core

_HERE = os.path.dirname(os.path.abspath(_core.__file__))  # where the build installs, editable or not


def show_config() -> None:
    """Prints version, compiler, Eigen, OpenMP, threads and the instruction set in use."""
    config = _core.config()
    openmp = config["openmp"]
    config["openmp"] = "no (one thread)" if openmp is None else f"yes (standard of {openmp[:4]}-{openmp[4:]})"
    width = max(map(len, config))
    for name, value in config.items():
        print(f"{name.replace('_', ' '):<{width}}  {value}")


def get_include() -> str:
    """The folder for an include path: `#include <svmgsu/svmgsu.hpp>`."""
    return os.path.join(_HERE, "include")


def get_cmake_dir() -> str:
    """The folder for `-Dsvmgsu_DIR=`, where `find_package(svmgsu)` finds the package."""
    return os.path.join(_HERE, "lib", "cmake", "svmgsu")
