"""J, its derivatives and its certificate against differences, the reference and each other."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import KINDS, Problem, every_kind, every_smooth_kind, make_problem, relative_error
from hypothesis import given
from hypothesis import strategies as st

import svmgsu
from svmgsu import _core, reference

LAM = 0.3
REGRESSION = {name: task == "regression" for name, task, _, _ in _core.known_losses()}
every_loss = pytest.mark.parametrize("loss", REGRESSION)


def point(n, seed=0):
    """A hyperplane (w, b) and a direction (vw, vb)."""
    rng = np.random.default_rng(100 + seed)
    return rng.normal(size=n) / np.sqrt(n), 0.3, rng.normal(size=n), -0.7


def weights(count):
    drawn = np.random.default_rng(5).uniform(0, 3, count)
    return drawn / drawn.mean()  # as the objective scales them, and its reference does not


def split(z):
    return z[:-1], float(z[-1])


def flat(objective):
    """Functions of one vector (w, b): value and gradient, and Hessian product."""

    def both(z):
        value, gw, gb = objective.value_and_gradient(*split(z))
        return value, np.append(gw, gb)

    def times(z, v):
        return np.append(*objective.hessian_product(*split(z), *split(v)))

    return both, times


def agrees_with_the_reference(p, w, b, vw, vb, c=None, lam=LAM, tolerance=1e-12):
    objective = p.objective(lam, sample_weight=c)
    wanted = reference.Objective(p.means, p.y, p.twin, lam, c)
    alone = objective.value(w, b)
    value, gw, gb = objective.value_and_gradient(w, b)
    assert alone == value == pytest.approx(wanted.value(w, b), rel=tolerance)
    assert relative_error(np.append(gw, gb), np.append(*wanted.gradient(w, b))) <= tolerance
    got = np.append(*objective.hessian_product(w, b, vw, vb))
    assert relative_error(got, wanted.hessian(w, b) @ np.append(vw, vb)) <= tolerance


@every_kind
def test_derivatives_are_slopes_and_the_hessian_is_symmetric_and_positive(kind):
    p = make_problem(kind)
    n, h = 7, 1e-5
    both, times = flat(p.objective(LAM, sample_weight=weights(60)))
    w, b, vw, vb = point(n)
    z, v = np.append(w, b), np.append(vw, vb)
    slopes = [(both(z + step)[0] - both(z - step)[0]) / (2 * h) for step in h * np.eye(n + 1)]
    assert relative_error(both(z)[1], slopes) <= 1e-6
    assert relative_error(times(z, v), (both(z + h * v)[1] - both(z - h * v)[1]) / (2 * h)) <= 1e-6
    H = np.array([times(z, unit) for unit in np.eye(n + 1)])
    np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-13)
    assert np.linalg.eigvalsh(H[:n, :n]).min() >= LAM * (1 - 1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", [(60, 7), (33, 1), (2, 5), (200, 65), (3000, 5)], ids=str)
@every_kind
def test_the_reference_gives_the_same_numbers(kind, shape, weighted):
    p = make_problem(kind, *shape)
    agrees_with_the_reference(p, *point(shape[1]), weights(shape[0]) if weighted else None)


@every_kind
def test_float32_sparse_means_and_w_zero_agree_with_the_reference(kind):
    p = make_problem(kind)
    single = make_problem(kind, dtype=np.float32)
    w, b, vw, vb = point(7)
    agrees_with_the_reference(single, w, b, vw, vb)
    agrees_with_the_reference(
        single._replace(cov=p.cov, twin=p.twin, full=p.full), w, b, vw, vb
    )  # float32 means with float64 covariances
    agrees_with_the_reference(p._replace(X=scipy.sparse.csr_matrix(p.means)), w, b, vw, vb)
    for b in (0.0, 0.4, 1.0, -1.0):
        agrees_with_the_reference(p, np.zeros(7), b, vw, vb)


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
            agrees_with_the_reference(Problem(X, y, cov, X.astype(float), twin, None), *point(n))


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f4"), ("f8", "f4")], ids="-".join)
@pytest.mark.parametrize("places", ["the same", "others", "as many, but others"])
def test_sparse_variances_in_the_places_of_the_means_or_in_others(places, dtypes):
    rng = np.random.default_rng(0)
    count, n = 3000, 40  # several blocks
    X = scipy.sparse.random_array((count, n), density=0.2, format="csr", rng=rng)
    V = X.copy()
    if places == "others":
        V = scipy.sparse.random_array((count, n), density=0.3, format="csr", rng=rng)
    elif places == "as many, but others":
        V.indices = n - 1 - V.indices
    V.data = rng.gamma(2.0, 0.1, size=V.nnz)
    X, V = X.astype(dtypes[0]), V.astype(dtypes[1])
    y = np.where(X.toarray().sum(axis=1) > X.sum() / count, 1.0, -1.0)
    means, variances = X.toarray().astype(float), V.toarray().astype(float)
    agrees_with_the_reference(Problem(X, y, svmgsu.Diagonal(V), means, variances, None), *point(n))


@every_smooth_kind
def test_the_gap_bounds_the_distance_to_the_optimum_and_vanishes_there(kind):
    objective = make_problem(kind).objective(LAM)
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
        assert (both(z)[0] - lowest) * (1 - 1e-9) - 1e-14 <= gap <= both(z)[0]
    w, *_ = point(7)
    b = objective.best_intercept(w)
    assert abs(objective.gradient(w, b)[1]) <= 1e-12
    assert objective.value(w, b) <= min(objective.value(w, b + 0.1), objective.value(w, b - 0.1))


@given(st.permutations(range(24)), st.lists(st.integers(1, 4), min_size=24, max_size=24))
@every_kind
def test_order_does_not_matter_and_a_weight_is_a_repetition(kind, order, counts):
    p = make_problem(kind, 24, 3)
    data = svmgsu.Gaussians(p.X, p.cov)
    z, v = np.append(*point(3)[:2]), np.append(*point(3)[2:])
    repeated = np.repeat(order, np.array(counts)[order])
    weighted = svmgsu.Objective(data, p.y, lam=LAM, sample_weight=np.array(counts, dtype=float))
    for rows, known in ((order, p.objective(LAM)), (repeated, weighted)):
        (both, times), (wanted, products) = (
            flat(objective) for objective in (svmgsu.Objective(data[rows], p.y[rows], lam=LAM), known)
        )
        assert both(z)[0] == pytest.approx(wanted(z)[0], rel=1e-12)
        assert relative_error(both(z)[1], wanted(z)[1]) <= 1e-12
        assert relative_error(times(z, v), products(z, v)) <= 1e-12


def cases(loss, count, n, kinds=KINDS):
    """Problems of every kind with labels, or with targets that a linear model with outliers made."""
    rng = np.random.default_rng(11)
    for kind in kinds:
        if REGRESSION[loss] and kind == "shared by class":
            continue
        p = make_problem(kind, count, n)
        t = p.means @ rng.normal(size=n) + rng.standard_t(3, size=count) + 4.0
        yield kind, p, t if REGRESSION[loss] else p.y, rng.uniform(0, 2, size=count)


@every_loss
def test_every_loss_agrees_with_the_reference(loss):
    rng = np.random.default_rng(2)
    for kind, p, y, c in cases(loss, 40, 4):
        objective = svmgsu.Objective(p.X, y, p.cov, lam=LAM, loss=loss, sample_weight=c)
        w, b, v = rng.normal(size=4) / 2, 0.3, rng.normal(size=5)
        wanted = reference.Objective(p.means, y, p.twin, LAM, c / c.mean(), loss)
        value, gw, gb = objective.value_and_gradient(w, b)
        assert objective.value(w, b) == value == pytest.approx(wanted.value(w, b), rel=1e-11), kind
        assert relative_error(np.append(gw, gb), np.append(*wanted.gradient(w, b))) <= 1e-10, kind
        got = np.append(*objective.hessian_product(w, b, v[:-1], v[-1]))
        assert relative_error(got, wanted.hessian(w, b) @ v) <= 1e-9, kind
        assert objective.gap(w, b) > 0


@every_loss
def test_the_gap_closes_where_training_ends(loss):
    options = {} if REGRESSION[loss] else {"probability": False}
    for kind, p, y, _ in cases(loss, 60, 3, ("diagonal", "full", "low rank", "diagonal CSR")):
        model = svmgsu.train(p.X, y, p.cov, lam=LAM, loss=loss, tol=1e-9, **options)
        objective = svmgsu.Objective(p.X, y, p.cov, lam=LAM, loss=loss)
        w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
        assert objective.value(w, b) == pytest.approx(model.objective_, rel=1e-12), kind
        assert objective.gap(w, b) <= 1e-5 * model.objective_, kind


@every_loss
def test_the_bits_are_the_same_for_any_number_of_threads(loss):
    rng = np.random.default_rng(3)
    w, vw = rng.normal(size=20) / 4, rng.normal(size=20)
    for kind, p, y, c in cases(loss, 1100, 20, KINDS if loss == "hinge" else ("diagonal", "full")):
        data = svmgsu.Gaussians(p.X, p.cov)

        def everything(threads, data=data, y=y, c=c):
            objective = svmgsu.Objective(data, y, lam=LAM, loss=loss, sample_weight=c, threads=threads)
            _, gw, gb = objective.value_and_gradient(w, 0.3)
            hw, hb = objective.hessian_product(w, 0.3, vw, -0.7)
            numbers = [objective.gap(w, 0.3), objective.value(w, 0.3), gb, hb, objective.best_intercept(w)]
            return np.concatenate([numbers, gw, hw])

        one = everything(1)
        for threads in (2, 3):
            np.testing.assert_array_equal(everything(threads), one, err_msg=kind)


def test_regressions_have_a_parameter_and_what_is_wrong_is_refused():
    X, t = np.arange(6.0)[:, None], np.array([0.0, 1.2, 1.9, 3.3, 3.7, 5.2])
    narrow, wide = (svmgsu.Objective(X, t, loss="epsilon_insensitive", epsilon=e) for e in (0.0, 10.0))
    assert narrow.value([0.0], 0.0) == pytest.approx(np.abs(t).mean())
    assert wide.value([0.0], 0.0) == 0.0
    assert narrow.classes is None
    for y, more, message in (
        (t, {"loss": "squard"}, "loss: expected one of 'hinge', .*'huber', got 'squard'"),
        (t, {"loss": "squared", "epsilon": 1.0}, "epsilon: the loss 'squared' has no parameter"),
        (t, {"loss": "hinge", "epsilon": 1.0}, "epsilon: the loss 'hinge' has no parameter"),
        (t, {"loss": "epsilon_insensitive", "epsilon": -1.0}, "epsilon: must be >= 0 and finite, got -1"),
        (t[:5], {"loss": "squared"}, r"y: 5 targets for 6 \w+"),
        (np.full(6, 2.0), {"loss": "squared"}, "y: all targets are 2"),
        ([0, 1, 2, 0, 1, 2], {}, r"y: 3 classes \(0, 1, 2\); an Objective has two"),
    ):
        with pytest.raises(ValueError, match=message):
            svmgsu.Objective(X, y, **more)
    with pytest.raises(ValueError, match="vw: 2 numbers for 1 features"):
        narrow.hessian_product([0.0], 0.0, [1.0, 2.0], 0.0)
