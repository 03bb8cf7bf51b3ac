"""Pools in model files: trees of arrays, numbers and texts, read with suspicion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ...models.labels import label_texts, labels_from_texts
from ..nodes import Node
from .base import PoolSummary
from .classwise import ClasswiseMember
from .inputs import Inputs
from .joint import JointMember
from .linear import LinearFeatures
from .logistic import LogisticMember
from .rbf import FourierFeatures
from .regressor import GSURegressor
from .ridge import RidgeMember
from .support import Gate

ARRAYS = ("weights", "weights_without_uncertainties", "losses")
NUMBERS = ("loss", "loss_without_uncertainties", "gap", "gated", "outside")


def pool_state(model: Any) -> dict[str, Any]:
    """What predictions of a fitted pool need."""
    summary = {key: getattr(model.pool_, key) for key in (*ARRAYS, *NUMBERS, "left_out")}
    if hasattr(model, "classes_"):
        own: dict[str, Any] = {"labels": label_texts(model.classes_), "lapse": float(model.lapse_)}
    else:
        own = {"y_centre": float(model.y_centre_), "y_scale": float(model.y_scale_)}
        own |= {"noise_scale": model.noise_scale_, "residuals": model.residuals_}
    return own | {
        "inputs": model.inputs_.state(),
        "members": [member.state() for member in model.members_],
        "gate": None if model.gate_ is None else model.gate_.state(),
        "pool": summary,
    }


def read_pool(node: Node, model: Any, n: int) -> Any:
    """Fill a pool with what a file holds."""
    model.n_features_in_ = n
    model.inputs_ = Inputs.read(node.part("inputs"), n)
    if isinstance(model, GSURegressor):
        model.y_centre_, model.y_scale_ = node.number("y_centre"), node.number("y_scale", 0)
        model.noise_scale_, model.residuals_ = (
            node.array("noise_scale", (2,)),
            node.array("residuals", (None,)),
        )
        if (model.noise_scale_ < 0).any():
            raise node.wrong("noise_scale", "numbers >= 0", model.noise_scale_.tolist())
    else:
        model.classes_ = _classes(node)
        model.lapse_ = node.number("lapse", 0, 1)
    classes = len(model.classes_) if hasattr(model, "classes_") else 0
    errors = 0 if model.inputs_.errors is None else len(model.inputs_.errors.columns)
    trees = node.tree.get("members")
    if not isinstance(trees, list) or not trees:
        raise node.wrong("members", "a list of members", trees)
    model.members_ = [
        _member(Node(tree, node.arrays, node.file, f"members.{i}"), n, errors, classes)
        for i, tree in enumerate(trees)
    ]
    model.gate_ = Gate.read(node.part("gate"), n + errors) if node.has("gate") else None
    part, shape = node.part("pool"), (len(trees),)
    arrays: dict[str, Any] = {key: part.array(key, shape) for key in ARRAYS}
    numbers: dict[str, Any] = {key: part.number(key) for key in NUMBERS}
    names = [member.name for member in model.members_]
    model.pool_ = PoolSummary(names, **arrays, **numbers, left_out=part.texts("left_out"))
    model.weights_ = model.pool_.weights
    model.plain_weights_ = model.pool_.weights_without_uncertainties
    if (model.weights_ < 0).any() or (model.plain_weights_ < 0).any():
        raise part.wrong("weights", "numbers >= 0", "others")
    return model


def _classes(node: Node) -> Any:
    try:
        kind, texts = node.tree.get("labels")
        found = labels_from_texts(kind, list(map(str, texts)))
    except (TypeError, ValueError, OverflowError) as error:
        raise _core.FormatError(f"{node.file}: labels: cannot be read ({error})") from None
    if len(found) < 2:
        raise node.wrong("labels", "at least two classes", len(found))
    return found


def _member(node: Node, n: int, errors: int, classes: int) -> Any:
    """A member of a classifier, or of a regressor, which has no classes."""
    kind = node.text("kind")
    if kind == "classwise" and classes:
        return ClasswiseMember.read(node, n, classes)
    if kind == "joint" and not classes:
        return JointMember.read(node, n)
    if kind != ("logistic" if classes else "ridge"):
        raise node.wrong("kind", "a member of a pool", kind)
    part = node.part("features")
    made = part.text("kind")
    on_posterior = part.flag("on_posterior")
    if made == "linear":
        with_errors = part.flag("with_errors")
        features: Any = LinearFeatures(on_posterior, with_errors)
        outputs = n + (errors if with_errors else 0)
    elif made == "fourier":
        frequencies = part.array("frequencies", (None, None))
        if frequencies.shape[1] not in (n, n + errors):
            raise part.wrong("frequencies", f"{n} or {n + errors} inputs", frequencies.shape[1])
        with_errors = frequencies.shape[1] > n
        features = FourierFeatures(np.ascontiguousarray(frequencies), n, on_posterior, part.flag("linear"))
        outputs = features.outputs
    else:
        raise part.wrong("kind", "linear or fourier features", made)
    if with_errors and not errors:
        raise part.wrong("with_errors", "false, as there are no standard errors", with_errors)
    if not classes:
        return RidgeMember.read(node, features, outputs)
    return LogisticMember.read(node, features, outputs, classes)
