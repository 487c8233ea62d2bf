# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""Walking a plan: which kernel meets which piece of memory, and in what order.

Design. The outputs are cut into *tiles*, whose state lives on the stack. For each tile
the reduced loops are walked in full, then the state becomes results. Nothing of the
size of the data is ever allocated. Tiles do not depend on each other, so threads take
them as they come. Where there is one tile only, the outermost reduced loop is cut into
slices, each with a state of its own, and the states are folded in the end. How it is
cut depends on the plan alone, so the number of threads never shows in a result.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport sqrt
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ._kernels.kernels cimport FEW, FEW_ROWS, LARGEST_TILE, TILE, few_t, kernels_t, state_t, table_t
from ._plan cimport GATHER, NARROW, ROWS, RUNS, SHORT_RUNS, loop_t, plan_t
from ._threads cimport run_parts
from ._sums cimport (
    careful_add, careful_round, exact_add, exact_clear, exact_round, exact_t,
)

from . import _kernels

cdef extern from "_threads.h":
    ctypedef long long rk_atomic
    long long rk_load(rk_atomic*) noexcept nogil
    bint rk_swap(rk_atomic*, long long, long long) noexcept nogil

cdef enum:
    SUM = 2
    BUFFER = 4096               # bytes gathered at a time: they stay in the first cache
    QUICK_RUN = 96              # shorter runs leave too much of a block of 128 empty
    STRETCH = 32768             # bytes that are better read in one go
    PARTS = 16                  # slices of a reduction to one tile; a power of two, for the fold
    FEW_PARTS = 4               # where the state of a slice is large
    ROOM = FEW_PARTS * TILE * 32    # bytes of state for all slices
    LARGE = 1 << 20             # bytes read; smaller reductions are one part for one thread

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
        if op == SUM and stride == plan.itemsize and plan.form != GATHER:
            exact_add(&acc, type_index, data + offset, count)
            start = count
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
        if plan.n_reduced and (plan.reduced[plan.n_reduced - 1].stride
                               < plan.kept[plan.n_kept - 1].stride):
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


cdef struct job_t:              # what the threads of one walk share
    const plan_t* plan
    const kernels_t* kernels
    int op
    int type_index
    bint exact
    const char* data
    char* out
    Py_ssize_t most             # outputs in a tile
    Py_ssize_t chunks           # tiles in a line of the innermost kept loops
    Py_ssize_t tiles
    Py_ssize_t parts
    char* states                # of a split walk: the state of each part
    Py_ssize_t columns
    Py_ssize_t slices


cdef void set_state(const job_t* job, state_t* state) noexcept nogil:
    cdef const plan_t* plan = job.plan
    cdef Py_ssize_t run, rows
    state.exact = job.exact
    state.few = plan.terms <= FEW
    state.quick = (FEW < plan.terms <= job.kernels.quick_terms
                   and (plan.form == RUNS and plan.reduced[plan.n_reduced - 1].size >= QUICK_RUN
                        or plan.form == ROWS and job.kernels.quick_rows))
    state.chain = <double>plan.terms
    if plan.form == RUNS and plan.reduced[plan.n_reduced - 1].size >= 16:
        run = plan.reduced[plan.n_reduced - 1].size
        state.chain = <double>(plan.terms // run) * (run // 4096 + PARTS)
    elif plan.form == ROWS or plan.form == NARROW:
        # Of 128 rows and more, in each slice, the rest is carried over every 128 rows: its
        # errors grow as if all chains were that long.
        rows = plan.reduced[plan.n_reduced - 1].size // plan.group if plan.n_reduced else 0
        if rows // PARTS > 128:
            state.chain = sqrt(260.0 * <double>plan.terms)


cdef inline void point_at(state_t* state, scratch_t* scratch) noexcept nogil:
    state.a = scratch.a
    state.b = scratch.b
    state.c = scratch.c
    state.d = scratch.d


cdef inline Py_ssize_t columns_of(const plan_t* plan, Py_ssize_t width) noexcept nogil:
    """The columns of state that `width` outputs need while they are walked."""
    if plan.form == ROWS:
        return (width - 1) * plan.step + 1
    if plan.form == NARROW:
        return plan.group * plan.period
    return width


cdef bint settle(const job_t* job, const char* data, char* out, scratch_t* scratch) noexcept nogil:
    """Sum one output a second time, with all the evidence there is; False if that is not enough."""
    cdef plan_t plan = job.plan[0]
    cdef state_t state
    cdef Py_ssize_t suspect
    point_at(&state, scratch)
    set_state(job, &state)
    state.few = True
    state.quick = False
    state.fresh = True
    if plan.form == ROWS or plan.form == NARROW:
        plan.form = GATHER          # a column by itself is best made a run
    run_tile(&plan, job.kernels, data, 1, &state, scratch.buffer)
    return job.kernels.finish(1, 1, <double>plan.terms, out, 0, &suspect, &state, NULL, 0) == 0


cdef void finish_tile(const job_t* job, Py_ssize_t start, Py_ssize_t width, const char* data,
                      char* out, state_t* state, scratch_t* scratch) noexcept nogil:
    """Turn a state into results, and look again at those that it cannot vouch for."""
    cdef const plan_t* plan = job.plan
    cdef Py_ssize_t i, column, found, step = 1, stride = 0, out_stride = 0
    cdef bint apart = plan.flat > 1
    cdef bint again = job.op == SUM and job.kernels.size_d != 0 and not state.few
    cdef const char* at
    cdef char* to
    if plan.n_kept:
        stride = plan.kept[plan.n_kept - 1].stride
        out_stride = plan.kept[plan.n_kept - 1].out_stride
    if plan.form == ROWS or plan.form == NARROW:
        step = plan.step
    if apart:
        found = job.kernels.finish(width, step, <double>plan.terms, <char*>scratch.results,
                                   plan.itemsize, scratch.suspects, state, NULL, 0)
        scatter(plan, <const char*>scratch.results, start, width, out)
    else:
        found = job.kernels.finish(width, step, <double>plan.terms, out + start * out_stride,
                                   out_stride, scratch.suspects, state, NULL, 0)
    for i in range(found):
        column = start + scratch.suspects[i]
        at = data + column * stride
        to = out + (place(plan, column) if apart else column * out_stride)
        if not again or not settle(job, at, to, scratch):
            look_again(plan, job.op, job.type_index, at, to, scratch.buffer)


cdef void walk_tiles(void* context, Py_ssize_t part) noexcept nogil:
    """Walk the tiles of one part, from the first to the result of the last."""
    cdef const job_t* job = <const job_t*>context
    cdef const plan_t* plan = job.plan
    cdef const kernels_t* k = job.kernels
    cdef scratch_t scratch
    cdef state_t state
    cdef odometer_t o
    cdef Py_ssize_t offset = plan.start, out_offset = plan.out_start
    cdef Py_ssize_t first = job.tiles * part // job.parts
    cdef Py_ssize_t left = job.tiles * (part + 1) // job.parts - first
    cdef Py_ssize_t start, width, line, stride = 0
    cdef bint done
    cdef few_t straight = NULL
    cdef int i
    point_at(&state, &scratch)
    set_state(job, &state)
    if plan.n_kept:
        stride = plan.kept[plan.n_kept - 1].stride
        if (plan.n_reduced == 1 and plan.flat == 1 and not job.exact
                and plan.kept[plan.n_kept - 1].out_stride == plan.itemsize):
            if plan.form == SHORT_RUNS:
                straight = k.few_runs
            elif plan.form == ROWS and plan.step == 1 and plan.reduced[0].size <= FEW_ROWS:
                straight = k.few_rows
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
            plan.reduced[0].stride, job.out + out_offset + start * plan.itemsize, NULL, 0)
        if done:
            pass
        elif plan.terms == 0:
            k.init(0, columns_of(plan, width), &state, NULL, 0)
        else:
            state.fresh = True
            run_tile(plan, k, job.data + offset + start * stride, width, &state, scratch.buffer)
        if not done:
            finish_tile(job, start, width, job.data + offset, job.out + out_offset, &state,
                        &scratch)
        left -= 1
        start += width
        if start == plan.line:
            start = 0
            advance(&o, plan.kept, &offset, &out_offset)


# The states of a split walk and the scratch of its last step: one block, of one size, that is
# kept from one reduction to the next. A fresh one costs 30 page faults, half as long as
# the sum of a megabyte.
cdef rk_atomic SPARE = 0


cdef inline char* take_room() noexcept nogil:
    cdef long long room = rk_load(&SPARE)
    if room and rk_swap(&SPARE, room, 0):
        return <char*>room
    return <char*>malloc(ROOM + sizeof(scratch_t))


cdef inline void give_room(char* room) noexcept nogil:
    if not rk_swap(&SPARE, 0, <long long>room):
        free(room)


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


cdef void walk_slice(void* context, Py_ssize_t part) noexcept nogil:
    """Fold one slice of the outermost reduced loop into the state of this part."""
    cdef const job_t* job = <const job_t*>context
    cdef plan_t plan = job.plan[0]
    cdef char buffer[BUFFER]
    cdef state_t state
    cdef Py_ssize_t size = plan.reduced[0].size
    cdef Py_ssize_t first = size // job.slices * part + smaller(part, size % job.slices)
    cdef Py_ssize_t mine = size // job.slices + (1 if part < size % job.slices else 0)
    set_state(job, &state)
    point_into(job, &state, part)
    state.fresh = True
    plan.reduced[0].size = mine
    run_tile(&plan, job.kernels, job.data + plan.start + first * plan.reduced[0].stride,
             plan.line, &state, buffer)


cdef void walk(const plan_t* plan, int op, int type_index, bint exact,
               const char* data, char* out) noexcept nogil:
    cdef job_t job
    cdef state_t state
    cdef Py_ssize_t lines = 1, least, most
    cdef double bytes_read = <double>plan.outputs * plan.terms * plan.itemsize
    cdef int i
    if plan.outputs == 0:
        return
    job.plan = plan
    job.kernels = &TABLE.of[op][type_index]
    job.op = op
    job.type_index = type_index
    job.exact = exact
    job.data = data
    job.out = out
    job.most = tile_width(plan, job.kernels.tile)
    if bytes_read >= LARGE and plan.form == RUNS and plan.line > 1:
        # Enough tiles for all threads, but none so narrow that memory is read in snatches.
        i = plan.n_reduced - 1
        least = STRETCH // (plan.reduced[i].size * plan.itemsize) + 1
        most = plan.line // PARTS + 1
        job.most = smaller(job.most, most if most > least else least)
    job.chunks = (plan.line + job.most - 1) // job.most
    for i in range(plan.n_kept - plan.flat):
        lines *= plan.kept[i].size
    job.tiles = lines * job.chunks
    if bytes_read < LARGE:
        job.parts = 1
        walk_tiles(&job, 0)
        return
    if job.tiles == 1 and plan.n_reduced and plan.reduced[0].size >= 16 * PARTS:
        # One tile: the reduced loop is cut instead, always into as many slices, so that
        # the result is the same for any number of threads.
        job.columns = columns_of(plan, plan.line)
        job.slices = PARTS if job.columns <= 64 else FEW_PARTS
        job.states = take_room()
        if job.states != NULL:
            run_parts(walk_slice, &job, job.slices)
            set_state(&job, &state)
            point_into(&job, &state, 0)
            job.kernels.fold(job.slices * job.columns, job.columns, &state, NULL, 0)
            finish_tile(&job, 0, plan.line, data + plan.start, out + plan.out_start, &state,
                        <scratch_t*>(job.states + ROOM))
            give_room(job.states)
            return
    job.parts = smaller(job.tiles, 4 * PARTS)
    run_parts(walk_tiles, &job, job.parts)
