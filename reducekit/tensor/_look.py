"""How a tensor looks, as text and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .. import _html, _show
from .._names import Dims
from ..dtypes import ElementType

if TYPE_CHECKING:
    from . import Tensor

__all__ = ["axes_part", "card", "head", "lazy_text"]


def head(tensor: Tensor) -> str:
    """One line: shape, type, names and opset."""
    parts = [f"shape={tensor.shape}", f"dtype={tensor.dtype}"]
    if tensor.dims is not None:
        names = tuple(None if n is None else _show.clip(n, 40) for n in tensor.dims)
        parts.append(f"dims={names}")
    if tensor.opset is not None:
        parts.append(f"opset={tensor.opset}")
    return f"Tensor({', '.join(parts)})"


def lazy_text(array: Any) -> str:
    """What there is to say of an array whose elements are not there yet."""
    sizes = " x ".join(str(size) for size in array.chunksize)
    chunks = _show.count_text(array.npartitions, "chunk")
    return f"not computed: {chunks}{f' of up to {sizes}' if sizes else ''} in dask"


def card(tensor: Tensor) -> str:
    """The tensor in a notebook: its axes beside its values."""
    array, kind = tensor._array, tensor._kind
    opset = "opset in force" if tensor.opset is None else f"opset {tensor.opset}"
    words = [
        kind.name,
        f"rank {tensor.ndim}",
        _show.count_text(tensor.size, "element"),
        *(["lazy"] if tensor._is_lazy else [_show.memory_text(array)]),
        *([] if tensor._is_lazy else _show.layout_words(array)),
        opset,
    ]
    body = _html.facts("Tensor", words)
    axes = axes_part(tensor.shape, tensor.dims)
    if tensor._is_lazy:
        values = f'<div class="rk-say">{_html.escape(lazy_text(array))}</div>'
    else:
        values = _values_part(array, kind, tensor.dims)
    body += f'<div class="rk-parts">{axes}{values}</div>'
    return _html.card(repr(tensor), body, axes=True, odd=True)


def axes_part(shape: tuple[int, ...], dims: Dims) -> str:
    """The shape as a table with one column for each axis; nothing at rank 0."""
    if not shape:
        return ""
    sizes = [_html.cell(_show.size_text(size), "rk-size") for size in shape]
    table = _html.axis_table("shape", dims, [("size", sizes)], len(shape))
    return f'<div class="rk-axes">{_html.scroll(table, "shape")}</div>'


def _values_part(array: NDArray[Any], kind: ElementType, dims: Dims) -> str:
    """A table of the values: all of a small plane, the edges of a large one."""
    if array.size == 0:
        return '<div class="rk-say">no elements</div>'
    shown = _show.plane(array)
    rows = _show.edges(shown.shape[0], 5, 2) if array.ndim > 1 else [0]
    columns = _show.edges(shown.shape[1], *((5, 2) if array.ndim > 1 else (7, 2)))
    caption = "value" if array.ndim == 0 else "values"
    if array.ndim > 2:
        planes = array.size // shown.size
        caption += f" at {_show.plane_text(array.ndim)}"
        caption += f", the first of {_show.count_text(planes, 'plane')}" if planes > 1 else ""
    if None in rows or None in columns:
        caption += ", edges only"
    heads = ""
    if array.ndim:
        names = (dims or (None,) * array.ndim)[-2:]
        corner = ""
        if array.ndim == 1:
            corner = _axis_word(names[0], 0) + " &rarr;"
        else:
            down, right = _axis_word(names[0], array.ndim - 2), _axis_word(names[1], array.ndim - 1)
            corner = f"{down} &darr; {right} &rarr;"
        heads = "".join(
            f'<th scope="col">{"&hellip;" if column is None else column}</th>' for column in columns
        )
        heads = f"<thead><tr><td>{corner}</td>{heads}</tr></thead>"
    lines = []
    for row in rows:
        cells = []
        if array.ndim:
            word = "value" if array.ndim == 1 else "&hellip;" if row is None else str(row)
            cells.append(f'<th scope="row">{word}</th>')
        for column in columns:
            if row is None or column is None:
                cells.append(_html.cell("&hellip;", "rk-gap"))
                continue
            value = shown[row, column]
            text, odd = _show.value_text(value, kind)
            if odd == "rounded":
                cells.append(_html.cell(text, title=str(value)))
            else:
                cells.append(_html.cell(text, f"rk-{odd}" if odd else ""))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    table = (
        f'<table class="rk-grid"><caption>{_html.escape(caption, 120)}</caption>'
        f"{heads}<tbody>{''.join(lines)}</tbody></table>"
    )
    return _html.scroll(table, caption)


def _axis_word(name: str | None, axis: int) -> str:
    return f"axis {axis}" if name is None else _html.escape(name, 16)
