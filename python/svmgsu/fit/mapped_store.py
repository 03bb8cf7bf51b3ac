"""Examples that are made of those in files as they are read: mapped, or repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..data.blocks import Blocks
from ..data.gaussians import Gaussians
from ..data.mapped_blocks import MappedBlocks, RepeatedBlocks
from ..engines.shards import Shard, drop, group_rows, mapped, wants_nothing
from ..support.losses import Task
from ..support.memory import in_words
from ..support.validation import FloatArray
from .beyond import Noise, Store
from .block_store import BlockStore

COPIES = 4  # of a part while it is made and answered for
OF_EXAMPLE = 48  # bytes that a solver keeps of each


@dataclass
class _Part:
    """Some rows, read and mapped anew for each question."""

    blocks: Blocks
    rows: slice
    targets: FloatArray
    weights: FloatArray | None
    task: Task
    scale: float
    noise: Noise | None

    def made(self) -> Shard:
        data: Gaussians = self.blocks[self.rows]
        if self.noise is not None:
            data = data.with_more_cov(self.noise.rows(self.rows))
        weights = None if self.weights is None else self.weights[self.rows]
        return Shard(data.scale_cov(self.scale), self.targets[self.rows], weights, self.task, threads=0)


def one_after_another(
    task: Callable[..., bytes], parts: Iterable[Any], questions: Iterable[bytes]
) -> Iterator[bytes]:
    """The map of parts that are made, by their `made()`, for each question, and let go of."""
    for part, question in zip(parts, questions, strict=True):
        if wants_nothing(question):
            yield b""
            continue
        shard = part.made()
        yield task(shard, question)
        drop(shard)


class MappedBlockStore(BlockStore):
    """The same as of blocks that are made as they are read; a pass reads the files and makes them once."""

    def training_set(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, noise: Noise | None
    ) -> Any:
        self.blocks.check()
        count = self.shape[0]
        like = _Part(self.blocks, slice(0, 1), targets, weights, task, scale, noise).made().data
        unit = group_rows(like, count)
        row = COPIES * self.blocks.row_bytes
        least = unit * row + OF_EXAMPLE * count
        if self.blocks.memory < least:
            raise ValueError(
                f"memory: {in_words(self.blocks.memory)} ({self.blocks.memory} bytes) are too few for "
                f"{count} examples of {self.shape[1]} features made as they are read; at least {least} bytes "
                f"({in_words(least)}) are needed"
            )
        step = unit * max(1, min((self.blocks.memory - OF_EXAMPLE * count) // (unit * row), count // unit))
        parts = [
            _Part(self.blocks, slice(first, min(first + step, count)), targets, weights, task, scale, noise)
            for first in range(0, count, step)
        ]
        return mapped(one_after_another, parts).core

    def at_a_time(self, problems: int, noise: Noise | None) -> int:
        return 1


def store_of(blocks: Blocks) -> Store:
    """Blocks as training sees them."""
    made_here = isinstance(blocks, (MappedBlocks, RepeatedBlocks))
    return MappedBlockStore(blocks) if made_here else BlockStore(blocks)
