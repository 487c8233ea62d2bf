"""What takes long says how far it is, to whoever can see it."""

import sys

import numpy as np
import pytest
from oracles import FUNCTIONS, OPS

import reducekit as rk
from reducekit import _progress


class EnoughError(Exception):
    pass


def endless(dtype):
    """More than anybody waits for, in little memory."""
    return np.lib.stride_tricks.sliding_window_view(
        (np.arange(1 << 21) % 100).astype(dtype), 1 << 20
    )


@pytest.fixture
def bars(monkeypatch):
    """A terminal in which each bar is a list: what it was made with, and the bytes done."""
    made = []

    class Bar(list):
        def __init__(self, **kwargs):
            super().__init__([kwargs])
            made.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.append("closed")

        def update(self, count):
            self.append(count)
            if len(self) > 4:
                raise EnoughError

    monkeypatch.setattr(_progress, "_kind", lambda: Bar)
    return made


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("op", "dtype", "axes"),
    [
        ("max", "float32", 1), ("min", "int8", 0), ("sum", "float64", None), ("sum", "float16", 1),
        ("max", ">i8", 1), ("sum", "uint32", 1),
    ],
)  # fmt: skip
def test_a_bar_moves_and_what_it_raises_ends_the_call(op, dtype, axes, threads, bars):
    data, before = endless(dtype), rk.get_num_threads()
    rk.set_num_threads(threads)
    try:
        with pytest.raises(EnoughError):
            FUNCTIONS[op](data, axes, strict=False)
    finally:
        rk.set_num_threads(before)
    (bar,) = bars
    total = {"total": data.nbytes, "unit": "B", "unit_scale": True, "delay": 2, "leave": False}
    assert bar[0] == total
    assert all(0 < count < data.nbytes for count in bar[1:5])
    assert all(count % data.itemsize == 0 for count in bar[1:5])
    assert sum(bar[1:5]) <= data.nbytes
    assert bar[5:] == ["closed"]


def test_sums_that_are_read_twice_do_not_go_beyond_the_end(bars):
    report = _progress.Report(100, 8)
    report(60)
    report(130)
    report(150)
    report.close()
    assert bars[0][1:] == [480, 320, 0, "closed"]


@pytest.mark.parametrize("op", OPS)
def test_the_keyword(op, monkeypatch):
    class MadeError(Exception):
        pass

    def report(elements, itemsize):
        assert (elements, itemsize) == (1 << 26, 1)
        raise MadeError

    monkeypatch.setattr(_progress, "Report", report)
    numbers = np.arange((1 << 14) - 1).astype(np.uint8)
    data = np.lib.stride_tricks.sliding_window_view(numbers, 1 << 13)
    expected = FUNCTIONS[op](data[:-1], 1, strict=False, progress=False).tolist()
    method = getattr(rk.Tensor(data), FUNCTIONS[op].__name__)
    for function in (lambda *args, **kwargs: FUNCTIONS[op](data, *args, **kwargs), method):
        with pytest.raises(MadeError):
            function(1, strict=False)
        assert function(1, strict=False, progress=False).tolist()[:-1] == expected
        for wrong, error in ((3, rk.errors.ArgumentError), ("yes", TypeError)):
            with pytest.raises(error, match=f"^reduce_{op}: progress={wrong!r} is not a flag; use"):
                function(1, strict=False, progress=wrong)


def test_nobody_looks(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    report = _progress.Report(10, 4)
    report(5)
    report.close()
    _progress.Report(10, 4).close()  # nothing took long
    assert capsys.readouterr() == ("", "")


def test_text_in_a_terminal(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(_progress, "DELAY", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    report = _progress.Report(1000, 4)
    report(1000)
    assert "/4.00k" in capsys.readouterr().err
    report.close()
    assert capsys.readouterr().err.strip() == ""
