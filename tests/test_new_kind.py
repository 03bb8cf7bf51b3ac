"""A kind of covariance written here, in Python, goes wherever the library's own kinds go.

`Stretched` is Σ_i = v_i S: one matrix for all samples, each with a factor of its own. It has what
CONTRIBUTING asks of a new kind, `terms` and `take`, and says how it is saved; the rest are defaults.
"""

import io
import pickle

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import svmgsu
from svmgsu.data.covariances import Covariance, LowRank
from svmgsu.data.covariances.base import READERS


class Stretched(Covariance):
    """Σ_i = v_i S, for the core as factors √v_i R with RᵀR = S."""

    keys, more_keys = ("stretched",), ("stretches",)

    def __init__(self, matrix, stretches):
        self.matrix, self.stretches = np.asarray(matrix, float), np.asarray(stretches, float)
        self.n_samples, self.n_features = len(self.stretches), len(self.matrix)

    def terms(self, samples, features, y):
        root = np.linalg.cholesky(self.matrix).T
        return LowRank(np.sqrt(self.stretches)[:, None, None] * root).terms(samples, features, y)

    def take(self, rows):
        return Stretched(self.matrix, self.stretches[rows])

    def arrays(self, n_samples, n_features, y):
        return {"stretched": self.matrix, "stretches": self.stretches}

    @classmethod
    def from_arrays(cls, arrays, psd):
        return Stretched(arrays["stretched"], arrays["stretches"])


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None]
    A = rng.normal(size=(3, 3))
    cov = Stretched(A @ A.T + np.eye(3), rng.uniform(0.1, 0.9, 60))
    full = svmgsu.Full(cov.stretches[:, None, None] * cov.matrix)
    return X, y, cov, full


def test_it_is_seen_as_its_matrices(problem):
    X, _, cov, full = problem
    np.testing.assert_allclose(cov.to_full(), full.to_full(), rtol=1e-12)
    np.testing.assert_allclose(cov.diagonals(60, 3), full.diagonals(60, 3), rtol=1e-12)
    assert repr(cov) == "Stretched(n_samples=60, n_features=3)"
    data = svmgsu.Gaussians(X, cov)
    assert "cov=Stretched" in repr(data) and "<td>Stretched</td>" in data._repr_html_()
    assert (
        "<td>Stretched + 0.5 × Isotropic</td>"
        in data.with_cov(cov + 0.5 * svmgsu.Isotropic(1.0))._repr_html_()
    )


def test_it_is_sliced_and_pickled(problem):
    X, _, cov, full = problem
    data = svmgsu.Gaussians(X, cov)
    for key in (slice(3, 9), X[:, 0] > 0, [5, 2]):
        chosen = data[key].cov
        assert isinstance(chosen, Stretched)
        np.testing.assert_allclose(chosen.to_full(), full[key].to_full(), rtol=1e-12)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.cov.to_full(), cov.to_full())


@pytest.mark.parametrize("other", [None, svmgsu.Isotropic(0.3), svmgsu.Shared([1.0, 2.0, 3.0]), "self"])
def test_it_is_concatenated(problem, other):
    X, _, cov, full = problem
    more = cov if other == "self" else other
    joined = svmgsu.Gaussians.concatenate([svmgsu.Gaussians(X, cov), svmgsu.Gaussians(X, more)])
    wanted = svmgsu.Gaussians.concatenate(
        [svmgsu.Gaussians(X, full), svmgsu.Gaussians(X, full if more is cov else more)]
    )
    np.testing.assert_allclose(joined.cov.to_full(120, 3), wanted.cov.to_full(120, 3), rtol=1e-12, atol=1e-14)


def test_it_goes_through_maps(problem):
    X, _, cov, full = problem
    union = svmgsu.Propagate(FeatureUnion([("a", "passthrough"), ("b", PCA(2))]))
    A = np.array([[1.0, -1.0, 0.0], [0.5, 0.0, 2.0]])
    np.testing.assert_allclose(cov.map(A).to_full(), full.map(A).to_full(), rtol=1e-12)
    for through in (
        svmgsu.Propagate(FunctionTransformer(np.tanh)).fit_transform,
        svmgsu.Propagate(FunctionTransformer(lambda x: x[:, :1] * x[:, 1:])).fit_transform,
        svmgsu.Propagate(StandardScaler()).fit_transform,
        union.fit_transform,
        svmgsu.Propagate(FunctionTransformer(np.square), method="exact").fit_transform,
    ):
        got, wanted = (through(svmgsu.Gaussians(X, kind)) for kind in (cov, full))
        np.testing.assert_allclose(got.cov.to_full(), wanted.cov.to_full(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ending", ["npz", "text"])
def test_it_is_saved_and_read(problem, tmp_path, ending):
    X, y, cov, full = problem
    data = svmgsu.Gaussians(X, cov)
    if ending == "npz":
        file = io.BytesIO()
        svmgsu.io.write(data, file, format="npz", y=y)
        file.seek(0)
        back = svmgsu.io.read(file, format="npz")
        assert isinstance(back.data.cov, Stretched)
        assert back.report.notes == []
    else:
        paths = [tmp_path / f"{name}.txt" for name in ("mean", "label", "cov")]
        svmgsu.io.write(data, *paths, y=y)
        back = svmgsu.io.read_text(*paths)
    np.testing.assert_allclose(back.data.cov.to_full(), full.to_full(), rtol=1e-12)


def test_models_learn_from_it_and_predict_with_it(problem):
    X, y, cov, full = problem
    one, two = (svmgsu.train(X, y, kind, lam=1e-2, tol=1e-10) for kind in (cov, full))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-4)
    np.testing.assert_allclose(
        one.predict_proba(X[:5], cov[:5]), two.predict_proba(X[:5], full[:5]), rtol=1e-3
    )
    estimators = [svmgsu.LinearSVMGSU(lam=[0.1, 0.01]).fit(X, y, cov=kind) for kind in (cov, full)]
    np.testing.assert_allclose(*(estimator.coef_ for estimator in estimators), rtol=1e-3)


def test_two_kinds_cannot_have_one_key():
    assert READERS["stretched"] is Stretched
    with pytest.raises(TypeError, match="Other: the key 'packed' is that of Full"):
        type("Other", (Covariance,), {"keys": ("packed",)})
