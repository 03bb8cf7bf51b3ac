"""How a fitted scikit-learn transformer acts on means and covariances.

`step_of` takes compositions apart, knows scalers and projections by their attributes, and evaluates anything
else at a few points to see whether it is affine or elementwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from ..data.covariances import Covariance, Diagonal, beside
from ..data.gaussians import Gaussians
from ..support.arrays import blocks, dense, stack_columns
from ..support.validation import Array, FloatArray, Matrix, is_sparse
from .function import (
    EXACT,
    DifferenceMap,
    derivative,
    evaluated,
    exact_moments,
    is_elementwise,
    small_steps,
    unscented,
)
from .linear import LinearMap, MatrixMap, PickMap, composed, scale_map, stacked

TOLERANCE = 1e-9  # relative deviation from an affine map that rounding explains
CHECKS = 8  # random points at which an affine map is checked


class Step:
    """A fitted transformer, which may be `affine`: x → A x + c."""

    def __init__(self, transformer: TransformerMixin, known_map: LinearMap | None = None) -> None:
        self.transformer = transformer
        self.name = type(transformer).__name__
        self.known_map = known_map
        self.affine = known_map is not None

    def linear_map(self) -> LinearMap:
        """Return x → A x of an affine step."""
        assert self.known_map is not None
        return self.known_map

    def forward(self, X: Matrix) -> Matrix:
        """Transform the means X."""
        return output_of(self.transformer, X)

    def values(self, X: FloatArray) -> FloatArray:
        """Return the outputs as a dense array."""
        return dense(self.forward(X)).astype(np.float64)

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        """Transform means and covariances; `exact` asks for exact moments instead of the first order."""
        linear_map = self.map_at(data)
        out = Gaussians(self.forward(data.mean), None if data.cov is None else data.cov.map(linear_map))
        out.test_noise = None if data.test_noise is None else data.test_noise.map(linear_map)
        return out

    def map_at(self, data: Gaussians) -> LinearMap:
        """Return the map of the covariances: that of an affine step, else the derivative at each mean."""
        return self.linear_map()

    def through_points(self, data: Gaussians) -> Gaussians:
        """Return the moments of points of each sample that are sent through the transformer."""
        if is_sparse(data.mean):
            raise TypeError(
                "X: sparse means have no points to send through a transformer; pass their .toarray()"
            )
        assert data.cov is not None
        mean, cov = unscented(self.values, data.mean.astype(np.float64), data.cov, self.name)
        out = Gaussians(mean.astype(data.mean.dtype), cov)
        if data.test_noise is not None:
            out.test_noise = self.carry(data, exact=False).test_noise
        return out


class Function(Step):
    """Any function of the features, whose derivative is found by differences."""

    def __init__(self, transformer: TransformerMixin, sample: FloatArray) -> None:
        super().__init__(transformer)
        values = self.values(sample)
        self.outputs = values.shape[1]
        self.obstacle = self._obstacle(sample)
        self.elementwise = not self.obstacle and is_elementwise(self.values, sample, values)
        if not self.obstacle:
            self.known_map = self._found_map(sample, values)
            self.affine = self.known_map is not None

    def _obstacle(self, sample: FloatArray) -> str:
        """Say why there is no useful derivative; empty if there is one."""
        h = small_steps(sample)
        try:
            with np.errstate(all="ignore"):
                above = self.values(sample + h)
                below = self.values(sample - h)
        except Exception as error:  # whatever a transformer raises for values it does not know
            return f"cannot be evaluated nearby ({str(error).splitlines()[0]})"
        # Steps: most outputs stay as they are, and those that do not, jump.
        change = np.abs(above - below)
        spread = np.broadcast_to(np.ptp(self.values(sample), axis=0), change.shape)
        moved = change > 0
        flat = spread.any() and moved.mean() < 0.5 and (change > 1e-3 * spread)[moved].all()
        return "does not change with small changes of its input" if flat else ""

    def _found_map(self, sample: FloatArray, values: FloatArray) -> LinearMap | None:
        """Return the linear map if the function is affine at random points and at the data, else None."""
        center = sample.mean(axis=0)
        h = np.abs(center) + sample.std(axis=0)
        h[h == 0] = 1.0
        n = len(center)
        points = center + h * np.random.default_rng(0).normal(size=(CHECKS, n))
        linear_map: LinearMap
        try:
            base = evaluated(self.values, center[np.newaxis], "f")[0]
            found = np.concatenate([evaluated(self.values, points, "f"), values])
            if self.elementwise:
                ends = evaluated(self.values, np.stack([center + h, center - h]), "f")
                linear_map = scale_map((ends[0] - ends[1]) / (2 * h))
            else:
                matrix = np.empty((self.outputs, n))
                for part in blocks(n, 4 * max(n, self.outputs)):
                    moves = np.diag(h)[part]
                    ends = evaluated(self.values, np.concatenate([center + moves, center - moves]), "f")
                    ahead, behind = np.split(ends, 2)
                    matrix[:, part] = ((ahead - behind) / (2 * h[part, np.newaxis])).T
                linear_map = MatrixMap(matrix)
        except ValueError:  # it is not defined at all of them
            return None
        away = np.concatenate([points, sample]) - center
        expected = base + linear_map.rows(away, np.zeros(len(away), dtype=np.int64))
        size = np.abs(found).max(axis=0) + np.abs(base)
        return linear_map if (np.abs(expected - found) <= TOLERANCE * size).all() else None

    def map_at(self, data: Gaussians) -> LinearMap:
        if self.affine:
            return self.linear_map()
        X = data.mean
        if not _variances(data).any():
            return MatrixMap(np.zeros((self.outputs, X.shape[1])))
        if self.obstacle:
            raise ValueError(
                f"transformer: {self.name} {self.obstacle}, so that it has no first order; give it only "
                'features without uncertainty, or use method="unscented"'
            )
        if is_sparse(X):
            raise TypeError(f"X: {self.name} is not linear and takes no sparse means; pass their .toarray()")
        if isinstance(self.transformer, Normalizer) and not X.any(axis=1).all():
            sample = int((~X.any(axis=1)).argmax())
            raise ValueError(f"X: sample {sample} has mean 0; an uncertain sample at 0 has no direction")
        X = X.astype(np.float64)
        evaluated(self.values, X, self.name)  # checks the domain
        return derivative(self.values, X, self.outputs, self.elementwise, self.name)

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        if self.affine or not exact or data.cov is None:
            return super().carry(data, exact)
        evaluated(self.values, data.mean, self.name)  # checks the domain
        plain = not getattr(self.transformer, "kw_args", None)
        out = exact_moments(data, getattr(self.transformer, "func", None)) if plain else None
        if out is None:
            raise ValueError(
                f"method: exact moments of {self.name} are not known; those of FunctionTransformer with "
                f"{EXACT} are"
            )
        if data.test_noise is not None:
            out.test_noise = data.test_noise.map(self.map_at(data))
        return out


class Chain(Step):
    """The steps of a Pipeline."""

    def __init__(self, transformer: TransformerMixin, steps: Sequence[Step]) -> None:
        super().__init__(transformer)
        self.steps = list(steps)
        self.affine = all(step.affine for step in self.steps)

    def linear_map(self) -> LinearMap:
        return reduce(composed, [step.linear_map() for step in self.steps])

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        if self.affine:
            return super().carry(data, exact)
        for step in self.steps:
            data = step.carry(data, exact)
        return data


class Columns(Step):
    """The blocks of a ColumnTransformer or a FeatureUnion, each with the indices of its features."""

    def __init__(
        self, transformer: TransformerMixin, parts: Sequence[tuple[Array, Step]], features: int
    ) -> None:
        super().__init__(transformer)
        self.parts = list(parts)
        self.features = features
        taken = np.concatenate([columns for columns, _ in self.parts])
        self.disjoint = len(np.unique(taken)) == len(taken)
        self.affine = all(step.affine for _, step in self.parts)

    def linear_map(self) -> LinearMap:
        return stacked(
            [composed(PickMap(columns, self.features), step.linear_map()) for columns, step in self.parts]
        )

    def map_at(self, data: Gaussians) -> LinearMap:
        if self.affine:
            return self.linear_map()
        # A block without a derivative refuses features that have a variance.
        self._each_block(data.mean, Diagonal(_variances(data)), exact=False)
        X = data.mean.astype(np.float64)
        return DifferenceMap(self.values, X, evaluated(self.values, X, self.name).shape[1], self.name)

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        cov = data.cov
        if cov is None or not cov.is_diagonal or cov.needs_classes or not self.disjoint:
            if exact and not self.affine and cov is not None:
                raise ValueError(
                    "method: exact moments of several blocks of features are known only if all values are "
                    'independent and no feature is used twice; use method="first-order" or "unscented"'
                )
            return super().carry(data, exact)
        # Independent values that no two blocks share: each block has a covariance of its own, and variances
        # stay variances beside a block that correlates its outputs.
        done = self._each_block(data.mean, cov, exact)
        covs = [part.cov for part in done if part.cov is not None]
        out = Gaussians(
            stack_columns([part.mean for part in done]), beside(covs, [p.shape[1] for p in done], len(data))
        )
        if data.test_noise is not None:
            out.test_noise = data.test_noise.map(self.map_at(data))
        return out

    def _each_block(self, mean: Matrix, cov: Covariance, exact: bool) -> list[Gaussians]:
        done = []
        for columns, step in self.parts:
            part = Gaussians(mean[:, columns], cov.map(PickMap(columns, self.features)))
            done.append(step.carry(part, exact))
        return done


def step_of(transformer: TransformerMixin, sample: FloatArray) -> Step:
    """Find out how a fitted transformer acts; `sample` (k, n) are some of the means it was fitted on."""
    n = sample.shape[1]
    if transformer is None or isinstance(transformer, str):  # "passthrough"
        transformer = FunctionTransformer().fit(sample)
    if hasattr(transformer, "step_"):  # a Propagate
        return transformer.step_  # type: ignore[no-any-return]
    if isinstance(transformer, Pipeline):
        steps = []
        for _, inner in transformer.steps:
            steps.append(step_of(inner, sample))
            sample = steps[-1].values(sample)
        return Chain(transformer, steps)
    if isinstance(transformer, (ColumnTransformer, FeatureUnion)) and not transformer.transformer_weights:
        parts = [(columns, step_of(t, sample[:, columns])) for t, columns in _blocks_of(transformer, n)]
        return Columns(transformer, parts, n)
    linear_map = _known_map(transformer, n)
    return Function(transformer, sample) if linear_map is None else Step(transformer, linear_map)


def _blocks_of(transformer: TransformerMixin, n: int) -> list[tuple[TransformerMixin, Array]]:
    """Return the transformers of a ColumnTransformer or FeatureUnion with the indices of their features."""
    if isinstance(transformer, FeatureUnion):
        return [
            (t, np.arange(n))
            for _, t in transformer.transformer_list
            if not isinstance(t, str) or t != "drop"
        ]
    indices = transformer._transformer_to_input_indices  # names, masks, slices and callables resolved
    found = [(t, np.asarray(indices[name], dtype=np.int64)) for name, t, _ in transformer.transformers_]
    return [(t, columns) for t, columns in found if len(columns) and (not isinstance(t, str) or t != "drop")]


def _known_map(transformer: TransformerMixin, n: int) -> LinearMap | None:
    """Return the linear map of scalers, projections and selections, whose attributes say what it is."""
    kind = type(transformer)
    clips = getattr(transformer, "clip", False)
    scale = getattr(transformer, "scale_", None)
    if kind in (StandardScaler, RobustScaler) or (kind is MaxAbsScaler and not clips):
        return scale_map(np.ones(n) if scale is None else 1 / scale.astype(np.float64))
    if kind is MinMaxScaler and not clips:
        return scale_map(np.asarray(scale, dtype=np.float64))
    if kind is TruncatedSVD or (kind in (PCA, IncrementalPCA) and not transformer.whiten):
        return MatrixMap(transformer.components_.astype(np.float64))
    if isinstance(transformer, SelectorMixin):
        return PickMap(transformer.get_support(indices=True), n)
    if kind is FunctionTransformer and transformer.func is None:
        return PickMap(np.arange(n), n)
    return None


def output_of(transformer: TransformerMixin, X: Matrix) -> Matrix:
    """Transform means X; with their names if the transformer was fitted with names."""
    names = getattr(transformer, "feature_names_in_", None)
    out = transformer.transform(X if names is None else framed(X, names))
    return out if is_sparse(out) else np.asarray(out)


def framed(X: Matrix, names: Sequence[str]) -> Matrix:
    """Return X as a DataFrame, without a copy, if pandas is there and X is not sparse."""
    if is_sparse(X):
        return X
    try:
        import pandas
    except ImportError:
        return X
    return pandas.DataFrame(X, columns=list(names), copy=False)


def _variances(data: Gaussians) -> FloatArray:
    """Return the variances of all values, with those of test-time noise."""
    total = np.zeros(data.shape)
    for cov in (data.cov, data.test_noise):
        if cov is not None:
            total += cov.diagonals(*data.shape)
    return total
