"""The accessor ``reducekit`` of pandas' DataFrame and Series.

``import reducekit.pandas`` registers it. Labels follow, every number keeps its type and
all its digits, and a missing value is an error, not something to skip.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, Never

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _foreign, _refusals, _rules, schema
from .._names import listed
from .._show import count_text
from ..dtypes import ElementType, element_type
from ..errors import ArgumentError, AxesError, DTypeError
from ._missing import need
from ._partial import finish, join, start
from ._tables import no_columns

pd = need("pandas", "pandas", "reducing DataFrames")

__all__ = ["FrameReductions", "SeriesReductions", "array_of", "frame_of"]

# Columns that lie apart are gathered in memory that stays in the second cache, and is used
# again and again: a million rows of ten float64 took 12.9 ms in fresh memory, now 5.5.
_GATHERED = 512 << 10
_FEWEST_ROWS = 1024
# Frames of fewer bytes are put together sooner than looked at.
_SMALL = 64 << 10
_SERIES = "the Series"
_AXES = {"index": 0, "rows": 0, "columns": 1}


class _Reductions:
    """What the accessors share."""

    _ndim: int

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def reduce_max(
        self,
        axes: Any = None,
        *,
        keepdims: bool = False,
        noop_with_empty_axes: bool = False,
        opset: int | Literal["latest"] | None = None,
        strict: bool = True,
        allow_nan: bool = False,
        progress: bool = True,
        **wrong: Never,
    ) -> Any:
        """The maximum along axes, with labels.

        Parameters
        ----------
        axes : int, str, sequence of these, or None
            0 or ``"index"`` reduces the rows, which leaves one value for each column;
            1 or ``"columns"`` reduces the columns. All axes if omitted.
        keepdims : bool, default False
            Keep a reduced axis as one row or column, labelled ``max``. As in pandas,
            and unlike the functions, the default is to drop it.
        noop_with_empty_axes : bool, default False
            Let no axes mean that nothing is reduced.
        opset : int or "latest", optional
            The ONNX opset whose rules apply.
        strict : bool, default True
            False lifts the opset's list of element types and its ban on negative axes.
        allow_nan : bool, default False
            Take NaN as a value, which makes the result NaN. Otherwise it is an error: in
            NumPy's floats, sparse ones too, it is what pandas has for a missing value.
        progress : bool, default True
            Whether a bar shows what takes long, as in :func:`reducekit.reduce_max`.

        Returns
        -------
        pandas.Series, pandas.DataFrame or scalar
            Of the dtype of the columns: Int64 and Arrow types stay what they are. A
            scalar where every axis goes.

        Raises
        ------
        DTypeError
            If columns are of different element types, or of one that no reduction
            takes; the error names them.
        ArgumentError
            If a value is missing; the error names the columns and the ways out.
        AxesError, OpsetError, TypeError
            As for :func:`reducekit.reduce_max`.

        Examples
        --------
        >>> import pandas as pd
        >>> import reducekit.pandas
        >>> df = pd.DataFrame({"a": [1, 5], "b": [4, 2]}, index=["x", "y"])
        >>> df.reducekit.reduce_max(axes=0)
        a    5
        b    4
        dtype: int64
        >>> df.reducekit.reduce_max(axes="columns", keepdims=True)
           max
        x    4
        y    5
        """
        if wrong:
            _refusals.check_keywords(_Reductions.reduce_max, wrong)
        return self._reduce(
            schema.MAX, axes, keepdims, noop_with_empty_axes, opset, strict, allow_nan,
            {"progress": progress},
        )  # fmt: skip

    def reduce_min(
        self,
        axes: Any = None,
        *,
        keepdims: bool = False,
        noop_with_empty_axes: bool = False,
        opset: int | Literal["latest"] | None = None,
        strict: bool = True,
        allow_nan: bool = False,
        progress: bool = True,
        **wrong: Never,
    ) -> Any:
        """The minimum along axes, with labels.

        Parameters
        ----------
        axes, keepdims, noop_with_empty_axes, opset, strict, allow_nan, progress
            As for ``reduce_max``.

        Returns
        -------
        pandas.Series, pandas.DataFrame or scalar
            Of the dtype of the columns.

        Raises
        ------
        DTypeError, ArgumentError, AxesError, OpsetError, TypeError
            As for ``reduce_max``.

        Examples
        --------
        >>> import pandas as pd
        >>> import reducekit.pandas
        >>> pd.Series([3, 2**62 + 1], dtype="Int64").reducekit.reduce_min(keepdims=True)
        min    3
        dtype: Int64
        """
        if wrong:
            _refusals.check_keywords(_Reductions.reduce_min, wrong)
        return self._reduce(
            schema.MIN, axes, keepdims, noop_with_empty_axes, opset, strict, allow_nan,
            {"progress": progress},
        )  # fmt: skip

    def reduce_sum(
        self,
        axes: Any = None,
        *,
        keepdims: bool = False,
        noop_with_empty_axes: bool = False,
        opset: int | Literal["latest"] | None = None,
        strict: bool = True,
        exact: bool = False,
        allow_nan: bool = False,
        progress: bool = True,
        **wrong: Never,
    ) -> Any:
        """The sum along axes, with labels: exact where pandas rounds, wrapping for integers.

        Parameters
        ----------
        axes, keepdims, noop_with_empty_axes, opset, strict, allow_nan, progress
            As for ``reduce_max``.
        exact : bool, default False
            Whether a float64 sum is the true sum, rounded once; other types' are always.

        Returns
        -------
        pandas.Series, pandas.DataFrame or scalar
            Of the dtype of the columns; int32 is not promoted.

        Raises
        ------
        DTypeError, ArgumentError, AxesError, OpsetError, TypeError
            As for ``reduce_max``.

        Examples
        --------
        >>> import pandas as pd
        >>> import reducekit.pandas
        >>> df = pd.DataFrame({"a": [1e8, 1.0, -1e8]}, dtype="float32")
        >>> df.reducekit.reduce_sum(axes=0)
        a    1.0
        dtype: float32
        """
        if wrong:
            _refusals.check_keywords(_Reductions.reduce_sum, wrong)
        return self._reduce(
            schema.SUM, axes, keepdims, noop_with_empty_axes, opset, strict, allow_nan,
            {"exact": exact, "progress": progress},
        )  # fmt: skip

    def _reduce(
        self,
        op: int,
        axes: Any,
        keepdims: bool,
        noop: bool,
        opset: Any,
        strict: bool,
        allow_nan: bool,
        extra: dict[str, Any],
    ) -> Any:
        operator = schema.OPERATORS[op]
        who = operator.function
        allow_nan = _refusals.read_flag(who, "allow_nan", allow_nan)
        _refusals.check_flags(who, extra)
        columns = self._columns(who)
        kind = _one_kind(who, columns)
        _, reduced, identity, keep = _rules.resolve_call(
            op, self._ndim, kind.numpy_dtype, _positions(who, axes, self._ndim), keepdims, noop,
            opset, strict,
        )  # fmt: skip

        def call(
            array: NDArray[Any], over: tuple[int, ...], out: NDArray[Any] | None = None
        ) -> NDArray[Any]:
            result: NDArray[Any] = getattr(_engine, who)(
                array, over, keepdims=False, strict=False, out=out, **extra
            )
            return result

        # The last bit of a float64 sum that need not be exact may depend on how memory is
        # walked, but not on where pandas put the columns: there they are put together.
        if kind.name != "float64" or operator.short != "sum" or extra["exact"]:
            columns = [part for column in columns for part in _apart(*column)]
        arrays = _arrays(who, columns, allow_nan)
        result = None if identity else self._values(operator, kind, arrays, reduced, call)
        if kind.kind == "float" and not allow_nan:
            _refuse_nan(who, _tops(arrays) if result is None else result, columns, arrays)
        if result is None:
            return self._obj.copy()
        dtypes = {column.dtype for _, column in columns}
        dtype = dtypes.pop() if len(dtypes) == 1 else kind.numpy_dtype
        if isinstance(dtype, np.dtype):
            dtype = kind.numpy_dtype  # in native byte order
        return self._labelled(result, reduced, keep, operator.short, dtype)

    def _columns(self, who: str) -> list[tuple[Any, Any]]:
        raise NotImplementedError

    def _values(
        self,
        operator: schema.Operator,
        kind: ElementType,
        arrays: list[NDArray[Any]],
        reduced: tuple[int, ...],
        call: Callable[..., Any],
    ) -> NDArray[Any]:
        raise NotImplementedError

    def _labelled(
        self, result: NDArray[Any], reduced: tuple[int, ...], keep: bool, label: str, dtype: Any
    ) -> Any:
        raise NotImplementedError


class FrameReductions(_Reductions):
    """``df.reducekit``: the reductions of a DataFrame, along rows, columns or both.

    Examples
    --------
    >>> import pandas as pd
    >>> import reducekit.pandas
    >>> df = pd.DataFrame({"a": [1, 5], "b": [4, 2]})
    >>> df.reducekit.reduce_sum(axes="columns")
    0    5
    1    7
    dtype: int64
    """

    _ndim = 2

    def _columns(self, who: str) -> list[tuple[Any, Any]]:
        frame = self._obj
        if not len(frame.columns):
            raise no_columns(who, "DataFrame")
        arrays = _columns_of(frame)
        dtypes = {array.dtype for array in arrays}
        dtype = next(iter(dtypes))
        if len(dtypes) == 1 and isinstance(dtype, np.dtype):
            # One array for all: a view where pandas keeps the columns together.
            return [(None, _Whole(frame, dtype, arrays))]
        return [(name, frame.iloc[:, position]) for position, name in enumerate(frame.columns)]

    def _values(
        self,
        operator: schema.Operator,
        kind: ElementType,
        arrays: list[NDArray[Any]],
        reduced: tuple[int, ...],
        call: Callable[..., Any],
    ) -> NDArray[Any]:
        if arrays[0].ndim == 2:
            return np.asarray(call(arrays[0], reduced))
        if reduced == (0,):
            return np.array([call(array, (0,)) for array in arrays], arrays[0].dtype)
        if len(reduced) == 2:
            parts = [start(operator, array, (0,)) for array in arrays]
            joined = join(operator, parts)
            return finish(joined, kind).reshape(())
        return _across(operator, kind, arrays, call)

    def _labelled(
        self, result: NDArray[Any], reduced: tuple[int, ...], keep: bool, label: str, dtype: Any
    ) -> Any:
        frame = self._obj
        if reduced == (0,):
            if not keep:
                return _series(result, frame.columns, dtype)
            columns = {
                position: _series(result[position : position + 1], [label], dtype)
                for position in range(len(result))
            }
            kept = pd.DataFrame(columns, index=[label])
            kept.columns = frame.columns
            return kept
        if reduced == (1,):
            values = _series(result, frame.index, dtype)
            return values.to_frame(label) if keep else values
        if not keep:
            return result[()]
        return _series(result.reshape(1), [label], dtype).to_frame(label)


class SeriesReductions(_Reductions):
    """``s.reducekit``: the reductions of a Series.

    Examples
    --------
    >>> import pandas as pd
    >>> import reducekit.pandas
    >>> pd.Series([1, 5, 4]).reducekit.reduce_max()
    np.int64(5)
    """

    _ndim = 1

    def _columns(self, who: str) -> list[tuple[Any, Any]]:
        del who
        name = self._obj.name
        return [(_OfSeries(name), self._obj)]

    def _values(
        self,
        operator: schema.Operator,
        kind: ElementType,
        arrays: list[NDArray[Any]],
        reduced: tuple[int, ...],
        call: Callable[..., Any],
    ) -> NDArray[Any]:
        del operator, kind
        return np.asarray(call(arrays[0], reduced))

    def _labelled(
        self, result: NDArray[Any], reduced: tuple[int, ...], keep: bool, label: str, dtype: Any
    ) -> Any:
        del reduced
        if not keep:
            return result[()]
        return _series(result.reshape(1), [label], dtype).rename(self._obj.name)


def _series(values: NDArray[Any], index: Any, dtype: Any) -> Any:
    """The values in a dtype of pandas; in Arrow, NaN stays NaN and does not become null."""
    if isinstance(dtype, pd.ArrowDtype) and values.dtype.kind == "f":
        arrow = import_module("pyarrow").array(values, dtype.pyarrow_dtype, from_pandas=False)
        return pd.Series(pd.arrays.ArrowExtensionArray(arrow), index)
    return pd.Series(values, index, dtype=dtype, copy=False)


def _across(
    operator: schema.Operator,
    kind: ElementType,
    arrays: list[NDArray[Any]],
    call: Callable[..., Any],
) -> NDArray[Any]:
    """The reduction over columns that lie apart: where they are, or a few rows at a time."""
    size = len(arrays[0])
    result = np.empty(size, kind.numpy_dtype)
    if _engine.reduce_columns(schema.OPERATORS.index(operator), arrays, result):
        return result
    rows = max(_FEWEST_ROWS, _GATHERED // (len(arrays) * kind.itemsize))
    room = np.empty(len(arrays) * min(rows, size), kind.numpy_dtype)
    for first in range(0, size, rows):
        out = result[first : first + rows]
        piece = room[: len(arrays) * len(out)]
        np.concatenate([array[first : first + rows] for array in arrays], out=piece)
        call(piece.reshape(len(arrays), -1), (0,), out)
    return result


class _OfSeries:
    """What errors call a Series, with or without a name."""

    def __init__(self, name: Any) -> None:
        self._name = name

    def __repr__(self) -> str:
        return _SERIES if self._name is None else f"{_SERIES} {self._name!r}"


class _OfColumn:
    """What errors call a column: a label is made when it is asked for, which takes 8 us."""

    def __init__(self, frame: Any, place: int) -> None:
        self._frame, self._place = frame, place

    def __repr__(self) -> str:
        return repr(self._frame.columns[self._place])


class _Whole:
    """All columns of a frame, in the place of one."""

    def __init__(self, frame: Any, dtype: np.dtype[Any], arrays: list[Any]) -> None:
        self.frame, self.dtype, self.arrays = frame, dtype, arrays

    def to_numpy(self) -> NDArray[Any]:
        array: NDArray[Any] = self.frame.to_numpy()
        return array


def _apart(name: Any, column: Any) -> list[tuple[Any, Any]]:
    """The columns of a frame that does not keep them in one array, which then need not be made."""
    if not isinstance(column, _Whole) or column.frame.size * column.dtype.itemsize < _SMALL:
        return [(name, column)]
    first, last = column.arrays[0], column.arrays[-1]
    owner = first if first.base is None else first.base
    if len(column.arrays) == 1 or owner is last.base:
        return [(name, column)]
    return [(_OfColumn(column.frame, place), array) for place, array in enumerate(column.arrays)]


def _columns_of(frame: Any) -> list[Any]:
    """The array of each column, of NumPy or of pandas."""
    # A Series of each, or one of their dtypes, takes as long as 400 kB of data: 200 us.
    if hasattr(frame, "_iter_column_arrays"):
        return list(frame._iter_column_arrays())
    columns = (frame.iloc[:, place] for place in range(len(frame.columns)))
    return [each.to_numpy() if isinstance(each.dtype, np.dtype) else each.array for each in columns]


def _kind(dtype: Any) -> ElementType | None:
    """The element type of a pandas dtype: nullable and Arrow ones say which of NumPy they are."""
    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
    elif not isinstance(dtype, np.dtype):
        dtype = getattr(dtype, "numpy_dtype", object)
    return element_type(dtype) if isinstance(dtype, np.dtype) else None


def _one_kind(who: str, columns: list[tuple[Any, Any]]) -> ElementType:
    """The element type of all columns, or an error that names them."""
    if len(columns) == 1:
        only = _kind(columns[0][1].dtype)
        if only is not None:
            return only
    kinds: dict[ElementType | None, list[str]] = {}
    wrong: list[tuple[str, Any]] = []
    for name, column in columns:
        found = list(column.frame.columns) if isinstance(column, _Whole) else [name]
        for each in found:
            kinds.setdefault(_kind(column.dtype), []).append(_label(each))
            if _kind(column.dtype) is None:
                wrong.append((_label(each), column.dtype))
    kinds.pop(None, None)
    if wrong:
        named = ", ".join(f"{label} ({dtype})" for label, dtype in wrong[:10])
        more = f" and {len(wrong) - 10} others" if len(wrong) > 10 else ""
        way_out = "convert them, as with series.astype(...)"
        if not wrong[0][0].startswith(_SERIES):
            named = f"{'column' if len(wrong) == 1 else 'columns'} {named}"
            way_out = "leave them out, as with df.select_dtypes('number'), or convert them"
        raise DTypeError(f"{who}: elements of {named}{more} cannot be reduced; {way_out}")
    if len(kinds) > 1:
        groups = "; ".join(
            f"{kind.name} in {_several(labels)}" for kind, labels in kinds.items() if kind
        )
        raise DTypeError(
            f"{who}: the columns are of different element types: {groups}; "
            "select columns of one type, or convert them, as with df.astype(...)"
        )
    (kind,) = kinds
    assert kind is not None
    return kind


def _several(labels: list[str]) -> str:
    if len(labels) > 6:
        labels = [*labels[:5], f"{len(labels) - 5} others"]
    return ", ".join(labels)


def _label(name: Any) -> str:
    text = repr(name)
    return text if len(text) <= 60 else text[:57] + "..."


def _in_numpy(dtype: Any) -> bool:
    """Whether NaN is the only sign that pandas has for a missing value of this dtype."""
    return isinstance(dtype, (np.dtype, pd.SparseDtype))


def _arrays(who: str, columns: list[tuple[Any, Any]], allow_nan: bool) -> list[NDArray[Any]]:
    """The elements of columns as they are: no detour over another type, no copy if avoidable."""
    nulls = [
        0 if _in_numpy(column.dtype) else int(np.count_nonzero(column.isna()))
        for _, column in columns
    ]
    if any(nulls):
        counts = []
        for (name, column), count in zip(columns, nulls, strict=True):
            if _in_numpy(column.dtype) and not allow_nan:
                counts += _nan_counts(name, column, _elements(column))
            elif count:
                counts.append((_label(name), count))
        raise _missing(who, counts)
    return [_elements(column) for _, column in columns]


def _elements(column: Any) -> NDArray[Any]:
    if isinstance(column, np.ndarray):
        return column
    if _in_numpy(column.dtype):
        return np.asarray(column.to_numpy())
    kind = _kind(column.dtype)
    assert kind is not None
    return np.asarray(column.to_numpy(dtype=kind.numpy_dtype))


def _missing(who: str, counts: list[tuple[str, int]], nan: bool = False) -> ArgumentError:
    place, data, total = _place_of(counts)
    what = "value is" if total == 1 else "values are"
    way_out = ", or allow_nan=True to take NaN as a value" if nan else ""
    return ArgumentError(
        f"{who}: {total} {what} missing in {place}; "
        f"fill or drop first, as with {data}.fillna(value) or {data}.dropna(){way_out}"
    )


def _nan_not_missing(who: str, counts: list[tuple[str, int]]) -> ArgumentError:
    """NaN that pandas tells from a missing value, and that its fillna and dropna leave alone."""
    place, data, total = _place_of(counts)
    what = "value is" if total == 1 else "values are"
    rows = f"{data} == {data}" if data == "series" else f"({data} == {data}).all(axis=1)"
    return ArgumentError(
        f"{who}: {total} {what} NaN in {place}; replace or drop first, as with "
        f"{data}.mask({data} != {data}, value) or {data}[{rows}], "
        "or allow_nan=True to take NaN as a value"
    )


def _place_of(counts: list[tuple[str, int]]) -> tuple[str, str, int]:
    """Where values are, what the object is called in code, and how many values there are."""
    place, total = _several([label for label, _ in counts]), sum(count for _, count in counts)
    if place.startswith(_SERIES):
        return place, "series", total
    return f"{'column' if len(counts) == 1 else 'columns'} {place}", "df", total


def _tops(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """The maximum of each array, which is NaN if there is one in it."""
    return np.concatenate([_engine.reduce_max(each, strict=False).reshape(1) for each in arrays])


def _nan_counts(name: Any, column: Any, array: NDArray[Any]) -> list[tuple[str, int]]:
    """The columns that have NaN, and how many."""
    if array.dtype.kind != "f":
        return []
    found = np.atleast_1d(np.count_nonzero(np.isnan(array), axis=0))
    names = list(column.frame.columns) if isinstance(column, _Whole) else [name]
    return [(_label(names[i]), int(found[i])) for i in np.flatnonzero(found)]


def _refuse_nan(
    who: str,
    result: NDArray[Any],
    columns: list[tuple[Any, Any]],
    arrays: list[NDArray[Any]],
) -> None:
    """Raise if a NaN was among the elements: every reduction then shows one."""
    if not np.isnan(_engine.reduce_max(result, strict=False)).any():
        return
    counts: list[tuple[str, int]] = []
    only_missing = True
    for (name, column), array in zip(columns, arrays, strict=True):
        found = _nan_counts(name, column, array)
        counts += found
        only_missing = only_missing and (not found or _in_numpy(column.dtype))
    if counts:  # a sum of infinities is NaN without one
        raise _missing(who, counts, nan=True) if only_missing else _nan_not_missing(who, counts)


def _positions(who: str, axes: Any, ndim: int) -> Any:
    """Axes with pandas' names replaced by positions."""

    def position(axis: Any) -> Any:
        if not isinstance(axis, str):
            return axis
        if _AXES.get(axis, ndim) >= ndim:
            names = ["index"] if ndim == 1 else ["index", "columns"]
            raise AxesError(f"{who}: there is no axis {axis!r}; use {listed(names)}")
        return _AXES[axis]

    if isinstance(axes, str):
        return position(axes)
    if isinstance(axes, (list, tuple)):
        return tuple(position(axis) for axis in axes)
    return axes


def missing(data: Any) -> int:
    """How many elements are missing, by types that have a sign for it; NaN in floats is a value."""
    if isinstance(data, pd.DataFrame):
        data = data.loc[:, [not _in_numpy(dtype) for dtype in data.dtypes]]
    elif _in_numpy(data.dtype):
        return 0
    return int(np.count_nonzero(data.isna()))


def elements(who: str, data: Any) -> NDArray[Any] | None:
    """The elements of a DataFrame, or of Arrow data.

    NumPy would bring columns of several types to one, and integers with nulls that pandas
    does not see, as in a dictionary, to floats.

    Returns
    -------
    numpy.ndarray or None
        None for what NumPy reads as it is.
    """
    if isinstance(data, pd.DataFrame):
        return array_of(data, who)[0]
    if not isinstance(data.dtype, pd.ArrowDtype):
        return None
    arrow = getattr(data, "array", data).__arrow_array__()
    read = _foreign.home("pyarrow").column_elements
    array: NDArray[Any] = read(who, arrow, type(data).__name__, "pyarrow.array(data)")
    return array


def array_of(frame: Any, who: str = "Tensor.from_frame") -> tuple[NDArray[Any], list[str]]:
    """The values of a DataFrame or Series, and names for the axes."""
    if isinstance(frame, pd.Series):
        columns = SeriesReductions(frame)._columns(who)
        _one_kind(who, columns)
        names = [_axis_name(frame.index.name, "row")]
        return _arrays(who, columns, allow_nan=True)[0], names
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(
            f"{who}: frame has type {type(frame).__name__}; use a pandas DataFrame or Series"
        )
    columns = FrameReductions(frame)._columns(who)
    _one_kind(who, columns)
    arrays = _arrays(who, columns, allow_nan=True)
    names = [_axis_name(frame.index.name, "row"), _axis_name(frame.columns.name, "column")]
    if names[0] == names[1]:
        names = ["row", "column"]
    # Columns one after another in memory, as pandas has them.
    return (arrays[0] if arrays[0].ndim == 2 else np.stack(arrays).T), names


def _axis_name(name: Any, default: str) -> str:
    return name if isinstance(name, str) and name else default


def frame_of(
    array: NDArray[Any], dims: tuple[str | None, ...] | None, index: Any, columns: Any
) -> Any:
    """A DataFrame of an array of rank 0, 1 or 2."""
    who = "to_frame"
    if array.ndim > 2:
        raise ArgumentError(
            f"{who}: a tensor of rank {array.ndim} is no table; reduce or index it to rank 2, "
            "or use to_xarray"
        )
    kind = element_type(array.dtype)
    assert kind is not None
    if kind.name == "bfloat16":
        raise DTypeError(
            f"{who}: pandas has no bfloat16; cast with astype('float32'), which is exact"
        )
    names = [*(dims or ()), None, None][:2] if array.ndim else [None, None]
    if array.ndim < 2:
        array = array.reshape(-1, 1)
        columns = ["value"] if columns is None else columns
        names[1] = None
    labels = {}
    for name, axis, given in (("index", 0, index), ("columns", 1, columns)):
        made = pd.RangeIndex(array.shape[axis]) if given is None else pd.Index(given)
        if len(made) != array.shape[axis]:
            raise ArgumentError(
                f"{who}: {name} has {count_text(len(made), 'label')} for an axis of size "
                f"{array.shape[axis]}; give one for each"
            )
        labels[name] = made if names[axis] is None else made.rename(names[axis])
    return pd.DataFrame(array.astype(kind.numpy_dtype, copy=False), **labels)


def _register() -> None:
    api = pd.api.extensions
    api.register_dataframe_accessor("reducekit")(FrameReductions)
    api.register_series_accessor("reducekit")(SeriesReductions)


# Once: a second registration, as by a reload, would warn of the first.
if not hasattr(pd.DataFrame, "reducekit"):
    _register()
