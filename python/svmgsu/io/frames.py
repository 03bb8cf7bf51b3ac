"""Tables in memory, of pandas, polars, astropy or pyarrow, read as files are."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np

from .. import _core
from ..data.columns import ColumnError, listed
from ..data.frames import understand
from ..support.types import Table
from ..support.validation import Array, ArrayLike, Matrix, check_row_order
from ..support.warning import warn
from .cells import Cells, check_collected, names_of
from .dataset import Dataset
from .tables import TableReader

LIBRARIES = ("pandas", "polars", "astropy", "pyarrow")
WITHOUT_GAPS = "GSUClassifier and GSURegressor take missing values; X.dropna() leaves such samples out"
MOST_NOISE = 4  # mean square of errors, of values with variance 1
LEAST_SCALED = 5  # samples whose mean and variance are not 0 and 1 by chance


def is_frame(X: ArrayLike) -> bool:
    """Tell whether X is a table with names of columns."""
    if type(X).__module__.partition(".")[0] not in LIBRARIES:
        return False
    check_collected(X)
    return hasattr(X, "columns")


def read_frame(frame: Any, **options: Any) -> Dataset:
    """Read a table in memory; `options` are those of `read_table`."""
    cells = Cells(frame)
    if cells.rows == 0:
        raise ValueError("frame: it has no rows")
    return _read(TableReader(**options), cells)


def _read(reader: TableReader, cells: Cells) -> Dataset:
    try:
        return reader.read(cells)
    except _core.FormatError as error:
        raise ValueError(str(error)) from None


def say(dataset: Dataset, named: Any = None) -> None:
    """Warn of what was decided without being asked, and of values that may not be what they seem."""
    found = dataset.columns
    assert found is not None
    alone = [c for c in found.exact if c not in (named or ())] if len(found.exact) < len(found.values) else []
    unused = [c for c, why in found.unused.items() if why in ("text", "empty")]
    if alone or unused or found.ids:
        warn(str(found))
    for remark in found.remarks:
        warn(remark)


def check_scored(had_noise: bool, X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> None:
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


def column_named(X: ArrayLike, y: ArrayLike) -> Any:
    """Return y, or the column of a table X that it names."""
    if not isinstance(y, str) or not is_frame(X):
        return y
    if y not in names_of(X):
        raise ValueError(f"y: X has no column {y!r}; it has {listed(names_of(X), 10)}")
    return np.array(Cells(X, "X").values(y))


def table_for_fit(
    X: Table,
    y: Matrix = None,
    cov: Matrix = None,
    std: Matrix = None,
    *,
    gaps: bool = False,
    by_content: bool = True,
    **aligned: object,
) -> tuple[Any, Any]:
    """X and y of a fit: a table with uncertainties, ids or text becomes `Gaussians`, all else stays.

    A `y` that is a name is that column of X. With `gaps` missing values stay, as NaN, else they are refused.
    Series in `y` and among those `aligned` must have the index of X.
    """
    if not is_frame(X):
        if type(X) is np.ndarray:
            if cov is None and std is None:
                _check_names_kept(X)
            else:
                _check_scaling(X, "std" if cov is None else "cov", std)
        return X, y
    names = names_of(X)
    if not all(isinstance(name, str) for name in names) or len(X) == 0:
        return X, y
    check_row_order(X, y=None if isinstance(y, str) else y, **aligned)
    _check_partners(names, cov=cov, std=std)
    cells = Cells(X, "X")
    target = y if isinstance(y, str) else _column_of(X, names, y)
    y = column_named(X, y)
    reader = TableReader(
        target=None,
        missing="keep" if gaps else "error",
        ignore=None if target is None else [target],
        by_content=by_content,
        advice=WITHOUT_GAPS,
        through="svmgsu.Gaussians.from_frame",
    )
    try:
        found = reader.understand(cells)
    except ColumnError as error:
        raise ValueError(
            f"X: {error}. Pass svmgsu.Gaussians.from_frame(X, ...) with that option instead of X"
        ) from None
    if target is not None:
        found.unused.pop(target, None)
        found.target = target
    uncertain = bool(found.whole or found.joint or len(found.exact) < len(found.values))
    if uncertain and (cov is not None or std is not None):
        given = "std" if cov is None else "cov"
        raise ValueError(
            f"{given}: X has columns of uncertainties already ({found}); leave out {given}=, or pass the "
            "columns of values alone as X"
        )
    if not uncertain and not found.ids and not found.unused and target is None:
        return X, y
    if cov is not None or std is not None:
        return X[found.features], y
    dataset = _read(reader, cells)
    say(dataset)
    return dataset.data, y


def _check_partners(names: list[str], **given: object) -> None:
    """Refuse a table of uncertainties whose columns belong to those of X in another order."""
    for argument, table in given.items():
        own = names_of(table) if is_frame(table) else []
        if not own or not all(isinstance(name, str) for name in own) or set(own) & set(names):
            continue
        with contextlib.suppress(ColumnError):
            found = understand([*names, *own]).values
            order = [next(iter(found.get(name, {}).values()), None) for name in names]
            if order != own and set(order) == set(own):
                raise ValueError(
                    f"{argument}: its columns are {listed(own)}, but those of X are {listed(names)}; bring "
                    "them into the same order"
                )


def _column_of(X: Table, names: list[str], y: Matrix) -> str | None:
    """Find the column of X that y is, as in fit(table, table["class"]): it is no feature."""
    name = getattr(y, "name", None)
    if not isinstance(name, str) or name not in names:
        return None
    return name if np.array_equal(np.asarray(y), np.asarray(X[name])) else None


def _check_names_kept(X: Array) -> None:
    """Refuse an X that was a table with uncertainties before a step of a pipeline lost their names.

    Only the pipeline knows the names: `fit` sees an array. So the pipeline is looked for among the callers.
    """
    frame = sys._getframe(2)
    while frame is not None:
        pipeline: Any = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        names = getattr(pipeline, "feature_names_in_", None) if hasattr(pipeline, "steps") else None
        # A step that takes some of the columns, or makes others, is taken to know what it does.
        if names is not None and X.ndim == 2 and len(names) == X.shape[1]:
            try:
                found = understand([str(name) for name in names]).values
            except ColumnError:
                return
            errors = [column for pairs in found.values() for column in pairs.values()]
            if errors:
                first = type(pipeline.steps[0][1]).__name__
                raise ValueError(
                    f"X: {first} makes features of the uncertainties {listed(errors, 3)}, since it returns "
                    f"an array without names; svmgsu.Propagate({first}()) keeps them as such. If they "
                    "are to be features, pass the table as an array"
                )
            return
        frame = frame.f_back  # type: ignore[assignment]


def _check_scaling(X: Array, given: str, std: Matrix) -> None:
    """Warn of `given` beside an X that was standardised, or refuse it.

    The scaler did not know of it. Errors that exceed the spread of the values, to which they contribute,
    cannot be in units of the scaled X and are refused. Smaller ones may have been scaled by hand.
    """
    if X.ndim != 2 or X.dtype.kind != "f" or len(X) < LEAST_SCALED:
        return
    small = 1e-9 if X.dtype == np.float64 else 1e-4
    if abs(X[:, 0].mean()) > small:  # most data end here
        return
    spread = X.std(axis=0)
    if (np.abs(X.mean(axis=0)) < small).all() and (np.minimum(np.abs(spread - 1), spread) < small).all():
        text = (
            f"{given}: every feature of X has mean 0 and variance 1, as behind a StandardScaler, which does "
            f"not scale {given}. svmgsu.Propagate(StandardScaler()) scales both; pass it "
            f"svmgsu.Gaussians(X, {given}=...), or route {given} through it. If {given} is in the units of "
            f"the scaled X, fit svmgsu.Gaussians(X, {given}={given}) instead"
        )
        if std is not None and (np.mean(np.square(std), axis=0) > MOST_NOISE).any():
            raise ValueError(text)
        warn(text)


def table_for_predict(
    X: Table, names: Any, cov: Matrix = None, std: Matrix = None, *, gaps: bool = False
) -> Any:
    """X of a prediction: a table has the features called `names`, paired as in the fit; all else stays."""
    if names is None or cov is not None or std is not None or not is_frame(X):
        return X
    columns = set(names_of(X))
    if columns == set(names) or not columns >= set(names):
        return X
    missing = "keep" if gaps else "error"
    return read_frame(X, features=list(names), target=None, missing=missing, advice=WITHOUT_GAPS).data
