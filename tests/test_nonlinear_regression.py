"""`SVRGSU`: errors of targets, robust losses, and what is left over."""

import numpy as np
import pytest
from scipy.stats import norm

import svmgsu


def waves(count=600, seed=0, scatter=0.05):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=(count, 1))
    truth = 20 + 10 * np.sin(2 * x[:, 0])
    return x, truth, truth + 10 * scatter * rng.normal(size=count), rng


def small(**options):
    return svmgsu.SVRGSU(**{"n_features": 40, "search": False, "threads": 1, **options})


def test_targets_with_errors_count_by_them():
    x, truth, y, rng = waves()
    errors = np.where(np.arange(600) % 2 == 0, 0.5, 30.0)
    seen = y + errors * rng.normal(size=600)
    plain, known = small().fit(x, seen), small().fit(x, seen, y_std=errors)
    miss = [np.sqrt(np.mean((model.predict(x) - truth) ** 2)) for model in (plain, known)]
    assert miss[1] < 0.4 * miss[0]
    precise = small().fit(x[::2], seen[::2], y_std=0.5)
    assert miss[1] < 1.2 * np.sqrt(np.mean((precise.predict(x) - truth) ** 2))


def test_the_residual_is_what_errors_of_targets_do_not_explain():
    x, _, y, rng = waves(1500, scatter=0.1)
    errors = rng.uniform(0.5, 3.0, size=1500)
    model = small(search=True, metric=False).fit(x, y + errors * rng.normal(size=1500), y_std=errors)
    assert model.residual_std_ == pytest.approx(1.0, rel=0.2)
    values, deviation = model.predict(x, return_std=True)
    new_x, _, new_y, _ = waves(1000, seed=1, scatter=0.1)
    values, deviation = model.predict(new_x, return_std=True)
    assert 0.6 < (np.abs(new_y - values) < norm.ppf(0.84) * deviation).mean() < 0.76


def test_units_of_targets_do_not_matter_and_equal_errors_change_nothing_but_the_residual():
    x, _, y, _ = waves()
    plain = small().fit(x, y)
    same = small().fit(x, y, y_std=0.1)
    np.testing.assert_allclose(same.predict(x), plain.predict(x), rtol=1e-10)
    assert same.residual_std_**2 == pytest.approx(plain.residual_std_**2 - 0.01, rel=1e-2)
    other = small().fit(x, 1e6 * y - 3e7, y_std=1e5)
    np.testing.assert_allclose((other.predict(x) + 3e7) / 1e6, same.predict(x), rtol=1e-9)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "huber"])
def test_other_losses_are_solved_to_a_proof_and_resist_outliers(loss):
    x, truth, y, rng = waves()
    wild = rng.choice(600, 60, replace=False)
    y[wild] += 200
    model = small(loss=loss, epsilon=1.0, gamma=2.0).fit(x, y)
    assert 0 <= model.gap_ <= 1e-6 * model.objective_
    if loss != "squared_epsilon_insensitive":
        miss = np.median(np.abs(model.predict(x) - truth))
        assert miss < 0.2 * np.median(np.abs(small(gamma=2.0).fit(x, y).predict(x) - truth))
    errors = np.full(600, 0.5)
    errors[wild] = 500.0
    assert np.median(np.abs(small(loss=loss, gamma=2.0).fit(x, y, y_std=errors).predict(x) - truth)) < 1.0


def test_epsilon_is_in_units_of_y():
    x, _, y, _ = waves(200)
    one = small(loss="epsilon_insensitive", epsilon=2.0).fit(x, y)
    other = small(loss="epsilon_insensitive", epsilon=2000.0).fit(x, 1000 * y)
    np.testing.assert_allclose(other.predict(x) / 1000, one.predict(x), rtol=1e-4)


def test_bad_errors_and_losses_are_refused():
    x, _, y, _ = waves(50)
    for options, given, words in (
        ({}, {"y_std": 0.0}, "y_std: example 0 has error 0"),
        ({}, {"y_std": np.ones(3)}, r"y_std: expected a number or shape \(50,\)"),
        ({"loss": "hinge"}, {}, "loss: 'hinge' is for classification"),
        ({"epsilon": 0.1}, {}, "epsilon: the loss 'squared' has none"),
        ({"loss": "huber", "epsilon": -1.0}, {}, "epsilon: "),
    ):
        with pytest.raises(ValueError, match=words):
            small(**options).fit(x, y, **given)
