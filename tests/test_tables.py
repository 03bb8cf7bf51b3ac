"""Tables as they come: nothing is dropped silently, what is wrong has a line, frames and files agree."""

import gzip
import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy import integrate

import svmgsu
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
    "a label that is missing": ("x,label\n1,0\n2,\n3,1\n4,\n", 3, "column 'label' has no value, one of 2"),
    "a quotation mark that is never closed": ('x,id\n1,"a"\n2,"b\n3,c\n', 3, "a quotation mark without a s"),
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
    assert found.columns.unused == dict.fromkeys(["z", "z_err", "day"], "not among the features")
    assert read("x,z,z_err\n1,0,1\n2,1,1\n", target="z").data.feature_names_in_ == ["x"]


def test_columns_of_text_and_empty_ones_are_left_out_and_said():
    found = read("x,day,colour,z,\n1,2020-01-01,red,,\n2,2020-01-02,blue,,\n")
    assert found.data.feature_names_in_ == ["x"]
    wanted = {"day": "text", "colour": "text", "z": "empty", "Unnamed: 4": "empty"}
    assert found.columns.unused == wanted
    assert "4 unused (day: text, colour: text, z: empty, Unnamed: 4: empty)" in found.report.notes[0]


@pytest.mark.parametrize(
    "labels", [["12:30", "13:45"], ["2020-01-01 10:00", "2021-01-01 11:00"], ["0x1A", "0x1B"], ["7", "007"]]
)
@pytest.mark.parametrize("repeated", [1, 150])
def test_labels_stay_as_they_are_written(labels, repeated):
    found = [labels[0]] * repeated + labels  # the last one comes late
    assert read("x,label\n" + "".join(f"1.5,{label}\n" for label in found)).y.tolist() == found


def test_ones_beside_true_are_no_truth_values():
    with pytest.raises(FormatError, match="column 'label' is 'true', where other labels are numbers"):
        read("x,label\n1.5,1\n2.5,true\n3.5,0\n")
    assert read("x,flag\n1.5,1\n2.5,true\n3.5,0\n").data.mean[:, 1].tolist() == [1, 1, 0]


def test_true_and_false_are_one_and_zero():
    found = read("x,flag,z\n1,true,0\n2,False,1\n")
    assert found.data.mean.tolist() == [[1, 1, 0], [2, 0, 1]]
    frame = pd.DataFrame({"x": [1.0, 2.0], "flag": [True, False]})
    assert svmgsu.Gaussians.from_frame(frame).mean.tolist() == [[1, 1], [2, 0]]


def test_an_index_that_pandas_wrote_is_an_id(tmp_path):
    table = pd.DataFrame({"x": [1.5, 2.5], "label": [0, 1]}, index=["p", "q"])
    found = read(table.to_csv())
    assert found.ids.tolist() == ["p", "q"] and found.data.feature_names_in_ == ["x"]
    table.assign(label=["u", "v"]).set_index("label").to_parquet(tmp_path / "t.parquet")
    assert svmgsu.io.read(tmp_path / "t.parquet").y.tolist() == ["u", "v"]
    assert read("name,x,label\n,1,0\nb,2,1\n").ids.tolist() == ["", "b"]


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
    with pytest.raises(FormatError, match=r"t.parquet: row 1: column 'x' has no value"):
        svmgsu.io.read(tmp_path / "t.parquet")
    found = svmgsu.io.read(tmp_path / "t.parquet", missing="drop")
    assert found.data.feature_names_in_ == ["x"]


# Frames and files read alike


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


both = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
from_frame = svmgsu.Gaussians.from_frame

TABLE = {
    "name": ["a", "b", "c"],
    "u": [1.0, 2.0, 3.0],
    "u_err": [0.1, 0.2, 0.3],
    "g": [10, 20, 30],
    "g_err": [1, 2, 3],
    "r": [5.0, 6.0, 7.0],
}


PAIRS = {name: TABLE[name] for name in ("u", "u_err", "g", "g_err")}


def deviations(data):
    return np.sqrt(data.cov.variances)


@both
def test_columns_are_paired_by_their_suffix(make):
    data = from_frame(make(TABLE), ignore=["name", "r"])
    assert data.feature_names_in_ == ["u", "g"]
    np.testing.assert_array_equal(data.mean, [[1, 10], [2, 20], [3, 30]])
    np.testing.assert_allclose(deviations(data), [[0.1, 1], [0.2, 2], [0.3, 3]])
    assert data[[2]].feature_names_in_ == ["u", "g"]


@both
def test_columns_can_be_named(make):
    data = from_frame(make(TABLE), ["r", "u", "g"], {"r": "g_err", "u": None, "g": 0.5})
    assert data.feature_names_in_ == ["r", "u", "g"]
    np.testing.assert_allclose(deviations(data), [[1, 0, 0.5], [2, 0, 0.5], [3, 0, 0.5]])
    assert from_frame(make(TABLE), ["g"]).shape == (3, 1)
    assert from_frame(make(TABLE), ["u"], {"u": None}).cov is None
    sigma = from_frame(make({"x": [1.0], "x sigma": [2.0]}), errors="{} sigma")
    assert deviations(sigma).item() == 2


ASYMMETRIC = {"p": [1.0, 2.0], "p_err1": [0.3, 0.1], "p_err2": [-0.1, -0.1]}


@pytest.mark.parametrize(("upper", "lower"), [(0.3, 0.1), (0.1, 0.1), (0.2, 1.7)])
def test_a_split_normal_has_the_moments_of_its_density(upper, lower):
    def density(x):
        return np.exp(-0.5 * (x / (upper if x > 0 else lower)) ** 2)

    def integral(f):
        return sum(integrate.quad(f, a, b, epsabs=1e-13)[0] for a, b in [(-10 * lower, 0), (0, 10 * upper)])

    mass = integral(density)
    mean = integral(lambda x: x * density(x)) / mass
    variance = integral(lambda x: (x - mean) ** 2 * density(x)) / mass
    frame = pd.DataFrame({"p": [4.0], "p_err1": [upper], "p_err2": [-lower]})
    data = from_frame(frame, asymmetric="split-normal")
    assert data.mean.item() == pytest.approx(4 + mean, rel=1e-9)
    assert data.cov.variances.item() == pytest.approx(variance, rel=1e-9)


@both
@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_missing_numbers_are_named_and_can_be_left_out(make, nothing):
    for column in ("u", "u_err"):
        frame = make(PAIRS | {column: [0.1, nothing, 0.3]})
        with pytest.raises(ValueError, match=rf"row 1: column '{column}' has no value; missing=.drop."):
            from_frame(frame)
        assert from_frame(frame, missing="drop").mean[:, 1].tolist() == [10, 30]


@both
def test_what_was_understood_is_said_in_one_line(make):
    with pytest.warns(UserWarning, match=r"2 values with errors, 1 exact \(r\), 1 id \(name\)"):
        data = from_frame(make(TABLE))
    assert str(data.columns) == "2 values with errors, 1 exact (r), 1 id (name)"
    assert data.columns.exact == ["r"] and data.columns.ids == ["name"]
    with pytest.warns(UserWarning, match=r"1 id \(name\)"):
        assert from_frame(make(TABLE), exact=["r", "g_err"]).feature_names_in_ == ["u", "g", "g_err", "r"]


def test_what_is_wrong_with_a_frame_is_said():
    frame = pd.DataFrame(TABLE)
    wrong = {
        "features: there is no column 'z'; there are name, u, ": {"features": ["z"]},
        "errors: there is no column 'z'": {"errors": {"u": "z"}},
        "errors: there is no column 'y'": {"errors": {"y": "u_err"}},
        "no numbers in column 'name', which was asked for": {"features": ["name"]},
        "errors: no columns are named like 'e_{}'": {"errors": "e_{}"},
        "asymmetric: expected": {"asymmetric": "max"},
        "missing: expected": {"missing": "median"},
        "limits: expected": {"limits": "uniform"},
        "error_scale: must be > 0": {"error_scale": 0},
        "errors: the error of 'u' must be >= 0": {"errors": {"u": -1.0}},
        "there is no column to take as a feature": {"features": []},
    }
    for text, options in wrong.items():
        with pytest.raises(ValueError, match=text):
            from_frame(frame, **options)
    with pytest.raises(ValueError, match="row 0: column 'x_err' is -1; errors must be >= 0"):
        from_frame(pd.DataFrame({"x": [1.0], "x_err": [-1.0]}))
    with pytest.raises(ValueError, match=r"row 0: column 'p_err2' is -0\.1, but 0\.1 at frame: row 1"):
        from_frame(pd.DataFrame({**ASYMMETRIC, "p_err2": [-0.1, 0.1]}))
    with pytest.raises(ValueError, match="'x' has more than one uncertainty: x_err and x_err1 and x_err2"):
        from_frame(pd.DataFrame({name: [1.0] for name in ("x", "x_err", "x_err1", "x_err2")}))
    with pytest.raises(ValueError, match="the column 'x' appears twice"):
        from_frame(pd.DataFrame([[1.0, 2.0]], columns=["x", "x"]))
    with pytest.raises(ValueError, match="it has no rows"):
        from_frame(frame[:0])
    with pytest.raises(TypeError, match=r"a lazy frame has no rows yet; pass X\.collect"):
        from_frame(pl.DataFrame(TABLE).lazy())
    with pytest.raises(TypeError, match="expected a table of pandas, polars, astropy or pyarrow, got dict"):
        from_frame(TABLE)
    with pytest.raises(TypeError, match="features: expected a list of column names, got 'u'"):
        from_frame(frame, "u")
    with pytest.raises(TypeError, match="expected columns with names that are strings, got 0"):
        from_frame(pd.DataFrame([[1.0, 0.1], [2.0, 0.2]]))


def test_a_frame_of_means_gives_its_names():
    X = pd.DataFrame({"u": [1.0, 2.0], "g": [3.0, 4.0]})
    assert svmgsu.Gaussians(X).feature_names_in_ == ["u", "g"]
    assert svmgsu.Gaussians(pl.from_pandas(X)).feature_names_in_ == ["u", "g"]
    assert svmgsu.Gaussians(pd.DataFrame(X.to_numpy())).feature_names_in_ is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_errors_in_another_order_of_columns_are_refused(make):
    means = make({"u": [1.0, 2.0, 3.0], "g": [3.0, 4.0, 5.0]})
    errors = make({"g": [0.1, 0.1, 0.1], "u": [0.2, 0.2, 0.2]})
    for name in ("cov", "std"):
        with pytest.raises(
            ValueError, match=f"{name}: its columns are 'g', 'u', but those of X are 'u', 'g'"
        ):
            svmgsu.Gaussians(means, **{name: errors})
    assert svmgsu.Gaussians(means, std=errors[["u", "g"]]).cov.variances[0, 0] == pytest.approx(0.04)
    other = make({"u_err": [0.2, 0.2, 0.2], "g_err": [0.1, 0.1, 0.1]})
    assert svmgsu.Gaussians(means, std=other).cov.variances[0, 0] == pytest.approx(0.04)


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


@pytest.mark.parametrize("other", ["float32", "float64"])  # of columns that differ, all become float64
def test_numbers_that_mean_missing_values_are_found_in_single_precision(other):
    table = pd.DataFrame({"x": np.linspace(0, 1, 9), "x_err": 0.1, "z": np.linspace(0, 1, 9)})
    table.loc[:3, "x"] = 99.9
    table = table.astype({"x": "float32", "x_err": "float32", "z": other})
    with pytest.warns(UserWarning, match=r"x \(99.9: 4 samples\); .* say na_values=\[99.9\]$"):
        svmgsu.Gaussians.from_frame(table, exact=["z"])
    data = svmgsu.Gaussians.from_frame(table, exact=["z"], na_values=[99.9], missing="keep")
    assert np.isnan(data.mean).sum(axis=0).tolist() == [4, 0]
    table.loc[:3, "x_err"] = np.float32(9.99)
    with pytest.warns(UserWarning, match="4 values of nines with an error of nines, such as 99.9 and 9.99,"):
        assert len(svmgsu.Gaussians.from_frame(table, exact=["z"], missing="drop")) == 5


def test_a_column_without_numbers_brings_no_warning_of_numpy():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read("x,z\n1,-7\n2,-7\n", na_values=[-7], missing="drop")
    assert found.data.mean.tolist() == [[1], [2]]


pytest.importorskip("pyarrow", reason="tables of text are read_remarked by pyarrow")

UNDER_REMARKS = "name,flux,flux_err,kind\na,1.5,.1,star\nb,2.5,.2,quasar\nc,0.5,.1,star\n"
REMARKS = [
    "# made by hand\n",
    "# of an archive, on Sunday, at 5\n#\n# COLUMN flux: what it is\n",
    '# it said "wait\n# and, so, on, and on\n\n',
    "\ufeff# with a byte order mark\n",
    "# lines of Windows\r\n#\r\n",
]


def read_remarked(path):
    return svmgsu.io.read_table(path, target="kind", id="name")


@pytest.mark.parametrize("remarks", REMARKS)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_remarks_are_passed_over(tmp_path, remarks, ending):
    plain, path = tmp_path / "plain.csv", tmp_path / f"table.{ending}"
    plain.write_text(UNDER_REMARKS)
    text = (remarks + UNDER_REMARKS).encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    wanted, got = read_remarked(plain), read_remarked(path)
    np.testing.assert_array_equal(got.data.mean, wanted.data.mean)
    assert got.data.feature_names_in_ == wanted.data.feature_names_in_
    assert got.y.tolist() == wanted.y.tolist()


def test_errors_name_the_line_of_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("# one\n# two\n" + UNDER_REMARKS.replace("2.5", "high"))
    with pytest.raises(svmgsu.io.FormatError, match=r"table.csv:5: column 'flux' is 'high'"):
        read_remarked(path)
    path.write_text("# one\n# two\n" + UNDER_REMARKS + "d,1\n")
    with pytest.raises(svmgsu.io.FormatError, match=r"table.csv:7: 2 cells, but the header has 4 columns"):
        read_remarked(path)


def test_a_header_may_begin_with_a_hash(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("# made by hand\n#" + UNDER_REMARKS)
    assert svmgsu.io.read_table(path, target="kind", id="#name").data.feature_names_in_ == ["flux"]
    path.write_text("# nothing else\n")
    with pytest.raises(svmgsu.io.FormatError, match=r"table.csv: there are no samples in this file"):
        svmgsu.io.read_table(path)


# What people mistype, and what they may have meant


def test_the_errors_of_an_exact_value_are_no_feature():
    found = read("x,x_err,z,z_err,label\n1,1,2,2,0\n3,1,2,2,1\n", exact=["x"])
    assert found.data.feature_names_in_ == ["x", "z"]
    assert found.columns.exact == ["x"]
    assert found.columns.unused == {"x_err": "belongs to x"}


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"target": "lable"}, "there is no column 'lable'; did you mean 'label'"),
        ({"features": ["X"]}, "there is no column 'X'; did you mean 'x'"),
        ({"features": ["flux"]}, "there is no column 'flux'; there are x, x_err, label"),
        ({"exact": ["x"], "ignore": ["x"]}, "exact: 'x' is to be ignored as well; say one of the two"),
    ],
)
def test_names_that_are_wrong_are_told_with_what_may_be_meant(options, reason):
    with pytest.raises(FormatError, match=reason):
        read("x,x_err,label\n1,1,0\n3,1,1\n", **options)


def test_a_column_that_numbers_the_rows_is_no_feature_and_ids_keep_their_zeros():
    for step, features in ((1, ["x"]), (2, ["n", "x"])):
        rows = [f"{step * k},{k % 7 / 10},{k % 2}" for k in range(3, 203)]
        assert read("\n".join(["n,x,label", *rows])).data.feature_names_in_ == features
    assert read("id,x,label\n007,1,0\n008,2,1\n").ids.tolist() == ["007", "008"]


@pytest.mark.parametrize("format", ["xlsx", "fits", "vot", "ecsv"])
def test_damaged_files_that_other_libraries_read_are_named(format, tmp_path):
    path = tmp_path / f"damaged.{format}"
    for content in (b"PK", b"<?xml version='1.0'?><VOTABLE>", b"SIMPLE  =                    T"):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=f"damaged.{format}: not a readable table"):
            svmgsu.read(path)


def test_errors_in_percent_belong_to_values_in_percent():
    table = "x,x_err,label\n2,50%,0\n4,50%,1\n"
    with pytest.raises(
        FormatError, match=r"'x_err' holds percentages, and its value 'x' does not; units=\"rel"
    ):
        read(table)
    assert read(table, units="relative").data.cov.variances.ravel().tolist() == [1.0, 4.0]
    both = read("x,x_err,label\n200%,50%,0\n400%,50%,1\n").data
    assert both.mean.ravel().tolist() == [2.0, 4.0] and both.cov.variances.ravel().tolist() == [0.25, 0.25]
