"""`GSURegressor`: a pool of small regressions with a calibrated predictive distribution."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu.estimators.observations import Observed
from svmgsu.estimators.pool import base as pool_base
from svmgsu.estimators.pool.densities import JointMember
from svmgsu.estimators.pool.mixture import Mixture
from svmgsu.estimators.pool.regressions import ridge, weighted_sums
from svmgsu.estimators.pool.samples import View
from svmgsu.estimators.pool.weights import regression_weights


def waves(count, seed):
    """Noisy measurements: (values, standard errors, targets)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(count, 2))
    y = 10 + 3 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=count)
    E = np.exp(rng.uniform(-4, -0.7, size=X.shape))
    return X + E * rng.normal(size=X.shape), E, y


def small(**options):
    return svmgsu.GSURegressor(**{"n_frequencies": 30, "threads": 1, **options})


def rms(found, y):
    return float(np.sqrt(((found - y) ** 2).mean()))


@parametrize_with_checks(
    [svmgsu.GSURegressor(n_frequencies=10, cv=2, threads=1)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "copies would be independent samples of the pool",
    },
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("penalty", [0.0, 1e-3, 1.0])
def test_weights_are_optimal_on_the_simplex_and_the_gap_says_so(penalty):
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    f = y + np.linspace(0.3, 2, 5)[:, np.newaxis] * rng.normal(size=(5, 80)) + rng.normal(size=80)
    counts = rng.uniform(size=80)
    found = regression_weights(f, y, counts, penalty)

    def value(w):
        return np.average((y - w @ f) ** 2, weights=counts) + penalty * ((w - 0.2) ** 2).sum()

    other = minimize(
        value,
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-13},
    )
    assert found.objective == pytest.approx(value(found.values), abs=1e-12)
    assert found.values.min() >= 0 and found.values.sum() == pytest.approx(1)
    assert found.objective <= other.fun + 1e-9 and 0 <= found.gap < 1e-9


def test_ridge_paths_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    Z, y, w = rng.normal(size=(60, 8)), rng.normal(size=60), rng.uniform(size=60)
    W, b = ridge(weighted_sums(Z, y, w), np.array([0.1, 1e-4]))
    for i, lam in enumerate((0.1, 1e-4)):
        other = Ridge(alpha=lam * w.sum(), tol=1e-12).fit(Z, y, sample_weight=w)
        np.testing.assert_allclose(W[i], other.coef_, rtol=1e-6, atol=1e-9)
        assert b[i] == pytest.approx(other.intercept_, abs=1e-8)


def test_the_joint_deconvolution_has_the_conditional_moments():
    rng = np.random.default_rng(2)
    roots = rng.normal(size=(2, 3, 3))
    S = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(3)
    means, shares = rng.normal(size=(2, 3)), np.array([0.3, 0.7])
    member = JointMember("joint", mixtures=[Mixture(shares, means, S)])
    x, V = rng.normal(size=(1, 2)), np.diag([0.2, 0.5])
    seen = Observed(x, svmgsu.Diagonal(np.diag(V)[np.newaxis]), None)
    mean, variance = member.moments(View(seen, x, None, None, np.zeros(1), np.zeros(1)))
    first, second, total = 0.0, 0.0, 0.0
    for share, m, C in zip(shares, means, S, strict=True):
        T = C[:2, :2] + V
        r = share * multivariate_normal(m[:2], T).pdf(x[0])
        inner = m[2] + C[2, :2] @ np.linalg.solve(T, x[0] - m[:2])
        spread = C[2, 2] - C[2, :2] @ np.linalg.solve(T, C[:2, 2])
        first, second, total = first + r * inner, second + r * (spread + inner**2), total + r
    assert mean[0] == pytest.approx(first / total)
    assert variance[0] == pytest.approx(second / total - (first / total) ** 2)


def test_predictions_are_good_and_intervals_hold_what_they_say():
    X, E, y = waves(600, 3)
    T, D, truth = waves(3000, 4)
    model = small().fit(X, y, std=E)
    f, s = model.predict(T, std=D, return_std=True)
    assert rms(f, truth) < 0.75 * rms(Ridge().fit(X, y).predict(T), truth)
    assert rms(f, truth) < rms(small().fit(X, y).predict(T), truth)
    assert s[D[:, 0] > 0.3].mean() > 1.5 * s[D[:, 0] < 0.05].mean()
    assert np.mean(((truth - f) / s) ** 2) == pytest.approx(1, abs=0.25)
    for level in (0.1, 0.5, 0.9, 0.99):
        low, high = model.predict_interval(T, level, std=D)
        assert np.mean((truth >= low) & (truth <= high)) == pytest.approx(level, abs=0.04)
    drawn = model.sample(T[:50], 2000, std=D[:50], random_state=0)
    assert drawn.shape == (50, 2000)
    np.testing.assert_allclose(drawn.std(axis=1), s[:50], rtol=0.15)
    low, high = model.predict_interval(T[:50], 0.8, std=D[:50])
    inside = (drawn >= low[:, np.newaxis]) & (drawn <= high[:, np.newaxis])
    assert inside.mean() == pytest.approx(0.8, abs=0.02)
    assert model.score(T, truth, std=D) == pytest.approx(1 - rms(f, truth) ** 2 / truth.var())


def test_the_order_of_samples_the_unit_of_weights_and_of_targets_change_nothing():
    X, E, y = waves(150, 5)
    rng = np.random.default_rng(0)
    w, order = rng.uniform(0.5, 2, size=150), rng.permutation(150)
    f = small().fit(X, y, std=E, sample_weight=w).predict(X, std=E)
    again = small().fit(X[order], y[order], std=E[order], sample_weight=w[order]).predict(X, std=E)
    assert (again == f).all()
    scaled = small().fit(X, 1e9 * y, std=E, sample_weight=1e-12 * w).predict(X, std=E)
    np.testing.assert_allclose(scaled / 1e9, f, rtol=1e-4)


def test_the_pool_tells_what_it_did():
    X, E, y = waves(200, 6)
    model = small().fit(X, y, std=E)
    pool = model.pool_
    assert pool.loss <= pool.losses.min() * 1.001 and pool.weights.sum() == pytest.approx(1)
    assert "joint deconvolution" in str(pool)
    found = model.explain(X[:2], std=E[:2])
    assert found[0]["prediction"] == pytest.approx(model.predict(X[:1], std=E[:1])[0])
    mixed = sum(part["weight"] * part["prediction"] for part in found[0]["members"])
    if found[0]["outside"] < 1e-3:
        assert found[0]["prediction"] == pytest.approx(mixed, rel=1e-2)
    far = model.explain([[300.0, 300.0]], std=0.1)[0]
    assert far["outside"] > 0.99 and abs(far["prediction"] - y.mean()) < 100 * y.std()


def test_missing_values_test_noise_and_groups():
    X, E, y = waves(300, 7)
    X[::7, 1] = np.nan
    model = small(test_noise=np.array([0.3, 0.3])).fit(X, y, std=E, groups=np.arange(300) // 3)
    assert np.isfinite(model.predict([[0.5, np.nan], [np.nan, np.nan]])).all()
    assert rms(model.predict(X, std=E), y) < y.std()
    with pytest.raises(ValueError, match="one group"):
        small().fit(X, y, groups=np.zeros(300))


def test_wide_data_and_many_samples(monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 110))
    y = X[:, 0] + 0.1 * rng.normal(size=90)
    assert small().fit(X, y, std=0.1).score(X, y, std=0.1) > 0.3
    with pytest.raises(ValueError, match="members: a deconvolution alone"):
        small(members="joint").fit(X, y)
    monkeypatch.setattr(pool_base, "CHOICE_ROWS", 200)
    X, E, y = waves(700, 9)
    T, D, truth = waves(500, 10)
    assert rms(small().fit(X, y, std=E).predict(T, std=D), truth) < 0.5 * truth.std()


def test_what_is_wrong_is_said():
    X, E, y = waves(30, 12)
    with pytest.raises(ValueError, match="members: expected some of"):
        small(members=["classwise"]).fit(X, y)
    with pytest.raises(ValueError, match="y: 29 targets for 30 samples"):
        small().fit(X, y[:29])
    with pytest.raises(ValueError, match="y: sample 3"):
        small().fit(X, np.where(np.arange(30) == 3, np.nan, y))
    with pytest.raises(ValueError, match=r"y has values from .* take a unit"):
        small().fit(X, 1e200 * y)
    model = small().fit(X, y, std=E)
    with pytest.raises(ValueError, match="level: expected a number between 0 and 1"):
        model.predict_interval(X, 90)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(X[:, :1])


def test_errors_of_targets_are_no_errors_of_predictions():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(1500, 2))
    truth = np.sin(X[:, 0]) + X[:, 1]
    error = 0.5 * np.exp(rng.normal(size=1500))
    y = truth + error * rng.normal(size=1500)
    known, new = slice(0, 500), slice(500, None)
    told = small().fit(X[known], y[known], y_std=error[known])
    plain = small().fit(X[known], y[known])
    assert rms(told.predict(X[new]), truth[new]) < 0.8 * rms(plain.predict(X[new]), truth[new])
    low, high = told.predict_interval(X[new], 0.9)
    assert 0.75 < ((low < truth[new]) & (truth[new] < high)).mean() <= 0.995
    with pytest.raises(ValueError, match=r"y_std: expected a number or shape \(500,\)"):
        small().fit(X[known], y[known], y_std=error)
    with pytest.raises(ValueError, match=r"y_std: .* standard deviation -1"):
        small().fit(X[known], y[known], y_std=-1.0)
