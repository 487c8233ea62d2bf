"""The kernels of the best CPU level that this build and this processor share.

``REDUCEKIT_CPU`` names another level, for tests and comparisons.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.machinery import PathFinder

from .._cpu import supported

__all__ = ["LEVEL", "available", "table"]


def available() -> tuple[str, ...]:
    """The levels that were built and that this processor can run, best first."""
    # importlib.util would take as long to import as a level itself.
    return tuple(
        name for name in supported() if PathFinder.find_spec(f"{__name__}._{name}", __path__)
    )


def _choose() -> str:
    wanted = os.environ.get("REDUCEKIT_CPU")
    if not wanted:
        return available()[0]
    if wanted not in available():
        raise ImportError(
            f"REDUCEKIT_CPU={wanted!r} is not a level that this build and this processor "
            f"offer; use one of {', '.join(available())}"
        )
    return wanted


LEVEL: str = _choose()
"""The level in use."""

table = import_module(f"{__name__}._{LEVEL}").table
