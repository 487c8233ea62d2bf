"""How an operator changed from opset to opset, and how fast it is."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _show, schema
from ..dtypes import ELEMENT_TYPES
from ..errors import ArgumentError
from ._canvas import BLUE, DIM, HUES, INK, new_axes, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bench", "timeline"]


def timeline(op: str = "max", *, ax: Axes | None = None) -> Axes:
    """Draw what each version of an operator takes, opset by opset.

    Parameters
    ----------
    op : str, default "max"
        The operator, under any of its names.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if omitted.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OpsetError
        If the operator is unknown.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("agg")
    >>> from reducekit import plot
    >>> [t.get_text() for t in plot.timeline("sum").get_xticklabels()]
    ['1', '11', '13', '28']
    """
    row = schema.operator(op)
    versions = row.versions
    types = [k.name for k in ELEMENT_TYPES if any(v.allows(k.name) for v in versions)]
    rows: list[tuple[str, list[str]]] = []
    rows.append(("axes are", [v.axes for v in versions]))
    rows.append(("negative axes", ["yes" if v.negative_axes else "" for v in versions]))
    rows.append((
        "noop_with_empty_axes", ["yes" if v.noop_with_empty_axes else "" for v in versions]
    ))  # fmt: skip
    rows += [(name, ["yes" if v.allows(name) else "" for v in versions]) for name in types]
    ends = [v.since_version for v in versions[1:]] + [schema.NEWEST_OPSET + 1]

    ax = new_axes(ax, (8.4, 0.27 * len(rows) + 1.3))
    for y, (_, states) in enumerate(rows):
        runs: list[list[Any]] = []
        for version, end, state in zip(versions, ends, states, strict=True):
            if runs and runs[-1][2] == state:
                runs[-1][1] = end
            else:
                runs.append([version.since_version, end, state])
        for start, end, state in runs:
            if not state:
                continue
            kind = {"attribute": HUES[5], "input": HUES[1]}.get(state, HUES[0])
            ax.barh(
                y, end - start - 0.12, left=start + 0.06, height=0.74, color=tint(kind, 0.6),
                edgecolor=INK, linewidth=0.6, hatch="" if state != "attribute" else "///",
            )  # fmt: skip
            text = state if state != "yes" else ("" if start == 1 else f"from {start}")
            ax.text(
                start + 0.3, y, text, va="center", ha="left", fontsize=8, color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.75}
                if state == "attribute" else None,
            )  # fmt: skip
    for version in versions:
        ax.axvline(version.since_version, color=DIM, linewidth=0.8, linestyle=":", zorder=0)
    ticks = [v.since_version for v in versions]
    labels = [str(tick) for tick in ticks] + [str(schema.NEWEST_OPSET)]
    ax.set_xticks([*ticks, schema.NEWEST_OPSET + 0.5], labels)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8.5)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(1, schema.NEWEST_OPSET + 1)
    ax.set_xlabel("opset")
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    numbers = ", ".join(str(v.since_version) for v in versions)
    ax.set_title(f"{row.name}: versions {numbers}", loc="left", fontsize=10)
    return ax


def bench(results: Any, *, baseline: str = "numpy", ax: Axes | None = None) -> Axes:
    """Draw how many times faster than NumPy each library was, case by case.

    Parameters
    ----------
    results : mapping, or sequence of mappings
        What ``reducekit bench --json FILE`` wrote, read by ``json.load``; or its rows:
        mappings with ``case`` and the seconds that each library took, by its name.
    baseline : str, default "numpy"
        The library that stands for 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if omitted.

    Returns
    -------
    matplotlib.axes.Axes
        With a logarithmic axis: to the right of 1 is faster. Operators and element types
        of one case share a row: a mark is their median, and a line the span of ours.
        Times of answers that differ are left out.

    Raises
    ------
    ArgumentError
        If there is no case in which both the baseline and another library were measured.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("agg")
    >>> from reducekit import plot
    >>> rows = [{"case": "max, rows", "numpy": 2e-3, "reducekit": 1e-3}]
    >>> plot.bench(rows).get_xlabel()
    'times as fast as numpy'
    """
    ratios: dict[str, dict[str, list[float]]] = {}
    for case, times in _rows(results):
        base = times.pop(baseline, None)
        if base and times:
            row = ratios.setdefault(case, {})
            for name, seconds in times.items():
                row.setdefault(name, []).append(base / seconds)
    if not ratios:
        raise ArgumentError(
            f"bench: no case holds times of {baseline!r} and of another library; "
            "give rows such as {'case': 'max', 'numpy': 2e-3, 'reducekit': 1e-3}"
        )
    names = list(dict.fromkeys(name for row in ratios.values() for name in row))
    names.sort(key=lambda name: name != "reducekit")
    ax = new_axes(ax, (8, 0.26 * len(ratios) + 1.6))
    marks = "os^Dv<>P"
    for place, name in enumerate(names):
        points = [(row[name], y) for y, row in enumerate(ratios.values()) if name in row]
        color = (BLUE, *HUES[1:])[place % len(HUES)]
        ours = name == "reducekit"
        if ours and any(len(found) > 1 for found, _ in points):
            ax.hlines(
                [y for _, y in points], [min(found) for found, _ in points],
                [max(found) for found, _ in points], color=color, linewidth=1.6, zorder=2.5,
            )  # fmt: skip
        ax.plot(
            [statistics.median(found) for found, _ in points], [y for _, y in points],
            marks[place % len(marks)], color=color, markeredgecolor=INK, markeredgewidth=0.5,
            markersize=8 if ours else 6, label=name, linestyle="", zorder=3 if ours else 2,
        )  # fmt: skip
    ax.axvline(1, color=INK, linewidth=1)
    ax.set_xscale("log")
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(range(len(ratios)), [_show.visible(case, 60) for case in ratios], fontsize=8.5)
    ax.set_ylim(len(ratios) - 0.5, -0.5)
    ax.grid(axis="both", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    note = "\nmark: median over operators and types; line: least to most of reducekit"
    ax.set_xlabel(f"times as fast as {baseline}{note if ax.collections else ''}")
    # Above the rows, where it hides no mark.
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=min(len(names), 6), fontsize=8.5,
        frameon=False, handletextpad=0.2, columnspacing=1.2, borderaxespad=0.2,
    )  # fmt: skip
    return ax


def _rows(results: Any) -> Iterable[tuple[str, dict[str, float]]]:
    """The cases with their seconds, in any of the forms that a benchmark writes."""
    if isinstance(results, Mapping):
        for key in ("cells", "results", "cases", "rows"):
            if key in results:
                results = results[key]
                break
    if isinstance(results, Mapping):
        results = [{"case": case, **times} for case, times in results.items()]
    for row in results:
        name = str(row.get("case") or row.get("name"))
        times = row.get("times") or row.get("seconds") or row
        answers = row.get("answers") or {}
        seconds = {
            str(peer): float(value)
            for peer, value in times.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
            if answers.get(peer) != "differs"
        }
        yield name, seconds
