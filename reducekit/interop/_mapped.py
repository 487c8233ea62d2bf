"""A bar for reductions of large memory maps, whose reading may take long.

The functions come here when they are given a ``numpy.memmap``. One that is large, where
somebody can see a bar, goes piece by piece; all others go the way of any array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _inputs, _refusals, _rules, schema
from .._pieces import reduce_in_pieces
from ..dtypes import element_type
from ._partial import check_out
from ._progress import is_seen, progress_bar

__all__ = ["LARGE", "deferred"]

LARGE = 1 << 30
"""The bytes from which on a bar may be worth while."""


def deferred(data: Any) -> tuple[Any, Callable[..., Any]] | None:
    """The map and what reduces it in pieces; None for what is reduced as any array."""
    if data.nbytes <= LARGE or element_type(data.dtype) is None or not is_seen():
        return None
    return np.asarray(data), _reduce


def _reduce(
    op: int,
    data: NDArray[Any],
    axes: Any,
    keepdims: Any,
    noop_with_empty_axes: Any,
    opset: Any,
    strict: Any,
    out: Any,
    exact: Any,
) -> NDArray[Any]:
    operator = schema.OPERATORS[op]
    who = operator.function
    exact = _refusals.read_flag(who, "exact", exact)
    kind = element_type(data.dtype)
    assert kind is not None
    rules = {
        "keepdims": keepdims, "noop_with_empty_axes": noop_with_empty_axes, "opset": opset,
        "strict": strict,
    }  # fmt: skip
    if operator.short == "sum" and kind.name == "float64" and not exact:
        # Pieces are joined exactly, which can give other bits than the call has by default.
        result: NDArray[Any] = _engine.reduce_sum(data, axes, out=out, **rules)
        return result
    if out is not None:
        _, reduced, identity, keep = _rules.resolve_call(
            op, data.ndim, data.dtype, axes, keepdims, noop_with_empty_axes, opset, strict
        )
        shape = tuple(
            1 if axis in reduced else size
            for axis, size in enumerate(data.shape)
            if keep or identity or axis not in reduced
        )
        check_out(who, out, shape, kind)
    with progress_bar(data.nbytes, wanted=True) as done:

        @contextmanager
        def reading(piece: NDArray[Any]) -> Iterator[None]:
            yield
            done(piece.nbytes)

        result = reduce_in_pieces(operator, data, axes, reading, **rules)
    if out is None:
        return result
    _inputs.copy_into(out, result)
    written: NDArray[Any] = out
    return written
