"""The accessor of DataArray and Dataset: names, coordinates, attributes, and laziness."""

import numpy as np
import pytest
from arrays import NAMES, ordinary, subsets
from interpreter import fresh
from oracles import FUNCTIONS, OPS, assert_same, never

import reducekit as rk

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

import reducekit.xarray  # noqa: E402

DIMS = ("t", "y", "x")


def reduce(obj, op, *args, **kwargs):
    return getattr(obj.reducekit, f"reduce_{op}")(*args, **kwargs)


def array(name="float32", chunks=None):
    made = xr.DataArray(
        ordinary(name, (2, 3, 4), np.random.default_rng(1)),
        dims=DIMS, name="temperature", attrs={"units": "K"},
        coords={"t": [10, 20], "x": list("abcd"), "place": ("x", [1, 2, 3, 4]),
                "area": (("y", "x"), np.ones((3, 4))), "run": 7},
    )  # fmt: skip
    return made if chunks is None else made.chunk(chunks)


@pytest.mark.parametrize("chunks", [None, {"t": 1, "x": 3}])
@pytest.mark.parametrize("name", NAMES)
def test_every_type(name, chunks):
    x = array(name, chunks)
    for op in OPS:
        if never(op, name):
            continue
        for axes in subsets(3):
            for keepdims in (False, True):
                dims = [DIMS[axis] for axis in axes]
                want = FUNCTIONS[op](x.values, axes, keepdims=keepdims, strict=False)
                got = reduce(x, op, dims, keepdims=keepdims, strict=False)
                gone = set(dims or DIMS)
                assert got.dims == tuple(d for d in DIMS if keepdims or d not in gone)
                assert set(got.coords) == {
                    name for name, coord in x.coords.items() if not gone & set(coord.dims)
                }
                assert (got.name, got.attrs) == (x.name, x.attrs)
                assert (got.chunks is not None) == (chunks is not None)
                assert_same(np.asarray(got.values), want, f"{op} {dims}")


def test_dimensions_by_name_position_and_in_many_ways():
    x = array()
    want = rk.reduce_max(x.values, (0, 2), keepdims=False)
    for given in [["t", "x"], ("x", "t"), {"t", "x"}, [0, "x"], [-3, 2], np.array([0, 2])]:
        assert_same(reduce(x, "max", given).values, want)
    assert_same(reduce(x, "max", "t", "x").values, want)
    assert_same(reduce(x, "max", ...).values, rk.reduce_max(x.values, keepdims=False))
    assert_same(reduce(x, "max").values, rk.reduce_max(x.values, keepdims=False))
    odd = xr.DataArray([[1, 2]], dims=(("a", "b"), 5))
    assert reduce(odd, "max", 5).dims == (("a", "b"),)
    assert reduce(odd, "max", ("a", "b")).dims == (5,)


@pytest.mark.parametrize(
    ("dim", "text"),
    [("tt", "there is no dimension 'tt'; use 't', 'y' or 'x'"),
     (["t", "q"], "there is no dimension 'q'"),
     (3, "axis 3 is out of range for a tensor of rank 3"),
     (["t", "t"], "is given twice"), (["t", 0], "is given twice")],
)  # fmt: skip
def test_dimensions_that_are_not_there(dim, text):
    with pytest.raises(rk.AxesError, match=text):
        reduce(array(), "max", dim)


def test_attributes():
    x = array()
    assert reduce(x, "max", "t", keep_attrs=False).attrs == {}
    with xr.set_options(keep_attrs=False):
        assert reduce(x, "max", "t").attrs == {}
        assert reduce(x, "max", "t", keep_attrs=True).attrs == x.attrs


def test_opset_and_identity():
    x = array("int8")
    with pytest.raises(rk.DTypeError, match="ReduceMax-11 does not take int8"):
        reduce(x, "max", "t", opset=11)
    copy = reduce(x, "max", noop_with_empty_axes=True)
    xr.testing.assert_identical(copy, x)
    assert not np.shares_memory(copy.values, x.values)
    with pytest.raises(rk.DTypeError, match="<U1"):
        reduce(x.x, "max")


def dataset(chunks=None):
    made = xr.Dataset(
        {"a": array(), "b": ("t", np.int32([1, 2])), "c": 5}, attrs={"source": "made up"}
    )
    return made if chunks is None else made.chunk(chunks)


@pytest.mark.parametrize("chunks", [None, {"t": 1}])
@pytest.mark.parametrize("dims", [["t"], ["x"], ["t", "y"], ["x", "t", "y"], None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_datasets(dims, keepdims, chunks):
    ds = dataset(chunks)
    got = reduce(ds, "max", dims, keepdims=keepdims)
    want = ds.compute().map(lambda v: v).reduce(np.max, dims, keepdims=keepdims, keep_attrs=True)
    assert got.attrs == ds.attrs
    xr.testing.assert_identical(got.compute(), want)
    for name in ds:
        assert (got[name].chunks is None) == (chunks is None or not ds[name].chunks)


def test_datasets_keep_exactness_and_types():
    ds = xr.Dataset({"a": ("t", np.float32([1e8, 1, -1e8])), "b": ("t", np.int8([100, 100, 0]))})
    for each in (ds, ds.chunk(t=1)):
        got = reduce(each, "sum", "t", opset=28, strict=False).compute()
        assert (got.a.item(), got.a.dtype) == (1.0, np.float32)
        assert (got.b.item(), got.b.dtype) == (-56, np.int8)
    xr.testing.assert_identical(reduce(ds, "max", noop_with_empty_axes=True), ds)


def test_datasets_refuse():
    ds = dataset()
    with pytest.raises(rk.AxesError, match="there is no dimension 'q'; use 't', 'x' or 'y'"):
        reduce(ds, "max", "q")
    with pytest.raises(rk.AxesError, match="there is no dimension 0"):
        reduce(ds, "max", 0)
    wrong = ds.assign(words=("t", ["x", "y"]), when=("t", np.array([0, 1], "M8[s]")))
    with pytest.raises(rk.DTypeError, match=r"variables 'words' \(<U1\), 'when'"):
        reduce(wrong, "max", "t")


@pytest.mark.parametrize("method", ["reduce_max", "reduce_min", "reduce_sum"])
@pytest.mark.parametrize("make", [array, dataset])
def test_wrong_keywords_are_refused_with_the_way_out(make, method):
    call = getattr(make().reducekit, method)
    for name in ("axis", "axes", "dims"):
        with pytest.raises(TypeError, match=f"^{method}: unexpected .* '{name}'; use dim=$"):
            call(**{name: "t"})
    with pytest.raises(TypeError, match=f"^{method}: .* 'keepattrs'; use keep_attrs=$"):
        call(keepattrs=True)
    with pytest.raises(TypeError, match=f"^{method}: .* 'skipna'; NaN is not skipped: fill or"):
        call(skipna=True)


def test_functions_take_data_arrays():
    x = array()
    assert_same(rk.reduce_max(x, 0), rk.reduce_max(x.values, 0))
    lazy = rk.reduce_max(array(chunks={"t": 1}), 0)
    assert isinstance(lazy, da.Array)
    assert_same(lazy.compute(), rk.reduce_max(x.values, 0))


def test_variables_that_are_not_reduced_may_be_of_any_type():
    ds = dataset().assign(name=("t", ["p", "q"]), when=np.datetime64("2024", "ns"))
    got = reduce(ds, "max", "x")
    xr.testing.assert_identical(got["name"], ds["name"].drop_vars([]))
    assert reduce(ds.drop_vars("name"), "max", None)["when"] == ds["when"]
    with pytest.raises(rk.DTypeError, match="elements of variable 'name' "):
        reduce(ds, "max", "t")


def test_tensor_from_xarray_and_back():
    x = array()
    t = rk.Tensor.from_xarray(x, opset=18)
    assert (t.dims, t.opset) == (DIMS, 18)
    assert np.shares_memory(t.numpy(), x.values)
    back = t.reduce_max("t", keepdims=False).to_xarray({"x": x.x}, "top")
    xr.testing.assert_equal(back, x.max("t").drop_vars(["area", "place", "run"]))
    assert back.name == "top"
    assert rk.Tensor([[1, 2]]).to_xarray().dims == ("dim_0", "dim_1")
    assert np.shares_memory(t.to_xarray().values, x.values)
    lazy = rk.Tensor.from_xarray(array(chunks={"t": 1}))
    assert isinstance(lazy.reduce_sum("t").to_xarray().data, da.Array)
    assert lazy.to_xarray().name is None
    assert lazy.to_xarray(name="top").name == "top"
    with pytest.raises(TypeError, match="array has type Dataset; use a DataArray"):
        rk.Tensor.from_xarray(dataset())
    with pytest.raises(TypeError, match="the name of axis 0, 5, has type int"):
        rk.Tensor.from_xarray(xr.DataArray([1], dims=[5]))


@pytest.mark.parametrize("imports", ["xarray, reducekit", "reducekit.xarray, xarray"])
def test_registration(imports):
    assert fresh(f"import {imports}; print(xarray.DataArray([1]).reducekit.reduce_max().item())")


def test_a_dataset_that_the_opset_refuses_names_the_variable():
    ds = xr.Dataset({"a": ("x", [1]), "b": ("x", [True])})
    with pytest.raises(rk.DTypeError, match="^reduce_sum: variable 'b': ReduceSum-13 does not"):
        ds.reducekit.reduce_sum("x")
    small = xr.Dataset({"a": ("x", [1]), "c": ("x", np.int8([1]))})
    with pytest.raises(rk.DTypeError, match="^reduce_max: variable 'c': ReduceMax-11 does not"):
        small.reducekit.reduce_max("x", opset=11)


def test_a_dimension_given_twice_is_named():
    da = xr.DataArray([[1, 5], [4, 2]], dims=("time", "place"))
    text = "^reduce_sum: dimension 'time' is given twice; name each dimension once$"
    for obj in (da, da.to_dataset(name="a")):
        with pytest.raises(rk.AxesError, match=text):
            obj.reducekit.reduce_sum("time", "time")
        with pytest.raises(rk.AxesError, match=text):
            obj.reducekit.reduce_sum(["place", "time", "time"])
    with pytest.raises(rk.AxesError, match=text):
        da.reducekit.reduce_sum(["time", 0])
    with pytest.raises(rk.AxesError, match=r"axis 0 \(-2\) is given twice"):
        da.reducekit.reduce_sum([0, 0])
    with pytest.raises(TypeError, match="has type ndarray; an axis is an int"):
        da.reducekit.reduce_sum(["time", np.array([1, 2])])


def test_flags_are_read_where_nothing_is_reduced():
    for data in (xr.DataArray([1.0]), xr.Dataset({"a": 3})):
        for flag in ("progress", "exact"):
            with pytest.raises(TypeError, match=f"^reduce_sum: {flag}='yes' is not a flag; use"):
                data.reducekit.reduce_sum([], noop_with_empty_axes=True, **{flag: "yes"})
