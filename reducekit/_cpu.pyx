# cython: language_level=3, freethreading_compatible=True
"""Which CPU levels this processor can run.

The questions asked here are exactly the compiler flags of each level in setup.py.
They are asked before a level's module is imported: the start-up code of a module is
compiled with the module's flags, and kills the process on a lesser processor.
"""

cdef extern from *:
    """
    #if defined(__x86_64__) || defined(__i386__) || defined(_M_X64)
    #ifdef _MSC_VER
    #include <intrin.h>
    static void rk_cpuid(int leaf, unsigned r[4]) { __cpuidex((int *)r, leaf, 0); }
    static unsigned rk_saved(void) { return (unsigned)_xgetbv(0); }
    #else
    #include <cpuid.h>
    static void rk_cpuid(int leaf, unsigned r[4]) {
        __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]);
    }
    static unsigned rk_saved(void) {
        unsigned low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        return low;
    }
    #endif
    static int rk_level(void) {
        unsigned r[4], saved;
        rk_cpuid(0, r);
        if (r[0] < 7) return 0;
        rk_cpuid(1, r);
        /* FMA, OSXSAVE, AVX, F16C */
        if ((r[2] & 0x38001000u) != 0x38001000u) return 0;
        saved = rk_saved();                                         /* by the system */
        if ((saved & 6) != 6) return 0;
        rk_cpuid(7, r);
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
