"""How much memory there is, asked before much is taken: numbers in a message, not the system's kill."""

from __future__ import annotations

import os

SMALL = 2**26  # bytes that are taken without asking


class NotEnoughMemory(MemoryError, ValueError):
    """Data that do not fit: the message says what was asked for, where from, and how much there is."""


def require_memory(wanted: float, what: str) -> None:
    """Refuse to take `wanted` bytes if fewer are available; `what` says what for."""
    there = available() if wanted >= SMALL else None
    if there is not None and wanted > there:
        raise NotEnoughMemory(
            f"{what} takes {in_words(wanted)} of memory, and {in_words(there)} are available"
        )


def in_words(count: float) -> str:
    """Return a number of bytes for people."""
    units = ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while count >= 1000 and len(units) > 1:
        count /= 1000
        units = units[1:]
    return f"{count:.3g} {units[0]}"


def available() -> int | None:
    """Return the bytes that can still be taken on the machine, in its control group and by the process.

    None if the system does not say.
    """
    machine = _table("/proc/meminfo")
    left = []
    if "MemAvailable" in machine:
        left.append(1024 * (machine["MemAvailable"] + machine.get("SwapFree", 0)))
    for line in _text("/proc/self/cgroup").splitlines():
        if not line.startswith("0::"):  # control groups of version 2, which containers have
            continue
        path = line[3:].strip("/")
        while True:
            folder = os.path.join("/sys/fs/cgroup", path)
            most, used = (_text(f"{folder}/memory.{name}").strip() for name in ("max", "current"))
            if most.isdigit() and used.isdigit():
                cache = _table(f"{folder}/memory.stat").get("inactive_file", 0)  # the system frees it
                left.append(int(most) - int(used) + cache)
            if not path:
                break
            path = os.path.dirname(path)
    try:
        import resource
    except ImportError:  # not on Windows
        return max(0, min(left)) if left else None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        left.append(limit - 1024 * _table("/proc/self/status").get("VmSize", 0))
    return max(0, min(left)) if left else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _table(path: str) -> dict[str, int]:
    """Read lines `name: number unit` or `name number`."""
    rows = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
