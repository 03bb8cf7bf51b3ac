"""Find code that no test would miss: make small mistakes in a module and see which ones its tests notice.

    python tools/mutate.py python/svmgsu/metrics/comparison.py tests/test_metrics.py --count 30 --seed 1

Works on a copy of the tree, so that nothing here changes. Prints the mistakes that survived, and ends with 1
if there are any. A survivor is a missing assertion, code that is not needed, or a change without an effect.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLIPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def mutants(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Yield (line, what was changed, the changed module) for every small mistake that can be made."""
    skipped = set(_not_run(tree))
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for words, change in _changes(node):
            other = copy.deepcopy(tree)
            twin = next(n for k, n in enumerate(ast.walk(other)) if k == place)
            before = ast.unparse(twin)
            change(twin)
            yield getattr(node, "lineno", 0), f"{words}: {before[:70]}", ast.fix_missing_locations(other)


def _not_run(tree: ast.Module) -> Iterator[int]:
    """Yield annotations, decorators and the texts of errors: nothing to test there."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
            parts = [a.annotation for a in arguments if a.annotation]
            parts += [node.returns] if node.returns else []
        elif isinstance(node, (ast.AnnAssign, ast.Raise, ast.JoinedStr)):
            parts = [node.annotation] if isinstance(node, ast.AnnAssign) else [node]
        parts += getattr(node, "decorator_list", [])
        yield from (id(child) for part in parts for child in ast.walk(part))


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in FLIPS:
        yield "comparison flipped", lambda n: n.ops.__setitem__(0, FLIPS[type(n.ops[0])]())
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in FLIPS:
        yield "operator swapped", lambda n: setattr(n, "op", FLIPS[type(n.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        kind = "not dropped" if isinstance(node.op, ast.Not) else "sign dropped"
        yield kind, lambda n: setattr(n, "op", ast.UAdd()) if isinstance(n.op, ast.USub) else _drop(n)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "True for False", lambda n: setattr(n, "value", not n.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "one more", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield "constant changed", lambda n: setattr(n, "value", 1.5 * n.value + 0.1)


def _drop(node: ast.UnaryOp) -> None:
    """Make `not x` a double negation."""
    node.operand = ast.UnaryOp(op=ast.Not(), operand=node.operand)


def copied(folder: Path) -> None:
    """Copy what git tracks or would track, and the compiled extension."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    built = [str(path.relative_to(ROOT)) for path in ROOT.glob("python/svmgsu/_core*.so")]
    for name in (*listed.stdout.splitlines(), *built):
        if (ROOT / name).is_file() and not name.endswith((".png", ".jsonl")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def is_noticed(folder: Path, tests: list[str], limit: float) -> bool:
    """Whether a test fails; one that takes too long counts as failed."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(folder / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", help="a Python file, relative to the repository")
    parser.add_argument("tests", nargs="+", help="what pytest is to run: files, or words such as -k NAME")
    parser.add_argument("--count", type=int, default=20, help="mistakes to try, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=120, help="seconds of a run of the tests")
    options, more = parser.parse_known_args()
    found = list(mutants(ast.parse((ROOT / options.module).read_text(encoding="utf-8"))))
    chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="svmgsu-mutate-") as name:
        folder = Path(name)
        copied(folder)
        if is_noticed(folder, [*options.tests, *more], options.limit):
            print("the tests fail without any mistake", file=sys.stderr)
            return 2
        for line, words, tree in sorted(chosen, key=lambda mutant: mutant[0]):
            (folder / options.module).write_text(ast.unparse(tree), encoding="utf-8")
            if not is_noticed(folder, [*options.tests, *more], options.limit):
                survivors += 1
                print(f"{options.module}:{line}: {words}", flush=True)
    print(f"{survivors} of {len(chosen)} mistakes survived ({len(found)} are possible)")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
