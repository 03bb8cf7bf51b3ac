"""`Gaussians.from_frame`: tables of values and error bars from pandas and polars."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate

import svmgsu

pd = pytest.importorskip("pandas", reason="reads frames of pandas")
pl = pytest.importorskip("polars", reason="reads frames of polars")

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


@both
def test_upper_and_lower_errors_can_be_averaged(make):
    data = from_frame(make(ASYMMETRIC), asymmetric="mean")
    np.testing.assert_array_equal(data.mean, [[1.0], [2.0]])
    np.testing.assert_allclose(deviations(data), [[0.2], [0.1]])
    positive = {**ASYMMETRIC, "p_err2": [0.1, 0.1]}
    np.testing.assert_allclose(deviations(from_frame(make(positive), asymmetric="mean")), [[0.2], [0.1]])
    pair = from_frame(make(ASYMMETRIC), ["p"], {"p": ("p_err1", "p_err2")}, asymmetric="mean")
    np.testing.assert_array_equal(deviations(pair), deviations(data))


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
        with pytest.raises(ValueError, match=rf"row 1: column '{column}' is missing; missing=.drop."):
            from_frame(frame)
        assert from_frame(frame, missing="drop").mean[:, 1].tolist() == [10, 30]


@both
def test_an_error_of_zero_is_a_value_that_is_known_exactly(make):
    assert deviations(from_frame(make(PAIRS | {"g_err": [1, 0, 3]})))[1, 1] == 0


@both
def test_what_was_understood_is_said_in_one_line(make):
    with pytest.warns(UserWarning, match=r"2 values with errors, 1 exact \(r\), 1 id \(name\)"):
        data = from_frame(make(TABLE))
    assert str(data.columns) == "2 values with errors, 1 exact (r), 1 id (name)"
    assert data.columns.exact == ["r"] and data.columns.ids == ["name"]
    with pytest.warns(UserWarning, match=r"1 id \(name\)"):
        assert from_frame(make(TABLE), exact=["r", "g_err"]).feature_names_in_ == ["u", "g", "g_err", "r"]


def test_a_row_is_called_by_its_label_too():
    frame = pd.DataFrame({"x": [1.0, 2.0], "x_err": [1.0, -1.0]}, index=["K1", "K2"])
    with pytest.raises(ValueError, match=r"row 1 \('K2'\)"):
        from_frame(frame)


def test_nullable_columns_and_other_numbers_are_read():
    frame = pd.DataFrame({"x": [1, 2], "x_err": [1.0, 2.0]}).astype({"x": "Int64", "x_err": "Float32"})
    np.testing.assert_array_equal(from_frame(frame).mean, [[1.0], [2.0]])
    frame.loc[1, "x"] = pd.NA
    with pytest.raises(ValueError, match="row 1: column 'x' is missing"):
        from_frame(frame)


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


def test_neither_library_is_imported_for_arrays():
    script = (
        "import sys, svmgsu, svmgsu.io.frames; svmgsu.Gaussians([[1.0]], std=1.0);"
        "assert not {'pandas', 'polars', 'sklearn', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_kepler_table_is_read_as_it_is(data_folder):
    path = data_folder / "kepler" / "cumulative.csv.gz"
    if not path.is_file():
        pytest.skip(f"real data: {path} is not there")
    with gzip.open(path, "rt") as file:
        table = pd.read_csv(file, comment="#")
    names = ["koi_period", "koi_depth", "koi_duration", "koi_steff"]
    table = table.dropna(subset=[c for name in names for c in (name, f"{name}_err1", f"{name}_err2")])
    data = from_frame(table, names)
    assert data.shape == (len(table), 4)
    assert len(data) > 7000
    i = 5
    sides = table.iloc[i][["koi_depth_err1", "koi_depth_err2"]].to_numpy(float)
    assert deviations(data)[i, 1] == pytest.approx(np.abs(sides).mean())
