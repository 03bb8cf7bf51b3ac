"""Extreme deconvolution against the original algorithm in NumPy, scikit-learn's mixtures and sampling."""

import numpy as np
import pytest
from conftest import UNCERTAIN_KINDS, make_problem, spd
from scipy.special import ndtr
from sklearn.mixture import GaussianMixture

import svmgsu
from svmgsu import _core
from svmgsu.estimators.observations import observe

WEIGHTS = np.array([0.2, 0.3, 0.5])


def start(n, scale=1.0):
    """A mixture of three components to start from."""
    rng = np.random.default_rng(9)
    return WEIGHTS, scale * rng.normal(size=(3, n)), scale**2 * (spd(rng, 3, n) + np.eye(n))


def original(X, S, R, w, m, V):
    """One step as Bovy, Hogg and Roweis (2011, eqs. 16-19) print it: w, m, V, log-likelihoods, q, b, B."""
    T = np.einsum("ian,knm,ibm->ikab", R, V, R) + S[:, None]
    r = X[:, None] - np.einsum("ian,kn->ika", R, m)
    inverse = np.linalg.inv(T)
    logs = (
        np.log(w) - (np.einsum("ika,ikab,ikb->ik", r, inverse, r) + np.linalg.slogdet(2 * np.pi * T)[1]) / 2
    )
    total = np.logaddexp.reduce(logs, axis=1)
    q = np.exp(logs - total[:, None])
    gain = np.einsum("knm,iam,ikab->iknb", V, R, inverse)
    b = m + np.einsum("iknb,ikb->ikn", gain, r)
    B = V - np.einsum("iknb,ibm,kmp->iknp", gain, R, V)
    share = q.sum(axis=0)
    mean = np.einsum("ik,ikn->kn", q, b) / share[:, None]
    away = b - mean
    cov = np.einsum("ik,iknp->knp", q, away[..., None] * away[..., None, :] + B) / share[:, None, None]
    return share / len(X), mean, cov, total, q, b, B


def run(seen, mixture, steps=1, tol=-1.0, floor=1e-12, threads=1):
    core = seen.core()
    return _core.deconvolve(core, core.units(), _core.Mixture(*mixture), tol, steps, floor, threads)


def posterior_of(seen, mixture):
    core = seen.core()
    return _core.posterior(core, core.units(), _core.Mixture(*mixture), 1, True)


def check_step(seen, X, S, R, mixture):
    w, m, V, total, q, b, B = original(X, S, R, *mixture)
    found = run(seen, mixture)
    for got, want in zip(found.mixture.parts, (w, m, V), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.history[0], total.mean(), rtol=1e-10)
    for got, want in zip(posterior_of(seen, mixture), (total, None, q, b, B), strict=True):
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", ["none", *(k for k in UNCERTAIN_KINDS if k != "shared by class")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_step_is_that_of_the_original_algorithm(kind, dtype):
    problem = make_problem(kind, count=61, n=4, dtype=dtype)
    data = svmgsu.Gaussians(problem.X, problem.cov)
    whole = np.broadcast_to(np.eye(4), (61, 4, 4))
    check_step(observe(data), problem.means, problem.full, whole, start(4))


@pytest.mark.parametrize("kind", ["none", "diagonal", "full", "low rank"])
def test_missing_values_are_rows_of_the_identity_that_are_not_there(kind):
    problem = make_problem(kind, count=61, n=4)
    rng = np.random.default_rng(0)
    X, S, R = problem.means.copy(), problem.full.copy(), np.tile(np.eye(4), (61, 1, 1))
    missing = rng.uniform(size=X.shape) < 0.4
    missing[0] = True  # an object of which nothing was seen
    seen = observe(np.where(missing, np.nan, X), problem.cov)
    X[missing], R[missing] = 0.0, 0.0
    S[missing[:, :, None] | missing[:, None, :]] = 0.0
    S += np.eye(4) * missing[:, None, :] / (2 * np.pi)  # a density of one, whatever the parameters
    check_step(seen, X, S, R, start(4))


def test_without_noise_it_is_scikit_learns_mixture():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal(size=(200, 2)) * [0.3, 1] + 4])
    mixture = (np.full(2, 0.5), X[[0, 400]], np.array([np.eye(2)] * 2))
    options = {"weights_init": mixture[0], "means_init": mixture[1], "precisions_init": mixture[2]}
    twin = GaussianMixture(2, tol=1e-12, max_iter=2000, reg_covar=0, **options).fit(X)
    seen = observe(X).core()
    found = _core.deconvolve(seen, seen.units(), _core.Mixture(*mixture), 1e-12, 2000, 1e-6, 1, None)
    for got, want in zip(found.mixture.parts, (twin.weights_, twin.means_, twin.covariances_), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert found.log_likelihood == pytest.approx(twin.lower_bound_, abs=1e-9)
    logs, _, shares = _core.posterior(seen, seen.units(), found.mixture, 1, False)[:3]
    np.testing.assert_allclose(logs, twin.score_samples(X), atol=1e-4)
    np.testing.assert_allclose(shares, twin.predict_proba(X), atol=1e-5)


# What holds whatever the data


def groups(count=1500, seed=0, noise=1.0):
    """True objects of two groups, and what was measured of them with noise of very different sizes."""
    rng = np.random.default_rng(seed)
    second = rng.uniform(size=count) < 0.3
    truth = np.where(second[:, None], rng.normal(size=(count, 2)) * [1, 0.2] + [2, 1], 0.0)
    truth += np.where(second[:, None], 0.0, rng.normal(size=(count, 2)) * [0.3, 1] - [2, 0])
    std = noise * rng.choice([0.1, 0.4, 1.0], size=truth.shape)
    return truth, svmgsu.Gaussians(truth + std * rng.normal(size=truth.shape), std=std)


@pytest.mark.parametrize("memory", [0, 10])
@pytest.mark.parametrize("missing", [False, True])
def test_the_likelihood_never_falls(memory, missing):
    _, data = groups(300)
    X = np.where(np.random.default_rng(1).uniform(size=data.shape) < 0.3 * missing, np.nan, data.mean)
    seen = observe(X, data.cov).core()
    units = seen.units()
    for components in (1, 5):
        begun = _core.start_mixture(seen, units, components, 5, 1e-6, 1)
        found = _core.deconvolve(seen, units, begun, 1e-7, 100, 1e-6, 1, None, memory)
        assert (np.diff(found.history) >= -1e-12).all()


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_the_bits_do_not_depend_on_the_number_of_threads(kind):
    rng = np.random.default_rng(0)
    X, options = rng.normal(size=(900, 3)), {}
    if kind == "diagonal":
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
        options = {"std": rng.uniform(0.1, 1, X.shape)}
    else:
        options = {"cov": 0.1 * spd(rng, 900, 3)}
    one, three = (svmgsu.Deconvolution(4, threads=t, tol=1e-3).fit(X, **options) for t in (1, 3))
    for name in ("weights_", "means_", "covariances_", "lower_bounds_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    a, b = one.transform(X, **options), three.transform(X, **options)
    for name in ("weights", "mean", "cov"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_units_and_offsets_do_not_matter():
    scale = np.array([1e-6, 1e6])
    offset = 1e6
    _, data = groups(500)
    X, std = data.mean, np.sqrt(data.cov.variances)
    plain = svmgsu.Deconvolution(3).fit(X, std=std)
    other = svmgsu.Deconvolution(3).fit((X + offset) * scale, std=std * scale)
    np.testing.assert_allclose(other.weights_, plain.weights_, atol=1e-6)
    np.testing.assert_allclose(other.means_ / scale - offset, plain.means_, atol=1e-5)
    np.testing.assert_allclose(other.covariances_ / np.outer(scale, scale), plain.covariances_, atol=1e-5)
    assert other.lower_bound_ + np.log(scale).sum() == pytest.approx(plain.lower_bound_, abs=1e-6)
    shift = other.transform((X + offset) * scale, std=std * scale)
    np.testing.assert_allclose(shift.mean / scale - offset, plain.transform(X, std=std).mean, atol=1e-4)


def test_the_truth_scatters_about_the_posteriors_as_they_claim():
    """A share p of the truths lies where the posterior has a share below p, in any direction."""
    truth, data = groups(6000)
    found = svmgsu.Deconvolution(3).fit(data).transform(data)
    for direction in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        w = np.array(direction)
        z = (truth @ w)[:, None] - found.mean @ w
        below = ndtr(z / np.sqrt(np.einsum("iknm,n,m->ik", found.cov, w, w)))
        uniform = (found.weights * below).sum(axis=1)
        for p in (0.05, 0.25, 0.5, 0.75, 0.95):
            assert abs((uniform < p).mean() - p) < 0.02
    raw, better = data.mean - truth, found.to_gaussians().mean - truth
    assert (better**2).sum() < 0.6 * (raw**2).sum()


def test_posteriors_of_precise_objects_stay_positive_definite():
    """Noise of a millionth of the spread: the difference S - S(S + Σ)⁻¹S alone would be all rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    found = svmgsu.Deconvolution(2).fit(X, std=1e-9).transform(X, std=1e-9)
    np.testing.assert_allclose(found.cov[:, 0], np.broadcast_to(1e-18 * np.eye(4), (300, 4, 4)), atol=1e-24)
    exact = svmgsu.Deconvolution(2).fit(X).transform(X)
    assert np.abs(exact.cov).max() < 1e-25
    np.testing.assert_allclose(exact.mean, np.repeat(X[:, None], 2, axis=1), atol=1e-12)
