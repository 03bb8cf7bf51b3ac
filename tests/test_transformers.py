"""Transformers that carry the covariance: scalers, linear maps, principal axes, functions, directions."""

import re

import mpmath
import numpy as np
import pytest
import scipy.sparse
from conftest import every_kind, make_problem, spd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from transformer_cases import COUNT, EVERY, N, every_transformer, full_of

import svmgsu
from svmgsu.maps.elementwise import FUNCTIONS

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


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "identity"])
def test_derivatives_are_those_of_the_functions(name):
    x = np.array([0.03, 0.2, 0.5, 0.9])
    f = FUNCTIONS[name]
    exact = {"logit": lambda t: mpmath.log(t / (1 - t)), "exp10": lambda t: mpmath.mpf(10) ** t}
    exact |= {"expit": lambda t: 1 / (1 + mpmath.exp(-t)), "square": lambda t: t * t}
    mp = exact.get(name) or getattr(mpmath, name)
    np.testing.assert_allclose(f.value(x), [float(mp(mpmath.mpf(t))) for t in x], rtol=1e-14)
    np.testing.assert_allclose(f.derivative(x), [float(mpmath.diff(mp, t)) for t in x], rtol=1e-12)
