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
/* Likewise for the direction of an extreme. */
typedef int largest_t;
typedef int smallest_t;
typedef int total_t;

static inline float rk_float(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline double rk_double(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint32_t rk_bits32(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
static inline uint64_t rk_bits64(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }

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

/* The double nearest to a narrower float: rounded once, ties to even. */
static inline uint16_t rk_double_to_narrow(double x, int digits, int least, uint16_t infinity) {
    /* digits: bits of precision; least: exponent of the smallest subnormal. */
    uint64_t bits = rk_bits64(x), magnitude = bits & 0x7fffffffffffffffULL;
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    if (magnitude == 0x7ff0000000000000ULL) return sign | infinity;
    {
        int exponent = (int)(magnitude >> 52) - 1023, quantum, drop;
        uint64_t mantissa = (magnitude & 0xfffffffffffffULL) | 0x10000000000000ULL, kept, rest, half;
        int fraction = digits - 1;
        if (exponent < -1022) return sign;             /* a subnormal double is far below all */
        quantum = exponent - fraction;                 /* the value of the last bit kept */
        if (quantum < least) quantum = least;
        drop = quantum - (exponent - 52);
        if (drop > 54) return sign;
        kept = mantissa >> drop;
        rest = mantissa & ((1ULL << drop) - 1);
        half = 1ULL << (drop - 1);
        kept += rest > half || (rest == half && (kept & 1));
        /* kept has `digits` bits at most, or is 2^digits after a carry; the addition lets
           the carry run into the exponent field, and past it into infinity. */
        kept += (uint64_t)(quantum - least) << fraction;
        return (uint16_t)(sign | (kept >= infinity ? infinity : kept));
    }
}
static inline uint16_t rk_double_to_half(double x) {
    return isnan(x) ? 0x7e00 : rk_double_to_narrow(x, 11, -24, 0x7c00);
}
static inline uint16_t rk_double_to_brain(double x) {
    return isnan(x) ? 0x7fc0 : rk_double_to_narrow(x, 8, -133, 0x7f80);
}

#endif
