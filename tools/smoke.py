"""Tries an installed svmgsu with NumPy alone: trains, predicts, saves, loads, and runs the command line.

    python tools/smoke.py

Run it from another folder than the source tree, where `import svmgsu` finds what is installed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import svmgsu


def table(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, error bars and classes of two clouds."""
    y = np.arange(count) % 2
    return rng.normal(size=(count, 3)) + 1.5 * y[:, None], rng.uniform(0.1, 0.5, (count, 3)), y


def main() -> None:
    assert not Path(svmgsu.__file__).resolve().is_relative_to(Path(__file__).resolve().parents[1] / "python")
    assert "sklearn" not in sys.modules
    rng = np.random.default_rng(0)
    X, error, y = table(rng, 400)
    model = svmgsu.train(X, y, std=error, lam=1e-2)
    assert 0 <= model.gap_ <= 1e-6 * model.objective_
    new, bars, truth = table(rng, 400)
    accuracy = (model.predict(new) == truth).mean()
    assert accuracy > 0.85, accuracy
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.svmgsu"
        model.save(path)
        again = svmgsu.load(path)
        assert (again.predict_proba(new, std=bars) == model.predict_proba(new, std=bars)).all()
        command = [sys.executable, "-m", "svmgsu", "info", str(path)]
        told = subprocess.run(command, cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout
    assert (Path(svmgsu.get_cmake_dir()) / "svmgsuConfig.cmake").is_file()
    print(told, end="")
    print(f"svmgsu {svmgsu.__version__}: {100 * accuracy:.1f} % right, gap {model.gap_:.1e}")


if __name__ == "__main__":
    main()
