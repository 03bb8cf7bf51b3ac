"""Models: what they predict, and files that come back exactly or are refused with their line."""

import re

import numpy as np
import pytest
import scipy.sparse
from conftest import make_problem, train_with

import svmgsu
from svmgsu.models.calibration import Calibration


def small_model(classes=(0, 1), n=3, **changes):
    """A model of any numbers: one decision value for each pair of classes."""
    rng = np.random.default_rng(0)
    rows = len(classes) * (len(classes) - 1) // 2
    values = {
        "coef_": rng.normal(size=(rows, n)) * 10.0 ** rng.integers(-300, 300, (rows, n)),
        "intercept_": rng.normal(size=rows),
        "classes_": np.array(classes),
        "lam": 0.1,
        "calibration_": tuple(Calibration(1 / 3 + k, -0.1, 2e300, 1e-17) for k in range(rows)),
    }
    return svmgsu.models.classifier.Model(**{**values, **changes})


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
    "newer version": (damaged(1, "svmgsu-model 4"), 1, "written by a newer svmgsu"),
    "unknown label type": (damaged(2, "labels colour red blue"), 2, "type 'colour' is not known"),
    "labels of another type": (damaged(2, "labels int red blue"), 2, "labels cannot be read"),
    "not a bool": (damaged(2, "labels bool False maybe"), 2, "labels cannot be read"),
    "equal labels": (damaged(2, "labels int 1 1"), 2, "both are '1'"),
    "labels that are no text": (damaged(2, "labels str a %FF"), 2, "labels cannot be read"),
    "three labels": (damaged(2, "labels int 0 1 2"), 6, "intercept: 1 numbers for 3 decision values"),
    "infinite labels": (damaged(2, "labels float 0 inf"), 2, "not all finite"),
    "lambda of words": (damaged(3, "lambda small"), 3, "expected a finite number for lambda"),
    "too many features": (damaged(4, "features 3"), 9, "expected a finite number for a weight"),
    "missing end": (LINES[:-1], 9, "cut off"),
    "lines after the end": ([*LINES, "3"], 10, "there is more after 'end'"),
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


@pytest.mark.parametrize(("lines", "number", "reason"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_refused_with_its_name_and_line(tmp_path, lines, number, reason):
    path = tmp_path / "m.svmgsu"
    path.write_text("".join(line + "\n" for line in lines))
    with pytest.raises(OSError, match=re.escape(f"{path}:{number}: ") + ".*" + re.escape(reason)):
        svmgsu.load(path)


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


def test_a_model_without_probabilities_says_so():
    with pytest.raises(RuntimeError, match="trained with probability=False"):
        small_model(calibration_=None).predict_proba([[1.0, 2.0, 3.0]])


def test_pairs_of_classes_come_back_from_files_exactly(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4
    X = rng.normal(size=(80, 3)) + 2 * rng.normal(size=(4, 3))[y]
    for multi_class in ("ovo", "ovr"):
        model = train_with(X, y, std=0.3, multi_class=multi_class)
        model.save(tmp_path / "m")
        assert f"multi_class {multi_class}\n" in (tmp_path / "m").read_text()
        again = svmgsu.load(tmp_path / "m")
        assert again.multi_class == multi_class
        for cov in (None, np.full((80, 3), 0.4)):
            np.testing.assert_array_equal(again.predict_proba(X, cov), model.predict_proba(X, cov))
            np.testing.assert_array_equal(again.predict(X, cov), model.predict(X, cov))
    (tmp_path / "m").write_text((tmp_path / "m").read_text().replace("multi_class ovr", "multi_class ovo"))
    with pytest.raises(OSError, match="intercept: 4 numbers for 6 decision values"):
        svmgsu.load(tmp_path / "m")
    (tmp_path / "m").write_text((tmp_path / "m").read_text().replace("multi_class ovo", "multi_class some"))
    with pytest.raises(OSError, match="m:3: multi_class: expected ovo or ovr"):
        svmgsu.load(tmp_path / "m")


LABELS = {
    "int": np.array([-3, 2**62]),
    "uint8": np.array([0, 255], dtype=np.uint8),
    "uint64": np.array([3, 2**64 - 1], dtype=np.uint64),
    "float": np.array([0.1, 1 / 3]),
    "bool": np.array([False, True]),
    "str": np.array(["no", "yes"]),
    "blanks": np.array([" ", "two words\tand\na line"]),
    "unicode": np.array(["größer", "猫 🐈"]),
    "percent": np.array(["%", "100%20%"]),
    "empty": np.array(["", "x"]),
    "objects": np.array(["a", "b"], dtype=object),
    "three": np.array(["a", "b c", ""]),
    "five": np.arange(5),
}


@pytest.mark.parametrize("calibrated", [False, True], ids=["without probabilities", "with probabilities"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_saved_model_comes_back_exactly(tmp_path, labels, calibrated):
    model = small_model(labels)
    if not calibrated:
        model.calibration_ = None
    path = tmp_path / "m.svmgsu"
    model.save(path)
    again = svmgsu.load(path)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.multi_class == model.multi_class
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    assert again.classes_.tolist() == labels.tolist()
    assert [type(c) for c in again.classes_.tolist()] == [type(c) for c in labels.tolist()]
    assert (again.lam, again.calibration_) == (0.1, model.calibration_)
    again.save(str(path) + "2")
    assert path.read_bytes() == (tmp_path / "m.svmgsu2").read_bytes()


def test_labels_that_sort_the_other_way_are_saved_for_the_authors_program(tmp_path):
    p = make_problem("diagonal")
    model = svmgsu.train(p.X, np.where(p.y > 0, "+1", "-1"), p.cov, lam=0.1)
    assert model.classes_.tolist() == ["+1", "-1"]
    model.save(tmp_path / "m", format="gsvm")
    again = svmgsu.load(tmp_path / "m")
    assert again.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(again.predict(p.X), model.predict(p.X).astype(int))
    np.testing.assert_allclose(again.predict_proba(p.X)[:, ::-1], model.predict_proba(p.X), rtol=1e-12)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1e3]
    y = X @ [1.0, -0.5, 2.0] + 0.3 * rng.normal(size=80)
    return svmgsu.Gaussians(X, std=rng.uniform(0.1, 0.5, X.shape), feature_names=["u", "g b", "%é"]), y


LOSSES = [
    ("squared", None),
    ("epsilon_insensitive", 0.25),
    ("squared_epsilon_insensitive", 0.5),
    ("huber", 0.7),
    ("huber", None),
]


@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_a_regression_comes_back_exactly(problem, loss, epsilon, tmp_path):
    data, y = problem
    model = svmgsu.train(data, y, y_std=0.1, lam=1 / 3, loss=(loss, epsilon))
    model.save(tmp_path / "m")
    again = svmgsu.load(tmp_path / "m")
    assert type(again) is svmgsu.models.regressor.RegressionModel
    assert (again.coef_ == model.coef_).all() and again.coef_.shape == (3,)
    assert again.intercept_ == model.intercept_ and isinstance(again.intercept_, float)
    assert (again.lam, again.loss, again.epsilon) == (model.lam, model.loss, model.epsilon)
    assert again.epsilon == (1.35 if loss == "huber" and epsilon is None else epsilon)
    assert again.scatter_ == model.scatter_ > 0
    assert again.feature_names_in_ == ["u", "g b", "%é"]
    for ours, theirs in zip(
        model.predict(data, return_std=True), again.predict(data, return_std=True), strict=True
    ):
        assert (ours == theirs).all()


def test_the_authors_files_hold_no_regression(problem, tmp_path):
    model = svmgsu.train(*problem, loss="squared")
    with pytest.raises(
        ValueError, match="format: gsvm files hold classifiers, and this model is a regression"
    ):
        model.save(tmp_path / "m", "gsvm")
    with pytest.raises(ValueError, match='format: expected one of "svmgsu", "gsvm", got \'pickle\''):
        model.save(tmp_path / "m", "pickle")
    assert not list(tmp_path.iterdir())
