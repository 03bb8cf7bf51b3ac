"""`LinearSVMGSU`: the classifier for scikit-learn's world, a thin layer over `svmgsu.train`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, check_is_fitted, column_or_1d

from ..data.doubt import has_doubt
from ..data.gaussians import Gaussians, as_gaussians, keep_names, may_lack_names
from ..fit.classification import train
from ..fit.division import Division
from ..fit.problem import check_scale
from ..fit.stream import Stream
from ..models.classifier import Model
from ..models.rule import new_objects
from ..support.parallel import Team
from ..support.validation import Array, FloatArray, check_classes, check_count, check_positive, plain_labels
from .callbacks import CallbackSupportMixin, FitReport, with_callbacks
from .transforming import ROUTED
from .units import check_deployment_units, same_units

# What is handed on to `train` as it is; named here, since get_params() takes longer than a small fit.
_SETTINGS = (
    *("lam", "loss", "solver", "class_weight", "multi_class", "fit_intercept", "cov_scale", "deployment_cov"),
    *("subspace", "subspace_mode", "probability", "tol", "max_iter", "max_time", "T", "k", "average"),
    *("threads", "n_jobs", "verbose", "prior", "cv"),
)
_LEARNT = ("coef_", "intercept_", "classes_", "objective_", "gap_", "n_iter_", "history_", "n_features_in_")


def _has_probabilities(estimator: Any) -> bool:
    model = getattr(estimator, "model_", None)
    return bool(estimator.probability) and (model is None or model.calibration_ is not None)


class LinearClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What fitted classifiers share: prediction, and scikit-learn's bookkeeping."""

    __metadata_request__fit = ROUTED
    __metadata_request__partial_fit = ROUTED
    __metadata_request__predict = ROUTED
    __metadata_request__predict_proba = ROUTED
    __metadata_request__decision_function = ROUTED
    __metadata_request__score = ROUTED

    _stream: Stream | None
    probability: bool | str
    threads: int | None
    model_: Model

    def decision_function(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """Decision values for each row of X: (l,) for two classes, (l, K) comparable ones for more.

        Of two classes it is w·x + b, less the value at which `predict` goes from one class to the other where
        there are probabilities: above 0 is the second class, as scikit-learn wants it. (The plain ones are
        X @ coef_.T + intercept_.) Of more see `Model.decision_function`. With the covariance `cov` or error
        bars `std` of X, `return_std` gives the standard deviations √(wᵀΣw) as well: (values, standard
        deviations).
        """
        data = self._examples(X, cov, std)
        found = self.model_.decision_function(data, return_std=return_std, threads=self.threads)
        if len(self.classes_) > 2:
            return found
        values, std_ = found if return_std else (found, None)
        values = self.model_.from_threshold(values)
        return (values, std_) if return_std else values

    def predict(self, X: Any, cov: Any = None, std: Any = None) -> Array:
        """The class of each row of X, with its covariance `cov` or error bars `std`: see `Model.predict`."""
        data = self._examples(X, cov, std)
        return self.model_.predict(data, threads=self.threads)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, cov: Any = None, std: Any = None, prior: Any = None) -> FloatArray:
        """Probabilities of the classes for each row of X, shape (l, K), by calibration.

        With the covariance `cov` or error bars `std` of X a blurred object gets a humbler one; `prior` states
        the classes' shares. See `Model.predict_proba`.
        """
        data = self._examples(X, cov, std)
        return self.model_.predict_proba(data, prior=prior, threads=self.threads)

    def margin_probability(self, X: Any, cov: Any = None, std: Any = None) -> FloatArray:
        """P(w·X + b > 0) of X with covariance `cov` or error bars `std`.

        It is of shape (l,) for two classes, one column for each hyperplane for more; nothing is fitted: see
        `Model.margin_probability`.
        """
        data = self._examples(X, cov, std)
        return self.model_.margin_probability(data, threads=self.threads)

    def score(self, X: Any, y: Any, sample_weight: Any = None, cov: Any = None, std: Any = None) -> float:
        """The share of the examples of X that are given their class in y, counted by `sample_weight`.

        `cov` and `std` as in `predict`.
        """
        return float(accuracy_score(y, self.predict(X, cov, std), sample_weight=sample_weight))

    def _take(self, model: Model) -> None:
        """Shows what a model has learnt as attributes of the estimator."""
        self.model_ = model
        for name in _LEARNT:
            setattr(self, name, getattr(model, name))

    def _examples(self, X: Any, cov: Any, std: Any) -> Gaussians:
        check_is_fitted(self, "model_")
        cov, std = same_units(self, X, cov, std)
        data = new_objects(self._check_names(X, reset=False), cov, std)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return data

    def _check_names(self, X: Any, *, reset: bool) -> Any:
        """X, `Gaussians` in the order that features had in the fit; scikit-learn wants that order of frames.

        Its checks are made where there are names alone: they take longer than a small fit.
        """
        if isinstance(X, Gaussians):
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


class LinearSVMGSU(LinearClassifier):
    """Linear support vector machine with Gaussian sample uncertainty.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖².
    loss : {"hinge", "squared_hinge", "logistic"}
        As in `svmgsu.train`; "logistic" has probabilities of its own.
    solver : {"newton", "sgd"}
        Exact and certified, or the paper's stochastic algorithm.
    class_weight, multi_class, fit_intercept, cov_scale, deployment_cov, subspace, subspace_mode
        As in `svmgsu.train`.
    probability, prior, cv
        As in `svmgsu.train`: `cv` are the folds for the probabilities.
    tol, max_iter, max_time, T, k, average, threads, n_jobs, verbose
        As in `svmgsu.train`.
    warm_start : bool, default=False
        Start from the last fit's solution (newton).
    random_state : int, RandomState or None, default=0
        Seed of the "sgd" solver, of `partial_fit`, and of draws from a pool of `deployment_cov`.

    Attributes
    ----------
    coef_ : array of shape (1, n), or (K(K-1)/2, n) for K > 2 classes, see `Model`; (K, n) with "ovr"
    intercept_ : array of shape (1,), (K(K-1)/2,) or (K,)
    classes_ : array of shape (2,) or (K,)
    objective_, gap_ : float
        The objective reached, and a proven upper bound of its distance to the optimum; for more than two
        classes the sums over the problems. NaN after `partial_fit`.
    n_iter_ : int
    history_ : list of dict, or a list of them for each problem
    n_features_in_ : int
    feature_names_in_ : array of shape (n,)
        The names of X's columns, where it has names that are all strings. At prediction `Gaussians` with
        these names in another order are put in order; of a DataFrame scikit-learn wants the order of
        the fit (`model_`, like every `svmgsu.Model`, puts its columns in order too).
    model_ : svmgsu.Model
        The model without scikit-learn, to save or embed.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, -0.1]]), ["a", "a", "b", "b"]
    >>> svmgsu.LinearSVMGSU(lam=0.1).fit(X, y, std=np.full((4, 2), 0.3)).predict(X).tolist()
    ['a', 'a', 'b', 'b']

    Of three classes each pair is trained; an object's own error bars blur its probabilities:

    >>> X = np.array([[-2.0, 0.0], [-2.0, 1.0], [2.0, 0.0], [2.0, 1.0], [0.0, 4.0], [0.0, 5.0]])
    >>> three = svmgsu.LinearSVMGSU(lam=0.01, probability="train").fit(X, list("aabbcc"), std=0.3)
    >>> three.decision_function(X).shape, three.predict([[0.0, 6.0]]).item()
    ((6, 3), 'c')
    >>> sharp, blurred = (three.predict_proba([[0.0, 6.0]], std=s)[0, 2] for s in (0.1, 3.0))
    >>> bool(sharp > blurred)
    True
    """

    def __init__(
        self,
        lam: float = 1e-2,
        *,
        loss: str = "hinge",
        solver: str = "newton",
        class_weight: Any = None,
        multi_class: str = "ovo",
        fit_intercept: bool = True,
        cov_scale: float = 1.0,
        deployment_cov: Any = None,
        subspace: float | None = None,
        subspace_mode: str = "truncate",
        probability: bool | str = True,
        prior: Any = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 500,
        max_time: float | None = None,
        T: int | None = None,
        k: int | None = None,
        average: float = 0.5,
        random_state: Any = 0,
        threads: int | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.solver = solver
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.cov_scale = cov_scale
        self.deployment_cov = deployment_cov
        self.subspace = subspace
        self.subspace_mode = subspace_mode
        self.probability = probability
        self.prior = prior
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.T = T
        self.k = k
        self.average = average
        self.random_state = random_state
        self.threads = threads
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        classes: Any = None,
    ) -> LinearSVMGSU:
        """Trains on X (or `Gaussians`) with labels y, or with class probabilities y of shape (l, K).

        `cov`, `std`, `sample_weight`, `groups` and `classes` are those of `svmgsu.train`.
        """
        self._check_names(X, reset=True)
        cov, std = same_units(self, X, cov, std)
        check_deployment_units(self, X, self.deployment_cov)
        y = labels_of(y)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        if self.warm_start and self.solver == "newton":
            settings["start"] = getattr(self, "model_", None)
        report = FitReport(self, X, y, "iteration", None)
        model = train(
            X,
            y,
            cov,
            std=std,
            sample_weight=sample_weight,
            groups=groups,
            classes=classes,
            seed=self._seed(),
            callback=report.monitor(),
            **settings,
        )
        self._take(model)
        self._stream, self._examples_read = None, len(y)
        report.end()
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
    ) -> LinearSVMGSU:
        """Learns from one piece of a stream, by the steps of the paper's algorithm (solver "sgd").

        Parameters
        ----------
        X, y, cov, std
            The piece, as in `fit`. Each example is used once, `k` (or 100) a step.
        classes : array, optional
            All classes that there will be; needed in the first call.
        sample_weight : array of shape (l,), optional
            Used as they are, not scaled to mean 1.

        Returns
        -------
        self

        Notes
        -----
        The steps 1/(λ t) go on from call to call. `coef_` is the average of the iterates, which favours
        the last ones (the last iterate with `average=0`). The data are not kept, so nothing is proven:
        `objective_` and `gap_` are NaN; and no probabilities are fitted. After `fit` it goes on from that
        model, which counts like one reading of its examples. The loss must be Lipschitz: the hinge or the
        logistic one. `class_weight` may be a dict;
        `deployment_cov` and `subspace` are not supported here.

        Examples
        --------
        >>> import numpy as np, svmgsu
        >>> rng = np.random.default_rng(0)
        >>> est = svmgsu.LinearSVMGSU(lam=0.01)
        >>> for _ in range(50):
        ...     y = rng.integers(2, size=100)
        ...     X = rng.normal(size=(100, 2)) + 3 * y[:, np.newaxis]
        ...     est = est.partial_fit(X, y, classes=[0, 1], std=0.1)
        >>> bool(est.score(X, y) > 0.9)
        True
        """
        for name in ("deployment_cov", "subspace"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name}: not supported by partial_fit")
        cov, std = same_units(self, X, cov, std)
        stream, X = self._continued_stream(X, classes)
        stream.read(
            X,
            labels_of(y),
            cov,
            std,
            sample_weight,
            class_weight=self.class_weight,
            cov_scale=check_scale(self.cov_scale),
            lam=check_positive(self.lam, "lam"),
            loss=self.loss,
            fit_intercept=bool(self.fit_intercept),
            batch=None if self.k is None else check_count(self.k, "k"),
            seed=self._seed(),
            team=Team(self.threads, self.n_jobs) if len(stream.classes) > 2 else None,
        )
        self._stream = stream
        model = stream.model(self.lam, averaged=self.average != 0, loss=self.loss)
        names = getattr(self, "feature_names_in_", None)
        model.feature_names_in_ = None if names is None else [str(name) for name in names]
        self._take(model)
        return self

    def _continued_stream(self, X: Any, classes: Any) -> tuple[Stream, Any]:
        known: Stream | None = getattr(self, "_stream", None)
        if known is None and hasattr(self, "model_"):
            known = Stream.after(self.model_, self._examples_read, self.k)
        X = self._check_names(X, reset=known is None)
        if known is None:
            if classes is None:
                raise ValueError("classes: the first call of partial_fit needs all classes")
            features = (X if isinstance(X, Gaussians) else as_gaussians(X)).shape[1]
            found = check_classes(classes, "classes")
            return Stream(found, features, Division(len(found), self.multi_class)), X
        if classes is not None and not np.array_equal(check_classes(classes, "classes"), known.classes):
            raise ValueError("classes: not the same as in the call before")
        return Stream(known.classes, known.features, known.division, known.states), X

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        from sklearn.utils import check_random_state

        return int(check_random_state(self.random_state).randint(2**31 - 1))


def labels_of(given: Any) -> Any:
    """y as scikit-learn wants it: a column becomes a row with a warning, and no continuous targets.

    Class probabilities stay as they are, with the names of their columns.
    """
    if has_doubt(given):
        return given
    y = plain_labels(given)
    if y.ndim != 1:
        y = np.asarray(column_or_1d(y, warn=True))
    if y.dtype.kind == "f" and np.isfinite(y).all():  # what is not finite, `train` names
        check_classification_targets(y)
    return y
