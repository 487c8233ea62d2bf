"""Lazy reductions of dask arrays, with the bits of the call on the data in memory.

:func:`reducekit.reduce_max` and its like come here by themselves when they are given a
dask array. Nothing is computed: arguments are checked at once, and the result is a dask
array whose chunks are reduced with reducekit's kernels and then joined as a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _refusals, _rules, schema
from ..dtypes import by_name, element_type
from ..errors import ArgumentError
from ..tensor import Tensor
from ._missing import need
from ._partial import Part, finish, join, start

dask = need("dask", "dask", "reducing dask arrays")
da = need("dask.array", "dask", "reducing dask arrays")

__all__ = ["deferred", "reduce", "sized", "survey"]


def deferred(data: Any) -> tuple[Any, Callable[..., Any]] | None:
    """The array and what reduces it, for whoever is given a dask array; None for other data."""
    return (data, reduce) if isinstance(data, da.Array) else None


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
        Makes no difference: sums of chunks are joined exactly for every type.

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
    operator = schema.OPERATORS[op]
    who = operator.function
    _refusals.read_flag(who, "exact", exact)
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
    result: NDArray[Any] = getattr(_engine, who)(block, strict=False)
    return result
