"""Shape and type inference for a reduction node, by the engine's own rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import schema
from .._rules import get_default_opset
from ..errors import ArgumentError, AxesError, DTypeError, OpsetError, ReduceError
from ._extra import onnx
from ._node import Axes, Problem, Reduction, is_reduction, problems, read, resolve
from ._types import TensorType

__all__ = ["TensorType", "infer", "infer_node"]

_LAWFUL_ANYWAY = ("element-type", "negative-axis")
"""What ``strict=False`` lifts, as in the functions on arrays."""

_ERROR_OF = {
    "element-type": DTypeError,
    "axis-range": AxesError,
    "negative-axis": AxesError,
    "duplicate-axis": AxesError,
    "axes-attribute": OpsetError,
    "axes-input": OpsetError,
    "noop_with_empty_axes": OpsetError,
    "axes-type": DTypeError,
}


def infer_node(
    node: onnx.NodeProto,
    input_types: Mapping[str, onnx.TypeProto],
    input_data: Mapping[str, onnx.TensorProto | np.ndarray] | None = None,
    *,
    opset: int | str | None = None,
    strict: bool = True,
) -> dict[str, onnx.TypeProto]:
    """The type of a reduction node's output.

    The arguments are those of :func:`onnx.shape_inference.infer_node_outputs`,
    and so is the answer. What differs: a node that breaks a rule of its version
    is an error, not an answer, and the answer says ``rank`` where only that can
    be known.

    Parameters
    ----------
    node : onnx.NodeProto
        ReduceMax, ReduceMin or ReduceSum of any version.
    input_types : mapping of str to onnx.TypeProto
        By the names of the node's inputs.
    input_data : mapping of str to onnx.TensorProto or numpy.ndarray, optional
        The values of those inputs that are constant: with the axes among them,
        the shape can be known.
    opset : int or "latest", optional
        Omitted means the opset in force, as for :func:`reducekit.reduce_max`.
    strict : bool
        False lifts the lists of element types and the ban on negative axes
        below opset 11.

    Returns
    -------
    dict of str to onnx.TypeProto
        One entry, for the output.

    Raises
    ------
    DTypeError, AxesError, OpsetError, ArgumentError
        If the node breaks a rule of its version.

    Examples
    --------
    >>> from onnx import TensorProto, helper
    >>> node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=0)
    >>> x = helper.make_tensor_type_proto(TensorProto.FLOAT, ("N", 3, 2))
    >>> str(TensorType.of_proto(infer_node(node, {"x": x}, opset=13)["y"]))
    'float32 (N, 2)'
    """
    if not is_reduction(node):
        names = ", ".join(op.name for op in schema.OPERATORS)
        raise ArgumentError(
            f"infer_node: {node.op_type!r} of domain {node.domain!r} is no reduction of the "
            f"table; use one of {names}, or onnx.shape_inference.infer_node_outputs"
        )
    reduction = read(node)
    number = get_default_opset() if opset is None else schema.check_opset("infer_node", opset)
    given = node.input[0] if node.input else ""
    if given and given not in input_types:
        raise ArgumentError(
            f"infer_node: the type of input {given!r} is not in input_types; "
            "give one, an empty onnx.TypeProto if it is unknown"
        )
    data = TensorType.of_proto(input_types[given]) if given else TensorType()
    if data is None:
        raise DTypeError(f"infer_node: input {given!r} is no tensor; a reduction takes a tensor")
    second = reduction.axes_input
    constant = None if input_data is None else input_data.get(second)
    if isinstance(constant, onnx.TensorProto):
        constant = onnx.numpy_helper.to_array(constant)
    axes_type = TensorType.of_proto(input_types[second]) if second in input_types else None
    result = infer(reduction, number, data, reduction.axes(constant, axes_type), strict=strict)
    return {node.output[0]: result.to_proto()}


def infer(
    node: Reduction, opset: int, data: TensorType, axes: Axes, *, strict: bool = True
) -> TensorType:
    """The same on types that are already read; raises for the first broken rule."""
    for problem in problems(node, opset, data, axes):
        if strict or problem.rule not in _LAWFUL_ANYWAY:
            raise refusal(node, problem)
    keepdims = node.flag("keepdims", 1)
    noop = node.flag("noop_with_empty_axes", 0)
    if axes.values is None:
        # The axes may be empty, and then the flag decides; either way a kept rank is kept.
        rank = data.rank
        if rank is None or (keepdims != 1 and rank > 0):
            return TensorType(data.dtype)
        if axes.type.shape == (0,):
            return infer(node, opset, data, Axes("input", (), axes.type), strict=strict)
        return TensorType(data.dtype, tuple(1 if dim == 1 else None for dim in data.shape or ()))
    if data.shape is None:
        if not axes.values and noop == 0 and keepdims == 0:
            return TensorType(data.dtype, ())
        return TensorType(data.dtype)
    if keepdims is None or noop is None:
        return TensorType(data.dtype)
    _, reduced, identity, keep = resolve(
        node, opset, len(data.shape), axes.values, data.dtype, strict
    )
    if identity:
        return data
    shape = [
        1 if position in reduced else dim
        for position, dim in enumerate(data.shape)
        if keep or position not in reduced
    ]
    return TensorType(data.dtype, tuple(shape))


def refusal(node: Reduction, problem: Problem) -> ReduceError:
    """The error for a broken rule, in the name of the node, with the way out."""
    label = f"{node.operator.name} {node.name!r}" if node.name else node.operator.name
    way_out = " or ".join(edit.text for edit in problem.edits)
    text = f"{label}: {problem.text}" + (f": {way_out}" if way_out else "")
    error: Any = _ERROR_OF.get(problem.rule, ArgumentError)
    made: ReduceError = error(text)
    return made
