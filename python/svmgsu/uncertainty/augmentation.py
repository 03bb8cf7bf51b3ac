"""Any random transformation, simulated: the mean and the main directions of what it makes of a sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data.covariances import LowRank
from ..data.gaussians import Gaussians
from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_count, check_finite

RANK = 8  # directions kept, unless another number is asked for


def from_augmentation(
    X: ArrayLike,
    augment: Callable[[Array, np.random.Generator], ArrayLike],
    *,
    n: int = 64,
    rank: int | None = None,
    seed: int = 0,
) -> Gaussians:
    """Simulate random transformations: each sample becomes the moments of what `augment` makes of it.

    Model: the transformed sample has a distribution of which the mean and the covariance are taken, from
    `n` simulations (divided by n − 1); of the covariance, the `rank` directions of largest variance.

    Assumes that mean and covariance say enough: the mean of an image and of its mirror image is neither,
    and large rotations are no Gaussian. Simulations are finite: directions of small variance are mostly
    noise, and `n` should be several times `rank`. The mean is that of the simulations, which is right if new
    samples are transformed, and harms if they are not.

    Parameters
    ----------
    X : array of shape (l, ...)
        Samples of any shape: rows, images (l, h, w), signals. Features of the result are
        `X.reshape(l, -1)` transformed.
    augment : function of (sample, generator)
        Given X[i], a copy, and a `numpy.random.Generator` of its own, returns a transformed sample. All
        results must have the same size.
    n : int, default=64
        Draws of each sample.
    rank : int, optional
        Directions to keep, at most n − 1 and the number of features; by default 8, or all if there are fewer.
    seed : int, default=0
        Sample i draws from a generator of (seed, i): its draws do not depend on the other samples.

    Returns
    -------
    Gaussians
        With `LowRank` covariances; float32 if X is.

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.uncertainty import from_augmentation
    >>> def roll(image, rng):
    ...     return np.roll(image, rng.integers(-1, 2), axis=1)
    >>> data = from_augmentation(np.eye(5)[np.newaxis], roll, n=200, rank=2)
    >>> data.shape, data.cov.factors.shape
    ((1, 25), (2, 25))
    """
    samples = as_float_array(X, "X", (1, 2, 3, 4, 5))
    if samples.ndim < 2 or 0 in samples.shape:
        raise ValueError(f"X: expected one or more samples of one or more features, got {samples.shape}")
    check_finite(samples.reshape(len(samples), -1), "X")
    draws = check_count(n, "n", least=2)
    kept = None if rank is None else check_count(rank, "rank")
    root = check_count(seed, "seed", least=0, most=2**63 - 1)
    if not callable(augment):
        raise TypeError(f"augment: expected a function of (sample, generator), got {augment!r}")
    means: list[Array] = []
    factors: list[Array] = []
    size: int | None = None
    for i, x in enumerate(samples):
        rng = np.random.default_rng(np.random.SeedSequence(root, spawn_key=(i,)))
        copies = []
        for k in range(draws):
            copy = np.asarray(augment(x.copy(), rng), dtype=np.float64).ravel()
            size = copy.size if size is None else size
            if copy.size != size:
                raise ValueError(f"augment: draw {k} of sample {i} has {copy.size} features, not {size}")
            if not np.isfinite(copy).all():
                j = int(np.argmin(np.isfinite(copy)))
                raise ValueError(
                    f"augment: draw {k} of sample {i} is {copy[j]} at feature {j}; it must be finite"
                )
            copies.append(copy)
        mean, F = _moments(np.stack(copies), kept)
        means.append(mean.astype(samples.dtype))
        factors.append(F.astype(samples.dtype))
    return Gaussians(np.stack(means), LowRank(np.stack(factors)))


def _moments(sample: FloatArray, rank: int | None) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the leading factors."""
    draws, n = sample.shape
    most = min(draws - 1, n)
    kept = min(RANK, most) if rank is None else rank
    if kept > most:
        raise ValueError(f"rank: {draws} draws of {n} features have {most} directions, got {kept}")
    mean = sample.mean(axis=0)
    D = (sample - mean) / np.sqrt(draws - 1)
    if draws <= n:  # the left vectors u of D from the small matrix D Dᵀ; uᵀD is the direction, scaled
        F = np.linalg.eigh(D @ D.T)[1][:, ::-1][:, :kept].T @ D
    else:
        _, s, V = np.linalg.svd(D, full_matrices=False)
        F = s[:kept, None] * V[:kept]
    return mean, F
