"""The same call elsewhere: as reducekit, NumPy, PyTorch, an ONNX model and ATB have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import schema
from ..dtypes import ElementType, by_name

if TYPE_CHECKING:
    from . import Explanation

__all__ = ["code"]


def code(e: Explanation) -> dict[str, str]:
    """The call for data called ``x``, by the names that :attr:`Explanation.code` lists."""
    return {
        "reducekit": _reducekit_code(e),
        "numpy": _numpy_code(e),
        "torch": _torch_code(e),
        "onnx": _onnx_code(e),
        **_atb_code(e),
    }


def _all_reduced(e: Explanation) -> bool:
    return len(e.reduced_axes) == len(e.in_shape)


def _axes_code(axes: tuple[int, ...]) -> str:
    return str(axes[0]) if len(axes) == 1 else str(axes)


def _reducekit_code(e: Explanation) -> str:
    arguments = ["x"]
    if e.identity:
        arguments.append("noop_with_empty_axes=True")
    elif not _all_reduced(e):
        arguments.append(str(list(e.reduced_axes)))
    if not e.keepdims:
        arguments.append("keepdims=False")
    arguments.append(f"opset={e.opset}")
    if not e.strict:
        arguments.append("strict=False")
    return f"rk.{schema.operator(e.operator).function}({', '.join(arguments)})"


def _is_empty_set(e: Explanation) -> bool:
    return not e.identity and e.elements_per_output == 0


def _numpy_code(e: Explanation) -> str:
    if e.identity:
        return "x.copy()"
    short, kind = schema.operator(e.operator).short, by_name(e.dtype)
    arguments = ["x"]
    if not _all_reduced(e):
        arguments.append(f"axis={_axes_code(e.reduced_axes)}")
    if e.keepdims and e.in_shape:
        arguments.append("keepdims=True")
    after = ""
    if e.version.empty == "zero":
        if kind.kind == "float" and kind.itemsize < 8:
            arguments.append("dtype=np.float64")
            after = ".astype(x.dtype)"
        elif kind.kind != "float":
            arguments.append("dtype=x.dtype")
    elif _is_empty_set(e):
        arguments.append(f"initial={_initial(e, kind)}")
    return f"np.{short}({', '.join(arguments)}){after}"


def _initial(e: Explanation, kind: ElementType) -> str:
    lowest = e.version.empty == "lowest"
    if kind.kind == "float":
        return "-np.inf" if lowest else "np.inf"
    if kind.kind == "bool":
        return str(not lowest)
    return f"np.iinfo(x.dtype).{'min' if lowest else 'max'}"


# What torch does not reduce on the CPU, and a wider type that it does.
_TORCH_WIDER = {"uint16": "int64", "uint32": "int64"}


def _torch_code(e: Explanation) -> str:
    if e.identity:
        return "x.clone()"
    short, kind = schema.operator(e.operator).short, by_name(e.dtype)
    data, after = "x", ""
    arguments = []
    if e.in_shape:
        arguments.append(f"dim={_axes_code(e.reduced_axes)}")
        if e.keepdims:
            arguments.append("keepdim=True")
    if e.version.empty == "zero":
        if kind.kind == "float" and kind.itemsize < 8:
            arguments.append("dtype=torch.float64")
            after = ".to(x.dtype)"
        elif kind.name in _TORCH_WIDER:
            data, after = f"x.to(torch.{_TORCH_WIDER[kind.name]})", ".to(x.dtype)"
        elif kind.name == "uint64":  # sums modulo 2^64 have the same bits with and without sign
            data, after = "x.view(torch.int64)", ".view(x.dtype)"
        elif kind.kind != "float":
            arguments.append("dtype=x.dtype")
        return f"torch.sum({', '.join([data, *arguments])}){after}"
    if _is_empty_set(e):
        value = {"float": "torch.inf", "bool": str(e.version.empty == "highest")}.get(kind.kind)
        if value is None:
            value = f"torch.iinfo(x.dtype).{'min' if e.version.empty == 'lowest' else 'max'}"
        elif kind.kind == "float" and e.version.empty == "lowest":
            value = "-torch.inf"
        return f"torch.full({e.out_shape}, {value}, dtype=x.dtype)"
    if kind.name == "uint64":
        return f"# torch has no a{short} of uint64"
    if kind.name in _TORCH_WIDER:
        data, after = f"x.to(torch.{_TORCH_WIDER[kind.name]})", ".to(x.dtype)"
    return f"torch.a{short}({', '.join([data, *arguments])}){after}"


def _onnx_code(e: Explanation) -> str:
    kind, version = by_name(e.dtype), e.version
    axes = () if e.identity or _all_reduced(e) else e.reduced_axes
    attributes = []
    if axes and version.axes == "attribute":
        attributes.append(f"axes = {list(axes)}")
    attributes.append(f"keepdims = {int(e.keepdims)}")
    if e.identity:
        attributes.append("noop_with_empty_axes = 1")
    inputs, constants = "x", ""
    if axes and version.axes == "input":
        inputs += ", axes"
        constants = f"\n<int64[{len(axes)}] axes = {{{', '.join(map(str, axes))}}}>"
    name = schema.operator(e.operator).function
    given, result = _onnx_type(kind, e.in_shape), _onnx_type(kind, e.out_shape)
    lines = [
        f'<ir_version: 8, opset_import: ["" : {e.opset}]>',
        f"{name} ({given} x) => ({result} y){constants}",
        f"{{ y = {version.name} <{', '.join(attributes)}> ({inputs}) }}",
    ]
    if not version.allows(kind.name):
        lines.insert(0, f"# {version} does not take {kind.name}: a checker refuses this model")
    return "\n".join(lines)


def _onnx_type(kind: ElementType, shape: tuple[int, ...]) -> str:
    return kind.onnx_name + (f"[{','.join(map(str, shape))}]" if shape else "")


def _atb_code(e: Explanation) -> dict[str, str]:
    op = schema.operator(e.operator)
    # ATB always removes the axes, and refuses an empty list.
    if not op.atb or e.keepdims or not e.reduced_axes:
        return {}
    return {"atb": f'{{"reduceType": {op.atb_number}, "axis": {list(e.reduced_axes)}}}'}
