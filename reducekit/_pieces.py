"""A reduction piece by piece, for data that should not be in memory all at once.

A piece is a range of the axis whose steps through memory are the longest, so that
pieces are read from a file one after another, each once. The engine by itself goes
through the data once for each few outputs, which is right in memory and wrong on disk.

The result has the bits of the call in one piece; that of a sum of float64 has those of
``exact=True``. Where the axis is kept, pieces have outputs of their own. Where it is
reduced, maxima, minima and wrapping integer sums of pieces are joined by the same
reduction, and sums of floats stay unrounded until all pieces are in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _engine, _rules, schema
from ._accumulator import partial_sums, round_sums
from .dtypes import element_type

__all__ = ["reduce_in_pieces"]

PIECE = 32 << 20
"""The bytes of a piece: far more than a call costs, far less than any memory."""


def reduce_in_pieces(
    op: schema.Operator,
    data: NDArray[Any],
    axes: Any,
    reading: Callable[[NDArray[Any]], AbstractContextManager[object]],
    *,
    keepdims: bool = True,
    noop_with_empty_axes: bool = False,
    opset: int | str | None = None,
    strict: bool = True,
) -> NDArray[Any]:
    """What the function of the operator gives for the same arguments.

    Parameters
    ----------
    op : reducekit.schema.Operator
        Which reduction.
    data : numpy.ndarray
        The data, which may be a mapping of a file.
    axes, keepdims, noop_with_empty_axes, opset, strict
        As for the function.
    reading : callable
        Makes, from a piece of the data, the context in which it is read.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ReduceError
        As the function raises it, before anything is read.
    """
    _, reduced, identity, keep = _rules.resolve_call(
        schema.OPERATORS.index(op), data.ndim, data.dtype, axes, keepdims,
        noop_with_empty_axes, opset, strict,
    )  # fmt: skip
    kind = element_type(data.dtype)
    assert kind is not None
    work = _Work(op, reduced, identity, kind.kind, reading)
    shape = tuple(1 if axis in reduced else size for axis, size in enumerate(data.shape))
    result = np.empty(shape, kind.numpy_dtype)
    work.fill(data, result)
    if keep or identity:
        return result
    return result.reshape([size for axis, size in enumerate(shape) if axis not in reduced])


class _Work:
    """One call, whose rules are checked; what it was given is known to be allowed."""

    def __init__(
        self,
        op: schema.Operator,
        reduced: tuple[int, ...],
        identity: bool,
        kind: str,
        reading: Callable[[NDArray[Any]], AbstractContextManager[object]],
    ) -> None:
        self._function = getattr(_engine, op.function)
        self._reduced = reduced
        self._identity = identity
        is_sum = op.short == "sum"
        self._options = {"exact": True} if is_sum else {}
        self._rounds = is_sum and kind == "float"
        self._reading = reading

    def fill(self, data: NDArray[Any], out: NDArray[Any]) -> None:
        """Reduce ``data`` into ``out``, which has its rank."""
        axis = _axis_to_cut(data)
        if axis is None:
            with self._reading(data):
                self._call(data, self._reduced, out)
        elif axis not in self._reduced:
            for piece, place in _pieces(data, axis):
                self.fill(piece, out[place])
        elif self._rounds:
            out[...] = round_sums(self._sums(data), out.dtype)
        else:
            pieces = _pieces(data, axis)
            self.fill(next(pieces)[0], out)
            for piece, _ in pieces:
                part = np.empty_like(out)
                self.fill(piece, part)
                self._call(np.stack([out, part]), (0,), out, keepdims=False)

    def _sums(self, data: NDArray[Any]) -> NDArray[np.float64]:
        """The sums as columns of doubles, whose exact sums are meant."""
        axis = _axis_to_cut(data)
        if axis is None:
            with self._reading(data):
                return partial_sums(data, self._reduced)
        parts = (self._sums(piece) for piece, _ in _pieces(data, axis))
        if axis in self._reduced:
            sums = next(parts)
            for part in parts:
                sums = partial_sums(np.concatenate([sums, part]), (0,))[:, 0]
            return sums
        columns = list(parts)
        length = max(map(len, columns))
        filled = [
            np.concatenate([part, np.full((length - len(part), *part.shape[1:]), -0.0)])
            for part in columns
        ]
        return np.concatenate(filled, axis=axis + 1)

    def _call(
        self,
        data: NDArray[Any],
        axes: tuple[int, ...],
        out: NDArray[Any],
        keepdims: bool = True,
    ) -> None:
        self._function(
            data, axes, keepdims=keepdims, noop_with_empty_axes=self._identity,
            opset=schema.NEWEST_OPSET, strict=False, out=out,
            progress=False, **self._options,
        )  # fmt: skip


def _pieces(data: NDArray[Any], axis: int) -> Iterator[tuple[NDArray[Any], tuple[slice, ...]]]:
    """Ranges of an axis, and where they lie."""
    size = data.shape[axis]
    count = max(1, PIECE * size // data.nbytes)
    for start in range(0, size, count):
        place = (slice(None),) * axis + (slice(start, start + count),)
        yield data[place], place


def _axis_to_cut(data: NDArray[Any]) -> int | None:
    """The axis that lies outermost in memory, or None if the data is one piece."""
    steps = {
        axis: abs(stride)
        for axis, (size, stride) in enumerate(zip(data.shape, data.strides, strict=True))
        if size > 1
    }
    if data.nbytes <= PIECE or not steps:
        return None
    return max(steps, key=steps.__getitem__)
