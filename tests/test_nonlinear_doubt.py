"""Class probabilities as labels of curved models, and labels that may be wrong."""

import numpy as np
import pytest

import svmgsu


def test_the_classifier_with_a_curved_boundary_takes_class_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    p = 1 / (1 + np.exp(-3 * (X[:, 0] ** 2 - X[:, 1] - 1)))
    y = (rng.uniform(size=120) < p).astype(int)
    new = svmgsu.SVMGSU(n_features=40, random_state=0)

    def chances(labels, **rest):
        return new.fit(X, labels, std=0.1, **rest).predict_proba(X)[:, 1]

    certain, doubtful = chances(y), chances(np.column_stack([1 - p, p]))
    assert np.array_equal(chances(np.eye(2)[y]), certain)
    assert np.abs(doubtful - p).mean() < 0.5 * np.abs(certain - p).mean()
    rows = np.repeat(np.arange(120), 2)
    repeated = new.fit(
        X[rows],
        np.tile([0, 1], 120),
        std=0.1,
        sample_weight=np.column_stack([1 - p, p]).ravel(),
        groups=rows,
    )
    assert np.array_equal(repeated.predict_proba(X)[:, 1], doubtful)
    assert new.fit(X, np.column_stack([p, 1 - p]), classes=["star", "quasar"]).classes_.tolist() == [
        "quasar",
        "star",
    ]
    with pytest.raises(
        ValueError, match="y: the class probabilities of example 0 sum to 2; rows must sum to 1"
    ):
        new.fit(X, np.column_stack([1 - p, p]) * 2)


def wrong_labels(seed, K, count=300):
    """Objects on a ring of K classes, and what is known of their labels, some of which are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * count, 2))
    y = ((np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) + 0.5) * K).astype(int) % K
    doubt = rng.uniform(0, 0.8, size=2 * count)
    told = np.where(rng.uniform(size=2 * count) < doubt, (y + rng.integers(1, K, size=2 * count)) % K, y)
    P = np.where(np.eye(K)[told] > 0, 1 - doubt[:, None], doubt[:, None] / (K - 1))
    return X[:count], P[:count], X[count:], y[count:]


@pytest.mark.parametrize("K", [2, 3])
def test_of_labels_that_may_be_wrong_the_likelihood_tells_more_than_shares(K):
    X, P, new, y = wrong_labels(1, K)

    def loss(doubt):
        model = svmgsu.SVMGSU(n_features=60, search=False, gamma=0.3, lam=1e-4, doubt=doubt).fit(X, P)
        assert model.gap_ <= 1e-6 * model.objective_  # of the convex stage it starts from
        return -np.log(model.predict_proba(new)[np.arange(len(y)), y]).mean()

    assert loss("error") < 0.8 * loss("share")


def test_a_search_scores_labels_that_may_be_wrong_by_their_likelihood():
    X, P, new, y = wrong_labels(2, 2)
    model = svmgsu.SVMGSU(n_features=60, doubt="error", link=True).fit(X, P, std=0.1)
    assert model.score(new, y, std=0.1) > 0.9
    best = min(row["loss"] for row in model.search_)
    assert best > -np.log(np.maximum(P, 1 - P).max(axis=1)).mean()  # no better than the labels are known


def test_the_slope_of_a_likelihood_of_doubtful_labels_is_that_of_its_differences():
    from svmgsu.estimators.nonlinear.link import Components, chances, likelihood, polish
    from svmgsu.estimators.nonlinear.solving import Scores

    rng = np.random.default_rng(0)
    for q in (1, 3):
        Z, P = rng.normal(size=(40, 2)), rng.dirichlet(np.ones(max(2, q)), size=20)
        share = rng.uniform(0.2, 0.8, size=20)
        parts = Components(Z, np.column_stack([share, 1 - share]).ravel(), np.arange(0, 40, 2))

        def objective(theta, q=q, Z=Z, P=P, parts=parts):
            p = chances(Z @ theta[: 2 * q].reshape(q, 2).T + theta[2 * q :])
            mixed = np.add.reduceat(p * parts.share[:, None], parts.start, axis=0)
            return 0.5 * 0.1 * (theta[: 2 * q] ** 2).sum() - np.log(likelihood(mixed, P)).mean()

        found = polish(Scores(np.zeros((q, 2)), np.zeros(q)), parts, P, np.ones(20), 0.1, steps=200)
        theta = np.concatenate([found.W.ravel(), found.b])
        steps = 1e-5 * np.eye(len(theta))
        slope = [(objective(theta + h) - objective(theta - h)) / 2e-5 for h in steps]
        assert np.abs(slope).max() < 1e-4
        assert objective(theta) < objective(np.zeros_like(theta)) - 1e-3


def test_what_doubt_may_be_is_checked():
    X, P, *_ = wrong_labels(0, 2, 40)
    with pytest.raises(ValueError, match=r"doubt: expected .share. or .error., got 'maybe'"):
        svmgsu.SVMGSU(doubt="maybe").fit(X, P)
    with pytest.raises(ValueError, match=r"doubt: .error. is a likelihood, .* got loss='hinge'"):
        svmgsu.SVMGSU(doubt="error", loss="hinge").fit(X, P)
    labels = P.argmax(axis=1)  # without doubt both are the same
    one, other = (
        svmgsu.SVMGSU(n_features=20, search=False, doubt=d).fit(X, labels).predict_proba(X)
        for d in ("share", "error")
    )
    assert np.array_equal(one, other)
