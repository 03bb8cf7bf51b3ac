"""KSVM-iGSU: an RBF kernel with isotropic noise in its space, exact; and the authors' files of it."""

import numpy as np
import pytest
import scipy.optimize
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.svm import SVC

import svmgsu
from svmgsu.cli.gsvm import parse_kernel, predict_main, train_kernel, train_main
from svmgsu.io import FormatError

GAMMA, LAM = 0.7, 0.05


def load_kernel(path):
    return parse_kernel(path.read_bytes(), str(path))


def rings(count=60, seed=0, noise=True):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) % 3 == 0, -1, 1)
    angle, radius = rng.uniform(0, 2 * np.pi, count), np.where(y > 0, 2.0, 0.7) + rng.normal(0, 0.3, count)
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return X, y, rng.uniform(0.01, 0.3, count) if noise else np.zeros(count)


def objective(alpha, b, X, y, variances, gamma=GAMMA, lam=LAM):
    """λ/2 αᵀKα and the mean expected hinge, written from the paper's kernel form."""
    K = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    norm2 = alpha @ K @ alpha
    d = 1 - y * (K @ alpha + b)
    s = np.sqrt(variances * norm2)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(s > 0, d * norm.cdf(d / s) + s * norm.pdf(d / s), np.maximum(d, 0))
    return lam / 2 * norm2 + loss.mean()


def test_the_objective_is_that_of_the_kernel_form_and_nobody_gets_below_the_bound():
    X, y, variances = rings()
    model = train_kernel(X, y, variances, gamma=GAMMA, lam=LAM)
    value = objective(model.dual_coef_, model.intercept_, X, y, variances)
    assert value == pytest.approx(model.objective_, rel=1e-9)
    assert model.gap_ <= 1e-6 * model.objective_
    start = np.append(model.dual_coef_ + np.random.default_rng(1).normal(0, 0.1, len(y)), 0.0)
    found = scipy.optimize.minimize(
        lambda v: objective(v[:-1], v[-1], X, y, variances),
        start,
        method="L-BFGS-B",
        options={"maxiter": 60},
    )
    assert found.fun >= model.objective_ - model.gap_ - 1e-12


def test_without_noise_it_is_the_support_vector_machine_with_that_kernel():
    X, y, zero = rings(noise=False)
    model = train_kernel(X, y, zero, gamma=GAMMA, lam=LAM)
    svc = SVC(C=1 / (LAM * len(y)), gamma=GAMMA, tol=1e-8).fit(X, y)
    new = np.random.default_rng(2).normal(0, 2, (50, 2))
    np.testing.assert_allclose(model.decision_function(new), svc.decision_function(new), atol=2e-4)


def test_the_programs_train_and_predict_with_the_authors_files(tmp_path, capsys):
    X, y, variances = rings()
    data = svmgsu.Gaussians(X, svmgsu.Isotropic(variances))
    means, labels, cov = (tmp_path / name for name in ("means", "labels", "cov"))
    svmgsu.io.write(data, means, labels, cov, y=y)
    path = tmp_path / "rbf.model"
    words = ["-t", "2", "-d", "3", "-g", str(GAMMA), "-l", str(LAM)]
    assert train_main([*words, str(means), str(labels), str(cov), str(path)]) == 0
    lines = path.read_text().splitlines()
    keys = [line.split(" ")[0] for line in lines[:9]]
    assert lines[1] == "kernel_type rbf"
    assert keys == ["SVM-GSU", "kernel_type", "lambda", "gamma", "b", "sigmA", "sigmB", "cov_mat_type", "SV"]
    assert len(lines) == 9 + len(y) and lines[9].split()[1].startswith("1:")
    model = train_kernel(data, y, gamma=GAMMA, lam=LAM)
    read = load_kernel(path)
    np.testing.assert_allclose(read.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert predict_main(["-t", str(labels), str(means), str(path), str(tmp_path / "out")]) == 0
    rows = [line.split() for line in (tmp_path / "out").read_text().splitlines()]
    assert rows[0] == ["doc_id", "+1", "-1", "label"]
    ids = svmgsu.io.read(means, labels).ids.tolist()
    said = {row[0]: int(row[3]) for row in rows[1:]}
    np.testing.assert_array_equal([said[key] for key in ids], np.sign(model.decision_function(X)))
    assert capsys.readouterr().err == ""


GOOD = (
    "SVM-GSU Model_File\nkernel_type rbf\nlambda 1\ngamma 0.5\nb 0\nsigmA -1\nsigmB 0\n"
    "cov_mat_type \nSV\n1 1:2 2:3\n"
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gamma 0.5\n", "", "without gamma"),
        ("gamma 0.5", "gamma -1", "gamma: expected a number > 0"),
        ("lambda 1", "lambda x", "lambda: expected a number, got 'x'"),
        ("b 0\n", "b 0\nb 1\n", "'b' is there twice"),
        ("1 1:2 2:3", "1 0:2", ":10:3: "),
        ("1 1:2 2:3", "1 1:nan", ":10:5: expected a finite number"),
        ("1 1:2 2:3", "1 1", ":10:3: expected index:value"),
        ("1 1:2 2:3\n", "", "without support vectors"),
        ("SV\n1 1:2 2:3\n", "", "without support vectors"),
    ],
)
def test_damaged_kernel_models_are_refused(old, new, message, tmp_path):
    assert old in GOOD
    path = tmp_path / "m"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FormatError, match=message):
        load_kernel(path)
    path.write_text(GOOD)
    assert load_kernel(path).decision_function([[2.0, 3.0]]) == [1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [(["-d", "0"], "give -d 3"), (["-d", "3", "--solver", "sgd"], "solved exactly")],
)
def test_options_that_a_kernel_cannot_have(options, message, capsys, tmp_path):
    with pytest.raises(SystemExit):
        train_main(["-t", "2", *options, "m", "l", "c", str(tmp_path / "out")])
    assert message in capsys.readouterr().err


def test_other_covariances_are_refused():
    X, y, _ = rings(12)
    with pytest.raises(ValueError, match=r"cov: the noise of a kernel classifier .* got Diagonal"):
        train_kernel(X, y, np.ones(X.shape), gamma=1.0, lam=LAM)
    with pytest.raises(ValueError, match="gamma"):
        train_kernel(X, y, 0.1, gamma=0.0, lam=LAM)
