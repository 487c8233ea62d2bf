# The exact accumulator: every double is a multiple of 2^-1074 below 2^1024, so a
# fixed-point number of 68 chunks, 32 bits apart, holds any sum of them.
from libc.stdint cimport int64_t

cdef enum:
    CHUNKS = 68

cdef struct exact_t:
    int64_t chunk[68]       # the sum of chunk[i] * 2^(32 i - 1074)
    int pending             # additions since the carries were last moved up
    bint nan
    bint plus               # +infinity was added
    bint minus
    bint negative_zeros     # nothing but -0.0 was added, and at least one
    bint any

cdef void exact_clear(exact_t* acc) noexcept nogil
cdef void exact_add(exact_t* acc, int type_index, const void* data, Py_ssize_t count) noexcept nogil
cdef void exact_merge(exact_t* acc, exact_t* other) noexcept nogil
cdef void exact_multiply(exact_t* acc, Py_ssize_t count) noexcept nogil
cdef void exact_round(exact_t* acc, int type_index, void* out) noexcept nogil
