"""The authors' text files and svmlight in pieces: stretches of whole lines, of all files side by side."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from ..data.definiteness import Psd
from ..io.files import name_of
from ..io.svmlight import read_svmlight
from ..io.text import read_text
from .cache import mark_of_file
from .pieces import Piece, Source
from .tables import unpacked

IN_ORDER = (
    "blocks of text files need the same examples in the same order in all of them; svmgsu.io.convert joins "
    "them by id, in memory"
)


class LineSource(Source):
    """Text files of means, and of labels and covariances beside them, line by line in the same order."""

    def __init__(
        self,
        paths: list[str],
        labels: list[str] | None,
        cov: list[str] | None,
        svmlight: bool,
        psd: Psd,
        options: dict[str, Any],
    ) -> None:
        none: list[str | None] = [None] * len(paths)
        self.groups = list(zip(paths, labels or none, cov or none, strict=True))
        self.svmlight, self.psd, self.options = svmlight, psd, dict(options)
        self.name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"

    def mark(self) -> Any:
        return [mark_of_file(path) for group in self.groups for path in group if path is not None]

    def pieces(self, room: int) -> Iterator[Piece]:
        known = {"sparse": False} | self.options
        if known.get("n_features") is None or (known.get("kind") is None and not self.svmlight):
            known |= self._survey(room)
        for group in self.groups:
            yield from self._group(group, max(1, room // (24 * int(known["n_features"]))), known)

    def _survey(self, room: int) -> dict[str, Any]:
        """What only the whole files show: the largest index, and the kind of the covariances."""
        n, cov_n, packed, bare, any_cov = 0, 0, False, False, False
        for means, _, cov in self.groups:
            files = [("means", means), *([] if cov is None else [("covariances", cov)])]
            for role, path in files:
                for text, first in _line_pieces(path, max(room // 16, 2**12)):
                    rows = self._rows(text, path, role, first)
                    if role == "means":
                        n = max(n, rows.features)
                    else:
                        any_cov = True
                        cov_n = max(cov_n, rows.features)
                        packed, bare = packed or bool(rows.packed), bare or bool(rows.bare)
        n = int(self.options.get("n_features") or (max(n, cov_n) if self.svmlight else n or cov_n))
        if not n:
            raise _core.FormatError(f"{self.name}: all means are zero; pass n_features= to say how many")
        found: dict[str, Any] = {"n_features": n}
        if any_cov and not self.svmlight and self.options.get("kind") is None:
            single = bare or (cov_n == 1 and not packed and n > 1)
            found["kind"] = "isotropic" if single else "full" if packed else "diagonal"
        return found

    def _rows(self, text: bytes, path: str, role: str, first: int) -> Any:
        format: Any = "svmlight" if self.svmlight else role
        zero_based = bool(self.options.get("zero_based"))
        with _at_line(path, first):
            return _core.read_rows(text, format, path, 2**31 - 1, "", zero_based, False, False, 1, None)

    def _group(
        self, group: tuple[str, str | None, str | None], count: int, known: dict[str, Any]
    ) -> Iterator[Piece]:
        """The examples of one file of means, `count` at a time."""
        files = [path for path in group if path is not None]
        readers = [_lines(path, count) for path in files]
        while True:
            taken = [next(reader, None) for reader in readers]
            if taken[0] is None and all(part is None for part in taken):
                return
            sizes = [0 if part is None else part[2] for part in taken]
            if len(set(sizes)) > 1:
                few, many = (name_of(files[int(k)]) for k in (np.argmin(sizes), np.argmax(sizes)))
                raise _core.FormatError(f"{few}: it has fewer examples than {many}; {IN_ORDER}")
            yield self._piece(group, dict(zip(files, taken, strict=True)), sizes[0], known)

    def _piece(
        self,
        group: tuple[str, str | None, str | None],
        taken: dict[str, Any],
        size: int,
        known: dict[str, Any],
    ) -> Piece:
        def part(path: str | None) -> Any:
            if path is None:
                return None
            file = io.BytesIO(taken[path][0])
            file.name = path
            return file

        means, labels, cov = group
        with _at_line(means, taken[means][1]):
            if self.svmlight:
                return Piece.of(read_svmlight(part(means), part(cov), **known))
            found = read_text(part(means), part(labels), part(cov), psd=self.psd, **known)
        if len(found.data) != size:
            lines = f"{taken[means][1] + 1} to {taken[means][1] + size}"
            raise _core.FormatError(f"{name_of(means)}: the ids of lines {lines} differ; {IN_ORDER}")
        return Piece.of(found)


def _line_pieces(path: str, size: int) -> Iterator[tuple[bytes, int]]:
    """Stretches of whole lines of about `size` bytes, with the number of lines before."""
    first, rest = 0, b""
    with unpacked(path) as file:
        while True:
            more = file.read(size)
            text = rest + more
            end = len(text) if not more else text.rfind(b"\n") + 1
            if end:
                yield text[:end], first
                first += text.count(b"\n", 0, end)
            rest = text[end:]
            if not more:
                return


def _lines(path: str, count: int) -> Iterator[tuple[bytes, int, int]]:
    """(lines with `count` examples among them, the number of lines before, how many examples)."""
    first = seen = 0
    held: list[bytes] = []
    with unpacked(path) as file:
        for done, line in enumerate(file, 1):
            held.append(line)
            seen += bool(line.split(b"#", 1)[0].strip())
            if seen == count:
                yield b"".join(held), first, seen
                first, held, seen = done, [], 0
        if seen:
            yield b"".join(held), first, seen


class _at_line:
    """Errors in a stretch of a file tell the line of the file."""

    def __init__(self, path: str, first: int) -> None:
        self.place = re.compile(rf"({re.escape(name_of(path))}:)(\d+)")
        self.first = first

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ValueError) and self.first and error.args:
            text = self.place.sub(lambda m: f"{m[1]}{int(m[2]) + self.first}", str(error.args[0]))
            raise type(error)(text) from None
