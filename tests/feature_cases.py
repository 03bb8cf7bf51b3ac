"""Maps, examples of every kind and mixtures, for the tests of features."""

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

import svmgsu
from svmgsu.propagate.features import fourier_map, landmark_map, polynomial_map

rng = np.random.default_rng(7)
N = 3
FREQUENCIES = rng.normal(size=(4, N))
LANDMARKS = rng.normal(size=(5, N))


def fourier(x):
    angles = x @ FREQUENCIES.T
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=-1) / 2.0


def kernel_values(x):
    return np.exp(-0.4 * ((x[..., np.newaxis, :] - LANDMARKS) ** 2).sum(axis=-1))


def landmarks(x):
    K = kernel_values(LANDMARKS)
    values, vectors = np.linalg.eigh(K)
    return kernel_values(x) @ (vectors / np.sqrt(np.maximum(values, 1e-12)) @ vectors.T)


def products(x):
    flat = PolynomialFeatures(2, include_bias=False).fit_transform(x.reshape(-1, x.shape[-1]))
    return flat.reshape(*x.shape[:-1], -1)


MAPS = {
    "fourier": (fourier_map(FREQUENCIES), fourier),
    "landmarks": (landmark_map(LANDMARKS, 0.4), landmarks),
    "polynomial": (polynomial_map(N), products),
}


def kinds(count, seed=0):
    """Every kind of covariance, of count × N examples."""
    draw = np.random.default_rng(seed)
    roots = draw.normal(size=(count, N, N)) * 0.4
    variances = draw.uniform(0.01, 0.5, size=(count, N))
    low = svmgsu.LowRank(draw.normal(size=(count, 2, N)) * 0.4)
    return {
        "none": None,
        "isotropic": svmgsu.Isotropic(variances[:, 0]),
        "diagonal": svmgsu.Diagonal(variances),
        "float32": svmgsu.Diagonal(variances.astype(np.float32)),
        "full": svmgsu.Full(roots @ roots.transpose(0, 2, 1)),
        "low rank": low,
        "shared": svmgsu.Shared(roots[0] @ roots[0].T),
        "a sum": low + 0.5 * svmgsu.Diagonal(variances) + svmgsu.Shared(variances[0]),
    }


def gaussians(kind="full", count=4, seed=0):
    draw = np.random.default_rng([seed, 1])
    return svmgsu.Gaussians(draw.normal(size=(count, N)), kinds(count, seed)[kind])


def full_of(data):
    """The covariances of data as (l, n, n)."""
    count, n = data.shape
    return np.zeros((count, n, n)) if data.cov is None else data.cov.to_full(count, n)


def mixtures(count=3, components=4):
    """Mixtures, of which the first example has a component of weight 0."""
    draw = np.random.default_rng(2)
    weights = draw.dirichlet(np.ones(components), size=count)
    weights[0, :2] = 0.0, weights[0, :2].sum()
    roots = draw.normal(size=(count, components, N, N)) * 0.3
    return svmgsu.Mixtures(weights, draw.normal(size=(count, components, N)), roots @ roots.swapaxes(-1, -2))
