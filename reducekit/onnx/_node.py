"""A reduction node: what it says, and which rules of its version it breaks.

The evaluator, the inference and ``check_model`` all judge a node here, so that
they cannot disagree. What a version allows is read from
:mod:`reducekit.schema`; axes are judged by the rules of the engine itself
(:func:`reducekit._rules.resolve_call`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .. import _refusals, schema
from .._rules import resolve_call
from ..dtypes import ELEMENT_TYPES, by_name
from ..errors import ReduceError
from ._extra import onnx
from ._types import TensorType

__all__ = ["Axes", "Edit", "Problem", "Reduction", "is_reduction", "problems", "read"]

DEFAULT_DOMAINS = ("", "ai.onnx")
"""Two spellings of one domain."""

_POSITION = {op.name: position for position, op in enumerate(schema.OPERATORS)}
_EXPECTED = {
    "axes": onnx.AttributeProto.INTS,
    "keepdims": onnx.AttributeProto.INT,
    "noop_with_empty_axes": onnx.AttributeProto.INT,
}


class _Reference:
    """An attribute whose value comes from the call of the function around the node."""

    def __repr__(self) -> str:
        return "an attribute of the function"


REFERENCE = _Reference()


@dataclass(frozen=True, slots=True)
class Axes:
    """Where a node keeps its axes, and what is known of them before it runs.

    Attributes
    ----------
    form : str
        ``"omitted"``, ``"attribute"`` or ``"input"``.
    values : tuple of int or None
        None where they are only known when the model runs.
    type : TensorType
        Of the input; unknown for the other forms.
    """

    form: str
    values: tuple[int, ...] | None = ()
    type: TensorType = field(default_factory=TensorType)

    @property
    def known(self) -> bool:
        """Whether the values are known."""
        return self.values is not None

    def __str__(self) -> str:
        if self.form == "omitted":
            return "axes omitted"
        if self.values is None:
            return f"axes from an {self.form} not known before the model runs"
        return f"axes {list(self.values)} as an {self.form}"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to a model.

    Attributes
    ----------
    kind : str
        ``set_opset``, ``insert_casts``, ``axes_to_input``, ``axes_to_attribute``,
        ``set_axes``, ``set_attribute``, ``remove_attribute``, ``remove_input``,
        ``cast_axes``, ``reshape_axes`` or ``replace_operator``.
    text : str
        The change in words.
    details : mapping
        What a program needs to make it: the opset, the element type, the axes.
    """

    kind: str
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The edit as plain data for JSON."""
        return {"kind": self.kind, "text": self.text, **self.details}


@dataclass(frozen=True, slots=True)
class Problem:
    """One rule that a node breaks.

    Attributes
    ----------
    rule : str
        A short name, the same in every release.
    text : str
        What the node has and which rule that breaks.
    edits : tuple of Edit
        Each one makes it legal; the smallest first. Empty where only the author
        of the model can know.
    """

    rule: str
    text: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a node says, before anything is judged."""

    operator: schema.Operator
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    wrong_types: Mapping[str, str]

    @property
    def axes_input(self) -> str:
        """The name of the second input, ``""`` if there is none."""
        return self.inputs[1] if len(self.inputs) > 1 else ""

    def flag(self, name: str, default: int) -> int | None:
        """The value of a flag; None where a function's caller decides."""
        value = self.attributes.get(name, default)
        return None if value is REFERENCE else int(value)

    def axes(self, constant: Any = None, type_: TensorType | None = None) -> Axes:
        """The node's axes; ``constant`` is the value of the second input where it is known."""
        if self.axes_input:
            if constant is None:
                return Axes("input", None, type_ or TensorType())
            axes_type = TensorType.of_array(constant)
            if constant.dtype.kind not in "iu":  # numbers that are no axes: the type is the fault
                return Axes("input", None, axes_type)
            return Axes("input", tuple(constant.reshape(-1).tolist()), axes_type)
        if "axes" in self.attributes:
            value = self.attributes["axes"]
            return Axes("attribute", None if value is REFERENCE else tuple(value))
        return Axes("omitted")


def is_reduction(node: onnx.NodeProto) -> bool:
    """Whether the node is one of the operators of the table, in the default domain."""
    return node.domain in DEFAULT_DOMAINS and node.op_type in _POSITION


def read(
    node: onnx.NodeProto, values: Mapping[str, onnx.AttributeProto] | None = None
) -> Reduction:
    """What a reduction node says.

    Parameters
    ----------
    node : onnx.NodeProto
    values : mapping, optional
        In a function: the attributes that its caller gives, by name. Without
        it, an attribute that refers to one of them is ``REFERENCE``.
    """
    attributes: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for given in node.attribute:
        attribute, name = given, given.name
        if given.ref_attr_name:
            if values is None:
                attributes[name] = REFERENCE
                continue
            if given.ref_attr_name not in values:
                continue
            attribute = values[given.ref_attr_name]
        expected = _EXPECTED.get(name)
        if expected is not None and attribute.type != expected:
            wrong[name] = onnx.AttributeProto.AttributeType.Name(attribute.type)
            # The value that was meant, so that the rest can still be judged.
            if name == "axes" and attribute.type == onnx.AttributeProto.INT:
                attributes[name] = (attribute.i,)
            continue
        attributes[name] = onnx.helper.get_attribute_value(attribute)
    return Reduction(
        schema.operator(node.op_type),
        node.name,
        tuple(node.input),
        tuple(node.output),
        attributes,
        wrong,
    )


def resolve(
    node: Reduction,
    opset: int,
    rank: int,
    axes: Sequence[int] | None,
    dtype: str | None = None,
    strict: bool = True,
) -> tuple[schema.OperatorVersion, tuple[int, ...], bool, bool]:
    """Ask the engine's rules about a node: version, reduced axes, identity, keepdims."""
    version = schema.resolve(node.operator.name, opset)
    dtype = dtype or version.dtypes[-1]
    try:
        numpy_dtype = by_name(dtype).numpy_dtype
    except KeyError:
        raise _refusals.dtype_never(node.operator.function, dtype) from None
    keepdims = node.flag("keepdims", 1)  # which a function's caller may decide: no axis hangs on it
    result: tuple[schema.OperatorVersion, tuple[int, ...], bool, bool] = resolve_call(
        _POSITION[node.operator.name],
        rank,
        numpy_dtype,
        axes,
        keepdims is None or keepdims,
        node.flag("noop_with_empty_axes", 0),
        opset,
        strict,
    )
    return result


def problems(
    node: Reduction, opset: int, data: TensorType | None = None, axes: Axes | None = None
) -> list[Problem]:
    """Every rule that a node breaks at an opset, as far as the known types tell.

    Parameters
    ----------
    node : Reduction
    opset : int
        Of the model or function that holds the node, in the table's range.
    data : TensorType, optional
        Of the first input; None if it is no tensor, an unknown one if omitted.
    axes : Axes, optional
        Omitted means those of the node, with a second input taken as unknown.
    """
    version = schema.resolve(node.operator.name, opset)
    if axes is None:
        axes = node.axes()
    found = _counts(node, version, axes)
    found += _attributes(node, version, axes)
    found += _axes_tensor(version, axes)
    if data is not None:
        found += _element_type(version, opset, data)
        found += _axes_values(node, version, opset, data, axes)
    return found


def _counts(node: Reduction, version: schema.OperatorVersion, axes: Axes) -> list[Problem]:
    found = []
    if not node.inputs or not node.inputs[0]:
        found.append(Problem("inputs", f"the data input is missing; {version} needs one"))
    if len(node.outputs) != 1 or not node.outputs[0]:
        found.append(
            Problem("outputs", f"{len(node.outputs)} outputs, but {version} has exactly one")
        )
    allowed = 2 if version.axes == "input" else 1
    if len(node.inputs) <= allowed:
        return found
    if allowed == 2:
        edit = Edit(
            "remove_input", f"remove the inputs after the {_ordinal(allowed)}", {"index": allowed}
        )
        text = f"{len(node.inputs)} inputs, but {version} takes at most {allowed}"
        found.append(Problem("inputs", text, (edit,)))
        return found
    first = _first_opset_with_input(node.operator.name)
    raise_it = _set_opset(first)
    if not any(node.inputs[1:]):
        edit = Edit("remove_input", "remove the empty second input", {"index": 1})
        found.append(
            Problem("axes-input", f"an empty second input, but {version} takes one input", (edit,))
        )
        return found
    text = f"axes are an input, but {version} takes them as an attribute"
    edits = [raise_it]
    if axes.form == "input" and axes.values is not None:
        values = list(axes.values)
        edits.insert(
            0,
            Edit(
                "axes_to_attribute",
                f"write axes={values} as an attribute and remove the second input"
                if values
                else "remove the second input: an empty list means every axis",
                {"axes": values},
            ),
        )
    found.append(Problem("axes-input", text, tuple(edits)))
    return found


def _attributes(node: Reduction, version: schema.OperatorVersion, axes: Axes) -> list[Problem]:
    found = []
    allowed = {"keepdims"}
    if version.axes == "attribute":
        allowed.add("axes")
    if version.noop_with_empty_axes:
        allowed.add("noop_with_empty_axes")
    for name in sorted({*node.attributes, *node.wrong_types}):
        if name in node.wrong_types:
            found.append(_wrong_type(node, name))
        if name in allowed:
            continue
        if name == "axes":
            found.append(_axes_attribute(node, version))
        elif name == "noop_with_empty_axes":
            found.append(_noop(node, version, axes))
        else:
            edit = Edit("remove_attribute", f"remove the attribute {name}", {"name": name})
            known = ", ".join(sorted(allowed))
            found.append(
                Problem("attribute", f"{version} has no attribute {name}; it has {known}", (edit,))
            )
    for name, default in (("keepdims", 1), ("noop_with_empty_axes", 0)):
        value = node.flag(name, default)
        if name in allowed and value not in (0, 1, None):
            edit = Edit("set_attribute", f"set {name} to 0 or 1", {"name": name, "value": default})
            text = f"{name} is {value}; it is a flag, 0 or 1, and runtimes read {value} differently"
            found.append(Problem(name, text, (edit,)))
    return found


def _wrong_type(node: Reduction, name: str) -> Problem:
    wanted = onnx.AttributeProto.AttributeType.Name(_EXPECTED[name])
    text = f"attribute {name} has type {node.wrong_types[name]}; it must be {wanted}"
    edits: tuple[Edit, ...] = ()
    if name == "axes" and name in node.attributes:
        values = list(node.attributes[name])
        edits = (Edit("set_axes", f"write axes as the list {values}", {"axes": values}),)
    return Problem("attribute-type", text, edits)


def _axes_attribute(node: Reduction, version: schema.OperatorVersion) -> Problem:
    text = f"axes are an attribute, but {version} takes them as an input"
    if "axes" not in node.attributes:  # of another type: only the author knows what is meant
        return Problem("axes-attribute", text)
    value = node.attributes["axes"]
    if value is REFERENCE:
        edit = Edit(
            "axes_to_input",
            "make the function's attribute a Constant and give it as the second input",
            {"axes": None},
        )
    elif node.axes_input:
        edit = Edit("remove_attribute", "remove the attribute axes", {"name": "axes"})
    elif not value:
        edit = Edit(
            "remove_attribute",
            "remove the empty attribute axes: omitted axes mean every axis too",
            {"name": "axes"},
        )
    else:
        values = list(value)
        edit = Edit(
            "axes_to_input",
            f"move axes={values} to a constant int64 tensor and give it as the second input",
            {"axes": values},
        )
    return Problem("axes-attribute", text, (edit,))


def _noop(node: Reduction, version: schema.OperatorVersion, axes: Axes) -> Problem:
    first = schema.first_opset_with(node.operator.name, "noop_with_empty_axes")
    text = f"{version} has no attribute noop_with_empty_axes; it begins at opset {first}"
    remove = Edit(
        "remove_attribute",
        "remove the attribute noop_with_empty_axes",
        {"name": "noop_with_empty_axes"},
    )
    assert first is not None
    raise_it = _set_opset(first)
    if not node.flag("noop_with_empty_axes", 0) or axes.values:
        return Problem("noop_with_empty_axes", text, (remove, raise_it))
    if axes.values is None:
        return Problem("noop_with_empty_axes", text, (raise_it,))
    identity = Edit(
        "replace_operator",
        "replace the node by Identity, which is what it means without axes",
        {"op_type": "Identity"},
    )
    return Problem("noop_with_empty_axes", text, (identity, raise_it))


def _axes_tensor(version: schema.OperatorVersion, axes: Axes) -> list[Problem]:
    """The axes input is a tensor(int64) of rank 1."""
    if axes.form != "input" or version.axes != "input":
        return []
    found = []
    if axes.type.dtype not in (None, "int64"):
        edit = Edit("cast_axes", "make the axes int64", {"to": "int64"})
        text = f"the axes input is {axes.type.dtype}; {version} takes int64"
        found.append(Problem("axes-type", text, (edit,)))
    if axes.type.rank not in (None, 1):
        edit = Edit("reshape_axes", "make the axes a tensor of rank 1", {"rank": 1})
        text = f"the axes input has rank {axes.type.rank}; {version} takes a list, rank 1"
        found.append(Problem("axes-rank", text, (edit,)))
    return found


def _element_type(version: schema.OperatorVersion, opset: int, data: TensorType) -> list[Problem]:
    if data.dtype is None or version.allows(data.dtype):
        return []
    text = f"{version} does not take {data.dtype}; it takes {', '.join(version.dtypes)}"
    edits = []
    if (target := _cast_target(version, opset, data.dtype)) is not None:
        edits.append(
            Edit(
                "insert_casts",
                f"cast the input to {target} and the result back to {data.dtype}",
                {"to": target, "back": data.dtype},
            )
        )
    try:
        first = schema.first_opset(version.name, data.dtype)
    except KeyError:
        first = None
    # A type that a later version dropped again is no reason to go backwards.
    if first is not None and first > version.since_version:
        edits.append(_set_opset(first))
    return [Problem("element-type", text, tuple(edits))]


def _cast_target(version: schema.OperatorVersion, opset: int, dtype: str) -> str | None:
    """A type that the version takes and that Cast can reach and leave at this opset."""
    try:
        kind = by_name(dtype).kind
    except KeyError:
        # float8 and its like have no arithmetic here, but float32 holds their values.
        target = "float32" if dtype.startswith("float") else None
    else:
        if kind == "bool" and dtype in schema.operator(version.name).never:
            return None  # a sum in bool has no meaning that a cast could keep
        target = _refusals.cast_for(version, dtype)
    if target is None or {dtype, target} - _cast_types(opset):
        return None
    return target


@lru_cache(maxsize=64)
def _cast_types(opset: int) -> frozenset[str]:
    """The element types that Cast reads and writes at an opset, by NumPy's names."""
    cast = onnx.defs.get_schema("Cast", min(opset, onnx.defs.onnx_opset_version()))
    both = set.intersection(*(set(row.allowed_type_strs) for row in cast.type_constraints))
    numpy_names = {f"tensor({row.onnx_name})": row.name for row in ELEMENT_TYPES}
    return frozenset(
        numpy_names.get(name, name.removeprefix("tensor(").removesuffix(")")) for name in both
    )


def _axes_values(
    node: Reduction,
    version: schema.OperatorVersion,
    opset: int,
    data: TensorType,
    axes: Axes,
) -> list[Problem]:
    if axes.values is None:
        return []
    found = []
    rank, values = data.rank, list(axes.values)
    wrapped = [axis + rank if rank is not None and axis < 0 else axis for axis in values]
    first_negative = schema.first_opset_with(node.operator.name, "negative_axes")
    outside = [
        axis
        for axis, plain in zip(values, wrapped, strict=True)
        if rank is not None and not 0 <= plain < rank
    ]
    if outside:
        if rank == 0:
            text = f"axes {values} of a tensor of rank 0, which has no axes"
            edit = Edit("set_axes", "omit the axes", {"axes": []})
            found.append(Problem("axis-range", text, (edit,)))
        else:
            low = -rank if version.negative_axes and rank is not None else 0
            text = (
                f"axis {outside[0]} is out of range for a tensor of rank {rank}; "
                f"use {low} to {rank - 1 if rank is not None else ''}"
            )
            found.append(Problem("axis-range", text))
    negative = [axis for axis in values if axis < 0 and axis not in outside]
    if negative and not version.negative_axes:
        assert first_negative is not None
        edits = [_set_opset(first_negative)]
        if rank is not None and not outside:
            edits.insert(0, Edit("set_axes", f"write axes as {wrapped}", {"axes": wrapped}))
        text = (
            f"axis {negative[0]} is negative, which {version} does not define; "
            f"negative axes begin at opset {first_negative}"
        )
        found.append(Problem("negative-axis", text, tuple(edits)))
    once = list(dict.fromkeys(wrapped))
    if len(once) < len(wrapped):
        twice = next(axis for place, axis in enumerate(wrapped) if axis in wrapped[:place])
        edit = Edit("set_axes", f"write axes as {once}", {"axes": once})
        text = f"axis {twice} is given twice in {values}; name each axis once"
        found.append(Problem("duplicate-axis", text, () if outside else (edit,)))
    if not found and rank is not None:
        found += _engine_says(node, opset, rank, axes.values)
    return found


def _engine_says(node: Reduction, opset: int, rank: int, values: tuple[int, ...]) -> list[Problem]:
    """The last word is the engine's: what it refuses is never called legal."""
    if any(node.flag(name, 0) not in (0, 1, None) for name in ("keepdims", "noop_with_empty_axes")):
        return []  # reported as such
    version = schema.resolve(node.operator.name, opset)
    if node.flag("noop_with_empty_axes", 0) and not version.noop_with_empty_axes:
        return []
    plain = Reduction(node.operator, node.name, node.inputs, node.outputs, {}, {})
    try:
        resolve(plain, opset, rank, values)
    except ReduceError as error:
        text = str(error).removeprefix(f"{node.operator.function}: ")
        return [Problem("engine", text)]
    return []


def _set_opset(opset: int) -> Edit:
    return Edit("set_opset", f"raise the opset to {opset}", {"opset": opset})


def _first_opset_with_input(name: str) -> int:
    return next(row.since_version for row in schema.history(name) if row.axes == "input")


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second"}[number]
