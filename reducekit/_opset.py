"""The opset of a ``with`` block; apart from the rules, for a compiled generator is long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from . import schema
from ._rules import CURRENT, look_for_opsets


@contextmanager
def opset(version: int | Literal["latest"]) -> Iterator[int]:
    """Set the opset within a ``with`` block.

    The setting belongs to the current thread or asyncio task and to what it
    starts with a copied context; other threads and tasks do not see it.

    Parameters
    ----------
    version : int or "latest"
        From 1 to :data:`reducekit.schema.NEWEST_OPSET`.

    Raises
    ------
    OpsetError
        If the opset is unknown.

    Examples
    --------
    >>> import reducekit as rk
    >>> with rk.opset(11):
    ...     rk.reduce_max([1.0, 2.0], [-1])
    array([2.])
    """
    number = schema.check_opset("opset", version)
    look_for_opsets()
    token = CURRENT.set(number)
    try:
        yield number
    finally:
        CURRENT.reset(token)
