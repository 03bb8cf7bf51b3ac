"""`svmgsu.Deconvolution` as an estimator: components chosen, warnings, names, pictures, refusals."""

import warnings

import numpy as np
import pandas as pd
import pytest
from moments import assert_moments
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu
from svmgsu.support import memory

STD = 0.3


def objects(count=600, seed=0, centres=(-2.0, 2.0)):
    rng = np.random.default_rng(seed)
    truth = rng.choice(centres, size=(count, 1)) + 0.5 * rng.normal(size=(count, 2))
    return truth + STD * rng.normal(size=truth.shape)


def test_the_number_of_components_is_chosen_by_objects_held_out():
    found = svmgsu.Deconvolution("auto").fit(objects(900, centres=(-3.0, 0.0, 3.0)), std=STD)
    assert found.n_components_ == 3 == max(found.held_out_, key=found.held_out_.get)
    assert len(found.weights_) == 3 and {1, 2, 3, 4, 6} == set(found.held_out_)
    assert svmgsu.Deconvolution("auto").fit(objects(900, centres=(0.0,)), std=STD).n_components_ == 1


def test_results_beyond_memory_are_refused_before_work_starts(monkeypatch):
    prior = svmgsu.Deconvolution(2).fit(objects(), std=STD)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    monkeypatch.setattr(memory, "SMALL", 100)
    with pytest.raises(
        svmgsu.support.memory.NotEnoughMemory, match=r"transform: 600 mixtures of 2 .*some samples at a time"
    ):
        prior.transform(svmgsu.Gaussians(objects(), std=STD))


NO_ARRAY = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_pipeline_consistency",
        "check_estimators_pickle",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit_idempotent",
        "check_array_api_input",
    ),
    "transform returns Mixtures, which are no array",
)


@parametrize_with_checks(
    [svmgsu.Deconvolution(2, init=1, threads=1)], expected_failed_checks=lambda _: NO_ARRAY
)
def test_it_passes_scikit_learns_checks_of_what_is_no_array(estimator, check):
    check(estimator)


def test_draws_have_the_moments_of_the_population():
    prior = svmgsu.Deconvolution(2).fit(objects(), std=STD)
    values, components = prior.sample(200_000, random_state=0)
    for k in range(2):
        assert_moments(values[components == k], prior.means_[k], prior.covariances_[k])
        assert (components == k).mean() == pytest.approx(prior.weights_[k], abs=0.01)


def test_a_fit_that_did_not_end_says_so():
    with pytest.warns(
        svmgsu.exceptions.ConvergenceWarning, match=r"after max_iter=2 steps .*raise max_iter or tol"
    ):
        found = svmgsu.Deconvolution(3, max_iter=2).fit(objects(), std=STD)
    assert not found.converged_ and found.n_iter_ == 2


# Objects of which the population says little


def test_objects_far_from_the_population_are_counted():
    prior = svmgsu.Deconvolution(2).fit(objects(), std=STD)
    X = objects(100, seed=1)
    X[:7] += 20
    with pytest.warns(
        svmgsu.exceptions.PopulationWarning, match=r"7 of 100 samples are far from the population.*leave them"
    ):
        prior.transform(X, std=STD)
    with pytest.warns(svmgsu.exceptions.PopulationWarning, match="1 of 1 samples"):
        prior.transform(X[:1], std=STD)


def test_objects_far_noisier_than_those_of_the_fit_are_counted():
    """A population of precise objects says of them mostly what the precise ones were."""
    prior = svmgsu.Deconvolution(2).fit(objects(), std=STD)
    X, std = objects(100, seed=1), np.full((100, 2), STD)
    std[:30] = 5.0
    with pytest.warns(
        svmgsu.exceptions.PopulationWarning,
        match=r"30 of 100 samples are much noisier .*no labels are needed",
    ):
        prior.transform(X, std=std)
    both = svmgsu.Deconvolution(2).fit(X, std=std)  # learnt from such ones too
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both.transform(X, std=std)
        prior.transform(X, std=np.where(std > 1, np.inf, std))  # of what is missing nothing is claimed


# Names, frames and kinds


def test_names_go_along_and_columns_are_put_in_order():
    frame = pd.DataFrame(objects(), columns=["u", "g"])
    prior = svmgsu.Deconvolution(2).fit(frame, std=STD)
    found = prior.transform(frame, std=STD)
    assert list(prior.feature_names_in_) == found.feature_names_in_ == ["u", "g"]
    turned = svmgsu.Gaussians(frame[["g", "u"]], std=STD)
    np.testing.assert_array_equal(prior.transform(turned).mean, found.mean)
    with pytest.raises(ValueError, match="X: its features are g, u; in the fit they were u, g"):
        prior.transform(frame[["g", "u"]], std=STD)


# Refusals, before work starts


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"n_components": 601}, {}, "n_components: 601 for n_samples=600"),
        ({"n_components": 0}, {}, "n_components: must be at least 1"),
        ({"n_components": "many"}, {}, 'n_components: expected a number or "auto"'),
        ({"init": 0}, {}, "init: must be at least 1"),
        ({"tol": 0}, {}, "tol: must be positive"),
        ({"max_iter": 0}, {}, "max_iter: must be at least 1"),
        ({"reg_covar": 0}, {}, "reg_covar: must be between 0 and 1"),
        ({"reg_covar": "x"}, {}, "reg_covar: must be between 0 and 1"),
        ({"init": "kmeans"}, {}, "init: "),
        ({}, {"X": np.hstack([objects(), np.ones((600, 1))])}, "X: feature 2 is 1 in every sample"),
        ({}, {"X": np.full((600, 2), np.nan)}, "X: feature 0 is missing, or has infinite noise, in every"),
        ({}, {"std": np.inf}, "X: feature 0 is missing, or has infinite noise, in every sample"),
        ({}, {"X": np.full((600, 2), np.inf)}, "X: sample 0, feature 0 is infinite"),
        ({}, {"X": np.ones(5)}, "X: expected 2 dimensions"),
        ({}, {"X": np.ones((0, 2))}, r"X: Found array with 0 sample\(s\)"),
        ({}, {"std": np.full((600, 2), np.nan)}, "std: sample 0, feature 0 is nan"),
        ({}, {"std": -1.0}, "std: .* standard deviation -1"),
        ({}, {"std": np.ones((600, 3))}, r"std: shape \(600, 3\) does not fit"),
        ({}, {"cov": 1.0, "std": 1.0}, "std: give either cov or std"),
        ({}, {"sample_weight": np.zeros(600)}, "sample_weight: all weights are zero"),
        ({}, {"X": svmgsu.Gaussians(objects()).add_noise([1.0, 1.0])}, "test-time noise has no place"),
        ({}, {"X": svmgsu.Gaussians(objects()), "std": 1.0}, "cov: X is a Gaussians and has its covariance"),
        ({"n_components": "auto"}, {"X": objects(5)}, '"auto" needs at least 6 samples'),
    ],
)
def test_errors_say_what_is_wrong(settings, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        svmgsu.Deconvolution(**{"n_components": 2} | settings).fit(**{"X": objects()} | given)
