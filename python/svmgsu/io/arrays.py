"""NumPy archives, .npz, which hold everything under these keys:

| key | array |
|---|---|
| mean | (l, n); sparse: mean_data, mean_indices, mean_indptr, mean_shape |
| isotropic | (l,) or a number: one variance per sample |
| var | (l, n) variances; sparse: var_data, var_indices, var_indptr, var_shape |
| std | a number, (l,) or (l, n) standard deviations (read only) |
| cov | (l, n, n) matrices (read only; written packed) |
| packed | (l, n(n+1)/2) upper triangles |
| factors | (l, r, n), or (rows, n) with start (l + 1,); with diagonal (l, n) if there is one |
| shared | (n,) or (n, n): one covariance for all |
| y, ids, feature_names | labels, ids, names of the columns |
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from typing import IO

import numpy as np

from .. import _core
from ..data.covariances import Psd
from ..data.covariances.base import READERS
from ..data.gaussians import Gaussians
from ..support.arrays import squared
from ..support.memory import NotEnoughMemory, require_memory
from ..support.sparse import SPARSE_PARTS, matrix_of, parts_of
from ..support.validation import DEVIATIONS, Array, ArrayLike, as_float_array
from .dataset import Dataset, Report, as_dataset
from .files import Path, Source, damaged, is_path, mappable, name_of
from .output import replacing

KEYS = {"mean", "mean_data", "std", "y", "ids", "feature_names"}  # and those of the kinds


def read_npz(path: Source, *, psd: Psd = "clip") -> Dataset:
    """Read an .npz file."""
    name = name_of(path)
    arrays = load_archive(path, name)
    check_keys(arrays, name)
    try:
        data = examples_of(arrays, psd)
        dataset = as_dataset(data, arrays.get("y"), arrays.get("ids"))
    except (ValueError, TypeError) as error:
        raise _core.FormatError(f"{name}: {error}") from None
    used = KEYS.union(*((*kind.keys, *kind.more_keys) for kind in READERS.values()))
    unused = sorted(k for k in arrays if k not in used and k.partition("_")[2] not in SPARSE_PARTS)
    dataset.report = Report(
        {name: len(data)}, notes=[f"{name}: not used: {', '.join(unused)}"] if unused else []
    )
    return dataset


def check_keys(arrays: Iterable[str], name: str) -> None:
    """Refuse an archive without means, or with more than one covariance."""
    there = set(arrays)
    kinds = [key for key in (*READERS, "std") if key in there]
    if len(kinds) > 1:
        raise _core.FormatError(f"{name}: more than one covariance: {', '.join(kinds)}")
    if "mean" not in there and "mean_data" not in there:
        raise _core.FormatError(f"{name}: there is no array 'mean'; there are {sorted(there)}")


def examples_of(arrays: dict[str, Array], psd: Psd) -> Gaussians:
    """Return the samples in the arrays of an archive."""
    mean = matrix_of(arrays, "mean")
    names = arrays.get("feature_names")
    if names is not None and names.ndim != 1:
        raise ValueError(f"feature_names: expected one name per feature, got an array of shape {names.shape}")
    arrays = _with_variances(arrays)
    reader = next((READERS[key] for key in READERS if key in arrays), None)
    cov = None if reader is None else reader.from_arrays(arrays, psd)
    return Gaussians(mean, cov, feature_names=None if names is None else names.tolist())


def load_archive(path: Source, name: str) -> dict[str, Array]:
    """Read all arrays of an archive; refuse those of objects, which are pickles."""
    content = mappable(path)
    with damaged(path, ".npz file"), contextlib.ExitStack() as closing:
        file: IO[bytes] = io.BytesIO(content) if isinstance(content, bytes) else open(content, "rb")  # noqa: SIM115
        closing.enter_context(file)
        try:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it is one array, a .npy file")
            closing.enter_context(archive)
            require_memory(sum(item.file_size for item in archive.zip.infolist()), f"{name}: what it holds")
            return {key: value for key, value in archive.items() if isinstance(value, np.ndarray)}
        except NotEnoughMemory:
            raise
        except ValueError as error:
            raise _core.FormatError(f"{name}: not a readable .npz file ({error})") from None


def _with_variances(arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays with variances in place of standard deviations."""
    if "std" not in arrays:
        return arrays
    std = as_float_array(arrays["std"], "std", (0, 1, 2), DEVIATIONS)
    return arrays | {"var" if std.ndim == 2 else "isotropic": squared(std)}


def write_npz(
    data: object, path: Source, *, y: ArrayLike = None, ids: ArrayLike = None, compress: bool = False
) -> None:
    """Write samples, labels and ids to one .npz file; sums and covariances per class become full."""
    dataset = as_dataset(data, y, ids)
    gaussians = dataset.data
    arrays = parts_of(gaussians.mean, "mean")
    if gaussians.cov is not None:
        arrays |= gaussians.cov.arrays(*gaussians.shape, dataset.y)
    if dataset.y is not None:
        arrays["y"] = dataset.y
    if dataset.ids is not None:
        arrays["ids"] = dataset.ids.astype(np.str_)
    if dataset.data.feature_names_in_ is not None:
        arrays["feature_names"] = np.array(dataset.data.feature_names_in_)
    refuse_packed(path, "pass compress=True")
    with replacing(path) as (file,):
        (np.savez_compressed if compress else np.savez)(file, **arrays)


def refuse_packed(path: Source, instead: str) -> None:
    name = name_of(path)
    if is_path(path) and name.lower().endswith((".gz", ".xz")):
        raise ValueError(f"{name}: NumPy files are not packed by gzip or xz; {instead}")


def map_array(path: Path) -> Array:
    """Map the array of a .npy file."""
    if not is_path(path) or path == "-":
        raise ValueError(f"{name_of(path)}: .npy files are mapped, so they must be paths")
    refuse_packed(path, "unpack it, or use .npz")
    with open(path, "rb"):  # for Python's own errors
        pass
    with damaged(path, ".npy file"):
        try:
            array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError) as error:
            raise _core.FormatError(f"{name_of(path)}: not a readable .npy file ({error})") from None
    if not isinstance(array, np.ndarray):
        raise _core.FormatError(f"{name_of(path)}: expected one array; it is an .npz file")
    return array
