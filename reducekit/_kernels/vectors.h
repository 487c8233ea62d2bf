/* Vectors of 64 bytes, whatever the registers hold, and what the kernels do with them.

   The kernels of sums of floats keep two or three things for each lane at once, and compilers put
   arrays of such lanes on the stack. What they work on here is one vector where registers have 64
   bytes, two where they have 32, and a struct that is gone through element by element where a
   compiler has no vectors of its own. The order of every addition, and with it every bit, is the
   same in all of them. */
#ifndef RK_VECTORS_H
#define RK_VECTORS_H

#include "bits.h"

/* V_CODE becomes part of whoever calls it; V_ONCE is called from several places, and too long to be
   there each time. V_LONG is called on processors so old that nothing of it would stay in
   registers; half of the code for them was conversions of 16-bit floats, written out each time. */
#if defined(__clang__)
#define V_CODE static inline __attribute__((always_inline, unused))
#define V_ONCE static __attribute__((noinline, unused))
#elif defined(__GNUC__)
#define V_CODE static inline __attribute__((always_inline, unused))
#define V_ONCE static __attribute__((noinline, noclone, unused))
#else
#define V_CODE static inline
#define V_ONCE static
#endif
#if defined(__SSE2__) && !defined(__AVX2__)
#define V_LONG V_ONCE
#else
#define V_LONG V_CODE
#endif

#if defined(__AVX2__) && !defined(__AVX512F__) && (defined(__GNUC__) || defined(__clang__))

/* Two registers of 32 bytes, one beside the other: GCC keeps a vector of 64 bytes in memory where
   registers are shorter (float64 in cache: 12 GB/s instead of 51). */

typedef double n_doubles __attribute__((vector_size(32)));
typedef float n_floats __attribute__((vector_size(32)));
typedef uint64_t n_longs __attribute__((vector_size(32)));
typedef uint32_t n_words __attribute__((vector_size(32)));
typedef uint16_t n_shorts __attribute__((vector_size(32)));
typedef struct { n_doubles p, q; } v_doubles;
typedef struct { n_floats p, q; } v_floats;
typedef struct { n_words p, q; } v_words;
typedef struct { n_shorts p, q; } v_shorts;

/* `value` of the parts a of x, and b of y. */
#define V_LIFT_1(to, to_part, name, from, part, value) \
    V_CODE to name(from x) { \
        to r; \
        part a = x.p; \
        r.p = (to_part)(value); \
        a = x.q; \
        r.q = (to_part)(value); \
        return r; \
    }
#define V_LIFT_2(to, to_part, name, from, part, other, other_part, value) \
    V_CODE to name(from x, other y) { \
        to r; \
        part a = x.p; \
        other_part b = y.p; \
        r.p = (to_part)(value); \
        a = x.q; \
        b = y.q; \
        r.q = (to_part)(value); \
        return r; \
    }
#define V_DOUBLES_1(name, value) V_LIFT_1(v_doubles, n_doubles, name, v_doubles, n_doubles, value)
#define V_DOUBLES_2(name, value) \
    V_LIFT_2(v_doubles, n_doubles, name, v_doubles, n_doubles, v_doubles, n_doubles, value)
#define V_FLOATS_1(name, value) V_LIFT_1(v_floats, n_floats, name, v_floats, n_floats, value)
#define V_FLOATS_2(name, value) \
    V_LIFT_2(v_floats, n_floats, name, v_floats, n_floats, v_floats, n_floats, value)
#define V_SHORTS_1(name, value) V_LIFT_1(v_shorts, n_shorts, name, v_shorts, n_shorts, value)
#define V_SHORTS_2(name, value) \
    V_LIFT_2(v_shorts, n_shorts, name, v_shorts, n_shorts, v_shorts, n_shorts, value)
#define V_MEMORY(type, part, load, store, item) \
    V_CODE type load(const item *x) { \
        type r; \
        memcpy(&r.p, x, 32); \
        memcpy(&r.q, (const char *)x + 32, 32); \
        return r; \
    } \
    V_CODE void store(item *to, type x) { \
        memcpy(to, &x.p, 32); \
        memcpy((char *)to + 32, &x.q, 32); \
    }
V_MEMORY(v_doubles, n_doubles, d_load, d_store, double)
V_MEMORY(v_floats, n_floats, f_load, f_store, float)
V_MEMORY(v_words, n_words, w_load, w_store, uint32_t)
V_MEMORY(v_shorts, n_shorts, h_load, h_store, uint16_t)

V_CODE v_doubles d_all(double x) {
    v_doubles r;
    r.p = r.q = (n_doubles)_mm256_set1_pd(x);
    return r;
}
V_CODE v_floats f_all(float x) {
    v_floats r;
    r.p = r.q = (n_floats)_mm256_set1_ps(x);
    return r;
}
V_CODE v_words w_all(uint32_t x) {
    v_words r;
    r.p = r.q = (n_words)_mm256_set1_epi32((int)x);
    return r;
}
V_CODE v_shorts h_all(uint16_t x) {
    v_shorts r;
    r.p = r.q = (n_shorts)_mm256_set1_epi16((short)x);
    return r;
}
V_DOUBLES_2(d_add, a + b)
V_DOUBLES_2(d_or, (n_longs)a | (n_longs)b)
V_DOUBLES_2(d_xor, (n_longs)a ^ (n_longs)b)
V_DOUBLES_2(d_sub, a - b)
V_DOUBLES_2(d_mul, a * b)
V_FLOATS_2(f_or, (n_words)a | (n_words)b)
V_FLOATS_2(f_xor, (n_words)a ^ (n_words)b)
V_FLOATS_2(f_add, a + b)
V_FLOATS_1(f_abs, (n_words)a & 0x7fffffffu)
V_DOUBLES_1(d_abs, (n_longs)a & 0x7fffffffffffffffull)
V_DOUBLES_2(d_total, ((n_longs)a & (n_longs)(b == 0.0)) | ((n_longs)(a + b) & ~(n_longs)(b == 0.0)))
V_LIFT_1(v_words, n_words, w_not, v_words, n_words, ~a)
V_FLOATS_2(f_max, _mm256_max_ps((__m256)a, (__m256)b))
V_DOUBLES_2(d_max, _mm256_max_pd((__m256d)a, (__m256d)b))
V_LIFT_2(v_words, n_words, w_most, v_words, n_words, v_floats, n_floats,
         _mm256_max_epu32((__m256i)a, (__m256i)((n_words)b & 0x7fffffffu)))
V_LIFT_2(v_words, n_words, w_least, v_words, n_words, v_floats, n_floats,
         _mm256_min_epu32((__m256i)a, (__m256i)(((n_words)b & 0x7fffffffu) - 1)))
V_SHORTS_1(h_twice, a + a)
V_SHORTS_1(h_less, a - 1)
V_SHORTS_1(h_more, a + 1)
V_SHORTS_2(h_sub, a - b)
V_SHORTS_2(h_max, _mm256_max_epu16((__m256i)a, (__m256i)b))
V_SHORTS_2(h_min, _mm256_min_epu16((__m256i)a, (__m256i)b))
V_CODE v_shorts h_down(v_shorts x, int bits) {
    v_shorts r;
    r.p = x.p >> bits;
    r.q = x.q >> bits;
    return r;
}
V_CODE int h_over(v_shorts x, uint16_t limit) {
    __m256i most = _mm256_set1_epi16((short)limit);
    __m256i over = _mm256_or_si256(_mm256_subs_epu16((__m256i)x.p, most),
                                   _mm256_subs_epu16((__m256i)x.q, most));
    return !_mm256_testz_si256(over, over);
}
V_CODE v_doubles d_plus(v_doubles x, v_doubles one, v_doubles y) {
    v_doubles r;
    r.p = (n_doubles)_mm256_fmadd_pd((__m256d)y.p, (__m256d)one.p, (__m256d)x.p);
    r.q = (n_doubles)_mm256_fmadd_pd((__m256d)y.q, (__m256d)one.q, (__m256d)x.q);
    return r;
}
V_CODE v_doubles d_minus(v_doubles x, v_doubles one, v_doubles y) {
    v_doubles r;
    r.p = (n_doubles)_mm256_fnmadd_pd((__m256d)y.p, (__m256d)one.p, (__m256d)x.p);
    r.q = (n_doubles)_mm256_fnmadd_pd((__m256d)y.q, (__m256d)one.q, (__m256d)x.q);
    return r;
}
V_CODE n_longs d_part(n_doubles x, n_longs in, n_longs other) {
    return ((n_longs)x & in) | (~in & other);
}
V_CODE v_doubles d_from(v_doubles x, int first) {
    n_longs at = {0, 1, 2, 3}, other = at * 0 + 0x8000000000000000ull;
    x.p = (n_doubles)d_part(x.p, (n_longs)(at >= (uint64_t)first), other);
    x.q = (n_doubles)d_part(x.q, (n_longs)(at + 4 >= (uint64_t)first), other);
    return x;
}
V_CODE v_floats f_from(v_floats x, int first) {
    n_words at = {0, 1, 2, 3, 4, 5, 6, 7}, in = (n_words)(at >= (uint32_t)first);
    x.p = (n_floats)(((n_words)x.p & in) | (~in & 0x80000000u));
    in = (n_words)(at + 8 >= (uint32_t)first);
    x.q = (n_floats)(((n_words)x.q & in) | (~in & 0x80000000u));
    return x;
}
V_CODE v_shorts h_from(v_shorts x, int first) {
    n_shorts at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    n_shorts in = (n_shorts)(at >= (uint16_t)first);
    x.p = (x.p & in) | (~in & 0x8000);
    in = (n_shorts)(at + 16 >= (uint16_t)first);
    x.q = (x.q & in) | (~in & 0x8000);
    return x;
}
V_CODE v_doubles d_every(v_doubles x, int period, double other) {
    n_longs at = {0, 1, 2, 3}, bits = (n_longs)d_all(other).p;
    x.p = (n_doubles)d_part(x.p, (n_longs)((at & (uint64_t)(period - 1)) == 0), bits);
    x.q = (n_doubles)d_part(x.q, (n_longs)(((at + 4) & (uint64_t)(period - 1)) == 0), bits);
    return x;
}
V_CODE v_floats f_every(v_floats x, int period) {
    n_words at = {0, 1, 2, 3, 4, 5, 6, 7}, in = (n_words)((at & (uint32_t)(period - 1)) == 0);
    x.p = (n_floats)((n_words)x.p & in);
    x.q = (n_floats)((n_words)x.q & in);          /* a period divides 8 */
    return x;
}
V_LIFT_1(v_floats, n_floats, f_even_brains, v_shorts, n_shorts, (n_words)a << 16)
V_LIFT_1(v_floats, n_floats, f_odd_brains, v_shorts, n_shorts, (n_words)a & 0xffff0000u)
V_CODE v_floats f_brains(const uint16_t *p) {
    v_floats r;
    r.p = (n_floats)_mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16);
    r.q = (n_floats)_mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p + 8))), 16);
    return r;
}
V_CODE v_doubles d_floats(const float *p) {
    v_doubles r;
    r.p = (n_doubles)_mm256_cvtps_pd(_mm_loadu_ps(p));
    r.q = (n_doubles)_mm256_cvtps_pd(_mm_loadu_ps(p + 4));
    return r;
}
V_CODE v_doubles d_of(n_floats x) {
    v_doubles r;
    r.p = (n_doubles)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
    r.q = (n_doubles)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
    return r;
}
V_CODE v_doubles d_low(v_floats v) { return d_of(v.p); }
V_CODE v_doubles d_high(v_floats v) { return d_of(v.q); }
V_CODE n_floats f_of(v_doubles x) {
    return (n_floats)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)x.q), _mm256_cvtpd_ps((__m256d)x.p));
}
V_CODE v_floats f_doubles(v_doubles low, v_doubles high) {
    v_floats r;
    r.p = f_of(low);
    r.q = f_of(high);
    return r;
}
V_CODE v_floats f_halves(const uint16_t *p) {
    v_floats r;
    r.p = (n_floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
    r.q = (n_floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 8)));
    return r;
}

#elif (defined(__GNUC__) || defined(__clang__)) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#define V_NATIVE

typedef double v_doubles __attribute__((vector_size(64)));
typedef float v_floats __attribute__((vector_size(64)));
typedef uint32_t v_words __attribute__((vector_size(64)));
typedef uint16_t v_shorts __attribute__((vector_size(64)));
typedef float v_half_floats __attribute__((vector_size(32)));

/* A loaded vector stays in its register: left alone, GCC reads it from memory for each use, and
   where memory is slow or the vector crosses lines that costs a third of the speed. */
#ifdef __AVX512F__
#define V_KEEP(v) __asm__("" : "+v"(v))
#else
#define V_KEEP(v) ((void)0)
#endif
V_CODE v_doubles d_load(const double *p) { v_doubles v; memcpy(&v, p, 64); V_KEEP(v); return v; }
V_CODE v_floats f_load(const float *p) { v_floats v; memcpy(&v, p, 64); V_KEEP(v); return v; }
V_CODE v_shorts h_load(const uint16_t *p) { v_shorts v; memcpy(&v, p, 64); V_KEEP(v); return v; }
V_CODE void d_store(double *p, v_doubles v) { memcpy(p, &v, 64); }
V_CODE void f_store(float *p, v_floats v) { memcpy(p, &v, 64); }
V_CODE v_doubles d_all(double x) { return (v_doubles){x, x, x, x, x, x, x, x}; }
V_CODE v_floats f_all(float x) {
    return (v_floats){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
V_CODE v_doubles d_add(v_doubles x, v_doubles y) { return x + y; }
typedef uint64_t v_longs __attribute__((vector_size(64)));
V_CODE v_doubles d_or(v_doubles x, v_doubles y) { return (v_doubles)((v_longs)x | (v_longs)y); }
V_CODE v_doubles d_xor(v_doubles x, v_doubles y) { return (v_doubles)((v_longs)x ^ (v_longs)y); }
V_CODE v_doubles d_sub(v_doubles x, v_doubles y) { return x - y; }
V_CODE v_doubles d_mul(v_doubles x, v_doubles y) { return x * y; }
V_CODE v_floats f_or(v_floats x, v_floats y) { return (v_floats)((v_words)x | (v_words)y); }
V_CODE v_floats f_xor(v_floats x, v_floats y) { return (v_floats)((v_words)x ^ (v_words)y); }
V_CODE v_floats f_add(v_floats x, v_floats y) { return x + y; }
V_CODE v_floats f_abs(v_floats x) { return (v_floats)((v_words)x & 0x7fffffffu); }
V_CODE v_doubles d_abs(v_doubles x) {
    return (v_doubles)((v_longs)x & 0x7fffffffffffffffull);
}
/* A pair as one number: s where nothing was lost, for -0.0 + 0.0 is 0.0. */
V_CODE v_doubles d_total(v_doubles s, v_doubles r) {
    v_longs whole = (v_longs)(r == d_all(0));
    return (v_doubles)(((v_longs)s & whole) | ((v_longs)(s + r) & ~whole));
}
V_CODE v_words w_not(v_words x) { return ~x; }
V_CODE v_words w_all(uint32_t x) {
    return (v_words){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
V_CODE v_words w_load(const uint32_t *p) { v_words v; memcpy(&v, p, 64); return v; }
V_CODE void w_store(uint32_t *p, v_words v) { memcpy(p, &v, 64); }
/* Elements before `first` become -0.0, the neutral element of a sum. */
V_CODE v_doubles d_from(v_doubles x, int first) {
    v_longs at = {0, 1, 2, 3, 4, 5, 6, 7}, in = (v_longs)(at >= (uint64_t)first);
    return (v_doubles)(((v_longs)x & in) | (~in & 0x8000000000000000ull));
}
V_CODE v_floats f_from(v_floats x, int first) {
    v_words at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    v_words in = (v_words)(at >= (uint32_t)first);
    return (v_floats)(((v_words)x & in) | (~in & 0x80000000u));
}
V_CODE v_shorts h_from(v_shorts x, int first) {
    v_shorts at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    v_shorts in = (v_shorts)(at >= (uint16_t)first);
    return (x & in) | (~in & 0x8000);
}
/* Elements at multiples of a period (1, 2, 4 or 8); the others become `other`. */
V_CODE v_doubles d_every(v_doubles x, int period, double other) {
    v_longs at = {0, 1, 2, 3, 4, 5, 6, 7}, in = (v_longs)((at & (uint64_t)(period - 1)) == 0);
    return (v_doubles)(((v_longs)x & in) | (~in & (v_longs)d_all(other)));
}
V_CODE v_floats f_every(v_floats x, int period) {       /* the others become zero */
    v_words at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return (v_floats)((v_words)x & (v_words)((at & (uint32_t)(period - 1)) == 0));
}
/* What 32 float16 may span: their magnitudes, doubled, and the smallest but zero, less one. */
V_CODE v_shorts h_all(uint16_t x) { return (v_shorts){0} + x; }
V_CODE v_shorts h_twice(v_shorts v) { return v + v; }
V_CODE v_shorts h_less(v_shorts v) { return v - 1; }
V_CODE v_shorts h_more(v_shorts v) { return v + 1; }
V_CODE v_shorts h_sub(v_shorts x, v_shorts y) { return x - y; }
V_CODE v_shorts h_down(v_shorts x, int bits) { return x >> bits; }
/* Elements 0, 2, 4 ... and 1, 3, 5 ... of 32 bfloat16: a float32 is its bfloat16 and zeros. */
V_CODE v_floats f_even_brains(v_shorts v) { return (v_floats)((v_words)v << 16); }
V_CODE v_floats f_odd_brains(v_shorts v) { return (v_floats)((v_words)v & 0xffff0000u); }

#if defined(__AVX512F__) && defined(__AVX512DQ__)
/* The larger magnitude, as bits: infinity and NaN are the largest. */
V_CODE v_words w_most(v_words most, v_floats x) {
    return (v_words)_mm512_max_epu32((__m512i)most, (__m512i)((v_words)x & 0x7fffffffu));
}
/* The smaller magnitude less one, as bits: zeros become the largest. */
V_CODE v_words w_least(v_words least, v_floats x) {
    return (v_words)_mm512_min_epu32((__m512i)least, (__m512i)(((v_words)x & 0x7fffffffu) - 1));
}
V_CODE v_floats f_doubles(v_doubles low, v_doubles high) {
    return (v_floats)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                        _mm512_cvtpd_ps((__m512d)high), 1);
}
V_CODE v_floats f_brains(const uint16_t *p) {
    return (v_floats)_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16);
}
V_CODE v_doubles d_floats(const float *p) {
    return (v_doubles)_mm512_cvtps_pd(_mm256_loadu_ps(p));
}
V_CODE v_doubles d_low(v_floats v) {
    return (v_doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
}
V_CODE v_doubles d_high(v_floats v) {
    return (v_doubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
}
V_CODE v_floats f_max(v_floats x, v_floats y) {
    return (v_floats)_mm512_max_ps((__m512)x, (__m512)y);
}
V_CODE v_doubles d_max(v_doubles x, v_doubles y) {
    return (v_doubles)_mm512_max_pd((__m512d)x, (__m512d)y);
}
V_CODE v_floats f_halves(const uint16_t *p) {
    return (v_floats)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
V_CODE v_shorts h_max(v_shorts x, v_shorts y) {
    return (v_shorts)_mm512_max_epu16((__m512i)x, (__m512i)y);
}
V_CODE v_shorts h_min(v_shorts x, v_shorts y) {
    return (v_shorts)_mm512_min_epu16((__m512i)x, (__m512i)y);
}
V_CODE int h_over(v_shorts x, uint16_t limit) {
    return _mm512_cmpgt_epu16_mask((__m512i)x, _mm512_set1_epi16((short)limit)) != 0;
}
V_CODE v_doubles d_plus(v_doubles x, v_doubles one, v_doubles y) {
    return (v_doubles)_mm512_fmadd_pd((__m512d)y, (__m512d)one, (__m512d)x);
}
V_CODE v_doubles d_minus(v_doubles x, v_doubles one, v_doubles y) {
    return (v_doubles)_mm512_fnmadd_pd((__m512d)y, (__m512d)one, (__m512d)x);
}
#else
V_CODE v_words w_most(v_words most, v_floats x) {
    v_words m = (v_words)x & 0x7fffffffu, more = (v_words)(m > most);
    return (m & more) | (most & ~more);
}
V_CODE v_words w_least(v_words least, v_floats x) {
    v_words m = ((v_words)x & 0x7fffffffu) - 1, less = (v_words)(m < least);
    return (m & less) | (least & ~less);
}
V_CODE v_floats f_doubles(v_doubles low, v_doubles high) {
    union { v_floats all; v_half_floats half[2]; } u;
    u.half[0] = __builtin_convertvector(low, v_half_floats);
    u.half[1] = __builtin_convertvector(high, v_half_floats);
    return u.all;
}
V_CODE v_floats f_brains(const uint16_t *p) {
    typedef uint16_t v_half_shorts __attribute__((vector_size(32)));
    v_half_shorts v;
    memcpy(&v, p, 32);
    return (v_floats)(__builtin_convertvector(v, v_words) << 16);
}
V_CODE v_doubles d_floats(const float *p) {
    v_half_floats v;
    memcpy(&v, p, 32);
    return __builtin_convertvector(v, v_doubles);
}
V_CODE v_doubles d_low(v_floats v) {
    union { v_floats all; v_half_floats half[2]; } u = {v};
    return __builtin_convertvector(u.half[0], v_doubles);
}
V_CODE v_doubles d_high(v_floats v) {
    union { v_floats all; v_half_floats half[2]; } u = {v};
    return __builtin_convertvector(u.half[1], v_doubles);
}
/* y where either is NaN, as the instruction does it. */
V_CODE v_floats f_max(v_floats x, v_floats y) {
    v_words more = (v_words)(x > y);
    return (v_floats)(((v_words)x & more) | ((v_words)y & ~more));
}
V_CODE v_doubles d_max(v_doubles x, v_doubles y) {
    v_longs more = (v_longs)(x > y);
    return (v_doubles)(((v_longs)x & more) | ((v_longs)y & ~more));
}
V_ONCE v_floats f_halves(const uint16_t *p) {
    float to[16];
    rk_halves_to_floats(p, to, 16);
    return f_load(to);
}
V_CODE v_shorts h_max(v_shorts x, v_shorts y) {
    v_shorts more = (v_shorts)(x > y);
    return (x & more) | (y & ~more);
}
V_CODE v_shorts h_min(v_shorts x, v_shorts y) {
    v_shorts less = (v_shorts)(x < y);
    return (x & less) | (y & ~less);
}
V_CODE int h_over(v_shorts x, uint16_t limit) {
    v_longs over = (v_longs)(x > limit);
    return (over[0] | over[1] | over[2] | over[3] | over[4] | over[5] | over[6] | over[7]) != 0;
}
V_CODE v_doubles d_plus(v_doubles x, v_doubles one, v_doubles y) { (void)one; return x + y; }
V_CODE v_doubles d_minus(v_doubles x, v_doubles one, v_doubles y) { (void)one; return x - y; }
#endif

#else   /* a compiler without vectors of its own */

#define V_EACH(type, count, expression) \
    { type r; int k; for (k = 0; k < count; k++) r.at[k] = (expression); return r; }

typedef struct { double at[8]; } v_doubles;
typedef struct { float at[16]; } v_floats;
typedef struct { uint16_t at[32]; } v_shorts;

V_CODE v_doubles d_load(const double *p) { v_doubles v; memcpy(&v, p, 64); return v; }
V_CODE v_floats f_load(const float *p) { v_floats v; memcpy(&v, p, 64); return v; }
V_CODE v_shorts h_load(const uint16_t *p) { v_shorts v; memcpy(&v, p, 64); return v; }
V_CODE void d_store(double *p, v_doubles v) { memcpy(p, &v, 64); }
V_CODE void f_store(float *p, v_floats v) { memcpy(p, &v, 64); }
V_CODE v_doubles d_floats(const float *p) V_EACH(v_doubles, 8, (double)p[k])
V_CODE v_doubles d_all(double x) V_EACH(v_doubles, 8, x)
V_CODE v_floats f_all(float x) V_EACH(v_floats, 16, x)
V_CODE v_doubles d_add(v_doubles x, v_doubles y) V_EACH(v_doubles, 8, x.at[k] + y.at[k])
V_CODE v_doubles d_or(v_doubles x, v_doubles y)
    V_EACH(v_doubles, 8, rk_double(rk_bits64(x.at[k]) | rk_bits64(y.at[k])))
V_CODE v_doubles d_xor(v_doubles x, v_doubles y)
    V_EACH(v_doubles, 8, rk_double(rk_bits64(x.at[k]) ^ rk_bits64(y.at[k])))
V_CODE v_doubles d_sub(v_doubles x, v_doubles y) V_EACH(v_doubles, 8, x.at[k] - y.at[k])
V_CODE v_doubles d_mul(v_doubles x, v_doubles y) V_EACH(v_doubles, 8, x.at[k] * y.at[k])
V_CODE v_floats f_or(v_floats x, v_floats y)
    V_EACH(v_floats, 16, rk_float(rk_bits32(x.at[k]) | rk_bits32(y.at[k])))
V_CODE v_floats f_xor(v_floats x, v_floats y)
    V_EACH(v_floats, 16, rk_float(rk_bits32(x.at[k]) ^ rk_bits32(y.at[k])))
V_CODE v_floats f_add(v_floats x, v_floats y) V_EACH(v_floats, 16, x.at[k] + y.at[k])
V_CODE v_floats f_abs(v_floats x)
    V_EACH(v_floats, 16, rk_float(rk_bits32(x.at[k]) & 0x7fffffffu))
V_CODE v_doubles d_abs(v_doubles x)
    V_EACH(v_doubles, 8, rk_double(rk_bits64(x.at[k]) & 0x7fffffffffffffffull))
typedef struct { uint32_t at[16]; } v_words;
V_CODE v_doubles d_total(v_doubles s, v_doubles rest)
    V_EACH(v_doubles, 8, rest.at[k] == 0 ? s.at[k] : s.at[k] + rest.at[k])
V_CODE v_words w_least(v_words least, v_floats x)
    V_EACH(v_words, 16, (rk_bits32(x.at[k]) & 0x7fffffffu) - 1 < least.at[k]
                            ? (rk_bits32(x.at[k]) & 0x7fffffffu) - 1 : least.at[k])
V_CODE v_words w_most(v_words most, v_floats x)
    V_EACH(v_words, 16, (rk_bits32(x.at[k]) & 0x7fffffffu) > most.at[k]
                            ? (rk_bits32(x.at[k]) & 0x7fffffffu) : most.at[k])
V_CODE v_words w_not(v_words x) V_EACH(v_words, 16, ~x.at[k])
V_CODE v_floats f_doubles(v_doubles low, v_doubles high)
    V_EACH(v_floats, 16, (float)(k < 8 ? low.at[k & 7] : high.at[k & 7]))
V_CODE v_words w_all(uint32_t x) V_EACH(v_words, 16, x)
V_CODE v_words w_load(const uint32_t *p) { v_words v; memcpy(&v, p, 64); return v; }
V_CODE void w_store(uint32_t *p, v_words v) { memcpy(p, &v, 64); }
V_CODE v_floats f_brains(const uint16_t *p) V_EACH(v_floats, 16, rk_brain_to_float(p[k]))
V_CODE v_doubles d_from(v_doubles x, int first) V_EACH(v_doubles, 8, k < first ? -0.0 : x.at[k])
V_CODE v_floats f_from(v_floats x, int first) V_EACH(v_floats, 16, k < first ? -0.0f : x.at[k])
V_CODE v_shorts h_from(v_shorts x, int first) V_EACH(v_shorts, 32, k < first ? 0x8000 : x.at[k])
V_CODE v_doubles d_every(v_doubles x, int period, double other)
    V_EACH(v_doubles, 8, k % period ? other : x.at[k])
V_CODE v_floats f_every(v_floats x, int period) V_EACH(v_floats, 16, k % period ? 0 : x.at[k])
V_CODE v_floats f_even_brains(v_shorts v) V_EACH(v_floats, 16, rk_brain_to_float(v.at[2 * k]))
V_CODE v_floats f_odd_brains(v_shorts v)
    V_EACH(v_floats, 16, rk_brain_to_float(v.at[2 * k + 1]))
V_CODE v_doubles d_low(v_floats v) V_EACH(v_doubles, 8, (double)v.at[k])
V_CODE v_doubles d_high(v_floats v) V_EACH(v_doubles, 8, (double)v.at[k + 8])
V_CODE v_floats f_max(v_floats x, v_floats y)
    V_EACH(v_floats, 16, x.at[k] > y.at[k] ? x.at[k] : y.at[k])
V_CODE v_doubles d_max(v_doubles x, v_doubles y)
    V_EACH(v_doubles, 8, x.at[k] > y.at[k] ? x.at[k] : y.at[k])
V_CODE v_floats f_halves(const uint16_t *p) V_EACH(v_floats, 16, rk_half_to_float(p[k]))
V_CODE v_shorts h_all(uint16_t x) V_EACH(v_shorts, 32, x)
V_CODE v_shorts h_twice(v_shorts v) V_EACH(v_shorts, 32, (uint16_t)(2 * v.at[k]))
V_CODE v_shorts h_less(v_shorts v) V_EACH(v_shorts, 32, (uint16_t)(v.at[k] - 1))
V_CODE v_shorts h_max(v_shorts x, v_shorts y)
    V_EACH(v_shorts, 32, x.at[k] > y.at[k] ? x.at[k] : y.at[k])
V_CODE v_shorts h_min(v_shorts x, v_shorts y)
    V_EACH(v_shorts, 32, x.at[k] < y.at[k] ? x.at[k] : y.at[k])
V_CODE v_shorts h_sub(v_shorts x, v_shorts y)
    V_EACH(v_shorts, 32, (uint16_t)(x.at[k] - y.at[k]))
V_CODE v_shorts h_down(v_shorts x, int bits) V_EACH(v_shorts, 32, (uint16_t)(x.at[k] >> bits))
V_CODE v_shorts h_more(v_shorts v) V_EACH(v_shorts, 32, (uint16_t)(v.at[k] + 1))
V_CODE int h_over(v_shorts x, uint16_t limit) {
    int k, over = 0;
    for (k = 0; k < 32; k++) over |= x.at[k] > limit;
    return over;
}
V_CODE v_doubles d_plus(v_doubles x, v_doubles one, v_doubles y) { (void)one; return d_add(x, y); }
V_CODE v_doubles d_minus(v_doubles x, v_doubles one, v_doubles y) { (void)one; return d_sub(x, y); }

#endif

#endif
