"""The table of what is measured: operators, element types, and shapes in memory.

A cell is one operator on one element type and one case; a case is a shape, the
axes to reduce, how the array lies in memory and what stands in it. Names are
made from the data, so that a name cannot say one thing and the cell do another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import schema
from ..dtypes import ELEMENT_TYPES, ElementType
from ..errors import ArgumentError

__all__ = ["CASES", "LAYOUTS", "Case", "Cell", "cells", "make", "matches", "size_class", "some"]

# What a processor reads at once, whatever part of it is asked for.
LINE = 64
TINY = 4096
# Where a machine does not tell the size of its last cache.
ASSUMED_CACHE = 32 << 20

_Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a view of some shape is cut out of plain memory of another."""

    memory: Callable[[_Shape], _Shape]
    view: Callable[[NDArray[Any], _Shape], NDArray[Any]]


LAYOUTS: dict[str, _Layout] = {
    "C": _Layout(lambda shape: shape, lambda m, _: m),
    "fortran": _Layout(lambda shape: shape[::-1], lambda m, _: m.T),
    # The first axis is innermost: (a, b, c) in the memory of (b, c, a).
    "permuted": _Layout(lambda shape: (*shape[1:], shape[0]), lambda m, _: np.moveaxis(m, -1, 0)),
    "strided": _Layout(lambda shape: (*shape[:-1], 2 * shape[-1]), lambda m, _: m[..., ::2]),
    "column": _Layout(lambda shape: (*shape, 10), lambda m, _: m[..., 3]),
    "reversed": _Layout(lambda shape: shape, lambda m, _: np.flip(m)),
    "broadcast": _Layout(lambda shape: (1, *shape[1:]), np.broadcast_to),
    "spread": _Layout(lambda shape: (*shape[:-1], 1), np.broadcast_to),
}
"""By name: plain, transposed, axes moved, every second element, one column of ten,
backwards, one row repeated, each element repeated."""


@dataclass(frozen=True, slots=True)
class Case:
    """One problem, but for the operator and the element type.

    Attributes
    ----------
    shape, axes : tuple of int
        What is reduced, and over what.
    layout : str
        A name of :data:`LAYOUTS`.
    values : str
        ``"ordinary"``; ``"nan"``, one NaN in the middle (floats only); or
        ``"decided"``, where the first element decides the result (bool only).
    quick : bool
        Whether it is part of a quick run.
    shown : bool
        Whether it is a row of the README's table.
    """

    shape: _Shape
    axes: _Shape
    layout: str = "C"
    values: str = "ordinary"
    quick: bool = False
    shown: bool = False

    @property
    def name(self) -> str:
        """The shape, the axes and what is not plain, as in ``1e6x3 over 1 fortran``.

        >>> Case((1_000_000, 3), (1,), "fortran").name
        '1e6x3 over 1 fortran'
        """
        all_axes = len(self.axes) == len(self.shape)
        words = ["x".join(map(_size, self.shape)), "over"]
        words.append("all" if all_axes else ",".join(map(str, self.axes)))
        words += [self.layout] * (self.layout != "C") + [self.values] * (self.values != "ordinary")
        return " ".join(words)

    @property
    def elements(self) -> int:
        """How many elements the reduction sees.

        >>> Case((2, 3, 2), (0, 1)).elements
        12
        """
        return math.prod(self.shape)

    def takes(self, element: ElementType) -> bool:
        """Whether elements of this type can have such values."""
        kind = {"nan": "float", "decided": "bool"}.get(self.values)
        return kind is None or kind == element.kind

    def memory(self, element: ElementType) -> int:
        """The bytes that must be read: whole lines of memory, each once."""
        base = math.prod(LAYOUTS[self.layout].memory(self.shape)) * element.itemsize
        return min(base, self.elements * max(LINE, element.itemsize))


@dataclass(frozen=True, slots=True)
class Cell:
    """One operator on one element type and one case."""

    op: schema.Operator
    element: ElementType
    case: Case

    @property
    def name(self) -> str:
        """The operator, the element type and the case: ``max float32 1e7 over all``."""
        return f"{self.op.short} {self.element.name} {self.case.name}"

    @property
    def strict(self) -> bool:
        """Whether an ONNX operator takes this type at the newest opset."""
        return schema.resolve(self.op.name).allows(self.element.name)


def _size(size: int) -> str:
    """A size; powers of ten from 1e4 up are written as such.

    >>> [_size(size) for size in (10, 1000, 1_000_000, 50_257)]
    ['10', '1000', '1e6', '50257']
    """
    zeros = len(str(size)) - 1
    return f"1e{zeros}" if zeros >= 4 and size == 10**zeros else str(size)


CASES: tuple[Case, ...] = (
    # Calls whose cost is that of a call.
    Case((10,), (0,), quick=True, shown=True),
    Case((2, 3, 2), (0, 1), quick=True),
    Case((100,), (0,)),
    Case((16, 16), (1,)),
    Case((1000,), (0,), quick=True),
    # One run, from cache to memory.
    Case((10_000,), (0,)),
    Case((100_000,), (0,), quick=True, shown=True),
    Case((1_000_000,), (0,), shown=True),
    Case((10_000_000,), (0,), quick=True, shown=True),
    Case((100_000_000,), (0,)),
    # Matrices.
    Case((1000, 1000), (0,), quick=True, shown=True),
    Case((1000, 1000), (1,), quick=True, shown=True),
    Case((1000, 1000), (0,), "fortran"),
    Case((1000, 1000), (1,), "fortran", quick=True, shown=True),
    Case((10_000, 1000), (0,)),
    Case((10_000, 1000), (1,)),
    Case((10_000, 10_000), (0,)),
    Case((10_000, 10_000), (1,)),
    Case((64, 50_257), (1,)),
    # Tables, in rows as NumPy holds them and in columns as pandas and polars do.
    Case((1_000_000, 3), (0,), quick=True, shown=True),
    Case((1_000_000, 3), (1,), quick=True, shown=True),
    Case((1_000_000, 3), (0,), "fortran"),
    Case((1_000_000, 3), (1,), "fortran", quick=True),
    Case((1_000_000, 10), (0,), shown=True),
    Case((1_000_000, 10), (1,), shown=True),
    Case((1_000_000, 10), (0,), "fortran"),
    Case((1_000_000, 10), (1,), "fortran"),
    Case((3, 1_000_000), (0,)),
    Case((100_000, 10), (1,)),
    Case((10_000_000, 3), (0,)),
    Case((10_000_000, 3), (1,)),
    Case((1_000_000,), (0,), "column"),
    # Images in batches: global pooling and batch statistics, channels first and last.
    Case((8, 64, 56, 56), (2, 3), quick=True, shown=True),
    Case((8, 64, 56, 56), (0, 2, 3), shown=True),
    Case((8, 56, 56, 64), (1, 2)),
    Case((8, 56, 56, 64), (0, 1, 2), quick=True, shown=True),
    # More axes, short and long.
    Case((64, 128, 256), (0, 2)),
    Case((64, 128, 256), (1,)),
    Case((64, 128, 256), (1,), "permuted", quick=True, shown=True),
    Case((64, 128, 256), (0, 2), "permuted"),
    Case((8, 8, 8, 8, 8, 8), (1, 3, 5)),
    Case((12, 512, 512), (2,)),
    # Views.
    Case((1_000_000,), (0,), "strided"),
    Case((1000, 1000), (0,), "strided"),
    Case((1000, 1000), (1,), "strided", quick=True, shown=True),
    Case((1_000_000,), (0,), "reversed"),
    Case((1000, 1000), (0,), "reversed"),
    Case((1000, 1000), (1,), "reversed"),
    Case((1000, 1000), (0,), "broadcast"),
    Case((1000, 1000), (1,), "broadcast"),
    Case((1000, 1000), (1,), "spread"),
    # Values on which a loop may end early, or must not slow down.
    Case((1_000_000,), (0,), values="nan"),
    Case((1_000_000,), (0,), values="decided"),
    Case((1000, 1000), (0,), values="decided"),
)
"""What is measured, small and plain cases first."""

QUICK_OPERATORS = ("max", "sum")


def cells(*, quick: bool = False, only: Sequence[str] = ()) -> Iterator[Cell]:
    """The cells of a run, those of the same data in a row.

    Parameters
    ----------
    quick : bool, default False
        Take the cases that are marked for it, and not the minimum, which is the
        mirror image of the maximum.
    only : sequence of str, optional
        Keep the cells whose name has every word of one of these texts. ``*`` in a
        word stands for anything.

    Yields
    ------
    Cell

    Examples
    --------
    >>> [cell.name for cell in cells(only=["max *float16 1e7 all"])]
    ['max float16 1e7 over all', 'max bfloat16 1e7 over all']
    """
    for case in CASES:
        if quick and not case.quick:
            continue
        for element in ELEMENT_TYPES:
            if not case.takes(element):
                continue
            for op in schema.OPERATORS:
                if quick and op.short not in QUICK_OPERATORS:
                    continue
                if element.name in op.never:
                    continue
                cell = Cell(op, element, case)
                if not only or any(matches(cell.name, text) for text in only):
                    yield cell


def matches(name: str, text: str) -> bool:
    """Whether the name of a cell has every word of a text.

    >>> matches("max uint8 1e7 over all", "*8 1e7"), matches("max uint8 1e7 over all", "int8")
    (True, False)
    """
    words = name.split()
    return all(any(fnmatchcase(word, wanted) for word in words) for wanted in text.split())


def some(chosen: Iterable[Cell], only: Sequence[str]) -> list[Cell]:
    """The cells as a list.

    Raises
    ------
    ArgumentError
        If there is none.
    """
    found = list(chosen)
    if not found:
        raise ArgumentError(
            f"bench: no cell of this run has the words {' or '.join(map(repr, only))}; a cell is "
            "named like 'max float32 1e6x3 over 1 fortran', and * stands for anything"
        )
    return found


def make(cell: Cell) -> NDArray[Any]:
    """The array of a cell; the same at every call.

    Floats are normal numbers, integers are 0 to 99, which is what lets one compare
    libraries that gather sums in different types. bool is all False for the maximum
    and all True for the minimum, so that every element must be seen.
    """
    case, element = cell.case, cell.element
    layout = LAYOUTS[case.layout]
    shape = layout.memory(case.shape)
    data = np.empty(math.prod(shape), dtype=element.numpy_dtype)
    if element.kind == "bool":
        data[:] = cell.op.short == "min"
        if case.values == "decided":
            data[0] = not data[0]
    else:
        block = _block(element, min(len(data), 1_000_003))
        # A block over and over: to draw 1e8 numbers would take longer than to reduce them.
        for start in range(0, len(data), len(block)):
            data[start : start + len(block)] = block[: len(data) - start]
        if case.values == "nan":
            data[len(data) // 2] = np.nan
    return layout.view(data.reshape(shape), case.shape)


def _block(element: ElementType, size: int) -> NDArray[Any]:
    rng = np.random.default_rng(0)
    if element.kind == "float":
        return rng.standard_normal(size, dtype=np.float32).astype(element.numpy_dtype)
    return rng.integers(0, 100, size).astype(element.numpy_dtype)


def size_class(memory: int, last_cache: int | None) -> str:
    """Where so many bytes live: ``"tiny"``, ``"cache"`` or ``"memory"``.

    >>> size_class(40, None), size_class(4_000_000, 32 << 20), size_class(80_000_000, 32 << 20)
    ('tiny', 'cache', 'memory')
    """
    if memory <= TINY:
        return "tiny"
    return "cache" if memory <= (last_cache or ASSUMED_CACHE) else "memory"
