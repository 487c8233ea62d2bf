# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""The plan: in which order, and in which form, memory is walked.

Design. The order of the elements does not change a result, so an array is always
walked in the order of its memory: axes of size 1 vanish (they may carry any stride),
negative strides are turned round, axes are sorted by stride, and neighbours of the
same kind (kept or reduced) that lie end to end become one loop. What is left at the
inner end decides the form, of which there are few. The plan is a C struct on the
caller's stack; ``loops`` gives it as Python data.
"""

cdef enum:
    # From so many repeats on, along reduced axes that stand still, elements are folded in
    # once. A sum is then multiplied, exactly, which costs what some thousand additions do.
    MANY_REPEATS = 4096


cdef inline bint merges(const loop_t* outer, const loop_t* inner, bint kept) noexcept nogil:
    if outer.stride != inner.stride * inner.size:
        return False
    return not kept or outer.out_stride == inner.out_stride * inner.size


cdef inline void push(loop_t* loops, int* count, loop_t loop) noexcept nogil:
    """Insert by stride, the largest first; loops that stand still (stride 0) are outermost."""
    cdef int i = count[0]
    while (i > 0 and loop.stride != 0
           and loops[i - 1].stride < loop.stride and loops[i - 1].stride != 0):
        loops[i] = loops[i - 1]
        i -= 1
    if loop.stride == 0:
        while i > 0 and loops[i - 1].stride != 0:
            loops[i] = loops[i - 1]
            i -= 1
    loops[i] = loop
    count[0] += 1


cdef inline void merge(loop_t* loops, int* count, const loop_t* others, int n_others,
                       bint kept) noexcept nogil:
    # Loops of the other kind between two of these do not matter: each kind is walked
    # as a nest of its own.
    cdef int i, last = 0
    if count[0] == 0:
        return
    for i in range(1, count[0]):
        if merges(&loops[last], &loops[i], kept):
            loops[last].size *= loops[i].size
            loops[last].stride = loops[i].stride
            loops[last].out_stride = loops[i].out_stride
        else:
            last += 1
            loops[last] = loops[i]
    count[0] = last + 1


cdef void build(plan_t* plan, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides,
                const Py_ssize_t* out_strides, const unsigned char* reduced,
                Py_ssize_t itemsize, bint idempotent, bint awkward, bint swapped) noexcept nogil:
    """Fill the plan.

    ``out_strides`` has an entry for each axis; those of reduced axes are not read.
    ``idempotent`` says that repeats of an element change nothing. Otherwise the result is
    still to be multiplied by `repeats`.
    ``awkward`` says that elements are unaligned or swapped and must be gathered.
    """
    cdef int i
    cdef loop_t loop
    cdef Py_ssize_t inner, r, q
    plan.n_kept = 0
    plan.n_reduced = 0
    plan.start = 0
    plan.out_start = 0
    plan.itemsize = itemsize
    plan.step = 1
    plan.period = 0
    plan.across = 1
    plan.group = 1
    plan.flat = 1
    plan.line = 1
    plan.outputs = 1
    plan.terms = 1
    plan.repeats = 1
    plan.swapped = swapped
    for i in range(ndim):
        if not reduced[i]:
            plan.outputs *= shape[i]
        elif strides[i] == 0 and shape[i] > 1:
            plan.repeats *= shape[i]
        else:
            plan.terms *= shape[i]
    if plan.terms == 0 or not (idempotent or plan.repeats >= MANY_REPEATS):
        plan.terms *= plan.repeats
        plan.repeats = 1
    for i in range(ndim):
        if shape[i] == 1 or plan.outputs == 0 or (reduced[i] and plan.terms == 0):
            continue
        loop.size = shape[i]
        loop.stride = strides[i]
        loop.out_stride = 0 if reduced[i] else out_strides[i]
        if reduced[i] and loop.stride == 0 and plan.repeats > 1:
            continue
        if loop.stride < 0 and plan.terms != 0:
            plan.start += loop.stride * (loop.size - 1)
            loop.stride = -loop.stride
            if not reduced[i]:
                plan.out_start += loop.out_stride * (loop.size - 1)
                loop.out_stride = -loop.out_stride
        if plan.terms == 0:
            loop.stride = 0             # nothing is read: the pointer must not move
        if reduced[i]:
            push(plan.reduced, &plan.n_reduced, loop)
        else:
            push(plan.kept, &plan.n_kept, loop)
    merge(plan.kept, &plan.n_kept, plan.reduced, plan.n_reduced, True)
    merge(plan.reduced, &plan.n_reduced, plan.kept, plan.n_kept, False)

    # The form, from the two innermost loops: r bytes from one reduced element to the
    # next, q from one kept element to the next.
    r = plan.reduced[plan.n_reduced - 1].stride if plan.n_reduced else 0
    q = plan.kept[plan.n_kept - 1].stride if plan.n_kept else 0
    plan.form = GATHER
    if plan.n_kept:
        plan.line = plan.kept[plan.n_kept - 1].size
    if plan.terms == 0:
        plan.form = ROWS
        return
    if awkward:
        return
    if r == itemsize:
        plan.form = RUNS
        if plan.n_kept and plan.reduced[plan.n_reduced - 1].size <= 32 \
                and q == r * plan.reduced[plan.n_reduced - 1].size:
            plan.form = SHORT_RUNS
    elif plan.n_kept and q > 0 and (r == 0 or q < r):
        if q % itemsize == 0 and q <= 8 * itemsize:
            plan.step = q // itemsize
            plan.period = plan.step * plan.kept[plan.n_kept - 1].size
            if r == plan.period * itemsize and plan.period < 256:
                plan.form = NARROW
                plan.across = plan.kept[plan.n_kept - 1].size
            else:
                plan.form = ROWS
    elif r > 0:
        if r % itemsize == 0 and r <= 8 * itemsize and (plan.n_kept == 0 or q > r or q == 0):
            # A strided run: a narrow row of which only the first column is used.
            plan.step = 1
            plan.period = r // itemsize
            plan.form = NARROW
    elif plan.n_kept == 0:
        plan.form = ROWS                # one element

    if plan.form == NARROW:
        # A power of two, for the fold halves it; small enough for the fold to be little
        # beside the rows.
        inner = plan.reduced[plan.n_reduced - 1].size
        while 2 * plan.group * plan.period <= 1024 and 32 * plan.group <= inner:
            plan.group *= 2
    elif plan.form == ROWS and plan.step == 1:
        # In the data these loops are one; only their places in the result are apart.
        i = plan.n_kept - 1
        while i > 0 and plan.kept[i - 1].stride == plan.kept[i].stride * plan.kept[i].size:
            i -= 1
            plan.flat += 1
            plan.line *= plan.kept[i].size


def loops(shape, strides, Py_ssize_t itemsize, reduced, bint idempotent):
    """The loops of an array of contiguous results, as plain data.

    Nothing is checked: :func:`reducekit.explain.describe` does, for which this is.

    Parameters
    ----------
    shape, strides : list of int
        At most 64 of each.
    itemsize : int
        Bytes in an element.
    reduced : list of bool
        Which axes are reduced.
    idempotent : bool
        As for ``build``.

    Returns
    -------
    tuple
        The number of the form, sizes and strides of the kept and of the reduced loops,
        how many outputs there are, and elements for each.
    """
    cdef plan_t plan
    cdef Py_ssize_t c_shape[64]
    cdef Py_ssize_t c_strides[64]
    cdef Py_ssize_t c_out[64]
    cdef unsigned char mask[64]
    cdef int i, ndim = len(shape)
    cdef Py_ssize_t width = itemsize
    cdef list kept = [], gone = []
    for i in range(ndim - 1, -1, -1):
        c_shape[i] = shape[i]
        c_strides[i] = strides[i]
        mask[i] = reduced[i]
        c_out[i] = width
        if not mask[i]:
            width *= c_shape[i]
    build(&plan, ndim, c_shape, c_strides, c_out, mask, itemsize, idempotent, False, False)
    for i in range(plan.n_kept):
        kept.append((plan.kept[i].size, plan.kept[i].stride))
    for i in range(plan.n_reduced):
        gone.append((plan.reduced[i].size, plan.reduced[i].stride))
    return plan.form, kept, gone, plan.outputs, plan.terms * plan.repeats
