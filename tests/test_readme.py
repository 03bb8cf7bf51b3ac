"""The Python examples of the README run, one after the other."""

import re
from pathlib import Path

import numpy as np
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
