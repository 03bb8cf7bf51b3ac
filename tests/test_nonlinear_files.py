"""Files of `SVMGSU`, `SVRGSU` and `Deconvolution`: the same bits again, and no trust in a stranger's."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import svmgsu
from svmgsu._core import FormatError
from svmgsu.estimators import nodes


def table(seed=0, count=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    bars = rng.uniform(0.1, 0.5, size=X.shape)
    return X + bars * rng.normal(size=X.shape), (X**2).sum(axis=1), bars


def fitted(kind, **options):
    X, r, bars = table()
    settings = {"n_features": 20, "search": False, "threads": 1, **options}
    if kind == "SVRGSU":
        return svmgsu.SVRGSU(**settings).fit(X, r, std=bars)
    y = np.digitize(r, [0.8, 2.5]) if kind == "three" else np.where(r > 1.4, "out", "in")
    return svmgsu.SVMGSU(**settings).fit(X, y, std=bars)


CASES = {
    "two classes": ("SVMGSU", {}),
    "link and bars": ("SVMGSU", {"link": True, "bars_as_features": True, "metric": True}),
    "damped": ("SVMGSU", {"damping": True}),
    "three classes": ("three", {}),
    "calibrated": ("SVMGSU", {"loss": "hinge"}),
    "landmarks": ("SVMGSU", {"approximation": "landmarks"}),
    "quadratic": ("SVMGSU", {"kernel": "quadratic"}),
    "linear": ("SVMGSU", {"kernel": "linear"}),
    "no population": ("SVMGSU", {"population": None}),
    "deployment": ("SVMGSU", {"deployment_cov": np.array([0.1, 0.2])}),
    "searched": ("SVMGSU", {"search": True, "metric": False, "gamma": 0.5, "cv": 2}),
    "regression": ("SVRGSU", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_model_comes_back_with_the_same_bits(case, tmp_path):
    kind, options = CASES[case]
    model = fitted(kind, **options)
    model.save(tmp_path / "model.svmgsu")
    again = svmgsu.load(tmp_path / "model.svmgsu")
    X, _, bars = table(seed=1)
    assert type(again) is type(model)
    if kind == "SVRGSU":
        pairs = zip(
            model.predict(X, std=bars, return_std=True),
            again.predict(X, std=bars, return_std=True),
            strict=True,
        )
    else:
        assert again.classes_.tolist() == model.classes_.tolist()
        pairs = [
            (model.predict_proba(X, std=bars), again.predict_proba(X, std=bars)),
            *zip(
                model.decision_function(X, std=bars, return_std=True),
                again.decision_function(X, std=bars, return_std=True),
                strict=True,
            ),
        ]
    for one, two in pairs:
        assert np.array_equal(one, two)
    assert again.search_ == model.search_
    assert again.get_params()["n_features"] == 20
    for name in ("gamma_", "lam_", "bars_", "objective_", "gap_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name)
    again.save(tmp_path / "again.svmgsu")
    one, two = (np.load(tmp_path / f"{name}.svmgsu") for name in ("model", "again"))
    assert set(one) == set(two)


def test_a_population_comes_back(tmp_path):
    X, _, bars = table()
    frame = pd.DataFrame(X, columns=["u", "g"])
    prior = svmgsu.Deconvolution("auto", threads=1, n_init=1).fit(frame, std=bars)
    prior.save(tmp_path / "prior.npz")
    again = svmgsu.load(tmp_path / "prior.npz")
    one, two = (each.transform(frame, std=bars) for each in (prior, again))
    for part in ("weights", "mean", "cov"):
        assert np.array_equal(getattr(one, part), getattr(two, part))
    assert again.held_out_ == prior.held_out_
    assert again.feature_names_in_.tolist() == ["u", "g"]
    assert again.score(frame, std=bars) == prior.score(frame, std=bars)
    with pytest.raises(ValueError, match="its features are"):
        again.transform(frame[["g", "u"]], std=bars)


def test_names_and_labels_are_kept(tmp_path):
    X, r, bars = table()
    frame = pd.DataFrame(X, columns=["Größe", "g"])
    model = svmgsu.SVMGSU(n_features=20, search=False, threads=1).fit(frame, r > 1.4, std=bars)
    model.save(tmp_path / "m")
    again = svmgsu.load(tmp_path / "m")
    assert again.classes_.dtype == bool
    assert np.array_equal(again.predict(frame, std=bars), model.predict(frame, std=bars))
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame[["g", "Größe"]], std=bars)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    model = fitted("SVMGSU")
    with pytest.raises(NotFittedError):
        svmgsu.SVMGSU().save(tmp_path / "m")
    (tmp_path / "m").write_text("as it was")

    def broken(*args, **options):
        raise OSError("the disc is full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="full"):
        model.save(tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_text() == "as it was"


def altered(content, change):
    """The file with its text, or an array, changed."""
    arrays = dict(np.load(io.BytesIO(content)))
    tree = json.loads(str(arrays.pop("svmgsu")))
    change(tree, arrays)
    file = io.BytesIO()
    np.savez(file, svmgsu=np.array(json.dumps(tree)), **arrays)
    file.seek(0)
    return file


@pytest.fixture(scope="module")
def content():
    file = io.BytesIO()
    fitted("SVMGSU", link=True, bars_as_features=True, metric=True).save(file)
    return file.getvalue()


def setting(path, value):
    def change(tree, arrays):
        *above, last = path.split(".")
        for key in above:
            tree = tree[key]
        tree[last] = value

    return change


def array(name, make):
    def change(tree, arrays):
        arrays[name] = make(arrays[name])

    return change


@pytest.mark.parametrize(
    "change, message",
    [
        (setting("format", "other"), "format: expected 'svmgsu-model'"),
        (setting("version", 2), "version: 2, of a later svmgsu"),
        (setting("class", "os.system"), "class: expected one of GSUClassifier, GSURegressor, SV"),
        (setting("settings.colour", 1), "settings.colour: expected a setting of SVMGSU"),
        (setting("settings", []), "settings: expected a part of a model"),
        (setting("features", 3), "centre: expected 3 64-bit numbers"),
        (setting("features", True), "features: expected a whole number"),
        (setting("centre", {"array": "nothing"}), "centre: expected an array of the file"),
        (setting("map.name", "../fourier"), "map.name: expected one of"),
        (setting("map.made_of", []), "map.made_of: expected what"),
        (setting("odds.lapse", 2.0), "odds.lapse: expected a number from 0 to 1"),
        (setting("odds.lapse", 10**400), "odds.lapse: expected a number that fits a double"),
        (setting("odds.link", "yes"), "odds.link: expected true or false"),
        (setting("labels", ["str", ["a"]]), "labels: expected as many classes"),
        (setting("labels", ["code", ["a", "b"]]), "labels: cannot be read"),
        (setting("labels", 7), "labels: cannot be read"),
        (setting("search", "none"), "search: expected a list"),
        (setting("population.converged", None), "population.converged: expected"),
        (array("scores.W", lambda W: W[:, :-1]), "map.made_of: expected what makes the 19"),
        (array("scores.W", lambda W: W.astype(np.float32)), "scores.W: expected .* 64-bit"),
        (array("scores.W", lambda W: W * np.nan), "scores.W: expected finite"),
        (array("scores.b", lambda b: np.append(b, b)), "scores.b: expected 1 64-bit"),
        (array("scale", lambda s: -s), "scale: expected positive"),
        (array("bars.columns", lambda c: c + 1), "bars.columns: expected different features below 2"),
        (array("population.weights_", lambda w: -w), "population.weights_: expected shares"),
        (array("population.covariances_", lambda S: -S), "population.covariances_: expected symm"),
    ],
)
def test_what_does_not_fit_together_is_refused(content, change, message):
    with pytest.raises(FormatError, match=f"^<file>: {message}"):
        svmgsu.load(altered(content, change))


def test_other_files_are_refused_by_name(tmp_path, content):
    np.savez(tmp_path / "data.npz", mean=np.zeros((2, 2)))
    with pytest.raises(FormatError, match=r"data.npz: no model of svmgsu; there are the arrays \['mean'\]"):
        svmgsu.load(tmp_path / "data.npz")
    (tmp_path / "half").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match="half"):
        svmgsu.load(tmp_path / "half")
    with zipfile.ZipFile(tmp_path / "pickled", "w") as archive:
        file = io.BytesIO()
        np.save(file, np.array([print], dtype=object), allow_pickle=True)
        archive.writestr("svmgsu.npy", file.getvalue())
    with pytest.raises(FormatError, match="pickled"):
        svmgsu.load(tmp_path / "pickled")
    with pytest.raises(FormatError, match="no linear model"):
        svmgsu.models.files.parse((tmp_path / "half").read_bytes(), "half")


def leaves(tree, path=()):
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        if isinstance(value, (dict, list)) and value and "array" not in value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.parametrize("value", [None, -1, 1e400, "x", [], {}, {"array": "scores.W"}, True])
def test_any_value_anywhere_is_read_or_refused(content, value):
    arrays = dict(np.load(io.BytesIO(content)))
    tree = json.loads(str(arrays["svmgsu"]))
    X, _, bars = table(seed=1, count=5)
    for path in leaves(tree):
        if path[0] in ("search", "settings"):
            continue

        def change(tree, arrays, path=path):
            for key in path[:-1]:
                tree = tree[key]
            tree[path[-1]] = value

        try:
            model = svmgsu.load(altered(content, change))
        except FormatError as error:
            assert str(error).startswith("<file>: ")
            continue
        model.predict_proba(X, std=bars)


def test_the_version_is_written(content):
    tree = json.loads(str(np.load(io.BytesIO(content))["svmgsu"]))
    assert tree["version"] == nodes.VERSION
    assert tree["written_by"] == svmgsu.__version__
