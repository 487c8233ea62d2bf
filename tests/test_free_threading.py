"""Python without the GIL: every module is fit for it, and what threads share stays whole.

Where there is a GIL the same runs, and proves less. The storms of 32 threads in test_reliability
and test_hostile are the heavier part.
"""

import sysconfig
import threading
from pathlib import Path

import numpy as np
import pytest
from interpreter import fresh

import reducekit as rk

PACKAGE = Path(rk.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.pyx"))


@pytest.mark.skipif(not SOURCES, reason="an installed package has no sources")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_module_declares_that_it_needs_no_gil(source):
    """One that does not would bring the GIL back for the whole process."""
    head = source.read_text(encoding="utf-8").partition('"""')[0]
    assert "freethreading_compatible=True" in head


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python cannot do without a GIL"
)
def test_the_gil_stays_off():
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    names = [
        ".".join(path.relative_to(PACKAGE.parent).parts).removesuffix(suffix)
        for path in PACKAGE.rglob(f"*{suffix}")
        if path.parent == PACKAGE or usable(path)
    ]
    assert len(names) > 8
    # Python warns when it turns the GIL on. With PYTHON_GIL=0 it would neither warn nor turn it on.
    code = "import sys, importlib\nprint(sys._is_gil_enabled())\n"
    code += f"for name in {names}: importlib.import_module(name)\nprint(sys._is_gil_enabled())"
    assert fresh(code, PYTHON_GIL="") == "False\nFalse"


def usable(path):
    """Whether the processor can run it: the start-up code of a module may use what it lacks."""
    from reducekit import _kernels

    return path.name.partition(".")[0].removeprefix("_") in _kernels.available()


def at_once(*functions):
    """Run them in threads that start together, and raise what one of them raises."""
    gate, errors = threading.Barrier(len(functions)), []

    def begin(function):
        gate.wait()
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_one_accumulator_in_many_threads():
    """Added to, merged, read and shown all at once: each sees all of a chunk or nothing."""
    acc, side = rk.Accumulator("float32"), rk.Accumulator("float32")
    chunk = np.full(1000, 0.1, np.float32)
    side.add(chunk)
    going = threading.Event()

    def add():
        for _ in range(150):
            acc.add(chunk)
            acc.merge(side)

    def read():
        while not going.is_set():
            assert acc.count % 1000 == 0
            assert acc.__reduce__()[2][1] % 1000 == 0
            held = acc.copy()
            want = float(np.float32(0.1)) * held.count
            assert held.round() == np.float32(want)
            assert "Accumulator(dtype=float32, count=" in repr(acc)

    def add_all():
        at_once(*[add] * 6)
        going.set()

    at_once(add_all, read, read)
    assert acc.count == 6 * 150 * 2000


def test_accumulators_that_are_merged_into_each_other():
    """Neither waits for the other."""
    one, other = rk.Accumulator("int64"), rk.Accumulator("int64")

    def merge(into, what):
        for _ in range(300):
            what.add([1])
            into.merge(what)

    at_once(lambda: merge(one, other), lambda: merge(other, one))
    assert one.count >= 600
    assert other.count >= 600


def test_a_list_of_axes_that_another_thread_changes():
    data = np.arange(24.0).reshape(2, 3, 4)
    axes, done = [0, 1], threading.Event()
    right = {rk.reduce_sum(data, each).tobytes() for each in (None, 0, (0, 1))}

    def change():
        while not done.is_set():
            axes.pop()
            axes.clear()
            axes.append(0)
            axes.append(1)

    def reduce():
        try:
            for _ in range(2000):
                assert rk.reduce_sum(data, axes).tobytes() in right
        finally:
            done.set()

    at_once(change, reduce, reduce)


def test_the_opset_of_a_block_is_that_of_its_thread():
    def work(number):
        for _ in range(500):
            with rk.opset(number):
                assert rk.get_default_opset() == number
            assert rk.get_default_opset() in (13, 18)

    def change():
        for _ in range(500):
            rk.set_default_opset(13)
            rk.set_default_opset(18)

    rk.set_default_opset(18)
    at_once(change, *[lambda number=number: work(number) for number in range(1, 9)])
    assert rk.get_default_opset() == 18
