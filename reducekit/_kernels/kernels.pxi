# The kernels, one text for every CPU level: _generic.pyx, _x86_avx2.pyx and
# _x86_avx512.pyx include it and differ only in what the compiler is told.
#
# Design. A kernel folds elements into a state (kernels.pxd says what its arrays
# mean). It works on a fixed number of *lanes*, small local arrays that the compiler
# keeps in vector registers, and folds them at the end. The lanes are written in the
# source, so the order of every addition is the same at each level and so are the
# bits. Rows are accumulated into local arrays, because a compiler must assume that
# a state passed by pointer overlaps the data, and then gives up vectors.
#
# Extremes of floats are those of integer keys made from the bits (bits.h). A compare
# of floats drops NaNs and mixes zeros, and gathering evidence of both beside it takes longer.

from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from cpython.pycapsule cimport PyCapsule_New
from libc.string cimport memcpy, memset
from libc.math cimport isfinite, isnan
from .bind cimport bind1, bind2
from .kernels cimport (
    few_t, finish_t, fold_t, init_t, kernels_t, rows_t, runs_t, state_t, table_t,
)

cdef extern from "bits.h":
    # Cython takes two names for one type as one; what it is told here is only a hint,
    # the C types are those of the header.
    ctypedef unsigned short half_t
    ctypedef unsigned int brain_t
    double rk_one
    int8_t rk_key8(int8_t bits, int8_t flip) noexcept nogil
    int16_t rk_key16(int16_t bits, int16_t flip, int16_t fold, int16_t turn) noexcept nogil
    int32_t rk_key32(int32_t bits, int32_t flip, int32_t fold, int32_t turn) noexcept nogil
    int64_t rk_key64(int64_t bits, int64_t flip, int64_t fold, int64_t turn) noexcept nogil
    int16_t rk_unkey16(int16_t key, int16_t flip, int16_t fold, int16_t turn) noexcept nogil
    int32_t rk_unkey32(int32_t key, int32_t flip, int32_t fold, int32_t turn) noexcept nogil
    int64_t rk_unkey64(int64_t key, int64_t flip, int64_t fold, int64_t turn) noexcept nogil
    float rk_float(uint32_t bits) noexcept nogil
    double rk_double(uint64_t bits) noexcept nogil
    uint32_t rk_bits32(float x) noexcept nogil
    uint64_t rk_bits64(double x) noexcept nogil
    float rk_half_to_float(uint16_t) noexcept nogil
    float rk_brain_to_float(uint16_t) noexcept nogil
    void rk_halves_to_floats(const uint16_t*, float*, Py_ssize_t) noexcept nogil
    void rk_doubles_to_halves(const double*, uint16_t*, Py_ssize_t) noexcept nogil
    uint16_t rk_double_to_half(double) noexcept nogil
    uint16_t rk_double_to_brain(double) noexcept nogil
    float rk_odd_float(double) noexcept nogil
    uint16_t rk_float_to_half(float) noexcept nogil
    uint16_t rk_float_to_brain(float) noexcept nogil
    const uint64_t* RK_NEW
    void RK_PREFETCH(const void*) noexcept nogil
    Py_ssize_t RK_AHEAD

cdef extern from "lanes.h":
    void rk_double_runs(const char*, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t ahead,
                        Py_ssize_t size,
                        int period, double* sums, double* rests, double* peak,
                        bint peaks) noexcept nogil
    void rk_enter_group(const double* sums, const double* rests, Py_ssize_t count, double* a,
                        double* b) noexcept nogil
    void rk_float_runs(const char*, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t ahead,
                       Py_ssize_t size,
                       int period, double* sums, float* peak) noexcept nogil
    void rk_short_float_runs(const char*, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t ahead,
                             Py_ssize_t size, int period, double* sums, uint16_t* span,
                             bint brain) noexcept nogil
    void rk_double_rows(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                        double* sums, double* rests, double* peak, bint peaks) noexcept nogil
    void rk_float_rows(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                       double* sums, float* peak, uint32_t* least, bint leasts) noexcept nogil
    void rk_short_float_rows(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                             double* sums, uint16_t* mosts, uint16_t* leasts,
                             bint brain) noexcept nogil
    bint rk_few_doubles(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                        double* out) noexcept nogil
    bint rk_few_floats(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                       float* out) noexcept nogil
    bint rk_few_brains(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                       double* sums) noexcept nogil
    void rk_short_sums(const char*, Py_ssize_t count, Py_ssize_t run, double* sums,
                       double* rests, bint single, bint pairs) noexcept nogil

ctypedef fused word_t:
    int8_t                     # order keys, of which the largest is wanted
    int16_t
    int32_t
    int64_t
    uint8_t                    # integers, to be added
    uint16_t
    uint32_t
    uint64_t

ctypedef fused item_t:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double

ctypedef fused narrow_t:       # floats whose sum is carried in double
    half_t
    brain_t
    float

ctypedef fused bound_t:        # those whose sums need a bound
    brain_t
    float

# The sizes stand as plain numbers below, since Cython makes a Python loop of a range
# with a named step: 256 bytes of lanes (four registers of 512 bits), 512 columns in
# the local arrays of a row kernel, and blocks of 4096 elements or 128 rows that are
# summed before they meet the compensated pair.

# 2^-53 times the longest chain of additions in a block, which is 128 rows, or 4096
# elements in 32 lanes and their folding, with room for the rounding of the bound.
cdef double CHAIN_ERROR = 160.0 * 2.0 ** -53
cdef double ROUND_OFF = 2.0 ** -53
# Up to here the pair of a float16 sum is exact: its second part is a multiple of 2^-24
# below 2^-53 terms * (2^16 terms), which 53 bits hold.
cdef double MOST_HALVES = 2.0 ** 33


cdef inline void ask_ahead(const char* p) noexcept nogil:
    """Ask for 256 bytes of memory that will be read soon."""
    RK_PREFETCH(p)
    RK_PREFETCH(p + 64)
    RK_PREFETCH(p + 128)
    RK_PREFETCH(p + 192)


cdef inline Py_ssize_t way_ahead(Py_ssize_t outer, Py_ssize_t outer_stride) noexcept nogil:
    """From what is read now to what will be read soon, in bytes: in one run, or in many."""
    return RK_AHEAD if outer == 1 else 4 * outer_stride


cdef inline Py_ssize_t next_group(Py_ssize_t t, Py_ssize_t groups, Py_ssize_t outer,
                                  bint across, Py_ssize_t* o) noexcept nogil:
    """Step t of a walk over 16 outputs at a time and an outer loop: which outputs come first.

    Either all outputs for each step of the outer loop, or `across`, the other way round.
    """
    if outer == 1 or not across:
        o[0] = t // groups if outer > 1 else 0
        return 16 * (t - groups * o[0])
    o[0] = t % outer
    return 16 * (t // outer)


cdef inline Py_ssize_t how_far(Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t kept,
                               Py_ssize_t kept_stride, Py_ssize_t size) noexcept nogil:
    """As way_ahead, for such a walk over runs of `size` bytes."""
    if outer == 1 or kept_stride == size and kept > 1:
        return RK_AHEAD
    return outer_stride if outer_stride < kept_stride or kept == 1 else 4 * kept_stride


cdef inline void ask_for(const char* p, Py_ssize_t size) noexcept nogil:
    """Ask for `size` bytes that come RK_AHEAD bytes after p."""
    cdef Py_ssize_t i
    for i in range(0, size, 64):
        RK_PREFETCH(p + RK_AHEAD + i)


cdef inline void emit(const item_t* results, Py_ssize_t count, char* out,
                      Py_ssize_t out_stride) noexcept nogil:
    cdef Py_ssize_t i
    if out_stride == <Py_ssize_t>sizeof(item_t):
        memcpy(out, results, count * sizeof(item_t))
        return
    for i in range(count):
        (<item_t*>(out + i * out_stride))[0] = results[i]


# ---------------------------------------------------------------- words
#
# Sums of integers and extremes of order keys (bits.h says which) differ only in how two
# elements become one, so one family serves both: unsigned words are added, and wrap by
# definition; of signed ones the larger is kept. An extreme thus needs no evidence of NaN or of
# the sign of a zero, and both directions and all types of one size share a kernel.

cdef inline word_t take(word_t bits, word_t flip, word_t fold, word_t turn) noexcept nogil:
    """An element, as it is joined to others."""
    if word_t is int8_t:
        return rk_key8(bits, flip)
    elif word_t is int16_t:
        return rk_key16(bits, flip, fold, turn)
    elif word_t is int32_t:
        return rk_key32(bits, flip, fold, turn)
    elif word_t is int64_t:
        return rk_key64(bits, flip, fold, turn)
    else:
        return bits


cdef inline word_t bits_of(word_t key, word_t flip, word_t fold, word_t turn) noexcept nogil:
    if word_t is int8_t:
        return rk_key8(key, flip)
    elif word_t is int16_t:
        return rk_unkey16(key, flip, fold, turn)
    elif word_t is int32_t:
        return rk_unkey32(key, flip, fold, turn)
    elif word_t is int64_t:
        return rk_unkey64(key, flip, fold, turn)
    else:
        return key


cdef inline bint are_keys(const word_t* kind) noexcept nogil:
    return <word_t>(~<uint64_t>0) < <word_t>1


cdef inline word_t join(word_t x, word_t y) noexcept nogil:
    if are_keys[word_t](NULL):
        return x if x > y else y
    else:
        return <word_t>(x + y)


cdef inline word_t neutral(const word_t* kind) noexcept nogil:
    """What changes nothing: the least key, or nothing."""
    if are_keys[word_t](NULL):
        return <word_t>(<uint64_t>1 << (8 * sizeof(word_t) - 1))
    else:
        return 0


cdef inline void give(const word_t* words, Py_ssize_t step, Py_ssize_t count, word_t* to,
                      const state_t* state) noexcept nogil:
    """Results; a NaN is the quiet one."""
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef word_t infinity = <word_t>(~neutral[word_t](NULL) - turn)
    cdef word_t quiet = <word_t>(infinity | (turn + 1) >> 1)
    cdef word_t top = <word_t>(infinity - turn), key
    cdef Py_ssize_t i
    # Of integers the top is the largest key there is.
    for i in range(count):
        key = words[i * step]
        if are_keys[word_t](NULL):
            to[i] = quiet if key > top else bits_of(key, flip, fold, turn)
        else:
            to[i] = key


cdef inline void word_init(Py_ssize_t first, Py_ssize_t count, state_t* state,
                           const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    cdef Py_ssize_t i
    for i in range(first, first + count):
        a[i] = neutral[word_t](NULL)


cdef inline Py_ssize_t halve(const word_t* source, word_t* to, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        to[i] = join(source[2 * i], source[2 * i + 1])
    return count


cdef inline void run_lanes(const char* data, Py_ssize_t outer, Py_ssize_t outer_stride,
                           Py_ssize_t run, Py_ssize_t ahead, const state_t* state,
                           word_t* lanes) noexcept nogil:
    """Fold runs of 64 bytes and more, and leave 64 bytes of lanes."""
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef const word_t[::1] v = None
    cdef const word_t* new             # all bits where an element was not met before
    cdef word_t lane[256]
    cdef word_t x, best = neutral[word_t](NULL)
    cdef Py_ssize_t o, b, k, start, end, old, period = state.period
    cdef Py_ssize_t blocks = run // <Py_ssize_t>(256 // sizeof(word_t))
    for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
        lane[k] = neutral[word_t](NULL)
    for o in range(outer):
        bind1(data + o * outer_stride, run, sizeof(word_t), v)
        if sizeof(word_t) > 1 and are_keys[word_t](NULL) and fold == 0:
            # Keys of integers take one operation, not four (int32 in cache: 193 and 177 GB/s).
            for b in range(blocks):
                ask_ahead(data + o * outer_stride + b * 256 + ahead)
                for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
                    lane[k] = join(v[b * <Py_ssize_t>(256 // sizeof(word_t)) + k] ^ flip, lane[k])
        else:
            for b in range(blocks):
                ask_ahead(data + o * outer_stride + b * 256 + ahead)
                for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
                    lane[k] = join(take(v[b * <Py_ssize_t>(256 // sizeof(word_t)) + k],
                                        flip, fold, turn), lane[k])
                # Of bytes, the largest key there is ends the search early.
                if (are_keys[word_t](NULL) and sizeof(word_t) == 1 and b & 15 == 0
                        and lane[0] == 127 and period == 1):
                    break
        # What is left is met by lanes that end with the run, or, of a strided run, with the
        # element before the last. An extreme may meet an element twice.
        if period > 1:
            best = join(take(v[run - 1], flip, fold, turn), best)
        end = run if period == 1 else run - 1
        if blocks:
            start = end - <Py_ssize_t>(256 // sizeof(word_t))
            old = blocks * <Py_ssize_t>(256 // sizeof(word_t)) - start
            if old == <Py_ssize_t>(256 // sizeof(word_t)):
                continue
            new = <const word_t*>(<const char*>RK_NEW + 256) - old
            for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
                x = take(v[start + k], flip, fold, turn)
                if are_keys[word_t](NULL):
                    lane[k] = join(x, lane[k])
                else:
                    lane[k] = join(x & new[k], lane[k])
            continue
        start = 0
        while start + <Py_ssize_t>(64 // sizeof(word_t)) <= end:
            for k in range(<Py_ssize_t>(64 // sizeof(word_t))):
                lane[k] = join(take(v[start + k], flip, fold, turn), lane[k])
            start += <Py_ssize_t>(64 // sizeof(word_t))
        start = end - <Py_ssize_t>(64 // sizeof(word_t))
        old = <Py_ssize_t>(64 // sizeof(word_t)) - end % <Py_ssize_t>(64 // sizeof(word_t))
        if old == <Py_ssize_t>(64 // sizeof(word_t)):
            continue
        new = <const word_t*>(<const char*>RK_NEW + 256) - old
        for k in range(<Py_ssize_t>(64 // sizeof(word_t))):
            x = take(v[start + k], flip, fold, turn)
            if are_keys[word_t](NULL):
                lane[k] = join(x, lane[k])
            else:
                lane[k] = join(x & new[k], lane[k])
    for k in range(<Py_ssize_t>(64 // sizeof(word_t))):
        lanes[k] = join(join(lane[k], lane[k + <Py_ssize_t>(64 // sizeof(word_t))]),
                        join(lane[k + <Py_ssize_t>(128 // sizeof(word_t))],
                             lane[k + <Py_ssize_t>(192 // sizeof(word_t))]))
    if period > 1:
        for k in range(<Py_ssize_t>(64 // sizeof(word_t))):
            lanes[k] = neutral[word_t](NULL) if k & (period - 1) else lanes[k]
        lanes[0] = join(best, lanes[0])


cdef inline void word_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                           Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                           state_t* state, const word_t* kind, int order) noexcept nogil:
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef word_t* a = <word_t*>state.a
    cdef int64_t one[128]              # 16 times 64 bytes
    cdef int64_t two[64]
    cdef word_t* source
    cdef word_t* to
    cdef const word_t* v
    cdef word_t* swap
    cdef word_t best
    cdef Py_ssize_t first, i, o, k, count, left, ahead = way_ahead(outer, outer_stride)
    if state.fresh:
        word_init(0, kept, state, kind, 0)
        state.fresh = False
    if run < <Py_ssize_t>(64 // sizeof(word_t)):
        for i in range(kept):
            best = a[i]
            for o in range(outer):
                v = <const word_t*>(data + i * kept_stride + o * outer_stride)
                for k in range(run):
                    best = join(take(v[k], flip, fold, turn), best)
            a[i] = best
        return
    # The lanes of 16 runs are folded together: of bytes, folding those of one run took longer
    # than 1000 elements.
    for first in range(0, kept, 16):
        count = kept - first if kept - first < 16 else 16
        source = <word_t*>one
        to = <word_t*>two
        left = 64 // sizeof(word_t)
        for i in range(count):
            run_lanes[word_t](data + (first + i) * kept_stride, outer, outer_stride, run, ahead,
                              state, source + i * left)
        while left > 1:
            left //= 2
            halve(source, to, count * left)
            swap = source
            source = to
            to = swap
        for i in range(count):
            a[first + i] = join(source[i], a[first + i])


cdef inline void word_pass(const word_t[:, ::1] v, Py_ssize_t r, int count, word_t* best,
                           Py_ssize_t width, word_t flip, word_t fold, word_t turn,
                           const bint first) noexcept nogil:
    """One, two, three or four rows into a vector; `first` says that it holds nothing yet."""
    cdef Py_ssize_t j
    cdef word_t x
    for j in range(width):
        x = take(v[r, j], flip, fold, turn)
        if count > 1:
            x = join(take(v[r + 1, j], flip, fold, turn), x)
        if count > 2:
            x = join(take(v[r + 2, j], flip, fold, turn), x)
        if count > 3:
            x = join(take(v[r + 3, j], flip, fold, turn), x)
        best[j] = x if first else join(x, best[j])


cdef inline void word_columns(const char* data, Py_ssize_t width, Py_ssize_t rows,
                              Py_ssize_t row_stride, word_t* best, const state_t* state,
                              const bint fresh) noexcept nogil:
    """Columns into an array that may hold something already."""
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef const word_t[:, ::1] v = None
    cdef Py_ssize_t r = 0
    bind2(data, rows, width, row_stride, sizeof(word_t), v)
    if fresh:
        r = rows & 3
        if r == 1:
            word_pass(v, 0, 1, best, width, flip, fold, turn, True)
        elif r == 2:
            word_pass(v, 0, 2, best, width, flip, fold, turn, True)
        elif r == 3:
            word_pass(v, 0, 3, best, width, flip, fold, turn, True)
        else:
            word_pass(v, 0, 4, best, width, flip, fold, turn, True)
            r = 4
    while r + 4 <= rows:
        word_pass(v, r, 4, best, width, flip, fold, turn, False)
        r += 4
    while r < rows:
        word_pass(v, r, 1, best, width, flip, fold, turn, False)
        r += 1


cdef inline void word_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                           Py_ssize_t row_stride, state_t* state,
                           const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    cdef int64_t room[512]
    cdef word_t* best = <word_t*>room
    cdef Py_ssize_t first = 0, width, size = sizeof(word_t), most = 4096 // size
    while first < columns:
        width = columns - first if columns - first < most else most
        if state.fresh:
            word_columns(data + first * size, width, rows, row_stride, best, state, True)
        else:
            memcpy(best, a + first, width * size)
            word_columns(data + first * size, width, rows, row_stride, best, state, False)
        memcpy(a + first, best, width * size)
        first += most
    state.fresh = False


cdef inline bint word_few_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                               Py_ssize_t row_stride, char* out, const state_t* state,
                               const word_t* kind, int order) noexcept nogil:
    cdef int64_t room[512]
    cdef word_t* best = <word_t*>room
    cdef Py_ssize_t first = 0, width, size = sizeof(word_t), most = 4096 // size
    while first < columns:
        width = columns - first if columns - first < most else most
        word_columns(data + first * size, width, rows, row_stride, best, state, True)
        give(best, 1, width, <word_t*>out + first, state)
        first += most
    return True


cdef inline Py_ssize_t runs_that_fit(Py_ssize_t run, Py_ssize_t room) noexcept nogil:
    """Runs whose elements, or what the first division leaves of them, fill the buffers."""
    return (2 * room if run % 2 == 0 or run % 3 == 0 else room) // run


cdef inline Py_ssize_t third(const word_t* source, word_t* to, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        to[i] = join(join(source[3 * i], source[3 * i + 1]), source[3 * i + 2])
    return count


cdef inline void slide(const word_t* source, word_t* to, Py_ssize_t count,
                       Py_ssize_t width) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        to[i] = join(source[i], source[i + width])


cdef inline word_t* squeeze(const word_t* source, word_t* one, word_t* two, word_t* three,
                            Py_ssize_t kept, Py_ssize_t run) noexcept nogil:
    """Reduce `kept` runs, one behind the other; the results are in one of the buffers.

    Runs are divided by two and by three with vectors. What is left (5, 7, 11 ...) is met by
    windows of 2, 4, 8 ... elements that begin at every element: more than is needed, but
    all of it vectors; each run then takes the windows that cover it.
    """
    cdef word_t* to = one
    cdef word_t* other = two
    cdef word_t* swap
    cdef const word_t* window
    cdef word_t x
    cdef Py_ssize_t i, k, width
    while run % 2 == 0 or run % 3 == 0:
        if run % 2 == 0:
            run //= 2
            halve(source, to, kept * run)
        else:
            run //= 3
            third(source, to, kept * run)
        source = to
        swap = to
        to = other
        other = swap
    if run == 1:
        return other
    window = source
    other = three
    width = 1
    while 2 * width <= run:
        slide(window, to, kept * run - 2 * width + 1, width)
        window = to
        swap = to
        to = other
        other = swap
        width *= 2
    for i in range(kept):
        x = window[i * run]
        if are_keys[word_t](NULL):     # an extreme may meet an element twice
            x = join(window[i * run + run - width], x)
        else:
            for k in range(width, run):
                x = join(source[i * run + k], x)
        to[i] = x
    return to


cdef inline const word_t* squeeze_runs(const word_t* v, Py_ssize_t size, Py_ssize_t run,
                                       word_t* keys, word_t* one, word_t* two, word_t* three,
                                       const state_t* state) noexcept nogil:
    """What `size` short runs come to, in one of the buffers."""
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef Py_ssize_t i
    ask_for(<const char*>v, size * run * <Py_ssize_t>sizeof(word_t))
    if are_keys[word_t](NULL):
        for i in range(size * run):
            keys[i] = take(v[i], flip, fold, turn)
        v = keys
    return squeeze(v, one, two, three, size, run)


cdef inline void word_short(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                            Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                            state_t* state, const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    cdef word_t keys[1024]
    cdef word_t one[512]
    cdef word_t two[512]
    cdef word_t three[512]
    cdef const word_t* results
    cdef Py_ssize_t i, o, start, size, most = runs_that_fit(run, 512)
    for o in range(outer):
        start = 0
        while start < kept:
            size = kept - start if kept - start < most else most
            results = squeeze_runs(
                <const word_t*>(data + start * kept_stride + o * outer_stride), size, run, keys,
                one, two, three, state)
            if state.fresh:
                memcpy(a + start, results, size * sizeof(word_t))
            else:
                for i in range(size):
                    a[start + i] = join(results[i], a[start + i])
            start += most
        state.fresh = False


cdef inline bint word_few_runs(const char* data, Py_ssize_t kept, Py_ssize_t run,
                               Py_ssize_t unused, char* out, const state_t* state,
                               const word_t* kind, int order) noexcept nogil:
    cdef word_t keys[1024]
    cdef word_t one[512]
    cdef word_t two[512]
    cdef word_t three[512]
    cdef const word_t* results
    cdef Py_ssize_t size, start = 0, most = runs_that_fit(run, 512)
    while start < kept:
        size = kept - start if kept - start < most else most
        results = squeeze_runs(<const word_t*>data + start * run, size, run, keys, one, two,
                               three, state)
        give(results, 1, size, <word_t*>out + start, state)
        start += most
    return True


cdef inline void word_fold(Py_ssize_t columns, Py_ssize_t period, state_t* state,
                           const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    cdef Py_ssize_t j, half
    while columns > period:
        half = columns // 2
        for j in range(half):
            a[j] = join(a[j], a[half + j])
        columns = half


cdef inline Py_ssize_t word_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                                   Py_ssize_t out_stride, Py_ssize_t* suspects, state_t* state,
                                   const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    if out_stride == <Py_ssize_t>sizeof(word_t):
        give(a, step, count, <word_t*>out, state)
    else:
        give(a, step, count, a, state)
        emit[word_t](a, count, out, out_stride)
    return 0


cdef Py_ssize_t bool_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                            Py_ssize_t out_stride, Py_ssize_t* suspects,
                            state_t* state, const void* kind, int order) noexcept nogil:
    # A byte other than 0 and 1 can only come from a view; NumPy calls it True.
    cdef int8_t* a = <int8_t*>state.a
    cdef int8_t flip = <int8_t>state.flip
    cdef Py_ssize_t i
    for i in range(count):
        (<uint8_t*>(out + i * out_stride))[0] = a[i * step] != flip
    return 0


# ---------------------------------------------------------------- float16, bfloat16, float32: sum
#
# The sum is carried in double. Blocks are summed plainly, then enter a pair (a, b)
# without error. `c` keeps the bits of the largest magnitude, so that `finish` can
# bound the error and prove that the rounded result is the rounded true sum; where
# it cannot, the output is a suspect and is summed again, exactly. float16 needs no
# bound: its elements are multiples of 2^-24 below 2^16, so a block is exact.

cdef inline double widen(narrow_t x) noexcept nogil:
    if narrow_t is half_t:
        return rk_half_to_float(x)
    elif narrow_t is brain_t:
        return rk_brain_to_float(x)
    else:
        return x


cdef inline uint32_t magnitude(narrow_t x) noexcept nogil:
    """The bits without the sign, widened to those of a float32, but for float16."""
    if narrow_t is half_t:
        return x & 0x7fff
    elif narrow_t is brain_t:
        return <uint32_t>(x & 0x7fff) << 16
    else:
        return rk_bits32(x) & 0x7fffffff


cdef inline void enter(double* a, double* b, double x) noexcept nogil:
    """Add x to the pair a + b: the rounding error of a + x goes to b."""
    cdef double s = a[0] + x
    cdef double z = s - a[0]
    b[0] += (a[0] - (s - z)) + (x - z)
    a[0] = s


cdef inline void narrow_init(Py_ssize_t first, Py_ssize_t count, state_t* state,
                             const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef Py_ssize_t i
    for i in range(first, first + count):
        a[i] = -0.0          # the neutral element: -0 + -0 is -0, -0 + 0 is 0
        b[i] = 0
        c[i] = 0
        d[i] = ~<uint32_t>0


cdef inline void gather_evidence(const narrow_t* x, Py_ssize_t count,
                                 uint32_t* peak, uint32_t* least) noexcept nogil:
    """The largest magnitude, and the smallest but zero less one, of all finite elements.

    An output with an element that is not finite needs no bound, but its neighbours do.
    """
    cdef uint32_t m4, high4 = peak[0], low4 = least[0]
    cdef uint16_t m2, high2 = 0, low2 = 0xffff
    cdef uint16_t infinity = 0x7f80 if narrow_t is brain_t else 0x7c00
    cdef Py_ssize_t i
    if narrow_t is float:
        for i in range(count):
            m4 = rk_bits32(x[i]) & 0x7fffffff
            m4 &= <uint32_t>0 - <uint32_t>(m4 < 0x7f800000)    # written so, it is no branch
            high4 = m4 if m4 > high4 else high4
            m4 = m4 - 1                          # zeros become the largest
            low4 = m4 if m4 < low4 else low4
    else:
        for i in range(count):
            m2 = <uint16_t>x[i] & 0x7fff
            m2 &= <uint16_t>0 - <uint16_t>(m2 < infinity)
            high2 = m2 if m2 > high2 else high2
            m2 = m2 - 1
            low2 = m2 if m2 < low2 else low2
        if narrow_t is brain_t:
            m4 = <uint32_t>high2 << 16
            high4 = m4 if m4 > high4 else high4
            m4 = (<uint32_t>(low2 + 1) << 16) - 1
            low4 = m4 if low2 != 0xffff and m4 < low4 else low4
        else:
            high4 = high2
            low4 = low2
    peak[0] = high4
    least[0] = low4


cdef inline void to_floats(const narrow_t* x, float* to, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t k
    if narrow_t is half_t:
        rk_halves_to_floats(x, to, count // 16 * 16)
        for k in range(count // 16 * 16, count):
            to[k] = rk_half_to_float(x[k])
    elif narrow_t is brain_t:
        for k in range(count):
            to[k] = rk_brain_to_float(x[k])


cdef inline uint32_t widest(uint16_t most) noexcept nogil:
    """The largest magnitude of bfloat16, kept doubled, as the bits of a float32."""
    return <uint32_t>most << 15


cdef inline uint32_t smallest(uint16_t least) noexcept nogil:
    """The smallest magnitude but zero, less one, likewise; all bits if there is none."""
    return ~<uint32_t>0 if least == 0xffff else (<uint32_t>(least + 1) << 15) - 1


cdef inline void scalar_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                             Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                             state_t* state, const narrow_t* kind) noexcept nogil:
    """Runs of less than 32 elements that do not lie end to end."""
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef const narrow_t* x
    cdef double t
    cdef Py_ssize_t i, o, k
    for i in range(kept):
        for o in range(outer):
            x = <const narrow_t*>(data + i * kept_stride + o * outer_stride)
            t = -0.0
            for k in range(run):
                t += widen[narrow_t](x[k])
            gather_evidence[narrow_t](x, run, &c[i], &d[i])
            enter(&a[i], &b[i], t)


cdef inline void narrow_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                             Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                             state_t* state, const narrow_t* kind, int order) noexcept nogil:
    cdef double* a
    cdef double* b
    cdef uint32_t* c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef const char* p
    cdef double sums[16]
    cdef uint16_t span[2]
    cdef uint32_t peak, low
    cdef Py_ssize_t t, i, o, k, start, size, count, groups = (kept + 15) // 16
    cdef Py_ssize_t ahead = how_far(outer, outer_stride, kept, kept_stride,
                                    run * <Py_ssize_t>sizeof(narrow_t))
    if state.fresh:
        narrow_init(0, kept, state, NULL, 0)
        state.fresh = False
    if run < 32:
        scalar_runs[narrow_t](data, kept, kept_stride, outer, outer_stride, run, state, kind)
        return
    for t in range(groups * outer):
        i = next_group(t, groups, outer, outer_stride < kept_stride, &o)
        count = kept - i if kept - i < 16 else 16
        a = <double*>state.a + i
        b = <double*>state.b + i
        c = <uint32_t*>state.c + i
        start = 0
        while start < run:
            size = run - start if run - start < 4096 else 4096
            p = data + i * kept_stride + o * outer_stride + start * <Py_ssize_t>sizeof(narrow_t)
            start += size
            if narrow_t is half_t:
                rk_short_float_runs(p, count, kept_stride, ahead, size, state.period, sums,
                                    span, False)
            elif narrow_t is brain_t:
                rk_short_float_runs(p, count, kept_stride, ahead, size, state.period, sums,
                                    span, True)
                peak = widest(span[0])
                low = smallest(span[1])
                for k in range(count):
                    c[k] = peak if peak > c[k] else c[k]
                    d[i + k] = low if low < d[i + k] else d[i + k]
            else:
                # One bound for all outputs of the group: it is rarely worse than their own.
                # The bits of floats that are not negative are in the order of the floats.
                rk_float_runs(p, count, kept_stride, ahead, size, state.period, sums,
                              <float*>&peak)
                for k in range(count):
                    c[k] = peak if peak > c[k] else c[k]
            rk_enter_group(sums, NULL, count, a, b)
        if narrow_t is float and state.few:
            for k in range(count):
                gather_evidence[narrow_t](
                    <const narrow_t*>(data + (i + k) * kept_stride + o * outer_stride), run,
                    &c[k], &d[i + k])


cdef inline void halve_doubles(const double* source, double* to, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        to[i] = source[2 * i] + source[2 * i + 1]


cdef inline void third_doubles(const double* source, double* to, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        to[i] = (source[3 * i] + source[3 * i + 1]) + source[3 * i + 2]


cdef inline const double* sum_short(const narrow_t* x, Py_ssize_t size, Py_ssize_t run,
                                    double* wide, float* floats, double* one, double* two,
                                    uint32_t* high, uint32_t* low) noexcept nogil:
    """Sums of `size` short runs in one of the buffers, and one bound for all of them: it is
    rarely worse than their own."""
    cdef const float* f
    cdef const double* source
    cdef double* to
    cdef Py_ssize_t k, left = run
    ask_for(<const char*>x, size * run * <Py_ssize_t>sizeof(narrow_t))
    high[0] = 0
    low[0] = ~<uint32_t>0
    if narrow_t is not half_t:
        gather_evidence[narrow_t](x, size * run, high, low)
    if narrow_t is float:
        f = x
    else:
        f = floats
        to_floats[narrow_t](x, floats, size * run)
    # Runs of two and three and their products are divided, others are summed as columns.
    while left % 2 == 0:
        left //= 2
    while left % 3 == 0:
        left //= 3
    if left > 1:
        rk_short_sums(<const char*>f, size, run, one, NULL, True, False)
        return one
    # The first division goes with the conversion.
    left = run
    if left % 2 == 0:
        left //= 2
        for k in range(size * left):
            wide[k] = <double>f[2 * k] + <double>f[2 * k + 1]
    else:
        left //= 3
        for k in range(size * left):
            wide[k] = (<double>f[3 * k] + <double>f[3 * k + 1]) + <double>f[3 * k + 2]
    source = wide
    to = one
    while left > 1:
        if left % 2 == 0:
            left //= 2
            halve_doubles(source, to, size * left)
        else:
            left //= 3
            third_doubles(source, to, size * left)
        source = to
        to = two if to == one else one
    return source


cdef inline void narrow_short(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                              Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                              state_t* state, const narrow_t* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef double wide[512]
    cdef double one[512]
    cdef double two[512]
    cdef float floats[1024]
    cdef const double* source
    cdef double t, s, z
    cdef uint32_t high, low
    cdef Py_ssize_t i, o, start, size, most = runs_that_fit(run, 512)
    for o in range(outer):
        start = 0
        while start < kept:
            size = kept - start if kept - start < most else most
            source = sum_short[narrow_t](
                <const narrow_t*>(data + start * kept_stride + o * outer_stride), size, run, wide,
                floats, one, two, &high, &low)
            if state.fresh:
                for i in range(size):
                    a[start + i] = source[i]
                    b[start + i] = 0
                for i in range(size):
                    c[start + i] = high
                    d[start + i] = low
                start += most
                continue
            for i in range(size):
                t = source[i]
                s = a[start + i] + t
                z = s - a[start + i]
                b[start + i] += (a[start + i] - (s - z)) + (t - z)
                a[start + i] = s
            for i in range(size):
                c[start + i] = high if high > c[start + i] else c[start + i]
                d[start + i] = low if low < d[start + i] else d[start + i]
            start += most
        state.fresh = False


cdef inline bint narrow_short_few(const char* data, Py_ssize_t kept, Py_ssize_t run,
                                  Py_ssize_t unused, char* out, const state_t* state,
                                  const narrow_t* kind, int order) noexcept nogil:
    cdef double wide[512]
    cdef double one[512]
    cdef double two[512]
    cdef float floats[1024]
    cdef const double* source
    cdef narrow_t* to = <narrow_t*>out
    cdef uint32_t high, low
    cdef int32_t odd
    cdef Py_ssize_t i, size, start = 0, most = runs_that_fit(run, 512)
    while start < kept:
        size = kept - start if kept - start < most else most
        source = sum_short[narrow_t](<const narrow_t*>data + start * run, size, run, wide, floats,
                                     one, two, &high, &low)
        odd = 0
        for i in range(size):
            odd |= 1 if source[i] - source[i] != 0 else 0
        # As in narrow_finish: at most 32 elements, so five bits more.
        if odd or narrow_t is not half_t and (high >> 23) + 24 + 5 > ((low + 1) >> 23) + 53:
            return False
        if narrow_t is half_t:
            rk_doubles_to_halves(source, <uint16_t*>to + start, size)
        else:
            for i in range(size):
                to[start + i] = rounded_finite[narrow_t](source[i], kind)
        start += most
    return True


cdef inline void narrow_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                             Py_ssize_t row_stride, state_t* state,
                             const narrow_t* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef double total[1056]
    cdef uint16_t mosts[1056]
    cdef uint16_t leasts[1056]
    cdef double before, sum_, z
    cdef const char* p
    cdef uint32_t m
    # 4096 float16 add up exactly: less than 2^28 in steps of 2^-24.
    cdef Py_ssize_t first, width, j, start, size, most = 4096 if narrow_t is half_t else 128
    if state.fresh:
        narrow_init(0, columns, state, NULL, 0)
        state.fresh = False
    for first in range(0, columns, 1024):
        width = columns - first if columns - first < 1024 else 1024
        if narrow_t is brain_t:
            memset(mosts, 0, sizeof(mosts))
            memset(leasts, 0xff, sizeof(leasts))
        start = 0
        while start < rows:
            size = rows - start if rows - start < most else most
            p = data + start * row_stride + first * <Py_ssize_t>sizeof(narrow_t)
            start += size
            if narrow_t is float:
                if state.few:            # a constant for each: lanes.h says why
                    rk_float_rows(p, width, size, row_stride, total, <float*>(c + first),
                                  d + first, True)
                else:
                    rk_float_rows(p, width, size, row_stride, total, <float*>(c + first),
                                  d + first, False)
            else:
                rk_short_float_rows(p, width, size, row_stride, total, mosts, leasts,
                                    narrow_t is brain_t)
            for j in range(width):
                before = a[first + j]
                sum_ = before + total[j]
                z = sum_ - before
                b[first + j] += (before - (sum_ - z)) + (total[j] - z)
                a[first + j] = sum_
        if narrow_t is brain_t:
            for j in range(width):
                m = widest(mosts[j])
                c[first + j] = m if m > c[first + j] else c[first + j]
                m = smallest(leasts[j])
                d[first + j] = m if m < d[first + j] else d[first + j]


cdef inline void narrow_fold(Py_ssize_t columns, Py_ssize_t period, state_t* state,
                             const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef double x, s, z
    cdef Py_ssize_t j, half
    while columns > period:
        half = columns // 2
        for j in range(half):
            x = a[half + j]
            s = a[j] + x
            z = s - a[j]
            b[j] += ((a[j] - (s - z)) + (x - z)) + b[half + j]
            a[j] = s
        for j in range(half):
            c[j] = c[half + j] if c[half + j] > c[j] else c[j]
        for j in range(half):
            d[j] = d[half + j] if d[half + j] < d[j] else d[j]
        columns = half


cdef inline narrow_t rounded_finite(double x, const narrow_t* kind) noexcept nogil:
    """Without branches, for loops over vectors."""
    if narrow_t is half_t:
        return rk_float_to_half(rk_odd_float(x))
    elif narrow_t is brain_t:
        return rk_float_to_brain(rk_odd_float(x))
    else:
        return <float>x


cdef inline narrow_t rounded(double x, const narrow_t* kind) noexcept nogil:
    if narrow_t is half_t:
        return rk_double_to_half(x)
    elif narrow_t is brain_t:
        return rk_double_to_brain(x)
    else:
        return <float>x


cdef inline double to_odd(double s, double t) noexcept nogil:
    """s + t, of which |t| is below the last bit of s, rounded to odd.

    A number rounded to odd can be rounded again, to two bits less or more, as if
    it had been rounded once: its last bit says that something was cut off.
    """
    cdef uint64_t bits = rk_bits64(s)
    if t != 0 and not bits & 1:
        if (t > 0) == (s > 0):
            bits += 1
        else:
            bits -= 1
        return rk_double(bits)
    return s


cdef inline bint differ(narrow_t x, narrow_t y) noexcept nogil:
    if narrow_t is float:
        return rk_bits32(x) != rk_bits32(y)
    else:
        return x != y


cdef Py_ssize_t half_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                            Py_ssize_t out_stride, Py_ssize_t* suspects, state_t* state,
                            const void* kind, int order) noexcept nogil:
    """Of float16, whose sums are exact."""
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint16_t results[1024]
    cdef double s, t
    cdef Py_ssize_t i, found = 0
    cdef int32_t unsure = 1 if terms > MOST_HALVES else 0
    if terms == 0:
        memset(results, 0, count * 2)
        emit(results, count, out, out_stride)
        return 0
    if step != 1:
        for i in range(count):
            a[i] = a[i * step]
            b[i] = b[i * step]
    for i in range(count):
        unsure += 1 if b[i] != 0 or a[i] - a[i] != 0 else 0
    rk_doubles_to_halves(a, results, count)
    if unsure:
        for i in range(count):
            s = a[i] + b[i]
            t = b[i] - (s - a[i])
            if not isfinite(a[i]) or terms > MOST_HALVES:
                suspects[found] = i
                found += 1
            else:
                results[i] = rk_double_to_half(a[i] if b[i] == 0 else to_odd(s, t))
    emit(results, count, out, out_stride)
    return found


cdef inline Py_ssize_t narrow_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                                     Py_ssize_t out_stride, Py_ssize_t* suspects,
                                     state_t* state, const bound_t* kind,
                                     int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef bound_t low[1024]
    cdef bound_t high[1024]
    cdef double error[1024]
    cdef Py_ssize_t i, found = 0
    cdef int32_t unsure = 0
    cdef double s, t, e, z
    cdef bint few = state.few or bound_t is brain_t
    cdef uint32_t bits = 8 if bound_t is brain_t else 24
    # Bits that the sum may have above the largest element.
    cdef uint32_t growth = 1
    while terms > <double>(<uint64_t>1 << growth) and growth < 62:
        growth += 1
    # The second part of a pair is rounded too, at most twice an addition to the pair. That
    # counts beside the chains from some 10^9 terms on.
    cdef double factor = (CHAIN_ERROR + 4 * (ROUND_OFF * terms) * (ROUND_OFF * terms)) * terms
    if terms == 0:
        for i in range(count):
            low[i] = rounded[bound_t](0.0, kind)
        emit_narrow[bound_t](low, count, out, out_stride)
        return 0
    if step != 1:
        for i in range(count):
            a[i] = a[i * step]
            b[i] = b[i * step]
            c[i] = c[i * step]
            d[i] = d[i * step]
    # All elements are multiples of the last bit of the smallest. Where the largest sum
    # possible has no more than 53 bits above it, nothing was ever rounded.
    if few:
        for i in range(count):
            unsure |= 1 if (c[i] >> 23) + bits + growth > ((d[i] + 1) >> 23) + 53 else 0
            unsure |= 1 if a[i] - a[i] != 0 else 0
        if not unsure:
            for i in range(count):
                low[i] = rounded_finite[bound_t](a[i], kind)
            emit_narrow[bound_t](low, count, out, out_stride)
            return 0
        unsure = 0
    for i in range(count):
        e = factor * <double>rk_float(c[i] if c[i] < 0x7f800000 else 0x7f800000)
        error[i] = e
        if few:
            error[i] = 0 if (c[i] >> 23) + bits + growth <= ((d[i] + 1) >> 23) + 53 else e
    for i in range(count):
        s = a[i] + b[i]
        t = b[i] - (s - a[i])
        e = error[i]
        e = e + 4 * ROUND_OFF * (s if s > 0 else -s) if e != 0 else e
        z = t - e
        low[i] = rounded_finite[bound_t](a[i] if z == 0 else s + z, kind)
        z = t + e
        high[i] = rounded_finite[bound_t](a[i] if z == 0 else s + z, kind)
    for i in range(count):
        unsure += 1 if differ[bound_t](low[i], high[i]) else 0
        unsure += 1 if a[i] - a[i] != 0 else 0
    if unsure:
        for i in range(count):
            if isnan(a[i]):
                # The payload depends on how the compiler ordered the operands of a sum.
                low[i] = rounded[bound_t](rk_double(<uint64_t>0x7ff8000000000000ULL), kind)
            elif not isfinite(a[i]):
                low[i] = rounded[bound_t](a[i], kind)
            elif differ[bound_t](low[i], high[i]):
                suspects[found] = i
                found += 1
    emit_narrow[bound_t](low, count, out, out_stride)
    return found


cdef inline bint narrow_few(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                            Py_ssize_t row_stride, char* out, const state_t* state,
                            const narrow_t* kind, int order) noexcept nogil:
    cdef double total[1056]
    cdef narrow_t* to = <narrow_t*>out
    cdef Py_ssize_t j
    cdef bint sure = True
    if narrow_t is float:
        sure = rk_few_floats(data, columns, rows, row_stride, to)
    elif narrow_t is brain_t:
        sure = rk_few_brains(data, columns, rows, row_stride, total)
        for j in range(columns if sure else 0):
            to[j] = rounded_finite[narrow_t](total[j], kind)
    else:
        rk_short_float_rows(data, columns, rows, row_stride, total, NULL, NULL, False)
        for j in range(columns):
            sure &= total[j] - total[j] == 0
        if sure:
            rk_doubles_to_halves(total, <uint16_t*>to, columns)
    return sure


cdef inline void emit_narrow(const narrow_t* results, Py_ssize_t count, char* out,
                             Py_ssize_t out_stride) noexcept nogil:
    if narrow_t is float:
        emit[float](results, count, out, out_stride)
    else:
        emit[uint16_t](<const uint16_t*>results, count, out, out_stride)


# ---------------------------------------------------------------- float64: sum
#
# Every addition keeps its error (the sum of two doubles is a double and an error
# that is a double), so the pair (a, b) holds twice the precision. With `exact`, c
# keeps the largest magnitude, and finish proves the rounding or names a suspect.

cdef inline void wide_init(Py_ssize_t first, Py_ssize_t count, state_t* state,
                           const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef Py_ssize_t i
    for i in range(first, first + count):
        a[i] = -0.0
        b[i] = 0
        c[i] = 0


cdef inline void wide_runs_as(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                              Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                              state_t* state, const bint exact) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef const double* x
    cdef double sums[16]
    cdef double rests[16]
    cdef uint64_t m = 0
    cdef Py_ssize_t t, i, o, k, start, size, count, most = run, groups = (kept + 15) // 16
    cdef Py_ssize_t ahead = how_far(outer, outer_stride, kept, kept_stride, run * 8)
    if state.fresh:
        wide_init(0, kept, state, NULL, 0)
        state.fresh = False
    if run < 16:
        for i in range(kept):
            for o in range(outer):
                x = <const double*>(data + i * kept_stride + o * outer_stride)
                for k in range(run):
                    enter(&a[i], &b[i], x[k])
                    if exact:
                        m = (<const uint64_t*>x)[k] & <uint64_t>0x7fffffffffffffffULL
                        c[i] = m if m > c[i] else c[i]
        return
    if exact and run > 4096:
        most = 4096             # the proof wants short chains
    for t in range(groups * outer):
        i = next_group(t, groups, outer, outer_stride < kept_stride, &o)
        count = kept - i if kept - i < 16 else 16
        a = <double*>state.a + i
        b = <double*>state.b + i
        c = <uint64_t*>state.c + i
        start = 0
        while start < run:
            size = run - start if run - start < most else most
            rk_double_runs(data + i * kept_stride + o * outer_stride + start * 8, count,
                           kept_stride, ahead, size, state.period, sums, rests, <double*>&m,
                           exact)
            start += size
            rk_enter_group(sums, rests, count, a, b)
            if exact:
                for k in range(count):
                    c[k] = m if m > c[k] else c[k]


cdef inline void wide_sum_short(const double* v, Py_ssize_t size, Py_ssize_t run, double* sums,
                                double* rests) noexcept nogil:
    """Pairs of `size` short runs."""
    cdef double s, t, z, e
    cdef Py_ssize_t i
    ask_for(<const char*>v, size * run * 8)
    if run == 3:
        for i in range(size):
            s = v[3 * i] + v[3 * i + 1]
            z = s - v[3 * i]
            e = (v[3 * i] - (s - z)) + (v[3 * i + 1] - z)
            t = s + v[3 * i + 2]
            z = t - s
            rests[i] = e + ((s - (t - z)) + (v[3 * i + 2] - z))
            sums[i] = t
    elif run == 2:
        for i in range(size):
            s = v[2 * i] + v[2 * i + 1]
            z = s - v[2 * i]
            rests[i] = (v[2 * i] - (s - z)) + (v[2 * i + 1] - z)
            sums[i] = s
    else:
        rk_short_sums(<const char*>v, size, run, sums, rests, False, True)


cdef inline void wide_short(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                            Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                            state_t* state, const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef const double* v
    cdef double sums[512]
    cdef double rests[512]
    cdef double x, s, z
    cdef int64_t m, high
    cdef Py_ssize_t i, o, start, size, most = 1024 // run
    for o in range(outer):
        start = 0
        while start < kept:
            size = kept - start if kept - start < most else most
            v = <const double*>(data + start * kept_stride + o * outer_stride)
            wide_sum_short(v, size, run, sums, rests)
            if state.fresh:
                memcpy(a + start, sums, size * 8)
                memcpy(b + start, rests, size * 8)
                for i in range(size):
                    c[start + i] = 0
            for i in range(0 if state.fresh else size):
                x = sums[i]
                s = a[start + i] + x
                z = s - a[start + i]
                b[start + i] += ((a[start + i] - (s - z)) + (x - z)) + rests[i]
                a[start + i] = s
            if state.exact:
                high = 0
                for i in range(size * run):
                    m = (<const int64_t*>v)[i] & <int64_t>0x7fffffffffffffffLL
                    high = m if m > high else high
                for i in range(size):
                    c[start + i] = (<uint64_t>high if <uint64_t>high > c[start + i]
                                    else c[start + i])
            start += most
        state.fresh = False


cdef bint wide_short_few(const char* data, Py_ssize_t kept, Py_ssize_t run, Py_ssize_t unused,
                         char* out, const state_t* state, const void* kind,
                         int order) noexcept nogil:
    cdef double sums[512]
    cdef double rests[512]
    cdef double* to = <double*>out
    cdef int64_t odd
    cdef Py_ssize_t i, size, start = 0, most = 1024 // run
    while start < kept:
        size = kept - start if kept - start < most else most
        wide_sum_short(<const double*>data + start * run, size, run, sums, rests)
        odd = 0
        for i in range(size):
            odd |= 1 if sums[i] - sums[i] != 0 else 0
        if odd:
            return False
        for i in range(size):
            to[start + i] = sums[i] if rests[i] == 0 else sums[i] + rests[i]
        start += most
    return True


cdef inline void wide_rows_as(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                              Py_ssize_t row_stride, state_t* state,
                              const bint exact) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef double* c = <double*>state.c
    cdef double s, z
    cdef Py_ssize_t j, start, size
    if state.fresh:
        wide_init(0, columns, state, NULL, 0)
        state.fresh = False
    for start in range(0, rows, 128):
        size = rows - start if rows - start < 128 else 128
        rk_double_rows(data + start * row_stride, columns, size, row_stride, a, b, c, exact)
        if rows < 128:
            continue
        # What the rest loses grows with its size: carried over now and then, it stays a few
        # last bits of the sum. Nothing is rounded here; -0.0 stays as it is.
        for j in range(columns):
            s = a[j] if b[j] == 0 else a[j] + b[j]
            z = s - a[j]
            b[j] = (a[j] - (s - z)) + (b[j] - z)
            a[j] = s


cdef bint wide_few(const char* data, Py_ssize_t columns, Py_ssize_t rows, Py_ssize_t row_stride,
                   char* out, const state_t* state, const void* kind, int order) noexcept nogil:
    # Results wait in the first cache: stores between the loads of three rows hold these up
    # (1.9 ms instead of 0.9 for 3 x 10^6).
    cdef double sums[1024]
    if not rk_few_doubles(data, columns, rows, row_stride, sums):
        return False
    memcpy(out, sums, columns * 8)
    return True


cdef inline void wide_fold(Py_ssize_t columns, Py_ssize_t period, state_t* state,
                           const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef double x, s, z
    cdef Py_ssize_t j, half
    while columns > period:
        half = columns // 2
        for j in range(half):
            x = a[half + j]
            s = a[j] + x
            z = s - a[j]
            b[j] += ((a[j] - (s - z)) + (x - z)) + b[half + j]
            a[j] = s
        for j in range(half):
            c[j] = c[half + j] if c[half + j] > c[j] else c[j]
        columns = half


cdef inline Py_ssize_t wide_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                                   Py_ssize_t out_stride, Py_ssize_t* suspects,
                                   state_t* state, const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef double results[1024]
    cdef Py_ssize_t i, found = 0
    cdef int64_t odd = 0
    cdef double s, t, error
    # Each of `chain` additions to a pair loses at most 2^-106 of what the errors before
    # it may add up to; within a block, where a sum is known to stay in a range 2^12 times as wide as
    # its largest element, the 128 additions of a lane lose 2^(7+12) times as much for each.
    cdef double factor = ROUND_OFF * ROUND_OFF * terms * (1048576 + state.chain * state.chain)
    if step != 1:
        for i in range(count):
            a[i] = a[i * step]
            b[i] = b[i * step]
            c[i] = c[i * step]
    for i in range(count):
        results[i] = a[i] if b[i] == 0 else a[i] + b[i]
        odd += 1 if a[i] - a[i] != 0 else 0
    if terms == 0:
        for i in range(count):
            results[i] = 0.0
    elif odd or state.exact:
        for i in range(count):
            if not isfinite(a[i]):
                # Either an element is not finite, or the sum overflowed on the way.
                suspects[found] = i
                found += 1
            elif state.exact and terms > 2:
                s = results[i]
                t = b[i] - (s - a[i])
                error = factor * rk_double(c[i]) + 4 * ROUND_OFF * (t if t > 0 else -t)
                error += 4.94e-324
                if s + (t + error) != s or s + (t - error) != s:
                    suspects[found] = i
                    found += 1
    emit(results, count, out, out_stride)
    return found


cdef inline void wide_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                           Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                           state_t* state, const void* kind, int order) noexcept nogil:
    if state.exact:
        wide_runs_as(data, kept, kept_stride, outer, outer_stride, run, state, True)
    else:
        wide_runs_as(data, kept, kept_stride, outer, outer_stride, run, state, False)


cdef inline void wide_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                           Py_ssize_t row_stride, state_t* state,
                           const void* kind, int order) noexcept nogil:
    if state.exact:
        wide_rows_as(data, columns, rows, row_stride, state, True)
    else:
        wide_rows_as(data, columns, rows, row_stride, state, False)


# ---------------------------------------------------------------- the table
#
# Operators in the order of schema.OPERATORS, types in that of dtypes.ELEMENT_TYPES.

cdef void set_sizes(kernels_t* k, Py_ssize_t tile, int a, int b, int c, int d) noexcept:
    k.tile = tile
    k.size_a = a
    k.size_b = b
    k.size_c = c
    k.size_d = d
    k.flip = 0
    k.fold = 0
    k.turn = 0
    k.few_rows = NULL
    k.few_runs = NULL
    k.strides = False
    k.long_run = 4096


cdef void use_word(kernels_t* k, const word_t* kind, int64_t flip, int64_t infinity) noexcept:
    """Of keys of floats with these bits of infinity, or, without them, of integers."""
    cdef int64_t most = <int64_t>(~<uint64_t>0 >> (65 - 8 * sizeof(word_t)))
    set_sizes(k, 4096 // sizeof(word_t) if sizeof(word_t) < 4 else 1024, sizeof(word_t), 0, 0, 0)
    k.flip = flip
    k.fold = most if infinity else 0
    k.turn = most - infinity if infinity else 0
    k.strides = True
    k.init = <init_t>word_init[word_t]
    k.runs = <runs_t>word_runs[word_t]
    k.short_runs = <runs_t>word_short[word_t]
    k.rows = <rows_t>word_rows[word_t]
    k.few_rows = <few_t>word_few_rows[word_t]
    k.few_runs = <few_t>word_few_runs[word_t]
    k.merge = <fold_t>word_fold[word_t]
    k.finish = <finish_t>word_finish[word_t]


cdef void use_narrow(kernels_t* k, const narrow_t* kind) noexcept:
    set_sizes(k, 1024, 8, 8, 4, 4)
    k.strides = True
    k.long_run = 4096
    k.init = narrow_init
    k.runs = <runs_t>narrow_runs[narrow_t]
    k.short_runs = <runs_t>narrow_short[narrow_t]
    k.rows = <rows_t>narrow_rows[narrow_t]
    k.few_rows = <few_t>narrow_few[narrow_t]
    k.few_runs = <few_t>narrow_short_few[narrow_t]
    k.merge = narrow_fold
    if narrow_t is half_t:
        k.finish = half_finish
    else:
        k.finish = <finish_t>narrow_finish[narrow_t]


cdef void use_wide(kernels_t* k) noexcept:
    set_sizes(k, 1024, 8, 8, 8, 0)
    k.long_run = 4096
    k.strides = True
    k.init = wide_init
    k.runs = wide_runs
    k.short_runs = wide_short
    k.rows = wide_rows
    k.few_rows = wide_few
    k.few_runs = wide_short_few
    k.merge = wide_fold
    k.finish = wide_finish


cdef void use_extremes(kernels_t* k, bint least) noexcept:
    # Signed integers are their own keys, and for a minimum turned round; unsigned ones, and bool,
    # have the sign bit exchanged; a minimum of floats is the maximum of the negated elements.
    cdef int64_t signs = -1 if least else 0
    cdef int64_t top = <int64_t>(<uint64_t>1 << 63)
    use_word[int8_t](&k[0], NULL, signs ^ 0x80, 0)
    k[0].finish = bool_finish
    k[0].few_rows = NULL         # its finish has something to do
    k[0].few_runs = NULL
    use_word[int8_t](&k[1], NULL, signs, 0)
    use_word[int16_t](&k[2], NULL, signs, 0)
    use_word[int32_t](&k[3], NULL, signs, 0)
    use_word[int64_t](&k[4], NULL, signs, 0)
    use_word[int8_t](&k[5], NULL, signs ^ 0x80, 0)
    use_word[int16_t](&k[6], NULL, signs ^ 0x8000, 0)
    use_word[int32_t](&k[7], NULL, signs ^ <int64_t>0x80000000U, 0)
    use_word[int64_t](&k[8], NULL, signs ^ top, 0)
    use_word[int16_t](&k[9], NULL, 0x8000 if least else 0, 0x7c00)
    use_word[int16_t](&k[10], NULL, 0x8000 if least else 0, 0x7f80)
    use_word[int32_t](&k[11], NULL, <int64_t>0x80000000U if least else 0, 0x7f800000)
    use_word[int64_t](&k[12], NULL, top if least else 0, 0x7ff0000000000000)


cdef table_t TABLE

use_extremes(TABLE.of[0], False)
use_extremes(TABLE.of[1], True)
# A sum of bool is refused by the rules; bytes are what it would be counted in.
use_word[uint8_t](&TABLE.of[2][0], NULL, 0, 0)
use_word[uint8_t](&TABLE.of[2][1], NULL, 0, 0)
use_word[uint16_t](&TABLE.of[2][2], NULL, 0, 0)
use_word[uint32_t](&TABLE.of[2][3], NULL, 0, 0)
use_word[uint64_t](&TABLE.of[2][4], NULL, 0, 0)
use_word[uint8_t](&TABLE.of[2][5], NULL, 0, 0)
use_word[uint16_t](&TABLE.of[2][6], NULL, 0, 0)
use_word[uint32_t](&TABLE.of[2][7], NULL, 0, 0)
use_word[uint64_t](&TABLE.of[2][8], NULL, 0, 0)
use_narrow[half_t](&TABLE.of[2][9], NULL)
use_narrow[brain_t](&TABLE.of[2][10], NULL)
use_narrow[float](&TABLE.of[2][11], NULL)
use_wide(&TABLE.of[2][12])


def table():
    """The kernels of this level, for the walk: a capsule around the C table."""
    return PyCapsule_New(&TABLE, "reducekit.table", NULL)
