"""Error bars in data frames, files and builders: which columns belong together, what a bar says of a value.

| column | what it is |
|---|---|
| x | the value of feature x |
| x_err, x_std | its standard deviation |
| x_err1, x_err2 | its upper and lower error; a lower one may have a minus sign |
| x_var | its variance |
| _err, _std, _var, _err1 with _err2, without x | the error of all features at once |

Upper and lower errors are a normal distribution of one width above the value and another below it; its mean
and variance are taken (`asymmetric_bars`). A feature without errors is certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from ..support.validation import Array, FloatArray, as_float_array, check_choice

UPPER, LOWER, STD, VARIANCE = "upper error", "lower error", "standard deviation", "variance"
ENDINGS = {"_err1": UPPER, "_err2": LOWER, "_err": STD, "_std": STD, "_var": VARIANCE}
ErrorColumns: TypeAlias = dict[str, str] | float | None  # {what it is: column}, one for all rows, or none
UNITS = ("same", "relative", "linear of log10", "linear of log")
CENTRES = ("median", "mode", "mean")
NAME_FEATURES = "leave it out by ignore=, or name the features"


def endings_of(suffix: str | None) -> dict[str, str]:
    """What follows a value's name in the names of its errors: the usual endings, or those of one `suffix`."""
    return ENDINGS if suffix is None else {suffix + "1": UPPER, suffix + "2": LOWER, suffix: STD}


def check_centre(asymmetric: Any) -> str:
    """How upper and lower errors are read; "split-normal" is another word for "mode"."""
    centre = "mode" if asymmetric == "split-normal" else asymmetric
    check_choice(centre, "asymmetric", CENTRES)
    return str(centre)


@dataclass
class Pairing:
    """Which columns are values and which are their errors: {feature: {what it is: column}}."""

    errors: dict[str, dict[str, str]]
    whole: dict[str, str] = field(default_factory=dict)  # the errors of all features at once
    unused: list[str] = field(default_factory=list)

    @property
    def features(self) -> list[str]:
        return list(self.errors)

    @property
    def certain(self) -> list[str]:
        """The features without errors, where others have some."""
        if self.whole or not any(self.errors.values()):
            return []
        return [name for name, found in self.errors.items() if not found]

    @property
    def columns(self) -> list[str]:
        """All columns that hold numbers to read."""
        return [c for f, e in self.errors.items() for c in (f, *e.values())] + list(self.whole.values())


def pair_columns(
    columns: list[str], features: list[str] | None, *, suffix: str | None = None, aside: Iterable[Any] = ()
) -> Pairing:
    """Pairs `columns` by the endings of their names. An error without its value is refused.

    `features` are the values; by default all columns that are no errors. Columns `aside` (labels, ids) are no
    features. With `features`, columns that belong to none of them are unused.
    """
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise ValueError(f"the column {twice[0]!r} appears twice")
    endings, away = endings_of(suffix), set(aside)
    names = [c for c in columns if c not in away]
    present = set(names)
    if features is None:
        features = _features_of(names, present, endings, away)
    else:
        _check_features(features, present, columns)
    pairing = Pairing({f: partners(f, present, endings) for f in features}, partners("", present, endings))
    if pairing.whole and any(pairing.errors.values()):
        raise ValueError(
            f"{', '.join(pairing.whole.values())} is for all features, but some have errors of their own"
        )
    used = set(pairing.columns)
    pairing.unused = [c for c in names if c not in used]
    return pairing


def with_errors(columns: Iterable[str], present: set[str], suffix: str | None = None) -> set[str]:
    """These columns and the columns of their errors."""
    return {c + e for c in columns for e in ("", *endings_of(suffix)) if c + e in present}


def _features_of(names: list[str], present: set[str], endings: dict[str, str], away: set[Any]) -> list[str]:
    features: list[str] = []
    errors: list[str] = []
    for name in names:
        ending = next((e for e in endings if isinstance(name, str) and name.endswith(e)), None)
        (features if ending is None else errors).append(name)
        base = name.removesuffix(ending) if ending else ""
        if base and base not in present:
            what = "which is no feature" if base in away else "and there is no such column"
            raise ValueError(
                f"column {name!r} is named like the {endings[str(ending)]} of {base!r}, {what}; "
                + NAME_FEATURES
            )
    known = {f + e for f in features for e in endings if isinstance(f, str)} | set(endings)
    for name in errors:
        if name not in known:
            raise ValueError(
                f"column {name!r} is named like an error of what is an error itself; {NAME_FEATURES}"
            )
    return features


def _check_features(features: list[str], present: set[str], columns: list[str]) -> None:
    missing = [name for name in features if name not in present]
    if missing:
        shown = ", ".join(map(repr, missing[:5])) + (f", ... ({len(missing)})" if len(missing) > 5 else "")
        known = ", ".join(map(str, columns[:10])) + (", ..." if len(columns) > 10 else "")
        raise ValueError(f"features: there is no column {shown}; there are {known}")
    twice = [name for name, count in Counter(features).items() if count > 1]
    if twice:
        raise ValueError(f"features: {twice[0]!r} is named twice")


def partners(base: Any, present: set[str], endings: dict[str, str] = ENDINGS) -> dict[str, str]:
    """The columns that hold the errors of a value: {what they are: column}, at most one error."""
    if not isinstance(base, str):
        return {}
    columns = [base + e for e in endings if base + e in present]
    found = {endings[c.removeprefix(base)]: c for c in columns}
    if len(columns) > 1 and set(found) != {UPPER, LOWER}:
        raise ValueError(f"{base!r} has more than one error: {', '.join(columns)}")
    if set(found) in ({UPPER}, {LOWER}):
        both = [base + e for e, what in endings.items() if what in (UPPER, LOWER)]
        raise ValueError(f"{columns[0]} alone; expected both {' and '.join(both)}")
    return found


def combine(
    found: dict[str, str],
    bars: Callable[[str, str], Array],
    centre: str,
    unit: FloatArray | float = 1.0,
    floor: Any = None,
) -> tuple[FloatArray | None, FloatArray]:
    """(how far the mean moves, or None; the variance) of values with the errors in the columns `found`.

    `bars(column, what)` gives the errors in a column as sizes, which are not negative. A bar of length 1 is
    worth `unit` (of `bar_unit`), and then at least `floor` (of `raised`).
    """

    def size(what: str) -> FloatArray:
        sizes = bars(found[what], what) * unit
        return sizes.astype(np.float64) if floor is None else raised(sizes, floor)

    if UPPER in found:
        return asymmetric_bars(size(UPPER), size(LOWER), centre)
    if STD in found:
        return None, size(STD) ** 2
    variances = np.asarray(bars(found[VARIANCE], VARIANCE), dtype=np.float64) * np.square(unit)
    return None, variances if floor is None else np.maximum(variances, raised(0 * variances, floor) ** 2)


def with_bars(
    mean: Array,
    errors: Sequence[ErrorColumns],
    bars: Callable[[str, str], Array],
    centre: str,
    units: str = "same",
    floors: Sequence[float | None] | None = None,
) -> FloatArray:
    """The variances of values `mean` (l, n), which asymmetric bars move, in place, to where their mean is.

    `errors` are of each feature: the columns of its bars, one deviation for all rows, or none.
    """
    variances = np.zeros(mean.shape)
    for j, found in enumerate(errors):
        if isinstance(found, dict) and found:
            unit, floor = bar_unit(mean[:, j], units), None if floors is None else floors[j]
            shift, variances[:, j] = combine(found, bars, centre, unit, floor)
            mean[:, j] += 0 if shift is None else shift
        elif found:
            variances[:, j] = np.square(cast(float, found) * bar_unit(mean[:, j], units))
    return variances


def asymmetric_bars(up: FloatArray, down: FloatArray, centre: str) -> tuple[FloatArray, FloatArray]:
    """How far the mean of two half normals lies from where they meet, and their variance.

    They meet at the "median", where each has half of the mass, or at the "mode", where the density is
    continuous. "mean" is a custom, no distribution: the value stays, and the deviation is the mean of both.
    """
    skew = up - down
    if centre == "median":
        return skew / np.sqrt(2 * np.pi), (up**2 + down**2) / 2 - skew**2 / (2 * np.pi)
    if centre == "mode":
        return np.sqrt(2 / np.pi) * skew, (1 - 2 / np.pi) * skew**2 + up * down
    return np.zeros_like(skew), ((up + down) / 2) ** 2


def lower_sizes(bars: Array) -> Array:
    """Lower errors (l,) or (l, n) as sizes: a column has a minus sign or none, not both; NaN is nothing."""
    negative, positive = bars < 0, bars > 0
    both = np.atleast_1d(negative.any(axis=0) & positive.any(axis=0))
    if both.any():
        column = (slice(None), int(both.argmax()))[: bars.ndim]
        raise SignError(int(positive[column].argmax()), int(negative[column].argmax()))
    return np.abs(bars)


class SignError(ValueError):
    """Lower errors of both signs, at the examples `positive` and `negative`."""

    def __init__(self, positive: int, negative: int) -> None:
        super().__init__(f"lower errors have both signs, in examples {positive} and {negative}")
        self.positive, self.negative = positive, negative


def bar_unit(means: Array, units: str) -> FloatArray | float:
    """What a bar of length 1 is worth in units of X, by the derivative."""
    if units == "same":
        return 1.0
    x = means.astype(np.float64)
    if units == "relative":
        return np.abs(x)
    return np.asarray(10.0**-x / np.log(10) if units == "linear of log10" else np.exp(-x))


def raised(bars: Array, floor: Any) -> FloatArray:
    """Bars (l, n) of at least `floor`: a number, one for each feature, or "smallest" (above zero)."""
    bars = bars.astype(np.float64)
    if isinstance(floor, str):
        if floor != "smallest":
            raise ValueError(f'floor: expected one of "smallest", got {floor!r}')
        least = np.min(bars, axis=0, initial=np.inf, where=bars > 0)
        least = np.where(np.isinf(least), 0.0, least)
    else:
        least = as_float_array(floor, "floor", (0, 1))
        if least.ndim == 1 and len(least) != bars.shape[1]:
            raise ValueError(f"floor: {len(least)} values for {bars.shape[1]} features")
        if not (np.isfinite(least).all() and (least >= 0).all()):
            raise ValueError(f"floor: must be >= 0 and finite, got {floor!r}")
    return np.asarray(np.maximum(bars, least))
