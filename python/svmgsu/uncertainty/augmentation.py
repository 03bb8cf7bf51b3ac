"""Any random transformation, simulated: the mean and the main directions of what it makes of a sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..data.covariances import LowRank
from ..data.gaussians import Gaussians
from ..support.precision import stored_as
from ..support.validation import Array, FloatArray, as_float_array, check_count, check_finite
from ._support import need, track

CHUNK = 16  # samples that a process gets at a time
RANK = 8  # directions kept, unless another number is asked for


def from_augmentation(
    X: Any,
    augment: Callable[[Array, np.random.Generator], Any],
    *,
    n: int = 64,
    rank: int | None = None,
    residual: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    verbose: bool = False,
) -> Gaussians:
    """Moments of simulated transformations: each sample becomes what `augment` makes of it.

    Model: the transformed sample has a distribution of which the mean and the covariance are taken, from
    `n` simulated draws (divided by n − 1); of the covariance, the `rank` directions of largest variance.

    Assumes that mean and covariance say enough: the mean of an image and of its mirror image is neither,
    and large rotations are no Gaussian. The draws are finite: directions of small variance are mostly
    chance, and `n` should be several times `rank`. The mean is that of the draws, blurred by them; that is
    right if new samples are transformed, and harms if they are not.

    Parameters
    ----------
    X : array of shape (l, ...)
        Samples of any shape: rows, images (l, h, w), signals. Features of the result are
        `X.reshape(l, -1)` transformed.
    augment : function of (sample, generator)
        Given X[i], a copy, and a `numpy.random.Generator` of its own, returns a transformed sample. All
        results must have the same size. With `n_jobs` above 1 it must be picklable (cloudpickle's way).
    n : int, default=64
        Draws of each sample.
    rank : int, optional
        Directions to keep, at most n − 1 and the number of features; by default 8, or all if there are fewer.
    residual : bool, default=False
        Whether to add the variances that the directions leave out as a diagonal, so that every
        feature has its full variance.
    seed : int, default=0
        Sample i draws from a generator of (seed, i): the same result for any `n_jobs` and order.
    n_jobs : int, default=1
        Processes, by joblib; −1 for all cores. `joblib.parallel_config` chooses another backend.
    verbose : bool, default=False
        Show a progress bar (with tqdm where it is installed).

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
    jobs = check_count(n_jobs, "n_jobs", least=-1)
    if jobs == 0:
        raise ValueError("n_jobs: must be -1 or at least 1, got 0")
    task = _Task(augment, draws, kept, residual, root, samples.dtype, os.getpid())
    results: list[Array] = []
    for first, pieces in _all(task, samples, jobs, verbose):
        if not results:
            results = [np.empty((len(samples), *piece.shape[1:]), piece.dtype) for piece in pieces]
        for result, piece in zip(results, pieces, strict=True):
            if piece.shape[1:] != result.shape[1:]:
                raise ValueError(
                    f"augment: sample {first} came back with {pieces[0].shape[1]} features, "
                    f"sample 0 with {results[0].shape[1]}"
                )
            result[first : first + len(piece)] = piece
    means, factors, left = results
    return Gaussians(means, LowRank(factors, stored_as(left, samples.dtype) if residual else None))


class _Task(NamedTuple):
    """What to do with every sample; small, for it travels to other processes."""

    augment: Callable[[Array, np.random.Generator], Any]
    draws: int
    rank: int | None
    residual: bool
    seed: int
    dtype: np.dtype[Any]
    parent: int  # the process that limits its own threads, once for all

    def run(self, first: int, samples: Array) -> tuple[Array, Array, Array]:
        """Means, factors and variances left of the samples from number `first` on."""
        with nullcontext() if os.getpid() == self.parent else _one_blas_thread():
            found = [self.moments(self.draw(x, first + k)) for k, x in enumerate(samples)]
        sizes = [len(mean) for mean, _, _ in found]
        if len(set(sizes)) > 1:
            odd = next(k for k, size in enumerate(sizes) if size != sizes[0])
            raise ValueError(
                f"augment: sample {first + odd} came back with {sizes[odd]} features, "
                f"sample {first} with {sizes[0]}"
            )
        means, factors, left = zip(*found, strict=True)
        return np.stack(means), np.stack(factors), np.stack(left)

    def draw(self, x: Array, i: int) -> FloatArray:
        """The transformed copies of sample i, (draws, n)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(i,)))
        copies = [
            np.asarray(self.augment(x.copy(), rng), dtype=np.float64).ravel() for _ in range(self.draws)
        ]
        sizes = [copy.size for copy in copies]
        if len(set(sizes)) > 1:
            raise ValueError(f"augment: draws of sample {i} have {min(sizes)} to {max(sizes)} features")
        out = np.stack(copies)
        bad = np.argwhere(~np.isfinite(out))
        if len(bad):
            k, j = bad[0].tolist()
            raise ValueError(
                f"augment: draw {k} of sample {i} is {out[k, j]} at feature {j}; it must be finite"
            )
        return out

    def moments(self, sample: FloatArray) -> tuple[Array, Array, Array]:
        """Mean, leading factors, and the variances that these leave out."""
        draws, n = sample.shape
        most = min(draws - 1, n)
        rank = min(RANK, most) if self.rank is None else self.rank
        if rank > most:
            raise ValueError(f"rank: {draws} draws of {n} features have {most} directions, got {rank}")
        mean = sample.mean(axis=0)
        D = (sample - mean) / np.sqrt(draws - 1)
        if draws <= n:  # the left vectors u of D from the small matrix D Dᵀ; uᵀD is the direction, scaled
            F = np.linalg.eigh(D @ D.T)[1][:, ::-1][:, :rank].T @ D
        else:
            _, s, V = np.linalg.svd(D, full_matrices=False)
            F = s[:rank, None] * V[:rank]
        left = np.maximum((D**2).sum(axis=0) - (F**2).sum(axis=0), 0) if self.residual else np.empty(0)
        return mean.astype(self.dtype), F.astype(self.dtype), left


def _all(
    task: _Task, samples: Array, jobs: int, verbose: bool
) -> Iterator[tuple[int, tuple[Array, Array, Array]]]:
    """(first sample, moments) chunk by chunk, in order, on several processes if wanted."""
    starts = range(0, len(samples), CHUNK)
    chunks = ((first, samples[first : first + CHUNK]) for first in starts)
    with _one_blas_thread():
        if jobs == 1:
            done = (task.run(*chunk) for chunk in chunks)
        else:
            joblib = need("joblib", "from_augmentation(n_jobs=...)")
            work = (joblib.delayed(task.run)(*chunk) for chunk in chunks)
            done = joblib.Parallel(n_jobs=jobs, return_as="generator")(work)
        yield from zip(starts, track(done, len(starts), "augmentation", verbose), strict=True)


def _one_blas_thread() -> AbstractContextManager[Any]:
    """Several threads of the linear algebra round differently; with one, the bits do not depend on n_jobs."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits
