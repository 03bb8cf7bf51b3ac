"""`SVMGSU`: a classifier with a curved boundary for objects with error bars."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from ...data.gaussians import Gaussians
from ...data.soft_labels import read_labels
from ...exceptions import ConvergenceWarning
from ...io.frames import table_for_fit
from ...models.rule import blockwise
from ...outofcore.blocks import Blocks
from ...outofcore.training import refuse_beside
from ...support.labels import check_weights
from ...support.parallel import Team
from ...support.validation import Array, FloatArray
from ..classifier import labels_of
from ..inputs import ROUTED
from .base import NonlinearEstimator
from .beyond import Targets, sample_for
from .in_blocks import InBlocks, labelled
from .link import Components, joined, polish
from .odds import LINK_NUMBERS, Odds, calibrated, choose_odds
from .search import Choice
from .sides import answering, finish
from .solving import signs_of
from .stages import DoubtStage, LabelStage

LOSSES = ("logistic", "hinge", "squared_hinge", "squared")


class SVMGSU(ClassifierMixin, NonlinearEstimator):  # type: ignore[misc]
    """A classifier with a curved boundary that carries error bars exactly.

    The population behind the noisy objects is learnt first (`Deconvolution`, without labels); each object,
    given what was measured of it, is then a mixture of Gaussians. Its features (of a kernel) are expected
    exactly, and a linear model on them is solved to a proven optimum. Cross-validation chooses the settings.

    Parameters
    ----------
    kernel : {"rbf", "laplace", "matern", "quadratic", "linear"}
    approximation : {"fourier", "landmarks", "exact"}
        Of the kernel: random frequencies, landmarks (RBF), or all examples as landmarks (RBF, up to 5000).
    n_features : int, default=300
        Twice the number of frequencies, or landmarks.
    gamma : "auto" or float
        γ of the kernel, of features in units of their spread.
    lam : "auto" or float
        The weight λ of the penalty λ/2 ‖w‖².
    loss : {"logistic", "hinge", "squared_hinge", "squared"} or "auto"
        "auto" is the logistic loss; the squared one, exact by second moments and all classes at once, where
        population=None and the examples have covariances.
    population : {"auto", "mixture", "gaussian", None}
        What error bars are: noise of measurement, on top of a population that is a mixture of Gaussians, or
        one. None: the examples' covariances are their own spread (summaries, augmentation), and the model is
        for points drawn from them. "auto" is "mixture" where there is noise, in at most 100 features.
    n_components : int, "auto" or "default"
        Of the population; "auto" by held-out likelihood, "default" is ten, or fewer for few objects.
    deployment_cov : array or covariance kind, optional
        Noise that exists only where the model will be used, as in `svmgsu.LinearSVMGSU`. Training then sees
        `copies` noisy draws of every object.
    copies : int, default=4
    metric : {"auto", True, False}
        Whether to learn in which directions distances matter (the averaged gradient outer product).
    bars_as_features : {"auto", True, False}
        Whether the size of error bars is a feature too, which helps where it tells about the class. Of new
        objects with other error bars the model without them is asked, of the same fit; a `PopulationWarning`
        tells where these are many. It needs a population.
    link : {"auto", True, False}
        Whether p = Σ_k r_k σ(E[f | k]) over the mixture's components, or σ(E f).
    damping : {"auto", True, False}
        Whether σ is averaged over the spread of f within what an object may be, by its closed variance:
        σ(E f / √(1 + π/8 c Var f)), of each component where there is a link.
    search : bool, default=True
        Whether to choose what is "auto" by cross-validation; "auto" by one standard error of the difference.
        Of many examples 20,000 (copies counted) take part, drawn at random, and 50,000 in learning the
        population: from there on time grows with the last fit alone, which has them all.
    cv : int, splitter or list of (known, held out), default=3
        The folds of that.
    doubt : {"share", "error"}, default="share"
        What class probabilities as y mean. "share": of objects like this one so many are of each class, and
        p shall be these shares. "error": an object is of one class, but its label may be wrong, so that
        log Σ_k y_k p_k is its likelihood; p is then of the classes themselves (logistic loss).
    class_weight : dict or "balanced", optional
    tol : float, default=1e-6
        Of the convex stage: it ends when gap <= tol · objective.
    random_state : int, RandomState or None, default=0
    threads : int, optional

    Attributes
    ----------
    classes_ : array of shape (K,)
    gamma_, lam_ : float
    metric_ : array or None
    bars_, link_ : bool
        What was chosen.
    damping_ : float
        The factor c of Var f, by held-out objects; 0 for none.
    lapse_ : float
        The share ε of labels that are as good as tossed, p = (1 - ε) p + ε/K, by held-out objects.
    population_ : Deconvolution or None
    objective_, gap_ : float
        Of the convex stage: the objective and a proven bound of its distance to the optimum. Neither says
        anything of the population, the metric, the search, or the link's last steps, which start there.
    search_ : list of dict
        The held-out loss of all settings that were tried.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where((X**2).sum(axis=1) > 1.4, "outside", "inside")
    >>> seen = X + 0.2 * rng.normal(size=X.shape)
    >>> model = svmgsu.SVMGSU(n_features=100, search=False).fit(seen, y, std=0.2)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]], std=0.2).tolist()
    ['inside', 'outside']
    """

    __metadata_request__predict_proba = ROUTED
    __metadata_request__decision_function = ROUTED
    _default_lam = 1e-5

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        approximation: str = "fourier",
        n_features: int = 300,
        gamma: Any = "auto",
        lam: Any = "auto",
        loss: str = "auto",
        population: Any = "auto",
        n_components: Any = "default",
        deployment_cov: Any = None,
        copies: int = 4,
        metric: Any = "auto",
        bars_as_features: Any = "auto",
        link: Any = "auto",
        damping: Any = "auto",
        search: bool = True,
        cv: int = 3,
        doubt: str = "share",
        class_weight: Any = None,
        tol: float = 1e-6,
        random_state: Any = 0,
        threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.approximation = approximation
        self.n_features = n_features
        self.gamma = gamma
        self.lam = lam
        self.loss = loss
        self.population = population
        self.n_components = n_components
        self.deployment_cov = deployment_cov
        self.copies = copies
        self.metric = metric
        self.bars_as_features = bars_as_features
        self.link = link
        self.damping = damping
        self.search = search
        self.cv = cv
        self.doubt = doubt
        self.class_weight = class_weight
        self.tol = tol
        self.random_state = random_state
        self.threads = threads

    def fit(
        self,
        X: Any,
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        classes: Any = None,
    ) -> SVMGSU:
        """Trains on X, an array or `Gaussians`, with labels y.

        y may have the probability of each class instead, (l, K): an example then counts for every class with
        that weight, or as `doubt` says. `classes` names the columns, by default those of a data frame. `cov`
        and `std` are the covariance or error bars of X, as in `svmgsu.Gaussians`, `sample_weight` how much
        each example counts; examples of one of the `groups` are never on both sides of a fold. In arrays NaN,
        and infinite noise, is a missing value: the population says what it may be.

        X may be blocks of files, as `svmgsu.open` gives them; y is by default what the files have then. Of
        more than 50,000 examples so many (and 50 of every class) say what the units, the population, the map,
        its settings and the link are; the convex stage reads all, and makes their features anew in each pass.
        """
        if isinstance(X, Blocks):
            refuse_beside(X, cov=cov, std=std)
            return self._fit_blocks(X, y, sample_weight, groups, classes)
        X, y = table_for_fit(X, y, cov, std, gaps=True, sample_weight=sample_weight)
        data = self._read(X, cov, std, groups)
        self.classes_, codes, each = read_labels(labels_of(y), len(data), classes)
        if 2 < len(self.classes_) == len(codes):
            raise ValueError("y: every example has a class of its own; svmgsu.SVRGSU predicts numbers")
        self._check_settings(len(data))
        weights = self._weights(codes, each.weights(check_weights(sample_weight, len(data))))
        if each.source is not None and self.doubt == "error":
            weights = np.asarray(np.bincount(each.source, weights, len(data)), dtype=np.float64)
            codes = each.table(codes)
        elif each.source is not None:  # all copies of an example stay on one side of a fold
            groups = each.source if groups is None else np.asarray(groups)[each.source]
            data = data[each.source]
        rows = self._counted(weights)
        if rows is not None:
            data, codes, weights = data[rows], codes[rows], weights[rows]
            groups = None if groups is None else np.asarray(groups)[rows]
        self._learn(data, codes, weights, groups)
        return self

    def _fit_blocks(self, X: Blocks, y: Any, sample_weight: Any, groups: Any, classes: Any) -> SVMGSU:
        X, self.classes_, codes, given, groups = labelled(X, y, sample_weight, groups, classes, self.doubt)
        self._check_settings(len(X))
        weights = self._weights(codes, given)
        rows, held = sample_for(self, weights, codes), InBlocks(X)
        self._elsewhere, self._of_all = held, (codes, weights)
        try:
            data = self._read(held.take(rows), None, None)
            self._learn(data, codes[rows], weights[rows], None if groups is None else groups[rows])
        finally:
            self._forget()
        return self

    def _targets_of_all(self) -> tuple[Targets, FloatArray]:
        codes, weights = self._of_all
        count = len(self.classes_)
        return lambda rows: signs_of(codes[rows], count).astype(np.int8), weights

    def _learn(self, data: Gaussians, labels: Array, weights: FloatArray, groups: Any) -> None:
        """Labels are the places of classes, (l,), or where they may be wrong probabilities, (l, K)."""
        in_doubt = labels.ndim == 2
        seed, loss = self._seed(), self._loss(data, in_doubt)
        seen, copies = self._prepare(data, weights, seed)
        folds = self._folds(labels.argmax(axis=1) if in_doubt else labels, groups, seed)
        threads, K = Team(self.threads).threads, len(self.classes_)

        def stage_of(each: Array, copies: int) -> LabelStage | DoubtStage:
            if in_doubt:
                return DoubtStage(labels[each], weights[each], threads, copies)
            return LabelStage(labels[each], weights[each], K, loss, threads, copies)

        choice, search, objects = self._choose(seen, copies, stage_of, folds, weights, seed)
        if loss == "logistic":
            options = {"link": self.link, "damping": self.damping}
            self.odds_ = choose_odds(search, objects, choice, self.map_, **options)
        else:
            self.odds_ = Odds(calibration=calibrated(search, objects, choice, self.map_))
        stage = stage_of(np.arange(len(data)), copies)
        self._final(data, seen, stage, choice)
        finish(self, lambda other: other._final(data, seen, stage, choice.without_bars))
        self._keep(choice)

    def _keep(self, choice: Choice) -> None:
        self.gamma_, self.lam_, self.bars_ = choice.gamma, choice.lam, choice.bars
        self.link_, self.damping_, self.lapse_ = self.odds_.link, self.odds_.damping, self.odds_.lapse
        self.population_, self.search_ = self.lift_.population, choice.tried
        self.objective_, self.gap_ = self.scores_.objective, self.scores_.gap

    def _final(self, data: Gaussians, seen: Gaussians, stage: Any, choice: Choice) -> None:
        """The convex stage on all objects, and the link's steps from there on."""
        threads = Team(self.threads).threads
        Z = self._convex(data, seen, stage, choice.lam)
        if self.scores_.unproven > self.tol:
            warnings.warn(
                f"the convex stage stopped with a relative gap of {self.scores_.unproven:.2g}, where "
                f"tol={self.tol:g} was asked; take a larger lam or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.odds_.link:
            rows = self._link_rows(len(seen))
            part = seen if len(rows) == len(seen) else seen[rows]
            batches = self.lift_.batches(part)
            parts = [Components.of(objects, self.map_, np.float32, threads) for _, objects in batches]
            own = stage.labels[rows], stage.weights[rows]
            self.scores_ = polish(self.scores_, joined(parts), *own, choice.lam)
        elif stage.loss == "logistic" and stage.classes > 2 and Z is not None:
            whole = Components(Z, np.ones(len(Z)), np.arange(len(Z)))
            self.scores_ = polish(self.scores_, whole, stage.labels, stage.weights, choice.lam)

    def _link_rows(self, count: int) -> Array:
        """The objects that the link is trained on: all, or of very many as many as fit into memory."""
        most = max(1, LINK_NUMBERS // (4 * self.map_.outputs))
        if count <= most:
            return np.arange(count)
        return np.sort(np.random.default_rng([self._seed(), 3]).permutation(count)[:most])

    @blockwise
    def predict_proba(self, X: Any, cov: Any = None, std: Any = None) -> FloatArray:
        """Probabilities of the classes, (l, K), of objects X, blocks too, with their own `cov` or `std`."""
        data = self._objects(X, cov, std)
        out = np.empty((len(data), len(self.classes_)))
        for rows, objects, feature_map, scores in answering(self, data):
            out[rows] = self.odds_(objects, feature_map, scores, Team(self.threads).threads)
        return out

    @blockwise
    def predict(self, X: Any, cov: Any = None, std: Any = None) -> Array:
        """The most probable class of objects X with their own `cov` or `std`."""
        best = self.predict_proba(X, cov, std).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @blockwise
    def decision_function(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """Decision values of objects X with `cov` or `std`: (l,) of two classes, (l, K) of more.

        They are log-odds: E f, or where a link or a damping was chosen those of the probabilities.
        `return_std` gives the standard deviation of f over what the object may be as well, exactly: (values,
        deviations).
        """
        data = self._objects(X, cov, std)
        if self.link_ or self.damping_:
            p = np.clip(self.predict_proba(data), 1e-300, None)
            values = np.log(p[:, 1:]) - np.log(p[:, :1]) if p.shape[1] == 2 else np.log(p)
        else:
            values = np.empty((len(data), len(self.scores_.b)))
            for rows, objects, feature_map, scores in answering(self, data):
                values[rows] = scores(feature_map.mean(objects, threads=Team(self.threads).threads))
            if self.odds_.calibration is not None:
                values = self.odds_.calibration(values)
        flat = values[:, 0] if len(self.classes_) == 2 else values
        if not return_std:
            return flat
        deviation = self._moments(data)[1]
        if self.odds_.calibration is not None:
            deviation = deviation * np.abs(np.diagonal(self.odds_.calibration.W))
        return flat, (deviation[:, 0] if len(self.classes_) == 2 else deviation)

    def score(self, X: Any, y: Any, sample_weight: Any = None, cov: Any = None, std: Any = None) -> float:
        """The share of the examples of X (with `cov`, `std`) that are given their class in y.

        They are counted by `sample_weight`.
        """
        return float(accuracy_score(y, self.predict(X, cov, std), sample_weight=sample_weight))

    def _loss(self, data: Gaussians, in_doubt: bool = False) -> str:
        if in_doubt and self.loss not in ("auto", "logistic"):
            raise ValueError(f'doubt: "error" is a likelihood, of loss="logistic"; got loss={self.loss!r}')
        if self.loss == "auto":
            own = self.population is None and data.cov is not None and self.deployment_cov is None
            return "squared" if own and not in_doubt else "logistic"
        if self.loss not in LOSSES:
            raise ValueError(
                f'loss: expected "auto" or one of {", ".join(map(repr, LOSSES))}, got {self.loss!r}'
            )
        return self.loss

    def _check_settings(self, count: int) -> None:
        super()._check_settings(count)
        for name in ("link", "damping"):
            if getattr(self, name) not in ("auto", True, False):
                raise ValueError(f'{name}: expected "auto", True or False, got {getattr(self, name)!r}')
        if self.doubt not in ("share", "error"):
            raise ValueError(f'doubt: expected "share" or "error", got {self.doubt!r}')

    def _weights(self, codes: Array, weights: FloatArray) -> FloatArray:
        weights = self._by_class(codes, weights)
        if len(np.unique(codes[weights > 0])) < 2:
            raise ValueError(
                "sample_weight: at least two classes are needed, but one class has all the weight"
            )
        return weights

    def _by_class(self, codes: Array, weights: FloatArray) -> FloatArray:
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, dict):
            factors = np.array([float(self.class_weight.get(c, 1.0)) for c in self.classes_.tolist()])
        elif self.class_weight == "balanced":
            mass = np.bincount(codes, weights, minlength=len(self.classes_))
            factors = weights.sum() / (len(mass) * np.maximum(mass, 1e-300))
        else:
            raise ValueError(f'class_weight: expected a dict or "balanced", got {self.class_weight!r}')
        return np.asarray(weights * factors[codes])

    def _folds(self, codes: Array, groups: Any, seed: int) -> Any:
        count = self._n_folds(len(codes), groups)
        if groups is not None:
            inner: Any = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        elif np.bincount(codes).min() >= count:
            inner = StratifiedKFold(count, shuffle=True, random_state=seed)
        else:
            inner = KFold(count, shuffle=True, random_state=seed)
        return self._splits(inner, len(codes), codes, groups)

    def _lams(self) -> list[float]:
        return [float(v) for v in np.logspace(-3.5, -7, 8)]
