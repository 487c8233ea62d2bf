# One text for every CPU level, as kernels.pxi is. The lanes are written in the source, so
# that compilers keep them in vector registers.

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport fabs
from libc.stdint cimport uint16_t

from .pairs cimport pairs_t

cdef extern from "../_kernels/bits.h":
    # Cython takes two names for one type as one; what it is told here is only a hint,
    # the C types are those of the header.
    ctypedef unsigned short half_t
    ctypedef unsigned int brain_t
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


cdef bint exact_block(const float* x, Py_ssize_t count, double* sum) noexcept nogil:
    """Add a block if plain addition in double makes no error, as in most data."""
    cdef double h[32]
    cdef double d[32]
    cdef double s, t, y
    cdef Py_ssize_t i, j
    cdef double lost = 0.0
    for j in range(32):
        h[j] = -0.0
        d[j] = 0.0
    i = 0
    while i + 32 <= count:
        for j in range(32):
            y = x[i + j]
            s = h[j] + y
            t = s - h[j]
            d[j] += fabs((h[j] - (s - t)) + (y - t))
            h[j] = s
        i += 32
    for j in range(count - i):
        y = x[i + j]
        s = h[j] + y
        t = s - h[j]
        d[j] += fabs((h[j] - (s - t)) + (y - t))
        h[j] = s
    for j in range(32):
        lost += d[j]
    if lost != 0:               # so is NaN
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


cdef inline void rows(const char* data, Py_ssize_t columns, Py_ssize_t count,
                      Py_ssize_t row_stride, double* high, double* low, double* lost,
                      const item_t* kind) noexcept nogil:
    cdef const item_t* x
    cdef double h[32]
    cdef double l[32]
    cdef double d[32]
    cdef double s, t, e, y
    cdef Py_ssize_t start, width, r, j
    for start in range(0, columns, 32):
        width = columns - start if columns - start < 32 else 32
        for j in range(width):
            h[j] = high[start + j]
            l[j] = low[start + j]
            d[j] = lost[start + j]
        x = <const item_t*>data + start
        for r in range(count):
            if width == 32:
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
            else:
                for j in range(width):
                    enter(widen[item_t](x[j]), &h[j], &l[j], &d[j])
            x = <const item_t*>(<const char*>x + row_stride)
        for j in range(width):
            high[start + j] = h[j]
            low[start + j] = l[j]
            lost[start + j] = d[j]


cdef void half_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    narrow_run[half_t](data, count, sum, NULL)


cdef void brain_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    narrow_run[brain_t](data, count, sum, NULL)


cdef void float_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    narrow_run[float](data, count, sum, NULL)


cdef void half_rows(const char* data, Py_ssize_t columns, Py_ssize_t count, Py_ssize_t row_stride,
                    double* high, double* low, double* lost) noexcept nogil:
    rows[half_t](data, columns, count, row_stride, high, low, lost, NULL)


cdef void brain_rows(const char* data, Py_ssize_t columns, Py_ssize_t count, Py_ssize_t row_stride,
                     double* high, double* low, double* lost) noexcept nogil:
    rows[brain_t](data, columns, count, row_stride, high, low, lost, NULL)


cdef void float_rows(const char* data, Py_ssize_t columns, Py_ssize_t count, Py_ssize_t row_stride,
                     double* high, double* low, double* lost) noexcept nogil:
    rows[float](data, columns, count, row_stride, high, low, lost, NULL)


cdef void double_rows(const char* data, Py_ssize_t columns, Py_ssize_t count,
                      Py_ssize_t row_stride, double* high, double* low,
                      double* lost) noexcept nogil:
    rows[double](data, columns, count, row_stride, high, low, lost, NULL)


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
