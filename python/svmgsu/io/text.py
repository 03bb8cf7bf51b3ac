"""The three text files of the method's authors, joined by ids.

    means         id j:v j:v ...
    labels        id label
    covariances   id i,j:v ...     diagonal j,j:v; full: one triangle or both; isotropic: one value, or 1,1:v

Indices begin at 1, zeros are omitted, `#` begins a comment. An id written `doc_3:` is `doc_3`. Ids may be
in any encoding: bytes that are not UTF-8 are lone surrogates in `ids` (Python's "surrogateescape"). Numbers
that are written read back exactly.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import _core
from ..data.covariances import Covariance, Diagonal, Full, Isotropic, Psd, check_psd, semidefinite
from ..data.gaussians import Gaussians
from ..support.errors import option
from ..support.memory import NotEnoughMemory, in_words, require_memory
from ..support.sparse import SparseRows, compressed_rows
from ..support.validation import Array, ArrayLike, check_count, is_sparse
from .dataset import Dataset, Report, as_dataset, plain_labels
from .files import Source, encoded, mappable, name_of
from .output import replacing

TextFormat: TypeAlias = Literal["means", "labels", "covariances"]
KINDS = ("isotropic", "diagonal", "full")
MOST_FEATURES = 2**31 - 1
HUGE = 2**24  # features; where an index makes so many, the reader says which
LARGE, LOOK = 2**26, 2**16  # bytes of a file that is looked at before it is read, and of the look
ENTRY_BYTES, LINE_BYTES = 16, 40  # what an entry and a line of text become
SPARSE_BELOW = 0.2  # a share of nonzeros under which compressed rows are smaller and faster
SPARSE_FROM = 2**20  # numbers: smaller arrays stay dense, and SciPy need not be loaded
NUMBERS_A_BLOCK = 2**18


def read_text(
    means: Source,
    labels: Source | None = None,
    cov: Source | None = None,
    *,
    kind: str | None = None,
    n_features: int | None = None,
    sparse: bool | None = None,
    psd: Psd = "clip",
    threads: int | None = None,
    as_authors: bool = False,
) -> Dataset:
    """Read the authors' text files and join them by id, in the order of the means.

    Parameters
    ----------
    means, labels, cov : path, "-" or file
        "-" is standard input. Files compressed by gzip or xz are unpacked. Samples that one of the
        files lacks are dropped; `report` of the result says how many.
    kind : {"isotropic", "diagonal", "full"}, optional
        The kind of covariance; by default what the file shows. A file with nothing but `1,1:v` is isotropic.
    n_features : int, optional
        The number of features; by default the largest index among the means.
    sparse : bool, optional
        Whether means and diagonal covariances become sparse matrices (which needs SciPy). By default they do
        where they are large and less than a fifth is not zero.
    psd : {"clip", "strict"}
        What to do with full covariances that are not quite positive semidefinite, since files have few
        digits: as for `svmgsu.Full`.
    threads : int, optional
        For parsing; by default all that OpenMP offers. The result is the same for any number.
    as_authors : bool, default=False
        Whether to take two things more that the authors' programs take, with a note in `report`: features
        that have variances but no means, and of several isotropic variances in a line the last.

    Returns
    -------
    Dataset
        With `data`, `y`, `ids` and `report`; unpacks as `data, y`.

    Raises
    ------
    ValueError
        `svmgsu.io.FormatError`, which says where and what is wrong:
        `means.dat:17:23: expected a number after 4:, got "abc"`.

    Examples
    --------
    >>> import io, svmgsu
    >>> means = io.StringIO("doc_1 1:0.5 2:-1\\ndoc_2 2:3e-1\\n")
    >>> labels = io.StringIO("doc_2 -1\\ndoc_1 +1\\n")
    >>> cov = io.StringIO("doc_1 1,1:0.1 2,2:0.2\\ndoc_2: 1,1:0.3\\n")
    >>> data, y = svmgsu.io.read_text(means, labels, cov)
    >>> data
    Gaussians(2 samples, 2 features, cov=Diagonal(n_samples=2, n_features=2), typical error 1 of the spread)
    >>> y
    array([ 1, -1])
    """
    if kind not in (None, *KINDS):
        raise ValueError(f"kind: expected one of {', '.join(KINDS)} or None, got {kind!r}")
    check_psd(psd)
    sources = {"means": means, "labels": labels, "cov": cov}
    names = {role: name_of(source, role) for role, source in sources.items() if source is not None}
    most = MOST_FEATURES if n_features is None else check_count(n_features, "n_features")
    asked = "" if n_features is None else f"the {n_features} features asked for"
    rows = {"means": _parse(means, names["means"], "means", threads, most, asked)}
    if labels is not None:
        rows["labels"] = _parse(labels, names["labels"], "labels", threads)
    n = n_features or rows["means"].features
    last_counts = as_authors and kind == "isotropic"
    if cov is not None:
        limit: tuple[Any, ...] = ()
        if n and not last_counts and (n_features is not None or not as_authors):
            limit = (
                n,
                asked or f"the {n} features of {names['means']}; {option('n_features')} sets another number",
            )
        diagonal = last_counts or kind == "diagonal"
        rows["cov"] = _parse(
            cov, names["cov"], "covariances", threads, *limit, diagonal=diagonal, as_written=last_counts
        )
        n = n if last_counts else max(n, rows["cov"].features) if as_authors else n or rows["cov"].features
    if n == 0:
        raise _core.FormatError(f"{names['means']}: all means are zero; {option('n_features')} says how many")

    chosen = dict(zip(rows, _core.join(list(rows.values())), strict=True))
    report = _report(rows, chosen, names)
    ids = id_array(rows["means"].ids(chosen["means"]))
    layout = Layout(n, sparse, threads or 0, psd)
    kinds = None
    if cov is not None and not last_counts:
        kinds = _covariance(rows["cov"], chosen["cov"], kind, layout, names["cov"], ids, report)
    elif cov is not None:
        kinds = _last_of_line(rows["cov"], chosen["cov"], names["cov"], report)
    data = Gaussians(layout.matrix(rows["means"], chosen["means"]), kinds)
    report.notes += layout.notes
    if as_authors and cov is not None and n_features is None and n > rows["means"].features:
        report.notes.append(
            f"{names['cov']}: indices up to {n}, but {names['means']} has {rows['means'].features} features; "
            "the means of the others are 0"
        )
    y = plain_labels(rows["labels"].take_label()[chosen["labels"]]) if labels is not None else None
    return Dataset(data, y, ids, report)


def _parse(
    source: Source,
    name: str,
    format: TextFormat,
    threads: int | None,
    most: int = MOST_FEATURES,
    because: str = "",
    *,
    diagonal: bool = False,
    as_written: bool = False,
) -> _core.TextRows:
    """Parse a file whose indices may be up to `most`, `because` of what."""
    content = mappable(source)
    text: bytes | mmap.mmap = b""
    if isinstance(content, bytes):
        text = content
    elif os.path.getsize(content) > 0:
        with open(content, "rb") as file:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(text) >= LARGE:
        # Refuse a large file whose numbers do not fit into memory, if it goes on as it begins.
        head = text[:LOOK]
        entries, lines = (len(text) / len(head) * head.count(sign) for sign in (b":", b"\n"))
        wanted = entries * ENTRY_BYTES + lines * LINE_BYTES
        require_memory(wanted, f"{name}: about {entries:.3g} numbers in {in_words(len(text))} of text")
    count = 0 if threads is None else check_count(threads, "threads")
    return _core.read_rows(text, format, name, most, because, diagonal, as_written, count)


def _check_matrix(rows: _core.TextRows, count: int, width: int, what: str, n: int) -> None:
    """Refuse an array that a single large index makes huge."""
    try:
        require_memory(8.0 * count * width, f"{rows.name}: {count} samples of {n} features as {what}")
    except NotEnoughMemory as error:
        start, column, _ = rows.take_entries()  # nobody else will
        raise NotEnoughMemory(f"{error}; {_origin(rows, start, column)}") from None


def _origin(rows: _core.TextRows, start: Array, column: Array) -> str:
    """Say where the largest index of a file is."""
    row = int(np.searchsorted(start, int(column.argmax()), side="right")) - 1 if len(column) else 0
    return f"line {rows.line(row)} has the largest index, {rows.features}"


class Layout:
    """Turn parsed rows into arrays: dense or compressed, without a copy where they are complete."""

    def __init__(self, n: int, sparse: bool | None, threads: int, psd: Psd = "clip") -> None:
        self.n, self.sparse, self.threads, self.psd = n, sparse, threads, psd
        self.notes: list[str] = []

    def matrix(self, rows: _core.TextRows, chosen: Array) -> Any:
        whole = len(chosen) == rows.samples and bool((np.diff(chosen) == 1).all())
        numbers = rows.samples * self.n
        sparse = self.sparse
        if sparse is None:
            sparse = numbers >= SPARSE_FROM and rows.entries < SPARSE_BELOW * numbers
        if sparse:
            return self._compressed(rows, None if whole else chosen)
        if whole and rows.entries == numbers:
            return rows.take_entries()[2].reshape(rows.samples, self.n)
        _check_matrix(rows, len(chosen), self.n, "a dense array", self.n)
        out = np.zeros((len(chosen), self.n))
        rows.fill_dense(chosen, self.threads, out)
        return out

    def _compressed(self, rows: _core.TextRows, chosen: Array | None) -> Any:
        start, column, value = rows.take_entries()
        if self.n >= HUGE and rows.features == self.n:
            self.notes.append(f"{rows.name}: {_origin(rows, start, column)}")
        matrix = compressed_rows(value, column, start, (len(start) - 1, self.n))
        return matrix if chosen is None else matrix[chosen]


def _report(rows: dict[str, _core.TextRows], chosen: dict[str, Array], names: dict[str, str]) -> Report:
    kept = len(chosen["means"])
    if kept == 0:
        first = np.zeros(1, dtype=np.int64)
        shown = "; ".join(f"{names[r]} begins with {rows[r].ids(first)[0]!r}" for r in rows)
        raise _core.FormatError(f"{names['means']}: no id is in all of the files ({shown})")
    return Report(
        found={names[role]: rows[role].samples for role in rows},
        dropped={names[role]: rows[role].samples - kept for role in rows},
    )


def id_array(ids: list[str]) -> Array:
    """Return ids as an array of fixed width, or of objects where one long id would make that large."""
    width = max(map(len, ids), default=0)
    wasteful = width > 64 and width * len(ids) > 8 * sum(map(len, ids))
    return np.array(ids, dtype=object if wasteful else np.str_)


def _last_of_line(rows: _core.TextRows, chosen: Array, name: str, report: Report) -> Isotropic:
    """Return the last variance of each line, or 0."""
    start, _, value = rows.take_entries()
    first, end = start[chosen], start[chosen + 1]
    several = int((end - first > 1).sum())
    if several:
        report.notes.append(f"{name}: {several} lines have more than one variance; the last counts")
    out = np.zeros(len(chosen))
    out[end > first] = value[end[end > first] - 1]
    return Isotropic(out)


def _covariance(
    rows: _core.TextRows,
    chosen: Array,
    kind: str | None,
    layout: Layout,
    name: str,
    ids: Array,
    report: Report,
) -> Covariance:
    single = rows.bare or (rows.features == 1 and not rows.full)
    if kind is None:
        kind = "full" if rows.full else "diagonal"
        if rows.bare or (single and layout.n > 1):
            kind = "isotropic"
            if not rows.bare:
                report.notes.append(
                    f"{name}: every line has 1,1 alone: isotropic (or {option('kind', 'diagonal')})"
                )
    if kind == "isotropic":
        if not single:
            raise _core.FormatError(
                f"{name}: isotropic covariances have one value per line, bare or as 1,1:v; this file has "
                f"indices up to {rows.features}"
            )
        values = np.zeros((len(chosen), 1))
        rows.fill_dense(chosen, layout.threads, values)
        return Isotropic(values[:, 0])
    if rows.bare:
        raise _core.FormatError(
            f"{name}: {kind} covariances are written i,j:v, but the lines have one bare value each"
        )
    if kind == "diagonal":
        return Diagonal(layout.matrix(rows, chosen))
    width = layout.n * (layout.n + 1) // 2
    _check_matrix(rows, len(chosen), width, "full covariances", layout.n)
    packed = np.zeros((len(chosen), width))
    rows.fill_packed(chosen, layout.n, layout.threads, packed)
    where = "{}:{}: the covariance of {!r}".format
    return Full.from_packed(
        semidefinite(
            packed,
            layout.n,
            layout.psd,
            name,
            lambda i: where(name, rows.line(int(chosen[i])), str(ids[i])),
            own=True,
            error=_core.FormatError,
        )
    )


def read_vectors(text: bytes, name: str) -> tuple[Array, list[str]]:
    """Read lines `word j:v j:v ...` as a dense array and the words, of which some may be the same."""
    rows = _core.read_rows(text, "means", name, MOST_FEATURES, "", False, False, 1)
    every = np.arange(rows.samples)
    return Layout(rows.features, False, 1).matrix(rows, every), rows.ids(every)


def write_text(
    data: object,
    means: Source,
    labels: Source | None = None,
    cov: Source | None = None,
    *,
    y: ArrayLike = None,
    ids: ArrayLike = None,
) -> None:
    """Write samples as the authors' text files; ids are words, 1, 2, ... by default, and labels numbers."""
    dataset = as_dataset(data, y, ids)
    gaussians = dataset.data
    names = check_ids(dataset.ids, len(gaussians))
    texts: list[tuple[Source, Iterable[str]]] = [(means, _lines(gaussians.mean, names, "{0}"))]
    if labels is not None:
        if dataset.y is None:
            raise ValueError("y: there are no labels to write")
        leads = label_texts(dataset.y)
        texts.append((labels, (f"{i} {label}\n" for i, label in zip(names, leads, strict=True))))
    if cov is not None:
        if gaussians.cov is None:
            raise ValueError("cov: the samples have no covariance to write")
        texts.append((cov, _cov_lines(gaussians.cov, names, gaussians.shape[1], dataset.y)))
    with replacing(*(target for target, _ in texts)) as files:
        for file, (_, lines) in zip(files, texts, strict=True):
            for line in lines:
                file.write(encoded(line))


def check_ids(ids: Array | None, count: int) -> list[str]:
    """Check that lines of text can begin with these ids, and that all differ."""
    if ids is None:
        return [str(k + 1) for k in range(count)]
    texts = [str(i) for i in ids]
    seen: dict[str, int] = {}
    for k, text in enumerate(texts):
        shown = encoded(text).decode(errors="replace")  # an id read from a file may be bytes of any encoding
        if text.split() != [text] or text.startswith("#") or not shown.isprintable():
            raise ValueError(f"ids: {text!r} of sample {k} must be a word: no blanks, no # at its beginning")
        bare = text[:-1] if len(text) > 1 and text.endswith(":") else text
        if seen.setdefault(bare, k) != k:
            raise ValueError(f"ids: samples {seen[bare]} and {k} have the same id, {text!r}")
    return texts


def label_texts(y: Array) -> list[str]:
    """Return labels as text; they must be numbers."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
        raise ValueError(
            f"y: labels in text files must be finite numbers, got {labels.dtype} {labels[:3].tolist()}"
        )
    return [repr(int(v) if v == int(v) else float(v)) for v in labels.tolist()]


def number_text(value: float) -> str:
    """Return the shortest text that reads back as this number."""
    return repr(value).removesuffix(".0")


def _line(name: str, places: Iterable[str], values: list[float]) -> str:
    entries = "".join([f" {place}:{value!r}" for place, value in zip(places, values, strict=True)]) + "\n"
    return name + entries.replace(".0 ", " ").replace(".0\n", "\n")


def _lines(matrix: Any, names: list[str], form: str) -> Iterator[str]:
    """Yield the rows of a dense or sparse matrix; `form` makes an index of a column's number."""
    n = matrix.shape[1]
    step = max(1, NUMBERS_A_BLOCK // n)
    every = None if is_sparse(matrix) else [form.format(j + 1) for j in range(n)]
    for first in range(0, len(names), step):
        block = None if every is not None else SparseRows(matrix[first : first + step], "X")
        for k, name in enumerate(names[first : first + step]):
            if block is None:
                values, columns = np.asarray(matrix[first + k], dtype=np.float64), np.arange(n)
            else:
                entries = slice(block.start[k], block.start[k + 1])
                values, columns = block.value[entries].astype(np.float64), block.column[entries]
            shown = (values != 0) | np.signbit(values)
            # The first line tells how many features there are, and diagonal from isotropic variances.
            if first + k == 0 and n - 1 not in columns[shown][-1:]:
                values, columns = np.append(values[shown], 0.0), np.append(columns[shown], n - 1)
            elif not shown.all():
                values, columns = values[shown], columns[shown]
            if every is None or len(columns) < n:
                yield _line(name, (form.format(j + 1) for j in columns.tolist()), values.tolist())
            else:
                yield _line(name, every, values.tolist())


def _cov_lines(cov: Covariance, names: list[str], n: int, y: Array | None) -> Iterator[str]:
    each, variances = cov.each_variance(len(names)), cov.independent(len(names), n)
    if each is not None:
        for name, value in zip(names, each.astype(np.float64).tolist(), strict=True):
            yield _line(name, ["1,1"], [value])
        return
    if variances is not None:
        yield from _lines(variances, names, "{0},{0}")
        return
    row, column = np.triu_indices(n)
    places = [f"{i},{j}" for i, j in zip((row + 1).tolist(), (column + 1).tolist(), strict=True)]
    step = max(1, NUMBERS_A_BLOCK // (n * n))
    for first in range(0, len(names), step):
        rows = slice(first, min(first + step, len(names)))
        triangles = cov.matrices(rows, n, y)[:, row, column].astype(np.float64)
        for name, values in zip(names[rows], triangles, strict=True):
            shown = np.flatnonzero(values)
            yield _line(name, [places[k] for k in shown], values[shown].tolist())
