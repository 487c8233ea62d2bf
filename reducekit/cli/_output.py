"""What the command line says: values, tables, and one line for what is wrong."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import textwrap
from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from .. import __version__, _kernels, get_num_threads, schema
from ..dtypes import element_type

__all__ = [
    "EXIT_WRONG", "SHOWN", "UsageError", "build_report", "note", "say", "tell", "values_text",
    "version_table",
]  # fmt: skip

EXIT_WRONG = 2
# A terminal is not flooded: beyond this many values the middle is left out there.
SHOWN = 1000


class UsageError(Exception):
    """A command that cannot be understood."""


def say(text: str) -> None:
    """Print to standard output, whatever its encoding can show."""
    try:
        print(text)
    except UnicodeEncodeError:  # a name that this terminal cannot show
        encoding = sys.stdout.encoding
        print(text.encode(encoding, "backslashreplace").decode(encoding))


def tell(text: str, status: int = EXIT_WRONG) -> int:
    """Say one line on standard error, and give the status back."""
    # Where nobody reads errors, the status has to do.
    with suppress(OSError):
        if sys.stderr is not None:
            print(f"reducekit: {' '.join(text.split())}", file=sys.stderr)
    return status


def note(quiet: bool, text: str) -> None:
    """Say one line on standard error, unless nobody wants it."""
    if not quiet:
        tell(text)


def values_text(array: NDArray[Any], full: bool) -> str:
    """The values in brackets: every digit that it takes to read the same value back."""
    if array.size == 0 and array.ndim != 1:
        return f"[], shape {array.shape}"
    if full:
        return _full_text(array)
    widths: list[int] = []

    def measured(value: Any) -> str:
        widths.append(len(str(value)))
        return str(value)

    # NumPy chooses what is shown; the values look as they do in full.
    layout: Any = {"max_line_width": shutil.get_terminal_size().columns, "threshold": SHOWN}
    np.array2string(array, formatter={"all": measured}, **layout)
    width = max(widths, default=0)
    return np.array2string(
        array, formatter={"all": lambda value: str(value).rjust(width)}, **layout
    )


def _full_text(array: NDArray[Any]) -> str:
    """All values, each innermost row on one line.

    NumPy's own text would take a time that grows with the square of the number of values.
    """
    words = _words(array.reshape(-1))
    if array.ndim == 0:
        return words[0]
    length = array.shape[-1]
    if array.ndim == 1:
        return f"[{' '.join(words)}]"
    # Of how many rows each enclosing pair of brackets consists, innermost first.
    periods = np.cumprod(array.shape[-2::-1]).tolist()
    lines = []
    for row in range(len(words) // length):
        opened = sum(row % period == 0 for period in periods)
        closed = sum((row + 1) % period == 0 for period in periods)
        gap = "\n" * (opened if row else 0)
        text = " ".join(words[row * length : (row + 1) * length])
        lines.append(f"{gap}{' ' * (array.ndim - 1 - opened)}{'[' * opened}[{text}]{']' * closed}")
    return "\n".join(lines)


def _words(flat: NDArray[Any]) -> list[str]:
    """Each value as a text of the same width."""
    kind = element_type(flat.dtype)
    # Python's scalars are the faster ones, and NumPy's know how few digits their type needs.
    exact = kind is not None and (kind.kind != "float" or kind.name == "float64")
    words = list(map(str, flat.tolist() if exact else flat))
    width = max(map(len, words), default=0)
    return [word.rjust(width) for word in words]


def version_table(op: schema.Operator) -> str:
    """The versions of an operator, one line each."""
    rows = [("opsets", "version", "axes", "negative", "noop", "element types")]
    last: schema.OperatorVersion | None = None
    for version, following in zip(op.versions, (*op.versions[1:], None), strict=True):
        first = version.since_version
        end = schema.NEWEST_OPSET if following is None else following.since_version - 1
        rows.append(
            (
                str(first) if first == end else f"{first}-{end}",
                str(version),
                version.axes,
                "yes" if version.negative_axes else "no",
                "yes" if version.noop_with_empty_axes else "no",
                _types_text(version, last),
            )
        )
        last = version
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = [f"{op.name}: the {op.verb}; of an empty set: {_empty_text(op.versions[-1])}"]
    for row in rows:
        start = "  " + "".join(
            f"{cell:<{width}}  " for cell, width in zip(row[:5], widths, strict=True)
        )
        for part in _wrap(row[5], max(20, 81 - len(start))):
            lines.append(start + part)
            start = " " * len(start)
    return "\n".join(lines)


def _types_text(version: schema.OperatorVersion, last: schema.OperatorVersion | None) -> str:
    if last is None:
        return " ".join(version.dtypes)
    if version.dtypes == last.dtypes:
        return "the same"
    if set(last.dtypes) <= set(version.dtypes):
        return "also " + " ".join(name for name in version.dtypes if name not in last.dtypes)
    return "only " + " ".join(version.dtypes)


def _empty_text(version: schema.OperatorVersion) -> str:
    of_float, of_int = (version.empty_value(name) for name in ("float32", "int32"))
    if of_float == of_int:
        return str(of_int)
    end = "least" if of_int < 0 else "greatest"
    return f"{of_float}, the {end} integer, {version.empty_value('bool')}"


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def build_report() -> str:
    """The versions, the kernels and the threads that are in use here."""
    return "\n".join(
        [
            f"reducekit {__version__}",
            f"  kernels    {_kernels.LEVEL}, of {', '.join(_kernels.available())}",
            f"  threads    {get_num_threads()} of {os.cpu_count()} processors",
            f"  Python     {platform.python_version()} on {platform.machine()}",
            f"  NumPy      {np.__version__}, ml_dtypes {ml_dtypes.__version__}",
            f"  opsets     1 to {schema.NEWEST_OPSET}",
        ]
    )
