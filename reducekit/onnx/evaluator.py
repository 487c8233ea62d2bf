"""Reductions for ``onnx.reference.ReferenceEvaluator``: right, and fast.

One class per operator, made from the rows of :mod:`reducekit.schema`. ONNX's
evaluator looks a replacement up by its class name alone, so each class serves
every version and picks the row by the opset of the graph or function around
the node. :func:`operator_class` gives classes that are bound to one version.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import reducekit

from .. import schema
from .._rules import get_default_opset
from ..errors import ArgumentError, DTypeError, ReduceError
from ._extra import onnx  # isort: split

from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from ._node import problems, read
from .inference import refusal

__all__ = ["OPS", "Evaluator", "LenientEvaluator", "operator_class", "ops"]


_NOTE = "in node "
"""What the note on a refusal begins with."""


class _Reduction(OpRun):
    """A node of one of the table's operators."""

    op_domain = ""
    operator: ClassVar[schema.Operator]
    bound_to: ClassVar[schema.OperatorVersion | None] = None
    strict: ClassVar[bool] = True

    def __init__(
        self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema_: Any = None
    ) -> None:
        if self.bound_to is not None:
            opset = self.bound_to.since_version
        else:
            opset = run_params["opsets"].get(onnx_node.domain, get_default_opset())
        self.opset = schema.check_opset(_label(onnx_node), opset)
        self.version = schema.resolve(self.operator.name, self.opset)
        # Of the version, not of the newest: attributes that it lacks get no default.
        row = schema_ or onnx.defs.get_schema(self.operator.name, self.version.since_version)
        super().__init__(onnx_node, run_params, row)
        if self.strict:
            node = read(onnx_node)
            for problem in problems(node, self.opset, None):
                raise refusal(node, problem)
        function = getattr(reducekit, self.operator.function)
        self._function = function

    def run(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """As the base class does it, but a refusal keeps its own type and text."""
        try:
            result: tuple[Any, ...] = super().run(*args, **kwargs)  # type: ignore[no-untyped-call]
        except TypeError as error:
            cause = error.__cause__
            if isinstance(cause, TypeError):
                raise _with_name(cause, self.onnx_node) from None
            raise
        except ReduceError as error:
            raise _with_name(error, self.onnx_node) from None
        return result

    def _run(
        self,
        data: Any,
        axes_input: Any = None,
        axes: Any = None,
        keepdims: Any = 1,
        noop_with_empty_axes: Any = 0,
    ) -> tuple[np.ndarray]:
        name = self.operator.function
        if not isinstance(data, np.ndarray):
            raise TypeError(f"{name}: the input is {_kind(data)}; a reduction takes a tensor")
        if axes_input is not None:
            if not isinstance(axes_input, np.ndarray):
                raise TypeError(f"{name}: the axes input is {_kind(axes_input)}, not a tensor")
            if self.strict:
                self._check_axes_input(axes_input)
            axes = axes_input.reshape(-1)
        result = self._function(
            data,
            axes,
            keepdims=keepdims,
            noop_with_empty_axes=noop_with_empty_axes,
            opset=self.opset,
            strict=self.strict,
        )
        return (result,)

    def _check_axes_input(self, axes: np.ndarray) -> None:
        name = self.operator.function
        if axes.dtype != np.int64:
            raise DTypeError(
                f"{name}: the axes input is {axes.dtype}; {self.version} takes int64: cast it"
            )
        if axes.ndim != 1:
            raise ArgumentError(
                f"{name}: the axes input has rank {axes.ndim}; {self.version} takes a list, "
                "rank 1: reshape it"
            )


def _kind(value: Any) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"


def _label(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {node.name!r}" if node.name else str(node.op_type)


def _is_ours(error: BaseException) -> bool:
    return any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ()))


def _with_name(error: Any, node: onnx.NodeProto) -> Any:
    note = f"{_NOTE}{_label(node)} with output {node.output[0] if node.output else ''!r}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error


def _make(
    operator: schema.Operator, version: schema.OperatorVersion | None, strict: bool
) -> type[OpRun]:
    name = operator.name if version is None else f"{operator.name}_{version.since_version}"
    takes = "every version" if version is None else str(version)
    body = {
        "__doc__": f"{operator.name}, {takes}, by reducekit.{operator.function}.",
        "__module__": __name__,
        "operator": operator,
        "bound_to": version,
        "strict": strict,
    }
    return type(name, (_Reduction,), body)


_CLASSES: dict[tuple[str, int | None, bool], type[OpRun]] = {
    (operator.name, None if version is None else version.since_version, strict): _make(
        operator, version, strict
    )
    for strict in (True, False)
    for operator in schema.OPERATORS
    for version in (None, *operator.versions)
}


def ops(strict: bool = True) -> list[type[OpRun]]:
    """The operators to give to ``ReferenceEvaluator(model, new_ops=ops())``.

    Parameters
    ----------
    strict : bool
        False lifts the lists of element types and the ban on negative axes
        below opset 11, and takes axes in either form at every opset.

    Returns
    -------
    list of type
        One class for each operator; it serves all versions.

    Examples
    --------
    >>> import numpy as np
    >>> from onnx import TensorProto, helper
    >>> from onnx.reference import ReferenceEvaluator
    >>> graph = helper.make_graph(
    ...     [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], "g",
    ...     [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [3000, 1])],
    ...     [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [])])
    >>> model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    >>> session = ReferenceEvaluator(model, new_ops=ops())
    >>> float(session.run(None, {"x": np.ones((3000, 1), np.float16)})[0])
    3000.0
    """
    return [_CLASSES[operator.name, None, bool(strict)] for operator in schema.OPERATORS]


OPS = ops()
"""The strict operators: ``ReferenceEvaluator(model, new_ops=OPS)``."""


def operator_class(name: str, version: int | None = None, *, strict: bool = True) -> type[OpRun]:
    """The class of one operator, bound to one of its versions if one is named.

    Parameters
    ----------
    name : str
        ``"ReduceMax"`` or another name of the operator.
    version : int, optional
        An opset; the class is bound to the version that it means. Omitted: the
        class that serves every version.
    strict : bool
        As for :func:`ops`.

    Raises
    ------
    OpsetError
        If the operator or the opset is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> operator_class("ReduceMax", 12).eval(np.array([[1, 5], [7, 2]]), axes=[1], keepdims=0)
    array([5, 7])
    """
    operator = schema.operator(name)
    since = None if version is None else schema.resolve(name, version).since_version
    return _CLASSES[operator.name, since, bool(strict)]


class Evaluator(ReferenceEvaluator):
    """``ReferenceEvaluator`` with these reductions in every corner of the model.

    ONNX's own evaluator hands ``new_ops`` to the bodies of If, Loop and Scan but
    not to functions; this one reaches those as well. Arguments and methods are
    those of :class:`onnx.reference.ReferenceEvaluator`.
    """

    reductions: ClassVar[list[type[OpRun]]] = OPS

    def __init__(
        self,
        proto: Any,
        opsets: dict[str, int] | None = None,
        functions: list[Any] | None = None,
        verbose: int = 0,
        new_ops: list[type[OpRun]] | None = None,
        **kwargs: Any,
    ) -> None:
        # The evaluator uses the first class of a name, so the caller's come first.
        every = [*(new_ops or ()), *self.reductions]
        super().__init__(proto, opsets, functions, verbose, every, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """As the base class does it, but a refusal by a reduction comes out as it is.

        Functions, If, Loop and Scan wrap each TypeError of their bodies in another
        one that says nothing of it.
        """
        try:
            return super().run(*args, **kwargs)
        except TypeError as error:
            inner: BaseException | None = error
            while inner is not None:
                if isinstance(inner, TypeError) and _is_ours(inner):
                    raise inner from None
                inner = inner.__cause__
            raise


class LenientEvaluator(Evaluator):
    """The same with the lenient operators, ``ops(strict=False)``."""

    reductions: ClassVar[list[type[OpRun]]] = ops(strict=False)
