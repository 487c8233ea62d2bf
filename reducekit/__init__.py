"""Exact reductions: what the ONNX operators mean, on arrays, tensors and the command line."""

try:
    from ._engine import reduce_max, reduce_min, reduce_sum
except ModuleNotFoundError as error:  # the source folder, without a build
    if error.name is None or not error.name.startswith("reducekit."):
        raise
    raise ImportError(
        "reducekit is not built in this folder; run `make demo` or `pip install -e .` here, "
        "or start Python elsewhere to use an installed reducekit"
    ) from error

from . import _threadpoolctl, schema
from ._accumulator import Accumulator
from ._opset import opset
from ._rules import get_default_opset, set_default_opset
from ._threads import get_num_threads, set_num_threads
from .errors import ArgumentError, AxesError, DTypeError, OpsetError, ReduceError
from .explain import Explanation, explain
from .interop import register_accessors as _register_accessors
from .tensor import Tensor

_register_accessors()

_threadpoolctl.follow()

__all__ = [
    "Accumulator",
    "ArgumentError",
    "AxesError",
    "DTypeError",
    "Explanation",
    "OpsetError",
    "ReduceError",
    "Tensor",
    "explain",
    "get_default_opset",
    "get_num_threads",
    "opset",
    "reduce_max",
    "reduce_min",
    "reduce_sum",
    "schema",
    "set_default_opset",
    "set_num_threads",
]


def __getattr__(name: str) -> str:
    # Looking the version up takes as long as all other imports together.
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value = version("reducekit")
        except PackageNotFoundError:  # used from a checkout that was never installed
            value = "0+unknown"
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
