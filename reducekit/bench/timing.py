"""Times of several calls that are compared with each other.

Design. Noise only ever adds time, and it comes in spells. So the contenders take
turns, in an order that is drawn anew each round, and the least time of each counts.
Who is still far behind the best peer after some rounds sits the others out: more care
cannot make it the best, and it would cost most of the run.
"""

from __future__ import annotations

import random
import time
import timeit
from collections.abc import Mapping
from dataclasses import dataclass

from .contenders import Call

__all__ = ["FULL", "QUICK", "Effort", "measure", "turn"]

_HOPELESS = 4.0
# Rounds that all take part in, unless one call is this share of the budget: what is
# short may look long once, when the machine was busy.
_TRIAL = 3
_LONG = 0.1
# What was read by others in between is brought back first, unless no cache could hold it.
_WARM = 0.005


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: seconds in a batch of calls, rounds, seconds for all rounds."""

    batch: float
    rounds: int
    budget: float


QUICK = Effort(batch=0.0005, rounds=8, budget=0.3)
FULL = Effort(batch=0.002, rounds=15, budget=2.5)


def measure(
    calls: Mapping[str, Call], effort: Effort, *, seed: int = 0, keep: tuple[str, ...] = ()
) -> dict[str, float]:
    """The least seconds that each call took.

    Parameters
    ----------
    calls : mapping of str to Call
        What is compared.
    effort : Effort
        How long.
    seed : int, default 0
        Of the order of turns.
    keep : tuple of str, optional
        Who is no peer, and is timed to the end even if it is far behind.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> from reducekit.bench.contenders import Call
    >>> times = measure({"a": Call("sum(x)", {"x": [1, 2]})}, QUICK)
    >>> 0 < times["a"] < 1
    True
    """
    order = random.Random(seed)
    timers = {
        name: timeit.Timer(call.statement, globals=call.names) for name, call in calls.items()
    }
    best: dict[str, float] = {}
    numbers: dict[str, int] = {}
    for name, timer in timers.items():
        _prepare(calls[name])
        first = timer.timeit(1)
        second = min(first, timer.timeit(1)) if first < effort.budget else first
        numbers[name] = _number(effort, second)
        best[name] = timer.timeit(numbers[name]) / numbers[name] if numbers[name] > 1 else second
        numbers[name] = _number(effort, best[name])
    peers = [name for name in timers if name not in keep]
    names = list(timers)
    start = time.perf_counter()
    for turn in range(effort.rounds):
        if turn >= _TRIAL and time.perf_counter() - start > effort.budget:
            break
        order.shuffle(names)
        limit = _HOPELESS * min((best[name] for name in peers), default=0.0)
        for name in names:
            tried = turn >= _TRIAL or best[name] > _LONG * effort.budget
            if name in peers and tried and best[name] > limit:
                continue
            _prepare(calls[name])
            if numbers[name] < 20 and best[name] < _WARM:
                timers[name].timeit(1)
            best[name] = min(best[name], timers[name].timeit(numbers[name]) / numbers[name])
    return best


def turn(call: Call, effort: Effort) -> float:
    """The least seconds that a call took in a turn: as many batches as an effort has rounds.

    The first call is not timed: it wakes threads, and brings back what was read by others.

    >>> from reducekit.bench.contenders import Call
    >>> 0 < turn(Call("sum(x)", {"x": [1, 2]}), QUICK) < 1
    True
    """
    timer = timeit.Timer(call.statement, globals=call.names)
    _prepare(call)
    timer.timeit(1)
    end = time.perf_counter() + effort.batch * effort.rounds
    best = timer.timeit(1)
    while time.perf_counter() < end:
        number = _number(effort, best)
        best = min(best, timer.timeit(number) / number)
    return best


def _number(effort: Effort, seconds: float) -> int:
    """How many calls of so many seconds make a batch."""
    return max(1, min(100_000, int(effort.batch / max(seconds, 1e-7))))


def _prepare(call: Call) -> None:
    if call.before is not None:
        call.before()
