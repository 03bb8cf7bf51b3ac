"""Files: what is written is read back, what is wrong is named with its place, nothing half-written stays."""

import gzip
import io
import lzma
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from conftest import make_problem
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import svmgsu
from svmgsu.io import FormatError

MEANS = "doc_1 1:1.5 2:-2\ndoc_2 2:3e-1\ndoc_3 1:4\n"
LABELS = "doc_2 -1\ndoc_1 +1\ndoc_3 1\n"
DIAGONAL = "doc_3: 1,1:0.1 2,2:0.2\ndoc_1 2,2:0.5\ndoc_2 1,1:1\n"


def text(content):
    return io.BytesIO(content.encode() if isinstance(content, str) else content)


def read(means=MEANS, labels=None, cov=None, **options):
    return svmgsu.read_text(
        *(None if part is None else text(part) for part in (means, labels, cov)), **options
    )


def dense(matrix):
    return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def same_bits(a, b):
    a, b = dense(a), dense(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


finite = st.floats(allow_nan=False, allow_infinity=False)
matrices = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.one_of(st.just(0.0), finite)
)
words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1).filter(
    lambda word: not word.startswith("#") and not word.endswith(":") and word.split() == [word]
)


# The authors' text


def test_files_are_joined_by_id_in_the_order_of_the_means():
    found = read(MEANS, LABELS, DIAGONAL)
    assert found.ids.tolist() == ["doc_1", "doc_2", "doc_3"]
    assert found.y.tolist() == [1, -1, 1] and found.y.dtype == np.int64
    assert found.data.mean.tolist() == [[1.5, -2], [0, 0.3], [4, 0]]
    assert found.data.cov.variances.tolist() == [[0, 0.5], [1, 0], [0.1, 0.2]]


def test_the_result_unpacks_into_data_and_labels():
    data, y = read(MEANS, LABELS)
    assert isinstance(data, svmgsu.Gaussians) and len(y) == len(data) == 3


def test_what_another_file_lacks_is_dropped_and_reported():
    found = read(MEANS + "doc_4 1:1\n", "doc_1 1\ndoc_3 -1\nstray 1\n", DIAGONAL)
    assert found.ids.tolist() == ["doc_1", "doc_3"]
    assert found.report.dropped == {"<means>": 2, "<labels>": 1, "<cov>": 1}
    assert "<means>: 4 examples, 2 of them dropped" in str(found.report)


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


def test_blank_space_comments_and_line_ends_do_not_matter():
    messy = "# means\r\n\r\n\tdoc_1\t1:1.5   2:-2\t# first\r\n doc_2 2:3e-1\n\n\ndoc_3 1:4"
    assert same_bits(read(messy).data.mean, read(MEANS).data.mean)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_files_are_unpacked_whatever_their_name(tmp_path, pack):
    path = tmp_path / "means.dat"
    path.write_bytes(pack(MEANS.encode()))
    assert same_bits(svmgsu.read_text(path).data.mean, read().data.mean)
    path.write_bytes(pack(MEANS.encode())[:-9])
    with pytest.raises(FormatError, match=r"means\.dat: the (gzip|xz) data are damaged"):
        svmgsu.read_text(path)


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MEANS.encode())))
    assert len(svmgsu.read_text("-").data) == 3


def test_a_pipe(tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(fifo)!r}, 'w').write({MEANS!r})"])
    assert len(svmgsu.read_text(fifo).data) == 3
    assert writer.wait(timeout=30) == 0


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
    with pytest.raises(FormatError, match=r"^<cov>: isotropic covariances have one value a line"):
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
        ("a 1:1 1:2\n", None, "<means>:1:7: index 1 appears twice in this line"),
        ("a\0 1:1\n", None, "<means>:1:2: byte \\x00: this is not a text file"),
        ("", None, "<means>:1: there is no example in this file"),
        ("a\n", None, "<means>: all means are zero; pass n_features= to say how many"),
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


def test_the_number_of_features_can_be_set():
    assert read(n_features=5).data.shape == (3, 5)
    assert read(cov="doc_1 3,3:1\n", n_features=3).data.cov.variances.tolist() == [[0, 0, 1]]
    with pytest.raises(FormatError, match="<means>:1:13: index 2 is beyond n_features=1"):
        read(n_features=1)


def test_python_s_own_errors_for_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        svmgsu.read_text(tmp_path / "nothing.dat")
    with pytest.raises(IsADirectoryError):
        svmgsu.read_text(tmp_path)


def test_sparse_and_dense_are_the_same_numbers():
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(2000, 700)) < 0.05, rng.normal(size=(2000, 700)), 0.0)
    means = io.BytesIO()
    svmgsu.io.write_text(X, means)
    chosen = read(means.getvalue()).data.mean
    assert scipy.sparse.issparse(chosen)
    assert same_bits(chosen, X)
    assert same_bits(read(means.getvalue(), sparse=False).data.mean, X)
    some = "".join(f"{i} 1\n" for i in range(2000, 0, -7))
    kept = sorted(i - 1 for i in range(2000, 0, -7))
    assert same_bits(read(means.getvalue(), some).data.mean, X[kept])
    assert scipy.sparse.issparse(read(sparse=True).data.mean)


@pytest.mark.parametrize("kind", ["diagonal", "full", "isotropic"])
def test_any_number_of_threads_gives_the_same(tmp_path, kind):
    problem = make_problem(kind, count=3000, n=30)
    paths = [tmp_path / name for name in ("means", "labels", "cov")]
    svmgsu.io.write_text(svmgsu.Gaussians(problem.X, problem.cov), *paths, y=problem.y)
    one = svmgsu.read_text(*paths, threads=1)
    for threads in (2, 8):
        many = svmgsu.read_text(*paths, threads=threads)
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
    svmgsu.io.write_text(svmgsu.Gaussians(X, svmgsu.Diagonal(V)), *files, y=np.arange(len(X)) - 1, ids=ids)
    found = read(*(file.getvalue() for file in files), n_features=X.shape[1])
    assert same_bits(found.data.mean, X)
    assert same_bits(found.data.cov.variances, V)
    assert found.y.tolist() == list(range(-1, len(X) - 1))
    assert ids is None or found.ids.tolist() == ids
    assert read(files[0].getvalue()).data.shape == X.shape


@given(st.binary(max_size=120), st.sampled_from(["means", "labels", "covariances", "svmlight"]))
@example(b"\n\x00\xff1:1", "svmlight")
def test_random_bytes_are_read_or_refused(content, format):
    from svmgsu import _core

    try:
        rows = _core.read_rows(content, format, "f", 2**31 - 1, "", False, False, 1)
    except FormatError as error:
        assert str(error).startswith("f:")
    else:
        assert rows.examples > 0


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
    svmgsu.io.write_text(svmgsu.Gaussians(X, cov), *files, y=y)
    found = read(*(file.getvalue() for file in files)).data.cov
    np.testing.assert_allclose(found.to_full(), cov.to_full(4, 3, y), rtol=1e-15)


def test_ids_and_labels_that_text_cannot_hold_are_refused():
    X = np.ones((2, 1))
    for ids, message in [
        (["a", "a b"], "'a b' of example 1 must be a word"),
        (["", "a"], "'' of example 0"),
        (["#a", "b"], "'#a' of example 0"),
        (["a", "a"], "examples 0 and 1 have the same id, 'a'"),
        (["a", "a:"], "examples 0 and 1 have the same id, 'a:'"),
    ]:
        with pytest.raises(ValueError, match=message):
            svmgsu.io.write_text(X, io.BytesIO(), ids=ids)
    with pytest.raises(ValueError, match="labels in text files must be finite numbers"):
        svmgsu.io.write_text(X, io.BytesIO(), io.BytesIO(), y=["cat", "dog"])
    with pytest.raises(ValueError, match="ids: shape"):
        svmgsu.io.write_text(X, io.BytesIO(), ids=["a"])


# svmlight


def test_svmlight_is_what_scikit_learn_reads_and_writes():
    rng = np.random.default_rng(2)
    X = np.where(rng.uniform(size=(50, 8)) < 0.5, rng.normal(size=(50, 8)), 0.0)
    y = rng.integers(0, 2, 50)
    theirs = io.BytesIO()
    dump_svmlight_file(X, y, theirs, zero_based=False)
    found = svmgsu.io.read_svmlight(io.BytesIO(theirs.getvalue()), n_features=8)
    matrix, labels = load_svmlight_file(io.BytesIO(theirs.getvalue()), n_features=8)
    assert same_bits(found.data.mean, matrix) and (found.y == labels).all()
    ours, variances = io.BytesIO(), io.BytesIO()
    svmgsu.io.write_svmlight(svmgsu.Gaussians(X, X * X), ours, variances, y=y)
    matrix, labels = load_svmlight_file(io.BytesIO(ours.getvalue()))
    assert same_bits(matrix, X) and (labels == y).all()
    both = svmgsu.io.read_svmlight(io.BytesIO(ours.getvalue()), io.BytesIO(variances.getvalue()))
    assert same_bits(both.data.mean, X) and same_bits(both.data.cov.variances, X * X)
    zero_based = io.BytesIO()
    dump_svmlight_file(X, y, zero_based)
    again = svmgsu.io.read_svmlight(io.BytesIO(zero_based.getvalue()), zero_based=True, n_features=8)
    assert (dense(again.data.mean) == dense(found.data.mean)).all()


def test_svmlight_variances_must_be_of_the_same_examples():
    means = "1 1:1\n-1 1:2\n"
    with pytest.raises(FormatError, match=r"<cov>: 1 examples, but <means> has 2"):
        svmgsu.io.read_svmlight(text(means), text("1 1:1\n"))
    with pytest.raises(FormatError, match=r"<cov>:3: label 1, but example 2 of <means> has -1"):
        svmgsu.io.read_svmlight(text(means), text("1 1:1\n\n1 1:1\n"))
    with pytest.raises(ValueError, match=r"variance -1 at feature 0"):
        svmgsu.io.read_svmlight(text(means), text("1 1:1\n-1 1:-1\n"))


# Tables


TABLE = """id,label,flux,flux_err,colour,colour_err1,colour_err2,name,size,size_var
a,star,1.5,0.5,2,0.25,-0.75,x,1,4
b,quasar,2.5,0.25,3,1,-1,y,2,9
"""


def test_columns_are_paired_by_their_endings():
    found = svmgsu.io.read(text(TABLE), format="csv")
    assert found.data.feature_names_in_ == ["flux", "colour", "size"]
    assert found.data.mean.tolist() == [[1.5, 2, 1], [2.5, 3, 2]]
    assert found.data.cov.variances.tolist() == [[0.25, 0.25, 4], [0.0625, 1, 9]]
    assert found.ids.tolist() == ["a", "b"] and found.y.tolist() == ["star", "quasar"]
    assert found.report.notes == ["<file>: not used: name"]


def test_a_column_y_with_errors_is_a_feature():
    found = svmgsu.io.read(text("x,x_err,y,y_err\n1,0.5,2,1\n3,0.5,4,2\n"), format="csv")
    assert found.y is None and found.data.feature_names_in_ == ["x", "y"]
    assert found.data.cov.variances.tolist() == [[0.25, 1], [0.25, 4]]
    found = svmgsu.io.read(text("x,x_err,y\n1,0.5,2\n3,0.5,4\n"), format="csv")
    assert found.y.tolist() == [2, 4]


def test_features_labels_and_ids_can_be_chosen():
    found = svmgsu.io.read_table(text(TABLE), label="name", id="label", features=["size"], format=".csv")
    assert found.y.tolist() == ["x", "y"] and found.ids.tolist() == ["star", "quasar"]
    assert found.data.cov.variances.tolist() == [[4], [9]]
    with pytest.raises(ValueError, match="label: there is no column 'kind'"):
        svmgsu.io.read_table(text(TABLE), label="kind", format=".csv")
    with pytest.raises(ValueError, match="features: there is no numeric column 'name'"):
        svmgsu.io.read_table(text(TABLE), features=["name"], format=".csv")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a,a_err,a_std\n1,1,1\n", "'a' has more than one error: a_err, a_std"),
        ("a,a_err1\n1,1\n", "a_err1 alone; expected both a_err1 and a_err2"),
        ("a,a_err,_var\n1,1,1\n", "_var is for all features, but some have their own"),
        ("a,a_err\n1,1\n2,-1\n", "a_err is -1 in example 1; it must be >= 0"),
        ("a,a_err1,a_err2\n1,-1,1\n", "a_err1 is -1 in example 0; it must be >= 0"),
        ("a,a_err1,a_err2\n1,1,1\n2,1,-1\n", "a_err2 is -1 in example 1; it must be >= 0"),
        ("a,b\n", "there is no example in this file"),
        ("a,a\n1,1\n", "the column 'a' appears twice"),
        ("a,b\n1\n", "CSV parse error"),
        ("name\nx\n", "there is no numeric column"),
        ("", "Empty CSV file"),
        ("a\n1\n\n", None),
        ("a,b\n1,2\n1,\n", 'b is missing in example 1; missing="drop"'),
        ("a,label\n1,\n2,x\n", "label is missing in example 0"),
    ],
)
def test_tables_that_cannot_be_understood(table, message):
    if message is None:
        assert svmgsu.io.read(text(table), format="csv").data.shape == (1, 1)
        return
    with pytest.raises(ValueError, match="(?s)^<file>: .*" + message):
        svmgsu.io.read(text(table), format="csv")


def test_examples_with_missing_numbers_can_be_dropped():
    found = svmgsu.io.read(text("a,a_err,y\n1,1,0\n2,,1\n,3,1\n4,4,1\n"), format="csv", missing="drop")
    assert found.data.mean.tolist() == [[1], [4]] and found.y.tolist() == [0, 1]
    assert found.report.dropped == {"<file>": 2}


TABLE_NAMES = ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.feather", "t.arrow"]


@pytest.mark.parametrize("name", TABLE_NAMES)
@pytest.mark.parametrize("kind", ["diagonal", "isotropic", "none", "diagonal CSR"])
def test_tables_written_are_read_back(tmp_path, name, kind):
    problem = make_problem(kind, count=7, n=3)
    path = tmp_path / name
    ids = np.array([f"ö,{i}" for i in range(7)])
    svmgsu.io.write(svmgsu.Gaussians(problem.X, problem.cov), path, y=problem.y.astype(int), ids=ids)
    found = svmgsu.io.read(path)
    assert same_bits(found.data.mean, problem.X)
    assert (found.ids == ids).all() and (found.y == problem.y).all()
    if problem.cov is None:
        assert found.data.cov is None
    else:
        assert type(found.data.cov) is type(problem.cov)
        assert (found.data.cov.to_full(7, 3) == problem.full).all()


@given(matrices)
def test_csv_written_is_read_back_bit_by_bit(X):
    file = io.BytesIO()
    svmgsu.io.write(X, file, format="csv")
    assert (svmgsu.io.read(text(file.getvalue()), format="csv").data.mean == X).all()


def test_single_precision_survives_a_table(tmp_path):
    X = np.float32([[0.1, 0.2]])
    svmgsu.io.write(X, tmp_path / "t.parquet")
    assert same_bits(svmgsu.io.read(tmp_path / "t.parquet").data.mean, X)


def test_full_covariances_do_not_fit_a_table(tmp_path):
    problem = make_problem("full", count=3, n=2)
    with pytest.raises(ValueError, match="this format holds isotropic and diagonal covariances"):
        svmgsu.io.write(svmgsu.Gaussians(problem.X, problem.cov), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


# NumPy


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_npz_keeps_every_kind(tmp_path, dtype):
    from conftest import _pieces

    y = np.repeat([-1.0, 1.0], 4)
    for kind, make in _pieces(np.random.default_rng(0), 8, 3, y, dtype).items():
        cov, _, full = make()
        X = np.arange(24, dtype=dtype).reshape(8, 3)
        path = tmp_path / "all.npz"
        svmgsu.io.write(svmgsu.Gaussians(X, cov), path, y=y, ids=list("abcdefgh"))
        found = svmgsu.io.read(path)
        assert same_bits(found.data.mean, X) and found.ids.tolist() == list("abcdefgh")
        assert (found.y == y).all()
        if cov is None:
            assert found.data.cov is None, kind
        else:
            tolerance = 1e-6 if dtype is np.float32 else 1e-14
            np.testing.assert_allclose(
                found.data.cov.to_full(8, 3, y), full, rtol=tolerance, atol=tolerance, err_msg=kind
            )


def test_npz_from_elsewhere(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, mean=np.ones((2, 2)), std=[[1.0, 2.0], [3.0, 4.0]], extra=1)
    found = svmgsu.io.read(path)
    assert found.data.cov.variances.tolist() == [[1, 4], [9, 16]]
    assert found.report.notes == [f"{path}: not used: extra"]
    np.savez(path, X=np.ones((2, 2)))
    with pytest.raises(FormatError, match="there is no array 'mean'; there are \\['X'\\]"):
        svmgsu.io.read(path)
    np.savez(path, mean=np.ones((2, 2)), var=np.ones((2, 2)), std=1.0)
    with pytest.raises(FormatError, match="more than one covariance: var, std"):
        svmgsu.io.read(path)
    np.savez(path, mean=np.ones((2, 2)), var=-np.ones((2, 2)))
    with pytest.raises(FormatError, match=r"x\.npz: variances: example 0 has variance -1"):
        svmgsu.io.read(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FormatError, match=r"not a readable \.npz file"):
        svmgsu.io.read(path)


def test_a_sparse_matrix_that_lacks_a_part_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", mean_data=[1.0], mean_indices=[0])
    with pytest.raises(
        FormatError, match=r"a.npz: mean_data: a sparse matrix needs mean_indptr, mean_shape too"
    ):
        svmgsu.io.read(tmp_path / "a.npz")


def test_labels_of_objects_are_numbers_or_strings_in_a_file(tmp_path):
    path, y = tmp_path / "a.npz", np.array(["star", "quasar"], dtype=object)
    svmgsu.io.write([[0.0], [1.0]], path, y=y)
    assert svmgsu.io.read(path).y.tolist() == ["star", "quasar"]
    with pytest.raises(ValueError, match=r"y: shape \(3,\), but there are 2 examples"):
        svmgsu.io.write([[0.0], [1.0]], path, y=[1, 2, 3])


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_packed_npz_is_read_but_not_written(tmp_path, pack):
    file, path = io.BytesIO(), tmp_path / "a.npz.gz"
    svmgsu.io.write([[0.5]], file, format="npz")
    path.write_bytes(pack(file.getvalue()))
    assert svmgsu.io.read(path).data.mean.tolist() == [[0.5]]
    with pytest.raises(ValueError, match=r"a.npz.gz: NumPy files are not packed.*pass compress=True"):
        svmgsu.io.write([[0.5]], path)
    for use in (svmgsu.io.read, lambda p: svmgsu.io.write([[0.5]], p)):
        with pytest.raises(ValueError, match=r"a.npy.xz: NumPy files are not packed"):
            use(tmp_path / "a.npy.xz")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npz"])
def test_names_of_features_go_there_and_back(tmp_path, name):
    data = svmgsu.Gaussians([[1.0, 2.0]], std=[[0.1, 0.2]], feature_names=["flux", "colour"])
    svmgsu.io.write(data, tmp_path / name)
    assert svmgsu.io.read(tmp_path / name).data.feature_names_in_ == ["flux", "colour"]


def test_npy_files_are_mapped_not_copied(tmp_path):
    problem = make_problem("diagonal", count=6, n=6)
    paths = [tmp_path / name for name in ("mean.npy", "y.npy", "var.npy")]
    svmgsu.io.write(svmgsu.Gaussians(problem.X, problem.cov), *paths, y=problem.y)
    found = svmgsu.io.read(*paths)
    assert isinstance(found.data.mean.base, np.memmap) and not found.data.mean.flags.writeable
    assert isinstance(found.data.cov.variances.base, np.memmap)
    assert same_bits(found.data.mean, problem.X) and (found.y == problem.y).all()
    model = svmgsu.train(found.data, found.y, lam=0.1)
    assert model.objective_ == svmgsu.train(problem.X, problem.y, problem.cov, lam=0.1).objective_
    paths[0].write_bytes(b"not an array")
    with pytest.raises(FormatError, match=r"mean\.npy: not a readable \.npy file"):
        svmgsu.io.read(*paths)


# Reading, writing and converting by the ending


@pytest.mark.parametrize(
    "target",
    [
        "all.npz",
        "all.parquet",
        "all.csv.xz",
        ("m.dat", "l.dat", "c.dat"),
        ("m.txt.gz", "l.xz", "c.gz"),
        ("m.npy", "l.npy", "c.npy"),
        ("m.svm", None, "v.svm"),
    ],
)
def test_conversion_keeps_the_numbers(tmp_path, target):
    problem = make_problem("diagonal", count=9, n=4)
    source = tmp_path / "source.npz"
    svmgsu.io.write(svmgsu.Gaussians(problem.X, problem.cov), source, y=problem.y.astype(int))
    names = (target,) if isinstance(target, str) else target
    paths = tuple(None if name is None else tmp_path / name for name in names)
    converted = svmgsu.io.convert(source, paths)
    assert len(converted.data) == 9
    found = svmgsu.io.read(*paths)
    assert same_bits(found.data.mean, problem.X)
    assert same_bits(found.data.cov.variances, problem.cov.variances)
    assert (found.y == problem.y).all()


@pytest.mark.parametrize(
    ("target", "lost"),
    [
        ("m.dat", ["labels", "covariances"]),
        (("m.dat", "l.dat", "c.dat"), []),
        ("m.svm", ["covariances", "ids"]),
        (("m.svm", None, "v.svm"), ["ids"]),
        (("m.npy", "y.npy"), ["covariances", "ids"]),
        ("a.csv", []),
    ],
)
def test_conversion_says_what_it_does_not_write(tmp_path, monkeypatch, target, lost):
    monkeypatch.chdir(tmp_path)
    svmgsu.io.write(svmgsu.Gaussians([[1.0], [2.0]], [[0.1], [0.2]]), "all.npz", y=[0, 1], ids=["a", "b"])
    first = target if isinstance(target, str) else target[0]
    wanted = [f"{first}: {what} were read but not written" for what in lost]
    assert svmgsu.io.convert("all.npz", target).report.notes == wanted


def test_a_failed_write_leaves_nothing_and_harms_nothing(tmp_path):
    old = tmp_path / "m.dat"
    old.write_text("as it was")
    with pytest.raises(ValueError, match="no labels to write"):
        svmgsu.io.write(np.ones((2, 2)), old, tmp_path / "l.dat")
    with pytest.raises(FileNotFoundError):
        svmgsu.io.write(np.ones((2, 2)), old, tmp_path / "no" / "l.dat", y=[0, 1])
    with pytest.raises(ValueError, match="is a file to read"):
        svmgsu.io.convert(old, old)
    assert old.read_text() == "as it was"
    assert [p.name for p in tmp_path.iterdir()] == ["m.dat"]


def test_files_that_a_format_does_not_have_are_refused(tmp_path):
    with pytest.raises(ValueError, match="labels: the format csv has no file of its own for it"):
        svmgsu.io.read("x.csv", "y.csv")
    with pytest.raises(ValueError, match="format: expected one of text, svmlight"):
        svmgsu.io.read("x", format="word")
    with pytest.raises(ValueError, match=r"source: expected \(means, labels, cov\)"):
        svmgsu.io.convert((), "x.npz")


def test_standard_output(capfdbinary):
    svmgsu.io.write(np.eye(2), "-")
    assert capfdbinary.readouterr().out == b"1 1:1\n2 2:1\n"


# Predictions


PROBA = np.array([[0.75, 0.25], [0.0, 1.0], [0.0, 1.0]])


def predictions(ending, **options):
    file = io.BytesIO()
    svmgsu.io.write_predictions(file, [-1, 1, 1], proba=PROBA, ids=["a", "b", "c"], format=ending, **options)
    return file.getvalue()


def test_predictions_in_the_authors_layout_are_ranked_by_decision_values():
    wanted = "doc_id +1 -1 label\nc 1 0 1\nb 1 0 1\na 0.25 0.75 -1\n"
    assert predictions(".txt", decision=[-1, 40, 50]).decode() == wanted


def test_predictions_as_tables_and_json_lines():
    import json

    from pyarrow import csv, feather, parquet

    wanted = {
        "id": ["a", "b", "c"],
        "label": [-1, 1, 1],
        "decision": [-1.0, 40.5, 50.0],
        "p_1": [0.25, 1.0, 1.0],
        "p_-1": [0.75, 0.0, 0.0],
    }
    decision = [-1, 40.5, 50]
    readers = {".csv": csv.read_csv, ".parquet": parquet.read_table, ".arrow": feather.read_table}
    for ending, reader in readers.items():
        assert reader(io.BytesIO(predictions(ending, decision=decision))).to_pydict() == wanted
    rows = [json.loads(line) for line in predictions(".jsonl", decision=decision).splitlines()]
    assert rows == [{key: values[i] for key, values in wanted.items()} for i in range(3)]


def test_predictions_must_fit():
    with pytest.raises(ValueError, match=r"proba: expected shape \(1, 2\), got \(3, 2\)"):
        svmgsu.io.write_predictions(io.BytesIO(), [1], proba=PROBA)
    with pytest.raises(ValueError, match="proba: the authors' layout holds probabilities"):
        svmgsu.io.write_predictions(io.BytesIO(), [1])
    with pytest.raises(ValueError, match=r"format: expected one of txt, .*csv.*, got 'xls'"):
        svmgsu.io.write_predictions(io.BytesIO(), [1], format="xls")


def test_a_format_of_predictions_has_a_dot_or_none():
    assert predictions("csv") == predictions(".csv")


# The whole


def test_a_progress_bar_names_the_file(tmp_path, capsys):
    (tmp_path / "means.dat").write_text(MEANS)
    svmgsu.read_text(tmp_path / "means.dat", verbose=True)
    assert "means.dat: 100%" in capsys.readouterr().err


def test_reading_text_loads_numpy_alone(tmp_path):
    (tmp_path / "m").write_text(MEANS)
    code = (
        f"import sys, svmgsu; svmgsu.read_text({str(tmp_path / 'm')!r})\n"
        "print({'scipy', 'pyarrow', 'pandas', 'sklearn', 'lzma', 'gzip'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60)
    assert done.stdout == "set()\n", done.stderr


def test_sparse_data_without_scipy_name_the_extra(tmp_path, monkeypatch):
    svmgsu.io.write(scipy.sparse.csr_array([[0.0, 1.0]]), tmp_path / "a.npz")
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    for read_it in (
        lambda: svmgsu.io.read(tmp_path / "a.npz"),
        lambda: svmgsu.read_text(text("a 1:1\n"), sparse=True),
    ):
        with pytest.raises(ImportError, match=r"sparse data need SciPy: pip install 'svmgsu\[sklearn\]'"):
            read_it()


def test_tables_without_pyarrow_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'svmgsu\[io\]'"):
        svmgsu.io.read(text(TABLE), format="csv")


@pytest.mark.parametrize(
    ("file", "kind"), [("cov_diag.dat", svmgsu.Diagonal), ("cov_iso.dat", svmgsu.Isotropic)]
)
def test_the_authors_toy_data_are_read_and_learned(data_folder, file, kind):
    folder = data_folder / "svm_gsu_toy"
    found = svmgsu.read_text(folder / "mean.dat", folder / "labels.dat", folder / file)
    assert found.data.shape == (10_000, 16) and type(found.data.cov) is kind
    assert found.report.dropped == dict.fromkeys(found.report.found, 0)
    first = (folder / "mean.dat").read_text().split("\n", 1)[0].split()
    assert found.ids[0] == first[0]
    assert found.data.mean[0].tolist() == [float(entry.split(":")[1]) for entry in first[1:]]
    model = svmgsu.train(*found, lam=1e-2)
    assert (model.predict(found.data) == found.y).mean() > 0.9
