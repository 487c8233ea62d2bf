"""Extension modules and CPU levels. All metadata is in pyproject.toml."""

import compileall
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

X86 = platform.machine().lower() in ("x86_64", "amd64")

# Level -> what the compiler is told. The list of GCC's flags is exactly the list
# of questions that _cpu.pyx asks of the processor. Order: best level last.
AVX2 = ["-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512cd"]
LEVELS = {
    # On x86 only processors of before 2013 fall back to it, so it is kept small there.
    "generic": {"unix": ["-O2"] if X86 else [], "msvc": []},
    "x86_avx2": {"unix": AVX2, "msvc": ["/arch:AVX2"]},
    "x86_avx512": {
        "unix": [*AVX2, *AVX512, "-mprefer-vector-width=512"],
        "msvc": ["/arch:AVX512"],
    },
}
SHARED = "reducekit._cyutility"
COVERAGE = os.environ.get("REDUCEKIT_COVERAGE") == "1"
SANITIZE = os.environ.get("REDUCEKIT_SANITIZE") == "1"

# Contraction would let one level round once where another rounds twice.
UNIX_FLAGS = [
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
    "-Wno-unused-function",  # Cython's, for strings that are not compressed here
]
# GCC makes copies of a function for what it is called with; those that are worth their room the
# kernels ask for themselves. Clang makes none and refuses the flag.
GCC_FLAGS = ["-fno-ipa-cp-clone"]
# Pythons are often built with -g, which makes wheels several times as large.
RELEASE_FLAGS = ["-g0"]
# Off the way of a call, so kept small: wheels are downloaded more often than these run. `_rules` is
# on it: a call of ten elements with three keywords takes 162 ns so, 171 with -O3 and 187 with -Os.
SMALL = {
    "_accumulator": "-Os",
    "_cpu": "-Os",
    "_cyutility": "-Os",
    "_pairs._generic": "-Os",
    "_rules": "-O2",
    "_threads": "-Os",
}
SANITIZE_FLAGS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


def is_gcc(compiler):
    """Whether it is GCC, under whatever name."""
    command = [compiler.compiler[0], "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return "Free Software Foundation" in said


class BuildExt(build_ext):
    """Add the flags of the compiler at hand, and of the module's level."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self):
        super().run()
        # pip compiles what it installs. What is used where it lies would be compiled at each
        # import where Python may not write: a fifth of the time of `import reducekit`.
        if self.inplace:
            compileall.compile_dir("reducekit", quiet=1)

    def build_extension(self, ext):
        kind = "msvc" if self.compiler.compiler_type == "msvc" else "unix"
        name = ext.name.rpartition(".")[2]
        level = name.removeprefix("_")
        flags = list(LEVELS.get(level, {}).get(kind, []))
        if kind == "msvc" and level in LEVELS:
            flags.append("/std:c11")  # for _Generic
        if kind == "unix":
            flags = [*UNIX_FLAGS, *flags]
            flags += GCC_FLAGS if level in LEVELS and is_gcc(self.compiler) else []
            if SANITIZE:
                flags += [*SANITIZE_FLAGS, "-g", "-O1", "-fno-omit-frame-pointer"]
                ext.extra_link_args = [*ext.extra_link_args, *SANITIZE_FLAGS]
            elif not COVERAGE:
                flags += RELEASE_FLAGS
                module = ext.name.removeprefix("reducekit.")
                flags += [SMALL[module]] if module in SMALL else []
                # Profilers want the symbols, and how to find who called.
                if sys.platform == "linux" and not self.inplace:
                    flags += ["-fno-asynchronous-unwind-tables"]
                    ext.extra_link_args = [*ext.extra_link_args, "-Wl,--strip-all"]
        ext.extra_compile_args = [*ext.extra_compile_args, *flags]
        super().build_extension(ext)


def extension(name, source):
    macros = [
        ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
        ("CYTHON_COMPRESS_STRINGS", "0"),  # a wheel is compressed as a whole
    ]
    if COVERAGE:
        macros += [
            ("CYTHON_TRACE", "1"),
            ("CYTHON_TRACE_NOGIL", "1"),
            ("CYTHON_USE_SYS_MONITORING", "0"),
        ]
    return Extension(
        name,
        [source],
        include_dirs=[np.get_include(), "reducekit"],
        define_macros=macros,
    )


def extensions():
    """One for each .pyx file, less the levels of processors of another kind."""
    other = set() if X86 else {f"_{level}" for level in LEVELS if level.startswith("x86_")}
    sources = [path for path in Path("reducekit").rglob("*.pyx") if path.stem not in other]
    # The kernels take longest, so they are compiled first.
    sources.sort(key=lambda path: (path.parent.name != "_kernels", path))
    names = [".".join(path.with_suffix("").parts) for path in sources]
    # Cython writes its own code for memoryviews once, into a module that the others share.
    return [
        extension(SHARED, SHARED.replace(".", "/") + ".c"),
        *map(extension, names, [path.as_posix() for path in sources]),
    ]


# The guard is for the processes that cythonize starts where it cannot fork.
if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            extensions(),
            build_dir="build/cython",
            compiler_directives={"language_level": 3, "linetrace": COVERAGE},
            nthreads=os.cpu_count(),
            shared_utility_qualified_name=SHARED,
        ),
        cmdclass={"build_ext": BuildExt},
    )
