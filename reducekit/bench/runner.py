"""The run: every cell made, answered, timed, and written down as plain data."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ..dtypes import ElementType
from . import machine
from .contenders import OURS, Call, Contender, Problem, Reader, installed, thread_counts
from .grid import Cell, cells, make, size_class
from .timing import FULL, QUICK, Effort, measure

__all__ = ["FORMAT", "run"]

FORMAT = "reducekit bench 1"


def run(
    *,
    quick: bool = False,
    threads: int = 1,
    only: Sequence[str] = (),
    peers: tuple[str, ...] | None = None,
    chosen: Iterable[Cell] | None = None,
    effort: Effort | None = None,
    seed: int = 0,
    on_cell: Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Measure, and return the results as data that ``json`` can write.

    Parameters
    ----------
    quick : bool, default False
        Fewer cells and less care: about a minute.
    threads : int, default 1
        For every contender that can be told.
    only : sequence of str, optional
        As for :func:`reducekit.bench.cells`.
    peers : tuple of str, optional
        The libraries to compare with; all that are installed if omitted.
    chosen : iterable of Cell, optional
        The cells themselves, instead of those that ``quick`` and ``only`` mean.
    effort : Effort, optional
        How long to measure; by default as ``quick`` says.
    seed : int, default 0
        Of the order in which contenders take turns.
    on_cell : callable, optional
        Gets each cell's dict when it is done.

    Returns
    -------
    dict
        As the docstring of :mod:`reducekit.bench` describes. After an interrupt
        it holds what was done until then, and ``complete`` is False.

    Examples
    --------
    >>> from reducekit import bench
    >>> results = bench.run(quick=True, only=["max float32 10"], peers=("numpy",))
    >>> [cell["name"] for cell in results["cells"]]
    ['max float32 10 over all']
    """
    if effort is None:
        effort = QUICK if quick else FULL
    if chosen is None:
        chosen = cells(quick=quick, only=only)
    contenders = installed(peers)
    facts = machine.describe()
    began, start, load = datetime.now(UTC), time.perf_counter(), machine.load()
    done: list[dict[str, Any]] = []
    complete = True
    # Peers warn of overflow in their sums and of arrays that are read-only.
    with warnings.catch_warnings(), thread_counts(contenders, threads):
        warnings.simplefilter("ignore")
        session = _Session(contenders, threads, effort, seed, facts["last_cache"])
        try:
            for cell in chosen:
                result = session.cell(cell)
                if result is not None:
                    done.append(result)
                    if on_cell is not None:
                        on_cell(result)
        except KeyboardInterrupt:
            complete = False
    return {
        "format": FORMAT,
        "started": began.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - start, 1),
        "complete": complete,
        "quick": quick,
        "threads": threads,
        "load": [load, machine.load()],
        "machine": facts,
        "versions": machine.versions(contenders),
        "contenders": [contender.name for contender in contenders],
        "skipped": session.skipped,
        "cells": done,
    }


class _Session:
    """What stays from cell to cell: the array, while it serves, and the block that is read."""

    def __init__(
        self,
        contenders: list[Contender],
        threads: int,
        effort: Effort,
        seed: int,
        last_cache: int | None,
    ) -> None:
        self.contenders = contenders
        self.threads = threads
        self.effort = effort
        self.seed = seed
        self.last_cache = last_cache
        self.skipped: list[str] = []
        self.reader = Reader()
        self._key: object = None
        self._data: NDArray[Any] | None = None

    def cell(self, cell: Cell) -> dict[str, Any] | None:
        """The results of a cell; None if its array does not fit into memory."""
        data = self._array(cell)
        if data is None:
            self.skipped.append(cell.name)
            return None
        problem = Problem(cell, data, self.threads)
        calls, answers = self._prepare(problem)
        memory = cell.case.memory(cell.element)
        reads, scale = self.reader.calls(memory)
        reading = {f"read {name}": call for name, call in reads.items()}
        times = measure(
            {**calls, **reading},
            self.effort,
            seed=zlib.crc32(cell.name.encode()) ^ self.seed,
            keep=(OURS, *reading),
        )
        read = {name: times.pop(f"read {name}") * scale for name in reads}
        verdicts, ulps = _judge(problem, answers)
        return _record(cell, memory, self.last_cache, times, read, verdicts, ulps)

    def _array(self, cell: Cell) -> NDArray[Any] | None:
        key = (cell.case, cell.element, cell.op if cell.element.kind == "bool" else None)
        if key != self._key:
            self._key, self._data = key, None
            free, need = machine.free_memory(), cell.case.memory(cell.element)
            if free is None or need + min(need, Reader.LONGEST) < 0.8 * free:
                self._data = make(cell)
        return self._data

    def _prepare(self, problem: Problem) -> tuple[dict[str, Call], dict[str, NDArray[Any]]]:
        calls, answers = {}, {}
        for contender in self.contenders:
            if contender.skips_nan and problem.cell.case.values == "nan":
                continue
            try:
                call = contender.call(problem)
                if call is not None:
                    answers[contender.name] = call.answer()
                    calls[contender.name] = call
            except Exception:
                # Each library has errors of its own for what it cannot do.
                if contender.name == OURS:
                    raise
        return calls, answers


def _record(
    cell: Cell,
    memory: int,
    last_cache: int | None,
    times: dict[str, float],
    read: dict[str, float],
    verdicts: dict[str, str],
    ulps: dict[str, float],
) -> dict[str, Any]:
    rivals = {
        name: seconds
        for name, seconds in times.items()
        if name != OURS and verdicts[name] != "differs"
    }
    best = min(rivals, key=rivals.__getitem__, default=None)
    ours = times[OURS]
    return {
        "name": cell.name,
        "op": cell.op.short,
        "dtype": cell.element.name,
        "case": cell.case.name,
        "shape": list(cell.case.shape),
        "axes": list(cell.case.axes),
        "layout": cell.case.layout,
        "values": cell.case.values,
        "elements": cell.case.elements,
        "memory": memory,
        "class": size_class(memory, last_cache),
        "seconds": {name: _digits(seconds) for name, seconds in times.items()},
        "read_seconds": {name: _digits(seconds) for name, seconds in read.items()},
        "answers": verdicts,
        "ulps": ulps,
        "best_peer": best,
        "ratio": None if best is None else _digits(rivals[best] / ours),
        "bandwidth": _digits(memory / ours),
        "share": _digits(min(read.values()) / ours) if read else None,
    }


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _judge(
    problem: Problem, answers: dict[str, NDArray[Any]]
) -> tuple[dict[str, str], dict[str, float]]:
    """How each answer compares, and for sums of floats how far it is from the true sum.

    A peer's sum of floats may be less accurate than ours; it "differs" only where it
    is further off than any order of adding the terms could be.
    """
    ours = answers[OURS]
    element = problem.cell.element
    if problem.cell.op.short == "sum" and element.kind == "float":
        truth = _true_sum(problem)
        if truth is not None:
            return _judge_sums(answers, truth, element, problem.data.size // max(ours.size, 1))
    verdicts = {name: "same" if _equal(each, ours) else "differs" for name, each in answers.items()}
    # Ours is held against NumPy, which takes part in every cell of a whole run.
    verdicts[OURS] = verdicts.get("numpy", "same")
    return verdicts, {}


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.shape != other.shape:
        return False
    # Some give a wider type than they got.
    one = one.astype(other.dtype)
    both_nan = (one != one) & (other != other)
    return bool(np.all((one == other) | both_nan))


def _true_sum(problem: Problem) -> NDArray[Any] | None:
    wide: Any = np.float64
    if problem.cell.element.name == "float64":
        wide = np.longdouble
        if np.finfo(wide).nmant <= 52:  # no wider type on this machine
            return None
    return np.asarray(np.add.reduce(problem.data, axis=problem.cell.case.axes, dtype=wide))


def _judge_sums(
    answers: dict[str, NDArray[Any]], truth: NDArray[Any], element: ElementType, terms: int
) -> tuple[dict[str, str], dict[str, float]]:
    info: Any = ml_dtypes.finfo(element.numpy_dtype)  # type: ignore[no-untyped-call]
    eps, tiny = float(info.eps), float(info.smallest_normal)
    known = np.isfinite(truth)
    size = np.maximum(np.abs(truth[known]), tiny)
    unit = np.exp2(np.floor(np.log2(size))) * eps
    verdicts, ulps = {}, {}
    for name, answer in answers.items():
        got = answer.astype(truth.dtype) if answer.shape == truth.shape else None
        if got is None or not np.array_equal(np.isnan(got), np.isnan(truth)):
            verdicts[name] = "differs"
            continue
        error = np.abs(got[known] - truth[known])
        worst = float(np.max(error / unit, initial=0.0))
        ulps[name] = _digits(worst)
        # Terms are about 1: no partial sum is above their number.
        close = worst <= 1.0 if name == OURS else bool(np.all(error <= eps * (4.0 * terms) ** 2))
        verdicts[name] = "close" if close else "differs"
    return verdicts, ulps
