"""A bar for what takes long, where somebody can see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = ["DELAY", "is_seen", "progress_bar"]

DELAY = 2.0
"""Seconds before a bar appears."""


@contextmanager
def progress_bar(total: int, wanted: bool) -> Iterator[Callable[[int], object]]:
    """A function to call with the number of bytes that were done.

    Parameters
    ----------
    total : int
        How many bytes there are.
    wanted : bool
        False for no bar at all. True for one that comes up after two seconds, if the
        output is a terminal or a notebook and tqdm is installed.
    """
    kind = _kind() if wanted else None
    if kind is None:
        yield lambda _: None
        return
    with kind(total=total, unit="B", unit_scale=True, delay=DELAY, leave=False) as bar:
        yield bar.update


def is_seen() -> bool:
    """Whether a bar would come up here, if it takes long."""
    return _kind() is not None


def _kind() -> Any:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    notebook = type(shell).__name__ == "ZMQInteractiveShell"
    if not notebook and (sys.stderr is None or not sys.stderr.isatty()):
        return None
    try:
        if notebook:
            import_module("ipywidgets")
            return import_module("tqdm.notebook").tqdm
    except ImportError:
        pass  # a bar of text then
    try:
        return import_module("tqdm").tqdm
    except ImportError:
        return None
