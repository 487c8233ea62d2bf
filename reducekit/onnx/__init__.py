"""Reductions in ONNX models: run them, put them into the evaluator, infer, check.

Importing this package imports nothing else: each name below is loaded from its
module when it is first used, and only then is the package ``onnx`` needed. It
comes with the extra ``reducekit[onnx]``.

Examples
--------
>>> from onnx.reference import ReferenceEvaluator
>>> import reducekit.onnx as rx
>>> [op.__name__ for op in rx.ops()]
['ReduceMax', 'ReduceMin', 'ReduceSum']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import Backend, Prepared
    from .check import check_model
    from .evaluator import OPS, Evaluator, operator_class, ops
    from .faults import FAULTS, Fault
    from .inference import TensorType, infer_node
    from .report import Finding, NodeReport, Report

_HOME = {
    "Backend": "backend",
    "Prepared": "backend",
    "Finding": "report",
    "NodeReport": "report",
    "Report": "report",
    "check_model": "check",
    "OPS": "evaluator",
    "Evaluator": "evaluator",
    "operator_class": "evaluator",
    "ops": "evaluator",
    "FAULTS": "faults",
    "Fault": "faults",
    "TensorType": "inference",
    "infer_node": "inference",
}

__all__ = [
    "FAULTS",
    "OPS",
    "Backend",
    "Evaluator",
    "Fault",
    "Finding",
    "NodeReport",
    "Prepared",
    "Report",
    "TensorType",
    "check_model",
    "infer_node",
    "operator_class",
    "ops",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
