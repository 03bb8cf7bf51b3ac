"""scikit-learn's callback protocol (`set_callbacks`), in the versions that have it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support yet."""

    def with_callbacks(method: Any) -> Any:
        return method


__all__ = ["CallbackSupportMixin", "FitReport", "with_callbacks"]


class FitReport:
    """Tells an estimator's callbacks that its fit began, went on, and ended; nothing if it has none.

    Each iteration (or fit of a search) is a subtask of the fit.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, task: str, tasks: int | None) -> None:
        self._estimator = estimator
        self._task = task
        self._lock = threading.Lock()
        self._context: Any = None
        if hasattr(estimator, "_skl_callbacks"):
            self._context = estimator._init_callback_context(max_subtasks=tasks)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def monitor(self) -> Callable[[Any], bool | None] | None:
        """A callback for `svmgsu.train`; a callback that asks to stop stops it."""
        return None if self._context is None else (lambda progress: not self.step())

    def step(self) -> bool:
        """One more subtask is done. Whether a callback wants to stop."""
        if self._context is None:
            return False
        with self._lock:
            context = self._context.subcontext(task_name=self._task)
            context.call_on_fit_task_begin(estimator=self._estimator)
            return bool(context.call_on_fit_task_end(estimator=self._estimator))

    def end(self) -> None:
        """The fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
