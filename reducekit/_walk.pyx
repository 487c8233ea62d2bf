# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""Walking a plan: which kernel meets which piece of memory, and in what order.

Design. The outputs are cut into *tiles*. For each tile the reduced loops are walked in
full, then the state becomes results. Nothing of the size of the data is ever allocated.
Tiles do not depend on each other, so threads take them as they come. Where there is one
tile only, the outermost reduced loop is cut into slices, each with a state of its own,
and the states are folded in the end. How it is cut depends on the plan alone, so the
number of threads never shows in a result.

The state of a tile is 36 kB, of wide rows from memory four times as much, and with it
goes as much again. A few columns fit the stack; more live in a *scratch* from the heap,
for the stack of a thread may be 64 KiB in all. Scratches are kept: taking one and giving
it back are two atomic operations.

No kernel is called with more than some milliseconds' work. Between calls work is
counted, and now and then the calling thread takes the GIL to look whether a signal
(Ctrl-C) has come, and to tell whoever asked how much is done.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_XDECREF
from libc.math cimport sqrt
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ._kernels.kernels cimport FEW, FEW_ROWS, TILE, few_t, kernels_t, state_t, table_t
from ._plan cimport GATHER, NARROW, ROWS, RUNS, SHORT_RUNS, loop_t, plan_t
from ._threads cimport (
    rk_add, rk_atomic, rk_load, rk_milliseconds, rk_process, rk_store, rk_swap, rk_yield, run_parts,
    threads_in_use,
)
from ._sums cimport exact_add, exact_clear, exact_multiply, exact_round, exact_t

from . import _kernels

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept
    PyObject* PyObject_CallFunction(PyObject* function, const char* kinds, ...) noexcept

cdef enum:
    SUM = 2
    FLOAT16 = 9                 # of dtypes.ELEMENT_TYPES, the first that rounds
    BUFFER = 4096               # bytes gathered at a time: they stay in the first cache
    STRETCH = 32768             # bytes that are better read in one go
    PARTS = 16                  # slices of a reduction to one tile; a power of two, for the fold
    FEW_PARTS = 4               # where the state of a slice is large
    STATES = FEW_PARTS * TILE * 32  # bytes of state for all slices
    FAR = 24 << 20              # bytes read and written that are in no cache
    LARGE = 1 << 20             # bytes read; smaller reductions are one part for one thread
    LINES = 1 << 14             # bytes of results that wait for neighbours
    TINY = 1 << 14              # bytes read
    FEW_COLUMNS = 64            # their state fits the stack
    KEPT = 16                   # scratches that are kept between calls
    MOST = 1 << 24              # elements that one call of a kernel should take
    BLOCK = 128                 # rows that are read to their ends before the next ones
    FEWEST_ROWS = 2048          # that are cut off: as many as make 128 in each slice
    OFTEN = 1 << 20             # elements between looks at the clock
    TILE_APART = 1 << 13        # bytes of results
    PATIENCE = 100              # milliseconds between looks at signals

cdef table_t* TABLE = <table_t*>PyCapsule_GetPointer(_kernels.table(), "reducekit.table")


cdef struct scratch_t:
    double a[TILE]
    double b[TILE]
    double c[TILE]
    unsigned int d[TILE]
    Py_ssize_t suspects[TILE]
    double results[TILE]
    char lines[2 * LINES]
    char buffer[BUFFER]
    void* memory                # what malloc gave


cdef struct small_scratch_t:
    double a[FEW_COLUMNS]
    double b[FEW_COLUMNS]
    double c[FEW_COLUMNS]
    unsigned int d[FEW_COLUMNS]
    Py_ssize_t suspects[FEW_COLUMNS]
    double results[FEW_COLUMNS]
    char buffer[BUFFER]


cdef struct room_t:             # a scratch of either size
    void* a
    void* b
    void* c
    void* d
    Py_ssize_t* suspects
    char* results
    char* lines                 # NULL in a small one
    char* buffer


cdef rk_atomic SPARE[KEPT]      # addresses of scratches that are free, or 0
cdef scratch_t RESERVE          # where there is no memory: one thread after the other
cdef rk_atomic RESERVED = 0     # by a thread of this process; of the dead parent of a fork, by none


cdef scratch_t* take_scratch() noexcept nogil:
    cdef long long address, process
    cdef scratch_t* scratch
    cdef char* memory
    cdef int i
    for i in range(KEPT):
        address = rk_load(&SPARE[i])
        if address and rk_swap(&SPARE[i], address, 0):
            return <scratch_t*><size_t>address
    memory = <char*>malloc(sizeof(scratch_t) + 64)
    if memory == NULL:
        process = rk_process()
        while not rk_swap(&RESERVED, 0, process):
            address = rk_load(&RESERVED)
            if address and address != process and rk_swap(&RESERVED, address, process):
                break
            rk_yield()
        return &RESERVE
    # At the start of a cache line, for the widest vectors.
    scratch = <scratch_t*>(memory + (64 - (<size_t>memory & 63)))
    scratch.memory = memory
    return scratch


cdef void give_scratch(scratch_t* scratch) noexcept nogil:
    cdef int i
    if scratch == &RESERVE:
        rk_store(&RESERVED, 0)
        return
    for i in range(KEPT):
        if rk_swap(&SPARE[i], 0, <long long><size_t>scratch):
            return
    free(scratch.memory)


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


cdef struct share_t:            # what the threads of a walk tell each other
    rk_atomic stop              # an exception is set: all threads leave their work
    rk_atomic done              # elements, where there is a report
    PyObject* report            # called with these; or NULL


cdef struct watch_t:
    Py_ssize_t since            # elements taken since the last look
    long long looked            # when the calling thread last looked at signals
    bint caller
    share_t* share


cdef bint told(PyObject* report, long long elements) noexcept:
    cdef PyObject* result = PyObject_CallFunction(report, "L", elements)
    Py_XDECREF(result)
    return result != NULL


cdef bint look_up(watch_t* watch) noexcept nogil:
    cdef share_t* share = watch.share
    cdef long long now
    if share.report != NULL:
        rk_add(&share.done, watch.since)
    watch.since = 0
    if watch.caller and not rk_load(&share.stop):
        now = rk_milliseconds()
        if watch.looked == 0:
            watch.looked = now
        elif now - watch.looked >= PATIENCE:
            with gil:
                if PyErr_CheckSignals() < 0 or (
                        share.report != NULL and not told(share.report, rk_load(&share.done))):
                    rk_store(&share.stop, 1)
            watch.looked = rk_milliseconds()
    return rk_load(&share.stop) != 0


cdef inline bint stopped(watch_t* watch, Py_ssize_t elements) noexcept nogil:
    """Count work that was done; whether to leave the rest."""
    watch.since += elements
    return watch.since >= OFTEN and look_up(watch)


cdef bint sum_exactly(const plan_t* plan, int type_index, const char* data, char* out,
                      char* buffer, watch_t* watch) noexcept nogil:
    """Sum one output slowly and surely. False if it was stopped."""
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
            if stride == plan.itemsize and plan.form != GATHER:
                size = smaller(count - start, 4 * OFTEN)
                exact_add(&acc, type_index, data + offset + start * stride, size)
            else:
                size = smaller(count - start, room)
                gather(data + offset + start * stride, size, stride, buffer, plan.itemsize,
                       plan.swapped)
                exact_add(&acc, type_index, buffer, size)
            start += size
            if stopped(watch, size):
                return False
        if not advance(&o, plan.reduced, &offset, &unused):
            break
    if plan.repeats > 1:
        exact_multiply(&acc, plan.repeats)
    exact_round(&acc, type_index, out)
    return True


cdef inline Py_ssize_t stretch(Py_ssize_t left, Py_ssize_t size, Py_ssize_t least) noexcept nogil:
    """How many of the `left` rows or elements, of `size` elements each, go into one call.

    All, or as many times `least` as MOST allows; and no small rest is left for the end.
    """
    cdef Py_ssize_t n
    if (left <= 4096 and size <= 4096) or left <= MOST // size:
        return left         # mostly without a division
    n = MOST // (size * least) * least if size * least < MOST else least
    return left if left < 2 * n else n


cdef bint rows_in_stretches(const kernels_t* k, const char* data, Py_ssize_t columns,
                            Py_ssize_t rows, Py_ssize_t stride, state_t* state,
                            watch_t* watch) noexcept nogil:
    cdef Py_ssize_t done = 0, n
    while True:
        if columns > k.tile:    # these rows are read to their ends, block by block
            n = smaller(rows - done, BLOCK)
        else:
            n = stretch(rows - done, columns, FEWEST_ROWS)
        k.rows(data + done * stride, columns, n, stride, state, NULL, 0)
        done += n
        if stopped(watch, n * columns):
            return False
        if done == rows:
            return True


cdef bint runs_in_stretches(const kernels_t* k, bint short, const char* data, Py_ssize_t width,
                            Py_ssize_t kept_stride, Py_ssize_t rows, Py_ssize_t stride,
                            Py_ssize_t run, Py_ssize_t itemsize, state_t* state,
                            watch_t* watch) noexcept nogil:
    cdef Py_ssize_t done = 0, n, start, size
    while done < rows:
        n = stretch(rows - done, width * run, 1)
        start = 0
        while start < run:
            size = stretch(run - start, 1, 1) if width * n == 1 else run
            if short:
                k.short_runs(data + done * stride, width, kept_stride, n, stride, run,
                             state, NULL, 0)
            else:
                k.runs(data + done * stride + start * itemsize, width, kept_stride, n, stride,
                       size, state, NULL, 0)
            if stopped(watch, width * n * size):
                return False
            start += size
        done += n
    return True


cdef inline bint by_period(const plan_t* plan, const kernels_t* k, bint exact) noexcept nogil:
    """Whether a strided run is met as a contiguous one, of which only some elements count."""
    return (plan.form == NARROW and plan.across == 1 and k.strides and not exact
            and (plan.period == 2 or plan.period == 4 or plan.period == 8)
            and plan.reduced[plan.n_reduced - 1].size > 32)      # 64 bytes and more


cdef inline bint run_tile(const plan_t* plan, int form, const kernels_t* k, const char* data,
                          Py_ssize_t width, state_t* state, char* buffer,
                          watch_t* watch) noexcept nogil:
    """Fold everything that belongs to `width` outputs of the innermost kept loop.

    False if it was stopped.
    """
    cdef odometer_t o
    cdef Py_ssize_t offset = 0, unused = 0
    cdef const loop_t* inner = &plan.reduced[plan.n_reduced - 1 if plan.n_reduced else 0]
    cdef const loop_t* line = &plan.kept[plan.n_kept - 1 if plan.n_kept else 0]
    cdef Py_ssize_t kept_stride = line.stride if plan.n_kept else 0
    cdef Py_ssize_t group, rows, wide, left, start, size, stride, room, g
    cdef int outer
    if form == RUNS or form == SHORT_RUNS:
        outer = plan.n_reduced - 1
        rows = 1
        stride = 0
        # A reduced loop around the runs goes into the kernel, which then folds its lanes
        # once an output, unless runs are so long that the order of memory counts more
        # (int32, 64 x 128 x 256 over 0 and 2: 80 us inside, 178 outside; the runs of 12 kB
        # of 8 x 64 x 56 x 56 over 0, 2 and 3: 88 and 63).
        if outer and (plan.reduced[outer - 1].stride < kept_stride or width == 1
                      or inner.size * plan.itemsize < k.long_run):
            outer -= 1
            rows = plan.reduced[outer].size
            stride = plan.reduced[outer].stride
        rewind(&o, outer)
        while True:
            if width * rows * inner.size > MOST:
                if not runs_in_stretches(k, form == SHORT_RUNS, data + offset, width,
                                         kept_stride, rows, stride, inner.size, plan.itemsize,
                                         state, watch):
                    return False
            elif form == SHORT_RUNS:
                k.short_runs(data + offset, width, kept_stride, rows, stride, inner.size,
                             state, NULL, 0)
            else:
                k.runs(data + offset, width, kept_stride, rows, stride, inner.size,
                       state, NULL, 0)
            if stopped(watch, width * rows * inner.size):
                return False
            if not advance(&o, plan.reduced, &offset, &unused):
                break
    elif form == ROWS:
        size = (width - 1) * plan.step + 1
        if plan.n_reduced == 0:
            k.rows(data, size, 1, 0, state, NULL, 0)
            return not stopped(watch, size)
        rewind(&o, plan.n_reduced - 1)
        while True:
            if inner.size <= FEWEST_ROWS and size <= k.tile:
                k.rows(data + offset, size, inner.size, inner.stride, state, NULL, 0)
            elif not rows_in_stretches(k, data + offset, size, inner.size, inner.stride, state,
                                       watch):
                return False
            if stopped(watch, size):
                return False
            if not advance(&o, plan.reduced, &offset, &unused):
                break
    elif form == NARROW and by_period(plan, k, state.exact):
        room = MOST // width
        rewind(&o, plan.n_reduced - 1)
        while True:
            start = 0
            while start < inner.size:
                size = inner.size - start
                if size > room + 64:        # what is left must not be too short
                    size = room
                k.runs(data + offset + start * inner.stride, width, kept_stride, 1, 0,
                       (size - 1) * plan.period + 1, state, NULL, 0)
                start += size
                if stopped(watch, width * size):
                    return False
            if not advance(&o, plan.reduced, &offset, &unused):
                break
    elif form == NARROW:
        # Several rows make one wide row. Of the last row only the used part is there.
        size = (width - 1) * plan.step + 1
        group = plan.group
        wide = group * plan.period
        rows = (inner.size - 1) // group
        left = inner.size - 1 - rows * group
        rewind(&o, plan.n_reduced - 1)
        while True:
            if rows:
                if not rows_in_stretches(k, data + offset, wide, rows, wide * plan.itemsize,
                                         state, watch):
                    return False
            elif state.fresh:
                k.init(0, wide, state, NULL, 0)
                state.fresh = False
            start = rows * wide * plan.itemsize
            if left:
                k.rows(data + offset + start, left * plan.period, 1, 0, state, NULL, 0)
            start += left * plan.period * plan.itemsize
            k.rows(data + offset + start, size, 1, 0, state, NULL, 0)
            if not advance(&o, plan.reduced, &offset, &unused):
                break
        k.merge(wide, plan.period, state, NULL, 0)
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
                    if stopped(watch, size):
                        return False
                if not advance(&o, plan.reduced, &offset, &unused):
                    break
            return True
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
                if stopped(watch, g * width):
                    return False
                g = 0
            if not advance(&o, plan.reduced, &offset, &unused):
                break
        if g:
            k.rows(buffer, width, g, width * plan.itemsize, state, NULL, 0)
    return not stopped(watch, width)


cdef Py_ssize_t tile_width(const plan_t* plan, const kernels_t* k, bint exact,
                           int far) noexcept nogil:
    """How many outputs of the innermost kept loop share a tile."""
    cdef Py_ssize_t width, tiles, threads
    if plan.n_kept == 0:
        return 1
    width = plan.line
    if plan.form == ROWS:
        if (far == 2 and plan.step == 1 and plan.flat == 1 and plan.n_reduced
                and plan.reduced[plan.n_reduced - 1].size > FEW_ROWS):
            # Rows are read to their ends, a block of rows at a time; all threads have as much.
            if width <= TILE:
                return width
            threads = threads_in_use()
            tiles = ((width + TILE - 1) // TILE + threads - 1) // threads * threads
            return ((width + tiles - 1) // tiles + 63) // 64 * 64
        return smaller(width, k.tile // plan.step)
    if by_period(plan, k, exact):
        return smaller(width, 256)
    if plan.form == NARROW:
        # A strided run has a period too, but its outputs do not lie side by side.
        if plan.kept[plan.n_kept - 1].stride != plan.step * plan.itemsize:
            return 1
        return plan.across
    if plan.form == GATHER:
        if plan.n_reduced and (plan.reduced[plan.n_reduced - 1].stride
                               < plan.kept[plan.n_kept - 1].stride):
            return 1
        return smaller(width, 256)
    return smaller(width, k.tile if plan.form == SHORT_RUNS else 256)


cdef Py_ssize_t place(const plan_t* plan, Py_ssize_t column) noexcept nogil:
    """Where the result of a column goes, when inner kept loops are walked as one."""
    cdef Py_ssize_t offset = 0
    cdef int i
    for i in range(plan.n_kept - 1, plan.n_kept - 1 - plan.flat, -1):
        offset += column % plan.kept[i].size * plan.kept[i].out_stride
        column //= plan.kept[i].size
    return offset


cdef struct job_t:              # what the threads of one walk share
    const plan_t* plan
    const kernels_t* kernels
    int op
    int type_index
    bint exact
    int far
    const char* data
    char* out
    Py_ssize_t most             # outputs in a tile
    Py_ssize_t chunks           # tiles in a line of the innermost kept loops
    Py_ssize_t tiles
    Py_ssize_t parts
    char* states                # of a split walk: the state of each part
    Py_ssize_t columns
    Py_ssize_t slices
    bint every_exactly          # no state: each output is an exact sum, times the repeats
    share_t share
    watch_t watch               # of the calling thread


cdef void set_state(const job_t* job, state_t* state) noexcept nogil:
    cdef const plan_t* plan = job.plan
    cdef Py_ssize_t run, rows
    state.exact = job.exact
    state.far = job.far
    state.few = plan.terms <= FEW
    state.chain = <double>plan.terms
    state.flip = job.kernels.flip
    state.fold = job.kernels.fold
    state.turn = job.kernels.turn
    state.period = <int>plan.period if by_period(plan, job.kernels, job.exact) else 1
    # Of 128 rows; or of 4096 elements in 32 lanes and their folding. The rest leaves room for the
    # rounding of the bound.
    state.steps = 144
    if plan.form == RUNS and plan.reduced[plan.n_reduced - 1].size >= 16:
        run = plan.reduced[plan.n_reduced - 1].size
        state.steps = 16 + <double>(smaller(run, 4096) // 32)
        state.chain = <double>(plan.terms // run) * (run // 4096 + PARTS * (1 + run // MOST))
    elif plan.form == ROWS or plan.form == NARROW:
        # Of 128 rows and more, in each slice, the rest is carried over every 128 rows: its
        # errors grow as if all chains were that long.
        rows = plan.reduced[plan.n_reduced - 1].size // plan.group if plan.n_reduced else 0
        if rows // PARTS > 128:
            state.chain = sqrt(260.0 * <double>plan.terms)


cdef inline void point_at(state_t* state, const room_t* room) noexcept nogil:
    state.a = room.a
    state.b = room.b
    state.c = room.c
    state.d = room.d


cdef inline Py_ssize_t columns_of(const job_t* job, Py_ssize_t width) noexcept nogil:
    """The columns of state that `width` outputs need while they are walked."""
    cdef const plan_t* plan = job.plan
    if by_period(plan, job.kernels, job.exact):
        return width
    if plan.form == ROWS:
        return (width - 1) * plan.step + 1
    if plan.form == NARROW:
        return plan.group * plan.period
    return width


cdef bint settle(const job_t* job, const char* data, char* out, const room_t* room,
                 watch_t* watch) noexcept nogil:
    """Sum one output a second time, with all the evidence there is; False if that is not enough."""
    cdef const plan_t* plan = job.plan
    cdef int form = plan.form
    cdef state_t state
    cdef Py_ssize_t suspect
    point_at(&state, room)
    set_state(job, &state)
    state.few = True
    state.period = 1
    state.fresh = True
    if form == ROWS or form == NARROW:
        form = GATHER               # a column by itself is best made a run
    if not run_tile(plan, form, job.kernels, data, 1, &state, room.buffer, watch):
        return False
    return job.kernels.finish(1, 1, <double>plan.terms, out, 0, &suspect, &state, NULL, 0) == 0


cdef void multiply(char* results, Py_ssize_t count, Py_ssize_t stride, Py_ssize_t itemsize,
                   Py_ssize_t factor) noexcept nogil:
    """Multiply integers, which wrap."""
    cdef Py_ssize_t i
    cdef uint8_t one
    cdef uint16_t two
    cdef uint32_t four
    cdef uint64_t eight
    for i in range(count):
        if itemsize == 8:
            memcpy(&eight, results + i * stride, 8)
            eight *= <uint64_t>factor
            memcpy(results + i * stride, &eight, 8)
        elif itemsize == 4:
            memcpy(&four, results + i * stride, 4)
            four *= <uint32_t>factor
            memcpy(results + i * stride, &four, 4)
        elif itemsize == 2:
            memcpy(&two, results + i * stride, 2)
            two = <uint16_t>(<uint32_t>two * <uint16_t>factor)
            memcpy(results + i * stride, &two, 2)
        else:
            one = <uint8_t>results[i * stride]
            results[i * stride] = <char><uint8_t>(<uint32_t>one * <uint8_t>factor)


ctypedef fused word_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef void interleave(const word_t* x, const word_t* y, word_t* to, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        to[2 * i] = x[i]
        to[2 * i + 1] = y[i]


cdef const char* turn(char* lines, char* other, Py_ssize_t n, Py_ssize_t width,
                      const word_t* kind) noexcept nogil:
    """Transpose `n` lines, a power of two, of `width` words: line k and line k + n / 2 are
    interleaved, until there is one. It lies in one of the two buffers."""
    cdef char* swap
    cdef Py_ssize_t i, size = width * sizeof(word_t)
    while n > 1:
        n //= 2
        for i in range(n):
            interleave[word_t](<const word_t*>(lines + i * size),
                               <const word_t*>(lines + (i + n) * size),
                               <word_t*>(other + 2 * i * size), width)
        width *= 2
        size *= 2
        swap = lines
        lines = other
        other = swap
    return lines


cdef void put_turned(const plan_t* plan, char* lines, char* other, Py_ssize_t n,
                     Py_ssize_t width, char* out) noexcept nogil:
    """Results of `n` lines of the innermost kept loop, whose places in `out` are neighbours."""
    cdef Py_ssize_t i, k, item = plan.itemsize
    cdef Py_ssize_t stride = plan.kept[plan.n_kept - 1].out_stride
    cdef const char* turned
    if n & (n - 1):
        for k in range(n):
            for i in range(width):
                memcpy(out + i * stride + k * item, lines + (k * width + i) * item, item)
        return
    if item == 8:
        turned = turn[uint64_t](lines, other, n, width, NULL)
    elif item == 4:
        turned = turn[uint32_t](lines, other, n, width, NULL)
    elif item == 2:
        turned = turn[uint16_t](lines, other, n, width, NULL)
    else:
        turned = turn[uint8_t](lines, other, n, width, NULL)
    for i in range(width):
        memcpy(out + i * stride, turned + i * n * item, n * item)


cdef void scatter(const plan_t* plan, char* results, char* other, Py_ssize_t start,
                  Py_ssize_t count, char* out) noexcept nogil:
    """Put results side by side into their places in `out`, a line of the inner loop at a time."""
    cdef const loop_t* inner = &plan.kept[plan.n_kept - 1]
    cdef const loop_t* outer = &plan.kept[plan.n_kept - 2]
    cdef Py_ssize_t done = 0, n, i, column, width = plan.itemsize
    cdef bint turned = (other != NULL and outer.out_stride == width
                        and inner.out_stride > width)
    cdef char* to
    while done < count:
        column = start + done
        to = out + place(plan, column)
        if turned and column % inner.size == 0 and count - done >= 2 * inner.size:
            # Whole lines whose places are neighbours.
            n = smaller((count - done) // inner.size,
                        outer.size - column // inner.size % outer.size)
            while n & (n - 1):
                n &= n - 1
            put_turned(plan, results + done * width, other, n, inner.size, to)
            done += n * inner.size
            continue
        n = smaller(count - done, inner.size - column % inner.size)
        for i in range(n):
            if width == 4:
                memcpy(to + i * inner.out_stride, results + (done + i) * 4, 4)
            elif width == 8:
                memcpy(to + i * inner.out_stride, results + (done + i) * 8, 8)
            else:
                memcpy(to + i * inner.out_stride, results + (done + i) * width, width)
        done += n


cdef bint finish_tile(const job_t* job, Py_ssize_t start, Py_ssize_t width, const char* data,
                      char* out, Py_ssize_t out_stride, state_t* state, const room_t* room,
                      watch_t* watch) noexcept nogil:
    """Turn a state into results, and look again at those that it cannot vouch for.

    False if it was stopped.
    """
    cdef const plan_t* plan = job.plan
    cdef Py_ssize_t i, column, found, step = 1, stride = 0
    cdef bint apart = plan.flat > 1
    cdef bint times = job.op == SUM and plan.repeats > 1
    cdef bint again = (job.op == SUM and job.kernels.size_d != 0 and not state.few
                       and not job.every_exactly)
    cdef const char* at
    cdef char* to
    if plan.n_kept:
        stride = plan.kept[plan.n_kept - 1].stride
    if plan.form == ROWS or plan.form == NARROW:
        step = plan.step
    if job.every_exactly:
        found = width
    elif apart:
        found = job.kernels.finish(width, step, <double>plan.terms, room.results,
                                   plan.itemsize, room.suspects, state, NULL, 0)
        if times:
            multiply(room.results, width, plan.itemsize, plan.itemsize, plan.repeats)
        scatter(plan, room.results, room.lines, start, width, out)
    else:
        found = job.kernels.finish(width, step, <double>plan.terms, out + start * out_stride,
                                   out_stride, room.suspects, state, NULL, 0)
        if times:
            multiply(out + start * out_stride, width, out_stride, plan.itemsize, plan.repeats)
    for i in range(found):
        column = start + (i if job.every_exactly else room.suspects[i])
        at = data + column * stride
        to = out + (place(plan, column) if apart else column * out_stride)
        if again and settle(job, at, to, room, watch):
            continue
        if not sum_exactly(plan, job.type_index, at, to, room.buffer, watch):
            return False
    return True


cdef bint finish_pieces(const job_t* job, Py_ssize_t start, Py_ssize_t width, const char* data,
                        char* out, Py_ssize_t out_stride, state_t* state, const room_t* room,
                        watch_t* watch) noexcept nogil:
    """The same for any tile: kernels finish as many outputs as the first cache holds."""
    cdef const kernels_t* k = job.kernels
    cdef state_t piece = state[0]
    cdef Py_ssize_t first, size
    if width <= k.tile:
        return finish_tile(job, start, width, data, out, out_stride, state, room, watch)
    for first in range(0, width, 1024):
        size = smaller(width - first, 1024)
        piece.a = <char*>state.a + first * k.size_a
        piece.b = <char*>state.b + first * k.size_b
        piece.c = <char*>state.c + first * k.size_c
        piece.d = <char*>state.d + first * k.size_d
        if not finish_tile(job, start + first, size, data, out, out_stride, &piece, room, watch):
            return False
    return True


cdef inline bint lies_across(const job_t* job) noexcept nogil:
    """Whether the results of neighbouring lines are neighbours, and those of a line are not."""
    cdef const plan_t* plan = job.plan
    return (plan.form == ROWS and plan.flat == 1 and job.chunks == 1 and plan.n_kept > 1
            and plan.kept[plan.n_kept - 1].out_stride > plan.itemsize
            and plan.kept[plan.n_kept - 2].out_stride == plan.itemsize)


cdef void walk_tiles(job_t* job, Py_ssize_t part, const room_t* room,
                     watch_t* watch) noexcept nogil:
    """Walk the tiles of one part, from the first to the result of the last."""
    cdef const plan_t* plan = job.plan
    cdef const kernels_t* k = job.kernels
    cdef state_t state
    cdef odometer_t o
    cdef Py_ssize_t offset = plan.start, out_offset = plan.out_start
    cdef Py_ssize_t first = job.tiles * part // job.parts
    cdef Py_ssize_t left = job.tiles * (part + 1) // job.parts - first
    cdef Py_ssize_t start, width, line, stride = 0, out_stride = 0
    cdef Py_ssize_t most = 0, held = 0, held_at = 0
    cdef bint done
    cdef few_t straight = NULL
    cdef int i
    point_at(&state, room)
    set_state(job, &state)
    if plan.n_kept:
        stride = plan.kept[plan.n_kept - 1].stride
        if (plan.n_reduced == 1 and plan.flat == 1 and not job.exact
                and (plan.repeats == 1 or job.op != SUM)
                and plan.kept[plan.n_kept - 1].out_stride == plan.itemsize):
            if plan.form == SHORT_RUNS:
                straight = k.few_runs
            elif plan.form == ROWS and plan.step == 1 and plan.reduced[0].size <= FEW_ROWS:
                straight = k.few_rows
        out_stride = plan.kept[plan.n_kept - 1].out_stride
        if room.lines != NULL and lies_across(job):
            most = smaller(64, LINES // plan.line) // plan.itemsize
    rewind(&o, plan.n_kept - plan.flat if plan.n_kept else 0)
    line = first // job.chunks
    start = first % job.chunks * job.most
    for i in range(o.loops - 1, -1, -1):
        o.at[i] = line % plan.kept[i].size
        line //= plan.kept[i].size
        offset += o.at[i] * plan.kept[i].stride
        out_offset += o.at[i] * plan.kept[i].out_stride
    while left:
        width = smaller(plan.line - start, job.most)
        done = straight != NULL and straight(
            job.data + offset + start * stride, width, plan.reduced[0].size,
            plan.reduced[0].stride, job.out + out_offset + start * plan.itemsize, &state,
            NULL, 0)
        if done:
            pass
        elif plan.terms == 0:
            k.init(0, columns_of(job, width), &state, NULL, 0)
        elif not job.every_exactly:
            state.fresh = True
            if not run_tile(plan, plan.form, k, job.data + offset + start * stride, width, &state,
                            room.buffer, watch):
                return
        if most > 1:
            # The results of some lines are put in their places together, a piece of `out` at a
            # time: one by one, every store would fetch another line of memory.
            if held == 0:
                held_at = out_offset
            if not finish_pieces(job, 0, width, job.data + offset,
                               room.lines + held * width * plan.itemsize, plan.itemsize, &state,
                               room, watch):
                return
            held += 1
            if held == most or left == 1 or o.at[o.loops - 1] == plan.kept[o.loops - 1].size - 1:
                put_turned(plan, room.lines, room.lines + LINES, held, width, job.out + held_at)
                held = 0
        elif not done and not finish_pieces(job, start, width, job.data + offset,
                                          job.out + out_offset, out_stride, &state, room, watch):
            return
        if stopped(watch, width):
            return
        left -= 1
        start += width
        if start == plan.line:
            start = 0
            advance(&o, plan.kept, &offset, &out_offset)


ctypedef fused any_scratch_t:
    scratch_t
    small_scratch_t


cdef inline void open_room(room_t* room, any_scratch_t* scratch) noexcept nogil:
    room.a = scratch.a
    room.b = scratch.b
    room.c = scratch.c
    room.d = scratch.d
    room.suspects = scratch.suspects
    room.results = <char*>scratch.results
    room.buffer = scratch.buffer
    if any_scratch_t is scratch_t:
        room.lines = scratch.lines
    else:
        room.lines = NULL


cdef void begin_watch(watch_t* watch, share_t* share, bint caller) noexcept nogil:
    watch.since = 0
    watch.looked = 0
    watch.caller = caller
    watch.share = share


cdef inline void begin_share(share_t* share, PyObject* report) noexcept nogil:
    share.stop = 0
    share.done = 0
    share.report = report


cdef inline bint may_ask(bint caller, const scratch_t* scratch) noexcept nogil:
    """Whether to look at signals: not with the reserve, for which one may wait with the GIL."""
    return caller and scratch != &RESERVE


cdef void walk_part(void* context, Py_ssize_t part, bint caller) noexcept nogil:
    cdef job_t* job = <job_t*>context
    cdef scratch_t* scratch
    cdef room_t room
    cdef watch_t watch
    if rk_load(&job.share.stop):
        return
    begin_watch(&watch, &job.share, False)
    scratch = take_scratch()
    open_room(&room, scratch)
    walk_tiles(job, part, &room, &job.watch if may_ask(caller, scratch) else &watch)
    give_scratch(scratch)


cdef void walk_few(job_t* job) noexcept nogil:
    """All tiles in one part, where they have few columns: the whole of a tiny call."""
    cdef small_scratch_t scratch
    cdef room_t room
    open_room(&room, &scratch)
    walk_tiles(job, 0, &room, &job.watch)


cdef bint walk_tiny(const job_t* job) noexcept nogil:
    """One call of a kernel, where that is all: half the cost of a tiny reduction lies here.

    False if it is not, or if a result needs another look; nothing is lost then.
    """
    cdef const plan_t* plan = job.plan
    cdef const kernels_t* k = job.kernels
    cdef small_scratch_t scratch
    cdef room_t room
    cdef state_t state
    cdef Py_ssize_t stride = 0, out_stride = 0, step = 1
    cdef bint rows = plan.form == ROWS or plan.form == NARROW
    if (plan.form == GATHER or plan.n_reduced != 1 or plan.n_kept > 1 or plan.repeats != 1
            or columns_of(job, plan.line) > FEW_COLUMNS):
        return False
    if rows and (plan.reduced[0].size > FEW_ROWS
                 or plan.n_kept and plan.kept[0].stride != plan.step * plan.itemsize):
        return False
    if plan.n_kept:
        stride = plan.kept[0].stride
        out_stride = plan.kept[0].out_stride
    open_room(&room, &scratch)
    point_at(&state, &room)
    state.fresh = True
    set_state(job, &state)
    if plan.form == RUNS or plan.form == SHORT_RUNS and plan.terms * plan.line <= 16:
        k.runs(job.data + plan.start, plan.line, stride, 1, 0, plan.reduced[0].size, &state,
               NULL, 0)
    elif rows:
        step = plan.step
        k.rows(job.data + plan.start, (plan.line - 1) * step + 1, plan.reduced[0].size,
               plan.reduced[0].stride, &state, NULL, 0)
    else:
        k.short_runs(job.data + plan.start, plan.line, stride, 1, 0, plan.reduced[0].size, &state,
                     NULL, 0)
    return k.finish(plan.line, step, <double>plan.terms, job.out + plan.out_start, out_stride,
                    room.suspects, &state, NULL, 0) == 0


# The states of a split walk: one block, of one size, that is kept from one reduction to the
# next. A fresh one costs 30 page faults, half as long as the sum of a megabyte.
cdef rk_atomic SPARE_STATES = 0


cdef inline char* take_states() noexcept nogil:
    cdef long long states = rk_load(&SPARE_STATES)
    if states and rk_swap(&SPARE_STATES, states, 0):
        return <char*><size_t>states
    return <char*>malloc(STATES)


cdef inline void give_states(char* states) noexcept nogil:
    if not rk_swap(&SPARE_STATES, 0, <long long><size_t>states):
        free(states)


cdef void point_into(const job_t* job, state_t* state, Py_ssize_t part) noexcept nogil:
    """Let a state begin at the columns of a part."""
    cdef const kernels_t* k = job.kernels
    cdef Py_ssize_t columns = job.columns, every = job.slices * columns
    cdef char* at = job.states
    state.a = at + part * columns * k.size_a
    at += every * k.size_a
    state.b = at + part * columns * k.size_b
    at += every * k.size_b
    state.c = at + part * columns * k.size_c
    at += every * k.size_c
    state.d = at + part * columns * k.size_d


cdef inline void copy_plan(const plan_t* plan, plan_t* to) noexcept nogil:
    """What is used of it: all of a plan are 3 kB, and a slice may take no more than 2 us."""
    cdef int i
    memcpy(to, plan, <const char*>plan.kept - <const char*>plan)
    for i in range(plan.n_kept):
        to.kept[i] = plan.kept[i]
    for i in range(plan.n_reduced):
        to.reduced[i] = plan.reduced[i]


cdef void walk_slice(void* context, Py_ssize_t part, bint caller) noexcept nogil:
    """Fold one slice of the outermost reduced loop into the state of this part."""
    cdef job_t* job = <job_t*>context
    cdef watch_t watch
    cdef plan_t plan
    cdef char buffer[BUFFER]
    cdef state_t state
    cdef Py_ssize_t size = job.plan.reduced[0].size
    cdef Py_ssize_t first = size // job.slices * part + smaller(part, size % job.slices)
    cdef Py_ssize_t mine = size // job.slices + (1 if part < size % job.slices else 0)
    if rk_load(&job.share.stop):
        return
    copy_plan(job.plan, &plan)
    begin_watch(&watch, &job.share, False)
    set_state(job, &state)
    point_into(job, &state, part)
    state.fresh = True
    plan.reduced[0].size = mine
    run_tile(&plan, plan.form, job.kernels, job.data + plan.start + first * plan.reduced[0].stride,
             plan.line, &state, buffer, &job.watch if caller else &watch)


cdef void cut_into_tiles(job_t* job, Py_ssize_t most, Py_ssize_t lines) noexcept nogil:
    job.most = most
    job.chunks = (job.plan.line + most - 1) // most
    job.tiles = lines * job.chunks


cdef Py_ssize_t slices_of(const job_t* job) noexcept nogil:
    """Into how many slices the outermost reduced loop is cut, where there is one tile; or 0.

    That depends on the plan alone, so that the result is the same for any number of threads.
    """
    cdef const plan_t* plan = job.plan
    cdef Py_ssize_t slices, run
    if plan.n_reduced == 0 or plan.reduced[0].size < 16 * PARTS or job.every_exactly:
        return 0
    slices = PARTS if columns_of(job, plan.line) <= 64 else FEW_PARTS
    if (plan.line > 1 and plan.n_reduced == 1
            and (plan.form == RUNS or by_period(plan, job.kernels, job.exact))):
        # Of short runs a slice would be read in snatches: float64, 250 runs of 16 kB at 50 GB/s,
        # whole at 105.
        run = plan.reduced[0].size * (plan.period if plan.form == NARROW else 1) * plan.itemsize
        if run < slices * STRETCH:
            return 0
    return slices


cdef int walk(const plan_t* plan, int op, int type_index, bint exact,
              const char* data, char* out, PyObject* report) except -1 nogil:
    cdef job_t job
    cdef state_t state
    cdef scratch_t* scratch
    cdef room_t room
    cdef Py_ssize_t lines = 1, slices, tiles, least, most
    cdef double bytes_read = <double>plan.outputs * plan.terms * plan.itemsize
    cdef int i
    if plan.outputs == 0:
        return 0
    job.every_exactly = plan.repeats > 1 and op == SUM and type_index >= FLOAT16
    begin_share(&job.share, report)
    begin_watch(&job.watch, &job.share, True)
    job.plan = plan
    job.kernels = &TABLE.of[op][type_index]
    job.op = op
    job.type_index = type_index
    job.exact = exact
    job.far = 0
    if bytes_read + <double>plan.outputs * plan.itemsize >= FAR:
        job.far = 2 if bytes_read >= 2 * FAR else 1
    job.data = data
    job.out = out
    if bytes_read <= TINY and walk_tiny(&job):
        return 0
    for i in range(plan.n_kept - plan.flat):
        lines *= plan.kept[i].size
    cut_into_tiles(&job, tile_width(plan, job.kernels, exact, job.far), lines)
    # What is kept in one array, words, comes out the same however it is cut: one thread reads it
    # whole.
    slices = 0
    if (bytes_read >= LARGE and job.tiles == 1
            and (job.kernels.size_b or threads_in_use() > 1)):
        slices = slices_of(&job)
    if (bytes_read >= LARGE and plan.line > 1 and slices == 0
            and (plan.form == RUNS or by_period(plan, job.kernels, exact))):
        # Enough tiles for all threads, but none so narrow that memory is read in snatches. How
        # wide they are changes no bit.
        least = STRETCH // (plan.reduced[plan.n_reduced - 1].size * plan.itemsize) + 1
        tiles = threads_in_use()
        if tiles > 1:
            tiles *= 8 if plan.n_reduced == 1 else 1    # an outer loop reads all of a tile's width
        most = (plan.line + tiles - 1) // tiles
        if most > 16:
            most = (most + 15) // 16 * 16       # kernels take 16 runs at a time
        most = smaller(job.most, most if most > least else least)
        if plan.terms > MOST // most:
            most = MOST // plan.terms + 1
        cut_into_tiles(&job, most, lines)
    if bytes_read < LARGE:
        job.parts = 1
        if columns_of(&job, smaller(plan.line, job.most)) <= FEW_COLUMNS:
            walk_few(&job)
        else:
            walk_part(&job, 0, True)
        return -1 if job.share.stop else 0
    if slices:
        job.columns = columns_of(&job, plan.line)
        job.slices = slices
        job.states = take_states()
        if job.states != NULL:
            run_parts(walk_slice, &job, job.slices)
            if not job.share.stop:
                set_state(&job, &state)
                point_into(&job, &state, 0)
                job.kernels.merge(job.slices * job.columns, job.columns, &state, NULL, 0)
                scratch = take_scratch()
                open_room(&room, scratch)
                job.watch.caller = may_ask(True, scratch)
                finish_pieces(&job, 0, plan.line, data + plan.start, out + plan.out_start,
                            plan.kept[plan.n_kept - 1].out_stride if plan.n_kept else 0, &state,
                            &room, &job.watch)
                give_scratch(scratch)
            give_states(job.states)
            return -1 if job.share.stop else 0
    # Enough parts for whoever is late, but lines that are put into place together stay together.
    tiles = threads_in_use()
    if tiles > 1 and not lies_across(&job):
        tiles *= 8
    job.parts = smaller(job.tiles, tiles)
    run_parts(walk_part, &job, job.parts)
    return -1 if job.share.stop else 0


cdef struct apart_job_t:
    const kernels_t* kernels
    state_t state               # how elements are read; it holds nothing
    const char** columns
    Py_ssize_t count
    Py_ssize_t rows
    Py_ssize_t itemsize
    char* out
    Py_ssize_t tile             # rows at a time
    Py_ssize_t tiles
    Py_ssize_t parts
    share_t share
    watch_t watch


cdef void walk_part_apart(void* context, Py_ssize_t part, bint caller) noexcept nogil:
    cdef apart_job_t* job = <apart_job_t*>context
    cdef watch_t watch
    cdef const char* at[FEW_ROWS]
    cdef Py_ssize_t tile, start, width, first, size, i
    begin_watch(&watch, &job.share, False)
    for tile in range(job.tiles * part // job.parts, job.tiles * (part + 1) // job.parts):
        start = tile * job.tile
        width = smaller(job.tile, job.rows - start)
        for first in range(0, job.count, 16):
            size = smaller(job.count - first, FEW_ROWS)
            for i in range(size):
                at[i] = job.columns[first + i] + start * job.itemsize
            job.kernels.apart(at, size, width, job.out + start * job.itemsize, &job.state,
                              first == 0, first + size == job.count, NULL)
        if stopped(&job.watch if caller else &watch, width * job.count):
            return


cdef int walk_apart(int op, int type_index, const char** columns, Py_ssize_t count,
                    Py_ssize_t rows, Py_ssize_t itemsize, char* out) except -1 nogil:
    cdef apart_job_t job
    job.kernels = &TABLE.of[op][type_index]
    if job.kernels.apart == NULL or count == 0:
        return False
    job.state.flip = job.kernels.flip
    job.state.fold = job.kernels.fold
    job.state.turn = job.kernels.turn
    job.state.far = rows * count * itemsize >= FAR
    job.columns = columns
    job.count = count
    job.rows = rows
    job.itemsize = itemsize
    job.out = out
    # Results so far stay in the first cache from one set of columns to the next.
    job.tile = TILE_APART // itemsize
    job.tiles = (rows + job.tile - 1) // job.tile
    job.parts = smaller(job.tiles, 4 * PARTS) if rows * count * itemsize >= LARGE else 1
    begin_share(&job.share, NULL)
    begin_watch(&job.watch, &job.share, True)
    run_parts(walk_part_apart, &job, job.parts)
    if job.share.stop:
        return -1
    return True
