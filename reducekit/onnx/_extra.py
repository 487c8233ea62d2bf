"""The package ``onnx``, or one sentence that says how to get it.

Every module here that needs ``onnx`` takes it from this one first.
"""

try:
    import onnx
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise ModuleNotFoundError(
        "reducekit.onnx needs the package onnx, which is not installed; "
        "run: pip install 'reducekit[onnx]'",
        name="onnx",
    ) from None

__all__ = ["onnx"]
