"""What runs in a process of its own: the peak of memory, calls to be counted, and turns.

``python -m reducekit.bench.child peak OP DTYPE CASE THREADS``, ``... calls OP DTYPE CASE
WHO COUNT``, where CASE is JSON, and ``... turns WHO THREADS``; for the measures alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import timeit
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .. import schema
from ..dtypes import by_name
from .contenders import CONTENDERS, Call, Contender, Problem, thread_counts
from .grid import Case, Cell, make
from .timing import Effort, turn

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")

# Threads that wait for work look out for it this long at most: LLVM's OpenMP 0.2 seconds.
_LOOKOUT = 0.25
# Their use of processors is counted at ticks, of 0.004 seconds as a rule.
_TICK = 0.005


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
    contender = _contender(who)
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


def turns(who: str, threads: int) -> None:
    """Time a cell for each line of standard input, ``[[OP, DTYPE, CASE], [BATCH, ROUNDS]]``.

    The answer is a line too: the seconds, or a text that says why there are none.
    """
    # What libraries print is no answer.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        warnings.simplefilter("ignore")
        contender, last, call = _contender(who), None, None
        for line in sys.stdin:
            words, (batch, rounds) = json.loads(line)
            answer: float | str
            try:
                with thread_counts([contender], threads):
                    if words != last:
                        call = last = None  # its array is not needed beside the next one
                        call, last = _call(contender, _cell(*words), threads), words
                    assert call is not None
                    answer = turn(call, Effort(batch, rounds, 0.0))
            except Exception as error:  # noqa: BLE001 - a peer may have no such reduction
                answer = f"{type(error).__name__}: {error}"
            _rest()
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def _rest() -> None:
    """Wait until all threads sleep: one that looks out for work takes a processor from others."""
    end = time.perf_counter() + _LOOKOUT
    while time.perf_counter() < end:
        used = time.process_time()
        time.sleep(_TICK)
        if time.process_time() - used < _TICK / 10:
            break


def _contender(who: str) -> Contender:
    (contender,) = (each for each in CONTENDERS if each.name == who)
    return contender


def _call(contender: Contender, cell: Cell, threads: int) -> Call:
    call = contender.call(Problem(cell, make(cell), threads))
    assert call is not None
    return call


def _cell(op: str, dtype: str, case: str) -> Cell:
    fields = json.loads(case)
    fields["shape"], fields["axes"] = tuple(fields["shape"]), tuple(fields["axes"])
    return Cell(schema.operator(op), by_name(dtype), Case(**fields))


def _main(what: str, *words: str) -> None:
    if what == "turns":
        turns(words[0], int(words[1]))
    elif what == "peak":
        sys.stdout.write(json.dumps(peak(_cell(*words[:3]), int(words[3]))))
    else:
        calls(_cell(*words[:3]), words[3], int(words[4]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
