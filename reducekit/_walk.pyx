# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""Walking a plan: which kernel meets which piece of memory, and in what order.

Design. The outputs are cut into *tiles* of at most TILE, whose state lives on the
stack. For each tile the reduced loops are walked in full, then the state becomes
results. Nothing of the size of the data is ever allocated. Tiles do not depend on
each other, nor their number on the number of threads.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ._kernels.kernels cimport FEW, LARGEST_TILE, TILE, kernels_t, state_t, table_t
from ._plan cimport GATHER, NARROW, ROWS, RUNS, SHORT_RUNS, loop_t, plan_t
from ._sums cimport (
    careful_add, careful_round, exact_add, exact_clear, exact_round, exact_t,
)

from . import _kernels

cdef enum:
    SUM = 2
    BUFFER = 4096               # bytes gathered at a time: they stay in the first cache

cdef table_t* TABLE = <table_t*>PyCapsule_GetPointer(_kernels.table(), "reducekit.table")


cdef struct scratch_t:
    double a[TILE]
    double b[TILE]
    double c[TILE]
    unsigned int d[TILE]
    Py_ssize_t suspects[LARGEST_TILE]
    double results[TILE]
    char buffer[BUFFER]


cdef struct odometer_t:
    int loops
    Py_ssize_t at[64]


cdef inline void rewind(odometer_t* o, int loops) noexcept nogil:
    cdef int i
    o.loops = loops
    for i in range(loops):
        o.at[i] = 0


cdef inline bint advance(odometer_t* o, const loop_t* loops, Py_ssize_t* offset,
                         Py_ssize_t* out_offset) noexcept nogil:
    """Move to the next point of the outermost `o.loops` loops; False at the end."""
    cdef int i = o.loops - 1
    while i >= 0:
        o.at[i] += 1
        offset[0] += loops[i].stride
        out_offset[0] += loops[i].out_stride
        if o.at[i] < loops[i].size:
            return True
        offset[0] -= loops[i].stride * loops[i].size
        out_offset[0] -= loops[i].out_stride * loops[i].size
        o.at[i] = 0
        i -= 1
    return False


cdef inline Py_ssize_t smaller(Py_ssize_t x, Py_ssize_t y) noexcept nogil:
    return x if x < y else y


cdef void gather(const char* data, Py_ssize_t count, Py_ssize_t stride, char* to,
                 Py_ssize_t itemsize, bint swapped) noexcept nogil:
    """Copy elements side by side, in this machine's byte order; any alignment will do."""
    cdef Py_ssize_t i
    cdef uint16_t two
    cdef uint32_t four
    cdef uint64_t eight
    if itemsize == 4:
        for i in range(count):
            memcpy(&four, data + i * stride, 4)
            if swapped:
                four = (four >> 24) | (four >> 8 & 0xff00) | (four << 8 & 0xff0000) | (four << 24)
            memcpy(to + i * 4, &four, 4)
    elif itemsize == 8:
        for i in range(count):
            memcpy(&eight, data + i * stride, 8)
            if swapped:
                eight = (eight >> 32) | (eight << 32)
                eight = ((eight >> 16) & <uint64_t>0x0000ffff0000ffffULL) \
                    | ((eight & <uint64_t>0x0000ffff0000ffffULL) << 16)
                eight = ((eight >> 8) & <uint64_t>0x00ff00ff00ff00ffULL) \
                    | ((eight & <uint64_t>0x00ff00ff00ff00ffULL) << 8)
            memcpy(to + i * 8, &eight, 8)
    elif itemsize == 2:
        for i in range(count):
            memcpy(&two, data + i * stride, 2)
            if swapped:
                two = <uint16_t>(two >> 8 | two << 8)
            memcpy(to + i * 2, &two, 2)
    else:
        for i in range(count):
            to[i] = data[i * stride]


cdef void look_again(const plan_t* plan, int op, int type_index, const char* data, char* out,
                     char* buffer) noexcept nogil:
    """Reduce one output slowly and surely: a sum exactly, an extreme element by element."""
    cdef exact_t acc
    cdef odometer_t o
    cdef Py_ssize_t offset = 0, unused = 0, start, size, count = 1, stride = 0
    cdef int outer = plan.n_reduced - 1 if plan.n_reduced else 0
    cdef Py_ssize_t room = BUFFER // plan.itemsize
    exact_clear(&acc)
    if plan.n_reduced:
        count = plan.reduced[outer].size
        stride = plan.reduced[outer].stride
    rewind(&o, outer)
    while True:
        start = 0
        while start < count:
            size = smaller(count - start, room)
            gather(data + offset + start * stride, size, stride, buffer, plan.itemsize,
                   plan.swapped)
            if op == SUM:
                exact_add(&acc, type_index, buffer, size)
            else:
                careful_add(&acc, type_index, op == 0, buffer, size)
                if acc.nan:
                    break
            start += size
        if (op != SUM and acc.nan) or not advance(&o, plan.reduced, &offset, &unused):
            break
    if op == SUM:
        exact_round(&acc, type_index, out)
    else:
        careful_round(&acc, type_index, op == 0, out)


cdef inline void run_tile(const plan_t* plan, const kernels_t* k, const char* data,
                          Py_ssize_t width, state_t* state, char* buffer) noexcept nogil:
    """Fold everything that belongs to `width` outputs of the innermost kept loop."""
    cdef odometer_t o
    cdef Py_ssize_t offset = 0, unused = 0
    cdef const loop_t* inner = &plan.reduced[plan.n_reduced - 1 if plan.n_reduced else 0]
    cdef const loop_t* line = &plan.kept[plan.n_kept - 1 if plan.n_kept else 0]
    cdef Py_ssize_t kept_stride = line.stride if plan.n_kept else 0
    cdef Py_ssize_t group, rows, wide, left, start, size, stride, room, g
    cdef int outer
    if plan.form == RUNS or plan.form == SHORT_RUNS:
        outer = plan.n_reduced - 1
        rows = 1
        stride = 0
        if outer and (plan.reduced[outer - 1].stride < kept_stride or inner.size >= 256):
            outer -= 1
            rows = plan.reduced[outer].size
            stride = plan.reduced[outer].stride
        rewind(&o, outer)
        while True:
            if plan.form == SHORT_RUNS:
                k.short_runs(data + offset, width, kept_stride, rows, stride, inner.size,
                             state, NULL, 0)
            else:
                k.runs(data + offset, width, kept_stride, rows, stride, inner.size,
                       state, NULL, 0)
            if not advance(&o, plan.reduced, &offset, &unused):
                break
    elif plan.form == ROWS:
        size = (width - 1) * plan.step + 1
        if plan.n_reduced == 0:
            k.rows(data, size, 1, 0, state, NULL, 0)
            return
        rewind(&o, plan.n_reduced - 1)
        while True:
            k.rows(data + offset, size, inner.size, inner.stride, state, NULL, 0)
            if not advance(&o, plan.reduced, &offset, &unused):
                break
    elif plan.form == NARROW:
        # Several rows make one wide row. Of the last row only the used part is there.
        size = (width - 1) * plan.step + 1
        group = plan.group
        wide = group * plan.period
        rows = (inner.size - 1) // group
        left = inner.size - 1 - rows * group
        rewind(&o, plan.n_reduced - 1)
        while True:
            if rows:
                k.rows(data + offset, wide, rows, wide * plan.itemsize, state, NULL, 0)
            start = rows * wide * plan.itemsize
            if left:
                k.rows(data + offset + start, left * plan.period, 1, 0, state, NULL, 0)
            start += left * plan.period * plan.itemsize
            k.rows(data + offset + start, size, 1, 0, state, NULL, 0)
            if not advance(&o, plan.reduced, &offset, &unused):
                break
        k.fold(wide, plan.period, state, NULL, 0)
    else:
        room = BUFFER // plan.itemsize
        if plan.n_reduced and (width == 1 or inner.stride < kept_stride):
            # One output a tile: collect along the run.
            rewind(&o, plan.n_reduced - 1)
            while True:
                start = 0
                while start < inner.size:
                    size = smaller(inner.size - start, room)
                    gather(data + offset + start * inner.stride, size, inner.stride, buffer,
                           plan.itemsize, plan.swapped)
                    k.runs(buffer, 1, 0, 1, 0, size, state, NULL, 0)
                    start += size
                if not advance(&o, plan.reduced, &offset, &unused):
                    break
            return
        # Collect rows, as many as the buffer holds, and accumulate them.
        rewind(&o, plan.n_reduced)
        group = room // width
        g = 0
        while True:
            gather(data + offset, width, kept_stride, buffer + g * width * plan.itemsize,
                   plan.itemsize, plan.swapped)
            g += 1
            if g == group:
                k.rows(buffer, width, g, width * plan.itemsize, state, NULL, 0)
                g = 0
            if not advance(&o, plan.reduced, &offset, &unused):
                break
        if g:
            k.rows(buffer, width, g, width * plan.itemsize, state, NULL, 0)


cdef Py_ssize_t tile_width(const plan_t* plan, Py_ssize_t most) noexcept nogil:
    """How many outputs of the innermost kept loop share a tile."""
    cdef Py_ssize_t width
    if plan.n_kept == 0:
        return 1
    width = plan.line
    if plan.form == ROWS:
        return smaller(width, most // plan.step)
    if plan.form == NARROW:
        # A strided run has a period too, but its outputs do not lie side by side.
        if plan.kept[plan.n_kept - 1].stride != plan.step * plan.itemsize:
            return 1
        return plan.across
    if plan.form == GATHER:
        if plan.n_reduced and plan.reduced[plan.n_reduced - 1].stride < plan.kept[plan.n_kept - 1].stride:
            return 1
        return smaller(width, 256)
    return smaller(width, most if plan.form == SHORT_RUNS else 256)


cdef Py_ssize_t place(const plan_t* plan, Py_ssize_t column) noexcept nogil:
    """Where the result of a column goes, when inner kept loops are walked as one."""
    cdef Py_ssize_t offset = 0
    cdef int i
    for i in range(plan.n_kept - 1, plan.n_kept - 1 - plan.flat, -1):
        offset += column % plan.kept[i].size * plan.kept[i].out_stride
        column //= plan.kept[i].size
    return offset


cdef void scatter(const plan_t* plan, const char* results, Py_ssize_t start, Py_ssize_t count,
                  char* out) noexcept nogil:
    """Put results side by side into their places in `out`, a line of the inner loop at a time."""
    cdef const loop_t* inner = &plan.kept[plan.n_kept - 1]
    cdef Py_ssize_t done = 0, n, i, width = plan.itemsize
    cdef char* to
    while done < count:
        n = smaller(count - done, inner.size - (start + done) % inner.size)
        to = out + place(plan, start + done)
        for i in range(n):
            if width == 4:
                memcpy(to + i * inner.out_stride, results + (done + i) * 4, 4)
            elif width == 8:
                memcpy(to + i * inner.out_stride, results + (done + i) * 8, 8)
            else:
                memcpy(to + i * inner.out_stride, results + (done + i) * width, width)
        done += n


cdef void walk_tiles(const plan_t* plan, int op, int type_index, bint exact,
                     const char* data, char* out) noexcept nogil:
    cdef scratch_t scratch
    cdef state_t state
    cdef odometer_t o
    cdef const kernels_t* k = &TABLE.of[op][type_index]
    cdef Py_ssize_t offset = plan.start, out_offset = plan.out_start
    cdef Py_ssize_t width, most, start, columns, found, i, run
    cdef Py_ssize_t stride = 0, out_stride = 0, step = 1
    cdef bint apart = plan.flat > 1
    state.a = scratch.a
    state.b = scratch.b
    state.c = scratch.c
    state.d = scratch.d
    state.exact = exact
    state.few = plan.terms <= FEW
    state.chain = plan.terms
    if plan.form == RUNS and plan.reduced[plan.n_reduced - 1].size >= 16:
        run = plan.reduced[plan.n_reduced - 1].size
        state.chain = <double>(plan.terms // run) * (run // 4096 + 1)
    if plan.n_kept:
        stride = plan.kept[plan.n_kept - 1].stride
        out_stride = plan.kept[plan.n_kept - 1].out_stride
    if plan.form == ROWS or plan.form == NARROW:
        step = plan.step
    most = tile_width(plan, k.tile)
    rewind(&o, plan.n_kept - plan.flat if plan.n_kept else 0)
    while True:
        start = 0
        while start < plan.line:
            width = smaller(plan.line - start, most)
            columns = width
            if plan.form == ROWS:
                columns = (width - 1) * step + 1
            elif plan.form == NARROW:
                columns = plan.group * plan.period
            k.init(0, columns, &state, NULL, 0)
            if plan.terms:
                run_tile(plan, k, data + offset + start * stride, width, &state, scratch.buffer)
            if apart:
                found = k.finish(width, step, <double>plan.terms, <char*>scratch.results,
                                 plan.itemsize, scratch.suspects, &state, NULL, 0)
                scatter(plan, <const char*>scratch.results, start, width, out + out_offset)
            else:
                found = k.finish(width, step, <double>plan.terms,
                                 out + out_offset + start * out_stride, out_stride,
                                 scratch.suspects, &state, NULL, 0)
            for i in range(found):
                columns = start + scratch.suspects[i]
                look_again(plan, op, type_index, data + offset + columns * stride,
                           out + out_offset + (place(plan, columns) if apart
                                               else columns * out_stride),
                           scratch.buffer)
            start += width
        if not advance(&o, plan.kept, &offset, &out_offset):
            break


cdef void walk(const plan_t* plan, int op, int type_index, bint exact,
               const char* data, char* out) noexcept nogil:
    if plan.outputs:
        walk_tiles(plan, op, type_index, exact, data, out)
