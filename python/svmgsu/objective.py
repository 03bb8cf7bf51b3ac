"""The training objective as a Python object, for other optimisers and for tests."""

from __future__ import annotations

import numpy as np

from . import _core
from .data.covariances import Psd
from .data.gaussians import as_gaussians
from .support.labels import check_labels, check_targets, check_weights
from .support.losses import known_loss
from .support.validation import (
    ArrayLike,
    FloatArray,
    as_float_array,
    check_count,
    check_positive,
    check_row_order,
    listed,
)


class Objective:
    """Evaluate J(w, b) = λ/2 ‖w‖² + (1/ℓ) Σ c_i L_i with the exact expected loss L_i of each sample.

    Parameters
    ----------
    X : array, SciPy sparse matrix or Gaussians of shape (l, n)
        Samples, or their means.
    y : array of shape (l,)
        Two classes, of which the larger label is the positive one; with a regression loss, the targets.
    cov, std, psd : optional
        Uncertainty of X, as in `svmgsu.Gaussians`.
    lam : float, default=1e-2
        Regularisation λ > 0.
    loss : str, default="hinge"
        Any loss of `svmgsu.train`. A regression loss makes y the targets of a regression.
    epsilon : float, optional
        Parameter ε of the losses that have one.
    sample_weight : array of shape (l,), optional
        Weights c_i, scaled to mean 1 as in `svmgsu.train`.
    threads : int, optional
        Number of threads, by default all that OpenMP offers. The results have the same bits for any number.

    Notes
    -----
    The last point is cached: value, gradient and any number of Hessian products at one (w, b) share one pass
    over the data.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from scipy.optimize import minimize
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> obj = svmgsu.Objective(X, y, std=0.5, lam=0.1)
    >>> def both(z):
    ...     value, gw, gb = obj.value_and_gradient(z[:-1], z[-1])
    ...     return value, np.append(gw, gb)
    >>> found = minimize(both, np.ones(2), jac=True, method="L-BFGS-B")
    >>> bool(obj.gap(found.x[:-1], found.x[-1]) < 1e-6)
    True
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        cov: ArrayLike = None,
        *,
        std: ArrayLike = None,
        psd: Psd = "clip",
        lam: float = 1e-2,
        loss: str = "hinge",
        epsilon: float | None = None,
        sample_weight: ArrayLike = None,
        threads: int | None = None,
    ) -> None:
        check_row_order(X, y=y, sample_weight=sample_weight)
        self.data = as_gaussians(X, cov, std, psd)
        self.lam = check_positive(lam, "lam")
        kind, task = known_loss(loss, epsilon)
        self.loss = kind.name
        weights = check_weights(sample_weight, len(self.data))
        weights = weights / weights.mean()
        if task == "regression":
            self.classes = None
            core = self.data.valued(check_targets(y, len(self.data)), weights)
        else:
            self.classes, codes = check_labels(y, len(self.data))
            if len(self.classes) > 2:
                raise ValueError(
                    f"y: {len(self.classes)} classes ({listed(self.classes)}); an Objective has two. "
                    "svmgsu.train takes more, with one objective per binary subproblem"
                )
            core = self.data.labelled(2.0 * codes - 1.0, weights, self.classes[codes])
        team = 0 if threads is None else check_count(threads, "threads")
        self._core = _core.Objective(core, self.lam, team, True, kind)

    def value(self, w: ArrayLike, b: float) -> float:
        """Return J(w, b)."""
        return float(self._core.value(self._vector(w, "w"), float(b)))

    def gradient(self, w: ArrayLike, b: float) -> tuple[FloatArray, float]:
        """Return (∂J/∂w, ∂J/∂b)."""
        return self.value_and_gradient(w, b)[1:]

    def value_and_gradient(self, w: ArrayLike, b: float) -> tuple[float, FloatArray, float]:
        """Return (J, ∂J/∂w, ∂J/∂b), computed in one pass."""
        value, gw, gb = self._core.value_and_gradient(self._vector(w, "w"), float(b))
        return value, gw, gb

    def hessian_product(self, w: ArrayLike, b: float, vw: ArrayLike, vb: float) -> tuple[FloatArray, float]:
        """Return the Hessian at (w, b) times (vw, vb), as an array of shape (n,) and a number."""
        hw, hb = self._core.hessian_product(self._vector(w, "w"), float(b), self._vector(vw, "vw"), float(vb))
        return hw, hb

    def gap(self, w: ArrayLike, b: float) -> float:
        """Return a proven upper bound of J(w, b) - J*, rounding errors included.

        The bound comes from a feasible point of the dual problem. Where that of (w, b) itself proves little,
        as on the kinks of a loss, a solver that starts from (w, b) looks for a better one.
        """
        return float(self._core.certify(self._vector(w, "w"), float(b))[2])

    def best_intercept(self, w: ArrayLike) -> float:
        """Return the b that minimises J(w, ·)."""
        return float(self._core.best_intercept(self._vector(w, "w"), 0.0))

    def _vector(self, v: ArrayLike, name: str) -> FloatArray:
        array = as_float_array(v, name, (1,)).astype(np.float64, copy=False)
        if len(array) != self.data.shape[1]:
            raise ValueError(f"{name}: {len(array)} numbers for {self.data.shape[1]} features")
        return array
