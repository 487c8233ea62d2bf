"""Shape and type inference: the engine's rules, and ONNX's answers wherever it has them."""

import itertools
import re

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx_world.builders import OPERATORS, boundaries, constant, node

import reducekit as rk
from reducekit import schema
from reducekit.onnx import TensorType, infer_node
from reducekit.onnx._node import problems, read
from reducekit.onnx.inference import infer

FLOAT = TensorProto.FLOAT
SHAPES = [None, (), (5,), ("N",), (2, "N", 4), ("N", None, 0, 1)]
AXES = ["omitted", [], [0], [-1], [1, 0], "unknown"]


# Versions for which ONNX answers even for axes that do not exist.
LOOKS_AT_NO_AXIS = {"ReduceMax": (1, 11), "ReduceMin": (1, 11), "ReduceSum": (1,)}


def case(op, opset, axes, keepdims, noop):
    """A node, and what is known of its axes."""
    version = schema.resolve(op, opset)
    flags = {"keepdims": keepdims}
    if noop is not None:
        if not version.noop_with_empty_axes:
            return None
        flags["noop_with_empty_axes"] = noop
    if axes == "omitted":
        return node(op, ["x"], **flags), {}
    if version.axes == "attribute":
        return None if axes == "unknown" else (node(op, ["x"], axes=axes, **flags), {})
    data = {} if axes == "unknown" else {"a": constant("a", axes)}
    return node(op, ["x", "a"], **flags), data


def proto(shape, number=FLOAT):
    return helper.make_tensor_type_proto(number, shape)


def onnx_says(made, opset, types, data):
    row = onnx.defs.get_schema(made.op_type, opset)
    imports = [helper.make_opsetid("", opset)]
    answer = onnx.shape_inference.infer_node_outputs(row, made, types, data, opset_imports=imports)
    return TensorType.of_proto(answer["y"]) if "y" in answer else TensorType()


def assert_no_less(ours, theirs, hint):
    """Ours has all that theirs has; what theirs leaves open may be known here."""
    __tracebackhide__ = True
    assert ours.dtype == theirs.dtype, hint
    if theirs.shape is None:
        return
    assert ours.shape is not None, hint
    assert len(ours.shape) == len(theirs.shape), hint
    for here, there in zip(ours.shape, theirs.shape):
        assert there is None or here == there, f"{hint}: {ours} {theirs}"


@pytest.mark.parametrize("op", OPERATORS)
def test_it_agrees_with_onnx_wherever_that_has_an_answer(op):
    compared = known_here_alone = 0
    for opset, shape, axes, keepdims, noop in itertools.product(
        boundaries(op), SHAPES, AXES, (0, 1), (None, 0, 1)
    ):
        built = case(op, opset, axes, keepdims, noop)
        if built is None:
            continue
        made, data = built
        types = {"x": proto(shape), "a": proto([len(axes)] if data else [None], TensorProto.INT64)}
        hint = f"{op} {opset} {shape} {axes} keepdims={keepdims} noop={noop}"
        try:
            ours = TensorType.of_proto(infer_node(made, types, data, opset=opset)["y"])
        except rk.AxesError:
            if schema.resolve(op, opset).since_version not in LOOKS_AT_NO_AXIS[op]:
                with pytest.raises(onnx.shape_inference.InferenceError):
                    onnx_says(made, opset, types, data)
            continue
        theirs = onnx_says(made, opset, types, data)
        assert_no_less(ours, theirs, hint)
        compared += 1
        known_here_alone += ours != theirs
    assert compared > 300
    assert known_here_alone < compared / 4


@pytest.mark.parametrize("op", OPERATORS)
@given(st.data())
def test_it_agrees_with_the_engine(op, data):
    opset = data.draw(st.sampled_from(boundaries(op)), "opset")
    shape = data.draw(st.lists(st.integers(0, 3), max_size=4).map(tuple), "shape")
    version = schema.resolve(op, opset)
    axes = data.draw(st.none() | st.lists(st.integers(-5, 4), max_size=3), "axes")
    keepdims = data.draw(st.booleans(), "keepdims")
    noop = data.draw(st.booleans(), "noop") if version.noop_with_empty_axes else None
    dtype = data.draw(st.sampled_from(["float32", "int16", "bool", "bfloat16", "int8"]), "dtype")
    strict = data.draw(st.booleans(), "strict")
    built = case(op, opset, "omitted" if axes is None else axes, int(keepdims), noop)
    made, constants = built
    types = {"x": TensorType(dtype, shape).to_proto(), "a": proto([None], TensorProto.INT64)}
    function = getattr(rk, schema.operator(op).function)
    array = np.zeros(shape, rk.dtypes.by_name(dtype).numpy_dtype)
    if dtype == "bool" and not strict and op == "ReduceSum":
        return  # the engine has a rule of values there: a sum of bools has no meaning in bool
    try:
        want = function(
            array,
            axes,
            keepdims=keepdims,
            noop_with_empty_axes=bool(noop),
            opset=opset,
            strict=strict,
        )
    except rk.ReduceError as error:
        with pytest.raises(type(error)):
            infer_node(made, types, constants, opset=opset, strict=strict)
        return
    got = infer_node(made, types, constants, opset=opset, strict=strict)["y"]
    assert TensorType.of_proto(got) == TensorType(dtype, want.shape)


@given(
    st.sampled_from(OPERATORS),
    st.integers(1, schema.NEWEST_OPSET),
    st.lists(st.integers(-70, 70), max_size=5),
    st.integers(0, 5),
)
def test_problems_are_those_of_the_engine(op, opset, axes, rank):
    """A list of axes has a problem here exactly where the engine refuses it."""
    version = schema.resolve(op, opset)
    made, _ = case(op, opset, "omitted" if version.axes == "input" else axes, 1, None)
    axes_of = read(made).axes(np.array(axes, np.int64)) if version.axes == "input" else None
    if version.axes == "input":
        made.input.append("a")
        axes_of = read(made).axes(np.array(axes, np.int64))
    found = problems(read(made), opset, TensorType("float32", (1,) * rank), axes_of)
    function = getattr(rk, schema.operator(op).function)
    try:
        function(np.zeros((1,) * rank, np.float32), axes, opset=opset)
    except rk.AxesError:
        assert found
        assert {problem.rule for problem in found} <= {
            "axis-range",
            "negative-axis",
            "duplicate-axis",
        }
    else:
        assert found == []


def test_what_is_known_here_alone():
    """With unknown axes and keepdims, the rank stays; a kept axis of size 1 stays 1."""
    made = node("ReduceMax", ["x", "a"])
    types = {"x": proto(("N", 1, 3)), "a": proto([None], TensorProto.INT64)}
    got = TensorType.of_proto(infer_node(made, types)["y"])
    assert got == TensorType("float32", (None, 1, None))
    # An axes input of size 0 is an empty list, whatever its values would be.
    types["a"] = proto([0], TensorProto.INT64)
    assert TensorType.of_proto(infer_node(made, types)["y"]).shape == (1, 1, 1)


@pytest.mark.parametrize(
    ("made", "opset", "dtype", "error", "text"),
    [
        (node("ReduceMax", ["x"], name="r"), 13, "bool", rk.DTypeError,
         ("ReduceMax 'r': ReduceMax-13 does not take bool; it takes uint32, uint64, int32, int64, "
         "float16, float32, float64, uint8, int8, bfloat16: cast the input to int8 and the result "
         "back to bool or raise the opset to 20")),
        (node("ReduceMax", ["x"], axes=[3]), 13, "float32", rk.AxesError,
         "ReduceMax: axis 3 is out of range for a tensor of rank 2; use -2 to 1"),
        (node("ReduceMax", ["x"], axes=[-1]), 7, "float32", rk.AxesError,
         ("ReduceMax: axis -1 is negative, which ReduceMax-1 does not define; negative axes begin "
         "at opset 11: write axes as [1] or raise the opset to 11")),
        (node("ReduceMax", ["x"], axes=[0, -2]), 13, "float32", rk.AxesError,
         "ReduceMax: axis 0 is given twice in [0, -2]; name each axis once: write axes as [0]"),
        (node("ReduceMax", ["x"], axes=[0]), 18, "float32", rk.OpsetError,
         ("ReduceMax: axes are an attribute, but ReduceMax-18 takes them as an input: move "
         "axes=[0] to a constant int64 tensor and give it as the second input")),
        (node("ReduceSum", ["x"]), 13, "string", rk.DTypeError,
         ("ReduceSum: ReduceSum-13 does not take string; it takes uint32, uint64, int32, int64, "
         "float16, float32, float64, bfloat16")),
        (node("ReduceSum", ["x"], keepdims=3), 13, "float32", rk.ArgumentError,
         ("ReduceSum: keepdims is 3; it is a flag, 0 or 1, and runtimes read 3 differently: "
         "set keepdims to 0 or 1")),
        (node("Abs", ["x"]), 13, "float32", rk.ArgumentError,
         ("infer_node: 'Abs' of domain '' is no reduction of the table; use one of ReduceMax, "
         "ReduceMin, ReduceSum, or onnx.shape_inference.infer_node_outputs")),
        (node("ReduceSum", ["z"]), 13, "float32", rk.ArgumentError,
         ("infer_node: the type of input 'z' is not in input_types; give one, an empty "
         "onnx.TypeProto if it is unknown")),
    ],
)  # fmt: skip
def test_refusals(made, opset, dtype, error, text):
    types = {"x": TensorType(dtype, (2, 3)).to_proto()}
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        infer_node(made, types, opset=opset)


def test_the_opset_in_force_counts():
    made = node("ReduceMax", ["x"], axes=[0])
    types = {"x": proto((2,))}
    with rk.opset(13):
        assert TensorType.of_proto(infer_node(made, types)["y"]).shape == (1,)
    with pytest.raises(rk.OpsetError):
        infer_node(made, types)


def test_a_sequence_has_no_shape():
    sequence = helper.make_sequence_type_proto(proto((2,)))
    with pytest.raises(rk.DTypeError, match="is no tensor"):
        infer_node(node("ReduceMax", ["x"]), {"x": sequence})


def test_function_attributes_are_unknown_until_the_call():
    made = node("ReduceMax", ["x"])
    made.attribute.append(
        onnx.AttributeProto(name="keepdims", ref_attr_name="k", type=onnx.AttributeProto.INT)
    )
    data = TensorType("float32", (2, 3))
    open_ended = read(made)
    assert infer(open_ended, 13, data, open_ended.axes()) == TensorType("float32")
    closed = read(made, {"k": helper.make_attribute("k", 0)})
    assert infer(closed, 13, data, closed.axes()) == TensorType("float32", ())
    default = read(made, {})
    assert infer(default, 13, data, default.axes()) == TensorType("float32", (1, 1))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TensorType(), "unknown type, unknown shape"),
        (TensorType("bool", ()), "bool ()"),
        (TensorType("float8e4m3fn", (None, "a\nb")), r"float8e4m3fn (?, a\nb)"),
        (TensorType("int8", (3,)), "int8 (3,)"),
        (TensorType("type number 3000", (3,)), "type number 3000 (3,)"),
    ],
)
def test_types_print_in_one_line_and_return_from_protos(kind, text):
    assert str(kind) == text
    if kind.shape != (None, "a\nb"):
        assert TensorType.of_proto(kind.to_proto()) == kind
