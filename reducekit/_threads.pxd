# A team of threads for C work that needs no Python.

ctypedef void (*work_t)(void* context, Py_ssize_t part) noexcept nogil

# Call work(context, part) for each part from 0 to parts - 1, each once, in any order,
# on this thread and on idle ones. Returns when all are done.
cdef void run_parts(work_t work, void* context, Py_ssize_t parts) noexcept nogil
cdef int threads_in_use() noexcept nogil
