"""Zarr arrays are read chunk by chunk and give the bits of the call on the data in memory."""

import itertools
import sys
import tracemalloc

import numpy as np
import pytest
from arrays import NAMES, awkward, ordinary, subsets
from oracles import FUNCTIONS, OPS, assert_same, never, outcome

import reducekit as rk

zarr = pytest.importorskip("zarr")

from reducekit import _progress  # noqa: E402
from reducekit.interop import zarr as ours  # noqa: E402

# zarr has no type of its own for bfloat16.
STORED = [name for name in NAMES if name != "bfloat16"]


def stored(array, chunks, **kwargs):
    z = zarr.create_array({}, shape=array.shape, chunks=chunks, dtype=array.dtype, **kwargs)
    z[...] = array
    return z


def check(op, array, z, axes, **kwargs):
    with np.errstate(all="ignore"):
        exact = {"exact": True} if op == "sum" else {}
        want = outcome(FUNCTIONS[op], array, axes, **exact, **kwargs)
        assert_same(outcome(FUNCTIONS[op], z, axes, **kwargs), want, f"{op} {axes} {kwargs}")


@pytest.mark.parametrize("name", STORED)
def test_every_type(name, monkeypatch):
    array = awkward(name, (5, 6, 4), np.random.default_rng(1), nan=True)
    z = stored(array, (2, 3, 4))
    for room in (1, 10**9):
        monkeypatch.setattr(ours, "_BLOCK_BYTES", room)
        for op in OPS:
            if not never(op, name):
                for axes in subsets(3):
                    check(op, array, z, axes, strict=False)
                    check(op, array, z, axes, strict=False, keepdims=False)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()])
def test_reductions_of_nothing_and_rank_0(shape):
    array = np.ones(shape, np.float32)
    z = stored(array, tuple(max(1, size) for size in shape))
    for op, axes in itertools.product(OPS, subsets(len(shape))):
        check(op, array, z, axes)
        check(op, array, z, axes, keepdims=False)
    check("max", array, z, None, noop_with_empty_axes=True)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_sums_of_many_chunks(name):
    rng = np.random.default_rng(2)
    array = ordinary(name, (40, 50), rng)
    array[::2] = -array[1::2] * np.array(3, array.dtype)
    z = stored(array, (3, 7))
    for axes in subsets(2):
        check("sum", array, z, axes)


def test_each_chunk_is_read_once_and_no_more_is_held(monkeypatch):
    array = ordinary("float32", (64, 64), np.random.default_rng(3))
    z = stored(array, (8, 16))
    monkeypatch.setattr(ours, "_BLOCK_BYTES", 2 * 8 * 16 * 4)
    read = []
    plain = zarr.Array.__getitem__

    def watched(self, selection):
        part = plain(self, selection)
        read.append(part.size)
        return part

    monkeypatch.setattr(zarr.Array, "__getitem__", watched)
    assert_same(rk.reduce_sum(z, 0), rk.reduce_sum(array, 0))
    assert sum(read) == array.size
    assert max(read) == 2 * 8 * 16


def test_a_tensor_of_a_zarr_array_holds_it_in_memory_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ours, "_BLOCK_BYTES", 1 << 20)
    array = ordinary("float32", (32, 512, 512), np.random.default_rng(4))
    z = zarr.create_array(tmp_path / "z", shape=array.shape, chunks=(1, 512, 512), dtype="f4")
    z[...] = array
    rk.Tensor(z[:1])  # what is imported then is no memory of the array
    kept = {"noop_with_empty_axes": True}
    for load in (rk.Tensor, ours.load, lambda z: rk.reduce_max(z, [], **kept)):
        tracemalloc.start()
        try:
            found = load(z)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert_same(np.asarray(found), array)
        assert peak < 1.4 * array.nbytes


@pytest.mark.parametrize("name", STORED)
def test_what_is_loaded_is_what_is_stored(name, monkeypatch):
    monkeypatch.setattr(ours, "_BLOCK_BYTES", 1)
    array = awkward(name, (5, 6), np.random.default_rng(6), nan=True)
    for data in (array, array[:0], array[0, 0]):
        z = stored(data, tuple(max(1, size // 2) for size in data.shape))
        loaded = ours.load(z)
        assert loaded.flags.writeable
        assert_same(loaded, np.asarray(data))
        assert_same(rk.Tensor(z).numpy(), np.asarray(data))
    # zarr keeps the byte order.
    swapped = stored(array.astype(array.dtype.newbyteorder(">")), (2, 3))
    assert_same(rk.reduce_max(swapped, [], noop_with_empty_axes=True, strict=False), array)
    with pytest.raises(TypeError, match=r"load: data has type list; use a zarr\.Array"):
        ours.load([1])
    with pytest.raises(TypeError, match="load: progress='yes' is not a flag"):
        ours.load(z, progress="yes")


def test_what_cannot_be_reduced_is_refused_before_it_is_read(monkeypatch):
    z = stored(np.zeros(4, "complex64"), 2)
    monkeypatch.setattr(zarr.Array, "__getitem__", lambda *_: pytest.fail("it was read"))
    with pytest.raises(rk.DTypeError, match="Tensor: elements of dtype complex64"):
        rk.Tensor(z)


def test_out_and_refusals():
    z = stored(np.float32([[1, 2], [3, 4]]), (1, 2))
    out = np.empty((1, 2), np.float32)
    assert rk.reduce_max(z, 0, out=out) is out
    assert out.tolist() == [[3, 4]]
    for wrong in (np.empty(3, np.float32), np.empty((1, 2)), [0]):
        want = outcome(rk.reduce_max, z[...], 0, out=wrong)
        assert_same(outcome(rk.reduce_max, z, 0, out=wrong), want)
    with pytest.raises(rk.AxesError, match="axis 2 is out of range for a tensor of rank 2"):
        rk.reduce_max(z, 2)
    with pytest.raises(TypeError, match=r"data has type ndarray; use a zarr\.Array"):
        ours.load(out)
    with pytest.raises(TypeError, match="progress='yes' is not a flag"):
        rk.reduce_max(z, progress="yes")
    for function in FUNCTIONS.values():
        with pytest.raises(TypeError, match="^reduce_.*: unexpected .* 'axis'; use axes=$"):
            function(z, axis=0)


def test_a_group_is_not_a_list_of_nothing():
    group = zarr.group()
    for call in (rk.reduce_max, rk.Tensor):
        with pytest.raises(TypeError, match="type Group cannot be read .*it has keys"):
            call(group)


def test_a_bar_is_shown_only_where_it_is_seen(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(_progress, "DELAY", 0)
    z = stored(np.ones((4, 100)), (1, 100))
    rk.reduce_max(z)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    rk.reduce_max(z, progress=False)
    assert capsys.readouterr().err == ""
    ours.load(z, progress=False)
    assert capsys.readouterr().err == ""
    for call in (rk.reduce_max, ours.load, rk.Tensor):
        call(z)
        assert "/3.20k" in capsys.readouterr().err


def test_nothing_is_shown_in_the_first_two_seconds(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    rk.reduce_max(stored(np.ones((4, 100)), (1, 100)))
    assert capsys.readouterr().err == ""
    assert _progress.DELAY == 2


def test_no_bar_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert rk.reduce_max(stored(np.ones(4), 1)) == 1
    assert capsys.readouterr().err == ""
