"""Tables: CSV, TSV, Parquet, Feather and Arrow IPC, where columns `x` and `x_err` belong together."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _core
from ..covariance import Isotropic
from ..gaussians import Gaussians
from ..linear_maps import dense
from ..validation import Array
from .dataset import Dataset, Report, as_dataset
from .files import Source, extension, mappable, name_of
from .output import replacing
from .pairing import SUFFIXES, pair_columns
from .text_writing import variances_of

LABELS, IDS = ("label", "y"), ("id", "doc_id")
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
ARROW = (".arrow", ".ipc", ".feather")
ENDINGS = (*DELIMITERS, ".parquet", *ARROW)


def read_table(
    path: Source,
    *,
    label: str | None = None,
    id: str | None = None,
    features: list[str] | None = None,
    missing: Literal["error", "drop"] = "error",
    format: str | None = None,
) -> Dataset:
    """Reads a table by pyarrow and pairs columns by their endings: `x` with `x_err`, `x_std` or `x_var`.

    Parameters
    ----------
    path : path, "-" or file
        Its ending tells the format: .csv, .tsv, .tab (.gz and .xz too), .parquet, .feather, .arrow, .ipc.
    label, id : str, optional
        The columns of labels and ids; by default "label" or "y", and "id" or "doc_id", if there are such
        without errors beside them.
    features : list of str, optional
        The columns of means; by default all numeric columns that are nothing else. A feature without a column
        of errors is certain.
    missing : {"error", "drop"}
        What to do with rows where a number is missing.
    format : str, optional
        The ending to assume, such as "csv".

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO(b"name,flux,flux_err,label\\ns1,1.5,0.5,star\\nq1,3.0,0.25,quasar\\n")
    >>> data, y = svmgsu.io.read_table(file, format="csv")
    >>> data.cov.variances
    array([[0.25  ],
           [0.0625]])
    >>> y
    array(['star', 'quasar'], dtype='<U6')
    """
    if missing not in ("error", "drop"):
        raise ValueError(f'missing: expected "error" or "drop", got {missing!r}')
    table = _load(path, _ending(path, format))
    name = name_of(path)
    columns = list(table.column_names)
    if len(set(columns)) < len(columns):
        twice = next(c for c in columns if columns.count(c) > 1)
        raise _core.FormatError(f"{name}: the column {twice!r} appears twice")
    if table.num_rows == 0:
        raise _core.FormatError(f"{name}: there is no example in this file")
    label = _pick(columns, label, LABELS, "label", name)
    id = _pick(columns, id, IDS, "id", name)
    numeric = [c for c in columns if _is_numeric(table.schema.field(c).type)]
    paired = pair_columns(numeric, {label, id}, features, name)
    dtype = np.float32 if all(str(table.schema.field(c).type) == "float" for c in paired.used) else np.float64
    numbers = {c: _numbers(table[c], dtype) for c in paired.used}
    keep = _complete(numbers, table.num_rows, missing, name)
    if not keep.any():
        raise _core.FormatError(f"{name}: there is no example without a missing number")
    X = np.column_stack([numbers[c][keep] for c in paired.features])
    cov = paired.covariance({c: v[keep] for c, v in numbers.items()}, name)
    report = Report(
        {name: table.num_rows}, {name: int((~keep).sum())}, paired.notes(columns, {label, id}, name)
    )
    y = None if label is None else _values(table[label], keep, label, name)
    ids = None if id is None else _values(table[id], keep, id, name).astype(np.str_)
    data = Gaussians(np.ascontiguousarray(X), cov, feature_names=paired.features)
    return Dataset(data, y, ids, report)


def _pick(columns: list[str], asked: str | None, usual: tuple[str, ...], what: str, name: str) -> str | None:
    if asked is not None and asked not in columns:
        raise ValueError(f"{name}: {what}: there is no column {asked!r}; there are {columns}")
    if asked is not None:
        return asked
    # A column with errors of its own is a measurement, whatever its name: the y of a place, say.
    plain = [c for c in usual if c in columns and not any(c + s in columns for s in SUFFIXES)]
    return plain[0] if plain else None


def _ending(path: Source, format: str | None) -> str:
    return extension(path) if format is None else "." + format.removeprefix(".")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'svmgsu[io]'") from error
    return pyarrow


def _load(path: Source, ending: str) -> Any:
    arrow = _pyarrow()
    content = mappable(path)
    source = arrow.BufferReader(content) if isinstance(content, bytes) else content
    try:
        if ending in DELIMITERS:
            from pyarrow import csv

            return csv.read_csv(
                source,
                parse_options=csv.ParseOptions(delimiter=DELIMITERS[ending]),
                convert_options=csv.ConvertOptions(
                    strings_can_be_null=True, quoted_strings_can_be_null=False
                ),
            )
        if ending == ".parquet":
            from pyarrow import parquet

            return parquet.read_table(source)
        if ending in ARROW:
            from pyarrow import feather

            return feather.read_table(source)
    except arrow.ArrowException as error:
        raise _core.FormatError(f"{name_of(path)}: {' '.join(str(error).split())}") from None
    raise ValueError(f"{name_of(path)}: expected a name that ends in {', '.join(ENDINGS)}, got {ending!r}")


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    )


def _numbers(column: Any, dtype: Any) -> Array:
    from pyarrow import types

    if types.is_decimal(column.type) or types.is_null(column.type):
        column = column.cast("float64")
    return np.asarray(column.to_numpy(), dtype=dtype)


def _complete(numbers: dict[str, Array], count: int, missing: str, name: str) -> Array:
    keep = np.ones(count, dtype=bool)
    for column, values in numbers.items():
        wrong = ~np.isfinite(values)
        if wrong.any() and missing == "error":
            row = int(np.argmax(wrong))
            shown = "missing" if np.isnan(values[row]) else values[row]
            raise _core.FormatError(
                f'{name}: {column} is {shown} in example {row}; missing="drop" leaves such examples out'
            )
        keep &= ~wrong
    return keep


def _values(column: Any, keep: Array, title: str, name: str) -> Array:
    """Labels or ids: numbers or strings."""
    values = column.to_pylist()
    chosen = [v for v, k in zip(values, keep, strict=True) if k]
    if None in chosen:
        raise _core.FormatError(f"{name}: {title} is missing in example {values.index(None)}")
    return np.array(chosen)


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
    names = list(feature_names or gaussians.feature_names_in_ or [f"x{j + 1}" for j in range(n)])
    if len(names) != n:
        raise ValueError(f"feature_names: {len(names)} names for {n} features")
    columns: dict[str, Any] = {}
    if dataset.ids is not None:
        columns["id"] = dataset.ids.astype(np.str_).tolist()
    if dataset.y is not None:
        columns["label"] = dataset.y if dataset.y.dtype.kind in "biuf" else dataset.y.tolist()
    means = dense(gaussians.mean)
    variances = None
    if isinstance(gaussians.cov, Isotropic):
        columns["_var"] = np.broadcast_to(gaussians.cov.variances, len(gaussians))
    elif gaussians.cov is not None:
        variances = dense(variances_of(gaussians))
    for j, feature in enumerate(names):
        columns[feature] = means[:, j]
        if variances is not None:
            columns[feature + "_var"] = variances[:, j]
    expected = n * (1 if variances is None else 2) + sum(c in columns for c in ("id", "label", "_var"))
    if len(columns) != expected:
        raise ValueError("feature_names: two columns would have the same name; pass other names")
    save_table(make_table(columns), path, _ending(path, format))


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
