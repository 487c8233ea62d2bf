# A plan: how memory will be walked. Pure data, made from shapes and strides alone.

cdef enum form_t:
    RUNS        # the innermost loop is reduced and contiguous: one run an output
    SHORT_RUNS  # runs of a few elements, one behind the other
    ROWS        # the innermost loop is kept: rows are accumulated into a vector
    NARROW      # a short kept row repeats without a gap: several rows are one wide row
    GATHER      # anything else: elements are collected into a small buffer first

cdef struct loop_t:
    Py_ssize_t size
    Py_ssize_t stride       # bytes in the data, never negative
    Py_ssize_t out_stride   # bytes in the result, of kept loops

cdef struct plan_t:
    form_t form
    int n_kept
    int n_reduced
    int flat                # ROWS: inner kept loops that lie end to end in the data
    Py_ssize_t line         # their elements together
    Py_ssize_t start        # byte offset of the first element walked
    Py_ssize_t out_start
    Py_ssize_t itemsize
    Py_ssize_t step         # ROWS and NARROW: elements from one used column to the next
    Py_ssize_t period       # NARROW: elements in one row
    Py_ssize_t group        # NARROW: rows in one wide row, a power of two
    Py_ssize_t across       # NARROW: outputs in one row; 1 where a run is strided
    Py_ssize_t outputs
    Py_ssize_t terms        # elements that are folded into each output
    Py_ssize_t repeats      # how often each of them counts
    bint swapped            # GATHER: the bytes of each element are in the other order
    loop_t kept[64]         # outermost first; these at the end, as most of a plan is never used
    loop_t reduced[64]

cdef void build(plan_t* plan, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides,
                const Py_ssize_t* out_strides, const unsigned char* reduced,
                Py_ssize_t itemsize, bint idempotent, bint awkward, bint swapped) noexcept nogil
