"""Types of the compiled module (cpp/bindings). It trusts its arguments; the package around it checks them."""

from collections.abc import Callable
from typing import Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

Doubles: TypeAlias = npt.NDArray[np.float64]
Floats: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Starts: TypeAlias = npt.NDArray[np.int64]
Terms: TypeAlias = tuple[tuple[Covariance, float], ...]
_Scalar = TypeVar("_Scalar", np.float32, np.float64)

class FileError(OSError): ...

# bind_config.cpp

class _Config(TypedDict):
    version: str
    compiler: str
    eigen: str
    openmp: str | None
    threads: int
    instruction_set: str

def config() -> _Config: ...
def first_nonfinite(a: Floats) -> int: ...
def first_negative(a: Floats) -> int: ...

# bind_covariance.cpp

class Means:
    @property
    def examples(self) -> int: ...

class Covariance:
    def add_full(self, example: int, scale: float, out: Doubles, /) -> None: ...

class Gaussians:
    def __init__(
        self, means: Means, terms: Terms, labels: Doubles, weights: Doubles, rows: Starts | None = None
    ) -> None: ...
    @property
    def examples(self) -> int: ...
    @property
    def features(self) -> int: ...

def dense_means(x: Floats) -> Means: ...
def sparse_means(value: Floats, column: npt.NDArray[np.int32], start: Starts, features: int) -> Means: ...
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
def find_indefinite(packed: Floats, n: int, tolerance: float) -> tuple[int, float]: ...

# bind_objective.cpp

class Objective:
    def __init__(self, data: Gaussians, lam: float, threads: int, intercept: bool) -> None: ...
    def value(self, w: Doubles, b: float) -> float: ...
    def value_and_gradient(self, w: Doubles, b: float) -> tuple[float, Doubles, float]: ...
    def hessian_product(self, w: Doubles, b: float, vw: Doubles, vb: float) -> tuple[Doubles, float]: ...
    def certify(self, w: Doubles, b: float) -> tuple[float, float]: ...
    def best_intercept(self, w: Doubles, start: float) -> float: ...
    def margins(self, w: Doubles) -> tuple[Doubles, Doubles]: ...

def expected_hinge(d: Doubles, s: Doubles) -> tuple[Doubles, Doubles, Doubles]: ...

# bind_solve.cpp

class Options:
    lam: float
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

class Result:
    @property
    def w(self) -> Doubles: ...
    @property
    def b(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def stop(self) -> Literal["converged", "iterations", "time", "callback", "stalled"]: ...
    @property
    def history(self) -> list[Progress]: ...

def solve(
    data: Gaussians,
    options: Options,
    callback: Callable[[Progress], bool | None] | None = None,
    start_w: Doubles | None = None,
    start_b: float = 0.0,
) -> Result: ...

_Stream: TypeAlias = tuple[Doubles, Doubles, float, float, int, float, float]

def continue_sgd(
    data: Gaussians, lam: float, intercept: bool, batch: int, seed: int, state: _Stream | tuple[()]
) -> _Stream: ...
def fit_platt(scores: Doubles, labels: Doubles, weights: Doubles | None = None) -> tuple[float, float]: ...

# bind_subspace.cpp

def eigen_subspaces(terms: Terms, examples: int, features: int, p: float) -> tuple[Doubles, Starts]: ...
def project_means(means: npt.NDArray[_Scalar], factors: Doubles, start: Starts) -> npt.NDArray[_Scalar]: ...

# bind_model.cpp

class _LoadedModel(TypedDict):
    w: Doubles
    b: Doubles
    lam: float
    calibration: Doubles
    label_type: str
    labels: list[str]

def decision_values(means: Means, w: Doubles, b: float, threads: int) -> Doubles: ...
def save_model(
    path: str,
    format: str,
    w: Doubles,
    b: Doubles,
    lam: float,
    calibration: Doubles,
    label_type: str,
    labels: list[str],
) -> None: ...
def load_model(path: str) -> _LoadedModel: ...
