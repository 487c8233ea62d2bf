"""Small models for the tests, built with ``onnx.helper``."""

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from reducekit import schema
from reducekit.dtypes import by_name

OPERATORS = [op.name for op in schema.OPERATORS]


def boundaries(name):
    """The first and the last opset of each version."""
    first = [version.since_version for version in schema.history(name)]
    return sorted({*first, *(number - 1 for number in first[1:]), schema.NEWEST_OPSET})


def value(name, dtype, shape):
    number = by_name(dtype).onnx_number if isinstance(dtype, str) else dtype
    return helper.make_tensor_value_info(name, number, shape)


def node(op, inputs, outputs=("y",), *, name="", domain="", **attributes):
    """A node; unlike ``helper.make_node`` it takes an empty list of axes."""
    made = helper.make_node(op, list(inputs), list(outputs), name=name, domain=domain)
    for key, given in attributes.items():
        kind = AttributeProto.INTS if key == "axes" and isinstance(given, (list, tuple)) else None
        if isinstance(given, (list, tuple)) and not given and kind is None:
            continue
        made.attribute.append(helper.make_attribute(key, given, attr_type=kind))
    return made


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def model(nodes, inputs, outputs, opset=18, *, initializers=(), ir_version=10, **more):
    imports = more.pop("imports", None)
    if imports is None:
        imports = [helper.make_opsetid("", opset)]
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initializers))
    made = helper.make_model(graph, opset_imports=imports, ir_version=ir_version, **more)
    if not imports:
        del made.opset_import[:]
    return made


def reduction(
    op,
    opset,
    dtype="float32",
    *,
    shape=("N", 3, 4),
    axes=None,
    form=None,
    result=None,
    name="r",
    **flags,
):
    """A model of one reduction.

    ``form`` says where the axes are: ``attribute``, ``input`` (a constant),
    ``dynamic`` (an input of the model) or ``blank`` (an input without a name);
    by default as the version wants it.
    """
    form = form or schema.resolve(op, opset).axes
    inputs, initializers = ["x"], []
    graph_inputs = [value("x", dtype, shape)]
    if axes is not None and form == "attribute":
        flags = {"axes": axes, **flags}
    elif form == "blank":
        inputs.append("")
    elif axes is not None and form == "input":
        inputs.append("axes")
        initializers.append(constant("axes", axes))
    elif form == "dynamic":
        inputs.append("axes")
        graph_inputs.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [None]))
    made = node(op, inputs, name=name, **flags)
    return model(
        [made], graph_inputs, [value("y", dtype, result)], opset, initializers=initializers
    )


def only_node(made):
    (found,) = made.graph.node
    return found


def save(made, path):
    onnx.save(made, str(path))
    return path
