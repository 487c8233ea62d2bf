"""Results as people read them: a line for each cell, a summary, the README's table."""

from __future__ import annotations

import json
import math
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .._files import FileError, Target
from .._show import visible
from .contenders import OURS
from .grid import CASES
from .runner import FORMAT

__all__ = [
    "cell_line",
    "load",
    "readme_table",
    "seconds_text",
    "summary",
    "summary_text",
    "to_json",
    "update_readme",
]

# Below this a cell is behind by more than what two runs differ by.
NOISE = 0.95
CLASSES = ("tiny", "cache", "memory")
START, END = "<!-- bench:start -->", "<!-- bench:end -->"
# The README's columns: the types that most data has.
COLUMNS = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool")

README_WIDTH = 116

_Cells = Sequence[dict[str, Any]]


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The results in a JSON file.

    Raises
    ------
    FileError
        If it cannot be read or is not of this program.
    """
    shown = visible(str(path), 200)
    try:
        results = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {shown}: {error.strerror}") from None
    except ValueError as error:
        raise FileError(f"cannot read {shown}: it is not JSON ({error})") from None
    if not isinstance(results, dict) or results.get("format") != FORMAT:
        raise FileError(f"cannot read {shown}: it holds no results in the format {FORMAT!r}")
    return results


def to_json(results: dict[str, Any]) -> str:
    """The results as JSON, a line for each cell."""
    head = {key: value for key, value in results.items() if key != "cells"}
    lines = ",\n".join(json.dumps(cell) for cell in results["cells"])
    text = json.dumps(head, indent=1)
    return f'{text[:-2]},\n "cells": [\n{lines}\n]\n}}'


def seconds_text(seconds: float) -> str:
    """A time with three digits and a unit.

    >>> [seconds_text(s) for s in (8.1e-08, 3.25e-05, 0.0123, 2.0)]
    ['81.0 ns', '32.5 us', '12.3 ms', '2.00 s']
    """
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    unit, size = next((each for each in units if seconds >= each[1]), units[-1])
    value = seconds / size
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


def ratio_text(ratio: float | None) -> str:
    """A ratio with two digits behind the point, fewer where it is large.

    >>> ratio_text(0.934), ratio_text(3.96), ratio_text(25.2), ratio_text(None)
    ('0.93', '4.0', '25', '-')
    """
    if ratio is None:
        return "-"
    # Cut, not rounded: a cell that is behind must not read as level.
    if ratio < 1:
        return f"{math.floor(ratio * 100) / 100:.2f}"
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def cell_line(cell: dict[str, Any]) -> str:
    """One line of a running report: our time, the bandwidth and its share, the best peer."""
    share = "" if cell["share"] is None else f"{cell['share']:.0%}"
    speed = "" if cell["class"] == "tiny" else f"{cell['bandwidth'] / 1e9:.1f} GB/s"
    line = f"{cell['name']:<46} {seconds_text(cell['seconds'][OURS]):>8} {speed:>10} {share:>5}"
    if cell["best_peer"] is not None:
        best = cell["best_peer"]
        line += f"  {ratio_text(cell['ratio']):>5} x  {best} {seconds_text(cell['seconds'][best])}"
        if cell["ratio"] < 1:
            line += "  BEHIND"
    wrong = [name for name, verdict in cell["answers"].items() if verdict == "differs"]
    return f"{line}  (another answer: {', '.join(wrong)})" if wrong else line


def summary(cells: _Cells) -> dict[str, Any]:
    """The figures of some cells that have a peer.

    >>> summary([{"ratio": 2.0}, {"ratio": 0.5}, {"ratio": None}])
    {'cells': 2, 'worst': 0.5, 'mean': 1.0, 'behind': 1, 'clearly_behind': 1}
    """
    ratios = [cell["ratio"] for cell in cells if cell["ratio"] is not None]
    return {
        "cells": len(ratios),
        "worst": min(ratios, default=None),
        "mean": math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None,
        "behind": sum(ratio < 1 for ratio in ratios),
        "clearly_behind": sum(ratio < NOISE for ratio in ratios),
    }


def summary_text(results: dict[str, Any]) -> str:
    """The machine, the figures by size class and operator and type, the worst ten cells."""
    cells = results["cells"]
    lines = [*_circumstances(results), ""]
    if not cells:
        return "\n".join([*lines, "no cell was measured"])
    lines.append(f"{'ratio = best peer / reducekit':<30}   cells  worst   mean  behind  below 0.95")
    lines.append(_figures("all", cells))
    rows: list[tuple[str, Callable[[dict[str, Any]], bool]]] = []
    rows += [(_class_text(name, results), _has("class", name)) for name in CLASSES]
    rows += [(name, _has("op", name)) for name in _in_order(cells, "op")]
    rows += [(name, _has("dtype", name)) for name in _in_order(cells, "dtype")]
    lines += [
        _figures(f"  {title}", part)
        for title, test in rows
        if (part := [cell for cell in cells if test(cell)]) and len(part) < len(cells)
    ]
    large = [
        cell["share"] for cell in cells if cell["share"] is not None and cell["class"] == "memory"
    ]
    if large:
        large.sort()
        lines.append(
            f"share of the read bandwidth, cells in memory: least {large[0]:.0%}, "
            f"median {large[len(large) // 2]:.0%}"
        )
    ranked = sorted((c for c in cells if c["ratio"] is not None), key=lambda c: c["ratio"])
    lines += ["", "the ten worst:", *(f"  {cell_line(cell)}" for cell in ranked[:10])]
    lines += _weak_shapes(cells)
    lines += _answers_text(cells)
    if results["skipped"]:
        lines.append(f"skipped, too large for this memory: {len(results['skipped'])} of the cells")
    return "\n".join(lines)


def _circumstances(results: dict[str, Any]) -> list[str]:
    machine, versions = results["machine"], results["versions"]
    first = (
        f"reducekit {versions['reducekit']} ({machine['level']}, {_threads_text(results)}) "
        f"against {_peers_text(results)}"
    )
    second = (
        f"{machine['processor']}, {machine['cpus']} processors, {machine['system']}, "
        f"Python {versions['python']}; {results['started'][:10]}, "
        f"{results['seconds']:.0f} s{', quick' if results['quick'] else ''}"
    )
    lines = [*_filled(first), second]
    busy = max((load for load in results["load"] if load is not None), default=0.0)
    if busy > results["threads"] + 0.5:
        lines.append(f"the machine was busy with other work (load {busy}): times are too long")
    if not results["complete"]:
        lines.append("the run was interrupted: the figures are of a part of the cells")
    return lines


def _class_text(name: str, results: dict[str, Any]) -> str:
    cache = results["machine"]["last_cache"]
    size = f" (last cache {cache >> 20} MiB)" if name == "memory" and cache else ""
    return f"{name}{size}"


def _has(key: str, value: str) -> Callable[[dict[str, Any]], bool]:
    return lambda cell: bool(cell[key] == value)


def _in_order(cells: Iterable[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(cell[key] for cell in cells))


def _figures(title: str, cells: _Cells) -> str:
    found = summary(cells)
    return (
        f"{title:<32} {found['cells']:>5}  {ratio_text(found['worst']):>5}  "
        f"{ratio_text(found['mean']):>5}  {found['behind']:>6}  {found['clearly_behind']:>10}"
    )


def _weak_shapes(cells: _Cells) -> list[str]:
    """The cases in which most cells are behind."""
    found = []
    for name in _in_order(cells, "case"):
        figures = summary([cell for cell in cells if cell["case"] == name])
        if figures["behind"]:
            found.append((figures["behind"], figures["cells"], name))
    found.sort(key=lambda each: -each[0] / each[1])
    lines = [f"  {name:<44} {behind} of {count}" for behind, count, name in found[:10]]
    return ["", "shapes that are most often behind:", *lines] if lines else []


def _answers_text(cells: _Cells) -> list[str]:
    lines = []
    differing: dict[str, int] = {}
    worst: dict[str, float] = {}
    for cell in cells:
        for name, verdict in cell["answers"].items():
            differing[name] = differing.get(name, 0) + (verdict == "differs")
        for name, ulps in cell["ulps"].items():
            worst[name] = max(worst.get(name, 0.0), ulps)
    found = [f"{name} {count}" for name, count in differing.items() if count]
    if found:
        lines.append(f"cells with another answer (left out of the ratios): {', '.join(found)}")
    if worst:
        errors = ", ".join(f"{name} {ulps:.3g}" for name, ulps in worst.items())
        lines.append(
            "worst error of a sum of floats, in units of its last place "
            f"(large where terms cancel): {errors}"
        )
    return ["", *lines] if lines else []


def readme_table(results: dict[str, Any]) -> str:
    """The table for the README, in Markdown.

    An entry is the least ratio of the operators, so that a cell that is behind in
    one of them is seen. Entries below 1 are bold and marked.
    """
    cells = results["cells"]
    present = set(_in_order(cells, "dtype"))
    columns = [name for name in COLUMNS if name in present]
    rows = [
        case.name
        for case in CASES
        if case.shown and any(cell["case"] == case.name for cell in cells)
    ]
    least: dict[tuple[str, str], float] = {}
    for cell in cells:
        if cell["ratio"] is not None:
            key = (cell["case"], cell["dtype"])
            least[key] = min(least.get(key, math.inf), cell["ratio"])
    lines = [
        *_filled(
            "Time of the fastest other library over the time of reducekit, on "
            f"{_threads_text(results)}: 3.0 is three times as fast. Each entry is the least of "
            f"{' and '.join(_in_order(cells, 'op'))}; where reducekit is slower, it is **bold** "
            "and marked with ▼."
        ),
        "",
        f"| shape, reduced axes | {' | '.join(columns)} |",
        f"| --- |{' ---: |' * len(columns)}",
    ]
    for row in rows:
        entries = [_entry(least.get((row, column))) for column in columns]
        lines.append(f"| {row} | {' | '.join(entries)} |")
    return "\n".join([*lines, "", *_filled(_readme_end(results))])


def _readme_end(results: dict[str, Any]) -> str:
    machine, found = results["machine"], summary(results["cells"])
    behind = "none"
    if found["behind"]:
        behind = f"{found['behind']}, at worst {ratio_text(found['worst'])}"
    return (
        f"All {found['cells']} cells that were measured, in more shapes, layouts and types than "
        f"are shown: geometric mean {ratio_text(found['mean'])}; slower in {behind}. "
        f"{machine['processor']} ({machine['level']}), {results['started'][:10]}"
        f"{', a quick run' if results['quick'] else ''}, against {_peers_text(results)}. "
        "`make bench` measures your machine."
    )


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, README_WIDTH, break_long_words=False, break_on_hyphens=False)


def _threads_text(results: dict[str, Any]) -> str:
    return "one thread" if results["threads"] == 1 else f"{results['threads']} threads"


def _peers_text(results: dict[str, Any]) -> str:
    versions = results["versions"]
    peers = [f"{name} {versions[name]}" for name in results["contenders"] if name != OURS]
    return ", ".join(peers) or "nobody"


def _entry(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"**{ratio_text(ratio)}** ▼" if ratio < 1 else ratio_text(ratio)


def update_readme(results: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the table between the two marks in a Markdown file, and touch nothing else.

    Raises
    ------
    FileError
        If the file cannot be read or written, or lacks the marks.
    """
    shown = visible(str(path), 200)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {shown}: {error}") from None
    pattern = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise FileError(f"cannot write the table into {shown}: it needs one {START} and {END}")
    block = f"{START}\n{readme_table(results)}\n{END}"
    Target(os.fspath(path)).write_text(pattern.sub(lambda _: block, text).removesuffix("\n"))
