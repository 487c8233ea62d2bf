"""Nothing, not a number, infinity, and the two zeros."""

import itertools

import numpy as np
import pytest
from arrays import (
    FLOATS,
    LAYOUTS,
    NAMES,
    SIZES,
    collapsing,
    extremes,
    nans,
    ordinary,
    plain,
    reduced_shape,
    shapes,
    subsets,
)
from oracles import FUNCTIONS, OPS, REFERENCE, assert_same, check, empty_value, never

from reducekit.dtypes import by_name

floats = pytest.mark.parametrize("name", FLOATS)
every_op = pytest.mark.parametrize("op", OPS)
extremum = pytest.mark.parametrize("op", ["max", "min"])


def nan_in(name):
    return nans(name)[0]


@every_op
@pytest.mark.parametrize("name", NAMES)
def test_nothing_reduces_to_the_value_of_the_empty_set(op, name):
    if never(op, name):
        with pytest.raises(TypeError):
            FUNCTIONS[op](np.zeros(0, bool), strict=False)
        return
    kind = by_name(name).numpy_dtype
    value = empty_value(op, name)
    emptied = 0
    for rank in range(1, 5):
        for shape in shapes(rank, (0, 1, 3)):
            if 0 not in shape:
                continue
            for axes in subsets(rank):
                reduced = axes or tuple(range(rank))
                for keepdims in (True, False):
                    want = np.full(reduced_shape(shape, reduced, keepdims), value)
                    assert want.size == 0 or not collapsing(shape, reduced)
                    emptied += want.size
                    got = FUNCTIONS[op](
                        np.zeros(shape, kind), axes, keepdims=keepdims, strict=False
                    )
                    assert_same(got, want, (op, shape, axes))
                    got = REFERENCE[op](
                        np.zeros(shape, kind), axes, keepdims=keepdims, strict=False
                    )
                    assert_same(got, want, ("reference", op, shape, axes))
    assert emptied


@every_op
def test_nothing_in_every_layout(op):
    for shape in [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 1, 0)]:
        for layout, lay in LAYOUTS.items():
            laid = lay(np.zeros(shape, np.float32))
            for axes in subsets(len(shape)):
                check(op, laid, axes, layout, plain=np.zeros(shape, np.float32))
        check(op, np.broadcast_to(np.float32(1), shape), [0])


@every_op
def test_nothing_along_an_axis_longer_than_memory(op):
    """The shape of the result counts, not the sizes of what is reduced to nothing."""
    data = np.broadcast_to(np.zeros((0, 1), np.int8), (0, 2**40))
    got = FUNCTIONS[op](data, keepdims=False, strict=False)
    assert_same(got, np.array(empty_value(op, "int8")))
    got = FUNCTIONS[op](data, [1], keepdims=False, strict=False)
    assert_same(got, np.zeros(0, np.int8))


@every_op
@floats
def test_nan_wins_at_every_position_of_every_size(op, name):
    kind = by_name(name).numpy_dtype
    rng = np.random.default_rng(30)
    for size in [size for size in SIZES if size < 300]:
        rows = ordinary(name, (size, size), rng)
        np.fill_diagonal(rows, nan_in(name))
        want = np.full(size, np.nan, kind)
        for data in (
            rows,
            np.asfortranarray(rows),
            rows[::-1, ::-1],
            rows[:, ::-1].copy()[:, ::-1],
        ):
            for axis in (0, 1):
                got = FUNCTIONS[op](data, axis, keepdims=False)
                assert_same(got, want, (op, name, size, axis))
        for row in rows:
            assert_same(FUNCTIONS[op](row), want[:1], (op, name, size))


@every_op
@floats
def test_nan_wins_in_long_rows(op, name):
    rng = np.random.default_rng(31)
    for size in (1023, 1024, 1025, 4095, 4096, 4097, 100_003):
        data = ordinary(name, size, rng)
        positions = {0, 1, 7, 8, 63, 64, size // 2, size - 65, size - 8, size - 2, size - 1}
        for position in sorted(positions | set(rng.integers(0, size, 10).tolist())):
            kept = data[position]
            data[position] = nan_in(name)
            for laid in (data, data[::-1]):
                assert np.isnan(FUNCTIONS[op](laid, keepdims=False)), (op, name, size, position)
            data[position] = kept
        assert not np.isnan(FUNCTIONS[op](data, keepdims=False))


@every_op
@floats
def test_every_nan_wins_over_every_awkward_value_in_either_order(op, name):
    """Negative, with payload and signalling ones too, over infinities and zeros."""
    for nan, other in itertools.product(nans(name), extremes(name)):
        for pair in ([nan, other], [other, nan], [nan, nan], [other, nan, other]):
            for width in (1, 9, 40):
                data = np.repeat(np.array(pair, nan.dtype)[:, None], width, 1)
                want = np.full(width, np.nan, nan.dtype)
                assert_same(FUNCTIONS[op](data, [0], keepdims=False), want, (op, pair))
                assert_same(FUNCTIONS[op](data.T.copy(), [1], keepdims=False), want, (op, pair))
                row = np.resize(np.array(pair, nan.dtype), width * len(pair))
                assert_same(FUNCTIONS[op](row), want[:1], (op, pair))


@every_op
@floats
def test_rows_with_and_without_nan_stay_apart(op, name):
    rng = np.random.default_rng(32)
    for shape in [(40, 7), (7, 40), (33, 65), (65, 33), (128, 3)]:
        data = ordinary(name, shape, rng)
        data[rng.random(shape) < 0.02] = nan_in(name)
        for layout, lay in LAYOUTS.items():
            for axes in ([0], [1]):
                check(op, lay(data), axes, layout, plain=data)


@extremum
@floats
def test_the_bits_of_a_nan_do_not_tell_the_layout(op, name):
    rng = np.random.default_rng(33)
    kinds = nans(name)
    for shape in [(9,), (70,), (6, 33), (33, 6)]:
        data = ordinary(name, shape, rng)
        data = np.where(rng.random(shape) < 0.3, rng.choice(kinds, shape), data)
        for axes in subsets(len(shape)):
            bits = {FUNCTIONS[op](lay(data), axes).tobytes() for lay in LAYOUTS.values()}
            assert len(bits) == 1, (op, name, shape, axes)


@every_op
@floats
def test_infinities(op, name):
    kind = by_name(name).numpy_dtype
    values = [np.inf, -np.inf, 1.0, -1.0, 0.0]
    for count in range(1, 5):
        rows = np.array(list(itertools.product(values, repeat=count)), kind)
        for data in (rows, np.asfortranarray(rows), np.repeat(rows, 9, 1)):
            check(op, data, [1])
    for size in (9, 40, 70, 257, 4097):
        for position in {0, 5, size // 2, size - 1}:
            data = np.ones(size, kind)
            data[position] = np.inf
            check(op, data)
            check(op, -data)
            data[-1 - position] = -np.inf
            check(op, data)
        for infinity in (np.inf, -np.inf):
            check(op, np.full(size, infinity, kind))
            check(op, np.full((3, size), infinity, kind), [0])


@floats
def test_a_sum_of_finite_values_beyond_the_type_is_infinite_and_never_nan(name):
    largest = extremes(name)[np.isfinite(extremes(name))].max()
    kind = largest.dtype
    for rows in (2, 3, 9, 64):
        check("sum", np.full((rows, 5), largest, kind), [0])
        check("sum", np.full((5, rows), -largest, kind), [1])
        check("sum", np.full(rows, largest, kind))


@floats
def test_a_sum_that_comes_back_into_range_is_finite(name):
    largest = extremes(name)[np.isfinite(extremes(name))].max()
    data = np.array([largest, largest, -largest, 2, -largest], largest.dtype)
    for order in itertools.permutations(range(5)):
        check("sum", data[list(order)])
    check("sum", np.repeat(data[:, None], 19, 1), [0])


@every_op
@floats
def test_zeros_have_signs_in_every_pattern(op, name):
    """All rows of up to seven zeros, and longer ones with one odd zero at each position."""
    kind = by_name(name).numpy_dtype
    for count in range(1, 8):
        rows = np.array(list(itertools.product([0.0, -0.0], repeat=count)), kind)
        check(op, rows, [1])
        check(op, rows.T.copy(), [0])
        for row in rows:
            check(op, row)
    for size in [*range(8, 71), 127, 128, 129]:
        for rest, odd in ((0.0, -0.0), (-0.0, 0.0)):
            rows = np.full((size, size), rest, kind)
            np.fill_diagonal(rows, odd)
            check(op, rows, [1])
            check(op, rows, [0])
            check(op, np.full((size, 3), rest, kind), [0])
            for row in rows[:: max(1, size // 9)]:
                check(op, row)


@floats
def test_a_sum_that_cancels_is_a_positive_zero(name):
    kind = by_name(name).numpy_dtype
    for data in ([1.5, -1.5], [-0.0, 1.5, -1.5, -0.0], [-2, 2, -0.0], [1, 2, -3], [-1, -2, 3]):
        for width in (1, 9, 33):
            columns = np.repeat(np.array(data, kind)[:, None], width, 1)
            check("sum", columns, [0])
            check("sum", columns.T.copy(), [1])
        check("sum", np.array(data, kind))


@every_op
@floats
def test_a_single_element_is_itself(op, name):
    """An axis of one element, and rank 0: nothing is rounded, and zeros keep their signs."""
    for value in extremes(name):
        for shape in ((), (1,), (1, 1, 1)):
            data = np.full(shape, value)
            got = FUNCTIONS[op](data, keepdims=False)
            assert_same(got, np.array(value), (op, name, value))
        column = np.full((37, 1), value)
        assert_same(FUNCTIONS[op](column, [1]), column, (op, name, value))
        assert_same(FUNCTIONS[op](column.T, [0]), plain(column.T), (op, name, value))


@every_op
@pytest.mark.parametrize("name", NAMES)
def test_the_identity_keeps_every_bit(op, name):
    """noop_with_empty_axes copies: NaN keeps its payload, and zeros their signs."""
    if never(op, name):
        with pytest.raises(TypeError):
            FUNCTIONS[op](np.ones(1, bool), noop_with_empty_axes=True)
        return
    data = np.concatenate([extremes(name), nans(name)]) if name in FLOATS else extremes(name)
    for shape in [data.shape, (1, *data.shape), (*data.shape, 1)]:
        for layout, lay in LAYOUTS.items():
            for keepdims in (True, False):
                got = FUNCTIONS[op](
                    lay(data.reshape(shape)), keepdims=keepdims, noop_with_empty_axes=True,
                    strict=False,
                )  # fmt: skip
                assert_same(got, data.reshape(shape), (op, layout))
                assert got.tobytes() == data.tobytes(), (op, layout)
