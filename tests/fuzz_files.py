"""Files changed at random, in bytes and in what they hold, and read: tests/fuzz_files.py [COUNT [SEED]].

Every reading must end in data that the core can use, or in one ValueError or OSError that names the file.
"""

import io
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import csv, feather, parquet

import svmgsu

ENDINGS = ("npz", "parquet", "feather", "arrow", "csv", "tsv", "csv.gz", "txt", "svm")
NUMBERS = (0, -1, 1, 2, 3, 1000, -1000, 2**31 - 1, 2**31, 2**32 + 1, 2**62, -(2**63), 2**63 - 1)
DTYPES = ("i1", "u1", "i4", "u8", ">i4", "f2", ">f8", "f4", "c16", "?", "U3", "S3", "M8[s]", "g", "V3", "O")


def archives():
    """Arrays of well-formed archives, one for each kind of covariance."""
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(5, 3)), rng.random((5, 3))
    sparse = sp.random_array((5, 3), density=0.5, format="csr", rng=rng)
    spread = sparse.copy()
    spread.data = abs(spread.data)
    y = np.array([0, 1, 0, 1, 1])
    F = rng.normal(size=(5, 2, 3))
    kinds = (
        svmgsu.Isotropic(V[:, 0]),
        svmgsu.Diagonal(V),
        svmgsu.Diagonal(spread),
        svmgsu.Full(np.einsum("lri,lrj->lij", F, F)),
        svmgsu.LowRank(F, V),
        svmgsu.Shared(np.eye(3)),
    )
    for mean in (X, sparse):
        for cov in kinds:
            file = io.BytesIO()
            svmgsu.io.write_npz(svmgsu.Gaussians(mean, cov), file, y=y, ids=list("abcde"))
            file.seek(0)
            yield dict(np.load(file).items())
    yield {"mean": X, "std": V, "y": y, "feature_names": np.array(["a", "b", "c"])}


def tables():
    """Well-formed tables."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.random(6) for name in ("u", "u_err", "g", "g_var")}
    yield pa.table({"id": list("abcdef"), "label": ["p", "q"] * 3, **numbers})
    yield pa.table({"y": [0, 1] * 3, "_var": rng.random(6), "u": rng.random(6).astype(np.float32)})


def saved(table, ending):
    out = io.BytesIO()
    if ending in ("csv", "tsv"):
        csv.write_csv(table, out, csv.WriteOptions(delimiter="\t" if ending == "tsv" else ","))
    elif ending == "parquet":
        parquet.write_table(table, out)
    else:
        feather.write_feather(table, out, compression="uncompressed" if ending == "arrow" else "lz4")
    return out.getvalue()


class Fuzz:
    """Draws files; the same seed draws the same ones."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.archives, self.tables = list(archives()), list(tables())

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def draw(self):
        """An ending, and the bytes of a file."""
        ending = self.pick(ENDINGS)
        raw = getattr(self, ending.split(".")[0], None) or self._table
        content = raw(ending) if raw == self._table else raw()
        if ending.endswith(".gz"):
            import gzip

            content = gzip.compress(content, mtime=0)
        return ending, self._changed_bytes(content) if self.rng.random() < 0.6 else content

    def npz(self):
        arrays = dict(self.pick(self.archives))
        for _ in range(int(self.rng.integers(0, 3))):
            key = self.pick(list(arrays))
            if self.rng.random() < 0.1:
                del arrays[key]
            elif self.rng.random() < 0.1:
                arrays[key] = arrays[self.pick(list(arrays))]
            else:
                arrays[key] = self._changed_array(arrays[key])
            if not arrays:
                break
        out = io.BytesIO()
        (np.savez if self.rng.random() < 0.7 else np.savez_compressed)(out, **arrays)
        return out.getvalue()

    def _changed_array(self, array):
        choice = int(self.rng.integers(6))
        try:
            if choice == 0:
                with np.errstate(all="ignore"):
                    return array.astype(self.pick(DTYPES))
            if choice == 1:
                return array.reshape(self.pick([(-1,), (1, -1), (-1, 1), (*array.shape, 1)]))
            if choice == 2:
                return array[: int(self.rng.integers(-1, 3))]
            if choice == 3:
                return np.concatenate([array, array])
        except (ValueError, TypeError, OverflowError):
            return array
        flat = np.array(array, dtype=np.float64 if array.dtype.kind == "f" else array.dtype).ravel()
        if not flat.size or flat.dtype.kind not in "fiu":
            return array
        place = int(self.rng.integers(flat.size))
        if flat.dtype.kind == "f":
            flat[place] = self.pick((np.nan, np.inf, -1.0, 0.0, 1e300, -1e-300))
        elif choice == 4:
            flat = flat.astype(np.int64)
            flat[place] = self.pick(NUMBERS)
        else:
            with np.errstate(over="ignore"):
                flat = flat + flat.dtype.type(self.pick((1, 100, 1000)))
        return flat.reshape(array.shape)

    def _table(self, ending):
        table = self.pick(self.tables)
        for _ in range(int(self.rng.integers(0, 3))):
            table = self._changed_table(table)
        try:
            return saved(table, ending.split(".")[0])
        except pa.ArrowException:  # what this format cannot hold
            return saved(self.tables[0], ending.split(".")[0])

    def _changed_table(self, table):
        k = int(self.rng.integers(table.num_columns)) if table.num_columns else -1
        choice = int(self.rng.integers(6))
        if k < 0:
            return table
        name, column, count = table.column_names[k], table.column(k), table.num_rows
        if choice == 0:
            return table.remove_column(k)
        if choice == 1:
            return table.append_column(self.pick(["", name, "\x00", "x" * 300, name + "_err"]), column)
        if choice == 2:
            return table.slice(0, int(self.rng.integers(0, 3)))
        kinds = (
            "float16",
            "int8",
            "uint64",
            "bool",
            "string",
            "large_string",
            "binary",
            "timestamp[s]",
            "date32",
        )
        if choice == 3:
            try:
                return table.set_column(k, name, column.cast(self.pick(kinds)))
            except (pa.ArrowException, ValueError):
                return table
        values = column.to_pylist()
        if choice == 4 and values:
            values[int(self.rng.integers(len(values)))] = self.pick(
                (None, 0, -1, 1e308, float("nan"), "z", b"\xff")
            )
        elif choice == 5:
            values = self.pick(
                ([[1.0]] * count, [{"a": 1}] * count, [None] * count, ['\ud7ff\x00,"\n'] * count)
            )
        try:
            return table.set_column(k, name, pa.array(values))
        except (pa.ArrowException, TypeError, OverflowError):
            return table

    def txt(self):
        return b"a 1:0.5 3:-1\nb: 2:1e3\nc 1:1 2:2 3:3\n# end\n" * int(self.rng.integers(1, 3))

    def svm(self):
        return b"+1 1:0.5 3:-1\n-1 2:1e3 # c\n+1 qid:4 1:1 2:2 3:3\n"

    def _changed_bytes(self, content):
        out = bytearray(content)
        for _ in range(int(self.rng.integers(1, 5))):
            at = int(self.rng.integers(len(out) + 1))
            choice = int(self.rng.integers(6))
            if choice == 0:
                out[at : at + 1] = bytes([int(self.rng.integers(256))])
            elif choice == 1:
                out[at : at + 8] = int(self.pick(NUMBERS)).to_bytes(8, "little", signed=True)
            elif choice == 2:
                del out[at : at + int(self.rng.integers(1, 9))]
            elif choice == 3:
                del out[at:]
            elif choice == 4:
                start = int(self.rng.integers(len(out) + 1))
                out[at:at] = out[start : start + int(self.rng.integers(30))]
            else:
                out[at:at] = self.pick(
                    (b",", b"\n", b'"', b"1e999", b"nan", b"4294967297:1", b"\xff", b"\x00")
                )
        return bytes(out)


def outcome(path):
    """ "data", "error", or what should not be: another exception, or one that does not name the file."""
    try:
        dataset = svmgsu.io.read(path)
        data, y = dataset.data, dataset.y
        repr(data)
        count, n = data.shape
        ones = np.ones(count)
        svmgsu._core.Objective(data.labelled(ones, ones, None), 1.0, 1, True).value_and_gradient(
            np.ones(n), 0.0
        )
        assert y is None or len(y) == count
        return "data"
    except (ValueError, OSError) as error:
        said = f"{error} {getattr(error, 'filename', '')}"
        return "error" if str(path) in said else f"{type(error).__name__} without the name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def run(count, seed, folder):
    """How readings ended: {"data": ..., "error": ..., anything else: ...}."""
    fuzz, ends = Fuzz(seed), {}
    for k in range(count):
        ending, content = fuzz.draw()
        path = Path(folder) / f"case.{ending}"
        path.write_bytes(content)
        end = outcome(path)
        ends[end] = ends.get(end, 0) + 1
        if end not in ("data", "error"):
            Path(folder, f"wrong-{seed}-{k}.{ending}").write_bytes(content)
    return ends


if __name__ == "__main__":
    count, seed = (int(word) for word in [*sys.argv[1:], *("10000", "1")[len(sys.argv) - 1 :]])
    warnings.simplefilter("error")
    began = time.perf_counter()
    where = tempfile.mkdtemp(prefix="svmgsu-fuzz-")
    for end, number in sorted(run(count, seed, where).items(), key=lambda item: -item[1]):
        print(f"{number:8}  {end[:300]}")
    print(f"{count} files, seed {seed}, {time.perf_counter() - began:.0f} s, in {where}")
