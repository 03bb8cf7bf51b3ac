"""Files of nonlinear models and `Deconvolution`: no pickle, so that a file of a stranger can do no harm.

They hold what predictions need, to the bit, and the settings that are numbers or words; a splitter, a pool of
noise or weights of classes are not kept.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from ..fit.support import Support
from ..models.labels import label_texts, labels_from_texts
from ..propagate.features import FeatureMap
from .deconvolution import Deconvolution
from .nodes import Node, read_archive, write_archive
from .nonlinear.base import NonlinearEstimator
from .nonlinear.classifier import SVMGSU
from .nonlinear.lift import Bars, Lift
from .nonlinear.odds import Odds
from .nonlinear.regressor import SVRGSU
from .nonlinear.sides import Side
from .nonlinear.solving import Scores
from .pool.classifier import GSUClassifier
from .pool.files import pool_state, read_pool
from .pool.regressor import GSURegressor

CLASSES: dict[str, Any] = {
    "GSUClassifier": GSUClassifier,
    "GSURegressor": GSURegressor,
    "SVMGSU": SVMGSU,
    "SVRGSU": SVRGSU,
    "Deconvolution": Deconvolution,
}
SETTINGS = (type(None), bool, int, float, str)
POPULATION = ("weights_", "means_", "covariances_", "centre_", "scale_")


def save(estimator: Any, path: Any) -> None:
    """Writes a fitted estimator to `path`."""
    name = type(estimator).__name__
    if CLASSES.get(name) is not type(estimator):
        raise TypeError(f"save: of {', '.join(CLASSES)}, not of {name}, which derives from one of them")
    tree: dict[str, Any] = {
        "class": name,
        "written_by": _core.config()["version"],
        "settings": {k: v for k, v in estimator.get_params(deep=False).items() if isinstance(v, SETTINGS)},
        "features": int(estimator.n_features_in_),
    }
    if hasattr(estimator, "feature_names_in_"):
        tree["names"] = [str(feature) for feature in estimator.feature_names_in_]
        tree["names_of_gaussians"] = bool(getattr(estimator, "names_of_gaussians_", False))
    if name == "Deconvolution":
        tree |= _population(estimator)
    else:
        tree |= _model(estimator) if name.startswith("SV") else pool_state(estimator)
    write_archive(path, tree)


def _population(prior: Any) -> dict[str, Any]:
    tree: dict[str, Any] = {key: np.asarray(getattr(prior, key), dtype=np.float64) for key in POPULATION}
    tree |= {
        "lower_bounds": np.asarray(prior.lower_bounds_, dtype=np.float64),
        "lower_bound": float(prior.lower_bound_),
        "steps": int(prior.n_iter_),
        "converged": bool(prior.converged_),
        "values": int(prior.n_features_in_),
        "support": {"noise": prior.support_.noise, "outside": prior.support_.outside},
    }
    tree["support"]["spread"] = np.asarray(prior.support_.spread)
    if hasattr(prior, "held_out_"):
        tree["held_out"] = [[int(k), float(v)] for k, v in prior.held_out_.items()]
    return tree


def _model(model: Any) -> dict[str, Any]:
    lift, made = model.lift_, model.map_
    tree: dict[str, Any] = {
        "centre": lift.centre,
        "scale": lift.scale,
        "announced": bool(lift.announced),
        "population": None if lift.population is None else _population(lift.population),
        "bars": None if lift.bars is None else _bars(lift.bars),
        "map": _map(made),
        "scores": vars(model.scores_),
        "metric": model.metric_,
        "gamma": float(model.gamma_),
        "lam": float(model.lam_),
        "search": model.search_,
    }
    side = model.without_bars_
    if side is not None:
        tree["without_bars"] = {"map": _map(side.map), "scores": vars(side.scores)}
    if isinstance(model, SVRGSU):
        return tree | {k: float(getattr(model, k + "_")) for k in ("y_mean", "y_scale", "residual_std")}
    odds = vars(model.odds_) | {"calibration": model.odds_.calibration and vars(model.odds_.calibration)}
    return tree | {"odds": odds, "labels": label_texts(model.classes_)}


def _bars(bars: Bars) -> dict[str, Any]:
    return {k: v if isinstance(v, float) else np.asarray(v) for k, v in vars(bars).items()}


def _map(made: FeatureMap) -> dict[str, Any]:
    return {"name": made.name, "made_of": list(made.made_of), "combine": made.combine}


def read(path: Any, name: str) -> Any:
    """The estimator in a file that messages call `name`."""
    node = read_archive(path, name)
    kind = node.text("class")
    if kind not in CLASSES:
        raise node.wrong("class", f"one of {', '.join(CLASSES)}", kind)
    settings = node.part("settings")
    known = inspect.signature(CLASSES[kind]).parameters
    for key, value in settings.tree.items():
        if key not in known or not isinstance(value, SETTINGS):
            raise settings.wrong(str(key), f"a setting of {kind}", value)
    estimator = CLASSES[kind](**settings.tree)
    n = node.count("features", 1)
    if node.has("names"):
        names = node.texts("names")
        if len(names) != n:
            raise node.wrong("names", f"{n} names", names)
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        if node.flag("names_of_gaussians"):
            estimator.names_of_gaussians_ = True
    if kind == "Deconvolution":
        return _read_population(node, estimator, None)
    if not kind.startswith("SV"):
        return read_pool(node, estimator, n)
    return _read_model(node, estimator, n)


def _read_population(node: Node, prior: Any, n: int | None) -> Any:
    means = node.array("means_", (None, n))
    K, n = means.shape
    prior.weights_, prior.means_ = node.array("weights_", (K,)), means
    prior.covariances_ = node.array("covariances_", (K, n, n))
    prior.centre_, prior.scale_ = node.array("centre_", (n,)), node.array("scale_", (n,), positive=True)
    if (prior.weights_ < 0).any() or abs(prior.weights_.sum() - 1) > 1e-6:
        raise node.wrong("weights_", "shares that sum to 1", prior.weights_)
    S = prior.covariances_
    if not np.allclose(S, S.transpose(0, 2, 1), rtol=1e-8) or not (np.linalg.eigvalsh(S) > 0).all():
        raise node.wrong("covariances_", "symmetric, positive definite matrices", "others")
    prior.lower_bounds_ = node.array("lower_bounds", (None,)).tolist()
    prior.lower_bound_ = node.number("lower_bound")
    prior.n_iter_, prior.converged_ = node.count("steps"), node.flag("converged")
    prior.n_components_, prior.n_features_in_ = K, node.count("values", 1)
    part = node.part("support")
    spread = part.array("spread", (n,), positive=True)
    prior.support_ = Support(part.number("noise", 0), part.number("outside", 0, 1), spread)
    if node.has("held_out"):
        try:
            prior.held_out_ = {int(k): float(v) for k, v in node.tree["held_out"]}
        except (TypeError, ValueError, OverflowError):
            raise node.wrong("held_out", "pairs of numbers", node.tree["held_out"]) from None
    return prior


def _read_model(node: Node, model: NonlinearEstimator, n: int) -> NonlinearEstimator:
    lift = Lift(node.array("centre", (n,)), node.array("scale", (n,), positive=True))
    lift.announced = node.flag("announced")
    if node.has("population"):
        lift.population = _read_population(node.part("population"), Deconvolution(), n)
        lift.population.threads = model.threads
    if node.has("bars"):
        lift.bars = _read_bars(node.part("bars"), n)
    inputs = n + (0 if lift.bars is None else len(lift.bars.columns))
    model.n_features_in_, model.lift_ = n, lift
    scores = node.part("scores")
    model.scores_ = _read_scores(scores, None, None)
    model.map_ = _read_map(node.part("map"), inputs, model.scores_.W.shape[1])
    model.without_bars_ = _read_side(node, model, lift) if lift.bars is not None else None
    model.metric_ = node.array("metric", (inputs, inputs)) if node.has("metric") else None
    model.gamma_, model.lam_ = node.number("gamma", 0), node.number("lam", 0)
    model.bars_, model.population_ = lift.bars is not None, lift.population
    model.objective_, model.gap_ = model.scores_.objective, model.scores_.gap
    tried = node.tree.get("search")
    if not isinstance(tried, list) or not all(isinstance(row, dict) for row in tried):
        raise node.wrong("search", "a list of what was tried", tried)
    model.search_ = tried
    scored = len(model.scores_.b)
    if isinstance(model, SVRGSU):
        if scored != 1:
            raise scores.wrong("b", "one score", scored)
        model.y_mean_, model.y_scale_ = node.number("y_mean"), node.number("y_scale", 0)
        model.residual_std_ = node.number("residual_std", 0)
        return model
    _read_classes(node, model, scored)
    return model


def _read_side(node: Node, model: NonlinearEstimator, lift: Lift) -> Side:
    """What answers for objects with other error bars."""
    part = node.part("without_bars")
    scores = _read_scores(part.part("scores"), len(model.scores_.b), None)
    made = _read_map(part.part("map"), len(lift.centre), scores.W.shape[1])
    return Side(replace(lift, bars=None), made, scores)


def _read_classes(node: Node, model: Any, scored: int) -> None:
    found = node.tree.get("labels")
    try:
        kind, texts = found
        model.classes_ = labels_from_texts(kind, list(map(str, texts)))
    except (TypeError, ValueError, OverflowError) as error:
        raise _core.FormatError(f"{node.file}: labels: cannot be read ({error})") from None
    K = len(model.classes_)
    if K < 2 or scored != (1 if K == 2 else K):
        raise node.wrong("labels", f"as many classes as the {scored} scores are of", K)
    part = node.part("odds")
    model.odds_ = Odds(part.flag("link"), part.number("damping", 0), part.number("lapse", 0, 1))
    if part.has("calibration"):
        model.odds_.calibration = _read_scores(part.part("calibration"), scored, scored)
    model.link_, model.damping_, model.lapse_ = (
        model.odds_.link,
        model.odds_.damping,
        model.odds_.lapse,
    )


def _read_bars(node: Node, n: int) -> Bars:
    columns = node.array("columns", (None,), kind="i")
    if columns.min() < 0 or columns.max() >= n or len(np.unique(columns)) < len(columns):
        raise node.wrong("columns", f"different features below {n}", columns.tolist())
    shape = (len(columns),)
    scale = node.array("scale", shape, positive=True)
    centre, least, largest = (node.array(key, shape) for key in ("centre", "least", "largest"))
    precision = node.array("precision", (len(columns), len(columns)))
    return Bars(columns, centre, scale, least, largest, precision, node.number("limit", 0))


def _read_scores(node: Node, scored: int | None, features: int | None) -> Scores:
    W = node.array("W", (scored, features))
    numbers = [node.number(key, nan=True) for key in ("objective", "gap", "unproven")]
    return Scores(W, node.array("b", (len(W),)), *numbers)


def _read_map(node: Node, inputs: int, outputs: int) -> FeatureMap:
    name, parts = node.text("name"), node.tree.get("made_of")
    lengths = {"fourier": 1, "landmarks": 2, "polynomial": 1}
    if name not in lengths:
        raise node.wrong("name", f"one of {', '.join(lengths)}", name)
    if not isinstance(parts, list) or len(parts) != lengths[name]:
        raise node.wrong("made_of", f"what a map of {name} features is made of", parts)
    each = Node(dict(enumerate(parts)), node.arrays, node.file, f"{node.place}.made_of")
    each.tree = {str(k): part for k, part in each.tree.items()}
    if name == "polynomial":
        made_of: tuple[Any, ...] = (each.count("0", 1),)
        if made_of != (inputs,):
            raise node.wrong("made_of", f"{inputs} inputs", parts)
        features = inputs * (inputs + 3) // 2
    else:
        made_of = tuple(each.array(str(k), (None, inputs)) for k in range(len(parts)))
        features = (2 if name == "fourier" else 1) * len(made_of[0])
    combine = node.array("combine", (outputs, features)) if node.has("combine") else None
    if combine is None and outputs != features:
        raise node.wrong("made_of", f"what makes the {outputs} features that scores are of", features)
    return FeatureMap(name, made_of, combine)
