"""Problems of several classes read blocks together: the bits of each alone, for one reading of the data."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import svmgsu
from svmgsu.outofcore import training
from svmgsu.support.parallel import Team

L, N, CLASSES = 4000, 5, 5


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, size=L)
    X = rng.normal(size=(L, N)) + 1.5 * np.eye(CLASSES, N)[y]
    return svmgsu.Gaussians(X, svmgsu.Diagonal(rng.uniform(0.1, 0.5, size=(L, N)))), y


def counted(monkeypatch, capacity=None):
    """Bytes that the core reads of the files, and how many problems were solved at a time."""
    sets, members = [], []
    make, join = training._core.Streamed, training.Together

    def kept(*given, **more):
        sets.append(make(*given, **more))
        return sets[-1]

    def noted(count):
        members.append(count)
        return join(count)

    monkeypatch.setattr(training, "_core", SimpleNamespace(**{**vars(training._core), "Streamed": kept}))
    monkeypatch.setattr(training, "Together", noted)
    if capacity:
        monkeypatch.setattr(training.Files, "capacity", lambda *given: capacity)
    return lambda: sum({id(s): s.bytes_read for s in sets}.values()), members


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_all_problems_have_the_bits_of_one_after_another_and_read_far_less(data, multi_class, monkeypatch):
    examples, y = data
    blocks = svmgsu.open([{"X": examples, "y": y}])
    found = {}
    for capacity in (1, 3, None):
        with monkeypatch.context() as patch:
            read, members = counted(patch, capacity)
            found[capacity] = svmgsu.train(blocks, multi_class=multi_class, probability=False), read()
            assert members == {
                1: [],
                3: [3] * (len(found[1][0].coef_) // 3) + [2] * (multi_class == "ovr"),
            }.get(capacity, [len(found[1][0].coef_)])
    alone = found[1][0]
    for model, _ in found.values():
        assert np.array_equal(model.coef_, alone.coef_)
        assert np.array_equal(model.intercept_, alone.intercept_)
        assert (model.objective_, model.gap_, model.n_iter_) == (alone.objective_, alone.gap_, alone.n_iter_)
    print([f[1] / 320000 for f in found.values()])
    assert found[None][1] < found[3][1] < found[1][1]
    if multi_class == "ovr":
        known = svmgsu.train(examples, y, multi_class=multi_class, probability=False)
        assert np.array_equal(alone.coef_, known.coef_) and alone.gap_ == known.gap_


def test_little_memory_takes_fewer_capacity(data, monkeypatch):
    examples, y = data
    _, members = counted(monkeypatch)
    svmgsu.train(svmgsu.open([{"X": examples, "y": y}], memory="80MB"), probability=False)
    assert 0 < max(members) < 10


def test_folds_of_probabilities_are_solved_together(data, monkeypatch):
    examples, y = data
    _, members = counted(monkeypatch)
    model = svmgsu.train(svmgsu.open([{"X": examples, "y": y}]), multi_class="ovr")
    assert members == [5, 25]
    known = svmgsu.train(examples, y, multi_class="ovr")
    assert np.allclose(model.predict_proba(examples), known.predict_proba(examples), atol=0.01)


def test_an_error_or_a_callback_ends_them_all(data, tmp_path):
    examples, y = data
    X = np.array(examples.mean)
    X[3210, 2] = np.inf
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    blocks = svmgsu.open(tmp_path / "X.npy", tmp_path / "y.npy")
    with pytest.raises(ValueError, match="example 3210 has inf at feature 2"):
        svmgsu.train(blocks, probability=False)
    blocks = svmgsu.open([{"X": examples, "y": y}])
    model = svmgsu.train(blocks, probability=False, tol=1e-12, callback=lambda p: p.iteration < 2)
    assert model.status_ == "stopped" and model.coef_.shape == (10, N)

    def fails(progress):
        raise RuntimeError("enough")

    before = set(threading.enumerate())
    with pytest.raises(RuntimeError, match="enough"):
        svmgsu.train(blocks, probability=False, callback=fails)
    assert set(threading.enumerate()) <= before


def test_teams_that_follow_one_another_stop_together():
    one = Team(4, 2)
    other = Team(2, 2).following(one)
    assert not one.stopped and not other.stopped
    with pytest.raises(RuntimeError, match="enough"):
        other.map(lambda item: raise_error(), [1, 2])
    assert one.stopped and other.stopped


def raise_error():
    raise RuntimeError("enough")
