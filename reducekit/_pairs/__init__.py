"""Error-free sums of runs and rows, compiled for each CPU level as the kernels are."""

from __future__ import annotations

from importlib import import_module

from .._kernels import LEVEL

__all__ = ["table"]

table = import_module(f"{__name__}._{LEVEL}").table
