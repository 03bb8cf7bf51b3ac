"""Functions as transformers, names and units, and weights brought back through a scaler."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import sklearn
from conftest import make_problem
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from transformer_cases import COUNT, EVERY, N, every_transformer, full_of

import svmgsu
from svmgsu.maps.elementwise import FUNCTIONS


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


def test_directions_are_scikit_learn_s_and_zero_has_none():
    p = make_problem("diagonal", COUNT, N)
    np.testing.assert_array_equal(svmgsu.GaussianNormalizer().fit_transform(p.X), normalize(p.X))
    X = np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 1.0]])
    np.testing.assert_array_equal(svmgsu.GaussianNormalizer().fit_transform(X)[1], [0, 0])
    with pytest.raises(ValueError, match="example 1 has mean 0; an uncertain example at 0 has no direction"):
        svmgsu.GaussianNormalizer().fit_transform(svmgsu.Gaussians(X, std=0.1))


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
