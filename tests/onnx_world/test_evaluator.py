"""The operators within ONNX's evaluator: right, everywhere in the model, with clear refusals."""

import inspect

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun, OpRunExpand
from onnx_world.builders import OPERATORS, constant, model, node, reduction, value
from oracles import assert_same

import reducekit as rk
import reducekit.onnx as rx
from reducekit import schema
from reducekit.onnx.evaluator import Evaluator, LenientEvaluator, operator_class, ops

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_one_class_for_each_operator_and_one_for_each_row():
    assert [op.__name__ for op in rx.OPS] == OPERATORS
    assert rx.OPS == ops() == ops(strict=True)
    assert not {*ops()} & {*ops(strict=False)}
    for name in OPERATORS:
        for version in schema.history(name):
            made = operator_class(name, version.since_version)
            assert issubclass(made, OpRun)
            assert made.__name__ == f"{name}_{version.since_version}"
            assert (
                inspect.getdoc(made) == f"{name}, {version}, by reducekit.{made.operator.function}."
            )
    assert operator_class("max", 19) is operator_class("ReduceMax", 18)
    with pytest.raises(rk.OpsetError, match="opset 99 is unknown"):
        operator_class("ReduceMax", 99)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_bound_class_evaluates_by_itself(name):
    function = getattr(rk, schema.operator(name).function)
    for version in schema.history(name):
        made = operator_class(name, version.since_version)
        opset = version.since_version
        if version.axes == "attribute":
            got = made.eval(X, axes=[1], keepdims=0)
        else:
            got = made.eval(X, np.array([1]), keepdims=0)
        assert_same(got, function(X, [1], keepdims=False, opset=opset))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_sums_that_the_plain_evaluator_gets_wrong(dtype):
    name = np.dtype(dtype).name
    ones = np.ones((3000, 2), dtype)
    made = reduction("ReduceSum", 13, name, shape=[3000, 2], axes=[0], keepdims=0)
    plain = ReferenceEvaluator(made).run(None, {"x": ones})[0]
    right = ReferenceEvaluator(made, new_ops=rx.ops()).run(None, {"x": ones})[0]
    assert float(plain[0]) < 2049
    assert_same(right, np.array([3000, 3000], dtype))


def test_types_that_the_opset_forbids():
    made = reduction("ReduceMax", 13, "bool", shape=[0, 2], axes=[0])
    data = np.zeros((0, 2), bool)
    # Wrong twice: it computes at all, and takes True for the largest of nothing.
    assert ReferenceEvaluator(made).run(None, {"x": data})[0].tolist() == [[True, True]]
    with pytest.raises(rk.DTypeError, match=r"ReduceMax-13 does not take bool") as caught:
        ReferenceEvaluator(made, new_ops=rx.OPS).run(None, {"x": data})
    assert caught.value.__notes__ == ["in node ReduceMax 'r' with output 'y'"]
    lenient = ReferenceEvaluator(made, new_ops=ops(strict=False))
    assert lenient.run(None, {"x": data})[0].tolist() == [[False, False]]


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (reduction("ReduceMax", 18, axes=[1], form="attribute"), rk.OpsetError, "as an input"),
        (reduction("ReduceMax", 13, axes=[1], form="input"), rk.OpsetError, "as an attribute"),
        (reduction("ReduceSum", 11, noop_with_empty_axes=1), rk.OpsetError, "has no attribute"),
        (reduction("ReduceSum", 13, keepdims=2), rk.ArgumentError, "keepdims is 2"),
        (reduction("ReduceSum", 13, axis=2), rk.ArgumentError, "has no attribute axis"),
    ],
)
def test_a_node_that_is_illegal_as_it_stands_is_refused_when_the_model_is_read(made, error, text):
    ReferenceEvaluator(made)
    with pytest.raises(error, match=text) as caught:
        ReferenceEvaluator(made, new_ops=rx.OPS)
    assert str(caught.value).startswith(f"{made.graph.node[0].op_type} 'r': ")


@pytest.mark.parametrize(
    ("axes", "error", "text"),
    [
        (np.array([1], np.int32), rk.DTypeError, "the axes input is int32"),
        (np.array(1), rk.ArgumentError, "the axes input has rank 0"),
        (np.array([[1]]), rk.ArgumentError, "the axes input has rank 2"),
        (np.array([3]), rk.AxesError, "axis 3 is out of range for a tensor of rank 3"),
        (np.array([1, 1]), rk.AxesError, "given twice"),
    ],
)
def test_axes_that_are_computed(axes, error, text):
    made = reduction("ReduceMax", 18, axes=[1], form="dynamic")
    session = ReferenceEvaluator(made, new_ops=rx.OPS)
    assert_same(session.run(None, {"x": X, "axes": np.array([1])})[0], rk.reduce_max(X, [1]))
    with pytest.raises(error, match=text):
        session.run(None, {"x": X, "axes": axes})


def test_a_callers_own_operator_goes_first():
    class ReduceMax(OpRun):
        op_domain = ""

        def _run(self, data, axes=None, keepdims=1, noop_with_empty_axes=0):
            return (np.zeros(1, np.float32),)

    made = reduction("ReduceMax", 18, axes=[1])
    assert Evaluator(made, new_ops=[ReduceMax]).run(None, {"x": X})[0].tolist() == [0.0]
    assert_same(Evaluator(made).run(None, {"x": X})[0], rk.reduce_max(X, [1]))


ONES = np.ones((3000, 1), np.float16)
HALF = TensorProto.FLOAT16


def summing(outputs=("y",)):
    return node("ReduceSum", ["x", "a"], outputs, keepdims=0)


def in_function(depth):
    """A model whose sum is ``depth`` functions deep."""
    functions = [
        helper.make_function(
            "local", "F1", ["x"], ["y"],
            [node("Constant", [], ["a"], value_ints=[0]), summing()],
            [helper.make_opsetid("", 13)],
        )
    ]  # fmt: skip
    for level in range(2, depth + 1):
        body = [node(f"F{level - 1}", ["x"], ["y"], domain="local")]
        imports = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
        functions.append(helper.make_function("local", f"F{level}", ["x"], ["y"], body, imports))
    return model(
        [node(f"F{depth}", ["x"], ["y"], domain="local")],
        [value("x", HALF, [3000, 1])],
        [value("y", HALF, [1])],
        imports=[helper.make_opsetid("", 13), helper.make_opsetid("local", 1)],
        functions=functions,
    )


def in_branch():
    then = helper.make_graph([summing(("t",))], "then", [], [value("t", HALF, [1])])
    other = helper.make_graph([summing(("e",))], "else", [], [value("e", HALF, [1])])
    return model(
        [node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
        [value("x", HALF, [3000, 1])],
        [value("y", HALF, [1])],
        13,
        initializers=[constant("a", [0]), constant("c", True, bool)],
    )


def in_loop():
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), summing(("s",))],
        "body",
        [value("i", "int64", []), value("c", "bool", [])],
        [value("d", "bool", []), value("s", HALF, [1])],
    )
    return model(
        [node("Loop", ["n", "go"], ["all"], body=body), node("Squeeze", ["all", "a"], ["y"])],
        [value("x", HALF, [3000, 1])],
        [value("y", HALF, [1])],
        13,
        initializers=[constant("a", [0]), constant("n", 1), constant("go", True, bool)],
    )


def in_scan():
    body = helper.make_graph(
        [node("ReduceSum", ["row", "a"], ["s"], keepdims=0)],
        "body",
        [value("row", HALF, [3000])],
        [value("s", HALF, [])],
    )
    return model(
        [
            node("Transpose", ["x"], ["rows"], perm=[1, 0]),
            node("Scan", ["rows"], ["y"], body=body, num_scan_inputs=1),
        ],
        [value("x", HALF, [3000, 1])],
        [value("y", HALF, [1])],
        13,
        initializers=[constant("a", [0])],
    )


@pytest.mark.parametrize(
    "made",
    [in_function(1), in_function(3), in_branch(), in_loop(), in_scan()],
    ids=["function", "functions", "If", "Loop", "Scan"],
)
def test_every_corner_of_a_model_is_reached(made):
    onnx.checker.check_model(made)
    got = Evaluator(made).run(None, {"x": ONES})[0]
    assert_same(got, np.array([3000], np.float16))


def test_a_function_with_attributes_of_its_caller():
    body = [node("Constant", [], ["a"], value_ints=[0]), node("ReduceSum", ["x", "a"])]
    attribute = onnx.AttributeProto(
        name="keepdims", ref_attr_name="keep", type=onnx.AttributeProto.INT
    )
    body[1].attribute.append(attribute)
    function = helper.make_function(
        "local", "S", ["x"], ["y"], body, [helper.make_opsetid("", 13)], attributes=["keep"]
    )
    for keep, shape in ((0, (4,)), (1, (1, 4))):
        made = model(
            [node("S", ["x"], domain="local", keep=keep)],
            [value("x", "float32", [3, 4])],
            [value("y", "float32", None)],
            imports=[helper.make_opsetid("", 13), helper.make_opsetid("local", 1)],
            functions=[function],
        )
        assert Evaluator(made).run(None, {"x": X[0]})[0].shape == shape


def test_operators_that_are_functions_of_reductions():
    """ONNX defines Softmax by ReduceMax and ReduceSum; expanded, it uses these."""

    class Softmax(OpRunExpand):
        op_domain = ""

    made = model(
        [node("Softmax", ["x"], ["y"], axis=-1)],
        [value("x", "float32", [2, 3, 4])],
        [value("y", "float32", [2, 3, 4])],
        18,
    )
    calls = []

    watched = [type(op.__name__, (op,), {"_run": watch(op, calls)}) for op in rx.OPS]
    watching = type("Watching", (Evaluator,), {"reductions": watched})
    got = watching(made, new_ops=[Softmax]).run(None, {"x": X})[0]
    np.testing.assert_allclose(got.sum(-1), 1, rtol=1e-6)
    assert calls == ["ReduceMax", "ReduceSum"]


def watch(op, calls):
    def _run(self, *args, **kwargs):
        calls.append(op.__name__)
        return op._run(self, *args, **kwargs)

    return _run


def test_lenient_evaluator_reaches_functions_too():
    made = in_function(2)
    for item in (made.graph.input[0], made.graph.output[0]):
        item.type.tensor_type.elem_type = TensorProto.INT8
    data = np.ones((300, 1), np.int8)
    with pytest.raises(rk.DTypeError, match="ReduceSum-13 does not take int8"):
        Evaluator(made).run(None, {"x": data})
    assert_same(LenientEvaluator(made).run(None, {"x": data})[0], np.array([44], np.int8))


def test_the_evaluator_runs_a_lone_node():
    made = node("ReduceMax", ["x", "a"], keepdims=0)
    feeds = {"x": X, "a": np.array([0])}
    assert_same(Evaluator(made).run(None, feeds)[0], rk.reduce_max(X, [0], keepdims=False))
