"""assert_equal: what passes, what fails, and what it says."""

import math

import numpy as np
import pytest
from arrays import FLOATS, LAYOUTS, NAMES, SHARING, awkward, extremes, from_bits, nans
from hypothesis import given
from hypothesis import strategies as st

import reducekit as rk
from reducekit.dtypes import by_name
from reducekit.testing import assert_equal


def text_of(*args, **kwargs):
    with pytest.raises(AssertionError) as caught:
        assert_equal(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", [*LAYOUTS, *SHARING])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_the_same_elements_in_any_layout_are_equal(name, layout, shape):
    if layout in SHARING and not shape:
        shape = (1,)
    lay = LAYOUTS.get(layout) or SHARING[layout]
    data = lay(awkward(name, shape, np.random.default_rng(2), nan=True))
    plain = np.array(data, order="C")
    assert_equal(data, plain)
    assert_equal(rk.Tensor(data), plain, ulps=3)
    assert_equal(plain, rk.Tensor(data))
    changed = np.array(plain, order="C")
    last = tuple(n - 1 for n in changed.shape)
    changed[last] = extremes(name)[1] if plain[last] != extremes(name)[1] else extremes(name)[0]
    assert "1 of" in text_of(changed, data)
    assert f"first at {list(last)}: " in text_of(data, changed)


@pytest.mark.parametrize("name", FLOATS)
def test_every_nan_is_as_good_as_another(name):
    values = nans(name)
    assert_equal(values, values[::-1])
    assert_equal(values, values[::-1], ulps=2)
    for other in (0.0, np.inf):
        zeros = np.full(len(values), other, values.dtype)
        assert f"{len(values)} of {len(values)} elements differ" in text_of(values, zeros)
        assert "apart" not in text_of(zeros, values, ulps=2**70)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("ulps", [0, 1, 2**70])
def test_signs_of_zero_and_infinity_count_whatever_the_ulps(name, ulps):
    kind = by_name(name).numpy_dtype
    zeros = np.array([0.0], kind), np.array([-0.0], kind)
    assert text_of(*zeros, ulps=ulps).endswith(", zeros of different signs")
    infinity = np.array([np.inf], kind)
    largest = -extremes(name)[extremes(name).astype(float).argsort()[1] :][:1]
    assert float(largest[0]) < math.inf
    text_of(infinity, largest, ulps=ulps)
    text_of(infinity, -infinity, ulps=ulps)
    assert_equal(infinity, infinity, ulps=ulps)


@given(st.sampled_from(FLOATS), st.data())
def test_ulps_are_steps_through_all_finite_floats(name, data):
    kind = by_name(name)
    bits = 8 * kind.itemsize
    infinity = int(np.array([np.inf], kind.numpy_dtype).view(f"u{kind.itemsize}")[0])
    steps = st.integers(-infinity + 1, infinity - 1)
    a = data.draw(steps)
    b = data.draw(steps | st.integers(max(a - 5, 1 - infinity), min(a + 5, infinity - 1)))

    def number(step):
        return from_bits(name, [step if step >= 0 else (1 << (bits - 1)) - step])

    allowed = data.draw(st.integers(0, 2 * infinity) | st.sampled_from([abs(a - b)]))
    if abs(a - b) <= allowed:
        assert_equal(number(a), number(b), ulps=allowed)
    else:
        unit = "ulp" if abs(a - b) == 1 else "ulps"
        text = text_of(number(a), number(b), ulps=allowed)
        if abs(a - b) < 10**15:
            assert text.endswith(f", {abs(a - b):,} {unit} apart")
        else:
            assert text.endswith(" ulps apart")


@pytest.mark.parametrize(
    ("actual", "desired", "kwargs", "text"),
    [
        (
            np.float32([[0.1, 0.2], [0.3, 0.4]]),
            np.float32([[0.1, 0.20000002], [0.4, 0.4]]),
            {},
            (
                "2 of 4 elements differ\n"
                "first at [0, 1]: actual 0.2 (0x3e4ccccd), desired 0.20000002 (0x3e4cccce), "
                "1 ulp apart\n"
                "worst at [1, 0]: actual 0.3 (0x3e99999a), desired 0.4 (0x3ecccccd), "
                "3,355,443 ulps apart"
            ),
        ),
        (
            np.float32([1, 2]),
            np.float32([1, 2.0000005]),
            {"ulps": 1},
            (
                "1 of 2 elements differs by more than 1 ulp\n"
                "first at [1]: actual 2.0 (0x40000000), desired 2.0000005 (0x40000002), "
                "2 ulps apart"
            ),
        ),
        (
            np.float64(np.nan),
            np.float64(1),
            {},
            (
                "1 of 1 element differs\n"
                "first at []: actual nan (0x7ff8000000000000), desired 1.0 (0x3ff0000000000000)"
            ),
        ),
        (
            np.int8([1, 2, 3]),
            np.int8([1, -2, 3]),
            {"ulps": 9},
            "1 of 3 elements differs\nfirst at [1]: actual 2, desired -2",
        ),
        (
            [True, False],
            [True, True],
            {},
            "1 of 2 elements differs\nfirst at [1]: actual False, desired True",
        ),
        (
            rk.Tensor([1.0]).astype("bfloat16"),
            rk.Tensor([1.5]).astype("bfloat16"),
            {},
            (
                "1 of 1 element differs\n"
                "first at [0]: actual 1 (0x3f80), desired 1.5 (0x3fc0), 64 ulps apart"
            ),
        ),
        (
            np.zeros((2, 1)),
            np.zeros((1, 2)),
            {},
            "the shapes differ: actual (2, 1), desired (1, 2)",
        ),
        (
            np.zeros(2, "f4"),
            np.zeros(2, "f8"),
            {},
            "the element types differ: actual float32, desired float64",
        ),
        (
            np.zeros(2, ">f4"),
            np.zeros(2, "<f4"),
            {},
            "the element types differ: actual float32 (byte-swapped, >f4), desired float32",
        ),
        (1, 1.0, {}, "the element types differ: actual int64, desired float64"),
        (
            rk.Tensor([1], dims="x"),
            rk.Tensor([1], dims="y"),
            {},
            "the names of the axes differ: actual ('x',), desired ('y',)",
        ),
        (
            rk.Tensor([1], dims="x"),
            rk.Tensor([1]),
            {},
            "the names of the axes differ: actual ('x',), desired None",
        ),
    ],
)
def test_what_a_failure_says(actual, desired, kwargs, text):
    assert text_of(actual, desired, **kwargs) == text


def test_names_do_not_count_against_an_array():
    assert_equal(rk.Tensor([1], dims="x"), np.array([1]))
    assert_equal(rk.Tensor([1], opset=13), rk.Tensor([1], opset=18))


def test_nothing_is_equal_to_nothing():
    assert_equal([], [])
    assert_equal(np.zeros((0, 3)), np.zeros((0, 3)))
    text_of(np.zeros((0, 3)), np.zeros((3, 0)))


@pytest.mark.parametrize(
    ("ulps", "kind", "text"),
    [
        (-1, rk.ArgumentError, "assert_equal: ulps=-1 is negative; use 0 for the same bits"),
        (1.0, TypeError, "assert_equal: ulps=1.0 has type float; use an int"),
        (True, TypeError, "assert_equal: ulps=True has type bool; use an int"),
        (None, TypeError, "assert_equal: ulps=None has type NoneType; use an int"),
    ],
)
def test_bad_ulps(ulps, kind, text):
    with pytest.raises(kind) as caught:
        assert_equal(1, 1, ulps=ulps)
    assert str(caught.value) == text


def test_what_is_no_tensor_is_refused():
    with pytest.raises(rk.DTypeError, match=r"^assert_equal: elements of dtype"):
        assert_equal(["a"], ["a"])
    with pytest.raises(TypeError, match="assert_equal"):
        assert_equal([[1], [1, 2]], 1)


def test_neither_input_is_changed():
    a, b = np.array([np.nan, -0.0]), np.array([1.0, 0.0])
    before = a.tobytes(), b.tobytes()
    text_of(a, b, ulps=1)
    assert (a.tobytes(), b.tobytes()) == before
