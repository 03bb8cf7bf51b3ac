"""Labels of classes as text, for model files, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..support.validation import Array


def label_texts(classes: Array) -> tuple[str, list[str]]:
    """The type of the labels, and each as text."""
    names = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
    values = classes.tolist()
    kind = names.get(classes.dtype.kind)
    if kind is None and all(isinstance(v, str) for v in values):
        kind = "str"
    if kind is None:
        raise TypeError(f"classes_: labels of dtype {classes.dtype} cannot be saved; use numbers or strings")
    return kind, [repr(v) if kind == "float" else str(v) for v in values]


def labels_from_texts(kind: str, texts: list[str]) -> Array:
    """Labels of that type from their texts."""
    readers: dict[str, Any] = {"bool": ("False", "True").index, "int": int, "float": float, "str": str}
    if kind not in readers:
        raise ValueError(f"type {kind!r} is not known; it must be one of {', '.join(readers)}")
    if len(set(texts)) < len(texts):
        twice = next(text for k, text in enumerate(texts) if text in texts[:k])
        raise ValueError(f"{'both are' if len(texts) == 2 else 'there is more than one'} {twice!r}")
    values = [readers[kind](t) for t in texts]
    if kind == "float" and not np.isfinite(values).all():
        raise ValueError(f"{texts} are not all finite")
    if kind == "int":  # NumPy would take integers on both sides of 2^63 for floats
        return np.array(values, dtype=np.uint64 if max(values) >= 2**63 else np.int64)
    return np.array(values, dtype=bool if kind == "bool" else None)
