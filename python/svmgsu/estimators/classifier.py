"""`LinearSVMGSU`: the classifier for scikit-learn's world, a thin layer over `svmgsu.train`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..data.covariances import Psd
from ..data.gaussians import Gaussians, as_gaussians
from ..data.soft_labels import has_soft_labels
from ..fit.division import Division
from ..fit.problem import problem_of
from ..fit.settings import documented
from ..fit.stream import Stream
from ..io.frames import table_for_fit
from ..models.classifier import Model
from ..outofcore.blocks import Blocks
from ..support.labels import check_classes, check_weights, plain_labels
from ..support.validation import Array, FloatArray, check_row_order
from ..support.warning import warn
from .callbacks import FitReport, with_callbacks
from .inputs import ROUTED, same_units
from .linear import LinearEstimator


def _has_probabilities(estimator: Any) -> bool:
    model = getattr(estimator, "model_", None)
    return bool(estimator.probability) and (model is None or model.calibration_ is not None)


class LinearClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """What fitted classifiers share: prediction."""

    __metadata_request__partial_fit = ROUTED
    __metadata_request__predict_proba = ROUTED
    __metadata_request__decision_function = ROUTED

    _task = "classification"
    _learnt = ("classes_",)
    _stream: Stream | None
    probability: bool | str
    model_: Model
    _had_noise = False  # whether `fit` was given uncertainties beside X

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

        `cov` and `std` as in `predict`. A model that was fitted with uncertainties beside X warns where X
        comes without, as in cross-validation of scikit-learn without metadata routing; std=0 is an exact X.
        """
        if self._had_noise and cov is None and std is None and not isinstance(X, (Gaussians, Blocks)):
            warn(
                "score: the model was fitted with cov or std, but X comes without. Pass them to score (std=0 "
                "if X is exact). In cross-validation pass svmgsu.Gaussians(X, std=...) as X, or route them: "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        check_row_order(X, y=y, sample_weight=sample_weight)
        weights = None if sample_weight is None else check_weights(sample_weight, len(y))
        return float(accuracy_score(y, self.predict(X, cov, std), sample_weight=weights))


@documented
class LinearSVMGSU(LinearClassifier):
    """Linear support vector machine with Gaussian sample uncertainty.

    Parameters
    ----------
    {settings}

    Attributes
    ----------
    coef_ : array of shape (1, n), or (K(K-1)/2, n) for K > 2 classes, see `Model`; (K, n) with "ovr"
    intercept_ : array of shape (1,), (K(K-1)/2,) or (K,)
    classes_ : array of shape (2,) or (K,)
    objective_, gap_ : float
        The objective reached, and a proven upper bound of its distance to the optimum; for more than two
        classes the sums over the problems. NaN after `partial_fit`.
    n_iter_ : int
    status_ : {"converged", "rounding", "stalled", "limit", "stopped"}
        How the solver ended: with the precision asked; where rounding errors allow no smaller proof; where
        its steps gained nothing more; at `max_iter` or `max_time`; by a callback. Of several classes
        that of the problem that fared worst; empty after `partial_fit`.
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
        psd: Psd = "clip",
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
        self.psd = psd
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
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        classes: Any = None,
    ) -> LinearSVMGSU:
        """Trains on X (or `Gaussians`) with labels y, or with class probabilities y of shape (l, K).

        X may be blocks of files, as `svmgsu.open` gives them; y is by default what the files have then.

        `cov`, `std`, `sample_weight`, `groups` and `classes` are those of `svmgsu.train`.
        """
        X, y = table_for_fit(X, y, cov, std, sample_weight=sample_weight, groups=groups)
        cov, std = self._at_fit(X, cov, std, y=y, sample_weight=sample_weight, groups=groups)
        y = y if y is None and isinstance(X, Blocks) else labels_of(y)
        report = FitReport(self, X, y, "iteration", None)
        problem = problem_of(
            X, y, cov, self._settings(), std=std, sample_weight=sample_weight, classes=classes
        )
        warm = self.warm_start and self.solver == "newton"
        start = getattr(self, "model_", None) if warm else None
        self._take(problem.train(start, report.monitor(), groups=groups))
        self._had_noise = cov is not None or std is not None
        self._stream, self._examples_read = None, problem.copies.examples
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
            The piece, as in `fit`. Each example is used once, `k` (or 100) a step. Of class probabilities
            each class is used, with that weight.
        classes : array, optional
            All classes that there will be; needed in the first call. Where y has class probabilities they
            name its columns, which by default have the names of a data frame, or the order of `classes_`.
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
        check_row_order(X, y=y, sample_weight=sample_weight)
        settings = self._settings()
        X, y = table_for_fit(X, y, cov, std, by_content=False)
        cov, std = same_units(self, X, cov, std)
        stream = getattr(self, "_stream", None)
        if stream is None and hasattr(self, "model_"):
            stream = Stream.after(self.model_, self._examples_read, settings.k)
        X = self._check_names(X, reset=stream is None)
        data = as_gaussians(X, cov, std, settings.psd)
        stream = self._continued(stream, data.shape[1], classes)
        team = settings.team() if len(stream.classes) > 2 else None
        stream.read(data, labels_of(y), sample_weight, settings, columns=classes, team=team)
        self._stream = stream
        model = stream.model(settings.lam, averaged=settings.average != 0, loss=settings.loss)
        names = getattr(self, "feature_names_in_", None)
        model.feature_names_in_ = None if names is None else [str(name) for name in names]
        self._take(model)
        return self

    def _continued(self, stream: Stream | None, features: int, classes: Any) -> Stream:
        """A copy of what is known, so that nothing changes where the piece is refused, or a new stream."""
        if stream is None and classes is None:
            raise ValueError("classes: the first call of partial_fit needs all classes")
        given = None if classes is None else check_classes(classes, "classes")
        if stream is None:
            assert given is not None
            return Stream(given, features, Division(len(given), self.multi_class))
        if given is not None and not np.array_equal(given, stream.classes):
            raise ValueError("classes: not the same as in the call before")
        return replace(stream)


def labels_of(given: Any) -> Any:
    """y as scikit-learn wants it: a column becomes a row with a warning, and no continuous targets.

    Class probabilities stay as they are, with the names of their columns.
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
