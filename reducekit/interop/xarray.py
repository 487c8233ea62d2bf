"""The accessor ``reducekit`` of xarray's DataArray and Dataset.

``import reducekit.xarray`` registers it. Dimensions go by their names, coordinates and
attributes stay, and data in dask arrays stays lazy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Literal, Never

from .. import _engine, _inputs, _refusals, _rules, schema
from .._names import listed
from ..dtypes import element_type
from ..errors import AxesError, DTypeError
from ._missing import need

xr = need("xarray", "xarray", "reducing DataArrays")

__all__ = ["ArrayReductions", "DatasetReductions", "data_array_of", "data_of", "deferred"]


class _Reductions:
    """What the accessors share; xarray keeps one for each object, so it holds no state."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def reduce_max(
        self,
        dim: Any = None,
        *more: Any,
        keepdims: bool = False,
        noop_with_empty_axes: bool = False,
        opset: int | Literal["latest"] | None = None,
        strict: bool = True,
        keep_attrs: bool | None = None,
        progress: bool = True,
        **wrong: Never,
    ) -> Any:
        """The maximum along dimensions.

        Parameters
        ----------
        dim : hashable, int, iterable of these, ``...`` or None
            Names of the dimensions to reduce; of a DataArray, positions too. Several
            may also be given as arguments. All dimensions if omitted.
        keepdims : bool, default False
            Keep reduced dimensions with size 1. As in xarray, and unlike the
            functions, the default is to drop them.
        noop_with_empty_axes : bool, default False
            Let no dimensions mean that nothing is reduced.
        opset : int or "latest", optional
            The ONNX opset whose rules apply.
        strict : bool, default True
            False lifts the opset's list of element types and its ban on negative axes.
        keep_attrs : bool, optional
            Whether attributes stay; the default is xarray's option, or True.
        progress : bool, default True
            Whether a bar shows what takes long, as in :func:`reducekit.reduce_max`.

        Returns
        -------
        xarray.DataArray or xarray.Dataset
            With the coordinates of the dimensions that stay. Lazy if the data is.

        Raises
        ------
        AxesError
            If there is no such dimension; the error lists those that there are.
        DTypeError
            If elements cannot be reduced; of a Dataset, the error names the variables.
        OpsetError, TypeError
            As for :func:`reducekit.reduce_max`.

        Examples
        --------
        >>> import xarray as xr
        >>> import reducekit.xarray
        >>> da = xr.DataArray([[1, 5], [4, 2]], dims=("time", "place"), coords={"place": [7, 8]})
        >>> da.reducekit.reduce_max("time").to_series()
        place
        7    4
        8    5
        dtype: int64
        """
        if wrong:
            _refusals.check_keywords(_Reductions.reduce_max, wrong)
        return self._reduce(
            schema.MAX, dim, more, keepdims, noop_with_empty_axes, opset, strict, keep_attrs,
            {"progress": progress},
        )  # fmt: skip

    def reduce_min(
        self,
        dim: Any = None,
        *more: Any,
        keepdims: bool = False,
        noop_with_empty_axes: bool = False,
        opset: int | Literal["latest"] | None = None,
        strict: bool = True,
        keep_attrs: bool | None = None,
        progress: bool = True,
        **wrong: Never,
    ) -> Any:
        """The minimum along dimensions.

        Parameters
        ----------
        dim, keepdims, noop_with_empty_axes, opset, strict, keep_attrs, progress
            As for ``reduce_max``.

        Returns
        -------
        xarray.DataArray or xarray.Dataset
            With the coordinates of the dimensions that stay. Lazy if the data is.

        Raises
        ------
        AxesError, DTypeError, OpsetError, TypeError
            As for ``reduce_max``.

        Examples
        --------
        >>> import xarray as xr
        >>> import reducekit.xarray
        >>> da = xr.DataArray([[1, 5], [4, 2]], dims=("time", "place"))
        >>> da.reducekit.reduce_min("time", "place").item()
        1
        """
        if wrong:
            _refusals.check_keywords(_Reductions.reduce_min, wrong)
        return self._reduce(
            schema.MIN, dim, more, keepdims, noop_with_empty_axes, opset, strict, keep_attrs,
            {"progress": progress},
        )  # fmt: skip

    def reduce_sum(
        self,
        dim: Any = None,
        *more: Any,
        keepdims: bool = False,
        noop_with_empty_axes: bool = False,
        opset: int | Literal["latest"] | None = None,
        strict: bool = True,
        exact: bool = False,
        keep_attrs: bool | None = None,
        progress: bool = True,
        **wrong: Never,
    ) -> Any:
        """The sum along dimensions.

        Parameters
        ----------
        dim, keepdims, noop_with_empty_axes, opset, strict, keep_attrs, progress
            As for ``reduce_max``.
        exact : bool, default False
            Whether a float64 sum is the true sum, rounded once; other types' are always,
            and so is every sum over dask arrays.

        Returns
        -------
        xarray.DataArray or xarray.Dataset
            With the coordinates of the dimensions that stay. Lazy if the data is.

        Raises
        ------
        AxesError, DTypeError, OpsetError, TypeError
            As for ``reduce_max``.

        Examples
        --------
        >>> import xarray as xr
        >>> import reducekit.xarray
        >>> ds = xr.Dataset({"a": ("time", [1, 2]), "b": 3})
        >>> ds.reducekit.reduce_sum("time").to_pandas()
        a    3
        b    3
        dtype: int64
        """
        if wrong:
            _refusals.check_keywords(_Reductions.reduce_sum, wrong)
        return self._reduce(
            schema.SUM, dim, more, keepdims, noop_with_empty_axes, opset, strict, keep_attrs,
            {"exact": exact, "progress": progress},
        )  # fmt: skip

    def _reduce(
        self,
        op: int,
        dim: Any,
        more: tuple[Any, ...],
        keepdims: bool,
        noop: bool,
        opset: Any,
        strict: bool,
        keep_attrs: bool | None,
        extra: dict[str, Any],
    ) -> Any:
        raise NotImplementedError


class ArrayReductions(_Reductions):
    """``da.reducekit``: the reductions of a DataArray, by the names of its dimensions.

    Examples
    --------
    >>> import xarray as xr
    >>> import reducekit.xarray
    >>> xr.DataArray([1, 5, 4], dims="time").reducekit.reduce_max().item()
    5
    """

    def _reduce(
        self,
        op: int,
        dim: Any,
        more: tuple[Any, ...],
        keepdims: bool,
        noop: bool,
        opset: Any,
        strict: bool,
        keep_attrs: bool | None,
        extra: dict[str, Any],
    ) -> Any:
        array = self._obj
        who = schema.OPERATORS[op].function
        _refusals.check_flags(who, extra)
        axes = _positions(who, _given(dim, more), array.dims)
        _, reduced, identity, keep = _rules.resolve_call(
            op, array.ndim, array.dtype, axes, keepdims, noop, opset, strict
        )
        if identity:
            return array.copy()

        def function(data: Any, axis: Any = None) -> Any:
            del axis
            return getattr(_engine, who)(data, reduced, keepdims=False, strict=False, **extra)

        names = [array.dims[axis] for axis in reduced]
        return array.reduce(function, names, keep_attrs=keep_attrs, keepdims=keep)


class DatasetReductions(_Reductions):
    """``ds.reducekit``: the reductions of every variable of a Dataset that has the dimensions.

    As in xarray, a variable without a dimension to reduce stays as it is.

    Examples
    --------
    >>> import xarray as xr
    >>> import reducekit.xarray
    >>> xr.Dataset({"a": ("time", [1, 5])}).reducekit.reduce_max("time").a.item()
    5
    """

    def _reduce(
        self,
        op: int,
        dim: Any,
        more: tuple[Any, ...],
        keepdims: bool,
        noop: bool,
        opset: Any,
        strict: bool,
        keep_attrs: bool | None,
        extra: dict[str, Any],
    ) -> Any:
        data = self._obj
        who = schema.OPERATORS[op].function
        _refusals.check_flags(who, extra)
        names = _names(who, _given(dim, more), tuple(data.dims))
        owns = {
            name: [each for each in names or array.dims if each in array.dims]
            for name, array in data.data_vars.items()
        }
        wrong = [
            f"{name!r} ({array.dtype})"
            for name, array in data.data_vars.items()
            if owns[name] and element_type(array.dtype) is None
        ]
        if wrong:
            raise DTypeError(
                f"{who}: elements of {'variable' if len(wrong) == 1 else 'variables'} "
                f"{', '.join(wrong)} cannot be reduced; leave them out, as with "
                "ds.drop_vars(...), or convert them"
            )
        results = {}
        for name, array in data.data_vars.items():
            if not owns[name] and (names or element_type(array.dtype) is None):
                results[name] = array.variable
                continue
            try:
                reduced = ArrayReductions(array)._reduce(
                    op, owns[name] if names else None, (), keepdims, noop, opset, strict,
                    keep_attrs, extra,
                )  # fmt: skip
            except DTypeError as error:
                rule = str(error).removeprefix(f"{who}: ")
                raise DTypeError(f"{who}: variable {name!r}: {rule}") from error
            results[name] = reduced.variable
        if keep_attrs is None:
            keep_attrs = xr.get_options()["keep_attrs"] is not False
        gone = set(names) if names else set() if noop else set(data.dims)
        coords = {
            name: coord.variable
            for name, coord in data.coords.items()
            if not gone & set(coord.dims)
        }
        indexes = {name: index for name, index in data.xindexes.items() if name in coords}
        return xr.Dataset(
            results,
            xr.Coordinates(coords, indexes=indexes),
            attrs=data.attrs if keep_attrs else None,
        )


def _given(dim: Any, more: tuple[Any, ...]) -> Any:
    """One name, a list of names, or None for all of them."""
    if more:
        return [dim, *more]
    if dim is ...:
        return None
    return dim


def _position(who: str, name: Any, dims: tuple[Hashable, ...]) -> Any:
    if isinstance(name, Hashable) and name in dims:
        return dims.index(name)
    if isinstance(name, str) or not hasattr(name, "__index__"):
        known = listed([str(each) for each in dims]) if dims else "none, as there are no dimensions"
        raise AxesError(f"{who}: there is no dimension {name!r}; use {known}")
    return name  # a position, or what the rules refuse


def _positions(who: str, dim: Any, dims: tuple[Hashable, ...]) -> Any:
    if dim is None or isinstance(dim, bool):
        return dim
    # A name may be a tuple, as any hashable.
    if isinstance(dim, Hashable) and (dim in dims or not isinstance(dim, Iterable)):
        return _position(who, dim, dims)
    if isinstance(dim, str):
        return _position(who, dim, dims)
    given = list(dim)
    found = [_position(who, each, dims) for each in given]
    for place, each in enumerate(given):
        # Of two positions the rules speak.
        if each is found[place]:
            continue
        if sum(isinstance(one, int) and one == found[place] for one in found) > 1:
            raise _given_twice(who, each)
    return tuple(found)


def _given_twice(who: str, name: Hashable) -> AxesError:
    return AxesError(f"{who}: dimension {name!r} is given twice; name each dimension once")


def _names(who: str, dim: Any, dims: tuple[Hashable, ...]) -> list[Hashable] | None:
    """The names, of a Dataset, whose dimensions have no order and so no positions."""
    if dim is None:
        return None
    one = isinstance(dim, str) or not isinstance(dim, Iterable)
    if one or (isinstance(dim, Hashable) and dim in dims):
        dim = [dim]
    names = list(dim)
    for name in names:
        if name not in dims:
            known = listed([str(each) for each in dims]) if dims else "none: there are none"
            raise AxesError(f"{who}: there is no dimension {name!r}; use {known}")
        if names.count(name) > 1:
            raise _given_twice(who, name)
    return names


def deferred(data: Any) -> tuple[Any, Callable[..., Any]] | None:
    """The dask array in a DataArray and what reduces it; None for what is in memory."""
    lazy = isinstance(data, xr.DataArray) and data.chunks is not None
    return _inputs.deferred(data.data) if lazy else None


def data_of(array: Any) -> tuple[Any, tuple[Hashable, ...]]:
    """The data of a DataArray, lazy or not, and the names of its dimensions."""
    if not isinstance(array, xr.DataArray):
        raise TypeError(
            f"Tensor.from_xarray: array has type {type(array).__name__}; use a DataArray, "
            "such as ds['name'] of a Dataset"
        )
    return array.data, array.dims


def data_array_of(
    data: Any, dims: tuple[str | None, ...] | None, coords: Any, name: Hashable
) -> Any:
    """A DataArray of the data."""
    names = [
        f"dim_{axis}" if each is None else each
        for axis, each in enumerate(dims or (None,) * data.ndim)
    ]
    array = xr.DataArray(data, coords, names)
    array.name = name  # also where it is None: xarray would take that of a dask array
    return array


# Once: a second registration, as by a reload, would warn of the first.
if not hasattr(xr.DataArray, "reducekit"):
    xr.register_dataarray_accessor("reducekit")(ArrayReductions)
    xr.register_dataset_accessor("reducekit")(DatasetReductions)
