"""The examples in the docstrings, those of compiled modules too."""

import doctest
import importlib
import pkgutil

import pytest

import reducekit

# Modules whose import needs a package that may be absent, and what that is.
NEEDS = {
    "reducekit.dask": "dask.dataframe",
    "reducekit.interop.dask": "dask",
    "reducekit.interop.dask_frames": "dask.dataframe",
    "reducekit.interop.pandas": "pandas",
    "reducekit.interop.xarray": "xarray",
    "reducekit.interop.zarr": "zarr",
    "reducekit.pandas": "pandas",
    "reducekit.tensor": "xarray",
    "reducekit.xarray": "xarray",
    "reducekit.onnx": "onnx",
    "reducekit.plot": "matplotlib",
    "reducekit.widgets": "ipywidgets",
}
# Kernels of a level that this processor may lack; they hold no examples.
LEVELS = ("_generic", "_x86_avx2", "_x86_avx512")


def names():
    walked = pkgutil.walk_packages(reducekit.__path__, "reducekit.", onerror=lambda _: None)
    found = sorted({module.name for module in walked})
    skipped = ("__main__", *LEVELS)
    return ["reducekit", *(name for name in found if not name.endswith(skipped))]


@pytest.mark.parametrize("name", names())
def test_examples(name):
    needed = [package for module, package in NEEDS.items() if (name + ".").startswith(module + ".")]
    for package in needed:
        pytest.importorskip(package)
    module = importlib.import_module(name)
    results = doctest.testmod(module)
    assert not results.failed


def test_examples_of_compiled_modules_are_found():
    from reducekit import _rules

    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {test.name for test in finder.find(_rules, "_rules") if test.examples}
    assert any("set_default_opset" in name for name in found)


@pytest.mark.parametrize("name", reducekit.__all__)
def test_every_public_function_has_an_example(name):
    thing = getattr(reducekit, name)
    if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
        assert ">>>" in (thing.__doc__ or ""), name
