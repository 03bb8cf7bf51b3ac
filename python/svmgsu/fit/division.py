"""How several classes become problems of two: every pair of classes, or each class against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..support.validation import Array, FloatArray, listed

MULTI_CLASS = ("ovo", "ovr")


def check_multi_class(value: Any) -> str:
    """What a user gave as `multi_class`."""
    if isinstance(value, str) and value in MULTI_CLASS:
        return value
    raise ValueError(f'multi_class: expected "ovo" or "ovr", got {value!r}')


class Division:
    """The two-class problems ("parts") of K classes.

    Of two classes there is one part, positive for the second. Of more, "ovo" has one for each pair, in the
    order (0, 1), (0, 2), ..., (0, K-1), (1, 2), ... as scikit-learn's SVC, positive for the second of the
    pair; "ovr" has one for each class, positive for it and negative for the rest.
    """

    def __init__(self, classes: int, multi_class: str) -> None:
        self.classes = classes
        self.multi_class = check_multi_class(multi_class)
        self.pairs = None
        if classes == 2:
            self.pairs = np.array([[0, 1]])
        elif multi_class == "ovo":
            self.pairs = np.stack(np.triu_indices(classes, 1), axis=1)

    def __len__(self) -> int:
        return self.classes if self.pairs is None else len(self.pairs)

    def rows(self, part: int, codes: Array) -> Array | None:
        """Which examples, of classes `codes`, a part is about; None for all."""
        if self.classes == 2 or self.pairs is None:
            return None
        negative, positive = self.pairs[part]
        return np.flatnonzero((codes == negative) | (codes == positive))

    def members(self, codes: Array) -> list[Array]:
        """The examples of each class, for `joined`."""
        order = np.argsort(codes, kind="stable")
        return np.split(order, np.cumsum(np.bincount(codes, minlength=self.classes))[:-1])

    def joined(self, part: int, members: list[Array]) -> Array | None:
        """As `rows`, without looking at all examples for each of many parts."""
        if self.classes == 2 or self.pairs is None:
            return None
        return np.sort(np.concatenate([members[k] for k in self.pairs[part]]), kind="stable")

    def signs(self, part: int, codes: Array) -> FloatArray:
        """+1 for the positive side of a part, -1 for the other, of examples that it is about."""
        positive = part if self.pairs is None else self.pairs[part, 1]
        return np.asarray(2.0 * (codes == positive) - 1.0)

    def named(self, parts: list[int], classes: Array) -> str:
        """Which parts a message is about; nothing where there is but one."""
        several = len(parts) > 1
        if self.classes == 2:
            return ""
        if self.pairs is None:
            return f" for class{'es' if several else ''} {listed(classes[parts])} against the rest"
        names = [f"{classes[i].item()!r}-{classes[j].item()!r}" for i, j in self.pairs[parts[:5]]]
        more = f", ... ({len(parts)} of {len(self)})" if len(parts) > len(names) else ""
        return f" for the pair{'s' if several else ''} of classes {', '.join(names)}{more}"
