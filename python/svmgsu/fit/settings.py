"""How a model is trained: every option beside the data has its default, its text and its check here."""

from __future__ import annotations

import copy
import inspect
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from .. import _core
from ..data.covariances import Psd, check_psd
from ..data.gaussians import check_subspace_mode
from ..support.losses import OWN, Task, check_bounded_slope, loss_for
from ..support.parallel import Team
from ..support.validation import FloatArray, as_float_array, check_count, check_positive
from .division import check_multi_class

SOLVERS = ("newton", "sgd")
Documented = TypeVar("Documented", bound=Any)


@dataclass(kw_only=True)
class Settings:
    """The options of a fit, checked when they are put together. Signatures take defaults and texts from here.

    Parameters
    ----------
    psd : {"clip", "strict"}
        Of covariance matrices given as a plain array, also as `deployment_cov`: as for `Full`.
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖²: λ = 1/(Cℓ) for the C of other libraries' SVMs.
    loss : {"hinge", "squared_hinge", "logistic"}
        Of a draw X ~ N(x, Σ) with label ±1, f = w·X + b: the expectation of max(0, 1 - yf), of its square, or
        of log(1 + exp(-yf)) is minimised, each exactly. "logistic" has probabilities of its own.
    epsilon : float, optional
        ε of the losses that have one, in the unit of y; by default what the loss says.
    solver : {"newton", "sgd"}
        "newton" is exact: it stops when a proven bound says that the objective is within `tol` of the
        optimum. "sgd" is the paper's stochastic algorithm, corrected; not for the squared hinge.
    class_weight : dict or "balanced", optional
        Factors of the weights of each class's examples; "balanced" gives all classes the same sum, and with
        multi_class="ovr" each class the same as the rest of its problem. They say what mistakes cost: they
        turn the planes and `predict`, not the probabilities.
    multi_class : {"ovo", "ovr"}
        How more than two classes become problems of two: "ovo", one for each pair of classes, trained on
        their examples, with coupled probabilities (`Model.predict_proba`); "ovr", one for each class against
        the rest, which with strong uncertainty is often the trivial one.
    fit_intercept : bool, default=True
        Whether there is an intercept b, which is not penalised.
    cov_scale : float, default=1.0
        A factor of all covariances in training, `deployment_cov` too; 0 is training without uncertainty.
    deployment_cov : array or covariance kind, optional
        Noise that exists only where the model will be used, added to every example: (n,) variances or an
        (n, n) matrix for all, or a pool of covariances, (k, n) or (k, n, n) or a kind, of which each
        example draws one at random. A pool of n variances is `svmgsu.Diagonal(pool)`.
    subspace : float in (0, 1], optional
        Keep only the leading eigenvectors of each covariance, up to this fraction of its variance.
    subspace_mode : {"truncate", "project"}
        See `Gaussians.subspace`; "project" is the paper's.
    probability : {True, "cv", "train", False}, default=True
        Whether to fit probabilities, and to what. True takes the model's own where loss="logistic" (nothing
        is fitted: see `Model.predict_proba`), and means "cv" else. "cv" fits them to the scores of
        examples held out in five folds (fewer where a class is small), each solved to `tol` or 1e-3 from
        the full model on. "train" fits them to the training scores, as in the paper: faster and too sure.
        With covariances the fit learns how much error bars matter: see `Model.predict_proba`.
    prior : array of shape (K,) or dict, optional
        The shares of the classes where the model will be used, if they are not those of y (by
        `sample_weight`).
    cv : int, splitter or list, optional
        The folds for the probabilities: their number, a splitter of scikit-learn (which gets `groups`), or
        a list of (training rows, held-out rows).
    tol : float, default=1e-6
        Newton stops when gap <= tol * objective.
    max_iter : int, default=500
        Newton's iterations at the most.
    max_time : float, optional
        Seconds at the most, from the call on, for everything: all classes, folds and calibration. The best
        point so far is kept; what could not be done in time is told by a `ConvergenceWarning`.
    T : int, optional
        sgd: the number of steps; by default 20 readings of the data, at least 1000.
    k : int, optional
        sgd: the size of a minibatch; by default min(l, 100).
    average : float in [0, 1], default=0.5
        sgd: the last share of the steps that is averaged; 0 returns the last step.
    seed : int, default=0
        Of sgd, and of draws from a pool of `deployment_cov`: the same seed gives the same model, for any
        number of threads.
    random_state : int, RandomState or None, default=0
        Seed of the "sgd" solver, of `partial_fit`, and of draws from a pool of `deployment_cov`.
    threads : int, optional
        By default all that OpenMP offers (OMP_NUM_THREADS, threadpoolctl).
    n_jobs : int, optional
        Fits at a time, of several classes and of folds; they share the threads. By default as many as
        there are threads. The result has the same bits for any number.
    warm_start : bool, default=False
        Start from the last fit's solution (newton).
    verbose : bool, default=False
        Show progress (with tqdm where it is installed).
    """

    task: Task = "classification"
    psd: Psd = "clip"
    lam: float = 1e-2
    loss: str = "hinge"
    epsilon: float | None = None
    solver: str = "newton"
    class_weight: Any = None
    multi_class: str = "ovo"
    fit_intercept: bool = True
    cov_scale: float = 1.0
    deployment_cov: Any = None
    subspace: float | None = None
    subspace_mode: str = "truncate"
    probability: bool | str = True
    prior: Any = None
    cv: Any = None
    tol: float = 1e-6
    max_iter: int = 500
    max_time: float | None = None
    T: int | None = None
    k: int | None = None
    average: float = 0.5
    seed: int = 0
    threads: int | None = None
    n_jobs: int | None = None
    verbose: bool = False
    calibration: str = field(init=False)  # "own", "cv", "train" or "" for none
    core_loss: _core.Loss = field(init=False)
    deadline: float = field(init=False, default=math.inf)  # by time.monotonic(): settings are made first

    def __post_init__(self) -> None:
        check_psd(self.psd)
        self.lam = check_positive(self.lam, "lam")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver: expected one of {', '.join(map(repr, SOLVERS))}, got {self.solver!r}")
        self.core_loss = loss_for(self.task, self.loss, self.epsilon, "epsilon")
        if self.solver == "sgd":
            check_bounded_slope(self.core_loss, 'solver="sgd"')
        check_multi_class(self.multi_class)
        self.cov_scale = check_scale(self.cov_scale)
        check_subspace_mode(self.subspace_mode)
        self.calibration = check_probability(self.probability, self.loss)
        self.tol = check_positive(self.tol, "tol")
        self.max_iter = check_count(self.max_iter, "max_iter")
        if self.max_time is not None:
            self.max_time = check_positive(self.max_time, "max_time")
            self.deadline = time.monotonic() + self.max_time
        if self.T is not None:
            self.T = check_count(self.T, "T", most=2**62)
        if self.k is not None:
            self.k = check_count(self.k, "k")
        self.average = check_positive(self.average, "average") if self.average != 0 else 0.0
        if self.average > 1:
            raise ValueError(f"average: must be in [0, 1], got {self.average!r}")
        self.seed = check_count(self.seed, "seed", least=0, most=2**64 - 1)
        if self.threads is not None:
            self.threads = check_count(self.threads, "threads")

    @classmethod
    def of(cls, given: Mapping[str, Any], **more: Any) -> Settings:
        """Those of the settings that are among what was `given`, as a function's arguments, and `more`."""
        return cls(**{name: given[name] for name in NAMES if name in given and name not in more}, **more)

    def options(self, examples: int) -> _core.Options:
        """What the core is told of them, for a fit on so many examples."""
        if self.k is not None and self.k > examples:
            raise ValueError(f"k: a minibatch of {self.k} from {examples} examples; k must be <= l")
        options = _core.Options()
        options.lam, options.loss, options.solver = self.lam, self.core_loss, self.solver
        options.intercept, options.threads = bool(self.fit_intercept), self.threads or 0
        options.tolerance, options.max_iterations = self.tol, self.max_iter
        options.average, options.seed = self.average, self.seed
        options.max_seconds = self.seconds_left()
        if self.T is not None:
            options.steps = self.T
        if self.k is not None:
            options.batch = self.k
        return options

    def seconds_left(self, reserved: float = 0.0) -> float:
        """The time until the deadline, less a share of `max_time` for later steps; at least 0."""
        if self.max_time is None:
            return math.inf
        return max(0.0, self.deadline - reserved * self.max_time - time.monotonic())

    def team(self) -> Team:
        """The threads of one fit; to be called in the user's thread."""
        return Team(self.threads, self.n_jobs)


NAMES = tuple(entry.name for entry in fields(Settings) if entry.init)


def _entries() -> dict[str, str]:
    """The text of each setting, from the docstring above."""
    text = inspect.cleandoc(Settings.__doc__ or "").partition("----------\n")[2]
    return {entry.partition(" : ")[0]: entry for entry in re.split(r"\n(?=\w)", text)}


def documented(thing: Documented) -> Documented:
    """Puts the texts of the settings that a function or class takes in place of `{settings}`.

    In the order of its signature, those left out that its docstring has an entry for.
    """
    place = re.search(r"^( *)\{settings\}$", thing.__doc__ or "", re.MULTILINE)
    if place is None:  # without docstrings (python -OO)
        return thing
    code = vars(thing).get("__init__", thing).__code__  # of a class, or the function itself
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    written = re.findall(rf"^{place[1]}(\w[\w, ]*)(?: : |$)", thing.__doc__, re.MULTILINE)
    own = {name for line in written for name in line.split(", ")}
    known = _entries()
    texts = [known[name] for name in taken if name in known and name not in own]
    indented = re.sub(r"^(?=.)", place[1], "\n".join(texts), flags=re.MULTILINE)
    thing.__doc__ = thing.__doc__[: place.start()] + indented + thing.__doc__[place.end() :]
    return thing


def changed_options(options: _core.Options, **changes: Any) -> _core.Options:
    """A copy of the core's options with some of them changed."""
    out = copy.copy(options)
    for name, value in changes.items():
        setattr(out, name, value)
    return out


def check_scale(value: Any) -> float:
    """A factor of all covariances."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"cov_scale: expected a number, got {value!r}") from None
    if not (number >= 0 and math.isfinite(number)):
        raise ValueError(f"cov_scale: must be >= 0 and finite, got {value!r}")
    return number


def check_probability(value: Any, loss: Any = "hinge") -> str:
    """What a user gave as `probability`: "own", "cv", "train" or "" for none."""
    if isinstance(value, (bool, np.bool_)):
        return ("own" if loss == OWN else "cv") if value else ""
    if isinstance(value, str) and value in ("cv", "train"):
        return value
    raise ValueError(f'probability: expected True, "cv", "train" or False, got {value!r}')


def check_lams(lams: Any) -> FloatArray:
    """The values of λ to try."""
    if lams is None:
        return np.logspace(1, -4, 10)
    grid = np.atleast_1d(as_float_array(lams, "lams", (0, 1))).astype(np.float64)
    if not len(grid):
        raise ValueError("lams: there are none")
    for value in grid.tolist():
        check_positive(value, "lams")
    return grid
