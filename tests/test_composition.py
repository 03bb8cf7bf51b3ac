"""Transformers side by side: the joint covariance is that of the stacked derivative."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from conftest import every_kind, make_problem, spd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu

scaler, pca = svmgsu.GaussianScaler, svmgsu.GaussianPCA
exp = svmgsu.GaussianFunctionTransformer("exp")

EVERY = {
    "columns": svmgsu.GaussianColumnTransformer([("s", scaler(), [3, 0]), ("p", pca(1), [1, 2])]),
    "overlapping columns": svmgsu.GaussianColumnTransformer(
        [("s", scaler(), [0, 1]), ("p", pca(2), [1, 2, 3])]
    ),
    "functions": svmgsu.GaussianColumnTransformer(
        [("e", exp, [0, 2]), ("n", svmgsu.GaussianNormalizer(), [1, 4])], remainder="passthrough"
    ),
    "pipelines": svmgsu.GaussianColumnTransformer(
        [("two", make_pipeline(scaler(), exp, pca(2)), slice(0, 3))], remainder=scaler()
    ),
    "union": svmgsu.GaussianUnion([("s", scaler()), ("p", pca(2)), ("as it is", "passthrough")]),
    "union of functions": svmgsu.GaussianUnion(
        [("e", exp), ("s", make_pipeline("passthrough", scaler("minmax")))]
    ),
    "nested": svmgsu.GaussianUnion(
        [("c", svmgsu.GaussianColumnTransformer([("e", exp, [1])], remainder="passthrough")), ("s", scaler())]
    ),
}
every_join = pytest.mark.parametrize("name", EVERY)


@parametrize_with_checks(
    [
        svmgsu.GaussianUnion([("s", scaler()), ("n", svmgsu.GaussianNormalizer())]),
        svmgsu.GaussianColumnTransformer(
            [("s", scaler(with_mean=False), slice(0, 1))], remainder="passthrough"
        ),
    ]
)
def test_they_keep_scikit_learn_s_contract(estimator, check):
    check(estimator)


def derivative(function, X, step=1e-5):
    """The Jacobian (l, m, n) of a function of rows, by differences of fourth order."""
    columns = []
    for j in range(X.shape[1]):
        e = step * np.eye(X.shape[1])[j]
        near, far = function(X + e) - function(X - e), function(X + 2 * e) - function(X - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=2)


@every_kind
@every_join
def test_the_covariance_follows_the_joint_derivative(name, kind):
    p = make_problem(kind, 30, 5)
    X, cov = p.means + 1, p.cov
    if kind == "shared by class":
        matrices = {-1.0: p.full[np.argmax(p.y < 0)], 1.0: p.full[np.argmax(p.y > 0)]}
        cov = svmgsu.Shared(matrices, groups=p.y)
    join = clone(EVERY[name])
    data = svmgsu.Gaussians(X, cov)
    out = join.fit(data).transform(data)
    np.testing.assert_array_equal(out.mean, clone(EVERY[name]).fit_transform(X))
    J = derivative(join.transform, X)
    full = np.zeros((30, 5, 5)) if cov is None else cov.to_full(30, 5)
    got = np.zeros_like(J @ full @ J.transpose(0, 2, 1)) if out.cov is None else out.cov.to_full(*out.shape)
    np.testing.assert_allclose(got, J @ full @ J.transpose(0, 2, 1), rtol=1e-6, atol=1e-8)
    assert len(join.get_feature_names_out()) == out.shape[1]


def test_means_are_those_of_scikit_learn_s_own():
    p = make_problem("none", 30, 5)
    ours = svmgsu.GaussianColumnTransformer(
        [("a", scaler(), [4, 0]), ("b", "drop", [1])], remainder="passthrough"
    )
    theirs = ColumnTransformer([("a", StandardScaler(), [4, 0]), ("b", "drop", [1])], remainder="passthrough")
    np.testing.assert_allclose(ours.fit_transform(p.means), theirs.fit_transform(p.means), rtol=1e-12)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    ours = svmgsu.GaussianUnion([("a", scaler()), ("b", "passthrough")])
    theirs = FeatureUnion([("a", StandardScaler()), ("b", "passthrough")])
    np.testing.assert_allclose(ours.fit_transform(p.means), theirs.fit_transform(p.means), rtol=1e-12)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


# Kinds of covariance


def joined(cov, X=None):
    X = np.random.default_rng(0).normal(size=(20, 6)) if X is None else X
    columns = [("s", scaler(with_mean=False), [0, 1, 2]), ("t", scaler("robust", with_mean=False), [5, 4])]
    return svmgsu.GaussianColumnTransformer(columns).fit_transform(svmgsu.Gaussians(X, cov)).cov


def test_independent_columns_stay_independent():
    rng = np.random.default_rng(0)
    V = rng.uniform(0.1, 1, (20, 6))
    assert isinstance(joined(V), svmgsu.Diagonal)
    assert (
        joined(V.astype(np.float32), rng.normal(size=(20, 6)).astype(np.float32)).variances.dtype
        == np.float32
    )
    sparse = joined(
        svmgsu.Diagonal(scipy.sparse.csr_array(V)), scipy.sparse.csr_array(rng.normal(size=(20, 6)))
    )
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
    """2 axes of 3 of 203 columns: no matrix of 202 × 202 for each example."""
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(10, 203)), rng.uniform(0.1, 1, (10, 203))
    join = svmgsu.GaussianColumnTransformer([("p", pca(2), [0, 1, 2])], remainder="passthrough")
    cov = join.fit_transform(svmgsu.Gaussians(X, V)).cov
    kinds = {type(kind) for _, kind in cov.parts}
    assert kinds == {svmgsu.Diagonal, svmgsu.LowRank}
    axes = np.zeros((202, 203))
    axes[:2, :3], axes[2:, 3:] = join.transformers_[0].transformer.components_, np.eye(200)
    np.testing.assert_allclose(cov.to_full(), axes @ (V[:, :, None] * np.eye(203)) @ axes.T, atol=1e-12)


def test_exact_moments_are_joined_where_values_are_independent():
    X, V = np.full((3, 2), 2.0), np.full((3, 2), 0.5)
    log = svmgsu.GaussianFunctionTransformer("log", method="exact")
    join = svmgsu.GaussianColumnTransformer([("log", log, [0])], remainder="passthrough")
    out = join.fit_transform(svmgsu.Gaussians(X, V))
    np.testing.assert_allclose(out.cov.variances[0], [np.log1p(0.5 / 4), 0.5])
    correlated = svmgsu.Gaussians(X, svmgsu.Shared([[0.5, 0.1], [0.1, 0.5]]))
    with pytest.raises(ValueError, match=r"'log' has exact moments.*use \"first-order\""):
        join.fit_transform(correlated)


# Names, parameters, other transformers


def test_names_come_from_the_data_and_choose_columns():
    data = svmgsu.Gaussians(
        np.arange(12.0).reshape(4, 3) ** 2, std=np.ones((4, 3)), feature_names=["u", "g", "r"]
    )
    join = svmgsu.GaussianColumnTransformer(
        [("scale", scaler(), ["r", "u"]), ("axis", pca(1), "g")], verbose_feature_names_out=False
    )
    out = join.fit_transform(data)
    assert out.feature_names_in_ == ["r", "u", "gaussianpca0"]
    assert join.set_params(verbose_feature_names_out=True).fit_transform(data).feature_names_in_ == [
        "scale__r",
        "scale__u",
        "axis__gaussianpca0",
    ]
    frame = pd.DataFrame(data.mean, columns=["u", "g", "r"])
    assert join.fit(frame).get_feature_names_out().tolist() == ["scale__r", "scale__u", "axis__gaussianpca0"]
    assert join.set_output(transform="pandas").fit_transform(frame).columns[0] == "scale__r"
    with pytest.raises(ValueError, match="X has no feature 'z'"):
        svmgsu.GaussianColumnTransformer([("scale", scaler(), ["z"])]).fit(data)
    twice = svmgsu.GaussianUnion([("a", scaler()), ("b", scaler())], verbose_feature_names_out=False).fit(
        frame
    )
    with pytest.raises(ValueError, match="'u' is the name of two features"):
        twice.get_feature_names_out()


def test_certain_columns_may_have_any_transformer():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=30), np.arange(30) % 3])
    std = np.column_stack([np.full(30, 0.2), np.zeros(30)])
    join = svmgsu.GaussianColumnTransformer(
        [("scale", scaler(), [0]), ("kind", OneHotEncoder(sparse_output=False), [1])]
    )
    out = join.fit_transform(svmgsu.Gaussians(X, std=std))
    assert out.shape == (30, 4)
    np.testing.assert_array_equal(out.mean[:, 1:], np.eye(3)[np.arange(30) % 3])
    np.testing.assert_array_equal(out.cov.diagonals(30, 4)[:, 1:], 0)
    factors = svmgsu.LowRank(np.array([[[0.2, 0.0]]] * 30))
    np.testing.assert_array_equal(
        join.fit_transform(svmgsu.Gaussians(X, factors)).cov.diagonals(30, 4)[:, 1:], 0
    )
    with pytest.raises(TypeError, match=r"'kind' \(OneHotEncoder\) cannot carry a covariance"):
        join.fit(svmgsu.Gaussians(X, std=0.1))


def test_parameters_are_nested_and_cloned():
    columns = svmgsu.GaussianColumnTransformer([("s", scaler(), [0]), ("p", pca(1), [1])])
    columns.set_params(s__kind="robust", p__n_components=2)
    assert clone(columns).get_params()["s__kind"] == "robust"
    assert columns.transformers[1][1].n_components == 2
    union = svmgsu.GaussianUnion([("s", scaler())]).set_params(s="drop")
    with pytest.raises(ValueError, match="nothing to join"):
        union.fit(np.ones((3, 2)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("s", scaler())], "item 0 is .*expected"),
        ([("s", "scale", [0])], "'s' is 'scale'; expected"),
        ([("s", scaler(), [7])], "not among 3 features"),
        ([("s", scaler(), lambda X: [0])], "got the function"),
        ([("s", scaler(), [0]), ("s", scaler(), [1])], "not unique"),
    ],
)
def test_bad_transformers_are_refused(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        svmgsu.GaussianColumnTransformer(given).fit(np.random.default_rng(0).normal(size=(5, 3)))


# In pipelines


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    X = rng.normal(size=(90, 4)) * [1, 10, 100, 1] + y[:, None] * [1, 10, 0, 0]
    return svmgsu.Gaussians(X, std=rng.uniform(0.1, 1, (90, 4)) * [1, 10, 100, 1]), y


def test_they_work_in_pipelines_and_searches(task):
    data, y = task
    columns = svmgsu.GaussianColumnTransformer([("s", scaler(), [0, 1, 2])], remainder="passthrough")
    pipeline = Pipeline([("columns", columns), ("svm", svmgsu.LinearSVMGSU(0.1, probability=False))])
    assert cross_val_score(pipeline, data, y, cv=3).mean() > 0.6
    search = GridSearchCV(pipeline, {"columns__s__kind": ["standard", "robust"]}, cv=3).fit(data, y)
    center, size = data.mean[:, :3].mean(axis=0), data.mean[:, :3].std(axis=0)
    full = np.append(size, 1.0)
    by_hand = svmgsu.train(
        (data.mean - np.append(center, 0)) / full, y, data.cov.scale_features(1 / full), lam=0.1
    )
    np.testing.assert_allclose(pipeline.fit(data, y)[-1].coef_, by_hand.coef_, rtol=1e-6)
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("name", ["columns", "overlapping columns", "union"])
def test_weights_come_back_through_them(name, task):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    data = svmgsu.Gaussians(rng.normal(size=(60, 5)) + y[:, None], std=rng.uniform(0.1, 1, (60, 5)))
    pipeline = make_pipeline(clone(EVERY[name]), svmgsu.LinearSVMGSU(0.1, probability=False)).fit(data, y)
    coef, intercept = svmgsu.unscale(pipeline)
    np.testing.assert_allclose(
        data.mean @ coef[0] + intercept, pipeline.decision_function(data), rtol=1e-9, atol=1e-9
    )


def test_noise_of_deployment_goes_through_them(task):
    data, _ = task
    noisy = data.with_deployment(np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5)
    for name in ("columns", "union"):
        transformers = EVERY[name].get_params(deep=False)
        join = clone(EVERY[name])
        if "transformers" in transformers:
            join.set_params(transformers=[("s", scaler(), [3, 0]), ("p", pca(1), [1, 2])])
        out = join.fit_transform(noisy)
        J = derivative(join.transform, data.mean[:1])[0]
        np.testing.assert_allclose(
            out.deployment.to_full(1, out.shape[1])[0],
            J @ (np.diag([1.0, 2, 3, 4]) + 0.5) @ J.T,
            rtol=1e-6,
            atol=1e-9,
        )
