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
from sklearn.utils.extmath import row_norms

from ..data.covariances import beside
from ..data.gaussians import Gaussians
from ..support.arrays import blocks, dense, stack_columns
from ..support.validation import Array, FloatArray, Matrix, is_sparse
from .function import derivative, evaluated, exact_moments, is_elementwise, moments_of, small_steps, unscented
from .linear import (
    ComposedMap,
    DirectionMap,
    LinearMap,
    MatrixMap,
    ScaleMap,
    SelectMap,
    StackedMap,
    reached,
)

FINE_STEP = 1e-5  # of a standard deviation: the derivative is exact up to rounding
TOLERANCE = 1e-9  # relative deviation from an affine map that rounding explains
CHECKS = 8  # random points at which an affine map is checked


class Step:
    """A fitted transformer. `linear_map` is set if it is affine: x → A x + c, the same for all samples."""

    def __init__(self, transformer: TransformerMixin, linear_map: LinearMap | None = None) -> None:
        self.transformer = transformer
        self.linear_map = linear_map

    def forward(self, X: Matrix) -> Matrix:
        """Transform the means X."""
        return output_of(self.transformer, X)

    def derivative(self, X: Matrix, uncertain: Array) -> LinearMap:
        """Return the derivative at the means X; `uncertain` tells which features have a variance."""
        raise NotImplementedError

    def map(self, X: Matrix, uncertain: Array) -> LinearMap:
        """Return the linear map of the covariances: exact if the step is affine, else to first order."""
        return self.derivative(X, uncertain) if self.linear_map is None else self.linear_map

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        """Transform means and covariances; `exact` asks for exact moments instead of the first order."""
        mean = self.forward(data.mean)
        if self.linear_map is not None:
            return carried(data, mean, self.linear_map)
        return carried(data, mean, self.derivative(data.mean, uncertain_features(data)))


class Direction(Step):
    """x → x/|x|, whose derivative (I - u uᵀ)/|x| is never written out."""

    def derivative(self, X: Matrix, uncertain: Array) -> LinearMap:
        lengths = row_norms(X).astype(np.float64)
        if not lengths.all():
            raise ValueError(
                f"X: sample {int(lengths.argmin())} has mean 0; an uncertain sample at 0 has no direction"
            )
        return DirectionMap(dense(self.forward(X)).astype(np.float64), lengths)


class Function(Step):
    """Any function of the features, whose derivative is found by differences."""

    def __init__(self, transformer: TransformerMixin, sample: FloatArray) -> None:
        super().__init__(transformer)
        values = self.values(sample)
        self.outputs = values.shape[1]
        self.obstacle = self._obstacle(sample)
        self.elementwise = not self.obstacle and is_elementwise(self.values, sample, values)
        if not self.obstacle:
            self.linear_map = self._affine(sample, values)

    def values(self, X: FloatArray) -> FloatArray:
        """Return the outputs as a dense array."""
        return dense(self.forward(X)).astype(np.float64)

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

    def _affine(self, sample: FloatArray, values: FloatArray) -> LinearMap | None:
        """Return the linear map if the function is affine at random points and at the data, else None."""
        center = sample.mean(axis=0)
        h = np.abs(center) + sample.std(axis=0)
        h[h == 0] = 1.0
        n = len(center)
        points = center + h * np.random.default_rng(0).normal(size=(CHECKS, n))
        try:
            base = evaluated(self.values, center[np.newaxis], "f")[0]
            found = np.concatenate([evaluated(self.values, points, "f"), values])
            if self.elementwise:
                ends = evaluated(self.values, np.stack([center + h, center - h]), "f")
                linear_map: LinearMap = ScaleMap((ends[0] - ends[1]) / (2 * h))
            else:
                linear_map = MatrixMap(self._matrix(center, h))
        except ValueError:  # it is not defined at all of them
            return None
        away = np.concatenate([points, sample]) - center
        expected = base + linear_map.rows(away, np.zeros(len(away), dtype=np.int64))
        size = np.abs(found).max(axis=0) + np.abs(base)
        return linear_map if (np.abs(expected - found) <= TOLERANCE * size).all() else None

    def _matrix(self, center: FloatArray, h: FloatArray) -> FloatArray:
        """Return A of an affine function, by differences of length h along each axis."""
        n = len(center)
        matrix = np.empty((self.outputs, n))
        for part in blocks(n, 4 * max(n, self.outputs)):
            moves = np.diag(h)[part]
            ends = evaluated(self.values, np.concatenate([center + moves, center - moves]), "f")
            count = len(moves)
            matrix[:, part] = ((ends[:count] - ends[count:]) / (2 * h[part, np.newaxis])).T
        return matrix

    def derivative(self, X: Matrix, uncertain: Array) -> LinearMap:
        if not uncertain.any():
            return MatrixMap(np.zeros((self.outputs, X.shape[1])))
        name = type(self.transformer).__name__
        if self.obstacle:
            raise ValueError(
                f"transformer: {name} {self.obstacle}, so that it has no first order; give it only features "
                'without uncertainty, or use method="unscented"'
            )
        if is_sparse(X):
            raise TypeError(f"X: {name} is not linear and takes no sparse means; pass their .toarray()")
        X = X.astype(np.float64)
        evaluated(self.values, X, name)  # checks the domain
        return derivative(self.values, X, self.outputs, self.elementwise, name, FINE_STEP)

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        if self.linear_map is not None or not exact or data.cov is None:
            return super().carry(data, exact)
        moments = moments_of(self.transformer)
        if moments is None:
            raise ValueError(
                f"method: exact moments of {type(self.transformer).__name__} are not known; those of "
                "FunctionTransformer with np.log, np.log10, np.exp, np.square or scipy.special.exp10 are"
            )
        evaluated(self.values, data.mean, type(self.transformer).__name__)  # checks the domain
        out = exact_moments(data, moments)
        if data.test_noise is not None:
            linear_map = self.derivative(data.mean, uncertain_features(data))
            out.test_noise = data.test_noise.map(linear_map)
        return out


class Chain(Step):
    """The steps of a Pipeline."""

    def __init__(self, transformer: TransformerMixin, steps: Sequence[Step]) -> None:
        super().__init__(transformer)
        self.steps = list(steps)
        maps = [step.linear_map for step in self.steps]
        if all(each is not None for each in maps):
            self.linear_map = reduce(ComposedMap, maps)  # type: ignore[arg-type]

    def derivative(self, X: Matrix, uncertain: Array) -> LinearMap:
        through: LinearMap | None = None
        for step in self.steps:
            here = step.map(X, uncertain)
            through = here if through is None else ComposedMap(through, here)
            X = step.forward(X)
            uncertain = reached(here, uncertain)
        assert through is not None
        return through

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        if not exact or self.linear_map is not None:
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
        if all(step.linear_map is not None for _, step in self.parts):
            self.linear_map = self._stacked([step.linear_map for _, step in self.parts])  # type: ignore[misc]

    def _stacked(self, maps: Sequence[LinearMap]) -> LinearMap:
        chosen = [SelectMap(columns, self.features) for columns, _ in self.parts]
        return StackedMap([ComposedMap(a, b) for a, b in zip(chosen, maps, strict=True)])

    def derivative(self, X: Matrix, uncertain: Array) -> LinearMap:
        return self._stacked([step.map(X[:, columns], uncertain[columns]) for columns, step in self.parts])

    def carry(self, data: Gaussians, exact: bool) -> Gaussians:
        taken = np.concatenate([columns for columns, _ in self.parts])
        cov = data.cov
        disjoint = len(np.unique(taken)) == len(taken)
        if cov is None or not cov.is_diagonal or cov.needs_classes or not disjoint:
            if exact and self.linear_map is None:
                raise ValueError(
                    "method: exact moments of several blocks of features are known only if all values are "
                    'independent and no feature is used twice; use method="first-order" or "unscented"'
                )
            return super().carry(data, exact)
        # Independent values that no two blocks share: each block has a covariance of its own, and variances
        # stay variances beside a block that correlates its outputs.
        alone = data.with_cov(cov)
        alone.test_noise = None
        done = []
        for columns, step in self.parts:
            part = carried(alone, data.mean[:, columns], SelectMap(columns, self.features))
            done.append(step.carry(part, exact))
        covs = [part.cov for part in done if part.cov is not None]
        out = Gaussians(
            stack_columns([part.mean for part in done]), beside(covs, [p.shape[1] for p in done], len(data))
        )
        if data.test_noise is not None:
            out.test_noise = data.test_noise.map(self.map(data.mean, uncertain_features(data)))
        return out


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
            sample = dense(steps[-1].forward(sample)).astype(np.float64)
        return Chain(transformer, steps)
    if isinstance(transformer, (ColumnTransformer, FeatureUnion)) and not transformer.transformer_weights:
        parts = [(columns, step_of(t, sample[:, columns])) for t, columns in _blocks_of(transformer, n)]
        return Columns(transformer, parts, n)
    linear_map = _known_map(transformer, n)
    if linear_map is not None:
        return Step(transformer, linear_map)
    if isinstance(transformer, Normalizer) and transformer.norm == "l2":
        return Direction(transformer)
    return Function(transformer, sample)


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
        return ScaleMap(np.ones(n) if scale is None else 1 / scale.astype(np.float64))
    if kind is MinMaxScaler and not clips:
        return ScaleMap(np.asarray(scale, dtype=np.float64))
    if kind is TruncatedSVD or (kind in (PCA, IncrementalPCA) and not transformer.whiten):
        return MatrixMap(transformer.components_.astype(np.float64))
    if isinstance(transformer, SelectorMixin):
        return SelectMap(transformer.get_support(indices=True), n)
    if kind is FunctionTransformer and transformer.func is None:
        return SelectMap(np.arange(n), n)
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


def uncertain_features(data: Gaussians) -> Array:
    """Return a mask of the features that have a variance in some sample."""
    mask = np.zeros(data.shape[1], dtype=bool)
    for cov in (data.cov, data.test_noise):
        if cov is not None:
            mask |= cov.diagonals(*data.shape).any(axis=0)
    return mask


def carried(data: Gaussians, mean: Matrix, linear_map: LinearMap) -> Gaussians:
    """Return `mean` with the covariances of `data` after a linear map."""
    out = Gaussians(mean, None if data.cov is None else data.cov.map(linear_map))
    out.test_noise = None if data.test_noise is None else data.test_noise.map(linear_map)
    return out


def through_points(step: Step, data: Gaussians) -> Gaussians:
    """Return the moments of points of each sample that are sent through the transformer."""
    if is_sparse(data.mean):
        raise TypeError("X: sparse means have no points to send through a transformer; pass their .toarray()")

    def values(X: FloatArray) -> FloatArray:
        return dense(step.forward(X)).astype(np.float64)

    assert data.cov is not None
    name = type(step.transformer).__name__
    mean, cov = unscented(values, data.mean.astype(np.float64), data.cov, name)
    out = Gaussians(mean.astype(data.mean.dtype), cov)
    if data.test_noise is not None:
        out.test_noise = carried(data, mean, step.map(data.mean, uncertain_features(data))).test_noise
    return out
