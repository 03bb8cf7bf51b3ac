"""Files of fitted pools: .npz archives without pickles, read with suspicion.

The array "svmgsu" of an archive is a text in JSON: a tree of dicts, lists, numbers and texts, in which
{"array": name, "shape": ...} stands for another array of the archive and {"class": name, ...} for one of
a few dataclasses. Nothing in a file is run. Every value is checked against the annotation of its field, and
a model must be able to predict before it is handed out.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .. import _core
from ..models.classifier import label_texts, labels_from_texts
from ..support.types import Cell, Fields, Fitted
from ..support.validation import Array

FORMAT = "svmgsu-model"
VERSION = 1
NOT_SAVED = {"saved": False}  # metadata of fields that only a fit needs
SETTING = "None | bool | int | float | str"  # types of parameters that are kept
HEAD = {  # what is in a file beside the fitted attributes, with annotations
    "class": "str",
    "settings": f"dict[str, {SETTING}]",
    "features": "int",
    "names": "list[str] | None",
    "names_of_gaussians": "bool",
    "labels": "list[str] | None",  # the kind of labels, and a list of these
}


def save(estimator: Fitted, path: Any) -> None:
    """Write a fitted pool to `path`, completely or not at all."""
    from ..io.arrays import refuse_packed
    from ..io.output import replacing

    names = getattr(estimator, "feature_names_in_", None)
    tree = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": _core.config()["version"],
        "class": type(estimator).__name__,
        "settings": {
            k: v for k, v in estimator.get_params(deep=False).items() if _kind(v) in SETTING.split(" | ")
        },
        "features": int(estimator.n_features_in_),
        "names": None if names is None else [str(name) for name in names],
        "names_of_gaussians": bool(getattr(estimator, "names_of_gaussians_", False)),
        "labels": label_texts(estimator.classes_) if hasattr(estimator, "classes_") else None,
        "fitted": {name: getattr(estimator, name) for name in estimator._saved},
    }
    arrays: dict[str, Array] = {}
    text = json.dumps(_packed(tree, "", arrays))
    refuse_packed(path, "its arrays hold few zeros")
    with replacing(path) as (file,):
        np.savez(file, svmgsu=np.array(text), **arrays)  # type: ignore[arg-type]


def _packed(value: object, name: str, arrays: dict[str, Array]) -> Cell:
    """Return what JSON can hold of a value, and put its arrays into `arrays`."""
    if dataclasses.is_dataclass(value):
        value = {"class": type(value).__name__, **{key: getattr(value, key) for key in _fields(type(value))}}
    if isinstance(value, dict):
        return {k: _packed(v, f"{name}.{k}" if name else k, arrays) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(v, f"{name}.{k}", arrays) for k, v in enumerate(value)]
    if isinstance(value, np.ndarray):
        arrays[name] = np.ascontiguousarray(value)
        return {"array": name, "shape": list(value.shape)}
    return value.item() if isinstance(value, np.generic) else value


def _fields(kind: Any) -> dict[str, str]:
    """Return the names of the fields of a dataclass that are in files, with their annotations."""
    return {
        field.name: str(field.type) for field in dataclasses.fields(kind) if field.metadata.get("saved", True)
    }


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


class Reader:
    """Values of a file that messages call `name`, checked; what is wrong with one is a FormatError."""

    def __init__(self, name: str, arrays: dict[str, Array], classes: Iterable[type]) -> None:
        self.name = name
        self.arrays = arrays
        self.classes = {kind.__name__: kind for kind in classes}

    def wrong(self, place: str, wanted: str, got: object) -> _core.FormatError:
        """Return an error that names the place, what was expected there and what is there."""
        shown = repr(got)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        return _core.FormatError(f"{self.name}: {place}: expected {wanted}, got {shown}")

    def value(self, tree: Any, annotation: str, place: str) -> Any:
        """Return a value whose type is among the words of an annotation such as "list[Mixture] | None"."""
        words = re.findall(r"\w+", annotation)
        if isinstance(tree, list) and "list" in words:
            return [self.value(part, annotation, f"{place}.{k}") for k, part in enumerate(tree)]
        if isinstance(tree, dict) and "dict" in words:
            return {k: self.value(part, annotation, f"{place}.{k}") for k, part in tree.items()}
        found = tree
        kind = _kind(tree)
        if isinstance(tree, dict) and "array" in tree:
            found = self._array(tree, place)
            kind = "FloatArray" if found.dtype == np.float64 else "Array"
        elif isinstance(tree, dict) and str(tree.get("class")) in self.classes:
            return self._object(tree, words, place)
        elif kind == "int" and "float" in words and abs(tree) < 2**63:
            kind = "float"
        if kind not in words or (isinstance(tree, float) and not np.isfinite(tree)):
            raise self.wrong(place, annotation, tree)
        return found

    def _object(self, tree: Fields, words: list[str], place: str) -> Any:
        kind: Any = self.classes[tree["class"]]
        fields = _fields(kind)
        if not {base.__name__ for base in kind.__mro__} & set(words) or set(tree) != {"class", *fields}:
            raise self.wrong(place, f"one of {words} with its parts", tree)
        found = kind(**{key: self.value(tree[key], words, f"{place}.{key}") for key, words in fields.items()})
        try:
            getattr(found, "check", lambda: None)()
        except (ValueError, np.linalg.LinAlgError) as error:
            raise _core.FormatError(f"{self.name}: {place}: {error}") from None
        return found

    def _array(self, tree: Fields, place: str) -> Array:
        name = tree["array"]
        found = self.arrays.get(name) if isinstance(name, str) else None
        if found is None or found.dtype not in (np.float64, np.int64, np.bool_):
            raise self.wrong(place, "an array of numbers of the file", name)
        if list(found.shape) != tree.get("shape") or not np.isfinite(found).all():
            raise self.wrong(place, f"finite numbers of shape {tree.get('shape')}", found)
        return np.ascontiguousarray(found)


def _below(kind: Any) -> Iterator[Any]:
    """Yield the subclasses of a class, and theirs."""
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def load(path: Any, name: str) -> Fitted:
    """Read the pool in a file that messages call `name`."""
    from ..io.arrays import load_archive
    from .pool import classifier, mixture, regressions, regressor, samples, weights

    arrays = load_archive(path, name)
    text = arrays.pop("svmgsu", None)
    if text is None or text.shape != () or text.dtype.kind != "U":
        raise _core.FormatError(f"{name}: no model of svmgsu; there are the arrays {sorted(arrays)[:10]}")
    try:
        tree = json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise _core.FormatError(f"{name}: its text is damaged ({error})") from None
    known = [samples.Inputs, samples.StandardErrors, mixture.Mixture, regressions.Features]
    reader = Reader(name, arrays, [*known, weights.Gate, weights.PoolSummary, *_below(weights.Member)])
    if not isinstance(tree, dict) or tree.get("format") != FORMAT or tree.get("version") != VERSION:
        raise reader.wrong("format", f"{FORMAT}, version {VERSION}", tree)
    head = {key: reader.value(tree.get(key), annotation, key) for key, annotation in HEAD.items()}
    kinds: tuple[Any, ...] = (classifier.GSUClassifier, regressor.GSURegressor)
    kind = next((kind for kind in kinds if kind.__name__ == head["class"]), None)
    if kind is None:
        raise reader.wrong("class", "GSUClassifier or GSURegressor", head["class"])
    fitted = tree.get("fitted")
    if not isinstance(fitted, dict) or set(fitted) != set(kind._saved):
        raise reader.wrong("fitted", f"the parts {', '.join(kind._saved)}", fitted)
    parts = {key: reader.value(fitted[key], what, f"fitted.{key}") for key, what in kind._saved.items()}
    # The core checks the sizes of what it is given; a prediction finds what does not fit together.
    try:
        model = kind(**head["settings"])
        model.__dict__.update(parts)
        model.n_features_in_ = head["features"]
        if head["names"] is not None:
            if len(head["names"]) != model.n_features_in_:
                raise ValueError(f"{len(head['names'])} names for {model.n_features_in_} features")
            model.feature_names_in_ = np.asarray(head["names"], dtype=object)
            if head["names_of_gaussians"]:
                model.names_of_gaussians_ = True
        if hasattr(kind, "predict_proba"):
            label_kind, texts = head["labels"]
            model.classes_ = labels_from_texts(label_kind, list(map(str, texts)))
        with np.errstate(all="ignore"):
            for std in (None, 1.0):
                model._ask(model._try, np.zeros((1, model.n_features_in_)), None, std)
    except Exception as error:
        raise _core.FormatError(f"{name}: its parts do not fit together ({error})") from None
    return model
