"""Blocks are trained on and predicted as the same examples in memory are: the same bits of the plane."""

import numpy as np
import pytest

import svmgsu
from svmgsu.outofcore import blocks as module

L, N = 900, 6


@pytest.fixture(autouse=True)
def blocks_of_few_rows(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_BLOCK", 20_000)


def made(kind="diagonal", dtype=np.float64):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(L, N)).astype(dtype)
    V = rng.uniform(0.1, 0.5, size=(L, N)).astype(dtype)
    F = rng.normal(size=(L, 2, N)).astype(dtype) / 3
    cov = {
        "none": None,
        "isotropic": svmgsu.Isotropic(V[:, 0]),
        "diagonal": svmgsu.Diagonal(V),
        "full": svmgsu.Full(np.einsum("irj,irk->ijk", F, F)),
        "low rank": svmgsu.LowRank(F),
        "low rank with diagonal": svmgsu.LowRank(F, diagonal=V),
        "shared": svmgsu.Shared(np.diag(V[0].astype(np.float64))),
    }[kind]
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=L) > 0, "quasar", "star")
    return svmgsu.Gaussians(X, cov), y


def opened(data, y=None, **more):
    parts = (slice(0, 250), slice(250, 251), slice(251, L))
    return svmgsu.open(
        {"X": data[p], **({} if y is None else {"y": y[p]}), **{k: v[p] for k, v in more.items()}}
        for p in parts
    )


def same_plane(found, known):
    assert np.array_equal(found.coef_, known.coef_)
    assert np.array_equal(found.intercept_, known.intercept_)
    assert (found.objective_, found.gap_, found.n_iter_) == (known.objective_, known.gap_, known.n_iter_)


@pytest.mark.parametrize(
    "kind", ["none", "isotropic", "diagonal", "full", "low rank", "low rank with diagonal", "shared"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_kind_gives_the_same_bits_as_in_memory(kind, dtype):
    data, y = made(kind, dtype)
    blocks = opened(data, y)
    assert blocks.dtype == dtype
    same_plane(svmgsu.train(blocks, probability=False), svmgsu.train(data, y, probability=False))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_every_loss_gives_the_same_bits(loss):
    data, y = made()
    same_plane(
        svmgsu.train(opened(data, y), loss=loss, probability=False),
        svmgsu.train(data, y, loss=loss, probability=False),
    )


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
@pytest.mark.parametrize("errors", [False, True])
def test_regressions_give_the_same_bits(loss, errors):
    data, _ = made()
    rng = np.random.default_rng(0)
    t = np.asarray(data.mean) @ np.arange(N) + rng.normal(size=L)
    e = rng.uniform(0.5, 1.0, size=L) if errors else None
    blocks = opened(data, t, **({"y_std": e} if errors else {}))
    found, known = (
        svmgsu.train_regressor(blocks, loss=loss),
        svmgsu.train_regressor(data, t, y_std=e, loss=loss),
    )
    same_plane(found, known)
    assert found.scatter_ == pytest.approx(known.scatter_, rel=1e-12)
    values, deviations = found.predict(blocks, return_std=True)
    want = known.predict(data, return_std=True)
    assert np.array_equal(values, want[0]) and np.array_equal(deviations, want[1])


def test_weights_noise_of_deployment_and_scales_are_those_of_memory():
    data, y = made()
    w = np.random.default_rng(1).uniform(size=L)
    noise = np.full(N, 0.3)
    more = {"cov_scale": 0.5, "deployment_cov": noise, "class_weight": "balanced", "probability": False}
    blocks = opened(data, y, sample_weight=w)
    known = svmgsu.train(data, y, sample_weight=w, **more)
    same_plane(svmgsu.train(blocks, **more), known)
    same_plane(svmgsu.train(opened(data), y, sample_weight=w, **more), known)
    same_plane(
        svmgsu.train(opened(data, y), cov_scale=0, probability=False),
        svmgsu.train(data, y, cov_scale=0, probability=False),
    )
    pool = np.random.default_rng(2).uniform(0.1, 0.4, size=(5, N))
    found, known = (
        svmgsu.train(*given, deployment_cov=pool, probability=False) for given in ((blocks, y), (data, y))
    )
    assert np.allclose(
        found.coef_,
        svmgsu.train(data, y, sample_weight=w, deployment_cov=pool, probability=False).coef_,
        rtol=1e-3,
    )


def test_probabilities_come_from_held_out_folds_and_are_those_of_memory():
    data, y = made()
    blocks = opened(data, y)
    found, known = svmgsu.train(blocks), svmgsu.train(data, y)
    same_plane(found, known)
    assert np.allclose(found.predict_proba(blocks), known.predict_proba(data), atol=0.01)
    assert (found.predict(blocks) == known.predict(data)).mean() > 0.99
    values, deviations = found.decision_function(blocks, return_std=True)
    want = known.decision_function(data, return_std=True)
    assert np.array_equal(values, want[0]) and np.array_equal(deviations, want[1])
    assert np.array_equal(found.margin_probability(blocks), known.margin_probability(data))
    prior = np.random.default_rng(0).dirichlet([1, 1], size=L)
    assert np.allclose(
        found.predict_proba(blocks, prior=prior), known.predict_proba(data, prior=prior), atol=0.01
    )


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_are_solved_to_the_same_optimum(multi_class):
    data, _ = made()
    y = np.argmax(np.asarray(data.mean)[:, :3], axis=1)
    blocks = opened(data, y)
    found, known = (
        svmgsu.train(*given, multi_class=multi_class, lam=1e-3) for given in ((blocks,), (data, y))
    )
    assert found.objective_ == pytest.approx(known.objective_, rel=2e-6)
    assert (found.predict(blocks) == known.predict(data)).mean() > 0.99
    assert found.decision_function(blocks).shape == (L, 3)


def test_estimators_take_blocks():
    data, y = made()
    data = svmgsu.Gaussians(data.mean, data.cov, feature_names=list("abcdef"))
    blocks = opened(data, y)
    found, known = svmgsu.LinearSVMGSU().fit(blocks), svmgsu.LinearSVMGSU().fit(data, y)
    same_plane(found, known)
    assert found.feature_names_in_.tolist() == list("abcdef")
    assert found.score(blocks, y) == pytest.approx(known.score(data, y), abs=0.01)
    assert np.allclose(found.decision_function(blocks), known.decision_function(data), atol=0.01)
    assert np.array_equal(found.predict(data), found.predict(blocks))
    t = np.asarray(data.mean)[:, 1]
    regression = svmgsu.LinearSVRGSU().fit(opened(data, t))
    same_plane(regression, svmgsu.LinearSVRGSU().fit(data, t))
    assert np.array_equal(regression.predict(blocks), regression.predict(data))


def test_a_path_follows_lambda():
    data, y = made()
    for found, known in zip(
        svmgsu.path(opened(data, y), lams=[1, 0.1]), svmgsu.path(data, y, lams=[1, 0.1]), strict=True
    ):
        same_plane(found, known)


def test_a_callback_stops_and_the_best_model_is_kept():
    data, y = made()
    seen = []

    def stop(progress):
        seen.append(progress.iteration)
        return len(seen) < 2

    model = svmgsu.train(opened(data, y), tol=1e-12, probability=False, callback=stop)
    assert model.status_ == "stopped"
    assert model.gap_ >= 0


def test_wrong_arguments_are_refused():
    data, y = made()
    blocks = opened(data)
    for given, message in (
        ({"y": None}, r"y: .* has no labels; pass y="),
        ({"y": np.ones(L)}, r"y: only one class, 1.0"),
        ({"y": y[:5]}, r"y: 5 labels for 900 examples"),
        ({"y": y, "std": 1.0}, r"std: blocks have their own covariances"),
        ({"y": y, "cov": 1.0}, r"cov: blocks have their own covariances"),
        ({"y": y, "solver": "sgd"}, r"solver: 'sgd' takes examples in memory"),
        ({"y": y, "subspace": 0.9}, r"subspace: .* not in memory"),
        ({"y": np.full((L, 2), 0.4)}, r"y: the class probabilities of example 0 sum to 0.8"),
        ({"y": y, "sample_weight": np.ones(3)}, r"sample_weight: 3 weights for 900 examples"),
    ):
        with pytest.raises(ValueError, match=message):
            svmgsu.train(blocks, **given)
    with pytest.raises(ValueError, match=r"y: only one class, 'a'"):
        svmgsu.train(opened(data, np.full(L, "a")))
    model = svmgsu.train(data, y, probability=False)
    with pytest.raises(ValueError, match="std: blocks have their own"):
        model.predict(blocks, std=1.0)
    other = svmgsu.open([np.ones((3, N + 1))])
    for predictor in (model, svmgsu.LinearSVMGSU().fit(data, y)):
        with pytest.raises(ValueError, match=rf"X has {N + 1} features, .* expecting {N} features"):
            predictor.predict(other)


def test_pairs_and_held_out_folds_are_equal_to_the_proven_tolerance():
    """They leave samples out, by a weight of 0 out of core: other sums, so other last digits."""
    data, y = made()
    y = np.where(np.asarray(data.mean)[:, 1] > 0.8, "galaxy", y)
    blocks = opened(data, y)
    same_plane(
        svmgsu.train(blocks, multi_class="ovr", probability=False),
        svmgsu.train(data, y, multi_class="ovr", probability=False),
    )
    found, known = (svmgsu.train(*given, probability=False) for given in ((blocks,), (data, y)))
    assert not np.array_equal(found.coef_, known.coef_)
    assert found.status_ == known.status_ == "converged"
    assert abs(found.objective_ - known.objective_) <= found.gap_ + known.gap_
    assert np.allclose(found.coef_, known.coef_, atol=1e-3)


def test_probabilities_of_training_scores_have_the_same_bits_and_held_out_ones_nearly():
    data, y = made()
    blocks = opened(data, y)
    for settings in ({"probability": "train"}, {"loss": "logistic"}):
        found, known = svmgsu.train(blocks, **settings), svmgsu.train(data, y, **settings)
        same_plane(found, known)
        assert np.array_equal(found.predict_proba(data), known.predict_proba(data))
    found, known = svmgsu.train(blocks), svmgsu.train(data, y)
    same_plane(found, known)
    assert np.allclose(found.predict_proba(data), known.predict_proba(data), atol=0.01)


def test_more_features_than_samples_are_equal_to_the_proven_tolerance():
    """In memory they are solved in the span of the samples, out of core as any others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 300))
    y = (X[:, 0] > 0).astype(int)
    found = svmgsu.train(svmgsu.open([(X, y, 0.1)]), probability=False)
    known = svmgsu.train(X, y, std=0.1, probability=False)
    assert abs(found.objective_ - known.objective_) <= found.gap_ + known.gap_
    assert np.allclose(found.coef_, known.coef_, atol=1e-3)
