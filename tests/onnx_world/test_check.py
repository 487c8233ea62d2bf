"""``check_model``: each finding, where reductions hide, and models that are not whole."""

import itertools
import json

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnx_world.builders import (
    OPERATORS,
    boundaries,
    constant,
    model,
    node,
    only_node,
    reduction,
    save,
    value,
)
from oracles import assert_same

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import ELEMENT_TYPES, by_name
from reducekit.onnx import Report, TensorType, backend, check_model


def findings(report, *levels):
    return [
        (found.level, found.rule)
        for item in report.nodes
        for found in item.findings
        if found.level != "runtime" and (not levels or found.level in levels)
    ]


def the_only(report, level="illegal"):
    (item,) = report.nodes
    (found,) = item.at(level)
    return found


def edits(found):
    return [(edit.kind, edit.text) for edit in found.edits]


def test_a_legal_model_has_nothing_illegal():
    report = check_model(reduction("ReduceMax", 13, axes=[1], result=("N", 1, 4)))
    assert report.ok
    assert findings(report) == []
    (item,) = report.nodes
    assert item.version == "ReduceMax-13"
    assert item.data == TensorType("float32", ("N", 3, 4))
    assert item.result == TensorType("float32", ("N", 1, 4))
    assert item.axes == "axes [1] as an attribute"
    assert (item.keepdims, item.noop_with_empty_axes, item.where) == (1, 0, ())


OPSET_20 = ("set_opset", "raise the opset to 20")
ILLEGAL = [
    pytest.param(
        reduction("ReduceMax", 18, axes=[1, 2], form="attribute"),
        "axes-attribute",
        "axes are an attribute, but ReduceMax-18 takes them as an input",
        [
            (
                "axes_to_input",
                "move axes=[1, 2] to a constant int64 tensor and give it as the second input",
            )
        ],
        id="axes-attribute",
    ),
    pytest.param(
        reduction("ReduceSum", 13, axes=[], form="attribute"),
        "axes-attribute",
        "axes are an attribute, but ReduceSum-13 takes them as an input",
        [
            (
                "remove_attribute",
                "remove the empty attribute axes: omitted axes mean every axis too",
            )
        ],
        id="empty axes-attribute",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axes=[1], form="input"),
        "axes-input",
        "axes are an input, but ReduceMax-13 takes them as an attribute",
        [
            ("axes_to_attribute", "write axes=[1] as an attribute and remove the second input"),
            ("set_opset", "raise the opset to 18"),
        ],
        id="axes-input",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axes=[1], form="dynamic"),
        "axes-input",
        "axes are an input, but ReduceMax-13 takes them as an attribute",
        [("set_opset", "raise the opset to 18")],
        id="dynamic axes-input",
    ),
    pytest.param(
        reduction("ReduceMax", 13, form="blank"),
        "axes-input",
        "an empty second input, but ReduceMax-13 takes one input",
        [("remove_input", "remove the empty second input")],
        id="blank axes-input",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axes=[1], noop_with_empty_axes=1),
        "noop_with_empty_axes",
        "ReduceMax-13 has no attribute noop_with_empty_axes; it begins at opset 18",
        [
            ("remove_attribute", "remove the attribute noop_with_empty_axes"),
            ("set_opset", "raise the opset to 18"),
        ],
        id="noop with axes",
    ),
    pytest.param(
        reduction("ReduceSum", 11, noop_with_empty_axes=1),
        "noop_with_empty_axes",
        "ReduceSum-11 has no attribute noop_with_empty_axes; it begins at opset 13",
        [
            (
                "replace_operator",
                "replace the node by Identity, which is what it means without axes",
            ),
            ("set_opset", "raise the opset to 13"),
        ],
        id="noop without axes",
    ),
    pytest.param(
        reduction("ReduceMax", 10, axes=[-1]),
        "negative-axis",
        "axis -1 is negative, which ReduceMax-1 does not define; negative axes begin at opset 11",
        [("set_axes", "write axes as [2]"), ("set_opset", "raise the opset to 11")],
        id="negative axis",
    ),
    pytest.param(
        reduction("ReduceMax", 10, axes=[-1], shape=None),
        "negative-axis",
        "axis -1 is negative, which ReduceMax-1 does not define; negative axes begin at opset 11",
        [("set_opset", "raise the opset to 11")],
        id="negative axis of an unknown rank",
    ),
    pytest.param(
        reduction("ReduceMin", 13, "bool", axes=[1]),
        "element-type",
        "ReduceMin-13 does not take bool; it takes uint32, uint64, int32, int64, float16, "
        "float32, float64, uint8, int8, bfloat16",
        [("insert_casts", "cast the input to int8 and the result back to bool"), OPSET_20],
        id="bool",
    ),
    pytest.param(
        reduction("ReduceMax", 12, "bfloat16", axes=[1]),
        "element-type",
        "ReduceMax-12 does not take bfloat16; it takes uint32, uint64, int32, int64, float16, "
        "float32, float64, uint8, int8",
        [("set_opset", "raise the opset to 13")],
        id="bfloat16 where Cast lacks it too",
    ),
    pytest.param(
        reduction("ReduceSum", 18, "int8", axes=[1]),
        "element-type",
        "ReduceSum-13 does not take int8; it takes uint32, uint64, int32, int64, float16, "
        "float32, float64, bfloat16",
        [("insert_casts", "cast the input to int32 and the result back to int8")],
        id="int8 sum, which no opset takes",
    ),
    pytest.param(
        reduction("ReduceSum", 18, "bool", axes=[1]),
        "element-type",
        "ReduceSum-13 does not take bool; it takes uint32, uint64, int32, int64, float16, "
        "float32, float64, bfloat16",
        [],
        id="bool sum",
    ),
    pytest.param(
        reduction("ReduceSum", 20, TensorProto.FLOAT8E4M3FN, axes=[1]),
        "element-type",
        "ReduceSum-13 does not take float8e4m3fn; it takes uint32, uint64, int32, int64, "
        "float16, float32, float64, bfloat16",
        [("insert_casts", "cast the input to float32 and the result back to float8e4m3fn")],
        id="float8",
    ),
    pytest.param(
        reduction("ReduceMax", 20, TensorProto.STRING, axes=[1]),
        "element-type",
        "ReduceMax-20 does not take string; it takes uint32, uint64, int32, int64, float16, "
        "float32, float64, uint8, int8, bfloat16, bool",
        [],
        id="string",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axes=[3]),
        "axis-range",
        "axis 3 is out of range for a tensor of rank 3; use -3 to 2",
        [],
        id="out of range",
    ),
    pytest.param(
        reduction("ReduceMax", 18, axes=[0], shape=()),
        "axis-range",
        "axes [0] of a tensor of rank 0, which has no axes",
        [("set_axes", "omit the axes")],
        id="rank 0",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axes=[1, -2]),
        "duplicate-axis",
        "axis 1 is given twice in [1, -2]; name each axis once",
        [("set_axes", "write axes as [1]")],
        id="duplicate",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axes=[1, 1], shape=None),
        "duplicate-axis",
        "axis 1 is given twice in [1, 1]; name each axis once",
        [("set_axes", "write axes as [1]")],
        id="duplicate of an unknown rank",
    ),
    pytest.param(
        reduction("ReduceMax", 13, keepdims=2),
        "keepdims",
        "keepdims is 2; it is a flag, 0 or 1, and runtimes read 2 differently",
        [("set_attribute", "set keepdims to 0 or 1")],
        id="keepdims",
    ),
    pytest.param(
        reduction("ReduceMax", 18, noop_with_empty_axes=-1),
        "noop_with_empty_axes",
        "noop_with_empty_axes is -1; it is a flag, 0 or 1, and runtimes read -1 differently",
        [("set_attribute", "set noop_with_empty_axes to 0 or 1")],
        id="noop flag",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axis=1),
        "attribute",
        "ReduceMax-13 has no attribute axis; it has axes, keepdims",
        [("remove_attribute", "remove the attribute axis")],
        id="unknown attribute",
    ),
    pytest.param(
        reduction("ReduceMax", 13, axes=1, form="attribute"),
        "attribute-type",
        "attribute axes has type INT; it must be INTS",
        [("set_axes", "write axes as the list [1]")],
        id="attribute type",
    ),
]


@pytest.mark.parametrize(("made", "rule", "text", "ways_out"), ILLEGAL)
def test_what_is_illegal(made, rule, text, ways_out):
    report = check_model(made)
    found = the_only(report)
    assert (found.rule, found.text, edits(found)) == (rule, text, ways_out)
    assert not report.ok
    assert f"  illegal: {text[:40]}" in str(report)
    assert findings(report, "runtime") == []


def with_axes(tensor):
    made = reduction("ReduceMax", 18, axes=[1])
    made.graph.initializer[0].CopyFrom(tensor)
    return made


@pytest.mark.parametrize(
    ("made", "rules"),
    [
        (with_axes(constant("axes", [1], np.int32)), ["axes-type"]),
        (with_axes(constant("axes", 1)), ["axes-rank"]),
        (with_axes(constant("axes", [[1]], np.int32)), ["axes-type", "axes-rank"]),
    ],
)
def test_axes_tensors(made, rules):
    report = check_model(made)
    assert [rule for _, rule in findings(report, "illegal")] == rules
    assert fixed(made, report.opset) is not None


def test_inputs_and_outputs():
    made = model([helper.make_node("ReduceMax", [], [])], [], [])
    assert [rule for _, rule in findings(check_model(made))] == [
        "inputs",
        "outputs",
        "unknown-type",
    ][:2]
    made = reduction("ReduceMax", 18)
    only_node(made).input.extend(["", "x"])
    found = the_only(check_model(made))
    assert (found.rule, found.text) == ("inputs", "3 inputs, but ReduceMax-18 takes at most 2")


def test_several_at_once_are_all_told():
    made = reduction("ReduceMax", 10, "bool", axes=[-1, 2, 7], keepdims=5, noop_with_empty_axes=0)
    rules = [rule for _, rule in findings(check_model(made), "illegal")]
    assert rules == [
        "noop_with_empty_axes",
        "keepdims",
        "element-type",
        "axis-range",
        "negative-axis",
        "duplicate-axis",
    ]


TARGETS = [
    (reduction("ReduceMax", 13, axes=[1]), 18, ["axes-attribute"]),
    (reduction("ReduceMax", 18, axes=[1]), 13, ["axes-input"]),
    (reduction("ReduceMax", 18, axes=[], form="input", noop_with_empty_axes=1), 13,
     ["axes-input", "noop_with_empty_axes"]),
    (reduction("ReduceMax", 18, form="blank"), 13, ["axes-input"]),
    (reduction("ReduceMax", 11, axes=[-1]), 10, ["negative-axis"]),
    (reduction("ReduceMax", 20, "bool"), 19, ["element-type"]),
    (reduction("ReduceSum", 11, axes=[-2]), 28, ["axes-attribute"]),
]  # fmt: skip


@pytest.mark.parametrize(("made", "target", "rules"), TARGETS)
def test_what_breaks_at_the_target(made, target, rules):
    report = check_model(made, target)
    assert findings(report, "illegal") == []
    assert [rule for _, rule in findings(report, "breaks")] == rules
    assert not report.ok
    assert check_model(made).ok
    for found in report.nodes[0].at("breaks"):
        assert found.opset == target
        # Raising the opset is no way out of a target, unless there is no other.
        assert {edit.kind for edit in found.edits} != {"set_opset"} or len(found.edits) == 1


def test_what_changes_at_the_target_and_what_does_not():
    report = check_model(reduction("ReduceMax", 13), 18)
    assert findings(report) == [("changes", "version")]
    assert report.ok
    text = "ReduceMax-13 becomes ReduceMax-18; nothing to edit, the result is the same"
    assert the_only(report, "changes").text == text
    assert findings(check_model(reduction("ReduceMax", 13), 17)) == []


def test_what_is_mended_at_the_target():
    report = check_model(reduction("ReduceMax", 13, "bool", axes=None), 20)
    assert ("note", "legal-at-target") in findings(report)
    assert not report.ok
    report = check_model(reduction("ReduceMax", 13, "bool", axes=[1]), 20)
    assert [level for level, _ in findings(report)] == ["illegal", "breaks"]


def test_an_unknown_target_is_refused():
    with pytest.raises(rk.OpsetError, match="opset 99 is unknown"):
        check_model(reduction("ReduceMax", 13), 99)
    assert check_model(reduction("ReduceMax", 13), "latest").target_opset == schema.NEWEST_OPSET


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (reduction("ReduceMax", 18, axes=[1], form="dynamic"),
         "the axes are known only when the model runs; an empty tensor there reduces every axis"),
        (reduction("ReduceMax", 18, axes=[1], form="dynamic", noop_with_empty_axes=1),
         ("the axes are known only when the model runs; an empty tensor there leaves the data "
         "as they are")),
        (reduction("ReduceMax", 18, noop_with_empty_axes=1),
         "no axes and noop_with_empty_axes: the node changes nothing"),
        (reduction("ReduceMax", 18, axes=[], form="input"),
         "an empty list of axes means every axis, as if omitted"),
        (reduction("ReduceMax", 13, axes=[]),
         "an empty list of axes means every axis, as if omitted"),
        (reduction("ReduceMax", 18, axes=[1], noop_with_empty_axes=1),
         "noop_with_empty_axes has no effect, the axes are not empty"),
    ],
)  # fmt: skip
def test_notes_on_empty_axes(made, text):
    assert the_only(check_model(made), "note").text == text


def apply(made, edit):
    """Make one edit to a model of one reduction, as its details say."""
    details = edit.details
    item = next(n for n in made.graph.node if n.op_type in OPERATORS)
    kept = [a for a in item.attribute if a.name != "axes"]

    def set_attributes(attributes):
        attributes = list(attributes)
        del item.attribute[:]
        item.attribute.extend(attributes)

    if edit.kind == "set_opset":
        made.opset_import[0].version = details["opset"]
    elif edit.kind == "insert_casts":
        back = made.graph.input[0].type.tensor_type.elem_type
        opset = made.opset_import[0].version
        to = by_name(details["to"]).onnx_number
        if opset < 6:  # Cast had the name of the type then
            to, back = (TensorProto.DataType.Name(number) for number in (to, back))
        cast = node("Cast", [item.input[0]], ["wide"], to=to)
        back_cast = node("Cast", ["narrow"], [item.output[0]], to=back)
        item.input[0], item.output[0] = "wide", "narrow"
        made.graph.node.insert(0, cast)
        made.graph.node.append(back_cast)
    elif edit.kind == "axes_to_input":
        set_attributes(kept)
        made.graph.initializer.append(constant("moved", details["axes"]))
        item.input.append("moved")
    elif edit.kind == "axes_to_attribute":
        del item.input[1:]
        attributes = node("R", [], axes=details["axes"]).attribute if details["axes"] else []
        set_attributes([*kept, *attributes])
    elif edit.kind == "set_axes":
        if len(item.input) > 1:
            if details["axes"]:
                made.graph.initializer[0].CopyFrom(constant(item.input[1], details["axes"]))
            else:
                del item.input[1:]
        else:
            attributes = node("R", [], axes=details["axes"]).attribute if details["axes"] else []
            set_attributes([*kept, *attributes])
    elif edit.kind == "set_attribute":
        rest = [a for a in item.attribute if a.name != details["name"]]
        set_attributes([*rest, helper.make_attribute(details["name"], details["value"])])
    elif edit.kind == "remove_attribute":
        set_attributes(a for a in list(item.attribute) if a.name != details["name"])
    elif edit.kind == "remove_input":
        del item.input[details["index"] :]
    elif edit.kind in ("cast_axes", "reshape_axes"):
        array = numpy_helper.to_array(made.graph.initializer[0])
        array = array.astype(np.int64) if edit.kind == "cast_axes" else array.reshape(-1)
        made.graph.initializer[0].CopyFrom(numpy_helper.from_array(array, "axes"))
    elif edit.kind == "replace_operator":
        item.op_type = details["op_type"]
        del item.input[1:]
        set_attributes([])
    else:
        raise AssertionError(edit.kind)


def fixed(made, opset):
    """The model after the first edit of the first problem, again and again; None if none helps."""
    copy = onnx.ModelProto()
    copy.CopyFrom(made)
    copy.opset_import[0].version = opset
    for _ in range(9):
        report = check_model(copy)
        if report.ok:
            # The checker wants a shape on the output, and does not mind which.
            whole = onnx.ModelProto()
            whole.CopyFrom(copy)
            whole.graph.output[0].type.tensor_type.shape.dim.add(dim_param="any")
            onnx.checker.check_model(whole)
            return copy
        wrong = [found for item in report.nodes for found in item.at("illegal")]
        ways_out = [edit for found in wrong for edit in found.edits[:1]]
        if len(ways_out) < len(wrong):
            return None
        # A new opset first, as it decides what is still wrong; casts last, as no shape is known
        # behind the oldest of them.
        ways_out.sort(key=lambda edit: (edit.kind == "insert_casts", edit.kind != "set_opset"))
        apply(copy, ways_out[0])
    raise AssertionError(f"no end of edits: {report}")


FORMS = [
    (None, "attribute"),
    (None, "blank"),
    ([], "attribute"),
    ([], "input"),
    ([1], "attribute"),
    ([1], "input"),
    ([-1, 0], "attribute"),
    ([-1, 0], "input"),
    ([2, 2], "attribute"),
    ([0, -3], "input"),
]
FLAGS = [
    {},
    {"keepdims": 0},
    {"noop_with_empty_axes": 1},
    {"keepdims": 0, "noop_with_empty_axes": 0},
]


@pytest.mark.parametrize("op", OPERATORS)
def test_edits_make_a_model_legal_and_keep_what_it_means(op):
    function = getattr(rk, schema.operator(op).function)
    count = 0
    dtypes = ["float32", "bool", "int16", "bfloat16", "uint8"]
    for opset, dtype, (axes, form), flags in itertools.product(
        boundaries(op), dtypes, FORMS, FLAGS
    ):
        if opset not in (1, 10, 12, 13, 17, 18, 19, 28):
            continue
        made = reduction(
            op, opset, dtype, shape=(2, 3, 4), axes=axes, form=form, result=None, **flags
        )
        if check_model(made).ok:
            continue
        hint = f"{op} {opset} {dtype} {axes} {form} {flags}"
        mended = fixed(made, opset)
        if dtype == "bool" and op == "ReduceSum":
            assert mended is None, hint
            continue
        assert mended is not None, hint
        if opset < 6 and len(mended.graph.node) > 1:
            continue  # the evaluator has no Cast that old
        data = (np.arange(24).reshape(2, 3, 4) % 7).astype(by_name(dtype).numpy_dtype)
        unique = sorted({axis % 3 for axis in axes or []})
        want = function(
            data,
            unique,
            keepdims=bool(flags.get("keepdims", 1)),
            noop_with_empty_axes=bool(flags.get("noop_with_empty_axes", 0)),
            strict=False,
        )
        assert_same(backend.run_model(mended, [data])[0], want, hint)
        count += 1
    assert count > 300


@pytest.mark.parametrize(("made", "target", "rules"), TARGETS)
def test_edits_for_a_target(made, target, rules):
    assert fixed(made, target) is not None


def branch(name, *nodes, dtype="float32"):
    return helper.make_graph(list(nodes), name, [], [value(nodes[-1].output[0], dtype, None)])


def test_subgraphs_see_the_types_around_them():
    then = branch("then", node("ReduceMax", ["x"], ["t"], name="inner", axes=[5]))
    other = branch("else", node("ReduceMax", ["x", "a"], ["e"]))
    made = model(
        [node("If", ["c"], ["y"], name="cond", then_branch=then, else_branch=other)],
        [value("x", "float32", [2, 3]), value("c", "bool", [])],
        [value("y", "float32", None)],
        18,
        initializers=[constant("a", [-1])],
    )
    report = check_model(made)
    wheres = {item.label: item.where for item in report.nodes}
    assert wheres == {
        "ReduceMax 'inner'": ("then_branch of If 'cond'",),
        "ReduceMax -> 'e'": ("else_branch of If 'cond'",),
    } or wheres == {
        "ReduceMax 'inner'": ("else_branch of If 'cond'",),
        "ReduceMax -> 'e'": ("then_branch of If 'cond'",),
    }
    by_label = {item.label: item for item in report.nodes}
    assert by_label["ReduceMax -> 'e'"].result == TensorType("float32", (2, 1))
    assert by_label["ReduceMax -> 'e'"].axes == "axes [-1] as an input"
    assert [f.rule for f in by_label["ReduceMax 'inner'"].at("illegal")] == [
        "axes-attribute",
        "axis-range",
    ]
    assert "  in then_branch of If 'cond'" in str(report)


def test_loop_and_scan_bodies():
    body = helper.make_graph(
        [
            node("Identity", ["c"], ["d"]),
            node("ReduceSum", ["v"], ["w"], name="in loop", axes=[-1]),
        ],
        "body",
        [value("i", "int64", []), value("c", "bool", []), value("v", "float32", [2, 3])],
        [value("d", "bool", []), value("w", "float32", [2, 1])],
    )
    scan = helper.make_graph(
        [node("ReduceMin", ["row"], ["m"], name="in scan", keepdims=0)],
        "scan",
        [value("row", "bool", [3])],
        [value("m", "bool", [])],
    )
    made = model(
        [
            node("Loop", ["n", "go", "x"], ["y"], body=body),
            node("Scan", ["flags"], ["z"], body=scan, num_scan_inputs=1),
        ],
        [value("x", "float32", [2, 3]), value("flags", "bool", [4, 3])],
        [value("y", "float32", None), value("z", "bool", None)],
        11,
        initializers=[constant("n", 2), constant("go", True, bool)],
    )
    report = check_model(made)
    assert [(item.label, item.where) for item in report.nodes] == [
        ("ReduceSum 'in loop'", ("body of Loop -> 'y'",)),
        ("ReduceMin 'in scan'", ("body of Scan -> 'z'",)),
    ]
    assert findings(report, "illegal") == [("illegal", "element-type")]


LOCAL = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]


def with_function(body, calls, opset=13, inputs=("x",), attributes=(), more=()):
    function = helper.make_function(
        "local", "F", ["x"], ["y"], body, [helper.make_opsetid("", opset)], attributes=attributes
    )
    return model(
        calls,
        [value("x", "float32", ["N", 3]), value("flags", "bool", [2])],
        [value("y", "float32", None)],
        imports=LOCAL,
        functions=[function, *more],
    )


def test_functions_are_judged_with_the_types_of_each_call():
    body = [node("ReduceMax", ["x"], name="m", axes=[1])]
    calls = [
        node("F", ["x"], ["a"], domain="local"),
        node("F", ["flags"], ["b"], domain="local"),
        node("F", ["x"], ["y"], domain="local"),
    ]
    report = check_model(with_function(body, calls))
    assert [(item.data, item.where) for item in report.nodes] == [
        (TensorType("float32", ("N", 3)), ("function local:F",)),
        (TensorType("bool", (2,)), ("function local:F",)),
    ]
    assert findings(report, "illegal") == [("illegal", "element-type"), ("illegal", "axis-range")]


def test_a_functions_own_opset_counts():
    body = [node("ReduceMax", ["x"], axes=[1])]
    report = check_model(with_function(body, [node("F", ["x"], domain="local")], opset=18))
    assert findings(report, "illegal") == [("illegal", "axes-attribute")]
    assert report.nodes[0].version == "ReduceMax-18"


def test_attributes_of_the_caller():
    reduced = node("ReduceMax", ["x"])
    reduced.attribute.append(
        onnx.AttributeProto(name="axes", ref_attr_name="over", type=onnx.AttributeProto.INTS)
    )
    calls = [
        node("F", ["x"], ["a"], domain="local", over=[1]),
        node("F", ["x"], ["b"], domain="local", over=[2]),
        node("F", ["x"], ["y"], domain="local"),
    ]
    report = check_model(with_function([reduced], calls, attributes=["over"]))
    assert [item.axes for item in report.nodes] == [
        "axes [1] as an attribute",
        "axes [2] as an attribute",
        "axes omitted",
    ]
    assert findings(report, "illegal") == [("illegal", "axis-range")]
    uncalled = check_model(with_function([reduced], [node("Identity", ["x"])], attributes=["over"]))
    assert uncalled.nodes[0].axes == "axes from an attribute not known before the model runs"
    assert findings(uncalled, "illegal") == []


def test_functions_in_functions():
    inner = helper.make_function(
        "local", "G", ["u"], ["v"],
        [node("ReduceMin", ["u"], ["v"], axes=[1], keepdims=0)],
        [helper.make_opsetid("", 13)],
    )  # fmt: skip
    body = [node("G", ["x"], ["m"], domain="local"), node("ReduceMax", ["m"], axes=[0])]
    made = with_function(body, [node("F", ["x"], domain="local")], more=[inner])
    made.functions[0].opset_import.append(helper.make_opsetid("local", 1))
    report = check_model(made)
    assert [(str(item.data), item.where[-1]) for item in report.nodes] == [
        ("float32 (N, 3)", "function local:G"),
        ("float32 (N,)", "function local:F"),
    ]


def test_a_function_that_calls_itself():
    """ONNX's inference follows such a call until its stack ends; it must not be asked."""
    made = with_function(
        [node("F", ["x"], ["m"], domain="local"), node("ReduceMax", ["m"], axes=[0, 0])],
        [node("F", ["x"], domain="local")],
    )
    made.functions[0].opset_import.append(helper.make_opsetid("local", 1))
    report = check_model(made)
    (message,) = report.messages
    assert message.text == "function local:F calls itself; it may not"
    assert findings(report, "illegal") == [("illegal", "duplicate-axis")]
    assert not report.ok


def test_functions_that_would_grow_without_end():
    """Sixty functions, each calling the one before it twice: 2**60 nodes if written out."""
    functions = []
    for level in range(60):
        body = [node("ReduceMax", ["x"], ["y"], axes=[1, 1])]
        if level:
            name = f"F{level - 1}"
            body = [
                node(name, ["x"], ["a"], domain="local"),
                node(name, ["a"], ["y"], domain="local"),
            ]
        functions.append(helper.make_function("local", f"F{level}", ["x"], ["y"], body, LOCAL))
    made = model(
        [node("F59", ["x"], domain="local")],
        [value("x", "float32", [2, 3])],
        [value("y", "float32", None)],
        imports=LOCAL,
        functions=functions,
    )
    report = check_model(made)
    assert findings(report, "illegal") == [("illegal", "duplicate-axis")]
    assert [message.rule for message in report.messages] == ["functions"]


@pytest.mark.parametrize(
    "makers",
    [
        [node("Constant", [], ["a"], value_ints=[1, 2])],
        [node("Constant", [], ["a"], value=constant("v", [1, 2]))],
        [
            node("Constant", [], ["b"], value_ints=[0, 1]),
            node("Constant", [], ["one"], value_int=1),
            node("Add", ["b", "one"], ["a"]),
        ],
        [
            node("Constant", [], ["s"], value_int=1),
            node("Constant", [], ["e"], value_int=3),
            node("Constant", [], ["d"], value_int=1),
            node("Range", ["s", "e", "d"], ["a"]),
        ],
        [
            node("Constant", [], ["i"], value=constant("v", [1, 2], np.int32)),
            node("Cast", ["i"], ["a"], to=TensorProto.INT64),
        ],
    ],
    ids=["value_ints", "value", "Add", "Range", "Cast"],
)
def test_axes_that_constants_make(makers):
    made = model(
        [*makers, node("ReduceMax", ["x", "a"])],
        [value("x", "float32", ["N", 3, 4])],
        [value("y", "float32", None)],
    )
    (item,) = check_model(made).nodes
    assert item.axes == "axes [1, 2] as an input"
    assert str(item.result) == "float32 (N, 1, 1)"


def test_a_range_without_end_is_not_run():
    numbers = {"s": 0, "e": 2**40, "d": 1}
    makers = [node("Constant", [], [key], value_int=number) for key, number in numbers.items()]
    made = model(
        [*makers, node("Range", ["s", "e", "d"], ["a"]), node("ReduceMax", ["x", "a"])],
        [value("x", "float32", [3])],
        [value("y", "float32", None)],
    )
    assert "not known" in check_model(made).nodes[0].axes


def test_without_shapes_and_types():
    made = model(
        [node("Mystery", ["x"], ["m"], domain="com.example"), node("ReduceMax", ["m"], axes=[7])],
        [value("x", "float32", [2])],
        [value("y", "float32", None)],
        imports=[helper.make_opsetid("", 13), helper.make_opsetid("com.example", 1)],
    )
    report = check_model(made)
    assert report.ok
    assert findings(report) == [("note", "unknown-type")]
    assert [message.rule for message in report.messages] == ["unknown-operator"]
    assert "operator 'com.example::Mystery' (1 node) is not known" in str(report)
    del made.graph.input[0].type.tensor_type.shape.dim[:]
    made.graph.input[0].ClearField("type")
    assert check_model(made).ok


def test_an_operator_that_this_opset_lacks():
    made = model(
        [node("Gelu", ["x"], ["g"]), node("ReduceMax", ["g"])],
        [value("x", "float32", [2])],
        [value("y", "float32", None)],
        13,
    )
    assert "operator 'ai.onnx::Gelu' at opset 13" in check_model(made).messages[0].text


def test_a_domain_that_is_not_imported():
    made = reduction("ReduceMax", 13)
    only_node(made).domain = "ai.onnx"
    assert check_model(made).nodes[0].version == "ReduceMax-13"
    only_node(made).domain = "elsewhere"
    report = check_model(made)
    assert report.nodes == ()
    assert "no ReduceMax, ReduceMin or ReduceSum in the model" in str(report)


def test_no_import_at_all():
    made = reduction("ReduceMax", 13, axes=[-1])
    del made.opset_import[:]
    report = check_model(made, 18)
    assert not report.ok
    assert report.opset is None
    assert report.messages[0].rule == "opset-import"
    assert findings(report) == [("breaks", "axes-attribute")]
    made.ir_version = 2
    report = check_model(made)
    assert report.opset == 1
    assert findings(report, "illegal") == [("illegal", "negative-axis")]


def test_odd_imports():
    made = reduction("ReduceMax", 18)
    made.opset_import.append(helper.make_opsetid("ai.onnx", 13))
    assert check_model(made).messages[0].text.startswith("the domain 'ai.onnx' is imported more")
    made = reduction("ReduceMax", 18)
    made.opset_import[0].version = 0
    assert "opset 0 does not exist" in check_model(made).messages[0].text
    made.opset_import[0].version = 77
    report = check_model(made)
    assert report.ok
    assert "opset 77 is newer than the table; judged by opset 28" in report.messages[0].text


def test_a_sequence_is_illegal():
    made = model(
        [node("SequenceConstruct", ["x"], ["s"]), node("ReduceMax", ["s"])],
        [value("x", "float32", [2])],
        [value("y", "float32", None)],
    )
    assert findings(check_model(made), "illegal") == [("illegal", "input-kind")]


def test_external_data_stays_where_it_is(tmp_path):
    made = model(
        [node("Add", ["x", "w"], ["s"]), node("ReduceSum", ["s", "a"])],
        [value("x", "float32", ["N", 2048])],
        [value("y", "float32", None)],
        13,
        initializers=[
            numpy_helper.from_array(np.ones(2048, np.float32), "w"), constant("a", [1]),
        ],
    )  # fmt: skip
    path = tmp_path / "m.onnx"
    onnx.save(made, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
    report = check_model(path)
    assert report.nodes[0].axes == "axes [1] as an input"  # a few bytes that were needed
    assert report.nodes[0].result == TensorType("float32", ("N", 1))
    assert report.messages[0].text == "the data of 2 tensors lies in other files; not read"
    (tmp_path / "w.bin").unlink()
    report = check_model(path)
    assert report.ok
    assert "not known" in report.nodes[0].axes
    assert any("tensor 'a' cannot be read" in message.text for message in report.messages)
    bare = onnx.load(str(path), load_external_data=False)
    assert "not known" in check_model(bare).nodes[0].axes


def test_large_tensors_are_not_copied_for_inference():
    """A reduction of a large initializer has its type, and the model is left as it was."""
    big = numpy_helper.from_array(np.zeros((512, 1024), np.float32), "w")
    made = model(
        [node("ReduceSum", ["w", "a"])], [], [value("y", "float32", None)], 13,
        initializers=[big, constant("a", [0])],
    )  # fmt: skip
    before = made.SerializeToString()
    assert check_model(made).nodes[0].result == TensorType("float32", (1, 1024))
    assert made.SerializeToString() == before


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(FileNotFoundError):
        check_model(tmp_path / "none.onnx")
    with pytest.raises(IsADirectoryError):
        check_model(tmp_path)
    for content in (b"", b"\x00" * 40, b"hello", np.arange(9).tobytes()):
        path = tmp_path / "bad.onnx"
        path.write_bytes(content)
        with pytest.raises(rk.ArgumentError, match="cannot be read as an ONNX model"):
            check_model(path)
    with pytest.raises(TypeError, match="model has type list"):
        check_model([])


WHOLE = reduction("ReduceSum", 18, axes=[1], noop_with_empty_axes=1).SerializeToString()


@given(st.data())
def test_a_damaged_file_gives_a_report_or_a_refusal(data):
    damaged = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    for content in (bytes(damaged), bytes(damaged[:cut])):
        try:
            report = check_model(content, 20)
        except rk.ArgumentError:
            continue
        assert isinstance(report, Report)
        json.loads(report.to_json())
        assert str(report)


def test_the_report_as_json_and_html():
    made = reduction("ReduceMax", 13, "bool", axes=[1], name="a<b>")
    report = check_model(made, 20)
    told = json.loads(report.to_json())
    assert told["ok"] is False
    assert told["counts"] == {"illegal": 1, "breaks": 1, "changes": 0, "runtime": 0, "note": 0}
    (item,) = told["nodes"]
    assert item["data"] == {"dtype": "bool", "shape": ["N", 3, 4]}
    kinds = [edit["kind"] for found in item["findings"] for edit in found["edits"]]
    assert kinds == ["insert_casts", "set_opset", "axes_to_input"]
    html = report._repr_html_()
    assert "a&lt;b&gt;" in html
    assert "<b>illegal</b>" in html


def test_names_from_the_file_cannot_break_a_line():
    made = reduction("ReduceMax", 13, axes=[9], name="evil\nillegal: \x1b[31m", shape=("N\r", 3))
    text = str(check_model(made))
    assert "\x1b" not in text
    assert all(not line.startswith("illegal: \x1b") for line in text.splitlines())
    assert "\r" not in text


def test_every_element_type_is_judged_as_the_table_says():
    for op, kind in itertools.product(OPERATORS, ELEMENT_TYPES):
        for opset in boundaries(op):
            report = check_model(reduction(op, opset, kind.name))
            assert report.ok == schema.resolve(op, opset).allows(kind.name)


def test_a_saved_model_names_its_file(tmp_path):
    path = save(reduction("ReduceMax", 13), tmp_path / "m.onnx")
    assert str(check_model(path)).startswith(f"{path}: IR version 10, opset 13\n1 reduction: all")


@pytest.mark.parametrize(
    "kind", [AttributeProto.FLOATS, AttributeProto.STRING, AttributeProto.TENSOR]
)
@pytest.mark.parametrize("op", OPERATORS)
def test_an_axes_attribute_of_another_type_where_axes_are_an_input(op, kind):
    """At the model's own opset, and at the target of one that is older."""
    for opset in (12, 18):
        made = reduction(op, opset, axes=[1], form="attribute")
        made.graph.node[0].attribute[0].type = kind
        report = check_model(made, 20)
        assert not report.ok
        rules = {found.rule for item in report.nodes for found in item.findings}
        assert {"attribute-type", "axes-attribute"} <= rules
        json.loads(report.to_json())
        str(report)


@pytest.mark.parametrize("flag", ["keepdims", "noop_with_empty_axes", "axes"])
def test_a_node_outside_functions_that_refers_to_an_attribute(flag):
    """Nobody gives it a value, and the rest of the node is judged all the same."""
    for op in OPERATORS:
        for opset in (12, 18):
            made = reduction(op, opset, axes=[1])
            attributes = {item.name: item for item in made.graph.node[0].attribute}
            if flag not in attributes:
                attributes[flag] = made.graph.node[0].attribute.add(
                    name=flag, type=AttributeProto.INT
                )
            attributes[flag].ref_attr_name = "nowhere"
            for target in (None, 11, 20):
                report = check_model(made, target)
                json.loads(report.to_json())
                assert str(report)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "str", "complex64"])
def test_an_axes_input_that_is_no_integer(dtype):
    for op in OPERATORS:
        made = reduction(op, 18, axes=[1], form="input")
        made.graph.initializer[0].CopyFrom(constant("axes", [0.5], dtype))
        made.graph.initializer[0].name = made.graph.node[0].input[1]
        for target in (None, 11, 20):
            report = check_model(made, target)
            assert ("illegal", "axes-type") in findings(report)
            json.loads(report.to_json())
