"""The kinds of covariance, one file each. Each holds its arrays, slices, joins, maps, saves and describes
itself, and makes its view for the core.

A linear map of the features turns a kind into the cheapest kind that holds the image exactly.
"""

from .base import Covariance, Psd, added, chosen_rows
from .diagonal import Diagonal
from .full import Full, check_psd, semidefinite
from .isotropic import Isotropic
from .low_rank import LowRank
from .shared import Shared
from .sum import Sum, beside, join

__all__ = [
    "Covariance",
    "Diagonal",
    "Full",
    "Isotropic",
    "LowRank",
    "Psd",
    "Shared",
    "Sum",
    "added",
    "beside",
    "check_psd",
    "chosen_rows",
    "join",
    "semidefinite",
]
