"""The builders are there when asked for, and bring nothing else along."""

import subprocess
import sys

import numpy as np
import pandas as pd

import svmgsu
from svmgsu.uncertainty import (
    from_errors,
    from_missing,
    from_repeats,
    from_standard_errors,
    posterior,
    propagate,
)


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


def test_names_of_columns_are_kept():
    frame = pd.DataFrame({"u": [1.0, 2.0, 4.0], "g": [3.0, 5.0, 4.0]})
    bars = from_errors(frame, 0.1)
    built = [
        bars,
        from_errors(frame, upper=0.1, lower=0.2),
        from_standard_errors(frame, 0.1),
        from_repeats(frame, ["a", "a", "a"]),
        from_missing(frame),
        posterior(bars),
        propagate(np.log, bars),
    ]
    assert [data.feature_names_in_ for data in built] == [["u", "g"]] * len(built)
    assert propagate([[1, -1]], bars).feature_names_in_ is None
