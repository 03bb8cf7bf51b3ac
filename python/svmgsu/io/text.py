"""The text format of the method's authors: means, labels and covariances, one example a line, joined by ids.

    means         id j:v j:v ...
    labels        id label
    covariances   id i,j:v ...     diagonal j,j:v; full: one triangle or both; isotropic: one value, or 1,1:v

Indices begin at 1, zeros are omitted, `#` begins a comment. An id written `doc_3:` is `doc_3`. Ids may be
in any encoding: bytes that are not UTF-8 are lone surrogates in `ids` (Python's "surrogateescape").
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import _core
from ..data.covariances import Covariance, Diagonal, Full, Isotropic, Psd, check_psd, semidefinite
from ..data.gaussians import Gaussians
from ..support.memory import NotEnoughMemory, in_words, require_memory
from ..support.sparse import compressed_rows
from ..support.validation import Array, check_count
from .dataset import Dataset, Report, plain_labels
from .files import Source, mappable, name_of

TextFormat: TypeAlias = Literal["means", "labels", "covariances", "svmlight"]
KINDS = ("isotropic", "diagonal", "full")
MOST_FEATURES = 2**31 - 1
HUGE = 2**24  # features; where an index makes so many, the reader says which
LARGE, LOOK = 2**26, 2**16  # bytes of a file that is looked at before it is read, and of the look
ENTRY_BYTES, LINE_BYTES = 12, 40  # what an entry and a line of text become
SPARSE_BELOW = 0.2  # a share of nonzeros under which compressed rows are smaller and faster
SPARSE_FROM = 2**20  # numbers: smaller arrays stay dense, and SciPy need not be loaded


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
    verbose: bool = False,
    as_authors: bool = False,
) -> Dataset:
    """Reads the authors' text files and joins them by id, in the order of the means.

    Parameters
    ----------
    means, labels, cov : path, "-" or file
        "-" is standard input. Files compressed by gzip or xz are unpacked. Examples that one of the
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
    verbose : bool, default=False
        Whether to show a progress bar.
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
    >>> data, y = svmgsu.read_text(means, labels, cov)
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
    parse = Parser(threads, verbose)
    most = MOST_FEATURES if n_features is None else check_count(n_features, "n_features")
    asked = "" if n_features is None else f"n_features={n_features}"
    rows = {"means": parse(means, names["means"], "means", most, asked)}
    if labels is not None:
        rows["labels"] = parse(labels, names["labels"], "labels")
    n = n_features or rows["means"].features
    last_counts = as_authors and kind == "isotropic"
    if cov is not None and last_counts:
        rows["cov"] = parse(cov, names["cov"], "covariances", diagonal=True, as_written=True)
    elif cov is not None and as_authors and n_features is None:
        rows["cov"] = parse(cov, names["cov"], "covariances", diagonal=kind == "diagonal")
        n = max(n, rows["cov"].features)
    elif cov is not None:
        because = asked or f"the {n} features of {names['means']}; n_features= sets another number"
        most = n or MOST_FEATURES
        rows["cov"] = parse(cov, names["cov"], "covariances", most, because if n else "", kind == "diagonal")
        n = n or rows["cov"].features
    if n == 0:
        raise _core.FormatError(f"{names['means']}: all means are zero; pass n_features= to say how many")

    chosen = dict(zip(rows, _core.join(list(rows.values())), strict=True))
    report = _report(rows, chosen, names)
    ids = id_array(rows["means"].ids(chosen["means"]))
    layout = Layout(n, sparse, parse.threads, psd)
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


class Parser:
    """Calls the parser, with a progress bar if asked for."""

    def __init__(self, threads: int | None, verbose: bool) -> None:
        self.threads = 0 if threads is None else check_count(threads, "threads")
        self.verbose = verbose

    def __call__(
        self,
        source: Source,
        name: str,
        format: TextFormat,
        most: int = MOST_FEATURES,
        because: str = "",
        diagonal: bool = False,
        zero_based: bool = False,
        as_written: bool = False,
    ) -> _core.TextRows:
        content = mappable(source)
        _check_size(content, name)
        with _Bar(name, self.verbose) as show:
            return _core.read_rows(
                content, format, name, most, because, zero_based, diagonal, as_written, self.threads, show
            )


def _check_size(content: str | bytes, name: str) -> None:
    """Before a large file is read: do its numbers fit, if it goes on as it begins?"""
    size = len(content) if isinstance(content, bytes) else os.stat(content).st_size
    if size < LARGE:
        return
    if isinstance(content, bytes):
        head = content[:LOOK]
    else:
        with open(content, "rb") as file:
            head = file.read(LOOK)
    entries, lines = (size / len(head) * head.count(sign) for sign in (b":", b"\n"))
    wanted = entries * ENTRY_BYTES + lines * LINE_BYTES
    require_memory(wanted, f"{name}: about {entries:.3g} numbers in {in_words(size)} of text")


def _check_matrix(rows: _core.TextRows, count: int, width: int, what: str, n: int) -> None:
    """Before an array is made that a single large index can make huge."""
    try:
        require_memory(8.0 * count * width, f"{rows.name}: {count} examples of {n} features as {what}")
    except NotEnoughMemory as error:
        start, column, _ = rows.take_entries()  # nobody else will
        raise NotEnoughMemory(f"{error}; {_origin(rows, start, column)}") from None


def _origin(rows: _core.TextRows, start: Array, column: Array) -> str:
    """Where the largest index of a file is, by its entries."""
    row = int(np.searchsorted(start, int(column.argmax()), side="right")) - 1 if len(column) else 0
    return f"line {rows.line(row)} has the largest index, {rows.features}"


class _Bar:
    """A progress bar of the bytes read, if asked for and if tqdm is there."""

    def __init__(self, name: str, verbose: bool) -> None:
        self._name, self._verbose = name, verbose
        self._bar: Any = None

    def __enter__(self) -> Callable[[int, int], None] | None:
        if not self._verbose:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        self._bar = tqdm(desc=self._name, unit="B", unit_scale=True)
        return self._show

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.update(done - self._bar.n)


class Layout:
    """Turns parsed rows into arrays: dense or compressed, without a copy where they are complete."""

    def __init__(self, n: int, sparse: bool | None, threads: int, psd: Psd = "clip") -> None:
        self.n, self.sparse, self.threads, self.psd = n, sparse, threads, psd
        self.notes: list[str] = []

    def matrix(self, rows: _core.TextRows, chosen: Array) -> Any:
        whole = len(chosen) == rows.examples and bool((np.diff(chosen) == 1).all())
        numbers = rows.examples * self.n
        sparse = self.sparse
        if sparse is None:
            sparse = numbers >= SPARSE_FROM and rows.entries < SPARSE_BELOW * numbers
        if sparse:
            return self._compressed(rows, None if whole else chosen)
        if whole and rows.entries == numbers:
            return rows.take_entries()[2].reshape(rows.examples, self.n)
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
        found={names[role]: rows[role].examples for role in rows},
        dropped={names[role]: rows[role].examples - kept for role in rows},
    )


def id_array(ids: list[str]) -> Array:
    """Ids as an array of fixed width, or of objects where one long id would make that large."""
    width = max(map(len, ids), default=0)
    wasteful = width > 64 and width * len(ids) > 8 * sum(map(len, ids))
    return np.array(ids, dtype=object if wasteful else np.str_)


def _last_of_line(rows: _core.TextRows, chosen: Array, name: str, report: Report) -> Isotropic:
    """Of each line the last variance, or 0."""
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
    single = rows.bare or (rows.features == 1 and not rows.packed)
    if kind is None:
        kind = "full" if rows.packed else "diagonal"
        if rows.bare or (single and layout.n > 1):
            kind = "isotropic"
            if not rows.bare:
                report.notes.append(f'{name}: every line has 1,1 alone: isotropic (or pass kind="diagonal")')
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
