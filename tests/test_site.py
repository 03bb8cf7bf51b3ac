"""tools.site: the reference has every public name, and the check of a built site finds what is wrong."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from tools.site import browser, check, cpp, pages, reference

import svmgsu


def test_the_reference_has_every_exported_name():
    modules = reference.modules()
    listed = {name for name in svmgsu.__all__ if not inspect.ismodule(getattr(svmgsu, name))}
    assert listed == set(reference.names_of("svmgsu"))
    for name in set(svmgsu.__all__) - listed:
        assert f"svmgsu.{name}" in modules
    for module in modules:
        assert reference.names_of(module), module


def test_groups_name_what_there_is_and_nothing_twice():
    grouped = [name for group in reference.GROUPS.values() for name in group]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) <= set(svmgsu.__all__)


@pytest.mark.parametrize(
    ("name", "members"),
    {
        "LinearSVMGSU": {"fit", "predict", "predict_proba", "decision_function"},
        "SGDSVMGSU": {"fit", "partial_fit", "predict"},
        "GSUClassifier": {"fit", "predict", "explain"},
        "GSURegressor": {"fit", "predict"},
        "Deconvolution": {"fit", "transform", "score_samples"},
        "Gaussians": {"from_frame", "with_cov", "subspace"},
    }.items(),
)
def test_methods_of_estimators_count_as_names_but_not_those_of_scikit_learn(name, members):
    found = set(reference.members_of(getattr(svmgsu, name)))
    assert members <= found
    assert not {"get_params", "set_params", "get_metadata_routing", "set_fit_request"} & found


@pytest.mark.parametrize("module", reference.modules())
def test_every_callable_has_a_line_in_the_tables(module):
    for name in reference.names_of(module):
        assert reference.summary(getattr(importlib.import_module(module), name)), f"{module}.{name}"


def test_headers_of_the_cpp_reference_are_there_and_have_names_of_their_own():
    shown = [header for headers in cpp.SHOWN.values() for header in headers]
    assert all((cpp.HEADERS / header).is_file() for header in shown)
    everywhere = [path.name for path in cpp.HEADERS.rglob("*.hpp")]
    for header in shown:
        assert everywhere.count(Path(header).name) == 1, header


def test_pages_that_the_cpp_reference_links_to_are_there():
    links = re.findall(r"\]\(([\w/-]+\.md)\)", Path(cpp.__file__).read_text(encoding="utf-8"))
    assert links
    assert all((pages.DOCS / link).is_file() for link in links)


def test_patterns_of_lists_find_pages_once():
    names = ["a/index.md", "a/one.md", "a/two.md", "big.md"]
    block = ":hidden:\n\ntwo\n*\n../big*\n../none*\n"
    assert pages.expand("a/index.md", block, names) == [":hidden:", "", "two", "one", "../big"]
    text = "```{toctree}\ntwo\n```\n\n```{toctree}\n*\n```\n"
    assert "two\n```\n\n```{toctree}\none\n```" in pages.with_lists("a/index.md", text, names)


def test_links_and_anchors_of_a_built_site_are_checked(tmp_path):
    words = "word " * 100
    (tmp_path / "b.html").write_text(f'<h1 id="top">B</h1>{words}', encoding="utf-8")
    links = ("b.html", "b.html#top", "b.html#gone", "c.html", "https://example.org/x", "#here")
    body = "".join(f'<a href="{link}">x</a>' for link in links)
    (tmp_path / "a.html").write_text(f'<p id="here">{words}</p>{body}', encoding="utf-8")
    (tmp_path / "empty.html").write_text("<p>nothing</p>", encoding="utf-8")
    assert check.broken_links(tmp_path) == [
        "a.html: b.html#gone, no such place in that page",
        "a.html: c.html",
    ]
    assert check.empty_pages(tmp_path) == ["empty.html"]


@pytest.mark.skipif(browser.chromium() is None, reason="there is no Chromium here")
def test_wide_pages_faint_text_and_errors_are_found_in_a_browser(tmp_path):
    head = '<!DOCTYPE html><meta name="viewport" content="width=device-width">'
    (tmp_path / "good.html").write_text(f"{head}<main><p>black on white</p></main>", encoding="utf-8")
    wide = (
        '<p style="width: 600px">wide</p><p style="color: #aaa">faint</p><script>console.error("oh")</script>'
    )
    (tmp_path / "bad.html").write_text(f"{head}<main>{wide}</main>", encoding="utf-8")
    assert browser.faults(tmp_path, ("good.html",)) == []
    found = "\n".join(browser.faults(tmp_path, ("bad.html",)))
    assert "bad.html at 390 px is 608 px wide" in found
    assert 'contrast 2.32 of "faint"' in found
    assert "console:" in found and "oh" in found
    assert "at 1280 px is" not in found
