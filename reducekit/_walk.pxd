from cpython.object cimport PyObject

from ._plan cimport plan_t

# Run a plan with the kernels of one operator and element type. `report` is called now and then
# with the elements that were read so far, unless it is NULL. Fails only where it or a signal
# handler has raised; then some of the results may be written.
cdef int walk(const plan_t* plan, int op, int type_index, bint exact,
              const char* data, char* out, PyObject* report) except -1 nogil

# Reduce columns of a table that are arrays of their own, side by side elements of one type, into
# one result a row; False where the kernels need them in one array.
cdef int walk_apart(int op, int type_index, const char** columns, Py_ssize_t count,
                    Py_ssize_t rows, Py_ssize_t itemsize, char* out) except -1 nogil
