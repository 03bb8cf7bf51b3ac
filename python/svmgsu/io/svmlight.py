"""svmlight and libsvm files, `label j:v ...`, with a second file of this form for the variances."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..data.covariances import Diagonal
from ..data.gaussians import Gaussians
from ..support.validation import check_count
from .dataset import Dataset, Report, plain_labels
from .files import Source, name_of
from .text import MOST_FEATURES, Layout, Parser


def read_svmlight(
    path: Source,
    cov: Source | None = None,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    sparse: bool | None = None,
    threads: int | None = None,
    verbose: bool = False,
) -> Dataset:
    """Reads lines `label j:v j:v ...`; `qid:` items and comments are skipped.

    Parameters
    ----------
    path, cov : path, "-" or file
        The means, and the variances of the same examples in the same order, with the same labels.
    n_features : int, optional
        By default the largest index of the two files.
    zero_based : bool, default=False
        Whether indices begin at 0, as in files of scikit-learn's `dump_svmlight_file`.
    sparse, threads, verbose
        As for `read_text`.

    Examples
    --------
    >>> import io, svmgsu
    >>> data, y = svmgsu.io.read_svmlight(io.StringIO("+1 1:0.5 3:2\\n-1 2:1  # comment\\n"))
    >>> data.mean
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    """
    parse = Parser(threads, verbose)
    most = MOST_FEATURES if n_features is None else check_count(n_features, "n_features")
    asked = "" if n_features is None else f"n_features={n_features}"
    means_name = name_of(path, "means")
    means = parse(path, means_name, "svmlight", most, asked, zero_based=zero_based)
    rows, cov_name = None, "" if cov is None else name_of(cov, "cov")
    if cov is not None:
        rows = parse(cov, cov_name, "svmlight", most, asked, zero_based=zero_based)
    n = n_features or max(means.features, 0 if rows is None else rows.features)
    if n == 0:
        raise _core.FormatError(f"{means_name}: all means are zero; pass n_features= to say how many")
    report = Report(found={means_name: means.examples})
    layout = Layout(n, sparse, parse.threads)
    y = means.take_label()
    kind = None
    if rows is not None:
        _check_same_examples(rows, cov_name, y, means_name)
        report.found[cov_name] = rows.examples
        kind = Diagonal(layout.matrix(rows, np.arange(rows.examples)), name=cov_name)
    data = Gaussians(layout.matrix(means, np.arange(len(y))), kind)
    report.notes += layout.notes
    return Dataset(data, plain_labels(y), report=report)


def _check_same_examples(rows: _core.TextRows, name: str, y: np.ndarray, means_name: str) -> None:
    if rows.examples != len(y):
        raise _core.FormatError(f"{name}: {rows.examples} examples, but {means_name} has {len(y)}")
    labels = rows.take_label()
    if (labels != y).any():
        k = int(np.argmax(labels != y))
        raise _core.FormatError(
            f"{name}:{rows.line(k)}: label {labels[k]:g}, but example {k + 1} of {means_name} has {y[k]:g}"
        )
