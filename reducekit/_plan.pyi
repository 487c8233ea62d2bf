from collections.abc import Container, Sequence
from typing import Final, NamedTuple

class Plan(NamedTuple):
    form: str
    kept: tuple[tuple[int, int], ...]
    reduced: tuple[tuple[int, int], ...]
    outputs: int
    terms: int

NAMES: Final[dict[int, str]]

def describe(
    shape: Sequence[int],
    strides: Sequence[int],
    itemsize: int,
    reduced: Container[int],
    idempotent: bool = True,
) -> Plan: ...
