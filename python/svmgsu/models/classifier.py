"""A trained linear classifier: decision values, classes, probabilities, files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import _core
from ..data.covariances.base import Terms
from ..data.gaussians import Gaussians
from ..outofcore.blocks import Blocks
from ..support.labels import check_prior
from ..support.types import Fields
from ..support.validation import Array, ArrayLike, FloatArray, listed
from .calibration import Calibration
from .linear import LinearModel, in_blocks, threads_of

_NUMBERS_AT_A_TIME = 4_000_000  # values of pairs of classes


@dataclass(repr=False, eq=False)
class Model(LinearModel):
    """A linear classifier, as `svmgsu.train` returns it and `svmgsu.load` reads it.

    Two classes have one hyperplane, positive for the second class. K > 2 classes have one for each pair,
    P = K(K-1)/2 in the order (0, 1), (0, 2), ..., (0, K-1), (1, 2), ... (that of scikit-learn's SVC), each
    positive for the second of the pair; or, with multi_class="ovr", one for each class against the rest,
    P = K.

    Attributes
    ----------
    coef_ : array of shape (1, n) or (P, n)
        The weights w.
    intercept_ : array of shape (1,) or (P,)
        The offsets b.
    classes_ : array of shape (2,) or (K,)
        The labels; of two classes the second has positive decision values.
    lam, loss : float, str
        The λ and the loss it was trained with.
    objective_, gap_ : float
        J at the solution, and a proven upper bound of J - J*; for several classes the sums over the binary
        subproblems. NaN after `load`, and in streams.
    n_iter_ : int
        The solver's iterations; for several classes the most.
    status_ : {"converged", "rounding", "stalled", "limit", "stopped", ""}
        How the solver ended: with the precision that was asked; where rounding errors allow no smaller proof;
        where its steps gained nothing more; at `max_iter` or `max_time`; by a callback. For several classes
        the worst status of the binary subproblems. Empty after `load`.
    history_ : list of dict, or P lists of them
        The solver's record: iteration, objective, gap, seconds, passes.
    cov_mat_type_ : {"full", "diagonal", "isotropic", ""}
        What the authors' model files, and they alone, say of the covariances of training.
    calibration_ : tuple of Calibration, or None
        How the values w·x + b become probabilities, one for each hyperplane.
    feature_names_in_ : list of str, or None
        The names of the features, where the training data had some. New samples with names are matched by
        them: columns in another order are put in order, with their covariances; names that are missing or
        unknown are refused. Arrays without names are taken as they are.
    prior_ : array of shape (2,) or (K,), or None
        The class priors that probabilities assume, where they were stated; None: those of training.
    class_weight_ : array of shape (2,) or (K,), or None
        What `predict` multiplies probabilities by: the `class_weight` of training.
    multi_class : {"ovo", "ovr"}
        Whether hyperplanes are of pairs of classes or of each against the rest; of two it does not matter.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]]), [0, 0, 0, 1, 1, 1]
    >>> model = svmgsu.train(X, y, std=0.3, lam=0.1)
    >>> f, s = model.decision_function([[0.5]], std=0.4, return_std=True)
    >>> bool(np.allclose(s, 0.4 * abs(model.coef_[0, 0])))
    True
    >>> sharp, noisy = (model.predict_proba([[0.5]], std=s)[0, 1] for s in (0.1, 4.0))
    >>> bool(0.5 < noisy < sharp)
    True
    >>> model.margin_probability([[0.0], [0.5]], std=[0.4, 1e-6]).round(2).tolist()
    [0.5, 1.0]
    """

    coef_: FloatArray
    intercept_: FloatArray
    classes_: Array
    lam: float
    objective_: float = float("nan")
    gap_: float = float("nan")
    n_iter_: int = 0
    history_: list[Any] = field(default_factory=list)
    cov_mat_type_: str = "full"
    calibration_: tuple[Calibration, ...] | None = None
    feature_names_in_: list[str] | None = None
    prior_: FloatArray | None = None
    class_weight_: FloatArray | None = None
    multi_class: str = "ovo"
    loss: str = "hinge"
    status_: str = ""

    @property
    def platt_(self) -> tuple[float, float] | None:
        """(A, B) of two classes: P(positive | f) = 1/(1 + exp(A f + B)) of noise-free samples."""
        if self.calibration_ is None or len(self.calibration_) > 1:
            return None
        return self.calibration_[0].platt

    def decision_function(
        self,
        X: ArrayLike,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        return_std: bool = False,
        *,
        threads: int | None = None,
    ) -> Any:
        """Return decision values: w·x + b of shape (l,) for two classes, (l, K) for more.

        For two classes the sign is the side of the hyperplane, which is not always the more probable class:
        see `predict`. For several classes the values w·x + b of different hyperplanes do not compare. A model
        with probabilities gives the classes' log-odds instead, which do: the largest is the class that
        `predict` returns where neither `prior` nor `class_weight` were given. Without probabilities, pairs of
        classes vote: the value is the number of pairs that a class wins, and its margins decide among equals.
        (The plain ones are X @ coef_.T + intercept_.)

        Parameters
        ----------
        X : array, SciPy sparse matrix, Gaussians or Blocks of shape (l, n)
            New samples.
        cov, std : optional
            Covariances or standard errors of X, as in `svmgsu.Gaussians`.
        return_std : bool, default=False
            Whether to return the standard deviations √(wᵀΣw) of the decision values as well, of two classes.
        threads : int, optional
            By default all that OpenMP offers; the bits are the same for any number.

        Returns
        -------
        values, or (values, standard deviations)
        """
        if isinstance(X, Blocks):
            return in_blocks(self.decision_function, X, cov, std, return_std=return_std, threads=threads)
        data = self._samples(X, cov, std)
        team = threads_of(threads)
        if len(self.coef_) == 1:
            values = self._values(data, team)[:, 0]
            return (values, np.sqrt(self._variances(data, team)[:, 0])) if return_std else values
        if return_std:
            raise ValueError("return_std: for two classes; for more see margin_probability")
        return self._in_parts(_core.class_scores, data, threads, False)

    def margin_probability(
        self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None, *, threads: int | None = None
    ) -> FloatArray:
        """Return P(w·X + b > 0) = Φ(f/s) for X ~ N(x, Σ): shape (l,) for two classes, (l, P) for more.

        Nothing is fitted: it says how certain the side of each hyperplane is, in the order of `coef_`, not
        the class. The parameters are those of `decision_function`.
        """
        if isinstance(X, Blocks):
            return np.asarray(in_blocks(self.margin_probability, X, cov, std, threads=threads))
        data = self._samples(X, cov, std)
        team = threads_of(threads)
        deviations = np.sqrt(self._variances(data, team))
        columns = zip(self._values(data, team).T, deviations.T, strict=True)
        found = np.stack([probability_right(f, s, np.ones(len(data))) for f, s in columns], axis=1)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict(
        self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None, *, threads: int | None = None
    ) -> Array:
        """Return the class of each row of X.

        With probabilities it is the most probable one, `classes_[predict_proba(X).argmax(axis=1)]`; but a
        model trained with `class_weight` multiplies the probabilities by it first, and may return a class
        that is less probable than another. Without probabilities the sign of the decision value decides, for
        more than two classes the largest value. The parameters are those of `decision_function`.
        """
        if isinstance(X, Blocks):
            return np.asarray(in_blocks(self.predict, X, cov, std, threads=threads))
        data = self._samples(X, cov, std)
        return np.asarray(self.classes_[self._in_parts(_core.predict, data, threads, True)])

    def predict_proba(
        self,
        X: ArrayLike,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        *,
        prior: ArrayLike = None,
        threads: int | None = None,
    ) -> FloatArray:
        """Return the probabilities of the classes for each row of X, of shape (l, K); rows sum to one.

        Parameters
        ----------
        X : array, SciPy sparse matrix, Gaussians or Blocks of shape (l, n)
            New samples.
        cov, std : optional
            Covariances or standard errors of X. The larger they are, the nearer are the probabilities to the
            class priors: with v = wᵀΣw the log-odds are base + (a f + b - base)/(1 + κ v). Samples without
            them are noise-free, as with `std=0`.
        prior : array of shape (K,) or (l, K), or dict, optional
            The class priors where the samples come from, for all or for each; by default those of training,
            or of `set_prior`. Probabilities are p ∝ p · prior / prior of training.
        threads : int, optional
            As in `decision_function`.

        Notes
        -----
        A model of loss="logistic" has probabilities of its own, unless probability="cv" or "train" calibrated
        it: f is the log-odds of a noise-free sample (a = 1, and b = 0 without class weights), and κ follows
        from the spread of the training margins. Where samples of training are as noisy as new ones, "cv" is
        better: it learns a, b and κ.

        For several classes the log-odds z_ij of pairs are coupled: p_i ∝ 1/(1 + Σ_j exp(-z_ij)), which is
        exact where they agree with each other (Price, Knerr, Personnaz and Dreyfus 1994). With
        multi_class="ovr" the probabilities of each against the rest are divided by their sum. A covariance
        that depends on the class (`Shared` of a dict) is not known for new samples: in a `Gaussians` it is
        left out, and as `cov` it is refused.
        """
        if isinstance(X, Blocks):
            return np.asarray(in_blocks(self.predict_proba, X, cov, std, prior=prior, threads=threads))
        data = self._samples(X, cov, std)
        if self.calibration_ is None:
            raise RuntimeError(
                "predict_proba: this model has no calibrated probabilities; it was trained with "
                "probability=False, or max_time was over before the calibration"
            )
        priors = None if prior is None else np.atleast_2d(check_prior(prior, self.classes_, len(data)))
        return np.asarray(self._in_parts(_core.probabilities, data, threads, True, priors))

    def set_prior(self, prior: ArrayLike) -> Model:
        """State the class priors where the model will be used, for all later probabilities.

        Parameters
        ----------
        prior : array of shape (K,), dict or None
            As in `predict_proba`; None for those of training.

        Returns
        -------
        self
        """
        self.prior_ = None if prior is None else check_prior(prior, self.classes_)
        return self

    def save(self, path: str | os.PathLike[str], format: str = "svmgsu") -> None:
        """Write the model to `path` as text ("-": standard output); a reader never sees half a file.

        `format` is "svmgsu" (documented in model.hpp; numbers come back exactly) or "gsvm", the authors'
        own: two classes, -1 and +1, with Platt's sigmoid, and no names of features.
        """
        kind, texts = label_texts(self.classes_)
        if format == "gsvm" and kind == "float":
            texts = [f"{value:g}" for value in self.classes_.tolist()]
        if format == "gsvm" and texts == ["+1", "-1"]:  # strings sort so; the file has -1 first
            turned = replace(
                self, coef_=-self.coef_, intercept_=-self.intercept_, classes_=self.classes_[::-1]
            )
            if self.calibration_ is not None:
                turned.calibration_ = tuple(c._replace(b=-c.b, base=-c.base) for c in self.calibration_)
            turned.save(path, format)
            return
        self._write(
            path,
            format,
            task="classification",
            label_type=kind,
            labels=texts,
            multi_class=self.multi_class,
            cov_mat_type=self.cov_mat_type_,
            **self._of_classes(),
        )

    def __repr__(self) -> str:
        shown = " and ".join(map(repr, self.classes_.tolist()))
        if len(self.classes_) > 2:
            shown = listed(self.classes_)
        loss = "" if self.loss == "hinge" else f"loss={self.loss!r}, "
        return (
            f"Model({self.n_features_in_} features, classes {shown}, {loss}lam={self.lam:g}, "
            f"objective={self.objective_:.6g}, gap={self.gap_:.2g})"
        )

    def _of_classes(self) -> dict[str, FloatArray]:
        """Return calibrations, priors and weights as the core has them: empty where there are none."""
        none = np.empty(0)
        return {
            "calibration": np.array(self.calibration_ or np.empty((0, 4)), dtype=np.float64),
            "prior": none if self.prior_ is None else np.ascontiguousarray(self.prior_, np.float64),
            "class_weight": none if self.class_weight_ is None else np.ascontiguousarray(self.class_weight_),
        }

    def _in_parts(
        self, ask: Callable[..., Any], data: Gaussians, threads: int | None, noise: bool, *more: Any
    ) -> Any:
        """Return what the core says of the classes of samples, some at a time.

        Values of many pairs of classes of all samples would not fit in memory. Arrays in `more` with a row
        for each sample are divided, too. Covariances that depend on the class are not known here.
        """
        count = data.shape[0]
        step = max(1, _NUMBERS_AT_A_TIME // len(self.coef_))
        if len(self.coef_) > 1 and step < count:
            found = []
            for first in range(0, count, step):
                rows = slice(first, first + step)
                own = [x if x is None or len(x) != count else np.ascontiguousarray(x[rows]) for x in more]
                found.append(self._in_parts(ask, data[rows], threads, noise, *own))
            return np.concatenate(found)
        core = _core.Classification(len(self.classes_), self.multi_class, **self._of_classes())
        terms: Terms = ()
        if noise and data.cov is not None and not data.cov.needs_classes:
            terms = data.cov.terms(*data.shape, None)
        seen = _core.Gaussians(data.core_means(), terms)
        return ask(core, seen, *self._planes(), *more, 0 if threads is None else threads_of(threads))

    def from_threshold(self, values: FloatArray) -> FloatArray:
        """Return decision values of two classes less the threshold of `predict`.

        Where decision values say nothing of the class, they are all the same number, of its sign.
        """
        if self.calibration_ is None:
            return values
        (c,) = self.calibration_
        at_zero = c.b  # the log-odds of the decision value 0, with what is added to them
        if self.prior_ is not None:
            at_zero += float(np.log(self.prior_[1]) - np.log(self.prior_[0])) - c.base
        if self.class_weight_ is not None:
            at_zero += float(np.log(self.class_weight_[1]) - np.log(self.class_weight_[0]))
        return values + at_zero / c.a if c.a > 0 else np.full_like(values, at_zero)


def probability_right(mean: FloatArray, std: FloatArray, signs: FloatArray) -> FloatArray:
    """Return P(y (w·X + b) > 0) = Φ(y mean/std); a certain sample on the boundary counts half."""
    _, right, _ = _core.expected_hinge(np.ascontiguousarray(signs * mean), np.ascontiguousarray(std))
    undecided: FloatArray = np.where((std == 0) & (mean == 0), 0.5, right)
    return undecided


def label_texts(classes: Array) -> tuple[str, list[str]]:
    """Return the type of labels and each as text, for model files."""
    names = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
    values = classes.tolist()
    kind = names.get(classes.dtype.kind)
    if kind is None and all(isinstance(v, str) for v in values):
        kind = "str"
    if kind is None:
        raise TypeError(f"classes_: labels of dtype {classes.dtype} cannot be saved; use numbers or strings")
    return kind, [repr(v) if kind == "float" else str(v) for v in values]


def labels_from_texts(kind: str, texts: list[str]) -> Array:
    """Return labels of a type from their texts."""
    readers: Fields = {"bool": ("False", "True").index, "int": int, "float": float, "str": str}
    if kind not in readers:
        raise ValueError(f"type {kind!r} is not known; it must be one of {', '.join(readers)}")
    if len(set(texts)) < len(texts):
        twice = next(text for k, text in enumerate(texts) if text in texts[:k])
        raise ValueError(f"{'both are' if len(texts) == 2 else 'there is more than one'} {twice!r}")
    values = [readers[kind](t) for t in texts]
    if kind == "float" and not np.isfinite(values).all():
        raise ValueError(f"{texts} are not all finite")
    if kind == "int":  # NumPy would take integers on both sides of 2^63 for floats
        return np.array(values, dtype=np.uint64 if max(values) >= 2**63 else np.int64)
    return np.array(values, dtype=bool if kind == "bool" else None)
