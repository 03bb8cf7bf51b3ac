"""Model files that are damaged, old or the authors', and what models predict."""

import re

import numpy as np
import pytest
import scipy.sparse
from conftest import make_problem, train_with
from model_cases import small_model

import svmgsu
from svmgsu.models.calibration import Calibration


def test_labels_that_a_file_cannot_hold_are_refused(tmp_path):
    with pytest.raises(TypeError, match="classes_: labels of dtype datetime64"):
        small_model(np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")).save(tmp_path / "m")


LINES = [
    "svmgsu-model 3",
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
    "newer version": (damaged(1, "svmgsu-model 4"), 1, "written by a newer svmgsu"),
    "version two": (damaged(1, "svmgsu-model 2"), 1, "format 2 does not exist"),
    "one label": (damaged(2, "labels int 0"), 2, "expected a type and at least two labels"),
    "broken code": (damaged(2, "labels str %4 a"), 2, "broken %XX code"),
    "broken digits": (damaged(2, "labels str %zz a"), 2, "broken %XX code"),
    "unknown label type": (damaged(2, "labels colour red blue"), 2, "type 'colour' is not known"),
    "labels of another type": (damaged(2, "labels int red blue"), 2, "labels cannot be read"),
    "not a bool": (damaged(2, "labels bool False maybe"), 2, "labels cannot be read"),
    "equal labels": (damaged(2, "labels int 1 1"), 2, "both are '1'"),
    "labels that are no text": (damaged(2, "labels str a %FF"), 2, "labels cannot be read"),
    "three labels": (damaged(2, "labels int 0 1 2"), 6, "intercept: 1 numbers for 3 decision values"),
    "infinite labels": (damaged(2, "labels float 0 inf"), 2, "not all finite"),
    "lambda of zero": (damaged(3, "lambda 0"), 3, "lambda: expected a number > 0"),
    "an item twice": ([*LINES[:3], *LINES[2:]], 4, "'lambda' is there twice"),
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
    "five numbers": ([*LINES[:3], "calibration 1 2 3 4 5", *LINES[3:]], 4, "expected four numbers"),
}


THREE = [
    "svmgsu-model 3",
    "labels str a b c",
    "lambda 0.1",
    *["calibration 1 0 2 0"] * 3,
    "features 2",
    "intercept 0.5 0.25 1",
    "weights",
    "1 2 3",
    "4 5 6",
    "end",
]


def of_three(line, text):
    return [*THREE[: line - 1], text, *THREE[line:]]


DAMAGE |= {
    "of three, two labels": (of_three(2, "labels str a b"), 9, "3 numbers for 1 decision values"),
    "of three, equal labels": (of_three(2, "labels str a b a"), 2, "there is more than one 'a'"),
    "of three, too few calibrations": (
        [*THREE[:3], *THREE[4:]],
        8,
        "calibration: 2 lines for 3 decision values",
    ),
    "of three, half a calibration": (of_three(4, "calibration 1 2"), 4, "calibration: expected four numbers"),
    "of three, negative kappa": (of_three(4, "calibration 1 0 -1 0"), 4, "the third >= 0"),
    "of three, endless kappa": (of_three(4, "calibration 1 0 inf 0"), 4, "expected a finite number"),
    "of three, two shares": ([*THREE[:3], "prior 0.5 0.5", *THREE[3:]], 10, "prior: 2 numbers for 3 classes"),
    "of three, no share": ([*THREE[:3], "prior 0.5 0.5 0", *THREE[3:]], 4, "prior: expected numbers > 0"),
    "of three, weights of two": (
        [*THREE[:3], "class_weight 1 2", *THREE[3:]],
        10,
        "class_weight: 2 numbers for 3 classes",
    ),
    "of three, an intercept short": (of_three(8, "intercept 1 2"), 9, "2 numbers for 3 decision values"),
    "of three, a weight short": (of_three(10, "1 2"), 10, "expected a finite number for a weight"),
    "of three, a weight more": (of_three(10, "1 2 3 4"), 10, "unexpected '4'"),
}


NAMED = [
    "svmgsu-model 3",
    "labels int 0 1",
    "lambda 0.1",
    "features 2",
    "names colour size%20in%0Am",
    "intercept 0.5",
    "weights",
    "1",
    "2",
    "end",
]


def with_names(line, text):
    return [*NAMED[: line - 1], text, *NAMED[line:]]


DAMAGE |= {
    "a name short": (with_names(5, "names colour"), 7, "names: 1 for 2 features"),
    "a name more": (with_names(5, "names a b c"), 7, "names: 3 for 2 features"),
    "names without a name": (with_names(5, "names"), 7, "names: 0 for 2 features"),
    "a name twice": (with_names(5, "names colour colour"), 5, "names: 'colour' is there twice"),
    "a name with half a code": (with_names(5, "names colour %4"), 5, "a name has a broken %XX code"),
    "a name that is no text": (with_names(5, "names colour %FF"), 5, "name 2 is not UTF-8"),
    "a name with a surrogate": (with_names(5, "names a %ED%A0%80"), 5, "name 2 is not UTF-8"),
    "a name that is too long in UTF-8": (with_names(5, "names a %C0%80"), 5, "name 2 is not UTF-8"),
    "a key of the future": (
        with_names(5, "scheme one-vs-one"),
        5,
        "unknown item 'scheme'; was it written by a newer svmgsu?",
    ),
}


AUTHORS = [
    "SVM-GSU Model_File",
    "kernel_type linear",
    "lambda 0.001",
    "sigmA -0.16095",
    "sigmB 3.00825",
    "cov_mat_type diagonal",
    "w 2.09625 1.63941",
    "b 33.0391",
]


def of_authors(line, text):
    return [*AUTHORS[: line - 1], text, *AUTHORS[line:]]


DAMAGE |= {
    "the authors', with a kernel": (
        of_authors(2, "kernel_type rbf"),
        2,
        "a model with kernel 'rbf'; only linear",
    ),
    "the authors', no weights": (of_authors(7, "w"), 7, "there are no weights"),
    "the authors', a word among weights": (
        of_authors(7, "w 1 two"),
        7,
        "expected a finite number for a weight",
    ),
    "the authors', cut off": (AUTHORS[:-1], 8, "cut off"),
    "the authors', an item missing": ([*AUTHORS[:3], *AUTHORS[4:]], 7, "must come before b"),
    "the authors', an unknown item": (of_authors(6, "gamma 3"), 6, "unknown item 'gamma'"),
    "the authors', more at the end": ([*AUTHORS, "SV"], 9, "there is more after 'b'"),
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


def test_a_file_of_two_classes_is_what_it_says(tmp_path):
    (tmp_path / "m").write_text("\n".join([*LINES[:3], "calibration 2 -0.5 0 0", *LINES[3:], ""]))
    model = svmgsu.load(tmp_path / "m")
    assert (model.coef_.tolist(), model.intercept_.tolist(), model.lam) == ([[1.0, 2.0]], [0.5], 0.1)
    assert model.calibration_ == (Calibration(2.0, -0.5, 0.0, 0.0),)
    (tmp_path / "n").write_text("\n".join([*LINES, ""]))
    assert svmgsu.load(tmp_path / "n").calibration_ is None


def test_a_file_of_three_classes_is_what_it_says(tmp_path):
    (tmp_path / "m").write_text("\n".join([*THREE, ""]))
    model = svmgsu.load(tmp_path / "m")
    assert model.coef_.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert model.decision_function([[1.0, 1.0]]).tolist() == [[5.5, 7.25, 10.0]]
    assert model.predict([[1.0, 1.0]]).tolist() == ["c"]
    model.save(tmp_path / "again")
    wanted = "\n".join(["svmgsu-model 3", THREE[1], "multi_class ovr", *THREE[2:], ""])
    assert (tmp_path / "again").read_text().replace("0.10000000000000001", "0.1") == wanted


def test_a_file_of_the_authors_is_read(tmp_path):
    (tmp_path / "m").write_text("\n".join([*AUTHORS, ""]))
    model = svmgsu.load(tmp_path / "m")
    assert model.classes_.tolist() == [-1, 1]
    f = 2.09625 * 3 - 1.63941 + 33.0391
    assert model.decision_function([[3.0, -1.0]])[0] == pytest.approx(f, rel=1e-14)
    assert model.predict_proba([[3.0, -1.0]])[0, 1] == pytest.approx(1 / (1 + np.exp(-0.16095 * f + 3.00825)))


@pytest.mark.parametrize("labels", [[-1, 1], [-1.0, 1.0], ["-1", "+1"], ["-1", "1"]], ids=str)
def test_a_model_written_for_the_authors_program_comes_back_exactly(tmp_path, labels):
    model = small_model(labels)
    model.save(tmp_path / "m", format="gsvm")
    lines = (tmp_path / "m").read_text().splitlines()
    assert [line.split()[0] for line in lines] == [line.split()[0] for line in AUTHORS]
    again = svmgsu.load(tmp_path / "m")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    assert (again.lam, again.platt_) == (model.lam, model.platt_)
    assert again.classes_.tolist() == [-1, 1]


def test_what_the_authors_files_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(ValueError, match="format: gsvm files hold two classes, and this model has 3"):
        small_model((1, 2, 3)).save(path, format="gsvm")
    with pytest.raises(
        ValueError, match=r"format: gsvm files hold the labels -1 and \+1, and this model has 'no'"
    ):
        small_model(("no", "yes")).save(path, format="gsvm")
    with pytest.raises(ValueError, match="format: gsvm files hold the sigmoid"):
        small_model((-1, 1), calibration_=None).save(path, format="gsvm")
    with pytest.raises(ValueError, match='format: expected one of "svmgsu", "gsvm", got \'onnx\''):
        small_model().save(path, format="onnx")
    assert not path.exists()


def test_files_with_windows_line_ends_are_read(tmp_path):
    (tmp_path / "m").write_bytes("\r\n".join([*LINES, ""]).encode())
    assert svmgsu.load(tmp_path / "m").coef_.tolist() == [[1.0, 2.0]]


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "m").write_bytes(np.random.default_rng(0).bytes(1000))
    with pytest.raises(OSError, match="not an svmgsu model"):
        svmgsu.load(tmp_path / "m")


@pytest.fixture(scope="module")
def trained():
    p = make_problem("diagonal", 200, 6)
    return train_with(p.X, p.y, p.cov, lam=0.1, steps=300, solver="sgd"), p


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


def test_classes_follow_the_probability_and_without_it_the_sign(trained):
    model, p = trained
    for std in (None, 0.0, 1.0, 1e3):
        best = model.predict_proba(p.X, std=std).argmax(axis=1)
        np.testing.assert_array_equal(model.predict(p.X, std=std), model.classes_[best])
    plain = svmgsu.train(p.X, p.y, p.cov, lam=0.1, probability=False)
    values = plain.decision_function(p.X)
    np.testing.assert_array_equal(plain.predict(p.X), np.where(values > 0, 1.0, -1.0))
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
    steep = Calibration.from_platt((-1e3, 0.0))
    model = small_model(coef_=np.array([[1.0]]), calibration_=(steep,))
    np.testing.assert_array_equal(model.predict_proba([[-1e6], [1e6]]), [[1, 0], [0, 1]])


def test_a_model_without_probabilities_says_so():
    with pytest.raises(RuntimeError, match="trained with probability=False"):
        small_model(calibration_=None).predict_proba([[1.0, 2.0, 3.0]])


def test_a_representation_says_what_it_is():
    model = small_model(("no", "yes"), objective_=0.25, gap_=1e-9)
    assert repr(model) == "Model(3 features, classes 'no' and 'yes', lam=0.1, objective=0.25, gap=1e-09)"
