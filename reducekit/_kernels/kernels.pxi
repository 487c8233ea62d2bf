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
    FEW_ROWS, apart_t, few_t, finish_t, fold_t, init_t, kernels_t, rows_t, runs_t, state_t, table_t,
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
    void rk_doubles_to_brains(const double*, uint16_t*, Py_ssize_t) noexcept nogil
    void rk_doubles_to_floats(const double*, float*, Py_ssize_t) noexcept nogil
    uint16_t rk_double_to_half(double) noexcept nogil
    uint16_t rk_double_to_brain(double) noexcept nogil
    const uint64_t* RK_NEW
    void RK_PREFETCH(const void*) noexcept nogil
    Py_ssize_t RK_AHEAD
    Py_ssize_t rk_far_rows(Py_ssize_t size, Py_ssize_t stride) noexcept nogil

cdef extern from "vectors.h":
    pass                       # so that a change of it is seen

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
    void rk_float_spans(const char*, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t ahead,
                        Py_ssize_t size,
                        int period, double* sums, float* peak, uint32_t* least) noexcept nogil
    void rk_short_float_runs(const char*, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t ahead,
                             Py_ssize_t size, int period, double* sums, uint16_t* span,
                             bint brain) noexcept nogil
    Py_ssize_t rk_certain_floats(const double* a, const double* b, const float* peaks,
                                 Py_ssize_t count, double factor, float* out) noexcept nogil
    void rk_double_rows(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                        int far, const char* after, double* sums, double* rests, double* peak,
                        bint peaks) noexcept nogil
    void rk_float_rows(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                       int far, const char* after, double* sums, float* peak, uint32_t* least,
                       bint leasts) noexcept nogil
    void rk_short_float_rows(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                             double* sums, uint16_t* mosts, uint16_t* leasts,
                             bint brain) noexcept nogil
    bint rk_few_doubles(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                        double* out) noexcept nogil
    bint rk_few_floats(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                       float* out) noexcept nogil
    void rk_divide_floats(const float*, Py_ssize_t count, Py_ssize_t by, double* to,
                          const char* data, Py_ssize_t size) noexcept nogil
    void rk_divide_doubles(const double*, Py_ssize_t count, Py_ssize_t by,
                           double* to) noexcept nogil
    void rk_double_threes(const double*, Py_ssize_t count, double* sums,
                          double* rests) noexcept nogil
    bint RK_THREES
    bint rk_threes(const char*, Py_ssize_t count, double* sums, float* results,
                   int kind) noexcept nogil
    bint rk_few_brains(const char*, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t stride,
                       double* sums) noexcept nogil
    void rk_short_sums(const char*, Py_ssize_t count, Py_ssize_t run,
                       double* sums) noexcept nogil
    void rk_short_pairs(const char*, Py_ssize_t count, Py_ssize_t run, double* sums,
                        double* rests) noexcept nogil

cdef extern from "words.h":
    # Each is a macro, which takes the function of the words that it is given.
    void rk_columns(const char** rows, Py_ssize_t count, Py_ssize_t width, void* best,
                    int64_t flip, int64_t fold, int64_t turn, int64_t quiet, int64_t top,
                    bint fresh, bint last, Py_ssize_t ahead) noexcept nogil
    void rk_lines(const char* data, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t width,
                  void* best, int64_t flip, int64_t fold, int64_t turn, bint fresh) noexcept nogil
    void rk_blocks(const char* data, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t width,
                      void* best, int64_t flip, int64_t fold, int64_t turn) noexcept nogil
    void rk_runs(void* lanes, const char* data, Py_ssize_t count, Py_ssize_t stride,
                 Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t bytes, Py_ssize_t ahead,
                 int64_t flip, int64_t fold, int64_t turn, int64_t least) noexcept nogil
    void rk_halve(const void*, void* to, Py_ssize_t count) noexcept nogil
    void rk_third(const void*, void* to, Py_ssize_t count) noexcept nogil
    void rk_meet(const void*, const void*, void* to, Py_ssize_t count) noexcept nogil
    Py_ssize_t RK_PARTS
    void rk_part(const void*, void* to, Py_ssize_t count, Py_ssize_t by, int64_t flip, int64_t fold,
                 int64_t turn) noexcept nogil
    void rk_pick(const void*, void* to, Py_ssize_t count, Py_ssize_t run) noexcept nogil
    void rk_give(const void* words, Py_ssize_t count, void* to, int64_t flip, int64_t fold,
                 int64_t turn, int64_t quiet, int64_t top) noexcept nogil
    Py_ssize_t RK_NARROW
    Py_ssize_t RK_WIDE

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


include "words.pxi"
include "narrow.pxi"
include "wide.pxi"


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
    k.apart = NULL
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
    k.apart = <apart_t>word_apart[word_t]
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
    k[0].few_rows = bool_few_rows
    k[0].few_runs = NULL         # its finish has something to do
    k[0].apart = NULL
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
