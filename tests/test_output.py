"""Outputs: complete or not at all; links, devices and pipes are written into; inputs are not overwritten."""

import errno
import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import svmgsu
from svmgsu.cli import main
from svmgsu.io.output import replacing

GOOD = Path(__file__).parent / "data" / "good"
PROGRAM = "import sys; from svmgsu.cli import main; sys.exit(main())"


def write(path, text=b"new"):
    with replacing(path) as (file,):
        file.write(text)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "given.svmgsu"
    svmgsu.train(np.array([[-1.0], [1.0]]), [0, 1], std=0.1, lam=0.1).save(path)
    return path


def test_a_model_too_is_written_through_a_link_and_into_a_pipe(tmp_path, model):
    again = svmgsu.load(model)
    (tmp_path / "link").symlink_to("target")
    again.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == model.read_bytes()
    assert read_from_pipe(tmp_path / "pipe", lambda pipe: again.save(pipe)) == model.read_bytes()


def read_from_pipe(path, write_to):
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_to(path)
    reader.join()
    assert stat.S_ISFIFO(path.stat().st_mode)
    return found[0]


@pytest.mark.parametrize("name", ["a.parquet", "a.npz", "a.csv.gz"])
def test_every_format_goes_through_a_pipe(tmp_path, name):
    data = svmgsu.Gaussians([[1.0, 2.0], [3.0, 4.0]])
    svmgsu.io.write(data, tmp_path / f"plain-{name}", y=[0, 1])
    found = read_from_pipe(tmp_path / name, lambda pipe: svmgsu.io.write(data, pipe, y=[0, 1]))
    (tmp_path / f"again-{name}").write_bytes(found)
    np.testing.assert_array_equal(svmgsu.io.read(tmp_path / f"again-{name}").data.mean, data.mean)


@pytest.mark.parametrize("name", ["/dev/stdout", "-", "link"])
def test_standard_output_by_all_its_names(tmp_path, model, name):
    """Also where it is a file: what is there before and after stays, in order."""
    if name == "link":
        (tmp_path / "link").symlink_to("/dev/stdout")
        name = tmp_path / "link"
    (tmp_path / "means").write_text("a 1:2\n")
    with open(tmp_path / "out", "wb") as out:
        out.write(b"before\n")
        out.flush()
        words = [
            sys.executable,
            "-c",
            PROGRAM,
            "predict",
            str(model),
            str(tmp_path / "means"),
            "-o",
            str(name),
            "--output-format",
            "text",
        ]
        assert subprocess.run(words, stdout=out, stderr=subprocess.DEVNULL).returncode == 0
        out.write(b"after\n")
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[:2] == ["before", "doc_id +1 0 label"] and lines[-1] == "after"
    assert any(line.startswith("a ") for line in lines)


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}", "link"])
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="open files have no names here")
def test_an_open_file_is_written_into_and_not_replaced(tmp_path, name):
    with open(tmp_path / "out", "wb") as out:
        out.write(b"before\n")
        out.flush()
        if name == "link":
            (tmp_path / "link").symlink_to(f"/dev/fd/{out.fileno()}")
        with replacing(tmp_path / "link" if name == "link" else name.format(out.fileno())) as (file,):
            file.write(b"content\n")
        out.write(b"after\n")
    assert (tmp_path / "out").read_bytes() == b"before\ncontent\nafter\n"


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(KeyError), replacing(tmp_path / "file", tmp_path / "other") as files:
        files[0].write(b"half")
        raise KeyError
    assert (tmp_path / "file").read_bytes() == b"old" and names(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["a.npz", "a.parquet", "a.txt.gz", "m.svmgsu"])
def test_a_full_disk_is_one_error_with_the_name_and_no_half_file(tmp_path, name):
    """A limit of the size of files stands for the disk; in a child, since it cannot be raised again."""
    program = (
        "import numpy as np, resource, signal, svmgsu, sys\n"
        "X = np.random.default_rng(0).normal(size=(200, 300))\n"
        "model = svmgsu.models.classifier.Model(X[:1], np.zeros(1), np.array([0, 1]), 0.1)\n"
        "import pyarrow.parquet, pyarrow.csv\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try:\n"
        "    model.save(sys.argv[1]) if 'svmgsu' in sys.argv[1] else svmgsu.io.write(X, sys.argv[1])\n"
        "except OSError as error:\n"
        "    print(error.errno, error.filename)\n"
    )
    path = tmp_path / name
    path.write_bytes(b"old")
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert run.stdout == f"{errno.EFBIG} {path}\n", run.stderr
    assert run.stderr == ""
    assert path.read_bytes() == b"old" and names(tmp_path) == [name]


def test_a_folder_that_cannot_be_written_is_found_before_training(tmp_path, monkeypatch, capsys):
    import svmgsu.cli.train

    monkeypatch.setattr(svmgsu.cli.train, "read_data", lambda *a, **k: pytest.fail("read before the check"))
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    folder = Path("/proc/self") if os.access(locked, os.W_OK) else locked  # the superuser may write elsewhere
    assert main(["train", str(GOOD / "data.csv"), "-o", str(folder / "m.svmgsu")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"svmgsu train: {folder / 'm.svmgsu'}: ") and err.count("\n") == 1
    for out, reason in ((tmp_path, "is a folder"), (tmp_path / "no" / "m", "there is no folder")):
        assert main(["train", str(GOOD / "data.csv"), "-o", str(out)]) == 1
        assert reason in capsys.readouterr().err


@pytest.mark.parametrize("link", [os.symlink, os.link, None])
def test_an_output_that_is_an_input_is_refused(tmp_path, capsys, link):
    data, out = tmp_path / "data.csv", tmp_path / "out.csv"
    data.write_bytes((GOOD / "data.csv").read_bytes())
    if link is None:
        out = Path(f"{tmp_path}/./data.csv")
    else:
        link(data, out)
    with pytest.raises(SystemExit, match="2"):
        main(["train", str(data), "-o", str(out)])
    assert f"{out}: is a file to read; write to another name" in capsys.readouterr().err
    assert data.read_bytes() == (GOOD / "data.csv").read_bytes()


def test_a_standard_output_of_text_alone_hinders_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # as in notebooks and doctests
    svmgsu.io.write([[0.5]], tmp_path / "a.txt", ids=["a"])
    assert (tmp_path / "a.txt").read_bytes() == b"a 1:0.5\n"
    with pytest.raises(OSError, match="takes text, not bytes"):
        svmgsu.io.write([[0.5]], "-", ids=["a"], format="text")
