"""Tensor: what it holds, what its methods give, how names follow."""

import array
import copy
import itertools
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest
from arrays import FLOATS, LAYOUTS, NAMES, SHARING, awkward, nans, ordinary, subsets
from hypothesis import given
from oracles import FUNCTIONS, OPS, assert_same, outcome
from strategies import indices

import reducekit as rk
from reducekit import _dlpack
from reducekit.dtypes import by_name

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def rng():
    return np.random.default_rng(20)


def method(tensor, op):
    return getattr(tensor, f"reduce_{op}")


def cube():
    return rk.Tensor(
        np.arange(24, dtype=np.float32).reshape(2, 3, 4), dims=("batch", "row", "column")
    )


class OnlyDLPack:
    """A producer with no array protocol but DLPack."""

    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **kwargs):
        return _dlpack.export(self.data, **kwargs)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


class OldDLPack(OnlyDLPack):
    """A producer from before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return _dlpack.export(self.data, stream=stream)


class OnlyArray:
    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype=dtype, copy=copy)


# Making one.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_is_wrapped_not_copied(name, layout):
    data = LAYOUTS[layout](ordinary(name, (3, 4), rng()))
    tensor = rk.Tensor(data)
    assert np.shares_memory(tensor.numpy(), data)
    assert tensor.numpy().dtype == data.dtype
    assert type(tensor.numpy()) is np.ndarray
    assert (tensor.shape, tensor.ndim, tensor.size) == ((3, 4), 2, 12)
    assert tensor.nbytes == 12 * data.itemsize
    assert (tensor.dims, tensor.opset) == (None, None)


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (5, np.asarray(5)),
        (2.5, np.asarray(2.5)),
        (True, np.asarray(True)),
        ([[1, 2], [3, 4]], np.asarray([[1, 2], [3, 4]])),
        ((), np.asarray(())),
        (np.float32(1.5), np.asarray(np.float32(1.5))),
        (range(3), np.arange(3)),
        (array.array("f", [1, 2]), np.float32([1, 2])),
        (bytearray(b"ab"), np.uint8([97, 98])),
        (memoryview(b"ab"), np.uint8([97, 98])),
        (OnlyArray(np.int8([1, 2])), np.int8([1, 2])),
        ([rk.Tensor([1, 2]), rk.Tensor([3, 4])], np.asarray([[1, 2], [3, 4]])),
    ],
)
def test_array_likes(data, want):
    assert_same(rk.Tensor(data).numpy(), want)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("producer", [OnlyDLPack, OldDLPack])
def test_a_dlpack_producer_is_wrapped_not_copied(name, producer):
    data = ordinary(name, (2, 3), rng())[::-1, 1:]
    tensor = rk.Tensor(producer(data))
    assert_same(tensor.numpy().copy(), np.ascontiguousarray(data))
    assert np.shares_memory(tensor.numpy(), data)


def test_of_a_tensor_keeps_names_and_opset_unless_others_are_given():
    first = rk.Tensor([[1, 2]], dims=("a", "b"), opset=13)
    again = rk.Tensor(first)
    assert (again.dims, again.opset) == (("a", "b"), 13)
    assert again.numpy() is first.numpy()
    other = rk.Tensor(first, dims=("x", None), opset="latest")
    assert (other.dims, other.opset) == (("x", None), rk.schema.NEWEST_OPSET)


@pytest.mark.parametrize(
    "data",
    [
        np.complex64([1]), "text", ["a", "b"], b"bytes", None, object(), {"a": 1},
        np.array(["2020-01-01"], "datetime64[D]"), np.zeros(2, [("x", "f4")]),
        np.array([1, None]), 2**70, ml_dtypes.float8_e4m3fn(1),
    ],
    ids=lambda data: type(data).__name__,
)  # fmt: skip
def test_elements_that_no_reduction_takes_are_refused(data):
    with pytest.raises(rk.DTypeError, match=r"^Tensor: elements of dtype .* cannot be reduced; "):
        rk.Tensor(data)


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("on another device")


@pytest.mark.parametrize("data", [[[1, 2], [3]], Broken()])
def test_what_cannot_be_read_as_an_array(data):
    with pytest.raises(TypeError, match=r"^Tensor: data of type \w+ cannot be read as an array"):
        rk.Tensor(data)


class Arrow:
    """What an Arrow array with nulls looks like."""

    null_count = 2

    def drop_null(self):
        raise NotImplementedError

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, np.nan, np.nan])


class Polars(Arrow):
    drop_null = property()

    def null_count(self):
        return 1


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            np.ma.masked_array([1.0, 2.0], [True, False]),
            (
                "Tensor: 1 element is missing in the MaskedArray; "
                "fill or drop first, as with data.filled(value) or data.compressed()"
            ),
        ),
        (
            Arrow(),
            (
                "Tensor: 2 elements are missing in the Arrow; "
                "fill or drop first, as with data.fill_null(value) or data.drop_null()"
            ),
        ),
        (
            Polars(),
            (
                "Tensor: 1 element is missing in the Polars; "
                "fill or drop first, as with data.fill_null(value) or data.drop_nulls()"
            ),
        ),
    ],
)
def test_missing_elements_are_not_read_as_something_else(data, text):
    with pytest.raises(rk.ArgumentError) as caught:
        rk.Tensor(data)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", ["Int64", "Float64", "boolean"])
def test_missing_elements_of_pandas_are_not_read_as_nan(name):
    pandas = pytest.importorskip("pandas")
    holed = pandas.array([1, None, 0], dtype=name)
    for data in (holed, pandas.Series(holed), pandas.Index(holed)):
        with pytest.raises(rk.ArgumentError) as caught:
            rk.Tensor(data)
        kind = type(data).__name__
        assert str(caught.value) == (
            f"Tensor: 1 element is missing in the {kind}; "
            "fill or drop first, as with data.fillna(value) or data.dropna()"
        )
        assert rk.Tensor(data.dropna()).tolist() == [1, 0]
    for frame in ({"a": [1.0, np.nan, 2.0], "b": holed}, {"b": holed}):
        with pytest.raises(rk.ArgumentError, match="1 element is missing in the DataFrame"):
            rk.Tensor(pandas.DataFrame(frame))
    assert np.isnan(rk.Tensor(pandas.DataFrame({"a": [np.nan]})).item())
    assert np.isnan(rk.Tensor(pandas.Series([np.nan])).item())


def test_a_masked_array_that_masks_nothing():
    assert_same(rk.Tensor(np.ma.masked_array([1.0, 2.0])).numpy(), np.asarray([1.0, 2.0]))


# Names.


@pytest.mark.parametrize(
    ("dims", "want"),
    [
        (None, None),
        (("a", "b"), ("a", "b")),
        (["a", None], ("a", None)),
        ((None, None), (None, None)),
        (iter("ab"), ("a", "b")),
        (np.array(["a", "b"]), ("a", "b")),
        ({"a": 1, "b": 2}.keys(), ("a", "b")),
        (("with space", "\u901a\u9053"), ("with space", "\u901a\u9053")),
    ],
)
def test_valid_names(dims, want):
    got = rk.Tensor([[1, 2]], dims=dims).dims
    assert got == want
    assert got is None or all(name is None or type(name) is str for name in got)


def test_a_single_name():
    assert rk.Tensor([1, 2], dims="time").dims == ("time",)
    assert rk.Tensor(1, dims=()).dims == ()


@pytest.mark.parametrize(
    ("dims", "kind", "text"),
    [
        (
            ("a",), rk.ArgumentError,
            "Tensor: dims=('a',) has 1 name for a tensor of rank 2; give one for each axis",
        ),
        (
            "row", rk.ArgumentError,
            "Tensor: dims=('row',) has 1 name for a tensor of rank 2; give one for each axis",
        ),
        (
            "abc", rk.ArgumentError,
            "Tensor: dims=('abc',) has 1 name for a tensor of rank 2; give one for each axis",
        ),
        (
            (), rk.ArgumentError,
            "Tensor: dims=() has 0 names for a tensor of rank 2; give one for each axis",
        ),
        (
            ("a", "a"), rk.ArgumentError,
            "Tensor: the name 'a' is given to axes 0 and 1; names must differ",
        ),
        (
            ("a", ""), rk.ArgumentError,
            "Tensor: the name of axis 1 is empty; use None for an axis without a name",
        ),
        (
            ("a", 1), TypeError,
            ("Tensor: the name of axis 1, 1, has type int; "
            "a name is a str, or None for an axis without a name"),
        ),
        (
            (["a"], "b"), TypeError,
            ("Tensor: the name of axis 0, ['a'], has type list; "
            "a name is a str, or None for an axis without a name"),
        ),
        (
            {"a", "b"}, TypeError,
            " has type set; use a sequence with one name for each axis, such as ('row', 'column')",
        ),
        (
            {"a": 0, "b": 1}, TypeError,
            ("Tensor: dims={'a': 0, 'b': 1} has type dict; "
            "use a sequence with one name for each axis, such as ('row', 'column')"),
        ),
        (
            2, TypeError,
            ("Tensor: dims=2 has type int; "
            "use a sequence with one name for each axis, such as ('row', 'column')"),
        ),
    ],
)  # fmt: skip
def test_bad_names(dims, kind, text):
    with pytest.raises(kind) as caught:
        rk.Tensor([[1, 2]], dims=dims)
    assert type(caught.value) is kind
    assert str(caught.value).endswith(text)


@pytest.mark.parametrize(
    ("dims", "axis", "text"),
    [
        (
            ("batch", "channel"), "chanel",
            ("reduce_max: there is no axis 'chanel' (did you mean 'channel'?); "
            "use 'batch' or 'channel'"),
        ),
        (
            ("batch", "channel"), "Batch",
            ("reduce_max: there is no axis 'Batch' (did you mean 'batch'?); "
            "use 'batch' or 'channel'"),
        ),
        (("row", None), "zzz", "reduce_max: there is no axis 'zzz'; use 'row'"),
        (
            (None, None), "row",
            ("reduce_max: there is no axis 'row', as no axis has a name; "
            "use positions, or name the axes with dims="),
        ),
        (
            None, "row",
            ("reduce_max: there is no axis 'row', as no axis has a name; "
            "use positions, or name the axes with dims="),
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("listed", [False, True])
def test_a_name_that_no_axis_has(dims, axis, text, listed):
    tensor = rk.Tensor([[1.0, 2.0]], dims=dims)
    with pytest.raises(rk.AxesError) as caught:
        tensor.reduce_max([axis] if listed else axis)
    assert str(caught.value) == text


def test_a_long_list_of_names_is_cut():
    tensor = rk.Tensor(np.zeros((1,) * 20), dims=[f"axis{i}" for i in range(20)])
    with pytest.raises(rk.AxesError, match=r"'axis9' or 10 others$"):
        tensor.reduce_max("qqq")


# Reductions.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", OPS)
def test_methods_give_what_the_functions_give(op, name):
    data = awkward(name, (2, 3, 2), rng())
    tensor = rk.Tensor(data, dims=("a", "b", "c"))
    for axes, keepdims, opset in itertools.product(subsets(3), [True, False], [1, 12, 20]):
        named = tuple("abc"[axis] if axis % 2 else axis for axis in axes)
        kwargs = {"keepdims": keepdims, "opset": opset, "strict": False}
        want = outcome(FUNCTIONS[op], data, axes, **kwargs)
        got = outcome(method(tensor, op), named, **kwargs)
        if isinstance(want, Exception):
            assert_same(got, want)
            continue
        assert_same(got.numpy(), want)
        reduced = axes or (0, 1, 2)
        kept = (
            tuple("abc") if keepdims else tuple(c for i, c in enumerate("abc") if i not in reduced)
        )
        assert got.dims == kept
        assert got.opset is None


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("args", "positions"),
    [
        ((), None),
        (("row",), 1),
        ((["row"],), [1]),
        (("column", "batch"), [2, 0]),
        (("column", 0), [2, 0]),
        ((-1, "batch"), [2, 0]),
        ((np.int64(1), "batch"), [1, 0]),
        ((("batch", 1),), [0, 1]),
        (({"batch", "row"},), [0, 1]),
        ((iter(["batch", "row"]),), [0, 1]),
        (({"batch": 1}.keys(),), [0]),
        ((np.array(["row", "batch"]),), [1, 0]),
        ((np.array("row"),), 1),
        ((np.str_("row"),), 1),
        ((np.array([0, -1]),), [0, 2]),
        ((rk.Tensor([0, 1]),), [0, 1]),
        ((rk.Tensor(2),), 2),
        (([],), []),
    ],
)
def test_ways_to_give_axes(op, args, positions):
    tensor = cube()
    args = tuple(copy.copy(a) if isinstance(a, (list, tuple)) else a for a in args)
    args = tuple(iter(["batch", "row"]) if hasattr(a, "__next__") else a for a in args)
    got = method(tensor, op)(*args, keepdims=False)
    assert_same(got.numpy(), FUNCTIONS[op](tensor.numpy(), positions, keepdims=False))
    gone = range(3) if positions is None or positions == [] else np.atleast_1d(positions) % 3
    assert got.dims == tuple(n for i, n in enumerate(tensor.dims) if i not in gone)


@pytest.mark.parametrize("axes", [True, [False], 1.0, "0", [["row"]], b"row", {"row": 1}, object()])
def test_axes_of_a_wrong_type_are_refused_as_by_the_function(axes):
    tensor = cube()
    with pytest.raises((TypeError, rk.AxesError), match=r"^reduce_max: "):
        tensor.reduce_max(axes)


def test_one_axis_by_name_and_by_position_is_a_duplicate():
    with pytest.raises(rk.AxesError, match=r"^reduce_max: axis 1 \(-2\) is given twice"):
        cube().reduce_max("row", 1)


def test_keepdims_given_by_position_is_not_taken_for_an_axis():
    with pytest.raises(TypeError, match="axis False has type bool"):
        cube().reduce_max(0, False)


def test_the_identity_keeps_every_name_and_has_memory_of_its_own():
    tensor = cube()
    for keepdims in (True, False):
        got = tensor.reduce_max(noop_with_empty_axes=True, keepdims=keepdims)
        assert got.dims == tensor.dims
        assert_same(got.numpy(), tensor.numpy())
        assert not np.shares_memory(got.numpy(), tensor.numpy())


@pytest.mark.parametrize("axes", [(["batch"], "row"), ("batch", ("row",)), (0, np.array([1]))])
def test_a_sequence_beside_other_axes_is_refused_with_the_two_ways(axes):
    with pytest.raises(TypeError, match="beside other axes; give each axis as an argument, or all"):
        cube().reduce_max(*axes)


def test_rank_0_keeps_its_lack_of_names():
    assert rk.Tensor(3.0, dims=()).reduce_max(keepdims=False).dims == ()
    assert rk.Tensor(3.0).reduce_max().dims is None


def test_an_exact_sum():
    tensor = rk.Tensor([1e308, 1e308, -1e308, -1e308, 1.0], dims="x")
    assert_same(tensor.reduce_sum("x", exact=True).numpy(), rk.reduce_sum(tensor, exact=True))


def test_chains_of_reductions_keep_names_and_opset():
    tensor = cube().with_opset(13)
    got = tensor.reduce_max("row", keepdims=False).reduce_sum("column").reduce_min("batch")
    assert (got.dims, got.opset, got.shape) == (("batch", "column"), 13, (1, 1))
    assert got.item() == sum(tensor.numpy().max(axis=1)[0])


# The opset: call, tensor, context, default.


def test_the_most_specific_opset_wins():
    tensor = rk.Tensor([True, False])  # bool needs 20
    tensor.reduce_max()
    with rk.opset(18):
        with pytest.raises(rk.DTypeError, match="ReduceMax-18"):
            tensor.reduce_max()
        tensor.with_opset(20).reduce_max()
        tensor.reduce_max(opset=20)
        with pytest.raises(rk.DTypeError, match="ReduceMax-13"):
            tensor.with_opset(20).reduce_max(opset=13)
    rk.set_default_opset(12)
    try:
        with pytest.raises(rk.DTypeError, match="ReduceMax-12"):
            tensor.reduce_max()
        with rk.opset(20):
            tensor.reduce_max()
    finally:
        rk.set_default_opset("latest")


def test_a_result_has_the_tensors_opset_not_the_calls():
    tensor = rk.Tensor([1.0], opset=13)
    assert tensor.reduce_max(opset=18).opset == 13
    assert rk.Tensor([1.0]).reduce_max(opset=18).opset is None


@pytest.mark.parametrize("opset", [0, -1, 29, 10**30])
def test_unknown_opsets(opset):
    with pytest.raises(rk.OpsetError, match=rf"^Tensor: opset {opset} is unknown; use 1 to 28"):
        rk.Tensor([1], opset=opset)
    with pytest.raises(rk.OpsetError, match=rf"^with_opset: opset {opset} is unknown"):
        rk.Tensor([1]).with_opset(opset)


@pytest.mark.parametrize("opset", ["18", 18.0, True, [18]])
def test_an_opset_of_a_wrong_type(opset):
    with pytest.raises(TypeError, match=r"^Tensor: opset="):
        rk.Tensor([1], opset=opset)


def test_with_opset():
    tensor = cube()
    assert tensor.with_opset(18).opset == 18
    assert tensor.with_opset("latest").opset == rk.schema.NEWEST_OPSET
    assert tensor.with_opset(18).with_opset(None).opset is None
    assert tensor.with_opset(18).dims == tensor.dims
    assert tensor.with_opset(18).numpy() is tensor.numpy()
    assert tensor.opset is None


# rename.


@pytest.mark.parametrize(
    ("args", "kwargs", "want"),
    [
        (({"batch": "n"},), {}, ("n", "row", "column")),
        (({"row": "column", "column": "row"},), {}, ("batch", "column", "row")),
        (({0: "n", -1: "w"},), {}, ("n", "row", "w")),
        (({"row": None},), {}, ("batch", None, "column")),
        (({},), {}, ("batch", "row", "column")),
        ((), {"row": "y", "column": "x"}, ("batch", "y", "x")),
        (("n", "h", "w"), {}, ("n", "h", "w")),
        ((["n", "h", None],), {}, ("n", "h", None)),
        (("n", None, "w"), {}, ("n", None, "w")),
        ((None,), {}, None),
    ],
)
def test_rename(args, kwargs, want):
    tensor = cube().with_opset(13)
    got = tensor.rename(*args, **kwargs)
    assert (got.dims, got.opset) == (want, 13)
    assert got.numpy() is tensor.numpy()
    assert tensor.dims == ("batch", "row", "column")


def test_rename_of_a_tensor_without_names():
    assert rk.Tensor([[1]]).rename({1: "x"}).dims == (None, "x")
    assert rk.Tensor([1]).rename("x").dims == ("x",)


@pytest.mark.parametrize(
    ("args", "kwargs", "kind", "text"),
    [
        ((), {}, TypeError, "rename: give old names with new ones"),
        (({"row": "y"},), {"column": "x"}, TypeError, "rename: give old names with new ones"),
        ((), {"rwo": "y"}, rk.AxesError, r"no axis 'rwo' \(did you mean 'row'\?\)"),
        (({3: "y"},), {}, rk.AxesError, "rename: axis 3 is out of range for a tensor of rank 3"),
        (({True: "y"},), {}, TypeError, "rename: axis True has type bool"),
        (({1.0: "y"},), {}, TypeError, "rename: axis 1.0 has type float"),
        ((), {"row": "column"}, rk.ArgumentError, "'column' is given to axes 1 and 2"),
        (("a", "b"), {}, rk.ArgumentError, "2 names for a tensor of rank 3"),
        ((["a", "b"],), {}, rk.ArgumentError, "2 names for a tensor of rank 3"),
        ((), {"row": 5}, TypeError, "the name of axis 1, 5, has type int"),
    ],
)
def test_bad_renames(args, kwargs, kind, text):
    with pytest.raises(kind, match=text):
        cube().rename(*args, **kwargs)


# Indexing.

MASK = np.array([True, False])


@pytest.mark.parametrize(
    ("index", "want"),
    [
        (0, "row column"),
        (-1, "row column"),
        (np.int8(0), "row column"),
        (np.array(0), "row column"),
        (rk.Tensor(0), "row column"),
        (slice(1), "batch row column"),
        (..., "batch row column"),
        ((), "batch row column"),
        ((..., 0), "batch row"),
        ((0, ..., 0), "row"),
        ((0, 0, 0), ""),
        ((0, 0, 0, ...), ""),
        (None, "- batch row column"),
        ((..., None), "batch row column -"),
        ((0, None, slice(None), None, 0), "- row -"),
        ((slice(None, None, -1), slice(0)), "batch row column"),
        ([0, 1], "batch row column"),
        ([], "batch row column"),
        (range(1), "batch row column"),
        ([True, False], "batch row column"),
        (MASK, "batch row column"),
        (rk.Tensor(MASK), "batch row column"),
        ((slice(None), [0, 2]), "batch row column"),
        ((..., np.array([0, 2])), "batch row column"),
        ([[0, 1], [1, 0]], "- - row column"),
        (([0, 1], [0, 1]), "- column"),
        ((slice(None), [0, 1], [0, 1]), "batch -"),
        (([0, 1], slice(None), [0, 1]), "- row"),
        ((0, slice(None), [0, 1]), "column row"),
        ((slice(None), 0, [0, 1]), "batch column"),
        ((slice(None), [0, 1], 0), "batch row"),
        ((0, [0, 1]), "row column"),
        (([0, 1], None, slice(None), 0), "batch - row"),
        (([0], ..., [1]), "- row"),
        (([0], ..., slice(None), [1]), "- row"),
        ((slice(None), [1], ..., [1]), "- batch"),
        (np.ones((2, 3), bool), "- column"),
        ((slice(None), np.ones((3, 4), bool)), "batch -"),
        (np.ones((2, 3, 4), bool), "-"),
        (rk.Tensor(np.zeros((2, 3, 4), bool)), "-"),
        (np.ix_([0, 1], [0, 2]), "batch row column"),
        (np.ix_([0], [0, 2], [1]), "batch row column"),
        ((slice(None), *np.ix_([0, 1], [0, 2])), "batch row column"),
        ((np.array([[0], [1]]), slice(None), np.array([0, 1])), "batch column row"),
        (True, "- batch row column"),
        (False, "- batch row column"),
        (np.True_, "- batch row column"),
        (np.array(True), "- batch row column"),
        ((True, [0, 1]), "batch row column"),
        ((0, True), "- row column"),
        ((..., True), "batch row column -"),
    ],
    ids=repr,
)
def test_names_follow_the_index(index, want):
    tensor = cube().with_opset(13)
    got = tensor[index]
    plain = tuple(i.numpy() if isinstance(i, rk.Tensor) else i for i in (
        index if isinstance(index, tuple) else (index,)
    ))  # fmt: skip
    assert_same(np.array(got.numpy()), np.array(tensor.numpy()[plain]))
    assert got.dims == tuple(None if name == "-" else name for name in want.split())
    assert got.opset == 13
    without = rk.Tensor(tensor.numpy())[index]
    assert without.dims is None
    assert_same(np.array(without.numpy()), np.array(got.numpy()))


SHAPE = (4, 5, 3, 6)
DIMS = ("a", "b", "c", "d")


def runs_along(coordinates, axis):
    """Whether the coordinates change along an axis."""
    first = np.take(coordinates, [0], axis=axis)
    return bool((coordinates != first).any())


@given(indices(SHAPE))
def test_names_follow_any_index_as_the_coordinates_do(index):
    coordinates = np.indices(SHAPE)
    tensor = rk.Tensor(coordinates[0], dims=DIMS)
    try:
        moved = [axis[index] for axis in coordinates]
    except IndexError:
        with pytest.raises(IndexError):
            tensor[index]
        return
    got = tensor[index]
    assert_same(np.array(got.numpy()), np.array(moved[0]))
    assert len(got.dims) == got.ndim
    running = [[runs_along(np.asarray(c), j) for j in range(got.ndim)] for c in moved]
    for j, name in enumerate(got.dims):
        along = [axis for axis in range(len(SHAPE)) if running[axis][j]]
        alone = len(along) == 1 and sum(running[along[0]]) == 1
        assert name == (DIMS[along[0]] if alone else None)


def test_an_index_gives_a_view_where_numpy_does():
    tensor = cube()
    for index in (0, (0, 0, 0), slice(1), ..., None, (0, ..., None)):
        assert np.shares_memory(tensor[index].numpy(), tensor.numpy())
    assert not np.shares_memory(tensor[[0, 1]].numpy(), tensor.numpy())


@pytest.mark.parametrize(
    "index", [2, -3, (0, 0, 0, 0), "row", 1.0, (..., ...), [0.5], np.ones(3, bool), [["a"]]]
)
def test_a_bad_index_is_numpys_error(index):
    tensor = cube()
    got = outcome(tensor.__getitem__, index)
    want = outcome(tensor.numpy().__getitem__, index)
    assert isinstance(want, IndexError)
    assert type(got) is type(want)


def test_an_element_cannot_be_set():
    with pytest.raises(TypeError):
        cube()[0] = 1


# Manners of an array.

SAMPLES = [
    np.asarray(5), np.asarray(-2.5), np.asarray(True), np.asarray(0), np.array([3]),
    np.array([[7.5]]), np.array([]), np.arange(4), np.asarray(np.nan), np.asarray(2**63, "u8"),
    np.array(1.5, BFLOAT16), np.array([0, 1, 0]),
]  # fmt: skip


@pytest.mark.parametrize("data", SAMPLES, ids=repr)
@pytest.mark.parametrize(
    "function",
    [
        bool, int, float, operator.index, len, lambda a: 3 in a, lambda a: a.item(),
        lambda a: a.tolist(), lambda a: [0, 1, 2, 3][a], lambda a: f"{a:.3f}",
        lambda a: rk.Tensor(1) in a, complex,
    ],
)  # fmt: skip
def test_conversions_are_those_of_the_array(function, data):
    got, want = outcome(function, rk.Tensor(data)), outcome(function, data)
    assert type(got) is type(want), (got, want)
    if not isinstance(want, Exception):
        np.testing.assert_equal(got, want)


OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("compare", OPERATORS)
@pytest.mark.parametrize("data", [np.array([[1.0, np.nan], [-0.0, 3.0]]), np.asarray(3), *SAMPLES])
@pytest.mark.parametrize("other", [3, np.nan, 0.0, [[1.0, 2.0], [0.0, 3.0]], np.array([3.0, 1.0])])
def test_comparisons_are_those_of_the_array(compare, data, other):
    for got, want in [
        (outcome(compare, rk.Tensor(data), other), outcome(compare, data, other)),
        (outcome(compare, rk.Tensor(data), rk.Tensor(other)),
         outcome(compare, data, np.asarray(other))),
        (outcome(compare, np.asarray(other), rk.Tensor(data)),
         outcome(compare, np.asarray(other), data)),
    ]:  # fmt: skip
        assert type(got) is type(want)
        if not isinstance(want, Exception):
            np.testing.assert_array_equal(got, want)


def test_comparison_with_what_is_no_number():
    assert (cube() == None).any() is np.False_  # noqa: E711
    assert (cube() != "text").all()


def test_a_tensor_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(cube())


def test_iteration():
    tensor = cube()
    parts = list(tensor)
    assert [part.dims for part in parts] == [("row", "column")] * 2
    for part, want in zip(parts, tensor.numpy(), strict=True):
        assert_same(part.numpy().copy(), want.copy())
    assert [part.item() for part in reversed(rk.Tensor([1, 2, 3]))] == [3, 2, 1]
    assert [float(part) for part in rk.Tensor([1, 2])] == [1.0, 2.0]
    with pytest.raises(TypeError, match="iteration over a tensor of rank 0"):
        iter(rk.Tensor(1))
    first, second = tensor
    assert (first.numpy() != second.numpy()).all()


def test_numpy_takes_it_without_a_copy():
    tensor = cube()
    assert np.asarray(tensor) is tensor.numpy()
    assert np.asarray(tensor, copy=False) is tensor.numpy()
    assert np.shares_memory(np.array(tensor, copy=None), tensor.numpy())
    assert not np.shares_memory(np.array(tensor), tensor.numpy())
    assert np.asarray(tensor, dtype=np.int8).dtype == np.int8
    with pytest.raises(ValueError, match="copy"):
        np.asarray(tensor, dtype=np.int8, copy=False)
    assert_same(np.add(tensor, 1), tensor.numpy() + 1)
    assert_same(rk.reduce_max(tensor), rk.reduce_max(tensor.numpy()))


def test_it_does_not_claim_to_be_an_array_of_the_standard():
    assert not hasattr(cube(), "__array_namespace__")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_dlpack_there_and_back(name, version):
    data = awkward(name, (3, 4), rng(), nan=True)[::-1, ::2]
    tensor = rk.Tensor(data)
    assert tensor.__dlpack_device__() == (1, 0)

    class Consumer:
        def __dlpack__(self, **kwargs):
            return tensor.__dlpack__(max_version=version)

        def __dlpack_device__(self):
            return tensor.__dlpack_device__()

    back = rk.Tensor(Consumer())
    assert back.dtype == data.dtype
    assert back.numpy().tobytes() == data.tobytes()
    assert np.shares_memory(back.numpy(), data)
    if name != "bfloat16":
        assert np.shares_memory(np.from_dlpack(tensor), data)


def test_dlpack_honours_read_only():
    for data in (np.arange(3.0), np.arange(3.0).astype(BFLOAT16)):
        data.flags.writeable = False
        tensor = rk.Tensor(data)
        with pytest.raises(BufferError, match="readonly"):
            tensor.__dlpack__()
        assert not rk.Tensor(OnlyDLPack(tensor.numpy())).numpy().flags.writeable


def test_dlpack_of_big_endian_data_is_an_error():
    with pytest.raises(BufferError, match="byte order"):
        rk.Tensor(np.arange(3, dtype=">i4")).__dlpack__()


def test_dlpack_of_another_device_is_an_error():
    with pytest.raises((BufferError, ValueError)):
        cube().__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "bfloat16", "float64"])
def test_torch_exchange_without_a_copy(name):
    torch = pytest.importorskip("torch")
    data = ordinary(name, (3, 4), rng())
    there = torch.from_dlpack(rk.Tensor(data))
    assert there.dtype == getattr(torch, name)
    assert there.data_ptr() == data.ctypes.data
    back = rk.Tensor(there.T)
    assert_same(back.numpy().copy(), data.T.copy())
    assert np.shares_memory(back.numpy(), data)


def test_a_torch_tensor_that_refuses_says_why():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"Tensor cannot be read as an array .*grad"):
        rk.Tensor(torch.ones(2, requires_grad=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(name, protocol):
    tensor = rk.Tensor(awkward(name, (2, 3), rng(), nan=True), dims=("a", None), opset=13)
    back = pickle.loads(pickle.dumps(tensor, protocol))
    assert type(back) is rk.Tensor
    assert (back.dims, back.opset, back.dtype) == (("a", None), 13, tensor.dtype)
    assert back.numpy().tobytes() == tensor.numpy().tobytes()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, rk.Tensor.copy])
def test_copies_have_memory_of_their_own(copied):
    tensor = cube().with_opset(13)
    got = copied(tensor)
    assert_same(got.numpy(), tensor.numpy())
    assert (got.dims, got.opset) == (tensor.dims, 13)
    assert not np.shares_memory(got.numpy(), tensor.numpy())
    assert copy.deepcopy([tensor, tensor])[0].dims == tensor.dims


def test_astype():
    tensor = rk.Tensor([1.5, -2.5], dims="x", opset=13)
    for name in NAMES:
        got = tensor.astype(name) if name != "uint8" else tensor.astype(np.uint8)
        with np.errstate(invalid="ignore"):
            assert_same(got.numpy(), tensor.numpy().astype(by_name(name).numpy_dtype))
        assert (got.dims, got.opset) == (("x",), 13)
    assert not np.shares_memory(tensor.astype("float64").numpy(), tensor.numpy())
    with pytest.raises(rk.DTypeError, match=r"^astype: elements of dtype complex128 cannot"):
        tensor.astype(complex)


def test_attributes_cannot_be_set():
    tensor = cube()
    for name in ("shape", "dtype", "dims", "opset", "new"):
        with pytest.raises(AttributeError):
            setattr(tensor, name, None)


# Looking at it.


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (rk.Tensor(5), "Tensor(shape=(), dtype=int64)\n5"),
        (rk.Tensor(np.float32(-0.0)), "Tensor(shape=(), dtype=float32)\n-0."),
        (
            rk.Tensor(np.zeros((0, 4), np.int8), dims=("a", None), opset=18),
            "Tensor(shape=(0, 4), dtype=int8, dims=('a', None), opset=18)\n[]",
        ),
        (
            rk.Tensor(np.array([1.5, -0.0, np.nan, np.inf], BFLOAT16), dims="time"),
            "Tensor(shape=(4,), dtype=bfloat16, dims=('time',))\n[1.5 -0 nan inf]",
        ),
        (
            rk.Tensor([[True, False]]),
            "Tensor(shape=(1, 2), dtype=bool)\n[[ True False]]",
        ),
        (
            rk.Tensor(np.arange(1000)),
            "Tensor(shape=(1000,), dtype=int64)\n[  0   1   2 ... 997 998 999]",
        ),
        (
            rk.Tensor(np.arange(10**4).reshape(10, 10, 100)),
            (
                "Tensor(shape=(10, 10, 100), dtype=int64)\n[0, :, :] is\n"
                "[[  0   1   2 ...  97  98  99]\n [100 101 102 ... 197 198 199]\n"
                " [200 201 202 ... 297 298 299]\n ...\n [700 701 702 ... 797 798 799]\n"
                " [800 801 802 ... 897 898 899]\n [900 901 902 ... 997 998 999]]"
            ),
        ),
        (
            rk.Tensor([1], dims=["x\n\u202e'"]),
            'Tensor(shape=(1,), dtype=int64, dims=("x\\n\\u202e\'",))\n[1]',
        ),
    ],
    ids=lambda value: value.split("\n")[0] if isinstance(value, str) else "",
)
def test_repr(tensor, text):
    assert repr(tensor) == text
    assert str(tensor) == text


def test_repr_of_rank_64_and_of_endless_data_is_short(tmp_path):
    wide = rk.Tensor(
        np.zeros((1,) * 62 + (300, 300)), dims=["x" * 10**5 + str(i) for i in range(64)]
    )
    assert len(repr(wide)) < 5000
    endless = rk.Tensor(np.broadcast_to(np.float32(1), (1 << 10,) * 4))
    assert len(repr(endless).splitlines()) == 9
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    sparse = rk.Tensor(np.memmap(path, np.float64, "r", shape=(1 << 20, 1 << 17)))
    assert repr(sparse).count("0.") == 36
    assert "memory-mapped" in sparse._repr_html_()


@pytest.mark.parametrize("name", FLOATS)
def test_signalling_nan_can_be_looked_at(name):
    tensor = rk.Tensor(nans(name))
    assert repr(tensor).count("nan") == 8
    assert tensor._repr_html_().count(">NaN<") == 8
    assert repr(tensor[-1]).endswith("nan")


def expected_description(data):
    with np.errstate(invalid="ignore"):  # signalling NaN
        flat = np.asarray(data).reshape(-1).astype(np.float64)
    flat = flat[~np.isnan(flat)]
    return (
        None if not flat.size else flat.min(),
        None if not flat.size else flat.max(),
        data.size - flat.size,
        int((flat == np.inf).sum()),
        int((flat == -np.inf).sum()),
    )


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("int64", "uint64")])
@pytest.mark.parametrize("layout", [*LAYOUTS, *SHARING])
def test_describe_counts(name, layout):
    lay = LAYOUTS.get(layout) or SHARING[layout]
    for shape in [(0, 3), (3, 4), (2, 3, 5)]:
        if layout in SHARING and 0 in shape:
            continue
        data = lay(awkward(name, shape, rng(), nan=True))
        got = rk.Tensor(data).describe()
        want = expected_description(data)
        low = None if got.minimum is None else float(got.minimum)
        high = None if got.maximum is None else float(got.maximum)
        assert (low, high, got.nan, got.positive_infinity, got.negative_infinity) == want
        assert (got.shape, got.dtype, got.size) == (shape, name, data.size)
        assert got.nbytes == data.nbytes
        assert got.memory <= max(data.nbytes, 0)


def test_describe_of_large_integers_is_exact():
    got = rk.Tensor([2**63 - 1, -(2**63), 3]).describe()
    assert (got.minimum, got.maximum) == (-(2**63), 2**63 - 1)


def test_describe_reads_a_repeated_axis_once():
    data = np.broadcast_to(np.float32([[np.nan], [np.inf]]), (2, 1 << 40))
    got = rk.Tensor(data).describe()
    assert (got.nan, got.positive_infinity, got.minimum) == (1 << 40, 1 << 40, np.inf)
    assert (got.memory, got.nbytes) == (8, 1 << 43)


def test_describe_of_signalling_nan():
    got = rk.Tensor(nans("float32")).describe()
    assert (got.nan, got.minimum, got.maximum) == (8, None, None)
    assert "every element is NaN" in str(got)


def test_describe_prints():
    tensor = rk.Tensor(np.float32([[0.1, np.nan, np.inf], [1, 2, 3]]), dims=("row", None), opset=18)
    assert str(tensor.describe()).splitlines() == [
        "axis 0    2  row",
        "axis 1    3",
        "type      float32",
        "elements  6",
        "range     0.1 to inf",
        "NaN       1",
        "infinity  1 positive, 0 negative",
        "memory    24 B, C order",
        "opset     18",
    ]
    assert "none (rank 0)" in str(rk.Tensor(1).describe())
    assert "there are no elements" in str(rk.Tensor([]).describe())
    assert "NaN" not in str(rk.Tensor([1]).describe())
