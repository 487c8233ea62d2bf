"""What a reduction would do, from shapes alone: shapes, axes, rules, the same call elsewhere."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _html, _plan, _rules, _show, schema
from ._names import Dims, check_dims, to_positions
from .dtypes import ELEMENT_TYPES, ElementType, by_name, element_type
from .errors import ArgumentError, DTypeError, short, show_int

__all__ = ["Explanation", "explain"]

# The sizes of an ONNX tensor are int64.
MOST_SIZE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one reduction does to one shape, and the rules that say so.

    It prints as text, and as a drawing of the axes in notebooks.

    Attributes
    ----------
    operator : str
        The ONNX name, such as ``"ReduceMax"``.
    in_shape, out_shape : tuple of int
        The shapes of the data and of the result.
    reduced_axes, kept_axes : tuple of int
        The positions of the axes, in order.
    version : reducekit.schema.OperatorVersion
        The row of the table that the opset means.
    opset : int
        The opset of the call.
    dtype : str
        The element type of data and result, by NumPy's full name.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    axes : tuple of int
        The axes as they were given, with their signs; empty if omitted.
    noop_with_empty_axes : bool
        The flag of the call.
    identity : bool
        Whether nothing is reduced, because ``noop_with_empty_axes`` says so.
    strict : bool
        Whether the version's element types and its ban on negative axes hold.
    elements_per_output : int
        How many elements become one element of the result.
    in_dims, out_dims : tuple of (str or None), or None
        The names of the axes of the data and of the result.
    plan : tuple or None
        How the engine walks through memory, for data in C order; None where nothing is
        walked. It has the fields ``form``, ``kept`` and ``reduced`` (loops as size and
        stride in bytes, outermost first), ``outputs`` and ``terms``.

    See Also
    --------
    explain : Makes one.

    Examples
    --------
    >>> e = explain("max", shape=(2, 3, 2), axes=[0, 1], opset=18)
    >>> e.out_shape, e.kept_axes, e.elements_per_output
    ((1, 1, 2), (2,), 6)
    """

    operator: str
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    reduced_axes: tuple[int, ...]
    kept_axes: tuple[int, ...]
    version: schema.OperatorVersion
    opset: int
    dtype: str
    axes: tuple[int, ...]
    keepdims: bool
    noop_with_empty_axes: bool
    strict: bool
    identity: bool
    elements_per_output: int
    in_dims: Dims
    out_dims: Dims
    plan: Any = None

    @property
    def in_size(self) -> int:
        """The number of elements of the data."""
        return math.prod(self.in_shape)

    @property
    def out_size(self) -> int:
        """The number of elements of the result."""
        return math.prod(self.out_shape)

    @property
    def summary(self) -> str:
        """One sentence: from what shape to what shape, and what becomes of the elements."""
        return _summary(self)

    @property
    def rules(self) -> tuple[str, ...]:
        """One sentence for each rule that applies, the version's first."""
        return tuple(_rules_of(self))

    @property
    def code(self) -> dict[str, str]:
        """The same call elsewhere, for data called ``x``.

        Keys are ``"reducekit"``, ``"numpy"``, ``"torch"`` and ``"onnx"`` (a model
        in ONNX's text form), and ``"atb"`` where Ascend ATB has such a call.
        """
        return {
            "reducekit": _reducekit_code(self),
            "numpy": _numpy_code(self),
            "torch": _torch_code(self),
            "onnx": _onnx_code(self),
            **_atb_code(self),
        }

    def __str__(self) -> str:
        lines = [_title(self), "", *_axis_lines(self), "", self.summary, "", "Rules"]
        lines += [f"  - {rule}" for rule in self.rules]
        if self.plan is not None:
            lines += ["", "Plan", *(f"  {line}" for line in str(self.plan).splitlines())]
        lines += ["", "The same call"]
        for name, text in self.code.items():
            first, *others = text.split("\n")
            lines.append(f"  {name:<10} {first}")
            lines += [f"  {'':<10} {line}" for line in others]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return _card(self)


def explain(
    op: str,
    shape: Any,
    axes: Any = None,
    keepdims: bool = True,
    noop_with_empty_axes: bool = False,
    opset: int | str | None = None,
    dtype: Any = "float32",
    dims: Any = None,
    strict: bool = True,
) -> Explanation:
    """What a reduction would do, without data; the checks are those of the call itself.

    Parameters
    ----------
    op : str
        The operator under any of its names: ``"max"``, ``"reduce_max"``, ``"ReduceMax"``.
    shape : int or sequence of int
        The shape of the data; sizes may be 0, and larger than any memory.
    axes : int, str, sequence of (int or str), or None
        Positions, or names if ``dims`` is given. All axes if omitted.
    keepdims : bool, default True
        Whether reduced axes stay, with size 1.
    noop_with_empty_axes : bool, default False
        Whether no axes means that nothing is reduced, where the version has it.
    opset : int or "latest", optional
        The opset in force if omitted.
    dtype : str or dtype_like, default "float32"
        The element type.
    dims : sequence of (str or None), optional
        The names of the axes.
    strict : bool, default True
        Whether the version's element types and its ban on negative axes hold.

    Returns
    -------
    Explanation

    Raises
    ------
    AxesError, DTypeError, OpsetError, ArgumentError, TypeError
        What the call itself would raise, with its text; and for a bad shape or bad names.

    Examples
    --------
    >>> import reducekit as rk
    >>> e = rk.explain("max", (2, 3, 2), [0, 1], opset=18)
    >>> e.out_shape, e.kept_axes, str(e.version)
    ((1, 1, 2), (2,), 'ReduceMax-18')
    >>> print(e.summary)
    (2, 3, 2) -> (1, 1, 2): each of the 2 output elements is the maximum of 6 elements.
    """
    row = schema.operator(op)
    who = row.function
    in_shape = _check_shape(who, shape)
    in_dims = check_dims(who, dims, len(in_shape))
    positions = to_positions(who, axes, in_dims)
    if not (positions is None or isinstance(positions, (int, tuple, list))):
        # The rules read the axes once; the sentences below need them too.
        positions = _read_once(positions)
    number = _rules.get_default_opset() if opset is None else schema.check_opset(who, opset)
    dtype = _check_dtype(who, dtype)
    version, reduced, identity, keep = _rules.resolve_call(
        schema.OPERATORS.index(row), len(in_shape), dtype, positions, keepdims,
        noop_with_empty_axes, number, strict,
    )  # fmt: skip
    kind = element_type(dtype)
    assert kind is not None
    kept = tuple(axis for axis in range(len(in_shape)) if axis not in reduced)
    if keep or not reduced:
        out_shape = tuple(1 if axis in reduced else n for axis, n in enumerate(in_shape))
        out_dims = in_dims
    else:
        out_shape = tuple(in_shape[axis] for axis in kept)
        out_dims = None if in_dims is None else tuple(in_dims[axis] for axis in kept)
    # Sizes beyond what an array can have are explained, but nothing walks them.
    plan = None
    if not identity and kind.itemsize * math.prod(max(n, 1) for n in in_shape) < 2**63:
        strides = [kind.itemsize * math.prod(in_shape[axis + 1 :]) for axis in range(len(in_shape))]
        plan = _plan.describe(in_shape, strides, kind.itemsize, reduced, row.short != "sum")
    return Explanation(
        operator=row.name, in_shape=in_shape, out_shape=out_shape, reduced_axes=reduced,
        kept_axes=kept, version=version, opset=number, dtype=kind.name,
        axes=_as_given(positions), keepdims=keep,
        noop_with_empty_axes=bool(noop_with_empty_axes), strict=bool(strict), identity=identity,
        elements_per_output=math.prod(in_shape[axis] for axis in reduced),
        in_dims=in_dims, out_dims=out_dims, plan=plan,
    )  # fmt: skip


def _check_dtype(who: str, dtype: Any) -> np.dtype[Any]:
    if dtype is not None:  # NumPy would read None as float64
        try:
            checked: np.dtype[Any] = np.dtype(dtype)
            return checked
        except TypeError:
            pass
    names = ", ".join(row.name for row in ELEMENT_TYPES)
    raise DTypeError(f"{who}: dtype={short(dtype)} is unknown; use one of {names}")


def _check_shape(who: str, shape: Any) -> tuple[int, ...]:
    if hasattr(shape, "__index__") and not isinstance(shape, bool) and not _has_axes(shape):
        shape = (shape,)
    if isinstance(shape, (str, bytes, bytearray, Mapping, set, frozenset)) or not isinstance(
        shape, Iterable
    ):
        raise TypeError(
            f"{who}: shape={short(shape)} has type {type(shape).__name__}; "
            "use a sequence of sizes, such as (2, 3)"
        )
    sizes = []
    for axis, size in enumerate(shape):
        if type(size).__name__ == "bool" or not hasattr(size, "__index__"):
            raise TypeError(
                f"{who}: the size {short(size)} of axis {axis} has type {type(size).__name__}; "
                "a size is an int"
            )
        number = operator.index(size)
        if not 0 <= number <= MOST_SIZE:
            raise ArgumentError(
                f"{who}: the size {show_int(number)} of axis {axis} is out of range; "
                "use 0 to 2**63 - 1"
            )
        sizes.append(number)
    return tuple(sizes)


def _has_axes(value: Any) -> bool:
    return bool(getattr(value, "ndim", 0))


def _read_once(axes: Any) -> Any:
    if hasattr(axes, "ndim") or isinstance(axes, (Mapping, bytes, bytearray)):
        return axes
    return tuple(axes) if isinstance(axes, Iterable) else axes


def _as_given(axes: Any) -> tuple[int, ...]:
    """Axes that the rules have accepted, as ints with the signs that they came with."""
    if axes is None:
        return ()
    if hasattr(axes, "tolist"):
        axes = axes.tolist()
    if hasattr(axes, "__index__"):
        return (operator.index(axes),)
    return tuple(operator.index(axis) for axis in axes)


def _rules_of(e: Explanation) -> Iterable[str]:
    yield _version_rule(e)
    yield _type_rule(e)
    yield _form_rule(e)
    yield from _axes_rules(e)
    if e.in_shape and not e.identity:
        yield _keepdims_rule(e)
    yield _empty_rule(e)
    yield from _value_rules(e)


def _version_rule(e: Explanation) -> str:
    versions = schema.operator(e.operator).versions
    after = [v.since_version for v in versions if v.since_version > e.version.since_version]
    first, last = e.version.since_version, (after[0] - 1 if after else schema.NEWEST_OPSET)
    span = f"opset {first}" if first == last else f"opsets {first} to {last}"
    newest = "" if after else ", the newest known"
    return f"Opset {e.opset} means {e.version}, the version of {span}{newest}."


def _type_rule(e: Explanation) -> str:
    name, version = e.dtype, e.version
    if version.allows(name):
        return f"{version} takes {name}, and the result has the type of the data."
    first = schema.first_opset(version.name, name)
    since = f"the first that does is opset {first}" if first else "no opset does"
    return (
        f"{version} does not take {name} ({since}); strict=False lets it through. "
        "The result has the type of the data."
    )


def _form_rule(e: Explanation) -> str:
    since = next(v.since_version for v in schema.operator(e.operator).versions if v.axes == "input")
    if e.version.axes == "input":
        return (
            f"Axes are an optional input of the node, a tensor of int64; "
            f"before opset {since} they were an attribute."
        )
    return f"Axes are an attribute of the node; from opset {since} on they are an input."


def _axes_rules(e: Explanation) -> Iterable[str]:
    rank = len(e.in_shape)
    noop_since = schema.first_opset_with(e.version.name, "noop_with_empty_axes")
    if e.identity:
        yield (
            "No axes are given and noop_with_empty_axes is set, so nothing is reduced: "
            "the result equals the data and keepdims changes nothing."
        )
    elif not rank:
        yield "The data has rank 0: there are no axes, and the result has rank 0 too."
    elif not e.axes:
        other = (
            "noop_with_empty_axes=True would reduce none"
            if e.version.noop_with_empty_axes
            else f"noop_with_empty_axes, which turns that off, begins at opset {noop_since}"
        )
        yield f"No axes are given, so every axis is reduced; {other}."
    else:
        if e.noop_with_empty_axes:
            yield "noop_with_empty_axes is set but changes nothing, as axes are given."
        negative = [axis for axis in e.axes if axis < 0]
        since = schema.first_opset_with(e.version.name, "negative_axes")
        if negative:
            means = ", ".join(f"{axis} is axis {axis + rank}" for axis in negative[:6])
            more = ", and so on" if len(negative) > 6 else ""
            lifted = "" if e.version.negative_axes else "; strict=False lets it through"
            yield (
                f"Negative axes count from the end: {means}{more}. "
                f"They begin at opset {since}{lifted}."
            )
        elif not e.version.negative_axes and e.strict:
            yield f"Axes run from 0 to {rank - 1}; negative ones begin at opset {since}."
        else:
            yield f"Axes run from {-rank} to {rank - 1}, each at most once, in any order."


def _keepdims_rule(e: Explanation) -> str:
    if e.keepdims:
        return "keepdims is set (as by default, unlike NumPy): reduced axes stay with size 1."
    return "keepdims is not set: reduced axes are removed, and the rank falls."


def _empty_rule(e: Explanation) -> str:
    verb = schema.operator(e.operator).verb
    value = _show.value_text(e.version.empty_value(e.dtype), by_name(e.dtype))[0]
    if by_name(e.dtype).kind == "float" and e.version.empty == "zero":
        value = "+0"
    if 0 in (e.in_shape[axis] for axis in e.reduced_axes):
        if 0 in e.out_shape:
            return "The result has no elements, as a kept axis has size 0."
        return (
            f"A reduced axis has size 0: each output element is {value}, "
            f"the {verb} of an empty set of {e.dtype}."
        )
    if 0 in e.out_shape:
        return "The result has no elements, as a kept axis has size 0. That is no error."
    return f"The {verb} of an empty set of {e.dtype} would be {value}."


def _value_rules(e: Explanation) -> Iterable[str]:
    kind, total = by_name(e.dtype), e.version.empty == "zero"
    if e.identity:
        yield "Every element, NaN and negative zero included, is passed on as it is."
    elif kind.kind == "float" and total:
        yield (
            "NaN and infinities follow IEEE 754: any NaN gives NaN, and so do infinities "
            "of both signs together."
        )
        yield "A sum of negative zeros alone is -0.0; every other sum that is zero is +0."
        yield (
            f"The sum is rounded once to {kind.name}, from an accumulation of higher accuracy: "
            "the error does not grow with the number of elements, and no partial sum overflows "
            "where the sum itself is in range."
            if kind.itemsize < 8
            else "The sum is taken with compensation: the error does not grow with the number "
            "of elements."
        )
    elif kind.kind == "float":
        yield "Any NaN among the reduced elements, whatever its sign or place, gives NaN."
        above, below = ("+0", "-0") if e.version.empty == "lowest" else ("-0", "+0")
        yield (
            f"Zeros have an order: {above} is taken over {below}, so the result does not depend on "
            "the order of the elements."
        )
    elif kind.kind == "bool":
        yield "False is less than True."
    elif total:
        bits = 8 * kind.itemsize
        yield (
            f"Integer sums wrap modulo 2^{bits} in {kind.name} itself; they are never promoted, "
            "as NumPy would promote them."
            if bits < 64
            else f"Integer sums wrap modulo 2^{bits} in {kind.name} itself."
        )
    else:
        yield "Integers are compared exactly; none passes through a float."


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
    # ATB always removes the axes, and refuses an empty list.
    if e.keepdims or not e.reduced_axes:
        return {}
    number = schema.operator(e.operator).atb_number
    return {"atb": f'{{"reduceType": {number}, "axis": {list(e.reduced_axes)}}}'}


def _title(e: Explanation) -> str:
    return f"{e.version} at opset {e.opset}, {e.dtype}"


def _summary(e: Explanation) -> str:
    change = f"{_shape_text(e.in_shape)} -> {_shape_text(e.out_shape)}"
    verb = schema.operator(e.operator).verb
    if e.identity:
        return f"{change}: nothing is reduced, the result equals the data."
    if e.out_size == 0:
        return f"{change}: the result has no elements."
    if e.out_size == 1:
        start = "the output element is"
    else:
        start = f"each of the {_show.count_text(e.out_size, 'output element')} is"
        start = start.replace("the about", "about")
    if e.elements_per_output == 0:
        return f"{change}: {start} the {verb} of an empty set."
    return f"{change}: {start} the {verb} of {_show.count_text(e.elements_per_output, 'element')}."


def _shape_text(shape: tuple[int, ...]) -> str:
    return str(shape) if len(str(shape)) <= 80 else f"rank {len(shape)}"


def _columns(e: Explanation) -> list[tuple[str, str, str, str, str]]:
    """Axis, name, size, what happens, size of the result, for each axis."""
    columns = []
    for axis, size in enumerate(e.in_shape):
        name = (e.in_dims[axis] if e.in_dims else None) or "-"
        reduced = axis in e.reduced_axes
        out = ("1" if e.keepdims else "-") if reduced else _show.size_text(size)
        does = "reduced" if reduced else "kept"
        columns.append((str(axis), name, _show.size_text(size), does, out))
    return columns


def _axis_lines(e: Explanation) -> list[str]:
    columns = _columns(e)
    if not columns:
        return ["  rank 0: there are no axes"]
    named = e.in_dims is not None and any(e.in_dims)
    titles = ("axis", "name", "in", "is", "out")
    shown = [tuple(_show.visible(text, 24) for text in column) for column in columns]
    widths = [max(map(len, column if named else (column[0], *column[2:]))) for column in shown]
    # Wrapped like a long line of text, so that rank 64 stays readable.
    lines: list[str] = []
    start = 0
    while start < len(shown):
        stop, width = start, 6
        while stop < len(shown) and (stop == start or width + 2 + widths[stop] <= 98):
            width += 2 + widths[stop]
            stop += 1
        if lines:
            lines.append("")
        for i, title in enumerate(titles):
            if title == "name" and not named:
                continue
            cells = (f"{shown[j][i]:>{widths[j]}}" for j in range(start, stop))
            lines.append(f"  {title:<4}  {'  '.join(cells)}".rstrip())
        start = stop
    return lines


def _card(e: Explanation) -> str:
    columns = _columns(e)
    words = [f"opset {e.opset}", e.dtype, f"keepdims={e.keepdims}"]
    body = _html.facts(str(e.version), words)
    if columns:
        collapses = [axis in e.reduced_axes for axis in range(len(columns))]
        rows = [
            ("in", [
                _html.cell(size, "rk-size rk-reduced" if gone else "rk-size")
                for (_, _, size, _, _), gone in zip(columns, collapses, strict=True)
            ]),
            ("is", [
                _html.cell(f"{'&darr; ' if not gone else ''}{does}",
                           "rk-collapses" if gone else "rk-does")
                for (_, _, _, does, _), gone in zip(columns, collapses, strict=True)
            ]),
            ("out", [
                _html.cell("removed", "rk-out rk-gone") if out == "-"
                else _html.cell(out, "rk-out rk-one" if gone else "rk-out")
                for (_, _, _, _, out), gone in zip(columns, collapses, strict=True)
            ]),
        ]  # fmt: skip
        table = _html.axis_table("what becomes of each axis", e.in_dims, rows, len(columns))
        body += f'<div class="rk-axes">{_html.scroll(table, "what becomes of each axis")}</div>'
    body += f'<p class="rk-say">{_html.escape(e.summary, 400).replace("-&gt;", "&rarr;")}</p>'
    rules = "".join(f"<li>{_html.escape(rule, 400)}</li>" for rule in e.rules)
    body += (
        f"<details open><summary>Rules of {_html.escape(str(e.version))}</summary>"
        f'<ul class="rk-rules">{rules}</ul></details>'
    )
    if e.plan is not None:
        body += (
            "<details><summary>Plan</summary>"
            f"{_html.code_block([('memory', str(e.plan))])}</details>"
        )
    body += (
        "<details><summary>The same call elsewhere</summary>"
        f"{_html.code_block(e.code.items())}</details>"
    )
    return _html.card(str(e), body, axes=True, reduced=True)
