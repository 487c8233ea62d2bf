"""``reducekit bench``: the options, the report as it runs, the files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .._files import FileError, Target
from .._show import visible
from ..errors import ArgumentError
from . import results as texts
from .contenders import CONTENDERS
from .grid import cells, some
from .measures import MEASURES, callgrind
from .runner import FORMAT, run

__all__ = ["add_arguments", "add_subcommand"]

_PEERS = tuple(contender.name for contender in CONTENDERS[1:])

EXIT_WRONG_ANSWER = 1
EXIT_INTERRUPTED = 130

_DESCRIPTION = """\
Measure the reductions on this machine, against the libraries that are installed: numpy,
torch, onnxruntime, jax, and bottleneck and numbagg, whose reductions leave NaN out. Each
answers first and is timed then; all take turns, and the least time counts. A ratio is the
time of the best peer over ours: above 1, ours is faster.

Beside the grid there are measures of one thing each:
  tiny     calls on ten elements, bare and with keywords, against NumPy
  linear   time per element at 1e8 elements over that at 1e7
  memory   peak memory beyond the result, for each layout
  threads  two threads (or --threads), against torch with as many, each in a process of its own

Exit status: 0, 1 when an answer of ours is not the one that it should be, 2 when something
is not usable."""

_EPILOG = """\
examples:
  reducekit bench --quick
  reducekit bench --json bench.json --plot bench.png
  reducekit bench --only "sum float* 1e6x3" --only "max int8 1e7"
  reducekit bench --load bench.json --readme README.md
  reducekit bench memory --quick
  reducekit bench --callgrind "max float32 1e5 all"
"""


def add_subcommand(commands: Any) -> None:
    """Add ``bench`` to the subparsers of an ``argparse`` parser."""
    command = commands.add_parser(
        "bench",
        help="measure this machine, against the libraries that are installed",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_arguments(command)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options, and ``run``, a function of the parsed options."""
    command.add_argument(
        "what", nargs="?", choices=("grid", *MEASURES), default="grid", metavar="MEASURE",
        help=f"grid (the default), {', '.join(MEASURES)}",
    )  # fmt: skip
    command.add_argument(
        "--quick", action="store_true", help="fewer cells and less care: about a minute"
    )
    command.add_argument(
        "--only", action="append", default=[], metavar="TEXT",
        help="cells whose name has every word of TEXT, * standing for anything; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--threads", type=_count, metavar="N", help="for every library (1; for threads, 2)"
    )
    command.add_argument(
        "--peers", nargs="+", choices=_PEERS, metavar="NAME",
        help=f"whom to compare with: {', '.join(_PEERS)} (all that are installed)",
    )  # fmt: skip
    command.add_argument("--json", metavar="FILE", help="write the results as JSON")
    command.add_argument("--plot", metavar="FILE", help="draw the results (png, svg, pdf)")
    command.add_argument(
        "--readme", metavar="FILE",
        help=f"write the table of ratios between {texts.START} and {texts.END} of a file",
    )  # fmt: skip
    command.add_argument(
        "--load", metavar="FILE", help="measure nothing: take the results that --json wrote"
    )
    command.add_argument(
        "--callgrind", action="append", default=[], metavar="CELL",
        help="count the instructions of a cell with valgrind, instead of timing",
    )  # fmt: skip
    command.add_argument(
        "-q", "--quiet", action="store_true", help="the summary alone, no line for each cell"
    )
    command.set_defaults(run=_bench)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads from 1 up")
    return int(text)


def _bench(options: argparse.Namespace) -> int:
    target = None if options.json is None else Target(options.json)
    if options.callgrind or options.what != "grid":
        return _measure(options, target)
    for path in (options.plot, options.readme):
        if path is not None:
            Target(path)  # found wrong now, not after the run
    draw = None if options.plot is None else _drawer()
    found = texts.load(options.load) if options.load is not None else _run(options)
    if target is not None:
        target.write_text(texts.to_json(found))
    if draw is not None:
        _save_plot(draw(found), options.plot)
    if options.readme is not None:
        texts.update_readme(found, options.readme)
    _say(texts.summary_text(found))
    if not found["complete"]:
        return EXIT_INTERRUPTED
    wrong = any(cell["answers"]["reducekit"] == "differs" for cell in found["cells"])
    return EXIT_WRONG_ANSWER if wrong else 0


def _run(options: argparse.Namespace) -> dict[str, Any]:
    threads = options.threads or 1
    _limit_jax(threads)
    chosen = some(cells(quick=options.quick, only=options.only), options.only)
    bar = _progress(len(chosen))

    def show(cell: dict[str, Any]) -> None:
        line = texts.cell_line(cell)
        if bar is not None:
            bar.update()
            if not options.quiet:
                bar.write(line, file=sys.stdout)
        elif not options.quiet:
            _say(line)

    try:
        return run(
            quick=options.quick,
            threads=threads,
            peers=None if options.peers is None else tuple(options.peers),
            chosen=chosen,
            on_cell=show,
        )
    finally:
        if bar is not None:
            bar.close()
        if not options.quiet:
            _say("")


def _measure(options: argparse.Namespace, target: Target | None) -> int:
    what = "callgrind" if options.callgrind else options.what
    for name in ("plot", "readme", "load", "peers"):
        if getattr(options, name) is not None:
            raise ArgumentError(f"bench: --{name} belongs to the grid, not to {what}")
    if options.callgrind:
        rows = callgrind(_say, options.callgrind)
    else:
        more = {} if options.threads is None else {"threads": options.threads}
        rows = MEASURES[what](_say, quick=options.quick, only=options.only, **more)
    if target is not None:
        lines = ",\n".join(json.dumps(row) for row in rows)
        target.write_text(f'{{"format": "{FORMAT} {what}", "rows": [\n{lines}\n]}}')
    return 0


def _limit_jax(threads: int) -> None:
    """Jax is told at its start alone."""
    if threads == 1 and "jax" not in sys.modules:
        os.environ.setdefault(
            "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )


def _progress(total: int) -> Any:
    """A bar on standard error, if that is a terminal and tqdm is installed."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        tqdm = import_module("tqdm")
    except ImportError:
        return None
    return tqdm.tqdm(total=total, unit="cell", dynamic_ncols=True)


def _drawer() -> Callable[[dict[str, Any]], Any]:
    try:
        plot = import_module("reducekit.plot")
    except ImportError as error:
        raise ArgumentError(
            f"bench: --plot needs matplotlib ({error}); pip install 'reducekit[notebook]'"
        ) from None
    draw: Callable[[dict[str, Any]], Any] = plot.bench
    return draw


def _save_plot(axes: Any, path: str) -> None:
    try:
        axes.figure.savefig(path, bbox_inches="tight")
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write {visible(path, 200)}: {error}") from None


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
