"""Every example in a docstring runs, in the package as it is installed."""

import doctest
import importlib
import pkgutil

import pytest

import trackless

MODULES = sorted(m.name for m in pkgutil.walk_packages(trackless.__path__, "trackless."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = (len(t.examples) for name in MODULES for t in finder.find(importlib.import_module(name)))
    assert sum(counts) > 40
