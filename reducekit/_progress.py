"""A bar for what takes long, where somebody can see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

__all__ = ["DELAY", "Report", "progress_bar"]

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


class Report:
    """What the engine calls now and then with the number of elements that it has read.

    Parameters
    ----------
    elements : int
        How many there are.
    itemsize : int
        The bytes of each.
    """

    def __init__(self, elements: int, itemsize: int) -> None:
        self._elements = elements
        self._itemsize = itemsize
        self._told = 0
        self._within: AbstractContextManager[Callable[[int], object]] | None = None

    def __call__(self, elements: int) -> None:
        if self._within is None:  # the first call comes after a tenth of a second
            self._within = progress_bar(self._elements * self._itemsize, wanted=True)
            self._done = self._within.__enter__()
        # What is read twice, in search of an exact sum, counts twice.
        elements = min(elements, self._elements)
        self._done((elements - self._told) * self._itemsize)
        self._told = elements

    def close(self) -> None:
        """Take the bar away."""
        if self._within is not None:
            self._within.__exit__(None, None, None)


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
