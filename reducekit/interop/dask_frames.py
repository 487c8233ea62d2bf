"""The accessor ``reducekit`` of dask's DataFrame and Series, which stays lazy.

``import reducekit.dask`` registers it. It is the accessor of pandas, partition by
partition: what is wrong with the call or the columns is said at once, and a missing value
when its partition is computed. Float sums are kept exactly until all partitions are in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _refusals, _rules, schema
from ..dtypes import ElementType, by_name
from ..errors import DTypeError
from . import pandas as ours
from ._missing import need
from ._partial import Part, finish, join, start

pd = need("pandas", "pandas", "reducing DataFrames")
dd = need("dask.dataframe", "dask", "reducing dask DataFrames")

__all__ = ["LazyFrameReductions", "LazySeriesReductions"]


class LazyFrameReductions(ours.FrameReductions):
    """``frame.reducekit`` of a dask DataFrame: along rows, columns or both, lazily.

    The methods are those of pandas' accessor, and give a dask Series, DataFrame or
    scalar. Sums of float64 are those of ``exact=True``.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import reducekit.dask
    >>> df = pd.DataFrame({"a": [1, 5, 4], "b": [4, 2, 9]})
    >>> dd.from_pandas(df, npartitions=2).reducekit.reduce_max(axes=0).compute()
    a    5
    b    9
    dtype: int64
    """

    def _reduce(self, *call: Any) -> Any:
        return _reduce(ours.FrameReductions, self._obj, *call)


class LazySeriesReductions(ours.SeriesReductions):
    """``series.reducekit`` of a dask Series, lazily.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import reducekit.dask
    >>> series = dd.from_pandas(pd.Series([1e16, 1.0, -1e16]), npartitions=3)
    >>> series.reducekit.reduce_sum().compute()
    np.float64(1.0)
    """

    def _reduce(self, *call: Any) -> Any:
        return _reduce(ours.SeriesReductions, self._obj, *call)


@dataclass(frozen=True, slots=True)
class _Call:
    """What a partition needs to know; it goes to other processes."""

    accessor: type[Any]
    who: str
    kind: str
    reduced: tuple[int, ...]
    keepdims: bool
    allow_nan: bool

    @property
    def operator(self) -> schema.Operator:
        """The row of the operator."""
        return schema.operator(self.who)

    def columns(self, part: Any) -> list[tuple[Any, Any]]:
        """The columns of a partition, which must be what dask said they are."""
        columns: list[tuple[Any, Any]] = self.accessor(part)._columns(self.who)
        kind = ours._one_kind(self.who, columns)
        if kind.name != self.kind:
            raise DTypeError(
                f"{self.who}: a partition has elements of type {kind.name}, where the meta of the "
                f"dask data says {self.kind}; convert it, as with data.astype(...)"
            )
        return columns


@dataclass(frozen=True, slots=True)
class _Parts:
    """The reductions of some partitions, not yet rounded; one for each array of columns."""

    parts: tuple[Part, ...]


def _reduce(
    accessor: type[Any],
    data: Any,
    op: int,
    axes: Any,
    keepdims: Any,
    noop: Any,
    opset: Any,
    strict: Any,
    allow_nan: Any,
    extra: dict[str, Any],
) -> Any:
    who = schema.OPERATORS[op].function
    allow_nan = _refusals.read_flag(who, "allow_nan", allow_nan)
    _refusals.check_flags(who, extra)
    meta = data._meta
    columns = accessor(meta)._columns(who)
    kind = ours._one_kind(who, columns)
    rank = accessor._ndim
    _, reduced, identity, keep = _rules.resolve_call(
        op, rank, kind.numpy_dtype, ours._positions(who, axes, rank), keepdims, noop, opset, strict
    )
    call = _Call(accessor, who, kind.name, reduced, keep, allow_nan)
    if identity or reduced == (1,):
        return data.map_partitions(_rows, call, meta=_rows(meta, call))
    made = _labelled(_begin(meta, call), meta, call)
    return data.reduction(
        _first,
        aggregate=_last,
        combine=_join,
        meta=made,
        token=who,
        chunk_kwargs={"call": call},
        combine_kwargs={"call": call},
        aggregate_kwargs={"call": call, "meta": meta},
    )


def _rows(part: Any, call: _Call) -> Any:
    """The reduction of each row of a partition, or the partition if nothing is reduced."""
    call.columns(part)
    extra = {"exact": True} if call.operator.short == "sum" else {}
    # The rules were checked for the whole call.
    return getattr(call.accessor(part), call.who)(
        call.reduced, keepdims=call.keepdims, noop_with_empty_axes=not call.reduced,
        allow_nan=call.allow_nan, opset="latest", strict=False, progress=False, **extra,
    )  # fmt: skip


def _begin(part: Any, call: _Call) -> _Parts:
    columns = call.columns(part)
    arrays = ours._arrays(call.who, columns, call.allow_nan)
    if by_name(call.kind).kind == "float" and not call.allow_nan:
        ours._refuse_nan(call.who, ours._tops(arrays), columns, arrays)
    operator = call.operator
    if arrays[0].ndim == 2:
        return _Parts((start(operator, arrays[0], call.reduced),))
    parts = [start(operator, array, (0,)) for array in arrays]
    return _Parts(tuple(parts) if call.reduced == (0,) else (join(operator, parts),))


# dask joins what partitions gave as the rows of a frame.


def _boxed(parts: _Parts) -> Any:
    box = np.empty(1, object)
    box[0] = parts
    return pd.DataFrame({"parts": box})


def _first(part: Any, call: _Call) -> Any:
    return _boxed(_begin(part, call))


def _joined(boxes: Any, call: _Call) -> _Parts:
    rows = [each.parts for each in boxes["parts"]]
    return _Parts(tuple(join(call.operator, column) for column in zip(*rows, strict=True)))


def _join(boxes: Any, call: _Call) -> Any:
    return _boxed(_joined(boxes, call))


def _last(boxes: Any, call: _Call, meta: Any) -> Any:
    return _labelled(_joined(boxes, call), meta, call)


def _labelled(parts: _Parts, meta: Any, call: _Call) -> Any:
    kind: ElementType = by_name(call.kind)
    values = np.concatenate([finish(part, kind).reshape(-1) for part in parts.parts])
    accessor = call.accessor(meta)
    if len(call.reduced) == accessor._ndim:
        values = values.reshape(())
    dtypes = {column.dtype for _, column in accessor._columns(call.who)}
    dtype = dtypes.pop() if len(dtypes) == 1 else kind.numpy_dtype
    if isinstance(dtype, np.dtype):
        dtype = kind.numpy_dtype
    return accessor._labelled(values, call.reduced, call.keepdims, call.operator.short, dtype)


def _register() -> None:
    api = dd.extensions
    api.register_dataframe_accessor("reducekit")(LazyFrameReductions)
    api.register_series_accessor("reducekit")(LazySeriesReductions)


# Once: a second registration, as by a reload, would warn of the first.
if not hasattr(dd.DataFrame, "reducekit"):
    _register()
