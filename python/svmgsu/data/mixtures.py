"""`Mixtures`: each sample is a mixture of Gaussians, as `Deconvolution` returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from .._repr import Rows, feature_row, table
from ..support.arrays import blocks, roots
from ..support.errors import InvalidValue
from ..support.memory import in_words, require_memory
from ..support.validation import (
    FINITE,
    VARIANCES,
    Array,
    ArrayLike,
    FloatArray,
    RandomState,
    as_float_array,
    as_generator,
    check_count,
    check_range,
)
from .covariances import Full, chosen_rows
from .gaussians import Gaussians, names_of

SUM_TOLERANCE = 1e-5  # of the weights of a sample, which sum to 1


class Mixtures:
    """Uncertain samples: sample i is the mixture Σ_k weights_ik N(mean_ik, cov_ik).

    `svmgsu.Deconvolution.transform` returns them: the noise-free value of each sample given its measurement.

    Parameters
    ----------
    weights : array of shape (l, K)
        Not negative; each row sums to 1.
    mean : array of shape (l, K, n)
        The means of the components.
    cov : array of shape (l, K, n, n) or (l, K, n)
        Matrices, or variances of independent features.
    feature_names : list of str, optional
        The names of the features.

    Attributes
    ----------
    weights, mean, cov
        float32 or float64 arrays, used without a copy where they are in C order.
    shape : (int, int)
        (l, n).
    n_components : int
        K.
    feature_names_in_ : list of str or None

    Examples
    --------
    >>> import svmgsu
    >>> either = svmgsu.Mixtures([[0.5, 0.5]], [[[-1.0], [1.0]]], [[[0.1], [0.1]]])
    >>> either.shape, either.to_gaussians().cov.to_full().item()
    ((1, 1), 1.1)
    """

    def __init__(
        self,
        weights: ArrayLike,
        mean: ArrayLike,
        cov: ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.mean = as_float_array(mean, "mean", (3,), FINITE)
        count, components, n = self.mean.shape
        for what, size in (("sample", count), ("component", components), ("feature", n)):
            if size == 0:
                raise ValueError(f"mean: there is no {what} in an array of shape {self.mean.shape}")
        self.weights = as_float_array(weights, "weights", (2,), FINITE)
        _check_weights(self.weights, (count, components))
        self.cov = as_float_array(cov, "cov", (3, 4), FINITE)
        _check_cov(self.cov, self.mean.shape)
        self.shape: tuple[int, int] = (count, n)
        self.feature_names_in_ = names_of(None, feature_names, n)

    @classmethod
    def _of(cls, weights: Array, mean: Array, cov: Array, names: list[str] | None) -> Mixtures:
        """Make one of arrays that need no checks."""
        out = cls.__new__(cls)
        out.weights = weights
        out.mean = mean
        out.cov = cov
        out.shape = (mean.shape[0], mean.shape[2])
        out.feature_names_in_ = names
        return out

    @property
    def n_components(self) -> int:
        """The number of Gaussians of each sample, K."""
        return int(self.mean.shape[1])

    @property
    def is_diagonal(self) -> bool:
        """Whether `cov` holds variances instead of matrices."""
        return self.cov.ndim == 3

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: object) -> Mixtures:
        """Return some of the samples, by a slice, a mask, indices or scikit-learn's `(indices, ...)`."""
        rows = key if isinstance(key, slice) else chosen_rows(key, len(self))  # slices are views
        if isinstance(key, slice) and not len(range(*key.indices(len(self)))):
            raise IndexError(f"{key} chooses none of {len(self)} samples")
        return Mixtures._of(self.weights[rows], self.mean[rows], self.cov[rows], self.feature_names_in_)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "Mixtures cannot be iterated over; .weights, .mean and .cov hold what there is to read"
        )

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise TypeError(
            "Mixtures are no plain array: .to_gaussians().mean are the means, .sample(k) draws from them"
        )

    def __repr__(self) -> str:
        kind = "diagonal" if self.is_diagonal else "full"
        return (
            f"Mixtures({self.shape[0]} samples, {self.shape[1]} features, {self.n_components} components, "
            f"{kind} covariances)"
        )

    def _repr_html_(self) -> str:
        used = 1 / np.square(self.weights[:1000], dtype=np.float64).sum(axis=1)
        size = self.weights.nbytes + self.mean.nbytes + self.cov.nbytes
        rows: Rows = [
            ("samples", f"{len(self)}"),
            feature_row(self.shape[1], self.feature_names_in_),
            ("components", f"{self.n_components}"),
            ("covariances", "diagonal" if self.is_diagonal else "full"),
            ("components that a sample uses", f"{np.median(used):.3g}"),
            ("memory", in_words(size)),
        ]
        return table("Mixtures", rows)

    def to_gaussians(self) -> Gaussians:
        """Return one Gaussian for each sample, with the mixture's mean and covariance (`Full`).

        Mean m = Σ r_k b_k, covariance Σ r_k (B_k + (b_k - m)(b_k - m)ᵀ).
        """
        count, n = self.shape
        upper = np.triu_indices(n)
        require_memory(self.mean.itemsize * count * len(upper[0]), f"{count} full matrices of {n} features")
        mean = np.empty((count, n), dtype=self.mean.dtype)
        packed = np.empty((count, len(upper[0])), dtype=self.mean.dtype)
        for part in blocks(count, 2 * self.n_components * n * n):
            r = self.weights[part].astype(np.float64)
            b = self.mean[part].astype(np.float64)
            r /= r.sum(axis=1, keepdims=True)
            centre = (r[:, np.newaxis] @ b)[:, 0]
            away = b - centre[:, np.newaxis]
            spread = (r[:, :, np.newaxis] * away).transpose(0, 2, 1) @ away
            inner = (r[:, np.newaxis] @ self.cov[part].reshape(len(r), self.n_components, -1))[:, 0]
            if self.is_diagonal:
                spread[:, np.arange(n), np.arange(n)] += inner
            else:
                spread += inner.reshape(-1, n, n)
            mean[part] = centre
            packed[part] = spread[:, upper[0], upper[1]]
        return Gaussians(mean, Full.from_packed(packed), feature_names=self.feature_names_in_)

    def sample(self, k: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draw from every sample's mixture; return an array of shape (l, k, n).

        Parameters
        ----------
        k : int, default=1
            Draws for each sample.
        random_state : int, Generator, RandomState or None
            The same seed gives the same draws.
        """
        rng = as_generator(random_state)
        (count, n), draws = self.shape, check_count(k, "k")
        bounds = np.cumsum(self.weights, axis=1, dtype=np.float64)
        chosen = rng.uniform(size=(count, draws, 1)) * bounds[:, np.newaxis, -1:] > bounds[:, np.newaxis, :]
        component = np.minimum(chosen.sum(axis=2), self.n_components - 1)
        sample = np.arange(count)[:, np.newaxis]
        out = rng.standard_normal((count, draws, n))
        for part in blocks(count, draws * n * n):
            each = self.cov[sample[part], component[part]].astype(np.float64)
            if self.is_diagonal:
                out[part] *= np.sqrt(each)
            else:
                factors = roots(each.reshape(-1, n, n)).reshape(*each.shape)
                out[part] = (out[part][:, :, np.newaxis] @ factors)[:, :, 0]
        return np.asarray(out + self.mean[sample, component])


def _check_weights(weights: Array, shape: tuple[int, int]) -> None:
    if weights.shape != shape:
        raise ValueError(
            f"weights: shape {weights.shape} for means of {shape[0]} samples with {shape[1]} components"
        )
    if (weights < 0).any():
        i, k = (int(place) for place in np.argwhere(weights < 0)[0])
        raise ValueError(f"weights: sample {i} has {weights[i, k]:g} for component {k}; weights must be >= 0")
    wrong = np.abs(weights.sum(axis=1, dtype=np.float64) - 1) > SUM_TOLERANCE
    if wrong.any():
        i = int(wrong.argmax())
        raise ValueError(f"weights: those of sample {i} sum to {weights[i].sum():.6g}; they must sum to 1")


def _check_cov(cov: Array, shape: tuple[int, ...]) -> None:
    """Refuse what are not variances or matrices (l, K, ...)."""
    n = shape[2]
    if cov.shape not in (shape, (*shape, n)):
        raise ValueError(f"cov: shape {cov.shape}; expected variances {shape} or matrices {(*shape, n)}")
    if cov.ndim == 3:
        check_range(cov, "cov", *VARIANCES)
        return
    for part in blocks(shape[0], shape[1] * n * n):
        try:
            Full(cov[part].reshape(-1, n, n), psd="strict")
        except InvalidValue as error:
            sample, component = divmod(error.place[0], shape[1])
            where = f"sample {part.start + sample}, component {component}"
            raise ValueError(f"cov: {where} {error.problem}") from None
