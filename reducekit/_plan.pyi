from collections.abc import Sequence

def loops(
    shape: Sequence[int],
    strides: Sequence[int],
    itemsize: int,
    reduced: Sequence[bool],
    idempotent: bool,
) -> tuple[int, list[tuple[int, int]], list[tuple[int, int]], int, int]: ...
