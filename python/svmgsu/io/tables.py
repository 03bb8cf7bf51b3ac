"""Tables: CSV, TSV, Parquet, Feather and Arrow IPC, where columns `x` and `x_err` belong together."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..maps.linear import dense
from ..support.memory import in_words, require_memory
from .cells import ArrowCells, Cells, CsvCells
from .dataset import Dataset, as_dataset
from .files import Source, check_utf8, damaged, extension, mappable, name_of
from .output import replacing
from .table_reading import TableReader
from .text_writing import variances_of

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
    reader = TableReader(
        label=label,
        id=id,
        features=features,
        ignore=ignore,
        asymmetric=asymmetric,
        units=units,
        missing=missing,
        text_labels=text_labels,
        chances=chances,
        target=target,
        target_error=target_error,
    )
    return reader.read(open_cells(path, _ending(path, format)))


def _ending(path: Source, format: str | None) -> str:
    return extension(path) if format is None else "." + format.removeprefix(".")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'svmgsu[io]'") from error
    return pyarrow


def open_cells(path: Source, ending: str) -> Cells:
    """The table of a file, of which nothing but the names of its columns is read yet."""
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
