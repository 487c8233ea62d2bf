"""Reductions of zarr arrays, read chunk by chunk: they may be larger than memory.

:func:`reducekit.reduce_max` and its like come here by themselves when they are given a
``zarr.Array``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _inputs, _refusals, _rules, schema
from .._progress import progress_bar
from ..dtypes import ElementType, element_type
from ._missing import need
from ._partial import Part, check_out, finish, join, start

zarr = need("zarr", "zarr", "reducing zarr arrays")

__all__ = ["deferred", "elements", "load", "reduce"]

# A block is as many whole chunks as fit here, or one.
_BLOCK_BYTES = 16 << 20
# Parts that wait to be joined.
_WAITING = 8


def load(data: Any, *, progress: bool = True) -> NDArray[Any]:
    """All elements of a zarr array, in memory once.

    ``reducekit.Tensor`` loads a zarr array so; this function can do it without a bar.

    Parameters
    ----------
    data : zarr.Array
        Each chunk is read once. Beside the result, a few chunks are in memory at a time.
    progress : bool, default True
        As for :func:`reducekit.reduce_max`.

    Returns
    -------
    numpy.ndarray
        Of the array's dtype.

    Raises
    ------
    DTypeError
        If no reduction takes the element type; nothing is read then.
    TypeError
        If ``data`` is no zarr array.

    Examples
    --------
    >>> import zarr, reducekit as rk
    >>> from reducekit.interop.zarr import load
    >>> z = zarr.array([[1, 5], [4, 2]], chunks=(1, 2))
    >>> rk.Tensor(load(z, progress=False), dims=("row", "column")).reduce_max("row").tolist()
    [[4, 5]]
    """
    return _load("load", data, progress)


def elements(who: str, data: Any) -> NDArray[Any] | None:
    """The elements for whoever needs all of them: NumPy would have them in memory twice."""
    return _load(who, data) if isinstance(data, zarr.Array) else None


def _load(who: str, data: Any, progress: Any = True) -> NDArray[Any]:
    if not isinstance(data, zarr.Array):
        raise TypeError(f"{who}: data has type {type(data).__name__}; use a zarr.Array")
    progress = _refusals.read_flag(who, "progress", progress)
    dtype = np.dtype(data.dtype)
    if element_type(dtype) is None:
        raise _refusals.dtype_never(who, dtype)
    result = np.empty(data.shape, dtype)
    with progress_bar(result.nbytes, progress) as done:
        for block in itertools.product(*_ranges(data)):
            result[block] = data[block]
            done(result[block].nbytes)
    return result


def deferred(data: Any) -> tuple[Any, Callable[..., Any]] | None:
    """The array and what reduces it, for whoever is given a zarr array; None for other data."""
    return (data, reduce) if isinstance(data, zarr.Array) else None


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
) -> NDArray[Any]:
    """The reduction of a zarr array by the operator at a position of ``schema.OPERATORS``.

    The other arguments are those of :func:`reducekit.reduce_sum`.
    """
    operator = schema.OPERATORS[op]
    who = operator.function
    if not isinstance(data, zarr.Array):
        raise TypeError(f"{who}: data has type {type(data).__name__}; use a zarr.Array")
    _refusals.read_flag(who, "exact", exact)
    progress = _refusals.read_flag(who, "progress", progress)
    dtype = np.dtype(data.dtype)
    _, reduced, identity, keep = _rules.resolve_call(
        op, data.ndim, dtype, axes, keepdims, noop_with_empty_axes, opset, strict
    )
    kind = element_type(dtype)
    assert kind is not None
    shape = tuple(1 if axis in reduced else size for axis, size in enumerate(data.shape))
    final = shape
    if not keep and not identity:
        final = tuple(size for axis, size in enumerate(shape) if axis not in reduced)
    if out is not None:
        check_out(who, out, final, kind)
    with progress_bar(math.prod(data.shape) * dtype.itemsize, progress) as done:
        if identity:
            result = np.empty(shape, kind.numpy_dtype)
            for block in itertools.product(*_ranges(data)):
                result[block] = data[block]
                done(result[block].nbytes)
        elif not reduced:  # rank 0
            result = getattr(_engine, who)(np.asarray(data[...]), strict=False)
        else:
            result = _by_blocks(operator, data, kind, reduced, shape, done)
    result = result.reshape(final)
    if out is None:
        return result
    _inputs.copy_into(out, result)
    return np.asarray(out)


def _by_blocks(
    op: schema.Operator,
    data: Any,
    kind: ElementType,
    reduced: tuple[int, ...],
    shape: tuple[int, ...],
    done: Any,
) -> NDArray[Any]:
    result = np.empty(shape, kind.numpy_dtype)
    ranges = _ranges(data)
    kept = [[slice(0, 1)] if axis in reduced else each for axis, each in enumerate(ranges)]
    inner = [each if axis in reduced else [None] for axis, each in enumerate(ranges)]
    for place in itertools.product(*kept):
        parts: list[Part] = []
        for along in itertools.product(*inner):
            block = tuple(
                own if own is not None else outer for own, outer in zip(along, place, strict=True)
            )
            elements = np.asarray(data[block])
            parts.append(start(op, elements, reduced))
            done(elements.nbytes)
            if len(parts) == _WAITING:
                parts = [join(op, parts)]
        result[place] = finish(join(op, parts), kind)
    return result


def _ranges(data: Any) -> list[list[slice]]:
    """The ranges of each axis, whose products are the blocks.

    An axis of size 0 has one empty range, so that reductions of nothing are made too.
    """
    return [
        [slice(first, min(first + step, size)) for first in range(0, size, step)] or [slice(0, 0)]
        for size, step in zip(data.shape, _steps(data), strict=True)
    ]


def _steps(data: Any) -> list[int]:
    """The shape of a block: whole chunks (shards where there are), the last axes first."""
    chunks = [max(1, size) for size in (getattr(data, "shards", None) or data.chunks)]
    steps = [min(chunk, max(1, size)) for chunk, size in zip(chunks, data.shape, strict=True)]
    room = _BLOCK_BYTES // max(1, math.prod(steps) * np.dtype(data.dtype).itemsize)
    for axis in reversed(range(len(steps))):
        count = -(-data.shape[axis] // chunks[axis])
        times = max(1, min(room, count))
        steps[axis] = times * chunks[axis]
        room //= times
    return steps
