"""Models from files."""

from __future__ import annotations

import io
import math
import os

from .. import _core
from ..support.types import Fitted
from .calibration import Calibration
from .classifier import Model, labels_from_texts
from .regressor import RegressionModel

ARCHIVE = b"PK\x03\x04"  # how files of models that are no text begin


def load(path: str | os.PathLike[str]) -> Fitted:
    """Read the model that `save`, the C++ library or the authors' gsvm-train wrote to `path`.

    Parameters
    ----------
    path : str or path
        The file. None is a pickle: nothing in it is run, and what does not fit together is refused.

    Returns
    -------
    Model, RegressionModel, GSUClassifier or GSURegressor
        What the file holds.

    Examples
    --------
    >>> import numpy as np, svmgsu, tempfile, os
    >>> model = svmgsu.train(np.array([[-1.0], [1.0]]), ["no", "yes"], std=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "m.svmgsu"))
    ...     again = svmgsu.load(os.path.join(folder, "m.svmgsu"))
    >>> bool((again.coef_ == model.coef_).all()), again.classes_.tolist()
    (True, ['no', 'yes'])
    """
    from ..io.files import name_of, read_bytes

    content = read_bytes(path)
    if not content.startswith(ARCHIVE):
        return parse(content, name_of(path))
    from ..estimators.archive import load as read

    archive = io.BytesIO(content)
    archive.name = name_of(path)
    return read(archive, archive.name)


def parse(text: bytes, name: str) -> Model | RegressionModel:
    """Return the linear model in the content of a file; messages call it `name`."""
    if text.startswith(ARCHIVE):
        raise _core.FormatError(f"{name}: an archive (.npz), not a linear model; svmgsu predict reads it")
    try:
        found = _core.parse_model(text, name)
    except UnicodeDecodeError as error:  # names are checked by the core; labels are the only other text
        raise OSError(f"{name}:2: the labels cannot be read ({error})") from None
    return _regression(found) if found["task"] == "regression" else _classifier(found, name)


def _regression(found: _core.ModelItems) -> RegressionModel:
    return RegressionModel(
        coef_=found["w"][0],
        intercept_=float(found["b"][0]),
        lam=found["lam"],
        loss=found["loss"],
        epsilon=None if math.isnan(found["loss_parameter"]) else found["loss_parameter"],
        scatter_=found["scatter"],
        feature_names_in_=found["names"] or None,
    )


def _classifier(found: _core.ModelItems, name: str) -> Model:
    try:
        classes = labels_from_texts(found["label_type"], found["labels"])
    except (ValueError, OverflowError) as error:  # the line that `save` writes them on
        raise OSError(f"{name}:2: the labels cannot be read ({error})") from None
    rows = found["calibration"].tolist()
    calibration = tuple(Calibration(*row) for row in rows)
    return Model(
        coef_=found["w"],
        intercept_=found["b"],
        classes_=classes,
        lam=found["lam"],
        loss=found["loss"],
        multi_class=found["multi_class"],
        cov_mat_type_=found["cov_mat_type"],
        calibration_=calibration or None,
        prior_=found["prior"] if len(found["prior"]) else None,
        class_weight_=found["class_weight"] if len(found["class_weight"]) else None,
        feature_names_in_=found["names"] or None,
    )
