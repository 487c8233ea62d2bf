"""Names of axes: what is a valid set, and which position a name means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .errors import ArgumentError, AxesError

__all__ = ["Dims", "check_dims", "listed", "position", "to_positions"]

Dims = tuple[str | None, ...] | None
"""One name for each axis, None where the axis has no name; None where no axis has one."""


def check_dims(who: str, dims: Any, ndim: int) -> Dims:
    """The names as a tuple, or an error.

    Parameters
    ----------
    who : str
        The caller, for errors.
    dims : str, iterable of (str or None), or None
        One name for each axis. A str is the one name of a tensor of rank 1.
    ndim : int
        The rank that the names must fit.

    Raises
    ------
    TypeError
        If a name is neither a str nor None, or ``dims`` has no order.
    ArgumentError
        If there are too many or too few names, or one is empty or given twice.

    Examples
    --------
    >>> check_dims("Tensor", ["row", "column"], 2)
    ('row', 'column')
    """
    if dims is None:
        return None
    if isinstance(dims, str):
        dims = (dims,)
    if isinstance(dims, (Mapping, set, frozenset, bytes, bytearray)) or not isinstance(
        dims, Iterable
    ):
        raise TypeError(
            f"{who}: dims={_short(dims)} has type {type(dims).__name__}; "
            "use a sequence with one name for each axis, such as ('row', 'column')"
        )
    names = tuple(dims)
    for axis, name in enumerate(names):
        if name is not None and not isinstance(name, str):
            raise TypeError(
                f"{who}: the name of axis {axis}, {_short(name)}, has type {type(name).__name__}; "
                "a name is a str, or None for an axis without a name"
            )
        if name == "":
            raise ArgumentError(
                f"{who}: the name of axis {axis} is empty; use None for an axis without a name"
            )
    # str subclasses (NumPy's, enums) become plain, so that pickles and reprs stay plain.
    names = tuple(None if name is None else str.__str__(name) for name in names)
    if len(names) != ndim:
        given = "1 name" if len(names) == 1 else f"{len(names)} names"
        raise ArgumentError(
            f"{who}: dims={_short(names)} has {given} for a tensor of rank {ndim}; "
            "give one for each axis"
        )
    for axis, name in enumerate(names):
        if name is not None and name in names[:axis]:
            raise ArgumentError(
                f"{who}: the name {_short(name)} is given to axes {names.index(name)} and {axis}; "
                "names must differ"
            )
    return names


def position(who: str, name: str, dims: Dims) -> int:
    """The axis with this name.

    Raises
    ------
    AxesError
        If there is none; the error lists the names that there are.

    >>> position("reduce_max", "column", ("row", "column"))
    1
    """
    if dims is not None and name in dims:
        return dims.index(name)
    named = [other for other in dims or () if other is not None]
    if not named:
        raise AxesError(
            f"{who}: there is no axis {_short(name)}, as no axis has a name; "
            "use positions, or name the axes with dims="
        )
    raise AxesError(
        f"{who}: there is no axis {_short(name)}{_suggestion(name, named)}; use {listed(named)}"
    )


def to_positions(who: str, axes: Any, dims: Dims) -> Any:
    """The axes with names replaced by positions; everything else is left as it is.

    Whether what is left makes valid axes is for the rules of the call to say.

    >>> to_positions("reduce_max", ["row", 1], ("row", "column"))
    (0, 1)
    """
    if axes is None or isinstance(axes, int):
        return axes
    if isinstance(axes, str):
        return position(who, axes, dims)
    if isinstance(axes, np.ndarray):
        if axes.dtype.kind not in "UT":
            return axes
        axes = axes.tolist()
        if isinstance(axes, str):
            return position(who, axes, dims)
    if isinstance(axes, (Mapping, bytes, bytearray)) or not isinstance(axes, Iterable):
        return axes
    if hasattr(axes, "dtype"):  # an array of another kind
        return axes
    return tuple(position(who, axis, dims) if isinstance(axis, str) else axis for axis in axes)


def listed(names: Iterable[str]) -> str:
    """The names for a sentence: 'a', 'b' or 'c'.

    >>> listed(["row", "column", "depth"])
    "'row', 'column' or 'depth'"
    """
    texts = [_short(name) for name in names]
    if len(texts) > 12:
        texts = [*texts[:10], f"{len(texts) - 10} others"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def _suggestion(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    folded = {other.casefold(): other for other in names}
    found = get_close_matches(name.casefold()[:100], folded, n=1)
    return f" (did you mean {_short(folded[found[0]])}?)" if found else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
