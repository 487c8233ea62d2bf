"""What an index leaves of the names of axes, by NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_array_index", "names_after", "place_of_arrays"]


def names_after(dims: tuple[str | None, ...], items: tuple[Any, ...]) -> tuple[str | None, ...]:
    """The names of the axes of ``array[items]``, which NumPy has accepted already.

    One pass follows NumPy's own: each item consumes axes and yields axes. Items
    that are arrays, of dask too, and integers beside them, yield one common block,
    which stands where they stand if they are neighbours and first otherwise.
    """
    used = sum(_consumes(item) for item in items)
    names: list[str | None] = []
    arrays: list[tuple[str | None, tuple[int, ...]]] = []
    axis = 0
    for item in items:
        if item is None:
            names.append(None)
        elif item is Ellipsis:
            count = len(dims) - used
            names += dims[axis : axis + count]
            axis += count
        elif isinstance(item, slice):
            names.append(dims[axis])
            axis += 1
        elif is_array_index(item):
            arrays += _index_arrays(item, dims, axis)
            axis += _consumes(item)
        else:  # an integer drops its axis
            axis += 1
    names += dims[axis:]
    at = place_of_arrays(len(dims), items)
    if at is None:
        return tuple(names)
    return (*names[:at], *_block_names(arrays), *names[at:])


def place_of_arrays(rank: int, items: tuple[Any, ...]) -> int | None:
    """How many axes stand before the block that index arrays make; None where there are none."""
    if not any(map(is_array_index, items)):
        return None
    used = sum(_consumes(item) for item in items)
    before = 0
    at = -1
    just_before = False
    for item in items:
        joins = is_array_index(item) or _is_integer(item)
        if joins and at < 0:
            at = before
        elif joins and not just_before:
            return 0
        just_before = joins
        if not joins:
            before += rank - used if item is Ellipsis else 1
    return at


def is_array_index(item: Any) -> bool:
    """Whether NumPy treats the item as an index array: bool scalars are, integers of rank 0 not."""
    if isinstance(item, (bool, np.bool_)):
        return True
    # Of NumPy or of dask, whose arrays must not be computed to be asked.
    return getattr(item, "ndim", 0) > 0 or getattr(item, "dtype", None) == np.bool_


def _is_integer(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return False
    return not is_array_index(item)


def _consumes(item: Any) -> int:
    """How many axes an item stands for."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, bool) or getattr(item, "dtype", None) == np.bool_:
        return np.ndim(item)
    return 1


def _index_arrays(
    item: Any, dims: tuple[str | None, ...], axis: int
) -> list[tuple[str | None, tuple[int, ...]]]:
    """The name and the shape of each integer array that an index array stands for."""
    rank = np.ndim(item)
    if rank and item.dtype != np.bool_:
        return [(dims[axis], item.shape)]
    count = 2 if rank > 1 else 1
    # The lengths do not matter to the names, so the mask need not be counted.
    return [(dims[axis + i], (count,)) for i in range(rank)]


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
