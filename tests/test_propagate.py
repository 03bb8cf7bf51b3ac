"""`Propagate`: means are scikit-learn's, covariances follow the derivative, and the contract is kept."""

import numpy as np
import pytest
import scipy.sparse
import scipy.special
import sklearn
from conftest import make_problem, spd
from moments import differences
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu import Propagate

COUNT, N = 30, 5
MATRIX = np.arange(15.0).reshape(3, 5) ** 0.5
SHIFT = np.array([1.0, 2.0, 3.0])


def linear(X):
    return X @ MATRIX.T + SHIFT


EVERY = {
    "passthrough": Propagate(),
    "standard": Propagate(StandardScaler()),
    "robust": Propagate(RobustScaler()),
    "minmax": Propagate(MinMaxScaler((-1, 3))),
    "maxabs": Propagate(MaxAbsScaler()),
    "only shifted": Propagate(StandardScaler(with_std=False)),
    "pca": Propagate(PCA(3)),
    "whitened": Propagate(PCA(3, whiten=True)),
    "svd": Propagate(TruncatedSVD(2, random_state=0)),
    "projection": Propagate(GaussianRandomProjection(2, random_state=0)),
    "selection": Propagate(VarianceThreshold(0.9)),
    "imputer": Propagate(SimpleImputer()),
    "matrix": Propagate(FunctionTransformer(linear)),
    "exp": Propagate(FunctionTransformer(np.exp)),
    "power": Propagate(PowerTransformer()),
    "normalizer": Propagate(Normalizer()),
    "l1": Propagate(Normalizer("l1")),
    "products": Propagate(PolynomialFeatures(2, include_bias=False)),
    "fourier": Propagate(RBFSampler(n_components=4, random_state=0)),
    "pipeline": Propagate(make_pipeline(StandardScaler(), PCA(3), FunctionTransformer(np.tanh))),
}
NONLINEAR = ("exp", "power", "normalizer", "l1", "products", "fourier", "pipeline")
every_transformer = pytest.mark.parametrize("name", EVERY)
some_kinds = pytest.mark.parametrize(
    "kind", ["none", "isotropic", "diagonal", "full", "low rank + diagonal", "shared by class", "sum"]
)


def full_of(data, y=None):
    return np.zeros((*data.shape, data.shape[1])) if data.cov is None else data.cov.to_full(*data.shape, y=y)


def dense(a):
    return a.toarray() if scipy.sparse.issparse(a) else np.asarray(a)


@parametrize_with_checks(
    [
        Propagate(StandardScaler()),
        Propagate(Normalizer()),
    ]
)
def test_it_keeps_scikit_learn_s_contract(estimator, check):
    check(estimator)


@some_kinds
@every_transformer
def test_the_covariance_follows_the_jacobian(name, kind):
    """J Σ Jᵀ with J by differences of scikit-learn's own transformer."""
    p = make_problem(kind, COUNT, N)
    X, cov = p.means + 1, p.cov
    if kind == "shared by class" and name in NONLINEAR:
        with pytest.raises(ValueError, match="groups=y"):
            clone(EVERY[name]).fit(X).transform(svmgsu.Gaussians(X, cov))
        matrices = {-1.0: p.full[np.argmax(p.y < 0)], 1.0: p.full[np.argmax(p.y > 0)]}
        cov = svmgsu.Shared(matrices, groups=p.y)
    data = svmgsu.Gaussians(X, cov)
    out = clone(EVERY[name]).fit(data).transform(data)
    inner = EVERY[name].transformer
    theirs = FunctionTransformer() if isinstance(inner, str) else clone(inner)
    np.testing.assert_array_equal(out.mean, theirs.fit(X).transform(X))
    J = differences(theirs.transform, X)
    wanted = J @ p.full @ J.transpose(0, 2, 1)
    np.testing.assert_allclose(
        full_of(out, p.y), wanted, rtol=1e-7, atol=1e-8 * np.abs(wanted).max(initial=1)
    )
    assert (out.cov is None) == (kind == "none")


def test_quantiles_follow_their_slopes():
    p = make_problem("diagonal", 200, 2)
    out = Propagate(QuantileTransformer(n_quantiles=20, output_distribution="uniform")).fit_transform(
        svmgsu.Gaussians(p.means, p.cov)
    )
    assert isinstance(out.cov, svmgsu.Diagonal)
    table = QuantileTransformer(n_quantiles=20).fit(p.means).quantiles_[:, 0]
    x = p.means[:, 0]
    place = np.clip(np.searchsorted(table, x) - 1, 0, 18)
    inside = np.abs(x[:, None] - table).min(axis=1) > 1e-4  # a kink has no slope
    slope = (1 / 19) / np.diff(table)[place]
    np.testing.assert_allclose(
        out.cov.variances[inside, 0], (slope**2 * p.cov.variances[:, 0])[inside], rtol=1e-6
    )


def test_values_beyond_the_range_of_a_clipping_scaler_are_certain():
    X = make_problem("none", COUNT, 2).X
    scaler = Propagate(MinMaxScaler(clip=True)).fit(X)
    out = scaler.transform(svmgsu.Gaussians([[0.1, 0.1], [0.1, 50.0]], std=0.5))
    np.testing.assert_allclose(out.cov.diagonals(2, 2), (0.5 / np.ptp(X, axis=0)) ** 2 * [[1, 1], [1, 0]])


SPARSE = {
    "standard": StandardScaler(with_mean=False),
    "robust": RobustScaler(with_centering=False),
    "maxabs": MaxAbsScaler(),
    "svd": TruncatedSVD(3, algorithm="arpack"),
    "selection": VarianceThreshold(),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_means_give_the_same(name):
    p = make_problem("diagonal CSR", COUNT, N)
    sparse, plain = svmgsu.Gaussians(p.X, p.cov), svmgsu.Gaussians(p.means, p.cov)
    got = Propagate(SPARSE[name]).fit(sparse).transform(sparse)
    wanted = Propagate(SPARSE[name]).fit(plain).transform(plain)
    np.testing.assert_allclose(np.abs(dense(got.mean)), np.abs(wanted.mean), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(np.abs(full_of(got)), np.abs(full_of(wanted)), rtol=1e-9, atol=1e-10)
    assert scipy.sparse.issparse(got.mean) == (name != "svd")
    with pytest.raises((TypeError, ValueError), match="sparse"):
        Propagate(PowerTransformer()).fit(sparse)
    with pytest.raises(TypeError, match="Normalizer is not linear and takes no sparse means"):
        Propagate(Normalizer()).fit_transform(sparse)


# Moments beyond the first order


@pytest.mark.parametrize("function", [np.exp, scipy.special.exp10, np.square])
def test_exact_moments_are_integrals_over_the_gaussian(function):
    """Two correlated values: Gauss and Hermite's rule in two dimensions."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    m, S = np.array([0.3, -0.4]), np.array([[0.2, -0.1], [-0.1, 0.3]])
    x = m + np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1) @ np.linalg.cholesky(S).T
    w = np.outer(weights, weights)
    fx = function(x)
    mean = np.einsum("ij,ijk->k", w, fx)
    cov = np.einsum("ij,ijk,ijl->kl", w, fx - mean, fx - mean)
    transformer = Propagate(FunctionTransformer(function), method="exact")
    out = transformer.fit_transform(svmgsu.Gaussians(m[None], S[None]))
    np.testing.assert_allclose(out.mean[0], mean, rtol=1e-10)
    np.testing.assert_allclose(full_of(out)[0], cov, rtol=1e-9)
    single = transformer.fit_transform(svmgsu.Gaussians(m[None], S.diagonal()[None]))
    assert isinstance(single.cov, svmgsu.Diagonal)
    np.testing.assert_allclose(single.cov.variances[0], cov.diagonal(), rtol=1e-9)


def test_the_logarithm_of_a_log_normal_value_is_exact():
    """Draws of the Gaussian that np.log finds, put through exp, have the mean and covariance given."""
    m, S = np.array([[3.0, 5.0]]), np.array([[[1.0, 0.8], [0.8, 4.0]]])
    out = Propagate(FunctionTransformer(np.log), method="exact").fit_transform(svmgsu.Gaussians(m, S))
    draws = np.exp(out.sample(400_000, random_state=0)[0])
    np.testing.assert_allclose(draws.mean(axis=0), m[0], rtol=0.003)
    np.testing.assert_allclose(np.cov(draws.T), S[0], rtol=0.02)
    assert full_of(out)[0, 0, 0] == pytest.approx(np.log1p(1 / 9), rel=1e-14)
    tens = Propagate(FunctionTransformer(np.log10), method="exact").fit_transform(svmgsu.Gaussians(m, S))
    np.testing.assert_allclose(full_of(tens), full_of(out) / np.log(10) ** 2)
    tied = svmgsu.Gaussians([[1.0, 1.0]], [[[4.0, -3.0], [-3.0, 4.0]]])
    with pytest.raises(ValueError, match=r"no log-normal distribution .* of sample 0"):
        Propagate(FunctionTransformer(np.log), method="exact").fit_transform(tied)


def test_unscented_points_see_what_the_first_order_does_not():
    """x² of N(0, 1) has mean 1 and variance 2; through a pipeline, too."""
    data = svmgsu.Gaussians([[0.0, 1.0], [0.0, 2.0]], std=1.0)
    square = FunctionTransformer(np.square)
    out = Propagate(square, method="unscented").fit_transform(data)
    np.testing.assert_allclose(out.mean, data.mean**2 + 1)
    np.testing.assert_allclose(out.cov.variances, 2 + 4 * data.mean**2)
    chain = Propagate(make_pipeline(FunctionTransformer(lambda X: 2 * X), square), method="unscented")
    np.testing.assert_allclose(chain.fit_transform(data).mean, 4 * (data.mean**2 + 1))
    affine = Propagate(StandardScaler(), method="unscented").fit_transform(data)
    np.testing.assert_array_equal(full_of(affine), full_of(Propagate(StandardScaler()).fit_transform(data)))


@pytest.mark.parametrize("n", [2, 4])
def test_unscented_means_of_products_of_correlated_values_are_exact(n):
    (m,), (S,) = np.random.default_rng(0).normal(size=(1, n)), spd(np.random.default_rng(1), 1, n)
    products = FunctionTransformer(lambda X: np.stack([X[:, 0] * X[:, 1], X[:, 0] ** 2 * X[:, 1]], axis=1))
    out = Propagate(products, method="unscented").fit_transform(svmgsu.Gaussians(m[None], S[None]))
    wanted = [m[0] * m[1] + S[0, 1], m[0] ** 2 * m[1] + S[0, 0] * m[1] + 2 * m[0] * S[0, 1]]
    np.testing.assert_allclose(out.mean[0], wanted)


# What is refused


def test_errors_name_what_was_wrong():
    data = svmgsu.Gaussians([[1.0, 0.0], [1.0, -2.0]], std=0.1)

    def function(f, **options):
        return Propagate(FunctionTransformer(f), **options)

    for text, made in {
        "FunctionTransformer: sample 0 gives -inf at output 1": function(np.log),
        "FunctionTransformer: sample 1 gives nan at output 1": function(np.sqrt),
        'method: expected one of "first-order", "exact", "unscented", got \'sampling\'': function(
            np.log, method="sampling"
        ),
        "exact moments of FunctionTransformer are not known": function(np.sin, method="exact"),
        "FunctionTransformer: returned 1 rows for 2 samples": function(lambda X: X[:1]),
        "transformer: expected a transformer or .passthrough., got 'drop'": Propagate("drop"),
    }.items():
        with pytest.raises(ValueError, match=text):
            made.fit(data).transform(data)
    with pytest.raises(ValueError, match="FunctionTransformer gives nan for sample 1 at output 1"):
        function(np.sqrt).fit_transform(data.mean)


@pytest.mark.parametrize("inner", [Binarizer(), KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")])
def test_steps_have_no_first_order(inner):
    p = make_problem("diagonal", COUNT, N)
    data = svmgsu.Gaussians(p.X, p.cov)
    with pytest.raises(ValueError, match=r"does not change with small changes .* use method=.unscented."):
        Propagate(inner).fit_transform(data)
    out = Propagate(inner, method="unscented").fit_transform(data)
    assert out.cov.diagonals(*out.shape).any()
    certain = Propagate(inner).fit_transform(data.with_cov(svmgsu.Diagonal(np.zeros((COUNT, N)))))
    assert not full_of(certain).any()


# Names, types, state


@every_transformer
def test_float32_stays_float32(name):
    p = make_problem("diagonal", COUNT, N, dtype=np.float32)
    out = clone(EVERY[name]).fit_transform(svmgsu.Gaussians(p.X, p.cov))
    theirs = EVERY[name].transformer
    wanted = np.float32 if isinstance(theirs, str) else clone(theirs).fit_transform(p.X).dtype
    assert out.mean.dtype == wanted


@pytest.mark.parametrize("name", ["passthrough", "standard", "pca", "selection", "products", "pipeline"])
def test_names_are_carried_and_checked(name):
    p = make_problem("diagonal", COUNT, N)
    data = svmgsu.Gaussians(p.X, p.cov, feature_names=list("abcde"))
    transformer = clone(EVERY[name]).fit(data)
    assert transformer.feature_names_in_.tolist() == list("abcde")
    assert transformer.transform(data).feature_names_in_ == transformer.get_feature_names_out().tolist()
    turned = svmgsu.Gaussians(p.X[:, ::-1], p.cov.select([4, 3, 2, 1, 0]), feature_names=list("edcba"))
    out, wanted = transformer.transform(turned), transformer.transform(data)
    np.testing.assert_array_equal(out.mean, wanted.mean)
    np.testing.assert_array_equal(full_of(out), full_of(wanted))
    with pytest.raises(ValueError, match="not those of the model: missing 'e'; unknown 'f'"):
        transformer.transform(svmgsu.Gaussians(p.X, feature_names=list("abcdf")))
    with pytest.raises(ValueError, match="X has 4 features, but Propagate is expecting 5"):
        transformer.transform(svmgsu.Gaussians(p.X[:, :4]))
    unnamed = transformer.fit(svmgsu.Gaussians(p.X))
    assert not hasattr(unnamed, "feature_names_in_")
    assert unnamed.transform(svmgsu.Gaussians(p.X)).feature_names_in_ is None
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clone(EVERY[name]).transform(data)


def test_frames_come_out_for_arrays_and_gaussians_stay_gaussians():
    pd = pytest.importorskip("pandas", reason="asks for frames of pandas")
    p = make_problem("diagonal", COUNT, N)
    data = svmgsu.Gaussians(p.X, p.cov)
    with sklearn.config_context(transform_output="pandas"):
        for transformer in EVERY.values():
            assert isinstance(clone(transformer).fit_transform(p.X), pd.DataFrame)
            assert isinstance(clone(transformer).fit(p.X).transform(p.X), pd.DataFrame)
            assert isinstance(clone(transformer).fit_transform(data), svmgsu.Gaussians)


# Weights brought back


CHAINS = {
    "standard": [Propagate(StandardScaler())],
    "minmax": [Propagate(MinMaxScaler())],
    "function": [Propagate(FunctionTransformer(lambda X: 1 - 2 * X))],
    "inside": [Propagate(make_pipeline(RobustScaler(), PCA(3)))],
    "several": [
        Propagate(StandardScaler()),
        "passthrough",
        Propagate(FunctionTransformer(linear)),
        Propagate(PCA(2)),
    ],
}


@pytest.mark.parametrize("name", CHAINS)
def test_unscaled_weights_give_the_same_decision_values(name):
    p = make_problem("full", 60, N)
    units = np.logspace(-3, 3, N)
    data = svmgsu.Gaussians(p.X * units + 10, svmgsu.Full(p.full).scale_features(units))
    steps = [clone(step) if not isinstance(step, str) else step for step in CHAINS[name]]
    pipeline = make_pipeline(*steps, svmgsu.LinearSVMGSU(lam=0.1, probability=False)).fit(data, p.y)
    rule = pipeline[-1]
    for step in reversed(pipeline[:-1]):
        rule = step.unscale(rule) if isinstance(step, Propagate) else rule
    assert rule.coef_.shape == (1, N)
    np.testing.assert_allclose(
        data.mean @ rule.coef_[0] + rule.intercept_, pipeline.decision_function(data), rtol=1e-8, atol=1e-8
    )


def test_unscale_says_what_it_cannot_undo():
    X, y = make_problem("none", 60, N).X, np.arange(60) % 2
    model = svmgsu.train(X, y, lam=0.1)
    with pytest.raises(TypeError, match="PowerTransformer is not linear"):
        Propagate(PowerTransformer()).fit(X).unscale(model)
    with pytest.raises(TypeError, match="model: Propagate has no coef_"):
        Propagate(StandardScaler()).fit(X).unscale(Propagate())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Propagate(StandardScaler()).unscale(model)


exp = FunctionTransformer(np.exp)
COMPOSED = {
    "columns": ColumnTransformer([("s", StandardScaler(), [3, 0]), ("p", PCA(1), [1, 2])]),
    "overlapping columns": ColumnTransformer([("s", StandardScaler(), [0, 1]), ("p", PCA(2), [1, 2, 3])]),
    "functions": ColumnTransformer(
        [("e", exp, [0, 2]), ("n", Normalizer(), [1, 4])], remainder="passthrough"
    ),
    "pipelines": ColumnTransformer(
        [("two", make_pipeline(StandardScaler(), exp, PCA(2)), slice(0, 3))], remainder=StandardScaler()
    ),
    "dropped": ColumnTransformer([("s", StandardScaler(), [1]), ("d", "drop", [0])], remainder="passthrough"),
    "weighted": ColumnTransformer(
        [("s", StandardScaler(), [0, 1]), ("p", "passthrough", [2])], transformer_weights={"s": 3.0}
    ),
    "union": FeatureUnion([("s", StandardScaler()), ("p", PCA(2)), ("as it is", "passthrough")]),
    "union of functions": FeatureUnion([("e", exp), ("s", make_pipeline("passthrough", MinMaxScaler()))]),
    "nested": FeatureUnion(
        [("c", ColumnTransformer([("e", exp, [1])], remainder="passthrough")), ("s", StandardScaler())]
    ),
    "propagate inside": ColumnTransformer(
        [("s", Propagate(StandardScaler()), [0, 1])], remainder="passthrough"
    ),
}


@parametrize_with_checks(
    [
        Propagate(
            ColumnTransformer([("s", StandardScaler(with_mean=False), slice(0, 1))], remainder="passthrough")
        ),
    ]
)
def test_they_keep_scikit_learn_s_contract(estimator, check):
    check(estimator)


@some_kinds
@pytest.mark.parametrize("name", COMPOSED)
def test_the_covariance_follows_the_joint_derivative(name, kind):
    p = make_problem(kind, 30, 5)
    X, cov = p.means + 1, p.cov
    if kind == "shared by class":
        matrices = {-1.0: p.full[np.argmax(p.y < 0)], 1.0: p.full[np.argmax(p.y > 0)]}
        cov = svmgsu.Shared(matrices, groups=p.y)
    join = Propagate(COMPOSED[name])
    data = svmgsu.Gaussians(X, cov)
    out = join.fit(data).transform(data)
    theirs = clone(COMPOSED[name]).fit(X)
    np.testing.assert_allclose(out.mean, theirs.transform(X), rtol=1e-12, atol=1e-14)
    J = differences(theirs.transform, X)
    full = np.zeros((30, 5, 5)) if cov is None else cov.to_full(30, 5)
    wanted = J @ full @ J.transpose(0, 2, 1)
    got = np.zeros_like(wanted) if out.cov is None else out.cov.to_full(*out.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)
    assert len(join.get_feature_names_out()) == out.shape[1]


# Kinds of covariance


def joined(cov, X=None):
    X = np.random.default_rng(0).normal(size=(20, 6)) if X is None else X
    blocks = [
        ("s", StandardScaler(with_mean=False), [0, 1, 2]),
        ("t", RobustScaler(with_centering=False), [5, 4]),
    ]
    return Propagate(ColumnTransformer(blocks)).fit_transform(svmgsu.Gaussians(X, cov)).cov


def test_independent_columns_stay_independent():
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(20, 6)), rng.uniform(0.1, 1, (20, 6))
    assert isinstance(joined(V), svmgsu.Diagonal)
    assert joined(V.astype(np.float32), X.astype(np.float32)).variances.dtype == np.float32
    sparse = joined(svmgsu.Diagonal(scipy.sparse.csr_array(V)), scipy.sparse.csr_array(X))
    assert scipy.sparse.issparse(sparse.matrix)
    assert isinstance(joined(svmgsu.Shared(V[0])), svmgsu.Shared)
    assert isinstance(joined(0.5), svmgsu.Shared)


def test_correlated_columns_stay_correlated_in_the_kind_they_came():
    rng = np.random.default_rng(0)
    S = spd(rng, 20, 6)
    assert isinstance(joined(svmgsu.Full(S)), svmgsu.Full)
    assert isinstance(joined(svmgsu.LowRank(rng.normal(size=(20, 2, 6)))), svmgsu.LowRank)
    assert isinstance(joined(svmgsu.Shared(S[0])), svmgsu.Shared)


def test_a_block_that_mixes_columns_leaves_the_others_as_variances():
    """2 axes of 3 of 203 columns: no matrix of 202 × 202 for each sample."""
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(10, 203)), rng.uniform(0.1, 1, (10, 203))
    join = Propagate(ColumnTransformer([("p", PCA(2), [0, 1, 2])], remainder="passthrough"))
    cov = join.fit_transform(svmgsu.Gaussians(X, V)).cov
    assert {type(kind) for _, kind in cov.parts} == {svmgsu.Diagonal, svmgsu.LowRank}
    axes = np.zeros((202, 203))
    axes[:2, :3], axes[2:, 3:] = join.transformer_.named_transformers_["p"].components_, np.eye(200)
    np.testing.assert_allclose(cov.to_full(), axes @ (V[:, :, None] * np.eye(203)) @ axes.T, atol=1e-12)


# Names, other transformers


def test_names_come_from_the_data_and_choose_columns():
    pd = pytest.importorskip("pandas", reason="scikit-learn chooses columns of data frames by name")
    data = svmgsu.Gaussians(
        np.arange(12.0).reshape(4, 3) ** 2, std=np.ones((4, 3)), feature_names=["u", "g", "r"]
    )
    columns = ColumnTransformer(
        [("scale", StandardScaler(), ["r", "u"]), ("axis", PCA(1), ["g"])], verbose_feature_names_out=False
    )
    join = Propagate(columns)
    out = join.fit_transform(data)
    assert out.feature_names_in_ == ["r", "u", "pca0"]
    np.testing.assert_allclose(out.cov.variances[0, 0], 1 / data.mean[:, 2].var())
    frame = pd.DataFrame(data.mean, columns=["u", "g", "r"])
    assert join.fit(frame).get_feature_names_out().tolist() == ["r", "u", "pca0"]
    assert join.set_output(transform="pandas").fit_transform(frame).columns[0] == "r"
    chosen = Propagate(ColumnTransformer([("s", StandardScaler(), make_column_selector("r|g"))]))
    assert chosen.fit_transform(data).feature_names_in_ == ["s__g", "s__r"]
    logs = Propagate(FunctionTransformer(np.sqrt)).fit_transform(data[1:])
    assert logs.feature_names_in_ == ["u", "g", "r"]


def test_certain_columns_may_have_any_transformer():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=30), np.arange(30) % 3])
    std = np.column_stack([np.full(30, 0.2), np.zeros(30)])
    encoder = OneHotEncoder(sparse_output=False)
    join = Propagate(ColumnTransformer([("scale", StandardScaler(), [0]), ("kind", encoder, [1])]))
    factors = svmgsu.LowRank(np.array([[[0.2, 0.0]]] * 30))
    for data in (svmgsu.Gaussians(X, std=std), svmgsu.Gaussians(X, factors)):
        out = join.fit_transform(data)
        np.testing.assert_array_equal(out.mean[:, 1:], np.eye(3)[np.arange(30) % 3])
        np.testing.assert_allclose(out.cov.diagonals(30, 4)[:, 0], 0.04 / X[:, 0].var())
        np.testing.assert_array_equal(out.cov.diagonals(30, 4)[:, 1:], 0)
    # Which columns are certain is known behind other steps, too.
    later = make_pipeline(
        MinMaxScaler(), ColumnTransformer([("kind", encoder, [1])], remainder="passthrough")
    )
    out = Propagate(later).fit_transform(svmgsu.Gaussians(X, std=std))
    np.testing.assert_allclose(out.cov.diagonals(30, 4)[0], [0, 0, 0, 0.04 / np.ptp(X[:, 0]) ** 2], rtol=1e-9)
    with pytest.raises(ValueError, match=r"OneHotEncoder .* only features without uncertainty"):
        join.fit_transform(svmgsu.Gaussians(X, std=0.1))


# In pipelines


@pytest.mark.parametrize("name", ["columns", "overlapping columns", "union", "weighted", "dropped"])
def test_weights_come_back_through_them(name):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    data = svmgsu.Gaussians(rng.normal(size=(60, 5)) + y[:, None], std=rng.uniform(0.1, 1, (60, 5)))
    pipeline = make_pipeline(Propagate(COMPOSED[name]), svmgsu.LinearSVMGSU(0.1, probability=False)).fit(
        data, y
    )
    coef, intercept = pipeline[0].unscale(pipeline[-1])
    np.testing.assert_allclose(
        data.mean @ coef[0] + intercept, pipeline.decision_function(data), rtol=1e-9, atol=1e-9
    )


def test_transformers_that_learn_from_labels_are_given_them():
    p = make_problem("full", 60, N)
    X = p.means + 2 * (p.y > 0)[:, None] * [1, 0, 0, 1, 0]
    for inner in (SelectKBest(k=2), LinearDiscriminantAnalysis()):
        out = Propagate(inner).fit(svmgsu.Gaussians(X, p.cov), p.y).transform(svmgsu.Gaussians(X, p.cov))
        theirs = clone(inner).fit(X, p.y)
        A = (theirs.transform(np.eye(N)) - theirs.transform(np.zeros((1, N)))).T
        np.testing.assert_allclose(full_of(out), A @ p.full @ A.T, rtol=1e-8, atol=1e-10)


def test_zero_has_no_direction():
    X = np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 1.0]])
    np.testing.assert_array_equal(Propagate(Normalizer()).fit_transform(X)[1], [0, 0])
    with pytest.raises(ValueError, match="sample 1 has mean 0; an uncertain sample at 0 has no direction"):
        Propagate(Normalizer()).fit_transform(svmgsu.Gaussians(X, std=0.1))


def test_exact_moments_are_joined_where_values_are_independent():
    X, V = np.full((3, 2), 2.0), np.full((3, 2), 0.5)
    columns = ColumnTransformer([("log", FunctionTransformer(np.log), [0])], remainder="passthrough")
    join = Propagate(columns, method="exact")
    out = join.fit_transform(svmgsu.Gaussians(X, V))
    np.testing.assert_allclose(out.cov.variances[0], [np.log1p(0.5 / 4), 0.5])
    correlated = svmgsu.Gaussians(X, svmgsu.Shared([[0.5, 0.1], [0.1, 0.5]]))
    with pytest.raises(ValueError, match=r"independent and no feature is used twice; use method="):
        join.fit_transform(correlated)
    points = Propagate(columns, method="unscented").fit_transform(correlated)
    assert np.abs(points.cov.to_full()[:, 0, 1]).min() > 0.01
