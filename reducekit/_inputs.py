"""Anything array-like, read as an array without a copy where there is a way."""

from __future__ import annotations

import math
import sys
from collections import UserList, deque
from collections.abc import Callable
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _foreign, _refusals
from .dtypes import element_type
from .errors import DTypeError, ReduceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_array", "copy_into", "deferred", "may_share"]

_SEQUENCES = (list, tuple, deque, UserList)
_LISTS = frozenset({list, tuple})
_NUMBERS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
# None of these has elements that are missing without a sign that NumPy keeps.
_PLAIN = _NUMBERS | {np.ndarray, str, bytes, type(None)}
# As deep as NumPy looks into lists.
_DEEPEST = 64


def as_array(who: str, data: Any) -> NDArray[Any]:
    """The elements of ``data`` as an ndarray that shares its memory if it can.

    Parameters
    ----------
    who : str
        The caller, for errors.
    data : array_like
        An array, a number, nested lists, or an object with the buffer protocol,
        ``__array_interface__``, ``__array__`` or ``__dlpack__``.

    Returns
    -------
    numpy.ndarray
        Of the base class: subclasses such as ``numpy.memmap`` are viewed.

    Raises
    ------
    TypeError
        If ``data`` cannot be read as an array.
    DTypeError
        If its elements are of a type that no reduction takes.
    ArgumentError
        If elements are missing (masked, or null in Arrow data).
    """
    array: NDArray[Any]
    if type(data) is np.ndarray:
        array = data
    elif _is_sequence(data):
        array = _of_list(who, data)
    else:
        try:
            refuse_missing(who, data)
        except ReduceError:
            raise
        except Exception as error:
            raise _refusals.not_an_array(who, data, error) from error
        array = np.asarray(data) if issubclass(type(data), np.ndarray) else _read(who, data)
    if element_type(array.dtype) is None:
        raise _refusals.dtype_never(who, _type_of(data, array))
    return array


def _type_of(data: Any, array: NDArray[Any]) -> Any:
    """The type of the elements by the name that their owner gives it, where NumPy has none."""
    if array.dtype != object or array.ndim == 0:
        return array.dtype
    first = next(iter(_columns_of(data)), data)
    return getattr(first, "type", None) or getattr(first, "dtype", None) or array.dtype


def deferred(data: Any) -> tuple[Any, Callable[..., Any]] | None:
    """What reduces an array that is not in memory: lazily, or chunk by chunk.

    Parameters
    ----------
    data : object
        Anything that a public function was given, but an ndarray.

    Returns
    -------
    tuple or None
        The array, and a function that takes the operator's position, the array and
        the other arguments; None for all data that is read at once.
    """
    find = getattr(_foreign.home_of(data), "deferred", None)
    found: tuple[Any, Callable[..., Any]] | None = None if find is None else find(data)
    return found


def _is_sequence(data: Any) -> bool:
    """Whether NumPy takes it for nested data, and no way of its own to be read."""
    kind = type(data)
    if kind is list or kind is tuple:
        return True
    # UserList is abstract: asking isinstance would want a hash.
    return any(each in _SEQUENCES for each in kind.__mro__) and not hasattr(data, "__array__")


def _of_list(who: str, data: Any) -> NDArray[Any]:
    given = _each_read(who, data, {}) if _holds_more(data) else data
    try:
        array: NDArray[Any] = np.asarray(given)
    except Exception as error:
        _each_read(who, data, {})  # a masked number, which NumPy cannot convert, is named
        raise _refusals.not_an_array(who, data, error) from error
    # A masked number among others: NumPy makes NaN of it, and the bool under the mask.
    if "numpy.ma" in sys.modules and (
        array.dtype.kind == "b" or (array.dtype.kind == "f" and math.isnan(np.vdot(array, array)))
    ):
        _each_read(who, data, {})
    return array


def _holds_more(data: Any) -> bool:
    """Whether a list may hold more than numbers, ndarrays and lists of numbers.

    Every list is looked at, but of numbers only the first: beside it there can be nothing
    but numbers, as NumPy refuses lists of unequal depths.
    """
    if type(data) not in _LISTS:
        return True
    if not data or type(data[0]) in _NUMBERS:
        return False
    lists = data
    for _ in range(_DEEPEST):
        try:
            kinds = set(map(type, lists))
        except TypeError:  # a class that has no hash
            return True
        if not kinds <= _LISTS:
            return not kinds <= _PLAIN
        try:
            first = set(map(type, map(itemgetter(0), lists)))
        except IndexError:  # one is empty
            return True
        if first <= _NUMBERS:
            return False
        # Each once: a list that holds itself twice would have no end.
        lists = list({id(each): each for each in chain.from_iterable(lists)}.values())
    return True


def _each_read(who: str, item: Any, seen: dict[int, Any], depth: int = 0) -> Any:
    """Nested lists with what NumPy would read with a loss replaced by its elements.

    Raises
    ------
    ReduceError
        If elements are missing in it, or cannot be reduced.
    """
    hashes = type(type(item)).__hash__ is not None
    if (hashes and type(item) in _PLAIN) or depth > _DEEPEST:
        return item
    if _is_sequence(item):
        if id(item) not in seen:
            seen[id(item)] = item  # which one that holds itself finds
            seen[id(item)] = [_each_read(who, each, seen, depth + 1) for each in item]
        return seen[id(item)]
    home = _foreign.home_of(item)
    known = hasattr(home, "elements") or hasattr(home, "missing") or hasattr(item, "null_count")
    return as_array(who, item) if known or _is_masked(item) else item


def _is_masked(data: Any) -> bool:
    # What is not imported yet cannot have made the data, and importing it is slow.
    ma = sys.modules.get("numpy.ma")
    return ma is not None and issubclass(type(data), ma.MaskedArray)


def _read(who: str, data: Any) -> NDArray[Any]:
    read = getattr(_foreign.home_of(data), "elements", None)
    elements: NDArray[Any] | None = None if read is None else read(who, data)
    if elements is not None:
        return elements
    columns = _columns_of(data)
    types = {str(getattr(column, "type", getattr(column, "dtype", ""))) for column in columns}
    if len(types) > 1:
        raise DTypeError(
            f"{who}: the columns of the {type(data).__name__} are of different element types "
            f"({', '.join(sorted(types))}); select columns of one type, or cast them"
        )
    exports = hasattr(data, "__dlpack__")
    array = None
    try:
        array = np.asarray(data)
    except Exception as error:
        if not exports:
            raise _refusals.not_an_array(who, data, error) from error
    else:
        # NumPy takes a group of arrays, as in zarr, for a list: of nothing, if it counts from 0.
        if array.size == 0 and hasattr(data, "keys") and not hasattr(data, "__array__"):
            raise _refusals.not_an_array(who, data, "it has keys: take what is under one of them")
        # NumPy wraps what it cannot look into as one object.
        if not exports or array.dtype != object:
            return array
    from . import _dlpack

    try:
        return _dlpack.read(data)
    except Exception as error:
        if array is not None and array.ndim:
            return array  # of texts and the like, which are named when they are refused
        raise _refusals.not_an_array(who, data, error) from error


def refuse_missing(who: str, data: Any) -> None:
    """Raise if elements are missing: NumPy would read them as NaN or as what lies under a mask."""
    home = _foreign.home_of(data)
    count = getattr(home, "missing", None)
    if _is_masked(data):
        missing = int(np.count_nonzero(sys.modules["numpy.ma"].getmaskarray(data)))
        ways = "data.filled(value) or data.compressed()"
    elif count is not None:
        missing = count(data)
        ways = "data.fillna(value) or data.dropna()"
    elif hasattr(home, "elements"):
        return  # which sees to it
    else:
        missing = sum(map(_nulls, _columns_of(data)))
        drop = "drop_null" if hasattr(data, "drop_null") else "drop_nulls"
        ways = f"data.fill_null(value) or data.{drop}()"
    if missing > 0:
        raise _refusals.missing(
            who, missing, type(data).__name__, f"fill or drop first, as with {ways}"
        )


def _columns_of(data: Any) -> list[Any]:
    """The columns of an Arrow or polars table; the data itself if it is none."""
    columns = getattr(data, "itercolumns", None) or getattr(data, "iter_columns", None)
    return list(columns()) if callable(columns) else [data]


def _nulls(column: Any) -> int:
    count = getattr(column, "null_count", 0)
    count = count() if callable(count) else count
    return count if isinstance(count, int) else 0


def base_view(array: NDArray[Any]) -> NDArray[Any]:
    """An array of the base class on the same memory, which shows what there truly is."""
    return np.asarray(array)


def may_share(out: NDArray[Any], data: NDArray[Any]) -> bool:
    """Whether writing ``out`` could change ``data``, by the bounds of their memory."""
    return bool(np.may_share_memory(out, data))


def copy_into(out: NDArray[Any], data: NDArray[Any]) -> None:
    """Copy the elements, bit by bit but for the byte order."""
    # A subclass could take the call over, and write nothing.
    np.copyto(base_view(out), base_view(data), casting="equiv")
