"""`svmgsu.open`: examples from files of every format, block by block, are what the readers give at once."""

import gc
import gzip
import pickle

import numpy as np
import pytest
from block_cases import L, N, examples, same, whole

import svmgsu
from svmgsu.outofcore import cache as caches
from svmgsu.outofcore.flat import ChangedError


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow", "csv", "csv.gz", "tsv", "npz"])
def test_every_format_gives_what_its_reader_gives(tmp_path, ending, small_blocks):
    X, V, y = examples()
    source = tmp_path / f"data.{ending}"
    data = svmgsu.Gaussians(X, svmgsu.Diagonal(V), feature_names=list("abcd"))
    svmgsu.io.write(data, source, y=y)
    known, labels = svmgsu.io.read(source)
    same(svmgsu.open(source), known, labels)


def test_flat_files_are_used_where_they_lie(tmp_path):
    X, V, y = examples(np.float32)
    for name, array in (("X", X), ("V", V), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    blocks = svmgsu.open(tmp_path / "X.npy", tmp_path / "y.npy", tmp_path / "V.npy")
    same(blocks, svmgsu.Gaussians(X, svmgsu.Diagonal(V)), y)
    assert blocks.dtype == np.float32
    assert blocks.kind == "diagonal"
    assert {a.path for a in blocks.arrays.values()} == {str(tmp_path / f"{k}.npy") for k in "XVy"}
    assert "in place" in repr(blocks) and str(tmp_path) in repr(blocks)
    svmgsu.io.write_npz(svmgsu.Gaussians(X, svmgsu.Diagonal(V)), tmp_path / "all.npz", y=y)
    stored = svmgsu.open(tmp_path / "all.npz")
    same(stored, svmgsu.Gaussians(X, svmgsu.Diagonal(V)), y)


def test_memory_mapped_arrays_are_used_in_place_and_slices_of_them_too(tmp_path):
    X, V, y = examples()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "V.npy", V)
    mapped, variances = (np.load(tmp_path / f"{k}.npy", mmap_mode="r") for k in "XV")
    y = np.asarray(y)
    blocks = svmgsu.open(mapped[10:90], None, variances[10:90])
    same(blocks, svmgsu.Gaussians(X[10:90], svmgsu.Diagonal(V[10:90])))
    assert blocks.arrays["mean"].path == str(tmp_path / "X.npy")
    turned = svmgsu.open(np.asfortranarray(X).view(np.ndarray))  # not flat: by way of a cache
    same(turned, svmgsu.Gaussians(X))


@pytest.mark.parametrize(
    "kind", ["isotropic", "full", "low_rank", "low_rank with diagonal", "shared", "none"]
)
def test_every_kind_of_covariance_is_kept(tmp_path, kind, small_blocks):
    X, V, y = examples()
    rng = np.random.default_rng(1)
    F = rng.normal(size=(L, 2, N))
    cov = {
        "isotropic": svmgsu.Isotropic(V[:, 0]),
        "full": svmgsu.Full(np.einsum("irj,irk->ijk", F, F)),
        "low_rank": svmgsu.LowRank(F),
        "low_rank with diagonal": svmgsu.LowRank(F, diagonal=V),
        "shared": svmgsu.Shared(np.diag(V[0])),
        "none": None,
    }[kind]
    data = svmgsu.Gaussians(X, cov)
    svmgsu.io.write_npz(data, tmp_path / "all.npz", y=y)
    blocks = svmgsu.open(tmp_path / "all.npz")
    same(blocks, svmgsu.io.read_npz(tmp_path / "all.npz").data, y)
    assert blocks.kind == ("lowrank" if kind.startswith("low") else kind)


def test_iterables_of_blocks_are_decoded(tmp_path):
    X, V, y = examples()
    parts = [slice(0, 50), slice(50, 51), slice(51, L)]
    same(svmgsu.open([(X[p], y[p], np.sqrt(V[p])) for p in parts]), svmgsu.Gaussians(X, std=np.sqrt(V)), y)
    same(
        svmgsu.open({"X": X[p], "cov": V[p], "sample_weight": V[p, 0]} for p in parts), svmgsu.Gaussians(X, V)
    )
    same(svmgsu.open(svmgsu.Gaussians(X[p], V[p]) for p in parts), svmgsu.Gaussians(X, V))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["a_err"], frame["label"] = np.sqrt(V[:, 0]), y
    blocks = svmgsu.open(frame.iloc[p] for p in parts)
    path = tmp_path / "frame.parquet"
    frame.to_parquet(path)
    known, labels = svmgsu.io.read(path)
    same(blocks, known, labels)


def test_several_files_and_folders_are_one_after_another(tmp_path):
    X, V, y = examples()
    for k, part in enumerate((slice(0, 60), slice(60, L))):
        data = svmgsu.Gaussians(X[part], svmgsu.Diagonal(V[part]), feature_names=list("abcd"))
        svmgsu.io.write(data, tmp_path / f"{k}.parquet", y=y[part])
    want = svmgsu.Gaussians(X, svmgsu.Diagonal(V), feature_names=list("abcd"))
    same(svmgsu.open([tmp_path / "0.parquet", tmp_path / "1.parquet"]), want, y)
    same(svmgsu.open(tmp_path), want, y)
    same(svmgsu.open(str(tmp_path / "*.parquet")), want, y)


def test_targets_their_errors_and_weights_are_found_in_tables(tmp_path):
    X, V, _ = examples()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["z"], frame["z_err"], frame["w"] = X[:, 0] * 2, V[:, 0], V[:, 1]
    frame.to_csv(tmp_path / "t.csv", index=False)
    blocks = svmgsu.open(tmp_path / "t.csv", target="z", weight="w")
    assert np.array_equal(blocks.labels(), X[:, 0] * 2)
    assert np.array_equal(blocks.numbers("y_std"), np.sqrt(V[:, 0] ** 2))
    assert np.array_equal(blocks.numbers("weight"), V[:, 1])


def test_a_cache_is_used_again_and_made_anew_when_the_source_has_changed(tmp_path):
    X, V, y = examples()
    path, cache = tmp_path / "a.csv", tmp_path / "cache"
    svmgsu.io.write(svmgsu.Gaussians(X, V), path, y=y)
    first = svmgsu.open(path, cache=cache)
    inode = (cache / "mean.bin").stat().st_ino
    assert svmgsu.open(path, cache=cache).shape == first.shape
    assert (cache / "mean.bin").stat().st_ino == inode
    assert svmgsu.open(path, cache=cache, dtype="float32").dtype == np.float32  # asked in another way
    svmgsu.io.write(svmgsu.Gaussians(X[:50], V[:50]), path, y=y[:50])
    assert len(svmgsu.open(path, cache=cache)) == 50
    assert len(svmgsu.open(cache)) == 50  # the cache itself
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "cache"]
    with pytest.raises(ChangedError, match="changed"):
        list(first)


def test_a_temporary_cache_is_removed_with_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X, _V, y = examples()
    blocks = svmgsu.open([(X, y)])
    again = pickle.loads(pickle.dumps(blocks))
    assert np.array_equal(whole(again).mean, X)
    assert len(list(tmp_path.iterdir())) == 1
    del again
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 1
    del blocks
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing_and_says_so(tmp_path, monkeypatch):
    X, _V, y = examples()

    def full(self, key, array):
        with caches._room(self.path):
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(caches.Folder, "add", full)
        with pytest.raises(OSError, match=r"could not be written: No space left.*larger disk"):
            svmgsu.open([(X, y)], cache=tmp_path / "cache")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "count"), [("2GB", 2e9), ("512 MB", 512e6), ("1.5GiB", 1.5 * 2**30), (7e6, 7e6), ("64k", 64e3)]
)
def test_memory_is_a_number_of_bytes_or_a_text(text, count):
    from svmgsu.outofcore.open import memory_of

    assert memory_of(text) == count


@pytest.mark.parametrize("given", ["2 apples", "", -1, None, "nanGB", True])
def test_other_memory_is_refused(given):
    with pytest.raises((ValueError, TypeError), match=r"^memory: "):
        svmgsu.open([(np.ones((2, 1)), [0, 1])], memory=given)


def test_too_little_memory_is_told_with_the_least_that_would_do(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((10, 5000)))
    with pytest.raises(ValueError, match=r"memory: 1 MB .* at least (\d+) bytes") as refused:
        svmgsu.open(tmp_path / "X.npy", memory="1MB")
    least = int(str(refused.value).split("at least ")[1].split(" ")[0])
    assert svmgsu.open(tmp_path / "X.npy", memory=least).shape == (10, 5000)
    with pytest.raises(ValueError, match=f"{least}"):
        svmgsu.open(tmp_path / "X.npy", memory=least - 1)


def test_a_budget_that_is_too_small_for_training_is_refused_when_the_file_is_opened(tmp_path):
    X, V, _ = examples()
    files = [tmp_path / name for name in ("X.npy", "y.npy", "V.npy")]
    for file, array in zip(files, (X, X[:, 0] > 0, V), strict=True):
        np.save(file, array)
    with pytest.raises(ValueError, match=r"memory: 23 kB .* at least (\d+) bytes") as refused:
        svmgsu.open(*files, memory="23kB")
    least = int(str(refused.value).split("at least ")[1].split(" ")[0])
    blocks = svmgsu.open(*files, memory=least)
    assert svmgsu.train(blocks).status_ == "converged"
    with pytest.raises(ValueError, match=f"at least {least} bytes"):
        svmgsu.open(*files, memory=least - 1)


def test_an_archive_of_savez_is_trained_on(tmp_path):
    """Its arrays are not aligned, and so not used where they lie."""
    X, V, _ = examples()
    y = (X[:, 0] > 0).astype(int)
    np.savez(tmp_path / "a.npz", mean=X, var=V, y=y)
    found = svmgsu.train(svmgsu.open(tmp_path / "a.npz"), probability=False)
    assert np.array_equal(found.coef_, svmgsu.train(X, y, V, probability=False).coef_)


def test_a_gzip_stream_is_read_forwards(tmp_path):
    text = b"a,label\n" + b"".join(b"%d,%d\n" % (k, k % 2) for k in range(1000))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text))
    assert len(svmgsu.open(tmp_path / "b.csv.gz")) == 1000


def test_formats_that_are_not_read_in_blocks_are_refused_with_what_to_do(tmp_path):
    X, V, y = examples()
    svmgsu.io.write_npz(svmgsu.Gaussians(X, V), tmp_path / "a.npz", y=y, compress=True)
    with pytest.raises(svmgsu.io.FormatError, match=r"a\.npz: \w+\.npy is compressed.* generator of blocks"):
        svmgsu.open(tmp_path / "a.npz")
    for name, format in (("m.svm", "svmlight"), ("m.dat", "text")):
        (tmp_path / name).write_text("1 1:2\n-1 1:3\n")
        with pytest.raises(
            ValueError, match=rf"m\.\w+ is of the format {format}, which is not read in blocks"
        ):
            svmgsu.open(tmp_path / name)
