"""KSVM-iGSU: an RBF kernel with isotropic uncertainty in its feature space, solved exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import as_gaussians
from ..models.kernel import KernelModel, rbf
from ..support.arrays import dense
from ..support.memory import require_memory
from ..support.validation import check_positive
from .classification import train

_SMALLEST = 1e-13  # eigenvalues of the kernel matrix, relative to the largest: below is rounding


def train_kernel(
    X: Any, y: Any, cov: Any = None, *, gamma: float, lam: float = 1e-2, threads: int | None = None
) -> KernelModel:
    """Trains on images φ(x_i) of the means with isotropic noise N(φ(x_i), σ_i²I), which is linear there.

    With the kernel matrix K = ZZᵀ the rows of Z stand for the images: w = Zᵀα, |w|² = αᵀKα, and the
    problem is that of `svmgsu.train` with `Isotropic` covariances. The solution is exact up to rounding,
    and its gap is proven.

    Parameters
    ----------
    X : array of shape (l, n), or Gaussians with isotropic covariances
    y : array of -1 and +1
    cov : float, array of shape (l,) or Isotropic, optional
        The variances σ², in the feature space.
    gamma : float
        Of exp(-γ |x - x'|²).
    lam : float, default=1e-2
    threads : int, optional

    Returns
    -------
    KernelModel

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.fit.kernel import train_kernel
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([1, -1, 1])
    >>> train_kernel(X, y, 0.01, gamma=2.0).predict([[0.1], [1.2]])
    array([-1,  1])
    """
    gamma = check_positive(gamma, "gamma")
    data = as_gaussians(X, cov)
    if not (data.cov is None or data.cov.each_variance(len(data)) is not None):
        raise ValueError(
            f"cov: the noise of a kernel classifier lies in the feature space and is isotropic, got "
            f"{type(data.cov).__name__}; take Isotropic variances"
        )
    y = np.asarray(y)
    if not np.isin(y, (-1, 1)).all():
        raise ValueError("y: -1 and +1 are wanted")
    mean = dense(data.mean).astype(float)
    count = len(mean)
    require_memory(4 * 8 * count**2, f"the kernel matrix of {count} examples and its eigenvectors")
    values, vectors = np.linalg.eigh(rbf(mean, mean, gamma))
    keep = values > _SMALLEST * count * values[-1]
    values, vectors = values[keep], np.ascontiguousarray(vectors[:, keep])
    Z = vectors * np.sqrt(values)
    model = train(Z, y, data.cov, lam=lam, probability=False, threads=threads)
    scores = model.decision_function(Z)
    platt = _core.fit_platt(scores, y.astype(np.float64), np.ones(count))
    return KernelModel(
        mean,
        vectors @ (model.coef_[0] / np.sqrt(values)),
        float(model.intercept_[0]),
        gamma,
        float(lam),
        platt,
        float(model.objective_),
        float(model.gap_),
        "isotropic",
    )
