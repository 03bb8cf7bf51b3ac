"""Learning from data that come in pieces, by the steps of the paper's stochastic algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..models.classifier import Model
from ..support.labels import check_raw_weights, class_factors, known_labels
from ..support.parallel import parallel_map, thread_count
from ..support.validation import Array, ArrayLike, FloatArray
from .multiclass import Scheme
from .options import Options
from .train import check_soft_labels

BATCH = 100
LARGEST_WEIGHT = 1e100  # relative to the first piece of a stream


@dataclass
class Stream:
    """What is kept between pieces: the classes, the number of features, and the state of each subproblem.

    Nothing is certified, since the data are not kept. A sample with a soft label counts for each class with
    that weight. `counts` has (samples, sum of weights) so far for each subproblem, where weights are
    multiplied by 2**-exponent, which the first piece sets.
    """

    classes: Array
    features: int
    scheme: Scheme
    states: list[Any] = field(default_factory=list)
    counts: Array | None = None
    exponent: int | None = None

    @classmethod
    def after(cls, model: Model, samples: int, batch: int | None) -> Stream:
        """Continue from a trained model, which counts like one pass over its samples."""
        if model.multi_class == "ovo":
            samples = -(-2 * samples // len(model.classes_))  # of a pair, on average
        steps = -(-samples // (batch or BATCH))
        planes = zip(model.coef_, model.intercept_.tolist(), strict=True)
        states = [(w, w, b, b, steps, float(samples), float(samples)) for w, b in planes]
        scheme = Scheme(len(model.classes_), model.multi_class)
        return cls(model.classes_, model.n_features_in_, scheme, states)

    def read(
        self,
        data: Gaussians,
        y: ArrayLike,
        sample_weight: ArrayLike,
        options: Options,
        columns: ArrayLike = None,
    ) -> None:
        """Take one step for each batch of a piece of the data, in an order drawn by the seed.

        Weights are relative to the mean weight so far. class_weight="balanced" is refused, since the sizes of
        the classes are not known. `columns` names those of soft labels.
        """
        if data.shape[1] != self.features:
            raise ValueError(
                f"X has {data.shape[1]} features, but SGDSVMGSU is expecting {self.features} features as "
                "input: the stream began with so many"
            )
        codes, copies = known_labels(y, len(data), self.classes, columns)
        check_soft_labels(copies, data)
        weights = copies.weights(self._scaled(sample_weight, len(data)))
        if isinstance(options.class_weight, str):
            raise ValueError(
                f"class_weight: {options.class_weight!r} needs all of y, and partial_fit sees a part; give a "
                "dict"
            )
        if options.class_weight is not None:
            weights = weights * class_factors(options.class_weight, self.classes, codes, weights)[codes]
        if data.test_noise is not None:
            data = data.with_more_cov(data.test_noise)
        labels = self.classes[codes] if copies.source is None else None
        means, terms = data.core_means(), () if data.cov is None else data.cov.terms(*data.shape, labels)
        chosen = [self.scheme.rows(k, codes) for k in range(self.scheme.count)]
        average = self._count(chosen, weights)
        states = self.states or [()] * self.scheme.count

        def step(k: int) -> Any:
            state, rows = states[k], chosen[k]
            if not len(rows):  # neither class of the pair is in this piece
                nothing = np.zeros(self.features)
                return state or (nothing, nothing, 0.0, 0.0, 0, 0.0, 0.0)
            signs = self.scheme.signs(k, codes[rows])
            core = _core.labelled(means, terms, signs, weights[rows] / average[k], copies.places(rows))
            seed = options.seed + (state[4] if state else 0)
            how = options.lam, bool(options.fit_intercept), options.batch_size or BATCH, seed
            return _core.continue_sgd(core, *how, state, options.core_loss)

        threads = thread_count(options.threads) if len(self.classes) > 2 else 1
        self.states = parallel_map(step, range(self.scheme.count), threads)

    def _scaled(self, sample_weight: ArrayLike, samples: int) -> FloatArray:
        """Return the weights of a piece times a power of two that is the same for all pieces."""
        raw = np.ones(samples) if sample_weight is None else check_raw_weights(sample_weight, samples)
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

    def _count(self, chosen: list[Array], weights: FloatArray) -> FloatArray:
        """Return the mean weight so far of the samples of each subproblem; 1 where there is none."""
        found = [weights[rows] for rows in chosen]
        piece = np.array([(len(some), some.sum()) for some in found])
        self.counts = piece if self.counts is None else self.counts + piece
        count, total = self.counts.T
        return np.asarray(np.divide(total, count, out=np.ones(len(count)), where=total > 0))

    def model(self, options: Options) -> Model:
        """Return the model so far: the average of the iterates, or the last one if `average` is 0."""
        place = 1 if options.average else 0
        return Model(
            coef_=np.stack([state[place] for state in self.states]),
            intercept_=np.array([state[2 + place] for state in self.states]),
            classes_=self.classes,
            multi_class=self.scheme.multi_class,
            lam=options.lam,
            loss=options.loss,
            n_iter_=max([state[4] for state in self.states]),
        )
