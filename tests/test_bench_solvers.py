"""The benchmarks of the solver run, and their pages say what was measured."""

import numpy as np
import pytest
from bench import problems, solver_tables, solvers

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


def test_what_is_not_proven_is_marked():
    (row,) = rows("white")
    row |= {"certified": False, "status": "limit"}
    text = solver_tables.report(
        {"machine": MACHINE, "quick": False, "repeat": 1, "rows": [row], "skipped": {}}
    )
    assert "(limit!)" in text


def test_problems_of_many_examples_are_single_precision_and_always_the_same():
    one, other = problems.many(50, 4, 0.3, seed=1), problems.many(50, 4, 0.3, seed=1)
    assert one.X.dtype == one.variances.dtype == np.float32
    np.testing.assert_array_equal(one.X, other.X)
