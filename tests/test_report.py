"""A report: what it measures, what it says of odd data, and that its code runs as printed."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import svmgsu
from svmgsu.reporting import comparing, preparing
from svmgsu.reporting.describing import describe
from svmgsu.reporting.effort import QUICK
from svmgsu.reporting.insight import Truth
from svmgsu.reporting.systems import ways_for

EVIL = "<script>alert(1)</script>"


def rings(count=150, seed=0, noise=0.6):
    """Two classes with a curved boundary behind noise of known size, and the truth behind them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3))
    error = rng.uniform(0.05, noise, size=X.shape)
    y = np.where((X[:, :2] ** 2).sum(axis=1) > 1.4, "outside", EVIL)
    return (
        svmgsu.Gaussians(X + error * rng.normal(size=X.shape), std=error, feature_names=["a", EVIL, "c$_{"]),
        y,
        X,
    )


@pytest.fixture(scope="module")
def found():
    data, y, _ = rings()
    return svmgsu.report(data, y, quick=True)


@pytest.fixture(scope="module")
def of_numbers():
    data, _, X = rings()
    return svmgsu.report(data, X[:, 0] ** 2 + X[:, 1], quick=True, reading="# as given")


def test_all_ways_are_compared_on_the_same_objects(found):
    assert [s.key for s in found.systems] == [
        "linear",
        "linear-bars",
        "rbf",
        "rbf-bars",
        "forest",
        "boosting",
    ]
    assert all(s.failure is None and s.score_error > 0 and s.seconds > 0 for s in found.systems)
    assert found.systems[0].difference is None and found.systems[1].difference_error > 0
    assert found.systems[2].score < found.systems[0].score  # the boundary is curved


def test_what_was_found_is_json(found):
    facts = json.loads(found.to_json())
    assert facts["task"] == "classification" and len(facts["systems"]) == 6
    assert (
        facts["table"]["classes"] == {EVIL: 67, "outside": 83}
        or sum(facts["table"]["classes"].values()) == 150
    )
    assert all(s["seconds"] is None for s in found.to_dict(times=False)["systems"])


def test_the_same_seed_gives_the_same_bytes(found):
    data, y, _ = rings()
    again = svmgsu.report(data, y, quick=True)
    assert again.to_html(times=False) == found.to_html(times=False)
    assert again.to_json(times=False) == found.to_json(times=False)


@pytest.mark.parametrize("key", ["linear", "linear-bars", "rbf", "rbf-bars", "forest", "boosting"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("doubt", [False, True])
def test_the_recommended_code_runs_as_printed(key, task, doubt):
    from svmgsu.reporting import advice

    data, y, X = rings(60)
    if task == "regression":
        y = X[:, 0]
    given = {}
    if doubt and task == "regression":
        given = {"y_std": np.linspace(0.1, 1, 60)}
    elif doubt:
        y, given = np.column_stack([y == EVIL, y != EVIL]) * 0.8 + 0.1, {"classes": [EVIL, "outside"]}
    problem, _ = preparing.prepare(data, y, None, None, None, None, task, 0, QUICK, **given)
    (way,) = [w for w in ways_for(task, problem.classes, data, QUICK, 0) if w.key == key]
    names = {"svmgsu": svmgsu, "data": data, "y": y, **given}
    lines = advice._code(problem, type("T", (), {"way": way}))
    assert len(lines) <= 5
    exec(
        "\n".join(lines)
        .replace("GSUClassifier()", "GSUClassifier(n_frequencies=10)")
        .replace("GSURegressor()", "GSURegressor(n_frequencies=10)"),
        names,
    )
    if key in ("forest", "boosting"):  # what is printed is what was measured
        wanted = way.predict(way.fit(problem), data).mean
        np.testing.assert_allclose(names["predict"](data), wanted, rtol=1e-6)
    else:
        assert names["model"].predict(data).shape == (60,)


def test_targets_with_large_errors_hardly_count():
    data, _, X = rings(120)
    clean = X[:, 0] ** 2 + X[:, 1]
    junk = np.arange(120) % 4 == 0
    y = clean + np.where(junk, 100.0, 0.0) * np.random.default_rng(0).normal(size=120)
    plain = svmgsu.report(data, y, quick=True)
    told = svmgsu.report(data, y, y_std=np.where(junk, 100.0, 0.01), quick=True)
    frame = pd.DataFrame(data.mean, columns=["a", "b", "c"]).assign(z=y, z_err=np.where(junk, 100.0, 0.01))
    assert min(s.score for s in told.systems) < 0.5 * min(s.score for s in plain.systems)
    problem, _ = preparing.prepare(frame, "z", None, None, None, None, "auto", 0, QUICK)
    assert problem.task == "regression" and problem.y_std.max() == 100
    assert problem.data.feature_names_in_ == ["a", "b", "c"]
    with pytest.raises(ValueError, match="y_std: labels have no error bars"):
        svmgsu.report(data, junk, y_std=1.0, task="classification", quick=True)


def test_a_report_advises_and_explains(found, of_numbers):
    for report in (found, of_numbers):
        assert report.advice.bars in ("help", "harm", "no difference")
        assert report.advice.name in repr(report) and report.advice.verdict in repr(report)
    assert of_numbers.advice.code.startswith("# as given\n")


def test_weights_have_errors_and_the_right_ones_are_large(of_numbers):
    _, b, c = of_numbers.features
    assert abs(b.weight) > 3 * b.weight_error and abs(b.weight) > abs(c.weight)


def test_smaller_bars_are_better_and_larger_ones_worse(of_numbers):
    curve = of_numbers.what_if
    scores = dict(zip(curve.factors, curve.scores, strict=True))
    assert scores[0.0] < scores[0.5] < scores[1.0] < scores[3.0]
    assert curve.measured == [f >= 1 for f in curve.factors]
    gain = {f.name: f.gain for f in of_numbers.features}
    assert gain["a"] > gain["c$_{"]  # the target does not depend on the last one


def test_the_model_of_smaller_bars_agrees_with_truly_smaller_ones():
    """The curve's left half against data that were measured with half the noise, of the same objects."""
    errors = []
    for seed in (3, 4, 5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 2))
        y = np.where(X @ [1.0, 1.0] + 0.3 * rng.normal(size=900) > 0, 1, 0)
        noise = rng.normal(size=X.shape)
        reports = [
            svmgsu.report(svmgsu.Gaussians(X + f * noise, std=f), y, quick=True, seed=1) for f in (1.0, 0.5)
        ]
        curve, true = reports[0].what_if, next(s.score for s in reports[1].systems if s.key == "rbf-bars")
        said = curve.scores[curve.factors.index(0.5)]
        now = curve.scores[curve.factors.index(1.0)]
        errors.append(abs(said - true) / abs(now - true))
    assert np.mean(errors) < 0.5


def test_sizes_of_bars_that_tell_the_class_are_told_apart_from_noise():
    """Bars of one class are larger, and the values say nothing: smaller bars would not help."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    error = np.where(y[:, None] == 1, 0.6, 0.2) * rng.uniform(0.8, 1.25, size=(300, 2))
    X = rng.normal(size=(300, 2)) + error * rng.normal(size=(300, 2))
    report = svmgsu.report(X, y, std=error, quick=True)
    scores = {s.key: s.score for s in report.systems}
    assert report.advice.bars == "help" and scores["rbf-bars"] < 0.3 < 0.6 < scores["rbf"]
    assert "tell about the target by themselves" in report.advice.verdict
    assert min(report.what_if.scores) > 0.6 and "without their sizes" in report.what_if.model


def test_a_population_that_does_not_score_as_the_objects_do_is_not_believed(monkeypatch):
    from svmgsu.reporting import insight

    monkeypatch.setattr(insight, "FAR_OFF", 1.0)
    data, y, _ = rings(60)
    report = svmgsu.report(data, y, quick=True)
    assert min(report.what_if.factors) == 1 and all(f.gain is None for f in report.features)
    assert any("cannot be trusted" in note for note in report.notes)
    assert "Of smaller ones see the notes" in report.to_html()


def test_doubtful_objects_would_be_surer_if_exact(found):
    assert found.doubtful and all(one.exact > one.now for one in found.doubtful)
    assert {one.feature for one in found.doubtful} <= {f.name for f in found.features}


def test_reliability_is_shown_with_and_without_bars(found, of_numbers):
    assert set(found.reliability.stated) == {"with error bars", "without"}
    assert of_numbers.reliability.stated["without"] == pytest.approx(np.arange(0.1, 1, 0.1))


def test_standard_errors_are_those_of_paired_differences():
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    plain = comparing.standard_error(values, None)
    assert plain == pytest.approx(values.std(ddof=1) / np.sqrt(50))
    twice = np.repeat(values, 2)  # each object twice says nothing more, if its group is known
    assert comparing.standard_error(twice, np.repeat(np.arange(50), 2)) == pytest.approx(plain)
    assert comparing.standard_error(twice, None) < 0.75 * plain


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_groups_are_never_on_both_sides(task):
    data, y, X = rings(90)
    groups = np.arange(90) // 3
    labels = y if task == "classification" else X[:, 0]
    problem, _ = preparing.prepare(data, labels, None, None, groups, None, task, 0, QUICK)
    for known, out in problem.splits(3):
        assert not set(groups[known]) & set(groups[out])


def test_without_bars_it_says_so_and_compares_all_the_same():
    data, y, _ = rings(60)
    report = svmgsu.report(data.mean, y, quick=True)
    assert report.advice.bars == "none" and "no error bars" in report.advice.verdict
    assert [s.key for s in report.systems] == ["linear", "rbf", "forest", "boosting"]
    assert (
        report.what_if is None and report.doubtful == [] and "No feature has error bars" in report.to_html()
    )


def test_rare_classes_are_left_out_and_named():
    data, y, _ = rings(60)
    y = y.astype(object)
    y[:2] = "rare"
    problem, notes = preparing.prepare(data, y, None, None, None, None, "auto", 0, QUICK)
    assert len(problem.y) == 58 and "rare (2)" in notes[0]


def test_several_classes_with_groups():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + 2 * np.eye(3)[y][:, :2]
    report = svmgsu.report(X, y, std=0.2, groups=np.arange(90) // 2, quick=True)
    assert report.task == "classification" and len(report.table.classes) == 3
    assert "probability of the class that is said" in report.to_html()


@pytest.mark.parametrize(
    ("data", "y", "message"),
    [
        ([[1.0], [2.0], [3.0]], [0, 1, 1], "two classes of at least 3 objects each"),
        (np.arange(8.0)[:, None], np.arange(8) / 8, "8 objects are too few"),
        (np.arange(30.0)[:, None], np.ones(30), "two classes"),
        (np.arange(30.0)[:, None], np.full(30, 0.5), "all targets are 0.5"),
        (np.arange(30.0)[:, None], None, "needs labels"),
    ],
)
def test_too_little_is_an_error_that_says_what_is_wanted(data, y, message):
    with pytest.raises(ValueError, match=message):
        svmgsu.report(data, y, quick=True)


def test_wide_data_leave_out_what_would_take_too_long():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 10_000)) + 0.3 * y[:, None]
    report = svmgsu.report(X, y, std=0.1, quick=True)
    assert [s.key for s in report.systems] == ["linear", "linear-bars", "forest"]
    assert any("more than 100 features" in note for note in report.notes)
    assert len(report.to_html()) < 1_000_000


def test_suspicious_columns_are_named():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 5))
    X[:, 1], X[:20, 2], X[:, 3], X[:, 4] = 7.0, -999.0, np.arange(200), y + 0.01 * X[:, 4]
    error = np.full(X.shape, 0.1)
    error[:, 0] = rng.uniform(2, 3, size=200)
    error[:5, 0] = 0
    _, features = describe(svmgsu.Gaussians(X, std=error), y, "classification", np.array([0, 1]))
    said = ["; ".join(f.remarks) for f in features]
    wanted = ("larger than the spread", "constant", "-999", "counts the rows", "tells the class")
    for text, remark in zip(wanted, said, strict=True):
        assert text in remark
    assert "5 of 200 error bars are 0" in said[0] and "all error bars are equal" in said[2]


def test_constant_columns_are_no_harm():
    data, y, _ = rings(60)
    X = np.column_stack([data.mean, np.full(60, 5.0)])
    report = svmgsu.report(X, y, std=0.1, quick=True)
    assert all(s.failure is None for s in report.systems)
    assert "constant" in report.features[3].remarks[0]


def test_a_data_frame_is_taken_with_its_bars_and_without_its_text():
    data, y, _ = rings(60)
    frame = pd.DataFrame({"a": data.mean[:, 0], "a_err": 0.3, "b": data.mean[:, 1], "name": "x", "kind": y})
    problem, notes = preparing.prepare(frame, "kind", None, None, None, None, "auto", 0, QUICK)
    assert problem.data.feature_names_in_ == ["a", "b"] and problem.data.cov is not None
    assert notes == ["frame: 1 value with errors, 1 exact (b), 1 id (name), target kind"]
    with pytest.raises(ValueError, match="the frame has no column 'nothing'"):
        svmgsu.report(frame, "nothing")


@pytest.mark.parametrize(
    ("y", "task"),
    [([0, 1, 1], "classification"), ([0.5, 1.0, 2.0], "regression"), (list(range(30)), "regression")],
)
def test_the_task_is_seen_from_the_target(y, task):
    assert preparing.guess_task(np.asarray(y)) == task


def test_a_way_that_fails_is_named_and_the_others_go_on(monkeypatch):
    from svmgsu.reporting import systems

    def fail(*_):
        raise ValueError(f"no {EVIL}")

    monkeypatch.setattr(systems.Curved, "fit", fail)
    data, y, _ = rings(60)
    report = svmgsu.report(data, y, quick=True)
    assert {s.key for s in report.systems if s.failure} == {"rbf", "rbf-bars"}
    assert "&lt;script&gt;" in report.to_html() and EVIL not in report.to_html()


def test_draws_of_what_an_object_may_be_are_narrower_than_its_bars():
    data, y, X = rings(200)
    problem, _ = preparing.prepare(data, y, None, None, None, None, "auto", 0, QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = Truth(problem, QUICK).draws(data, 40)
    assert ((drawn.mean(axis=1) - X) ** 2).mean() < ((data.mean - X) ** 2).mean()
