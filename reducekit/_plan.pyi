from collections.abc import Container, Sequence
from typing import TypedDict

class _Plan(TypedDict):
    form: str
    kept: tuple[tuple[int, int], ...]
    reduced: tuple[tuple[int, int], ...]
    outputs: int
    terms: int

def describe(
    shape: Sequence[int],
    strides: Sequence[int],
    itemsize: int,
    reduced: Container[int],
    idempotent: bool = True,
) -> _Plan: ...
