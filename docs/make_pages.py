"""Write the pages that are drawn from data: operators, element types, other libraries.

Sphinx calls `write` before it reads the sources; nothing that it writes is kept in git.
"""

import json
import shutil
import traceback
from pathlib import Path

import ml_dtypes
import numpy as np

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import ELEMENT_TYPES

HERE = Path(__file__).parent
OTHERS = HERE / "others.json"
LAST = schema.NEWEST_OPSET


def pages():
    """Every page, by its place in the folder."""
    found = {"opsets.md": version_tables(), "types.md": type_table(), "others.md": others_table()}
    for op in schema.OPERATORS:
        found[f"operators/{op.name}.md"] = operator_page(op)
        for old, new in zip((None, *op.versions), op.versions, strict=False):
            found[f"operators/{new}.md"] = version_page(op, old, new)
    return found


def write(folder):
    """Write the pages and copy the notebooks; what has not changed keeps its time."""
    wanted = {folder / name: text.encode() for name, text in pages().items()}
    notebooks = HERE.parent / "notebooks"
    for path in [*notebooks.glob("*.ipynb"), *notebooks.glob("*.py")]:
        wanted[folder / "notebooks" / path.name] = path.read_bytes()
    for name in ("operators", "notebooks"):
        for path in (folder / name).glob("*"):
            if path not in wanted and path.is_file():
                path.unlink()
        shutil.rmtree(folder / name / ".ipynb_checkpoints", ignore_errors=True)
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != text:
            path.write_bytes(text)


def table(head, rows):
    """A table, as Markdown has it."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def span(op, version):
    """The opsets that mean a version, in words."""
    later = [v.since_version for v in op.versions if v.since_version > version.since_version]
    first, last = version.since_version, (later[0] - 1 if later else LAST)
    return str(first) if first == last else f"{first} to {last}"


def yes(flag):
    """A flag, in a table."""
    return "yes" if flag else "no"


def names(words):
    """Names as code, in a sentence."""
    *first, last = [f"`{word}`" for word in words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def version_tables():
    """For each operator, one row for each version."""
    parts = []
    for op in schema.OPERATORS:
        rows, before = [], None
        for version in op.versions:
            come = [t for t in version.dtypes if before is None or not before.allows(t)]
            rows.append((
                span(op, version),
                f"[{version}](operators/{version}.md)",
                version.axes,
                yes(version.negative_axes),
                yes(version.noop_with_empty_axes),
                ("also " if before and come else "") + (names(come) if come else "the same"),
            ))  # fmt: skip
            before = version
        head = ("opsets", "version", "axes are an", "negative axes", "`noop_with_empty_axes`",
                "element types")  # fmt: skip
        parts.append(f"## {op.name}\n\n{table(head, rows)}")
    return (
        "# Every version of every operator\n\n"
        "An opset means the newest version that is not above it. This page and those it\n"
        f"leads to are drawn from the table that the functions themselves read. The newest\n"
        f"opset is {LAST}.\n\n"
        + "\n".join(parts)
        + "\n```{toctree}\n:hidden:\n:glob:\noperators/*\n```\n"
    )


def operator_page(op):
    """One operator: what it means in every version, and its history."""
    rows = [(f"[{v}]({v}.md)", span(op, v)) for v in op.versions]
    empty = [(f"`{t.name}`", f"`{op.versions[-1].empty_value(t.name)!s}`")
             for t in schema.element_types(op.versions[-1])]  # fmt: skip
    atb = f"`{op.atb}` ({op.atb_number})"
    return (
        f"# {op.name}\n\nThe {op.verb} over axes: {{func}}`reducekit.{op.function}` and\n"
        f"{{meth}}`Tensor.{op.function} <reducekit.Tensor.{op.function}>`, `{op.short}` on the\n"
        f"command line, {atb} in Ascend ATB.\n\n"
        f"{table(('version', 'opsets'), rows)}\n"
        "## The value of an empty set\n\n"
        f"Where a reduced axis has size 0, each output element is this:\n\n"
        f"{table(('element type', 'value'), empty)}"
    )


def version_page(op, old, new):
    """One version: what it allows, what changed, what that breaks, shown by calls."""
    text = [
        f"# {new}\n\n{op.name} at opset {span(op, new)}.\n",
        table(("rule", f"{new}"), [
            ("element types", names(new.dtypes)),
            ("axes", f"{'an' if new.axes[0] in 'ai' else 'a'} {new.axes} of the node, optional"),
            ("negative axes", "count from the end" if new.negative_axes else "not defined"),
            ("`noop_with_empty_axes`", "0 by default" if new.noop_with_empty_axes else "not there"),
            ("`keepdims`", "1 by default"),
        ]),
    ]  # fmt: skip
    if old is None:
        text.append("## What changed\n\nNothing: it is the first version.\n")
    else:
        changes = list(changes_of(old, new))
        text.append(f"## What changed after [{old}]({old}.md)\n")
        text += [f"* {change}" for change, _, _ in changes]
        if not changes:
            text.append("* Nothing that matters to a reduction.")
        text.append(f"\n## What that breaks\n\n**Raising the opset to {new.since_version}.** ")
        up = [up for _, up, _ in changes if up]
        text[-1] += (" ".join(up) or f"Nothing: every legal {old} node is legal and means the "
                     "same.") + "\n"  # fmt: skip
        down = [down for _, _, down in changes if down]
        text.append(f"**Lowering it below {new.since_version}.** " + " ".join(down) + "\n")
        text += examples_of(op, old, new)
    place = op.versions.index(new)
    around = [
        *([f"Before: [{op.versions[place - 1]}]({op.versions[place - 1]}.md)."] if place else []),
        *([f"After: [{v}]({v}.md)." for v in op.versions[place + 1 : place + 2]]),
        f"All: [{op.name}]({op.name}.md).",
    ]
    return "\n".join([*text, " ".join(around), ""])


def changes_of(old, new):
    """What changed, what raising the opset breaks, what lowering it breaks."""
    come = names(t for t in new.dtypes if not old.allows(t))
    gone = names(t for t in old.dtypes if not new.allows(t))
    if come:
        lower = (
            f"Nodes of {come} are illegal: put a Cast to a type that {old} takes before the node "
            "and one back after it."
        )
        yield f"It takes {come} too.", "", lower
    if gone:
        yield f"It no longer takes {gone}.", f"Nodes of {gone} are illegal.", ""
    if new.axes != old.axes:
        illegal = "A node that has axes as an {} is illegal"
        to_input = (
            ": move them to a constant int64 tensor and make it the second input. Tools that read "
            "the attribute no longer find it, and where axes are computed, the shape of the result "
            "is not known before the model runs."
        )
        to_attribute = (
            ". Constant axes become the attribute again; axes that the model computes cannot."
        )
        ways = {"input": to_input, "attribute": to_attribute}
        yield (
            f"Axes are an {new.axes} of the node; they were an {old.axes}.",
            illegal.format(old.axes) + ways[new.axes],
            illegal.format(new.axes) + ways[old.axes],
        )
    if new.negative_axes and not old.negative_axes:
        lower = "Negative axes are not defined: add the rank to each, which needs a known rank."
        yield "Negative axes count from the end.", "", lower
    if new.noop_with_empty_axes and not old.noop_with_empty_axes:
        yield (
            "It has `noop_with_empty_axes`, 0 by default: 1 lets a node without axes reduce none.",
            "",
            "A node that sets `noop_with_empty_axes` is illegal: without axes it is an Identity.",
        )


def examples_of(op, old, new):
    """Calls that pass at the new version and not at the old one, with what is said."""
    calls = []
    come = [t for t in new.dtypes if not old.allows(t)]
    if come:
        values = "[True, False]" if "bool" in come else "[1, 2]"
        kind = come[-1]
        lead = ">>> import ml_dtypes\n" if kind == "bfloat16" else ""
        dtype = "ml_dtypes.bfloat16" if kind == "bfloat16" else f'"{kind}"'
        calls.append((lead, f"rk.{op.function}(np.array({values}, {dtype}), opset={{}})"))
    if new.negative_axes and not old.negative_axes:
        calls.append(("", f"rk.{op.function}(np.float32([[1, 2], [3, 4]]), -1, opset={{}})"))
    if new.noop_with_empty_axes and not old.noop_with_empty_axes:
        data = "np.float32([1, 2])"
        calls.append((
            "", f"rk.{op.function}({data}, noop_with_empty_axes=True, opset={{}})"
        ))  # fmt: skip
    if not calls:
        return []
    lines = ["```python", ">>> import numpy as np", ">>> import reducekit as rk"]
    for lead, call in calls:
        lines += [*lead.splitlines()]
        for opset in (new.since_version, new.since_version - 1):
            lines += [f">>> {call.format(opset)}", *said(call.format(opset))]
    return ["In calls:\n", *lines, "\n```\n"]


def said(call):
    """What Python prints for a call."""
    try:
        return repr(eval(call, {"np": np, "rk": rk, "ml_dtypes": ml_dtypes})).splitlines()
    except rk.ReduceError as error:
        last = traceback.format_exception_only(error)[-1].rstrip()
        return ["Traceback (most recent call last):", "    ...", last]


def type_table():
    """Every element type: its size, its name in ONNX, since when each operator takes it."""
    rows = []
    for kind in ELEMENT_TYPES:
        since = [schema.first_opset(op.name, kind.name) for op in schema.OPERATORS]
        rows.append((
            f"`{kind.name}`", kind.itemsize, f"`tensor({kind.onnx_name})`",
            *(f"opset {first}" if first else "`strict=False`" if takes(op, kind) else "never"
              for op, first in zip(schema.OPERATORS, since, strict=True)),
        ))  # fmt: skip
    head = ("element type", "bytes", "in ONNX", *(op.name for op in schema.OPERATORS))
    return table(head, rows)


def takes(op, kind):
    """Whether the function takes a type at all."""
    try:
        getattr(rk, op.function)(np.zeros(1, kind.numpy_dtype), strict=False)
    except rk.DTypeError:
        return False
    return True


def others_table():
    """What other libraries give, as `make_others.py` saw it."""
    seen = json.loads(OTHERS.read_text(encoding="utf-8"))
    runtimes = list(seen["versions"])
    rows = []
    for case in seen["cases"]:
        right = case["results"]["reducekit"]
        row = [f"{case['what']}: {case['call']}", f"`{right}`"]
        for name in runtimes[1:]:
            result = case["results"][name]
            row.append("same" if result == right else f"**{result}**")
        rows.append(row)
    versions = ", ".join(f"{name} {number}" for name, number in seen["versions"].items())
    return table(("reduction", *runtimes), rows) + f"\nSeen on a CPU with {versions}.\n"
