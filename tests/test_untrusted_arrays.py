"""Arrays that would lead outside memory are refused at the door: bad indices, lengths, starts and groups."""

import numpy as np
import pytest
import scipy.sparse as sp

import svmgsu
from svmgsu import _core

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]])


def spoilt(format, attribute, value):
    """A sparse matrix, made well and then spoilt, as a program with an error in it might."""
    matrix = sp.csr_array(X).asformat(format)
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
    np.testing.assert_array_equal(data.mean.toarray(), X)
    np.testing.assert_array_equal(data.cov.diagonals(3, 3), X)
    assert (np.diff(data.mean.indices[:2]) > 0).all()
    np.testing.assert_array_equal(matrix.indices, before)


def test_entries_behind_the_last_row_are_left_out():
    matrix = sp.csr_array(X)
    matrix.data, matrix.indices = np.append(matrix.data, np.nan), np.append(matrix.indices, 99)
    data = svmgsu.Gaussians(matrix)
    np.testing.assert_array_equal(data._rows.value, X[X != 0])


@pytest.mark.parametrize(
    "start", [[0, 2, 1, 3], [0, 1, 2, 4], [1, 2, 3, 3], [0, -1, 2, 3], [0.0, 1.0, 2.0, 3.0], [[0, 3]], []]
)
def test_starts_of_low_rank_factors(start):
    with pytest.raises(ValueError, match=r"^start: "):
        svmgsu.LowRank(np.ones((3, 2)), start=start)


def test_groups_that_have_no_covariance():
    with pytest.raises(ValueError, match="group 7"):
        svmgsu.Shared({0: [1.0], 1: [2.0]}, groups=[0, 1, 7])


def test_an_unaligned_array_is_copied():
    raw = np.zeros(8 * 6 + 1, dtype=np.uint8)
    odd = raw[1:].view(np.float64).reshape(3, 2)
    assert not odd.flags.aligned
    assert svmgsu.Gaussians(odd).mean.flags.aligned


def int32(*values):
    return np.array(values, dtype=np.int32)


def task(classes, calibrations=None):
    each = classes * (classes - 1) // 2 if calibrations is None else calibrations
    return _core.Classification(classes, "ovo", np.ones((each, 4)), np.empty(0), np.empty(0))


def int64(*values):
    return np.array(values, dtype=np.int64)


MEANS = _core.dense_means(X)
BARE = _core.Gaussians(MEANS, ())
SIGNS = np.array([-1.0, 1.0, 1.0])
CALLS = {
    "column beyond": lambda: _core.sparse_means(np.ones(2), int32(0, 3), int64(0, 1, 2), 3),
    "column negative": lambda: _core.sparse_diagonal(np.ones(2), int32(0, -1), int64(0, 1, 2), 3),
    "columns too few": lambda: _core.sparse_means(np.ones(2), int32(0), int64(0, 1, 2), 3),
    "start falls": lambda: _core.sparse_means(np.ones(2), int32(0, 1), int64(0, 2, 1, 2), 3),
    "no start": lambda: _core.sparse_means(np.ones(0), int32(), int64(), 3),
    "factors": lambda: _core.low_rank(np.ones((2, 3)), int64(0, 1, 9)),
    "triangles": lambda: _core.full(np.ones((2, 5)), 3),
    "huge triangles": lambda: _core.full(np.ones((2, 5)), 2**62),
    "group": lambda: _core.shared(np.ones((2, 3)), 3, True, int32(0, 1, 2)),
    "group of another type": lambda: _core.shared(np.ones((2, 3)), 3, True, int64(0, 1, 1)),
    "shared width": lambda: _core.shared(np.ones((1, 3)), 3, False, None),
    "no shared": lambda: _core.shared(np.ones((0, 3)), 3, True, None),
    "pack": lambda: _core.pack(np.ones((2, 3, 3)), 1.0, np.ones((2, 5))),
    "pack rows": lambda: _core.pack(np.ones((2, 3, 3)), 1.0, np.ones((1, 6))),
    "pack not square": lambda: _core.pack(np.ones((2, 3, 2)), 1.0, np.ones((2, 6))),
    "definite": lambda: _core.find_indefinite(np.ones((2, 6)), 4, 1e-8),
    "add_full sample": lambda: _core.diagonal(X).add_full(3, 1.0, np.zeros((3, 3))),
    "add_full size": lambda: _core.diagonal(X).add_full(0, 1.0, np.zeros((2, 2))),
    "rows": lambda: _core.labelled(MEANS, (), SIGNS, np.ones(3), int64(0, 1, 3)),
    "kind": lambda: _core.labelled(MEANS, ((_core.diagonal(X[:, :2].copy()), 1.0),), SIGNS, np.ones(3)),
    "decision": lambda: _core.decision_values(BARE, np.ones((1, 2)), np.zeros(1), 1),
    "decision planes": lambda: _core.decision_values(BARE, np.ones((2, 3)), np.zeros(1), 1),
    "decision flat": lambda: _core.decision_values(BARE, np.ones(3), np.zeros(1), 1),
    "variances": lambda: _core.variances(BARE, np.ones((1, 4)), np.zeros(1), 1),
    "scores": lambda: _core.class_scores(task(3), BARE, np.ones((2, 3)), np.zeros(2), 1),
    "scores of two": lambda: _core.class_scores(task(2), BARE, np.ones((1, 3)), np.zeros(1), 1),
    "probabilities": lambda: _core.probabilities(task(3), BARE, np.ones((1, 3)), np.zeros(1), None, 1),
    "shares": lambda: _core.probabilities(
        task(2), BARE, np.ones((1, 3)), np.zeros(1), np.ones((1, 3)) / 3, 1
    ),
    "shares of each": lambda: _core.probabilities(
        task(2), BARE, np.ones((1, 3)), np.zeros(1), np.ones((2, 2)) / 2, 1
    ),
    "predict": lambda: _core.predict(task(4), BARE, np.ones((3, 3)), np.zeros(3), 1),
    "too few calibrations": lambda: _core.predict(task(3, 2), BARE, np.ones((3, 3)), np.zeros(3), 1),
    "eigen samples": lambda: _core.eigen_subspaces(((_core.diagonal(X), 1.0),), 4, 3, 0.5),
    "eigen features": lambda: _core.eigen_subspaces(((_core.diagonal(X), 1.0),), 3, 2, 0.5),
    "project": lambda: _core.project_means(X, np.ones((2, 3)), int64(0, 1, 2)),
    "project rows": lambda: _core.project_means(X, np.ones((2, 3)), int64(0, 1, 2, 5)),
    "project width": lambda: _core.project_means(X, np.ones((2, 2)), int64(0, 1, 2, 2)),
    "hinge": lambda: _core.expected_hinge(np.ones(3), np.ones(2)),
    "dense lines": lambda: _core.format_dense(["a", "b"], np.ones((1, 3)), 3, "feature"),
    "dense width": lambda: _core.format_dense(["a"], np.ones((1, 3)), 4, "feature"),
    "packed width": lambda: _core.format_dense(["a"], np.ones((1, 3)), 3, "packed"),
    "table": lambda: _core.format_table(["a"], np.ones((1, 3)), []),
    "sparse lines": lambda: _core.format_sparse(["a"], np.ones(2), int32(0, 1), int64(0, 7), "feature"),
    "calibration": lambda: _core.format_model(
        "svmgsu",
        {
            "w": np.ones((1, 2)),
            "b": np.ones(1),
            "lam": 1.0,
            "calibration": np.ones((1, 3)),
            "label_type": "int",
            "labels": ["0", "1"],
            "names": [],
            "task": "classification",
            "loss": "hinge",
            "loss_parameter": float("nan"),
            "scatter": float("nan"),
            "multi_class": "ovo",
            "cov_mat_type": "",
        },
    ),
    "ids": lambda: rows().ids(int64(5)),
    "ids negative": lambda: rows().ids(int64(-1)),
    "no rows": lambda: _core.join([]),
    "fill": lambda: rows().fill_dense(int64(0, 2), 1, np.zeros((2, 2))),
    "fill short": lambda: rows().fill_dense(int64(0, 1), 1, np.zeros((1, 2))),
    "fill narrow": lambda: rows().fill_dense(int64(0), 1, np.zeros((1, 1))),
    "fill packed": lambda: rows().fill_packed(int64(0), 2, 1, np.zeros((1, 2))),
    "fill another shape": lambda: rows().fill_dense(int64(0, 1), 1, np.zeros((2, 2, 0))),
    "means of three axes": lambda: _core.dense_means(np.ones((3, 3, 0))),
    "variances of three axes": lambda: _core.diagonal(np.ones((3, 3, 0))),
    "triangles of three axes": lambda: _core.full(np.ones((2, 6, 0)), 3),
    "factors of three axes": lambda: _core.low_rank(np.ones((2, 3, 0)), int64(0, 1, 2)),
    "matrices of four axes": lambda: _core.pack(np.ones((2, 3, 3, 0)), 1.0, np.ones((2, 6))),
    "add_full axes": lambda: _core.diagonal(X).add_full(0, 1.0, np.zeros((3, 3, 0))),
    "mixture": lambda: _core.Mixture(np.ones(2), np.ones((2, 3, 0)), np.ones(0)),
    "waves of another width": lambda: waves(W=np.ones((2, 4))),
    "waves of points": lambda: waves(means=np.ones((3, 3))),
    "waves with too few weights": lambda: waves(weights=np.ones((3, 2))),
    "waves with too few variances": lambda: waves(cov=np.ones((3, 1, 2))),
    "waves with too few matrices": lambda: waves(cov=np.ones((3, 1, 3, 2))),
    "waves with too few inputs": lambda: waves(W=np.ones((2, 4)), further=np.ones((2, 1))),
    "waves combined by no rows": lambda: waves(combine=np.ones((0, 4))),
    "waves combined by short rows": lambda: waves(combine=np.ones((2, 3))),
    "fill taken": lambda: taken().fill_dense(int64(0), 1, np.zeros((1, 2))),
}


def rows():
    return _core.read_rows(b"a 1:1 2:2\nb 1:3\n", "means", "text", 10, "", False, False, False, 1)


def waves(W=None, weights=None, means=X[:, None], cov=None, further=None, combine=None):
    W = np.ones((2, 3)) if W is None else W
    return _core.expected_waves(W, weights, means, cov, further, combine, 1)


def taken():
    out = rows()
    out.take_entries()
    return out


@pytest.mark.parametrize("case", CALLS)
def test_the_core_itself_refuses_what_leads_outside_an_array(case):
    with pytest.raises((ValueError, IndexError)):
        CALLS[case]()


@pytest.mark.parametrize("method", ["value", "value_and_gradient", "certify", "best_intercept"])
def test_the_core_refuses_a_point_of_another_width(method):
    objective = _core.Objective(_core.labelled(MEANS, (), SIGNS, np.ones(3)), 0.1, 1, True)
    with pytest.raises(ValueError, match="w: expected 3 numbers, got 4"):
        getattr(objective, method)(np.ones(4), 0.0)


def test_the_core_refuses_margins_of_another_width():
    with pytest.raises(ValueError, match="w: rows: expected 3 numbers, got 4"):
        _core.margins(_core.Gaussians(MEANS, ()), np.ones((1, 4)), 1)


def test_the_core_refuses_a_start_and_a_state_of_another_width():
    data = _core.labelled(MEANS, (), SIGNS, np.ones(3))
    with pytest.raises(ValueError, match="start_w: expected 3"):
        _core.solve(data, _core.Options(), None, np.ones(2), 0.0)
    with pytest.raises(ValueError, match="state: average: expected 3"):
        _core.continue_sgd(data, 0.1, True, 1, 0, (np.ones(3), np.ones(2), 0.0, 0.0, 1, 1.0, 1.0))
