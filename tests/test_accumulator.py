"""Sums in pieces: any cut, order and merging gives the bits of the true sum, rounded once."""

import copy
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from arrays import FLOATS, INTEGERS, LAYOUTS, SHARING, awkward, extremes, from_bits, nans, ordinary
from hypothesis import given
from hypothesis import strategies as st
from oracles import REFERENCE, assert_same

import reducekit as rk
from reducekit._accumulator import VERSION, partial_sums, round_sums
from reducekit.dtypes import by_name

MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def rounded(name, elements):
    """The sum as IEEE 754 rounds it, by whole numbers alone."""
    kind = by_name(name)
    values = [float(v) for v in elements]
    if any(v != v or v in (np.inf, -np.inf) for v in values):
        special = sum(v for v in values if v != v or v in (np.inf, -np.inf))
        return kind.numpy_dtype.type(special)
    total = sum(map(Fraction, values), Fraction(0))
    if total == 0:
        negative = bool(values) and all(str(v) == "-0.0" for v in values)
        return kind.numpy_dtype.type(-0.0 if negative else 0.0)
    mantissa, bits = MANTISSA[name], 8 * kind.itemsize
    bias = (1 << (bits - mantissa - 2)) - 1
    size = abs(total)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    whole = round(size / Fraction(2) ** (exponent - mantissa))  # to even at ties
    pattern = whole + ((exponent + bias - 1) << mantissa) if whole else 0
    infinity = ((1 << (bits - mantissa - 1)) - 1) << mantissa
    pattern = min(pattern, infinity) | (1 << (bits - 1) if total < 0 else 0)
    return from_bits(name, [pattern])[0]


def same(got, want, hint=""):
    assert_same(np.asarray(got), np.asarray(want), hint)


def summed(name, pieces):
    acc = rk.Accumulator(name)
    for piece in pieces:
        acc.add(piece)
    return acc


# Bit patterns: every exponent is as likely as any other, so nearly every sum cancels or straddles.
def patterns(name, top=False):
    bits = 8 * by_name(name).itemsize
    any_pattern = st.integers(0, 2**bits - 1)
    special = st.sampled_from([*extremes(name).view(f"u{bits // 8}").tolist()])
    return st.lists(any_pattern | special if top else any_pattern, max_size=40)


@pytest.mark.parametrize("name", FLOATS)
@given(data=st.data())
def test_any_cut_and_merging_is_the_rounded_true_sum(name, data):
    drawn = data.draw(patterns(name, top=True))
    x = from_bits(name, drawn).reshape(-1)
    if data.draw(st.booleans()):
        with np.errstate(invalid="ignore"):
            x = x[np.isfinite(x)]
            # Cancelling pairs leave the small elements alone.
            x = np.concatenate([x, -x[: data.draw(st.integers(0, len(x)))]])
    x = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(x)
    with np.errstate(all="ignore"):
        want = rounded(name, x)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(x)), max_size=5)))
        parts = [summed(name, [piece]) for piece in np.split(x, cuts)]
        data.draw(st.randoms(use_true_random=False)).shuffle(parts)
        while len(parts) > 1:
            last = parts.pop()
            parts[data.draw(st.integers(0, len(parts) - 1))].merge(last)
        same(parts[0].round(), want)
        assert parts[0].count == len(x)
        same(rk.reduce_sum(x, keepdims=False, strict=False, exact=True), want)
        if len(x):  # of nothing, a column is the neutral -0.0
            stacked = np.concatenate([partial_sums(piece, (0,)) for piece in np.split(x, cuts)])
            same(round_sums(stacked, name), np.reshape(want, 1), "stacked")
            merged = partial_sums(stacked, (0,))
            same(round_sums(merged.reshape(len(merged), 1), name), np.reshape(want, 1), "merged")


@pytest.mark.parametrize("name", FLOATS)
def test_sums_near_a_tie(name):
    """The sum lies a unit of 2^-60 of its last bit beside a boundary, and on it."""
    dtype = by_name(name).numpy_dtype
    unit = 2.0 ** -MANTISSA[name]
    tiny = 2.0**-22 if name == "float16" else 2.0**-60 * unit
    for tail in (tiny, -tiny, 0.0, 3 * tiny):
        for base in (1.0, 1.0 + unit, -1.0, -1.0 - unit):
            half = unit / 2 if base > 0 else -unit / 2
            x = np.array([base, half, tail], dtype)
            want = rounded(name, x)
            for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
                same(summed(name, [x[[i]] for i in order]).round(), want)
                columns = np.concatenate([partial_sums(x[[i]], (0,)) for i in order])
                same(round_sums(columns, name)[0], want)
                same(round_sums(partial_sums(x, (0,)), name)[0], want)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("size", [0, 1, 7, 8, 15, 16, 17, 2047, 2048, 2049, 5000])
def test_sizes_around_lanes_and_blocks(name, size):
    rng = np.random.default_rng(size)
    x = ordinary(name, size, rng)
    want = rk.reduce_sum(x, keepdims=False, strict=False, exact=True)
    same(summed(name, [x]).round(), want)
    if size:
        same(want, rounded(name, x))
        same(round_sums(partial_sums(x, (0,)), name), want.reshape(1))


@pytest.mark.parametrize("layout", [*LAYOUTS, *SHARING])
@pytest.mark.parametrize("name", FLOATS)
def test_layouts(name, layout):
    rng = np.random.default_rng(3)
    array = awkward(name, (5, 7, 9), rng)
    x = {**LAYOUTS, **SHARING}[layout](array)
    plain = np.array(x, dtype=x.dtype.newbyteorder("="))
    with np.errstate(all="ignore"):
        same(summed(name, [x]).round(), REFERENCE["sum"](plain, keepdims=False, strict=False))
        for axes in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()):
            got = round_sums(partial_sums(x, axes), name)
            want = REFERENCE["sum"](plain, axes, strict=False) if axes else plain
            same(got, want, axes)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("nan", [False, True])
def test_partial_sums_of_awkward_data(name, nan):
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        for shape in [(0, 3), (3, 0), (1, 1), (40, 50), (3, 3000), (3000, 3), (2, 5, 4)]:
            x = awkward(name, shape, rng, nan=nan)
            for axis in range(x.ndim):
                got = round_sums(partial_sums(x, (axis,)), name)
                want = REFERENCE["sum"](x, axis, strict=False)
                if x.shape[axis] == 0:
                    assert np.all(got == 0)  # a neutral zero: what +0 means is for the caller
                    continue
                same(got, want, (shape, axis))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("spread", [4, 10, 15, 18, 20, 22, 24, 26, 28, 30])
def test_partial_sums_hold_every_bit(name, spread):
    """What a proof of exactness lets through too easily leaves a rest when it is taken away."""
    rng = np.random.default_rng(spread)
    dtype = by_name(name).numpy_dtype
    spread = min(spread, 12) if name == "float16" else spread
    for shape in [(64, 70), (4096, 2), (2, 4100), (17, 33)]:
        whole = rng.integers(2 ** MANTISSA[name], 2 ** (MANTISSA[name] + 1), shape)
        x = np.ldexp(whole * 2.0 ** -MANTISSA[name], rng.integers(-spread, 1, shape)).astype(dtype)
        x[rng.random(shape) < 0.1] = 0
        plain = x.astype(np.float64)
        for axis in (0, 1):
            parts = partial_sums(x, (axis,))
            parts = parts.reshape(len(parts), -1)
            rest = np.concatenate([parts, -np.moveaxis(plain, axis, 0)])
            assert not any(map(math.fsum, rest.T.tolist()))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("rows", [1, 3, 64, 67, 141])
def test_rows_that_begin_anywhere_in_a_line(name, rows):
    """Every width around lanes, lines and blocks, and every place of the first element."""
    rng = np.random.default_rng(rows)
    dtype = by_name(name).numpy_dtype
    for width in [1, 5, 31, 32, 33, 64, 127, 128, 131, 136, 144, 175, 513, 544, 1100]:
        for place in range(0, 128, 12 if rows < 100 else 24):
            line = (width + 31) // 32 * 32 if place % 8 else width
            block = np.empty(128 + rows * line * dtype.itemsize, np.uint8)
            start = (place - block.ctypes.data) % 128 // dtype.itemsize * dtype.itemsize
            x = block[start : start + rows * line * dtype.itemsize].view(dtype)
            x = x.reshape(rows, line)[:, :width]
            x[...] = rng.standard_normal((rows, width)).astype(np.float32)
            x[rng.random((rows, width)) < 0.1] = 0
            if place % 3:  # too far apart to be added plainly
                x[0, ::7] *= dtype.type(2.0**-12)
                x[-1, ::5] *= dtype.type(2.0**12)
            parts = partial_sums(x, (0,))
            assert parts.shape[1:] == (1, width)
            rest = np.concatenate([parts[:, 0], -x.astype(np.float64)])
            assert not any(map(math.fsum, rest.T.tolist())), (width, place)


@pytest.mark.parametrize("name", FLOATS)
def test_columns_of_another_scale_beside_common_ones(name):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((300, 1200)).astype(by_name(name).numpy_dtype)
    x[::3, 40:50] *= x.dtype.type(2.0**-14)
    x[150:, 700] *= x.dtype.type(2.0**14)
    x[:, 900] = 0
    for array in (x, x[:, 1:], x[:, ::-1], x[1:263]):
        parts = partial_sums(array, (0,))
        rest = np.concatenate([parts[:, 0], -array.astype(np.float64)])
        assert not any(map(math.fsum, rest.T.tolist()))
    x[200, 45] = np.nan
    got = round_sums(partial_sums(x, (0,)), name)[0].astype(np.float64)
    assert np.flatnonzero(np.isnan(got)).tolist() == [45]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("width", [2, 3, 10, 31, 40, 127, 128, 129])
def test_narrow_rows_that_are_added_several_as_one(name, width):
    rng = np.random.default_rng(width)
    x = rng.standard_normal((8 * 1024 // width * 8 + 5, width)).astype(np.float32)
    x = x.astype(by_name(name).numpy_dtype)
    x[rng.random(x.shape) < 0.1] = 0
    x[:, 0] = -0.0
    x[-1, 1] *= x.dtype.type(2.0**12)
    for array in (x, x[::-1], x[:, : width - 1], np.concatenate([x, x], axis=1)[:, :width]):
        parts = partial_sums(array, (0,))
        rest = np.concatenate([parts[:, 0], -array.astype(np.float64)])
        assert not any(map(math.fsum, rest.T.tolist()))
        assert str(float(round_sums(parts, "float64")[0, 0])) == "-0.0"
    x[7, -1] = np.inf
    assert round_sums(partial_sums(x, (0,)), name)[0, -1] == np.inf
    x[9, -1] = -np.inf
    assert np.isnan(round_sums(partial_sums(x, (0,)), name)[0, -1].astype(np.float64))


def test_partial_sums_of_a_partial_overflow():
    x = np.array([[1.7e308, 1.7e308, 1.0], [-1.7e308, -1.7e308, 2.0]])
    left, right = partial_sums(x[:1], (1,)), partial_sums(x[1:], (1,))
    assert np.isfinite(left).all()
    same(round_sums(np.concatenate([left, right]), "float64"), [[3.0]])
    same(round_sums(left, "float64"), [[np.inf]])
    same(summed("float64", x).round(), 3.0)


def test_partial_sums_are_two_doubles_for_common_data():
    rng = np.random.default_rng(1)
    for name in FLOATS:
        x = rng.standard_normal((300, 700)).astype(by_name(name).numpy_dtype)
        assert len(partial_sums(x, (0, 1))) <= 2
        assert len(partial_sums(x, (1,))) <= 2


def test_infinities_are_not_made_of_overflow():
    big = np.full(70, 1.7e308)
    same(summed("float64", [big, -big]).round(), 0.0)
    same(summed("float64", [big, np.array([-np.inf])]).round(), -np.inf)
    table = np.stack([big, np.r_[-np.inf, big[1:]], np.r_[np.inf, -np.inf, big[2:]]])
    with np.errstate(all="ignore"):
        same(round_sums(partial_sums(table, (1,)), "float64").ravel(), [np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("name", FLOATS)
def test_nan_of_every_kind(name):
    for value in nans(name):
        acc = summed(name, [np.array([1, 2], by_name(name).numpy_dtype), np.array([value])])
        assert np.isnan(acc.round())
        assert np.isnan(pickle.loads(pickle.dumps(acc)).round())


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap(name):
    rng = np.random.default_rng(4)
    x = awkward(name, 1000, rng)
    kind = by_name(name)
    span = 1 << (8 * kind.itemsize)
    total = sum(x.tolist()) % span
    want = total - span if kind.kind == "int" and total >= span // 2 else total
    acc = summed(name, np.array_split(x, 7))
    same(acc.round(), np.array(want, kind.numpy_dtype))
    other = summed(name, [x])
    other.merge(pickle.loads(pickle.dumps(acc)))
    same(other.round(), rk.reduce_sum(np.concatenate([x, x]), keepdims=False, strict=False))


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("float16", "float32"), ("bfloat16", "float64"), ("float32", "float64"), ("int8", "int64"),
     ("uint8", "int16"), ("uint32", "uint64"), ("uint32", "int64")],
)  # fmt: skip
def test_a_narrower_type_is_taken(narrow, wide):
    x = ordinary(narrow, 500, np.random.default_rng(5))
    acc = summed(wide, [x[::2], x[1::2]])
    widened = x.astype(by_name(wide).numpy_dtype)
    same(acc.round(), rk.reduce_sum(widened, keepdims=False, strict=False, exact=True))


@pytest.mark.parametrize(
    ("chunk", "wide"),
    [(np.float64([1]), "float32"), (np.int32([1]), "float64"), (np.float16([1]), "int64"),
     (np.int8([1]), "uint8"), (np.uint64([1]), "int64"), (np.array([True]), "int8"),
     ([1], "int32")],
)  # fmt: skip
def test_other_types_are_refused(chunk, wide):
    acc = rk.Accumulator(wide)
    with pytest.raises(rk.DTypeError, match=rf"Accumulator.add: the sum is of {wide}.* cast the"):
        acc.add(chunk)
    assert acc.count == 0


def test_refusals():
    with pytest.raises(rk.DTypeError, match="bool elements cannot be summed"):
        rk.Accumulator("bool")
    with pytest.raises(rk.DTypeError, match="complex64 cannot be reduced"):
        rk.Accumulator("complex64")
    acc = rk.Accumulator()
    with pytest.raises(TypeError, match="merge: other has type int; use an Accumulator"):
        acc.merge(1)
    with pytest.raises(rk.DTypeError, match="the sums are of float32 and float64"):
        acc.merge(rk.Accumulator("float64"))
    with pytest.raises(rk.ArgumentError, match="1 element is missing"):
        acc.add(np.ma.masked_array(np.float32([1, 2]), [True, False]))
    with pytest.raises(rk.DTypeError):
        acc.add(["a"])


def test_nothing_and_negative_zeros():
    acc = rk.Accumulator("float32")
    same(acc.round(), np.float32(0.0))
    acc.add(np.float32([]))
    same(acc.round(), np.float32(0.0))
    acc.add(np.float32([-0.0, -0.0]))
    same(acc.round(), np.float32(-0.0))
    acc.merge(rk.Accumulator("float32"))
    same(acc.round(), np.float32(-0.0))
    same(pickle.loads(pickle.dumps(acc)).round(), np.float32(-0.0))
    acc.add(np.float32([0.0]))
    same(acc.round(), np.float32(0.0))


def test_merging_leaves_the_other_and_works_with_itself():
    acc = summed("float32", [np.float32([0.1, 3e38, 3e38])])
    before = pickle.dumps(acc)
    other = rk.Accumulator("float32")
    other.merge(acc)
    assert pickle.dumps(acc) == before
    acc.merge(acc)
    same(acc.round(), np.float32(np.inf))
    other.add(np.float32([-3e38, -3e38]))
    same(other.round(), np.float32(0.1))
    assert acc.count == 6


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int16", "uint64"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies(name, protocol):
    x = awkward(name, 200, np.random.default_rng(9))
    x = x[np.isfinite(x.astype(np.float64))]
    acc = summed(name, [x])
    for twin in (
        pickle.loads(pickle.dumps(acc, protocol)), copy.copy(acc), copy.deepcopy(acc), acc.copy()
    ):  # fmt: skip
        assert twin is not acc
        assert repr(twin) == repr(acc)
        twin.add(x)
        acc_twice = summed(name, [x, x])
        same(twin.round(), acc_twice.round())
        assert pickle.dumps(twin) == pickle.dumps(acc_twice)
    same(acc.round(), rk.reduce_sum(x, keepdims=False, strict=False, exact=True))


def test_the_pickle_is_small_and_versioned():
    ordinary_sum = summed("float32", [np.random.default_rng(0).standard_normal(10**5, np.float32)])
    assert len(pickle.dumps(ordinary_sum)) < 120
    _, _, state = ordinary_sum.__reduce__()
    assert state[0] == VERSION == 1
    widest = summed("float64", [np.array([5e-324, 1.7e308])])
    assert len(pickle.dumps(widest)) < 500
    with pytest.raises(rk.ArgumentError, match="state of version 2 is not known"):
        rk.Accumulator().__setstate__((2, *state[1:]))
    for damaged in [(1, -1, 0, 0, 0), (1, 0, 1, -1, 0), (1, 0, 1, 9999, 0), (1, 0, 0, 0, 99)]:
        with pytest.raises(rk.ArgumentError, match="damaged"):
            rk.Accumulator().__setstate__(damaged)


def test_repr():
    acc = summed("float32", [np.float32([1.5, 2])])
    assert repr(acc) == "Accumulator(dtype=float32, count=2, sum=3.5)"


def test_threads_share_one():
    rng = np.random.default_rng(11)
    x = rng.standard_normal(400_000).astype(np.float32)
    acc = rk.Accumulator("float32")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(acc.add, np.array_split(x, 50)))
    same(acc.round(), rk.reduce_sum(x, keepdims=False))
    assert acc.count == x.size


def test_the_gil_is_released_on_large_chunks():
    """Another thread gets to run while one chunk is added."""
    x = np.ones(40_000_000, np.float32)
    acc, ticks, done = rk.Accumulator("float32"), [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(1)
            done.wait(0.0005)

    counter = threading.Thread(target=count)
    counter.start()
    before = len(ticks)
    acc.add(x)
    after = len(ticks)
    done.set()
    counter.join()
    assert acc.round() == 40_000_000
    # With the GIL held throughout, the counter would stand still.
    assert after > before


def test_a_sum_of_float64_that_fsum_agrees_with():
    rng = np.random.default_rng(12)
    x = np.ldexp(rng.standard_normal(20_000), rng.integers(-300, 300, 20_000))
    assert summed("float64", np.array_split(x, 13)).round() == math.fsum(x)
    assert round_sums(partial_sums(x, (0,)), "float64") == math.fsum(x)
