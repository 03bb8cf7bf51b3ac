"""Gaussians through a function: exactly through a matrix, to first order through anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.coercion import stored_as
from ..data.covariances import Covariance, Diagonal, Full, Isotropic, LowRank, Shared, Sum
from ..data.gaussians import Gaussians
from ..support.validation import Array, FloatArray, as_float_array, check_finite, check_positive, is_sparse
from ._support import blocks, check_choice, check_no_deployment

ROUNDING_STEP = float(np.cbrt(np.finfo(float).eps))  # of |x|: the best step of a central difference


def propagate(
    f: Any,
    data: Gaussians,
    jacobian: Any = None,
    *,
    elementwise: bool = False,
    covariance: str = "auto",
    step: float = 1e-3,
) -> Gaussians:
    """Uncertain examples through a function: N(x, Σ) becomes N(f(x), J Σ Jᵀ), J the derivative of f at x.

    Exact if `f` is a matrix: every linear map of a Gaussian is Gaussian. For functions, J comes from
    `jacobian`, or from central differences along the directions of each covariance.

    Assumes that f is nearly straight within a few standard deviations of each example. Where it bends the
    mean is off by about ½ f″σ² and the covariance is wrong; at a kink (|x|, max) or a flat place
    (x² at 0 has derivative 0) the result promises a certainty that is not there, which harms.
    `from_augmentation` with a random draw as `augment` measures the moments instead.

    Parameters
    ----------
    f : array of shape (m, n), or function
        A matrix A, for A x; or a function that takes examples (k, n) as float64 and returns (k, m), each
        row by itself, such as the `transform` of a fitted scikit-learn transformer.
    data : Gaussians
        (l, n).
    jacobian : function or array, optional
        The derivatives: a function from (k, n) to (k, m, n), or an array (l, m, n); with `elementwise`
        (k, n), (l, n).
    elementwise : bool, default=False
        Says that f treats each feature by itself (a logarithm, a scaling): its derivative then costs two
        evaluations, and diagonal covariances stay diagonal.
    covariance : {"auto", "diagonal"}
        "auto" keeps all: factors where an example has no more of them than there are outputs, else a matrix
        an example. "diagonal" keeps the variances only, without forming a matrix.
    step : float, default=1e-3
        The step of central differences, in standard deviations.

    Returns
    -------
    Gaussians
        (l, m); float32 if the means of `data` are.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from svmgsu.uncertainty import propagate
    >>> bands = svmgsu.Gaussians([[20.0, 19.0, 18.5]], std=[[0.3, 0.1, 0.1]])
    >>> colours = propagate([[1, -1, 0], [0, 1, -1]], bands)  # neighbours share a band
    >>> colours.mean, colours.cov.to_full().round(3)
    (array([[1. , 0.5]]), array([[[ 0.1 , -0.01],
            [-0.01,  0.02]]]))
    >>> logs = propagate(np.log, svmgsu.Gaussians([[100.0]], std=5.0), elementwise=True)
    >>> logs.cov.variances.round(6)
    array([[0.0025]])
    """
    if not isinstance(data, Gaussians):
        raise TypeError(f"data: expected Gaussians, got {type(data).__name__}")
    check_no_deployment(data, "propagate")
    check_choice(covariance, "covariance", ("auto", "diagonal"))
    size = check_positive(step, "step")
    X = np.asarray(data.mean.toarray() if is_sparse(data.mean) else data.mean, dtype=np.float64)
    if callable(f):
        through: _Map = _Function(f, X, jacobian, elementwise, size)
    elif jacobian is not None or elementwise:
        raise ValueError(
            "jacobian: f is a matrix, which is its own derivative; leave out the other arguments"
        )
    else:
        through = _Matrix(f, X)
    dtype = data.mean.dtype
    means = through.means.astype(dtype)
    names = data.feature_names_in_ if elementwise else None
    if data.cov is None:
        return Gaussians(means, feature_names=names)
    parts = [(scale, kind) for s, c in _terms(data.cov) for scale, kind in _split(s, c)]
    if covariance == "diagonal":
        total = sum(scale * _variances(kind, through) for scale, kind in parts)
        return Gaussians(means, Diagonal(stored_as(np.asarray(total), dtype)), feature_names=names)
    cov = _added([(scale, _carried(kind, through, dtype)) for scale, kind in parts])
    return Gaussians(means, cov, feature_names=names)


class _Map:
    """A function at the examples: its values, and what its derivative makes of directions."""

    means: FloatArray
    n: int

    def directions(self, rows: slice, G: FloatArray) -> FloatArray:
        """Directions (k, r, n) of the examples `rows` as (k, r, m)."""
        raise NotImplementedError

    def axes(self, rows: slice, lengths: FloatArray) -> FloatArray:
        """Directions along each feature, of `lengths` (k, n), as (k, n, m)."""
        return self.directions(rows, lengths[:, :, None] * np.eye(lengths.shape[1]))

    def slopes(self) -> FloatArray | None:
        """f′ (l, n) of an elementwise function; None for others."""
        return None


class _Matrix(_Map):
    def __init__(self, A: Any, X: FloatArray) -> None:
        self.A = as_float_array(A, "f", (2,)).astype(np.float64)
        check_finite(self.A, "f")
        if self.A.shape[1] != X.shape[1] or len(self.A) == 0:
            raise ValueError(f"f: a matrix of shape {self.A.shape} does not fit {X.shape[1]} features")
        self.means, self.n = X @ self.A.T, X.shape[1]

    def directions(self, rows: slice, G: FloatArray) -> FloatArray:
        return np.asarray(G @ self.A.T)

    def axes(self, rows: slice, lengths: FloatArray) -> FloatArray:
        return np.asarray(lengths[:, :, None] * self.A.T)


class _Function(_Map):
    def __init__(
        self, f: Callable[[Array], Any], X: FloatArray, jacobian: Any, elementwise: bool, step: float
    ) -> None:
        self.f, self.X, self.step, self.elementwise = f, X, step, elementwise
        self.means, self.n = self._evaluate(X, 0), X.shape[1]
        if elementwise and self.means.shape != X.shape:
            raise ValueError(f"f: elementwise, but it made {self.means.shape[1]} of {X.shape[1]} features")
        self.J = None if jacobian is None else self._derivatives(jacobian)

    def _evaluate(self, X: FloatArray, first: int, each: int = 1) -> FloatArray:
        """f(X), checked; row k belongs to example first + k // each."""
        values = np.asarray(self.f(X.copy()), dtype=np.float64)
        if values.ndim != 2 or len(values) != len(X):
            raise ValueError(
                f"f: expected an array of shape ({len(X)}, m) for {len(X)} examples, got {values.shape}"
            )
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            k, j = bad[0].tolist()
            raise ValueError(
                f"f: example {first + k // each} gives {values[k, j]} at output {j}; it must be finite there "
                "and nearby"
            )
        return values

    def _derivatives(self, jacobian: Any) -> FloatArray:
        given = jacobian(self.X.copy()) if callable(jacobian) else jacobian
        J = as_float_array(given, "jacobian", (2, 3)).astype(np.float64)
        wanted = self.X.shape if self.elementwise else (*self.means.shape, self.X.shape[1])
        if J.shape != wanted:
            raise ValueError(f"jacobian: expected shape {wanted}, got {J.shape}")
        check_finite(J, "jacobian")
        return J

    def directions(self, rows: slice, G: FloatArray) -> FloatArray:
        if self.J is not None:
            J = self.J[rows]
            return np.asarray(G * J[:, None, :] if self.elementwise else G @ J.transpose(0, 2, 1))
        k, r, n = G.shape
        if r == 0:
            return np.zeros((k, 0, self.means.shape[1]))
        x = self.X[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(G != 0, np.abs(x[:, None] / G), np.inf).min(axis=2, initial=np.inf)
        h = np.maximum(self.step, ROUNDING_STEP * np.where(np.isinf(ratio), 0.0, ratio))[:, :, None]
        ends = [
            self._evaluate((x[:, None] + sign * h * G).reshape(k * r, n), rows.start, r) for sign in (1, -1)
        ]
        return np.asarray((ends[0] - ends[1]).reshape(k, r, -1) / (2 * h))

    def axes(self, rows: slice, lengths: FloatArray) -> FloatArray:
        if self.J is not None and not self.elementwise:
            return np.asarray(lengths[:, :, None] * self.J[rows].transpose(0, 2, 1))
        return super().axes(rows, lengths)

    def slopes(self) -> FloatArray | None:
        if not self.elementwise or self.J is not None:
            return self.J if self.elementwise else None
        x = self.X
        spread = x.std(axis=0)
        h = ROUNDING_STEP * np.where(x != 0, np.abs(x), np.where(spread > 0, spread, 1.0))
        return (self._evaluate(x + h, 0) - self._evaluate(x - h, 0)) / (2 * h)


def _terms(cov: Covariance) -> list[tuple[float, Covariance]]:
    return cov.parts if isinstance(cov, Sum) else [(1.0, cov)]


def _split(scale: float, kind: Covariance) -> list[tuple[float, Covariance]]:
    """Factors and their diagonal apart."""
    if isinstance(kind, LowRank) and kind.diagonal is not None:
        return [(scale, LowRank(kind.factors, start=kind.start)), (scale, kind.diagonal)]
    return [(scale, kind)]


def _added(parts: list[tuple[float, Covariance]]) -> Covariance:
    return parts[0][1] if len(parts) == 1 and parts[0][0] == 1 else Sum(parts)


def _roots(kind: Covariance, through: _Map, count: int, n: int) -> Any:
    """A function from a slice of examples to their factors carried through the map, (k, r, m)."""
    if isinstance(kind, (Diagonal, Isotropic)):
        deviations = np.sqrt(kind.diagonals(count, n))
        return lambda rows: through.axes(rows, deviations[rows])
    if isinstance(kind, LowRank):
        return lambda rows: through.directions(rows, _padded(kind, rows))

    def from_matrices(rows: slice) -> FloatArray:
        some = kind.take(np.arange(rows.start, rows.stop)).to_full(rows.stop - rows.start, n)
        values, vectors = np.linalg.eigh(some)
        G = np.sqrt(np.maximum(values, 0))[:, :, None] * vectors.transpose(0, 2, 1)
        return through.directions(rows, G)

    return from_matrices


def _padded(kind: LowRank, rows: slice) -> FloatArray:
    """Factors (k, largest rank, n), with rows of zeros where an example has fewer."""
    start = kind.start[rows.start : rows.stop + 1]
    ranks = np.diff(start)
    G = np.zeros((len(ranks), int(ranks.max(initial=0)), kind.factors.shape[1]))
    G[np.arange(G.shape[1]) < ranks[:, None]] = kind.factors[start[0] : start[-1]]
    return G


def _rank(kind: Covariance, n: int) -> int:
    return int(np.diff(kind.start).max(initial=0)) if isinstance(kind, LowRank) else n


def _variances(kind: Covariance, through: _Map) -> FloatArray:
    (count, m), n = through.means.shape, through.n
    slopes = through.slopes()
    if slopes is not None:
        return kind.diagonals(count, n) * slopes**2
    carried, out = _roots(kind, through, count, n), np.empty((count, m))
    for rows in blocks(count, 3 * _rank(kind, n) * max(n, m)):
        out[rows] = (carried(rows) ** 2).sum(axis=1)
    return out


def _carried(kind: Covariance, through: _Map, dtype: np.dtype[Any]) -> Covariance:
    """J Σ Jᵀ in the smallest form."""
    (count, m), n = through.means.shape, through.n
    slopes = through.slopes()
    if slopes is not None:
        return _scaled(kind, slopes, dtype)
    if isinstance(kind, Shared) and isinstance(through, _Matrix):
        return kind.map(through.A)
    rank = _rank(kind, n)
    carried = _roots(kind, through, count, n)
    parts = blocks(count, 3 * (rank * max(n, m) + m))
    if rank > m:
        upper = np.triu_indices(m)
        packed = np.empty((count, len(upper[0])), dtype=dtype)
        for rows in parts:
            F = carried(rows)
            packed[rows] = (F.transpose(0, 2, 1) @ F)[:, upper[0], upper[1]]
        return Full.from_packed(packed)
    start = kind.start if isinstance(kind, LowRank) else rank * np.arange(count + 1)
    factors = np.empty((int(start[-1]), m), dtype=dtype)
    for rows in parts:
        F = carried(rows)
        used = np.arange(F.shape[1]) < np.diff(start[rows.start : rows.stop + 1])[:, None]
        factors[start[rows.start] : start[rows.stop]] = F[used]
    return LowRank(factors, start=start)


def _scaled(kind: Covariance, slopes: FloatArray, dtype: np.dtype[Any]) -> Covariance:
    """Each feature scaled by its slope."""
    count, n = slopes.shape
    if isinstance(kind, LowRank):
        factors = kind.factors * np.repeat(slopes, np.diff(kind.start), axis=0)
        return LowRank(factors.astype(dtype), start=kind.start)
    if isinstance(kind, (Diagonal, Isotropic)):
        return Diagonal(stored_as(kind.diagonals(count, n) * slopes**2, dtype))
    upper = np.triu_indices(n)
    packed = np.empty((count, len(upper[0])), dtype=dtype)
    for rows in blocks(count, 2 * n * n):
        some = kind.take(np.arange(rows.start, rows.stop)).to_full(rows.stop - rows.start, n)
        d = slopes[rows]
        packed[rows] = some[:, upper[0], upper[1]] * d[:, upper[0]] * d[:, upper[1]]
    return Full.from_packed(packed)
