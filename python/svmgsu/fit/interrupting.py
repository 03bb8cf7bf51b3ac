"""Ctrl-C in a long training: the best model so far is not lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C in a training on blocks; `model` is the best one so far, with its proven gap.

    It has no probabilities unless the training was at its end.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(f"training was interrupted; the best model so far has a gap of {model.gap_:.3g}")
        self.model = model


class Ctrl:
    """Whether Ctrl-C was pressed, while a `listening` lasts."""

    def __init__(self) -> None:
        self.pressed = False
        self.model: Any = None  # once there is one

    def press(self, number: int, frame: Any) -> None:
        """The first time asks a solver to stop with what it has; a second time is an error."""
        if self.model is not None:
            raise TrainingInterrupted(self.model)
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True


@contextlib.contextmanager
def listening(wanted: bool = True) -> Iterator[Ctrl]:
    """Takes Ctrl-C over, where Python's own handler has it and signals come: in the main thread."""
    ctrl = Ctrl()
    here = wanted and threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield ctrl
        return
    signal.signal(signal.SIGINT, ctrl.press)
    try:
        yield ctrl
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
