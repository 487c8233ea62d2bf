"""What collapses into what: a tensor, its groups and the result, cell by cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _engine, _show, schema
from ..dtypes import element_type
from ..errors import ArgumentError
from ..explain import Explanation, explain
from ._canvas import DIM, HUES, INK, RED, new_axes, tint, to_tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["collapse"]

_INCH = 0.27  # the height of a cell on paper, in figures made here
_GAP = 0.45  # between the blocks of a grid, in cells
_CAPS = (8, 6, 3, 2)  # the most cells along an axis, from the last to the fourth from the end
# What a character of a label takes, in cells.
_LETTER = 0.222


class _Grid:
    """A grid of grids: columns, rows, blocks beside each other, blocks below each other."""

    def __init__(self, axes: Sequence[int], counts: Sequence[int], width: float) -> None:
        self.axes = list(axes)
        self.sizes = [1] * (4 - len(self.axes)) + list(counts)
        self.cell = width
        below, beside, rows, columns = self.sizes
        self.block = (columns * width, float(rows))
        self.width = beside * self.block[0] + max(0, beside - 1) * _GAP
        self.height = below * self.block[1] + max(0, below - 1) * _GAP

    def place(self, index: Sequence[int]) -> tuple[float, float]:
        v, h, r, c = [0] * (4 - len(self.axes)) + list(index)
        return (
            c * self.cell + h * (self.block[0] + _GAP),
            r + v * (self.block[1] + _GAP),
        )

    def slots(self) -> list[tuple[int, str]]:
        """Each axis with its place: v2, h2, v1 and h1 from the first to the last of four."""
        return list(zip(self.axes, ("v2", "h2", "v1", "h1")[4 - len(self.axes) :], strict=True))


def collapse(
    tensor: Any,
    op: str = "max",
    axes: Any = None,
    *,
    keepdims: bool = True,
    opset: int | str | None = None,
    noop_with_empty_axes: bool = False,
    strict: bool = True,
    dims: Any = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tensor, what collapses into each output element, and the output.

    Parameters
    ----------
    tensor : array_like, Tensor, pandas or xarray object
        Of rank 0 to 4. Of a large axis the first elements are drawn; the results
        are those of the whole tensor.
    op : str, default "max"
        The operator, under any of its names.
    axes, keepdims, opset, noop_with_empty_axes, strict
        As in :func:`reducekit.reduce_max`; axes may be names.
    dims : sequence of (str or None), optional
        The names of the axes; those of a Tensor if omitted.
    title : str, optional
        A sentence of its own; what the call does if omitted.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure of fitting size if omitted.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        If the rank is above 4.
    AxesError, DTypeError, OpsetError
        What the call itself would raise.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("agg")
    >>> import numpy as np
    >>> from reducekit import plot
    >>> drawn = plot.collapse(np.arange(6).reshape(2, 3), "sum", [1])
    >>> drawn.get_title(loc="left").splitlines()[0]
    'reduce_sum over axis 1: (2, 3) becomes (2, 1)'
    """
    given = to_tensor("collapse", tensor, dims)
    opset = given.opset if opset is None else opset
    if given.ndim > 4:
        raise ArgumentError(
            f"collapse: the tensor has rank {given.ndim}; draw at most rank 4, as in tensor[0]"
        )
    data = given.numpy()
    kind = element_type(data.dtype)
    assert kind is not None
    e = explain(
        op, data.shape, axes, keepdims, noop_with_empty_axes, opset, kind.name, given.dims, strict
    )
    row = schema.operator(op)
    function = getattr(_engine, row.function)
    whole = data
    if e.reduced_axes:
        whole = function(data, list(e.reduced_axes), opset=schema.NEWEST_OPSET, strict=False)
    caps = _CAPS[: data.ndim][::-1]
    counts = [min(size, cap) for size, cap in zip(data.shape, caps, strict=True)]
    out_counts = [1 if a in e.reduced_axes else n for a, n in enumerate(counts)]
    values = {
        index: _show.value_text(data[index], kind)[0]
        for index in itertools.product(*map(range, counts))
    }
    results = {
        index: _show.value_text(whole[index], kind)[0]
        for index in itertools.product(*map(range, out_counts))
    }
    longest = max(map(len, [*values.values(), *results.values(), "0.0"]))
    width = max(1.3, 0.3 * min(longest, 11) + 0.55)

    kept = [a for a in range(data.ndim) if e.keepdims or a not in e.reduced_axes or e.identity]
    left = _Grid(range(data.ndim), counts, width)
    right = _Grid(kept, [out_counts[a] for a in kept], width)
    labels = _labels(e, counts)
    in_margin, out_margin = _margin(left, labels[0]), _margin(right, labels[1])
    x_in = in_margin
    x_out = x_in + max(left.width, 2.2, _head(left, labels[0])) + 2.8 + out_margin
    right_edge = x_out + max(right.width, 2.2, _head(right, labels[1])) + 0.2
    top = 2.3
    bottom = top + max(left.height, right.height, 1.0)

    across, down = max(right_edge, 15.0), bottom + 1.3
    own = ax is None
    ax = new_axes(ax, (across * _INCH + 0.2, down * _INCH + 0.55))
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-0.2, across)
    ax.set_ylim(bottom + 0.7, -0.6)
    style = _Style(ax, across, down, own)

    groups = {index: place for place, index in enumerate(results)}
    winners = _winners(data, whole, e, counts)

    def cell(x: float, y: float, group: tuple[int, ...], text: str, won: bool) -> None:
        style.cell(x, y, width, HUES[_hue(group)], text, won)
        if len(groups) <= 26:
            style.text(x + 0.12, y + 0.3, chr(65 + groups[group]), 5.5, ha="left")

    for index, text in values.items():
        group = tuple(0 if a in e.reduced_axes else i for a, i in enumerate(index))
        x, y = left.place(index)
        cell(x_in + x, top + y, group, text, index in winners)
    for index, text in results.items():
        x, y = right.place([index[a] for a in kept])
        cell(x_out + x, top + y, index, text, False)
    for grid, x, texts in ((left, x_in, labels[0]), (right, x_out, labels[1])):
        _brackets(style, grid, x, top, texts, e.reduced_axes)
    for shown, x in ((values, x_in), (results, x_out)):
        if not shown:
            style.text(x, top + 0.5, "no elements", 8, color=DIM, ha="left")
    middle = top + min(left.height, max(right.height, 1.0)) / 2
    tip = x_out - out_margin - 0.4
    style.arrow(tip - 1.9, tip, middle, row.short)

    words = ", ".join(_axis_words(e, a) for a in e.reduced_axes)
    many = "axes" if len(e.reduced_axes) > 1 else "axis"
    over = f"over {many} {words}" if e.reduced_axes else "over no axis"
    first = f"{row.function} {over}: {e.in_shape} becomes {e.out_shape}"
    cut = math.prod(counts) < data.size
    note = f"{e.version} at opset {e.opset}, {e.dtype}"
    if winners:
        note += "; what wins is framed"
    if cut:
        note += f"; {math.prod(counts)} of {data.size:,} cells are drawn"
    ax.set_title(
        title if title is not None else f"{first}\n{note}", loc="left", fontsize=10, color=INK
    )
    return ax


class _Style:
    """Text whose size follows the figure, so that a cell's value always fits its cell."""

    def __init__(self, ax: Axes, width: float, height: float, own: bool) -> None:
        self.ax = ax
        if own:  # made to fit
            self.scale = 1.0
            return
        figure: Any = ax.figure
        box = ax.get_position()
        wide, high = figure.get_size_inches()
        inches = min(wide * box.width / width, high * box.height / height)
        self.scale = min(1.0, inches / _INCH)

    def text(self, x: float, y: float, text: str, size: float, **options: Any) -> None:
        options.setdefault("color", INK)
        options.setdefault("ha", "center")
        self.ax.text(
            x, y, text, fontsize=size * self.scale, va="center", family="monospace",
            clip_on=False, **options,
        )  # fmt: skip

    def cell(self, x: float, y: float, width: float, color: str, text: str, won: bool) -> None:
        from matplotlib.patches import FancyBboxPatch

        self.ax.add_patch(
            FancyBboxPatch(
                (x + 0.06, y + 0.06), width - 0.12, 0.88,
                boxstyle="round,pad=0,rounding_size=0.12",
                facecolor=tint(color, 0.62 if won else 0.34), edgecolor=INK if won else "white",
                linewidth=(1.3 if won else 0.5) * self.scale,
            )
        )  # fmt: skip
        shown = text if len(text) <= 11 else text[:10] + "~"
        self.text(
            x + width - 0.22, y + 0.56, shown, 7.5, ha="right",
            weight="bold" if won else "normal",
        )  # fmt: skip

    def line(self, xs: Sequence[float], ys: Sequence[float], reduced: bool) -> None:
        self.ax.plot(
            xs, ys, color=RED if reduced else DIM, linewidth=1.3 * self.scale,
            linestyle=(0, (3, 2)) if reduced else "-", clip_on=False, solid_capstyle="butt",
        )  # fmt: skip

    def arrow(self, start: float, end: float, y: float, text: str) -> None:
        self.ax.annotate(
            "", (end, y), (start, y),
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.4 * self.scale},
        )  # fmt: skip
        self.text((start + end) / 2 - 0.1, y - 0.6, text, 9, weight="bold")


def _hue(index: Sequence[int]) -> int:
    return sum(x * (len(index) - i) for i, x in enumerate(index)) % len(HUES)


def _axis_name(e: Explanation, axis: int) -> str:
    name = e.in_dims[axis] if e.in_dims else None
    return f"{axis} {_show.visible(name, 16)}" if name else str(axis)


def _axis_words(e: Explanation, axis: int) -> str:
    name = e.in_dims[axis] if e.in_dims else None
    return f"{axis} ({_show.visible(name, 16)})" if name else str(axis)


def _labels(e: Explanation, counts: Sequence[int]) -> tuple[dict[int, str], dict[int, str]]:
    """The text at each axis of the input and of the output."""
    before, after = {}, {}
    for axis, size in enumerate(e.in_shape):
        some = f"{counts[axis]} of " if counts[axis] < size else ""
        name = _axis_name(e, axis)
        if axis in e.reduced_axes:
            before[axis] = f"axis {name} ({some}{_show.size_text(size)}) reduced"
            after[axis] = f"axis {name} (1)"
        else:
            before[axis] = after[axis] = f"axis {name} ({some}{_show.size_text(size)})"
    return before, after


def _margin(grid: _Grid, labels: Mapping[int, str]) -> float:
    return sum(
        len(labels[axis]) * _LETTER + 0.75 for axis, place in grid.slots() if place[0] == "v"
    )


def _head(grid: _Grid, labels: Mapping[int, str]) -> float:
    lengths = [len(labels[axis]) * _LETTER for axis, place in grid.slots() if place[0] == "h"]
    return max(lengths, default=0.0)


def _brackets(
    style: _Style,
    grid: _Grid,
    left: float,
    top: float,
    labels: Mapping[int, str],
    reduced: Sequence[int],
) -> None:
    x = left - 0.2
    for axis, place in reversed(grid.slots()):
        gone = axis in reduced
        color = RED if gone else DIM
        wide = grid.block[0] if place == "h1" else grid.width
        high = grid.block[1] if place == "v1" else grid.height
        if place[0] == "h":
            y = top - (0.12 if place == "h1" else 1.12)
            right = left + max(wide, 0.5) - 0.06
            style.line([left + 0.06, left + 0.06, right, right], [y, y - 0.22, y - 0.22, y], gone)
            style.text(left + 0.06, y - 0.55, labels[axis], 7, color=color, ha="left")
        else:
            style.line(
                [x, x - 0.22, x - 0.22, x],
                [top + 0.06, top + 0.06, top + max(high, 0.5) - 0.06, top + max(high, 0.5) - 0.06],
                gone,
            )
            style.text(x - 0.4, top + max(high, 1) / 2, labels[axis], 7, color=color, ha="right")
            x -= len(labels[axis]) * _LETTER + 0.75


def _winners(data: Any, whole: Any, e: Explanation, counts: Sequence[int]) -> set[tuple[int, ...]]:
    """The drawn elements whose value is the result: none where all of them make it, as in sums."""
    if not schema.operator(e.operator).idempotent or not e.reduced_axes:
        return set()
    found = set()
    for index in itertools.product(*map(range, counts)):
        result = whole[tuple(0 if a in e.reduced_axes else i for a, i in enumerate(index))]
        value = data[index]
        # NaN wins over all; of two zeros only the one with the sign of the result.
        if value != value or value == result:
            floats = e.dtype.startswith(("float", "bfloat"))
            if value == 0 and floats and np.signbit(value) != np.signbit(result):
                continue
            found.add(index)
    return found
