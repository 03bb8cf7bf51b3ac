"""Fit the functions of kernels/mills_table.hpp: what the normal distribution needs on 0 <= x <= FARTHEST.

    t(x) = phi(x)/Q(x) - x = p(x)/q(x)     two polynomials; all coefficients are positive, nothing cancels
    exp(t/2)/sqrt(2 pi)                    one polynomial, for |t| <= ln 2
    I2(x)/I1(x), Ik(x) = E max(0, Z - x)^k / k!   two polynomials, for the squared hinge

With t, the Mills ratio Q/phi = 1/(x + t) and its complement 1 - x Q/phi = t/(x + t) need one division.
All fits are the best in relative error, found by Remez' exchange in 50 digits. To write that file:

    cd cpp/src/kernels; python ../../../tools/fit_mills.py > mills_table.hpp; clang-format -i mills_table.hpp
"""

import textwrap

import mpmath as mp

mp.mp.dps = 50
FARTHEST = mp.mpf(50)
MIDDLE = mp.mpf(3)  # half of the fit's points lie below


def excess(x):
    with mp.workdps(80):
        return 1 / (mp.sqrt(mp.pi / 2) * mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2))) - x


def next_moment(x):
    with mp.workdps(90):
        ratio = mp.sqrt(mp.pi / 2) * mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2))
        first = 1 - x * ratio
        return (ratio - x * first) / (2 * first)


def density(t):
    return mp.exp(t / 2) / mp.sqrt(2 * mp.pi)


def bunched(z):
    """-1 .. 1 to 0 .. FARTHEST, most of it to the neighbourhood of 0."""
    end = (FARTHEST - MIDDLE) / (FARTHEST + MIDDLE)
    z = (end - 1) / 2 + (end + 1) / 2 * z
    return MIDDLE * (1 + z) / (1 - z)


def solve(points, values, above, below, weight):
    """p, q and E with p(x) - f(x) q(x) = ±E f(x) weight(x), signs alternating; q leads with 1."""
    rows, right = [], []
    for i, (x, f) in enumerate(zip(points, values, strict=True)):
        rows.append([x**j / f for j in range(above + 1)] + [-(x**j) for j in range(below)])
        rows[-1].append((-1) ** i * weight(x))
        right.append(x**below)
    *c, error = mp.lu_solve(mp.matrix(rows), mp.matrix(right))
    return c[: above + 1], [*c[above + 1 :], mp.mpf(1)], error


def fit(function, above, below, place, grid_size=1200):
    """Numerator and denominator, lowest power first, and the largest relative error."""
    grid = [place(-mp.cos(mp.pi * j / (grid_size - 1))) for j in range(grid_size)]
    values = [function(x) for x in grid]
    count = above + below + 2
    chosen = [round(j * (grid_size - 1) / (count - 1)) for j in range(count)]
    q = [mp.binomial(below, j) * MIDDLE ** (below - j) for j in range(below + 1)]  # (x + MIDDLE)^below
    for _ in range(20):
        for _ in range(8):  # the error equation is not linear in q: repeat with the last one
            p, q, _ = solve(
                [grid[k] for k in chosen],
                [values[k] for k in chosen],
                above,
                below,
                lambda x, q=q: mp.polyval(q[::-1], x),
            )
        errors = [
            mp.polyval(p[::-1], x) / mp.polyval(q[::-1], x) / f - 1 for x, f in zip(grid, values, strict=True)
        ]
        runs = [[0]]  # of equal sign
        for k in range(1, grid_size):
            if (errors[k] > 0) == (errors[k - 1] > 0):
                runs[-1].append(k)
            else:
                runs.append([k])
        before, chosen = chosen, [max(run, key=lambda k: abs(errors[k])) for run in runs]
        assert len(chosen) == count, "the exchange lost a sign"
        if chosen == before:
            break
    return p, q, max(map(abs, errors))


def show(name, coefficients):
    """Print an array of numbers, in lines as long as those of the code."""
    numbers = ", ".join(repr(float(c)) for c in coefficients)
    lines = textwrap.fill(
        f"{numbers},", 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    print(f"constexpr double {name}[] = {{\n{lines}\n}};")


if __name__ == "__main__":
    print("// Written by tools/fit_mills.py: polynomials, lowest power first.")
    print("#pragma once\n\nnamespace svmgsu::detail {\n")
    print(f"constexpr double kFarthest = {float(FARTHEST)!r};")
    p, q, error = fit(excess, 10, 11, bunched)
    print(f"// phi(x)/Q(x) - x on [0, kFarthest], relative error of the fit: {mp.nstr(error, 2)}")
    show("kNumerator", p)
    show("kDenominator", q)
    p, _, error = fit(density, 11, 0, lambda z: mp.log(2) * z)
    print(f"// exp(t/2)/sqrt(2 pi) for |t| <= ln 2, relative error of the fit: {mp.nstr(error, 2)}")
    show("kDensity", p)
    p, q, error = fit(next_moment, 10, 11, bunched)
    print(f"// E max(0, Z - x)^2 / (2 E max(0, Z - x)), relative error of the fit: {mp.nstr(error, 2)}")
    show("kMomentNumerator", p)
    show("kMomentDenominator", q)
    print("\n}  // namespace svmgsu::detail")
