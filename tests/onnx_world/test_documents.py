"""The examples in the docstrings run, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import reducekit.onnx as rx

MODULES = [f"reducekit.onnx.{found.name}" for found in pkgutil.iter_modules(rx.__path__)]


@pytest.mark.parametrize("name", ["reducekit.onnx", *MODULES])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_name_is_there_and_says_what_it_is():
    assert sorted(rx.__all__) == sorted(rx._HOME)
    assert set(rx.__all__) <= set(dir(rx))
    for name in rx.__all__:
        value = getattr(rx, name)
        if inspect.isclass(value) or callable(value):
            assert inspect.getdoc(value), name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rx.nothing
