"""The node tests of the ONNX standard itself, run as data."""

import warnings

import numpy as np
import onnx
import pytest
from oracles import FUNCTIONS, REFERENCE, assert_same

from reducekit import schema


def node_cases():
    """Every case of the three operators: its name, and (inputs, outputs) of its one node."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases of other operators divide by zero on purpose
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    names = {op.name: op for op in schema.OPERATORS}
    for case in cases:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in names and not nodes[0].domain:
            yield pytest.param(names[nodes[0].op_type], case, id=case.name)


CASES = list(node_cases())


def test_there_are_cases_of_every_operator():
    counts = {op.name: sum(case.values[0] is op for case in CASES) for op in schema.OPERATORS}
    assert all(count >= 10 for count in counts.values()), counts


@pytest.mark.parametrize(("op", "case"), CASES)
def test_case(op, case):
    (node,) = case.model.graph.node
    (opset,) = [item.version for item in case.model.opset_import if item.domain == ""]
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    version = schema.resolve(op.name, opset)
    assert set(attributes) <= {"axes", "keepdims", "noop_with_empty_axes"}
    for inputs, outputs in case.data_sets:
        given = dict(zip(node.input, inputs))
        assert ("axes" in given) <= (version.axes == "input")
        axes = given.get("axes", attributes.get("axes"))
        kwargs = {
            "keepdims": attributes.get("keepdims", 1),
            "noop_with_empty_axes": attributes.get("noop_with_empty_axes", 0),
            "opset": opset,
        }
        data = given[node.input[0]]
        (want,) = outputs
        exact = REFERENCE[op.short](data, axes, **kwargs)
        if op.short == "sum":  # the standard's sums are NumPy's, which round at every step
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(exact, want, rtol=case.rtol, atol=case.atol)
            assert (exact.shape, exact.dtype) == (want.shape, want.dtype)
        else:
            assert_same(exact, want, case.name)
        assert_same(FUNCTIONS[op.short](data, axes, **kwargs), exact, case.name)
