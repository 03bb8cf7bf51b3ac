"""Learning from data that come in pieces, by the steps of the paper's stochastic algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..data.soft_labels import known_labels
from ..models.classifier import Model
from ..support.labels import check_raw_weights, class_factors
from ..support.losses import check_bounded_slope
from ..support.parallel import Team
from ..support.validation import Array, FloatArray
from .division import Division
from .examples import Examples, check_doubt
from .settings import Settings

BATCH = 100
LARGEST_WEIGHT = 1e100  # relative to the first piece of a stream


@dataclass
class Stream:
    """What is kept between pieces: the classes, the number of features, and where each problem has come to.

    Nothing is certified, since the data are not kept. Where labels are in doubt, an example is there for each
    class with that weight. `counts` has (samples, sum of weights) so far for each problem, where weights
    are multiplied by 2**-exponent, which the first piece sets.
    """

    classes: Array
    features: int
    division: Division
    states: list[Any] = field(default_factory=list)
    counts: Array | None = None
    exponent: int | None = None

    @classmethod
    def after(cls, model: Model, examples: int, batch: int | None) -> Stream:
        """Goes on from a trained model, which counts like one reading of its examples."""
        if model.multi_class == "ovo":
            examples = -(-2 * examples // len(model.classes_))  # of a pair, on average
        steps = -(-examples // (batch or BATCH))
        planes = zip(model.coef_, model.intercept_.tolist(), strict=True)
        states = [(w, w, b, b, steps, float(examples), float(examples)) for w, b in planes]
        division = Division(len(model.classes_), model.multi_class)
        return cls(model.classes_, model.n_features_in_, division, states)

    def read(
        self,
        data: Gaussians,
        y: Any,
        sample_weight: Any,
        settings: Settings,
        *,
        columns: Any = None,
        team: Team | None = None,
    ) -> None:
        """Takes one step for each `k` examples of a piece of the data, in an order drawn by the seed.

        Weights are relative to the mean weight so far. class_weight="balanced" is refused, since the sizes of
        the classes are not known. `columns` names those of class probabilities.
        """
        check_bounded_slope(settings.core_loss, "partial_fit")
        if data.shape[1] != self.features:
            raise ValueError(
                f"X has {data.shape[1]} features, but LinearSVMGSU is expecting {self.features} features as "
                "input: the stream began with so many"
            )
        codes, copies = known_labels(y, len(data), self.classes, columns)
        check_doubt(copies, data)
        weights, class_weight = copies.weights(self._scaled(sample_weight, len(data))), settings.class_weight
        if class_weight is not None:
            if isinstance(class_weight, str):
                raise ValueError(
                    f"class_weight: {class_weight!r} needs all of y, and partial_fit sees a part; give a dict"
                )
            weights = weights * class_factors(class_weight, self.classes, codes, weights)[codes]
        labels = self.classes[codes] if copies.source is None else None
        piece: Examples[Model] = Examples(data, settings, labels, copies)
        parts = range(len(self.division))
        chosen = [self.division.rows(part, codes) for part in parts]
        means = self._count(chosen, weights)
        states = self.states or [()] * len(parts)

        def work(part: int) -> Any:
            state, some = states[part], chosen[part]
            rows = np.arange(len(codes)) if some is None else some
            if not len(rows):  # neither class of the pair is in this piece
                nothing = np.zeros(self.features)
                return state or (nothing, nothing, 0.0, 0.0, 0, 0.0, 0.0)
            signs = self.division.signs(part, codes[rows])
            core = piece.core_of(_core.labelled, signs, weights[rows] / means[part], rows, None)
            seed = settings.seed + (state[4] if state else 0)
            how = settings.lam, bool(settings.fit_intercept), settings.k or BATCH, seed
            return _core.continue_sgd(core, *how, state, settings.core_loss)

        self.states = (team or Team(1)).map(work, parts)

    def _scaled(self, sample_weight: Any, examples: int) -> FloatArray:
        """The weights of a piece times a power of two that is the same for all pieces."""
        raw = np.ones(examples) if sample_weight is None else check_raw_weights(sample_weight, examples)
        if self.exponent is None:
            self.exponent = math.frexp(float(raw.max()))[1]
        with np.errstate(over="ignore"):
            scaled = np.ldexp(raw, -self.exponent)
        if not scaled.max() < LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight: up to {raw.max():g}, where those of the first piece were about "
                f"{math.ldexp(1.0, self.exponent):g}; the weights of all pieces need the same unit"
            )
        return scaled

    def _count(self, chosen: list[Array | None], weights: FloatArray) -> FloatArray:
        """The mean weight so far of the samples of each problem; 1 where there is none."""
        found = [weights if rows is None else weights[rows] for rows in chosen]
        piece = np.array([(len(some), some.sum()) for some in found])
        self.counts = piece if self.counts is None else self.counts + piece
        count, total = self.counts.T
        return np.asarray(np.divide(total, count, out=np.ones(len(count)), where=total > 0))

    def model(self, lam: float, averaged: bool, loss: str = "hinge") -> Model:
        """The model so far: the average of the iterates that favours the last ones, or the last iterate."""
        place = 1 if averaged else 0
        return Model(
            coef_=np.stack([state[place] for state in self.states]),
            intercept_=np.array([state[2 + place] for state in self.states]),
            classes_=self.classes,
            multi_class=self.division.multi_class,
            lam=lam,
            loss=loss,
            n_iter_=max([state[4] for state in self.states]),
        )
