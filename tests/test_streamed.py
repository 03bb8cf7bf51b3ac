"""Training sets in files: the same bits as in memory, whatever the windows, the threads and the precision."""

import numpy as np
import pytest

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
            rows, columns = np.triu_indices(n)
            array = np.ascontiguousarray(both[:, rows, columns].astype(self.dtype))
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


@pytest.mark.parametrize("name, task", [(name, task) for name, task, _, _ in _core.known_losses()])
def test_every_loss_has_the_bits_of_memory(tmp_path, name, task):
    values = task == "regression"
    files = Files(tmp_path, "diagonal", "float32", 3000, values=values)
    wanted = _core.solve(files.memory(values), options(name))
    assert bits(_core.solve(files.streamed(values, window=500).core, options(name, 2))) == bits(wanted)


@pytest.mark.parametrize("kind", ["diagonal", "low_rank", "full"])
def test_far_from_the_origin_and_many_examples(tmp_path, kind):
    files = Files(tmp_path, kind, "float64", 9000, 4)
    files.X += 1e6
    files.means = files.file("means", files.X)
    wanted = bits(_core.solve(files.memory(), options(threads=3)))
    data = files.streamed(window=900)
    assert bits(_core.solve(data.core, options(threads=2))) == wanted


def test_a_small_budget_remembers_one_point_and_has_the_same_bits(tmp_path):
    files = Files(tmp_path, "none", "float64", 300_000, 2)  # hinge-like: line searches, Newton's products
    plain = files.streamed()
    small = files.streamed(memory=plain.least_memory)
    assert small.core.lean and not plain.core.lean
    wanted = bits(_core.solve(files.memory(), options()))
    assert bits(_core.solve(plain.core, options())) == wanted
    assert bits(_core.solve(small.core, options())) == wanted
    assert plain.reads < small.reads < 3 * plain.reads


def test_a_budget_that_is_too_small_names_the_least_that_would_do(tmp_path):
    files = Files(tmp_path, "diagonal")
    least = files.streamed().least_memory
    with pytest.raises(ValueError, match=rf"memory: {least - 1} bytes, but 700 examples .* at least {least}"):
        files.streamed(memory=least - 1)
    assert bits(_core.solve(files.streamed(memory=least).core, options())) == bits(
        _core.solve(files.memory(), options())
    )


def test_the_bytes_that_are_read_are_counted(tmp_path):
    files = Files(tmp_path, "diagonal", "float32", 3001, 7)
    data = files.streamed(window=999)
    _core.solve(data.core, options())
    assert data.bytes_read >= 3001 * 7 * 4 * 2


@pytest.mark.parametrize("row", [0, 1234, 2999])
@pytest.mark.parametrize("value, words", [(np.nan, "has nan"), (-1.0, "has variance -1")])
def test_a_bad_number_is_named_by_its_row_in_the_file(tmp_path, row, value, words):
    files = Files(tmp_path, "diagonal", "float32", 3000, 4)
    which, array = ("means", files.X) if np.isnan(value) else ("covariance", files.arrays[0])
    array[row, 3] = value
    files.file("means" if which == "means" else "diagonal", array)
    with pytest.raises(ValueError, match=f"{which}: example {row} {words} at feature 3"):
        _core.solve(files.streamed(window=500).core, options())


def test_a_file_that_is_truncated_is_refused(tmp_path):
    files = Files(tmp_path, "diagonal")
    path = tmp_path / "diagonal.npy"
    with open(path, "r+b") as stream:
        stream.truncate(path.stat().st_size - 1)
    with pytest.raises(ValueError, match=r"diagonal.npy: \d+ bytes, but 700 rows of 5 numbers .* truncated"):
        files.streamed()


@pytest.mark.parametrize("how", ["shorter", "written"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, how):
    files = Files(tmp_path, "diagonal", examples=3000)
    path = tmp_path / "means.npy"

    def change(progress):
        if progress.iteration < 1:
            return
        with open(path, "r+b") as stream:
            if how == "shorter":
                stream.truncate(1000)
            else:
                stream.write(stream.read(1))

    with pytest.raises(ValueError, match=r"means.npy: the file has changed while it was read"):
        _core.solve(files.streamed(window=300).core, options(), change)


def test_the_callback_and_the_time_limit_stop_it(tmp_path):
    files = Files(tmp_path, "diagonal", examples=3000)
    data = files.streamed(window=100).core
    assert _core.solve(data, options(), lambda progress: progress.iteration < 1).stop == "callback"
    assert _core.solve(data, options(max_seconds=0.0)).stop == "time"

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.solve(data, options(), interrupt)


def test_what_does_not_fit_together_is_refused(tmp_path):
    files = Files(tmp_path, "diagonal")
    other = FlatFile(files.means.path, "float64", 699, 5, files.means.offset)
    with pytest.raises(ValueError, match=r"diagonal.npy: 700 rows, but the means have 699"):
        StreamedSet(other, files.terms, files.y[:699])
    with pytest.raises(ValueError, match="labels: 699 for 700 examples"):
        StreamedSet(files.means, files.terms, files.y[:699])
    with pytest.raises(ValueError, match="No such file"):
        StreamedSet(FlatFile(str(tmp_path / "none.npy"), "float64", 700, 5), (), files.y)
    with pytest.raises(ValueError, match="dtype: expected float32 or float64, got 'int8'"):
        FlatFile("x", "int8", 1, 1)
    with pytest.raises(ValueError, match="solver sgd: it draws examples by chance"):
        _core.solve(files.streamed().core, options(solver="sgd"))


def test_chosen_rows_cost_at_most_a_reading_each_time(tmp_path):
    files = Files(tmp_path, "diagonal", "float32", 60_000, 30)
    data = files.streamed()
    result = _core.solve(data.core, options(tolerance=1e-3))
    chosen = 3  # to centre the data, for a start, and for the Hessian
    assert result.stop == "converged" and data.reads < result.history[-1].passes + chosen + 0.1
