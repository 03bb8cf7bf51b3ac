"""Where a C++ application finds the headers and the CMake package of this installation."""

from __future__ import annotations

import os

from .. import _core

_HERE = os.path.dirname(os.path.abspath(_core.__file__))  # where the build installs, editable or not


def get_include() -> str:
    """Return the folder for an include path: `#include <svmgsu/svmgsu.hpp>`."""
    return os.path.join(_HERE, "include")


def get_cmake_dir() -> str:
    """Return the folder for `-Dsvmgsu_DIR=`, where `find_package(svmgsu)` finds the package."""
    return os.path.join(_HERE, "lib", "cmake", "svmgsu")
