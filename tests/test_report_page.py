"""The page of a report: well-formed, readable by all, and without anything that a name could run."""

import html.parser
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import svmgsu

ATTACKS = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</text></svg><script>document.title='owned'</script>",
    "--><script>document.title='owned'</script><!--",
    "\"'><svg onload=document.title='owned'>",
]
VOID = {"meta", "br", "img", "link", "hr", "input"}
CHROMIUM = next(
    (path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None
)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    y = np.array(ATTACKS)[np.arange(60) % 3]
    X = rng.normal(size=(60, len(ATTACKS))) + np.arange(60)[:, None] % 3
    data = svmgsu.Gaussians(X, std=0.5, feature_names=ATTACKS)
    ids = [f"{ATTACKS[k % 5]}{k}" for k in range(60)]
    return svmgsu.report(data, y, ids=ids, title=ATTACKS[0], notes=ATTACKS, quick=True)


@pytest.fixture(scope="module")
def page(found):
    return found.to_html(times=False)


class Reader(html.parser.HTMLParser):
    """Elements with their attributes; every one that is opened must be closed, in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_nothing_in_it_can_run(page):
    for tag, given in Reader(page).elements:
        assert tag not in ("script", "img", "iframe", "object", "embed", "link", "form", "base")
        assert not any(name.startswith("on") or name in ("src", "formaction") for name in given)
        assert not str(given.get("href", "#")).startswith(("javascript", "http", "data"))


def test_it_needs_no_network(page):
    # Names of XML's vocabularies are no addresses that anybody opens.
    addresses = set(re.findall(r"https?://[^\"'\s<]+", page))
    assert all(address.startswith("http://www.w3.org/") for address in addresses)
    assert "@import" not in page and "url(#" in page and not re.search(r"url\((?!#)", page)


def test_it_can_be_read_by_all(page):
    elements = Reader(page).elements
    assert dict(elements)["html"]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1 and max(np.diff(levels)) <= 1
    assert all(given.get("scope") in ("row", "col") for tag, given in elements if tag == "th")
    drawings = [given for tag, given in elements if tag == "svg"]
    assert len(drawings) == 6 and all(given["role"] == "img" and given["aria-label"] for given in drawings)
    ids = [given["id"] for _, given in elements if "id" in given]
    assert len(ids) == len(set(ids))
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page


def test_references_inside_drawings_lead_somewhere(page):
    ids = {given["id"] for _, given in Reader(page).elements if "id" in given}
    wanted = set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'href="#([^"]+)"', page))
    assert wanted and wanted <= ids


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(found):
    shown = found._repr_html_()
    (frame,) = Reader(shown).elements
    assert frame[0] == "iframe" and frame[1]["srcdoc"].startswith("<!DOCTYPE html>")


def test_odd_characters_are_no_harm(found):
    from svmgsu.reporting.page import text

    assert text("a\x00b\ud800<&\"'") == "a\ufffdb\ufffd&lt;&amp;&quot;&#x27;"


def test_a_file_is_written_whole(found, tmp_path):
    found.to_html(tmp_path / "r.html", times=False)
    assert (tmp_path / "r.html").read_text("utf-8") == found.to_html(times=False)
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here (Debian: apt-get install chromium)")
def test_no_name_runs_in_a_browser(page, tmp_path):
    """The document after all scripts, if there were some, have run."""
    (tmp_path / "r.html").write_text(page, encoding="utf-8")
    # Chromium as root has no sandbox of its own.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    options = ["--headless", *root, "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [CHROMIUM, *options, (tmp_path / "r.html").as_uri()],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert "Do they help?" in done.stdout, done.stderr
    (title,) = re.findall("<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title == "&lt;script&gt;document.title='owned'&lt;/script&gt;"
    assert not re.search("<(script|img)", done.stdout)
