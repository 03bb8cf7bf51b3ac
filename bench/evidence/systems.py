"""Who takes part: this library's models with default settings, and rivals that are tuned by one rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

import svmgsu

from .forest import ProbabilisticForest
from .tasks import Array, Samples, Task

VALUES, UNCERTAINTIES = "values", "values + uncertainties"
AUGMENTED, BOTH, POSTERIOR = "noise-augmented", "noise-augmented + uncertainties", "posterior samples"
AT_VALUES, AVERAGED = "at the values", "averaged over samples"
TEST_SAMPLES = 10  # of a new sample, over which predictions are averaged
WIDE = 100  # features beyond which the slowest rivals stay out
MOST_OF_GP = 1000
SMALLEST = 1e-3  # standard errors below, in units of the spread, are not told apart
TREES, TREES_WHILE_TUNING = 100, 40


# This library, with default settings


@dataclass(frozen=True)
class Ours:
    """`make(task)` makes an estimator that is fitted to samples with their uncertainties."""

    name: str
    make: Callable[[Task], Any]
    family: str = "ours"
    linear: bool = False

    def suits(self, task: Task) -> bool:
        return True

    def fit_predict(self, task: Task) -> Array:
        """Predict the new samples."""
        train, test = task.train, task.test
        more = {} if task.groups is None or self.linear else {"groups": task.groups}
        if self.linear:
            train, test = _filled(train, train), _filled(test, train)
            if task.pool is not None:
                train = Samples(train.values, train.cov + task.pool.mean(axis=0))
        fitted = self.make(task).fit(y=task.y, **train.for_fit(), **more)
        return np.asarray(answers(fitted)(**test.for_fit()))


def _filled(samples: Samples, known: Samples) -> Samples:
    """Replace a missing value by its feature's mean, with the feature's variance."""
    if not samples.missing:
        return samples
    gaps = np.isnan(samples.values)
    centre = np.broadcast_to(np.nanmean(known.values, axis=0), gaps.shape)
    variance = np.broadcast_to(np.nanvar(known.values, axis=0), gaps.shape)
    return Samples(np.where(gaps, centre, samples.values), np.where(gaps, variance, samples.cov))


def _pool(task: Task) -> Any:
    options: dict[str, Any] = {"threads": 1}
    if task.pool is not None:
        options["test_noise"] = svmgsu.Diagonal(task.pool) if task.pool.ndim == 2 else svmgsu.Full(task.pool)
    if task.spread:
        options["noise"] = "spread"
    return (svmgsu.GSURegressor if task.regression else svmgsu.GSUClassifier)(**options)


def _linear(task: Task) -> Any:
    if task.regression:
        return svmgsu.LinearSVRGSU(lam="auto", threads=1)
    return svmgsu.LinearSVMGSU(lam="auto", threads=1)


DEFAULT, LINEAR = "GSUClassifier / GSURegressor, default settings", "LinearSVMGSU, lam='auto'"
OURS = (Ours(DEFAULT, _pool), Ours(LINEAR, _linear, linear=True))


# Rivals


def answers(fitted: Any) -> Callable[..., Any]:
    """Return class probabilities, or numbers."""
    return fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.predict


class Sigmoid:
    """A machine without probabilities, and a logistic regression on its scores of a held-out third."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine

    def fit(self, X: Array, y: Array, owner: Array) -> Sigmoid:
        # A third of each class, with all copies of a sample on one side.
        held_out = np.zeros(len(y), dtype=bool)
        for k in np.unique(y):
            mine = y == k
            held_out[mine] = np.isin(owner[mine], np.unique(owner[mine])[::3])
        self.machine.fit(X[~held_out], y[~held_out])
        self.link = LogisticRegression(C=1e3, max_iter=1000).fit(self._scores(X[held_out]), y[held_out])
        return self

    def _scores(self, X: Array) -> Array:
        scores = self.machine.decision_function(X)
        return scores[:, None] if scores.ndim == 1 else scores

    def predict_proba(self, X: Array) -> Array:
        return self.link.predict_proba(self._scores(X))


class QDA:
    """A Gaussian for each class, its covariance mixed with the identity: it fits few samples, too."""

    def __init__(self, shrink: float) -> None:
        self.shrink = shrink

    def fit(self, X: Array, y: Array) -> QDA:
        self.parts = []
        for k in np.unique(y):
            own = X[y == k]
            cov = (1 - self.shrink) * np.cov(own.T, bias=True) + (self.shrink + 1e-6) * np.eye(X.shape[1])
            self.parts.append((own.mean(axis=0), np.linalg.inv(cov), np.linalg.slogdet(cov)[1], len(own)))
        return self

    def predict_proba(self, X: Array) -> Array:
        logs = []
        for mean, inverse, logdet, count in self.parts:
            apart = X - mean
            logs.append(np.log(count) - 0.5 * (logdet + ((apart @ inverse) * apart).sum(axis=1)))
        p = np.exp(np.array(logs) - np.max(logs, axis=0)).T
        return p / p.sum(axis=1, keepdims=True)


class Features:
    """What a rival sees of samples: values in units of their spread, missing ones filled and marked."""

    def __init__(self, view: str) -> None:
        self.with_errors = view in (UNCERTAINTIES, BOTH)

    def _raw(self, samples: Samples) -> Array:
        if not self.with_errors:
            return samples.values
        return np.hstack([samples.values, np.log(np.maximum(samples.deviations, SMALLEST))])

    def fit(self, samples: Samples) -> Features:
        raw = self._raw(samples)
        self.centre = np.nanmedian(raw, axis=0)
        scale = np.nanstd(raw, axis=0)
        self.scale = np.where(scale > 1e-9, scale, 1.0)
        self.gaps = np.isnan(raw).any(axis=0)
        return self

    def __call__(self, samples: Samples) -> Array:
        raw = self._raw(samples)
        missing = np.isnan(raw)
        filled = (np.where(missing, self.centre, raw) - self.centre) / self.scale
        return np.hstack([filled, missing[:, self.gaps].astype(float)])


@dataclass(frozen=True)
class Rival:
    """`make(setting, task, seed, final)` makes an estimator; `view` is what it sees of a sample."""

    family: str
    make: Callable[[Any, Task, int, bool], Any]
    settings: tuple[Any, ...]
    view: str
    count: int = 1  # copies of a training sample
    most: int = 100_000  # training samples

    @property
    def name(self) -> str:
        return f"{self.family}, {self.view}"

    @property
    def modes(self) -> tuple[str, ...]:
        """Ways to predict, of which held-out samples choose one."""
        if self.view == POSTERIOR:
            return (AVERAGED,)
        return (AT_VALUES, AVERAGED) if self.count > 1 else (AT_VALUES,)

    def suits(self, task: Task) -> bool:
        """Uncertainties that new samples lack are no features, and have no posterior."""
        wide = task.train.values.shape[1] > WIDE
        if len(task.y) > self.most or (wide and self.family in ("QDA", "Gaussian process")):
            return False
        if self.family == "Gaussian process" and task.classes > 2:
            return False
        if self.family in ("LDA", "QDA", "linear SVM") and task.regression:
            return False
        if task.train.missing:
            return self.view in (VALUES, UNCERTAINTIES)
        return self.view in (VALUES, AUGMENTED) if task.spread else True

    def fit(self, task: Task, rows: Array, setting: Any, seed: int, final: bool) -> Any:
        rng = np.random.default_rng([seed, self.count, int(final)])
        y = np.tile(task.y[rows], self.count)
        population = None
        if self.view == POSTERIOR:
            population = deconvolved(task, rows, seed)
            once = task.train[rows] if task.pool is None else task.copies(rows, 1, rng)
            samples = Samples(drawn(population, once, self.count, rng))
        elif self.count > 1:
            samples = task.copies(rows, self.count, rng)
        else:
            samples = Samples(task.values(rows), task.train[rows].cov)
        features = Features(self.view).fit(samples)
        made = self.make(setting, task, seed, final)
        owner = (np.tile(np.arange(len(rows)), self.count),) if isinstance(made, Sigmoid) else ()
        return features, made.fit(features(samples), y, *owner), population

    def predict(self, fitted: Any, samples: Samples, mode: str, seed: int) -> Array:
        features, made, population = fitted
        ask = answers(made)
        if mode == AT_VALUES or (samples.cov is None and population is None):
            return np.asarray(ask(features(samples)))
        rng = np.random.default_rng([seed, 9])
        if population is not None:
            each = drawn(population, samples, TEST_SAMPLES, rng)
        else:
            each = np.concatenate([samples.values + samples.noise(rng) for _ in range(TEST_SAMPLES)])
        cov = None if samples.cov is None else samples.cov[np.tile(np.arange(len(samples)), TEST_SAMPLES)]
        found = np.asarray(ask(features(Samples(each, cov))))
        return found.reshape(TEST_SAMPLES, len(samples), *found.shape[1:]).mean(axis=0)


def deconvolved(task: Task, rows: Array, seed: int) -> svmgsu.Deconvolution:
    """Fit the distribution of true values, without labels; the same for all that use it."""
    key = (len(rows), int(rows[0]), int(rows[-1]), seed)
    kept = task.__dict__.setdefault("_populations", {})
    if key not in kept:
        components = min(10, max(1, len(rows) // (10 * task.train.values.shape[1])))
        made = svmgsu.Deconvolution(components, random_state=seed, threads=1)
        kept[key] = made.fit(**task.train[rows].for_fit())
    return kept[key]


def drawn(population: Any, samples: Samples, count: int, rng: np.random.Generator) -> Array:
    """Draw (count × l, n) samples of the posterior of the true values."""
    found = population.transform(**samples.for_fit()).sample(count, rng)
    return np.concatenate(list(np.moveaxis(found, 1, 0)))


class ClasswiseXD:
    """Deconvolve each class, and apply Bayes' rule at a new sample's own uncertainty, as XDQSO does.

    For numbers, deconvolve samples and targets together; the conditional mean is the prediction.
    """

    family, name, view, modes = "class-wise XD", "class-wise XD", "native", (AT_VALUES,)
    settings = ((1, 0.03), (3, 1e-3), (6, 1e-3), (3, 0.03), (6, 0.03), (10, 0.03))  # components, ridge

    def suits(self, task: Task) -> bool:
        # With missing values there are classes that lack a feature altogether.
        return task.train.values.shape[1] <= WIDE and not (task.spread or task.train.missing)

    def fit(self, task: Task, rows: Array, setting: Any, seed: int, final: bool) -> Any:
        samples, y = task.train[rows], task.y[rows]
        components, ridge = setting

        def make(count: int) -> Any:
            most = max(1, count // (2 * samples.values.shape[1]))
            return svmgsu.Deconvolution(
                min(components, most), init=2, reg_covar=ridge, random_state=seed, threads=1
            )

        if task.regression:
            joint = np.column_stack([samples.values, y])
            cov = np.zeros((len(y), joint.shape[1], joint.shape[1]))
            cov[:, :-1, :-1] = samples.cov if samples.cov.ndim == 3 else [np.diag(v) for v in samples.cov]
            return make(len(y)).fit(**Samples(joint, cov).for_fit())
        classes = range(task.classes)
        mixtures = [make((y == k).sum()).fit(**samples[np.flatnonzero(y == k)].for_fit()) for k in classes]
        return mixtures, np.log([(y == k).mean() for k in classes])

    def predict(self, fitted: Any, samples: Samples, mode: str, seed: int) -> Array:
        if not isinstance(fitted, tuple):
            return _conditional_mean(fitted, samples)
        mixtures, priors = fitted
        given = samples.for_fit()
        logs = np.column_stack([m.score_samples(**given) for m in mixtures]) + priors
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


def _conditional_mean(joint: Any, samples: Samples) -> Array:
    n = samples.values.shape[1]
    cov = samples.cov if samples.cov.ndim == 3 else np.stack([np.diag(v) for v in samples.cov])
    logs = []
    means = []
    for weight, mean, S in zip(joint.weights_, joint.means_, joint.covariances_, strict=True):
        T = S[:n, :n] + cov
        apart = samples.values - mean[:n]
        solved = np.linalg.solve(T, apart[:, :, None])[:, :, 0]
        logs.append(np.log(weight) - 0.5 * (np.linalg.slogdet(T)[1] + (apart * solved).sum(axis=1)))
        means.append(mean[n] + solved @ S[:n, n])
    r = np.exp(np.array(logs) - np.max(logs, axis=0))
    return np.asarray((r * np.array(means)).sum(axis=0) / r.sum(axis=0))


class Probabilistic:
    """The probabilistic random forest: samples go down both branches of a node."""

    family, name, view, modes = "probabilistic forest", "probabilistic forest", "native", (AT_VALUES,)
    settings = ((2, 12), (5, 12), (15, 12), (5, 6))  # least weight of a leaf, depth

    def suits(self, task: Task) -> bool:
        return not (task.regression or task.spread or task.train.missing or len(task.y) > MOST_OF_GP)

    def fit(self, task: Task, rows: Array, setting: Any, seed: int, final: bool) -> ProbabilisticForest:
        leaf, depth = setting
        forest = ProbabilisticForest(40 if final else 8, leaf, depth, seed)
        return forest.fit(task.train.values[rows], task.train[rows].deviations, task.y[rows])

    def predict(self, fitted: ProbabilisticForest, samples: Samples, mode: str, seed: int) -> Array:
        return fitted.predict_proba(samples.values, samples.deviations)


def _logistic(C: float, task: Task, seed: int, final: bool) -> Any:
    return Ridge(alpha=1 / C) if task.regression else LogisticRegression(C=C, max_iter=2000)


def _linear_svm(C: float, task: Task, seed: int, final: bool) -> Any:
    return Sigmoid(LinearSVC(C=C, max_iter=20_000))


def _rbf(setting: Any, task: Task, seed: int, final: bool) -> Any:
    C, factor = setting
    gamma = factor / task.train.values.shape[1]
    return SVR(C=C, gamma=gamma) if task.regression else Sigmoid(SVC(C=C, gamma=gamma, cache_size=300))


def _forest(setting: Any, task: Task, seed: int, final: bool) -> Any:
    leaf, share = setting
    kind = RandomForestRegressor if task.regression else RandomForestClassifier
    trees = TREES if final else TREES_WHILE_TUNING
    return kind(trees, min_samples_leaf=leaf, max_features=share, random_state=seed)


def _boosting(setting: Any, task: Task, seed: int, final: bool) -> Any:
    leaves, rate, rounds = setting
    kind = HistGradientBoostingRegressor if task.regression else HistGradientBoostingClassifier
    return kind(
        max_leaf_nodes=leaves, learning_rate=rate, max_iter=rounds, early_stopping=False, random_state=seed
    )


def _lda(shrink: float, task: Task, seed: int, final: bool) -> Any:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrink)


def _qda(shrink: float, task: Task, seed: int, final: bool) -> Any:
    return QDA(shrink)


def _gaussian_process(setting: Any, task: Task, seed: int, final: bool) -> Any:
    kernel = ConstantKernel(4.0, (1e-2, 1e4)) * RBF(np.sqrt(task.train.values.shape[1]), (0.1, 100))
    if task.regression:
        return GaussianProcessRegressor(kernel + WhiteKernel(0.1), normalize_y=True, random_state=seed)
    return GaussianProcessClassifier(kernel, random_state=seed)


COSTS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
KERNELS = ((1.0, 0.3), (10.0, 0.3), (100.0, 0.1), (1.0, 1.0), (10.0, 1.0), (1.0, 3.0))
LEAVES = ((1, "sqrt"), (2, "sqrt"), (5, "sqrt"), (1, 0.5), (3, 0.5), (10, 0.5))
ROUNDS = ((4, 0.05, 60), (4, 0.1, 60), (4, 0.1, 150), (8, 0.1, 60), (16, 0.05, 60), (8, 0.05, 150))
SHRINKS = (0.0, 1e-3, 1e-2, 0.1, 0.3, 0.9)

RIVALS: tuple[Any, ...] = (
    Rival("linear SVM", _linear_svm, COSTS, VALUES),
    *(
        Rival("logistic regression / ridge", _logistic, COSTS, view, count)
        for view, count in ((VALUES, 1), (UNCERTAINTIES, 1), (AUGMENTED, 10), (POSTERIOR, 10))
    ),
    *(
        Rival("RBF-SVC / SVR", _rbf, KERNELS, view, count)
        for view, count in ((VALUES, 1), (UNCERTAINTIES, 1), (AUGMENTED, 3), (POSTERIOR, 3))
    ),
    *(
        Rival("forest", _forest, LEAVES, view, count)
        for view, count in ((VALUES, 1), (UNCERTAINTIES, 1), (AUGMENTED, 5), (POSTERIOR, 5))
    ),
    *(
        Rival("boosting", _boosting, ROUNDS, view, count)
        for view, count in ((VALUES, 1), (UNCERTAINTIES, 1), (AUGMENTED, 10), (BOTH, 10), (POSTERIOR, 10))
    ),
    Rival("LDA", _lda, SHRINKS, VALUES),
    *(Rival("QDA", _qda, SHRINKS, view, count) for view, count in ((VALUES, 1), (AUGMENTED, 10))),
    ClasswiseXD(),
    Probabilistic(),
    *(
        Rival("Gaussian process", _gaussian_process, (None,), view, 1, MOST_OF_GP)
        for view in (VALUES, UNCERTAINTIES)
    ),
)

# The stack takes the same members in every row, as far as they take part there.
STACK = "stack of rivals"
STACKED = (
    "logistic regression / ridge, values + uncertainties",
    "RBF-SVC / SVR, values",
    "RBF-SVC / SVR, values + uncertainties",
    "RBF-SVC / SVR, noise-augmented",
    "forest, values + uncertainties",
    "boosting, values",
    "boosting, values + uncertainties",
    "boosting, noise-augmented",
    "boosting, posterior samples",
    "QDA, noise-augmented",
    "class-wise XD",
)
PUBLISHED = "published by the catalogue's authors"
