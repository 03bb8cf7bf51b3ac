"""Files of fitted pools: .npz archives without pickles, read with suspicion.

The array "svmgsu" of an archive is a text in JSON: a tree of dicts, lists, numbers and texts, in which
{"array": name} stands for another array of the archive and {"class": name, ...} for one of a few dataclasses.
Nothing in a file is run. Every value is checked against the annotation of its field, and a model must be
able to predict before it is handed out.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import _core
from ..models.classifier import label_texts, labels_from_texts
from ..support.validation import Array

FORMAT = "svmgsu-model"
VERSION = 1
SETTINGS = (type(None), bool, int, float, str)  # types of parameters that are kept
NOT_SAVED = {"saved": False}  # metadata of fields that only a fit needs


def save(estimator: Any, path: Any) -> None:
    """Write a fitted pool to `path`, completely or not at all."""
    from ..io.arrays import refuse_packed
    from ..io.output import replacing

    names = getattr(estimator, "feature_names_in_", None)
    fitted = {name: getattr(estimator, name) for name in estimator._saved}
    tree = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": _core.config()["version"],
        "class": type(estimator).__name__,
        "settings": {k: v for k, v in estimator.get_params(deep=False).items() if isinstance(v, SETTINGS)},
        "features": int(estimator.n_features_in_),
        "names": None if names is None else [str(name) for name in names],
        "names_of_gaussians": bool(getattr(estimator, "names_of_gaussians_", False)),
        "labels": label_texts(estimator.classes_) if hasattr(estimator, "classes_") else None,
        "fitted": fitted,
    }
    arrays: dict[str, Array] = {}
    text = json.dumps(_packed(tree, "", arrays))
    refuse_packed(path, "its arrays hold few zeros")
    with replacing(path) as (file,):
        np.savez(file, svmgsu=np.array(text), **arrays)  # type: ignore[arg-type]


def _packed(value: Any, name: str, arrays: dict[str, Array]) -> Any:
    """Return what JSON can hold of a value, and put its arrays into `arrays`."""
    if dataclasses.is_dataclass(value):
        tree = {field.name: getattr(value, field.name) for field in _fields(type(value))}
        value = {"class": type(value).__name__, **tree}
    if isinstance(value, dict):
        return {k: _packed(v, f"{name}.{k}" if name else k, arrays) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(v, f"{name}.{k}", arrays) for k, v in enumerate(value)]
    if isinstance(value, np.ndarray):
        arrays[name] = np.ascontiguousarray(value)
        return {"array": name}
    return value.item() if isinstance(value, np.generic) else value


def _fields(kind: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(kind) if field.metadata.get("saved", True)]


class Archive:
    """The contents of a file that messages call `name`; what is wrong with it is a FormatError."""

    def __init__(self, path: Any, name: str, classes: Iterable[type]) -> None:
        from ..io.arrays import load_archive

        self.name = name
        self.classes = {kind.__name__: kind for kind in classes}
        self.arrays = load_archive(path, name)
        text = self.arrays.pop("svmgsu", None)
        if text is None or text.shape != () or text.dtype.kind != "U":
            raise _core.FormatError(
                f"{name}: no model of svmgsu; there are the arrays {sorted(self.arrays)[:10]}"
            )
        try:
            self.tree = json.loads(str(text))
        except (ValueError, RecursionError) as error:
            raise _core.FormatError(f"{name}: its text is damaged ({error})") from None
        if not isinstance(self.tree, dict) or self.tree.get("format") != FORMAT:
            raise _core.FormatError(f"{name}: format: expected {FORMAT!r}")
        version = self.get("version", "int")
        if version != VERSION:
            raise _core.FormatError(f"{name}: version: {version}; this svmgsu reads version {VERSION}")

    def wrong(self, place: str, wanted: str, got: Any) -> _core.FormatError:
        """Return an error that names the place, what was expected there and what is there."""
        shown = repr(got)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        return _core.FormatError(f"{self.name}: {place}: expected {wanted}, got {shown}")

    def get(self, key: str, annotation: str) -> Any:
        """Return a value of the tree, of the annotated type."""
        return self._checked(self._unpacked(self.tree.get(key), key), annotation, key)

    def _unpacked(self, value: Any, place: str) -> Any:
        if isinstance(value, list):
            return [self._unpacked(v, f"{place}.{k}") for k, v in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if set(value) == {"array"}:
            return self._array(value["array"], place)
        kind = self.classes.get(str(value.get("class")))
        if kind is None:
            return {k: self._unpacked(v, f"{place}.{k}") for k, v in value.items()}
        fields = _fields(kind)
        if set(value) != {"class", *(field.name for field in fields)}:
            raise self.wrong(place, f"the parts of {kind.__name__}", sorted(value))
        parts = {}
        for field in fields:
            key = f"{place}.{field.name}"
            parts[field.name] = self._checked(self._unpacked(value[field.name], key), str(field.type), key)
        found = kind(**parts)
        try:
            getattr(found, "check", lambda: None)()
        except (ValueError, np.linalg.LinAlgError) as error:
            raise _core.FormatError(f"{self.name}: {place}: {error}") from None
        return found

    def _array(self, name: Any, place: str) -> Array:
        found = self.arrays.get(name) if isinstance(name, str) else None
        if found is None or found.dtype not in (np.float64, np.int64, np.bool_):
            raise self.wrong(place, "an array of numbers of the file", name)
        if not np.isfinite(found).all():
            raise self.wrong(place, "finite numbers", "others")
        return np.ascontiguousarray(found)

    def _checked(self, value: Any, annotation: str, place: str) -> Any:
        """Check a value against the words of an annotation, such as "Mixture | None" or "list[str]"."""
        words = set(re.findall(r"\w+", annotation))
        for part in _leaves(value):
            kind = type(part).__name__
            if isinstance(part, np.ndarray):
                kind = "FloatArray" if part.dtype == np.float64 else "Array"
            if isinstance(part, float) and not np.isfinite(part):
                raise self.wrong(place, "a finite number", part)
            if kind == "int" and "float" in words and abs(part) < 2**63:
                kind = "float"
            if kind == "NoneType":
                kind = "None"
            if kind not in words:
                raise self.wrong(place, annotation, value)
        if isinstance(value, list) and "list" not in words:
            raise self.wrong(place, annotation, value)
        return value


def _leaves(value: Any) -> Iterable[Any]:
    """Yield a value, or the values of a list and of lists in it."""
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def load(path: Any, name: str) -> Any:
    """Read the pool in a file that messages call `name`."""
    from .pool import classifier, members, regressor

    archive = Archive(path, name, members.SAVED)
    kinds: dict[str, Any] = {
        "GSUClassifier": classifier.GSUClassifier,
        "GSURegressor": regressor.GSURegressor,
    }
    kind = kinds.get(archive.get("class", "str"))
    if kind is None:
        raise archive.wrong("class", f"one of {', '.join(kinds)}", archive.tree["class"])
    settings = archive.tree.get("settings")
    if not isinstance(settings, dict):
        raise archive.wrong("settings", "parameters", settings)
    known = inspect.signature(kind).parameters
    for key, value in settings.items():
        if key not in known or not isinstance(value, SETTINGS):
            raise archive.wrong(f"settings.{key}", f"a parameter of {kind.__name__}", value)
    model = kind(**settings)
    model.n_features_in_ = n = archive.get("features", "int")
    names = archive.get("names", "list[str] | None")
    if names is not None:
        if len(names) != n:
            raise archive.wrong("names", f"{n} names", names)
        model.feature_names_in_ = np.asarray(names, dtype=object)
        if archive.get("names_of_gaussians", "bool"):
            model.names_of_gaussians_ = True
    if kind is kinds["GSUClassifier"]:
        try:
            label_kind, texts = archive.tree["labels"]
            model.classes_ = labels_from_texts(label_kind, list(map(str, texts)))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise _core.FormatError(f"{name}: labels: cannot be read ({error})") from None
    fitted = archive.tree.get("fitted")
    if not isinstance(fitted, dict) or set(fitted) != set(kind._saved):
        raise archive.wrong("fitted", f"the parts {', '.join(kind._saved)}", fitted)
    for key, annotation in kind._saved.items():
        place = f"fitted.{key}"
        setattr(model, key, archive._checked(archive._unpacked(fitted[key], place), annotation, place))
    # Sizes are compared before anything is computed with them; a prediction finds the rest.
    try:
        _check_sizes(model)
        with np.errstate(all="ignore"):
            for std in (None, 1.0):
                for _, view in model._new_batches(np.zeros((1, n)), None, std):
                    answers = [member.predict(view, 1) for member in model.members_]
                    if not all(np.isfinite(one).all() for one in (*answers, model._answers(view)[2])):
                        raise ValueError("its predictions are not finite")
    except Exception as error:
        raise _core.FormatError(f"{name}: its parts do not fit together ({error})") from None
    return model


def _check_sizes(model: Any) -> None:
    """Raise ValueError where arrays of a pool have sizes or values that do not fit together."""
    inputs = model.inputs_
    n = model.n_features_in_
    classes = len(model.classes_) if hasattr(model, "classes_") else 0
    problems = 1 if classes <= 2 else classes

    def expect(name: str, array: Any, *shape: int, least: float = -np.inf) -> None:
        if array is not None and (array.shape != shape or not (array >= least).all()):
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}, or values out of range")

    tiny = float(np.finfo(np.float64).tiny)
    expect("centre", inputs.centre, n)
    expect("scale", inputs.scale, n, least=tiny)
    expect("constant", inputs.constant, n)
    p = n
    if inputs.rotation is not None:
        p = inputs.rotation.shape[-1]
        expect("rotation", inputs.rotation, n, p)
    expect("largest", inputs.largest, p)
    errors = 0
    if inputs.errors is not None:
        errors = len(inputs.errors.columns)
        expect("columns", inputs.errors.columns, errors, least=0)
        for name in ("centre", "least", "largest"):
            expect(name, getattr(inputs.errors, name), errors)
        expect("scale", inputs.errors.scale, errors, least=tiny)
        if inputs.errors.columns.max() >= p:
            raise ValueError("columns are not among the features")
    if inputs.population is not None:
        expect("population", inputs.population.means, len(inputs.population.weights), p)
    else:
        expect("variances", inputs.variances, p, least=tiny)
    if model.gate_ is not None:
        expect("gate", model.gate_.mixture.means, len(model.gate_.mixture.weights), p + errors)
        expect("limits", model.gate_.limits, 2)
    M = len(model.members_)
    for name in ("weights", "fallback_weights", "losses"):
        expect(name, getattr(model.pool_, name), M, least=0)
    for member in model.members_:
        if hasattr(member, "W"):
            width = p + errors * member.features.with_errors
            R = len(member.features.frequencies)
            expect("frequencies", member.features.frequencies, R, width)
            width = 2 * R + width * (member.features.linear != 0)
            expect("W", member.W, problems, width)
            expect("b", member.b, problems)
        elif classes:
            expect("log_priors", member.log_priors, classes)
            expect("calibration", member.calibration, classes + 1, least=0)
            if len(member.mixtures) != classes:
                raise ValueError(f"there are mixtures of {len(member.mixtures)} classes, not of {classes}")
    if not classes:
        expect("noise_scale", model.noise_scale_, 2, least=0)
        expect("residuals", model.residuals_, max(1, len(model.residuals_)))
