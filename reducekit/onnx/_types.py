"""The type of a tensor: element type and shape, either of them perhaps unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..dtypes import ELEMENT_TYPES
from ._extra import onnx

__all__ = ["TensorType"]

Dim = int | str | None

_NAME_OF = {row.onnx_number: row.name for row in ELEMENT_TYPES}
_UNKNOWN = "type number "
_NUMBER_OF = {row.name: row.onnx_number for row in ELEMENT_TYPES}


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape of a tensor in a model.

    Attributes
    ----------
    dtype : str or None
        NumPy's full name of the element type (``"float32"``), ONNX's name in
        lower case where no reduction takes it (``"string"``), None if unknown.
    shape : tuple or None
        One entry for each axis: an int, a symbol such as ``"N"``, or None where
        nothing is known. None in place of the tuple: not even the rank is known.

    Examples
    --------
    >>> str(TensorType("float32", ("N", 3, None)))
    'float32 (N, 3, ?)'
    """

    dtype: str | None = None
    shape: tuple[Dim, ...] | None = None

    @property
    def rank(self) -> int | None:
        """The number of axes, or None if it is unknown."""
        return None if self.shape is None else len(self.shape)

    def __str__(self) -> str:
        dtype = self.dtype or "unknown type"
        if self.shape is None:
            return f"{dtype}, unknown shape"
        # A symbol is a name from a file: its control characters are not printed.
        names = ["?" if dim is None else repr(str(dim))[1:-1] for dim in self.shape]
        dims = ", ".join(names)
        return f"{dtype} ({dims}{',' if len(self.shape) == 1 else ''})"

    @classmethod
    def of_array(cls, array: Any) -> TensorType:
        """The type of a NumPy array or of a ``TensorProto``."""
        if isinstance(array, onnx.TensorProto):
            return cls(element_name(array.data_type), tuple(array.dims))
        number = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        return cls(element_name(number), tuple(array.shape))

    @classmethod
    def of_proto(cls, proto: onnx.TypeProto) -> TensorType | None:
        """The type that a ``TypeProto`` holds; None if it is no dense tensor."""
        kind = proto.WhichOneof("value")
        if kind is None:
            return cls()
        if kind != "tensor_type":
            return None
        tensor = proto.tensor_type
        shape: tuple[Dim, ...] | None = None
        if tensor.HasField("shape"):
            shape = tuple(
                dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None)
                for dim in tensor.shape.dim
            )
        return cls(element_name(tensor.elem_type), shape)

    def to_proto(self) -> onnx.TypeProto:
        """The same as a ``TypeProto``."""
        number = 0 if self.dtype is None else _element_number(self.dtype)
        return onnx.helper.make_tensor_type_proto(number, self.shape)


def _element_number(name: str) -> int:
    if name in _NUMBER_OF:
        return _NUMBER_OF[name]
    if name.startswith(_UNKNOWN):
        return int(name.removeprefix(_UNKNOWN))
    return int(onnx.TensorProto.DataType.Value(name.upper()))


def element_name(number: int) -> str | None:
    """NumPy's name of the element type with this ONNX number; None for 0, undefined.

    >>> element_name(1), element_name(16), element_name(8), element_name(0)
    ('float32', 'bfloat16', 'string', None)
    """
    if number == onnx.TensorProto.UNDEFINED:
        return None
    if number in _NAME_OF:
        return _NAME_OF[number]
    try:
        return str(onnx.TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"{_UNKNOWN}{number}"
