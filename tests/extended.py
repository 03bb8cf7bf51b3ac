"""The objective and its minimum in 40 digits, from the definitions: there rounding shows."""

import mpmath as mp
import numpy as np

mp.mp.dps = 40
EPSILON, DELTA = mp.mpf("0.1"), mp.mpf("1.35")  # the library's defaults


def hinge(d, s):
    """L, L' and L'' of max(0, D), D ~ N(d, s²)."""
    if s == 0:
        return max(d, mp.mpf(0)), mp.mpf(d > 0), mp.mpf(0)
    cdf, pdf = mp.ncdf(d / s), mp.npdf(d / s)
    return d * cdf + s * pdf, cdf, pdf / s


def squared_hinge(d, s):
    value, cdf, _ = hinge(d, s)
    return d * value + s * s * cdf, 2 * value, 2 * cdf


def squared(d, s):
    return (d * d + s * s) / 2, d, mp.mpf(1)


def epsilon_insensitive(d, s):
    above, below = hinge(d - EPSILON, s), hinge(-d - EPSILON, s)
    return above[0] + below[0], above[1] - below[1], above[2] + below[2]


def huber(d, s):
    above, below, plain = squared_hinge(d - DELTA, s), squared_hinge(-d - DELTA, s), squared(d, s)
    return tuple(plain[k] - (above[k] + (-1) ** k * below[k]) / 2 for k in range(3))


STEP = mp.mpf("0.4")
NODES = [(k * STEP, STEP * mp.npdf(k * STEP)) for k in range(-28, 29)]


def logistic(d, s):
    """By the trapezoidal rule, whose error is below 1e-26 for s <= 1/2."""
    total = [mp.mpf(0)] * 3
    for node, weight in NODES if s else [(mp.mpf(0), mp.mpf(1))]:
        e = mp.exp(d - 1 + s * node)
        p = e / (1 + e)
        for j, part in enumerate((mp.log1p(e), p, p * (1 - p))):
            total[j] += weight * part
    return tuple(total)


LOSSES = {f.__name__: f for f in (hinge, squared_hinge, squared, epsilon_insensitive, huber, logistic)}
KINKED = {"hinge": [mp.mpf(0)], "epsilon_insensitive": [EPSILON, -EPSILON]}


def number(v):
    return v if isinstance(v, mp.mpf) else mp.mpf(float(v))


class Problem:
    """J of arrays as they are: means (l, n), signs and targets (l,), covariances (l, n, n)."""

    def __init__(self, X, sign, target, cov, lam, loss):
        self.X = [[number(v) for v in row] for row in np.asarray(X)]
        self.cov = [[[number(v) for v in row] for row in S] for S in np.asarray(cov)]
        self.sign, self.target = [mp.mpf(float(v)) for v in sign], [mp.mpf(float(v)) for v in target]
        self.lam, self.loss, self.name = mp.mpf(float(lam)), LOSSES[loss], loss
        self.certain = not np.any(cov)

    def point(self, w, b):
        return [mp.mpf(float(v)) for v in w] + [mp.mpf(float(b))]

    def residual(self, i, z):
        return self.target[i] - self.sign[i] * (mp.fdot(self.X[i], z[:-1]) + z[-1])

    def value_and_gradient(self, z):
        n, count = len(z) - 1, len(self.X)
        w = z[:-1]
        value, gradient = self.lam / 2 * mp.fdot(w, w), [self.lam * v for v in w] + [mp.mpf(0)]
        for i, row in enumerate(self.X):
            u = [mp.mpf(0)] * n if self.certain else [mp.fdot(S, w) for S in self.cov[i]]
            L, L1, L2 = self.loss(self.residual(i, z), mp.sqrt(max(mp.mpf(0), mp.fdot(u, w))))
            value += L / count
            for k in range(n):
                gradient[k] += (L2 * u[k] - self.sign[i] * L1 * row[k]) / count
            gradient[n] -= self.sign[i] * L1 / count
        return value, gradient

    def value(self, z):
        return self.value_and_gradient(z)[0]

    def minimum(self, z):
        """J at a point at least as good as z, and the optimum where Newton or the active kinks lead there."""
        if self.certain and self.name in KINKED:
            return self._with_kinks(z)
        return self._newton(z)

    def _newton(self, z):
        value, gradient = self.value_and_gradient(z)
        for _ in range(6):
            h = [mp.mpf("1e-15") * (abs(v) + mp.mpf("1e-6")) for v in z]
            H = mp.matrix(len(z))
            for k in range(len(z)):
                moved = list(z)
                moved[k] += h[k]
                column = self.value_and_gradient(moved)[1]
                for j in range(len(z)):
                    H[j, k] = (column[j] - gradient[j]) / h[k]
            try:
                step = mp.lu_solve(H, -mp.matrix(gradient))
            except ZeroDivisionError:
                break
            there = [v + step[k] for k, v in enumerate(z)]
            found, slope = self.value_and_gradient(there)
            if not found < value:
                break
            settled = value - found < mp.mpf("1e-24") * value
            z, value, gradient = there, found, slope
            if settled:
                break
        return value

    def _with_kinks(self, z):
        """The residuals that lie on a kink stay there, the others keep their slope: a linear system."""
        n, count = len(z) - 1, len(self.X)
        best = self.value(z)
        for near in (mp.mpf("1e-4"), mp.mpf("1e-6"), mp.mpf("1e-8")):
            rows, right, slope = [], [], [mp.mpf(0)] * (n + 1)
            for i, row in enumerate(self.X):
                d = self.residual(i, z)
                full = [*row, mp.mpf(1)]
                kink = next((k for k in KINKED[self.name] if abs(d - k) <= near), None)
                if kink is None:
                    for k in range(n + 1):
                        slope[k] -= self.sign[i] * self.loss(d, mp.mpf(0))[1] * full[k] / count
                else:
                    rows.append(full)
                    right.append(self.sign[i] * (self.target[i] - kink))
            size = n + 1 + len(rows)
            A, c = mp.matrix(size), mp.matrix(size, 1)
            for k in range(n + 1):
                A[k, k] = self.lam if k < n else 0
                c[k] = -slope[k]
            for r, full in enumerate(rows):
                c[n + 1 + r] = right[r]
                for k in range(n + 1):
                    A[n + 1 + r, k] = A[k, n + 1 + r] = full[k]
            try:
                found = mp.lu_solve(A, c)
            except ZeroDivisionError:
                continue
            best = min(best, self.value([found[k] for k in range(n + 1)]))
        return best
