"""`Propagate` of ColumnTransformer and FeatureUnion: covariances between the blocks are kept."""

import numpy as np
import pytest
import scipy.sparse
from conftest import every_kind, make_problem, spd
from moments import differences
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu import Propagate

exp = FunctionTransformer(np.exp)
EVERY = {
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
        Propagate(FeatureUnion([("s", StandardScaler()), ("n", Normalizer())])),
        Propagate(
            ColumnTransformer([("s", StandardScaler(with_mean=False), slice(0, 1))], remainder="passthrough")
        ),
    ]
)
def test_they_keep_scikit_learn_s_contract(estimator, check):
    check(estimator)


@every_kind
@pytest.mark.parametrize("name", EVERY)
def test_the_covariance_follows_the_joint_derivative(name, kind):
    p = make_problem(kind, 30, 5)
    X, cov = p.means + 1, p.cov
    if kind == "shared by class":
        matrices = {-1.0: p.full[np.argmax(p.y < 0)], 1.0: p.full[np.argmax(p.y > 0)]}
        cov = svmgsu.Shared(matrices, groups=p.y)
    join = Propagate(EVERY[name])
    data = svmgsu.Gaussians(X, cov)
    out = join.fit(data).transform(data)
    theirs = clone(EVERY[name]).fit(X)
    np.testing.assert_allclose(out.mean, theirs.transform(X), rtol=1e-12, atol=1e-14)
    J = differences(theirs.transform, X)
    full = np.zeros((30, 5, 5)) if cov is None else cov.to_full(30, 5)
    wanted = J @ full @ J.transpose(0, 2, 1)
    got = np.zeros_like(wanted) if out.cov is None else out.cov.to_full(*out.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)
    assert len(join.get_feature_names_out()) == out.shape[1]


def test_covariances_between_blocks_written_out():
    """Scaling by d and one axis u: the blocks are d Σ d, uᵀΣu, and d Σ u between them."""
    p = make_problem("full", 30, 5)
    data = svmgsu.Gaussians(p.means, p.cov)
    out = Propagate(
        ColumnTransformer([("s", StandardScaler(), [3, 0]), ("p", PCA(1), [1, 2])])
    ).fit_transform(data)
    A = np.zeros((3, 5))
    A[[0, 1], [3, 0]] = 1 / p.means[:, [3, 0]].std(axis=0)
    A[2, 1:3] = PCA(1).fit(p.means[:, 1:3]).components_
    np.testing.assert_allclose(out.cov.to_full(), A @ p.full @ A.T, rtol=1e-9, atol=1e-12)


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


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    X = rng.normal(size=(90, 4)) * [1, 10, 100, 1] + y[:, None] * [1, 10, 0, 0]
    return svmgsu.Gaussians(X, std=rng.uniform(0.1, 1, (90, 4)) * [1, 10, 100, 1]), y


def test_they_work_in_pipelines_and_searches(task):
    data, y = task
    columns = ColumnTransformer([("s", StandardScaler(), [0, 1, 2])], remainder="passthrough")
    pipeline = Pipeline(
        [("columns", Propagate(columns)), ("svm", svmgsu.LinearSVMGSU(0.1, probability=False))]
    )
    assert cross_val_score(pipeline, data, y, cv=3).mean() > 0.6
    grid = {"columns__transformer__s": [StandardScaler(), RobustScaler()]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(data, y)
    center, size = data.mean[:, :3].mean(axis=0), data.mean[:, :3].std(axis=0)
    full = np.append(size, 1.0)
    by_hand = svmgsu.train(
        (data.mean - np.append(center, 0)) / full, y, data.cov.scale_features(1 / full), lam=0.1
    )
    np.testing.assert_allclose(pipeline.fit(data, y)[-1].coef_, by_hand.coef_, rtol=1e-6)
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("name", ["columns", "overlapping columns", "union", "weighted", "dropped"])
def test_weights_come_back_through_them(name):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    data = svmgsu.Gaussians(rng.normal(size=(60, 5)) + y[:, None], std=rng.uniform(0.1, 1, (60, 5)))
    pipeline = make_pipeline(Propagate(EVERY[name]), svmgsu.LinearSVMGSU(0.1, probability=False)).fit(data, y)
    coef, intercept = pipeline[0].unscale(pipeline[-1])
    np.testing.assert_allclose(
        data.mean @ coef[0] + intercept, pipeline.decision_function(data), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("method", ["first-order", "unscented"])
@pytest.mark.parametrize("name", ["columns", "union", "functions"])
def test_noise_of_deployment_goes_through_them(name, method):
    p = make_problem("diagonal", 30, 5)
    noise = np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.5
    data = svmgsu.Gaussians(p.means + 1, p.cov).add_noise(noise)
    out = Propagate(EVERY[name], method=method).fit_transform(data)
    J = differences(clone(EVERY[name]).fit(p.means + 1).transform, p.means + 1)
    np.testing.assert_allclose(
        out.test_noise.to_full(*out.shape), J @ noise @ J.transpose(0, 2, 1), rtol=1e-6, atol=1e-8
    )
