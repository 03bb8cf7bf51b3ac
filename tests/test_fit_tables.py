"""`fit(table, y)` of every estimator pairs the columns of a table as files are read."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from astropy import units
from astropy.table import QTable, Table
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmgsu

rng = np.random.default_rng(0)
Y = rng.integers(2, size=120)
E = rng.uniform(0.1, 1.0, size=(120, 3))
X = rng.normal(size=(120, 3)) + 1.5 * Y[:, np.newaxis] + E * rng.normal(size=(120, 3))
TABLE = {name: column for j, c in enumerate("abc") for name, column in ((c, X[:, j]), (f"e_{c}", E[:, j]))}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "astropy": Table}
POOL = {"members": "linear", "cv": 2}
CLASSIFIERS = [svmgsu.LinearSVMGSU(), svmgsu.GSUClassifier(**POOL)]
REGRESSORS = [svmgsu.LinearSVRGSU(), svmgsu.GSURegressor(**POOL)]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=lambda e: type(e).__name__)
def test_a_table_is_values_with_their_uncertainties(estimator, make):
    table = make(TABLE)
    found = estimator.fit(table, Y).predict(table)
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(found, estimator.fit(X, Y, std=E).predict(X, std=E))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_y_may_name_a_column(estimator):
    table = pd.DataFrame(TABLE).assign(kind=np.where(Y == 1, "star", "quasar"))
    estimator.fit(table, "kind")
    assert estimator.classes_.tolist() == ["quasar", "star"]
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    assert set(estimator.predict(table)) == {"quasar", "star"}
    assert estimator.score(table, "kind") == estimator.score(table, table["kind"]) > 0.8
    with pytest.raises(ValueError, match="y: X has no column 'what'; it has a, e_a"):
        estimator.fit(table, "what")


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=lambda e: type(e).__name__)
def test_uncertainties_are_given_once(estimator):
    with pytest.raises(
        ValueError, match=r"std: X has columns of uncertainties already \(3 values with errors"
    ):
        estimator.fit(pd.DataFrame(TABLE), Y, std=E)
    with pytest.raises(ValueError, match=r"X: column 'e_a' looks like .* Pass svmgsu.Gaussians.from_frame"):
        estimator.fit(pd.DataFrame(TABLE).drop(columns="a"), Y)


def test_missing_values_of_a_table_are_missing_to_nonlinear_models():
    table = pd.DataFrame(TABLE)
    table.loc[3, "a"] = table.loc[5, "e_b"] = np.nan
    gaps = X.copy()
    gaps[3, 0] = gaps[5, 1] = np.nan
    model = svmgsu.GSUClassifier(n_frequencies=10)
    found = model.fit(table, Y).predict_proba(table)
    np.testing.assert_allclose(found, model.fit(gaps, Y, std=E).predict_proba(gaps, std=E), rtol=1e-6)
    with pytest.raises(ValueError, match="row 3: column 'a' has no value"):
        svmgsu.LinearSVMGSU().fit(table, Y)


def test_units_are_converted_or_refused():
    values = {"flux": [1.0, 2.0] * units.Jy, "e_flux": [100.0, 200.0] * units.mJy}
    data = svmgsu.Gaussians.from_frame(QTable(values))
    np.testing.assert_allclose(data.cov.variances, [[0.01], [0.04]])
    values["flux_ivar"] = [25.0, 25.0] / units.mJy**2
    del values["e_flux"]
    data = svmgsu.Gaussians.from_frame(QTable(values))
    np.testing.assert_allclose(data.cov.variances, 4e-8)
    with pytest.raises(
        ValueError, match=r"column 'e_flux' is in s, its value 'flux' in Jy: .* not convertible"
    ):
        svmgsu.Gaussians.from_frame(QTable({"flux": values["flux"], "e_flux": [1.0, 1.0] * units.s}))


def test_options_that_fit_does_not_have_are_those_of_from_frame():
    table = pd.DataFrame({"x": [-99.0] * 3 + [1.0, 2.0, 3.0], "x_err": 0.1})
    y = [0, 1, 0, 0, 1, 1]
    advice = r"say svmgsu\.Gaussians\.from_frame\(table, na_values=\[-99\]\)$"
    with pytest.warns(UserWarning, match=advice):
        svmgsu.GSUClassifier(members="linear").fit(table, y)
    data = svmgsu.Gaussians.from_frame(table, na_values=[-99], missing="keep")
    assert np.isnan(data.mean[:, 0]).tolist() == [True] * 3 + [False] * 3
    with pytest.raises(ValueError, match='missing="drop" leaves such samples out'):
        svmgsu.Gaussians.from_frame(table, na_values=[-99])


def test_samples_that_from_frame_keeps_with_gaps_train_a_classifier():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", "z"])
    y = (table["x"] > 0).astype(int)
    table.loc[::7, "z"] = np.nan
    data = svmgsu.Gaussians.from_frame(table, missing="keep")
    assert svmgsu.GSUClassifier().fit(data, y).score(data, y) > 0.8


def test_masked_big_endian_and_uncertain_cells():
    table = Table({"x": np.array([1.0, 2.0, 3.0], dtype=">f8"), "e_x": [0.5, 0.5, 0.5]}, masked=True)
    table["x"].mask[1] = True
    assert svmgsu.Gaussians.from_frame(table, missing="drop").mean.ravel().tolist() == [1.0, 3.0]
    from uncertainties import ufloat

    frame = pd.DataFrame({"x": [ufloat(1.0, 0.5), ufloat(2.0, 0.25)], "z": ["1.2±0.3", "1.62(48)"]})
    data = svmgsu.Gaussians.from_frame(frame)
    assert data.mean.tolist() == [[1.0, 1.2], [2.0, 1.62]]
    np.testing.assert_allclose(np.sqrt(data.cov.variances), [[0.5, 0.3], [0.25, 0.48]])


def test_percentages_and_limits():
    frame = pd.DataFrame({"share": ["48.6%", "2 %"], "x": ["<0.5", "1.5"], "x_": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"row 0: column 'x' is '<0.5', a limit, one of 1; limits="):
        svmgsu.Gaussians.from_frame(frame)
    with pytest.warns(UserWarning, match=r"2 exact \(share, x_\)"):
        data = svmgsu.Gaussians.from_frame(frame, limits="half-normal")
    draws = np.abs(0.5 * np.random.default_rng(0).normal(size=400_000))
    assert data.mean[:, 0].tolist() == [0.486, 0.02]
    assert data.mean[0, 1] == pytest.approx(draws.mean(), rel=5e-3)
    assert data.cov.variances[0, 1] == pytest.approx(draws.var(), rel=1e-2)
    assert data.cov.variances[1, 1] == 0


@pytest.mark.parametrize(
    "ending", ["fits", "vot", "ecsv", "xlsx", "json", "jsonl", "dat", "txt", "csv.zst", "tsv.xz"]
)
def test_every_format_is_read_alike(ending, tmp_path):
    table = pd.DataFrame(TABLE).round(6).assign(**{"class": np.where(Y == 1, "star", "quasar")})
    path = tmp_path / f"t.{ending}"
    if ending in ("fits", "vot", "ecsv"):
        made = Table.from_pandas(table)
        made.write(path, format={"vot": "votable", "ecsv": "ascii.ecsv"}.get(ending, ending))
    elif ending == "xlsx":
        table.to_excel(path, index=False)
    elif ending.startswith("json"):
        table.to_json(path, orient="records", lines=ending == "jsonl")
    elif ending in ("dat", "txt"):
        path.write_text(table.to_string(index=False))
    elif ending == "csv.zst":
        import pyarrow

        with pyarrow.output_stream(path, compression="zstd") as file:
            file.write(table.to_csv(index=False).encode())
    else:
        table.to_csv(path, index=False, sep="\t")
    found = svmgsu.io.read(path)
    np.testing.assert_allclose(found.data.mean, table[["a", "b", "c"]].to_numpy())
    np.testing.assert_allclose(found.data.cov.variances, table[["e_a", "e_b", "e_c"]].to_numpy() ** 2)
    assert found.y.tolist() == table["class"].tolist()


def test_quantities_are_converted_or_refused():
    E_mJy = 1000 * E * units.mJy
    wanted = svmgsu.Gaussians(X, std=E).cov.variances
    np.testing.assert_allclose(svmgsu.Gaussians(X * units.Jy, std=E_mJy).cov.variances, wanted)
    np.testing.assert_allclose(svmgsu.Gaussians(X * units.Jy, E_mJy**2).cov.variances, wanted)
    for model in (svmgsu.LinearSVMGSU(lam=0.1), svmgsu.GSUClassifier(n_frequencies=10)):
        for given, message in [
            (E, "std: X is in Jy, but std has no unit"),
            (E * units.s, "std: .* not convertible"),
        ]:
            with pytest.raises(ValueError, match=message):
                model.fit(X * units.Jy, Y, std=given)
        with pytest.raises(ValueError, match="std: std is in mJy, but X has no unit"):
            model.fit(X, Y, std=E_mJy)
        found = model.fit(X * units.Jy, Y, std=E_mJy).decision_function(X * units.Jy, std=E_mJy)
        np.testing.assert_allclose(found, model.fit(X, Y, std=E).decision_function(X, std=E), rtol=1e-6)


def test_arrays_of_uncertainties_bring_their_covariances():
    from uncertainties import unumpy

    values = unumpy.uarray(X, E)
    np.testing.assert_allclose(svmgsu.Gaussians(values).cov.variances, E**2)
    model = svmgsu.GSUClassifier(n_frequencies=10).fit(values, Y)
    np.testing.assert_array_equal(model.predict_proba(values), model.fit(X, Y, std=E).predict_proba(X, std=E))
    with pytest.raises(ValueError, match="std: the values of X bring their uncertainties"):
        svmgsu.LinearSVMGSU().fit(values, Y, std=E)
    values[:, 1] = values[:, 0] + values[:, 1]
    found = svmgsu.Gaussians(values).cov.to_full()
    np.testing.assert_allclose(found[:, 0, 1], E[:, 0] ** 2)
    np.testing.assert_allclose(found[:, 1, 1], E[:, 0] ** 2 + E[:, 1] ** 2)
    assert (found[:, 2, :2] == 0).all()


@pytest.mark.parametrize("given", ["std", "cov"])
def test_a_scaler_that_leaves_the_uncertainties_behind_is_told(given):
    noise = {"std": E, "cov": E**2}[given]
    for scaled in (StandardScaler().fit_transform(X), np.float32(StandardScaler().fit_transform(X))):
        with pytest.warns(UserWarning, match=rf"{given}: every feature .* svmgsu.Propagate\(StandardScaler"):
            svmgsu.LinearSVMGSU(lam=0.1).fit(scaled, Y, **{given: noise})
    with pytest.warns(UserWarning, match="does not scale std"):
        make_pipeline(StandardScaler(), svmgsu.LinearSVMGSU(lam=0.1)).fit(X, Y, linearsvmgsu__std=E)
    with pytest.raises(ValueError, match="does not scale std"):
        pipeline = make_pipeline(StandardScaler(), svmgsu.LinearSVMGSU(lam=0.1))
        pipeline.fit(1000 * X, Y, linearsvmgsu__std=1000 * E)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svmgsu.LinearSVMGSU(lam=0.1).fit(svmgsu.Gaussians(scaled, std=0.1), Y)
        svmgsu.LinearSVMGSU(lam=0.1).fit(X, Y, std=E)


def test_the_target_in_a_table_is_no_feature():
    table = pd.DataFrame(TABLE).assign(label=Y)
    plain = svmgsu.LinearSVMGSU(lam=0.1).fit(pd.DataFrame(TABLE), Y)
    for y in ("label", table["label"]):
        model = svmgsu.LinearSVMGSU(lam=0.1).fit(table, y)
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_what_is_no_table_yet_is_refused_with_the_cure():
    with pytest.raises(TypeError, match=r"X: a lazy frame has no rows yet; pass X.collect\(\)"):
        svmgsu.LinearSVMGSU().fit(pl.DataFrame(TABLE).lazy(), Y)
    with pytest.raises(TypeError, match="X: expected an array or a table, got a dict; pass pandas"):
        svmgsu.LinearSVMGSU().fit(TABLE, Y)


def test_labels_in_bytes_as_fits_has_them():
    model = svmgsu.LinearSVMGSU().fit(X, np.where(Y == 1, b"star", b"quasar"), std=E)
    assert model.classes_.tolist() == ["quasar", "star"]


def test_a_scaler_that_makes_features_of_uncertainties_is_refused():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    table = pd.DataFrame({"flux": rng.normal(size=40) + y, "flux_err": rng.uniform(0.1, 0.3, 40)})
    scaled = make_pipeline(StandardScaler(), svmgsu.LinearSVMGSU())
    with pytest.raises(ValueError, match=r"features of the uncertainties flux_err.*svmgsu.Propagate\(Stand"):
        scaled.fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(svmgsu.Propagate(StandardScaler()), svmgsu.LinearSVMGSU()).fit(table, y)
        scaled.fit(table.rename(columns={"flux_err": "size"}), y)
        scaled.fit(table.to_numpy(), y)
        chosen = ColumnTransformer([("values", StandardScaler(), ["flux"])])
        make_pipeline(chosen, svmgsu.LinearSVMGSU()).fit(table, y)


def test_predictions_use_the_correlations_of_a_table():
    table = pd.DataFrame(TABLE).assign(a_b_corr=0.9)
    cov = np.apply_along_axis(lambda e: np.diag(e**2), 1, E)
    cov[:, 0, 1] = cov[:, 1, 0] = 0.9 * E[:, 0] * E[:, 1]
    model = svmgsu.GSUClassifier(**POOL).fit(table, Y)
    np.testing.assert_allclose(model.predict_proba(table), model.predict_proba(X, cov=cov), atol=1e-12)
    assert np.abs(model.predict_proba(table) - model.predict_proba(X, std=E)).max() > 0.01
    # A feature that is asked for by its name is a value.
    names = ["a", "b", "a_b_corr"]
    assert svmgsu.Gaussians.from_frame(table, features=names).feature_names_in_ == names


def test_data_frames_are_made_only_of_outputs_without_covariances():
    table = pd.DataFrame(TABLE)
    scaler = svmgsu.Propagate(StandardScaler()).set_output(transform="pandas")
    assert isinstance(scaler.fit_transform(table), svmgsu.Gaussians)
    assert isinstance(scaler.transform(table), svmgsu.Gaussians)
    assert isinstance(scaler.fit_transform(table[["a", "b"]]), pd.DataFrame)
