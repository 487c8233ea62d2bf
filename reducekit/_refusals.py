"""The text of every refusal, built from the table's rows.

Each function returns the exception to raise. A text names the operation, the
argument and its value, the rule that it breaks, and the way out. They live in
one module, apart from the checks, so that a check costs nothing until it fails
and one test can hold all texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import schema
from .dtypes import by_name
from .errors import ArgumentError, AxesError, DTypeError, OpsetError, short, show_int


def axis_out_of_range(who: str, axis: int, ndim: int, negative: bool = True) -> AxesError:
    if ndim == 0:
        return AxesError(
            f"{who}: axis {show_int(axis)} is out of range for a tensor of rank 0, "
            "which has no axes; "
            "omit axes"
        )
    first = -ndim if negative else 0
    return AxesError(
        f"{who}: axis {show_int(axis)} is out of range for a tensor of rank {ndim}; "
        f"use {first} to {ndim - 1}"
    )


def duplicate_axis(who: str, axis: int, ndim: int) -> AxesError:
    twin = f" ({axis - ndim})" if ndim else ""
    return AxesError(f"{who}: axis {axis}{twin} is given twice; name each axis once")


def negative_axis(who: str, version: schema.OperatorVersion, axis: int, ndim: int) -> AxesError:
    first = schema.first_opset_with(version.name, "negative_axes")
    if -ndim <= axis:
        way_out = f"use axis {axis + ndim}, opset {first} or later, or strict=False"
    else:
        way_out = f"use 0 to {ndim - 1}" if ndim else "omit axes"
    return AxesError(
        f"{who}: axis {show_int(axis)} is negative, which {version} does not define; "
        f"negative axes begin at opset {first}: {way_out}"
    )


def axes_type(who: str, axes: Any) -> TypeError:
    return TypeError(
        f"{who}: axes={short(axes)} has type {type(axes).__name__}; "
        "use an int, a sequence of ints, or None"
    )


def axis_type(who: str, axis: Any) -> TypeError:
    return TypeError(f"{who}: axis {short(axis)} has type {type(axis).__name__}; an axis is an int")


def axes_rank(who: str, ndim: int) -> ArgumentError:
    return ArgumentError(f"{who}: axes is an array of rank {ndim}; use a list of ints (rank 1)")


def dtype_not_allowed(who: str, version: schema.OperatorVersion, dtype: str) -> DTypeError:
    first = schema.first_opset(version.name, dtype)
    if first is not None:
        way_out = f"use opset {first} or later, or strict=False"
    else:
        target = cast_for(version, dtype)
        way_out = f"cast to {target}" if target else "cast to a type that it takes"
        if dtype not in schema.operator(version.name).never:
            way_out += ", or use strict=False"
        elif dtype == "bool":
            way_out = "cast to int32 or int64 to count"
        way_out = f"no opset takes {dtype}: {way_out}"
    return DTypeError(
        f"{who}: {version} does not take {dtype}; it takes {', '.join(version.dtypes)}. "
        f"{way_out[0].upper()}{way_out[1:]}"
    )


def bool_sum(who: str) -> DTypeError:
    return DTypeError(
        f"{who}: bool elements cannot be summed in bool; cast to int32 or int64 to count"
    )


def dtype_never(who: str, dtype: Any) -> DTypeError:
    names = ", ".join(row.name for row in _all_types())
    return DTypeError(f"{who}: elements of dtype {dtype} cannot be reduced; cast to one of {names}")


def dtype_unknown(who: str, dtype: Any) -> DTypeError:
    names = ", ".join(row.name for row in _all_types())
    return DTypeError(f"{who}: dtype={short(dtype)} is unknown; use one of {names}")


def cast_for(version: schema.OperatorVersion, dtype: str) -> str | None:
    """The smallest type that the version takes and that holds every value of ``dtype``."""
    given = by_name(dtype)
    for candidate in schema.element_types(version):
        if given.kind == "bool" and candidate.kind in ("int", "uint"):
            return candidate.name
        if (
            candidate.kind in ("int", "uint")
            and given.kind in ("int", "uint")
            and candidate.lowest <= int(given.lowest)
            and int(given.highest) <= int(candidate.highest)
        ):
            return candidate.name
        if candidate.kind == given.kind == "float" and candidate.itemsize > given.itemsize:
            return candidate.name
    return None


def no_noop(who: str, version: schema.OperatorVersion) -> OpsetError:
    first = schema.first_opset_with(version.name, "noop_with_empty_axes")
    return OpsetError(
        f"{who}: noop_with_empty_axes=True, but {version} has no such attribute; "
        f"use opset {first} or later"
    )


def read_flag(who: str, name: str, value: Any) -> bool:
    """The value of a flag: True, False, 1 or 0; anything else is refused."""
    if isinstance(value, (bool, int, np.bool_, np.integer)) and value in (0, 1):
        return bool(value)
    raise flag(who, name, value)


def check_flags(who: str, flags: Mapping[str, Any]) -> None:
    """Refuse the first that is no flag, for calls that may never come to read it."""
    for name, value in flags.items():
        read_flag(who, name, value)


def flag(who: str, name: str, value: Any) -> Exception:
    text = f"{who}: {name}={short(value)} is not a flag; use True or False"
    if isinstance(value, (int, float)) or hasattr(value, "__index__"):
        return ArgumentError(text)
    return TypeError(text)


def check_keywords(function: Any, names: Iterable[str]) -> None:
    """Refuse the first keyword that the function does not have.

    A function in Python takes such keywords as ``**wrong: Never``, so that type checkers refuse
    them as well.
    """
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in names:
        if name not in known:
            raise unexpected_keyword(function.__name__, name, known) from None


# The keywords here for a word that is common elsewhere, and the ways out where there is none.
_SYNONYMS = {
    "axis": ("axes", "dim"), "axes": ("dim",), "dim": ("axes",), "dims": ("axes", "dim"),
    "keepdim": ("keepdims",), "keep_dims": ("keepdims",), "noop": ("noop_with_empty_axes",),
}  # fmt: skip
_WAYS_OUT = {
    "dtype": "the result has the element type of the data: cast the data first",
    "exact": "a maximum or minimum is exact always",
    "initial": "an empty set has a value of its own",
    "level": "group the rows first, as with df.groupby",
    "min_count": "the sum of an empty set is 0",
    "numeric_only": "select the columns first, as with df.select_dtypes('number')",
    "out": "the result has memory of its own",
    "skipna": "NaN is not skipped: fill or drop it first",
    "where": "select the elements first",
}


def unexpected_keyword(who: str, name: str, known: Iterable[str]) -> TypeError:
    from difflib import get_close_matches

    known = [each for each in known if each != "self"]
    same = [each for each in _SYNONYMS.get(name, ()) if each in known]
    similar = same or get_close_matches(name, known, n=1)
    if name in _WAYS_OUT:
        way_out = _WAYS_OUT[name]
        if name == "skipna" and "allow_nan" in known:
            way_out += ", or use allow_nan=True to take it as a value"
    elif similar:
        way_out = f"use {similar[0]}="
    else:
        way_out = f"use one of {', '.join(known)}"
    return TypeError(f"{who}: unexpected keyword argument {short(name)}; {way_out}")


def out_type(who: str, out: Any) -> TypeError:
    return TypeError(f"{who}: out has type {type(out).__name__}; use a numpy.ndarray")


def out_shape(who: str, given: tuple[int, ...], wanted: tuple[int, ...]) -> ArgumentError:
    return ArgumentError(
        f"{who}: out has shape {given}, but the result has shape {wanted}; "
        "give an array of that shape, or leave it out"
    )


def out_dtype(who: str, given: Any, wanted: Any) -> DTypeError:
    return DTypeError(
        f"{who}: out has dtype {given}, but the result has dtype {wanted}; "
        "give an array of that dtype, or leave it out"
    )


def out_readonly(who: str) -> ArgumentError:
    return ArgumentError(f"{who}: out is read-only; use a writeable array")


def changed_meanwhile(who: str) -> ArgumentError:
    return ArgumentError(
        f"{who}: data or out was given another shape or dtype during the call; "
        "leave them alone until it returns"
    )


def not_an_array(who: str, data: Any, cause: object) -> TypeError:
    return TypeError(
        f"{who}: data of type {type(data).__name__} cannot be read as an array ({cause}); "
        "use an array, a number or nested lists of equal lengths"
    )


def missing(who: str, count: int, where: str, way_out: str) -> ArgumentError:
    elements = "element is" if count == 1 else "elements are"
    return ArgumentError(f"{who}: {count} {elements} missing in the {where}; {way_out}")


def _all_types() -> tuple[Any, ...]:
    from .dtypes import ELEMENT_TYPES

    return ELEMENT_TYPES
