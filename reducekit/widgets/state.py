"""What the explorer draws, as plain data: values as text, results, rules, code.

Everything numeric and everything that a rule decides is computed here, by the
library itself; the page only finds out which cells belong together. For tensors
of ordinary size the results of *all* sets of axes travel along, so that the page
answers by itself, without a kernel, in the library's own words. There are only
(n0 + 1)(n1 + 1)... of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _engine, _show, atb, schema
from ..dtypes import ELEMENT_TYPES, by_name, element_type
from ..errors import ReduceError
from ..explain import Explanation, explain

__all__ = [
    "MOST_CELLS",
    "answer",
    "block",
    "cast",
    "example",
    "refusal",
    "view",
]

MOST_CELLS = 2000
"""The most cells of a tensor that are drawn; of a larger one a block is."""

MOST_RESULTS = 6000
"""The most results of one operator that travel along; beyond, the kernel is asked."""

MOST_RANK = 4
"""The most axes that are laid out at once, and the highest rank whose code travels along."""

# How much of an axis is drawn, from the last axis to the first, where not all cells are.
CAPS = (8, 6, 3, 2)
# Beyond this many elements only what is asked for is computed, and example values repeat.
_BIG = 2_000_000
MOST_COMPUTED = 2**33


def example(shape: Sequence[int], dtype: str = "float32") -> NDArray[Any]:
    """Values for a shape that comes without data: small whole numbers, some of them equal.

    Returns
    -------
    numpy.ndarray
        Read-only. A shape of more than two million elements repeats its last axes
        without taking memory for them.

    Examples
    --------
    >>> example((2, 3), "int8").tolist()
    [[3, 8, 13], [18, 4, 9]]
    """
    shape = tuple(shape)
    inner = 0
    while inner < len(shape) and math.prod(shape[-inner - 1 :]) <= _BIG:
        inner += 1
    part = shape[len(shape) - inner :]
    # A step that shares no factor with 19 visits all remainders, so that neighbours differ.
    values = (3 + 5 * np.arange(math.prod(part))) % 19
    kind = by_name(dtype)
    if kind.kind == "bool":
        values = values % 3 == 0
    data = values.astype(kind.numpy_dtype).reshape(part)
    return np.broadcast_to(data, shape)


def cast(data: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The elements as another type, with NumPy's arithmetic; overflow is part of the lesson.

    Returns
    -------
    numpy.ndarray
        Axes of stride 0 keep their stride, so that a tensor that takes no memory takes
        none as another type.

    Examples
    --------
    >>> cast(np.broadcast_to(np.float32([1.5, 300]), (10**9, 2)), "uint8").strides
    (0, 1)
    """
    wanted = by_name(dtype).numpy_dtype
    if data.dtype == wanted:
        return data
    once = data[tuple(slice(1) if step == 0 else slice(None) for step in data.strides)]
    with np.errstate(all="ignore"):
        return np.broadcast_to(once.astype(wanted), data.shape)


def block(
    shape: Sequence[int], layout: Sequence[int], corner: Sequence[int]
) -> tuple[list[int], list[int], bool]:
    """The part of each axis that travels to the page.

    Parameters
    ----------
    shape : sequence of int
        The shape of the tensor.
    layout : sequence of int
        The axes that are laid out; of the others, one position is drawn.
    corner : sequence of int
        Where the part begins along each axis.

    Returns
    -------
    start, count : list of int
        The first position and the number of positions along each axis.
    complete : bool
        Whether that is the whole tensor.

    Examples
    --------
    >>> block((2, 3), [0, 1], [0, 0])
    ([0, 0], [2, 3], True)
    >>> block((1000, 1000), [0, 1], [0, 996])
    ([0, 992], [6, 8], False)
    """
    small = math.prod(shape) <= MOST_CELLS and max(shape, default=0) <= MOST_CELLS
    if small:
        return [0] * len(shape), list(shape), True
    count = [min(size, 1) for size in shape]
    for place, axis in enumerate(reversed(list(layout))):
        count[axis] = min(shape[axis], CAPS[min(place, len(CAPS) - 1)])
    start = [
        max(0, min(first, size - n)) for first, size, n in zip(corner, shape, count, strict=True)
    ]
    return start, count, False


def view(
    data: NDArray[Any],
    names: Sequence[str | None] | None,
    layout: Sequence[int],
    corner: Sequence[int],
) -> dict[str, Any]:
    """All that the page needs to draw a tensor and, where it is small, to answer by itself.

    Parameters
    ----------
    data : numpy.ndarray
        The elements, in any layout; of an element type of the package.
    names : sequence of (str or None), or None
        The names of the axes.
    layout, corner : sequence of int
        As in :func:`block`.

    Returns
    -------
    dict
        Only lists, dicts, strings, numbers and flags, so that JSON holds it.
    """
    kind = element_type(data.dtype)
    assert kind is not None
    start, count, complete = block(data.shape, layout, corner)
    where = tuple(slice(s, s + n) for s, n in zip(start, count, strict=True))
    cells, raw = _texts(data[where], kind.name)
    small = complete and math.prod(n + 1 for n in data.shape) <= MOST_RESULTS
    return {
        "shape": list(data.shape),
        "names": [None if n is None else _show.visible(n, 200) for n in names] if names else None,
        "dtype": kind.name,
        "kind": kind.kind,
        "bits": 8 * kind.itemsize,
        "layout": list(layout),
        "start": start,
        "count": count,
        "complete": complete,
        "cells": cells,
        "raw": raw,
        "cube": _cube(data, kind.name) if small else {},
        "codes": _codes(data.shape, kind.name) if data.ndim <= MOST_RANK else {},
        "ops": {op.short: _operator(op, kind.name, data.ndim) for op in schema.OPERATORS},
        "dtypes": [row.name for row in ELEMENT_TYPES],
        "newest": schema.NEWEST_OPSET,
    }


def _texts(values: NDArray[Any], dtype: str) -> tuple[list[str], list[str]]:
    """The text of each value, and the full value where the text is rounded (else nothing)."""
    kind = by_name(dtype)
    texts, raw = [], []
    for value in values.astype(kind.numpy_dtype, copy=False).reshape(-1):
        text, odd = _show.value_text(value, kind)
        texts.append(text)
        raw.append(repr(float(value)) if odd == "rounded" else "")
    return texts, raw


def _reduce(short: str, data: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    """Reduced axes stay. What is legal was decided before; here only the arithmetic is wanted."""
    if not axes:
        return data
    function = getattr(_engine, schema.operator(short).function)
    result: NDArray[Any] = function(data, list(axes), opset=schema.NEWEST_OPSET, strict=False)
    return result


def _subsets(ndim: int) -> Iterable[tuple[int, ...]]:
    for length in range(ndim + 1):
        yield from itertools.combinations(range(ndim), length)


def _has(short: str, dtype: str) -> bool:
    """Whether the operator reduces this type at all."""
    return _never(short, dtype) is None


def _never(short: str, dtype: str) -> str | None:
    try:
        explain(short, (), dtype=dtype, opset=schema.NEWEST_OPSET, strict=False)
    except ReduceError as error:
        return str(error)
    return None


def _cube(data: NDArray[Any], dtype: str) -> dict[str, dict[str, list[str]]]:
    """The texts of all results: operator, then the reduced axes, then the cells."""
    return {
        op.short: {
            key_of(axes): _texts(_reduce(op.short, data, axes), dtype)[0]
            for axes in _subsets(data.ndim)
        }
        for op in schema.OPERATORS
        if _has(op.short, dtype)
    }


def key_of(axes: Iterable[int]) -> str:
    """How a set of axes is written in the tables.

    >>> key_of((0, 2))
    '0,2'
    """
    return ",".join(map(str, axes))


def _codes(shape: tuple[int, ...], dtype: str) -> dict[str, dict[str, dict[str, str]]]:
    """The code and the sentence of every choice but the opset, which stands as ``{opset}``."""
    table: dict[str, dict[str, dict[str, str]]] = {}
    for op in schema.OPERATORS:
        if not _has(op.short, dtype):
            continue
        rows = table[op.short] = {}
        for keepdims in (True, False):
            for axes in _subsets(len(shape)):
                if axes or not shape:
                    rows[f"{key_of(axes)}|{int(keepdims)}"] = _code(
                        op, shape, dtype, list(axes), keepdims, False
                    )
            rows[f"noop|{int(keepdims)}"] = _code(op, shape, dtype, [], keepdims, True)
    return table


def _code(
    op: schema.Operator, shape: Any, dtype: str, axes: list[int], keepdims: bool, noop: bool
) -> dict[str, str]:
    newest = op.versions[-1]
    e = explain(op.short, shape, axes, keepdims, noop, newest.since_version, dtype, strict=False)
    entry = _entry(e)
    if not noop:
        older = [v for v in op.versions if v.axes == "attribute"][-1]
        before = explain(
            op.short, shape, axes, keepdims, noop, older.since_version, dtype, strict=False
        )
        entry["onnx_attribute"] = _entry(before)["onnx"]
    return entry


def _entry(e: Explanation) -> dict[str, str]:
    """The code with ``{opset}`` for the opset, ``{strict}`` and ``{note}`` for what it decides."""
    code = e.code
    code["reducekit"] = (
        code["reducekit"]
        .replace(", strict=False", "")
        .replace(f"opset={e.opset}", "opset={opset}{strict}")
    )
    lines = code["onnx"].split("\n")
    if lines[0].startswith("#"):
        lines = lines[1:]
    lines[0] = lines[0].replace(f'"" : {e.opset}', '"" : {opset}')
    code["onnx"] = "{note}" + "\n".join(lines)
    return {**code, "say": e.summary}


def _operator(op: schema.Operator, dtype: str, ndim: int) -> dict[str, Any]:
    """What the page must know of one operator: its versions, their refusals, what each changed."""
    versions = []
    for before, version in itertools.pairwise((None, *op.versions)):
        assert version is not None
        opset = version.since_version
        allowed = version.allows(dtype)
        versions.append({
            "since": opset,
            "axes": version.axes,
            "dtype": _error(op.short, (), [], opset, dtype),
            "noop": _error(op.short, (), [], opset, version.dtypes[0], noop=True),
            "negative": [
                _error(op.short, (1,) * ndim, [axis - ndim], opset, version.dtypes[0])
                for axis in range(ndim)
            ],
            "note": "" if allowed else explain(
                op.short, (), opset=opset, dtype=dtype, strict=False
            ).code["onnx"].split("\n")[0] if _has(op.short, dtype) else "",
            "up": _changes(before, version) if before else [],
            "down": _changes(version, before) if before else [],
        })  # fmt: skip
    kind = by_name(dtype)
    empty = op.versions[-1].empty_value(dtype)
    return {
        "name": op.name,
        "function": op.function,
        "verb": op.verb,
        "atb": op.atb,
        "atb_number": op.atb_number,
        "empty": _show.value_text(empty, kind)[0],
        "never": _never(op.short, dtype),
        "versions": versions,
        "atb_errors": _atb_errors(op, dtype, ndim),
    }


def _error(
    short: str, shape: Any, axes: list[int], opset: int, dtype: str, noop: bool = False
) -> str | None:
    try:
        explain(short, shape, axes, True, noop, opset, dtype)
    except ReduceError as error:
        return str(error)
    return None


def _changes(old: schema.OperatorVersion, new: schema.OperatorVersion) -> list[str]:
    """What is different at ``new``, in words."""
    when = f"{new}"
    words = []
    come = [name for name in new.dtypes if name not in old.dtypes]
    gone = [name for name in old.dtypes if name not in new.dtypes]
    if come:
        words.append(f"{when}: {' and '.join(come)} {'arrives' if len(come) == 1 else 'arrive'}.")
    if gone:
        words.append(f"{when}: {' and '.join(gone)} {'is' if len(gone) == 1 else 'are'} not taken.")
    if new.axes != old.axes:
        words.append(f"{when}: axes move from {old.axes} to {new.axes}.")
    for flag, name in (
        ("noop_with_empty_axes", "noop_with_empty_axes"), ("negative_axes", "negative axes")
    ):  # fmt: skip
        had, has = getattr(old, flag), getattr(new, flag)
        if had != has:
            verb = "arrive" if name.endswith("axes") and " " in name else "arrives"
            words.append(
                f"{when}: {name} {verb}."
                if has
                else f"{when}: {name} {'are' if ' ' in name else 'is'} not defined."
            )
    return words or [f"{when}: nothing that matters here."]


def _atb_errors(op: schema.Operator, dtype: str, ndim: int) -> dict[str, Any]:
    kind = atb.ReduceType(op.atb_number)

    def refused(axis: list[int]) -> str | None:
        try:
            operation = atb.ReduceOperation(atb.ReduceParam(kind, axis))
            operation.infer_shape((1,) * ndim)
            if 0 in axis:
                operation(np.zeros((1,) * ndim, by_name(dtype).numpy_dtype))
        except ReduceError as error:
            return str(error)
        return None

    return {
        "empty": refused([]),
        "dtype": refused([0]) if ndim else None,
        "negative": [refused([axis - ndim]) for axis in range(ndim)],
    }


def refusal(
    op: str,
    shape: Sequence[int],
    axes: Sequence[int],
    keepdims: bool = True,
    noop_with_empty_axes: bool = False,
    opset: int = schema.NEWEST_OPSET,
    dtype: str = "float32",
    strict: bool = True,
    api: str = "onnx",
) -> str:
    """The library's own words against a choice, or nothing.

    Examples
    --------
    >>> refusal("max", (2, 3), [-1], opset=20)
    ''
    >>> refusal("max", (2, 3), [], noop_with_empty_axes=True, opset=13)[:60]
    'reduce_max: noop_with_empty_axes=True, but ReduceMax-13 has '
    """
    try:
        if api == "atb":
            kind = atb.ReduceType(schema.operator(op).atb_number)
            operation = atb.ReduceOperation(atb.ReduceParam(kind, list(axes)))
            operation.infer_shape(shape)
            operation(np.zeros((0,) * len(shape), by_name(dtype).numpy_dtype))
        else:
            explain(
                op, shape, list(axes), keepdims, noop_with_empty_axes, opset, dtype, None, strict
            )
    except ReduceError as error:
        return str(error)
    return ""


def answer(
    data: NDArray[Any],
    drawn: dict[str, Any],
    op: str,
    axes: Sequence[int],
    keepdims: bool,
    noop_with_empty_axes: bool,
    result: NDArray[Any] | None,
) -> dict[str, Any]:
    """What the page cannot know by itself about one legal choice.

    Parameters
    ----------
    data : numpy.ndarray
        The elements.
    drawn : dict
        Of :func:`view`.
    op, axes, keepdims, noop_with_empty_axes
        The choice.
    result : numpy.ndarray or None
        The whole result, where it was computed.

    Returns
    -------
    dict
        ``out``, the texts of the results that are drawn, and ``code``, unless the page has
        them; with ``op``, ``axes`` and ``keepdims`` to know them by. Empty if it has both,
        so that nothing is sent and nothing drawn a second time.
    """
    identity = noop_with_empty_axes and not axes
    ndim = data.ndim
    reduced = () if identity else tuple(sorted(a % ndim for a in axes) if axes else range(ndim))
    found: dict[str, Any] = {}
    if not drawn["cube"].get(op) and result is not None:
        whole = result.reshape([1 if a in reduced else n for a, n in enumerate(data.shape)])
        where = tuple(
            slice(None) if axis in reduced else slice(start, start + count)
            for axis, (start, count) in enumerate(zip(drawn["start"], drawn["count"], strict=True))
        )
        found["out"] = _texts(whole[where], drawn["dtype"])[0]
    if not drawn["codes"].get(op):
        row = schema.operator(op)
        given = [] if identity else list(reduced)
        found["code"] = _code(row, data.shape, drawn["dtype"], given, keepdims, identity)
    if not found:
        return found
    choice = {"op": op, "axes": "noop" if identity else key_of(reduced), "keepdims": bool(keepdims)}
    return choice | found
