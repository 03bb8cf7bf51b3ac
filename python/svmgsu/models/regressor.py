"""A trained linear regression: values with their propagated deviations, files. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..support.validation import FloatArray
from .rule import examples_for, known_variances, team_of


@dataclass(repr=False, eq=False)
class RegressionModel:
    """What `svmgsu.train_regressor` returns, and `svmgsu.load` where the file holds a regression.

    Attributes
    ----------
    coef_ : array of shape (n,)
        The weights w.
    intercept_ : float
        The offset b.
    lam : float
        The λ it was trained with.
    loss : str
        The loss it was trained with.
    scatter_ : float
        How far targets lie from w·x + b: the root of the mean squared residual by weight. With errors of the
        targets and the squared loss it is what the errors leave unexplained. NaN after `load`.
    objective_, gap_ : float
        J at the solution, and a proven upper bound of J - J*. NaN after `load`.
    n_iter_ : int
        The solver's iterations.
    history_ : list of dict
        The solver's record: iteration, objective, gap, seconds, passes.
    feature_names_in_ : list of str, or None
        The names of the features, by which new objects with names are matched.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = svmgsu.train_regressor(X, [1.0, 3.0, 5.0, 7.0], lam=1e-9)
    >>> model.predict([[4.0]]).round(3).tolist()
    [9.0]
    >>> value, deviation = model.predict([[4.0]], std=0.5, return_std=True)
    >>> deviation.round(3).tolist()
    [1.0]
    """

    coef_: FloatArray
    intercept_: float
    lam: float
    loss: str = "squared"
    scatter_: float = float("nan")
    objective_: float = float("nan")
    gap_: float = float("nan")
    n_iter_: int = 0
    history_: list[dict[str, float]] = field(default_factory=list)
    feature_names_in_: list[str] | None = None

    @property
    def n_features_in_(self) -> int:
        return int(self.coef_.shape[0])

    def predict(
        self,
        X: Any,
        cov: Any = None,
        std: Any = None,
        return_std: bool = False,
        *,
        threads: int | None = None,
    ) -> Any:
        """w·x + b of each row of X.

        Parameters
        ----------
        X : array, SciPy sparse matrix or Gaussians of shape (l, n)
        cov, std : optional
            Covariances or error bars of X, as in `svmgsu.Gaussians`.
        return_std : bool, default=False
            Whether to return √(wᵀΣw) as well: what the uncertainty of X makes of the value. The scatter of
            targets around the plane, `scatter_`, is not in it.
        threads : int, optional
            By default all that OpenMP offers; the bits are the same for any number.

        Returns
        -------
        values, or (values, standard deviations)
        """
        data, team = examples_for(self, X, cov, std), team_of(threads)
        w = np.ascontiguousarray(self.coef_, dtype=np.float64)
        values = _core.decision_values(data.core_means(), w, float(self.intercept_), team)
        if not return_std:
            return values
        return values, np.sqrt(known_variances(data, w[np.newaxis], team)[:, 0])

    def __repr__(self) -> str:
        return (
            f"RegressionModel({self.n_features_in_} features, loss {self.loss!r}, lam={self.lam:g}, "
            f"objective={self.objective_:.6g}, gap={self.gap_:.2g})"
        )
