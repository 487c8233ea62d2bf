"""The command line: ``reducekit`` and ``python -m reducekit`` are this program.

Exit status: 0 when all went well, 1 when an ONNX model is illegal or fails, 2
when something was wrong (one line on standard error says what, and the way
out), 130 after Ctrl-C, 141 when the reader of the output went away.
"""

from __future__ import annotations

import argparse
import errno
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from . import __version__, atb, schema
from ._files import FileError, Source, Target, read
from ._pieces import PIECE, reduce_in_pieces
from ._show import bytes_text, visible
from .bench.command import add_subcommand as add_bench_command
from .dtypes import ELEMENT_TYPES, by_name, element_type
from .errors import ReduceError
from .onnx.cli import add_subcommands as add_onnx_commands

__all__ = ["main"]

EXIT_WRONG = 2
EXIT_INTERRUPTED = 130
EXIT_NO_READER = 141

_SHORT_NAMES = tuple(op.short for op in schema.OPERATORS)
_Reading = Callable[[NDArray[Any]], AbstractContextManager[object]]
_Call = Callable[[NDArray[Any], _Reading], NDArray[Any]]

_INT = re.compile(r"[+-]?[0-9]{1,100}\Z")
# A terminal is not flooded: beyond this many values the middle is left out there.
_SHOWN = 1000

# Errors name Python's keywords; here the same things are options.
_AS_OPTIONS = (
    ("strict=False", "--no-strict"),
    ("noop_with_empty_axes=True", "--noop-with-empty-axes"),
    ("omit axes", "leave out --axes"),
)


class _UsageError(Exception):
    """A command that cannot be understood."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others."""

    def __init__(self, **kwargs: Any) -> None:
        # A name that is cut short would stop working when a longer list of options has two.
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs
        )

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message}; see {self.prog} --help")


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
        return _tell("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        return EXIT_NO_READER
    except (FileError, _UsageError) as error:
        return _tell(str(error))
    except ReduceError as error:
        text = str(error)
        for keyword, option in _AS_OPTIONS:
            text = text.replace(keyword, option)
        return _tell(text)
    except MemoryError as error:
        return _tell(f"out of memory ({error})" if str(error) else "out of memory")
    except OSError as error:
        # Files tell their own errors, so this is standard output: a full disk behind it.
        _drop_output()
        reason = os.strerror(error.errno) if error.errno else str(error)
        if error.errno == errno.ENOSPC:
            reason = "the disk is full"
        return _tell(f"cannot write to standard output: {reason}")
    return status


def _run(argv: list[str]) -> int:
    parser = _make_parser()
    options = parser.parse_args(argv)
    if options.command is None:
        _print(f"{_build_report()}\n\n{parser.format_help().rstrip()}")
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
    command.set_defaults(run=_reduce)


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
    command.set_defaults(run=_explain)


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
    command.set_defaults(run=_opsets)


def _add_atb(commands: Any) -> None:
    command = commands.add_parser(
        "atb",
        help="run Ascend ATB's ReduceOperation on the array in a file",
        description="Reduce the array in a .npy or .npz file as Ascend ATB's ReduceOperation "
        "does.\n\nThe parameter is the JSON that ATB tools pass. reduceType: "
        + ", ".join(f"{op.atb_number} {op.atb}" for op in schema.OPERATORS)
        + ".",
        epilog='example:\n  reducekit atb \'{"reduceType": 1, "axis": [0, 1]}\' data.npy',
    )
    command.add_argument("parameter", metavar="JSON", help="the parameter")
    _add_input(command)
    _add_output(command)
    command.set_defaults(run=_atb)


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


def _reduce(options: argparse.Namespace) -> None:
    op: schema.Operator = options.operator

    def call(data: NDArray[Any], reading: _Reading) -> NDArray[Any]:
        return reduce_in_pieces(
            op,
            data,
            options.axes,
            reading,
            keepdims=options.keepdims,
            noop_with_empty_axes=options.noop_with_empty_axes,
            opset=options.opset,
            strict=options.strict,
        )

    _from_file_to_output(options, op.function, call)


def _atb(options: argparse.Namespace) -> None:
    try:
        operation = atb.ReduceOperation(atb.ReduceParam.from_json(options.parameter))
    except TypeError as error:  # a value of the wrong type: in Python a slip, here plain input
        raise _UsageError(str(error)) from None
    op = next(op for op in schema.OPERATORS if op.atb_number == operation.param.reduceType)

    def call(data: NDArray[Any], reading: _Reading) -> NDArray[Any]:
        operation._check_data(data)
        return reduce_in_pieces(
            op, data, operation.param.axis, reading, keepdims=False, opset="latest", strict=False
        )

    _from_file_to_output(options, "ReduceOperation", call)


def _from_file_to_output(options: argparse.Namespace, who: str, call: _Call) -> None:
    # Before the work, so that a wrong name does not cost the time of the work.
    target = None if options.output is None else _target(options.output)
    source = read(
        options.file, who, options.key, None if options.dtype is None else by_name(options.dtype)
    )
    result = _watched(source, call, options.quiet)
    if target is None:
        _print_result(result, options.quiet)
    elif options.output.endswith(".txt"):
        target.write_text(_text(result, full=True))
    else:
        target.write_array(result)
        if result.dtype == ml_dtypes.bfloat16:
            _note(
                options.quiet,
                f"{target.name} holds bfloat16, which NumPy saves as raw items of 2 bytes: "
                "read it with numpy.load(...).view(ml_dtypes.bfloat16), or here with "
                "--dtype bfloat16",
            )


def _target(path: str) -> Target:
    if not path.endswith((".npy", ".txt")):
        raise _UsageError(
            f"cannot write {visible(path)}: the name says no format; "
            "end it in .npy (NumPy's) or .txt (text)"
        )
    return Target(path)


def _watched(source: Source, call: _Call, quiet: bool) -> NDArray[Any]:
    """Make the call, keep its memory small, and show how far it is if it takes long."""
    bar = None if quiet else _progress_bar(source.array.nbytes)

    @contextmanager
    def reading(piece: NDArray[Any]) -> Iterator[None]:
        with source.reading(piece):
            yield
        if bar is not None:
            bar.update(piece.nbytes)

    try:
        return call(source.array, reading)
    except MemoryError:
        raise MemoryError(
            f"the data has {bytes_text(source.array.nbytes)} and is mapped, "
            "so it is the result that does not fit"
            if source.mapping is not None
            else f"the data has {bytes_text(source.array.nbytes)}"
        ) from None
    finally:
        if bar is not None:
            bar.close()


def _progress_bar(total: int) -> Any:
    """A bar that comes up after two seconds, or None where there is no use for one."""
    if total <= PIECE or sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        tqdm: Any = import_module("tqdm")
    except ImportError:
        return None
    return tqdm.tqdm(total=total, unit="B", unit_scale=True, delay=2, leave=False)


def _print_result(result: NDArray[Any], quiet: bool) -> None:
    terminal = sys.stdout.isatty()
    _print(_text(result, full=not terminal))
    if terminal and result.size > _SHOWN:
        _note(quiet, f"{result.size:,} values; -o FILE or a pipe gives all of them")


def _text(array: NDArray[Any], full: bool) -> str:
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
    layout: Any = {"max_line_width": shutil.get_terminal_size().columns, "threshold": _SHOWN}
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


def _explain(options: argparse.Namespace) -> None:
    from .explain import explain

    op: schema.Operator = options.operator
    _print(
        str(
            explain(
                op.name,
                options.shape,
                options.axes,
                keepdims=options.keepdims,
                noop_with_empty_axes=options.noop_with_empty_axes,
                opset=options.opset,
                dtype=options.dtype,
                dims=options.dims,
                strict=options.strict,
            )
        )
    )


def _opsets(options: argparse.Namespace) -> None:
    chosen = schema.OPERATORS if options.operator is None else (options.operator,)
    _print("\n\n".join(_version_table(op) for op in chosen))


def _version_table(op: schema.Operator) -> str:
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
    values = {
        "lowest": "-inf, the least integer, False",
        "highest": "inf, the greatest integer, True",
        "zero": "0",
    }
    return values[version.empty]


def _wrap(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, break_on_hyphens=False)


def _build_report() -> str:
    level, threads = "", ""
    with suppress(ImportError, AttributeError):
        kernels = import_module(f"{__package__}._kernels")
        level = f"kernels    {kernels.LEVEL}, of {', '.join(kernels.available())}"
    package = sys.modules[__package__]
    if hasattr(package, "get_num_threads"):
        threads = f"threads    {package.get_num_threads()} of {os.cpu_count()} processors"
    lines = [
        f"reducekit {__version__}",
        f"  {level}" if level else "",
        f"  {threads}" if threads else "",
        f"  Python     {platform.python_version()} on {platform.machine()}",
        f"  NumPy      {np.__version__}, ml_dtypes {ml_dtypes.__version__}",
        f"  opsets     1 to {schema.NEWEST_OPSET}",
    ]
    return "\n".join(line for line in lines if line)


def _print(text: str) -> None:
    try:
        print(text)
    except UnicodeEncodeError:  # a name that this terminal cannot show
        encoding = sys.stdout.encoding
        print(text.encode(encoding, "backslashreplace").decode(encoding))


def _tell(text: str, status: int = EXIT_WRONG) -> int:
    # Where nobody reads errors, the status has to do.
    with suppress(OSError):
        if sys.stderr is not None:
            print(f"reducekit: {' '.join(text.split())}", file=sys.stderr)
    return status


def _note(quiet: bool, text: str) -> None:
    if not quiet:
        _tell(text)


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that Python's end does not fail on it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no real file, as in tests
        pass
