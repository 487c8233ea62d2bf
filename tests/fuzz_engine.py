"""Any view, any call, any out, against the reference: a search that runs as long as it is told.

    python tests/fuzz_engine.py --seconds 60            # from a seed of the clock
    python tests/fuzz_engine.py --seed 7 --case 1234    # one case again

A case is a string of bytes, read by `decode`; so a coverage-guided fuzzer can drive `attempt` too.
Data and out lie between pages that nobody may touch, up against the one or the other: a read or a
write of a single byte before the first or after the last element of a view ends the process, and
the parent says which case it was.
"""

import argparse
import collections
import ctypes
import itertools
import math
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from arrays import FLOATS, INTEGERS, NAMES, WithArray, WithDlpack, awkward, extremes, ordinary
from oracles import FUNCTIONS, OPS, REFERENCE, assert_same, outcome, slack_of_sums

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import by_name, element_type
from reducekit.explain._plan import describe

PAGE = mmap.PAGESIZE
ROOM = 2 << 20
WILD = [2**62, -(2**62), 2**63 - 1, -(2**63), 1, 0, -7]
SIZES = [2, 3, 2, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256,
         257, 511, 513, 1000, 1023, 1024, 1025, 2049, 4097, 9000]  # fmt: skip


class Guarded:
    """Memory with a page on either side that cannot be read, where the system knows how."""

    def __init__(self, room):
        self.map = mmap.mmap(-1, room + 2 * PAGE)
        self.bytes = np.frombuffer(self.map, np.uint8)
        self.room = room
        if os.name == "posix":
            mprotect = ctypes.CDLL(None, use_errno=True).mprotect
            mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            address = self.bytes.ctypes.data
            for page in (address, address + PAGE + room):
                if mprotect(page, PAGE, 0):
                    raise OSError(ctypes.get_errno(), "mprotect")

    def place(self, size, at_end):
        """`size` bytes, with nothing after the last or nothing before the first."""
        start = PAGE + self.room - size if at_end else PAGE
        return self.bytes[start : start + size]


class Source:
    """Decisions from bytes; when they run out, every answer is the first."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def below(self, count):
        width = max(1, ((count - 1).bit_length() + 7) // 8)
        part = self.data[self.at : self.at + width]
        self.at += width
        return int.from_bytes(part, "little") % count

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def of(self, options):
        return options[self.below(len(options))]

    def chance(self, percent):
        return 255 - percent * 2.56 < self.below(256)


class Subclass(np.ndarray):
    """A subclass whose stories must not be believed."""

    dtype = shape = property(lambda self: 1 / 0)  # type: ignore[assignment]

    def __array_function__(self, *args, **kwargs):
        raise AssertionError("the subclass was asked")


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __repr__(self):
        return f"Index({self.value})"


@dataclass
class Case:
    """A call. Axes are made by a function, for an iterator can be read only once."""

    op: str
    data: Any
    view: np.ndarray
    base: np.ndarray
    axes: Any
    kwargs: dict
    exact: Any
    notes: dict = field(default_factory=dict)
    out: Any = None

    def __str__(self):
        axes = self.axes()
        axes = type(axes).__name__ if hasattr(axes, "__next__") else repr(axes)
        lines = [
            (
                f"reduce_{self.op} of {self.view.dtype!r} {self.view.shape} "
                f"strides {self.view.strides} at byte "
                f"{self.view.ctypes.data - self.base.ctypes.data} "
                f"of {self.base.size}, address % 64 = {self.view.ctypes.data % 64}"
            ),
            f"axes={axes} {self.kwargs} exact={self.exact}",
            f"{self.notes}",
        ]
        if self.out is not None:
            plain = np.asarray(self.out)
            lines.append(f"out {plain.dtype} {plain.shape} strides {plain.strides}")
        return "\n".join(lines)


DATA, OUT = Guarded(ROOM), Guarded(ROOM)


def shape_of(s, budget):
    rank = s.of([1, 2, 2, 2, 3, 3, 4, 0, 5, 6, 8, 13, 33, 64])
    shape = []
    for _ in range(rank):
        if s.chance(2):
            size = 0
        elif s.chance(80 if rank > 8 else 15):
            size = 1
        else:
            size = min(s.of(SIZES[: s.of([3, 12, 33])]), budget)
        shape.append(size)
        budget = max(1, budget // max(size, 1))
    if s.chance(50):
        shape.reverse()
    return tuple(shape)


def strides_of(s, shape, itemsize, overlap=True):
    """Strides of any kind whose view fits, the offset of its first element, and its extent."""
    order = list(range(len(shape)))
    if s.chance(40):
        random.Random(s.below(1 << 16)).shuffle(order)
    style = s.of(["packed", "packed", "gaps", "mixed", "mixed"])
    odd = s.chance(7)
    strides = [0] * len(shape)
    low, high = 0, itemsize
    for axis in reversed(order):
        size = shape[axis]
        if size <= 1:
            strides[axis] = s.of(WILD) if s.chance(60) else itemsize
            continue
        stride = high - low
        kind = "packed" if style == "packed" else s.of(["packed", "gaps"])
        if style == "mixed" and overlap:
            kind = s.of(["packed", "gaps", "zero", "small", "packed"])
        if kind == "gaps":
            stride = stride * s.of([1, 1, 2, 3]) + itemsize * s.below(9)
        elif kind == "small":
            stride = itemsize * s.below(40)
        elif kind == "zero":
            stride = 0
        if odd:
            stride += s.below(5)
        if stride * (size - 1) + high - low > ROOM - 64:
            if not overlap:
                return None
            stride = 0
        if s.chance(20):
            stride = -stride
        strides[axis] = stride
        low += min(0, stride * (size - 1))
        high += max(0, stride * (size - 1))
    if 0 in shape:
        return strides, 0, 0
    return strides, -low, high - low


def fill(s, base, offset, dtype, name):
    """Elements, in phase with the first one; between them lies more of the same, or noise."""
    rng = np.random.default_rng(s.below(1 << 32))
    kind = s.of(["awkward", "ordinary", "bytes", "cancel", "nan", "few", "huge", "zeros"])
    count = base.size // dtype.itemsize + 2
    with np.errstate(all="ignore"):
        if kind == "bytes":
            base[:] = rng.integers(0, 256, base.size, np.uint8)
            return kind
        if name not in FLOATS or kind == "ordinary":
            values = (ordinary if kind == "ordinary" else awkward)(name, count, rng)
        elif kind == "nan":
            values = awkward(name, count, rng, nan=True)
        elif kind == "cancel":
            values = rng.standard_normal(count) * 2.0 ** rng.integers(-30, 30, count)
            values = rng.permutation(np.concatenate([values[::2], -values[1::2]]))
        elif kind == "huge":
            values = rng.choice(np.nan_to_num(np.abs(extremes(name).astype(float))), count)
            values = values * rng.choice([1, -1, 0.5], count)
        elif kind == "few":
            values = np.where(rng.random(count) < 0.01, rng.choice(extremes(name), count), 1)
        elif kind == "zeros":
            values = rng.choice([0.0, -0.0, -0.0, -0.0], count)
        else:
            values = awkward(name, count, rng)
        raw = np.ascontiguousarray(np.asarray(values).astype(dtype)).view(np.uint8)
    start = -offset % dtype.itemsize
    base[:] = raw[start : start + base.size]
    return kind


def axes_of(s, rank):
    kind = s.of(["some", "some", "some", "none", "one", "array", "range", "iterator", "wrong"])
    every = random.Random(s.below(1 << 16)).sample(range(rank), rank)
    some = [a - rank if s.chance(25) else a for a in every[: s.below(rank + 1)]]
    if kind == "none":
        return lambda: None
    if kind == "one":
        one = s.of([0, -1, rank - 1, rank, -rank - 1])
        return s.of([lambda: one, lambda: np.int16(one), lambda: Index(one), lambda: np.array(one)])
    if kind == "array":
        code = s.of("bhilq")
        return s.of([lambda: np.array(some, code), lambda: np.array(some, code)[::-1]])
    if kind == "range":
        return lambda: range(len(some))
    if kind == "iterator":
        return s.of([lambda: iter(some), lambda: (a for a in some), lambda: {*some},
                     lambda: collections.deque(some)])  # fmt: skip
    if kind == "wrong":
        bad = s.of([rank, -rank - 1, 2**63, -(2**63) - 1, 2**200, True, 1.0, None, "0", "",
                    b"\0", [], [0], np.bool_(False), np.float32(0), object(), 1j, {}])  # fmt: skip
        return s.of([lambda: bad, lambda: [bad], lambda: [*some, bad], lambda: [*some, *some[:1]],
                     lambda: (*some, 0, 0), lambda: np.zeros((2, 2), int)])  # fmt: skip
    return s.of([lambda: some, lambda: tuple(some), lambda: list(map(np.int64, some)),
                 lambda: list(map(Index, some))])  # fmt: skip


def kwargs_of(s):
    kwargs = {}
    if s.chance(70):
        kwargs["keepdims"] = s.of([True, False, 1, 0, np.True_, np.int8(0)])
    if s.chance(50):
        kwargs["opset"] = s.of([*range(1, schema.NEWEST_OPSET + 1), "latest", np.int32(18)])
    if s.chance(20):
        kwargs["noop_with_empty_axes"] = s.of([True, False, 1])
    kwargs["strict"] = not s.chance(85)
    if s.chance(3):
        name = s.of(["keepdims", "opset", "noop_with_empty_axes", "strict"])
        kwargs[name] = s.of([2, -1, None, "True", 1.0, 0.0, [], np.array([1, 0]), 29, 0, 2**70,
                             -(2**70), float("nan"), object(), b"1", Index(1)])  # fmt: skip
    return kwargs


def view_of(s, guarded, shape, dtype, overlap=True):
    laid = strides_of(s, shape, dtype.itemsize, overlap)
    if laid is None:
        return None
    strides, offset, extent = laid
    base = guarded.place(extent, s.chance(60))
    return base, offset, np.ndarray(shape, dtype, base, offset if extent else 0, strides)


def decode(data):
    """The case that some bytes mean. It lies in DATA until the next one is decoded."""
    s = Source(data)
    op, name = s.of(OPS), s.of([*NAMES, *FLOATS])
    dtype = by_name(name).numpy_dtype
    if s.chance(12):
        dtype = dtype.newbyteorder("S")
    elif name in INTEGERS and s.chance(10):
        dtype = np.dtype(s.of([c for c in "bhilqBHILQ" if np.dtype(c) == dtype]))
    elif name != "bfloat16" and s.chance(3):
        dtype = np.dtype(dtype, metadata={"unit": "m"})
    size = s.below(1000)
    budget = 300 if size < 800 else 3000 if size < 985 else 40_000 if size < 997 else 600_000
    base, offset, view = view_of(s, DATA, shape_of(s, budget), dtype)
    notes = {"values": fill(s, base, offset, dtype, name)}
    if s.chance(20):
        view.flags.writeable = False
    if s.chance(4):
        view.flags.aligned = False
    data = view
    wrap = s.of(["plain"] * 9 + ["subclass", "array", "dlpack"])
    multiples = all(stride % dtype.itemsize == 0 for stride in view.strides)
    if wrap == "subclass":
        data = view.view(Subclass)
    elif wrap == "array":
        data = WithArray(view)
    elif wrap == "dlpack" and multiples and dtype.isnative and name != "bfloat16":
        data = WithDlpack(view)
    notes["as"] = wrap
    case = Case(op, data, view, base, axes_of(s, view.ndim), kwargs_of(s), s.chance(50), notes)
    notes["out"] = s.of(["none"] * 5 + ["fits", "fits", "overlaps", "overlaps", "wrong"])
    return case, s


def out_of(s, case, want):
    """An array for the result; None where there is none of the sort that the case wants."""
    kind = case.notes["out"]
    if kind == "none":
        return None
    shape = want.shape if isinstance(want, np.ndarray) else (1,)
    dtype = element_type(case.view.dtype)
    dtype = np.dtype(np.float32) if dtype is None else dtype.numpy_dtype
    if kind == "wrong":
        return s.of([np.zeros((2, *shape[:63]), dtype), np.zeros(shape[1:], dtype),
                     np.zeros(shape, "c8"), np.broadcast_to(np.zeros((), dtype), shape), [0],
                     np.zeros(shape, "V4"), np.zeros(shape, "O"), np.zeros(shape, ">u2"),
                     memoryview(b"123"), "out", 1, np.float32(0)])  # fmt: skip
    if kind == "fits":
        laid = view_of(s, OUT, shape, dtype, overlap=False)
        if laid is None:
            return None
        laid[0][:] = s.below(256)
        out = laid[2]
    else:
        laid = strides_of(s, shape, dtype.itemsize, overlap=False)
        if laid is None or laid[2] > case.base.size:
            return None
        start = s.below(case.base.size - laid[2] + 1)
        if s.chance(60):
            start -= start % dtype.itemsize
        out = np.ndarray(shape, dtype, case.base, start + laid[1] if laid[2] else 0, laid[0])
    return out.view(Subclass) if s.chance(10) else out


def slack_for(case, plain, want):
    if case.op != "sum" or case.exact or plain.dtype != np.float64 or isinstance(want, Exception):
        return None
    if case.kwargs.get("noop_with_empty_axes") and want.shape == plain.shape:
        axes = ()
    else:
        axes = case.axes()
        axes = (
            tuple(range(plain.ndim))
            if axes is None
            else tuple(np.atleast_1d(np.array(list(axes) if np.iterable(axes) else axes, object)))
        )
        axes = tuple(int(a.__index__()) for a in axes) or tuple(range(plain.ndim))
    with np.errstate(all="ignore"):
        return slack_of_sums(plain, axes).reshape(want.shape)


def attempt(data):
    """Decode and run one case; AssertionError says what is wrong."""
    case, s = decode(data)
    try:
        return run(case, s)
    except Exception as error:
        raise AssertionError(f"{error}\n{case}") from error


def surroundings(out):
    """The memory of an array in OUT, with a few pages on either side."""
    low, high = (
        edge - OUT.bytes.ctypes.data for edge in np.lib.array_utils.byte_bounds(np.asarray(out))
    )
    return OUT.bytes[max(PAGE, low - 2 * PAGE) : min(OUT.bytes.size - PAGE, high + 2 * PAGE)]


def run(case, s):
    plain = np.array(case.view, dtype=case.view.dtype.newbyteorder("="), order="C", subok=False)
    with np.errstate(all="ignore"):
        want = outcome(REFERENCE[case.op], plain, case.axes(), **case.kwargs)
    case.out = out = out_of(s, case, want)
    kwargs = dict(case.kwargs)
    if case.op == "sum":
        kwargs["exact"] = case.exact
    if out is not None:
        kwargs["out"] = out
    about = (case.view.shape, case.view.strides, case.view.dtype, str(case.view.flags))
    around = surroundings(out) if case.notes["out"] == "fits" and out is not None else b""
    around = np.frombuffer(around, np.uint8)
    memory = case.base.tobytes(), around.tobytes()
    with np.errstate(all="raise"):
        got = outcome(FUNCTIONS[case.op], case.data, case.axes(), **kwargs)

    def unchanged():
        assert case.base.tobytes() == memory[0], "the memory of the data has changed"
        assert around.tobytes() == memory[1], "the memory of out has changed"

    assert about == (case.view.shape, case.view.strides, case.view.dtype, str(case.view.flags))
    if isinstance(want, Exception):
        unchanged()
        assert_same(got, want)
        return "refused"
    slack = slack_for(case, plain, want)
    if case.out is None:
        unchanged()
        assert_same(got, want, slack=slack)
        assert got.flags.c_contiguous and got.flags.writeable and got.flags.owndata
        return form_of(case)
    if case.notes["out"] == "wrong":
        unchanged()
        if isinstance(got, Exception):
            assert isinstance(got, (rk.ReduceError, TypeError)), f"{got!r}"
            assert str(got).startswith(f"reduce_{case.op}: out "), f"{got!r}"
            return "out refused"
        assert type(out) is np.ndarray
    assert got is out, f"{got!r}"
    there = np.asarray(out)
    assert_same(np.array(there, order="C"), want, "out", slack)
    # What lies between its elements and around it is as before.
    if case.notes["out"] != "wrong":
        overlaps = case.notes["out"] == "overlaps"
        buffer, before = (case.base, memory[0]) if overlaps else (around, memory[1])
        expected = np.frombuffer(bytearray(before), np.uint8)
        if there.size:
            offset = there.ctypes.data - buffer.ctypes.data
            np.ndarray(there.shape, there.dtype, expected, offset, there.strides)[...] = there
        assert buffer.tobytes() == expected.tobytes(), "memory around out has changed"
    if case.notes["out"] != "overlaps":
        assert case.base.tobytes() == memory[0], "the memory of the data has changed"
    return f"{form_of(case)} into {case.notes['out']}"


def form_of(case):
    """What the plan makes of the call, for the statistics."""
    view, axes = case.view, case.axes()
    rank = view.ndim
    axes = (
        [] if axes is None else np.atleast_1d(np.array(list(axes) if np.iterable(axes) else axes))
    )
    reduced = [int(a.__index__()) % rank for a in axes] if rank else []
    plan = describe(
        view.shape, view.strides, view.itemsize, reduced or range(rank), case.op != "sum"
    )
    size = "large " if plan.outputs * plan.terms * view.itemsize >= 1 << 20 else ""
    awkward = "" if view.flags.aligned and view.dtype.isnative else "awkward "
    return f"{size}{awkward}{plan.form}"


def bytes_of(seed, number):
    return random.Random(f"{seed} {number}").randbytes(600)


def search(seed, seconds=math.inf, cases=None, start=0, report=None):
    """Run cases in order; how often each outcome came."""
    found = collections.Counter()
    end = time.monotonic() + seconds
    for number in itertools.count(start) if cases is None else range(start, start + cases):
        if report is not None:
            os.pwrite(report, struct.pack("<q", number), 0)
        if number % 50 == 0:
            rk.set_num_threads(1 + number // 50 % 3)
            if time.monotonic() > end:
                break
        try:
            found[attempt(bytes_of(seed, number))] += 1
        except AssertionError as error:
            raise AssertionError(f"seed {seed} case {number}\n{error}") from error
    return found


def main():
    """Search in a child process, for a read beyond a guard ends it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--case", type=int, help="run this one case of the seed alone")
    parser.add_argument("--report", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        case, _ = decode(bytes_of(options.seed, options.case))
        sys.stdout.write(f"{case}\n")
        sys.stdout.flush()
        sys.stdout.write(f"{attempt(bytes_of(options.seed, options.case))}\n")
        return
    if options.report is not None:
        found = search(options.seed, options.seconds, report=options.report)
        for key, count in sorted(found.items()):
            sys.stdout.write(f"{count:9,} {key}\n")
        sys.stdout.write(f"{found.total():9,} inputs, 0 findings; seed {options.seed}\n")
        return
    with tempfile.TemporaryFile() as report:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", __file__, "--seconds", str(options.seconds),
             "--seed", str(options.seed), "--report", str(report.fileno())],
            pass_fds=[report.fileno()],
            check=False,
        )  # fmt: skip
        if done.returncode:
            number = struct.unpack("<q", os.pread(report.fileno(), 8, 0))[0]
            sys.exit(f"ended with {done.returncode} at --seed {options.seed} --case {number}")


if __name__ == "__main__":
    main()
