"""`Full`: a covariance matrix for each sample, packed, and what to do if it is not positive semidefinite."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ... import _core
from ...support.errors import InvalidValue, option
from ...support.validation import Array, ArrayLike, FloatArray, as_float_array, check_finite
from .base import Covariance, Psd, Terms

SYMMETRY_TOLERANCE = 1e-6
CLIPPED = 1e-4  # how far below zero an eigenvalue of a correlation matrix may be: numbers of four digits


class Full(Covariance):
    """A full covariance matrix for each sample, kept packed: n(n+1)/2 numbers each.

    For matrices of low rank `LowRank` is faster and more exact: variances near 0 are lost in the rounding
    errors of a full matrix.

    Parameters
    ----------
    matrices : array of shape (l, n, n)
        Symmetric, positive semidefinite. One packed copy is made; the array itself is not kept.
    check : bool, default=True
        Whether to prove that each matrix is positive semidefinite, which takes a Cholesky
        factorisation per sample. Correlations are checked, so units do not matter.
    psd : {"clip", "strict"}
        What to do where rounded numbers are not quite positive semidefinite. "clip" takes the nearest matrix
        that is, with a warning, if no eigenvalue of the correlation matrix is below -1e-4; "strict" refuses.
    name : str, default="cov"
        What an error calls the array.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Full([[[2.0, 1.0], [1.0, 2.0]]]).to_full()
    array([[[2., 1.],
            [1., 2.]]])
    """

    n_samples: int
    n_features: int
    keys = ("packed", "cov")
    needs_classes = False

    def __init__(
        self, matrices: ArrayLike, check: bool = True, *, psd: Psd = "clip", name: str = "cov"
    ) -> None:
        full = as_float_array(matrices, name, (3,))
        count, n, m = full.shape
        if n != m:
            raise ValueError(f"{name}: expected square matrices, got an array of shape {full.shape}")
        packed = np.empty((count, n * (n + 1) // 2), dtype=full.dtype)
        asymmetric = _core.pack(full, SYMMETRY_TOLERANCE, packed)
        if asymmetric >= 0 or (packed.size and _core.first_outside(packed) >= 0):
            check_finite(full, name)
        if asymmetric >= 0:
            worst = np.abs(full[asymmetric] - full[asymmetric].T)
            i, j = sorted(int(k) for k in np.unravel_index(worst.argmax(), worst.shape))
            raise InvalidValue(
                name,
                f"is not symmetric: entry ({i}, {j}) is {full[asymmetric, i, j]:g} but ({j}, {i}) is "
                f"{full[asymmetric, j, i]:g}",
                (int(asymmetric),),
            )
        self._set(packed, n)
        if check:
            self.packed = semidefinite(packed, n, psd, name, own=True)

    @classmethod
    def from_packed(cls, packed: ArrayLike, check: bool = False, *, psd: Psd = "clip") -> Full:
        """Make one of upper triangles, row after row: `packed` is (l, n(n+1)/2) and used without a copy.

        With `check` they must be finite and positive semidefinite; `psd` is as for the class.
        """
        array = as_float_array(packed, "packed", (2,))
        n = int(np.sqrt(2 * array.shape[1]))
        if n * (n + 1) // 2 != array.shape[1]:
            raise ValueError(f"packed: rows must have n(n+1)/2 numbers, got {array.shape[1]}")
        out = cls.__new__(cls)
        out._set(array, n)
        if check:
            check_finite(array, "packed")
            out.packed = semidefinite(array, n, psd, "packed", own=False)
        return out

    def _set(self, packed: Array, n: int) -> None:
        self.packed = packed
        self.n_samples = len(packed)
        self.n_features = n

    def terms(self, samples: int, features: int, y: Array | None) -> Terms:
        return ((_core.full(self.packed, self.n_features), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return Full.from_packed(self.packed[rows])

    def matrices(self, rows: slice, n_features: int, y: ArrayLike = None) -> Array:
        row, column = np.triu_indices(n_features)
        place = np.empty((n_features, n_features), dtype=np.int64)
        place[row, column] = place[column, row] = np.arange(len(row))
        return self.packed[rows][:, place]

    def diagonals(self, n_samples: int, n_features: int, y: ArrayLike = None) -> FloatArray:
        row, column = np.triu_indices(n_features)
        return np.maximum(self.packed[:, row == column].astype(np.float64), 0.0)

    @classmethod
    def joined(cls, covs: Sequence[Full | None], counts: Sequence[int], n: int) -> Covariance:
        each = [
            np.zeros((count, n * (n + 1) // 2)) if cov is None else cov.packed
            for cov, count in zip(covs, counts, strict=True)
        ]
        return Full.from_packed(np.concatenate(each))

    def arrays(self, n_samples: int, n_features: int, y: ArrayLike) -> dict[str, Array]:
        return {"packed": self.packed}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        if "cov" in arrays:
            return Full(arrays["cov"], psd=psd)
        return Full.from_packed(arrays["packed"], check=True, psd=psd)


def rounding(dtype: npt.DTypeLike, n: int) -> float:
    """Return how far below zero rounding alone leaves an eigenvalue of a correlation matrix of n features."""
    return n * max(1e-9, 2 * float(np.finfo(dtype).eps))


def check_psd(psd: object) -> None:
    """Refuse what is not one of the words."""
    if psd not in ("clip", "strict"):
        raise ValueError(f'psd: expected "clip" or "strict", got {psd!r}')


def first_indefinite(packed: Array, n: int) -> tuple[int, float]:
    """Return the first sample that is not positive semidefinite, or -1, and its smallest eigenvalue."""
    small = rounding(packed.dtype, n)
    return _core.clip_indefinite(packed, n, small, small)[2:]


def semidefinite(
    packed: Array,
    n: int,
    psd: Psd,
    name: str,
    called: Callable[[int], str] | None = None,
    *,
    own: bool,
    error: type[ValueError] = ValueError,
) -> Array:
    """Return packed matrices, those that are indefinite by no more than rounded numbers projected.

    What is not `own` is copied before it is changed. `called` says what an `error` calls a sample.
    """
    check_psd(psd)
    sample, eigenvalue = first_indefinite(packed, n)
    if sample < 0:
        return packed
    if psd == "clip":
        packed = packed if own else np.array(packed)
        small = rounding(packed.dtype, n)
        count, farthest, sample, eigenvalue = _core.clip_indefinite(packed, n, small, max(CLIPPED, small))
        if sample < 0:
            warnings.warn(
                f"{name}: {count} of {len(packed)} covariances are not positive semidefinite: their "
                f"correlations have eigenvalues down to {-farthest:.2g}, as rounded numbers do; they were "
                f"projected ({option('psd', 'strict')} refuses them)",
                stacklevel=4,
            )
            return packed
    problem = f"is not positive semidefinite: its smallest eigenvalue is {eigenvalue:.6g}"
    advice = "covariances must have none below zero"
    if psd == "strict":
        advice += f" (or, in units of correlation, below -{CLIPPED:g} with {option('psd', 'clip')})"
    if called is None:
        raise InvalidValue(name, problem, (int(sample),), advice)
    raise error(f"{called(sample)} {problem}; {advice}")
