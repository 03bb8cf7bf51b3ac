"""Damaged files end in data or in one error that names the file, never in another exception or a crash."""

import pytest

pytest.importorskip("pyarrow", reason="the tables among the files need pyarrow")

from fuzz_files import run


@pytest.mark.parametrize("seed", [1, 2])
def test_files_changed_at_random_are_read_or_refused(seed, tmp_path):
    ends = run(300, seed, tmp_path)
    assert set(ends) <= {"data", "error"}, ends
    assert ends["data"] > 30 and ends["error"] > 30
