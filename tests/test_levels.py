"""Every CPU level and number of threads gives the same bits, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from arrays import NAMES
from oracles import FUNCTIONS

from reducekit import _cpu, _kernels

LEVELS = ["generic", "x86_avx2", "x86_avx512"]


def run(level, *command, threads=2):
    return subprocess.run(
        [sys.executable, "-W", "error", *command],
        capture_output=True,
        text=True,
        env={**os.environ, "REDUCEKIT_CPU": level, "OMP_NUM_THREADS": str(threads)},
        check=False,
    )


def digests(level, threads=2):
    done = run(level, str(Path(__file__).parent / "levels.py"), threads=threads)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first == f"level {level}"
    return dict(line.rsplit(" ", 1) for line in rest)


@pytest.fixture(scope="module")
def of_generic():
    found = digests("generic")
    assert len(found) == len(FUNCTIONS) * len(NAMES) - 1
    return found


def test_generic_is_always_there():
    assert set(_kernels.available()) <= set(_cpu.supported())
    assert _kernels.available()[-1] == "generic"
    assert set(_cpu.supported()) <= set(LEVELS)
    assert _kernels.LEVEL in _kernels.available()


@pytest.mark.parametrize("level", [level for level in _kernels.available() if level != "generic"])
def test_levels_agree_to_the_bit(level, of_generic):
    found = digests(level)
    assert [key for key in of_generic if found[key] != of_generic[key]] == []
    assert found.keys() == of_generic.keys()


@pytest.mark.parametrize("threads", [1, 5])
def test_numbers_of_threads_agree_to_the_bit(threads, of_generic):
    found = digests("generic", threads)
    assert [key for key in of_generic if found[key] != of_generic[key]] == []


@pytest.mark.parametrize("level", ["sse9", *sorted(set(LEVELS) - set(_kernels.available()))])
def test_a_level_that_is_not_there_is_refused(level):
    done = run(level, "-c", "import reducekit")
    assert done.returncode == 1
    assert f"ImportError: REDUCEKIT_CPU={level!r} is not a level" in done.stderr
    assert "use one of" in done.stderr
