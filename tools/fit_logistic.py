"""Write cpp/src/kernels/logistic_table.hpp: the two grids of docs/theory.md, "The logistic loss".

python tools/fit_logistic.py > logistic_table.hpp
"""

import mpmath as mp
from fit_mills import fit, show

mp.mp.dps = 50
STEP, PAIRS = mp.mpf("0.48"), 18  # the grid in standard deviations, for s <= 0.9
SPACING, NODES = mp.mpf("0.4375"), 72  # the grid in the residual itself, for s > 0.9; dyadic
WIDTH = mp.mpf("1.6875")  # of the normal distribution that stands in for the logistic one, dyadic too


def difference(x):
    """log(1 + e^x) less the hinge expected under N(x, WIDTH^2); even."""
    r = x / WIDTH
    return mp.log1p(mp.exp(-x)) + x - (x * mp.ncdf(r) + WIDTH * mp.npdf(r))


def slope(x):
    """Its derivative; odd."""
    return 1 / (1 + mp.exp(-x)) - mp.ncdf(x / WIDTH)


def curvature(x):
    """The second derivative of log(1 + e^x)."""
    p = 1 / (1 + mp.exp(-x))
    return p * (1 - p)


def series(count):
    """Derivatives 2, 4, ... of log(1 + e^x) as polynomials in v = p(1 - p), from v^1 on."""
    q, rows = [0, 1], []
    for _ in range(count):
        rows.append(q[1:])
        out = [0] * (len(q) + 1)
        for j, c in enumerate(q):  # v^j -> j (j-1) v^j (1 - 4v) + j v^j (1 - 6v)
            out[j] += c * j * j
            if j:
                out[j + 1] -= c * (4 * j * (j - 1) + 6 * j)
        q = out
    return rows


if __name__ == "__main__":
    print("// Written by tools/fit_logistic.py. What each table is for: docs/theory.md.")
    print("#pragma once\n// clang-format off: it would write a number a line")
    print("\nnamespace svmgsu::detail {\n")
    p, _, error = fit(mp.exp, 11, 0, lambda z: mp.log(2) / 2 * z)
    print(f"// exp(t) for |t| <= ln(2)/2, relative error of the fit: {mp.nstr(error, 2)}")
    show("kExponential", p)
    end = (3 - 2 * mp.sqrt(2)) ** 2
    p, _, error = fit(
        lambda u: 2 * mp.atanh(mp.sqrt(u)) / mp.sqrt(u) if u else mp.mpf(2), 7, 0, lambda z: end * (1 + z) / 2
    )
    print(f"// log((1 + z)/(1 - z))/z in z^2, |z| <= 3 - 2 sqrt(2), relative error: {mp.nstr(error, 2)}")
    show("kLogarithm", p)
    print(f"\nconstexpr int kPairs = {PAIRS};\nconstexpr double kStep = {float(STEP)!r};")
    print("// kStep phi(k kStep)")
    show("kWeight", [STEP * mp.npdf(k * STEP) for k in range(PAIRS + 1)])
    print(f"\nconstexpr int kNodes = {NODES};\nconstexpr double kSpacing = {float(SPACING)!r};")
    print(f"constexpr double kWidth = {float(WIDTH)!r};")
    print("// kSpacing/sqrt(2 pi) times the difference of the losses, its slope, and f, second derivative of")
    print("// log(1 + e^x), then k f and k^2 f")
    scale = SPACING / mp.sqrt(2 * mp.pi)
    for name, function in zip(
        ("kDifference", "kSlope", "kSecond", "kSecondTimesK", "kSecondTimesK2"),
        (
            difference,
            slope,
            curvature,
            lambda x: x / SPACING * curvature(x),
            lambda x: (x / SPACING) ** 2 * curvature(x),
        ),
        strict=True,
    ):
        show(name, [scale * function(k * SPACING) for k in range(NODES + 1)])
    print("\n// derivatives 2, 4, ... of log(1 + e^x), each over v = p(1 - p), in powers of v")
    rows = series(6)
    print(f"constexpr double kEven[{len(rows)}][{len(rows)}] = {{")
    for row in rows:
        print("    {" + ", ".join(map(repr, map(float, row))) + "},")
    print("};")
    print("\n}  // namespace svmgsu::detail")
