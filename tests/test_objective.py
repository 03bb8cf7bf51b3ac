"""J, its derivatives and its certificate: against differences, the twin, and each other."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import KINDS, Problem, every_kind, every_smooth_kind, make_problem, relative_error
from objective_cases import LAM, point

import svmgsu
from svmgsu import reference


@pytest.fixture(params=KINDS)
def problem(request):
    return make_problem(request.param)


def weights(count):
    drawn = np.random.default_rng(5).uniform(0, 3, count)
    return drawn / drawn.mean()  # as the objective scales them, and its reference does not


def test_the_gradient_is_the_slope_of_the_value(problem):
    objective = problem.objective(LAM)
    w, b, _, _ = point(len(problem.means[0]))
    z, h = np.append(w, b), 1e-5
    steps = h * np.eye(len(z))
    slopes = [
        (objective.value(*split(z + step)) - objective.value(*split(z - step))) / (2 * h) for step in steps
    ]
    assert relative_error(np.append(*objective.gradient(w, b)), slopes) <= 1e-6


def test_the_hessian_product_is_the_slope_of_the_gradient(problem):
    objective = problem.objective(LAM, sample_weight=weights(len(problem.y)))
    w, b, vw, vb = point(len(problem.means[0]))
    h = 1e-5
    ahead = np.append(*objective.gradient(w + h * vw, b + h * vb))
    behind = np.append(*objective.gradient(w - h * vw, b - h * vb))
    got = np.append(*objective.hessian_product(w, b, vw, vb))
    assert relative_error(got, (ahead - behind) / (2 * h)) <= 1e-6


def test_the_hessian_is_symmetric_and_positive(problem):
    objective = problem.objective(LAM)
    n = problem.means.shape[1]
    w, b, _, _ = point(n)
    H = np.array([np.append(*objective.hessian_product(w, b, *split(unit))) for unit in np.eye(n + 1)])
    np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-13)
    assert np.linalg.eigvalsh(H[:n, :n]).min() >= LAM * (1 - 1e-12)


def split(z):
    return z[:-1], float(z[-1])


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", [(60, 7), (33, 1), (2, 5), (200, 65)], ids=str)
@every_kind
def test_the_twin_gives_the_same_numbers(kind, shape, weighted):
    p = make_problem(kind, *shape)
    c = weights(shape[0]) if weighted else None
    agree_with_the_twin(p, *point(shape[1]), c)


def agree_with_the_twin(p, w, b, vw, vb, c=None, lam=LAM, tolerance=1e-12):
    objective = p.objective(lam, sample_weight=c)
    alone = objective.value(w, b)
    value, gw, gb = objective.value_and_gradient(w, b)
    hw, hb = objective.hessian_product(w, b, vw, vb)
    args = (p.means, p.y, p.twin, lam, c)
    assert [alone, value] == pytest.approx([reference.Objective(*args).value(w, b)] * 2, rel=tolerance)
    assert (
        relative_error(np.append(gw, gb), np.append(*reference.Objective(*args).gradient(w, b))) <= tolerance
    )
    twin = reference.Objective(*args).hessian_product(w, b, vw, vb)
    assert relative_error(np.append(hw, hb), np.append(*twin)) <= tolerance


def test_a_value_does_not_depend_on_what_was_asked_before():
    p = make_problem("diagonal", 3000, 5)
    w, b, _, _ = point(5)
    objective = p.objective(LAM)
    first = objective.value(w, b)
    assert objective.value_and_gradient(w, b)[0] == first
    assert objective.value(w, b) == first


@every_kind
def test_float32_storage_is_float64_arithmetic_on_the_same_numbers(kind):
    p = make_problem(kind, dtype=np.float32)
    agree_with_the_twin(p, *point(7))


def test_float32_means_and_float64_covariances_mix():
    single, double = make_problem("full", dtype=np.float32), make_problem("full")
    mixed = single._replace(cov=double.cov, twin=double.twin, full=double.full)
    agree_with_the_twin(mixed, *point(7))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 15, 16, 17, 63, 64, 65, 130])
def test_rows_of_every_length_and_batches_of_every_size(n, dtype):
    """The loops take eight numbers and four rows at a time: what is left over at either end counts, too."""
    rng = np.random.default_rng(n)
    for count in (2, 3, 4, 5, 8, 13, 33, 64, 65, 70):
        X = rng.normal(size=(count, n)).astype(dtype)
        V = rng.gamma(2.0, 0.1, size=(count, n)).astype(dtype)
        F = (0.3 * rng.normal(size=(count, 3, n))).astype(dtype)
        y = np.where(np.arange(count) % 3 == 0, 1.0, -1.0)
        for cov, twin in (
            (svmgsu.Diagonal(V), V.astype(float)),
            (svmgsu.LowRank(F), reference.Factors(F.astype(float))),
        ):
            agree_with_the_twin(Problem(X, y, cov, X.astype(float), twin, None), *point(n))


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f4"), ("f8", "f4")], ids="-".join)
@pytest.mark.parametrize("places", ["the same", "others", "as many, but others"])
def test_sparse_variances_in_the_places_of_the_means_or_in_others(places, dtypes):
    rng = np.random.default_rng(0)
    count, n = 3000, 40  # several blocks
    X = scipy.sparse.random_array((count, n), density=0.2, format="csr", rng=rng)
    V = (
        X.copy()
        if places == "the same"
        else scipy.sparse.random_array((count, n), density=0.3, format="csr", rng=rng)
    )
    if places == "as many, but others":
        V = X.copy()
        V.indices = n - 1 - V.indices
    V.data = rng.gamma(2.0, 0.1, size=V.nnz)
    X, V = X.astype(dtypes[0]), V.astype(dtypes[1])
    y = np.where(X.toarray().sum(axis=1) > X.sum() / count, 1.0, -1.0)
    means, variances = X.toarray().astype(float), V.toarray().astype(float)
    agree_with_the_twin(Problem(X, y, svmgsu.Diagonal(V), means, variances, None), *point(n))


@every_kind
def test_sparse_means_are_the_same_as_dense_ones(kind):
    p = make_problem(kind)
    sparse = p._replace(X=scipy.sparse.csr_matrix(p.means))
    agree_with_the_twin(sparse, *point(7))


@every_kind
def test_at_w_zero_everything_is_finite_and_the_twin_s(kind):
    p = make_problem(kind)
    _, _, vw, vb = point(7)
    for b in (0.0, 0.4, 1.0, -1.0):
        agree_with_the_twin(p, np.zeros(7), b, vw, vb)


@pytest.mark.parametrize("form", ["full", "low rank", "diagonal"])
def test_w_orthogonal_to_the_covariances_leaves_the_hinge(form):
    p = make_problem("none")
    F = np.zeros((60, 2, 7))
    F[:, 0, 0], F[:, 1, 1] = 1.3, 0.4
    full = F.transpose(0, 2, 1) @ F
    kinds = {
        "full": (svmgsu.Full(full), full),
        "low rank": (svmgsu.LowRank(F), reference.Factors(F)),
        "diagonal": (svmgsu.Diagonal(full.diagonal(axis1=1, axis2=2)), full.diagonal(axis1=1, axis2=2)),
    }
    cov, twin = kinds[form]
    w, b, vw, vb = point(7)
    w[:2] = 0
    agree_with_the_twin(p._replace(cov=cov, twin=twin), w, b, vw, vb)
    assert p._replace(cov=cov).objective(LAM).value(w, b) == pytest.approx(
        p.objective(LAM).value(w, b), rel=1e-15
    )


def test_some_examples_may_be_certain():
    p = make_problem("diagonal")
    V = p.twin * (np.arange(60) % 2)[:, None]
    agree_with_the_twin(p._replace(cov=svmgsu.Diagonal(V), twin=V), *point(7))


@pytest.mark.parametrize(
    "zero", [np.zeros(60), np.zeros((60, 7)), np.zeros((60, 7, 7))], ids=["isotropic", "diagonal", "full"]
)
def test_zero_covariances_are_no_covariances(zero):
    certain = make_problem("none")
    w, b, vw, vb = point(7)
    with_zero, without = certain._replace(cov=zero).objective(LAM), certain.objective(LAM)
    assert with_zero.value(w, b) == without.value(w, b)
    np.testing.assert_array_equal(with_zero.gradient(w, b)[0], without.gradient(w, b)[0])
    np.testing.assert_array_equal(
        with_zero.hessian_product(w, b, vw, vb)[0], without.hessian_product(w, b, vw, vb)[0]
    )


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
@every_kind
def test_huge_and_tiny_units_do_not_matter(kind, scale):
    p = make_problem(kind)
    w, b, vw, vb = point(7)
    units = p._replace(X=p.X * scale, cov=None if p.cov is None else scale * scale * p.cov)
    plain, scaled = p.objective(LAM), units.objective(LAM * scale * scale)
    assert scaled.value(w / scale, b) == pytest.approx(plain.value(w, b), rel=1e-12)
    gw, gb = scaled.gradient(w / scale, b)
    assert relative_error(np.append(gw / scale, gb), np.append(*plain.gradient(w, b))) <= 1e-12
    hw, hb = scaled.hessian_product(w / scale, b, vw / scale, vb)
    assert relative_error(np.append(hw / scale, hb), np.append(*plain.hessian_product(w, b, vw, vb))) <= 1e-12


@pytest.mark.parametrize("variance", [1e-300, 1e-100, 1e100])
def test_variances_from_1e_300_to_1e_100_give_finite_numbers(variance):
    p = make_problem("none")
    w, b, vw, vb = point(7)
    objective = p._replace(cov=np.full(60, variance)).objective(LAM)
    value, gw, gb = objective.value_and_gradient(w, b)
    hw, hb = objective.hessian_product(w, b, vw, vb)
    assert np.isfinite(np.concatenate([[value, gb, hb, objective.gap(w, b)], gw, hw])).all()


def test_the_kinds_agree_where_they_mean_the_same():
    p = make_problem("none")
    variance, (count, n) = 0.83, p.means.shape
    kinds = {
        "scalar": svmgsu.Isotropic(variance),
        "isotropic": svmgsu.Isotropic(np.full(count, variance)),
        "diagonal": svmgsu.Diagonal(np.full((count, n), variance)),
        "sparse diagonal": svmgsu.Diagonal(scipy.sparse.csr_array(np.full((count, n), variance))),
        "full": svmgsu.Full(np.array([variance * np.eye(n)] * count)),
        "low rank": svmgsu.LowRank(np.array([np.sqrt(variance) * np.eye(n)] * count)),
        "shared": svmgsu.Shared(variance * np.eye(n)),
        "shared diagonal": svmgsu.Shared(np.full(n, variance)),
        "by class": svmgsu.Shared({-1: variance * np.eye(n), 1: variance * np.eye(n)}),
        "sum": svmgsu.Isotropic(variance / 2) + 0.5 * svmgsu.Shared(np.full(n, variance)),
        "std": None,
    }
    w, b, vw, vb = point(n)
    first = None
    for name, cov in kinds.items():
        std = np.sqrt(variance) if name == "std" else None
        objective = svmgsu.Objective(p.X, p.y, cov, std=std, lam=LAM)
        value, gw, gb = objective.value_and_gradient(w, b)
        got = np.concatenate(
            [[value], gw, [gb], *map(np.atleast_1d, objective.hessian_product(w, b, vw, vb))]
        )
        first = got if first is None else first
        assert relative_error(got, first) <= 1e-12, name


@every_kind
def test_the_bits_are_the_same_for_any_number_of_threads(kind):
    p = make_problem(kind, 3000, 40)
    data = svmgsu.Gaussians(p.X, p.cov)
    w, b, vw, vb = point(40)

    def everything(threads):
        objective = svmgsu.Objective(data, p.y, lam=LAM, threads=threads, sample_weight=weights(3000))
        gap, value = objective.gap(w, b), objective.value(w, b)
        _, gw, gb = objective.value_and_gradient(w, b)
        hw, hb = objective.hessian_product(w, b, vw, vb)
        return np.concatenate([[gap, value, gb, hb, objective.best_intercept(w)], gw, hw])

    one = everything(1)
    for threads in (2, 3, 8):
        np.testing.assert_array_equal(everything(threads), one)


def flat(objective):
    """value and gradient, and Hessian product, of one vector (w, b)."""

    def both(z):
        value, gw, gb = objective.value_and_gradient(*split(z))
        return value, np.append(gw, gb)

    def times(z, v):
        return np.append(*objective.hessian_product(*split(z), *split(v)))

    return both, times


@every_smooth_kind
def test_the_gap_bounds_the_distance_to_the_optimum_and_vanishes_there(kind):
    p = make_problem(kind)
    objective = p.objective(LAM)
    both, times = flat(objective)
    best = scipy.optimize.minimize(both, np.append(np.ones(7), 0.0), jac=True, method="L-BFGS-B").x
    for _ in range(5):
        H = np.array([times(best, unit) for unit in np.eye(8)])
        best = best - np.linalg.solve(H, both(best)[1])
    lowest = both(best)[0]
    assert objective.gap(*split(best)) <= 1e-9 * lowest
    rng = np.random.default_rng(2)
    for scale in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        z = best + scale * rng.normal(size=8)
        gap = objective.gap(*split(z))
        assert gap >= (both(z)[0] - lowest) * (1 - 1e-9) - 1e-14
        assert gap <= both(z)[0]


@every_kind
def test_the_gap_is_at_least_what_another_point_proves(kind):
    p = make_problem(kind)
    objective = p.objective(LAM, sample_weight=weights(60))
    rng = np.random.default_rng(4)
    points = [
        (s * rng.normal(size=7), s * rng.normal()) for s in (0.01, 0.1, 0.3, 1.0, 3.0) for _ in range(8)
    ]
    lowest = min(objective.value(*z) for z in points)
    for z in points:
        assert objective.gap(*z) >= (objective.value(*z) - lowest) * (1 - 1e-12)


@pytest.mark.parametrize("method", ["L-BFGS-B", "Newton-CG", "trust-krylov"])
def test_scipy_s_optimisers_take_it(method):
    p = make_problem("low rank + diagonal")
    objective = p.objective(LAM)
    both, times = flat(objective)
    hessp = None if method == "L-BFGS-B" else times
    found = scipy.optimize.minimize(both, np.append(np.ones(7), 0.0), jac=True, hessp=hessp, method=method)
    assert objective.gap(*split(found.x)) <= 1e-4 * found.fun
