"""Several covariances as one, the cheapest that holds all exactly: examples below examples, by `concatenate`,
or features beside features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..propagate.linear import EmbedMap
from ..support.arrays import stack_columns, stack_rows
from .covariances import Covariance, Diagonal, Shared, added
from .covariances.base import Term
from .covariances.sum import Sum
from .gaussians import Gaussians
from .mixtures import Mixtures, joined_mixtures


def concatenate(parts: Sequence[Any]) -> Any:
    """The examples of several `Gaussians`, or of several `Mixtures`, one after the other.

    Covariances of one kind stay of that kind. Where the kinds differ, each kind is one term of a sum, with
    zeros for the examples that have none of it; Isotropic joins Diagonal as variances. A `Shared` that
    all have in common stays shared; different ones become groups, which take no more memory than the
    matrices. CSR stays CSR where all are CSR. Mixtures of fewer components than others get some of weight 0.

    Parameters
    ----------
    parts : sequence of Gaussians, or of Mixtures
        All with the same features.

    Returns
    -------
    Gaussians or Mixtures

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> sharp, blurred = svmgsu.Gaussians(np.zeros((2, 3))), svmgsu.Gaussians(np.ones((4, 3)), std=0.5)
    >>> both = svmgsu.concatenate([sharp, blurred])
    >>> both.shape, both.cov.variances.tolist()
    ((6, 3), [0.0, 0.0, 0.25, 0.25, 0.25, 0.25])
    """
    data = list(parts)
    if not data:
        raise ValueError("parts: nothing to concatenate")
    wanted = Mixtures if isinstance(data[0], Mixtures) else Gaussians
    for i, part in enumerate(data):
        if not isinstance(part, wanted):
            raise TypeError(f"parts: part {i} is {type(part).__name__}; expected {wanted.__name__}")
        if part.shape[1] != data[0].shape[1]:
            raise ValueError(
                f"parts: part {i} has {part.shape[1]} features, but part 0 has {data[0].shape[1]}"
            )
    names = {tuple(part.feature_names_in_) for part in data if part.feature_names_in_ is not None}
    if len(names) > 1:
        raise ValueError(f"parts: the names of the features differ: {' and '.join(map(str, sorted(names)))}")
    if wanted is Mixtures:
        return joined_mixtures(data, list(names.pop()) if names else None)
    counts, n = [len(part) for part in data], data[0].shape[1]
    cov = _joined([part.cov for part in data], counts, n)
    out = Gaussians(
        stack_rows([part.mean for part in data]), cov, feature_names=names.pop() if names else None
    )
    out.deployment = _joined([part.deployment for part in data], counts, n)
    return out


def concatenate_alike(parts: Sequence[Gaussians]) -> Gaussians:
    """As `concatenate`, of parts of one whole: each term of their covariances stays one, with its factor.

    Sums over their examples then have the bits that they have of the whole.
    """
    terms = [
        []
        if part.cov is None
        else [(scale * own, piece) for scale, kind in part.cov.parts for own, piece in kind.pieces()]
        for part in parts
    ]
    if len({tuple((scale, type(kind)) for scale, kind in own) for own in terms}) > 1 or not terms[0]:
        return concatenate(parts)  # type: ignore[no-any-return]
    whole: Gaussians = concatenate([part.with_cov(None) for part in parts])
    counts, n = [len(part) for part in parts], whole.shape[1]
    joined = [_joined([own[k][1] for own in terms], counts, n) for k in range(len(terms[0]))]
    return whole.with_cov(
        Sum([(scale, kind) for (scale, _), kind in zip(terms[0], joined, strict=True) if kind is not None])
    )


def _joined(covs: list[Covariance | None], counts: list[int], n: int) -> Covariance | None:
    """Each kind joins its own terms; before that it says as which kind it is joined with the others."""
    terms_of = [[] if cov is None else cov.parts for cov in covs]
    parts = [
        [(scale * own, piece) for scale, kind in terms for own, piece in kind.pieces()] for terms in terms_of
    ]
    terms = _common(parts)
    share: dict[type, float] = {}
    for own, count in zip(parts, counts, strict=True):
        for each in {type(kind) for _, kind in own}:
            share[each] = share.get(each, 0.0) + count / sum(counts)
    parts = [
        [(scale, kind.joins_as(count, n, share)) for scale, kind in own]
        for own, count in zip(parts, counts, strict=True)
    ]
    for each in sorted({type(kind) for own in parts for _, kind in own}, key=lambda kind: kind.__name__):
        terms += each.joined([[t for t in own if type(t[1]) is each] for own in parts], counts, n)
    return added(terms) if terms else None


def _common(parts: list[list[Term]]) -> list[Term]:
    """Takes out the terms that belong to no example and that all parts have."""
    common: list[Term] = []
    for term in list(parts[0]):
        places = [next((t for t in own if _same(t, term)), None) for own in parts]
        if all(place is not None for place in places):
            common.append(term)
            for own, place in zip(parts, places, strict=True):
                own[:] = [t for t in own if t is not place]
    return common


def _same(a: Term, b: Term) -> bool:
    if a[0] != b[0] or type(a[1]) is not type(b[1]) or not (a[1].n_examples is b[1].n_examples is None):
        return False
    return a[1].same_for_all(b[1])


def beside(covs: list[Any], sizes: list[int], count: int) -> Covariance:
    """Covariances of independent groups of features, of `sizes`, as one: variances stay variances."""
    total = sum(sizes)
    known = [cov.independent(count, size) for cov, size in zip(covs, sizes, strict=True)]
    if all(cov.is_diagonal and cov.n_examples is None for cov in covs):
        each = [cov.diagonals(1, size)[0] for cov, size in zip(covs, sizes, strict=True)]
        return Shared(np.concatenate(each))
    if all(own is not None for own in known):
        return Diagonal(stack_columns(known))
    variances, terms, first = np.zeros((count, total)), [], 0
    for cov, size in zip(covs, sizes, strict=True):
        if cov.is_diagonal:
            variances[:, first : first + size] = cov.diagonals(count, size)
        else:
            if 2 * size < total + 1:  # factors are smaller than triangles
                cov = cov.factored()
            terms.append(cov.mapped(EmbedMap(size, first, total)))
        first += size
    out: Covariance | None = Diagonal(variances) if variances.any() or not terms else None
    for term in terms:
        out = term if out is None else out + term
    assert out is not None
    return out
