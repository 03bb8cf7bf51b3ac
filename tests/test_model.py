"""Models: decision values, probabilities, and files that come back exactly or are refused."""

import re

import numpy as np
import pytest
import scipy.sparse
from conftest import make_problem

import svmgsu


def small_model(classes=(0, 1), n=3, **changes):
    rng = np.random.default_rng(0)
    values = {
        "coef_": rng.normal(size=(1, n)) * 10.0 ** rng.integers(-300, 300, (1, n)),
        "intercept_": rng.normal(size=1),
        "classes_": np.array(classes),
        "lam": 0.1,
        "platt_": (-1.0 / 3, 1e-17),
    }
    return svmgsu.Model(**{**values, **changes})


# Files

LABELS = {
    "int": np.array([-3, 2**62]),
    "uint8": np.array([0, 255], dtype=np.uint8),
    "float": np.array([0.1, 1 / 3]),
    "bool": np.array([False, True]),
    "str": np.array(["no", "yes"]),
    "blanks": np.array([" ", "two words\tand\na line"]),
    "unicode": np.array(["größer", "猫 🐈"]),
    "percent": np.array(["%", "100%20%"]),
    "empty": np.array(["", "x"]),
    "objects": np.array(["a", "b"], dtype=object),
}


@pytest.mark.parametrize("platt", [None, (-0.1, 2e300)], ids=["without Platt", "with Platt"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_saved_model_comes_back_exactly(tmp_path, labels, platt):
    model = small_model(labels, platt_=platt)
    path = tmp_path / "m.svmgsu"
    model.save(path)
    again = svmgsu.load(path)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.coef_.shape == (1, 3)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    assert again.classes_.tolist() == labels.tolist()
    assert [type(c) for c in again.classes_.tolist()] == [type(c) for c in labels.tolist()]
    assert (again.lam, again.platt_) == (0.1, platt)
    again.save(str(path) + "2")
    assert path.read_bytes() == (tmp_path / "m.svmgsu2").read_bytes()


def test_the_smallest_and_largest_numbers_come_back_exactly(tmp_path):
    limits = np.finfo(float)
    w = np.array(
        [[limits.max, -limits.max, limits.tiny, limits.smallest_subnormal, -0.0, 0.0, 1 + limits.eps]]
    )
    small_model(coef_=w).save(tmp_path / "m")
    got = svmgsu.load(tmp_path / "m").coef_
    assert got.tobytes() == w.tobytes()


def test_a_trained_model_predicts_the_same_after_loading(tmp_path):
    p = make_problem("full")
    model = svmgsu.train(p.X, np.where(p.y > 0, "yes", "no"), p.cov, lam=0.1, solver="sgd", T=100)
    model.save(tmp_path / "m")
    again = svmgsu.load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(p.X), model.decision_function(p.X))
    np.testing.assert_array_equal(again.predict(p.X), model.predict(p.X))
    np.testing.assert_array_equal(again.predict_proba(p.X), model.predict_proba(p.X))


def test_saving_leaves_one_file_and_replaces_the_old(tmp_path):
    path = tmp_path / "m.svmgsu"
    small_model(lam=1.0).save(path)
    small_model(lam=2.0).save(path)
    assert svmgsu.load(path).lam == 2.0
    assert [f.name for f in tmp_path.iterdir()] == ["m.svmgsu"]


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    target = tmp_path / "absent" / "m.svmgsu"
    with pytest.raises(OSError, match=re.escape(f"{target}: cannot be written")):
        small_model().save(target)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="cannot be written"):
        small_model().save(tmp_path / "folder")
    assert [f.name for f in tmp_path.iterdir()] == ["folder"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match=re.escape(f"{tmp_path / 'm'}: cannot be opened")):
        svmgsu.load(tmp_path / "m")


def test_labels_that_a_file_cannot_hold_are_refused(tmp_path):
    with pytest.raises(TypeError, match="classes_: labels of dtype datetime64"):
        small_model(np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")).save(tmp_path / "m")


LINES = [
    "svmgsu-model 1",
    "labels int 0 1",
    "lambda 0.1",
    "features 2",
    "intercept 0.5",
    "weights",
    "1",
    "2",
    "end",
]


def damaged(line, text):
    return [*LINES[: line - 1], text, *LINES[line:]]


DAMAGE = {
    "empty": ([], 1, "cut off"),
    "wrong magic": (damaged(1, "libsvm-model 1"), 1, "not an svmgsu model"),
    "no version": (damaged(1, "svmgsu-model"), 1, "not an svmgsu model"),
    "newer version": (damaged(1, "svmgsu-model 2"), 1, "written by a newer svmgsu"),
    "version zero": (damaged(1, "svmgsu-model 0"), 1, "format 0 does not exist"),
    "one label": (damaged(2, "labels int 0"), 2, "expected a type and two labels"),
    "broken code": (damaged(2, "labels str %4 a"), 2, "broken %XX code"),
    "broken digits": (damaged(2, "labels str %zz a"), 2, "broken %XX code"),
    "unknown label type": (damaged(2, "labels colour red blue"), 2, "type 'colour' is not known"),
    "labels of another type": (damaged(2, "labels int red blue"), 2, "labels cannot be read"),
    "not a bool": (damaged(2, "labels bool False maybe"), 2, "labels cannot be read"),
    "equal labels": (damaged(2, "labels int 1 1"), 2, "both are '1'"),
    "labels that are no text": (damaged(2, "labels str a %FF"), 2, "labels cannot be read"),
    "three labels": (damaged(2, "labels int 0 1 2"), 2, "unexpected '2'"),
    "lambda of words": (damaged(3, "lambda small"), 3, "expected a finite number for lambda"),
    "no features": (damaged(4, "features 0"), 4, "expected a positive count"),
    "half a feature": (damaged(4, "features 1.5"), 4, "unexpected '.5'"),
    "too many features": (damaged(4, "features 3"), 9, "expected a finite number for a weight"),
    "features beyond memory": (
        damaged(4, "features 1000000000000"),
        9,
        "expected a finite number for a weight",
    ),
    "too few features": (damaged(4, "features 1"), 8, "expected 'end' after 1 weights"),
    "infinite intercept": (damaged(5, "intercept inf"), 5, "expected a finite number for intercept"),
    "unknown item": (damaged(5, "offset 0.5"), 5, "unknown item 'offset'"),
    "missing item": ([*LINES[:2], *LINES[3:]], 5, "must come before the weights"),
    "NaN weight": (damaged(7, "nan"), 7, "expected a finite number for a weight"),
    "overflowing weight": (damaged(7, "1e999"), 7, "expected a finite number for a weight"),
    "two weights in a line": (damaged(7, "1 2"), 7, "unexpected '2'"),
    "half a number": (damaged(7, "1.5x"), 7, "unexpected 'x'"),
    "missing end": (LINES[:-1], 9, "cut off"),
    "another end": (damaged(9, "3"), 9, "expected 'end' after 2 weights"),
    "words after the end": (damaged(9, "end of it"), 9, "unexpected 'of'"),
    "lines after the end": ([*LINES, "3"], 10, "there is more after 'end'"),
    "platt without B": ([*LINES[:3], "platt 1", *LINES[3:]], 4, "expected a finite number for B"),
}


@pytest.mark.parametrize(("lines", "number", "reason"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_refused_with_its_name_and_line(tmp_path, lines, number, reason):
    path = tmp_path / "m.svmgsu"
    path.write_text("".join(line + "\n" for line in lines))
    with pytest.raises(OSError, match=re.escape(f"{path}:{number}: ") + ".*" + re.escape(reason)):
        svmgsu.load(path)


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    small_model(("no", "yes")).save(tmp_path / "whole")
    text = (tmp_path / "whole").read_bytes()
    for size in range(len(text) - 1):  # the last line's end may be missing
        (tmp_path / "cut").write_bytes(text[:size])
        with pytest.raises(OSError, match="cut:"):
            svmgsu.load(tmp_path / "cut")


def test_files_with_windows_line_ends_are_read(tmp_path):
    (tmp_path / "m").write_bytes("\r\n".join([*LINES, ""]).encode())
    assert svmgsu.load(tmp_path / "m").coef_.tolist() == [[1.0, 2.0]]


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "m").write_bytes(np.random.default_rng(0).bytes(1000))
    with pytest.raises(OSError, match="not an svmgsu model"):
        svmgsu.load(tmp_path / "m")


# Predictions


@pytest.fixture(scope="module")
def trained():
    p = make_problem("diagonal", 200, 6)
    return svmgsu.train(p.X, p.y, p.cov, lam=0.1, solver="sgd", T=300), p


def test_a_decision_value_is_w_x_plus_b(trained):
    model, p = trained
    wanted = p.X @ model.coef_[0] + model.intercept_[0]
    values = model.decision_function(p.X)
    np.testing.assert_allclose(values, wanted, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(model.decision_function(svmgsu.Gaussians(p.X, p.cov)), values)
    np.testing.assert_array_equal(model.decision_function(p.X.tolist()), values)
    np.testing.assert_array_equal(model.decision_function(np.asfortranarray(p.X)), values)
    np.testing.assert_allclose(model.decision_function(scipy.sparse.csr_matrix(p.X)), wanted, rtol=1e-13)
    single = p.X.astype(np.float32)
    np.testing.assert_array_equal(
        model.decision_function(single), model.decision_function(single.astype(np.float64))
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_decision_values_have_the_same_bits_for_any_number_of_threads(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 50))
    model = small_model(n=50, coef_=rng.normal(size=(1, 50)))
    data = svmgsu.Gaussians(scipy.sparse.csr_array(X * (X > 0)) if sparse else X)
    one = model.decision_function(data, threads=1)
    for threads in (2, 3, 8, None):
        np.testing.assert_array_equal(model.decision_function(data, threads=threads), one)


def test_a_prediction_does_not_depend_on_its_neighbours(trained):
    model, p = trained
    values = model.decision_function(p.X)
    assert [model.decision_function(row[None])[0] for row in p.X] == values.tolist()


def test_classes_follow_the_sign(trained):
    model, p = trained
    values = model.decision_function(p.X)
    np.testing.assert_array_equal(model.predict(p.X), np.where(values > 0, 1.0, -1.0))
    assert model.n_features_in_ == 6


def test_probabilities_sum_to_one_and_follow_the_decision_values(trained):
    model, p = trained
    probabilities = model.predict_proba(p.X)
    assert probabilities.shape == (200, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-15)
    order = np.argsort(model.decision_function(p.X))
    assert (np.diff(probabilities[order, 1]) > 0).all()
    a, b = model.platt_
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(a * model.decision_function(p.X) + b)))


def test_probabilities_of_extreme_scores_are_finite():
    model = small_model(coef_=np.array([[1.0]]), platt_=(-1e3, 0.0))
    np.testing.assert_array_equal(model.predict_proba([[-1e6], [1e6]]), [[1, 0], [0, 1]])


def test_a_model_without_probabilities_says_so():
    with pytest.raises(RuntimeError, match="trained with probability=False"):
        small_model(platt_=None).predict_proba([[1.0, 2.0, 3.0]])


def test_a_representation_says_what_it_is():
    model = small_model(("no", "yes"), objective_=0.25, gap_=1e-9)
    assert repr(model) == "Model(3 features, classes 'no' and 'yes', lam=0.1, objective=0.25, gap=1e-09)"
