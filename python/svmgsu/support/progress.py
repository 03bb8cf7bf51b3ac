"""Progress of long work on the terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from .. import _core

SECONDS_BETWEEN_LINES = 2.0


def progress_lines() -> Callable[[_core.Progress], None]:
    """Return a function that prints what the core tells of its progress, a line every other second."""
    last = -math.inf

    def show(progress: _core.Progress) -> None:
        nonlocal last
        if progress.seconds - last >= SECONDS_BETWEEN_LINES:
            last = progress.seconds
            known = not math.isnan(progress.objective)
            text = f", objective {progress.objective:.6g}, gap {progress.gap:.2g}" if known else ""
            print(f"svmgsu: iteration {progress.iteration}, {progress.seconds:.1f} s{text}", file=sys.stderr)

    return show


def counter(verbose: bool, total: int, title: str) -> Callable[[], None]:
    """Return a function to call after each of `total` pieces of work; it moves a bar of tqdm if verbose."""
    if not verbose:
        return lambda: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return lambda: None
    bar = tqdm(total=total, desc=title, unit="step")

    def done() -> None:
        bar.update()
        if bar.n >= total:
            bar.close()

    return done
