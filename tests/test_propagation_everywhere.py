"""One propagation: the same map gives the same kind and the same numbers, whoever carries it."""

import numpy as np
import pytest
from conftest import UNCERTAIN_KINDS, make_problem
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


def bend(X):
    return np.stack([X[:, 0] * X[:, 1], np.sin(X[:, 2]) + X[:, 3], np.exp(0.3 * X[:, 0] - X[:, 3])], axis=1)


def bend_jacobian(X):
    zero, one = np.zeros(len(X)), np.ones(len(X))
    e = np.exp(0.3 * X[:, 0] - X[:, 3])
    rows = [[X[:, 1], X[:, 0], zero, zero], [zero, zero, np.cos(X[:, 2]), one], [0.3 * e, zero, zero, -e]]
    return np.array(rows).transpose(2, 0, 1)


def data_of(kind):
    problem = make_problem(kind, count=12, n=N)
    return svmgsu.Gaussians(problem.means, problem.cov), problem


def kind_of(cov):
    """The kinds of the terms, and where these belong to no example."""
    return sorted((type(kind).__name__, kind.n_samples is None, kind.is_diagonal) for _, kind in cov.parts)


def agree(one, two, y, rtol=1e-12):
    assert kind_of(one.cov) == kind_of(two.cov)
    np.testing.assert_allclose(one.mean, two.mean, rtol=rtol, atol=1e-12)
    matrices = [out.cov.to_full(12, out.shape[1], y) for out in (one, two)]
    np.testing.assert_allclose(*matrices, rtol=rtol, atol=rtol * np.abs(matrices[1]).max())


@pytest.mark.parametrize("kind", UNCERTAIN_KINDS)
@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix(kind, name):
    """`propagate`, the transformer and the covariance itself; and `unscale` brings weights back by it."""
    data, problem = data_of(kind)
    A = MATRICES[name]
    transformer = svmgsu.Propagate(FunctionTransformer(lambda X: X @ A.T)).fit(data)
    out = propagate(A, data)
    agree(out, transformer.transform(data), problem.y)
    agree(out, svmgsu.Gaussians(out.mean, data.cov.map(A)), problem.y)
    np.testing.assert_allclose(
        out.cov.to_full(12, len(A), problem.y), A @ problem.full @ A.T, rtol=1e-9, atol=1e-10
    )
    weights = np.arange(1.0, len(A) + 1)
    model = type("Rule", (), {"coef_": weights[None], "intercept_": np.zeros(1)})()
    pulled = transformer.unscale(model).coef_
    along = [c.cov.map(w).to_full(12, 1, problem.y) for c, w in ((out, weights[None]), (data, pulled))]
    np.testing.assert_allclose(*along, rtol=1e-9)


@pytest.mark.parametrize("kind", UNCERTAIN_KINDS)
def test_a_scaling_is_the_scaler_s(kind):
    data, problem = data_of(kind)
    scaler = svmgsu.Propagate(StandardScaler(with_mean=False)).fit(data, problem.y)
    scaled = scaler.transform(data)
    agree(scaled.with_cov(data.cov.scale_features(1 / scaler.transformer_.scale_)), scaled, problem.y)
    by_matrix = propagate(np.diag(1 / scaler.transformer_.scale_), data)
    assert kind_of(by_matrix.cov) == kind_of(scaled.cov)
    np.testing.assert_allclose(
        by_matrix.cov.to_full(12, N, problem.y), scaled.cov.to_full(12, N, problem.y), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("kind", [k for k in UNCERTAIN_KINDS if k != "shared by class"])
@pytest.mark.parametrize("method", ["first-order", "derivatives known", "unscented"])
def test_a_function(kind, method):
    data, problem = data_of(kind)
    given, method = (bend_jacobian, "first-order") if "known" in method else (None, method)
    transformer = svmgsu.Propagate(FunctionTransformer(bend), method=method)
    out = propagate(bend, data, given, method=method)
    agree(out, transformer.fit_transform(data), problem.y, rtol=1e-5)


@pytest.mark.parametrize("kind", [k for k in UNCERTAIN_KINDS if k != "shared by class"])
@pytest.mark.parametrize("method", ["first-order", "unscented"])
def test_a_function_of_each_feature(kind, method):
    """As a transformer, as a callable, with derivatives or without."""
    data, problem = data_of(kind)

    def expit(x):
        return 1 / (1 + np.exp(-x))

    wanted = svmgsu.Propagate(FunctionTransformer(expit), method=method).fit_transform(data)
    others = [propagate(expit, data, method=method)]
    if method == "first-order":
        slopes = expit(problem.means) * expit(-problem.means)
        others.append(propagate(expit, data, slopes))
        others.append(propagate(expit, data, slopes[:, :, None] * np.eye(N)))
        others.append(wanted.with_cov(data.cov.scale_features(slopes)))
    for other in others:
        agree(other, wanted, problem.y, rtol=1e-7)


@pytest.mark.parametrize(
    "step", [svmgsu.Propagate(PCA(2)), svmgsu.Propagate(Normalizer())], ids=["pca", "unit length"]
)
@pytest.mark.parametrize("kind", [k for k in UNCERTAIN_KINDS if k not in ("shared by class", "diagonal CSR")])
def test_what_a_transformer_carries_propagate_carries_through_its_transform(step, kind):
    data, problem = data_of(kind)
    fitted = step.fit(data)
    out, wanted = propagate(fitted.transform, data), fitted.transform(data)
    matrices = [o.cov.to_full(12, o.shape[1], problem.y) for o in (out, wanted)]
    np.testing.assert_allclose(*matrices, rtol=1e-5, atol=1e-5 * np.abs(matrices[1]).max())


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


def test_differences_do_not_depend_on_the_units():
    """Covariances of any size: the rows of a matrix are no directions to step in, its roots are."""
    X = np.array([[2.0, 3.0]])
    for scale in (1e-12, 1.0, 1e12):

        def product(x, unit=scale):
            return x[:, :1] * x[:, 1:] / unit**2

        through = DifferenceMap(product, scale * X, 1)
        S = scale**2 * np.array([[[1e-4, 5e-5], [5e-5, 1e-4]]])
        for kind in (svmgsu.Full(S), svmgsu.LowRank(np.linalg.cholesky(S).transpose(0, 2, 1))):
            np.testing.assert_allclose(kind.map(through).to_full().item(), 1.9e-3, rtol=1e-6)


def test_a_certain_value_may_stand_at_the_edge_of_the_domain():
    data = svmgsu.Gaussians([[0.0, 1.0], [2.0, 4.0]], svmgsu.Diagonal([[0.0, 0.1], [0.2, 0.4]]))
    out = propagate(np.sqrt, data)
    np.testing.assert_allclose(out.cov.diagonals(2, 2), [[0.0, 0.025], [0.025, 0.025]], rtol=1e-5)


def test_points_find_what_a_derivative_does_not_see():
    """x² at 0: mean σ², variance 2σ⁴. |x| at 0: mean σ√(2/π), variance σ²(1 - 2/π)."""
    data = svmgsu.Gaussians(np.zeros((3, 2)), svmgsu.Diagonal([[1.0, 4.0]] * 3))
    out = propagate(np.square, data, method="unscented")
    np.testing.assert_allclose(out.mean, [[1.0, 4.0]] * 3)
    np.testing.assert_allclose(out.cov.variances, [[2.0, 32.0]] * 3)
    first = propagate(np.square, data)
    assert not first.mean.any() and not first.cov.variances.any()
    draws = propagate(np.abs, data, method="monte-carlo", draws=40_000)
    np.testing.assert_allclose(draws.mean, np.sqrt(2 / np.pi) * np.array([[1.0, 2.0]] * 3), rtol=0.02)
    np.testing.assert_allclose(draws.cov.variances, (1 - 2 / np.pi) * np.array([[1.0, 4.0]] * 3), rtol=0.03)


@pytest.mark.parametrize("kind", [k for k in UNCERTAIN_KINDS if k != "shared by class"])
@pytest.mark.parametrize("method", ["unscented", "monte-carlo"])
def test_points_of_a_linear_function_have_its_moments(kind, method):
    """The mean is exact by symmetry; the covariance exact by the unscented points, near it by draws."""
    data, problem = data_of(kind)
    A = MATRICES["fewer outputs"]
    out = propagate(lambda x: x @ A.T, data, method=method, draws=20_000)
    np.testing.assert_allclose(out.mean, problem.means @ A.T, rtol=1e-9, atol=1e-9)
    wanted = A @ problem.full @ A.T
    slack = 1e-10 if method == "unscented" else 0.06
    np.testing.assert_allclose(out.cov.to_full(), wanted, rtol=0, atol=slack * np.abs(wanted).max())


def test_the_same_seed_gives_the_same_moments():
    data, _ = data_of("full")
    one, two = (propagate(bend, data, method="monte-carlo", draws=20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.cov.packed, two.cov.packed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sampling"}, 'method: expected one of "first-order", "unscented", "monte-carlo"'),
        (
            {"method": "unscented", "jacobian": bend_jacobian},
            'jacobian: method="unscented" needs no derivatives',
        ),
        ({"method": "monte-carlo", "draws": 0}, "draws: must be"),
    ],
)
def test_errors_of_the_methods(options, message):
    with pytest.raises(ValueError, match=message):
        propagate(bend, data_of("diagonal")[0], **options)


def test_points_that_leave_the_domain_are_named():
    data = svmgsu.Gaussians([[5.0], [0.1]], std=1.0)
    with pytest.raises(
        ValueError, match="FunctionTransformer: sample 1 gives nan at output 0; it must be finite there and"
    ):
        svmgsu.Propagate(FunctionTransformer(np.log), method="unscented").fit_transform(data)
