"""The explorer where no kernel, no script or no colour is: text, SVG, and a page of its own."""

from __future__ import annotations

import base64
import itertools
import json
import math
import secrets
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from .. import _show, schema
from ..plot import HUES
from . import state

__all__ = ["html", "svg", "text"]

_NUMBERS = itertools.count(1)
_MOST_DRAWN = 300
_STATIC = Path(__file__).parent / "static"

# The colours of cells, mixed with white, so that black text is readable on each.
_WHITE, _INK, _DIM, _LINE = "#ffffff", "#1a1a1a", "#595959", "#c8c8c8"


class _Picture:
    """What is drawn of a choice: two grids of texts, and which cells belong together."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        view = snapshot["_view"]
        self.view = view
        self.error = snapshot["error"]
        ndim = len(view["shape"])
        noop = snapshot["noop_with_empty_axes"] and snapshot["api"] == "onnx"
        self.keepdims = snapshot["keepdims"] and snapshot["api"] == "onnx"
        axes = sorted(axis % ndim for axis in snapshot["axes"])
        if self.error or (noop and not axes):
            self.reduced: tuple[int, ...] = ()
        else:
            self.reduced = tuple(axes or range(ndim))
        self.op = schema.operator(snapshot["op"])
        self.opset = snapshot["opset"]
        self.ranges = [
            range(count)
            if axis in snapshot["layout_axes"] or not view["complete"]
            else range(min(snapshot["corner"][axis], max(0, count - 1)), count)[:1]
            for axis, count in enumerate(view["count"])
        ]
        total = math.prod(map(len, self.ranges))
        if total > _MOST_DRAWN:  # a picture is looked at, not walked through
            caps = (*[1] * ndim, *reversed(state.CAPS))[-ndim:]
            self.ranges = [span[:cap] for span, cap in zip(self.ranges, caps, strict=True)]
        drawn = math.prod(map(len, self.ranges))
        self.note = (
            f"; {drawn} cells of {math.prod(view['shape']):,} drawn"
            if (drawn < math.prod(view["shape"]))
            else ""
        )
        self.out_ranges = [
            range(1) if axis in self.reduced else span for axis, span in enumerate(self.ranges)
        ]
        self.results = self._results(snapshot)

    def _results(self, snapshot: dict[str, Any]) -> list[str] | None:
        if not self.reduced:
            return None if self.error else self.view["cells"]
        cube = self.view["cube"].get(self.op.short)
        if cube:
            found: list[str] = cube[state.key_of(self.reduced)]
            return found
        answered: list[str] | None = snapshot["_answer"].get("out")
        return answered

    def out_shape(self) -> tuple[int, ...]:
        shape = self.view["shape"]
        if self.keepdims or not self.reduced:
            return tuple(1 if axis in self.reduced else n for axis, n in enumerate(shape))
        return tuple(n for axis, n in enumerate(shape) if axis not in self.reduced)

    def inputs(self) -> list[tuple[tuple[int, ...], str]]:
        count = self.view["count"]
        return [
            (index, self.view["cells"][_ravel(index, count)])
            for index in itertools.product(*self.ranges)
        ]

    def outputs(self) -> list[tuple[tuple[int, ...], str]]:
        count = [1 if axis in self.reduced else n for axis, n in enumerate(self.view["count"])]
        return [
            (index, self.results[_ravel(index, count)] if self.results is not None else "?")
            for index in itertools.product(*self.out_ranges)
        ]

    def goes_to(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if axis in self.reduced else x for axis, x in enumerate(index))

    def sentence(self) -> str:
        shape, out = tuple(self.view["shape"]), self.out_shape()
        if self.error:
            return f"{shape}, {self.view['dtype']}: {self.error}"
        axes = ", ".join(map(str, self.reduced)) or "none"
        return (
            f"{self.op.short} of {shape} over axes {axes} at opset {self.opset}: "
            f"{shape} becomes {out}{self.note}"
        )


def _ravel(index: tuple[int, ...], shape: list[int]) -> int:
    place = 0
    for x, n in zip(index, shape, strict=True):
        place = place * n + x
    return place


def text(snapshot: dict[str, Any]) -> str:
    """The choice, what collapses and the values, as plain text.

    Parameters
    ----------
    snapshot : dict
        Of ``AxisExplorer.snapshot``.

    Returns
    -------
    str
    """
    picture = _Picture(snapshot)
    names = picture.view["names"]
    lines = [f"AxisExplorer: {_show.visible(picture.sentence(), 400)}"]
    for axis, size in enumerate(picture.view["shape"]):
        name = f" {_show.visible(names[axis], 24)}" if names and names[axis] else ""
        verb = "collapses" if axis in picture.reduced else "stays"
        lines.append(f"  axis {axis}{name} ({size}) {verb}")
    rows: dict[tuple[int, ...], list[str]] = {}
    for index, value in picture.inputs():
        rows.setdefault(picture.goes_to(index), []).append(value)
    for index, value in picture.outputs()[:12]:
        if picture.error:
            break
        terms = rows.get(index, [])
        shown = ", ".join(terms[:8]) + (", ..." if len(terms) > 8 else "")
        where = [
            x + (0 if axis in picture.reduced else picture.view["start"][axis])
            for axis, x in enumerate(index)
            if picture.keepdims or axis not in picture.reduced
        ]
        lines.append(f"  output {where}: {picture.op.short} of {{{shown}}} is {value}")
    more = len(picture.outputs()) - 12
    if more > 0 and not picture.error:
        lines.append(f"  ... and {_show.count_text(more, 'cell')} more")
    return "\n".join(lines)


def svg(snapshot: dict[str, Any]) -> str:
    """The two tensors side by side, each group of cells in one colour and with one letter.

    Parameters
    ----------
    snapshot : dict
        Of ``AxisExplorer.snapshot``.

    Returns
    -------
    str
        An SVG of its own, without a script and without an address beyond its name space.
    """
    picture = _Picture(snapshot)
    groups = {index: place for place, (index, _) in enumerate(picture.outputs())}
    letters = len(groups) <= 26
    cells = [*picture.view["cells"], *(picture.results or [])]
    width = 8 * min(11, max([3, *map(len, cells)])) + 26
    drop = bool(picture.reduced) and not picture.keepdims
    left = _Grid(picture.ranges, list(range(len(picture.ranges))), width)
    kept = [a for a in range(len(picture.ranges)) if not (drop and a in picture.reduced)]
    right = _Grid([picture.out_ranges[a] for a in kept], kept, width)
    parts: list[str] = []
    top = 64
    out_x = 20 + left.label_width(picture) + left.width + 96

    def cell(x: float, y: float, group: tuple[int, ...], value: str) -> None:
        place = groups.get(group, 0)
        color = HUES[_hue(group, snapshot["layout_axes"])]
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width - 2}" height="26" rx="4" fill="{color}" '
            f'fill-opacity=".38"/>'
        )
        if letters:
            parts.append(f'<text x="{x + 4}" y="{y + 10}" font-size="8">{chr(65 + place)}</text>')
        shown = value if len(value) <= 11 else value[:10] + "~"
        parts.append(
            f'<text x="{x + width - 12}" y="{y + 18}" text-anchor="end">{escape(shown)}</text>'
        )

    label_x = 20 + left.label_width(picture)
    left.labels(parts, picture, label_x, top, True)
    head = left.head
    for index, value in picture.inputs():
        x, y = left.place(index, picture.ranges)
        cell(label_x + x, top + head + y, picture.goes_to(index), value)
    right.labels(parts, picture, out_x + right.label_width(picture), top, False)
    out_left = out_x + right.label_width(picture)
    if not picture.error:
        for index, value in picture.outputs():
            inner = tuple(index[axis] for axis in kept)
            x, y = right.place(inner, [picture.out_ranges[axis] for axis in kept])
            cell(out_left + x, top + right.head + y, index, value)
    for at, shown in ((label_x, picture.inputs()), (out_left, picture.outputs())):
        if not shown:
            parts.append(f'<text x="{at}" y="{top + 60}" fill="{_DIM}">no elements</text>')
    middle = top + head + left.height / 2
    arrow_x = label_x + left.width + 18
    if not picture.error:
        parts.append(
            f'<text x="{arrow_x}" y="{middle - 8}" font-weight="bold">{picture.op.short}</text>'
            f'<path d="M{arrow_x} {middle}h46m-9-6l9 6l-9 6" fill="none" stroke="{_INK}" '
            f'stroke-width="2"/>'
        )
    total_width = max(out_left + right.width + 24, 420)
    total_height = top + max(left.head + left.height, right.head + right.height) + 24
    sentence = picture.sentence()
    say = sentence if len(sentence) <= 110 else sentence[:108] + "..."
    total_width = max(total_width, 30 + 7.4 * len(say))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width:.0f} '
        f'{total_height:.0f}" width="{total_width:.0f}" height="{total_height:.0f}" role="img" '
        f'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="12" '
        f'fill="{_INK}"><title>{escape(_show.visible(sentence, 400))}</title>'
        f'<rect width="100%" height="100%" fill="{_WHITE}"/>'
        f'<text x="20" y="28" font-size="12" font-weight="bold">{escape(_show.visible(say, 110))}'
        f"</text>{''.join(parts)}</svg>"
    )


class _Grid:
    """Where cells lie: columns, rows, blocks beside each other, blocks below each other."""

    GAP = 14

    def __init__(self, ranges: list[range], axes: list[int], width: int) -> None:
        laid = [(axis, len(span)) for axis, span in zip(axes, ranges, strict=True)]
        # Axes that show one position because they are not laid out come first, and have size 1.
        while len(laid) > 4 and (gone := next((p for p in laid if p[1] <= 1), None)):
            laid.remove(gone)
        self.laid = laid[-4:]
        self.axes = axes
        sizes = [1] * (4 - len(self.laid)) + [n for _, n in self.laid]
        self.below, self.beside, self.rows, self.columns = sizes
        self.cell = width
        self.width = self._wide(self.beside)
        self.height = self.below * self.rows * 28 + max(0, self.below - 1) * self.GAP
        self.head = 22 * sum(1 for place in self._places() if place in ("h1", "h2")) + 4

    def _wide(self, beside: int) -> float:
        return beside * self.columns * self.cell + max(0, beside - 1) * self.GAP

    def _places(self) -> list[str]:
        return ["v2", "h2", "v1", "h1"][4 - len(self.laid) :]

    def label_width(self, picture: _Picture) -> float:
        widths = [
            7.4 * len(_label(picture, axis)) + 18
            for (axis, _), place in zip(self.laid, self._places(), strict=True)
            if place.startswith("v")
        ]
        return sum(widths)

    def place(self, index: tuple[int, ...], ranges: list[range]) -> tuple[float, float]:
        inner = {
            axis: x - span.start for axis, x, span in zip(self.axes, index, ranges, strict=True)
        }
        v, h, r, c = [0] * (4 - len(self.laid)) + [inner[axis] for axis, _ in self.laid]
        x = c * self.cell + h * (self.columns * self.cell + self.GAP)
        y = r * 28 + v * (self.rows * 28 + self.GAP)
        return x, y

    def labels(
        self, parts: list[str], picture: _Picture, left: float, top: float, input_side: bool
    ) -> None:
        y = top - 2.0
        x = left
        for (axis, _), place in reversed(list(zip(self.laid, self._places(), strict=True))):
            reduced = axis in picture.reduced
            label = _label(picture, axis, input_side)
            color = "#b34700" if reduced else _DIM
            dash = ' stroke-dasharray="4 3"' if reduced else ""
            if place.startswith("h"):
                wide = self._wide(1 if place == "h1" else self.beside)
                line = top + self.head - (6 if place == "h1" else 28)
                parts.append(
                    f'<text x="{left}" y="{line - 6}" fill="{color}">{escape(label)}</text>'
                    f'<path d="M{left} {line + 4}v-6h{max(wide - 2, 4)}v6" fill="none" '
                    f'stroke="{color}" stroke-width="1.5"{dash}/>'
                )
            else:
                high = self.rows * 28 if place == "v1" else self.height
                y = top + self.head
                parts.append(
                    f'<path d="M{x - 6} {y}h-6v{max(high - 2, 4)}h6" fill="none" '
                    f'stroke="{color}" stroke-width="1.5"{dash}/>'
                    f'<text x="{x - 17}" y="{y + high / 2 + 4}" text-anchor="end" '
                    f'fill="{color}">{escape(label)}</text>'
                )
                x -= 7.4 * len(_label(picture, axis)) + 18


def _label(picture: _Picture, axis: int, input_side: bool = True) -> str:
    names = picture.view["names"]
    name = f" {_show.visible(names[axis], 14)}" if names and names[axis] else ""
    size = picture.view["shape"][axis]
    if axis in picture.reduced:
        return f"axis {axis}{name} ({size}) reduced" if input_side else f"axis {axis}{name} (1)"
    return f"axis {axis}{name} ({_show.size_text(size)})"


def _hue(index: tuple[int, ...], laid: Sequence[int]) -> int:
    """As on the page: neighbours differ, for the axes that are laid out weigh 4, 3, 2, 1."""
    return sum(index[axis] * (len(laid) - i) for i, axis in enumerate(laid)) % len(HUES)


def _asset(name: str) -> str:
    return (_STATIC / name).read_text(encoding="ascii")


def _small_module() -> str:
    """The module without lines that are comments alone, which a page has no use for."""
    lines = (line.strip() for line in _asset("explorer.js").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def html(snapshot: dict[str, Any], *, page: bool = False, key: str = "") -> str:
    """The widget as HTML that stands alone.

    First come a picture and the text, for hosts that run no script; the script
    replaces both by the widget.

    Parameters
    ----------
    snapshot : dict
        Of ``AxisExplorer.snapshot``.
    page : bool, default False
        Whether to return a whole page.
    key : str
        Of the live view beside which the part stands, and to which it gives way.

    Returns
    -------
    str
        ASCII, so that it is right on pages of any encoding.
    """
    plain = text(snapshot)
    picture = base64.b64encode(svg(snapshot).encode()).decode()
    data = json.dumps(snapshot, separators=(",", ":")).replace("<", "\\u003c")
    digest = f"rkx-{next(_NUMBERS)}-{secrets.token_hex(4)}"
    start = (
        f'standIn(place,{data},"{key}")' if key else f"place.replaceChildren();mount(place,{data})"
    )
    label = escape(_Picture(snapshot).sentence())
    body = (
        f'<div id="{digest}"><img alt="{label}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{picture}"><pre>{escape(plain)}</pre></div>'
        f"<style>{_asset('explorer.css')}</style>"
        f'<script type="module">{_small_module()}\n'
        f'const place=document.getElementById("{digest}");'
        f"if(place){{{start}}}</script>"
    )
    body = body.encode("ascii", "xmlcharrefreplace").decode()
    if not page:
        return body
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>AxisExplorer</title>'
        '<meta name="viewport" content="width=device-width"><style>:root{color-scheme:light dark}'
        f"</style></head><body><main>{body}</main></body></html>"
    )
