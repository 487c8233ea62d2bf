"""The errors of the package.

Each one also belongs to the built-in class that users of NumPy already catch:
a bad axis is a ``numpy.exceptions.AxisError``, a refused element type is a
``TypeError``, a bad opset or value is a ``ValueError``. The texts are written
in :mod:`reducekit._refusals`, next to the rules that they quote.
"""

from typing import Any

from numpy.exceptions import AxisError

__all__ = ["ArgumentError", "AxesError", "DTypeError", "OpsetError", "ReduceError"]


class ReduceError(Exception):
    """Base of all errors that the package raises on purpose.

    Examples
    --------
    >>> import reducekit as rk
    >>> try:
    ...     rk.reduce_max([1, 5], axes=3)
    ... except rk.ReduceError as error:
    ...     print(error)
    reduce_max: axis 3 is out of range for a tensor of rank 1; use -1 to 0
    """

    # Users meet these names as reducekit.X; a traceback should say the same.
    __module__ = "reducekit"


class ArgumentError(ReduceError, ValueError):
    """An argument has the right type but a value that no rule allows."""

    __module__ = "reducekit"


class OpsetError(ReduceError, ValueError):
    """The opset is unknown, or the operator at that opset lacks the argument."""

    __module__ = "reducekit"


class DTypeError(ReduceError, TypeError):
    """The operator at that opset does not take this element type."""

    __module__ = "reducekit"


class AxesError(ReduceError, AxisError):
    """An axis is out of range, given twice, or negative where that is not defined."""

    __module__ = "reducekit"


def short(value: Any) -> str:
    """A value for a text: its repr, cut where it is long."""
    try:
        text = repr(value)
    # The caller's own repr may raise anything; an int beyond Python's limit of digits does.
    except Exception:  # noqa: BLE001
        return f"<{type(value).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."


def show_int(value: int) -> str:
    """An int for a text: in full, or by its size where Python refuses to write it."""
    if value.bit_length() <= 256:
        return str(value)
    return f"{'-' if value < 0 else ''}2**{value.bit_length() - 1} or beyond"
