"""Assemble the sources of the site in one folder: docs/, pages kept elsewhere, and the links between them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

# Pages that live outside docs/, where people who read the repository look for them: what the site calls them.
OUTSIDE = {
    "CONTRIBUTING.md": "contributing/guide.md",
    "CHANGELOG.md": "contributing/changelog.md",
    "SECURITY.md": "contributing/security.md",
    "RELEASE.md": "contributing/release.md",
    "bench/NOTES.md": "benchmarks/notes.md",
    "bench/paper/RESULTS.md": "benchmarks/paper.md",
}

# Pages that other modules of this folder write.
MADE = {DOCS / "reference" / "index.rst", DOCS / "cpp-api.md"}

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```[ ]*$)", flags=re.M | re.S)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", flags=re.M | re.S)


class BrokenLink(Exception):
    """A page names a file that is not there."""


def sources() -> dict[Path, str]:
    """Every page: its file, and its name on the site."""
    found = {path: path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))}
    found |= {ROOT / source: name for source, name in OUTSIDE.items()}
    for path in sorted((ROOT / "bench").rglob("*.md")):
        place = path.name if path.parent.name == "results" else f"{path.parent.name}-{path.name.lower()}"
        found.setdefault(path, f"benchmarks/{place}")
    return found


def relative(target: str | Path, page: str) -> str:
    return Path(os.path.relpath(target, Path(page).parent)).as_posix()


def translate(text: str, source: Path, page: str, pages: dict[Path, str], folder: Path) -> str:
    """The text of a page with its links, which are those of the repository, made those of the site."""

    def link(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        name, hash, anchor = target.partition("#")
        file = (source.parent / name).resolve()
        if file in MADE:
            return f"[{words}]({relative(file.relative_to(DOCS), page)})"
        if not file.exists():
            raise BrokenLink(f"{source.relative_to(ROOT)}: there is no {target}")
        if file in pages:
            return f"{mark}[{words}]({relative(pages[file], page)}{hash}{anchor})"
        if file.parent in (ROOT / "examples", ROOT / "examples" / "real") and file.suffix == ".py":
            place = "auto_examples" / file.relative_to(ROOT / "examples")
            return f"[{words}]({relative(place.with_suffix('.rst'), page)})"
        if file == ROOT / "examples" / "README.rst":
            return f"[{words}]({relative('auto_examples/index.rst', page)})"
        if file == ROOT / "README.md":
            return f"[{words}]({relative('index.md', page)})"
        if file.is_dir():
            return f"`{file.relative_to(ROOT).as_posix()}/`"
        if not file.is_relative_to(DOCS):  # a picture or a file to download
            copy = folder / "files" / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
            name = relative(copy.relative_to(folder), page)
        else:
            name = relative(file.relative_to(DOCS), page)
        return f"![{words}]({name})" if mark else f"{{download}}`{words.strip('`')} <{name}>`"

    pieces = FENCE.split(text)
    return "".join(piece if piece.startswith("```") else LINK.sub(link, piece) for piece in pieces)


def expand(page: str, block: str, names: list[str], before: Collection[str] = ()) -> list[str]:
    """The lines of a toctree; a pattern becomes the pages that match it and were not named before."""
    lines: list[str] = []
    for line in map(str.strip, block.splitlines()):
        if "*" not in line:
            lines.append(line)
            continue
        place = os.path.normpath(Path(page).parent / line)
        found = [name.removesuffix(".md") for name in names if fnmatch(name.removesuffix(".md"), place)]
        # A * stops at a folder, and an index is not a page of its own list.
        found = [name for name in found if name.count("/") == place.count("/") and not name.endswith("index")]
        lines += [e for name in found if (e := relative(name, page)) not in lines and e not in before]
    return lines


def with_lists(page: str, text: str, names: list[str]) -> str:
    """The text of a page, where the patterns of its toctrees are replaced by what they match."""
    listed: list[str] = []

    def whole(found: re.Match[str]) -> str:
        lines = expand(page, found[1], names, listed)
        listed.extend(lines)
        return "\n".join(["```{toctree}", *lines, "```"])

    return TOCTREE.sub(whole, text)


def in_toctrees(texts: dict[str, str]) -> set[str]:
    """The pages that a toctree names."""
    named = set()
    for page, text in texts.items():
        for block in TOCTREE.findall(text):
            for line in expand(page, block, sorted(texts)):
                line = re.sub(r".*<(.*)>$", r"\1", line)
                named.add(os.path.normpath(Path(page).parent / line) + ".md")
    return named & set(texts)


def assemble(folder: Path) -> None:
    """Writes all sources but what is made from the code (reference.py, cpp.py)."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.md", "__pycache__"))
    pages = sources()
    texts = {
        page: translate(source.read_text(encoding="utf-8"), source, page, pages, folder)
        for source, page in pages.items()
    }
    # A page that no table of contents names is listed at the end of the guide.
    others = sorted(set(texts) - in_toctrees(texts) - {"index.md"})
    last = [relative(page.removesuffix(".md"), "guide/index.md") for page in others]
    texts["guide/index.md"] = texts["guide/index.md"].replace("<!-- other pages -->", "\n".join(last))
    names = sorted(texts)
    for page, text in texts.items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        text = with_lists(page, text, names).replace("<BLANKLINE>\n", "\n")  # a mark for doctest alone
        (folder / page).write_text(text, encoding="utf-8")
