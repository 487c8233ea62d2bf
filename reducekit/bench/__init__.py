"""Benchmarks: every cell of one table, against the libraries that are installed.

``reducekit bench`` and ``make bench`` run this. From Python::

    from reducekit import bench
    results = bench.run(quick=True)
    print(bench.summary_text(results))

The results are a dict that ``json`` writes and reads unchanged (``--json FILE``):

========== =========================================================================
key        value
========== =========================================================================
format     ``"reducekit bench 1"``; the number changes with the meaning of a key
started    when, ISO 8601 in UTC; ``seconds``: how long the run took
complete   False after an interrupt; ``quick``: whether it was a quick run
threads    of every contender
load       the system's load before and after, or None
machine    ``processor system cpus caches last_cache memory level``; bytes, or None
versions   of Python and of each library that took part, by name
contenders their names, ``"reducekit"`` first
skipped    names of cells that were too large for the memory
cells      a list of dicts, as follows
========== =========================================================================

============ =======================================================================
key          value of a cell
============ =======================================================================
name         ``op dtype case``, as in ``"max float32 1e6x3 over 1 fortran"``
op, dtype    ``"max" "min" "sum"``; NumPy's full name
case         ``shape over axes``, then ``layout`` and ``values`` if not plain
shape, axes  lists of ints
layout       ``"C" "fortran" "permuted" "strided" "column" "reversed" "broadcast"
             "spread"``: see ``reducekit.bench.grid.LAYOUTS``
values       ``"ordinary"``, ``"nan"`` or ``"decided"``
elements     how many the reduction sees; ``memory``: bytes that must be read
class        ``"tiny"`` (at most 4 KiB), ``"cache"`` (fits the last one), ``"memory"``
seconds      the least time of a call, by contender; who has no such reduction is absent
read_seconds the time of plain loops that only read as many bytes, by their name; empty
             for small cells
answers      by contender: ``"same"``; ``"close"`` for a sum of floats within what some
             order of adding gives (ours: within 1 ulp); ``"differs"``
ulps         for sums of floats, by contender: the worst error against the true sum, in
             units of the last place of the type
best_peer    the fastest other whose answer does not differ, or None
ratio        its time over ours, or None: above 1, reducekit is faster
bandwidth    bytes per second that we read
share        the time of the fastest reading loop over ours, or None: 1 is the limit of
             this machine
============ =======================================================================

``reducekit.plot.bench`` draws such a dict.
"""

from __future__ import annotations

from .grid import CASES, Case, Cell, cells
from .results import load, readme_table, summary, summary_text, to_json, update_readme
from .runner import run

__all__ = [
    "CASES",
    "Case",
    "Cell",
    "cells",
    "load",
    "readme_table",
    "run",
    "summary",
    "summary_text",
    "to_json",
    "update_readme",
]
