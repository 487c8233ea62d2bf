"""Models from files: what is read, what is left where it is, and in which words it fails."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..dtypes import ELEMENT_TYPES
from ..errors import ArgumentError
from ._extra import onnx
from ._node import DEFAULT_DOMAINS

__all__ = [
    "base_folder",
    "default_opset",
    "external_tensors",
    "first_line",
    "load",
    "plain_domain",
    "source_name",
]

ModelLike = onnx.ModelProto | bytes | str | os.PathLike[str]


def load(who: str, model: Any, external_data: bool) -> onnx.ModelProto:
    """The model of a proto, its bytes or a file.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ArgumentError
        If the bytes are no model, or a file of external data is missing.
    TypeError
        If the argument is none of these.
    """
    if isinstance(model, onnx.ModelProto):
        return _with_texts(who, "the model", model)
    if isinstance(model, bytes):
        return _parsed(who, "the bytes", lambda: onnx.load_model_from_string(model))
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(
            f"{who}: model has type {type(model).__name__}; "
            "use an onnx.ModelProto, its bytes or a path"
        )
    path = Path(model)
    with path.open("rb"):  # the error of a missing or forbidden file, in Python's words
        pass
    proto = _parsed(who, repr(os.fspath(model)), lambda: onnx.load(path, load_external_data=False))
    outside = list(external_tensors(proto)) if external_data else []
    if outside:
        folder = str(path.resolve().parent)
        try:
            onnx.external_data_helper.load_external_data_for_model(proto, folder)
            short = next((tensor.name for tensor in outside if _is_short(tensor)), None)
            if short is not None:  # some versions of onnx do not notice
                raise ValueError(f"there is not enough of it for tensor {short!r}")
        except Exception as error:  # noqa: BLE001 - ONNX's and the file system's
            raise ArgumentError(
                f"{who}: the external data of {os.fspath(model)!r} cannot be read: "
                f"{first_line(error)}; keep its files beside the model"
            ) from None
    return proto


def _is_short(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor has fewer bytes than its shape needs, for types of whole bytes."""
    kind = next((row for row in ELEMENT_TYPES if row.onnx_number == tensor.data_type), None)
    return kind is not None and len(tensor.raw_data) < math.prod(tensor.dims) * kind.itemsize


def _parsed(who: str, what: str, parse: Any) -> onnx.ModelProto:
    try:
        model = parse()
    except Exception as error:  # noqa: BLE001 - each format of onnx.load has errors of its own
        raise ArgumentError(
            f"{who}: {what} cannot be read as an ONNX model: {first_line(error)}"
        ) from None
    # Protobuf reads an empty file, and many a random one, without complaint.
    if not isinstance(model, onnx.ModelProto) or not model.HasField("graph"):
        raise ArgumentError(f"{who}: {what} cannot be read as an ONNX model: it holds no graph")
    return _with_texts(who, what, model)


def _with_texts(who: str, what: str, model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, if every name in it is text: protobuf hands out others as bytes."""
    if not _all_text(model):
        raise ArgumentError(
            f"{who}: {what} cannot be read as an ONNX model: a name in it is not UTF-8 text"
        )
    return model


def _all_text(message: Any) -> bool:
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            if isinstance(value, bytes):
                return False
            if not isinstance(value, str) and any(isinstance(item, bytes) for item in value):
                return False
        elif field.type == field.TYPE_MESSAGE:
            inner = [value] if hasattr(value, "ListFields") else value
            if not all(map(_all_text, inner)):
                return False
    return True


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its class where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0].strip().rstrip(".") if lines else type(error).__name__


def base_folder(model: Any) -> str | None:
    """Where a model's external data would lie; None for a model in memory."""
    if isinstance(model, (str, os.PathLike)):
        return str(Path(model).resolve().parent)
    return None


def source_name(model: Any) -> str:
    """The file of a model as it was given, or ``"model"``."""
    return os.fspath(model) if isinstance(model, (str, os.PathLike)) else "model"


def external_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors whose data lies outside the model, subgraphs and functions included."""
    yield from _external_in_graph(model.graph)
    for function in model.functions:
        yield from _external_in_nodes(function.node)


def _external_in_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    for tensor in graph.initializer:
        if onnx.external_data_helper.uses_external_data(tensor):
            yield tensor
    yield from _external_in_nodes(graph.node)


def _external_in_nodes(nodes: Any) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            for tensor in (attribute.t, *attribute.tensors):
                if onnx.external_data_helper.uses_external_data(tensor):
                    yield tensor
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _external_in_graph(attribute.g)
            for graph in attribute.graphs:
                yield from _external_in_graph(graph)


def default_opset(holder: Any, ir_version: int) -> int | None:
    """The opset of the default domain that a model or function imports, or None.

    Before IR version 3 there was only opset 1 and nothing to import.
    """
    versions = [row.version for row in holder.opset_import if row.domain in DEFAULT_DOMAINS]
    if versions:
        return int(max(versions))
    return 1 if ir_version < 3 else None


def plain_domain(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the default domain written ``""``, which is all the evaluator knows.

    A model that writes it so already is returned as it is; another is copied.
    An import that IR versions before 3 leave out is added.
    """
    spelled = any(row.domain == "ai.onnx" for row in model.opset_import)
    missing = not model.opset_import and model.ir_version < 3
    if not spelled and not missing:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    opset = default_opset(model, model.ir_version)
    for holder in (copy, *copy.functions):
        rest = [row for row in holder.opset_import if row.domain not in DEFAULT_DOMAINS]
        own = default_opset(holder, model.ir_version) if holder is not copy else opset
        del holder.opset_import[:]
        holder.opset_import.extend(rest)
        if own is not None:
            holder.opset_import.append(onnx.helper.make_opsetid("", own))
    nodes = [copy.graph.node, *(function.node for function in copy.functions)]
    while nodes:
        for node in nodes.pop():
            if node.domain == "ai.onnx":
                node.domain = ""
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    nodes.append(attribute.g.node)
                nodes.extend(graph.node for graph in attribute.graphs)
    return copy
