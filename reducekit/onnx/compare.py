"""The same model on another runtime, and where the outputs part."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._extra import onnx
from ._model import first_line

__all__ = ["PEERS", "Difference", "PeerError", "compare", "run_peer"]


class PeerError(Exception):
    """The other runtime is not installed, or cannot run the model; the text is one line."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How one output differs between two runtimes.

    Attributes
    ----------
    name : str
        Of the output.
    kind : str
        Element type and shape, or what it is instead of a tensor.
    problem : str
        Why the outputs cannot be held against each other; empty if they can.
    count, size : int
        How many elements differ, of how many. A NaN equals a NaN; zeros of
        different sign differ.
    largest : float
        The largest difference: infinite between finite and infinite, NaN where
        one side alone is NaN.
    ulps : int or None
        The largest number of representable values between the two, for floats.
    largest_at, first_at : tuple of int or None
        Where.
    first : tuple or None
        The two values there.
    """

    name: str
    kind: str
    problem: str = ""
    count: int = 0
    size: int = 0
    largest: float | int = 0
    ulps: int | None = None
    largest_at: tuple[int, ...] | None = None
    first_at: tuple[int, ...] | None = None
    first: tuple[Any, Any] | None = None

    def describe(self, ours: str, theirs: str) -> str:
        """The difference in one line."""
        head = f"{self.name!r} {self.kind}"
        if self.problem:
            return f"{head}: {self.problem}"
        if not self.count:
            return f"{head}: equal in every bit that counts, {self.size} elements"
        far = f" (at most {self.ulps} ulp)" if self.ulps is not None else ""
        assert self.first is not None
        here, there = self.first
        return (
            f"{head}: {self.count} of {self.size} elements differ; "
            f"largest difference {self.largest:.6g} at {_place(self.largest_at)}{far}; "
            f"first at {_place(self.first_at)}: {ours} {here}, {theirs} {there}"
        )

    def beyond(self, rtol: float, atol: float, ours: Any, theirs: Any) -> bool:
        """Whether the outputs are further apart than ``atol + rtol * |theirs|``."""
        if self.problem:
            return True
        if not self.count:
            return False
        wide = np.float64 if np.asarray(ours).dtype.kind not in "iub" else np.longdouble
        a, b = np.asarray(ours).astype(wide), np.asarray(theirs).astype(wide)
        return not bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def _place(index: tuple[int, ...] | None) -> str:
    return str(list(index or ()))


def compare(name: str, ours: Any, theirs: Any) -> Difference:
    """Hold one output of two runtimes against each other.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.int8([1, 2, 3]), np.int8([1, 5, 3])
    >>> found = compare("y", a, b)
    >>> found.count, found.largest, found.first_at
    (1, 3, (1,))
    """
    if not isinstance(ours, np.ndarray) or not isinstance(theirs, np.ndarray):
        return _compare_others(name, ours, theirs)
    kind = f"{ours.dtype.name} {ours.shape}"
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return Difference(name, kind, f"the other is {theirs.dtype.name} {theirs.shape}")
    if ours.dtype.kind in "OUS":
        differ = np.asarray(ours != theirs)
        if not differ.any():
            return Difference(name, kind, size=ours.size)
        where = _index(differ, int(np.argmax(differ)))
        problem = f"the texts differ, first at {_place(where)}"
        return Difference(name, kind, problem, int(differ.sum()), ours.size)
    return _compare_numbers(name, kind, ours, theirs)


def _compare_others(name: str, ours: Any, theirs: Any) -> Difference:
    kind = type(ours).__name__
    if isinstance(ours, list) and isinstance(theirs, list):
        kind = f"sequence of {len(ours)}"
        if len(ours) != len(theirs):
            return Difference(name, kind, f"the other is a sequence of {len(theirs)}")
        parts = [
            compare(f"{name}[{i}]", a, b) for i, (a, b) in enumerate(zip(ours, theirs, strict=True))
        ]
        off = next((part for part in parts if part.problem or part.count), None)
        if off is None:
            return Difference(name, kind, size=sum(part.size for part in parts))
        return off
    if type(ours) is not type(theirs):
        return Difference(name, kind, f"the other is a {type(theirs).__name__}")
    problem = "" if ours == theirs else "the values differ"
    return Difference(name, kind, problem, size=1)


def _compare_numbers(name: str, kind: str, ours: np.ndarray, theirs: np.ndarray) -> Difference:
    is_float = ours.dtype.kind == "f" or ours.dtype.name == "bfloat16"
    with np.errstate(all="ignore"):
        same = ours == theirs
        if is_float or ours.dtype.kind == "c":
            same = same | ((ours != ours) & (theirs != theirs))
        if is_float:
            same = same & ((ours != 0) | (np.signbit(ours) == np.signbit(theirs)))
        apart = ~np.asarray(same, dtype=bool)
        count = int(apart.sum())
        if not count:
            return Difference(name, kind, size=ours.size)
        distance = _distance(ours, theirs)
    first = int(np.argmax(apart))
    # A NaN on one side is further than any number.
    order = (
        np.where(np.isnan(distance), np.inf, distance) if distance.dtype.kind == "f" else distance
    )
    lost = np.isnan(distance) if distance.dtype.kind == "f" else np.zeros(ours.shape, bool)
    lost &= apart
    largest = int(np.argmax(lost)) if lost.any() else int(np.argmax(np.where(apart, order, 0)))
    ulps = None
    if is_float:
        far = _ordered(ours)[apart], _ordered(theirs)[apart]
        finite = np.isfinite(ours[apart].astype(np.float64)) & np.isfinite(
            theirs[apart].astype(np.float64)
        )
        if finite.any():
            ulps = max(
                abs(int(a) - int(b)) for a, b in zip(far[0][finite], far[1][finite], strict=True)
            )
    return Difference(
        name,
        kind,
        count=count,
        size=ours.size,
        largest=distance.reshape(-1)[largest].item(),
        ulps=ulps,
        largest_at=_index(ours, largest),
        first_at=_index(ours, first),
        first=(ours.reshape(-1)[first], theirs.reshape(-1)[first]),
    )


def _distance(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    if ours.dtype.kind in "iub":
        # In the unsigned type of the same width, where no difference overflows.
        unsigned = np.dtype(f"u{ours.dtype.itemsize}")
        high, low = np.maximum(ours, theirs), np.minimum(ours, theirs)
        return np.asarray(high.astype(unsigned) - low.astype(unsigned))
    if ours.dtype.kind == "c":
        return np.asarray(np.abs(ours - theirs))
    return np.asarray(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)))


def _ordered(array: np.ndarray) -> np.ndarray:
    """The bits of floats as integers in the order of the numbers; neighbours differ by one."""
    bits = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").astype(np.int64)
    lowest = np.int64(-(2 ** (8 * array.dtype.itemsize - 1)))
    return np.where(bits < 0, lowest - bits, bits)


def _index(array: np.ndarray, flat: int) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, array.shape))


def run_peer(peer: str, model: Any, proto: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """The outputs of a model on another runtime.

    Parameters
    ----------
    peer : str
        One of ``PEERS``.
    model : path or None
        The file, which a runtime reads by itself; None for a model in memory.
    proto : onnx.ModelProto
    feeds : mapping of str to array

    Raises
    ------
    PeerError
        If it is not installed or fails.
    """
    try:
        return PEERS[peer](model, proto, feeds)
    except PeerError:
        raise
    except Exception as error:  # noqa: BLE001 - every runtime has errors of its own
        raise PeerError(f"{peer} cannot run the model: {first_line(error)}") from None


def _on_onnxruntime(model: Any, proto: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        if error.name != "onnxruntime":
            raise
        raise PeerError("onnxruntime is not installed; run: pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    source = proto.SerializeToString() if model is None else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    values = {}
    for name, value in feeds.items():
        if not isinstance(value, np.ndarray) or value.dtype.isbuiltin == 1:
            values[name] = value
            continue
        # NumPy has no name for this type: it goes as bits, with ONNX's number beside it.
        number = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        bits = np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}")
        values[name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)
    outputs = session.get_outputs()
    plain = all(isinstance(value, (np.ndarray, list, dict)) for value in values.values())
    if plain and not any(output.type in _RAW_TYPES for output in outputs):
        return [_array(value) for value in session.run(None, values)]
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy(value)
    names = [output.name for output in outputs]
    return [_from_ort(value) for value in session.run_with_ort_values(names, values)]


_RAW_TYPES = (
    "tensor(bfloat16)",
    *(f"tensor(float8{kind})" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")),
)


def _from_ort(value: Any) -> Any:
    if value.data_type() not in _RAW_TYPES:
        return _array(value.numpy())
    # onnxruntime gives no array of these types, but says where their bits are.
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.element_type())
    array = np.empty(value.shape(), dtype)
    if array.size:
        ctypes.memmove(array.ctypes.data, value.data_ptr(), array.nbytes)
    return array


def _array(value: Any) -> Any:
    """A rank-0 tensor comes back as a scalar from some runtimes."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _on_reference(_model: Any, proto: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(proto).run(None, dict(feeds)))


PEERS: dict[str, Callable[[Any, onnx.ModelProto, Mapping[str, Any]], list[Any]]] = {
    "onnxruntime": _on_onnxruntime,
    "onnx.reference": _on_reference,
}
"""The runtimes to compare with, by name."""
