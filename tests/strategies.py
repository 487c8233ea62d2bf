"""Reductions for hypothesis to search: any type, shape, view, axes, opset and flags."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from arrays import FLOATS, NAMES, extremes, nans
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracles import OPS, never

from reducekit import schema
from reducekit.dtypes import by_name


@dataclass
class Reduction:
    """A call: prints as something to paste into a test."""

    op: str
    data: Any
    axes: Any = None
    kwargs: dict = field(default_factory=dict)


def elements(name):
    """Values of a type: small numbers, its extremes, and NaN in all its kinds."""
    kind = by_name(name)
    if kind.kind in ("int", "uint", "bool"):
        values = st.sampled_from(extremes(name).tolist())
        if kind.kind != "bool":
            values |= st.integers(int(kind.lowest), int(kind.highest))
        return values
    few = st.integers(-40, 40).map(lambda n: n / 4)
    special = [float(v) for v in np.concatenate([extremes(name), nans(name)])]
    return few | st.sampled_from(special)


@st.composite
def views(draw, name, max_rank=5):
    """An array of a type, then looked at through slices, transposes and broadcasts."""
    kind = by_name(name)
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=max_rank, min_side=0, max_side=7))
    if draw(st.booleans()) and shape:
        shape = (*shape[:-1], draw(st.integers(0, 70)))
    count = int(np.prod(shape))
    pool = draw(st.lists(elements(name), min_size=1, max_size=12))
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, len(pool), count)
    with np.errstate(all="ignore"):
        data = np.array(pool).astype(kind.numpy_dtype)[order].reshape(shape)
    if name in FLOATS and draw(st.booleans()):
        data = data.astype(kind.numpy_dtype.newbyteorder(">"))
    for step in draw(st.lists(st.sampled_from(["slice", "transpose", "broadcast"]), max_size=3)):
        if step == "transpose":
            data = data.transpose(draw(st.permutations(range(data.ndim))))
        elif step == "broadcast" and data.ndim < 7:
            data = np.broadcast_to(data, (draw(st.integers(0, 4)), *data.shape))
        elif step == "slice" and data.ndim:
            data = data[
                tuple(
                    slice(draw(st.integers(0, 2)), None, draw(st.sampled_from([1, 1, 2, 3])))
                    if draw(st.booleans())
                    else slice(None, None, draw(st.sampled_from([1, -1, -2])))
                    for _ in range(data.ndim)
                )
            ]
    return data


@st.composite
def axes_of(draw, rank, negative=True):
    """Some of the axes, in any order and either way of counting; or none, or omitted."""
    if draw(st.integers(0, 4)) == 0:
        return None
    chosen = draw(st.permutations(range(rank)))[: draw(st.integers(0, rank))]
    return [axis - rank if negative and draw(st.booleans()) else axis for axis in chosen]


@st.composite
def reductions(draw, ops=OPS, names=NAMES, max_rank=5):
    """A call that the rules allow, under an opset that allows it."""
    op = draw(st.sampled_from(ops))
    name = draw(st.sampled_from([name for name in names if not never(op, name)]))
    strict = schema.first_opset(op, name) is not None and draw(st.booleans())
    first = schema.first_opset(op, name) if strict else 1
    opset = draw(st.integers(first, schema.NEWEST_OPSET))
    version = schema.resolve(op, opset)
    data = draw(views(name, max_rank=max_rank))
    axes = draw(axes_of(data.ndim, negative=version.negative_axes or not strict))
    kwargs = {"keepdims": draw(st.booleans()), "opset": opset, "strict": strict}
    if version.noop_with_empty_axes:
        kwargs["noop_with_empty_axes"] = draw(st.booleans())
    return Reduction(op, data, axes, kwargs)


@st.composite
def indices(draw, shape):
    """Indices that keep at least two different places of every axis that they keep."""
    items = []
    axis = 0
    has_ellipsis = False
    length = 3
    while axis < len(shape):
        kinds = ["int", "slice", "slice", "newaxis", "list", "table", "mask", "stop"]
        if not has_ellipsis:
            kinds.append("ellipsis")
        if axis + 1 < len(shape):
            kinds += ["mask of two"]
            # An open mesh gives names only where it is the only index array.
            if not any(isinstance(item, (list, np.ndarray, int)) for item in items):
                kinds += ["mesh"]
        kind = draw(st.sampled_from(kinds))
        size = shape[axis]
        if kind == "stop":
            break
        if kind == "ellipsis":
            has_ellipsis = True
            items.append(...)
            axis += draw(st.integers(0, len(shape) - axis))
        elif kind == "newaxis":
            items.append(None)
        elif kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
            axis += 1
        elif kind == "slice":
            step = draw(st.sampled_from([1, -1, 2, -2]))
            items.append(slice(None, None, step))
            axis += 1
        elif kind == "list":
            items.append(draw(st.permutations(range(size)))[:length])
            axis += 1
        elif kind == "table":
            places = draw(st.permutations(range(length)))
            items.append(np.array([places, np.roll(places, 1)]))
            axis += 1
        elif kind == "mask":
            mask = np.zeros(size, bool)
            mask[:length] = True
            items.append(mask)
            axis += 1
        elif kind == "mask of two":
            mask = np.zeros(shape[axis : axis + 2], bool)
            mask[range(length), range(length)] = True
            items.append(mask)
            axis += 2
        else:
            items += [*np.ix_([0, 2], [1, 0, 2])]
            break
    return tuple(items)
