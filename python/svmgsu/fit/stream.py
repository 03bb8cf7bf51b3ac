"""Learning from data that come in pieces, by the steps of the paper's stochastic algorithm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import as_gaussians
from ..models.classifier import Model
from ..support.losses import check_bounded_slope, check_loss
from ..support.parallel import Team
from ..support.validation import Array, as_labels, check_weights, class_codes, class_factors
from .division import Division

BATCH = 100


@dataclass
class Stream:
    """What is kept between pieces: the classes, the number of features, and where each problem has come to.

    Nothing is certified, since the data are not kept.
    """

    classes: Array
    features: int
    division: Division
    states: list[Any] = field(default_factory=list)

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
        X: Any,
        y: Any,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
        *,
        class_weight: Any = None,
        cov_scale: float = 1.0,
        lam: float = 1e-2,
        loss: str = "hinge",
        fit_intercept: bool = True,
        batch: int | None = None,
        seed: int = 0,
        team: Team | None = None,
    ) -> None:
        """Takes one step for each `batch` examples of the piece (X, y, cov), in an order drawn by `seed`.

        Weights are used as they are; "balanced" cannot be, since the classes' sizes are not known.
        """
        kind = check_loss(loss)
        check_bounded_slope(kind, "partial_fit")
        data = as_gaussians(X, cov, std)
        if data.shape[1] != self.features:
            raise ValueError(
                f"X has {data.shape[1]} features, but LinearSVMGSU is expecting {self.features} features as "
                "input: the stream began with so many"
            )
        codes = class_codes(as_labels(y, len(data)), self.classes, "y")
        weights = check_weights(sample_weight, len(data))
        if class_weight is not None:
            if isinstance(class_weight, str):
                raise ValueError(
                    f"class_weight: {class_weight!r} needs all of y, and partial_fit sees a part; give a dict"
                )
            weights = weights * class_factors(class_weight, self.classes, codes, weights)[codes]
        terms = () if data.cov is None else data.cov.terms(*data.shape, self.classes[codes])
        terms = tuple((kind, cov_scale * factor) for kind, factor in terms) if cov_scale else ()
        means = data.core_means()
        states = self.states or [()] * len(self.division)

        def work(part: int) -> Any:
            state, rows = states[part], self.division.rows(part, codes)
            rows = np.arange(len(codes)) if rows is None else rows
            if not len(rows):  # neither class of the pair is in this piece
                nothing = np.zeros(self.features)
                return state or (nothing, nothing, 0.0, 0.0, 0, 0.0, 0.0)
            signs = self.division.signs(part, codes[rows])
            core = _core.labelled(means, terms, signs, weights[rows], rows)
            steps = state[4] if state else 0
            return _core.continue_sgd(core, lam, fit_intercept, batch or BATCH, seed + steps, state, kind)

        self.states = (team or Team(1)).map(work, range(len(self.division)))

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
