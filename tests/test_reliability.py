"""Load and faults: small stacks, signals, no memory, no threads, many callers, forks."""

import fractions
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from arrays import FLOATS, INTEGERS, NAMES, awkward, ordinary
from numpy.lib.stride_tricks import as_strided
from oracles import FUNCTIONS, OPS, check, outcome
from test_threads import run

import reducekit as rk
from reducekit.explain._plan import describe


@pytest.fixture(autouse=True)
def _threads_restored():
    before = rk.get_num_threads()
    yield
    rk.set_num_threads(before)


posix = pytest.mark.skipif(os.name != "posix", reason="the system has no signals of this kind")
linux = pytest.mark.skipif(sys.platform != "linux", reason="it counts what glibc knows")


# In the child of a thread's stack, in KiB: any fault ends the process.
SMALL_STACK = """
import sys, threading
import ml_dtypes, numpy as np
import reducekit as rk
rng = np.random.default_rng(0)
rk.set_num_threads(THREADS)  # their stacks are as small
done = []

def work():
    for dtype in ("f4", "f8", "f2", "i1", "i2", "i4", "i8", ml_dtypes.bfloat16):
        powers = 2.0 ** rng.integers(-3, 4 if np.dtype(dtype).kind == "i" else 9, SHAPE)
        x = (rng.standard_normal(SHAPE) * powers).astype(dtype)
        for view in (x, x.T, x[::-1, ::2], x[:, ::7], x[:, :3], x[:1].repeat(50, 0),
                     x.astype(x.dtype.newbyteorder())):
            for op in (rk.reduce_max, rk.reduce_min, rk.reduce_sum):
                for axes in (0, 1, None):
                    op(view, axes, strict=False)
        rk.reduce_sum(x, exact=True, strict=False)
    done.append(True)

threading.stack_size(64 << 10)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(len(done))
"""


@posix
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", ["(3, 5)", "(700, 1200)"])
def test_a_thread_with_a_stack_of_64_kib(shape, threads):
    program = SMALL_STACK.replace("SHAPE", shape).replace("THREADS", str(threads))
    assert run(program) == "1"


def repeated(values, *repeats):
    """A view in which axes of these sizes, first and last, stand still."""
    shape = (repeats[0], *values.shape, *repeats[1:])
    return as_strided(values, shape, (0, *values.strides, *[0] * (len(repeats) - 1)))


@pytest.mark.parametrize("name", FLOATS)
def test_sums_of_many_repeats_are_rounded_once(name):
    rng = np.random.default_rng(91)
    dtype = np.dtype(name)
    for count in [4095, 4096, 4097, 2**31 - 1, 2**31 + 1, 2**32 + 12345, 3**30]:
        for size in (1, 2, 7):
            with np.errstate(all="ignore"):
                values = rng.standard_normal(size) * 2.0 ** rng.integers(-60, 0, size)
                values = values.astype(dtype)
            got = float(rk.reduce_sum(repeated(values, count), exact=True, keepdims=False))
            true = sum(fractions.Fraction(float(x)) for x in values) * count
            if not np.isfinite(got):
                assert abs(true) > float(ml_dtypes.finfo(dtype).max)
                continue
            error = abs(true - fractions.Fraction(got))
            for way in (np.inf, -np.inf):
                other = np.nextafter(dtype.type(got), dtype.type(way))
                if np.isfinite(other):
                    assert error <= abs(true - fractions.Fraction(float(other))), (count, values)


def test_repeats_of_special_values():
    many = 2**40
    for values, want in [
        ([np.inf, 1.0], np.inf),
        ([-np.inf, 1.0], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([np.nan, 1.0], np.nan),
        ([-0.0, -0.0], -0.0),
        ([-0.0, 0.0], 0.0),
        ([1e308, 1e308], np.inf),
        ([-1e308], -np.inf),
        ([5e-324], 5e-324 * many),
        ([1.0, -1.0], 0.0),
    ]:
        got = rk.reduce_sum(repeated(np.array(values), many), keepdims=False)
        assert got.tobytes() == np.float64(want).tobytes() or (np.isnan(got) and np.isnan(want))


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_sums_of_many_repeats_wrap(name):
    values = awkward(name, (5, 3), np.random.default_rng(92))
    view = as_strided(values, (5, 9973, 3), (values.strides[0], 0, values.itemsize))
    for axes in (1, (0, 1), (1, 2), None):
        want = np.add.reduce(view, axes, dtype=name)
        got = rk.reduce_sum(view, axes, strict=False, keepdims=False)
        assert got.dtype == want.dtype
        assert (got == want).all()
        out = np.zeros((*want.shape, 2), name)
        rk.reduce_sum(view, axes, strict=False, keepdims=False, out=out[..., 1])
        assert (out[..., 1] == want).all()
        assert (out[..., 0] == 0).all()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ["float32", "float16", "int32", "int8"])
def test_few_and_many_repeats_agree_with_a_copy(op, name):
    """On either side of the number from which they are folded in once."""
    values = awkward(name, (3, 4), np.random.default_rng(93))
    for view in (
        np.broadcast_to(values, (4095, 3, 4)),
        np.broadcast_to(values[:, None], (3, 4096, 4)),
        np.broadcast_to(values[::-1, None, ::2, None], (3, 70, 2, 70)),
        np.broadcast_to(values.astype(values.dtype.newbyteorder())[:, None], (3, 5000, 4)),
    ):
        for axes in ([0], [1], [0, 1], [1, -1], None):
            check(op, view, axes, strict=False)


def test_more_repeats_than_time_would_allow():
    """2^59 elements and more: nothing that counts them could return."""
    assert rk.reduce_sum(np.broadcast_to(np.float64(0.1), (2**20, 2**39)), keepdims=False) == (
        0.1 * 2.0**59
    )
    assert rk.reduce_max(np.broadcast_to(np.int8(7), (2**31, 2**31)), keepdims=False) == 7
    view = np.broadcast_to(np.arange(1, 1001, dtype=np.float32)[:, None], (1000, 2**40))
    assert (rk.reduce_sum(view, 1, keepdims=False) == view[:, 0] * np.float32(2**40)).all()


def test_the_plan_of_more_than_memory_can_hold_is_refused():
    for shape in [(2**31, 2**31, 2), (2**40, 0, 2**40), (2**62,)]:
        with pytest.raises(ValueError, match="describe: no array has so many elements"):
            describe(shape, [0] * len(shape), 4, [0])


INTERRUPT = """
import itertools, os, signal, sys, threading, time
import ml_dtypes, numpy as np
from numpy.lib.stride_tricks import as_strided
import reducekit as rk
rk.set_num_threads(THREADS)
rng = np.random.default_rng(0)

def stop(function, *args, **kwargs):
    out = []
    def strike():
        out.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(0.2, strike).start()
    try:
        function(*args, **kwargs)
    except KeyboardInterrupt:
        late = time.monotonic() - out[0]
        assert late < LIMIT, late
        assert (rk.reduce_sum(np.ones((3, 400_000), "f4"), 1) == 400_000).all()
        return
    sys.exit("it was not stopped")

values = rng.standard_normal(1 << 21) * 2.0 ** rng.integers(-8, 8, 1 << 21)
for dtype in ("f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "i8"):
    x = values.astype(dtype)
    s, n = x.itemsize, 2**20
    for view, axes in [
        (as_strided(x, (n, n), (s, s)), None),                       # a long run, in slices
        (as_strided(x, (n, n), (s, s)), 1),                          # rows or runs
        (as_strided(x, (n // 2, n, 2), (s, 2 * s, s)), (0, 1)),      # narrow rows
        (as_strided(x, (n // 8, n // 16, 8), (s, 8 * s, s)), (0, 2)),
        (as_strided(x.view("u1")[1 : 1 - s].view(x.dtype), (n, n), (s, s)), None),  # gathered
    ]:
        stop(rk.reduce_sum, view, axes, strict=False)
        stop(rk.reduce_max, view, axes)
hard = (rng.standard_normal(1 << 21) * 2.0 ** rng.integers(-200, 200, 1 << 21))
stop(rk.reduce_sum, as_strided(hard, (n, n), (8, 8)), exact=True)    # element by element
print("done")
"""


@posix
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_is_heard_in_every_form(threads):
    """Of 10^12 elements, which would take minutes; a second is promised."""
    assert run(INTERRUPT.replace("THREADS", str(threads)).replace("LIMIT", "1")) == "done"


@posix
def test_an_interrupt_is_heard():
    program = INTERRUPT.replace("THREADS", "2").replace("LIMIT", "60")
    program = program.replace('("f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "i8")', '("f4",)')
    assert run(program) == "done"


@linux
def test_no_lock_is_lost_where_no_thread_can_be_started():
    program = """
import ctypes, resource, threading
import numpy as np
import reducekit as rk
class Info(ctypes.Structure):
    _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]
mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Info
rk.set_num_threads(3)
x = np.ones(300_000, np.float32)
threading.stack_size(2**34)
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
def used(calls):
    for _ in range(calls):
        rk.reduce_max(x)
    return mallinfo().field7
before = used(1000)
print(used(3000) - before)
"""
    assert int(run(program)) < 3000


class Storm:
    """32 threads that reduce shared arrays in mixed ways, and compare with the bits of one."""

    def __init__(self):
        rng = np.random.default_rng(94)
        self.jobs = []
        for name in NAMES:
            for shape in ((10,), (70, 90), (700, 900), (3, 200_000), (200_000, 3)):
                data = ordinary(name, shape, rng)
                for view in (data, data[::-1], data.T):
                    for op in OPS if name != "bool" else ("max", "min"):
                        for axes in (None, (0,), (-1,)):
                            want = FUNCTIONS[op](view, axes, strict=False)
                            self.jobs.append((op, view, axes, want))
        self.wrong = []
        self.calls = 0

    def work(self, seed, end):
        rng = random.Random(seed)
        calls = 0
        while time.monotonic() < end:
            op, view, axes, want = rng.choice(self.jobs)
            kind = rng.random()
            if kind < 0.1:
                got = outcome(FUNCTIONS[op], view, 99, strict=False)
                right = isinstance(got, rk.AxesError)
            elif kind < 0.2:
                number = rng.choice([11, 13, 18])
                with rk.opset(number):
                    got = FUNCTIONS[op](view, axes, strict=False)
                    right = rk.get_default_opset() == number and got.tobytes() == want.tobytes()
            elif kind < 0.3:
                got = np.empty_like(want)
                FUNCTIONS[op](view, axes, strict=False, out=got)
                right = got.tobytes() == want.tobytes()
            else:
                got = FUNCTIONS[op](view, axes, strict=False)
                right = got.tobytes() == want.tobytes()
            if not right:
                self.wrong.append((op, view.shape, view.dtype, axes))
            calls += 1
        self.calls += calls

    def run(self, seconds, *others):
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self.work, args=(seed, end)) for seed in range(32)]
        threads += [threading.Thread(target=other, args=(end,)) for other in others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert self.wrong == []
        assert self.calls >= 32


def set_numbers_of_threads(end):
    while time.monotonic() < end:
        for count in (1, 2, 4, 3):
            rk.set_num_threads(count)
            time.sleep(0.003)


def set_default_opsets(end):
    while time.monotonic() < end:
        for number in (13, 18, "latest", 12):
            rk.set_default_opset(number)
            time.sleep(0.0002)


LENGTHS = [1, pytest.param(60, marks=pytest.mark.slow)]


@pytest.mark.parametrize("seconds", LENGTHS)
def test_many_threads_at_once(seconds):
    Storm().run(seconds, set_numbers_of_threads)


@pytest.mark.parametrize("seconds", LENGTHS)
def test_many_threads_while_the_default_opset_changes(seconds):
    Storm().run(seconds, set_numbers_of_threads, set_default_opsets)


REDUCE = """
import multiprocessing, os, sys, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import numpy as np, numpy.random
import reducekit as rk

def reduce(seed):
    data = np.random.default_rng(seed).integers(-9, 9, (300, 2000)).astype(np.float32)
    rows = rk.reduce_sum(data, 1, keepdims=False)
    assert (rows == data.astype(np.float64).sum(1)).all()
    assert (rk.reduce_max(data, 0, keepdims=False) == data.max(0)).all()
    return float(rk.reduce_sum(data, keepdims=False))
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_of_every_kind(method, tmp_path):
    """Of a parent whose team has worked, and of one that has not."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    program = tmp_path / "program.py"
    program.write_text(
        REDUCE
        + f"""
if __name__ == "__main__":
    rk.set_num_threads(3)
    context = multiprocessing.get_context({method!r})
    for before in (False, True):
        want = [reduce(i) for i in range(8)] if before else None
        with context.Pool(2) as pool:
            got = pool.map(reduce, range(8))
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            assert list(pool.map(reduce, range(8))) == got
        with ThreadPoolExecutor(5) as pool:
            assert list(pool.map(reduce, range(8))) == got
        assert want is None or got == want
    print("done")
"""
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=240
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("times", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_a_fork_while_a_reduction_runs(times):
    """Other threads are in the middle of large reductions; the child has none of them."""
    program = (
        REDUCE
        + f"""
rk.set_num_threads(3)
data = np.ones((4000, 1000), np.float32)
going = True
def forever():
    while going:
        assert rk.reduce_sum(data, keepdims=False) == 4_000_000
threads = [threading.Thread(target=forever, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
for i in range({times}):
    time.sleep(0.001 * (i % 7))
    child = os.fork()
    if child == 0:
        reduce(i)
        os._exit(int(rk.reduce_sum(data, keepdims=False) != 4_000_000))
    end = time.monotonic() + 60
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        assert time.monotonic() < end, "the child hangs"
        time.sleep(0.001)
    assert status == 0, status
going = False
for thread in threads:
    thread.join()
print("done")
"""
    )
    assert run(program) == "done"


@pytest.mark.slow
@pytest.mark.parametrize("program", ["fuzz_engine", "fuzz"])
def test_a_search_finds_nothing(program):
    """A minute of either; `make fuzz` runs longer."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name(f"{program}.py"), "--seconds", "60"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("data", ["f4", "f8", "i4", "f2"])
def test_an_interrupt_of_1e9_elements(data):
    """All there in memory, and such that sums of floats are hard: Ctrl-C within a second."""
    program = """
import os, signal, sys, threading, time
import numpy as np
import reducekit as rk
rk.set_num_threads(2)
data = np.empty(10**9, DTYPE)
data[:] = 1
if data.dtype.kind == "f":
    data[1::1000003] = np.finfo(DTYPE).max / 4      # of either sign: only the exact sum can tell
    data[2::1000003] = -data[1]
late = []
for call in (rk.reduce_sum, rk.reduce_max):
    for wait in (0.05, 0.3):
        struck = []
        def strike():
            struck.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(wait, strike)
        timer.start()
        try:
            while True:
                call(data)
        except KeyboardInterrupt:
            late.append(time.monotonic() - struck[0])
    timer.join()
    assert rk.reduce_max(data[:100_000], keepdims=False) >= 1
assert max(late) < 1, late
print("done")
"""
    memory = 10**9 * np.dtype(data).itemsize
    if (
        hasattr(os, "sysconf")
        and os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 2 * memory
    ):
        pytest.skip("not enough memory")
    assert run(program.replace("DTYPE", repr(data))) == "done"


CUT = """
import os, sys
import numpy as np
import reducekit as rk
data = np.lib.format.open_memmap("data.npy", "w+", np.float32, (1 << 22,))
data[:] = 1
data.flush()
os.truncate("data.npy", 8192)
print("cut", flush=True)
CALL
print("came back")
"""


@linux
@pytest.mark.parametrize("call", ["np.max(data)", "rk.reduce_max(data)", "rk.reduce_sum(data)"])
def test_a_mapping_that_is_cut_short_ends_the_process(call, tmp_path):
    """The system's doing, and NumPy's lot as well: the pages behind the end are gone."""
    done = subprocess.run(
        [sys.executable, "-c", CUT.replace("CALL", call)],
        cwd=tmp_path, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("cut\n", -signal.SIGBUS)


@linux
def test_a_command_whose_file_is_cut_short_leaves_the_old_output(tmp_path):
    program = """
import os, sys
from reducekit import _files, cli
real = _files._map
def cut(file, *rest):
    source = real(file, *rest)
    os.truncate("data.npy", 4096)
    return source
_files._map = cut
sys.exit(cli.main(["reduce", "max", "data.npy", "-o", "out.npy"]))
"""
    np.save(tmp_path / "data.npy", np.ones(1 << 20, np.float32))
    (tmp_path / "out.npy").write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=100)
    assert done.returncode == -signal.SIGBUS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npy", "out.npy"]
    assert (tmp_path / "out.npy").read_bytes() == b"old"


@pytest.mark.slow
def test_nothing_stays_in_memory():
    """After 20 000 calls of each function, right ones and wrong; tests/leaks.py makes a million."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("leaks.py"), "--calls", "20000"],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@linux
def test_reductions_where_no_memory_is_left():
    """The C heap gives out nothing more; threads wait for each other at the one block there is."""
    program = """
import ctypes, resource, threading
import numpy as np
import reducekit as rk
rk.set_num_threads(3)
x = np.arange(900_000, dtype=np.float32).reshape(300, 3000)
small = x[:3, :1000]
calls = [(rk.reduce_max, x, 0), (rk.reduce_sum, x, 1), (rk.reduce_min, x.T, 0),
         (rk.reduce_sum, x[:, ::2], 0), (rk.reduce_max, small, 0), (rk.reduce_sum, small.T, 1)]
outs = [[np.empty_like(f(a, axis)) for f, a, axis in calls] for _ in range(5)]
want = [f(a, axis) for f, a, axis in calls]
# The bytes are compared where they lie: a copy would need memory.
rights = [right.data.cast("B") for right in want]
views = {id(mine): [out.data.cast("B") for out in mine] for mine in outs}
wrong = []
def work(mine):
    for _ in range(20):
        for (f, a, axis), out in zip(calls, mine):
            f(a, axis, out=out)
        for view, right in zip(views[id(mine)], rights):
            if view != right:
                wrong.append(view)
threads = [threading.Thread(target=work, args=(mine,)) for mine in outs[1:]]
gate = threading.Barrier(5)
started = [threading.Thread(target=lambda t=t: (gate.wait(), t.run())) for t in threads]
for thread in started:
    thread.start()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20))   # less than there is: no more of it
taken = []
for size in (1 << 20, 70_000):
    while True:
        block = libc.malloc(size)
        if not block:
            break
gate.wait()
work(outs[0])
for thread in started:
    thread.join()
print(len(wrong))
"""
    assert run(program, MALLOC_ARENA_MAX="1") == "0"
