"""Files and blocks that are cut off, changed or do not fit together are refused, with their place."""

import numpy as np
import pytest
from block_cases import examples, same, whole

import svmgsu


def bad(X, **more):
    return [{"X": np.ones((3, 2)), **more}, X]


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (bad({"X": np.ones((3, 5))}), r"X: block 1, from example 3 on, has 5 features, .* before have 2"),
        (
            bad({"X": np.ones((3, 2), np.float32)}),
            r"X: block 1 is float32, but the blocks before are float64",
        ),
        (bad({"X": np.array([[1, 2], [3, np.nan]])}), r"X: example 4, feature 1 is nan"),
        (bad({"X": np.ones((3, 2)), "cov": -np.ones((3, 2))}), r"example 3 has variance -1"),
        (bad({"X": np.ones((3, 2)), "std": 1.0}), r"has isotropic, mean, but the blocks before have mean"),
        (bad({"X": np.ones((3, 2)), "y": [0, 1, 0]}), r"has mean, y, but the blocks before have mean"),
        (
            bad({"X": np.ones((3, 2)), "y": ["a", "b", "a"]}, y=[0, 1, 0]),
            r"y: block 1 has labels of dtype <U1",
        ),
        (bad({"X": np.ones((3, 2)), "y": [0, 1]}, y=[0, 1, 0]), r"y: shape \(2,\) for 3 examples"),
        (bad({"X": np.ones((3, 2)), "sample_weight": [1, 2, np.inf]}), r"sample_weight: example 5 is inf"),
        (bad({"X": np.ones((3, 2)), "Y": 1}), r"X: block 1 has the keys \['X', 'Y'\]"),
        (
            bad({"X": np.ones((3, 2)), "feature_names": ["a", "c"]}, feature_names=["a", "b"]),
            r"has the features 'a', 'c', but the blocks before have 'a', 'b'",
        ),
        (bad((1, 2, 3, 4)), r"X: block 1 is a tuple of 4"),
        ((), r"there is no file and no block"),
        (iter(()), r"X: \w+ has no example"),
    ],
)
def test_blocks_that_do_not_fit_together_are_refused_with_their_place(blocks, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        svmgsu.open(blocks, cache=tmp_path / "cache")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv.gz", "npz", "npy"])
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


def test_a_csv_line_that_is_cut_off_is_named_with_its_line(tmp_path, small_blocks):
    X, V, y = examples()
    path = tmp_path / "a.csv"
    svmgsu.io.write(svmgsu.Gaussians(X, V), path, y=y)
    text = path.read_text().splitlines()
    path.write_text("\n".join(text[:150])[:-30])
    with pytest.raises(svmgsu.io.FormatError, match=r"a\.csv:150: \d cells, but the header has 9 columns"):
        svmgsu.open(path)
    text[170] = text[170].replace(text[170].split(",")[1], "oops")
    path.write_text("\n".join(text))
    with pytest.raises(svmgsu.io.FormatError, match=r"a\.csv:171: column 'x1' is 'oops'"):
        svmgsu.open(path)


def test_quoted_newlines_do_not_divide_a_record(tmp_path, small_blocks):
    rows = "".join(f'{k}.5,"a\n""{k % 2}"\n' for k in range(2000))
    (tmp_path / "a.csv").write_text("x,label\n" + rows)
    known, y = svmgsu.io.read(tmp_path / "a.csv")
    same(svmgsu.open(tmp_path / "a.csv"), known, y)


def test_files_with_other_columns_are_refused_and_other_orders_put_in_order(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "a_err": [0.1, 0.1], "b": [3.0, 4.0]})
    frame.to_parquet(tmp_path / "0.parquet")
    frame[["b", "a_err", "a"]].to_parquet(tmp_path / "1.parquet")
    assert np.array_equal(whole(svmgsu.open(tmp_path)).mean, [[1, 3], [2, 4]] * 2)
    frame.rename(columns={"b": "c"}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(svmgsu.io.FormatError, match=r"1\.parquet: its columns are not those of .*: b, c"):
        svmgsu.open(tmp_path)


def test_lower_errors_have_one_sign_in_all_parts(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "a_err1": [0.1, 0.1], "a_err2": [-0.1, -0.2]})
    frame.to_parquet(tmp_path / "0.parquet")
    frame.assign(a_err2=0.1).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(svmgsu.io.FormatError, match=r"'a_err2' is 0.1, of another sign than at .*0\.parquet"):
        svmgsu.open(tmp_path)


def test_other_arguments_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((2, 2)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thing").touch()
    for given, message in (
        ({"dtype": "int8"}, r'dtype: expected "float32" or "float64"'),
        ({"cache": tmp_path / "folder"}, r"cache: the folder .* holds other things"),
        ({"cache": tmp_path / "X.npy"}, r"cache: .* is a file"),
        ({"label": "y"}, r"label: there is no such option for the format npy"),
        ({"labels": [tmp_path / "X.npy"] * 2}, r"labels: 2 files for 1 of means"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            svmgsu.open(tmp_path / "X.npy", **given)
    with pytest.raises(TypeError, match=r"source: expected paths"):
        svmgsu.open(3)
    with pytest.raises(FileNotFoundError):
        svmgsu.open(tmp_path / "nothing.npy")
    with pytest.raises(ValueError, match=r"there is no file in this folder"):
        svmgsu.open(tmp_path / "folder")
    with pytest.raises(IndexError, match=r"slices"):
        svmgsu.open(tmp_path / "X.npy")[[1, 2]]
