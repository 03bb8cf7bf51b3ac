"""Predictions of a model, as files: the authors' layout, CSV, Parquet, Arrow and JSON lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..validation import Array
from .files import Source, extension, replacing
from .tables import ENDINGS, make_table, save_table

JSON_LINES = (".jsonl", ".ndjson", ".json")


def write_predictions(
    path: Source,
    predicted: Any,
    *,
    proba: Any = None,
    decision: Any = None,
    ids: Any = None,
    classes: Any = (-1, 1),
    format: str | None = None,
) -> None:
    """Writes predictions in the layout that the ending of `path` asks for.

    Parameters
    ----------
    path : path, "-" or binary file
        .csv, .tsv, .tab, .parquet, .feather, .arrow: a table. .jsonl, .ndjson, .json: one object a line.
        All others: the authors' layout, a line `doc_id +1 -1 label`, then ids, probabilities and labels,
        the most probable positive first.
    predicted : array of shape (l,)
        The predicted labels.
    proba : array of shape (l, 2), optional
        Probabilities of the negative and the positive class; the authors' layout needs them.
    decision : array of shape (l,), optional
        Decision values. The authors' layout ranks by them, for probabilities can be equal where they are not.
    ids : array of shape (l,), optional
        By default 1, 2, ...
    classes : pair, default=(-1, 1)
        The negative and the positive class, for the headings.
    format : str, optional
        The ending to assume; ".txt" is the authors' layout.

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> proba = [[0.75, 0.25], [0.125, 0.875]]
    >>> svmgsu.io.write_predictions(file, [-1, 1], proba=proba, ids=["doc_1", "doc_2"])
    >>> print(file.getvalue().decode(), end="")
    doc_id +1 -1 label
    doc_2 0.875 0.125 1
    doc_1 0.25 0.75 -1
    """
    labels = np.asarray(predicted)
    count = len(labels)
    names = np.arange(1, count + 1).astype(np.str_) if ids is None else np.asarray(ids).astype(np.str_)
    negative, positive = (c.item() if isinstance(c, np.generic) else c for c in classes)
    probabilities = None if proba is None else np.asarray(proba, dtype=np.float64)
    decisions = None if decision is None else np.asarray(decision, dtype=np.float64)
    for name, array, shape in (
        ("ids", names, (count,)),
        ("proba", probabilities, (count, 2)),
        ("decision", decisions, (count,)),
    ):
        if array is not None and array.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    ending = extension(path) if format is None else format
    if ending not in (*ENDINGS, *JSON_LINES):
        if probabilities is None:
            raise ValueError(
                "proba: the authors' layout holds probabilities; pass them, or write .csv or .jsonl"
            )
        text = _authors(names, probabilities, decisions, labels, negative, positive)
        with replacing(path) as (file,):
            file.write(text.encode())
        return
    columns: dict[str, Any] = {"id": names.tolist(), "label": labels.tolist()}
    if decisions is not None:
        columns["decision"] = decisions.tolist()
    if probabilities is not None:
        columns[f"p_{positive}"] = probabilities[:, 1].tolist()
        columns[f"p_{negative}"] = probabilities[:, 0].tolist()
    if ending in ENDINGS:
        save_table(make_table(columns), path, ending)
        return
    import json

    rows = zip(*columns.values(), strict=True)
    with replacing(path) as (file,):
        for row in rows:
            file.write((json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n").encode())


def _authors(
    names: Array, proba: Array, decisions: Array | None, labels: Array, negative: Any, positive: Any
) -> str:
    rank = proba[:, 1] if decisions is None else decisions
    lines = [f"doc_id {_heading(positive)} {_heading(negative)} label"]
    for i in np.argsort(-rank, kind="stable"):
        label = labels[i].item() if isinstance(labels[i], np.generic) else labels[i]
        shown = int(label) if isinstance(label, float) and label == int(label) else label
        lines.append(f"{names[i]} {proba[i, 1].item()!r} {proba[i, 0].item()!r} {shown}")
    return "\n".join(lines) + "\n"


def _heading(label: Any) -> str:
    return f"{int(label):+d}" if isinstance(label, (int, float)) and label in (-1, 1) else str(label)
