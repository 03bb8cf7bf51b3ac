"""The guides run as printed."""

import re
from pathlib import Path

import svmgsu

DOCS = Path(__file__).parents[1] / "docs"


def blocks_of(path, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.S)


def test_the_guide_to_scikit_learn_runs():
    blocks = blocks_of(DOCS / "scikit-learn.md")
    assert len(blocks) == 7
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "scikit-learn.md", "exec"), namespace)
    assert (
        namespace["pipeline"].fit(namespace["data"], namespace["y"]).score(namespace["data"], namespace["y"])
        > 0.9
    )
    assert namespace["found"].importances_mean.shape == (26,)
    assert len(namespace["kept"]) == 5
    assert isinstance(namespace["unpack"](namespace["table"]), svmgsu.Gaussians)


def test_the_guide_to_big_data_runs():
    namespace: dict[str, object] = {}
    for block in blocks_of(DOCS / "big-data.md"):
        exec(compile(block, "big-data.md", "exec"), namespace)
    assert len(namespace["blocks"]) == 2000
    assert namespace["model"].gap_ < 1e-6
