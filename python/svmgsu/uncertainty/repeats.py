"""Repeated measurements, frames of a recording: many repeats of each sample as one Gaussian."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..data.covariances import Covariance, Diagonal, Full, LowRank
from ..data.gaussians import Gaussians
from ..support.arrays import blocks, stored_as
from ..support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    as_float_array,
    check_choice,
    check_finite,
    column_names,
)
from ._support import as_samples

KINDS = ("diagonal", "full", "lowrank")


def from_repeats(
    repeats: ArrayLike,
    groups: ArrayLike = None,
    *,
    covariance: str = "diagonal",
    of_mean: bool = False,
    single: str = "error",
) -> Gaussians:
    """Average repeated measurements of each sample, with their covariance.

    Model: the repeats of sample i are independent draws from N(mean_i, Σ_i), and Σ_i is estimated from
    them (divided by k − 1 for k repeats). The result describes one more repeat: train on it to classify
    single measurements. With `of_mean` it describes the average of the k repeats: Σ_i/k.

    Assumes independent repeats: k frames of a video resemble each other, so `of_mean` then promises too much.
    Covariances of few repeats are rough (of 5 repeats a variance is off by 70 %): keep to the diagonal if
    features are many. Harms where features are correlated and the diagonal is kept.

    Parameters
    ----------
    repeats : list of arrays of shape (k_i, n), or one array of shape (m, n) with `groups`
        The measurements of each sample.
    groups : array of shape (m,), optional
        Which sample each row belongs to. Sample j is the group `np.unique(groups)[j]`.
    covariance : {"diagonal", "full", "lowrank"}
        "diagonal": variances only, as in the paper. "full": a matrix per sample. "lowrank": the same
        covariance exactly, as min(k − 1, n) factors; far less memory if k is small.
    of_mean : bool, default=False
        Whether to divide each covariance by its number of repeats.
    single : {"error", "pooled"}
        One repeat alone has no covariance. "error" refuses it. "pooled" gives it the covariance within
        the other groups; where the result has factors, only the pooled variances.

    Returns
    -------
    Gaussians
        float32 if the repeats are.

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.uncertainty import from_repeats
    >>> repeats = [np.array([[1.0, 0.0], [3.0, 2.0]]), np.array([[0.0, 0.0], [0.0, 3.0], [0.0, 6.0]])]
    >>> data = from_repeats(repeats)
    >>> data.mean
    array([[2., 1.],
           [0., 3.]])
    >>> data.cov.variances
    array([[2., 2.],
           [0., 9.]])
    >>> from_repeats(np.vstack(repeats), [7, 7, 9, 9, 9], covariance="lowrank").cov.to_full()[0]
    array([[2., 2.],
           [2., 2.]])
    """
    check_choice(covariance, "covariance", KINDS)
    check_choice(single, "single", ("error", "pooled"))
    ragged = _as_ragged(repeats, groups)
    alone = ragged.sizes == 1
    if alone.any() and single == "error":
        raise ValueError(
            f"repeats: sample {int(np.argmax(alone))} has one repeat, which has no covariance; "
            'pass single="pooled" to give it that of the others'
        )
    if alone.all():
        raise ValueError("repeats: every sample has one repeat, so that no covariance can be pooled")
    divisor = ragged.sizes.astype(np.float64) if of_mean else np.ones(len(ragged))
    make = {"diagonal": _diagonal, "full": _full, "lowrank": _low_rank}[covariance]
    cov = make(ragged, divisor)
    return Gaussians(ragged.means.astype(ragged.dtype), cov, feature_names=column_names(repeats))


class _Ragged:
    """Rows sorted by sample; `start` says where the rows of each begin."""

    def __init__(self, rows: Array, start: Array) -> None:
        self.rows = rows
        self.start = start
        self.sizes = np.diff(start)
        self.dtype = rows.dtype
        self.means: FloatArray = np.add.reduceat(rows, start[:-1], dtype=np.float64) / self.sizes[:, None]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n(self) -> int:
        return int(self.rows.shape[1])

    def batches(self, least: int = 2, numbers: int = 0) -> Iterator[tuple[int, Array, FloatArray]]:
        """Yield (k, samples, their centred repeats (g, k, n)) for every size k >= least, in small batches.

        `numbers` more are needed for each sample.
        """
        for k in np.unique(self.sizes[self.sizes >= least]).tolist():
            same = np.flatnonzero(self.sizes == k)
            for part in blocks(len(same), k * self.n + numbers):
                chosen = same[part]
                D = self.rows[self.start[chosen, None] + np.arange(k)].astype(np.float64)
                D -= self.means[chosen, None]
                yield k, chosen, D

    def pooled_variances(self) -> FloatArray:
        total = sum((D**2).sum(axis=(0, 1)) for _, _, D in self.batches())
        return np.asarray(total / (self.sizes - 1).sum())


def _diagonal(ragged: _Ragged, divisor: FloatArray) -> Covariance:
    V = np.zeros((len(ragged), ragged.n))
    for k, chosen, D in ragged.batches():
        V[chosen] = (D**2).sum(axis=1) / (k - 1)
    if (ragged.sizes == 1).any():
        V[ragged.sizes == 1] = ragged.pooled_variances()
    return Diagonal(stored_as(V / divisor[:, None], ragged.dtype))


def _full(ragged: _Ragged, divisor: FloatArray) -> Covariance:
    n = ragged.n
    upper = np.triu_indices(n)
    packed = np.zeros((len(ragged), len(upper[0])))
    pooled = np.zeros((n, n))
    for k, chosen, D in ragged.batches(numbers=n * n):
        S = D.transpose(0, 2, 1) @ D
        pooled += S.sum(axis=0)
        packed[chosen] = (S / ((k - 1) * divisor[chosen, None, None]))[:, upper[0], upper[1]]
    packed[ragged.sizes == 1] = (pooled / (ragged.sizes - 1).sum())[upper]
    held = stored_as(packed[:, upper[0] == upper[1]], ragged.dtype)  # float32 only if it holds the variances
    return Full.from_packed(packed.astype(held.dtype))


def _low_rank(ragged: _Ragged, divisor: FloatArray) -> Covariance:
    """Return factors F with FᵀF = DᵀD/(k − 1), D the k centred repeats: min(k − 1, n) rows per sample."""
    start = np.concatenate([[0], np.cumsum(np.minimum(ragged.sizes - 1, ragged.n))])
    factors = np.empty((int(start[-1]), ragged.n), dtype=ragged.dtype)
    for k, chosen, D in ragged.batches():
        F = _helmert(k) @ D if k <= ragged.n else np.asarray(np.linalg.qr(D, mode="r"))
        rows = start[chosen, None] + np.arange(F.shape[1])
        factors[rows] = F / np.sqrt((k - 1) * divisor[chosen, None, None])
    alone = ragged.sizes == 1
    diagonal = stored_as(np.outer(alone, ragged.pooled_variances()), ragged.dtype) if alone.any() else None
    return LowRank(factors, diagonal, start=start)


def _helmert(k: int) -> FloatArray:
    """Return k − 1 orthonormal rows orthogonal to (1, ..., 1): centred repeats lose a row, nothing else."""
    H = np.tril(np.ones((k - 1, k)))
    j = np.arange(1, k)
    H[j - 1, j] = -j
    return np.asarray(H / np.sqrt(j * (j + 1.0))[:, None])


def _as_ragged(repeats: ArrayLike, groups: ArrayLike) -> _Ragged:
    if groups is not None:
        return _from_rows(repeats, groups)
    if not isinstance(repeats, Sequence) and not (isinstance(repeats, np.ndarray) and repeats.ndim == 3):
        shape = f" of shape {repeats.shape}" if hasattr(repeats, "shape") else ""
        raise TypeError(
            "repeats: expected a list of arrays, one per sample, or rows together with groups=; got "
            f"{type(repeats).__name__}{shape}"
        )
    if len(repeats) == 0:
        raise ValueError("repeats: no samples")
    arrays = [as_float_array(a, f"repeats: sample {i}", (2,)) for i, a in enumerate(repeats)]
    n = arrays[0].shape[1]
    for i, array in enumerate(arrays):
        if 0 in array.shape:
            raise ValueError(f"repeats: sample {i} is empty, of shape {array.shape}")
        if array.shape[1] != n:
            raise ValueError(f"repeats: sample {i} has {array.shape[1]} features, but sample 0 has {n}")
        if not np.isfinite(array).all():
            row, j = np.argwhere(~np.isfinite(array))[0].tolist()
            raise ValueError(
                f"repeats: sample {i}, repeat {row}, feature {j} is {array[row, j]}; "
                "NaN and infinity are not allowed"
            )
    return _Ragged(np.concatenate(arrays), np.concatenate([[0], np.cumsum([len(a) for a in arrays])]))


def _from_rows(repeats: ArrayLike, groups: ArrayLike) -> _Ragged:
    rows = as_samples(repeats, "repeats")
    ids = np.asarray(groups)
    if ids.shape != (len(rows),):
        raise ValueError(
            f"groups: shape {ids.shape}, but repeats has {len(rows)} rows; expected one id a row"
        )
    if ids.dtype.kind == "f":
        check_finite(ids.astype(np.float64), "groups")
    try:
        _, which = np.unique(ids, return_inverse=True)
    except TypeError:  # None among strings, say
        raise ValueError(
            "groups: the ids cannot be sorted; they must be all numbers or all strings"
        ) from None
    start = np.concatenate([[0], np.cumsum(np.bincount(which))])
    return _Ragged(rows[np.argsort(which, kind="stable")], start)
