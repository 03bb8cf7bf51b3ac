"""Write the API reference: one page per public name, in the groups below."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

MODULES = (
    "svmgsu",
    "svmgsu.models",
    "svmgsu.features",
    "svmgsu.uncertainty",
    "svmgsu.io",
    "svmgsu.metrics",
    "svmgsu.plot",
    "svmgsu.reference",
    "svmgsu.exceptions",
)

# Names of `svmgsu` itself, and what each group is for. Names in no group are listed under "Others".
GROUPS = {
    "Default models": ("GSUClassifier", "GSURegressor"),
    "Linear models": ("train", "load", "LinearSVMGSU", "LinearSVRGSU", "SGDSVMGSU", "Objective"),
    "Report": ("report",),
    "Data": ("Gaussians", "Mixtures", "read", "open"),
    "Covariances": ("Isotropic", "Diagonal", "Full", "LowRank", "Shared"),
    "Transformers": ("Propagate", "Deconvolution"),
    "Installation": ("get_include", "get_cmake_dir"),
}
PURPOSE = {
    "Default models": "Nonlinear models that need no tuning. Start here.",
    "Linear models": "Convex models with weights that can be read and a proof of optimality.",
    "Report": "Whether the uncertainties of a table matter, which model to use, what to measure again.",
    "Data": "Samples with their uncertainties, from arrays, data frames and files of any size.",
    "Covariances": "Ways to store covariances; they can be added and scaled.",
    "Transformers": "Means and covariances through scikit-learn's transformers, and noise removal.",
    "Installation": "Where the C++ headers and the CMake package are.",
}


def of(module: ModuleType, name: str) -> object:
    """A name of a module; None where it needs an extra that is not installed, and then has no page."""
    try:
        return getattr(module, name)
    except ImportError as error:
        print(f"without {module.__name__}.{name}: {error}")
        return None


def names_of(module: str) -> list[str]:
    """Return the public classes and functions of a module."""
    loaded = importlib.import_module(module)
    listed = getattr(loaded, "__all__", None)
    if listed is None:
        listed = [
            n
            for n, t in vars(loaded).items()
            if n[0] != "_" and getattr(t, "__module__", "").startswith(module)
        ]
    return [n for n in listed if callable(of(loaded, n))]


def modules() -> list[str]:
    """The modules of the reference: those above, and any other that `svmgsu` exports."""
    door = importlib.import_module("svmgsu")
    more = [f"svmgsu.{name}" for name in door.__all__ if inspect.ismodule(of(door, name))]
    return [*MODULES, *(name for name in more if name not in MODULES)]


def members_of(thing: type) -> list[str]:
    """Public methods and properties of a class that this package wrote."""
    found = []
    for name in dir(thing):
        member = inspect.getattr_static(thing, name)
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if name[0] == "_" or (name.startswith("set_") and name.endswith("_request")):
            continue
        if (inspect.isroutine(function) or isinstance(member, property)) and (
            getattr(function, "__module__", None) or ""
        ).startswith("svmgsu"):
            found.append(name)
    return found


def summary(thing: object) -> str:
    """The first sentence of a docstring, for a table."""
    return sentence(inspect.getdoc(thing) or "")


def sentence(text: str) -> str:
    first = " ".join(text.split("\n\n")[0].split())
    return re.split(r"\. (?=[A-Z`])", first)[0].rstrip(".").replace("|", r"\|")


def page_of(module: str, name: str) -> str:
    thing = getattr(importlib.import_module(module), name)
    title = f"{module}.{name}".removeprefix("svmgsu.")
    head = f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: {module}\n\n"
    if inspect.isclass(thing):
        return (
            f"{head}.. autoclass:: {name}\n   :members:\n   :undoc-members:\n   :inherited-members: object\n"
        )
    return f"{head}.. autofunction:: {name}\n"


def table(module: str, names: list[str], folder: Path) -> list[str]:
    lines = [".. list-table::", "   :widths: 35 65", ""]
    for name in names:
        thing = getattr(importlib.import_module(module), name)
        (folder / f"{module}.{name}.rst").write_text(page_of(module, name), encoding="utf-8")
        lines += [f"   * - :py:obj:`{name} <{module}.{name}>`", f"     - {summary(thing)}"]
    hidden = ["", ".. toctree::", "   :hidden:", ""] + [f"   {module}.{name}" for name in names]
    return [*lines, *hidden, ""]


def write(folder: Path) -> None:
    """Writes `reference/`: an index, and a page per name."""
    folder.mkdir(parents=True)
    lines = ["API reference", "=============", ""]
    lines += ["Every public name of the package. The C++ library has :doc:`its own pages </cpp-api>`.", ""]
    for module in modules():
        names = names_of(module)
        groups = {f"``{module}``": names}
        if module == "svmgsu":
            grouped = {name for group in GROUPS.values() for name in group}
            groups = {title: [n for n in group if n in names] for title, group in GROUPS.items()}
            groups["Others"] = [name for name in names if name not in grouped]
        for title, group in groups.items():
            if group:
                lines += [title, "-" * len(title), ""]
                purpose = PURPOSE.get(title) or sentence(
                    inspect.getdoc(importlib.import_module(module)) or ""
                )
                lines += [purpose, ""]
                lines += table(module, group, folder)
    (folder / "index.rst").write_text("\n".join(lines), encoding="utf-8")
