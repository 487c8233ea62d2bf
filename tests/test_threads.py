"""Threads: the same bits for every number of them, and nothing that hangs."""

import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from arrays import FLOATS, NAMES, awkward, ordinary, subsets
from interpreter import fresh
from oracles import FUNCTIONS, OPS, REFERENCE, assert_same

import reducekit as rk

COUNTS = [1, 2, 5]
# Of several mebibytes, so that work is shared: by outputs, by slices of one output, by both.
SHAPES = [
    (1_200_001,), (2, 600_000), (600_000, 2), (1100, 1000), (90, 100, 128), (3, 5, 70_000),
    (200, 2600),        # one tile, of runs too short to be cut
]  # fmt: skip


@pytest.fixture(autouse=True)
def _threads_restored():
    before = rk.get_num_threads()
    yield
    rk.set_num_threads(before)


def views(data, rng):
    odd = data.copy()
    some = rng.integers(0, data.size, 50)
    odd.reshape(-1)[some] = awkward(data.dtype.name, 50, rng, nan=True)
    yield odd
    yield data
    yield data[::-1]
    yield np.asfortranarray(data)
    if data.ndim > 1:
        yield data[:, ::2]


@pytest.mark.parametrize("name", NAMES)
def test_bits_do_not_depend_on_the_number(name):
    rng = np.random.default_rng(80)
    for shape in SHAPES[NAMES.index(name) % 2 :: 2] if name not in FLOATS else SHAPES:
        data = ordinary(name, shape, rng)
        for view in views(data, rng):
            for axes in subsets(data.ndim):
                for op in OPS if name != "bool" else ("max", "min"):
                    results = set()
                    for count in COUNTS:
                        rk.set_num_threads(count)
                        results.add(FUNCTIONS[op](view, axes, strict=False).tobytes())
                    assert len(results) == 1, (op, shape, axes)


@pytest.mark.parametrize("name", FLOATS)
def test_shared_sums_are_right(name):
    """Against fsum, whatever the number: exact ones to the bit, others as near as always."""
    rng = np.random.default_rng(81)
    for shape, axes in [((1_200_001,), [0]), ((4, 300_000), [1]), ((300_000, 4), [0])]:
        data = ordinary(name, shape, rng)
        lines = np.moveaxis(data.astype(np.float64), axes[0], -1).reshape(-1, data.shape[axes[0]])
        sums = np.array([math.fsum(line) for line in lines])
        for count in COUNTS:
            rk.set_num_threads(count)
            got = FUNCTIONS["sum"](data, axes, keepdims=False, exact=True)
            # fsum has rounded once to double; in the narrow types that is far from a tie.
            assert_same(got.reshape(-1), sums.astype(data.dtype), (name, shape, count))
            near = FUNCTIONS["sum"](data, axes, keepdims=False).reshape(-1).astype(np.float64)
            unit = np.spacing(np.abs(got).reshape(-1)).astype(np.float64)
            assert (np.abs(near - sums) <= unit).all()


def test_nan_in_any_share_is_found():
    data = np.ones(1_200_001, np.float32)
    for position in np.random.default_rng(82).integers(0, data.size, 60):
        data[position] = np.nan
        for op in OPS:
            for count in (1, 3):
                rk.set_num_threads(count)
                assert np.isnan(FUNCTIONS[op](data, keepdims=False)), (op, position)
        data[position] = 1
    assert not any(np.isnan(FUNCTIONS[op](data, keepdims=False)) for op in OPS)


def test_many_callers_at_once():
    """One caller has the team, and others work alone: the results are the same."""
    rng = np.random.default_rng(83)
    data = rng.integers(-9, 9, (1100, 600)).astype(np.float32)
    want = {(op, axes): REFERENCE[op](data, axes) for op in OPS for axes in [(0,), (1,), (0, 1)]}
    found = []

    def work():
        for _ in range(10):
            found.extend((key, FUNCTIONS[key[0]](data, key[1])) for key in want)

    rk.set_num_threads(4)
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for count in (1, 2, 4, 3) * 20:  # changed while others reduce
        rk.set_num_threads(count)
        FUNCTIONS["max"](data)
    for thread in threads:
        thread.join()
    assert len(found) == 6 * 10 * len(want)
    for key, got in found:
        assert_same(got, want[key], key)


def test_the_number_can_be_set_and_read():
    rk.set_num_threads(3)
    assert rk.get_num_threads() == 3
    rk.set_num_threads(np.int64(2))
    assert rk.get_num_threads() == 2
    rk.set_num_threads(10**6)
    assert 3 <= rk.get_num_threads() < 10**6
    rk.set_num_threads(1)
    for wrong, error in [(0, rk.ArgumentError), (-1, ValueError), (2.0, TypeError),
                         (None, TypeError), (True, TypeError), ("2", TypeError)]:  # fmt: skip
        with pytest.raises(error, match="set_num_threads: n="):
            rk.set_num_threads(wrong)
    assert rk.get_num_threads() == 1


def run(code, **environment):
    # Python warns of a fork beside threads, which is what is tried here.
    return fresh(code, "-W", "ignore::DeprecationWarning", **environment)


@pytest.mark.parametrize(
    ("value", "count"), [("1", 1), ("3", 3), ("5,2", 5), ("0", None), ("many", None), ("", None)]
)
def test_the_environment_has_a_say(value, count):
    said = run("import reducekit; print(reducekit.get_num_threads())", OMP_NUM_THREADS=value)
    if count is None:
        affinity = getattr(os, "sched_getaffinity", None)
        count = len(affinity(0)) if affinity else os.cpu_count()
    assert int(said) == count


LARGE_SUM = """
import os, sys
import numpy as np
import reducekit as rk
rk.set_num_threads(4)
data = np.ones((2000, 1000), np.float32)
def reduce():
    assert rk.reduce_sum(data, keepdims=False) == 2_000_000
    assert (rk.reduce_max(data, [0]) == 1).all()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_reduces_too():
    """Of a parent that has a team, again and again, and in a child of the child."""
    code = (
        LARGE_SUM
        + """
def child(depth):
    reduce()
    if depth:
        pid = os.fork()
        if pid == 0:
            child(depth - 1)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    reduce()
for _ in range(10):
    child(2)
print("done")
"""
    )
    assert run(code) == "done"


def test_a_process_ends_while_its_team_rests():
    assert run(LARGE_SUM + "reduce(); print('done')") == "done"
    assert (
        run(LARGE_SUM + "reduce(); import time; time.sleep(0.2); reduce(); print('done')") == "done"
    )


def test_a_process_ends_while_a_daemon_thread_reduces():
    code = (
        LARGE_SUM
        + """
import threading
def forever():
    while True:
        reduce()
threading.Thread(target=forever, daemon=True).start()
reduce()
print("done")
"""
    )
    assert run(code) == "done"


def test_threadpoolctl_limits_the_threads_after_somebody_has_asked_where_it_is():
    pytest.importorskip("threadpoolctl")
    code = """
import importlib.util, sys
import reducekit
reducekit.set_num_threads(4)
assert importlib.util.find_spec("threadpoolctl") is not None
assert importlib.util.find_spec("threadpoolctl") is not None
import threadpoolctl
with threadpoolctl.threadpool_limits(1, user_api="reducekit"):
    assert reducekit.get_num_threads() == 1
assert reducekit.get_num_threads() == 4
assert not [finder for finder in sys.meta_path if "reducekit" in type(finder).__module__]
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("first", ["reducekit", "threadpoolctl"])
def test_threadpoolctl_limits_the_threads(first):
    """Whichever is imported first, and without one importing the other."""
    pytest.importorskip("threadpoolctl")
    second = {"reducekit": "threadpoolctl", "threadpoolctl": "reducekit"}[first]
    program = f"""
import sys, {first}
assert {second!r} not in sys.modules
import reducekit, threadpoolctl
reducekit.set_num_threads(3)
for api, inside in ((None, 1), ("reducekit", 1), ("blas", 3)):
    with threadpoolctl.threadpool_limits(1, user_api=api):
        print(reducekit.get_num_threads(), inside)
print(reducekit.get_num_threads(), 3)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["1 1", "1 1", "3 3", "3 3", ""]
