"""What a model file holds, read with suspicion: every value has a place, a type and a shape, or is refused.

A file is an .npz archive: its array "svmgsu" is a text in JSON, a tree in which {"array": name} stands for
another array of the archive. Nothing in it is run, and no array of objects is read.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .. import _core
from ..support.validation import Array, FloatArray

FORMAT, VERSION = "svmgsu-model", 1


def write_archive(path: Any, tree: dict[str, Any]) -> None:
    """Writes a tree of dicts, lists, arrays, texts and numbers, completely or not at all."""
    from ..io.arrays import refuse_packed
    from ..io.output import replacing

    arrays: dict[str, Array] = {}
    whole = {"format": FORMAT, "version": VERSION, **tree}
    text = json.dumps(_packed(whole, "", arrays))
    refuse_packed(path, "its arrays hold few zeros")
    with replacing(path) as (file,):
        np.savez(file, svmgsu=np.array(text), **arrays)  # type: ignore[arg-type]


def _packed(value: Any, name: str, arrays: dict[str, Array]) -> Any:
    if isinstance(value, dict):
        return {k: _packed(v, f"{name}.{k}" if name else k, arrays) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(v, f"{name}.{k}", arrays) for k, v in enumerate(value)]
    if isinstance(value, np.ndarray):
        arrays[name] = np.ascontiguousarray(value)
        return {"array": name}
    return value.item() if isinstance(value, np.generic) else value


def read_archive(path: Any, name: str) -> Node:
    """The tree in an archive; messages call the file `name`."""
    from ..io.arrays import load_archive

    arrays = load_archive(path, name)
    text = arrays.pop("svmgsu", None)
    if text is None or text.shape != () or text.dtype.kind != "U":
        raise _core.FormatError(f"{name}: no model of svmgsu; there are the arrays {sorted(arrays)[:10]}")
    try:
        tree = json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise _core.FormatError(f"{name}: its text is damaged ({error})") from None
    node = Node(tree, arrays, name, "")
    if node.text("format") != FORMAT:
        raise _core.FormatError(f"{name}: format: expected {FORMAT!r}, got {node.text('format')!r}")
    version = node.count("version", 1)
    if version > VERSION:
        raise _core.FormatError(
            f"{name}: version: {version}, of a later svmgsu; this one reads up to {VERSION}"
        )
    return node


class Node:
    """A part of the tree; what is not as it should be is a FormatError with the file and the place."""

    def __init__(self, tree: Any, arrays: dict[str, Array], file: str, place: str) -> None:
        self.tree, self.arrays, self.file, self.place = tree, arrays, file, place
        if not isinstance(tree, dict):
            raise self.wrong("", "a part of a model", tree)

    def wrong(self, key: str, wanted: str, got: Any) -> _core.FormatError:
        place = ".".join(filter(None, (self.place, key)))
        shown = repr(got)
        return _core.FormatError(
            f"{self.file}: {place + ': ' if place else ''}expected {wanted}, got "
            f"{shown if len(shown) <= 80 else shown[:77] + '...'}"
        )

    def has(self, key: str) -> bool:
        """Whether there is something, and not null."""
        return self.tree.get(key) is not None

    def part(self, key: str) -> Node:
        return Node(self.tree.get(key), self.arrays, self.file, ".".join(filter(None, (self.place, key))))

    def text(self, key: str) -> str:
        found = self.tree.get(key)
        if not isinstance(found, str):
            raise self.wrong(key, "a text", found)
        return found

    def texts(self, key: str) -> list[str]:
        found = self.tree.get(key)
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise self.wrong(key, "a list of texts", found)
        return found

    def flag(self, key: str) -> bool:
        found = self.tree.get(key)
        if not isinstance(found, bool):
            raise self.wrong(key, "true or false", found)
        return found

    def count(self, key: str, least: int = 0) -> int:
        found = self.tree.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found < 2**63:
            raise self.wrong(key, f"a whole number of at least {least}", found)
        return found

    def number(self, key: str, least: float = -np.inf, most: float = np.inf, *, nan: bool = False) -> float:
        """A number within bounds; NaN where it may be."""
        found = self.tree.get(key)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise self.wrong(key, "a number", found)
        try:
            value = float(found)
        except OverflowError:  # JSON's integers may be of any size
            raise self.wrong(key, "a number that fits a double", found) from None
        if not (least <= value <= most or (nan and np.isnan(value))):
            raise self.wrong(key, f"a number from {least:g} to {most:g}", found)
        return value

    def array(
        self, key: str, shape: tuple[int | None, ...], *, kind: str = "f", positive: bool = False
    ) -> FloatArray:
        """A finite array of that shape, in which None is any size from 1 on, of floats or integers ("i")."""
        reference = self.tree.get(key)
        name = reference.get("array") if isinstance(reference, dict) else None
        found = self.arrays.get(name) if isinstance(name, str) else None
        if found is None:
            raise self.wrong(key, "an array of the file", reference)
        wanted = "×".join("any" if size is None else str(size) for size in shape)
        fits = found.ndim == len(shape) and all(
            have == want if want is not None else have > 0
            for have, want in zip(found.shape, shape, strict=True)
        )
        if not fits or found.dtype.kind != kind or (kind == "f" and found.dtype != np.float64):
            what = "64-bit numbers" if kind == "f" else "whole numbers"
            raise self.wrong(key, f"{wanted} {what}", f"{found.dtype} of shape {found.shape}")
        if not np.isfinite(found).all() or (positive and not (found > 0).all()):
            raise self.wrong(key, f"{'positive' if positive else 'finite'} numbers", "others")
        return np.ascontiguousarray(found)
