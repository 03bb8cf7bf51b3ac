"""Figures in the README and the guides are those of files that a command wrote."""

import json
import re
from pathlib import Path

import pytest
from bench.evidence import readme, records, summary
from bench.tables import as_json

ROOT = Path(__file__).parents[1]
PAGES = [p for p in (ROOT / "README.md", ROOT / "docs/choosing.md") if p.exists()]
RESULTS = [
    *ROOT.glob("bench/results/*.*"),
    ROOT / "bench/paper/RESULTS.md",
    ROOT / "bench/paper/results.json",
]
FIGURE = re.compile(r"([+−-]?)(\d*\.?\d+) ± (\d*\.?\d+)")
MEANS = ("mean", "value", "ours", "gain", "beyond")
LONGEST = 3_000_000


def in_json(node):
    """All (mean, standard error) of a tree."""
    if isinstance(node, dict):
        if isinstance(node.get("se"), float):
            yield from ((node[k], node["se"]) for k in MEANS if isinstance(node.get(k), float))
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from in_json(item)


def measured():
    for path in RESULTS:
        if path.suffix == ".json":
            yield from in_json(json.loads(path.read_text(encoding="utf-8")))
        elif path.suffix == ".md":
            for _, mean, se in FIGURE.findall(path.read_text(encoding="utf-8")):
                yield float(mean), float(se)


def digits(text):
    return len(text.partition(".")[2])


def is_rounded(printed, exact, scale):
    """Whether the figure is `exact` in its units (100: points), rounded; half a digit either way."""
    return abs(float(printed) - scale * abs(exact)) <= 0.5 * 10.0 ** -digits(printed) + 1e-6 * scale


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_with_an_error_is_in_a_results_file(page):
    found = list(measured())
    missing = [
        f"{sign}{mean} ± {se}"
        for sign, mean, se in FIGURE.findall(page.read_text(encoding="utf-8"))
        if not any(
            is_rounded(mean, m, scale) and is_rounded(se, e, scale) for m, e in found for scale in (1, 100)
        )
    ]
    assert not missing, f"{page.name}: no results file has {missing}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_results_that_a_page_links_to_are_there(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?:\.\./)?(bench/[^)#]+|docs/images/[^)#]+)\)", text):
        assert (ROOT / link).exists(), f"{page.name}: there is no {link}"


evidence = pytest.mark.skipif(
    not (ROOT / "bench/results/evidence.json").exists(), reason="python -m bench.evidence was not run yet"
)


@evidence
def test_the_readmes_table_is_the_one_of_the_evidence():
    figures = json.loads((ROOT / "bench/results/evidence.json").read_text(encoding="utf-8"))
    block = readme.between((ROOT / "README.md").read_text(encoding="utf-8"))
    assert block is None or block == readme.block(figures), "run python -m bench.evidence --report"


@evidence
def test_the_figures_of_the_evidence_are_those_of_its_records():
    path = ROOT / "bench/results/evidence.jsonl"
    assert path.stat().st_size < LONGEST
    figures = json.loads((ROOT / "bench/results/evidence.json").read_text(encoding="utf-8"))
    assert json.loads(as_json(summary.summary(records.read(path)))) == figures
