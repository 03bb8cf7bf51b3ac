"""Bad data: every error names the argument, the place, what was found and what is wanted."""

import numpy as np
import pytest
import scipy.sparse
from validation_cases import COUNT, N, arrays, refuses, train, with_entry

import svmgsu


@pytest.fixture
def X():
    return arrays()["X"]


@pytest.fixture
def y():
    return arrays()["y"]


@pytest.fixture
def V():
    return arrays()["V"]


@pytest.fixture
def S():
    return arrays()["S"]


# Means

NOT_FINITE = pytest.mark.parametrize(
    ("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")]
)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@DTYPES
@NOT_FINITE
def test_a_mean_that_is_not_finite_is_found(X, y, value, shown, dtype):
    bad = with_entry(X.astype(dtype), (17, 4), value)
    with refuses(f"X: sample 17, feature 4 is {shown}; NaN and infinity are not allowed"):
        train(bad, y)
    with refuses(f"X: sample 17, feature 4 is {shown}"):
        train(scipy.sparse.csr_matrix(bad), y)


@pytest.mark.parametrize("shape", [(), (6,), (2, 3, 4)], ids=str)
def test_means_have_two_dimensions(shape):
    with refuses(
        f"X: expected 2 dimensions, got an array of shape {shape}. Reshape your data: one row per sample"
    ):
        train(np.zeros(shape), [0, 1])


@pytest.mark.parametrize(("shape", "what"), [((0, 3), "0 sample(s)"), ((3, 0), "0 feature(s)")])
def test_empty_data_is_refused(shape, what):
    with refuses(f"X: Found array with {what}"):
        train(np.zeros(shape), np.arange(shape[0]) % 2)
    with refuses(f"X: Found array with {what}"):
        train(scipy.sparse.csr_array(shape), np.arange(shape[0]) % 2)


def test_complex_means_are_refused(X, y):
    with refuses("X: Complex data not supported; got complex128"):
        train(X + 1j, y)
    with refuses("X: Complex data not supported; got complex128"):
        train(scipy.sparse.csr_matrix(X + 1j), y)


def test_objects_are_read_if_they_are_numbers(X, y):
    np.testing.assert_array_equal(train(X.astype(object), y).coef_, train(X, y).coef_)
    with refuses("X: could not be read as an array of numbers"):
        train(np.array([["a", "b"], ["c", "d"]], dtype=object), [0, 1])
    with refuses("X: could not be read as an array of numbers"):
        train([[1.0, 2.0], [3.0]], [0, 1])
    with refuses("X: expected numbers, got dtype <U1"):
        train([["1", "2"], ["3", "4"]], [0, 1])
    with refuses("X: expected numbers, got dtype datetime64"):
        train(np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"), [0, 1])


# Labels


def test_labels_must_be_of_two_classes(X, y):
    with refuses("y: only one class, 3; training needs samples of two"):
        train(X, np.full(COUNT, 3))
    with refuses("y: only one class, 'a'"):
        train(X, ["a"] * COUNT)
    with refuses("y: 3 classes (0, 1, 2); an Objective has two"):
        svmgsu.Objective(X, np.arange(COUNT) % 3)
    with refuses("y: looks continuous, with 3 different numbers (0.0, 0.5, 1.0); expected class"):
        train(X, np.arange(COUNT) % 3 / 2)
    with refuses("y: 20 classes (0, 1, 2, 3, 4, ...)"):
        svmgsu.Objective(X, np.arange(COUNT))


@NOT_FINITE
def test_a_label_that_is_not_finite_is_found(X, y, value, shown):
    bad = with_entry(y.astype(float), 17, value)
    for labels in (bad, bad.tolist(), bad.astype(object), bad.astype(np.float32)):
        with refuses(f"y: sample 17 is {shown}; NaN and infinity are not allowed"):
            train(X, labels)


def test_labels_must_be_one_an_example(X, y):
    with refuses("y: 19 labels for 20 samples"):
        train(X, y[:-1])
    with refuses("y: expected one label per sample, got an array of shape (20, 2, 2)"):
        train(X, np.zeros((COUNT, 2, 2)))
    with refuses("y: sample 0 has class probabilities that sum to 0; rows must sum to 1"):
        train(X, np.zeros((COUNT, 2)))
    with refuses("y: training requires y to be passed, but the target y is None"):
        train(X, None)
    with refuses("y: expected one label per sample, got an array of shape ()"):
        train(X, 1)
    with refuses("y: could not be read as an array of labels"):
        train(X, [[1], [2, 3]] * 10)


@pytest.mark.parametrize("bad", [None, 1j, b"bytes", ("a", "b")])
def test_labels_are_numbers_or_strings(X, bad):
    with pytest.raises(ValueError, match=r"^y: "):
        labels = np.empty(COUNT, dtype=object)
        labels[:] = [0, bad] * (COUNT // 2) if not isinstance(bad, tuple) else [bad] * COUNT
        train(X, labels)


@pytest.mark.parametrize("missing", [np.nan, None, 3])
def test_a_label_that_is_no_string_among_strings_is_found(X, missing):
    labels = ["star", "galaxy"] * (COUNT // 2)
    labels[17] = missing
    for given in (labels, np.array(labels, dtype=object)):
        for fit in (train, svmgsu.LinearSVMGSU().fit):
            with refuses(f"y: sample 17 has the label {missing!r} where others are strings"):
                fit(X, given)
    with refuses("y: sample 1 has the label None where others are numbers"):
        train(X, [0, None] * (COUNT // 2))


def test_an_object_that_is_no_number_is_found(X, y):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).astype("Float64")
    frame.iloc[3, 2] = pandas.NA
    with refuses("X: could not be read as an array of numbers (sample 3, feature 2 is <NA>", TypeError):
        train(frame, y)


def test_masked_values_are_refused(X, y, V):
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[3, 2] = True
    with refuses("X: sample 3, feature 2 is masked"):
        train(np.ma.masked_array(X, hidden), y)
    with refuses("cov: sample 3, feature 2 is masked"):
        train(X, y, np.ma.masked_array(V, hidden))
    train(np.ma.masked_array(X, mask=False), y)


# Variances


@DTYPES
def test_a_negative_variance_is_found(X, y, V, dtype):
    bad = with_entry(V.astype(dtype), (17, 4), -0.3)
    message = "sample 17 has variance -0.3 at feature 4; variances must be >= 0"
    with refuses(f"cov: {message}"):
        train(X, y, bad)
    with refuses(f"cov: {message}"):
        train(X, y, scipy.sparse.csr_matrix(bad))
    with refuses(f"cov: {message}"):
        svmgsu.Gaussians(X, bad)
    with refuses(f"variances: {message}"):
        svmgsu.Diagonal(bad)
    with refuses(f"variances: {message}"):
        svmgsu.Diagonal(scipy.sparse.csr_array(bad))
    with refuses(f"diagonal: {message}"):
        svmgsu.LowRank(np.zeros((COUNT, 1, N)), diagonal=bad)


def test_a_negative_isotropic_variance_is_found(X, y, V):
    with refuses("cov: sample 17 has variance -2; variances must be >= 0"):
        train(X, y, with_entry(V[:, 0], 17, -2.0))
    with refuses("variances: sample 17 has variance -2"):
        svmgsu.Isotropic(with_entry(V[:, 0], 17, -2.0))
    with refuses("cov: the value has variance -2"):
        train(X, y, -2.0)


@NOT_FINITE
def test_a_covariance_that_is_not_finite_is_found(X, y, V, S, value, shown):
    with refuses(f"cov: sample 17, feature 4 is {shown}"):
        train(X, y, with_entry(V, (17, 4), value))
    with refuses(f"cov: sample 17, feature 4 is {shown}"):
        train(X, y, scipy.sparse.csr_matrix(with_entry(V, (17, 4), value)))
    with refuses(f"cov: sample 17 is {shown}"):
        train(X, y, with_entry(V[:, 0], 17, value))
    with refuses(f"cov: sample 17, feature 4, feature 2 is {shown}"):
        train(X, y, with_entry(S, (17, 4, 2), value))
    with refuses(f"cov: the value is {shown}"):
        train(X, y, value)
    with pytest.raises(ValueError, match=f"^factors: sample 3, .*is {shown}"):
        svmgsu.LowRank(np.full((COUNT, 2, N), 1.0) * with_entry(np.ones(COUNT), 3, value)[:, None, None])
    with pytest.raises(ValueError, match=f"^cov: .*is {shown}"):
        svmgsu.Shared(with_entry(np.eye(N), (4, 4), value))
    with pytest.raises(ValueError, match=f"^cov: .*is {shown}"):
        svmgsu.Shared(with_entry(np.ones(N), 4, value))


@NOT_FINITE
def test_an_error_bar_that_is_not_finite_is_found(X, y, V, value, shown):
    with refuses(f"std: sample 17, feature 4 is {shown}"):
        train(X, y, std=with_entry(V, (17, 4), value))


def test_a_negative_error_bar_is_found(X, y, V):
    with refuses("std: sample 17 has standard deviation -0.3 at feature 4; standard deviations must be >= 0"):
        train(X, y, std=with_entry(V, (17, 4), -0.3))
    with refuses("std: sample 17 has standard deviation -0.3; standard deviations must be >= 0"):
        train(X, y, std=with_entry(V[:, 0], 17, -0.3))
    with refuses("std: the value has standard deviation -0.3"):
        train(X, y, std=-0.3)


# Matrices


@DTYPES
def test_an_asymmetric_matrix_is_found(X, y, S, dtype):
    bad = S.astype(dtype)
    bad[17, 2, 4], bad[17, 4, 2] = 0.5, 0.25
    with refuses("cov: sample 17 is not symmetric: entry (2, 4) is 0.5 but (4, 2) is 0.25"):
        train(X, y, bad)


@DTYPES
def test_rounding_is_no_asymmetry(X, y, S, dtype):
    S = S.astype(dtype)
    S[17, 2, 4] *= 1 + 4 * np.finfo(dtype).eps
    svmgsu.Full(S)


@DTYPES
def test_an_indefinite_matrix_is_found_with_its_smallest_eigenvalue(X, y, S, dtype):
    bad = S.astype(dtype)
    bad[17] = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -0.25])
    bad[18] = -np.eye(N)
    message = (
        "cov: sample 17 is not positive semidefinite: its smallest eigenvalue is -0.25; covariances must"
    )
    with refuses(message):
        train(X, y, bad)
    with refuses(message):
        train(X, y, svmgsu.Full(bad))
    svmgsu.Full(bad, check=False)
    with refuses("not positive semidefinite: its smallest eigenvalue is -1"):
        svmgsu.Shared(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with refuses("cov: sample 17 is not positive semidefinite: its smallest eigenvalue is -1e-20"):
        svmgsu.Full(1e-20 * with_entry(S, 17, -np.eye(N)))


@DTYPES
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_negative_eigenvalues_of_rounding_size_pass(scale, dtype):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(50, 2, 8))
    S = (scale * F.transpose(0, 2, 1) @ F).astype(dtype)
    S = (S + S.transpose(0, 2, 1)) / 2
    assert min(np.linalg.eigvalsh(S.astype(float)).min(axis=1)) < 0
    svmgsu.Full(S)
    svmgsu.Full(np.zeros((3, 4, 4), dtype=dtype))


# Shapes


@pytest.mark.parametrize(
    "shape", [(COUNT - 1, N), (COUNT, N + 1), (COUNT, N, N + 1), (COUNT - 1, N, N), (N, COUNT)]
)
def test_shapes_that_disagree_are_refused(X, y, shape):
    with refuses(
        f"cov: shape {shape} does not fit 20 samples of 6 features; expected a number, (20,), or (20, 6)"
    ):
        train(X, y, np.zeros(shape))


def test_a_wrong_number_of_variances_is_refused(X, y):
    with refuses("cov: 19 variances for 20 samples"):
        train(X, y, np.ones(19))
    with refuses("std: 19 standard deviations for 20 samples"):
        train(X, y, std=np.ones(19))


@pytest.mark.parametrize("shape", [(N,), (N, N)], ids=str)
def test_what_fits_the_features_only_is_pointed_to_shared(X, y, shape):
    with refuses(f"cov: shape {shape} fits the features but not the 20 samples; for one "):
        train(X, y, np.ones(shape))


def test_an_ambiguous_shape_is_refused_with_the_names_of_the_kinds():
    square, y = np.eye(5) + 1, [0, 1, 0, 1, 0]
    with refuses("cov: shape (5,) is ambiguous") as one:
        train(square, y, np.ones(5))
    assert "svmgsu.Isotropic" in str(one.value)
    assert "svmgsu.Shared" in str(one.value)
    with refuses("cov: shape (5, 5) is ambiguous") as two:
        train(square, y, np.ones((5, 5)))
    assert "svmgsu.Diagonal" in str(two.value)
    assert "svmgsu.Shared" in str(two.value)
    error_bars = svmgsu.Gaussians(square, std=np.ones((5, 5)))  # these have one meaning only
    assert isinstance(error_bars.cov, svmgsu.Diagonal)
    for kind in (svmgsu.Isotropic(np.ones(5)), svmgsu.Diagonal(np.ones((5, 5))), svmgsu.Shared(np.eye(5))):
        train(square, y, kind)
    train(square, y, np.array([np.eye(5)] * 5))


def test_one_example_of_one_feature_has_an_error_bar():
    for uncertain in ({"std": [[0.5]]}, {"cov": [[0.25]]}, {"std": [0.5]}, {"cov": 0.25}):
        assert svmgsu.Gaussians([[1.5]], **uncertain).cov.to_full(1, 1).item() == 0.25


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (svmgsu.Isotropic(np.ones(3)), "cov: Isotropic has 3 samples, but X has 20"),
        (svmgsu.Diagonal(np.ones((20, 3))), "cov: Diagonal has 3 features, but X has 6"),
        (svmgsu.Full(np.zeros((3, 6, 6))), "cov: Full has 3 samples, but X has 20"),
        (svmgsu.LowRank(np.ones((20, 1, 5))), "cov: LowRank has 5 features, but X has 6"),
        (svmgsu.Shared(np.eye(5)), "cov: Shared has 5 features, but X has 6"),
        (svmgsu.Isotropic(1.0) + svmgsu.Shared(np.ones(5)), "cov: Sum has 5 features, but X has 6"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_kinds_must_fit_the_means(X, y, kind, message):
    with refuses(message):
        train(X, y, kind)


def test_malformed_kinds_are_refused():
    with refuses("cov: expected square matrices, got an array of shape (2, 3, 4)"):
        svmgsu.Full(np.zeros((2, 3, 4)))
    with refuses("packed: rows must have n(n+1)/2 numbers, got 5"):
        svmgsu.Full.from_packed(np.zeros((2, 5)))
    with refuses("factors: expected 3 dimensions"):
        svmgsu.LowRank(np.zeros((2, 3)))
    for start in ([0, 1], [0, 2, 1, 3], [1, 3], [0, 4], [], [[0, 3]]):
        with refuses("start: must rise from 0 to the number of rows, 3"):
            svmgsu.LowRank(np.zeros((3, 2)), start=start)
    with refuses("diagonal: shape (2, 3), but the factors are of 2 samples and 4 features"):
        svmgsu.LowRank(np.zeros((2, 1, 4)), diagonal=np.zeros((2, 3)))
    with refuses("cov: Shared got no class"):
        svmgsu.Shared({})
    with refuses("cov: the classes' covariances must have the same shape, got (2, 2), (3, 3)"):
        svmgsu.Shared({0: np.eye(2), 1: np.eye(3)})
    with refuses("variances: expected 2 dimensions, got an array of shape (3,)"):
        svmgsu.Diagonal(np.ones(3))


def test_a_class_without_covariance_is_named(X, y):
    with refuses("cov: Shared has no covariance for class 1; it has [0, 2]"):
        train(X, y, svmgsu.Shared({0: np.eye(N), 2: np.eye(N)}))


def test_strings_and_complex_numbers_are_no_covariances(X, y, V):
    with refuses("cov: Complex data not supported"):
        train(X, y, V + 1j)
    with refuses("cov: expected numbers, got dtype <U"):
        train(X, y, V.astype(str))
    with refuses("cov: could not be read as an array of numbers"):
        train(X, y, V.astype(str).astype(object))
    train(X, y, V.astype(object))


@pytest.mark.parametrize("dtype", ["bool", "int8", ">i4", "uint64", "float32", "float64", "U1"])
def test_classes_are_the_sorted_labels_of_their_own_type(dtype):
    for values in ([1, 0, 0, 1, 1], [0, 1, 1]):
        y = np.array(values).astype(dtype)
        X = np.arange(2.0 * len(y)).reshape(len(y), 2)
        classes = train(X, y).classes_
        np.testing.assert_array_equal(classes, np.unique(y))
        assert classes.dtype == y.dtype
