"""The element types, one row each.

Everything that depends on an element type reads this table: the schema by name,
the kernels by position, and whoever needs the value of an empty set. What else a
new row takes is in CONTRIBUTING.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

__all__ = ["ELEMENT_TYPES", "ElementType", "by_name", "element_type"]


# Rows are named tuples, here and in the modules above: dataclasses, which write and compile code
# for each class, took 3 of the 12 ms that the package adds to the import of NumPy.
class ElementType(NamedTuple):
    """One element type.

    Attributes
    ----------
    name : str
        NumPy's full name, such as ``"float32"``.
    kind : str
        ``"bool"``, ``"int"``, ``"uint"`` or ``"float"``.
    itemsize : int
        Bytes in one element.
    onnx_name : str
        The name in ONNX type strings, as in ``tensor(float)``.
    onnx_number : int
        The number in ``onnx.TensorProto.DataType``.
    numpy_dtype : numpy.dtype
        The native-endian dtype of arrays of this type.
    """

    name: str
    kind: str
    itemsize: int
    onnx_name: str
    onnx_number: int
    numpy_dtype: np.dtype[Any]

    @property
    def lowest(self) -> Any:
        """The value below or equal to all others: -inf, the least integer, False."""
        if self.kind == "float":
            return self.numpy_dtype.type(-np.inf)
        if self.kind == "bool":
            return np.False_
        return self.numpy_dtype.type(np.iinfo(self.numpy_dtype).min)

    @property
    def highest(self) -> Any:
        """The value above or equal to all others: +inf, the greatest integer, True."""
        if self.kind == "float":
            return self.numpy_dtype.type(np.inf)
        if self.kind == "bool":
            return np.True_
        return self.numpy_dtype.type(np.iinfo(self.numpy_dtype).max)

    @property
    def zero(self) -> Any:
        """The sum of nothing: +0, 0 or False."""
        return self.numpy_dtype.type(0)


def _row(name: str, kind: str, onnx_name: str, onnx_number: int, dtype: Any) -> ElementType:
    numpy_dtype = np.dtype(dtype)
    return ElementType(name, kind, numpy_dtype.itemsize, onnx_name, onnx_number, numpy_dtype)


# The order is the order of the kernel table: _kernels/kernels.pxd counts on it,
# and tests/test_dtypes.py holds the two against each other.
ELEMENT_TYPES: tuple[ElementType, ...] = (
    _row("bool", "bool", "bool", 9, np.bool_),
    _row("int8", "int", "int8", 3, np.int8),
    _row("int16", "int", "int16", 5, np.int16),
    _row("int32", "int", "int32", 6, np.int32),
    _row("int64", "int", "int64", 7, np.int64),
    _row("uint8", "uint", "uint8", 2, np.uint8),
    _row("uint16", "uint", "uint16", 4, np.uint16),
    _row("uint32", "uint", "uint32", 12, np.uint32),
    _row("uint64", "uint", "uint64", 13, np.uint64),
    _row("float16", "float", "float16", 10, np.float16),
    _row("bfloat16", "float", "bfloat16", 16, ml_dtypes.bfloat16),
    _row("float32", "float", "float", 1, np.float32),
    _row("float64", "float", "double", 11, np.float64),
)

_BY_NAME = {row.name: row for row in ELEMENT_TYPES}
_BY_DTYPE = {row.numpy_dtype: row for row in ELEMENT_TYPES}


def by_name(name: str) -> ElementType:
    """The row of the type with this name.

    Parameters
    ----------
    name : str
        NumPy's full name of the type.

    Returns
    -------
    ElementType

    Raises
    ------
    KeyError
        If there is no such type.

    Examples
    --------
    >>> by_name("bfloat16").itemsize
    2
    """
    return _BY_NAME[name]


def element_type(dtype: Any) -> ElementType | None:
    """The row of an element type.

    Parameters
    ----------
    dtype : dtype_like
        Of any byte order.

    Returns
    -------
    ElementType or None
        None where no reduction takes such elements: complex numbers, text,
        objects, dates, structures, and float types that ONNX has elsewhere.

    Raises
    ------
    TypeError
        If NumPy takes it for no dtype.

    Examples
    --------
    >>> element_type(">f4").name
    'float32'
    >>> element_type("complex64") is None
    True
    """
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    dtype = np.dtype(dtype)
    if dtype in _BY_DTYPE:
        return _BY_DTYPE[dtype]
    # NumPy makes up a name each time, which takes longer than to reduce a little array.
    dtype = dtype.newbyteorder("=")
    row = _BY_NAME.get(dtype.name)
    return row if row is not None and row.numpy_dtype == dtype else None
