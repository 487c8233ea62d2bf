"""The command line: what it prints, what it writes, and every way in which it refuses."""

import ast
import contextlib
import io
import itertools
import math
import os
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.lib import format as npy
from oracles import assert_same, never

import reducekit as rk
from reducekit import _files, _pieces, cli, schema
from reducekit.cli import _commands
from reducekit.cli._output import values_text
from reducekit.dtypes import ELEMENT_TYPES

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DATA = np.arange(12, dtype=np.float32).reshape(3, 4) / 7


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own: (status, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*argv):
        capsys.readouterr()
        status = cli.main([str(word) for word in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def other_user(monkeypatch):
    """A user without rights: root, whom permissions do not stop, becomes nobody for a while.

    The working folder is a new one that others may enter.
    """

    @contextlib.contextmanager
    def other_user():
        before = os.geteuid()
        if before == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(before)

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.chdir(folder)
        yield other_user
        monkeypatch.undo()


def fails(result, line):
    status, out, err = result
    assert err == f"reducekit: {line}\n"
    assert status == 2
    assert out == ""


def process(*argv, **kwargs):
    """The program as its users start it."""
    command = [sys.executable, "-m", "reducekit", *map(str, argv)]
    kwargs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
    return subprocess.run(command, check=False, text=True, timeout=60, **kwargs)


def header(shape, descr="<f4", fortran_order=False, version=(1, 0)):
    """The bytes of a .npy header, whatever it promises."""
    return literal_header(
        repr({"descr": descr, "fortran_order": fortran_order, "shape": shape}), version
    )


def literal_header(text, version=(1, 0)):
    size = "<H" if version == (1, 0) else "<I"
    body = text.encode("latin1") + b"\n"
    return npy.magic(*version) + struct.pack(size, len(body)) + body


def left_behind(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


# What goes right: values


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("axes", [None, [], [0], [1], [-1], [0, 1], [-2, 1]])
@pytest.mark.parametrize("op", [op.short for op in schema.OPERATORS])
def test_reduce_is_the_function(run, op, axes, keepdims):
    np.save("data.npy", DATA)
    words = [] if axes is None else ["--axes", *axes]
    words += [] if keepdims else ["--no-keepdims"]
    status, out, err = run("reduce", op, "data.npy", *words, "-o", "out.npy")
    assert (status, out, err) == (0, "", "")
    expected = getattr(rk, f"reduce_{op}")(DATA, axes, keepdims=keepdims)
    got = np.load("out.npy")
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()
    status, out, err = run("reduce", op, "data.npy", *words)
    assert (status, err) == (0, "")
    words = [str(value) for value in expected.flat]
    assert out.replace("[", " ").replace("]", " ").split() == words


@pytest.mark.parametrize("row", ELEMENT_TYPES, ids=lambda row: row.name)
def test_every_element_type(run, row):
    data = np.array([[0, 1, 1], [1, 0, 1]]).astype(row.numpy_dtype)
    np.save("data.npy", data)
    words = ["--dtype", row.name]  # needed for bfloat16, allowed for all
    for op in schema.OPERATORS:
        if never(op.short, row.name):
            continue
        expected = getattr(rk, op.function)(data, 1, strict=False)
        status, out, err = run("reduce", op.short, "data.npy", "--axes", "1", *words, "--no-strict")
        assert (status, err) == (0, "")
        if row.name == "bool":
            shown = np.array([[word == "True"] for word in re.findall(r"True|False", out)])
        else:
            shown = np.array([[float(word)] for word in re.findall(r"[-0-9.]+", out)])
        assert shown.astype(row.numpy_dtype).tobytes() == expected.tobytes()
        status, out, err = run(
            "reduce", op.short, "data.npy", "--axes", "1", *words, "--no-strict", "-o", "out.npy",
            "--quiet",
        )  # fmt: skip
        assert (status, out, err) == (0, "", "")
        assert np.load("out.npy").view(row.numpy_dtype).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [BFLOAT16, np.dtype(np.float16)], ids=str)
def test_text_reads_back_as_the_same_value(run, dtype):
    every = np.arange(65536, dtype=np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        every = every[~np.isnan(every.astype(np.float32))]
    np.save("data.npy", every)
    status, out, err = run(
        "reduce", "max", "data.npy", "--noop-with-empty-axes", "--dtype", dtype.name
    )
    assert (status, err) == (0, "")
    back = np.array([float(word) for word in out.strip("[]\n").split()])
    with np.errstate(over="ignore"):
        assert back.astype(dtype).tobytes() == every.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_text_of_wide_floats_reads_back_as_the_same_value(run, dtype):
    bits = np.random.default_rng(7).integers(0, 2**63, 2000, dtype=np.uint64)
    values = (bits * np.uint64(2)).view(dtype)
    values = values[~np.isnan(values)]
    np.save("data.npy", values)
    _, out, _ = run("reduce", "max", "data.npy", "--noop-with-empty-axes")
    words = out.strip("[]\n").split()
    assert np.array(words, dtype=np.float64).astype(dtype).tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (np.float32(2.5), "2.5"),
        (np.array([[np.nan, -0.0, np.inf]]), "[[ nan -0.0  inf]]"),
        (np.array([True, False]), "[ True False]"),
        (np.array([[1.5, 100], [np.nan, -0.0]], BFLOAT16), "[[1.5 100]\n [nan  -0]]"),
        (np.array(0.1, BFLOAT16), "0.100098"),
        (np.zeros((0, 3), np.int8), "[], shape (0, 3)"),
        (np.zeros(0), "[]"),
        (np.array([2**63 - 1, -(2**63)]), "[ 9223372036854775807 -9223372036854775808]"),
    ],
    ids=[
        "rank 0",
        "odd values",
        "bool",
        "bfloat16",
        "bfloat16 rank 0",
        "empty",
        "nothing",
        "int64",
    ],
)
def test_text(run, data, text):
    np.save("data.npy", data)
    dtype = ["--dtype", "bfloat16"] if data.dtype == BFLOAT16 else []
    status, out, err = run("reduce", "max", "data.npy", "--noop-with-empty-axes", *dtype)
    assert (status, err) == (0, "")
    assert out == f"{text}\n"


@given(data=st.data())
def test_text_has_the_shape_and_the_values(data):
    shape = data.draw(array_shapes(min_dims=0, max_dims=4, max_side=5))
    dtype = data.draw(st.sampled_from(["bool", "int8", "uint64", "float16", "float32", "float64"]))
    elements = {"allow_nan": False, "allow_infinity": False} if "float" in dtype else {}
    array = data.draw(arrays(dtype, shape, elements=elements))
    text = values_text(array, full=True)
    rows = [line for line in text.split("\n") if line]
    assert len(rows) == math.prod(shape[:-1])
    listed = re.sub(r"(?<=[\w.\]])\s+(?=[-\w\[])", ",", text)
    assert np.array(ast.literal_eval(listed), dtype).tobytes() == array.tobytes()


def test_text_of_rank_4():
    array = np.arange(16).reshape(2, 2, 2, 2)
    assert values_text(array, full=True) == np.array2string(array)


def test_long_results_are_whole_in_pipes_and_short_in_terminals(run, monkeypatch, capsys):
    np.save("data.npy", np.arange(5000))
    words = ["reduce", "max", "data.npy", "--noop-with-empty-axes"]
    _, out, err = run(*words)
    assert (len(out.strip("[]\n").split()), err) == (5000, "")
    for quiet in ([], ["-q"]):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert cli.main([*words, *quiet]) == 0
        out, err = capsys.readouterr()
        assert out == "[   0    1    2 ... 4997 4998 4999]\n"
        note = "reducekit: 5,000 values; -o FILE or a pipe gives all of them\n"
        assert err == ("" if quiet else note)


def test_text_file(run):
    np.save("data.npy", DATA)
    assert run("reduce", "max", "data.npy", "--axes", "0", "-o", "out.txt") == (0, "", "")
    assert Path("out.txt").read_text() == "[[1.1428572 1.2857143 1.4285715 1.5714285]]\n"


def test_axes_in_every_form(run):
    np.save("data.npy", np.arange(24).reshape(2, 3, 4))
    expected = "[[[20 21 22 23]]]\n"
    for words in (["0", "1"], ["0,1"], ["1", "-3"], ["0", "--axes", "1"], ["+0", "1"]):
        assert run("reduce", "max", "data.npy", "--axes", *words) == (0, expected, "")
    assert run("reduce", "max", "data.npy", "--axes=-3,-2") == (0, expected, "")
    assert run("reduce", "max", "--axes", "0", "1", "--", "data.npy") == (0, expected, "")


def test_no_axes_and_an_empty_list(run):
    np.save("data.npy", np.arange(4))
    for words in ([], ["--axes"], ["--axes="]):
        assert run("reduce", "max", "data.npy", *words) == (0, "[3]\n", "")
        noop = run("reduce", "max", "data.npy", *words, "--noop-with-empty-axes")
        assert noop == (0, "[0 1 2 3]\n", "")


@pytest.mark.parametrize("name", ["max", "ReduceMax", "reduce_max", "reducemax"])
def test_operator_under_any_of_its_names(run, name):
    np.save("data.npy", np.arange(4))
    assert run("reduce", name, "data.npy") == (0, "[3]\n", "")


def test_atb(run):
    np.save("data.npy", DATA)
    for number, op in enumerate(["max", "min", "sum"], start=1):
        words = ["atb", f'{{"reduceType": {number}, "axis": [0]}}', "data.npy", "-o", "out.npy"]
        assert run(*words) == (0, "", "")
        expected = getattr(rk, f"reduce_{op}")(DATA, 0, keepdims=False)
        assert np.load("out.npy").tobytes() == expected.tobytes()


# What goes right: files


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">i8", "<u2", "|b1", "|i1"])
def test_every_npy_file(run, version, order, dtype):
    data = np.asarray(np.arange(24).reshape(2, 3, 4) % 2, dtype=dtype, order=order)
    with Path("data.npy").open("wb") as file:
        npy.write_array(file, data, version=version)
        file.write(b"what follows is not the array's")
    source = _files.read("data.npy", "reduce_max")
    assert source.mapping is not None
    assert not source.array.flags.writeable
    assert source.array.dtype == data.dtype
    assert source.array.tolist() == data.tolist()
    status, _, err = run("reduce", "max", "data.npy", "--axes", "1", "--no-strict", "-o", "o.npy")
    assert (status, err) == (0, "")
    expected = rk.reduce_max(data, 1, strict=False)
    assert np.load("o.npy").tobytes() == expected.tobytes()


def test_header_that_python_2_wrote(run):
    text = "{'descr': '<i8', 'fortran_order': False, 'shape': (2L, 3L), }"
    Path("data.npy").write_bytes(literal_header(text) + np.arange(6).tobytes())
    assert run("reduce", "max", "data.npy") == (0, "[[5]]\n", "")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 2**40), (2**60, 0)])
def test_nothing_to_map(run, shape):
    Path("data.npy").write_bytes(header(shape))
    _, out, err = run("reduce", "max", "data.npy", "--noop-with-empty-axes")
    assert err == ""
    assert out == ("[]\n" if len(shape) == 1 else f"[], shape {shape}\n")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(run, save):
    # Odd lengths of names move the data off every alignment.
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "bcd": np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        "e f/g": np.arange(3, dtype=np.uint64),
        "rank0": np.float64(3),
        "empty": np.zeros((0, 2)),
        "brain": np.arange(5).astype(BFLOAT16),
    }
    save("data.npz", **arrays)
    for key, array in arrays.items():
        dtype = ["--dtype", "bfloat16"] if array.dtype == BFLOAT16 else []
        words = ["reduce", "max", "data.npz", "--key", key, *dtype, "-o", "out.npy", "-q"]
        assert run(*words) == (0, "", "")
        expected = rk.reduce_max(array)
        got = np.load("out.npy").view(expected.dtype)
        assert got.tobytes() == expected.tobytes()
    source = _files.read("data.npz", "reduce_max", "a")
    assert (source.mapping is not None) is (save is np.savez)
    assert not source.array.flags.writeable


def test_npz_with_one_array_needs_no_key(run):
    np.savez("data.npz", np.arange(4))
    assert run("reduce", "max", "data.npz") == (0, "[3]\n", "")
    np.savez("data.npz", np.zeros(0))
    assert run("reduce", "sum", "data.npz") == (0, "[0.0]\n", "")


def test_npz_behind_other_bytes(run):
    np.savez("plain.npz", x=np.arange(5.0))
    Path("data.npz").write_bytes(Path("plain.npz").read_bytes())
    data = Path("data.npz").read_bytes()
    # A member with an extra field: the local header then differs from the directory.
    with zipfile.ZipFile("extra.npz", "w") as zipped:
        info = zipfile.ZipInfo("x.npy")
        info.extra = struct.pack("<HH", 0xCAFE, 7) + b"padding"
        buffer = io.BytesIO()
        np.save(buffer, np.arange(5.0))
        zipped.writestr(info, buffer.getvalue())
    assert len(data) < Path("extra.npz").stat().st_size
    assert run("reduce", "max", "extra.npz") == (0, "[4.0]\n", "")


def test_kind_of_file_is_told_by_its_bytes(run):
    np.save("data.npy", np.arange(4))
    Path("data.npy").rename("data.bin")
    assert run("reduce", "max", "data.bin") == (0, "[3]\n", "")


def test_link_to_a_file(run):
    np.save("data.npy", np.arange(4))
    Path("link.npy").symlink_to("data.npy")
    assert run("reduce", "max", "link.npy") == (0, "[3]\n", "")


def test_output_replaces_the_input(run):
    np.save("data.npy", np.arange(100_000))
    assert run("reduce", "max", "data.npy", "-o", "data.npy") == (0, "", "")
    assert np.load("data.npy").tolist() == [99_999]


def test_output_is_a_numpy_file_byte_for_byte(run):
    np.save("data.npy", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    assert run("reduce", "max", "data.npy", "--axes", "1", "-o", "out.npy") == (0, "", "")
    np.save("same.npy", rk.reduce_max(np.load("data.npy"), 1))
    assert Path("out.npy").read_bytes() == Path("same.npy").read_bytes()


def test_output_longer_than_one_block(run):
    data = np.arange(700_000, dtype=np.int32)
    np.save("data.npy", data)
    assert run("reduce", "max", "data.npy", "--noop-with-empty-axes", "-o", "o.npy") == (0, "", "")
    assert Path("o.npy").read_bytes() == Path("data.npy").read_bytes()


def test_permissions_of_output(run):
    np.save("data.npy", np.arange(4))
    before = os.umask(0o027)
    try:
        run("reduce", "max", "data.npy", "-o", "new.npy")
        assert stat.S_IMODE(Path("new.npy").stat().st_mode) == 0o640
        Path("new.npy").chmod(0o604)
        run("reduce", "max", "data.npy", "-o", "new.npy")
        assert stat.S_IMODE(Path("new.npy").stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_output_through_a_link_keeps_the_link(run):
    np.save("data.npy", np.arange(4))
    Path("folder").mkdir()
    Path("link.npy").symlink_to("folder/real.npy")
    for _ in range(2):
        assert run("reduce", "max", "data.npy", "-o", "link.npy") == (0, "", "")
        assert Path("link.npy").is_symlink()
        assert np.load("folder/real.npy").tolist() == [3]


def test_bfloat16_output_says_how_to_read_it(run):
    np.save("data.npy", np.arange(4).astype(BFLOAT16))
    status, out, err = run("reduce", "max", "data.npy", "--dtype", "bfloat16", "-o", "out.npy")
    assert (status, out) == (0, "")
    assert err == (
        "reducekit: out.npy holds bfloat16, which NumPy saves as raw items of 2 bytes: read it "
        "with numpy.load(...).view(ml_dtypes.bfloat16), or here with --dtype bfloat16\n"
    )
    assert np.load("out.npy").view(BFLOAT16).tolist() == [3]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize(
    ("op", "descr", "words"),
    [
        ("max", "<f4", []),
        ("min", ">f4", ["--axes", "0"]),
        ("sum", "<i4", ["--axes", "0"]),
        ("sum", "<f4", ["--axes", "1"]),
        ("sum", "<f4", ["--axes", "0"]),
        ("sum", "<f8", []),
    ],
)
def test_a_large_file_takes_little_memory(tmp_path, op, descr, words):
    rows, columns = 8192, 65536 // int(descr[-1])
    path = tmp_path / "data.npy"
    with path.open("wb") as file:
        file.write(header((rows, columns), descr))
        file.truncate(file.tell() + 65536 * rows)  # sparse: 512 MiB that take no disk
    script = (
        "import re, sys; from reducekit import cli\n"
        "def peak(): return int(re.search('VmHWM:\\\\s+(\\\\d+)', "
        "open('/proc/self/status').read())[1])\n"
        "before = peak(); status = cli.main(sys.argv[1:])\n"
        "print(status, peak() - before)"
    )
    command = [sys.executable, "-c", script, "reduce", op, path, *words, "-o", tmp_path / "o.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    status, grown = map(int, done.stdout.split())
    assert status == 0
    assert grown < 150 * 1024
    assert not np.load(tmp_path / "o.npy").any()


@pytest.mark.parametrize("kind", ["numbers", "odd"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("op", schema.OPERATORS, ids=lambda op: op.short)
@pytest.mark.parametrize("row", ELEMENT_TYPES, ids=lambda row: row.name)
def test_pieces_have_the_bits_of_the_whole(monkeypatch, row, op, order, kind):
    if never(op.short, row.name):
        return
    rng = np.random.default_rng(11)
    for shape in ((7, 5, 3), (1, 40), (40, 1), (2, 1, 2, 3), (60,), (0, 4), ()):
        if row.kind == "float":
            data = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)
            if kind == "odd":
                odd = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], shape)
                data = np.where(rng.random(shape) < 0.3, odd, data)
        else:
            data = rng.integers(-(2**62), 2**62, shape)
        data = np.asarray(np.asarray(data).astype(row.numpy_dtype), order=order)
        for axes in itertools.chain.from_iterable(
            itertools.combinations(range(data.ndim), count) for count in range(data.ndim + 1)
        ):
            for keepdims, noop in itertools.product((True, False), repeat=2):
                arguments = {"keepdims": keepdims, "noop_with_empty_axes": noop, "strict": False}
                exact = {"exact": True} if op.short == "sum" else {}
                expected = getattr(rk, op.function)(data, axes, **arguments, **exact)
                for piece in (1, 4 * row.itemsize, 10**9):
                    monkeypatch.setattr(_pieces, "PIECE", piece)
                    counts = []

                    def reading(piece, counts=counts):
                        counts.append(piece.nbytes)
                        return contextlib.nullcontext()

                    got = _pieces.reduce_in_pieces(op, data, axes, reading, **arguments)
                    assert sum(counts) == data.nbytes
                    assert_same(got, expected, f"{shape} {axes} {arguments} {piece}")


def test_released_memory_is_read_again(run, monkeypatch):
    monkeypatch.setattr(_files, "_TRIM_ABOVE", 1)
    monkeypatch.setattr(_files, "_TRIM_SECONDS", 0)
    monkeypatch.setattr(_pieces, "PIECE", 10_000)
    data = np.random.default_rng(5).integers(0, 1000, (300, 200), dtype=np.uint64)
    np.save("c.npy", data)
    np.save("f.npy", np.asfortranarray(data))
    np.savez("data.npz", c=data, f=np.asfortranarray(data))
    for words in (["c.npy"], ["f.npy"], ["data.npz", "--key", "c"], ["data.npz", "--key", "f"]):
        for axes in ([], ["--axes", "0"], ["--axes", "1"]):
            assert run("reduce", "sum", *words, *axes, "-o", "out.npy") == (0, "", "")
            expected = data.sum(axis=int(axes[1]) if axes else None, keepdims=True)
            assert np.load("out.npy").tolist() == expected.tolist()


def test_progress_is_shown_in_terminals_when_it_takes_long(run, monkeypatch, capsys):
    np.save("data.npy", np.arange(1000.0))
    monkeypatch.setattr(_commands, "PIECE", 100)
    monkeypatch.setattr(_pieces, "PIECE", 800)
    tqdm = pytest.importorskip("tqdm")
    made = []

    class Bar(tqdm.tqdm):
        def __init__(self, **kwargs):
            made.append(kwargs)
            super().__init__(**kwargs)

        def close(self):
            made.append(self.n)
            super().close()

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    assert run("reduce", "max", "data.npy") == (0, "[999.0]\n", "")
    assert made == []
    for words in ([], ["--quiet"]):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert cli.main(["reduce", "max", "data.npy", *words]) == 0
    settings = {"total": 8000, "unit": "B", "unit_scale": True, "delay": 2, "leave": False}
    assert made[0] == settings
    assert made[1] == 8000
    out, err = capsys.readouterr()
    assert out == "[999.0]\n[999.0]\n"
    assert err.strip() == ""


# What is refused: each line, literally

NPY = ["reduce", "max", "data.npy"]
TYPES = (
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "float16, bfloat16, float32, float64"
)


def saved(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


REFUSED_FILES = {
    "empty": (b"", "data.npy is empty; reducekit reads .npy and .npz files"),
    "text": (
        b"1,2,3\n",
        (
            "data.npy is neither a .npy nor a .npz file (it begins with b'1,2,3\\n'); "
            "save the array with numpy.save"
        ),
    ),
    "picture": (
        b"\x89PNG\r\n\x1a\n",
        (
            "data.npy is neither a .npy nor a .npz file (it begins with b'\\x89PNG\\r\\n'); "
            "save the array with numpy.save"
        ),
    ),
    "pickle": (
        b"\x80\x05K\x01.",
        (
            "data.npy is a pickle, which is never loaded, as it can run code; "
            "save the array with numpy.save"
        ),
    ),
    "objects": (
        saved(np.array([{}], dtype=object)),
        (
            "data.npy holds pickled objects, which are never loaded, as they can run code; "
            "save an array of numbers"
        ),
    ),
    "objects in a structure": (
        header((1,), [("a", "O")]) + bytes(8),
        (
            "data.npy holds pickled objects, which are never loaded, as they can run code; "
            "save an array of numbers"
        ),
    ),
    "ends in the magic": (
        b"\x93NUMPY\x01",
        "data.npy is truncated: it ends within its header",
    ),
    "ends in the length": (
        b"\x93NUMPY\x01\x00\x40",
        "data.npy is truncated: it ends within its header",
    ),
    "ends in the header": (
        saved(DATA)[:50],
        "data.npy is truncated: it ends within its header",
    ),
    "ends after the header": (
        header((3, 4)),
        (
            "data.npy is truncated: its header promises 48 bytes of data (float32, shape (3, 4)), "
            "but 0 are there"
        ),
    ),
    "ends in the data": (
        saved(DATA)[:-1],
        (
            "data.npy is truncated: its header promises 48 bytes of data (float32, shape (3, 4)), "
            "but 47 are there"
        ),
    ),
    "terabytes": (
        header((2**20, 2**20), "<f8") + bytes(64),
        (
            "data.npy is truncated: its header promises 8796093022208 bytes of data "
            "(float64, shape (1048576, 1048576)), but 64 are there"
        ),
    ),
    "more than can be addressed": (
        header((2**40, 2**40)),
        (
            "data.npy is damaged: its header promises the shape (1099511627776, 1099511627776), "
            "which no array has"
        ),
    ),
    "more than can be addressed, but for a zero": (
        header((2**40, 0, 2**40)),
        (
            "data.npy is damaged: its header promises the shape (1099511627776, 0, 1099511627776), "
            "which no array has"
        ),
    ),
    "a negative size": (
        header((-1, 4)) + bytes(64),
        "data.npy is damaged: its header promises the shape (-1, 4), which no array has",
    ),
    "negative sizes": (
        header((-3, -4)) + bytes(64),
        "data.npy is damaged: its header promises the shape (-3, -4), which no array has",
    ),
    "rank 65": (
        header((1,) * 65) + bytes(64),
        "data.npy is damaged: its header promises rank 65; an array has at most 64",
    ),
    "a header of 4 GiB": (
        npy.magic(2, 0) + struct.pack("<I", 2**32 - 1) + b"{",
        "data.npy is damaged: its header would be 4294967295 bytes long; at most 10000 are read",
    ),
    "no dictionary": (
        literal_header("[1, 2]"),
        "data.npy is damaged: its header cannot be understood",
    ),
    "a call": (
        literal_header("{'descr': __import__('os').getcwd(), 'fortran_order': 1, 'shape': ()}"),
        "data.npy is damaged: its header cannot be understood",
    ),
    "brackets": (
        literal_header("(" * 5000),
        "data.npy is damaged: its header cannot be understood",
    ),
    "an open string": (
        literal_header("{'descr': '''"),
        "data.npy is damaged: its header cannot be understood",
    ),
    "a missing key": (
        literal_header("{'descr': '<f4', 'shape': (1,)}"),
        "data.npy is damaged: its header cannot be understood",
    ),
    "an unknown type": (
        header((1,), "<q9"),
        "data.npy is damaged: its header cannot be understood",
    ),
    "a size that is a bool": (
        header((True, 2)) + bytes(8),
        "data.npy is damaged: its header cannot be understood",
    ),
    "a size that is no int": (
        header((1.5,)),
        "data.npy is damaged: its header cannot be understood",
    ),
    "a size of 5000 digits": (
        literal_header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': (0x{'f' * 5000},)}}"),
        None,
    ),
    "version 9": (
        npy.magic(9, 0) + bytes(100),
        "data.npy has version 9.0 of the .npy format; 1.0, 2.0 and 3.0 are known",
    ),
    "complex": (
        saved(np.zeros(3, np.complex128)),
        f"reduce_max: elements of dtype complex128 cannot be reduced; cast to one of {TYPES}",
    ),
    "text elements": (
        saved(np.array(["a"])),
        f"reduce_max: elements of dtype <U1 cannot be reduced; cast to one of {TYPES}",
    ),
    "dates": (
        saved(np.array(["2026-01-01"], "M8[D]")),
        f"reduce_max: elements of dtype datetime64[D] cannot be reduced; cast to one of {TYPES}",
    ),
    "a structure": (
        saved(np.zeros(2, [("a", "<i4"), ("b", "<f4")])),
        (
            "reduce_max: elements of dtype [('a', '<i4'), ('b', '<f4')] cannot be reduced; "
            f"cast to one of {TYPES}"
        ),
    ),
    "raw items": (
        saved(np.zeros(2, "V3")),
        f"reduce_max: elements of dtype |V3 cannot be reduced; cast to one of {TYPES}",
    ),
    "items without bytes": (
        header((2**40,), "|V0"),
        f"reduce_max: elements of dtype |V0 cannot be reduced; cast to one of {TYPES}",
    ),
    "bfloat16": (
        saved(np.zeros(2, BFLOAT16)),
        (
            "data.npy holds raw items of 2 bytes (|V2), as NumPy saves bfloat16; "
            "add --dtype bfloat16 if that is what they are"
        ),
    ),
    "int16": (
        saved(np.zeros(2, np.int16)),
        (
            "reduce_max: ReduceMax-20 does not take int16; it takes uint32, uint64, int32, int64, "
            "float16, float32, float64, uint8, int8, bfloat16, bool. No opset takes int16: "
            "cast to int32, or use --no-strict"
        ),
    ),
    "an archive without arrays": (
        b"PK\x05\x06" + bytes(18),
        "data.npy holds no arrays",
    ),
    "half an archive": (
        b"PK\x03\x04" + bytes(40),
        "data.npy is damaged: File is not a zip file",
    ),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_refused_file(run, kind):
    content, line = REFUSED_FILES[kind]
    Path("data.npy").write_bytes(content)
    tracemalloc.start()
    result = run(*NPY)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if line is None:  # the number itself differs between versions of NumPy's parser
        assert result[0] == 2
        assert result[2].startswith("reducekit: data.npy is damaged: its header ")
    else:
        fails(result, line)
    assert peak < 8 << 20  # nothing is allocated for what a header promises


REFUSED_WORDS = {
    "axis out of range": (
        ["--axes", "2"],
        "reduce_max: axis 2 is out of range for a tensor of rank 2; use -2 to 1",
    ),
    "axis twice": (
        ["--axes", "0", "-2"],
        "reduce_max: axis 0 (-2) is given twice; name each axis once",
    ),
    "negative axis below opset 11": (
        ["--axes", "-1", "--opset", "10"],
        (
            "reduce_max: axis -1 is negative, which ReduceMax-1 does not define; "
            "negative axes begin at opset 11: use axis 1, opset 11 or later, or --no-strict"
        ),
    ),
    "unknown opset": (
        ["--opset", "99"],
        f"reduce_max: opset 99 is unknown; use 1 to {schema.NEWEST_OPSET} or 'latest'",
    ),
    "noop below opset 18": (
        ["--noop-with-empty-axes", "--opset", "17"],
        (
            "reduce_max: --noop-with-empty-axes, but ReduceMax-13 has no such attribute; "
            "use opset 18 or later"
        ),
    ),
    "key of a .npy file": (
        ["--key", "a"],
        "data.npy is a .npy file, which holds one array; leave out --key",
    ),
    "dtype that is not the file's": (
        ["--dtype", "float64"],
        (
            "data.npy holds float32, not float64; leave out --dtype, "
            "which names the type of raw items and casts nothing"
        ),
    ),
    "axis that is no int": (
        ["--axes", "x"],
        "argument --axes: axis 'x' is not an int; see reducekit reduce --help",
    ),
    "axis that is a fraction": (
        ["--axes", "1.0"],
        "argument --axes: axis '1.0' is not an int; see reducekit reduce --help",
    ),
    "axis missing in a list": (
        ["--axes", "0,"],
        "argument --axes: axis '' is not an int; see reducekit reduce --help",
    ),
    "opset that is no int": (
        ["--opset", "new"],
        (
            f"argument --opset: opset 'new' is not an int; use 1 to {schema.NEWEST_OPSET} "
            "or latest; see reducekit reduce --help"
        ),
    ),
    "shortened option": (
        ["--axe", "0"],
        "unrecognized arguments: --axe 0; see reducekit reduce --help",
    ),
    "output without a format": (
        ["-o", "out.csv"],
        "cannot write out.csv: the name says no format; end it in .npy (NumPy's) or .txt (text)",
    ),
    "output into a missing folder": (
        ["-o", "missing/out.npy"],
        "cannot write missing/out.npy: the folder missing does not exist; make it first",
    ),
    "output below a file": (
        ["-o", "data.npy/out.npy"],
        "cannot write data.npy/out.npy: data.npy is not a folder",
    ),
    "output onto a folder": (
        ["-o", "folder.npy"],
        "cannot write folder.npy: it is a directory; name a file in it",
    ),
    "output onto a pipe": (
        ["-o", "pipe.npy"],
        "cannot write pipe.npy: it is a pipe, not a regular file",
    ),
    "output onto a device": (
        ["-o", "device.npy"],
        "cannot write device.npy: it is a device, not a regular file",
    ),
    "output onto a link to itself": (
        ["-o", "loop.npy"],
        "cannot write loop.npy: too many levels of symbolic links",
    ),
    "output with a NUL": (
        ["-o", "a\0b.npy"],
        "cannot write a\\x00b.npy: no file can have this name",
    ),
    "output with a name too long": (
        ["-o", "x" * 300 + ".npy"],
        f"cannot write {'x' * 300}.npy: file name too long",
    ),
}


@pytest.mark.parametrize("kind", REFUSED_WORDS)
def test_refused_words(run, kind):
    words, line = REFUSED_WORDS[kind]
    np.save("data.npy", DATA)
    Path("folder.npy").mkdir()
    os.mkfifo("pipe.npy")
    Path("device.npy").symlink_to("/dev/null")
    Path("loop.npy").symlink_to("loop.npy")
    before = sorted(Path().iterdir())
    fails(run(*NPY, *words), line)
    assert sorted(Path().iterdir()) == before


REFUSED_COMMANDS = {
    "no such operator": (
        ["reduce", "prod", "data.npy"],
        (
            "argument {max,min,sum}: operator 'prod' is unknown; use one of max, min, sum; "
            "see reducekit reduce --help"
        ),
    ),
    "no file": (
        ["reduce", "max"],
        "the following arguments are required: FILE; see reducekit reduce --help",
    ),
    "file after the axes": (
        ["reduce", "max", "--axes", "0", "data.npy"],
        (
            "argument --axes: axis 'data.npy' is not an int; write the file before --axes; "
            "see reducekit reduce --help"
        ),
    ),
    "missing": (["reduce", "max", "no.npy"], "cannot read no.npy: no such file"),
    "no name": (["reduce", "max", ""], "cannot read '': no such file"),
    "below a file": (
        ["reduce", "max", "data.npy/x.npy"],
        "cannot read data.npy/x.npy: not a directory",
    ),
    "NUL": (["reduce", "max", "a\0b"], "cannot read a\\x00b: no file can have this name"),
    "a name of two lines": (["reduce", "max", "a\nb"], "cannot read a\\nb: no such file"),
    "a name that is no text": (
        ["reduce", "max", "a\udcff"],
        "cannot read a\\udcff: no such file",
    ),
    "directory": (
        ["reduce", "max", "."],
        "cannot read .: it is a directory; name a .npy or .npz file in it",
    ),
    "pipe": (
        ["reduce", "max", "pipe"],
        "cannot read pipe: it is a pipe; save the array as a .npy file, so that it can be mapped",
    ),
    "socket": (
        ["reduce", "max", "socket"],
        (
            "cannot read socket: it is a socket; "
            "save the array as a .npy file, so that it can be mapped"
        ),
    ),
    "device": (
        ["reduce", "max", "/dev/zero"],
        (
            "cannot read /dev/zero: it is a device; "
            "save the array as a .npy file, so that it can be mapped"
        ),
    ),
    "a link to itself": (
        ["reduce", "max", "loop"],
        "cannot read loop: too many levels of symbolic links",
    ),
    "several arrays": (
        ["reduce", "max", "two.npz"],
        "two.npz holds 2 arrays; choose one with --key: a, b",
    ),
    "no such array": (
        ["reduce", "max", "two.npz", "--key", "c"],
        "two.npz holds no array c; it holds a, b",
    ),
    "no arrays": (["reduce", "max", "none.npz"], "none.npz holds no arrays"),
    "raw items of another size": (
        ["reduce", "max", "brain.npy", "--dtype", "float32"],
        "brain.npy holds raw items of 2 bytes; float32 has 4",
    ),
    "no sum of bool": (
        ["reduce", "sum", "bool.npy"],
        (
            "reduce_sum: ReduceSum-13 does not take bool; it takes uint32, uint64, int32, int64, "
            "float16, float32, float64, bfloat16. No opset takes bool: "
            "cast to int32 or int64 to count"
        ),
    ),
    "JSON": (
        ["atb", '{"axes": [0]}', "data.npy"],
        "ReduceParam: key 'axes' is unknown; use reduceType, axis, rsv",
    ),
    "JSON of a wrong type": (
        ["atb", '{"reduceType": 1, "axis": [true]}', "data.npy"],
        "ReduceParam: axis holds True of type bool; use a list of ints",
    ),
    "restriction of ATB": (
        ["atb", '{"reduceType": 1, "axis": [2]}', "data.npy"],
        "ReduceOperation: axis 2 is out of range for a tensor of rank 2; use 0 to 1",
    ),
    "ATB on complex elements": (
        ["atb", '{"reduceType": 1, "axis": [0]}', "complex.npy"],
        f"ReduceOperation: elements of dtype complex64 cannot be reduced; cast to one of {TYPES}",
    ),
    "explain without a shape": (
        ["explain", "max"],
        "the following arguments are required: --shape; see reducekit explain --help",
    ),
    "explain a wrong shape": (
        ["explain", "max", "--shape", "2,x"],
        (
            "argument --shape: size 'x' is not an int; write the shape as in 2,3,2; "
            "see reducekit explain --help"
        ),
    ),
    "explain a negative size": (
        ["explain", "max", "--shape=-2,3"],
        "reduce_max: the size -2 of axis 0 is out of range; use 0 to 2**63 - 1",
    ),
    "explain a wrong axis": (
        ["explain", "max", "--shape", "2,3", "--axes", "5"],
        "reduce_max: axis 5 is out of range for a tensor of rank 2; use -2 to 1",
    ),
    "opsets of nothing": (
        ["opsets", "Conv"],
        (
            "argument OPERATOR: operator 'Conv' is unknown; use one of max, min, sum; "
            "see reducekit opsets --help"
        ),
    ),
}


@pytest.mark.parametrize("kind", REFUSED_COMMANDS)
def test_refused_command(run, kind):
    argv, line = REFUSED_COMMANDS[kind]
    np.save("data.npy", DATA)
    np.save("brain.npy", np.zeros(2, BFLOAT16))
    np.save("bool.npy", np.zeros(2, bool))
    np.save("complex.npy", np.zeros(2, np.complex64))
    np.savez("two.npz", a=DATA, b=DATA)
    np.savez("none.npz")
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        fails(run(*argv), line)


def test_refused_command_that_does_not_exist(run):
    status, out, err = run("multiply")
    assert (status, out) == (2, "")
    assert err.startswith("reducekit: argument COMMAND: invalid choice: 'multiply' (choose from ")
    assert err.endswith("; see reducekit --help\n")
    assert err.count("\n") == 1


def test_no_permission_to_read(run, other_user):
    np.save("data.npy", DATA)
    Path("data.npy").chmod(0)
    with other_user():
        fails(run(*NPY), "cannot read data.npy: permission denied")
    Path("data.npy").chmod(0o644)
    folder = Path("folder")
    folder.mkdir()
    shutil.copy("data.npy", folder)
    folder.chmod(0)
    with other_user():
        result = run("reduce", "max", "folder/data.npy")
    folder.chmod(0o700)
    fails(result, "cannot read folder/data.npy: permission denied")


def test_no_permission_to_write(run, other_user):
    np.save("data.npy", DATA)
    folder = Path("folder")
    folder.mkdir()
    old = folder / "old.npy"
    old.write_bytes(b"old")
    folder.chmod(0o555)
    with other_user():
        result = run(*NPY, "-o", "folder/new.npy")
    folder.chmod(0o777)
    fails(result, "cannot write folder/new.npy: permission denied in the folder folder")
    old.chmod(0o444)
    with other_user():
        fails(run(*NPY, "-o", "folder/old.npy"), "cannot write folder/old.npy: permission denied")
    folder.chmod(0)
    with other_user():
        result = run(*NPY, "-o", "folder/old.npy")
    folder.chmod(0o777)
    fails(result, "cannot write folder/old.npy: permission denied in the folder folder")
    assert old.read_bytes() == b"old"
    assert [path.name for path in folder.iterdir()] == ["old.npy"]


# What is refused: archives


def archive(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    return buffer.getvalue()


def test_archive_of_something_else(run):
    Path("data.npz").write_bytes(archive({"readme.txt": b"hello"}))
    fails(
        run("reduce", "max", "data.npz"),
        "readme.txt in data.npz is neither a .npy nor a .npz file (it begins with b'hello'); "
        "save the array with numpy.save",
    )


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archive_whose_array_is_too_short(run, compression):
    content = header((2**20, 2**20), "<f8") + bytes(64)
    Path("data.npz").write_bytes(archive({"x.npy": content}, compression))
    fails(
        run("reduce", "max", "data.npz"),
        "x in data.npz is truncated: its header promises 8796093022208 bytes of data "
        "(float64, shape (1048576, 1048576)), but 64 are there",
    )


@pytest.mark.parametrize("size", [2**31, 2**32 - 256])
def test_archive_that_promises_more_than_it_holds(run, size):
    """The directory of the archive agrees with the forged header, but the data does not come."""
    count = size // 8
    start = header((count,), "<f8")
    content = archive({"x.npy": start + bytes(64)}, zipfile.ZIP_DEFLATED)
    forged = struct.pack("<I", len(start) + 8 * count)
    honest = struct.pack("<I", len(start) + 64)
    assert content.count(honest) >= 2
    Path("data.npz").write_bytes(content.replace(honest, forged))
    tracemalloc.start()
    result = run("reduce", "max", "data.npz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
    assert result[0] == 2
    assert result[2].startswith(("reducekit: x in data.npz is truncated", "reducekit: data.npz is"))
    assert result[2].count("\n") == 1


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archive_with_a_flipped_bit(run, save):
    save("data.npz", x=np.random.default_rng(3).random(1000))
    content = bytearray(Path("data.npz").read_bytes())
    content[len(content) // 2] ^= 4
    Path("data.npz").write_bytes(content)
    status, out, err = run("reduce", "max", "data.npz")
    assert (status, out) == (2, "")
    # zlib may notice before the checksum does.
    assert err.startswith("reducekit: data.npz is damaged: ")
    assert err.count("\n") == 1
    if save is np.savez:
        assert err == "reducekit: data.npz is damaged: Bad CRC-32 for file 'x.npy'\n"


def test_archive_with_a_password(run):
    content = bytearray(archive({"x.npy": saved(DATA)}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    Path("data.npz").write_bytes(content)
    fails(
        run("reduce", "max", "data.npz"),
        "x in data.npz is encrypted; save it without a password",
    )


def test_archive_that_is_cut(run):
    np.savez("data.npz", x=np.arange(1000.0))
    Path("data.npz").write_bytes(Path("data.npz").read_bytes()[:4000])
    fails(run("reduce", "max", "data.npz"), "data.npz is damaged: File is not a zip file")


def test_archive_with_objects(run):
    np.savez("data.npz", x=np.array([{}], dtype=object))
    fails(
        run("reduce", "max", "data.npz"),
        "x in data.npz holds pickled objects, which are never loaded, as they can run code; "
        "save an array of numbers",
    )


def test_array_of_an_archive_that_does_not_fit_in_memory(run, monkeypatch):
    np.savez_compressed("data.npz", x=np.zeros(4 << 20))

    class Full(bytearray):
        def __iadd__(self, other):
            raise MemoryError

    monkeypatch.setattr(_files, "bytearray", Full, raising=False)
    fails(
        run("reduce", "max", "data.npz"),
        "x in data.npz does not fit in memory: it needs 32 MiB; save it uncompressed "
        "(numpy.save or numpy.savez), so that it can be mapped",
    )


def test_file_that_is_cut_while_it_is_opened(run, monkeypatch):
    Path("data.npy").write_bytes(saved(DATA)[:-8])
    monkeypatch.setattr(_files, "_check_size", lambda *_: None)
    fails(run(*NPY), "data.npy is truncated: it became shorter while it was opened")


# What is refused: anything at all


@given(data=st.data())
def test_any_npy_file_gives_a_result_or_one_line(data, tmp_path_factory):
    content = bytearray(
        data.draw(
            st.sampled_from(
                [
                    saved(DATA),
                    saved(np.arange(5, dtype=np.int16)),
                    header((2, 3), "|V2") + bytes(12),
                ]
            )
        )
    )
    _mangle(content, data)
    _result_or_one_line(content, tmp_path_factory)


@given(data=st.data())
def test_any_npz_file_gives_a_result_or_one_line(data, tmp_path_factory):
    compression = data.draw(
        st.sampled_from(
            [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
        )
    )
    content = bytearray(archive({"x.npy": saved(DATA)}, compression))
    _mangle(content, data)
    _result_or_one_line(content, tmp_path_factory)


def _mangle(content, data):
    for _ in range(data.draw(st.integers(0, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(1, len(content))) :]
    content += data.draw(st.binary(max_size=8))


def _result_or_one_line(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.npy"
    path.write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(["reduce", "max", str(path), "--dtype", "bfloat16"])
        if status == 2:
            err.seek(0)
            err.truncate()
            status = cli.main(["reduce", "max", str(path)])
    if status == 0:
        assert err.getvalue() == ""
        assert out.getvalue() != ""
    else:
        assert status == 2
        assert out.getvalue() == ""
        assert re.fullmatch(r"reducekit: [^\n]+\n", err.getvalue())


# What goes wrong on the way


def test_ctrl_c(run, monkeypatch):
    np.save("data.npy", DATA)

    def read(*_):
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([], 1)

    monkeypatch.setattr(_commands, "read", read)
    assert run(*NPY) == (130, "", "reducekit: interrupted\n")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads Linux's /proc")
def test_ctrl_c_while_a_large_file_is_reduced(tmp_path):
    path = tmp_path / "data.npy"
    with path.open("wb") as file:
        file.write(header((1 << 20, 1 << 16), "<f4"))
        file.truncate(file.tell() + (1 << 38))  # sparse: 256 GiB that take no disk
    (tmp_path / "out.npy").write_bytes(b"old")
    command = [sys.executable, "-m", "reducekit", "reduce", "max", path, "-o", "out.npy"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        maps = Path(f"/proc/{running.pid}/maps")
        while str(path) not in maps.read_text():
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (130, "reducekit: interrupted\n")
    assert (tmp_path / "out.npy").read_bytes() == b"old"
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "fdopen"])
@pytest.mark.parametrize("old", [b"old", None])
def test_ctrl_c_while_writing_leaves_the_old_file(run, monkeypatch, tmp_path, step, old):
    np.save("data.npy", DATA)
    if old is not None:
        Path("out.npy").write_bytes(old)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, interrupt)
    assert run(*NPY, "-o", "out.npy") == (130, "", "reducekit: interrupted\n")
    assert (Path("out.npy").read_bytes() if Path("out.npy").exists() else None) == old
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("old", [b"old", None])
def test_file_size_limit_leaves_the_old_file(tmp_path, old):
    np.save(tmp_path / "data.npy", np.arange(100_000))
    if old is not None:
        (tmp_path / "out.npy").write_bytes(old)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    words = ["reduce", "max", "data.npy", "--noop-with-empty-axes", "-o", "out.npy"]
    done = process(*words, cwd=tmp_path, preexec_fn=limit)
    left = "no file was made" if old is None else "the old file is unchanged"
    assert done.stderr == f"reducekit: cannot write out.npy: file too large; {left}\n"
    assert done.returncode == 2
    path = tmp_path / "out.npy"
    assert (path.read_bytes() if path.exists() else None) == old
    assert left_behind(tmp_path) == []


def _small_disk(folder):
    """A command that runs another on a disk of 64 KiB, or None where that is not allowed."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    script = f'mount -t tmpfs -o size=64k tmpfs "{folder}" && '
    if shutil.which("unshare") is None:
        return None
    probe = subprocess.run([*command, script + "true"], check=False, capture_output=True)
    return (command, script) if probe.returncode == 0 else None


@pytest.mark.parametrize("old", [True, False])
def test_full_disk_leaves_the_old_file(tmp_path, old):
    disk = tmp_path / "disk"
    disk.mkdir()
    small = _small_disk(disk)
    if small is None:
        pytest.skip("this machine lets no user mount a small disk")
    np.save(tmp_path / "data.npy", np.arange(100_000))
    command, script = small
    prepare = f'printf old > "{disk}/out.npy" && ' if old else ""
    program = f"{sys.executable} -m reducekit reduce max data.npy --noop-with-empty-axes"
    look = f'; echo $?; ls -A "{disk}"; cat "{disk}"/*'
    done = subprocess.run(
        [*command, f'{script}{prepare}{program} -o "{disk}/out.npy"{look}'],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    left = "the old file is unchanged" if old else "no file was made"
    line = f"reducekit: cannot write {disk}/out.npy: the disk is full; {left}\n"
    assert done.stderr.startswith(line)
    assert done.stdout == ("2\nout.npy\nold" if old else "2\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_standard_output_on_a_full_disk(tmp_path):
    np.save(tmp_path / "data.npy", DATA)
    with Path("/dev/full").open("w") as full:
        done = process(*NPY, cwd=tmp_path, stdout=full)
    assert done.stderr == "reducekit: cannot write to standard output: the disk is full\n"
    assert done.returncode == 2


@pytest.mark.parametrize("words", [["opsets"], []])
def test_reader_that_went_away(words):
    reader, writer = os.pipe()
    os.close(reader)
    done = process(*words, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_standard_output_that_is_closed(run, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    np.save("data.npy", DATA)
    assert run(*NPY) == (2, "", "reducekit: there is no standard output to write to\n")


def test_standard_error_that_is_closed(run, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert run("reduce", "max", "missing.npy") == (2, "", "")


def test_name_that_the_terminal_cannot_show(tmp_path):
    words = ["explain", "max", "--shape", "2", "--dims", "\u00e9", "--axes", "\u00e9"]
    done = process(*words, cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^  name +\\xe9$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("data.npy", "the data has 48 B and is mapped, so it is the result that does not fit"),
        ("data.npz", "the data has 48 B"),
    ],
)
def test_out_of_memory(run, monkeypatch, where, line):
    np.save("data.npy", DATA)
    np.savez_compressed("data.npz", DATA)

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(_commands, "reduce_in_pieces", full)
    fails(run("reduce", "max", where), f"out of memory ({line})")


# What it says of itself


def test_version_and_help(capsys):
    for words, text in (
        (["--version"], f"reducekit {rk.__version__}\n"),
        (["--help"], "usage: reducekit "),
        (["reduce", "--help"], "usage: reducekit reduce "),
        (["explain", "--help"], "usage: reducekit explain "),
        (["opsets", "--help"], "usage: reducekit opsets "),
        (["atb", "--help"], "usage: reducekit atb "),
    ):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert ended.value.code == 0
        out, err = capsys.readouterr()
        assert out.startswith(text)
        assert err == ""


def test_without_a_command(run):
    status, out, err = run()
    assert (status, err) == (0, "")
    assert out.startswith(f"reducekit {rk.__version__}\n")
    assert f"NumPy      {np.__version__}, ml_dtypes {ml_dtypes.__version__}\n" in out
    assert "\nusage: reducekit " in out


def test_as_a_module(tmp_path):
    np.save(tmp_path / "data.npy", np.arange(4))
    done = process(*NPY, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[3]\n", "")
    done = process("reduce", "max", "missing.npy", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "reducekit: cannot read missing.npy: no such file\n"


def test_opsets_of_one_operator(run):
    status, out, err = run("opsets", "ReduceMax")
    assert (status, err) == (0, "")
    assert (
        out
        == """\
ReduceMax: the maximum; of an empty set: -inf, the least integer, False
  opsets  version       axes       negative  noop  element types
  1-10    ReduceMax-1   attribute  no        no    uint32 uint64 int32 int64
                                                   float16 float32 float64
  11      ReduceMax-11  attribute  yes       no    the same
  12      ReduceMax-12  attribute  yes       no    also uint8 int8
  13-17   ReduceMax-13  attribute  yes       no    also bfloat16
  18-19   ReduceMax-18  input      yes       yes   the same
  20-28   ReduceMax-20  input      yes       yes   also bool
"""
    )


def test_opsets_shows_every_row_of_the_table(run):
    _, out, _ = run("opsets")
    blocks = out.split("\n\n")
    assert len(blocks) == len(schema.OPERATORS)
    for op, block in zip(schema.OPERATORS, blocks, strict=True):
        assert block.startswith(f"{op.name}: the {op.verb}; ")
        assert run("opsets", op.short)[1].rstrip() == block.rstrip()
        rows = re.findall(
            r"^  (\d+)(?:-(\d+))? +(\S+) +(attribute|input) +(yes|no) +(yes|no) ",
            block,
            re.MULTILINE,
        )
        assert len(rows) == len(op.versions)
        for (first, last, *shown), version in zip(rows, op.versions, strict=True):
            for opset in range(int(first), int(last or first) + 1):
                assert schema.resolve(op.name, opset) == version
            assert shown == [
                str(version),
                version.axes,
                "yes" if version.negative_axes else "no",
                "yes" if version.noop_with_empty_axes else "no",
            ]
        words = block.split("element types")[1].split()
        names = {row.name for row in ELEMENT_TYPES}
        assert {word for word in words if word in names} == set(op.versions[-1].dtypes)
        assert max(map(len, block.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["--shape", "2,3,2", "--axes", "0", "1", "--opset", "18"], {"axes": [0, 1], "opset": 18}),
        (["--shape", "2", "3", "2"], {}),
        (["--shape", "(2,3,2)", "--axes=-1", "--no-keepdims"], {"axes": [-1], "keepdims": False}),
        (["--shape", "2,3,2", "--noop-with-empty-axes"], {"noop_with_empty_axes": True}),
        (
            ["--shape", "2,3,2", "--dtype", "int16", "--no-strict"],
            {"dtype": "int16", "strict": False},
        ),
        (
            ["--shape", "2,3,2", "--dims", "a,,c", "--axes", "c,1"],
            {"dims": ["a", None, "c"], "axes": ["c", 1]},
        ),
    ],
)
@pytest.mark.parametrize("op", [op.short for op in schema.OPERATORS])
def test_explain_is_the_function(run, op, words, arguments):
    expected = str(rk.explain(op, (2, 3, 2), **arguments))
    assert run("explain", op, *words) == (0, f"{expected}\n", "")


def test_explain_rank_0(run):
    for words in (["--shape"], ["--shape", ""], ["--shape="]):
        assert run("explain", "max", *words) == (0, f"{rk.explain('max', ())}\n", "")
