"""The benchmark: rivals compute the same as the library, and its judgements are right on made-up figures."""

from types import SimpleNamespace

import numpy as np
import pytest
from bench import __main__ as command
from bench import baseline, passes, problems, rivals, solver_tables, solvers
from bench.rows import Case, Row

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


# Rows


@pytest.mark.parametrize(
    ("figure", "target", "less", "met"),
    [(2.0, 1.8, False, True), (1.7, 1.8, False, False), (0.9, 1.0, True, True), (1.1, 1.0, True, False)],
)
def test_a_figure_meets_its_target_or_not(figure, target, less, met):
    assert Row("a", figure, target, less=less).met is met
    assert Row("a", figure).met is None


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


def test_a_real_group_is_written(tmp_path, monkeypatch):
    one = SimpleNamespace(cases=lambda settings: [c for c in passes.cases(settings) if c.name == "CSR"])
    monkeypatch.setattr(command, "GROUPS", {"passes": (one, "One pass over the data")})
    assert command.main(["--quick", "--repeat", "1", "--output", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["speed.json", "speed.md"]
    assert "against SciPy sparse" in (tmp_path / "speed.md").read_text()


SMALL = {
    "white": lambda: problems.white(150, 6, seed=0),
    "certain": lambda: problems.certain(150, 6, seed=0),
    "full": lambda: problems.full(60, 5, seed=0),
    "one-hot": lambda: problems.one_hot(150, [8, 4, 3], seed=0),
    "sparse": lambda: problems.sparse(120, 60, 8, seed=0),
    "wide low rank": lambda: problems.wide_factors(40, 60, 3, seed=0),
    "many": lambda: problems.many(300, 6, 0.3, seed=0),
}
MACHINE = {
    "cpu": "a processor",
    "cores": 2,
    "last_cache": "1M",
    "svmgsu": {"compiler": "gcc", "instruction_set": "x86-64"},
    **dict.fromkeys(("numpy", "scipy", "scikit-learn"), "1"),
}


def rows(name, **options):
    entry = problems.Entry(name, lambda quick, folder: SMALL[name](), lams=(1e-2,), **options)
    return [solvers.measure(entry, SMALL[name](), lam, 1, 1.0) for lam in entry.lams]


@pytest.mark.parametrize("name", SMALL)
def test_a_problem_is_measured_beside_its_rivals(name):
    (row,) = rows(name)
    assert row["certified"]
    assert row["seconds"] > 0
    assert row["lbfgs_suboptimality"] <= 1e-6 or not row["lbfgs_reached"]
    assert ("linear_svc_seconds" in row) == (name in ("certain", "one-hot", "sparse"))


def test_the_page_has_every_row_and_what_was_asked():
    measured = rows("white", cpp_target=0.8) + rows("certain") + rows("many", passes=8)
    results = {"machine": MACHINE, "quick": False, "repeat": 1, "rows": measured, "skipped": {"x": "--short"}}
    text = solver_tables.report(results)
    for words in ("white, 150 × 6", "certain, 150 × 6", "many, 300 × 6", "≥ 0.8×", "≤ 8", "x (--short)"):
        assert words in text
