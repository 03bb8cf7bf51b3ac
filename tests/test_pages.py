"""The pages of the site: their blocks run as printed, each in its own folder, and their links lead somewhere.

A fenced block of Python runs after those before it on the page; so do the lines of `console` blocks that
begin with `$ `. Their output is compared with what follows, that of Python with a `text` block right after it
(... stands for anything, and numbers may differ a little). A comment <!-- not run: why --> above a block
leaves it out.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from tools.site import pages

import svmgsu

DOCS = pages.DOCS
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```"
    r"(?:\n\n```text\n(?P<printed>.*?)^```)?",
    re.M | re.S,
)
ELSEWHERE = {"command-line.md": "test_cli_docs.py"}
LONGEST_CELL = 200
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if path.name not in ELSEWHERE and re.search(r"```(python|console)", path.read_text(encoding="utf-8"))
]


def blocks_of(path):
    """Yield language, code and output of the blocks that can be run; a block that is left out says why."""
    for found in BLOCK.finditer(path.read_text(encoding="utf-8")):
        if found["language"] in ("python", "console") and not found["why"]:
            yield found["language"], found["code"], found["printed"]


def number(text):
    return float(text.replace("−", "-"))


def is_close(shown, printed):
    """Tell whether texts agree: ... is anything, numbers agree to a quarter (or 0.05, integers to 5)."""
    shown = re.sub(r"<BLANKLINE>", "", shown)
    pieces = re.split(rf"(\.\.\.|{NUMBER.pattern})", " ".join(shown.split()))
    pattern = "".join(
        ".*?" if piece == "..." else f"({NUMBER.pattern})" if NUMBER.fullmatch(piece) else re.escape(piece)
        for piece in pieces
    )
    match = re.fullmatch(pattern, " ".join(printed.split()))
    numbers = [piece for piece in pieces if NUMBER.fullmatch(piece)]
    return match is not None and all(
        abs(number(a) - number(b)) <= max(0.25 * abs(number(a)), 0.05 if "." in a else 5)
        for a, b in zip(numbers, match.groups(), strict=True)
    )


def check_output(code, shown, printed):
    assert is_close(shown, printed), f"{code}\nshown:\n{shown}\nprinted:\n{printed}"


def test_outputs_may_differ_in_last_digits_alone():
    assert is_close(
        "accuracy 0.94, ... s\n<BLANKLINE>\n[[0.1 0.9]]", "accuracy  0.96, 3.1 s\n\n[[0.1 0.9]]\n"
    )
    assert not is_close("accuracy 0.94", "accuracy 0.60")
    assert not is_close("285 samples", "200 samples")
    assert not is_close("285 samples", "285 rows")


def run_console(block, shell):
    for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = piece.partition("\n")
        done = subprocess.run(
            ["bash", "-c", shell + command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        check_output(command, shown, done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONUTF8", "1")
    source = Path(svmgsu.__file__).parent.parent
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
    )
    shell = f'svmgsu() {{ "{sys.executable}" -m svmgsu "$@"; }}; '
    namespace: dict[str, object] = {"__name__": "__main__"}
    for language, code, shown in blocks_of(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, page.name, "exec"), namespace)
            if shown is not None:
                check_output(code, shown, printed.getvalue())
        else:
            run_console(code, shell)
    plt.close("all")


def test_blocks_that_are_not_run_are_few_and_say_why():
    reasons = [
        found["why"]
        for page in PAGES
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
        if found["why"]
    ]
    assert all(len(why.split()) >= 2 for why in reasons)
    assert len(reasons) <= 12


def test_links_between_pages_and_files_lead_somewhere(tmp_path):
    found = pages.sources()
    assert len(found) > 20
    for source, page in found.items():
        pages.translate(source.read_text(encoding="utf-8"), source, page, found, tmp_path)


def test_a_link_that_leads_nowhere_is_an_error(tmp_path):
    page = DOCS / "index.md"
    with pytest.raises(pages.BrokenLink, match=r"docs/index\.md: there is no nowhere\.md"):
        pages.translate("[gone](nowhere.md#x)", page, "index.md", pages.sources(), tmp_path)


def test_anchors_of_links_are_headings():
    """As the site makes them: small letters, blanks as -, no other signs."""
    for source in pages.sources():
        for _, _, target in pages.LINK.findall(pages.FENCE.sub("", source.read_text(encoding="utf-8"))):
            name, _, anchor = target.partition("#")
            if not anchor or re.match(r"[a-z]+:", target) or not (name.endswith(".md") or not name):
                continue
            text = ((source.parent / name) if name else source).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.+)$", pages.FENCE.sub("", text), flags=re.M)
            made = {
                re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
            }
            assert anchor in made, f"{source.name}: {target}"


def test_every_page_has_a_title_and_is_listed():
    texts = {page: source.read_text(encoding="utf-8") for source, page in pages.sources().items()}
    for page, text in texts.items():
        assert text.lstrip().startswith("# "), page
    assert {"first-steps.md", "choosing.md", "theory.md", "guide/index.md"} <= pages.in_toctrees(texts)


def test_cells_of_tables_are_short():
    for page in [*DOCS.rglob("*.md"), pages.ROOT / "README.md"]:
        for line in re.findall(r"^\|.*\|$", page.read_text(encoding="utf-8"), flags=re.M):
            for cell in re.split(r"(?<!\\)\|", line):
                assert len(cell) <= LONGEST_CELL, f"{page.name}: {cell}"
