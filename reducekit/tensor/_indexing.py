"""What an index leaves of the names of axes, by NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["names_after"]


def names_after(dims: tuple[str | None, ...], items: tuple[Any, ...]) -> tuple[str | None, ...]:
    """The names of the axes of ``array[items]``, which NumPy has accepted already.

    One pass follows NumPy's own: each item consumes axes and yields axes. Items
    that are arrays, and integers beside them, yield one common block, which
    stands where they stand if they are neighbours and first otherwise.
    """
    used = sum(_consumes(item) for item in items)
    names: list[str | None] = []
    arrays: list[tuple[str | None, tuple[int, ...]]] = []
    has_arrays = any(_is_array_index(item) for item in items)
    block_at = -1
    neighbours = True
    just_before = False
    axis = 0
    for item in items:
        joins = has_arrays and (_is_array_index(item) or _is_integer(item))
        if joins:
            if block_at < 0:
                block_at = len(names)
            elif not just_before:
                neighbours = False
        just_before = joins
        if item is None:
            names.append(None)
        elif item is Ellipsis:
            count = len(dims) - used
            names += dims[axis : axis + count]
            axis += count
        elif isinstance(item, slice):
            names.append(dims[axis])
            axis += 1
        elif _is_array_index(item):
            arrays += _index_arrays(item, dims, axis)
            axis += _consumes(item)
        else:  # an integer drops its axis
            axis += 1
    names += dims[axis:]
    if not has_arrays:
        return tuple(names)
    at = block_at if neighbours else 0
    return (*names[:at], *_block_names(arrays), *names[at:])


def _is_array_index(item: Any) -> bool:
    """Whether NumPy treats the item as an index array: bool scalars are, integers of rank 0 not."""
    if isinstance(item, (bool, np.bool_)):
        return True
    return isinstance(item, np.ndarray) and (item.ndim > 0 or item.dtype == np.bool_)


def _is_integer(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return False
    return not _is_array_index(item)


def _consumes(item: Any) -> int:
    """How many axes an item stands for."""
    if item is None or item is Ellipsis:
        return 0
    if _is_array_index(item) and np.asarray(item).dtype == np.bool_:
        return np.ndim(item)
    return 1


def _index_arrays(
    item: Any, dims: tuple[str | None, ...], axis: int
) -> list[tuple[str | None, tuple[int, ...]]]:
    """The name and the shape of each integer array that an index array stands for."""
    array = np.asarray(item)
    if array.dtype != np.bool_:
        return [(dims[axis], array.shape)]
    count = 2 if array.ndim > 1 else 1
    # The lengths do not matter to the names, so the mask need not be counted.
    return [(dims[axis + i], (count,)) for i in range(array.ndim)]


def _block_names(arrays: list[tuple[str | None, tuple[int, ...]]]) -> list[str | None]:
    """The names of the block that index arrays make together.

    A name survives where its array alone runs along one axis of the block: for a
    single array of rank 1, and for the open mesh that ``np.ix_`` makes.
    """
    if not arrays:  # bool scalars alone bring an axis that no axis was before
        return [None]
    rank = max(len(shape) for _, shape in arrays)
    if rank != len(arrays):
        return [None] * rank
    for i, (_, shape) in enumerate(arrays):
        padded = (1,) * (rank - len(shape)) + shape
        if any(n != 1 for j, n in enumerate(padded) if j != i):
            return [None] * rank
    return [name for name, _ in arrays]
