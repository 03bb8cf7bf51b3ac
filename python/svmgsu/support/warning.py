"""Warnings that point at the line of the user's own code."""

from __future__ import annotations

import sys
import warnings

OURS = ("svmgsu", "sklearn")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the line that called this package or scikit-learn, not about a line inside them."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in OURS:
        frame = frame.f_back
        level = level + 1
    warnings.warn(message, category, stacklevel=level)
