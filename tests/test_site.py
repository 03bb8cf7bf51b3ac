"""tools.site: the reference has every public name, and the check of a built site finds what is wrong."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from tools.site import check, cpp, pages, reference

import svmgsu


def test_the_reference_has_every_exported_name():
    modules = reference.modules()
    listed = {name for name in svmgsu.__all__ if not inspect.ismodule(getattr(svmgsu, name))}
    assert listed == set(reference.names_of("svmgsu"))
    for name in set(svmgsu.__all__) - listed:
        assert f"svmgsu.{name}" in modules
    for module in modules:
        assert reference.names_of(module), module


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
