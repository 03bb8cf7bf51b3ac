"""Files: what is written is read back, what is wrong is named with its place, nothing half-written stays."""

import gzip
import io
import lzma
import sys

import numpy as np
import pytest
import scipy.sparse
from conftest import make_problem
from hypothesis import given
from io_cases import matrices, same_bits, text

import svmgsu
from svmgsu.io import FormatError

TABLE = """id,label,flux,flux_err,colour,colour_err1,colour_err2,name,size,size_var
a,star,1.5,0.5,2,0.25,-0.75,x,1,4
b,quasar,2.5,0.25,3,1,-1,y,2,9
"""


def test_columns_are_paired_by_their_endings():
    found = svmgsu.io.read(text(TABLE), format="csv", ignore=["name"], asymmetric="mean")
    assert found.data.feature_names_in_ == ["flux", "colour", "size"]
    assert found.data.mean.tolist() == [[1.5, 2, 1], [2.5, 3, 2]]
    assert found.data.cov.variances.tolist() == [[0.25, 0.25, 4], [0.0625, 1, 9]]
    assert found.ids.tolist() == ["a", "b"] and found.y.tolist() == ["star", "quasar"]
    assert str(found.columns) == "3 values with errors, 1 id (id), 1 unused (name: as asked), target label"


def test_a_column_y_with_errors_is_a_feature():
    found = svmgsu.io.read(text("x,x_err,y,y_err\n1,0.5,2,1\n3,0.5,4,2\n"), format="csv")
    assert found.y is None and found.data.feature_names_in_ == ["x", "y"]
    assert found.data.cov.variances.tolist() == [[0.25, 1], [0.25, 4]]
    found = svmgsu.io.read(text("x,x_err,y\n1,0.5,2\n3,0.5,4\n"), format="csv")
    assert found.y.tolist() == [2, 4]


def test_features_labels_and_ids_can_be_chosen():
    found = svmgsu.io.read_table(text(TABLE), target="name", id="label", features=["size"], format=".csv")
    assert found.y.tolist() == ["x", "y"] and found.ids.tolist() == ["star", "quasar"]
    assert found.data.cov.variances.tolist() == [[4], [9]]
    with pytest.raises(ValueError, match="target: there is no column 'kind'"):
        svmgsu.io.read_table(text(TABLE), target="kind", format=".csv")
    assert list(found.columns.unused)[:3] == ["id", "flux", "flux_err"]
    with pytest.raises(ValueError, match="<file>: no numbers in column 'name'"):
        svmgsu.io.read_table(text(TABLE), features=["name"], format=".csv")
    with pytest.raises(ValueError, match="features: there is no column 'mass'; there are id, label, flux"):
        svmgsu.io.read_table(text(TABLE), features=["mass"], format=".csv")
    with pytest.raises(ValueError, match="ignore: there is no column 'mass'"):
        svmgsu.io.read_table(text(TABLE), ignore=["mass"], format=".csv")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a,a_err,a_std\n1,1,1\n", "'a' has more than one uncertainty: a_err and a_std"),
        ("a,a_err1\n1,1\n", "column a_err1 beside 'a' is one of two errors"),
        ("a,a_err,_var\n1,1,1\n", "_var is for all values; some have errors of their own"),
        ("a,a_err\n1,1\n2,-1\n", "^<file>:3: column 'a_err' is -1; errors must be >= 0"),
        ("a,a_err1,a_err2\n1,-1,1\n", "^<file>:2: column 'a_err1' is -1; errors must be >= 0"),
        (
            "a,a_err1,a_err2\n1,1,1\n2,1,-1\n",
            "^<file>:3: column 'a_err2' is -1, but 1 at <file>:2; lower errors must have one sign",
        ),
        ("a,b\n", "there are no samples in this file"),
        ("a,a\n1,1\n", "the column 'a' appears twice"),
        ("a,b\n1\n", "^<file>:2: 1 cells, but the header has 2 columns"),
        ("name\nx\n", "there is no column to take as a feature"),
        ("", "the file is empty"),
        ("a\n1\n\n", None),
        ("a,b\n1,2\n1,\n", '^<file>:3: column .b. has no value; missing="drop"'),
        ("a,label\n1,\n2,x\n", "^<file>:2: column 'label' has no value"),
    ],
)
def test_tables_that_cannot_be_understood(table, message):
    if message is None:
        assert svmgsu.io.read(text(table), format="csv").data.shape == (1, 1)
        return
    with pytest.raises(ValueError, match="(?s)^<file>:.*" + message.removeprefix("^<file>:")):
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


def test_full_covariances_do_not_fit_a_table(tmp_path):
    problem = make_problem("full", count=3, n=2)
    with pytest.raises(ValueError, match="this format holds isotropic and diagonal covariances"):
        svmgsu.io.write(svmgsu.Gaussians(problem.X, problem.cov), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


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
    with pytest.raises(FormatError, match=r"x\.npz: variances: sample 0 has variance -1"):
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
    with pytest.raises(ValueError, match=r"y: shape \(3,\), but there are 2 samples"):
        svmgsu.io.write([[0.0], [1.0]], path, y=[1, 2, 3])


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_packed_npz_is_read_but_not_written(tmp_path, pack):
    file, path = io.BytesIO(), tmp_path / "a.npz.gz"
    svmgsu.io.write([[0.5]], file, format="npz")
    path.write_bytes(pack(file.getvalue()))
    assert svmgsu.io.read(path).data.mean.tolist() == [[0.5]]
    with pytest.raises(ValueError, match=r"a.npz.gz: NumPy files are not packed.*pass compress=True"):
        svmgsu.io.write([[0.5]], path)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npz"])
def test_names_of_features_go_there_and_back(tmp_path, name):
    data = svmgsu.Gaussians([[1.0, 2.0]], std=[[0.1, 0.2]], feature_names=["flux", "colour"])
    svmgsu.io.write(data, tmp_path / name)
    assert svmgsu.io.read(tmp_path / name).data.feature_names_in_ == ["flux", "colour"]


@pytest.mark.parametrize(
    "target",
    [
        "all.npz",
        "all.parquet",
        "all.csv.xz",
        ("m.dat", "l.dat", "c.dat"),
        ("m.txt.gz", "l.xz", "c.gz"),
    ],
)
def test_conversion_keeps_the_numbers(tmp_path, target):
    problem = make_problem("diagonal", count=9, n=4)
    source = tmp_path / "source.npz"
    svmgsu.io.write(svmgsu.Gaussians(problem.X, problem.cov), source, y=problem.y.astype(int))
    names = (target,) if isinstance(target, str) else target
    paths = tuple(None if name is None else tmp_path / name for name in names)
    svmgsu.io.write(svmgsu.io.read(source), *paths)
    found = svmgsu.io.read(*paths)
    assert same_bits(found.data.mean, problem.X)
    assert same_bits(found.data.cov.variances, problem.cov.variances)
    assert (found.y == problem.y).all()


def test_a_failed_write_leaves_nothing_and_harms_nothing(tmp_path):
    old = tmp_path / "m.dat"
    old.write_text("as it was")
    with pytest.raises(ValueError, match="no labels to write"):
        svmgsu.io.write(np.ones((2, 2)), old, tmp_path / "l.dat")
    with pytest.raises(FileNotFoundError, match=r"l.dat"):
        svmgsu.io.write(np.ones((2, 2)), old, tmp_path / "no" / "l.dat", y=[0, 1])
    assert old.read_text() == "as it was"
    assert [p.name for p in tmp_path.iterdir()] == ["m.dat"]


def test_files_that_a_format_does_not_have_are_refused(tmp_path):
    with pytest.raises(ValueError, match="labels: the format csv has no file of its own for it"):
        svmgsu.io.read("x.csv", "y.csv")
    with pytest.raises(ValueError, match="format: expected one of text, npz"):
        svmgsu.io.read("x", format="word")
    with pytest.raises(ValueError, match=r"x.npy: one array; .* svmgsu.open maps .npy files"):
        svmgsu.io.read("x.npy")
    for call in (svmgsu.io.read, lambda path: svmgsu.io.write(np.ones((1, 1)), path)):
        with pytest.raises(ValueError, match=r"x.svm: svmlight files are read .*load_svmlight_file"):
            call("x.svm")


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
    with pytest.raises(ValueError, match=r"proba: the authors' layout .* this has no probabilities"):
        svmgsu.io.write_predictions(io.BytesIO(), [1])
    with pytest.raises(ValueError, match=r"the ending .xls is not known; these can be written: .csv"):
        svmgsu.io.write_predictions(io.BytesIO(), [1], format="xls")


def test_sparse_data_without_scipy_name_the_extra(tmp_path, monkeypatch):
    svmgsu.io.write(scipy.sparse.csr_array([[0.0, 1.0]]), tmp_path / "a.npz")
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    for read_it in (
        lambda: svmgsu.io.read(tmp_path / "a.npz"),
        lambda: svmgsu.io.read_text(text("a 1:1\n"), sparse=True),
    ):
        with pytest.raises(ImportError, match=r"sparse data need SciPy: pip install 'svmgsu\[sklearn\]'"):
            read_it()


def test_tables_without_pyarrow_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'svmgsu\[io\]'"):
        svmgsu.io.read(text(TABLE), format="csv")
