"""Conversion between formats, files of predictions, and packages that are not there."""

import io
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from conftest import make_problem
from io_cases import MEANS, same_bits, text
from io_table_cases import TABLE

import svmgsu


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
        ("m.svm", None, "v.svm"),
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
    with pytest.raises(FileNotFoundError):
        svmgsu.io.write(np.ones((2, 2)), old, tmp_path / "no" / "l.dat", y=[0, 1])
    assert old.read_text() == "as it was"
    assert [p.name for p in tmp_path.iterdir()] == ["m.dat"]


def test_files_that_a_format_does_not_have_are_refused(tmp_path):
    with pytest.raises(ValueError, match="labels: the format csv has no file of its own for it"):
        svmgsu.io.read("x.csv", "y.csv")
    with pytest.raises(ValueError, match="format: expected one of text, svmlight"):
        svmgsu.io.read("x", format="word")
    with pytest.raises(ValueError, match=r"x.npy: one array; .* svmgsu.open maps .npy files"):
        svmgsu.io.read("x.npy")


def test_standard_output(capfdbinary):
    svmgsu.io.write(np.eye(2), "-")
    assert capfdbinary.readouterr().out == b"1 1:1\n2 2:1\n"


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
    with pytest.raises(ValueError, match=r"format: expected one of txt, .*csv.*, got 'xls'"):
        svmgsu.io.write_predictions(io.BytesIO(), [1], format="xls")


def test_a_format_of_predictions_has_a_dot_or_none():
    assert predictions("csv") == predictions(".csv")


def test_reading_text_loads_numpy_alone(tmp_path):
    (tmp_path / "m").write_text(MEANS)
    code = (
        f"import sys, svmgsu; svmgsu.io.read_text({str(tmp_path / 'm')!r})\n"
        "print({'scipy', 'pyarrow', 'pandas', 'sklearn', 'lzma', 'gzip'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60)
    assert done.stdout == "set()\n", done.stderr


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


@pytest.mark.parametrize(
    ("file", "kind"), [("cov_diag.dat", svmgsu.Diagonal), ("cov_iso.dat", svmgsu.Isotropic)]
)
def test_the_authors_toy_data_are_read_and_learned(data_folder, file, kind):
    folder = data_folder / "svm_gsu_toy"
    found = svmgsu.io.read_text(folder / "mean.dat", folder / "labels.dat", folder / file)
    assert found.data.shape == (10_000, 16) and type(found.data.cov) is kind
    assert found.report.dropped == dict.fromkeys(found.report.found, 0)
    first = (folder / "mean.dat").read_text().split("\n", 1)[0].split()
    assert found.ids[0] == first[0]
    assert found.data.mean[0].tolist() == [float(entry.split(":")[1]) for entry in first[1:]]
    model = svmgsu.train(*found, lam=1e-2)
    assert (model.predict(found.data) == found.y).mean() > 0.9
