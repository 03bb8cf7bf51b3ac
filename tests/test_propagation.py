"""Gaussians through matrices and functions: the same kind and numbers, whoever carries them."""

import numpy as np
import pytest
from conftest import KINDS, UNCERTAIN_KINDS, make_problem
from moments import assert_moments
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import svmgsu
from svmgsu.propagate.function import DifferenceMap, is_elementwise
from svmgsu.uncertainty import propagate

N = 4
GENERATOR = np.random.default_rng(5)
MATRICES = {
    "fewer outputs": GENERATOR.normal(size=(2, N)),
    "one output": GENERATOR.normal(size=(1, N)),
    "as many outputs": GENERATOR.normal(size=(N, N)),
    "many more outputs": GENERATOR.normal(size=(3 * N, N)),
    "scaling": np.diag([2.0, 0.5, 3.0, 1.0]),
    "choice of columns": np.eye(N)[[2, 0]],
}
A = MATRICES["fewer outputs"]
BY_SAMPLE = [kind for kind in UNCERTAIN_KINDS if kind != "shared by class"]


def bend(X):
    """Smooth, 4 features to 3."""
    return np.stack([X[:, 0] * X[:, 1], np.sin(X[:, 2]) + X[:, 3], np.exp(0.3 * X[:, 0] - X[:, 3])], axis=1)


def bend_jacobian(X):
    zero, one = np.zeros(len(X)), np.ones(len(X))
    e = np.exp(0.3 * X[:, 0] - X[:, 3])
    rows = [[X[:, 1], X[:, 0], zero, zero], [zero, zero, np.cos(X[:, 2]), one], [0.3 * e, zero, zero, -e]]
    return np.array(rows).transpose(2, 0, 1)


def data_of(kind, dtype=np.float64):
    problem = make_problem(kind, count=12, n=N, dtype=dtype)
    return svmgsu.Gaussians(problem.X, problem.cov), problem


def kind_of(cov):
    """The kinds of the terms, and where these belong to no sample."""
    return sorted((type(kind).__name__, kind.n_samples is None, kind.is_diagonal) for _, kind in cov.parts)


def agree(one, two, y, rtol=1e-12):
    assert kind_of(one.cov) == kind_of(two.cov)
    np.testing.assert_allclose(one.mean, two.mean, rtol=rtol, atol=1e-12)
    matrices = [out.cov.to_full(12, out.shape[1], y) for out in (one, two)]
    np.testing.assert_allclose(*matrices, rtol=rtol, atol=rtol * np.abs(matrices[1]).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_is_exact(kind, name):
    """By `propagate`, the transformer and the covariance itself; `unscale` brings weights back by it."""
    data, problem = data_of(kind)
    matrix = MATRICES[name]
    out = propagate(matrix, data)
    np.testing.assert_allclose(out.mean, problem.means @ matrix.T, atol=1e-12)
    if kind == "none":
        assert out.cov is None
        return
    wanted = matrix @ problem.full @ matrix.T
    np.testing.assert_allclose(out.cov.to_full(12, len(matrix), problem.y), wanted, rtol=1e-9, atol=1e-10)
    agree(out, svmgsu.Gaussians(out.mean, data.cov.map(matrix)), problem.y)
    dense = svmgsu.Gaussians(problem.means, problem.cov)
    transformer = svmgsu.Propagate(FunctionTransformer(lambda X: X @ matrix.T)).fit(dense)
    agree(out, transformer.transform(dense), problem.y)
    weights = np.arange(1.0, len(matrix) + 1)
    model = type("Rule", (), {"coef_": weights[None], "intercept_": np.zeros(1)})()
    pulled = transformer.unscale(model).coef_
    along = [c.cov.map(w).to_full(12, 1, problem.y) for c, w in ((out, weights[None]), (data, pulled))]
    np.testing.assert_allclose(*along, rtol=1e-9)


@pytest.mark.parametrize("kind", UNCERTAIN_KINDS)
def test_a_scaling_is_the_scaler_s(kind):
    problem = make_problem(kind, count=12, n=N)
    data = svmgsu.Gaussians(problem.means, problem.cov)
    scaler = svmgsu.Propagate(StandardScaler(with_mean=False)).fit(data, problem.y)
    scaled = scaler.transform(data)
    agree(scaled.with_cov(data.cov.scale_features(1 / scaler.transformer_.scale_)), scaled, problem.y)
    by_matrix = propagate(np.diag(1 / scaler.transformer_.scale_), data)
    assert kind_of(by_matrix.cov) == kind_of(scaled.cov)
    np.testing.assert_allclose(
        by_matrix.cov.to_full(12, N, problem.y), scaled.cov.to_full(12, N, problem.y), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("kind", BY_SAMPLE)
@pytest.mark.parametrize("how", ["numerical", "function", "array", "unscented"])
def test_a_function_is_followed(kind, how):
    data, problem = data_of(kind)
    J = bend_jacobian(problem.means)
    jacobian = {"function": bend_jacobian, "array": J}.get(how)
    method = "unscented" if how == "unscented" else "first-order"
    out = propagate(bend, data, jacobian, method=method)
    if how != "unscented":
        np.testing.assert_allclose(out.mean, bend(problem.means), atol=1e-12)
        wanted = J @ problem.full @ J.transpose(0, 2, 1)
        np.testing.assert_allclose(out.cov.to_full(), wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
    dense = svmgsu.Gaussians(problem.means, problem.cov)
    transformer = svmgsu.Propagate(FunctionTransformer(bend), method=method)
    agree(out, transformer.fit_transform(dense), problem.y, rtol=1e-5)


@pytest.mark.parametrize("kind", BY_SAMPLE)
@pytest.mark.parametrize("method", ["first-order", "unscented"])
def test_a_function_of_each_feature_scales_it(kind, method):
    """As a transformer, as a callable, with derivatives or without."""
    problem = make_problem(kind, count=12, n=N)
    data = svmgsu.Gaussians(problem.means, problem.cov)
    wanted = svmgsu.Propagate(FunctionTransformer(np.sin), method=method).fit_transform(data)
    others = [propagate(np.sin, data, method=method)]
    if method == "first-order":
        slopes = np.cos(problem.means)
        others += [
            propagate(np.sin, data, given) for given in (np.cos, slopes, slopes[:, :, None] * np.eye(N))
        ]
        others.append(wanted.with_cov(data.cov.scale_features(slopes)))
        full = slopes[:, :, None] * problem.full * slopes[:, None, :]
        np.testing.assert_allclose(wanted.cov.to_full(12, N), full, rtol=1e-6, atol=1e-8)
    for other in others:
        agree(other, wanted, problem.y, rtol=1e-7)


@pytest.mark.parametrize("inner", [PCA(2), Normalizer()])
@pytest.mark.parametrize("kind", [kind for kind in BY_SAMPLE if kind != "diagonal CSR"])
def test_what_a_transformer_carries_propagate_carries_through_its_transform(inner, kind):
    data, problem = data_of(kind)
    fitted = svmgsu.Propagate(inner).fit(data)
    out, wanted = propagate(fitted.transform, data), fitted.transform(data)
    matrices = [o.cov.to_full(12, o.shape[1], problem.y) for o in (out, wanted)]
    np.testing.assert_allclose(*matrices, rtol=1e-5, atol=1e-5 * np.abs(matrices[1]).max())


def test_moments_are_those_of_draws_through_the_function():
    rng = np.random.default_rng(0)
    x, root = np.array([[1.0, 2.0, 0.5, -0.5]]), 0.02 * rng.normal(size=(4, 4))
    out = propagate(bend, svmgsu.Gaussians(x, svmgsu.LowRank(root[None])))
    draws = bend(x + rng.normal(size=(100_000, 4)) @ root)
    assert_moments(draws, out.mean[0], out.cov.to_full()[0], slack=0.03)  # second order at σ ≈ 0.03


def test_the_image_is_of_the_cheapest_kind():
    ones = np.ones((5, N))
    low = svmgsu.Gaussians(ones, svmgsu.LowRank(np.random.default_rng(0).normal(size=(5, 2, N))))
    diagonal = svmgsu.Gaussians(ones, std=0.1 * ones)
    for out, kind in (
        (propagate(bend, low), svmgsu.LowRank),
        (propagate(A[:1], low), svmgsu.Full),
        (propagate(A, diagonal), svmgsu.Full),
        (propagate(np.sin, diagonal), svmgsu.Diagonal),
        (propagate(A, svmgsu.Gaussians(ones, svmgsu.Shared(np.eye(N)))), svmgsu.Shared),
        (propagate(A, svmgsu.Gaussians(ones, svmgsu.Isotropic(0.1))), svmgsu.Shared),
    ):
        assert isinstance(out.cov, kind)
    kinds, groups = {"a": np.eye(N), "b": 3 * np.eye(N)}, ["a", "b", "b", "a", "b"]
    out = propagate(A, svmgsu.Gaussians(ones, svmgsu.Shared(kinds, groups=groups)))
    assert isinstance(out.cov, svmgsu.Shared)
    np.testing.assert_allclose(out.cov.to_full(), [A @ kinds[g] @ A.T for g in groups])


def test_whether_a_function_is_elementwise_is_found_in_few_evaluations():
    X = np.random.default_rng(0).normal(size=(5, 100))
    calls = []

    def counted(x):
        calls.append(len(x))
        return np.tanh(x)

    assert is_elementwise(counted, X, np.tanh(X))
    assert len(calls) == 8  # all moved, and seven bits

    for one, other in [(0, 99), (64, 65), (3, 67)]:

        def mixed(x, one=one, other=other):
            out = np.tanh(x)
            out[:, one] += 1e-3 * x[:, other]
            return out

        assert not is_elementwise(mixed, X, mixed(X))
    assert not is_elementwise(lambda x: x[:, ::-1], X, X[:, ::-1])
    assert not is_elementwise(lambda x: x[:, :2], X, X[:, :2])
    assert not is_elementwise(lambda x: np.log(x - x.min(axis=1, keepdims=True)), X, X)  # nowhere defined


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_differences_do_not_depend_on_the_units(scale):
    """Covariances of any size: the rows of a matrix are no directions to step in, its roots are."""
    through = DifferenceMap(lambda x: x[:, :1] * x[:, 1:] / scale**2, scale * np.array([[2.0, 3.0]]), 1)
    S = scale**2 * np.array([[[1e-4, 5e-5], [5e-5, 1e-4]]])
    for kind in (svmgsu.Full(S), svmgsu.LowRank(np.linalg.cholesky(S).transpose(0, 2, 1))):
        np.testing.assert_allclose(kind.map(through).to_full().item(), 1.9e-3, rtol=1e-6)


def test_steps_go_by_each_value_s_own_error():
    """Tiny values beside large ones, errors far below the value, exact values at the edge of the domain."""
    X = np.array([[1e-6, 1e6], [2e-6, 3e6]])
    data = svmgsu.Gaussians(X, svmgsu.Diagonal((0.01 * X) ** 2))
    np.testing.assert_allclose(propagate(np.log, data).cov.variances, 1e-4, rtol=1e-6)
    far = svmgsu.Gaussians([[1e6, 2.0]], svmgsu.Diagonal([[1e-12, 1.0]]))
    np.testing.assert_allclose(propagate(np.square, far).cov.diagonals(1, 2), [[4.0, 16.0]], rtol=1e-4)
    edge = svmgsu.Gaussians([[0.0, 1.0], [2.0, 4.0]], svmgsu.Diagonal([[0.0, 0.1], [0.2, 0.4]]))
    out = propagate(np.sqrt, edge).cov.diagonals(2, 2)
    np.testing.assert_allclose(out, [[0.0, 0.025], [0.025, 0.025]], rtol=1e-5)


def test_points_find_what_a_derivative_does_not_see():
    """x² at 0: mean σ², variance 2σ⁴."""
    data = svmgsu.Gaussians(np.zeros((3, 2)), svmgsu.Diagonal([[1.0, 4.0]] * 3))
    out = propagate(np.square, data, method="unscented")
    np.testing.assert_allclose(out.mean, [[1.0, 4.0]] * 3)
    np.testing.assert_allclose(out.cov.variances, [[2.0, 32.0]] * 3)
    first = propagate(np.square, data)
    assert not first.mean.any() and not first.cov.variances.any()
    with pytest.raises(ValueError, match="sample 1 gives nan at output 0; it must be finite there and near"):
        propagate(np.log, svmgsu.Gaussians([[5.0], [0.1]], std=1.0), method="unscented")


@pytest.mark.parametrize("kind", BY_SAMPLE)
def test_points_of_a_linear_function_have_its_moments(kind):
    data, problem = data_of(kind)
    out = propagate(lambda x: x @ A.T, data, method="unscented")
    np.testing.assert_allclose(out.mean, problem.means @ A.T, rtol=1e-9, atol=1e-9)
    wanted = A @ problem.full @ A.T
    np.testing.assert_allclose(out.cov.to_full(), wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def test_float32_stays_and_blocks_do_not_show(monkeypatch):
    for kind in ("low rank + diagonal", "full", "diagonal"):
        data, _ = data_of(kind, np.float32)
        for out in (propagate(bend, data), propagate(A, data), propagate(np.sin, data)):
            names = ("variances", "factors", "packed")
            arrays = [getattr(k, name) for _, k in out.cov.parts for name in names if hasattr(k, name)]
            assert arrays
            assert {a.dtype for a in [out.mean, *arrays]} == {np.dtype(np.float32)}
    data, _ = data_of("ragged low rank")
    before = propagate(bend, data).cov.to_full()
    monkeypatch.setattr("svmgsu.support.arrays.BLOCK", 1)
    np.testing.assert_allclose(propagate(bend, data).cov.to_full(), before, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("f", "options", "message"),
    [
        (np.ones((2, 3)), {}, r"f: a matrix of shape \(2, 3\) does not fit 4 features"),
        (np.full((1, 4), np.nan), {}, "f: sample 0, feature 0 is nan"),
        (A, {"jacobian": bend_jacobian}, "jacobian: f is a matrix"),
        (lambda X: X[:, 0], {}, r"f: expected an array of shape \(12, m\)"),
        (lambda X: np.full_like(X, np.nan), {}, "f: sample 0 gives nan at output 0"),
        (bend, {"jacobian": np.ones((12, 4, 3))}, r"jacobian: expected shape \(12, 3, 4\), got \(12, 4, 3\)"),
        (bend, {"method": "sampling"}, 'method: expected one of "first-order", "unscented"'),
        (bend, {"method": "unscented", "jacobian": bend_jacobian}, 'method="unscented" needs no derivatives'),
    ],
)
def test_errors_say_what_is_wrong(f, options, message):
    with pytest.raises(ValueError, match=message):
        propagate(f, data_of("diagonal")[0], **options)


def test_only_gaussians_have_uncertainty_to_carry():
    with pytest.raises(TypeError, match="data: expected Gaussians, got ndarray"):
        propagate(A, np.ones((2, 4)))
