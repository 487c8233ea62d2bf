"""Every single reduction node that the table allows, three ways.

The cases are operator x opset x element type x form of the axes x keepdims x
noop_with_empty_axes, at the first and the last opset of each version. The
backend, the function and ONNX's evaluator with these operators must agree to
the bit; the plain evaluator must agree too, but for what ``KNOWN`` lists.
"""

import itertools

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_world.builders import OPERATORS, boundaries, reduction
from oracles import assert_same, outcome

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import ELEMENT_TYPES
from reducekit.onnx import OPS, backend

SHAPE = (2, 3, 4)
# name: (axes for the builder, form of the builder, axes for the function)
ATTRIBUTE = {
    "omitted": (None, None, None),
    "empty": ([], "attribute", []),
    "one": ([1], "attribute", [1]),
    "two": ([2, 0], "attribute", [2, 0]),
    "all": ([0, 1, 2], "attribute", [0, 1, 2]),
    "negative": ([-1], "attribute", [-1]),
    "outside": ([3], "attribute", [3]),
    "twice": ([1, -2], "attribute", [1, -2]),
}
INPUT = {
    **{name: (axes, "input", same) for name, (axes, _, same) in ATTRIBUTE.items() if axes},
    "omitted": (None, None, None),
    "blank": (None, "blank", None),
    "empty": ([], "input", []),
    "dynamic": ([1], "dynamic", [1]),
    "dynamic empty": ([], "dynamic", []),
}
KEEPDIMS = ({}, {"keepdims": 0}, {"keepdims": 1})
NOOP = ({}, {"noop_with_empty_axes": 0}, {"noop_with_empty_axes": 1})


def cases(op, opset):
    version = schema.resolve(op, opset)
    forms = ATTRIBUTE if version.axes == "attribute" else INPUT
    noops = NOOP if version.noop_with_empty_axes else NOOP[:1]
    return itertools.product(forms.items(), KEEPDIMS, noops)


# Where the plain evaluator is wrong, or right in other words.
KNOWN = {
    "it computes types that the opset does not allow":
        lambda op, opset, dtype, form: not schema.resolve(op, opset).allows(dtype),
    "it takes negative axes where they are not defined":
        lambda op, opset, dtype, form: form == "negative" and opset < 11,
    "it refuses with errors of NumPy":
        lambda op, opset, dtype, form: form in ("outside", "twice"),
    "it rounds at each addition":
        lambda op, opset, dtype, form: op == "ReduceSum" and dtype in ("float16", "bfloat16"),
}  # fmt: skip


def known(*case):
    """Why the plain evaluator need not agree; None if it must."""
    return next((why for why, concerns in KNOWN.items() if concerns(*case)), None)


def data_of(kind):
    values = np.arange(24).reshape(SHAPE)[:, ::-1, ::-1] % 11
    if kind.kind == "bool":
        return values > 5
    if kind.kind in ("int", "float"):
        values = values - 5
    return np.ascontiguousarray(values).astype(kind.numpy_dtype)


DATA = {kind.name: data_of(kind) for kind in ELEMENT_TYPES}


def on_backend(made, feeds):
    return backend.run_model(made, feeds)[0]


def on_evaluator(made, feeds, new_ops=None):
    return ReferenceEvaluator(made, new_ops=new_ops).run(None, feeds)[0]


@pytest.mark.parametrize(
    ("op", "opset"), [(op, opset) for op in OPERATORS for opset in boundaries(op)]
)
def test_backend_function_and_evaluator_agree(op, opset):
    function = getattr(rk, schema.operator(op).function)
    for (form, (axes, where, same)), keepdims, noop in cases(op, opset):
        flags = {**keepdims, **noop}
        made = reduction(op, opset, "float32", shape=None, axes=axes, form=where, **flags)
        for dtype, data in DATA.items():
            hint = f"{op} {opset} {dtype} {form} {flags}"
            number = next(kind.onnx_number for kind in ELEMENT_TYPES if kind.name == dtype)
            for given in (made.graph.input[0], made.graph.output[0]):
                given.type.tensor_type.elem_type = number
            feeds = {"x": data}
            if where == "dynamic":
                feeds["axes"] = np.array(axes, np.int64)
            want = outcome(
                function,
                data,
                same,
                keepdims=bool(flags.get("keepdims", 1)),
                noop_with_empty_axes=bool(flags.get("noop_with_empty_axes", 0)),
                opset=opset,
            )
            got = outcome(on_backend, made, feeds)
            assert_same(got, want, hint)
            ours = outcome(on_evaluator, made, feeds, OPS)
            assert_same(ours, want, hint)
            if known(op, opset, dtype, form) is None:
                plain = outcome(on_evaluator, made, feeds)
                assert_same(plain, want, hint)


def test_the_counts():
    """What the test above goes through, and how much of it the plain evaluator gets right."""
    count = held = 0
    for op, opset in itertools.product(OPERATORS, range(1, schema.NEWEST_OPSET + 1)):
        if opset in boundaries(op):
            for (form, _), _, _ in cases(op, opset):
                why = [known(op, opset, dtype, form) for dtype in DATA]
                count += len(why)
                held += why.count(None)
    assert (count, held) == (17862, 9888)
