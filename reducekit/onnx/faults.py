"""What common runtimes get wrong about legal reductions, as data.

Each row was seen on the version that it names, on a CPU, and carries the case
that shows it. :func:`reproduce` runs that case on the runtime that is installed,
so a row can be checked again on another version; the tests do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import reducekit

from .. import schema
from ..dtypes import by_name
from ._types import Dim, TensorType

__all__ = ["FAULTS", "ONNX_RUNTIMES", "RUNTIMES", "Fault", "reproduce", "run_on"]

_NEWEST = schema.NEWEST_OPSET
_ALL = tuple(op.name for op in schema.OPERATORS)
_EXTREMA = ("ReduceMax", "ReduceMin")
_SUM = ("ReduceSum",)
_FLOATS = ("float16", "float32", "float64")
_INTS = ("int32", "int64", "uint32", "uint64")

RUNTIMES = {
    "onnxruntime": "onnxruntime, CPU provider",
    "onnx.reference": "onnx.reference.ReferenceEvaluator",
    "torch": "torch.amax, torch.amin, torch.sum on a CPU",
    "numpy": "numpy.max, numpy.min, numpy.sum",
}
"""The runtimes of the table and what exactly was called."""

ONNX_RUNTIMES = ("onnxruntime", "onnx.reference")
"""Those that run ONNX models; the others are what models are ported from and to."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a runtime gets wrong for nodes that are legal.

    Attributes
    ----------
    runtime, version : str
        The package, and the version on which it was seen.
    kind : str
        ``missing type``, ``nan``, ``saturation``, ``precision``, ``rounding``,
        ``overflow``, ``empty set``, ``result type`` or ``zero sign``.
    operators, dtypes : tuple of str
        For which nodes.
    opsets : tuple of int
        The first and the last opset.
    when : str
        On which data; empty for all.
    does : str
        What happens in place of the right result.
    values : tuple
        The elements of the case that shows it, repeated to fill ``shape``;
        ``"largest"`` and ``"-largest"`` stand for the finite ends of the element type.
    shape, axes : tuple of int
        Of that case.
    """

    runtime: str
    version: str
    kind: str
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    opsets: tuple[int, int]
    when: str
    does: str
    values: tuple[float | str, ...]
    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def sentence(self) -> str:
        """When it happens and what happens."""
        return f"{self.when}: {self.does}" if self.when else self.does

    def __str__(self) -> str:
        return f"{self.runtime} {self.version}: {self.sentence}"

    def concerns(
        self, operator: str, opset: int, data: TensorType, reduced: Iterable[int] | None = None
    ) -> bool:
        """Whether a node of this operator, opset and type can meet the fault.

        Parameters
        ----------
        operator : str
        opset : int
        data : TensorType
        reduced : iterable of int, optional
            The reduced axes where they are known.
        """
        if operator not in self.operators or data.dtype not in self.dtypes:
            return False
        if not self.opsets[0] <= opset <= self.opsets[1]:
            return False
        if data.shape is None or reduced is None:
            return True
        sizes = [data.shape[axis] for axis in reduced]
        if self.kind == "empty set":
            return any(not isinstance(size, int) or size == 0 for size in sizes)
        return self.kind in _EVEN_ALONE or _can_exceed_one(sizes)

    def data(self, dtype: str) -> np.ndarray:
        """The array of the case that shows the fault."""
        kind = by_name(dtype)
        limits = ml_dtypes.finfo if kind.kind == "float" else ml_dtypes.iinfo
        ends = {"largest": "max", "-largest": "min"}
        elements = [
            getattr(limits(kind.numpy_dtype), ends[value]) if isinstance(value, str) else value
            for value in self.values
        ]
        return np.resize(np.array(elements, dtype=kind.numpy_dtype), self.shape)


# Kinds that need no second element in the same sum.
_EVEN_ALONE = ("missing type", "result type", "precision", "zero sign")


def _can_exceed_one(sizes: list[Dim]) -> bool:
    """Whether more than one element may meet in a reduction."""
    return any(not isinstance(size, int) or size > 1 for size in sizes)


_ORT = ("onnxruntime", "1.32.0")
_REF = ("onnx.reference", "1.23.2")
_TORCH = ("torch", "2.13.0")
_NUMPY = ("numpy", "2.4.6")

# fmt: off
FAULTS: tuple[Fault, ...] = (
    Fault(
        *_ORT, "missing type", _ALL, ("uint32", "uint64", "bfloat16"), (1, _NEWEST),
        "", "the model does not load, there is no kernel",
        (1, 2), (2,), (0,),
    ),
    Fault(
        *_ORT, "missing type", _ALL, ("float16",), (1, 5),
        "", "the model does not load, it inserts a Cast that these opsets do not have",
        (1, 2), (2,), (0,),
    ),
    Fault(
        *_ORT, "nan", _EXTREMA, _FLOATS, (1, _NEWEST),
        "with a NaN that is not the first of the reduced elements",
        "the NaN is passed over and the result is a number",
        (1, float("nan")), (2,), (0,),
    ),
    Fault(
        *_ORT, "saturation", _SUM, ("int32", "int64"), (1, _NEWEST),
        "where the sum leaves the range of the type",
        "the sum stops at the smallest or largest value and does not wrap",
        ("largest", 1), (2,), (0,),
    ),
    Fault(
        *_ORT, "precision", _SUM, ("int64",), (1, _NEWEST),
        "with an element or a sum beyond 2**53",
        "the sum is taken in float64 and its low bits are lost",
        (2**53 + 1,), (1,), (0,),
    ),
    Fault(
        *_ORT, "rounding", _SUM, ("float32", "float64"), (1, _NEWEST),
        "with elements of very different size, or very many",
        "each addition is rounded, so the error grows with their number and order",
        (1, 1, 1e17, 1e17, -1e17, -1e17), (3, 2), (0,),
    ),
    Fault(
        *_ORT, "overflow", _SUM, ("float32", "float64"), (1, _NEWEST),
        "where a partial sum leaves the range but the sum does not",
        "the result is infinite or NaN",
        ("-largest", "largest"), (4,), (0,),
    ),
    Fault(
        *_ORT, "zero sign", _EXTREMA, _FLOATS, (1, _NEWEST),
        "with zeros of both signs",
        "their order decides which one comes out",
        (-0.0, 0.0, 0.0, -0.0), (2, 2), (0,),
    ),
    Fault(
        *_ORT, "zero sign", _SUM, _FLOATS, (1, _NEWEST),
        "of negative zeros alone, along an axis that is not the last",
        "the sum is +0",
        (-0.0,), (3, 2), (0,),
    ),
    Fault(
        *_ORT, "empty set", _EXTREMA, ("bool",), (20, _NEWEST),
        "where a reduced axis has size 0", "it fails",
        (), (0, 2), (0,),
    ),
    Fault(
        *_REF, "rounding", _SUM, ("float16", "bfloat16"), (1, _NEWEST),
        "along an axis that is not the last, or in bfloat16 along any",
        "each addition is rounded, so a sum of many ones stops at 2048 or 256",
        (1,), (3000, 2), (0,),
    ),
    Fault(
        *_REF, "rounding", _SUM, ("float32", "float64"), (1, _NEWEST),
        "with elements of very different size, or very many along an axis that is not the last",
        "each addition is rounded, so the error grows with their number and order",
        (1, 1, 1e17, 1e17, -1e17, -1e17), (3, 2), (0,),
    ),
    Fault(
        *_REF, "overflow", _SUM, ("float16", "float32"), (1, _NEWEST),
        "where a partial sum leaves the range but the sum does not",
        "the result is infinite or NaN",
        (*["-largest"] * 4, *["largest"] * 4), (4, 2), (0,),
    ),
    Fault(
        *_REF, "zero sign", _EXTREMA, (*_FLOATS, "bfloat16"), (1, _NEWEST),
        "with zeros of both signs",
        "their order decides which one comes out",
        (-0.0, 0.0, 0.0, -0.0), (2, 2), (0,),
    ),
    Fault(
        *_REF, "zero sign", _SUM, (*_FLOATS, "bfloat16"), (1, _NEWEST),
        "of negative zeros alone", "the sum is +0",
        (-0.0,), (3, 2), (0,),
    ),
    Fault(
        *_TORCH, "missing type", _EXTREMA, ("uint32", "uint64"), (1, _NEWEST),
        "", "it fails, there is no kernel",
        (1, 2), (2,), (0,),
    ),
    Fault(
        *_TORCH, "empty set", _EXTREMA,
        ("bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"),
        (1, _NEWEST),
        "where a reduced axis has size 0", "it fails",
        (), (0, 2), (0,),
    ),
    Fault(
        *_TORCH, "result type", _SUM, ("int32", "uint32", "uint64"), (1, _NEWEST),
        "", "the sum is int64 unless dtype= is given, and does not wrap in the input's type",
        ("largest", 1), (2,), (0,),
    ),
    Fault(
        *_TORCH, "rounding", _SUM, ("bfloat16", "float32", "float64"), (1, _NEWEST),
        "with elements of very different size",
        "additions are rounded to float32 or float64, so the error depends on the order",
        (1, 1, 1e17, 1e17, -1e17, -1e17), (3, 2), (0,),
    ),
    Fault(
        *_TORCH, "overflow", _SUM, ("float32",), (1, _NEWEST),
        "where a partial sum leaves the range but the sum does not",
        "the result is infinite or NaN",
        (*["-largest"] * 4, *["largest"] * 4), (4, 2), (0,),
    ),
    Fault(
        *_TORCH, "zero sign", _EXTREMA, (*_FLOATS, "bfloat16"), (1, _NEWEST),
        "with zeros of both signs",
        "their order decides which one comes out",
        (-0.0, 0.0, 0.0, -0.0), (2, 2), (0,),
    ),
    Fault(
        *_TORCH, "zero sign", _SUM, (*_FLOATS, "bfloat16"), (1, _NEWEST),
        "of negative zeros alone", "the sum is +0",
        (-0.0,), (3, 2), (0,),
    ),
    Fault(
        *_NUMPY, "empty set", _EXTREMA,
        ("bool", "int8", "uint8", *_INTS, "float16", "bfloat16", "float32", "float64"),
        (1, _NEWEST),
        "where a reduced axis has size 0", "it fails unless initial= is given",
        (), (0, 2), (0,),
    ),
    Fault(
        *_NUMPY, "result type", _SUM, ("int32", "uint32"), (1, _NEWEST),
        "", "the sum is int64 or uint64 unless dtype= is given, and does not wrap in the "
        "input's type",
        ("largest", 1), (2,), (0,),
    ),
    Fault(
        *_NUMPY, "rounding", _SUM, ("float16", "bfloat16"), (1, _NEWEST),
        "along an axis that is not the last, or in bfloat16 along any",
        "each addition is rounded, so a sum of many ones stops at 2048 or 256",
        (1,), (3000, 2), (0,),
    ),
    Fault(
        *_NUMPY, "rounding", _SUM, ("float32", "float64"), (1, _NEWEST),
        "with elements of very different size, or very many along an axis that is not the last",
        "each addition is rounded, so the error grows with their number and order",
        (1, 1, 1e17, 1e17, -1e17, -1e17), (3, 2), (0,),
    ),
    Fault(
        *_NUMPY, "overflow", _SUM, ("float16", "float32"), (1, _NEWEST),
        "where a partial sum leaves the range but the sum does not",
        "the result is infinite or NaN",
        (*["-largest"] * 4, *["largest"] * 4), (4, 2), (0,),
    ),
    Fault(
        *_NUMPY, "zero sign", _EXTREMA, (*_FLOATS, "bfloat16"), (1, _NEWEST),
        "with zeros of both signs",
        "their order decides which one comes out",
        (-0.0, 0.0, 0.0, -0.0), (2, 2), (0,),
    ),
    Fault(
        *_NUMPY, "zero sign", _SUM, (*_FLOATS, "bfloat16"), (1, _NEWEST),
        "of negative zeros alone", "the sum is +0",
        (-0.0,), (3, 2), (0,),
    ),
)
# fmt: on
"""The table. The order is that of reports: runtimes for ONNX models first."""


def run_on(
    runtime: str,
    operator: str,
    opset: int,
    data: np.ndarray,
    axes: tuple[int, ...] | None,
    keepdims: bool = True,
) -> np.ndarray:
    """One reduction on one of the ``RUNTIMES``; what that raises is passed on."""
    return _RUN[runtime](operator, opset, data, axes, keepdims)


def reproduce(fault: Fault, operator: str, dtype: str, opset: int) -> str | None:
    """Run the case of a fault on the runtime that is installed.

    Returns
    -------
    str or None
        What came in place of the right result; None if the result was right.
    """
    data = fault.data(dtype)
    function = getattr(reducekit, schema.operator(operator).function)
    right = function(data, fault.axes, opset=opset)
    try:
        got = run_on(fault.runtime, operator, opset, data, fault.axes)
    except Exception as error:  # noqa: BLE001 - every runtime fails in its own way
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[0]}"
    if got.dtype != right.dtype:
        return f"{got.dtype} in place of {right.dtype}"
    same = (got == right) | ((got != got) & (right != right))
    if fault.kind == "zero sign":
        same &= np.signbit(got) == np.signbit(right)
    if got.shape == right.shape and bool(np.all(same)):
        return None
    return f"{got.reshape(-1)[:3].tolist()} in place of {right.reshape(-1)[:3].tolist()}"


def single_node_model(
    operator: str, opset: int, dtype: str, rank: int, axes: tuple[int, ...] | None, keepdims: bool
) -> Any:
    """A model of one reduction, with symbolic sizes, in the form of its version."""
    from ._extra import onnx

    helper = onnx.helper
    kind = by_name(dtype)
    inputs, initializers = ["x"], []
    attributes = [helper.make_attribute("keepdims", int(keepdims))]
    if axes is not None:
        if schema.resolve(operator, opset).axes == "attribute":
            ints = onnx.AttributeProto.INTS
            attributes.append(helper.make_attribute("axes", list(axes), attr_type=ints))
        else:
            inputs.append("axes")
            values = np.array(axes, dtype=np.int64)
            initializers.append(onnx.numpy_helper.from_array(values, "axes"))
    node = helper.make_node(operator, inputs, ["y"])
    node.attribute.extend(attributes)
    rank_out = rank if keepdims else rank - len(axes or range(rank))
    graph = helper.make_graph(
        [node],
        "reduction",
        [helper.make_tensor_value_info("x", kind.onnx_number, [f"i{i}" for i in range(rank)])],
        [helper.make_tensor_value_info("y", kind.onnx_number, [f"o{i}" for i in range(rank_out)])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _on_onnxruntime(
    operator: str, opset: int, data: np.ndarray, axes: tuple[int, ...] | None, keepdims: bool
) -> np.ndarray:
    import onnxruntime  # type: ignore[import-untyped]

    model = single_node_model(operator, opset, data.dtype.name, data.ndim, axes, keepdims)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": data})[0])


def _on_reference(
    operator: str, opset: int, data: np.ndarray, axes: tuple[int, ...] | None, keepdims: bool
) -> np.ndarray:
    from onnx.reference import ReferenceEvaluator

    model = single_node_model(operator, opset, data.dtype.name, data.ndim, axes, keepdims)
    outputs: Any = ReferenceEvaluator(model).run(None, {"x": data})
    return np.asarray(outputs[0])


def _on_torch(
    operator: str, _opset: int, data: np.ndarray, axes: tuple[int, ...] | None, keepdims: bool
) -> np.ndarray:
    import torch

    name = {"max": "amax", "min": "amin", "sum": "sum"}[schema.operator(operator).short]
    function: Any = getattr(torch, name)
    if data.dtype.name == "bfloat16":
        tensor = torch.from_numpy(data.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(data)
    result = function(tensor, dim=axes or (), keepdim=keepdims)
    if result.dtype == torch.bfloat16:
        return np.asarray(result.view(torch.int16).numpy()).view(data.dtype)
    return np.asarray(result.numpy())


def _on_numpy(
    operator: str, _opset: int, data: np.ndarray, axes: tuple[int, ...] | None, keepdims: bool
) -> np.ndarray:
    function: Any = getattr(np, schema.operator(operator).short)
    return np.asarray(function(data, axis=axes or None, keepdims=keepdims))


_RUN: dict[str, Callable[..., np.ndarray]] = {
    "onnxruntime": _on_onnxruntime,
    "onnx.reference": _on_reference,
    "torch": _on_torch,
    "numpy": _on_numpy,
}
