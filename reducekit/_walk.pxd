from ._plan cimport plan_t

# Run a plan with the kernels of one operator and element type.
cdef void walk(const plan_t* plan, int op, int type_index, bint exact,
               const char* data, char* out) noexcept nogil
