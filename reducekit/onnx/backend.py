"""ONNX's backend interface: models and nodes with reducekit's reductions.

The module itself has the functions that ``onnx.backend`` prescribes, so it can
be given wherever a backend is wanted.

Examples
--------
>>> import numpy as np
>>> from onnx import helper
>>> import reducekit.onnx.backend as backend
>>> node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=0)
>>> backend.run_node(node, [np.array([[1, 9], [4, 2]])], opset_version=13)
Outputs(y=array([9, 4]))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import schema
from .._show import count_text
from ..errors import ArgumentError, DTypeError
from ._extra import onnx  # isort: split

from onnx.backend.base import Backend as _Base
from onnx.backend.base import BackendRep, namedtupledict

from ._model import ModelLike, external_tensors, load, plain_domain
from ._types import TensorType
from .evaluator import Evaluator, LenientEvaluator

__all__ = [
    "Backend",
    "Prepared",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class Prepared(BackendRep):
    """A model that is ready to run.

    Attributes
    ----------
    inputs : dict of str to onnx.TypeProto
        What :meth:`run` must be given; initializers are not among them.
    every : dict of str to onnx.TypeProto
        These, and the initializers that :meth:`run` may be given.
    outputs : tuple of str
        The names of the outputs.
    """

    def __init__(self, model: onnx.ModelProto, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        initialized = {tensor.name for tensor in model.graph.initializer}
        initialized |= {tensor.values.name for tensor in model.graph.sparse_initializer}
        self.every = {value.name: value.type for value in model.graph.input}
        self.inputs = {name: kind for name, kind in self.every.items() if name not in initialized}
        self.outputs = tuple(value.name for value in model.graph.output)

    def run(self, inputs: Any, **kwargs: Any) -> Any:  # the interface's
        """Run the model.

        Parameters
        ----------
        inputs : sequence, mapping or array
            Arrays by position or by name; a single array for a single input.
            Numbers and nested lists take the input's declared type. An
            initializer that is also an input may be given by name, or by
            position when all inputs are given.

        Returns
        -------
        namedtuple
            The outputs in order; it can be indexed by their names as well.

        Raises
        ------
        ArgumentError
            If an input is missing, unknown or of another shape than declared.
        DTypeError
            If an input has another element type than declared.
        ReduceError
            If a reduction in the model is not legal.
        """
        values = self._evaluator.run(None, self.feeds(inputs))
        return namedtupledict("Outputs", self.outputs)(*values)

    def feeds(self, inputs: Any) -> dict[str, Any]:
        """The inputs by name, as arrays of the declared types; raises as :meth:`run` does."""
        feeds = {
            name: _fit(name, value, self.every[name]) for name, value in self._named(inputs).items()
        }
        missing = [name for name in self.inputs if name not in feeds]
        if missing:
            raise ArgumentError(
                f"run: no value for {_listed(missing, self.inputs)}; "
                f"the model takes {_listed(self.inputs, self.inputs)}"
            )
        return feeds

    def _named(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            unknown = [name for name in inputs if name not in self.every]
            if unknown:
                raise ArgumentError(
                    f"run: {unknown[0]!r} is no input of the model; "
                    f"it takes {_listed(self.inputs, self.inputs)}"
                )
            return dict(inputs)
        if isinstance(inputs, np.ndarray) or not isinstance(inputs, Sequence):
            inputs = [inputs]
        names = list(self.inputs) if len(inputs) <= len(self.inputs) else list(self.every)
        if len(inputs) > len(names):
            raise ArgumentError(
                f"run: {len(inputs)} inputs given; "
                f"the model takes {len(self.inputs)}: {_listed(self.inputs, self.inputs)}"
            )
        return dict(zip(names, inputs, strict=False))


def _listed(names: Any, types: Mapping[str, onnx.TypeProto]) -> str:
    if not names:
        return "no inputs"
    return ", ".join(f"{name!r} ({_described(types[name])})" for name in names)


def _described(proto: onnx.TypeProto) -> str:
    kind = TensorType.of_proto(proto)
    return str(proto.WhichOneof("value")).removesuffix("_type") if kind is None else str(kind)


def _fit(name: str, value: Any, proto: onnx.TypeProto) -> Any:
    """The value as the evaluator wants it, held against the declared type."""
    declared = TensorType.of_proto(proto)
    if declared is None or value is None:
        return value
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    if not hasattr(value, "dtype"):
        if isinstance(value, Sequence) and any(hasattr(item, "dtype") for item in value):
            return value  # a sequence of tensors
        wanted = None if declared.dtype is None else _numpy_dtype(proto)
        value = np.asarray(value, dtype=wanted)
    elif not isinstance(value, np.ndarray):
        if hasattr(value, "indices"):
            return value  # a sparse tensor
        value = np.asarray(value)
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    if value.dtype.kind in "US":
        value = value.astype(object)
    given = TensorType.of_array(value)
    if declared.dtype is not None and given.dtype != declared.dtype:
        raise DTypeError(
            f"run: input {name!r} is {given.dtype}, but the model declares {declared}; "
            f"use .astype({declared.dtype!r}) if that is what you mean"
        )
    if declared.shape is not None and (
        len(declared.shape) != value.ndim
        or any(
            isinstance(dim, int) and dim != size
            for dim, size in zip(declared.shape, value.shape, strict=True)
        )
    ):
        raise ArgumentError(
            f"run: input {name!r} has shape {value.shape}, but the model declares {declared}"
        )
    return value


def _numpy_dtype(proto: onnx.TypeProto) -> Any:
    return onnx.helper.tensor_dtype_to_np_dtype(proto.tensor_type.elem_type)


class Backend(_Base):
    """Run models and nodes: reductions by reducekit, the rest by ONNX's evaluator.

    Examples
    --------
    >>> import numpy as np
    >>> import reducekit.onnx as rx
    >>> from onnx import helper
    >>> node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[0], keepdims=0)
    >>> rx.Backend.run_node(node, [np.float32([[1, 5], [4, 2]])], opset_version=13).y
    array([4., 5.], dtype=float32)
    """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether there is an implementation for this device.

        Parameters
        ----------
        device : str
            As ONNX's interface has it, ``"CPU"`` or ``"CPU:0"``.

        Returns
        -------
        bool
            True for the CPU alone.

        Examples
        --------
        >>> Backend.supports_device("CPU:0"), Backend.supports_device("CUDA")
        (True, False)
        """
        return device.partition(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: ModelLike, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether every operator of the model has an implementation here.

        Parameters
        ----------
        model, device, **kwargs
            As for :meth:`prepare`.

        Returns
        -------
        bool
            False too for a model that cannot be read.
        """
        if not cls.supports_device(device):
            return False
        try:
            cls.prepare(model, device, **kwargs)
        except Exception:  # noqa: BLE001 - whatever the evaluator says of it
            return False
        return True

    @classmethod
    def prepare(
        cls, model: ModelLike, device: str = "CPU", *, strict: bool = True, **kwargs: Any
    ) -> Prepared:
        """Get a model ready to run many times.

        Parameters
        ----------
        model : onnx.ModelProto, bytes or path
            A model with external data must be given by its path.
        device : str
            ``"CPU"``.
        strict : bool
            False lifts the lists of element types and the ban on negative axes
            below opset 11, and takes axes in either form at every opset.
        **kwargs
            For :class:`onnx.reference.ReferenceEvaluator`: ``verbose``,
            ``new_ops``, ``check_shape_annotations``.

        Returns
        -------
        Prepared

        Raises
        ------
        ArgumentError
            If the model cannot be read, or the device is unknown.
        OpsetError
            If a reduction keeps its axes, or an attribute, where its version
            has none.
        NotImplementedError
            If ONNX's evaluator has no implementation of an operator.
        """
        _check_device(cls, device)
        proto = plain_domain(load("prepare", model, external_data=True))
        outside = next(external_tensors(proto), None)
        if outside is not None:
            raise ArgumentError(
                f"prepare: tensor {outside.name!r} lies in an external file; "
                "give the path of the model, or load it with onnx.load"
            )
        evaluator = Evaluator if strict else LenientEvaluator
        return Prepared(proto, evaluator(proto, **kwargs))

    @classmethod
    def run_model(cls, model: ModelLike, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """:meth:`prepare` and :meth:`Prepared.run` in one.

        Parameters
        ----------
        model, device, **kwargs
            As for :meth:`prepare`.
        inputs
            As for :meth:`Prepared.run`.

        Returns
        -------
        namedtuple
            As :meth:`Prepared.run` gives it.

        Raises
        ------
        ReduceError, NotImplementedError
            As the two raise them.
        """
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(  # type: ignore[override]
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Any = None,  # noqa: ARG003 - the interface's
        *,
        opset_version: int | None = None,
        strict: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Run one node.

        Parameters
        ----------
        node : onnx.NodeProto
        inputs : sequence, mapping or array
            By position or by name; an empty name in the node takes None or no value.
        device : str
            ``"CPU"``.
        outputs_info : sequence, optional
            Element type and shape of each output, as ONNX's interface has it.
            The result says both, so it is not needed.
        opset_version : int, optional
            Omitted means the newest that both ``onnx`` and the table know.
        strict : bool
            As for :meth:`prepare`.

        Returns
        -------
        namedtuple
            The outputs in order; it can be indexed by their names as well.

        Raises
        ------
        ReduceError
            If the node or the inputs are not legal.
        """
        _check_device(cls, device, "run_node")
        newest = min(onnx.defs.onnx_opset_version(), schema.NEWEST_OPSET)
        opset = newest if opset_version is None else int(opset_version)
        names = [name for name in node.input if name]
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        else:
            if isinstance(inputs, np.ndarray) or not isinstance(inputs, Sequence):
                inputs = [inputs]
            if len(inputs) == len(node.input):
                pairs = zip(node.input, inputs, strict=True)
                feeds = {name: value for name, value in pairs if name}
            else:
                feeds = dict(zip(names, inputs, strict=False))
        missing = [name for name in names if name not in feeds]
        if missing or (not isinstance(inputs, Mapping) and len(inputs) > len(node.input)):
            raise ArgumentError(
                f"run_node: {node.op_type} has {count_text(len(names), 'input')} "
                f"({', '.join(names)}), but {len(inputs)} were given; give one for each"
            )
        if node.domain == "ai.onnx":  # the evaluator knows the other spelling only
            plain = onnx.NodeProto()
            plain.CopyFrom(node)
            plain.domain = ""
            node = plain
        unknown = onnx.TypeProto()
        feeds = {name: _fit(name, value, unknown) for name, value in feeds.items()}
        used = list(dict.fromkeys(names))
        # Typed inputs: operators that are functions of the types around them need them.
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [_value_info(name, feeds[name]) for name in used],
            [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )
        evaluator = Evaluator if strict else LenientEvaluator
        opsets = {"": opset, node.domain: opset if node.domain == "" else 1}
        values = evaluator(graph, opsets=opsets, **kwargs).run(None, feeds)
        return namedtupledict("Outputs", [name for name in node.output if name])(*values)


def _value_info(name: str, value: Any) -> onnx.ValueInfoProto:
    if isinstance(value, np.ndarray):
        number = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        return onnx.helper.make_tensor_value_info(name, number, value.shape)
    return onnx.helper.make_empty_tensor_value_info(name)


def _check_device(cls: type[Backend], device: str, who: str = "prepare") -> None:
    if not cls.supports_device(device):
        raise ArgumentError(f"{who}: device {device!r} is not supported; use 'CPU'")


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
