"""What a check of a model found: as data, as text and as a table in notebooks."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._html import card, escape, facts, scroll
from ._node import Edit
from ._types import TensorType
from .faults import FAULTS, ONNX_RUNTIMES, Fault

__all__ = ["Finding", "NodeReport", "Report"]

_LEVELS = ("illegal", "breaks", "changes", "runtime", "note")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a node or about the model.

    Attributes
    ----------
    level : str
        ``"illegal"`` at the opset of the model, ``"breaks"`` at the target
        opset though it is legal now, ``"changes"`` its version at the target
        and stays legal, ``"runtime"`` for what a runtime gets wrong, ``"note"``.
    rule : str
        A short name of the rule, the same in every release.
    text : str
    opset : int or None
        The opset of which this is said.
    edits : tuple of Edit
        Each one makes it legal, the smallest first.
    runtime : str or None
        For the level ``"runtime"``: which one.
    """

    level: str
    rule: str
    text: str
    opset: int | None = None
    edits: tuple[Edit, ...] = ()
    runtime: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data for JSON."""
        return {
            "level": self.level,
            "rule": self.rule,
            "text": self.text,
            "opset": self.opset,
            "edits": [edit.as_dict() for edit in self.edits],
            "runtime": self.runtime,
        }


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One reduction node and what was found.

    Attributes
    ----------
    name : str
        Of the node; may be empty.
    output : str
        The name of its output.
    operator : str
        ``"ReduceMax"``.
    where : tuple of str
        The way to it: empty for the main graph, else subgraphs and functions,
        outermost first.
    opset : int or None
        Of the graph or function around it.
    version : str
        ``"ReduceMax-13"``, or the operator's name where the opset is unknown.
    data, result : TensorType
        The types of input and output, as far as they are known.
    axes : str
        Where the axes are and what is known of them.
    keepdims, noop_with_empty_axes : int or None
        None where the caller of a function decides.
    findings : tuple of Finding
    """

    name: str
    output: str
    operator: str
    where: tuple[str, ...]
    opset: int | None
    version: str
    data: TensorType
    result: TensorType
    axes: str
    keepdims: int | None
    noop_with_empty_axes: int | None
    findings: tuple[Finding, ...]

    @property
    def label(self) -> str:
        """The node in a few words: its name, or its output where it has none."""
        return (
            f"{self.operator} {self.name!r}" if self.name else f"{self.operator} -> {self.output!r}"
        )

    def at(self, *levels: str) -> list[Finding]:
        """The findings of these levels.

        Parameters
        ----------
        *levels : str
            Of those that :class:`Finding` lists.

        Returns
        -------
        list of Finding
        """
        return [finding for finding in self.findings if finding.level in levels]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON."""
        return {
            "name": self.name,
            "output": self.output,
            "operator": self.operator,
            "where": list(self.where),
            "opset": self.opset,
            "version": self.version,
            "data": _type_dict(self.data),
            "result": _type_dict(self.result),
            "axes": self.axes,
            "keepdims": self.keepdims,
            "noop_with_empty_axes": self.noop_with_empty_axes,
            "findings": [finding.as_dict() for finding in self.findings],
        }


def _type_dict(kind: TensorType) -> dict[str, Any]:
    return {"dtype": kind.dtype, "shape": None if kind.shape is None else list(kind.shape)}


@dataclass(frozen=True, slots=True)
class Report:
    """What :func:`check_model` found; prints as text, and as a table in notebooks.

    Attributes
    ----------
    source : str
        The model's file, or ``"model"``.
    ir_version : int
    opset : int or None
        Of the default domain.
    target_opset : int or None
        As it was asked for.
    opset_imports : mapping of str to int
    nodes : tuple of NodeReport
        In the order of the graphs.
    messages : tuple of Finding
        About the model as a whole.
    """

    source: str
    ir_version: int
    opset: int | None
    target_opset: int | None
    opset_imports: Mapping[str, int]
    nodes: tuple[NodeReport, ...]
    messages: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is illegal, nor would be at the target opset."""
        return not (self.count("illegal") or self.count("breaks"))

    def count(self, level: str) -> int:
        """How many nodes have findings of this level; messages on the model count too.

        Parameters
        ----------
        level : str
            One of those that :class:`Finding` lists.

        Returns
        -------
        int
        """
        return sum(bool(node.at(level)) for node in self.nodes) + sum(
            message.level == level for message in self.messages
        )

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON."""
        return {
            "source": self.source,
            "ir_version": self.ir_version,
            "opset": self.opset,
            "target_opset": self.target_opset,
            "opset_imports": dict(self.opset_imports),
            "ok": self.ok,
            "counts": {level: self.count(level) for level in _LEVELS},
            "messages": [message.as_dict() for message in self.messages],
            "nodes": [node.as_dict() for node in self.nodes],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The report as JSON."""
        return json.dumps(self.as_dict(), indent=indent)

    def text(self, runtimes: Sequence[str] = ONNX_RUNTIMES) -> str:
        """The report in words.

        Parameters
        ----------
        runtimes : sequence of str
            Of which runtimes the known faults are listed; by default of those
            that run ONNX models. All are in :meth:`to_json`.

        Returns
        -------
        str
        """
        return "\n".join(_text(self, runtimes))

    def known_faults(self, runtimes: Sequence[str] = ONNX_RUNTIMES) -> str:
        """What runtimes get wrong in the model's reductions.

        Parameters
        ----------
        runtimes : sequence of str
            Which runtimes; by default those that run ONNX models.

        Returns
        -------
        str
            Lines of text; empty if nothing is known.
        """
        lines = []
        for (runtime, labels), faults in _fault_groups(self, runtimes).items():
            lines.append(f"  {runtime}, {_few(labels)}:")
            for fault in faults:
                lines += _wrapped(f"{fault.kind}: {fault.sentence}", "    ")
        if lines:
            head = "What runtimes are known to get wrong here, on the version where it was seen:"
            lines.insert(0, head)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return _html(self)


def _text(report: Report, runtimes: Sequence[str]) -> Iterator[str]:
    yield f"{report.source}: {', '.join(_head(report))}"
    yield _summary(report)
    for message in report.messages:
        yield f"{message.level}: {message.text}"
    for node in report.nodes:
        findings = [finding for finding in node.findings if finding.level != "runtime"]
        yield ""
        yield f"{node.label}  {node.version}" + "".join(f"  in {step}" for step in node.where)
        yield from _wrapped(_signature(node), "  ")
        for finding in findings:
            yield from _wrapped(f"{_heading(finding)}: {finding.text}", "  ")
            for place, edit in enumerate(finding.edits):
                yield from _wrapped(f"{'or' if place else 'edit'}: {edit.text}", "    ")
    faults = report.known_faults(runtimes)
    if faults:
        yield ""
        yield faults


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        100,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _head(report: Report) -> list[str]:
    words = [f"IR version {report.ir_version}"]
    words.append("no opset" if report.opset is None else f"opset {report.opset}")
    if report.target_opset is not None:
        words.append(f"target opset {report.target_opset}")
    return words


def _summary(report: Report) -> str:
    count = len(report.nodes)
    head = f"{count} reduction{'' if count == 1 else 's'}"
    if not count:
        return "no ReduceMax, ReduceMin or ReduceSum in the model"
    illegal, breaks = (sum(bool(n.at(level)) for n in report.nodes) for level in _LEVELS[:2])
    parts = []
    if illegal:
        parts.append(f"{illegal} illegal")
    if breaks:
        parts.append(f"{breaks} break{'s' if breaks == 1 else ''} at opset {report.target_opset}")
    return f"{head}: {', '.join(parts) if parts else 'all legal'}"


def _signature(node: NodeReport) -> str:
    words = [f"{node.data} -> {node.result}", node.axes]
    if node.keepdims != 1:
        words.append(f"keepdims {'as the caller says' if node.keepdims is None else node.keepdims}")
    if node.noop_with_empty_axes != 0:
        value = node.noop_with_empty_axes
        words.append(f"noop_with_empty_axes {'as the caller says' if value is None else value}")
    return ", ".join(words)


def _heading(finding: Finding) -> str:
    if finding.level in ("breaks", "changes"):
        return f"{finding.level} at opset {finding.opset}"
    return finding.level


def _fault_groups(
    report: Report, runtimes: Sequence[str]
) -> dict[tuple[str, tuple[str, ...]], list[Fault]]:
    """The faults of the report, by runtime and by the nodes that they concern."""
    concerned: dict[str, list[str]] = {}
    for node in report.nodes:
        for finding in node.at("runtime"):
            if finding.runtime in runtimes:
                concerned.setdefault(finding.text, []).append(node.label)
    groups: dict[tuple[str, tuple[str, ...]], list[Fault]] = {}
    for fault in FAULTS:
        labels = tuple(dict.fromkeys(concerned.get(str(fault), ())))
        if labels:
            groups.setdefault((f"{fault.runtime} {fault.version}", labels), []).append(fault)
    return groups


def _few(labels: Sequence[str], most: int = 6) -> str:
    if len(labels) <= most:
        return ", ".join(labels)
    return f"{', '.join(labels[:most])} and {len(labels) - most} more"


def _html(report: Report) -> str:
    long = 400
    left = ' style="text-align:left;white-space:normal;vertical-align:top;min-width:14ch"'
    rows = []
    for node in report.nodes:
        found = "<br>".join(
            f"<b>{escape(_heading(finding))}</b>: {escape(finding.text, long)}"
            + "".join(
                f"<br>&emsp;{'or' if place else 'edit'}: {escape(edit.text, long)}"
                for place, edit in enumerate(finding.edits)
            )
            for finding in node.findings
            if finding.runtime is None or finding.runtime in ONNX_RUNTIMES
        )
        where = "".join(f"<br>in {escape(step)}" for step in node.where)
        rows.append(
            f'<tr><th scope="row"{left}>{escape(node.label)}{where}</th>'
            f"<td{left}>{escape(node.version)}</td>"
            f"<td{left}>{escape(_signature(node), long)}</td><td{left}>{found}</td></tr>"
        )
    heads = "".join(
        f'<th scope="col"{left}>{head}</th>' for head in ("node", "version", "does", "found")
    )
    messages = "".join(
        f"<p><b>{message.level}</b>: {escape(message.text, long)}</p>"
        for message in report.messages
    )
    table = f'<table class="rk-grid"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody>'
    body = facts(report.source, [*_head(report), _summary(report)]) + messages
    if rows:
        body += scroll(f"{table}</table>", "reductions of the model")
    return card(str(report), body)
