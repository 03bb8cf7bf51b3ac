"""`svmgsu report`: from a table to a page, whatever the table holds."""

import json

import numpy as np
import pandas as pd
import pytest

from svmgsu.cli import main


@pytest.fixture(scope="module")
def table():
    """With a class, bars, text, an empty column, holes, and several objects of one star."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    frame = pd.DataFrame(
        {
            "name": [f"star {k}" for k in range(90)],
            "star": np.arange(90) // 2,
            "a": X[:, 0] + 0.3 * rng.normal(size=90),
            "a_err1": 0.3,
            "a_err2": -0.2,
            "b": X[:, 1],
            "b_std": np.where(np.arange(90) % 2, np.nan, 0.1),
            "empty": np.nan,
            "class": np.where(X.sum(axis=1) > 0, "up", "down"),
        }
    )
    frame.loc[3, "a"] = np.nan
    return frame


@pytest.fixture
def folder(table, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_for_a_table_with_all_that_tables_have(folder, capsys):
    assert main(["report", "t.csv", "--quick", "--groups", "star", "-o", "r.html", "--json"]) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert [f["name"] for f in facts["features"]] == ["a", "b"]
    assert facts["features"][0]["missing"] == 1 and facts["features"][1]["missing"] == 45
    notes = " ".join(facts["notes"])
    assert "1 id (name)" in notes and "empty: empty" in notes
    assert facts["settings"]["groups"] and facts["task"] == "classification"
    page = (folder / "r.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>") and "Do the uncertainties of t.csv matter?" in page
    names = {}
    exec(facts["advice"]["code"], names)  # as printed
    assert len(names["y"]) == len(names["groups"]) == 90 and set(names["y"]) == {"up", "down"}
    assert [p.name for p in folder.iterdir() if "partial" in p.name] == []


@pytest.fixture
def given(monkeypatch):
    """What the command passes to `svmgsu.report`, which is interrupted."""
    passed = {}

    def stop(*_, **options):
        passed.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr("svmgsu.reporting.report", stop)
    return passed


def test_the_command_trains_without_ignored_features_and_without_uncertainties(folder, given, capsys):
    assert main(["report", "t.csv", "--groups", "star", "-o", "r.html"]) == 130
    assert given["command"](["b"], True) == "svmgsu train t.csv --target class --ignore b --groups=star"
    command = given["command"]([], False)
    assert command == "svmgsu train t.csv --target class --exact a,b --groups=star"
    capsys.readouterr()
    assert main([*command.split()[1:], "--set", "members=linear", "-o", "m.svmgsu"]) == 0
    assert "2 exact" in capsys.readouterr().out


def test_ids_that_repeat_and_codes_of_missing_values_are_cautions(folder, given, table):
    odd = table.rename(columns={"star": "star_id"})
    odd.loc[:3, "b"] = -999.0
    odd.to_csv("odd.csv", index=False)
    assert main(["report", "odd.csv", "-o", "r.html"]) == 130
    said = " ".join(given["cautions"])
    assert "star_id repeats: there are 45 different ones in 90 samples" in said and "-999" in said
    assert "-999" not in " ".join(given["notes"])
    assert main(["report", "odd.csv", "--groups", "star_id", "-o", "r.html"]) == 130
    assert "repeats" not in " ".join(given["cautions"])


def test_numbers_with_errors_are_a_regression(folder, table, capsys):
    table.assign(z=table["b"] * 2.0, z_err=0.1).drop(columns=["class"]).to_csv("z.csv", index=False)
    assert main(["report", "z.csv", "--target", "z", "--quick", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["task"] == "regression" and facts["measure"] == "RMSE"
    assert " has an RMSE of " in facts["advice"]["headline"]
    assert "weighted by 1/(τ² + e²)" in " ".join(facts["notes"])
    assert facts["table"]["target"]["typical error"] == pytest.approx(0.1)
    names = {}
    exec(facts["advice"]["code"], names)  # as printed
    assert len(names["y_std"]) == len(names["y"]) == 90


def test_columns_with_the_probability_of_each_class_are_labels_in_doubt(folder, table, capsys):
    chance = np.where(table["class"] == "up", 0.9, 0.2)
    doubtful = table.drop(columns=["class", "star"]).assign(p_up=chance, p_down=1 - chance)
    doubtful.to_csv("p.csv", index=False)
    assert main(["report", "p.csv", "--quick", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [f["name"] for f in facts["features"]] == ["a", "b"]
    assert facts["table"]["classes"].keys() == {"down", "up"}
    notes = " ".join(facts["notes"])
    assert "p_up, p_down" in notes and "Labels are class probabilities" in notes
    entropy = -np.mean(chance * np.log(chance) + (1 - chance) * np.log(1 - chance))
    assert all(system["score"] > entropy for system in facts["systems"])
    names = {}
    exec(facts["advice"]["code"], names)
    assert sorted(names["classes"]) == ["down", "up"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["t.csv"], 2, "-o: name the page to write"),
        (["t.csv", "-o", "-", "--json"], 2, "standard output takes the JSON already"),
        (["t.csv", "-o", "t.csv"], 2, "is a file to read"),
        (["t.csv", "-o", "no/r.html"], 1, "there is no folder"),
        (["t.csv", "-o", "r.html", "--target", "what"], 1, "there is no column 'what'"),
        (["t.csv", "-o", "r.html", "--cov", "c"], 2, "has no file of its own"),
        (["t.csv", "-o", "r.docx"], 2, "should end in .html"),
        (["three.csv", "-o", "r.html"], 1, "three.csv: need two classes with at least"),
        (["none.csv", "-o", "r.html"], 1, "which column is to be predicted"),
        (["t.csv", "-o", "r.html", "--missing", "error"], 1, "missing"),
        (["t.csv", "-o", "r.html", "--task", "regression"], 1, "regression"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_leaves_no_page(folder, words, code, message, capsys):
    (folder / "three.csv").write_text("a,a_err,label\n1,1,x\n2,1,y\n3,1,y\n")
    (folder / "none.csv").write_text("a,a_err\n1,1\n2,1\n3,1\n")
    before = sorted(p.name for p in folder.iterdir())
    try:
        found = main(["report", *words])
    except SystemExit as end:
        found = end.code
    said = capsys.readouterr().err
    assert found == code and message in said, said
    assert sorted(p.name for p in folder.iterdir()) == before


def test_an_interrupted_report_leaves_the_old_page(folder, monkeypatch, capsys):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    (folder / "r.html").write_text("old")
    monkeypatch.setattr("svmgsu.cli.report.read_data", interrupt)
    assert main(["report", "t.csv", "-o", "r.html"]) == 130
    assert capsys.readouterr().err == "svmgsu report: interrupted\n"
    assert (folder / "r.html").read_text() == "old"
    assert sorted(p.name for p in folder.iterdir()) == ["r.html", "t.csv"]
