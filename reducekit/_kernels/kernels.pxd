# The border between the walk and the kernels: what a kernel receives, and the
# table that each CPU level fills. Nothing else crosses it.
#
# A *state* is what is known so far about up to TILE outputs: one to four parallel
# arrays in scratch memory. Kernels fold elements into it, `finish` turns it into
# results. The arrays mean:
#
#   kind of reduction          a                  b                    c              d
#   max, min                   order key          -                    -              -
#   sum of integers            sum, wrapped       -                    -              -
#   sum of floats              double             double, the rest     largest |x|    smallest |x|
#
# The last two are bit patterns without the sign; they bound the error of the sum.

from libc.stdint cimport int64_t

cdef enum:
    TILE = 4096             # outputs that a state has room for

cdef struct state_t:
    void* a
    void* b
    void* c
    void* d
    bint fresh         # nothing is folded in yet, the arrays hold anything: the kernel must
                       # set all columns, and clear this
    bint few           # fill d, so that ties are settled at once: sums of at most FEW terms,
                       # and those that are summed a second time
    int64_t flip       # extremes: how keys are made of bits (bits.h)
    int64_t fold
    int64_t turn
    int period         # of runs: only elements at multiples of it count; 1, 2, 4 or 8
    double chain       # float64 sums: additions to the pair of one output, at most
    double steps       # of narrower types: additions in double one after the other, at most
    bint exact         # float64 sums: the result must be the rounded true sum
    int far            # 1 where no cache holds all of it, 2 where none holds much of it

cdef enum:
    FEW = 64
    FEW_ROWS = 16

# The last two arguments of every kernel carry no value: their types choose the
# compiled version (element type; max or min), and callers pass NULL and 0.

# `outer` times `run` contiguous elements, contiguous, for each of `kept` outputs
ctypedef void (*runs_t)(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                        Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                        state_t* state, const void* kind, int order) noexcept nogil
# `rows` rows of `columns` contiguous elements, one output a column
ctypedef void (*rows_t)(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                        Py_ssize_t row_stride,
                        state_t* state, const void* kind, int order) noexcept nogil
ctypedef void (*init_t)(Py_ssize_t first, Py_ssize_t count,
                        state_t* state, const void* kind, int order) noexcept nogil
# columns j, j + period, j + 2 * period ... into column j
ctypedef void (*fold_t)(Py_ssize_t columns, Py_ssize_t period,
                        state_t* state, const void* kind, int order) noexcept nogil
# Write `count` results, from columns 0, step, 2 * step ...; outputs that need a slow
# look are put into suspects; their number is returned. `terms` is the number of
# elements that went into each output.
ctypedef Py_ssize_t (*finish_t)(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                                Py_ssize_t out_stride, Py_ssize_t* suspects,
                                state_t* state, const void* kind, int order) noexcept nogil

# At most FEW_ROWS rows, or runs of at most SHORT one behind the other, straight to results, side
# by side; False where something is unsure, and nothing is promised about `out` then
ctypedef bint (*few_t)(const char* data, Py_ssize_t outputs, Py_ssize_t terms,
                       Py_ssize_t row_stride, char* out, const state_t* state, const void* kind,
                       int order) noexcept nogil

# Rows that lie anywhere, at most FEW_ROWS, into an array that may hold something already unless it
# is `fresh`; with `last`, into results
ctypedef void (*apart_t)(const char** rows, Py_ssize_t count, Py_ssize_t columns, char* out,
                         const state_t* state, bint fresh, bint last,
                         const void* kind) noexcept nogil

cdef struct kernels_t:
    Py_ssize_t tile    # outputs whose state stays in the first cache, at most TILE
    int64_t flip             # for the state
    int64_t fold
    int64_t turn
    bint strides             # `runs` heeds the period of a state
    Py_ssize_t long_run      # bytes; of longer runs the order of memory counts most
    int size_a         # bytes for one output in each array
    int size_b
    int size_c
    int size_d
    init_t init
    runs_t runs
    runs_t short_runs  # run of at most SHORT, kept_stride == run * itemsize, outer == 1
    rows_t rows
    few_t few_rows     # NULL where `rows` is as fast
    few_t few_runs     # likewise `short_runs`
    apart_t apart      # NULL where there is none
    fold_t merge
    finish_t finish

cdef enum:
    SHORT = 32
    N_OPS = 3
    N_TYPES = 13

cdef struct table_t:
    kernels_t of[3][13]   # [operator][element type], in the order of schema and dtypes
