"""What goes wrong elsewhere: one kind of input after another, each with its neighbours.

Every kind below is one that some library in wide use answers wrongly. Expected values
are written down or follow from exact arithmetic; none comes from the code under test.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from arrays import FLOATS, LAYOUTS, ordinary, plain
from oracles import FUNCTIONS, OPS, REFERENCE, assert_same, outcome

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import by_name

bf16 = np.dtype(ml_dtypes.bfloat16)
f2, f4, f8 = np.float16, np.float32, np.float64
i1, i2, i4, i8 = np.int8, np.int16, np.int32, np.int64
u1, u4, u8 = np.uint8, np.uint32, np.uint64
nan, inf = math.nan, math.inf


@dataclass
class Case:
    """A call, and the result: an array, or the class of the error."""

    op: str
    data: Any
    axes: Any
    keepdims: bool
    opset: int
    want: Any
    kwargs: dict = field(default_factory=dict)


def array(values, dtype=f4):
    return np.array(values, dtype=dtype)


cube = np.arange(24, dtype=f4).reshape(2, 3, 4)
truths = array([[True, False], [False, False]], bool)
small = array([[-128, 5], [7, -1]], i1)
fours = array([[nan, 1.0], [2.0, nan]])

KINDS = {
    "a NaN that comes first, or last, or is not alone": [
        Case("max", array([nan, nan, nan, 7.5]), None, True, 18, array([nan])),
        Case("max", array([7.5, nan, nan, nan]), None, True, 11, array([nan])),
        Case("min", array([nan, -inf]), None, False, 20, array(nan)),
        Case("min", array([-inf, nan], f8), (0,), False, 1, array(nan, f8)),
        Case("max", array([1, 2, nan, 3], bf16), (0,), True, 13, array([nan], bf16)),
        Case("sum", array([nan, 2, 3, 4, 5], bf16), None, False, 13, array(nan, bf16)),
        Case("sum", array([1, nan], f2), None, False, 1, array(nan, f2)),
    ],
    "a NaN in each row, at another place": [
        Case("max", fours, (1,), False, 18, array([nan, nan])),
        Case("min", fours.astype(f8), (0,), False, 13, array([nan, nan], f8)),
        Case("min", fours.astype(bf16), (1,), True, 13, array([[nan], [nan]], bf16)),
    ],
    "a NaN whose sign bit is set": [
        Case("max", -array([nan, 1, 2]), None, False, 18, array(nan)),
        Case("min", array([1, 2, -nan], f2), None, False, 18, array(nan, f2)),
        Case("max", np.array([1, 0xFFC1], np.uint16).view(bf16), None, False, 13, array(nan, bf16)),
    ],
    "an infinity against its opposite": [
        Case("sum", array([inf, -inf, 1]), None, False, 13, array(nan)),
        Case("sum", array([inf, 1, 2], f2), None, False, 13, array(inf, f2)),
        Case("sum", array([[-inf, 1], [1, 1]], f8), (1,), False, 13, array([-inf, 2], f8)),
    ],
    "an empty set of floats": [
        Case("max", np.zeros((0, 4), f4), (0,), False, 18, np.full(4, -inf, f4)),
        Case("max", np.zeros((0, 4), f4), None, True, 13, array([[-inf]])),
        Case("min", np.zeros((3, 0), f2), (1,), True, 18, np.full((3, 1), inf, f2)),
        Case("min", np.zeros((3, 0), bf16), (1,), False, 13, np.full(3, inf, bf16)),
        Case("sum", np.zeros(0, f4), None, True, 13, array([0.0])),
    ],
    "an empty set of integers or truths": [
        Case("sum", np.zeros(0, i4), None, False, 11, array(0, i4)),
        Case("max", np.zeros(0, i4), None, False, 18, array(-(2**31), i4)),
        Case("min", np.zeros((2, 0), i8), (1,), False, 18, np.full(2, 2**63 - 1, i8)),
        Case("max", np.zeros((2, 0), u4), (1,), False, 18, np.zeros(2, u4)),
        Case("min", np.zeros(0, u8), None, True, 1, array([2**64 - 1], u8)),
        Case("max", np.zeros((3, 0), bool), (1,), False, 20, np.zeros(3, bool)),
        Case("min", np.zeros((3, 0), bool), (1,), False, 20, np.ones(3, bool)),
    ],
    "a kept axis of size 0": [
        Case("max", np.zeros((0, 4), f4), (1,), True, 18, np.zeros((0, 1), f4)),
        Case("sum", np.zeros((3, 0), i4), (0,), False, 13, np.zeros(0, i4)),
        Case("min", np.zeros((2, 0, 3), f8), (0, 2), False, 18, np.zeros(0, f8)),
    ],
    "an axis given twice": [
        Case("sum", cube, (1, 1), True, 13, rk.AxesError),
        Case("max", cube, (1, -2), False, 18, rk.AxesError),
        Case("max", cube, (0, 0, 2), True, 11, rk.AxesError),
        Case("min", cube, (0, 1, 2, 0), True, 1, rk.AxesError),
    ],
    "no axes, and the attribute that makes that the identity": [
        Case("max", cube, None, False, 18, cube, {"noop_with_empty_axes": True}),
        Case("sum", cube, None, True, 13, cube, {"noop_with_empty_axes": True}),
        Case("min", array([5], i8), (), False, 18, array([5], i8), {"noop_with_empty_axes": True}),
        Case("max", array(3.5), (), False, 18, array(3.5), {"noop_with_empty_axes": True}),
        Case("sum", array(-0.0), (), True, 13, array(-0.0), {"noop_with_empty_axes": True}),
        Case("sum", cube, (0,), False, 13, cube[0] + cube[1], {"noop_with_empty_axes": True}),
        Case("sum", cube, None, True, 12, rk.OpsetError, {"noop_with_empty_axes": True}),
        Case("max", cube, (), True, 17, rk.OpsetError, {"noop_with_empty_axes": True}),
    ],
    "no axes, which are all axes": [
        Case("sum", cube, (), False, 13, array(276)),
        Case("max", cube, (), True, 18, array([[[23]]])),
        Case("max", cube, (), True, 13, array([[[23]]])),
        Case("min", array(3.5), None, True, 1, array(3.5)),
        Case("max", array(3.5), (0,), True, 18, rk.AxesError),
        Case("max", array(3.5), (-1,), True, 18, rk.AxesError),
    ],
    "negative axes, from opset 11": [
        Case("sum", cube, (-1,), False, 11, array([[6, 22, 38], [54, 70, 86]])),
        Case("max", cube, (-3,), True, 18, cube[1:2]),
        Case("max", cube, (3,), True, 18, rk.AxesError),
        Case("min", cube, (-4,), True, 13, rk.AxesError),
        Case("sum", cube, (-1,), False, 10, rk.AxesError),
        Case("sum", cube, (-1,), False, 1, array([[6, 22, 38], [54, 70, 86]]), {"strict": False}),
    ],
    "an axis of size 1": [
        Case("sum", array([[1], [2]], i8), (1,), False, 13, array([1, 2], i8)),
        Case("sum", array([[1, 2, 3]], i4), (0,), False, 11, array([1, 2, 3], i4)),
        Case("max", array([[[5]]], u1), (0, 2), False, 12, array([5], u1)),
    ],
    "truths, from opset 20": [
        Case("max", truths, (1,), False, 20, array([True, False], bool)),
        Case("min", ~truths, (1,), True, 28, array([[False], [True]], bool)),
        Case("max", truths, (1,), False, 19, rk.DTypeError),
        Case("min", truths, (1,), False, 13, rk.DTypeError),
        Case("sum", truths, None, False, 13, rk.DTypeError),
        Case("max", np.array([2, 0, 255], u1).view(bool), None, False, 20, array(True, bool)),
        Case("min", np.array([2, 4, 255], u1).view(bool), None, False, 20, array(True, bool)),
    ],
    "bytes, from opset 12, and never summed": [
        Case("max", small, (1,), False, 12, array([5, 7], i1)),
        Case("max", small, (1,), False, 11, rk.DTypeError),
        Case("min", array([200, 3], u1), None, False, 13, array(3, u1)),
        Case("sum", small, (1,), False, 13, rk.DTypeError),
        Case("sum", small, (1,), False, 13, array([-123, 6], i1), {"strict": False}),
    ],
    "integers of 16 bits, which no opset takes": [
        Case("max", array([1, 2], i2), None, False, 20, rk.DTypeError),
        Case("sum", array([1, 2], np.uint16), None, False, 13, rk.DTypeError),
        Case("max", array([1, 2], i2), None, False, 1, array(2, i2), {"strict": False}),
        Case("sum", array([2**15 - 1, 2], i2), None, False, 28, array(-(2**15) + 1, i2),
             {"strict": False}),
    ],
    "unsigned integers beyond the signed and the exact in floating point": [
        Case("sum", array([2**63 + 1, 5], u8), None, False, 13, array(2**63 + 6, u8)),
        Case("max", array([2**63 + 1, 2**63 + 3, 7], u8), None, False, 18, array(2**63 + 3, u8)),
        Case("min", array([2**64 - 1, 2**64 - 2], u8), None, False, 18, array(2**64 - 2, u8)),
        Case("min", array([2**32 - 1, 2**31], u4), None, False, 18, array(2**31, u4)),
        Case("max", array([2**53, 2**53 + 1], i8), None, False, 18, array(2**53 + 1, i8)),
    ],
    "integer sums, which wrap and are not widened": [
        Case("sum", array([2**31 - 1, 2], i4), None, False, 13, array(-(2**31) + 1, i4)),
        Case("sum", array([2**63 - 1, 2], i8), None, False, 13, array(-(2**63) + 1, i8)),
        Case("sum", array([2**31 - 1, 2, -10], i4), None, False, 13, array(2**31 - 9, i4)),
        Case("sum", array([2**32 - 1, 2], u4), None, False, 1, array(1, u4)),
        Case("sum", array([-(2**31)] * 2, i4), None, False, 13, array(0, i4)),
        Case("sum", array([[0, 1, 2], [3, 4, 5]], i4), (1,), False, 13, array([3, 12], i4)),
        Case("sum", array([2**53, 1, 1], i8), None, False, 13, array(2**53 + 2, i8)),
    ],
    "sums of bfloat16 beyond its 8 bits": [
        Case("sum", np.ones(1000, bf16), None, False, 13, array(1000, bf16)),
        Case("sum", np.ones((1000, 3), bf16), (0,), False, 18, np.full(3, 1000, bf16)),
        Case("sum", np.ones((3, 1000), bf16), (1,), False, 18, np.full(3, 1000, bf16)),
        Case("sum", np.full(4097, 0.5, bf16), None, False, 13, array(2048, bf16)),
    ],
    "sums of float16 that pass its limit on the way": [
        Case("sum", array([40000, 40000, -40000, -40000, 12], f2), None, False, 13, array(12, f2)),
        Case("sum", np.repeat(array([[40000, 40000, -40000, -40000, 12]], f2).T, 9, 1), (0,),
             False, 13, np.full(9, 12, f2)),
        Case("sum", array([60000, 12000], f2), None, False, 13, array(inf, f2)),
        Case("sum", array([-60000, -12000], f2), None, False, 13, array(-inf, f2)),
        Case("sum", array([65504, 15.5], f2), None, False, 13, array(65504, f2)),
        Case("sum", array([65504, 16], f2), None, False, 13, array(inf, f2)),
        Case("sum", array([2.0**-24] * 3, f2), None, False, 13, array(3 * 2.0**-24, f2)),
    ],
    "sums that cancel": [
        Case("sum", array([1e8, 1, -1e8]), None, False, 13, array(1)),
        Case("sum", array([[1e8, 1], [-1e8, 0]]), None, False, 13, array(1)),
        Case("sum", array([1e16, 1, -1e16], f8), None, False, 13, array(1, f8)),
        Case("sum", array([1e30, 1, -1e30]), None, False, 13, array(1)),
        Case("sum", array([1, 1e30, 1e-30, -1e30, -1]), None, False, 13, array(1e-30)),
        Case("sum", array([1e38, 1, -1e38], bf16), None, False, 13, array(1, bf16)),
        Case("sum", array([3e38, 3e38, -3e38]), None, False, 13, array(3e38)),
    ],
    "zeros and their signs": [
        Case("sum", array([-0.0, -0.0]), None, False, 13, array(-0.0)),
        Case("sum", array([-0.0, 0.0]), None, False, 13, array(0.0)),
        Case("sum", array([1, -1]), None, False, 13, array(0.0)),
        Case("sum", np.zeros((2, 0), f8), (1,), False, 13, array([0.0, 0.0], f8)),
        Case("max", array([-0.0, 0.0]), None, False, 18, array(0.0)),
        Case("max", array([0.0, -0.0]), None, False, 18, array(0.0)),
        Case("max", array([*[-0.0] * 8, 0.0, *[-0.0] * 8]), None, False, 18, array(0.0)),
        Case("min", array([0.0, -0.0]), None, False, 18, array(-0.0)),
        Case("min", array([-0.0, 0.0], f2), None, False, 18, array(-0.0, f2)),
        Case("min", array([[0.0], [-0.0]], bf16), (0,), False, 18, array([-0.0], bf16)),
    ],
    "nothing but infinities, which must not become the largest finite": [
        Case("max", np.full(3, -inf, f4), None, False, 18, array(-inf)),
        Case("min", np.full((2, 3), inf, f8), (1,), False, 13, array([inf, inf], f8)),
        Case("max", np.full(70, -inf, f2), None, False, 18, array(-inf, f2)),
        Case("min", np.full(70, inf, bf16), None, False, 18, array(inf, bf16)),
        Case("min", array([1, 2, 3], f2), None, False, 18, array(1, f2)),
    ],
    "foreign byte orders": [
        Case("sum", np.arange(12, dtype=">f4").reshape(3, 4), (1,), False, 13, array([6, 22, 38])),
        Case("max", np.arange(6, dtype=">i8").reshape(2, 3), (1,), False, 13, array([2, 5], i8)),
        Case("min", array([256, 1], ">u4"), None, False, 1, array(1, u4)),
        Case("sum", array([1.5, 2.5], ">f2"), None, False, 13, array(4, f2)),
        Case("max", array([1, 2], bf16).astype(bf16.newbyteorder(">")), None, False, 13,
             array(2, bf16)),
    ],
    "fields of packed records": [
        Case("sum", LAYOUTS["packed field"](np.arange(9.0)), None, False, 13, array(36, f8)),
        Case("max", LAYOUTS["packed field"](np.arange(17, dtype=f4)), None, False, 18, array(16)),
        Case("min", LAYOUTS["packed big-endian field"](np.arange(3, 9, dtype=i4)), None, False, 1,
             array(3, i4)),
    ],
    "steps, reversals and new axes": [
        Case("sum", cube[::-1, ::2, ::-3], (0,), False, 13, array([[18, 12], [34, 28]])),
        Case("max", array([[1, 2], [3, 4]], f8)[..., None], (1,), False, 13,
             array([[2], [4]], f8)),
        Case("max", np.asfortranarray(array([[1, 2], [3, 4]], f8))[None], (2,), False, 13,
             array([[2, 4]], f8)),
        Case("min", cube.T, (0, 2), False, 13, array([0, 4, 8])),
        Case("sum", np.broadcast_to(f4(2), (5, 7)), (0,), False, 13, np.full(7, 10, f4)),
    ],
    "elements that cannot be reduced": [
        Case("max", np.zeros(3, [("a", "f4"), ("b", "u1")]), None, False, 18, rk.DTypeError),
        Case("max", array([1.0, None], object), None, False, 18, rk.DTypeError),
        Case("max", array(["2020-01-01"], "M8[D]"), None, False, 18, rk.DTypeError),
        Case("min", array([5], "m8[s]"), None, False, 18, rk.DTypeError),
        Case("max", array([1 + 2j, 3], np.complex64), None, False, 18, rk.DTypeError),
        Case("sum", np.array(["a"]), None, False, 13, rk.DTypeError),
    ],
}  # fmt: skip
ROWS = [(kind, case) for kind, cases in KINDS.items() for case in cases]


IDS = [f"{number}-{kind}" for number, (kind, _) in enumerate(ROWS)]
RESULTS = [number for number, (_, case) in enumerate(ROWS) if isinstance(case.want, np.ndarray)]


@pytest.mark.parametrize(("kind", "case"), ROWS, ids=IDS)
def test_kinds(kind, case):
    kwargs = {"keepdims": case.keepdims, "opset": case.opset, **case.kwargs}
    for function in (FUNCTIONS[case.op], REFERENCE[case.op]):
        got = outcome(function, case.data, case.axes, **kwargs)
        if isinstance(case.want, type):
            assert type(got) is case.want, kind
        else:
            assert_same(got, case.want, kind)


@pytest.mark.parametrize("number", RESULTS, ids=[IDS[number] for number in RESULTS])
def test_neighbours_in_every_layout(number):
    """The same case, its data laid out in every other way."""
    kind, case = ROWS[number]
    kwargs = {"keepdims": case.keepdims, "opset": case.opset, **case.kwargs}
    for layout, lay in LAYOUTS.items():
        got = FUNCTIONS[case.op](lay(plain(case.data)), case.axes, **kwargs)
        assert_same(got, case.want, (kind, layout))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", ["max", "min"])
def test_nan_on_the_diagonal(op, name):
    for size in (67, 131, 257):
        data = np.ones((size, size), by_name(name).numpy_dtype)
        np.fill_diagonal(data, np.nan)
        for axis in (0, 1):
            got = FUNCTIONS[op](data, [axis], keepdims=False)
            assert_same(got, np.full(size, np.nan, data.dtype), (op, size, axis))


def times(value, count, dtype):
    """The right sum of equal elements: their exact product, rounded once."""
    exact = Fraction(float(np.array(value, dtype))) * count
    double = float(exact)
    assert Fraction(double) == exact  # so that the next rounding is the only one
    return np.array(double).astype(dtype)


def test_many_equal_elements_without_storing_them():
    """A sum of 2**24 + 4096 ones stops at 2**24 where float32 is added one by one."""
    for count in (2**24 + 4096, 25_000_000):
        for value in (1.0, 0.1):
            data = np.broadcast_to(f4(value), (count,))
            assert_same(FUNCTIONS["sum"](data, keepdims=False), times(value, count, f4), count)
    data = np.broadcast_to(f4(1), (2, 2**24 + 8))
    assert_same(FUNCTIONS["sum"](data, [1], keepdims=False), np.full(2, 2**24 + 8, f4))


def test_many_equal_elements():
    data = np.full(4_000_000, 0.1, f4)
    assert_same(FUNCTIONS["sum"](data, keepdims=False), times(0.1, 4_000_000, f4))
    columns = np.full((2**20, 2), 0.1, f4)
    want = np.repeat(times(0.1, 2**20, f4), 2)
    assert_same(FUNCTIONS["sum"](columns, [0], keepdims=False), want)
    assert_same(FUNCTIONS["sum"](columns.T.copy(), [1], keepdims=False), want)


def test_a_long_ramp_that_sums_to_zero():
    data = (np.arange(4_096_000) - 2_048_000 + 0.5).astype(f4)
    assert_same(FUNCTIONS["sum"](data, keepdims=False), array(0.0))
    assert_same(FUNCTIONS["sum"](data.reshape(4096, 1000), [0, 1], keepdims=False), array(0.0))


@pytest.mark.parametrize("name", FLOATS)
def test_an_order_of_memory_does_not_change_a_sum(name):
    data = ordinary(name, (40, 33), np.random.default_rng(5))
    for axes in ([0], [1], [0, 1]):
        want = REFERENCE["sum"](data, axes, keepdims=False)
        for layout, lay in LAYOUTS.items():
            if name != "float64":
                got = FUNCTIONS["sum"](lay(data), axes, keepdims=False)
                assert_same(got, want, layout)
            got = FUNCTIONS["sum"](lay(data), axes, keepdims=False, exact=True)
            assert_same(got, want, layout)


@pytest.mark.parametrize("op", OPS)
def test_every_error_of_a_case_is_in_time(op):
    """A refusal costs nothing that grows with the data, whose elements are not read."""
    for data in (np.broadcast_to(np.int16(1), (2**20, 2**20)), np.broadcast_to(1j, (2**40,))):
        assert type(outcome(FUNCTIONS[op], data)) is rk.DTypeError
    huge = np.broadcast_to(f4(1), (2**30, 2**30))
    assert type(outcome(FUNCTIONS[op], huge, [2])) is rk.AxesError
    assert type(outcome(FUNCTIONS[op], huge, opset=99)) is rk.OpsetError


@pytest.mark.parametrize("op", ["max", "min"])
def test_more_elements_than_32_bits_count_that_share_one(op):
    """A stride of 0 is walked once by max and min, however long it is."""
    data = np.broadcast_to(np.float32(3), (2**40, 5))
    assert_same(FUNCTIONS[op](data, [0], keepdims=False), np.full(5, 3, f4))
    row = np.zeros(65536, f4)
    row[-1] = 77 if op == "max" else -77
    data = np.broadcast_to(row, (32769, 65536))
    assert data.size > 2**31
    assert_same(FUNCTIONS[op](data, keepdims=False), array(row[-1]))
    assert_same(FUNCTIONS[op](data, [0], keepdims=False), row)


@pytest.mark.slow
def test_more_elements_than_32_bits_count_in_a_sum():
    row = np.zeros(65536, i8)
    row[-1] = 77
    data = np.broadcast_to(row, (32769, 65536))
    assert_same(FUNCTIONS["sum"](data, keepdims=False), array(77 * 32769, i8))
    ones = np.broadcast_to(np.ones(65536, f4), (32769, 65536))
    assert_same(FUNCTIONS["sum"](ones, keepdims=False), times(1, ones.size, f4))


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS)
def test_more_bytes_than_32_bits_count(op):
    """One array of 2 GiB and more, stored in full, with the odd element at the very end."""
    data = np.zeros(2**31 + 4099, i1)
    data[-1] = -7 if op == "min" else 7
    assert_same(FUNCTIONS[op](data, keepdims=False, strict=False), array(data[-1], i1))
    turned = data[:-3].reshape(-1, 4)
    turned[-1] = data[-1]
    want = np.full(4, data[-1], i1)
    assert_same(FUNCTIONS[op](turned, [0], keepdims=False, strict=False), want)


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOATS)
def test_long_sums_in_full(name):
    kind = by_name(name).numpy_dtype
    count = 2**24 + 4096 if name != "float16" else 60_000
    ones = np.ones(count, kind)
    assert_same(FUNCTIONS["sum"](ones, keepdims=False), times(1, count, kind))
    pair = np.ones((2, count), kind)
    assert_same(FUNCTIONS["sum"](pair, [1], keepdims=False), np.repeat(times(1, count, kind), 2))
    assert_same(FUNCTIONS["sum"](pair.T, [0], keepdims=False), np.repeat(times(1, count, kind), 2))


def test_the_kinds_are_of_every_operator_and_version():
    assert {case.op for _, case in ROWS} == set(OPS)
    assert {case.opset for _, case in ROWS} >= {v.since_version for v in schema.history("max")}
