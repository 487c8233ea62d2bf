"""The operator table against the ONNX standard's own schemas, row by row."""

import re

import numpy as np
import onnx
import pytest
from oracles import empty_value

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import ELEMENT_TYPES

ONNX = {
    (s.name, s.since_version): s
    for s in onnx.defs.get_all_schemas_with_history()
    if s.domain == "" and s.name in {op.name for op in schema.OPERATORS}
}
ROWS = [version for op in schema.OPERATORS for version in op.versions]
OPSETS = range(1, schema.NEWEST_OPSET + 1)
row = pytest.mark.parametrize("version", ROWS, ids=str)


def text_of_axes(standard):
    """What the standard says of axes, and where: an attribute or an input."""
    if "axes" in standard.attributes:
        return "attribute", standard.attributes["axes"].description
    (axes,) = [given for given in standard.inputs if given.name == "axes"]
    return "input", axes.description


def test_every_version_of_the_standard_has_a_row_and_no_other():
    assert sorted((v.name, v.since_version) for v in ROWS) == sorted(ONNX)


def test_newest_opset_is_the_one_of_the_standard():
    standard = onnx.defs.onnx_opset_version()
    older = tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 23)  # knows fewer opsets
    assert standard == schema.NEWEST_OPSET or (older and standard < schema.NEWEST_OPSET)


@row
def test_element_types(version):
    (constraint,) = ONNX[version.name, version.since_version].type_constraints
    named = {kind.name: f"tensor({kind.onnx_name})" for kind in ELEMENT_TYPES}
    assert sorted(named[name] for name in version.dtypes) == sorted(constraint.allowed_type_strs)
    assert len(set(version.dtypes)) == len(version.dtypes)
    for kind in ELEMENT_TYPES:
        assert version.allows(kind.name) == (kind.name in version.dtypes)
    assert {kind.name for kind in schema.element_types(version)} == set(version.dtypes)


@row
def test_data_and_result_have_one_type(version):
    standard = ONNX[version.name, version.since_version]
    assert standard.inputs[0].type_str == standard.outputs[0].type_str == "T"


@row
def test_where_axes_are(version):
    where, _ = text_of_axes(ONNX[version.name, version.since_version])
    assert version.axes == where


@row
def test_noop_with_empty_axes(version):
    attributes = ONNX[version.name, version.since_version].attributes
    assert version.noop_with_empty_axes == ("noop_with_empty_axes" in attributes)
    if version.noop_with_empty_axes:
        assert attributes["noop_with_empty_axes"].default_value.i == 0


@row
def test_keepdims_is_an_attribute_that_defaults_to_1(version):
    standard = ONNX[version.name, version.since_version]
    assert standard.attributes["keepdims"].default_value.i == 1


@row
def test_negative_axes(version):
    _, text = text_of_axes(ONNX[version.name, version.since_version])
    assert version.negative_axes == ("Accepted range is [-r, r-1]" in text)


@row
def test_value_of_an_empty_set(version):
    for kind in schema.element_types(version):
        value = version.empty_value(kind.name)
        want = empty_value(schema.operator(version.name).short, kind.name)
        assert value == want
        assert value.dtype == kind.numpy_dtype
        assert not np.signbit(np.float64(value)) or value < 0


@row
def test_value_of_an_empty_set_is_the_one_that_the_standard_states(version):
    """Where a version says it; 11 and 12 are silent in part, and mean the same."""
    says = {
        "lowest": "minus infinity (if supported by the datatype) or the minimum value",
        "highest": "plus infinity (if supported by the datatype) or the maximum value",
        "zero": "yields 0",
    }
    text = " ".join(ONNX[version.name, version.since_version].doc.split())
    if "empty set" in text:
        assert says[version.empty] in text
    else:
        assert str(version) in {"ReduceMax-12", "ReduceMin-12", "ReduceSum-11"}


@pytest.mark.parametrize("op", schema.OPERATORS, ids=lambda op: op.name)
def test_resolve_at_every_opset(op):
    for opset in OPSETS:
        standard = onnx.defs.get_schema(op.name, opset, "")
        for name in (op.name, op.short, op.function):
            assert schema.resolve(name, opset) is schema.resolve(op.name, np.int64(opset))
        assert schema.resolve(op.name, opset).since_version == standard.since_version
    assert schema.resolve(op.name) is schema.resolve(op.name, "latest") is op.versions[-1]
    assert schema.resolve(op.name, schema.NEWEST_OPSET) is op.versions[-1]


@pytest.mark.parametrize("op", schema.OPERATORS, ids=lambda op: op.name)
def test_history_and_firsts(op):
    versions = schema.history(op.name)
    assert versions is op.versions
    assert [v.since_version for v in versions] == sorted({v.since_version for v in versions})
    assert all(v.name == op.name and str(v) == f"{op.name}-{v.since_version}" for v in versions)
    for kind in ELEMENT_TYPES:
        takes = [v.since_version for v in versions if kind.name in v.dtypes]
        assert schema.first_opset(op.name, kind.name) == (takes[0] if takes else None)
    for attribute in ("noop_with_empty_axes", "negative_axes"):
        has = [v.since_version for v in versions if getattr(v, attribute)]
        assert schema.first_opset_with(op.name, attribute) == has[0]


def test_a_later_version_never_takes_less():
    for op in schema.OPERATORS:
        for older, newer in zip(op.versions, op.versions[1:]):
            assert set(older.dtypes) <= set(newer.dtypes)
            assert older.noop_with_empty_axes <= newer.noop_with_empty_axes
            assert older.negative_axes <= newer.negative_axes


def test_names_of_an_operator_are_one_word_in_three_spellings():
    for op in schema.OPERATORS:
        assert op.name == "Reduce" + op.short.title()
        assert op.function == re.sub(r"(?<!^)([A-Z])", r"_\1", op.name).lower()
        assert op.atb in {"", op.function.upper()}
        assert callable(getattr(rk, op.function))
    assert [op.atb_number for op in schema.OPERATORS if op.atb] == [1, 2, 3]
    assert all(op.atb_number == 0 for op in schema.OPERATORS if not op.atb)


def test_positions_have_the_names_of_the_operators():
    for position, op in enumerate(schema.OPERATORS):
        assert getattr(schema, op.short.upper()) == position


@pytest.mark.parametrize("opset", [0, -1, 29, 2**70, np.int64(0)])
def test_unknown_opsets(opset):
    for op in schema.OPERATORS:
        with pytest.raises(rk.OpsetError, match=f"opset {opset} is unknown; use 1 to 28"):
            schema.resolve(op.name, opset)


@pytest.mark.parametrize("opset", [13.0, "13", True, np.bool_(True), b"latest", [13]])
def test_opsets_of_a_wrong_type(opset):
    with pytest.raises(TypeError, match="use an int from 1 to 28 or 'latest'"):
        schema.resolve("ReduceMax", opset)


def test_unknown_operators():
    with pytest.raises(rk.OpsetError, match="'ReduceFoo' is unknown; use one of ReduceMax"):
        schema.resolve("ReduceFoo", 18)
    with pytest.raises(TypeError, match="operator 1 has type int; use a name"):
        schema.history(1)


@pytest.mark.parametrize("op", schema.OPERATORS, ids=lambda op: op.name)
@pytest.mark.parametrize("kind", ELEMENT_TYPES, ids=lambda kind: kind.name)
def test_every_type_has_a_kernel_or_is_refused(op, kind):
    function = getattr(rk, op.function)
    data = np.ones((2, 3), kind.numpy_dtype)
    if kind.name in op.never:
        assert not any(version.allows(kind.name) for version in op.versions)
        with pytest.raises(rk.DTypeError):
            function(data, strict=False)
    else:
        assert function(data, strict=False).dtype == kind.numpy_dtype
