"""Remarks above the header of a CSV file, as archives of astronomy write them."""

import gzip

import numpy as np
import pytest

import svmgsu

pytest.importorskip("pyarrow", reason="tables of text are read by pyarrow")

TABLE = "name,flux,flux_err,kind\na,1.5,.1,star\nb,2.5,.2,quasar\nc,0.5,.1,star\n"
REMARKS = [
    "# made by hand\n",
    "# of an archive, on Sunday, at 5\n#\n# COLUMN flux: what it is\n",
    '# it said "wait\n# and, so, on, and on\n\n',
    "\ufeff# with a byte order mark\n",
    "# lines of Windows\r\n#\r\n",
]


def read(path):
    return svmgsu.io.read_table(path, target="kind", id="name")


@pytest.mark.parametrize("remarks", REMARKS)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_remarks_are_passed_over(tmp_path, remarks, ending):
    plain, path = tmp_path / "plain.csv", tmp_path / f"table.{ending}"
    plain.write_text(TABLE)
    text = (remarks + TABLE).encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    wanted, got = read(plain), read(path)
    np.testing.assert_array_equal(got.data.mean, wanted.data.mean)
    assert got.data.feature_names_in_ == wanted.data.feature_names_in_
    assert got.y.tolist() == wanted.y.tolist()
    blocks = svmgsu.open(path, target="kind", id="name")
    np.testing.assert_array_equal(blocks[:].mean, wanted.data.mean)


def test_errors_name_the_line_of_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("# one\n# two\n" + TABLE.replace("2.5", "high"))
    with pytest.raises(svmgsu.io.FormatError, match=r"table.csv:5: column 'flux' is 'high'"):
        read(path)
    path.write_text("# one\n# two\n" + TABLE + "d,1\n")
    with pytest.raises(svmgsu.io.FormatError, match=r"table.csv:7: 2 cells, but the header has 4 columns"):
        read(path)


def test_a_header_may_begin_with_a_hash(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("# made by hand\n#" + TABLE)
    assert svmgsu.io.read_table(path, target="kind", id="#name").data.feature_names_in_ == ["flux"]
    path.write_text("# nothing else\n")
    with pytest.raises(svmgsu.io.FormatError):
        svmgsu.io.read_table(path)
