"""The wrapper: an array with axis names, an opset, and the reductions as methods."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _engine, _foreign, _html, _refusals, _rules, _show, schema
from ._inputs import as_array, deferred
from ._names import Dims, check_dims, position, to_positions
from .dtypes import ElementType, element_type

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
        ``numpy()`` or ``compute()`` is called.
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
        array, names = _foreign.home("pandas").array_of(frame)
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
            If nothing is given, or both forms are.

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
        return self._reduce(0, axes, more, keepdims, noop_with_empty_axes, opset, strict, {})

    def reduce_min(
        self,
        axes: Any = None,
        *more: Any,
        keepdims: bool = True,
        noop_with_empty_axes: bool = False,
        opset: int | str | None = None,
        strict: bool = True,
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
        return self._reduce(1, axes, more, keepdims, noop_with_empty_axes, opset, strict, {})

    def reduce_sum(
        self,
        axes: Any = None,
        *more: Any,
        keepdims: bool = True,
        noop_with_empty_axes: bool = False,
        opset: int | str | None = None,
        strict: bool = True,
        exact: bool = False,
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
        return self._reduce(
            2, axes, more, keepdims, noop_with_empty_axes, opset, strict, {"exact": exact}
        )

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
        axes = to_positions(who, (axes, *more) if more else axes, self._dims)
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
        target = np.dtype(dtype)
        if element_type(target) is None:
            raise _refusals.dtype_never("astype", target)
        return self._like(self._array.astype(target), self._dims)

    def copy(self) -> Tensor:
        """The same tensor with memory of its own."""
        if self._is_lazy:  # nobody can write to what is not there
            return self._like(self._array, self._dims)
        return self._like(self._array.copy(order="K"), self._dims)

    def item(self) -> Any:
        """The only element, as a Python number.

        Raises
        ------
        ValueError
            If there is not exactly one element.
        """
        return self.numpy().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a number at rank 0."""
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
        array, kind = self._array, self._kind
        if self._is_lazy:
            low, high, nan, positive, negative, layout = _survey_lazy(array)
            return Description(
                shape=self.shape, dims=self._dims, dtype=kind.name, opset=self._opset,
                minimum=low, maximum=high, nan=nan, positive_infinity=positive,
                negative_infinity=negative, memory=0, nbytes=self.nbytes, layout=layout,
            )  # fmt: skip
        with np.errstate(invalid="ignore"):  # looking at a signalling NaN is no accident
            low, high, nan, positive, negative = _survey(array, kind)
        return Description(
            shape=self.shape, dims=self._dims, dtype=kind.name, opset=self._opset,
            minimum=low, maximum=high, nan=nan, positive_infinity=positive,
            negative_infinity=negative, memory=_show.occupied(array),
            nbytes=self.nbytes, layout=_show.layout_words(array),
        )  # fmt: skip

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
        """
        items = index if isinstance(index, tuple) else (index,)
        items = tuple(_plain_index(item) for item in items)
        # An ellipsis at the end changes nothing but keeps rank 0 an array.
        whole = items if any(item is Ellipsis for item in items) else (*items, Ellipsis)
        if self._is_lazy and not self.ndim:  # dask indexes rank 0 with nothing but ()
            selected = self._array[tuple(item for item in items if item is not Ellipsis)]
        else:
            selected = self._array[whole]
        dims = None if self._dims is None else _names_after(self._dims, whole)
        return self._like(selected, dims)

    def __len__(self) -> int:
        """The size of the first axis."""
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        """The parts along the first axis, each a tensor of one rank less."""
        if self.ndim == 0:
            raise TypeError("iteration over a tensor of rank 0")
        return (self[position] for position in range(len(self._array)))

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
        from . import _dlpack

        return _dlpack.export(
            self.numpy(), stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        from . import _dlpack

        # A lazy array is computed in the memory of the CPU.
        return _dlpack.device(np.empty(0) if self._is_lazy else self._array)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._array, self._dims, self._opset)

    def __repr__(self) -> str:
        """The head and a few values, from the edges alone where there are many."""
        if self._is_lazy:
            return f"{_head(self)}\n{_lazy_text(self._array)}"
        with np.errstate(invalid="ignore"):
            return f"{_head(self)}\n{_show.values_text(self._array)}"

    def _repr_html_(self) -> str:
        with np.errstate(invalid="ignore"):
            return _tensor_card(self)


@dataclass(frozen=True, slots=True)
class Description:
    """What :meth:`Tensor.describe` found.

    Attributes
    ----------
    shape : tuple of int
        The sizes of the axes.
    dims : tuple of (str or None), or None
        Their names.
    dtype : str
        The element type, by NumPy's full name.
    opset : int or None
        The tensor's opset.
    minimum, maximum : NumPy scalar or None
        The range of the elements that are not NaN, infinities included; None if there are none.
    nan, positive_infinity, negative_infinity : int
        How many elements are so.
    memory : int
        Bytes from the first to the last element in memory.
    nbytes : int
        Bytes of a plain copy.
    layout : tuple of str
        How the elements lie in memory.
    """

    shape: tuple[int, ...]
    dims: Dims
    dtype: str
    opset: int | None
    minimum: Any
    maximum: Any
    nan: int
    positive_infinity: int
    negative_infinity: int
    memory: int
    nbytes: int
    layout: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("type", self.dtype), ("elements", f"{self.size:,}")]
        if self.minimum is not None:
            rows.append(("range", f"{self.minimum!s} to {self.maximum!s}"))
        elif self.size:
            rows.append(("range", "none: every element is NaN"))
        else:
            rows.append(("range", "none: there are no elements"))
        if self.dtype in ("float16", "bfloat16", "float32", "float64"):
            signs = f"{self.positive_infinity:,} positive, {self.negative_infinity:,} negative"
            rows += [("NaN", f"{self.nan:,}"), ("infinity", signs)]
        memory = _show.bytes_text(self.memory)
        if self.memory < self.nbytes:
            memory += f" ({_show.bytes_text(self.nbytes)} as a copy)"
        rows.append(("memory", ", ".join([memory, *self.layout])))
        rows.append(("opset", "the one in force" if self.opset is None else str(self.opset)))
        return rows

    def __str__(self) -> str:
        axes = []
        for axis, size in enumerate(self.shape):
            name = self.dims[axis] if self.dims else None
            word = f"  {_show.visible(name)}" if name else ""
            axes.append((f"axis {axis}", f"{_show.size_text(size)}{word}"))
        rows = [*(axes or [("axes", "none (rank 0)")]), *self._rows()]
        width = max(len(title) for title, _ in rows)
        return "\n".join(f"{title:<{width}}  {text}" for title, text in rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row">{_html.escape(title)}</th>'
            f'<td style="text-align:left">{_html.escape(text, 120)}</td></tr>'
            for title, text in self._rows()
        )
        body = _html.facts("Description", [self.dtype, f"rank {len(self.shape)}"])
        table = _html.scroll(
            '<table class="rk-grid"><caption>what the elements are</caption>'
            f"<tbody>{rows}</tbody></table>",
            "what the elements are",
        )
        body += f'<div class="rk-parts">{_axes_part(self.shape, self.dims)}{table}</div>'
        return _html.card(str(self), body, axes=True)


# Reading, not copying, so that a mask or an index may be a tensor.
def _plain(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def _plain_index(item: Any) -> Any:
    """An index as NumPy reads it: a scalar, a slice, None, Ellipsis or an array."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, (slice, int, np.integer, np.bool_, np.ndarray)):
        return item
    if isinstance(item, Tensor):
        return item._array
    if isinstance(item, (list, tuple)):
        item = [_plain(part) for part in item]
    elif hasattr(item, "__index__") and not hasattr(item, "__array__"):
        return item
    array = np.asarray(item)
    return array.astype(np.intp) if array.size == 0 and array.dtype.kind == "f" else array


def _names_after(dims: tuple[str | None, ...], items: tuple[Any, ...]) -> tuple[str | None, ...]:
    """The names of the axes of ``array[items]``, which NumPy has accepted already.

    One pass follows NumPy's own: each item consumes axes and yields axes. Items
    that are arrays, and integers beside them, yield one common block, which
    stands where they stand if they are neighbours and first otherwise.
    """
    used = sum(_consumes(item) for item in items)
    names: list[str | None] = []
    arrays: list[tuple[str | None, tuple[int, ...]]] = []
    has_arrays = any(_is_array_index(item) for item in items)
    block_at = -1
    neighbours = True
    just_before = False
    axis = 0
    for item in items:
        joins = has_arrays and (_is_array_index(item) or _is_integer(item))
        if joins:
            if block_at < 0:
                block_at = len(names)
            elif not just_before:
                neighbours = False
        just_before = joins
        if item is None:
            names.append(None)
        elif item is Ellipsis:
            count = len(dims) - used
            names += dims[axis : axis + count]
            axis += count
        elif isinstance(item, slice):
            names.append(dims[axis])
            axis += 1
        elif _is_array_index(item):
            arrays += _index_arrays(item, dims, axis)
            axis += _consumes(item)
        else:  # an integer drops its axis
            axis += 1
    names += dims[axis:]
    if not has_arrays:
        return tuple(names)
    at = block_at if neighbours else 0
    return (*names[:at], *_block_names(arrays), *names[at:])


def _is_array_index(item: Any) -> bool:
    """Whether NumPy treats the item as an index array: bool scalars are, integers of rank 0 not."""
    if isinstance(item, (bool, np.bool_)):
        return True
    return isinstance(item, np.ndarray) and (item.ndim > 0 or item.dtype == np.bool_)


def _is_integer(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return False
    return not _is_array_index(item)


def _consumes(item: Any) -> int:
    """How many axes an item stands for."""
    if item is None or item is Ellipsis:
        return 0
    if _is_array_index(item) and np.asarray(item).dtype == np.bool_:
        return np.ndim(item)
    return 1


def _index_arrays(
    item: Any, dims: tuple[str | None, ...], axis: int
) -> list[tuple[str | None, tuple[int, ...]]]:
    """The name and the shape of each integer array that an index array stands for."""
    array = np.asarray(item)
    if array.dtype != np.bool_:
        return [(dims[axis], array.shape)]
    count = 2 if array.ndim > 1 else 1
    # The lengths do not matter to the names, so the mask need not be counted.
    return [(dims[axis + i], (count,)) for i in range(array.ndim)]


def _block_names(arrays: list[tuple[str | None, tuple[int, ...]]]) -> list[str | None]:
    """The names of the block that index arrays make together.

    A name survives where its array alone runs along one axis of the block: for a
    single array of rank 1, and for the open mesh that ``np.ix_`` makes.
    """
    if not arrays:  # bool scalars alone bring an axis that no axis was before
        return [None]
    rank = max(len(shape) for _, shape in arrays)
    if rank != len(arrays):
        return [None] * rank
    for i, (_, shape) in enumerate(arrays):
        padded = (1,) * (rank - len(shape)) + shape
        if any(n != 1 for j, n in enumerate(padded) if j != i):
            return [None] * rank
    return [name for name, _ in arrays]


def _lazy_array(data: Any) -> Any:
    """The dask array in ``data``, if that is what it is or holds."""
    elsewhere = deferred(data)
    if elsewhere is None or not hasattr(elsewhere[0], "dask"):
        return None
    array = elsewhere[0]
    if element_type(array.dtype) is None:
        raise _refusals.dtype_never("Tensor", array.dtype)
    return array


def _lazy_text(array: Any) -> str:
    sizes = " x ".join(str(size) for size in array.chunksize)
    chunks = _show.count_text(array.npartitions, "chunk")
    return f"not computed: {chunks}{f' of up to {sizes}' if sizes else ''} in dask"


def _survey_lazy(array: Any) -> tuple[Any, Any, int, int, int, tuple[str, ...]]:
    found = _foreign.home("dask").survey(array)
    return (*found, (_lazy_text(array),))


def _survey(array: NDArray[Any], kind: ElementType) -> tuple[Any, Any, int, int, int]:
    """Minimum and maximum without NaN, and the counts of NaN, +infinity and -infinity."""
    if array.size == 0:
        return None, None, 0, 0, 0
    repeats = 1
    once: list[Any] = []
    for size, stride in zip(array.shape, array.strides, strict=True):
        repeated = stride == 0 and size > 1
        repeats *= size if repeated else 1
        once.append(slice(0, 1) if repeated else slice(None))
    array = array[tuple(once)] if once else array
    low = _engine.reduce_min(array, keepdims=False, strict=False)[()]
    high = _engine.reduce_max(array, keepdims=False, strict=False)[()]
    if kind.kind != "float" or not (np.isnan(low) or np.isinf(low) or np.isinf(high)):
        return low, high, 0, 0, 0
    nan = positive = negative = 0
    lows, highs = [], []
    pieces = np.nditer(
        [array], ["external_loop", "buffered"], [["readonly", "aligned"]],
        op_dtypes=[kind.numpy_dtype], casting="equiv", buffersize=1 << 18,
    )  # fmt: skip
    for piece in pieces:
        part: NDArray[Any] = np.asarray(piece)
        is_nan = np.isnan(part)
        found = int(np.count_nonzero(is_nan))
        nan += found
        part = part[~is_nan] if found else part
        positive += int(np.count_nonzero(part == np.inf))
        negative += int(np.count_nonzero(part == -np.inf))
        if part.size:
            lows.append(_engine.reduce_min(part, keepdims=False, strict=False))
            highs.append(_engine.reduce_max(part, keepdims=False, strict=False))
    if not lows:
        return None, None, nan * repeats, 0, 0
    low = _engine.reduce_min(np.stack(lows), keepdims=False, strict=False)[()]
    high = _engine.reduce_max(np.stack(highs), keepdims=False, strict=False)[()]
    return low, high, nan * repeats, positive * repeats, negative * repeats


def _head(tensor: Tensor) -> str:
    parts = [f"shape={tensor.shape}", f"dtype={tensor.dtype}"]
    if tensor.dims is not None:
        names = tuple(None if n is None else _show.clip(n, 40) for n in tensor.dims)
        parts.append(f"dims={names}")
    if tensor.opset is not None:
        parts.append(f"opset={tensor.opset}")
    return f"Tensor({', '.join(parts)})"


def _axes_part(shape: tuple[int, ...], dims: Dims) -> str:
    """The shape as a table with one column for each axis; nothing at rank 0."""
    if not shape:
        return ""
    sizes = [_html.cell(_show.size_text(size), "rk-size") for size in shape]
    table = _html.axis_table("shape", dims, [("size", sizes)], len(shape))
    return f'<div class="rk-axes">{_html.scroll(table, "shape")}</div>'


def _tensor_card(tensor: Tensor) -> str:
    array, kind = tensor._array, tensor._kind
    opset = "opset in force" if tensor.opset is None else f"opset {tensor.opset}"
    words = [
        kind.name,
        f"rank {tensor.ndim}",
        _show.count_text(tensor.size, "element"),
        *(["lazy"] if tensor._is_lazy else [_show.memory_text(array)]),
        *([] if tensor._is_lazy else _show.layout_words(array)),
        opset,
    ]
    body = _html.facts("Tensor", words)
    axes = _axes_part(tensor.shape, tensor.dims)
    if tensor._is_lazy:
        values = f'<div class="rk-say">{_html.escape(_lazy_text(array))}</div>'
    else:
        values = _values_part(array, kind, tensor.dims)
    body += f'<div class="rk-parts">{axes}{values}</div>'
    return _html.card(repr(tensor), body, axes=True, odd=True)


def _values_part(array: NDArray[Any], kind: ElementType, dims: Dims) -> str:
    """A table of the values: all of a small plane, the edges of a large one."""
    if array.size == 0:
        return '<div class="rk-say">no elements</div>'
    shown = _show.plane(array)
    rows = _show.edges(shown.shape[0], 5, 2) if array.ndim > 1 else [0]
    columns = _show.edges(shown.shape[1], *((5, 2) if array.ndim > 1 else (7, 2)))
    caption = "value" if array.ndim == 0 else "values"
    if array.ndim > 2:
        planes = array.size // shown.size
        caption += f" at {_show.plane_text(array.ndim)}"
        caption += f", the first of {_show.count_text(planes, 'plane')}" if planes > 1 else ""
    if None in rows or None in columns:
        caption += ", edges only"
    heads = ""
    if array.ndim:
        names = (dims or (None,) * array.ndim)[-2:]
        corner = ""
        if array.ndim == 1:
            corner = _axis_word(names[0], 0) + " &rarr;"
        else:
            down, right = _axis_word(names[0], array.ndim - 2), _axis_word(names[1], array.ndim - 1)
            corner = f"{down} &darr; {right} &rarr;"
        heads = "".join(
            f'<th scope="col">{"&hellip;" if column is None else column}</th>' for column in columns
        )
        heads = f"<thead><tr><td>{corner}</td>{heads}</tr></thead>"
    lines = []
    for row in rows:
        cells = []
        if array.ndim:
            word = "value" if array.ndim == 1 else "&hellip;" if row is None else str(row)
            cells.append(f'<th scope="row">{word}</th>')
        for column in columns:
            if row is None or column is None:
                cells.append(_html.cell("&hellip;", "rk-gap"))
                continue
            value = shown[row, column]
            text, odd = _show.value_text(value, kind)
            if odd == "rounded":
                cells.append(_html.cell(text, title=str(value)))
            else:
                cells.append(_html.cell(text, f"rk-{odd}" if odd else ""))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    table = (
        f'<table class="rk-grid"><caption>{_html.escape(caption, 120)}</caption>'
        f"{heads}<tbody>{''.join(lines)}</tbody></table>"
    )
    return _html.scroll(table, caption)


def _axis_word(name: str | None, axis: int) -> str:
    return f"axis {axis}" if name is None else _html.escape(name, 16)
