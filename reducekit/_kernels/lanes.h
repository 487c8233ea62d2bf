/* Sums whose lanes stay in registers: the loops over the vectors of vectors.h. */
#ifndef RK_LANES_H
#define RK_LANES_H

#include "vectors.h"

/* Lanes become one: halves onto each other, so that every level adds in the same order. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && defined(V_NATIVE)
#define V_SHUFFLE
#endif
#endif
#ifdef V_SHUFFLE
V_CODE double d_sum(v_doubles v) {
    typedef double v_four __attribute__((vector_size(32)));
    typedef double v_two __attribute__((vector_size(16)));
    v_four x = __builtin_shufflevector(v, v, 0, 1, 2, 3)
        + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    v_two y = __builtin_shufflevector(x, x, 0, 1) + __builtin_shufflevector(x, x, 2, 3);
    return y[0] + y[1];
}
#else
V_CODE double d_sum(v_doubles v) {
    double x[8];
    d_store(x, v);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}
#endif
V_CODE float f_top(v_floats v) {      /* of numbers that are not negative */
    uint32_t x[16], top = 0;
    int k;
    memcpy(x, &v, 64);
    for (k = 0; k < 16; k++) top = x[k] > top ? x[k] : top;
    return rk_float(top);
}
V_CODE double d_top(v_doubles v) {
    uint64_t x[8], top = 0;
    int k;
    memcpy(x, &v, 64);
    for (k = 0; k < 8; k++) top = x[k] > top ? x[k] : top;
    return rk_double(top);
}

V_CODE uint64_t d_any(v_doubles v) {      /* every bit that is set in some element */
    uint64_t x[8], any = 0;
    int k;
    memcpy(x, &v, 64);
    for (k = 0; k < 8; k++) any |= x[k];
    return any;
}

/* The kernels below take `count` runs of `size` elements, at most RK_GROUP runs, each `stride`
   bytes behind the one before; memory is asked for `ahead` bytes before it is read. Each leaves
   the sums of a few lanes, and the lanes of all runs
   are then folded together, neighbour onto neighbour: one by one, folding took longer than
   adding up 256 elements.

   Of a strided run only every element at a multiple of `period` (1, 2, 4 or 8) counts: the
   others go into lanes of their own, which are forgotten. `size` reaches to the last that counts.

   What is left behind the last full block of a run is met by a block that ends with the run,
   of which the elements that were met before are made neutral. A run shorter than a block
   goes through a copy. */
#define RK_GROUP 16
/* `count` elements and, behind them, as many neutral ones as fill the array. */
#define RK_FILL(copy, from, count, neutral) do { \
        size_t k_; \
        for (k_ = 0; k_ < sizeof(copy) / sizeof(*(copy)); k_++) (copy)[k_] = (neutral); \
        memcpy(copy, from, (size_t)(count) * sizeof(*(copy))); \
    } while (0)

V_ONCE void rk_fold_doubles(const double *lanes, ptrdiff_t count, double *sums) {
    double four[RK_GROUP * 4], two[RK_GROUP * 2];
    ptrdiff_t i;
    if (count == 1) {
        *sums = d_sum(d_load(lanes));
        return;
    }
    for (i = 0; i < count * 4; i++) four[i] = lanes[2 * i] + lanes[2 * i + 1];
    for (i = 0; i < count * 2; i++) two[i] = four[2 * i] + four[2 * i + 1];
    for (i = 0; i < count; i++) sums[i] = two[2 * i] + two[2 * i + 1];
}
/* Likewise pairs: the error of each addition goes to the rests. */
V_ONCE void rk_halve_pairs(const double *s, const double *r, ptrdiff_t count, double *to,
                           double *rest) {
    ptrdiff_t i;
    for (i = 0; i < count; i++) {
        double x = s[2 * i], y = s[2 * i + 1], t = x + y, z = t - x;
        rest[i] = ((x - (t - z)) + (y - z)) + (r[2 * i] + r[2 * i + 1]);
        to[i] = t;
    }
}

/* ---------------------------------------------------------------- float64

   x into the pair (s, r), without error: half of the six operations are given to the
   multiply units (bits.h says why). */
#define RK_ENTER(s, r, x) do { \
        v_doubles x_ = (x), t_ = d_add(s, x_), z_ = d_minus(t_, one, s); \
        v_doubles e_ = d_sub(s, d_minus(t_, one, z_)); \
        r = d_plus(r, one, d_plus(e_, one, d_minus(x_, one, z_))); \
        s = t_; \
    } while (0)

/* Into a sum of which it is known that it stays between 2^k and 2^(k+1), where an addition loses
   what x has below the last bit of the sum: no more than five operations find out how much.
   `moved` gathers which bits of the sum were ever other than those of its beginning. */
#define RK_ENTER_KNOWN(s, r, x) do { \
        v_doubles x_ = (x), t_ = d_add(s, x_); \
        r = d_plus(r, one, d_sub(x_, d_minus(t_, one, s))); \
        moved = d_or(moved, d_xor(t_, base)); \
        s = t_; \
    } while (0)
#define RK_KNOWN 4096
/* At most RK_KNOWN elements, a multiple of 32, into pairs of eight lanes. 0 where the sums of
   the lanes do not stay in their range, and the pairs are then as they were.

   The range is 2^12 times as wide as the largest of the first 32 elements, which leaves room for
   all 128 of a lane to be eight times as large. That is what bounds the error: the rests of
   a lane are less than 2^(7+12-53) times that element, and what their additions lose in the
   block at most 2^-75 times. */
V_LONG int rk_known(const double *x, ptrdiff_t size, ptrdiff_t ahead, int period, v_doubles *sum,
                    v_doubles *rest) {
    v_doubles one = d_all(rk_one), zero = d_all(0), moved = zero, base, s[4], r[4];
    double top;
    uint64_t bits, odd;
    ptrdiff_t i;
    int k;
    top = d_top(d_every(d_max(d_max(d_abs(d_load(x)), d_abs(d_load(x + 8))),
                              d_max(d_abs(d_load(x + 16)), d_abs(d_load(x + 24)))), period, 0));
    bits = rk_bits64(top) >> 52;
    if (bits < 64 || bits > 2000) return 0;         /* zeros, subnormals; overflow, NaN */
    base = d_all(rk_double(((bits + 12) << 52) | 0x0008000000000000ull));
    for (k = 0; k < 4; k++) { s[k] = base; r[k] = zero; }
    for (i = 0; i < size; i += 32)
        for (k = 0; k < 4; k++) {
            RK_PREFETCH((const char *)(x + i + k * 8) + ahead);
            RK_ENTER_KNOWN(s[k], r[k], d_load(x + i + k * 8));
        }
    odd = d_any(d_every(moved, period, 0));
    if (odd >> 52) return 0;
    for (k = 0; k < 4; k++) {
        RK_ENTER(*sum, *rest, d_sub(s[k], base));
        *rest = d_add(*rest, r[k]);
    }
    return 1;
}

/* A pair for each run; with `peaks`, also the largest magnitude of all (an element that is NaN
   leaves none, but shows in its sum). */
V_LONG void rk_double_runs(const char *data, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t ahead,
                           ptrdiff_t size, int period, double *sums, double *rests, double *peak,
                           const int peaks) {
    v_doubles s, t, r, q, p = d_all(0), o = p, v, w, one = d_all(rk_one);
    double lanes[RK_GROUP * 8], lost[RK_GROUP * 8], two[RK_GROUP * 4], more[RK_GROUP * 4], copy[16];
    ptrdiff_t i, run, block;
    for (run = 0; run < count; run++) {
        const double *x = (const double *)(data + run * stride);
        ptrdiff_t length = size;
        if (size < 16) {
            RK_FILL(copy, x, size, -0.0);
            x = copy;
            length = 16;
        }
        s = t = d_all(-0.0);
        r = q = d_all(0);
        for (i = 0; i + 16 <= length;) {
            block = length - i < RK_KNOWN ? (length - i) / 32 * 32 : RK_KNOWN;
            /* Of fewer, finding the range takes longer than it saves (256: 66 and 81 GB/s). */
            if (block >= 512 && rk_known(x + i, block, ahead, period, &s, &r)) {
                if (peaks)
                    for (; block; block -= 16, i += 16) {
                        p = d_max(d_abs(d_load(x + i)), p);
                        o = d_max(d_abs(d_load(x + i + 8)), o);
                    }
                i += block;
                continue;
            }
            for (block = block > 16 ? block : 16; block; block -= 16, i += 16) {
                RK_PREFETCH((const char *)(x + i) + ahead);
                RK_PREFETCH((const char *)(x + i) + ahead + 64);
                v = d_load(x + i);
                w = d_load(x + i + 8);
                RK_ENTER(s, r, v);
                RK_ENTER(t, q, w);
                if (peaks) { p = d_max(d_abs(v), p); o = d_max(d_abs(w), o); }
            }
        }
        if (i < length && period > 1) {
            /* A block that ended with the run would not begin with an element that counts. */
            RK_FILL(copy, x + i, length - i, -0.0);
            RK_ENTER(s, r, d_load(copy));
            RK_ENTER(t, q, d_load(copy + 8));
            if (peaks) { p = d_max(d_abs(d_load(copy)), p); o = d_max(d_abs(d_load(copy + 8)), o); }
        } else if (i < length) {
            int old = (int)(16 - (length - i));
            w = d_from(d_load(x + length - 8), old > 8 ? old - 8 : 0);
            RK_ENTER(t, q, w);
            if (peaks) o = d_max(d_abs(w), o);
            if (old < 8) {
                v = d_from(d_load(x + length - 16), old);
                RK_ENTER(s, r, v);
                if (peaks) p = d_max(d_abs(v), p);
            }
        }
        r = d_add(r, q);
        RK_ENTER(s, r, t);
        if (period > 1) {
            s = d_every(s, period, -0.0);
            r = d_every(r, period, 0);
        }
        d_store(lanes + run * 8, s);
        d_store(lost + run * 8, r);
    }
    rk_halve_pairs(lanes, lost, count * 4, two, more);
    rk_halve_pairs(two, more, count * 2, lanes, lost);
    rk_halve_pairs(lanes, lost, count, sums, rests);
    if (peaks) *peak = d_top(d_every(d_max(p, o), period, 0));
}

/* Sums of a group, with rests or without, into the pairs of their outputs. */
V_ONCE void rk_enter_group(const double *sums, const double *rests, ptrdiff_t count, double *a,
                           double *b) {
    v_doubles s, r, one = d_all(rk_one);
    ptrdiff_t k = 0;
    for (; k + 8 <= count; k += 8) {
        s = d_load(a + k);
        r = d_load(b + k);
        RK_ENTER(s, r, d_load(sums + k));
        if (rests) r = d_add(r, d_load(rests + k));
        d_store(a + k, s);
        d_store(b + k, r);
    }
    for (; k < count; k++) {
        double x = sums[k], y = a[k] + x, z = y - a[k];
        b[k] += (a[k] - (y - z)) + (x - z);
        if (rests) b[k] += rests[k];
        a[k] = y;
    }
}

V_CODE uint32_t w_bottom(v_words v) {
    uint32_t x[16], bottom = 0xffffffffu;
    int k;
    w_store(x, v);
    for (k = 0; k < 16; k++) bottom = x[k] < bottom ? x[k] : bottom;
    return bottom;
}

/* ---------------------------------------------------------------- float32, in double

   Runs of at most 4096, and of all the largest magnitude and, with `leasts`, the smallest.
   Additions are given to the multiply units, for the others convert (in cache 109 GB/s, now
   125). */
V_CODE void rk_float_runs_as(const char *data, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t ahead,
                             ptrdiff_t size, int period, double *sums, float *peak,
                             uint32_t *least, const int leasts) {
    v_doubles a, b, c, d, one = d_all(rk_one);
    v_floats p = f_all(0), q = p, v, w;
    v_words l = w_all(0xffffffffu);
    double lanes[RK_GROUP * 8];
    float copy[32];
    ptrdiff_t i, run;
    for (run = 0; run < count; run++) {
        const float *x = (const float *)(data + run * stride);
        ptrdiff_t length = size;
        if (size < 32) {
            RK_FILL(copy, x, size, -0.0f);
            x = copy;
            length = 32;
        }
        a = b = c = d = d_all(-0.0);
        for (i = 0; i + 32 <= length; i += 32) {
            const float *at = x + i;
            RK_PREFETCH((const char *)at + ahead);
            RK_PREFETCH((const char *)at + ahead + 64);
            a = d_plus(a, one, d_floats(at)); b = d_plus(b, one, d_floats(at + 8));
            c = d_plus(c, one, d_floats(at + 16)); d = d_plus(d, one, d_floats(at + 24));
            p = f_max(f_abs(f_load(at)), p); q = f_max(f_abs(f_load(at + 16)), q);
            if (leasts) { l = w_least(l, f_load(at)); l = w_least(l, f_load(at + 16)); }
        }
        if (i < length && period > 1) {
            RK_FILL(copy, x + i, length - i, -0.0f);
            a = d_add(a, d_floats(copy)); b = d_add(b, d_floats(copy + 8));
            c = d_add(c, d_floats(copy + 16)); d = d_add(d, d_floats(copy + 24));
            p = f_max(f_abs(f_load(copy)), p); q = f_max(f_abs(f_load(copy + 16)), q);
            if (leasts) { l = w_least(l, f_load(copy)); l = w_least(l, f_load(copy + 16)); }
        } else if (i < length) {
            int old = (int)(32 - (length - i));
            w = f_from(f_load(x + length - 16), old > 16 ? old - 16 : 0);
            c = d_add(c, d_low(w)); d = d_add(d, d_high(w));
            q = f_max(f_abs(w), q);
            if (leasts) l = w_least(l, w);
            if (old < 16) {
                v = f_from(f_load(x + length - 32), old);
                a = d_add(a, d_low(v)); b = d_add(b, d_high(v));
                p = f_max(f_abs(v), p);
                if (leasts) l = w_least(l, v);
            }
        }
        a = d_add(d_add(a, c), d_add(b, d));
        d_store(lanes + run * 8, period > 1 ? d_every(a, period, -0.0) : a);
    }
    rk_fold_doubles(lanes, count, sums);
    *peak = f_top(f_every(f_max(p, q), period));
    if (leasts) *least = w_bottom(l);
}

V_ONCE void rk_float_runs(const char *data, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t ahead,
                          ptrdiff_t size, int period, double *sums, float *peak) {
    rk_float_runs_as(data, count, stride, ahead, size, period, sums, peak, NULL, 0);
}
V_ONCE void rk_float_spans(const char *data, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t ahead,
                           ptrdiff_t size, int period, double *sums, float *peak,
                           uint32_t *least) {
    rk_float_runs_as(data, count, stride, ahead, size, period, sums, peak, least, 1);
}

/* ---------------------------------------------------------------- 16 bits

   Rows of 32 elements, which of a run are its parts of 64 bytes. Eight, or four, are added in
   float32 first, where that is exact: the sum is a multiple of the last bit of the smallest
   element, which is 10 (of bfloat16, 7) bits below its first, and less than 2^4 or 2^3 times
   the first bit of the largest; so the two may be 10 or 11 (13 or 14) powers of two apart. Of
   normal numbers, in float16, one block in five is not exact for eight rows, and one half of such
   a block in five not for four: these go to double one by one.

   `brain` is a constant, 0 for float16 and 1 for bfloat16, whose exponents also have to stay clear
   of an overflow. Double holds sums of float16 exactly, but not those of bfloat16: of these the
   magnitudes, doubled, are kept, the largest and, less one, the smallest but zero. */
#define RK_LOW(p) (brain ? f_even_brains(h_load((const uint16_t *)(p))) \
                         : f_halves((const uint16_t *)(p)))
#define RK_HIGH(p) (brain ? f_odd_brains(h_load((const uint16_t *)(p))) \
                          : f_halves((const uint16_t *)(p) + 16))
V_LONG int rk_wide(v_shorts most, v_shorts least, const int rows, const int brain) {
    int bits = brain ? 8 : 11, steps = (brain ? 14 : 11) - (rows == 8);
    return h_over(h_sub(h_down(most, bits), h_down(h_more(least), bits)), (uint16_t)steps)
        || (brain && h_over(most, 251 << 8));
}
V_LONG void rk_to_double(v_floats low, v_floats high, v_doubles *a, v_doubles *b, v_doubles *c,
                         v_doubles *d) {
    *a = d_add(*a, d_low(low)); *b = d_add(*b, d_high(low));
    *c = d_add(*c, d_low(high)); *d = d_add(*d, d_high(high));
}
#define RK_TO_DOUBLE(low, high) rk_to_double(low, high, &a, &b, &c, &d)
#define RK_SPAN(v, most, least) do { \
        v_shorts m_ = h_twice(v); \
        most = h_max(most, m_); \
        least = h_min(least, h_less(m_)); \
    } while (0)
#define RK_KEEP_SPAN(most, least) do { \
        *kept_most = h_max(*kept_most, most); \
        *kept_least = h_min(*kept_least, least); \
    } while (0)
/* Each row for itself into the four lanes of `to`. */
V_LONG void rk_each(const char *x, ptrdiff_t count, ptrdiff_t stride, v_doubles *to,
                    const int brain) {
    v_doubles a = to[0], b = to[1], c = to[2], d = to[3];
    for (; count; count--, x += stride) RK_TO_DOUBLE(RK_LOW(x), RK_HIGH(x));
    to[0] = a; to[1] = b; to[2] = c; to[3] = d;
}
#define RK_EACH(first, count, stride) do { \
        v_doubles to_[4] = {a, b, c, d}; \
        rk_each(first, count, stride, to_, brain); \
        a = to_[0]; b = to_[1]; c = to_[2]; d = to_[3]; \
    } while (0)
/* Four rows in float32, and what they span. */
V_LONG void rk_four(const char *x, ptrdiff_t stride, ptrdiff_t ahead, v_floats *low,
                    v_floats *high, v_shorts *most, v_shorts *least, const int brain) {
    v_floats l = RK_LOW(x), h = RK_HIGH(x);
    v_shorts m = h_twice(h_load((const uint16_t *)x)), n = h_less(m);
    int i;
    RK_PREFETCH(x + ahead);
    for (i = 1; i < 4; i++) {
        x += stride;
        RK_PREFETCH(x + ahead);
        RK_SPAN(h_load((const uint16_t *)x), m, n);
        l = f_add(l, RK_LOW(x));
        h = f_add(h, RK_HIGH(x));
    }
    *low = l; *high = h; *most = m; *least = n;
}
/* As `rk_each`, by fours and eights where that is exact, and into the span that is kept. */
V_LONG void rk_short_float_blocks(const char *x, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t ahead,
                      v_doubles *to, v_shorts *kept_most, v_shorts *kept_least,
                      const int brain) {
    v_doubles a = to[0], b = to[1], c = to[2], d = to[3];
    v_floats low, high, lower, higher;
    v_shorts most, least, more, less, top, bottom;
    for (; count >= 8; count -= 8, x += 8 * stride) {
        rk_four(x, stride, ahead, &low, &high, &most, &least, brain);
        rk_four(x + 4 * stride, stride, ahead, &lower, &higher, &more, &less, brain);
        top = h_max(most, more);
        bottom = h_min(least, less);
        if (brain) RK_KEEP_SPAN(top, bottom);
        if (!rk_wide(top, bottom, 8, brain)) {
            RK_TO_DOUBLE(f_add(low, lower), f_add(high, higher));
            continue;
        }
        if (!rk_wide(most, least, 4, brain)) RK_TO_DOUBLE(low, high);
        else RK_EACH(x, 4, stride);
        if (!rk_wide(more, less, 4, brain)) RK_TO_DOUBLE(lower, higher);
        else RK_EACH(x + 4 * stride, 4, stride);
    }
    if (count >= 4) {
        rk_four(x, stride, ahead, &low, &high, &most, &least, brain);
        if (brain) RK_KEEP_SPAN(most, least);
        if (!rk_wide(most, least, 4, brain)) RK_TO_DOUBLE(low, high);
        else RK_EACH(x, 4, stride);
        count -= 4;
        x += 4 * stride;
    }
    for (; count; count--, x += stride) {
        RK_TO_DOUBLE(RK_LOW(x), RK_HIGH(x));
        if (brain) RK_SPAN(h_load((const uint16_t *)x), *kept_most, *kept_least);
    }
    to[0] = a; to[1] = b; to[2] = c; to[3] = d;
}

/* Runs of at most 4096; the span is that of all of them. */
V_CODE void rk_short_float_runs(const char *data, ptrdiff_t count, ptrdiff_t stride,
                                ptrdiff_t ahead, ptrdiff_t size, int period, double *sums,
                                uint16_t *span, const int brain) {
    v_doubles a, b, c, d, to[4];
    v_shorts kept_most = h_all(0), kept_least = h_all(0xffff);
    double lanes[RK_GROUP * 8];
    uint16_t copy[32], x_most[32], x_least[32];
    ptrdiff_t run, rest = size % 32;
    int k;
    for (run = 0; run < count; run++) {
        const uint16_t *x = (const uint16_t *)(data + run * stride);
        to[0] = to[1] = to[2] = to[3] = d_all(-0.0);
        rk_short_float_blocks((const char *)x, size / 32, 64, ahead, to, &kept_most, &kept_least, brain);
        a = to[0]; b = to[1]; c = to[2]; d = to[3];
        if (rest && (period > 1 || size < 32)) {
            RK_FILL(copy, x + (size - rest), rest, 0x8000);
            RK_TO_DOUBLE(RK_LOW(copy), RK_HIGH(copy));
            if (brain) RK_SPAN(h_load(copy), kept_most, kept_least);
        } else if (rest) {
            v_shorts v = h_from(h_load(x + size - 32), (int)(32 - rest));
            memcpy(copy, &v, 64);
            RK_TO_DOUBLE(RK_LOW(copy), RK_HIGH(copy));
            if (brain) RK_SPAN(v, kept_most, kept_least);
        }
        if (period == 1) a = d_add(d_add(a, c), d_add(b, d));
        else if (brain) a = d_every(d_add(a, b), period / 2, -0.0);     /* c and d: odd places */
        else a = d_every(d_add(d_add(a, c), d_add(b, d)), period, -0.0);
        d_store(lanes + run * 8, a);
    }
    rk_fold_doubles(lanes, count, sums);
    if (!brain) return;
    memcpy(x_most, &kept_most, 64);
    memcpy(x_least, &kept_least, 64);
    span[0] = 0;
    span[1] = 0xffff;
    for (k = 0; k < 32; k += period) {
        span[0] = x_most[k] > span[0] ? x_most[k] : span[0];
        span[1] = x_least[k] < span[1] ? x_least[k] : span[1];
    }
}

/* Pairs a + b, with an error of at most `factor` times `peaks`, to float32: how many of the first are
   finite and certain, so that both ends of what the sum may be round to the same. All, or up to 16
   at a time. */
V_CODE ptrdiff_t rk_certain_floats(const double *a, const double *b, const float *peaks,
                                   ptrdiff_t count, double factor, float *out) {
    v_doubles f = d_all(factor), u = d_all(ldexp(4.0, -53)), odd, x, y, s, t, e;
    v_doubles low[2], high[2];
    v_floats to, other;
    double c[16], d[16];
    float p[16], last[16];
    v_shorts any;
    ptrdiff_t i;
    int k;
    for (i = 0; i < count; i += 16) {
        const double *at = a + i, *rest = b + i;
        const float *peak = peaks + i;
        if (count - i < 16) {
            RK_FILL(c, at, count - i, 0.0);
            RK_FILL(d, rest, count - i, 0.0);
            RK_FILL(p, peak, count - i, 0.0f);
            at = c;
            rest = d;
            peak = p;
        }
        odd = d_all(0);
        for (k = 0; k < 2; k++) {
            x = d_load(at + 8 * k);
            y = d_load(rest + 8 * k);
            s = d_total(x, y);
            t = d_sub(y, d_sub(s, x));
            e = d_add(d_mul(f, d_floats(peak + 8 * k)), d_mul(u, d_abs(s)));
            low[k] = d_total(s, d_sub(t, e));
            high[k] = d_total(s, d_add(t, e));
            odd = d_or(odd, d_sub(low[k], low[k]));       /* NaN where not finite */
        }
        to = f_doubles(low[0], low[1]);
        other = f_doubles(high[0], high[1]);
        to = f_xor(to, other);
        memcpy(&x, &to, 64);
        odd = d_or(odd, x);
        memcpy(&any, &odd, 64);
        if (h_over(any, 0)) return i;
        if (count - i < 16) {
            f_store(last, other);
            memcpy(out + i, last, (size_t)(count - i) * 4);
        } else {
            f_store(out + i, other);
        }
    }
    return count;
}

/* ---------------------------------------------------------------- rows

   `rows` rows of `width` columns, each row `stride` bytes behind the one before, column by
   column, strip by strip. Some rows (8 to 32: what was fastest) are read together, so that the
   sums so far are loaded and stored once for all of them. The processor's own prefetch loses
   track of so many rows, so each is asked for RK_ACROSS bytes ahead. Rows at multiples of a page
   share the same few lines of the first cache: of these, eight at most, and at quarters of a page
   sixteen. Where the array is `far`, in no cache, rows are read in full, so many together as have
   RK_FAR / 2 bytes, while those RK_FAR bytes ahead are asked for: 36 MB of float32 at 46 to
   54 GB/s, and along many rows at 19 to 38; but in cache 55, and along many rows 73. Rows one
   behind the other that come from memory are one long run (float32 of 400 MB: 40 GB/s one by one,
   32 two by two).

   Wide rows that come from memory come block by block, with what is read `after` a block: always as
   many rows at a time, which compilers write out, and the next ones are asked for all together
   (float32 of 400 MB, rows of 16 kB: 30 GB/s, 21 where the number of rows is a variable, and 24 in
   full).

   The last strip ends with the row, and shares columns with the one before. */
#define RK_ACROSS 512
#define RK_FAR_DOUBLES 4
#define RK_FAR_FLOATS 8
#define RK_TOGETHER(most, item) \
    (after ? (item) == 8 ? RK_FAR_DOUBLES : RK_FAR_FLOATS \
     : far == 2 && stride == width * (item) ? RK_FAR / 5 / (width * (item)) + 1 \
     : far ? rk_far_rows(width * (item), stride) / 2 \
         : (most) > 8 && stride % 4096 == 0 ? 8 : (most) > 16 && stride % 1024 == 0 ? 16 : (most))
/* From what is read to what is read soon: along the row, or, from its end, to the next rows. */
#define RK_ALONG \
    (after ? together * stride : far == 2 ? rk_far_bytes(stride) \
     : far ? 2 * together * stride : RK_ACROSS)
#define RK_NEXT(item) (far || after ? RK_ALONG : together * stride + RK_ACROSS - width * (item))
/* Of a strip of `size` bytes, when so many are left in the row. */
#define RK_SOON(strips, size) ((strips) * (size) > RK_ACROSS ? along : next)
#define RK_STRIP 32

/* float64: into pairs. With `peaks`, the largest magnitude of each column. In the last strip the
   first `old` columns are made neutral. `masked` and the like are constants where they are
   passed: of a variable, a compiler makes slower loops. */
#define RK_ONLY(v, first) (masked ? d_from(v, (first) > 0 ? (int)(first) : 0) : (v))

V_CODE void rk_double_strip_as(const char *data, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t ahead,
                               double *sums, double *rests, double *peak, const int peaks,
                               const int masked, ptrdiff_t old, const int asks) {
    v_doubles s = d_load(sums), t = d_load(sums + 8), r = d_load(rests), q = d_load(rests + 8);
    v_doubles p = d_all(0), o = p, one = d_all(rk_one), v, w;
    if (peaks) { p = d_load(peak); o = d_load(peak + 8); }
    for (; rows; rows--, data += stride) {
        if (asks) {
            RK_PREFETCH(data + ahead);
            RK_PREFETCH(data + ahead + 64);
        }
        v = RK_ONLY(d_load((const double *)data), old);
        w = RK_ONLY(d_load((const double *)data + 8), old - 8);
        RK_ENTER(s, r, v);
        RK_ENTER(t, q, w);
        if (peaks) { p = d_max(d_abs(v), p); o = d_max(d_abs(w), o); }
    }
    d_store(sums, s); d_store(sums + 8, t); d_store(rests, r); d_store(rests + 8, q);
    if (peaks) { d_store(peak, p); d_store(peak + 8, o); }
}
V_ONCE void rk_double_strips(const char *data, ptrdiff_t strips, ptrdiff_t stride, ptrdiff_t rows,
                             ptrdiff_t along, ptrdiff_t next, double *sums, double *rests) {
    for (; strips; strips--, data += 128, sums += 16, rests += 16)
        rk_double_strip_as(data, stride, rows, RK_SOON(strips, 128), sums, rests, NULL, 0, 0, 0, 1);
}
/* Ask for what lies `ahead` of a strip of 128 bytes, before it is read. */
V_CODE void rk_ask(const char *data, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t ahead) {
    for (data += ahead; rows; rows--, data += stride) {
        RK_PREFETCH(data);
        RK_PREFETCH(data + 64);
    }
}
V_ONCE void rk_double_far(const char *data, ptrdiff_t strips, ptrdiff_t stride, ptrdiff_t ahead,
                          double *sums, double *rests) {
    for (; strips; strips--, data += 128, sums += 16, rests += 16) {
        rk_ask(data, stride, RK_FAR_DOUBLES, ahead);
        rk_double_strip_as(data, stride, RK_FAR_DOUBLES, 0, sums, rests, NULL, 0, 0, 0, 0);
    }
}
V_ONCE void rk_double_peaks(const char *data, ptrdiff_t strips, ptrdiff_t stride, ptrdiff_t rows,
                            ptrdiff_t along, ptrdiff_t next, double *sums, double *rests,
                            double *peak) {
    for (; strips; strips--, data += 128, sums += 16, rests += 16, peak += 16)
        rk_double_strip_as(data, stride, rows, RK_SOON(strips, 128), sums, rests, peak, 1, 0, 0, 1);
}
V_ONCE void rk_double_rest(const char *data, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t ahead,
                           double *sums, double *rests, double *peak, const int peaks,
                           ptrdiff_t old) {
    if (peaks) rk_double_strip_as(data, stride, rows, ahead, sums, rests, peak, 1, 1, old, 1);
    else rk_double_strip_as(data, stride, rows, ahead, sums, rests, NULL, 0, 1, old, 1);
}
V_CODE void rk_double_rows(const char *data, ptrdiff_t width, ptrdiff_t rows, ptrdiff_t stride,
                           int far, const char *after, double *sums, double *rests, double *peak,
                           const int peaks) {
    double copy[16 * 16], a[16], b[16], c[16];
    ptrdiff_t k, n, whole = width / 16, together = RK_TOGETHER(16, 8);
    ptrdiff_t along = RK_ALONG, next = RK_NEXT(8);
    for (; rows > 0; rows -= together, data += together * stride) {
        n = rows < together ? rows : together;
        if (after && rows <= together) next = after - data;
        if (after && n == RK_FAR_DOUBLES)
            rk_double_far(data, whole, stride, next, sums, rests);
        else if (peaks) rk_double_peaks(data, whole, stride, n, along, next, sums, rests, peak);
        else rk_double_strips(data, whole, stride, n, along, next, sums, rests);
        if (whole * 16 == width) continue;
        if (whole) {
            k = width - 16;
            rk_double_rest(data + k * 8, stride, n, next, sums + k, rests + k, peak + k, peaks,
                           whole * 16 - k);
            continue;
        }
        memset(copy, 0, (size_t)n * 128);
        for (k = 0; k < n; k++) memcpy(copy + k * 16, data + k * stride, (size_t)width * 8);
        memset(a, 0, sizeof a); memset(b, 0, sizeof b); memset(c, 0, sizeof c);
        memcpy(a, sums, (size_t)width * 8);
        memcpy(b, rests, (size_t)width * 8);
        if (peaks) memcpy(c, peak, (size_t)width * 8);
        rk_double_rest((const char *)copy, 128, n, 0, a, b, c, peaks, 0);
        memcpy(sums, a, (size_t)width * 8);
        memcpy(rests, b, (size_t)width * 8);
        if (peaks) memcpy(peak, c, (size_t)width * 8);
    }
}

/* The narrow types: at most 128 rows, whose sums, in double, are left in `sums`: room for
   `width` and a strip. The last strip has sums of its own, of which the new ones are kept.
   RK_STRIPS calls work(rows, how many strips, how many rows, their stride, what lies ahead along
   the row and from its end, first column, place of its sums). */
#define RK_STRIPS(type, most, work) do { \
        type copy[(most) * RK_STRIP]; \
        const ptrdiff_t item = sizeof(type); \
        ptrdiff_t j, k, n, whole = width / RK_STRIP * RK_STRIP; \
        ptrdiff_t together = RK_TOGETHER(most, item); \
        ptrdiff_t along = RK_ALONG, next = RK_NEXT(item); \
        for (j = 0; j < whole + RK_STRIP; j++) sums[j] = -0.0; \
        for (; rows > 0; rows -= together, data += together * stride) { \
            n = rows < together ? rows : together; \
            if (after && rows <= together) next = after - data; \
            if (whole) work(data, whole / RK_STRIP, n, stride, along, next, 0, 0); \
            if (whole == width) continue; \
            if (whole) { \
                k = width - RK_STRIP; \
                work(data + k * item, 1, n, stride, next, next, k, whole); \
                continue; \
            } \
            memset(copy, 0, (size_t)(n * RK_STRIP * item)); \
            for (k = 0; k < n; k++) \
                memcpy(copy + k * RK_STRIP, data + k * stride, (size_t)width * sizeof(type)); \
            work((const char *)copy, 1, n, RK_STRIP * item, 0, 0, 0, 0); \
        } \
    } while (0)
#define RK_KEEP_NEW(sums) do { \
        ptrdiff_t whole = width / RK_STRIP * RK_STRIP; \
        if (whole && whole < width) \
            memmove(sums + whole, sums + RK_STRIP + 2 * whole - width, \
                    (size_t)(width - whole) * sizeof(*(sums))); \
    } while (0)

/* float32, with the largest magnitude of each column and, with `leasts`, the smallest. */
V_CODE void rk_float_strip_as(const char *data, ptrdiff_t rows, ptrdiff_t stride, ptrdiff_t ahead,
                              double *sums, float *peak, uint32_t *least, const int leasts,
                              const int asks) {
    v_doubles a = d_load(sums), b = d_load(sums + 8), c = d_load(sums + 16), d = d_load(sums + 24);
    v_doubles one = d_all(rk_one);
    v_floats p = f_load(peak), q = f_load(peak + 16), v, w;
    v_words l = w_all(0), m = l;
    if (leasts) { l = w_load(least); m = w_load(least + 16); }
    for (; rows; rows--, data += stride) {
        const float *x = (const float *)data;
        if (asks) {
            RK_PREFETCH(data + ahead);
            RK_PREFETCH(data + ahead + 64);
        }
        v = f_load(x);
        w = f_load(x + 16);
        a = d_plus(a, one, d_floats(x)); b = d_plus(b, one, d_floats(x + 8));
        c = d_plus(c, one, d_floats(x + 16)); d = d_plus(d, one, d_floats(x + 24));
        p = f_max(f_abs(v), p); q = f_max(f_abs(w), q);
        if (leasts) { l = w_least(l, v); m = w_least(m, w); }
    }
    d_store(sums, a); d_store(sums + 8, b); d_store(sums + 16, c); d_store(sums + 24, d);
    f_store(peak, p); f_store(peak + 16, q);
    if (leasts) { w_store(least, l); w_store(least + 16, m); }
}
V_ONCE void rk_float_strips(const char *data, ptrdiff_t strips, ptrdiff_t rows, ptrdiff_t stride,
                            ptrdiff_t along, ptrdiff_t next, double *sums, float *peak) {
    for (; strips; strips--, data += 128, sums += RK_STRIP, peak += RK_STRIP)
        rk_float_strip_as(data, rows, stride, RK_SOON(strips, 128), sums, peak, NULL, 0, 1);
}
V_ONCE void rk_float_far(const char *data, ptrdiff_t strips, ptrdiff_t stride, ptrdiff_t ahead,
                         double *sums, float *peak) {
    for (; strips; strips--, data += 128, sums += RK_STRIP, peak += RK_STRIP) {
        rk_ask(data, stride, RK_FAR_FLOATS, ahead);
        rk_float_strip_as(data, RK_FAR_FLOATS, stride, 0, sums, peak, NULL, 0, 0);
    }
}
V_ONCE void rk_float_leasts(const char *data, ptrdiff_t strips, ptrdiff_t rows, ptrdiff_t stride,
                            ptrdiff_t along, ptrdiff_t next, double *sums, float *peak,
                            uint32_t *least) {
    for (; strips; strips--, data += 128, sums += RK_STRIP, peak += RK_STRIP, least += RK_STRIP)
        rk_float_strip_as(data, rows, stride, RK_SOON(strips, 128), sums, peak, least, 1, 1);
}
V_CODE void rk_float_rows(const char *data, ptrdiff_t width, ptrdiff_t rows, ptrdiff_t stride,
                          int far, const char *after, double *sums, float *peaks,
                          uint32_t *leasts_, const int leasts) {
    /* Of rows that are no strip wide, what lies behind them may belong to another thread. */
    float p[RK_STRIP], *peak = width < RK_STRIP ? p : peaks;
    uint32_t l[RK_STRIP], *least = width < RK_STRIP ? l : leasts_;
    if (width < RK_STRIP) {
        memset(p, 0, sizeof p);
        memset(l, 0, sizeof l);
        memcpy(p, peaks, (size_t)width * 4);
        if (leasts) memcpy(l, leasts_, (size_t)width * 4);
    }
#define RK_WORK(p, strips, n, stride, along, next, column, at) do { \
        if (after && n == RK_FAR_FLOATS) \
            rk_float_far(p, strips, stride, next, sums + (at), peak + (column)); \
        else if (leasts) \
            rk_float_leasts(p, strips, n, stride, along, next, sums + (at), peak + (column), \
                            least + (column)); \
        else rk_float_strips(p, strips, n, stride, along, next, sums + (at), peak + (column)); \
    } while (0)
    RK_STRIPS(float, 32, RK_WORK);
#undef RK_WORK
    RK_KEEP_NEW(sums);
    if (width < RK_STRIP) {
        memcpy(peaks, p, (size_t)width * 4);
        if (leasts) memcpy(leasts_, l, (size_t)width * 4);
    }
}

/* 16 bits, and the span of each column; `most` and `least` have room for a strip at least. */
V_CODE void rk_short_float_strip(const char *data, ptrdiff_t rows, ptrdiff_t stride,
                                 ptrdiff_t ahead, double *sums, uint16_t *mosts,
                                 uint16_t *leasts, const int brain) {
    v_doubles to[4] = {d_load(sums), d_load(sums + 8), d_load(sums + 16), d_load(sums + 24)};
    v_shorts kept_most = h_all(0), kept_least = kept_most;
    int k;
    if (brain) { kept_most = h_load(mosts); kept_least = h_load(leasts); }
    rk_short_float_blocks(data, rows, stride, ahead, to, &kept_most, &kept_least, brain);
    for (k = 0; k < 4; k++) d_store(sums + 8 * k, to[k]);
    if (brain) { memcpy(mosts, &kept_most, 64); memcpy(leasts, &kept_least, 64); }
}
V_ONCE void rk_half_strips(const char *data, ptrdiff_t strips, ptrdiff_t rows, ptrdiff_t stride,
                           ptrdiff_t along, ptrdiff_t next, double *sums) {
    for (; strips; strips--, data += 64, sums += RK_STRIP)
        rk_short_float_strip(data, rows, stride, RK_SOON(strips, 64), sums, NULL, NULL, 0);
}
V_ONCE void rk_brain_strips(const char *data, ptrdiff_t strips, ptrdiff_t rows, ptrdiff_t stride,
                            ptrdiff_t along, ptrdiff_t next, double *sums, uint16_t *mosts,
                            uint16_t *leasts) {
    for (; strips; strips--, data += 64, sums += RK_STRIP, mosts += RK_STRIP, leasts += RK_STRIP)
        rk_short_float_strip(data, rows, stride, RK_SOON(strips, 64), sums, mosts, leasts, 1);
}
V_CODE void rk_short_float_rows(const char *data, ptrdiff_t width, ptrdiff_t rows,
                                ptrdiff_t stride, double *sums, uint16_t *mosts, uint16_t *leasts,
                                const int brain) {
    const char *const after = NULL;
    const int far = 0;       /* eight rows are added together, and eight in full were no faster */
#define RK_WORK(p, strips, n, stride, along, next, column, at) do { \
        if (brain) \
            rk_brain_strips(p, strips, n, stride, along, next, sums + (at), mosts + (column), \
                            leasts + (column)); \
        else rk_half_strips(p, strips, n, stride, along, next, sums + (at)); \
    } while (0)
    ptrdiff_t i;
    int m;
    RK_STRIPS(uint16_t, 32, RK_WORK);
#undef RK_WORK
    for (i = 0; brain && i < width; i += RK_STRIP) {
        double mixed[RK_STRIP];
        memcpy(mixed, sums + i, sizeof mixed);
        for (m = 0; m < 16; m++) {
            sums[i + 2 * m] = mixed[m];
            sums[i + 2 * m + 1] = mixed[m + 16];
        }
    }
    RK_KEEP_NEW(sums);
}

/* ---------------------------------------------------------------- a few rows

   At most 16 rows, straight to results: nothing is kept for later, and what proves the results
   is gathered for all columns together. 0 is returned where that is not enough, and for rows
   that are no strip wide; `out` then holds anything. */
#define RK_EACH_STRIP(columns, work) do { \
        ptrdiff_t j; \
        for (j = 0; j + (columns) <= width; j += (columns)) work(j); \
        if (j < width) { j = width - (columns); work(j); } \
    } while (0)

/* What is asked for waits in the first cache, where rows that begin alike in their pages share few
   lines (16 rows of 65536 columns: float32 21 GB/s asked for 4 kB ahead, 60 so; bfloat16 11, 24).
   Ten rows of 100000 columns: float64 60 GB/s asked for 4 kB ahead, 85 so. */
V_CODE ptrdiff_t rk_few_ahead(ptrdiff_t rows, ptrdiff_t stride, ptrdiff_t alike, ptrdiff_t room) {
    if (stride % 4096 == 0) return rows <= alike ? 4096 : 256;
    return rows <= 6 ? 4096 : room / rows / 64 * 64;
}
V_CODE int rk_few_doubles(const char *data, ptrdiff_t width, ptrdiff_t rows, ptrdiff_t stride,
                          double *out) {
    v_doubles one = d_all(rk_one), odd = d_all(0), s[4], r[4];
    const ptrdiff_t ahead = rk_few_ahead(rows, stride, 6, 10240);
    ptrdiff_t k;
    int i;
    if (width < 32 || (rows > 12 && stride % 4096 == 0)) return 0;
#define RK_WORK(j) do { \
        const char *at = data + (j) * 8; \
        for (i = 0; i < 4; i++) { \
            RK_PREFETCH(at + ahead + i * 64); \
            s[i] = d_load((const double *)at + i * 8); \
            r[i] = d_all(0); \
        } \
        for (k = 1; k < rows; k++) { \
            at += stride; \
            for (i = 0; i < 4; i++) { \
                RK_PREFETCH(at + ahead + i * 64); \
                RK_ENTER(s[i], r[i], d_load((const double *)at + i * 8)); \
            } \
        } \
        for (i = 0; i < 4; i++) { \
            odd = d_add(odd, d_sub(s[i], s[i]));        /* NaN where not finite */ \
            d_store(out + (j) + i * 8, d_total(s[i], r[i])); \
        } \
    } while (0)
    RK_EACH_STRIP(32, RK_WORK);
#undef RK_WORK
    return d_sum(odd) == 0;
}

/* Sums in double, of floats or of bfloat16; true if all of them are exact: multiples of the last
   bit of the least element, and less than 53 bits above it. */
V_CODE int rk_few_exact(uint32_t most, uint32_t least, int bits) {
    return most < 0x7f800000u && (most >> 23) + bits + 4 <= ((least + 1) >> 23) + 53;
}
V_CODE uint32_t w_top(v_words v) {
    uint32_t x[16], top = 0;
    int k;
    w_store(x, v);
    for (k = 0; k < 16; k++) top = x[k] > top ? x[k] : top;
    return top;
}
#define RK_FEW(load, item) do { \
        const char *at = data + (j) * (ptrdiff_t)(item); \
        a = b = d_all(-0.0); \
        for (k = 0; k < rows; k++, at += stride) { \
            RK_PREFETCH(at + ahead); \
            v = load; \
            a = d_add(a, d_low(v)); \
            b = d_add(b, d_high(v)); \
            most = w_most(most, v); \
            least = w_least(least, v); \
        } \
    } while (0)

V_CODE int rk_few_floats(const char *data, ptrdiff_t width, ptrdiff_t rows, ptrdiff_t stride,
                         float *out) {
    v_doubles a, b;
    v_words most = w_all(0), least = w_all(0xffffffffu);
    v_floats v;
    const ptrdiff_t ahead = rk_few_ahead(rows, stride, 8, 16384);
    ptrdiff_t k;
    if (width < 16) return 0;
#define RK_WORK(j) do { \
        RK_FEW(f_load((const float *)at), 4); \
        f_store(out + (j), f_doubles(a, b)); \
    } while (0)
    RK_EACH_STRIP(16, RK_WORK);
#undef RK_WORK
    return rk_few_exact(w_top(most), ~w_top(w_not(least)), 24);
}
V_CODE int rk_few_brains(const char *data, ptrdiff_t width, ptrdiff_t rows, ptrdiff_t stride,
                         double *sums) {
    v_doubles a, b;
    v_words most = w_all(0), least = w_all(0xffffffffu);
    v_floats v;
    const ptrdiff_t ahead = rk_few_ahead(rows, stride, 8, 16384);
    ptrdiff_t k;
    if (width < 16) return 0;
#define RK_WORK(j) do { \
        RK_FEW(f_brains((const uint16_t *)at), 2); \
        d_store(sums + (j), a); \
        d_store(sums + (j) + 8, b); \
    } while (0)
    RK_EACH_STRIP(16, RK_WORK);
#undef RK_WORK
    return rk_few_exact(w_top(most), ~w_top(w_not(least)), 8);
}

/* ---------------------------------------------------------------- short runs

   Eight runs of 4 to 32 elements, one behind the other, are turned into columns of eight, by
   exchanging ever larger parts of neighbours; then all eight are summed at once. */
#ifdef V_SHUFFLE
V_CODE void rk_transpose(v_doubles *v) {
    v_doubles t[8];
    int k;
    for (k = 0; k < 8; k += 2) {
        t[k] = __builtin_shufflevector(v[k], v[k + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[k + 1] = __builtin_shufflevector(v[k], v[k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (k = 0; k < 8; k += 4) {
        v[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        v[k + 1] = __builtin_shufflevector(t[k + 1], t[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        v[k + 2] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        v[k + 3] = __builtin_shufflevector(t[k + 1], t[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (k = 0; k < 4; k++) {
        t[k] = __builtin_shufflevector(v[k], v[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        t[k + 4] = __builtin_shufflevector(v[k], v[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (k = 0; k < 8; k++) v[k] = t[k];
}
/* Two columns of eight runs. */
V_CODE void rk_two_columns(const char *at, ptrdiff_t stride, const int single, v_doubles *low,
                           v_doubles *high) {
    typedef double v_two __attribute__((vector_size(16)));
    typedef double v_four __attribute__((vector_size(32)));
    v_two two[8];
    v_four four[4];
    v_doubles v, w;
    int k;
    for (k = 0; k < 8; k++) {
        if (single) {
            float f[2];
            memcpy(f, at + k * stride, 8);
            two[k] = (v_two){f[0], f[1]};
        } else {
            memcpy(&two[k], at + k * stride, 16);
        }
    }
    for (k = 0; k < 4; k++)
        four[k] = __builtin_shufflevector(two[2 * k], two[2 * k + 1], 0, 1, 2, 3);
    v = __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 4, 5, 6, 7);
    w = __builtin_shufflevector(four[2], four[3], 0, 1, 2, 3, 4, 5, 6, 7);
    *low = __builtin_shufflevector(v, w, 0, 2, 4, 6, 8, 10, 12, 14);
    *high = __builtin_shufflevector(v, w, 1, 3, 5, 7, 9, 11, 13, 15);
}
#else
#ifdef V_LIFT_1
V_CODE void rk_four_by_four(__m256d a, __m256d b, __m256d c, __m256d d, n_doubles *to[4]) {
    __m256d e = _mm256_unpacklo_pd(a, b), f = _mm256_unpackhi_pd(a, b);
    __m256d g = _mm256_unpacklo_pd(c, d), h = _mm256_unpackhi_pd(c, d);
    *to[0] = (n_doubles)_mm256_permute2f128_pd(e, g, 0x20);
    *to[1] = (n_doubles)_mm256_permute2f128_pd(f, h, 0x20);
    *to[2] = (n_doubles)_mm256_permute2f128_pd(e, g, 0x31);
    *to[3] = (n_doubles)_mm256_permute2f128_pd(f, h, 0x31);
}
V_CODE void rk_transpose(v_doubles *v) {
    v_doubles t[8];
    n_doubles *a[4] = {&t[0].p, &t[1].p, &t[2].p, &t[3].p};
    n_doubles *b[4] = {&t[0].q, &t[1].q, &t[2].q, &t[3].q};
    n_doubles *c[4] = {&t[4].p, &t[5].p, &t[6].p, &t[7].p};
    n_doubles *d[4] = {&t[4].q, &t[5].q, &t[6].q, &t[7].q};
    int k;
    rk_four_by_four((__m256d)v[0].p, (__m256d)v[1].p, (__m256d)v[2].p, (__m256d)v[3].p, a);
    rk_four_by_four((__m256d)v[4].p, (__m256d)v[5].p, (__m256d)v[6].p, (__m256d)v[7].p, b);
    rk_four_by_four((__m256d)v[0].q, (__m256d)v[1].q, (__m256d)v[2].q, (__m256d)v[3].q, c);
    rk_four_by_four((__m256d)v[4].q, (__m256d)v[5].q, (__m256d)v[6].q, (__m256d)v[7].q, d);
    for (k = 0; k < 8; k++) v[k] = t[k];
}
#endif
V_CODE void rk_two_columns(const char *at, ptrdiff_t stride, const int single, v_doubles *low,
                           v_doubles *high) {
    double x[8], y[8];
    int k;
    for (k = 0; k < 8; k++) {
        const char *p = at + k * stride;
        x[k] = single ? (double)((const float *)p)[0] : ((const double *)p)[0];
        y[k] = single ? (double)((const float *)p)[1] : ((const double *)p)[1];
    }
    *low = d_load(x);
    *high = d_load(y);
}
#ifndef V_LIFT_1
V_CODE void rk_transpose(v_doubles *v) {
    double from[64], to[64];
    int i, k;
    memcpy(from, v, sizeof from);
    for (i = 0; i < 8; i++)
        for (k = 0; k < 8; k++) to[i * 8 + k] = from[k * 8 + i];
    memcpy(v, to, sizeof to);
}
#endif
#endif

/* Every two or three of an array become one. What the floats were made of, `size` bytes for each
   sum, is asked for on the way. */
#define RK_DIVIDE(first, end) do { \
        ptrdiff_t k; \
        if (by == 2) \
            for (k = first; k < end; k++) to[k] = (double)x[2 * k] + (double)x[2 * k + 1]; \
        else \
            for (k = first; k < end; k++) \
                to[k] = ((double)x[3 * k] + (double)x[3 * k + 1]) + (double)x[3 * k + 2]; \
    } while (0)
V_ONCE void rk_divide_floats(const float *__restrict x, ptrdiff_t count, ptrdiff_t by,
                             double *__restrict to, const char *data, ptrdiff_t size) {
    ptrdiff_t start, end, i;
    for (start = 0; start < count; start = end) {
        end = count - start > 128 ? start + 128 : count;
        for (i = start * size; i < end * size; i += 64) RK_PREFETCH(data + i + RK_AHEAD);
        RK_DIVIDE(start, end);
    }
}
V_ONCE void rk_divide_doubles(const double *__restrict x, ptrdiff_t count, ptrdiff_t by,
                              double *__restrict to) {
    RK_DIVIDE(0, count);
}

/* Runs of three (points, colours), sixteen at a time: their columns, and the sums in double. As
   with a few rows, what proves the sums is gathered for all of them together; of float16 nothing
   needs proof but that it is finite. Where registers are shorter, these columns take longer than
   divisions. */
#ifdef __AVX512F__
#define RK_THREES 1
V_CODE void rk_three_columns(const v_floats *v, v_floats *c) {
    v_floats t;
    t = __builtin_shufflevector(v[0], v[1], 0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0);
    c[0] = __builtin_shufflevector(t, v[2], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29);
    t = __builtin_shufflevector(v[0], v[1], 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 0, 0, 0, 0, 0);
    c[1] = __builtin_shufflevector(t, v[2], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 21, 24, 27, 30);
    t = __builtin_shufflevector(v[0], v[1], 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0, 0, 0, 0, 0, 0);
    c[2] = __builtin_shufflevector(t, v[2], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 19, 22, 25, 28, 31);
}
V_CODE void rk_three_doubles(const double *x, v_doubles *c) {
    v_doubles v = d_load(x), w = d_load(x + 8), u = d_load(x + 16), t;
    t = __builtin_shufflevector(v, w, 0, 3, 6, 9, 12, 15, 0, 0);
    c[0] = __builtin_shufflevector(t, u, 0, 1, 2, 3, 4, 5, 10, 13);
    t = __builtin_shufflevector(v, w, 1, 4, 7, 10, 13, 0, 0, 0);
    c[1] = __builtin_shufflevector(t, u, 0, 1, 2, 3, 4, 8, 11, 14);
    t = __builtin_shufflevector(v, w, 2, 5, 8, 11, 14, 0, 0, 0);
    c[2] = __builtin_shufflevector(t, u, 0, 1, 2, 3, 4, 9, 12, 15);
}
/* The kind is a constant: 0 float16, 1 bfloat16, 2 float32. */
V_LONG int rk_threes(const char *data, ptrdiff_t count, double *sums, float *results,
                     const int kind) {
    const ptrdiff_t item = kind == 2 ? 4 : 2;
    char copy[48 * 4];
    double last[16];
    float last_results[16];
    v_words most = w_all(0), least = w_all(0xffffffffu);
    v_floats v[3], c[3];
    v_doubles a, b;
    ptrdiff_t i;
    int k;
    for (i = 0; i < count; i += 16) {
        const char *x = data + i * 3 * item;
        double *to = sums + i;
        float *out = results + i;
        if (count - i < 16) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, x, (size_t)((count - i) * 3 * item));
            x = copy;
            to = last;
            out = last_results;
        }
        for (k = 0; k < 3; k++) {
            RK_PREFETCH(data + (i * 3 + k * 16) * item + RK_AHEAD);
            v[k] = kind == 2 ? f_load((const float *)x + 16 * k)
                : kind == 1 ? f_brains((const uint16_t *)x + 16 * k)
                            : f_halves((const uint16_t *)x + 16 * k);
            most = w_most(most, v[k]);
            if (kind) least = w_least(least, v[k]);
        }
        rk_three_columns(v, c);
        a = d_add(d_add(d_low(c[0]), d_low(c[1])), d_low(c[2]));
        b = d_add(d_add(d_high(c[0]), d_high(c[1])), d_high(c[2]));
        if (kind == 2) f_store(out, f_doubles(a, b));
        else { d_store(to, a); d_store(to + 8, b); }
        if (count - i < 16) {
            if (kind == 2) memcpy(results + i, last_results, (size_t)(count - i) * 4);
            else memcpy(sums + i, last, (size_t)(count - i) * 8);
        }
    }
    if (!kind) return w_top(most) < 0x7f800000u;
    return rk_few_exact(w_top(most), ~w_top(w_not(least)), kind == 1 ? 8 : 24);
}

#else
#define RK_THREES 0
V_CODE int rk_threes(const char *data, ptrdiff_t count, double *sums, float *results,
                     const int kind) {
    (void)data, (void)count, (void)sums, (void)results, (void)kind;
    return 0;
}
#endif

/* Of float64, to pairs. All that is asked for at once would hold up what is read: 8 kB in one go
   took as long as the additions (24 MB: 23 GB/s instead of 41). */
#ifdef __AVX512F__
V_ONCE void rk_double_threes(const double *x, ptrdiff_t count, double *sums, double *rests) {
    v_doubles one = d_all(rk_one), s, r, c[3];
    double copy[24], sum[8], rest[8];
    ptrdiff_t i;
    int k;
    for (i = 0; i < count; i += 8, x += 24) {
        const double *from = x;
        if (count - i < 8) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, x, (size_t)(count - i) * 24);
            from = copy;
        }
        for (k = 0; k < 3; k++) RK_PREFETCH((const char *)(x + 8 * k) + RK_AHEAD);
        rk_three_doubles(from, c);
        s = c[0];
        r = d_all(0);
        RK_ENTER(s, r, c[1]);
        RK_ENTER(s, r, c[2]);
        if (count - i < 8) {
            d_store(sum, s);
            d_store(rest, r);
            memcpy(sums + i, sum, (size_t)(count - i) * 8);
            memcpy(rests + i, rest, (size_t)(count - i) * 8);
        } else {
            d_store(sums + i, s);
            d_store(rests + i, r);
        }
    }
}
#else
V_ONCE void rk_double_threes(const double *__restrict x, ptrdiff_t count, double *__restrict sums,
                             double *__restrict rests) {
    ptrdiff_t start, end, i;
    for (start = 0; start < count; start = end) {
        end = count - start > 64 ? start + 64 : count;
        for (i = 24 * start; i < 24 * end; i += 64) RK_PREFETCH((const char *)x + i + RK_AHEAD);
        for (i = start; i < end; i++) {
            double p = x[3 * i], q = x[3 * i + 1], u = x[3 * i + 2], s = p + q, z = s - p, t, e;
            e = (p - (s - z)) + (q - z);
            t = s + u;
            z = t - s;
            rests[i] = e + ((s - (t - z)) + (u - z));
            sums[i] = t;
        }
    }
}
#endif

/* `count` runs of doubles to pairs, or, `single`, of floats to plain sums. */
V_CODE void rk_short_sums_as(const char *data, ptrdiff_t count, ptrdiff_t run, double *sums,
                          double *rests, const int single, const int pairs) {
    double copy[8 * 32], out[8], lost[8];
    v_doubles v[8], s, r, one = d_all(rk_one);
    ptrdiff_t i, c, k, item = single ? 4 : 8, stride = run * item;
#define RK_TAKE(x) do { \
        if (pairs) RK_ENTER(s, r, x); \
        else s = d_add(s, x); \
    } while (0)
    for (i = 0; i < count; i += 8) {
        const char *at = data + i * stride;
        for (k = 0; k < stride; k += 8) RK_PREFETCH(at + RK_AHEAD + 8 * k);
        if (count - i < 8) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, at, (size_t)((count - i) * stride));
            at = (const char *)copy;
        }
        s = d_all(-0.0);
        r = d_all(0);
        for (c = 0; c + 8 <= run; c += 8) {
            for (k = 0; k < 8; k++) {
                const char *p = at + k * stride + c * item;
                v[k] = single ? d_floats((const float *)p) : d_load((const double *)p);
            }
            rk_transpose(v);
            for (k = 0; k < 8; k++) RK_TAKE(v[k]);
        }
        for (; c + 2 <= run; c += 2) {
            rk_two_columns(at + c * item, stride, single, &v[0], &v[1]);
            RK_TAKE(v[0]);
            RK_TAKE(v[1]);
        }
        if (c < run) {
            rk_two_columns(at + (c - 1) * item, stride, single, &v[0], &v[1]);
            RK_TAKE(v[1]);
        }
        if (count - i < 8) {
            d_store(out, s);
            memcpy(sums + i, out, (size_t)(count - i) * 8);
            if (pairs) { d_store(lost, r); memcpy(rests + i, lost, (size_t)(count - i) * 8); }
        } else {
            d_store(sums + i, s);
            if (pairs) d_store(rests + i, r);
        }
    }
#undef RK_TAKE
}
V_ONCE void rk_short_sums(const char *data, ptrdiff_t count, ptrdiff_t run, double *sums) {
    rk_short_sums_as(data, count, run, sums, NULL, 1, 0);
}
V_ONCE void rk_short_pairs(const char *data, ptrdiff_t count, ptrdiff_t run, double *sums,
                           double *rests) {
    rk_short_sums_as(data, count, run, sums, rests, 0, 1);
}

#endif
