"""Flat files are trained on where they are, to the bits of memory, and files that change are refused."""

import numpy as np
import pytest

import svmgsu

SETTINGS = {"probability": False, "tol": 1e-7}


def saved(folder, count=3000, n=4, offset=2.0, dtype="float64", memory="2GB"):
    """Samples as arrays, and the same in .npy files."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(count) < 0.4, -1, 1)
    X = (rng.normal(size=(count, n)) + 0.7 * y[:, None] + offset).astype(dtype)
    V = rng.uniform(0.1, 1.0, (count, n)).astype(dtype)
    for name, array in (("X", X), ("y", y), ("V", V)):
        np.save(folder / f"{name}.npy", array)
    return X, y, V, svmgsu.open(*(folder / f"{name}.npy" for name in "XyV"), memory=memory)


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.objective_, model.gap_, model.n_iter_


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_window_and_number_of_threads_have_the_bits_of_memory(tmp_path, dtype, threads):
    X, y, V, blocks = saved(tmp_path, 9000, offset=1e4, dtype=dtype)
    wanted = bits(svmgsu.train(X, y, svmgsu.Diagonal(V), threads=2, **SETTINGS))
    for memory in (1_500_000, 5_000_000, 2**31):
        blocks.memory = memory
        assert bits(svmgsu.train(blocks, threads=threads, **SETTINGS)) == wanted


def test_the_least_memory_has_the_same_bits(tmp_path):
    X, y, _, _ = saved(tmp_path, 200_000, 2)
    with pytest.raises(ValueError, match=r"at least (\d+) bytes") as refused:
        svmgsu.open(tmp_path / "X.npy", tmp_path / "y.npy", memory=2**16)
    least = int(str(refused.value).split("at least ")[1].split(" ")[0])
    blocks = svmgsu.open(tmp_path / "X.npy", tmp_path / "y.npy", memory=least)
    assert bits(svmgsu.train(blocks, **SETTINGS)) == bits(svmgsu.train(X, y, **SETTINGS))


@pytest.mark.parametrize("row", [1234, 2999])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("X", np.nan, "means: example {} has nan at feature 3"),
        ("V", -1.0, "covariance: example {} has variance -1 at feature 3"),
    ],
)
def test_a_bad_number_is_named_by_its_row_in_the_file(tmp_path, row, name, value, words):
    saved(tmp_path)
    array = np.load(tmp_path / f"{name}.npy")
    array[row, 3] = value
    np.save(tmp_path / f"{name}.npy", array)
    blocks = svmgsu.open(*(tmp_path / f"{name}.npy" for name in "XyV"))
    with pytest.raises(ValueError, match=words.format(row)):
        svmgsu.train(blocks)


@pytest.mark.parametrize("how", ["shorter", "written"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, how):
    *_, blocks = saved(tmp_path)

    def change(progress):
        if progress.iteration < 1:
            return
        with open(tmp_path / "X.npy", "r+b") as stream:
            if how == "shorter":
                stream.truncate(1000)
            else:
                stream.write(stream.read(1))

    with pytest.raises(ValueError, match=r"X.npy: the file has changed while it was read"):
        svmgsu.train(blocks, callback=change, **SETTINGS)


def test_a_callback_a_time_limit_and_ctrl_c_end_a_training(tmp_path):
    *_, blocks = saved(tmp_path)
    stopped = svmgsu.train(blocks, callback=lambda progress: progress.iteration < 1, **SETTINGS)
    assert stopped.status_ == "stopped" and stopped.gap_ >= 0
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning, match="max_time"):
        assert svmgsu.train(blocks, max_time=1e-9, **SETTINGS).status_ == "limit"

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        svmgsu.train(blocks, callback=interrupt, **SETTINGS)
