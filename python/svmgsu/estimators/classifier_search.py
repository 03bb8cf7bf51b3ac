"""`LinearSVMGSUCV`: λ, and the scale of the uncertainty itself, chosen by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from ..data.covariances import Psd
from ..fit.problem import Problem
from ..fit.settings import documented
from ..io.frames import table_for_fit
from ..models import scoring
from ..models.calibration import Calibration, fit, fit_sigmoid, own
from ..models.classifier import Model
from ..support.losses import OWN
from ..support.validation import Array
from .callbacks import with_callbacks
from .classifier import LinearClassifier, LinearSVMGSU, labels_of
from .search import Fold, LambdaSearch, Scorer


@documented
class LinearSVMGSUCV(LambdaSearch, LinearClassifier):
    """`LinearSVMGSU` with λ (and the covariances' scale) chosen by cross-validation along a path.

    Validation examples are Gaussians too: by default a model is scored by what it will do on draws from
    them, in closed form, so that λ is chosen for the noise there will be. The data are checked once,
    folds are views, and (fold, scale) pairs run in parallel, each along a warm-started path of λ.

    Parameters
    ----------
    lams : array, optional
        The values of λ to try; by default ten from 10 down to 1e-4.
    cov_scales : array, default=(1.0,)
        Factors of the covariances to try. With 0 among them the result tells whether uncertainty helps
        at all. Validation examples keep the covariance they were given (times 1).
    cv : int, splitter or iterable, default=5
        As in scikit-learn; stratified for a number, and by groups where `fit` gets them. A splitter, an
        iterable or groups decide what is held out for the probabilities too.
    scoring : str or callable, optional
        "expected_accuracy", "expected_hinge", "expected_log_loss", "expected_loss" (the one of `loss`), or a
        scorer of scikit-learn, which sees the means only and needs labels without doubt. By default
        "expected_accuracy", which without covariances is the accuracy.
        For more than two classes an expected loss is the mean over the problems; accuracy and log-loss
        compare the classes' log-odds (from Platt's sigmoids, on the training rows), which has no closed
        form: they are means over fixed draws, 256 for an example or fewer where there are many. Expected
        scores count validation examples by their weights, those of `class_weight` included; scorers of
        scikit-learn see no weights.
    refit : bool, default=True
        Whether to train on all data with the best setting; without, there is nothing to predict with.
    n_jobs : int, optional
        Fits at a time; by default as many as OpenMP would use threads.
    {settings}

    Attributes
    ----------
    lam_, cov_scale_ : float
        The best setting. The attributes of `LinearSVMGSU`, `feature_names_in_` too, are those of its fit.
    best_score_ : float
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of arrays
        `param_lam`, `param_cov_scale`, `mean_test_score`, `std_test_score`, `rank_test_score` and
        `split0_test_score`, ...; greater is better, so losses are negative.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = rng.normal(size=(100, 3)) + 2 * y[:, np.newaxis]
    >>> search = svmgsu.LinearSVMGSUCV(lams=[1, 0.1, 0.01]).fit(X, y, std=0.5)
    >>> search.lam_ in (1, 0.1, 0.01), round(search.score(X, y, std=0.5), 1)
    (True, 0.9)
    """

    _expected = ("expected_accuracy", "expected_hinge", "expected_log_loss", "expected_loss")
    _scorers = "'accuracy' or 'roc_auc'"
    _by_groups = StratifiedGroupKFold

    def __init__(
        self,
        lams: Any = None,
        *,
        psd: Psd = "clip",
        loss: str = "hinge",
        cov_scales: Any = (1.0,),
        cv: Any = 5,
        scoring: Any = None,
        class_weight: Any = None,
        multi_class: str = "ovo",
        fit_intercept: bool = True,
        deployment_cov: Any = None,
        probability: bool | str = True,
        prior: Any = None,
        tol: float = 1e-6,
        max_iter: int = 500,
        max_time: float | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.lams = lams
        self.psd = psd
        self.loss = loss
        self.cov_scales = cov_scales
        self.cv = cv
        self.scoring = scoring
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.deployment_cov = deployment_cov
        self.probability = probability
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.refit = refit
        self.n_jobs = n_jobs
        self.threads = threads
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
    ) -> LinearSVMGSUCV:
        """Searches, then trains on all data.

        X, y, cov, std, sample_weight, groups and classes as in `svmgsu.train`; a splitter gets the
        `groups`, and folds of a number keep them together.
        """
        X, y = table_for_fit(X, y, cov, std, sample_weight=sample_weight, groups=groups)
        cov, std = self._at_fit(X, cov, std, y=y, sample_weight=sample_weight, groups=groups)
        y = labels_of(y)
        settings = self._settings(cv=None)
        problem = Problem(X, y, cov, settings, std=std, sample_weight=sample_weight, classes=classes)
        self._search(problem, X, y, groups)
        self._had_noise = cov is not None or std is not None
        return self

    def _folds(self, problem: Problem, groups: Any) -> list[Fold]:
        folds = super()._folds(problem, groups)
        for k, (known, _) in enumerate(folds):
            present = np.unique(problem.codes[known])
            if len(present) == 1:
                label = problem.classes[present[0]].item()
                raise ValueError(
                    f"cv: the training examples of fold {k} are all of class {label!r}; "
                    "training needs examples of two. Use fewer folds, or a stratified splitter, as cv=5 is"
                )
        return folds

    def _expected_scorer(self, name: str) -> Scorer:
        return lambda *given: _expected_score(name, *given)

    def _plain_score(self, scorer: Any, problem: Problem, model: Model, known: Array, new: Array) -> float:
        if problem.copies.source is not None:
            raise ValueError(
                "scoring: a scorer of scikit-learn needs labels, and y has class probabilities; take one of "
                + ", ".join(map(repr, self._expected))
            )
        estimator = LinearSVMGSU(lam=model.lam, loss=model.loss)
        model.calibration_ = _calibration(problem, model, known)
        estimator._take(model)
        return float(scorer(estimator, problem.data.mean[new], problem.labels[new]))


def _expected_score(name: str, problem: Problem, model: Model, train_rows: Array, test_rows: Array) -> float:
    if name in ("expected_hinge", "expected_loss"):
        loss = "hinge" if name == "expected_hinge" else model.loss
        return -_expected_loss(problem, model, test_rows, loss)
    weights = problem.weights[test_rows]
    if problem.parts > 1:
        model.calibration_ = _calibration(problem, model, train_rows, quick=True)
        found = scoring.expected_class_scores(
            model, problem.data[problem.copies.places(test_rows)], problem.labels[test_rows], weights
        )
        return found[0] if name == "expected_accuracy" else -found[1]
    mean, variance = problem.margins(model.coef_, test_rows, threads=1)
    mean, std = mean[:, 0] + model.intercept_, np.sqrt(variance[:, 0])
    signs = problem.signs(0, test_rows)
    if name == "expected_accuracy":
        return scoring.expected_accuracy(mean, std, signs, weights)
    platt = _calibration(problem, model, train_rows, quick=True)[0].platt
    return -scoring.expected_log_loss(mean, std, signs, weights, platt)


def _expected_loss(problem: Problem, model: Model, test_rows: Array, loss: str) -> float:
    """The mean over the problems that have validation examples with weight."""
    found = []
    for part in range(problem.parts):
        rows = problem.rows(part, test_rows)
        if rows is None or not problem.weights[rows].any():
            continue
        mean, variance = problem.margins(model.coef_[part : part + 1], rows, threads=1)
        margin, signs = mean[:, 0] + model.intercept_[part], problem.signs(part, rows)
        std, weights = np.sqrt(variance[:, 0]), problem.weights[rows]
        found.append(scoring.expected_loss(margin, std, signs, weights, loss))
    return float(np.mean(found))


def _calibration(
    problem: Problem, model: Model, rows: Array, *, quick: bool = False
) -> tuple[Calibration, ...]:
    """Probabilities from the scores of the training rows, only used to compare settings.

    `quick` is for decision values, which know nothing of error bars, by the weights of training.
    """

    def fitted(part: int) -> Calibration:
        some = problem.rows(part, rows)
        if some is None or not len(some):  # neither class of a pair is there
            return Calibration(0.0, 0.0, 0.0, 0.0)
        mean, variance = problem.margins(model.coef_[part : part + 1], some, observed=not quick, threads=1)
        scores, signs = mean[:, 0] + model.intercept_[part], problem.signs(part, some)
        if quick and model.loss == OWN:
            return Calibration(1.0, 0.0, 0.0, 0.0)
        if quick:
            return Calibration(*fit_sigmoid(scores, signs, problem.given_weights[some]), 0.0, 0.0)
        known = variance[:, 0] if problem.observed.cov is not None else None
        if model.loss == OWN:
            return own(scores, known, signs, problem.sample_weights[some], problem.side_odds(part, rows))
        return fit(scores, known, signs, problem.sample_weights[some])

    return tuple(fitted(part) for part in range(problem.parts))
