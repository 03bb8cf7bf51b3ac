"""How several classes become binary subproblems."""

from __future__ import annotations

import numpy as np

from ..support.validation import Array, FloatArray, listed


class Scheme:
    """How K classes become binary subproblems.

    Two classes are one subproblem, positive for the second. For more, "ovo" has one for each pair, in the
    order (0, 1), (0, 2), ..., (0, K-1), (1, 2), ... as scikit-learn's SVC, positive for the second of the
    pair; "ovr" has one for each class, positive for it and negative for the rest.
    """

    def __init__(self, classes: int, multi_class: str) -> None:
        self.classes = classes
        self.multi_class = multi_class
        self.pairs = None
        if classes == 2:
            self.pairs = np.array([[0, 1]])
        elif multi_class == "ovo":
            self.pairs = np.stack(np.triu_indices(classes, 1), axis=1)
        self.count = classes if self.pairs is None else len(self.pairs)  # of subproblems
        # The positive class of each.
        self.positive = np.arange(classes) if self.pairs is None else self.pairs[:, 1]

    def rows(self, k: int, codes: Array) -> Array:
        """Return which samples, of classes `codes`, belong to subproblem `k`."""
        if self.pairs is None:
            return np.arange(len(codes))
        return np.flatnonzero(np.isin(codes, self.pairs[k]))

    def signs(self, k: int, codes: Array) -> FloatArray:
        """Return +1 for the positive class of subproblem `k` and -1 for the other samples."""
        return np.asarray(2.0 * (codes == self.positive[k]) - 1.0)

    def named(self, places: list[int], classes: Array) -> str:
        """Return which subproblems a message is about; nothing where there is but one."""
        several = len(places) > 1
        if self.classes == 2:
            return ""
        if self.pairs is None:
            return f" for class{'es' if several else ''} {listed(classes[places])} against the rest"
        names = [f"{classes[i].item()!r}-{classes[j].item()!r}" for i, j in self.pairs[places[:5]]]
        more = f", ... ({len(places)} of {self.count})" if len(places) > len(names) else ""
        return f" for the pair{'s' if several else ''} of classes {', '.join(names)}{more}"
