# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""Sums without rounding, for the outputs whose rounding a fast sum cannot prove.

Design. A double is an integer of 53 bits times a power of two. Adding it to a long
fixed-point number touches two of its 32-bit chunks; the chunks have 64 bits, so
carries need moving up only once in 512 additions (the small superaccumulator of
R. Neal, 2015). Rounding happens once, in the type that is asked for.

Where there are many elements, a number for each of the 4096 signs and exponents takes
their mantissas first, which is one addition an element (his large superaccumulator).

Most data does not need that. A block of elements whose exponents lie close together
is summed exactly by plain double arithmetic: where all are multiples of 2^q and the
sum of their magnitudes is below 2^(q + 53), no addition rounds. Such a block enters
the accumulator as one number, at nearly the speed of an ordinary sum.
"""

from libc.math cimport ldexp
from libc.stdlib cimport calloc, free
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "_kernels/bits.h":
    float rk_float(uint32_t) noexcept nogil
    double rk_double(uint64_t) noexcept nogil
    uint32_t rk_bits32(float) noexcept nogil
    uint64_t rk_bits64(double) noexcept nogil
    float rk_half_to_float(uint16_t) noexcept nogil
    float rk_brain_to_float(uint16_t) noexcept nogil
    uint16_t rk_double_to_half(double) noexcept nogil
    uint16_t rk_double_to_brain(double) noexcept nogil

# Positions in dtypes.ELEMENT_TYPES.
cdef enum:
    FLOAT16 = 9
    BFLOAT16 = 10
    FLOAT32 = 11
    FLOAT64 = 12
    MANY = 8192                 # elements for which it pays to look through all bins at the end


cdef struct bins_t:             # a bin for each sign and exponent: the upper 12 bits
    uint64_t sum[4096]          # of the other 52 bits
    uint16_t count[4096]        # 2047 at most, so that 2^53 each still fit


cdef void exact_clear(exact_t* acc) noexcept nogil:
    memset(acc, 0, sizeof(exact_t))


cdef void carry(exact_t* acc) noexcept nogil:
    """Leave 0 to 2^32 - 1 in each chunk but the last, which keeps the sign."""
    cdef int i
    cdef int64_t up
    for i in range(CHUNKS - 1):
        up = acc.chunk[i] >> 32
        acc.chunk[i] -= up << 32
        acc.chunk[i + 1] += up
    acc.pending = 0


cdef inline void add_double(exact_t* acc, double x) noexcept nogil:
    cdef uint64_t bits = rk_bits64(x)
    cdef uint64_t mantissa = bits & <uint64_t>0xfffffffffffffULL
    cdef int exponent = <int>(bits >> 52 & 0x7ff)
    cdef int shift, i
    cdef int64_t low, high
    if exponent == 0x7ff:
        if mantissa:
            acc.nan = True
        elif bits >> 63:
            acc.minus = True
        else:
            acc.plus = True
        acc.any = True
        return
    if exponent:
        mantissa |= <uint64_t>0x10000000000000ULL
    elif mantissa == 0:
        acc.negative_zeros = bits >> 63 and (acc.negative_zeros or not acc.any)
        acc.any = True
        return
    else:
        exponent = 1
    acc.negative_zeros = False
    acc.any = True
    i = (exponent - 1) >> 5
    shift = (exponent - 1) & 31
    low = <int64_t>(mantissa << shift & <uint64_t>0xffffffffULL)
    high = <int64_t>(mantissa >> (32 - shift))
    if bits >> 63:
        low = -low
        high = -high
    acc.chunk[i] += low
    acc.chunk[i + 1] += high
    acc.pending += 1
    if acc.pending == 512:
        carry(acc)


cdef inline double as_double(int type_index, const void* data, Py_ssize_t i) noexcept nogil:
    if type_index == FLOAT32:
        return (<const float*>data)[i]
    if type_index == FLOAT16:
        return rk_half_to_float((<const uint16_t*>data)[i])
    if type_index == BFLOAT16:
        return rk_brain_to_float((<const uint16_t*>data)[i])
    return (<const double*>data)[i]


cdef bint block_sum(int type_index, const void* data, Py_ssize_t count,
                    double* total) noexcept nogil:
    """The sum of at most 512 elements that are not float64, if plain addition is exact."""
    cdef float x[512]
    cdef uint32_t m, peak = 0, least = ~<uint32_t>0
    cdef Py_ssize_t i
    cdef double s = -0.0
    cdef double lane[4]
    if type_index == FLOAT32:
        memcpy(x, data, count * 4)
    else:
        for i in range(count):
            x[i] = <float>as_double(type_index, data, i)
    for i in range(count):
        m = rk_bits32(x[i]) & 0x7fffffff
        peak = m if m > peak else peak
        least = m - 1 if m - 1 < least else least       # zeros become the largest
    # 2^9 elements below 2^(e + 1), all multiples of 2^(f - 23).
    if peak != 0 and (peak >> 23) + 1 + 9 + 23 > ((least + 1) >> 23) + 53:
        return False
    for i in range(4):
        lane[i] = -0.0
    for i in range(count // 4):
        lane[0] += x[4 * i]
        lane[1] += x[4 * i + 1]
        lane[2] += x[4 * i + 2]
        lane[3] += x[4 * i + 3]
    for i in range(count // 4 * 4, count):
        s += x[i]
    total[0] = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + s
    return True


cdef bint not_finite(exact_t* acc, int type_index, const void* data,
                     Py_ssize_t count) noexcept nogil:
    """Note NaN and infinities in a block; whether there are any.

    They settle the sum, whatever the other elements are.
    """
    cdef Py_ssize_t i
    cdef uint64_t any8 = 0, top8 = <uint64_t>0x7ff0000000000000ULL
    cdef uint32_t any4 = 0
    cdef uint16_t any2 = 0, top2 = 0x7c00 if type_index == FLOAT16 else 0x7f80
    cdef double x
    if type_index == FLOAT64:
        for i in range(count):
            any8 |= <uint64_t>(((<const uint64_t*>data)[i] & top8) == top8)
    elif type_index == FLOAT32:
        for i in range(count):
            any4 |= <uint32_t>(((<const uint32_t*>data)[i] & 0x7f800000) == 0x7f800000)
    else:
        for i in range(count):
            any2 |= <uint16_t>(((<const uint16_t*>data)[i] & top2) == top2)
    if not (any8 or any4 or any2):
        return False
    for i in range(count):
        x = as_double(type_index, data, i)
        if x - x != 0:
            add_double(acc, x)
    return True


cdef void add_each(exact_t* acc, const double* x, Py_ssize_t count) noexcept nogil:
    """Add at most 2048 finite elements of any exponents.

    Neighbours often go to the same chunks, and an addition in memory waits for the one
    before it; so they take turns at four sets of chunks.
    """
    cdef int64_t side[4][CHUNKS]
    cdef Py_ssize_t i
    cdef int k, j, exponent, shift
    cdef uint64_t bits, mantissa, sign, others = 0
    cdef int64_t low, high
    memset(side, 0, sizeof(side))
    for i in range(count):
        bits = rk_bits64(x[i])
        others |= bits ^ <uint64_t>0x8000000000000000ULL
        exponent = <int>(bits >> 52 & 0x7ff)
        mantissa = (bits & <uint64_t>0xfffffffffffffULL) | (<uint64_t>(exponent != 0) << 52)
        exponent -= exponent != 0
        shift = exponent & 31
        k = exponent >> 5
        sign = <uint64_t>0 - (bits >> 63)
        low = <int64_t>(((mantissa << shift & <uint64_t>0xffffffffULL) ^ sign) - sign)
        high = <int64_t>(((mantissa >> (32 - shift)) ^ sign) - sign)
        j = <int>(i & 3)
        side[j][k] += low
        side[j][k + 1] += high
    # A set holds 512 parts below 2^52. All four at once would leave no room for what the
    # chunk had before.
    carry(acc)
    for k in range(CHUNKS):
        acc.chunk[k] += side[0][k] + side[1][k]
    carry(acc)
    for k in range(CHUNKS):
        acc.chunk[k] += side[2][k] + side[3][k]
    carry(acc)
    acc.negative_zeros = others == 0 and (acc.negative_zeros or not acc.any)
    acc.any = True


cdef void empty_bin(exact_t* acc, bins_t* bins, int bin) noexcept nogil:
    cdef int exponent = bin & 0x7ff
    cdef uint64_t total = bins.sum[bin]
    cdef int64_t sign = -1 if bin >> 11 else 1
    cdef int k, shift
    if exponent:
        total += <uint64_t>bins.count[bin] << 52
        exponent -= 1
    k = exponent >> 5
    shift = exponent & 31
    acc.chunk[k] += sign * <int64_t>(total << shift & <uint64_t>0xffffffffULL)
    acc.chunk[k + 1] += sign * <int64_t>(total >> (32 - shift) & <uint64_t>0xffffffffULL)
    if shift:
        acc.chunk[k + 2] += sign * <int64_t>(total >> (64 - shift))
    bins.sum[bin] = 0
    bins.count[bin] = 0


cdef void fill_bins(exact_t* acc, bins_t* bins, const double* x, Py_ssize_t count) noexcept nogil:
    """Add finite elements, of any exponents, to bins."""
    cdef Py_ssize_t i
    cdef int bin
    cdef uint64_t bits, others = 0
    for i in range(count):
        bits = rk_bits64(x[i])
        others |= bits ^ <uint64_t>0x8000000000000000ULL
        bin = <int>(bits >> 52)
        bins.sum[bin] += bits & <uint64_t>0xfffffffffffffULL
        bins.count[bin] += 1
        if bins.count[bin] == 2047:
            empty_bin(acc, bins, bin)
    acc.negative_zeros = others == 0 and (acc.negative_zeros or not acc.any)
    acc.any = True


cdef void exact_add(exact_t* acc, int type_index, const void* data,
                    Py_ssize_t count) noexcept nogil:
    """Add native, aligned, contiguous elements of a float type."""
    cdef Py_ssize_t start, size
    cdef Py_ssize_t itemsize = 8 if type_index == FLOAT64 else 4 if type_index == FLOAT32 else 2
    cdef const char* block
    cdef const double* x
    cdef double total
    cdef double wide[512]
    cdef bins_t* bins = NULL
    cdef int i
    cdef Py_ssize_t most = 2048 if type_index == FLOAT64 else 512
    start = -most
    while start + most < count:
        start += most
        size = count - start if count - start < most else most
        block = <const char*>data + start * itemsize
        if not_finite(acc, type_index, block, size) or acc.nan or acc.plus or acc.minus:
            continue
        if type_index != FLOAT64 and block_sum(type_index, block, size, &total):
            add_double(acc, total)
            continue
        x = <const double*>block
        if type_index != FLOAT64:
            for i in range(<int>size):
                wide[i] = as_double(type_index, block, i)
            x = wide
        if bins == NULL and count - start >= MANY:
            carry(acc)
            bins = <bins_t*>calloc(1, sizeof(bins_t))
        if bins != NULL:
            fill_bins(acc, bins, x, size)
        else:
            add_each(acc, x, size)
    if bins != NULL:
        for i in range(4096):
            if bins.count[i]:
                empty_bin(acc, bins, i)
        free(bins)
        carry(acc)


cdef void exact_merge(exact_t* acc, exact_t* other) noexcept nogil:
    cdef int i
    carry(acc)
    carry(other)
    for i in range(CHUNKS):
        acc.chunk[i] += other.chunk[i]
    carry(acc)
    acc.nan |= other.nan
    acc.plus |= other.plus
    acc.minus |= other.minus
    acc.negative_zeros = ((acc.negative_zeros or not acc.any)
                          and (other.negative_zeros or not other.any)
                          and (acc.any or other.any))
    acc.any |= other.any


cdef void exact_multiply(exact_t* acc, Py_ssize_t count) noexcept nogil:
    """Make it `count` times the sum, as if all were added that often; `count` is above 0.

    The elements added, times `count`, must be fewer than 2^63.
    """
    cdef uint64_t factor[2]
    cdef uint64_t product
    cdef exact_t of = acc[0]
    cdef int i, j
    cdef bint negative
    carry(&of)
    negative = of.chunk[CHUNKS - 1] < 0
    if negative:
        for i in range(CHUNKS):
            of.chunk[i] = -of.chunk[i]
        carry(&of)
    factor[0] = <uint64_t>count & <uint64_t>0xffffffffULL
    factor[1] = <uint64_t>count >> 32
    memset(acc.chunk, 0, sizeof(acc.chunk))
    for i in range(CHUNKS):
        for j in range(2):
            # Both halves of a chunk's product lie below the top wherever they are not 0.
            product = <uint64_t>of.chunk[i] * factor[j]
            if product == 0:
                continue
            acc.chunk[i + j] += <int64_t>(product & <uint64_t>0xffffffffULL)
            if product >> 32:
                acc.chunk[i + j + 1] += <int64_t>(product >> 32)
    carry(acc)
    if negative:
        for i in range(CHUNKS):
            acc.chunk[i] = -acc.chunk[i]
        carry(acc)


cdef double rounded_to(exact_t* acc, int digits, int least) noexcept nogil:
    """The sum rounded once to `digits` bits, of which the last is 2^least or more.

    The result is a double; beyond the largest number of a narrower type it is large
    enough for the conversion to give infinity.
    """
    cdef bint negative
    cdef int i, top, bit, quantum, word, offset
    cdef uint64_t kept, chunk
    cdef bint half, below
    if acc.nan or (acc.plus and acc.minus):
        return rk_double(<uint64_t>0x7ff8000000000000ULL)
    if acc.plus:
        return rk_double(<uint64_t>0x7ff0000000000000ULL)
    if acc.minus:
        return rk_double(<uint64_t>0xfff0000000000000ULL)
    carry(acc)
    negative = acc.chunk[CHUNKS - 1] < 0
    if negative:
        for i in range(CHUNKS):
            acc.chunk[i] = -acc.chunk[i]
        carry(acc)
    top = CHUNKS - 1
    while top >= 0 and acc.chunk[top] == 0:
        top -= 1
    if top < 0:
        return -0.0 if acc.negative_zeros else 0.0
    chunk = <uint64_t>acc.chunk[top]
    bit = 0
    while chunk >> (bit + 1):
        bit += 1
    bit += 32 * top                         # the leading bit, counted from 2^-1074
    quantum = bit - (digits - 1)
    if quantum < least + 1074:
        quantum = least + 1074
    # kept: bits from `quantum` up, at most 53 of them, gathered from three chunks.
    word = quantum >> 5
    offset = quantum & 31
    kept = 0
    if word < CHUNKS:
        kept = <uint64_t>acc.chunk[word] >> offset
        if word + 1 < CHUNKS:
            kept |= <uint64_t>acc.chunk[word + 1] << (32 - offset)
            if word + 2 < CHUNKS and offset + 0 < 64 and 64 - offset < 64:
                kept |= <uint64_t>acc.chunk[word + 2] << (64 - offset)
    half = False
    below = False
    if quantum > 0:
        i = quantum - 1
        if i >> 5 < CHUNKS:
            chunk = <uint64_t>acc.chunk[i >> 5]
            half = chunk >> (i & 31) & 1
            below = (chunk & ((<uint64_t>1 << (i & 31)) - 1)) != 0
        i = (i >> 5) - 1
        if i >= CHUNKS:
            i = CHUNKS - 1
        while i >= 0 and not below:
            below = acc.chunk[i] != 0
            i -= 1
    if half and (below or kept & 1):
        kept += 1
    if negative:
        for i in range(CHUNKS):
            acc.chunk[i] = -acc.chunk[i]
        carry(acc)
    return ldexp(-<double>kept if negative else <double>kept, quantum - 1074)


cdef void exact_round(exact_t* acc, int type_index, void* out) noexcept nogil:
    """Write the rounded sum as one element of the type; the accumulator stays as it is."""
    if type_index == FLOAT64:
        (<double*>out)[0] = rounded_to(acc, 53, -1074)
    elif type_index == FLOAT32:
        (<float*>out)[0] = <float>rounded_to(acc, 24, -149)
    elif type_index == FLOAT16:
        (<uint16_t*>out)[0] = rk_double_to_half(rounded_to(acc, 11, -24))
    else:
        (<uint16_t*>out)[0] = rk_double_to_brain(rounded_to(acc, 8, -133))
