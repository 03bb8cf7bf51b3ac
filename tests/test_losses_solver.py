"""Every loss, solved exactly: on random problems of every kind a gap is proven and no bound passes the best.

The optimum comes from elsewhere: the twin's own Newton method (its own formulas and quadrature), and Ridge,
LogisticRegression and LinearSVC where there is no uncertainty.
"""

import numpy as np
import pytest
import scipy.sparse

from svmgsu import _core, reference

NAMES = list(reference.LOSSES)
KINDS = ("none", "isotropic", "diagonal", "sparse", "full", "low_rank", "shared", "grouped", "sum")
LAMS = 10.0 ** np.arange(1.0, -7.0, -1.0)


def sparse(A, make):
    """An array as what `make` of the core takes of compressed rows."""
    rows = scipy.sparse.csr_array(A)
    return make(rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64), A.shape[1])


def covariance(kind, rng, X, dtype):
    """The core's terms and the twin's covariance of one kind; sparse variances stand where X has numbers."""
    count, n = X.shape
    upper = np.triu_indices(n)
    if kind == "none":
        return (), None
    if kind == "isotropic":
        v = rng.random(count).astype(dtype)
        return ((_core.isotropic(v), 1.0),), v.astype(float)
    if kind == "diagonal":
        v = rng.random((count, n)).astype(dtype)
        return ((_core.diagonal(v), 1.0),), v.astype(float)
    if kind == "sparse":
        v = (rng.uniform(0.2, 1.0, size=X.shape) * (X != 0)).astype(dtype)
        return ((sparse(v, _core.sparse_diagonal), 1.0),), v.astype(float)
    if kind in ("full", "shared", "grouped"):
        A = rng.normal(size=(count if kind == "full" else 3, n, n)) / 2
        S = A @ A.transpose(0, 2, 1)
        if kind == "full":
            packed = np.ascontiguousarray(S[:, upper[0], upper[1]]).astype(dtype)
            S[:, upper[0], upper[1]] = S[:, upper[1], upper[0]] = packed
            return ((_core.full(packed, n), 1.0),), S
        if kind == "shared":
            packed = np.ascontiguousarray(S[:1, upper[0], upper[1]])
            return ((_core.shared(packed, n, False, None), 1.0),), reference.SharedMatrix(S[0])
        group = rng.integers(3, size=count)
        terms = _core.shared(np.ascontiguousarray(S[:, upper[0], upper[1]]), n, False, group.astype(np.int32))
        return ((terms, 1.0),), reference.SharedMatrix(S, group)
    if kind == "low_rank":
        F = (rng.normal(size=(count, 2, n)) / 2).astype(dtype)
        start = 2 * np.arange(count + 1, dtype=np.int64)
        return ((_core.low_rank(np.ascontiguousarray(F.reshape(-1, n)), start), 1.0),), reference.Factors(
            F.astype(float)
        )
    (first, twin), (second, other) = (covariance(k, rng, X, dtype) for k in ("diagonal", "low_rank"))
    return first + second, [twin, other]


def problem(name, seed):
    """A random problem: kind, size, λ, weights, precision and storage vary with the seed."""
    rng = np.random.default_rng(seed)
    kind, lam, dtype = KINDS[seed % 9], LAMS[seed // 9], (np.float64, np.float32)[seed // 2 % 3 == 1]
    compressed = kind == "sparse" or seed % 4 == 3
    X = rng.normal(size=(int(rng.integers(12, 60)), int(rng.integers(1, 6))))
    y = np.where(rng.random(len(X)) < 0.4, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    X[:, 0] += 0.8 * y
    if compressed:
        X[rng.random(X.shape) < 0.3] = 0
    if reference.LOSSES[name].regression:
        y = X @ rng.normal(size=X.shape[1]) + rng.standard_t(3, size=len(X)) + 2.0
    X = X.astype(dtype)
    c = rng.uniform(0.3, 2.0, size=len(X)) if seed % 2 else np.ones(len(X))
    terms, twin = covariance(kind, rng, X, dtype)
    make = _core.valued if reference.LOSSES[name].regression else _core.labelled
    means = sparse(X, _core.sparse_means) if compressed else _core.dense_means(X)
    return make(means, terms, y, c), (X.astype(float), y, twin, float(lam), c, name)


def solved(data, lam, name, tolerance=1e-6):
    options = _core.Options()
    options.lam, options.loss, options.threads, options.tolerance = lam, _core.Loss(name), 1, tolerance
    return _core.solve(data, options)


def descended(w, b, *rest):
    """The least J of the twin that a few steps of its own Newton method find from (w, b)."""
    J = reference.Objective(*rest)
    best = J.value(w, b)
    for _ in range(3):
        slope, H = np.append(*J.gradient(w, b)), J.hessian(w, b)
        H[np.diag_indices(len(H))] += 1e-12 * np.diag(H).max()
        step = -np.linalg.solve(H, slope)
        w, b = w + step[:-1], b + step[-1]
        best = min(best, J.value(w, b))
    return best


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_is_solved_to_a_proven_gap_below_which_nothing_lies(name):
    for seed in range(len(KINDS) * len(LAMS)):
        data, rest = problem(name, seed)
        result = solved(data, rest[3], name)
        J = reference.Objective(*rest).value(result.w, result.b)
        assert result.objective == pytest.approx(J, rel=1e-9, abs=1e-13), seed
        assert result.gap <= 1e-6 * result.objective + 1e-12, (
            seed,
            result.gap / result.objective,
            result.stop,
        )
        if seed % 9 % 4 == seed // 9 % 4:  # from the beginning, which is slow: every kind at two λ
            J = reference.Objective(*rest)
            best = J.value(*J.newton())
        else:
            best = descended(result.w, result.b, *rest)
        assert result.objective - result.gap <= best + 1e-10 * best, seed


def test_the_error_of_the_quadrature_is_a_part_of_the_gap():
    rng = np.random.default_rng(4)
    X, c = rng.normal(size=(60, 3)), rng.uniform(0.5, 2.0, 60)
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    V = rng.uniform(0.1, 2.0, size=X.shape)
    data = _core.labelled(_core.dense_means(X), ((_core.diagonal(V), 1.0),), y, c)
    result = solved(data, 1e-3, "logistic", 1e-15)
    hidden = _core.Loss("logistic").gap_error * np.mean(c * np.sqrt(V @ result.w**2))
    assert hidden > 1e-13
    assert 0.99 * hidden <= result.gap <= 20 * hidden


def test_without_uncertainty_the_optimum_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(1)
    X, lam = rng.normal(size=(80, 4)), 0.02
    y = np.where(X[:, 0] + rng.normal(size=80) > 0, 1.0, -1.0)
    target = X @ rng.normal(size=4) + rng.normal(size=80)
    X -= X.mean(axis=0)
    ones = np.ones(80)
    ours = solved(_core.valued(_core.dense_means(X), (), target, ones), lam, "squared", 1e-12)
    ridge = Ridge(alpha=lam * 80).fit(X, target)
    np.testing.assert_allclose(np.append(ours.w, ours.b), np.append(ridge.coef_, ridge.intercept_), atol=1e-6)
    labelled = _core.labelled(_core.dense_means(X), (), y, ones)
    ours = solved(labelled, lam, "logistic", 1e-12)
    theirs = LogisticRegression(C=1 / (lam * 80), tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(
        np.append(ours.w, ours.b), np.append(theirs.coef_, theirs.intercept_), atol=1e-6
    )
    options = _core.Options()
    options.lam, options.loss, options.intercept, options.tolerance = (
        lam,
        _core.Loss("squared_hinge"),
        False,
        1e-12,
    )
    svc = LinearSVC(C=1 / (lam * 80), fit_intercept=False, tol=1e-10, max_iter=100000).fit(X, y)
    np.testing.assert_allclose(_core.solve(labelled, options).w, svc.coef_[0], atol=1e-6)
