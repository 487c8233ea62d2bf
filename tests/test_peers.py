"""NumPy and ONNX's reference evaluator as second oracles, and where they are wrong.

Where a peer agrees with the standard it is held against the functions over one grid.
Where it does not, a row of data below has the right values and the peer's own, and
both are asserted: a peer that changes its mind is news.
"""

import itertools
import warnings
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from arrays import ordinary, subsets
from onnx.reference import ReferenceEvaluator
from oracles import FUNCTIONS, OPS, assert_same, outcome

from reducekit import schema
from reducekit.dtypes import element_type

bf16 = np.dtype(ml_dtypes.bfloat16)
NUMPYS = {"max": np.max, "min": np.min, "sum": np.sum}


def by_numpy(op, data, axes=None, *, keepdims=True, **_):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axis = tuple(axes) if axes is not None and len(axes) else None
        return np.asarray(NUMPYS[op](data, axis=axis, keepdims=bool(keepdims)))


def by_onnx(op, data, axes=None, *, opset=28, **attributes):
    """One node, built as its version keeps axes, run by the standard's own evaluator."""
    version = schema.resolve(op, opset)
    attributes = {name: int(value) for name, value in attributes.items()}
    inputs, initializers = ["data"], []
    number = element_type(data.dtype).onnx_number
    if axes is not None and version.axes == "input":
        inputs.append("axes")
        initializers = [onnx.helper.make_tensor("axes", onnx.TensorProto.INT64, [len(axes)], axes)]
    node = onnx.helper.make_node(version.name, inputs, ["result"], **attributes)
    if axes is not None and version.axes == "attribute":
        attribute = onnx.helper.make_attribute(
            "axes", list(axes), attr_type=onnx.AttributeProto.INTS
        )
        node.attribute.append(attribute)
    graph = onnx.helper.make_graph(
        [node],
        "one",
        [onnx.helper.make_tensor_value_info("data", number, None)],
        [onnx.helper.make_tensor_value_info("result", number, None)],
        initializers,
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, {"data": data})[0]


PEERS = {"numpy": by_numpy, "onnx": by_onnx}


@pytest.mark.parametrize("op", OPS)
def test_the_evaluator_agrees_on_every_version_type_and_axes(op):
    rng = np.random.default_rng(60)
    for version in schema.history(op):
        for kind, shape in itertools.product(
            schema.element_types(version), [(), (3,), (2, 3), (2, 0), (2, 3, 2)]
        ):
            data = whole(op, kind, shape, rng)
            for axes in [None, *subsets(len(shape))]:
                for keepdims, noop in itertools.product((0, 1), (0, 1)):
                    kwargs = {"opset": version.since_version, "keepdims": keepdims}
                    if version.noop_with_empty_axes:
                        kwargs["noop_with_empty_axes"] = noop
                    elif noop:
                        continue
                    want = by_onnx(op, data, axes, **kwargs)
                    got = FUNCTIONS[op](data, axes, **kwargs)
                    assert_same(got, np.asarray(want), (str(version), kind.name, shape, axes))


def whole(op, kind, shape, rng):
    """Data on which a sum is exact whatever its order and width, without zeros."""
    if op != "sum":
        return ordinary(kind.name, shape, rng)
    return np.asarray(rng.integers(1, 9, shape)).astype(kind.numpy_dtype)


@pytest.mark.parametrize("op", OPS)
def test_numpy_agrees_on_every_type_and_axes(op):
    rng = np.random.default_rng(61)
    for kind in schema.element_types(schema.resolve(op)):
        for shape in [(), (5,), (4, 6), (2, 3, 4), (2, 1, 3, 2)]:
            data = whole(op, kind, shape, rng)
            for axes in subsets(len(shape)):
                for keepdims in (False, True):
                    want = by_numpy(op, data, axes, keepdims=keepdims).astype(kind.numpy_dtype)
                    got = FUNCTIONS[op](data, axes, keepdims=keepdims)
                    assert_same(got, want, (op, kind.name, shape, axes))


@dataclass
class Disagreement:
    """What a peer gives for data, beside the right result.

    ``theirs`` is an array, an exception class, or None where it depends on the order
    of the elements: then some order gives it wrong.
    """

    what: str
    peers: tuple
    op: str
    data: Any
    right: Any
    theirs: Any
    kwargs: dict = field(default_factory=lambda: {"keepdims": False})


def same_bytes(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


f2, f4, f8, i4 = np.float16, np.float32, np.float64, np.int32
BOTH = ("numpy", "onnx")
ZEROS = [0.0, -0.0]
DISAGREEMENTS = [
    Disagreement("zeros", BOTH, "max", np.array(ZEROS, f4), np.array(0.0, f4), None),
    Disagreement("zeros", BOTH, "min", np.array(ZEROS, f4), np.array(-0.0, f4), None),
    Disagreement("zeros", BOTH, "max", np.array(ZEROS, f8), np.array(0.0, f8), None),
    Disagreement("zeros", BOTH, "max", np.array(ZEROS, bf16), np.array(0.0, bf16), None),
    Disagreement(
        "a sum of negative zeros", ("onnx",), "sum", np.array([-0.0, -0.0], f4),
        np.array(-0.0, f4), np.array(0.0, f4),
    ),
    Disagreement(
        "a sum of a negative zero with no axes to reduce", ("onnx",), "sum", np.array([-0.0], f4),
        np.array([-0.0], f4), np.array([0.0], f4), {"axes": [], "noop_with_empty_axes": True},
    ),
    Disagreement(
        "the empty set", ("numpy",), "max", np.zeros(0, f4), np.array(-np.inf, f4), ValueError
    ),
    Disagreement(
        "the empty set", ("numpy",), "min", np.zeros(0, i4), np.array(2**31 - 1, i4), ValueError
    ),
    Disagreement(
        "integer sums are widened", ("numpy",), "sum", np.array([1, 2], i4), np.array(3, i4),
        np.array(3, np.int64),
    ),
    Disagreement(
        "integer sums are widened", ("numpy",), "sum", np.array([2**32 - 1, 2], np.uint32),
        np.array(1, np.uint32), np.array(2**32 + 1, np.uint64),
    ),
    Disagreement(
        "cancellation", BOTH, "sum", np.array([1e8, 1, -1e8], f4), np.array(1, f4),
        np.array(0, f4),
    ),
    Disagreement(
        "cancellation", BOTH, "sum", np.array([1e16, 1, -1e16], f8), np.array(1.0),
        np.array(0.0),
    ),
    Disagreement(
        "float16 overflows on the way", BOTH, "sum",
        np.repeat(np.array([[4e4, 4e4, -4e4, -4e4, 12]], f2).T, 9, 1), np.full(9, 12, f2),
        np.full(9, np.inf, f2), {"axes": [0], "keepdims": False},
    ),
    Disagreement(
        "float32 rounds at every step down a column", BOTH, "sum", np.full((100_000, 2), 0.1, f4),
        np.full(2, 10000.0001490116, f4), np.full(2, 9998.557, f4),
        {"axes": [0], "keepdims": False},
    ),
    Disagreement(
        "bfloat16 rounds at every step", BOTH, "sum", np.ones(1000, bf16), np.array(1000, bf16),
        np.array(256, bf16),
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", DISAGREEMENTS, ids=lambda row: f"{row.op}: {row.what}")
def test_known_disagreements(row):
    got = FUNCTIONS[row.op](row.data, **row.kwargs)
    assert_same(got, row.right, row.what)
    for name in row.peers:
        theirs = outcome(PEERS[name], row.op, row.data, **row.kwargs)
        if row.theirs is None:
            orders = [
                row.data,
                row.data[::-1],
                np.resize(row.data, 3),
                np.resize(row.data[::-1], 3),
            ]
            answers = [np.asarray(PEERS[name](row.op, data, **row.kwargs)) for data in orders]
            assert not all(same_bytes(answer, row.right) for answer in answers), name
            for data in orders:
                assert_same(FUNCTIONS[row.op](data, **row.kwargs), row.right, row.what)
        elif isinstance(row.theirs, type):
            assert isinstance(theirs, row.theirs), name
        else:
            assert same_bytes(np.asarray(theirs), row.theirs), (name, theirs)
            assert not same_bytes(row.theirs, row.right)
