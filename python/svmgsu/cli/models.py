"""Models of the shell: settings from options, training, files that remember the table, predictions."""

from __future__ import annotations

import argparse
import inspect
import io as streams
import json
import zipfile
from typing import Any, NamedTuple

import numpy as np

from .. import io
from ..data.gaussians import Gaussians
from ..io.dataset import Dataset
from ..io.files import read_bytes
from ..io.output import replacing
from ..models.classifier import Model
from ..models.files import load
from ..models.regressor import RegressionModel
from ..support.labels import check_prior
from ..support.types import Fields, Fitted
from ..support.validation import Array, FloatArray, Matrix, is_sparse
from .base import UsageError, by_label, value_of
from .data import is_small, progress

MODELS = ("gsu", "linear")
MOST_DENSE = 50_000_000  # numbers of a sparse matrix that is made dense
TABLE, COMMENT = "table.json", b"# table "
LEVELS = (0.5, 0.9)  # intervals whose coverage is measured


class Predictions(NamedTuple):
    """What a classifier says of samples."""

    labels: Array
    decision: FloatArray
    proba: FloatArray | None


class Values(NamedTuple):
    """What a regression says of samples: values, and standard deviations where they are known."""

    values: FloatArray
    std: FloatArray | None


def is_regression(model: Fitted) -> bool:
    return not hasattr(model, "classes_")


def is_linear(model: Fitted) -> bool:
    return isinstance(model, (Model, RegressionModel))


def estimator_class(model: str, task: str) -> type[Any]:
    """Return the estimator that `--model` and the task of the target ask for."""
    import svmgsu

    names = {"gsu": ("GSUClassifier", "GSURegressor"), "linear": ("LinearSVMGSU", "LinearSVRGSU")}
    found: type[Any] = getattr(svmgsu, names[model][task == "regression"])
    return found


def parse_settings(texts: list[str] | None, kind: type[Any]) -> Fields:
    """Read `--set NAME=VALUE` as arguments of an estimator."""
    known = list(inspect.signature(kind).parameters)
    found: Fields = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set: expected NAME=VALUE, got {text!r}")
        if name not in known:
            raise UsageError(f"--set: {kind.__name__} has no parameter {name!r}; it has {', '.join(known)}")
        found[name] = value_of(value)
    return found


def fit(args: argparse.Namespace, dataset: Dataset, task: str) -> Fitted:
    """Train the model that `svmgsu train` asks for."""
    kind = estimator_class(args.model, task)
    settings = parse_settings(args.set, kind)
    threads = args.threads or (1 if is_small(dataset.data) else None)
    if threads is not None:
        settings.setdefault("threads", threads)
    if args.model == "linear":
        if dataset.groups is not None:
            raise UsageError("--groups: linear models make no use of groups")
        return _fit_linear(args, kind, settings, dataset, task)
    data: Matrix = dataset.data
    if args.memory is None and is_sparse(data.mean):
        if data.shape[0] * data.shape[1] > MOST_DENSE:
            raise ValueError("X: sparse and large; --model linear takes it")
        data = Gaussians(data.mean.toarray(), data.cov, feature_names=data.feature_names_in_)
    model = kind(**settings)
    with progress(args, "training", lambda: f"{len(getattr(model, 'members_', ()))} members fitted"):
        if task == "regression":
            return model.fit(data, dataset.y, y_std=dataset.y_std, groups=dataset.groups)
        return model.fit(data, dataset.y, classes=dataset.classes, groups=dataset.groups)


def _fit_linear(
    args: argparse.Namespace, kind: type[Any], settings: Fields, dataset: Dataset, task: str
) -> Model | RegressionModel:
    """Train a linear model of standardised features; its weights are in the units of the table."""
    from sklearn.preprocessing import StandardScaler

    from ..estimators.propagate import Propagate

    data: Matrix = dataset.data
    more: Fields = {"y_std": dataset.y_std} if task == "regression" else {}
    y: Matrix = dataset.y
    if dataset.classes is not None and y is not None:
        y = {label: y[:, k] for k, label in enumerate(dataset.classes.tolist())}
    with progress(args, "training"):
        if args.memory is None:
            scaler = Propagate(StandardScaler(with_mean=not is_sparse(data.mean)))
            scaled = scaler.fit_transform(data)
        else:
            # The scale need not be exact: the first rows are as good as all.
            scaler = Propagate(StandardScaler()).fit(data[: min(len(data), 100_000)])
            scaled = data.map(scaler)
        model: Model | RegressionModel = kind(**settings).fit(scaled, y, **more).model_
    own = scaler.unscale(model)
    model.coef_ = np.reshape(own.coef_, np.shape(model.coef_))
    intercept = np.ravel(own.intercept_)
    model.intercept_ = float(intercept[0]) if task == "regression" else intercept
    model.feature_names_in_ = data.feature_names_in_
    return model


def save_model(path: str, model: Fitted, table: Fields) -> None:
    """Write a model together with what is to be known of tables: target, ids and errors."""
    content = streams.BytesIO()
    model.save(content)
    text = json.dumps(table, ensure_ascii=True)
    if table and is_linear(model):
        head, _, rest = content.getvalue().partition(b"\n")
        content = streams.BytesIO(head + b"\n" + COMMENT + text.encode() + b"\n" + rest)
    elif table:
        with zipfile.ZipFile(content, "a") as archive:
            archive.writestr(TABLE, text)
    with replacing(path) as (file,):
        file.write(content.getvalue())


def load_model(path: str, prior: str | None = None) -> tuple[Any, Fields]:
    """Read a model and what it remembers of the table that it was trained on."""
    content = read_bytes(path)
    named = streams.BytesIO(content)
    named.name = path
    model = load(named)  # type: ignore[arg-type]
    if not (is_linear(model) or hasattr(model, "pool_")):
        kind = type(model).__name__
        raise io.FormatError(f"{path}: holds a {kind}, which predicts neither classes nor numbers")
    if prior is not None:
        if not isinstance(model, Model) or model.calibration_ is None:
            raise ValueError(f"{path}: --prior is for linear classifiers with probabilities")
        shares = by_label("--prior", "LABEL=SHARE", prior, model.classes_.tolist())
        try:
            model.prior_ = check_prior(shares, model.classes_)
        except ValueError as error:
            raise UsageError(f"--{error}") from None
    return model, _table_of(content, path)


def _table_of(content: bytes, path: str) -> Fields:
    text: bytes | str = ""
    if content.startswith(b"PK"):
        with zipfile.ZipFile(streams.BytesIO(content)) as archive:
            text = archive.read(TABLE) if TABLE in archive.namelist() else ""
    else:
        second = content[:65536].split(b"\n", 2)[1:2]
        text = second[0].removeprefix(COMMENT) if second and second[0].startswith(COMMENT) else ""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise io.FormatError(f"{path}: what it says of the table is damaged")
    return found


def predict_classes(args: argparse.Namespace, model: Fitted, data: object) -> Predictions:
    """Predict labels, decision values and probabilities, with the samples' uncertainties if they have any."""

    def one(part: Gaussians) -> Predictions:
        if is_linear(model):
            proba = None if model.calibration_ is None else model.predict_proba(part)
            return Predictions(model.predict(part), model.decision_function(part), proba)
        proba = model.predict_proba(part)
        return Predictions(model.classes_[proba.argmax(axis=1)], model.decision_function(part), proba)

    return Predictions(*_over(args, data, one))


def predict_values(args: argparse.Namespace, model: Fitted, data: object) -> Values:
    """Predicted numbers and their standard deviations; those of linear models come from uncertainties."""

    def one(part: Gaussians) -> Values:
        if is_linear(model) and part.cov is None:
            return Values(model.predict(part), None)
        return Values(*model.predict(part, return_std=True))

    return Values(*_over(args, data, one))


def _over(args: argparse.Namespace, data: Any, one: Matrix) -> tuple[Any, ...]:
    """Apply `one` to all samples, or to one block after another, and join what it gives."""
    with progress(args, "predicting"):
        if isinstance(data, Gaussians):
            return tuple(one(data))
        parts = [one(data[rows]) for rows in data.spans()]
    return tuple(None if part[0] is None else np.concatenate(part) for part in zip(*parts, strict=True))


def scatter_of(model: Fitted) -> float | None:
    """Return the scatter that uncertainties do not explain; pools have it in their std."""
    return float(model.scatter_) if isinstance(model, RegressionModel) and model.scatter_ >= 0 else None


def describe_model(model: Fitted) -> Fields:
    """Facts about a fitted model."""
    facts: Fields = {"model": type(model).__name__, "features": int(model.n_features_in_)}
    if isinstance(model, (Model, RegressionModel)):
        facts["model"] = "linear regression" if is_regression(model) else "linear classifier"
    if not is_regression(model):
        facts["classes"] = model.classes_.tolist()
    if not is_linear(model):
        return facts | {"held-out loss": float(model.pool_.loss), "members": model.pool_.members}
    facts |= {"loss": model.loss, "lam": float(model.lam)}
    if isinstance(model, RegressionModel):
        return facts | {"scatter": scatter_of(model)}
    prior = None if model.prior_ is None else model.prior_.tolist()
    return facts | {"probabilities": model.calibration_ is not None, "prior": prior}


def feature_names(model: Fitted) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(map(str, names))
