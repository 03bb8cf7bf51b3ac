"""The package: names that are loaded when first used, and where C++ finds its headers and CMake files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping

from .. import _core

_HERE = os.path.dirname(os.path.abspath(_core.__file__))  # where the build installs, editable or not
_EXTRAS = {
    "sklearn": "sklearn",
    "scipy": "sklearn",
    "matplotlib": "plot",
    "dask": "dask",
    "distributed": "dask",
}


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` that loads names when they are first used; `homes` has the module of each."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(f".{homes[name]}", package)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").split(".")[0])
            if extra is None:
                raise
            raise ImportError(
                f"{package}.{name} needs {error.name}: pip install 'svmgsu[{extra}]'"
            ) from error
        return module if name == homes[name] else getattr(module, name)

    return load


def get_include() -> str:
    """Return the folder for an include path: `#include <svmgsu/svmgsu.hpp>`."""
    return os.path.join(_HERE, "include")


def get_cmake_dir() -> str:
    """Return the folder for `-Dsvmgsu_DIR=`, where `find_package(svmgsu)` finds the package."""
    return os.path.join(_HERE, "lib", "cmake", "svmgsu")
