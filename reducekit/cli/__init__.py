"""The command line: ``reducekit`` and ``python -m reducekit`` are this program.

Exit status: 0 when all went well, 1 when an ONNX model is illegal, fails or differs
by more than was allowed, or a benchmark meets a wrong answer, 2 when something was
wrong (one line on standard error says what, and the way out), 130 after Ctrl-C, 141
when the reader of the output went away.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .. import __version__, schema
from .._files import FileError
from .._show import visible
from ..bench.command import add_subcommand as add_bench_command
from ..dtypes import ELEMENT_TYPES
from ..errors import ReduceError
from ..onnx.cli import add_subcommands as add_onnx_commands
from . import _commands
from ._output import UsageError, build_report, say, tell

__all__ = ["main"]

EXIT_INTERRUPTED = 130
EXIT_NO_READER = 141

_SHORT_NAMES = tuple(op.short for op in schema.OPERATORS)

_INT = re.compile(r"[+-]?[0-9]{1,100}\Z")

# Errors name Python's keywords; here the same things are options.
_AS_OPTIONS = (
    ("strict=False", "--no-strict"),
    ("noop_with_empty_axes=True", "--noop-with-empty-axes"),
    ("omit axes", "leave out --axes"),
    ("with dims=", "with --dims"),
)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others."""

    def __init__(self, **kwargs: Any) -> None:
        # A name that is cut short would stop working when a longer list of options has two.
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


class _Flat(argparse.Action):
    """Gathers ``0 1`` and ``0,1`` alike: each word is a list, and the value is all of them."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        before = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*before, *(item for word in values for item in word)])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and say how it went.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; those of this process if omitted.

    Returns
    -------
    int
        The exit status.

    Raises
    ------
    SystemExit
        With status 0, after ``--help`` and ``--version``.

    Examples
    --------
    >>> main(["opsets", "ReduceSum"])
    ReduceSum: the sum; of an empty set: 0
      opsets  version       axes       negative  noop  element types
      1-10    ReduceSum-1   attribute  no        no    uint32 uint64 int32 int64
                                                       float16 float32 float64
      11-12   ReduceSum-11  attribute  yes       no    the same
      13-28   ReduceSum-13  input      yes       yes   also bfloat16
    0
    """
    try:
        if sys.stdout is None:
            raise FileError("there is no standard output to write to")
        try:
            status = _run(sys.argv[1:] if argv is None else list(argv))
        finally:
            # Here, where an error can still be told, and not when Python ends.
            sys.stdout.flush()
    except KeyboardInterrupt:
        return tell("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        return EXIT_NO_READER
    except (FileError, UsageError) as error:
        return tell(str(error))
    except ReduceError as error:
        text = str(error)
        for keyword, option in _AS_OPTIONS:
            text = text.replace(keyword, option)
        return tell(text)
    except MemoryError as error:
        return tell(f"out of memory ({error})" if str(error) else "out of memory")
    except OSError as error:
        # Files tell their own errors, so this is standard output: a full disk behind it.
        _drop_output()
        reason = os.strerror(error.errno) if error.errno else str(error)
        if error.errno == errno.ENOSPC:
            reason = "the disk is full"
        return tell(f"cannot write to standard output: {reason}")
    return status


def _run(argv: list[str]) -> int:
    parser = _make_parser()
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        command = f"reducekit {options.command}" if options.command else "reducekit"
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)}; see {command} --help")
    if options.command is None:
        say(f"{build_report()}\n\n{parser.format_help().rstrip()}")
        return 0
    run: Callable[[argparse.Namespace], int | None] = options.run
    return run(options) or 0


def _make_parser() -> _Parser:
    parser = _Parser(
        prog="reducekit",
        description="Exact reductions of arrays in files: what the ONNX operators "
        + ", ".join(op.name for op in schema.OPERATORS)
        + "\nand Ascend ATB's ReduceOperation mean.",
        epilog="reducekit COMMAND --help says more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"reducekit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_reduce(commands)
    _add_explain(commands)
    _add_opsets(commands)
    _add_atb(commands)
    add_onnx_commands(commands)
    add_bench_command(commands)
    return parser


def _add_reduce(commands: Any) -> None:
    command = commands.add_parser(
        "reduce",
        help="reduce the array in a file",
        description="Reduce the array in a .npy or .npz file over axes.\n\n"
        "Uncompressed files are memory-mapped and may be larger than memory.\n"
        "The result goes to standard output as text, or to a file.",
        epilog="examples:\n"
        "  reducekit reduce max data.npy --axes 0 1\n"
        "  reducekit reduce sum data.npz --key weights --axes -1 --no-keepdims -o sums.npy\n"
        "  reducekit reduce min old.npy --opset 11",
    )
    _add_operator(command)
    _add_input(command)
    _add_call(command, _axis)
    _add_output(command)
    command.set_defaults(run=_commands.reduce)


def _add_explain(commands: Any) -> None:
    command = commands.add_parser(
        "explain",
        help="say what a reduction would do, from a shape alone",
        description="Say what a reduction would do to data of a shape, and by which rules.",
        epilog="examples:\n"
        "  reducekit explain max --shape 2,3,2 --axes 0 1 --opset 18\n"
        "  reducekit explain sum --shape 8,3,224,224 --dims n,c,h,w --axes h w --dtype float16",
    )
    _add_operator(command)
    command.add_argument(
        "--shape", nargs="*", type=_sizes, action=_Flat, required=True, metavar="N",
        help="the sizes, as in 2,3,2 or 2 3 2; none at all for rank 0",
    )  # fmt: skip
    command.add_argument(
        "--dtype", default="float32", choices=[row.name for row in ELEMENT_TYPES],
        metavar="TYPE", help="the element type, by NumPy's full name (float32)",
    )  # fmt: skip
    command.add_argument(
        "--dims", type=_names, metavar="NAMES", help="names of the axes, as in batch,row,column"
    )
    _add_call(command, _axis_or_name)
    command.set_defaults(run=_commands.explain)


def _add_opsets(commands: Any) -> None:
    command = commands.add_parser(
        "opsets",
        help="list what each opset changed",
        description="List the versions of the operators, and what each one allows.",
    )
    command.add_argument(
        "operator", nargs="?", type=_operator, metavar="OPERATOR",
        help="one operator, such as ReduceMax; all if left out",
    )  # fmt: skip
    command.set_defaults(run=_commands.opsets)


def _add_atb(commands: Any) -> None:
    command = commands.add_parser(
        "atb",
        help="run Ascend ATB's ReduceOperation on the array in a file",
        description="Reduce the array in a .npy or .npz file as Ascend ATB's ReduceOperation "
        "does.\n\nThe parameter is the JSON that ATB tools pass. reduceType: "
        + ", ".join(f"{op.atb_number} {op.atb}" for op in schema.OPERATORS if op.atb)
        + ".",
        epilog='example:\n  reducekit atb \'{"reduceType": 1, "axis": [0, 1]}\' data.npy',
    )
    command.add_argument("parameter", metavar="JSON", help="the parameter")
    _add_input(command)
    _add_output(command)
    command.set_defaults(run=_commands.atb)


def _add_operator(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "operator", type=_operator, metavar="{" + ",".join(_SHORT_NAMES) + "}",
        help="the reduction; ONNX's name (ReduceMax) does too",
    )  # fmt: skip


def _add_input(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="a .npy or .npz file")
    command.add_argument(
        "--key", metavar="NAME", help="which array of a .npz file; needed if it holds several"
    )
    command.add_argument(
        "--dtype", choices=[row.name for row in ELEMENT_TYPES], metavar="TYPE",
        help="what raw items are: NumPy saves bfloat16 as raw items of 2 bytes",
    )  # fmt: skip


def _add_call(command: argparse.ArgumentParser, axis: Callable[[str], list[Any]]) -> None:
    command.add_argument(
        "--axes", nargs="*", type=axis, action=_Flat, metavar="AXIS",
        help="the axes, as in 0 1 or 0,1; negative ones count from the end; "
        "left out or empty, all axes are reduced",
    )  # fmt: skip
    command.add_argument(
        "--keepdims", action=argparse.BooleanOptionalAction, default=True,
        help="keep reduced axes with size 1 (the default, as in ONNX)",
    )  # fmt: skip
    command.add_argument(
        "--noop-with-empty-axes", action="store_true",
        help="reduce nothing if no axes are given, where the version has it",
    )  # fmt: skip
    command.add_argument(
        "--opset", type=_opset, metavar="N",
        help=f"the opset, 1 to {schema.NEWEST_OPSET} or latest (the default)",
    )  # fmt: skip
    command.add_argument(
        "--strict", action=argparse.BooleanOptionalAction, default=True,
        help="hold to the version's element types and its ban on negative axes (the default)",
    )  # fmt: skip


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o", "--output", metavar="FILE",
        help="write the result to a file that ends in .npy (NumPy's) or .txt (text); "
        "an older file is replaced only when all is written",
    )  # fmt: skip
    command.add_argument(
        "-q", "--quiet", action="store_true", help="no notes on standard error, only errors"
    )


def _operator(text: str) -> schema.Operator:
    try:
        return schema.operator(text)
    except ReduceError:
        known = ", ".join(_SHORT_NAMES)
        raise argparse.ArgumentTypeError(
            f"operator {visible(repr(text))} is unknown; use one of {known}"
        ) from None


def _axis(text: str) -> list[int]:
    axes = []
    for part in text.split(",") if text.strip() else []:
        if not _INT.match(part.strip()):
            hint = "; write the file before --axes" if text.endswith((".npy", ".npz")) else ""
            raise argparse.ArgumentTypeError(f"axis {visible(repr(part))} is not an int{hint}")
        axes.append(int(part))
    return axes


def _axis_or_name(text: str) -> list[int | str]:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    return [int(part) if _INT.match(part) else part for part in parts]


def _sizes(text: str) -> list[int]:
    sizes = []
    for part in text.strip().strip("()").split(",") if text.strip() else []:
        if not _INT.match(part.strip()):
            raise argparse.ArgumentTypeError(
                f"size {visible(repr(part))} is not an int; write the shape as in 2,3,2"
            )
        sizes.append(int(part))
    return sizes


def _names(text: str) -> list[str | None]:
    return [part.strip() or None for part in text.split(",")]


def _opset(text: str) -> int | str:
    if text == "latest":
        return text
    if not _INT.match(text):
        raise argparse.ArgumentTypeError(
            f"opset {visible(repr(text))} is not an int; use 1 to {schema.NEWEST_OPSET} or latest"
        )
    return int(text)


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that Python's end does not fail on it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no real file, as in tests
        pass
