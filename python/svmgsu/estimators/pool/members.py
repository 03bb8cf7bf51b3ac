"""The members of a pool, in the order in which they are fitted: cheap ones first, for `max_time`.

A new member is a subclass of `weights.Member` in a file of its own, and a line in `CLASSES` or `NUMBERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .densities import DensityMember, JointMember, OwnCovariances, QuadraticDiscriminant
from .regressions import (
    FOURIER_LAMS,
    LINEAR_LAMS,
    RIDGE_LAMS,
    LogisticMember,
    RidgeMember,
    candidate_maps,
)
from .samples import View
from .weights import Member

NAMES = {"linear": "linear", "rbf": "RBF", "axis_aligned": "axis-aligned"}


class Setup(NamedTuple):
    """What members are made for."""

    view: View
    wide: bool  # so many features that there are no mixtures of Gaussians
    spread: bool  # noise="spread"
    frequencies: int
    seed: int
    made: dict[str, Member]  # those that come before
    guides: dict[Any, Member]  # the first of each family, whose choice of a map is a guide for the next


Table = tuple[tuple[str, Callable[[Setup], Sequence[Member]]], ...]


def regression(kind: Any, family: str, values: str, errors: bool = False, linear: bool = False) -> Any:
    """Return a line of a table: regressions on the "posterior" or on "values".

    `errors` adds standard errors as features, `linear` linear terms.
    """
    on_posterior = values == "posterior"

    def make(setup: Setup) -> Sequence[Member]:
        view = setup.view
        if setup.spread and not on_posterior:
            return []
        extra = view.errors.shape[1] if errors and view.errors is not None else 0
        # Trained without noise, posteriors are values; new samples may be noisy nevertheless.
        noisy = on_posterior and view.posterior is not None
        name = f"{NAMES[family]} on {'the posterior' if noisy else 'values'}"
        name += " + uncertainties" * (extra > 0) + " + linear" * linear
        if name in setup.made:
            return []
        seed = [setup.seed, len(setup.made)]
        n = view.points.shape[1]
        member = kind(
            name,
            uses_errors=extra > 0,
            knows_noise=on_posterior and not extra,
            smooth=family == "rbf",
            candidates=candidate_maps(family, n, extra, setup.frequencies, seed, on_posterior, linear),
            lams=RIDGE_LAMS if kind is RidgeMember else LINEAR_LAMS if family == "linear" else FOURIER_LAMS,
            like=setup.guides.get((family, on_posterior)),
        )
        if family != "linear":
            setup.guides.setdefault((family, on_posterior), member)
        return [member]

    return family, make


def densities(setup: Setup) -> Sequence[Member]:
    """Make densities of each class."""
    if setup.wide:
        return []
    if not setup.spread:
        return [DensityMember("class-wise deconvolution", seed=setup.seed)]
    return [
        QuadraticDiscriminant("quadratic discriminant, exact moments"),
        OwnCovariances("mixture of the samples' own covariances"),
        DensityMember("mixture for each class", seed=setup.seed),
    ]


def joint_density(setup: Setup) -> Sequence[Member]:
    """Make the density of values and target together."""
    return [] if setup.wide else [JointMember("joint deconvolution", seed=setup.seed)]


CLASSES: Table = (
    regression(LogisticMember, "linear", "posterior", errors=True),
    regression(LogisticMember, "linear", "values", errors=True),
    regression(LogisticMember, "rbf", "posterior"),
    ("classwise", densities),
    regression(LogisticMember, "axis_aligned", "posterior", errors=True, linear=True),
    regression(LogisticMember, "rbf", "values", errors=True, linear=True),
    regression(LogisticMember, "rbf", "posterior", errors=True),
    regression(LogisticMember, "axis_aligned", "posterior"),
    regression(LogisticMember, "axis_aligned", "values", errors=True, linear=True),
    regression(LogisticMember, "rbf", "values"),
)
NUMBERS: Table = (
    regression(RidgeMember, "linear", "posterior", errors=True),
    regression(RidgeMember, "rbf", "posterior", linear=True),
    ("joint", joint_density),
    regression(RidgeMember, "rbf", "posterior", errors=True),
    regression(RidgeMember, "axis_aligned", "posterior", errors=True),
    regression(RidgeMember, "axis_aligned", "posterior"),
    regression(RidgeMember, "rbf", "values"),
)


def make_members(
    table: Table, families: Sequence[str], view: View, wide: bool, spread: bool, count: int, seed: int
) -> list[Member]:
    """Make members of the chosen families; those that would be the same without noise are there once."""
    setup = Setup(view, wide, spread, count, seed, {}, {})
    for family, make in table:
        if family in families:
            for member in make(setup):
                setup.made.setdefault(member.name, member)
    if not setup.made:
        raise ValueError("members: a deconvolution alone needs at most 100 features")
    return list(setup.made.values())
