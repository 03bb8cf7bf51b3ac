"""What `svmgsu train` does for either task: settings from options, a search if it is asked for, the fit."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..data.gaussians import Gaussians
from ..fit.settings import NAMES, Settings
from .base import UsageError, search_facts
from .data import is_small, shows_progress, threads_for

Trained = TypeVar("Trained")
OPTIONS = {"T": "steps", "k": "batch", "n_jobs": "jobs"}  # that are not called as their setting is


def is_search(args: argparse.Namespace) -> bool:
    """Whether λ or the scale of the covariances is to be chosen."""
    return args.lams is not None or args.cov_scales is not None


def fitted(
    args: argparse.Namespace,
    train: Callable[..., Trained],
    searcher: Callable[[], Any],
    data: Gaussians,
    y: Any,
    more: dict[str, Any],
    **of_fit: Any,
) -> tuple[Trained, dict[str, Any]]:
    """The model that is asked for by `train` or, before it, a search, and what that has found.

    Its settings are those that options give, and `more`; what nothing is said of has the library's default.
    """
    given = {name: getattr(args, OPTIONS.get(name, name), None) for name in NAMES if name != "cv"} | more
    given |= {"deployment_cov": deployment(args.deployment_cov), "fit_intercept": not args.no_intercept}
    given |= {"threads": threads_for(args, data), "verbose": shows_progress(args, not is_small(data))}
    known = {name: value for name, value in given.items() if value is not None}
    settings = {name: known[name] for name in known if name in inspect.signature(train).parameters}
    if not is_search(args):
        if getattr(args, "checkpoint", None) is not None:
            of_fit |= {"checkpoint": args.checkpoint, "resume": args.resume}
        return train(data, y, **of_fit, **settings), {}
    if getattr(args, "memory", None) is not None:
        raise UsageError("--memory: a search by --lams or --cov-scales takes examples in memory")
    search = searcher()
    search.set_params(**{name: value for name, value in known.items() if name in search.get_params()})
    search.set_params(
        lams=args.lams or [known.get("lam", Settings.lam)],
        cov_scales=args.cov_scales or [known.get("cov_scale", Settings.cov_scale)],
        scoring=args.scoring,
        threads=args.threads,
        refit=False,
    )
    part = data
    if args.subspace is not None:
        labels = None if args.task == "regression" or of_fit.get("classes") is not None else y
        part = data.subspace(args.subspace, args.subspace_mode, y=labels)
    best = search_facts(search.fit(part, y, **of_fit))
    settings |= {"lam": best["lam"], "cov_scale": best["cov_scale"]}
    return train(data, y, **of_fit, **settings), {"search": best}


def deployment(path: str | None) -> Any:
    if path is None:
        return None
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: not a readable .npy file ({error})") from None
