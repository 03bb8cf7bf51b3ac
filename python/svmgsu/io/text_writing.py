"""Writing lines `lead j:v j:v ...`: the authors' three files, and svmlight. Numbers read back exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.covariances import Covariance
from ..data.gaussians import Gaussians
from ..support.memory import require_memory
from ..support.sparse import SparseRows
from ..support.validation import Array, is_sparse
from .dataset import as_dataset
from .files import Source, encoded
from .output import replacing

NUMBERS_A_BLOCK = 2**18
NUMBER_BYTES = 32.0  # a number and its text


def write_text(
    data: Any,
    means: Source,
    labels: Source | None = None,
    cov: Source | None = None,
    *,
    y: Any = None,
    ids: Any = None,
) -> None:
    """Writes examples as the authors' text files, which appear together or not at all.

    Parameters
    ----------
    data : Dataset, Gaussians or array
    means, labels, cov : path, "-" or binary file
        Where to write; .gz and .xz compress. Without `cov` the covariances are not written.
    y, ids : arrays of shape (l,), optional
        Labels, which must be numbers, and ids without blanks; by default those of `data`, or ids 1, 2, ...

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> svmgsu.io.write_text([[0.5, 0.0], [0.0, -1.25]], file, ids=["a", "b"])
    >>> print(file.getvalue().decode(), end="")
    a 1:0.5
    b 2:-1.25
    """
    dataset = as_dataset(data, y, ids)
    gaussians = dataset.data
    names = check_ids(dataset.ids, len(gaussians))
    blocks: list[tuple[Source, Iterator[bytes]]] = [(means, _mean_lines(gaussians, names))]
    if labels is not None:
        if dataset.y is None:
            raise ValueError("y: there are no labels to write")
        leads = label_texts(dataset.y)
        text = "".join(f"{i} {label}\n" for i, label in zip(names, leads, strict=True))
        blocks.append((labels, iter([encoded(text)])))
    if cov is not None:
        if gaussians.cov is None:
            raise ValueError("cov: the examples have no covariance to write")
        blocks.append((cov, _cov_lines(gaussians.cov, names, gaussians.shape[1], dataset.y)))
    _write(blocks)


def write_svmlight(data: Any, path: Source, cov: Source | None = None, *, y: Any = None) -> None:
    """Writes `label j:v ...` lines as svmlight and libsvm read them; variances in a second file of this form.

    Parameters
    ----------
    data : Dataset, Gaussians or array
    path, cov : path, "-" or binary file
        The means, and the variances, which must be isotropic or diagonal.
    y : array of shape (l,), optional
        Labels; by default those of `data`, or zeros.

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> svmgsu.io.write_svmlight([[0.5, 0.0], [0.0, -1.25]], file, y=[1, -1])
    >>> print(file.getvalue().decode(), end="")
    1 1:0.5
    -1 2:-1.25
    """
    dataset = as_dataset(data, y)
    gaussians = dataset.data
    leads = label_texts(dataset.y) if dataset.y is not None else ["0"] * len(gaussians)
    blocks: list[tuple[Source, Iterator[bytes]]] = [(path, _mean_lines(gaussians, leads))]
    if cov is not None:
        variances = dataset.variances()
        blocks.append((cov, _lines(variances, leads, "feature", gaussians.shape[1])))
    _write(blocks)


def check_ids(ids: Array | None, count: int) -> list[str]:
    """Ids that a line of text can begin with, all different."""
    if ids is None:
        return [str(k + 1) for k in range(count)]
    texts = [str(i) for i in ids]
    seen: dict[str, int] = {}
    for k, text in enumerate(texts):
        shown = encoded(text).decode(errors="replace")  # an id read from a file may be bytes of any encoding
        if text.split() != [text] or text.startswith("#") or not shown.isprintable():
            raise ValueError(f"ids: {text!r} of example {k} must be a word: no blanks, no # at its beginning")
        bare = text[:-1] if len(text) > 1 and text.endswith(":") else text
        if seen.setdefault(bare, k) != k:
            raise ValueError(f"ids: examples {seen[bare]} and {k} have the same id, {text!r}")
    return texts


def label_texts(y: Array) -> list[str]:
    """Labels as text; they must be numbers."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
        raise ValueError(
            f"y: labels in text files must be finite numbers, got {labels.dtype} {labels[:3].tolist()}"
        )
    return [repr(int(v) if v == int(v) else float(v)) for v in labels.tolist()]


def _write(blocks: list[tuple[Source, Iterator[bytes]]]) -> None:
    with replacing(*(target for target, _ in blocks)) as files:
        for file, (_, pieces) in zip(files, blocks, strict=True):
            for piece in pieces:
                file.write(piece)


def _mean_lines(gaussians: Gaussians, leads: list[str]) -> Iterator[bytes]:
    return _lines(gaussians.mean, leads, "feature", gaussians.shape[1])


def _cov_lines(cov: Covariance, names: list[str], n: int, y: Array | None) -> Iterator[bytes]:
    each, variances = cov.each_variance(len(names)), cov.independent(len(names), n)
    if each is not None:
        pairs = zip(names, each.astype(np.float64).tolist(), strict=True)
        return iter([encoded("".join(f"{name} 1,1:{value!r}\n" for name, value in pairs))])
    if variances is not None:
        return _lines(variances, names, "diagonal", n)
    return _full_lines(cov, names, n, y)


def _lines(matrix: Any, leads: list[str], style: Literal["feature", "diagonal"], n: int) -> Iterator[bytes]:
    """The rows of a dense or sparse matrix as lines, some at a time."""
    largest = _largest_index(matrix)
    # What a reader could not know from the nonzeros: how many features there are, and that these are
    # not isotropic variances.
    hidden = 2 if style == "diagonal" and largest < 2 <= n else n if style == "feature" and largest < n else 0
    extra = (
        b"" if not hidden else b" %d,%d:0" % (hidden, hidden) if style == "diagonal" else b" %d:0" % hidden
    )
    step = max(1, NUMBERS_A_BLOCK // n)
    if not is_sparse(matrix):
        require_memory(NUMBER_BYTES * step * n, f"X: text of {n} numbers per line")
    for first in range(0, len(leads), step):
        rows = slice(first, first + step)
        if is_sparse(matrix):
            part = SparseRows(matrix[rows], "X")
            values = np.ascontiguousarray(part.value, dtype=np.float64)
            block = _core.format_sparse(leads[rows], values, part.column, part.start, style)
        else:
            block = _core.format_dense(leads[rows], _doubles(matrix[rows]), n, style)
        yield block.replace(b"\n", extra + b"\n", 1) if first == 0 and extra else block


def _largest_index(matrix: Any) -> int:
    """1-based index of the last column that is written; 0 if none is."""
    if is_sparse(matrix):
        csr = matrix.tocsr()
        shown = csr.indices[(csr.data != 0) | np.signbit(csr.data)]
        return int(shown.max(initial=-1)) + 1
    for j in range(matrix.shape[1], 0, -1):
        column = matrix[:, j - 1]
        if column.any() or np.signbit(column).any():
            return j
    return 0


def _full_lines(cov: Covariance, names: list[str], n: int, y: Array | None) -> Iterator[bytes]:
    """Any covariance as upper triangles, a few examples at a time."""
    step = max(1, NUMBERS_A_BLOCK // (n * n))
    require_memory(2.0 * NUMBER_BYTES * step * n * n, f"cov: text of full covariances of {n} features")
    for first in range(0, len(names), step):
        rows = slice(first, min(first + step, len(names)))
        yield _core.format_dense(names[rows], _doubles(cov.triangles(rows, n, y)), n, "packed")


def _doubles(a: Any) -> Any:
    return np.ascontiguousarray(a, dtype=np.float64)
