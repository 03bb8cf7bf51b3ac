"""Several covariances as one, the cheapest that holds all exactly: examples below examples, by `concatenate`,
or features beside features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..maps.joined import EmbedMap, side_by_side
from ..maps.linear import blocks, dense
from ..support.validation import Array, is_sparse
from .covariance import Covariance, Sum, parts_of
from .gaussians import Gaussians
from .kinds import Diagonal, Full, Isotropic, LowRank, Shared, roots

Part = tuple[int, list[tuple[float, Any]]]  # how many examples, and the terms of their covariance


def concatenate(parts: Sequence[Gaussians]) -> Gaussians:
    """The examples of several `Gaussians`, one after the other.

    Covariances of one kind stay of that kind. Where the kinds differ, each kind is one term of a sum, with
    zeros for the examples that have none of it; Isotropic joins Diagonal as variances. A `Shared` that
    all have in common stays shared; different ones become groups, which take no more memory than the
    matrices. CSR stays CSR where all are CSR.

    Parameters
    ----------
    parts : sequence of Gaussians
        All with the same features.

    Returns
    -------
    Gaussians

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
    for i, part in enumerate(data):
        if not isinstance(part, Gaussians):
            raise TypeError(f"parts: part {i} is {type(part).__name__}; expected Gaussians")
        if part.shape[1] != data[0].shape[1]:
            raise ValueError(
                f"parts: part {i} has {part.shape[1]} features, but part 0 has {data[0].shape[1]}"
            )
    names = {tuple(part.feature_names_in_) for part in data if part.feature_names_in_ is not None}
    if len(names) > 1:
        raise ValueError(f"parts: the names of the features differ: {' and '.join(map(str, sorted(names)))}")
    counts, n = [len(part) for part in data], data[0].shape[1]
    cov = _joined([part.cov for part in data], counts, n)
    out = Gaussians(_stacked([part.mean for part in data]), cov, feature_names=names.pop() if names else None)
    out.deployment = _joined([part.deployment for part in data], counts, n)
    return out


def _stacked(arrays: list[Any]) -> Any:
    """Rows below rows: CSR where all are sparse, else dense."""
    if all(is_sparse(a) for a in arrays):
        import scipy.sparse

        return scipy.sparse.vstack(arrays, format="csr")
    return np.concatenate([dense(a) for a in arrays])


def _joined(covs: list[Covariance | None], counts: list[int], n: int) -> Covariance | None:
    parts = [(count, _terms(cov)) for count, cov in zip(counts, covs, strict=True)]
    terms = _common(parts)
    for join in (_join_variances, _join_shared, _join_full, _join_low_rank):
        terms += join(parts, n)
    if not terms:
        return None
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else Sum(terms)


def _terms(cov: Covariance | None) -> list[tuple[float, Any]]:
    """The terms of a sum, where a LowRank's diagonal is a term of its own."""
    terms: list[tuple[float, Any]] = []
    for scale, kind in [] if cov is None else parts_of(cov):
        if isinstance(kind, LowRank) and kind.diagonal is not None:
            terms += [(scale, LowRank(kind.factors, start=kind.start)), (scale, kind.diagonal)]
        else:
            terms.append((scale, kind))
    return terms


def _common(parts: list[Part]) -> list[tuple[float, Covariance]]:
    """Takes out the terms that belong to no example and that all parts have."""
    common: list[tuple[float, Covariance]] = []
    for term in list(parts[0][1]):
        places = [next((t for t in terms if _same(t, term)), None) for _, terms in parts]
        if all(place is not None for place in places):
            common.append(term)
            for (_, terms), place in zip(parts, places, strict=True):
                terms[:] = [t for t in terms if t is not place]
    return common


def _same(a: tuple[float, Any], b: tuple[float, Any]) -> bool:
    one, two = a[1], b[1]
    if a[0] != b[0] or type(one) is not type(two) or one.n_examples is not None or two.n_examples is not None:
        return False
    if isinstance(one, Isotropic):
        return bool(one.variances == two.variances)
    return bool(one.classes == two.classes and np.array_equal(one.packed, two.packed))


def _of_kind(parts: list[Part], kind: type[Covariance]) -> list[list[tuple[float, Any] | None]]:
    """The terms of one kind: rows of one term a part, None where a part has no more of them."""
    found = [[t for t in terms if isinstance(t[1], kind)] for _, terms in parts]
    depth = max(len(terms) for terms in found)
    return [[terms[j] if j < len(terms) else None for terms in found] for j in range(depth)]


def _join_variances(parts: list[Part], n: int) -> list[tuple[float, Covariance]]:
    rows = _of_kind(parts, Isotropic)
    isotropic = [
        sum((t[0] * _each(t[1].variances, count) for row in rows if (t := row[i])), np.zeros(count))
        for i, (count, _) in enumerate(parts)
    ]
    diagonals = _of_kind(parts, Diagonal)
    if not diagonals:
        return [(1.0, Isotropic(np.concatenate(isotropic)))] if rows else []
    sparse = not rows and all(t is None or is_sparse(t[1].matrix) for row in diagonals for t in row)
    pieces = []
    for i, (count, _) in enumerate(parts):
        terms = [t for row in diagonals if (t := row[i])]
        if len(terms) == 1 and terms[0][0] == 1 and not isotropic[i].any():
            pieces.append(terms[0][1].matrix)  # as it is: float32 stays float32
        elif sparse:
            import scipy.sparse

            pieces.append(sum((s * d.matrix for s, d in terms), scipy.sparse.csr_array((count, n))))
        else:
            start = np.repeat(isotropic[i][:, np.newaxis], n, axis=1)
            pieces.append(sum((s * dense(d.matrix) for s, d in terms), start))
    return [(1.0, Diagonal(_stacked(pieces)))]


def _each(variances: Array, count: int) -> Array:
    return np.broadcast_to(variances.astype(np.float64), count)


def _join_shared(parts: list[Part], n: int) -> list[tuple[float, Covariance]]:
    joined: list[tuple[float, Covariance]] = []
    for row in _of_kind(parts, Shared):
        flat = all(t is None or t[1].is_diagonal for t in row)
        matrices: dict[int, Array] = {}
        group: list[Array] = []
        for i, ((count, _), term) in enumerate(zip(parts, row, strict=True)):
            if term is None:
                each, numbers = np.zeros((1, n) if flat else (1, n, n)), np.zeros(count, np.int32)
            else:
                each, numbers = _groups(i, term, count, flat)
            group.append(len(matrices) + numbers)
            for matrix in each:
                matrices[len(matrices)] = matrix
        joined.append((1.0, Shared(matrices, groups=np.concatenate(group))))
    return joined


def _groups(part: int, term: tuple[float, Shared], count: int, flat: bool) -> tuple[Array, Array]:
    """The covariances of a Shared with its factor, and the number of each example's."""
    scale, shared = term
    if shared.classes is not None and shared.n_examples is None:
        raise ValueError(
            f"parts: part {part} has one covariance a class, which the others do not share: say which class "
            "each example has, by Shared(matrices, groups=y)"
        )
    each = shared.each()
    numbers = np.zeros(count, np.int32) if shared.group is None else shared.group
    if flat:
        return scale * each.diagonals(len(shared.packed), shared.n_features or 0), numbers
    return scale * each.to_full(), numbers


def _join_full(parts: list[Part], n: int) -> list[tuple[float, Covariance]]:
    joined: list[tuple[float, Covariance]] = []
    for row in _of_kind(parts, Full):
        if _as_factors(parts, row, n):
            continue
        pieces = [
            np.zeros((count, n * (n + 1) // 2)) if t is None else _scaled(t[1].packed, t[0])
            for (count, _), t in zip(parts, row, strict=True)
        ]
        joined.append((1.0, Full.from_packed(np.concatenate(pieces))))
    return joined


def _as_factors(parts: list[Part], row: list[tuple[float, Any] | None], n: int) -> bool:
    """Turns full matrices into factors where that takes less memory than zeros for all the others."""
    total = sum(count for count, _ in parts)
    with_full = sum(count for (count, _), t in zip(parts, row, strict=True) if t)
    if total * (n + 1) <= 2 * n * with_full:
        return False
    for (_, terms), t in zip(parts, row, strict=True):
        if t is not None:
            count = len(t[1].packed)
            pieces = [roots(t[1].matrices_of(part)) for part in blocks(count, n * n)]
            terms.append((t[0], LowRank(np.concatenate(pieces).astype(t[1].packed.dtype))))
    return True


def _join_low_rank(parts: list[Part], n: int) -> list[tuple[float, Covariance]]:
    joined: list[tuple[float, Covariance]] = []
    for row in _of_kind(parts, LowRank):
        ranks, factors = [], []
        for (count, _), t in zip(parts, row, strict=True):
            ranks.append(np.zeros(count, np.int64) if t is None else np.diff(t[1].start))
            if t is not None:
                factors.append(_scaled(t[1].factors, np.sqrt(t[0])))
        start = np.concatenate([[0], np.cumsum(np.concatenate(ranks))])
        joined.append((1.0, LowRank(np.concatenate(factors), start=start)))
    return joined


def _scaled(array: Array, factor: float) -> Array:
    return array if factor == 1 else np.asarray(array * np.asarray(factor, dtype=array.dtype))


def is_diagonal(cov: Covariance, *, by_class: bool = True) -> bool:
    """Whether all values are independent; if not `by_class`, without asking for anybody's class."""
    return all(
        isinstance(kind, (Isotropic, Diagonal))
        or (
            isinstance(kind, Shared)
            and kind.is_diagonal
            and (by_class or kind.classes is None or kind.group is not None)
        )
        for _, kind in parts_of(cov)
    )


def beside(covs: list[Any], sizes: list[int], count: int) -> Covariance:
    """Covariances of independent groups of features, of `sizes`, as one: variances stay variances."""
    total = sum(sizes)
    simple = [is_diagonal(cov) for cov in covs]
    if all(simple) and all(isinstance(cov, Diagonal) for cov in covs):
        return Diagonal(side_by_side([cov.matrix for cov in covs]))
    if all(simple) and all(cov.n_examples is None for cov in covs):
        each = [cov.diagonals(1, size)[0] for cov, size in zip(covs, sizes, strict=True)]
        return Shared(np.concatenate(each))
    variances, terms, first = np.zeros((count, total)), [], 0
    for cov, size, flat in zip(covs, sizes, simple, strict=True):
        if flat:
            variances[:, first : first + size] = cov.diagonals(count, size)
        else:
            if isinstance(cov, Full) and 2 * size < total + 1:  # factors are smaller than triangles
                cov = LowRank(roots(cov.matrices_of(slice(None))).astype(cov.packed.dtype))
            terms.append(cov.mapped(EmbedMap(size, first, total)))
        first += size
    out: Covariance | None = Diagonal(variances) if variances.any() or not terms else None
    for term in terms:
        out = term if out is None else out + term
    assert out is not None
    return out
