"""Which model? Several are tried on the same held-out objects, and the simplest of the best is named."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..fit.support import PopulationWarning
from ..support.validation import Array, FloatArray, check_count, check_labels
from ._support import need

OBJECTS = 2000  # that models are tried with, at the most
DRAWS = 5  # of each object, for trees
LEAST = 1e-6  # a probability


@dataclass(frozen=True, repr=False)
class Recommendation:
    """What `recommend` measured.

    Attributes
    ----------
    losses : dict of str to (float, float)
        The log-loss of held-out objects and its standard error, by model, the simplest first.
    behind : dict of str to (float, float)
        By how much that is above the best model's, with the standard error of the paired difference.
    best : str
        The model of the lowest loss.
    model : str
        The simplest one that is not worse than the best by more than a standard error.
    objects, folds : int
        How many objects were held out, once each, and in how many parts.
    """

    losses: dict[str, tuple[float, float]]
    behind: dict[str, tuple[float, float]]
    best: str
    model: str
    objects: int
    folds: int

    def estimator(self, **options: Any) -> Any:
        """The recommended model as an estimator to `fit`, of its settings those in `options` changed.

        Trees are scikit-learn's, and are to be fitted to draws, `data.sample(k)`.
        """
        return _estimators()[self.model](options)

    def __repr__(self) -> str:
        width = max(map(len, self.losses)) + 2
        lines = [f"{'held-out log-loss':<{width}}        behind the best"]
        for name, (mean, error) in self.losses.items():
            gap, doubt = self.behind[name]
            behind = "" if name == self.best else f"  +{gap:.4f} ± {doubt:.4f}"
            lines.append(f"{name:<{width}}{mean:.4f} ± {error:.4f}{behind}")
        why = "the best" if self.model == self.best else "the simplest within a standard error of the best"
        lines.append(f"take: {self.model} ({why}, {self.objects} objects in {self.folds} folds)")
        return "\n".join(lines)


def recommend(
    data: Gaussians,
    y: Any,
    *,
    deployment_cov: Any = None,
    groups: Any = None,
    models: Any = None,
    cv: int = 3,
    random_state: int = 0,
) -> Recommendation:
    """Tries a line, a quadratic, an RBF with and without a population as prior, and trees on draws.

    All see the same folds, and are judged by the log-loss of the same held-out objects, as they were
    measured; with `deployment_cov` these get noise of deployment first, for which the models are told to
    prepare. Nothing is said of noise that is neither in the data nor stated.

    Parameters
    ----------
    data : Gaussians
        Objects with their noise of measurement.
    y : array of shape (l,)
        Labels.
    deployment_cov : array or covariance kind, optional
        Noise that exists only where the model will be used, as in `svmgsu.SVMGSU`.
    groups : array of shape (l,), optional
        Objects of one group are never on both sides of a fold.
    models : list of str, optional
        Some of "linear", "quadratic", "rbf", "rbf with prior", "trees on draws"; all by default.
    cv : int, default=3
        Folds.
    random_state : int, default=0
        Of the folds, of draws, and of the 2,000 objects that are taken of more.

    Returns
    -------
    Recommendation

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from svmgsu.uncertainty import recommend
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> data = svmgsu.Gaussians(X + 0.2 * rng.normal(size=X.shape), std=0.2)
    >>> found = recommend(data, X[:, 0] > 0, models=["linear", "quadratic"])
    >>> found.model
    'linear'
    """
    if not isinstance(data, Gaussians):
        raise TypeError(f"data: expected Gaussians, got {type(data).__name__}")
    need("sklearn", "recommend")
    check_labels(y, len(data))
    known = list(_estimators())
    names = known if models is None else list(models)
    for name in names:
        if name not in known:
            raise ValueError(f"models: expected some of {', '.join(map(repr, known))}, got {name!r}")
    folds = check_count(cv, "cv", least=2)
    labels, rng = np.asarray(y), np.random.default_rng(random_state)
    if len(data) > OBJECTS:
        rows = np.sort(rng.permutation(len(data))[:OBJECTS])
        data, labels = data[rows], labels[rows]
        groups = None if groups is None else np.asarray(groups)[rows]
    each = _losses(data, labels, names, deployment_cov, _splits(labels, groups, folds, random_state), rng)
    return _judged({name: each[name] for name in known if name in names}, folds)


def simplest(behind: Mapping[str, tuple[float, float]]) -> str:
    """Of models, the simplest first, the first that is behind the best by a standard error at the most.

    `behind` has the difference to the best one, which is its own, with its standard error.
    """
    return next(name for name, (gap, doubt) in behind.items() if gap <= doubt)


def _judged(each: dict[str, FloatArray], folds: int) -> Recommendation:
    """From the losses of all objects, the simplest model first."""
    count = len(next(iter(each.values())))

    def of(values: FloatArray) -> tuple[float, float]:
        return float(values.mean()), float(values.std(ddof=1) / np.sqrt(count))

    best = min(each, key=lambda name: float(each[name].mean()))
    behind = {name: of(losses - each[best]) for name, losses in each.items()}
    model = simplest(behind)
    losses = {name: of(values) for name, values in each.items()}
    return Recommendation(losses, behind, best, model, count, folds)


def _splits(labels: Array, groups: Any, folds: int, seed: int) -> list[tuple[Array, Array]]:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    kind: Any = StratifiedKFold if groups is None else StratifiedGroupKFold
    smallest = int(np.unique(labels, return_counts=True)[1].min())
    if smallest < folds:
        raise ValueError(f"y: a class has {smallest} examples; {folds} folds need as many of each")
    splitter = kind(folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(labels)), labels, groups))


def _losses(
    data: Gaussians,
    labels: Array,
    names: list[str],
    noise: Any,
    splits: list[tuple[Array, Array]],
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    """-log p of the right class of every object, held out, by model."""
    from ..data.coercion import as_deployment

    out = {name: np.empty(len(data)) for name in names}
    for fold, (known, new) in enumerate(splits):
        objects = data[new]
        if noise is not None:
            kind = as_deployment(noise, objects.shape, fold)
            mean = objects.mean + kind.noise(rng, (len(objects), 1, objects.shape[1]))[:, 0]
            objects = Gaussians(mean, kind if objects.cov is None else objects.cov + kind)
        for name in names:
            p, classes = _chances(name, data[known], labels[known], objects, noise, fold)
            own = p[np.arange(len(new)), np.searchsorted(classes, labels[new])]
            out[name][new] = -np.log(np.maximum(own, LEAST))
    return out


def _chances(
    name: str, known: Gaussians, y: Array, new: Gaussians, noise: Any, seed: int
) -> tuple[FloatArray, Array]:
    """Probabilities of new objects, and the classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        if name == "trees on draws":
            trees = _estimators()[name]({"random_state": seed})
            X, labels = _drawn(known, y, noise, seed)
            return np.asarray(trees.fit(X, labels).predict_proba(new.mean)), trees.classes_
        model = _estimators()[name]({} if noise is None else {"deployment_cov": noise})
        if name == "rbf":  # without a prior it knows of no noise but that of deployment
            known, new = Gaussians(known.mean), Gaussians(new.mean)
        return np.asarray(model.fit(known, y).predict_proba(new)), model.classes_


def _drawn(data: Gaussians, y: Array, noise: Any, seed: int) -> tuple[FloatArray, Array]:
    """Draws with the noise of deployment, or with the objects' own."""
    from ..data.coercion import as_deployment

    blurred = data if noise is None else Gaussians(data.mean, as_deployment(noise, data.shape, seed))
    if blurred.cov is None:
        return np.asarray(data.mean), y
    drawn = blurred.sample(DRAWS, random_state=seed)
    return np.moveaxis(drawn, 1, 0).reshape(-1, data.shape[1]), np.tile(y, DRAWS)


def _estimators() -> dict[str, Callable[[dict[str, Any]], Any]]:
    """The models by name, the simplest first."""
    from ..estimators.nonlinear.classifier import SVMGSU

    def curved(**settings: Any) -> Callable[[dict[str, Any]], Any]:
        return lambda options: SVMGSU(**{**settings, **options})

    def trees(options: dict[str, Any]) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(**{"max_leaf_nodes": 15, "early_stopping": False, **options})

    plain = {"metric": False, "bars_as_features": False}
    return {
        "linear": curved(kernel="linear", **plain),
        "quadratic": curved(kernel="quadratic", **plain),
        "rbf": curved(population=None, **plain),
        "rbf with prior": curved(**plain),
        "trees on draws": trees,
    }
