"""Notebook widgets: see what a reduction does, and touch its axes.

The widgets need the ``notebook`` extra (ipywidgets and anywidget), which is
imported when a widget is first named. What they draw from, :mod:`.state` and
:mod:`.fallback`, needs nothing beyond the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .explorer import AxisExplorer

__all__ = ["AxisExplorer"]


def __getattr__(name: str) -> Any:
    if name != "AxisExplorer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from .explorer import AxisExplorer
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in {"anywidget", "ipywidgets", "traitlets"}:
            raise
        raise ImportError(
            f"reducekit.widgets: {error.name} is missing; run `pip install 'reducekit[notebook]'`"
        ) from error
    return AxisExplorer


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
