"""A report: what it measures, what it says of odd data, that its code runs as printed, and its page."""

import dataclasses
import html.parser
import json
import re

import numpy as np
import pandas as pd
import pytest

import svmgsu
from svmgsu.reporting import comparison
from svmgsu.reporting.checks import describe
from svmgsu.reporting.problem import prepare
from svmgsu.reporting.systems import QUICK, systems_for

KEYS = [
    f"{family}{more}"
    for family in ("linear", "forest", "boosting", "pool")
    for more in ("", "-uncertainties")
]
ATTACKS = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</text></svg><script>document.title='owned'</script>",
    "--><script>document.title='owned'</script><!--",
    "\"'><svg onload=document.title='owned'>",
]
VOID = {"meta", "br", "img", "link", "hr", "input"}


def rings(count=150, seed=0, noise=0.6):
    """Two classes with a nonlinear boundary behind noise of known size, and the true values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3))
    error = rng.uniform(0.05, noise, size=X.shape)
    y = np.where((X[:, :2] ** 2).sum(axis=1) > 1.4, "outside", "inside")
    seen = X + error * rng.normal(size=X.shape)
    return svmgsu.Gaussians(seen, std=error, feature_names=["a", "b", "c$_{"]), y, X


def problem_of(data, y, **given):
    options = dict.fromkeys(("cov", "std", "y_std", "classes", "groups", "ids")) | given
    return prepare(data, y, **{"task": "auto", "seed": 0, "effort": QUICK} | options)


@pytest.fixture(scope="module")
def found():
    data, y, _ = rings()
    return svmgsu.report(data, y, quick=True, command=lambda ignored, uncertainties: "svmgsu train stars.csv")


@pytest.fixture(scope="module")
def regression():
    data, _, X = rings()
    return svmgsu.report(data, X[:, 0] ** 2 + X[:, 1], quick=True, reading="# as given")


@pytest.fixture(scope="module")
def attacked():
    rng = np.random.default_rng(0)
    y = np.array(ATTACKS)[np.arange(60) % 3]
    X = rng.normal(size=(60, len(ATTACKS))) + np.arange(60)[:, None] % 3
    data = svmgsu.Gaussians(X, std=0.5, feature_names=ATTACKS)
    ids = [f"{ATTACKS[k % 5]}{k}" for k in range(60)]
    return svmgsu.report(data, y, ids=ids, title=ATTACKS[0], notes=ATTACKS, quick=True)


def test_all_systems_are_compared_on_the_same_samples(found):
    assert [s.key for s in found.systems] == KEYS
    assert all(s.failure is None and s.score_error > 0 and s.seconds > 0 for s in found.systems)
    by_key = {s.key: s for s in found.systems}
    assert by_key["pool"].score < by_key["linear"].score  # the boundary is not linear
    best = min(found.systems, key=lambda s: s.score)
    for system in found.systems:
        assert (system.behind is None) == (system is best)
        assert (system.change is None) == (not system.uses_uncertainties)
        if system.uses_uncertainties:
            plain = by_key[system.key.removesuffix("-uncertainties")]
            assert system.change == pytest.approx(system.score - plain.score)
        if system is not best:
            assert system.behind == pytest.approx(system.score - best.score)


def test_the_headline_is_a_row_of_the_table(found, regression):
    for report in (found, regression):
        numbers = re.findall(r"[−+]?[\d.]+ ± [\d.]+", report.advice.headline)
        page = report.to_html()
        rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
        assert len(numbers) == 3 and any(all(f">{n}<" in row for n in numbers) for row in rows)


def test_the_recommendation_does_what_the_headline_says(found, regression):
    for report in (found, regression):
        taken = next(s for s in report.systems if s.key == report.advice.system)
        assert taken.uses_uncertainties == (report.advice.uncertainties == "help")
        assert report.advice.name == taken.name
        for shown in (report.advice.headline, report.second_headline, taken.name):
            assert shown in repr(report)
    assert "# as given" in regression.advice.code


def test_uncertainties_that_tell_the_class_help_and_the_values_do_not():
    """The errors of one class are larger, and the values say nothing: better measurements would not help."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    error = np.where(y[:, None] == 1, 0.6, 0.2) * rng.uniform(0.8, 1.25, size=(300, 2))
    X = rng.normal(size=(300, 2)) + error * rng.normal(size=(300, 2))
    report = svmgsu.report(X, y, std=error, quick=True)
    scores = {s.key: s.score for s in report.systems}
    assert report.advice.uncertainties == "help" and report.advice.headline.startswith("Yes")
    assert scores["pool-uncertainties"] < 0.3 < 0.6 < scores["pool"]
    assert report.advice.system.endswith("-uncertainties")
    # Better measurements change the values, and these say nothing.
    assert report.expected_changes < 0.25
    assert any("without uncertainties as features" in note for note in report.notes)


def test_what_was_found_is_json(found):
    facts = json.loads(found.to_json())
    assert facts["task"] == "classification" and len(facts["systems"]) == 8
    assert sum(facts["table"]["classes"].values()) == 150
    assert all(s["seconds"] is None for s in found.to_dict(times=False)["systems"])


@pytest.mark.parametrize(
    "task", ["classification", "groups", "regression", "soft labels", "errors of targets"]
)
def test_the_printed_code_trains_what_was_measured(task):
    data, y, X = rings(60)
    given = {}
    if task == "regression":
        y = X[:, 0]
    elif task == "errors of targets":
        y, given = X[:, 0], {"y_std": np.linspace(0.1, 1, 60)}
    elif task == "groups":
        given = {"groups": np.arange(60) // 2}
    elif task == "soft labels":
        y = np.column_stack([y == "inside", y != "inside"]) * 0.8 + 0.1
        given = {"classes": ["inside", "outside"]}
    problem, _ = problem_of(data, y, **given)
    for system in systems_for(problem, QUICK):
        names = {"svmgsu": svmgsu, "data": data, "y": y, **given}
        lines = "\n".join(system.code(problem))
        exec(
            lines.replace("Classifier()", "Classifier(cv=2)").replace("Regressor()", "Regressor(cv=2)"), names
        )
        if system.family == "pool":
            assert names["model"].predict(data).shape == (60,)
            assert ("groups=groups" in lines) == (task == "groups")
            continue
        errors = np.sqrt(data.cov.diagonals(60, 3))
        columns = np.column_stack([data.mean, errors]) if system.uncertainties else data.mean
        theirs, ours = names["model"], system.fit(problem)
        np.testing.assert_allclose(theirs.predict(columns) == ours.predict(columns), True)


def test_targets_with_large_errors_hardly_count():
    data, _, X = rings(120)
    junk = np.arange(120) % 4 == 0
    errors = np.where(junk, 100.0, 0.01)
    y = X[:, 0] ** 2 + X[:, 1] + np.where(junk, 100.0, 0.0) * np.random.default_rng(0).normal(size=120)
    report = svmgsu.report(data, y, y_std=errors, quick=True)
    assert min(s.score for s in report.systems) < 2.0 < 20.0 < y.std()
    frame = pd.DataFrame(data.mean, columns=["a", "b", "c"]).assign(z=y, z_err=errors)
    problem, _ = problem_of(frame, "z")
    assert problem.task == "regression" and problem.y_std.max() == 100
    assert problem.data.feature_names_in_ == ["a", "b", "c"]
    with pytest.raises(ValueError, match="y_std: these are errors of targets, but y has labels"):
        svmgsu.report(data, junk, y_std=1.0, task="classification", quick=True)


def test_samples_to_measure_again_are_those_that_would_change(found, regression):
    data, y, _ = rings()
    assert 0 < found.expected_changes < 0.5 and "would change" in found.second_headline
    changes = [one.change for one in found.remeasure]
    assert changes == sorted(changes, reverse=True) and 0 < changes[-1] <= changes[0] <= 1
    for one in [*found.remeasure, *regression.remeasure]:
        assert one.feature in ("a", "b", "c$_{")
        i, j = int(one.id), ["a", "b", "c$_{"].index(one.feature)
        assert one.now == pytest.approx(np.sqrt(data.cov.diagonals(150, 3)[i, j]))
        if one.needed is not None:
            assert one.needed == pytest.approx(one.factor * one.now)
    assert {one.feature for one in found.remeasure} <= {"a", "b"}  # the class does not depend on the last
    for one in found.remeasure:
        assert one.predicted != one.other and one.truth == y[int(one.id)]


def test_samples_whose_simulation_disagrees_with_the_model_are_not_judged(monkeypatch):
    data, y, _ = rings(120)
    monkeypatch.setattr(
        "svmgsu.reporting.insight._true_values", lambda m, d, k, s: np.full((len(d), k, 3), 9.0)
    )
    report = svmgsu.report(data, y, quick=True)
    assert all(one.change == 0 for one in report.remeasure) and report.expected_changes == 0
    assert any("samples whose possible true values are" in note for note in report.notes)


def test_the_second_headline_says_which_precision_settles(found):
    def again(*factors):
        found_again = [dataclasses.replace(found.remeasure[0], factor=factor) for factor in factors]
        return dataclasses.replace(found, remeasure=found_again).second_headline

    assert "Uncertainties a quarter as large would settle 2 of the 4" in again(0.5, 0.25, None, None)
    assert "Uncertainties half as large would settle 2 of the 3" in again(0.5, 0.5, 0.1)
    assert "Uncertainties a tenth as large would settle 0 of the 3" in again(None, None, None)
    assert again().endswith("would change their predicted class.")


def test_members_of_the_pool_are_listed(found):
    weights = [member.weight for member in found.pool]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 0
    page = found.to_html()
    assert "What GSUClassifier learnt" in page
    assert f'<th scope="row">{found.pool[0].name}</th>' in page


def test_intervals_of_numbers_hold_what_they_say(regression):
    curve = regression.reliability
    for name in ("values only", "values + uncertainties"):
        np.testing.assert_allclose(curve.observed[name], curve.predicted[name], atol=0.15)
        assert curve.width[name] == sorted(curve.width[name])
    assert "Intervals" in regression.to_html()


def test_standard_errors_are_those_of_paired_differences():
    values = np.random.default_rng(0).normal(size=50)
    plain = comparison.standard_error(values, None)
    assert plain == pytest.approx(values.std(ddof=1) / np.sqrt(50))
    twice = np.repeat(values, 2)  # each sample twice says nothing more, if its group is known
    assert comparison.standard_error(twice, np.repeat(np.arange(50), 2)) == pytest.approx(plain)
    assert comparison.standard_error(twice, None) < 0.75 * plain


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_groups_are_never_on_both_sides(task):
    data, y, X = rings(90)
    groups = np.arange(90) // 3
    problem, _ = problem_of(data, y if task == "classification" else X[:, 0], groups=groups, task=task)
    for training, held_out in problem.splits(3):
        assert not set(groups[training]) & set(groups[held_out])


def test_without_uncertainties_it_says_so_and_compares_all_the_same():
    data, y, _ = rings(60)
    report = svmgsu.report(data.mean, y, quick=True)
    assert report.advice.uncertainties == "none" and "no uncertainties" in report.advice.headline
    assert [s.key for s in report.systems] == KEYS[::2]
    assert report.remeasure == [] and report.second_headline is None
    assert "with uncertainties</th>" not in report.to_html()


def test_missing_values_are_kept():
    data, y, _ = rings(120)
    X = data.mean.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    report = svmgsu.report(X, y, std=0.3, quick=True)
    assert all(s.failure is None for s in report.systems)
    assert report.table.samples == 120 and report.table.missing == np.isnan(X).sum()
    assert report.features[0].missing == np.isnan(X[:, 0]).sum()


@pytest.mark.parametrize(
    ("data", "y", "message"),
    [
        ([[1.0], [2.0], [3.0]], [0, 1, 1], "two classes with at least 3 samples each"),
        (np.arange(8.0)[:, None], np.arange(8) / 8, "8 samples are too few"),
        (np.arange(30.0)[:, None], np.ones(30), "two classes"),
        (np.arange(30.0)[:, None], np.full(30, 0.5), "all targets are 0.5"),
        (np.arange(30.0)[:, None], None, "needs labels"),
        (np.ones((30, 2)), np.arange(30) % 2, "all features are constant"),
    ],
)
def test_too_little_is_an_error_that_says_what_is_wanted(data, y, message):
    with pytest.raises(ValueError, match=message):
        svmgsu.report(data, y, quick=True)


def test_suspicious_columns_are_named_and_warned_of():
    rng = np.random.default_rng(0)
    y = np.sort(np.arange(200) % 2)
    X = rng.normal(size=(200, 7))
    X[:, 1] = 7.0 + 1e-16 * X[:, 1]
    X[:, 3] = np.arange(200)
    X[:, 4] = y + 0.01 * X[:, 4]
    X[:, 5] = 1.2e18 + 1024 * rng.permutation(200)  # large ids differ by little, and are not constant
    X[:, 6] = np.exp(5 * X[:, 6])
    error = np.full(X.shape, 0.1)
    error[:, 0] = rng.uniform(2, 3, size=200)
    error[:5, 0] = 0
    problem, _ = problem_of(svmgsu.Gaussians(X, std=error, feature_names=list("abcdefg")), y)
    _, features, warnings, constant = describe(problem)
    assert np.flatnonzero(constant).tolist() == [1]
    said = ["; ".join(f.remarks) for f in features]
    wanted = ("larger than the spread", "constant", "are equal", "order of the rows", "tells the target")
    for text, remark in zip([*wanted, "an id?", "logarithm"], said, strict=True):
        assert text in remark
    assert "5 of 200 standard errors are 0" in said[0] and "all standard errors are equal" in said[2]
    warned = " ".join(warnings)
    for text in ("d, e: tells", "d: follows", "sorted by the target", "f: distinct whole", "b: constant"):
        assert text in warned


def test_flags_that_are_made_from_the_class_are_warned_of():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.5, "planet", "false")
    X = rng.normal(size=(400, 3))
    X[:, 1] = (y == "false") & (rng.random(400) < 0.3)
    X[:, 2] = rng.random(400) < 0.3  # a flag that is not
    problem, _ = problem_of(svmgsu.Gaussians(X, feature_names=["a", "flag", "fair"]), y)
    _, features, warnings, _ = describe(problem)
    assert warnings == [
        "flag: one value occurs in a single class only. If it is made from the class, leave it out."
    ]
    assert "samples with 1 are false: is it known before the class is?" in features[1].remarks[0]


def test_an_id_that_repeats_is_proposed_as_groups():
    data, y, _ = rings(90)
    frame = pd.DataFrame(data.mean, columns=["a", "b", "c"]).assign(star_id=np.arange(90) // 2, kind=y)
    problem, _ = problem_of(frame, "kind")
    (said,) = describe(problem)[2]
    assert said.startswith("star_id repeats: there are 45 different ones in 90 samples.")
    assert "--groups star_id" in said
    problem, _ = problem_of(frame, "kind", groups=frame["star_id"])
    assert describe(problem)[2] == []


def test_ignored_features_are_told_and_left_out_by_the_printed_code():
    data, y, _ = rings(150)
    rare = np.where(np.arange(150) < 2, data.mean[:, 0], np.nan)
    values = np.column_stack([data.mean[:, :2], rare, np.full(150, 7.0)])
    frame = pd.DataFrame(values, columns=["a", "b", "rare", "same"]).assign(a_err=0.3)
    told = []
    found = svmgsu.report(
        frame,
        y,
        quick=True,
        command=lambda ignored, uncertainties: f"svmgsu train --ignore {told.extend(ignored)}",
    )
    assert told == ["rare", "same"]
    assert "rare: missing in almost all samples, ignored." in found.warnings
    assert "known for 2 of 150 samples: it is ignored" in found.features[2].remarks
    assert "data = data.select(['a', 'b'])" in found.advice.code


def test_a_data_frame_is_taken_with_its_uncertainties_and_without_its_text():
    data, y, _ = rings(60)
    frame = pd.DataFrame({"a": data.mean[:, 0], "a_err": 0.3, "b": data.mean[:, 1], "name": "x", "kind": y})
    problem, notes = problem_of(frame, "kind")
    assert problem.data.feature_names_in_ == ["a", "b"] and problem.data.cov is not None
    assert "1 value with errors, 1 exact" in notes[0]
    with pytest.raises(ValueError, match="the frame has no column 'nothing'"):
        svmgsu.report(frame, "nothing")


def test_a_system_that_fails_is_named_and_the_others_go_on(monkeypatch):
    def fail(*_):
        raise ValueError(f"no {ATTACKS[0]}")

    monkeypatch.setattr("svmgsu.reporting.systems.Pool.fit", fail)
    report = svmgsu.report(*rings(60)[:2], quick=True)
    assert {s.key for s in report.systems if s.failure} == {"pool", "pool-uncertainties"}
    assert "&lt;script&gt;" in report.to_html() and ATTACKS[0] not in report.to_html()


# The page


class Reader(html.parser.HTMLParser):
    """Elements with their attributes; every one that is opened must be closed, in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_nothing_in_the_page_can_run_or_needs_a_network(attacked):
    page = attacked.to_html(times=False)
    for tag, given in Reader(page).elements:
        assert tag not in ("script", "img", "iframe", "object", "embed", "link", "form", "base")
        assert not any(name.startswith("on") or name in ("src", "formaction") for name in given)
        assert not str(given.get("href", "#")).startswith(("javascript", "http", "data"))
    assert not any(text in page for text in ("http:", "https:", "@import", "url("))


def test_the_page_can_be_read_by_all(attacked):
    page = attacked.to_html(times=False)
    elements = Reader(page).elements
    assert dict(elements)["html"]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1 and max(np.diff(levels)) <= 1
    assert all(given.get("scope") in ("row", "col") for tag, given in elements if tag == "th")
    drawings = [given for tag, given in elements if tag == "svg"]
    assert len(drawings) == 2 and all(given["role"] == "img" and given["aria-label"] for given in drawings)
    ids = [given["id"] for _, given in elements if "id" in given]
    assert len(ids) == len(set(ids))
    wanted = set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'href="#([^"]+)"', page))
    assert wanted and wanted <= set(ids)
    for text in ("prefers-color-scheme: dark", "@media print", 'name="viewport"'):
        assert text in page
