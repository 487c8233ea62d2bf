/* Atomic counters and a pause, for the team of threads. */
#ifndef RK_THREADS_H
#define RK_THREADS_H

#include <stdint.h>

/* A name by which threadpoolctl can tell this library from others called _threads. */
int reducekit_threads = 1;

/* Where the next part of the work stands while there is none. */
#define RK_CLOSED ((int64_t)1 << 62)

#if defined(_MSC_VER)
#include <intrin.h>
#include <process.h>
#include <windows.h>
typedef volatile __int64 rk_atomic;
static __inline int64_t rk_add(rk_atomic *p, int64_t x) { return _InterlockedExchangeAdd64(p, x); }
#if defined(_M_X64)
/* There every load acquires, and the stores below are full barriers. */
static __inline int64_t rk_load(rk_atomic *p) { return *p; }
#else
static __inline int64_t rk_load(rk_atomic *p) { return _InterlockedExchangeAdd64(p, 0); }
#endif
static __inline void rk_store(rk_atomic *p, int64_t x) { _InterlockedExchange64(p, x); }
static __inline int rk_swap(rk_atomic *p, int64_t from, int64_t to) {
    return _InterlockedCompareExchange64(p, to, from) == from;
}
static __inline int64_t rk_process(void) { return _getpid(); }
static __inline int64_t rk_milliseconds(void) { return (int64_t)GetTickCount64(); }
static __inline void rk_yield(void) { SwitchToThread(); }
static __inline void rk_pause(void) { YieldProcessor(); }
#else
#include <sched.h>
#include <time.h>
#include <unistd.h>
typedef int64_t rk_atomic;
static inline int64_t rk_add(rk_atomic *p, int64_t x) { return __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST); }
static inline int64_t rk_load(rk_atomic *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static inline void rk_store(rk_atomic *p, int64_t x) { __atomic_store_n(p, x, __ATOMIC_SEQ_CST); }
static inline int rk_swap(rk_atomic *p, int64_t from, int64_t to) {
    return __atomic_compare_exchange_n(p, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static inline int64_t rk_process(void) { return getpid(); }
static inline int64_t rk_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
static inline void rk_yield(void) { sched_yield(); }
#if defined(__x86_64__) || defined(__i386__)
static inline void rk_pause(void) { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
static inline void rk_pause(void) { __asm__ __volatile__("yield"); }
#else
static inline void rk_pause(void) {}
#endif
#endif

#endif
