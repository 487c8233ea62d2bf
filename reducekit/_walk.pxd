from ._plan cimport plan_t

# Run a plan with the kernels of one operator and element type. Fails only where a signal
# handler has raised; then some of the results may be written.
cdef int walk(const plan_t* plan, int op, int type_index, bint exact,
              const char* data, char* out) except -1 nogil
