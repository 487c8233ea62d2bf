# Binding: a typed memoryview over memory that the caller answers for.
#
# Acquiring a memoryview from an array costs 165 ns, more than a whole reduction of
# ten elements may take, and its rank is fixed when the kernel is compiled. A bound
# view is the same struct with its four fields set by hand: no object to count,
# nothing to release, any strides. It needs `initializedcheck=False`, and the view
# must start as `= None`. The field names are Cython's own (unchanged for many
# releases); every test of values over strided, reversed and broadcast arrays reads
# through bound views.
#
# The view comes last because only a variadic declaration takes views of every type.

cdef extern from *:
    """
    #define RK_BIND1(pointer, n, itemsize, view) ( \
        (view).data = (char *)(pointer), (view).shape[0] = (n), \
        (view).strides[0] = (itemsize), (view).suboffsets[0] = -1)
    #define RK_BIND2(pointer, n, m, stride, itemsize, view) ( \
        (view).data = (char *)(pointer), (view).shape[0] = (n), (view).shape[1] = (m), \
        (view).strides[0] = (stride), (view).strides[1] = (itemsize), \
        (view).suboffsets[0] = -1, (view).suboffsets[1] = -1)
    """
    # n elements side by side
    void bind1 "RK_BIND1"(const void* pointer, Py_ssize_t n, Py_ssize_t itemsize,
                          ...) noexcept nogil
    # n rows of m elements, the rows `stride` bytes apart
    void bind2 "RK_BIND2"(const char* pointer, Py_ssize_t n, Py_ssize_t m, Py_ssize_t stride,
                          Py_ssize_t itemsize, ...) noexcept nogil
