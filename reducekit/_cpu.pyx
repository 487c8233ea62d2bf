# cython: language_level=3, freethreading_compatible=True
"""Which CPU levels this processor can run.

The questions asked here are exactly the compiler flags of each level in setup.py.
They are asked before a level's module is imported: the start-up code of a module is
compiled with the module's flags, and kills the process on a lesser processor.
"""

cdef extern from *:
    """
    #if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
    #include <cpuid.h>
    static int rk_f16c(void) {
        unsigned a, b, c = 0, d;
        return __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 29));
    }
    static int rk_level(void) {
        __builtin_cpu_init();
        if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
              && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && rk_f16c()))
            return 0;
        if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
              && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
              && __builtin_cpu_supports("avx512cd")))
            return 1;
        return 2;
    }
    #elif defined(_M_X64)
    #include <immintrin.h>
    #include <intrin.h>
    static int rk_level(void) {
        int r[4];
        unsigned long long saved;
        __cpuid(r, 1);
        /* OSXSAVE, AVX, FMA, F16C */
        if ((r[2] & 0x38001000) != 0x38001000) return 0;
        saved = _xgetbv(0);
        if ((saved & 6) != 6) return 0;
        __cpuidex(r, 7, 0);
        if ((r[1] & 0x128) != 0x128) return 0;                      /* BMI1, AVX2, BMI2 */
        if ((saved & 0xe0) != 0xe0) return 1;
        return (r[1] & 0xd0030000u) == 0xd0030000u ? 2 : 1;         /* F, DQ, CD, BW, VL */
    }
    #else
    static int rk_level(void) { return 0; }
    #endif
    """
    int rk_level()


def supported():
    """The levels that this processor can run, best first.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> supported()[-1]
    'generic'
    """
    return ("x86_avx512", "x86_avx2", "generic")[2 - rk_level():]
