"""The documentation runs, and names every parameter."""

import doctest
import importlib
import inspect
import pkgutil
import re

import matplotlib.pyplot as plt
import pytest

import svmgsu

# `_core` is compiled.
MODULES = ["svmgsu"] + [
    m.name for m in pkgutil.walk_packages(svmgsu.__path__, "svmgsu.") if "._" not in m.name
]
PUBLIC = [name for name in svmgsu.__all__ if not inspect.ismodule(getattr(svmgsu, name))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module)
    plt.close("all")
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_is_for(name):
    assert importlib.import_module(name).__doc__


def public_callables():
    """(name, callable) of all that `svmgsu` exports, with the methods of its classes."""
    for name in PUBLIC:
        thing = getattr(svmgsu, name)
        yield name, thing
        if inspect.isclass(thing) and not issubclass(thing, Warning):
            for member in dir(thing):
                method = getattr(thing, member)
                if not member.startswith("_") and inspect.isroutine(method) and _is_ours(method):
                    yield f"{name}.{member}", method
    for module in (svmgsu.metrics, svmgsu.plot, svmgsu.uncertainty):
        for name in module.__all__:
            if callable(getattr(module, name)):
                yield f"{module.__name__}.{name}", getattr(module, name)


def _is_ours(method):
    return (getattr(method, "__module__", None) or "").startswith("svmgsu")


CALLABLES = dict(public_callables())


@pytest.mark.parametrize("name", CALLABLES)
def test_a_docstring_names_every_parameter(name):
    thing = CALLABLES[name]
    text = inspect.getdoc(thing)
    assert text, f"{name} has no docstring"
    if inspect.isclass(thing) and issubclass(thing, Warning):
        return
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        assert re.search(rf"(?<!\w){parameter.name}(?!\w)", text), (
            f"{name} does not document {parameter.name}"
        )


@pytest.mark.parametrize("name", [name for name, thing in CALLABLES.items() if not inspect.isclass(thing)])
def test_a_docstring_begins_with_an_imperative(name):
    first = inspect.getdoc(CALLABLES[name]).split()[0]
    assert first.istitle() and first.isalpha(), first
    assert not first.endswith("s") and first not in {
        "A",
        "All",
        "An",
        "Any",
        "As",
        "How",
        "Of",
        "The",
        "What",
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_every_exported_name_is_listed_and_reachable(name):
    assert name in dir(svmgsu)
    assert getattr(svmgsu, name).__module__.startswith("svmgsu")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'svmgsu' has no attribute 'nothing'"):
        _ = svmgsu.nothing
