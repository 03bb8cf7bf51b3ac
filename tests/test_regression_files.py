"""Regressions in model files: what is saved comes back exactly, and what is no regression is refused."""

import numpy as np
import pytest

import svmgsu
from svmgsu.models.files import parse


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


def test_what_was_not_known_is_not_known_afterwards(tmp_path):
    svmgsu.models.regressor.RegressionModel(np.array([1.0, -2.0]), 0.5, 0.1).save(tmp_path / "m")
    again = svmgsu.load(tmp_path / "m")
    assert np.isnan(again.scatter_) and again.epsilon is None and again.loss == "squared"
    assert again.feature_names_in_ is None


def test_the_authors_files_hold_no_regression(problem, tmp_path):
    model = svmgsu.train(*problem, loss="squared")
    with pytest.raises(
        ValueError, match="format: gsvm files hold classifiers, and this model is a regression"
    ):
        model.save(tmp_path / "m", "gsvm")
    with pytest.raises(ValueError, match='format: expected one of "svmgsu", "gsvm", got \'pickle\''):
        model.save(tmp_path / "m", "pickle")
    assert not list(tmp_path.iterdir())


GOOD = "svmgsu-model 3\ntask regression\nlambda 0.1\n{}features 1\nintercept 0\nweights\n1\nend\n"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("loss hinge\n", "m:4: loss: 'hinge' is none that this svmgsu knows for regressions"),
        ("loss absolute 3\n", "m:4: loss: 'absolute' is none that this svmgsu knows for regressions"),
        ("loss huber\n", "m:4: loss: 'huber' needs the number that is its parameter"),
        ("loss huber -1\n", "m:4: delta: must be > 0 and finite, got -1"),
        ("loss epsilon_insensitive nan\n", "m:4: expected a finite number for the loss's parameter"),
        ("loss squared 2\n", "m:4: loss: 'squared' has no parameter"),
        ("loss huber 1 2\n", "m:4: unexpected '2'"),
        ("labels int 0 1\n", "labels: a regression has none"),
        ("calibration 1 0 0 0\n", "calibration: a regression has none"),
        ("prior 0.5 0.5\n", "prior: a regression has none"),
        ("scatter -1\n", "m:4: scatter: expected a number >= 0"),
        ("task regression\n", "m:4: 'task' is there twice"),
    ],
)
def test_damaged_regressions_are_refused_with_line_and_reason(line, complaint):
    assert parse(GOOD.format("").encode(), "m").predict([[2.0]]).tolist() == [2.0]
    with pytest.raises(OSError) as error:
        parse(GOOD.format(line).encode(), "m")
    assert complaint in str(error.value)


def test_lines_may_come_in_any_order():
    lines = ["loss huber 2", "intercept 1", "features 1", "scatter 0.5", "lambda 0.1", "task regression"]
    text = "\n".join(["svmgsu-model 3", *lines, "weights", "3", "end", ""])
    model = parse(text.encode(), "m")
    assert (model.loss, model.epsilon, model.scatter_, model.predict([[1.0]])[0]) == ("huber", 2.0, 0.5, 4.0)


def test_a_classifier_has_no_scatter():
    text = "svmgsu-model 3\nlabels int 0 1\nscatter 1\nlambda 0.1\nfeatures 1\nintercept 0\nweights\n1\nend\n"
    with pytest.raises(OSError, match="scatter: a classifier has none"):
        parse(text.encode(), "m")
