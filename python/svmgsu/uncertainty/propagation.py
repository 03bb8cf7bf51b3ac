"""`propagate`: Gaussians through a matrix exactly, through anything else to first order or by points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..propagate.function import derivative, evaluated, given_derivative, is_elementwise, unscented
from ..propagate.linear import LinearMap, MatrixMap, ScaleMap
from ..support.arrays import dense
from ..support.validation import ArrayLike, as_float_array, check_choice, check_finite
from ._support import check_no_noise


def propagate(
    f: Any,
    data: Gaussians,
    jacobian: ArrayLike = None,
    *,
    method: str = "first-order",
) -> Gaussians:
    """Carry samples through a function: N(x, Σ) becomes N(f(x), J Σ Jᵀ), J the derivative of f at x.

    Exact if `f` is a matrix: every linear map of a Gaussian is Gaussian. For functions, J comes from
    `jacobian`, or from central differences along the directions of each covariance. A function of each
    feature by itself (a logarithm) keeps independent errors independent, and the names of the features.

    Assumes that f is nearly linear within a few standard deviations of each sample. Where it bends the
    mean is off by about ½ f″σ² and the covariance is wrong; at a kink (|x|, max) or a flat place
    (x² at 0 has derivative 0) the result claims a certainty that is not there, which harms. There
    `method="unscented"` sends points of each sample through f and takes their moments.

    Parameters
    ----------
    f : array of shape (m, n), or function
        A matrix A, for A x; or a function that takes samples (k, n) as float64 and returns (k, m), each
        row by itself, such as the `transform` of a fitted scikit-learn transformer.
    data : Gaussians
        The samples, (l, n).
    jacobian : function or array, optional
        The derivatives: a function from (k, n) to (k, m, n), or an array (l, m, n); (k, n), (l, n) if f
        treats each feature by itself.
    method : {"first-order", "unscented"}
        "unscented" takes mean and covariance from 2r + 1 points for a covariance of r directions, which is
        exact for f of degree 2 in the mean, and for x² and x³ of independent features in the variance too.

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
    >>> logs = propagate(np.log, svmgsu.Gaussians([[100.0]], std=5.0))
    >>> logs.cov.variances.round(6)
    array([[0.0025]])
    >>> squares = propagate(np.square, svmgsu.Gaussians([[0.0]], std=1.0), method="unscented")
    >>> squares.mean.round(6).item(), squares.cov.variances.round(6).item()  # to first order both are 0
    (1.0, 2.0)
    """
    if not isinstance(data, Gaussians):
        raise TypeError(f"data: expected Gaussians, got {type(data).__name__}")
    check_no_noise(data, "propagate")
    check_choice(method, "method", ("first-order", "unscented"))
    X = dense(data.mean).astype(np.float64)
    dtype = data.mean.dtype
    linear_map: LinearMap | None = None
    if not callable(f):
        if jacobian is not None or method != "first-order":
            raise ValueError(
                "jacobian: f is a matrix, which is its own derivative; leave out the other arguments"
            )
        matrix = as_float_array(f, "f", (2,)).astype(np.float64)
        check_finite(matrix, "f")
        if matrix.shape[1] != X.shape[1] or len(matrix) == 0:
            raise ValueError(f"f: a matrix of shape {matrix.shape} does not fit {X.shape[1]} features")
        means = X @ matrix.T
        linear_map = MatrixMap(matrix)
    elif method != "first-order" and data.cov is not None:
        if jacobian is not None:
            raise ValueError(f'jacobian: method="{method}" needs no derivatives')
        means, cov = unscented(f, X, data.cov)
        return Gaussians(means.astype(dtype), cov)
    else:
        means = evaluated(f, X, "f")
        if data.cov is not None and jacobian is not None:
            linear_map = given_derivative(jacobian, X, means)
        elif data.cov is not None:
            linear_map = derivative(f, X, means.shape[1], is_elementwise(f, X, means))
    names = data.feature_names_in_ if isinstance(linear_map, ScaleMap) else None
    carried = None if data.cov is None or linear_map is None else data.cov.map(linear_map)
    return Gaussians(means.astype(dtype), carried, feature_names=names)
