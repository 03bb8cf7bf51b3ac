"""Tables as they come: nothing is dropped silently, what is wrong has a line, frames and files agree."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import svmgsu
from svmgsu.data.frames import understand
from svmgsu.io import FormatError
from svmgsu.uncertainty import from_errors


def read(text, **options):
    content = text if isinstance(text, bytes) else text.encode()
    return svmgsu.io.read(io.BytesIO(content), format="csv", **options)


WRONG = {
    "one bad cell": ("x,x_err,label\n1,1,0\n1.5 mJy,1,1\n3,1,1\n", 3, "column 'x' is '1.5 mJy', which is no"),
    "a bad error": ("x,x_err,label\n1,1,0\n2,?,1\n3,1,1\n", 3, "column 'x_err' is '\\?', which is no number"),
    "several bad cells": ("x,label\n1,0\na,1\nb,1\n2,1\n", 3, "is 'a', which is no .* one of 2 such rows"),
    "behind lines in quotes": ('id,x\n"two\nlines",1\n"c\n\nd",bad\n', 4, "column 'x' is 'bad'"),
    "behind blank lines": ("\n\nx,z\n\n1,1\n\n2,1\nbad,1\n", 8, "column 'x' is 'bad'"),
    "with Windows line ends": ("x,label\r\n1,0\r\nbad,1\r\n", 3, "column 'x' is 'bad'"),
    "thousands": ('x,z\n"1,234.5",1\n2,1\n', 2, "column 'x' is '1,234.5'"),
    "a row too short": ("a,b\n1,2\n1\n", 3, "1 cells, but the header has 2 columns"),
    "a row too long": ("a,b\n1,2\n1,2,3\n", 3, "3 cells, but the header has 2 columns"),
    "infinity": ("a,b\n1,2\ninf,2\n", 3, "column 'a' is inf"),
    "a label among numbers": ("x,label\n1,0\n2,1\n3,x\n", 4, "column 'label' is 'x', where other labels are"),
    "a label that is missing": ("x,label\n1,0\n2,\n3,1\n4,\n", 3, "column 'label' is missing, one of 2"),
    "Latin-1": ("x,größe\n1,2\n".encode("latin-1"), 1, "not UTF-8 text"),
    "Latin-1 in a cell": ("x,label\n1,a\n2,größe\n".encode("latin-1"), 3, "not UTF-8 text"),
    "UTF-16": ("x,label\n1,a\n".encode("utf-16"), 1, "not UTF-8 text"),
}


@pytest.mark.parametrize(("table", "line", "reason"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_table_has_its_line(table, line, reason):
    with pytest.raises(FormatError, match=f"^<file>:{line}: .*{reason}"):
        read(table)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            "x_err,label\n1,0\n2,1\n",
            "column 'x_err' looks like the standard deviation of 'x', and there is no",
        ),
        ("a,x_var\n1,1\n", "column 'x_var' looks like the variance of 'x', and there is no such column"),
        ("a,label,label_err\n1,1,1\n", None),
        (
            "a,a_err,a_err_err\n1,1,1\n",
            "'a_err_err' looks like the .* of 'a_err', which is an uncertainty itself",
        ),
        ("a,,b\n0,1,2\n1,2,2\n", "column 2 has no name; give it one"),
        (
            "0.5,0.1,star\n1.5,0.2,star\n",
            r"the first line holds numbers \(0.5, 0.1, star, ...\), not the names",
        ),
        ("5,3,4\n1,2,3\n", "the first line holds numbers"),
        ("a;b\n0,5;1\n1,5;2\n", "column 'a' holds numbers with commas, such as '0,5'; .* ignore="),
        ('a,b\n1,"1,200"\n2,"2,400"\n', "column 'b' holds numbers with commas, such as '1,200'"),
    ],
)
def test_columns_that_would_be_mistaken_are_refused(table, reason):
    if reason is None:
        assert read(table).data.feature_names_in_ == ["a", "label"]
        return
    with pytest.raises(FormatError, match=f"^<file>:.*{reason}"):
        read(table)


def test_what_is_to_be_left_out_is_named_and_goes_with_its_errors():
    table = "x,x_err,z,z_err,day,label\n1,1,2,2,monday,0\n3,1,2,2,friday,1\n"
    found = read(table, ignore=["z", "day"])
    assert found.data.feature_names_in_ == ["x"]
    unused = "z: as asked, z_err: belongs to z, day: as asked"
    assert found.report.notes == [f"<file>: 1 value with errors, 3 unused ({unused}), target label"]
    found = read(table, features=["x"])
    assert found.columns.unused == dict.fromkeys(["z", "z_err", "day"], "as asked")
    assert read("x,z,z_err\n1,0,1\n2,1,1\n", target="z").data.feature_names_in_ == ["x"]


def test_columns_of_text_and_empty_ones_are_left_out_and_said():
    found = read("x,day,colour,z,\n1,2020-01-01,red,,\n2,2020-01-02,blue,,\n")
    assert found.data.feature_names_in_ == ["x"]
    wanted = {"day": "text", "colour": "text", "z": "empty", "Unnamed: 4": "empty"}
    assert found.columns.unused == wanted
    assert "4 unused (day: text, colour: text, z: empty, Unnamed: 4: empty)" in found.report.notes[0]


def test_true_and_false_are_one_and_zero():
    found = read("x,flag,z\n1,true,0\n2,False,1\n")
    assert found.data.mean.tolist() == [[1, 1, 0], [2, 0, 1]]
    frame = pd.DataFrame({"x": [1.0, 2.0], "flag": [True, False]})
    assert svmgsu.Gaussians.from_frame(frame).mean.tolist() == [[1, 1], [2, 0]]


def test_names_of_columns_may_be_numbers_in_order():
    assert read("0,1,label\n5,6,a\n7,8,b\n").data.feature_names_in_ == ["0", "1"]
    assert read("450.5,460.5,470.5\n5,6,7\n").data.shape == (1, 3)


def test_an_index_that_pandas_wrote_is_an_id(tmp_path):
    table = pd.DataFrame({"x": [1.5, 2.5], "label": [0, 1]}, index=["p", "q"])
    found = read(table.to_csv())
    assert found.ids.tolist() == ["p", "q"] and found.data.feature_names_in_ == ["x"]
    table.assign(label=["u", "v"]).set_index("label").to_parquet(tmp_path / "t.parquet")
    assert svmgsu.io.read(tmp_path / "t.parquet").y.tolist() == ["u", "v"]
    assert read("name,x,label\n,1,0\nb,2,1\n").ids.tolist() == ["", "b"]


def test_json_of_columns_as_pandas_writes_it():
    table = pd.DataFrame({"x": [1.5, 2.5], "x_err": [0.5, 0.5], "label": [0, 1]})
    for text in (table.to_json(), json.dumps(table.to_dict("list"))):
        found = svmgsu.io.read(io.BytesIO(text.encode()), format="json")
        assert found.data.mean.ravel().tolist() == [1.5, 2.5] and found.y.tolist() == [0, 1]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_seen_from_the_first_lines(delimiter):
    text = "x, x_err, label\n1, 0.5, a\n2, 0.25, b\n".replace(", ", delimiter + " ")
    found = read(text)
    assert found.data.cov.variances.tolist() == [[0.25], [0.0625]]
    assert found.y.tolist() == ["a", "b"]


def test_ids_and_labels_with_leading_zeros_stay_text():
    found = read("id,x,label\n001,1,01\n002,2,02\n")
    assert found.ids.tolist() == ["001", "002"] and found.y.tolist() == ["01", "02"]


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["0", "1"], [0, 1]),
        (["0.5", "1"], [0.5, 1.0]),
        (["true", "false"], [True, False]),
        (["+1", "-1"], ["+1", "-1"]),
        (["a", '"NA"'], ["a", "NA"]),
    ],
)
def test_labels_are_numbers_where_all_are(cells, wanted):
    y = read("x,label\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells))).y
    assert y.tolist() == wanted and [type(v) for v in y.tolist()] == [type(v) for v in wanted]


def test_a_mixture_of_labels_is_text_if_asked_for_and_need_not_be_read():
    table = "x,label\n1,0\n2,3+\n"
    assert read(table, text_labels=True).y.tolist() == ["0", "3+"]
    assert read(table, target=False).y is None
    assert read("x,label\n1,0\n2,\n3,1\n", missing="drop").data.mean.ravel().tolist() == [1, 3]


def test_numbers_as_people_write_them():
    text = b"\xef\xbb\xbf" + "größe, x \r\n+1.5, 2 \r\n.5,1e3\r\n".encode()
    found = read(text)
    assert found.data.mean.tolist() == [[1.5, 2.0], [0.5, 1000.0]]
    assert found.data.feature_names_in_ == ["größe", "x"]
    late = read("x\n" + "1\n" * 300_000 + "1.5\n")  # a type guessed from the beginning would not hold
    assert late.data.mean[-1, 0] == 1.5
    assert read("x,note\n1," + "a" * 3_000_000 + "\n", ignore=["note"]).data.mean.item() == 1


TYPED = {
    "text": pa.array(["a", "b"]),
    "date": pa.array([0, 1], pa.date32()),
    "list": pa.array([[1.0], [2.0]]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "category": pa.array(["a", "b"]).dictionary_encode(),
    "nothing": pa.array([None, None]),
    "binary": pa.array([b"a", b"b"]),
}


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("kind", TYPED)
def test_columns_of_other_types_are_not_used(tmp_path, ending, kind):
    path = tmp_path / f"t.{ending}"
    table = pa.table({"x": [1.0, 2.0], "other": TYPED[kind], "label": [0, 1]})
    (parquet.write_table if ending == "parquet" else feather.write_feather)(table, path)
    found = svmgsu.io.read(path)
    assert found.data.feature_names_in_ == ["x"] and list(found.columns.unused) == ["other"]
    with pytest.raises(FormatError, match="column 'other'"):
        svmgsu.io.read(path, features=["x", "other"])


def test_rows_of_typed_tables_are_counted_and_an_index_of_pandas_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, np.nan, 2.0], "label": [0, 1, 1]}, index=[5, 3, 4])
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FormatError, match=r"t.parquet: row 1: column 'x' is missing"):
        svmgsu.io.read(tmp_path / "t.parquet")
    found = svmgsu.io.read(tmp_path / "t.parquet", missing="drop")
    assert found.data.feature_names_in_ == ["x"]


# Frames and files read alike


@pytest.mark.parametrize("centre", ["median", "mode", "mean"])
def test_frames_files_and_builders_agree_on_asymmetric_bars(tmp_path, centre):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.normal(size=5), "x_err1": rng.random(5), "x_err2": -rng.random(5), "z": 1.0}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    file = svmgsu.io.read(tmp_path / "t.csv", asymmetric=centre).data
    with pytest.warns(UserWarning, match=r"1 exact \(z\)"):
        frame = svmgsu.Gaussians.from_frame(table, asymmetric=centre)
    np.testing.assert_array_equal(file.mean, frame.mean)
    np.testing.assert_array_equal(file.cov.variances, frame.cov.variances)
    assert not frame.cov.variances[:, 1].any()
    if centre != "mean":
        built = from_errors(
            table[["x"]].to_numpy(),
            upper=table[["x_err1"]].to_numpy(),
            lower=table[["x_err2"]].to_numpy(),
            centre=centre,
        )
        np.testing.assert_allclose(built.mean[:, 0], frame.mean[:, 0], rtol=1e-14)
        np.testing.assert_allclose(built.cov.variances[:, 0], frame.cov.variances[:, 0], rtol=1e-14)


def test_lower_bars_have_a_sign_for_each_feature():
    data = from_errors([[1.0, 2.0]] * 2, upper=1.0, lower=[[-1.0, 1.0]] * 2)
    np.testing.assert_allclose(data.cov.variances, 1.0)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_frame_with_other_endings_is_read_as_a_file_is(make):
    data = svmgsu.Gaussians.from_frame(make({"a": [1.0], "a_std": [2.0], "b": [3.0], "b_var": [9.0]}))
    assert data.cov.variances.tolist() == [[4.0, 9.0]]
    whole = svmgsu.Gaussians.from_frame(make({"a": [1.0], "b": [3.0], "_err": [2.0]}))
    assert whole.cov.diagonals(1, 2).tolist() == [[4.0, 4.0]]


def test_a_bad_cell_of_a_frame_is_named_with_its_row():
    frame = pd.DataFrame({"x": ["1", "1.5 mJy", "2"], "x_err": [1.0, 1.0, 1.0]}, index=["p", "q", "r"])
    with pytest.raises(ValueError, match=r"row 1 \('q'\): column 'x' is '1.5 mJy', which is no number as"):
        svmgsu.Gaussians.from_frame(frame)
    for cells in (["a", "b", "c"], pd.date_range("2020", periods=3)):
        with pytest.raises(ValueError, match=r"column 'x'|no column to take"):
            svmgsu.Gaussians.from_frame(frame.assign(x=cells), ["x"])
    with pytest.raises(ValueError, match="column 'x_err' looks like the standard deviation of 'x', and"):
        svmgsu.Gaussians.from_frame(frame[["x_err"]])


def test_errors_of_rows_in_another_order_are_refused():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 8, 9])
    std = pd.DataFrame({"a": [0.1, 0.2, 0.3]}, index=[9, 8, 7])
    for use in (
        lambda: svmgsu.Gaussians(X, std=std),
        lambda: svmgsu.train(X, [0, 1, 1], std=std),
        lambda: svmgsu.LinearSVMGSU().fit(X, [0, 1, 1], std=std),
        lambda: from_errors(X, std),
    ):
        with pytest.raises(
            ValueError, match=r"std: its rows are labelled 9, 8, 7, but those of X 7, 8, 9; pass std.loc"
        ):
            use()
    np.testing.assert_allclose(svmgsu.Gaussians(X, std=std.loc[X.index]).cov.variances[0], 0.09)
    np.testing.assert_allclose(svmgsu.Gaussians(X, std=std.to_numpy()).cov.variances[0], 0.01)


class Counted(str):
    """A name that counts how often it is looked at."""

    looks = 0

    def __eq__(self, other):
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self):
        Counted.looks += 1
        return str.__hash__(self)


def looks_at(pairs):
    columns = [Counted(f"x{j}{end}") for j in range(pairs) for end in ("", "_err")]
    Counted.looks = 0
    assert len(understand(columns).features) == pairs
    return Counted.looks


def test_the_work_of_pairing_grows_with_the_columns_and_no_faster():
    assert looks_at(4000) < 5 * looks_at(1000)


def test_numbers_that_may_mean_missing_values_are_named_and_never_changed_unasked():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"mag": rng.normal(20, 1, 50), "mag_err": 0.1, "z": rng.uniform(0, 1e5, 50)})
    table["redshift"] = rng.uniform(0, 3, 50)
    table.loc[:3, "mag"] = -99.0
    table.loc[4:7, "mag"] = 99.0
    table.loc[:2, "z"] = -999.0
    table.loc[:1, "redshift"] = -99.0  # twice may be chance
    wanted = (
        r"numbers far outside the rest, taken as they are: mag \(-99: 4 samples\), mag \(99: 4 samples\), "
        r"z \(-999: 3 samples\); if they mean missing values, say na_values=\[-999, -99, 99\]$"
    )
    found = read(table.to_csv(index=False))
    assert found.data.mean[0].tolist()[:2] == [-99, -999]
    with pytest.warns(UserWarning, match=wanted):
        svmgsu.Gaussians.from_frame(table, exact=["z", "redshift"])
    assert [note for note in found.report.notes if "far outside" in note]
    found = read(table.to_csv(index=False), na_values=[-999, -99, 99], missing="keep")
    assert np.isnan(found.data.mean).sum(axis=0).tolist() == [8, 3, 2]
    assert not [note for note in found.report.notes if "far outside" in note]
    plain = read("x,z\n" + "".join(f"{k},{k % 3}\n" for k in range(97, 103)))
    assert len(plain.report.notes) == 1
