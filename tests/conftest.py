"""What the tests share: problems with every kind of covariance beside its twin, and the real data."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy: scikit-learn skips some checks without it
os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn, not shown
if "PYTHONPATH" in os.environ:
    # Programs that tests start in other folders import the same package.
    folders = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(folder) for folder in folders if folder)

import numpy as np
import pytest
import scipy.sparse
from hypothesis import settings

import svmgsu
from svmgsu import reference
from svmgsu.fit.options import Options
from svmgsu.fit.train import begin, read_problem

settings.register_profile("svmgsu", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("svmgsu")


class Problem(NamedTuple):
    """The same examples three times: for the library, for `svmgsu.reference`, and as plain matrices."""

    X: Any  # what the user passes: an array or CSR
    y: np.ndarray  # -1 and +1
    cov: Any  # a kind, or None
    means: np.ndarray  # X as dense float64
    twin: Any  # cov in the form of svmgsu.reference
    full: np.ndarray  # cov as (l, n, n)

    def objective(self, lam=0.3, **options):
        return svmgsu.Objective(self.X, self.y, self.cov, lam=lam, **options)


def spd(rng, count, n, dtype=np.float64):
    """Symmetric positive definite matrices of mean trace ~ n."""
    G = rng.normal(size=(count, n, n)) / np.sqrt(n)
    S = (G @ G.transpose(0, 2, 1)).astype(dtype)
    return (S + S.transpose(0, 2, 1)) / 2


def _diagonals(V):
    return np.asarray(V, dtype=float)[:, :, None] * np.eye(V.shape[1])


def _products(F):
    F = np.asarray(F, dtype=float)
    return F.transpose(0, 2, 1) @ F


def _double(a):
    return np.asarray(a, dtype=float)


def _pieces(rng, count, n, y, dtype):
    """For each kind: its covariance, twin and full matrices."""
    v = rng.uniform(0.1, 2, count).astype(dtype)
    V = rng.uniform(0.1, 2, (count, n)).astype(dtype)
    sparse_V = (V * (rng.uniform(size=(count, n)) < 0.4)).astype(dtype)
    rank = max(1, n // 3)
    F = (rng.normal(size=(count, rank, n)) / np.sqrt(rank)).astype(dtype)
    ranks = rng.integers(0, rank + 1, count)
    S = spd(rng, count, n, dtype)
    A, B = spd(rng, 2, n)
    a = rng.uniform(0.1, 2, n)
    low_rank = (svmgsu.LowRank(F), reference.Factors(_double(F)), _products(F))
    return {
        "none": lambda: (None, None, np.zeros((count, n, n))),
        "isotropic": lambda: (svmgsu.Isotropic(v), _double(v), _double(v)[:, None, None] * np.eye(n)),
        "isotropic scalar": lambda: (
            svmgsu.Isotropic(0.7),
            np.array(0.7),
            np.array([0.7 * np.eye(n)] * count),
        ),
        "diagonal": lambda: (svmgsu.Diagonal(V), _double(V), _diagonals(V)),
        "diagonal CSR": lambda: (
            svmgsu.Diagonal(scipy.sparse.csr_array(sparse_V)),
            _double(sparse_V),
            _diagonals(sparse_V),
        ),
        "full": lambda: (svmgsu.Full(S), _double(S), _double(S)),
        "low rank": lambda: low_rank,
        "low rank + diagonal": lambda: (
            svmgsu.LowRank(F, diagonal=V),
            [low_rank[1], _double(V)],
            low_rank[2] + _diagonals(V),
        ),
        "ragged low rank": lambda: _ragged(F, ranks),
        **_shared_pieces(A, B, a, y, count),
        "sum": lambda: (
            svmgsu.Diagonal(V) + svmgsu.Shared(A) + svmgsu.LowRank(F),
            [_double(V), reference.SharedMatrix(A), low_rank[1]],
            _diagonals(V) + A + low_rank[2],
        ),
        "scaled sum": lambda: (
            2 * (0.25 * svmgsu.Full(S) + svmgsu.Isotropic(v)),
            [0.5 * _double(S), 2 * _double(v)],
            0.5 * _double(S) + 2 * _double(v)[:, None, None] * np.eye(n),
        ),
    }


def _ragged(F, ranks):
    """The first ranks[i] factors of each example."""
    kept = np.arange(F.shape[1]) < ranks[:, None]
    rows = F.reshape(-1, F.shape[2])[kept.ravel()]
    cov = svmgsu.LowRank(rows, start=np.concatenate([[0], np.cumsum(ranks)]))
    return cov, reference.Factors(_double(F * kept[:, :, None])), _products(F * kept[:, :, None])


def _shared_pieces(A, B, a, y, count):
    by_class = (y > 0).astype(int)
    return {
        "shared": lambda: (svmgsu.Shared(A), reference.SharedMatrix(A), np.array([A] * count)),
        "shared diagonal": lambda: (
            svmgsu.Shared(a),
            reference.SharedMatrix(np.diag(a)),
            np.array([np.diag(a)] * count),
        ),
        "shared by class": lambda: (
            svmgsu.Shared({-1.0: A, 1.0: B}),
            reference.SharedMatrix(np.array([A, B]), by_class),
            np.array([A, B])[by_class],
        ),
    }


KINDS = tuple(_pieces(np.random.default_rng(0), 2, 2, np.array([-1.0, 1.0]), np.float64))
# Kinds of which every example is uncertain in every direction that matters: J is smooth at its optimum.
SMOOTH_KINDS = tuple(kind for kind in KINDS if kind not in ("none", "ragged low rank"))

UNCERTAIN_KINDS = tuple(kind for kind in KINDS if kind != "none")

every_kind = pytest.mark.parametrize("kind", KINDS)
every_uncertain_kind = pytest.mark.parametrize("kind", UNCERTAIN_KINDS)
every_smooth_kind = pytest.mark.parametrize("kind", SMOOTH_KINDS)


def make_problem(kind, count=60, n=7, seed=0, dtype=np.float64):
    """Two overlapping classes whose uncertainty is of the given kind; CSR means for CSR variances."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.permutation(count) < max(1, count // 3), 1.0, -1.0)
    X = (rng.normal(size=(count, n)) + 0.7 * y[:, None]).astype(dtype)
    sparse = kind == "diagonal CSR"
    if sparse:
        X *= rng.uniform(size=X.shape) < 0.5
    cov, twin, full = _pieces(rng, count, n, y, dtype)[kind]()
    return Problem(scipy.sparse.csr_array(X) if sparse else X, y, cov, X.astype(float), twin, full)


def relative_error(got, wanted):
    """max |got - wanted| / max |wanted|."""
    got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    assert got.shape == wanted.shape
    size = np.max(np.abs(wanted), initial=0.0)
    return float(np.max(np.abs(got - wanted), initial=0.0) / (size if size > 0 else 1.0))


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data sets, from the environment variable SVMGSU_DATA."""
    folder = os.environ.get("SVMGSU_DATA")
    if not folder:
        pytest.skip("real data: set SVMGSU_DATA to the folder that holds svm_gsu_toy, mnist and the others")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"SVMGSU_DATA: {path} is not a folder")
    return path


@pytest.fixture(scope="session")
def toy_text(data_folder):
    """The authors' toy data: X, y, variances (l, n) and isotropic variances (l,)."""
    folder = data_folder / "svm_gsu_toy"
    if not folder.is_dir():
        pytest.skip(f"real data: there is no folder {folder.name} in SVMGSU_DATA")
    names = [folder / "mean.dat", folder / "labels.dat"]
    data, y = svmgsu.io.read_text(*names, folder / "cov_diag.dat")
    isotropic, _ = svmgsu.io.read_text(*names, folder / "cov_iso.dat")
    return data.mean, y.astype(float), data.cov.variances, isotropic.cov.variances


def interrupted(script):
    """What a Python program prints that gets Ctrl-C once it has said "training", and its exit code."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "training\n"
            child.send_signal(signal.SIGINT)
            output, _ = child.communicate(timeout=20)
        finally:
            child.kill()
    return output, child.returncode


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of few rows, so that every format has many."""
    from svmgsu.outofcore import blocks
    from svmgsu.outofcore import open as opening

    monkeypatch.setattr(opening, "LARGEST_PIECE", 2000)
    monkeypatch.setattr(blocks, "LARGEST_BLOCK", 2000)


def train_with(
    X, y=None, cov=None, *, std=None, y_std=None, sample_weight=None, start=None, groups=None, **options
):
    """Train as `svmgsu.train` does, with every option of a fit, such as the number of threads."""
    problem = read_problem(X, y, cov, Options(**options), std=std, y_std=y_std, sample_weight=sample_weight)
    return problem.train(begin(problem, start), groups)
