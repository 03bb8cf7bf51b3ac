"""Types of the compiled module (cpp/bindings). It trusts its arguments; the package around it checks them."""

from collections.abc import Callable, Iterable
from mmap import mmap
from typing import Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

Doubles: TypeAlias = npt.NDArray[np.float64]
Floats: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Starts: TypeAlias = npt.NDArray[np.int64]
Terms: TypeAlias = tuple[tuple[Covariance, float], ...]
_Scalar = TypeVar("_Scalar", np.float32, np.float64)

class FileError(OSError): ...

# bind_support.cpp

class _Config(TypedDict):
    version: str
    compiler: str
    eigen: str
    openmp: str | None
    threads: int
    instruction_set: str

def config() -> _Config: ...
def first_outside(a: Floats, least: float = ..., most: float = ..., zero: bool = ...) -> int: ...

# bind_kinds.cpp

class Covariance:
    def add_full(self, example: int, scale: float, out: Doubles, /) -> None: ...

def isotropic(variances: Floats) -> Covariance: ...
def diagonal(variances: Floats) -> Covariance: ...
def sparse_diagonal(
    value: Floats, column: npt.NDArray[np.int32], start: Starts, features: int
) -> Covariance: ...
def full(packed: Floats, features: int) -> Covariance: ...
def low_rank(factors: Floats, start: Starts) -> Covariance: ...
def shared(
    packed: Doubles, features: int, diagonal: bool, group: npt.NDArray[np.int32] | None
) -> Covariance: ...
def pack(full: npt.NDArray[_Scalar], tolerance: float, packed: npt.NDArray[_Scalar]) -> int: ...
def clip_indefinite(
    packed: Floats, n: int, rounding: float, tolerance: float
) -> tuple[int, float, int, float]: ...

# bind_data.cpp

class Means:
    @property
    def samples(self) -> int: ...

class Gaussians:
    def __init__(self, means: Means, terms: Terms, rows: Starts | None = None) -> None: ...
    @property
    def samples(self) -> int: ...
    @property
    def features(self) -> int: ...

class TrainingSet:
    @property
    def samples(self) -> int: ...
    @property
    def features(self) -> int: ...

def dense_means(x: Floats) -> Means: ...
def sparse_means(value: Floats, column: npt.NDArray[np.int32], start: Starts, features: int) -> Means: ...
def labelled(
    means: Means, terms: Terms, labels: Doubles, weights: Doubles, rows: Starts | None = None
) -> TrainingSet: ...
def valued(
    means: Means, terms: Terms, targets: Doubles, weights: Doubles, rows: Starts | None = None
) -> TrainingSet: ...
def eigen_subspaces(terms: Terms, examples: int, features: int, p: float) -> tuple[Doubles, Starts]: ...
def project_means(means: npt.NDArray[_Scalar], factors: Doubles, start: Starts) -> npt.NDArray[_Scalar]: ...

# bind_losses.cpp

class Loss:
    def __init__(self, name: str, parameter: float = ...) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def parameter(self) -> float: ...
    @property
    def smooth(self) -> bool: ...
    @property
    def gap_error(self) -> float: ...
    def gradient(self, d: Doubles, s: Doubles) -> tuple[Doubles, Doubles, Doubles]: ...

def known_losses() -> list[tuple[str, Literal["classification", "regression"], str, float]]: ...
def loss_derivatives(
    name: str, parameter: float | None, d: Doubles, s: Doubles
) -> tuple[Doubles, Doubles, Doubles, Doubles, Doubles]: ...
def expected_sigmoid(mean: Doubles, s: Doubles) -> Doubles: ...

# bind_engines.cpp

class Objective:
    def __init__(
        self, data: TrainingSet, lam: float, threads: int, intercept: bool, loss: Loss | None = None
    ) -> None: ...
    def value(self, w: Doubles, b: float) -> float: ...
    def value_and_gradient(self, w: Doubles, b: float) -> tuple[float, Doubles, float]: ...
    def hessian_product(self, w: Doubles, b: float, vw: Doubles, vb: float) -> tuple[Doubles, float]: ...
    def certify(self, w: Doubles, b: float) -> tuple[float, float, float]: ...
    def best_intercept(self, w: Doubles, start: float) -> float: ...

def margins(data: Gaussians, w: Doubles, threads: int) -> tuple[Doubles, Doubles]: ...
def expected_hinge(d: Doubles, s: Doubles) -> tuple[Doubles, Doubles, Doubles]: ...

# bind_solvers.cpp

class Options:
    lam: float
    loss: Loss | None
    solver: str
    intercept: bool
    threads: int
    tolerance: float
    max_iterations: int
    max_seconds: float
    steps: int
    batch: int
    average: float
    seed: int
    def __init__(self) -> None: ...

class FitOptions(Options):
    lams: Doubles | list[float]
    cov_scale: float
    cov_scales: Doubles | list[float]
    balanced: bool
    multi_class: str
    probability: bool | str

class Progress:
    @property
    def iteration(self) -> int: ...
    @property
    def objective(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def passes(self) -> float: ...
    @property
    def w(self) -> Doubles | None: ...
    @property
    def b(self) -> float: ...
    @property
    def epsilon(self) -> float: ...

class Result:
    @property
    def w(self) -> Doubles: ...
    @property
    def b(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def stop(self) -> Literal["converged", "iterations", "time", "callback", "stalled", "rounding"]: ...
    @property
    def status(self) -> Literal["converged", "limit", "stopped", "stalled", "rounding"]: ...
    @property
    def history(self) -> list[Progress]: ...

def solve(
    data: TrainingSet | Streamed | Mapped,
    options: Options,
    callback: Callable[[Progress], bool | None] | None = None,
    start_w: Doubles | None = None,
    start_b: float = 0.0,
) -> Result: ...

class FitItems(TypedDict):
    lam: float
    cov_scale: float
    scores: Doubles
    folds: int
    best: int
    tried: int
    results: list[Result]
    status: str
    calibration: list[tuple[float, float, float, float]]
    out_of_time: bool
    late: list[int]
    undivided: bool
    scatter: float
    scatter_before: float

def fit(
    source: object,
    options: FitOptions,
    task: dict[str, object],
    report: Callable[[Progress], bool | None] | None = None,
    only_search: bool = False,
) -> FitItems: ...

# bind_streamed.cpp

_File: TypeAlias = tuple[str, int, bool, int, int]

class Streamed:
    def __init__(
        self,
        means: _File,
        terms: tuple[tuple[object, ...], ...],
        targets: Doubles,
        weights: Doubles | None,
        regression: bool,
        memory: int,
        window: int,
        check: bool,
        threads: int,
    ) -> None: ...
    @property
    def samples(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def least_memory(self) -> int: ...
    @property
    def window(self) -> int: ...

# bind_mapped.cpp

class Interrupted(BaseException): ...

class Mapped:
    def __init__(
        self,
        like: TrainingSet,
        sizes: list[int],
        targets: Doubles,
        weights: Doubles | None,
        regression: bool,
        numbers: float,
        rank: float,
        take: Callable[[Starts], TrainingSet],
        ask: Callable[[list[bytes]], Iterable[bytes]] | None = None,
        make: Callable[[int], TrainingSet] | None = None,
    ) -> None: ...
    @property
    def samples(self) -> int: ...
    @property
    def features(self) -> int: ...

class ShardWorker:
    def __init__(self, data: TrainingSet, threads: int = 1) -> None: ...
    def respond(self, request: bytes) -> bytes: ...

def group_rows(like: TrainingSet, numbers: float, examples: int) -> int: ...
def numbers_of(data: TrainingSet) -> tuple[float, float]: ...

# bind_solvers.cpp, on

_Stream: TypeAlias = tuple[Doubles, Doubles, float, float, int, float, float]

def continue_sgd(
    data: TrainingSet,
    lam: float,
    intercept: bool,
    batch: int,
    seed: int,
    state: _Stream | tuple[()],
    loss: Loss | None = None,
) -> _Stream: ...
def fit_platt(scores: Doubles, labels: Doubles, weights: Doubles | None = None) -> tuple[float, float]: ...
def fit_calibration(
    margins: Doubles,
    variances: Doubles | None,
    signs: Doubles,
    weights: Doubles,
    without_noise: float = 0.05,
) -> tuple[float, float, float, float]: ...
def own_calibration(
    margins: Doubles, variances: Doubles | None, signs: Doubles, weights: Doubles, trained_odds: float
) -> tuple[float, float, float, float]: ...

# bind_maps.cpp

class Map:
    @property
    def inputs(self) -> int: ...
    @property
    def outputs(self) -> int: ...

def fourier_map(frequencies: Doubles) -> Map: ...
def polynomial_map(inputs: int) -> Map: ...
def expected_waves(
    frequencies: Doubles,
    weights: Doubles | None,
    means: Doubles,
    covariances: Doubles | None,
    further: Doubles | None,
    combine: Doubles | None,
    threads: int,
) -> Doubles: ...
def map_moments(
    map: Map,
    data: Gaussians,
    weights: Doubles | None,
    spread: Literal["none", "diagonal", "full"],
    mean: Floats,
    threads: int,
) -> tuple[Doubles, Doubles]: ...

# bind_models.cpp

class ModelItems(TypedDict):
    w: Doubles
    b: Doubles
    task: Literal["classification", "regression"]
    lam: float
    loss: str
    loss_parameter: float
    scatter: float
    calibration: Doubles
    prior: Doubles
    class_weight: Doubles
    label_type: str
    labels: list[str]
    multi_class: str
    names: list[str]
    cov_mat_type: str

class Classification:
    def __init__(
        self, classes: int, multi_class: str, calibration: Doubles, prior: Doubles, class_weight: Doubles
    ) -> None: ...

def decision_values(data: Gaussians, w: Doubles, b: Doubles, threads: int) -> Doubles: ...
def class_scores(task: Classification, data: Gaussians, w: Doubles, b: Doubles, threads: int) -> Doubles: ...
def probabilities(
    task: Classification, data: Gaussians, w: Doubles, b: Doubles, prior: Doubles | None, threads: int
) -> Doubles: ...
def predict(task: Classification, data: Gaussians, w: Doubles, b: Doubles, threads: int) -> Starts: ...
def folds_by_key(
    keys: npt.ArrayLike, codes: npt.ArrayLike, classes: int, weights: npt.ArrayLike
) -> Starts | None: ...
def folds_of_groups(
    groups: npt.ArrayLike, codes: npt.ArrayLike, classes: int, weights: npt.ArrayLike
) -> Starts | None: ...
def match_names(wanted: list[str], given: list[str]) -> list[int]: ...
def format_model(format: str, items: ModelItems) -> bytes: ...
def parse_model(text: bytes, name: str) -> ModelItems: ...

# bind_text.cpp

class FormatError(ValueError): ...

class TextRows:
    @property
    def name(self) -> str: ...
    @property
    def samples(self) -> int: ...
    @property
    def entries(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def full(self) -> bool: ...
    @property
    def bare(self) -> bool: ...
    def line(self, row: int, /) -> int: ...
    def ids(self, select: Starts, /) -> list[str]: ...
    def take_label(self) -> Doubles: ...
    def take_entries(self) -> tuple[Starts, npt.NDArray[np.int32], Doubles]: ...
    def fill_dense(self, select: Starts, threads: int, out: Doubles) -> None: ...
    def fill_packed(self, select: Starts, features: int, threads: int, out: Doubles) -> None: ...

def read_rows(
    text: bytes | mmap,
    format: Literal["means", "labels", "covariances"],
    name: str,
    most_features: int,
    most_because: str,
    diagonal: bool,
    as_written: bool,
    threads: int,
) -> TextRows: ...
def join(files: list[TextRows], /) -> list[Starts]: ...

# bind_population.cpp

class Units:
    def __init__(self, centre: Doubles, scale: Doubles) -> None: ...
    @property
    def centre(self) -> Doubles: ...
    @property
    def scale(self) -> Doubles: ...

class Mixture:
    def __init__(self, weights: Doubles, means: Doubles, covariances: Doubles) -> None: ...
    @property
    def parts(self) -> tuple[Doubles, Doubles, Doubles]: ...

class Observations:
    def __init__(
        self, data: Gaussians, projection: Doubles | None = None, weights: Doubles | None = None
    ) -> None: ...
    @property
    def features(self) -> int: ...
    def units(self) -> Units: ...

class Deconvolved:
    mixture: Mixture
    log_likelihood: float
    iterations: int
    history: list[float]
    @property
    def stop(self) -> Literal["converged", "iterations", "callback"]: ...

def start_mixture(
    observed: Observations, units: Units, components: int, seed: int, floor: float, threads: int
) -> Mixture: ...
def deconvolve(
    observed: Observations,
    units: Units,
    start: Mixture,
    tolerance: float,
    max_iterations: int,
    floor: float,
    threads: int,
    callback: Callable[[Progress], bool | None] | None = None,
    memory: int = 10,
) -> Deconvolved: ...
def posterior(
    observed: Observations,
    units: Units,
    mixture: Mixture,
    threads: int,
    moments: bool,
    covariances: bool = True,
) -> tuple[Doubles, Doubles, Doubles, Doubles, Doubles]: ...
