"""How an explanation looks: the axes as a drawing, as text and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _html, _show

if TYPE_CHECKING:
    from . import Explanation

__all__ = ["card", "text"]


def text(e: Explanation) -> str:
    """All of it, line by line."""
    lines = [_title(e), "", *_axis_lines(e), "", e.summary, "", "Rules"]
    lines += [f"  - {rule}" for rule in e.rules]
    if e.plan is not None:
        lines += ["", "Plan", *(f"  {line}" for line in str(e.plan).splitlines())]
    lines += ["", "The same call"]
    for name, code in e.code.items():
        first, *others = code.split("\n")
        lines.append(f"  {name:<10} {first}")
        lines += [f"  {'':<10} {line}" for line in others]
    return "\n".join(lines)


def _title(e: Explanation) -> str:
    return f"{e.version} at opset {e.opset}, {e.dtype}"


def card(e: Explanation) -> str:
    """All of it in a notebook; what is long can be folded."""
    columns = _columns(e)
    words = [f"opset {e.opset}", e.dtype, f"keepdims={e.keepdims}"]
    body = _html.facts(str(e.version), words)
    if columns:
        collapses = [axis in e.reduced_axes for axis in range(len(columns))]
        rows = [
            ("in", [
                _html.cell(size, "rk-size rk-reduced" if gone else "rk-size")
                for (_, _, size, _, _), gone in zip(columns, collapses, strict=True)
            ]),
            ("is", [
                _html.cell(f"{'&darr; ' if not gone else ''}{does}",
                           "rk-collapses" if gone else "rk-does")
                for (_, _, _, does, _), gone in zip(columns, collapses, strict=True)
            ]),
            ("out", [
                _html.cell("removed", "rk-out rk-gone") if out == "-"
                else _html.cell(out, "rk-out rk-one" if gone else "rk-out")
                for (_, _, _, _, out), gone in zip(columns, collapses, strict=True)
            ]),
        ]  # fmt: skip
        table = _html.axis_table("what becomes of each axis", e.in_dims, rows, len(columns))
        body += f'<div class="rk-axes">{_html.scroll(table, "what becomes of each axis")}</div>'
    body += f'<p class="rk-say">{_html.escape(e.summary, 400).replace("-&gt;", "&rarr;")}</p>'
    rules = "".join(f"<li>{_html.escape(rule, 400)}</li>" for rule in e.rules)
    body += (
        f"<details open><summary>Rules of {_html.escape(str(e.version))}</summary>"
        f'<ul class="rk-rules">{rules}</ul></details>'
    )
    if e.plan is not None:
        body += (
            "<details><summary>Plan</summary>"
            f"{_html.code_block([('memory', str(e.plan))])}</details>"
        )
    body += (
        "<details><summary>The same call elsewhere</summary>"
        f"{_html.code_block(e.code.items())}</details>"
    )
    return _html.card(str(e), body, axes=True, reduced=True)


def _columns(e: Explanation) -> list[tuple[str, str, str, str, str]]:
    """Axis, name, size, what happens, size of the result, for each axis."""
    columns = []
    for axis, size in enumerate(e.in_shape):
        name = (e.in_dims[axis] if e.in_dims else None) or "-"
        reduced = axis in e.reduced_axes
        out = ("1" if e.keepdims else "-") if reduced else _show.size_text(size)
        does = "reduced" if reduced else "kept"
        columns.append((str(axis), name, _show.size_text(size), does, out))
    return columns


def _axis_lines(e: Explanation) -> list[str]:
    columns = _columns(e)
    if not columns:
        return ["  rank 0: there are no axes"]
    named = e.in_dims is not None and any(e.in_dims)
    titles = ("axis", "name", "in", "is", "out")
    shown = [tuple(_show.visible(text, 24) for text in column) for column in columns]
    widths = [max(map(len, column if named else (column[0], *column[2:]))) for column in shown]
    # Wrapped like a long line of text, so that rank 64 stays readable.
    lines: list[str] = []
    start = 0
    while start < len(shown):
        stop, width = start, 6
        while stop < len(shown) and (stop == start or width + 2 + widths[stop] <= 98):
            width += 2 + widths[stop]
            stop += 1
        if lines:
            lines.append("")
        for i, title in enumerate(titles):
            if title == "name" and not named:
                continue
            cells = (f"{shown[j][i]:>{widths[j]}}" for j in range(start, stop))
            lines.append(f"  {title:<4}  {'  '.join(cells)}".rstrip())
        start = stop
    return lines
