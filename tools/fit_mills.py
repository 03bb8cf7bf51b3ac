"""Fit the polynomials of cpp/src/mills_table.hpp: the Mills ratio and its complement, on all of x >= 0.

    R(x)   = Q(x)/phi(x)          = u  * mills(t)
    psi(x) = 1 - x R(x)           = u^2 * complement(t)        u = 1/(x + K),  t = 1 - 2 K u  in [-1, 1)

Both right-hand factors are smooth in t, so that one polynomial each, fitted at Chebyshev nodes in 60
digits, holds from x = 0 to infinity. To write that file:

    python tools/fit_mills.py > cpp/src/mills_table.hpp && clang-format -i cpp/src/mills_table.hpp
"""

import mpmath as mp

mp.mp.dps = 60
K = mp.mpf(5)
DEGREES = {"kMills": 23, "kComplement": 25}


def mills(x):
    return mp.sqrt(mp.pi / 2) * mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2))


def complement(x):
    with mp.workdps(100):
        return 1 - x * mills(x)


def in_t(function, power, limit):
    """function(x) * (x + K)^power as a function of t; `limit` is its value at t = 1, where x is infinite."""

    def g(t):
        if t > 1 - mp.mpf("1e-9"):
            return limit
        x = K * (1 + t) / (1 - t)
        return function(x) * (x + K) ** power if x < 1e4 else limit * (1 + power * K / x)

    return g


def fit(g, degree):
    """Monomial coefficients of the interpolant at the Chebyshev nodes, lowest power first."""
    count = degree + 1
    nodes = [mp.cos(mp.pi * (2 * j + 1) / (2 * count)) for j in range(count)]
    values = [g(t) for t in nodes]
    chebyshev = [
        (2 if m else 1) * sum(v * mp.cos(m * mp.acos(t)) for v, t in zip(values, nodes, strict=True)) / count
        for m in range(count)
    ]
    total = [mp.mpf(0)] * count
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for m, c in enumerate(chebyshev):
        basis = before if m == 0 else now
        for power, b in enumerate(basis):
            total[power] += c * b
        if m >= 1:
            after = [mp.mpf(0)] + [2 * b for b in now]
            for power, b in enumerate(before):
                after[power] -= b
            before, now = now, after
    return total


def worst(g, coefficients, points=4000):
    """Largest relative error of the polynomial, evaluated exactly."""
    error = mp.mpf(0)
    for j in range(points):
        t = mp.mpf(-1) + mp.mpf("1.98") * j / points
        exact = g(t)
        error = max(error, abs(mp.polyval(coefficients[::-1], t) / exact - 1))
    return error


if __name__ == "__main__":
    print("// Written by tools/fit_mills.py: polynomials in t, lowest power first.")
    print("#pragma once\n\nnamespace svmgsu::detail {\n")
    print(f"constexpr double kMillsShift = {float(K)!r};")
    for name, function, power in (("kMills", mills, 1), ("kComplement", complement, 2)):
        g = in_t(function, power, mp.mpf(1))
        coefficients = fit(g, DEGREES[name])
        print(f"// relative error of the fit: {mp.nstr(worst(g, coefficients, 400), 3)}")
        print(f"constexpr double {name}[] = {{")
        for c in coefficients:
            print(f"    {float(c)!r},")
        print("};")
    print("\n}  // namespace svmgsu::detail")
