"""What all figures share: colours, a place to draw, and what may be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._inputs import as_array
from ..tensor import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BLUE", "DIM", "HUES", "INK", "RED", "new_axes", "tint", "to_tensor"]

# Okabe and Ito's hues, which colour-blind readers tell apart; the widgets have the same.
HUES = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#999999")
BLUE, RED, INK, DIM = "#0072b2", "#b34700", "#1a1a1a", "#595959"


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        raise ImportError(
            "reducekit.plot: matplotlib is missing; run `pip install 'reducekit[notebook]'`"
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def to_tensor(who: str, given: Any, dims: Any = None) -> Tensor:
    """The data as a Tensor, with the names that a frame of pandas or an array of xarray has.

    >>> to_tensor("collapse", [[1, 2]], ("row", "column")).dims
    ('row', 'column')
    """
    source = type(given).__module__.partition(".")[0]
    if source == "xarray":
        given = Tensor.from_xarray(given)
    elif source == "pandas":
        given = Tensor.from_frame(given)
    elif not isinstance(given, Tensor):
        given = as_array(who, given)
    return Tensor(given, dims)


def tint(color: str, strength: float) -> tuple[float, ...]:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(1 - strength * (1 - part) for part in parts)
