# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""Sums that are taken in pieces without losing a bit: one at a time, or many at once.

Design. Two error-free additions carry the sum of a run of doubles as two numbers, and
a third collects what the second addition could not hold. Where the third is zero, the
pair *is* the sum; common data always gets through. Where it is not, the elements go
into the fixed-point accumulator of `_sums`, which holds anything.

`Accumulator` keeps one fixed-point number. A distributed sum over axes has a sum for
each output, for which 70 words each are too many: there a partial sum is a short column
of doubles whose exact sum is meant, two for nearly all data. Columns of several pieces
are stacked and summed by the same code, so merging is no other operation than adding.
-0.0 is the neutral element in both.
"""

cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs
from libc.stdint cimport uint16_t, uint64_t, uintptr_t
from libc.stdlib cimport llabs
from libc.string cimport memcpy, memmove

import operator

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer

from ._pairs.pairs cimport pairs_t, rows_t
from ._sums cimport CHUNKS, exact_add, exact_clear, exact_merge, exact_round, exact_t

from . import _engine, _inputs, _pairs, _refusals
from .dtypes import ELEMENT_TYPES, element_type
from .errors import ArgumentError, DTypeError

cnp.import_array()

cdef extern from "_kernels/bits.h":
    double rk_double(uint64_t) noexcept nogil
    uint64_t rk_bits64(double) noexcept nogil
    float rk_half_to_float(uint16_t) noexcept nogil
    float rk_brain_to_float(uint16_t) noexcept nogil
    uint16_t rk_double_to_half(double) noexcept nogil
    uint16_t rk_double_to_brain(double) noexcept nogil

cdef enum:
    # Positions in dtypes.ELEMENT_TYPES.
    FLOAT16 = 9
    BFLOAT16 = 10
    FLOAT32 = 11
    FLOAT64 = 12
    BLOCK = 2048                # elements that are proved together, see _pairs
    PIECE = 65536               # elements copied at a time where they do not lie as they should
    WIDE = 16384                # outputs whose sums stay in the second cache
    NARROW = 128                # columns; so short rows are added several as one
    WIDE_ROW = 512
    FEWEST_ROWS = 16            # fewer are added sooner than their sums are moved
    KEEP_GIL = 4096

VERSION = 1
"""The version of the pickled state."""

cdef pairs_t* PAIRS = <pairs_t*>PyCapsule_GetPointer(_pairs.table(), "reducekit.pairs")
cdef double LARGEST = rk_double(<uint64_t>0x7fefffffffffffffULL)


cdef void gather(int kind, const char* data, Py_ssize_t stride, Py_ssize_t count,
                 double* block) noexcept nogil:
    """At most BLOCK elements as doubles side by side."""
    cdef Py_ssize_t i
    if kind == FLOAT64:
        for i in range(count):
            block[i] = (<const double*>(data + i * stride))[0]
    elif kind == FLOAT32:
        for i in range(count):
            block[i] = (<const float*>(data + i * stride))[0]
    elif kind == FLOAT16:
        for i in range(count):
            block[i] = rk_half_to_float((<const uint16_t*>(data + i * stride))[0])
    else:
        for i in range(count):
            block[i] = rk_brain_to_float((<const uint16_t*>(data + i * stride))[0])


cdef void accumulate(exact_t* acc, int kind, const char* data, Py_ssize_t count) noexcept nogil:
    """Add native, aligned, contiguous elements of a float type."""
    cdef double sum[3]
    cdef Py_ssize_t start, size
    cdef Py_ssize_t itemsize = 8 if kind == FLOAT64 else 4 if kind == FLOAT32 else 2
    for start in range(0, count, 2048):
        size = count - start if count - start < BLOCK else BLOCK
        sum[0] = -0.0
        sum[1] = 0.0
        sum[2] = 0.0
        PAIRS.run[kind - FLOAT16](data + start * itemsize, size, sum)
        if sum[2] == 0:
            if sum[1] == 0:     # -0.0 is the zero that says nothing of the elements' signs
                sum[1] = -0.0
            exact_add(acc, FLOAT64, sum, 2)
        else:
            exact_add(acc, kind, data + start * itemsize, size)


cdef int kind_of(cnp.ndarray x) except -1:
    return ELEMENT_TYPES.index(element_type(x.dtype))


cdef object pieces(cnp.ndarray x):
    """The elements in the order of memory, in pieces that lie as kernels want them."""
    dtype = x.dtype
    if x.size == 0:
        return ()
    if dtype.isnative and x.flags.aligned and (x.flags.c_contiguous or x.flags.f_contiguous):
        return (x.reshape(-1, order="C" if x.flags.c_contiguous else "F"),)
    return np.nditer(
        [x], ["external_loop", "buffered", "growinner"],
        [["readonly", "aligned", "contig", "nbo"]],
        op_dtypes=[dtype.newbyteorder("=")], casting="equiv", buffersize=PIECE,
    )


cdef int add_array(exact_t* acc, cnp.ndarray x) except -1:
    cdef int kind = kind_of(x)
    cdef cnp.ndarray piece
    cdef const char* data
    cdef Py_ssize_t count
    for piece in pieces(x):
        data = cnp.PyArray_BYTES(piece)
        count = cnp.PyArray_SIZE(piece)
        if count < KEEP_GIL:
            accumulate(acc, kind, data, count)
        else:
            with nogil:
                accumulate(acc, kind, data, count)
    return 0


cdef object whole_of(exact_t* acc):
    """The finite part as an integer, in units of 2^-1074."""
    whole = 0
    cdef int i
    for i in range(CHUNKS - 1, -1, -1):
        whole = (whole << 32) + acc.chunk[i]
    return whole


cdef list column_of(exact_t* acc):
    """Doubles whose exact sum is the accumulated one. The accumulator is used up."""
    cdef double part, minus
    column = []
    while True:
        exact_round(acc, FLOAT64, &part)
        if part != part or acc.plus or acc.minus:
            return [part]
        if part == 0:
            return column or [part if acc.any else -0.0]
        if fabs(part) > LARGEST:
            part = LARGEST if part > 0 else -LARGEST
        column.append(part)
        minus = -part
        exact_add(acc, FLOAT64, &minus, 1)


cdef int fold(cnp.ndarray x, cnp.ndarray high, cnp.ndarray low, cnp.ndarray lost,
              tuple reduced) except -1:
    """Add the elements to the sums of their outputs, in whatever order memory likes."""
    cdef cnp.ndarray part, to_high, to_low, to_lost
    cdef Py_ssize_t start, step
    cdef int axis, longest = 0
    if x.size == 0:
        return 0
    if not (x.dtype.isnative and x.flags.aligned):
        if x.size <= PIECE:
            return fold_aligned(x.astype(x.dtype.newbyteorder("=")), high, low, lost, reduced)
        for axis in range(x.ndim):
            longest = axis if x.shape[axis] > x.shape[longest] else longest
        step = max(1, x.shape[longest] * PIECE // x.size)
        for start in range(0, x.shape[longest], step):
            part, to_high, to_low, to_lost = cut(x, high, low, lost, reduced, longest, start,
                                                 start + step)
            fold(part, to_high, to_low, to_lost, reduced)
        return 0
    return fold_aligned(x, high, low, lost, reduced)


cdef int fold_aligned(cnp.ndarray x, cnp.ndarray high, cnp.ndarray low, cnp.ndarray lost,
                      tuple reduced) except -1:
    """As `fold`, for native and aligned elements. All sums have the same strides."""
    cdef const char* data = cnp.PyArray_BYTES(x)
    cdef Py_ssize_t at[64]
    cdef Py_ssize_t to = 0, start, columns, rows, stride, itemsize = x.itemsize
    cdef bint[64] is_reduced
    cdef int kind = kind_of(x), across = -1, down = -1, axis
    # Columns that lie side by side, and rows of them that are added: one call does both.
    for axis in range(x.ndim):
        at[axis] = 0
        is_reduced[axis] = axis in reduced
        if x.shape[axis] > 1 and x.strides[axis] != 0:
            if across < 0 or llabs(x.strides[axis]) < llabs(x.strides[across]):
                across = axis
            if is_reduced[axis] and (down < 0 or llabs(x.strides[axis]) < llabs(x.strides[down])):
                down = axis
    if (down < 0 or is_reduced[across] or x.strides[across] != itemsize
            or not high.flags.aligned or high.strides[across] != 8):
        return walk(x, high, low, lost)
    columns = x.shape[across]
    rows = x.shape[down]
    stride = x.strides[down]
    if columns * rows < 2048 and columns * rows < x.size:
        return walk(x, high, low, lost)
    # Blocks of columns outside of everything, so that their sums stay in the cache.
    for start in range(0, columns, 16384):
        axis = 0
        while axis >= 0:
            add_rows(kind, data + start * itemsize, min(WIDE, columns - start), rows, stride,
                     <double*>(cnp.PyArray_BYTES(high) + to) + start,
                     <double*>(cnp.PyArray_BYTES(low) + to) + start,
                     <double*>(cnp.PyArray_BYTES(lost) + to) + start)
            PyErr_CheckSignals()
            # The next place along the other axes, the last axis first.
            axis = x.ndim - 1
            while axis >= 0:
                if axis != across and axis != down:
                    at[axis] += 1
                    data += x.strides[axis]
                    to += 0 if is_reduced[axis] else high.strides[axis]
                    if at[axis] < x.shape[axis]:
                        break
                    data -= at[axis] * x.strides[axis]
                    to -= 0 if is_reduced[axis] else at[axis] * high.strides[axis]
                    at[axis] = 0
                axis -= 1
    return 0


cdef void add_rows(int kind, const char* data, Py_ssize_t columns, Py_ssize_t rows,
                   Py_ssize_t stride, double* high, double* low, double* lost) noexcept:
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t itemsize = 8 if kind == FLOAT64 else 4 if kind == FLOAT32 else 2
    with nogil:
        if stride == columns * itemsize and columns <= NARROW:
            done = add_narrow_rows(kind, data, columns, rows, stride, high, low, lost)
        elif stride == columns * itemsize:
            done = add_from_a_line(kind, data, columns, rows, stride, high, low, lost)
        PAIRS.rows[kind - FLOAT16](data + done * stride, columns, rows - done, stride, high, low,
                                   lost)


cdef Py_ssize_t add_from_a_line(int kind, const char* data, Py_ssize_t columns, Py_ssize_t rows,
                                Py_ssize_t stride, double* high, double* low,
                                double* lost) noexcept nogil:
    """Add rows that lie one behind the other, if the first does not begin with a line of memory.

    They are read as rows that do: each is the rest of a row and the beginning of the next. The
    lines are pairs of lines, which memory reads together: chunks of 64 MiB of float64 at 30 GB/s,
    at 32 from any line, at 35 from such ones.
    """
    cdef rows_t add = PAIRS.rows[kind - FLOAT16]
    cdef Py_ssize_t itemsize = stride // columns
    cdef Py_ssize_t head = <Py_ssize_t>(-<uintptr_t>data & 127) // itemsize
    if head == 0 or stride % 64 or rows < FEWEST_ROWS:
        return 0
    add(data, head, 1, stride, high, low, lost)
    rotate(high, columns, head)
    rotate(low, columns, head)
    rotate(lost, columns, head)
    data += head * itemsize
    add(data, columns, rows - 1, stride, high, low, lost)
    add(data + (rows - 1) * stride, columns - head, 1, stride, high, low, lost)
    rotate(high, columns, columns - head)
    rotate(low, columns, columns - head)
    rotate(lost, columns, columns - head)
    return rows


cdef void rotate(double* x, Py_ssize_t size, Py_ssize_t by) noexcept nogil:
    """Bring the first numbers behind the others; these or those are at most 63."""
    cdef double moved[64]
    cdef Py_ssize_t rest = size - by
    if by < rest:
        memcpy(moved, x, by * sizeof(double))
        memmove(x, x + by, rest * sizeof(double))
        memcpy(x + rest, moved, by * sizeof(double))
    else:
        memcpy(moved, x + by, rest * sizeof(double))
        memmove(x + rest, x, by * sizeof(double))
        memcpy(x, moved, rest * sizeof(double))


cdef Py_ssize_t add_narrow_rows(int kind, const char* data, Py_ssize_t columns, Py_ssize_t rows,
                                Py_ssize_t stride, double* high, double* low,
                                double* lost) noexcept nogil:
    """Add rows that lie one behind the other, several as one; how many were added."""
    cdef double h[WIDE_ROW]
    cdef double l[WIDE_ROW]
    cdef double d[WIDE_ROW]
    cdef Py_ssize_t group = WIDE_ROW // columns, before = 0, size, i, j
    # Wide rows that begin alike in a line of memory, as far as that goes, and with one.
    group -= group % (16 if group >= 16 else 4)
    size = group * columns
    if rows < 16 * group:
        return 0
    while before < 32 and <uintptr_t>(data + before * stride) & 63:
        before += 1
    before %= 32
    PAIRS.rows[kind - FLOAT16](data, columns, before, stride, high, low, lost)
    data += before * stride
    rows -= before
    for i in range(size):
        h[i] = -0.0
        l[i] = d[i] = 0.0
    PAIRS.rows[kind - FLOAT16](data, size, rows // group, group * stride, h, l, d)
    for i in range(0, group):
        for j in range(columns):
            lost[j] += d[i * columns + j]
            # A low part of zero says nothing of the elements' signs.
            if l[i * columns + j] == 0:
                l[i * columns + j] = -0.0
    PAIRS.rows[FLOAT64 - FLOAT16](<char*>h, columns, group, columns * 8, high, low, lost)
    PAIRS.rows[FLOAT64 - FLOAT16](<char*>l, columns, group, columns * 8, high, low, lost)
    return before + rows // group * group


cdef int walk(cnp.ndarray x, cnp.ndarray high, cnp.ndarray low, cnp.ndarray lost) except -1:
    """Add native, aligned elements, line by line in the order of memory."""
    cdef int kind = kind_of(x)
    cdef cnp.PyArrayObject* operands[4]
    cdef cnp.npy_uint32 flags[4]
    cdef cnp.NpyIter* it
    cdef cnp.NpyIter_IterNextFunc advance
    cdef char** data
    cdef cnp.npy_intp* strides
    cdef cnp.npy_intp* size
    cdef cnp.npy_intp start, count, i
    cdef cnp.npy_intp itemsize = x.itemsize
    cdef double block[BLOCK]
    cdef double sum[3]
    operands[0] = <cnp.PyArrayObject*>x
    operands[1] = <cnp.PyArrayObject*>high
    operands[2] = <cnp.PyArrayObject*>low
    operands[3] = <cnp.PyArrayObject*>lost
    flags[0] = cnp.NPY_ITER_READONLY
    flags[1] = flags[2] = flags[3] = cnp.NPY_ITER_READWRITE
    it = cnp.NpyIter_MultiNew(4, operands, cnp.NPY_ITER_EXTERNAL_LOOP | cnp.NPY_ITER_REDUCE_OK,
                              cnp.NPY_KEEPORDER, cnp.NPY_NO_CASTING, flags, NULL)
    try:
        advance = cnp.NpyIter_GetIterNext(it, NULL)
        data = cnp.NpyIter_GetDataPtrArray(it)
        strides = cnp.NpyIter_GetInnerStrideArray(it)
        size = cnp.NpyIter_GetInnerLoopSizePtr(it)
        with nogil:
            while True:
                if strides[1] == 0:
                    sum[0] = (<double*>data[1])[0]
                    sum[1] = (<double*>data[2])[0]
                    sum[2] = (<double*>data[3])[0]
                    if strides[0] == itemsize:
                        PAIRS.run[kind - FLOAT16](data[0], size[0], sum)
                    else:
                        for start in range(0, size[0], 2048):
                            count = size[0] - start if size[0] - start < BLOCK else BLOCK
                            gather(kind, data[0] + start * strides[0], strides[0], count, block)
                            PAIRS.run[FLOAT64 - FLOAT16](<char*>block, count, sum)
                    (<double*>data[1])[0] = sum[0]
                    (<double*>data[2])[0] = sum[1]
                    (<double*>data[3])[0] = sum[2]
                elif strides[0] == itemsize and strides[1] == strides[2] == strides[3] == 8:
                    PAIRS.rows[kind - FLOAT16](data[0], size[0], 1, 0, <double*>data[1],
                                               <double*>data[2], <double*>data[3])
                else:
                    for i in range(size[0]):
                        gather(kind, data[0] + i * strides[0], 0, 1, block)
                        PAIRS.rows[FLOAT64 - FLOAT16](
                            <char*>block, 1, 1, 0, <double*>(data[1] + i * strides[1]),
                            <double*>(data[2] + i * strides[2]),
                            <double*>(data[3] + i * strides[3]))
                if not advance(it):
                    break
    finally:
        cnp.NpyIter_Deallocate(it)
    return 0


cdef tuple cut(cnp.ndarray x, cnp.ndarray high, cnp.ndarray low, cnp.ndarray lost,
               tuple reduced, int axis, Py_ssize_t start, Py_ssize_t stop):
    """A range of an axis, and the sums that it belongs to."""
    part = (*(slice(None),) * axis, slice(start, stop))
    outputs = () if axis in reduced else part
    return x[part], high[outputs], low[outputs], lost[outputs]


cdef tuple merged(cnp.ndarray x, tuple reduced):
    """The array with neighbouring axes as one, where both are reduced or neither is; which are."""
    cdef int axis, last = -1
    cdef bint gone, before = False
    sizes, axes = [], []
    for axis in range(x.ndim):
        gone = axis in reduced
        if last >= 0 and gone == before:
            sizes[last] *= x.shape[axis]
            continue
        last += 1
        before = gone
        sizes.append(x.shape[axis])
        if gone:
            axes.append(last)
    return x.reshape(sizes), tuple(axes)


def partial_sums(cnp.ndarray x, tuple reduced):
    """Sums over axes as columns of doubles, whose exact sums are meant.

    Parameters
    ----------
    x : numpy.ndarray
        Of a float type, laid out in any way.
    reduced : tuple of int
        The axes, from 0 up.

    Returns
    -------
    numpy.ndarray
        float64, of the shape of ``x`` with reduced axes of size 1, behind a first axis
        along which the parts of each sum lie: one or two of them unless the data
        spans a range of more than about 100 bits.

    Notes
    -----
    Stacked along the first axis, partial sums of several arrays are an array whose
    partial sums over that axis are those of all.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.float32([[1e8, 1.0, -1e8, 1e-30], [1.0, 2.0, 3.0, 4.0]])
    >>> partial_sums(x, (1,))[:, :, 0].tolist()
    [[1.0, 10.0], [1.0000000031710769e-30, -0.0]]
    """
    if x.ndim == 0:
        return partial_sums(x.reshape(1), (0,)).reshape(-1)
    cdef cnp.ndarray numbers
    cdef double* parts
    cdef Py_ssize_t outputs, i
    cdef bint exact = True, short = True
    shape = tuple([1 if axis in reduced else size for axis, size in enumerate(np.shape(x))])
    if x.ndim > 2 and x.flags.c_contiguous:
        part, axes = merged(x, reduced)
        if part.ndim < x.ndim:
            sums = partial_sums(part, axes)
            return sums.reshape(len(sums), *shape)
    numbers = np.zeros((3, *shape))
    sums = numbers[:2]
    high, low, lost = numbers
    parts = <double*>cnp.PyArray_DATA(numbers)
    outputs = cnp.PyArray_SIZE(numbers) // 3
    for i in range(outputs):
        parts[i] = -0.0
    fold(x, high, low, lost, reduced)
    for i in range(outputs):
        if parts[outputs + i] == 0:
            parts[outputs + i] = -0.0
        else:
            short = False
        if parts[2 * outputs + i] != 0:     # so is NaN
            exact = False
    if exact:
        return sums[:1].copy() if short else sums
    wrong = ~(lost == 0)
    if not np.isfinite(high).all():
        # What is not finite may be so by the order alone.
        special = special_sums(x, shape, reduced)
        known = special != 0
        high[known] = special[known]
        low[known] = -0.0
        wrong &= ~known
    columns = {}
    for at in map(tuple, np.argwhere(wrong).tolist()):
        columns[at] = column_at(x, at, reduced)
    most = max(2, max(map(len, columns.values()), default=0))
    if most > 2:
        sums = np.concatenate([sums, np.full((most - 2, *shape), -0.0)])
    for at, column in columns.items():
        sums[(slice(None), *at)] = column + [-0.0] * (most - len(column))
    return sums


cdef object special_sums(cnp.ndarray x, tuple shape, tuple reduced):
    """The sums over the infinities and NaN alone."""
    sums = np.zeros(shape)
    step = max(1, PIECE // max(1, x.size // max(1, len(x))))
    with np.errstate(invalid="ignore"):
        for start in range(0, len(x), step):
            part = x[start:start + step]
            part = part.astype(np.float64)
            part[np.isfinite(part)] = 0
            part = part.sum(axis=reduced, keepdims=True)
            outputs = ... if 0 in reduced else slice(start, start + step)
            sums[outputs] += part
    return sums


cdef list column_at(cnp.ndarray x, tuple at, tuple reduced):
    """The sum at one place of the result, by the accumulator."""
    cdef exact_t acc
    exact_clear(&acc)
    index = tuple([slice(None) if axis in reduced else place for axis, place in enumerate(at)])
    add_array(&acc, x[(*index, ...)])
    return column_of(&acc)


cdef inline double to_odd(double high, double low) noexcept nogil:
    """The sum of two doubles, rounded so that rounding it again to a shorter type is right.

    Where the sum is no double, the last bit of the neighbour nearer to zero is set: it
    then lies on no boundary of the shorter type, and on the right side of all.
    """
    cdef double s = high + low
    cdef double t = s - high
    cdef double e = (high - (s - t)) + (low - t)
    cdef uint64_t bits
    if e == 0 or e != e:
        return s
    bits = rk_bits64(s)
    if (e < 0) != (s < 0):
        bits -= 1
    return rk_double(bits | 1)


def round_sums(cnp.ndarray parts, dtype):
    """The sums that the columns mean, each rounded once.

    Parameters
    ----------
    parts : numpy.ndarray
        As :func:`partial_sums` gives it.
    dtype : numpy.dtype
        The float type to round to.

    Returns
    -------
    numpy.ndarray
        Of the shape of ``parts`` without the first axis.
    """
    cdef Py_ssize_t i, j, outputs, count = parts.shape[0]
    cdef int kind = ELEMENT_TYPES.index(element_type(dtype))
    cdef cnp.ndarray result = np.empty(np.shape(parts)[1:], ELEMENT_TYPES[kind].numpy_dtype)
    cdef cnp.ndarray table
    cdef const double* x
    cdef char* out = cnp.PyArray_BYTES(result)
    cdef double s
    cdef exact_t acc
    cdef Py_ssize_t itemsize = result.dtype.itemsize
    table = np.ascontiguousarray(parts)
    x = <const double*>cnp.PyArray_BYTES(table)
    outputs = result.size
    with nogil:
        for i in range(outputs):
            if count > 2:
                exact_clear(&acc)
                for j in range(count):
                    exact_add(&acc, FLOAT64, &x[j * outputs + i], 1)
                exact_round(&acc, kind, out + i * itemsize)
                continue
            s = x[i]
            if count == 2:
                s = s + x[outputs + i] if kind == FLOAT64 else to_odd(s, x[outputs + i])
            if kind == FLOAT64:
                (<double*>out)[i] = s
            elif kind == FLOAT32:
                (<float*>out)[i] = <float>s
            elif kind == FLOAT16:
                (<uint16_t*>out)[i] = rk_double_to_half(s)
            else:
                (<uint16_t*>out)[i] = rk_double_to_brain(s)
    return result


@cython.final
cdef class Accumulator:
    """A sum that is taken in pieces without losing a bit.

    It holds the true sum of all elements that were added, as a number of fixed point
    that is wide enough for every float (integers wrap in their own type, as in
    :func:`reducekit.reduce_sum`). What ``round`` gives is that sum, rounded once: it
    does not depend on the pieces, their order, or which were merged with which.

    Parameters
    ----------
    dtype : dtype_like, default "float32"
        The element type of the sum: any that :func:`reducekit.reduce_sum` takes.

    Raises
    ------
    DTypeError
        If elements of the type cannot be summed.

    See Also
    --------
    reducekit.reduce_sum : The sum of an array in one call.

    Notes
    -----
    An accumulator takes some 600 bytes, however much was added. It pickles (a few dozen
    bytes), copies, and may be used by several threads: each call adds all of its
    elements or none.

    Examples
    --------
    The sum of a file, read in pieces:

    >>> import numpy as np, reducekit as rk
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "data.bin")
    >>> np.resize(np.float32([1e8, 1.0, -1e8]), 300_000).tofile(path)
    >>> acc = rk.Accumulator("float32")
    >>> with path.open("rb") as file:
    ...     while piece := file.read(1 << 16):
    ...         acc.add(np.frombuffer(piece, np.float32))
    >>> acc
    Accumulator(dtype=float32, count=300000, sum=100000.0)
    >>> acc.round()
    array(100000., dtype=float32)
    >>> folder.cleanup()

    Two halves, summed apart (in other threads, processes or machines) and merged:

    >>> left, right = rk.Accumulator(), rk.Accumulator()
    >>> left.add(np.float32([1e8, 1.0]))
    >>> right.add(np.float32([-1e8, 1e-3]))
    >>> left.merge(right)
    >>> left.round()
    array(1.001, dtype=float32)
    """

    cdef exact_t acc
    cdef uint64_t wrapped          # the sum of integers, modulo 2^64
    cdef int kind                  # position in ELEMENT_TYPES
    cdef bint is_float
    cdef object terms

    def __init__(self, dtype="float32"):
        try:
            row = element_type(dtype)
        except TypeError:
            raise _refusals.dtype_unknown("Accumulator", dtype) from None
        if row is None:
            raise _refusals.dtype_never("Accumulator", np.dtype(dtype))
        if row.kind == "bool":
            raise _refusals.bool_sum("Accumulator")
        cdef int kind = ELEMENT_TYPES.index(row)
        cdef bint is_float = row.kind == "float"
        with cython.critical_section(self):
            self.kind = kind
            self.is_float = is_float
            self.clear()

    cdef void clear(self):
        exact_clear(&self.acc)
        self.wrapped = 0
        self.terms = 0

    @property
    def dtype(self):
        """The element type of the sum, a numpy.dtype."""
        return ELEMENT_TYPES[self.kind].numpy_dtype

    @property
    def count(self):
        """How many elements were added."""
        with cython.critical_section(self):
            terms = self.terms
        return terms

    def add(self, chunk):
        """Add all elements of an array.

        Parameters
        ----------
        chunk : array_like
            Elements of any shape and layout: as :func:`reducekit.reduce_sum` reads
            them. Their type is that of the sum, or one whose every value the
            type of the sum holds: float32 may be added to a sum of float64.

        Raises
        ------
        DTypeError
            If the elements are of another type.
        ArgumentError, TypeError
            If elements are missing, or the chunk cannot be read as an array. The sum
            stays as it was.

        Examples
        --------
        >>> import numpy as np, reducekit as rk
        >>> acc = rk.Accumulator("int8")
        >>> acc.add(np.int8([100, 27, 1]))
        >>> acc.round()
        array(-128, dtype=int8)
        """
        cdef cnp.ndarray x = _inputs.as_array("Accumulator.add", chunk)
        cdef exact_t sum_of_chunk
        cdef uint64_t wrapped
        row = element_type(x.dtype)
        mine = ELEMENT_TYPES[self.kind]
        if row is not mine and not fits(row, mine):
            raise DTypeError(
                f"Accumulator.add: the sum is of {mine.name}, which does not hold every "
                f"{row.name}; cast the chunk to {mine.name}, or make the Accumulator for {row.name}"
            )
        # The GIL may be given up on the way: until all is added, nothing is.
        if self.is_float:
            exact_clear(&sum_of_chunk)
            add_array(&sum_of_chunk, x)
            with cython.critical_section(self):
                exact_merge(&self.acc, &sum_of_chunk)
                self.terms = self.terms + x.size
            return
        if row is mine:
            wrapped = int(_engine.reduce_sum(x, keepdims=False, strict=False)) & (2**64 - 1)
        else:
            wrapped = wrapped_sum(x, mine.numpy_dtype)
        with cython.critical_section(self):
            self.wrapped += wrapped
            self.terms = self.terms + x.size

    def merge(self, other):
        """Add all that another accumulator holds, which stays as it is.

        Parameters
        ----------
        other : Accumulator
            Of the same element type.

        Raises
        ------
        TypeError
            If it is no Accumulator.
        DTypeError
            If it is of another type.

        Examples
        --------
        >>> import numpy as np, reducekit as rk
        >>> acc, other = rk.Accumulator("float16"), rk.Accumulator("float16")
        >>> acc.add(np.float16([60000, 60000]))
        >>> other.add(np.float16([-60000]))
        >>> acc.merge(other)
        >>> int(acc.round())
        60000
        """
        cdef Accumulator second, held
        if not isinstance(other, Accumulator):
            raise TypeError(
                f"Accumulator.merge: other has type {type(other).__name__}; "
                "use an Accumulator, or add an array"
            )
        second = other
        if second.kind != self.kind:
            raise DTypeError(
                f"Accumulator.merge: the sums are of {self.dtype.name} and {second.dtype.name}; "
                "merge sums of one type"
            )
        held = second.copy()
        with cython.critical_section(self):
            exact_merge(&self.acc, &held.acc)
            self.wrapped += held.wrapped
            self.terms = self.terms + held.terms

    def round(self):
        """The sum, rounded once to the element type.

        Returns
        -------
        numpy.ndarray
            Of rank 0. The accumulator stays as it is: more may be added.

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Accumulator("bfloat16").round()
        array(0, dtype=bfloat16)
        """
        cdef cnp.ndarray result = np.empty((), self.dtype)
        cdef Accumulator held = self.copy()
        if held.is_float:
            exact_round(&held.acc, held.kind, cnp.PyArray_BYTES(result))
        else:
            result[...] = np.uint64(held.wrapped).astype(result.dtype)
        return result

    def copy(self):
        """An accumulator of its own with the same sum."""
        cdef Accumulator twin = Accumulator(self.dtype)
        with cython.critical_section(self):
            memcpy(&twin.acc, &self.acc, sizeof(exact_t))
            twin.wrapped = self.wrapped
            twin.terms = self.terms
        return twin

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        """The state is a version, the count, and the sum as integer * 2^exponent, or flags."""
        cdef Accumulator held = self.copy()
        whole, exponent, flags = int(held.wrapped), 0, 0
        if held.is_float:
            whole = whole_of(&held.acc)
            exponent = (whole & -whole).bit_length() - 1 if whole else 0
            whole >>= exponent
            flags = (held.acc.nan | held.acc.plus << 1 | held.acc.minus << 2
                     | held.acc.negative_zeros << 3 | held.acc.any << 4)
        state = (VERSION, held.terms, whole, exponent, flags)
        return Accumulator, (self.dtype.name,), state

    def __setstate__(self, state):
        version = state[0] if isinstance(state, tuple) and state else None
        if version != VERSION:
            raise ArgumentError(
                f"Accumulator: a pickled state of version {version!r} is not known here; "
                f"version {VERSION} is"
            )
        cdef int i
        _, terms, whole, exponent, flags = state
        terms, whole, exponent, flags = map(operator.index, (terms, whole, exponent, flags))
        # Room for 2^40 additions of the largest double.
        room = 2200 if self.is_float else 64
        if (terms < 0 or exponent < 0 or not 0 <= flags < 32
                or exponent + whole.bit_length() > room):
            raise ArgumentError("Accumulator: the pickled state is damaged")
        with cython.critical_section(self):
            self.clear()
            self.terms = terms
            if self.is_float:
                whole <<= exponent
                for i in range(CHUNKS - 1):
                    self.acc.chunk[i] = whole & 0xffffffff
                    whole >>= 32
                self.acc.chunk[CHUNKS - 1] = whole
                self.acc.nan, self.acc.plus = flags & 1, flags >> 1 & 1
                self.acc.minus = flags >> 2 & 1
                self.acc.negative_zeros, self.acc.any = flags >> 3 & 1, flags >> 4 & 1
            else:
                self.wrapped = whole & (2**64 - 1)

    def __sizeof__(self):
        return sizeof(exact_t) + 64

    def __repr__(self):
        cdef Accumulator held = self.copy()
        return f"Accumulator(dtype={self.dtype.name}, count={held.terms}, sum={held.round()!s})"


cdef bint fits(narrow, wide):
    """Whether every value of one type is one of the other, of the same kind."""
    if (narrow.kind == "float") != (wide.kind == "float") or narrow.kind == "bool":
        return False
    return np.can_cast(narrow.numpy_dtype, wide.numpy_dtype, "safe")


cdef object wrapped_sum(x, dtype):
    """The sum of integers in a wider type, piece by piece."""
    total = 0
    for piece in pieces(x):
        for start in range(0, piece.size, PIECE):
            part = piece[start:start + PIECE].astype(dtype)
            total += int(_engine.reduce_sum(part, keepdims=False, strict=False))
    return total & (2**64 - 1)
