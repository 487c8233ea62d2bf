from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)
_Out = TypeVar("_Out", bound=NDArray[Any])
_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | NDArray[np.integer[Any]]
_Flag: TypeAlias = bool | np.bool_ | Literal[0, 1]
_Opset: TypeAlias = int | Literal["latest"]

# The result has the element type of the data; a list or a number has one that only NumPy knows.
@overload
def reduce_max(
    data: ArrayLike,
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: _Out,
    progress: _Flag = True,
) -> _Out: ...
@overload
def reduce_max(
    data: NDArray[_Scalar],
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: None = None,
    progress: _Flag = True,
) -> NDArray[_Scalar]: ...
@overload
def reduce_max(
    data: ArrayLike,
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: None = None,
    progress: _Flag = True,
) -> NDArray[Any]: ...
@overload
def reduce_min(
    data: ArrayLike,
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: _Out,
    progress: _Flag = True,
) -> _Out: ...
@overload
def reduce_min(
    data: NDArray[_Scalar],
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: None = None,
    progress: _Flag = True,
) -> NDArray[_Scalar]: ...
@overload
def reduce_min(
    data: ArrayLike,
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: None = None,
    progress: _Flag = True,
) -> NDArray[Any]: ...
@overload
def reduce_sum(
    data: ArrayLike,
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: _Out,
    exact: _Flag = False,
    progress: _Flag = True,
) -> _Out: ...
@overload
def reduce_sum(
    data: NDArray[_Scalar],
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: None = None,
    exact: _Flag = False,
    progress: _Flag = True,
) -> NDArray[_Scalar]: ...
@overload
def reduce_sum(
    data: ArrayLike,
    axes: _Axes | None = None,
    *,
    keepdims: _Flag = True,
    noop_with_empty_axes: _Flag = False,
    opset: _Opset | None = None,
    strict: _Flag = True,
    out: None = None,
    exact: _Flag = False,
    progress: _Flag = True,
) -> NDArray[Any]: ...
def reduce_columns(op: int, columns: list[NDArray[Any]], out: NDArray[Any]) -> bool: ...
