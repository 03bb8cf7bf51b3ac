"""`GaussianColumnTransformer` and `GaussianUnion`: transformers side by side, with their joint covariance.

scikit-learn's ColumnTransformer and FeatureUnion join arrays, and have no place for a covariance.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..data.concatenation import beside
from ..data.covariances import Covariance, Isotropic
from ..data.gaussians import Gaussians
from ..maps.joined import ComposedMap, StackedMap, ZeroMap, side_by_side
from ..maps.linear import LinearMap, SelectMap
from ..support.validation import Array, FloatArray, is_sparse
from .transformers import column_indices
from .transforming import GaussianTransformer, carried
from .unscaling import pulled_back, steps_of


class Block(NamedTuple):
    """A fitted transformer, or "passthrough", and the columns that it takes."""

    name: str
    transformer: Any
    columns: Array


class _Joined(GaussianTransformer, _BaseComposition):  # type: ignore[misc]
    """What the two share once it is known which columns each transformer takes."""

    verbose_feature_names_out: bool
    learns_units = True
    by_name: str  # which attribute holds them as (name, transformer) pairs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if `deep`, also those of the transformers, as in scikit-learn."""
        return dict(self._get_params(self.by_name, deep=deep))

    def set_params(self, **params: Any) -> Any:
        """Sets parameters, `params`, also those of the transformers by `name__parameter`."""
        self._set_params(self.by_name, **params)
        return self

    def _blocks_of(self, data: Gaussians) -> list[Block]:
        """The transformers as they were given, with the indices of their columns."""
        raise NotImplementedError

    def _given(self) -> list[Any]:
        """The transformers as they were given."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(Exception):  # `fit` complains of what is no list of transformers
            real = [t for t in self._given() if t is not None and not isinstance(t, str)]
            tags.input_tags.sparse = all(get_tags(t).input_tags.sparse for t in real)
        return tags

    def _fit(self, data: Gaussians, y: Any) -> None:
        self.transformers_: list[Block] = []
        for name, transformer, columns in self._blocks_of(data):
            if isinstance(transformer, str) and transformer not in ("passthrough", "drop"):
                raise ValueError(
                    f'transformers: {name!r} is {transformer!r}; expected one, or "passthrough" or "drop"'
                )
            if len(columns) == 0 or transformer == "drop":
                continue
            part = self._part(data, columns)
            if transformer != "passthrough":
                transformer = clone(transformer)
                if _carries(transformer):
                    transformer.fit(part, y)
                else:
                    _check_certain(name, transformer, part, y)
                    transformer.fit(part.mean, y)
            self.transformers_.append(Block(name, transformer, columns))
        if not self.transformers_:
            raise ValueError("transformers: no column is left; there is nothing to join")

    def _part(self, data: Gaussians, columns: Array) -> Gaussians:
        part = carried(data, data.mean[:, columns], SelectMap(columns, data.shape[1]))
        names = getattr(self, "feature_names_in_", None)
        part.feature_names_in_ = None if names is None else [str(names[j]) for j in columns]
        return part

    def _mean(self, data: Gaussians) -> Any:
        return self._carry(Gaussians(data.mean)).mean

    def _map(self, data: Gaussians) -> LinearMap:
        return StackedMap([_linearised(block, data)[1] for block in self.transformers_])

    @property
    def has_map(self) -> bool:  # type: ignore[override]
        return all(_has_map(block.transformer) for block in self.transformers_)

    def _carry(self, data: Gaussians) -> Gaussians:
        for block in self.transformers_:
            if not _carries(block.transformer):
                _check_certain(block.name, block.transformer, self._part(data, block.columns), None)
        if data.cov is not None and data.cov.is_diagonal and not data.cov.needs_classes and self._disjoint():
            return self._independent(data)
        if data.cov is not None and not self.has_map:
            exact = next(b.name for b in self.transformers_ if not _has_map(b.transformer))
            raise ValueError(
                f"transformers: {exact!r} has exact moments, or those of points, whose covariance with other "
                "columns is known only where all values are independent and no column is taken twice; use "
                '"first-order"'
            )
        pairs = [_linearised(block, data) for block in self.transformers_]
        mean = side_by_side([mean for mean, _ in pairs])
        if data.cov is None and data.deployment is None:
            return Gaussians(mean)
        return carried(data, mean, StackedMap([linear_map for _, linear_map in pairs]))

    def _disjoint(self) -> bool:
        taken = np.concatenate([block.columns for block in self.transformers_])
        return len(np.unique(taken)) == len(taken)

    def _independent(self, data: Gaussians) -> Gaussians:
        """Independent values that no two transformers share: each has a covariance of its own."""
        parts = []
        for name, transformer, columns in self.transformers_:
            part = self._part(data, columns)
            if _carries(transformer):
                parts.append(part if transformer == "passthrough" else transformer.transform(part))
            else:
                parts.append(Gaussians(_plain(name, transformer, part.mean)).with_cov(_nothing(part)))
        mean = side_by_side([part.mean for part in parts])
        out = Gaussians(
            mean, beside([part.cov for part in parts], [part.shape[1] for part in parts], len(data))
        )
        if data.deployment is not None:
            maps = [_linearised(block, data)[1] for block in self.transformers_]
            out.deployment = data.deployment.mapped(StackedMap(maps))
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the outputs, "transformer__feature"; `input_features` as in scikit-learn."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        names: list[str] = []
        for name, transformer, columns in self.transformers_:
            own = given[columns]
            if transformer != "passthrough":
                own = transformer.get_feature_names_out(own)
            names += [
                f"{name}__{feature}" if self.verbose_feature_names_out else str(feature) for feature in own
            ]
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ValueError(
                f"verbose_feature_names_out: without it {twice[0]!r} is the name of two features"
            )
        return np.asarray(names, dtype=object)

    def pull_back(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights `coef` (K, m) of the output as weights of the input, and what they add to b."""
        weights, shift, first = np.zeros((len(coef), self.n_features_in_)), np.zeros(len(coef)), 0
        for name, transformer, columns in self.transformers_:
            size = len(self._names_of(name, transformer, columns))
            own, more = pulled_back(steps_of(transformer), coef[:, first : first + size])
            weights[:, columns] += own
            shift, first = shift + more, first + size
        return weights, shift

    def _names_of(self, name: str, transformer: Any, columns: Array) -> Any:
        given = _check_feature_names_in(self, None)[columns]
        return given if transformer == "passthrough" else transformer.get_feature_names_out(given)


class GaussianColumnTransformer(_Joined):
    """Transformers for some of the columns each, side by side, with the joint covariance.

    Parameters
    ----------
    transformers : list of (name, transformer, columns)
        The transformers are those of this library, pipelines of them, "passthrough" or "drop". Columns
        that are certain (of variance 0) may have any transformer of scikit-learn, such as `OneHotEncoder`.
        Columns are names, indices, a mask, a slice, or a single name or index; names need a DataFrame, or
        `Gaussians` with `feature_names_in_`.
    remainder : "drop", "passthrough" or transformer, default="drop"
        What is done with the other columns.
    verbose_feature_names_out : bool, default=True
        Whether names of outputs begin with that of their transformer.

    Attributes
    ----------
    transformers_ : list of (name, transformer, columns)
        Fitted; columns are indices.

    Notes
    -----
    Independent columns stay independent: variances stay variances, and only the outputs of a transformer that
    mixes columns are correlated. Where columns are correlated, so are the outputs of different transformers,
    and all kinds of covariance carry that: `LowRank` stays so while it has no more factors than outputs.

    Examples
    --------
    >>> import svmgsu
    >>> data = svmgsu.Gaussians([[1.0, 5.0], [3.0, 9.0]], std=[[1, 0.5], [1, 0.5]], feature_names=["u", "g"])
    >>> columns = svmgsu.GaussianColumnTransformer(
    ...     [("scale", svmgsu.GaussianScaler(), ["g"])], remainder="passthrough"
    ... )
    >>> out = columns.fit_transform(data)
    >>> out.feature_names_in_, out.mean[0].tolist(), out.cov.variances[0].tolist()
    (['scale__g', 'remainder__u'], [-1.0, 1.0], [0.0625, 1.0])
    """

    by_name = "_named"

    def __init__(
        self, transformers: Any, *, remainder: Any = "drop", verbose_feature_names_out: bool = True
    ) -> None:
        self.transformers = transformers
        self.remainder = remainder
        self.verbose_feature_names_out = verbose_feature_names_out

    @property
    def _named(self) -> Any:
        """The transformers by name, as scikit-learn's nested parameters want them."""
        try:
            return [(name, transformer) for name, transformer, _ in self.transformers]
        except (TypeError, ValueError):
            return self.transformers

    @_named.setter
    def _named(self, value: Any) -> None:
        both = zip(value, self.transformers, strict=True)
        self.transformers = [(name, new, columns) for (name, new), (_, _, columns) in both]

    def _given(self) -> list[Any]:
        return [transformer for _, transformer, _ in self.transformers] + [self.remainder]

    def _blocks_of(self, data: Gaussians) -> list[Block]:
        n, known = data.shape[1], getattr(self, "feature_names_in_", None)
        _check_list(self.transformers, 3, "(name, transformer, columns)")
        self._validate_names([name for name, _, _ in self.transformers])
        blocks = [Block(name, t, _indices(columns, known, n)) for name, t, columns in self.transformers]
        taken = np.concatenate([block.columns for block in blocks]) if blocks else np.arange(0)
        rest = np.setdiff1d(np.arange(n), taken)
        return [*blocks, Block("remainder", self.remainder, rest)]


class GaussianUnion(_Joined):
    """The outputs of several transformers of all columns, side by side, with their joint covariance.

    Parameters
    ----------
    transformer_list : list of (name, transformer)
        Transformers of this library, pipelines of them, "passthrough" or "drop".
    verbose_feature_names_out : bool, default=True
        Whether names of outputs begin with that of their transformer.

    Attributes
    ----------
    transformers_ : list of (name, transformer, columns)
        Fitted; columns are indices.

    Notes
    -----
    Outputs are functions of the same uncertain values, and so they are correlated: an example's covariance is
    J Σ Jᵀ with J the transformers' matrices (or derivatives) one below the other.

    Examples
    --------
    >>> import svmgsu
    >>> data = svmgsu.Gaussians([[1.0], [3.0]], std=0.5)
    >>> twice = svmgsu.GaussianLinearMap([[2.0]])
    >>> union = svmgsu.GaussianUnion([("as it is", "passthrough"), ("twice", twice)])
    >>> union.fit_transform(data).cov.to_full(n_examples=1)
    array([[[0.25, 0.5 ],
            [0.5 , 1.  ]]])
    """

    by_name = "transformer_list"

    def __init__(self, transformer_list: Any, *, verbose_feature_names_out: bool = True) -> None:
        self.transformer_list = transformer_list
        self.verbose_feature_names_out = verbose_feature_names_out

    def _given(self) -> list[Any]:
        return [transformer for _, transformer in self.transformer_list]

    def _blocks_of(self, data: Gaussians) -> list[Block]:
        _check_list(self.transformer_list, 2, "(name, transformer)")
        self._validate_names([name for name, _ in self.transformer_list])
        return [Block(name, t, np.arange(data.shape[1])) for name, t in self.transformer_list]


def _check_list(given: Any, size: int, wanted: str) -> None:
    for k, item in enumerate(given):
        if not isinstance(item, (tuple, list)) or len(item) != size or not isinstance(item[0], str):
            raise TypeError(f"transformers: item {k} is {item!r}; expected {wanted}")


def _indices(columns: Any, known: Any, n: int) -> Array:
    if isinstance(columns, slice):
        return np.arange(n)[columns]
    if isinstance(columns, (str, int, np.integer)) and not isinstance(columns, bool):
        columns = [columns]
    if callable(columns):
        raise TypeError(f"columns: expected names, indices, a mask or a slice, got the function {columns!r}")
    columns = list(columns)
    return column_indices(columns, known, n) if columns and any_chosen(columns) else np.arange(0)


def any_chosen(columns: list[Any]) -> bool:
    """False for a mask that chooses none."""
    return not all(isinstance(c, (bool, np.bool_)) for c in columns) or any(columns)


def _carries(transformer: Any) -> bool:
    """Whether a transformer takes `Gaussians`."""
    if isinstance(transformer, Pipeline):
        return all(_carries(step) for _, step in transformer.steps)
    return transformer is None or transformer == "passthrough" or isinstance(transformer, GaussianTransformer)


def _has_map(transformer: Any) -> bool:
    if isinstance(transformer, Pipeline):
        return all(_has_map(step) for _, step in transformer.steps)
    return not isinstance(transformer, GaussianTransformer) or bool(transformer.has_map)


def _check_certain(name: str, transformer: Any, part: Gaussians, y: Any) -> None:
    for cov in (part.cov, part.deployment):
        if cov is not None and cov.diagonals(*part.shape, y).any():
            raise TypeError(
                f"transformers: {name!r} ({type(transformer).__name__}) cannot carry a covariance, but its "
                "columns have one; use a transformer of this library, such as svmgsu.GaussianScaler, or "
                "svmgsu.GaussianFunctionTransformer for a function"
            )


def _plain(name: str, transformer: Any, mean: Any) -> Any:
    out = transformer.transform(mean)
    if not is_sparse(out):
        out = np.asarray(out)
    if out.ndim != 2:
        raise ValueError(
            f"transformers: the output of {name!r} has the shape {out.shape}; expected two dimensions"
        )
    return out


def _linearised(block: Block, data: Gaussians) -> tuple[Any, LinearMap]:
    """The means of a block's outputs, and the map from all features to them."""
    name, transformer, columns = block
    chosen = SelectMap(columns, data.shape[1])
    mean = data.mean[:, columns]
    if not _carries(transformer):
        out = _plain(name, transformer, mean)
        return out, ZeroMap(data.shape[1], out.shape[1])
    uncertain = data.cov is not None or data.deployment is not None
    through: LinearMap = chosen
    for step in steps_of(transformer):
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        here = Gaussians(mean, 0.0 if uncertain else None)  # a variance of 0: derivatives must exist
        mean = step._mean(here)
        if uncertain:
            through = ComposedMap(through, step._map(here))
    return mean, through


def _nothing(part: Gaussians) -> Covariance:
    """A covariance of 0 for the outputs of a transformer that carries none."""
    assert part.cov is not None
    return Isotropic(np.zeros(len(part)) if part.cov.n_examples is not None else 0.0)
