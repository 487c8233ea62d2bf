"""DLPack in both directions, bfloat16 included.

NumPy exchanges every element type of this package except bfloat16: it knows the
type only as an extension and neither writes nor reads its code. The two bytes
of an element are the same under any name, so a bfloat16 array travels as uint16
and only the type code in the capsule differs. The code is changed while the
capsule is still ours alone: after export and before hand-over, or after the
producer handed it over and before NumPy reads it. No element is copied.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

__all__ = ["device", "export", "read"]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# DLDataTypeCode of the DLPack specification.
_UINT = 1
_BFLOAT = 4

# DLDeviceType of what the processor can read: its own memory, and memory that it shares
# with CUDA or ROCm devices.
_IN_MEMORY = (1, 3, 11, 13)


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("dl_tensor", _DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", _DLTensor),
    ]


# Prototypes of our own: the ones on ctypes.pythonapi are shared with everybody.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _retype(capsule: Any, old: int, new: int) -> bool:
    """Change the type code of a capsule of 16-bit elements; whether it had the old code."""
    managed: Any
    for name, struct in (
        (b"dltensor", _DLManagedTensor),
        (b"dltensor_versioned", _DLManagedTensorVersioned),
    ):
        if _is_valid(capsule, name):
            managed = struct.from_address(_pointer(capsule, name))
            break
    else:
        return False
    # The major version guards the layout of everything after it.
    if getattr(managed, "major", 1) != 1:
        return False
    dtype = managed.dl_tensor.dtype
    if (dtype.code, dtype.bits, dtype.lanes) != (old, 16, 1):
        return False
    dtype.code = new
    return True


def export(array: NDArray[Any], **kwargs: Any) -> Any:
    """A capsule of the array, as ``ndarray.__dlpack__`` gives it, for bfloat16 too.

    Raises
    ------
    BufferError
        If the array cannot be exported: big-endian, or read-only to a consumer
        that does not understand DLPack 1.0.
    """
    if array.dtype != BFLOAT16:
        return array.__dlpack__(**kwargs)
    capsule = array.view(np.uint16).__dlpack__(**kwargs)
    if not _retype(capsule, _UINT, _BFLOAT):
        raise BufferError("this NumPy exports DLPack in a form that has no known bfloat16 code")
    return capsule


def device(array: NDArray[Any]) -> tuple[int, int]:
    """The DLPack device of the array: the CPU."""
    kind, number = array.__dlpack_device__()
    return int(kind), int(number)


class _Producer:
    """Hands a producer's capsule to NumPy, with bfloat16 called uint16."""

    def __init__(self, producer: Any) -> None:
        self.producer = producer
        self.bfloat16 = False

    def __dlpack__(self, **kwargs: Any) -> Any:
        capsule = self.producer.__dlpack__(**kwargs)
        self.bfloat16 = _retype(capsule, _BFLOAT, _UINT)
        return capsule

    def __dlpack_device__(self) -> Any:
        return self.producer.__dlpack_device__()


def read(producer: Any) -> NDArray[Any]:
    """The producer's elements as an array, without a copy; read-only if the producer says so.

    Raises
    ------
    BufferError, RuntimeError, TypeError
        If the producer refuses, lives on another device or has a type that NumPy lacks.
    """
    kind, number = producer.__dlpack_device__()
    if kind not in _IN_MEMORY:
        raise BufferError(
            f"it is on device {int(kind)}:{int(number)} of DLPack, not in the memory of the CPU; "
            "copy it there first"
        )
    wrapper = _Producer(producer)
    array = np.from_dlpack(wrapper)
    return array.view(BFLOAT16) if wrapper.bfloat16 else array
