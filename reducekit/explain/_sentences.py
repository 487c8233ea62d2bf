"""The rules that apply to a call, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import _show, schema
from ..dtypes import by_name

if TYPE_CHECKING:
    from . import Explanation

__all__ = ["rules", "summary"]


def summary(e: Explanation) -> str:
    """From what shape to what shape, and what becomes of the elements."""
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


def rules(e: Explanation) -> Iterable[str]:
    """One sentence for each rule that applies, the version's first."""
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
