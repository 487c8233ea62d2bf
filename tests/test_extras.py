"""What is missing is named, with the extra that brings it."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

TEXT = Path(__file__).resolve().parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
EXTRAS = tomllib.loads(TEXT)["project"]["optional-dependencies"]

# What is done, the package that it takes, the extra that brings it.
NEEDS = [
    ("import reducekit.pandas", "pandas", "pandas"),
    ("rk.Tensor.from_frame([[1]])", "pandas", "pandas"),
    ("rk.Tensor([[1]]).to_frame()", "pandas", "pandas"),
    ("import reducekit.xarray", "xarray", "xarray"),
    ("rk.Tensor.from_xarray([[1]])", "xarray", "xarray"),
    ("rk.Tensor([[1]]).to_xarray()", "xarray", "xarray"),
    ("import reducekit.interop.dask", "dask", "dask"),
    ("import reducekit.dask", "dask", "dask"),
    ("import reducekit.interop.zarr", "zarr", "zarr"),
    ("from reducekit import plot; plot.collapse([[1]], 'max')", "matplotlib", "notebook"),
    ("from reducekit import plot; plot.timeline('ReduceMax')", "matplotlib", "notebook"),
    ("from reducekit.widgets import AxisExplorer", "anywidget", "notebook"),
    ("from reducekit.widgets import AxisExplorer", "ipywidgets", "notebook"),
    ("from reducekit.widgets import AxisExplorer", "traitlets", "notebook"),
    ("import reducekit.onnx as rx; rx.ops()", "onnx", "onnx"),
    ("import reducekit.onnx as rx; rx.Backend", "onnx", "onnx"),
    ("import reducekit.onnx as rx; rx.check_model('model.onnx')", "onnx", "onnx"),
    ("from reducekit.demo import main; raise SystemExit(main([]))", "matplotlib", "demo"),
    ("from reducekit.cli import main; raise SystemExit(main(['check', 'm.onnx']))", "onnx", "onnx"),
]
SCRIPT = """
import contextlib, io, json, sys
import reducekit as rk
results = []
known = set(sys.modules)
for statement, package, _ in json.loads(sys.stdin.read()):
    for name in set(sys.modules) - known:
        if name.partition(".")[0] in ("reducekit", package):
            del sys.modules[name]
    sys.modules[package] = None
    said = io.StringIO()
    kind = "nothing"
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            exec(statement, {"rk": rk})
        except ImportError as error:
            kind, text = "ImportError", str(error)
            said.write(text)
        except SystemExit as end:
            kind = f"exit {end.code}"
        except BaseException as error:
            kind = type(error).__name__
            said.write(str(error))
    del sys.modules[package]
    results.append([kind, said.getvalue()])
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def said():
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        input=json.dumps(NEEDS), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(zip(NEEDS, json.loads(run.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize("need", NEEDS, ids=[f"{p}: {s.partition(';')[0]}" for s, p, _ in NEEDS])
def test_the_extra_is_named(said, need):
    _, package, extra = need
    kind, text = said[need]
    assert kind == "ImportError" or re.fullmatch("exit [1-9]", kind), (kind, text)
    assert package in text
    assert re.search(rf"""pip install ['"]reducekit\[{extra}\]['"]""", text), text
    assert len(text.strip().splitlines()) == 1, text


def test_every_package_of_every_extra_for_users_has_a_line():
    tried = {package for _, package, _ in NEEDS}
    for extra in re.findall(r"\[(.+)\]", EXTRAS["all"][0])[0].split(","):
        for requirement in EXTRAS[extra]:
            name = re.match(r"[\w-]+", requirement)[0]
            # Where tqdm is missing, there is no bar: nobody waits for it.
            assert name in tried | {"tqdm"}


def test_what_is_tried_is_what_the_extras_bring():
    homes = packages_distributions()
    for _, package, extra in NEEDS:
        brought = {re.match(r"[\w-]+", each)[0].lower() for each in EXTRAS[extra]}
        if package != "traitlets":  # comes with ipywidgets
            assert brought & {home.lower() for home in homes.get(package, [package])}
