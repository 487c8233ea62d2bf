"""``reducekit check`` and ``reducekit run``.

Importing this module and building the parsers needs no ``onnx``: that is loaded
when a command runs. Exit status: 0, 1 when something in the model is illegal or
the model fails, 2 when something cannot be read or understood.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import schema
from .._files import FileError, Target, read
from .._show import visible
from ..dtypes import ELEMENT_TYPES, element_type
from ..errors import ReduceError

if TYPE_CHECKING:
    from .backend import Prepared

__all__ = ["add_subcommands"]

EXIT_ILLEGAL = 1
_TABLE = frozenset(row.name for row in ELEMENT_TYPES)
_PEERS = ("onnxruntime", "onnx.reference")
_RUNTIMES = (*_PEERS, "torch", "numpy")


def add_subcommands(commands: Any) -> None:
    """Add ``check`` and ``run`` to the subparsers of an ``argparse`` parser.

    Each sets ``run`` to a function of the parsed options that returns the exit
    status.
    """
    _add_check(commands)
    _add_run(commands)


def _add_check(commands: Any) -> None:
    command = commands.add_parser(
        "check",
        help="judge the reductions in an ONNX model",
        description="Judge every "
        + ", ".join(op.name for op in schema.OPERATORS)
        + " in an ONNX model, subgraphs and\n"
        "functions included: what is illegal, what would change or break at another opset,\n"
        "and what common runtimes are known to get wrong for it.\n\n"
        "Exit status: 0, 1 when something is illegal or would be, 2 when the model is unreadable.",
        epilog="examples:\n"
        "  reducekit check model.onnx\n"
        "  reducekit check model.onnx --opset 20 --format json",
    )
    command.add_argument("model", metavar="MODEL", help="an ONNX model")
    command.add_argument(
        "--opset", type=_opset, metavar="N",
        help=f"the target opset, 1 to {schema.NEWEST_OPSET} or latest",
    )  # fmt: skip
    command.add_argument(
        "--format", choices=("text", "json"), default="text", help="text (the default) or json"
    )
    command.add_argument(
        "--runtime", nargs="+", choices=_RUNTIMES, default=list(_PEERS), metavar="NAME",
        help="whose known faults the text lists: "
        f"{', '.join(_RUNTIMES)} ({' and '.join(_PEERS)})",
    )  # fmt: skip
    command.set_defaults(run=_check)


def _add_run(commands: Any) -> None:
    command = commands.add_parser(
        "run",
        help="run an ONNX model with these reductions",
        description="Run an ONNX model: its reductions by reducekit, the rest by ONNX's\n"
        "evaluator. Inputs go by their order in the model, or as NAME=FILE.\n\n"
        "Exit status: 0, 1 when the model is illegal or fails, or outputs differ by more than\n"
        "--rtol and --atol allow, 2 when a file or an input is not usable.",
        epilog="examples:\n"
        "  reducekit run model.onnx --input x.npy -o results\n"
        "  reducekit run model.onnx --input image=x.npy mask=m.npy --compare onnxruntime",
    )
    command.add_argument("model", metavar="MODEL", help="an ONNX model")
    command.add_argument(
        "--input", nargs="+", action="extend", default=[], metavar="[NAME=]FILE",
        help=".npy files, or .pb files with a TensorProto",
    )  # fmt: skip
    command.add_argument(
        "-o", "--output", metavar="DIR", help="write each output to DIR as NAME.npy"
    )
    command.add_argument(
        "--compare", choices=_PEERS, metavar="{" + ",".join(_PEERS) + "}",
        help="run the model there too, and show where the outputs differ",
    )  # fmt: skip
    for name, what in (("rtol", "relative"), ("atol", "absolute")):
        command.add_argument(
            f"--{name}", type=_tolerance, metavar="X",
            help=f"with --compare: the {what} difference that is no failure",
        )  # fmt: skip
    command.add_argument(
        "--strict", action=argparse.BooleanOptionalAction, default=True,
        help="hold reductions to their version's element types and to its ban on negative "
        "axes (the default)",
    )  # fmt: skip
    command.set_defaults(run=_run)


def _opset(text: str) -> int:
    if text == "latest":
        return schema.NEWEST_OPSET
    if not re.fullmatch(r"[+-]?[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(
            f"opset {visible(repr(text))} is not an int; use 1 to {schema.NEWEST_OPSET} or latest"
        )
    return int(text)


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{visible(repr(text))} is no tolerance; use 0 or more")
    return value


def _check(options: argparse.Namespace) -> int:
    _need_onnx()
    from .check import check_model

    try:
        report = check_model(options.model, options.opset)
    except OSError as error:
        raise FileError(_cannot_read(options.model, error)) from None
    _print(report.to_json() if options.format == "json" else report.text(options.runtime))
    return 0 if report.ok else EXIT_ILLEGAL


def _run(options: argparse.Namespace) -> int:
    _need_onnx()
    from ._model import load, plain_domain
    from .backend import prepare

    if options.compare is None and (options.rtol, options.atol) != (None, None):
        raise FileError("--rtol and --atol say how to --compare; name a runtime to compare with")
    folder = None if options.output is None else _folder(options.output)
    try:
        model = plain_domain(load("run", options.model, external_data=True))
    except OSError as error:
        raise FileError(_cannot_read(options.model, error)) from None
    try:
        prepared = prepare(model, strict=options.strict)
    except Exception as error:  # noqa: BLE001 - whatever the evaluator says of a model that it cannot take
        return _fails(error, model)
    feeds = prepared.feeds(_inputs(options.input, prepared))
    try:
        outputs = prepared.run(feeds)
    except Exception as error:  # noqa: BLE001 - an operator of the model may raise anything
        return _fails(error, model)
    for name, value in zip(prepared.outputs, outputs, strict=True):
        _print(_summary(name, value))
    if folder is not None:
        _save(folder, prepared.outputs, outputs)
    if options.compare is not None:
        return _compare(options, model, prepared, feeds, outputs)
    return 0


def _compare(
    options: argparse.Namespace, model: Any, prepared: Prepared, feeds: Any, outputs: Any
) -> int:
    from .compare import PeerError, compare, run_peer

    try:
        others = run_peer(options.compare, options.model, model, feeds)
    except PeerError as error:
        _tell(str(error))
        _print_known(model, options.compare)
        return EXIT_ILLEGAL
    _print(f"\nreducekit against {options.compare}:")
    limited = (options.rtol, options.atol) != (None, None)
    failed = differs = False
    for name, ours, theirs in zip(prepared.outputs, outputs, others, strict=True):
        found = compare(name, ours, theirs)
        differs = differs or bool(found.count or found.problem)
        _print(f"  {found.describe('reducekit', options.compare)}")
        if limited and found.beyond(options.rtol or 0.0, options.atol or 0.0, ours, theirs):
            failed = True
    if differs:
        _print_known(model, options.compare)
    if failed:
        _tell("outputs differ by more than --rtol and --atol allow")
    return EXIT_ILLEGAL if failed else 0


def _print_known(model: Any, peer: str) -> None:
    """What the table of faults says about this runtime and the model's reductions."""
    from .check import check_model

    known = check_model(model).known_faults((peer,))
    if known:
        _print(f"\n{known}")


def _need_onnx() -> None:
    try:
        from . import _extra  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise FileError(str(error)) from None


def _cannot_read(path: str, error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"cannot read {visible(path)}: {reason}"


def _fails(error: Exception, model: Any) -> int:
    """Tell why a model does not run, in one line, with ONNX's own verdict on it if it has one."""
    from ._extra import onnx
    from ._model import first_line

    text = first_line(error)
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("in node")]
    if isinstance(error, ReduceError) or notes:
        _tell(" ".join([text, *(f"({note})" for note in notes)]))
        return EXIT_ILLEGAL
    cause = error.__cause__
    if cause is not None and type(error) is TypeError:
        text = f"{text} ({first_line(cause)})"
    _tell(f"the model fails: {type(error).__name__}: {text}")
    try:
        onnx.checker.check_model(model)
    except Exception as verdict:  # noqa: BLE001 - the checker has errors of its own, and so has protobuf
        _tell(f"onnx.checker says: {first_line(verdict)}")
    return EXIT_ILLEGAL


def _inputs(words: list[str], prepared: Prepared) -> dict[str, Any]:
    """The arrays in the named files; the nameless ones fill the inputs in order."""
    named: dict[str, str] = {}
    nameless = []
    for word in words:
        name, equals, path = word.partition("=")
        if equals and name in prepared.every:
            if name in named:
                raise FileError(f"input {visible(repr(name))} is given twice")
            named[name] = path
        else:
            nameless.append(word)
    free = [name for name in prepared.inputs if name not in named]
    if len(nameless) > len(free):
        takes = ", ".join(prepared.inputs) or "none"
        raise FileError(
            f"{visible(nameless[len(free)])} fits no input; the model's inputs are {takes}"
        )
    named |= dict(zip(free, nameless, strict=False))
    return {name: _read(path, prepared.every[name]) for name, path in named.items()}


def _read(path: str, declared: Any) -> Any:
    from ._extra import onnx
    from ._model import first_line
    from ._types import TensorType

    if path.endswith(".pb"):
        tensor = onnx.TensorProto()
        try:
            tensor.ParseFromString(Path(path).read_bytes())
            return onnx.numpy_helper.to_array(tensor)
        except OSError as error:
            raise FileError(_cannot_read(path, error)) from None
        except Exception as error:  # noqa: BLE001 - of protobuf, and of damaged tensors
            raise FileError(f"{visible(path)} holds no TensorProto: {first_line(error)}") from None
    kind = TensorType.of_proto(declared)
    dtype = None if kind is None else kind.dtype
    element = element_type(dtype) if dtype in _TABLE else None
    if dtype is not None and element is None:
        return _read_other(path)
    try:
        # NumPy saves bfloat16 as raw items of 2 bytes; what they are, the model says.
        return read(path, "run", raw=element if dtype == "bfloat16" else None).array
    except FileError as error:
        if "leave out --dtype" in str(error):  # not raw: its own type is refused by name later
            return read(path, "run").array
        if "--dtype" in str(error):
            raise FileError(
                f"{visible(path)} holds raw items of 2 bytes, as NumPy saves bfloat16, "
                f"but the model declares {kind}"
            ) from None
        raise


def _read_other(path: str) -> Any:
    """An array of a type that no reduction takes, such as text."""
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise FileError(_cannot_read(path, error)) from None
    except Exception as error:  # noqa: BLE001 - NumPy's, zipfile's, the parser's
        raise FileError(f"{visible(path)} holds no array: {str(error).splitlines()[0]}") from None


def _folder(path: str) -> Path:
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if folder.exists() else (error.strerror or str(error)).lower()
        raise FileError(f"cannot write to {visible(path)}: {reason}") from None
    return folder


def _save(folder: Path, names: tuple[str, ...], outputs: Any) -> None:
    taken: set[str] = set()
    for name, value in zip(names, outputs, strict=True):
        parts = value if isinstance(value, list) else [value]
        for number, part in enumerate(parts):
            label = name if part is value else f"{name}_{number}"
            if not isinstance(part, np.ndarray):
                raise FileError(
                    f"output {visible(repr(label))} is no tensor; a .npy file holds one"
                )
            array = part.astype(str) if part.dtype.kind == "O" else part
            path = folder / f"{_file_name(label, taken)}.npy"
            Target(str(path)).write_array(array)
            raw = "" if array.dtype.isbuiltin == 1 else f", {array.dtype.name} as raw items"
            _print(f"wrote {visible(str(path), 200)}{raw}")


def _file_name(name: str, taken: set[str]) -> str:
    """The name of an output as that of a file: no folders, nothing hidden, nothing twice."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:100] or "output"
    unique, number = plain, 2
    while unique.lower() in taken:
        unique, number = f"{plain}_{number}", number + 1
    taken.add(unique.lower())
    return unique


def _summary(name: str, value: Any) -> str:
    shown = visible(repr(name), 80)
    if not isinstance(value, np.ndarray):
        size = f" of {len(value)}" if hasattr(value, "__len__") else ""
        return f"{shown}: {'sequence' if isinstance(value, list) else type(value).__name__}{size}"
    text = f"{shown}: {value.dtype.name} {value.shape}"
    if 0 < value.size <= 8 and value.dtype.kind != "O":
        text += f" = {', '.join(str(item) for item in value.reshape(-1))}"
    return text


def _print(text: str) -> None:
    try:
        print(text)  # noqa: T201
    except UnicodeEncodeError:  # a name that this terminal cannot show
        encoding = sys.stdout.encoding
        print(text.encode(encoding, "backslashreplace").decode(encoding))  # noqa: T201


def _tell(text: str) -> None:
    if sys.stderr is not None:
        line = " ".join(text.split())
        print(f"reducekit: {line}", file=sys.stderr)  # noqa: T201
