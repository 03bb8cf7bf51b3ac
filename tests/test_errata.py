"""The paper's errata: what is printed is numerically wrong, and what the library does instead is right."""

import numpy as np
import pytest
from conftest import train_with
from scipy.integrate import quad
from scipy.special import erf

import svmgsu
from svmgsu import reference

X = np.array([[0.8, -0.3], [-0.4, 0.9], [0.2, 0.5]])
Y = np.array([1.0, -1.0, -1.0])
S = np.array([[[0.5, 0.2], [0.2, 0.4]], [[0.3, -0.1], [-0.1, 0.6]], [[0.2, 0.0], [0.0, 0.7]]])
W, B, LAM = np.array([0.7, -1.1]), 0.3, 0.2


def d_and_d_sigma(w, b):
    """The paper's d_x and d_Σ of every example."""
    return 1 - Y * (X @ w + b), np.sqrt(2 * np.einsum("i,lij,j->l", w, S, w))


def objective(w, b):
    """(5) with the loss (6), as printed; both are right."""
    d, d_sigma = d_and_d_sigma(w, b)
    loss = d / 2 * (erf(d / d_sigma) + 1) + d_sigma / (2 * np.sqrt(np.pi)) * np.exp(-((d / d_sigma) ** 2))
    return LAM / 2 * w @ w + loss.mean()


def printed_gradient(w, b):
    """(7) and (8) as printed."""
    d, d_sigma = d_and_d_sigma(w, b)
    first = (np.exp(-((d / d_sigma) ** 2)) / (np.sqrt(np.pi) * d_sigma))[:, None] * (S @ w)
    mass = erf(d / d_sigma) + 1
    return LAM * w + (first - 0.5 * mass[:, None] * X).mean(axis=0), -mass.mean()


def corrected_gradient(w, b):
    """(7) and (8) with the missing y and ½."""
    d, d_sigma = d_and_d_sigma(w, b)
    first = (np.exp(-((d / d_sigma) ** 2)) / (np.sqrt(np.pi) * d_sigma))[:, None] * (S @ w)
    mass = erf(d / d_sigma) + 1
    return LAM * w + (first - 0.5 * (Y * mass)[:, None] * X).mean(axis=0), -(Y * mass / 2).mean()


def differences(f, w, b, h=1e-6):
    """The gradient by central differences."""
    steps = h * np.eye(len(w))
    by_w = np.array([(f(w + e, b) - f(w - e, b)) / (2 * h) for e in steps])
    return by_w, (f(w, b + h) - f(w, b - h)) / (2 * h)


def test_the_loss_6_is_the_expected_hinge():
    """By quadrature, and it is the library's."""
    d, d_sigma = d_and_d_sigma(W, B)
    s = d_sigma / np.sqrt(2)
    expected = [
        quad(lambda t, k=k: max(0, d[k] + s[k] * t) * np.exp(-t * t / 2), -12, 12, points=[-d[k] / s[k]])[0]
        for k in range(3)
    ]
    mean = np.mean(expected) / np.sqrt(2 * np.pi)
    assert objective(W, B) == pytest.approx(LAM / 2 * W @ W + mean, rel=1e-8)
    library = svmgsu.Objective(X, Y, svmgsu.Full(S), lam=LAM)
    assert library.value(W, B) == pytest.approx(objective(W, B), rel=1e-12)


def test_gradient_7_by_w_lacks_y():
    by_w, _ = differences(objective, W, B)
    assert np.abs(printed_gradient(W, B)[0] - by_w).max() > 0.1
    assert corrected_gradient(W, B)[0] == pytest.approx(by_w, abs=1e-8)
    _, library, _ = svmgsu.Objective(X, Y, svmgsu.Full(S), lam=LAM).value_and_gradient(W, B)
    assert library == pytest.approx(by_w, abs=1e-8)


def test_gradient_8_by_b_lacks_half_y():
    _, by_b = differences(objective, W, B)
    assert abs(printed_gradient(W, B)[1] - by_b) > 0.1
    assert corrected_gradient(W, B)[1] == pytest.approx(by_b, abs=1e-8)
    _, _, library = svmgsu.Objective(X, Y, svmgsu.Full(S), lam=LAM).value_and_gradient(W, B)
    assert library == pytest.approx(by_b, abs=1e-8)


def test_gradients_11_and_12_in_subspaces_lack_the_same():
    """J' of (10), with projected means, by differences; the library's `project` mode has them right."""
    projected = svmgsu.Gaussians(X, svmgsu.Full(S)).subspace(0.6, "project")
    values, vectors = np.linalg.eigh(S)
    rows = np.arange(3)
    P, lead = vectors[rows, :, -1], values[:, -1]  # one direction an example keeps more than 60 %
    assert (lead / values.sum(axis=1) > 0.6).all()

    def objective_z(w, b):
        wz = P @ w
        z = np.einsum("li,li->l", P, X)
        d, d_sigma = 1 - Y * (wz * z + b), np.sqrt(2 * lead) * np.abs(wz)
        r = d / d_sigma
        loss = d / 2 * (erf(r) + 1) + d_sigma / (2 * np.sqrt(np.pi)) * np.exp(-(r**2))
        return LAM / 2 * w @ w + loss.mean()

    def gradient_z(w, b, y, half):
        wz = P @ w
        z = np.einsum("li,li->l", P, X)
        d, d_sigma = 1 - Y * (wz * z + b), np.sqrt(2 * lead) * np.abs(wz)
        r = d / d_sigma
        first = (np.exp(-(r**2)) / (np.sqrt(np.pi) * d_sigma) * lead * wz)[:, None] * P
        second = (0.5 * y * (erf(r) + 1) * z)[:, None] * P
        return LAM * w + (first - second).mean(axis=0), -(half * y * (erf(r) + 1)).mean()

    by_w, by_b = differences(objective_z, W, B)
    printed = gradient_z(W, B, np.ones(3), 1.0)
    assert np.abs(printed[0] - by_w).max() > 0.02
    assert abs(printed[1] - by_b) > 0.1
    right = gradient_z(W, B, Y, 0.5)
    assert right[0] == pytest.approx(by_w, abs=1e-8)
    assert right[1] == pytest.approx(by_b, abs=1e-8)
    value, gw, gb = svmgsu.Objective(projected, Y, lam=LAM).value_and_gradient(W, B)
    assert value == pytest.approx(objective_z(W, B), rel=1e-10)
    assert gw == pytest.approx(by_w, abs=1e-7)
    assert gb == pytest.approx(by_b, abs=1e-7)


def test_the_loss_vanishes_as_d_goes_to_minus_infinity_not_plus():
    far, right = np.array([40.0]), np.array([-40.0])
    assert reference.expected_hinge(far, np.ones(1))[0] == pytest.approx(40.0)
    assert reference.expected_hinge(right, np.ones(1))[0] == pytest.approx(0.0, abs=1e-12)


def test_the_step_of_algorithm_1_divides_by_k_once():
    """On minibatches of all k = 40 examples SGD is gradient descent. With the printed steps, 40 times too
    short, it does not come near the optimum in the same time."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 20)
    means = rng.normal(size=(40, 3)) + y[:, None]
    variances = rng.uniform(0.1, 0.5, (40, 3))
    lam, steps, k = 0.1, 400, 40
    problem = svmgsu.Objective(means, y, variances, lam=lam)
    optimum = svmgsu.train(means, y, variances, lam=lam, tol=1e-9).objective_

    def descend(divisor):
        w, b = np.zeros(3), 0.0
        for t in range(1, steps + 1):
            _, gw, gb = problem.value_and_gradient(w, b)
            eta = 1 / (lam * t) / divisor
            w, b = w - eta * gw, b - eta * gb
            w *= min(1, 1 / np.sqrt(lam) / max(np.linalg.norm(w), 1e-300))
        return problem.value(w, b)

    assert descend(1) <= optimum * 1.02
    assert descend(k) > optimum * 1.02
    library = train_with(means, y, variances, lam=lam, steps=steps, batch_size=k, average=0.0, solver="sgd")
    assert library.objective_ <= optimum * 1.02


def test_the_bound_13_ignores_the_covariance_and_the_number_of_samples():
    """P(|L - L_N| >= r) <= 2 exp(-r²/(2|w|²)) fails for wide Gaussians, and does not gain from more samples;
    the right one, 2 exp(-N r²/(2 wᵀΣw)), holds."""
    rng = np.random.default_rng(1)
    w, sigma, r = 0.5, 8.0, 1.5
    s = w * sigma

    def misses(count, trials=20_000):
        draws = np.maximum(0, 1 - w * sigma * rng.standard_normal((trials, count)))
        exact = reference.expected_hinge(np.ones(1), np.array([s]))[0]
        return (np.abs(draws.mean(axis=1) - exact) >= r).mean()

    printed = 2 * np.exp(-(r**2) / (2 * w**2))
    assert misses(1) > 10 * printed
    for count in (1, 4, 16, 64):
        assert misses(count) <= min(1, 2 * np.exp(-count * r**2 / (2 * s**2)))
    assert misses(64) < misses(1) / 10  # more samples do help, and the printed bound knows nothing of it


def test_a_standard_error_is_sigma_over_root_n():
    """Not σ²/N: the means of N draws spread by σ/√N."""
    rng = np.random.default_rng(3)
    sigma, count = 4.0, 25
    spread = rng.normal(0, sigma, (20_000, count)).mean(axis=1).std()
    assert spread == pytest.approx(sigma / np.sqrt(count), rel=0.02)
    assert abs(spread - sigma**2 / count) / spread > 0.15
