"""``reducekit check`` and ``reducekit run``: what they print, write and return."""

import json
import math
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnx_world.architectures import ARCHITECTURES
from onnx_world.builders import model, node, reduction, save, value
from oracles import assert_same

import reducekit as rk
from reducekit.cli import main
from reducekit.onnx import backend
from reducekit.onnx.compare import compare

X = np.array([[1, np.nan, 2], [3, 4, 5]], np.float32)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the program in an empty folder; gives (status, lines of output, lines of errors)."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)

    def call(*words):
        status = main(list(map(str, words)))
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert err.count("\n") == len(err.splitlines())
        return status, out.splitlines(), err.splitlines()

    return call


def test_help_lists_both_without_onnx():
    code = (
        "import sys; from reducekit.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "try: main(['check', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('onnx', 'onnxruntime')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "    check     judge the reductions in an ONNX model" in out.stdout
    assert "    run       run an ONNX model with these reductions" in out.stdout
    assert out.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("from reducekit.cli import main; sys.exit(main(['check', 'm.onnx']))", 2),
        ("from reducekit.cli import main; sys.exit(main(['run', 'm.onnx']))", 2),
        ("import reducekit.onnx; reducekit.onnx.check_model", 1),
        ("import reducekit.onnx.backend", 1),
        ("from reducekit.onnx import OPS", 1),
    ],
)
def test_without_onnx_the_extra_is_named(code, status):
    blocked = f"import sys; sys.modules['onnx'] = None; {code}"
    words = [sys.executable, "-c", blocked]
    out = subprocess.run(words, capture_output=True, text=True, check=False)
    assert out.returncode == status
    assert out.stderr.splitlines()[-1].endswith(
        "reducekit.onnx needs the package onnx, which is not installed; "
        "run: pip install 'reducekit[onnx]'"
    )
    assert ("Traceback" in out.stderr) == (status == 1)


def test_check_says_ok_and_says_illegal(run):
    save(reduction("ReduceMax", 13, axes=[1]), "good.onnx")
    save(reduction("ReduceMax", 13, axes=[9]), "bad.onnx")
    status, out, err = run("check", "good.onnx")
    assert (status, err) == (0, [])
    assert out[:2] == ["good.onnx: IR version 10, opset 13", "1 reduction: all legal"]
    status, out, err = run("check", "bad.onnx")
    assert (status, err) == (1, [])
    assert out[1] == "1 reduction: 1 illegal"
    status, out, _ = run("check", "good.onnx", "--opset", "18")
    assert status == 1
    assert (
        "  breaks at opset 18: axes are an attribute, but ReduceMax-18 takes them as an" in out[5]
    )
    status, out, _ = run("check", "bad.onnx", "--format", "json", "--opset", "latest")
    told = json.loads("\n".join(out))
    assert (status, told["source"], told["ok"], told["target_opset"]) == (1, "bad.onnx", False, 28)


def test_check_lists_the_faults_of_the_runtimes_that_are_named(run):
    save(reduction("ReduceMax", 13, axes=[1]), "m.onnx")
    _, out, _ = run("check", "m.onnx")
    assert any(line.startswith("  onnxruntime 1.32.0, ReduceMax 'r'") for line in out)
    assert not any(line.startswith("  torch") for line in out)
    _, out, _ = run("check", "m.onnx", "--runtime", "torch", "numpy")
    assert [line.split()[0] for line in out if line.endswith(":") and line[2] != " "][1:] == [
        "torch",
        "numpy",
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["check", "none.onnx"], "cannot read none.onnx: no such file or directory"),
        (["check", "."], "cannot read .: is a directory"),
        (["check", "x.npy"], "check_model: 'x.npy' cannot be read as an ONNX model: "),
        (["check", "empty"], "check_model: 'empty' cannot be read as an ONNX model: it holds no"),
        (["check", "m.onnx", "--opset", "99"], "check_model: opset 99 is unknown; use 1 to 28"),
        (["check", "m.onnx", "--opset", "new"], "argument --opset: opset 'new' is not an int"),
        (["run", "none.onnx"], "cannot read none.onnx: no such file or directory"),
        (["run", "x.npy"], "run: 'x.npy' cannot be read as an ONNX model: "),
        (["run", "m.onnx"], "run: no value for 'x' (float32 (N, 3)); the model takes 'x'"),
        (["run", "m.onnx", "--input", "y.npy"], "cannot read y.npy: no such file"),
        (["run", "m.onnx", "--input", "x=y.npy"], "cannot read y.npy: no such file"),
        (["run", "m.onnx", "--input", "x.npy", "x.npy"], "x.npy fits no input; the model's inp"),
        (["run", "m.onnx", "--input", "x=x.npy", "x=x.npy"], "input 'x' is given twice"),
        (["run", "m.onnx", "--input", "m.onnx"], "m.onnx is neither a .npy nor a .npz file"),
        (["run", "m.onnx", "--input", "wide.npy"], "run: input 'x' is float64, but the model"),
        (["run", "m.onnx", "--input", "flat.npy"], "run: input 'x' has shape (3,), but the mod"),
        (["run", "m.onnx", "--input", "bf.npy"], "bf.npy holds raw items of 2 bytes, as NumPy"),
        (["run", "m.onnx", "--input", "bad.pb"], "bad.pb holds no TensorProto: "),
        (["run", "m.onnx", "--input", "none.pb"], "cannot read none.pb: no such file or dir"),
        (["run", "m.onnx", "--input", "x.npy", "-o", "empty"], "cannot write to empty: it is a "),
        (["run", "m.onnx", "--input", "x.npy", "--rtol", "1"], "--rtol and --atol say how to"),
        (["run", "m.onnx", "--input", "x.npy", "--compare", "x"], "argument --compare: invalid"),
        (["run", "m.onnx", "--compare", "onnxruntime", "--rtol", "-1"], "argument --rtol: '-1' is"),
    ],
)
def test_what_cannot_be_read_or_understood(run, words, text):
    save(reduction("ReduceMax", 13, shape=("N", 3), axes=[1]), "m.onnx")
    np.save("wide.npy", X.astype(np.float64))
    np.save("flat.npy", X[0])
    np.save("bf.npy", X.astype(ml_dtypes.bfloat16))
    Path("empty").write_bytes(b"")
    Path("bad.pb").write_bytes(b"\xff" * 5)
    status, out, err = run(*words)
    assert (status, out) == (2, [])
    assert len(err) == 1
    assert err[0].startswith(f"reducekit: {text}")


def test_run_writes_the_outputs(run, tmp_path):
    made = model(
        [node("ReduceMax", ["x"], ["a/b"], axes=[1]), node("ReduceMin", ["x"], ["a_b"], axes=[0])],
        [value("x", "float32", ["N", 3])],
        [value("a/b", "float32", None), value("a_b", "float32", None)],
        13,
    )
    save(made, "m.onnx")
    status, out, err = run("run", "m.onnx", "--input", "x.npy", "-o", "deep/out")
    assert (status, err) == (0, [])
    assert out == [
        "'a/b': float32 (2, 1) = nan, 5.0",
        "'a_b': float32 (1, 3) = 1.0, nan, 2.0",
        "wrote deep/out/a_b.npy",
        "wrote deep/out/a_b_2.npy",
    ]
    assert_same(np.load("deep/out/a_b.npy"), rk.reduce_max(X, [1]))
    assert_same(np.load("deep/out/a_b_2.npy"), rk.reduce_min(X, [0]))
    assert sorted(path.name for path in (tmp_path / "deep/out").iterdir()) == [
        "a_b.npy",
        "a_b_2.npy",
    ]


@pytest.mark.parametrize("name", ["..", "../../up", ".hidden", "", "a\nb", "x" * 300, "nul\u00e9"])
def test_names_of_outputs_stay_in_the_folder(run, tmp_path, name):
    made = model(
        [node("ReduceMax", ["x"], [name or "y"])],
        [value("x", "float32", [2, 3])],
        [value(name or "y", "float32", None)],
    )
    save(made, "m.onnx")
    status, out, _ = run("run", "m.onnx", "--input", "x.npy", "-o", "out")
    assert status == 0
    assert len(out) == 2
    assert len(list((tmp_path / "out").iterdir())) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "out", "x.npy"]


def test_inputs_by_order_name_and_proto(run):
    made = model(
        [node("Sub", ["a", "b"], ["d"]), node("ReduceSum", ["d"], keepdims=0)],
        [value("a", "float32", [2]), value("b", "float32", [2])],
        [value("y", "float32", [])],
    )
    save(made, "m.onnx")
    one, two = np.float32([1, 2]), np.float32([10, 20])
    np.save("one.npy", one)
    np.save("a=two.npy", two)
    Path("two.pb").write_bytes(numpy_helper.from_array(two).SerializeToString())
    for words in (
        ["one.npy", "two.pb"],
        ["b=two.pb", "one.npy"],
        ["b=two.pb", "--input", "a=one.npy"],
        ["one.npy", "b=a=two.npy"],
    ):
        assert run("run", "m.onnx", "--input", *words) == (0, ["'y': float32 () = -27.0"], [])


def test_bfloat16_in_and_out(run):
    save(reduction("ReduceSum", 13, "bfloat16", shape=[2, 3], axes=[1]), "m.onnx")
    data = np.array([[1, 2, 3], [4, 5, 6]], ml_dtypes.bfloat16)
    np.save("bf.npy", data)
    status, out, _ = run("run", "m.onnx", "--input", "bf.npy", "-o", "out")
    assert status == 0
    assert out == ["'y': bfloat16 (2, 1) = 6, 15", "wrote out/y.npy, bfloat16 as raw items"]
    got = np.load("out/y.npy").view(ml_dtypes.bfloat16)
    assert_same(got, rk.reduce_sum(data, [1]))
    status, _, err = run("run", "m.onnx", "--input", "x.npy")
    assert status == 2
    assert "is float32, but the model declares bfloat16 (2, 3)" in err[0]


def test_texts_pass_through(run):
    pytest.importorskip("onnxruntime")
    made = model(
        [node("Identity", ["t"], ["u"]), node("ReduceMax", ["x"], ["y"])],
        [value("t", TensorProto.STRING, [2]), value("x", "float32", [2, 3])],
        [value("u", TensorProto.STRING, [2]), value("y", "float32", None)],
    )
    save(made, "m.onnx")
    np.save("t.npy", np.array(["a", "bc"]))
    status, out, _ = run("run", "m.onnx", "--input", "t.npy", "x.npy", "-o", "out", "--compare",
                         "onnxruntime")  # fmt: skip
    assert status == 0
    assert np.load("out/u.npy").tolist() == ["a", "bc"]
    assert "  'u' object (2,): equal in every bit that counts, 2 elements" in out


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (reduction("ReduceMax", 13, shape=[2, 3], axes=[7]),
         [("axis 7 is out of range for a tensor of rank 2; use -2 to 1 "
          "(in node ReduceMax 'r' with output 'y')")]),
        (reduction("ReduceMax", 18, shape=[2, 3], axes=[1], form="attribute"),
         ["ReduceMax 'r': axes are an attribute, but ReduceMax-18 takes them as an input: move"]),
        (model([node("Nothing", ["x"])], [value("x", "float32", [2, 3])],
               [value("y", "float32", [])]),
         ["the model fails: ", "onnx.checker says: No Op registered for Nothing"]),
        (model([node("Add", ["x", "z"])], [value("x", "float32", [2, 3])],
               [value("y", "float32", [])]),
         ["the model fails: RuntimeError: Unable to find input 'z'",
          "onnx.checker says: Nodes in a graph must be topologically sorted"]),
    ],
)  # fmt: skip
def test_models_that_fail(run, made, lines):
    save(made, "m.onnx")
    status, out, err = run("run", "m.onnx", "--input", "x.npy")
    assert (status, out) == (1, [])
    assert len(err) == len(lines)
    for line, text in zip(err, lines):
        assert text in line


def test_strict_can_be_lifted(run):
    save(reduction("ReduceMax", 10, shape=[2, 3], axes=[-1]), "m.onnx")
    status, _, err = run("run", "m.onnx", "--input", "x.npy")
    assert status == 1
    assert "axis -1 is negative" in err[0]
    assert run("run", "m.onnx", "--input", "x.npy", "--no-strict")[0] == 0


def test_compare_shows_the_first_and_the_largest_difference(run):
    pytest.importorskip("onnxruntime")
    save(reduction("ReduceMax", 13, shape=[2, 3], axes=[1], keepdims=0), "m.onnx")
    status, out, err = run("run", "m.onnx", "--input", "x.npy", "--compare", "onnxruntime")
    assert (status, err) == (0, [])
    assert out[2:4] == [
        "reducekit against onnxruntime:",
        (
            "  'y' float32 (2,): 1 of 2 elements differ; largest difference nan at [0]; "
            "first at [0]: reducekit nan, onnxruntime 2.0"
        ),
    ]
    assert "    nan: with a NaN that is not the first of the reduced elements" in out[7]
    limits = ["--compare", "onnxruntime", "--atol", "1"]
    status, _, err = run("run", "m.onnx", "--input", "x.npy", *limits)
    assert status == 1
    assert err == ["reducekit: outputs differ by more than --rtol and --atol allow"]
    np.save("x.npy", np.nan_to_num(X))
    status, out, _ = run("run", "m.onnx", "--input", "x.npy", *limits)
    assert status == 0
    assert out[-1] == "  'y' float32 (2,): equal in every bit that counts, 2 elements"


def test_compare_with_a_runtime_that_cannot(run):
    pytest.importorskip("onnxruntime")
    save(reduction("ReduceMax", 13, "uint32", shape=[2], axes=[0]), "m.onnx")
    np.save("u.npy", np.uint32([1, 2]))
    status, out, err = run("run", "m.onnx", "--input", "u.npy", "--compare", "onnxruntime")
    assert status == 1
    assert out[0] == "'y': uint32 (1,) = 2"
    assert err[0].startswith("reducekit: onnxruntime cannot run the model: ")
    assert "    missing type: the model does not load, there is no kernel" in out


def test_compare_without_the_runtime(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    save(reduction("ReduceMax", 13, shape=[2, 3], axes=[1]), "m.onnx")
    status, _, err = run("run", "m.onnx", "--input", "x.npy", "--compare", "onnxruntime")
    assert (status, err) == (
        1,
        ["reducekit: onnxruntime is not installed; run: pip install onnxruntime"],
    )


def test_compare_of_bfloat16_through_onnxruntime(run):
    pytest.importorskip("onnxruntime")
    made = model(
        [
            node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT),
            node("ReduceMax", ["wide"], ["m"], axes=[1]),
            node("Cast", ["m"], ["y"], to=TensorProto.BFLOAT16),
        ],
        [value("x", "bfloat16", [2, 3])],
        [value("y", "bfloat16", [2, 1])],
        13,
        ir_version=8,
    )
    save(made, "m.onnx")
    np.save("bf.npy", np.array([[1, 2, 3], [4, 5, 6]], ml_dtypes.bfloat16))
    status, out, _ = run("run", "m.onnx", "--input", "bf.npy", "--compare", "onnxruntime")
    assert status == 0
    assert out[-1] == "  'y' bfloat16 (2, 1): equal in every bit that counts, 2 elements"


def test_external_data_beside_the_model(run):
    made = model(
        [node("Add", ["x", "w"], ["s"]), node("ReduceSum", ["s"], keepdims=0)],
        [value("x", "float32", [2, 3])],
        [value("y", "float32", [])],
        initializers=[numpy_helper.from_array(np.ones((2, 3), np.float32), "w")],
    )
    onnx.save(made, "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    np.save("x.npy", np.nan_to_num(X))
    words = ["run", "m.onnx", "--input", "x.npy", "--compare", "onnx.reference"]
    status, out, _ = run(*words)
    assert (status, out[0]) == (0, "'y': float32 () = 21.0")
    Path("w.bin").write_bytes(b"")
    status, out, err = run(*words)
    assert (status, out) == (2, [])
    assert err[0].startswith("reducekit: run: the external data of 'm.onnx' cannot be read")
    assert run("check", "m.onnx")[0] == 0


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures_against_onnxruntime(run, name):
    """Reductions are right to the bit; what else differs is rounding, here and there."""
    onnxruntime = pytest.importorskip("onnxruntime")
    made, feeds = ARCHITECTURES[name]()
    onnx.checker.check_model(made, full_check=True)
    save(made, "m.onnx")
    for key, array in feeds.items():
        np.save(f"{key}.npy", array)
    inputs = [f"{key}={key}.npy" for key in feeds]
    limits = ["--rtol", "2e-5", "--atol", "1e-6"]
    status, out, err = run("run", "m.onnx", "--input", *inputs, "--compare", "onnxruntime", *limits)
    assert (status, err) == (0, [])
    assert sum(line.startswith("  '") for line in out) == len(made.graph.output)
    assert run("check", "m.onnx")[0] == 0

    ours = backend.run_model(made, feeds)
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    theirs = dict(zip(ours._fields, session.run(None, feeds), strict=True))
    if "total" in ours._fields and "x" in feeds:
        rows = feeds["x"].reshape(ours["total"].size, -1)
        exact = np.float32([math.fsum(row.astype(float)) for row in rows])
        assert_same(ours["total"].reshape(-1), exact)
        assert np.any(theirs["total"].reshape(-1) != exact)
    if "largest" in ours._fields:
        assert_same(ours["largest"], theirs["largest"])


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        (np.float32([1, 2]), np.float32([1, 2]), "'y' float32 (2,): equal in every bit"),
        (np.float32([np.nan]), np.float32([-np.nan]), "'y' float32 (1,): equal"),
        (np.float32([0.0]), np.float32([-0.0]), ("largest difference 0 at [0] "
         "(at most 0 ulp); first at [0]: a 0.0, b -0.0")),
        (np.float32([np.inf]), np.float32([1]), "largest difference inf at [0]; first at [0]: a"),
        (np.int64([2**63 - 1, 0]), np.int64([-(2**63), 0]),
         "1 of 2 elements differ; largest difference 1.84467e+19 at [0]; first at [0]: a 92"),
        (np.uint8([0, 5]), np.uint8([0, 9]), "largest difference 4 at [1]; first"),
        (np.array([True]), np.array([False]), "largest difference 1 at [0]; first at [0]: a True"),
        (np.array([1.5], ml_dtypes.bfloat16), np.array([2], ml_dtypes.bfloat16),
         "1 of 1 elements differ; largest difference 0.5 at [0] (at most 64 ulp)"),
        (np.complex64([1j]), np.complex64([2j]), "largest difference 1 at [0]; first"),
        (np.float32([1]), np.float64([1]), "'y' float32 (1,): the other is float64 (1,)"),
        (np.float32([1]), np.float32([[1]]), "'y' float32 (1,): the other is float32 (1, 1)"),
        (np.array(["a"], object), np.array(["b"], object), "the texts differ, first at [0]"),
        ([np.int8([1])], [np.int8([1])], "'y' sequence of 1: equal"),
        ([np.int8([1])], [np.int8([2])], "'y[0]' int8 (1,): 1 of 1 elements differ"),
        ([np.int8([1])], [], "'y' sequence of 1: the other is a sequence of 0"),
        ({"a": 1}, {"a": 2}, "'y' dict: the values differ"),
        (np.float32([]), np.float32([]), "equal in every bit that counts, 0 elements"),
        (np.float32(3), np.float32(3), "'y' float32: equal in every"),
    ],
)  # fmt: skip
def test_compare_in_words(ours, theirs, text):
    assert text in compare("y", ours, theirs).describe("a", "b")


def test_compare_counts_the_values_between():
    one = np.float32(1)
    near = np.nextafter(np.nextafter(one, np.float32(2)), np.float32(2))
    found = compare("y", np.float32([one, 5, -one]), np.float32([near, 5, -near]))
    assert (found.count, found.ulps, found.first_at, found.largest_at) == (2, 2, (0,), (0,))
    across = compare("y", np.float32([1e-45]), np.float32([-1e-45]))
    assert across.ulps == 2


def test_the_same_program_from_python_m():
    out = subprocess.run(
        [sys.executable, "-m", "reducekit", "check", "no-such-model"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.returncode == 2
    assert out.stderr == "reducekit: cannot read no-such-model: no such file or directory\n"


def test_axes_as_a_constant_node_run(run):
    made = model(
        [node("Constant", [], ["a"], value_ints=[1]), node("ReduceMin", ["x", "a"], keepdims=0)],
        [value("x", "float32", [2, 3])],
        [value("y", "float32", [2])],
    )
    save(made, "m.onnx")
    assert run("run", "m.onnx", "--input", "x.npy")[1] == ["'y': float32 (2,) = nan, 3.0"]
