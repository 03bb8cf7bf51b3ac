"""Tables: CSV, TSV, Parquet, Feather and Arrow IPC, where columns `x` and `x_err` belong together."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.covariances import Diagonal, Isotropic
from ..data.error_bars import UNITS, Pairing, check_centre, combine, pair_columns, with_bars, with_errors
from ..data.gaussians import Gaussians
from ..maps.linear import dense
from ..support.memory import in_words, require_memory
from ..support.precision import stored_as
from ..support.validation import Array, check_choice
from .cells import NAME_IT, ArrowCells, Cells, CsvCells, error_sizes
from .chances import chance_columns, class_names, probabilities
from .dataset import Dataset, Report, as_dataset
from .files import Source, check_utf8, damaged, extension, mappable, name_of
from .output import replacing
from .targets import find_target, load, targets_of
from .text_writing import variances_of

LABELS, IDS = ("label", "y"), ("id", "doc_id")
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
ARROW = (".arrow", ".ipc", ".feather")
COPIES = 3  # of the numbers at the peak: as they are read or written, by column, and together
COLUMN_BYTES, PARQUET_BYTES = 2000, 5500  # measured: what a column takes besides its numbers
ENDINGS = (*DELIMITERS, ".parquet", *ARROW)


def read_table(
    path: Source,
    *,
    label: str | Literal[False] | None = None,
    id: str | None = None,
    features: list[str] | None = None,
    ignore: list[str] | None = None,
    asymmetric: str = "median",
    units: str = "same",
    missing: Literal["error", "drop"] = "error",
    text_labels: bool = False,
    chances: str | None = None,
    target: str | bool = False,
    target_error: str | None = None,
    format: str | None = None,
) -> Dataset:
    """Reads a table by pyarrow and pairs columns by their endings: `x` with `x_err`, `x_std` or `x_var`.

    No column is left out silently: what is no number must be named as label, id or to be ignored, and an
    error needs its value (`x_err` without `x` is refused).

    Parameters
    ----------
    path : path, "-" or file
        Its ending tells the format: .csv, .tsv, .tab (.gz and .xz too), .parquet, .feather, .arrow, .ipc.
    label, id : str, optional
        The columns of labels and ids; by default "label" or "y", and "id" or "doc_id", if there are such
        without errors beside them. `label=False` leaves labels unread. Ids are text: 001 stays 001.
    features : list of str, optional
        The columns of means, in this order; all others are then unused, and the report names them. By default
        all columns that are nothing else. A feature without a column of errors is certain.
    ignore : list of str, optional
        Columns to leave out; their errors are left out too.
    asymmetric : {"median", "mode", "mean"}
        What a value with `x_err1` and `x_err2` is, as in `Gaussians.from_frame`.
    units : {"same", "relative", "linear of log10", "linear of log"}
        Of the features' errors, as in `uncertainty.from_errors`.
    missing : {"error", "drop"}
        What to do with rows where a number or the label is missing.
    text_labels : bool, default=False
        Take labels as text. By default they are numbers where all are, and a mixture is refused.
    chances : str, optional
        How the names of columns with probabilities of classes begin, such as "p_": of a table without labels
        `p_star` and `p_quasar` then are y, of shape (l, 2), and star and quasar the `classes`.
    target : str or bool, default=False
        The column of numbers that a regression predicts, which is y then instead of labels; True: "target",
        "y" or "label". Its errors are found by their endings as those of features, and become `y_std`.
    target_error : str, optional
        The column of the targets' standard deviations, if its name does not say so.
    format : str, optional
        The ending to assume, such as "csv".

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO(b"id,flux,flux_err,label\\ns1,1.5,0.5,star\\nq1,3.0,0.25,quasar\\n")
    >>> data, y = svmgsu.io.read_table(file, format="csv")
    >>> data.cov.variances
    array([[0.25  ],
           [0.0625]])
    >>> y
    array(['star', 'quasar'], dtype='<U6')
    """
    if missing not in ("error", "drop"):
        raise ValueError(f'missing: expected "error" or "drop", got {missing!r}')
    centre = check_centre(asymmetric)
    check_choice(units, "units", UNITS)
    cells = _open(path, _ending(path, format))
    ids = _pick(cells, id, IDS, "id", features)
    given: dict[str, Any] = {"features": features, "ignore": ignore, "ids": ids}
    goal = find_target(cells, target, target_error, **given) if target else None
    labels = None if goal else _pick(cells, label or None, LABELS, "label", features)
    wanted = chances if label is None and not labels and not goal else None
    doubtful = chance_columns(cells, wanted, features, ignore) if wanted else []
    more = goal.columns if goal else doubtful
    pairing, ignored = _paired(cells, features, {labels, ids, *more} - {None}, ignore)
    y_column = None if label is False else labels
    load(cells, [*pairing.columns, *more], [c for c in dict.fromkeys((y_column, ids)) if c is not None], goal)
    if cells.rows == 0:
        raise _core.FormatError(f"{cells.name}: there is no example in this file")
    numbers = {c: cells.numbers(c) for c in [*pairing.columns, *more]}
    keep = _complete(cells, numbers, y_column, missing)
    mean, cov = _assembled(cells, pairing, numbers, keep, centre, units)
    unused = [c for c in pairing.unused if c not in ignored]
    notes = [f"{cells.name}: not used: {', '.join(unused)}"] if unused else []
    if pairing.certain:
        notes.insert(0, f"{cells.name}: no errors for {', '.join(pairing.certain)}: taken as certain")
    y = None if y_column is None else cells.labels(y_column, keep, text_labels)
    classes = y_std = None
    if goal:
        y, y_std = targets_of(cells, goal, numbers, keep, centre)
    if doubtful:
        y = probabilities(cells, [numbers[c] for c in doubtful], keep)
        classes = class_names([c.removeprefix(str(chances)) for c in doubtful], text_labels)
        notes.append(f"{cells.name}: labels in doubt: {', '.join(doubtful)}")
    return Dataset(
        Gaussians(mean, cov, feature_names=pairing.features),
        y,
        None if ids is None else np.array([str(v) for v in cells.present(ids, keep)]),
        Report({cells.name: cells.rows}, {cells.name: int((~keep).sum())}, notes),
        classes,
        y_std,
    )


def _pick(
    cells: Cells, asked: str | None, usual: tuple[str, ...], what: str, features: list[str] | None
) -> str | None:
    present = set(cells.columns)
    if asked is not None and asked not in present:
        known = ", ".join(cells.columns[:10]) + (", ..." if len(cells.columns) > 10 else "")
        raise ValueError(f"{cells.name}: {what}: there is no column {asked!r}; there are {known}")
    if asked is not None:
        return asked
    # A column with errors of its own is a measurement, whatever its name: the y of a place, say.
    free = [c for c in usual if c in present and c not in (features or ())]
    plain = [c for c in free if len(with_errors([c], present)) == 1]
    return plain[0] if plain else None


def _paired(
    cells: Cells, features: list[str] | None, known: set[Any], ignore: list[str] | None
) -> tuple[Pairing, set[str]]:
    """The pairing, and which columns are left out because a user said so."""
    present = set(cells.columns)
    strange = [c for c in ignore or () if c not in present]
    if strange:
        raise ValueError(f"{cells.name}: ignore: there is no column {', '.join(map(repr, strange))}")
    ignored = with_errors(ignore or (), present)
    named = known | ignored
    unnamed = next((k for k, c in enumerate(cells.columns) if not c.strip() and c not in named), None)
    if unnamed is not None and features is None:
        raise _core.FormatError(
            f"{cells.name}: column {unnamed + 1} has no name; if it numbers the rows, as pandas does, write "
            "the table without it (index=False)"
        )
    index = set() if features else set(cells.index) - known - ignored
    try:
        pairing = pair_columns(cells.columns, features, aside=known | ignored | index)
    except ValueError as error:
        raise _core.FormatError(f"{cells.name}: {error}") from None
    pairing.unused += [c for c in cells.columns if c in index]
    if not pairing.features:
        raise _core.FormatError(f"{cells.name}: there is no column to take as a feature")
    return pairing, ignored


def _assembled(
    cells: Cells, pairing: Pairing, numbers: dict[str, Array], keep: Array, centre: str, units: str
) -> tuple[Array, Any]:
    """Means and covariance of the rows to keep."""
    mean = np.column_stack([numbers[c][keep] for c in pairing.features])

    def bars(column: str, what: str) -> Any:
        return error_sizes(cells, column, what, numbers[column], keep)

    if pairing.whole and units == "same":
        shift, variance = combine(pairing.whole, bars, centre)
        if shift is not None:
            mean = (mean + shift[:, np.newaxis]).astype(mean.dtype)
        return mean, Isotropic(stored_as(variance, mean.dtype))
    errors = [pairing.whole or found for found in pairing.errors.values()]
    if not any(errors):
        return mean, None
    variances = with_bars(mean, errors, bars, centre, units)
    return mean, Diagonal(stored_as(variances, mean.dtype))


def _ending(path: Source, format: str | None) -> str:
    return extension(path) if format is None else "." + format.removeprefix(".")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'svmgsu[io]'") from error
    return pyarrow


def _open(path: Source, ending: str) -> Cells:
    arrow, name = _pyarrow(), name_of(path)
    if ending not in ENDINGS:
        raise ValueError(f"{name}: expected a name that ends in {', '.join(ENDINGS)}, got {ending!r}")
    content = mappable(path)
    size = len(content) if isinstance(content, bytes) else os.stat(content).st_size
    if ending in DELIMITERS:
        require_memory(COPIES * size, f"{name}: a table of {in_words(size)}")
        return CsvCells(content, name, DELIMITERS[ending])
    source = arrow.BufferReader(content) if isinstance(content, bytes) else content
    with damaged(path, "table"):
        try:
            if ending == ".parquet":
                from pyarrow import parquet

                about = parquet.read_metadata(source)
                size = 8 * about.num_rows * about.num_columns
                what = f"{name}: a table of {about.num_rows} rows and {about.num_columns} columns"
                require_memory(COPIES * size, what)
                table = parquet.read_table(source)
            else:
                from pyarrow import feather

                require_memory(COPIES * size, f"{name}: a table of {in_words(size)}")
                table = feather.read_table(source)
            table.validate(full=True)  # offsets and lengths of a damaged file lead anywhere
            return ArrowCells(table, name)
        except arrow.ArrowException as error:
            raise _core.FormatError(f"{name}: {' '.join(str(error).split())}") from None


def _complete(cells: Cells, numbers: dict[str, Array], label: str | None, missing: str) -> Array:
    """Which rows have all their numbers."""
    keep = np.ones(cells.rows, dtype=bool)
    for column, values in numbers.items():
        wrong = ~np.isfinite(values)
        if not wrong.any():
            continue
        row = int(np.argmax(wrong))
        if np.isnan(values).all():
            raise _core.FormatError(f"{cells.name}: column {column!r} is empty in every row; {NAME_IT}")
        if missing == "error":
            shown = "missing" if np.isnan(values[row]) else values[row]
            count = int(wrong.sum())
            more = f", one of {count} such rows" if count > 1 else ""
            raise cells.fail(
                row, f'column {column!r} is {shown}{more}; missing="drop" leaves such examples out'
            )
        keep &= ~wrong
    if label is not None and missing == "drop":
        keep &= [value is not None and value == value for value in cells.values(label)]
    if not keep.any():
        raise _core.FormatError(f"{cells.name}: there is no example without a missing number")
    return keep


def write_table(
    data: Any,
    path: Source,
    *,
    y: Any = None,
    ids: Any = None,
    feature_names: Any = None,
    format: str | None = None,
) -> None:
    """Writes a table by pyarrow: id, label, and for each feature its mean `x` and its variance `x_var`.

    Parameters
    ----------
    data : Dataset, Gaussians or array
        Covariances must be isotropic or diagonal.
    path : path, "-" or binary file
        Its ending tells the format, as for `read_table`.
    y, ids : arrays of shape (l,), optional
        Labels and ids; by default those of `data`.
    feature_names : list of str, optional
        By default those of `data`, or x1, x2, ...
    format : str, optional
        The ending to assume, such as "csv".

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> data = svmgsu.Gaussians([[1.5], [3.0]], std=[[0.5], [0.25]])
    >>> svmgsu.io.write_table(data, file, y=[1, 0], format="csv")
    >>> print(file.getvalue().decode(), end="")
    "label","x1","x1_var"
    1,1.5,0.25
    0,3,0.0625
    """
    dataset = as_dataset(data, y, ids)
    gaussians = dataset.data
    n = gaussians.shape[1]
    ending = _ending(path, format)
    _check_room(gaussians, name_of(path), ending)
    names = list(feature_names or gaussians.feature_names_in_ or [f"x{j + 1}" for j in range(n)])
    if len(names) != n:
        raise ValueError(f"feature_names: {len(names)} names for {n} features")
    columns: dict[str, Any] = {}
    if dataset.ids is not None:
        check_utf8(dataset.ids.astype(np.str_))
        columns["id"] = dataset.ids.astype(np.str_).tolist()
    if dataset.y is not None:
        columns["label"] = dataset.y if dataset.y.dtype.kind in "biuf" else dataset.y.tolist()
    means = dense(gaussians.mean)
    variances = None
    each = None if gaussians.cov is None else gaussians.cov.each_variance(len(gaussians))
    if each is not None:
        columns["_var"] = each
    elif gaussians.cov is not None:
        variances = dense(variances_of(gaussians))
    for j, feature in enumerate(names):
        columns[feature] = means[:, j]
        if variances is not None:
            columns[feature + "_var"] = variances[:, j]
    expected = n * (1 if variances is None else 2) + sum(c in columns for c in ("id", "label", "_var"))
    if len(columns) != expected:
        raise ValueError("feature_names: two columns would have the same name; pass other names")
    save_table(make_table(columns), path, ending)


def _check_room(gaussians: Gaussians, name: str, ending: str) -> None:
    """Before columns are named and filled, of which a single large index can make too many."""
    count, n = gaussians.shape
    width = n if gaussians.cov is None or gaussians.cov.each_variance(count) is not None else 2 * n
    own = PARQUET_BYTES if ending == ".parquet" else COLUMN_BYTES
    require_memory(
        width * (own + 8.0 * COPIES * count), f"{name}: a table of {count} rows and {width} columns"
    )


def make_table(columns: dict[str, Any]) -> Any:
    """An Arrow table of named columns."""
    return _pyarrow().table(columns)


def save_table(table: Any, path: Source, ending: str) -> None:
    """Writes an Arrow table in the format of the ending."""
    if ending not in ENDINGS:
        raise ValueError(
            f"{name_of(path)}: expected a name that ends in {', '.join(ENDINGS)}, got {ending!r}"
        )
    with replacing(path) as (file,):
        if ending in DELIMITERS:
            from pyarrow import csv

            csv.write_csv(table, file, csv.WriteOptions(delimiter=DELIMITERS[ending]))
        elif ending == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, file)
        else:
            from pyarrow import feather

            feather.write_feather(table, file, compression="uncompressed")
