"""The accessor of dask's DataFrame and Series gives what that of pandas gives, lazily."""

import itertools
import pickle

import numpy as np
import pytest
from interpreter import fresh
from oracles import OPS, assert_same, outcome

import reducekit as rk

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
import dask  # noqa: E402

import reducekit.dask  # noqa: E402
import reducekit.pandas  # noqa: E402


def _refuse(*args, **kwargs):
    raise AssertionError("the call computed something")


@pytest.fixture(autouse=True)
def _nothing_is_computed_by_the_call():
    with dask.config.set(scheduler=_refuse):
        yield


def computed(lazy):
    assert dask.is_dask_collection(lazy)
    return lazy.compute(scheduler="synchronous")


def same(got, want):
    assert type(got) is type(want)
    if isinstance(want, pd.DataFrame):
        pd.testing.assert_frame_equal(got, want, check_exact=True)
    elif isinstance(want, pd.Series):
        pd.testing.assert_series_equal(got, want, check_exact=True)
    else:
        assert_same(np.asarray(got), np.asarray(want))


def check(op, data, partitions, axes, **more):
    exact = {"exact": True} if op == "sum" else {}
    want = outcome(getattr(data.reducekit, f"reduce_{op}"), axes, **exact, **more)
    lazy = dd.from_pandas(data, npartitions=partitions, sort=False)
    made = outcome(getattr(lazy.reducekit, f"reduce_{op}"), axes, **more)
    got = made if isinstance(made, Exception) else outcome(computed, made)
    if isinstance(want, Exception):
        assert type(got) is type(want), got
        return
    assert not isinstance(got, Exception), got
    same(got, want)
    if hasattr(want, "dtypes"):
        assert np.all(made._meta.dtypes == want.dtypes)


def frames():
    rng = np.random.default_rng(1)
    numbers = rng.integers(-100, 100, (7, 3))
    for dtype in ("int8", "uint16", "int64", "float32", "float64", "bool", "Int64", "Float32"):
        yield pd.DataFrame(numbers if dtype[0] != "u" else abs(numbers), range(10, 17), list("abc"),
                           dtype=dtype)  # fmt: skip
    yield pd.DataFrame({"a": [2**53 + 1, 3, 2], "b": [1, 2**62 + 1, 5]}, dtype="Int64")
    yield pd.DataFrame({"a": [1e16, 1.0, -1e16, 2.0], "b": [1e300, 1e-300, 1.5, -1e300]})
    yield pd.DataFrame({"a": [-0.0, -0.0], "b": [0.0, -0.0]})
    yield pd.DataFrame({"a": [2**63 - 1, 1], "b": [5, 6]})
    mixed = pd.DataFrame({"a": [1, 2, 3]}, dtype="int64")
    yield mixed.assign(b=pd.array([7, 8, 2**60 + 1], "Int64"))
    yield pd.DataFrame({"a": [1, 5, 2], "b": [7, 3, 2]}, dtype="int32[pyarrow]")


@pytest.mark.parametrize("frame", list(frames()), ids=lambda f: str(f.dtypes.iloc[-1]))
@pytest.mark.parametrize("op", OPS)
def test_frames_and_series_give_what_pandas_gives(op, frame):
    for axes, keepdims in itertools.product(
        (None, 0, 1, "index", "columns", [0, 1]), (False, True)
    ):
        check(op, frame, 3, axes, keepdims=keepdims, strict=False)
    for keepdims in (False, True):
        check(op, frame["b"], 2, None, keepdims=keepdims, strict=False)
    check(op, frame, 2, None, noop_with_empty_axes=True, strict=False)


@pytest.mark.parametrize("op", OPS)
def test_partitions_without_rows(op):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5, 9.5], "b": [4.0, 3.0, 2.0, -1.0]})
    lazy = dd.from_pandas(frame, npartitions=4)
    for limit in (2, 9, 99):
        some, kept = frame[frame.a > limit], lazy[lazy.a > limit]
        for axes in (None, 0, 1):
            want = getattr(some.reducekit, f"reduce_{op}")(axes)
            same(computed(getattr(kept.reducekit, f"reduce_{op}")(axes)), want)


def test_many_partitions_are_joined_as_a_tree():
    values = np.random.default_rng(3).standard_normal((200, 2)) * 1e10
    check("sum", pd.DataFrame(np.concatenate([values, -values, [[1e-9, 3]]])), 90, 0)


@pytest.mark.parametrize("axes", [None, 0, 1])
def test_missing_values_are_refused_when_they_are_computed(axes):
    frame = pd.DataFrame({"a": [1, None, 3], "b": [4, 5, 6]}, dtype="Int64")
    lazy = dd.from_pandas(frame, npartitions=2)
    for op in OPS:
        with pytest.raises(
            rk.ArgumentError, match=rf"reduce_{op}: 1 value is missing in column 'a'"
        ):
            computed(getattr(lazy.reducekit, f"reduce_{op}")(axes))
    holes = dd.from_pandas(pd.DataFrame({"a": [1, np.nan, 3], "b": [4.0, 5, 6]}), npartitions=2)
    for op in OPS:
        method = getattr(holes.reducekit, f"reduce_{op}")
        with pytest.raises(rk.ArgumentError, match="missing in column 'a'.*allow_nan=True"):
            computed(method(axes))
        found = np.asarray(computed(method(axes, allow_nan=True)))
        assert np.isnan(found).any()
    with pytest.raises(rk.ArgumentError, match="missing in column 'a'"):
        computed(lazy.reducekit.reduce_max([], noop_with_empty_axes=True))
    with pytest.raises(rk.ArgumentError, match="missing in the Series 'a'"):
        computed(holes.a.reducekit.reduce_sum())


def test_infinities_that_cancel_are_not_missing():
    check("sum", pd.Series([np.inf, -np.inf, 1.0]), 3, None)


def test_what_is_wrong_with_the_call_is_said_at_once():
    lazy = dd.from_pandas(pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5]}), npartitions=2)
    for call, kind, text in [
        (lazy.reducekit.reduce_max, rk.DTypeError, "int64 in 'a'; float64 in 'b'"),
        (lambda: lazy[["a"]].reducekit.reduce_max(2), rk.AxesError, "axis 2 is out of range"),
        (lambda: lazy[["a"]].reducekit.reduce_max("x"), rk.AxesError, "there is no axis 'x'"),
        (lambda: lazy.a.reducekit.reduce_max(opset=99), rk.OpsetError, "99"),
        (lambda: lazy.a.reducekit.reduce_max(allow_nan=3), rk.ArgumentError, "allow_nan=3"),
        (lambda: lazy.a.reducekit.reduce_sum(exact=3), rk.ArgumentError, "exact=3"),
        (lambda: lazy.a.reducekit.reduce_sum(skipna=True), TypeError, "skipna"),
        (lazy[[]].reducekit.reduce_sum, rk.ArgumentError, "has no columns"),
    ]:
        with pytest.raises(kind, match=text):
            call()
    words = dd.from_pandas(pd.DataFrame({"a": ["x", "y"]}), npartitions=1)
    with pytest.raises(rk.DTypeError, match="column 'a'"):
        words.reducekit.reduce_max()


def test_the_opset_is_that_of_the_call():
    lazy = dd.from_pandas(pd.DataFrame({"a": np.int8([1, 2])}), npartitions=2)
    with rk.opset(11), pytest.raises(rk.DTypeError, match="ReduceMax-11 does not take int8"):
        lazy.reducekit.reduce_max(0)
    with rk.opset(12):
        late = lazy.reducekit.reduce_max(0), lazy.reducekit.reduce_max(1)
    with rk.opset(1):
        assert [computed(each).tolist() for each in late] == [[2], [1, 2]]


def test_a_partition_of_another_type_than_was_said_is_refused():
    lazy = dd.from_map(
        lambda n: pd.DataFrame({"a": [n + 0.5]}), [1, 2], meta=pd.DataFrame({"a": [1]}),
        enforce_metadata=False,
    )  # fmt: skip
    for axes in (0, 1):
        with pytest.raises(rk.DTypeError, match=r"type float64, where the meta .* says int64"):
            computed(lazy.reducekit.reduce_max(axes))


def test_names_are_the_same_for_the_same_call_and_it_pickles():
    lazy = dd.from_pandas(pd.DataFrame({"a": [1, 5], "b": [4, 2]}), npartitions=2)
    top = lazy.reducekit.reduce_max(0)
    assert top._name == lazy.reducekit.reduce_max(0)._name
    assert top._name != lazy.reducekit.reduce_min(0)._name
    assert top._name.startswith("reduce_max")
    assert computed(pickle.loads(pickle.dumps(top))).tolist() == [5, 4]
    assert computed(top.sum()) == 9


@pytest.mark.parametrize(
    "imports",
    ["import dask.dataframe as dd, reducekit", "import dask.dataframe as dd, reducekit.dask",
     "import reducekit, dask.dataframe as dd, reducekit.dask",
     "import reducekit.dask, dask.dataframe as dd, reducekit.interop.dask_frames"],
)  # fmt: skip
def test_the_accessor_is_registered_once_and_without_warnings(imports):
    code = (
        f"{imports}\nprint('reducekit' in dd.DataFrame._accessors, hasattr(dd.Series, 'reducekit'))"
    )
    assert fresh(code) == "True True"
