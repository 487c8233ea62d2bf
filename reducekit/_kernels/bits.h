/* Bit patterns and numbers, for the kernels. Everything here is one or two
   instructions, or a loop over them that the compiler does not find by itself. */
#ifndef RK_BITS_H
#define RK_BITS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__F16C__) || defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* Two names for 16 bits: Cython's fused types tell kernels apart by name. */
typedef uint16_t half_t;
typedef uint16_t brain_t;

static inline float rk_float(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline double rk_double(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint32_t rk_bits32(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
static inline uint64_t rk_bits64(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }

/* Order keys: signed integers in the order of the elements, so that every maximum and minimum is
   one signed maximum.

   Of floats, -0 is below +0, and every NaN, of either sign, above +infinity. `fold` (all bits
   but the sign) turns the order of the negative ones round, and `turn` is the distance from the
   largest integer to the bits of infinity: so far the keys are turned for -infinity to become
   the least. Of integers both are 0. `flip` is what is exchanged: all bits for a minimum of
   signed integers, the sign bit for unsigned ones, and for a minimum of floats, which is the
   maximum of the negated elements.

   All three are not known when a kernel is compiled, so few kernels serve many types; and a
   compiler that is able to read the element twice from memory does so (128 GB/s against 190). */
static inline int8_t rk_key8(int8_t bits, int8_t flip) { return (int8_t)(bits ^ flip); }
static inline int16_t rk_key16(int16_t bits, int16_t flip, int16_t fold, int16_t turn) {
    int16_t b = (int16_t)(bits ^ flip);
    return (int16_t)((uint16_t)(b ^ ((b >> 15) & fold)) - (uint16_t)turn);
}
static inline int32_t rk_key32(int32_t bits, int32_t flip, int32_t fold, int32_t turn) {
    int32_t b = bits ^ flip;
    return (int32_t)((uint32_t)(b ^ ((b >> 31) & fold)) - (uint32_t)turn);
}
static inline int64_t rk_key64(int64_t bits, int64_t flip, int64_t fold, int64_t turn) {
    int64_t b = bits ^ flip;
    return (int64_t)((uint64_t)(b ^ ((b >> 63) & fold)) - (uint64_t)turn);
}
static inline int16_t rk_unkey16(int16_t key, int16_t flip, int16_t fold, int16_t turn) {
    int16_t b = (int16_t)((uint16_t)key + (uint16_t)turn);
    return (int16_t)(b ^ ((b >> 15) & fold) ^ flip);
}
static inline int32_t rk_unkey32(int32_t key, int32_t flip, int32_t fold, int32_t turn) {
    int32_t b = (int32_t)((uint32_t)key + (uint32_t)turn);
    return b ^ ((b >> 31) & fold) ^ flip;
}
static inline int64_t rk_unkey64(int64_t key, int64_t flip, int64_t fold, int64_t turn) {
    int64_t b = (int64_t)((uint64_t)key + (uint64_t)turn);
    return b ^ ((b >> 63) & fold) ^ flip;
}

/* An addition for the multiply units. Current cores have as many of them as adders, and
   an error-free addition is adders only: giving each half of it took float64 sums in
   cache from 71 to 114 GB/s with AVX-512 and from 37 to 62 with AVX2. `one` is a
   variable that holds 1.0, or the compiler would turn it back into an addition. */
#if defined(__FMA__)
#define RK_ADD(x, one, y) __builtin_fma((x), (one), (y))
#define RK_SUB(x, one, y) __builtin_fma((y), -(one), (x))
#else
#define RK_ADD(x, one, y) ((void)(one), (x) + (y))
#define RK_SUB(x, one, y) ((void)(one), (x) - (y))
#endif
static volatile double rk_one = 1.0;

static inline float rk_half_to_float(uint16_t h) {
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16, bits;
    if (magnitude < 0x400u << 13)          /* zero and subnormal: m * 2^-24, exact */
        bits = rk_bits32(rk_float(magnitude + 0x38800000u) - rk_float(0x38800000u));
    else if (magnitude >= 0x7c00u << 13)   /* infinity and NaN */
        bits = magnitude + 0x70000000u;
    else
        bits = magnitude + 0x38000000u;
    return rk_float(bits | sign);
}

static inline float rk_brain_to_float(uint16_t b) { return rk_float((uint32_t)b << 16); }

/* count is a multiple of 16; GCC 12 does not vectorise this conversion by itself. */
static inline void rk_halves_to_floats(const uint16_t *from, float *to, ptrdiff_t count) {
    ptrdiff_t i;
#if defined(__AVX512F__)
    for (i = 0; i < count; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i))));
#elif defined(__F16C__)
    for (i = 0; i < count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
#else
    for (i = 0; i < count; i++) to[i] = rk_half_to_float(from[i]);
#endif
}

/* A double rounded to odd, in float: what was cut off shows in the last bit, so that
   rounding once more gives what rounding once would have given. Finite numbers only. */
static inline float rk_odd_float(double x) {
    float f = (float)x;
    double rest = x - (double)f;
    uint32_t bits = rk_bits32(f);
    uint32_t same = (uint32_t)(rk_bits64(rest) >> 63) == bits >> 31;
    bits += (rest != 0.0 && !(bits & 1)) ? (same ? 1u : ~0u) : 0u;
    return rk_float(bits);
}
/* From float, rounded to nearest, ties to even. Finite numbers only; no branches, so
   that loops over them become vectors. */
static inline uint16_t rk_float_to_brain(float f) {
    uint32_t bits = rk_bits32(f);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
static inline uint16_t rk_float_to_half(float f) {
    uint32_t bits = rk_bits32(f), m = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    uint32_t normal = (m + 0xfffu + (m >> 13 & 1u) - 0x38000000u) >> 13;
    uint32_t small = rk_bits32(rk_float(m) + 0.5f) - 0x3f000000u;   /* in units of 2^-24 */
    normal = normal > 0x7c00u ? 0x7c00u : normal;
    return (uint16_t)(sign | (m < 0x38800000u ? small : normal));
}
/* Finite numbers, rounded once. Loops of vectors are long, and stand once. */
#if defined(__GNUC__) || defined(__clang__)
#define RK_LOOP static __attribute__((noinline, unused))
#else
#define RK_LOOP static
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__)
/* Eight, towards zero, then odd where something was cut off. */
static inline __m256i rk_odd_floats(const double *from) {
    __m512d x = _mm512_loadu_pd(from);
    __m256 f = _mm512_cvt_roundpd_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    __mmask8 cut = _mm512_cmp_pd_mask(_mm512_cvtps_pd(f), x, _CMP_NEQ_OQ);
    __m256i bits = _mm256_castps_si256(f);
    return _mm256_mask_or_epi32(bits, cut, bits, _mm256_set1_epi32(1));
}
static inline __m128i rk_eight_halves(const double *from) {
    return _mm256_cvtps_ph(_mm256_castsi256_ps(rk_odd_floats(from)), _MM_FROUND_TO_NEAREST_INT);
}
static inline __m128i rk_eight_brains(const double *from) {
    __m256i x = rk_odd_floats(from), last = _mm256_srli_epi32(x, 16);
    last = _mm256_and_si256(last, _mm256_set1_epi32(1));
    x = _mm256_add_epi32(_mm256_add_epi32(x, _mm256_set1_epi32(0x7fff)), last);
    return _mm256_cvtepi32_epi16(_mm256_srli_epi32(x, 16));
}
/* What is left goes through a copy: a loop of its own would be written out as vectors again. */
#define RK_BY_EIGHT(eight) do { \
        double rest[8] = {0}; \
        __m128i last; \
        ptrdiff_t i = 0; \
        for (; i + 8 <= count; i += 8) _mm_storeu_si128((__m128i *)(to + i), eight(from + i)); \
        if (i == count) return; \
        memcpy(rest, from + i, (size_t)(count - i) * 8); \
        last = eight(rest); \
        memcpy(to + i, &last, (size_t)(count - i) * 2); \
    } while (0)
RK_LOOP void rk_doubles_to_halves(const double *from, uint16_t *to, ptrdiff_t count) {
    RK_BY_EIGHT(rk_eight_halves);
}
RK_LOOP void rk_doubles_to_brains(const double *from, uint16_t *to, ptrdiff_t count) {
    RK_BY_EIGHT(rk_eight_brains);
}
#else
RK_LOOP void rk_doubles_to_halves(const double *from, uint16_t *to, ptrdiff_t count) {
    ptrdiff_t i;
    for (i = 0; i < count; i++) to[i] = rk_float_to_half(rk_odd_float(from[i]));
}
RK_LOOP void rk_doubles_to_brains(const double *from, uint16_t *to, ptrdiff_t count) {
    ptrdiff_t i;
    for (i = 0; i < count; i++) to[i] = rk_float_to_brain(rk_odd_float(from[i]));
}
#endif
RK_LOOP void rk_doubles_to_floats(const double *from, float *to, ptrdiff_t count) {
    ptrdiff_t i;
    for (i = 0; i < count; i++) to[i] = (float)from[i];
}
static inline uint16_t rk_double_to_half(double x) {
    if (isnan(x)) return 0x7e00;
    if (isinf(x)) return x > 0 ? 0x7c00 : 0xfc00;
    return rk_float_to_half(rk_odd_float(x));
}
static inline uint16_t rk_double_to_brain(double x) {
    if (isnan(x)) return 0x7fc0;
    if (isinf(x)) return x > 0 ? 0x7f80 : 0xff80;
    return rk_float_to_brain(rk_odd_float(x));
}

/* 256 bytes of nothing and 256 of all bits: read from somewhere in the first half, the mask of a
   block of which some elements at the beginning do not count. */
#define RK_EIGHT_TIMES(x) x, x, x, x, x, x, x, x
static const uint64_t RK_NEW[64] = {
    RK_EIGHT_TIMES(0), RK_EIGHT_TIMES(0), RK_EIGHT_TIMES(0), RK_EIGHT_TIMES(0),
    RK_EIGHT_TIMES(~0ull), RK_EIGHT_TIMES(~0ull), RK_EIGHT_TIMES(~0ull), RK_EIGHT_TIMES(~0ull)};

/* Ask for a line of memory that a run will reach soon. */
#if defined(__GNUC__) || defined(__clang__)
#define RK_PREFETCH(p) __builtin_prefetch((p), 0, 3)
#else
#define RK_PREFETCH(p) ((void)(p))
#endif
/* How far ahead of a run memory is asked for, in bytes. The processor's own prefetch stops
   at each page; this took float32 sums from memory from 38 to 71 GB/s, and costs little
   in cache (1 KiB to 64 KiB were tried). */
#define RK_AHEAD 8192
/* Of rows of an array that is in no cache, how many are asked for in advance: they are to stay in
   the first cache until they are read, beside those that are read now (int32 of 36 MB: 60 to
   65 GB/s; half as many 50 to 56, twice as many 32 to 48). Those that begin alike in their pages
   share the same few lines of it. */
#define RK_FAR 16384
static inline ptrdiff_t rk_far_rows(ptrdiff_t size, ptrdiff_t stride) {
    ptrdiff_t rows = RK_FAR / size, most = stride % 4096 ? 16 : 4;
    return rows > most ? most : rows > 2 ? rows : 2;
}
/* As many rows in bytes, of those that are read one after the other; of longer ones, one. */
static inline ptrdiff_t rk_far_bytes(ptrdiff_t stride) {
    return stride > 0 && stride < RK_FAR ? RK_FAR / stride * stride : stride;
}

#endif
