"""Training sets in files: the same bits as in memory, whatever the windows, the threads and the precision."""

import numpy as np
import pytest

import svmgsu
from svmgsu import _core
from svmgsu.engines.streamed import FlatFile, StreamedSet

KINDS = ["none", "isotropic", "diagonal", "low_rank", "full", "shared", "groups", "sum"]


class Files:
    """Made data, as arrays and as .npy files."""

    def __init__(self, folder, kind, dtype="float64", examples=700, features=5, seed=0, values=False):
        rng = np.random.default_rng(seed)
        self.folder, self.dtype, self.n = folder, np.dtype(dtype), features
        sign = np.where(rng.random(examples) < 0.4, -1.0, 1.0)
        self.X = (rng.normal(size=(examples, features)) + 0.7 * sign[:, None] + 2.0).astype(dtype)
        self.y = self.X @ rng.normal(size=features) + rng.normal(size=examples) if values else sign
        self.y = np.asarray(self.y, dtype=np.float64)
        self.weights = rng.uniform(0.5, 2.0, examples)
        self.arrays, self.core_terms, self.terms, self.rng = [], [], [], rng
        for part in ("isotropic", "diagonal") if kind == "sum" else (kind,):
            self.add(part, examples)
        self.means = self.file("means", self.X)

    def file(self, name, array):
        path = self.folder / f"{name}.npy"
        np.save(path, array)
        return FlatFile.from_npy(path)

    def add(self, kind, examples):
        n, rng = self.n, self.rng
        if kind == "none":
            return
        if kind in ("shared", "groups"):
            packed = rng.uniform(0.1, 1.0, (3 if kind == "groups" else 1, n))
            group = rng.integers(0, 3, examples).astype(np.int32) if kind == "groups" else None
            self.core_terms.append((_core.shared(packed, n, True, group), 0.7))
            self.terms.append(("shared", packed, 0.7, True, group))
            return
        if kind == "full":
            root = rng.normal(size=(examples, n, n)) / n
            both = root @ root.transpose(0, 2, 1)
            array = np.ascontiguousarray(both[:, np.triu_indices(n)[0], np.triu_indices(n)[1]].astype(self.dtype))
            core = _core.full(array, n)
        elif kind == "low_rank":
            array = rng.normal(size=(examples, 2, n)).astype(self.dtype) / 2
            core = _core.low_rank(array.reshape(-1, n), np.arange(0, 2 * examples + 1, 2))
        elif kind == "isotropic":
            array = rng.uniform(0.1, 1.0, examples).astype(self.dtype)
            core = _core.isotropic(array)
        else:
            array = rng.uniform(0.1, 1.0, (examples, n)).astype(self.dtype)
            core = _core.diagonal(array)
        self.arrays.append(array)
        self.core_terms.append((core, 0.9))
        self.terms.append((kind, self.file(kind, array), 0.9))

    def memory(self, values=False):
        make = _core.valued if values else _core.labelled
        return make(_core.dense_means(self.X), tuple(self.core_terms), self.y, self.weights)

    def streamed(self, values=False, **more):
        task = "regression" if values else "classification"
        return StreamedSet(self.means, self.terms, self.y, self.weights, task, **more)


def options(loss=None, threads=1, **more):
    made = _core.Options()
    made.lam, made.threads, made.tolerance = 0.01, threads, 1e-7
    if loss is not None:
        made.loss = _core.Loss(loss)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def bits(result):
    return result.w.tobytes(), result.b, result.objective, result.gap, result.iterations


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_train_to_the_bits_of_memory(tmp_path, kind, dtype):
    files = Files(tmp_path, kind, dtype)
    wanted = bits(_core.solve(files.memory(), options()))
    for window in (1, 67, 10_000):
        found = _core.solve(files.streamed(window=window).core, options(threads=1 + window % 3))
        assert bits(found) == wanted
