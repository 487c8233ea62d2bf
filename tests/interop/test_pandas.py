"""The accessor of DataFrame and Series: labels, types, digits, and missing values."""

import numpy as np
import pytest
from arrays import NAMES, awkward, ordinary
from interpreter import fresh
from oracles import FUNCTIONS, OPS, assert_same, never

import reducekit as rk
from reducekit.dtypes import by_name

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

import reducekit.pandas  # noqa: E402

LABELS = ["a", "b", "c", "d"]
IN_PANDAS = [name for name in NAMES if name not in ("bfloat16", "float16")]


def reduce(obj, op, *args, **kwargs):
    return getattr(obj.reducekit, f"reduce_{op}")(*args, **kwargs)


def frame(name, rows=5, seed=1, values=ordinary):
    return pd.DataFrame(values(name, (rows, 4), np.random.default_rng(seed)), columns=LABELS)


def make(df, storage):
    """The same values in another storage."""
    name = df.dtypes.iloc[0].name
    if storage == "columns":  # each in memory of its own
        return pd.concat([df[[label]] for label in df], axis=1)
    if storage == "nullable":
        kind = "boolean" if name == "bool" else name.capitalize().replace("Uint", "UInt")
        return df.astype(kind)
    if storage == "arrow":
        return df.astype(pd.ArrowDtype(pa.from_numpy_dtype(df.dtypes.iloc[0])))
    return df


@pytest.mark.parametrize("storage", ["numpy", "columns", "nullable", "arrow"])
@pytest.mark.parametrize("name", IN_PANDAS)
def test_every_type_and_storage(name, storage):
    if name == "bool" and storage == "arrow":
        df = frame(name).astype("bool[pyarrow]")
    else:
        df = make(frame(name), storage)
    plain = frame(name).to_numpy()
    for op in OPS:
        if never(op, name):
            continue
        for axis in (0, 1):
            want = FUNCTIONS[op](plain, axis, keepdims=False, strict=False)
            got = reduce(df, op, axis, strict=False)
            assert isinstance(got, pd.Series)
            assert got.dtype == df.dtypes.iloc[0]
            assert_same(got.to_numpy(dtype=want.dtype), want)
            pd.testing.assert_index_equal(got.index, df.index if axis else df.columns)
            kept = reduce(df, op, [axis], keepdims=True, strict=False)
            assert isinstance(kept, pd.DataFrame)
            assert kept.shape == ((5, 1) if axis else (1, 4))
            assert list(kept.columns if axis else kept.index) == [op]
            pd.testing.assert_index_equal(*((kept.index, df.index) if axis else
                                            (kept.columns, df.columns)))  # fmt: skip
            assert set(kept.dtypes) == {df.dtypes.iloc[0]}
            assert_same(kept.to_numpy(dtype=want.dtype).reshape(-1), want)
        want = FUNCTIONS[op](plain, keepdims=False, strict=False)
        assert_same(np.asarray(reduce(df, op, strict=False)), want)
        kept = reduce(df, op, keepdims=True, strict=False)
        assert kept.shape == (1, 1)
        assert kept.dtypes.iloc[0] == df.dtypes.iloc[0]
        column = df["b"]
        got = reduce(column, op, strict=False)
        assert_same(np.asarray(got), FUNCTIONS[op](plain[:, 1], keepdims=False, strict=False))
        one = reduce(column, op, keepdims=True, strict=False)
        assert (list(one.index), one.name, one.dtype) == ([op], "b", column.dtype)


@pytest.mark.parametrize("storage", ["nullable", "arrow"])
def test_int64_above_2_to_the_53(storage):
    df = make(pd.DataFrame({"a": [2**62 + 1, 3], "b": [2**53 + 1, 4]}), storage)
    assert reduce(df, "max", axes=1).tolist() == [2**62 + 1, 4]
    assert reduce(df, "sum", axes=0).tolist() == [2**62 + 4, 2**53 + 5]
    assert int(reduce(df, "sum")) == 2**62 + 2**53 + 9
    assert reduce(df["b"], "max") == 2**53 + 1


def test_float_columns_that_lie_apart_are_summed_exactly():
    df = pd.DataFrame({"a": [1e8, 1.0], "b": [-1e8, 1e-3]}).astype("Float32")
    assert_same(np.asarray(reduce(df, "sum")), np.array(np.float32(1.001)))
    assert reduce(df, "sum", axes=1).tolist() == [0.0, float(np.float32(1.001))]


def test_long_frames_of_columns_are_taken_in_pieces(monkeypatch):
    from reducekit.interop import pandas as ours

    monkeypatch.setattr(ours, "_FEWEST_ROWS", 3)
    monkeypatch.setattr(ours, "_GATHERED", 1)
    df = frame("float32", rows=10)
    want = reduce(df, "sum", axes=1)
    pd.testing.assert_series_equal(
        reduce(df.astype("Float32"), "sum", axes=1).astype("float32"), want
    )


@pytest.mark.parametrize("name", ["int8", "int64", "float32", "float64"])
@pytest.mark.parametrize("rows", [0, 1, 5, 3000])
def test_where_pandas_keeps_the_columns_shows_in_no_bit(name, rows, monkeypatch):
    from reducekit.interop import pandas as ours

    monkeypatch.setattr(ours, "_SMALL", 1)
    values = awkward(name, (rows, 12), np.random.default_rng(rows))
    labels = list("abcdefghijkl")
    together = pd.DataFrame(values, columns=labels)
    apart = pd.DataFrame({c: values[:, i].copy() for i, c in enumerate(labels)}, copy=False)
    swapped = apart.astype({c: np.dtype(name).newbyteorder() for c in "ace"})
    for op in ("max", "min", "sum"):
        for axes in (0, 1, None, ()):
            for keep in (False, True):
                with np.errstate(all="ignore"):
                    kwargs = {"keepdims": keep, "strict": False, "allow_nan": True}
                    want = reduce(together, op, axes=axes, **kwargs)
                    for df in (apart, swapped):
                        got = reduce(df, op, axes=axes, **kwargs)
                        assert type(got) is type(want)
                        assert_same(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("small", [1, 1 << 20])
def test_a_missing_value_in_columns_that_lie_apart_is_named(monkeypatch, small):
    from reducekit.interop import pandas as ours

    monkeypatch.setattr(ours, "_SMALL", small)
    df = pd.DataFrame({"a": np.ones(9), "b": np.ones(9), "c": np.ones(9)})
    df["d"] = np.where(np.arange(9) == 4, np.nan, 1.0)
    for axes in (0, 1, None):
        with pytest.raises(rk.ArgumentError, match="1 value is missing in column 'd'"):
            reduce(df, "max", axes=axes)


def test_axes_by_name_and_labels_that_repeat():
    df = pd.DataFrame([[1, 5], [4, 2]], columns=["a", "a"], index=["x", "x"])
    assert reduce(df, "max", "index").tolist() == [4, 5]
    assert reduce(df, "max", "columns").tolist() == [5, 4]
    assert reduce(df, "max", ["columns", 0]) == 5
    assert list(reduce(df.astype("Int64"), "max", 0).index) == ["a", "a"]
    assert reduce(df.astype("Int64"), "max", 0, keepdims=True).columns.tolist() == ["a", "a"]
    with pytest.raises(rk.AxesError, match="no axis 'colums'; use 'index' or 'columns'"):
        reduce(df, "max", "colums")
    with pytest.raises(rk.AxesError, match="no axis 'columns'; use 'index'"):
        reduce(df.iloc[:, 0], "max", "columns")
    with pytest.raises(rk.AxesError, match="axis 2 is out of range for a tensor of rank 2"):
        reduce(df, "max", 2)


def test_indexes_of_all_kinds_stay():
    index = pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["k", "n"])
    columns = pd.date_range("2024-01-01", periods=3, name="day")
    df = pd.DataFrame(np.arange(12).reshape(4, 3), index, columns)
    pd.testing.assert_index_equal(reduce(df, "max", 1).index, index)
    pd.testing.assert_index_equal(reduce(df, "max", 0).index, columns)
    pd.testing.assert_index_equal(reduce(df, "max", 0, keepdims=True).columns, columns)


@pytest.mark.parametrize(
    ("column", "missing"),
    [
        (pd.array([1, None, None], dtype="Int64"), 2),
        (pd.array([1.5, None, 2], dtype="Float32"), 1),
        (pd.array([1, None, 3], dtype="int64[pyarrow]"), 1),
        (pd.array([True, None, False], dtype="boolean"), 1),
        (np.array([1.0, np.nan, np.nan]), 2),
    ],
)
def test_a_missing_value_is_an_error(column, missing):
    good = pd.Series([1, 0, 1]).astype(pd.Series(column).dtype)
    df = pd.DataFrame({"good": good, "bad": column})
    what = "1 value is" if missing == 1 else f"{missing} values are"
    for axes in (0, 1, None):
        with pytest.raises(rk.ArgumentError, match=f"reduce_max: {what} missing in column 'bad'"):
            reduce(df, "max", axes, strict=False)
    with pytest.raises(rk.ArgumentError, match=r"'bad'; .* series.fillna\(value\) or ser"):
        reduce(df["bad"], "max", strict=False)
    filled = df.fillna(False if df["bad"].dtype == "boolean" else 0)
    assert len(reduce(filled, "max", 1, strict=False)) == 3


def test_a_series_without_a_name_is_not_called_none():
    with pytest.raises(rk.ArgumentError, match="1 value is missing in the Series; fill or drop"):
        reduce(pd.Series([1, None], dtype="Int64"), "max")
    with pytest.raises(rk.ArgumentError, match="1 value is missing in the Series; fill or drop"):
        reduce(pd.Series([1, np.nan]), "max")
    with pytest.raises(rk.ArgumentError, match="missing in the Series 'price'; fill"):
        reduce(pd.Series([1, np.nan], name="price"), "max")
    with pytest.raises(rk.DTypeError, match=r"elements of the Series \(complex128\) cannot"):
        reduce(pd.Series([1j]), "max")


def test_nan_is_a_value_if_one_says_so():
    df = pd.DataFrame({"a": [1.0, np.nan], "b": [3.0, 4.0]})
    got = reduce(df, "max", 0, allow_nan=True)
    assert np.isnan(got["a"])
    assert got["b"] == 4
    with pytest.raises(rk.ArgumentError, match=r"1 value is missing in column 'a'.*allow_nan=True"):
        reduce(df, "sum", 1)
    with pytest.raises(TypeError, match="allow_nan='no' is not a flag"):
        reduce(df, "max", allow_nan="no")


def test_nan_is_a_value_in_a_series_and_beside_nullable_columns():
    gaps = pd.Series([1.0, np.nan, 3.0])
    assert np.isnan(reduce(gaps, "max", allow_nan=True))
    with pytest.raises(rk.ArgumentError, match=r"in the Series; .*allow_nan=True to take NaN"):
        reduce(gaps, "max")
    mixed = pd.DataFrame({"a": pd.array([1.0, 2.0, 3.0], dtype="Float64"), "b": gaps})
    assert np.isnan(reduce(mixed, "max", 0, allow_nan=True)["b"])
    assert reduce(mixed, "max", 0, allow_nan=True)["a"] == 3
    assert np.isnan(reduce(mixed, "max", 1, allow_nan=True)).tolist() == [False, True, False]
    with pytest.raises(rk.ArgumentError, match=r"in column 'b'; .*allow_nan=True"):
        reduce(mixed, "max", 1)


def test_sparse_columns_are_read_as_what_they_hold():
    df = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 5]), "b": [1, 2, 3]})
    assert reduce(df, "max", 1).tolist() == [1, 2, 5]


def test_a_sum_of_infinities_is_no_missing_value():
    df = pd.DataFrame({"a": [np.inf, -np.inf]})
    assert np.isnan(reduce(df, "sum", 0)["a"])


def test_mixed_columns_are_an_error_that_names_them():
    df = pd.DataFrame({"i": [1, 2], "f": [1.0, 2.0], "g": [3.0, 4.0], "s": ["x", "y"]})
    with pytest.raises(rk.DTypeError, match=r"elements of column 's' \(str\) cannot be reduced"):
        reduce(df, "max", 0)
    with pytest.raises(rk.DTypeError, match="int64 in 'i'; float64 in 'f', 'g'"):
        reduce(df[["i", "f", "g"]], "max", 0)
    assert reduce(df[["f", "g"]], "max", 0).tolist() == [2, 4]
    same = pd.DataFrame({"a": [1, 2], "b": pd.array([3, 4], dtype="Int64")})
    got = reduce(same, "max", 1)
    assert (got.tolist(), got.dtype) == ([3, 4], np.dtype("int64"))


@pytest.mark.parametrize(
    "column",
    [pd.Categorical(["a", "b"]), pd.to_datetime(["2024", "2025"]), [1j, 2j], [object(), 1],
     pd.array(["a", "b"], dtype="string"), pd.to_timedelta([1, 2]), pd.interval_range(0, 2),
     pd.period_range("2024", periods=2, freq="D")],
)  # fmt: skip
def test_types_that_no_reduction_takes(column):
    with pytest.raises(rk.DTypeError, match=r"column 'x' .* cannot be reduced"):
        reduce(pd.DataFrame({"x": column}), "max", 0)
    with pytest.raises(rk.DTypeError, match=r"Series 'x' .* cannot be reduced; convert them"):
        reduce(pd.Series(column, name="x"), "max")


@pytest.mark.parametrize("method", ["reduce_max", "reduce_min", "reduce_sum"])
@pytest.mark.parametrize("make", [frame, lambda name: frame(name)["a"]], ids=["frame", "series"])
def test_keywords_of_pandas_are_refused_with_the_way_out(make, method):
    call = getattr(make("float64").reducekit, method)
    with pytest.raises(TypeError, match=f"^{method}: unexpected .* 'axis'; use axes=$"):
        call(axis=0)
    with pytest.raises(TypeError, match=f"^{method}: .* 'skipna'; NaN is not .*allow_nan=True to"):
        call(skipna=False)
    with pytest.raises(TypeError, match=f"^{method}: .* 'numeric_only'; .*select_dtypes"):
        call(numeric_only=True)


def test_flags_are_read_whatever_way_a_call_takes():
    apart = pd.DataFrame({name: np.ones(20_000, np.float32) for name in "abc"}, copy=False)
    for frame, call in [
        (apart, {"axes": 1}),
        (apart, {"axes": 0}),
        (apart, {"axes": [], "noop_with_empty_axes": True}),
        (apart["a"], {"axes": [], "noop_with_empty_axes": True}),
    ]:
        for flag in ("progress", "exact"):
            with pytest.raises(TypeError, match=f"^reduce_sum: {flag}='yes' is not a flag; use"):
                frame.reducekit.reduce_sum(**call, **{flag: "yes"})
            frame.reducekit.reduce_sum(**call, **{flag: False})


def test_opsets_and_flags():
    df = frame("int8")
    with pytest.raises(rk.DTypeError, match="ReduceMax-11 does not take int8"):
        reduce(df, "max", 0, opset=11)
    with rk.opset(11), pytest.raises(rk.DTypeError, match="ReduceMax-11"):
        reduce(df, "max", 0)
    assert len(reduce(df, "max", 0, opset=11, strict=False)) == 4
    copy = reduce(df, "max", noop_with_empty_axes=True)
    pd.testing.assert_frame_equal(copy, df)
    assert copy is not df


def test_nothing_to_reduce():
    with pytest.raises(rk.ArgumentError, match="the DataFrame has no columns"):
        reduce(pd.DataFrame(), "max")
    empty = pd.DataFrame({"a": np.array([], np.int32)})
    assert reduce(empty, "max", 0).tolist() == [-(2**31)]
    assert reduce(empty, "max", 1).tolist() == []
    assert reduce(empty.astype("Int32"), "sum", 0).tolist() == [0]
    assert reduce(empty.astype("Int32"), "sum", 1).tolist() == []


def test_the_frame_is_not_changed():
    for storage in ("numpy", "nullable", "arrow"):
        df = make(frame("float64"), storage)
        before = df.copy(deep=True)
        for op in OPS:
            reduce(df, op, 0)
            reduce(df, op, 1)
        pd.testing.assert_frame_equal(df, before)


def test_a_frame_of_one_array_is_not_copied():
    df = frame("float64", rows=1000)
    array = rk.Tensor.from_frame(df).numpy()
    assert np.shares_memory(array, df.to_numpy())


def test_tensor_from_frame_and_back():
    df = frame("int32")
    t = rk.Tensor.from_frame(df)
    assert (t.dims, t.shape, t.dtype) == (("row", "column"), (5, 4), np.int32)
    pd.testing.assert_frame_equal(t.to_frame(df.index, df.columns.rename("column")).rename_axis(
        index=None, columns=None), df)  # fmt: skip
    named = df.rename_axis(index="time", columns="sensor")
    assert rk.Tensor.from_frame(named, opset=18).dims == ("time", "sensor")
    pd.testing.assert_frame_equal(
        rk.Tensor.from_frame(named).to_frame(named.index, named.columns), named
    )
    assert rk.Tensor.from_frame(df, dims=("y", "x")).dims == ("y", "x")
    assert rk.Tensor.from_frame(df["a"]).dims == ("row",)
    same = rk.Tensor.from_frame(df.rename_axis(index="k", columns="k"))
    assert same.dims == ("row", "column")
    big = pd.DataFrame({"a": [2**62 + 1], "b": [1]}).astype("Int64")
    assert rk.Tensor.from_frame(big).reduce_max().item() == 2**62 + 1
    for wrong in (df.assign(x="s"), df.assign(x=1.5)):
        with pytest.raises(rk.DTypeError, match="'x'"):
            rk.Tensor.from_frame(wrong)
    with pytest.raises(rk.ArgumentError, match="missing in column 'a'"):
        rk.Tensor.from_frame(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}))
    with pytest.raises(TypeError, match="frame has type list"):
        rk.Tensor.from_frame([1])


def test_tensor_to_frame():
    assert rk.Tensor([1, 2], dims="t").to_frame().columns.tolist() == ["value"]
    assert rk.Tensor([1, 2], dims="t").to_frame().index.name == "t"
    assert rk.Tensor(3.5).to_frame().iloc[0, 0] == 3.5
    big_endian = rk.Tensor(np.array([[1, 2]], ">i4")).to_frame()
    assert set(big_endian.dtypes) == {np.dtype("int32")}
    with pytest.raises(rk.ArgumentError, match="rank 3 is no table"):
        rk.Tensor(np.zeros((1, 1, 1))).to_frame()
    with pytest.raises(rk.DTypeError, match="no bfloat16"):
        rk.Tensor(np.zeros((1, 1), by_name("bfloat16").numpy_dtype)).to_frame()
    with pytest.raises(rk.ArgumentError, match="1 label for an axis of size 2; give one for"):
        rk.Tensor([[1, 2]]).to_frame(columns=["a"])


def test_awkward_values():
    df = frame("float64", rows=30, values=awkward)
    for op in OPS:
        with np.errstate(all="ignore"):
            want = FUNCTIONS[op](df.to_numpy(), 0, keepdims=False)
            assert_same(reduce(df, op, 0, allow_nan=True).to_numpy(), want)


def test_nan_in_arrow_is_a_value_and_the_way_out_helps():
    df = pa.table({"a": [1.0, float("nan")], "b": [1.0, 2.0]}).to_pandas(types_mapper=pd.ArrowDtype)
    assert not df.isna().to_numpy().any()
    for axes in (0, 1, None):
        with pytest.raises(rk.ArgumentError, match=r"1 value is NaN in column 'a'; .*allow_nan"):
            reduce(df, "max", axes)
    with pytest.raises(rk.ArgumentError, match="1 value is NaN in column 'a'") as caught:
        reduce(df, "max", 0)
    assert "df.mask(df != df, value) or df[(df == df).all(axis=1)]" in str(caught.value)
    assert reduce(df.mask(df != df, 0.0), "min", 0).tolist() == [0, 1]
    assert reduce(df[(df == df).all(axis=1)], "max", 0).tolist() == [1, 1]
    series = df["a"]
    with pytest.raises(rk.ArgumentError, match="1 value is NaN in the Series 'a'") as caught:
        reduce(series, "max")
    assert "series.mask(series != series, value) or series[series == series]" in str(caught.value)
    assert reduce(series.mask(series != series, 0.0), "min") == 0
    assert reduce(series[series == series], "max") == 1


@pytest.mark.parametrize("dtype", ["float[pyarrow]", "double[pyarrow]", "halffloat[pyarrow]"])
def test_nan_in_arrow_comes_back_as_nan(dtype):
    kind = pd.Series([1.0], dtype=dtype).dtype
    arrow = pa.array(np.array([1, np.nan], kind.numpy_dtype))
    df = pd.DataFrame({"a": pd.Series(pd.arrays.ArrowExtensionArray(arrow))})
    df["b"] = df["a"].iloc[::-1].reset_index(drop=True)
    for axes in (0, 1, None):
        for keep in (False, True):
            for obj in (df, df["a"]) if axes != 1 else (df,):
                got = reduce(obj, "max", axes, keepdims=keep, allow_nan=True)
                assert not np.asarray(pd.isna(got)).any() or np.isscalar(got)
                assert np.isnan(np.asarray(got, float)).all()
                assert not hasattr(got, "dtypes") or set(np.ravel(got.dtypes)) <= {kind}


def test_infinities_of_both_signs_sum_to_nan_as_in_pandas():
    for dtype, null in (("double[pyarrow]", False), ("Float64", True), ("float64", True)):
        df = pd.DataFrame({"a": [np.inf, -np.inf]}, dtype=dtype)
        with np.errstate(invalid="ignore"):
            want = df.sum()
        got = reduce(df, "sum", 0)
        assert got.dtype == want.dtype
        assert got.isna().tolist() == want.isna().tolist() == [null]
        assert np.isnan(got.to_numpy(float, na_value=np.nan)).all()
        assert np.isnan(reduce(df, "sum"))


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]", "Sparse[float64]"])
def test_missing_values_are_counted_in_all_columns(dtype):
    df = pd.DataFrame({"a": [np.nan, 1], "b": [np.nan, np.nan], "c": [1.0, 2.0]}).astype(dtype)
    twice = df.set_axis(["x", "x", "c"], axis=1)
    for axes in (0, 1, None):
        with pytest.raises(rk.ArgumentError, match="3 values are missing in columns 'a', 'b';"):
            reduce(df, "max", axes)
        with pytest.raises(rk.ArgumentError, match="3 values are missing in columns 'x', 'x';"):
            reduce(twice, "max", axes)
    mixed = df.assign(d=pd.array([1, None], dtype="Float64"))
    with pytest.raises(rk.ArgumentError, match="4 values are missing in columns 'a', 'b', 'd';"):
        reduce(mixed, "max", 0)
    assert reduce(mixed.fillna(0.0), "max", 0).tolist() == [1, 0, 2, 1]


def test_missing_integers_are_counted_in_all_columns():
    df = pd.DataFrame({"a": [None, 1], "b": [None, None]}, dtype="Int64")
    with pytest.raises(rk.ArgumentError, match="3 values are missing in columns 'a', 'b';"):
        reduce(df, "max", 0)


def test_labels_that_repeat_are_each_called_by_their_dtype():
    df = pd.concat([pd.Series([1j]), pd.Series(["s"])], axis=1).set_axis(["x", "x"], axis=1)
    with pytest.raises(rk.DTypeError, match=r"columns 'x' \(complex128\), 'x' \(str\) cannot"):
        reduce(df, "max")


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]"])
def test_missing_values_are_an_error_even_if_nothing_is_reduced(dtype):
    df = pd.DataFrame({"a": [1.0, np.nan], "b": [1.0, 2.0]}).astype(dtype)
    for obj in (df, df["a"]):
        with pytest.raises(rk.ArgumentError, match="1 value is missing in"):
            reduce(obj, "max", noop_with_empty_axes=True)
    if dtype == "float64":
        same = reduce(df, "max", noop_with_empty_axes=True, allow_nan=True)
        pd.testing.assert_frame_equal(same, df)


def test_nan_in_sparse_columns_is_a_value_if_one_says_so():
    series = pd.Series(pd.arrays.SparseArray([1.0, np.nan]))
    for obj in (series, series.to_frame("a")):
        with pytest.raises(rk.ArgumentError, match=r"1 value is missing in .*allow_nan=True"):
            reduce(obj, "max")
        assert np.isnan(reduce(obj, "max", allow_nan=True))
        assert np.isnan(rk.reduce_max(obj)).all()
        assert reduce(obj.fillna(0.0), "max") == 1


# How it is registered.


@pytest.mark.parametrize(
    "imports",
    ["import pandas as pd, reducekit", "import pandas as pd, reducekit.pandas",
     "import reducekit, pandas as pd, reducekit.pandas",
     "import reducekit.pandas, pandas as pd, reducekit.interop.pandas"],
)  # fmt: skip
def test_registration(imports):
    assert fresh(f"{imports}; print(pd.DataFrame({{'a': [1]}}).reducekit.reduce_max())") == "1"


def test_imported_before_pandas_the_accessor_waits_for_data():
    code = (
        "import reducekit as rk, pandas as pd; s = pd.Series([1]); before = hasattr(s, 'reducekit')"
    )
    assert (
        fresh(f"{code}; rk.reduce_max(s); print(before, hasattr(s, 'reducekit'))") == "False True"
    )
