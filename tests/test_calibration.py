"""Probabilities: the fitted sigmoids, what error bars do to them, and the scores they are fitted to."""

import numpy as np
import pytest
import scipy.optimize
from conftest import UNCERTAIN_KINDS, make_problem, train_with
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.stats import norm

import svmgsu
from svmgsu import _core
from svmgsu.models.calibration import Calibration


def fitted(*scores):
    return Calibration(*_core.fit_calibration(*scores))


def noisy_margins(count=20000, gamma=1.0, slope=3.0, seed=0):
    """Labels follow a sigmoid of the true margin; its noise is told as variance / gamma."""
    rng = np.random.default_rng(seed)
    truth, s = 1.5 * rng.normal(size=count), rng.uniform(0, 2, count)
    signs = np.where(rng.random(count) < 1 / (1 + np.exp(-slope * truth)), 1.0, -1.0)
    measured = truth + s * rng.normal(size=count)
    return measured, s**2 / gamma, signs, np.ones(count)


def penalised(theta, margin, variance, signs, weights, natural):
    """The objective written out from the documentation, in the fitted parameters a, b, log kappa."""
    a, b, log_kappa = theta
    positives, negatives = weights[signs > 0].sum(), weights[signs < 0].sum()
    base = np.log(positives / negatives)
    target = np.where(signs > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    total = (log_kappa - np.log(natural)) ** 2 / 2
    for v, share in ((variance, 0.95), (0 * variance, 0.05)):
        z = base + (a * margin + b - base) / (1 + np.exp(log_kappa) * v)
        loss = -target * np.log(1 / (1 + np.exp(-z))) - (1 - target) * np.log(1 / (1 + np.exp(z)))
        total += share * (weights @ loss)
    return total


def variance_within_classes(slope, base, margin, variance, weights):
    """From the variance V of the true margins, at which (f - mean)^2 / (V + v) is 1 on average."""

    def excess(V):
        precision = weights / (V + variance)
        return precision @ (margin - np.average(margin, weights=precision)) ** 2 - weights.sum()

    seen = np.cov(margin, aweights=weights, ddof=0)
    V = brentq(excess, 0.01 * seen, seen) if excess(0.01 * seen) > 0 else 0.01 * seen
    share = 1 / (1 + np.exp(-base))
    within = minimize_scalar(  # V = t + q (slope t)^2
        lambda t: (t + share * (1 - share) * (slope * t) ** 2 - V) ** 2, bounds=(0, V), method="bounded"
    )
    return within.x


@pytest.mark.parametrize("gamma", [0.2, 1.0, 5.0])
def test_the_fit_is_scipys_minimum(gamma):
    margin, variance, signs, weights = noisy_margins(400, gamma)
    weights = weights + (np.arange(400) % 3)
    got = fitted(margin, variance, signs, weights)
    assert got.base == pytest.approx(np.log(weights[signs > 0].sum() / weights[signs < 0].sum()))
    slope = -_core.fit_platt(margin, signs, weights)[0]
    natural = 1 / variance_within_classes(slope, got.base, margin, variance, weights)
    theta = np.array([got.a, got.b, np.log(got.kappa)])
    args = (margin, variance, signs, weights, natural)
    found = minimize(penalised, theta + 0.1, args=args, method="Nelder-Mead")
    assert penalised(theta, *args) <= found.fun + 1e-6
    np.testing.assert_allclose(theta, found.x, atol=2e-2)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_normal_margins_with_noise_have_the_log_odds_of_bayes(share):
    rng = np.random.default_rng(5)
    signs = np.where(rng.random(60000) < share, 1.0, -1.0)
    s = rng.uniform(0.2, 2, len(signs))
    margin = 1.1 * signs + 0.8 * rng.normal(size=len(signs)) + s * rng.normal(size=len(signs))
    got = fitted(margin, s**2, signs, np.ones(len(signs)), 0.0)
    f, v = np.meshgrid(np.linspace(-3, 3, 7), [0.25, 1.0, 4.0])
    bayes = np.log(share / (1 - share)) + 2.2 * f / (0.8**2 + v)
    p, wanted = got.probability(f.ravel(), v.ravel()), 1 / (1 + np.exp(-bayes.ravel()))
    np.testing.assert_allclose(p, wanted, atol=0.05)


def test_a_blurred_object_gets_a_probability_nearer_to_the_share_of_its_class():
    c = Calibration(2.0, 0.3, 0.5, -2.5)
    p = c.probability(np.full(5, 1.2), np.array([0.0, 1.0, 10.0, 1e12, np.inf]))
    assert (np.diff(p) <= 0).all()
    np.testing.assert_allclose(p[-2:], 1 / (1 + np.exp(2.5)), rtol=1e-9)
    assert p[0] == pytest.approx(1 / (1 + np.exp(-(2.0 * 1.2 + 0.3))))
    np.testing.assert_array_equal(c.log_odds(np.arange(2.0)), c.log_odds(np.arange(2.0), np.zeros(2)))
    moved = c.log_odds(np.full(2, 1.2), np.array([0.0, 3.0]), prior=np.array([0.5, -1.0]))
    np.testing.assert_allclose(moved - c.log_odds(np.full(2, 1.2), np.array([0.0, 3.0])), [3.0, 1.5])


@pytest.mark.parametrize("seed", range(8))
def test_a_score_that_ranks_the_wrong_way_round_says_no_more_than_the_share(seed):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(60) < 0.3, 1.0, -1.0)
    margin, variance = rng.normal(size=60), rng.exponential(size=60)
    for v in (None, variance):
        got = fitted(margin, v, signs, np.ones(60))
        assert got.a >= 0 and got.kappa >= 0
        if got.a == 0:
            assert got.probability(margin, v) == pytest.approx(np.full(60, (signs > 0).mean()))


@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 50.0), (1e6, 0.0)])
def test_units_and_offsets_of_the_scores_do_not_matter(scale, offset):
    margin, variance, signs, weights = noisy_margins(500)
    plain = fitted(margin, variance, signs, weights).probability(margin, variance)
    moved = scale * (margin + offset)
    other = fitted(moved, scale**2 * variance, signs, weights)
    np.testing.assert_allclose(other.probability(moved, scale**2 * variance), plain, atol=1e-5)


@pytest.mark.parametrize(
    ("margin", "variance"),
    [
        (np.array([-3.0, -2, -1, 1, 2, 3]), np.array([1.0, 0.1, 0, 2, 0, 1])),  # separable
        (np.full(6, 2.0), np.arange(6.0)),  # all alike
        (np.array([-3.0, -2, -1, 1, 2, 3]), np.full(6, 1e12)),  # nothing but noise
        (np.array([3.0, 2, 1, -1, -2, -3]), np.arange(6.0)),  # the wrong way round
        (np.array([1e-12, 2e-12, 0, 4e-12, 5e-12, 9e-12]), np.full(6, 1e-30)),
    ],
)
def test_degenerate_scores_give_finite_probabilities(margin, variance):
    got = fitted(margin, variance, np.array([-1.0, -1, -1, 1, 1, 1]), np.ones(6))
    for v in (variance, None):
        p = got.probability(margin, v)
        assert np.isfinite(p).all()
        assert ((p > 0) & (p < 1)).all()


# Models


@pytest.mark.parametrize("kind", UNCERTAIN_KINDS)
def test_a_model_s_deviations_are_those_of_the_covariance(kind):
    p = make_problem(kind)
    model = svmgsu.train(p.X, p.y, p.cov, lam=0.1)
    if kind == "shared by class":
        with pytest.raises(ValueError, match="cov: nothing is said"):
            model.decision_function(svmgsu.Gaussians(p.X, p.cov), return_std=True)
        return
    variance = np.einsum("iab,a,b->i", p.full, model.coef_[0], model.coef_[0])
    values, std = model.decision_function(p.X, p.cov, return_std=True)
    np.testing.assert_array_equal(values, model.decision_function(p.X))
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-6)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            model.margin_probability(p.X, p.cov), norm.cdf(values / np.sqrt(variance)), rtol=1e-5
        )
    proba = model.predict_proba(p.X, p.cov)
    c = model.calibration_[0]
    z = c.base + (c.a * values + c.b - c.base) / (1 + c.kappa * variance)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-z)), rtol=1e-6)
    np.testing.assert_array_equal(model.predict_proba(svmgsu.Gaussians(p.X, p.cov)), proba)


@pytest.mark.parametrize("kind", ["none", "diagonal"])
def test_with_and_without_error_bars_are_one_function(kind):
    p = make_problem(kind)
    model = svmgsu.train(p.X, p.y, p.cov, lam=0.1)
    A, B = model.platt_
    plain = 1 / (1 + np.exp(A * model.decision_function(p.X) + B))
    np.testing.assert_allclose(model.predict_proba(p.X)[:, 1], plain, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(p.X, std=0.0), model.predict_proba(p.X))
    np.testing.assert_allclose(model.predict_proba(p.X, std=1e-9), model.predict_proba(p.X), atol=1e-12)
    share = (p.y == model.classes_[1]).mean()
    gone = [np.abs(model.predict_proba(p.X, std=s)[:, 1] - share) for s in (0.0, 1.0, 100.0)]
    assert (gone[1] < gone[0]).all() and (gone[2] < gone[1]).all()


def test_train_is_platts_sigmoid_on_the_training_scores():
    p = make_problem("none")
    model = svmgsu.train(p.X, p.y, lam=0.1, probability="train")
    assert model.platt_ == _core.fit_platt(model.decision_function(p.X), p.y, np.ones(60))
    assert Calibration.from_platt((-2.0, 0.5)) == Calibration(a=2.0, b=-0.5, kappa=1.0, base=0.0)


@pytest.mark.parametrize("grouped", [False, True])
def test_probabilities_are_fitted_to_scores_of_models_without_the_fold(grouped):
    p = make_problem("diagonal", 90)
    groups = np.arange(90) // 6 if grouped else None
    model = svmgsu.train(p.X, p.y, p.cov, lam=0.1, groups=groups, tol=1e-9)
    signs = (p.y == 1).astype(int)
    if grouped:
        folds = _core.folds_of_groups(groups, signs, 2, np.ones(90))
        assert all(len(np.unique(folds[groups == g])) == 1 for g in range(15))
    else:
        scores = model.decision_function(p.X)
        folds = np.empty(90, dtype=int)
        for sign in (0, 1):
            members = np.flatnonzero(signs == sign)
            folds[members[np.argsort(scores[members])]] = np.arange(len(members)) % 5
    assert np.unique(folds).tolist() == [0, 1, 2, 3, 4]
    margin, variance = np.empty(90), np.empty(90)
    for fold in range(5):
        known, new = folds != fold, folds == fold
        options = {"lam": 0.1, "probability": False, "tol": 1e-9}
        single = svmgsu.train(p.X[known], p.y[known], p.cov.take(known), **options)
        margin[new] = single.decision_function(p.X[new])
        variance[new] = p.twin[new] @ single.coef_[0] ** 2
    wanted = fitted(margin, variance, p.y, np.ones(90))
    (got,) = model.calibration_
    np.testing.assert_allclose(
        [got.a, got.b, got.kappa, got.base], [wanted.a, wanted.b, wanted.kappa, wanted.base], rtol=1e-4
    )


def test_a_fold_without_samples_of_a_pair_is_passed_over():
    y = np.array([int(c) for c in "200033323321033021301210130223303003121332220333023332133220"])
    groups = np.array([int(c) for c in "441203401345500201125035532334655241301140101311500661503634"])
    folds = _core.folds_of_groups(groups, y, 4, np.ones(60))
    pairs = [(a, b) for b in range(4) for a in range(b)]
    assert any(not np.isin(y[folds == k], pair).any() for pair in pairs for k in range(folds.max() + 1))
    X = np.random.default_rng(0).normal(size=(60, 3)) + y[:, None]
    assert len(svmgsu.train(X, y, groups=groups).calibration_) == 6


def test_samples_are_dealt_out_by_class_in_the_order_of_their_keys():
    keys = np.array([5.0, 1, 3, 2, 4, 6, 6, 10, 30, 20, 0])
    codes = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    weights = np.r_[np.ones(10), 0]
    folds = _core.folds_by_key(keys, codes, 2, weights)
    assert folds.tolist() == [1, 0, 2, 1, 0, 2, 2, 0, 2, 1, -1]  # three keys of class 1: three folds
    assert _core.folds_by_key(np.arange(12.0), np.zeros(12, int), 1, np.ones(12)).max() == 4
    assert _core.folds_by_key(keys, codes, 2, np.r_[np.ones(8), 0, 0, 0]) is None


def test_groups_are_dealt_out_whole_and_leave_every_class():
    rng = np.random.default_rng(0)
    for classes, groups in ((2, 40), (3, 12), (4, 9)):
        of = rng.integers(groups, size=600)
        codes = (of + rng.integers(2, size=600)) % classes  # a group has two of the classes
        folds = _core.folds_of_groups(7 * of - 50, codes, classes, np.ones(600))
        table = np.zeros((folds.max() + 1, classes))
        np.add.at(table, (folds, codes), 1)
        assert all(len(np.unique(folds[of == g])) == 1 for g in range(groups))
        largest = max(np.bincount(codes[of == g], minlength=classes).max() for g in range(groups))
        assert len(table) == 5 or groups < 5 * classes
        assert (table.max(axis=0) <= table.sum(axis=0) / len(table) + 2 * largest).all()
        assert (table < table.sum(axis=0)).all()
    # Class 1 is in two groups: two folds. Were both in the first fold, nothing of it would be left.
    assert _core.folds_of_groups([0, 1, 2, 3, 4], [0, 0, 0, 1, 1], 2, np.ones(5)).max() == 1
    assert _core.folds_of_groups([0, 1, 2, 3, 3], [0, 0, 0, 1, 1], 2, np.ones(5)) is None
    weights = np.array([1.0, 1, 0, 1, 1])
    assert _core.folds_of_groups([0, 1, 2, 3, 4], [0, 0, 0, 1, 1], 2, weights)[2] == -1


def test_test_time_noise_is_left_out_of_the_calibration():
    p = make_problem("diagonal", 80)
    data = svmgsu.Gaussians(p.X, p.cov).add_noise(1.0)
    model = train_with(data, p.y, lam=0.1, cov_scale=2.0, probability="train")
    variance = p.twin @ model.coef_[0] ** 2
    wanted = _core.fit_calibration(model.decision_function(p.X), variance, p.y, np.ones(80))
    (got,) = model.calibration_
    np.testing.assert_allclose([got.a, got.b, got.kappa, got.base], wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("classes", "options", "probabilities"),
    [
        (2, {}, [0.985524740803356, 0.484981628934208]),
        (3, {"sample_weight": 1.0 + np.arange(90) // 2 % 3}, [0.978301686142786, 0.320652405442212]),
        (
            3,
            {
                "multi_class": "ovr",
                "loss": "logistic",
                "class_weight": "balanced",
                "sample_weight": 1 + 0.1 * (np.arange(90) % 7),
            },
            [0.587152888913011, 0.36655653269802],
        ),
        (2, {"groups": np.arange(90) // 4}, [0.987908192612029, 0.485360475750847]),
        (3, {"probability": "train"}, [0.976444570478569, 0.365812456179522]),
    ],
)
def test_probabilities_are_those_of_cpp(classes, options, probabilities):
    """cpp/tests/test_fit.cpp has the same samples and numbers."""
    i, j, y = np.arange(90)[:, None], np.arange(3), np.arange(90) % classes
    X = np.sin(1.0 + 7 * i + 3 * j * j) + 0.8 * (y[:, None] == j)
    V = 0.05 + 0.02 * ((5 * i + 3 * j) % 7)
    model = train_with(X, y, V, lam=0.05, tol=1e-9, **options)
    np.testing.assert_allclose(model.predict_proba(X[:2], V[:2])[:, 0], probabilities, rtol=0, atol=1e-6)


@pytest.mark.parametrize("bad", ["yes", 2, None, "CV"])
def test_another_word_for_probability_is_refused(bad):
    p = make_problem("none")
    with pytest.raises(ValueError, match="probability: expected True"):
        svmgsu.train(p.X, p.y, probability=bad)


def test_questions_that_need_a_covariance_say_so():
    p = make_problem("none")
    model = svmgsu.train(p.X, p.y, lam=0.1)
    with pytest.raises(ValueError, match="cov: nothing is said of the uncertainty of X"):
        model.margin_probability(p.X)
    with pytest.raises(ValueError, match="cov: nothing is said of the uncertainty of X"):
        model.decision_function(p.X, return_std=True)
    with pytest.raises(ValueError, match="X has 3 features, but this model is expecting 7"):
        model.predict_proba(np.zeros((2, 3)), std=1.0)
    with pytest.raises(ValueError, match=r"cov: .*does not fit 60 samples"):
        model.predict_proba(p.X, np.ones((59, 7)))
    with pytest.raises(ValueError, match="cov: X is a Gaussians and has its covariance already"):
        model.predict_proba(svmgsu.Gaussians(p.X, std=1.0), std=1.0)


def sample(seed=0, count=300, shift=1.0, share=0.4):
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=count) < share, 1.0, -1.0)
    return rng.normal(size=count) + shift * y, y


def likelihood(theta, scores, y):
    """Lin, Lin and Weng's regularised negative log-likelihood and its gradient."""
    positives, negatives = (y > 0).sum(), (y < 0).sum()
    target = np.where(y > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    z = theta[0] * scores + theta[1]
    residual = target - np.exp(-np.logaddexp(0, z))
    return (target * z + np.logaddexp(0, -z)).sum(), np.array([residual @ scores, residual.sum()])


def by_scipy(scores, y):
    start = np.array([0.0, np.log(((y < 0).sum() + 1) / ((y > 0).sum() + 1))])
    options = {"gtol": 1e-9, "maxiter": 500}
    return scipy.optimize.minimize(likelihood, start, (scores, y), "BFGS", jac=True, options=options).x


def probability(theta, scores):
    return np.exp(-np.logaddexp(0, theta[0] * scores + theta[1]))


@pytest.mark.parametrize(("share", "shift"), [(0.05, 3.0), (0.4, 0.1), (0.95, 1.0)])
def test_it_finds_scipy_s_minimum(shift, share):
    scores, y = sample(1, shift=shift, share=share)
    got = np.array(_core.fit_platt(scores, y))
    np.testing.assert_allclose(got, by_scipy(scores, y), rtol=1e-6, atol=1e-7)
    assert np.linalg.norm(likelihood(got, scores, y)[1]) <= 1e-8 * len(y)


def rare(share, seed=0, count=2000):
    rng = np.random.default_rng(seed)
    y = (rng.random(count) < share).astype(int)
    y[:2] = 1
    return rng.normal(size=(count, 2)) + 3.0 * y[:, None], y


@pytest.mark.parametrize(("share", "std"), [(0.5, None), (0.05, 0.3), (0.01, 0.3)])
def test_a_blurred_object_has_the_share_of_its_class_or_the_one_stated(share, std):
    X, y = rare(share)
    model = svmgsu.train(X, y, std=std, lam=1e-3)
    new = X + 30 * np.random.default_rng(1).normal(size=X.shape)
    np.testing.assert_allclose(model.predict_proba(new, std=30.0)[:, 1].mean(), y.mean(), atol=0.02)
    np.testing.assert_allclose(model.predict_proba(new, std=1e4)[:, 1], y.mean(), atol=1e-3)
    stated = model.predict_proba(new, std=1e4, prior={0: 0.3, 1: 0.7})
    np.testing.assert_allclose(stated[:, 1], 0.7, atol=1e-2)
    np.testing.assert_allclose(model.set_prior([3, 7]).predict_proba(new, std=1e4), stated)
    assert model.set_prior(None).prior_ is None


def test_groups_are_held_out_of_the_calibration():
    """Repeated patients whose class is chance: a model knows the patients by heart, and no others."""
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(60), 10)
    label = rng.permutation(60) % 2
    X = (rng.normal(size=(60, 40)) + 0.2 * label[:, None])[patient] + 0.1 * rng.normal(size=(600, 40))
    y = label[patient]
    sure = [
        train_with(X, y, lam=0.001, **more).predict_proba(rng.normal(size=(500, 40))).max(axis=1).mean()
        for more in ({}, {"groups": patient})
    ]
    assert sure[1] < sure[0] - 0.1
    search = svmgsu.LinearSVMGSU([0.001]).fit(X, y, groups=patient)
    assert search.model_.calibration_ != svmgsu.LinearSVMGSU([0.001]).fit(X, y).model_.calibration_


def test_a_class_of_one_group_is_warned_of_and_bad_splits_are_refused():
    X, y = rare(0.3, count=200)
    with pytest.warns(UserWarning, match="groups: they cannot be held out"):
        svmgsu.train(X, y, groups=y)
    with pytest.raises(ValueError, match="groups: expected one for each of 200"):
        svmgsu.train(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match=r"prior: expected shape \(2,\), got \(3,\)"):
        svmgsu.train(X, y).set_prior([0.5, 0.6, 0.1])
