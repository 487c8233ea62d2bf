"""Who takes part: reducekit, and each library that is installed and can do the same.

Design. A contender gives a statement and the names in it, not a function, so that
the loop around it costs the same for all and as little as Python allows. Its first
answer is compared before it is timed. What a library cannot do (an element type, a
layout, several axes at once) it does not compete in: no copy is made for it, since
the copy would be what is measured.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import reducekit

from .grid import Cell

__all__ = [
    "CONTENDERS",
    "OURS",
    "Call",
    "Contender",
    "Problem",
    "Reader",
    "installed",
    "thread_counts",
]

OURS = "reducekit"


@dataclass(frozen=True, slots=True)
class Call:
    """What is timed: a statement, the names in it, and what must be done before it, untimed."""

    statement: str
    names: dict[str, Any]
    before: Callable[[], object] | None = None
    to_numpy: Callable[[Any], Any] = np.asarray

    def answer(self) -> NDArray[Any]:
        """The value of the statement, as an array."""
        if self.before is not None:
            self.before()
        return np.asarray(self.to_numpy(eval(self.statement, dict(self.names))))


@dataclass(frozen=True, slots=True)
class Problem:
    """A cell with its array, and the number of threads that may work on it."""

    cell: Cell
    data: NDArray[Any]
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Contender:
    """A library that takes part.

    Attributes
    ----------
    name : str
        How the results call it.
    modules : tuple of str
        What it needs; the first one's version is reported.
    prepare : callable
        A :class:`Call` for a :class:`Problem`, or None where the library has no
        such reduction. It may raise anything for the same reason.
    threads : callable
        A context in which the library uses so many threads.
    pin : callable, optional
        Tells the library the number of threads, before each batch of calls: numba
        changes it for all that use OpenMP, PyTorch among them.
    skips_nan : bool
        Whether its answer leaves NaN out, which is another question.
    """

    name: str
    modules: tuple[str, ...]
    prepare: Callable[[Problem], Call | None]
    threads: Callable[[int], Any]
    pin: Callable[[int], object] | None = None
    skips_nan: bool = False

    def call(self, problem: Problem) -> Call | None:
        """What ``prepare`` gives, with the number of threads set before it."""
        call = self.prepare(problem)
        if call is None or self.pin is None:
            return call
        return replace(call, before=partial(self.pin, problem.threads))


def _ours(problem: Problem) -> Call:
    cell = problem.cell
    # Types that no opset takes are reduced with the version's list set aside.
    strict = "" if cell.strict else ", strict=False"
    return Call(
        f"reduce(x, axes, keepdims=False{strict})",
        {
            "reduce": getattr(reducekit, cell.op.function),
            "x": problem.data,
            "axes": cell.case.axes,
        },
    )


def _numpy(problem: Problem) -> Call:
    cell = problem.cell
    # The ufunc, which is faster than numpy.max and the methods.
    ufunc = {"max": np.maximum, "min": np.minimum, "sum": np.add}[cell.op.short]
    dtype = ", dtype=dtype" if cell.op.short == "sum" else ""
    return Call(
        f"reduce(x, axis=axes{dtype})",
        {
            "reduce": ufunc.reduce,
            "x": problem.data,
            "axes": cell.case.axes,
            "dtype": problem.data.dtype,
        },
    )


def _torch(problem: Problem) -> Call:
    torch = import_module("torch")
    cell, x = problem.cell, problem.data
    bfloat16 = cell.element.name == "bfloat16"
    tensor = torch.from_numpy(x.view(np.int16) if bfloat16 else x)
    if bfloat16:
        tensor = tensor.view(torch.bfloat16)
    function = getattr(torch, {"max": "amax", "min": "amin", "sum": "sum"}[cell.op.short])
    dtype = ", dtype=dtype" if cell.op.short == "sum" else ""

    def to_numpy(result: Any) -> Any:
        if bfloat16:
            return result.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return result.numpy()

    return Call(
        f"reduce(t, axes{dtype})",
        {"reduce": function, "t": tensor, "axes": cell.case.axes, "dtype": tensor.dtype},
        to_numpy=to_numpy,
    )


def _onnxruntime(problem: Problem) -> Call | None:
    helper, ort = import_module("onnx.helper"), import_module("onnxruntime")
    cell, x = problem.cell, problem.data
    if not x.flags.c_contiguous or cell.element.name == "bfloat16":
        return None
    opset, number = 20, cell.element.onnx_number
    axes = helper.make_tensor("axes", 7, [len(cell.case.axes)], list(cell.case.axes))
    graph = helper.make_graph(
        [helper.make_node(cell.op.name, ["x", "axes"], ["y"], keepdims=0)],
        "reduction",
        [helper.make_tensor_value_info("x", number, list(x.shape))],
        [helper.make_tensor_value_info("y", number, None)],
        [axes],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    options = ort.SessionOptions()
    options.intra_op_num_threads = problem.threads
    options.log_severity_level = 4
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return Call(
        "run(names, feed)",
        {
            "run": session.run_with_ort_values,
            "names": ["y"],
            "feed": {"x": ort.OrtValue.ortvalue_from_numpy(x)},
        },
        to_numpy=lambda result: result[0].numpy(),
    )


# Other types go to plain NumPy there, or are converted first.
_NAN_TYPES = ("float32", "float64", "int32", "int64")


def _bottleneck(problem: Problem) -> Call | None:
    cell, x = problem.cell, problem.data
    axes = cell.case.axes
    if cell.element.name not in _NAN_TYPES or (len(axes) > 1 and len(axes) < x.ndim):
        return None
    return Call(
        "reduce(x, axis)",
        {
            "reduce": getattr(import_module("bottleneck"), f"nan{cell.op.short}"),
            "x": x,
            "axis": axes[0] if len(axes) < x.ndim else None,
        },
    )


def _numbagg(problem: Problem) -> Call | None:
    cell = problem.cell
    if cell.element.name not in _NAN_TYPES:
        return None
    return Call(
        "reduce(x, axis=axes)",
        {
            "reduce": getattr(import_module("numbagg"), f"nan{cell.op.short}"),
            "x": problem.data,
            "axes": cell.case.axes,
        },
    )


def _jax(problem: Problem) -> Call | None:
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    cell, x = problem.cell, problem.data
    if not x.flags.c_contiguous:  # its arrays are always plain
        return None
    dtype = {"dtype": x.dtype} if cell.op.short == "sum" else {}
    function = jax.jit(lambda a: getattr(jnp, cell.op.short)(a, axis=cell.case.axes, **dtype))
    return Call("reduce(a).block_until_ready()", {"reduce": function, "a": jnp.asarray(x)})


@contextmanager
def _switched(get: Callable[[], Any], set_: Callable[[Any], object], value: Any) -> Iterator[None]:
    before = get()
    set_(value)
    try:
        yield
    finally:
        set_(before)


def _pin_ours(threads: int) -> None:
    package: Any = reducekit
    if hasattr(package, "set_num_threads"):
        package.set_num_threads(threads)


def _our_threads(threads: int) -> Any:
    package: Any = reducekit
    if not hasattr(package, "set_num_threads"):
        return ExitStack()
    return _switched(package.get_num_threads, _pin_ours, threads)


def _pin_torch(threads: int) -> None:
    import_module("torch").set_num_threads(threads)


def _torch_threads(threads: int) -> Any:
    return _switched(import_module("torch").get_num_threads, _pin_torch, threads)


def _pin_numba(threads: int) -> None:
    numba = import_module("numba")
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))


def _numba_threads(threads: int) -> Any:
    return _switched(import_module("numba").get_num_threads, _pin_numba, threads)


def _jax_settings(threads: int) -> Any:
    """64-bit types, which are off by default; the number of threads is fixed at its start."""
    del threads
    jax = import_module("jax")
    return _switched(
        lambda: jax.config.jax_enable_x64,
        lambda on: jax.config.update("jax_enable_x64", on),
        True,
    )


def _no_threads(threads: int) -> Any:
    del threads
    return ExitStack()


CONTENDERS: tuple[Contender, ...] = (
    Contender(OURS, ("reducekit",), _ours, _our_threads, _pin_ours),
    Contender("numpy", ("numpy",), _numpy, _no_threads),
    Contender("torch", ("torch",), _torch, _torch_threads, _pin_torch),
    Contender("onnxruntime", ("onnxruntime", "onnx"), _onnxruntime, _no_threads),
    Contender("bottleneck", ("bottleneck",), _bottleneck, _no_threads, skips_nan=True),
    Contender(
        "numbagg", ("numbagg", "numba"), _numbagg, _numba_threads, _pin_numba, skips_nan=True
    ),
    Contender("jax", ("jax", "jaxlib"), _jax, _jax_settings),
)
"""Ours, and all that it can be compared with."""


def installed(names: tuple[str, ...] | None = None) -> list[Contender]:
    """The contenders that can be imported; reducekit is always the first.

    >>> [contender.name for contender in installed(("numpy",))]
    ['reducekit', 'numpy']
    """
    found = []
    for contender in CONTENDERS:
        if names is not None and contender.name not in (OURS, *names):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for module in contender.modules:
                    import_module(module)
        except Exception:  # noqa: BLE001 - a broken library is as absent as none
            continue
        found.append(contender)
    return found


@contextmanager
def thread_counts(contenders: list[Contender], threads: int) -> Iterator[None]:
    """A context in which every contender uses so many threads, if it can be told."""
    with ExitStack() as stack:
        for contender in contenders:
            stack.enter_context(contender.threads(threads))
        yield


class Reader:
    """Plain loops that do nothing but read: the yardstick of bandwidth.

    Three, of which the fastest counts: the C library's ``memchr`` for a byte that
    is not there, this package's sum of int64, and NumPy's maximum of int32. Each
    reads a block of its own memory as long as what the cell reads, on one thread
    for the first and the last.
    """

    LONGEST = 1 << 30
    SHORTEST = 1 << 15

    def __init__(self) -> None:
        self._block = np.zeros(0, dtype=np.int64)
        try:
            self._memchr: Any = ctypes.CDLL(None).memchr
            self._memchr.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
            self._memchr.restype = ctypes.c_void_p
        except (AttributeError, OSError, TypeError):  # no C library under that name
            self._memchr = None

    def calls(self, memory: int) -> tuple[dict[str, Call], float]:
        """The loops over so many bytes, and by what to multiply their times.

        Nothing where the cost of a call would be most of it.
        """
        if memory < self.SHORTEST:
            return {}, 1.0
        size = min(memory, self.LONGEST) // 8
        if len(self._block) < size:
            self._block = np.full(size, 0x0101010101010101, dtype=np.int64)
        block = self._block[:size]
        found = {
            "int64 sum": Call("read(block)", {"read": reducekit.reduce_sum, "block": block}),
            "int32 max": Call(
                "read(block)", {"read": np.maximum.reduce, "block": block.view(np.int32)}
            ),
        }
        if self._memchr is not None:
            names = {"read": self._memchr, "address": block.ctypes.data, "n": size * 8}
            found["memchr"] = Call("read(address, 0, n)", names, to_numpy=lambda _: 0)
        return found, memory / (size * 8)
