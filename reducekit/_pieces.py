"""A reduction piece by piece, for data that should not be in memory all at once.

A piece is a range of the axis whose steps through memory are the longest, so that
pieces are read from a file one after another, each once. The engine by itself goes
through the data once for each few outputs, which is right in memory and wrong on disk.

The result has the bits of the call in one piece. Where the axis is kept, pieces have
outputs of their own. Where it is reduced, maxima, minima and wrapping integer sums of
pieces are joined by the same reduction. Rounded sums of pieces cannot be joined so, and
sums of floats over that axis stay in one piece.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _engine, _rules, schema
from .dtypes import element_type

__all__ = ["reduce_in_pieces"]

PIECE = 32 << 20
"""The bytes of a piece: far more than a call costs, far less than any memory."""


def reduce_in_pieces(
    op: schema.Operator,
    data: NDArray[Any],
    axes: Any,
    done: Callable[[int], object],
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
    done : callable
        Called with the number of bytes after each piece.

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
    work = _Work(op, reduced, identity, kind.kind, done)
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
        done: Callable[[int], object],
    ) -> None:
        self._function = getattr(_engine, op.function)
        self._reduced = reduced
        self._identity = identity
        self._joins = kind != "float" or op.versions[-1].empty != "zero"
        self._done = done

    def fill(self, data: NDArray[Any], out: NDArray[Any]) -> None:
        """Reduce ``data`` into ``out``, which has its rank."""
        axis = _longest_step(data)
        if data.nbytes <= PIECE or axis is None or (axis in self._reduced and not self._joins):
            self._call(data, out)
            self._done(data.nbytes)
            return
        size = data.shape[axis]
        count = max(1, PIECE * size // data.nbytes)
        for start in range(0, size, count):
            place: list[slice] = [slice(None)] * data.ndim
            place[axis] = slice(start, start + count)
            piece = data[tuple(place)]
            if axis not in self._reduced:
                self.fill(piece, out[tuple(place)])
            elif start == 0:
                self.fill(piece, out)
            else:
                part = np.empty_like(out)
                self.fill(piece, part)
                self._join(out, part)

    def _call(self, data: NDArray[Any], out: NDArray[Any]) -> None:
        self._function(
            data, self._reduced, noop_with_empty_axes=self._identity,
            opset=schema.NEWEST_OPSET, strict=False, out=out,
        )  # fmt: skip

    def _join(self, out: NDArray[Any], part: NDArray[Any]) -> None:
        self._function(
            np.stack([out, part]), 0, keepdims=False,
            opset=schema.NEWEST_OPSET, strict=False, out=out,
        )  # fmt: skip


def _longest_step(data: NDArray[Any]) -> int | None:
    """The axis of more than one element that lies outermost in memory."""
    steps = {
        axis: abs(stride)
        for axis, (size, stride) in enumerate(zip(data.shape, data.strides, strict=True))
        if size > 1
    }
    return max(steps, key=steps.__getitem__) if data.size and steps else None
