"""Records on disk: one line of JSON for each task × setting × split × system, appended when it is made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Key = tuple[str, int, str]


def read(path: Path) -> list[Record]:
    """All records; lines that a crash cut off are left out."""
    if not path.exists():
        return []
    out = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            out.append(json.loads(line))
        except json.JSONDecodeError:
            if line.endswith("}"):
                raise ValueError(f"{path}:{number}: not a record: {line[:60]!r}") from None
    return out


def key(record: Record) -> Key:
    return record["cell"], record["split"], record["system"]


def known(records: list[Record]) -> dict[Key, Record]:
    return {key(record): record for record in records}


def append(path: Path, record: Record) -> None:
    """One write of a whole line, so that two processes may share a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":  # what a crash left of a line
            text = "\n" + text
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def of(records: list[Record], cell: str) -> Iterator[Record]:
    return (record for record in records if record["cell"] == cell)


def by_system(records: list[Record], cell: str, measure: str) -> dict[str, dict[int, float]]:
    """Name of a system → split → measure."""
    out: dict[str, dict[int, float]] = {}
    for record in of(records, cell):
        if record.get(measure) is not None:
            out.setdefault(record["system"], {})[record["split"]] = record[measure]
    return out
