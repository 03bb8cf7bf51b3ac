"""`GSUClassifier`: a pool of small models on exact expected features."""

import time

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu import _core
from svmgsu.estimators.pool.regressions import RBF_GAMMAS, candidate_maps
from svmgsu.estimators.pool.samples import make_folds
from svmgsu.estimators.pool.weights import classification_weights, lapse_rate, log_pool


def rings(count, seed, classes=2, size=0.4):
    """Noisy measurements of points within rings: (values, standard errors, labels)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    y = np.minimum((X**2).sum(axis=1) // (2.8 / classes), classes - 1).astype(int)
    E = size * np.exp(rng.uniform(-2, 0.5, size=X.shape))
    return X + E * rng.normal(size=X.shape), E, y


def small(**options):
    return svmgsu.GSUClassifier(**{"n_frequencies": 25, "threads": 1, **options})


@parametrize_with_checks(
    [svmgsu.GSUClassifier(n_frequencies=10, cv=2, threads=1)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "copies would be independent samples of the pool",
    },
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_weights_are_optimal_and_the_gap_says_so(penalty):
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=200)
    scores = rng.normal(size=(6, 200, 3)) + np.linspace(0, 2, 6)[:, None, None] * np.eye(3)[truth]
    logs = np.stack([log_pool(one[None], np.ones(1)) for one in scores])
    counts = np.full(200, 1 / 200)
    found = classification_weights(logs, np.eye(3)[truth], counts, penalty)
    assert (found.values >= 0).all() and 0 <= found.gap < 1e-8

    def value(w):
        p = np.exp(np.tensordot(w, logs, axes=1))
        p /= p.sum(axis=1, keepdims=True)
        return -np.log(p[np.arange(200), truth]).mean() + penalty * ((w - 1 / 6) ** 2).sum()

    other = minimize(
        value, np.full(6, 0.5), bounds=[(0, None)] * 6, method="L-BFGS-B", options={"ftol": 1e-14}
    )
    assert found.objective == pytest.approx(value(found.values), abs=1e-12)
    assert found.objective - found.gap <= other.fun + 1e-12
    assert found.objective <= other.fun + 1e-8


def test_the_lapse_rate_minimises_held_out_loss():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.1, 0.1], size=400)
    truth = (rng.uniform(size=400) < p[:, 1]).astype(int)
    truth[:40] = rng.integers(2, size=40)
    targets = np.eye(2)[truth]
    rate = lapse_rate(np.log(p), targets, np.ones(400), 400)

    def value(e):
        return -(targets * np.log((1 - e) * p + e / 2)).sum(axis=1).mean() - 0.5 / 400 * np.log(e)

    grid = np.linspace(1e-4, 0.5, 4000)
    assert rate == pytest.approx(grid[np.argmin([value(e) for e in grid])], abs=2e-4)
    assert 0.02 < rate < 0.2


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["full", "diagonal", "none"])
def test_expected_waves_agree_with_their_formula(kind, sparse):
    rng = np.random.default_rng(8)
    count, K, n, R = 70, 3, 5, 37
    means = rng.normal(size=(count, K, n)) * 10.0 ** rng.integers(-3, 4, size=(count, K, 1))
    means[3] = 1e7  # angles that are too large for a simple reduction
    A = rng.normal(size=(count, K, n, n))
    full = A @ A.transpose(0, 1, 3, 2) * 10.0 ** rng.integers(-4, 2, size=(count, K, 1, 1))
    full[5] = 1e200 * np.eye(n)
    variances = np.ascontiguousarray(np.einsum("lkii->lki", full))
    cov = {"full": np.ascontiguousarray(full), "diagonal": variances, "none": None}[kind]
    weights = rng.dirichlet(np.ones(K), count)
    weights[4] = [0.0, 0.75, 0.25]
    further = rng.normal(size=(count, 2))
    W = rng.normal(size=(R, n + 2))
    if sparse:  # at most two inputs each
        for r in range(R):
            W[r, rng.permutation(n + 2)[r % 3 :]] = 0.0
    phase = means @ W[:, :n].T + (further @ W[:, n:].T)[:, np.newaxis]
    q = np.zeros(phase.shape)
    if kind == "full":
        q = np.einsum("ri,lkij,rj->lkr", W[:, :n], full, W[:, :n])
    if kind == "diagonal":
        q = np.einsum("ri,lki->lkr", W[:, :n] ** 2, variances)
    decay = weights[:, :, np.newaxis] * np.exp(-q / 2)
    wanted = np.hstack([(decay * np.cos(phase)).sum(axis=1), (decay * np.sin(phase)).sum(axis=1)])
    found = _core.expected_waves(W, weights, means, cov, further, None, 1)
    error = np.where(np.arange(count) == 3, 1e-6, 1e-10)[:, np.newaxis]
    assert (np.abs(found - wanted / np.sqrt(R)) < error).all()
    combine = rng.normal(size=(2, 2 * R))
    scores = _core.expected_waves(W, weights, means, cov, further, combine, 2)
    np.testing.assert_allclose(scores, found @ combine.T, atol=1e-13)
    assert np.array_equal(scores, _core.expected_waves(W, weights, means, cov, further, combine, 1))


def test_it_beats_linear_models_and_knows_how_noisy_a_sample_is():
    X, E, y = rings(500, 5)
    T, D, truth = rings(1500, 6)
    model = small().fit(X, y, std=E)
    p = model.predict_proba(T, std=D)
    linear = LogisticRegression().fit(X, y).predict_proba(T)
    assert log_loss(truth, p) < log_loss(truth, linear) - 0.15
    precise = small().fit(X, y).predict_proba(T)
    assert log_loss(truth, p) < log_loss(truth, precise) - 0.01
    centre = [[0.0, 0.0]]
    assert model.predict_proba(centre, std=0.1)[0, 0] > model.predict_proba(centre, std=0.6)[0, 0] + 0.01
    assert model.score(T, truth, std=D) == (model.predict(T, std=D) == truth).mean()
    odds = model.decision_function(T, std=D)
    np.testing.assert_allclose(odds, np.log(p[:, 1] / p[:, 0]))


def test_the_pool_is_as_good_as_its_best_member_on_held_out_samples():
    X, E, y = rings(300, 7, classes=3)
    model = small().fit(X, y, std=E)
    pool = model.pool_
    assert len(pool.members) == len(pool.weights) == len(pool.losses) >= 9
    assert pool.loss <= pool.losses.min() + 1e-6 and (pool.weights >= 0).all()
    uses = np.array(["uncertainties" in name for name in pool.members])
    assert uses.any() and not pool.fallback_weights[uses].any()
    assert pool.gap < 1e-8 and pool.gated < 0.05 and pool.left_out == []
    assert "class-wise deconvolution" in str(pool)
    p = model.predict_proba(X, std=E)
    assert p.shape == (300, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_the_order_of_samples_and_the_unit_of_weights_change_nothing():
    X, E, y = rings(150, 8)
    rng = np.random.default_rng(0)
    w = rng.uniform(0.5, 2, size=150)
    order = rng.permutation(150)
    p = small().fit(X, y, std=E, sample_weight=w).predict_proba(X[:20], std=E[:20])
    again = small().fit(X[order], y[order], std=E[order], sample_weight=w[order])
    assert (again.predict_proba(X[:20], std=E[:20]) == p).all()
    for factor in (1e-12, 1e300):
        scaled = small().fit(X, y, std=E, sample_weight=factor * w).predict_proba(X[:20], std=E[:20])
        np.testing.assert_allclose(scaled, p, rtol=1e-3, atol=1e-4)
    threads = small(threads=2).fit(X, y, std=E, sample_weight=w).predict_proba(X[:20], std=E[:20])
    np.testing.assert_allclose(threads, p, rtol=1e-9)


def test_samples_without_weight_are_ignored():
    X, E, y = rings(120, 9)
    w = np.ones(120)
    w[100:] = 0
    p = small().fit(X[:100], y[:100], std=E[:100]).predict_proba(X, std=E)
    assert (small().fit(X, y, std=E, sample_weight=w).predict_proba(X, std=E) == p).all()
    with pytest.raises(ValueError, match="sample_weight: at least two classes"):
        small().fit(X, y, std=E, sample_weight=(y == 0).astype(float))


def test_a_prediction_does_not_depend_on_its_neighbours():
    X, E, y = rings(150, 10)
    model = small().fit(X, y, std=E)
    p = model.predict_proba(X, std=E)
    for i in (0, 7):
        np.testing.assert_allclose(model.predict_proba(X[i : i + 1], std=E[i : i + 1]), p[[i]], rtol=1e-9)


def test_missing_values_are_filled_by_what_they_may_be():
    rng = np.random.default_rng(11)
    base = rng.normal(size=400)
    X = np.column_stack([base, base + 0.1 * rng.normal(size=400)])
    y = (base > 0).astype(int)
    X[rng.uniform(size=400) < 0.3, 0] = np.nan
    X[rng.uniform(size=400) < 0.3, 1] = np.nan
    model = small().fit(X[:300], y[:300])
    T, truth = X[300:], y[300:]
    one = np.isnan(T).sum(axis=1) == 1
    assert (model.predict(T[one]) == truth[one]).mean() > 0.9
    nothing = model.predict_proba([[np.nan, np.nan]])
    assert abs(nothing[0, 1] - y[:300].mean()) < 0.2
    E = np.where(np.isnan(X), np.inf, 0.0)
    same = small().fit(np.nan_to_num(X[:300]), y[:300], std=E[:300]).predict_proba(T)
    np.testing.assert_allclose(same, model.predict_proba(T), atol=1e-6)


def test_class_probabilities_are_labels_where_they_are_certain():
    X, E, y = rings(120, 13)
    p = small().fit(X, y, std=E).predict_proba(X, std=E)
    table = np.eye(2)[y]
    soft = small().fit(X, table, std=E, classes=["in", "out"])
    assert soft.classes_.tolist() == ["in", "out"]
    assert (soft.predict_proba(X, std=E) == p).all()
    shares = small().fit(X, 0.6 * table + 0.2, std=E).predict_proba(X, std=E)
    assert shares.max() < 0.9 and (shares.argmax(axis=1) == p.argmax(axis=1)).mean() > 0.85


def test_noisy_labels_are_of_samples_that_have_one_class():
    X, E, y = rings(300, 14, size=0.1)
    rng = np.random.default_rng(0)
    said = np.where(rng.uniform(size=300) < 0.2, 1 - y, y)
    table = 0.6 * np.eye(2)[said] + 0.2
    shares = small().fit(X, table, std=E).predict_proba(X, std=E)
    classes = small(noisy_labels=True).fit(X, table, std=E).predict_proba(X, std=E)
    assert log_loss(y, classes) < log_loss(y, shares) - 0.1


def test_test_noise_prepares_for_noisy_samples():
    rng = np.random.default_rng(15)
    X = rng.normal(size=(300, 2))
    y = ((X**2).sum(axis=1) > 1.4).astype(int)
    T = rng.normal(size=(1000, 2))
    truth = ((T**2).sum(axis=1) > 1.4).astype(int)
    T = T + 0.7 * rng.normal(size=T.shape)
    ready = small(test_noise=0.49).fit(X, y, std=0.01)
    plain = small().fit(X, y)
    assert log_loss(truth, ready.predict_proba(T, std=0.7)) < log_loss(truth, plain.predict_proba(T)) - 0.1
    with pytest.raises(ValueError, match="test_noise: shape"):
        small(test_noise=np.ones(5)).fit(X, y)


def test_standard_errors_that_tell_the_class_are_features_and_gated_elsewhere():
    rng = np.random.default_rng(16)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2))
    E = np.exp(rng.normal(scale=0.3, size=(400, 2)) - 2 + 1.5 * y[:, np.newaxis])
    model = small().fit(X, y, std=E)
    assert model.score(X, y, std=E) > 0.95
    odd = model.explain([[0.0, 0.0]], std=[[1e-4, 30.0]])[0]
    usual = model.explain(X[:1], std=E[:1])[0]
    assert odd["gated"] and not usual["gated"]
    assert not any("uncertainties" in part["member"] for part in odd["members"])
    assert any("uncertainties" in part["member"] for part in usual["members"])
    assert usual["label"] == 0 and usual["probability"] == pytest.approx(
        model.predict_proba(X[:1], std=E[:1])[0, 0]
    )
    assert [part["weight"] for part in usual["members"]] == sorted(
        (part["weight"] for part in usual["members"]), reverse=True
    )


def test_far_outside_the_support_the_pool_is_less_sure():
    X, E, y = rings(200, 17)
    model = small().fit(X, y, std=E)
    found = model.explain([[200.0, -300.0]], std=0.1)[0]
    assert found["outside"] > 0.99 and found["probability"] < 0.96
    # Values alone that are unlike those of the fit say nothing against standard errors as features.
    shifted = model.explain(X[:60] + 3, std=E[:60])
    assert np.mean([one["gated"] for one in shifted]) < 0.3 < np.mean([one["outside"] for one in shifted])


def test_groups_stay_together_and_their_own_uncertainties_are_no_features():
    rng = np.random.default_rng(18)
    groups = np.repeat(np.arange(20), 8)
    y = (np.arange(20) % 2)[groups]
    X = rng.normal(size=(160, 3)) + 0.5 * y[:, np.newaxis]
    E = np.exp(rng.normal(size=(20, 3)))[groups] * 0.3
    model = small().fit(X, y, std=E, groups=groups)
    assert not any("uncertainties" in name for name in model.pool_.members)
    free = small().fit(X, y, std=E)
    assert any("uncertainties" in name for name in free.pool_.members)
    assert free.pool_.loss < model.pool_.loss - 0.1  # folds that split groups believe what identifies them
    with pytest.raises(ValueError, match="one group"):
        small().fit(X, y, groups=np.zeros(160))
    with pytest.raises(ValueError, match="groups: shape"):
        small().fit(X, y, groups=np.zeros(3))


def test_a_class_of_two_and_other_small_sets():
    X, E, y = rings(60, 21)
    y[:2] = 2
    model = small().fit(X, y, std=E)
    p = model.predict_proba(X, std=E)
    assert np.isfinite(p).all() and p[:, 2].mean() < 0.2
    tiny = small().fit(X[:4], [0, 0, 1, 1], std=E[:4])
    assert np.isfinite(tiny.predict_proba(X, std=E)).all()


def test_what_is_wrong_is_said():
    X, E, y = rings(30, 22)
    for options, words in (
        ({"n_frequencies": 1}, "n_frequencies"),
        ({"cv": 1}, "cv"),
        ({"n_components": 50}, "n_components: 50 for n_samples=30"),
        ({"members": ["forest"]}, "members: expected some of"),
        ({"members": []}, "members: the list is empty"),
        ({"class_weight": "even"}, "class_weight: expected"),
        ({"max_time": -1}, "max_time"),
        ({"random_state": "seven"}, "random_state: expected"),
        ({"noise": "photon"}, "noise: expected"),
        ({"noise": "spread", "test_noise": 1.0}, "test_noise: new samples are instances"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            small(**options).fit(X, y, std=E)
    with pytest.raises(ValueError, match="one class"):
        small().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="feature 0 is missing, or has infinite noise, in every sample"):
        small().fit(X, y, std=np.full(X.shape, np.inf))
    with pytest.raises(ValueError, match="every feature is constant"):
        small().fit(np.ones((30, 2)), y)
    with pytest.raises(ValueError, match="expecting 2 features"):
        small().fit(X, y).predict(X[:, :1])
    with pytest.raises(ValueError, match="feature 1 is 1e\\+300, further from the population"):
        small().fit(X, y).predict([[0.0, 1e300]])
    with pytest.raises(ValueError, match="a class of its own"):
        small().fit(X, np.arange(30))
    with pytest.raises(ValueError, match="groups: folds by group need two classes"):
        small().fit(X, y, groups=y)


def test_folds_are_even_in_size_and_classes_and_keep_groups_together():
    rng = np.random.default_rng(25)
    codes, groups = (rng.uniform(size=603) < 0.2).astype(int), np.arange(603) // 3
    for own in (None, groups):
        folds = make_folds(codes, own, 603, 5, 0, 2)
        assert all((known[: len(known) // 2] + 603 == known[len(known) // 2 :]).all() for known, _ in folds)
        held = [out[out < 603] for _, out in folds]
        assert sorted(np.concatenate(held)) == list(range(603))
        assert np.ptp([len(out) for out in held]) <= (1 if own is None else 6)
        assert np.ptp([codes[out].sum() for out in held]) <= (1 if own is None else 3)
        assert own is None or sum(len(np.unique(own[out])) for out in held) == 201


def test_axis_aligned_frequencies_take_features_in_turn():
    for n, count in ((6, 150), (5, 31), (1, 4)):
        (first, *_) = candidate_maps("axis_aligned", n, 0, count, [0, 0], True, False)
        alone, pairs = first.frequencies[::2] != 0, first.frequencies[1::2] != 0
        assert (alone.sum(axis=1) == 1).all() and np.ptp(alone.sum(axis=0)) <= 1
        assert (pairs.sum(axis=1) <= 2).all() and np.ptp(pairs.sum(axis=0)) <= 1 + len(pairs) // n


def test_rbf_frequencies_have_the_lengths_of_the_kernel():
    (first, *_) = candidate_maps("rbf", 4, 3, 140, [0, 0], True, False)
    squares = (first.frequencies**2).sum(axis=1) / (2 * RBF_GAMMAS[0] / 4)
    wanted = stats.chi2(7).ppf((np.arange(140) + 0.5) / 140)
    np.testing.assert_allclose(np.sort(squares)[5:-5], wanted[5:-5], rtol=0.1)


def test_balanced_classes_have_even_odds():
    rng = np.random.default_rng(23)
    X = rng.normal(size=(300, 2))
    y = (rng.uniform(size=300) < 0.1).astype(int)
    p = small(class_weight="balanced").fit(X, y, std=0.1).predict_proba(X, std=0.1)
    assert 0.35 < p[:, 1].mean() < 0.65
    rare = small().fit(X, y, std=0.1).predict_proba(X, std=0.1)
    assert rare[:, 1].mean() < 0.2


def test_max_time_ends_a_fit():
    X, E, y = rings(3000, 24)
    began = time.monotonic()
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning, match="max_time=0.05 ended after"):
        model = svmgsu.GSUClassifier(max_time=0.05, threads=1).fit(X, y, std=E)
    assert time.monotonic() - began < 20
    assert model.pool_.left_out and np.isfinite(model.predict_proba(X[:5], std=E[:5])).all()


def test_samples_noisier_than_all_of_the_training_set_are_predicted_by_their_posterior():
    X, _, y = rings(400, 30, size=0.2)
    model = small().fit(X, y, std=np.full(X.shape, 0.2))
    found = model.explain([[0.0, 0.0], [0.0, 0.0]], std=[[0.2, 0.2], [5.0, 5.0]])
    assert [part["gated"] for part in found] == [False, True]
    assert all("on values" not in part["member"] for part in found[1]["members"])
    share = (y == found[1]["label"]).mean()
    assert abs(found[1]["probability"] - share) < 0.2 < found[0]["probability"] - share


def test_samples_out_of_core_are_drawn_by_their_content(monkeypatch):
    X, E, y = rings(600, 31)
    model = small().fit(X, y, std=E)

    def blocks(order, *cuts):
        spans = zip((0, *cuts), (*cuts, 600), strict=True)
        rows = [order[first:last] for first, last in spans]
        return svmgsu.open([{"X": svmgsu.Gaussians(X[r], std=E[r]), "y": y[r]} for r in rows])

    whole = np.arange(600)
    found = small().fit(blocks(whole, 200))
    wanted = model.predict_proba(X, std=E)
    np.testing.assert_allclose(found.predict_proba(blocks(whole, 50, 70)), wanted, rtol=1e-12)
    assert found.score(blocks(whole, 200), y) == model.score(X, y, std=E)
    monkeypatch.setattr("svmgsu.estimators.pool.base.LAST_ROWS", 250)
    one = small().fit(blocks(whole, 200)).predict_proba(X, std=E)
    other = small().fit(blocks(np.random.default_rng(0).permutation(600), 400, 450))
    assert (other.predict_proba(X, std=E) == one).all() and not np.allclose(
        one, model.predict_proba(X, std=E)
    )
    with pytest.raises(ValueError, match="std: blocks have their own covariances"):
        found.predict(blocks(whole, 200), std=0.1)
    with pytest.raises(ValueError, match="y: 3 for 600 samples"):
        small().fit(blocks(whole, 200), y[:3])


def frames(count, seed, n=2):
    """Summaries of many instances: both classes have the same mean, and their spread is turned."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    A = np.zeros((count, n, n))
    A[:, range(n), range(n)] = 0.2
    A[:, 0, 0] = A[:, 1, 0] = 1.0
    A[y == 1, 1, 0] = -1.0
    means = 0.3 * rng.normal(size=(count, n))
    return svmgsu.Gaussians(means, svmgsu.Full(A @ A.transpose(0, 2, 1))), y, means, A


@pytest.mark.parametrize("n", [2, 105])
def test_summaries_are_learnt_from_to_classify_instances(n, tmp_path):
    data, y, _, _ = frames(60, 32, n)
    _, truth, means, A = frames(400, 33, n)
    T = means + np.einsum("lij,lj->li", A, np.random.default_rng(34).normal(size=means.shape))
    model = small(noise="spread").fit(data, y)
    noise = small().fit(data, y)
    assert model.score(T, truth) > 0.7 > noise.score(T, truth)
    assert any("own covariances" in name for name in model.pool_.members)
    model.save(tmp_path / "spread.svmgsu")
    again = svmgsu.load(tmp_path / "spread.svmgsu")
    assert (again.predict_proba(T) == model.predict_proba(T)).all()
    order = np.random.default_rng(0).permutation(60)
    assert (small(noise="spread").fit(data[order], y[order]).predict_proba(T) == model.predict_proba(T)).all()
    if n > 100:
        gaps = T.copy()
        gaps[0, 0] = np.nan
        with pytest.raises(ValueError, match="missing values of more than 100 features"):
            small(noise="spread").fit(gaps, truth)
