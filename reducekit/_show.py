"""Short words for values, sizes and memory, as text and HTML show them.

Nothing here reads more than the few elements that are shown, so a memory map or
a broadcast array of any size costs the same. No word may be false: a rounded
value keeps its trailing zeros, and a negative zero its sign.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import ElementType

__all__ = [
    "bytes_text",
    "clip",
    "count_text",
    "edges",
    "layout_words",
    "memory_text",
    "occupied",
    "plane",
    "plane_text",
    "size_text",
    "value_text",
    "values_text",
    "visible",
]


def visible(text: str, limit: int = 60) -> str:
    r"""The text with what cannot be seen written as escapes, cut to ``limit`` characters.

    Control characters, line breaks, marks that turn the direction of writing and
    lone surrogates would break a line or garble a page.

    >>> visible("row\n")
    'row\\n'
    """
    text = text[: limit + 1]
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return clip(shown, limit)


def clip(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis, in at most ``limit`` characters.

    >>> clip("temperature", 8)
    'tempe...'
    """
    return text if len(text) <= limit else text[: limit - 3] + "..."


def bytes_text(count: int) -> str:
    """A number of bytes in binary units.

    >>> bytes_text(48), bytes_text(3 * 2**20)
    ('48 B', '3 MiB')
    """
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 8)
    unit = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")[power]
    scaled = count / 1024**power
    return f"{scaled:.3g} {unit}" if scaled < 1000 else f"{scaled:.0f} {unit}"


def count_text(count: int, noun: str) -> str:
    """A count with its noun, in full up to 15 digits.

    >>> count_text(1, "element"), count_text(12345, "element"), count_text(2**400, "element")
    ('1 element', '12,345 elements', 'about 2.58e120 elements')
    """
    digits = str(count)
    number = f"{count:,}"
    if len(digits) > 15:
        number = f"about {digits[0]}.{digits[1:3]}e{len(digits) - 1}"
    return f"{number} {noun}" if count == 1 else f"{number} {noun}s"


def size_text(size: int) -> str:
    """The size of an axis, in full up to 12 digits.

    >>> size_text(1024), size_text(2**62)
    ('1,024', '2^62')
    """
    if size < 10**12:
        return f"{size:,}"
    if size.bit_count() == 1:
        return f"2^{size.bit_length() - 1}"
    digits = str(size)
    return f"{digits[0]}.{digits[1:3]}..e{len(digits) - 1}"


def occupied(array: NDArray[Any]) -> int:
    """The bytes from the first to the last element: few for a broadcast array.

    >>> occupied(np.broadcast_to(np.float32(1), (10**6, 10**6)))
    4
    """
    if array.size == 0:
        return 0
    low, high = np.lib.array_utils.byte_bounds(array)
    return min(int(high) - int(low), array.size * array.itemsize)


def memory_text(array: NDArray[Any]) -> str:
    """The memory of the elements, and what a plain copy would take where that is more."""
    held, copied = occupied(array), array.size * array.itemsize
    if held < copied:
        return f"{bytes_text(held)} ({bytes_text(copied)} as a copy)"
    return bytes_text(held)


def layout_words(array: NDArray[Any]) -> tuple[str, ...]:
    """How the elements lie in memory, where it is worth a word."""
    words = []
    if array.ndim and array.size:
        if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
            words.append("broadcast")
        elif array.flags.c_contiguous:
            words.append("C order")
        elif array.flags.f_contiguous:
            words.append("Fortran order")
        else:
            words.append("strided")
    if not array.dtype.isnative:
        words.append("byte-swapped")
    if not array.flags.aligned:
        words.append("unaligned")
    if not array.flags.writeable:
        words.append("read-only")
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if isinstance(owner, np.memmap):
            words.append("memory-mapped")
            break
        owner = owner.base
    return tuple(words)


def edges(size: int, head: int, tail: int) -> list[int | None]:
    """The positions to show along an axis, with None where some are left out.

    >>> edges(4, 2, 1), edges(9, 2, 1)
    ([0, 1, 2, 3], [0, 1, None, 8])
    """
    if size <= head + tail + 1:
        return list(range(size))
    return [*range(head), None, *range(size - tail, size)]


def plane(array: NDArray[Any]) -> NDArray[Any]:
    """The first plane of the last two axes, of rank 2, without a copy."""
    if array.ndim < 2:
        return array.reshape(1, -1) if array.ndim else array.reshape(1, 1)
    first: NDArray[Any] = array[(0,) * (array.ndim - 2)]
    return first


def plane_text(ndim: int) -> str:
    """The index of the first plane, as in ``[0, :, :]``."""
    zeros = ["0"] * (ndim - 2)
    if len(zeros) > 6:
        zeros = [*zeros[:3], "...", zeros[-1]]
    return f"[{', '.join([*zeros, ':', ':'])}]"


def value_text(value: Any, kind: ElementType) -> tuple[str, str]:
    """A value as text, and the word for what is odd about it.

    Returns
    -------
    tuple of str
        The text, and ``"nan"``, ``"inf"``, ``"zero"`` for a negative zero,
        ``"rounded"`` where the text has fewer digits than the value, or ``""``.

    >>> from reducekit.dtypes import by_name
    >>> value_text(np.float32(-0.0), by_name("float32"))
    ('-0.0', 'zero')
    >>> value_text(np.float64(0.1) + np.float64(0.2), by_name("float64"))
    ('0.300000', 'rounded')
    """
    if kind.kind != "float":
        return str(value), ""
    number = float(value)
    if math.isnan(number):
        return "NaN", "nan"
    if math.isinf(number):
        return ("inf" if number > 0 else "-inf"), "inf"
    if number == 0:
        return ("-0.0", "zero") if math.copysign(1.0, number) < 0 else ("0.0", "")
    # The shortest text that NumPy finds may be another number: 6.55e+04 for 65504.
    if number.is_integer() and abs(number) < 1e9:
        return f"{int(number)}.0", ""
    text = str(value)
    return (text, "") if len(text) <= 10 else (format(number, "#.6g"), "rounded")


def values_text(array: NDArray[Any], limit: int = 60) -> str:
    """The values as NumPy prints them: all, or the edges of the first plane."""
    if array.size == 0:
        return "[]"
    if array.size <= limit and array.ndim <= 4:
        return np.array2string(array, threshold=limit, separator=" ")
    where = f"{plane_text(array.ndim)} is\n" if array.ndim > 2 else ""
    shown: NDArray[Any] = array if array.ndim == 1 else plane(array)
    return where + np.array2string(shown, threshold=0, edgeitems=3, separator=" ")
