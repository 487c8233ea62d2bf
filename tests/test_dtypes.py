"""The table of element types, and every op at every opset with every one of them."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from arrays import NAMES, ordinary
from oracles import FUNCTIONS, OPS, assert_same, check, never, outcome

import reducekit as rk
from reducekit import dtypes, schema
from reducekit.dtypes import ELEMENT_TYPES, by_name, element_type

kinds = pytest.mark.parametrize("kind", ELEMENT_TYPES, ids=lambda kind: kind.name)


@kinds
def test_names_and_numbers_are_those_of_onnx(kind):
    number = kind.onnx_number
    assert onnx.TensorProto.DataType.Name(number).lower() == kind.onnx_name
    assert onnx.helper.tensor_dtype_to_np_dtype(number) == kind.numpy_dtype
    assert kind.itemsize == kind.numpy_dtype.itemsize
    assert kind.name == kind.numpy_dtype.name
    assert kind.numpy_dtype.isnative


@kinds
def test_limits(kind):
    if kind.kind == "float":
        assert np.isneginf(kind.lowest)
        assert np.isposinf(kind.highest)
    elif kind.kind == "bool":
        assert (kind.lowest, kind.highest) == (False, True)
    else:
        limits = ml_dtypes.iinfo(kind.numpy_dtype)
        assert (int(kind.lowest), int(kind.highest)) == (limits.min, limits.max)
    assert kind.zero == 0
    assert not np.signbit(np.float64(kind.zero))
    for value in (kind.lowest, kind.highest, kind.zero):
        assert value.dtype == kind.numpy_dtype


@kinds
def test_every_spelling_of_a_dtype_is_found(kind):
    native = kind.numpy_dtype
    assert by_name(kind.name) is kind
    for spelling in (kind.name, native, native.type, native.newbyteorder(">")):
        assert element_type(spelling) is kind
    if kind.name != "bfloat16":
        assert element_type(np.dtype(native, metadata={"unit": "m"})) is kind
    assert dtypes.ELEMENT_TYPES.index(kind) == NAMES.index(kind.name)


def test_both_names_of_a_c_integer_are_one_type():
    for code in "bhilqBHILQ":
        kind = element_type(np.dtype(code))
        assert kind.itemsize == np.dtype(code).itemsize
        assert kind.kind == ("int" if code.islower() else "uint")


REFUSED = [
    "complex64", "complex128", "S3", "U3", "O", "M8[D]", "m8[s]", "V4", [("a", "f4"), ("b", "u1")],
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4,
]  # fmt: skip
if np.dtype("longdouble") != np.dtype("float64"):
    REFUSED += ["longdouble", "clongdouble"]


@pytest.mark.parametrize("dtype", REFUSED, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_other_types_are_refused_always(op, dtype):
    data = np.zeros((2, 3), dtype)
    assert element_type(data.dtype) is None
    for strict in (True, False):
        for axes in (None, [0], [7]):
            error = outcome(FUNCTIONS[op], data, axes, strict=strict)
            assert type(error) is rk.DTypeError
            assert isinstance(error, TypeError)
            assert f"elements of dtype {data.dtype} cannot be reduced" in str(error)
            check(op, data, axes, plain=data, strict=strict)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("opset", range(1, schema.NEWEST_OPSET + 1))
def test_every_op_at_every_opset_with_every_type(op, opset):
    version = schema.resolve(op, opset)
    rng = np.random.default_rng(opset)
    for kind in ELEMENT_TYPES:
        data = ordinary(kind.name, (3, 4), rng)
        for keepdims in (True, False):
            got = check(op, data, [1], opset=opset, keepdims=keepdims)
            if version.allows(kind.name):
                assert got.dtype == kind.numpy_dtype
            else:
                assert type(got) is rk.DTypeError
        lenient = check(op, data, [1], opset=opset, strict=False)
        if never(op, kind.name):
            assert type(lenient) is rk.DTypeError
        else:
            newest = outcome(FUNCTIONS[op], data, [1], strict=False)
            assert_same(lenient, newest, f"{op} of {kind.name}: strict=False changed the result")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("code", "bhilqBHILQ")
def test_both_names_of_a_c_integer_reduce_alike(op, code):
    check(op, np.array([[3, 1], [2, 4]], dtype=code), [0], strict=False)
