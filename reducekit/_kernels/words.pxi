# Sums of integers, and every maximum and minimum.
#
# Sums of integers and extremes of order keys (bits.h says which) differ only in how two
# elements become one, so one family serves both: unsigned words are added, and wrap by
# definition; of signed ones the larger is kept. An extreme thus needs no evidence of NaN or of
# the sign of a zero, and both directions and all types of one size share a kernel.

cdef inline word_t take(word_t bits, word_t flip, word_t fold, word_t turn) noexcept nogil:
    """An element, as it is joined to others."""
    if word_t is int8_t:
        return rk_key8(bits, flip)
    elif word_t is int16_t:
        return rk_key16(bits, flip, fold, turn)
    elif word_t is int32_t:
        return rk_key32(bits, flip, fold, turn)
    elif word_t is int64_t:
        return rk_key64(bits, flip, fold, turn)
    else:
        return bits


cdef inline word_t bits_of(word_t key, word_t flip, word_t fold, word_t turn) noexcept nogil:
    if word_t is int8_t:
        return rk_key8(key, flip)
    elif word_t is int16_t:
        return rk_unkey16(key, flip, fold, turn)
    elif word_t is int32_t:
        return rk_unkey32(key, flip, fold, turn)
    elif word_t is int64_t:
        return rk_unkey64(key, flip, fold, turn)
    else:
        return key


cdef inline bint are_keys(const word_t* kind) noexcept nogil:
    return <word_t>(~<uint64_t>0) < <word_t>1


cdef inline word_t join(word_t x, word_t y) noexcept nogil:
    if are_keys[word_t](NULL):
        return x if x > y else y
    else:
        return <word_t>(x + y)


cdef inline word_t neutral(const word_t* kind) noexcept nogil:
    """What changes nothing: the least key, or nothing."""
    if are_keys[word_t](NULL):
        return <word_t>(<uint64_t>1 << (8 * sizeof(word_t) - 1))
    else:
        return 0


cdef inline void word_init(Py_ssize_t first, Py_ssize_t count, state_t* state,
                           const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    cdef Py_ssize_t i
    for i in range(first, first + count):
        a[i] = neutral[word_t](NULL)


cdef inline void run_lanes(const char* data, Py_ssize_t outer, Py_ssize_t outer_stride,
                           Py_ssize_t run, Py_ssize_t ahead, const state_t* state,
                           word_t* lanes) noexcept nogil:
    """Fold long runs, or strided ones, and leave 64 bytes of lanes."""
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef const word_t[::1] v = None
    cdef const word_t* new             # all bits where an element was not met before
    cdef word_t lane[256]
    cdef word_t x, best = neutral[word_t](NULL)
    cdef Py_ssize_t o, b, k, start, end, old, period = state.period
    cdef Py_ssize_t blocks = run // <Py_ssize_t>(256 // sizeof(word_t))
    for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
        lane[k] = neutral[word_t](NULL)
    for o in range(outer):
        bind1(data + o * outer_stride, run, sizeof(word_t), v)
        if sizeof(word_t) > 1 and are_keys[word_t](NULL) and fold == 0:
            # Keys of integers take one operation, not four (int32 in cache: 193 and 177 GB/s).
            for b in range(blocks):
                ask_ahead(data + o * outer_stride + b * 256 + ahead)
                for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
                    lane[k] = join(v[b * <Py_ssize_t>(256 // sizeof(word_t)) + k] ^ flip, lane[k])
        else:
            for b in range(blocks):
                ask_ahead(data + o * outer_stride + b * 256 + ahead)
                for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
                    lane[k] = join(take(v[b * <Py_ssize_t>(256 // sizeof(word_t)) + k],
                                        flip, fold, turn), lane[k])
                # Of bytes, the largest key there is ends the search early.
                if (are_keys[word_t](NULL) and sizeof(word_t) == 1 and b & 15 == 0
                        and lane[0] == 127):
                    break
        if blocks == 0:             # of a strided run
            k = 0
            while k < run:
                best = join(take(v[k], flip, fold, turn), best)
                k += period
            continue
        # What is left is met by lanes that end with the run, or, of a strided run, with the
        # element before the last. An extreme may meet an element twice.
        if period > 1:
            best = join(take(v[run - 1], flip, fold, turn), best)
        end = run if period == 1 else run - 1
        start = end - <Py_ssize_t>(256 // sizeof(word_t))
        old = blocks * <Py_ssize_t>(256 // sizeof(word_t)) - start
        if old == <Py_ssize_t>(256 // sizeof(word_t)):
            continue
        new = <const word_t*>(<const char*>RK_NEW + 256) - old
        for k in range(<Py_ssize_t>(256 // sizeof(word_t))):
            x = take(v[start + k], flip, fold, turn)
            if are_keys[word_t](NULL):
                lane[k] = join(x, lane[k])
            else:
                lane[k] = join(x & new[k], lane[k])
    for k in range(<Py_ssize_t>(64 // sizeof(word_t))):
        lanes[k] = join(join(lane[k], lane[k + <Py_ssize_t>(64 // sizeof(word_t))]),
                        join(lane[k + <Py_ssize_t>(128 // sizeof(word_t))],
                             lane[k + <Py_ssize_t>(192 // sizeof(word_t))]))
    if period > 1:
        for k in range(<Py_ssize_t>(64 // sizeof(word_t))):
            lanes[k] = neutral[word_t](NULL) if k & (period - 1) else lanes[k]
        lanes[0] = join(best, lanes[0])


cdef inline void word_runs(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                           Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                           state_t* state, const word_t* kind, int order) noexcept nogil:
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef word_t* a = <word_t*>state.a
    cdef int64_t one[128]              # 16 times 64 bytes
    cdef int64_t two[64]
    cdef word_t* source
    cdef word_t* to
    cdef const word_t* v
    cdef word_t* swap
    cdef word_t best
    cdef Py_ssize_t first, i, o, k, count, left, ahead = way_ahead(outer, outer_stride)
    cdef bint some = state.period == 1 and run * <Py_ssize_t>sizeof(word_t) <= 1024
    if state.fresh:
        word_init(0, kept, state, kind, 0)
        state.fresh = False
    if run < <Py_ssize_t>(64 // sizeof(word_t)) or kept * outer == 1 and run <= 16:
        for i in range(kept):
            best = a[i]
            for o in range(outer):
                v = <const word_t*>(data + i * kept_stride + o * outer_stride)
                for k in range(run):
                    best = join(take(v[k], flip, fold, turn), best)
            a[i] = best
        return
    # The lanes of 16 runs are folded together: of bytes, folding those of one run took longer
    # than 1000 elements.
    for first in range(0, kept, 16):
        count = kept - first if kept - first < 16 else 16
        source = <word_t*>one
        to = <word_t*>two
        if some:
            left = RK_WIDE // <Py_ssize_t>sizeof(word_t) if RK_WIDE > 1 else 1
            rk_runs(source, data + first * kept_stride, count, kept_stride, outer, outer_stride,
                    run * sizeof(word_t), ahead, flip, fold, turn, neutral[word_t](NULL))
        else:
            left = 64 // sizeof(word_t)
            for i in range(count):
                run_lanes[word_t](data + (first + i) * kept_stride, outer, outer_stride, run, ahead,
                                  state, source + i * left)
        while left > 1:
            left //= 2
            rk_halve(source, to, count * left)
            swap = source
            source = to
            to = swap
        for i in range(count):
            a[first + i] = join(source[i], a[first + i])


cdef inline void word_columns(const char** rows, Py_ssize_t count, Py_ssize_t width, word_t* best,
                              const state_t* state, bint fresh, bint last,
                              Py_ssize_t ahead) noexcept nogil:
    """The columns of a few rows into an array, or, with `last`, their results."""
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef word_t infinity = <word_t>(~neutral[word_t](NULL) - turn)
    cdef word_t quiet = <word_t>(infinity | (turn + 1) >> 1), top = <word_t>(infinity - turn)
    rk_columns(rows, count, width, best, flip, fold, turn, quiet, top, fresh, last, ahead)


cdef inline void give(const word_t* words, Py_ssize_t step, Py_ssize_t count, word_t* to,
                      const state_t* state) noexcept nogil:
    """Results; a NaN is the quiet one."""
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    # Of integers the top is the largest key there is.
    cdef word_t infinity = <word_t>(~neutral[word_t](NULL) - turn)
    cdef word_t quiet = <word_t>(infinity | (turn + 1) >> 1), top = <word_t>(infinity - turn)
    cdef Py_ssize_t i
    if step != 1:
        for i in range(count):
            to[i] = words[i * step]
        words = to
    if count == 1:
        to[0] = quiet if words[0] > top else bits_of(words[0], flip, fold, turn)
    elif word_t is int8_t or word_t is int16_t or word_t is int32_t or word_t is int64_t:
        rk_give(words, count, to, flip, fold, turn, quiet, top)
    elif to != words:
        # Of 8 kB, memcpy uses an instruction that is slow to begin: (10^6, 3) over the short axis
        # takes 0.60 ms with it, and 0.53 as if these were keys.
        if sizeof(word_t) == 8:
            rk_give(<const int64_t*>words, count, <int64_t*>to, 0, 0, 0, 0, ~neutral[int64_t](NULL))
        else:
            memcpy(to, words, count * sizeof(word_t))


# Of more rows the processor loses track: it follows some, or many that lie close together.
# int32, (1000, 1000) over axis 0: 104 GB/s four by four, 76 in strips of 16 rows that ask ahead.
cdef inline bint far_apart(Py_ssize_t rows, Py_ssize_t row_stride) noexcept nogil:
    return rows > 4 and row_stride >= 65536


# What is asked for comes into the first cache, where rows that begin alike in their pages share
# the same few lines: of these, four are read at a time while the next four come; and along them,
# what is asked for early is gone again.
cdef inline void word_far_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                               Py_ssize_t row_stride, state_t* state,
                               const word_t* kind) noexcept nogil:
    cdef const char* at[FEW_ROWS]
    cdef Py_ssize_t first = 0, count, ahead, most = 4 if row_stride % 4096 == 0 else FEW_ROWS
    cdef int r
    if state.far:
        most = rk_far_rows(columns * <Py_ssize_t>sizeof(word_t), row_stride)
    while first < rows:
        count = rows - first if rows - first < most else most
        for r in range(count):
            at[r] = data + (first + r) * row_stride
        # The rows below, or the first ones of the columns beside these.
        if first + count < rows:
            ahead = count * row_stride
        else:
            ahead = columns * <Py_ssize_t>sizeof(word_t) - first * row_stride
        word_columns(at, count, columns, <word_t*>state.a, state, state.fresh, False, ahead)
        state.fresh = False
        first += count


cdef inline void word_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                           Py_ssize_t row_stride, state_t* state,
                           const word_t* kind, int order) noexcept nogil:
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef word_t* a = <word_t*>state.a
    cdef bint away = state.far == 1 or far_apart(rows, row_stride)
    if columns * <Py_ssize_t>sizeof(word_t) < RK_NARROW and not away:
        # They are close enough together for the processor to follow them.
        rk_lines(data, rows, row_stride, columns, a, flip, fold, turn, state.fresh)
        state.fresh = False
    elif away and (state.far < 2 or rows <= FEW_ROWS):
        word_far_rows(data, columns, rows, row_stride, state, kind)
    else:
        if state.fresh:
            word_init(0, columns, state, kind, 0)
            state.fresh = False
        rk_blocks(data, rows, row_stride, columns, a, flip, fold, turn)


cdef inline void word_apart(const char** rows, Py_ssize_t count, Py_ssize_t columns, char* out,
                            const state_t* state, bint fresh, bint last,
                            const word_t* kind) noexcept nogil:
    # What is asked for waits in the first cache, where rows that begin alike in their pages share
    # few lines. 10 columns of 8 MB, of this kind: 2.8 ms with 256 bytes, 3.0 with 128 or without
    # asking; of the other: 2.4 with 768, 3.4 with 128. Three rows of 8 MB: 0.45 ms with 4096,
    # 0.52 with 2048, 0.6 with 1024 or 768; where a cache holds some of it 1024 is the safest.
    cdef Py_ssize_t ahead = 4096 if state.far else 1024
    if count > 4:
        ahead = 256 if (rows[1] - rows[0]) % 4096 == 0 else 768
    word_columns(rows, count, columns, <word_t*>out, state, fresh, last, ahead)


cdef inline bint word_few_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                               Py_ssize_t row_stride, char* out, const state_t* state,
                               const word_t* kind, int order) noexcept nogil:
    cdef const char* at[FEW_ROWS]
    cdef Py_ssize_t r
    for r in range(rows):
        at[r] = data + r * row_stride
    if (state.far or far_apart(rows, row_stride)
            or columns * rows * <Py_ssize_t>sizeof(word_t) > 1048576):
        word_apart(at, rows, columns, out, state, True, True, kind)
    else:
        word_columns(at, rows, columns, <word_t*>out, state, True, True, 0)
    return True


cdef inline Py_ssize_t runs_that_fit(Py_ssize_t run, Py_ssize_t room) noexcept nogil:
    """Runs whose elements, or what the first division leaves of them, fill the buffers."""
    return (2 * room if run % 2 == 0 or run % 3 == 0 else room) // run


cdef void first_division(const word_t* v, word_t* to, Py_ssize_t count, Py_ssize_t by,
                         const state_t* state) noexcept nogil:
    """Every two or three elements become one.

    Memory is asked for as it is read: in one go, that would hold up what is read. And keys
    are made on the way: kept in an array first, their stores came into the way of loads from
    addresses that are alike but for the page (float64, (10^6, 3): 33 GB/s or 19, by chance).
    """
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef Py_ssize_t i, start, end
    for start in range(0, count, 256):
        end = start + 256 if count - start > 256 else count
        ask_for(<const char*>(v + start * by), (end - start) * by * <Py_ssize_t>sizeof(word_t))
        if by == 2:
            for i in range(start, end):
                to[i] = join(take(v[2 * i], flip, fold, turn),
                             take(v[2 * i + 1], flip, fold, turn))
        else:
            for i in range(start, end):
                to[i] = join(join(take(v[3 * i], flip, fold, turn),
                                  take(v[3 * i + 1], flip, fold, turn)),
                             take(v[3 * i + 2], flip, fold, turn))


cdef inline Py_ssize_t least_divisor(Py_ssize_t run, bint parts) noexcept nogil:
    """Of those that a run can be divided by, with vectors that can be permuted or not, or 0."""
    if run % 2 == 0:
        return 2
    if run % 3 == 0:
        return 3
    if not parts:
        return 0
    if run % 5 == 0:
        return 5
    if run % 7 == 0:
        return 7
    return run if run <= RK_PARTS else 0


cdef word_t* squeeze(const word_t* v, Py_ssize_t kept, Py_ssize_t run, word_t* keys,
                     word_t* one, word_t* two, word_t* three, const state_t* state) noexcept nogil:
    """Reduce `kept` runs, one behind the other; the results are in one of the buffers.

    Runs are divided by two and by three with vectors, and by 5, 7, 11 and 13 where vectors can be
    permuted at will. What is left (17, 19 ...) is met by windows of 2, 4, 8 ... elements that
    begin at every element: more than is needed, but all of it vectors. Two or more of them cover
    a run; one of every `run` elements is taken.
    """
    cdef word_t flip = <word_t>state.flip, fold = <word_t>state.fold, turn = <word_t>state.turn
    cdef word_t* to = one
    cdef word_t* other = two
    cdef word_t* swap
    cdef const word_t* source
    cdef const word_t* window
    cdef word_t* spare = keys + 4160 // sizeof(word_t)
    cdef Py_ssize_t b, i, width, met = 1
    cdef bint parts = RK_PARTS != 0 and sizeof(word_t) > 1
    width = least_divisor(run, parts)
    if width:
        run //= width
        if parts:
            rk_part(v, one, kept * run, width, flip, fold, turn)
        else:
            first_division(v, one, kept * run, width, state)
        source = one
        to = two
        other = one
    elif not are_keys[word_t](NULL):
        ask_for(<const char*>v, kept * run * <Py_ssize_t>sizeof(word_t))
        source = v
    else:
        for b in range(kept * run // <Py_ssize_t>(256 // sizeof(word_t))):
            ask_ahead(<const char*>v + b * 256 + RK_AHEAD)
            for i in range(<Py_ssize_t>(256 // sizeof(word_t))):
                keys[b * <Py_ssize_t>(256 // sizeof(word_t)) + i] = take(
                    v[b * <Py_ssize_t>(256 // sizeof(word_t)) + i], flip, fold, turn)
        for i in range(kept * run // <Py_ssize_t>(256 // sizeof(word_t))
                       * <Py_ssize_t>(256 // sizeof(word_t)), kept * run):
            keys[i] = take(v[i], flip, fold, turn)
        source = keys
    while run > 1:
        width = least_divisor(run, parts)
        if width == 0:
            break
        run //= width
        if parts:
            rk_part(source, to, kept * run, width, 0, 0, 0)
        elif width == 2:
            rk_halve(source, to, kept * run)
        else:
            rk_third(source, to, kept * run)
        source = to
        swap = to
        to = other
        other = swap
    if run == 1:
        return other
    window = source
    other = three
    width = 1
    while 2 * width <= run:
        rk_meet(window, window + width, to, kept * run - 2 * width + 1)
        window = to
        swap = to
        to = other
        other = swap
        width *= 2
        if not are_keys[word_t](NULL) and run & width:
            # What an element begins, and what follows it: of sums, windows share nothing.
            rk_meet(source, window + met, keys, kept * run - run + 1)
            source = keys
            swap = keys
            keys = spare
            spare = swap
            met += width
    if are_keys[word_t](NULL):         # an extreme may meet an element twice
        rk_meet(window, window + run - width, to, kept * run - run + 1)
        source = to
        to = other
    rk_pick(source, to, kept, run)
    return to


cdef inline void word_short(const char* data, Py_ssize_t kept, Py_ssize_t kept_stride,
                            Py_ssize_t outer, Py_ssize_t outer_stride, Py_ssize_t run,
                            state_t* state, const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    cdef int64_t keys[1040]            # twice 4096 bytes, and what vectors read on
    cdef int64_t one[520]
    cdef int64_t two[520]
    cdef int64_t three[520]
    cdef const word_t* results
    cdef Py_ssize_t i, o, start, size, most = runs_that_fit(run, 4096 // sizeof(word_t))
    for o in range(outer):
        start = 0
        while start < kept:
            size = kept - start if kept - start < most else most
            results = squeeze(
                <const word_t*>(data + start * kept_stride + o * outer_stride), size, run,
                <word_t*>keys, <word_t*>one, <word_t*>two, <word_t*>three, state)
            if state.fresh:
                memcpy(a + start, results, size * sizeof(word_t))
            else:
                for i in range(size):
                    a[start + i] = join(results[i], a[start + i])
            start += most
        state.fresh = False


cdef inline bint word_few_runs(const char* data, Py_ssize_t kept, Py_ssize_t run,
                               Py_ssize_t unused, char* out, const state_t* state,
                               const word_t* kind, int order) noexcept nogil:
    cdef int64_t keys[1040]            # twice 4096 bytes, and what vectors read on
    cdef int64_t one[520]
    cdef int64_t two[520]
    cdef int64_t three[520]
    cdef const word_t* results
    cdef Py_ssize_t size, start = 0, most = runs_that_fit(run, 4096 // sizeof(word_t))
    while start < kept:
        size = kept - start if kept - start < most else most
        results = squeeze(<const word_t*>data + start * run, size, run, <word_t*>keys,
                          <word_t*>one, <word_t*>two, <word_t*>three, state)
        give(results, 1, size, <word_t*>out + start, state)
        start += most
    return True


cdef inline void word_fold(Py_ssize_t columns, Py_ssize_t period, state_t* state,
                           const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    cdef Py_ssize_t j, half
    while columns > period:
        half = columns // 2
        for j in range(half):
            a[j] = join(a[j], a[half + j])
        columns = half


cdef inline Py_ssize_t word_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                                   Py_ssize_t out_stride, Py_ssize_t* suspects, state_t* state,
                                   const word_t* kind, int order) noexcept nogil:
    cdef word_t* a = <word_t*>state.a
    if out_stride == <Py_ssize_t>sizeof(word_t):
        give(a, step, count, <word_t*>out, state)
    else:
        give(a, step, count, a, state)
        emit[word_t](a, count, out, out_stride)
    return 0


cdef Py_ssize_t bool_finish(Py_ssize_t count, Py_ssize_t step, double terms, char* out,
                            Py_ssize_t out_stride, Py_ssize_t* suspects,
                            state_t* state, const void* kind, int order) noexcept nogil:
    # A byte other than 0 and 1 can only come from a view; NumPy calls it True.
    cdef int8_t* a = <int8_t*>state.a
    cdef int8_t flip = <int8_t>state.flip
    cdef Py_ssize_t i
    if step == 1 and out_stride == 1:
        for i in range(count):
            (<uint8_t*>out)[i] = a[i] != flip
        return 0
    for i in range(count):
        (<uint8_t*>(out + i * out_stride))[0] = a[i * step] != flip
    return 0


cdef bint bool_few_rows(const char* data, Py_ssize_t columns, Py_ssize_t rows,
                        Py_ssize_t row_stride, char* out, const state_t* state,
                        const void* kind, int order) noexcept nogil:
    cdef Py_ssize_t start, size, i
    cdef uint8_t* to
    for start in range(0, columns, 8192):       # what is written is in the first cache still
        size = columns - start if columns - start < 8192 else 8192
        to = <uint8_t*>out + start
        word_few_rows[int8_t](data + start, size, rows, row_stride, <char*>to, state, NULL, 0)
        for i in range(size):
            to[i] = to[i] != 0
    return True
