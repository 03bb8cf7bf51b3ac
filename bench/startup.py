"""`import svmgsu` beside `import numpy`, each in new processes."""

from __future__ import annotations

import compileall
import os
from functools import partial
from pathlib import Path

import svmgsu

from .rows import Case, Row, Settings, versus
from .timing import Time, of_process


def cases(settings: Settings) -> list[Case]:
    return [Case("import", partial(imports, 10 if settings.quick else 30))]


def imports(rounds: int) -> list[Row]:
    """By the clock of whole processes, the start of Python included."""
    package = Path(svmgsu.__file__).parent
    compileall.compile_dir(package, quiet=1)  # as pip does when it installs
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    runs = [
        {name: of_process([f"import {name}"], environment) for name in ("numpy", "svmgsu")}
        for _ in range(rounds)
    ]
    found = {
        name: Time(min(run[name].wall for run in runs), min(run[name].cpu for run in runs))
        for name in runs[0]
    }
    row = versus("import svmgsu: against import numpy", found, "svmgsu", 1.5, ours="numpy")
    row.less = True
    return [row]
