"""Files, models and parameters that nobody should have written, through the command line.

    python tests/fuzz_files.py npy --seconds 60
    python tests/fuzz_files.py check --seed 7 --case 1234   # one case again
    python tests/fuzz_files.py atb --atheris --seconds 60   # guided by coverage

The targets are `npy` and `npz` (files for `reduce`), `check` and `run` (ONNX models) and `atb` (a
parameter in JSON). Whatever the bytes are, a command must end with a status that it documents, say
in one line what is wrong, and leave no half-written file. An array that NumPy can read, and the
reference can reduce, must give that result.
"""

import argparse
import collections
import contextlib
import io
import itertools
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
from arrays import FLOATS, NAMES, awkward
from numpy.lib import format as npy_format
from oracles import OPS, REFERENCE, assert_same, outcome

from reducekit import cli, schema
from reducekit.dtypes import element_type

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TARGETS = ("npy", "npz", "check", "run", "atb")
SECONDS = 20  # for one input; far more than any needs
MEMORY = 8 << 30  # beyond this an allocation fails
NUMBERS = ["0", "1", "2", "3", "-1", "-2", "7", "64", "255", "256", "65535", "65536", "2147483647",
           "2147483648", "4294967296", "9223372036854775807", "9223372036854775808",
           "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e400", "0.5",
           "True", "None", "9" * 30, "1" + "0" * 400]  # fmt: skip


class Slow(BaseException):
    """An input took too long."""


# ---------------------------------------------------------------- seeds


def arrays(rng):
    """One small array for each element type, and layouts that a file can tell."""
    for name in NAMES:
        shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(0, 4)))
        yield awkward(name, shape, rng)
    yield awkward("float32", (3, 4), rng).T
    yield awkward("float64", (2, 5), rng).astype(">f8")
    yield awkward("int16", (2, 0, 3), rng)
    yield awkward("float32", (40, 30), rng)
    yield np.array([1 + 2j, 3], np.complex64)
    yield np.array(["a", "bc"])
    yield np.array([(1, 2.0)], "i4,f8")
    yield np.array([None, 1], object)


def npy_bytes(array):
    with io.BytesIO() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.save(file, array)
        return file.getvalue()


def npz_bytes(members, save=np.savez):
    with io.BytesIO() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(file, **members)
        return file.getvalue()


def models(rng):
    """Models of one to three nodes, with a function, a subgraph, initializers and all opsets."""
    from onnx import TensorProto, helper, numpy_helper

    def node(op, opset, inputs, outputs, axes=(0,), **kwargs):
        row = schema.operator(op).versions
        newest = max(v.since_version for v in row if v.since_version <= opset)
        if any(v.since_version == newest and v.axes == "input" for v in row):
            return helper.make_node(op, [*inputs, "axes"], outputs, **kwargs)
        return helper.make_node(op, inputs, outputs, axes=list(axes), **kwargs)

    for opset in (1, 9, 11, 12, 13, 17, 18, 20, 21, 24):
        for op in ("ReduceMax", "ReduceMin", "ReduceSum"):
            data = numpy_helper.from_array(rng.standard_normal((2, 3)).astype(np.float32), "w")
            axes = numpy_helper.from_array(np.array([int(rng.integers(-2, 2))], np.int64), "axes")
            keep = int(rng.integers(0, 2))
            x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
            y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
            nodes = [node(op, opset, ["x" if keep else "w"], ["m"], keepdims=keep),
                     helper.make_node("Abs", ["m"], ["y"])]  # fmt: skip
            graph = helper.make_graph(nodes, "g", [x] if keep else [], [y], [data, axes])
            yield helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                    ir_version=8).SerializeToString()  # fmt: skip
    # A reduction in a branch, and one in a function.
    c = numpy_helper.from_array(np.array(True), "c")
    w = numpy_helper.from_array(np.arange(6.0).reshape(2, 3), "w")
    y = helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)
    branch = helper.make_graph(
        [helper.make_node("ReduceMax", ["w"], ["b"], keepdims=0)], "branch", [],
        [helper.make_tensor_value_info("b", TensorProto.DOUBLE, [])],
    )  # fmt: skip
    either = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    graph = helper.make_graph([either], "g", [], [y], [c, w])
    yield helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                            ir_version=8).SerializeToString()  # fmt: skip
    function = helper.make_function(
        "own", "F", ["p"], ["q"], [helper.make_node("ReduceSum", ["p"], ["q"])],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("F", ["w"], ["y"], domain="own")], "g", [], [y], [w]
    )
    yield helper.make_model(
        graph, functions=[function], ir_version=8,
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("own", 1)],
    ).SerializeToString()  # fmt: skip


PARAMETERS = [
    '{"reduceType": 1, "axis": [0, 1]}',
    '{"reduceType": 2, "axis": [1]}',
    '{"reduceType": 3, "axis": [0]}',
    '{"axis": [], "reduceType": 3}',
    '{"reduceType": 3, "axis": [0], "rsv": [0, 0, 0, 0, 0, 0, 0, 0]}',
    '{"reduceType": 0, "axis": [-1]}',
    '{"reduceType": 1.0, "axis": [true, null, "0", {}]}',
    '{"reduceType": "REDUCE_MAX", "axis": 0}',
    '[{"reduceType": 1}]',
]


TOKENS = ["{", "}", "[", "]", ",", ":", '"', "null", "true", "NaN", "Infinity", '"axis"', "axis",
          "reduceType", '"rsv"', "\\u0000", "\\ud800", "\u00e9", "\n", "//", "[0]", "[" * 3000,
          '"axis": [0],', '{"axis": [1]}']  # fmt: skip


def seeds(target):
    rng = np.random.default_rng(7)
    if target == "npy":
        return [npy_bytes(a) for a in arrays(rng)]
    if target == "npz":
        some = [a for a in arrays(rng) if a.dtype != BFLOAT16]
        return [
            npz_bytes({"x": some[0]}),
            npz_bytes({"x": some[3], "y": some[5]}, np.savez_compressed),
            *(npz_bytes({"x": a}, save) for a in some for save in (np.savez, np.savez_compressed)),
        ]
    if target in ("check", "run"):
        return list(models(rng))
    return [text.encode() for text in PARAMETERS]


# ---------------------------------------------------------------- bytes out of seeds


def flipped(rng, data):
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwritten(rng, data):
    at, size = rng.randrange(len(data) + 1), rng.choice([1, 2, 4, 8])
    data[at : at + size] = rng.choice([b"\0", b"\xff", b"\x7f", b"\x80"]) * size


def inserted(rng, data):
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.choice([1, 2, 8, 100, 5000]))


def deleted(rng, data):
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.choice([1, 2, 8, 100])]


def repeated(rng, data):
    at = rng.randrange(len(data) + 1)
    part = data[at : at + rng.choice([1, 4, 20, 200])]
    data[at:at] = part * rng.choice([1, 2, 50])


def cut(rng, data):
    del data[rng.randrange(len(data) + 1) :]


def renumbered(rng, data):
    """Another number, or another word, where there is one in the text."""
    text = bytes(data).decode("latin-1")
    starts = [i for i, c in enumerate(text) if c.isdigit() and not text[i - 1 : i].isdigit()]
    if not starts:
        return
    start = end = rng.choice(starts)
    while end < len(text) and text[end].isdigit():
        end += 1
    data[:] = (text[:start] + rng.choice(NUMBERS) + text[end:]).encode("latin-1")


MUTATIONS = [flipped, flipped, overwritten, inserted, deleted, repeated, cut, renumbered,
             renumbered]  # fmt: skip


def true_lengths(rng, data):
    """A made-up header that passes for one: magic, version and length are right."""
    if not data.startswith(b"\x93NUMPY") or len(data) < 10:
        return
    literal, _, rest = bytes(data[10:]).partition(b"\n")
    if rng.random() < 0.3:
        words = [b"'<f4'", b"'>i8'", b"'|V2'", b"'|O'", b"'<U5'", b"[('a', '<f4')]", b"'<M8[s]'",
                 b"True", b"False", b"(3,)", b"()", b"(2, 3)", b"(1,) * 70", b"'e'"]  # fmt: skip
        key = rng.choice([b"descr", b"fortran_order", b"shape"])
        literal = literal.replace(b"'%s': " % key, b"'%s': %s, #" % (key, rng.choice(words)))
    version = rng.choice([1, 1, 2, 3])
    length = (len(literal) + 1).to_bytes(2 if version == 1 else 4, "little", signed=False)
    data[:] = b"\x93NUMPY" + bytes([version, 0]) + length + literal + b"\n" + rest


def rezipped(rng, data):
    """Another member inside a sound archive."""
    members = {"x.npy": mutated(rng, "npy", seeds_of("npy"))}
    if rng.random() < 0.3:
        members[rng.choice(["y.npy", "x", "../x.npy", "x.npy/", "\u00e9.npy", "a\nb.npy"])] = data
    with io.BytesIO() as file:
        kind = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
        with zipfile.ZipFile(file, "w", kind) as archive:
            for name, content in members.items():
                archive.writestr(name, bytes(content))
        data[:] = file.getvalue()


def reworded(rng, data):
    """Another token of JSON in the place of one."""
    words = re.split(r"([\w.+-]+|[^\w\s])", data.decode("utf-8", "replace"))
    words[rng.randrange(len(words))] = rng.choice([*NUMBERS, *TOKENS])
    data[:] = "".join(words).encode("utf-8", "surrogateescape")


def rebuilt(rng, data):
    """A model in which some field, anywhere, has another value or other neighbours."""
    import onnx

    model = onnx.ModelProto.FromString(bytes(data))
    messages, texts = [], ["", "axes", "ReduceMax", "ReduceSum", "nowhere", "ai.onnx"]

    def visit(message):
        messages.append(message)
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                for part in value if is_repeated(field) else [value]:
                    visit(part)
            elif field.type == field.TYPE_STRING and not is_repeated(field):
                texts.append(value)

    visit(model)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        message = rng.choice(messages)
        fields = list(message.DESCRIPTOR.fields)
        there = [field for field, _ in message.ListFields()]
        field = rng.choice(there if there and rng.random() < 0.85 else fields)
        value = getattr(message, field.name)
        if is_repeated(field):
            how = rng.randrange(4)
            if len(value) and how == 0:
                del value[rng.randrange(len(value))]
            elif len(value) and how == 1 and field.type == field.TYPE_MESSAGE:
                value.add().CopyFrom(rng.choice(value))
            elif len(value) > 1 and how == 2 and field.type == field.TYPE_MESSAGE:
                one, two = rng.sample(range(len(value)), 2)
                kept = type(value[one])()
                kept.CopyFrom(value[one])
                value[one].CopyFrom(value[two])
                value[two].CopyFrom(kept)
            elif field.type == field.TYPE_MESSAGE:
                value.add()
            elif len(value) and how == 1:
                value[rng.randrange(len(value))] = scalar(rng, field, texts)
            else:
                value.append(scalar(rng, field, texts))
        elif field.type == field.TYPE_MESSAGE:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, scalar(rng, field, texts))
    data[:] = model.SerializeToString()


def is_repeated(field):
    return isinstance(field.default_value, list)


def scalar(rng, field, texts):
    if field.type == field.TYPE_STRING:
        return rng.choice(texts)
    if field.type == field.TYPE_BYTES:
        return rng.choice([b"", b"\xff", rng.choice(texts).encode(), rng.randbytes(24)])
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice([0.0, -0.0, 1.5, math.inf, math.nan])
    if field.type == field.TYPE_ENUM:
        return rng.choice(field.enum_type.values).number
    bits = 32 if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 64
    top = 2 ** (bits - 1)
    value = rng.choice([0, 1, 2, 3, 5, 7, 8, 10, 11, 13, 16, 18, 20, -1, -2, top - 1, -top])
    return (
        value % (2 * top)
        if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64)
        else value
    )


def mutated(rng, target, corpus):
    data = bytearray(rng.choice(corpus))
    if target in ("check", "run") and rng.random() < 0.75:
        rebuilt(rng, data)
        return bytes(data)
    if target == "atb" and rng.random() < 0.75:
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            reworded(rng, data)
        return bytes(data)
    if target == "npz" and rng.random() < 0.6:
        rezipped(rng, data)
        if rng.random() < 0.5:
            return bytes(data)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 8])):
        if rng.random() < 0.1:
            other = rng.choice(corpus)
            at = rng.randrange(len(data) + 1)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        rng.choice(MUTATIONS)(rng, data)
    if target == "npy" and rng.random() < 0.7:
        with contextlib.suppress(OverflowError):  # a literal too long for version 1
            true_lengths(rng, data)
    return bytes(data)


_SEEDS = {}


def seeds_of(target):
    if target not in _SEEDS:
        _SEEDS[target] = seeds(target)
    return _SEEDS[target]


# ---------------------------------------------------------------- one input


class Folder:
    """A folder of its own for each input: what is in it at the end is looked at."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="reducekit-fuzz-"))

    def clean(self):
        for entry in self.path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()


FOLDER = Folder()
OLD = b"this was here before"


def command(*argv):
    """Run a command: (status, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()

    def too_slow(signum, frame):
        raise Slow(f"{SECONDS} s were not enough")

    before = signal.signal(signal.SIGALRM, too_slow)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # the evaluator's, of NumPy's
            status = cli.main([str(word) for word in argv])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    out, err = out.getvalue(), err.getvalue()
    assert status in (0, 1, 2), f"status {status}"
    if status == 2:
        lines = err.splitlines()
        assert lines, "status 2 without a word"
        assert err.endswith("\n") and len(lines) == 1, f"{len(lines)} lines: {err!r}"
        assert err.startswith("reducekit: "), f"{err!r}"
        assert len(err) < 4000, f"{len(err)} characters of error"
        assert err.isprintable() or err[:-1].isprintable(), f"{err!r}"
    assert "Traceback" not in err, err
    return status, out, err


def options(rng):
    words = []
    if rng.random() < 0.8:
        words += ["--axes", *(str(rng.choice([0, 0, 0, -1, -1, 1, -2, 2, 10**20])) for _ in
                              range(rng.choice([0, 1, 1, 2])))]  # fmt: skip
    for flag, often in (
        ("--no-keepdims", 0.3),
        ("--noop-with-empty-axes", 0.1),
        ("--no-strict", 0.7),
    ):
        if rng.random() < often:
            words.append(flag)
    if rng.random() < 0.2:
        words.append(f"--opset={rng.choice([1, 11, 13, 18, 20, 24, 0, 99, 'latest'])}")
    return words


def as_numpy(content, key, raw):
    """What NumPy reads, or None; bfloat16 as itself."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = np.load(io.BytesIO(content), allow_pickle=False)
            if isinstance(data, np.lib.npyio.NpzFile):
                data = data[key if key is not None else data.files[0]]
            elif "-" in str(header_shape(content)):  # whose product may overflow to 0 in NumPy
                return None
    except Exception:
        return None
    if not isinstance(data, np.ndarray):
        return None
    return data.view(BFLOAT16) if raw and data.dtype == "V2" else data


def header_shape(content):
    with io.BytesIO(content) as file:
        version = npy_format.read_magic(file)
        read = (
            npy_format.read_array_header_1_0
            if version == (1, 0)
            else npy_format.read_array_header_2_0
        )
        return read(file)[0]


def attempt_array(rng, content, suffix):
    """`reduce` of a file, and its result beside that of the reference."""
    file, target = FOLDER.path / f"in{suffix}", FOLDER.path / "out.npy"
    file.write_bytes(content)
    target.write_bytes(OLD)
    op = rng.choice(OPS)
    words = options(rng)
    key = rng.choice([None, "x", "x", "y", "x.npy"]) if suffix == ".npz" else None
    raw = rng.random() < 0.3
    extra = ([] if key is None else ["--key", key]) + (["--dtype", "bfloat16"] if raw else [])
    status, _out, err = command("reduce", op, file, *words, *extra, "-o", target)
    left = sorted(entry.name for entry in FOLDER.path.iterdir())
    assert left == sorted([file.name, "out.npy"]), left
    assert file.read_bytes() == content
    data = as_numpy(content, key, raw)
    if status != 0:
        assert status == 2
        assert target.read_bytes() == OLD, "the old file has changed"
        kind = None if data is None or data.nbytes > 1 << 24 else element_type(data.dtype)
        if kind is not None and (not raw or kind.name == "bfloat16") and suffix == ".npy":
            want = reference(op, data, words)
            assert isinstance(want, Exception), f"NumPy reads it, but: {err}"
        return "refused"
    got = np.load(target)
    assert data is not None, "a result of what NumPy cannot read"
    if data.dtype == BFLOAT16:
        got = got.view(BFLOAT16)
    want = reference(op, data, words)
    assert not isinstance(want, Exception), f"{want!r}, but a result was written"
    assert_same(got, want)
    return "reduced"


def reference(op, data, words):
    axes = None
    if "--axes" in words:
        at = words.index("--axes") + 1
        axes = [int(w) for w in itertools.takewhile(lambda w: not w.startswith("--"), words[at:])]
    number = [w.partition("=")[2] for w in words if w.startswith("--opset")]
    opset = None if not number else "latest" if number[0] == "latest" else int(number[0])
    plain = np.array(data, data.dtype.newbyteorder("="))
    with np.errstate(all="ignore"):
        return outcome(
            REFERENCE[op], plain, axes, keepdims="--no-keepdims" not in words,
            noop_with_empty_axes="--noop-with-empty-axes" in words, opset=opset,
            strict="--no-strict" not in words,
        )  # fmt: skip


def attempt_check(rng, content):
    file = FOLDER.path / "model.onnx"
    file.write_bytes(content)
    words = [] if rng.random() < 0.5 else ["--opset", rng.choice(["1", "13", "18", "24", "latest"])]
    as_json = rng.random() < 0.5
    status, out, _err = command("check", file, *words, *(["--format", "json"] if as_json else []))
    if status < 2:
        assert out
        if as_json:
            json.loads(out)
    assert [entry.name for entry in FOLDER.path.iterdir()] == ["model.onnx"]
    return ("legal", "illegal", "refused")[status]


def attempt_run(rng, content):
    file, results = FOLDER.path / "model.onnx", FOLDER.path / "results"
    file.write_bytes(content)
    words = []
    if rng.random() < 0.6:
        kind = rng.choice(["float32", "float32", "float64", "int64"])
        shape = rng.choice([(2, 3), (4, 3), (3,), ()])
        np.save(FOLDER.path / "x.npy", awkward(kind, shape, np.random.default_rng(1)))
        words += ["--input", rng.choice(["", "x="]) + str(FOLDER.path / "x.npy")]
    try:
        status, _out, err = command("run", file, *words, "-o", results)
    except Slow:
        return "slow"  # a loop of the model, in ONNX's evaluator
    for entry in FOLDER.path.rglob("*"):
        assert ".part" not in entry.name, entry
        assert entry == results or entry.parent in (FOLDER.path, results), entry
    if status == 1:
        assert err.startswith("reducekit: "), err
    return ("ran", "failed", "refused")[status]


def attempt_atb(rng, content):
    text = content.decode("utf-8", "surrogateescape")
    file, target = FOLDER.path / "in.npy", FOLDER.path / "out.npy"
    shape = rng.choice([(2, 3), (3,), (2, 1, 4), ()])
    data = awkward(
        rng.choice([n for n in NAMES if n not in FLOATS]), shape, np.random.default_rng(2)
    )
    np.save(file, data)
    if "\0" in text:
        return "no word of a command"
    status, _, _ = command("atb", "--output", target, "--", text, file)
    if status:
        assert status == 2 and not target.exists()
        return "refused"
    # What a strict reader makes of it must be a legal call, and the result NumPy's.
    told = json.loads(text)
    assert set(told) <= {"reduceType", "axis", "rsv"}
    axis = tuple(told.get("axis", []))
    assert all(type(a) is int for a in axis)
    ufunc = {1: np.maximum, 2: np.minimum, 3: np.add}[told["reduceType"]]
    want = ufunc.reduce(data, axis=axis or None, dtype=data.dtype)
    assert_same(np.load(target), np.asarray(want))
    return "reduced"


def attempt(target, data, choices):
    """One input; raises AssertionError, or anything else, on a finding."""
    rng = random.Random(choices)
    FOLDER.clean()
    if target in ("npy", "npz"):
        return attempt_array(rng, data, f".{target}")
    return {"check": attempt_check, "run": attempt_run, "atb": attempt_atb}[target](rng, data)


def case(target, seed, number):
    rng = random.Random(f"{target} {seed} {number}")
    return mutated(rng, target, seeds_of(target)), rng.random()


# ---------------------------------------------------------------- searches


def limit_memory():
    try:
        import resource
    except ImportError:
        return
    if "asan" in os.environ.get("LD_PRELOAD", ""):  # whose own books are larger
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def search(target, seed, seconds=math.inf, cases=None, report=None):
    """Run cases in order; how often each outcome came."""
    found = collections.Counter()
    end = time.monotonic() + seconds
    for number in itertools.count() if cases is None else range(cases):
        if report is not None:
            os.pwrite(report, struct.pack("<q", number), 0)
        if number % 10 == 0 and time.monotonic() > end:
            break
        try:
            found[attempt(target, *case(target, seed, number))] += 1
        except (Exception, Slow) as error:
            raise AssertionError(f"--seed {seed} --case {number}: {error!r}") from error
    return found


def search_guided(target, seconds):
    """The same, by atheris: what reaches new code is kept and changed further. Ends the process."""
    import atheris

    corpus = Path(tempfile.mkdtemp(prefix="reducekit-corpus-"))
    for i, seed in enumerate(seeds_of(target)):
        (corpus / f"seed{i}").write_bytes(b"\0\0" + seed)
    for name in [m for m in sys.modules if m.startswith("reducekit")]:
        module = sys.modules[name]
        for value in list(vars(module).values()):
            if callable(value) and getattr(value, "__module__", None) == name:
                with contextlib.suppress(Exception):
                    atheris.instrument_func(value)

    def one(data):
        attempt(target, data[2:], int.from_bytes(data[:2], "little"))

    kept = f"-artifact_prefix={tempfile.gettempdir()}/reducekit-"
    limits = [f"-max_total_time={int(seconds)}", "-rss_limit_mb=0", "-max_len=8192"]
    atheris.Setup([sys.argv[0], *limits, kept, str(corpus)], one)
    atheris.Fuzz()


def main():
    """Search in a child process, so that a crash is told, and not only met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--case", type=int, help="run this one case of the seed alone")
    parser.add_argument("--atheris", action="store_true", help="be guided by coverage")
    parser.add_argument("--report", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    limit_memory()
    if given.atheris:
        search_guided(given.target, given.seconds)
    elif given.case is not None:
        data, choices = case(given.target, given.seed, given.case)
        sys.stdout.write(f"{data!r}\n")
        sys.stdout.flush()
        sys.stdout.write(f"{attempt(given.target, data, choices)}\n")
    elif given.report is not None:
        found = search(given.target, given.seed, given.seconds, report=given.report)
        for key, count in sorted(found.items()):
            sys.stdout.write(f"{count:9,} {key}\n")
        sys.stdout.write(f"{found.total():9,} inputs, 0 findings; seed {given.seed}\n")
        shutil.rmtree(FOLDER.path)
    else:
        with tempfile.TemporaryFile() as report:
            done = subprocess.run(
                [sys.executable, "-X", "faulthandler", __file__, given.target, "--seconds",
                 str(given.seconds), "--seed", str(given.seed), "--report", str(report.fileno())],
                pass_fds=[report.fileno()],
                check=False,
            )  # fmt: skip
            if done.returncode:
                number = struct.unpack("<q", os.pread(report.fileno(), 8, 0))[0]
                sys.exit(f"{given.target}: ended with {done.returncode} at --seed {given.seed} "
                         f"--case {number}")  # fmt: skip


if __name__ == "__main__":
    main()
