"""What runs in a process of its own: the peak of memory, and calls to be counted.

``python -m reducekit.bench.child peak OP DTYPE CASE THREADS`` and
``... calls OP DTYPE CASE WHO COUNT``, where CASE is JSON; for the measures alone.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
import timeit
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .. import schema
from ..dtypes import by_name
from .contenders import CONTENDERS, Call, Contender, Problem, thread_counts
from .grid import Case, Cell, make

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak(cell: Cell, threads: int) -> dict[str, Any]:
    """The most bytes beyond the result while a cell is reduced, and the seconds it took."""
    ours = CONTENDERS[0]
    with thread_counts([ours], threads):
        call = _call(ours, cell, threads)
        # The same on less, so that code and stacks of threads are there.
        shape = tuple(min(size, 64) for size in cell.case.shape)
        _call(ours, replace(cell, case=replace(cell.case, shape=shape)), threads).answer()
        resident, seconds, result = _resident_peak(call.answer)
        tracemalloc.start()
        call.answer()
        traced = tracemalloc.get_traced_memory()[1]
    return {
        "resident": None if resident is None else max(0, resident - result.nbytes),
        "traced": max(0, traced - result.nbytes),
        "seconds": seconds,
    }


def _resident_peak(
    function: Callable[[], NDArray[Any]],
) -> tuple[int | None, float, NDArray[Any]]:
    before = None
    try:
        _CLEAR.write_text("5", encoding="ascii")  # the peak begins anew
        before = _status("VmHWM")
    except OSError:  # no Linux, or not allowed
        pass
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    return None if before is None else _status("VmHWM") - before, seconds, result


def _status(key: str) -> int:
    for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {key}")


def calls(cell: Cell, who: str, count: int) -> None:
    """Reduce a cell so many times within one call of the C library's ``qsort``.

    It calls back once for two items, and hardly anyone else calls it, so a profiler can
    be told to count what happens within it alone. The rest of a process is never twice
    the same.
    """
    (contender,) = (each for each in CONTENDERS if each.name == who)
    with thread_counts([contender], 1):
        call = _call(contender, cell, 1)
        timer = timeit.Timer(call.statement, globals=call.names)
        call.answer()

        def repeat(one: object, other: object) -> int:
            del one, other
            timer.timeit(count)
            return 0

        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        callback = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)
        sort = ctypes.CDLL(None).qsort
        sort.argtypes = [pointer, size, size, callback]
        sort.restype = None
        sort(ctypes.create_string_buffer(2), 2, 1, callback(repeat))


def _call(contender: Contender, cell: Cell, threads: int) -> Call:
    call = contender.call(Problem(cell, make(cell), threads))
    assert call is not None
    return call


def _main(what: str, op: str, dtype: str, case: str, *words: str) -> None:
    fields = json.loads(case)
    fields["shape"], fields["axes"] = tuple(fields["shape"]), tuple(fields["axes"])
    cell = Cell(schema.operator(op), by_name(dtype), Case(**fields))
    if what == "peak":
        sys.stdout.write(json.dumps(peak(cell, int(words[0]))))
    else:
        calls(cell, words[0], int(words[1]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
