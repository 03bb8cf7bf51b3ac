"""Progress of a long fit on the terminal: tqdm where it is installed, plain lines where it is not."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

SECONDS_BETWEEN_LINES = 2.0


class ProgressBar:
    """Show what the core tells of its progress."""

    def __init__(self, options: Any) -> None:
        self._options = options
        self._bar: Any = None
        self._last_line = -math.inf

    def __enter__(self) -> Callable[[Any], None]:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return self._show
        total = self._options.steps if self._options.solver == "sgd" and self._options.steps else None
        self._bar = tqdm(total=total, desc=f"svmgsu {self._options.solver}", unit="it")
        return self._show

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, progress: Any) -> None:
        known = not math.isnan(progress.objective)
        text = f"objective {progress.objective:.6g}, gap {progress.gap:.2g}" if known else ""
        if self._bar is not None:
            self._bar.update(max(0, progress.iteration - self._bar.n))  # several classes come in turns
            self._bar.set_postfix_str(text)
        elif progress.seconds - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = progress.seconds
            print(
                f"svmgsu: iteration {progress.iteration}, {progress.seconds:.1f} s, {text}", file=sys.stderr
            )


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
