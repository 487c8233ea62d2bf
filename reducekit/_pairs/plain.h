/* Plain sums of rows, with what shows whether they are exact, in registers. */
#ifndef RK_PLAIN_H
#define RK_PLAIN_H

#include "../_kernels/lanes.h"

/* A few rows of 32 float32 into sums, the largest magnitude of each column, and the smallest less
   one, both as bits; `ahead` lie the rows that are read next. */
V_CODE void rk_plain_rows(const char *data, ptrdiff_t rows, ptrdiff_t stride, ptrdiff_t ahead,
                          double *sums, uint32_t *peak, uint32_t *least) {
    v_doubles a = d_load(sums), b = d_load(sums + 8), c = d_load(sums + 16), d = d_load(sums + 24);
    v_words p = w_load(peak), q = w_load(peak + 16), l = w_load(least), m = w_load(least + 16);
    v_floats v, w;
    ptrdiff_t r;
    for (r = 0; r < rows; r++) {
        RK_PREFETCH(data + r * stride + ahead);
        RK_PREFETCH(data + r * stride + ahead + 64);
    }
    for (r = 0; r < rows; r++, data += stride) {
        v = f_load((const float *)data);
        w = f_load((const float *)data + 16);
        a = d_add(a, d_low(v)); b = d_add(b, d_high(v));
        c = d_add(c, d_low(w)); d = d_add(d, d_high(w));
        p = w_most(p, v); q = w_most(q, w);
        l = w_least(l, v); m = w_least(m, w);
    }
    d_store(sums, a); d_store(sums + 8, b); d_store(sums + 16, c); d_store(sums + 24, d);
    w_store(peak, p); w_store(peak + 16, q);
    w_store(least, l); w_store(least + 16, m);
}

#endif
