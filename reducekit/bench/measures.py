"""What a ratio does not show: small calls, growth, memory, threads, instructions.

Each measure says the lines of a report as it goes, and returns its rows as data.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import reducekit

from .. import schema
from .._show import bytes_text
from ..dtypes import by_name
from ..errors import ArgumentError
from . import machine
from .contenders import OURS, Call, Contender, Problem, Reader, installed, thread_counts
from .grid import Case, Cell, cells, make, matches, some
from .results import ratio_text, seconds_text
from .timing import FULL, QUICK, Effort, measure

__all__ = ["MEASURES", "MEMORY_CASES", "callgrind", "linear", "memory", "threads", "tiny"]

Say = Callable[[str], object]
Rows = list[dict[str, Any]]

# What the project asks of itself.
REDUCE_LIMIT = 0.25
MAX_LIMIT = 0.1
GROWTH_LIMIT = 1.2
MEMORY_LIMIT = 1 << 20
LARGE = 1_000_000

# Problems of 1e7 elements, to be compared with those ten times as long.
GROWING_CASES: tuple[Case, ...] = (
    Case((10_000_000,), (0,)),
    Case((1_000_000, 10), (0,)),
    Case((1_000_000, 10), (1,)),
    Case((1_000_000, 10), (1,), "fortran"),
    Case((10_000, 1000), (0,)),
    Case((10_000, 1000), (1,)),
    Case((10_000, 1000), (1,), "strided"),
)

MEMORY_CASES: tuple[Case, ...] = (
    Case((20_000_000,), (0,), quick=True),
    Case((5000, 4000), (0,), quick=True),
    Case((5000, 4000), (1,)),
    Case((5000, 4000), (0,), "fortran"),
    Case((5000, 4000), (1,), "fortran", quick=True),
    Case((7_000_000, 3), (0,)),
    Case((7_000_000, 3), (1,), quick=True),
    Case((3, 7_000_000), (0,)),
    Case((128, 256, 512), (0, 2)),
    Case((128, 256, 512), (1,), "permuted"),
    Case((5000, 4000), (0,), "strided"),
    Case((5000, 4000), (1,), "strided"),
    Case((2_000_000,), (0,), "column"),
    Case((5000, 4000), (1,), "reversed"),
    Case((16, 16, 16, 16, 16, 16), (1, 3, 5)),
    # Views of far more elements than there is memory for.
    Case((2**31, 1), (0,), "broadcast", quick=True),
    Case((2**21, 1024), (0,), "broadcast"),
    Case((2**21, 1024), (1,), "broadcast"),
    Case((1024, 2**21), (0,), "spread"),
    Case((1024, 2**21), (1,), "spread"),
)
"""Layouts whose need of memory is measured."""


def _kinds(only: Sequence[str], quick: bool, default: Sequence[str] = ("*",)) -> Iterator[Cell]:
    """A cell of ten elements for each operator and type that the texts ask for."""
    return cells(quick=quick, only=[f"{text} 10 all" for text in (only or default)])


def tiny(say: Say, *, quick: bool = False, threads: int = 1, only: Sequence[str] = ()) -> Rows:
    """Calls on ten elements, against the same call of NumPy: bare, and with keywords.

    ``np.max`` is the function that users call, ``np.maximum.reduce`` what is within.
    With keywords, ours also says the opset, which NumPy has not.
    """
    effort = replace(QUICK, rounds=9) if quick else replace(FULL, rounds=25)
    chosen = some(_kinds(only, quick), only)
    say(
        f"ten elements: time, and its ratio to np.max (at most {MAX_LIMIT}) "
        f"and np.maximum.reduce (at most {REDUCE_LIMIT})"
    )
    say(
        f"{'':<14}{'bare':>9}{'np.max':>9}{'.reduce':>9}"
        f"{'keywords and opset':>22}{'np.max':>9}{'.reduce':>9}"
    )
    rows: Rows = []
    with thread_counts(installed(()), threads):
        for cell in chosen:
            times = measure(_tiny_calls(cell), effort, keep=("ours", "ours with"))
            row: dict[str, Any] = {"op": cell.op.short, "dtype": cell.element.name}
            line = f"{cell.op.short} {cell.element.name:<10}"
            for suffix, width in (("", 9), (" with", 22)):
                own = times[f"ours{suffix}"]
                to_max, to_reduce = own / times[f"max{suffix}"], own / times[f"reduce{suffix}"]
                key = suffix.strip() and "keywords_"
                row |= {f"{key}seconds": own, f"{key}max": to_max, f"{key}reduce": to_reduce}
                line += f"{seconds_text(own):>{width}}{to_max:>9.3f}{to_reduce:>9.3f}"
            row["over"] = (
                max(row["max"], row["keywords_max"]) > MAX_LIMIT
                or max(row["reduce"], row["keywords_reduce"]) > REDUCE_LIMIT
            )
            say(line + "  OVER" * row["over"])
            rows.append(row)
    _say_over(say, rows)
    return rows


def _tiny_calls(cell: Cell) -> dict[str, Call]:
    op = cell.op
    ufunc = {"max": np.maximum, "min": np.minimum, "sum": np.add}[op.short]
    names = {
        "x": make(cell),
        "ours": getattr(reducekit, op.function),
        "reduce": ufunc.reduce,
        "function": getattr(np, op.short),
    }
    more = f", opset={schema.NEWEST_OPSET}" if cell.strict else ", strict=False"
    return {
        "ours": Call("ours(x)" if cell.strict else "ours(x, strict=False)", names),
        "ours with": Call(f"ours(x, axes=[0], keepdims=True{more})", names),
        "max": Call("function(x)", names),
        "max with": Call("function(x, axis=0, keepdims=True)", names),
        "reduce": Call("reduce(x)", names),
        "reduce with": Call("reduce(x, axis=0, keepdims=True)", names),
    }


def linear(say: Say, *, quick: bool = False, threads: int = 1, only: Sequence[str] = ()) -> Rows:
    """Time per element at 1e8 elements, over that at 1e7.

    The plain reading loop is shown beside it: where the smaller array is in cache
    and the larger is not, it grows too, and such cells are marked, not counted.
    """
    default = ("max float32", "sum float32", "max float16", "sum float64", "max int64")
    kinds = some(_kinds(only, quick, default[: 2 if quick else None]), only)
    cache = machine.describe()["last_cache"] or 0
    effort = Effort(0.0, 5, 0.4) if quick else Effort(0.0, 15, 2.0)
    ours, reader = installed(())[0], Reader()
    say(
        f"time per element at 1e8 over that at 1e7, at most {GROWTH_LIMIT}, "
        "and the same of a reading loop"
    )
    rows: Rows = []
    with thread_counts([ours], threads):
        for case in GROWING_CASES[: 3 if quick else None]:
            for kind in kinds:
                row = _growth(replace(kind, case=case), ours, reader, effort, threads)
                # What is a little larger than the cache is still found there in part.
                row["cached"] = case.memory(kind.element) <= 2 * cache
                row["over"] = row["growth"] > GROWTH_LIMIT and not row["cached"]
                say(
                    f"{row['name']:<46}{row['growth']:>6.2f}  reading {row['reading_growth']:.2f}"
                    + "  (1e7 are partly in cache)" * row["cached"]
                    + "  OVER" * row["over"]
                )
                rows.append(row)
    _say_over(say, rows)
    return rows


def _growth(
    cell: Cell, ours: Contender, reader: Reader, effort: Effort, threads: int
) -> dict[str, Any]:
    longer = (10 * cell.case.shape[0], *cell.case.shape[1:])
    pair = (cell, replace(cell, case=replace(cell.case, shape=longer)))
    calls: dict[str, Call] = {}
    scales: list[float] = []
    for number, each in enumerate(pair):
        calls[f"{number}"] = _call(ours, Problem(each, make(each), threads))
        reads, scale = reader.calls(each.case.memory(each.element))
        calls |= {f"{number} {name}": call for name, call in reads.items()}
        scales.append(scale)
    times = measure(calls, effort, keep=tuple(calls))
    per, plain = [], []
    for number, each in enumerate(pair):
        per.append(times[f"{number}"] / each.case.elements)
        reading = min(t for name, t in times.items() if name.startswith(f"{number} "))
        plain.append(reading * scales[number] / each.case.elements)
    return {
        "name": cell.name,
        "seconds_per_element": per,
        "growth": per[1] / per[0],
        "reading_growth": plain[1] / plain[0],
    }


def memory(say: Say, *, quick: bool = False, threads: int = 1, only: Sequence[str] = ()) -> Rows:
    """The most memory that a call takes beyond its result, each in a process of its own.

    ``resident`` is what the system counted (VmHWM, on Linux alone), code that is
    loaded at the first call included; ``traced`` is what Python's allocators gave.
    """
    every = (
        Cell(schema.operator(op), by_name(dtype), case)
        for case in MEMORY_CASES
        if case.quick or not quick
        for dtype in ("float32", "float16", "int64")[: 1 if quick else None]
        for op in ("max", "sum")
    )
    chosen = some(
        (cell for cell in every if not only or any(matches(cell.name, text) for text in only)), only
    )
    say(f"peak memory beyond the result, at most {bytes_text(MEMORY_LIMIT)}")
    say(f"{'':<48}{'resident':>11}{'traced':>11}{'time':>10}")
    rows: Rows = []
    for cell in chosen:
        row: dict[str, Any] = {"name": cell.name, **json.loads(_child("peak", cell, str(threads)))}
        counted = [row[key] for key in ("resident", "traced") if row[key] is not None]
        row["over"] = max(counted) > MEMORY_LIMIT
        say(
            f"{cell.name:<48}{_bytes(row['resident']):>11}{_bytes(row['traced']):>11}"
            f"{seconds_text(row['seconds']):>10}" + "  OVER" * row["over"]
        )
        rows.append(row)
    _say_over(say, rows)
    return rows


def threads(say: Say, *, quick: bool = False, threads: int = 2, only: Sequence[str] = ()) -> Rows:
    """Arrays of 1e6 elements and more on several threads, against PyTorch and one thread.

    Each has a process of its own, and they take turns: threads that look out for work for
    a while, as OpenMP's do, would take a processor from the next one.
    """
    large = (cell for cell in cells(quick=quick, only=only) if cell.case.elements >= LARGE)
    chosen = some(large, only)
    say(f"{threads} threads: reducekit, its gain over one thread, and torch / reducekit")
    if not hasattr(reducekit, "set_num_threads"):
        say("reducekit has no threads in this build: its times are those of one")
    rows: Rows = []
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(closing(_Worker(who, count)))
            for name, who, count in (
                (OURS, OURS, threads),
                ("one thread", OURS, 1),
                ("torch", "torch", threads),
            )
        }
        for cell in chosen:
            row = _threads_row(cell, workers, QUICK if quick else FULL)
            say(
                f"{cell.name:<46}{seconds_text(row['seconds'][OURS]):>9}"
                f"{row['gain']:>7.2f} x   torch {ratio_text(row['ratio']):>5} x"
                + "  BEHIND"
                * row["over"]
            )
            rows.append(row)
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        say(f"torch / reducekit: worst {ratio_text(min(ratios))}, mean {ratio_text(mean)}")
    _say_over(say, rows)
    return rows


def _threads_row(cell: Cell, workers: Mapping[str, _Worker], effort: Effort) -> dict[str, Any]:
    times: dict[str, float] = {}
    names = list(workers)
    start = 0.0
    for number in range(effort.rounds):
        if number < 2:
            start = time.perf_counter()  # libraries are loaded and arrays made in the first
        elif time.perf_counter() - start > effort.budget:
            break
        for name in list(names):
            answer = workers[name].turn(cell, effort)
            if isinstance(answer, float):
                times[name] = min(answer, times.get(name, answer))
            elif name == "torch":  # it has no such reduction
                names.remove(name)
                times.pop(name, None)
            else:
                raise _failed(cell, answer)
    ratio = times["torch"] / times[OURS] if "torch" in times else None
    return {
        "name": cell.name,
        "seconds": times,
        "gain": times["one thread"] / times[OURS],
        "ratio": ratio,
        "over": ratio is not None and ratio < 1,
    }


class _Worker:
    """A library in a process of its own, which sleeps but for its turns."""

    def __init__(self, who: str, threads: int) -> None:
        self._words = ("turns", who, str(threads))
        self._process: subprocess.Popen[bytes] | None = None

    def turn(self, cell: Cell, effort: Effort) -> float | str:
        """The least seconds of a turn, or why there are none; who died is replaced."""
        if self._process is None:
            self._process = subprocess.Popen(
                _command(*self._words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=_environment(),
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        question = json.dumps([_words(cell), [effort.batch, effort.rounds]])
        try:
            process.stdin.write(f"{question}\n".encode())
            answer: float | str = json.loads(process.stdout.readline())
        except (OSError, ValueError):  # it died, and no line is no JSON
            answer = f"status {process.wait()}"
            self.close()
        return answer

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            with self._process:
                self._process.kill()
            self._process = None


def callgrind(say: Say, only: Sequence[str]) -> Rows:
    """Instructions of one call, as valgrind counts them: no noise, but no memory either.

    The same program runs with one call and with more, and only the calls and the loop
    around them are counted; the difference is that of the calls alone.

    Raises
    ------
    ArgumentError
        If valgrind is not installed, or the texts do not mean one to eight cells.
    """
    if shutil.which("valgrind") is None:
        raise ArgumentError("bench: valgrind is not installed; apt-get install valgrind, or alike")
    chosen = list(cells(only=only))
    if not 1 <= len(chosen) <= 8:
        raise ArgumentError(
            f"bench: callgrind={' or '.join(only)!r} means {len(chosen)} cells; name one to eight, "
            "as in 'max float32 1e5 all'"
        )
    say(f"{'instructions':<46}{'a call':>14}{'an element':>12}{'numpy':>14}{'numpy / own':>13}")
    rows: Rows = []
    for cell in chosen:
        more = 100 if cell.case.elements <= 10_000 else 4
        row: dict[str, Any] = {"name": cell.name}
        for who in (OURS, "numpy"):
            few, many = (_instructions(cell, who, count) for count in (1, 1 + more))
            row[who] = (many - few) / more
        say(
            f"{cell.name:<46}{row[OURS]:>14,.0f}{row[OURS] / cell.case.elements:>12.3f}"
            f"{row['numpy']:>14,.0f}{row['numpy'] / row[OURS]:>13.2f}"
        )
        rows.append(row)
    return rows


def _instructions(cell: Cell, who: str, calls: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        tool = [
            "valgrind", "--tool=callgrind", f"--log-file={log}",
            f"--callgrind-out-file={Path(folder, 'out')}",
            # What qsort does its work in, which valgrind knows by name.
            "--collect-atstart=no", "--toggle-collect=*qsort_r",
        ]  # fmt: skip
        _child("calls", cell, who, str(calls), tool=tool)
        text = log.read_text(encoding="utf-8", errors="replace")
    found = re.search(r"Collected : (\d+)", text)
    if found is None or not int(found[1]):
        raise ArgumentError(f"bench: valgrind counted nothing; it said: {text[-300:]}")
    return int(found[1])


def _call(contender: Contender, problem: Problem) -> Call:
    call = contender.call(problem)
    assert call is not None
    return call


def _child(what: str, cell: Cell, *words: str, tool: Sequence[str] = ()) -> str:
    """What a process of its own says about a cell."""
    command = [*tool, *_command(what, *_words(cell), *words)]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
        raise _failed(cell, last[0])
    return done.stdout


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", f"{__package__}.child", *words]


def _words(cell: Cell) -> list[str]:
    return [cell.op.short, cell.element.name, json.dumps(asdict(cell.case))]


def _environment() -> dict[str, str]:
    found = Path(reducekit.__file__).parent.parent
    path = os.pathsep.join([str(found), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Sets in a fixed order, so that two processes differ in nothing but what is measured.
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def _failed(cell: Cell, why: str) -> ArgumentError:
    return ArgumentError(f"bench: the process that measures {cell.name} failed: {why}")


def _bytes(count: int | None) -> str:
    return "-" if count is None else bytes_text(count)


def _say_over(say: Say, rows: Rows) -> None:
    say(f"over the limit: {sum(row['over'] for row in rows)} of {len(rows)}")


MEASURES: dict[str, Callable[..., Rows]] = {
    "tiny": tiny,
    "linear": linear,
    "memory": memory,
    "threads": threads,
}
