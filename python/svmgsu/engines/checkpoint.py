"""A record of what a solver has been told, so that a solution that was cut short goes on to the same bits."""

from __future__ import annotations

import os
from pathlib import Path

from .. import _core

_MAGIC = b"svmgsu checkpoint 2\n"


class Checkpoint:
    """A file that grows by the sums of each pass, a few kilobytes.

    Parameters
    ----------
    path : str or path
    fingerprint : bytes
        Of the data and the settings. A file with another one is refused.
    resume : bool, default=False
        Go on where an earlier solution has stopped, if there is a file; otherwise it is begun anew.

    Notes
    -----
    `_core.solve(data, options, earlier=checkpoint.earlier, record=checkpoint.record)` takes the steps of an
    earlier solution again from its record, without reading the data, and goes on: the result has the same
    bits as one that was never stopped. An entry that was cut short, as by a kill, is left out.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: bytes, resume: bool = False) -> None:
        self.path = Path(path)
        head = _MAGIC + len(fingerprint).to_bytes(8, "little") + fingerprint
        self.earlier = b""
        if resume and self.path.exists():
            text = self.path.read_bytes()
            if not text.startswith(_MAGIC):
                raise ValueError(f"checkpoint: {self.path} is not a checkpoint of this version")
            if not text.startswith(head):
                raise ValueError(
                    f"checkpoint: {self.path} is of other data or settings; remove it to begin anew"
                )
            body = text[len(head) :]
            self.earlier = body[: _core.journal_length(body)]
        new = self.path.with_name(self.path.name + ".new")
        try:
            new.write_bytes(head + self.earlier)
            os.replace(new, self.path)
        finally:
            new.unlink(missing_ok=True)

    def record(self, entry: bytes) -> None:
        """Appends an entry."""
        with open(self.path, "ab") as stream:
            stream.write(entry)
