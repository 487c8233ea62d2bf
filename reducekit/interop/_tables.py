"""What is refused of tables, whoever made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

from .. import _refusals
from ..errors import ArgumentError, DTypeError, ReduceError

__all__ = ["FILL", "mixed_columns", "no_columns", "read"]

FILL = "fill or drop first, as with "


def read(who: str, data: Any, reader: Callable[[str, Any], NDArray[Any]]) -> NDArray[Any]:
    """What the reader gives; an error of the data's own package becomes a TypeError."""
    try:
        return reader(who, data)
    except ReduceError:
        raise
    except Exception as error:
        raise _refusals.not_an_array(who, data, error) from error


def no_columns(who: str, kind: str) -> ArgumentError:
    """The error for a table without columns, which its package calls ``kind``."""
    return ArgumentError(
        f"{who}: the {kind} has no columns, and so no element type to reduce; select columns first"
    )


def mixed_columns(who: str, kind: str, names: Iterable[str]) -> DTypeError:
    """The error for columns of the types of these names."""
    return DTypeError(
        f"{who}: the columns of the {kind} are of different element types "
        f"({', '.join(sorted(set(names)))}); select columns of one type, or cast them"
    )
