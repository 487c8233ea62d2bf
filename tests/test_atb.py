"""ReduceOperation against its document: the worked examples, and each restriction."""

import copy
import itertools
import json
import math
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reducekit as rk
from reducekit import atb, schema
from reducekit.atb import ReduceOperation, ReduceParam, ReduceType
from reducekit.dtypes import ELEMENT_TYPES

MAX, MIN, SUM = ReduceType.REDUCE_MAX, ReduceType.REDUCE_MIN, ReduceType.REDUCE_SUM
KINDS = (MAX, MIN, SUM)
ORACLES = {MAX: np.amax, MIN: np.amin, SUM: np.sum}


def reduce(kind, axis, x):
    return ReduceOperation(ReduceParam(kind, axis))(x)


EXAMPLES = [
    (MAX, [0], [[1, 18, 17], [16, 10, 1]], [16, 18, 17]),
    (
        MAX,
        [0, 1],
        [[[17, 3], [19, 6], [1, 18]], [[4, 5], [8, 1], [14, 18]]],
        [19, 18],
    ),
    (MIN, [0], [[16, 2, 7], [18, 16, 17]], [16, 2, 7]),
    (
        MIN,
        [0, 1],
        [[[9, 4], [11, 0], [2, 6]], [[2, 7], [8, 16], [5, 3]]],
        [2, 0],
    ),
    (
        SUM,
        [0],
        [[-0.9701, -0.8059, 0.2919], [-0.1444, -2.3023, 1.2257]],
        [-1.1145, -3.1082, 1.5176],
    ),
    (
        SUM,
        [0, 1],
        [
            [[1.4630, -0.3619], [-0.4526, -1.0142], [-0.2883, 0.9334]],
            [[0.7801, -0.1580], [0.4843, 1.8145], [0.9706, -1.8114]],
        ],
        [2.9571, -0.5976],
    ),
]


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("kind", "axis", "x", "expected"), EXAMPLES[:4])
def test_worked_examples_of_max_and_min(kind, axis, x, expected, dtype):
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    result = reduce(kind, axis, np.array(x, dtype))
    assert result.dtype == dtype
    assert result.tolist() == expected


@pytest.mark.parametrize(("kind", "axis", "x", "expected"), EXAMPLES[4:])
def test_worked_examples_of_sum(kind, axis, x, expected):
    x = np.array(x, np.float32)
    result = reduce(kind, axis, x)
    assert result.dtype == np.float32
    # The document prints four digits of PyTorch's float32.
    assert [f"{value:.4f}" for value in result] == [f"{value:.4f}" for value in expected]
    columns = x.reshape(-1, x.shape[-1]).T
    assert result.tolist() == [np.float32(math.fsum(column)) for column in columns.tolist()]


@pytest.mark.parametrize(("kind", "axis", "x", "expected"), EXAMPLES)
def test_worked_examples_from_json(kind, axis, x, expected):
    text = json.dumps({"reduceType": int(kind), "axis": axis})
    result = ReduceOperation(ReduceParam.from_json(text))(x)
    assert np.round(result, 4).tolist() == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3), (0, 2), (2, 0), (1, 2, 2, 2)])
def test_every_set_of_axes(kind, shape):
    x = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    ndim = len(shape)
    for count in range(1, ndim + 1):
        for axis in itertools.permutations(range(ndim), count):
            operation = ReduceOperation(ReduceParam(kind, axis))
            result = operation(x)
            kept = tuple(n for i, n in enumerate(shape) if i not in axis)
            assert isinstance(result, np.ndarray)
            assert result.shape == kept == operation.infer_shape(shape)
            lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
            initial = {MAX: lowest, MIN: highest, SUM: 0}[kind]
            expected = ORACLES[kind](x, axis=axis, initial=initial)
            assert np.array_equal(result, expected)


@pytest.mark.parametrize("row", ELEMENT_TYPES, ids=lambda row: row.name)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_element_type(kind, row):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(row.numpy_dtype)
    if kind is SUM and row.name == "bool":
        with pytest.raises(rk.DTypeError) as caught:
            reduce(kind, [0], x)
        assert str(caught.value) == (
            "ReduceOperation: bool elements cannot be summed in bool; "
            "cast to int32 or int64 to count"
        )
        return
    result = reduce(kind, [0], x)
    assert result.dtype == row.numpy_dtype
    assert result.astype(int).tolist() == {MAX: [1, 1, 1], MIN: [0, 0, 1], SUM: [1, 1, 2]}[kind]


def test_opset_in_force_changes_nothing():
    x = np.array([3, 1], np.int16)
    with rk.opset(1):
        assert reduce(MAX, [0], x).tolist() == 3
        assert reduce(MIN, [0], np.array([True, False])).tolist() is False


def test_result_is_new_and_data_is_kept():
    x = np.arange(6.0).reshape(1, 6)
    before = x.copy()
    result = reduce(MAX, [0], x)
    result[:] = -1
    assert np.array_equal(x, before)


@pytest.mark.parametrize(
    "x", [[[1, 5], [7, 2]], ((1, 5), (7, 2)), np.asfortranarray([[1, 5], [7, 2]])]
)
def test_anything_array_like(x):
    assert reduce(MAX, [0], x).tolist() == [7, 5]


def test_all_axes_give_rank_0():
    result = reduce(SUM, [1, 0], np.ones((2, 3), np.float32))
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 6


def test_reduce_types_are_the_rows_of_the_table():
    rows = {op.atb: op.atb_number for op in schema.OPERATORS if op.atb}
    members = {kind.name: kind.value for kind in ReduceType}
    assert members == {"REDUCE_UNDEFINED": 0, **rows}
    assert members == {"REDUCE_UNDEFINED": 0, "REDUCE_MAX": 1, "REDUCE_MIN": 2, "REDUCE_SUM": 3}


def test_defaults_are_those_of_the_struct():
    param = ReduceParam()
    assert param.reduceType is ReduceType.REDUCE_UNDEFINED
    assert param.axis == []
    assert param.rsv == [0] * 8


def test_fields_may_be_set_later_as_in_the_struct():
    param = ReduceParam()
    param.reduceType = SUM
    param.axis = [1]
    assert ReduceOperation(param)([[1, 2], [3, 4]]).tolist() == [3, 7]


def test_operation_keeps_a_copy_of_the_parameter():
    param = ReduceParam(MAX, [0])
    operation = ReduceOperation(param)
    param.axis.append(1)
    operation.param.axis.append(1)
    assert operation.infer_shape((2, 3)) == (3,)
    assert operation.param == ReduceParam(MAX, [0])


@pytest.mark.parametrize(
    "axis", [(0, 1), [0, 1], np.array([0, 1]), range(2), [np.int8(0), np.uint64(1)]]
)
def test_axis_forms(axis):
    param = ReduceParam(MAX, axis)
    assert param.axis == [0, 1]
    assert all(type(number) is int for number in param.axis)


def test_text_copies_and_comparison():
    operation = ReduceOperation(ReduceParam(MIN, [2, 0]))
    assert repr(operation) == (
        "ReduceOperation(ReduceParam(reduceType=<ReduceType.REDUCE_MIN: 2>, axis=[2, 0]))"
    )
    for twin in (
        copy.copy(operation),
        copy.deepcopy(operation),
        pickle.loads(pickle.dumps(operation)),
    ):
        assert twin == operation
        assert hash(twin) == hash(operation)
    assert operation != ReduceOperation(ReduceParam(MIN, [0]))
    assert operation != 3


def test_json_is_what_atb_tools_pass():
    text = '{"reduceType": 1, "axis": [0, 1]}'
    param = ReduceParam.from_json(text)
    assert param == ReduceParam(MAX, [0, 1])
    assert param.to_json() == text
    assert ReduceParam.from_json(text.encode()) == param
    assert ReduceParam.from_json('{"axis": [0], "reduceType": 3, "rsv": [0,0,0,0,0,0,0,0]}') == (
        ReduceParam(SUM, [0])
    )


@given(st.sampled_from(ReduceType), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_json_comes_back(kind, axis):
    param = ReduceParam(kind, axis)
    assert ReduceParam.from_json(param.to_json()) == param


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["reduceType", "axis", "rsv"]) | st.text(), inner)
    ),
)


@given(st.binary() | st.text() | JSON.map(json.dumps))
def test_any_text_is_a_parameter_or_a_clear_error(text):
    try:
        param = ReduceParam.from_json(text)
    except (rk.ArgumentError, TypeError) as error:
        message = str(error)
        assert message.startswith("ReduceParam: ")
        assert "\n" not in message
    else:
        assert ReduceParam.from_json(param.to_json()) == param


FORM = 'write it as {"reduceType": 1, "axis": [0, 1]}'
TYPES = "use one of REDUCE_MAX (1), REDUCE_MIN (2), REDUCE_SUM (3)"
BAD_JSON = [
    (
        "",
        rk.ArgumentError,
        f"the text is not JSON (Expecting value: line 1 column 1 (char 0)); {FORM}",
    ),
    ("{", rk.ArgumentError, None),
    (b"\xff", rk.ArgumentError, f"the JSON is not UTF-8 text; {FORM}"),
    ("[" * 200_000, rk.ArgumentError, f"the JSON is nested too deeply; {FORM}"),
    ("[]", rk.ArgumentError, f"the JSON is an array, not an object; {FORM}"),
    ("1", rk.ArgumentError, f"the JSON is a number, not an object; {FORM}"),
    ("null", rk.ArgumentError, f"the JSON is null, not an object; {FORM}"),
    ("true", rk.ArgumentError, f"the JSON is a truth value, not an object; {FORM}"),
    ('"x"', rk.ArgumentError, f"the JSON is a string, not an object; {FORM}"),
    (3, TypeError, "the JSON has type int; use a str or bytes"),
    ({"reduceType": 1}, TypeError, "the JSON has type dict; use a str or bytes"),
    ('{"axis": [NaN]}', rk.ArgumentError, "the JSON holds NaN; every value is an integer"),
    (
        '{"axis": -Infinity}',
        rk.ArgumentError,
        "the JSON holds -Infinity; every value is an integer",
    ),
    ('{"axes": [0]}', rk.ArgumentError, "key 'axes' is unknown; use reduceType, axis, rsv"),
    ('{"axis": [0], "axis": [1]}', rk.ArgumentError, "key 'axis' is given twice; give it once"),
    ('{"reduceType": "REDUCE_MAX"}', TypeError, f"reduceType='REDUCE_MAX' has type str; {TYPES}"),
    ('{"reduceType": true}', TypeError, f"reduceType=True has type bool; {TYPES}"),
    ('{"reduceType": 1.0}', TypeError, f"reduceType=1.0 has type float; {TYPES}"),
    ('{"reduceType": null}', TypeError, f"reduceType=None has type NoneType; {TYPES}"),
    ('{"reduceType": 4}', rk.ArgumentError, f"reduceType 4 is unknown; {TYPES}"),
    ('{"reduceType": -1}', rk.ArgumentError, f"reduceType -1 is unknown; {TYPES}"),
    ('{"axis": 0}', TypeError, "axis=0 has type int; use a list of ints"),
    ('{"axis": "0"}', TypeError, "axis='0' has type str; use a list of ints"),
    ('{"axis": null}', TypeError, "axis=None has type NoneType; use a list of ints"),
    ('{"axis": {"0": 1}}', TypeError, "axis={'0': 1} has type dict; use a list of ints"),
    ('{"axis": [true]}', TypeError, "axis holds True of type bool; use a list of ints"),
    ('{"axis": [1.5]}', TypeError, "axis holds 1.5 of type float; use a list of ints"),
    ('{"axis": [[0]]}', TypeError, "axis holds [0] of type list; use a list of ints"),
    ('{"axis": [1e999]}', TypeError, "axis holds inf of type float; use a list of ints"),
    (
        '{"axis": [9223372036854775808]}',
        rk.ArgumentError,
        "axis 9223372036854775808 does not fit int64; count dimensions from the front, from 0",
    ),
    (
        '{"axis": [-' + "9" * 5000 + "]}",
        rk.ArgumentError,
        (
            "the JSON holds a number of 5000 digits, which no field takes; "
            "every value is a small integer"
        ),
    ),
    ('{"rsv": []}', rk.ArgumentError, "rsv has length 0; leave it out, or give 8 zeros"),
    ('{"rsv": [0]}', rk.ArgumentError, "rsv has length 1; leave it out, or give 8 zeros"),
    (
        '{"rsv": [0,0,0,0,0,0,0,1]}',
        rk.ArgumentError,
        "rsv holds 1, but it is reserved; leave it out, or give 8 zeros",
    ),
    (
        '{"rsv": [0,0,0,0,0,0,0,false]}',
        TypeError,
        "rsv holds False of type bool; use a list of ints",
    ),
]


@pytest.mark.parametrize(("text", "kind", "message"), BAD_JSON, ids=lambda value: str(value)[:30])
def test_bad_json(text, kind, message):
    with pytest.raises(kind) as caught:
        ReduceParam.from_json(text)
    assert type(caught.value) is kind
    if message is None:  # the position within the text is told in words that Python versions change
        assert str(caught.value).startswith("ReduceParam: the text is not JSON (")
        assert str(caught.value).endswith(FORM)
    else:
        assert str(caught.value) == f"ReduceParam: {message}"


X = np.zeros((2, 3))
RESTRICTIONS = [
    (
        "reduceType is one of three",
        lambda: ReduceOperation(ReduceParam(axis=[0])),
        rk.ArgumentError,
        f"ReduceOperation: reduceType REDUCE_UNDEFINED (0) names no reduction; {TYPES}",
    ),
    (
        "axis is not empty",
        lambda: ReduceOperation(ReduceParam(MAX)),
        rk.AxesError,
        "ReduceOperation: axis is empty; name at least one dimension of x",
    ),
    (
        "axis is not longer than the rank",
        lambda: reduce(MAX, [0, 1, 2], X),
        rk.AxesError,
        "ReduceOperation: axis [0, 1, 2] is longer than the rank of x, which is 2; name at most 2",
    ),
    (
        "axis is not longer than rank 0",
        lambda: reduce(MAX, [0], 1.5),
        rk.AxesError,
        (
            "ReduceOperation: axis [0] is longer than the rank of x, which is 0; "
            "give x of rank 1 or more"
        ),
    ),
    (
        "each axis is at least 0",
        lambda: ReduceOperation(ReduceParam(SUM, [-1])),
        rk.AxesError,
        "ReduceOperation: axis -1 is negative; count dimensions from the front, from 0",
    ),
    (
        "each axis is below the rank",
        lambda: reduce(MIN, [2], X),
        rk.AxesError,
        "ReduceOperation: axis 2 is out of range for a tensor of rank 2; use 0 to 1",
    ),
    (
        "each axis is below the rank, at the end of int64",
        lambda: reduce(MIN, [2**63 - 1], X),
        rk.AxesError,
        (
            "ReduceOperation: axis 9223372036854775807 is out of range for a tensor of rank 2; "
            "use 0 to 1"
        ),
    ),
    (
        "no axis twice",
        lambda: ReduceOperation(ReduceParam(MAX, [1, 0, 1])),
        rk.AxesError,
        "ReduceOperation: axis 1 is given twice; name each dimension once",
    ),
    (
        "rsv is zero",
        lambda: ReduceParam(MAX, [0], [0, 0, 7, 0, 0, 0, 0, 0]),
        rk.ArgumentError,
        "ReduceParam: rsv holds 7, but it is reserved; leave it out, or give 8 zeros",
    ),
    (
        "rsv that was set later",
        lambda: ReduceOperation(_later(rsv=b"\0" * 7 + b"\1")),
        rk.ArgumentError,
        "ReduceParam: rsv holds 1, but it is reserved; leave it out, or give 8 zeros",
    ),
    (
        "a field of the wrong type that was set later",
        lambda: ReduceOperation(_later(axis="0")),
        TypeError,
        "ReduceParam: axis='0' has type str; use a list of ints",
    ),
    (
        "axis is far beyond int64",
        lambda: ReduceParam(MAX, [-(10**5000)]),
        rk.ArgumentError,
        (
            "ReduceParam: axis -2**16609 and more does not fit int64; "
            "count dimensions from the front, from 0"
        ),
    ),
    (
        "param is a ReduceParam",
        lambda: ReduceOperation({"reduceType": 1, "axis": [0]}),
        TypeError,
        "ReduceOperation: param has type dict; use a ReduceParam",
    ),
    (
        "complex elements",
        lambda: reduce(MAX, [0], [1j]),
        rk.DTypeError,
        (
            "ReduceOperation: elements of dtype complex128 cannot be reduced; cast to one of "
            "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
            "float16, bfloat16, float32, float64"
        ),
    ),
    (
        "shape holds sizes",
        lambda: ReduceOperation(ReduceParam(MAX, [0])).infer_shape((2, -1)),
        rk.ArgumentError,
        "ReduceOperation: size -1 in shape is negative; use 0 or more",
    ),
    (
        "shape is a sequence",
        lambda: ReduceOperation(ReduceParam(MAX, [0])).infer_shape(3),
        TypeError,
        "ReduceOperation: shape=3 has type int; use a list of ints",
    ),
    (
        "shape holds ints",
        lambda: ReduceOperation(ReduceParam(MAX, [0])).infer_shape((2.0,)),
        TypeError,
        "ReduceOperation: shape holds 2.0 of type float; use a list of ints",
    ),
    (
        "infer_shape has the rank rule",
        lambda: ReduceOperation(ReduceParam(MAX, [1])).infer_shape((2,)),
        rk.AxesError,
        "ReduceOperation: axis 1 is out of range for a tensor of rank 1; use 0 to 0",
    ),
]


def _later(**values):
    param = ReduceParam(MAX, [0])
    for name, value in values.items():
        setattr(param, name, value)
    return param


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [row[1:] for row in RESTRICTIONS],
    ids=[row[0] for row in RESTRICTIONS],
)
def test_restriction(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == message


class _Hostile:
    """An int for a moment: its __index__ raises, and its repr too."""

    def __index__(self):
        raise TypeError("not today")

    def __repr__(self):
        raise RuntimeError("no repr")


def test_hostile_axis():
    with pytest.raises(TypeError) as caught:
        ReduceParam(MAX, [_Hostile()])
    assert str(caught.value) == (
        "ReduceParam: axis holds <_Hostile> of type _Hostile; use a list of ints"
    )


def test_module_is_a_submodule_of_its_own():
    assert set(atb.__all__) == {"ReduceOperation", "ReduceParam", "ReduceType"}
