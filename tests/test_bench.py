"""The benchmark: rivals compute the same as the library, and its judgements are right on made-up figures."""

from types import SimpleNamespace

import numpy as np
import pytest
from bench import __main__ as command
from bench import baseline, native, passes, problems, rivals, tables, timing
from bench.rows import Case, Row, Settings, Skipped, versus
from bench.timing import Time

LAM = 1e-2


def low_rank(count, rank, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, n))
    return problems.Problem(X, problems.noisy_rule(rng, X), factors=0.3 * rng.normal(size=(count, rank, n)))


PROBLEMS = {
    "diagonal": problems.plain(60, 7, seed=0),
    "full": problems.full(60, 7, seed=0),
    "low rank": low_rank(60, 3, 7),
}


@pytest.fixture
def compiler():
    if not native.available():
        pytest.skip("there is no C++ compiler")


def assert_same(rival, ours, n):
    for z in (passes.some_point(n), 3.0 * passes.some_point(n) + 0.1):
        value, gradient = ours(z)
        its_value, its_gradient = rival(z)
        assert its_value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(its_gradient, gradient, rtol=1e-10, atol=1e-13)


# Rivals


@pytest.mark.parametrize("kind", PROBLEMS)
def test_objectives_in_python_agree(kind):
    problem = PROBLEMS[kind]
    ours = rivals.our_objective(problem, LAM)
    assert_same(rivals.reference_objective(problem, LAM), ours, 7)
    assert_same(rivals.numpy_objective(problem, LAM), ours, 7)
    assert_same(rivals.numpy_objective(problem, LAM, einsum=True), ours, 7)


def test_sparse_objective_agrees():
    X, y, V = passes.random_sparse(80, 40, 6, seed=0)
    ours = rivals.our_objective(problems.Problem(X, y, V), LAM)
    assert_same(rivals.sparse_objective(X, y, V, LAM), ours, 40)


def test_lbfgs_stops_within_the_accuracy():
    problem = problems.diagonal(200, 5, spread=0.3, seed=0)
    optimum = rivals.ours(problem, LAM, tol=1e-9).objective_
    rival = rivals.LBFGS(rivals.numpy_objective(problem, LAM), 6, optimum, patience=10.0)
    assert np.isfinite(rival.run())
    assert rival.reached and 0 <= rival.suboptimality <= rivals.ACCURACY
    hopeless = rivals.LBFGS(rivals.numpy_objective(problem, LAM), 6, 0.5 * optimum, patience=0.05)
    assert hopeless.run() == np.inf
    assert not hopeless.reached


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_streams_read_every_number(dtype):
    problem = problems.plain(40, 13, seed=0, dtype=dtype)
    total = problem.X.sum(dtype=float) + problem.variances.sum(dtype=float)
    for threads in (1, 2):
        found = native.read_streams(problem.X, problem.variances, threads)
        assert found == pytest.approx(total, rel=1e-5 if dtype == np.float32 else 1e-12)


# Timing


def test_rivals_take_turns_as_long_as_there_is_time():
    order = []
    runs = {name: lambda name=name: order.append(name) for name in "ab"}
    found = timing.race(runs, 3, at_least=0.0)
    assert order == ["a", "b"] * 3
    assert all(0 <= time.wall < 1 for time in found.values())
    timing.race(runs, 3, budget=0.0, at_least=0.0)
    assert order == ["a", "b"] * 4
    timing.race(runs, 2, at_least=1e-3)
    assert len(order) > 20


# Rows


@pytest.mark.parametrize(
    ("figure", "target", "less", "met"),
    [(2.0, 1.8, False, True), (1.7, 1.8, False, False), (0.9, 1.0, True, True), (1.1, 1.0, True, False)],
)
def test_a_figure_meets_its_target_or_not(figure, target, less, met):
    assert Row("a", figure, target, less=less).met is met
    assert Row("a", figure).met is None


def test_versus_is_a_ratio_of_the_clock():
    found = {"ours": Time(2.0, 4.0), "theirs": Time(6.0, 6.0), "other": Time(1.0, 1.0)}
    row = versus("a", found, "theirs")
    assert row.figure == 3.0
    assert list(row.times) == ["ours", "theirs"]


# Report


def results(**more):
    return {"machine": timing.machine(), "quick": False, "repeat": 3, "skipped": {}} | more


def test_the_page_shows_missed_targets_times_and_what_was_skipped():
    rows = [
        Row("fast thing", 2.0, 1.6, group="passes"),
        Row("slow thing", 1.2, 1.6, group="passes"),
        Row("a", 0.5, group="training", times={"ours": Time(0.0123, 0.02)}, note="why"),
    ]
    text = command.report(results(skipped={"counts": "valgrind is not installed"}), rows)
    assert "1 of 2 targets are met" in text
    assert "| fast thing | 2× | ≥ 1.6× |" in text
    assert "| slow thing | **1.2×** | **≥ 1.6×, missed** |" in text
    assert "ours 12.3 ms (processor 20 ms)" in text
    assert "Not measured: counts (valgrind is not installed)." in text


def test_files_are_whole_or_not_there(tmp_path):
    tables.write(tmp_path / "new" / "a.txt", "whole")
    assert (tmp_path / "new" / "a.txt").read_text() == "whole"
    with pytest.raises(TypeError):
        tables.write(tmp_path / "b.txt", 3)
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "a.txt"]


# Comparison with an earlier run

HERE = baseline.Origin("this processor", "full", "gcc 12, AVX2")
BEFORE = {
    "ratios": {"this processor": {"full": {"speed": 2.0, "share": 0.5}}},
    "counts": {"gcc 12, AVX2": {"instructions": 10.0}},
}


def regressed(rows, origin=HERE):
    return [row.name for row in baseline.compare(rows, BEFORE, origin).regressed]


@pytest.mark.parametrize(
    ("row", "is_worse"),
    [
        (Row("speed", 1.59), True),
        (Row("speed", 1.61), False),
        (Row("speed", 20.0), False),
        (Row("speed", float("nan")), True),
        (Row("share", 0.63, less=True), True),
        (Row("share", 0.62, less=True), False),
    ],
)
def test_a_regression_is_found(row, is_worse):
    assert regressed([row]) == [row.name] * is_worse


def test_counts_are_compared_where_the_build_is_the_same():
    more = Row("instructions", 12.6, less=True, group="counts")
    assert regressed([more]) == ["instructions"]
    assert regressed([more], baseline.Origin("another processor", "full", "gcc 12, AVX2")) == ["instructions"]
    other = baseline.compare([more], BEFORE, baseline.Origin("this processor", "full", "clang 20, AVX2"))
    assert not other.regressed
    assert "clang 20, AVX2" in other.remarks[0]


def test_rows_without_an_earlier_figure_are_named_and_not_compared():
    found = baseline.compare([Row("speed", 0.1)], BEFORE, baseline.Origin("another processor", "quick"))
    assert not found.regressed
    assert found.compared == 0
    assert "another processor" in found.remarks[0]
    assert "python -m bench --quick --rebase" in found.remarks[0]
    found = baseline.compare([Row("new", 0.1), Row("speed", 2.0)], BEFORE, HERE)
    assert not found.regressed
    assert found.compared == 1
    assert found.remarks == ["rows without an earlier figure: 1"]


# The command


@pytest.fixture
def figures(monkeypatch, tmp_path):
    """The command with one made-up measurement, which takes its figures from this list."""
    upcoming = []

    def run():
        return [Row("speed", upcoming.pop(0), 1.5)]

    monkeypatch.setattr(baseline, "PATH", tmp_path / "baseline.json")
    module = SimpleNamespace(cases=lambda settings: [Case("made up", run)])
    monkeypatch.setattr(command, "GROUPS", {"made up": (module, "Made up")})
    return upcoming


def test_noise_is_measured_again(figures, capsys):
    figures += [2.0]
    assert command.main(["--only", "made up", "--rebase"]) == 0
    assert baseline.load()["ratios"]
    figures += [1.0, 1.2, 1.9]
    assert command.main(["--only", "made up", "--check"]) == 0
    figures += [1.0, 1.2, 1.1]
    assert command.main(["--only", "made up", "--check"]) == 1
    assert "worse than before: speed: 1.2×, was 2×" in capsys.readouterr().err
    assert figures == []


def test_a_case_that_cannot_run_is_reported(monkeypatch, capsys):
    def run():
        raise Skipped("the tool is missing")

    module = SimpleNamespace(cases=lambda settings: [Case("a", run)])
    monkeypatch.setattr(command, "GROUPS", {"a": (module, "A")})
    assert command.main(["--only", "a"]) == 0
    assert "Not measured: a (the tool is missing)." in capsys.readouterr().out


def test_an_interrupt_writes_nothing(monkeypatch, tmp_path, capsys):
    def run():
        raise KeyboardInterrupt

    module = SimpleNamespace(cases=lambda settings: [Case("a", run)])
    monkeypatch.setattr(command, "GROUPS", {"a": (module, "A")})
    assert command.main(["--output", str(tmp_path / "out")]) == 130
    assert not (tmp_path / "out").exists()
    assert "stopped" in capsys.readouterr().err


def test_a_real_group_is_written(tmp_path, monkeypatch):
    one = SimpleNamespace(cases=lambda settings: [c for c in passes.cases(settings) if c.name == "CSR"])
    monkeypatch.setattr(command, "GROUPS", {"passes": (one, "One pass over the data")})
    assert command.main(["--quick", "--repeat", "1", "--output", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["speed.json", "speed.md"]
    assert "against SciPy sparse" in (tmp_path / "speed.md").read_text()


def test_every_case_has_a_name_of_its_own():
    for quick in (True, False):
        names = [c.name for module, _ in command.GROUPS.values() for c in module.cases(Settings(quick))]
        assert len(set(names)) == len(names)


def test_growth_is_measured_and_what_is_missing_is_said():
    from bench import growth

    found = growth.measure(120)
    assert found["seconds"] > 0 and found["memory"] > 0.01 and found["accuracy"] > 0.4
    text = growth.page({"100000": found, "20000": found})
    assert text.index("| 20,000 |") < text.index("| 100,000 |") and "not measured yet" in text
    assert "not measured yet" not in growth.page({"1000000": found})
