"""The members of a pool, in the order in which they are fitted: cheap ones first, for `max_time`.

A new member is a subclass of `weights.Member` in a file of its own, and a line in `CLASSES` or `NUMBERS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .densities import DensityMember, JointMember, OwnCovariances, QuadraticDiscriminant
from .regressions import FOURIER_LAMS, LINEAR_LAMS, RIDGE_LAMS, LogisticMember, RidgeMember, candidate_maps
from .samples import View
from .weights import Member

NAMES = {"linear": "linear", "rbf": "RBF", "axis_aligned": "axis-aligned"}

# Families, and of regressions: on the posterior or on values; with standard errors as features, with linear
# terms.
CLASSES = (
    ("linear", "posterior", "errors"),
    ("linear", "values", "errors"),
    ("rbf", "posterior"),
    ("classwise",),
    ("axis_aligned", "posterior", "errors", "linear"),
    ("rbf", "values", "errors", "linear"),
    ("rbf", "posterior", "errors"),
    ("axis_aligned", "posterior"),
    ("axis_aligned", "values", "errors", "linear"),
    ("rbf", "values"),
)
NUMBERS = (
    ("linear", "posterior", "errors"),
    ("rbf", "posterior", "linear"),
    ("joint",),
    ("rbf", "posterior", "errors"),
    ("axis_aligned", "posterior", "errors"),
    ("axis_aligned", "posterior"),
    ("rbf", "values"),
)
Table = tuple[tuple[str, ...], ...]


def make_members(
    table: Table, families: Sequence[str], view: View, wide: bool, spread: bool, count: int, seed: int
) -> list[Member]:
    """Make members of the chosen families, regressions with `count` frequencies.

    `wide`: there are so many features that there are no mixtures of Gaussians. Members that would be the
    same without noise are there once.
    """
    made: dict[str, Member] = {}
    guides: dict[Any, Member] = {}  # the first of each family, whose choice of a map is a guide for the next
    n = view.points.shape[1]
    for family, *traits in table:
        if family not in families:
            continue
        if family in ("classwise", "joint"):
            made |= {} if wide else {member.name: member for member in _densities(family, spread, seed)}
            continue
        on_posterior = "posterior" in traits
        if spread and not on_posterior:
            continue
        errors = view.errors.shape[1] if "errors" in traits and view.errors is not None else 0
        # Trained without noise, posteriors are values; new samples may be noisy nevertheless.
        noisy = on_posterior and view.posterior is not None
        linear = "linear" in traits
        name = f"{NAMES[family]} on {'the posterior' if noisy else 'values'}"
        name += " + uncertainties" * (errors > 0) + " + linear" * linear
        if name in made:
            continue
        kind: Any = RidgeMember if table is NUMBERS else LogisticMember
        lams = LINEAR_LAMS if family == "linear" else FOURIER_LAMS
        member = made[name] = kind(
            name,
            uses_errors=errors > 0,
            knows_noise=on_posterior and not errors,
            smooth=family == "rbf",
            candidates=candidate_maps(family, n, errors, count, [seed, len(made)], on_posterior, linear),
            lams=RIDGE_LAMS if kind is RidgeMember else lams,
            like=guides.get((family, on_posterior)),
        )
        if family != "linear":
            guides.setdefault((family, on_posterior), member)
    if not made:
        raise ValueError("members: a deconvolution alone needs at most 100 features")
    return list(made.values())


def _densities(family: str, spread: bool, seed: int) -> list[Member]:
    """Make densities of each class, or of values and target together."""
    if family == "joint":
        return [JointMember("joint deconvolution", seed=seed)]
    if not spread:
        return [DensityMember("class-wise deconvolution", seed=seed)]
    return [
        QuadraticDiscriminant("quadratic discriminant, exact moments"),
        OwnCovariances("mixture of the samples' own covariances"),
        DensityMember("mixture for each class", seed=seed),
    ]
