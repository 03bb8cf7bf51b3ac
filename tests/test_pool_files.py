"""Files of pools: the same bits again, and a FormatError for whatever does not fit."""

import copy
import io
import json

import numpy as np
import pytest

import svmgsu
from svmgsu._core import FormatError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
E = np.exp(RNG.uniform(-3, -0.5, size=X.shape))
Y = np.minimum((X**2).sum(axis=1) // 0.9, 2).astype(int)


def fitted(kind):
    if kind == "regressor":
        return svmgsu.GSURegressor(n_frequencies=5, threads=1).fit(X, X[:, 0] ** 2, std=E)
    names = np.array(["near", "middle", "far"])[Y if kind == "three" else np.minimum(Y, 1)]
    data = svmgsu.Gaussians(X, std=E, feature_names=["u", "g"])
    return svmgsu.GSUClassifier(n_frequencies=5, threads=1, cv=3).fit(data, names)


@pytest.fixture(scope="module", params=["two", "three", "regressor"])
def model(request):
    return fitted(request.param)


@pytest.fixture(scope="module")
def parts(model):
    """The tree and the arrays of a file."""
    file = io.BytesIO()
    model.save(file)
    with np.load(io.BytesIO(file.getvalue())) as archive:
        arrays = dict(archive)
    return json.loads(str(arrays.pop("svmgsu"))), arrays


def written(path, tree, arrays):
    with open(path, "wb") as file:
        np.savez(file, svmgsu=np.array(json.dumps(tree)), **arrays)
    return path


def test_a_saved_pool_predicts_the_same_bits(model, tmp_path):
    model.save(tmp_path / "pool.svmgsu")
    again = svmgsu.load(tmp_path / "pool.svmgsu")
    assert (again.predict(X, std=E) == model.predict(X, std=E)).all()
    assert again.explain(X[:3], std=E[:3]) == model.explain(X[:3], std=E[:3])
    assert str(again.pool_) == str(model.pool_) and again.get_params() == model.get_params()
    if hasattr(model, "classes_"):
        assert (again.predict_proba(X, std=E) == model.predict_proba(X, std=E)).all()
        assert again.classes_.tolist() == model.classes_.tolist()
        assert again.feature_names_in_.tolist() == ["u", "g"]
    else:
        assert (again.predict_interval(X, std=E)[0] == model.predict_interval(X, std=E)[0]).all()


def test_damaged_arrays_are_refused(parts, tmp_path):
    tree, arrays = parts
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not array.size:
            continue
        for wrong in (array[..., np.newaxis], np.full_like(array, np.nan), array[:0]):
            path = written(tmp_path / "wrong.npz", tree, {**arrays, name: wrong})
            with pytest.raises(FormatError, match=r"wrong\.npz"):
                svmgsu.load(path)


def places(tree, path=()):
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield (*path, key)
        if isinstance(tree[key], (dict, list)):
            yield from places(tree[key], (*path, key))


@pytest.mark.parametrize(
    "value", [None, 10**400, "x", [], float("nan")], ids=["none", "huge", "text", "list", "nan"]
)
def test_any_value_anywhere_is_read_or_refused(parts, value, tmp_path):
    tree, arrays = parts
    found = list(places(tree))
    for path in found[:: max(1, len(found) // 20)]:
        changed = copy.deepcopy(tree)
        at = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        try:
            model = svmgsu.load(written(tmp_path / "changed.npz", changed, arrays))
        except FormatError as error:
            assert "changed.npz" in str(error)
        else:
            model.predict(X[:2], std=E[:2])


@pytest.mark.parametrize(
    ("content", "words"),
    [({"x": np.ones(2)}, "no model of svmgsu"), ({"svmgsu": np.array("{")}, "its text is damaged")],
)
def test_other_archives_are_refused(content, words, tmp_path):
    np.savez(tmp_path / "other.npz", **content)
    with pytest.raises(FormatError, match=words):
        svmgsu.load(tmp_path / "other.npz")
