"""Every reduction in a model, held against the rules: now, and at another opset."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from .. import schema
from ._extra import onnx
from ._model import (
    ModelLike,
    base_folder,
    default_opset,
    external_tensors,
    first_line,
    load,
    source_name,
)
from ._node import (
    DEFAULT_DOMAINS,
    Axes,
    Problem,
    Reduction,
    is_reduction,
    problems,
    read,
    resolve,
)
from ._types import TensorType
from .faults import FAULTS, Fault
from .inference import infer
from .report import Finding, NodeReport, Report

__all__ = ["Finding", "NodeReport", "Report", "check_model"]

# Initializers beyond this are not handed to shape inference, which has no use for them.
_LARGE = 1024
# A model whose functions make more of it than this is not written out.
_MOST_NODES = 100_000
_DEEPEST = 50
# What may stand between a constant and the axes that are made of it.
_FOLDABLE = frozenset(
    (
        *("Add", "Cast", "Concat", "Constant", "Div", "Gather", "Identity", "Mul", "Neg"),
        *("Range", "Reshape", "Slice", "Squeeze", "Sub", "Unsqueeze"),
    )
)


def check_model(model: ModelLike, target_opset: int | str | None = None) -> Report:
    """Judge every reduction of a model: in its graph, its subgraphs and its functions.

    Nothing is run and nothing is changed. External data is not read, except for
    an axes tensor that is kept there.

    Parameters
    ----------
    model : onnx.ModelProto, bytes or path
        A model of any IR version; it may be illegal, lack shapes, or have
        operators and domains that ``onnx`` does not know.
    target_opset : int or "latest", optional
        Say also what would change or break there.

    Returns
    -------
    Report
        ``ok``, ``nodes``, ``messages``; ``str()`` and ``to_json()`` write it.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ArgumentError
        If it is no model.
    OpsetError
        If the target opset is not in the table.

    Examples
    --------
    >>> from onnx import TensorProto, helper
    >>> node = helper.make_node("ReduceMax", ["x"], ["y"], name="pool", axes=[2, 3])
    >>> graph = helper.make_graph(
    ...     [node], "g",
    ...     [helper.make_tensor_value_info("x", TensorProto.UINT8, ["N", 3, 8, 8])],
    ...     [helper.make_tensor_value_info("y", TensorProto.UINT8, ["N", 3, 1, 1])])
    >>> model = helper.make_model(
    ...     graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    >>> print(check_model(model, target_opset=18))
    model: IR version 8, opset 13, target opset 18
    1 reduction: 1 breaks at opset 18
    <BLANKLINE>
    ReduceMax 'pool'  ReduceMax-13
      uint8 (N, 3, 8, 8) -> uint8 (N, 3, 1, 1), axes [2, 3] as an attribute
      breaks at opset 18: axes are an attribute, but ReduceMax-18 takes them as an input
        edit: move axes=[2, 3] to a constant int64 tensor and give it as the second input
    """
    target = None
    if target_opset is not None:
        target = schema.check_opset("check_model", target_opset)
    proto = load("check_model", model, external_data=False)
    return _Check(proto, source_name(model), base_folder(model), target).report()


_Key = tuple[str, str, str]
"""Domain, name and overload of a function."""


@dataclass
class _Scope:
    """The names that a node can see: those of its graph, then those around it."""

    opset: int | None
    where: tuple[str, ...]
    types: dict[str, TensorType | None] = field(default_factory=dict)
    tensors: dict[str, onnx.TensorProto] = field(default_factory=dict)
    makers: dict[str, onnx.NodeProto] = field(default_factory=dict)
    outer: _Scope | None = None

    def type(self, name: str) -> TensorType | None:
        """The type of a value; None for what is no tensor."""
        if name in self.types:
            return self.types[name]
        if self.outer is not None and not self.hides(name):
            return self.outer.type(name)
        return TensorType()

    def hides(self, name: str) -> bool:
        """Whether the graph itself makes this name."""
        return name in self.makers or name in self.tensors


class _Check:
    def __init__(
        self, model: onnx.ModelProto, source: str, folder: str | None, target: int | None
    ) -> None:
        self.model = model
        self.source = source
        self.folder = folder
        self.target = target
        self.nodes: list[NodeReport] = []
        self.messages: list[Finding] = []
        self.unknown: dict[str, int] = {}
        self.seen: set[str] = set()
        self.functions: dict[_Key, onnx.FunctionProto] = {
            (f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions
        }
        self.called: set[_Key] = set()
        self.judged: set[Any] = set()
        self.can_expand = True

    def report(self) -> Report:
        model = self.model
        opset = default_opset(model, model.ir_version)
        imports = {row.domain: row.version for row in model.opset_import}
        self._imports(opset)
        self._functions()
        typed = self._typed(_skeleton(model))
        self._graph(typed.graph, _Scope(self._known(opset), ()))
        for key, function in self.functions.items():
            if key not in self.called:
                self._function_body(function, None, None, ())
        self._outside()
        for name, count in sorted(self.unknown.items()):
            times = f"{count} node{'s' if count > 1 else ''}"
            text = f"{name} ({times}) is not known to onnx {onnx.__version__}; "
            self._say("note", "unknown-operator", text + "the types after it may be unknown")
        return Report(
            self.source,
            model.ir_version,
            opset,
            self.target,
            imports,
            tuple(self.nodes),
            tuple(self.messages),
        )

    def _say(self, level: str, rule: str, text: str) -> None:
        self.messages.append(Finding(level, rule, text))

    def _imports(self, opset: int | None) -> None:
        domains = [
            "" if row.domain in DEFAULT_DOMAINS else row.domain for row in self.model.opset_import
        ]
        for domain in sorted({domain for domain in domains if domains.count(domain) > 1}):
            text = f"the domain {domain or 'ai.onnx'!r} is imported more than once; import it once"
            self._say("illegal", "opset-import", text)
        if opset is None:
            if any(node.domain in DEFAULT_DOMAINS for node in self.model.graph.node):
                text = (
                    f"IR version {self.model.ir_version} needs an opset_import of the default "
                    "domain, and there is none; its reductions cannot be judged as they are"
                )
                self._say("illegal", "opset-import", text)
        elif opset < 1:
            self._say("illegal", "opset-import", f"opset {opset} does not exist; the first is 1")
        elif opset > schema.NEWEST_OPSET:
            newest = schema.NEWEST_OPSET
            text = f"opset {opset} is newer than the table; judged by opset {newest}, its newest"
            self._say("note", "newer-opset", text)

    def _functions(self) -> None:
        """Find out whether calls may be followed: inference does so without looking."""
        calls = {key: _calls(function.node) for key, function in self.functions.items()}
        calls = {key: [k for k in called if k in calls] for key, called in calls.items()}
        try:
            order = list(TopologicalSorter(calls).static_order())
        except CycleError as error:
            self.can_expand = False
            name = _function_name(self.functions[error.args[1][0]])
            self._say("illegal", "recursion", f"function {name} calls itself; it may not")
            return
        size: dict[_Key, int] = {}
        depth: dict[_Key, int] = {}
        for key in order:
            size[key] = len(self.functions[key].node) + sum(size[k] for k in calls[key])
            depth[key] = 1 + max((depth[k] for k in calls[key]), default=0)
        whole = sum(size[k] for k in _calls(self.model.graph.node) if k in size)
        if whole > _MOST_NODES or max(depth.values(), default=0) > _DEEPEST:
            self.can_expand = False
            text = (
                f"with its functions written out the model has {whole} nodes, or they are nested "
            )
            text += f"more than {_DEEPEST} deep; what is within them is judged without types"
            self._say("note", "functions", text)

    def _known(self, opset: int | None) -> int | None:
        """The opset within the table; None where nothing can be judged."""
        if opset is None or opset < 1:
            return None
        return min(opset, schema.NEWEST_OPSET)

    def _outside(self) -> None:
        tensors = list(external_tensors(self.model))
        if tensors:
            count = f"{len(tensors)} tensor{'s' if len(tensors) > 1 else ''}"
            self._say("note", "external-data", f"the data of {count} lies in other files; not read")

    def _typed(self, model: onnx.ModelProto) -> onnx.ModelProto:
        if not self.can_expand:
            del model.functions[:]
        try:
            return onnx.shape_inference.infer_shapes(model, data_prop=True)
        except Exception as error:  # noqa: BLE001 - the C++ code behind it raises several kinds
            text = f"shape inference failed ({first_line(error)}); only stated types are known"
            if not any(message.rule == "inference" for message in self.messages):
                self._say("note", "inference", text)
            return model

    def _graph(self, graph: onnx.GraphProto, scope: _Scope) -> None:
        for value in (*graph.input, *graph.value_info, *graph.output):
            if value.HasField("type"):
                scope.types[value.name] = TensorType.of_proto(value.type)
        for tensor in graph.initializer:
            scope.tensors[tensor.name] = tensor
            scope.types[tensor.name] = TensorType.of_array(tensor)
        for sparse in graph.sparse_initializer:
            scope.types[sparse.values.name] = None
        self._nodes(graph.node, scope, None)

    def _nodes(
        self,
        nodes: Sequence[onnx.NodeProto],
        scope: _Scope,
        values: Mapping[str, onnx.AttributeProto] | None,
    ) -> None:
        for node in nodes:
            for name in node.output:
                if name:
                    scope.makers[name] = node
        for node in nodes:
            if is_reduction(node):
                self._reduction(read(node, values), scope)
            key = (node.domain, node.op_type, getattr(node, "overload", ""))
            if key in self.functions:
                self._call(node, key, scope)
            elif not is_reduction(node):
                self._count_unknown(node, scope)
            for attribute in node.attribute:
                graphs = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else []
                for number, graph in enumerate([*graphs, *attribute.graphs]):
                    step = f"{attribute.name}{f' {number}' if number else ''} of {_label(node)}"
                    inner = _Scope(scope.opset, (*scope.where, step), outer=scope)
                    self._graph(graph, inner)

    def _count_unknown(self, node: onnx.NodeProto, scope: _Scope) -> None:
        domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
        if domain == "" and scope.opset is not None:
            opset = min(scope.opset, onnx.defs.onnx_opset_version())
            known = onnx.defs.has(node.op_type, opset, domain)
        else:
            known = onnx.defs.has(node.op_type, domain)
        if not known:
            at = f" at opset {scope.opset}" if domain == "" and scope.opset is not None else ""
            name = f"{domain or 'ai.onnx'}::{node.op_type}"[:80]
            shown = f"operator {name!r}{at}"
            self.unknown[shown] = self.unknown.get(shown, 0) + 1

    def _call(self, node: onnx.NodeProto, key: _Key, scope: _Scope) -> None:
        if not self.can_expand:
            return
        self.called.add(key)
        function = self.functions[key]
        given = {attribute.name: attribute for attribute in node.attribute}
        values = {default.name: default for default in function.attribute_proto}
        values |= {name: given[name] for name in (*function.attribute, *values) if name in given}
        types = {
            inner: scope.type(outer)
            for inner, outer in zip(function.input, node.input, strict=False)
            if outer
        }
        known = {
            inner: value
            for inner, outer in zip(function.input, node.input, strict=False)
            if outer and (value := self._constant(outer, scope)) is not None
        }
        # A function that is called twice in the same way is judged once.
        call = (
            key,
            tuple(types.items()),
            tuple((name, value.SerializeToString()) for name, value in values.items()),
            tuple((name, value.tobytes()) for name, value in known.items()),
        )
        if call not in self.judged:
            self.judged.add(call)
            self._function_body(function, types, values, scope.where, known)

    def _function_body(
        self,
        function: onnx.FunctionProto,
        types: Mapping[str, TensorType | None] | None,
        values: Mapping[str, onnx.AttributeProto] | None,
        where: tuple[str, ...],
        constants: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """The body with the types of one call; without them for one that nobody calls."""
        where = (*where, f"function {_function_name(function)}")
        opset = default_opset(function, self.model.ir_version)
        if opset is None and any(is_reduction(node) for node in function.node):
            text = f"function {_function_name(function)} does not import the default domain"
            self._say("illegal", "opset-import", text)
        scope = _Scope(self._known(opset), where)
        if types is None:
            self._nodes(function.node, scope, None)
            return
        body = _body_model(self.model, function, types, values or {})
        typed = self._typed(body).graph
        for name, value in (constants or {}).items():
            scope.tensors[name] = onnx.numpy_helper.from_array(value, name)
        self._graph(typed, scope)

    def _reduction(self, node: Reduction, scope: _Scope) -> None:
        data = scope.type(node.inputs[0]) if node.inputs and node.inputs[0] else TensorType()
        second = node.axes_input
        constant = self._constant(second, scope) if second else None
        axes_type = scope.type(second) if second else None
        axes = node.axes(constant, axes_type)
        findings = self._findings(node, scope.opset, data, axes)
        result = scope.type(node.outputs[0]) if node.outputs else None
        illegal = any(finding.level == "illegal" for finding in findings)
        if not illegal and data is not None and scope.opset is not None:
            # Our own rules know more than shape inference in places, and never less.
            result = infer(node, scope.opset, data, axes)
        version = node.operator.name
        if scope.opset is not None:
            version = str(schema.resolve(version, scope.opset))
        report = NodeReport(
            node.name,
            node.outputs[0] if node.outputs else "",
            node.operator.name,
            scope.where,
            scope.opset,
            version,
            data or TensorType(),
            result or TensorType(),
            str(axes),
            node.flag("keepdims", 1),
            node.flag("noop_with_empty_axes", 0),
            tuple(findings),
        )
        # A function that is called twice with the same types is reported once.
        key = json.dumps(report.as_dict(), sort_keys=True)
        if scope.where and key in self.seen:
            return
        self.seen.add(key)
        self.nodes.append(report)

    def _findings(
        self, node: Reduction, opset: int | None, data: TensorType | None, axes: Axes
    ) -> list[Finding]:
        found = []
        if data is None:
            text = "the input is no tensor; a reduction takes a tensor"
            found.append(Finding("illegal", "input-kind", text, opset))
        known = TensorType() if data is None else data
        now = None if opset is None else problems(node, opset, known, axes)
        found += [_finding("illegal", problem, opset) for problem in now or ()]
        if self.target is not None and self.target != opset:
            found += self._at_target(node, opset, known, axes, now)
        if now == [] and opset is not None and data is not None:
            found += _notes(node, data, axes)
            found += [
                Finding("runtime", fault.kind, str(fault), opset, (), fault.runtime)
                for fault in _faults(node, opset, data, axes)
            ]
        return found

    def _at_target(
        self,
        node: Reduction,
        opset: int | None,
        data: TensorType,
        axes: Axes,
        now: list[Problem] | None,
    ) -> Iterator[Finding]:
        target = self.target
        assert target is not None
        then = problems(node, target, data, axes)
        before = {problem.rule for problem in now or ()}
        for problem in then:
            # What is wrong already is not news, unless the way out is another there.
            if problem.rule not in before:
                yield _finding("breaks", problem, target)
        if now and not then:
            text = f"legal at opset {target} as it is"
            yield Finding("note", "legal-at-target", text, target)
        elif now == [] and not then and opset is not None:
            old = schema.resolve(node.operator.name, opset)
            new = schema.resolve(node.operator.name, target)
            if old != new:
                text = f"{old} becomes {new}; nothing to edit, the result is the same"
                yield Finding("changes", "version", text, target)

    def _constant(self, name: str, scope: _Scope, depth: int = 0) -> np.ndarray | None:
        """The value of a small constant, or None if it is not known before the model runs."""
        if depth > 20:
            return None
        if name in scope.tensors:
            return self._tensor(scope.tensors[name])
        node = scope.makers.get(name)
        if node is None:
            if scope.outer is None or name in scope.types:
                return None
            return self._constant(name, scope.outer, depth)
        if node.op_type not in _FOLDABLE or node.domain not in DEFAULT_DOMAINS:
            return None
        if any(attribute.ref_attr_name for attribute in node.attribute):
            return None
        inputs = []
        for given in node.input:
            value = self._constant(given, scope, depth + 1) if given else None
            if given and value is None:
                return None
            inputs.append(value)
        if node.op_type == "Constant":
            tensors = [attribute.t for attribute in node.attribute if attribute.name == "value"]
            if tensors:
                return self._tensor(tensors[0])
        return _fold(node, inputs, list(node.output).index(name), scope.opset)

    def _tensor(self, tensor: onnx.TensorProto) -> np.ndarray | None:
        if math.prod(tensor.dims) > _LARGE:
            return None
        try:
            if onnx.external_data_helper.uses_external_data(tensor) and self.folder is None:
                return None
            return np.asarray(onnx.numpy_helper.to_array(tensor, self.folder or ""))
        except Exception as error:  # noqa: BLE001 - a damaged tensor fails in many ways
            text = f"tensor {tensor.name!r} cannot be read: {first_line(error)}"
            if not any(message.text == text for message in self.messages):
                self._say("note", "tensor", text)
            return None


def _finding(level: str, problem: Problem, opset: int | None) -> Finding:
    edits = problem.edits
    if level == "breaks":
        edits = tuple(edit for edit in edits if edit.kind != "set_opset") or edits
    return Finding(level, problem.rule, problem.text, opset, edits)


def _notes(node: Reduction, data: TensorType, axes: Axes) -> Iterator[Finding]:
    noop = node.flag("noop_with_empty_axes", 0)
    if axes.values is None and axes.form == "input":
        then = "leaves the data as they are" if noop else "reduces every axis"
        text = f"the axes are known only when the model runs; an empty tensor there {then}"
        yield Finding("note", "empty-axes", text)
    elif axes.values == () and noop:
        yield Finding(
            "note", "empty-axes", "no axes and noop_with_empty_axes: the node changes nothing"
        )
    elif axes.values == () and axes.form != "omitted":
        yield Finding("note", "empty-axes", "an empty list of axes means every axis, as if omitted")
    elif axes.values and noop:
        yield Finding(
            "note", "empty-axes", "noop_with_empty_axes has no effect, the axes are not empty"
        )
    unknown = []
    if data.dtype is None:
        unknown.append("element type")
    if data.rank is None and axes.values:
        unknown.append("rank")
    if unknown:
        text = f"the {' and the '.join(unknown)} of the input cannot be known here, so not checked"
        yield Finding("note", "unknown-type", text)


def _faults(node: Reduction, opset: int, data: TensorType, axes: Axes) -> Iterator[Fault]:
    reduced: Sequence[int] | None = None
    if data.rank is not None and axes.values is not None:
        if node.flag("noop_with_empty_axes", 0) is None:
            reduced = None
        else:
            reduced = resolve(node, opset, data.rank, axes.values)[1]
    for fault in FAULTS:
        if fault.concerns(node.operator.name, opset, data, reduced):
            yield fault


def _fold(
    node: onnx.NodeProto, inputs: Sequence[np.ndarray | None], index: int, opset: int | None
) -> np.ndarray | None:
    """Run one node on small constants."""
    if node.op_type == "Range":
        start, stop, step = (
            float(np.asarray(value).reshape(-1)[0]) for value in inputs if value is not None
        )
        if not step or not 0 <= (stop - start) / step <= _LARGE:
            return None
    from .backend import run_node

    try:
        outputs = run_node(node, inputs, opset_version=opset)
    except Exception:  # noqa: BLE001 - a node that is wrong has no value, and is reported by others
        return None
    value = np.asarray(outputs[index])
    return value if value.size <= _LARGE and value.dtype.kind in "iu" else None


def _calls(nodes: Sequence[onnx.NodeProto]) -> list[_Key]:
    """What nodes call, as often as they do, in subgraphs too."""
    found = []
    waiting = [nodes]
    while waiting:
        for node in waiting.pop():
            found.append((node.domain, node.op_type, str(getattr(node, "overload", ""))))
            for attribute in node.attribute:
                waiting += [graph.node for graph in (attribute.g, *attribute.graphs)]
    return found


def _skeleton(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the contents of its large tensors: all that types depend on."""
    bare = onnx.ModelProto()
    bare.ir_version = max(model.ir_version, 3)
    bare.opset_import.extend(model.opset_import)
    if not model.opset_import and model.ir_version < 3:
        bare.opset_import.append(onnx.helper.make_opsetid("", 1))
    bare.functions.extend(model.functions)
    graph = bare.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) <= _LARGE:
            graph.initializer.append(tensor)
        else:
            graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    return bare


def _body_model(
    model: onnx.ModelProto,
    function: onnx.FunctionProto,
    types: Mapping[str, TensorType | None],
    values: Mapping[str, onnx.AttributeProto],
) -> onnx.ModelProto:
    """A function's body as a model, with the types and attributes of one call."""
    bare = onnx.ModelProto()
    bare.ir_version = model.ir_version
    bare.opset_import.extend(function.opset_import)
    bare.functions.extend(other for other in model.functions if other is not function)
    graph = bare.graph
    graph.name = function.name
    graph.node.extend(function.node)
    for node in graph.node:
        _fill_in(node, values)
    for name in function.input:
        kind = types.get(name)
        value = graph.input.add(name=name)
        if kind is not None and kind.dtype is not None:
            value.type.CopyFrom(kind.to_proto())
    for name in function.output:
        graph.output.add(name=name)
    graph.value_info.extend(getattr(function, "value_info", ()))
    return bare


def _fill_in(node: onnx.NodeProto, values: Mapping[str, onnx.AttributeProto]) -> None:
    """Put the caller's attributes in the place of references to them."""
    kept = []
    for given in node.attribute:
        attribute = onnx.AttributeProto()
        attribute.CopyFrom(given)
        if given.ref_attr_name:
            if given.ref_attr_name not in values:
                continue
            attribute.CopyFrom(values[given.ref_attr_name])
            attribute.name = given.name
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                _fill_in(inner, values)
        kept.append(attribute)
    del node.attribute[:]
    node.attribute.extend(kept)


def _label(node: onnx.NodeProto) -> str:
    if node.name:
        return f"{node.op_type} {node.name!r}"
    output = node.output[0] if node.output else ""
    return f"{node.op_type} -> {output!r}"


def _function_name(function: onnx.FunctionProto) -> str:
    overload = str(getattr(function, "overload", ""))
    return repr(f"{function.domain}:{function.name}{f':{overload}' if overload else ''}")[1:-1]
