"""`LinearSVMGSU`, `LinearSVRGSU` and `SGDSVMGSU`: `svmgsu.train` as estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, check_is_fitted, column_or_1d

from .._repr import ShowsFit
from ..data.gaussians import Gaussians, as_gaussians
from ..fit.multiclass import Scheme
from ..fit.options import DEFAULT_LAM, NAMES, Options
from ..fit.partial_fit import Stream
from ..fit.problem import Problem
from ..fit.train import read_problem
from ..io.frames import check_scored, column_named, table_for_fit, table_for_predict
from ..models.classifier import Model
from ..models.linear import new_samples
from ..models.regressor import RegressionModel
from ..outofcore.blocks import Blocks
from ..support.labels import check_classes, check_weights, has_soft_labels, plain_labels
from ..support.losses import Task
from ..support.types import Fitted, Tags
from ..support.validation import Array, ArrayLike, FloatArray, RandomState, check_row_order
from .inputs import ROUTED, keep_names, may_lack_names, same_units

_LEARNT = ("coef_", "intercept_", "objective_", "gap_", "n_iter_", "status_", "history_", "n_features_in_")


class LinearEstimator(ShowsFit, BaseEstimator):  # type: ignore[misc]
    """What linear estimators share: names of features, fitted attributes, new samples."""

    __metadata_request__fit = ROUTED
    __metadata_request__predict = ROUTED
    __metadata_request__score = ROUTED

    _task: ClassVar[Task]
    _learnt: ClassVar[tuple[str, ...]]
    model_: Fitted
    n_features_in_: int
    threads: int | None
    warm_start: bool = False

    def _options(self) -> Options:
        """Return the parameters as options of a fit; get_params() would take longer than a small fit."""
        given = vars(self)
        return Options(**{name: given[name] for name in NAMES if name in given}, task=self._task)

    def _align(self, X: ArrayLike, cov: ArrayLike, std: ArrayLike, **aligned: object) -> tuple[Any, Any]:
        """Return `cov` and `std` as they belong to X, whose names are kept."""
        check_row_order(X, **aligned)
        self._check_names(X, reset=True)
        return same_units(self, X, cov, std)

    def _train(self, problem: Problem, groups: ArrayLike = None) -> None:
        """Train, and show what the model has learnt as attributes."""
        start = getattr(self, "model_", None) if self.warm_start else None
        model = problem.train(start, groups)
        self._take(model)
        self.lam_ = model.lam
        self.cov_scale_ = problem.cov_scale
        for name in ("best_score_", "best_index_", "cv_results_"):
            self.__dict__.pop(name, None)
        if problem.best_index is not None:
            self.best_index_ = problem.best_index
            self.cv_results_ = problem.cv_results
            self.best_score_ = float(problem.cv_results["mean_test_score"][problem.best_index])

    def _take(self, model: Fitted) -> None:
        """Show what a model has learnt as attributes of the estimator."""
        self.model_ = model
        for name in (*_LEARNT, *self._learnt):
            setattr(self, name, getattr(model, name))

    def _samples(self, X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Gaussians | Blocks:
        check_is_fitted(self, "model_")
        if isinstance(X, Blocks):
            X.refuse_beside(cov=cov, std=std)
            data: Gaussians | Blocks = X
        else:
            if getattr(self, "names_of_gaussians_", False):
                X = table_for_predict(X, self.feature_names_in_, cov, std)
            cov, std = same_units(self, X, cov, std)
            data = new_samples(self._check_names(X, reset=False), cov, std)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return data

    def _check_names(self, X: ArrayLike, *, reset: bool) -> Any:
        """Return X, `Gaussians` in the order that features had in the fit; scikit-learn checks data frames.

        Its checks are made only where there are names: they take longer than a small fit.
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _has_probabilities(estimator: Fitted) -> bool:
    model = getattr(estimator, "model_", None)
    return bool(estimator.probability) and (model is None or model.calibration_ is not None)


class LinearClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """What linear classifiers share: training and prediction."""

    __metadata_request__predict_proba = ROUTED
    __metadata_request__decision_function = ROUTED

    _task = "classification"
    _learnt = ("classes_",)
    probability: bool | str
    model_: Model
    classes_: Array
    _samples_read = 0
    _had_noise = False  # whether `fit` was given uncertainties beside X
    _stream: Stream | None = None  # what `partial_fit` has read since the last `fit`

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        sample_weight: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> Fitted:
        """Train on uncertain samples.

        Parameters
        ----------
        X : array, DataFrame, Gaussians or Blocks of shape (l, n)
            The samples. Columns of uncertainties of a DataFrame are recognised by their names.
        y : array of shape (l,), (l, K), or str
            Labels, or class probabilities (soft labels); the name of a column of a DataFrame X. By default
            what blocks have.
        cov, std : array or covariance kind, optional
            Uncertainty of X, as in `svmgsu.train`.
        sample_weight : array of shape (l,), optional
            Relative weights.
        groups : array of shape (l,), optional
            Samples that belong together, which are held out together.

        Returns
        -------
        self
        """
        X, y = table_for_fit(X, y, cov, std, sample_weight=sample_weight, groups=groups)
        cov, std = self._align(X, cov, std, y=y, sample_weight=sample_weight, groups=groups)
        if y is not None or not isinstance(X, Blocks):
            y = labels_of(y)
        problem = read_problem(X, y, cov, self._options(), std=std, sample_weight=sample_weight)
        self._train(problem, groups)
        self._samples_read = len(problem)
        self._stream = None
        self._had_noise = cov is not None or std is not None
        return self

    def decision_function(
        self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None, return_std: bool = False
    ) -> Any:
        """Return decision values for each row of X: (l,) for two classes, (l, K) comparable ones for more.

        For two classes it is w·x + b, less the value at which `predict` goes from one class to the other
        where there are probabilities: above 0 is the second class. (The plain ones are
        X @ coef_.T + intercept_.) For more see `Model.decision_function`.

        Parameters
        ----------
        X : array, DataFrame, Gaussians or Blocks of shape (l, n)
            New samples.
        cov, std : array or covariance kind, optional
            Uncertainty of X, as in `svmgsu.train`.
        return_std : bool, default=False
            Return (values, standard deviations √(wᵀΣw)); for two classes only.
        """
        data = self._samples(X, cov, std)
        found = self.model_.decision_function(data, return_std=return_std, threads=self.threads)
        if len(self.classes_) > 2:
            return found
        values, deviations = found if return_std else (found, None)
        values = self.model_.from_threshold(values)
        return (values, deviations) if return_std else values

    def predict(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Array:
        """Return the class of each row of X, with uncertainties `cov` or `std`: see `Model.predict`."""
        data = self._samples(X, cov, std)
        return self.model_.predict(data, threads=self.threads)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(
        self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None, prior: ArrayLike = None
    ) -> FloatArray:
        """Return calibrated probabilities of the classes for each row of X, of shape (l, K).

        The larger the uncertainties `cov` or `std` of X, the less confident they are; `prior` states the
        class priors. See `Model.predict_proba`.
        """
        data = self._samples(X, cov, std)
        return self.model_.predict_proba(data, prior=prior, threads=self.threads)

    def margin_probability(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> FloatArray:
        """Return P(w·X + b > 0) of X with uncertainties `cov` or `std`: see `Model.margin_probability`."""
        data = self._samples(X, cov, std)
        return self.model_.margin_probability(data, threads=self.threads)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
    ) -> float:
        """Return the accuracy on X with labels y, counted by `sample_weight`; `cov`, `std` as in `predict`.

        A model that was fitted with uncertainties beside X refuses an X without them, as in
        cross-validation of scikit-learn without metadata routing; std=0 says that X is exact.
        """
        check_scored(self._had_noise, X, cov, std)
        check_row_order(X, y=y, sample_weight=sample_weight)
        labels = column_named(X, y)
        weights = None if sample_weight is None else check_weights(sample_weight, len(labels))
        return float(accuracy_score(labels, self.predict(X, cov, std), sample_weight=weights))


class LinearSVMGSU(LinearClassifier):
    """Linear support vector machine with Gaussian sample uncertainty.

    Parameters
    ----------
    lam : float, array or "auto", default="auto"
        The weight λ of the penalty λ/2 ‖w‖²: λ = 1/(Cl) for the C of other libraries' SVMs. Of several
        values that with the best accuracy, expected over the uncertainties of samples held out in five folds,
        is taken; "auto" tries ten from 10 down to 1e-4.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        The loss whose expectation over X ~ N(x, Σ) is minimised; "logistic" has probabilities of its own.
    cov_scale : float, array or "auto", default=1.0
        A factor of all covariances in training; 0 is training without uncertainty. Of several values the
        best is chosen with λ; "auto" tries 0, 0.1, 0.3 and 1.
    class_weight : dict or "balanced", optional
        Factors of the weights of each class's samples; "balanced" gives all classes the same sum, and with
        multi_class="ovr" each class the same as the rest. They turn the hyperplanes and `predict`, not the
        probabilities.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes become binary subproblems: pairs of classes with coupled probabilities, or
        each class against the rest.
    fit_intercept : bool, default=True
        Whether there is an intercept b, which is not penalised.
    probability : {True, "cv", "train", False}, default=True
        Whether to fit probabilities, and to what: held-out scores ("cv") or training scores ("train", faster
        and overconfident). True means "cv", but for loss="logistic" the model's own probabilities.
    tol : float, default=1e-6
        The solver stops when the proven gap is at most `tol` times the objective.
    max_time : float, optional
        Seconds for the whole fit: search, all classes, folds and calibration. The best point so far is kept.
    warm_start : bool, default=False
        Start from the last fit's solution.
    threads : int, optional
        By default all that OpenMP offers. The result has the same bits for any number.
    verbose : bool or function, default=False
        Show progress; a function is called as in `svmgsu.train`.

    Attributes
    ----------
    coef_ : array of shape (1, n), or (K(K-1)/2, n) for K > 2 classes; (K, n) with "ovr"
        The weights; see `Model` for the order of the pairs.
    intercept_ : array of shape (1,), (K(K-1)/2,) or (K,)
        The offsets.
    classes_ : array of shape (2,) or (K,)
        The labels.
    lam_, cov_scale_ : float
        What the model was trained with.
    best_score_, best_index_, cv_results_ : float, int, dict of arrays
        After a search: the held-out score of the best setting, its place, and the scores of all settings, as
        scikit-learn's `GridSearchCV` has them.
    objective_, gap_, n_iter_, status_, history_
        How close the solver came to the optimum, and how: see `Model`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n,)
        The names of X's columns, where it has names that are all strings. At prediction `Gaussians` with
        these names in another order are put in order; for a DataFrame scikit-learn wants the order of
        the fit (`model_` puts its columns in order, too).
    model_ : Model
        The model without scikit-learn, to save or embed.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, -0.1]]), ["a", "a", "b", "b"]
    >>> svmgsu.LinearSVMGSU(lam=0.1).fit(X, y, std=np.full((4, 2), 0.3)).predict(X).tolist()
    ['a', 'a', 'b', 'b']

    For three classes each pair is trained; uncertainties make probabilities less confident:

    >>> X = np.array([[-2.0, 0.0], [-2.0, 1.0], [2.0, 0.0], [2.0, 1.0], [0.0, 4.0], [0.0, 5.0]])
    >>> three = svmgsu.LinearSVMGSU(lam=0.01, probability="train").fit(X, list("aabbcc"), std=0.3)
    >>> three.decision_function(X).shape, three.predict([[0.0, 6.0]]).item()
    ((6, 3), 'c')
    >>> exact, noisy = (three.predict_proba([[0.0, 6.0]], std=s)[0, 2] for s in (0.1, 3.0))
    >>> bool(exact > noisy)
    True
    """

    def __init__(
        self,
        lam: float | str | Sequence[float] = "auto",
        *,
        loss: str = "hinge",
        cov_scale: float | str | Sequence[float] = 1.0,
        class_weight: object = None,
        multi_class: str = "ovo",
        fit_intercept: bool = True,
        probability: bool | str = True,
        tol: float = 1e-6,
        max_time: float | None = None,
        warm_start: bool = False,
        threads: int | None = None,
        verbose: object = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.cov_scale = cov_scale
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.probability = probability
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.threads = threads
        self.verbose = verbose


class SGDSVMGSU(LinearClassifier):
    """Linear support vector machine with Gaussian sample uncertainty, by stochastic gradient descent.

    This is the paper's Algorithm 1, corrected. Nothing is proven about `partial_fit`, which learns from data
    that come in pieces; `LinearSVMGSU` is exact, and usually faster.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖²: λ = 1/(Cl) for the C of other libraries' SVMs.
    loss : {"hinge", "logistic"}, default="hinge"
        The loss whose expectation over X ~ N(x, Σ) is minimised.
    class_weight, multi_class, fit_intercept, probability : optional
        As in `LinearSVMGSU`. For `partial_fit`, class_weight is a dict, and no probabilities are fitted.
    n_steps : int, optional
        The number of steps of `fit`; by default 20 passes over the data, at least 1000.
    batch_size : int, optional
        The number of samples in a step; by default min(l, 100).
    average : float in [0, 1], default=0.5
        The last share of the steps that is averaged; 0 returns the last step.
    random_state : int, RandomState or None, default=0
        The seed: the same seed gives the same model, for any number of threads.
    threads, verbose : optional
        As in `LinearSVMGSU`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, status_, history_, n_features_in_, feature_names_in_, model_
        As in `LinearSVMGSU`.
    objective_, gap_ : float
        The objective reached, and a proven upper bound of its distance to the optimum; NaN after
        `partial_fit`.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> est = svmgsu.SGDSVMGSU(lam=0.01)
    >>> for _ in range(50):
    ...     y = rng.integers(2, size=100)
    ...     X = rng.normal(size=(100, 2)) + 3 * y[:, np.newaxis]
    ...     est = est.partial_fit(X, y, classes=[0, 1], std=0.1)
    >>> bool(est.score(X, y, std=0.1) > 0.9)
    True
    """

    __metadata_request__partial_fit = ROUTED

    def __init__(
        self,
        lam: float = DEFAULT_LAM,
        *,
        loss: str = "hinge",
        class_weight: object = None,
        multi_class: str = "ovo",
        fit_intercept: bool = True,
        probability: bool | str = True,
        n_steps: int | None = None,
        batch_size: int | None = None,
        average: float = 0.5,
        random_state: RandomState = 0,
        threads: int | None = None,
        verbose: object = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.probability = probability
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.average = average
        self.random_state = random_state
        self.threads = threads
        self.verbose = verbose

    def _options(self) -> Options:
        given = {name: value for name, value in vars(self).items() if name in NAMES}
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        return Options(**given, task="classification", solver="sgd", steps=self.n_steps, seed=int(seed))

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> SGDSVMGSU:
        """Learn from one piece of a stream.

        Parameters
        ----------
        X, y, cov, std
            The piece, as in `fit`. Each sample is used once, `batch_size` (or 100) in a step.
        classes : array, optional
            All classes that there will be; needed in the first call. They name the columns of soft labels,
            which otherwise have the names of a DataFrame or a dict, or the order of `classes_`.
        sample_weight : array of shape (l,), optional
            Relative to the mean weight of all pieces so far.

        Returns
        -------
        self

        Notes
        -----
        The steps 1/(λ t) go on from call to call. `coef_` is the average of the iterates, which favours
        the last ones (the last iterate with `average=0`). The data are not kept, so nothing is proven:
        `objective_` and `gap_` are NaN; and no probabilities are fitted. After `fit` it goes on from that
        model, which counts like one pass over its samples.
        """
        check_row_order(X, y=y, sample_weight=sample_weight)
        options = self._options()
        X, y = table_for_fit(X, y, cov, std, by_content=False)
        cov, std = same_units(self, X, cov, std)
        stream = self._stream
        if stream is None and hasattr(self, "model_"):
            stream = Stream.after(self.model_, self._samples_read, options.batch_size)
        X = self._check_names(X, reset=stream is None)
        data = as_gaussians(X, cov, std)
        given = None if classes is None else check_classes(classes, "classes")
        if stream is None:
            if given is None:
                raise ValueError("classes: the first call of partial_fit needs all classes")
            stream = Stream(given, data.shape[1], Scheme(len(given), options.multi_class))
        elif given is not None and not np.array_equal(given, stream.classes):
            raise ValueError("classes: not the same as in the call before")
        stream = replace(stream)  # so that nothing changes where the piece is refused
        stream.read(data, labels_of(y), sample_weight, options, classes)
        self._stream = stream
        model = stream.model(options)
        names = getattr(self, "feature_names_in_", None)
        model.feature_names_in_ = None if names is None else [str(name) for name in names]
        self._take(model)
        return self


class LinearSVRGSU(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Linear regression with Gaussian sample uncertainty.

    Parameters
    ----------
    lam : float, array or "auto", default="auto"
        The weight λ of the penalty λ/2 ‖w‖²; with the squared loss scikit-learn's `Ridge(alpha)` / l. Of
        several values that with the least squared error, expected over the uncertainties of samples held out
        in five folds, is taken; "auto" tries ten from 10 down to 1e-4.
    loss : str, default="squared"
        "squared", "epsilon_insensitive", "squared_epsilon_insensitive" or "huber": see `svmgsu.train`.
    epsilon : float, optional
        ε of the losses that have one, in the unit of y: by default 0.1, for "huber" 1.35.
    cov_scale, fit_intercept, tol, max_time, warm_start, threads, verbose : optional
        As in `LinearSVMGSU`.

    Attributes
    ----------
    coef_ : array of shape (n,)
        The weights.
    intercept_ : float
        The offset.
    scatter_ : float
        How far targets lie from the hyperplane: see `RegressionModel`.
    lam_, cov_scale_, best_score_, best_index_, cv_results_
        The setting of the fit, and the scores of a search, as in `LinearSVMGSU`.
    objective_, gap_ : float
        The objective reached, and a proven upper bound of its distance to the optimum.
    n_iter_, status_, history_, n_features_in_, feature_names_in_
        As in `LinearSVMGSU`.
    model_ : RegressionModel
        The model without scikit-learn, to save or embed.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0.0, 2.0, 4.0, 6.0]
    >>> est = svmgsu.LinearSVRGSU(lam=1e-8).fit(X, y, y_std=0.1)
    >>> value, deviation = est.predict([[1.0]], std=0.5, return_std=True)
    >>> value.round(3).tolist(), deviation.round(3).tolist()
    ([2.0], [1.0])

    Noise that comes on top of X shrinks the slope:

    >>> bool(svmgsu.LinearSVRGSU(lam=1e-8).fit(X, y, std=1.0).coef_[0] < est.coef_[0])
    True
    """

    _task = "regression"
    _learnt = ("scatter_",)
    model_: RegressionModel

    def __init__(
        self,
        lam: float | str | Sequence[float] = "auto",
        *,
        loss: str = "squared",
        epsilon: float | None = None,
        cov_scale: float | str | Sequence[float] = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_time: float | None = None,
        warm_start: bool = False,
        threads: int | None = None,
        verbose: object = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.epsilon = epsilon
        self.cov_scale = cov_scale
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.threads = threads
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        y_std: ArrayLike = None,
        sample_weight: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> LinearSVRGSU:
        """Train on uncertain samples, as `LinearSVMGSU.fit`.

        X, cov, std and sample_weight are as there. y has targets, and y_std their standard errors, as in
        `svmgsu.train`; a search for λ holds out whole groups.
        """
        X, y = table_for_fit(X, y, cov, std, y_std=y_std, sample_weight=sample_weight)
        cov, std = self._align(X, cov, std, y=y, y_std=y_std, sample_weight=sample_weight, groups=groups)
        if y is not None or not isinstance(X, Blocks):
            y = _targets_of(y)
        problem = read_problem(X, y, cov, self._options(), std=std, y_std=y_std, sample_weight=sample_weight)
        self._train(problem, groups)
        return self

    def predict(
        self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None, return_std: bool = False
    ) -> Any:
        """Return w·x + b for each row of X; with `return_std` and uncertainties `cov` or `std` of X also the
        deviation √(wᵀΣw) that they make. See `RegressionModel.predict`.
        """
        data = self._samples(X, cov, std)
        return self.model_.predict(data, return_std=return_std, threads=self.threads)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
    ) -> float:
        """Return R² of the predictions for X against the targets y, counted by `sample_weight`.

        `cov` and `std` are checked as in `predict`; the predicted means do not depend on them.
        """
        check_row_order(X, y=y, sample_weight=sample_weight)
        targets = column_named(X, y)
        weights = None if sample_weight is None else check_weights(sample_weight, len(targets))
        return float(r2_score(targets, self.predict(X, cov, std), sample_weight=weights))


def labels_of(given: ArrayLike) -> Any:
    """Return y as scikit-learn wants it: a column becomes a row with a warning, and no continuous targets.

    Soft labels stay as they are, with the names of their columns.
    """
    if has_soft_labels(given):
        return given
    y = plain_labels(given)
    if y.ndim != 1:
        y = np.asarray(column_or_1d(y, warn=True))
    # What is not finite, `train` names. Whole numbers need no check, which takes longer than a small fit.
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y != np.floor(y)).any():
        check_classification_targets(y)
    return y


def _targets_of(y: ArrayLike) -> Array:
    """Return y as scikit-learn wants it: a column becomes a row with a warning."""
    if y is None:
        raise ValueError("y: this estimator requires y to be passed, but the target y is None")
    targets = np.asarray(y)
    return targets if targets.ndim == 1 else np.asarray(column_or_1d(targets, warn=True))
