"""Who sums over the examples: memory, files, or whatever can map a function over shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..support.lazy import lazy

if TYPE_CHECKING:
    from .shards import MappedSet, Shard, group_rows, mapped, split

__all__ = ["MappedSet", "Shard", "group_rows", "mapped", "split"]

__getattr__ = lazy(__name__, dict.fromkeys(__all__, "shards"))


def __dir__() -> list[str]:
    return sorted(__all__)
