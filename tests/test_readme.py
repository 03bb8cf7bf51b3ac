"""What the README shows runs as printed."""

import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import svmgsu

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.filterwarnings("ignore::svmgsu.TrivialModelWarning")  # four examples, and large errors
def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    made = svmgsu.Gaussians(rng.normal(size=(6, 2)), std=np.full((6, 2), 0.1))
    y = np.array([1, -1, 1, -1, 1, -1])
    ids = [f"doc_{i}" for i in range(6)]
    svmgsu.io.write(made, "means.dat", "labels.dat", "cov.dat.gz", y=y, ids=ids)
    svmgsu.io.write(made, "stars.parquet", y=y)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) >= 6
    namespace: dict[str, object] = {}
    exec(compile(blocks[0], "README.md", "exec"), namespace)
    assert namespace["model"].predict([[6.5, 1.5]]) == ["large"]
    large = np.arange(60) % 2 == 0  # four examples were enough for the first; a search needs more
    X = rng.normal(size=(60, 2)) + 2 * large[:, np.newaxis]
    namespace.update(X=X, y=np.where(large, "large", "small"), error=np.full((60, 2), 0.3))
    for block in blocks[1:]:
        exec(compile(block, "README.md", "exec"), namespace)


def test_the_calls_of_the_table_of_builders_run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    table = (
        README.read_text(encoding="utf-8")
        .partition("## Where uncertainty comes from")[2]
        .partition("\n## ")[0]
    )
    calls = re.findall(r"\| `([\w.]+\(.*\))` \|$", table, flags=re.M)
    assert len(calls) == 10
    names = {
        "svmgsu": svmgsu,
        "uncertainty": svmgsu.uncertainty,
        "frame": pd.DataFrame(
            {"x": [1.0, 2.0], "x_err": [0.1, 0.2], "z": [3.0, 4.0], "z_err1": 0.1, "z_err2": -0.2}
        ),
        "X": X,
        "std": np.full(X.shape, 0.1),
        "se": np.full(X.shape, 0.1),
        "groups": [X[:4], X[4:9], X[9:]],
        "images": rng.random((2, 6, 5)),
        "augment": lambda x, rng: x + rng.normal(size=x.shape),
        "signals": rng.normal(size=(2, 1024)),
        "fs": 128,
        "data": svmgsu.Gaussians(X, std=0.1),
        "f": np.exp,
    }
    for call in calls:
        expected = (
            pytest.warns(svmgsu.uncertainty.OnePopulationWarning) if "posterior" in call else nullcontext()
        )
        with expected:
            assert isinstance(eval(call, names), svmgsu.Gaussians), call
