"""Build the site; warnings, broken links, missing names and faults in a browser are errors."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import browser, check, cpp, pages, reference


def build(output: Path, sources: Path) -> None:
    pages.assemble(sources)
    reference.write(sources / "reference")
    if not cpp.write(sources):
        print("without the C++ reference: there is no doxygen here")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-b", "html"]
    environment = os.environ | {"SVMGSU_ROOT": str(pages.ROOT), "MPLBACKEND": "Agg"}
    subprocess.run([*command, str(sources), str(output)], check=True, env=environment)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("output", type=Path, help="folder of the built pages")
    parser.add_argument("--sources", type=Path, help="keep the assembled sources in this folder (a new one)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            build(args.output.resolve(), (args.sources or Path(folder) / "sources").resolve())
        except (subprocess.CalledProcessError, pages.BrokenLink) as error:
            print(f"tools.site: {error}", file=sys.stderr)
            return 1
    wrong = {
        "links that lead nowhere": check.broken_links(args.output),
        "public names without a page": check.missing_names(args.output),
        "empty pages": check.empty_pages(args.output),
        "in a browser": browser.faults(args.output),
    }
    for what, found in wrong.items():
        for line in found:
            print(f"{what}: {line}", file=sys.stderr)
    count = len(check.pages_of(args.output))
    print(f"{count} pages: python -m http.server -d {args.output}")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
