"""`svmgsu.open`: samples from files of every format, block by block, are what the readers give at once."""

import gc
import pickle
import tempfile

import numpy as np
import pytest
from block_cases import KINDS, L, covariance, examples, same, whole

import svmgsu
from svmgsu.outofcore.blocks import ChangedError


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_every_format_gives_what_its_reader_gives(tmp_path, ending, small_blocks):
    X, V, y = examples()
    data = svmgsu.Gaussians(X, svmgsu.Diagonal(V), feature_names=list("abcd"))
    svmgsu.io.write(data, tmp_path / f"data.{ending}", y=y)
    known, labels = svmgsu.io.read(tmp_path / f"data.{ending}")
    same(svmgsu.open(tmp_path / f"data.{ending}"), known, labels)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_covariance_is_kept(kind, small_blocks):
    X, _, y = examples()
    data = svmgsu.Gaussians(X, covariance(kind))
    blocks = svmgsu.open({"X": data[p], "y": y[p]} for p in (slice(0, 99), slice(99, L)))
    same(blocks, data, y)
    assert blocks.kind == kind.split(" ")[0]


def test_flat_files_and_mapped_arrays_are_used_where_they_are(tmp_path):
    X, V, y = examples(np.float32)
    data = svmgsu.Gaussians(X, svmgsu.Diagonal(V))
    for name, array in (("X", X), ("V", V), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    blocks = svmgsu.open(tmp_path / "X.npy", tmp_path / "y.npy", tmp_path / "V.npy")
    same(blocks, data, y)
    assert (blocks.dtype, blocks.kind) == (np.float32, "diagonal")
    assert {a.path for a in blocks.arrays.values()} == {str(tmp_path / f"{k}.npy") for k in "XVy"}
    assert "in place" in repr(blocks) and str(tmp_path) in repr(blocks)
    mapped, variances = (np.load(tmp_path / f"{k}.npy", mmap_mode="r") for k in "XV")
    blocks = svmgsu.open(mapped[10:90], None, variances[10:90])
    same(blocks, data[10:90])
    assert blocks.arrays["mean"].path == str(tmp_path / "X.npy")
    same(svmgsu.open(np.asfortranarray(X)), svmgsu.Gaussians(X))  # not row after row: decoded


def test_several_arrays_and_full_covariances_are_decoded(tmp_path, small_blocks):
    X, V, y = examples()
    full = covariance("full").to_full(*X.shape)
    for name, array in (("X", X), ("y", y), ("full", full), ("diagonal", V), ("isotropic", V[:, 0])):
        np.save(tmp_path / f"{name}.npy", array)

    def opened(*names):
        return svmgsu.open(*([tmp_path / f"{name}.npy"] * 2 for name in names))

    for kind, cov in (("full", full), ("diagonal", V), ("isotropic", V[:, 0])):
        data = svmgsu.Gaussians(X, cov)
        same(opened("X", "y", kind), svmgsu.Gaussians.concatenate([data, data]), [*y, *y])
    full[7, 1, 1] = -1.0
    np.save(tmp_path / "full.npy", full)
    with pytest.raises(svmgsu.io.FormatError, match=r"X\.npy: cov: sample 7 .*not positive semi"):
        opened("X", "y", "full")
    np.save(tmp_path / "y.npy", y[:4])
    with pytest.raises(svmgsu.io.FormatError, match=r"X\.npy: labels: .* shape \(4,\) for 203 samples"):
        opened("X", "y")


def test_some_samples_are_read_by_slices_and_by_positions(tmp_path):
    X, V, y = examples()
    blocks = svmgsu.open([{"X": X, "cov": V, "y": y, "sample_weight": V[:, 0]}])
    positions = np.array([7, 3, 200, 3])
    for rows in (slice(5, 20), slice(-3, None), positions, positions.tolist()):
        assert np.array_equal(blocks[rows].mean, X[rows])
        assert np.array_equal(blocks[rows].cov.diagonals(*X[rows].shape), V[rows])
    assert blocks.labels(positions).tolist() == y[positions].tolist()
    assert np.array_equal(blocks.numbers("weight", positions), V[positions, 0])
    for rows, message in (
        (slice(0, 9, 2), "expected a slice"),
        (slice(9, 9), "there is no sample from 9 to 9 of 203"),
        ([L], "out of bounds"),
        ([0.5], "expected a slice such as"),
    ):
        with pytest.raises(IndexError, match=message):
            blocks[rows]
    with pytest.raises(TypeError, match="blocks are no plain array"):
        np.asarray(blocks)


def test_iterables_of_blocks_are_decoded(tmp_path):
    X, V, y = examples()
    parts = [slice(0, 50), slice(50, 51), slice(51, L)]
    data = svmgsu.Gaussians(X, V)
    same(svmgsu.open([(X[p], y[p], np.sqrt(V[p])) for p in parts]), svmgsu.Gaussians(X, std=np.sqrt(V)), y)
    same(svmgsu.open({"X": X[p], "cov": V[p], "sample_weight": V[p, 0]} for p in parts), data)
    same(svmgsu.open(data[p] for p in parts), data)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(a_err=np.sqrt(V[:, 0]), label=y)
    frame.to_parquet(tmp_path / "frame.parquet")
    same(svmgsu.open(frame.iloc[p] for p in parts), *svmgsu.io.read(tmp_path / "frame.parquet"))


@pytest.mark.parametrize("shape", [(3, 2), (3,)])
def test_float32_samples_may_have_tiny_and_huge_errors(shape):
    X = np.ones((3, 2), np.float32)
    sizes = np.float32([0.1, 1e-30, 1e30])
    blocks = svmgsu.open([(X, [0, 1, 0], np.full(shape, size)) for size in sizes])
    assert blocks.dtype == np.float32
    found = whole(blocks).cov.diagonals(9, 2)[::3, 0]
    np.testing.assert_allclose(found, sizes.astype(np.float64) ** 2, rtol=1e-6)


def test_files_of_float32_and_of_float64_are_float64_together(tmp_path):
    for name, dtype in (("0", np.float32), ("1", np.float64)):
        np.save(tmp_path / f"{name}.npy", examples(dtype)[0])
    blocks = svmgsu.open([tmp_path / "0.npy", tmp_path / "1.npy"])
    assert blocks.dtype == np.float64
    assert np.array_equal(whole(blocks).mean, np.concatenate([examples(t)[0] for t in (np.float32, float)]))


def test_missing_values_are_refused_with_what_to_do(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, np.nan, 2.0], "a_err": 0.1, "b": 1.0, "label": [0, 1, 0]})
    frame.to_parquet(tmp_path / "a.parquet")
    for source in ([frame], tmp_path / "a.parquet"):
        with pytest.raises(ValueError, match=r"missing: blocks have no .* leaves such"):
            svmgsu.open(source, missing="keep")
        with pytest.raises(ValueError, match=r"'a' has no value; .* leaves such samples out$"):
            svmgsu.open(source)
        assert len(svmgsu.open(source, missing="drop")) == 2
    with pytest.raises(ValueError, match=r"X: sample 1, feature 0 is nan"):
        svmgsu.open([svmgsu.io.read(tmp_path / "a.parquet", missing="keep")])


def test_targets_their_errors_and_weights_are_found_in_tables(tmp_path):
    X, V, _ = examples()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(z=X[:, 0] * 2, z_err=V[:, 0], w=V[:, 1])
    frame.to_parquet(tmp_path / "t.parquet")
    blocks = svmgsu.open(tmp_path / "t.parquet", target="z", weight="w")
    assert np.array_equal(blocks.labels(), X[:, 0] * 2)
    assert np.array_equal(blocks.numbers("y_std"), np.sqrt(V[:, 0] ** 2))
    assert np.array_equal(blocks.numbers("weight"), V[:, 1])


def test_a_cache_is_used_again_and_made_anew_when_the_source_has_changed(tmp_path):
    X, V, y = examples()
    path, cache = tmp_path / "a.parquet", tmp_path / "cache"
    svmgsu.io.write(svmgsu.Gaussians(X, V), path, y=y)
    first = svmgsu.open(path, cache=cache)
    inode = (cache / "mean.npy").stat().st_ino
    assert np.array_equal(np.load(cache / "mean.npy"), X)
    assert svmgsu.open(path, cache=cache).shape == first.shape
    assert (cache / "mean.npy").stat().st_ino == inode
    assert svmgsu.open(path, cache=cache, features=["x1"]).shape == (len(X), 1)  # asked in another way
    svmgsu.io.write(svmgsu.Gaussians(X[:50], V[:50]), path, y=y[:50])
    assert len(svmgsu.open(path, cache=cache)) == 50
    assert len(svmgsu.open(cache)) == 50  # the cache itself
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "cache"]
    with pytest.raises(ChangedError, match="changed"):
        list(first)


def test_a_damaged_cache_is_refused_by_name(tmp_path):
    X, V, y = examples()
    svmgsu.open([(X, y, V)], cache=tmp_path / "cache")
    path = tmp_path / "cache" / "mean.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(svmgsu.io.FormatError, match=r"mean\.npy: not a readable \.npy file"):
        svmgsu.open(tmp_path / "cache")


def test_a_temporary_cache_is_removed_with_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X, _, y = examples()
    blocks = svmgsu.open([(X, y)])
    again = pickle.loads(pickle.dumps(blocks))
    assert np.array_equal(whole(again).mean, X)
    del again
    mapped = blocks.map(lambda data: data)
    del blocks
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 1 and len(mapped[0:3]) == 3
    del mapped
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing_and_says_so(tmp_path, monkeypatch):
    X, _, y = examples()

    def full(path, mode="r", **more):
        if str(path).endswith("y.npy"):
            raise OSError(28, "No space left on device")
        return open(path, mode, **more)

    monkeypatch.setattr("svmgsu.outofcore.cache.open", full, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for cache in (tmp_path / "cache", None):
        with pytest.raises(OSError, match=r"could not be written: No space left.*larger disk"):
            svmgsu.open([(X, y)], cache=cache)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_decoding_leaves_nothing(tmp_path):
    def blocks():
        yield examples()[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        svmgsu.open(blocks(), cache=tmp_path / "cache")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("2GB", 2e9),
        ("512 MB", 512e6),
        ("1.5GiB", 1.5 * 2**30),
        (7e6, 7e6),
        ("640k", 64e4),
        ("3 TB", 3e12),
        ("2000", 2000),
        ("5KiB", 5120),
        ("0.5 MiB", 2**19),
    ],
)
def test_memory_is_a_number_of_bytes_or_a_text(given, count, tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", shape=(2, 1))
    assert svmgsu.open(X, memory=given).memory == count


@pytest.mark.parametrize("given", ["2 apples", "", -1, None, "nanGB", True])
def test_other_memory_is_refused(given):
    with pytest.raises((ValueError, TypeError), match=r"^memory: "):
        svmgsu.open([(np.ones((2, 1)), [0, 1])], memory=given)


@pytest.mark.parametrize("labelled", [False, True])
def test_too_little_memory_is_refused_with_the_least_that_works(tmp_path, labelled):
    X, V, _ = examples()
    X = X if labelled else np.ones((10, 5000))
    for name, array in (("X", X), ("y", X[:, 0] > 0), ("V", V)):
        np.save(tmp_path / f"{name}.npy", array)
    files = [tmp_path / f"{name}.npy" for name in ("XyV" if labelled else "X")]
    with pytest.raises(ValueError, match=r"memory: 23 kB .* at least (\d+) bytes") as refused:
        svmgsu.open(*files, memory="23kB")
    least = int(str(refused.value).split("at least ")[1].split(" ")[0])
    with pytest.raises(ValueError, match=f"at least {least} bytes"):
        svmgsu.open(*files, memory=least - 1)
    blocks = svmgsu.open(*files, memory=least)
    assert blocks.shape == X.shape
    if labelled:
        assert svmgsu.train(blocks).status_ == "converged"


def test_formats_that_are_not_read_in_blocks_are_refused_with_what_to_do(tmp_path):
    for name, format in (("m.dat", "text"), ("m.csv", "csv"), ("m.npz", "npz")):
        (tmp_path / name).write_text("1 1:2\n-1 1:3\n")
        message = rf"m\.\w+ is of the format {format}, which is not read in .* generator of blocks"
        with pytest.raises(ValueError, match=message):
            svmgsu.open(tmp_path / name)


ONES = np.ones((3, 2))


def after(block, **first):
    return [{"X": ONES, **first}, block]


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (after({"X": np.ones((3, 5))}), r"X: block 1, from sample 3 on, has 5 features, .* before have 2"),
        (after({"X": ONES.astype("f4")}), r"block 1.* has mean \(float32\), but the blocks before have mean"),
        (after({"X": np.array([[1, 2], [3, np.nan]])}), r"X: \w+ 4, feature 1 is nan"),
        (after({"X": ONES, "cov": -ONES}), r"\w+ 3 has variance -1"),
        (after({"X": ONES, "std": 1.0}), r"has isotropic, mean, but the blocks before have mean"),
        (after({"X": ONES, "y": [0, 1, 0]}), r"has mean, y, but the blocks before have mean"),
        (after({"X": ONES, "y": list("aba")}, y=[0, 1, 0]), r"y: block 1 has labels of dtype <U1"),
        (after({"X": ONES, "y": [0, 1]}, y=[0, 1, 0]), r"y: shape \(2,\) for 3 samples"),
        (after({"X": ONES, "sample_weight": [1, 2, np.inf]}), r"sample_weight: \w+ 5 is inf"),
        (after({"X": ONES, "sample_weight": [1, 2]}), r"sample_weight: 2 values for 3 samples"),
        (after({"X": ONES, "y": [0, 1, 2**60 + 1]}, y=[0, 1, 0]), r"y: labels beyond 2\*\*53 are not exact"),
        (after({"X": ONES, "Y": 1}), r"X: block 1 has the keys \['X', 'Y'\]"),
        (
            after({"X": ONES, "feature_names": ["a", "c"]}, feature_names=["a", "b"]),
            r"has the features 'a', 'c', but the blocks before have 'a', 'b'",
        ),
        (after((1, 2, 3, 4)), r"X: block 1 is a tuple of 4"),
        ((), r"there is no file and no block"),
        (iter(()), r"X: \w+ has no samples"),
    ],
)
def test_blocks_that_do_not_fit_together_are_refused_with_their_place(blocks, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        svmgsu.open(blocks, cache=tmp_path / "cache")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["parquet", "feather", "npy"])
def test_a_file_that_is_cut_off_is_named(tmp_path, ending):
    X, V, y = examples()
    path = tmp_path / f"a.{ending}"
    if ending == "npy":
        np.save(path, X)
    else:
        svmgsu.io.write(svmgsu.Gaussians(X, V), path, y=y)
    path.write_bytes(path.read_bytes()[:-600])
    with pytest.raises(ValueError, match=rf"a\.{ending}"):
        svmgsu.open(path, cache=tmp_path / "cache")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_tables_with_other_columns_are_refused_and_other_orders_put_in_order(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "a_err": [0.1, 0.1], "b": [3.0, 4.0]})
    frame.to_parquet(tmp_path / "0.parquet")
    frame[["b", "a_err", "a"]].to_parquet(tmp_path / "1.parquet")
    assert np.array_equal(whole(svmgsu.open(tmp_path)).mean, [[1, 3], [2, 4]] * 2)
    frame.rename(columns={"b": "c"}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(svmgsu.io.FormatError, match=r"1\.parquet: its columns are not those of .*: b, c"):
        svmgsu.open(tmp_path)
    frame = pandas.DataFrame({"a": [1.0, 2.0], "a_err1": [0.1, 0.1], "a_err2": [-0.1, -0.2]})
    frame.to_parquet(tmp_path / "0.parquet")
    frame.assign(a_err2=0.1).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(svmgsu.io.FormatError, match=r"'a_err2' is 0.1, of another sign than at .*0\.parquet"):
        svmgsu.open(tmp_path)


def test_other_arguments_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", ONES)
    svmgsu.io.write(ONES, tmp_path / "a.arrow")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thing").touch()
    X, Z = tmp_path / "X.npy", tmp_path / "a.arrow"
    for given, more, error, message in (
        (X, {"cache": tmp_path / "folder"}, ValueError, r"cache: the folder .* holds other things"),
        (X, {"cache": X}, ValueError, r"cache: .* is a file"),
        (X, {"label": "y"}, TypeError, r"label: there is no such option for the format npy"),
        (X, {"labels": [X] * 2}, ValueError, r"labels: 2 files for 1 of means"),
        (X, {"cov": 3}, TypeError, r"cov: expected a path or a list of paths"),
        (Z, {"cov": X}, ValueError, r"cov: the format arrow has no file of its own for it"),
        ([X, Z], {}, ValueError, r"source: files of several formats \(arrow, npy\)"),
        ([(ONES, [0, 1, 0])], {"labels": X}, ValueError, r"labels: blocks of an iterable have their own"),
        (3, {}, TypeError, r"source: expected paths"),
        (tmp_path / "nothing.npy", {}, FileNotFoundError, "nothing"),
        (tmp_path / "*.npq", {}, FileNotFoundError, "npq"),
        (tmp_path / "folder", {}, ValueError, r"there is no file in this folder"),
    ):
        with pytest.raises(error, match=message):
            svmgsu.open(given, **more)
