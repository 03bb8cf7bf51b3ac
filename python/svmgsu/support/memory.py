"""How much memory there is, asked before much is taken: numbers in a message, not the system's kill."""

from __future__ import annotations

import os

SMALL = 2**26  # bytes that are taken without asking


class NotEnoughMemory(MemoryError, ValueError):
    """Data that do not fit: the message says what was asked for, where from, and how much there is."""


def require_memory(wanted: float, what: str) -> None:
    """Refuses to take `wanted` bytes where fewer are available; `what` says what for."""
    if wanted < SMALL:
        return
    there = available()
    if there is not None and wanted > there:
        raise NotEnoughMemory(
            f"{what} takes {in_words(wanted)} of memory, and {in_words(there)} are available"
        )


def in_words(count: float) -> str:
    """A number of bytes for people."""
    units = ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while count >= 1000 and len(units) > 1:
        count, units = count / 1000, units[1:]
    return f"{count:.3g} {units[0]}"


def available() -> int | None:
    """Bytes that can still be taken: of the machine with its swap, of the control group, of the process.

    None where the system does not say.
    """
    known = [value for value in (_machine(), _control_group(), _process()) if value is not None]
    return max(0, min(known)) if known else None


def _machine() -> int | None:
    facts = _table("/proc/meminfo")
    if "MemAvailable" in facts:
        return 1024 * (facts["MemAvailable"] + facts.get("SwapFree", 0))
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group() -> int | None:
    """The least that the groups of this process, of version 1 or 2, leave; caches count as free."""
    left: list[int] = []
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = "/sys/fs/cgroup/memory" if controllers else "/sys/fs/cgroup"
        names = ("limit_in_bytes", "usage_in_bytes", "total_inactive_file")
        limit, usage, cache = names if controllers else ("max", "current", "inactive_file")
        parts = path.strip("/").split("/")
        for depth in range(len(parts), -1, -1):
            folder = os.path.join(root, *parts[:depth])
            most, used = (_number(f"{folder}/memory.{name}") for name in (limit, usage))
            if most is not None and used is not None:
                left.append(most - used + _table(f"{folder}/memory.stat").get(cache, 0))
    return min(left, default=None)


def _process() -> int | None:
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    sizes = _table("/proc/self/status")
    left = []
    for name, key in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY:
            left.append(limit - 1024 * sizes.get(key, 0))
    return min(left, default=None)


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _number(path: str) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _table(path: str) -> dict[str, int]:
    """Lines `name: number unit` or `name number`."""
    rows = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
