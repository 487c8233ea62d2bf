"""Three published architectures, built with ``onnx.helper``, with seeded weights.

The outputs of their reductions are outputs of the models as well, so that a
difference between runtimes can be followed to where it begins.
"""

import numpy as np
from onnx import numpy_helper
from onnx_world.builders import constant, model, node, value


def weights(rng, name, *shape):
    scale = 1 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.1
    return numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name)


def number(name, x):
    return numpy_helper.from_array(np.float32(x), name)


def squeeze_and_excitation(channels=64, size=14, ratio=16):
    """Hu et al., Squeeze-and-Excitation Networks: channels weighted by their own averages."""
    rng = np.random.default_rng(1)
    hidden = channels // ratio
    nodes = [
        node("ReduceSum", ["x", "pixels"], ["total"], name="squeeze", keepdims=0),
        node("Mul", ["total", "per_pixel"], ["mean"]),
        node("Gemm", ["mean", "w1", "b1"], ["down"], transB=1),
        node("Relu", ["down"], ["active"]),
        node("Gemm", ["active", "w2", "b2"], ["up"], transB=1),
        node("Sigmoid", ["up"], ["gate"]),
        node("Unsqueeze", ["gate", "pixels"], ["wide"]),
        node("Mul", ["x", "wide"], ["y"], name="excite"),
    ]
    made = model(
        nodes,
        [value("x", "float32", ["N", channels, size, size])],
        [
            value("y", "float32", ["N", channels, size, size]),
            value("total", "float32", ["N", channels]),
            value("gate", "float32", ["N", channels]),
        ],
        13,
        initializers=[
            constant("pixels", [2, 3]),
            number("per_pixel", 1 / size**2),
            weights(rng, "w1", hidden, channels),
            weights(rng, "b1", hidden),
            weights(rng, "w2", channels, hidden),
            weights(rng, "b2", channels),
        ],
    )
    x = rng.standard_normal((2, channels, size, size)).astype(np.float32)
    return made, {"x": x}


def layer_normalisation(width=768, tokens=32):
    """Ba et al., Layer Normalization, as it was written before opset 17 had an operator for it."""
    rng = np.random.default_rng(2)
    nodes = [
        node("ReduceSum", ["x"], ["total"], name="sum", axes=[-1]),
        node("Div", ["total", "width"], ["mean"]),
        node("Sub", ["x", "mean"], ["centred"]),
        node("Mul", ["centred", "centred"], ["squares"]),
        node("ReduceSum", ["squares"], ["square_total"], name="sum of squares", axes=[-1]),
        node("Div", ["square_total", "width"], ["variance"]),
        node("Add", ["variance", "epsilon"], ["shifted"]),
        node("Sqrt", ["shifted"], ["deviation"]),
        node("Div", ["centred", "deviation"], ["normal"]),
        node("Mul", ["normal", "gain"], ["scaled"]),
        node("Add", ["scaled", "bias"], ["y"]),
    ]
    made = model(
        nodes,
        [value("x", "float32", ["batch", "token", width])],
        [
            value("y", "float32", ["batch", "token", width]),
            value("total", "float32", ["batch", "token", 1]),
            value("square_total", "float32", ["batch", "token", 1]),
        ],
        12,
        ir_version=7,
        initializers=[
            number("width", width),
            number("epsilon", 1e-5),
            weights(rng, "gain", width),
            weights(rng, "bias", width),
        ],
    )
    x = (3 + rng.standard_normal((2, tokens, width))).astype(np.float32)
    return made, {"x": x}


def softmax_cross_entropy(classes=1000, batch=64):
    """The loss of classifiers, with the largest logit taken off before the exponential."""
    rng = np.random.default_rng(3)
    nodes = [
        node("ReduceMax", ["logits", "last"], ["largest"], name="largest"),
        node("Sub", ["logits", "largest"], ["below"]),
        node("Exp", ["below"], ["powers"]),
        node("ReduceSum", ["powers", "last"], ["total"], name="partition"),
        node("Log", ["total"], ["log_total"]),
        node("Sub", ["below", "log_total"], ["log_likelihoods"]),
        node("Unsqueeze", ["labels", "last"], ["column"]),
        node("GatherElements", ["log_likelihoods", "column"], ["chosen"], axis=1),
        node("ReduceSum", ["chosen"], ["all"], name="batch", keepdims=0),
        node("Neg", ["all"], ["negative"]),
        node("Div", ["negative", "batch_size"], ["loss"]),
    ]
    made = model(
        nodes,
        [value("logits", "float32", [batch, classes]), value("labels", "int64", [batch])],
        [
            value("loss", "float32", []),
            value("largest", "float32", [batch, 1]),
            value("total", "float32", [batch, 1]),
        ],
        18,
        initializers=[constant("last", [1]), number("batch_size", batch)],
    )
    return made, {
        "logits": (4 * rng.standard_normal((batch, classes))).astype(np.float32),
        "labels": rng.integers(0, classes, batch),
    }


ARCHITECTURES = {
    "squeeze-and-excitation": squeeze_and_excitation,
    "layer normalisation": layer_normalisation,
    "softmax cross-entropy": softmax_cross_entropy,
}
