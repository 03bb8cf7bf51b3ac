"""Bad data and bad use: every error names the argument, the place, what was found and what is wanted."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.sparse as sp
from conftest import spd, train_with

import svmgsu

COUNT, N = 20, 6
X = np.random.default_rng(0).normal(size=(COUNT, N))
y = np.arange(COUNT) % 2
V = np.random.default_rng(1).uniform(0.1, 1, (COUNT, N))
S = spd(np.random.default_rng(2), COUNT, N)
for shared in (X, y, V, S):
    shared.setflags(write=False)
CSR = scipy.sparse.csr_array
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def train(X, y, cov=None, **options):
    return train_with(X, y, cov, **{"solver": "sgd", "steps": 5, **options})


def objective():
    return svmgsu.Objective(X, y, 1.0)


def refuses(message, error=ValueError):
    """An error with exactly this text somewhere in its message."""
    return pytest.raises(error, match=re.escape(message))


def entry(array, place, value):
    """A copy of an array with another value at a place."""
    out = array.copy()
    out[place] = value
    return out


def masked(array):
    return np.ma.masked_array(array, entry(np.zeros(array.shape, dtype=bool), (3, 2), True))


def missing():
    frame = pd.DataFrame(X).astype("Float64")
    frame.iloc[3, 2] = pd.NA
    return frame


REFUSED = {
    # Means
    "X: expected 2 dimensions, got an array of shape ()": lambda: train(np.zeros(()), [0, 1]),
    "X: expected 2 dimensions, got an array of shape (6,). Reshape your data": lambda: train(X[0], [0, 1]),
    "X: expected 2 dimensions, got an array of shape (2, 3, 4)": lambda: train(np.zeros((2, 3, 4)), [0, 1]),
    "X: Found array with 0 sample(s)": lambda: train(X[:0], []),
    "X: Found array with 0 feature(s)": lambda: train(CSR((3, 0)), [0, 1, 0]),
    "X: Complex data not supported; got complex128": lambda: train(X + 1j, y),
    "X: Complex data not supported": lambda: train(CSR(X + 1j), y),
    "X: could not be read as an array of numbers (it holds strings": lambda: train(
        np.array([["a", "b"]] * 2, dtype=object), [0, 1]
    ),
    "X: could not be read as an array of numbers": lambda: train([[1.0, 2.0], [3.0]], [0, 1]),
    "X: expected numbers, got dtype <U1": lambda: train([["1", "2"], ["3", "4"]], [0, 1]),
    "X: expected numbers, got dtype datetime64": lambda: train(np.zeros((2, 1), dtype="M8[D]"), [0, 1]),
    "X: sample 3, feature 2 is masked": lambda: train(masked(X), y),
    # Labels
    "y: only one class, 3; training needs samples of two": lambda: train(X, np.full(COUNT, 3)),
    "y: only one class, 'a'": lambda: train(X, ["a"] * COUNT),
    "y: 3 classes (0, 1, 2); an Objective has two": lambda: svmgsu.Objective(X, np.arange(COUNT) % 3),
    "y: 5 classes (0, 1, 2, 3, 4); an Objective has two": lambda: svmgsu.Objective(X, np.arange(COUNT) % 5),
    "y: 20 classes (0, 1, 2, 3, 4, ...)": lambda: svmgsu.Objective(X, np.arange(COUNT)),
    "y: looks continuous, with 3 different numbers (0.0, 0.5, 1.0)": lambda: train(X, np.arange(20) % 3 / 2),
    "y: 19 labels for 20 samples": lambda: train(X, y[:-1]),
    "y: expected one label per sample, got an array of shape (20, 2, 2)": lambda: train(X, S[:, :2, :2]),
    "y: expected one label per sample, got an array of shape ()": lambda: train(X, 1),
    "y: sample 0 has class probabilities that sum to 0; rows must sum to 1": lambda: train(X, 0 * V[:, :2]),
    "y: training requires y to be passed, but the target y is None": lambda: train(X, None),
    "y: could not be read as an array of labels": lambda: train(X, [[1], [2, 3]] * 10),
    "y: sample 1 has the label None where others are numbers": lambda: train(X, [0, None] * 10),
    "y: expected labels that are numbers or strings, got dtype |S21": lambda: train(X, [0, b"a"] * 10),
    "y: expected labels that are numbers or strings, got dtype complex128": lambda: train(X, [0, 1j] * 10),
    # Covariances
    "cov: sample 3, feature 2 is masked": lambda: train(X, y, masked(V)),
    "cov: sample 17 has variance -2; variances must be >= 0": lambda: train(X, y, entry(V[:, 0], 17, -2.0)),
    "variances: sample 17 has variance -2": lambda: svmgsu.Isotropic(entry(V[:, 0], 17, -2.0)),
    "cov: the value has variance -2": lambda: train(X, y, -2.0),
    "std: sample 17 has standard deviation -0.3 at feature 4; standard deviations must be >= 0": lambda: (
        train(X, y, std=entry(V, (17, 4), -0.3))
    ),
    "std: sample 17 has standard deviation -0.3; standard": lambda: train(X, y, std=entry(V[:, 0], 17, -0.3)),
    "std: the value has standard deviation -0.3": lambda: train(X, y, std=-0.3),
    "cov: Complex data not supported": lambda: train(X, y, V + 1j),
    "cov: expected numbers, got dtype <U": lambda: train(X, y, V.astype(str)),
    "cov: could not be read as an array of numbers": lambda: train(X, y, V.astype(str).astype(object)),
    # Shapes
    "cov: shape (19, 6) does not fit 20 samples of 6 features; expected a number, (20,), or (20, 6)": (
        lambda: train(X, y, V[1:])
    ),
    "cov: shape (20, 7) does not fit 20 samples of 6 features": lambda: train(X, y, np.zeros((20, 7))),
    "cov: shape (20, 6, 7) does not fit 20 samples of 6": lambda: train(X, y, np.zeros((20, 6, 7))),
    "cov: shape (19, 6, 6) does not fit 20 samples of 6": lambda: train(X, y, S[1:]),
    "cov: shape (6, 20) does not fit 20 samples of 6": lambda: train(X, y, V.T),
    "cov: 19 variances for 20 samples": lambda: train(X, y, np.ones(19)),
    "std: 19 standard deviations for 20 samples": lambda: train(X, y, std=np.ones(19)),
    "cov: shape (6,) fits the features but not the 20 samples; for one ": lambda: train(X, y, V[0]),
    "cov: shape (6, 6) fits the features but not the 20 samples; for one ": lambda: train(X, y, S[0]),
    "cov: Isotropic has 3 samples, but X has 20": lambda: train(X, y, svmgsu.Isotropic(np.ones(3))),
    "cov: Diagonal has 3 features, but X has 6": lambda: train(X, y, svmgsu.Diagonal(np.ones((20, 3)))),
    "cov: Full has 3 samples, but X has 20": lambda: train(X, y, svmgsu.Full(np.zeros((3, 6, 6)))),
    "cov: LowRank has 5 features, but X has 6": lambda: train(X, y, svmgsu.LowRank(np.ones((20, 1, 5)))),
    "cov: Shared has 5 features, but X has 6": lambda: train(X, y, svmgsu.Shared(np.eye(5))),
    "cov: Sum has 5 features, but X has 6": lambda: train(
        X, y, svmgsu.Isotropic(1.0) + svmgsu.Shared(np.ones(5))
    ),
    "cov: Shared has no covariance for class 1; it has [0, 2]": lambda: train(
        X, y, svmgsu.Shared({0: np.eye(N), 2: np.eye(N)})
    ),
    # Kinds
    "cov: expected square matrices, got an array of shape (2, 3, 4)": lambda: svmgsu.Full(
        np.zeros((2, 3, 4))
    ),
    "packed: rows must have n(n+1)/2 numbers, got 5": lambda: svmgsu.Full.from_packed(np.zeros((2, 5))),
    "factors: expected 3 dimensions": lambda: svmgsu.LowRank(np.zeros((2, 3))),
    "diagonal: shape (2, 3), but the factors are of 2 samples and 4 features": lambda: svmgsu.LowRank(
        np.zeros((2, 1, 4)), diagonal=np.zeros((2, 3))
    ),
    "cov: the terms of a sum disagree about n_features: [5, 6]": lambda: (
        svmgsu.Shared(np.ones(5)) + svmgsu.Shared(np.ones(6))
    ),
    "cov: Shared got no class": lambda: svmgsu.Shared({}),
    "cov: the classes' covariances must have the same shape, got (2, 2), (3, 3)": lambda: svmgsu.Shared(
        {0: np.eye(2), 1: np.eye(3)}
    ),
    "variances: expected 2 dimensions, got an array of shape (3,)": lambda: svmgsu.Diagonal(np.ones(3)),
    "not positive semidefinite: its smallest eigenvalue is -1": lambda: svmgsu.Shared(
        [[1.0, 2.0], [2.0, 1.0]]
    ),
    "cov: sample 17 is not positive semidefinite: its smallest eigenvalue is -1e-20": lambda: svmgsu.Full(
        1e-20 * entry(S, 17, -np.eye(N))
    ),
    # Weights
    "sample_weight: 19 weights for 20 samples": lambda: train(X, y, sample_weight=np.ones(19)),
    "sample_weight: sample 17 has -0.5; weights must be >= 0": lambda: train(
        X, y, sample_weight=entry(np.ones(COUNT), 17, -0.5)
    ),
    "sample_weight: sample 0 has -1; weights must be >= 0": lambda: train(X, y, sample_weight=y * 2 - 1),
    "sample_weight: all weights are zero": lambda: train(X, y, sample_weight=np.zeros(COUNT)),
    "sample_weight: sample 17 is nan": lambda: train(X, y, sample_weight=entry(V[:, 0], 17, np.nan)),
    "sample_weight: class 1 has no weight": lambda: train(X, y, sample_weight=1.0 - y),
    "sample_weight: expected 0 or 1 dimensions": lambda: train(X, y, sample_weight=V),
    # Points of an objective
    "w: 5 numbers for 6 features": lambda: objective().value(np.ones(5), 0.0),
    "vw: 7 numbers for 6 features": lambda: objective().hessian_product(np.ones(6), 0.0, np.ones(7), 0.0),
    "w: expected 1 dimensions": lambda: objective().gradient(np.ones((1, 6)), 0.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_it_is_refused(message):
    with refuses(message):
        REFUSED[message]()


def test_a_missing_value_of_pandas_is_found():
    with refuses("X: could not be read as an array of numbers (sample 3, feature 2 is <NA>", TypeError):
        train(missing(), y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_what_is_not_finite_is_found(value):
    bad = entry(X, (17, 4), value)
    for given in (bad, bad.astype(np.float32), CSR(bad)):
        with refuses(f"X: sample 17, feature 4 is {value}; NaN and infinity are not allowed"):
            train(given, y)
    labels = entry(y.astype(float), 17, value)
    for given in (labels, labels.tolist(), labels.astype(object), labels.astype(np.float32)):
        with refuses(f"y: sample 17 is {value}; NaN and infinity are not allowed"):
            train(X, given)
    for place, cov in {
        "cov: sample 17, feature 4": entry(V, (17, 4), value),
        "cov: sample 17": entry(V[:, 0], 17, value),
        "cov: sample 17, feature 4, feature 2": entry(S, (17, 4, 2), value),
        "cov: sample 0, feature 0, feature 0": entry(S, (0, 0, 0), value),
        "cov: the value": value,
    }.items():
        with refuses(f"{place} is {value}"):
            train(X, y, cov)
    with refuses(f"cov: sample 17, feature 4 is {value}"):
        train(X, y, CSR(entry(V, (17, 4), value)))
    with refuses(f"std: sample 17, feature 4 is {value}"):
        train(X, y, std=entry(V, (17, 4), value))
    with pytest.raises(ValueError, match=f"^factors: sample 3, .*is {value}"):
        svmgsu.LowRank(np.ones((COUNT, 2, N)) * entry(np.ones(COUNT), 3, value)[:, None, None])
    for shared in (entry(np.eye(N), (4, 4), value), entry(np.ones(N), 4, value)):
        with pytest.raises(ValueError, match=f"^cov: .*is {value}"):
            svmgsu.Shared(shared)


def test_objects_and_masks_are_read_where_all_are_numbers():
    np.testing.assert_array_equal(train(X.astype(object), y).coef_, train(X, y).coef_)
    train(X, y, V.astype(object))
    train(np.ma.masked_array(X, mask=False), y)


@pytest.mark.parametrize("missing", [np.nan, None, 3])
def test_a_label_that_is_no_string_among_strings_is_found(missing):
    labels = ["star", "galaxy"] * (COUNT // 2)
    labels[17] = missing
    for given in (labels, np.array(labels, dtype=object)):
        for fit in (train, svmgsu.LinearSVMGSU().fit):
            with refuses(f"y: sample 17 has the label {missing!r} where others are strings"):
                fit(X, given)


@DTYPES
def test_a_negative_variance_is_found(dtype):
    bad = entry(V.astype(dtype), (17, 4), -0.3)
    message = "sample 17 has variance -0.3 at feature 4; variances must be >= 0"
    for name, call in (
        ("cov", lambda: train(X, y, bad)),
        ("cov", lambda: train(X, y, CSR(bad))),
        ("cov", lambda: svmgsu.Gaussians(X, bad)),
        ("variances", lambda: svmgsu.Diagonal(bad)),
        ("variances", lambda: svmgsu.Diagonal(CSR(bad))),
        ("diagonal", lambda: svmgsu.LowRank(np.zeros((COUNT, 1, N)), diagonal=bad)),
    ):
        with refuses(f"{name}: {message}"):
            call()


@DTYPES
def test_asymmetric_and_indefinite_matrices_are_found(dtype):
    bad = S.astype(dtype)
    bad[17, 2, 4], bad[17, 4, 2] = 0.5, 0.25
    with refuses("cov: sample 17 is not symmetric: entry (2, 4) is 0.5 but (4, 2) is 0.25"):
        train(X, y, bad)
    rounded = S.astype(dtype)
    rounded[17, 2, 4] *= 1 + 4 * np.finfo(dtype).eps
    svmgsu.Full(rounded)
    bad = S.astype(dtype)
    bad[17] = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -0.25])
    bad[18] = -np.eye(N)
    message = (
        "cov: sample 17 is not positive semidefinite: its smallest eigenvalue is -0.25; covariances must"
    )
    for call in (lambda: train(X, y, bad), lambda: svmgsu.Full(bad)):
        with refuses(message):
            call()
    svmgsu.Full(bad, check=False)


def test_an_ambiguous_shape_is_refused_with_the_names_of_the_kinds():
    square, labels = np.eye(5) + 1, [0, 1, 0, 1, 0]
    for given, kind in ((np.ones(5), "Isotropic"), (np.ones((5, 5)), "Diagonal")):
        with refuses(f"cov: shape {given.shape} is ambiguous") as caught:
            train(square, labels, given)
        assert f"svmgsu.{kind}" in str(caught.value)
        assert "svmgsu.Shared" in str(caught.value)
    error_bars = svmgsu.Gaussians(square, std=np.ones((5, 5)))  # these have one meaning only
    assert isinstance(error_bars.cov, svmgsu.Diagonal)
    for kind in (svmgsu.Isotropic(np.ones(5)), svmgsu.Diagonal(np.ones((5, 5))), svmgsu.Shared(np.eye(5))):
        train(square, labels, kind)
    train(square, labels, np.array([np.eye(5)] * 5))


def test_one_sample_of_one_feature_has_an_error_bar():
    for uncertain in ({"std": [[0.5]]}, {"cov": [[0.25]]}, {"std": [0.5]}, {"cov": 0.25}):
        assert svmgsu.Gaussians([[1.5]], **uncertain).cov.to_full(1, 1).item() == 0.25


@pytest.mark.parametrize("start", [[0, 1], [0, 2, 1, 3], [1, 3], [0, 4], [], [[0, 3]]])
def test_starts_of_factors_rise(start):
    with refuses("start: must rise from 0 to the number of rows, 3"):
        svmgsu.LowRank(np.zeros((3, 2)), start=start)


@pytest.mark.parametrize("dtype", ["bool", "int8", ">i4", "uint64", "float32", "float64", "U1"])
def test_classes_are_the_sorted_labels_of_their_own_type(dtype):
    for values in ([1, 0, 0, 1, 1], [0, 1, 1]):
        labels = np.array(values).astype(dtype)
        classes = train(np.arange(2.0 * len(labels)).reshape(-1, 2), labels).classes_
        np.testing.assert_array_equal(classes, np.unique(labels))
        assert classes.dtype == labels.dtype


SMALL = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]])


def spoilt(format, attribute, value):
    """A sparse matrix, made well and then spoilt, as a program with an error in it might."""
    matrix = sp.csr_array(SMALL).asformat(format)
    setattr(matrix, attribute, value)
    return matrix


def with_columns(*columns):
    return spoilt("csr", "indices", np.array(columns, dtype=np.int32))


BAD_MATRICES = {
    "beyond": with_columns(0, 2, 1, 0, 1, 1003),
    "negative": with_columns(0, -2, 1, 0, 1, 2),
    "beyond int32": spoilt("csr", "indices", np.array([0, 2, 1, 0, 1, 2**40])),
    "floats": spoilt("csr", "indices", np.array([0.0, 2, 1, 0, 1, 2])),
    "falls": spoilt("csr", "indptr", np.array([0, 5, 3, 6], dtype=np.int32)),
    "starts late": spoilt("csr", "indptr", np.array([1, 2, 3, 6], dtype=np.int32)),
    "ends late": spoilt("csr", "indptr", np.array([0, 2, 3, 60], dtype=np.int32)),
    "too few rows": spoilt("csr", "indptr", np.array([0, 2, 6], dtype=np.int32)),
    "too few values": spoilt("csr", "data", np.ones(4)),
    "csc": spoilt("csc", "indices", np.array([0, 2, 1, 2, 0, 3000], dtype=np.int32)),
    "csc starts": spoilt("csc", "indptr", np.array([0, 2, 400, 6], dtype=np.int32)),
    "bsr": spoilt("bsr", "indices", np.array([7000], dtype=np.int32)),
    "coo": spoilt("coo", "coords", (np.array([0, 1, 2, 0, 1, 9000]), np.array([0, 1, 2, 0, 1, 2]))),
    "coo negative": spoilt("coo", "coords", (np.array([0, 1, 2, 0, 1, -9]), np.array([0, 1, 2, 0, 1, 2]))),
    "coo lengths": spoilt("coo", "coords", (np.array([0, 1, 2]), np.array([0, 1, 2]))),
}


@pytest.mark.parametrize("case", BAD_MATRICES)
def test_a_sparse_matrix_with_a_bad_index_is_refused(case):
    for make, name in ((svmgsu.Gaussians, "X"), (svmgsu.Diagonal, "variances")):
        with pytest.raises(ValueError, match=rf"^{name}: "):
            make(BAD_MATRICES[case])


def test_unsorted_and_repeated_columns_are_put_in_order_whatever_the_matrix_says_of_itself():
    matrix = sp.csr_array(
        (
            np.array([2.0, 1.0, 1.5, 1.5, 6.0, 4.0, 5.0]),
            np.array([2, 0, 1, 1, 2, 0, 1]),
            np.array([0, 2, 4, 7]),
        ),
        shape=(3, 3),
    )
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    before = matrix.indices.copy()
    data = svmgsu.Gaussians(matrix, svmgsu.Diagonal(matrix))
    np.testing.assert_array_equal(data.mean.toarray(), SMALL)
    np.testing.assert_array_equal(data.cov.diagonals(3, 3), SMALL)
    assert (np.diff(data.mean.indices[:2]) > 0).all()
    np.testing.assert_array_equal(matrix.indices, before)


def test_an_unaligned_array_is_copied():
    raw = np.zeros(8 * 6 + 1, dtype=np.uint8)
    odd = raw[1:].view(np.float64).reshape(3, 2)
    assert not odd.flags.aligned
    assert svmgsu.Gaussians(odd).mean.flags.aligned
