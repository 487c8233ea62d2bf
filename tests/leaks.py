"""Many calls of each public function, right and wrong ones: what stays in memory?

    python tests/leaks.py --calls 1000000

Each kind of call is made in two rounds. A leak is what grows in both: Python's memory blocks, bytes
of the C heap (where glibc counts them), and what tracemalloc sees. What grows once is a table that
was made larger.
"""

import argparse
import ctypes
import gc
import sys
import time
import tracemalloc
import warnings

import ml_dtypes
import numpy as np
from arrays import WithArray

import reducekit as rk
from reducekit import atb
from reducekit._accumulator import partial_sums
from reducekit.explain._plan import describe

FUNCTIONS = (rk.reduce_max, rk.reduce_min, rk.reduce_sum)
BLOCKS, BYTES = 50, 16 << 10  # growth that is no leak


class Raises:
    def __index__(self):
        raise RuntimeError("no index")

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array")


def refused(function, *args, **kwargs):
    """A call that must raise."""

    def call():
        try:
            function(*args, **kwargs)
        except Exception:
            return
        raise AssertionError(f"{function} raised nothing for {args} {kwargs}")

    return call


def made(function, *args, **kwargs):
    return lambda: function(*args, **kwargs)


def calls():
    """Name -> (call, share of the calls that are asked for)."""
    x = np.arange(12.0).reshape(3, 4)
    brain = x.astype(ml_dtypes.bfloat16)
    out = np.empty((3, 1))
    hard = np.array([1e300, 1, -1e300] * 3)
    large = np.ones((70, 2000), np.float32)
    right = {
        "": lambda f: f(x),
        "axes": lambda f: f(x, (0,), keepdims=False, opset=18),
        "list of axes": lambda f: f(x, [-1]),
        "array of axes": lambda f: f(x, np.array([0, 1])),
        "out": lambda f: f(x, 1, out=out),
        "out is data": lambda f: f(x, (), noop_with_empty_axes=True, out=x),
        "list": lambda f: f([[1.0, 2], [3, 4]]),
        "__array__": lambda f: f(WithArray(x)),
        "swapped": lambda f: f(x.astype(">f8"), 0),
        "noop": lambda f: f(x, (), noop_with_empty_axes=True),
        "140000 elements": lambda f: f(large, 0),
        "bfloat16": lambda f: f(brain, 0),
        "memoryview": lambda f: f(memoryview(x)),
        "repeats": lambda f: f(np.broadcast_to(x, (5000, 3, 4)), 0),
    }
    wrong = {
        "axis": lambda f: f(x, 7),
        "axis twice": lambda f: f(x, (0, 0)),
        "axes of a wrong type": lambda f: f(x, 1.5),
        "__index__ raises": lambda f: f(x, Raises()),
        "text": lambda f: f(np.array(["a"])),
        "__array__ raises": lambda f: f(Raises()),
        "object": lambda f: f(object()),
        "ragged": lambda f: f([[1], [2, 3]]),
        "opset": lambda f: f(x, opset=99),
        "flag": lambda f: f(x, keepdims=2),
        "out's dtype": lambda f: f(x, out=np.empty((1, 1), int)),
        "out's type": lambda f: f(x, out=[1]),
        "keyword": lambda f: f(x, nothing=1),
        "no argument": lambda f: f(),
        "noop of an old opset": lambda f: f(x, noop_with_empty_axes=True, opset=1),
        "bfloat16 of an old opset": lambda f: f(brain, opset=1),
    }
    every = {}
    for function in FUNCTIONS:
        for name, call in right.items():
            every[f"{function.__name__} {name}"] = made(call, function), 1 / len(right)
        for name, call in wrong.items():
            every[f"{function.__name__} wrong {name}"] = refused(call, function), 1 / len(wrong)
    tensor = rk.Tensor(x)
    operation = atb.ReduceOperation(atb.ReduceParam(3, [0]))

    def in_context():
        with rk.opset(13):
            rk.reduce_max(x)

    rest = {
        "reduce_sum exact": made(rk.reduce_sum, hard, exact=True),
        "reduce_sum wrong exact": refused(rk.reduce_sum, x, exact=3),
        "opset": in_context,
        "opset wrong": refused(lambda: rk.opset("x").__enter__()),
        "set_default_opset": lambda: (rk.set_default_opset(13), rk.set_default_opset("latest")),
        "set_default_opset wrong": refused(rk.set_default_opset, 99),
        "get_default_opset": rk.get_default_opset,
        "set_num_threads": lambda: rk.set_num_threads(rk.get_num_threads()),
        "set_num_threads wrong": refused(rk.set_num_threads, 0),
    }
    slow = {
        "Tensor": made(rk.Tensor, x, dims=("a", "b")),
        "Tensor wrong": refused(rk.Tensor, np.array(["a"])),
        "Tensor.reduce_max": made(tensor.reduce_max, 0),
        "Tensor.reduce_sum": made(tensor.reduce_sum),
        "Tensor.reduce_max wrong": refused(tensor.reduce_max, 9),
        "Tensor.describe": tensor.describe,
        "repr": made(repr, tensor),
        "_repr_html_": tensor._repr_html_,
        "explain": lambda: str(rk.explain("max", (2, 3), [0])),
        "explain wrong": refused(rk.explain, "max", (2, 3), [9]),
        "ReduceOperation": made(operation, x),
        "ReduceOperation wrong": refused(operation, np.array(["a"])),
        "ReduceParam": made(atb.ReduceParam.from_json, '{"reduceType": 1, "axis": [0]}'),
        "ReduceParam wrong": refused(atb.ReduceParam.from_json, '{"axis": [null]}'),
        "partial_sums": made(partial_sums, x, (0,)),
        "plan": made(describe, (2, 3, 4), (48, 16, 4), 4, (1, 2)),
        "plan wrong": refused(describe, (2, 3), (1,), 4, (0,)),
    }
    every.update({name: (call, 1) for name, call in rest.items()})
    every.update({name: (call, 1 / 20) for name, call in slow.items()})
    return every


class Info(ctypes.Structure):
    _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]


def heap():
    """Bytes that the C heap has given out, or 0 where nobody counts them."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return 0
    mallinfo.restype = Info
    return mallinfo().field7


def grown(call, count):
    """What stays after so many calls: blocks of Python, bytes of C."""
    gc.collect()
    blocks, size = sys.getallocatedblocks(), heap()
    for _ in range(count):
        call()
    gc.collect()
    return sys.getallocatedblocks() - blocks, heap() - size


def traced(call, count):
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(count):
        call()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1_000_000,
                        help="right ones of each reduction, and as many wrong ones")  # fmt: skip
    parser.add_argument("--only", default="", help="kinds of calls whose name begins so")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    every = {name: of for name, of in calls().items() if name.startswith(given.only)}
    total, leaks, worst = 0, [], (0, 0)
    for name, (call, share) in every.items():
        count = max(500, int(given.calls * share / 2))
        for _ in range(500):
            call()
        start = time.perf_counter()
        first, second = grown(call, count), grown(call, count)
        least = min(first[0], second[0]), min(first[1], second[1])
        worst = max(worst[0], least[0]), max(worst[1], least[1])
        total += 2 * count
        sys.stdout.write(f"{name:40} {2 * count:9,} calls {time.perf_counter() - start:6.1f} s, "
                         f"{least[0]} blocks, {least[1]} bytes\n")  # fmt: skip
        if least[0] > BLOCKS or least[1] > BYTES:
            leaks.append(name)
    tracemalloc.start()
    for name, (call, _) in every.items():
        traced(call, 200)
        # What Python's own free lists hold settles late; a leak shows in every round.
        if min(traced(call, 1000) for _ in range(4)) > 2000:
            leaks.append(f"{name} (tracemalloc)")
    sys.stdout.write(f"{total:,} calls of {len(every)} kinds; at most {worst[0]} blocks and "
                     f"{worst[1]} bytes stay; leaks: {', '.join(leaks) or 'none'}\n")  # fmt: skip
    sys.exit(bool(leaks))


if __name__ == "__main__":
    main()
