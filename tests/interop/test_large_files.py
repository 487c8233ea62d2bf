"""A file of 20 GiB is reduced in the memory of a small one."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.lib import format as npy

GIB = 1 << 30
SHAPE = (5 * 1024, 1024, 1024)  # float32: 20 GiB

# Runs the command line and says how much memory it took at most, in KiB. What getrusage
# calls the most is at least what the process that started it had.
CODE = """
import re, sys
from reducekit.cli import main
status = main(sys.argv[1:])
print(re.search("VmHWM: *([0-9]+) kB", open("/proc/self/status").read().expandtabs())[1],
      file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """Zeros that take no disk, but for three elements."""
    path = tmp_path_factory.mktemp("large") / "sparse.npy"
    with path.open("wb") as file:
        npy.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": SHAPE}
        )  # fmt: skip
        start = file.tell()
        file.truncate(start + 20 * GIB)
        for at, value in ((0, 1e8), (10 * GIB, 1.0), (20 * GIB - 4, -1e8)):
            file.seek(start + at)
            file.write(np.float32(value).tobytes())
    assert path.stat().st_blocks * 512 < GIB
    return path


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize(
    ("op", "axes", "want"), [("max", [], 1e8), ("sum", [], 1.0), ("min", ["--axes", "0"], -1e8)]
)
def test_a_file_of_20_gib(sparse, tmp_path, op, axes, want):
    out = tmp_path / "out.npy"
    command = ["reduce", op, str(sparse), *axes, "-o", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    largest = np.load(out)
    assert largest.flat[-1 if axes else 0] == np.float32(want)
    peak = int(done.stderr.split()[-1]) * 1024
    assert peak < 300 << 20
