"""Every loss of the core against 40 digits: L and its four derivatives, their limits, and what is refused.

The oracle has the plain loss, its slope, where the slope jumps and where the curvature is constant, and
integrates these against the normal density by Gauss and Legendre's nodes in 45 digits: no closed form.
"""

import functools
import itertools

import mpmath as mp
import numpy as np
import pytest

from svmgsu import _core

LOSSES = {
    name: {
        "default": default if parameter else None,
        "smooth": _core.Loss(name).smooth,
        "error": 5e-14 if name == "logistic" else 0.0,  # besides rounding
    }
    for name, _, parameter, default in _core.known_losses()
}
NAMES = list(LOSSES)
DIGITS = 45


def derivatives(name, d, s, parameter=None):
    d, s = np.broadcast_arrays(np.atleast_1d(np.asarray(d, dtype=float)), np.asarray(s, dtype=float))
    return np.array(_core.loss_derivatives(name, parameter, np.ascontiguousarray(d), np.ascontiguousarray(s)))


def definition(name, p):
    """The plain loss, its slope, the jumps of the slope (place, size) and the curvature (from, to, size)."""
    infinity = mp.inf
    if name == "hinge":
        return (lambda D: max(D, 0), lambda D: mp.mpf(D > 0), [(0, 1)], [])
    if name == "squared_hinge":
        return (lambda D: max(D, 0) ** 2, lambda D: 2 * max(D, 0), [], [(0, infinity, 2)])
    if name == "squared":
        return (lambda D: D * D / 2, lambda D: D, [], [(-infinity, infinity, 1)])
    if name == "epsilon_insensitive":
        return (
            lambda D: max(abs(D) - p, 0),
            lambda D: mp.sign(D) * (abs(D) > p),
            [(-p, 1), (p, 1)],
            [],
        )
    if name == "squared_epsilon_insensitive":
        return (
            lambda D: max(abs(D) - p, 0) ** 2,
            lambda D: 2 * mp.sign(D) * max(abs(D) - p, 0),
            [],
            [(-infinity, -p, 2), (p, infinity, 2)],
        )
    assert name == "huber"
    return (
        lambda D: D * D / 2 if abs(D) <= p else p * (abs(D) - p / 2),
        lambda D: min(max(D, -p), p),
        [],
        [(-p, p, 1)],
    )


@functools.cache
def nodes(count=36):
    """Gauss and Legendre's nodes and weights on [-1, 1], by Newton's method."""
    with mp.workdps(DIGITS + 10):
        found = []
        for k in range(1, count // 2 + 1):
            x = mp.cos(mp.pi * (4 * k - 1) / (4 * count + 2))
            for _ in range(7):
                before, now = mp.mpf(1), x
                for j in range(2, count + 1):
                    before, now = now, ((2 * j - 1) * x * now - (j - 1) * before) / j
                slope = count * (x * now - before) / (x * x - 1)
                x -= now / slope
            weight = 2 / ((1 - x * x) * slope**2)
            found += [(x, weight), (-x, weight)]
        return found


def integral(functions, ends):
    """Of several functions of z at once, given as one that returns them, times the normal density."""
    total = 0
    for a, b in itertools.pairwise(ends):
        middle, half = (a + b) / 2, (b - a) / 2
        for x, weight in nodes():
            z = middle + half * x
            mass = half * weight * mp.exp(-z * z / 2)
            total = total + mass * np.array(functions(z))
    return total / mp.sqrt(2 * mp.pi)


def pieces(low, high, inner=()):
    """Where to cut [low, high], so that a function times the normal density is smooth on every part."""
    start = min(max(mp.mpf(0), low), high)  # where the density is largest
    steps, scale = ((2, 5, 9, 14), 1) if abs(start) < 6 else ((4, 10, 20, 40, 70), 1 / abs(start))
    reach = abs(start) + steps[-1] * scale
    low, high = max(low, -reach), min(high, reach)
    cuts = {start + sign * scale * k for k in steps for sign in (-1, 1)} | {start, low, high} | set(inner)
    return sorted(z for z in cuts if low <= z <= high)


def exact(name, d, s, parameter=None):
    """L and its derivatives at (d, s)."""
    with mp.workdps(DIGITS):
        standard = LOSSES[name]["default"] if parameter is None else parameter
        d, s = mp.mpf(float(d)), mp.mpf(float(s))
        if name == "logistic":
            return logistic(d - 1, s)
        loss, slope, jumps, curvature = definition(name, standard and mp.mpf(standard))
        places = sorted({(x - d) / s for x, _ in jumps} | {(x - d) / s for c in curvature for x in c[:2]})
        ends = [-mp.inf, *(z for z in places if abs(z) != mp.inf), mp.inf]
        out = np.array([mp.mpf(0)] * 5)
        for low, high in itertools.pairwise(ends):
            inside = d + s * (
                high - 1 if low == -mp.inf else low + 1 if high == mp.inf else (2 * low + high) / 3
            )
            if loss(inside) or slope(inside):
                both = integral(lambda z: [loss(d + s * z), slope(d + s * z)], pieces(low, high))
                out[:2] += both
        for x, size in jumps:
            z = (x - d) / s
            out[2:] += np.array([size * h / s**k for k, h in enumerate(hermite(z), 1)]) * mp.npdf(z)
        for low, high, size in curvature:
            parts = integral(hermite, pieces((low - d) / s, (high - d) / s))
            out[2:] += size * parts / np.array([mp.mpf(1), s, s**2])
        return list(out)


def hermite(z):
    return [1, z, z * z - 1]


def logistic(x, s):
    def functions(y):
        e = mp.exp(-abs(y))
        low, high = e / (1 + e), 1 / (1 + e)  # the logistic function at -|y| and |y|
        v, sign = low * high, mp.sign(y)
        return [
            mp.log1p(e) + max(y, 0),
            high if y > 0 else low,
            v,
            sign * v * (low - high),
            v * (1 - 6 * v),
        ]

    if s == 0:
        return functions(x)
    inner = {(k - x) / s for k in (-80, -40, -20, -10, -4, 0, 4, 10, 20, 40, 80)} if s > 0.1 else set()
    return list(integral(lambda z: functions(x + s * z), pieces(mp.mpf(-14), mp.mpf(14), inner)))


def vanishing(name, s):
    """What counts as none: the oracle leaves 1e-40 of an integral that vanishes, over s or s²."""
    return (
        1e-38 / s ** np.array([0, 0, 0, 1, 2])
        if name in ("squared", "squared_epsilon_insensitive", "huber")
        else np.full(5, 1e-307)
    )


@pytest.mark.parametrize("s", [1e-8, 0.37, 1e8])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "logistic"])
def test_derivatives_have_twelve_digits(name, s):
    row = LOSSES[name]
    r = np.array([-36.3, -1.3, 0.4, 40.0])
    d = r * s + (row["default"] or 0.0)  # deviations from where the loss bends
    got = derivatives(name, d, s)
    for i in range(len(d)):
        want = [float(x) for x in exact(name, d[i], s)]
        known = 5 if r[i] < 40 else 2  # beyond, the density is no normal number
        errors = np.abs(got[:, i] - want)
        assert np.all((errors <= 1e-12 * np.abs(want) + vanishing(name, s))[:known]), (r[i], got[:, i], want)


@pytest.mark.parametrize("s", [0.0, 1e-8, 0.031, 0.032, 0.9, 0.91, 7.0, 1e8])
def test_the_logistic_loss_is_within_its_stated_error(s):
    d = 1 + np.array([-33.0, -0.8, 0.5, 30.0]) * np.array([1, 1, max(s, 1), 1])
    got, stated = derivatives("logistic", d, s), LOSSES["logistic"]["error"]
    assert 0 < stated <= 1e-13
    for i in range(len(d)):
        want = np.array([float(x) for x in exact("logistic", d[i], s)])
        rounding = 4e-16 * (abs(d[i] - 1) + s)
        errors = np.abs(got[:, i] - want)
        assert errors[0] <= stated + rounding
        assert np.all(errors[1:3] <= stated)
        assert np.all(errors[3:] <= 10 * stated)
        if s <= 0.9:  # in the tails, too
            np.testing.assert_allclose(got[:3, i], want[:3], rtol=1e-13)
        elif s > 100:
            np.testing.assert_allclose(got[2:, i], want[2:], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("s", [1e-8, 0.032, 0.9, 7.0, 1e8])
def test_what_an_example_adds_to_the_bound_is_within_the_stated_error(s):
    stated = _core.Loss("logistic").gap_error
    assert 0 < stated <= 1e-12
    assert [name for name in NAMES if _core.Loss(name).gap_error] == ["logistic"]
    for x in (-30.0, -1.5, 36.9 * max(s, 0.9)):
        d = 1 + x
        L, L1, L2 = derivatives("logistic", d, s)[:3, 0]
        with mp.workdps(DIGITS):
            K, K1, K2 = exact("logistic", d, s)[:3]
            error = abs((L - K) - (mp.mpf(d) - 1) * (L1 - K1) - mp.mpf(s) ** 2 * (L2 - K2))
            rounding = 4e-16 * (abs(x) * L1 + s * s * L2 + L)
        assert float(error) + LOSSES["logistic"]["error"] * min(s / 0.9, 1) <= stated * s + rounding, x


def test_the_probability_of_a_logistic_score_is_the_mean_of_the_sigmoid():
    mean = np.array([-3.0, 0.0, 0.4, 8.0, 2.0, 1e300, -1e300])
    s = np.array([0.5, 2.0, 0.0, 4.0, 1e150, 1.0, 1e-150])
    got = _core.expected_sigmoid(mean, s)
    for i in range(4):
        assert got[i] == pytest.approx(float(logistic(mp.mpf(mean[i]), mp.mpf(s[i]))[1]), abs=1e-14)
    np.testing.assert_allclose(got[4:], [0.5, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(_core.expected_sigmoid(-mean, s), 1 - got, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_differences_and_obey_the_heat_equation(name):
    rng = np.random.default_rng(7)
    d, s = rng.normal(size=300) * 2, rng.uniform(0.05, 3, size=300)
    here, h = derivatives(name, d, s), 1e-4 * s
    up, down = derivatives(name, d + h, s), derivatives(name, d - h, s)
    far_up, far_down = derivatives(name, d + 2 * h, s), derivatives(name, d - 2 * h, s)
    slopes = (8 * (up - down) - (far_up - far_down)) / (12 * h)
    for k in range(4):
        scale = np.abs(here[k]) / s + np.abs(here[k + 1]) + 1e-2
        assert np.max(np.abs(slopes[k] - here[k + 1]) / scale) < 1e-9
    wide, narrow = np.sqrt(s**2 * (1 + 1e-4)), np.sqrt(s**2 * (1 - 1e-4))
    in_variance = (derivatives(name, d, wide)[0] - derivatives(name, d, narrow)[0]) / (2e-4 * s**2)
    np.testing.assert_allclose(in_variance, here[2] / 2, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_without_noise_a_loss_is_the_plain_one(name):
    d = np.array([-1e300, -7.0, -1.0, -0.05, 0.0, 0.05, 1.0, 7.0, 1e150])
    got = derivatives(name, d, 0.0)
    for i in range(len(d)):
        with mp.workdps(DIGITS):
            parameter = LOSSES[name]["default"]
            x = mp.mpf(float(d[i]))
            if name == "logistic":
                loss, slope = logistic(x - 1, 0)[:2]
            else:
                loss, slope = (f(x) for f in definition(name, parameter and mp.mpf(parameter))[:2])
        assert got[0, i] == pytest.approx(float(loss), rel=1e-15)
        assert got[1, i] == pytest.approx(float(slope), rel=1e-15)
    assert np.all(got[2] >= 0)
    assert np.all(np.isfinite(got[2:]))


@pytest.mark.parametrize("name", NAMES)
def test_no_argument_gives_nan_and_the_loss_is_convex_and_grows_with_noise(name):
    size = np.array([0.0, 1e-300, 1e-9, 0.03, 0.9, 1.0, 3.0, 60.0, 1e8, 1e100])
    d, s = (a.ravel() for a in np.meshgrid(np.concatenate([-size, size]), np.append(size, [1e-150, 1e150])))
    with np.errstate(all="ignore"):
        got = derivatives(name, d, s)
    assert not np.any(np.isnan(got))
    assert np.all(got[0] >= 0)
    assert np.all(got[2] >= 0)
    grid = np.linspace(-6, 6, 201)
    for deviation in (0.0, 0.02, 0.5, 2.0):
        assert np.all(np.diff(derivatives(name, grid, deviation)[1]) >= -1e-15)
        wider = derivatives(name, grid, deviation + 0.1)[0]
        assert np.all(wider >= derivatives(name, grid, deviation)[0] - 1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_does_not_depend_on_its_neighbours(name):
    rng = np.random.default_rng(3)
    d, s = rng.normal(size=130) * 4, rng.choice([0.0, 0.01, 0.4, 0.95, 5.0], size=130)
    together = derivatives(name, d, s)
    for i in range(130):
        assert np.array_equal(derivatives(name, d[i], s[i])[:, 0], together[:, i])


def test_the_table_of_losses():
    assert [row[:3] for row in _core.known_losses()] == [
        ("hinge", "classification", ""),
        ("squared_hinge", "classification", ""),
        ("logistic", "classification", ""),
        ("squared", "regression", ""),
        ("epsilon_insensitive", "regression", "epsilon"),
        ("squared_epsilon_insensitive", "regression", "epsilon"),
        ("huber", "regression", "delta"),
    ]
    assert [name for name in NAMES if LOSSES[name]["error"]] == ["logistic"]
    assert {name for name in NAMES if not LOSSES[name]["smooth"]} == {"hinge", "epsilon_insensitive"}


SCALES = [1e-150, 1e-20, 1e-3, 0.37, 1.0, 17.3, 1e8]
SMALLEST_NORMAL = np.finfo(float).tiny


def core_hinge(d, s):
    """(loss, Phi, kappa) of numbers or arrays."""
    d, s = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(s, dtype=float))
    return _core.expected_hinge(np.ascontiguousarray(d).ravel(), np.ascontiguousarray(s).ravel())


def exact_hinge(d, s):
    """(loss, Phi, kappa) by mpmath, from the doubles as they are."""
    d, s = mp.mpf(float(d)), mp.mpf(float(s))
    r = d / s
    Phi, phi = mp.erfc(-r / mp.sqrt(2)) / 2, mp.npdf(r)
    return d * Phi + s * phi, Phi, phi / s


@pytest.mark.parametrize("s", SCALES)
def test_thirteen_digits_from_tail_to_tail(s):
    rng = np.random.default_rng(1)
    r = np.concatenate([np.linspace(-40, 40, 321), rng.uniform(-40, 40, 100), rng.normal(size=100)])
    d = r * s
    got = core_hinge(d, s)
    with mp.workdps(60):
        for i in range(len(d)):
            for name, values, wanted in zip(("loss", "Phi", "kappa"), got, exact_hinge(d[i], s), strict=True):
                if wanted >= SMALLEST_NORMAL:
                    error = abs(mp.mpf(float(values[i])) / wanted - 1)
                    assert error <= 1e-13, (
                        f"{name} at r = {r[i]!r}, s = {s}: relative error {float(error):.2g}"
                    )
                else:
                    assert 0 <= values[i] <= 2 * SMALLEST_NORMAL, f"{name} at r = {r[i]!r}, s = {s}"
