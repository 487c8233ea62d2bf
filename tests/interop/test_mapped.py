"""Memory maps are reduced as any array, bits, outputs and refusals included."""

import numpy as np
import pytest
from arrays import NAMES, awkward, subsets
from oracles import FUNCTIONS, OPS, assert_same, never, outcome

import reducekit as rk


def mapped(path, array):
    """The array in a file, as a map that is open for reading."""
    raw = np.memmap(path, np.uint8, "w+", shape=(max(1, array.nbytes),))
    raw[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    raw.flush()
    return np.memmap(path, array.dtype, "r", shape=array.shape)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", OPS)
def test_every_type_has_the_bits_of_the_plain_call(op, name, tmp_path):
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


def test_out_and_refusals(tmp_path):
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


def test_a_tensor_of_a_map(tmp_path):
    assert rk.Tensor(mapped(tmp_path / "data", np.arange(4))).reduce_max().item() == 3
