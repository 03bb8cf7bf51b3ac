"""The members of a pool, in the order in which they are fitted: cheap ones first, for `max_time`.

A member is a dataclass with `name`, `uses_errors`, `knows_noise`, `learn(view, task, deadline)`, which
returns held-out predictions, and `predict(view, threads)`. A new family is one file, and a line here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .densities import DensityMember, JointMember, OwnCovariances, QuadraticDiscriminant
from .mixture import Mixture
from .regressions import (
    FOURIER_LAMS,
    LINEAR_LAMS,
    RIDGE_LAMS,
    Features,
    LogisticMember,
    RidgeMember,
    candidate_maps,
)
from .samples import Inputs, StandardErrors, View
from .weights import Gate, PoolSummary

# Families, and for regressions (family, on the posterior, standard errors as features, linear terms).
CLASSES: tuple[Any, ...] = (
    ("linear", True, True, False),
    ("linear", False, True, False),
    ("rbf", True, False, False),
    "classwise",
    ("axis_aligned", True, True, True),
    ("rbf", False, True, True),
    ("rbf", True, True, False),
    ("axis_aligned", True, False, False),
    ("axis_aligned", False, True, True),
    ("rbf", False, False, False),
)
NUMBERS: tuple[Any, ...] = (
    ("linear", True, True, False),
    ("rbf", True, False, True),
    "joint",
    ("rbf", True, True, False),
    ("axis_aligned", True, True, False),
    ("axis_aligned", True, False, False),
    ("rbf", False, False, False),
)
FAMILIES = {"linear": "linear", "rbf": "RBF", "axis_aligned": "axis-aligned"}
# What files of pools may hold.
SAVED = (
    *(Inputs, StandardErrors, Mixture, Gate, PoolSummary, Features),
    *(LogisticMember, RidgeMember, DensityMember, JointMember, QuadraticDiscriminant, OwnCovariances),
)


def make_members(
    table: tuple[Any, ...],
    families: Sequence[str],
    inputs: Inputs,
    view: View,
    count: int,
    seed: int,
    spread: bool,
) -> list[Any]:
    """Make members of the chosen families; those that would be the same without noise are there once."""
    made: dict[str, Any] = {}
    guides: dict[tuple[str, bool], Any] = {}
    classes = table is CLASSES
    n = view.points.shape[1]
    for spec in table:
        family = spec if isinstance(spec, str) else spec[0]
        if isinstance(spec, str):
            if family not in families or inputs.population is None:
                continue
            if family == "joint":
                made[family] = JointMember(seed=seed)
            elif spread:
                made["moments"] = QuadraticDiscriminant("quadratic discriminant, exact moments")
                made["own"] = OwnCovariances("mixture of the samples' own covariances")
                made[family] = DensityMember("mixture for each class", seed=seed)
            else:
                made[family] = DensityMember("class-wise deconvolution", seed=seed)
            continue
        _, on_posterior, with_errors, linear = spec
        if family not in families or (spread and not on_posterior):
            continue
        errors = view.errors.shape[1] if with_errors and view.errors is not None else 0
        # Trained without noise, posteriors are values; new samples may be noisy nevertheless.
        noisy = on_posterior and view.posterior is not None
        name = f"{FAMILIES[family]} on {'the posterior' if noisy else 'values'}"
        name += " + uncertainties" * (errors > 0) + " + linear" * linear
        if name in made:
            continue
        kind = LogisticMember if classes else RidgeMember
        made[name] = kind(
            name,
            errors > 0,
            on_posterior and not errors,
            family == "rbf",
            candidates=candidate_maps(family, n, errors, count, [seed, len(made)], on_posterior, linear),
            lams=RIDGE_LAMS if not classes else LINEAR_LAMS if family == "linear" else FOURIER_LAMS,
            like=guides.get((family, on_posterior)),
        )
        if family != "linear":
            guides.setdefault((family, on_posterior), made[name])
    if not made:
        raise ValueError("members: a deconvolution alone needs at most 100 features")
    return list(made.values())
