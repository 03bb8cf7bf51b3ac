"""What tests of model share."""

import numpy as np

import svmgsu
from svmgsu.models.calibration import Calibration


def small_model(classes=(0, 1), n=3, **changes):
    """A model of any numbers: one decision value for each pair of classes."""
    rng = np.random.default_rng(0)
    rows = len(classes) * (len(classes) - 1) // 2
    values = {
        "coef_": rng.normal(size=(rows, n)) * 10.0 ** rng.integers(-300, 300, (rows, n)),
        "intercept_": rng.normal(size=rows),
        "classes_": np.array(classes),
        "lam": 0.1,
        "calibration_": tuple(Calibration(1 / 3 + k, -0.1, 2e300, 1e-17) for k in range(rows)),
    }
    return svmgsu.models.classifier.Model(**{**values, **changes})
