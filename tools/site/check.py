"""Looks at a built site: every link inside it leads somewhere, and every public name is in its index."""

from __future__ import annotations

import importlib
import inspect
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from . import reference


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.words = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := found.get(key))}
        self.links += [value for key in ("href", "src") if (value := found.get(key))]

    def handle_data(self, data: str) -> None:
        self.words += len(data.split())


def pages_of(site: Path) -> list[Path]:
    """What a reader may open; the theme's templates in _static are not."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts)


def broken_links(site: Path) -> list[str]:
    """Links of a page to a file or an anchor that is not there; addresses of other sites are left alone."""
    pages = {path: Page(path) for path in pages_of(site)}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.relative_to(site)}: {link}, no such place in that page")
    return broken


def empty_pages(site: Path) -> list[str]:
    """Pages with nothing on them but the frame."""
    least = 60
    return [path.relative_to(site).as_posix() for path in pages_of(site) if Page(path).words < least]


def missing_names(site: Path) -> list[str]:
    """Public names, and methods of public classes, that the index of the site does not have."""
    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: path)
    known = {name for domain, entries in inventory.items() if domain.startswith("py:") for name in entries}
    wanted = []
    for module in reference.modules():
        for name in reference.names_of(module):
            wanted.append(f"{module}.{name}")
            thing = getattr(importlib.import_module(module), name)
            if inspect.isclass(thing):
                wanted += [f"{module}.{name}.{member}" for member in reference.members_of(thing)]
    return [name for name in wanted if name not in known]
