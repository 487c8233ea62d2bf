"""Extension modules and CPU levels. All metadata is in pyproject.toml."""

import glob
import os
import platform
import sys

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Level -> what the compiler is told. The list of GCC's flags is exactly the list
# of questions that _cpu.pyx asks of the processor. Order: best level last.
LEVELS = {
    "generic": {"unix": [], "msvc": []},
    "x86_avx2": {
        "unix": ["-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c"],
        "msvc": ["/arch:AVX2"],
    },
    "x86_avx512": {
        "unix": [
            "-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c",
            "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512cd",
            "-mprefer-vector-width=512",
        ],
        "msvc": ["/arch:AVX512"],
    },
}
X86 = platform.machine().lower() in ("x86_64", "amd64")
COVERAGE = os.environ.get("REDUCEKIT_COVERAGE") == "1"
SANITIZE = os.environ.get("REDUCEKIT_SANITIZE") == "1"

# Contraction would let one level round once where another rounds twice.
UNIX_FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]


class BuildExt(build_ext):
    """Add the flags of the compiler at hand, and of the module's level."""

    def build_extension(self, ext):
        kind = "msvc" if self.compiler.compiler_type == "msvc" else "unix"
        if kind == "unix":
            ext.extra_compile_args = [*UNIX_FLAGS, *ext.extra_compile_args]
            if SANITIZE:
                flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
                ext.extra_compile_args += [*flags, "-g", "-O1", "-fno-omit-frame-pointer"]
                ext.extra_link_args = [*ext.extra_link_args, *flags]
        level = ext.name.rpartition("._")[2]
        ext.extra_compile_args = [*ext.extra_compile_args, *LEVELS.get(level, {}).get(kind, [])]
        super().build_extension(ext)


def extension(name):
    macros = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
    if COVERAGE:
        macros += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
    return Extension(
        f"reducekit.{name}",
        [f"reducekit/{name.replace('.', '/')}.pyx"],
        include_dirs=[numpy.get_include(), "reducekit"],
        define_macros=macros,
        depends=glob.glob("reducekit/**/*.px[di]", recursive=True),
    )


MODULES = ["_cpu", "_rules", "_plan", "_threads", "_sums", "_engine"]
MODULES = [name for name in MODULES if os.path.exists(f"reducekit/{name}.pyx")]
MODULES += [f"_kernels._{level}" for level in (LEVELS if X86 else ["generic"])
            if os.path.exists(f"reducekit/_kernels/_{level}.pyx")]

setup(
    ext_modules=cythonize(
        [extension(name) for name in MODULES],
        build_dir="build/cython",
        compiler_directives={"language_level": 3, "linetrace": COVERAGE},
        nthreads=0 if sys.platform == "win32" else 2,
    ),
    cmdclass={"build_ext": BuildExt},
)
