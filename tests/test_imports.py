"""Layers point down only, and importing the package loads nothing that is optional."""

import ast
import re
from pathlib import Path

import pytest
from interpreter import loaded_by

import reducekit
from reducekit._kernels import LEVEL

PACKAGE = Path(reducekit.__file__).parent
SOURCES = sorted(
    path
    for path in PACKAGE.rglob("*")
    if path.suffix in {".py", ".pyx", ".pxd", ".pxi"} and "__pycache__" not in path.parts
)

# From the bottom up. A module may import what stands on a line above its own, and nothing
# beside it or below. A name stands for the modules within it, which are free among themselves.
LAYERS = [
    ["errors"],
    ["dtypes"],
    ["schema"],
    ["_refusals"],
    ["_dlpack", "_cpu", "_foreign", "_plan", "_progress", "_rules", "_threads", "_names", "_show"],
    ["_inputs", "_kernels", "_html", "_opset", "_threadpoolctl"],
    ["_pairs", "_sums"],
    ["_walk"],
    ["_engine"],
    ["explain", "reference", "_accumulator"],
    ["tensor", "atb", "_pieces"],
    ["interop"],
    ["__init__"],
    ["_files", "testing", "plot"],
    ["onnx", "widgets", "bench"],
    ["cli", "dask", "demo", "pandas", "xarray"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
OPTIONAL = [
    "pandas", "xarray", "dask", "torch", "onnx", "matplotlib", "ipywidgets", "anywidget",
    "pyarrow", "tqdm", "zarr", "polars", "sklearn", "IPython", "numpy.ma", "numpy.testing",
]  # fmt: skip

# What importing the package may load: each module takes time at every start of a program.
EAGER = {
    "reducekit",
    *(
        f"reducekit.{name}" for name in [
            "dtypes", "errors", "explain", "explain._plan", "interop", "schema", "tensor",
            "_accumulator", "_cpu", "_cyutility", "_engine", "_foreign", "_inputs", "_kernels",
            "_names", "_opset", "_pairs", "_plan", "_progress", "_refusals", "_rules", "_sums",
            "_threadpoolctl", "_threads", "_walk",
        ]
    ),
    f"reducekit._kernels._{LEVEL}",
    f"reducekit._pairs._{LEVEL}",
}  # fmt: skip
# Of others, beyond NumPy and ml_dtypes; most of these NumPy loads as well.
CHEAP = {
    "collections.abc", "contextlib", "contextvars", "functools", "importlib",
    "importlib._bootstrap", "importlib._bootstrap_external", "importlib.machinery", "itertools",
    "math", "operator", "types", "typing",
}  # fmt: skip

_CYTHON_IMPORT = re.compile(
    r"^\s*(?:from\s+(?P<source>[.\w]+)\s+c?import\s+(?P<names>\([^)]*\)|[^#\n]*)"
    r"|c?import\s+(?P<plain>[\w., ]+)|include\s+[\"'](?P<file>[^\"']+)[\"'])",
    re.MULTILINE,
)


def imports_of(path):
    """Every (module, names) that a source imports, also inside functions; dots count levels.

    A text that is the dotted name of a module of the package counts too: whoever writes
    one imports it by that name.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from ((alias.name, ()) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names = tuple(alias.name for alias in node.names)
                yield "." * node.level + (node.module or ""), names
            elif isinstance(node, ast.JoinedStr):
                named = re.match(r"reducekit(\.\w+)*", dotted(node))
                if named:
                    yield named[0].rstrip("."), ()
            elif isinstance(node, ast.Constant) and re.fullmatch(
                r"reducekit(\.\w+)+", str(node.value)
            ):
                yield node.value, ()
        return
    text = re.sub(r'("""|\'\'\').*?\1', "", text, flags=re.DOTALL)  # strings hold C and examples
    for found in _CYTHON_IMPORT.finditer(text):
        if found["file"]:
            yield ".", (Path(found["file"]).stem,)
        elif found["plain"]:
            yield from ((name.split()[0], ()) for name in found["plain"].split(","))
        else:
            names = re.sub(r"[()\n]", " ", found["names"]).split(",")
            yield found["source"], tuple(name.split()[0] for name in names if name.split())


def dotted(node):
    """What an f-string says, as far as it is known; the package's own name is."""
    known = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            known += part.value
        elif ast.unparse(part.value) == "__package__":
            known += "reducekit"
        else:
            return known
    return known


def unit(parts):
    """The module or subpackage of the package that a dotted path is in."""
    if "__main__" in parts:
        return "__main__"
    return parts[0] if parts else "__init__"


def edges():
    """Pairs (importer, imported) between units of the package, and where they are written."""
    for path in SOURCES:
        inside = path.relative_to(PACKAGE).with_suffix("").parts
        folder = inside[:-1]
        importer = unit(inside)
        for module, names in imports_of(path):
            dots = len(module) - len(module.lstrip("."))
            rest = [part for part in module.lstrip(".").split(".") if part]
            if dots:
                base = list(folder[: len(folder) - dots + 1])
            elif rest and rest[0] == "reducekit":
                base, rest = [], rest[1:]
            else:
                continue
            target = [*base, *rest]
            found = [target] if target else [[name] for name in names]
            for parts in found:
                if unit(parts) != importer:
                    name = unit(parts)
                    # `from . import reduce_max` is of the package itself.
                    known = (
                        name in RANK or (PACKAGE / name).exists() or list(PACKAGE.glob(f"{name}.*"))
                    )
                    yield importer, name if known else "__init__", path.relative_to(PACKAGE)


EDGES = sorted(set(edges()))


def test_every_module_has_a_layer():
    units = {unit(path.relative_to(PACKAGE).with_suffix("").parts) for path in SOURCES}
    assert units <= set(RANK), f"give each a place among the layers: {units - set(RANK)}"


def test_imports_point_down():
    assert len(EDGES) > 20
    wrong = [
        f"{path}: {importer} imports {imported}"
        for importer, imported, path in EDGES
        if RANK[imported] >= RANK[importer]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_reference_stands_on_data_alone():
    """It shares no code with what it is an oracle for, but the table and the error texts."""
    of_reference = {imported for importer, imported, _ in EDGES if importer == "reference"}
    assert of_reference == {"schema", "dtypes", "_refusals"}
    of_these = {
        imported
        for importer, imported, _ in EDGES
        if importer in {"schema", "dtypes", "errors", "_refusals"}
    }
    assert of_these <= {"schema", "dtypes", "errors", "_refusals"}


def test_kernels_know_nothing_of_operators_and_shapes():
    of_kernels = {imported for importer, imported, _ in EDGES if importer == "_kernels"}
    assert of_kernels <= {"_cpu"}


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("a.py", "def f():\n    from . import b, c\n    import os", {".": ("b", "c"), "os": ()}),
        ("a.py", "from .b.c import d", {".b.c": ("d",)}),
        ("a.pyx", "from .b cimport (\n    c, d,\n)\ncimport numpy as cnp", {
            ".b": ("c", "d"), "numpy": ()}),
        ("a.pyx", 'include "b.pxi"', {".": ("b",)}),
        ("a.py", 'load("reducekit.b.c"); "reducekit is a name"', {"reducekit.b.c": ()}),
        ("a.py", 'load(f"reducekit.b.{c}"); load(f"{a}.b")', {"reducekit.b": ()}),
    ],
)  # fmt: skip
def test_the_parser_of_this_test(tmp_path, path, source, expected):
    (tmp_path / path).write_text(source)
    assert dict(imports_of(tmp_path / path)) == expected


def test_importing_the_package_loads_nothing_optional():
    loaded = loaded_by("import reducekit")
    assert "reducekit._engine" in loaded
    assert not loaded & set(OPTIONAL)
    assert "reducekit.reference" not in loaded
    assert not [name for name in loaded if name.startswith("reducekit.interop.")]
    added = loaded - loaded_by("import numpy, ml_dtypes")
    ours = {name for name in added if name.split(".")[0] == "reducekit"}
    assert ours <= EAGER, f"import these where they are used: {ours - EAGER}"
    others = {name for name in added - ours if not name.startswith(("_", "cython"))}
    assert others <= CHEAP, f"import these where they are used: {others - CHEAP}"


def test_a_reduction_loads_nothing_optional():
    call = "import reducekit as rk; rk.reduce_max([1.0, 2.0]); rk.reduce_sum([[1, 2]], [0])"
    assert not loaded_by(call) & set(OPTIONAL)
    assert not loaded_by("import reducekit.cli") & set(OPTIONAL)
    refused = (
        "import reducekit as rk\n"
        "try:\n    rk.reduce_max([1.0], 7)\n"
        "except rk.ReduceError as error:\n    str(error)"
    )
    assert not loaded_by(refused) & set(OPTIONAL)
