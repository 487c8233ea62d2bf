# One text for every CPU level, as kernels.pxi is. The lanes are written in the source, so
# that compilers keep them in vector registers.

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport fabs
from libc.stdint cimport uint16_t, uint32_t, uintptr_t
from libc.string cimport memcpy

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
    void RK_PREFETCH(const void*) noexcept nogil
    double RK_ADD(double, double, double) noexcept nogil
    double RK_SUB(double, double, double) noexcept nogil
    double rk_one

cdef extern from "plain.h":
    Py_ssize_t RK_PLAIN_ROWS
    void rk_plain_rows(const char* data, Py_ssize_t rows, Py_ssize_t stride, double* sums,
                       uint32_t* peak, uint32_t* least) noexcept nogil
    void rk_plain_four(const float* data, double* sums, uint32_t* peak,
                       uint32_t* least) noexcept nogil
    void rk_plain_block(const char* data, Py_ssize_t columns, Py_ssize_t stride, Py_ssize_t ahead,
                        double* sums, uint32_t* peak, uint32_t* least) noexcept nogil
    void rk_enter_sums(const double* sums, Py_ssize_t columns, double* high, double* low,
                       double* lost, const char* next, Py_ssize_t rows, Py_ssize_t stride,
                       Py_ssize_t size) noexcept nogil

# Sizes stand as plain numbers where they are steps of a range, since Cython makes a Python
# loop of a range with a named step.
cdef enum:
    # Elements of a run, or columns, that are summed together: doubles of them fit in the first
    # cache.
    BLOCK = 2048
    # How far ahead of a run memory is asked for, in bytes: the processor's own prefetch
    # stops at each page.
    AHEAD = 16384

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


cdef inline void enter_wide(double x, double one, double* high, double* low,
                            double* lost) noexcept nogil:
    """What `enter` does, with half of the additions for the multiply units."""
    cdef double s, t, e
    s = high[0] + x
    t = RK_SUB(s, one, high[0])
    e = RK_SUB(high[0], one, s - t) + (x - t)
    high[0] = s
    s = RK_ADD(low[0], one, e)
    t = s - low[0]
    lost[0] = RK_ADD(lost[0], one, fabs(RK_SUB(low[0], one, s - t) + RK_SUB(e, one, t)))
    low[0] = s


# Plain addition in double makes no error where all elements are multiples of 2^q and the
# sum of their sizes stays below 2^(q + 53). Largest and smallest size but 0, taken as bits
# beside the addition, show that for nearly all blocks of common data, in half the time of
# additions that keep their errors.
cdef inline bint no_error(const uint32_t* peak, const uint32_t* least, Py_ssize_t lanes,
                          int carries) noexcept nogil:
    """Whether 2^carries elements of 32 bits at a time were added without error."""
    cdef uint32_t top = 0, bottom = <uint32_t>0xffffffff
    cdef Py_ssize_t j
    for j in range(lanes):
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
        RK_PREFETCH(<const char*>&x[i] + AHEAD)
        RK_PREFETCH(<const char*>&x[i] + (AHEAD + 64))
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
    if not no_error(peak, least, 32, 7):
        return False
    for j in range(32):
        enter(h[j], &sum[0], &sum[1], &sum[2])
    return True


cdef void double_run(const char* data, Py_ssize_t count, double* sum) noexcept nogil:
    cdef const double* x = <const double*>data
    cdef double h[32]
    cdef double l[32]
    cdef double d[32]
    cdef double one = rk_one
    cdef Py_ssize_t i = 0, j
    if count >= 64:
        for j in range(32):
            h[j] = -0.0
            l[j] = 0.0
            d[j] = 0.0
        while i + 32 <= count:
            for j in range(4):
                RK_PREFETCH(<const char*>&x[i] + AHEAD + j * 64)
            for j in range(32):
                enter_wide(x[i + j], one, &h[j], &l[j], &d[j])
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


cdef inline void to_floats(const narrow_t* x, float* y, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i, whole = 0
    if narrow_t is half_t:
        whole = count // 16 * 16
        rk_halves_to_floats(<const uint16_t*>x, y, whole)
    for i in range(whole, count):
        y[i] = <float>widen[narrow_t](x[i])


cdef inline void narrow_run(const char* data, Py_ssize_t count, double* sum,
                            const narrow_t* kind) noexcept nogil:
    cdef const narrow_t* x = <const narrow_t*>data
    cdef float single[BLOCK]
    cdef double wide[BLOCK]
    cdef const float* y
    cdef Py_ssize_t start, size, i
    for start in range(0, count, 2048):
        size = count - start if count - start < BLOCK else BLOCK
        if size < 32:
            for i in range(start, start + size):
                enter(widen[narrow_t](x[i]), &sum[0], &sum[1], &sum[2])
            continue
        if narrow_t is float:
            y = x + start
        else:
            for i in range(0, size, 32):
                RK_PREFETCH(<const char*>&x[start + i] + AHEAD)
            to_floats[narrow_t](x + start, single, size)
            y = single
        if not exact_block(y, size, sum):
            for i in range(size):
                wide[i] = y[i]
            double_run(<const char*>wide, size, sum)


# Design. A few rows are read at a time, in blocks of 512 columns, while the next ones are
# asked for: the processor's own prefetch stops at each page. Their sums stay in the first
# cache for 63 rows of float64, or 128 of the others, before they meet those of the caller.
# How many rows at a time was found by trying: 3 of float64 (39 GB/s; 4 rows 36, 6 or 8 rows
# 31), of float32 with AVX-512 8 (44 GB/s; 4 rows 38), where reading alone reaches 43 from
# memory. NumPy's arrays begin within a line of memory, and reading across lines costs a
# quarter, so that blocks begin at the first line; the columns before it and the last that
# fill no block are put together, with -0.0, which changes no sum, in between.
cdef inline Py_ssize_t columns_before_a_line(const char* x, Py_ssize_t columns,
                                             Py_ssize_t row_stride,
                                             Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t head = <Py_ssize_t>(-<uintptr_t>x & 63) // size
    if columns < 128 or row_stride % 64 or head + (columns - head) % 32 > 32:
        return 0
    return head


cdef inline void fill(item_t* room) noexcept nogil:
    """With what changes no sum."""
    cdef Py_ssize_t j
    for j in range(32):
        if item_t is half_t or item_t is brain_t:
            room[j] = 0x8000
        else:
            room[j] = -0.0


cdef inline void edges(const item_t* row, Py_ssize_t columns, Py_ssize_t head, Py_ssize_t tail,
                       item_t* copied) noexcept nogil:
    """The first and the last columns of a row, together at most 32, into a room that is filled."""
    memcpy(copied, row, head * sizeof(item_t))
    memcpy(copied + 32 - tail, row + columns - tail, tail * sizeof(item_t))


cdef inline void ask_for_rows(const char* x, Py_ssize_t rows, Py_ssize_t row_stride,
                              Py_ssize_t size) noexcept nogil:
    """Ask for the first bytes of some rows."""
    cdef Py_ssize_t r, i
    for r in range(rows):
        for i in range(0, size, 64):
            RK_PREFETCH(x + r * row_stride + i)


cdef inline void ask_for_edges(const char* x, Py_ssize_t head, Py_ssize_t last,
                               Py_ssize_t end) noexcept nogil:
    """Ask for the first bytes of a row, if there are any, and for those behind the last block."""
    if head:
        RK_PREFETCH(x)
    if last < end:
        RK_PREFETCH(x + last)
        RK_PREFETCH(x + end - 1)


cdef inline Py_ssize_t next_rows(Py_ssize_t row_stride, Py_ssize_t r, Py_ssize_t rows,
                                 Py_ssize_t group, Py_ssize_t across,
                                 Py_ssize_t back) noexcept nogil:
    """How far the rows are that are read next: below, in the next block, or in the first."""
    if r + rows < group:
        return rows * row_stride
    return across - r * row_stride if across else (group - r) * row_stride - back


cdef inline void pairs_of_rows(const char* data, Py_ssize_t row_stride, double* high, double* low,
                               double* lost) noexcept nogil:
    """Add four rows of 32 float64 to pairs."""
    cdef const double* a = <const double*>data
    cdef const double* b = <const double*>(data + row_stride)
    cdef const double* c = <const double*>(data + 2 * row_stride)
    cdef const double* d = <const double*>(data + 3 * row_stride)
    cdef double one = rk_one
    cdef double x, y, z
    cdef Py_ssize_t j
    for j in range(32):
        x = high[j]
        y = low[j]
        z = lost[j]
        enter_wide(a[j], one, &x, &y, &z)
        enter_wide(b[j], one, &x, &y, &z)
        enter_wide(c[j], one, &x, &y, &z)
        enter_wide(d[j], one, &x, &y, &z)
        high[j] = x
        low[j] = y
        lost[j] = z


cdef void double_rows(const char* data, Py_ssize_t columns, Py_ssize_t count,
                      Py_ssize_t row_stride, double* high, double* low,
                      double* lost) noexcept nogil:
    # Sums in arrays of its own, which the compiler knows not to overlap the rows.
    cdef double h[BLOCK]
    cdef double l[BLOCK]
    cdef double t[BLOCK]
    cdef double copied[32]
    cdef double one = rk_one
    cdef Py_ssize_t head = columns_before_a_line(data, columns, row_stride, 8)
    cdef Py_ssize_t tail = (columns - head) % 32
    cdef Py_ssize_t last = columns - tail, rest = 32 - tail
    cdef Py_ssize_t first, group, start, width, ahead, r, i, j
    cdef const double* y
    cdef const char* x
    for first in range(0, count, 64):
        group = count - first if count - first < 64 else 64
        start = head
        while start < last:
            width = last - start if last - start < BLOCK else BLOCK
            for j in range(width):
                h[j] = high[start + j]
                l[j] = low[start + j]
                t[j] = lost[start + j]
            for r in range(0, group - 3, 4):
                ahead = next_rows(row_stride, r, 4, group,
                                  width * 8 if start + width < last else 0, (start - head) * 8)
                for i in range(0, width, 32):
                    x = data + (first + r) * row_stride + (start + i) * 8
                    ask_for_rows(x + ahead, 4, row_stride, 256)
                    pairs_of_rows(x, row_stride, h + i, l + i, t + i)
            for r in range(group // 4 * 4, group):
                y = <const double*>(data + (first + r) * row_stride) + start
                for j in range(width):
                    enter_wide(y[j], one, &h[j], &l[j], &t[j])
            for j in range(width):
                high[start + j] = h[j]
                low[start + j] = l[j]
                lost[start + j] = t[j]
            start += width
        if head + tail == 0:
            continue
        for j in range(32):
            h[j] = -0.0
            l[j] = t[j] = 0.0
        for j in range(head):
            h[j] = high[j]
            l[j] = low[j]
            t[j] = lost[j]
        for j in range(tail):
            h[rest + j] = high[last + j]
            l[rest + j] = low[last + j]
            t[rest + j] = lost[last + j]
        fill(copied)
        for r in range(group):
            y = <const double*>(data + (first + r) * row_stride)
            ask_for_edges(<const char*>y + 8 * row_stride, head * 8, last * 8, columns * 8)
            edges[double](y, columns, head, tail, copied)
            for j in range(32):
                enter_wide(copied[j], one, &h[j], &l[j], &t[j])
        for j in range(head):
            high[j] = h[j]
            low[j] = l[j]
            lost[j] = t[j]
        for j in range(tail):
            high[last + j] = h[rest + j]
            low[last + j] = l[rest + j]
            lost[last + j] = t[rest + j]


cdef inline void enter_rows(const char* data, Py_ssize_t columns, Py_ssize_t count,
                            Py_ssize_t row_stride, const double* sum, bint exact, double* high,
                            double* low, double* lost, const narrow_t* kind) noexcept nogil:
    """Add the plain sums of rows of at most 32, or the rows where these are not exact."""
    cdef double wide[2048]
    cdef Py_ssize_t first, group, r, j
    if exact:
        for j in range(columns):
            enter(sum[j], &high[j], &low[j], &lost[j])
        return
    for first in range(0, count, 64):
        group = count - first if count - first < 64 else 64
        for r in range(group):
            for j in range(columns):
                wide[r * 32 + j] = widen[narrow_t](
                    (<const narrow_t*>(data + (first + r) * row_stride))[j])
        double_rows(<const char*>wide, columns, group, 256, high, low, lost)


cdef inline void narrow_rows(const char* data, Py_ssize_t columns, Py_ssize_t count,
                             Py_ssize_t row_stride, double* high, double* low, double* lost,
                             const narrow_t* kind) noexcept nogil:
    cdef double sum[2 * BLOCK]
    cdef uint32_t peak[BLOCK]
    cdef uint32_t least[BLOCK]
    cdef float copied[128]      # of four rows
    cdef narrow_t edge[128]
    cdef Py_ssize_t size = sizeof(narrow_t)
    cdef Py_ssize_t head = columns_before_a_line(data, columns, row_stride, size)
    cdef Py_ssize_t tail = (columns - head) % 32
    cdef Py_ssize_t last = columns - tail, rest = 32 - tail
    cdef Py_ssize_t first, group, start, width, ahead, r, i, j, k
    cdef Py_ssize_t together = RK_PLAIN_ROWS if narrow_t is float else 4
    cdef const char* x
    cdef bint exact
    for first in range(0, count, 128):
        group = count - first if count - first < 128 else 128
        start = head
        while start < last:
            width = last - start if last - start < 2 * BLOCK else 2 * BLOCK
            for j in range(width):
                sum[j] = -0.0
            for j in range(width // 2):
                peak[j] = 0
                least[j] = <uint32_t>0xffffffff
            r = 0
            while r + together <= group:
                ahead = next_rows(row_stride, r, together, group,
                                  width * size if start + width < last else 0,
                                  (start - head) * size)
                x = data + (first + r) * row_stride + start * size
                if narrow_t is float:
                    rk_plain_block(x, width, row_stride, ahead, sum, peak, least)
                else:
                    for i in range(0, width, 32):
                        ask_for_rows(x + ahead, 4, row_stride, 128)
                        for k in range(4):
                            to_floats[narrow_t](<const narrow_t*>(x + k * row_stride),
                                                copied + k * 32, 32)
                        rk_plain_four(copied, sum + i, peak + i // 2, least + i // 2)
                        x += 64
                r += together
            for i in range(0, width if r < group else 0, 32):
                x = data + (first + r) * row_stride + (start + i) * size
                if narrow_t is float:
                    rk_plain_rows(x, group - r, row_stride, sum + i, peak + i // 2, least + i // 2)
                else:
                    for k in range(group - r):
                        to_floats[narrow_t](<const narrow_t*>(x + k * row_stride),
                                            copied + k * 32, 32)
                    rk_plain_rows(<const char*>copied, group - r, 128, sum + i, peak + i // 2,
                                  least + i // 2)
            # Halves are multiples of 2^-24 below 2^16: no sum of so few has an error.
            exact = narrow_t is half_t or no_error(peak, least, width // 2, 7)
            if exact:
                x = data + (first + (0 if r < group else together)) * row_stride
                x += ((start + width) * size if start + width < last
                      else group * row_stride + head * size)
                rk_enter_sums(sum, width, high + start, low + start, lost + start, x, together,
                              row_stride, size)
            else:
                for i in range(0, width, 32):
                    exact = no_error(peak + i // 2, least + i // 2, 16, 7)
                    k = start + i
                    enter_rows[narrow_t](data + first * row_stride + k * size, 32, group,
                                         row_stride, sum + i, exact, high + k, low + k, lost + k,
                                         kind)
            start += width
        if head + tail == 0:
            continue
        for j in range(32):
            sum[j] = -0.0
        for j in range(16):
            peak[j] = 0
            least[j] = <uint32_t>0xffffffff
        for r in range(4):
            fill(edge + r * 32)
        for r in range(0, group, 4):
            k = group - r if group - r < 4 else 4
            for i in range(k):
                x = data + (first + r + i) * row_stride
                ask_for_edges(x + 8 * row_stride, head * size, last * size, columns * size)
                edges[narrow_t](<const narrow_t*>x, columns, head, tail, edge + i * 32)
            to_floats[narrow_t](edge, copied, k * 32)
            rk_plain_rows(<const char*>copied, k, 128, sum, peak, least)
        exact = narrow_t is half_t or no_error(peak, least, 16, 7)
        x = data + first * row_stride
        enter_rows[narrow_t](x, head, group, row_stride, sum, exact, high, low, lost, kind)
        enter_rows[narrow_t](x + last * size, tail, group, row_stride, sum + rest, exact,
                             high + last, low + last, lost + last, kind)


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
