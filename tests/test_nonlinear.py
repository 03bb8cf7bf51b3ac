"""`SVMGSU` and `SVRGSU`: curved boundaries, error bars of old and new objects, proofs and refusals."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu.estimators.nonlinear import base, lift
from svmgsu.estimators.nonlinear.link import Components, chances, mixed_chances, polish
from svmgsu.estimators.nonlinear.solving import Scores, Sums


def rings(count, noise, seed=0):
    """Inside and outside of a circle: truth, label, what is seen, error bars that differ."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(count, 2))
    label = np.where((truth**2).sum(axis=1) > 1.4, "out", "in")
    bars = noise * rng.uniform(0.2, 1.8, size=(count, 2))
    return truth, label, truth + bars * rng.normal(size=truth.shape), bars


def small(**options):
    return svmgsu.SVMGSU(**{"n_features": 60, "search": False, "threads": 1, **options})


@pytest.fixture(scope="module")
def noisy_rings():
    _, y, X, bars = rings(500, 0.4)
    return small().fit(X, y, std=bars), X, y, bars


def test_a_curved_boundary_is_found_and_error_bars_help():
    _, y, X, bars = rings(400, 0.5)
    _, new_y, new_X, new_bars = rings(1500, 0.5, seed=1)
    ours = svmgsu.SVMGSU(n_features=60, threads=1).fit(X, y, std=bars)
    points = svmgsu.SVMGSU(n_features=60, threads=1).fit(X, y)
    linear = svmgsu.LinearSVMGSU(loss="logistic", threads=1).fit(X, y, std=bars)
    with_bars = log_loss(new_y, ours.predict_proba(new_X, std=new_bars))
    assert with_bars < log_loss(new_y, points.predict_proba(new_X)) - 0.01
    assert with_bars < log_loss(new_y, linear.predict_proba(new_X, std=new_bars)) - 0.1
    assert ours.score(new_X, new_y, std=new_bars) > 0.78
    assert {"gamma", "lam", "loss"} <= set(ours.search_[0])
    assert ours.gamma_ in {row["gamma"] for row in ours.search_}


def test_the_convex_stage_is_proven(noisy_rings):
    model, *_ = noisy_rings
    assert 0 <= model.gap_ <= 1e-6 * model.objective_


def test_a_blurred_object_tends_to_the_shares_of_its_population(noisy_rings):
    model, _, y, _ = noisy_rings
    share = (y == "out").mean()
    with pytest.warns(UserWarning, match="noisier|far"):
        blurred = model.predict_proba([[3.0, 0.0]], std=100.0)[0, 1]
    assert model.predict_proba([[2.5, 0.0]], std=0.05)[0, 1] > 0.9
    assert blurred == pytest.approx(share, abs=0.12)


def test_the_deviation_of_f_is_that_of_draws_of_what_the_object_may_be(noisy_rings):
    model, X, _, bars = noisy_rings
    data = svmgsu.Gaussians(X[:5], std=bars[:5])
    values, deviation = model.decision_function(data, return_std=True)
    posterior = model.population_.transform(model.lift_.standard(data))
    for i, draws in enumerate(posterior.sample(20_000, random_state=0)):
        f = model.scores_(model.map_.mean(svmgsu.Gaussians(draws)))[:, 0]
        spread = f.std()
        assert abs(deviation[i] - spread) <= 0.05 * spread + 1e-9
        if not model.link_:
            assert abs(values[i] - f.mean()) <= 6 * spread / np.sqrt(20_000)


def test_the_mixtures_link_is_the_mean_of_its_components():
    rng = np.random.default_rng(0)
    scores = Scores(rng.normal(size=(1, 3)), np.array([0.3]))
    components = Components(rng.normal(size=(5, 3)), np.array([0.2, 0.8, 1.0, 0.5, 0.5]), np.array([0, 2, 3]))
    p = 1 / (1 + np.exp(-(components.Z @ scores.W[0] + 0.3)))
    wanted = [0.2 * p[0] + 0.8 * p[1], p[2], 0.5 * p[3] + 0.5 * p[4]]
    np.testing.assert_allclose(mixed_chances(scores, components)[:, 1], wanted, rtol=1e-12)
    np.testing.assert_allclose(mixed_chances(scores, components.some(np.array([2, 0])))[:, 1], wanted[::-2])
    codes, weights = np.array([1, 0, 1]), np.array([1.0, 2.0, 0.5])

    def objective(s):
        p = mixed_chances(s, components)[np.arange(3), codes]
        return 0.05 * (s.W**2).sum() - (weights / weights.sum()) @ np.log(p)

    better = polish(scores, components, codes, weights, 0.1)
    assert objective(better) < objective(scores)
    for move in (1e-3, -1e-3):  # no coordinate improves on it
        for k in range(3):
            step = np.zeros((1, 3))
            step[0, k] = move
            assert objective(Scores(better.W + step, better.b)) >= objective(better) - 1e-8
    np.testing.assert_allclose(chances(np.array([[1.0, 2.0, 3.0]])).sum(), 1.0)


@pytest.mark.parametrize("link", [True, False])
def test_damped_probabilities_are_the_mean_over_what_the_object_may_be(link):
    _, y, X, bars = rings(300, 0.4)
    model = small(link=link, damping=True).fit(X, y, std=bars)
    assert model.damping_ == 1.0
    p = model.predict_proba(X[:20], std=bars[:20])[:, 1]
    objects = model.lift_.objects(model.lift_.standard(svmgsu.Gaussians(X[:20], std=bars[:20])))
    draws = objects.sample(20_000, random_state=0)
    Z = model.map_.mean(svmgsu.Gaussians(draws.reshape(-1, 2)))
    sampled = (0.5 * (1 + np.tanh(0.5 * model.scores_(Z)))).reshape(20, -1).mean(axis=1)
    plain = small(link=link, damping=False).fit(X, y, std=bars).predict_proba(X[:20], std=bars[:20])[:, 1]
    assert np.abs(p - sampled).max() < 0.1
    if not link:  # the same scores
        assert np.abs(p - sampled).mean() < 0.4 * np.abs(plain - sampled).mean()
    np.testing.assert_allclose(
        model.decision_function(X[:20], std=bars[:20]), np.log(p / (1 - p)), rtol=1e-6, atol=1e-9
    )


def test_damping_is_chosen_by_objects_held_out():
    _, y, X, bars = rings(400, 0.5)
    model = svmgsu.SVMGSU(n_features=60, threads=1, metric=False, bars_as_features=False)
    model.fit(X, y, std=bars)
    tried = {row["damping"]: row["loss"] for row in model.search_ if "damping" in row}
    assert set(tried) == {0.0, 0.3, 1.0}
    assert model.damping_ == 0 or tried[model.damping_] == min(tried.values())


def test_a_path_of_lam_is_left_once_the_loss_has_risen_twice():
    _, y, X, bars = rings(300, 0.5)
    model = svmgsu.SVMGSU(n_features=40, threads=1, gamma=0.5, metric=False, bars_as_features=False)
    model.fit(X, y, std=bars)
    losses = [row["loss"] for row in model.search_ if "link" not in row]
    assert 3 <= len(losses) < 8
    assert np.argmin(losses) == len(losses) - 3


def test_labels_that_are_wrong_here_and_there_keep_probabilities_from_being_too_sure():
    _, y, X, bars = rings(500, 0.05)
    wrong = np.random.default_rng(3).random(len(y)) < 0.05
    y = np.where(wrong, np.where(y == "in", "out", "in"), y)
    model = svmgsu.SVMGSU(n_features=60, threads=1, metric=False, gamma=0.5).fit(X, y, std=bars)
    assert model.lapse_ > 0
    p = model.predict_proba(X, std=bars)
    assert p.min() >= model.lapse_ / 2
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert small().fit(X, y, std=bars).lapse_ == 0  # nothing was held out


def test_more_than_two_classes():
    rng = np.random.default_rng(0)
    centres = 2 * np.array([[0, 0], [1, 1], [-1, 1]])
    y = rng.integers(3, size=400)
    X = centres[y] + 0.6 * rng.normal(size=(400, 2))
    names = np.array(["a", "b", "c"])[y]
    for options in ({}, {"loss": "squared"}, {"loss": "hinge"}, {"kernel": "quadratic"}):
        model = small(**options).fit(X, names, std=0.2)
        p = model.predict_proba(X, std=0.2)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert model.decision_function(X, std=0.2).shape == (400, 3)
        assert model.score(X, names, std=0.2) > 0.93, options
        assert log_loss(names, p) < 0.25, options


def test_noise_of_deployment_is_trained_for():
    _, y, X, _ = rings(500, 0.0)
    rng = np.random.default_rng(5)
    truth, new_y, *_ = rings(1500, 0.0, seed=3)
    new_X = truth + 0.6 * rng.normal(size=truth.shape)
    ready = small(deployment_cov=[0.36, 0.36]).fit(X, y)
    unready = small().fit(X, y)
    assert ready.population_ is not None
    told, untold = ready.predict_proba(new_X, std=0.6), unready.predict_proba(new_X)
    assert log_loss(new_y, told) < log_loss(new_y, untold) - 0.05


def test_units_and_offsets_do_not_matter():
    _, y, X, bars = rings(300, 0.3)
    scale, offset = np.array([1e6, 1e-5]), np.array([1e7, -3.0])
    plain = small(link=False).fit(X, y, std=bars).predict_proba(X, std=bars)
    other = small(link=False).fit(X * scale + offset, y, std=bars * scale)
    np.testing.assert_allclose(other.predict_proba(X * scale + offset, std=bars * scale), plain, atol=2e-3)


def test_the_bits_are_the_same_for_any_number_of_threads():
    _, y, X, bars = rings(200, 0.3)
    one, two = (small(threads=k).fit(X, y, std=bars).predict_proba(X, std=bars) for k in (1, 2))
    assert np.array_equal(one, two)


def test_models_are_saved_and_objects_come_in_batches(noisy_rings, monkeypatch):
    model, X, _, bars = noisy_rings
    p = model.predict_proba(X, std=bars)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X, std=bars), p)
    monkeypatch.setattr(lift, "BATCH", 77)
    np.testing.assert_allclose(model.predict_proba(X, std=bars), p, rtol=1e-9)


def test_many_objects_are_searched_by_a_part(monkeypatch):
    monkeypatch.setattr(base, "SEARCH_ROWS", 150)
    monkeypatch.setattr(lift, "POPULATION_ROWS", 200)
    _, y, X, bars = rings(500, 0.3)
    model = svmgsu.SVMGSU(n_features=40, threads=1, metric=False).fit(X, y, std=bars)
    assert model.score(X, y, std=bars) > 0.8


def test_features_that_say_nothing_are_found_out_by_a_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4).astype(int)
    model = svmgsu.SVMGSU(n_features=100, threads=1).fit(X, y)
    assert model.metric_ is not None
    weight = np.square(model.metric_).sum(axis=0)
    assert weight[:2].min() > 3 * weight[2:].max()


def test_error_bars_that_tell_the_class_become_features():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 0.3 * y[:, np.newaxis]
    bars = np.where(y == 1, 0.5, 0.2)[:, np.newaxis] * rng.uniform(0.8, 1.2, size=(400, 2))
    model = svmgsu.SVMGSU(n_features=60, threads=1, metric=False).fit(X, y, std=bars)
    assert model.bars_
    assert model.score(X, y, std=bars) > 0.95


def test_summaries_are_learnt_from_by_second_moments():
    """With population=None and the squared loss training is on all points that the examples may be."""
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(60, 2))
    y = (mean[:, 0] > 0).astype(int)
    data = svmgsu.Gaussians(mean, svmgsu.Full(np.tile([[0.3, 0.2], [0.2, 0.4]], (60, 1, 1))))
    model = small(population=None, lam=1e-3, gamma=0.2, n_features=20).fit(data, y)
    draws = data.sample(4000, random_state=0)
    Z = model.map_.mean(model.lift_.standard(svmgsu.Gaussians(draws.reshape(-1, 2))))
    signs = np.repeat(2.0 * y - 1, 4000)[np.newaxis]
    sampled = Sums.of_features(Z, signs, np.ones(len(Z))).ridge(1e-3)
    grid = model.map_.mean(svmgsu.Gaussians(rng.normal(size=(50, 2))))
    np.testing.assert_allclose(model.scores_(grid), sampled(grid), atol=0.02)
    assert model.score(mean, y) > 0.9


def test_the_exact_kernel_is_kernel_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    t = np.sin(2 * X[:, 0])
    model = svmgsu.SVRGSU(approximation="exact", lam=1e-3, gamma=0.5, search=False, threads=1).fit(X, t)
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    K = np.exp(-0.5 * ((x[:, np.newaxis] - x) ** 2).sum(axis=2))
    z = (t - t.mean()) / t.std()
    # f = Kα + b minimises λ/2 αᵀKα + mean (z - f)²/2: (K + λl I)α = z - b, Σα = 0
    system = np.block([[K + 1e-3 * 40 * np.eye(40), np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.append(z, 0.0))
    wanted = (K @ found[:-1] + found[-1]) * t.std() + t.mean()
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-5)


def test_regressions_know_how_sure_they_are():
    rng = np.random.default_rng(0)

    def objects(count):
        x = rng.uniform(-3, 3, size=(count, 1))
        bars = rng.uniform(0.02, 0.5, size=x.shape)
        y = 100 * np.sin(2 * x[:, 0]) + 1000 + 5 * rng.normal(size=count)
        return x + bars * rng.normal(size=x.shape), y, bars

    X, y, bars = objects(800)
    new_X, new_y, new_bars = objects(2000)
    model = svmgsu.SVRGSU(n_features=60, threads=1).fit(X, y, std=bars)
    values, deviation = model.predict(new_X, std=new_bars, return_std=True)
    np.testing.assert_allclose(model.predict(new_X, std=new_bars), values, rtol=1e-9)
    inside = (np.abs(new_y - values) < norm.ppf(0.84) * deviation).mean()
    assert 0.6 < inside < 0.8
    constant = norm.logpdf(new_y, values, (new_y - values).std()).mean()
    assert norm.logpdf(new_y, values, deviation).mean() > constant + 0.2
    assert model.score(new_X, new_y, std=new_bars) > 0.8
    assert np.array_equal(
        pickle.loads(pickle.dumps(model)).predict(new_X, std=new_bars), model.predict(new_X, std=new_bars)
    )
    robust = svmgsu.SVRGSU(n_features=60, threads=1, loss="huber", search=False).fit(X, y, std=bars)
    assert robust.score(new_X, new_y, std=new_bars) > 0.75


def test_bad_input_is_an_error_before_work_starts():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.arange(30) % 2
    for options, words in (
        ({"gamma": 0.0}, "gamma: must be positive"),
        ({"gamma": "wide"}, 'gamma: expected "auto"'),
        ({"lam": -1.0}, "lam: must be positive"),
        ({"kernel": "sinc"}, "kernel: expected one of"),
        ({"approximation": "sketch"}, "approximation: expected one of"),
        (
            {"approximation": "exact", "kernel": "laplace"},
            'approximation: "exact" is for|approximation: .exact. is for',
        ),
        ({"n_features": 7}, "n_features: a cosine and a sine"),
        ({"population": "two"}, "population: expected"),
        ({"metric": "euclid"}, "metric: expected"),
        ({"link": "yes"}, "link: expected"),
        ({"damping": 2.0}, "damping: expected"),
        ({"cv": 1}, "cv: at least two folds"),
        ({"loss": "absolute"}, "loss: expected"),
        ({"class_weight": "even"}, "class_weight: expected"),
    ):
        with pytest.raises(ValueError, match=words):
            svmgsu.SVMGSU(**options).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        svmgsu.SVMGSU().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="n_components: 50"):
        svmgsu.SVMGSU(n_components=50).fit(X, y, std=0.1)
    with pytest.raises(ValueError, match="feature 0 is missing, or has infinite noise, in every example"):
        svmgsu.SVMGSU().fit(X, y, std=np.full(X.shape, np.inf))
    with pytest.raises(ValueError, match="feature 1"):
        svmgsu.SVMGSU().fit(np.column_stack([X[:, 0], np.ones(30)]), y, std=0.1)
    with pytest.raises(ValueError, match="expecting 2 features"):
        small().fit(X, y).predict(X[:, :1])


@parametrize_with_checks(
    [svmgsu.SVMGSU(n_features=20, cv=2, threads=1), svmgsu.SVRGSU(n_features=20, cv=2, threads=1)]
)
def test_estimators_pass_scikit_learns_checks(estimator, check):
    check(estimator)


def test_a_constant_feature_is_refused_by_the_value_that_it_has():
    X = np.column_stack([np.random.default_rng(0).normal(size=(20, 2)), np.full(20, 7.0)])
    with pytest.raises(ValueError, match="X: feature 2 is 7 in every example that has it"):
        svmgsu.SVMGSU().fit(X, np.arange(20) % 2, std=0.1)


def test_wide_objects_have_no_population_unless_it_is_asked_for():
    X = np.random.default_rng(0).normal(size=(12, 101))
    new = svmgsu.SVMGSU(search=False, n_features=10, random_state=0)
    assert new.fit(X, np.arange(12) % 2, std=0.1).population_ is None
    assert new.fit(X[:, :100], np.arange(12) % 2, std=0.1).population_ is not None
    X[3, 5] = np.nan
    assert new.fit(X, np.arange(12) % 2, std=0.1).population_ is not None


def test_summaries_and_wide_kernels_leave_a_solvable_problem():
    """Where landmarks are nearly dependent, second moments keep enough digits for a small λ."""
    rng = np.random.default_rng(4)
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 6)) + y[:, np.newaxis]
    data = svmgsu.Gaussians(X, svmgsu.Diagonal(rng.uniform(0.2, 1.0, X.shape)))
    model = svmgsu.SVMGSU(
        search=False, gamma=0.01, lam=1e-6, population=None, approximation="landmarks", n_features=200
    )
    assert model.fit(data, y).score(X, y) > 0.7
    assert model.gap_ < 1e-3 * model.objective_


def test_error_bars_are_no_features_of_draws():
    _, y, X, bars = rings(60, 0.3)
    with pytest.raises(ValueError, match="bars_as_features: without a population"):
        small(population=None, bars_as_features=True).fit(X, y, std=bars)
