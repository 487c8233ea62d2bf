"""What a reduction would do, from shapes alone: shapes, axes, rules, the same call elsewhere.

The facts are here. The words for them have files of their own, which are imported when
somebody reads them: a reduction alone does not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Never

import numpy as np

from .. import _refusals, _rules, schema
from .._names import Dims, check_dims, to_positions
from ..dtypes import element_type
from ..errors import ArgumentError, short, show_int
from ._plan import describe

__all__ = ["Explanation", "explain"]

# The sizes of an ONNX tensor are int64.
_MOST_SIZE = 2**63 - 1


class Explanation(NamedTuple):
    """What one reduction does to one shape, and the rules that say so.

    It prints as text, and as a drawing of the axes in notebooks.

    Attributes
    ----------
    operator : str
        The ONNX name, such as ``"ReduceMax"``.
    in_shape, out_shape : tuple of int
        The shapes of the data and of the result.
    reduced_axes, kept_axes : tuple of int
        The positions of the axes, in order.
    version : reducekit.schema.OperatorVersion
        The row of the table that the opset means.
    opset : int
        The opset of the call.
    dtype : str
        The element type of data and result, by NumPy's full name.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    axes : tuple of int
        The axes as they were given, with their signs; empty if omitted.
    noop_with_empty_axes : bool
        The flag of the call.
    identity : bool
        Whether nothing is reduced, because ``noop_with_empty_axes`` says so.
    strict : bool
        Whether the version's element types and its ban on negative axes hold.
    elements_per_output : int
        How many elements become one element of the result.
    in_dims, out_dims : tuple of (str or None), or None
        The names of the axes of the data and of the result.
    plan : tuple or None
        How the engine walks through memory, for data in C order; None where nothing is
        walked. It has the fields ``form``, ``kept`` and ``reduced`` (loops as size and
        stride in bytes, outermost first), ``outputs`` and ``terms``.

    See Also
    --------
    explain : Makes one.

    Examples
    --------
    >>> e = explain("max", shape=(2, 3, 2), axes=[0, 1], opset=18)
    >>> e.out_shape, e.kept_axes, e.elements_per_output
    ((1, 1, 2), (2,), 6)
    """

    operator: str
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    reduced_axes: tuple[int, ...]
    kept_axes: tuple[int, ...]
    version: schema.OperatorVersion
    opset: int
    dtype: str
    axes: tuple[int, ...]
    keepdims: bool
    noop_with_empty_axes: bool
    strict: bool
    identity: bool
    elements_per_output: int
    in_dims: Dims
    out_dims: Dims
    plan: Any = None

    @property
    def in_size(self) -> int:
        """The number of elements of the data."""
        return math.prod(self.in_shape)

    @property
    def out_size(self) -> int:
        """The number of elements of the result."""
        return math.prod(self.out_shape)

    @property
    def summary(self) -> str:
        """One sentence: from what shape to what shape, and what becomes of the elements."""
        from ._sentences import summary

        return summary(self)

    @property
    def rules(self) -> tuple[str, ...]:
        """One sentence for each rule that applies, the version's first."""
        from ._sentences import rules

        return tuple(rules(self))

    @property
    def code(self) -> dict[str, str]:
        """The same call elsewhere, for data called ``x``.

        Keys are ``"reducekit"``, ``"numpy"``, ``"torch"`` and ``"onnx"`` (a model
        in ONNX's text form), and ``"atb"`` where Ascend ATB has such a call.
        """
        from ._elsewhere import code

        return code(self)

    def __str__(self) -> str:
        from ._look import text

        return text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from ._look import card

        return card(self)


def explain(
    op: str,
    shape: Any,
    axes: Any = None,
    keepdims: bool = True,
    noop_with_empty_axes: bool = False,
    opset: int | str | None = None,
    dtype: Any = "float32",
    dims: Any = None,
    strict: bool = True,
    **wrong: Never,
) -> Explanation:
    """What a reduction would do, without data; the checks are those of the call itself.

    Parameters
    ----------
    op : str
        The operator under any of its names: ``"max"``, ``"reduce_max"``, ``"ReduceMax"``.
    shape : int or sequence of int
        The shape of the data; sizes may be 0, and larger than any memory.
    axes : int, str, sequence of (int or str), or None
        Positions, or names if ``dims`` is given. All axes if omitted.
    keepdims : bool, default True
        Whether reduced axes stay, with size 1.
    noop_with_empty_axes : bool, default False
        Whether no axes means that nothing is reduced, where the version has it.
    opset : int or "latest", optional
        The opset in force if omitted.
    dtype : str or dtype_like, default "float32"
        The element type.
    dims : sequence of (str or None), optional
        The names of the axes.
    strict : bool, default True
        Whether the version's element types and its ban on negative axes hold.

    Returns
    -------
    Explanation

    Raises
    ------
    AxesError, DTypeError, OpsetError, ArgumentError, TypeError
        What the call itself would raise, with its text; and for a bad shape or bad names.

    Examples
    --------
    >>> import reducekit as rk
    >>> e = rk.explain("max", (2, 3, 2), [0, 1], opset=18)
    >>> e.out_shape, e.kept_axes, str(e.version)
    ((1, 1, 2), (2,), 'ReduceMax-18')
    >>> print(e.summary)
    (2, 3, 2) -> (1, 1, 2): each of the 2 output elements is the maximum of 6 elements.
    """
    if wrong:
        _refusals.check_keywords(explain, wrong)
    row = schema.operator(op)
    who = row.function
    in_shape = _check_shape(who, shape)
    in_dims = check_dims(who, dims, len(in_shape))
    positions = to_positions(who, axes, in_dims)
    if not (positions is None or isinstance(positions, (int, tuple, list))):
        # The rules read the axes once; the sentences below need them too.
        positions = _read_once(positions)
    number = _rules.get_default_opset() if opset is None else schema.check_opset(who, opset)
    dtype = _check_dtype(who, dtype)
    version, reduced, identity, keep = _rules.resolve_call(
        schema.OPERATORS.index(row), len(in_shape), dtype, positions, keepdims,
        noop_with_empty_axes, number, strict,
    )  # fmt: skip
    kind = element_type(dtype)
    assert kind is not None
    kept = tuple(axis for axis in range(len(in_shape)) if axis not in reduced)
    if keep or not reduced:
        out_shape = tuple(1 if axis in reduced else n for axis, n in enumerate(in_shape))
        out_dims = in_dims
    else:
        out_shape = tuple(in_shape[axis] for axis in kept)
        out_dims = None if in_dims is None else tuple(in_dims[axis] for axis in kept)
    # Sizes beyond what an array can have are explained, but nothing walks them.
    plan = None
    if not identity and kind.itemsize * math.prod(max(n, 1) for n in in_shape) < 2**63:
        strides = [kind.itemsize * math.prod(in_shape[axis + 1 :]) for axis in range(len(in_shape))]
        plan = describe(in_shape, strides, kind.itemsize, reduced, row.idempotent)
    return Explanation(
        operator=row.name, in_shape=in_shape, out_shape=out_shape, reduced_axes=reduced,
        kept_axes=kept, version=version, opset=number, dtype=kind.name,
        axes=_as_given(positions), keepdims=keep,
        noop_with_empty_axes=bool(noop_with_empty_axes), strict=bool(strict), identity=identity,
        elements_per_output=math.prod(in_shape[axis] for axis in reduced),
        in_dims=in_dims, out_dims=out_dims, plan=plan,
    )  # fmt: skip


def _check_dtype(who: str, dtype: Any) -> np.dtype[Any]:
    if dtype is not None:  # NumPy would read None as float64
        try:
            checked: np.dtype[Any] = np.dtype(dtype)
            return checked
        except TypeError:
            pass
    raise _refusals.dtype_unknown(who, dtype)


def _check_shape(who: str, shape: Any) -> tuple[int, ...]:
    if hasattr(shape, "__index__") and not isinstance(shape, bool) and not _has_axes(shape):
        shape = (shape,)
    if isinstance(shape, (str, bytes, bytearray, Mapping, set, frozenset)) or not isinstance(
        shape, Iterable
    ):
        raise TypeError(
            f"{who}: shape={short(shape)} has type {type(shape).__name__}; "
            "use a sequence of sizes, such as (2, 3)"
        )
    sizes = []
    for axis, size in enumerate(shape):
        if type(size).__name__ == "bool" or not hasattr(size, "__index__"):
            raise TypeError(
                f"{who}: the size {short(size)} of axis {axis} has type {type(size).__name__}; "
                "a size is an int"
            )
        number = operator.index(size)
        if not 0 <= number <= _MOST_SIZE:
            raise ArgumentError(
                f"{who}: the size {show_int(number)} of axis {axis} is out of range; "
                "use 0 to 2**63 - 1"
            )
        sizes.append(number)
    return tuple(sizes)


def _has_axes(value: Any) -> bool:
    return bool(getattr(value, "ndim", 0))


def _read_once(axes: Any) -> Any:
    if hasattr(axes, "ndim") or isinstance(axes, (Mapping, bytes, bytearray)):
        return axes
    return tuple(axes) if isinstance(axes, Iterable) else axes


def _as_given(axes: Any) -> tuple[int, ...]:
    """Axes that the rules have accepted, as ints with the signs that they came with."""
    if axes is None:
        return ()
    if hasattr(axes, "tolist"):
        axes = axes.tolist()
    if hasattr(axes, "__index__"):
        return (operator.index(axes),)
    return tuple(operator.index(axis) for axis in axes)
