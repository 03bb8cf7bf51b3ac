"""The package's papers agree with each other: versions, Pythons, recipes, citation."""

import re
from pathlib import Path

import jinja2
import pytest
import yaml

import svmgsu

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = PYPROJECT["project"]["version"]
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


def test_the_compiled_module_has_the_version_of_pyproject():
    assert svmgsu.__version__ == VERSION


def test_the_version_is_written_once():
    """Not in CMake, the recipe, the citation or the code: they read it, or do without."""
    files = [ROOT / name for name in ("CMakeLists.txt", "CITATION.cff", "conda/meta.yaml", "RELEASE.md")]
    files += [*(ROOT / "python").rglob("*.py"), *(ROOT / "docs").glob("*.py"), *(ROOT / "cpp").rglob("*.txt")]
    number = re.compile(rf"(?<![\d.>=]){re.escape(VERSION)}(?![\d.])")
    assert [path.name for path in files if number.search(path.read_text(encoding="utf-8"))] == []


def test_wheels_are_declared_for_every_python_that_is_promised():
    declared = [c.rpartition(" ")[2] for c in PYPROJECT["project"]["classifiers"] if "Python :: 3." in c]
    assert declared == PYTHONS
    assert PYPROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"
    wheels = PYPROJECT["tool"]["cibuildwheel"]
    assert wheels["build"] == [f"cp{python.replace('.', '')}-*" for python in PYTHONS]
    assert {"linux", "macos", "windows"} <= set(wheels)
    assert (ROOT / wheels["test-command"].partition("{project}/")[2]).is_file()


def recipe():
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    text = environment.from_string((ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8"))
    return yaml.safe_load(
        text.render(
            load_file_data=lambda name, from_recipe_dir: tomllib.loads(
                (ROOT / "conda" / name).read_text(encoding="utf-8")
            ),
            compiler=lambda language: f"{language}-compiler",
            stdlib=lambda language: f"{language}-stdlib",
            PYTHON="python",
        )
    )


def test_the_conda_recipe_has_the_version_programs_and_requirements_of_pyproject():
    found, project = recipe(), PYPROJECT["project"]
    assert found["package"] == {"name": "svmgsu", "version": VERSION}
    programs = dict(line.split(" = ") for line in found["build"]["entry_points"])
    assert programs == project["scripts"]
    host = [line.replace(" ", "") for line in found["requirements"]["host"]]
    for need in PYPROJECT["build-system"]["requires"]:
        assert need.replace("cmeel-", "") in host  # conda's Eigen instead of the wheel's
    run = [line.replace(" ", "") for line in found["requirements"]["run"]]
    assert set(project["dependencies"]) <= set(run)
    for path in [*found["about"]["license_file"], *found["test"]["source_files"]]:
        assert (ROOT / path).is_file()


def test_the_citation_is_whole_and_that_of_the_readme():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    for key in ("cff-version", "title", "message", "authors"):
        assert citation[key]
    paper = citation["preferred-citation"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert paper["doi"] in readme
    assert paper["title"] in readme
    for author in paper["authors"]:
        assert author["family-names"] in readme


@pytest.mark.parametrize("page", ["SECURITY.md", "RELEASE.md"])
def test_files_named_by_a_page_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in re.findall(r"`((?:tools|tests|docs|conda|bench)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


def test_a_pickle_in_an_archive_is_refused_as_the_page_on_security_says(tmp_path):
    import numpy as np

    np.savez(tmp_path / "bad.npz", mean=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match=r"bad\.npz"):
        svmgsu.io.read(tmp_path / "bad.npz")
