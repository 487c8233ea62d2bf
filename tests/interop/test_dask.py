"""Dask arrays stay lazy and give the bits of the call on the data in memory."""

import os
import pickle
import sys

import numpy as np
import pytest
from arrays import FLOATS, INTEGERS, NAMES, awkward, ordinary, subsets
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import FUNCTIONS, OPS, assert_same, never, outcome
from strategies import indices, reductions

import reducekit as rk
from reducekit.dtypes import by_name
from reducekit.interop._partial import PartialSum, join, start

da = pytest.importorskip("dask.array")
import dask  # noqa: E402


def lazy(array, chunks):
    return da.from_array(array, chunks=chunks)


def check(op, array, chunks, axes=None, **kwargs):
    x = chunks if isinstance(chunks, da.Array) else lazy(array, chunks)
    with np.errstate(all="ignore"):
        want = outcome(
            FUNCTIONS[op], array, axes, **({"exact": True} if op == "sum" else {}), **kwargs
        )
        got = outcome(FUNCTIONS[op], x, axes, **kwargs)
        if isinstance(want, Exception):
            assert_same(got, want)
            return
        assert isinstance(got, da.Array)
        assert got.dtype == want.dtype
        assert got.shape == want.shape or np.isnan(got.shape).any()
        computed = got.compute(scheduler="synchronous")
    assert_same(np.asarray(computed), want, f"{op} {array.dtype} {array.shape} {axes} {kwargs}")


def _refuse(*args, **kwargs):
    raise AssertionError("the call computed something")


@pytest.fixture(autouse=True)
def _nothing_is_computed_by_the_call(request):
    """A call that computed would get no scheduler from dask's configuration."""

    if request.node.get_closest_marker("slow"):  # it would go along to the workers
        yield
        return
    with dask.config.set(scheduler=_refuse):
        yield


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", OPS)
def test_every_type(op, name):
    if never(op, name):
        return
    array = awkward(name, (5, 6, 4), np.random.default_rng(1), nan=True)
    for axes in subsets(3):
        check(op, array, (2, 3, 4), axes, strict=False)
        check(op, array, (5, 4, 1), axes, keepdims=False, strict=False)


@given(call=reductions(max_rank=4), data=st.data())
@settings(max_examples=120)
def test_any_call(call, data):
    if call.op == "sum":
        call.kwargs.pop("exact", None)
    chunks = tuple(data.draw(st.integers(1, max(1, size))) for size in call.data.shape)
    check(call.op, call.data, chunks, call.axes, **call.kwargs)


@pytest.mark.parametrize("name", ["bool", "int8", "bfloat16", "float32"])
def test_chunks_of_size_0(name):
    array = ordinary(name, (6, 4), np.random.default_rng(2))
    for chunks in [((0, 3, 0, 3), (4,)), ((6, 0), (0, 4)), ((0, 6), (2, 0, 2))]:
        for op in OPS:
            if not never(op, name):
                for axes in subsets(2):
                    check(op, array, chunks, axes, strict=False)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "bfloat16", "float64"])
def test_reductions_of_nothing(shape, name):
    array = np.zeros(shape, by_name(name).numpy_dtype)
    for op in OPS:
        if not never(op, name):
            for axes in subsets(len(shape)):
                check(op, array, -1, axes, strict=False)


@pytest.mark.parametrize("op", OPS)
def test_unknown_chunk_sizes(op):
    array = np.float32([[3, 1e8], [-2, 5], [7, 1], [1, -1e8]])
    x = lazy(array, (2, 1))
    mask = lazy(np.array([True, False, True, True]), 2)
    unknown = x[mask]
    assert np.isnan(unknown.shape[0])
    for axes in subsets(2):
        check(op, array[[0, 2, 3]], unknown, axes)
        check(op, array[[0, 2, 3]], unknown, axes, keepdims=False)
    nobody = x[mask & False]
    for axes in subsets(2):
        check(op, array[:0], nobody, axes)


def test_rank_0_and_identity():
    for op in OPS:
        check(op, np.array(-0.0, np.float32), ())
        check(op, np.float32([[1, 2], [3, 4]]), (1, 1), noop_with_empty_axes=True)
        check(op, np.float32([[1, 2], [3, 4]]), (1, 1), [], noop_with_empty_axes=True)
    x = da.from_array(np.arange(4), chunks=2)
    assert rk.reduce_max(x, noop_with_empty_axes=True) is not x


def test_zeros_keep_their_signs():
    array = np.float32([[-0.0, -0.0], [-0.0, 0.0]])
    for op in OPS:
        for axes in subsets(2):
            check(op, array, (1, 1), axes)
    check("sum", np.full((4, 2), -0.0), ((0, 2, 0, 2), 1), 0)


@pytest.mark.parametrize("name", FLOATS)
def test_sums_do_not_depend_on_chunks(name):
    rng = np.random.default_rng(5)
    array = awkward(name, 3000, rng)
    array = array[np.isfinite(array.astype(np.float64))]
    array = rng.permutation(np.concatenate([array, -array, ordinary(name, 99, rng)]))
    for chunks in (1, 7, 100, 5000):
        check("sum", array[: 60 * chunks], chunks, strict=False)
    big = by_name(name).numpy_dtype.type(np.finfo(np.float64).max if name == "float64" else 3e4)
    check("sum", np.array([big, big, big, -big, -big]), 2, strict=False)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_sums_wrap(name):
    array = np.full((7, 5), by_name(name).highest, by_name(name).numpy_dtype)
    check("sum", array, (2, 2), strict=False)
    check("sum", array, (2, 2), 1, strict=False)


def test_big_endian_chunks():
    array = ordinary("float32", (4, 5), np.random.default_rng(3)).astype(">f4")
    for op in OPS:
        check(op, array, (2, 2), 0)
        check(op, array, (2, 2), None, noop_with_empty_axes=True)


def test_the_opset_is_that_of_the_call():
    x = da.zeros((4, 4), chunks=2, dtype=np.int8)
    with rk.opset(11), pytest.raises(rk.DTypeError, match="ReduceMax-11 does not take int8"):
        rk.reduce_max(x)
    with rk.opset(12):
        late = rk.reduce_max(x)
    with rk.opset(1):
        assert late.compute(scheduler="synchronous") == 0


def test_refusals_come_with_the_call():
    x = da.zeros((4, 4), chunks=2)
    with pytest.raises(rk.AxesError, match="axis 3 is out of range for a tensor of rank 2"):
        rk.reduce_sum(x, 3)
    with pytest.raises(rk.ArgumentError, match="out is given with a dask array"):
        rk.reduce_sum(x, out=np.zeros((1, 1)))
    with pytest.raises(rk.DTypeError, match="complex64"):
        rk.reduce_sum(x.astype("complex64"))
    with pytest.raises(rk.ArgumentError, match="exact=3 is not a flag"):
        rk.reduce_sum(x, exact=3)


def test_missing_elements_in_chunks():
    masked = da.ma.masked_array(da.ones(4, chunks=2), mask=[True, False, False, False])
    with pytest.raises(rk.ArgumentError, match="1 element is missing"):
        rk.reduce_max(masked).compute(scheduler="synchronous")


@pytest.mark.parametrize("call", [rk.reduce_max, rk.reduce_sum, rk.Tensor, rk.Tensor.from_frame])
def test_dataframes_of_dask_are_refused_and_not_computed(call):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame({"a": [2**53 + 1, 2], "b": [1.5, 2.5]}), npartitions=2)
    accessor, array = (
        r"data\.reducekit \(import reducekit\.dask\)",
        r"to_dask_array\(lengths=True\)",
    )
    for data, way in (
        (frame, rf"{accessor}, data\.{array} if all columns are of one NumPy type, or"),
        (frame.a, rf"{accessor}, data\.{array}, or data\.compute\(\)$"),
        (frame.a.astype("Int64"), rf"{accessor}, data\.{array}, or data\.compute\(\)$"),
        (frame.a.max(), r"use data\.compute\(\)$"),
    ):
        kind = type(data).__name__
        with pytest.raises(TypeError, match=rf"^\S+: data is a dask {kind}, .*{way}"):
            call(data)
    with pytest.raises(TypeError, match="frame has type Array; use a pandas DataFrame"):
        rk.Tensor.from_frame(da.zeros(2))


def test_names_in_the_graph_and_determinism():
    x = da.ones((8, 8), chunks=2)
    first, second = rk.reduce_max(x, 0), rk.reduce_max(x, 0)
    assert first.name == second.name
    assert first.name.startswith("reduce_max")
    assert rk.reduce_max(x, 1).name != first.name
    assert rk.reduce_min(x, 0).name != first.name


def test_partial_sums_are_small_and_pickle():
    op = rk.schema.operator("sum")
    part = start(op, np.random.default_rng(0).standard_normal((500, 1000)), (0, 1))
    assert isinstance(part, PartialSum)
    assert len(pickle.dumps(part)) < 1000
    assert part.nbytes == part.columns.nbytes <= 32
    assert sys.getsizeof(part) >= part.nbytes
    joined = join(op, [part, pickle.loads(pickle.dumps(part))])
    assert joined.terms == 1_000_000
    assert len(joined.columns) <= 2


def test_threads_of_dask():
    rng = np.random.default_rng(8)
    array = rng.standard_normal((400, 300)).astype(np.float32)
    x = lazy(array, (50, 70))
    for op in OPS:
        got = FUNCTIONS[op](x, 1).compute(scheduler="threads", num_workers=4)
        assert_same(got, FUNCTIONS[op](array, 1))


def test_larger_than_memory_data_is_made_chunk_by_chunk():
    """An array of 1 TB that nobody could hold: the graph is all that the call makes."""
    x = da.ones((10**6, 10**6), chunks=(10**5, 10**6), dtype=np.uint8)
    total = rk.reduce_sum(x, opset=28, strict=False)
    assert total.shape == (1, 1)


def test_the_extra_is_named_without_dask(monkeypatch):
    import importlib

    monkeypatch.setitem(sys.modules, "dask.array", None)
    monkeypatch.delitem(sys.modules, "reducekit.interop.dask", raising=False)
    with pytest.raises(ImportError, match=r'pip install "reducekit\[dask\]"'):
        importlib.import_module("reducekit.interop.dask")


# Tensors of dask arrays.


def lazy_tensor(**kwargs):
    values = ordinary("float32", (6, 4), np.random.default_rng(4))
    return values, rk.Tensor(lazy(values, (2, 3)), dims=("row", "column"), **kwargs)


@pytest.fixture
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_tensors_stay_lazy():
    values, t = lazy_tensor(opset=18)
    assert (t.shape, t.dtype, t.ndim, t.size, t.nbytes) == ((6, 4), np.float32, 2, 24, 96)
    for made in (
        t, t.reduce_max("row"), t.reduce_sum("row", "column"), t[1:, 0], t[..., ::2],
        t.rename(row="y"), t.with_opset(13), t.astype("float64"), t.copy(), rk.Tensor(t),
        pickle.loads(pickle.dumps(t)), t.reduce_sum(keepdims=False),
    ):  # fmt: skip
        assert isinstance(made._array, da.Array)
    text = repr(t)
    assert text.startswith("Tensor(shape=(6, 4), dtype=float32, dims=('row', 'column'), opset=18)")
    assert "not computed: 6 chunks of up to 2 x 3 in dask" in text
    assert "not computed: 6 chunks" in t._repr_html_()
    assert isinstance(t == t, da.Array)
    assert values.shape == t.shape


@pytest.mark.usefixtures("one_thread")
def test_lazy_tensors_give_what_others_give():
    values, t = lazy_tensor(opset=18)
    plain = rk.Tensor(values, dims=("row", "column"), opset=18)
    for op in OPS:
        for axes in ("row", ["row", "column"], 1):
            ours, theirs = (getattr(each, f"reduce_{op}")(axes) for each in (t, plain))
            assert (ours.dims, ours.opset) == (theirs.dims, theirs.opset)
            assert_same(ours.numpy(), theirs.numpy())
            assert ours.compute().dims == theirs.dims
    for index in (0, slice(1, 4), (..., 0), (None, 2), ([0, 2],), (0, 1)):
        assert t[index].dims == plain[index].dims
        assert_same(np.asarray(t[index].numpy()), np.asarray(plain[index].numpy()))
    top = t.reduce_max(keepdims=False)
    assert top[()].item() == top[...].item() == top.item() == float(top) == values.max()
    assert t.tolist() == values.tolist()
    assert values[0, 0] in t
    assert_same(np.asarray(t), values)
    assert_same(np.from_dlpack(t), values)
    assert t.compute().describe().minimum == t.describe().minimum
    assert [part.shape for part in t] == [(4,)] * 6


@pytest.mark.usefixtures("one_thread")
def test_the_description_of_a_lazy_tensor():
    values = np.array([np.nan, 1, np.inf, -np.inf, 3, np.inf])
    got, want = rk.Tensor(lazy(values, 2)).describe(), rk.Tensor(values).describe()
    for field in ("minimum", "maximum", "nan", "positive_infinity", "negative_infinity", "shape"):
        assert getattr(got, field) == getattr(want, field)
    assert "not computed: 3 chunks" in str(got)
    nothing = rk.Tensor(da.zeros((0,), chunks=1)).describe()
    assert (nothing.minimum, nothing.nan) == (None, 0)


@pytest.mark.usefixtures("one_thread")
def test_the_description_of_a_tensor_of_unknown_size():
    array = da.from_array(np.arange(12.0).reshape(3, 4), chunks=2)
    unknown = array[array[:, 0] > 3]
    found = rk.Tensor(unknown).describe()
    assert (found.shape, found.minimum, found.maximum) == ((2, 4), 4, 11)
    assert str(found).startswith("axis 0    2")
    assert np.isnan(unknown.shape[0])


def test_tensors_refuse_what_they_always_do():
    with pytest.raises(rk.DTypeError, match="complex64"):
        rk.Tensor(da.zeros(3, dtype="complex64"))
    with pytest.raises(rk.ArgumentError, match="2 names for a tensor of rank 1"):
        rk.Tensor(da.zeros(3), dims=("a", "b"))


@pytest.mark.usefixtures("one_thread")
def test_a_lazy_tensor_is_a_collection_of_dask_and_others_are_not():
    values, t = lazy_tensor(opset=18)
    assert dask.is_dask_collection(t)
    assert not dask.is_dask_collection(rk.Tensor(values))
    found, top, more = dask.compute(t, t.reduce_max("row", keepdims=False), {"a": [t[0]]})
    for got, want in ((found, t), (top, t.reduce_max("row", keepdims=False)), (more["a"][0], t[0])):
        assert type(got._array) is np.ndarray
        assert (got.dims, got.opset) == (want.dims, 18)
        assert_same(got.numpy(), want.numpy())
    number = dask.compute(t.reduce_max(keepdims=False))[0]
    assert (number.dims, number.item()) == ((), values.max())
    (kept,) = dask.persist(t)
    assert isinstance(kept._array, da.Array)
    assert (kept.dims, kept.opset) == (t.dims, 18)
    assert_same(kept.numpy(), values)
    (better,) = dask.optimize(t)
    assert_same(better.numpy(), values)
    plain = rk.Tensor(values)
    assert dask.compute(plain)[0] is plain
    for each, other in ((t, t.rename(row="y")), (t, t.with_opset(13)), (plain, rk.Tensor(-values))):
        assert dask.base.tokenize(each) == dask.base.tokenize(pickle.loads(pickle.dumps(each)))
        assert dask.base.tokenize(each) != dask.base.tokenize(other)


# The index of a lazy tensor.


def test_an_ellipsis_that_stands_for_no_axis_parts_index_arrays():
    values = np.arange(2 * 5 * 3 * 2).reshape(2, 5, 3, 2)
    mask = np.eye(5, 3, dtype=bool)
    for index in [(None, 0, mask, ..., 0), (0, mask, ..., 0), (0, ..., mask, 0), (0, mask, 0)]:
        got = rk.Tensor(lazy(values, (1, 1, 1, 1)))[index]
        assert got.shape == values[index].shape
        elements = got._array.compute(scheduler="synchronous")
        assert_same(elements, np.array(values[index]))


@given(data=st.data(), index=indices((4, 5, 3, 6)))
@settings(max_examples=80, deadline=None)
def test_any_index_of_a_lazy_tensor_is_that_of_one_in_memory(index, data):
    values = np.arange(4 * 5 * 3 * 6).reshape(4, 5, 3, 6)
    chunks = tuple(data.draw(st.integers(1, size)) for size in values.shape)
    dims = ("a", "b", "c", "d")
    plain = rk.Tensor(values, dims)
    want = outcome(plain.__getitem__, index)
    got = outcome(rk.Tensor(lazy(values, chunks), dims).__getitem__, index)
    if isinstance(want, Exception):
        assert type(got) is type(want)
        return
    assert isinstance(got._array, da.Array)
    assert (got.shape, got.dims) == (want.shape, want.dims)
    assert_same(np.asarray(got._array.compute(scheduler="synchronous")), np.array(want.numpy()))


@pytest.mark.parametrize("chunks", [(1, 2, 2), (2, 3, 4), (2, 1, 3)])
@pytest.mark.parametrize("kind", ["tensor", "array", "chunk of 1"])
@pytest.mark.parametrize(
    ("index", "lazy_at"),
    [
        ((np.array([0, 1, 0]),), 0),
        ((..., np.array([-1, 0])), 1),
        ((0, slice(None), np.array([3, 0])), 2),
        ((slice(1, None), None, np.array([2, 0]), 1), 2),
        ((None, 1, np.array([True, False, True])), 2),
        ((slice(None), slice(None), np.array([True, False, True, True])), 2),
        ((np.arange(24).reshape(2, 3, 4) % 5 > 2,), 0),
        ((np.arange(6).reshape(2, 3) % 4 > 1,), 0),
        ((1, np.arange(12).reshape(3, 4) % 4 > 1), 1),
        ((slice(None), np.arange(12).reshape(3, 4) % 4 > 1), 1),
        ((slice(None), np.array([[0, 2], [1, 1]])), 1),
        ((np.array(1), slice(None), np.array([0])), 0),
        ((None, slice(None), np.array(2)), 2),
    ],
    ids=repr,
)
def test_lazy_masks_and_indices_stay_lazy_and_names_follow(index, lazy_at, kind, chunks):
    values = np.arange(24.0).reshape(2, 3, 4)
    plain = rk.Tensor(values, dims=("a", "b", "c"))
    item = da.from_array(index[lazy_at], chunks=1 if kind == "chunk of 1" else 2)
    item = rk.Tensor(item) if kind == "tensor" else item
    got = rk.Tensor(lazy(values, chunks), dims=plain.dims)[
        (*index[:lazy_at], item, *index[lazy_at + 1 :])
    ]
    want = plain[index]
    assert isinstance(got._array, da.Array)
    assert (got.ndim, got.dims) == (want.ndim, want.dims)
    assert all(a == b or np.isnan(a) for a, b in zip(got.shape, want.shape, strict=True))
    assert_same(np.asarray(got._array.compute(scheduler="synchronous")), np.array(want.numpy()))


def test_a_comparison_of_a_lazy_tensor_is_a_lazy_mask():
    x = da.arange(6, chunks=2)
    t = rk.Tensor(x, dims="i")
    for mask in (t > 2, x > 2, rk.Tensor(x > 2), rk.Tensor(x) > 2):
        found = t[mask]
        assert (found.ndim, found.dims) == (1, ("i",))
        top = found.reduce_max("i")
        assert top.dims == ("i",)
        assert top._array.compute(scheduler="synchronous").tolist() == [5]
    again = t[t > 1][t[t > 1] < 4]
    assert again._array.compute(scheduler="synchronous").tolist() == [2, 3]
    table = rk.Tensor(da.arange(6, chunks=2).reshape(2, 3), dims=("a", "b"))
    assert table[table > 3].dims == (None,)
    assert table[table > 3]._array.compute(scheduler="synchronous").tolist() == [4, 5]
    assert table[[0, 1], [2, 1]]._array.compute(scheduler="synchronous").tolist() == [2, 4]


@pytest.mark.parametrize(
    ("index", "kind", "text"),
    [
        (2, IndexError, "out of bounds"),
        ((0, 0, 0), IndexError, "rank 2, 3 axes were indexed"),
        ((..., ...), IndexError, "only one ellipsis"),
        (1.0, IndexError, "an index array has type float64"),
        ([[0, 9]], IndexError, "out of bounds"),
        (np.ones(3, bool), IndexError, "a mask has size 3 along axis 0, which has size 2"),
        (da.ones(3, dtype=bool), IndexError, "a mask has size 3 along axis 0"),
        (da.ones(2, dtype="f4"), IndexError, "an index array has type float32"),
        (True, rk.ArgumentError, "a bool of rank 0 cannot index a lazy tensor; compute"),
        (da.ones((), dtype=bool), rk.ArgumentError, "a lazy bool of rank 0"),
        (([0, 1], da.array([0, 1])), rk.ArgumentError, "a lazy index beside another index array"),
        (da.flatnonzero(da.arange(2)), rk.ArgumentError, "needs the sizes of all chunks"),
    ],
    ids=repr,
)
def test_a_bad_index_of_a_lazy_tensor(index, kind, text):
    with pytest.raises(kind, match=text):
        rk.Tensor(da.zeros((2, 3), chunks=1))[index]


def test_an_index_of_a_tensor_of_unknown_size():
    x = da.arange(12, chunks=3).reshape(4, 3)
    t = rk.Tensor(x[x[:, 0] > 3], dims=("a", "b"))
    some = t[:, [0, 2]]
    assert some.dims == ("a", "b")
    assert some._array.compute(scheduler="synchronous").tolist() == [[6, 8], [9, 11]]
    for index in (t > 3, [0], ([0], [1]), np.ones((2, 3), bool), 0, slice(1, None), -1):
        with pytest.raises(rk.ArgumentError, match=r"compute_chunk_sizes\(\) on the dask array"):
            t[index]
    assert t[:, 0].dims == ("a",)
    assert t[..., None].dims == ("a", "b", None)
    for call in (len, iter, list):
        with pytest.raises(rk.ArgumentError, match="the length of a tensor needs the sizes"):
            call(t)
    assert len(rk.Tensor(x)) == 4


@pytest.mark.usefixtures("one_thread")
def test_a_lazy_index_of_a_tensor_in_memory_is_computed():
    t = rk.Tensor(np.arange(6), dims="i")
    for index in (da.array([0, 2]), rk.Tensor(da.array([0, 2]))):
        found = t[index]
        assert (found.dims, found.tolist()) == (("i",), [0, 2])


# On a cluster of processes. Data larger than a worker's memory, and one worker killed.


def _random_block(seed, shape):
    import numpy as np

    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _process():
    return os.getpid()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_cluster_whose_worker_is_killed():
    import signal
    import time

    distributed = pytest.importorskip("distributed")
    shape, blocks = (2048, 4096), 40  # 40 chunks of 32 MiB: 1.25 GiB
    limit = 512 << 20
    assert blocks * shape[0] * shape[1] * 4 > 2 * limit
    make = dask.delayed(_random_block)
    x = da.concatenate(
        [da.from_delayed(make(seed, shape), shape, np.float32) for seed in range(blocks)]
    )
    acc, high = rk.Accumulator("float32"), -np.inf
    for seed in range(blocks):
        block = _random_block(seed, shape)
        acc.add(block)
        high = max(high, block.max())
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=limit, processes=True,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        pids = client.run(_process)
        assert len(set(pids.values())) == 2
        total = client.compute(rk.reduce_sum(x, keepdims=False))
        top = client.compute(rk.reduce_max(x, keepdims=False))
        deadline = time.monotonic() + 60
        while sum(map(len, client.has_what().values())) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not total.done()
        victim = next(iter(pids.values()))
        os.kill(victim, signal.SIGKILL)
        assert_same(np.asarray(total.result(timeout=240)), acc.round())
        assert float(top.result(timeout=240)) == float(high)
        assert victim not in client.run(_process).values()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_kernels_in_workers_use_one_thread():
    distributed = pytest.importorskip("distributed")
    if not hasattr(rk, "get_num_threads"):
        pytest.fail("the package has no threads to hold back")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert set(client.run(rk.get_num_threads).values()) == {1}
