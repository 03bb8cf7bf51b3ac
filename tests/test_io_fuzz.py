"""Damaged files end in data or in one error that names the file, never in another exception or a crash."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv, feather, parquet

import svmgsu

NUMBERS = (0, -1, 1, 3, 1000, 2**31 - 1, 2**32 + 1, 2**62, -(2**63), 2**63 - 1)
DTYPES = ("i1", "u8", ">i4", "f2", ">f8", "f4", "c16", "?", "U3", "S3", "M8[s]", "g", "V3", "O")
PIECES = (b",", b"\n", b'"', b"1e999", b"nan", b"4294967297:1", b"\xff", b"\x00")


def archives():
    """Return the arrays of well-formed archives, one for each kind of covariance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 3))
    V = rng.random((5, 3))
    F = rng.normal(size=(5, 2, 3))
    sparse = sp.random_array((5, 3), density=0.5, format="csr", rng=rng)
    found = [{"mean": X, "std": V, "y": np.arange(5) % 2, "feature_names": np.array(["a", "b", "c"])}]
    for mean, cov in (
        (X, svmgsu.Isotropic(V[:, 0])),
        (sparse, svmgsu.Diagonal(abs(sparse))),
        (X, svmgsu.Full(np.einsum("lri,lrj->lij", F, F))),
        (sparse, svmgsu.LowRank(F, V)),
        (X, svmgsu.Shared(np.eye(3))),
    ):
        file = io.BytesIO()
        svmgsu.io.write(
            svmgsu.Gaussians(mean, cov), file, format="npz", y=np.arange(5) % 2, ids=list("abcde")
        )
        file.seek(0)
        found.append(dict(np.load(file).items()))
    return found


def tables():
    """Return the bytes of a table in every format."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.random(6) for name in ("u", "u_err", "g", "g_var")}
    table = pa.table({"id": list("abcdef"), "label": ["p", "q"] * 3, **numbers})
    writers = {"csv": csv.write_csv, "parquet": parquet.write_table, "feather": feather.write_feather}
    out = {}
    for ending, write in writers.items():
        file = io.BytesIO()
        write(table, file)
        out[ending] = file.getvalue()
    return out


class Fuzz:
    """Files changed at random; the same seed changes the same ones."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.archives = archives()
        self.texts = {
            **tables(),
            "txt": b"a 1:0.5 3:-1\nb: 2:1e3\nc 1:1 2:2 3:3\n# end\n",
            "svm": b"+1 1:0.5 3:-1\n-1 2:1e3 # c\n+1 qid:4 1:1 2:2 3:3\n",
        }
        self.texts["csv.gz"] = gzip.compress(self.texts["csv"], mtime=0)

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def draw(self):
        """Return an ending and the bytes of a file."""
        ending = self.pick(["npz", "npz", *self.texts])
        content = self.archive() if ending == "npz" else self.texts[ending]
        return ending, self.changed_bytes(content) if self.rng.random() < 0.6 else content

    def archive(self):
        arrays = dict(self.pick(self.archives))
        for _ in range(int(self.rng.integers(0, 3))):
            key = self.pick(list(arrays))
            arrays[key] = self.changed_array(arrays[key])
        out = io.BytesIO()
        np.savez(out, **arrays)
        return out.getvalue()

    def changed_array(self, array):
        choice = int(self.rng.integers(5))
        try:
            if choice == 0:
                with np.errstate(all="ignore"):
                    return array.astype(self.pick(DTYPES))
            if choice == 1:
                return array.reshape(self.pick([(-1,), (1, -1), (*array.shape, 1)]))
            if choice == 2:
                return array[: int(self.rng.integers(-1, 3))]
        except (ValueError, TypeError, OverflowError):
            return array
        if not array.size or array.dtype.kind not in "fiu":
            return array
        flat = array.ravel().astype(np.float64 if array.dtype.kind == "f" else np.int64)
        values = (np.nan, np.inf, -1.0, 0.0, 1e300) if array.dtype.kind == "f" else NUMBERS
        flat[int(self.rng.integers(flat.size))] = self.pick(values)
        return flat.reshape(array.shape)

    def changed_bytes(self, content):
        out = bytearray(content)
        for _ in range(int(self.rng.integers(1, 5))):
            at = int(self.rng.integers(len(out) + 1))
            choice = int(self.rng.integers(5))
            if choice == 0:
                out[at : at + 1] = bytes([int(self.rng.integers(256))])
            elif choice == 1:
                out[at : at + 8] = int(self.pick(NUMBERS)).to_bytes(8, "little", signed=True)
            elif choice == 2:
                del out[at : at + int(self.rng.integers(1, 9))]
            elif choice == 3:
                del out[at:]
            else:
                out[at:at] = self.pick(PIECES)
        return bytes(out)


def outcome(path):
    """Return "data", "error", or what should not be."""
    try:
        dataset = svmgsu.io.read(path)
        count, n = dataset.data.shape
        if count > 1:
            svmgsu.Objective(dataset.data, np.arange(count) % 2).value(np.ones(n), 0.0)
        assert dataset.y is None or len(dataset.y) == count
        return "data"
    except (ValueError, OSError) as error:
        said = f"{error} {getattr(error, 'filename', '')}"
        return "error" if str(path) in said else f"{type(error).__name__} without the name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("seed", [1, 2])
def test_files_changed_at_random_are_read_or_refused(seed, tmp_path):
    fuzz = Fuzz(seed)
    ends = []
    for _ in range(300):
        ending, content = fuzz.draw()
        path = tmp_path / f"case.{ending}"
        path.write_bytes(content)
        ends.append(outcome(path))
    assert set(ends) <= {"data", "error"}
    assert min(ends.count("data"), ends.count("error")) > 30
