"""The widget: traits that notebooks observe, link and set, kept in step with the page."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray

from .. import _engine, _rules, atb, schema
from .._names import to_positions
from ..dtypes import element_type
from ..errors import ArgumentError, AxesError
from ..explain import explain
from ..plot import to_tensor
from . import fallback, state

__all__ = ["AxisExplorer"]

_STATIC = Path(__file__).parent / "static"
APIS = ("onnx", "atb")


class _Array(traitlets.Any):
    """A trait whose values are not compared: NumPy would broadcast them against each other."""

    def set(self, obj: Any, value: Any) -> None:
        old = obj._trait_values.get(self.name)
        obj._trait_values[self.name] = value
        if old is not value:
            obj._notify_trait(self.name, old, value)


class AxisExplorer(anywidget.AnyWidget):
    """A tensor whose axes can be collapsed by a click, with the rules of every opset.

    Parameters
    ----------
    tensor_or_shape : array_like, Tensor, pandas or xarray object, or tuple of int
        The data; or, as a tuple of ints, a shape, which is given example values.
    op : str, default "max"
        ``"max"``, ``"min"`` or ``"sum"``, under any name of the operator.
    axes : int, str, sequence of (int or str), or None
        Positions or names of the axes to reduce; all of them if omitted.
    keepdims : bool, default True
        Whether reduced axes stay, with size 1.
    opset : int or "latest", optional
        The tensor's opset if omitted, or else the opset in force.
    noop_with_empty_axes : bool, default False
        Whether no axes means that nothing is reduced.
    dtype : dtype_like, optional
        The type to which the data is cast; its own if omitted (float32 for a shape).
    dims : sequence of (str or None), optional
        The names of the axes; those that the data has if omitted.
    api : str, default "onnx"
        ``"onnx"``, or ``"atb"`` for Ascend ATB's ReduceOperation.
    strict : bool, default True
        Whether the version's element types and its ban on negative axes hold.

    Attributes
    ----------
    op, axes, keepdims, noop_with_empty_axes, opset, dtype, api, strict
        The choice, as above. Each can be observed, linked and set.
    result : numpy.ndarray or None
        The result of the choice for the whole tensor; None where the rules forbid the
        choice, or where the tensor has more than 2**33 elements.
    error : str
        The library's words where the rules forbid the choice; else empty.
    layout_axes : list of int
        The axes that are laid out, at most four.
    corner : list of int
        Where the drawn part begins along each axis.

    Raises
    ------
    TypeError, DTypeError
        If there is nothing to reduce in the data.
    AxesError
        If an axis is out of range, unknown by name, or given twice. A choice that
        only the opset forbids is no error: the widget shows what the library says to it.

    Examples
    --------
    >>> from reducekit.widgets import AxisExplorer
    >>> explorer = AxisExplorer((2, 3, 2), op="max", axes=[0, 1], dims=("image", "row", "column"))
    >>> explorer.result.shape
    (1, 1, 2)
    >>> explorer.keepdims = False
    >>> explorer.result.shape
    (2,)
    >>> explorer.opset, explorer.dtype = 18, "bool"
    >>> print(explorer.error.split(";")[0])
    reduce_max: ReduceMax-18 does not take bool
    """

    _esm: Any = _STATIC / "explorer.js"
    _css: Any = _STATIC / "explorer.css"

    op = traitlets.Unicode("max").tag(sync=True)
    axes = traitlets.List(traitlets.Int()).tag(sync=True)
    keepdims = traitlets.Bool(True).tag(sync=True)
    noop_with_empty_axes = traitlets.Bool(False).tag(sync=True)
    opset = traitlets.Int(schema.NEWEST_OPSET).tag(sync=True)
    dtype = traitlets.Unicode("float32").tag(sync=True)
    strict = traitlets.Bool(True).tag(sync=True)
    api = traitlets.Enum(APIS, "onnx").tag(sync=True)
    layout_axes = traitlets.List(traitlets.Int()).tag(sync=True)
    corner = traitlets.List(traitlets.Int()).tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)
    result = _Array(None, allow_none=True)

    _key = traitlets.Unicode().tag(sync=True)
    _view = traitlets.Dict().tag(sync=True)
    _answer = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        tensor_or_shape: Any = (2, 3, 2),
        op: str = "max",
        axes: Any = None,
        keepdims: bool = True,
        opset: int | str | None = None,
        *,
        noop_with_empty_axes: bool = False,
        dtype: Any = None,
        dims: Any = None,
        api: str = "onnx",
        strict: bool = True,
        **options: Any,
    ) -> None:
        row = schema.operator(op)
        tensor = to_tensor("AxisExplorer", _data(tensor_or_shape, dtype), dims)
        opset = tensor.opset if opset is None else schema.check_opset("AxisExplorer", opset)
        self._original = tensor.numpy()
        self._names = tensor.dims
        self._ready = False
        wanted = None if dtype is None else _type_name(dtype)
        kind = element_type(self._original.dtype)
        assert kind is not None
        ndim = self._original.ndim
        super().__init__(
            _key=secrets.token_hex(6),
            op=row.short,
            axes=_positions(row.function, axes, self._names),
            keepdims=keepdims,
            noop_with_empty_axes=noop_with_empty_axes,
            opset=_rules.get_default_opset() if opset is None else opset,
            dtype=wanted or kind.name,
            api=api,
            strict=strict,
            layout_axes=list(range(max(0, ndim - state.MOST_RANK), ndim)),
            corner=[0] * ndim,
            **options,
        )  # fmt: skip
        self._ready = True
        self._draw()
        self.observe(self._redraw, ["dtype", "layout_axes", "corner"])
        self.observe(
            self._follow,
            ["op", "axes", "keepdims", "noop_with_empty_axes", "opset", "strict", "api"],
        )

    @property
    def data(self) -> NDArray[Any]:
        """The elements, of the type that is chosen."""
        return self._data

    @property
    def names(self) -> tuple[str | None, ...] | None:
        """The names of the axes."""
        return self._names

    @traitlets.validate("op")
    def _check_op(self, proposal: Any) -> str:
        return schema.operator(proposal["value"]).short

    @traitlets.validate("opset")
    def _check_opset(self, proposal: Any) -> int:
        return schema.check_opset("AxisExplorer", proposal["value"])

    @traitlets.validate("dtype")
    def _check_dtype(self, proposal: Any) -> str:
        return _type_name(proposal["value"])

    @traitlets.validate("axes")
    def _check_axes(self, proposal: Any) -> list[int]:
        axes = list(proposal["value"])
        # Negative axes are for the opset to judge; what no opset takes is refused here.
        explain(self.op, (1,) * self._original.ndim, axes, opset=schema.NEWEST_OPSET, strict=False)
        return axes

    @traitlets.validate("layout_axes")
    def _check_layout(self, proposal: Any) -> list[int]:
        ndim = self._original.ndim
        axes = [_one_axis(axis, ndim) for axis in proposal["value"]]
        if len(set(axes)) < len(axes) or len(axes) > state.MOST_RANK:
            raise ArgumentError(
                f"AxisExplorer: layout_axes={proposal['value']}; "
                f"use at most {state.MOST_RANK} axes, each once"
            )
        return sorted(axes)

    @traitlets.validate("corner")
    def _check_corner(self, proposal: Any) -> list[int]:
        shape = self._original.shape
        corner = list(proposal["value"])
        if len(corner) != len(shape):
            raise ArgumentError(
                f"AxisExplorer: corner={corner} has length {len(corner)}; "
                f"give one position for each of the {len(shape)} axes"
            )
        return [max(0, min(place, size - 1)) for place, size in zip(corner, shape, strict=True)]

    def _redraw(self, change: Any) -> None:
        self._draw(change.name == "dtype")

    def _follow(self, _change: Any) -> None:
        # The page sends several traits at once, and each would ask for the same answer.
        if self._choice() != self._last:
            self._decide()

    def _draw(self, anew: bool = True) -> None:
        # Who walks through a tensor sees other elements of the same data and result.
        if anew:
            self._data = state.cast(self._original, self.dtype)
        with self.hold_sync():
            self._view = state.view(self._data, self._names, self.layout_axes, self.corner)
            self._decide(anew)

    def _choice(self) -> tuple[Any, ...]:
        return (
            self.op, tuple(self.axes), self.keepdims, self.noop_with_empty_axes, self.opset,
            self.strict, self.api, self.dtype,
        )  # fmt: skip

    def _decide(self, anew: bool = True) -> None:
        self._last = self._choice()
        error = state.refusal(
            self.op, self._data.shape, self.axes, self.keepdims, self.noop_with_empty_axes,
            self.opset, self.dtype, self.strict, self.api,
        )  # fmt: skip
        with self.hold_sync():
            self.error = error
            if error:
                self.result = None
                return
            if anew:
                self.result = self._compute()
            noop = self.noop_with_empty_axes and self.api == "onnx"
            keepdims = self.keepdims and self.api == "onnx"
            self._answer = state.answer(
                self._data, self._view, self.op, self.axes, keepdims, noop, self.result
            )

    def _compute(self) -> NDArray[Any] | None:
        if self._data.size > state.MOST_COMPUTED:
            return None
        if self.api == "atb":
            kind = atb.ReduceType(schema.operator(self.op).atb_number)
            return atb.ReduceOperation(atb.ReduceParam(kind, self.axes))(self._data)
        function = getattr(_engine, schema.operator(self.op).function)
        result: NDArray[Any] = function(
            self._data, self.axes, keepdims=self.keepdims,
            noop_with_empty_axes=self.noop_with_empty_axes, opset=self.opset, strict=self.strict,
        )  # fmt: skip
        return result

    def snapshot(self) -> dict[str, Any]:
        """What a page needs to draw the widget without a kernel.

        Returns
        -------
        dict
            The choice and the tables; JSON holds it.
        """
        names = (
            "op", "axes", "keepdims", "noop_with_empty_axes", "opset", "dtype", "strict", "api",
            "layout_axes", "corner", "error", "_view", "_answer",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def to_html(self, *, page: bool = False) -> str:
        """The widget as HTML that needs no kernel, no network and no file beside it.

        Parameters
        ----------
        page : bool, default False
            Whether to return a whole page instead of a part of one.

        Returns
        -------
        str
            A picture and a table, which a script replaces by the widget where scripts
            run. Axes, operators, opsets and stepping work; another element type needs
            Python.
        """
        return fallback.html(self.snapshot(), page=page)

    def to_svg(self) -> str:
        """The picture of the present choice as SVG."""
        return fallback.svg(self.snapshot())

    def __str__(self) -> str:
        return fallback.text(self.snapshot())

    def _ipython_display_(self) -> None:
        """Show the live view, and beside it the page that takes its place where it is not live.

        Both in one output would not do: a trusted notebook that was saved and not run
        tries the live view alone, and shows an error.
        """
        from IPython import display

        publish: Any = display.publish_display_data
        bundle = super()._repr_mimebundle_()
        kind = "application/vnd.jupyter.widget-view+json"
        if bundle is not None and kind in bundle[0]:
            publish({kind: bundle[0][kind]}, bundle[1])
        publish({
            "text/plain": str(self),
            "image/svg+xml": self.to_svg(),
            "text/html": fallback.html(self.snapshot(), key=self._key),
        })  # fmt: skip

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None:
            return None
        # Hosts without widgets take the picture and the text.
        data, metadata = bundle
        data = {
            **data,
            "text/plain": str(self),
            "image/svg+xml": self.to_svg(),
            "text/html": self.to_html(),
        }
        return data, metadata


def _data(given: Any, dtype: Any) -> Any:
    if isinstance(given, tuple) and all(_is_size(size) for size in given):
        shape = explain("max", given, dtype="float32", opset=schema.NEWEST_OPSET).in_shape
        return state.example(shape, "float32" if dtype is None else _type_name(dtype))
    return given


def _is_size(size: Any) -> bool:
    return hasattr(size, "__index__") and not isinstance(size, (bool, np.bool_, np.ndarray))


def _type_name(dtype: Any) -> str:
    return explain("max", (), dtype=dtype, opset=schema.NEWEST_OPSET, strict=False).dtype


def _positions(who: str, axes: Any, names: Any) -> list[int]:
    found = to_positions(who, axes, names)
    if found is None:
        return []
    return [int(axis) for axis in np.atleast_1d(np.asarray(found, dtype=object))]


def _one_axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise AxesError(f"AxisExplorer: axis {axis} is out of range for a tensor of rank {ndim}")
    return axis % ndim
