"""The worked examples and stated rules of the two documents that the package implements.

The ONNX operator page of ReduceMax, versions 1 to 20, and Ascend ATB's page of
ReduceOperation, which takes its results from PyTorch's amax, amin and sum.
"""

import numpy as np
import pytest
from oracles import FUNCTIONS, REFERENCE, assert_same

import reducekit as rk
from reducekit import atb, schema
from reducekit.dtypes import by_name

ATB_EXAMPLES = [
    ("max", [0], [[1, 18, 17], [16, 10, 1]], [16, 18, 17]),
    ("max", [0, 1], [[[17, 3], [19, 6], [1, 18]], [[4, 5], [8, 1], [14, 18]]], [19, 18]),
    ("min", [0], [[16, 2, 7], [18, 16, 17]], [16, 2, 7]),
    ("min", [0, 1], [[[9, 4], [11, 0], [2, 6]], [[2, 7], [8, 16], [5, 3]]], [2, 0]),
    (
        "sum",
        [0],
        [[-0.9701, -0.8059, 0.2919], [-0.1444, -2.3023, 1.2257]],
        [-1.1145, -3.1082, 1.5176],
    ),
    (
        "sum",
        [0, 1],
        [
            [[1.4630, -0.3619], [-0.4526, -1.0142], [-0.2883, 0.9334]],
            [[0.7801, -0.1580], [0.4843, 1.8145], [0.9706, -1.8114]],
        ],
        [2.9571, -0.5976],
    ),
]


@pytest.mark.parametrize(("op", "axis", "x", "output"), ATB_EXAMPLES)
@pytest.mark.parametrize("name", ["int32", "float16", "bfloat16", "float32", "float64"])
def test_examples_of_reduce_operation(op, axis, x, output, name):
    """As the page prints them: integers as they are, floats to four decimals."""
    if op == "sum" and name not in ("float32", "float64"):
        name = "float32"
    data = np.array(x).astype(by_name(name).numpy_dtype)
    kind = atb.ReduceType[schema.operator(op).atb]
    operation = atb.ReduceOperation(atb.ReduceParam(reduceType=kind, axis=axis))
    results = [
        FUNCTIONS[op](data, axis, keepdims=False),
        REFERENCE[op](data, axis, keepdims=False),
        operation(data),
    ]
    for got in results:
        assert_same(got, results[0], (op, axis, name))
        assert got.shape == (len(output),)
        assert np.round(got.astype(np.float64), 4).tolist() == output


WIDE = {"double", "float", "float16", "int32", "int64", "uint32", "uint64"}
PAGE = {
    1: WIDE,
    11: WIDE,
    12: WIDE | {"int8", "uint8"},
    13: WIDE | {"int8", "uint8", "bfloat16"},
    18: WIDE | {"int8", "uint8", "bfloat16"},
    20: WIDE | {"int8", "uint8", "bfloat16", "bool"},
}


def test_versions_of_the_page():
    assert [v.since_version for v in schema.history("ReduceMax")] == sorted(PAGE)


@pytest.mark.parametrize("since", PAGE)
def test_types_of_the_page(since):
    version = schema.resolve("ReduceMax", since)
    assert {by_name(name).onnx_name for name in version.dtypes} == PAGE[since]
    for name in version.dtypes:
        data = np.array([[1, 0], [0, 1]]).astype(by_name(name).numpy_dtype)
        got = rk.reduce_max(data, opset=since, keepdims=False)
        assert_same(got, data[0, 0].reshape(()), (since, name))


@pytest.mark.parametrize("since", PAGE)
def test_rules_of_the_page(since):
    x = np.array([[[5, 1], [20, 2]], [[30, 1], [40, 2]], [[55, 1], [60, 2]]], np.float32)
    # "If keepdims equals 1, then the resulting tensor has the same rank as the input", by default;
    # "the default is to reduce all dimensions of the input tensor".
    assert_same(rk.reduce_max(x, opset=since), np.array([[[60]]], np.float32))
    assert rk.reduce_max(x, [1], opset=since).tolist() == [[[20, 2]], [[40, 2]], [[60, 2]]]
    # "If keepdims equals 0, then the resulting tensor has the reduced dimension pruned."
    got = rk.reduce_max(x, [1], keepdims=0, opset=since)
    assert got.tolist() == [[20, 2], [40, 2], [60, 2]]
    # "Input tensors of rank zero are valid."
    assert_same(rk.reduce_max(np.float32(7), opset=since), np.array(7, np.float32))
    # "Reduction over an empty set of values yields minus infinity (if supported by the datatype)
    # or the minimum value of the data type otherwise."
    empty = np.zeros((2, 0, 4))
    for kind, value in [(np.float32, -np.inf), (np.float16, -np.inf), (np.int32, -(2**31))]:
        got = rk.reduce_max(empty.astype(kind), [1], opset=since)
        assert_same(got, np.full((2, 1, 4), value, kind))
    # "The accepted range is [-r, r-1] where r = rank(data)", which version 1 does not say.
    for axis in range(-3, 3):
        if axis < 0 and since == 1:
            with pytest.raises(rk.AxesError, match="begin at opset 11"):
                rk.reduce_max(x, [axis], opset=since)
        else:
            got = rk.reduce_max(x, [axis], opset=since, keepdims=False)
            assert_same(got, x.max(axis))
    for axis in (-4, 3):
        with pytest.raises(rk.AxesError):
            rk.reduce_max(x, [axis], opset=since)
    # noop_with_empty_axes: "when axes is empty and this attribute is set to true, the input tensor
    # is not reduced, and the output tensor is equivalent to the input tensor", from 18.
    for axes in (None, []):
        if since < 18:
            with pytest.raises(rk.OpsetError, match="use opset 18 or later"):
                rk.reduce_max(x, axes, noop_with_empty_axes=1, opset=since)
        else:
            assert_same(rk.reduce_max(x, axes, noop_with_empty_axes=1, opset=since), x)
            got = rk.reduce_max(x, axes, noop_with_empty_axes=0, opset=since)
            assert_same(got, np.array([[[60]]], np.float32))


def test_false_is_below_true():
    """Version 20: "if the input data type is Boolean, the comparison considers False < True"."""
    x = np.array([[True, True], [True, False], [False, True], [False, False]])
    assert rk.reduce_max(x, [1], opset=20).tolist() == [[True], [True], [True], [False]]
    assert rk.reduce_min(x, [1], opset=20).tolist() == [[True], [False], [False], [False]]


def test_keepdims_differs_from_numpys_default():
    """'Similar to numpy, except that numpy's keepdims defaults to False instead of True.'"""
    x = np.arange(6.0).reshape(2, 3)
    assert rk.reduce_max(x, [1]).shape == np.max(x, axis=1, keepdims=True).shape == (2, 1)
    assert np.max(x, axis=1).shape == (2,)
