"""Lazy reductions of dask arrays, with the bits of the call on the data in memory.

:func:`reducekit.reduce_max` and its like come here by themselves when they are given a
dask array. Nothing is computed: arguments are checked at once, and the result is a dask
array whose chunks are reduced with reducekit's kernels and then joined as a tree.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _refusals, _rules, schema
from ..dtypes import by_name, element_type
from ..errors import ArgumentError
from ..tensor import Tensor
from ..tensor._indexing import is_array_index, place_of_arrays
from ._missing import need
from ._partial import Part, finish, join, start

dask = need("dask", "dask", "reducing dask arrays")
da = need("dask.array", "dask", "reducing dask arrays")

__all__ = [
    "array_of",
    "deferred",
    "elements",
    "length",
    "reduce",
    "select",
    "sized",
    "survey",
    "token",
]


def deferred(data: Any) -> tuple[Any, Callable[..., Any]] | None:
    """The array and what reduces it, for whoever is given a dask array; None for other data."""
    return (data, reduce) if isinstance(data, da.Array) else None


def elements(who: str, data: Any) -> None:
    """Refuse a DataFrame or Series: NumPy would compute it whole, and make its types one.

    Raises
    ------
    TypeError
        The error says the ways out.
    """
    if isinstance(data, da.Array):
        return
    kind = type(data).__name__
    ways = "data.compute()"
    if kind in ("DataFrame", "Series"):
        types = " if all columns are of one NumPy type" if kind == "DataFrame" else ""
        ways = (
            "the accessor data.reducekit (import reducekit.dask), "
            f"data.to_dask_array(lengths=True){types}, or {ways}"
        )
    raise TypeError(
        f"{who}: data is a dask {kind}, which is neither an array nor computed; use {ways}"
    )


def array_of(frame: Any) -> Any:
    """Refuse it for ``Tensor.from_frame``, which reads what pandas has in memory."""
    who = "Tensor.from_frame"
    elements(who, frame)
    raise TypeError(
        f"{who}: frame has type {type(frame).__name__}; use a pandas DataFrame or Series"
    )


def reduce(
    op: int,
    data: Any,
    axes: Any = None,
    keepdims: Any = True,
    noop_with_empty_axes: Any = False,
    opset: Any = None,
    strict: Any = True,
    out: Any = None,
    exact: Any = False,
    progress: Any = True,
) -> Any:
    """The lazy reduction of a dask array.

    Parameters
    ----------
    op : int
        The position of the operator in ``schema.OPERATORS``.
    data : dask.array.Array
        Chunks of any size, 0 and unknown included.
    axes, keepdims, noop_with_empty_axes, opset, strict
        As for :func:`reducekit.reduce_max`. The opset is that of this call, not of
        the moment of the computation.
    out : None
        A lazy result has no memory to be written to.
    exact : bool
        Makes no difference: sums are those of ``exact=True`` for every type.
    progress : bool
        Makes no difference: nothing is read yet. ``dask.diagnostics.ProgressBar`` shows
        how far a computation is.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    ReduceError, TypeError
        As for :func:`reducekit.reduce_max`, when the call is made.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import reducekit as rk
    >>> x = da.from_array(np.float32([[1e8, 1.0], [-1e8, 2.0]]), chunks=(1, 1))
    >>> rk.reduce_sum(x, keepdims=False)
    dask.array<reduce_sum-aggregate, shape=(), dtype=float32, chunksize=(), chunktype=numpy.ndarray>
    >>> rk.reduce_sum(x, keepdims=False).compute()
    array(3., dtype=float32)
    """
    who = schema.OPERATORS[op].function
    _refusals.read_flag(who, "exact", exact)
    _refusals.read_flag(who, "progress", progress)
    _, reduced, identity, keep = _rules.resolve_call(
        op, data.ndim, data.dtype, axes, keepdims, noop_with_empty_axes, opset, strict
    )
    if out is not None:
        raise ArgumentError(
            f"{who}: out is given with a dask array, whose result is not computed yet; "
            "leave it out, and store the result with dask.array.store"
        )
    kind = element_type(data.dtype)
    assert kind is not None
    meta = np.empty((0,) * data.ndim, kind.numpy_dtype)
    if identity:
        return data.map_blocks(_copied, dtype=kind.numpy_dtype, meta=meta)
    if not reduced:
        return data.map_blocks(partial(_reduced, who), dtype=kind.numpy_dtype, meta=meta)
    return da.reduction(
        data,
        chunk=partial(_chunk, who, all(data.numblocks[axis] == 1 for axis in reduced)),
        combine=partial(_combine, who),
        aggregate=partial(_aggregate, who, kind.name),
        axis=reduced,
        keepdims=keep,
        dtype=kind.numpy_dtype,
        name=who,
        split_every=_split_every(data, reduced),
        concatenate=False,
        meta=np.empty((0,) * (data.ndim if keep else data.ndim - len(reduced)), kind.numpy_dtype),
    )


def _split_every(data: Any, reduced: tuple[int, ...]) -> dict[int, int] | None:
    """How many parts are joined at a time along each axis.

    As many in all as dask joins, but dask shares them among all axes, also among those
    that are of one chunk and so have nothing to join.
    """
    together = dask.config.get("split_every", 16)
    cut = [axis for axis in reduced if data.numblocks[axis] > 1]
    if not isinstance(together, int) or not cut:
        return None
    each = max(2, int(together ** (1 / len(cut))))
    return {axis: each if axis in cut else 2 for axis in reduced}


def select(array: Any, items: tuple[Any, ...]) -> Any:
    """What NumPy's indexing selects, lazily.

    dask has an order of axes of its own where integers stand beside an index array, and
    takes few index arrays at a time, so the steps are taken one by one here.

    Parameters
    ----------
    array : dask.array.Array
        The data.
    items : tuple
        Integers, slices, None, one Ellipsis, and index arrays of NumPy or dask.

    Returns
    -------
    dask.array.Array
        A mask of dask leaves an axis of unknown size.

    Raises
    ------
    IndexError
        If the index is none for the shape.
    ArgumentError
        If it cannot be done without computing.
    """
    expanded = _expanded(array, items)
    # An ellipsis parts what stands beside it, even where it stands for no axis.
    place = place_of_arrays(array.ndim, items)
    items = expanded
    whole = slice(None)
    # Integers of dask cannot stand beside None.
    for axis, item in reversed([*_with_axes(items)]):
        if isinstance(item, da.Array) and not item.ndim:
            if item.dtype == np.bool_:
                raise _computed_first("a lazy bool of rank 0")
            array = array[(whole,) * axis + (item,)]
    items = tuple(item for item in items if not (isinstance(item, da.Array) and not item.ndim))
    steps: list[Any] = []
    arrays: list[tuple[int, Any]] = []
    axis = 0
    for item in items:
        if is_array_index(item):
            rank = np.ndim(item)
            if not rank:
                raise _computed_first("a bool of rank 0")
            count = rank if item.dtype == np.bool_ else 1
            arrays.append((axis, item))
            steps += [whole] * count
            axis += count
        else:
            steps.append(item)
            axis += item is None or isinstance(item, slice)
    array = array[tuple(steps)]
    if place is None:
        return array
    if len(arrays) > 1:
        return _points(array, arrays, place)
    ((axis, item),) = arrays
    if item.dtype == np.bool_:
        return da.moveaxis(_masked(array, axis, item), axis, place)
    if item.ndim > 1 and isinstance(item, np.ndarray):
        return _points(array, arrays, place)
    if item.ndim == 1:
        return da.moveaxis(_taken(array, axis, item), axis, place)
    shape = array.shape[:axis] + item.shape + array.shape[axis + 1 :]
    _know(shape)
    taken = _taken(array, axis, item.reshape(-1)).reshape(shape)
    block = range(item.ndim)
    return da.moveaxis(taken, [axis + i for i in block], [place + i for i in block])


def _expanded(array: Any, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items without an ellipsis; each checked as far as it can be."""
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("Tensor: an index can have only one ellipsis ('...')")
    used = 0
    checked: list[Any] = []
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, slice):
            used += isinstance(item, slice)
            checked.append(item)
            continue
        dtype = getattr(item, "dtype", np.dtype(np.bool_ if isinstance(item, bool) else np.intp))
        if dtype.kind not in "iub":
            raise IndexError(f"Tensor: an index array has type {dtype}; use integers or a mask")
        used += np.ndim(item) if dtype.kind == "b" else 1
        integer = dtype.kind != "b" and not isinstance(item, da.Array) and np.ndim(item) == 0
        checked.append(operator.index(item) if integer else item)
    if used > array.ndim:
        raise IndexError(
            f"Tensor: too many indices: the tensor has rank {array.ndim}, {used} axes were indexed"
        )
    at = next(place for place, item in enumerate(items) if item is Ellipsis)
    checked[at : at + 1] = [slice(None)] * (array.ndim - used)
    for axis, item in _with_axes(tuple(checked)):
        if isinstance(item, int) or (isinstance(item, slice) and item != slice(None)):
            _know(array.shape[axis : axis + 1])
        if getattr(item, "dtype", None) != np.bool_:
            continue
        for number, size in enumerate(item.shape):
            there = array.shape[axis + number]
            if size != there and not math.isnan(size) and not math.isnan(there):
                raise IndexError(
                    f"Tensor: a mask has size {size} along axis {axis + number}, which has "
                    f"size {there}"
                )
    return tuple(checked)


def _with_axes(items: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
    """Each item that consumes axes, and the first of these."""
    axis = 0
    for item in items:
        if item is not None:
            yield axis, item
            mask = isinstance(item, bool) or getattr(item, "dtype", None) == np.bool_
            axis += np.ndim(item) if mask else 1


def _taken(array: Any, axis: int, places: Any) -> Any:
    """The elements at some places of an axis."""
    _know((array.shape[axis], *places.shape))
    return array[(slice(None),) * axis + (places,)]


def _masked(array: Any, axis: int, mask: Any) -> Any:
    """The elements under a mask, its axes as one."""
    rank = mask.ndim
    if rank > 1:
        _know(array.shape)
        _know(mask.shape)
        sizes = array.shape[:axis], array.shape[axis : axis + rank], array.shape[axis + rank :]
        array = array.reshape(sizes[0] + (math.prod(sizes[1]),) + sizes[2])
        mask = mask.reshape(-1)
    if isinstance(mask, np.ndarray):
        return _taken(array, axis, np.flatnonzero(mask))
    if mask.numblocks[0] != array.numblocks[axis]:
        _know((array.shape[axis], mask.shape[0]))
    return array[(slice(None),) * axis + (mask,)]


def _points(array: Any, arrays: list[tuple[int, Any]], place: int) -> Any:
    """The elements where several index arrays meet, or one of a rank above 1."""
    if any(isinstance(item, da.Array) for _, item in arrays):
        raise _computed_first("a lazy index beside another index array")
    _know(array.shape)
    key: list[Any] = [slice(None)] * array.ndim
    for axis, item in arrays:
        if item.dtype == np.bool_:
            for number, places in enumerate(item.nonzero()):
                key[axis + number] = places
        else:
            key[axis] = item
    rank = np.broadcast(*(each for each in key if not isinstance(each, slice))).ndim
    found = array.vindex[tuple(key)]  # the axes of the block come first
    return da.moveaxis(found, range(rank), range(place, place + rank))


def length(array: Any) -> int:
    """The size of the first axis."""
    _know(array.shape[:1], "the length of a tensor")
    return len(array)


def _know(sizes: tuple[Any, ...], what: str = "this index") -> None:
    if any(map(math.isnan, sizes)):
        raise ArgumentError(
            f"Tensor: {what} needs the sizes of all chunks, and some are unknown; "
            "call compute_chunk_sizes() on the dask array, or compute() on the tensor, first"
        )


def _computed_first(what: str) -> ArgumentError:
    return ArgumentError(
        f"Tensor: {what} cannot index a lazy tensor; compute the index, or the tensor, first"
    )


def token(parts: tuple[Any, ...]) -> Any:
    """What dask tells objects of these parts apart by."""
    return dask.base.normalize_token(parts)


def sized(array: Any) -> Any:
    """The same array, whose chunks are computed once for their sizes if these are unknown."""
    if not any(math.isnan(size) for size in array.shape):
        return array
    return array.copy().compute_chunk_sizes()


def survey(array: Any) -> tuple[Any, Any, int, int, int]:
    """Minimum and maximum without NaN, and the counts of NaN, +infinity and -infinity.

    Everything is computed in one pass over the chunks.
    """
    found = array.map_blocks(
        _survey_block,
        dtype=object,
        chunks=tuple((1,) * size for size in array.numblocks),
        meta=np.empty((0,) * array.ndim, object),
    )
    lows, highs, counts = [], [], np.zeros(3, np.int64)
    for low, high, *more in np.asarray(found.compute()).reshape(-1).tolist():
        if low is not None:
            lows.append(low)
            highs.append(high)
        counts += more
    nan, positive, negative = counts.tolist()
    if not lows:
        return None, None, nan, positive, negative
    low = _engine.reduce_min(np.array(lows), keepdims=False, strict=False)[()]
    high = _engine.reduce_max(np.array(highs), keepdims=False, strict=False)[()]
    return low, high, nan, positive, negative


def _survey_block(block: Any) -> NDArray[Any]:
    found = Tensor(block).describe()
    result = np.empty((1,) * np.ndim(block), object)
    result.flat[0] = (
        found.minimum, found.maximum, found.nan, found.positive_infinity, found.negative_infinity
    )  # fmt: skip
    return result


# Functions of modules, with plain arguments, so that they reach other processes.


def _chunk(
    who: str,
    alone: bool,
    block: Any,
    axis: tuple[int, ...],
    keepdims: bool,
    computing_meta: bool = False,
) -> Part:
    del keepdims
    if computing_meta:
        return np.asarray(block)
    return start(schema.operator(who), block, axis, alone)


def _combine(
    who: str, blocks: Any, axis: tuple[int, ...], keepdims: bool, computing_meta: bool = False
) -> Part:
    del axis, keepdims
    if computing_meta:
        return np.asarray(blocks)
    return join(schema.operator(who), list(_flat(blocks)))


def _aggregate(
    who: str,
    name: str,
    blocks: Any,
    axis: tuple[int, ...],
    keepdims: bool,
    computing_meta: bool = False,
) -> NDArray[Any]:
    if computing_meta:
        return np.asarray(blocks)
    joined = join(schema.operator(who), list(_flat(blocks)))
    result = finish(joined, by_name(name))
    return result if keepdims else np.squeeze(result, axis)


def _flat(blocks: Any) -> Iterator[Part]:
    """The parts in dask's lists of lists."""
    if not isinstance(blocks, list):
        yield blocks
        return
    for block in blocks:
        yield from _flat(block)


def _copied(block: Any) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(block)
    return array.astype(array.dtype.newbyteorder("="))


def _reduced(who: str, block: Any) -> NDArray[Any]:
    result: NDArray[Any] = getattr(_engine, who)(block, strict=False, progress=False)
    return result
