"""Samples in files, for the tests of blocks."""

import numpy as np

import svmgsu

L, N = 203, 4
KINDS = ["none", "isotropic", "diagonal", "full", "lowrank", "lowrank with diagonal", "shared"]


def examples(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(L, N)).astype(dtype)
    V = rng.uniform(0.1, 0.9, size=(L, N)).astype(dtype)
    return X, V, np.where(X[:, 0] + 0.3 * rng.normal(size=L) > 0, "quasar", "star")


def covariance(kind, count=L, n=N, dtype=np.float64):
    """A covariance of each kind, with numbers of a type."""
    rng = np.random.default_rng(3)
    V = rng.uniform(0.1, 0.5, size=(count, n)).astype(dtype)
    F = rng.normal(size=(count, 2, n)).astype(dtype) / 3
    return {
        "none": None,
        "isotropic": svmgsu.Isotropic(V[:, 0]),
        "diagonal": svmgsu.Diagonal(V),
        "full": svmgsu.Full(np.einsum("irj,irk->ijk", F, F)),
        "lowrank": svmgsu.LowRank(F),
        "lowrank with diagonal": svmgsu.LowRank(F, diagonal=V),
        "shared": svmgsu.Shared(np.diag(V[0].astype(np.float64))),
    }[kind]


def whole(blocks):
    return svmgsu.Gaussians.concatenate(list(blocks))


def same(blocks, data, y=None):
    found = whole(blocks)
    assert np.array_equal(found.mean, np.asarray(data.mean))
    assert blocks.feature_names_in_ == data.feature_names_in_
    if data.cov is None:
        assert found.cov is None
    else:
        assert np.array_equal(found.cov.to_full(*data.shape), data.cov.to_full(*data.shape))
    if y is not None:
        assert blocks.labels().tolist() == np.asarray(y).tolist()
