# One text for every CPU level, as kernels.pxi is. The lanes are written in the source, so
# that compilers keep them in vector registers.

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport fabs
from libc.stdint cimport uint16_t, uint32_t

from .pairs cimport pairs_t

cdef extern from "../_kernels/bits.h":
    # Cython takes two names for one type as one; what it is told here is only a hint,
    # the C types are those of the header.
    ctypedef unsigned short half_t
    ctypedef unsigned int brain_t
    uint32_t rk_bits32(float) noexcept nogil
    float rk_half_to_float(uint16_t) noexcept nogil
    float rk_brain_to_float(uint16_t) noexcept nogil
    void rk_halves_to_floats(const uint16_t*, float*, Py_ssize_t) noexcept nogil

cdef enum:
    # Elements that are proved together: doubles of them fit in the first cache.
    BLOCK = 2048

ctypedef fused narrow_t:
    half_t
    brain_t
    float

ctypedef fused item_t:
    half_t
    brain_t
    float
    double


cdef inline double widen(item_t x) noexcept nogil:
    if item_t is half_t:
        return rk_half_to_float(x)
    elif item_t is brain_t:
        return rk_brain_to_float(x)
    else:
        return x


cdef inline void enter(double x, double* high, double* low, double* lost) noexcept nogil:
    """Add to a pair; what it cannot hold, to the third number, in size."""
    cdef double s, t, e
    s = high[0] + x
    t = s - high[0]
    e = (high[0] - (s - t)) + (x - t)
    high[0] = s
    s = low[0] + e
    t = s - low[0]
    lost[0] += fabs((low[0] - (s - t)) + (e - t))
    low[0] = s


# Plain addition in double makes no error where all elements are multiples of 2^q and the
# sum of their sizes stays below 2^(q + 53). Largest and smallest size but 0, taken as bits
# beside the addition, show that for nearly all blocks of common data, in half the time of
# additions that keep their errors.
cdef inline bint no_error(const uint32_t* peak, const uint32_t* least, int carries) noexcept nogil:
    """Whether 2^carries elements of 32 bits at a time were added without error."""
    cdef uint32_t top = 0, bottom = <uint32_t>0xffffffff
    cdef Py_ssize_t j
    for j in range(32):
        top = peak[j] if peak[j] > top else top
        bottom = least[j] if least[j] < bottom else bottom
    # `bottom` is one less than the smallest size, so that zeros are the largest.
    return (top < <uint32_t>0x7f800000
            and <int>(top >> 23) + 1 + carries + 23 <= <int>((bottom + 1) >> 23) + 53)


cdef bint exact_block(const float* x, Py_ssize_t count, double* sum) noexcept nogil:
    """Add at most BLOCK elements if plain addition in double makes no error."""
    cdef double h[32]
    cdef uint32_t peak[32]
    cdef uint32_t least[32]
    cdef uint32_t size
    cdef Py_ssize_t i, j
    for j in range(32):
        h[j] = -0.0
        peak[j] = 0
        least[j] = <uint32_t>0xffffffff
    i = 0
    while i + 32 <= count:
        for j in range(32):
            size = rk_bits32(x[i + j]) & <uint32_t>0x7fffffff
            peak[j] = size if size > peak[j] else peak[j]
            least[j] = size - 1 if size - 1 < least[j] else least[j]
            h[j] += x[i + j]
        i += 32
    for j in range(count - i):
        size = rk_bits32(x[i + j]) & <uint32_t>0x7fffffff
        peak[j] = size if size > peak[j] else peak[j]
        least[j] = size - 1 if size - 1 < least[j] else least[j]
        h[j] += x[i + j]
    # At most 65 elements in a lane.
    if not no_error(peak, least, 7):
        return False
    for j in range(32):
        enter(h[j], &sum[0], &sum[1], &sum[2])
    return True


cdef void double_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    cdef const double* x = <const double*>data
    cdef double h[32]
    cdef double l[32]
    cdef double d[32]
    cdef double s, t, e
    cdef Py_ssize_t i = 0, j
    if count >= 64:
        for j in range(32):
            h[j] = -0.0
            l[j] = 0.0
            d[j] = 0.0
        while i + 32 <= count:
            for j in range(32):
                s = h[j] + x[i + j]
                t = s - h[j]
                e = (h[j] - (s - t)) + (x[i + j] - t)
                h[j] = s
                s = l[j] + e
                t = s - l[j]
                d[j] += fabs((l[j] - (s - t)) + (e - t))
                l[j] = s
            i += 32
        for j in range(32):
            enter(h[j], &sum[0], &sum[1], &sum[2])
            # A low part of zero says nothing of the elements, nor of their signs.
            if l[j] != 0:
                enter(l[j], &sum[0], &sum[1], &sum[2])
            sum[2] += d[j]
    while i < count:
        enter(x[i], &sum[0], &sum[1], &sum[2])
        i += 1


cdef inline void narrow_run(const char* data, Py_ssize_t count, double* sum,
                            const narrow_t* kind) noexcept nogil:
    cdef const narrow_t* x = <const narrow_t*>data
    cdef float single[BLOCK]
    cdef double wide[BLOCK]
    cdef const float* y
    cdef Py_ssize_t start, size, i, whole
    for start in range(0, count, 2048):
        size = count - start if count - start < BLOCK else BLOCK
        if size < 32:
            for i in range(start, start + size):
                enter(widen[narrow_t](x[i]), &sum[0], &sum[1], &sum[2])
            continue
        if narrow_t is float:
            y = x + start
        else:
            whole = 0
            if narrow_t is half_t:
                whole = size // 16 * 16
                rk_halves_to_floats(<const uint16_t*>x + start, single, whole)
            for i in range(whole, size):
                single[i] = <float>widen[narrow_t](x[start + i])
            y = single
        if not exact_block(y, size, sum):
            for i in range(size):
                wide[i] = y[i]
            double_run(<const char*>wide, size, sum)


cdef inline void pairs_of_rows(const char* data, Py_ssize_t width, Py_ssize_t count,
                               Py_ssize_t row_stride, double* high, double* low, double* lost,
                               const item_t* kind) noexcept nogil:
    """Add the rows to at most 32 sums, with the sums in registers."""
    cdef const item_t* x = <const item_t*>data
    cdef double h[32]
    cdef double l[32]
    cdef double d[32]
    cdef double s, t, e, y
    cdef Py_ssize_t r, j
    if width < 32:
        for r in range(count):
            for j in range(width):
                enter(widen[item_t](x[j]), &high[j], &low[j], &lost[j])
            x = <const item_t*>(<const char*>x + row_stride)
        return
    for j in range(32):
        h[j] = high[j]
        l[j] = low[j]
        d[j] = lost[j]
    for r in range(count):
        for j in range(32):
            y = widen[item_t](x[j])
            s = h[j] + y
            t = s - h[j]
            e = (h[j] - (s - t)) + (y - t)
            h[j] = s
            s = l[j] + e
            t = s - l[j]
            d[j] += fabs((l[j] - (s - t)) + (e - t))
            l[j] = s
        x = <const item_t*>(<const char*>x + row_stride)
    for j in range(32):
        high[j] = h[j]
        low[j] = l[j]
        lost[j] = d[j]


cdef inline bint exact_rows(const char* data, Py_ssize_t count, Py_ssize_t row_stride,
                            double* high, double* low, double* lost,
                            const narrow_t* kind) noexcept nogil:
    """Add at most 16 rows to 32 sums if plain addition in double makes no error."""
    cdef const narrow_t* x = <const narrow_t*>data
    cdef double h[32]
    cdef uint32_t peak[32]
    cdef uint32_t least[32]
    cdef uint32_t size
    cdef float y
    cdef double s, t, e
    cdef Py_ssize_t r, j
    for j in range(32):
        h[j] = -0.0
        peak[j] = 0
        least[j] = <uint32_t>0xffffffff
    for r in range(count):
        for j in range(32):
            if narrow_t is half_t:
                # Multiples of 2^-24 below 2^16: no sum of so few has an error.
                h[j] += rk_half_to_float(x[j])
            else:
                y = rk_brain_to_float(x[j]) if narrow_t is brain_t else x[j]
                size = rk_bits32(y) & <uint32_t>0x7fffffff
                peak[j] = size if size > peak[j] else peak[j]
                least[j] = size - 1 if size - 1 < least[j] else least[j]
                h[j] += y
        x = <const narrow_t*>(<const char*>x + row_stride)
    if narrow_t is not half_t:
        if not no_error(peak, least, 4):
            return False
    for j in range(32):
        s = high[j] + h[j]
        t = s - high[j]
        e = (high[j] - (s - t)) + (h[j] - t)
        high[j] = s
        s = low[j] + e
        t = s - low[j]
        lost[j] += fabs((low[j] - (s - t)) + (e - t))
        low[j] = s
    return True


# Sixteen rows at a time: memory is read along sixteen lines at once, and a sum is fetched
# and stored once for sixteen elements.
cdef inline void narrow_rows(const char* data, Py_ssize_t columns, Py_ssize_t count,
                             Py_ssize_t row_stride, double* high, double* low, double* lost,
                             const narrow_t* kind) noexcept nogil:
    cdef Py_ssize_t start, width, first, group
    cdef const char* x
    for first in range(0, count, 16):
        group = count - first if count - first < 16 else 16
        for start in range(0, columns, 32):
            width = columns - start if columns - start < 32 else 32
            x = data + first * row_stride + start * <Py_ssize_t>sizeof(narrow_t)
            if width == 32 and exact_rows[narrow_t](x, group, row_stride, high + start,
                                                    low + start, lost + start, kind):
                continue
            pairs_of_rows[narrow_t](x, width, group, row_stride, high + start, low + start,
                                    lost + start, kind)


cdef void half_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    narrow_run[half_t](data, count, sum, NULL)


cdef void brain_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    narrow_run[brain_t](data, count, sum, NULL)


cdef void float_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    narrow_run[float](data, count, sum, NULL)


cdef void half_rows(const char* data, Py_ssize_t columns, Py_ssize_t count, Py_ssize_t row_stride,
                    double* high, double* low, double* lost) noexcept nogil:
    narrow_rows[half_t](data, columns, count, row_stride, high, low, lost, NULL)


cdef void brain_rows(const char* data, Py_ssize_t columns, Py_ssize_t count, Py_ssize_t row_stride,
                     double* high, double* low, double* lost) noexcept nogil:
    narrow_rows[brain_t](data, columns, count, row_stride, high, low, lost, NULL)


cdef void float_rows(const char* data, Py_ssize_t columns, Py_ssize_t count, Py_ssize_t row_stride,
                     double* high, double* low, double* lost) noexcept nogil:
    narrow_rows[float](data, columns, count, row_stride, high, low, lost, NULL)


cdef void double_rows(const char* data, Py_ssize_t columns, Py_ssize_t count,
                      Py_ssize_t row_stride, double* high, double* low,
                      double* lost) noexcept nogil:
    cdef Py_ssize_t start, width, first, group
    for first in range(0, count, 16):
        group = count - first if count - first < 16 else 16
        for start in range(0, columns, 32):
            width = columns - start if columns - start < 32 else 32
            pairs_of_rows[double](data + first * row_stride + start * 8, width, group, row_stride,
                                  high + start, low + start, lost + start, NULL)


cdef pairs_t TABLE
TABLE.run[0] = half_run
TABLE.run[1] = brain_run
TABLE.run[2] = float_run
TABLE.run[3] = double_run
TABLE.rows[0] = half_rows
TABLE.rows[1] = brain_rows
TABLE.rows[2] = float_rows
TABLE.rows[3] = double_rows


def table():
    """The kernels of this level, in a capsule."""
    return PyCapsule_New(&TABLE, "reducekit.pairs", NULL)
