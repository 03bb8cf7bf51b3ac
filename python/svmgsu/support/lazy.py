"""Names that are loaded when first used, so that `import svmgsu` loads NumPy alone."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

_EXTRAS = {
    "sklearn": "sklearn",
    "scipy": "sklearn",
    "matplotlib": "plot",
    "dask": "dask",
    "distributed": "dask",
}


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: `homes` has the module of each name, which may be its own."""

    def load(name: str) -> Any:
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
