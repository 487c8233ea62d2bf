"""What a user's type checker makes of the public names; mypy --strict reads it, nobody runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import reducekit as rk

floats: NDArray[np.float32] = np.zeros((2, 3), np.float32)

# The element type of an array is kept, that of a list is not known before it runs.
assert_type(rk.reduce_max(floats), NDArray[np.float32])
assert_type(rk.reduce_min(floats, 0, keepdims=False), NDArray[np.float32])
assert_type(rk.reduce_sum(floats, (0, -1), exact=True), NDArray[np.float32])
assert_type(rk.reduce_max([[1, 2], [3, 4]], [0]), NDArray[Any])
assert_type(rk.reduce_max(3.5), NDArray[Any])

# axes: an int of any make, a sequence or an array of them, or None.
rk.reduce_max(floats, np.int64(1))
rk.reduce_max(floats, [np.int64(1), 0])
rk.reduce_max(floats, np.array([0, 1]))
rk.reduce_max(floats, axes=None, keepdims=False)
rk.reduce_max(floats, "rows")  # type: ignore[arg-type]
rk.reduce_max(floats, 1.5)  # type: ignore[call-overload]

# A keyword that there is not.
rk.reduce_max(floats, axis=0)  # type: ignore[call-overload]
rk.Tensor(floats).reduce_max(axis=0)  # type: ignore[arg-type]

# out comes back as what it is.
result: NDArray[np.float32] = np.empty((1, 1), np.float32)
assert_type(rk.reduce_sum(floats, out=result), NDArray[np.float32])

# The flags are by name only, and ONNX's 0 and 1 will do.
rk.reduce_max(floats, 0, keepdims=0, noop_with_empty_axes=True, strict=False)
rk.reduce_max(floats, 0, False)  # type: ignore[call-overload]
rk.reduce_max(floats, keepdims="yes")  # type: ignore[call-overload]

# Opsets.
rk.reduce_max(floats, opset=13)
rk.reduce_max(floats, opset="latest")
rk.reduce_max(floats, opset="newest")  # type: ignore[call-overload]
rk.set_default_opset("latest")
assert_type(rk.get_default_opset(), int)
with rk.opset(18) as number:
    assert_type(number, int)
assert_type(rk.schema.resolve("ReduceMax", 19), rk.schema.OperatorVersion)
assert_type(rk.schema.history("ReduceMax"), tuple[rk.schema.OperatorVersion, ...])

# Errors are also the built-in ones that users of NumPy catch.
axis_error: np.exceptions.AxisError = rk.AxesError("text")
value_error: ValueError = rk.OpsetError("text")
type_error: TypeError = rk.DTypeError("text")
