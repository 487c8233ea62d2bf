"""Prints a digest of the results of every function over fixed data; run by test_levels.

Run as a program, once for each CPU level and number of threads, which are chosen at import.
"""

import hashlib
import sys

import numpy as np
from arrays import FLOATS, LAYOUTS, NAMES, SHARING, awkward, in_no_cache, ordinary, subsets
from oracles import FUNCTIONS, never

import reducekit  # noqa: F401
from reducekit import _kernels
from reducekit._accumulator import partial_sums, round_sums

SHAPES = [
    (1,), (7,), (40,), (127,), (1025,), (70_001,), (3, 70), (70, 3), (65, 33), (129, 257),
    (4, 6, 33), (2, 3, 2, 5), (20_000, 2), (2, 20_000),
]  # fmt: skip
# Of a mebibyte and more in every type but the narrowest, so that threads share the work.
LARGE = [(700_001,), (2, 300_000), (300_000, 2), (1000, 600), (40, 50, 300)]


def corpus():
    """Arrays of every type, in a few layouts each, the same ones each time."""
    rng = np.random.default_rng(70)
    every = {**LAYOUTS, **SHARING}
    for name in NAMES:
        for number, shape in enumerate(SHAPES):
            large = np.prod(shape) > 10_000
            for values in (ordinary, awkward):
                data = values(name, shape, rng)
                if values is awkward and name in FLOATS and number % 2:
                    data = awkward(name, shape, rng, nan=True)
                for layout in ["C", *rng.permutation(sorted(every))[: 1 if large else 5]]:
                    yield name, layout, every[layout](data)
        for shape in LARGE:
            data = ordinary(name, shape, rng)
            yield name, "C", data
            yield name, "reversed", data[::-1]


def digests():
    """One digest for each op and type, so that a difference says where it is."""
    found = {}
    with np.errstate(all="ignore"):
        for name, _, data in corpus():
            for op, function in FUNCTIONS.items():
                if never(op, name):
                    continue
                digest = found.setdefault(f"{op} {name}", hashlib.sha256())
                for axes in subsets(data.ndim):
                    digest.update(function(data, axes, strict=False).tobytes())
                    if op == "sum":
                        digest.update(function(data, axes, strict=False, exact=True).tobytes())
                    if op == "sum" and name in FLOATS and axes:
                        parts = partial_sums(data, axes)
                        digest.update(round_sums(parts, name).tobytes())
        for name in NAMES:
            rng = np.random.default_rng(71)
            for data in (in_no_cache(name, rng), in_no_cache(name, rng, 2100, 64, mebibytes=48)):
                for op, function in FUNCTIONS.items():
                    if not never(op, name):
                        found[f"{op} {name}"].update(function(data, (0,), strict=False).tobytes())
    return found


if __name__ == "__main__":
    sys.stdout.write(f"level {_kernels.LEVEL}\n")
    for key, digest in digests().items():
        sys.stdout.write(f"{key} {digest.hexdigest()}\n")
