# Sums of float16, bfloat16 and float32.
#
# The sum is carried in double. Blocks are summed plainly, then enter a pair (a, b)
# without error. `c` keeps the bits of the largest magnitude, so that `finish` can
# bound the error and prove that the rounded result is the rounded true sum; where
# it cannot, the output is a suspect and is summed again, exactly. float16 needs no
# bound: its elements are multiples of 2^-24 below 2^16, so a block is exact.

cdef inline double widen(narrow_t x) noexcept nogil:
    if narrow_t is half_t:
        return rk_half_to_float(x)
    elif narrow_t is brain_t:
        return rk_brain_to_float(x)
    else:
        return x


cdef inline void enter(double* a, double* b, double x) noexcept nogil:
    """Add x to the pair a + b: the rounding error of a + x goes to b."""
    cdef double s = a[0] + x
    cdef double z = s - a[0]
    b[0] += (a[0] - (s - z)) + (x - z)
    a[0] = s


cdef inline bint all_finite(const double* x, Py_ssize_t count) noexcept nogil:
    # As bits, which compilers join in vectors; truth values they do not.
    cdef uint64_t odd = 0
    cdef Py_ssize_t i
    for i in range(count):
        odd |= rk_bits64(x[i] - x[i])
    return odd == 0


cdef inline void narrow_init(Py_ssize_t first, Py_ssize_t count, state_t* state,
                             const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef Py_ssize_t i
    for i in range(first, first + count):
        a[i] = -0.0          # the neutral element: -0 + -0 is -0, -0 + 0 is 0
        b[i] = 0
        c[i] = 0
        d[i] = ~<uint32_t>0


cdef inline void gather_evidence(const narrow_t* x, Py_ssize_t count,
                                 uint32_t* peak, uint32_t* least) noexcept nogil:
    """The largest magnitude, and the smallest but zero less one, of all finite elements.

    An output with an element that is not finite needs no bound, but its neighbours do.
    """
    cdef uint32_t m4, high4 = peak[0], low4 = least[0]
    cdef uint16_t m2, high2 = 0, low2 = 0xffff
    cdef uint16_t infinity = 0x7f80 if narrow_t is brain_t else 0x7c00
    cdef Py_ssize_t i
    if narrow_t is float:
        for i in range(count):
            m4 = rk_bits32(x[i]) & 0x7fffffff
            m4 &= <uint32_t>0 - <uint32_t>(m4 < 0x7f800000)    # written so, it is no branch
            high4 = m4 if m4 > high4 else high4
            m4 = m4 - 1                          # zeros become the largest
            low4 = m4 if m4 < low4 else low4
    else:
        for i in range(count):
            m2 = <uint16_t>x[i] & 0x7fff
            m2 &= <uint16_t>0 - <uint16_t>(m2 < infinity)
            high2 = m2 if m2 > high2 else high2
            m2 = m2 - 1
            low2 = m2 if m2 < low2 else low2
        if narrow_t is brain_t:
            m4 = <uint32_t>high2 << 16
            high4 = m4 if m4 > high4 else high4
            m4 = (<uint32_t>(low2 + 1) << 16) - 1
            low4 = m4 if low2 != 0xffff and m4 < low4 else low4
        else:
            high4 = high2
            low4 = low2
    peak[0] = high4
    least[0] = low4


cdef inline void to_floats(const narrow_t* x, float* to, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t k
    if narrow_t is half_t:
        rk_halves_to_floats(x, to, count // 16 * 16)
        for k in range(count // 16 * 16, count):
            to[k] = rk_half_to_float(x[k])
    elif narrow_t is brain_t:
        for k in range(count):
            to[k] = rk_brain_to_float(x[k])


cdef inline uint32_t widest(uint16_t most) noexcept nogil:
    """The largest magnitude of bfloat16, kept doubled, as the bits of a float32."""
    return <uint32_t>most << 15


cdef inline uint32_t smallest(uint16_t least) noexcept nogil:
    """The smallest magnitude but zero, less one, likewise; all bits if there is none."""
    return ~<uint32_t>0 if least == 0xffff else (<uint32_t>(least + 1) << 15) - 1


cdef inline void scalar_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                             Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                             state_t* state, const narrow_t* kind) noexcept nogil:
    """Runs of less than 32 elements that do not lie end to end."""
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef const narrow_t* x
    cdef double t
    cdef Py_ssize_t i, o, k
    for i in range(kept):
        for o in range(outer):
            x = <const narrow_t*>(data + i * kept_stride + o * outer_stride)
            t = -0.0
            for k in range(run):
                t += widen[narrow_t](x[k])
            gather_evidence[narrow_t](x, run, &c[i], &d[i])
            enter(&a[i], &b[i], t)


cdef inline bint certain(uint32_t peak, uint32_t least) noexcept nogil:
    """Whether no sum of FEW float32 between these has more than 53 bits."""
    return peak < 0x7f800000 and (peak >> 23) + 24 + 7 <= ((least + 1) >> 23) + 53


cdef inline void narrow_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                             Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                             state_t* state, const narrow_t* kind, int order) noexcept nogil:
    cdef double* a
    cdef double* b
    cdef uint32_t* c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef const char* p
    cdef double sums[16]
    cdef uint16_t span[2]
    cdef float top = 0
    cdef uint32_t peak = 0, low = 0
    cdef Py_ssize_t t, i, o, k, start, size, count, groups = (kept + 15) // 16
    cdef Py_ssize_t ahead = how_far(outer, outer_stride, kept, kept_stride,
                                    run * <Py_ssize_t>sizeof(narrow_t))
    if state.fresh:
        narrow_init(0, kept, state, NULL, 0)
        state.fresh = False
    if run < 32:
        scalar_runs[narrow_t](data, kept, kept_stride, outer, outer_stride, run, state, kind)
        return
    for t in range(groups * outer):
        i = next_group(t, groups, outer, outer_stride < kept_stride, &o)
        count = kept - i if kept - i < 16 else 16
        a = <double*>state.a + i
        b = <double*>state.b + i
        c = <uint32_t*>state.c + i
        start = 0
        while start < run:
            size = run - start if run - start < 4096 else 4096
            p = data + i * kept_stride + o * outer_stride + start * <Py_ssize_t>sizeof(narrow_t)
            start += size
            if narrow_t is half_t:
                rk_short_float_runs(p, count, kept_stride, ahead, size, state.period, sums,
                                    span, False)
            elif narrow_t is brain_t:
                rk_short_float_runs(p, count, kept_stride, ahead, size, state.period, sums,
                                    span, True)
                peak = widest(span[0])
                low = smallest(span[1])
                for k in range(count):
                    c[k] = peak if peak > c[k] else c[k]
                    d[i + k] = low if low < d[i + k] else d[i + k]
            else:
                # One bound for all outputs of the group: it is rarely worse than their own.
                # The bits of floats that are not negative are in the order of the floats.
                if state.few:
                    rk_float_spans(p, count, kept_stride, ahead, size, state.period, sums, &top,
                                   &low)
                else:
                    rk_float_runs(p, count, kept_stride, ahead, size, state.period, sums, &top)
                peak = rk_bits32(top)
                for k in range(count):
                    c[k] = peak if peak > c[k] else c[k]
            rk_enter_group(sums, NULL, count, a, b)
        if narrow_t is float:
            # The span of all of the group is mostly proof enough; by its own, each output took
            # three times as long.
            if state.few and run <= 4096 and certain(peak, low):
                for k in range(count):
                    d[i + k] = low if low < d[i + k] else d[i + k]
            elif state.few:
                for k in range(count):
                    gather_evidence[narrow_t](
                        <const narrow_t*>(data + (i + k) * kept_stride + o * outer_stride), run,
                        &c[k], &d[i + k])


cdef const double* sum_short(const narrow_t* x, Py_ssize_t size, Py_ssize_t run, double* wide,
                             float* floats, double* one, double* two, uint32_t* high,
                             uint32_t* low) noexcept nogil:
    """Sums of `size` short runs in one of the buffers, and one bound for all of them: it is
    rarely worse than their own."""
    cdef const float* f
    cdef const double* source
    cdef double* to
    cdef Py_ssize_t k, left = run
    high[0] = 0
    low[0] = ~<uint32_t>0
    if narrow_t is not half_t:
        gather_evidence[narrow_t](x, size * run, high, low)
    if narrow_t is float:
        f = x
    else:
        f = floats
        to_floats[narrow_t](x, floats, size * run)
    # Runs of two and three and their products are divided, others are summed as columns.
    while left % 2 == 0:
        left //= 2
    while left % 3 == 0:
        left //= 3
    if left > 1:
        rk_short_sums(<const char*>f, size, run, one)
        return one
    # The first division goes with the conversion.
    left = 2 if run % 2 == 0 else 3
    rk_divide_floats(f, size * run // left, left, wide, <const char*>x,
                     left * <Py_ssize_t>sizeof(narrow_t))
    left = run // left
    source = wide
    to = one
    while left > 1:
        k = 2 if left % 2 == 0 else 3
        left //= k
        rk_divide_doubles(source, size * left, k, to)
        source = to
        to = two if to == one else one
    return source


ctypedef const double* (*sum_short_t)(const void* x, Py_ssize_t size, Py_ssize_t run, double* wide,
                                      float* floats, double* one, double* two, uint32_t* high,
                                      uint32_t* low) noexcept nogil


cdef void short_by(sum_short_t sums, const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                   Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                   state_t* state) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef double wide[512]
    cdef double one[512]
    cdef double two[512]
    cdef float floats[1024]
    cdef const double* source
    cdef uint32_t high, low
    cdef Py_ssize_t i, o, start, size, most = runs_that_fit(run, 512)
    for o in range(outer):
        start = 0
        while start < kept:
            size = kept - start if kept - start < most else most
            source = sums(data + start * kept_stride + o * outer_stride, size, run, wide, floats,
                          one, two, &high, &low)
            if state.fresh:
                for i in range(size):
                    a[start + i] = source[i]
                    b[start + i] = 0
                for i in range(size):
                    c[start + i] = high
                    d[start + i] = low
                start += most
                continue
            rk_enter_group(source, NULL, size, a + start, b + start)
            for i in range(size):
                c[start + i] = high if high > c[start + i] else c[start + i]
                d[start + i] = low if low < d[start + i] else d[start + i]
            start += most
        state.fresh = False


cdef void narrow_short(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                       Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                       state_t* state, const narrow_t* kind, int order) noexcept nogil:
    short_by(<sum_short_t>sum_short[narrow_t], data, kept, kept_stride, outer, outer_stride, run,
             state)


cdef inline bint narrow_short_few(const char* data, Py_ssize_t kept, Py_ssize_t run,
                                  Py_ssize_t unused, char* out, const state_t* state,
                                  const narrow_t* kind, int order) noexcept nogil:
    cdef double wide[512]
    cdef double one[512]
    cdef double two[512]
    cdef float floats[1024]
    cdef const double* source
    cdef narrow_t* to = <narrow_t*>out
    cdef uint32_t high, low
    cdef Py_ssize_t size, start = 0, most = runs_that_fit(run, 512)
    while start < kept:
        size = kept - start if kept - start < most else most
        if RK_THREES and run == 3:
            if narrow_t is float:
                if not rk_threes(data + start * 12, size, NULL, <float*>to + start, 2):
                    return False
            else:
                if not rk_threes(data + start * 6, size, one, NULL, narrow_t is brain_t):
                    return False
                round_finite[narrow_t](one, size, to + start)
            start += most
            continue
        source = sum_short[narrow_t](<const narrow_t*>data + start * run, size, run, wide, floats,
                                     one, two, &high, &low)
        # As in narrow_finish: at most 32 elements, so five bits more.
        if not all_finite(source, size):
            return False
        if narrow_t is not half_t and (high >> 23) + 24 + 5 > ((low + 1) >> 23) + 53:
            return False
        round_finite[narrow_t](source, size, to + start)
        start += most
    return True


cdef inline void narrow_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                             Py_ssize_t row_stride, state_t* state,
                             const narrow_t* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef double total[1056]
    cdef uint16_t mosts[1056]
    cdef uint16_t leasts[1056]
    cdef double sum_
    cdef const narrow_t* x
    cdef const char* p
    cdef uint32_t m
    # 4096 float16 add up exactly: less than 2^28 in steps of 2^-24.
    cdef Py_ssize_t first, width, j, r, start, size, most = 4096 if narrow_t is half_t else 128
    cdef bint fresh = state.fresh
    state.fresh = False
    if fresh:
        memset(c, 0, columns * 4)
        memset(d, 0xff, columns * 4)
    if fresh and columns * rows <= 32:
        for j in range(columns):
            sum_ = -0.0
            for r in range(rows):
                x = <const narrow_t*>(data + r * row_stride) + j
                sum_ += widen[narrow_t](x[0])
                gather_evidence[narrow_t](x, 1, &c[j], &d[j])
            a[j] = sum_
            b[j] = 0
        return
    if narrow_t is float and columns > 1024 and not state.few:
        # A block of wide rows that come from memory.
        for first in range(0, columns, 512):
            width = columns - first if columns - first < 512 else 512
            p = data + first * 4
            rk_float_rows(p, width, rows, row_stride, state.far,
                          p + width * 4 if first + width < columns else data + rows * row_stride,
                          total, <float*>(c + first), d + first, False)
            if fresh:
                memcpy(a + first, total, width * 8)
                memset(b + first, 0, width * 8)
            else:
                rk_enter_group(total, NULL, width, a + first, b + first)
        return
    for first in range(0, columns, 1024):
        width = columns - first if columns - first < 1024 else 1024
        if narrow_t is brain_t:
            memset(mosts, 0, sizeof(mosts))
            memset(leasts, 0xff, sizeof(leasts))
        start = 0
        while start < rows:
            size = rows - start if rows - start < most else most
            p = data + start * row_stride + first * <Py_ssize_t>sizeof(narrow_t)
            start += size
            if narrow_t is float:
                if state.few:            # a constant for each: lanes.h says why
                    rk_float_rows(p, width, size, row_stride, state.far, NULL, total,
                                  <float*>(c + first), d + first, True)
                else:
                    rk_float_rows(p, width, size, row_stride, state.far, NULL, total,
                                  <float*>(c + first), d + first, False)
            else:
                rk_short_float_rows(p, width, size, row_stride, total, mosts, leasts,
                                    narrow_t is brain_t)
            if fresh and start == size:
                memcpy(a + first, total, width * 8)
                memset(b + first, 0, width * 8)
                continue
            rk_enter_group(total, NULL, width, a + first, b + first)
        if narrow_t is brain_t:
            for j in range(width):
                m = widest(mosts[j])
                c[first + j] = m if m > c[first + j] else c[first + j]
                m = smallest(leasts[j])
                d[first + j] = m if m < d[first + j] else d[first + j]


cdef inline void narrow_fold(Py_ssize_t columns, Py_ssize_t period, state_t* state,
                             const void* kind, int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
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
        for j in range(half):
            d[j] = d[half + j] if d[half + j] < d[j] else d[j]
        columns = half


cdef inline void round_finite(const double* x, Py_ssize_t count, narrow_t* to) noexcept nogil:
    if narrow_t is half_t:
        rk_doubles_to_halves(x, to, count)
    elif narrow_t is brain_t:
        rk_doubles_to_brains(x, <uint16_t*>to, count)
    else:
        rk_doubles_to_floats(x, to, count)


cdef inline narrow_t rounded(double x, const narrow_t* kind) noexcept nogil:
    if narrow_t is half_t:
        return rk_double_to_half(x)
    elif narrow_t is brain_t:
        return rk_double_to_brain(x)
    else:
        return <float>x


cdef inline double to_odd(double s, double t) noexcept nogil:
    """s + t, of which |t| is below the last bit of s, rounded to odd.

    A number rounded to odd can be rounded again, to two bits less or more, as if
    it had been rounded once: its last bit says that something was cut off.
    """
    cdef uint64_t bits = rk_bits64(s)
    if t != 0 and not bits & 1:
        if (t > 0) == (s > 0):
            bits += 1
        else:
            bits -= 1
        return rk_double(bits)
    return s


cdef inline bint differ(narrow_t x, narrow_t y) noexcept nogil:
    if narrow_t is float:
        return rk_bits32(x) != rk_bits32(y)
    else:
        return x != y


cdef Py_ssize_t half_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                            Py_ssize_t out_stride, Py_ssize_t* suspects, state_t* state,
                            const void* kind, int order) noexcept nogil:
    """Of float16, whose sums are exact."""
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint16_t results[1024]
    cdef double s, t
    cdef Py_ssize_t i, found = 0
    cdef uint64_t unsure = 1 if terms > MOST_HALVES else 0
    if terms == 0:
        memset(results, 0, count * 2)
        emit(results, count, out, out_stride)
        return 0
    if step != 1:
        for i in range(count):
            a[i] = a[i * step]
            b[i] = b[i * step]
    for i in range(count):              # not zero, or not finite: as bits, for vectors
        unsure |= rk_bits64(b[i]) << 1 | rk_bits64(a[i] - a[i])
    rk_doubles_to_halves(a, results, count)
    if unsure:
        for i in range(count):
            s = a[i] + b[i]
            t = b[i] - (s - a[i])
            if not isfinite(a[i]) or terms > MOST_HALVES:
                suspects[found] = i
                found += 1
            else:
                results[i] = rk_double_to_half(a[i] if b[i] == 0 else to_odd(s, t))
    emit(results, count, out, out_stride)
    return found


cdef inline uint32_t growth_of(double terms) noexcept nogil:
    """Bits that a sum may have above its largest element."""
    return 1 if terms < 2 else <uint32_t>(rk_bits64(terms - 0.5) >> 52) - 1022


cdef inline bint is_exact(uint32_t most, uint32_t least, uint32_t growth,
                          const bound_t* kind) noexcept nogil:
    # All elements are multiples of the last bit of the smallest. Where the largest sum possible has
    # no more than 53 bits above it, nothing was ever rounded.
    cdef uint32_t bits
    if bound_t is brain_t:
        bits = 8
    else:
        bits = 24
    return (most >> 23) + bits + growth <= ((least + 1) >> 23) + 53


cdef Py_ssize_t look_again(Py_ssize_t first, Py_ssize_t count, uint32_t growth, double factor,
                           bound_t* low, Py_ssize_t* suspects, const state_t* state,
                           bint few) noexcept nogil:
    """Results whose bounds differ are suspects; how many."""
    cdef const double* a = <const double*>state.a + first
    cdef const double* b = <const double*>state.b + first
    cdef const uint32_t* c = <const uint32_t*>state.c + first
    cdef const uint32_t* d = <const uint32_t*>state.d + first
    cdef bound_t high[1024]
    cdef double above[1024]
    cdef double below[1024]
    cdef double s, t, e, z
    cdef Py_ssize_t i, found = 0
    cdef int32_t unsure = 0
    below[0] = above[0] = 0            # a compiler does not know that there are outputs
    for i in range(count):
        e = factor * <double>rk_float(c[i] if c[i] < 0x7f800000 else 0x7f800000)
        above[i] = e
        if few:
            above[i] = 0 if is_exact[bound_t](c[i], d[i], growth, NULL) else e
    for i in range(count):
        s = a[i] if b[i] == 0 else a[i] + b[i]      # -0.0 stays as it is
        t = b[i] - (s - a[i])
        e = above[i]
        e = e + 4 * ROUND_OFF * (s if s > 0 else -s) if e != 0 else e
        z = t - e
        below[i] = s if z == 0 else s + z
        z = t + e
        above[i] = s if z == 0 else s + z
    round_finite[bound_t](below, count, low)
    round_finite[bound_t](above, count, high)
    for i in range(count):
        unsure += 1 if differ[bound_t](low[i], high[i]) else 0
    if not unsure and all_finite(a, count):
        return 0
    for i in range(count):
        if isnan(a[i]):
            # The payload depends on how the compiler ordered the operands of a sum.
            low[i] = rounded[bound_t](rk_double(<uint64_t>0x7ff8000000000000ULL), NULL)
        elif not isfinite(a[i]):
            low[i] = rounded[bound_t](a[i], NULL)
        elif differ[bound_t](low[i], high[i]):
            suspects[found] = first + i
            found += 1
    return found


cdef inline Py_ssize_t narrow_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                                     Py_ssize_t out_stride, Py_ssize_t* suspects,
                                     state_t* state, const bound_t* kind,
                                     int order) noexcept nogil:
    cdef double* a = <double*>state.a
    cdef double* b = <double*>state.b
    cdef uint32_t* c = <uint32_t*>state.c
    cdef uint32_t* d = <uint32_t*>state.d
    cdef bound_t low[1024]
    cdef Py_ssize_t i, first = 0, size = count, found = 0
    cdef int32_t unsure = 0
    cdef bint few = state.few or bound_t is brain_t
    cdef uint32_t growth = growth_of(terms)
    # The second part of a pair is rounded too, at most twice an addition to the pair. That
    # counts beside the chains from some 10^9 terms on.
    cdef double factor = (ROUND_OFF * state.steps
                          + 4 * (ROUND_OFF * terms) * (ROUND_OFF * terms)) * terms
    if terms == 0:
        for i in range(count):
            low[i] = rounded[bound_t](0.0, kind)
        emit_narrow[bound_t](low, count, out, out_stride)
        return 0
    if step != 1:
        for i in range(count):
            a[i] = a[i * step]
            b[i] = b[i * step]
            c[i] = c[i * step]
            d[i] = d[i * step]
    if few:
        for i in range(count):
            unsure |= 0 if is_exact[bound_t](c[i], d[i], growth, NULL) else 1
        if not unsure and all_finite(a, count):
            round_finite[bound_t](a, count, low)
            emit_narrow[bound_t](low, count, out, out_stride)
            return 0
    while first < count:
        if bound_t is float and not few and count > 2:  # two by themselves take less time
            first += rk_certain_floats(a + first, b + first, <const float*>c + first, count - first,
                                       factor, low + first)
            size = 16
        if first < count:
            size = count - first if count - first < size else size
            found += look_again[bound_t](first, size, growth, factor, low + first,
                                         suspects + found, state, few)
            first += size
    emit_narrow[bound_t](low, count, out, out_stride)
    return found


cdef inline bint narrow_few(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                            Py_ssize_t row_stride, char* out, const state_t* state,
                            const narrow_t* kind, int order) noexcept nogil:
    cdef double total[1056]
    cdef narrow_t* to = <narrow_t*>out
    cdef bint sure
    if narrow_t is float:
        sure = rk_few_floats(data, columns, rows, row_stride, to)
    elif narrow_t is brain_t:
        sure = rk_few_brains(data, columns, rows, row_stride, total)
        if sure:
            round_finite[narrow_t](total, columns, to)
    else:
        rk_short_float_rows(data, columns, rows, row_stride, total, NULL, NULL, False)
        sure = all_finite(total, columns)
        if sure:
            rk_doubles_to_halves(total, <uint16_t*>to, columns)
    return sure


cdef inline void emit_narrow(const narrow_t* results, Py_ssize_t count, char* out,
                             Py_ssize_t out_stride) noexcept nogil:
    if narrow_t is float:
        emit[float](results, count, out, out_stride)
    else:
        emit[uint16_t](<const uint16_t*>results, count, out, out_stride)
