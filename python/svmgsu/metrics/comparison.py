"""Compare two classifiers: McNemar's test on one test set, the paired t-test on several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..support.validation import ArrayLike, as_float_array, check_finite, check_positive


@dataclass(frozen=True)
class McNemar:
    """Hold the result of `mcnemar`.

    `only_first` and `only_second` count the samples that only the first, and only the second classifier
    predicts correctly. `exact_p_value` is the two-sided one of the binomial distribution, the one to use;
    `statistic` and `p_value` are χ² with Edwards' correction, (|a − b| − 1)²/(a + b), as papers print it.
    """

    only_first: int
    only_second: int
    exact_p_value: float
    statistic: float
    p_value: float


def mcnemar(y: ArrayLike, first: ArrayLike, second: ArrayLike) -> McNemar:
    """Test whether two classifiers err equally often on the same samples, which neither was trained on.

    Parameters
    ----------
    y : array of shape (l,)
        The true labels.
    first, second : arrays of shape (l,)
        The labels that the two classifiers predict.

    Examples
    --------
    >>> from svmgsu.metrics import mcnemar
    >>> mcnemar([1, 1, 1, 0, 0, 0], first=[1, 1, 1, 0, 0, 1], second=[0, 0, 1, 0, 1, 0]).exact_p_value
    0.625
    """
    truth = np.asarray(y)
    one = np.asarray(first)
    two = np.asarray(second)
    for name, given in (("first", one), ("second", two)):
        if truth.ndim != 1 or given.shape != truth.shape:
            raise ValueError(f"{name}: labels of shape {given.shape} for y of shape {truth.shape}")
    only_first = int(((one == truth) & (two != truth)).sum())
    only_second = int(((two == truth) & (one != truth)).sum())
    differ = only_first + only_second
    if differ == 0:
        return McNemar(0, 0, 1.0, 0.0, 1.0)
    statistic = max(0, abs(only_first - only_second) - 1) ** 2 / differ
    exact = float(stats.binomtest(only_first, differ, 0.5).pvalue)
    return McNemar(only_first, only_second, exact, statistic, float(stats.chi2.sf(statistic, 1)))


@dataclass(frozen=True)
class PairedTTest:
    """Hold the result of `paired_t_test`.

    `difference` is the mean of first − second, with its `standard_error` and 95 % confidence `interval`;
    `statistic` is t, with the two-sided `p_value` and `dof` degrees of freedom. `corrected` tells whether the
    variance allows for overlapping training sets.
    """

    difference: float
    standard_error: float
    interval: tuple[float, float]
    statistic: float
    p_value: float
    dof: int
    corrected: bool


def paired_t_test(
    first: ArrayLike, second: ArrayLike, *, train: float | None = None, test: float | None = None
) -> PairedTTest:
    """Run a paired t-test, corrected where the pairs come from splits of the same data.

    Scores from random splits or cross-validation share most of their training samples, so the plain test
    finds differences that are not there. Given the sizes of the splits, the variance of the mean is
    s² (1/J + test/train) instead of s²/J (Nadeau and Bengio, Machine Learning 52, 2003).

    Parameters
    ----------
    first, second : arrays of shape (J,)
        Scores of the two classifiers, a pair per split.
    train, test : float, optional
        Training and test samples in each split; k-fold cross-validation has test/train = 1/(k − 1).
        Without them the plain test, for independent data sets.

    Examples
    --------
    >>> from svmgsu.metrics import paired_t_test
    >>> a, b = [0.81, 0.83, 0.80, 0.84, 0.82], [0.80, 0.80, 0.79, 0.82, 0.79]
    >>> found = paired_t_test(a, b, train=80, test=20)
    >>> round(found.difference, 3), round(found.p_value, 3)
    (0.02, 0.041)
    """
    one = as_float_array(first, "first", (1,)).astype(float)
    two = as_float_array(second, "second", (1,)).astype(float)
    if len(one) != len(two):
        raise ValueError(f"second: {len(two)} scores for {len(one)} in first; they must come in pairs")
    if len(one) < 2:
        raise ValueError(f"first: a t-test needs at least 2 pairs of scores, got {len(one)}")
    check_finite(one, "first")
    check_finite(two, "second")
    if (train is None) != (test is None):
        raise ValueError("train, test: give both sizes or neither")
    corrected = train is not None
    ratio = check_positive(test, "test") / check_positive(train, "train") if corrected else 0.0
    differences = one - two
    count = len(differences)
    mean = float(differences.mean())
    error = float(np.sqrt(differences.var(ddof=1) * (1 / count + ratio)))
    # All pairs may differ by the same amount: a certain difference, or none at all.
    statistic = mean / error if error > 0 else float(np.copysign(np.inf, mean)) if mean else 0.0
    half = float(stats.t.isf(0.025, count - 1)) * error
    p_value = float(2 * stats.t.sf(abs(statistic), count - 1))
    return PairedTTest(mean, error, (mean - half, mean + half), statistic, p_value, count - 1, corrected)
