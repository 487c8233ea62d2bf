"""What a tensor holds: range, NaN and infinities, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _foreign, _html, _show
from .._names import Dims
from ..dtypes import ElementType
from ._look import axes_part, lazy_text

__all__ = ["Description", "describe"]


@dataclass(frozen=True, slots=True)
class Description:
    """What :meth:`Tensor.describe` found.

    Attributes
    ----------
    shape : tuple of int
        The sizes of the axes.
    dims : tuple of (str or None), or None
        Their names.
    dtype : str
        The element type, by NumPy's full name.
    opset : int or None
        The tensor's opset.
    minimum, maximum : NumPy scalar or None
        The range of the elements that are not NaN, infinities included; None if there are none.
    nan, positive_infinity, negative_infinity : int
        How many elements are so.
    memory : int
        Bytes from the first to the last element in memory.
    nbytes : int
        Bytes of a plain copy.
    layout : tuple of str
        How the elements lie in memory.
    """

    shape: tuple[int, ...]
    dims: Dims
    dtype: str
    opset: int | None
    minimum: Any
    maximum: Any
    nan: int
    positive_infinity: int
    negative_infinity: int
    memory: int
    nbytes: int
    layout: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("type", self.dtype), ("elements", f"{self.size:,}")]
        if self.minimum is not None:
            rows.append(("range", f"{self.minimum!s} to {self.maximum!s}"))
        elif self.size:
            rows.append(("range", "none: every element is NaN"))
        else:
            rows.append(("range", "none: there are no elements"))
        if self.dtype in ("float16", "bfloat16", "float32", "float64"):
            signs = f"{self.positive_infinity:,} positive, {self.negative_infinity:,} negative"
            rows += [("NaN", f"{self.nan:,}"), ("infinity", signs)]
        memory = _show.bytes_text(self.memory)
        if self.memory < self.nbytes:
            memory += f" ({_show.bytes_text(self.nbytes)} as a copy)"
        rows.append(("memory", ", ".join([memory, *self.layout])))
        rows.append(("opset", "the one in force" if self.opset is None else str(self.opset)))
        return rows

    def __str__(self) -> str:
        axes = []
        for axis, size in enumerate(self.shape):
            name = self.dims[axis] if self.dims else None
            word = f"  {_show.visible(name)}" if name else ""
            axes.append((f"axis {axis}", f"{_show.size_text(size)}{word}"))
        rows = [*(axes or [("axes", "none (rank 0)")]), *self._rows()]
        width = max(len(title) for title, _ in rows)
        return "\n".join(f"{title:<{width}}  {text}" for title, text in rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row">{_html.escape(title)}</th>'
            f'<td style="text-align:left">{_html.escape(text, 120)}</td></tr>'
            for title, text in self._rows()
        )
        body = _html.facts("Description", [self.dtype, f"rank {len(self.shape)}"])
        table = _html.scroll(
            '<table class="rk-grid"><caption>what the elements are</caption>'
            f"<tbody>{rows}</tbody></table>",
            "what the elements are",
        )
        body += f'<div class="rk-parts">{axes_part(self.shape, self.dims)}{table}</div>'
        return _html.card(str(self), body, axes=True)


def describe(array: Any, kind: ElementType, dims: Dims, opset: int | None) -> Description:
    """What an array holds, in memory or not.

    Parameters
    ----------
    array : numpy.ndarray or dask.array.Array
        Every element is read.
    kind : ElementType
        The row of its element type.
    dims : tuple of (str or None), or None
        The names of its axes.
    opset : int or None
        The opset of its reductions.

    Returns
    -------
    Description
    """
    if isinstance(array, np.ndarray):
        with np.errstate(invalid="ignore"):  # looking at a signalling NaN is no accident
            found = _survey(array, kind)
        memory, layout = _show.occupied(array), _show.layout_words(array)
    else:
        array = _foreign.home("dask").sized(array)
        found = _foreign.home("dask").survey(array)
        memory, layout = 0, (lazy_text(array),)
    low, high, nan, positive, negative = found
    return Description(
        shape=array.shape, dims=dims, dtype=kind.name, opset=opset, minimum=low, maximum=high,
        nan=nan, positive_infinity=positive, negative_infinity=negative,
        memory=memory, nbytes=array.nbytes, layout=layout,
    )  # fmt: skip


def _survey(array: NDArray[Any], kind: ElementType) -> tuple[Any, Any, int, int, int]:
    """Minimum and maximum without NaN, and the counts of NaN, +infinity and -infinity."""
    if array.size == 0:
        return None, None, 0, 0, 0
    repeats = 1
    once: list[Any] = []
    for size, stride in zip(array.shape, array.strides, strict=True):
        repeated = stride == 0 and size > 1
        repeats *= size if repeated else 1
        once.append(slice(0, 1) if repeated else slice(None))
    array = array[tuple(once)] if once else array
    low = _engine.reduce_min(array, keepdims=False, strict=False)[()]
    high = _engine.reduce_max(array, keepdims=False, strict=False)[()]
    if kind.kind != "float" or not (np.isnan(low) or np.isinf(low) or np.isinf(high)):
        return low, high, 0, 0, 0
    nan = positive = negative = 0
    lows, highs = [], []
    pieces = np.nditer(
        [array], ["external_loop", "buffered"], [["readonly", "aligned"]],
        op_dtypes=[kind.numpy_dtype], casting="equiv", buffersize=1 << 18,
    )  # fmt: skip
    for piece in pieces:
        part: NDArray[Any] = np.asarray(piece)
        is_nan = np.isnan(part)
        found = int(np.count_nonzero(is_nan))
        nan += found
        part = part[~is_nan] if found else part
        positive += int(np.count_nonzero(part == np.inf))
        negative += int(np.count_nonzero(part == -np.inf))
        if part.size:
            lows.append(_engine.reduce_min(part, keepdims=False, strict=False))
            highs.append(_engine.reduce_max(part, keepdims=False, strict=False))
    if not lows:
        return None, None, nan * repeats, 0, 0
    low = _engine.reduce_min(np.stack(lows), keepdims=False, strict=False)[()]
    high = _engine.reduce_max(np.stack(highs), keepdims=False, strict=False)[()]
    return low, high, nan * repeats, positive * repeats, negative * repeats
