"""The C++ reference: Doxygen reads the headers, Breathe shows them; without Doxygen a page says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .pages import ROOT

HEADERS = ROOT / "cpp" / "include" / "svmgsu"

# The headers that an embedding application meets; svmgsu.hpp includes them all.
SHOWN = {
    "Samples and targets": ("data/gaussians.hpp", "data/rows.hpp", "data/training_set.hpp"),
    "Covariances": ("kinds/covariance.hpp",),
    "Training": ("models/fit.hpp", "solvers/solve.hpp", "losses/loss.hpp", "engines/objective.hpp"),
    "Models": ("models/model.hpp", "models/classification.hpp", "models/calibration.hpp"),
    "Feature maps": ("maps/maps.hpp", "data/subspace.hpp"),
    "Populations": ("population/deconvolution.hpp",),
    "Text files": ("text/io.hpp",),
    "Vectors, matrices, errors": ("support/dense.hpp", "support/types.hpp"),
}  # fmt: skip

SECTIONS = (
    "briefdescription detaileddescription innernamespace innerclass public-type public-func public-attrib "
    "public-static-func func typedef enum"
)

# Our comments are plain //; to Doxygen they are ///, and the first of a file describes the file.
FILTER = r"""
NR == 1 && /^\/\// { print "/// \\file" }
/^ *\/\/ / { gsub(/</, "\\&lt;"); gsub(/>/, "\\&gt;"); sub(/\/\/ /, "/// ") }
/[;,] +\/\/ / { sub(/\/\/ /, "///< ") }
/^ *\/\/$/ { sub(/\/\//, "///") }
{ print }
"""

DOXYFILE = """
PROJECT_NAME = svmgsu
INPUT = {headers}
RECURSIVE = YES
FILE_PATTERNS = *.hpp
STRIP_FROM_PATH = {root}
INPUT_FILTER = "awk -f {output}/filter.awk"
OUTPUT_DIRECTORY = {output}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
JAVADOC_AUTOBRIEF = YES
QUIET = YES
WARNINGS = NO
WARN_IF_UNDOCUMENTED = NO
MACRO_EXPANSION = YES
EXTRACT_ALL = YES
"""


def write(folder: Path) -> bool:
    """Writes cpp-api.md, and what Doxygen found; whether there is a Doxygen."""
    page = folder / "cpp-api.md"
    head = "# C++ reference\n\n`#include <svmgsu/svmgsu.hpp>` has it all ([guide](guide/cpp.md)).\n\n"
    doxygen = shutil.which("doxygen")
    if doxygen is None:
        names = "\n".join(
            f"- {title}: {', '.join(f'`{h}`' for h in headers)}" for title, headers in SHOWN.items()
        )
        page.write_text(
            f"{head}This copy of the site was built without Doxygen: read the headers.\n\n{names}\n",
            encoding="utf-8",
        )
        return False
    output = folder / "doxygen"
    output.mkdir()
    (output / "filter.awk").write_text(FILTER, encoding="utf-8")
    text = DOXYFILE.format(headers=HEADERS, root=ROOT / "cpp" / "include", output=output)
    subprocess.run([doxygen, "-"], input=text, encoding="utf-8", check=True, stderr=subprocess.DEVNULL)
    parts = [head]
    for title, headers in SHOWN.items():
        parts.append(f"## {title}\n\n")
        for header in headers:
            parts.append(
                f"### `{header}`\n\n```{{doxygenfile}} {Path(header).name}\n:sections: {SECTIONS}\n```\n\n"
            )
    page.write_text("".join(parts), encoding="utf-8")
    return True
