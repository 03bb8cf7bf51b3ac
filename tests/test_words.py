"""Texts for users say things in the words of the field."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from svmgsu.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
]
CODE = sorted([*ROOT.glob("python/svmgsu/**/*.py"), *ROOT.glob("examples/**/*.py")])

# What not to write, and what to write instead.
PRIVATE = {
    r"curved|straight(?! line)": "nonlinear, linear",
    r"(?<!error )(?<!error-)(?<!progress )bars?": "uncertainties, standard errors",
    r"on (?:noisy )?draws|noisy (?:copies|draws)": "trained on noise-augmented data",
    r"(?:training|validation|test|new|noisy|uncertain|positive|negative|weighted|held-out|of all|of each|"
    r"per|an?|k|which|fewer|these|all) examples?(?! (?:of|is|are|script))": "samples",
    r"(?:known|noisy|noisier|precise|blurred|held-out|these|uncertain) objects|of an object|an? object's": (
        "samples; objects only in astronomy"
    ),
    r"in doubt|as doubt|doubts? about": "soft labels, noisy labels",
    r"chances? of (?:a|the|each) class": "class probabilities",
    r"deployed?|deployment": "test-time noise; used",
    r"as it will be used|noise to come": "test-time noise",
    r"(?:classes'|class's) shares|shares? of (?:the|a|each) class(?:es)?": "class priors",
    r"humbler?": "less confident",
    r"(?<!or )(?<!turned, scaled, )(?<!brighter, )blurred(?! variance)": "noisy",
    r"known exactly": "noise-free",
    r"lapses?": "label-noise rate",
    r"damp(?:ing|ed)": "probit correction",
    r"answering|strange": "fallback model; out of distribution",
    r"beyond (?:the )?memory|data beyond": "out of core, larger than memory",
    r"(?<!-)planes?": "hyperplanes",
    r"as (?:it|they) comes?(?! )": "with default settings",
    r"fared|fares": "had the worst ...",
    r"of no account": "negligible",
    r"h[ua]ng together": "are correlated",
    r"(?:has|have) no say": "is ignored",
    r"holes?": "missing values",
    r"came true|what was stated": "observed frequency",
    r"twins?": "reference implementation",
    r"^\w+: there (?:are|is) none": "... is empty",
}  # fmt: skip
WORDS = {re.compile(rf"\b(?:{words})\b", re.I): better for words, better in PRIVATE.items()}

DRAWN = ("_repr.py", "plot/", "figures.py", "progress.py")  # files that draw bars, and may say so


def private_words(text, name):
    """Return a line for each private word of a text: where, what, and what to write."""
    plain = re.sub(r"\s+", " ", text)
    return [
        f"{name}: ...{plain[max(0, found.start() - 40) : found.end() + 20]}...: {better}"
        for pattern, better in WORDS.items()
        for found in pattern.finditer(plain)
        if not (found[0].lower() in ("bar", "bars") and any(part in str(name) for part in DRAWN))
    ]


def strings_of(path):
    """Return docstrings, messages and labels: all text of more than one word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return [text for text in texts if " " in text.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_use_the_words_of_the_field(page):
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", page.read_text(encoding="utf-8"), flags=re.S)
    assert not private_words(text, page.name)


def test_docstrings_and_messages_use_the_words_of_the_field():
    found = [
        line
        for path in CODE
        for text in strings_of(path)
        for line in private_words(re.sub(r"`[^`]*`", " ", text), path.relative_to(ROOT))
    ]
    assert not found, "\n".join(found)


def test_comments_of_examples_use_the_words_of_the_field():
    found = []
    for path in ROOT.glob("examples/**/*.py"):
        comments = re.findall(r"#(.*)", path.read_text(encoding="utf-8"))
        found += private_words(" \n".join(comments), path.name)
    assert not found, "\n".join(found)


def test_help_uses_the_words_of_the_field():
    names = [command.name for command in COMMANDS]
    code = (
        "import contextlib, sys; from svmgsu.cli import main\n"
        "for name in [None, *sys.argv[1:]]:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        main([*([name] if name else []), '--help'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, encoding="utf-8", check=True
    )
    assert all(f"svmgsu {name}" in done.stdout for name in names)
    assert not private_words(done.stdout, "help")
