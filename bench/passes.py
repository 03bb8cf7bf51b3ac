"""One pass over the data (J and its gradient) and one Hessian product, for each kind of covariance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import svmgsu

from . import native
from .problems import Problem, full, noisy_rule, plain
from .rivals import (
    Function,
    as_function,
    numpy_objective,
    our_objective,
    reference_objective,
    sparse_objective,
)
from .rows import LAM, Case, Row, Settings, team, versus
from .timing import race


def cases(settings: Settings) -> list[Case]:
    """Larger than any cache, unless quick."""
    shrink = 2 if settings.quick else 1
    shapes = [(40000 // shrink, 500), (4000 // shrink, 5055), (600000 // shrink, 30)]
    return [
        *(Case(f"diagonal {count} × {n}", partial(diagonal, settings, count, n)) for count, n in shapes),
        Case("full", partial(full_matrices, settings, 4000 // shrink, 100)),
        Case("full, wider", partial(full_matrices, settings, 1000 // shrink, 200)),
        Case("low rank", partial(low_rank, settings, 8000 // shrink, 5, 500)),
        Case("CSR", partial(sparse, settings, 60000 // shrink, 10000, 50)),
        Case("Hessian products, diagonal", partial(hessian_diagonal, settings, 20000 // shrink, 500)),
    ]


def moving(function: Function, z: np.ndarray) -> Callable[[], Any]:
    """Calls the function at a new point each time, since an `Objective` remembers the last one."""
    z = z.copy()

    def call() -> Any:
        z[-1] += 1e-9
        return function(z)

    return call


def some_point(n: int) -> np.ndarray:
    """(w, b) where the margins of white noise are about ±1."""
    return np.append(np.random.default_rng(1).normal(size=n) / np.sqrt(n), 0.0)


def diagonal(settings: Settings, count: int, n: int) -> list[Row]:
    double = plain(count, n, seed=0)
    assert double.variances is not None
    single = Problem(double.X.astype(np.float32), double.y, double.variances.astype(np.float32))
    z, crews = some_point(n), sorted({1, settings.threads})
    rivals: dict[str, Callable[[], Any]] = {}
    for name, problem in (("float64", double), ("float32", single)):
        for t in crews:
            rivals[f"{name}{team(t)}"] = moving(our_objective(problem, LAM, t), z)
            if native.available():
                rivals[f"8-stream read, {name}{team(t)}"] = partial(
                    native.read_streams, problem.X, problem.variances, t
                )
    others = {"NumPy": numpy_objective(double, LAM), "pure Python": reference_objective(double, LAM)}
    rivals |= {name: moving(function, z) for name, function in others.items()}
    found = race(rivals, settings.repeat)

    lead = f"diagonal {count} × {n}"
    share = {500: 0.65, 5055: 0.76}.get(n)
    rows = []
    for name, asked in (("float64", share), ("float32", None)):
        for t in crews if native.available() else ():
            mine, read = f"{name}{team(t)}", f"8-stream read, {name}{team(t)}"
            row = versus(f"{lead}: {name} against an 8-stream read{team(t)}", found, read, asked, ours=mine)
            row.unit = "%"
            speed = 2 * count * n * (8 if name == "float64" else 4) / found[read].wall / 1e9
            row.note = f"the read: {speed:.1f} GB/s" + ("; goal 80%" if asked else "")
            rows.append(row)
    rows += [
        versus(
            f"{lead}: float32 against float64{team(t)}",
            found,
            f"float64{team(t)}",
            1.6 if n >= 500 else None,
            ours=f"float32{team(t)}",
        )
        for t in crews
    ]
    if settings.threads > 1:
        rows += [
            versus(
                f"{lead}: {name}, {settings.threads} threads against one",
                found,
                name,
                1.8 if name == "float64" else None,
                ours=f"{name}{team(settings.threads)}",
            )
            for name in ("float64", "float32")
        ]
    asked_of = {"NumPy": {500: 1.6, 30: 2.2}.get(n)}
    rows += [
        versus(f"{lead}: against {rival}", found, rival, asked_of.get(rival), ours="float64")
        for rival in others
    ]
    return rows


def full_matrices(settings: Settings, count: int, n: int) -> list[Row]:
    problem = full(count, n, seed=0)
    assert problem.matrices is not None
    double, single = svmgsu.Full(problem.matrices), svmgsu.Full(problem.matrices.astype(np.float32))
    moves = svmgsu.Objective(problem.X, problem.y, double, lam=LAM, threads=1)
    still = svmgsu.Objective(problem.X, problem.y, double, lam=LAM, threads=1)
    small = svmgsu.Objective(problem.X.astype(np.float32), problem.y, single, lam=LAM, threads=1)
    z = some_point(n)
    v = np.random.default_rng(2).normal(size=n)
    found = race(
        {
            "float64": moving(as_function(moves), z),
            "float32": moving(as_function(small), z),
            "NumPy, BLAS": moving(numpy_objective(problem, LAM), z),
            "NumPy, einsum": moving(numpy_objective(problem, LAM, einsum=True), z),
            "pure Python": moving(reference_objective(problem, LAM), z),
            "Hessian product": lambda: still.hessian_product(z[:-1], 0.0, v, 1.0),
        },
        settings.repeat,
    )
    lead = f"full {count} × {n}, packed"
    return [
        *(
            versus(f"{lead}: {ours} against {rival}", found, rival, asked, ours=ours)
            for ours, asked in (("float64", 2.6), ("float32", 4.0))
            for rival in ("NumPy, BLAS", "NumPy, einsum")
        ),
        versus(f"{lead}: against pure Python", found, "pure Python", ours="float64"),
        of_a_gradient(f"{lead}: Hessian product, cached", found, 0.02, "float64"),
    ]


def of_a_gradient(name: str, found: dict[str, Any], target: float, gradient: str, note: str = "") -> Row:
    """What a Hessian product takes, as a share of a gradient."""
    row = versus(name, found, "Hessian product", target, ours=gradient, note=note)
    row.unit, row.less = "of a gradient", True
    return row


def low_rank(settings: Settings, count: int, rank: int, n: int) -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, n))
    problem = Problem(X, noisy_rule(rng, X), factors=rng.normal(size=(count, rank, n)) * 0.1)
    z = some_point(n)
    found = race(
        {
            "ours": moving(our_objective(problem, LAM), z),
            "BLAS": moving(numpy_objective(problem, LAM), z),
            "einsum": moving(numpy_objective(problem, LAM, einsum=True), z),
            "pure Python": moving(reference_objective(problem, LAM), z),
        },
        settings.repeat,
    )
    lead = f"low rank {count} × {rank} × {n}"
    return [
        versus(f"{lead}: against BLAS, same layout", found, "BLAS", 1.4),
        versus(f"{lead}: against einsum on (l, n, r)", found, "einsum", 10.0),
        versus(f"{lead}: against pure Python", found, "pure Python"),
    ]


def random_sparse(count: int, n: int, each: int, seed: int) -> tuple[Any, np.ndarray, Any]:
    """(X, y, V): `each` non-zeros an example, in the same places of X and V."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(n, size=(count, each)), axis=1).astype(np.int32)
    start = each * np.arange(count + 1)
    X = csr_matrix((rng.normal(size=count * each), columns.ravel(), start), shape=(count, n))
    X.sum_duplicates()
    V = csr_matrix((0.2 * rng.random(X.nnz), X.indices, X.indptr), shape=X.shape)
    return X, noisy_rule(rng, X), V


def sparse(settings: Settings, count: int, n: int, each: int) -> list[Row]:
    X, y, V = random_sparse(count, n, each, seed=0)
    z = some_point(n)
    z *= np.sqrt(n / each)
    crews = sorted({1, settings.threads})
    found = race(
        {
            **{f"ours{team(t)}": moving(our_objective(Problem(X, y, V), LAM, t), z) for t in crews},
            "SciPy": moving(sparse_objective(X, y, V, LAM), z),
        },
        settings.repeat,
    )
    lead = f"CSR {count} × {n}, {each} non-zeros a row"
    return [
        versus(f"{lead}: against SciPy sparse{team(t)}", found, "SciPy", 2.0, ours=f"ours{team(t)}")
        for t in crews
    ]


def hessian_diagonal(settings: Settings, count: int, n: int) -> list[Row]:
    """All examples active; then a few, the others being many deviations from the margin."""
    problem = plain(count, n, seed=0)
    assert problem.variances is not None
    z = some_point(n)
    v = np.random.default_rng(2).normal(size=n)
    rows = []
    for title, scale in (("all active", 1.0), ("few active", 1e-5)):
        data = svmgsu.Gaussians(problem.X, svmgsu.Diagonal(problem.variances * scale))
        still = svmgsu.Objective(data, problem.y, lam=LAM, threads=1)
        moves = svmgsu.Objective(data, problem.y, lam=LAM, threads=1)
        d = 1.0 - problem.y * (problem.X @ z[:-1])
        s = np.sqrt(scale * (problem.variances @ z[:-1] ** 2))
        active = float(np.mean(svmgsu._core.expected_hinge(d, s)[2] > 0))
        found = race(
            {
                "gradient": moving(as_function(moves), z),
                "Hessian product": lambda f=still: f.hessian_product(z[:-1], 0.0, v, 1.0),
            },
            settings.repeat,
        )
        note = f"{100 * active:.0f}% of the examples are active"
        rows.append(
            of_a_gradient(f"diagonal {count} × {n}: Hessian product, {title}", found, 1.0, "gradient", note)
        )
    return rows
