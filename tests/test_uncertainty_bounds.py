"""No builder makes what the kinds refuse: few samples, constant features, huge and tiny units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import svmgsu
from svmgsu import uncertainty as un

SETTINGS = settings(max_examples=8, deadline=None, derandomize=True)


@st.composite
def tables(draw, least=2, most=6):
    """Rows of numbers in units far apart, some features constant or nearly so, in float32 or float64."""
    g = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    n = draw(st.integers(1, 4))
    power = 22 if dtype is np.float32 else 80
    units = 10.0 ** g.integers(-power, power, n)
    X = g.normal(size=(draw(st.integers(least, most)), n))
    kind = g.integers(0, 4, n)
    X[:, kind == 1] = 0.1  # constant, and its mean is rounded
    X[:, kind == 2] = 1 + 1e-9 * X[:, kind == 2]
    return (X * units).astype(dtype)


def accepted(data):
    """The kinds take what the builder made, as arrays of its own and as whole matrices."""
    assert isinstance(data, svmgsu.Gaussians)
    full = data.cov.to_full(*data.shape)
    assert np.isfinite(full).all()
    assert (np.diagonal(full, axis1=1, axis2=2) >= 0).all()
    for _, kind in data.cov.parts:
        if isinstance(kind, svmgsu.Diagonal):
            svmgsu.Diagonal(kind.matrix)
        elif isinstance(kind, svmgsu.LowRank):
            svmgsu.LowRank(
                kind.factors, None if kind.diagonal is None else kind.diagonal.matrix, start=kind.start
            )
        elif isinstance(kind, svmgsu.Full):
            svmgsu.Full.from_packed(kind.packed, check=True, psd="strict")
    if not any(isinstance(kind, svmgsu.Full) for _, kind in data.cov.parts):
        svmgsu.Full(full, psd="strict")


@pytest.mark.parametrize("of_mean", [False, True])
@pytest.mark.parametrize("covariance", ["diagonal", "full", "lowrank", "ledoit_wolf", "oas"])
def test_samples(covariance, of_mean):
    if covariance in ("ledoit_wolf", "oas"):
        pytest.importorskip("sklearn")

    @SETTINGS
    @given(tables(7, 7))
    def holds(X):
        for groups in ([0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1, 2]):
            accepted(un.from_repeats(X, groups, covariance=covariance, of_mean=of_mean, single="pooled"))

    holds()


@SETTINGS
@given(tables())
def test_errors_and_standard_errors(X):
    accepted(un.from_errors(X, std=np.abs(X)))
    accepted(un.from_errors(X, upper=np.abs(X), lower=np.abs(X) / 3))
    accepted(un.from_standard_errors(X, np.abs(X), n=np.full(X.shape, 7)))


@SETTINGS
@given(tables())
def test_augmentation(X):
    def jitter(x, rng):
        return x * (1 + 0.1 * rng.normal(size=x.shape))

    for draws in (2, 5):
        accepted(un.from_augmentation(X, jitter, n=draws, rank=1, residual=True))


@SETTINGS
@given(tables(), st.sampled_from(["diagonal", "full", "lowrank"]))
def test_propagation(X, kind):
    samples = np.stack([X, X[::-1], X + X])
    data = un.from_repeats(samples.transpose(1, 0, 2).copy(), covariance=kind)
    n = X.shape[1]
    unit = 1 / np.maximum(np.abs(data.mean).max(axis=0).astype(float), np.finfo(X.dtype).tiny)
    A = np.random.default_rng(1).normal(size=(n, n)) * unit
    accepted(un.propagate(A, data))
    accepted(un.propagate(np.arctan, data, lambda x: 1 / (1 + x.astype(float) ** 2)))


def test_images_and_signals():
    g = np.random.default_rng(0)
    for dtype, unit in ((np.float32, 1e-15), (np.float32, 1e15), (np.float64, 1e60)):
        images = np.ones((2, 4, 4), dtype)
        images[1] = unit * g.normal(size=(4, 4))
        accepted(un.from_images(images, shift=1.0, brightness=unit, blur=0.5))
        pytest.importorskip("scipy")
        signals = (unit * g.normal(size=(2, 1, 96))).astype(dtype)
        for covariance in ("diagonal", "full"):
            accepted(un.from_welch(signals, 128.0, bands={"a": (8, 32)}, nperseg=32, covariance=covariance))
