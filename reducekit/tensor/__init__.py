"""The wrapper: an array with axis names, an opset, and the reductions as methods."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from .. import _engine, _foreign, _refusals, _rules, schema
from .._inputs import as_array, deferred
from .._names import Dims, check_dims, position, to_positions
from ..dtypes import ElementType, element_type
from ..errors import short

# What shows and indexes is imported when somebody does: it would take a tenth of the import's time.
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._description import Description

__all__ = ["Description", "Tensor"]


class Tensor:
    """An array with axis names and an opset, and the reductions as methods.

    A tensor is a view: it shares the memory of the array that it is made from,
    as ``torch.from_numpy`` does, and offers no way to change an element. What is
    not a reduction, an index or a look is left to NumPy: ``numpy()`` and
    ``np.asarray(tensor)`` give the array itself, without a copy.

    Parameters
    ----------
    data : array_like
        An array, a number, nested lists, a Tensor, or an object with the buffer
        protocol, ``__array__`` or ``__dlpack__`` (such as a torch tensor on the
        CPU, bfloat16 included). Lists are copied; memory that can be shared is.
        A dask array stays lazy, and so is all that is made from the tensor, until
        ``numpy()`` or ``compute()`` is called. A zarr array is loaded, into memory
        for all of it and a few chunks more.
    dims : sequence of (str or None), optional
        One name for each axis, None for an axis without a name. A str names the
        only axis of a tensor of rank 1. Omitted, the names of a Tensor are kept.
    opset : int or "latest", optional
        The opset of the tensor's reductions, unless a call names another one.
        Omitted, a Tensor's is kept; other tensors follow the opset in force at
        the time of the call (:func:`reducekit.opset`).

    Raises
    ------
    TypeError
        If ``data`` cannot be read as an array, or a name is not a str.
    DTypeError
        If no reduction takes the element type (complex, text, objects, dates, structures).
    ArgumentError
        If the names do not fit the rank or repeat, or elements are missing (masked, null).
    OpsetError
        If the opset is unknown.

    Notes
    -----
    Tensor is not an array of the Python array API standard and has no
    ``__array_namespace__``. The standard's ``max`` and ``sum`` drop reduced axes,
    know no opset, leave NaN and signed zeros to the library and promote small
    integers; ONNX operators do the opposite of each, and a namespace that lacks
    arithmetic, or that answers by other rules, would make generic code quietly wrong.

    Examples
    --------
    >>> import numpy as np, reducekit as rk
    >>> t = rk.Tensor(np.float32([[1, 5], [4, 2]]), dims=("row", "column"), opset=18)
    >>> t
    Tensor(shape=(2, 2), dtype=float32, dims=('row', 'column'), opset=18)
    [[1. 5.]
     [4. 2.]]
    >>> t.reduce_max("row", keepdims=False)
    Tensor(shape=(2,), dtype=float32, dims=('column',), opset=18)
    [4. 5.]
    """

    __slots__ = ("__weakref__", "_array", "_dims", "_opset")

    _array: NDArray[Any]
    _dims: Dims
    _opset: int | None

    # Elements may be compared, so a hash of the identity would break dicts and sets.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any, dims: Any = None, opset: int | str | None = None) -> None:
        if isinstance(data, Tensor):
            dims = data._dims if dims is None else dims
            opset = data._opset if opset is None else opset
            self._array = data._array
        else:
            lazy = _lazy_array(data)
            self._array = as_array("Tensor", data) if lazy is None else lazy
        self._dims = check_dims("Tensor", dims, self._array.ndim)
        self._opset = None if opset is None else schema.check_opset("Tensor", opset)

    def _like(self, array: NDArray[Any], dims: Dims) -> Tensor:
        """A tensor of checked parts, with this tensor's opset."""
        tensor = object.__new__(type(self))
        tensor._array = array
        tensor._dims = dims
        tensor._opset = self._opset
        return tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements; ``ml_dtypes.bfloat16`` for bfloat16."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The rank: the number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take in a plain copy."""
        return self._array.nbytes

    @property
    def dims(self) -> Dims:
        """The names of the axes, None for an axis without one; None if none was ever given."""
        return self._dims

    @property
    def opset(self) -> int | None:
        """The opset of the tensor's reductions; None follows the opset in force at the call."""
        return self._opset

    @property
    def _is_lazy(self) -> bool:
        return not isinstance(self._array, np.ndarray)

    def numpy(self) -> NDArray[Any]:
        """The array itself, without a copy: what is written to it is seen in the tensor.

        Of a lazy tensor, it is computed anew at each call.

        Returns
        -------
        numpy.ndarray

        Examples
        --------
        >>> import numpy as np, reducekit as rk
        >>> array = np.array([1, 5])
        >>> rk.Tensor(array).numpy() is array
        True
        """
        if self._is_lazy:
            return as_array("numpy", self._array.compute())  # type: ignore[attr-defined]
        return self._array

    def compute(self) -> Tensor:
        """The tensor with its elements in memory: itself, unless it is lazy.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Tensor([[1, 5]]).reduce_max().compute().item()
        5
        """
        return self._like(self.numpy(), self._dims) if self._is_lazy else self

    @classmethod
    def from_frame(cls, frame: Any, dims: Any = None, opset: int | str | None = None) -> Tensor:
        """A tensor of the values of a pandas DataFrame or Series.

        Parameters
        ----------
        frame : pandas.DataFrame or pandas.Series
            With columns of one element type; nullable and Arrow types too. NaN in
            columns of NumPy's floats is taken as a value.
        dims : sequence of (str or None), optional
            Names of the axes; omitted, those of the index and of the columns, or
            ``"row"`` and ``"column"`` where these have none.
        opset : int or "latest", optional
            As for :class:`Tensor`.

        Returns
        -------
        Tensor
            Of rank 2 (1 for a Series). It shares memory with the frame if pandas keeps
            the values in one array.

        Raises
        ------
        DTypeError
            If columns are of different element types, or of one that no reduction
            takes; the error names them.
        ArgumentError
            If a value is missing.
        TypeError
            If ``frame`` is neither.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> import pandas as pd, reducekit as rk
        >>> t = rk.Tensor.from_frame(pd.DataFrame({"a": [1, 5], "b": [4, 2]}))
        >>> t.reduce_max("row", keepdims=False)
        Tensor(shape=(2,), dtype=int64, dims=('column',))
        [5 4]
        """
        home = _foreign.home_of(frame)
        array, names = (home if hasattr(home, "array_of") else _foreign.home("pandas")).array_of(
            frame
        )
        return cls(array, names if dims is None else dims, opset)

    def to_frame(self, index: Any = None, columns: Any = None) -> Any:
        """A pandas DataFrame of the elements.

        Parameters
        ----------
        index, columns : array_like, optional
            Labels of the rows and of the columns; numbers if omitted.

        Returns
        -------
        pandas.DataFrame
            Of the tensor's dtype, with the names of the axes as names of the labels. A
            tensor of rank 1 makes one column, named ``value``; one of rank 0, one cell.

        Raises
        ------
        ArgumentError
            If the rank is above 2, or labels do not fit.
        DTypeError
            If the elements are bfloat16, which pandas does not have.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Tensor([[1, 5], [4, 2]]).reduce_max(0).to_frame(["max"], ["a", "b"])
             a  b
        max  4  5
        """
        return _foreign.home("pandas").frame_of(self.numpy(), self._dims, index, columns)

    @classmethod
    def from_xarray(cls, array: Any, opset: int | str | None = None) -> Tensor:
        """A tensor of the values of an xarray DataArray, with its dimensions as names.

        Parameters
        ----------
        array : xarray.DataArray
            Its coordinates are left behind. Data in a dask array stays lazy.
        opset : int or "latest", optional
            As for :class:`Tensor`.

        Returns
        -------
        Tensor
            It shares memory with the DataArray.

        Raises
        ------
        DTypeError
            If no reduction takes the element type.
        TypeError
            If ``array`` is no DataArray, or a dimension is not named by a str.
        ImportError
            If xarray is not installed.

        Examples
        --------
        >>> import xarray as xr, reducekit as rk
        >>> da = xr.DataArray([[1, 5], [4, 2]], dims=("time", "place"))
        >>> rk.Tensor.from_xarray(da).reduce_max("time", keepdims=False).dims
        ('place',)
        """
        data, names = _foreign.home("xarray").data_of(array)
        return cls(data, names, opset)

    def to_xarray(self, coords: Any = None, name: Any = None) -> Any:
        """An xarray DataArray of the elements, with the names of the axes as dimensions.

        Parameters
        ----------
        coords : mapping, optional
            Coordinates, as xarray takes them.
        name : hashable, optional
            The name of the DataArray.

        Returns
        -------
        xarray.DataArray
            It shares the tensor's memory, and is lazy if the tensor is. An axis
            without a name becomes ``dim_0``, ``dim_1`` and so on, as xarray names it.

        Raises
        ------
        ImportError
            If xarray is not installed.

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Tensor([1, 5], dims="time").to_xarray({"time": [10, 20]}).sel(time=20).item()
        5
        """
        return _foreign.home("xarray").data_array_of(self._array, self._dims, coords, name)

    def with_opset(self, opset: int | str | None) -> Tensor:
        """The same elements and names under another opset.

        Parameters
        ----------
        opset : int, "latest" or None
            None follows the opset in force at the call.

        Returns
        -------
        Tensor
            It shares the memory of this one.

        Raises
        ------
        OpsetError
            If the opset is unknown.

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Tensor([1, 2]).with_opset(13).opset
        13
        """
        tensor = self._like(self._array, self._dims)
        tensor._opset = None if opset is None else schema.check_opset("with_opset", opset)
        return tensor

    def rename(self, *names: Any, **renamed: str | None) -> Tensor:
        """The same elements under other axis names.

        Parameters
        ----------
        *names
            A mapping from old names or positions to new names, or all new names
            (as arguments or as one sequence), or None alone to drop all names.
        **renamed
            ``old="new"``; None takes the name away.

        Returns
        -------
        Tensor
            It shares the memory of this one.

        Raises
        ------
        AxesError
            If an old name or position does not exist; the error lists the names that do.
        ArgumentError
            If the new names repeat or do not fit the rank.
        TypeError
            If a new name is no str, nothing is given, or both forms are.

        Examples
        --------
        >>> import reducekit as rk
        >>> t = rk.Tensor([[1, 2]], dims=("row", "column"))
        >>> t.rename(row="y").dims, t.rename({1: "x"}).dims, t.rename("y", "x").dims
        (('y', 'column'), ('row', 'x'), ('y', 'x'))
        """
        if bool(names) == bool(renamed):
            raise TypeError(
                "rename: give old names with new ones (row='y' or {'row': 'y'}), "
                "or all new names, or None to drop them"
            )
        if names and not (len(names) == 1 and isinstance(names[0], Mapping)):
            only = names[0]
            if len(names) == 1 and (self.ndim != 1 or not isinstance(only, str)):
                names = only
            return self._like(self._array, check_dims("rename", names, self.ndim))
        dims = list(self._dims or (None,) * self.ndim)
        for old, new in (names[0] if names else renamed).items():
            # Old names are those before the call, so that two names can be exchanged.
            dims[self._position("rename", old)] = new
        return self._like(self._array, check_dims("rename", dims, self.ndim))

    def _position(self, who: str, axis: Any) -> int:
        if isinstance(axis, str):
            return position(who, axis, self._dims)
        if isinstance(axis, (bool, np.bool_)) or not hasattr(axis, "__index__"):
            raise _refusals.axis_type(who, axis)
        number = operator.index(axis)
        if not -self.ndim <= number < self.ndim:
            raise _refusals.axis_out_of_range(who, number, self.ndim)
        return number % self.ndim

    def reduce_max(
        self,
        axes: Any = None,
        *more: Any,
        keepdims: bool = True,
        noop_with_empty_axes: bool = False,
        opset: int | str | None = None,
        strict: bool = True,
        progress: bool = True,
        **wrong: Never,
    ) -> Tensor:
        """The maximum along axes, as :func:`reducekit.reduce_max` takes it.

        Parameters
        ----------
        axes : int, str, sequence of (int or str), or None
            Positions or names of the axes to reduce, mixed at will; several may
            also be given as arguments, ``t.reduce_max("channel", "row")``. All
            axes if omitted.
        keepdims : bool, default True
            Whether reduced axes stay, with size 1 and their names.
        noop_with_empty_axes : bool, default False
            Whether no axes means that nothing is reduced, where the version has it.
        opset : int or "latest", optional
            Goes before the tensor's opset, which goes before that of the context.
        strict : bool, default True
            Whether the version's element types and its ban on negative axes hold.
        progress : bool, default True
            Whether a bar shows what takes long, as in :func:`reducekit.reduce_max`.

        Returns
        -------
        Tensor
            With the names of the axes that stay, and this tensor's opset.

        Raises
        ------
        AxesError
            If an axis is out of range, unknown by name, or given twice.
        DTypeError, OpsetError
            As in :func:`reducekit.reduce_max`.

        Examples
        --------
        >>> import reducekit as rk
        >>> t = rk.Tensor([[1, 5], [4, 2]], dims=("row", "column"))
        >>> t.reduce_max("column").numpy()
        array([[5],
               [4]])
        """
        if wrong:
            _refusals.check_keywords(Tensor.reduce_max, wrong)
        return self._reduce(
            schema.MAX, axes, more, keepdims, noop_with_empty_axes, opset, strict,
            {"progress": progress},
        )  # fmt: skip

    def reduce_min(
        self,
        axes: Any = None,
        *more: Any,
        keepdims: bool = True,
        noop_with_empty_axes: bool = False,
        opset: int | str | None = None,
        strict: bool = True,
        progress: bool = True,
        **wrong: Never,
    ) -> Tensor:
        """The minimum along axes, as :func:`reducekit.reduce_min` takes it.

        Parameters
        ----------
        axes : int, str, sequence of (int or str), or None
            Positions or names of the axes to reduce, mixed at will; several may
            also be given as arguments. All axes if omitted.
        keepdims : bool, default True
            Whether reduced axes stay, with size 1 and their names.
        noop_with_empty_axes : bool, default False
            Whether no axes means that nothing is reduced, where the version has it.
        opset : int or "latest", optional
            Goes before the tensor's opset, which goes before that of the context.
        strict : bool, default True
            Whether the version's element types and its ban on negative axes hold.
        progress : bool, default True
            Whether a bar shows what takes long, as in :func:`reducekit.reduce_min`.

        Returns
        -------
        Tensor
            With the names of the axes that stay, and this tensor's opset.

        Raises
        ------
        AxesError
            If an axis is out of range, unknown by name, or given twice.
        DTypeError, OpsetError
            As in :func:`reducekit.reduce_min`.

        Examples
        --------
        >>> import reducekit as rk
        >>> t = rk.Tensor([[1, 5], [4, 2]], dims=("row", "column"))
        >>> t.reduce_min("row", keepdims=False).numpy()
        array([1, 2])
        """
        if wrong:
            _refusals.check_keywords(Tensor.reduce_min, wrong)
        return self._reduce(
            schema.MIN, axes, more, keepdims, noop_with_empty_axes, opset, strict,
            {"progress": progress},
        )  # fmt: skip

    def reduce_sum(
        self,
        axes: Any = None,
        *more: Any,
        keepdims: bool = True,
        noop_with_empty_axes: bool = False,
        opset: int | str | None = None,
        strict: bool = True,
        exact: bool = False,
        progress: bool = True,
        **wrong: Never,
    ) -> Tensor:
        """The sum along axes, as :func:`reducekit.reduce_sum` takes it.

        Parameters
        ----------
        axes : int, str, sequence of (int or str), or None
            Positions or names of the axes to reduce, mixed at will; several may
            also be given as arguments. All axes if omitted.
        keepdims : bool, default True
            Whether reduced axes stay, with size 1 and their names.
        noop_with_empty_axes : bool, default False
            Whether no axes means that nothing is reduced, where the version has it.
        opset : int or "latest", optional
            Goes before the tensor's opset, which goes before that of the context.
        strict : bool, default True
            Whether the version's element types and its ban on negative axes hold.
        exact : bool, default False
            Whether a float sum is the true sum, rounded once.
        progress : bool, default True
            Whether a bar shows what takes long, as in :func:`reducekit.reduce_sum`.

        Returns
        -------
        Tensor
            With the names of the axes that stay, and this tensor's opset.

        Raises
        ------
        AxesError
            If an axis is out of range, unknown by name, or given twice.
        DTypeError, OpsetError
            As in :func:`reducekit.reduce_sum`.

        Examples
        --------
        >>> import reducekit as rk
        >>> t = rk.Tensor([[1, 5], [4, 2]], dims=("row", "column"))
        >>> t.reduce_sum("row", "column", keepdims=False)
        Tensor(shape=(), dtype=int64, dims=())
        12
        """
        if wrong:
            _refusals.check_keywords(Tensor.reduce_sum, wrong)
        return self._reduce(
            schema.SUM, axes, more, keepdims, noop_with_empty_axes, opset, strict,
            {"exact": exact, "progress": progress},
        )  # fmt: skip

    def _reduce(
        self,
        op: int,
        axes: Any,
        more: tuple[Any, ...],
        keepdims: bool,
        noop: bool,
        opset: int | str | None,
        strict: bool,
        extra: dict[str, Any],
    ) -> Tensor:
        who = schema.OPERATORS[op].function
        axes = to_positions(who, _each(who, axes, *more) if more else axes, self._dims)
        opset = self._opset if opset is None else opset
        reduced = getattr(_engine, who)(
            self._array, axes, keepdims=keepdims, noop_with_empty_axes=noop,
            opset=opset, strict=strict, **extra,
        )  # fmt: skip
        dims = self._dims
        if dims is not None and reduced.ndim != self.ndim:
            _, gone, _, _ = _rules.resolve_call(
                op, self.ndim, self.dtype, axes, keepdims, noop, opset, strict
            )
            dims = tuple(name for axis, name in enumerate(dims) if axis not in gone)
        return self._like(reduced, dims)

    def astype(self, dtype: Any) -> Tensor:
        """The elements cast as NumPy casts them, with the names and the opset.

        Parameters
        ----------
        dtype : dtype_like
            Of a type that reductions take; ``"bfloat16"`` too.

        Returns
        -------
        Tensor
            With memory of its own.

        Raises
        ------
        DTypeError
            If no reduction takes such elements.

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Tensor([1.5, 2.5]).astype("bfloat16").dtype
        dtype(bfloat16)
        """
        try:
            target = np.dtype(dtype)
        except TypeError:
            raise _refusals.dtype_unknown("astype", dtype) from None
        if element_type(target) is None:
            raise _refusals.dtype_never("astype", target)
        return self._like(self._array.astype(target), self._dims)

    def copy(self) -> Tensor:
        """The same tensor with memory of its own.

        Returns
        -------
        Tensor
            With the names and the opset. A lazy tensor has no memory, and stays lazy.

        Examples
        --------
        >>> import numpy as np, reducekit as rk
        >>> array = np.array([1, 5])
        >>> t = rk.Tensor(array).copy()
        >>> array[0] = 9
        >>> t.tolist()
        [1, 5]
        """
        if self._is_lazy:  # nobody can write to what is not there
            return self._like(self._array, self._dims)
        return self._like(self._array.copy(order="K"), self._dims)

    def item(self) -> Any:
        """The only element, as a Python number.

        Returns
        -------
        bool, int or float

        Raises
        ------
        ValueError
            If there is not exactly one element.

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Tensor([1, 5]).reduce_max().item()
        5
        """
        return self.numpy().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a number at rank 0.

        Returns
        -------
        list, or bool, int or float

        Examples
        --------
        >>> import reducekit as rk
        >>> rk.Tensor([[1, 5], [4, 2]]).reduce_max(0).tolist()
        [[4, 5]]
        """
        return self.numpy().tolist()

    def describe(self) -> Description:
        """What the tensor holds: axes, type, range, NaN and infinities, memory.

        Every element is read once or twice, in pieces where copies are needed;
        an axis that is broadcast is read once, not once for each repetition.

        Returns
        -------
        Description
            It prints as a short table.

        Examples
        --------
        >>> import reducekit as rk
        >>> d = rk.Tensor([1.0, float("nan"), 3.0], dims="time").describe()
        >>> d.minimum, d.maximum, d.nan
        (np.float64(1.0), np.float64(3.0), 1)
        """
        from ._description import describe

        return describe(self._array, self._kind, self._dims, self._opset)

    @property
    def _kind(self) -> ElementType:
        kind = element_type(self._array.dtype)
        assert kind is not None
        return kind

    def __getitem__(self, index: Any) -> Tensor:
        """The elements that NumPy's indexing selects, as a view where NumPy gives one.

        Names follow every axis that stays: through slices, an ellipsis, a mask or
        a list of integers on one axis, and open meshes (``np.ix_``). ``np.newaxis``
        brings an axis without a name, and so do index arrays that merge several
        axes into one. A single element is a tensor of rank 0.

        A lazy tensor stays lazy, under a lazy mask or index too, and a mask that is
        lazy leaves an axis of unknown size.
        """
        items = index if isinstance(index, tuple) else (index,)
        lazy = self._is_lazy
        items = tuple(_plain_index(item, lazy) for item in items)
        # An ellipsis at the end changes nothing but keeps rank 0 an array.
        whole = items if any(item is Ellipsis for item in items) else (*items, Ellipsis)
        if lazy:
            selected = _foreign.home("dask").select(self._array, whole)
        else:
            selected = self._array[whole]
        if self._dims is None:
            return self._like(selected, None)
        from ._indexing import names_after

        return self._like(selected, names_after(self._dims, whole))

    def __len__(self) -> int:
        """The size of the first axis."""
        return _foreign.home("dask").length(self._array) if self._is_lazy else len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        """The parts along the first axis, each a tensor of one rank less."""
        if self.ndim == 0:
            raise TypeError("iteration over a tensor of rank 0")
        return (self[position] for position in range(len(self)))

    def __reversed__(self) -> Iterator[Tensor]:
        return iter(self[::-1])

    def __contains__(self, value: object) -> bool:
        """Whether any element equals the value."""
        return _plain(value) in self.numpy()

    def __eq__(self, other: object) -> Any:
        """Where the elements are equal: an array of bool, as NumPy compares them."""
        return self._array == _plain(other)

    def __ne__(self, other: object) -> Any:
        return self._array != _plain(other)

    def __lt__(self, other: Any) -> Any:
        return self._array < _plain(other)

    def __le__(self, other: Any) -> Any:
        return self._array <= _plain(other)

    def __gt__(self, other: Any) -> Any:
        return self._array > _plain(other)

    def __ge__(self, other: Any) -> Any:
        return self._array >= _plain(other)

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError(
                f"bool: a tensor of {self.size} elements is neither true nor false; "
                "use t.numpy().any() or t.numpy().all()"
            )
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __index__(self) -> int:
        return operator.index(self.numpy())

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if spec else str(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The array for NumPy: itself, unless another dtype or a copy is asked for."""
        return np.asarray(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The elements as a DLPack capsule, without a copy; bfloat16 too.

        Raises
        ------
        BufferError
            If the elements are big-endian, or read-only and the consumer does not
            understand DLPack 1.0, which is the first that can say so.
        """
        from .. import _dlpack

        return _dlpack.export(
            self.numpy(), stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        from .. import _dlpack

        # A lazy array is computed in the memory of the CPU.
        return _dlpack.device(np.empty(0) if self._is_lazy else self._array)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._array, self._dims, self._opset)

    # What makes a lazy tensor a collection of dask: dask.compute(tensor) gives a Tensor.

    def __dask_graph__(self) -> Any:
        """The graph of dask; None for elements in memory, of which there is nothing to compute."""
        return self._array.__dask_graph__() if self._is_lazy else None  # type: ignore[attr-defined]

    def __dask_keys__(self) -> Any:
        return self._array.__dask_keys__()  # type: ignore[attr-defined]

    def __dask_layers__(self) -> Any:
        return self._array.__dask_layers__()  # type: ignore[attr-defined]

    def __dask_tokenize__(self) -> Any:
        return _foreign.home("dask").token((type(self), self._array, self._dims, self._opset))

    @property
    def __dask_optimize__(self) -> Any:
        return self._array.__dask_optimize__  # type: ignore[attr-defined]

    @property
    def __dask_scheduler__(self) -> Any:
        return self._array.__dask_scheduler__  # type: ignore[attr-defined]

    def __dask_postcompute__(self) -> Any:
        finish, args = self._array.__dask_postcompute__()  # type: ignore[attr-defined]
        return _finished, (finish, args, type(self), self._dims, self._opset)

    def __dask_postpersist__(self) -> Any:
        rebuild, args = self._array.__dask_postpersist__()  # type: ignore[attr-defined]
        return _finished, (rebuild, args, type(self), self._dims, self._opset)

    def __repr__(self) -> str:
        """The head and a few values, from the edges alone where there are many."""
        from .. import _show
        from ._look import head, lazy_text

        if self._is_lazy:
            return f"{head(self)}\n{lazy_text(self._array)}"
        with np.errstate(invalid="ignore"):
            return f"{head(self)}\n{_show.values_text(self._array)}"

    def _repr_html_(self) -> str:
        from ._look import card

        with np.errstate(invalid="ignore"):
            return card(self)


def _finished(
    found: Any,
    finish: Any,
    args: tuple[Any, ...],
    kind: type[Tensor],
    dims: Dims,
    opset: int | None,
    **options: Any,
) -> Tensor:
    """The tensor of what dask made of its array."""
    return kind(finish(found, *args, **options), dims, opset)


def _each(who: str, *axes: Any) -> tuple[Any, ...]:
    """Several arguments, each of which is one axis."""
    for axis in axes:
        if isinstance(axis, (list, tuple, range, set)) or getattr(axis, "ndim", 0) != 0:
            raise TypeError(
                f"{who}: {short(axis)} is given beside other axes; "
                "give each axis as an argument, or all as one sequence"
            )
    return axes


# Reading, not copying, so that a mask or an index may be a tensor.
def _plain(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def _plain_index(item: Any, lazy: bool = False) -> Any:
    """An index as NumPy reads it: a scalar, a slice, None, Ellipsis or an array.

    For a lazy tensor, an array of dask too.
    """
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, (slice, int, np.integer, np.bool_, np.ndarray)):
        return item
    if isinstance(item, Tensor):
        return item._array if lazy else item.numpy()
    if isinstance(item, str):
        raise IndexError(
            f"Tensor: index {short(item)} has type str; index by position, as in NumPy: "
            "a name goes to a reduction or to rename"
        )
    if isinstance(item, (list, tuple)):
        item = [_plain(part) for part in item]
    elif hasattr(item, "__index__") and not hasattr(item, "__array__"):
        return item
    elif lazy:
        elsewhere = deferred(item)
        if elsewhere is not None and hasattr(elsewhere[0], "dask"):
            return elsewhere[0]
    array = np.asarray(item)
    return array.astype(np.intp) if array.size == 0 and array.dtype.kind == "f" else array


def _lazy_array(data: Any) -> Any:
    """The dask array in ``data``, if that is what it is or holds."""
    elsewhere = deferred(data)
    if elsewhere is None or not hasattr(elsewhere[0], "dask"):
        return None
    array = elsewhere[0]
    if element_type(array.dtype) is None:
        raise _refusals.dtype_never("Tensor", array.dtype)
    return array


def __getattr__(name: str) -> Any:
    if name == "Description":
        from ._description import Description

        return Description
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
