"""Arrow data as arrays: encodings are undone, and nulls found wherever they are.

An array's own count of nulls knows nothing of those in a dictionary, in the values of runs, or
inside lists of fixed size. NumPy would read them as NaN, and then integers as floats, or as 0.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _refusals
from ..dtypes import element_type
from ._missing import need
from ._tables import FILL, mixed_columns, no_columns, read

pa = need("pyarrow", "pandas", "reading Arrow data")

__all__ = ["column_elements", "elements"]

# What an older Arrow lacks, it has no data of.
_BOOL8 = getattr(pa, "Bool8Type", ())
_NUMBERS = frozenset(
    pa.type_for_alias(name).id
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "halffloat", "float", "double",
    )
)  # fmt: skip
_TABLES = (pa.Table, pa.RecordBatch)


def elements(who: str, data: Any) -> NDArray[Any]:
    """The elements of an Arrow array, table or record batch.

    Raises
    ------
    ArgumentError
        If an element is null, or a table has no columns.
    DTypeError
        If the elements are no numbers, or columns are of several types.
    TypeError
        If Arrow cannot decode the data.
    """
    return read(who, data, _of_table if isinstance(data, _TABLES) else _of_array)


def _of_array(who: str, array: Any) -> NDArray[Any]:
    return column_elements(who, array, type(array).__name__, "data")


def _of_table(who: str, table: Any) -> NDArray[Any]:
    kind = type(table).__name__
    if not table.num_columns:
        raise no_columns(who, kind)
    decoded = [[_decoded(piece) for piece in _pieces(column)] for column in table.itercolumns()]
    counts = [sum(map(_nulls, pieces)) for pieces in decoded]
    if any(counts):
        place = next(place for place, count in enumerate(counts) if count)
        column = table.column(place)
        way_out = _way_out(column, f"data.column({place})")
        if sum(column.null_count for column in table.itercolumns()) == sum(counts):
            way_out = f"{FILL}data.drop_null() or data.column({place}).fill_null(value)"
        raise _refusals.missing(who, sum(counts), kind, way_out)
    columns = [
        _joined(who, column.type, pieces)
        for column, pieces in zip(table.itercolumns(), decoded, strict=True)
    ]
    for column, array in zip(table.itercolumns(), columns, strict=True):
        if array.ndim > 1:
            raise _refusals.dtype_never(who, column.type)
    if len({array.dtype for array in columns}) > 1:
        raise mixed_columns(who, kind, [str(column.type) for column in table.itercolumns()])
    return np.column_stack(columns)


def column_elements(who: str, column: Any, kind: str, data: str) -> NDArray[Any]:
    """The elements of an Arrow array, chunked or not, that errors call ``kind`` and ``data``."""
    if _is_number(column.type) and not column.null_count:
        return np.asarray(column)
    pieces = [_decoded(piece) for piece in _pieces(column)]
    if count := sum(map(_nulls, pieces)):
        raise _refusals.missing(who, count, kind, _way_out(column, data))
    return _joined(who, column.type, pieces)


def _pieces(column: Any) -> list[Any]:
    """The arrays of a column, of which there is one at least."""
    if not isinstance(column, pa.ChunkedArray):
        return [column]
    return column.chunks or [column.combine_chunks()]


def _base(kind: Any) -> Any:
    """The type of the elements, within encodings and lists of fixed size."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            if isinstance(kind, _BOOL8):
                return pa.bool_()
            kind = kind.storage_type
        elif _is_encoded(kind) or pa.types.is_fixed_size_list(kind):
            kind = kind.value_type
        else:
            return kind


def _is_encoded(kind: Any) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind))


def _is_number(kind: Any) -> bool:
    return kind.id in _NUMBERS


def _decoded(array: Any) -> Any:
    """The array without dictionaries, runs and extension types, but for those within lists."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _decoded(array.storage)
    if not _is_number(_base(kind)):
        return array  # its own nulls are counted; it is refused by name then
    if pa.types.is_dictionary(kind):
        return _decoded(array.dictionary).take(array.indices)
    if pa.types.is_run_end_encoded(kind):
        return _decoded(array.values).take(_runs(array))
    return array


def _runs(array: Any) -> Any:
    """For each element, where its value lies."""
    first, count = array.find_physical_offset(), array.find_physical_length()
    ends = np.asarray(array.run_ends).astype(np.int64)[first : first + count] - array.offset
    lengths = np.diff(np.minimum(ends, len(array)), prepend=0)
    return pa.array(np.repeat(np.arange(first, first + count), lengths))


def _nulls(array: Any) -> int:
    """How many elements of a decoded array are null, those within lists too."""
    count = int(array.null_count)
    if pa.types.is_fixed_size_list(array.type) and _is_number(_base(array.type)):
        # Lists that are null are not among the values.
        count = count * prod(_widths(array.type)) + _nulls(_decoded(array.flatten()))
    return count


def _widths(kind: Any) -> list[int]:
    """The sizes of lists of fixed size, outermost first."""
    widths: list[int] = []
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif _is_encoded(kind):
            kind = kind.value_type
        elif pa.types.is_fixed_size_list(kind):
            widths.append(kind.list_size)
            kind = kind.value_type
        else:
            return widths


def _joined(who: str, kind: Any, pieces: list[Any]) -> NDArray[Any]:
    """The elements of decoded arrays without nulls."""
    base = _base(kind)
    if not _is_number(base) or element_type(np.dtype(base.to_pandas_dtype())) is None:
        raise _refusals.dtype_never(who, kind)
    arrays = [_shaped(kind, _values(piece)) for piece in pieces]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _values(array: Any) -> NDArray[Any]:
    if pa.types.is_fixed_size_list(array.type):
        inner = _values(_decoded(array.flatten()))
        shaped: NDArray[Any] = inner.reshape(len(array), array.type.list_size, *inner.shape[1:])
        return shaped
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def _shaped(kind: Any, values: NDArray[Any]) -> NDArray[Any]:
    """The values as their types mean them: the storage of a tensor is a flat list."""
    if isinstance(kind, _BOOL8):
        bits: NDArray[Any] = values != 0
        return bits
    if isinstance(kind, pa.FixedShapeTensorType):
        values = values.reshape(*values.shape[:-1], *kind.shape)
        before = values.ndim - len(kind.shape)
        order = kind.permutation or range(len(kind.shape))
        return values.transpose(*range(before), *(before + axis for axis in order))
    if isinstance(kind, pa.BaseExtensionType):
        return _shaped(kind.storage_type, values)
    if _is_encoded(kind) or pa.types.is_fixed_size_list(kind):
        return _shaped(kind.value_type, values)
    return values


def _way_out(column: Any, data: str) -> str:
    """How to fill and to drop the nulls of a column, as expressions of Arrow if it has some."""
    kind = column.type
    if not _is_encoded(kind) and column.null_count:
        fill = "" if _widths(kind) else f"{data}.fill_null(value) or "
        return f"{FILL}{fill}{data}.drop_null()"
    inner = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    nested = _is_encoded(inner) or pa.types.is_fixed_size_list(inner)
    if not nested or inner.value_type != _base(kind):
        return "fill or drop first, before they are encoded or nested"
    if pa.types.is_fixed_size_list(inner):
        whole = f"{data}.combine_chunks()" if isinstance(column, pa.ChunkedArray) else data
        lists = whole if inner is kind else f"{whole}.storage"
        filled = (
            f"pyarrow.FixedSizeListArray.from_arrays({lists}.flatten().fill_null(value), "
            f"{inner.list_size})"
        )
        if inner is not kind:
            filled = f"pyarrow.ExtensionArray.from_storage({whole}.type, {filled})"
        return f"{FILL}{filled}"
    if pa.types.is_run_end_encoded(inner):
        data = f"pyarrow.compute.run_end_decode({data})"
    else:
        data = f"{data}.cast({str(inner.value_type)!r})"
    return f"{FILL}{data}.fill_null(value) or {data}.drop_null()"
