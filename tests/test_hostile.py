"""What a hostile stranger would try, as tables: no crash, no hang, no wrong answer.

VIEWS are arrays laid out with malice; their results must be those of plain copies. LIKES are
objects that lie, raise, re-enter or change and still have a right answer. REFUSED are calls that
must end in one of our errors. PASSED_ON are errors that are not ours to hide.
"""

import array
import collections
import ctypes
import decimal
import fractions
import gc
import itertools
import mmap
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest.mock
import warnings
from pathlib import Path

import fuzz_engine
import ml_dtypes
import numpy as np
import pandas as pd
import pytest
from arrays import NAMES, awkward, plain, subsets
from numpy.lib.stride_tricks import as_strided
from oracles import FUNCTIONS, OPS, REFERENCE, assert_same, check, outcome
from test_threads import run

import reducekit as rk
from reducekit import _rules, schema
from reducekit.explain._plan import describe

every_op = pytest.mark.parametrize("op", OPS)
RNG = np.random.default_rng(90)
HUGE = 2**62


def floats(*shape, dtype=np.float32):
    return awkward(np.dtype(dtype).name, shape, RNG)


def strided(shape, strides, dtype=np.float32, reach=4096):
    """A view from the middle of memory that holds awkward elements, with strides in bytes."""
    middle = awkward(np.dtype(dtype).name, (2 * reach,), RNG)[reach:]
    return as_strided(middle, shape, strides)


def guarded(shape, strides, dtype, at_end):
    """The same, of which nothing lies outside: pages that cannot be read are around."""
    dtype = np.dtype(dtype)
    low = sum(min(0, st * (n - 1)) for n, st in zip(shape, strides))
    high = sum(max(0, st * (n - 1)) for n, st in zip(shape, strides)) + dtype.itemsize
    base = fuzz_engine.DATA.place(high - low, at_end)
    base[:] = RNG.integers(0, 256, base.size, np.uint8)
    return np.ndarray(shape, dtype, base, -low, strides)


def field(of, name, dtype):
    records = np.frombuffer(RNG.bytes(12 * np.dtype(dtype).itemsize), dtype)
    assert records.dtype[name] == of
    return records[name].reshape(4, 3)


def unaligned(shift, dtype="f8"):
    size = np.dtype(dtype).itemsize
    return np.frombuffer(RNG.bytes(12 * size + shift), dtype, 12, shift).reshape(3, 4)


def mapped(mode):
    with tempfile.NamedTemporaryFile() as file:
        floats(5, 7).tofile(file.name)
        return np.memmap(file.name, np.float32, mode, shape=(5, 7))


def with_size_ones(*wild):
    shape = tuple(itertools.chain.from_iterable((1, n) for n in (3, 5, 2)[: len(wild)]))
    values = floats(*shape)
    strides = list(values.strides)
    strides[::2] = wild
    return as_strided(values, shape, strides)


class Subclass(np.ndarray):
    pass


VIEWS = {
    # Axes of size 1 may carry any stride.
    "size 1, stride 2**62": lambda: with_size_ones(HUGE, HUGE, HUGE),
    "size 1, stride -2**62": lambda: with_size_ones(-HUGE, -HUGE),
    "size 1, stride 2**63 - 1": lambda: with_size_ones(2**63 - 1, 2**63 - 1),
    "size 1, stride -2**63": lambda: with_size_ones(-(2**63), -(2**63)),
    "size 1, strides that cancel": lambda: with_size_ones(HUGE, -HUGE, 0),
    "size 1, odd strides": lambda: with_size_ones(1, -7, 3),
    "nothing but size 1": lambda: as_strided(floats(1), (1,) * 5, (HUGE, -HUGE, 1, 0, -7)),
    "rank 1, size 1, stride -2**63": lambda: as_strided(floats(1), (1,), (-(2**63),)),
    # Strides of zero.
    "one element for all": lambda: np.broadcast_to(floats(), (7, 9)),
    "a row for all": lambda: np.broadcast_to(floats(9), (7, 9)),
    "a column for all": lambda: np.broadcast_to(floats(7, 1), (7, 9)),
    "a plane between": lambda: np.broadcast_to(floats(4, 1, 5), (4, 70, 5)),
    "only the middle": lambda: np.broadcast_to(floats(6, 1), (5, 6, 40)),
    "zero beside negative": lambda: np.broadcast_to(floats(6, 1)[::-1], (5, 6, 40))[:, ::-2],
    "2**17 copies": lambda: np.broadcast_to(floats(3, 1), (3, 2**17)),
    # Negative strides.
    "reversed": lambda: floats(6, 7)[::-1, ::-1],
    "rows reversed": lambda: floats(6, 7)[::-1],
    "columns reversed": lambda: floats(6, 7)[:, ::-1],
    "reversed with gaps": lambda: floats(20, 30)[::-3, ::-4],
    "reversed and turned": lambda: floats(5, 6, 7)[::-1].transpose(2, 0, 1)[:, ::-1],
    "the last element only, from behind": lambda: floats(9)[:-10:-20],
    "a reversed vector of 1e5": lambda: floats(100_000)[::-1],
    # Elements that overlap or stand oddly.
    "windows": lambda: strided((60, 50), (4, 4)),
    "windows, one way back": lambda: strided((60, 50), (4, -4)),
    "windows, both ways back": lambda: strided((6, 5, 4), (-4, -4, -4)),
    "windows in steps": lambda: strided((30, 40), (24, 8)),
    "rows that overlap by half": lambda: strided((10, 16), (32, 4)),
    "a diagonal": lambda: floats(9, 9).diagonal(),
    "an antidiagonal": floats(9, 9)[::-1].diagonal,
    "diagonals of planes": lambda: floats(9, 9, 4).diagonal(),
    "closer than elements": lambda: strided((50, 3), (1, 60), np.int32),
    "closer than elements, back": lambda: strided((50, 3), (-1, -60), np.float64),
    "strides of 3 bytes": lambda: strided((20, 9), (3, 70), np.float64),
    "one byte too many": lambda: strided((20, 9), (5 * 9, 5), np.float32),
    "one byte too few": lambda: strided((20, 9), (7 * 9, 7), np.float64),
    "every eighth": lambda: floats(16, 80)[:, ::8],
    "every ninth": lambda: floats(16, 90)[:, ::9],
    "every eighth, down": lambda: floats(80, 3)[::8].T,
    "one column of many": lambda: floats(300, 11)[:, 5],
    "two columns of many": lambda: floats(300, 11)[:, 3:10:6],
    # Up against memory that cannot be read.
    "guarded, every third": lambda: guarded((500,), (12,), "f4", True),
    "guarded, every third, at the start": lambda: guarded((500,), (12,), "f4", False),
    "guarded columns in steps": lambda: guarded((40, 33), (33 * 8, 8), "f2", True),
    "guarded columns in steps, start": lambda: guarded((40, 33), (-33 * 8, -8), "f2", False),
    "guarded gaps of bytes": lambda: guarded((40, 33), (70, 2), "i1", True),
    "guarded last column": lambda: guarded((40, 3), (24, 8), "f8", True),
    "guarded windows": lambda: guarded((90, 90), (4, 4), "i4", True),
    "guarded odd strides": lambda: guarded((31, 7), (7 * 5, 5), "f4", True),
    "guarded 4097 halves": lambda: guarded((4097,), (2,), "f2", True),
    "guarded 1025 doubles": lambda: guarded((1025,), (8,), "f8", True),
    "guarded short runs": lambda: guarded((100, 7), (28, 4), "f4", True),
    "guarded shorts of three": lambda: guarded((3, 341), (2, 6), "u2", False),
    "guarded, big-endian": lambda: guarded((50, 9), (72, 8), ">f8", True),
    # Alignment and byte order.
    "one byte off": lambda: unaligned(1),
    "four bytes off": lambda: unaligned(4),
    "one byte off, big-endian": lambda: unaligned(1, ">f8"),
    "a half, one byte off": lambda: unaligned(1, "f2"),
    "a packed field": lambda: field("f8", "x", [("tag", "u1"), ("x", "f8")]),
    "an aligned field": lambda: field("f8", "x", np.dtype([("t", "u1"), ("x", "f8")], align=True)),
    "a field of a field": lambda: field(
        "f4", "x", [("a", "u1"), ("b", [("c", "u2")]), ("x", "f4")]
    ),
    "a big-endian field": lambda: field(">i4", "x", [("x", ">i4"), ("tag", "u1")]),
    "fields that overlap": lambda: field(
        "i2", "x", {"names": ["x", "y"], "formats": ["i2", "i4"], "offsets": [2, 0]}
    ),
    "an array within a record": lambda: np.zeros(5, [("t", "u1"), ("x", "i4", (3, 2))])["x"],
    "said to be unaligned": lambda: _flagged(floats(9, 5), aligned=False),
    "the real half": lambda: (floats(6, 7) + 1j).real,
    "the imaginary half": lambda: np.full((6, 7), 2 - 3j).imag,
    "a view of another size": lambda: floats(6, 8).view(np.uint8),
    "doubles seen as halves": lambda: floats(6, 8, dtype=np.float64).view(np.float16),
    # Types in disguise.
    "bytes that are no bool": lambda: np.arange(256, dtype=np.uint8).reshape(16, 16).view(bool),
    "no false, no one": lambda: np.full((3, 70), 2, np.uint8).view(bool),
    "long": lambda: np.arange(-6, 6, dtype="l").reshape(3, 4),
    "long long": lambda: np.arange(-6, 6, dtype="q").reshape(3, 4),
    "unsigned long long": lambda: np.arange(12, dtype="Q").reshape(3, 4),
    "a type with metadata": lambda: floats(3, 4).view(np.dtype("f4", metadata={"unit": "m"})),
    "an int with fields": lambda: (
        np.arange(12, dtype=np.int32)
        .reshape(3, 4)
        .view(np.dtype((np.int32, {"low": (np.int16, 0), "high": (np.int16, 2)})))
    ),
    "big-endian bfloat16": lambda: floats(3, 40, dtype=ml_dtypes.bfloat16).astype(
        np.dtype(ml_dtypes.bfloat16).newbyteorder(">")
    ),
    "signalling NaN": lambda: np.array([0x7F800001, 0xFF800001, 0, 1], np.uint32).view("f4"),
    # Empty in every way.
    "no element": lambda: np.zeros(0, np.float32),
    "no row": lambda: np.zeros((0, 3), np.int8),
    "no column": lambda: np.zeros((3, 0), np.uint16),
    "nothing in the middle": lambda: np.zeros((2, 0, 3)),
    "nothing anywhere": lambda: np.zeros((0, 0, 0), np.float16),
    "nothing of something": lambda: floats(9, 4)[5:5],
    "nothing, backwards": lambda: floats(9, 4)[:0:-1][:0, ::-1],
    "nothing, wild strides": lambda: as_strided(floats(1), (0, 5, 3), (HUGE, -HUGE, 2**61)),
    "nothing, wild negative strides": lambda: as_strided(floats(1), (5, 0), (-HUGE, HUGE)),
    "nothing, broadcast": lambda: np.broadcast_to(np.zeros((0, 1), np.int32), (4, 0, 5)),
    "2**40 rows of nothing": lambda: np.zeros((0, 2**40), np.int8)[:, :0],
    # Ranks.
    "rank 0": floats,
    "rank 0 from a broadcast": lambda: np.broadcast_to(floats(1), (4, 1))[2, 0, ...],
    "rank 64 of size 1": lambda: floats(1).reshape((1,) * 64),
    "rank 64, two sizes": lambda: floats(15).reshape((3,) + (1,) * 62 + (5,)),
    "rank 64, empty": lambda: np.zeros((1,) * 40 + (0,) + (1,) * 23),
    "rank 64, sizes of 2": lambda: np.broadcast_to(floats(2), (1,) * 50 + (2,) * 14),
    "rank 30 turned": lambda: floats(2**12).reshape((2,) * 12 + (1,) * 18).T,
    # Who owns the memory.
    "read-only": lambda: _flagged(floats(6, 7), writeable=False),
    "bytes": lambda: np.frombuffer(b"hostile!" * 6, np.float64).reshape(2, 3),
    "a mapped file": lambda: mapped("r"),
    "a file mapped on write": lambda: mapped("c"),
    "anonymous memory": lambda: np.frombuffer(mmap.mmap(-1, 480), np.float32).reshape(12, 10),
    "memory of ctypes": lambda: np.ctypeslib.as_array((ctypes.c_int16 * 5 * 4)()),
    "a subclass": lambda: floats(6, 7).view(Subclass),
    "a record array's field": lambda: np.rec.array([(1, 2.0), (3, 4.0)], "u1,f8")["f1"],
    "a view of a view of a deleted array": lambda: floats(40, 40)[::2][1::3].T[::-1],
}


def _flagged(data, **flags):
    data.setflags(
        **{{"aligned": "align", "writeable": "write"}[key]: v for key, v in flags.items()}
    )
    return data


def some_axes(rank):
    if rank <= 3:
        return subsets(rank)
    half = tuple(range(0, rank, 2))
    return [None, (0,), (rank - 1,), half, tuple(range(rank - 1)), tuple(range(1, rank))]


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    with np.errstate(all="ignore"):
        view = VIEWS[name]()
        copy = plain(view)
        for op, axes in itertools.product(OPS, some_axes(view.ndim)):
            if op == "sum" and view.dtype == bool:
                continue
            if view.size > 20_000 and axes not in ((), None):
                continue
            check(op, view, axes, name, plain=copy, strict=False)
            check(op, view, axes, name, plain=copy, strict=False, keepdims=False)
        assert plain(view).tobytes() == copy.tobytes()


def test_huge_broadcasts():
    """Repeats cost an extreme nothing, and a sum wraps and rounds as it should."""
    for kind in ("int8", "float32", "bfloat16", "float64"):
        one = np.array([3, -5, 4]).astype(kind)
        for shape in ((2**40, 3), (2**20, 2**20, 3)):
            huge = np.broadcast_to(one, shape)
            for op in ("max", "min"):
                want = REFERENCE[op](one, strict=False, keepdims=False)
                assert_same(FUNCTIONS[op](huge, strict=False, keepdims=False), want)
                kept = list(range(len(shape) - 1))
                assert_same(FUNCTIONS[op](huge, kept, strict=False, keepdims=False), one)
    many = np.broadcast_to(np.array([2**31 - 1], np.int32), (2**25, 3))
    assert rk.reduce_sum(many, 0, keepdims=False).tolist() == [-(2**25)] * 3
    assert rk.reduce_sum(np.broadcast_to(np.float32(0.1), 2**25))[0] == np.float32(
        fractions.Fraction(float(np.float32(0.1))) * 2**25
    )


# Objects with a right answer.


class Like:
    """Says of itself what it is told to, through any protocol."""

    def __init__(self, **methods):
        pass

    def __new__(cls, **methods):
        # Protocols are looked up on the class, so each object has its own.
        own = type("Like", (cls,), {name: _method(value) for name, value in methods.items()})
        return object.__new__(own)

    def __repr__(self):
        raise RuntimeError("no name")


def _method(value):
    if callable(value) and not isinstance(value, type):
        return lambda self, *args, **kwargs: value()
    return value


class Index:
    """An axis that does something when it is read."""

    def __init__(self, value=0, then=None):
        self.value, self.then = value, then

    def __index__(self):
        if self.then is not None:
            self.then()
        return self.value


class Sly(int):
    """An int that compares as the code in front of it would like best."""

    def __index__(self):
        return self

    def __eq__(self, other):
        return True

    __le__ = __lt__ = __ge__ = __gt__ = __eq__
    __hash__ = int.__hash__


DATA = np.arange(6.0).reshape(2, 3)


def axes_emptied_while_read():
    axes = [0, 1]
    axes[0] = Index(0, axes.clear)
    return DATA.copy(), axes, DATA, [0, 1]


def axes_that_grow_while_read():
    axes = [Index(0, lambda: axes.extend([1] * 1000))]
    return DATA.copy(), axes, DATA, [0]


def axis_that_writes_into_the_data():
    data = DATA.copy()
    return data, [Index(0, lambda: data.fill(7))], np.full((2, 3), 7.0), [0]


def axis_that_reduces():
    data = DATA.copy()
    return data, [Index(1, lambda: [rk.reduce_sum(data, [0]) for _ in range(9)])], DATA, [1]


def axis_that_collects_garbage():
    return DATA.copy(), (Index(-1, gc.collect),), DATA, [1]


def axis_that_sets_the_opset():
    return DATA.copy(), [Index(-1, lambda: rk.set_default_opset(1))], DATA, [1]


def axis_that_drops_the_data():
    held = [DATA.copy()]
    return held.pop(), [Index(0, held.clear)], DATA, [0]


def array_that_reduces_itself():
    inner = DATA.copy()
    like = Like(__array__=lambda: rk.reduce_max(inner, noop_with_empty_axes=True))
    return like, [0], DATA, [0]


def array_that_is_another_each_time():
    turns = iter([DATA, DATA * 2, DATA * 3])
    return Like(__array__=lambda: next(turns)), [0], DATA, [0]


def sequence_of(length, item):
    class Sequence(collections.abc.Sequence):
        def __len__(self):
            return length

        def __getitem__(self, at):
            return item(at)

    return Sequence()


class Tuple(tuple):
    """Iterates otherwise than it is."""

    __slots__ = ()

    def __iter__(self):
        return iter([1])

    def __len__(self):
        return 10**6


class List(list):
    def __iter__(self):
        return iter([1])


def simple(data, axes=(0,), plain_data=None, plain_axes=None):
    return lambda: (
        data() if callable(data) else data,
        axes() if callable(axes) else axes,
        DATA if plain_data is None else plain_data,
        list(axes) if plain_axes is None else plain_axes,
    )


LIKES = {
    "axes emptied while read": axes_emptied_while_read,
    "axes that grow while read": axes_that_grow_while_read,
    "an axis that writes into the data": axis_that_writes_into_the_data,
    "an axis that reduces": axis_that_reduces,
    "an axis that collects garbage": axis_that_collects_garbage,
    "an axis that sets the opset": axis_that_sets_the_opset,
    "an axis that drops the data": axis_that_drops_the_data,
    "__array__ that reduces": array_that_reduces_itself,
    "__array__ that is another each time": array_that_is_another_each_time,
    "__array__ of a read-only array": simple(
        lambda: Like(__array__=lambda: _flagged(DATA.copy(), writeable=False))
    ),
    "__array__ of a subclass": simple(lambda: Like(__array__=lambda: DATA.view(Subclass))),
    "__array__ of big-endian": simple(lambda: Like(__array__=lambda: DATA.astype(">f8"))),
    "__array__ beside a broken __dlpack__": simple(
        lambda: Like(__array__=lambda: DATA, __dlpack__=lambda: 1 / 0)
    ),
    "a broken __array__ beside __dlpack__": simple(
        lambda: Like(
            __array__=lambda: 1 / 0,
            __dlpack__=DATA.__dlpack__,
            __dlpack_device__=lambda: (1, 0),
        )
    ),
    "__array_interface__": simple(
        lambda: types.SimpleNamespace(__array_interface__=DATA.__array_interface__)
    ),
    "a class that is said to be another": simple(
        lambda: Like(__class__=property(lambda self: dict), __array__=lambda: DATA)
    ),
    "a null_count that is not known": simple(
        lambda: Like(null_count=lambda: -1, __array__=lambda: DATA)
    ),
    "a null_count of text": simple(lambda: Like(null_count="3", __array__=lambda: DATA)),
    "a memoryview, backwards": simple(lambda: memoryview(DATA[::-1].copy())[::-1]),
    "a cast memoryview": simple(lambda: memoryview(DATA.tobytes()).cast("d", (2, 3))),
    "array.array": simple(lambda: array.array("d", range(6)), plain_data=DATA.reshape(-1)),
    "a sequence by numbers": simple(lambda: sequence_of(2, lambda at: DATA[range(2)[at]])),
    "a masked array without a mask": simple(lambda: np.ma.array(DATA)),
    "a range": simple(lambda: range(5), plain_data=np.arange(5)),
    "a pandas index": simple(lambda: pd.Index([3, 1, 2]), plain_data=np.array([3, 1, 2])),
    "axes of a tuple that lies": simple(DATA, Tuple((0, 0, 0)), plain_axes=[1]),
    "axes of a list that lies": simple(DATA, List([0, 9]), plain_axes=[1]),
    "axes of a generator": simple(DATA, lambda: (a for a in (1,)), plain_axes=[1]),
    "axes of a set": simple(DATA, lambda: {0, 1}, plain_axes=[0, 1]),
    "axes of dict keys": simple(DATA, {1: 2}.keys, plain_axes=[1]),
    "axes of a deque": simple(DATA, lambda: collections.deque([1]), plain_axes=[1]),
    "axes of a memoryview": simple(DATA, lambda: memoryview(np.array([1])), plain_axes=[1]),
    "axes of array.array": simple(DATA, lambda: array.array("b", [1]), plain_axes=[1]),
    "axes of a big-endian array": simple(DATA, lambda: np.array([1], ">i8"), plain_axes=[1]),
    "axes of an unaligned array": simple(
        DATA, lambda: np.frombuffer(b"\0\1\0\0\0", "<i4", 1, 1), plain_axes=[1]
    ),
    "axes of a reversed array": simple(DATA, lambda: np.array([0, 1])[::-1], plain_axes=[0, 1]),
    "axes of a broadcast array": simple(DATA, lambda: np.broadcast_to(1, (1,)), plain_axes=[1]),
    "axes of a subclass": simple(DATA, lambda: np.array([1]).view(Subclass), plain_axes=[1]),
    "axes of pandas": simple(DATA, lambda: pd.Index([1]), plain_axes=[1]),
    "axes of rank 0": simple(DATA, lambda: np.array(1, np.uint8), plain_axes=[1]),
    "axes of no floats": simple(DATA, lambda: np.array([]), plain_axes=[]),
    "an axis of uint64": simple(DATA, lambda: [np.uint64(1)], plain_axes=[1]),
    "an axis of a sly int": simple(DATA, lambda: [Sly(1)], plain_axes=[1]),
}


@every_op
@pytest.mark.parametrize("name", LIKES)
def test_likes(name, op):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # __index__ of an int subclass
        data, axes, plain_data, plain_axes = LIKES[name]()
        got = FUNCTIONS[op](data, axes)
    assert_same(got, REFERENCE[op](plain_data, plain_axes), name)


# What is refused.


def raising(error):
    def method(*args, **kwargs):
        raise error

    return method


def dlpack_of(**changes):
    """A producer whose capsule says what it is told to."""
    from reducekit import _dlpack

    data = DATA.copy()
    capsule = data.__dlpack__()
    tensor = _dlpack._DLManagedTensor.from_address(_dlpack._pointer(capsule, b"dltensor")).dl_tensor
    for name, value in changes.items():
        setattr(tensor.dtype if hasattr(tensor.dtype, name) else tensor, name, value)
    return Like(__dlpack__=lambda: capsule, __dlpack_device__=lambda: (1, 0))


def consumed():
    capsule = DATA.__dlpack__()
    like = Like(__dlpack__=lambda: capsule, __dlpack_device__=lambda: (1, 0))
    np.from_dlpack(like)
    return like


def interface(**changes):
    given = {**DATA.__array_interface__, **changes}
    return types.SimpleNamespace(__array_interface__=given, owner=DATA)


def released():
    view = memoryview(bytearray(8))
    view.release()
    return view


def own_list():
    rows = []
    rows.append(rows)
    return rows


def deep_list():
    rows = [1.0]
    for _ in range(3000):
        rows = [rows]
    return rows


def changed(change):
    """A call during which an axis does something to the data."""

    def call(f):
        data = np.ones((2, 4))
        return f(data, [Index(0, lambda: change(data))], keepdims=False)

    return call


def set_dtype(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        data.dtype = np.int8


def out_changed(f):
    out = np.zeros((1, 4))

    class Data:
        def __array__(self, dtype=None, copy=None):
            out.resize((4, 1))
            return np.ones((2, 4))

    return f(Data(), [0], out=out)


def with_data(make):
    return lambda f: f(make())


def with_axes(make):
    return lambda f: f(DATA.copy(), make())


def with_out(make, shape=(2, 3)):
    return lambda f: f(np.zeros(shape), [0], out=make())


def with_flags(**kwargs):
    return lambda f: f(DATA, [0], **kwargs)


def of_type(dtype):
    return lambda f: f(np.zeros((2, 3), dtype), strict=False)


REFUSED = {
    # Element types.
    **{f"elements of {dtype}": (of_type(dtype), rk.DTypeError) for dtype in
       ["c8", "c16", "O", "S3", "U2", "V5", "M8[s]", "m8[D]", "f4,i2", "S0", "V0"]},
    "elements of longdouble": (
        of_type(np.longdouble), rk.DTypeError) if np.longdouble != np.float64 else None,
    "elements of StringDType": (of_type(np.dtypes.StringDType()), rk.DTypeError),
    **{f"elements of {name}": (of_type(getattr(ml_dtypes, name)), rk.DTypeError)
       for name in ["float8_e4m3fn", "float8_e5m2", "int4", "uint4"]},
    "a record": (with_data(lambda: np.zeros(3, "i4,f4")[0]), rk.DTypeError),
    "integers beyond 64 bits": (with_data(lambda: [2**100]), rk.DTypeError),
    "text": (with_data(lambda: "12"), rk.DTypeError),
    "bytes": (with_data(lambda: b"12"), rk.DTypeError),
    # Data that is none.
    "None": (with_data(lambda: None), rk.DTypeError),
    "an ellipsis": (with_data(lambda: ...), rk.DTypeError),
    "a class": (with_data(lambda: np.ndarray), TypeError),
    "a module": (with_data(lambda: np), rk.DTypeError),
    "a generator": (with_data(lambda: (x for x in [1.0])), rk.DTypeError),
    "a dict": (with_data(lambda: {0: 1.0}), rk.DTypeError),
    "a set": (with_data(lambda: {1.0}), rk.DTypeError),
    "a mock": (with_data(unittest.mock.Mock), TypeError),
    "a ragged list": (with_data(lambda: [[1], [2, 3]]), TypeError),
    "a list that holds itself": (with_data(own_list), TypeError),
    "a list 3000 deep": (with_data(deep_list), TypeError),
    "a released memoryview": (with_data(released), rk.DTypeError),
    "__array__ that fails": (with_data(lambda: Like(__array__=raising(OSError("x")))), TypeError),
    "__array__ of text": (with_data(lambda: Like(__array__=lambda: "x")), TypeError),
    "__array__ of None": (with_data(lambda: Like(__array__=lambda: None)), TypeError),
    "__array__ of a list": (with_data(lambda: Like(__array__=lambda: [1.0])), TypeError),
    "__array__ of objects": (with_data(
        lambda: Like(__array__=lambda: np.array([1, "a"], object))), rk.DTypeError),
    "__array__ that runs out of stack": (with_data(
        lambda: Like(__array__=raising(RecursionError()))), TypeError),
    "__array__ that runs out of memory": (with_data(
        lambda: Like(__array__=raising(MemoryError()))), TypeError),
    "__array_interface__ of text": (with_data(
        lambda: types.SimpleNamespace(__array_interface__="x")), TypeError),
    "an interface without a shape": (with_data(
        lambda: types.SimpleNamespace(__array_interface__={"typestr": "<f8"})), TypeError),
    "an interface of a strange type": (with_data(lambda: interface(typestr="<q9")), TypeError),
    "an interface of negative size": (with_data(lambda: interface(shape=(-2, 3))), TypeError),
    "an interface beyond memory": (with_data(
        lambda: interface(shape=(2**40, 2**40))), TypeError),
    "an interface with a stride missing": (with_data(lambda: interface(strides=(8,))), TypeError),
    "__array_struct__ that is none": (with_data(
        lambda: types.SimpleNamespace(__array_struct__=7)), TypeError),
    "an item that fails": (with_data(
        lambda: sequence_of(3, raising(KeyError("x")))), rk.DTypeError),
    "__dlpack__ that fails": (with_data(
        lambda: Like(__dlpack__=raising(OSError("x")), __dlpack_device__=lambda: (1, 0))),
        TypeError),
    "__dlpack__ of None": (with_data(
        lambda: Like(__dlpack__=lambda: None, __dlpack_device__=lambda: (1, 0))), TypeError),
    "__dlpack__ without a device": (with_data(
        lambda: Like(__dlpack__=DATA.__dlpack__)), TypeError),
    "__dlpack__ on another device": (with_data(
        lambda: Like(__dlpack__=DATA.__dlpack__, __dlpack_device__=lambda: (2, 0))), TypeError),
    "a device that is none": (with_data(
        lambda: Like(__dlpack__=DATA.__dlpack__, __dlpack_device__=lambda: "cpu")), TypeError),
    "a capsule that was used": (with_data(consumed), TypeError),
    "a capsule of rank -1": (with_data(lambda: dlpack_of(ndim=-1)), TypeError),
    "a capsule of rank 1000": (with_data(lambda: dlpack_of(ndim=1000)), TypeError),
    "a capsule of two lanes": (with_data(lambda: dlpack_of(lanes=2)), TypeError),
    "a capsule of 24 bits": (with_data(lambda: dlpack_of(bits=24)), TypeError),
    "a capsule of type 99": (with_data(lambda: dlpack_of(code=99)), TypeError),
    "a capsule on a device": (with_data(lambda: dlpack_of(device_type=2)), TypeError),
    "data said to be an array": (with_data(
        lambda: Like(__class__=property(lambda self: np.ndarray),
                     __array__=raising(OSError("x")))), TypeError),
    "data said to be masked": (with_data(
        lambda: Like(__class__=property(lambda self: np.ma.MaskedArray),
                     __array__=raising(OSError("x")))), TypeError),
    "masked elements": (with_data(lambda: np.ma.array([1.0, 2.0], mask=[0, 1])), rk.ArgumentError),
    "missing elements": (with_data(lambda: pd.array([1, None])), rk.ArgumentError),
    "a null_count that fails": (with_data(lambda: Like(
        null_count=property(raising(OSError("x"))), __array__=lambda: DATA)), TypeError),
    "columns that fail": (with_data(lambda: Like(
        itercolumns=raising(OSError("x")), __array__=lambda: DATA)), TypeError),
    "columns that are none": (with_data(lambda: Like(
        itercolumns=lambda: 3, __array__=lambda: DATA)), TypeError),
    "2**90 missing elements": (with_data(
        lambda: Like(null_count=2**90, __array__=lambda: DATA)), rk.ArgumentError),
    # Data and out that change.
    "data that gets another shape": (changed(lambda data: data.resize(8)), rk.ArgumentError),
    "data that gets another rank": (changed(lambda data: data.resize((2, 2, 2))), rk.ArgumentError),
    "data that is turned round": (changed(lambda data: data.resize((4, 2))), rk.ArgumentError),
    "data that gets another type": (changed(set_dtype), rk.ArgumentError),
    "data that is made anew": (
        changed(lambda data: data.__setstate__((1, (1,), np.dtype("f8"), False, bytes(8)))),
        rk.ArgumentError),
    "data that is given away": (
        changed(lambda data: data.resize((0, 4), refcheck=False)), rk.ArgumentError),
    "out that gets another shape": (out_changed, rk.ArgumentError),
    # Axes.
    "axes without end": (with_axes(itertools.count), rk.AxesError),
    "axes in a circle": (with_axes(lambda: itertools.cycle([0, 1])), rk.AxesError),
    "one axis for ever": (with_axes(lambda: itertools.repeat(0)), rk.AxesError),
    "no axes for ever": (with_axes(lambda: itertools.repeat(None)), TypeError),
    "a million axes": (with_axes(lambda: range(10**6)), rk.AxesError),
    "an axis of 2**200": (with_axes(lambda: [2**200]), rk.AxesError),
    "an axis of -2**200": (with_axes(lambda: -(2**200)), rk.AxesError),
    "an axis of 10**5000": (with_axes(lambda: [10**5000]), rk.AxesError),
    "an axis of 2**63": (with_axes(lambda: [2**63]), rk.AxesError),
    "an axis of -2**63": (with_axes(lambda: [-(2**63)]), rk.AxesError),
    "an axis of 2**32": (with_axes(lambda: [2**32]), rk.AxesError),
    "an axis of uint64": (with_axes(lambda: np.array([2**64 - 1], np.uint64)), rk.AxesError),
    "an axis of a sly int": (with_axes(lambda: Sly(99)), rk.AxesError),
    "an axis of True": (with_axes(lambda: [True]), TypeError),
    "an axis of np.True_": (with_axes(lambda: np.True_), TypeError),
    "an axis of 1.0": (with_axes(lambda: [1.0]), TypeError),
    "an axis of float16": (with_axes(lambda: np.float16(1)), TypeError),
    "an axis of a fraction": (with_axes(lambda: [fractions.Fraction(1)]), TypeError),
    "an axis of a decimal": (with_axes(lambda: [decimal.Decimal(1)]), TypeError),
    "an axis of None": (with_axes(lambda: [None]), TypeError),
    "an axis of text": (with_axes(lambda: ["0"]), TypeError),
    "axes within axes": (with_axes(lambda: [[0]]), TypeError),
    "axes of text": (with_axes(lambda: "01"), TypeError),
    "axes of no text": (with_axes(lambda: ""), TypeError),
    "axes of bytes": (with_axes(lambda: b"\0"), TypeError),
    "axes of a bytearray": (with_axes(lambda: bytearray(1)), TypeError),
    "axes of a dict": (with_axes(lambda: {0: 1}), TypeError),
    "axes of a float": (with_axes(lambda: 0.0), TypeError),
    "axes of a bool array": (with_axes(lambda: np.array([True, False])), TypeError),
    "axes of a float array": (with_axes(lambda: np.array([0.0])), TypeError),
    "axes of an object array": (with_axes(lambda: np.array([0], object)), TypeError),
    "axes of dates": (with_axes(lambda: np.zeros(1, "M8[s]")), TypeError),
    "axes of rank 2": (with_axes(lambda: np.array([[0]])), rk.ArgumentError),
    "axes of a said rank": (with_axes(lambda: Like(ndim=2**70)), rk.ArgumentError),
    "__index__ that raises TypeError": (with_axes(
        lambda: [Index(0, raising(TypeError("x")))]), TypeError),
    "__index__ of text": (with_axes(lambda: [Index("0")]), TypeError),
    "__index__ of a float": (with_axes(lambda: Index(0.0)), TypeError),
    "__iter__ of None": (with_axes(lambda: Like(__iter__=None)), TypeError),
    "__iter__ of an int": (with_axes(lambda: Like(__iter__=lambda: 1)), TypeError),
    "an object": (with_axes(object), TypeError),
    "a function": (with_axes(lambda: len), TypeError),
    # Flags and opsets.
    "keepdims=2": (with_flags(keepdims=2), rk.ArgumentError),
    "keepdims=2**70": (with_flags(keepdims=2**70), rk.ArgumentError),
    "keepdims=1.0": (with_flags(keepdims=1.0), rk.ArgumentError),
    "keepdims=None": (with_flags(keepdims=None), TypeError),
    "keepdims='False'": (with_flags(keepdims="False"), TypeError),
    "keepdims=[]": (with_flags(keepdims=[]), TypeError),
    "keepdims of an array": (with_flags(keepdims=np.array([1, 0])), rk.ArgumentError),
    "strict=nan": (with_flags(strict=float("nan")), rk.ArgumentError),
    "strict of an object": (with_flags(strict=object()), TypeError),
    "noop of an object without a name": (
        lambda f: f(DATA, noop_with_empty_axes=Like()), TypeError),
    "opset=0": (with_flags(opset=0), rk.OpsetError),
    "opset=29": (with_flags(opset=schema.NEWEST_OPSET + 1), rk.OpsetError),
    "opset=-2**63": (with_flags(opset=-(2**63)), rk.OpsetError),
    "opset=2**200": (with_flags(opset=2**200), rk.OpsetError),
    "opset=10**5000": (with_flags(opset=10**5000), rk.OpsetError),
    "opset=True": (with_flags(opset=True), TypeError),
    "opset=18.0": (with_flags(opset=18.0), TypeError),
    "opset='18'": (with_flags(opset="18"), TypeError),
    "opset of bytes": (with_flags(opset=b"latest"), TypeError),
    "opset of an array": (with_flags(opset=np.array([18, 18])), TypeError),
    "opset of a sly int": (with_flags(opset=Sly(10**9)), rk.OpsetError),
    "opset of a sly negative int": (with_flags(opset=Sly(-(10**9))), rk.OpsetError),
    "opset whose __index__ is text": (with_flags(opset=Index("18")), TypeError),
    # Out.
    "out of a list": (with_out(lambda: [[0.0] * 3]), TypeError),
    "out of a scalar": (with_out(lambda: np.float64(0)), TypeError),
    "out of a memoryview": (with_out(lambda: memoryview(np.zeros((1, 3)))), TypeError),
    "out with __array__": (with_out(lambda: Like(__array__=lambda: np.zeros((1, 3)))), TypeError),
    "out said to be an array": (with_out(
        lambda: Like(__class__=property(lambda self: np.ndarray))), TypeError),
    "out in a tuple": (with_out(lambda: (np.zeros((1, 3)),)), TypeError),
    "out of another rank": (with_out(lambda: np.zeros(3)), rk.ArgumentError),
    "out of rank 64": (with_out(lambda: np.zeros((1,) * 63 + (3,))), rk.ArgumentError),
    "out of another size": (with_out(lambda: np.zeros((1, 4))), rk.ArgumentError),
    "out of no size": (with_out(lambda: np.zeros((1, 0))), rk.ArgumentError),
    "out to be broadcast": (with_out(lambda: np.zeros((1, 1))), rk.ArgumentError),
    "out of another type": (with_out(lambda: np.zeros((1, 3), "f4")), rk.DTypeError),
    "out of another type of that size": (with_out(lambda: np.zeros((1, 3), "i8")), rk.DTypeError),
    "out of objects": (with_out(lambda: np.zeros((1, 3), object)), rk.DTypeError),
    "big-endian out": (with_out(lambda: np.zeros((1, 3), ">f8")), rk.DTypeError),
    "read-only out": (with_out(
        lambda: _flagged(np.zeros((1, 3)), writeable=False)), rk.ArgumentError),
    "out of bytes": (with_out(
        lambda: np.frombuffer(bytes(24)).reshape(1, 3)), rk.ArgumentError),
    "broadcast out": (with_out(
        lambda: np.broadcast_to(np.zeros((1, 1)), (1, 3))), rk.ArgumentError),
    "out that claims another shape": (with_out(
        lambda: np.zeros((1, 2)).view(lying(shape=(1, 3)))), rk.ArgumentError),
    "out that claims another type": (with_out(
        lambda: np.zeros((1, 3), "f4").view(lying(dtype=np.dtype("f8")))), rk.DTypeError),
    "out that claims to be writeable": (with_out(
        lambda: _flagged(np.zeros((1, 3)), writeable=False).view(
            lying(flags=types.SimpleNamespace(writeable=True, aligned=True)))), rk.ArgumentError),
}  # fmt: skip
REFUSED = {name: row for name, row in REFUSED.items() if row is not None}


def lying(**claims):
    return type(
        "Liar", (np.ndarray,), {key: property(lambda self, v=v: v) for key, v in claims.items()}
    )


@every_op
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, op):
    call, error = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        got = outcome(call, FUNCTIONS[op])
    assert type(got) is error, repr(got)
    assert str(got).startswith(f"reduce_{op}: "), str(got)
    assert len(str(got)) < 600


class Own(BaseException):
    """An error that nobody knows."""


PASSED_ON = {
    "KeyboardInterrupt in __array__": with_data(
        lambda: Like(__array__=raising(KeyboardInterrupt()))
    ),
    "SystemExit in __array__": with_data(lambda: Like(__array__=raising(SystemExit(3)))),
    "an own error in __array__": with_data(lambda: Like(__array__=raising(Own()))),
    "an own error in __dlpack__": with_data(
        lambda: Like(__dlpack__=raising(Own()), __dlpack_device__=lambda: (1, 0))
    ),
    "an own error in __index__": with_axes(lambda: [Index(0, raising(Own()))]),
    "KeyboardInterrupt in __index__": with_axes(lambda: Index(0, raising(KeyboardInterrupt()))),
    "an own error in __iter__": with_axes(lambda: Like(__iter__=raising(Own()))),
    "an own error in __next__": with_axes(lambda: map(raising(Own()), [0])),
    "an own error in the opset": with_flags(opset=Index(1, raising(Own()))),
}


@every_op
@pytest.mark.parametrize("name", PASSED_ON)
def test_errors_of_others_are_passed_on(name, op):
    with pytest.raises((KeyboardInterrupt, SystemExit, Own)):
        PASSED_ON[name](FUNCTIONS[op])
    assert_same(FUNCTIONS[op](DATA, [0]), REFERENCE[op](DATA, [0]))


def test_the_tables_are_large_enough():
    assert len(VIEWS) + len(LIKES) + len(REFUSED) + len(PASSED_ON) >= 250


# Out.


def overlapping_outs(base):
    """Every way for 12 elements to lie within those of `base`, of 10 x 12."""
    flat = base.reshape(-1)
    yield "first row", base[0]
    yield "last row", base[-1]
    yield "last row reversed", base[-1, ::-1]
    yield "partly in two rows", flat[7:19]
    yield "partly in two rows reversed", flat[18:6:-1]
    yield "every tenth", flat[::10]
    yield "every tenth reversed", flat[::-10]
    yield "a diagonal of windows", flat[3 : 3 + 12 * 9 : 9]
    yield "a column and more", np.ndarray((12,), base.dtype, base, 0, (9 * base.itemsize,))
    yield "off by a byte", np.ndarray((12,), base.dtype, base, 1)
    yield (
        "off by a byte, reversed",
        np.ndarray((12,), base.dtype, base, base.nbytes - base.itemsize - 1, (-base.itemsize,)),
    )


@every_op
@pytest.mark.parametrize("name", ["int8", "float16", "bfloat16", "float32", "float64", "int64"])
def test_out_overlaps(op, name):
    values = awkward(name, (10, 12), np.random.default_rng(91))
    exact = {"exact": True} if op == "sum" else {}
    with np.errstate(all="ignore"):
        for turn in (lambda d: d, lambda d: d[::-1], lambda d: d[:, ::-1], lambda d: d[::-1, ::-1]):
            want = REFERENCE[op](turn(values), [0], keepdims=False, strict=False)
            for number, (way, _) in enumerate(overlapping_outs(values)):
                base = values.copy()
                out = list(overlapping_outs(base))[number][1]
                got = FUNCTIONS[op](turn(base), [0], keepdims=False, strict=False, out=out, **exact)
                assert got is out
                assert_same(plain(out), want, (op, name, way))
            for lay in (np.copy, np.asfortranarray):
                base = turn(lay(values))
                FUNCTIONS[op](base, noop_with_empty_axes=True, strict=False, out=base[::-1])
                assert_same(plain(base[::-1]), plain(turn(values)))
        square = awkward(name, (11, 11), np.random.default_rng(92))
        base = square.copy()
        FUNCTIONS[op](base, noop_with_empty_axes=True, strict=False, out=base.T)
        assert_same(plain(base.T), square)


class Silent(np.ndarray):
    """Takes every call of NumPy's over, and does nothing."""

    def __array_function__(self, *args, **kwargs):
        return None

    def __array_ufunc__(self, *args, **kwargs):
        return None

    def __array_finalize__(self, other):
        if other is not None and type(other) is Silent:
            raise RuntimeError("no copies of me")


@every_op
def test_out_of_a_subclass_that_writes_nothing(op):
    for shape in ((1, 3), (3,)):
        out = np.zeros(shape).view(Silent)
        got = FUNCTIONS[op](DATA, [0], keepdims=len(shape) == 2, out=out)
        assert got is out
        assert np.ndarray.tolist(out) == REFERENCE[op](DATA, [0], keepdims=len(shape) == 2).tolist()
    data = DATA.view(Silent)
    assert_same(FUNCTIONS[op](data, noop_with_empty_axes=True), DATA)


@every_op
def test_out_whose_elements_are_one(op):
    """Any of the results may be the one that stays; nothing else is written."""
    around = np.full(9, 7.0)
    out = as_strided(around[4:], (1, 3), (0, 0))
    FUNCTIONS[op](DATA, [0], out=out)
    assert around[4] in REFERENCE[op](DATA, [0])
    assert np.delete(around, 4).tolist() == [7.0] * 8


# Sly numbers elsewhere.


def test_sly_ints_are_no_index():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for function in (rk.set_default_opset, lambda n: rk.opset(n).__enter__()):
            with pytest.raises(rk.OpsetError, match="is unknown"):
                function(Sly(10**6))
        with pytest.raises(rk.OpsetError):
            rk.Tensor(DATA, opset=Sly(10**6))
        before = rk.get_num_threads()
        with pytest.raises(rk.ArgumentError, match="set_num_threads: n=-7 is below 1"):
            rk.set_num_threads(Sly(-7))
        assert rk.get_num_threads() == before
        with pytest.raises(rk.ArgumentError, match="below 1"):
            rk.set_num_threads(-(10**5000))
        with pytest.raises(TypeError, match="set_num_threads"):
            rk.set_num_threads(Like())


def test_a_plan_for_elements_of_no_size():
    for itemsize in (0, -8):
        with pytest.raises(ValueError, match="itemsize"):
            describe((2, 3), (8, 4), itemsize, (0,))
    with pytest.raises(ValueError, match="rank 65"):
        describe((1,) * 65, (0,) * 65, 4, ())
    with pytest.raises(ValueError, match="1 strides for 2 axes"):
        describe((2, 3), (8,), 4, (0,))


def test_rules_for_an_operator_that_is_none():
    for op in (-1, 3, 10**6):
        with pytest.raises(IndexError, match="is none of 0 to 2"):
            _rules.resolve_call(op, 1, np.float32, None, True, False, None, True)


@every_op
def test_sizes_whose_product_overflows(op):
    """A result that no memory holds is refused with the error that NumPy raises for it."""
    huge = np.broadcast_to(np.zeros((), np.int8), (2**30, 2**30, 1))
    with pytest.raises((ValueError, MemoryError)):
        FUNCTIONS[op](huge, [2], strict=False)
    nothing = np.broadcast_to(np.zeros((0, 1), np.int8), (0, 2**60))
    if op != "sum":
        assert FUNCTIONS[op](nothing, [1], keepdims=False).shape == (0,)
    with pytest.raises((ValueError, MemoryError)):
        FUNCTIONS[op](nothing, [0], strict=False)


# Threads, processes, signals.


def mixed_calls(seconds):
    """32 threads on shared arrays while the default opset and the number of threads change."""
    rng = np.random.default_rng(93)
    rows = [awkward(name, (40, 50), rng) for name in NAMES if name != "bool"]
    large = rng.integers(-9, 9, (600, 1000)).astype(np.float32)
    calls, wants = [], []
    with np.errstate(all="ignore"):
        for data in [*rows, *(row[::-1, ::2] for row in rows), large, large.T]:
            for op, axes in itertools.product(OPS, [(0,), (1,), None]):
                calls.append((op, data, axes))
                wants.append(
                    FUNCTIONS[op](data, axes, strict=False) if data.size > 3000
                    else REFERENCE[op](data, axes, strict=False)
                )  # fmt: skip
    stop, failures, counts = threading.Event(), [], collections.Counter()

    def work(number):
        order = np.random.default_rng(number)
        while not stop.is_set():
            at = int(order.integers(len(calls)))
            op, data, axes = calls[at]
            try:
                got = (
                    FUNCTIONS[op](data, axes, strict=False, exact=True)
                    if op == "sum"
                    else (FUNCTIONS[op](data, axes, strict=False))
                )
                assert_same(got, wants[at], (op, data.dtype, axes))
            except BaseException as error:
                failures.append(error)
                return
            counts[number] += 1

    def meddle():
        for number in itertools.cycle([1, 18, 28, 11, "latest", 13]):
            if stop.is_set():
                return
            rk.set_default_opset(number)
            rk.set_num_threads(1 + (number if isinstance(number, int) else 2) % 4)
            with rk.opset(12):
                assert rk.get_default_opset() == 12
            time.sleep(0.0005)

    before = rk.get_num_threads()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(32)]
    threads.append(threading.Thread(target=meddle))
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join(60)
    rk.set_num_threads(before)
    assert not any(thread.is_alive() for thread in threads)
    assert not failures, failures[0]
    assert min(counts.values()) > 0
    return counts.total()


def test_mixed_calls_while_the_opset_changes():
    assert mixed_calls(1.5) > 500


@pytest.mark.slow
def test_mixed_calls_for_a_minute():
    assert mixed_calls(60) > 20_000


def test_data_written_while_it_is_reduced():
    """Any value may come out, of elements that were there; nothing else happens."""
    data = np.zeros((300, 1000), np.float32)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            data[...] = 1
            data[...] = -1

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(60):
        for axes in ([0], [1], None):
            assert set(np.unique(rk.reduce_max(data, axes))) <= {-1, 0, 1}
            assert np.abs(rk.reduce_sum(data, axes)).max() <= data.size
    stop.set()
    for thread in threads:
        thread.join()


FORK = """
import os, threading
import numpy as np
import reducekit as rk
rk.set_num_threads(4)
data = np.ones((3000, 1000), np.float32)
stop = threading.Event()
def forever():
    while not stop.is_set():
        assert rk.reduce_sum(data, keepdims=False) == 3_000_000
threads = [threading.Thread(target=forever) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(25):
    pid = os.fork()
    if pid == 0:
        for axes in ([0], [1], None):
            assert (rk.reduce_max(data, axes) == 1).all()
        assert rk.reduce_sum(data, keepdims=False) == 3_000_000
        rk.reduce_sum(np.ones(2_000_000), keepdims=False)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
stop.set()
for thread in threads: thread.join()
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this system")
def test_fork_while_threads_reduce():
    assert run(FORK) == "done"


POOL = """
import multiprocessing, sys
import numpy as np
import reducekit as rk
def work(seed):
    data = np.random.default_rng(seed).integers(-9, 9, (700, 900)).astype(np.float32)
    return float(rk.reduce_sum(data, keepdims=False)), rk.reduce_max(data, [0]).tobytes()
if __name__ == "__main__":
    rk.set_num_threads(3)
    want = [work(seed) for seed in range(6)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(work, range(6)) == want
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(method, tmp_path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    program = tmp_path / "program.py"
    program.write_text(POOL)
    command = [sys.executable, str(program), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.strip(), done.returncode) == ("done", 0), done.stderr


INTERRUPT = """
import signal, threading, time
import numpy as np
import reducekit as rk
data = np.broadcast_to(np.ones(1 << 12, np.float32), (1 << 14, 1 << 12))
for count in (1, 3):
    rk.set_num_threads(count)
    threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
    try:
        while True:
            rk.reduce_sum(data)
    except KeyboardInterrupt:
        pass
    assert rk.reduce_sum(data[:1000], keepdims=False) == 4096_000
print("done")
"""


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="no signals on this system")
def test_interrupted_between_reductions():
    """The library is as usable after a KeyboardInterrupt as before."""
    assert run(INTERRUPT) == "done"


STACK = """
import threading
import numpy as np
import reducekit as rk
threading.stack_size(256 * 1024)
data = np.random.default_rng(0).random((300, 300))
def work():
    for kind in ("f2", "f4", "f8", "i1", "i8", ">f8"):
        for f in (rk.reduce_max, rk.reduce_min, rk.reduce_sum):
            for axes in (0, 1, None):
                f(data.astype(kind), axes, strict=False)
                f(data.astype(kind)[::3, ::-2], axes, strict=False)
    print("done")
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_thread_with_little_stack():
    assert run(STACK) == "done"


INTERPRETER = """
import warnings
import numpy as np
import reducekit as rk
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
inside = '''
import warnings
warnings.simplefilter("ignore")
try:
    import reducekit
    print("imported")
except ImportError:
    print("refused", flush=True)
'''
for _ in range(2):
    other = interpreters.create()
    interpreters.run_string(other, inside)
    interpreters.destroy(other)
assert rk.reduce_max([3, 1], [np.int64(0)]) == 3
print("done")
"""


def test_other_interpreters_are_refused():
    """One interpreter of a process has the library; another is told so, and nothing breaks."""
    assert run(INTERPRETER).split() == ["refused", "refused", "done"]


# The search, in its short form.


@pytest.mark.parametrize("seed", range(4))
def test_search(seed):
    before = rk.get_num_threads()
    found = fuzz_engine.search(seed, cases=600)
    rk.set_num_threads(before)
    assert found.total() == 600
    assert len(found) > 12
    assert sum(count for key, count in found.items() if key.startswith("refused")) < 300


def test_the_guards_guard():
    """A read of one byte past the view, or before it, would end the process."""
    if sys.platform == "win32":
        pytest.skip("no mprotect on this system")
    for at_end, step, ends in ((True, 8, True), (False, -1, True), (True, 7, False)):
        code = (
            "import ctypes, fuzz_engine\n"
            f"place = fuzz_engine.DATA.place(8, {at_end})\n"
            "place[:] = 1\n"
            f"ctypes.string_at(place.ctypes.data + {step}, 1)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parent,
            capture_output=True,
            check=False,
        )
        # By a signal, or by a sanitizer that has caught it.
        assert (done.returncode != 0) == ends
