"""Figures in words: tables in Markdown, JSON, and files that are either whole or not there."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def markdown(header: list[str], rows: list[list[str]], words: int = 0) -> str:
    """A table; the first column and the last `words` are words, between them are numbers."""
    right = ["---:"] * (len(header) - 1 - words)
    lines = [header, ["---", *right, *["---"] * words], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def duration(value: float) -> str:
    if not np.isfinite(value):
        return "not reached"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def times(ratio: float) -> str:
    return f"{ratio:.2g}×" if ratio < 10 else f"{ratio:.0f}×"


def about(machine: dict[str, Any]) -> str:
    """The machine and the versions, in one sentence."""
    core = machine["svmgsu"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, last cache {machine['last_cache']}; "
        f"{core['compiler']}, {core['instruction_set']}; "
        f"NumPy {machine['numpy']}, SciPy {machine['scipy']}, scikit-learn {machine['scikit-learn']}."
    )


def as_json(value: Any) -> str:
    return json.dumps(finite(value), indent=1, ensure_ascii=False) + "\n"


def finite(value: Any) -> Any:
    """JSON has no infinity: None stands for a time that was not reached."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value


def write(path: Path, content: str | bytes) -> None:
    """All of it or nothing: a file beside it takes its place when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
