"""Axes: which are reduced, in every spelling, and which are refused."""

import itertools

import numpy as np
import pytest
from arrays import NAMES, collapsing, reduced_shape, shapes, subsets
from oracles import FUNCTIONS, OPS, REFERENCE, assert_same, check, empty_value, never, outcome

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import by_name

ARITHMETIC = {"max": np.max, "min": np.min, "sum": np.sum}


def whole_numbers(shape):
    """Small whole numbers, exact in every element type, that differ along every axis."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype=np.int64) * 7 % 11 - 3).reshape(shape)


def expected(op, numbers, axes, name):
    """The reduction, taken by NumPy in int64 and rounded or wrapped to the type."""
    if not collapsing(numbers.shape, axes):
        shape = reduced_shape(numbers.shape, axes, True)
        return np.full(shape, empty_value(op, name))
    result = ARITHMETIC[op](numbers, axis=axes, keepdims=True)
    return np.asarray(result).astype(by_name(name).numpy_dtype)


def spellings(axes, rank):
    """The same axes from the front, from the back in another order, and as an array."""
    yield list(axes)
    yield tuple(axis - rank for axis in reversed(axes))
    yield np.array(axes, dtype=np.int64)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", OPS)
def test_every_subset_of_axes_of_every_small_shape(op, name):
    """Ranks 0 to 4, sizes 0 to 3, keepdims both ways, at every version that takes the type.

    The result depends on the version only in what it refuses, so one expected
    result serves all versions; spellings of the axes take turns.
    """
    function, kind = FUNCTIONS[op], by_name(name)
    versions = [v for v in schema.history(op) if v.allows(name)]
    if not versions and not never(op, name):
        versions = [schema.resolve(op)]
    turn = itertools.count()
    calls = 0
    for rank in range(5):
        for shape in shapes(rank):
            numbers = whole_numbers(shape)
            if kind.kind in ("uint", "bool"):
                numbers = numbers + 3 if kind.kind == "uint" else (numbers > 0).astype(np.int64)
            data = numbers.astype(kind.numpy_dtype)
            for axes in subsets(rank):
                reduced = axes or tuple(range(rank))
                want = expected(op, numbers, reduced, name)
                squeezed = want.reshape(reduced_shape(shape, reduced, False))
                spelled = list(spellings(axes, rank))
                for version in versions:
                    given = spelled[next(turn) % 3] if version.negative_axes else spelled[0]
                    strict = version.allows(name)
                    for keepdims in (True, False):
                        got = function(
                            data, given, keepdims=keepdims, opset=version.since_version,
                            strict=strict,
                        )  # fmt: skip
                        assert_same(got, want if keepdims else squeezed, (op, shape, given))
                        calls += 1
    assert calls == 2 * 4681 * len(versions)


@pytest.mark.parametrize("op", OPS)
def test_reference_agrees_on_every_subset(op):
    """The reference against NumPy in int64, so that the two oracles hold each other."""
    for rank in range(5):
        for shape in shapes(rank):
            numbers = whole_numbers(shape)
            for axes in subsets(rank):
                reduced = axes or tuple(range(rank))
                want = expected(op, numbers, reduced, "int64")
                assert_same(REFERENCE[op](numbers, axes), want, (op, shape, axes))


@pytest.mark.parametrize("rank", range(5))
def test_every_list_of_axes_right_and_wrong(rank):
    """All lists of up to four axes from one below to one above the range, and far outside."""
    data = whole_numbers((2, 3, 2, 3)[:rank]).astype(np.float32)
    candidates = [*range(-rank - 1, rank + 1)]
    given = [
        list(axes)
        for count in range(min(rank, 4) + 1)
        for axes in itertools.product(candidates, repeat=count)
    ]
    given += [[axis] for axis in (2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**200, -(2**200))]
    given += [[0, 0], [0, -rank], [rank], [-rank - 1]]
    for op, opset, strict in itertools.product(OPS, (1, 28), (True, False)):
        if opset == 28 and not strict:
            continue
        every_op = given if op == "max" else given[::7]
        for axes in every_op:
            want = outcome(REFERENCE[op], data, axes, opset=opset, strict=strict)
            got = outcome(FUNCTIONS[op], data, axes, opset=opset, strict=strict)
            assert_same(got, want, (op, opset, strict, axes))
            if isinstance(want, Exception):
                assert type(want) is rk.AxesError
                assert isinstance(want, np.exceptions.AxisError)


@pytest.mark.parametrize("op", OPS)
def test_errors_by_numpy_are_errors_here(op):
    """What NumPy refuses as axes is refused, and what it takes is taken, from opset 11."""
    data = np.ones((2, 3, 4))
    for count in range(4):
        for axes in itertools.product(range(-5, 5), repeat=count):
            numpys = outcome(np.amax, data, axis=axes)
            refused = isinstance(numpys, (np.exceptions.AxisError, ValueError))
            got = outcome(FUNCTIONS[op], data, axes, opset=11)
            assert isinstance(got, Exception) == refused, axes


class Index:
    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


ONE_AXIS = [
    1, -2, np.int8(1), np.uint64(1), np.int64(-2), Index(1), np.array(1), np.array(-2, np.int16),
    [1], (1,), {1}, range(1, 2), np.array([1], np.uint8), np.array([-2], ">i8"), [np.int32(1)],
    [Index(-2)], [np.array(1)], {1: "x"}.keys(),
]  # fmt: skip


@pytest.mark.parametrize("op", OPS)
def test_spellings_of_one_axis(op):
    data = whole_numbers((2, 3, 4))
    want = REFERENCE[op](data, [1])
    for given in ONE_AXIS:
        assert_same(FUNCTIONS[op](data, given), want, repr(given))
        assert_same(REFERENCE[op](data, given), want, repr(given))
    assert_same(FUNCTIONS[op](data, iter([1])), want)
    assert_same(REFERENCE[op](data, iter([1])), want)


@pytest.mark.parametrize("op", OPS)
def test_spellings_of_no_axes(op):
    data = whole_numbers((2, 3))
    empty = [None, [], (), set(), np.array([]), np.array([], np.int64), iter([]), range(0)]
    for given in empty:
        for keepdims in (True, False):
            want = REFERENCE[op](data, None, keepdims=keepdims)
            assert_same(FUNCTIONS[op](data, given, keepdims=keepdims), want, repr(given))
    for given in [None, [], (), np.array([], np.int64)]:
        assert_same(FUNCTIONS[op](data, given, noop_with_empty_axes=True), data)


NOT_AXES = [
    "0", b"0", bytearray(b"0"), {0: 1}, 1.0, True, False, np.bool_(True), np.float32(0), object(),
    [0.0], [True], ["0"], [None], [[0]], [(0, 1)], np.array([0.0]), np.array([True]),
    np.array([[0, 1]]), np.array([[]]), np.array(1.5), np.array(True), np.array(["0"]),
    [np.array([0, 1])], Ellipsis, slice(0, 1), 1j, [1, 0.0],
]  # fmt: skip


@pytest.mark.parametrize("op", OPS)
def test_what_is_no_axis_is_refused(op):
    data = whole_numbers((2, 3))
    for given in NOT_AXES:
        got = check(op, data, given, plain=data)
        wrong_rank = isinstance(given, np.ndarray) and given.ndim == 2
        assert type(got) is (rk.ArgumentError if wrong_rank else TypeError), repr(given)


@pytest.mark.parametrize("op", OPS)
def test_an_axis_whose_index_fails_is_an_error_of_its_own(op):
    class Broken:
        def __index__(self):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        FUNCTIONS[op](np.ones((2, 3)), [Broken()])


@pytest.mark.parametrize("op", OPS)
def test_axes_that_change_while_they_are_read(op):
    """An axis whose __index__ empties or grows the list: the list as it was given counts."""
    data = whole_numbers((2, 3, 4))

    class Clears:
        def __init__(self, axes):
            self.axes = axes

        def __index__(self):
            self.axes.clear()
            self.axes.extend(range(100))
            return 0

    axes = [None, 1]
    axes[0] = Clears(axes)
    assert_same(FUNCTIONS[op](data, axes), REFERENCE[op](data, [0, 1]))


@pytest.mark.parametrize("op", OPS)
def test_more_axes_than_the_rank(op):
    data = np.ones((2, 2), np.float32)
    for axes in ([0, 1, 0], [0, 1, 2], [0] * 100, list(range(1000)), [0, 1, -1, -2]):
        assert type(check(op, data, axes)) is rk.AxesError


@pytest.mark.parametrize("op", OPS)
def test_every_rank_up_to_64(op):
    rng = np.random.default_rng(64)
    for rank in range(65):
        shape = [1] * rank
        for axis in rng.permutation(rank)[:8]:
            shape[axis] = 2
        data = rng.integers(-4, 5, shape)
        check(op, data, None)
        check(op, data, None, keepdims=False)
        for _ in range(3):
            axes = [int(axis) for axis in rng.permutation(rank)[: rng.integers(0, rank + 1)]]
            for keepdims in (True, False):
                check(op, data, axes, keepdims=keepdims)
                check(op, data.transpose(rng.permutation(rank)), axes, keepdims=keepdims)


@pytest.mark.parametrize("op", OPS)
def test_flags(op):
    data = whole_numbers((2, 3))
    for yes, no in [(True, False), (1, 0), (np.True_, np.False_), (np.int8(1), np.uint64(0))]:
        for flag in ("keepdims", "noop_with_empty_axes", "strict"):
            for value, meaning in ((yes, True), (no, False)):
                want = REFERENCE[op](data, **{flag: meaning})
                assert_same(FUNCTIONS[op](data, **{flag: value}), want, (flag, value))
                assert_same(REFERENCE[op](data, **{flag: value}), want, (flag, value))
    for value in (2, -1, None, "yes", "", 1.0, 0.5, [], [1], np.array([True]), Index(1), 2**80):
        for flag in ("keepdims", "noop_with_empty_axes", "strict"):
            got = check(op, data, plain=data, **{flag: value})
            assert isinstance(got, (rk.ArgumentError, TypeError)), (flag, value)
