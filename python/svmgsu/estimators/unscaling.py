"""`unscale`: a linear classifier in the units of the data from before the transformers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..support.validation import FloatArray


class LinearRule(NamedTuple):
    """What `unscale` returns: the decision value is coef_ · x + intercept_."""

    coef_: FloatArray
    intercept_: FloatArray


def unscale(transformer: Any, model: Any = None) -> LinearRule:
    """The weights and the offset of a linear classifier in the units of the data.

    Parameters
    ----------
    transformer : Pipeline or transformer
        Fitted: `Propagate` of an affine transformer, or a Pipeline of such, which may end with the model.
    model : fitted linear classifier, optional
        With `coef_` and `intercept_`; not needed for a Pipeline that ends with it.

    Returns
    -------
    coef_, intercept_ : arrays of shapes (P, n) and (P,), as the model's
        A named tuple. Decision values of unscaled x are coef_ · x + intercept_. (With probabilities
        `decision_function` is shifted, of several classes it gives log-odds: see there.)

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data, y = svmgsu.Gaussians([[100.0], [101.0], [104.0], [105.0]], std=0.5), [0, 0, 1, 1]
    >>> scaler = svmgsu.Propagate(StandardScaler())
    >>> pipeline = make_pipeline(scaler, svmgsu.LinearSVMGSU(lam=0.1)).fit(data, y)
    >>> coef, intercept = svmgsu.unscale(pipeline)
    >>> np.allclose(data.mean @ coef[0] + intercept, pipeline.decision_function(data))
    True
    """
    steps = steps_of(transformer)
    if model is None:
        steps, model = steps[:-1], steps[-1]
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise TypeError(
            f"model: {type(model).__name__} has no coef_ and intercept_; pass a fitted linear model"
        )
    coef = np.asarray(model.coef_, dtype=np.float64)
    intercept = np.asarray(model.intercept_, dtype=np.float64)
    coef, shift = pulled_back(steps, coef)
    return LinearRule(coef, intercept + shift)


def pulled_back(steps: list[Any], coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights `coef` (K, m) of the output of some steps as weights of the input, and what they add to b."""
    shift = np.zeros(len(coef))
    for step in reversed(steps):
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        if not hasattr(step, "pull_back"):
            raise TypeError(
                f"transformer: weights cannot be brought back through {type(step).__name__}; for an affine "
                f"transformer, use svmgsu.Propagate({type(step).__name__}())"
            )
        check_is_fitted(step)
        coef, more = step.pull_back(coef)
        shift = shift + more
    return coef, shift


def steps_of(transformer: Any) -> list[Any]:
    """The steps of a Pipeline, also of those within; one that is none is its own step."""
    if not hasattr(transformer, "steps"):
        return [transformer]
    return [inner for _, step in transformer.steps for inner in steps_of(step)]
