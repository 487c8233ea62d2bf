"""The caller's data never changes, and no result shares memory with it."""

import array
import gc
import itertools
import sys
import threading

import numpy as np
import pytest
from arrays import (
    LAYOUTS,
    NAMES,
    SHARING,
    WithArray,
    WithDlpack,
    awkward,
    plain,
    subsets,
)
from oracles import FUNCTIONS, OPS, REFERENCE, assert_same, never, outcome

import reducekit as rk
from reducekit.dtypes import by_name

PAIRS = [(op, name) for op in OPS for name in NAMES if not never(op, name)]
every_pair = pytest.mark.parametrize(("op", "name"), PAIRS, ids=map("-".join, PAIRS))
every_op = pytest.mark.parametrize("op", OPS)


def owner(data):
    """The array or buffer at the bottom, whose bytes must not change."""
    while isinstance(data, np.ndarray) and isinstance(data.base, np.ndarray):
        data = data.base
    return data


def assert_untouched(op, data, axes, **kwargs):
    bottom, flags, strides = owner(data), str(data.flags), data.strides
    before = bottom.tobytes()
    got = FUNCTIONS[op](data, axes, strict=False, **kwargs)
    assert bottom.tobytes() == before
    assert (str(data.flags), data.strides) == (flags, strides)
    assert type(got) is np.ndarray
    assert not np.may_share_memory(got, bottom)
    assert got.flags.writeable
    assert got.flags.c_contiguous
    got[...] = 0
    assert bottom.tobytes() == before
    return got


@every_pair
def test_every_layout_is_left_as_it_was(op, name):
    rng = np.random.default_rng(50)
    for shape in [(), (1,), (1, 1), (9,), (3, 5), (2, 1, 70), (0, 3)]:
        data = awkward(name, shape, rng, nan=True)
        with np.errstate(invalid="ignore", over="ignore"):
            for lay in [*LAYOUTS.values(), *(SHARING.values() if data.size else [])]:
                if data.ndim == 0 and lay in SHARING.values():
                    continue
                laid = lay(data)
                for axes in subsets(len(shape)):
                    assert_untouched(op, laid, axes)
                assert_untouched(op, laid, None, noop_with_empty_axes=True)
                assert_untouched(op, laid, [], noop_with_empty_axes=True, keepdims=False)


@every_op
def test_a_reduction_that_reduces_nothing_is_still_a_copy(op):
    """Rank 0, axes of size 1, and the identity, in which the result equals the data."""
    for data, axes, kwargs in [
        (np.array(2.5), None, {}),
        (np.array(2.5), [], {"noop_with_empty_axes": True}),
        (np.ones((1, 1, 1)), None, {}),
        (np.ones((5, 1)), [1], {}),
        (np.ones((1, 5)), [0], {"keepdims": False}),
        (np.ones((2, 3)), None, {"noop_with_empty_axes": True}),
        (np.ones((0, 3)), None, {"noop_with_empty_axes": True}),
    ]:
        got = FUNCTIONS[op](data, axes, **kwargs)
        assert got is not data
        assert got.base is None
        assert_same(got, plain(data).reshape(got.shape), (op, data.shape, axes))
        assert_untouched(op, data, axes, **kwargs)


@every_op
def test_a_call_that_fails_changes_nothing(op):
    data, out = np.arange(6.0).reshape(2, 3), np.full((2, 1), 7.0)
    for kwargs in [
        {"axes": [2]}, {"axes": [0, 0]}, {"axes": [1], "keepdims": 2}, {"axes": [1], "opset": 0},
        {"axes": [1], "keepdims": False}, {"axes": [0]}, {"axes": "x"},
        {"axes": [1], "noop_with_empty_axes": True, "opset": 1},
    ]:  # fmt: skip
        assert isinstance(outcome(FUNCTIONS[op], data, out=out, **kwargs), Exception), kwargs
        assert (out == 7).all()
    assert isinstance(outcome(FUNCTIONS[op], data.astype(complex), [1], out=out), Exception)
    assert (out == 7).all()
    assert (data == np.arange(6.0).reshape(2, 3)).all()


@every_op
def test_the_axes_are_left_as_they_were(op):
    data, axes, array_of_axes = np.ones((2, 3, 4)), [-1, 0], np.array([-1, 0])
    FUNCTIONS[op](data, axes)
    FUNCTIONS[op](data, array_of_axes)
    assert axes == [-1, 0]
    assert array_of_axes.tolist() == [-1, 0]


class WithInterface:
    def __init__(self, data):
        self.data = data
        self.__array_interface__ = data.__array_interface__


class Subclass(np.ndarray):
    pass


@every_op
def test_anything_array_like(op):
    data = np.arange(6.0).reshape(2, 3)
    likes = [
        data.tolist(), tuple(map(tuple, data)), WithArray(data), WithDlpack(data),
        WithInterface(data), memoryview(data), data.view(Subclass), np.ma.array(data),
        [np.arange(3.0), np.arange(3.0, 6.0)], [memoryview(row) for row in data],
    ]  # fmt: skip
    for like in likes:
        for axes in ([0], [1], None):
            got = FUNCTIONS[op](like, axes)
            assert_same(got, REFERENCE[op](data, axes), (op, type(like)))
            assert not np.may_share_memory(got, data)
    assert (data == np.arange(6.0).reshape(2, 3)).all()
    assert_same(FUNCTIONS[op](array.array("d", [3, 1, 2])), REFERENCE[op]([3.0, 1.0, 2.0]))
    assert_same(FUNCTIONS[op](range(1, 4)), REFERENCE[op]([1, 2, 3]))
    small = np.array([1, 2, 3], np.uint8)
    want = REFERENCE[op](small, strict=False)
    assert_same(FUNCTIONS[op](bytearray(b"\1\2\3"), strict=False), want)
    with np.errstate(all="raise"):
        assert_same(FUNCTIONS[op]([]), REFERENCE[op](np.zeros(0)))
        assert_same(FUNCTIONS[op]([[], []], [0]), REFERENCE[op](np.zeros((2, 0)), [0]))


@every_op
def test_a_matrix_is_read_as_the_array_that_it_is(op):
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[3.0, 1.0], [2.0, 5.0]])
    for axes in ([0], [1], None):
        for keepdims in (True, False):
            got = FUNCTIONS[op](matrix, axes, keepdims=keepdims)
            assert_same(got, REFERENCE[op](np.asarray(matrix), axes, keepdims=keepdims))


@every_op
def test_numbers_are_tensors_of_rank_0(op):
    numbers = [1.5, -0.0, 3, 2**40, np.float16(2), np.uint8(9), np.float64("nan"), float("inf")]
    for number in numbers:
        for kwargs in ({}, {"keepdims": False}, {"noop_with_empty_axes": True}):
            got = FUNCTIONS[op](number, strict=False, **kwargs)
            assert got.shape == ()
            assert_same(got, np.asarray(number), (op, number))


@every_op
def test_an_array_like_that_fails_says_why(op):
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("disk on fire")

    class NotAnArray:
        def __array__(self, dtype=None, copy=None):
            return "text"

    for data in (Broken(), NotAnArray()):
        error = outcome(FUNCTIONS[op], data)
        assert isinstance(error, TypeError), error
        assert str(error).startswith(f"reduce_{op}: ")
    assert "disk on fire" in str(outcome(FUNCTIONS[op], Broken()))


@every_op
@pytest.mark.parametrize("name", ["int8", "float16", "bfloat16", "float32", "float64"])
def test_no_reference_is_lost(op, name):
    """Data, axes, dtypes and out have as many owners after thousands of calls as before."""
    data = np.ones((3, 4), by_name(name).numpy_dtype)
    big = data.astype(data.dtype.newbyteorder(">"))
    axes, out = [1], np.zeros((3, 1), data.dtype)
    watched = [data, big, axes, out, data.dtype, big.dtype, by_name(name).numpy_dtype]

    def many(count):
        for _ in range(count):
            FUNCTIONS[op](data, axes, strict=False)
            FUNCTIONS[op](big, axes, strict=False)
            FUNCTIONS[op](data, axes, strict=False, out=out)
            FUNCTIONS[op](data, strict=False, noop_with_empty_axes=True)
            outcome(FUNCTIONS[op], data, [5])
            outcome(FUNCTIONS[op], data, axes, strict=False, out=axes)

    many(10)
    gc.collect()
    before = [sys.getrefcount(item) for item in watched]
    many(500)
    gc.collect()
    after = [sys.getrefcount(item) for item in watched]
    assert [b - a for a, b in zip(before, after)] == [0] * len(watched)


# out=


@every_pair
def test_out_takes_the_result_in_any_strides(op, name):
    rng, kind = np.random.default_rng(51), by_name(name).numpy_dtype
    for shape, axes in [((4, 6), [0]), ((4, 6), [1]), ((4, 6), None), ((2, 3, 5), [1]), ((), None),
                        ((0, 3), [0]), ((3, 0), [0]), ((40, 33), [0])]:  # fmt: skip
        data = awkward(name, shape, rng) if op != "sum" else rng.integers(0, 2, shape).astype(kind)
        for keepdims in (True, False):
            want = REFERENCE[op](data, axes, keepdims=keepdims, strict=False)
            for layout in set(LAYOUTS) - {"read-only", "big-endian", "packed big-endian field"}:
                out = LAYOUTS[layout](np.full_like(want, 1))
                around = owner(out)
                guard = np.ones(around.nbytes, bool) if isinstance(around, np.ndarray) else None
                got = FUNCTIONS[op](data, axes, keepdims=keepdims, strict=False, out=out)
                assert got is out
                assert_same(plain(out), want, (op, name, shape, axes, layout))
                assert guard is not None


@every_op
def test_out_writes_nothing_between_its_elements(op):
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in [np.s_[1::2], np.s_[::-2], np.s_[1:7]]:
        around = np.full(len(data) * 3, 99, np.float32)
        out = around[view][:4]
        before = around.copy()
        FUNCTIONS[op](data, [1], keepdims=False, out=out)
        expected = before
        expected[view][:4] = REFERENCE[op](data, [1], keepdims=False)
        assert (around == expected).all()


@every_op
def test_out_may_overlap_the_data(op):
    """The result is that of the data as they were, wherever in them it is written."""
    original = np.random.default_rng(52).permutation(70 * 40).reshape(70, 40).astype(np.float32)
    for axes, shape in [([0], (1, 40)), ([1], (70, 1))]:
        want = REFERENCE[op](original, axes)
        for start, reverse in itertools.product((0, 1, 39, 70, 1000, 70 * 40 - 70), (False, True)):
            data = original.copy()
            flat = data.reshape(-1)
            out = flat[start : start + want.size].reshape(shape)
            out = out[::-1, ::-1] if reverse else out
            assert FUNCTIONS[op](data, axes, out=out) is out
            assert_same(plain(out), want, (op, axes, start, reverse))
        for layout in (np.asfortranarray(original), original[::-1]):
            data = layout.copy(order="K")
            out = data[:1] if axes == [0] else data[:, -1:]
            FUNCTIONS[op](data, axes, out=out)
            assert_same(plain(out), REFERENCE[op](layout, axes), (op, axes))


@every_op
def test_out_may_be_the_data(op):
    data = np.arange(6.0).reshape(2, 3)
    got = FUNCTIONS[op](data, noop_with_empty_axes=True, out=data)
    assert got is data
    assert (data == np.arange(6.0).reshape(2, 3)).all()
    column = np.arange(5.0).reshape(5, 1)
    assert FUNCTIONS[op](column, [1], out=column) is column
    assert (column == np.arange(5.0).reshape(5, 1)).all()
    scalar = np.array(-0.0)
    assert FUNCTIONS[op](scalar, out=scalar) is scalar
    assert np.signbit(scalar)
    turned = np.arange(6.0).reshape(2, 3)
    FUNCTIONS[op](turned, noop_with_empty_axes=True, out=turned[::-1])
    assert (turned == np.arange(6.0).reshape(2, 3)[::-1]).all()


@every_op
def test_out_of_a_subclass_is_returned_as_it_is(op):
    out = np.zeros((2, 1)).view(Subclass)
    got = FUNCTIONS[op](np.arange(6.0).reshape(2, 3), [1], out=out)
    assert got is out
    assert_same(np.asarray(out), REFERENCE[op](np.arange(6.0).reshape(2, 3), [1]))


@every_op
def test_out_that_does_not_fit_is_left_alone(op):
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    read_only = np.full((2, 1), 7, np.float32)
    read_only.flags.writeable = False
    wrong = [
        (np.full((1, 3), 7, np.float32), rk.ArgumentError),
        (np.full((2,), 7, np.float32), rk.ArgumentError),
        (np.full((2, 2), 7, np.float32), rk.ArgumentError),
        (np.full((1, 2, 1), 7, np.float32), rk.ArgumentError),
        (np.full((2, 1), 7, np.float64), rk.DTypeError),
        (np.full((2, 1), 7, np.int32), rk.DTypeError),
        (np.full((2, 1), 7, ">f4"), rk.DTypeError),
        (read_only, rk.ArgumentError),
        (np.broadcast_to(np.full((1, 1), 7, np.float32), (2, 1)), rk.ArgumentError),
    ]
    for out, error in wrong:
        assert type(outcome(FUNCTIONS[op], data, [1], out=out)) is error
        assert (out == 7).all()
    for out in (
        [[7], [7]],
        (np.zeros((2, 1), np.float32),),
        7,
        np.float32(7),
        "out",
        WithArray(data),
    ):
        assert type(outcome(FUNCTIONS[op], data, [1], out=out)) is TypeError
    assert_same(FUNCTIONS[op](data, [1], out=None), REFERENCE[op](data, [1]))


@every_op
def test_one_array_reduced_by_many_threads(op):
    data = np.random.default_rng(53).integers(-99, 99, (200, 300)).astype(np.float32)
    want = {axes: REFERENCE[op](data, axes) for axes in [(0,), (1,), (0, 1)]}
    results = []

    def work():
        for axes in [*want] * 20:
            results.append((axes, FUNCTIONS[op](data, axes)))  # noqa: PERF401

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 * 60
    for axes, got in results:
        assert_same(got, want[axes], (op, axes))
