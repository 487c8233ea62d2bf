"""The operators written to be read: slow, plain, and right.

Each rule of ReduceMax, ReduceMin and ReduceSum is one short function below, in
the order in which a call is decided:

1. which version of the operator the opset means (the table in ``schema``),
2. whether that version takes the elements,
3. what the flags and the axes say,
4. which elements collapse into which element of the result,
5. what the collapsed elements become.

The compiled functions of the same names must agree with these to the bit; the
tests see to it. Here nothing is fast: elements become Python numbers, which have
no width to overflow, and sums are taken in whole numbers and rounded once.

>>> import numpy as np
>>> from reducekit import reference
>>> x = np.array([[1.0, np.nan], [-0.0, 0.0]], dtype="float32")
>>> reference.reduce_max(x, axes=[1])
array([[nan],
       [ 0.]], dtype=float32)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from . import _refusals, schema
from .dtypes import ElementType, element_type

__all__ = ["reduce_max", "reduce_min", "reduce_sum"]

Array = np.ndarray[Any, np.dtype[Any]]


def reduce_max(
    data: Any,
    axes: Any = None,
    *,
    keepdims: Any = True,
    noop_with_empty_axes: Any = False,
    opset: Any = None,
    strict: Any = True,
) -> Array:
    """The largest element along axes, as ONNX ReduceMax 1, 11, 12, 13, 18 and 20 define it.

    NaN wins over every number, and +0 over -0. Nothing at all gives the least
    value of the element type.

    Parameters
    ----------
    data : array_like
        Elements of a type that the version takes.
    axes : int or sequence of int, optional
        The axes to reduce, in any order. None or empty means all of them.
    keepdims : bool, default True
        Keep each reduced axis, with size 1.
    noop_with_empty_axes : bool, default False
        With no axes, return the data as they are. Opset 18 brought this.
    opset : int or "latest", optional
        The opset that decides; here, omitted always means the latest.
    strict : bool, default True
        Hold to the element types and the ban on negative axes of old versions.

    Returns
    -------
    numpy.ndarray
        Of the data's element type in native byte order; never a view of the data.

    Raises
    ------
    OpsetError, DTypeError, AxesError, ArgumentError, TypeError
        As from :func:`reducekit.reduce_max`, with the same texts.

    Examples
    --------
    >>> reduce_max([[1, 18, 17], [16, 10, 1]], [0], keepdims=False)
    array([16, 18, 17])
    """
    return _reduce(
        "reduce_max", _maximum, data, axes, keepdims, noop_with_empty_axes, opset, strict
    )


def reduce_min(
    data: Any,
    axes: Any = None,
    *,
    keepdims: Any = True,
    noop_with_empty_axes: Any = False,
    opset: Any = None,
    strict: Any = True,
) -> Array:
    """The smallest element along axes, as ONNX ReduceMin 1, 11, 12, 13, 18 and 20 define it.

    NaN wins over every number, and -0 over +0. Nothing at all gives the greatest
    value of the element type. Parameters, result and errors are those of
    :func:`reduce_max`.

    Examples
    --------
    >>> reduce_min([[16, 2, 7], [18, 16, 17]], [0], keepdims=False)
    array([16,  2,  7])
    """
    return _reduce(
        "reduce_min", _minimum, data, axes, keepdims, noop_with_empty_axes, opset, strict
    )


def reduce_sum(
    data: Any,
    axes: Any = None,
    *,
    keepdims: Any = True,
    noop_with_empty_axes: Any = False,
    opset: Any = None,
    strict: Any = True,
) -> Array:
    """The sum of the elements along axes, as ONNX ReduceSum 1, 11 and 13 define it.

    Integers wrap around in their own type. A sum of floats is the true sum,
    rounded once to the element type: to nearest, ties to even. Opset 13 brought
    ``noop_with_empty_axes``. Parameters, result and errors are those of
    :func:`reduce_max`.

    Examples
    --------
    >>> import numpy as np
    >>> reduce_sum(np.array([2**31 - 1, 2], dtype="int32"))
    array([-2147483647], dtype=int32)
    >>> reduce_sum([1e16, 1.0, -1e16])
    array([1.])
    """
    return _reduce("reduce_sum", _sum, data, axes, keepdims, noop_with_empty_axes, opset, strict)


def _reduce(
    who: str,
    combine: Callable[[list[Any], ElementType], Any],
    data: Any,
    axes: Any,
    keepdims: Any,
    noop_with_empty_axes: Any,
    opset: Any,
    strict: Any,
) -> Array:
    tensor = _as_array(who, data)
    version = schema.resolve(who, opset)
    strict = _flag(who, "strict", strict)
    kind = _allowed_type(who, version, tensor.dtype, strict)
    keepdims = _flag(who, "keepdims", keepdims)
    noop = _flag(who, "noop_with_empty_axes", noop_with_empty_axes)
    if noop and not version.noop_with_empty_axes:
        raise _refusals.no_noop(who, version)
    reduced = _reduced_axes(who, version, axes, tensor.ndim, strict)

    tensor = tensor.astype(kind.numpy_dtype, order="C")  # native byte order, and a copy
    if not reduced:
        if noop:
            return tensor
        reduced = list(range(tensor.ndim))

    # A table: a line for each element of the result, which holds what collapses into it.
    kept = [axis for axis in range(tensor.ndim) if axis not in reduced]
    table = tensor.transpose(kept + reduced).reshape(
        math.prod(tensor.shape[axis] for axis in kept),
        math.prod(tensor.shape[axis] for axis in reduced),
    )
    lines = _python_numbers(table, kind)
    nothing = version.empty_value(kind.name)
    results = [combine(line, kind) if line else nothing for line in lines]
    shape = [
        1 if axis in reduced else size
        for axis, size in enumerate(tensor.shape)
        if axis in kept or keepdims
    ]
    return np.array(results, dtype=kind.numpy_dtype).reshape(shape)


def _as_array(who: str, data: Any) -> Array:
    try:
        return np.asarray(data)
    except Exception as error:
        raise _refusals.not_an_array(who, data, error) from error


def _python_numbers(table: Array, kind: ElementType) -> list[list[Any]]:
    """The elements as Python's bool, int and float, none of which loses anything."""
    if kind.kind == "float":
        with np.errstate(invalid="ignore"):  # a signalling NaN is an element like any other
            table = table.astype(np.float64)
    lines: list[list[Any]] = table.tolist()
    return lines


# What the caller may ask.


def _allowed_type(
    who: str, version: schema.OperatorVersion, dtype: np.dtype[Any], strict: bool
) -> ElementType:
    """The row of the element type, if the version takes it or ``strict`` is off."""
    kind = element_type(dtype)
    if kind is None:
        raise _refusals.dtype_never(who, dtype)
    if not version.allows(kind.name):
        if strict:
            raise _refusals.dtype_not_allowed(who, version, kind.name)
        if kind.name in schema.operator(who).never:
            raise _refusals.bool_sum(who)
    return kind


def _flag(who: str, name: str, value: Any) -> bool:
    """True or False from True, False, 1 or 0."""
    if isinstance(value, (bool, np.bool_, int, np.integer)) and value in (0, 1):
        return bool(value)
    raise _refusals.flag(who, name, value)


def _reduced_axes(
    who: str, version: schema.OperatorVersion, axes: Any, rank: int, strict: bool
) -> list[int]:
    """The axes that were named, counted from 0 and in order; empty if none was."""
    negative_allowed = version.negative_axes or not strict
    reduced: list[int] = []
    for given in _listed(who, axes):
        axis = _as_int(who, given)
        if axis < 0 and not negative_allowed:
            raise _refusals.negative_axis(who, version, axis, rank)
        if not -rank <= axis < rank:
            raise _refusals.axis_out_of_range(who, axis, rank, negative_allowed)
        if axis < 0:
            axis += rank
        if axis in reduced:
            raise _refusals.duplicate_axis(who, axis, rank)
        reduced.append(axis)
    return sorted(reduced)


def _listed(who: str, axes: Any) -> Sequence[Any]:
    """What was given as axes, as a list: None is no axis, and an int is one."""
    if axes is None:
        return []
    if isinstance(axes, (str, bytes, bytearray, dict)):
        raise _refusals.axes_type(who, axes)
    if isinstance(axes, (np.ndarray, np.generic)):
        if axes.ndim > 1:
            raise _refusals.axes_rank(who, axes.ndim)
        if axes.size and axes.dtype.kind not in "iu":
            raise _refusals.axis_type(who, axes.flat[0])
        return [int(axis) for axis in axes.flat]
    if hasattr(axes, "__index__"):
        return [axes]
    try:
        return list(axes)
    except TypeError:
        raise _refusals.axes_type(who, axes) from None


def _as_int(who: str, axis: Any) -> int:
    if isinstance(axis, (bool, np.bool_)):
        raise _refusals.axis_type(who, axis)
    try:
        return operator.index(axis)
    except TypeError:
        raise _refusals.axis_type(who, axis) from None


# What the collapsed elements become. Each takes at least one element.


def _maximum(values: list[Any], kind: ElementType) -> Any:
    if kind.kind == "float":
        return math.nan if any(map(math.isnan, values)) else max(values, key=_zeros_apart)
    return max(values)


def _minimum(values: list[Any], kind: ElementType) -> Any:
    if kind.kind == "float":
        return math.nan if any(map(math.isnan, values)) else min(values, key=_zeros_apart)
    return min(values)


def _zeros_apart(value: float) -> tuple[float, float]:
    """A key that sorts -0.0 before +0.0, which are equal as numbers."""
    return value, math.copysign(1.0, value)


def _sum(values: list[Any], kind: ElementType) -> Any:
    return _sum_of_floats(values, kind) if kind.kind == "float" else _wrapped_sum(values, kind)


def _wrapped_sum(values: list[int], kind: ElementType) -> int:
    """The sum modulo 2 to the power of the type's width, among the type's values."""
    lowest, width = int(kind.lowest), 8 * kind.itemsize
    return (sum(values) - lowest) % (1 << width) + lowest


# Every finite double, however small, is a whole number of these.
_PARTS = 2**1074


def _sum_of_floats(values: list[float], kind: ElementType) -> float:
    """The true sum, rounded once, with IEEE 754's rules for NaN, infinities and zeros."""
    infinities = {value for value in values if math.isinf(value)}
    if any(map(math.isnan, values)) or len(infinities) == 2:
        return math.nan
    if infinities:
        return infinities.pop()
    total = 0
    for value in values:
        numerator, denominator = value.as_integer_ratio()
        total += numerator * (_PARTS // denominator)
    if total == 0:
        only_negative_zeros = all(math.copysign(1.0, value) < 0 == value for value in values)
        return -0.0 if only_negative_zeros else 0.0
    return _nearest(Fraction(total, _PARTS), kind)


def _nearest(value: Fraction, kind: ElementType) -> float:
    """The nearest float of a type to a sum of such floats; of two, the even one."""
    limits: Any = ml_dtypes.finfo(kind.numpy_dtype)  # type: ignore[no-untyped-call]
    # The denominator is a power of two, so this is the exponent: 2**e <= |value| < 2**(e+1).
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    step = Fraction(2) ** (max(exponent, int(limits.minexp)) - int(limits.nmant))
    rounded = round(value / step) * step  # Python's round takes ties to even
    if abs(rounded) > Fraction(float(limits.max)):
        return math.inf if rounded > 0 else -math.inf
    return float(rounded)
