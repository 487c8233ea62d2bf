"""Run one table of odd cases on every library and write what came out: `others.json`.

`python docs/make_others.py` needs torch and onnxruntime, which the documentation itself does not;
so the results are kept, with the versions that gave them, and a test runs the cases again on
whatever is installed.
"""

import json
import warnings
from importlib.metadata import version
from pathlib import Path

import ml_dtypes
import numpy as np

import reducekit as rk
from reducekit import schema
from reducekit._show import value_text
from reducekit.dtypes import element_type
from reducekit.onnx.faults import run_on

RUNTIMES = {
    "reducekit": "reducekit",
    "NumPy": "numpy",
    "PyTorch": "torch",
    "ONNX Runtime": "onnxruntime",
    "ONNX reference": "onnx",
}
_CALLED = {"NumPy": "numpy", "PyTorch": "torch", "ONNX Runtime": "onnxruntime",
           "ONNX reference": "onnx.reference"}  # fmt: skip
f2, bf16, f4, f8 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64
i1, i4, i8 = np.int8, np.int32, np.int64

# What is odd, the operator, the data, how the data is said, and the axis where it is not axis 0.
CASES = [
    ("NaN first", "max", np.array([np.nan, 1], f4), "float32 [nan, 1]"),
    ("NaN later", "max", np.array([1, np.nan], f4), "float32 [1, nan]"),
    ("NaN", "min", np.array([1, np.nan, -np.inf], f8), "float64 [1, nan, -inf]"),
    ("zeros", "max", np.array([-0.0, 0.0], f4), "float32 [-0, 0]"),
    ("zeros, turned round", "max", np.array([0.0, -0.0], f4), "float32 [0, -0]"),
    ("zeros", "min", np.array([0.0, -0.0], f4), "float32 [0, -0]"),
    ("negative zeros", "sum", np.array([-0.0, -0.0], f4), "float32 [-0, -0]"),
    ("infinities", "sum", np.array([np.inf, -np.inf], f4), "float32 [inf, -inf]"),
    ("the empty set", "max", np.zeros(0, f4), "float32 []"),
    ("the empty set", "min", np.zeros(0, i4), "int32 []"),
    ("the empty set", "max", np.zeros(0, bool), "bool []"),
    ("the empty set", "sum", np.zeros(0, f2), "float16 []"),
    ("truth", "max", np.array([True, False]), "bool [True, False]"),
    ("overflow", "sum", np.array([2**31 - 1, 1], i4), "int32 [2147483647, 1]"),
    ("large integers", "sum", np.array([2**53, 1], i8), "int64 [2**53, 1]"),
    ("cancellation", "sum", np.array([1e8, 1, -1e8], f4), "float32 [1e8, 1, -1e8]"),
    ("many ones", "sum", np.ones(300, bf16), "bfloat16, 300 ones"),
    ("down a column", "sum", np.ones((3000, 2), f2), "float16, two columns of 3000 ones"),
    ("overflow on the way", "sum", np.array([6e4, 6e4, -6e4], f2), "float16 [6e4, 6e4, -6e4]"),
    ("a tenth, often", "sum", np.full((1_000_000, 2), 0.1, f4),
     "float32, two columns of a million 0.1"),
]  # fmt: skip


def one(name, op, data):
    """What a library gives for one case, in one short text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name == "reducekit":
                function = getattr(rk, schema.operator(op).function)
                result = function(data, 0, keepdims=False)
            else:
                operator = schema.operator(op).name
                result = run_on(_CALLED[name], operator, schema.NEWEST_OPSET, data, (0,), False)
    except Exception:  # noqa: BLE001 - every library fails in its own way
        return "an error"
    result = np.asarray(result)
    kind = element_type(result.dtype)
    text = value_text(result.reshape(-1)[0], kind)[0]
    return text if result.dtype == data.dtype else f"{text} ({result.dtype})"


def results(names):
    """Every case on each of these libraries."""
    return [
        {"what": what, "call": f"{op} of {said}", "results": {n: one(n, op, data) for n in names}}
        for what, op, data, said in CASES
    ]


def main():
    """Run all and write what came out."""
    seen = {
        "versions": {name: version(package) for name, package in RUNTIMES.items()},
        "cases": results(RUNTIMES),
    }
    path = Path(__file__).parent / "others.json"
    path.write_text(json.dumps(seen, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
