"""Arrays to reduce: every element type, awkward values, every way to lie in memory.

Elements are made as plain arrays. A layout then puts one into memory in its own
way, and the result must not notice. Where a layout leaves gaps, they hold poison:
values that would change a result if a kernel read them.
"""

import functools
import itertools
import math
import tempfile

import numpy as np
from numpy.lib.stride_tricks import as_strided

from reducekit.dtypes import ELEMENT_TYPES, by_name

NAMES = [kind.name for kind in ELEMENT_TYPES]
FLOATS = [kind.name for kind in ELEMENT_TYPES if kind.kind == "float"]
INTEGERS = [kind.name for kind in ELEMENT_TYPES if kind.kind in ("int", "uint")]

# Around the widths of vectors of 16, 32 and 64 bytes, their unrolled multiples, and blocks.
SIZES = [*range(1, 71), 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097]

_MANTISSA_BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def from_bits(name, patterns):
    """An array of a type from the bit patterns of its elements."""
    kind = by_name(name)
    unsigned = np.array(patterns, dtype=f"u{kind.itemsize}")
    return unsigned.view(kind.numpy_dtype)


def nans(name):
    """Not-a-number in its kinds: quiet, negative, with payload, signalling."""
    mantissa, bits = _MANTISSA_BITS[name], 8 * by_name(name).itemsize
    sign = 1 << (bits - 1)
    infinity = sign - (1 << mantissa)
    quiet = infinity | 1 << (mantissa - 1)
    return from_bits(
        name,
        [quiet, sign | quiet, quiet | 5, sign | quiet | 9, infinity | 1, sign | infinity | 3,
         sign - 1, 2 * sign - 1],
    )  # fmt: skip


def extremes(name):
    """The values at which kernels go wrong, without NaN."""
    kind = by_name(name)
    if kind.kind == "bool":
        return np.array([False, True])
    if kind.kind in ("int", "uint"):
        low, high = int(kind.lowest), int(kind.highest)
        middle = [v for v in (-1, 0, 1, 2, high // 2, high // 2 + 1) if low <= v <= high]
        return np.array([low, low + 1, *middle, high - 1, high], dtype=kind.numpy_dtype)
    mantissa, bits = _MANTISSA_BITS[name], 8 * kind.itemsize
    sign = 1 << (bits - 1)
    infinity = sign - (1 << mantissa)
    one = (infinity >> 1) & ~((1 << mantissa) - 1)
    positive = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, infinity - 1, infinity]
    return from_bits(name, [*positive, *(sign | p for p in positive)])


def ordinary(name, shape, rng):
    """Values as in common data: any integer of the type, floats of a few magnitudes.

    Floats of these magnitudes have an exact sum in double precision, or nearly.
    """
    kind = by_name(name)
    if kind.kind == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if kind.kind in ("int", "uint"):
        return rng.integers(
            int(kind.lowest), int(kind.highest), shape, kind.numpy_dtype, endpoint=True
        )
    return np.asarray(rng.standard_normal(shape)).astype(kind.numpy_dtype)


def awkward(name, shape, rng, nan=False):
    """Extremes mixed with common data; with ``nan``, a few of those too."""
    values = ordinary(name, shape, rng)
    special = extremes(name)
    if nan and name in FLOATS:
        special = np.concatenate([special, nans(name)])
    return np.where(rng.random(shape) < 0.5, rng.choice(special, shape), values)


def in_no_cache(name, rng, width=1000, stride=320, mebibytes=24):
    """Rows of which so much is read, far too much for caches, though they overlap in memory."""
    item = by_name(name).numpy_dtype.itemsize
    rows = (mebibytes << 20) // (width * item) + 1
    data = ordinary(name, ((rows - 1) * (stride // item) + width,), rng)
    return as_strided(data, (rows, width), (stride, item))


def plain(array):
    """The same elements as nobody could lay out more simply."""
    kind = array.dtype.newbyteorder("=")
    return np.array(array, dtype=kind, order="C", copy=True, subok=False)


# Layouts that keep the elements.


def _poisoned(dtype, shape):
    """An array full of values that no result could hide."""
    name = dtype.name
    poison = nans(name)[:1] if name in FLOATS else extremes(name)[[0, -1]]
    return np.resize(poison.astype(dtype), shape)


def _copied_into(buffer, view, array):
    view[...] = array
    assert view.base is buffer or view.base is buffer.base
    return view


def _transposed(array):
    axes = (*range(1, array.ndim), *range(array.ndim)[:1])
    return array.transpose(axes).copy(order="C").transpose(np.argsort(axes).tolist())


def _reversed(array):
    every = (..., *(slice(None, None, -1),) * array.ndim)
    return array[every].copy()[every]


def _last_axis_reversed(array):
    return array[..., ::-1].copy()[..., ::-1] if array.ndim else array.copy()


def _every_second(array):
    buffer = _poisoned(array.dtype, [2 * size + 1 for size in array.shape])
    return _copied_into(buffer, buffer[(..., *(slice(1, None, 2),) * array.ndim)], array)


def _backwards_by_three(array):
    buffer = _poisoned(array.dtype, [3 * size for size in array.shape])
    return _copied_into(buffer, buffer[(..., *(slice(None, None, -3),) * array.ndim)], array)


def _padded_rows(array):
    if not array.ndim:
        return array.copy()
    buffer = _poisoned(array.dtype, (*array.shape[:-1], array.shape[-1] + 3))
    return _copied_into(buffer, buffer[..., 1:-2], array)


def _one_column_of_many(array):
    buffer = _poisoned(array.dtype, (*array.shape, 5))
    return _copied_into(buffer, buffer[..., 2], array)


def _one_element_in(array):
    buffer = _poisoned(array.dtype, array.size + 2)
    return _copied_into(buffer, buffer[1:-1].reshape(array.shape), array)


def _big_endian(array):
    return array.astype(array.dtype.newbyteorder(">"))


def _unaligned(array):
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    view = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def _packed_field(array):
    records = np.full(array.shape, 255, [("tag", "u1"), ("value", array.dtype)])
    records["value"] = array
    return records["value"]


def _packed_big_endian_field(array):
    return _packed_field(_big_endian(array))


def _read_only(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _memory_map(array):
    if not array.size:  # a file of no bytes cannot be mapped
        return array.copy()
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, array.dtype, "w+", shape=array.shape or (1,))
        mapped[...] = array
    return mapped.reshape(array.shape)


def _wild_strides_of_size_one(array):
    wild = itertools.cycle([2**62, -(2**62), 1, 0, -7])
    strides = [next(wild) if n == 1 else s for n, s in zip(array.shape, array.strides)]
    return as_strided(array.copy(), array.shape, strides)


LAYOUTS = {
    "C": lambda array: array.copy(order="C"),
    "Fortran": lambda array: array.copy(order="F"),
    "transposed": _transposed,
    "reversed": _reversed,
    "last axis reversed": _last_axis_reversed,
    "every second": _every_second,
    "backwards by three": _backwards_by_three,
    "padded rows": _padded_rows,
    "one column of many": _one_column_of_many,
    "one element in": _one_element_in,
    "big-endian": _big_endian,
    "unaligned": _unaligned,
    "packed field": _packed_field,
    "packed big-endian field": _packed_big_endian_field,
    "read-only": _read_only,
    "memory map": _memory_map,
    "wild strides of size 1": _wild_strides_of_size_one,
}


# Layouts in which elements share memory, so that only some of the given ones are used.


def _broadcast(array, axes):
    first = tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(array.ndim))
    return np.broadcast_to(array[first].copy(), array.shape)


def _overlapping(array):
    """Every axis walks the same elements, as sliding windows do."""
    flat = array.reshape(-1).copy()
    return as_strided(flat, array.shape, [array.itemsize] * array.ndim, writeable=False)


SHARING = {
    "one element for all": lambda array: _broadcast(array, range(array.ndim)),
    "first axis broadcast": lambda array: _broadcast(array, [0]),
    "last axis broadcast": lambda array: _broadcast(array, [array.ndim - 1]),
    "inner axes broadcast": lambda array: _broadcast(array, range(1, array.ndim - 1)),
    "overlapping": _overlapping,
}


class WithArray:
    """An object that gives an array when it is asked for one."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return self.data


class WithDlpack:
    """An array of another library: DLPack is all that it speaks."""

    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **kwargs):
        return self.data.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


def subsets(rank):
    """Every set of axes of a rank, as tuples; the empty one first."""
    return [
        axes for count in range(rank + 1) for axes in itertools.combinations(range(rank), count)
    ]


@functools.cache
def shapes(rank, sizes=(0, 1, 2, 3)):
    """Every shape of a rank with these sizes."""
    return list(itertools.product(sizes, repeat=rank))


def reduced_shape(shape, axes, keepdims):
    """The shape of the result, told apart from everything under test."""
    kept = [(axis, size) for axis, size in enumerate(shape) if keepdims or axis not in axes]
    return tuple(1 if axis in axes else size for axis, size in kept)


def collapsing(shape, axes):
    """How many elements collapse into one."""
    return math.prod(shape[axis] for axis in axes)
