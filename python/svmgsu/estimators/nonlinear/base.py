"""What `SVMGSU` and `SVRGSU` share: reading, units, population, search, features of new objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from ..._repr import ShowsFit
from ...data.gaussians import Gaussians, with_gaps
from ...data.mixtures import Mixtures
from ...features import points_of
from ...fit.population import check_spread, observe
from ...io.frames import table_for_predict
from ...models.rule import depends_on_class, new_objects
from ...propagate.features import FeatureMap
from ...support.memory import require_memory
from ...support.parallel import Team
from ...support.validation import Array, FloatArray, check_count, check_positive, is_sparse, place
from ..inputs import ROUTED, check_deployment_units, keep_names, may_lack_names, same_units
from .beyond import Elsewhere, Targets, scores_elsewhere
from .lift import Bars, Lift, as_deployed, compact, deviations, learn_population
from .making import MapMaker, check_map
from .search import Choice, Folds, Search
from .sides import Side, answering, without_bars
from .solving import Scores, exact_sums

Splits = list[tuple[Array, Array]]
SEARCH_ROWS = 20_000  # objects and their copies that settings are chosen with, at the most
SEARCH_COPIES = 2  # of an object that settings are chosen with, at the most
WIDE = 100  # features: a population's covariances take their cube of work for each object
MOST_ROWS = 2_000_000  # of copies and objects, so that features of all fit into memory


class NonlinearEstimator(ShowsFit, BaseEstimator):  # type: ignore[misc]
    """Objects → population → map → a convex stage, with a search over the choices in between."""

    __metadata_request__fit = ROUTED
    __metadata_request__predict = ROUTED
    __metadata_request__score = ROUTED

    _scales: tuple[float, ...] = (1.0,)
    _factors: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)  # of 1/n: the γ that are tried
    _metric_factors: tuple[float, ...] = (0.3, 1.0)  # with a metric, besides the best
    lift_: Lift
    map_: FeatureMap
    scores_: Scores
    without_bars_: Side | None
    _elsewhere: Elsewhere | None = None  # all objects, while those of a fit are not in memory
    _of_all: Any = None  # what is known of them

    def _read(self, X: Any, cov: Any, std: Any, groups: Any = None) -> Gaussians:
        """Training data, checked, and their names; `groups` are as many."""
        if is_sparse(X):
            raise TypeError(f"X: {type(self).__name__} takes no sparse data; pass X.toarray()")
        cov, std = same_units(self, X, cov, std)
        check_deployment_units(self, X, self.deployment_cov)
        if isinstance(X, Gaussians):
            keep_names(self, X, reset=True)
        else:
            self.__dict__.pop("names_of_gaussians_", None)
            _check_feature_names(self, X, reset=True)
        data = self._with_gaps(X, cov, std)
        if missing(data):
            check_spread(observe(data))
        groups_of(groups, len(data))
        self.n_features_in_ = data.shape[1]
        return data

    def _objects(self, X: Any, cov: Any, std: Any) -> Gaussians:
        """New objects, checked, with their features in the order of the fit."""
        check_is_fitted(self, "scores_")
        if getattr(self, "names_of_gaussians_", False):
            X = table_for_predict(X, self.feature_names_in_, cov, std, gaps=True)
        if is_sparse(X):
            raise TypeError(f"X: {type(self).__name__} takes no sparse data; pass X.toarray()")
        cov, std = same_units(self, X, cov, std)
        if isinstance(X, Gaussians):
            X = keep_names(self, X, reset=False)
        elif not may_lack_names(self, X):
            _check_feature_names(self, X, reset=False)
        data = self._with_gaps(X, cov, std)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if self.lift_.population is None:
            refuse_missing(data, "the model, which was trained without noise, has none")
        return data

    def _with_gaps(self, X: Any, cov: Any, std: Any) -> Gaussians:
        """X with its covariance; NaN, or infinite noise, is a missing value."""
        if isinstance(X, Gaussians):
            data = new_objects(X, cov, std)
        else:
            seen = observe(X, cov, std)
            data = with_gaps(seen.values, seen.cov, seen.names)
        if depends_on_class(data.cov):
            raise ValueError("cov: one covariance per class cannot be known of objects without a class")
        if is_sparse(data.mean):
            raise TypeError(f"X: {type(self).__name__} takes no sparse data; pass X.toarray()")
        return data

    def _check_settings(self, count: int) -> None:
        check_map(self.kernel, self.approximation, check_count(self.n_features, "n_features", least=2), count)
        if self.population not in ("auto", None, "gaussian", "mixture"):
            raise ValueError(
                f'population: expected "auto", "mixture", "gaussian" or None, got {self.population!r}'
            )
        for name in ("gamma", "lam"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "auto":
                raise ValueError(f'{name}: expected "auto" or a number > 0, got {value!r}')
            if not isinstance(value, str):
                check_positive(value, name)
        for name in ("metric", "bars_as_features"):
            if getattr(self, name) not in ("auto", True, False):
                raise ValueError(f'{name}: expected "auto", True or False, got {getattr(self, name)!r}')
        check_count(self.copies, "copies")

    def _prepare(self, data: Gaussians, weights: FloatArray, seed: int) -> tuple[Gaussians, int]:
        """Sets `lift_`; the training objects as they will be seen in deployment, and how many copies."""
        noise = self.deployment_cov
        if noise is None and data.deployment is not None:
            noise = data.deployment
        lift = Lift.of(data, weights)
        lift.announced = noise is not None
        uncertain = data.cov is not None or noise is not None or missing(data)
        wanted = self.population
        if wanted == "auto":  # where nothing is missing, wide objects have draws instead
            wanted = "mixture" if uncertain and (data.shape[1] <= WIDE or missing(data)) else None
        if wanted is None:
            refuse_missing(data, "population=None")
            if self.bars_as_features is True and uncertain:
                raise ValueError(
                    "bars_as_features: without a population the objects are draws, which have no error bars; "
                    'fit with population="mixture" or "gaussian", or with bars_as_features=False'
                )
        standard = lift.standard(data)
        if wanted is not None:
            check_spread(observe(data))
            components = 1 if wanted == "gaussian" else _components(self.n_components, data.shape)
            lift.population = learn_population(standard, weights, components, seed, self.threads)
        self.lift_ = lift
        copies = max(1, min(int(self.copies), MOST_ROWS // len(data)))
        seen = as_deployed(data, noise, copies, seed, drawn=wanted is None)
        return seen, len(seen) // len(data)

    def _choose(
        self, data: Gaussians, copies: int, stage_of: Any, splits: Splits, weights: FloatArray, seed: int
    ) -> Any:
        """Searches, and sets `map_` and the error bars of `lift_`: (choice, search, its objects)."""
        count, searched = len(data) // copies, min(copies, SEARCH_COPIES)
        most = SEARCH_ROWS // searched
        chosen = np.arange(count)
        if count > most:
            chosen = np.sort(np.random.default_rng([seed, 2]).permutation(count)[:most])
        rows = np.concatenate([chosen + copy * count for copy in range(searched)])
        standard = self.lift_.standard(data if len(rows) == len(data) else data[rows])
        objects = compact(self.lift_.posterior(standard))
        n = data.shape[1]
        maker = MapMaker(self.kernel, self.approximation, int(self.n_features), self._scales, seed)
        own = deviations(standard)
        bars = Bars.of(own) if self.bars_as_features in ("auto", True) and standard.cov is not None else None
        if self.approximation != "fourier":
            known = points_of(objects)[: len(chosen)]
            extra = [] if bars is None else [bars.values(own)[: len(chosen)]]
            maker.points = np.hstack([known, *extra])
        place = np.full(count, -1)
        place[chosen] = np.arange(len(chosen))
        inner = [(place[known][place[known] >= 0], place[out][place[out] >= 0]) for known, out in splits]
        search = Search(
            stage_of(chosen, searched),
            maker,
            Folds(weights[chosen], searched, inner),
            [float(self.lam)] if self.lam != "auto" else self._lams(),
            Team(self.threads).threads,
        )
        choice, plain = self._steps(search, objects, bars, own, n), objects
        if choice.bars:
            assert bars is not None
            self.lift_.bars = bars
            objects = _with_bars(objects, bars, own)
        metric = None
        if choice.metric:
            metric = search.learn_metric(objects, choice.gamma, choice.first_lam or choice.lam, None)
        self.metric_ = metric
        self.map_ = maker.make(objects.shape[1], choice.gamma, metric)
        inputs = objects.shape[1]
        side = without_bars(self.lift_, choice, search, plain, inputs) if choice.bars else None
        self.without_bars_ = side
        choice.tried = search.tried
        return choice, search, objects

    def _steps(self, search: Search, objects: Any, bars: Bars | None, own: FloatArray, n: int) -> Choice:
        """γ and λ, then error bars as features, then a metric: each where it is worth it."""
        with_gamma = search.maker.has_gamma
        if not self.search:
            lam = float(self.lam) if self.lam != "auto" else self._default_lam
            gamma = float(self.gamma) if self.gamma != "auto" else 0.3 / n
            return Choice(
                gamma,
                lam,
                self.metric is True and with_gamma,
                bars is not None and self.bars_as_features is True,
            )
        if self.gamma != "auto":
            gammas = [float(self.gamma)]
        else:
            gammas = [factor / n for factor in self._factors] if with_gamma else [1.0]
        use_bars = bars is not None and self.bars_as_features is True
        if use_bars:
            objects = _with_bars(objects, bars, own)
        choice = search.plain(objects, gammas, bars=use_bars)
        if bars is not None and self.bars_as_features == "auto":
            extended = _with_bars(objects, bars, own)
            share = choice.gamma * objects.shape[1] / extended.shape[1]
            richer = search.plain(
                extended, [0.1 * share, 0.3 * share, share] if self.gamma == "auto" else gammas, bars=True
            )
            if search.folds.is_better(richer.losses, choice.losses):
                choice, objects = replace(richer, without_bars=choice), extended
        if with_gamma and objects.shape[1] > 1 and self.metric is not False:
            more = (
                [factor / objects.shape[1] for factor in self._metric_factors] if self.gamma == "auto" else []
            )
            tried = [gamma for gamma in more if not np.isclose(gamma, choice.gamma)]
            richer = search.with_metric(objects, [choice.gamma, *tried], bars=choice.bars)
            if self.metric is True or search.folds.is_better(richer.losses, choice.losses):
                choice = replace(richer, without_bars=choice.without_bars)
        return choice

    def _splits(self, inner: Any, count: int, y: Any, groups: Any) -> Splits:
        """The objects trained on and held out: by `inner` where `cv` is a number, else by `cv` itself."""
        if isinstance(self.cv, (int, np.integer)) and not isinstance(self.cv, bool):
            splits = inner.split(np.zeros(count), y, groups)
        else:
            splits = self.cv.split(np.zeros(count), y, groups) if hasattr(self.cv, "split") else self.cv
        found = [(np.asarray(known), np.asarray(out)) for known, out in splits]
        held = np.concatenate([out for _, out in found])
        if len(np.unique(held)) != len(held):
            raise ValueError("cv: an example is held out more than once; each fold must hold out others")
        return found

    def _n_folds(self, count: int, groups: Any) -> int:
        if not isinstance(self.cv, (int, np.integer)) or isinstance(self.cv, bool):
            return 2
        if self.cv < 2:
            raise ValueError(f"cv: at least two folds are needed, got {self.cv!r}")
        if count < 2:
            raise ValueError(f"X: a search needs at least 2 examples, got n_samples={count}")
        if groups is None:
            return min(int(self.cv), count)
        different = len(np.unique(np.asarray(groups)))
        if different < 2:
            raise ValueError("groups: all examples are of one group; a search needs two, or groups=None")
        return min(int(self.cv), different)

    def _counted(self, weights: FloatArray) -> Array | None:
        """The examples that count, where some have no weight; folds that are given number all of them."""
        own_folds = isinstance(self.cv, (int, np.integer)) and not isinstance(self.cv, bool)
        return np.flatnonzero(weights > 0) if own_folds and not weights.all() else None

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state) % 2**31
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError as error:
            raise ValueError(f"random_state: expected None, an int or a RandomState ({error})") from None

    def _features(self, data: Gaussians) -> Array:
        """E z of objects, in batches; refused where even those do not fit."""
        numbers = len(data) * self.map_.outputs
        require_memory(
            (4.0 if numbers > 2**25 else 8.0) * numbers,
            f"X: {self.map_.outputs} features of {len(data)} examples",
        )
        return self.lift_.features(data, self.map_, Team(self.threads).threads)

    def _is_exact(self, data: Gaussians, loss: str) -> bool:
        """Whether second moments say all: of a squared loss, and examples whose spread is their own."""
        own = self.lift_.population is None and data.cov is not None and self.deployment_cov is None
        return loss == "squared" and own

    def _targets_of_all(self) -> tuple[Targets, FloatArray]:
        """Those of objects that are not in memory, and their weights."""
        raise NotImplementedError

    def _convex(self, data: Gaussians, seen: Gaussians, stage: Any, lam: float) -> Array | None:
        """The convex stage on all objects sets `scores_`; the features, where there are some."""
        if self._elsewhere is not None:
            self.scores_ = scores_elsewhere(self, data, len(seen) // len(data), stage, lam)
            several = stage.loss != "squared" and getattr(stage, "classes", 1) > 2
            return self._features(seen) if several else None
        if self._is_exact(data, stage.loss):
            t, c = stage.targets[:, : len(data)], stage.weights[: len(data)]
            self.scores_ = exact_sums(
                self.map_, self.lift_.standard(data), t, c, Team(self.threads).threads
            ).ridge(lam)
            return None
        Z = self._features(seen)
        (self.scores_,) = stage.path(Z, None, [lam], self.tol)
        return Z

    def _moments(self, data: Gaussians) -> tuple[FloatArray, FloatArray]:
        """E f + b and the standard deviation of f of objects, (l, scores) each."""
        mean = np.empty((len(data), len(self.scores_.b)))
        variance = np.empty_like(mean)
        for rows, objects, feature_map, scores in answering(self, data):
            found = feature_map.scores(objects, scores.W, Team(self.threads).threads)
            mean[rows], variance[rows] = found[0] + scores.b, found[1]
        return mean, np.sqrt(variance)

    def save(self, path: Any) -> None:
        """Writes what predictions need to `path`, a path or binary file, completely or not at all.

        `svmgsu.load` reads it back, with the same bits. The file is an .npz archive and no pickle: one from a
        stranger can be opened without harm, though what it predicts is theirs.
        """
        from ..files import save

        check_is_fitted(self, "scores_")
        save(self, path)

    def _forget(self) -> None:
        """Lets go of objects that are not in memory."""
        for name in ("_elsewhere", "_of_all"):
            self.__dict__.pop(name, None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = False, True
        return tags


def groups_of(given: Any, count: int) -> Array | None:
    """Groups of `count` examples, checked."""
    if given is not None and np.shape(given) != (count,):
        raise ValueError(f"groups: shape {np.shape(given)}; one for each of {count} examples is needed")
    return None if given is None else np.asarray(given)


def missing(data: Gaussians) -> bool:
    """Whether there are missing values."""
    return bool(np.isnan(data.mean).any())


def refuse_missing(data: Gaussians, why: str) -> None:
    """Refuses missing values where no population says what they may be."""
    if missing(data):
        raise ValueError(
            f"X: {place(int(np.isnan(data.mean).argmax()), data.shape)} is missing (Input X contains NaN), "
            f'and a population must say what it may be ({why}); fit with population="mixture"'
        )


def _components(wanted: Any, shape: tuple[int, int]) -> Any:
    """How many Gaussians a population has: so many at the most that each has ten objects for each feature."""
    if wanted != "default":
        return wanted
    return int(max(1, min(10, shape[0] // (10 * shape[1]))))


def _with_bars(objects: Gaussians | Mixtures, bars: Bars | None, own: FloatArray) -> Gaussians | Mixtures:
    from .lift import with_bars

    assert bars is not None
    return with_bars(objects, bars.values(own))
