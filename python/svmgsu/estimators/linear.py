"""What linear classifiers and regressors share: scikit-learn's bookkeeping of inputs and names."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from .._repr import ShowsFit
from ..data.covariances import Psd
from ..data.gaussians import Gaussians
from ..fit.settings import Settings
from ..io.frames import table_for_predict
from ..models.rule import new_objects
from ..outofcore.blocks import Blocks
from ..outofcore.training import refuse_beside
from ..support.losses import Task
from ..support.validation import check_row_order
from .callbacks import CallbackSupportMixin
from .inputs import ROUTED, keep_names, may_lack_names, same_units

LEARNT = ("coef_", "intercept_", "objective_", "gap_", "n_iter_", "status_", "history_", "n_features_in_")


class LinearEstimator(ShowsFit, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that is fitted by taking over what a model has learnt."""

    __metadata_request__fit = ROUTED
    __metadata_request__predict = ROUTED
    __metadata_request__score = ROUTED

    _task: ClassVar[Task]
    _learnt: ClassVar[tuple[str, ...]]
    model_: Any
    n_features_in_: int
    psd: Psd
    deployment_cov: Any
    threads: int | None

    def _settings(self, **more: Any) -> Settings:
        """The parameters that are settings of a fit; get_params() would take longer than a small fit."""
        given = dict(vars(self))  # what __init__ has set, and what has been learnt
        if "random_state" in given:
            given["seed"] = _seed_of(given["random_state"])
        return Settings.of(given, task=self._task, **more)

    def _at_fit(self, X: Any, cov: Any, std: Any, **beside: Any) -> tuple[Any, Any]:
        """`cov` and `std` as they belong to X, whose names are kept; `beside` must have the rows of X."""
        check_row_order(X, **beside)
        self._check_names(X, reset=True)
        return same_units(self, X, cov, std)

    def _take(self, model: Any) -> None:
        """Shows what a model has learnt as attributes of the estimator."""
        self.model_ = model
        for name in (*LEARNT, *self._learnt):
            setattr(self, name, getattr(model, name))

    def _examples(self, X: Any, cov: Any, std: Any) -> Gaussians | Blocks:
        check_is_fitted(self, "model_")
        if isinstance(X, Blocks):
            return self._blocks(X, cov, std)
        if getattr(self, "names_of_gaussians_", False):
            X = table_for_predict(X, self.feature_names_in_, cov, std)
        cov, std = same_units(self, X, cov, std)
        data = new_objects(self._check_names(X, reset=False), cov, std, self.psd)
        self._check_width(data.shape[1])
        return data

    def _check_width(self, n: int) -> None:
        if n != self.n_features_in_:
            raise ValueError(
                f"X has {n} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )

    def _blocks(self, X: Blocks, cov: Any, std: Any) -> Blocks:
        """Blocks as they are: the model reads them one after another."""
        refuse_beside(X, cov=cov, std=std)
        self._check_width(X.shape[1])
        return X

    def _check_names(self, X: Any, *, reset: bool) -> Any:
        """X, `Gaussians` in the order that features had in the fit; so scikit-learn wants data frames.

        Its checks are made where there are names alone: they take longer than a small fit.
        """
        if isinstance(X, (Gaussians, Blocks)):
            return keep_names(self, X, reset=reset)
        if not reset and may_lack_names(self, X):
            return X
        if reset:
            self.__dict__.pop("names_of_gaussians_", None)
        if "feature_names_in_" in self.__dict__ or hasattr(X, "columns"):
            _check_feature_names(self, X, reset=reset)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
