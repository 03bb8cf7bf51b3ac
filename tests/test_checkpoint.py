"""A solution that was cut short goes on from its record to the same bits, without reading the data again."""

import numpy as np
import pytest

import svmgsu
from svmgsu import _core
from svmgsu.engines.checkpoint import Checkpoint
from svmgsu.engines.streamed import FlatFile, StreamedSet


def problem(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=2000) > 0, 1.0, -1.0)
    data = svmgsu.Gaussians(X + 3.0, None if kind == "none" else rng.uniform(0.1, 1.0, X.shape))
    return data.labelled(y, np.ones(2000), None)


def options(loss="hinge", **more):
    made = _core.Options()
    made.lam, made.threads, made.tolerance = 0.01, 1, 1e-8
    made.loss = _core.Loss(loss)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def bits(result):
    return result.w.tobytes(), result.b, result.objective, result.gap, result.iterations


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kind", ["none", "diagonal"])
def test_it_goes_on_to_the_same_bits_wherever_it_was_cut(kind, loss):
    data, entries = problem(kind), []
    wanted = bits(_core.solve(data, options(loss)))
    assert bits(_core.solve(data, options(loss), record=entries.append)) == wanted
    for cut in sorted({0, 1, 2, len(entries) // 2, len(entries) - 1, len(entries)}):
        more = []
        earlier = b"".join(entries[:cut])
        assert bits(_core.solve(data, options(loss), earlier=earlier, record=more.append)) == wanted
        assert more == entries[cut:]


def test_what_is_in_the_record_is_not_read_again(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=2000) > 0, 1.0, -1.0)
    np.save(tmp_path / "X.npy", X)
    file, entries = FlatFile.from_npy(tmp_path / "X.npy"), []
    first, again = (StreamedSet(file, [("diagonal", file, 0.0)], y, check=False) for _ in range(2))
    wanted = _core.solve(first.core, options(), record=entries.append)
    assert bits(_core.solve(again.core, options(), earlier=b"".join(entries))) == bits(wanted)
    chosen = 2  # to centre the data, and for a start
    assert again.reads < chosen + 0.1 < wanted.history[-1].passes < first.reads


def test_a_file_that_was_cut_short_or_is_of_another_problem(tmp_path):
    path, data = tmp_path / "run.ck", problem("diagonal")
    made = Checkpoint(path, b"these data")
    wanted = bits(_core.solve(data, options(), earlier=made.earlier, record=made.record))
    whole = path.read_bytes()
    assert len(whole) < 100_000 and [p.name for p in tmp_path.iterdir()] == ["run.ck"]
    path.write_bytes(whole[: len(whole) // 2])
    again = Checkpoint(path, b"these data", resume=True)
    assert again.earlier and whole[: len(whole) // 2].find(again.earlier) > 0
    assert bits(_core.solve(data, options(), earlier=again.earlier, record=again.record)) == wanted
    assert path.read_bytes() == whole
    with pytest.raises(ValueError, match=r"run.ck is of other data or settings"):
        Checkpoint(path, b"other data", resume=True)
    with pytest.raises(ValueError, match="checkpoint: it is of other data or settings than these"):
        _core.solve(data, options("logistic"), earlier=Checkpoint(path, b"these data", resume=True).earlier)
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"run.ck is not a checkpoint of this version"):
        Checkpoint(path, b"these data", resume=True)
    assert Checkpoint(path, b"these data").earlier == b""


def test_a_run_that_is_stopped_by_its_callback_goes_on(tmp_path):
    path, data = tmp_path / "run.ck", problem("none")
    wanted = bits(_core.solve(data, options()))
    first = Checkpoint(path, b"")
    stopped = _core.solve(data, options(), lambda progress: progress.iteration < 3, record=first.record)
    assert stopped.stop == "callback"
    again = Checkpoint(path, b"", resume=True)
    assert again.earlier
    assert bits(_core.solve(data, options(), earlier=again.earlier, record=again.record)) == wanted
