# A team of threads for C work that needs no Python.

cdef extern from "_threads.h":
    ctypedef long long rk_atomic
    long long rk_add(rk_atomic*, long long) noexcept nogil
    long long rk_load(rk_atomic*) noexcept nogil
    void rk_store(rk_atomic*, long long) noexcept nogil
    bint rk_swap(rk_atomic*, long long, long long) noexcept nogil
    long long rk_process() noexcept nogil
    long long rk_milliseconds() noexcept nogil
    void rk_yield() noexcept nogil

# `caller` says that this is the thread that called: it may take the GIL, others may not.
ctypedef void (*work_t)(void* context, Py_ssize_t part, bint caller) noexcept nogil

# Call work(context, part, caller) for each part from 0 to parts - 1, each once, in any
# order, on this thread and on idle ones. Returns when all are done.
cdef void run_parts(work_t work, void* context, Py_ssize_t parts) noexcept nogil
cdef int threads_in_use() noexcept nogil
