"""Samples in several places: any number of shards, and any map, train to the bits of memory."""

import numpy as np
import pytest
from block_cases import KINDS, covariance

import svmgsu
from svmgsu import _core
from svmgsu.outofcore.shards import Shard, answer, group_rows, mapped, split

LOSSES = [(name, task) for name, task, _, _ in _core.known_losses()]


def problem(kind="diagonal", count=3000, n=4, task="classification", offset=2.0, dtype="float64"):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(count) < 0.4, -1.0, 1.0)
    X = (rng.normal(size=(count, n)) + 0.5 * y[:, None] + offset).astype(dtype)
    if task == "regression":
        y = X @ rng.normal(size=n) + rng.normal(size=count)
    return svmgsu.Gaussians(X, covariance(kind, count, n, dtype)), y, rng.uniform(0.5, 2.0, count)


def solved(training_set, loss="hinge"):
    options = _core.Options()
    options.lam, options.threads, options.tolerance = 0.01, 1, 1e-7
    options.loss = _core.Loss(loss)
    found = _core.solve(training_set, options)
    return found.w.tobytes(), found.b, found.objective, found.gap, found.iterations


def in_memory(data, y, weights, task="classification"):
    return data.valued(y, weights) if task == "regression" else data.labelled(y, weights, None)


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_shards_has_the_bits_of_memory(kind):
    data, y, weights = problem(kind, 8000, dtype="float32" if kind == "diagonal" else "float64")
    wanted = solved(in_memory(data, y, weights))
    for count in (1, 2, 7):
        shards = split(data, y, count, weights)
        assert len(shards) == count
        assert solved(mapped(map, shards, y, weights)) == wanted


@pytest.mark.parametrize(("loss", "task"), LOSSES)
def test_every_loss_has_the_bits_of_memory(loss, task):
    data, y, weights = problem(task=task, offset=1e3)
    shards = split(data, y, 3, weights, task)
    assert solved(mapped(map, shards, y, weights), loss) == solved(in_memory(data, y, weights, task), loss)


def test_what_is_wrong_is_refused():
    data, y, _ = problem(count=8000)
    unit = group_rows(data, len(data))
    cut = unit + 1
    shards = [Shard(data[:cut], y[:cut]), Shard(data[cut:], y[cut:])]
    with pytest.raises(ValueError, match=rf"shards: shard 1 begins at \w+ {cut}; .* multiples of {unit}"):
        mapped(map, shards, y)
    with pytest.raises(ValueError, match="shards is empty"):
        mapped(map, [], y)
    with pytest.raises(ValueError, match="targets: 3 for 8000 samples in the shards"):
        mapped(map, split(data, y, 2), y[:3])
    good = split(data, y, 2)
    other = [good[0], Shard(good[1].data, good[1].targets, task="regression")]
    with pytest.raises(ValueError, match="some are for classification and some for regression"):
        mapped(map, other, y)

    def with_responses(change):
        def map_function(task, shards, requests):
            found = list(map(task, shards, requests))
            return found if requests[0].startswith((b"describe", b"rows")) else change(found)

        return mapped(map_function, good, y)

    def gone(found):
        raise ConnectionError("gone")

    with pytest.raises(ValueError, match=r"1 \w+ of 2 shards"):
        solved(with_responses(lambda found: found[:1]))
    with pytest.raises(ValueError, match=r"cut short"):
        solved(with_responses(lambda found: [found[0], found[1][:-9]]))
    with pytest.raises(ConnectionError, match="gone"):
        solved(with_responses(gone))
    for nonsense in (b"", b"x" * 7, b"\xff" * 64):
        with pytest.raises(ValueError, match="message"):
            answer(good[0], nonsense)
