# The rules of a call, checked in C, from the rows of schema.py.

cdef enum:
    MAX_RANK = 64
    N_TYPES = 13

cdef struct call_t:
    int ndim
    int op                      # position in schema.OPERATORS
    int row                     # position among all rows
    int type_index              # position in dtypes.ELEMENT_TYPES
    bint keepdims
    bint identity               # no axis is reduced because noop_with_empty_axes says so
    unsigned char reduced[64]   # 1 where the axis is reduced

# A flag: 1 or 0. `name` and the operator are for the error.
cdef int read_flag(object value, str name, int op) except -1
cdef int type_index(object dtype_or_array_dtype, int type_num) except -2
cdef int check(call_t* call, object dtype, object axes, object keepdims,
               object noop, object opset, object strict) except -1
