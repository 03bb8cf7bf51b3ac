"""Tables in memory, of pandas, polars, astropy or pyarrow, read as files are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..data.columns import ColumnError
from ..data.frames import understand
from ..support.validation import check_row_order
from ..support.warning import warn
from .cells import FrameCells, names_of
from .dataset import Dataset
from .tables import TableReader

LIBRARIES = ("pandas", "polars", "astropy", "pyarrow")


def is_frame(X: Any) -> bool:
    """Whether X is a table with names of columns."""
    return type(X).__module__.partition(".")[0] in LIBRARIES and hasattr(X, "columns")


def read_frame(frame: Any, **options: Any) -> Dataset:
    """Read a table in memory; `options` are those of `read_table`."""
    reader = TableReader(**options)
    try:
        cells = FrameCells(frame)
        if cells.rows == 0:
            raise ValueError("frame: it has no rows")
        return reader.read(cells)
    except _core.FormatError as error:
        raise ValueError(str(error)) from None


def say(dataset: Dataset, named: Any = None) -> None:
    """Warn of what was decided without being asked: exact values beside others, ids, columns not used."""
    found = dataset.columns
    assert found is not None
    alone = [c for c in found.exact if c not in (named or ())] if len(found.exact) < len(found.values) else []
    unused = [c for c, why in found.unused.items() if why in ("text", "empty")]
    if alone or unused or found.ids:
        warn(str(found))


def check_scored(had_noise: bool, X: Any, cov: Any, std: Any) -> None:
    """Refuse to score a model that was fitted with `cov` or `std` beside X on an X without them.

    So does cross-validation without metadata routing: `cross_val_score(..., params={"std": std})` passes
    them to `fit` alone.
    """
    if had_noise and cov is None and std is None and (is_frame(X) or not hasattr(X, "cov")):
        raise ValueError(
            "score: the model was fitted with cov or std, but X comes without. Pass them to score (std=0 if "
            "X is exact). In cross-validation pass svmgsu.Gaussians(X, std=...) as X, or route them: "
            "sklearn.set_config(enable_metadata_routing=True)"
        )


def table_for_fit(
    X: Any,
    y: Any = None,
    cov: Any = None,
    std: Any = None,
    *,
    gaps: bool = False,
    by_content: bool = True,
    **aligned: Any,
) -> tuple[Any, Any]:
    """X and y of a fit: a table with uncertainties, ids or text becomes `Gaussians`, all else stays.

    A `y` that is a name is that column of X. With `gaps` missing values stay, as NaN, else they are refused.
    Series in `y` and among those `aligned` must have the index of X.
    """
    if not is_frame(X):
        return X, y
    names = names_of(X)
    if not all(isinstance(name, str) for name in names) or len(X) == 0:
        return X, y
    check_row_order(X, y=None if isinstance(y, str) else y, **aligned)
    ignore: list[str] = []
    cells = FrameCells(X, "X")
    if isinstance(y, str):
        if y not in names:
            raise ValueError(f"y: X has no column {y!r}; it has {', '.join(names[:10])}")
        ignore, y = [y], np.array(cells.values(y))
    kinds = cells.kinds()
    try:
        found = understand(
            cells.columns,
            numeric=kinds.numeric,
            running=kinds.running if by_content else (),
            ignore=ignore,
        )
    except ColumnError as error:
        raise ValueError(
            f"X: {error}. Pass svmgsu.Gaussians.from_frame(X, ...) with that option instead of X"
        ) from None
    uncertain = bool(found.whole or found.joint or len(found.exact) < len(found.values))
    if uncertain and (cov is not None or std is not None):
        given = "std" if cov is None else "cov"
        raise ValueError(
            f"{given}: X has columns of uncertainties already ({found}); leave out {given}=, or pass the "
            "columns of values alone as X"
        )
    if not uncertain and not found.ids and not found.unused:
        return X, y
    if cov is not None or std is not None:
        return X[found.features], y
    options = {"missing": "keep" if gaps else "error", "ignore": ignore, "by_content": by_content}
    dataset = read_frame(X, target=None, **options)
    say(dataset)
    return dataset.data, y


def table_for_predict(X: Any, names: Any, cov: Any = None, std: Any = None, *, gaps: bool = False) -> Any:
    """X of a prediction: a table has the features called `names`, paired as in the fit; all else stays."""
    if names is None or cov is not None or std is not None or not is_frame(X):
        return X
    columns = set(names_of(X))
    if columns == set(names) or not columns >= set(names):
        return X
    return read_frame(X, features=list(names), target=None, missing="keep" if gaps else "error").data
