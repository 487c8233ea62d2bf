"""explain: it says what the call does, and the call elsewhere does the same."""

import copy
import itertools
import json
import pickle

import ml_dtypes
import numpy as np
import onnx
import onnx.checker
import onnx.parser
import onnx.shape_inference
import pytest
from arrays import NAMES, collapsing, ordinary, reduced_shape, shapes, subsets
from hypothesis import given
from hypothesis import strategies as st
from oracles import FUNCTIONS, OPS, assert_same, empty_value, never, outcome

import reducekit as rk
from reducekit import atb, schema
from reducekit.dtypes import ELEMENT_TYPES, by_name


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("rank", range(4))
def test_shapes_are_those_of_the_call(op, rank):
    for shape in shapes(rank):
        data = np.zeros(shape, np.float32)
        for axes, keepdims, noop in itertools.product(subsets(rank), [True, False], [True, False]):
            e = rk.explain(op, shape, axes, keepdims, noop)
            want = FUNCTIONS[op](data, axes, keepdims=keepdims, noop_with_empty_axes=noop)
            assert e.in_shape == shape
            assert e.out_shape == want.shape
            reduced = axes or (() if noop else tuple(range(rank)))
            assert e.reduced_axes == reduced
            assert e.kept_axes == tuple(a for a in range(rank) if a not in reduced)
            assert e.identity == (noop and not axes)
            assert e.elements_per_output == collapsing(shape, reduced)
            assert (e.in_size, e.out_size) == (data.size, want.size)


BAD = [
    {"axes": 3}, {"axes": [0, -2]}, {"axes": [1, 1]}, {"axes": -1, "opset": 1}, {"axes": True},
    {"axes": 1.5}, {"axes": [[0]]}, {"axes": b"0"}, {"axes": {0: 1}}, {"axes": [None]},
    {"opset": 0}, {"opset": 29}, {"opset": "18"}, {"opset": 18.0}, {"keepdims": 2},
    {"keepdims": "no"}, {"noop_with_empty_axes": True, "opset": 11}, {"strict": 3},
    {"dtype": "int16"}, {"dtype": "bool", "opset": 18}, {"dtype": "complex64"},
    {"dtype": "bool", "strict": False, "op": "sum"}, {"dtype": "bfloat16", "opset": 12},
    {"dtype": "float32", "axes": np.zeros((1, 1), int)}, {"dtype": "U3"},
]  # fmt: skip


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("case", BAD, ids=repr)
def test_refusals_are_those_of_the_call(op, case):
    case = dict(case)
    op = case.pop("op", op)
    dtype = case.get("dtype", "float32")
    got = outcome(rk.explain, op, (2, 3), **case)
    case.pop("dtype", None)
    data = np.zeros((2, 3), by_name(dtype).numpy_dtype if dtype in NAMES else dtype)
    want = outcome(FUNCTIONS[op], data, **case)
    if isinstance(want, Exception):
        assert_same(got, want)
    else:
        assert isinstance(got, rk.Explanation)


@pytest.mark.parametrize("opset", range(1, schema.NEWEST_OPSET + 1))
@pytest.mark.parametrize("op", OPS)
def test_the_version_and_its_span(op, opset):
    e = rk.explain(op, (2,), opset=opset)
    version = schema.resolve(op, opset)
    assert (e.version, e.opset, e.operator) == (version, opset, version.name)
    span = [n for n in range(1, schema.NEWEST_OPSET + 1) if schema.resolve(op, n) == version]
    opsets = f"opset {span[0]}" if len(span) == 1 else f"opsets {span[0]} to {span[-1]}"
    newest = ", the newest known" if span[-1] == schema.NEWEST_OPSET else ""
    assert e.rules[0] == f"Opset {opset} means {version}, the version of {opsets}{newest}."
    where = "an optional input" if version.axes == "input" else "an attribute"
    assert e.rules[2].startswith(f"Axes are {where} of the node")


def test_the_opset_in_force_is_used():
    with rk.opset(13):
        assert rk.explain("max", (2,)).opset == 13
        assert rk.explain("max", (2,), opset="latest").opset == schema.NEWEST_OPSET


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", OPS)
def test_the_value_of_an_empty_set(op, name):
    if never(op, name):
        with pytest.raises(rk.DTypeError, match="bool"):
            rk.explain(op, (0, 2), 0, dtype=name, strict=False)
        return
    value = str(empty_value(op, name))
    value = value if by_name(name).kind != "float" or op != "sum" else "+0"
    e = rk.explain(op, (0, 2), 0, dtype=name, strict=False)
    assert any(f"each output element is {value}, the " in rule for rule in e.rules)
    assert "empty set" in e.summary
    e = rk.explain(op, (3, 2), 0, dtype=name, strict=False)
    assert any(rule.endswith(f"of an empty set of {name} would be {value}.") for rule in e.rules)
    e = rk.explain(op, (3, 0), 0, dtype=name, strict=False)
    assert "The result has no elements, as a kept axis has size 0. That is no error." in e.rules
    assert "no elements" in e.summary


@pytest.mark.parametrize(
    ("kwargs", "sentence"),
    [
        ({"axes": -1}, "Negative axes count from the end: -1 is axis 2. They begin at opset 11."),
        (
            {"axes": [-1, -3], "opset": 1, "strict": False},
            (
                "Negative axes count from the end: -1 is axis 2, -3 is axis 0. "
                "They begin at opset 11; strict=False lets it through."
            ),
        ),
        ({"axes": 1, "opset": 1}, "Axes run from 0 to 2; negative ones begin at opset 11."),
        ({"axes": 1}, "Axes run from -3 to 2, each at most once, in any order."),
        (
            {},
            (
                "No axes are given, so every axis is reduced; "
                "noop_with_empty_axes=True would reduce none."
            ),
        ),
        (
            {"axes": [], "opset": 13},
            (
                "No axes are given, so every axis is reduced; "
                "noop_with_empty_axes, which turns that off, begins at opset 18."
            ),
        ),
        (
            {"noop_with_empty_axes": True},
            (
                "No axes are given and noop_with_empty_axes is set, so nothing is reduced: "
                "the result equals the data and keepdims changes nothing."
            ),
        ),
        (
            {"axes": 0, "noop_with_empty_axes": True},
            "noop_with_empty_axes is set but changes nothing, as axes are given.",
        ),
        (
            {"keepdims": True},
            "keepdims is set (as by default, unlike NumPy): reduced axes stay with size 1.",
        ),
        (
            {"keepdims": False},
            "keepdims is not set: reduced axes are removed, and the rank falls.",
        ),
        (
            {"dtype": "int16", "strict": False},
            (
                "ReduceMax-20 does not take int16 (no opset does); strict=False lets it through. "
                "The result has the type of the data."
            ),
        ),
        (
            {"dtype": "bool", "opset": 13, "strict": False},
            (
                "ReduceMax-13 does not take bool (the first that does is opset 20); "
                "strict=False lets it through. The result has the type of the data."
            ),
        ),
        ({"dtype": "bool"}, "False is less than True."),
        ({"dtype": "int8"}, "Integers are compared exactly; none passes through a float."),
        ({}, "Any NaN among the reduced elements, whatever its sign or place, gives NaN."),
        (
            {},
            (
                "Zeros have an order: +0 is taken over -0, so the result does not depend on the "
                "order of the elements."
            ),
        ),
        (
            {"op": "min"},
            (
                "Zeros have an order: -0 is taken over +0, so the result does not depend on the "
                "order of the elements."
            ),
        ),
        (
            {"op": "sum", "dtype": "int32"},
            (
                "Integer sums wrap modulo 2^32 in int32 itself; they are never promoted, "
                "as NumPy would promote them."
            ),
        ),
        ({"op": "sum", "dtype": "uint64"}, "Integer sums wrap modulo 2^64 in uint64 itself."),
        (
            {"op": "sum"},
            "A sum of negative zeros alone is -0.0; every other sum that is zero is +0.",
        ),
        (
            {"shape": ()},
            "The data has rank 0: there are no axes, and the result has rank 0 too.",
        ),
    ],
)
def test_rules(kwargs, sentence):
    kwargs = {"op": "max", "shape": (2, 3, 4), **kwargs}
    assert sentence in rk.explain(**kwargs).rules


@pytest.mark.parametrize(
    ("kwargs", "summary"),
    [
        (
            {"shape": (2, 3, 2), "axes": [0, 1]},
            "(2, 3, 2) -> (1, 1, 2): each of the 2 output elements is the maximum of 6 elements.",
        ),
        (
            {"shape": (2, 3), "keepdims": False},
            "(2, 3) -> (): the output element is the maximum of 6 elements.",
        ),
        ({"shape": ()}, "() -> (): the output element is the maximum of 1 element."),
        (
            {"shape": 3, "noop_with_empty_axes": True},
            "(3,) -> (3,): nothing is reduced, the result equals the data.",
        ),
        (
            {"shape": (0, 2), "axes": 0},
            "(0, 2) -> (1, 2): each of the 2 output elements is the maximum of an empty set.",
        ),
        ({"shape": (3, 0), "axes": 0}, "(3, 0) -> (1, 0): the result has no elements."),
        (
            {"shape": (2**62,) * 64, "axes": range(32)},
            (
                "rank 64 -> rank 64: each of about 1.75e597 output elements "
                "is the maximum of about 1.75e597 elements."
            ),
        ),
    ],
)
def test_summaries(kwargs, summary):
    assert rk.explain("max", **kwargs).summary == summary


# Names.


def test_axes_by_name():
    e = rk.explain("sum", (2, 3, 4), ["c", 0], keepdims=False, dims=("a", None, "c"))
    assert (e.reduced_axes, e.in_dims, e.out_dims) == ((0, 2), ("a", None, "c"), (None,))
    e = rk.explain("sum", (2, 3), "b", dims=["a", "b"])
    assert (e.reduced_axes, e.out_dims) == ((1,), ("a", "b"))
    assert rk.explain("sum", (2, 3), 0).out_dims is None
    assert rk.explain("max", 5, "x", dims="x").reduced_axes == (0,)


@pytest.mark.parametrize(
    ("kwargs", "kind", "text"),
    [
        (
            {"axes": "rwo", "dims": ("row", "column")},
            rk.AxesError,
            ("reduce_max: there is no axis 'rwo' (did you mean 'row'?); use 'row' or 'column'"),
        ),
        (
            {"axes": "row"},
            rk.AxesError,
            (
                "reduce_max: there is no axis 'row', as no axis has a name; "
                "use positions, or name the axes with dims="
            ),
        ),
        (
            {"dims": ("row",)},
            rk.ArgumentError,
            "reduce_max: dims=('row',) has 1 name for a tensor of rank 2; give one for each axis",
        ),
        (
            {"shape": "2,3"},
            TypeError,
            "reduce_max: shape='2,3' has type str; use a sequence of sizes, such as (2, 3)",
        ),
        (
            {"shape": None},
            TypeError,
            "reduce_max: shape=None has type NoneType; use a sequence of sizes, such as (2, 3)",
        ),
        (
            {"shape": (2, 3.0)},
            TypeError,
            "reduce_max: the size 3.0 of axis 1 has type float; a size is an int",
        ),
        (
            {"shape": (True,)},
            TypeError,
            "reduce_max: the size True of axis 0 has type bool; a size is an int",
        ),
        (
            {"shape": True},
            TypeError,
            "reduce_max: shape=True has type bool; use a sequence of sizes, such as (2, 3)",
        ),
        (
            {"shape": (2, -1)},
            rk.ArgumentError,
            "reduce_max: the size -1 of axis 1 is out of range; use 0 to 2**63 - 1",
        ),
        (
            {"shape": (2**63,)},
            rk.ArgumentError,
            (
                "reduce_max: the size 9223372036854775808 of axis 0 is out of range; "
                "use 0 to 2**63 - 1"
            ),
        ),
        (
            {"shape": (1,) * 65},
            rk.ArgumentError,
            "reduce_max: a tensor of rank 65 is beyond NumPy's limit; use at most 64",
        ),
        (
            {"dtype": "float23"},
            rk.DTypeError,
            (
                "reduce_max: dtype='float23' is unknown; use one of bool, int8, int16, int32, "
                "int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64"
            ),
        ),
        (
            {"dtype": None},
            rk.DTypeError,
            (
                "reduce_max: dtype=None is unknown; use one of bool, int8, int16, int32, "
                "int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64"
            ),
        ),
        (
            {"op": "Max"},
            rk.OpsetError,
            "operator 'Max' is unknown; use one of ReduceMax, ReduceMin, ReduceSum",
        ),
        ({"op": 1}, TypeError, "operator 1 has type int; use a name, such as 'ReduceMax'"),
    ],
)
def test_what_only_explain_refuses(kwargs, kind, text):
    with pytest.raises(kind) as caught:
        rk.explain(**{"op": "max", "shape": (2, 3), **kwargs})
    assert type(caught.value) is kind
    assert str(caught.value) == text


@pytest.mark.parametrize("op", schema.OPERATORS, ids=lambda op: op.name)
def test_any_name_of_the_operator(op):
    want = rk.explain(op.name, (2,))
    for name in (op.short, op.function, op.name.lower()):
        assert rk.explain(name, (2,)) == want


@pytest.mark.parametrize("shape", [[2, 3], np.array([2, 3]), iter([2, 3]), (np.int8(2), 3)])
def test_shapes_in_other_forms(shape):
    e = rk.explain("max", shape)
    assert e.in_shape == (2, 3)
    assert all(type(size) is int for size in e.in_shape + e.out_shape)


@pytest.mark.parametrize(
    "axes", [np.array([0, 1]), range(2), iter([0, 1]), {0, 1}, (np.int64(1), -2)]
)
def test_axes_in_other_forms(axes):
    assert rk.explain("max", (2, 3), axes).reduced_axes == (0, 1)


@pytest.mark.parametrize(
    "dtype", ["float16", np.float16, np.dtype(">f2"), "f2", np.zeros(1, np.float16).dtype]
)
def test_dtypes_in_other_forms(dtype):
    assert rk.explain("max", (2,), dtype=dtype).dtype == "float16"
    assert rk.explain("max", (2,), dtype=ml_dtypes.bfloat16).dtype == "bfloat16"


# The object.


def test_it_is_immutable_and_pickles():
    e = rk.explain("max", (2, 3), 0, dims=("a", "b"))
    with pytest.raises(AttributeError):
        e.in_shape = ()
    assert pickle.loads(pickle.dumps(e)) == e
    assert copy.deepcopy(e) == e
    assert len({e, rk.explain("max", (2, 3), 0, dims=("a", "b")), rk.explain("max", (2, 3))}) == 2
    assert e.plan.terms == e.elements_per_output
    e.code["numpy"] = "changed"
    assert e.code["numpy"] != "changed"


def test_the_whole_text():
    e = rk.explain("max", (2, 3, 2), [0, 1], False, dims=("batch", "row", "column"), opset=18)
    assert str(e) == repr(e)
    assert str(e).splitlines()[:8] == [
        "ReduceMax-18 at opset 18, float32",
        "",
        "  axis        0        1       2",
        "  name    batch      row  column",
        "  in          2        3       2",
        "  is    reduced  reduced    kept",
        "  out         -        -       2",
        "",
    ]
    assert str(e).splitlines()[8] == e.summary
    for rule in e.rules:
        assert f"  - {rule}" in str(e)
    for line in "\n".join(e.code.values()).split("\n"):
        assert line in str(e)


def test_nothing_is_planned_where_nothing_can_be_walked():
    assert rk.explain("max", (2**40, 2**40)).plan is None
    assert rk.explain("max", (2, 3), noop_with_empty_axes=True).plan is None


def test_a_plan_is_shown_once_there_is_one():
    e = rk.explain("max", (2, 3))._replace(plan="contiguous runs\nof 6")
    assert "Plan\n  contiguous runs\n  of 6\n" in str(e)
    assert "contiguous runs\nof 6" in e._repr_html_()


@pytest.mark.parametrize("rank", [0, 1, 7, 30, 64])
def test_text_of_any_rank_fits_its_lines(rank):
    e = rk.explain("max", (2**62, 3) * (rank // 2) + (1,) * (rank % 2), range(0, rank, 3))
    axes = str(e).split("\n\n" + e.summary)[0]
    assert all(len(line) <= 100 for line in axes.splitlines())
    assert str(e).isascii()


def test_text_with_hostile_names():
    e = rk.explain("max", (2, 3), dims=("a\nb\u202e", "x" * 10**6))
    assert "a\\nb\\u202e" in str(e)
    assert len(str(e)) < 5000


# The same call elsewhere.


def cases():
    rng = np.random.default_rng(3)
    for kind in ELEMENT_TYPES:
        for shape in [(), (4,), (2, 3), (0, 3), (2, 0, 3), (2, 3, 4)]:
            data = ordinary(kind.name, shape, rng)
            for axes in {(), (0,), (len(shape) - 1,), tuple(range(len(shape)))}:
                if shape or not axes:
                    yield data, axes


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("noop", [True, False])
def test_code_for_reducekit_and_numpy_gives_the_same(op, keepdims, noop):
    for data, axes in cases():
        if never(op, data.dtype.name):
            continue
        kwargs = {"keepdims": keepdims, "noop_with_empty_axes": noop, "strict": False}
        e = rk.explain(op, data.shape, axes, dtype=data.dtype, **kwargs)
        want = FUNCTIONS[op](data, axes, **kwargs)
        assert_same(eval(e.code["reducekit"], {"rk": rk, "x": data}), want)
        got = np.asarray(eval(e.code["numpy"], {"np": np, "x": data}))
        if op == "sum" and data.dtype == np.float64:
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
        else:
            assert_same(got, want)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("noop", [True, False])
def test_code_for_torch_gives_the_same(op, keepdims, noop):
    torch = pytest.importorskip("torch")
    for data, axes in cases():
        if never(op, data.dtype.name):
            continue
        kwargs = {"keepdims": keepdims, "noop_with_empty_axes": noop, "strict": False}
        e = rk.explain(op, data.shape, axes, dtype=data.dtype, **kwargs)
        want = FUNCTIONS[op](data, axes, **kwargs)
        code = e.code["torch"]
        if code.startswith("#"):
            assert code == f"# torch has no a{op} of uint64"
            assert data.dtype == np.uint64
            continue
        got = rk.Tensor(eval(code, {"torch": torch, "x": torch.from_dlpack(rk.Tensor(data))}))
        if op == "sum" and data.dtype == np.float64:
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
        else:
            assert_same(got.numpy().copy(), want)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("opset", [1, 11, 12, 13, 18, 20, schema.NEWEST_OPSET])
def test_code_for_onnx_is_a_model_with_the_right_shapes(op, opset):
    version = schema.resolve(op, opset)
    for data, axes in cases():
        for keepdims, noop in itertools.product([True, False], [True, False]):
            kwargs = {"keepdims": keepdims, "noop_with_empty_axes": noop, "opset": opset}
            call = outcome(rk.explain, op, data.shape, axes, dtype=data.dtype, **kwargs)
            if isinstance(call, Exception):
                assert not version.allows(data.dtype.name) or noop
                continue
            model = onnx.parser.parse_model(call.code["onnx"])
            onnx.checker.check_model(model, full_check=True)
            assert model.graph.node[0].op_type == version.name
            assert model.opset_import[0].version == opset
            del model.graph.output[0].type.tensor_type.shape.dim[:]
            model.graph.output[0].type.tensor_type.ClearField("shape")
            model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
            dims = model.graph.output[0].type.tensor_type.shape.dim
            assert tuple(d.dim_value for d in dims) == call.out_shape


@pytest.mark.parametrize("op", OPS)
def test_code_for_onnx_computes_the_same(op):
    from onnx.reference import ReferenceEvaluator

    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for axes, keepdims, opset in itertools.product(subsets(3), [True, False], [11, 13, 18]):
        e = rk.explain(op, data.shape, axes, keepdims, opset=opset)
        model = onnx.parser.parse_model(e.code["onnx"])
        (got,) = ReferenceEvaluator(model).run(None, {"x": data})
        assert_same(np.asarray(got), FUNCTIONS[op](data, axes, keepdims=keepdims, opset=opset))


def test_code_for_onnx_says_when_it_is_no_legal_model():
    code = rk.explain("max", (2,), dtype="int16", strict=False).code["onnx"]
    assert code.startswith("# ReduceMax-20 does not take int16: a checker refuses this model\n")
    onnx.parser.parse_model(code)


@pytest.mark.parametrize("op", OPS)
def test_code_for_atb_computes_the_same(op):
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for axes in subsets(3):
        e = rk.explain(op, data.shape, axes, keepdims=False)
        param = atb.ReduceParam.from_json(e.code["atb"])
        assert json.loads(e.code["atb"])["axis"] == list(e.reduced_axes)
        got = atb.ReduceOperation(param)(data)
        assert_same(got, FUNCTIONS[op](data, axes, keepdims=False))
    assert "atb" not in rk.explain(op, (2, 3), 0).code
    assert "atb" not in rk.explain(op, (), keepdims=False).code


@given(
    st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**63 - 1)), max_size=64),
    st.data(),
)
def test_any_shape(shape, data):
    rank = len(shape)
    axes = data.draw(st.lists(st.integers(0, rank - 1), unique=True)) if rank else []
    keepdims = data.draw(st.booleans())
    e = rk.explain("min", shape, axes, keepdims)
    assert e.out_shape == reduced_shape(shape, axes or range(rank), keepdims)
    assert e.summary in str(e)
    assert len(e._repr_html_()) < 16_000
