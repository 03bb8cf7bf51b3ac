"""`Isotropic`: the same variance for all values of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from ... import _core
from ...propagate.linear import LinearMap
from ...support.arrays import stored_as
from ...support.validation import VARIANCES, Array, ArrayLike, as_float_array
from .base import Covariance, Psd, Terms
from .diagonal import Diagonal
from .shared import Shared


class Isotropic(Covariance):
    """Σ_i = v_i I.

    Parameters
    ----------
    variances : float or array of shape (l,)
        One variance for all samples, or one each.
    name : str, default="variances"
        What an error calls the array.
    check : bool, default=True
        Whether to look for numbers that are no variances.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Isotropic([0.1, 0.4]).to_full(n_features=2)[1]
    array([[0.4, 0. ],
           [0. , 0.4]])
    """

    keys = ("isotropic",)
    needs_classes = False
    is_diagonal = True

    def __init__(self, variances: ArrayLike, *, name: str = "variances", check: bool = True) -> None:
        self.variances = as_float_array(variances, name, (0, 1), VARIANCES if check else None)
        self.n_samples = len(self.variances) if self.variances.ndim else None
        self.n_features = None

    def terms(self, samples: int, features: int, y: Array | None) -> Terms:
        return ((_core.isotropic(np.ascontiguousarray(np.broadcast_to(self.variances, samples))), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return Isotropic(self.variances[rows], check=False) if self.variances.ndim else self

    def each_variance(self, n_samples: int) -> Array:
        return np.broadcast_to(self.variances, n_samples)

    def independent(self, n_samples: int, n_features: int) -> Array:
        return np.broadcast_to(self.variances.reshape(-1, 1), (n_samples, n_features))

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        v = self.variances
        if linear_map.samples is not None or (v.ndim and linear_map.gram().ndim == 2):
            count = cast(int, self.n_samples if v.ndim else linear_map.samples)
            return Diagonal(self.diagonals(count, linear_map.features).astype(v.dtype))._mapped(linear_map)
        gram = linear_map.gram()
        if gram.ndim == 1 and np.ptp(gram) <= 16 * np.finfo(np.float64).eps * gram.max():
            return Isotropic(stored_as(np.asarray(v.astype(np.float64) * gram[0]), v.dtype))
        if not v.ndim:
            return Shared(v * gram)
        return Diagonal(stored_as(np.outer(v.astype(np.float64), gram), v.dtype))

    @classmethod
    def joined(cls, covs: Sequence[Isotropic | None], counts: Sequence[int], n: int) -> Covariance:
        first = covs[0]
        if first is not None and all(
            cov is not None and not cov.variances.ndim and cov.variances == first.variances for cov in covs
        ):
            return first
        each = [
            np.zeros(count) if cov is None else np.broadcast_to(cov.variances, count)
            for cov, count in zip(covs, counts, strict=True)
        ]
        return Isotropic(np.concatenate(each), check=False)

    def arrays(self, n_samples: int, n_features: int, y: ArrayLike) -> dict[str, Array]:
        return {"isotropic": self.variances}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        return Isotropic(arrays["isotropic"])
