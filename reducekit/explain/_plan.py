"""The plan of a reduction as Python data."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

from .._plan import loops

__all__ = ["FORMS", "Plan", "describe"]

FORMS = (
    "contiguous runs",
    "short runs",
    "rows into a vector",
    "narrow rows, several at a time",
    "gathered",
)
"""What the forms are called, in the order of the numbers that ``_plan`` gives them."""


class Plan(NamedTuple):
    """How memory is walked: pure data, with a text for people.

    Attributes
    ----------
    form : str
        Which kind of kernel meets the inner loops.
    kept, reduced : tuple of (int, int)
        The loops of each kind as (size, stride in bytes), outermost first.
    outputs : int
        Results.
    terms : int
        Elements that fold into each result.
    """

    form: str
    kept: tuple[tuple[int, int], ...]
    reduced: tuple[tuple[int, int], ...]
    outputs: int
    terms: int

    def __str__(self) -> str:
        lines = [f"form: {self.form}"]
        for name, nest in (("kept", self.kept), ("reduced", self.reduced)):
            text = ", ".join(f"{size} steps of {stride} bytes" for size, stride in nest)
            lines.append(f"{name} loops: {text or 'none'}")
        return "\n".join(lines)


def describe(
    shape: Sequence[int],
    strides: Sequence[int],
    itemsize: int,
    reduced: Container[int],
    idempotent: bool = True,
) -> Plan:
    """The plan for an array: for :func:`reducekit.explain`, tests and teaching.

    Parameters
    ----------
    shape, strides : sequence of int
        Of the array; strides in bytes.
    itemsize : int
        Bytes in an element.
    reduced : container of int
        The axes that are reduced, not negative.
    idempotent : bool, default True
        True for max and min, False for sum.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If there is no such array.

    Examples
    --------
    >>> plan = describe((2, 3, 4), (48, 16, 4), 4, (1, 2))
    >>> plan.form, plan.kept, plan.reduced
    ('short runs', ((2, 48),), ((12, 4),))
    """
    rank = len(shape)
    if rank > 64:
        raise ValueError(f"describe: rank {rank} is beyond NumPy's limit; use at most 64")
    if len(strides) != rank:
        raise ValueError(f"describe: {len(strides)} strides for {rank} axes; give one for each")
    if itemsize < 1:
        raise ValueError(f"describe: itemsize={itemsize} is no size of an element; use 1 or more")
    if itemsize * math.prod(max(n, 1) for n in shape) >= 2**63:
        raise ValueError("describe: no array has so many elements; use less than 2**63 bytes")
    mask = [axis in reduced for axis in range(rank)]
    form, kept, gone, outputs, terms = loops(shape, strides, itemsize, mask, idempotent)
    return Plan(FORMS[form], tuple(kept), tuple(gone), outputs, terms)
