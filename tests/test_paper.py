"""bench.paper: its systems are what they say, its readers read, and a run can be stopped and resumed."""

import json
import pickle

import numpy as np
import pytest
from bench.paper import __main__, harness, statistics, systems
from bench.paper.recordings import load_deap
from conftest import relative_error

import svmgsu

LAMS = (1.0, 0.1, 0.01)


@pytest.fixture
def images():
    """A dozen examples of 60 features with two directions of uncertainty each."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 6)
    X = rng.normal(size=(12, 60)) + 0.5 * y[:, None]
    return svmgsu.Gaussians(X, svmgsu.LowRank(0.4 * rng.normal(size=(12, 2, 60)))), y


@pytest.fixture
def table():
    """Overlapping classes of 5 features with error bars."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(80) < 30, 1.0, -1.0)
    X = rng.normal(size=(80, 5)) + 0.6 * y[:, None]
    return svmgsu.Gaussians(X, svmgsu.Diagonal(rng.uniform(0.1, 1, (80, 5)))), y


# Systems


@pytest.mark.parametrize("path", [systems.lsvm, systems.gsu, systems.isotropic])
def test_solving_in_the_span_of_the_data_changes_nothing(images, path):
    data, y = images
    direct = {
        systems.lsvm: svmgsu.Gaussians(data.mean),
        systems.gsu: data,
        systems.isotropic: svmgsu.Gaussians(data.mean, svmgsu.Isotropic(systems.traces(data) / 60)),
    }[path]
    for h, lam in zip(path(data, y, LAMS), LAMS, strict=True):
        model = svmgsu.train(direct, y, lam=lam, tol=1e-9, probability=False)
        value = svmgsu.Objective(direct, y, lam=lam).value(h.w, h.b)
        assert value <= model.objective_ * (1 + 2 * systems.TOL)
        assert relative_error(h.decide(data.mean), model.decision_function(data.mean)) < 0.05


def test_expected_accuracy_is_that_of_many_draws(table):
    data, y = table
    h = systems.Hyperplane(np.array([1.0, -0.5, 0.2, 0.0, 0.3]), 0.1)
    right = h.predict(data.sample(5000, 3)) == y[:, None]
    assert systems.expected_accuracy(h, data, y) == pytest.approx(right.mean(), abs=0.005)


# Statistics


def test_a_verdict_needs_clear_and_large_gains():
    def gain(mean, se):
        return statistics.Difference(mean, se, 0.0, 1, 1)

    assert statistics.verdict(gain(0.03, 0.001), 0.04) == "reproduced"
    assert statistics.verdict(gain(0.01, 0.001), 0.04) == "partly"
    assert statistics.verdict(gain(0.03, 0.02), 0.04) == "not reproduced"
    assert statistics.verdict(gain(float("nan"), float("nan")), 0.04) == "not reproduced"


# Readers


class Evil:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"data": Evil(), "labels": 0}, "not a file of DEAP"),
        ({"data": np.zeros((2, 3, 4)), "labels": np.zeros((2, 4))}, r"data of shape \(2, 3, 4\)"),
    ],
    ids=["code", "another shape"],
)
def test_what_is_not_a_participant_of_deap_is_refused(tmp_path, content, words):
    path = tmp_path / "s01.dat"
    path.write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(ValueError, match=words):
        load_deap(path)


# The harness


def counting(folder, seed, quick):
    return {"seed": seed, "value": {"by_lam": [0.1 * seed, 0.2], "chosen": 1}}


def test_a_finished_record_is_not_made_again(tmp_path):
    made = []

    def run(folder, seed, quick):
        made.append(seed)
        return counting(folder, seed, quick)

    experiment = harness.Experiment("counting", "Counting", run, lambda records, page: None, seeds=3)
    for seed in (0, 1):
        harness.make_record(experiment, tmp_path, seed, False, tmp_path)
    assert harness.read_record(harness.record_path(tmp_path, "counting", 1), 1) == counting(None, 1, False)
    assert harness.read_record(harness.record_path(tmp_path, "counting", 2), 1) is None
    assert len(harness.load_records(experiment, False, tmp_path)) == 2
    assert made == [0, 1]


def test_a_run_resumes_and_gives_the_same_tables(tmp_path, data_folder):
    command = ["--data", str(data_folder), "--quick", "--only", "toy", "--jobs", "1"]
    command += ["--output", str(tmp_path)]
    assert __main__.main(command) == 0
    first = (tmp_path / "RESULTS.md").read_text()
    record = tmp_path / "records" / "toy" / "001.json"
    kept, lost = (tmp_path / "records" / "toy" / "000.json"), json.loads(record.read_text())
    before = kept.stat().st_mtime_ns
    record.unlink()
    assert __main__.main(command) == 0
    again = json.loads(record.read_text())
    assert again | {"seconds": 0} == lost | {"seconds": 0}
    assert kept.stat().st_mtime_ns == before
    assert (tmp_path / "RESULTS.md").read_text() == first
    assert "Fig. 5" in first
    assert (tmp_path / "figures" / "toy-angles.png").stat().st_size > 1000
    assert "toy" in json.loads((tmp_path / "results.json").read_text())["experiments"]
