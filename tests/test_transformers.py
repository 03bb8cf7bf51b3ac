"""Transformers that carry the covariance: scalers, linear maps, principal axes, functions, directions."""

import pickle
import re

import mpmath
import numpy as np
import pytest
import scipy.sparse
import sklearn
from conftest import every_kind, make_problem, spd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler, normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu.maps.elementwise import FUNCTIONS

COUNT, N = 30, 5

EVERY = {
    "scaler": svmgsu.GaussianScaler(),
    "robust": svmgsu.GaussianScaler("robust"),
    "minmax": svmgsu.GaussianScaler("minmax"),
    "linear map": svmgsu.GaussianLinearMap(np.arange(15.0).reshape(3, 5) ** 0.5, [1.0, 2.0, 3.0]),
    "pca": svmgsu.GaussianPCA(3),
    "selector": svmgsu.GaussianColumnSelector([3, 0]),
    "identity": svmgsu.GaussianFunctionTransformer(),
    "exp": svmgsu.GaussianFunctionTransformer("exp"),
    "normalizer": svmgsu.GaussianNormalizer(),
}
every_transformer = pytest.mark.parametrize("name", EVERY)
SPARSE = {
    "scaler": svmgsu.GaussianScaler(with_mean=False),
    "robust": svmgsu.GaussianScaler("robust", with_mean=False),
    "linear map": EVERY["linear map"],
    "pca": EVERY["pca"],
    "selector": EVERY["selector"],
    "normalizer": EVERY["normalizer"],
}


def dense(a):
    return a.toarray() if scipy.sparse.issparse(a) else np.asarray(a)


def full_of(data, y=None):
    return np.zeros((*data.shape, data.shape[1])) if data.cov is None else data.cov.to_full(*data.shape, y=y)


def differences(function, X, step=1e-5):
    """The Jacobian (l, m, n) of a function of rows, by differences of fourth order."""
    columns = []
    for j in range(X.shape[1]):
        e = step * np.eye(X.shape[1])[j]
        near = function(X + e) - function(X - e)
        far = function(X + 2 * e) - function(X - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=2)


CHECKED = [
    svmgsu.GaussianScaler(),
    svmgsu.GaussianScaler("robust", with_mean=False),
    svmgsu.GaussianScaler("standard", with_mean=False, use_cov=True),
    svmgsu.GaussianLinearMap(),
    svmgsu.GaussianPCA(),
    svmgsu.GaussianNormalizer(),
    svmgsu.GaussianFunctionTransformer(),
    svmgsu.GaussianFunctionTransformer("sqrt"),
    svmgsu.GaussianFunctionTransformer(np.arcsinh, inverse_func=np.sinh),
    svmgsu.GaussianColumnSelector(),
]


@parametrize_with_checks(CHECKED)
def test_they_keep_scikit_learn_s_contract(estimator, check):
    check(estimator)


@every_kind
@every_transformer
def test_the_covariance_follows_the_jacobian(name, kind):
    """J Σ Jᵀ with J by differences of the same transformer on plain arrays."""
    p = make_problem(kind, COUNT, N)
    p = p._replace(X=p.means + 1, means=p.means + 1)  # dense, and away from zero, which has no direction
    cov = p.cov
    if kind == "shared by class" and name in ("exp", "normalizer"):
        with pytest.raises(ValueError, match="groups=y"):
            clone(EVERY[name]).fit(p.X).transform(svmgsu.Gaussians(p.X, cov))
        matrices = {-1.0: p.full[np.argmax(p.y < 0)], 1.0: p.full[np.argmax(p.y > 0)]}
        cov = svmgsu.Shared(matrices, groups=p.y)
    transformer = clone(EVERY[name])
    data = svmgsu.Gaussians(p.means, cov)
    out = transformer.fit(data).transform(data)
    np.testing.assert_array_equal(out.mean, clone(EVERY[name]).fit_transform(p.means))
    J = differences(transformer.transform, p.means)
    wanted = J @ p.full @ J.transpose(0, 2, 1)
    np.testing.assert_allclose(
        full_of(out, p.y), wanted, rtol=1e-8, atol=1e-9 * np.abs(wanted).max(initial=1)
    )
    assert (out.cov is None) == (kind == "none")


@pytest.mark.parametrize("name", [name for name in EVERY if name not in ("exp", "normalizer")])
def test_draws_agree_where_the_map_is_linear(name):
    p = make_problem("full", 6, N)
    data = svmgsu.Gaussians(p.X, p.cov)
    transformer = clone(EVERY[name]).fit(p.X)
    out = transformer.transform(data)
    draws = transformer.transform(data.sample(20_000, random_state=0).reshape(-1, N))
    draws = draws.reshape(6, -1, out.shape[1])
    for i in range(6):
        wanted = full_of(out)[i]
        size = np.sqrt((np.outer(wanted.diagonal(), wanted.diagonal()) + wanted**2) / 20_000)
        assert (np.abs(np.atleast_2d(np.cov(draws[i].T)) - wanted) <= 6 * size).all()


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_means_give_the_same(name):
    p = make_problem("diagonal CSR", COUNT, N)
    rows = p.means.any(axis=1)  # zero has no direction
    sparse, plain = svmgsu.Gaussians(p.X, p.cov)[rows], svmgsu.Gaussians(p.means, p.cov)[rows]
    got = clone(SPARSE[name]).fit(sparse).transform(sparse)
    wanted = clone(SPARSE[name]).fit(plain).transform(plain)
    np.testing.assert_allclose(np.abs(dense(got.mean)), np.abs(wanted.mean), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(np.abs(full_of(got)), np.abs(full_of(wanted)), rtol=1e-9, atol=1e-10)
    assert scipy.sparse.issparse(got.mean) == (name in ("scaler", "robust", "selector", "normalizer"))
    array = clone(SPARSE[name]).fit_transform(p.X[rows])
    np.testing.assert_array_equal(dense(array), dense(got.mean))


INVERTIBLE = {
    "scaler": EVERY["scaler"],
    "robust": EVERY["robust"],
    "minmax": EVERY["minmax"],
    "only shifted": svmgsu.GaussianScaler(with_std=False),
    "linear map": svmgsu.GaussianLinearMap(spd(np.random.default_rng(0), 1, N)[0] + np.eye(N), np.arange(N)),
    "pca": svmgsu.GaussianPCA(),
    "exp": EVERY["exp"],
    "exp, exact": svmgsu.GaussianFunctionTransformer("exp", method="exact"),
    "exp10, exact": svmgsu.GaussianFunctionTransformer("exp10", method="exact"),
    "expit": svmgsu.GaussianFunctionTransformer("expit"),
    "callable": svmgsu.GaussianFunctionTransformer(np.arcsinh, inverse_func=np.sinh),
}


@pytest.mark.parametrize("kind", ["isotropic", "diagonal", "full", "low rank", "none"])
@pytest.mark.parametrize("name", INVERTIBLE)
def test_an_inverse_brings_back_means_and_covariances(name, kind):
    p = make_problem(kind, COUNT, N)
    data = svmgsu.Gaussians(p.X, None if p.cov is None else 0.3 * p.cov, feature_names=list("abcde"))
    transformer = clone(INVERTIBLE[name]).fit(data)
    back = transformer.inverse_transform(transformer.transform(data))
    np.testing.assert_allclose(back.mean, p.X, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(full_of(back), 0.3 * p.full, rtol=1e-6, atol=1e-8)
    assert back.feature_names_in_ == list("abcde")
    transformer.fit(p.X)
    again = transformer.inverse_transform(transformer.transform(p.X))
    np.testing.assert_allclose(again, p.X, rtol=1e-9, atol=1e-9)


# Scalers


@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_scalers_do_what_scikit_learn_s_do(shift, scale):
    X = make_problem("none", COUNT, N).X + 100
    for kind, twin in {
        "standard": StandardScaler(with_mean=shift, with_std=scale),
        "robust": RobustScaler(with_centering=shift, with_scaling=scale),
    }.items():
        ours = svmgsu.GaussianScaler(kind, with_mean=shift, with_std=scale)
        np.testing.assert_array_equal(ours.fit_transform(X), twin.fit_transform(X))
    if shift and scale:
        np.testing.assert_allclose(
            svmgsu.GaussianScaler("minmax").fit_transform(X), MinMaxScaler().fit_transform(X), atol=1e-12
        )


def test_the_variance_of_draws_can_set_the_scale():
    p = make_problem("full", 200, N)
    data = svmgsu.Gaussians(p.X, p.cov)
    scaler = svmgsu.GaussianScaler(use_cov=True).fit(data)
    draws = data.sample(2000, random_state=0).reshape(-1, N)
    np.testing.assert_allclose(scaler.scale_, draws.std(axis=0), rtol=0.01)
    by_class = make_problem("shared by class", 60, N)
    data = svmgsu.Gaussians(by_class.X, by_class.cov)
    wanted = np.sqrt(by_class.X.var(axis=0) + np.diagonal(by_class.full, axis1=1, axis2=2).mean(axis=0))
    np.testing.assert_allclose(svmgsu.GaussianScaler(use_cov=True).fit(data, by_class.y).scale_, wanted)


def test_constant_features_are_left_as_they_are():
    data = svmgsu.Gaussians(np.ones((4, 2)), np.zeros((4, 2)))
    for scaler in (
        svmgsu.GaussianScaler(),
        svmgsu.GaussianScaler("minmax"),
        svmgsu.GaussianScaler(use_cov=True),
    ):
        out = scaler.fit_transform(data)
        np.testing.assert_array_equal(out.mean, np.zeros((4, 2)))
        assert np.isfinite(full_of(out)).all()


def test_scalers_say_what_they_cannot_do():
    X = np.ones((3, 2))
    for text, scaler in {
        "kind: expected": svmgsu.GaussianScaler("max"),
        "use_cov: only kind=": svmgsu.GaussianScaler("robust", use_cov=True),
    }.items():
        with pytest.raises(ValueError, match=text):
            scaler.fit(X)
    sparse = scipy.sparse.csr_array(X)
    with pytest.raises(ValueError, match="with_mean: sparse means cannot be shifted"):
        svmgsu.GaussianScaler().fit(sparse)
    with pytest.raises(ValueError, match="sparse means cannot be shifted"):
        svmgsu.GaussianScaler().fit(X).transform(sparse)
    with pytest.raises(TypeError, match='kind: "minmax" takes no sparse means'):
        svmgsu.GaussianScaler("minmax", with_mean=False).fit(svmgsu.Gaussians(sparse))


# Linear maps, principal axes, columns


def test_principal_axes_are_scikit_learn_s():
    X = make_problem("none", COUNT, N).X
    np.testing.assert_allclose(
        svmgsu.GaussianPCA(3).fit_transform(X), PCA(3, svd_solver="full").fit_transform(X), atol=1e-12
    )
    pca = svmgsu.GaussianPCA(0.9).fit(X)
    assert pca.explained_variance_ratio_.sum() >= 0.9
    assert pca.n_components_ == len(pca.components_) == len(pca.get_feature_names_out())


def test_errors_of_linear_maps_name_the_argument():
    X = np.ones((3, 2))
    for text, arguments in {
        "matrix: 3 columns, but X has 2 features": (np.ones((2, 3)),),
        "matrix: example 0, feature 0 is nan": ([[np.nan, 1.0]],),
        "matrix: expected 2 dimensions": ([1.0, 1.0],),
        "offset: 1 numbers, but the matrix has 2 rows": (np.eye(2), [1.0]),
    }.items():
        with pytest.raises(ValueError, match=text):
            svmgsu.GaussianLinearMap(*arguments).fit(X)
    for matrix in (np.ones((2, 2)), np.ones((1, 2))):
        with pytest.raises(ValueError, match="it has no inverse"):
            svmgsu.GaussianLinearMap(matrix).fit(X).inverse_transform(np.ones((1, len(matrix))))
    with pytest.raises(ValueError, match="X has 3 features, but GaussianPCA makes 2"):
        svmgsu.GaussianPCA(2).fit(np.random.default_rng(0).normal(size=(5, 4))).inverse_transform(
            np.ones((1, 3))
        )


def test_columns_are_chosen_by_name_index_or_mask():
    p = make_problem("full", 6, 3)
    data = svmgsu.Gaussians(p.X, p.cov, feature_names=["u", "g", "r"])
    for columns in (["r", "u"], [2, 0], [-1, 0]):
        out = svmgsu.GaussianColumnSelector(columns).fit_transform(data)
        assert out.feature_names_in_ == ["r", "u"]
        np.testing.assert_array_equal(out.mean, p.X[:, [2, 0]])
        np.testing.assert_array_equal(full_of(out), p.full[:, [2, 0]][:, :, [2, 0]])
    mask = svmgsu.GaussianColumnSelector([True, False, True]).fit_transform(p.X)
    np.testing.assert_array_equal(mask, p.X[:, [0, 2]])
    assert svmgsu.GaussianColumnSelector([1]).fit(p.X).get_feature_names_out().tolist() == ["x1"]
    for text, X, columns in [
        ("columns: X has no feature 'z'; it has", data, ["z"]),
        ("columns: X has no names of features", p.X, ["u"]),
        ("columns: a feature is chosen twice", data, ["u", "u"]),
        ("not among 3 features", data, [3]),
    ]:
        with pytest.raises(ValueError, match=text):
            svmgsu.GaussianColumnSelector(columns).fit(X)
    with pytest.raises(TypeError, match=re.escape("columns: expected a list, got 'u'; pass ['u']")):
        svmgsu.GaussianColumnSelector("u").fit(data)


# Functions


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "identity"])
def test_derivatives_are_those_of_the_functions(name):
    x = np.array([0.03, 0.2, 0.5, 0.9])
    f = FUNCTIONS[name]
    exact = {"logit": lambda t: mpmath.log(t / (1 - t)), "exp10": lambda t: mpmath.mpf(10) ** t}
    exact |= {"expit": lambda t: 1 / (1 + mpmath.exp(-t)), "square": lambda t: t * t}
    mp = exact.get(name) or getattr(mpmath, name)
    np.testing.assert_allclose(f.value(x), [float(mp(mpmath.mpf(t))) for t in x], rtol=1e-14)
    np.testing.assert_allclose(f.derivative(x), [float(mpmath.diff(mp, t)) for t in x], rtol=1e-12)


@pytest.mark.parametrize("name", ["exp", "exp10", "square"])
def test_exact_moments_are_integrals_over_the_gaussian(name):
    """One value: Gauss and Hermite's rule. Two correlated ones: the same rule in two dimensions."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    m, S = np.array([0.3, -0.4]), np.array([[0.2, -0.1], [-0.1, 0.3]])
    root = np.linalg.cholesky(S)
    x = m + np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1) @ root.T
    w = np.outer(weights, weights)
    fx = FUNCTIONS[name].value(x)
    mean = np.einsum("ij,ijk->k", w, fx)
    cov = np.einsum("ij,ijk,ijl->kl", w, fx - mean, fx - mean)
    transformer = svmgsu.GaussianFunctionTransformer(name, method="exact")
    out = transformer.fit_transform(svmgsu.Gaussians(m[None], S[None]))
    np.testing.assert_allclose(out.mean[0], mean, rtol=1e-10)
    np.testing.assert_allclose(full_of(out)[0], cov, rtol=1e-9)
    single = transformer.fit_transform(svmgsu.Gaussians(m[None], S.diagonal()[None]))
    assert type(single.cov).__name__ == "Diagonal"
    np.testing.assert_allclose(single.cov.variances[0], cov.diagonal(), rtol=1e-9)


def test_the_logarithm_of_a_log_normal_value_is_exact():
    """Draws of the Gaussian that "log" finds, put through exp, have the mean and covariance given."""
    m, S = np.array([[3.0, 5.0]]), np.array([[[1.0, 0.8], [0.8, 4.0]]])
    out = svmgsu.GaussianFunctionTransformer("log", method="exact").fit_transform(svmgsu.Gaussians(m, S))
    draws = np.exp(out.sample(400_000, random_state=0)[0])
    np.testing.assert_allclose(draws.mean(axis=0), m[0], rtol=0.003)
    np.testing.assert_allclose(np.cov(draws.T), S[0], rtol=0.02)
    variance = np.log1p(1 / 9)
    assert full_of(out)[0, 0, 0] == pytest.approx(variance, rel=1e-14)
    assert out.mean[0, 0] == pytest.approx(np.log(3) - variance / 2, rel=1e-14)


@pytest.mark.parametrize("name", ["log", "log10", "exp", "exp10", "square"])
def test_exact_moments_are_first_order_ones_where_errors_are_small(name):
    p = make_problem("full", COUNT, N)
    data = svmgsu.Gaussians(np.abs(p.X) + 0.5, 1e-8 * p.full)
    exact, first = (
        svmgsu.GaussianFunctionTransformer(name, method=m).fit_transform(data)
        for m in ("exact", "first-order")
    )
    np.testing.assert_allclose(exact.mean, first.mean, atol=1e-5)
    np.testing.assert_allclose(full_of(exact), full_of(first), rtol=1e-4, atol=1e-11)


def test_a_function_of_the_user_s_comes_with_its_jacobian_or_without():
    p = make_problem("full", COUNT, 3)
    data = svmgsu.Gaussians(p.X, p.cov)

    def function(X):
        return np.column_stack([X[:, 0] * X[:, 1], np.sin(X[:, 2])])

    def jacobian(X):
        J = np.zeros((len(X), 2, 3))
        J[:, 0, 0], J[:, 0, 1], J[:, 1, 2] = X[:, 1], X[:, 0], np.cos(X[:, 2])
        return J

    J = jacobian(p.X)
    for given in (jacobian, None):
        out = svmgsu.GaussianFunctionTransformer(function, jacobian=given).fit(data).transform(data)
        np.testing.assert_allclose(full_of(out), J @ p.full @ J.transpose(0, 2, 1), rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(out.mean, function(p.X))
    names = svmgsu.GaussianFunctionTransformer(function).fit(p.X).get_feature_names_out()
    assert names.tolist() == ["gaussianfunctiontransformer0", "gaussianfunctiontransformer1"]
    assert (
        pickle.loads(pickle.dumps(svmgsu.GaussianFunctionTransformer(np.arcsinh).fit(p.X))).func is np.arcsinh
    )


@pytest.mark.parametrize("jacobian", [None, np.cosh])
def test_a_function_of_each_feature_alone_keeps_variances_diagonal(jacobian):
    p = make_problem("diagonal", COUNT, 3)
    out = svmgsu.GaussianFunctionTransformer(np.sinh, jacobian=jacobian).fit_transform(
        svmgsu.Gaussians(p.X, p.cov)
    )
    assert type(out.cov).__name__ == "Diagonal"
    np.testing.assert_allclose(out.cov.variances, np.cosh(p.X) ** 2 * p.cov.variances, rtol=1e-8)


def test_functions_say_what_they_cannot_do():
    data = svmgsu.Gaussians([[1.0, 0.0], [1.0, -2.0]], std=0.1)
    transformer = svmgsu.GaussianFunctionTransformer
    for text, made in {
        "X: example 0, feature 1 is 0; 'log' needs values > 0": transformer("log"),
        "X: example 0, feature 1 is 0; 'sqrt' needs values > 0": transformer("sqrt"),
        "X: example 0, feature 0 is 1; 'logit' needs values > 0 and < 1": transformer("logit"),
        "func: expected a callable or one of identity, log": transformer("sin"),
        "method: expected": transformer("log", method="sampling"),
        "the exact moments of 'sqrt' have no closed form": transformer("sqrt", method="exact"),
        "exact moments of a callable are not known": transformer(np.sin, method="exact"),
        "jacobian: that of 'exp' is known": transformer("exp", jacobian=np.exp),
        "jacobian: expected shape": transformer(np.sin, jacobian=lambda X: np.ones((1, 1))),
        "func: returned 1 rows for 2 examples": transformer(lambda X: X[:1]),
        "func: example 0 gives nan at output 0": transformer(lambda X: X * np.nan),
    }.items():
        with pytest.raises(ValueError, match=text):
            made.fit(data).transform(data)
    with pytest.raises(ValueError, match="inverse_func: it is needed"):
        transformer(np.sin).fit(data).inverse_transform(data)
    with pytest.raises(ValueError, match="'square' has no inverse"):
        transformer("square").fit(data).inverse_transform(data)
    with pytest.raises(TypeError, match="takes no sparse means"):
        transformer("exp").fit(svmgsu.Gaussians(scipy.sparse.csr_array(np.eye(2))))
    tied = svmgsu.Gaussians([[1.0, 1.0]], [[[4.0, -3.0], [-3.0, 4.0]]])
    with pytest.raises(
        ValueError, match="no log-normal distribution has the mean and the covariance of example 0"
    ):
        transformer("log", method="exact").fit_transform(tied)


def test_zeros_have_a_square_root_but_uncertain_ones_do_not():
    np.testing.assert_array_equal(
        svmgsu.GaussianFunctionTransformer("sqrt").fit_transform([[0.0, 4.0]]), [[0, 2]]
    )


# Directions


def test_directions_are_scikit_learn_s_and_zero_has_none():
    p = make_problem("diagonal", COUNT, N)
    np.testing.assert_array_equal(svmgsu.GaussianNormalizer().fit_transform(p.X), normalize(p.X))
    X = np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 1.0]])
    np.testing.assert_array_equal(svmgsu.GaussianNormalizer().fit_transform(X)[1], [0, 0])
    with pytest.raises(ValueError, match="example 1 has mean 0; an uncertain example at 0 has no direction"):
        svmgsu.GaussianNormalizer().fit_transform(svmgsu.Gaussians(X, std=0.1))


# What all share


@every_transformer
def test_float32_stays_float32(name):
    p = make_problem("diagonal", COUNT, N, dtype=np.float32)
    out = clone(EVERY[name]).fit_transform(svmgsu.Gaussians(p.X, p.cov))
    assert out.mean.dtype == np.float32


@every_transformer
def test_arrays_may_be_read_only_or_in_another_order(name):
    p = make_problem("diagonal", COUNT, N)
    wanted = clone(EVERY[name]).fit_transform(svmgsu.Gaussians(p.X, p.cov))
    for convert in (np.asfortranarray, np.copy, lambda a: np.repeat(a, 2, axis=1)[:, ::2]):
        X, V = convert(p.X), convert(p.cov.variances)
        X.flags.writeable = V.flags.writeable = False
        got = clone(EVERY[name]).fit_transform(svmgsu.Gaussians(X, svmgsu.Diagonal(V)))
        np.testing.assert_allclose(got.mean, wanted.mean, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(full_of(got), full_of(wanted), rtol=1e-12, atol=1e-13)
        assert isinstance(clone(EVERY[name]).fit_transform(X), np.ndarray)


def test_one_example_is_enough_where_nothing_is_to_be_learnt_from_many():
    data = svmgsu.Gaussians([[3.0, 4.0]], std=0.5)
    for transformer in (
        svmgsu.GaussianScaler(),
        svmgsu.GaussianLinearMap(),
        svmgsu.GaussianNormalizer(),
        svmgsu.GaussianFunctionTransformer("log"),
        svmgsu.GaussianColumnSelector([1]),
    ):
        assert np.isfinite(full_of(transformer.fit_transform(data))).all()


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_scalers_take_tiny_and_huge_units(size):
    p = make_problem("diagonal", COUNT, N)
    data = svmgsu.Gaussians(size * p.X, svmgsu.Diagonal(size**2 * p.cov.variances))
    wanted = svmgsu.GaussianScaler().fit_transform(svmgsu.Gaussians(p.X, p.cov))
    got = svmgsu.GaussianScaler().fit_transform(data)
    np.testing.assert_allclose(got.mean, wanted.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(full_of(got), full_of(wanted), rtol=1e-9)


@every_transformer
def test_names_are_carried_and_checked(name):
    p = make_problem("diagonal", COUNT, N)
    data = svmgsu.Gaussians(p.X, p.cov, feature_names=list("abcde"))
    transformer = clone(EVERY[name]).fit(data)
    assert transformer.feature_names_in_.tolist() == list("abcde")
    assert transformer.transform(data).feature_names_in_ == transformer.get_feature_names_out().tolist()
    assert transformer.transform(data.with_cov(None)).feature_names_in_ is not None
    turned = svmgsu.Gaussians(p.X[:, ::-1], p.cov.select([4, 3, 2, 1, 0]), feature_names=list("edcba"))
    out, wanted = transformer.transform(turned), transformer.transform(data)
    np.testing.assert_array_equal(out.mean, wanted.mean)
    np.testing.assert_array_equal(full_of(out), full_of(wanted))
    assert out.feature_names_in_ == wanted.feature_names_in_
    with pytest.raises(
        ValueError, match="X: its features are not those of the model: missing 'e'; unknown 'f'"
    ):
        transformer.transform(svmgsu.Gaussians(p.X, feature_names=list("abcdf")))
    with pytest.raises(
        ValueError, match=f"X has 4 features, but {type(transformer).__name__} is expecting 5"
    ):
        transformer.transform(svmgsu.Gaussians(p.X[:, :4]))
    unnamed = transformer.fit(svmgsu.Gaussians(p.X))
    assert not hasattr(unnamed, "feature_names_in_")
    assert unnamed.transform(svmgsu.Gaussians(p.X)).feature_names_in_ is None


@every_transformer
def test_before_fit_they_say_so(name):
    p = make_problem("diagonal", COUNT, N)
    for X in (p.X, svmgsu.Gaussians(p.X, p.cov)):
        with pytest.raises(NotFittedError):
            clone(EVERY[name]).transform(X)
        if hasattr(EVERY[name], "inverse_transform"):
            with pytest.raises(NotFittedError):
                clone(EVERY[name]).inverse_transform(X)


def test_frames_come_out_for_arrays_and_gaussians_stay_gaussians():
    pd = pytest.importorskip("pandas", reason="asks for frames of pandas")
    p = make_problem("diagonal", COUNT, N)
    data = svmgsu.Gaussians(p.X, p.cov)
    with sklearn.config_context(transform_output="pandas"):
        for transformer in EVERY.values():
            assert isinstance(clone(transformer).fit_transform(p.X), pd.DataFrame)
            assert isinstance(clone(transformer).fit(p.X).transform(p.X), pd.DataFrame)
            assert isinstance(clone(transformer).fit_transform(data), svmgsu.Gaussians)
            assert isinstance(clone(transformer).fit(data).transform(data), svmgsu.Gaussians)


# Weights in the units of the data

CHAINS = {
    "scaler": [svmgsu.GaussianScaler()],
    "robust": [svmgsu.GaussianScaler("robust")],
    "minmax": [svmgsu.GaussianScaler("minmax")],
    "all": [
        svmgsu.GaussianColumnSelector([4, 1, 0, 3]),
        svmgsu.GaussianScaler(),
        "passthrough",
        svmgsu.GaussianLinearMap(np.arange(12.0).reshape(3, 4) ** 0.3, [1.0, -2.0, 3.0]),
        svmgsu.GaussianPCA(2),
    ],
}


@pytest.mark.parametrize("name", CHAINS)
def test_unscaled_weights_give_the_same_decision_values(name):
    p = make_problem("full", 60, N)
    data = svmgsu.Gaussians(
        p.X * np.logspace(-3, 3, N) + 10, svmgsu.Full(p.full).scale_features(np.logspace(-3, 3, N))
    )
    steps = [clone(step) if not isinstance(step, str) else step for step in CHAINS[name]]
    pipeline = make_pipeline(*steps, svmgsu.LinearSVMGSU(lam=0.1, probability=False)).fit(data, p.y)
    rule = svmgsu.unscale(pipeline)
    assert rule.coef_.shape == (1, N)
    np.testing.assert_allclose(
        data.mean @ rule.coef_[0] + rule.intercept_, pipeline.decision_function(data), rtol=1e-8, atol=1e-9
    )
    np.testing.assert_array_equal(svmgsu.unscale(pipeline[:-1], pipeline[-1]).coef_, rule.coef_)


def test_unscale_goes_through_pipelines_within_pipelines():
    X, y = np.random.default_rng(0).normal(size=(40, N)), np.arange(40) % 2
    flat = make_pipeline(svmgsu.GaussianScaler(), svmgsu.GaussianPCA(3), svmgsu.LinearSVMGSU(lam=0.1))
    nested = make_pipeline(make_pipeline(svmgsu.GaussianScaler(), svmgsu.GaussianPCA(3)), flat[-1])
    for found, expected in zip(svmgsu.unscale(nested.fit(X, y)), svmgsu.unscale(flat.fit(X, y)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_unscale_takes_a_scaler_and_a_model_of_any_number_of_rows():
    X = make_problem("none", 60, N).X
    scaler = svmgsu.GaussianScaler().fit(X)

    class Many:
        coef_, intercept_ = np.arange(15.0).reshape(3, 5), np.arange(3.0)

    coef, intercept = svmgsu.unscale(scaler, Many())
    np.testing.assert_allclose(X @ coef.T + intercept, scaler.transform(X) @ Many.coef_.T + Many.intercept_)
    model = svmgsu.train(scaler.transform(X), np.arange(60) % 2, lam=0.1)
    assert svmgsu.unscale(scaler, model).coef_.shape == (1, N)


def test_unscale_says_what_it_cannot_undo():
    X, y = make_problem("none", 60, N).X, np.arange(60) % 2
    with pytest.raises(TypeError, match="StandardScaler is not one of GaussianScaler"):
        svmgsu.unscale(make_pipeline(StandardScaler(), svmgsu.LinearSVMGSU(lam=0.1)).fit(X, y))
    with pytest.raises(TypeError, match="model: GaussianScaler has no coef_"):
        svmgsu.unscale(svmgsu.GaussianScaler().fit(X))
    with pytest.raises(NotFittedError):
        svmgsu.unscale(svmgsu.GaussianScaler(), svmgsu.train(X, y, lam=0.1))
