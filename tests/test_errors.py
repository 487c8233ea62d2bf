"""The class and text of every error of the core, as one table.

A text names the operation, the argument and its value, the rule that it breaks, and
the way out. The table is literal on purpose: a change of a text is a change here.
"""

import inspect
from functools import partial

import ml_dtypes
import numpy as np
import pytest

import reducekit as rk
from reducekit import _refusals, reference, schema

f4 = np.zeros((2, 3), np.float32)
scalar = np.float64(1.5)
ragged = [[1, 2], [3]]
masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, True])
read_only = np.zeros((2, 1), np.float32)
read_only.flags.writeable = False

ALL_TYPES = (
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "float16, bfloat16, float32, float64"
)
WIDE = "uint32, uint64, int32, int64, float16, float32, float64"


def zeros(dtype):
    return np.zeros(3, dtype)


def call(op, *args, **kwargs):
    return (op, args, kwargs)


class Reshapes:
    """An axis that gives the data another shape when it is read."""

    def __init__(self, data):
        self.data = data

    def __index__(self):
        self.data.resize(self.data.size)
        return 0


def reduce_what_changes():
    data = np.zeros((2, 3), np.float32)
    rk.reduce_max(data, [Reshapes(data)])


# Calls of reduce_max, reduce_min and reduce_sum, which the reference refuses in the same words.
CALLS = [
    # Axes out of range.
    (call("max", f4, 3), rk.AxesError,
     "reduce_max: axis 3 is out of range for a tensor of rank 2; use -2 to 1"),
    (call("min", f4, [0, -3]), rk.AxesError,
     "reduce_min: axis -3 is out of range for a tensor of rank 2; use -2 to 1"),
    (call("sum", f4, [2], opset=1), rk.AxesError,
     "reduce_sum: axis 2 is out of range for a tensor of rank 2; use 0 to 1"),
    (call("sum", f4, [2], opset=1, strict=False), rk.AxesError,
     "reduce_sum: axis 2 is out of range for a tensor of rank 2; use -2 to 1"),
    (call("max", scalar, [0]), rk.AxesError,
     "reduce_max: axis 0 is out of range for a tensor of rank 0, which has no axes; omit axes"),
    (call("max", scalar, -1), rk.AxesError,
     "reduce_max: axis -1 is out of range for a tensor of rank 0, which has no axes; omit axes"),
    (call("max", f4, [2**70]), rk.AxesError,
     ("reduce_max: axis 1180591620717411303424 is out of range for a tensor of rank 2; "
     "use -2 to 1")),
    # Axes given twice.
    (call("max", f4, [1, 1]), rk.AxesError,
     "reduce_max: axis 1 (-1) is given twice; name each axis once"),
    (call("sum", f4, [0, -2]), rk.AxesError,
     "reduce_sum: axis 0 (-2) is given twice; name each axis once"),
    # Negative axes before opset 11.
    (call("max", f4, [-1], opset=1), rk.AxesError,
     ("reduce_max: axis -1 is negative, which ReduceMax-1 does not define; negative axes begin at "
     "opset 11: use axis 1, opset 11 or later, or strict=False")),
    (call("sum", f4, -2, opset=10), rk.AxesError,
     ("reduce_sum: axis -2 is negative, which ReduceSum-1 does not define; negative axes begin at "
     "opset 11: use axis 0, opset 11 or later, or strict=False")),
    (call("min", f4, -3, opset=10), rk.AxesError,
     ("reduce_min: axis -3 is negative, which ReduceMin-1 does not define; negative axes begin at "
     "opset 11: use 0 to 1")),
    (call("min", scalar, -1, opset=1), rk.AxesError,
     ("reduce_min: axis -1 is negative, which ReduceMin-1 does not define; negative axes begin at "
     "opset 11: omit axes")),
    # Axes of a wrong type.
    (call("max", f4, "row"), TypeError,
     "reduce_max: axes='row' has type str; use an int, a sequence of ints, or None"),
    (call("max", f4, 1.5), TypeError,
     "reduce_max: axes=1.5 has type float; use an int, a sequence of ints, or None"),
    (call("max", f4, {0: 1}), TypeError,
     "reduce_max: axes={0: 1} has type dict; use an int, a sequence of ints, or None"),
    (call("sum", f4, b"x" * 80), TypeError,
     f"reduce_sum: axes=b'{'x' * 55}... has type bytes; use an int, a sequence of ints, or None"),
    (call("max", f4, [1.0]), TypeError,
     "reduce_max: axis 1.0 has type float; an axis is an int"),
    (call("max", f4, True), TypeError,
     "reduce_max: axis True has type bool; an axis is an int"),
    (call("min", f4, ["row"]), TypeError,
     "reduce_min: axis 'row' has type str; an axis is an int"),
    (call("min", f4, [None]), TypeError,
     "reduce_min: axis None has type NoneType; an axis is an int"),
    (call("sum", f4, np.array([0.0, 1.0])), TypeError,
     "reduce_sum: axis np.float64(0.0) has type float64; an axis is an int"),
    (call("sum", f4, np.array([[0, 1]])), rk.ArgumentError,
     "reduce_sum: axes is an array of rank 2; use a list of ints (rank 1)"),
    # Element types that come with a later version.
    (call("max", zeros(bool), opset=18), rk.DTypeError,
     (f"reduce_max: ReduceMax-18 does not take bool; it takes {WIDE}, uint8, int8, bfloat16. "
     "Use opset 20 or later, or strict=False")),
    (call("min", zeros(np.int8), opset=11), rk.DTypeError,
     (f"reduce_min: ReduceMin-11 does not take int8; it takes {WIDE}. "
     "Use opset 12 or later, or strict=False")),
    (call("max", zeros(ml_dtypes.bfloat16), opset=12), rk.DTypeError,
     (f"reduce_max: ReduceMax-12 does not take bfloat16; it takes {WIDE}, uint8, int8. "
     "Use opset 13 or later, or strict=False")),
    (call("sum", zeros(ml_dtypes.bfloat16), opset=1), rk.DTypeError,
     (f"reduce_sum: ReduceSum-1 does not take bfloat16; it takes {WIDE}. "
     "Use opset 13 or later, or strict=False")),
    # Element types of no version.
    (call("max", zeros(np.int16)), rk.DTypeError,
     (f"reduce_max: ReduceMax-20 does not take int16; it takes {WIDE}, uint8, int8, bfloat16, "
     "bool. No opset takes int16: cast to int32, or use strict=False")),
    (call("min", zeros(np.uint16), opset=1), rk.DTypeError,
     (f"reduce_min: ReduceMin-1 does not take uint16; it takes {WIDE}. "
     "No opset takes uint16: cast to int32, or use strict=False")),
    (call("sum", zeros(np.int8), opset=13), rk.DTypeError,
     (f"reduce_sum: ReduceSum-13 does not take int8; it takes {WIDE}, bfloat16. "
     "No opset takes int8: cast to int32, or use strict=False")),
    (call("sum", zeros(np.uint16), opset=13), rk.DTypeError,
     (f"reduce_sum: ReduceSum-13 does not take uint16; it takes {WIDE}, bfloat16. "
     "No opset takes uint16: cast to int32, or use strict=False")),
    (call("sum", zeros(bool)), rk.DTypeError,
     (f"reduce_sum: ReduceSum-13 does not take bool; it takes {WIDE}, bfloat16. "
     "No opset takes bool: cast to int32 or int64 to count")),
    (call("sum", zeros(bool), strict=False), rk.DTypeError,
     "reduce_sum: bool elements cannot be summed in bool; cast to int32 or int64 to count"),
    # Element types that nothing reduces.
    (call("max", zeros(np.complex64)), rk.DTypeError,
     f"reduce_max: elements of dtype complex64 cannot be reduced; cast to one of {ALL_TYPES}"),
    (call("min", ["a", "b"]), rk.DTypeError,
     f"reduce_min: elements of dtype <U1 cannot be reduced; cast to one of {ALL_TYPES}"),
    (call("sum", [1, None], strict=False), rk.DTypeError,
     f"reduce_sum: elements of dtype object cannot be reduced; cast to one of {ALL_TYPES}"),
    (call("max", zeros("M8[D]")), rk.DTypeError,
     f"reduce_max: elements of dtype datetime64[D] cannot be reduced; cast to one of {ALL_TYPES}"),
    (call("max", zeros([("a", "<f4"), ("b", "u1")])), rk.DTypeError,
     ("reduce_max: elements of dtype [('a', '<f4'), ('b', 'u1')] cannot be reduced; "
     f"cast to one of {ALL_TYPES}")),
    (call("max", zeros(ml_dtypes.float8_e5m2)), rk.DTypeError,
     f"reduce_max: elements of dtype float8_e5m2 cannot be reduced; cast to one of {ALL_TYPES}"),
    # Opsets.
    (call("max", f4, opset=0), rk.OpsetError,
     "reduce_max: opset 0 is unknown; use 1 to 28 or 'latest'"),
    (call("min", f4, opset=29), rk.OpsetError,
     "reduce_min: opset 29 is unknown; use 1 to 28 or 'latest'"),
    (call("sum", f4, opset="13"), TypeError,
     "reduce_sum: opset='13' is a str; use an int from 1 to 28 or 'latest'"),
    (call("sum", f4, opset=13.0), TypeError,
     "reduce_sum: opset=13.0 is a float; use an int from 1 to 28 or 'latest'"),
    (call("max", f4, opset=True), TypeError,
     "reduce_max: opset=True is a bool; use an int from 1 to 28 or 'latest'"),
    (call("max", f4, noop_with_empty_axes=True, opset=13), rk.OpsetError,
     ("reduce_max: noop_with_empty_axes=True, but ReduceMax-13 has no such attribute; "
     "use opset 18 or later")),
    (call("sum", f4, [0], noop_with_empty_axes=1, opset=12), rk.OpsetError,
     ("reduce_sum: noop_with_empty_axes=True, but ReduceSum-11 has no such attribute; "
     "use opset 13 or later")),
    (call("min", f4, noop_with_empty_axes=True, opset=1, strict=False), rk.OpsetError,
     ("reduce_min: noop_with_empty_axes=True, but ReduceMin-1 has no such attribute; "
     "use opset 18 or later")),
    # Flags.
    (call("max", f4, keepdims=2), rk.ArgumentError,
     "reduce_max: keepdims=2 is not a flag; use True or False"),
    (call("max", f4, keepdims=-1), rk.ArgumentError,
     "reduce_max: keepdims=-1 is not a flag; use True or False"),
    (call("max", f4, keepdims=1.0), rk.ArgumentError,
     "reduce_max: keepdims=1.0 is not a flag; use True or False"),
    (call("min", f4, keepdims="no"), TypeError,
     "reduce_min: keepdims='no' is not a flag; use True or False"),
    (call("min", f4, keepdims=None), TypeError,
     "reduce_min: keepdims=None is not a flag; use True or False"),
    (call("sum", f4, noop_with_empty_axes=[]), TypeError,
     "reduce_sum: noop_with_empty_axes=[] is not a flag; use True or False"),
    (call("sum", f4, strict=3), rk.ArgumentError,
     "reduce_sum: strict=3 is not a flag; use True or False"),
    # Several things wrong: opset, then element type, then flags, then axes.
    (call("max", zeros(bool), [9], keepdims=2, opset=0), rk.OpsetError,
     "reduce_max: opset 0 is unknown; use 1 to 28 or 'latest'"),
    (call("sum", zeros(np.int16), [9], keepdims=2, strict=0.5), rk.ArgumentError,
     "reduce_sum: strict=0.5 is not a flag; use True or False"),
    (call("max", zeros(bool), [9], keepdims=2, opset=11), rk.DTypeError,
     (f"reduce_max: ReduceMax-11 does not take bool; it takes {WIDE}. "
     "Use opset 20 or later, or strict=False")),
    (call("max", f4, [9], keepdims=2), rk.ArgumentError,
     "reduce_max: keepdims=2 is not a flag; use True or False"),
]  # fmt: skip

# Calls that only the compiled functions have, or refuse in words of their own.
MORE_CALLS = [
    (reduce_what_changes, rk.ArgumentError,
     ("reduce_max: data or out was given another shape or dtype during the call; "
     "leave them alone until it returns")),
    # Data that is no array.
    (lambda: rk.reduce_max(ragged), TypeError,
     ("reduce_max: data of type list cannot be read as an array (setting an array element with a "
     "sequence. The requested array has an inhomogeneous shape after 1 dimensions. The detected "
     "shape was (2,) + inhomogeneous part.); use an array, a number or nested lists of equal "
     "lengths")),
    (lambda: rk.reduce_min(masked), rk.ArgumentError,
     ("reduce_min: 2 elements are missing in the MaskedArray; fill or drop first, as with "
     "data.filled(value) or data.compressed()")),
    (lambda: rk.reduce_min(masked[:2]), rk.ArgumentError,
     ("reduce_min: 1 element is missing in the MaskedArray; fill or drop first, as with "
     "data.filled(value) or data.compressed()")),
    # out.
    (lambda: rk.reduce_max(f4, [1], out=[[0], [0]]), TypeError,
     "reduce_max: out has type list; use a numpy.ndarray"),
    (lambda: rk.reduce_max(f4, [1], out=np.zeros(2, np.float32)), rk.ArgumentError,
     ("reduce_max: out has shape (2,), but the result has shape (2, 1); give an array of that "
     "shape, or leave it out")),
    (lambda: rk.reduce_min(f4, [1], out=np.zeros((2, 1))), rk.DTypeError,
     ("reduce_min: out has dtype float64, but the result has dtype float32; give an array of that "
     "dtype, or leave it out")),
    (lambda: rk.reduce_sum(f4, [1], out=np.zeros((2, 1), ">f4")), rk.DTypeError,
     ("reduce_sum: out has dtype >f4, but the result has dtype float32; give an array of that "
     "dtype, or leave it out")),
    (lambda: rk.reduce_sum(f4, [1], out=read_only), rk.ArgumentError,
     "reduce_sum: out is read-only; use a writeable array"),
    # Sums in pieces.
    (lambda: rk.Accumulator("int99"), rk.DTypeError,
     ("Accumulator: dtype='int99' is unknown; use one of bool, int8, int16, int32, int64, uint8, "
     "uint16, uint32, uint64, float16, bfloat16, float32, float64")),
    # Tensors.
    (lambda: rk.Tensor(f4)["row"], IndexError,
     ("Tensor: index 'row' has type str; index by position, as in NumPy: a name goes to a "
     "reduction or to rename")),
    (lambda: bool(rk.Tensor(f4)), ValueError,
     ("bool: a tensor of 6 elements is neither true nor false; use t.numpy().any() or "
     "t.numpy().all()")),
    (lambda: rk.Tensor(f4).astype("float99"), rk.DTypeError,
     ("astype: dtype='float99' is unknown; use one of bool, int8, int16, int32, int64, uint8, "
     "uint16, uint32, uint64, float16, bfloat16, float32, float64")),
    # exact.
    (lambda: rk.reduce_sum(f4, exact=2), rk.ArgumentError,
     "reduce_sum: exact=2 is not a flag; use True or False"),
    (lambda: rk.reduce_sum(f4, exact="yes"), TypeError,
     "reduce_sum: exact='yes' is not a flag; use True or False"),
    # Keywords that there are not.
    (lambda: rk.reduce_max(f4, axis=0), TypeError,
     "reduce_max: unexpected keyword argument 'axis'; use axes="),
    (lambda: rk.reduce_min(f4, 0, keepdim=True), TypeError,
     "reduce_min: unexpected keyword argument 'keepdim'; use keepdims="),
    (lambda: rk.reduce_sum(data=f4, axes=0, dtype="f8"), TypeError,
     ("reduce_sum: unexpected keyword argument 'dtype'; the result has the element type of the "
     "data: cast the data first")),
    (lambda: rk.reduce_max(f4, skipna=True), TypeError,
     "reduce_max: unexpected keyword argument 'skipna'; NaN is not skipped: fill or drop it first"),
    (lambda: rk.reduce_max(f4, exact=True), TypeError,
     "reduce_max: unexpected keyword argument 'exact'; a maximum or minimum is exact always"),
    (lambda: rk.reduce_sum(f4, opzet=13), TypeError,
     "reduce_sum: unexpected keyword argument 'opzet'; use opset="),
    (lambda: rk.reduce_sum(f4, **{"where the sun shines": 1, "axis": 0}), TypeError,
     ("reduce_sum: unexpected keyword argument 'where the sun shines'; use one of data, axes, "
     "keepdims, noop_with_empty_axes, opset, strict, out, exact, progress")),
    (lambda: rk.Tensor(f4).reduce_max(axis=0), TypeError,
     "reduce_max: unexpected keyword argument 'axis'; use axes="),
    (lambda: rk.Tensor(f4).reduce_min(0, 1, dim=0), TypeError,
     "reduce_min: unexpected keyword argument 'dim'; use axes="),
    (lambda: rk.Tensor(f4).reduce_sum(out=f4), TypeError,
     "reduce_sum: unexpected keyword argument 'out'; the result has memory of its own"),
    (lambda: rk.Tensor(f4).reduce_sum(z=0), TypeError,
     ("reduce_sum: unexpected keyword argument 'z'; use one of axes, keepdims, "
     "noop_with_empty_axes, opset, strict, exact, progress")),
    (lambda: rk.explain("max", (2, 3), axis=0), TypeError,
     "explain: unexpected keyword argument 'axis'; use axes="),
    # The opset in force.
    (lambda: rk.set_default_opset(0), rk.OpsetError,
     "set_default_opset: opset 0 is unknown; use 1 to 28 or 'latest'"),
    (lambda: rk.set_default_opset("newest"), TypeError,
     "set_default_opset: opset='newest' is a str; use an int from 1 to 28 or 'latest'"),
    (lambda: rk.opset(29).__enter__(), rk.OpsetError,
     "opset: opset 29 is unknown; use 1 to 28 or 'latest'"),
    (lambda: rk.opset(None).__enter__(), TypeError,
     "opset: opset=None is a NoneType; use an int from 1 to 28 or 'latest'"),
    # Threads.
    (lambda: rk.set_num_threads(0), rk.ArgumentError,
     "set_num_threads: n=0 is below 1; use 1 to 256"),
    (lambda: rk.set_num_threads(2.0), TypeError,
     "set_num_threads: n=2.0 has type float; use an int"),
    # The table.
    (lambda: schema.resolve("ReduceProd", 18), rk.OpsetError,
     "operator 'ReduceProd' is unknown; use one of ReduceMax, ReduceMin, ReduceSum"),
    (lambda: schema.history(None), TypeError,
     "operator None has type NoneType; use a name, such as 'ReduceMax'"),
    (lambda: schema.resolve("ReduceSum", -1), rk.OpsetError,
     "reduce_sum: opset -1 is unknown; use 1 to 28 or 'latest'"),
    (lambda: rk._rules.resolve_call(0, 65, "float32", None, True, False, None, True),
     rk.ArgumentError,
     "reduce_max: a tensor of rank 65 is beyond NumPy's limit; use at most 64"),
]  # fmt: skip


def run(module, op, args, kwargs):
    return getattr(module, f"reduce_{op}")(*args, **kwargs)


@pytest.mark.parametrize(
    ("given", "error", "text"), CALLS, ids=[f"{n}-{row[2][:60]}" for n, row in enumerate(CALLS)]
)
def test_calls(given, error, text):
    for module in (rk, reference):
        with pytest.raises(error) as raised:
            run(module, *given)
        assert (module, type(raised.value), str(raised.value)) == (module, error, text)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    MORE_CALLS,
    ids=[f"{n}-{row[2][:60]}" for n, row in enumerate(MORE_CALLS)],
)
def test_more_calls(function, error, text):
    with pytest.raises(error) as raised:
        function()
    assert (type(raised.value), str(raised.value)) == (error, text)


def test_no_refusal_is_missing_from_the_table(monkeypatch):
    """Every function of _refusals that makes an error is reached by some row above."""
    reached = set()

    def recorded(name, function):
        def record(*args, **kwargs):
            reached.add(name)
            return function(*args, **kwargs)

        return record

    makers = {
        name: function
        for name, function in inspect.getmembers(_refusals, inspect.isfunction)
        if function.__module__ == _refusals.__name__
        and any(text in str(function.__annotations__.get("return")) for text in ("Error", "Exc"))
    }
    assert len(makers) > 10
    for name, function in makers.items():
        monkeypatch.setattr(_refusals, name, recorded(name, function))
    for given, error, _ in CALLS:
        with pytest.raises(error):
            run(rk, *given)
    for function, error, _ in MORE_CALLS:
        with pytest.raises(error):
            function()
    assert reached == set(makers)


def test_the_classes_are_those_that_users_of_numpy_catch():
    assert issubclass(rk.AxesError, (rk.ReduceError, np.exceptions.AxisError))
    for error, also in [
        (rk.AxesError, np.exceptions.AxisError),
        (rk.AxesError, ValueError),
        (rk.AxesError, IndexError),
        (rk.DTypeError, TypeError),
        (rk.OpsetError, ValueError),
        (rk.ArgumentError, ValueError),
    ]:
        assert issubclass(error, rk.ReduceError)
        assert issubclass(error, also)
        assert error.__module__ == "reducekit"


def test_arguments_by_the_wrong_name_or_place():
    for op in schema.OPERATORS:
        function = getattr(rk, op.function)
        for args, kwargs in [((), {}), ((f4, None, True), {}), ((f4,), {"axis": 0})]:
            with pytest.raises(TypeError, match=op.function):
                function(*args, **kwargs)


def test_a_wrong_keyword_in_every_way_to_call():
    text = "^reduce_max: unexpected keyword argument 'axis'; use axes=$"
    for call in (
        lambda: rk.reduce_max(*[f4], axis=0),
        partial(rk.reduce_max, f4, axis=0),
        partial(rk.reduce_max, axes=0, axis=0),
        lambda: rk.reduce_max.__call__(f4, axis=0),
        lambda: rk.reduce_max(f4, None, None, axis=0),
    ):
        with pytest.raises(TypeError, match=text) as raised:
            call()
        assert raised.value.__suppress_context__  # one error is shown, not two


def test_other_errors_of_calls_with_keywords_stay_what_they_are():
    with pytest.raises(TypeError, match="multiple values"):
        rk.reduce_max(f4, 0, axes=0)
    with pytest.raises(TypeError, match="keywords must be strings"):
        rk.reduce_max(f4, **{1: 2})
    with pytest.raises(TypeError, match="not a flag") as raised:
        rk.reduce_max(f4, keepdims=None)
    assert raised.value.__context__ is None

    class Bad:
        def __array__(self, dtype=None, copy=None):
            raise KeyError("mine")

    with pytest.raises(TypeError, match="cannot be read") as raised:
        rk.reduce_max(Bad(), axes=0)
    assert isinstance(raised.value.__cause__, KeyError)
