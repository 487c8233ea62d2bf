# What a CPU level offers to sums in pieces. A sum is three numbers: a pair (high, low)
# that means high + low, and in the third the size of what the pair could not hold. Where
# the third is 0 the pair is the exact sum of all that was added; NaN there means that
# something was not finite.

# `count` contiguous elements into one sum
ctypedef void (*run_t)(const char* data, Py_ssize_t count, double* sum) noexcept nogil
# `rows` rows of `columns` contiguous elements, each column into a sum of its own
ctypedef void (*rows_t)(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                        Py_ssize_t row_stride, double* high, double* low,
                        double* lost) noexcept nogil

cdef struct pairs_t:
    # float16, bfloat16, float32, float64, in the order of dtypes.ELEMENT_TYPES
    run_t run[4]
    rows_t rows[4]
