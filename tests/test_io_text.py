"""The authors' text files: joined by id, read and written exactly, wrong ones named with their place."""

import gzip
import io
import lzma

import numpy as np
import pytest
import scipy.sparse
from conftest import make_problem
from hypothesis import example, given
from hypothesis import strategies as st
from io_cases import DIAGONAL, LABELS, MEANS, matrices, read, same_bits, words

import svmgsu
from svmgsu.io import FormatError

# The authors' text


def test_files_are_joined_by_id_in_the_order_of_the_means():
    found = read(MEANS, LABELS, DIAGONAL)
    assert found.ids.tolist() == ["doc_1", "doc_2", "doc_3"]
    assert found.y.tolist() == [1, -1, 1] and found.y.dtype == np.int64
    assert found.data.mean.tolist() == [[1.5, -2], [0, 0.3], [4, 0]]
    assert found.data.cov.variances.tolist() == [[0, 0.5], [1, 0], [0.1, 0.2]]


def test_what_another_file_lacks_is_dropped_and_reported():
    found = read(MEANS + "doc_4 1:1\n", "doc_1 1\ndoc_3 -1\nstray 1\n", DIAGONAL)
    assert found.ids.tolist() == ["doc_1", "doc_3"]
    assert found.report.dropped == {"<means>": 2, "<labels>": 1, "<cov>": 1}
    assert "<means>: 4 samples, 2 of them dropped" in str(found.report)


def test_ids_of_another_encoding_are_kept_as_bytes_or_refused(tmp_path):
    means, labels, cov = (
        b"caf\xe9 1:1\n\xc3\xa9 1:2\n",
        b"caf\xe9 1\n\xc3\xa9 -1\n",
        b"caf\xe9 1,1:0.5\n\xc3\xa9 1,1:0.25\n",
    )
    found = svmgsu.io.read_text(*(io.BytesIO(content) for content in (means, labels, cov)), kind="isotropic")
    assert found.ids.tolist() == ["caf\udce9", "é"]
    files = [io.BytesIO() for _ in range(3)]
    svmgsu.io.write(found, *files)
    assert [file.getvalue() for file in files] == [means, labels, cov]
    reason = r"^ids: 'caf\\\\udce9' is not UTF-8"
    for ending in ("csv", "jsonl"):
        with pytest.raises(ValueError, match=reason):
            svmgsu.io.write_predictions(tmp_path / f"p.{ending}", found.y, ids=found.ids)
    with pytest.raises(ValueError, match=reason):
        svmgsu.io.write(found, tmp_path / "table.csv")
    assert not list(tmp_path.iterdir())


def test_files_without_a_common_id_are_refused():
    with pytest.raises(FormatError, match=r"no id is in all of the files .*'doc_1'.*'a'"):
        read(MEANS, "a 1\n")


@pytest.mark.parametrize(
    ("role", "line"), [("means", "doc_2 1:1\n"), ("labels", "doc_2 1\n"), ("cov", "doc_2: 1,1:1\n")]
)
def test_an_id_that_comes_twice_is_refused_with_both_lines(role, line):
    parts = {"means": MEANS, "labels": LABELS, "cov": DIAGONAL}
    first = (
        parts[role].splitlines().index(next(s for s in parts[role].splitlines() if s.startswith("doc_2"))) + 1
    )
    parts[role] += "\n" + line
    with pytest.raises(FormatError, match=rf'^<{role}>:5: the id "doc_2:?" is also on line {first}$'):
        read(**parts)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_files_are_unpacked_whatever_their_name(tmp_path, pack):
    path = tmp_path / "means.dat"
    path.write_bytes(pack(MEANS.encode()))
    assert same_bits(svmgsu.io.read_text(path).data.mean, read().data.mean)
    path.write_bytes(pack(MEANS.encode())[:-9])
    with pytest.raises(FormatError, match=r"means\.dat: the (gzip|xz) data are damaged"):
        svmgsu.io.read_text(path)


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MEANS.encode())))
    assert len(svmgsu.io.read_text("-").data) == 3


@pytest.mark.parametrize(
    ("cov", "kind", "matrix"),
    [
        ("doc_1 0.5\n", svmgsu.Isotropic, [[0.5, 0], [0, 0.5]]),
        ("doc_1 1,1:0.5\n", svmgsu.Isotropic, [[0.5, 0], [0, 0.5]]),
        ("doc_1 1,1:0.5 2,2:0\n", svmgsu.Diagonal, [[0.5, 0], [0, 0]]),
        ("doc_1 2,2:0.5\n", svmgsu.Diagonal, [[0, 0], [0, 0.5]]),
        ("doc_1 1,1:2 1,2:1 2,2:3\n", svmgsu.Full, [[2, 1], [1, 3]]),
        ("doc_1 1,1:2 2,1:1 2,2:3\n", svmgsu.Full, [[2, 1], [1, 3]]),
        ("doc_1 2,2:3 1,2:1 2,1:1 1,1:2\n", svmgsu.Full, [[2, 1], [1, 3]]),
    ],
)
def test_the_kind_of_the_covariances_is_seen(cov, kind, matrix):
    data = read(MEANS, cov=cov).data
    assert type(data.cov) is kind
    assert data.cov.to_full(n_features=2).tolist() == [matrix]


def test_the_kind_can_be_asked_for():
    assert type(read(cov="doc_1 1,1:2\n", kind="diagonal").data.cov) is svmgsu.Diagonal
    full = read(cov="doc_1 1,1:2\n", kind="full").data.cov
    assert type(full) is svmgsu.Full and full.to_full().tolist() == [[[2, 0], [0, 0]]]
    with pytest.raises(
        FormatError, match=r'^<cov>:2:7: expected j,j:value in a diagonal covariance, got "1,2:1"'
    ):
        read(cov="#\ndoc_1 1,2:1\n", kind="diagonal")
    with pytest.raises(FormatError, match=r"^<cov>: isotropic covariances have one value per line"):
        read(cov="doc_1 2,2:1\n", kind="isotropic")
    with pytest.raises(FormatError, match=r"^<cov>: full covariances are written i,j:v"):
        read(cov="doc_1 2\n", kind="full")
    with pytest.raises(ValueError, match="kind: expected one of isotropic, diagonal, full"):
        read(kind="round")


@pytest.mark.parametrize(
    ("means", "cov", "message"),
    [
        ("a 1:1\nb 4:abc\n", None, '<means>:2:5: expected a number after 4:, got "abc"'),
        ("a 1:nan\n", None, '<means>:1:5: expected a finite number after 1:, got "nan"'),
        ("a 1:1 1:2\n", None, "<means>:1:1: index 1 appears twice in this line"),
        ("a\0 1:1\n", None, "<means>:1:2: byte \\x00: this is not a text file"),
        ("", None, "<means>:1: there are no samples in this file"),
        ("a\n", None, "<means>: all means are zero; n_features= says how many"),
        (MEANS, "doc_1 3,3:1\n", "<cov>:1:7: index 3 is beyond the 2 features of <means>"),
        (MEANS, "doc_1 1,2:1 2,1:2\n", "<cov>:1:1: the matrix is not symmetric: 1,2:1 but 2,1:2"),
        (MEANS, "#\ndoc_1 1,2:1\n", "<cov>:2: the covariance of 'doc_1' is not positive semidefinite"),
        (MEANS, "doc_1 2,2:-1\n", '<cov>:1:11: a variance must be >= 0, got "-1"'),
    ],
)
def test_what_is_wrong_is_named_with_its_place(means, cov, message):
    with pytest.raises(FormatError) as caught:
        read(means, cov=cov)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_sparse_and_dense_are_the_same_numbers():
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(2000, 700)) < 0.05, rng.normal(size=(2000, 700)), 0.0)
    means = io.BytesIO()
    svmgsu.io.write(X, means)
    chosen = read(means.getvalue()).data.mean
    assert scipy.sparse.issparse(chosen)
    assert same_bits(chosen, X)
    assert same_bits(read(means.getvalue(), sparse=False).data.mean, X)
    some = "".join(f"{i} 1\n" for i in range(2000, 0, -7))
    kept = sorted(i - 1 for i in range(2000, 0, -7))
    assert same_bits(read(means.getvalue(), some).data.mean, X[kept])
    assert scipy.sparse.issparse(read(sparse=True).data.mean)


def test_any_number_of_threads_gives_the_same(tmp_path):
    problem = make_problem("full", count=3000, n=30)
    paths = [tmp_path / name for name in ("means", "labels", "cov")]
    svmgsu.io.write(svmgsu.Gaussians(problem.X, problem.cov), *paths, y=problem.y)
    one = svmgsu.io.read_text(*paths, threads=1)
    for threads in (2, 8):
        many = svmgsu.io.read_text(*paths, threads=threads)
        assert same_bits(many.data.mean, one.data.mean)
        assert same_bits(_numbers(many), _numbers(one))
        assert (many.ids == one.ids).all() and (many.y == one.y).all()
    assert same_bits(one.data.mean, problem.X)
    assert same_bits(_numbers(one), _numbers(svmgsu.io.Dataset(svmgsu.Gaussians(problem.X, problem.cov))))


def _numbers(dataset):
    cov = dataset.data.cov
    return cov.packed if isinstance(cov, svmgsu.Full) else cov.variances


@given(matrices, st.data())
@example(np.array([[-0.0, 0.0], [0.0, 0.0]]), None)
def test_text_written_is_read_back_bit_by_bit(X, data):
    ids = None if data is None else data.draw(st.lists(words, min_size=len(X), max_size=len(X), unique=True))
    files = [io.BytesIO() for _ in range(3)]
    V = np.abs(X)[::-1]
    svmgsu.io.write(svmgsu.Gaussians(X, svmgsu.Diagonal(V)), *files, y=np.arange(len(X)) - 1, ids=ids)
    found = read(*(file.getvalue() for file in files), n_features=X.shape[1])
    assert same_bits(found.data.mean, X)
    assert same_bits(found.data.cov.variances, V)
    assert found.y.tolist() == list(range(-1, len(X) - 1))
    assert ids is None or found.ids.tolist() == ids
    assert read(files[0].getvalue()).data.shape == X.shape


@pytest.mark.parametrize("kind", ["low-rank", "shared", "sum"])
def test_every_kind_of_covariance_can_be_written_as_text(kind):
    rng = np.random.default_rng(1)
    X, F = rng.normal(size=(4, 3)), rng.normal(size=(4, 2, 3))
    cov = {
        "low-rank": svmgsu.LowRank(F),
        "shared": svmgsu.Shared({0: [1.0, 2.0, 3.0], 1: [4.0, 5.0, 6.0]}),
        "sum": svmgsu.LowRank(F) + 0.5 * svmgsu.Isotropic(1.0),
    }[kind]
    y = np.array([0, 1, 0, 1])
    files = [io.BytesIO() for _ in range(3)]
    svmgsu.io.write(svmgsu.Gaussians(X, cov), *files, y=y)
    found = read(*(file.getvalue() for file in files)).data.cov
    np.testing.assert_allclose(found.to_full(), cov.to_full(4, 3, y), rtol=1e-15)


def test_ids_and_labels_that_text_cannot_hold_are_refused():
    X = np.ones((2, 1))
    for ids, message in [
        (["a", "a b"], "'a b' of sample 1 must be a word"),
        (["", "a"], "'' of sample 0"),
        (["#a", "b"], "'#a' of sample 0"),
        (["a", "a"], "samples 0 and 1 have the same id, 'a'"),
        (["a", "a:"], "samples 0 and 1 have the same id, 'a:'"),
    ]:
        with pytest.raises(ValueError, match=message):
            svmgsu.io.write(X, io.BytesIO(), ids=ids)
    with pytest.raises(ValueError, match="labels in text files must be finite numbers"):
        svmgsu.io.write(X, io.BytesIO(), io.BytesIO(), y=["cat", "dog"])
    with pytest.raises(ValueError, match="ids: shape"):
        svmgsu.io.write(X, io.BytesIO(), ids=["a"])
