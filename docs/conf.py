"""Sphinx's settings. `python -m tools.site` copies this folder, adds pages made from code, and builds it."""

import os
import re
import sys
import tempfile
from pathlib import Path

import svmgsu

ROOT = Path(os.environ["SVMGSU_ROOT"])  # set by tools.site
sys.path.insert(0, str(Path(__file__).parent))

project = "svmgsu"
author = "the svmgsu developers"
copyright = f"2026, {author}"
version = release = svmgsu.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
if (Path(__file__).parent / "doxygen").is_dir():
    extensions.append("breathe")
    breathe_projects = {"svmgsu": str(Path(__file__).parent / "doxygen" / "xml")}
    breathe_default_project = "svmgsu"

exclude_patterns = ["doxygen", "files"]  # files are there to be downloaded
suppress_warnings = [
    "config.cache",
    "duplicate_declaration.cpp",  # Breathe opens the namespace anew for each header
]
default_role = "py:obj"  # `name` in a docstring: a link where there is such a name, else just code
highlight_language = "none"  # indented blocks are formulas or lines of a shell
nitpicky = False

# Markdown
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_substitutions = {"version": version}

# Reference
autosummary_generate = False  # tools.site writes one page per name
autodoc_typehints = "none"  # the docstrings say it
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Names of NumPy, SciPy and scikit-learn become links where the network may be used.
intersphinx_mapping = (
    {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }
    if os.environ.get("SVMGSU_INTERSPHINX")
    else {}
)

# Gallery: scripts of some seconds are run; those that take longer, or need other data, are shown.
SLOW = ("images", "missing")


def _picture_elsewhere(gallery_conf, script_vars):
    return ["--output", str(Path(tempfile.mkdtemp()) / "picture.png")]


sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples")],
    "gallery_dirs": ["auto_examples"],
    "ignore_pattern": r"__init__\.py",
    "filename_pattern": rf"examples/(?!{'|'.join(SLOW)})\w+\.py",
    "reset_argv": _picture_elsewhere,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 10000,
    "remove_config_comments": True,
    "write_computation_times": False,
}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = f"svmgsu {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "install", "first-steps", "theory", "cpp-api")}


def _of_others(app, what, name, obj, skip, options):
    """Members that scikit-learn makes are described there; their text refers to its pages."""
    ours = (getattr(obj, "__module__", None) or "svmgsu").startswith("svmgsu")
    last = name.rpartition(".")[2]
    made = last.startswith("set_") and last.endswith("_request")
    return True if made or not ours else None


def _plain_signs(app, what, name, obj, options, lines):
    """coef_ and |x| mean themselves in our docstrings; reStructuredText would look for links."""
    pieces = re.split(r"(``.*?``|`.*?`|^ *(?:>>>|\.\.\. ).*?$)", "\n".join(lines), flags=re.M | re.S)
    for k in range(0, len(pieces), 2):
        pieces[k] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", pieces[k]).replace("|", r"\|")
    lines[:] = "".join(pieces).split("\n")


def setup(app):
    app.connect("autodoc-skip-member", _of_others)
    app.connect("autodoc-process-docstring", _plain_signs, priority=900)  # after numpydoc
