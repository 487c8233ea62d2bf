"""What the commands do, once their words are understood."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import ml_dtypes
from numpy.typing import NDArray

from .. import explain as explained
from .. import schema
from .._files import Source, Target, read
from .._pieces import PIECE, reduce_in_pieces
from .._progress import progress_bar
from .._show import bytes_text, visible
from ..atb import ReduceOperation, ReduceParam
from ..dtypes import by_name
from ._output import SHOWN, UsageError, note, say, values_text, version_table

__all__ = ["atb", "explain", "opsets", "reduce"]

_Reading = Callable[[NDArray[Any]], AbstractContextManager[object]]
_Call = Callable[[NDArray[Any], _Reading], NDArray[Any]]


def reduce(options: argparse.Namespace) -> None:
    """Reduce the array in a file."""
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


def atb(options: argparse.Namespace) -> None:
    """Reduce the array in a file as ATB's operation does."""
    try:
        operation = ReduceOperation(ReduceParam.from_json(options.parameter))
    except TypeError as error:  # a value of the wrong type: in Python a slip, here plain input
        raise UsageError(str(error)) from None
    op = next(op for op in schema.OPERATORS if op.atb_number == operation.param.reduceType)

    def call(data: NDArray[Any], reading: _Reading) -> NDArray[Any]:
        operation._check_data(data)
        return reduce_in_pieces(
            op, data, operation.param.axis, reading, keepdims=False, opset="latest", strict=False
        )

    _from_file_to_output(options, "ReduceOperation", call)


def explain(options: argparse.Namespace) -> None:
    """Say what a reduction would do."""
    op: schema.Operator = options.operator
    say(
        str(
            explained(
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


def opsets(options: argparse.Namespace) -> None:
    """List the versions of the operators."""
    chosen = schema.OPERATORS if options.operator is None else (options.operator,)
    say("\n\n".join(version_table(op) for op in chosen))


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
        target.write_text(values_text(result, full=True))
    else:
        target.write_array(result)
        if result.dtype == ml_dtypes.bfloat16:
            note(
                options.quiet,
                f"{target.name} holds bfloat16, which NumPy saves as raw items of 2 bytes: "
                "read it with numpy.load(...).view(ml_dtypes.bfloat16), or here with "
                "--dtype bfloat16",
            )


def _target(path: str) -> Target:
    if not path.endswith((".npy", ".txt")):
        raise UsageError(
            f"cannot write {visible(path)}: the name says no format; "
            "end it in .npy (NumPy's) or .txt (text)"
        )
    return Target(path)


def _watched(source: Source, call: _Call, quiet: bool) -> NDArray[Any]:
    """Make the call, keep its memory small, and show how far it is if it takes long."""
    size = source.array.nbytes
    with progress_bar(size, wanted=not quiet and size > PIECE) as done:

        @contextmanager
        def reading(piece: NDArray[Any]) -> Iterator[None]:
            with source.reading(piece):
                yield
            done(piece.nbytes)

        try:
            return call(source.array, reading)
        except MemoryError:
            raise MemoryError(
                f"the data has {bytes_text(size)} and is mapped, "
                "so it is the result that does not fit"
                if source.mapping is not None
                else f"the data has {bytes_text(size)}"
            ) from None


def _print_result(result: NDArray[Any], quiet: bool) -> None:
    terminal = sys.stdout.isatty()
    say(values_text(result, full=not terminal))
    if terminal and result.size > SHOWN:
        note(quiet, f"{result.size:,} values; -o FILE or a pipe gives all of them")
