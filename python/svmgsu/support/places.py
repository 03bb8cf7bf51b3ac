"""Errors of a block tell the place in the whole: example 3 of a block that begins at 1000 is 1003."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

_EXAMPLE = re.compile(r"\b(examples?|samples?|row) (\d+)")


@contextlib.contextmanager
def counted_from(first: int) -> Iterator[None]:
    """Adds `first` to the numbers of examples in messages of ValueError and its kin."""
    try:
        yield
    except ValueError as error:
        if first and error.args:
            text = _EXAMPLE.sub(lambda m: f"{m[1]} {int(m[2]) + first}", str(error.args[0]))
            error.args = (text, *error.args[1:])
        raise
