"""Arrays from files and into files, for the command line.

A file is not trusted. Nothing is unpickled, nothing is allocated or mapped
before what the header promises is held against what the file holds, and a
result takes the place of an older file only when all of it is on the disk.

Uncompressed arrays are mapped, not read, so they may be larger than memory.
A mapped file must not be cut short while it is in use: the operating system
ends a process that touches what is no longer there.
"""

from __future__ import annotations

import errno
import io
import math
import mmap
import os
import secrets
import stat
import struct
import threading
import time
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from . import _refusals
from ._show import bytes_text, visible
from .dtypes import ElementType, element_type
from .errors import ReduceError

__all__ = ["FileError", "Source", "Target", "read"]

_BLOCK = 1 << 20
# NumPy reads no longer headers either, unless it is told to trust the file.
_HEADER_LIMIT = 10_000
_MAX_RANK = 64
# Below this a mapping is left alone: small files stay in memory as any data would.
_TRIM_ABOVE = 64 << 20
_TRIM_SECONDS = 0.002

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class FileError(Exception):
    """A file that cannot be read or written; the text is complete, and one line."""


@dataclass(frozen=True)
class Source:
    """An array, and the mapping that it lies in (None where it was read into memory)."""

    array: NDArray[Any]
    mapping: mmap.mmap | None
    start: int = 0  # of the array, in the mapping

    @contextmanager
    def reading(self, piece: NDArray[Any]) -> Iterator[None]:
        """Give back the memory of a piece of the array that is read within the block.

        Every page that was touched counts as memory of this process until something
        else needs the room. Giving pages back early costs little: they stay in the
        system's cache, so one that is touched again is found there. Where the piece
        is large, it is done again and again while the block runs.
        """
        if self.mapping is None or not hasattr(mmap, "MADV_DONTNEED") or not piece.nbytes:
            yield
            return
        if piece.nbytes < _TRIM_ABOVE:
            yield
            self._release(piece)
            return
        done = threading.Event()

        def trim() -> None:
            pause = _TRIM_SECONDS
            while not done.wait(pause):
                start = time.perf_counter()
                self._release(piece)
                # What is touched already must be searched each time; that must not be all it does.
                pause = max(_TRIM_SECONDS, 4 * (time.perf_counter() - start))

        worker = threading.Thread(target=trim, name="reducekit-trim", daemon=True)
        worker.start()
        try:
            yield
        finally:
            done.set()
            worker.join()
            self._release(piece)

    def _release(self, piece: NDArray[Any]) -> None:
        assert self.mapping is not None
        base = np.lib.array_utils.byte_bounds(self.array)[0] - self.start
        low, high = (bound - base for bound in np.lib.array_utils.byte_bounds(piece))
        low -= low % mmap.PAGESIZE
        self.mapping.madvise(mmap.MADV_DONTNEED, low, high - low)


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    length: int  # from the start of the file to the first element

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read(path: str, who: str, key: str | None = None, raw: ElementType | None = None) -> Source:
    """The array in a ``.npy`` or ``.npz`` file.

    Parameters
    ----------
    path : str
        A regular file. What it holds is told by its first bytes, not its name.
    who : str
        The operation, for refusals of element types.
    key : str, optional
        Which array of a ``.npz`` file; needed where it holds several.
    raw : ElementType, optional
        What raw items are. NumPy knows bfloat16 only as an extension, and a
        ``.npy`` file of it says no more than that an item has two bytes.

    Raises
    ------
    FileError
        If the file cannot be read, or does not hold what its header promises.
    DTypeError
        If no reduction takes such elements.
    """
    name = _name(path)
    with _open(path, name) as file:
        magic = file.read(len(npy.MAGIC_PREFIX))
        file.seek(0)
        if magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return _read_npz(file, name, who, key, raw)
        if magic != npy.MAGIC_PREFIX:
            raise FileError(_not_an_array(name, magic))
        if key is not None:
            raise FileError(f"{name} is a .npy file, which holds one array; leave out --key")
        header = _read_header(file, name)
        dtype = _element_dtype(header.dtype, name, who, raw)
        _check_size(header, name, os.fstat(file.fileno()).st_size)
        return _map(file, header, dtype, name, header.length)


class Target:
    """A file to be written: found fit before the work, replaced in one step after it.

    Raises
    ------
    FileError
        If the path cannot become a file, as far as that can be known.
    """

    def __init__(self, path: str) -> None:
        self.name = _name(path)
        try:
            # A link stays, and the file that it names is replaced.
            self._path = Path(path).resolve()
            self._check_folder(_name(str(Path(path).parent)))
            self._mode = self._old_mode()
        except OSError as error:
            raise self._error(_reason(error)) from None
        except RuntimeError:  # what Python before 3.13 makes of a link to itself
            raise self._error("too many levels of symbolic links") from None
        except ValueError:  # a NUL in the path
            raise self._error("no file can have this name") from None

    def _check_folder(self, shown: str) -> None:
        folder = self._path.parent
        try:
            mode = folder.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise self._error(f"the folder {shown} does not exist; make it first") from None
        if not stat.S_ISDIR(mode):
            raise self._error(f"{shown} is not a folder")
        if not _allowed(folder, os.W_OK | os.X_OK):
            raise self._error(f"permission denied in the folder {shown}")

    def _old_mode(self) -> int | None:
        try:
            mode = self._path.stat().st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(mode):
            raise self._error("it is a directory; name a file in it")
        if not stat.S_ISREG(mode):
            raise self._error(f"it is {_kind(mode)}, not a regular file")
        if not _allowed(self._path, os.W_OK):
            raise self._error("permission denied")
        return stat.S_IMODE(mode)

    def write_array(self, array: NDArray[Any]) -> None:
        """Write the array as a ``.npy`` file.

        Raises
        ------
        FileError
            If it cannot be written; what was there before still is.
        """
        header = io.BytesIO()
        if not array.flags.c_contiguous:
            array = array.copy(order="C")
        npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
        # bfloat16 has no buffer of its own kind, so all types go as bytes.
        data = array.reshape(-1).view(np.uint8).data
        blocks = (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))
        self._write(header.getvalue(), blocks)

    def write_text(self, text: str) -> None:
        """Write the text and a line end.

        Raises
        ------
        FileError
            If it cannot be written; what was there before still is.
        """
        self._write(f"{text}\n".encode(), ())

    def _write(self, head: bytes, blocks: Iterable[memoryview]) -> None:
        # Beside the target, since a file can be put in place in one step only within a
        # file system. Opened by hand so that the user's umask gives it its permissions.
        part = self._path.parent / f".reducekit-{secrets.token_hex(8)}.part"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(part, flags, 0o666)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(head)
                    file.writelines(blocks)
                    file.flush()
                    os.fsync(handle)
                if self._mode is not None:
                    part.chmod(self._mode)
                part.replace(self._path)
            except BaseException:
                with suppress(OSError):
                    part.unlink()
                raise
        except OSError as error:
            left = "no file was made" if self._mode is None else "the old file is unchanged"
            raise self._error(f"{_reason(error)}; {left}") from None

    def _error(self, reason: str) -> FileError:
        return FileError(f"cannot write {self.name}: {reason}")


def _open(path: str, name: str) -> IO[bytes]:
    try:
        # Asked before opening: opening a pipe waits for its other end.
        mode = os.stat(path).st_mode  # noqa: PTH116 - Path refuses to be empty
        if stat.S_ISDIR(mode):
            raise FileError(
                f"cannot read {name}: it is a directory; name a .npy or .npz file in it"
            )
        if not stat.S_ISREG(mode):
            raise FileError(
                f"cannot read {name}: it is {_kind(mode)}; "
                "save the array as a .npy file, so that it can be mapped"
            )
        return open(path, "rb")  # noqa: PTH123 - the caller closes it
    except OSError as error:
        raise FileError(f"cannot read {name}: {_reason(error)}") from None
    except ValueError:  # a NUL in the path
        raise FileError(f"cannot read {name}: no file can have this name") from None


def _read_header(file: IO[bytes], name: str) -> _Header:
    """The header of a .npy file or member; the file stands at its start."""
    head = file.read(len(npy.MAGIC_PREFIX) + 2)
    if not head.startswith(npy.MAGIC_PREFIX):
        raise FileError(_not_an_array(name, head))
    version = tuple(head[-2:])
    if len(head) == len(npy.MAGIC_PREFIX) + 2 and version not in ((1, 0), (2, 0), (3, 0)):
        text = ".".join(map(str, version))
        raise FileError(f"{name} has version {text} of the .npy format; 1.0, 2.0 and 3.0 are known")
    size = 2 if version == (1, 0) else 4
    prefix = file.read(size)
    if len(head) + len(prefix) < len(npy.MAGIC_PREFIX) + 2 + size:
        raise FileError(f"{name} is truncated: it ends within its header")
    length = int.from_bytes(prefix, "little")
    if length > _HEADER_LIMIT:
        raise FileError(
            f"{name} is damaged: its header would be {length} bytes long; "
            f"at most {_HEADER_LIMIT} are read"
        )
    literal = file.read(length)
    if len(literal) < length:
        raise FileError(f"{name} is truncated: it ends within its header")
    # Version 3.0 differs from 2.0 in the names of fields alone, and fields are refused anyway.
    parse = npy.read_array_header_1_0 if size == 2 else npy.read_array_header_2_0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            shape, fortran_order, dtype = parse(io.BytesIO(prefix + literal))
        if any(isinstance(size, bool) for size in shape):  # which NumPy lets pass, and cannot use
            raise ValueError(shape)
        shape = tuple(int(size) for size in shape)
    except Exception:  # noqa: BLE001 - a made-up header makes a parser raise anything
        raise FileError(f"{name} is damaged: its header cannot be understood") from None
    if len(shape) > _MAX_RANK:
        raise FileError(
            f"{name} is damaged: its header promises rank {len(shape)}; "
            f"an array has at most {_MAX_RANK}"
        )
    if any(abs(size) >= 2**63 for size in shape):
        raise FileError(
            f"{name} is damaged: its header promises an axis of 2**63 elements or more, "
            "which no array has"
        )
    sizes = [size for size in shape if size]
    if any(size < 0 for size in sizes) or math.prod(sizes) * max(dtype.itemsize, 1) >= 2**63:
        raise FileError(
            f"{name} is damaged: its header promises the shape {visible(str(shape))}, "
            "which no array has"
        )
    return _Header(shape, bool(fortran_order), dtype, len(head) + len(prefix) + length)


def _element_dtype(
    dtype: np.dtype[Any], name: str, who: str, raw: ElementType | None
) -> np.dtype[Any]:
    if dtype.hasobject:
        raise FileError(
            f"{name} holds pickled objects, which are never loaded, as they can run code; "
            "save an array of numbers"
        )
    kind = element_type(dtype)
    if dtype.kind != "V" or dtype.names is not None or dtype.subdtype is not None:
        if kind is None:
            raise _refusals.dtype_never(who, visible(str(dtype), 100))
        if raw is not None and raw != kind:
            raise FileError(
                f"{name} holds {kind.name}, not {raw.name}; leave out --dtype, "
                "which names the type of raw items and casts nothing"
            )
        return dtype
    if raw is None:
        if dtype.itemsize == 2:
            raise FileError(
                f"{name} holds raw items of 2 bytes ({dtype}), as NumPy saves bfloat16; "
                "add --dtype bfloat16 if that is what they are"
            )
        raise _refusals.dtype_never(who, dtype)
    if raw.itemsize != dtype.itemsize:
        raise FileError(
            f"{name} holds raw items of {dtype.itemsize} bytes; {raw.name} has {raw.itemsize}"
        )
    return raw.numpy_dtype


def _check_size(header: _Header, name: str, size: int) -> None:
    held = max(size - header.length, 0)
    if header.nbytes > held:
        raise FileError(
            f"{name} is truncated: its header promises {header.nbytes} bytes of data "
            f"({header.dtype.name}, shape {visible(str(header.shape))}), but {held} are there"
        )


def _map(file: IO[bytes], header: _Header, dtype: np.dtype[Any], name: str, start: int) -> Source:
    """The elements from position ``start`` of the file, without reading them."""
    if header.nbytes == 0:
        return Source(np.empty(header.shape, dtype), None)
    try:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise FileError(f"cannot map {name}: {_reason(error)}") from None
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        mapping.madvise(mmap.MADV_SEQUENTIAL)
    return Source(_elements(mapping, header, dtype, name, start), mapping, start)


def _elements(
    buffer: mmap.mmap | bytearray, header: _Header, dtype: np.dtype[Any], name: str, start: int
) -> NDArray[Any]:
    try:
        flat = np.frombuffer(buffer, dtype, math.prod(header.shape), start)
    except ValueError:  # cut since its size was asked
        raise FileError(f"{name} is truncated: it became shorter while it was opened") from None
    return flat.reshape(header.shape, order="F" if header.fortran_order else "C")


def _read_npz(
    file: IO[bytes], archive: str, who: str, key: str | None, raw: ElementType | None
) -> Source:
    try:
        with zipfile.ZipFile(file) as zipped:
            info = _member(zipped, archive, key)
            name = f"{visible(info.filename.removesuffix('.npy'))} in {archive}"
            if info.flag_bits & 1:
                raise FileError(f"{name} is encrypted; save it without a password")
            with zipped.open(info) as member:
                header = _read_header(member, name)
                dtype = _element_dtype(header.dtype, name, who, raw)
                _check_size(header, name, info.file_size)
                if info.compress_type == zipfile.ZIP_STORED:
                    _skip(member)
                    start = _data_start(file, info) + header.length
                    return _map(file, header, dtype, name, start)
                return _unpack(member, header, dtype, name)
    except (FileError, ReduceError, MemoryError):
        raise
    except OSError as error:
        raise FileError(f"cannot read {archive}: {_reason(error)}") from None
    except Exception as error:  # noqa: BLE001 - zipfile and the decompressors have many
        raise FileError(
            f"{archive} is damaged: {visible(str(error) or type(error).__name__, 100)}"
        ) from None


def _member(zipped: zipfile.ZipFile, archive: str, key: str | None) -> zipfile.ZipInfo:
    members = {info.filename.removesuffix(".npy"): info for info in zipped.infolist()}
    keys = visible(", ".join(members), 400)
    if not members:
        raise FileError(f"{archive} holds no arrays")
    if key is not None:
        if key not in members:
            raise FileError(f"{archive} holds no array {visible(key)}; it holds {keys}")
        return members[key]
    if len(members) > 1:
        raise FileError(f"{archive} holds {len(members)} arrays; choose one with --key: {keys}")
    return next(iter(members.values()))


def _data_start(file: IO[bytes], info: zipfile.ZipInfo) -> int:
    """Where the bytes of a stored member begin: its local header has lengths of its own."""
    fixed = 30
    file.seek(info.header_offset)
    name_length, extra_length = struct.unpack("<26xHH", file.read(fixed))
    return info.header_offset + fixed + int(name_length) + int(extra_length)


def _unpack(member: IO[bytes], header: _Header, dtype: np.dtype[Any], name: str) -> Source:
    # Memory grows with what really comes out, whatever the archive says will.
    data = bytearray()
    try:
        while len(data) < header.nbytes:
            block = member.read(min(_BLOCK, header.nbytes - len(data)))
            if not block:
                raise FileError(
                    f"{name} is truncated: its header promises {header.nbytes} bytes of data, "
                    f"but {len(data)} are there"
                )
            data += block
    except MemoryError:
        raise FileError(
            f"{name} does not fit in memory: it needs {bytes_text(header.nbytes)}; "
            "save it uncompressed (numpy.save or numpy.savez), so that it can be mapped"
        ) from None
    _skip(member)
    if header.nbytes == 0:
        return Source(np.empty(header.shape, dtype), None)
    array = _elements(data, header, dtype, name, 0)
    array.flags.writeable = False
    return Source(array, None)


def _skip(member: IO[bytes]) -> None:
    """Read to the end: only there is the checksum compared."""
    while member.read(_BLOCK):
        pass


def _not_an_array(name: str, start: bytes) -> str:
    if not start:
        return f"{name} is empty; reducekit reads .npy and .npz files"
    if start[:1] == b"\x80":
        return (
            f"{name} is a pickle, which is never loaded, as it can run code; "
            "save the array with numpy.save"
        )
    return (
        f"{name} is neither a .npy nor a .npz file (it begins with {start[:6]!r}); "
        "save the array with numpy.save"
    )


def _name(path: str) -> str:
    """A path for one line of text, whole: a cut path helps nobody."""
    return visible(path, 4096) or "''"


def _allowed(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _kind(mode: int) -> str:
    return next((kind for test, kind in _KINDS if test(mode)), "not a regular file")


def _reason(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "no such file"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied"
    if error.errno == errno.ENOSPC:
        return "the disk is full"
    text = os.strerror(error.errno) if error.errno else str(error)
    return visible(text[:1].lower() + text[1:], 200)
