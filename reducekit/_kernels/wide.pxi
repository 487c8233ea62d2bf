# Sums of float64.
#
# Every addition keeps its error (the sum of two doubles is a double and an error
# that is a double), so the pair (a, b) holds twice the precision. With `exact`, c
# keeps the largest magnitude, and finish proves the rounding or names a suspect.

cdef inline void wide_init(Py_ssize_t first, Py_ssize_t count, state_t* state,
                           const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef Py_ssize_t i
    for i in range(first, first + count):
        a[i] = -0.0
        b[i] = 0
        c[i] = 0


cdef inline void wide_runs_as(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                              Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                              state_t* state, const bint exact) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef const double* x
    cdef double sums[16]
    cdef double rests[16]
    cdef double peak = 0
    cdef uint64_t m
    cdef Py_ssize_t t, i, o, k, start, size, count, most = run, groups = (kept + 15) // 16
    cdef Py_ssize_t ahead = how_far(outer, outer_stride, kept, kept_stride, run * 8)
    if state.fresh:
        wide_init(0, kept, state, NULL, 0)
        state.fresh = False
    if run < 16:
        for i in range(kept):
            for o in range(outer):
                x = <const double*>(data + i * kept_stride + o * outer_stride)
                for k in range(run):
                    enter(&a[i], &b[i], x[k])
                    if exact:
                        m = (<const uint64_t*>x)[k] & <uint64_t>0x7fffffffffffffffULL
                        c[i] = m if m > c[i] else c[i]
        return
    if exact and run > 4096:
        most = 4096             # the proof wants short chains
    for t in range(groups * outer):
        i = next_group(t, groups, outer, outer_stride < kept_stride, &o)
        count = kept - i if kept - i < 16 else 16
        a = <double*>state.a + i
        b = <double*>state.b + i
        c = <uint64_t*>state.c + i
        start = 0
        while start < run:
            size = run - start if run - start < most else most
            rk_double_runs(data + i * kept_stride + o * outer_stride + start * 8, count,
                           kept_stride, ahead, size, state.period, sums, rests, &peak, exact)
            start += size
            rk_enter_group(sums, rests, count, a, b)
            if exact:
                m = rk_bits64(peak)
                for k in range(count):
                    c[k] = m if m > c[k] else c[k]


cdef inline void wide_sum_short(const double* v, Py_ssize_t size, Py_ssize_t run, double* sums,
                                double* rests) noexcept nogil:
    """Pairs of `size` short runs."""
    cdef double s, z
    cdef Py_ssize_t i, start
    if run == 3:
        rk_double_threes(v, size, sums, rests)
    elif run > 2:
        rk_short_pairs(<const char*>v, size, run, sums, rests)
    else:
        for start in range(0, size, 64):
            ask_for(<const char*>(v + 2 * start), 1024)
            for i in range(start, start + 64 if size - start > 64 else size):
                s = v[2 * i] + v[2 * i + 1]
                z = s - v[2 * i]
                rests[i] = (v[2 * i] - (s - z)) + (v[2 * i + 1] - z)
                sums[i] = s


cdef inline void wide_short(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                            Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                            state_t* state, const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef const double* v
    cdef double sums[512]
    cdef double rests[512]
    cdef double x, s, z
    cdef int64_t m, high
    cdef Py_ssize_t i, o, start, size, most = 1024 // run
    for o in range(outer):
        start = 0
        while start < kept:
            size = kept - start if kept - start < most else most
            v = <const double*>(data + start * kept_stride + o * outer_stride)
            wide_sum_short(v, size, run, sums, rests)
            if state.fresh:
                memcpy(a + start, sums, size * 8)
                memcpy(b + start, rests, size * 8)
                for i in range(size):
                    c[start + i] = 0
            for i in range(0 if state.fresh else size):
                x = sums[i]
                s = a[start + i] + x
                z = s - a[start + i]
                b[start + i] += ((a[start + i] - (s - z)) + (x - z)) + rests[i]
                a[start + i] = s
            if state.exact:
                high = 0
                for i in range(size * run):
                    m = (<const int64_t*>v)[i] & <int64_t>0x7fffffffffffffffLL
                    high = m if m > high else high
                for i in range(size):
                    c[start + i] = (<uint64_t>high if <uint64_t>high > c[start + i]
                                    else c[start + i])
            start += most
        state.fresh = False


cdef bint wide_short_few(const char* data, Py_ssize_t kept, Py_ssize_t run, Py_ssize_t unused,
                         char* out, const state_t* state, const void* kind,
                         int order) noexcept nogil:
    cdef double sums[512]
    cdef double rests[512]
    cdef double* to = <double*>out
    cdef Py_ssize_t i, size, start = 0, most = 1024 // run
    while start < kept:
        size = kept - start if kept - start < most else most
        wide_sum_short(<const double*>data + start * run, size, run, sums, rests)
        if not all_finite(sums, size):
            return False
        for i in range(size):
            to[start + i] = sums[i] if rests[i] == 0 else sums[i] + rests[i]
        start += most
    return True


cdef inline void wide_rows_as(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                              Py_ssize_t row_stride, state_t* state,
                              const bint exact) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef double* c = <double*>state.c
    cdef double s, z
    cdef const char* x
    cdef Py_ssize_t j, start, size, width, after
    if state.fresh:
        wide_init(0, columns, state, NULL, 0)
        state.fresh = False
    for start in range(0, rows, 128):
        size = rows - start if rows - start < 128 else 128
        x = data + start * row_stride
        if columns > 1024 and not exact:
            # A block of wide rows that come from memory.
            for j in range(0, columns, 512):
                width = columns - j if columns - j < 512 else 512
                after = (j + width) * 8 if j + width < columns else size * row_stride
                rk_double_rows(x + j * 8, width, size, row_stride, state.far, x + after, a + j,
                               b + j, c + j, False)
        else:
            rk_double_rows(x, columns, size, row_stride, state.far, NULL, a, b, c, exact)
        if rows < 128:
            continue
        # What the rest loses grows with its size: carried over now and then, it stays a few
        # last bits of the sum. Nothing is rounded here; -0.0 stays as it is.
        for j in range(columns):
            s = a[j] if b[j] == 0 else a[j] + b[j]
            z = s - a[j]
            b[j] = (a[j] - (s - z)) + (b[j] - z)
            a[j] = s


cdef bint wide_few(const char* data, Py_ssize_t columns, Py_ssize_t rows, Py_ssize_t row_stride,
                   char* out, const state_t* state, const void* kind, int order) noexcept nogil:
    # Results wait in the first cache: stores between the loads of three rows hold these up
    # (1.9 ms instead of 0.9 for 3 x 10^6).
    cdef double sums[1024]
    if not rk_few_doubles(data, columns, rows, row_stride, sums):
        return False
    memcpy(out, sums, columns * 8)
    return True


cdef inline void wide_fold(Py_ssize_t columns, Py_ssize_t period, state_t* state,
                           const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef double x, s, z
    cdef Py_ssize_t j, half
    while columns > period:
        half = columns // 2
        for j in range(half):
            x = a[half + j]
            s = a[j] + x
            z = s - a[j]
            b[j] += ((a[j] - (s - z)) + (x - z)) + b[half + j]
            a[j] = s
        for j in range(half):
            c[j] = c[half + j] if c[half + j] > c[j] else c[j]
        columns = half


cdef inline Py_ssize_t wide_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                                   Py_ssize_t out_stride, Py_ssize_t* suspects,
                                   state_t* state, const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint64_t* c = <uint64_t*>state.c
    cdef double results[1024]
    cdef Py_ssize_t i, found = 0
    cdef int64_t odd = 0
    cdef double s, t, error
    # Each of `chain` additions to a pair loses at most 2^-106 of what the errors before
    # it may add up to. Within a block, whose sum is known to stay in a range 2^12 times as wide as
    # its largest element, the 128 additions of a lane lose 2^(7+12) times as much for each.
    cdef double factor = ROUND_OFF * ROUND_OFF * terms * (1048576 + state.chain * state.chain)
    if step != 1:
        for i in range(count):
            a[i] = a[i * step]
            b[i] = b[i * step]
            c[i] = c[i * step]
    for i in range(count):
        results[i] = a[i] if b[i] == 0 else a[i] + b[i]
        odd += 1 if a[i] - a[i] != 0 else 0
    if terms == 0:
        for i in range(count):
            results[i] = 0.0
    elif odd or state.exact:
        for i in range(count):
            if not isfinite(a[i]):
                # Either an element is not finite, or the sum overflowed on the way.
                suspects[found] = i
                found += 1
            elif state.exact and terms > 2:
                s = results[i]
                t = b[i] - (s - a[i])
                error = factor * rk_double(c[i]) + 4 * ROUND_OFF * (t if t > 0 else -t)
                error += 4.94e-324
                if s + (t + error) != s or s + (t - error) != s:
                    suspects[found] = i
                    found += 1
    emit(results, count, out, out_stride)
    return found


cdef inline void wide_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                           Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                           state_t* state, const void* kind, int order) noexcept nogil:
    if state.exact:
        wide_runs_as(data, kept, kept_stride, outer, outer_stride, run, state, True)
    else:
        wide_runs_as(data, kept, kept_stride, outer, outer_stride, run, state, False)


cdef inline void wide_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                           Py_ssize_t row_stride, state_t* state,
                           const void* kind, int order) noexcept nogil:
    if state.exact:
        wide_rows_as(data, columns, rows, row_stride, state, True)
    else:
        wide_rows_as(data, columns, rows, row_stride, state, False)
