"""bench.evidence: tasks are what their settings say, rivals are tuned alike, the rule is right."""

import json

import numpy as np
import pytest
from bench.evidence import __main__, report, rule, run, systems, tasks
from bench.evidence.systems import DEFAULT, STACK


def breast_cancer(setting, train=120):
    return tasks.breast_cancer(None, 3, train=train, setting=setting)


@pytest.mark.parametrize("setting", ["", tasks.PRECISE_TO_NOISY, tasks.NOISY_TO_PRECISE, tasks.UNEVEN])
def test_noise_is_where_the_setting_says(setting):
    task = breast_cancer(setting)
    like = breast_cancer("").train.deviations.mean()
    assert (task.train.deviations.mean() > 1.5 * like) == (setting in (tasks.NOISY_TO_PRECISE, tasks.UNEVEN))
    assert (task.test.deviations.mean() > 1.5 * like) == (setting in (tasks.PRECISE_TO_NOISY, tasks.UNEVEN))
    assert (task.pool is not None) == (setting == tasks.PRECISE_TO_NOISY)


def test_held_out_samples_look_like_new_ones():
    task = breast_cancer(tasks.PRECISE_TO_NOISY)
    known, held_out = task.folds(0)[0]
    assert len(held_out) == 40
    assert not set(known) & set(held_out)
    seen, labels = task.like_new(held_out, 0)
    assert (labels == task.y[held_out]).all()
    assert 0.7 < np.median(seen.deviations) / np.median(task.test.deviations) < 1.4


@pytest.mark.parametrize("row", tasks.ROWS, ids=lambda row: row.name)
def test_every_row_has_finite_samples_and_all_classes(row, data_folder):
    task = row.make(data_folder, seed=1)
    assert np.isfinite(task.train.deviations).all()
    assert np.isfinite(task.test.values).all() or task.train.missing
    assert task.regression or len(np.unique(task.y)) == task.classes >= 2
    assert 0 <= row.shared < 1


# Systems


def test_all_tuned_rivals_have_as_many_settings():
    counts = {system.name: len(system.settings) for system in systems.RIVALS}
    fewer = {"probabilistic forest", "Gaussian process, values", "Gaussian process, values + uncertainties"}
    assert {count for name, count in counts.items() if name not in fewer} == {6}
    assert set(systems.STACKED) <= set(counts)


@pytest.mark.parametrize(
    "name",
    [
        "logistic regression / ridge, noise-augmented",
        "logistic regression / ridge, posterior samples",
        "class-wise XD",
    ],
)
def test_a_rival_learns(name):
    task = breast_cancer(tasks.PRECISE_TO_NOISY)
    system = next(s for s in systems.RIVALS if s.name == name)
    record, folds, answer = run.trial(task, system, 0, quick=True)
    assert record["accuracy"] > 0.8
    assert sum(map(len, folds)) == len(task.y)
    assert answer.shape == (len(task.truth), 2)


def test_measures_are_those_of_their_definitions():
    task = tasks.Task(tasks.Samples(np.zeros((2, 1))), np.array([0, 1]), None, np.array([0, 1, 1, 1]))
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    found = run.measures(task, p)
    assert found["accuracy"] == 0.75
    assert found["AUC"] == 1.0
    assert found["log-loss"] == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.7]).mean(), rel=1e-4)
    assert run.measures(task, np.full((4, 2), np.nan))["log-loss"] == pytest.approx(np.log(2), rel=1e-4)


# The rule


def made(row, split, system, loss, seconds=1.0):
    record = {"row": row, "split": split, "seed": 6000 + split, "system": system}
    return record | {"log-loss": loss, "accuracy": 1 - loss, "calibration": 0.01, "seconds": seconds}


def ten_splits(row="wdbc-noisy", gain=0.05):
    rng = np.random.default_rng(0)
    out = []
    for split in range(10):
        level = 0.3 + 0.05 * rng.normal()
        out += [
            made(row, split, DEFAULT, level - gain),
            made(row, split, "boosting, values", level + 0.01 * rng.normal()),
            made(row, split, "boosting, noise-augmented", level + 0.1),
            made(row, split, STACK, level + 0.05),
        ]
    return out


@pytest.mark.parametrize(("gain", "verdict"), [(0.05, "better"), (-0.05, "worse"), (0.0, "unclear")])
def test_ours_is_judged_against_the_best_rival_in_hindsight(gain, verdict):
    figures = rule.summary(ten_splits(gain=gain))
    row = figures["rows"]["wdbc-noisy"]
    assert row["rival"] == "boosting, values"
    assert row["against"]["boosting, values"]["verdict"] == verdict
    assert figures["head to head"]["the best in hindsight"][verdict] == 1


def test_a_stack_is_not_a_single_rival():
    records = ten_splits(gain=0.05) + ten_splits("kepler-noisy", gain=0.05)
    for record in records:
        if record["system"] == STACK and record["row"] == "wdbc-noisy":
            record["log-loss"] -= 0.2
    found = rule.summary(records)["head to head"]
    assert found["the best in hindsight"] == {"better": 1, "unclear": 0, "worse": 1}
    assert found["the best single rival in hindsight"] == {"better": 2, "unclear": 0, "worse": 0}


def test_excess_rank_and_near_rows():
    figures = rule.summary(ten_splits() + ten_splits("kepler-noisy", gain=-0.1))
    standing = figures["systems"][rule.ALL]
    losses = figures["rows"]["wdbc-noisy"]["losses"]
    row = figures["rows"]["kepler-noisy"]
    assert row["excess"][DEFAULT] == pytest.approx(
        row["losses"][DEFAULT] / row["losses"]["boosting, values"] - 1
    )
    assert standing[DEFAULT]["mean"] == pytest.approx(row["excess"][DEFAULT] / 2)
    assert standing[DEFAULT]["worst row"] == "kepler-noisy"
    assert standing["boosting, values"]["near"] == 1
    assert standing[DEFAULT]["rank"] == (1 + row["rank"][DEFAULT]) / 2
    assert min(losses, key=losses.get) == DEFAULT
    assert figures["systems"]["like train"] == {}


def test_the_error_is_that_of_nadeau_and_bengio():
    theirs, ours = np.array([0.8, 0.9, 0.85]), np.array([0.7, 0.85, 0.85])
    found = rule.gain(theirs, ours, 0.25)
    assert found.mean == pytest.approx(0.05)
    assert found.se == pytest.approx(np.sqrt((1 / 3 + 1 / 3) * (theirs - ours).var(ddof=1)))
    assert rule.gain(theirs[:1], ours[:1], 0.25).verdict == "unclear"


def test_a_split_counts_when_all_its_systems_are_there():
    found = ten_splits()[:-1]
    assert rule.summary(found)["rows"]["wdbc-noisy"]["splits"] == 9


# Pages


def test_the_page_says_that_a_run_is_not_complete_and_where_it_loses(tmp_path):
    page = report.write(tmp_path, ten_splits(gain=-0.05)[:12], quick=False).read_text(encoding="utf-8")
    assert "**The run is not complete**: 1 of 29 rows have records, with 3 of 10 splits" in page
    assert "## Where it loses" in page
    assert "A lower mean excess has: boosting, values" in page
    assert (tmp_path / report.PICTURE).stat().st_size > 5000


# Runs


def test_a_cut_off_line_is_left_out_and_a_broken_one_is_named(tmp_path):
    path = tmp_path / run.RECORDS
    run.append(path, [{"split": 0}])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"row":"a","spl')
    run.append(path, [{"split": 1}])
    assert [record["split"] for record in run.read(path)] == [0, 1]
    with path.open("a", encoding="utf-8") as file:
        file.write("{no record}\n")
    with pytest.raises(ValueError, match=r"evidence.jsonl:4: not a record"):
        run.read(path)


def test_a_run_is_resumed_and_the_same_seed_gives_the_same_figures(tmp_path, monkeypatch):
    chosen = ("logistic regression / ridge, values + uncertainties", "QDA, noise-augmented")
    monkeypatch.setattr(run, "OURS", ())
    monkeypatch.setattr(run, "RIVALS", [s for s in systems.RIVALS if s.name in chosen])
    options = ["--data", str(tmp_path), "--quick", "--only", "wdbc-noisy", "--output", str(tmp_path)]
    path = tmp_path / run.RECORDS
    assert __main__.main(options) == 0
    first = path.read_text(encoding="utf-8")
    assert [json.loads(line)["system"] for line in first.splitlines()] == [*chosen, STACK]
    assert __main__.main(options) == 0
    assert path.read_text(encoding="utf-8") == first
    # Without the stack's record its members are run again, and not recorded twice.
    path.write_text("".join(line + "\n" for line in first.splitlines()[:2]), encoding="utf-8")
    assert __main__.main(options) == 0
    again = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [r["log-loss"] for r in again] == [json.loads(line)["log-loss"] for line in first.splitlines()]
