"""The convention for tables: which column is a value, and which is the uncertainty of which value.

Names are compared without regard to case, separators and units in brackets. With a value column `x`:

| columns | meaning |
|---|---|
| x_err, xerr, x_error, x_std, x_sigma, x_sd, x_se, x_unc, x_uncertainty, x_rms, x_e | standard deviation |
| `x ±`, e_x, err_x, sigma_x, σ_x, unc_x, dx, Δx; MAGERR_x of MAG_x, a_e_x of a_x | standard deviation |
| x_err1 and x_err2, x_err_up and x_err_down, x_errp and x_errm, E_x and e_x, ... | upper and lower error |
| x_var, x_ivar | variance, inverse variance |
| x_q16 and x_q84 beside x, x_q50 or x_median | bounds of one standard deviation |
| cov_x_y, x_y_cov; x_y_corr | covariance, correlation of two values that have uncertainties |
| _err, _std, _var, _err1 and _err2 | the uncertainty of all values at once |

`x_mean` is the value of `x_std` where there is no `x`. What may mean several things (bounds or errors,
margins of 90 %) is refused with the option that settles it, as is an uncertainty whose value is missing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..support.errors import option
from .columns import ColumnError, Columns, Errors, check_names, listed

UPPER, LOWER, STD = "upper error", "lower error", "standard deviation"
VARIANCE, PRECISION = "variance", "inverse variance"
UPPER_BOUND, LOWER_BOUND = "upper bound", "lower bound"
MAYBE_UPPER, MAYBE_LOWER, MARGIN = "upper bound or error", "lower bound or error", "margin"
BOUNDS = {MAYBE_UPPER, MAYBE_LOWER}
ALONE = (set[str](), {STD}, {VARIANCE}, {PRECISION}, {UPPER, LOWER}, {UPPER_BOUND, LOWER_BOUND})
WHOLE = {"_err": STD, "_std": STD, "_var": VARIANCE, "_err1": UPPER, "_err2": LOWER}

ERROR = r"err|error|errors|stderr|std|stdev|stddev|sigma|sig|σ|sd|se|sem|unc|uncert|uncertainty|±|\+/-"
UP, DOWN = "1|up|upper|plus|p|high|hi|pos|u", "2|down|dn|lower|minus|m|low|lo|neg|l"
SIDED = "err|error|errors|unc|uncert|uncertainty|e|sigma|sig"
# The words that mark an uncertainty, what it is, and whether it is one also where its value is missing.
MARKS = [
    (re.compile(rf"(?:err|error)(?:{UP})"), UPPER, True),
    (re.compile(rf"(?:err|error)(?:{DOWN})"), LOWER, True),
    (re.compile(rf"(?:{SIDED})(?:{UP})|(?:{UP})(?:{SIDED})"), UPPER, False),
    (re.compile(rf"(?:{SIDED})(?:{DOWN})|(?:{DOWN})(?:{SIDED})"), LOWER, False),
    (re.compile(ERROR), STD, True),
    (re.compile("rms|noise|e|δ"), STD, False),
    (re.compile("var|variance"), VARIANCE, True),
    (re.compile("ivar|invvar"), PRECISION, True),
    (re.compile("[qp]84"), UPPER_BOUND, False),
    (re.compile("[qp]16"), LOWER_BOUND, False),
    (re.compile("(ci)?(upper|up|hi|high)|ub|plus|uci|ucl"), MAYBE_UPPER, False),
    (re.compile("(ci)?(lower|lo|low)|lb|minus|lci|lcl"), MAYBE_LOWER, False),
    (re.compile("moe|margin|ci|tol|tolerance|accuracy|precision"), MARGIN, False),
]
ANY = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _, _ in MARKS))  # one look for most words
SURE_FIRST, SURE_INSIDE = {"e", "err", "error", "sigma", "sig", "σ", "unc", "±"}, {"err", "error"}
# Gaia's ratios of values and errors, and the significance of its excess noise.
NO_ERROR = re.compile("over_?error|noise_?sig", re.IGNORECASE)
TAIL = re.compile(rf"(.+?)(?:err|error)({UP}|{DOWN})?")  # MAGERR, xerr, fluxerr1
CENTRES = ("mean", "avg", "value", "val", "q50", "p50", "median")
UNIT = re.compile(rf"\s*(\[(?!{ERROR})[^\]]*\]|\((?!{ERROR})[^)]*\))\s*$")
TOKENS = re.compile(r"±|\+/-|[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
JOINT = {"cov": "covariance", "corr": "correlation", "rho": "correlation"}

IDS = re.compile(
    "(doc|obj|object|source|specobj|tic|star|row|gaia|u|patient|subject|sample)?id|(obj|object|source|kepoi)?name|object|toi|tic|kic|"
    "designation|kepid|koi|epic|index|unnamed0|num|recno|identifier|patient|subject|participant"
)
TARGETS = ("label", "y", "class", "target", "type", "classification", "disposition", "koidisposition")


class _Mark(NamedTuple):
    base: str  # the key of the value
    what: str
    sure: bool  # an uncertainty also where that value is missing


@functools.lru_cache(maxsize=2**14)
def tokens_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, without case, separators and units in brackets."""
    while (shorter := UNIT.sub("", name)) and shorter != name:
        name = shorter
    parts = TOKENS.findall(name)
    if any(c.islower() for c in name):
        parts = [piece for part in parts for piece in CAMEL.split(part)]
    return tuple(part.casefold() for part in parts)


def key_of(name: str) -> str:
    """Return what two spellings of one name have in common."""
    return "".join(tokens_of(name)) or name


def is_id(name: str) -> bool:
    """Tell whether a column is called like ids: objid, sample_id, ID_IAU, or spectra.NUM of a join."""
    words = tokens_of(name.rpartition(".")[2] or name)
    return "id" in (words[:1] + words[-1:]) or IDS.fullmatch("".join(words)) is not None


def _marks(name: str) -> list[_Mark]:
    """Find all that a column may be the uncertainty of, the likeliest first."""
    words = () if NO_ERROR.search(name) else tokens_of(name)
    found: list[tuple[int, _Mark]] = []
    for length in (2, 1):
        for start in range(len(words) - length, -1, -1):
            mark = "".join(words[start : start + length])
            base = "".join(words[:start] + words[start + length :])
            last = start + length == len(words)
            for pattern, what, sure in MARKS if base and ANY.fullmatch(mark) else ():
                if pattern.fullmatch(mark):
                    sure = sure if last else mark in (SURE_FIRST if start == 0 else SURE_INSIDE)
                    found.append((start > 0 and not last, _Mark(base, what, sure)))
    for k in range(len(words) - 1, -1, -1):
        if tail := TAIL.fullmatch(words[k]):
            side = tail[2] or ""
            what = STD if not side else UPPER if re.fullmatch(UP, side) else LOWER
            found.append((0, _Mark("".join([*words[:k], tail[1], *words[k + 1 :]]), what, True)))
    if len(words) == 2 and name[0] in "bB" and words[0] == "b":  # VizieR's lower and upper bounds
        found.append((0, _Mark(words[1], MAYBE_LOWER if name[0] == "b" else MAYBE_UPPER, False)))
    if re.fullmatch(r".*\dM", name):  # the margins of the American census
        found.append((0, _Mark(key_of(name[:-1] + "E"), MARGIN, False)))
    if words and re.fullmatch("err(?!or).+", words[0]):  # ERRA_IMAGE of A_IMAGE
        found.append((1, _Mark("".join([words[0][3:], *words[1:]]), STD, True)))
    if words and len(words[0]) > 1 and words[0][0] in "dδ":
        found.append((2, _Mark("".join([words[0][1:], *words[1:]]), STD, False)))
    return [mark for _, mark in sorted(found, key=lambda pair: pair[0])]


def understand(
    names: Sequence[str],
    *,
    numeric: Collection[str] | None = None,
    running: Collection[str] = (),
    features: Sequence[str] | None = None,
    errors: Mapping[str, Errors] | None = None,
    exact: Collection[str] = (),
    ids: Collection[str] | None = None,
    target: str | bool | None = None,
    regression: bool = False,
    ignore: Collection[str] = (),
    aside: Collection[str] = (),
    error_scale: float = 1.0,
) -> Columns:
    """Find out what the columns of a table are, by their names.

    Columns that are not `numeric` (default: all are) hold text, and are no features; `running` ones number
    the rows, and are ids. `features` are the values; all but their uncertainties is then unused. `errors` are
    {value: {what it is: column}} by hand; `exact` are values without uncertainty, whatever they are called.
    `ids` go by their names by default, and so does the `target` where it is True; it has an uncertainty in a
    `regression` alone. Columns to `ignore` are not used, nor are theirs; those `aside` have another use.
    """
    by_hand = dict(errors or {})
    check_names(names, features=features, exact=exact, ids=ids, ignore=ignore, errors=by_hand)
    check_names(names, target=[target] if isinstance(target, str) else None)
    text = set() if numeric is None else set(names) - set(numeric)
    named = {c for found in by_hand.values() for c in found.values()}
    for argument, given in (("exact", exact), ("features", features or ()), ("errors", by_hand)):
        both = [repr(c) for c in given if c in ignore]
        if both:
            raise ColumnError(f"{argument}: {listed(both, 5)} is to be ignored as well; say one of the two")
    asked = {*(features or ()), *exact, *by_hand}
    if isinstance(target, str):
        for what, others in (("a feature", features), ("an id", ids), ("to be ignored", ignore)):
            if target in (others or ()):
                raise ColumnError(f"target: {target!r} is {what}; name another column")
        asked.add(target)
    free = [c for c in names if c not in text and c not in aside and c not in named]
    paired, lone = _pair(free, names, {*asked, *ignore})
    # The uncertainties of a value that is to be exact are no values of their own.
    spared = {c: value for value in exact if value not in by_hand for c in paired.get(value, {}).values()}
    paired |= by_hand | {value: {} for value in exact}
    if target is True:
        usual = {key_of(c): c for c in reversed(names) if regression or not paired.get(c)}
        usual = {key: c for key, c in usual.items() if c not in {*asked, *ignore, *aside, *lone}}
        target = next((usual[key] for key in TARGETS if key in usual), None)
    out = Columns({}, target=target or None, error_scale=error_scale)
    used = {c for found in paired.values() for c in found.values()}
    if ids is None:
        taken = {target, *ignore, *aside, *asked, *paired, *used}
        ids = [c for c in names if c not in taken and (is_id(c) or c in running)]
    out.ids = list(ids)
    apart = {*ignore, *out.ids} - asked
    for name, why in lone.items() if features is None else ():
        owner = next((c for mark in _marks(name) for c in apart if key_of(c) == mark.base), None)
        if owner is None and name not in apart:
            raise ColumnError(_advice(name, why, len(lone)))
        out.unused[name] = f"belongs to {owner}" if owner else "as asked"
    out.unused |= {c: f"belongs to {value}" for c, value in spared.items()}
    no_values = {*used, *lone, *apart, *spared}
    values = features if features is not None else [c for c in free if c not in no_values]
    out.values = {c: _checked(c, paired.get(c, {})) for c in values if c != target}
    if target:
        out.target_errors = _checked(str(target), paired.get(str(target), {}))
    out.whole = _checked("all values", {WHOLE[c]: c for c in free if c in WHOLE})
    for column in out.whole.values():
        out.values.pop(column, None)
    if out.whole and any(out.values.values()):
        raise ColumnError(f"{', '.join(out.whole.values())} is for all values; some have errors of their own")
    others = {*no_values, *exact, *(features or ()), *(c for c, found in paired.items() if found)}
    out.joint = _joint(out.values, [c for c in free if c not in others and c != target])
    for _, column in out.joint.values():
        out.values.pop(column, None)
    kept = {*out.numeric, *out.ids, *aside, target, *out.target_errors.values(), *out.unused}
    for c in names:
        if c not in kept:
            owner = next((value for value, found in paired.items() if c in found.values()), None)
            if c in ignore:
                out.unused[c] = "as asked"
            elif features is not None:
                out.unused[c] = "not among the features"
            else:
                out.unused[c] = "text" if owner is None else f"belongs to {owner}"
    return out


def _pair(free: list[str], names: Sequence[str], asked: set[str]) -> tuple[dict[str, Errors], dict[str, str]]:
    """Return ({value: its uncertainty}, {column that looks like an uncertainty and is none: why})."""
    by_key: dict[str, list[str]] = {}
    for name in names:
        by_key.setdefault(key_of(name), []).append(name)
    partner: dict[str, tuple[str, str]] = {}
    lone: dict[str, str] = {}
    for name in free:
        marks = [] if name in asked or name in WHOLE else _marks(name)
        for mark in marks:
            keys = [mark.base, *(key for c in CENTRES for key in (mark.base + c, c + mark.base))]
            values = [v for key in keys for v in by_key.get(key, ()) if v.casefold() != name.casefold()]
            if values:
                partner[name] = (values[0], mark.what)
                break
        else:
            sure = next((mark for mark in marks if mark.sure), None)
            if sure is not None:
                lone[name] = f"looks like the {sure.what} of {sure.base!r}, and there is no such column"
    paired: dict[str, Errors] = {}
    for name, (value, what) in partner.items():
        own = paired.setdefault(value, {})
        if value in partner and value not in asked:
            lone[name] = f"looks like the {what} of {value!r}, which is an uncertainty itself"
        elif what == STD and name.casefold() == own.get(STD, "").casefold():
            own[LOWER], own[UPPER] = sorted((name, own.pop(STD)), key=str.swapcase)  # VizieR's e_x and E_x
        else:
            own[f"another {what}" if what in own else what] = name
    return paired, lone


def _checked(value: str, found: Errors) -> Errors:
    """Return the one uncertainty of a value; refuse several, and what may mean several things."""
    what, columns = set(found), list(found.values())
    if what in ALONE:
        return found
    shown = " and ".join(map(str, columns))
    if what == BOUNDS:
        high, low = found[MAYBE_UPPER], found[MAYBE_LOWER]
        raise ColumnError(
            f"columns {shown} beside {value!r}: bounds or errors? Say "
            f"{option('errors', {value: f'bounds:{low},{high}'})} or "
            f"{option('errors', {value: f'{high},{low}'})}; {option('exact')} takes them as values"
        )
    if what == {MARGIN}:
        raise ColumnError(
            f"column {shown} beside {value!r}: a margin of how many standard deviations? Say "
            f"{option('errors', {value: shown})} and {option('error_scale', 1.645)} (margins of 90 %) or 1.96"
        )
    choose = option("errors", {value: columns[0]})
    if what < BOUNDS:
        raise ColumnError(
            f"column {shown} beside {value!r}: a bound or an error, or a value of its own? {choose} takes it "
            f"as the error on both sides, {option('exact', [shown])} as a value, {option('ignore', [shown])} "
            "leaves it out"
        )
    if what in ({UPPER}, {LOWER}):
        raise ColumnError(f"column {shown} beside {value!r} is one of two errors; {choose} takes it for both")
    raise ColumnError(f"{value!r} has more than one uncertainty: {shown}; choose one by {choose}")


def _advice(name: str, why: str, count: int) -> str:
    more = f" ({count} such columns)" if count > 1 else ""
    return (
        f"column {name!r} {why}{more}; say what it is: {option('errors', {'VALUE': name})} names its value, "
        f"{option('exact', [name])} takes it as an exact value, {option('ignore', [name])} leaves it out"
    )


def _joint(values: dict[str, Errors], free: list[str]) -> dict[tuple[str, str], tuple[str, str]]:
    """Find covariances and correlations of two uncertain values: {(x, y): (what it is, column)}."""
    keys = {key_of(name): name for name, errors in values.items() if errors}
    found = {}
    for name in free:
        words = tokens_of(name)
        for mark, rest in ((words[:1], words[1:]), (words[-1:], words[:-1])):
            for k in range(1, len(rest)) if mark and mark[0] in JOINT else ():
                x, y = keys.get("".join(rest[:k])), keys.get("".join(rest[k:]))
                if x is not None and y is not None and x != y:
                    found[x, y] = (JOINT[mark[0]], name)
    return found
