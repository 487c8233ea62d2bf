"""Data comes in and goes out without a copy, whoever made it."""

import array
import ctypes
import mmap
import warnings
from collections import UserList, deque

import numpy as np
import pytest
from arrays import ordinary
from oracles import assert_same

import reducekit as rk
from reducekit.dtypes import ELEMENT_TYPES, by_name

NUMBERS = [kind.name for kind in ELEMENT_TYPES if kind.name not in ("bool", "bfloat16")]


def shares(data, with_array):
    return np.shares_memory(rk.Tensor(data).numpy(), with_array)


# Arrow.


@pytest.mark.parametrize("name", NUMBERS)
def test_arrow_arrays_are_not_copied(name):
    pa = pytest.importorskip("pyarrow")
    values = ordinary(name, 50, np.random.default_rng(1))
    arrow = pa.array(values)
    assert shares(arrow, arrow.to_numpy(zero_copy_only=True))
    assert not rk.Tensor(arrow).numpy().flags.writeable
    for op in ("max", "min", "sum"):
        function = getattr(rk, f"reduce_{op}")
        want = function(values, strict=False)
        assert_same(function(arrow, strict=False), want)
        assert_same(function(arrow[3:].slice(0, 47), strict=False),
                    function(values[3:], strict=False))  # fmt: skip
        assert_same(function(pa.chunked_array([arrow[:20], arrow[20:]]), strict=False), want)


def test_arrow_bits_and_tensors():
    pa = pytest.importorskip("pyarrow")
    assert rk.reduce_max(pa.array([False, True])).tolist() == [True]
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = pa.Tensor.from_numpy(table)
    assert shares(tensor, table)
    fixed = pa.FixedShapeTensorArray.from_numpy_ndarray(table)
    assert rk.Tensor(fixed).shape == (2, 3)
    assert rk.reduce_max(fixed, 0).tolist() == [[3, 4, 5]]


def test_arrow_nulls_are_an_error_that_says_how_to_fill():
    pa = pytest.importorskip("pyarrow")
    for data in (
        pa.array([1, None]),
        pa.chunked_array([[1], [None]]),
        pa.table({"a": [1, 2], "b": [3, None]}),
        pa.record_batch({"a": [1, 2], "b": [3, None]}),
    ):
        with pytest.raises(rk.ArgumentError, match="1 element is missing in the .*; fill or drop"):
            rk.reduce_max(data)
    with pytest.raises(rk.ArgumentError, match=r"data.fill_null\(value\) or data.drop_null\(\)"):
        rk.reduce_max(pa.array([None, 1]))


def test_arrow_tables():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [2**62 + 1, 2], "b": [3, 4]})
    assert rk.reduce_max(table, 1).tolist() == [[2**62 + 1], [4]]
    with pytest.raises(rk.DTypeError, match=r"different element types \(double, int64\)"):
        rk.reduce_max(pa.table({"a": [2**62 + 1], "b": [1.5]}))
    with pytest.raises((rk.DTypeError, TypeError), match="reduce_max"):
        rk.reduce_max(pa.array(["a"]))


def test_polars():
    pl = pytest.importorskip("polars")
    assert rk.reduce_max(pl.Series([2**62 + 1, 2])).tolist() == [2**62 + 1]
    assert rk.reduce_max(pl.DataFrame({"a": [1, 2], "b": [3, 4]}), 1).tolist() == [[3], [4]]
    for data in (pl.Series([1, None]), pl.DataFrame({"a": [1, 2], "b": [3, None]})):
        with pytest.raises(rk.ArgumentError, match="1 element is missing"):
            rk.reduce_max(data)
    with pytest.raises(rk.DTypeError, match="different element types"):
        rk.reduce_max(pl.DataFrame({"a": [1], "b": [1.5]}))


def test_frames_of_pandas_keep_their_digits():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [2**62 + 1], "b": [1]})
    assert rk.reduce_max(frame).tolist() == [[2**62 + 1]]
    assert rk.reduce_max(frame.astype("Int64")).tolist() == [[2**62 + 1]]
    with pytest.raises(rk.DTypeError, match="int64 in 'a', 'b'; float64 in 'c'"):
        rk.reduce_max(frame.assign(c=1.5))


def ways_out(error):
    """The expressions that an error proposes."""
    text = str(error).partition("fill or drop first, as with ")[2]
    return text.split(" or ") if text else []


def hidden_nulls():
    """Arrow arrays with nulls that their own count does not show, and how many there are."""
    pa = pytest.importorskip("pyarrow")
    big = 2**53 + 1
    lists = pa.array([[big, None], [3, 4]], pa.list_(pa.int64(), 2))
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array([big, None]))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([None, big]))
    tensor = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int64(), [2]), lists)
    yield dictionary, 2
    yield runs, 2
    yield runs[1:], 1
    yield lists, 1
    yield tensor, 1
    yield pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), dictionary[:2]), 3
    yield pa.FixedSizeListArray.from_arrays(dictionary[:2], 2), 1
    yield pa.array([[[1, None]], [[3, 4]]], pa.list_(pa.list_(pa.int64(), 2), 1)), 1
    yield pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), 2


def test_arrow_nulls_that_the_outer_count_does_not_show():
    pa = pytest.importorskip("pyarrow")
    for data, count in hidden_nulls():
        for each in (data, pa.chunked_array([data])):
            what = "1 element is" if count == 1 else f"{count} elements are"
            for call in (rk.reduce_max, rk.reduce_sum, rk.Tensor):
                with pytest.raises(rk.ArgumentError, match=f"{what} missing in the .*; fill or"):
                    call(each)
        if pa.types.is_fixed_size_list(data.type) or isinstance(data.type, pa.BaseExtensionType):
            continue
        for table in (pa.table({"a": data}), pa.record_batch({"a": data})):
            with pytest.raises(rk.ArgumentError, match=f"{what} missing in the (Table|Record)"):
                rk.reduce_max(table)


def test_what_errors_of_arrow_nulls_propose_helps():
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.compute")
    cases = [*(data for data, _ in hidden_nulls()), pa.array([1, None])]
    proposals = 0
    for data in (*cases, pa.table({"a": [1, None]}), pa.record_batch({"a": [1, None]}),
                 *map(pa.chunked_array, [[each] for each in cases])):  # fmt: skip
        with pytest.raises(rk.ArgumentError) as caught:
            rk.reduce_max(data)
        assert ways_out(caught.value) or "before they are encoded or nested" in str(caught.value)
        for expression in ways_out(caught.value):
            proposals += 1
            known = {"data": data, "pyarrow": pa, "value": 0}
            assert rk.Tensor(eval(expression, known)).dtype == np.int64
    assert proposals == 26


def test_encoded_arrow_data_keeps_every_digit():
    pa = pytest.importorskip("pyarrow")
    big = 2**53 + 1
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 7], pa.int16()), pa.array([5, big, 6]))
    for first in range(8):
        for last in range(first, 8):
            want = np.repeat([5, big, 6], [2, 1, 4])[first:last]
            assert_same(rk.Tensor(runs.slice(first, last - first)).numpy(), want)
    dictionary = pa.array([big, 3, big]).dictionary_encode()
    assert rk.Tensor(dictionary).numpy().tolist() == [big, 3, big]
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([big, None]))
    assert rk.Tensor(unused).numpy().tolist() == [big, big]
    assert rk.reduce_max(pa.table({"a": dictionary, "b": [1, 2, 3]}), 0).tolist() == [[big, 3]]
    nested = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), dictionary[:2])
    assert rk.Tensor(nested).numpy().tolist() == [big, 3, 3]
    lists = pa.FixedSizeListArray.from_arrays(pa.array([1, big, 3, 4, 5, 6]), 2)
    assert rk.Tensor(lists[1:]).numpy().tolist() == [[3, 4], [5, 6]]
    assert rk.Tensor(pa.chunked_array([lists, lists])).shape == (6, 2)
    for kind in (runs.type, dictionary.type, pa.bool8(), lists.type):
        assert rk.Tensor(pa.chunked_array([], kind)).shape[0] == 0


@pytest.mark.parametrize("order", [None, [0, 1, 2], [2, 1, 0], [0, 2, 1], [2, 0, 1]])
def test_arrow_tensors_with_axes_in_another_order(order):
    pa = pytest.importorskip("pyarrow")
    kind = pa.fixed_shape_tensor(pa.int32(), [2, 3, 4], permutation=order)
    storage = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(72, dtype=np.int32)), 24)
    tensors = pa.ExtensionArray.from_storage(kind, storage)
    physical = np.arange(72, dtype=np.int32).reshape(3, 2, 3, 4)
    want = physical.transpose(0, *(1 + axis for axis in order or (0, 1, 2)))
    assert_same(rk.Tensor(tensors).numpy(), want)
    assert_same(rk.Tensor(tensors[1:]).numpy(), want[1:])
    assert want.shape == tensors.to_numpy_ndarray().shape
    if order != [2, 0, 1]:  # there the strides of pyarrow 26 overlap
        assert_same(rk.Tensor(tensors).numpy(), tensors.to_numpy_ndarray())


def test_arrow_bools_of_eight_bits():
    pa = pytest.importorskip("pyarrow")
    bits = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 2, 1], pa.int8()))
    assert rk.Tensor(bits).numpy().view(np.uint8).tolist() == [0, 1, 1]


def test_tables_without_columns_have_no_type():
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    for data in (pa.table({}), pl.DataFrame()):
        with pytest.raises(rk.ArgumentError, match="has no columns, and so no element type"):
            rk.reduce_max(data)


def test_arrow_data_that_is_broken_is_refused():
    pa = pytest.importorskip("pyarrow")
    out_of_bounds = pa.DictionaryArray.from_arrays(
        pa.array([0, 7]), pa.array([1, 2]), safe=False
    )  # fmt: skip
    with pytest.raises(TypeError, match="cannot be read as an array"):
        rk.reduce_max(out_of_bounds)


def test_polars_nulls_within_arrays():
    pl = pytest.importorskip("polars")
    big = 2**53 + 1
    pair, deep = pl.Array(pl.Int64, 2), pl.Array(pl.Int64, (1, 2))
    for data, count in (
        (pl.Series([[big, None], [3, 4]], dtype=pair), 1),
        (pl.Series([[big, None], None], dtype=pair), 3),
        (pl.Series([[[big, 2]], [[None, None]]], dtype=deep), 2),
        (pl.Series([{"a": 1, "b": None}], dtype=pl.Struct({"a": pl.Int64, "b": pl.Int64})), 1),
    ):
        what = "1 element is" if count == 1 else f"{count} elements are"
        with pytest.raises(
            rk.ArgumentError, match=f"{what} missing in the (Series|Data)"
        ) as caught:
            rk.Tensor(data)
        for expression in ways_out(caught.value):
            filled = rk.Tensor(eval(expression, {"data": data, "value": 0}))
            assert filled.dtype == np.int64
    whole = pl.Series([[big, 1], [3, 4]], dtype=pair)
    assert rk.Tensor(whole).numpy().tolist() == [[big, 1], [3, 4]]
    for refused in (pl.Series([2**70], dtype=pl.Int128), pl.DataFrame({"a": whole}),
                    pl.Series([{"a": big, "b": 1.5}]),
                    pl.Series([["x"]], dtype=pl.Array(pl.String, 1))):  # fmt: skip
        with pytest.raises(rk.DTypeError, match=r"Int128|Array\(|different element types"):
            rk.reduce_max(refused)


def test_arrow_nulls_that_pandas_does_not_see():
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    for arrow, count in hidden_nulls():
        series = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow])))
        for data in (series, series.array, pd.Index(series)):
            with pytest.raises(rk.ArgumentError, match="missing in the"):
                rk.reduce_max(data)
            if not series.isna().any():
                with pytest.raises(rk.ArgumentError, match=f"^reduce_max: {count} element"):
                    rk.reduce_max(data)
        with pytest.raises(rk.DTypeError, match="cannot be reduced"):
            series.reducekit.reduce_max()


# Lists of arrays.


def test_missing_elements_of_arrays_in_lists():
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    masked = np.ma.array([1, 2], mask=[0, 1])
    for each in (
        masked, pa.array([1, None]), pd.Series([1, None], dtype="Int64"), pl.Series([1, None]),
        pd.DataFrame({"a": [1, None]}, dtype="Int64"), pd.array([1, None], dtype="Int64"),
        *(data for data, _ in hidden_nulls()),
    ):  # fmt: skip
        rows = len(rk.Tensor(np.zeros(len(each))).numpy())
        for data in (
            [each], (each,), [[each]], ([each],), deque([each]), [np.zeros(rows), each],
            [[0] * rows, each], [[[0] * rows], [each]], UserList([each]),
        ):  # fmt: skip
            for call in (rk.reduce_max, rk.Tensor):
                with pytest.raises(rk.ArgumentError, match="missing in the .*; fill or drop"):
                    call(data)


@pytest.mark.parametrize("number", [5, 5.0, True, np.int8(5), np.float32(5)])
@pytest.mark.parametrize("before", [[], [2], [2.0], [True], [False] * 70, [2.5] * 70])
def test_masked_numbers_in_lists(number, before):
    for masked in (np.ma.array(number, mask=True), np.ma.masked):
        for data in (
            [*before, masked],
            [[*before, masked]],
            [[*before, number], [*before, masked]],
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # NumPy's, of the NaN that it makes
                with pytest.raises(rk.ArgumentError, match="1 element is missing in the Masked"):
                    rk.reduce_max(data)


def test_lists_of_what_is_whole_are_read_without_loss():
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    big = 2**53 + 1
    dictionary = pa.array([1, big]).dictionary_encode()
    series = pd.Series([1, big], dtype="Int64")
    whole = np.ma.array([1, big])
    data = [dictionary, series, whole, [1, big], np.array([1, big]), pa.array([1, big])]
    assert rk.Tensor(data).numpy().tolist() == [[1, big]] * 6
    assert rk.Tensor([[], []]).shape == (2, 0)
    assert rk.Tensor([float("nan"), 1e308, np.inf]).numpy()[1] == 1e308
    assert rk.Tensor(deque([1, 2])).numpy().tolist() == [1, 2]


def test_lists_that_hold_themselves_are_refused():
    one = []
    one.append(one)
    for data in (one, [one], [[1], one]):
        with pytest.raises(TypeError, match="cannot be read as an array"):
            rk.reduce_max(data)


# DLPack.


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int8", "uint8",
                                  "int64", "bool"])  # fmt: skip
def test_torch_in_and_out(name):
    torch = pytest.importorskip("torch")
    tensor = torch.ones((3, 4), dtype=getattr(torch, name)).T
    ours = rk.Tensor(tensor, dims=("x", "y"))
    assert (ours.dtype, ours.shape) == (by_name(name).numpy_dtype, (4, 3))
    tensor[0, 0] = 0
    assert float(ours[0, 0].item()) == 0  # one memory
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == tensor.data_ptr()
    assert back.stride() == tensor.stride()


def test_arrow_types_that_no_reduction_takes_are_called_by_their_names():
    pa = pytest.importorskip("pyarrow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pyarrow's, of how it is asked
        for data, name in (
            (pa.array(["a"]), "string"), (pa.chunked_array([["a"]]), "string"),
            (pa.table({"a": ["x"]}), "string"), (pa.array([[1], [2, 3]]), "list<item: int64>"),
            (pa.array([1], pa.decimal128(5, 2)), r"decimal128\(5, 2\)"),
        ):  # fmt: skip
            with pytest.raises(rk.DTypeError, match=f"elements of dtype {name} cannot be reduced"):
                rk.reduce_max(data)


def test_torch_tensors_on_other_devices_or_with_gradients_say_why():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="detach"):
        rk.reduce_max(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="cannot be read as an array"):
        rk.reduce_max(torch.ones(2, device="meta"))
    with pytest.raises(TypeError, match="cannot be read as an array"):
        rk.reduce_max(torch.eye(2).to_sparse())


class Producer:
    """What jax and cupy arrays offer: DLPack, and no way for NumPy to look inside."""

    __array__ = None

    def __init__(self, data, device=None, flags=None):
        self.data, self.device = data, device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        assert stream is None
        return self.data.__dlpack__(max_version=max_version)

    def __dlpack_device__(self):
        return self.device or self.data.__dlpack_device__()


def test_a_producer_like_jax():
    values = np.float32([[1, 5], [4, 2]])
    producer = Producer(values)
    assert shares(producer, values)
    assert rk.reduce_max(producer, 0).tolist() == [[4, 5]]
    values.flags.writeable = False  # as jax's arrays are
    read_only = rk.Tensor(Producer(values)).numpy()
    assert np.shares_memory(read_only, values)
    assert not read_only.flags.writeable


def test_a_producer_like_cupy():
    on_gpu = Producer(np.float32([1, 2]), device=(2, 0))
    with pytest.raises(
        TypeError, match="it is on device 2:0 of DLPack, not in the memory of the CPU"
    ):
        rk.reduce_max(on_gpu)


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    data = jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)
    assert rk.Tensor(data).dtype == by_name("bfloat16").numpy_dtype
    assert rk.reduce_max(data, 0).tolist() == [[3, 4, 5]]


# NumPy's protocols and the buffer protocol.


def test_buffers_are_not_copied():
    numbers = array.array("d", [1.0, 5.0, 4.0])
    assert rk.reduce_max(numbers).tolist() == [5]
    seen = rk.Tensor(numbers)
    numbers[1] = 7
    assert seen.reduce_max().item() == 7
    strided = memoryview(np.arange(12, dtype=np.int32).reshape(3, 4))[::2]
    assert rk.reduce_max(strided, 0).tolist() == [[8, 9, 10, 11]]
    assert rk.reduce_sum((ctypes.c_float * 3)(1, 2, 3)).tolist() == [6]
    mapped = mmap.mmap(-1, 4096)
    assert shares(mapped, np.frombuffer(mapped, np.uint8)) or rk.Tensor(mapped).size == 4096


def test_the_array_interface():
    class Interface:
        def __init__(self, values):
            self.__array_interface__ = values.__array_interface__
            self.values = values

    values = np.float64([[1, 5], [4, 2]])
    assert shares(Interface(values), values)
    assert rk.reduce_min(Interface(values.T), 0).tolist() == [[1, 2]]


def test_numpy_gets_the_array_itself():
    values = np.float32([1, 2])
    t = rk.Tensor(values)
    assert np.asarray(t) is values
    assert np.shares_memory(np.asarray(t, copy=False), values)
    assert not np.shares_memory(np.array(t), values)
    assert np.from_dlpack(t).ctypes.data == values.ctypes.data


def test_a_tensor_is_no_array_of_the_standard():
    assert not hasattr(rk.Tensor([1]), "__array_namespace__")
    assert "__array_namespace__" in rk.Tensor.__doc__
