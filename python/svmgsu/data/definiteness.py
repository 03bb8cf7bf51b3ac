"""Positive semidefinite or not: what rounding explains is projected, all else is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .. import _core
from ..support.validation import Array

Psd: TypeAlias = Literal["clip", "strict"]
_WORDS = get_args(Psd)
CLIPPED = 1e-4  # how far below zero an eigenvalue of a correlation matrix may be: numbers of four digits


def rounding(dtype: Any, n: int) -> float:
    """How far below zero rounding alone leaves an eigenvalue of a correlation matrix of n features."""
    return n * max(1e-9, 2 * float(np.finfo(dtype).eps))


def check_psd(psd: Any) -> None:
    """Refuses what is not one of the words."""
    if psd not in _WORDS:
        raise ValueError(f'psd: expected "clip" or "strict", got {psd!r}')


def first_indefinite(packed: Array, n: int) -> tuple[int, float]:
    """The first example that is not positive semidefinite, or -1, and its smallest eigenvalue."""
    return _core.find_indefinite(packed, n, rounding(packed.dtype, n))


def semidefinite(
    packed: Array,
    n: int,
    psd: Psd,
    name: str,
    called: Callable[[int], str],
    *,
    own: bool,
    error: type[ValueError] = ValueError,
) -> Array:
    """The packed matrices `packed`, with those projected that are not semidefinite by little.

    What is not `own` is copied before it is changed. `called` says what an error calls an example.
    """
    check_psd(psd)
    example, eigenvalue = first_indefinite(packed, n)
    if example < 0:
        return packed
    if psd == "clip":
        packed = packed if own else np.array(packed)
        small = rounding(packed.dtype, n)
        count, farthest, example, eigenvalue = _core.clip_indefinite(packed, n, small, max(CLIPPED, small))
        if example < 0:
            warnings.warn(
                f"{name}: {count} of {len(packed)} covariances are not positive semidefinite: their "
                f"correlations have eigenvalues down to {-farthest:.2g}, as rounded numbers do; they were "
                'projected (psd="strict" refuses them)',
                stacklevel=4,
            )
            return packed
    raise error(
        f"{called(example)} is not positive semidefinite: its smallest eigenvalue is {eigenvalue:.6g}; "
        "covariances must have none below zero"
        + (f' (or, in units of correlation, below -{CLIPPED:g} with psd="clip")' if psd == "strict" else "")
    )
