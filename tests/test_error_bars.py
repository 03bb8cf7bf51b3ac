"""One convention for error bars: a data frame, a file and arrays given to a builder say the same."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

import svmgsu
from svmgsu.uncertainty import from_errors

VALUES = {"u": [1.5, 2.0, -3.0], "g": [0.5, 0.25, 4.0]}
SYMMETRIC = {"u_err": [0.1, 0.4, 0.2], "g_err": [0.3, 0.2, 0.6]}
UPPER = {"u_err1": [0.1, 0.4, 0.2], "g_err1": [0.3, 0.2, 0.6]}
LOWER = {"u_err2": [-0.2, -0.1, -0.3], "g_err2": [0.6, 0.1, 0.5]}  # one column with signs, one without


def from_csv(table, **options):
    return svmgsu.io.read_table(io.BytesIO(table.to_csv(index=False).encode()), format="csv", **options).data


def from_parquet(table, **options):
    file = io.BytesIO()
    table.to_parquet(file, index=False)
    file.seek(0)
    return svmgsu.io.read_table(file, format="parquet", **options).data


READERS = {
    "pandas": svmgsu.Gaussians.from_frame,
    "polars": lambda table, **options: svmgsu.Gaussians.from_frame(pl.from_pandas(table), **options),
    "CSV": from_csv,
    "Parquet": from_parquet,
}
UNITS = ["same", "relative", "linear of log10", "linear of log"]


def rows(table, names):
    return np.column_stack([table[name] for name in names])


def same(data, wanted):
    assert data.feature_names_in_ == ["u", "g"]
    assert type(data.cov) is type(wanted.cov) is svmgsu.Diagonal
    np.testing.assert_array_equal(data.mean, wanted.mean)
    np.testing.assert_array_equal(data.cov.variances, wanted.cov.variances)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("units", UNITS)
def test_symmetric_bars(reader, units):
    data = READERS[reader](pd.DataFrame(VALUES | SYMMETRIC), units=units)
    same(data, from_errors(rows(VALUES, "ug"), rows(SYMMETRIC, SYMMETRIC), units=units))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("centre", ["median", "mode"])
def test_asymmetric_bars(reader, units, centre):
    data = READERS[reader](pd.DataFrame(VALUES | UPPER | LOWER), units=units, asymmetric=centre)
    wanted = from_errors(
        rows(VALUES, "ug"), upper=rows(UPPER, UPPER), lower=rows(LOWER, LOWER), units=units, centre=centre
    )
    same(data, wanted)


@pytest.mark.parametrize("reader", READERS)
def test_signs_are_of_a_column(reader):
    """Both signs in a column of lower bars are refused by all, with the place of the negative one."""
    mixed = LOWER | {"u_err2": [0.2, 0.1, -0.3]}
    with pytest.raises(ValueError, match=r"u_err2.*-0\.3"):
        READERS[reader](pd.DataFrame(VALUES | UPPER | mixed))
    with pytest.raises(ValueError, match=r"lower: sample 2 has standard deviation -0\.3 at feature 0"):
        from_errors(rows(VALUES, "ug"), upper=rows(UPPER, UPPER), lower=rows(mixed, mixed))
