"""Series and DataFrames of polars as arrays; nulls within arrays of fixed width are found too."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _refusals
from ..dtypes import ELEMENT_TYPES
from ._tables import FILL, mixed_columns, no_columns, read

__all__ = ["elements"]

# What polars calls the types that NumPy has too.
_NUMBERS = {"boolean"} | {kind.name for kind in ELEMENT_TYPES}


def elements(who: str, data: Any) -> NDArray[Any]:
    """The elements of a Series or DataFrame.

    Raises
    ------
    ArgumentError
        If an element is null, or a DataFrame has no columns.
    DTypeError
        If the elements are no numbers that NumPy has, or columns are of several types.
    TypeError
        If polars cannot give the data to NumPy.
    """
    return read(who, data, _of_frame if hasattr(data, "iter_columns") else _of_series)


def _of_frame(who: str, frame: Any, data: str = "data") -> NDArray[Any]:
    columns = list(frame.iter_columns())
    if not columns:
        raise no_columns(who, "DataFrame")
    if count := sum(map(_nulls, columns)):
        first = next(column for column in columns if _nulls(column))
        way_out = f"{data}.fill_null(value) or {data}.drop_nulls()"
        if _depth(first.dtype):
            way_out = _way_out(first, f"{data}[{first.name!r}]")
        raise _refusals.missing(who, count, "DataFrame", FILL + way_out)
    dtypes = {str(column.dtype): column.dtype for column in columns}
    if len(dtypes) > 1:
        raise mixed_columns(who, "DataFrame", dtypes)
    (dtype,) = dtypes.values()
    if _depth(dtype) or not _is_number(dtype):
        raise _refusals.dtype_never(who, dtype)
    return np.asarray(frame)


def _of_series(who: str, series: Any) -> NDArray[Any]:
    if count := _nulls(series):
        raise _refusals.missing(who, count, "Series", FILL + _way_out(series, "data"))
    if _name(series.dtype) == "struct":
        return _of_frame(who, series.struct.unnest(), "data.struct.unnest()")
    if not _is_number(series.dtype):
        raise _refusals.dtype_never(who, series.dtype)
    return np.asarray(series)


def _name(dtype: Any) -> str:
    return type(dtype).__name__.lower()


def _depth(dtype: Any) -> int:
    """How many axes an element has: of an array of fixed width, one or more."""
    return len(dtype.shape) if _name(dtype) == "array" else 0


def _is_number(dtype: Any) -> bool:
    while _name(dtype) == "array":
        dtype = dtype.inner
    return _name(dtype) in _NUMBERS


def _nulls(series: Any) -> int:
    """How many elements are null, those within arrays too."""
    if _depth(series.dtype):
        series = series.reshape((-1,))
    return int(series.null_count())


def _way_out(series: Any, data: str) -> str:
    if not _depth(series.dtype):
        return f"{data}.fill_null(value) or {data}.drop_nulls()"
    shape = (len(series), *series.dtype.shape)
    return f"{data}.reshape((-1,)).fill_null(value).reshape({shape})"
