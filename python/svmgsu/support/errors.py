"""Errors about values of an argument: which one, where, what is wrong and what helps, as fields."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

WORDS = ("sample", "feature", "feature")


class InvalidValue(ValueError):
    """A value that is not accepted.

    Parameters
    ----------
    argument : str
        The name of the argument.
    problem : str
        What is wrong, as the rest of a sentence about the place.
    place : tuple of int
        The sample, and the feature or features.
    advice : str
        What is wanted instead, or what helps.
    """

    def __init__(self, argument: str, problem: str, place: tuple[int, ...] = (), advice: str = "") -> None:
        self.argument = argument
        self.problem = problem
        self.place = place
        self.advice = advice
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.argument}: {words_of(self.place)} {self.problem}"
        return f"{text}; {self.advice}" if self.advice else text

    def __reduce__(self) -> tuple[type[InvalidValue], tuple[object, ...]]:
        return InvalidValue, (self.argument, self.problem, self.place, self.advice)


def words_of(place: tuple[int, ...]) -> str:
    """Return a place in words: sample, feature (and second feature)."""
    return ", ".join(f"{word} {k}" for word, k in zip(WORDS, place, strict=False)) or "the value"


@contextlib.contextmanager
def counted_from(first: int) -> Iterator[None]:
    """Count samples in errors of a block from `first`, where the block begins in the whole."""
    try:
        yield
    except InvalidValue as error:
        if error.place:
            error.place = (error.place[0] + first, *error.place[1:])
            error.args = (str(error),)
        raise


def _in_python(name: str, value: object) -> str:
    return (
        f"{name}=" if value is ... else f'{name}="{value}"' if isinstance(value, str) else f"{name}={value!r}"
    )


# How messages name an option; the shell sets its own way.
SPELLING: ContextVar[Callable[[str, object], str]] = ContextVar("spelling", default=_in_python)


def option(name: str, value: object = ...) -> str:
    """Return an option for messages as the caller writes it: ignore=['x'], or --ignore x in the shell."""
    return SPELLING.get()(name, value)
