"""What does not fit into memory is refused with its numbers and where it comes from, before it is taken."""

import gzip
import io
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import svmgsu
from svmgsu.cli import main
from svmgsu.support import memory

WIDE = 2**31 - 1


@pytest.fixture
def little(monkeypatch):
    """A machine with 100 MB left, for which nothing is too small to be asked for."""
    monkeypatch.setattr(memory, "available", lambda: 10**8)


def refused(message):
    return pytest.raises(memory.NotEnoughMemory, match=message)


def limited(program, folder):
    """A program with an address space of 4 GB."""
    pytest.importorskip("resource")
    program = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))\n{program}\n"
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)


def test_what_is_available_and_how_it_is_told(monkeypatch, tmp_path):
    assert 0 < (memory.available() or 1) < 2**50
    words = ["999 bytes", "1.5 kB", "2 MB", "51.2 GB", "7 TB", "1 PB", "2e+03 PB"]
    assert [memory.in_words(v) for v in (999, 1.5e3, 2e6, 51.2e9, 7e12, 1e15, 2e18)] == words
    program = "import svmgsu.support.memory as m\nassert m.available() < 2**32, m.available()"
    assert limited(program, tmp_path).returncode == 0
    monkeypatch.setattr(memory, "available", lambda: None)
    memory.require_memory(1e30, "anything")  # a system that says nothing is trusted


def test_a_huge_index_names_its_line_when_training_does_not_fit(tmp_path, little, capsys):
    means, labels = tmp_path / "means", tmp_path / "labels"
    means.write_text("".join(f"d{k} 1:{k} 2:1\n" for k in range(5)) + "d5 1:3 100000000:1\n")
    labels.write_text("".join(f"d{k} {2 * (k % 2) - 1}\n" for k in range(6)))
    assert main(["train", str(means), "--labels", str(labels), "-o", str(tmp_path / "m")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"svmgsu train: {means}: sparse and large; --model linear takes it")
    assert "line 6 has the largest index, 100000000" in err and err.count("\n") == 1


def test_a_dense_array_that_does_not_fit(little):
    with refused(r"1 \w+ of 20000000 features as a dense .* 160 MB.*line 1 has the largest index, 20000000"):
        svmgsu.io.read(io.StringIO("a 20000000:1\n"), sparse=False)


class Endless(io.RawIOBase):
    """A stream of zeros."""

    def readable(self):
        return True

    def readinto(self, into):
        into[:] = bytes(len(into))
        return len(into)


def test_texts_that_do_not_fit(tmp_path, little):
    means, cov = io.StringIO("a 1:1 6000:1\n"), io.StringIO("a 1,1:1 1,2:0.1 2,2:1\n")
    with refused(r"<cov>: 1 \w+ of 6000 features as full covariances takes 144 MB"):
        svmgsu.io.read_text(means, cov=cov)
    line = b"doc " + b" ".join(b"%d:1" % j for j in range(1, 1000)) + b"\n"
    (tmp_path / "means").write_bytes(line * 15000)
    with refused(r"1\.5\d?e\+07 numbers in .* MB of text takes 24. MB"):  # it is looked at before
        svmgsu.io.read_text(tmp_path / "means")
    (tmp_path / "means.gz").write_bytes(gzip.compress(bytes(11 * 10**7), 1))
    with refused(
        r"means.gz: more than .* were read"
    ):  # packed files and pipes are read as far as memory goes
        svmgsu.io.read_text(tmp_path / "means.gz")
    with refused(r"<file>: more than .* to make use of them takes"):
        svmgsu.io.read_text(Endless())


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather"])
def test_a_table_of_too_many_columns_is_refused_before_they_are_named(ending, little):
    out = io.BytesIO()
    with refused(f"<file>: a table of 1 rows and {WIDE} columns takes .* TB"):
        svmgsu.io.write(svmgsu.Gaussians(sp.csr_array((1, WIDE))), out, format=ending)
    assert not out.getvalue()


def test_what_stays_sparse_is_shown_and_written_whatever_its_width(tmp_path, little):
    wide = svmgsu.Gaussians(sp.csr_array(([2.0], ([0], [WIDE - 1])), shape=(1, WIDE)))
    assert f"{WIDE} features" in repr(wide)
    for name in ("a.npz", "a.txt"):
        svmgsu.io.write(wide, tmp_path / name)
        assert svmgsu.io.read(tmp_path / name).data.shape == (1, WIDE)


def test_an_archive_that_unpacks_to_more(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10**6)
    monkeypatch.setattr(memory, "SMALL", 0)
    np.savez_compressed(tmp_path / "a.npz", mean=np.zeros((100, 2000)))
    with refused(r"a.npz: what it holds takes 1.6 MB"):
        svmgsu.io.read(tmp_path / "a.npz")
