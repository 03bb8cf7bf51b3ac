"""Out-of-core training starts from a checkpoint, and ends within the same proven tolerance."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import svmgsu
from svmgsu.fit import checkpoint

TOL = 1e-6


def opened(folder, shift=0.0, classes=2):
    rng = np.random.default_rng(6)
    X, V = rng.normal(size=(1500, 5)), rng.uniform(0.1, 0.5, size=(1500, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=1500) > 0).astype(int) if classes == 2 else X[:, :3].argmax(axis=1)
    return svmgsu.open([{"X": X + shift, "cov": V, "y": y}], cache=folder)


def passes(model):
    histories = [model.history_] if isinstance(model.history_[0], dict) else model.history_
    return sum(history[-1]["passes"] for history in histories)


def as_good(found, known):
    assert found.status_ == "converged"
    assert abs(found.objective_ - known.objective_) <= TOL * known.objective_
    assert np.allclose(found.coef_, known.coef_, atol=5e-3)


@pytest.mark.parametrize("shift", [0.0, 30.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_training_that_was_interrupted_is_resumed(tmp_path, monkeypatch, classes, shift):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    blocks, file = opened(tmp_path / "cache", shift, classes), tmp_path / "stars.ckpt"
    known = svmgsu.train(blocks, probability=False)

    def callback(progress):
        if progress.gap < 1e-2 * progress.objective:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        svmgsu.train(blocks, verbose=callback, probability=False, start=file)
    found = svmgsu.train(blocks, probability=False, start=file)
    as_good(found, known)
    assert passes(found) < passes(known)
    again = svmgsu.train(blocks, start=file)  # from the optimum, then probabilities
    as_good(again, known)
    assert passes(again) <= 3 * len(known.coef_)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "stars.ckpt"]


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("errors", [None, 0.2])
def test_a_regression_is_resumed(tmp_path, loss, errors):
    blocks, file = opened(tmp_path / "cache"), tmp_path / "c"
    t = np.sin(np.arange(1500.0)) + np.asarray(blocks[0:1500].mean)[:, 1]
    settings = {"loss": loss, "y_std": None if errors is None else np.full(1500, errors), "start": file}
    known = svmgsu.train(blocks, t, **settings)
    found = svmgsu.train(blocks, t, **settings)
    as_good(found, known)
    assert found.scatter_ == pytest.approx(known.scatter_, rel=1e-5)


def test_a_wrong_or_damaged_file_is_refused_by_name(tmp_path):
    file = tmp_path / "c"
    blocks = opened(tmp_path / "one")
    svmgsu.train(blocks, start=file, probability=False)
    options = {"start": file, "probability": False}
    with pytest.raises(ValueError, match=r"checkpoint: .*c belongs to other data"):
        svmgsu.train(opened(tmp_path / "two", 0.5), **options)
    with pytest.raises(ValueError, match=r"checkpoint: .*c belongs to other data or classes"):
        svmgsu.train(blocks, np.arange(1500) % 3, **options)
    whole = file.read_bytes()
    for damaged in (
        b"",
        b"svmgsu",
        whole[: len(whole) // 2],
        whole[:200] + b"\0\1" + whole[202:],
        whole[:-30],
    ):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"checkpoint: .*c is damaged, or not a checkpoint"):
            svmgsu.train(blocks, **options)
    with file.open("wb") as other:
        np.savez(other, format="another", fingerprint="", points=np.zeros(1))
    with pytest.raises(ValueError, match=r"checkpoint: .*c was written by another version"):
        svmgsu.train(blocks, **options)
    with pytest.raises((TypeError, ValueError), match=r"^start: "):  # a checkpoint is for blocks
        svmgsu.train(np.eye(2), [0, 1], start=file)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_names_the_file(tmp_path):
    script = f"""
        import resource
        import numpy as np, svmgsu
        X = np.random.default_rng(0).normal(size=(500, 40))
        blocks = svmgsu.open([{{"X": X, "y": X[:, 0] > 0}}])
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
        try:
            svmgsu.train(blocks, probability=False, start={str(tmp_path / "stars.ckpt")!r})
        except OSError as error:
            print(error)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert "checkpoint: File too large" in ended.stdout and "stars.ckpt" in ended.stdout, ended.stderr
    assert list(tmp_path.iterdir()) == []
