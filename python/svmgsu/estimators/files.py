"""Files of pools and `Deconvolution`: no pickle, so that a file of a stranger can do no harm.

They hold what predictions need, to the bit, and the settings that are numbers or words; a splitter, a pool of
noise or weights of classes are not kept.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .. import _core
from ..fit.support import Support
from .deconvolution import Deconvolution
from .nodes import Node, read_archive, write_archive
from .pool.classifier import GSUClassifier
from .pool.files import pool_state, read_pool
from .pool.regressor import GSURegressor

CLASSES: dict[str, Any] = {
    "GSUClassifier": GSUClassifier,
    "GSURegressor": GSURegressor,
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
    tree |= _population(estimator) if name == "Deconvolution" else pool_state(estimator)
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
    return read_pool(node, estimator, n)


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
