from contextvars import ContextVar
from typing import Any, Final, Literal

from numpy.typing import DTypeLike

from .schema import OperatorVersion

CURRENT: Final[ContextVar[int]]

def set_default_opset(opset: int | Literal["latest"]) -> None: ...
def get_default_opset() -> int: ...
def look_for_opsets() -> None: ...
def resolve_call(
    op: int,
    ndim: int,
    dtype: DTypeLike,
    axes: Any,
    keepdims: Any,
    noop_with_empty_axes: Any,
    opset: Any,
    strict: Any,
) -> tuple[OperatorVersion, tuple[int, ...], bool, bool]: ...
