"""Large memory maps are reduced with a bar, and with the bits of any other array."""

import sys

import numpy as np
import pytest
from arrays import NAMES, awkward, subsets
from oracles import FUNCTIONS, OPS, assert_same, never, outcome

import reducekit as rk
from reducekit import _pieces
from reducekit.interop import _mapped, _progress


def mapped(path, array):
    """The array in a file, as a map that is open for reading."""
    raw = np.memmap(path, np.uint8, "w+", shape=(max(1, array.nbytes),))
    raw[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    raw.flush()
    return np.memmap(path, array.dtype, "r", shape=array.shape)


@pytest.fixture
def terminal(monkeypatch):
    """A terminal in which every map is large, and goes in many pieces; the bytes done."""
    done = []

    class Bar:
        def __init__(self, **kwargs):
            done.append((kwargs["total"], kwargs["delay"]))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def update(self, count):
            done.append(count)

    monkeypatch.setattr(_progress, "_kind", lambda: Bar)
    monkeypatch.setattr(_mapped, "LARGE", 0)
    monkeypatch.setattr(_pieces, "PIECE", 64)
    return done


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", OPS)
def test_every_type_has_the_bits_of_the_plain_call(op, name, tmp_path, terminal):
    if never(op, name):
        return
    array = awkward(name, (5, 6, 4), np.random.default_rng(1), nan=True)
    data = mapped(tmp_path / "data", array)
    for view, plain in ((data, array), (data.T, array.T), (data[::-1, 1:], array[::-1, 1:])):
        for axes in subsets(3):
            for more in ({}, {"keepdims": False}, {"exact": True} if op == "sum" else {}):
                with np.errstate(all="ignore"):
                    want = outcome(FUNCTIONS[op], plain, axes, strict=False, **more)
                    got = outcome(FUNCTIONS[op], view, axes, strict=False, **more)
                assert_same(got, want)
                assert type(got) is np.ndarray


def test_the_bar_of_a_large_map(tmp_path, terminal):
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    data = mapped(tmp_path / "data", array)
    assert rk.reduce_sum(data).tolist() == [[2016]]
    assert terminal == [(256, 2), *[64] * 4]
    terminal.clear()
    rk.reduce_sum(np.asarray(data))  # the way to have none
    rk.reduce_sum(array)
    # Pieces of float64 are joined exactly, which a sum by default is not.
    rk.reduce_sum(mapped(tmp_path / "double", array.astype(float)))
    assert terminal == []
    rk.reduce_sum(mapped(tmp_path / "double", array.astype(float)), exact=True)
    assert terminal


def test_out_and_refusals(tmp_path, terminal):
    array = np.float32([[1, 2], [3, 4]])
    data = mapped(tmp_path / "data", array)
    out = np.empty((1, 2), np.float32)
    assert rk.reduce_max(data, 0, out=out) is out
    assert out.tolist() == [[3, 4]]
    assert rk.reduce_max(data, 0, keepdims=False, out=out[0]).tolist() == [3, 4]
    for function, given in [
        (rk.reduce_max, {"out": np.empty(3, np.float32)}),
        (rk.reduce_max, {"out": np.empty((1, 2))}),
        (rk.reduce_max, {"out": [0]}),
        (rk.reduce_max, {"axes": 2}),
        (rk.reduce_sum, {"exact": 3}),
        (rk.reduce_max, {"keepdims": 3}),
        (rk.reduce_max, {"opset": 99}),
        (rk.reduce_max, {"axis": 0}),
    ]:
        wrong = {"axes": 0, **given}
        want = outcome(function, array, **wrong)
        assert isinstance(want, Exception)
        assert_same(outcome(function, data, **wrong), want)
    own = np.memmap(tmp_path / "own", np.float32, "w+", shape=(4, 2))
    own[:] = np.arange(8).reshape(4, 2)
    assert rk.reduce_max(own, 0, out=own[:1]).tolist() == [[6, 7]]  # its own first row


@pytest.mark.parametrize("seen", [True, False])
def test_small_maps_and_no_terminal_go_the_plain_way(tmp_path, monkeypatch, seen):
    data = mapped(tmp_path / "data", np.arange(4))
    monkeypatch.setattr(_progress, "_kind", lambda: seen or None)
    if not seen:
        monkeypatch.setattr(_mapped, "LARGE", 0)
    assert _mapped.deferred(data) is None
    assert rk.reduce_max(data) == 3
    assert rk.Tensor(data).reduce_max().item() == 3


def test_text_in_a_terminal(tmp_path, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(_progress, "DELAY", 0)
    monkeypatch.setattr(_mapped, "LARGE", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    rk.reduce_max(mapped(tmp_path / "data", np.ones(400)))
    assert "/3.20k" in capsys.readouterr().err
