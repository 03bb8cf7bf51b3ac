"""The package's modules form layers: each imports from those below, and none imports itself in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import svmgsu

ROOT = Path(svmgsu.__file__).parent

# From the ground up. What is not named here stands on all of them: the public door, the demo.
LAYERS = [
    {"_core"},
    {"support", "reference", "exceptions"},
    {"propagate.linear"},
    {"_repr"},
    {"data"},
    {"io"},
    {"outofcore"},
    {"propagate", "models", "metrics"},
    {"outofcore.training"},
    {"fit"},
    {"estimators", "features"},
    {"dask"},
    {"uncertainty"},
    {"plot"},
    {"reporting"},
    {"cli"},
]


def modules():
    """Name → path, the name without the package's own; a package's `__init__` has the package's name."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def statements(tree):
    """The import statements that run when the module is loaded; those inside functions run later."""
    for node in getattr(tree, "body", []):
        if isinstance(node, ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.FunctionDef) and not is_for_types(node):
            yield from statements(node)


def imports(name, path):
    known = modules()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [part for part in package if part]
    for node in statements(ast.parse(path.read_text())):
        if node.level == 0:
            continue
        base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            inner = ".".join([*base, alias.name])
            yield inner if inner in known or inner == "_core" else ".".join(base)


def layer(name):
    """The height of a module; the more exact name counts (propagate.linear before propagate)."""
    for exact in (True, False):
        for height, members in enumerate(LAYERS):
            if name in members if exact else name.split(".")[0] in members:
                return height
    return len(LAYERS)


def test_no_import_goes_in_a_circle():
    graph = {name: set(imports(name, path)) - {name} for name, path in modules().items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))
    assert set(order) >= set(modules())


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_imports_only_from_its_layer_and_below(name):
    for imported in imports(name, modules()[name]):
        assert layer(imported) <= layer(name), f"{name} imports {imported}, which stands above it"
