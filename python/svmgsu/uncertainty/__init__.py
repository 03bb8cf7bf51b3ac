"""Where uncertainty comes from: standard errors, repeats, images, signals and missing values as `Gaussians`.

Each function states its model, what it assumes and when it harms. `svmgsu.report` compares the uncertainties
with the spread of the data and measures whether they help.

>>> from svmgsu.uncertainty import from_errors
>>> from_errors([[1.0, 2.0]], std=[[0.1, 0.3]]).shape
(1, 2)
"""

from __future__ import annotations

from .augmentation import from_augmentation
from .errors import from_errors
from .images import from_images
from .population import from_missing, posterior
from .repeats import from_repeats
from .signals import DEAP_BANDS, DEAP_PAIR_BANDS, DEAP_PAIRS, from_welch

__all__ = [
    "DEAP_BANDS",
    "DEAP_PAIRS",
    "DEAP_PAIR_BANDS",
    "from_augmentation",
    "from_errors",
    "from_images",
    "from_missing",
    "from_repeats",
    "from_welch",
    "posterior",
]


def __dir__() -> list[str]:
    return sorted(__all__)
