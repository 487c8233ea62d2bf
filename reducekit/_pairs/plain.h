/* Plain sums of rows, with what shows whether they are exact, in registers. */
#ifndef RK_PLAIN_H
#define RK_PLAIN_H

#include "../_kernels/lanes.h"

/* How many rows of float32 are read together. Eight of them need the registers of AVX-512. */
#ifdef __AVX512F__
#define RK_PLAIN_ROWS 8
#else
#define RK_PLAIN_ROWS 4
#endif

/* A few rows of 32 float32 into sums, and into 16 lanes the largest magnitude and the smallest less
   one, both as bits. */
V_LONG void rk_plain_rows_as(const char *data, ptrdiff_t rows, ptrdiff_t stride, double *sums,
                             uint32_t *peak, uint32_t *least) {
    v_doubles a = d_load(sums), b = d_load(sums + 8), c = d_load(sums + 16), d = d_load(sums + 24);
    v_words p = w_load(peak), l = w_load(least);
    v_floats v, w;
    ptrdiff_t r;
    for (r = 0; r < rows; r++, data += stride) {
        v = f_load((const float *)data);
        w = f_load((const float *)data + 16);
        a = d_add(a, d_low(v)); b = d_add(b, d_high(v));
        c = d_add(c, d_low(w)); d = d_add(d, d_high(w));
        p = w_most(p, v); p = w_most(p, w);
        l = w_least(l, v); l = w_least(l, w);
    }
    d_store(sums, a); d_store(sums + 8, b); d_store(sums + 16, c); d_store(sums + 24, d);
    w_store(peak, p);
    w_store(least, l);
}
V_ONCE void rk_plain_rows(const char *data, ptrdiff_t rows, ptrdiff_t stride, double *sums,
                          uint32_t *peak, uint32_t *least) {
    rk_plain_rows_as(data, rows, stride, sums, peak, least);
}
/* Four rows, one behind the other: among the conversions that wrote them (float16 over axis 0 of
   (1000, 1000): 72 µs, called 94). */
V_LONG void rk_plain_four(const float *data, double *sums, uint32_t *peak, uint32_t *least) {
    rk_plain_rows_as((const char *)data, 4, 128, sums, peak, least);
}
/* RK_PLAIN_ROWS rows of more columns, a multiple of 32; `ahead` lie the rows that are read next.
   Its loop is its own: among others, compilers run out of registers. */
V_ONCE void rk_plain_block(const char *data, ptrdiff_t columns, ptrdiff_t stride, ptrdiff_t ahead,
                           double *sums, uint32_t *peak, uint32_t *least) {
    ptrdiff_t j, r;
    for (j = 0; j < columns; j += 32, data += 128) {
        for (r = 0; r < RK_PLAIN_ROWS; r++) {
            RK_PREFETCH(data + r * stride + ahead);
            RK_PREFETCH(data + r * stride + ahead + 64);
        }
        rk_plain_rows_as(data, RK_PLAIN_ROWS, stride, sums + j, peak + j / 2, least + j / 2);
    }
}

/* Plain sums into pairs, and what these could not hold, in size, into `lost`. Meanwhile some rows
   of items of a `size` are asked for. */
V_ONCE void rk_enter_sums(const double *sums, ptrdiff_t columns, double *high, double *low,
                          double *lost, const char *next, ptrdiff_t rows, ptrdiff_t stride,
                          ptrdiff_t size) {
    ptrdiff_t j, r;
    for (j = 0; j < columns; j += 8) {
        v_doubles x = d_load(sums + j), h = d_load(high + j), l = d_load(low + j);
        v_doubles s = d_add(h, x), t = d_sub(s, h), e;
        e = d_add(d_sub(h, d_sub(s, t)), d_sub(x, t));
        d_store(high + j, s);
        s = d_add(l, e);
        t = d_sub(s, l);
        e = d_add(d_sub(l, d_sub(s, t)), d_sub(e, t));
        d_store(low + j, s);
        d_store(lost + j, d_add(d_load(lost + j), d_abs(e)));
        if ((j * size) % 64 == 0)
            for (r = 0; r < rows; r++) RK_PREFETCH(next + r * stride + j * size);
    }
}

#endif
