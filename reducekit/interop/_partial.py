"""Reductions of pieces that can be joined without loss, for whatever cuts the data.

Maxima, minima and wrapping sums of pieces are joined by the same reduction. A rounded sum
is not, so a float sum of a piece stays exact: as a column of doubles for each output.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _refusals, schema
from .._accumulator import partial_sums, round_sums
from .._inputs import as_array
from ..dtypes import ElementType

__all__ = ["Part", "PartialSum", "check_out", "finish", "join", "start"]


@dataclass(frozen=True, slots=True)
class PartialSum:
    """The exact sums of a piece.

    Attributes
    ----------
    columns : numpy.ndarray
        As :func:`reducekit._accumulator.partial_sums` gives them.
    terms : int
        How many elements went into each.
    """

    columns: NDArray[np.float64]
    terms: int

    @property
    def nbytes(self) -> int:
        """What dask counts as its size."""
        return self.columns.nbytes

    def __sizeof__(self) -> int:
        return self.columns.nbytes + sys.getsizeof(self.terms) + object.__sizeof__(self)


Part: TypeAlias = NDArray[Any] | PartialSum


def start(op: schema.Operator, piece: Any, axes: tuple[int, ...], alone: bool = False) -> Part:
    """The reduction of a piece; reduced axes keep size 1.

    A piece that is alone meets no other: its sum can be rounded at once.
    """
    array = as_array(op.function, piece)
    if op.short != "sum" or array.dtype.kind not in "fV":  # V: ml_dtypes.bfloat16
        return _call(op, array, axes)
    if alone:
        return _call(op, array, axes, exact=True)
    return PartialSum(partial_sums(array, axes), _count(array, axes))


def join(op: schema.Operator, parts: Sequence[Part]) -> Part:
    """The reduction of all pieces together."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, PartialSum):
        sums = [part for part in parts if isinstance(part, PartialSum)]
        columns = np.concatenate([part.columns for part in sums])
        if len(columns) > 2:
            columns = partial_sums(columns, (0,))[:, 0]
        return PartialSum(columns, sum(part.terms for part in sums))
    stacked: NDArray[Any] = np.stack(parts)  # type: ignore[arg-type]
    result: NDArray[Any] = _call(op, stacked, (0,))[0]
    return result


def finish(part: Part, kind: ElementType) -> NDArray[Any]:
    """The result, reduced axes with size 1."""
    if not isinstance(part, PartialSum):
        return part
    if part.terms == 0:
        return np.zeros(part.columns.shape[1:], kind.numpy_dtype)
    return round_sums(part.columns, kind.numpy_dtype)


def check_out(who: str, out: Any, shape: tuple[int, ...], kind: ElementType) -> None:
    """Refuse an output that the result does not fit, before anything is read."""
    if not isinstance(out, np.ndarray):
        raise _refusals.out_type(who, out)
    if out.shape != shape:
        raise _refusals.out_shape(who, out.shape, shape)
    if out.dtype != kind.numpy_dtype:
        raise _refusals.out_dtype(who, out.dtype, kind.numpy_dtype)
    if not out.flags.writeable:
        raise _refusals.out_readonly(who)


def _call(
    op: schema.Operator, array: NDArray[Any], axes: tuple[int, ...], **options: bool
) -> NDArray[Any]:
    # The rules were checked for the whole call; here anything goes. No axes would mean all.
    if not axes:
        return array.astype(array.dtype.newbyteorder("="))
    result: NDArray[Any] = getattr(_engine, op.function)(
        array, axes, strict=False, progress=False, **options
    )
    return result


def _count(array: NDArray[Any], axes: tuple[int, ...]) -> int:
    count = 1
    for axis in axes:
        count *= array.shape[axis]
    return count
