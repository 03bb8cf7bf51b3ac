"""A trained linear regression: values with their propagated deviations, files. NumPy only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..outofcore.blocks import Blocks
from ..support.validation import ArrayLike, FloatArray
from .linear import LinearModel, in_blocks, threads_of


@dataclass(repr=False, eq=False)
class RegressionModel(LinearModel):
    """A linear regression, as `svmgsu.train` returns it for losses of regression and `svmgsu.load` reads it.

    Attributes
    ----------
    coef_ : array of shape (n,)
        The weights w.
    intercept_ : float
        The offset b.
    lam : float
        The λ it was trained with.
    loss, epsilon : str, float or None
        The loss it was trained with, and its parameter where it has one.
    scatter_ : float
        How far targets lie from w·x + b: the root of the mean squared residual by weight. With errors of the
        targets and the squared loss it is what the errors leave unexplained. NaN if it is not known.
    objective_, gap_ : float
        J at the solution, and a proven upper bound of J - J*. NaN after `load`.
    n_iter_ : int
        The solver's iterations.
    status_ : {"converged", "rounding", "stalled", "limit", "stopped", ""}
        How the solver ended: with the precision that was asked; where rounding errors allow no smaller proof;
        where its steps gained nothing more; at `max_iter` or `max_time`; by a callback. Empty after `load`.
    history_ : list of dict
        The solver's record: iteration, objective, gap, seconds, passes.
    feature_names_in_ : list of str, or None
        The names of the features, by which new samples with names are matched.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = svmgsu.train(X, [1.0, 3.0, 5.0, 7.0], loss="squared", lam=1e-9)
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
    epsilon: float | None = None
    status_: str = ""

    def predict(
        self,
        X: ArrayLike,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        return_std: bool = False,
        *,
        threads: int | None = None,
    ) -> Any:
        """Return w·x + b of each row of X.

        Parameters
        ----------
        X : array, SciPy sparse matrix, Gaussians or Blocks of shape (l, n)
            New samples.
        cov, std : optional
            Covariances or standard errors of X, as in `svmgsu.Gaussians`.
        return_std : bool, default=False
            Whether to return √(wᵀΣw) as well: what the uncertainty of X makes of the value. The scatter of
            targets around the hyperplane, `scatter_`, is not in it.
        threads : int, optional
            By default all that OpenMP offers; the bits are the same for any number.

        Returns
        -------
        values, or (values, standard deviations)
        """
        if isinstance(X, Blocks):
            return in_blocks(self.predict, X, cov, std, return_std=return_std, threads=threads)
        data = self._samples(X, cov, std)
        team = threads_of(threads)
        values = self._values(data, team)[:, 0]
        if not return_std:
            return values
        return values, np.sqrt(self._variances(data, team)[:, 0])

    def save(self, path: str | os.PathLike[str], format: str = "svmgsu") -> None:
        """Write the regression to `path` as text ("-": standard output); a reader never sees half a file.

        `format` is "svmgsu" (documented in model.hpp; numbers come back exactly). The authors' own files,
        "gsvm", hold classifiers alone, and are refused.
        """
        self._write(
            path,
            format,
            task="regression",
            loss_parameter=float("nan") if self.epsilon is None else float(self.epsilon),
            scatter=self.scatter_,
        )

    def __repr__(self) -> str:
        return (
            f"RegressionModel({self.n_features_in_} features, loss {self.loss!r}, lam={self.lam:g}, "
            f"objective={self.objective_:.6g}, gap={self.gap_:.2g})"
        )
