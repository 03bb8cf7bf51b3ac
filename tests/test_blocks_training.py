"""Blocks are trained on and predicted as the same samples in memory are, to the same bits."""

import threading

import numpy as np
import pytest
from block_cases import KINDS, covariance
from conftest import train_with

import svmgsu
from svmgsu import _core
from svmgsu.fit import problem
from svmgsu.outofcore import blocks as module

L, N = 900, 6
EXACT = {"probability": False}
LOSSES = [(name, task == "regression") for name, task, _, _ in _core.known_losses()]


@pytest.fixture(autouse=True)
def blocks_of_few_rows(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_BLOCK", 20_000)


def made(kind="diagonal", dtype=np.float64):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(L, N)).astype(dtype)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=L) > 0, "quasar", "star")
    return svmgsu.Gaussians(X, covariance(kind, L, N, dtype)), y


def opened(data, y=None, **more):
    given = more if y is None else {"y": y, **more}
    parts = (slice(0, 250), slice(250, 251), slice(251, L))
    return svmgsu.open({"X": data[p], **{name: values[p] for name, values in given.items()}} for p in parts)


def same_bits(found, known):
    assert np.array_equal(found.coef_, known.coef_)
    assert np.array_equal(found.intercept_, known.intercept_)
    assert (found.objective_, found.gap_, found.n_iter_) == (known.objective_, known.gap_, known.n_iter_)


def same_optimum(found, known):
    """Sums in another order: equal to the proven tolerance."""
    assert found.status_ == known.status_ == "converged"
    assert abs(found.objective_ - known.objective_) <= found.gap_ + known.gap_
    assert np.allclose(found.coef_, known.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*((kind, np.float64) for kind in KINDS), ("diagonal", np.float32), ("full", np.float32)],
)
def test_every_kind_gives_the_bits_of_memory(kind, dtype):
    data, y = made(kind, dtype)
    blocks = opened(data, y)
    assert blocks.dtype == dtype
    same_bits(train_with(blocks, **EXACT), train_with(data, y, **EXACT))


@pytest.mark.parametrize(("loss", "regression"), LOSSES)
@pytest.mark.parametrize("kind", ["none", "diagonal"])
def test_every_loss_gives_the_bits_of_memory(kind, loss, regression):
    data, y = made(kind)
    y = np.where(np.arange(L) < 250, "star", y)  # one class alone in the first block
    rng = np.random.default_rng(0)
    weights, errors = rng.uniform(0.5, 2.0, size=(2, L))
    if not regression:
        found = train_with(opened(data, y, sample_weight=weights), loss=loss, **EXACT)
        same_bits(found, train_with(data, y, loss=loss, sample_weight=weights, **EXACT))
        return
    t = np.asarray(data.mean) @ np.arange(N) + rng.normal(size=L)
    blocks = opened(data, t, sample_weight=weights, y_std=errors)
    found = svmgsu.train(blocks, loss=loss)
    known = svmgsu.train(data, t, loss=loss, sample_weight=weights, y_std=errors)
    same_bits(found, known)
    assert found.scatter_ == pytest.approx(known.scatter_, rel=1e-12)
    uncertain = data.cov is not None
    wanted = known.predict(data, return_std=uncertain)
    assert np.array_equal(found.predict(blocks, return_std=uncertain), wanted)


@pytest.mark.parametrize("settings", [{"probability": "train"}, {"loss": "logistic"}, {}])
def test_probabilities_and_predictions_are_those_of_memory(settings):
    data, y = made()
    blocks = opened(data, y)
    found, known = train_with(blocks, **settings), train_with(data, y, **settings)
    same_bits(found, known)
    tolerance = 0.0 if settings else 0.01  # held-out folds leave samples out by a weight of 0
    assert np.allclose(found.predict_proba(blocks), known.predict_proba(data), rtol=0, atol=tolerance)
    prior = np.random.default_rng(0).dirichlet([1, 1], size=L)
    assert np.allclose(
        found.predict_proba(blocks, prior=prior),
        known.predict_proba(data, prior=prior),
        rtol=0,
        atol=tolerance + 1e-14,
    )
    assert np.array_equal(found.predict(blocks), found.predict(data))
    assert np.array_equal(found.margin_probability(blocks), known.margin_probability(data))
    wanted = known.decision_function(data, return_std=True)
    assert np.array_equal(found.decision_function(blocks, return_std=True), wanted)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_have_the_bits_of_memory_or_its_optimum(multi_class):
    data, y = made()
    y = np.where(np.asarray(data.mean)[:, 1] > 0.8, "galaxy", y)
    blocks = opened(data, y)
    found = train_with(blocks, multi_class=multi_class, **EXACT)
    known = train_with(data, y, multi_class=multi_class, **EXACT)
    (same_bits if multi_class == "ovr" else same_optimum)(found, known)
    assert (found.predict(blocks) == known.predict(data)).mean() > 0.99
    assert found.decision_function(blocks).shape == (L, 3)


def test_a_search_holds_out_soft_labels_and_groups_as_in_memory():
    data, _ = made()
    P = np.random.default_rng(0).dirichlet([0.5, 0.5], L)
    for groups in (None, np.arange(L) // 100):
        known, found = (
            svmgsu.LinearSVMGSU([10.0, 1.0], probability=False, tol=1e-3).fit(X, P, groups=groups)
            for X in (data, opened(data))
        )
        assert np.array_equal(found.cv_results_["mean_test_score"], known.cv_results_["mean_test_score"])
    with pytest.raises(ValueError, match=r"groups: expected one for each of 900 samples, got shape \(901,\)"):
        svmgsu.train(opened(data), P, lam="auto", groups=np.arange(L + 1))


def test_a_search_on_a_part_of_the_samples_has_some_of_every_class(monkeypatch):
    monkeypatch.setattr(problem, "SAMPLE", 50)
    data, y = made()
    y[[7, 100, 899]] = "galaxy"
    weights = np.ones(L)
    weights[7] = 0.0
    search = svmgsu.LinearSVMGSU([1.0, 0.1], class_weight="balanced", probability=False)
    search.fit(opened(data), y, sample_weight=weights)
    assert search.classes_.tolist() == ["galaxy", "quasar", "star"]
    assert "split1_test_score" in search.cv_results_ and "split2_test_score" not in search.cv_results_


def test_estimators_take_blocks():
    data, y = made()
    data = svmgsu.Gaussians(data.mean, data.cov, feature_names=list("abcdef"))
    blocks = opened(data, y)
    found, known = svmgsu.LinearSVMGSU().fit(blocks), svmgsu.LinearSVMGSU().fit(data, y)
    same_bits(found, known)
    assert found.feature_names_in_.tolist() == list("abcdef")
    assert found.score(blocks, y) == known.score(data, y)
    assert np.allclose(found.decision_function(blocks), known.decision_function(data), atol=0.01)
    assert np.array_equal(found.predict(data), found.predict(blocks))
    t = np.asarray(data.mean)[:, 1]
    regression = svmgsu.LinearSVRGSU().fit(opened(data, t))
    same_bits(regression, svmgsu.LinearSVRGSU().fit(data, t))
    assert np.array_equal(regression.predict(blocks), regression.predict(data))


def saved(folder, count=3000, n=4, offset=2.0, dtype="float64"):
    """Samples as arrays, and the same in .npy files."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(count) < 0.4, -1, 1)
    X = (rng.normal(size=(count, n)) + 0.7 * y[:, None] + offset).astype(dtype)
    V = rng.uniform(0.1, 1.0, (count, n)).astype(dtype)
    for name, array in (("X", X), ("y", y), ("V", V)):
        np.save(folder / f"{name}.npy", array)
    return X, y, V, svmgsu.open(*(folder / f"{name}.npy" for name in "XyV"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_memory_and_number_of_threads_have_the_bits_of_memory(tmp_path, dtype, threads):
    X, y, V, blocks = saved(tmp_path, 9000, offset=1e4, dtype=dtype)
    known = train_with(X, y, svmgsu.Diagonal(V), threads=2, tol=1e-07, **EXACT)
    for memory in (1_500_000, 5_000_000, 2**31):
        blocks.memory = memory
        same_bits(train_with(blocks, threads=threads, tol=1e-07, **EXACT), known)


@pytest.mark.parametrize("row", [1234, 2999])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("X", np.inf, r"means: \w+ {} has inf at"), ("V", -1.0, r"covariance: \w+ {} has variance -1 at")],
)
def test_a_bad_number_is_named_by_its_row_in_the_file(tmp_path, row, name, value, words):
    saved(tmp_path)
    array = np.load(tmp_path / f"{name}.npy")
    array[row, 3] = value
    np.save(tmp_path / f"{name}.npy", array)
    blocks = svmgsu.open(*(tmp_path / f"{name}.npy" for name in "XyV"))
    for y in (None, np.arange(3000) % 5):  # alone, and of several classes at a time
        with pytest.raises(ValueError, match=words.format(row) + " feature 3"):
            train_with(blocks, y, **EXACT)


@pytest.mark.parametrize("how", ["shorter", "written"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, how):
    *_, blocks = saved(tmp_path)

    def change(progress):
        if progress.iteration < 1:
            return
        with open(tmp_path / "X.npy", "r+b") as stream:
            if how == "shorter":
                stream.truncate(1000)
            else:
                stream.write(stream.read(1))

    with pytest.raises(ValueError, match=r"X.npy: the file has changed while it was read"):
        train_with(blocks, verbose=change, tol=1e-07, **EXACT)


@pytest.mark.parametrize("classes", [2, 5])
def test_a_callback_a_time_limit_and_errors_end_a_training(tmp_path, classes):
    X, _, _, blocks = saved(tmp_path)
    y = (X[:, 0] * 3).astype(int) % classes
    known = set(threading.enumerate())
    model = train_with(blocks, y, tol=1e-12, verbose=lambda p: p.iteration < 1, **EXACT)
    assert model.status_ == "stopped" and model.gap_ >= 0
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning, match="max_time"):
        assert train_with(blocks, y, max_time=1e-09, **EXACT).status_ == "limit"
    for error in (KeyboardInterrupt, RuntimeError("enough")):

        def fail(progress, error=error):
            raise error

        with pytest.raises(type(error) if isinstance(error, Exception) else error):
            train_with(blocks, y, verbose=fail, **EXACT)
    assert set(threading.enumerate()) <= known


def test_wrong_arguments_are_refused():
    data, y = made()
    blocks = opened(data)
    for given, message in (
        ({"y": None}, r"y: .* has no labels; pass y="),
        ({"y": np.ones(L)}, r"y: only one class, 1.0"),
        ({"y": y[:5]}, r"y: 5 labels for 900 \w+"),
        ({"y": y, "std": 1.0}, r"std: blocks have their own covariances"),
        ({"y": y, "cov": 1.0}, r"cov: blocks have their own covariances"),
        ({"y": np.full((L, 2), 0.4)}, r"y: sample 0 has class probabilities that sum to 0.8"),
        ({"y": y, "sample_weight": np.ones(3)}, r"sample_weight: 3 weights for 900 \w+"),
    ):
        with pytest.raises(ValueError, match=message):
            train_with(blocks, **given)
    with pytest.raises(ValueError, match=r"y: only one class, 'a'"):
        svmgsu.train(opened(data, np.full(L, "a")))
    model = train_with(data, y, **EXACT)
    with pytest.raises(ValueError, match="std: blocks have their own"):
        model.predict(blocks, std=1.0)
    other = svmgsu.open([np.ones((3, N + 1))])
    for predictor in (model, svmgsu.LinearSVMGSU().fit(data, y)):
        with pytest.raises(ValueError, match=rf"X has {N + 1} features, .* expecting {N} features"):
            predictor.predict(other)
