"""Values: every op on every element type in every memory layout, against the reference."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from arrays import (
    FLOATS,
    INTEGERS,
    LAYOUTS,
    NAMES,
    SHARING,
    SIZES,
    awkward,
    extremes,
    in_no_cache,
    ordinary,
    plain,
    subsets,
)
from hypothesis import given
from oracles import FUNCTIONS, REFERENCE, assert_same, check, never, slack_of_sums
from strategies import reductions

from reducekit.dtypes import by_name

PAIRS = [
    (op, name) for op in FUNCTIONS for name in NAMES if not never(op, name)
]  # fmt: skip
every_pair = pytest.mark.parametrize(("op", "name"), PAIRS, ids=map("-".join, PAIRS))
# The longest shapes are long along one axis; the others mix sizes of one, odd and even.
SHAPES = [
    (), (1,), (7,), (40,), (131,), (1, 1), (3, 70), (70, 3), (65, 33), (1, 129), (129, 1),
    (2, 3, 4), (5, 1, 9), (1, 17, 1), (4, 6, 33), (33, 2, 8), (2, 3, 2, 5), (1, 2, 1, 3, 1),
    (2, 1, 3, 2, 3, 2),
]  # fmt: skip


def every_layout(op, data, axes, keepdims=True, exact=None):
    """Reduce one array in every layout: the result must not tell which."""
    kwargs = {"keepdims": keepdims, "strict": False}
    want = REFERENCE[op](data, axes, **kwargs)
    for layout, lay in LAYOUTS.items():
        check(op, lay(data), axes, layout, plain=data, want=want, exact=exact, **kwargs)


@every_pair
def test_every_layout(op, name):
    rng = np.random.default_rng(20)
    for shape in SHAPES:
        data = ordinary(name, shape, rng)
        every = subsets(len(shape))
        chosen = every if len(every) <= 8 else [every[i] for i in rng.permutation(len(every))[:8]]
        for axes in chosen:
            every_layout(op, data, axes, keepdims=bool(len(axes) % 2))


@every_pair
@pytest.mark.parametrize(
    ("width", "stride", "mebibytes"),
    [
        (1000, 320, 24), (1024, 4096, 24), (50, 16, 24),
        (1000, 320, 48), (1027, 64, 48), (2100, 192, 48), (4500, 64, 48), (50, 16, 48),
    ],
)  # fmt: skip
def test_rows_of_an_array_in_no_cache(op, name, width, stride, mebibytes):
    data = in_no_cache(name, np.random.default_rng(24), width, stride, mebibytes)
    kwargs = {"strict": False, "exact": True} if op == "sum" else {"strict": False}
    got = FUNCTIONS[op](data, [0], **kwargs)
    for first in range(0, width, 400):
        piece = FUNCTIONS[op](data[:, first : first + 40], [0], **kwargs)
        assert_same(got[:, first : first + 40], piece)
    if op == "sum" and name == "float64":
        fast = FUNCTIONS[op](data, [0])
        assert np.all(np.abs(fast - got) <= np.spacing(np.abs(got)))


@every_pair
def test_every_layout_with_the_awkward_values_of_the_type(op, name):
    """Subnormals, infinities, signed zeros and limits, whose sums no plain addition gets right."""
    rng = np.random.default_rng(21)
    for shape in [(8,), (3, 70), (70, 3), (4, 6, 9)]:
        data = awkward(name, shape, rng)
        if op == "sum" and name in FLOATS:  # else every sum is that of its infinities
            data[np.isinf(data) & (rng.random(shape) < 0.95)] = 1
        for axes in subsets(len(shape)):
            every_layout(op, data, axes)


@pytest.mark.parametrize("name", FLOATS)
def test_exact_sums_in_every_layout(name):
    """With exact=True, doubles too have the rounded true sum, whatever cancels."""
    rng = np.random.default_rng(34)
    for shape in [(8,), (200,), (5000,), (3, 70), (70, 3), (4, 6, 33), (65, 33), (300, 2)]:
        tame = ordinary(name, shape, rng)
        for data in (tame, finite(awkward(name, shape, rng)), cancelling(tame, rng)):
            for axes in subsets(len(shape)):
                every_layout("sum", data, axes, exact=True)


def finite(data):
    return np.where(np.isfinite(data), data, np.ones_like(data))


def cancelling(data, rng):
    """Pairs of opposites of all magnitudes, shuffled, and little else."""
    flat = data.reshape(-1).copy()
    half = len(flat) // 2
    with np.errstate(over="ignore"):
        spread = 2.0 ** rng.integers(-7, 14 if data.dtype == np.float16 else 100, half)
        flat[:half] = finite((flat[:half].astype(np.float64) * spread).astype(data.dtype))
    flat[half : 2 * half] = -flat[:half]
    flat[0] = 2.0**-9
    return rng.permutation(flat).reshape(data.shape)


@every_pair
def test_every_layout_that_shares_elements(op, name):
    rng = np.random.default_rng(22)
    for shape in [(1,), (40,), (3, 70), (70, 3), (4, 6, 33), (2, 3, 2, 5)]:
        data = ordinary(name, shape, rng)
        for layout, lay in SHARING.items():
            laid = lay(data)
            for axes in subsets(len(shape)):
                check(op, laid, axes, layout, plain=plain(laid), strict=False)


@every_pair
@pytest.mark.parametrize("step", [2, 3, 4, 8, 9])
def test_what_lies_between_the_elements_of_a_strided_run_does_not_count(op, name, step):
    rng = np.random.default_rng(step)
    for size in (31, 32, 33, 63, 64, 65, 129, 1000, 4097, 9000):
        between = np.resize(extremes(name), (2, step * size))
        for data in (ordinary(name, (2, size), rng), np.zeros((2, size), between.dtype)):
            view = between[:, 1::step]
            view[...] = data if data.any() or name not in FLOATS else -data
            check(op, view, (1,), f"step {step}", plain=plain(view), strict=False)


@every_pair
def test_results_that_lie_across_the_order_of_memory(op, name):
    rng = np.random.default_rng(3)
    for shape in ((3, 64, 16), (16, 5, 33), (2, 7, 4, 100), (100, 2, 3), (1100, 2, 5)):
        data = ordinary(name, shape, rng)
        for order in itertools.permutations(range(len(shape))):
            view = data.transpose(order)
            for axis in range(len(shape)):
                check(op, view, (axis,), f"order {order}", plain=plain(view), strict=False)


@every_pair
def test_every_size_around_the_vector_widths(op, name):
    """One axis of each size, reduced as a row, as a column, and as one of many of either."""
    rng = np.random.default_rng(23)
    for size in SIZES:
        row = ordinary(name, size, rng)
        want = REFERENCE[op](row, strict=False)
        for data in (row, np.ascontiguousarray(row[::-1])[::-1]):
            check(op, data, plain=row, want=want, strict=False)
        across = np.stack([row, np.roll(row, 1), row[::-1]])
        # A sum of doubles may differ in its last place when its order does; other results may not.
        turned = np.concatenate([REFERENCE[op](each, strict=False) for each in across])
        for data in (across, np.asfortranarray(across), across[:, ::-1], across.astype(">f8") if
                     name == "float64" else across):  # fmt: skip
            check(op, data, [1], plain=across, want=turned.reshape(3, 1), strict=False)
            check(op, data.T, [0], plain=across.T, want=turned.reshape(1, 3), strict=False)


@every_pair
def test_many_runs_of_some_vectors(op, name):
    """More runs than are folded together, of sizes that are met by a few vectors each."""
    rng = np.random.default_rng(25)
    for size in [*range(30, 75), 96, 100, 127, 129, 200, 255, 256, 513, 1030]:
        data = ordinary(name, (19, size), rng)
        want = REFERENCE[op](data, [1], strict=False)
        for layout in ("C", "padded rows"):
            check(op, LAYOUTS[layout](data), [1], layout, plain=data, want=want, strict=False)
        data = ordinary(name, (3, 19, size), rng)
        want = REFERENCE[op](data, [0, 2], strict=False)
        check(op, data, [0, 2], plain=data, want=want, strict=False)


@every_pair
def test_every_kept_size_around_the_vector_widths(op, name):
    """Many results at once: the kept axis runs through the sizes, the reduced one is short."""
    rng = np.random.default_rng(24)
    for size in [*range(1, 71, 3), 127, 129, 257, 1025]:
        data = ordinary(name, (3, size), rng)
        want = REFERENCE[op](data, [0], strict=False)
        for laid in (data, np.asfortranarray(data), data[:, ::-1].copy()[:, ::-1]):
            check(op, laid, [0], plain=data, want=want, strict=False)
            check(op, laid.T, [1], plain=data.T, want=want.reshape(size, 1), strict=False)


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("name", NAMES)
def test_the_extremum_is_found_at_every_position(op, name):
    kind = by_name(name)
    low, high = (False, True) if kind.kind == "bool" else (3, 5)
    rest, best = (low, high) if op == "max" else (high, low)
    for size in [*range(1, 71), 127, 128, 129, 257]:
        rows = np.full((size, size), rest, kind.numpy_dtype)
        np.fill_diagonal(rows, best)
        want = np.full(size, best, kind.numpy_dtype)
        for data in (rows, np.asfortranarray(rows), rows[::-1, ::-1]):
            for axis in (0, 1):
                got = FUNCTIONS[op](data, axis, keepdims=False, strict=False)
                assert_same(got, want, (op, name, size))
        for position in range(size):
            got = FUNCTIONS[op](rows[position], keepdims=False, strict=False)
            assert_same(got, np.array(best, kind.numpy_dtype), (op, name, size, position))


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("name", NAMES)
def test_every_two_awkward_values_in_either_order(op, name):
    special = extremes(name)
    pairs = np.array(list(itertools.product(special, repeat=2)), special.dtype)
    check(op, pairs, [1], strict=False)
    check(op, pairs.T.copy(), [0], strict=False)
    for first, second in pairs:
        check(op, np.array([first, second], special.dtype), strict=False)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_sums_wrap(name):
    kind, rng = by_name(name), np.random.default_rng(25)
    bits = 8 * kind.itemsize
    for shape, axes in [((1000,), [0]), ((500, 7), [0]), ((7, 500), [1]), ((7, 50, 3), [0, 1, 2])]:
        data = rng.integers(int(kind.lowest), int(kind.highest), shape, kind.numpy_dtype)
        got = check("sum", data, axes, strict=False)
        assert got.dtype == kind.numpy_dtype
        total = sum(map(int, data.ravel()))
        assert (sum(map(int, got.ravel())) - total) % 2**bits == 0


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_short_float_sums_do_not_depend_on_order(name):
    rng = np.random.default_rng(26)
    for size in (5, 64, 1000, 4097):
        data = ordinary(name, size, rng)
        want = REFERENCE["sum"](data)
        for _ in range(5):
            assert_same(FUNCTIONS["sum"](rng.permutation(data)), want, (name, size))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_sum_of_two_in_sixteen_bits_is_rounded_once(name):
    """All pairs of a wide sample, ties between two results among them."""
    kind, rng = by_name(name).numpy_dtype, np.random.default_rng(27)
    sample = rng.integers(0, 2**16, (20000, 2), np.uint16).view(kind)
    check("sum", sample, [1])
    check("sum", sample.T.copy(), [0])


@pytest.mark.parametrize("name", FLOATS)
def test_ties_are_rounded_to_even(name):
    """Sums that lie in the middle between two values, and a hair to either side of it."""
    mantissa = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[name]
    kind = by_name(name).numpy_dtype
    top = 2.0 ** (mantissa - 1)
    hair = 2.0 ** -(mantissa // 2)
    rows = [
        (top + k, half, side)
        for k in (0, 1, 2, 3)
        for half in (0.5, -0.5)
        for side in (0.0, hair, -hair)
    ]
    data = np.array(rows + [tuple(-v for v in row) for row in rows]).astype(kind)
    want = REFERENCE["sum"](data, [1])
    for order in itertools.permutations(range(3)):
        assert_same(FUNCTIONS["sum"](data[:, order], [1]), want, (name, order))


def test_the_reference_sums_as_fsum_does():
    """For doubles; math.fsum is a correctly rounded sum that we did not write."""
    rng = np.random.default_rng(28)
    for spread in (1, 30, 300):
        for size in (1, 2, 3, 10, 100):
            for _ in range(30):
                data = rng.standard_normal(size) * 10.0 ** rng.integers(-spread, spread, size)
                assert REFERENCE["sum"](data, keepdims=False) == math.fsum(data)


@pytest.mark.parametrize("name", FLOATS)
def test_the_reference_rounds_to_the_nearest(name):
    """Its result is at least as near to the true sum as either neighbour, in fractions."""
    kind, rng = by_name(name).numpy_dtype, np.random.default_rng(29)
    for _ in range(200):
        data = awkward(name, 9, rng)
        data = data[np.isfinite(data)]
        exact = sum(map(Fraction, data.astype(np.float64).tolist()))
        got = REFERENCE["sum"](data, keepdims=False)
        distance = abs(_as_fraction(got) - exact)
        for side in (-np.inf, np.inf):
            with np.errstate(over="ignore"):
                neighbour = np.nextafter(got, np.array(side, kind))
            assert distance <= abs(_as_fraction(neighbour) - exact)


def _as_fraction(value):
    """The value of a float; of an infinity, the one that it would have if the type went on."""
    if np.isfinite(value):
        return Fraction(float(value))
    largest = np.nextafter(value, np.zeros_like(value))
    before = np.nextafter(largest, np.zeros_like(value))
    return 2 * Fraction(float(largest)) - Fraction(float(before))


@pytest.mark.parametrize("size", [100, 10_000, 1_000_000])
def test_error_of_a_double_sum_does_not_grow_with_the_count(size):
    rng = np.random.default_rng(size)
    for data in (rng.random(size), np.full(size, 0.1), rng.standard_normal(size)):
        want = np.array(math.fsum(data))
        for laid in (data, data[::-1], np.stack([data, data], 1)[:, 0]):
            got = FUNCTIONS["sum"](laid, keepdims=False)
            assert_same(got, want, size, slack_of_sums(data, None)[0])
        both = FUNCTIONS["sum"](np.stack([data, data], 1), [0], keepdims=False)
        assert_same(both, np.array([want, want]), size, slack_of_sums(data, None)[0])


LENGTHS = [1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 63, 64, 65, 100, 129, 257, 513, 1030, 5000]


def any_shape(rng, most):
    shape = [1] * rng.integers(1, 6)
    for axis in rng.permutation(len(shape)):
        fitting = [size for size in LENGTHS if size * math.prod(shape) <= most]
        shape[axis] = int(rng.choice(fitting))
    return tuple(shape)


def any_view(data, rng):
    """The data through a random layout, transpose and steps."""
    view = LAYOUTS[str(rng.choice(list(LAYOUTS)))](data)
    view = view.transpose(rng.permutation(view.ndim))
    steps = rng.choice([1, 1, 1, -1, 2, -2, 3], view.ndim)
    return view[tuple(slice(None, None, int(step)) for step in steps)]


def in_double(op, data, axes):
    """The reduction by NumPy, on whole numbers that double and int64 hold exactly."""
    wide = data.astype(np.float64 if data.dtype.kind not in "biu" else np.int64)
    result = getattr(np, op)(wide, axis=axes, keepdims=True)
    with np.errstate(over="ignore"):
        return np.asarray(result).astype(data.dtype.newbyteorder("="))


@pytest.mark.parametrize("name", NAMES)
def test_random_views_of_larger_arrays(name):
    """More elements and stranger strides than the reference has time for; NumPy is the oracle."""
    kind, rng = by_name(name), np.random.default_rng(NAMES.index(name))
    for turn in range(60):
        shape = any_shape(rng, 15_000)
        data = rng.integers(1, 9, shape) - (4.5 if kind.kind in ("float", "int") else 0)
        data = data.astype(kind.numpy_dtype) if kind.kind != "bool" else data > 7
        if name in FLOATS and turn % 4 == 0:
            data[rng.random(shape) < 10 / data.size] = rng.choice([np.nan, np.inf, -np.inf])
        view = any_view(data, rng)
        chosen = rng.permutation(view.ndim)[: rng.integers(1, view.ndim + 1)]
        axes = tuple(int(axis) for axis in chosen)
        for op in FUNCTIONS if name != "bool" else ("max", "min"):
            with np.errstate(invalid="ignore"):
                want = in_double(op, plain(view), axes)
            got = FUNCTIONS[op](view, axes, strict=False)
            assert_same(got, want, (op, name, view.shape, view.strides, axes))


@given(reductions())
def test_any_reduction(case):
    check(case.op, case.data, case.axes, **case.kwargs)


@given(reductions(ops=["sum"], names=FLOATS))
def test_any_exact_sum(case):
    check(case.op, case.data, case.axes, exact=True, **case.kwargs)


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("shape", [(2, 5), (3, 20_000), (16, 100), (40, 200)])
def test_any_byte_but_zero_is_true_in_rows_of_bool(op, shape):
    data = np.random.default_rng(3).choice(np.uint8([0, 0, 1, 2, 128, 255]), shape).view(bool)
    want = getattr(data.view(np.uint8) != 0, {"max": "any", "min": "all"}[op])(axis=0)
    got = FUNCTIONS[op](data, 0, keepdims=False)
    assert_same(got, want)


@pytest.mark.parametrize("step", [1, 2, 4])
@pytest.mark.parametrize("place", [0, 1, 300, 4000, 4999])
def test_a_byte_that_ends_the_search_is_found_wherever_it_stands(step, place):
    data = np.zeros((3, 5000 * step), np.uint8)[:, ::step]
    data[1, place] = 255
    assert FUNCTIONS["max"](data, 1, keepdims=False).tolist() == [0, 255, 0]
    assert FUNCTIONS["min"](~data, 1, keepdims=False).tolist() == [255, 0, 255]
