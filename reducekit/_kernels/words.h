/* The columns of a few rows, wherever each row lies: rows of one array, or the columns of a table
   that are arrays of their own. Of order keys (bits.h) the largest is kept, integers are added.

   Strips of 128 bytes of every row are reduced in registers, so that what is known so far is
   loaded and stored once for all rows. Memory is asked for `ahead` in every row, for the processor
   loses track of more than a handful: 16 rows of 5 MB were read at 23 GB/s, now at 37. */
#ifndef RK_WORDS_H
#define RK_WORDS_H

#include "vectors.h"

/* `best` may hold something already unless it is `fresh`. With `last`, keys become results, where
   a NaN is the quiet one; of integers the top is the largest key there is. */
#define RK_ARGUMENTS(word) \
    const char *const *rows, ptrdiff_t count, ptrdiff_t width, word *__restrict best, \
    word flip, word fold, word turn, word quiet, word top, int fresh, int last, ptrdiff_t ahead
#define RK_SAME flip, fold, turn, quiet, top, fresh, last, ahead

#define RK_LARGER_OF(x, y) ((x) > (y) ? (x) : (y))
#define RK_KEY_8(x) rk_key8(x, flip)
#define RK_KEY_16(x) rk_key16(x, flip, fold, turn)
#define RK_KEY_32(x) rk_key32(x, flip, fold, turn)
#define RK_KEY_64(x) rk_key64(x, flip, fold, turn)
#define RK_RESULT_8(x) ((x) > top ? quiet : rk_key8(x, flip))
#define RK_RESULT_16(x) ((x) > top ? quiet : rk_unkey16(x, flip, fold, turn))
#define RK_RESULT_32(x) ((x) > top ? quiet : rk_unkey32(x, flip, fold, turn))
#define RK_RESULT_64(x) ((x) > top ? quiet : rk_unkey64(x, flip, fold, turn))
#define RK_ITSELF(x) (x)

/* Columns from `k` on, element by element as far as the source says. */
#define RK_PLAIN(name, word, take, join, result) \
    V_ONCE void rk_plain_##name(ptrdiff_t start, RK_ARGUMENTS(word)) { \
        ptrdiff_t r = 0, k; \
        (void)flip, (void)fold, (void)turn, (void)quiet, (void)top, (void)ahead; \
        if (fresh) { \
            const word *row = (const word *)rows[0]; \
            for (k = start; k < width; k++) best[k] = (word)take(row[k]); \
            r = 1; \
        } \
        for (; r + 3 <= count; r += 3) { \
            const word *p = (const word *)rows[r]; \
            const word *q = (const word *)rows[r + 1]; \
            const word *s = (const word *)rows[r + 2]; \
            for (k = start; k < width; k++) { \
                word x = (word)take(p[k]), y = (word)take(q[k]), z = (word)take(s[k]); \
                x = (word)join(x, y); \
                x = (word)join(x, z); \
                best[k] = (word)join(x, best[k]); \
            } \
        } \
        for (; r < count; r++) { \
            const word *row = (const word *)rows[r]; \
            for (k = start; k < width; k++) { \
                word x = (word)take(row[k]); \
                best[k] = (word)join(x, best[k]); \
            } \
        } \
        for (k = start; last && k < width; k++) best[k] = (word)result(best[k]); \
    }
#define RK_ADD_WORDS(x, y) ((x) + (y))
RK_PLAIN(keys8, int8_t, RK_KEY_8, RK_LARGER_OF, RK_RESULT_8)
RK_PLAIN(keys16, int16_t, RK_KEY_16, RK_LARGER_OF, RK_RESULT_16)
RK_PLAIN(keys32, int32_t, RK_KEY_32, RK_LARGER_OF, RK_RESULT_32)
RK_PLAIN(keys64, int64_t, RK_KEY_64, RK_LARGER_OF, RK_RESULT_64)
RK_PLAIN(sums8, uint8_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF)
RK_PLAIN(sums16, uint16_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF)
RK_PLAIN(sums32, uint32_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF)
RK_PLAIN(sums64, uint64_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF)

#if (defined(__GNUC__) || defined(__clang__)) && defined(__AVX2__)
/* Vectors of the width of a register: GCC compares longer ones number by number. */
#if defined(__AVX512F__) && defined(__AVX512BW__)
#define RK_WIDE 64
#define RK_MOST(bits, x, y) _mm512_max_epi##bits((__m512i)(x), (__m512i)(y))
#else
#define RK_WIDE 32
#define RK_MOST(bits, x, y) RK_MOST_##bits((__m256i)(x), (__m256i)(y))
#define RK_MOST_8 _mm256_max_epi8
#define RK_MOST_16 _mm256_max_epi16
#define RK_MOST_32 _mm256_max_epi32
#define RK_MOST_64(x, y) _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi64(x, y))
#endif
#define RK_MOST8(x, y) RK_MOST(8, x, y)
#define RK_MOST16(x, y) RK_MOST(16, x, y)
#define RK_MOST32(x, y) RK_MOST(32, x, y)
#define RK_MOST64(x, y) RK_MOST(64, x, y)
#define RK_KEYS(bits, x) ((((x) ^ flips) ^ ((((x) ^ flips) >> (bits - 1)) & folds)) - turns)
#define RK_KEYS8(x) ((x) ^ flips)
#define RK_KEYS16(x) RK_KEYS(16, x)
#define RK_KEYS32(x) RK_KEYS(32, x)
#define RK_KEYS64(x) RK_KEYS(64, x)
#define RK_UNKEYS(bits, x) (((x) + turns) ^ ((((x) + turns) >> (bits - 1)) & folds) ^ flips)
#define RK_UNKEYS8(x) ((x) ^ flips)
#define RK_UNKEYS16(x) RK_UNKEYS(16, x)
#define RK_UNKEYS32(x) RK_UNKEYS(32, x)
#define RK_UNKEYS64(x) RK_UNKEYS(64, x)
#define RK_EACH_VECTOR for (int k = 0; k < 128 / RK_WIDE; k++)

/* Each stage is compiled once, with its flags known. */
#define RK_STAGE(name, word, stage, is_fresh, is_last) \
    V_ONCE void rk_##stage##_##name(RK_ARGUMENTS(word)) { \
        (void)fresh, (void)last; \
        rk_any_##name(rows, count, width, best, flip, fold, turn, quiet, top, is_fresh, is_last, \
                      ahead); \
    }
#define RK_COLUMNS(name, word, take, join, result, twice) \
    typedef word v_##name __attribute__((vector_size(RK_WIDE))); \
    typedef word v_lies_##name \
        __attribute__((vector_size(RK_WIDE), aligned(1), may_alias));   /* at any address */ \
    static inline __attribute__((always_inline)) void rk_any_##name(RK_ARGUMENTS(word)) { \
        const ptrdiff_t bytes = width * (ptrdiff_t)sizeof(word); \
        const v_##name none = {0}, flips = none + flip, folds = none + fold; \
        const v_##name turns = none + turn, nan = none + quiet, tops = none + top; \
        ptrdiff_t at = 0; \
        (void)flips, (void)folds, (void)turns, (void)nan, (void)tops; \
        while (at + 128 <= bytes) { \
            v_lies_##name *to = (v_lies_##name *)((char *)best + at); \
            const v_lies_##name *row = (const v_lies_##name *)(rows[0] + at); \
            v_##name a[128 / RK_WIDE], x; \
            for (ptrdiff_t r = 0; r < count; r++) { \
                RK_PREFETCH(rows[r] + at + ahead); \
                RK_PREFETCH(rows[r] + at + ahead + 64); \
            } \
            RK_EACH_VECTOR { \
                x = fresh ? row[k] : to[k]; \
                a[k] = fresh ? take(x) : x; \
            } \
            for (ptrdiff_t r = fresh != 0; r < count; r++) { \
                row = (const v_lies_##name *)(rows[r] + at); \
                RK_EACH_VECTOR { \
                    x = row[k]; \
                    x = take(x); \
                    a[k] = (v_##name)join(x, a[k]); \
                } \
            } \
            RK_EACH_VECTOR to[k] = last ? result(a[k]) : a[k]; \
            at += 128; \
            /* An extreme may meet an element twice: the rest is one more full strip, unless keys \
               there have become results already. */ \
            if (twice && (fresh || !last) && at < bytes && bytes - at < 128) at = bytes - 128; \
        } \
        if (at < bytes) \
            rk_plain_##name(at / (ptrdiff_t)sizeof(word), rows, count, width, best, RK_SAME); \
    } \
    RK_STAGE(name, word, only, 1, 1) \
    RK_STAGE(name, word, first, 1, 0) \
    RK_STAGE(name, word, next, 0, 0) \
    RK_STAGE(name, word, final, 0, 1) \
    static inline void rk_##name(RK_ARGUMENTS(word)) { \
        (fresh ? last ? rk_only_##name : rk_first_##name : last ? rk_final_##name : rk_next_##name)( \
            rows, count, width, best, RK_SAME); \
    }
#define RK_RESULTS(name, unkeys, x) \
    (((v_##name)((x) > tops) & nan) | (~(v_##name)((x) > tops) & unkeys(x)))
#define RK_RESULTS8(x) RK_RESULTS(keys8, RK_UNKEYS8, x)
#define RK_RESULTS16(x) RK_RESULTS(keys16, RK_UNKEYS16, x)
#define RK_RESULTS32(x) RK_RESULTS(keys32, RK_UNKEYS32, x)
#define RK_RESULTS64(x) RK_RESULTS(keys64, RK_UNKEYS64, x)
#else
#define RK_COLUMNS(name, word, take, join, result, twice) \
    static inline void rk_##name(RK_ARGUMENTS(word)) { \
        rk_plain_##name(0, rows, count, width, best, RK_SAME); \
    }
#endif
RK_COLUMNS(keys8, int8_t, RK_KEYS8, RK_MOST8, RK_RESULTS8, 1)
RK_COLUMNS(keys16, int16_t, RK_KEYS16, RK_MOST16, RK_RESULTS16, 1)
RK_COLUMNS(keys32, int32_t, RK_KEYS32, RK_MOST32, RK_RESULTS32, 1)
RK_COLUMNS(keys64, int64_t, RK_KEYS64, RK_MOST64, RK_RESULTS64, 1)
RK_COLUMNS(sums8, uint8_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF, 0)
RK_COLUMNS(sums16, uint16_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF, 0)
RK_COLUMNS(sums32, uint32_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF, 0)
RK_COLUMNS(sums64, uint64_t, RK_ITSELF, RK_ADD_WORDS, RK_ITSELF, 0)

#endif
