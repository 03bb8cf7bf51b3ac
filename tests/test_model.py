"""Models: decision values, probabilities, and files that come back exactly or are refused."""

import re

import numpy as np
import pytest
from conftest import make_problem, train_with
from model_cases import small_model

import svmgsu


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


def test_the_smallest_and_largest_numbers_come_back_exactly(tmp_path):
    limits = np.finfo(float)
    w = np.array(
        [[limits.max, -limits.max, limits.tiny, limits.smallest_subnormal, -0.0, 0.0, 1 + limits.eps]]
    )
    small_model(coef_=w).save(tmp_path / "m")
    got = svmgsu.load(tmp_path / "m").coef_
    assert got.tobytes() == w.tobytes()


def test_labels_that_sort_the_other_way_are_saved_for_the_authors_program(tmp_path):
    p = make_problem("diagonal")
    model = svmgsu.train(p.X, np.where(p.y > 0, "+1", "-1"), p.cov, lam=0.1)
    assert model.classes_.tolist() == ["+1", "-1"]
    model.save(tmp_path / "m", format="gsvm")
    again = svmgsu.load(tmp_path / "m")
    assert again.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(again.predict(p.X), model.predict(p.X).astype(int))
    np.testing.assert_allclose(again.predict_proba(p.X)[:, ::-1], model.predict_proba(p.X), rtol=1e-12)


def test_models_can_be_compared_and_be_keys():
    one, two = small_model(), small_model()
    assert one != two
    assert one in [two, one]
    assert {one: 1, two: 2}[one] == 1


def test_saving_leaves_one_file_and_replaces_the_old(tmp_path):
    path = tmp_path / "m.svmgsu"
    small_model(lam=1.0).save(path)
    small_model(lam=2.0).save(path)
    assert svmgsu.load(path).lam == 2.0
    assert [f.name for f in tmp_path.iterdir()] == ["m.svmgsu"]


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    target = tmp_path / "absent" / "m.svmgsu"
    with pytest.raises(OSError, match=re.escape(f"No such file or directory: '{target}'")):
        small_model().save(target)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="a file is to be written there"):
        small_model().save(tmp_path / "folder")
    assert [f.name for f in tmp_path.iterdir()] == ["folder"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match=re.escape(f"No such file or directory: '{tmp_path / 'm'}'")):
        svmgsu.load(tmp_path / "m")
