"""Sums against data made to break them: every bit must be that of the true sum, rounded once.

The oracle is whole numbers: every float is a multiple of 2^-1074, so a sum is one of
Python's integers, rounded here to the type. `math.fsum` and fractions vouch for it.

Run as a program, it prints a digest of the results of this level of the processor.
"""

import hashlib
import math
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from arrays import FLOATS, from_bits, nans
from hypothesis import given
from hypothesis import strategies as st

import reducekit as rk
from reducekit import _kernels
from reducekit.dtypes import by_name
from reducekit.explain._plan import describe

# Bits of the mantissa that are stored, and the exponents of the least and the largest normal.
MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
LEAST = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}
MOST = {"float16": 15, "bfloat16": 127, "float32": 127, "float64": 1023}

every_float = pytest.mark.parametrize("name", FLOATS)


# ---------------------------------------------------------------- the oracle


def whole(values):
    """The sum of finite floats, in units of 2^-1074."""
    total = 0
    for value in values:
        top, bottom = value.as_integer_ratio()
        total += top << (1075 - bottom.bit_length())
    return total


def infinity_of(name):
    return (MOST[name] - LEAST[name] + 2) << MANTISSA[name]


def sign_of(name):
    return 1 << (8 * by_name(name).itemsize - 1)


def rounded(total, name):
    """The bits of the float nearest to a whole number of 2^-1074, ties to even."""
    mantissa = MANTISSA[name]
    least = 1074 + LEAST[name] - mantissa
    size = abs(total)
    unit = max(size.bit_length() - 1 - mantissa, least)
    kept = size >> unit
    rest = size - (kept << unit)
    if unit:
        half = 1 << (unit - 1)
        kept += rest > half or (rest == half and kept & 1)
    bits = min(kept + ((unit - least) << mantissa), infinity_of(name))
    return bits | (sign_of(name) if total < 0 else 0)


def true_sum(values, name, times=1):
    """The bits of the sum of floats, each of them `times` times; all ones for NaN."""
    special = {value for value in values if not math.isfinite(value)}
    if len(special) > 1 or any(map(math.isnan, special)):
        return 2 * sign_of(name) - 1
    if special:
        return infinity_of(name) | (sign_of(name) if special.pop() < 0 else 0)
    if all(value == 0 and math.copysign(1, value) < 0 for value in values):
        return sign_of(name)
    return rounded(whole(values) * times, name)


def true_sums(rows, name, times=1):
    with np.errstate(invalid="ignore"):  # signalling NaN
        wide = rows.astype(np.float64)
    found = [true_sum(row, name, times) for row in wide.tolist()]
    return np.array(found, f"u{rows.itemsize}")


def bits_of(array):
    """The bits of each element; all ones for any NaN."""
    bits = np.ascontiguousarray(array).view(f"u{array.itemsize}").ravel()
    return np.where(np.isnan(array.ravel()), ~bits.dtype.type(0), bits)


def assert_bits(got, want, rows, hint):
    __tracebackhide__ = True
    bits = bits_of(got)
    assert bits.shape == want.shape
    wrong = np.flatnonzero(bits != want)
    if len(wrong):
        first = wrong[0]
        row = rows[first]
        raise AssertionError(
            f"{hint}: {len(wrong)} of {len(want)} are wrong, first number {first}: got "
            f"{bits[first]:#x}, want {want[first]:#x}, for {row.astype(np.float64).tolist()[:200]}"
        )


def sums(array, axes):
    return rk.reduce_sum(array, axes, keepdims=False, exact=array.itemsize == 8)


# ---------------------------------------------------------------- the inputs
#
# Each family gives `count` values as float64, of which each is one of the type.


def any_finite(name, count, rng):
    """Every bit pattern is as likely as any other, and so is every exponent."""
    patterns = rng.integers(0, 2 * sign_of(name), 2 * count + 9, np.uint64)
    finite = patterns & np.uint64(sign_of(name) - 1) < np.uint64(infinity_of(name))
    return np.resize(from_bits(name, patterns[finite]).astype(np.float64), count)


def cast(values, name):
    """To values of the type, of the size of its largest at most."""
    top = float(from_bits(name, [infinity_of(name) - 1])[0])
    with np.errstate(over="ignore"):
        return np.clip(values, -top, top).astype(by_name(name).numpy_dtype).astype(np.float64)


def opposites(name, count, rng, around=None):
    """Pairs that cancel: over the full range, or within 2^30 of a magnitude."""
    half = any_finite(name, count // 2, rng)
    if around is not None:
        scale = 2.0 ** rng.uniform(-30, 6, count // 2)
        with np.errstate(over="ignore"):
            half = cast((1 + rng.random(count // 2)) * scale * around, name)
    return np.concatenate([half, -half])


def padded(core, name, count, rng, around=None):
    """A core among pairs of opposites and zeros, shuffled."""
    room = max(0, count - len(core)) // 2 * 2
    pairs = opposites(name, int(rng.integers(0, room // 2 + 1)) * 2, rng, around)
    values = np.concatenate([core, pairs])[:count] if len(core) <= count else core[:count]
    values = np.concatenate([values, np.zeros(count - len(values))])
    return rng.permutation(values)


def cancelling(name, count, rng):
    return padded(any_finite(name, int(rng.integers(0, 4)), rng), name, count, rng)


def near_tie(name, count, rng):
    """On a boundary of rounding, or 2^-1 to 2^-60 of the last bit to either side of it."""
    mantissa = MANTISSA[name]
    least = LEAST[name] - mantissa
    edge = rng.random() < 0.1
    exponent = MOST[name] if edge else int(rng.integers(LEAST[name] + 1, MOST[name] + 1))
    kept = (2 << mantissa) - 1 if edge else int(rng.integers(1 << mantissa, 2 << mantissa))
    unit = exponent - mantissa
    value = math.ldexp(kept, unit)
    half = math.ldexp(0.5, unit)
    side = int(rng.choice([-1, 0, 1]))
    beside = 60 if rng.random() < 0.5 else int(rng.integers(2, 61))
    tail = side * math.ldexp(1, max(unit - beside, least))
    core = [value, half, tail]
    if unit - 2 >= least and rng.random() < 0.3:
        core[1:2] = [half / 2, half / 2]
    if rng.random() < 0.3:
        core[1] = -core[1]
    core = np.array(core if rng.random() < 0.5 else [-x for x in core])
    around = abs(value) if rng.random() < 0.6 else None
    return padded(core, name, count, rng, around)


def of_kahan(name, count, rng):
    """One large, many that a plain sum would lose one by one, and the large one back."""
    exponent = int(rng.integers(LEAST[name] // 2, MOST[name] - 1))
    large = 2.0**exponent
    small = math.ldexp(1, max(exponent - MANTISSA[name] - int(rng.integers(1, 4)),
                              LEAST[name] - MANTISSA[name]))  # fmt: skip
    values = np.full(count, small)
    values[0] = large
    if rng.random() < 0.5:
        values[-1] = -large
    if rng.random() < 0.5:
        values[1:-1:2] *= -1
    if rng.random() < 0.3:
        values[count // 2] = 1 if name != "float16" else 0.5
    return values


def of_rump(name, count, rng):
    """Ill-conditioned: each element of the second half cancels the sum so far, but for a rest."""
    kind = by_name(name).numpy_dtype.type
    first = max(1, count // 2)
    span = min(MOST[name], int(rng.choice([20, 60, 120, 1000])))
    values = list(
        cast((rng.random(first) - 0.5) * 2.0 ** rng.uniform(-span / 2, span / 2, first), name)
    )
    total = sum(map(Fraction, values))
    for k in range(count - first):
        size = 2.0 ** (span / 2 * (1 - 2 * k / (count - first)))
        rest = cast(np.array([(rng.random() - 0.5) * size]), name)[0]
        wanted = float(np.clip(float(Fraction(rest) - total), -1e308, 1e308))
        values.append(float(kind(cast(np.array([wanted]), name)[0])))
        total += Fraction(values[-1])
    return rng.permutation(np.array(values))


def subnormal(name, count, rng):
    patterns = rng.integers(0, 1 << MANTISSA[name], count, np.uint64)
    patterns |= rng.integers(0, 2, count, np.uint64) * np.uint64(sign_of(name))
    return from_bits(name, patterns).astype(np.float64)


def mixed(name, count, rng):
    return any_finite(name, count, rng)


def at_the_edge(name, count, rng):
    """Over infinity and back, and to within half a last bit of it."""
    top = float(from_bits(name, [infinity_of(name) - 1])[0])
    half = math.ldexp(0.5, MOST[name] - MANTISSA[name])
    few = np.array([top, -top, top / 1.5, -top / 1.5, half, half / 2, -half / 2, 2 * half, 1, -1])
    core = rng.choice(cast(few, name), int(rng.integers(1, count + 1)))
    if rng.random() < 0.3:  # the sum is the largest, and the rest decides
        core = np.array([top, half, *rng.choice([1.0, -1.0, half, -half, 0.0], 2)])
    return padded(core, name, count, rng, top if rng.random() < 0.5 else None)


def over_and_back(name, count, rng):
    """As [3e38, 3e38, -3e38] is for float32: as many of either sign, one more, or one less."""
    top = float(from_bits(name, [infinity_of(name) - 1 - int(rng.integers(0, 9))])[0])
    values = np.full(count, top)
    values[: (count - int(rng.integers(-1, 2))) // 2] *= -1
    return values if rng.random() < 0.5 else rng.permutation(values)


def zeros(name, count, rng):
    values = np.full(count, -0.0)
    if rng.random() < 0.5:
        values[rng.integers(0, count)] = 0.0
    return values


def not_finite(name, count, rng):
    values = any_finite(name, count, rng)
    special = [np.inf, -np.inf, np.nan][: 1 + int(rng.integers(0, 3))]
    for place in rng.integers(0, count, int(rng.integers(1, 4))):
        values[place] = rng.choice(special)
    return values


def tame(name, count, rng):
    """As in common data, so that the proof is met as well as the way round it."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return cast(rng.standard_normal(count), name)
    if kind == 1:
        return cast(np.full(count, 0.1), name)
    if kind == 2:
        return cast(rng.integers(-50, 50, count).astype(float), name)
    return cast(np.maximum(rng.standard_normal(count), 0) * 2.0 ** int(rng.integers(-9, 9)), name)


FAMILIES = [
    cancelling, near_tie, near_tie, near_tie, of_kahan, of_rump, subnormal, mixed, at_the_edge,
    over_and_back, zeros, not_finite, tame, tame,
]  # fmt: skip


def inputs(name, rows, count, rng, families=FAMILIES):
    """A matrix with an input in each row."""
    chosen = rng.integers(0, len(families), rows)
    found = np.stack([families[i](name, count, rng) for i in chosen])
    return found.astype(by_name(name).numpy_dtype)


# ---------------------------------------------------------------- the forms
#
# Each lays the rows out for another kernel, or another way through one.


def spread(rows, step, fill=np.nan):
    """A view of the rows in which elements lie `step` apart, with NaN between them."""
    room = np.full((rows.shape[0], rows.shape[1] * step), fill, rows.dtype)
    room[:, ::step] = rows
    return room[:, ::step]


def in_two(rows):
    """The elements of a row in two loops that do not merge, the results between them."""
    count = rows.shape[1]
    inner = next((k for k in (64, 33, 32, 16, 8, 5, 4, 3, 2) if count % k == 0), count)
    return np.ascontiguousarray(rows.reshape(len(rows), count // inner, inner).transpose(1, 0, 2))


def unaligned(rows):
    room = np.zeros(rows.nbytes + 1, np.uint8)[1:].view(rows.dtype).reshape(rows.shape)
    room[...] = rows
    return room


FORMS = {
    "C": lambda rows: (rows, [1]),
    "columns": lambda rows: (np.ascontiguousarray(rows.T), [0]),
    "Fortran": lambda rows: (np.asfortranarray(rows), [1]),
    "reversed": lambda rows: (np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1], [1]),
    "columns reversed": lambda rows: (np.ascontiguousarray(rows[::-1, ::-1].T)[::-1, ::-1], [0]),
    "padded": lambda rows: (np.pad(rows, [(0, 0), (0, 3)], constant_values=np.nan)[:, :-3], [1]),
    "every second": lambda rows: (spread(rows, 2), [1]),
    "every eleventh": lambda rows: (spread(rows, 11), [1]),
    "every second column": lambda rows: (spread(np.ascontiguousarray(rows.T), 2), [0]),
    "every eleventh column": lambda rows: (spread(np.ascontiguousarray(rows.T), 11), [0]),
    "few columns": lambda rows: (np.ascontiguousarray(rows[:100].T), [0]),
    "five columns": lambda rows: (np.ascontiguousarray(rows[:5].T), [0]),
    "one row": lambda rows: (rows[0], [0]),
    "two loops": lambda rows: (in_two(rows), [0, 2]),
    "two loops of columns": lambda rows: (
        np.ascontiguousarray(in_two(rows).transpose(0, 2, 1)), [0, 1]),
    "big-endian": lambda rows: (rows.astype(rows.dtype.newbyteorder(">")), [1]),
    "big-endian columns": lambda rows: (
        np.ascontiguousarray(rows.T).astype(rows.dtype.newbyteorder(">")), [0]),
    "unaligned": lambda rows: (unaligned(rows), [1]),
}  # fmt: skip

# Elements in a sum, and sums: around the ends of short runs, of few terms and of blocks.
SIZES = [
    (2, 300), (3, 300), (5, 260), (7, 40), (8, 300), (16, 200), (24, 100), (31, 60), (32, 300),
    (33, 100), (63, 40), (64, 300), (65, 270), (100, 100), (128, 60), (192, 40), (1000, 12),
    (4097, 4), (9000, 3),
]  # fmt: skip


def check_forms(name, rows, hint):
    want = true_sums(rows, name)
    for form, lay in FORMS.items():
        array, axes = lay(rows)
        got = sums(array, axes)
        assert_bits(got, want[: got.size], rows, f"{name} {rows.shape} {form} {hint}")
    return want


def check_changes(name, rows, want, rng):
    """What must not change a sum: order, zeros; and what must multiply it: repeats."""
    hint = f"{name} {rows.shape}"
    order = rng.permutation(rows.shape[1])
    assert_bits(sums(rows[:, order], [1]), want, rows, f"{hint} in another order")
    nothing = np.full((len(rows), 1 + int(rng.integers(0, 70))), -0.0, rows.dtype)
    longer = np.concatenate([nothing, rows, nothing], 1)
    assert_bits(sums(longer, [1]), want, rows, f"{hint} among zeros")
    some = want != sign_of(name)
    longer = np.concatenate([-nothing[some], rows[some]], 1)
    assert_bits(sums(longer, [1]), want[some], rows[some], f"{hint} after zeros")
    few = rows[: 1 + 2000 // rows.shape[1]]
    thrice = true_sums(few, name, 3)
    for shape, axes in (((3, *few.shape), [0, 2]), ((*few.shape, 3), [1, 2])):
        view = np.broadcast_to(few if shape[0] == 3 and axes == [0, 2] else few[..., None], shape)
        assert_bits(sums(view, axes), thrice, few, f"{hint} broadcast to {shape}")


def check_pieces(name, row, want, rng):
    """Any cut, in any order, merged in any way."""
    cuts = np.sort(rng.integers(0, len(row) + 1, int(rng.integers(0, 6))))
    parts = []
    for piece in rng.permutation(np.array([*np.split(row, cuts), None], object)[:-1]):
        acc = rk.Accumulator(name)
        acc.add(piece[::-1] if rng.random() < 0.5 else piece)
        parts.append(acc)
    while len(parts) > 1:
        last = parts.pop()
        parts[int(rng.integers(0, len(parts)))].merge(last)
    assert_bits(np.asarray(parts[0].round()), np.array([want]), row[None], f"{name} in pieces")


def check_batch(name, rng):
    """Every size once; how many inputs that was."""
    inputs_seen = 0
    for count, rows in SIZES:
        matrix = inputs(name, rows, count, rng)
        want = check_forms(name, matrix, "")
        check_changes(name, matrix, want, rng)
        for i in rng.integers(0, rows, 6):
            check_pieces(name, matrix[i], want[i], rng)
        inputs_seen += rows
    return inputs_seen


# ---------------------------------------------------------------- the tests


def test_the_oracle_is_right():
    rng = np.random.default_rng(1)
    for _ in range(300):
        values = any_finite("float64", 20, rng) * 2.0**-5
        want = np.array(math.fsum(values))
        assert true_sum(values.tolist(), "float64") == int(bits_of(want)[0])
    for name in FLOATS:
        for count in (1, 2, 5, 30):
            for row in inputs(name, 40, count, rng):
                if np.isfinite(row).all():
                    assert_nearest(row, true_sum(row.astype(np.float64).tolist(), name), name)


def assert_nearest(row, bits, name):
    """In fractions: no float is nearer, and at a tie the bits are even."""
    exact = abs(sum(map(Fraction, row.astype(np.float64).tolist())))
    size = bits & ~sign_of(name)
    middle = [
        (as_fraction(size + way, name) + as_fraction(size, name)) / 2
        for way in (-1, 1)
        if size + way >= 0
    ]
    if size < infinity_of(name):
        assert exact < middle[-1] or (exact == middle[-1] and size % 2 == 0)
    if size:
        assert exact > middle[0] or (exact == middle[0] and size % 2 == 0)


def as_fraction(bits, name):
    """What a bit pattern stands for, if infinity were a number as any other."""
    mantissa = MANTISSA[name]
    field, kept = bits >> mantissa, bits & ((1 << mantissa) - 1)
    if field:
        kept += 1 << mantissa
    return kept * Fraction(2) ** (max(field, 1) - 1 + LEAST[name] - mantissa)


def test_every_form_of_the_plan_is_among_the_layouts():
    found = set()
    for count, rows in SIZES:
        for lay in FORMS.values():
            array, axes = lay(np.zeros((rows, count), np.float32))
            found.add(describe(array.shape, array.strides, 4, axes, False).form)
    assert found == {
        "contiguous runs", "short runs", "rows into a vector", "narrow rows, several at a time",
        "gathered",
    }  # fmt: skip


@every_float
def test_adversarial_inputs(name):
    assert check_batch(name, np.random.default_rng(100)) == sum(rows for _, rows in SIZES)


@pytest.mark.slow
@every_float
def test_100_000_adversarial_inputs(name):
    rng = np.random.default_rng(101)
    seen = 0
    while seen < 100_000:
        seen += check_batch(name, rng)


@every_float
@pytest.mark.parametrize("family", sorted(set(FAMILIES), key=FAMILIES.index),
                         ids=lambda family: family.__name__)  # fmt: skip
def test_each_family_alone(name, family):
    """Blocks of one kind: among others, an infinity would hide what a block has in common."""
    rng = np.random.default_rng(102)
    for count, rows in [(3, 40), (32, 40), (48, 30), (128, 20), (520, 8)]:
        matrix = inputs(name, rows, count, rng, [family])
        check_forms(name, matrix, family.__name__)


@every_float
def test_large_arrays_for_any_number_of_threads(name):
    rng = np.random.default_rng(103)
    families = [family for family in FAMILIES if family is not not_finite]
    rows = inputs(name, 600, 1000, rng, families)
    want = true_sums(rows, name)
    with np.errstate(over="ignore"):
        calm = rows / rows.dtype.type(8)
    flat = true_sums(calm.reshape(1, -1), name)
    before = rk.get_num_threads()
    try:
        for threads in (1, 2):
            rk.set_num_threads(threads)
            hint = f"{name}, {threads} threads"
            for form in ("C", "columns", "every second", "big-endian", "two loops"):
                array, axes = FORMS[form](rows)
                assert_bits(sums(array, axes), want, rows, f"{hint}, {form}")
            # A single result, of which each thread sums a part; and a few of them.
            for array in (calm, calm.T, calm[::-1, ::-1], calm.reshape(1000, 20, 30)):
                got = sums(array, list(range(array.ndim)))
                assert_bits(got, flat, calm, f"{hint}, all of {array.shape}")
            five = np.ascontiguousarray(np.resize(calm.reshape(-1), (120_000, 5)))
            assert_bits(sums(five, [0]), true_sums(five.T, name), five.T, f"{hint}, five columns")
    finally:
        rk.set_num_threads(before)


@every_float
@given(data=st.data())
def test_whatever_hypothesis_finds(name, data):
    """Bit patterns, and pairs of them that cancel, in a few places of a row that may be long."""
    patterns = st.integers(0, 2 * sign_of(name) - 1)
    drawn = data.draw(st.lists(patterns, min_size=1, max_size=12))
    values = from_bits(name, drawn)
    if data.draw(st.booleans()):
        values = np.concatenate([values, -values[: data.draw(st.integers(0, len(values)))]])
    if data.draw(st.booleans()):
        with np.errstate(invalid="ignore"):  # signalling NaN
            values = values[np.isfinite(values)]
    length = data.draw(st.integers(max(1, len(values)), 300))
    row = np.full(length, -0.0, by_name(name).numpy_dtype)
    places = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(length)
    row[places[: len(values)]] = values
    rows = np.stack([row, row[::-1], -row])
    check_forms(name, rows, "")


@every_float
@given(data=st.data())
def test_near_ties_that_hypothesis_finds(name, data):
    """A float, half its last bit, and a hair: at every distance, on both sides, and none."""
    mantissa = MANTISSA[name]
    exponent = data.draw(st.integers(LEAST[name] + 1, MOST[name]))
    kept = data.draw(st.integers(1 << mantissa, (2 << mantissa) - 1))
    unit = exponent - mantissa
    least = LEAST[name] - mantissa
    hair = math.ldexp(1.0, max(unit - data.draw(st.integers(2, 60)), least))
    core = [math.ldexp(kept, unit), math.ldexp(data.draw(st.sampled_from([0.5, -0.5])), unit)]
    around = data.draw(st.integers(-20, 3))
    extra = cast(np.array([math.ldexp(1.25, min(exponent + around, MOST[name]))]), name)[0]
    pairs = [extra, -extra] * data.draw(st.integers(0, 40))
    rows = np.array([[*core, side * hair, *pairs] for side in (-1, 0, 1)])
    rows = np.concatenate([rows, -rows]).astype(by_name(name).numpy_dtype)
    check_forms(name, rows, "")


def test_quarters_of_the_largest_bfloat16_do_not_overflow_where_four_meet():
    """Sums of four are taken in float32, which has the range of bfloat16 and no more."""
    kind = by_name("bfloat16").numpy_dtype
    for size in (1e38, 2e38, 3e38):
        for signs in ([1, 1, -1, -1], [1, -1, 1, -1], [1, 1, -1, 0], [1, 1, 1, -1]):
            row = np.repeat(np.array(signs), 32) * size  # blocks of 128 are quartered
            rows = np.stack([row, -row, np.resize(np.array(signs) * size, 128)]).astype(kind)
            check_forms("bfloat16", rows, "")


def test_the_widest_mantissas_fill_no_chunk_of_the_accumulator():
    """Thousands of 2 - 2^-52 at every place of a chunk, in a sum that needs exactness."""
    for exponent in range(-40, 40):
        large = np.full(8192, np.nextafter(2.0, 0)) * 2.0**exponent
        for sign in (1, -1):
            back = np.full(8192, -2.0 * 2.0**exponent)
            row = sign * np.concatenate([large, [1e-300], back])
            want = np.array([true_sum(row.tolist(), "float64")], np.uint64)
            assert_bits(sums(row, [0]), want, row[None], exponent)
            acc = rk.Accumulator("float64")
            acc.add(row)
            assert_bits(np.asarray(acc.round()), want, row[None], exponent)


def test_a_payload_is_no_number():
    for name in FLOATS:
        for value in nans(name):
            row = np.zeros((300, 40), value.dtype)
            row[7, 3] = value
            check_forms(name, row, "")


# ---------------------------------------------------------------- the levels of the processor


def digest():
    """Of the results of half a batch in every type and form."""
    found = hashlib.sha256()
    for name in FLOATS:
        rng = np.random.default_rng(104)
        for count, rows in SIZES[::2]:
            matrix = inputs(name, rows, count, rng)
            for lay in FORMS.values():
                found.update(bits_of(sums(*lay(matrix))).tobytes())
    return found.hexdigest()


def test_levels_agree_to_the_bit():
    """With each other, and with this process, whose bits are held against the oracle."""
    want = digest()
    for level in _kernels.available():
        done = subprocess.run(
            [sys.executable, "-W", "error", str(Path(__file__))],
            capture_output=True,
            text=True,
            env={**os.environ, "REDUCEKIT_CPU": level},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [level, want]


# Blocks of float64 are summed in a range that their first 32 elements choose.
RANGES = {
    "normal numbers": lambda n, rng: rng.standard_normal(n),
    "all of one sign": lambda n, rng: rng.random(n) + 1,
    "up to the edge of the range": lambda n, rng: np.where(np.arange(n) < 32, 1.0, 7.999),
    "over the edge": lambda n, rng: np.where(np.arange(n) < 32, 1.0, 16.001),
    "a giant first, gone at last": lambda n, rng: np.r_[2.0**41, np.full(n - 2, 0.1), -(2.0**41)],
    "a giant later": lambda n, rng: np.r_[np.full(n // 2, 0.3), 1e12, np.full(n - n // 2 - 1, 0.7)],
    "growing": lambda n, rng: np.exp2(np.linspace(-300, 300, n)),
    "shrinking": lambda n, rng: np.exp2(np.linspace(300, -300, n)),
    "near the largest": lambda n, rng: rng.standard_normal(n) * 1e304,
    "subnormal": lambda n, rng: rng.integers(-(10**6), 10**6, n) * 5e-324,
    "minus zeros": lambda n, rng: np.full(n, -0.0),
    "zeros, then numbers": lambda n, rng: np.where(np.arange(n) < 64, 0.0, rng.standard_normal(n)),
    "an infinity": lambda n, rng: np.where(np.arange(n) == n - 3, -np.inf, rng.standard_normal(n)),
}


@pytest.mark.parametrize("kind", RANGES)
def test_float64_in_a_range_that_may_not_hold(kind):
    rng = np.random.default_rng(104)
    for n in (64, 95, 1000, 4096, 4100, 4191, 12_345):
        row = RANGES[kind](n, rng)
        want = true_sum(row.tolist(), "float64")
        total = from_bits("float64", [want])[0]
        for step in (1, 2, 3, 4, 8, -1):
            # What lies between must not count, not even for the range.
            wild = np.tile([1e300, np.nan, -np.inf, 5e-324], (4, n * abs(step)))[:, : n * abs(step)]
            wild[:, :: abs(step)] = row[:: step // abs(step)]
            view = wild[:, :: abs(step)]
            exact = rk.reduce_sum(view, 1, keepdims=False, exact=True)
            assert_bits(exact, np.full(4, want, np.uint64), view, f"{kind}, {n}, step {step}")
            got = rk.reduce_sum(view, 1, keepdims=False)
            assert len({value.tobytes() for value in got}) == 1
            if np.isinf(total) or np.abs(row).sum() / 2.0**20 < abs(total):
                apart = abs(int(bits_of(got)[0]) - want)
                assert apart <= 1, f"{kind}, {n}, step {step}: {apart} ulp"


if __name__ == "__main__":
    sys.stdout.write(f"{_kernels.LEVEL} {digest()}\n")


def test_evidence_of_narrow_rows_stays_within_the_columns_of_its_slice():
    """Slices of rows of few columns share one block of memory, and two threads."""
    rng = np.random.default_rng(7)
    scales = 10.0 ** np.linspace(-6, 5, 20)
    data = np.zeros((90_000, 24), np.float32)
    data[:, :20] = rng.standard_normal((90_000, 20)) * scales
    want = np.float32([math.fsum(column.tolist()) for column in data[:, :20].T])
    before = rk.get_num_threads()
    try:
        for threads in (1, 2):
            rk.set_num_threads(threads)
            for _ in range(20):
                got = rk.reduce_sum(data[:, :20], 0, keepdims=False)
                assert got.tobytes() == want.tobytes()
    finally:
        rk.set_num_threads(before)
