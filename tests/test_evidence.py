"""bench.evidence: tasks are what their settings say, all are tuned alike, a run resumes, tables are right."""

import json

import numpy as np
import pytest
from bench.evidence import __main__, extras, readme, records, report, runs, summary, tasks, trial
from bench.evidence.noise import LIKE, NOISY_TO_PRECISE, PRECISE_TO_NOISY, UNEVEN, Noise
from bench.evidence.ours import SYSTEMS
from bench.evidence.rivals import AT_VALUES, AVERAGED, Probabilistic, rivals
from bench.paper.forest import ProbabilisticForest

import svmgsu


def cells(setting, train=120):
    return tasks.cells(None, setting, 3, train=train)


@pytest.mark.parametrize("setting", [LIKE, PRECISE_TO_NOISY, NOISY_TO_PRECISE, UNEVEN])
def test_noise_is_where_the_setting_says(setting):
    task = cells(setting)
    like = cells(LIKE)
    noisy = [
        tasks.deviations(d).mean() / tasks.deviations(like.train).mean() for d in (task.train, task.test)
    ]
    assert (noisy[0] > 1.5) == (setting in (NOISY_TO_PRECISE, UNEVEN))
    assert (noisy[1] > 1.5) == (setting in (PRECISE_TO_NOISY, UNEVEN))
    assert (task.noise is not None) == (setting == PRECISE_TO_NOISY)


def test_held_out_objects_look_like_new_ones():
    task = cells(PRECISE_TO_NOISY)
    _, held_out = task.held_out(0)
    seen, labels = task.like_new(held_out, np.random.default_rng(0))
    assert len(held_out) == 40 and (labels == task.y[held_out]).all()
    ratio = np.median(tasks.deviations(seen)) / np.median(tasks.deviations(task.test))
    assert 0.7 < ratio < 1.4


def test_draws_have_the_noise_to_come():
    task = cells(PRECISE_TO_NOISY)
    rows = np.arange(4)
    drawn, bars = task.draws(rows, 3000, np.random.default_rng(0))
    assert drawn.shape == bars.shape == (12_000, 10)
    apart = (drawn - np.tile(task.train.mean[rows], (3000, 1)))[bars > 0] / bars[bars > 0]
    assert apart.std() == pytest.approx(1, rel=0.02) and abs(apart.mean()) < 0.02
    np.testing.assert_allclose(np.median(bars, axis=0), np.median(task.noise.deviations, axis=0), rtol=0.1)


def test_matrices_of_noise_are_drawn_as_they_are():
    S = np.array([[[2.0, 1.2], [1.2, 1.0]]])
    found = Noise(np.repeat(S, 20_000, axis=0)).noise(np.random.default_rng(0))
    np.testing.assert_allclose(np.cov(found.T), S[0], atol=0.06)


def test_all_systems_have_six_settings_or_take_over_those_of_a_sibling():
    for system in (*SYSTEMS[:-1], *rivals(False), *rivals(True)):
        assert len(system.settings) == 6, system.name
    names = [system.name for system in rivals(False)]
    assert len(set(names)) == len(names)
    for system in rivals(False):
        assert not system.tuned_as or names.index(system.tuned_as) < names.index(system.name)


def test_a_rival_on_draws_may_predict_in_two_ways():
    task = cells(PRECISE_TO_NOISY, train=60)
    logistic = next(s for s in rivals(False) if s.name == "logistic regression, 10 draws")
    fitted = logistic.fit(task, np.arange(60), 1.0, 0, True)
    p, q = (logistic.predict(fitted, task.test, mode, 0) for mode in (AT_VALUES, AVERAGED))
    assert p.shape == q.shape == (len(task.truth), 2)
    assert np.abs(q - 0.5).mean() < np.abs(p - 0.5).mean()


def test_the_probabilistic_forest_believes_labels_in_doubt_less():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    wrong = rng.uniform(0, 0.9, 400)
    told = np.where(rng.uniform(size=400) < wrong, 1 - y, y)
    chances = np.where(np.eye(2)[told] > 0, 1 - wrong[:, None], wrong[:, None])
    new = rng.normal(size=(500, 2))
    right = [
        (
            ProbabilisticForest(20, seed=1).fit(X, 0 * X, labels).predict_proba(new, 0 * new).argmax(axis=1)
            == (new[:, 0] > 0)
        ).mean()
        for labels in (told, chances)
    ]
    assert right[1] > right[0] + 0.05
    assert Probabilistic().suits(cells(LIKE)) and right[1] > 0.9


def test_measures_are_those_of_their_definitions():
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    truth = np.array([0, 1, 1, 1])
    found = trial.measures(p, truth)
    assert found["accuracy"] == 0.75 and found["AUC"] == 1.0
    assert found["log-loss"] == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.7]).mean())
    assert trial.measures(np.array([[np.nan, np.nan], [0.0, 1.0]]), np.array([0, 1]))["log-loss"] < 1


def made(cell, split, system, loss, *, ours=False, validation=None, seconds=1.0, **more):
    known = {"accuracy": 1 - loss, "AUC": 0.9, "log-loss": loss, "calibration": 0.01}
    times = {"tuning": seconds, "fit": seconds, "predict": 0.1, "megabytes": 3.0, "validation": validation}
    record = {"cell": cell, "split": split, "seed": 5000 + split, "system": system, "ours": ours}
    return record | known | times | {"setting": 1.0, "mode": AT_VALUES} | more


def ten_splits(cell="wdbc-noisy", gain=0.05):
    rng = np.random.default_rng(0)
    out = []
    for split in range(10):
        level = 0.3 + 0.05 * rng.normal()
        out += [
            made(cell, split, "linear, hinge", level + 0.2, ours=True, validation=0.4),
            made(cell, split, "RBF, posterior", level - gain, ours=True, validation=0.3),
            made(cell, split, "boosting, values", level + 0.01 * rng.normal(), validation=0.2),
            made(cell, split, "boosting, 10 draws", level + 0.1, validation=0.1, seconds=30.0),
        ]
    return out


def test_ours_is_chosen_by_validation_and_the_rival_in_hindsight():
    entry = summary.summary(ten_splits())["wdbc-noisy"]
    assert entry["most chosen"] == "RBF, posterior" and entry["log-loss"]["rival"] == "boosting, values"
    assert entry["log-loss"]["gain"] == pytest.approx(0.05, abs=0.02)
    assert entry["splits"] == 10 and entry["verdict"] == "ours"
    assert summary.summary(ten_splits(gain=-0.05))["wdbc-noisy"]["verdict"] == "rival"
    assert summary.summary(ten_splits(gain=0.0))["wdbc-noisy"]["verdict"] == "tie"


def test_the_error_is_that_of_nadeau_and_bengio():
    found = ten_splits()
    entry = summary.summary(found)["wdbc-noisy"]["log-loss"]
    by = records.by_system(found, "wdbc-noisy", "log-loss")
    d = np.array([by["boosting, values"][k] - by["RBF, posterior"][k] for k in range(10)])
    assert entry["se"] == pytest.approx(np.sqrt((1 / 10 + 1 / 3) * d.var(ddof=1)))


def test_a_split_counts_when_all_its_systems_are_there():
    found = ten_splits()[:-1]
    assert summary.complete(found, "wdbc-noisy") == list(range(9))


def test_the_page_says_what_may_not_be_cited_and_what_is_not_shown(tmp_path):
    page = report.write(tmp_path, ten_splits()[:12], quick=False).read_text(encoding="utf-8")
    assert "3 (not to be cited)" in page and "is not shown" in page
    assert (tmp_path / "evidence.png").stat().st_size > 5000
    both = ten_splits() + ten_splits("kepler-noisy")
    page = report.write(tmp_path, both, quick=False).read_text(encoding="utf-8")
    assert "better in 2, on 2 data sets" in page and "is not shown" not in page


def test_the_readme_has_rows_of_ten_splits_alone(tmp_path):
    figures = summary.summary(ten_splits() + ten_splits("kepler-noisy")[:12])
    (row,) = readme.lines(figures)[2:]
    assert "WDBC +0.0" in row and "Kepler" not in row
    page = tmp_path / "README.md"
    marks = (readme.START.format(name) for name in readme.BLOCKS)
    old = "".join(f"{mark}\nold\n{readme.END}\nbetween\n" for mark in marks)
    page.write_text(f"before\n{old}after\n", encoding="utf-8")
    readme.update(page, figures)
    text = page.read_text(encoding="utf-8")
    assert row in text and "old" not in text and text.startswith("before") and text.endswith("after\n")
    assert text.count("between\n") == 2 and "better by two standard errors in 1 (" in text


def test_a_cut_off_line_is_left_out_and_a_broken_one_is_named(tmp_path):
    path = tmp_path / "evidence.jsonl"
    records.append(path, {"cell": "a", "split": 0, "system": "s"})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"cell":"a","spl')
    records.append(path, {"cell": "a", "split": 1, "system": "s"})
    assert [record["split"] for record in records.read(path)] == [0, 1]
    with path.open("a", encoding="utf-8") as file:
        file.write("{no record}\n")
    with pytest.raises(ValueError, match=r"evidence.jsonl:4: not a record"):
        records.read(path)


def test_a_run_is_resumed_and_the_same_seed_gives_the_same_figures(tmp_path, monkeypatch):
    chosen = ("linear, logistic", "logistic regression, values", "logistic regression, 10 draws")
    monkeypatch.setattr(runs, "systems", lambda task: [s for s in trial.systems(task) if s.name in chosen])
    options = ["--data", str(tmp_path), "--quick", "--only", "wdbc-noisy", "--output", str(tmp_path)]
    assert __main__.main(options) == 0
    first = (tmp_path / report.RECORDS).read_text(encoding="utf-8")
    assert [json.loads(line)["system"] for line in first.splitlines()] == list(chosen)
    assert __main__.main(options) == 0
    assert (tmp_path / report.RECORDS).read_text(encoding="utf-8") == first
    (tmp_path / report.RECORDS).unlink()
    __main__.main(options)
    again = (tmp_path / report.RECORDS).read_text(encoding="utf-8")
    assert [json.loads(line)["log-loss"] for line in again.splitlines()] == [
        json.loads(line)["log-loss"] for line in first.splitlines()
    ]


def test_data_that_are_not_there_are_named(tmp_path, capsys):
    assert __main__.main(["--data", str(tmp_path), "--only", "kepler", "--output", str(tmp_path / "o")]) == 0
    assert "kepler-noisy: skipped, there is no" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        __main__.main(["--data", str(tmp_path), "--only", "nothing"])


def test_a_sweep_has_theirs_and_ours_at_each_level(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "SWEEP_TEST", 200)
    found = dict(extras.sweep("sweep-synthetic", tmp_path, 0, 1, True, {}))
    assert {name.rsplit(", ", 1)[1] for name in found} == {"features 0", "features 1.5", "labels 0.45"}
    assert found["GSUClassifier, features 0"]["accuracy"] > 0.6
    assert sum("told the doubt" in name for name in found) == 1


def test_ours_without_covariances_is_one_of_the_linear_settings():
    task = cells(LIKE, train=60)
    hinge = SYSTEMS[0]
    plain = hinge.fit(task, np.arange(60), (1e-2, 0.0), 0, True)
    expected = svmgsu.LinearSVMGSU(lam=1e-2, tol=1e-4).fit(task.train.mean, task.y)
    np.testing.assert_allclose(plain.coef_, expected.coef_, rtol=1e-3)
