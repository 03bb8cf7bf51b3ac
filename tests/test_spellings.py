"""The names of columns with uncertainties, as people write them, through every door: paired, or refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from astropy.table import Table

import svmgsu
from svmgsu.cli import main

# Of a value in the first column the second has the standard deviation.
PAIRED = [
    *(
        ("x", name)
        for name in ("x_err", "xerr", "xErr", "X_ERR", "x_error", "x_std", "x_sigma", "x_sd", "x_se")
    ),
    *(
        ("x", name)
        for name in ("x_unc", "x_uncertainty", "x_rms", "x_e", "x.err", "x err", "x-err", "x ±", "x_stderr")
    ),
    *(
        ("x", name)
        for name in ("e_x", "err_x", "error_x", "sigma_x", "sig_x", "unc_x", "Unc_x", "dx", "Δx", "σ_x")
    ),
    ("x", "x (error)"),
    ("A_IMAGE", "ERRA_IMAGE"),
    ("Flux", "flux_err"),
    ("x[Jy]", "x_err[Jy]"),
    ("x (mag)", "e_x (mag)"),
    ("MAG_AUTO_U", "MAGERR_AUTO_U"),
    ("ds.MAG_AUTO_U", "ds.MAGERR_AUTO_U"),
    ("GAIA_Plx", "GAIA_e_Plx"),
    ("psfMag_u", "psfMagErr_u"),
    ("x_mean", "x_std"),
    ("mean x", "x error"),
]
SIDES = [
    *(("x_err1", "x_err2"), ("x_err_up", "x_err_down"), ("x_errp", "x_errm"), ("x_upper_err", "x_lower_err")),
    *(("E_x", "e_x"), ("x_err_plus", "x_err_minus"), ("x_uerr", "x_lerr"), ("x_err_hi", "x_err_lo")),
]
# What may mean several things, or has no value: the option that helps is part of the message.
REFUSED = {
    ("x", "x_upper", "x_lower"): "bounds:x_lower,x_upper",
    ("x", "b_x", "B_x"): "bounds:b_x,B_x",
    ("x", "x_upper"): "as a value",
    ("x", "x_lo"): "as a value",
    ("x", "x_moe"): "1.645",
    ("x", "x_ci"): "1.645",
    ("x", "x_tol"): "1.645",
    ("B01_001E", "B01_001M"): "1.645",
    ("x", "x_lci", "x_uci"): "bounds:x_lci,x_uci",
    ("x", "x_ci_low", "x_ci_high"): "bounds:x_ci_low,x_ci_high",
    ("X_IMAGE", "ERRX2_IMAGE"): "exact",
    ("x", "x_err", "x_std"): "errors",
    ("x", "x_err1"): "errors",
    ("x", "x_err2"): "errors",
    ("z", "x_err1"): "exact",
    ("z", "x_err2"): "exact",
    ("z", "x_err"): "exact",
    ("z", "e_x"): "exact",
    ("z", "sigma_x"): "exact",
    ("z", "xerr"): "exact",
    ("z", "x_var"): "exact",
    ("z", "MAGERR_AUTO_U"): "exact",
}
VALUES = [1.0, 2.5, 3.5, 4.0]


def in_shell(table, folder):
    pd.DataFrame(table).to_csv(folder / "t.csv", index=False)
    if main(["convert", str(folder / "t.csv"), str(folder / "t.npz")]) != 0:
        return None
    return svmgsu.io.read(folder / "t.npz").data


def in_memory(make):
    return lambda table, folder: svmgsu.Gaussians.from_frame(make(table))


DOORS = {
    "shell": in_shell,
    "pandas": in_memory(pd.DataFrame),
    "polars": in_memory(pl.DataFrame),
    "astropy": in_memory(Table),
}
doors = pytest.mark.parametrize("door", DOORS)


@doors
@pytest.mark.parametrize(("value", "error"), PAIRED)
def test_a_value_has_its_standard_deviation(door, value, error, tmp_path):
    data = DOORS[door]({value: VALUES, error: [0.5, 1.0, 2.0, 4.0]}, tmp_path)
    assert data.feature_names_in_ == [value] and data.mean.ravel().tolist() == VALUES
    assert data.cov.variances.ravel().tolist() == [0.25, 1.0, 4.0, 16.0]


@doors
@pytest.mark.parametrize(("upper", "lower"), SIDES)
def test_a_value_has_an_upper_and_a_lower_error(door, upper, lower, tmp_path):
    data = DOORS[door]({"x": VALUES, lower: [0.5] * 4, upper: [1.5] * 4}, tmp_path)
    shift = 1.0 / np.sqrt(2 * np.pi)  # two half normals that meet at their median
    np.testing.assert_allclose(data.mean.ravel(), np.array(VALUES) + shift)
    np.testing.assert_allclose(data.cov.variances.ravel(), 1.25 - shift**2)


@doors
def test_variances_inverse_variances_and_covariances(door, tmp_path):
    table = {"x": VALUES, "x_var": [4.0] * 4, "z": VALUES, "z_ivar": [4.0] * 4, "x_z_corr": [0.5, 0, -0.5, 1]}
    data = DOORS[door](table, tmp_path)
    assert data.feature_names_in_ == ["x", "z"]
    full = data.cov.to_full(n_features=2, n_samples=4)
    np.testing.assert_allclose(full[0], [[4.0, 0.5], [0.5, 0.25]])
    np.testing.assert_allclose(full[2], [[4.0, -0.5], [-0.5, 0.25]])


@doors
def test_quantiles_of_one_standard_deviation_are_bounds(door, tmp_path):
    data = DOORS[door]({"x_q16": [0.5] * 4, "x_q50": [1.0] * 4, "x_q84": [1.5] * 4}, tmp_path)
    assert data.feature_names_in_ == ["x_q50"] and data.cov.variances.ravel().tolist() == [0.25] * 4


@doors
@pytest.mark.filterwarnings("ignore:1 value with errors")
def test_ratios_of_values_and_errors_are_values(door, tmp_path):
    table = {"plx": VALUES, "plx_error": [1.0] * 4, "plx_over_error": VALUES}
    assert DOORS[door](table, tmp_path).feature_names_in_ == ["plx", "plx_over_error"]


@doors
@pytest.mark.parametrize("names", REFUSED)
def test_what_is_not_clear_is_refused_with_the_option_that_helps(door, names, tmp_path, capsys):
    table = {name: [0.5, 1.0, 2.0, 4.0] for name in names}
    if door == "shell":
        assert DOORS[door](table, tmp_path) is None
        said = capsys.readouterr().err
        assert "--" in said.partition("t.csv")[2]
    else:
        with pytest.raises(ValueError) as error:
            DOORS[door](table, tmp_path)
        said = str(error.value)
    assert REFUSED[names] in said


@pytest.mark.parametrize("name", ["x_upper", "x_lo", "x_moe", "x_rms"])
def test_what_may_be_a_value_is_one_where_there_is_no_other(name):
    data = svmgsu.Gaussians.from_frame(pd.DataFrame({"z": VALUES, name: VALUES}))
    assert data.feature_names_in_ == ["z", name] and data.cov is None


def test_options_settle_what_is_not_clear():
    table = pd.DataFrame({"x": VALUES, "x_lower": [0.5, 2.0, 3.0, 3.5], "x_upper": [1.5, 3.0, 4.0, 4.5]})
    read = svmgsu.Gaussians.from_frame
    bounds = read(table, errors={"x": "bounds:x_lower,x_upper"})
    np.testing.assert_allclose(bounds.cov.variances, 0.25)
    sides = read(table, errors={"x": ("x_upper", "x_lower")}, asymmetric="mean")
    np.testing.assert_allclose(sides.cov.variances[0], 1.0)
    assert read(table, exact=["x_lower", "x_upper"]).shape == (4, 3)
    margins = pd.DataFrame({"MP_a": VALUES, "EP_a": [1.645] * 4, "MP_b": VALUES, "EP_b": [3.29] * 4})
    data = read(margins, errors="MP_{}=EP_{}", error_scale=1.645)
    np.testing.assert_allclose(data.cov.variances[0], [1.0, 4.0])
    assert data.feature_names_in_ == ["MP_a", "MP_b"]


def test_the_shell_takes_the_same_options(tmp_path):
    margins = pd.DataFrame({"MP_a": VALUES, "EP_a": [1.645] * 4, "MP_b": VALUES, "EP_b": [3.29] * 4})
    margins.to_csv(tmp_path / "t.csv", index=False)
    files = [str(tmp_path / "t.csv"), str(tmp_path / "t.npz")]
    assert main(["convert", *files, "--errors", "MP_{}=EP_{}", "--error-scale", "1.645"]) == 0
    np.testing.assert_allclose(svmgsu.io.read(files[1]).data.cov.variances[0], [1.0, 4.0])
    assert main(["convert", *files, "--errors", "MP_a=EP_a", "--exact", "EP_b,MP_b"]) == 0
    assert svmgsu.io.read(files[1]).data.feature_names_in_ == ["MP_a", "MP_b", "EP_b"]
