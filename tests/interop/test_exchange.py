"""Data comes in and goes out without a copy, whoever made it."""

import array
import ctypes
import mmap
import warnings

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
