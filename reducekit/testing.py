"""Equality for tests: the same shape, the same type, the same bits."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _show
from ._inputs import as_array
from .dtypes import ElementType, element_type
from .errors import ArgumentError
from .tensor import Tensor

__all__ = ["assert_equal"]


def assert_equal(actual: Any, desired: Any, *, ulps: int = 0) -> None:
    """Assert that two arrays or tensors are the same: shape, element type and bits.

    Any NaN equals any other NaN. Zeros of different signs differ, and so do an
    infinity and a finite number, whatever ``ulps`` is. If both are tensors, the
    names of their axes must be the same too.

    Parameters
    ----------
    actual, desired : array_like or Tensor
        The result and what it should be. Lists and numbers have the element type
        that NumPy gives them, which must match too.
    ulps : int, default 0
        How many units in the last place two floats may be apart.

    Raises
    ------
    AssertionError
        If they differ; the text shows the first element that does, and the worst.
    ArgumentError, TypeError
        If ``ulps`` is not an int from 0 up, or an input cannot be read as an array.

    Examples
    --------
    >>> import numpy as np
    >>> from reducekit.testing import assert_equal
    >>> assert_equal(np.float32([1, np.nan]), np.float32([1, np.nan]))
    >>> assert_equal(np.float32([0.0, 1.0]), np.float32([0.0, 1.0000001]))
    Traceback (most recent call last):
        ...
    AssertionError: 1 of 2 elements differs
    first at [1]: actual 1.0 (0x3f800000), desired 1.0000001 (0x3f800001), 1 ulp apart
    >>> assert_equal(np.float32([0.0, 1.0]), np.float32([0.0, 1.0000001]), ulps=1)
    """
    __tracebackhide__ = True
    who = "assert_equal"
    if isinstance(ulps, (bool, np.bool_)) or not hasattr(ulps, "__index__"):
        raise TypeError(f"{who}: ulps={ulps!r} has type {type(ulps).__name__}; use an int")
    allowed = operator.index(ulps)
    if allowed < 0:
        raise ArgumentError(f"{who}: ulps={allowed} is negative; use 0 for the same bits")

    got = actual.numpy() if isinstance(actual, Tensor) else as_array(who, actual)
    want = desired.numpy() if isinstance(desired, Tensor) else as_array(who, desired)
    if isinstance(actual, Tensor) and isinstance(desired, Tensor) and actual.dims != desired.dims:
        raise AssertionError(
            f"the names of the axes differ: actual {actual.dims}, desired {desired.dims}"
        )
    if got.shape != want.shape:
        raise AssertionError(f"the shapes differ: actual {got.shape}, desired {want.shape}")
    if got.dtype != want.dtype:
        raise AssertionError(
            f"the element types differ: actual {_dtype_text(got.dtype)}, "
            f"desired {_dtype_text(want.dtype)}"
        )
    kind = element_type(got.dtype)
    assert kind is not None
    # A broadcast or strided view is compared through its elements, not its memory.
    got = np.ascontiguousarray(got, dtype=kind.numpy_dtype).reshape(got.shape)
    want = np.ascontiguousarray(want, dtype=kind.numpy_dtype).reshape(want.shape)
    wrong = _differing(got, want, kind, allowed)
    count = int(np.count_nonzero(wrong))
    if count:
        raise AssertionError(_report(got, want, kind, wrong, count, allowed))


def _dtype_text(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.isnative else f"{dtype.name} (byte-swapped, {dtype.str})"


def _bits(array: NDArray[Any], kind: ElementType) -> NDArray[Any]:
    """The elements as unsigned integers of 64 bits that hold their bits."""
    return array.view(f"u{kind.itemsize}").astype(np.uint64)


def _differing(
    got: NDArray[Any], want: NDArray[Any], kind: ElementType, ulps: int
) -> NDArray[np.bool_]:
    unequal: NDArray[np.bool_] = got.view(f"u{kind.itemsize}") != want.view(f"u{kind.itemsize}")
    if kind.kind != "float" or not unequal.any():
        return unequal
    both_nan = _is_nan(got, kind) & _is_nan(want, kind)
    unequal &= ~both_nan
    if ulps and unequal.any():
        unequal &= ~_within(got, want, kind, ulps)
    return unequal


def _magnitude(array: NDArray[Any], kind: ElementType) -> NDArray[np.uint64]:
    """The bits without the sign: they grow with the absolute value, infinity and NaN last."""
    mask = np.uint64((1 << (8 * kind.itemsize - 1)) - 1)
    magnitude: NDArray[np.uint64] = _bits(array, kind) & mask
    return magnitude


def _infinity(kind: ElementType) -> np.uint64:
    return np.uint64(int(_bits(np.asarray(kind.highest).reshape(1), kind)[0]))


def _is_nan(array: NDArray[Any], kind: ElementType) -> NDArray[np.bool_]:
    # By bits: a comparison of signalling NaN would warn.
    return np.asarray(_magnitude(array, kind) > _infinity(kind))


def _distance(got: NDArray[Any], want: NDArray[Any], kind: ElementType) -> NDArray[np.uint64]:
    """Steps from one float to the other, counted through zero, which counts once."""
    shift = np.uint64(8 * kind.itemsize - 1)
    signs = (_bits(got, kind) >> shift) == (_bits(want, kind) >> shift)
    a, b = _magnitude(got, kind), _magnitude(want, kind)
    return np.where(signs, np.maximum(a, b) - np.minimum(a, b), a + b)


def _within(
    got: NDArray[Any], want: NDArray[Any], kind: ElementType, ulps: int
) -> NDArray[np.bool_]:
    a, b = _magnitude(got, kind), _magnitude(want, kind)
    finite = (a < _infinity(kind)) & (b < _infinity(kind))
    near = _distance(got, want, kind) <= np.uint64(min(ulps, 2**64 - 1))
    return np.asarray(finite & near & ~((a == 0) & (b == 0)))


def _report(
    got: NDArray[Any],
    want: NDArray[Any],
    kind: ElementType,
    wrong: NDArray[np.bool_],
    count: int,
    ulps: int,
) -> str:
    verb = "differs" if count == 1 else "differ"
    beyond = f" by more than {_ulps_text(ulps)}" if ulps and kind.kind == "float" else ""
    lines = [f"{count:,} of {_show.count_text(wrong.size, 'element')} {verb}{beyond}"]
    first = int(np.argmax(wrong))  # of the flattened array
    lines.append(f"first at {_pair(got, want, kind, first)}")
    if kind.kind == "float" and count > 1:
        finite = _magnitude(got, kind) < _infinity(kind)
        finite &= _magnitude(want, kind) < _infinity(kind)
        apart = np.where(wrong & finite, _distance(got, want, kind), np.uint64(0))
        worst = int(np.argmax(apart))
        if worst != first and apart.flat[worst] > apart.flat[first]:
            lines.append(f"worst at {_pair(got, want, kind, worst)}")
    return "\n".join(lines)


def _ulps_text(count: int) -> str:
    return _show.count_text(count, "ulp")


def _pair(got: NDArray[Any], want: NDArray[Any], kind: ElementType, flat: int) -> str:
    index = [int(i) for i in np.unravel_index(flat, got.shape)]
    a, b = got.reshape(-1)[flat : flat + 1], want.reshape(-1)[flat : flat + 1]
    text = f"{index}: actual {_value(a, kind)}, desired {_value(b, kind)}"
    if kind.kind == "float":
        infinity = _infinity(kind)
        if _magnitude(a, kind)[0] < infinity and _magnitude(b, kind)[0] < infinity:
            apart = int(_distance(a, b, kind)[0])
            text += f", {_ulps_text(apart)} apart" if apart else ", zeros of different signs"
    return text


def _value(one: NDArray[Any], kind: ElementType) -> str:
    if kind.kind != "float":
        return str(one[0])
    return f"{one[0]!s} (0x{int(_bits(one, kind)[0]):0{2 * kind.itemsize}x})"
