"""The expected hinge of the core against 50 digits, against sampling, and by its properties."""

import mpmath
import numpy as np
import pytest

from svmgsu import _core

SCALES = [1e-150, 1e-20, 1e-3, 0.37, 1.0, 17.3, 1e8]
SMALLEST_NORMAL = np.finfo(float).tiny


def hinge(d, s):
    """(loss, Phi, kappa) of numbers or arrays."""
    d, s = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(s, dtype=float))
    return _core.expected_hinge(np.ascontiguousarray(d).ravel(), np.ascontiguousarray(s).ravel())


def exact(d, s):
    """(loss, Phi, kappa) by mpmath, from the doubles as they are."""
    d, s = mpmath.mpf(float(d)), mpmath.mpf(float(s))
    r = d / s
    Phi, phi = mpmath.erfc(-r / mpmath.sqrt(2)) / 2, mpmath.npdf(r)
    return d * Phi + s * phi, Phi, phi / s


@pytest.mark.parametrize("s", SCALES)
def test_thirteen_digits_from_tail_to_tail(s):
    rng = np.random.default_rng(1)
    r = np.concatenate([np.linspace(-40, 40, 321), rng.uniform(-40, 40, 100), rng.normal(size=100)])
    d = r * s
    got = hinge(d, s)
    with mpmath.workdps(60):
        for i in range(len(d)):
            for name, values, wanted in zip(("loss", "Phi", "kappa"), got, exact(d[i], s), strict=True):
                if wanted >= SMALLEST_NORMAL:
                    error = abs(mpmath.mpf(float(values[i])) / wanted - 1)
                    assert error <= 1e-13, (
                        f"{name} at r = {r[i]!r}, s = {s}: relative error {float(error):.2g}"
                    )
                else:
                    assert 0 <= values[i] <= 2 * SMALLEST_NORMAL, f"{name} at r = {r[i]!r}, s = {s}"
