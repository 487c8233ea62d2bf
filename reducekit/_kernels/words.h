/* The columns of a few rows, wherever each row lies: rows of one array, or the columns of a table
   that are arrays of their own. Of order keys (bits.h) the largest is kept, integers are added.

   Strips of 128 bytes of every row are reduced in registers, so that what is known so far is
   loaded and stored once for all rows. Memory is asked for `ahead` in every row, for the processor
   loses track of more than a handful: 16 rows of 5 MB were read at 23 GB/s, now at 37. */
#ifndef RK_WORDS_H
#define RK_WORDS_H

#include "vectors.h"

#define RK_SAME flip, fold, turn, quiet, top
#define RK_ADD_WORDS(x, y) ((x) + (y))
#define RK_ITSELF(x) (x)
#define RK_LARGER_OF(x, y) ((x) > (y) ? (x) : (y))
#define RK_KEY_8(x) rk_key8(x, flip)
#define RK_KEY_16(x) rk_key16(x, flip, fold, turn)
#define RK_KEY_32(x) rk_key32(x, flip, fold, turn)
#define RK_KEY_64(x) rk_key64(x, flip, fold, turn)
#define RK_RESULT_8(x) ((x) > top ? quiet : rk_key8(x, flip))
#define RK_RESULT_16(x) ((x) > top ? quiet : rk_unkey16(x, flip, fold, turn))
#define RK_RESULT_32(x) ((x) > top ? quiet : rk_unkey32(x, flip, fold, turn))
#define RK_RESULT_64(x) ((x) > top ? quiet : rk_unkey64(x, flip, fold, turn))

/* What each family offers: `rk_columns_...` takes a few rows that lie anywhere, `rk_lines_...` any
   number of rows at a stride. `best` may hold something already unless it is `fresh`. With `last`,
   keys become results, where a NaN is the quiet one; of integers the top is the largest key. */
#define RK_COLUMNS_OF(name, word) \
    void rk_columns_##name(const char *const *rows, ptrdiff_t count, ptrdiff_t width, \
                           word *__restrict best, word flip, word fold, word turn, word quiet, \
                           word top, int fresh, int last, ptrdiff_t ahead)
#define RK_LINES_OF(name, word) \
    void rk_lines_##name(const char *data, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t width, \
                         word *__restrict best, word flip, word fold, word turn, int fresh)
#define RK_BLOCKS_OF(name, word) \
    void rk_blocks_##name(const char *data, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t width, \
                          word *__restrict best, word flip, word fold, word turn)
#define RK_RUNS_OF(name, word) \
    void rk_runs_##name(word *lanes, const char *data, ptrdiff_t count, ptrdiff_t stride, \
                        ptrdiff_t outer, ptrdiff_t outer_stride, ptrdiff_t bytes, \
                        ptrdiff_t ahead, word flip, word fold, word turn, word least)
#define RK_GIVE(name, word, result) \
    V_ONCE void rk_give_##name(const word *words, ptrdiff_t count, word *to, word flip, word fold, \
                               word turn, word quiet, word top) { \
        ptrdiff_t k; \
        (void)flip, (void)fold, (void)turn, (void)quiet, (void)top; \
        for (k = 0; k < count; k++) to[k] = (word)result(words[k]); \
    }
RK_GIVE(keys8, int8_t, RK_RESULT_8)
RK_GIVE(keys16, int16_t, RK_RESULT_16)
RK_GIVE(keys32, int32_t, RK_RESULT_32)
RK_GIVE(keys64, int64_t, RK_RESULT_64)

#if (defined(__GNUC__) || defined(__clang__)) && defined(__AVX2__)
/* Vectors of the width of a register: GCC compares longer ones number by number. */
#define RK_MOST8(x, y) _mm256_max_epi8((__m256i)(x), (__m256i)(y))
#define RK_MOST16(x, y) _mm256_max_epi16((__m256i)(x), (__m256i)(y))
#define RK_MOST32(x, y) _mm256_max_epi32((__m256i)(x), (__m256i)(y))
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define RK_WIDE 64
#define RK_MOST64(x, y) _mm256_max_epi64((__m256i)(x), (__m256i)(y))
#define RK_WIDE_MOST8(x, y) _mm512_max_epi8((__m512i)(x), (__m512i)(y))
#define RK_WIDE_MOST16(x, y) _mm512_max_epi16((__m512i)(x), (__m512i)(y))
#define RK_WIDE_MOST32(x, y) _mm512_max_epi32((__m512i)(x), (__m512i)(y))
#define RK_WIDE_MOST64(x, y) _mm512_max_epi64((__m512i)(x), (__m512i)(y))
#else
#define RK_WIDE 32
#define RK_MOST64(x, y) \
    _mm256_blendv_epi8((__m256i)(y), (__m256i)(x), _mm256_cmpgt_epi64((__m256i)(x), (__m256i)(y)))
#define RK_WIDE_MOST8 RK_MOST8
#define RK_WIDE_MOST16 RK_MOST16
#define RK_WIDE_MOST32 RK_MOST32
#define RK_WIDE_MOST64 RK_MOST64
#endif
#define RK_KEYS(bits, x) ((((x) ^ flips) ^ ((((x) ^ flips) >> (bits - 1)) & folds)) - turns)
#define RK_KEYS8(x) ((x) ^ flips)
#define RK_KEYS16(x) RK_KEYS(16, x)
#define RK_KEYS32(x) RK_KEYS(32, x)
#define RK_KEYS64(x) RK_KEYS(64, x)
#define RK_UNKEYS(bits, x) (((x) + turns) ^ ((((x) + turns) >> (bits - 1)) & folds) ^ flips)
#define RK_RESULTS(x, unkeyed) ((((x) > tops) & nans) | (~((x) > tops) & (unkeyed)))
#define RK_RESULTS8(x) RK_RESULTS(x, (x) ^ flips)
#define RK_RESULTS16(x) RK_RESULTS(x, RK_UNKEYS(16, x))
#define RK_RESULTS32(x) RK_RESULTS(x, RK_UNKEYS(32, x))
#define RK_RESULTS64(x) RK_RESULTS(x, RK_UNKEYS(64, x))
#define RK_EACH_VECTOR(of) for (int k = 0; k < (int)(sizeof(of) / sizeof(*(of))); k++)

/* Strips of `size` bytes, in vectors of `bytes`. What is left behind the last full strip is met by
   a strip that ends with the columns. It comes first, and is stored last: the columns that it shares
   with the strip before come out the same. */
#define RK_STRIPS_OF(kind, name, word, bytes, size, take, join, result) \
    typedef word v_##kind##_##name __attribute__((vector_size(bytes))); \
    typedef word v_##kind##_lies_##name \
        __attribute__((vector_size(bytes), aligned(1), may_alias));   /* at any address */ \
    V_CODE void rk_##kind##_##name(const char *const *rows, const char *data, ptrdiff_t stride, \
                                   const ptrdiff_t count, ptrdiff_t width, word *best, \
                                   word flip, word fold, word turn, word quiet, word top, \
                                   const int fresh, const int last, const ptrdiff_t ahead) { \
        const v_##kind##_##name none = {0}, flips = none + flip, folds = none + fold; \
        const v_##kind##_##name turns = none + turn, nans = none + quiet, tops = none + top; \
        const ptrdiff_t all = width * (ptrdiff_t)sizeof(word), end = all - (size); \
        char rest[size]; \
        ptrdiff_t at = all % (size) ? end : 0, tail = all % (size), r; \
        (void)flips, (void)folds, (void)turns, (void)nans, (void)tops; \
        __asm__("" : "=m"(rest));            /* a compiler does not see that it is set */ \
        do { \
            v_##kind##_lies_##name *to = (v_##kind##_lies_##name *)((char *)best + at); \
            const v_##kind##_lies_##name *row; \
            v_##kind##_##name a[(size) / (bytes)], x; \
            for (r = 0; ahead && r < count; r++) { \
                RK_PREFETCH(rows[r] + at + ahead); \
                RK_PREFETCH(rows[r] + at + ahead + 64); \
            } \
            row = (const v_##kind##_lies_##name *)((rows ? rows[0] : data) + at); \
            RK_EACH_VECTOR(a) { \
                x = row[k]; \
                a[k] = take(x); \
            } \
            for (r = 1; r < count; r++) { \
                row = (const v_##kind##_lies_##name *)((rows ? rows[r] : data + r * stride) + at); \
                RK_EACH_VECTOR(a) { \
                    x = row[k]; \
                    x = take(x); \
                    a[k] = (v_##kind##_##name)join(x, a[k]); \
                } \
            } \
            if (!fresh) \
                RK_EACH_VECTOR(a) { \
                    x = to[k]; \
                    a[k] = (v_##kind##_##name)join(x, a[k]); \
                } \
            if (last) RK_EACH_VECTOR(a) { x = a[k]; a[k] = result(x); } \
            if (tail) to = (v_##kind##_lies_##name *)rest; \
            RK_EACH_VECTOR(a) to[k] = a[k]; \
            at = tail ? 0 : at + (size); \
            tail = 0; \
        } while (at <= end); \
        if (all % (size)) memcpy((char *)best + end, rest, size); \
    }
/* Many rows, of as many columns as registers hold: nothing is stored in between, and the processor
   reads as far ahead as it can. In cache that is as fast as strips of four rows, or faster (int32,
   64 x 128 x 256 over axis 1: 106 GB/s and 92). Where all comes from memory, asking ahead never came
   near it (int64, rows of 16 kB: 36 GB/s, 27 in strips that ask); only where some comes from a cache
   and some does not, asking is faster (36 MB: 55 to 65 GB/s, 45 to 65 in blocks). */
#define RK_FOUR(do, ...) \
    do(0, __VA_ARGS__) do(1, __VA_ARGS__) do(2, __VA_ARGS__) do(3, __VA_ARGS__)
#define RK_EIGHT(do, ...) \
    RK_FOUR(do, __VA_ARGS__) \
    do(4, __VA_ARGS__) do(5, __VA_ARGS__) do(6, __VA_ARGS__) do(7, __VA_ARGS__)
#define RK_SIXTEEN(do, ...) \
    RK_EIGHT(do, __VA_ARGS__) \
    do(8, __VA_ARGS__) do(9, __VA_ARGS__) do(10, __VA_ARGS__) do(11, __VA_ARGS__) \
    do(12, __VA_ARGS__) do(13, __VA_ARGS__) do(14, __VA_ARGS__) do(15, __VA_ARGS__)
#if RK_WIDE == 64
#define RK_BROAD(family, kind, ...) family(kind, 16, RK_SIXTEEN, __VA_ARGS__)
#define RK_SLENDER(family, ...) family(narrow, 4, RK_FOUR, __VA_ARGS__)
#define RK_BLOCK_OF_4(name) rk_narrow_##name
#define RK_BLOCK 1024
#else
#define RK_BROAD(family, kind, ...) family(kind, 8, RK_EIGHT, __VA_ARGS__)
#define RK_SLENDER(family, ...)
#define RK_BLOCK_OF_4(name) rk_broad_##name
#define RK_BLOCK 256
#endif
#define RK_NARROW 256
#define RK_BLOCK_ROWS 128
#define RK_SO_FAR(k, to) a[k] = to[k];
#define RK_KEPT(k, to) to[k] = a[k];
#define RK_MET(k, row, vector, take, join) \
    x = row[k]; \
    x = take(x); \
    a[k] = (vector)join(x, a[k]);
#define RK_BLOCK_OF(kind, many, each, name, word, take, join) \
    V_ONCE void rk_##kind##_##name(const char *data, ptrdiff_t rows, ptrdiff_t stride, \
                                   char *best, word flip, word fold, word turn) { \
        const v_wide_##name none = {0}, flips = none + flip, folds = none + fold; \
        const v_wide_##name turns = none + turn; \
        v_wide_lies_##name *to = (v_wide_lies_##name *)best; \
        const v_wide_lies_##name *row; \
        v_wide_##name a[many], x; \
        (void)flips, (void)folds, (void)turns; \
        each(RK_SO_FAR, to) \
        for (; rows > 0; rows--, data += stride) { \
            row = (const v_wide_lies_##name *)data; \
            each(RK_MET, row, v_wide_##name, take, join) \
        } \
        each(RK_KEPT, to) \
    }
/* The last block ends with the columns; what it shares with the one before is left. */
#define RK_BLOCKS(name, word, if_flat) \
    V_ONCE RK_BLOCKS_OF(name, word) { \
        const ptrdiff_t all = width * (ptrdiff_t)sizeof(word); \
        ptrdiff_t some, at, from, left, size; \
        char rest[RK_BLOCK], *to; \
        for (; count > 0; count -= some, data += some * stride) { \
            some = count < RK_BLOCK_ROWS * 3 / 2 ? count : RK_BLOCK_ROWS; \
            for (at = 0; at < all; at += size) { \
                left = all - at; \
                size = all < RK_BLOCK || left <= 2 * RK_NARROW ? RK_NARROW : RK_BLOCK; \
                from = left < size ? all - size : at; \
                to = (char *)best + from; \
                if (left < size) to = (char *)memcpy(rest, to, (size_t)size); \
                if (size != RK_BLOCK) \
                    RK_BLOCK_OF_4(name)(data + from, some, stride, to, flip, fold, turn); \
                else \
                    if_flat(rk_level_##name(data + from, some, stride, to, flip, fold, turn)) \
                    rk_broad_##name(data + from, some, stride, to, flip, fold, turn); \
                if (left < size) memcpy((char *)best + at, rest + size - left, (size_t)left); \
            } \
        } \
    }
/* Runs of some vectors each, `bytes` long: one vector of lanes for each. What is left behind the last
   full vector is met by one that ends with the run, of which sums take only what is `new`. */
#define RK_RUNS(name, word, take, join, new) \
    V_ONCE RK_RUNS_OF(name, word) { \
        const v_wide_##name none = {0}, flips = none + flip, folds = none + fold; \
        const v_wide_##name turns = none + turn, leasts = none + least; \
        const ptrdiff_t tail = bytes % RK_WIDE, whole = bytes - tail; \
        const char *fresh = (const char *)RK_NEW + 256 - RK_WIDE + tail; \
        const v_wide_##name news = *(const v_wide_lies_##name *)fresh; \
        ptrdiff_t run, o, k; \
        (void)flips, (void)folds, (void)turns, (void)news; \
        for (run = 0; run < count; run++, data += stride) { \
            const char *p = data; \
            v_wide_##name a = leasts, x; \
            for (o = 0; o < outer; o++, p += outer_stride) { \
                for (k = 0; k < whole; k += RK_WIDE) { \
                    RK_PREFETCH(p + k + ahead); \
                    x = *(const v_wide_lies_##name *)(p + k); \
                    x = take(x); \
                    a = (v_wide_##name)join(x, a); \
                } \
                if (tail) { \
                    x = *(const v_wide_lies_##name *)(p + bytes - RK_WIDE); \
                    x = take(x); \
                    x = new(x); \
                    a = (v_wide_##name)join(x, a); \
                } \
            } \
            ((v_wide_lies_##name *)lanes)[run] = a; \
        } \
    }
#define RK_IF_NEW(x) ((x) & news)
/* Keys of integers take one operation and those of floats four, which leave the processor less room
   to read ahead: three rows of 4 MB take 0.16 ms so, and 0.20. */
#define RK_FLIPPED(x) ((x) ^ flips)
#define RK_FLATS(name, word, wide_joins) \
    RK_STRIPS_OF(flat, name, word, RK_WIDE, 128, RK_FLIPPED, wide_joins, RK_FLIPPED) \
    RK_BROAD(RK_BLOCK_OF, level, name, word, RK_FLIPPED, wide_joins)
#define RK_IF_FLAT(do) if (!fold) do; else
#define RK_NO_FLATS(name, word, wide_joins)
#define RK_NEVER_FLAT(do)
/* So few that vectors are of no use. */
#define RK_ONE_BY_ONE(name, word, take, join, result) \
    V_ONCE void rk_few_##name(const char *const *rows, const char *data, ptrdiff_t stride, \
                              ptrdiff_t count, ptrdiff_t width, word *best, word flip, word fold, \
                              word turn, word quiet, word top, int fresh, int last) { \
        ptrdiff_t k, r; \
        (void)flip, (void)fold, (void)turn, (void)quiet, (void)top; \
        for (k = 0; k < width; k++) { \
            word x = fresh ? ((const word *)(rows ? rows[0] : data))[k] : best[k]; \
            word key = fresh ? (word)take(x) : x; \
            for (r = fresh != 0; r < count; r++) { \
                x = ((const word *)(rows ? rows[r] : data + r * stride))[k]; \
                __asm__("" : "+r"(x)); \
                x = (word)take(x); \
                key = (word)join(x, key); \
            } \
            best[k] = last ? (word)result(key) : key; \
        } \
    }
#define RK_FAMILY(name, word, take, join, result, takes, joins, wide_joins, results, new, flats, \
                  if_flat) \
    RK_STRIPS_OF(wide, name, word, RK_WIDE, 128, takes, wide_joins, results) \
    flats(name, word, wide_joins) \
    RK_STRIPS_OF(slim, name, word, 32, 32, takes, joins, results) \
    RK_ONE_BY_ONE(name, word, take, join, result) \
    RK_BROAD(RK_BLOCK_OF, broad, name, word, takes, wide_joins) \
    RK_SLENDER(RK_BLOCK_OF, name, word, takes, wide_joins) \
    RK_BLOCKS(name, word, if_flat) \
    RK_RUNS(name, word, takes, wide_joins, new) \
    V_ONCE RK_COLUMNS_OF(name, word) { \
        if (width * (ptrdiff_t)sizeof(word) < 128) \
            rk_few_##name(rows, NULL, 0, count, width, best, RK_SAME, fresh, last); \
        else \
            if_flat(rk_flat_##name(rows, NULL, 0, count, width, best, RK_SAME, fresh, last, ahead)) \
            rk_wide_##name(rows, NULL, 0, count, width, best, RK_SAME, fresh, last, ahead); \
    } \
    V_ONCE RK_LINES_OF(name, word) { \
        ptrdiff_t some = fresh && count % 4 == 0 ? 4 : count % 4; \
        if (width * (ptrdiff_t)sizeof(word) < 32) { \
            rk_few_##name(NULL, data, stride, count, width, best, flip, fold, turn, 0, 0, fresh, 0); \
            return; \
        } \
        for (; count > 0; count -= some, data += some * stride, some = 4, fresh = 0) { \
            if (some == 4) \
                rk_slim_##name(NULL, data, stride, 4, width, best, flip, fold, turn, 0, 0, \
                               fresh, 0, 0); \
            else if (some) \
                rk_slim_##name(NULL, data, stride, some, width, best, flip, fold, turn, 0, 0, \
                               fresh, 0, 0); \
        } \
    }
#else
/* By up to four rows, as far as the source says. */
#define RK_PASS(word, take, join, count, first) \
    for (k = 0; k < width; k++) { \
        word x = (word)take(p[k]); \
        if ((count) > 1) { word y = (word)take(q[k]); x = (word)join(y, x); } \
        if ((count) > 2) { word y = (word)take(s[k]); x = (word)join(y, x); } \
        if ((count) > 3) { word y = (word)take(t[k]); x = (word)join(y, x); } \
        best[k] = (first) ? x : (word)join(x, best[k]); \
    }
#define RK_FAMILY(name, word, take, join, result, takes, joins, wide_joins, results, new, flats, \
                  if_flat) \
    V_ONCE RK_COLUMNS_OF(name, word) { \
        ptrdiff_t k, some = fresh && count % 4 == 0 ? 4 : count % 4; \
        (void)flip, (void)fold, (void)turn, (void)quiet, (void)top, (void)ahead; \
        for (; count > 0; count -= some, rows += some, some = 4, fresh = 0) { \
            const word *p = (const word *)rows[0]; \
            const word *q = some > 1 ? (const word *)rows[1] : p; \
            const word *s = some > 2 ? (const word *)rows[2] : p; \
            const word *t = some > 3 ? (const word *)rows[3] : p; \
            if (!fresh && some == 4) RK_PASS(word, take, join, 4, 0) \
            else if (some == 4) RK_PASS(word, take, join, 4, 1) \
            else if (!fresh && some == 3) RK_PASS(word, take, join, 3, 0) \
            else if (some == 3) RK_PASS(word, take, join, 3, 1) \
            else if (!fresh && some == 2) RK_PASS(word, take, join, 2, 0) \
            else if (some == 2) RK_PASS(word, take, join, 2, 1) \
            else if (!fresh && some == 1) RK_PASS(word, take, join, 1, 0) \
            else if (some == 1) RK_PASS(word, take, join, 1, 1) \
        } \
        for (k = 0; last && k < width; k++) best[k] = (word)result(best[k]); \
    } \
    V_ONCE RK_LINES_OF(name, word) { \
        ptrdiff_t r, some = fresh && count % 4 == 0 ? 4 : count % 4; \
        for (; count > 0; count -= some, data += some * stride, some = 4) { \
            const char *rows[4]; \
            for (r = 0; r < some; r++) rows[r] = data + r * stride; \
            rk_columns_##name(rows, some, width, best, flip, fold, turn, 0, 0, fresh, 0, 0); \
            fresh = fresh && !some; \
        } \
    } \
    V_ONCE RK_BLOCKS_OF(name, word) { \
        rk_lines_##name(data, count, stride, width, best, flip, fold, turn, 0); \
    } \
    V_ONCE RK_RUNS_OF(name, word) { \
        ptrdiff_t run, o, k; \
        (void)flip, (void)fold, (void)turn, (void)ahead; \
        for (run = 0; run < count; run++, data += stride) { \
            word key = least; \
            for (o = 0; o < outer; o++) { \
                const word *p = (const word *)(data + o * outer_stride); \
                for (k = 0; k < bytes / (ptrdiff_t)sizeof(word); k++) { \
                    word x = (word)take(p[k]); \
                    key = (word)join(x, key); \
                } \
            } \
            lanes[run] = key; \
        } \
    }
#define RK_NARROW 256
#define RK_WIDE 1           /* lanes of a run: one element */
#endif
/* Two or three neighbours become one, or elements of two arrays. That stands in every kernel that
   folds, so it is called. */
#define RK_HALVE(name, word, join) \
    V_ONCE void rk_third_##name(const word *__restrict from, word *__restrict to, \
                                ptrdiff_t count) { \
        ptrdiff_t k; \
        for (k = 0; k < count; k++) { \
            word x = (word)join(from[3 * k], from[3 * k + 1]); \
            to[k] = (word)join(x, from[3 * k + 2]); \
        } \
    } \
    V_ONCE void rk_halve_##name(const word *__restrict from, word *__restrict to, \
                                ptrdiff_t count) { \
        ptrdiff_t k; \
        for (k = 0; k < count; k++) to[k] = (word)join(from[2 * k], from[2 * k + 1]); \
    } \
    V_ONCE void rk_meet_##name(const word *a, const word *b, word *__restrict to, \
                               ptrdiff_t count) { \
        ptrdiff_t k; \
        for (k = 0; k < count; k++) to[k] = (word)join(a[k], b[k]); \
    }
#define RK_KEYS_FAMILY(bits, flats, if_flat) \
    RK_HALVE(keys##bits, int##bits##_t, RK_LARGER_OF) \
    RK_FAMILY(keys##bits, int##bits##_t, RK_KEY_##bits, RK_LARGER_OF, RK_RESULT_##bits, \
              RK_KEYS##bits, RK_MOST##bits, RK_WIDE_MOST##bits, RK_RESULTS##bits, RK_ITSELF, flats, \
              if_flat)
#define RK_SUMS_FAMILY(bits) \
    RK_HALVE(sums##bits, uint##bits##_t, RK_ADD_WORDS) \
    RK_FAMILY(sums##bits, uint##bits##_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF, \
              RK_ITSELF, RK_ADD_WORDS, RK_ADD_WORDS, RK_ITSELF, RK_IF_NEW, RK_NO_FLATS, \
              RK_NEVER_FLAT)
/* One of every `run` elements. Vectors are read from the first of these on to the one that holds the
   last, and stored whole: arrays need 64 bytes behind both. Each of them gives the results their
   places, for element r * run of all lies r * run % lanes of its vector. */
#if RK_WIDE == 64
#define RK_PICK(bits, word, lanes, all, times, equal, part, store) \
    V_ONCE void rk_pick_##bits(const void *from, void *to, ptrdiff_t count, ptrdiff_t run) { \
        const ptrdiff_t size = (bits) / 8; \
        word places[64 / sizeof(word)]; \
        const char *p = (const char *)from; \
        char *t = (char *)to; \
        __m512i at, of, shift; \
        ptrdiff_t k; \
        for (k = 0; k < (lanes); k++) places[k] = (word)(k * run * size); \
        at = _mm512_loadu_si512(places); \
        of = _mm512_srli_##all(at, 6); \
        shift = _mm512_slli_##all(_mm512_and_si512(at, _mm512_set1_##all(1)), 3); \
        at = _mm512_srli_##all(at, times); \
        (void)shift; \
        for (; count > 0; count -= (lanes), p += (lanes) * run * size, t += (lanes) * size) { \
            const ptrdiff_t end = ((count < (lanes) ? count : (lanes)) - 1) * run * size; \
            __m512i x = _mm512_setzero_si512(); \
            for (k = 0; k <= end / 64; k++) \
                x = part(x, equal(of, _mm512_set1_##all(k)), at, _mm512_loadu_si512(p + k * 64)); \
            store; \
        } \
    }
RK_PICK(8, uint16_t, 32, epi16, 1, _mm512_cmpeq_epi16_mask, _mm512_mask_permutexvar_epi16,
        _mm256_storeu_si256((__m256i *)t, _mm512_cvtepi16_epi8(_mm512_srlv_epi16(x, shift))))
RK_PICK(16, uint16_t, 32, epi16, 1, _mm512_cmpeq_epi16_mask, _mm512_mask_permutexvar_epi16,
        _mm512_storeu_si512(t, x))
RK_PICK(32, uint32_t, 16, epi32, 2, _mm512_cmpeq_epi32_mask, _mm512_mask_permutexvar_epi32,
        _mm512_storeu_si512(t, x))
RK_PICK(64, uint64_t, 8, epi64, 3, _mm512_cmpeq_epi64_mask, _mm512_mask_permutexvar_epi64,
        _mm512_storeu_si512(t, x))
/* `by` neighbours become one, at most RK_PARTS. Of every two vectors, a permutation for each
   neighbour brings elements to the places of their results, and a mask says to which. Of two or
   three neighbours, compilers hold all that in registers. */
#define RK_PARTS 13
#define RK_PART_AS(kind, name, bits, word, least, takes, joined) \
    V_CODE void rk_part_##kind##_##name(const word *from, word *to, ptrdiff_t count, \
                                        const ptrdiff_t by, word flip, word fold, word turn) { \
        enum { lanes = 512 / (bits), wide = (bits) == 16 ? 6 : (bits) == 32 ? 5 : 4 }; \
        const v_wide_##name none = {0}, flips = none + flip, folds = none + fold; \
        const v_wide_##name turns = none + turn; \
        word at[lanes]; \
        uint32_t masks[(RK_PARTS + 1) / 2][RK_PARTS]; \
        char copy[64 * RK_PARTS]; \
        __m512i places[RK_PARTS], all; \
        v_wide_##name x, y; \
        ptrdiff_t i, j, k; \
        (void)flips, (void)folds, (void)turns; \
        for (i = 0; i < lanes; i++) at[i] = (word)(i * by); \
        for (k = 0; k < by; k++) { \
            places[k] = _mm512_add_epi##bits(_mm512_loadu_si512(at), _mm512_set1_epi##bits(k)); \
            for (j = 0; 2 * j < by; j++) \
                masks[j][k] = _mm512_cmpeq_epi##bits##_mask( \
                    _mm512_srli_epi##bits(places[k], wide), _mm512_set1_epi##bits(j)); \
        } \
        __asm__("" : "=m"(copy));            /* a compiler does not see that it is set */ \
        for (; count > 0; count -= lanes, from += lanes * by, to += lanes) { \
            const char *p = (const char *)from; \
            if (count < lanes) \
                p = (const char *)memcpy(copy, p, (size_t)(count * by) * sizeof(word)); \
            all = _mm512_set1_epi##bits(least); \
            for (j = 0; 2 * j < by; j++, p += 128) { \
                RK_PREFETCH(p + RK_AHEAD); \
                RK_PREFETCH(p + RK_AHEAD + 64); \
                x = *(const v_wide_lies_##name *)p; \
                x = takes(x); \
                y = x; \
                if (2 * j + 1 < by) { \
                    y = *(const v_wide_lies_##name *)(p + 64); \
                    y = takes(y); \
                } \
                __asm__("" : "+v"(x), "+v"(y)); /* not read anew for each neighbour */ \
                for (k = 0; k < by; k++) \
                    all = joined(all, masks[j][k], all, \
                                 _mm512_permutex2var_epi##bits((__m512i)x, places[k], (__m512i)y)); \
            } \
            if (count < lanes) \
                _mm512_mask_storeu_epi##bits(to, ((uint32_t)1 << count) - 1, all); \
            else _mm512_storeu_si512(to, all); \
        } \
    }
#define RK_PART(name, bits, word, least, takes, joined, if_flat) \
    RK_PART_AS(as, name, bits, word, least, takes, joined) \
    RK_PART_AS(flat, name, bits, word, least, RK_FLIPPED, joined) \
    V_ONCE void rk_part_##name(const word *from, word *to, ptrdiff_t count, ptrdiff_t by, \
                               word flip, word fold, word turn) { \
        if (by == 2) rk_part_as_##name(from, to, count, 2, flip, fold, turn); \
        else if (by == 3) { \
            if_flat(rk_part_flat_##name(from, to, count, 3, flip, fold, turn)) \
            rk_part_as_##name(from, to, count, 3, flip, fold, turn); \
        } \
        else rk_part_as_##name(from, to, count, by, flip, fold, turn); \
    }
V_CODE void rk_part_none(const void *from, void *to, ptrdiff_t count, ptrdiff_t by, int flip,
                         int fold, int turn) {
    (void)from, (void)to, (void)count, (void)by, (void)flip, (void)fold, (void)turn;
}
#define rk_part(from, to, ...) \
    _Generic((to), int8_t *: rk_part_none, int16_t *: rk_part_keys16, int32_t *: rk_part_keys32, \
             int64_t *: rk_part_keys64, uint8_t *: rk_part_none, uint16_t *: rk_part_sums16, \
             uint32_t *: rk_part_sums32, uint64_t *: rk_part_sums64)(from, to, __VA_ARGS__)
#else
#define RK_PARTS 0
#define rk_part(...) ((void)0)
#define RK_PICK(bits) \
    V_ONCE void rk_pick_##bits(const void *from, void *to, ptrdiff_t count, ptrdiff_t run) { \
        const uint##bits##_t *p = (const uint##bits##_t *)from; \
        ptrdiff_t k; \
        for (k = 0; k < count; k++) ((uint##bits##_t *)to)[k] = p[k * run]; \
    }
RK_PICK(8)
RK_PICK(16)
RK_PICK(32)
RK_PICK(64)
#endif
RK_KEYS_FAMILY(8, RK_NO_FLATS, RK_NEVER_FLAT)
RK_KEYS_FAMILY(16, RK_NO_FLATS, RK_NEVER_FLAT)
RK_KEYS_FAMILY(32, RK_FLATS, RK_IF_FLAT)
RK_KEYS_FAMILY(64, RK_FLATS, RK_IF_FLAT)
RK_SUMS_FAMILY(8)
RK_SUMS_FAMILY(16)
RK_SUMS_FAMILY(32)
RK_SUMS_FAMILY(64)
#if RK_PARTS
RK_PART(keys16, 16, int16_t, INT16_MIN, RK_KEYS16, _mm512_mask_max_epi16,
        RK_NEVER_FLAT)
RK_PART(keys32, 32, int32_t, INT32_MIN, RK_KEYS32, _mm512_mask_max_epi32,
        RK_IF_FLAT)
RK_PART(keys64, 64, int64_t, INT64_MIN, RK_KEYS64, _mm512_mask_max_epi64,
        RK_IF_FLAT)
RK_PART(sums16, 16, uint16_t, 0, RK_ITSELF, _mm512_mask_add_epi16, RK_NEVER_FLAT)
RK_PART(sums32, 32, uint32_t, 0, RK_ITSELF, _mm512_mask_add_epi32, RK_NEVER_FLAT)
RK_PART(sums64, 64, uint64_t, 0, RK_ITSELF, _mm512_mask_add_epi64, RK_NEVER_FLAT)
#endif

/* Each of these by the type of the words that it writes. */
#define RK_OF(name, to) \
    _Generic((to), int8_t *: rk_##name##_keys8, int16_t *: rk_##name##_keys16, \
             int32_t *: rk_##name##_keys32, int64_t *: rk_##name##_keys64, \
             uint8_t *: rk_##name##_sums8, uint16_t *: rk_##name##_sums16, \
             uint32_t *: rk_##name##_sums32, uint64_t *: rk_##name##_sums64)
#define rk_columns(rows, count, width, best, ...) \
    RK_OF(columns, best)(rows, count, width, best, __VA_ARGS__)
#define rk_lines(data, count, stride, width, best, ...) \
    RK_OF(lines, best)(data, count, stride, width, best, __VA_ARGS__)
#define rk_blocks(data, count, stride, width, best, ...) \
    RK_OF(blocks, best)(data, count, stride, width, best, __VA_ARGS__)
#define rk_runs(lanes, ...) RK_OF(runs, lanes)(lanes, __VA_ARGS__)
#define rk_halve(from, to, count) RK_OF(halve, to)(from, to, count)
#define rk_third(from, to, count) RK_OF(third, to)(from, to, count)
#define rk_meet(a, b, to, count) RK_OF(meet, to)(a, b, to, count)
#define rk_give(words, count, to, ...) \
    _Generic((to), int8_t *: rk_give_keys8, int16_t *: rk_give_keys16, int32_t *: rk_give_keys32, \
             int64_t *: rk_give_keys64)(words, count, to, __VA_ARGS__)
#define rk_pick(from, to, count, run) \
    _Generic((to), int8_t *: rk_pick_8, int16_t *: rk_pick_16, int32_t *: rk_pick_32, \
             int64_t *: rk_pick_64, uint8_t *: rk_pick_8, uint16_t *: rk_pick_16, \
             uint32_t *: rk_pick_32, uint64_t *: rk_pick_64)(from, to, count, run)

#endif
