"""The builders are there when asked for, and bring nothing else along."""

import subprocess
import sys

import svmgsu


def test_importing_the_builders_loads_numpy_alone():
    code = (
        "import sys, svmgsu; assert 'svmgsu.uncertainty' not in sys.modules\n"
        "svmgsu.uncertainty.from_errors\n"
        "optional = ('scipy', 'sklearn', 'joblib', 'tqdm', 'pandas', 'matplotlib')\n"
        "print([m for m in optional if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_reachable():
    for name in svmgsu.uncertainty.__all__:
        assert getattr(svmgsu.uncertainty, name) is not None
