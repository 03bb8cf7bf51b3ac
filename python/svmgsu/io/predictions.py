"""Predictions of a model as files: tables, JSON lines, or the layout of gsvm-predict."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..support.types import Fields
from ..support.validation import Array, ArrayLike, Matrix
from .files import JSON, TEXT, WRITTEN, Source, check_utf8, encoded, extension, name_of
from .output import replacing
from .text import number_text

ENDINGS = (*WRITTEN, *JSON, *TEXT)


def write_predictions(
    path: Source,
    predicted: Matrix,
    *,
    proba: Matrix = None,
    decision: Matrix = None,
    ids: Matrix = None,
    classes: Matrix = (-1, 1),
    format: str | None = None,
) -> None:
    """Write predictions in the layout that the ending of `path` asks for.

    Parameters
    ----------
    path : path, "-" or binary file
        .csv, .tsv, .tab, .parquet, .feather, .arrow: a table. .jsonl, .ndjson, .json: one object a line.
        .txt, .dat or none: the layout of gsvm-predict, a line `doc_id +1 -1 label`, then ids, probabilities
        and labels, the most probable positive first.
    predicted : array of shape (l,)
        The predicted labels.
    proba : array of shape (l, K), optional
        Probabilities of the classes; the authors' layout needs them.
    decision : array of shape (l,), or (l, K) for more than two classes, optional
        Decision values. The authors' layout ranks by them, for probabilities can be equal where they are not.
    ids : array of shape (l,), optional
        By default 1, 2, ...
    classes : sequence of K labels, default=(-1, 1)
        For the headings; of two, the negative and the positive class. The authors' layout is for two.
    format : str, optional
        The ending to assume, "csv" as well as ".csv"; "txt" is the authors' layout.

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
    known = [c.item() if isinstance(c, np.generic) else c for c in classes]
    names = _ids(ids, len(labels))
    probabilities = None if proba is None else np.asarray(proba, dtype=np.float64)
    decisions = None if decision is None else np.asarray(decision, dtype=np.float64)
    for name, array, width in (("proba", probabilities, len(known)), ("decision", decisions, len(known))):
        shape = (len(labels),) if name == "decision" and width == 2 else (len(labels), width)
        if array is not None and array.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    ending = prediction_ending(path, format)
    if ending in TEXT:
        if len(known) != 2 or probabilities is None:
            missing = "has no probabilities" if len(known) == 2 else f"has {len(known)} classes"
            raise ValueError(
                f"proba: the authors' layout is for two classes with probabilities, and this {missing}; "
                "write .csv or .jsonl"
            )
        text = _authors(names, probabilities, decisions, labels, *known)
        with replacing(path) as (file,):
            file.write(text)
        return
    columns: dict[str, Any] = {"id": names.tolist(), "label": labels.tolist()}
    if decisions is not None and decisions.ndim == 1:
        columns["decision"] = decisions.tolist()
    elif decisions is not None:
        columns |= {f"decision_{c}": decisions[:, k].tolist() for k, c in enumerate(known)}
    if probabilities is not None:
        order = range(len(known)) if len(known) > 2 else (1, 0)  # of two the positive class comes first
        columns |= {f"p_{known[k]}": probabilities[:, k].tolist() for k in order}
    _write_columns(path, columns, ending)


def write_values(
    path: Source,
    values: ArrayLike,
    *,
    std: ArrayLike = None,
    ids: ArrayLike = None,
    format: str | None = None,
) -> None:
    """Write predicted numbers, in the order of the samples.

    Parameters
    ----------
    path : path, "-" or binary file
        Tables and JSON lines as for `write_predictions`; .txt, .dat or none: a line `doc_id value std`, then
        ids and numbers, with blanks between them.
    values, std : arrays of shape (l,)
        The predicted values and, if they are known, their standard deviations.
    ids : array of shape (l,), optional
        By default 1, 2, ...
    format : str, optional
        As for `write_predictions`.

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> svmgsu.io.write_values(file, [1.5, 2.0], std=[0.5, 0.25], ids=["a", "b"])
    >>> print(file.getvalue().decode(), end="")
    doc_id value std
    a 1.5 0.5
    b 2.0 0.25
    """
    found = np.asarray(values, dtype=np.float64)
    columns: Fields = {"id": _ids(ids, len(found)).tolist(), "value": found.tolist()}
    if std is not None:
        columns["std"] = np.asarray(std, dtype=np.float64).tolist()
        if len(columns["std"]) != len(found):
            raise ValueError(f"std: {len(columns['std'])} for {len(found)} values")
    _write_columns(path, columns, prediction_ending(path, format))


def _ids(ids: ArrayLike, count: int) -> Array:
    """Return ids as text, 1, 2, ... by default."""
    names = np.arange(1, count + 1).astype(np.str_) if ids is None else np.asarray(ids).astype(np.str_)
    if names.shape != (count,):
        raise ValueError(f"ids: expected shape {(count,)}, got {names.shape}")
    return names


def prediction_ending(path: Source, format: str | None) -> str:
    """Return the ending that tells the layout of predictions; refuse what cannot be written."""
    ending = extension(path) if format is None else "." + format.removeprefix(".")
    if ending not in ENDINGS:
        known = ", ".join(filter(None, ENDINGS))
        raise ValueError(f"{name_of(path)}: the ending {ending} is not known; these can be written: {known}")
    return ending


def _write_columns(path: Source, columns: Fields, ending: str) -> None:
    """Write a table, one JSON object a line, or lines of words."""
    check_utf8(np.array(columns["id"]))
    if ending in WRITTEN:
        from .table_files import save_table

        save_table(columns, path, ending)
        return
    rows = zip(*columns.values(), strict=True)
    if ending in JSON:
        lines = [json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows]
    else:
        lines = [" ".join(["doc_id", *list(columns)[1:]]), *(" ".join(map(str, row)) for row in rows)]
    with replacing(path) as (file,):
        file.write("".join(f"{line}\n" for line in lines).encode())


def _authors(
    names: Array, proba: Array, decisions: Array | None, labels: Array, negative: Matrix, positive: Matrix
) -> bytes:
    order = np.argsort(-(proba[:, 1] if decisions is None else decisions), kind="stable")
    said = [str(int(v) if isinstance(v, float) and v == int(v) else v) for v in labels[order].tolist()]
    heads = [
        f"{int(v):+d}" if v in (-1, 1) and not isinstance(v, str) else str(v) for v in (positive, negative)
    ]
    lines = [f"doc_id {heads[0]} {heads[1]} label\n"]
    for name, (no, yes), label in zip(names[order].tolist(), proba[order].tolist(), said, strict=True):
        lines.append(f"{name} {number_text(yes)} {number_text(no)} {label}\n")
    return encoded("".join(lines))
