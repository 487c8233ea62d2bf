"""Hold an sdist and a wheel to what they may and must contain, and print their sizes.

usage: python tools/check_packages.py DIST...
"""

import fnmatch
import sys
import tarfile
import zipfile
from pathlib import Path

LIMITS = {".whl": 1_000_000, ".gz": 1_000_000}  # bytes; docs/design/0003: where they go
BUILT = (".so", ".pyd", ".pyc")
SOURCES = {
    path.as_posix()
    for path in Path("reducekit").rglob("*")
    if path.is_file() and path.suffix not in BUILT
}
COMPILED = {path.removesuffix(".pyx") for path in SOURCES if path.endswith(".pyx")}
INSTALLED = {path for path in SOURCES if not path.endswith((".pyx", ".pxi", ".h"))}


def sdist_faults(names):
    inside = {name.partition("/")[2] for name in names}
    wanted = {
        *SOURCES,
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "pyproject.toml",
        "setup.py",
    }
    wanted |= {path.as_posix() for path in Path("tests").rglob("*.py")}
    yield from (f"lacks {name}" for name in sorted(wanted - inside))
    for pattern in ("*.c", "*.so", "*.pyc", ".venv/*", "build/*"):
        yield from (f"must not hold {name}" for name in fnmatch.filter(inside, pattern))


def wheel_faults(names):
    inside = set(names)
    yield from (f"lacks {name}" for name in sorted(INSTALLED - inside))
    binaries = {name.partition(".")[0] for name in inside if name.endswith((".so", ".pyd"))}
    foreign = {path for path in COMPILED if "/_x86_" in path and not binaries & {path}}
    yield from (f"lacks the binary of {name}" for name in sorted(COMPILED - binaries - foreign))
    for pattern in ("*.pyx", "*.pxi", "*.h", "*.c", "tests/*", "docs/*", "tools/*"):
        yield from (f"must not hold {name}" for name in fnmatch.filter(inside, pattern))


def main(paths):
    status = 0
    for path in map(Path, paths):
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                faults = list(wheel_faults(archive.namelist()))
        else:
            with tarfile.open(path) as archive:
                faults = list(sdist_faults(archive.getnames()))
        size = path.stat().st_size
        if size > LIMITS[path.suffix]:
            faults.append(f"has {size} bytes, more than {LIMITS[path.suffix]}")
        print(f"{path.name}: {size / 1000:.0f} kB, {len(faults)} faults")
        for fault in faults:
            print(f"  {fault}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
