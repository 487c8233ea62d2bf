"""ReduceOperation, as Ascend ATB defines it.

The document of the operation has three parts: a parameter with ``reduceType``
and ``axis``, a result whose reduced dimensions are gone (PyTorch's ``amax``,
``amin`` and ``sum``), and restrictions on the two. All three are here, under
the names that the document uses, so that code written for ATB reads the same.

ATB has no opset. Its types are those that the functions take with
``strict=False``: every element type of the package, but no sum of bool. The
opset in force elsewhere changes nothing here.

Examples
--------
>>> import numpy as np
>>> from reducekit import atb
>>> param = atb.ReduceParam(reduceType=atb.ReduceType.REDUCE_MAX, axis=[0])
>>> atb.ReduceOperation(param)(np.array([[1, 18, 17], [16, 10, 1]]))
array([16, 18, 17])
"""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

import numpy as np

from . import _engine, _refusals, schema
from ._inputs import as_array
from .errors import ArgumentError, AxesError

__all__ = ["ReduceOperation", "ReduceParam", "ReduceType"]

RESERVED = 8
"""The length of ``rsv``."""

_INT64 = np.iinfo(np.int64)


class ReduceType(IntEnum):
    """What to take of the reduced elements. The numbers are ATB's."""

    REDUCE_UNDEFINED = 0
    REDUCE_MAX = schema.operator("max").atb_number
    REDUCE_MIN = schema.operator("min").atb_number
    REDUCE_SUM = schema.operator("sum").atb_number


_FUNCTIONS = {
    ReduceType[op.atb]: getattr(_engine, op.function)
    for op in schema.OPERATORS
    if op.atb in ReduceType.__members__
}
_TYPES = ", ".join(f"{kind.name} ({kind.value})" for kind in _FUNCTIONS)


@dataclass
class ReduceParam:
    """The parameter of :class:`ReduceOperation`, a twin of ATB's struct.

    As in the struct, every field has a default and may be set later; whether
    the whole makes sense is decided when an operation is made from it.

    Attributes
    ----------
    reduceType : ReduceType
        Which reduction. ``REDUCE_UNDEFINED`` until it is set.
    axis : list of int
        The dimensions that are eliminated, counted from 0.
    rsv : list of int
        Eight reserved bytes; all zero.

    Raises
    ------
    ArgumentError
        If ``reduceType`` is no number of a type, if an axis does not fit int64,
        or if ``rsv`` is not eight zeros.
    TypeError
        If a field has the wrong Python type; a bool is not an int here.

    Examples
    --------
    >>> ReduceParam(ReduceType.REDUCE_SUM, [0, 1])
    ReduceParam(reduceType=<ReduceType.REDUCE_SUM: 3>, axis=[0, 1])
    """

    reduceType: ReduceType = ReduceType.REDUCE_UNDEFINED
    axis: Sequence[int] = field(default_factory=list)
    rsv: Sequence[int] = field(default_factory=lambda: [0] * RESERVED, repr=False)

    def __post_init__(self) -> None:
        self.reduceType = _read_type(self.reduceType)
        self.axis = _read_axis(self.axis)
        self.rsv = _read_rsv(self.rsv)

    @classmethod
    def from_json(cls, text: str | bytes | bytearray) -> ReduceParam:
        """The parameter that a JSON text of ATB tools describes.

        Parameters
        ----------
        text : str or bytes
            An object with any of the keys ``reduceType`` (a number), ``axis``
            (a list of integers) and ``rsv``. A missing key has its default.

        Returns
        -------
        ReduceParam

        Raises
        ------
        ArgumentError
            If the text is not JSON, not an object, has a key that is unknown or
            given twice, or a value that no field takes.
        TypeError
            If a value has the wrong type, or the text is not text.

        Examples
        --------
        >>> ReduceParam.from_json('{"reduceType": 1, "axis": [0, 1]}')
        ReduceParam(reduceType=<ReduceType.REDUCE_MAX: 1>, axis=[0, 1])
        """
        if not isinstance(text, (str, bytes, bytearray)):
            raise TypeError(
                f"ReduceParam: the JSON has type {type(text).__name__}; use a str or bytes"
            )
        try:
            value = json.loads(
                text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer
            )
        except (ArgumentError, MemoryError):
            raise
        except RecursionError:
            raise ArgumentError(f"ReduceParam: the JSON is nested too deeply; {_FORM}") from None
        except UnicodeDecodeError:
            raise ArgumentError(f"ReduceParam: the JSON is not UTF-8 text; {_FORM}") from None
        except ValueError as error:
            raise ArgumentError(f"ReduceParam: the text is not JSON ({error}); {_FORM}") from None
        if not isinstance(value, dict):
            kind = _JSON_KINDS.get(type(value), "value")
            raise ArgumentError(f"ReduceParam: the JSON is {kind}, not an object; {_FORM}")
        known = [row.name for row in fields(cls)]
        for key in value:
            if key not in known:
                raise ArgumentError(
                    f"ReduceParam: key {_short(key)} is unknown; use {', '.join(known)}"
                )
        return cls(**value)

    def to_json(self) -> str:
        """The JSON text that ATB tools pass; :meth:`from_json` reads it back.

        Returns
        -------
        str
            ``rsv`` is left out: it is always zero.

        Examples
        --------
        >>> ReduceParam(ReduceType.REDUCE_MAX, [0, 1]).to_json()
        '{"reduceType": 1, "axis": [0, 1]}'
        """
        checked = _checked(self)
        return json.dumps({"reduceType": int(checked.reduceType), "axis": list(checked.axis)})


class ReduceOperation:
    """The operation that a parameter describes, ready to be called on arrays.

    Parameters
    ----------
    param : ReduceParam
        Copied: a later change to it does not reach the operation.

    Raises
    ------
    ArgumentError
        If ``reduceType`` is ``REDUCE_UNDEFINED``.
    AxesError
        If ``axis`` is empty, or holds a negative number or a number twice.
    TypeError
        If it is not a ReduceParam.

    Notes
    -----
    The restrictions are those of ATB's document. That a number may not stand
    twice in ``axis``, and that ``rsv`` must be zero, is added here: PyTorch has
    the first rule too, and a reserved byte that is set asks for something that
    this operation cannot know.

    Examples
    --------
    >>> import numpy as np
    >>> operation = ReduceOperation(ReduceParam(ReduceType.REDUCE_SUM, [0]))
    >>> operation(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    >>> operation.infer_shape((2, 3, 4))
    (3, 4)
    """

    __slots__ = ("_axis", "_function", "_param")

    def __init__(self, param: ReduceParam) -> None:
        if not isinstance(param, ReduceParam):
            raise TypeError(
                f"ReduceOperation: param has type {type(param).__name__}; use a ReduceParam"
            )
        self._param = _checked(param)
        kind = self._param.reduceType
        if kind not in _FUNCTIONS:
            raise ArgumentError(
                f"ReduceOperation: reduceType {kind.name} ({kind.value}) names no reduction; "
                f"use one of {_TYPES}"
            )
        self._function = _FUNCTIONS[kind]
        self._axis = tuple(self._param.axis)
        if not self._axis:
            raise AxesError("ReduceOperation: axis is empty; name at least one dimension of x")
        seen = set()
        for axis in self._axis:
            if axis < 0:
                raise AxesError(
                    f"ReduceOperation: axis {axis} is negative; "
                    "count dimensions from the front, from 0"
                )
            if axis in seen:
                raise AxesError(
                    f"ReduceOperation: axis {axis} is given twice; name each dimension once"
                )
            seen.add(axis)

    @property
    def param(self) -> ReduceParam:
        """A copy of the parameter."""
        return _checked(self._param)

    def __call__(self, x: Any) -> np.ndarray[Any, Any]:
        """The reduction of ``x``.

        Parameters
        ----------
        x : array-like
            Of any element type of the package, in any layout.

        Returns
        -------
        numpy.ndarray
            New, of the type of ``x``, without the reduced dimensions; of rank 0
            where all are reduced.

        Raises
        ------
        AxesError
            If ``axis`` is longer than the rank of ``x``, or beyond it.
        DTypeError
            If such elements cannot be reduced, or are bool and to be summed.
        TypeError
            If ``x`` is nothing that can be read as an array.

        Examples
        --------
        >>> import numpy as np
        >>> smallest = ReduceOperation(ReduceParam(ReduceType.REDUCE_MIN, [0, 1]))
        >>> smallest(np.arange(12, dtype=np.int16).reshape(2, 3, 2))
        array([0, 1], dtype=int16)
        """
        x = as_array("ReduceOperation", x)
        self._check_data(x)
        result: np.ndarray[Any, Any] = self._function(
            x, self._axis, keepdims=False, opset=schema.NEWEST_OPSET, strict=False
        )
        return result

    def infer_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result for data of a shape.

        Parameters
        ----------
        shape : sequence of int
            The sizes of the dimensions of x.

        Returns
        -------
        tuple of int

        Raises
        ------
        AxesError
            If ``axis`` is longer than the shape, or beyond it.
        ArgumentError
            If a size is negative.
        TypeError
            If the shape is not a sequence of ints.

        Examples
        --------
        >>> ReduceOperation(ReduceParam(ReduceType.REDUCE_MAX, [0, 1])).infer_shape((2, 3, 2))
        (2,)
        """
        sizes = _integers("ReduceOperation", "shape", shape)
        for size in sizes:
            if size < 0:
                raise ArgumentError(
                    f"ReduceOperation: size {_short(size)} in shape is negative; use 0 or more"
                )
        self._check_rank(len(sizes))
        return tuple(size for axis, size in enumerate(sizes) if axis not in self._axis)

    def _check_data(self, x: np.ndarray[Any, Any]) -> None:
        self._check_rank(x.ndim)
        if self._param.reduceType is ReduceType.REDUCE_SUM and x.dtype == np.bool_:
            raise _refusals.bool_sum("ReduceOperation")

    def _check_rank(self, ndim: int) -> None:
        if len(self._axis) > ndim:
            raise AxesError(
                f"ReduceOperation: axis {_short(list(self._axis))} is longer than the rank "
                f"of x, which is {ndim}; "
                + (f"name at most {ndim}" if ndim else "give x of rank 1 or more")
            )
        for axis in self._axis:
            if axis >= ndim:
                raise _refusals.axis_out_of_range("ReduceOperation", axis, ndim, negative=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReduceOperation):
            return NotImplemented
        return self._param == other._param

    def __hash__(self) -> int:
        return hash((self._param.reduceType, self._axis))

    def __reduce__(self) -> tuple[type[ReduceOperation], tuple[ReduceParam]]:
        return ReduceOperation, (self._param,)

    def __repr__(self) -> str:
        return f"ReduceOperation({self._param!r})"


_FORM = 'write it as {"reduceType": 1, "axis": [0, 1]}'
_JSON_KINDS = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}


def _checked(param: ReduceParam) -> ReduceParam:
    """A copy, with the checks anew: fields may have been set since, and lists changed."""
    return ReduceParam(param.reduceType, param.axis, param.rsv)


def _read_type(value: Any) -> ReduceType:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(
            f"ReduceParam: reduceType={_short(value)} has type {type(value).__name__}; "
            f"use one of {_TYPES}"
        )
    try:
        return ReduceType(int(value))
    except ValueError:
        raise ArgumentError(
            f"ReduceParam: reduceType {_short(int(value))} is unknown; use one of {_TYPES}"
        ) from None


def _read_axis(value: Any) -> list[int]:
    numbers = _integers("ReduceParam", "axis", value)
    for number in numbers:
        if not _INT64.min <= number <= _INT64.max:
            raise ArgumentError(
                f"ReduceParam: axis {_short(number)} does not fit int64; "
                "count dimensions from the front, from 0"
            )
    return numbers


def _read_rsv(value: Any) -> list[int]:
    if isinstance(value, (bytes, bytearray)):
        value = list(value)
    numbers = _integers("ReduceParam", "rsv", value)
    if len(numbers) != RESERVED:
        raise ArgumentError(
            f"ReduceParam: rsv has length {len(numbers)}; leave it out, or give {RESERVED} zeros"
        )
    for number in numbers:
        if number != 0:
            raise ArgumentError(
                f"ReduceParam: rsv holds {_short(number)}, but it is reserved; "
                f"leave it out, or give {RESERVED} zeros"
            )
    return numbers


def _integers(who: str, name: str, value: Any) -> list[int]:
    """The ints of a list, tuple, range or integer array of rank 1."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist() if value.dtype.kind in "iu" or not value.size else list(value)
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Sequence):
        raise TypeError(
            f"{who}: {name}={_short(value)} has type {type(value).__name__}; use a list of ints"
        )
    numbers = []
    for item in tuple(value):
        if isinstance(item, (bool, np.bool_)) or not hasattr(item, "__index__"):
            raise _not_an_int(who, name, item)
        try:
            numbers.append(operator.index(item))
        except TypeError:
            raise _not_an_int(who, name, item) from None
    return numbers


def _not_an_int(who: str, name: str, item: Any) -> TypeError:
    return TypeError(
        f"{who}: {name} holds {_short(item)} of type {type(item).__name__}; use a list of ints"
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ArgumentError(f"ReduceParam: key {_short(key)} is given twice; give it once")
        result[key] = value
    return result


def _constant(name: str) -> Any:
    raise ArgumentError(f"ReduceParam: the JSON holds {name}; every value is an integer")


def _integer(digits: str) -> int:
    # Python refuses to read numbers of thousands of digits, with advice for programmers.
    if len(digits) > 100:
        raise ArgumentError(
            f"ReduceParam: the JSON holds a number of {len(digits.lstrip('-'))} digits, "
            "which no field takes; every value is a small integer"
        )
    return int(digits)


def _short(value: Any) -> str:
    """``repr``, cut where it is long, and safe where Python refuses to write a huge int."""
    if isinstance(value, int) and not isinstance(value, (bool, IntEnum)):
        if value.bit_length() > 200:
            return f"{'-' if value < 0 else ''}2**{value.bit_length() - 1} and more"
        return str(value)
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a foreign __repr__ must not replace the real error
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
