"""The backend against ONNX's own tests, and on models with everything in them."""

import re
import unittest
import warnings

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.base import Backend as Base
from onnx.reference import ReferenceEvaluator
from onnx_world.builders import constant, model, node, reduction, save, value
from oracles import assert_same

import reducekit as rk
from reducekit.onnx import backend
from reducekit.onnx.backend import Backend

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # cases of other operators divide by zero on purpose
    from onnx.backend.test import BackendTest
    from onnx.backend.test.loader import load_model_tests

    SUITE = BackendTest(Backend, __name__).test_cases
    CASES = {
        kind: load_model_tests(kind=kind)
        for kind in ("node", "simple", "pytorch-converted", "pytorch-operator")
    }

OURS = re.compile(r"test_(reduce_(max|min|sum)_(?!square)\w+|operator_reduced_sum\w*)_cpu$")


def of_suite(case):
    """The tests of these operators alone; the suite would skip thousands by name."""
    names = [name for name in dir(case) if OURS.match(name)]
    return type(case.__name__, (unittest.TestCase,), {name: getattr(case, name) for name in names})


TestNodes = of_suite(SUITE["OnnxBackendNodeModelTest"])
TestExported = of_suite(SUITE["OnnxBackendPyTorchOperatorModelTest"])


def test_the_suite_has_33_node_tests_and_2_exported_models():
    assert sum(name.startswith("test_") for name in dir(TestNodes)) == 33
    assert sum(name.startswith("test_") for name in dir(TestExported)) == 2


def run_case(case, runner):
    for inputs, wanted in case.data_sets or ():
        got = runner(case.model, inputs)
        for one, other in zip(got, wanted, strict=True):
            shape = tuple(other.dims) if isinstance(other, TensorProto) else np.shape(other)
            assert np.shape(one) == shape or isinstance(one, list)


def plain(made, inputs):
    session = ReferenceEvaluator(made)
    return session.run(None, dict(zip(session.input_names, inputs, strict=False)))


@pytest.mark.filterwarnings("ignore")
def test_every_node_case_that_the_evaluator_runs_runs_here():
    ran, failed = 0, []
    for case in CASES["node"]:
        try:
            run_case(case, backend.run_model)
            ran += 1
        except Exception as error:
            try:
                run_case(case, plain)
            except Exception:
                continue
            failed.append(f"{case.name}: {error}")
    assert failed == []
    assert ran > 1800


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["simple", "pytorch-converted", "pytorch-operator"])
def test_every_stored_model_runs(kind):
    suite = {"simple": "Simple", "pytorch-converted": "PyTorchConverted"}
    cases = SUITE[f"OnnxBackend{suite.get(kind, 'PyTorchOperator')}ModelTest"]
    ran = 0
    for name in dir(cases):
        if name.startswith("test_") and name.endswith("_cpu"):
            try:
                getattr(cases(name), name)()
                ran += 1
            except unittest.SkipTest:
                # Gradient is in ONNX's preview of training, and its evaluator lacks it.
                assert "gradient" in name
    assert ran >= {"simple": 20, "pytorch-converted": 80}.get(kind, 35)


def test_the_interface_is_that_of_onnx():
    assert issubclass(Backend, Base)
    assert Backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    with pytest.raises(rk.ArgumentError, match="device 'CUDA' is not supported; use 'CPU'"):
        backend.prepare(reduction("ReduceMax", 18), "CUDA")
    assert backend.is_compatible(reduction("ReduceMax", 18))
    assert not backend.is_compatible(reduction("ReduceMax", 18), "CUDA")
    unknown = model([node("Nothing", ["x"])], [value("x", "float32", [1])], [])
    assert not backend.is_compatible(unknown)


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("inputs", [[X], {"x": X}, X, (X,), rk.Tensor(X), [X.tolist()]])
def test_run_takes_inputs_in_every_usual_form(inputs):
    prepared = backend.prepare(reduction("ReduceMax", 13, axes=[1], keepdims=0))
    out = prepared.run(inputs)
    assert_same(out["y"], rk.reduce_max(X, [1], keepdims=False))
    assert out.y is out[0]


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ([], rk.ArgumentError, r"no value for 'x' \(float32 \(N, 3, 4\)\)"),
        ({"z": X}, rk.ArgumentError, r"'z' is no input of the model; it takes 'x'"),
        ([X, X], rk.ArgumentError, "2 inputs given; the model takes 1"),
        ([X.astype(np.float64)], rk.DTypeError, "float64, but the model declares float32"),
        ([X[0]], rk.ArgumentError, r"shape \(3, 4\), but the model declares"),
        ([X[:, :2]], rk.ArgumentError, r"shape \(2, 2, 4\), but the model declares"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, error, text):
    prepared = backend.prepare(reduction("ReduceMax", 13, axes=[1]))
    with pytest.raises(error, match=text):
        prepared.run(inputs)


def test_big_endian_input_is_taken_and_left_alone():
    given = X.astype(">f4")
    out = backend.run_model(reduction("ReduceSum", 13, axes=[-1]), given)
    assert_same(out.y, rk.reduce_sum(X, [-1]))
    assert given.dtype == np.dtype(">f4")


def test_initializers_may_be_given_or_left_out():
    made = reduction("ReduceSum", 13, axes=[1])
    made.graph.input.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [1]))
    assert_same(backend.run_model(made, [X]).y, rk.reduce_sum(X, [1]))
    assert_same(backend.run_model(made, [X, np.array([2])]).y, rk.reduce_sum(X, [2]))
    assert_same(backend.run_model(made, {"x": X, "axes": np.array([0])}).y, rk.reduce_sum(X, [0]))


def test_node_at_each_version():
    old = node("ReduceMax", ["x"], axes=[-1], keepdims=0)
    new = node("ReduceMax", ["x", "a"], keepdims=0)
    right = rk.reduce_max(X, [-1], keepdims=False)
    assert_same(backend.run_node(old, [X], opset_version=11).y, right)
    assert_same(backend.run_node(new, [X, np.array([-1])]).y, right)
    blank = node("ReduceMax", ["x", ""], keepdims=0)
    assert_same(backend.run_node(blank, [X]).y, rk.reduce_max(X, keepdims=False))
    assert_same(backend.run_node(blank, [X, None]).y, rk.reduce_max(X, keepdims=False))
    with pytest.raises(rk.AxesError, match="negative"):
        backend.run_node(old, [X], opset_version=10)
    with pytest.raises(rk.OpsetError, match="ReduceMax-20 takes them as an input"):
        backend.run_node(old, [X])
    with pytest.raises(rk.ArgumentError, match="has 2 inputs"):
        backend.run_node(new, [X])


def test_node_of_another_operator_is_left_to_the_evaluator():
    assert_same(backend.run_node(node("Abs", ["x"]), [-X]).y, X)
    assert_same(backend.run_node(node("Abs", ["x"], domain="ai.onnx"), [-X]).y, X)
    twice = backend.run_node(node("Split", ["x"], ["a", "b"], axis=0, num_outputs=2), [X])
    assert_same(twice["b"], X[1:])


def test_lenient_model():
    made = reduction("ReduceMax", 13, "bool", shape=[2], axes=[0])
    flags = np.array([True, False])
    with pytest.raises(rk.DTypeError, match="ReduceMax-13 does not take bool"):
        backend.run_model(made, flags)
    assert_same(backend.run_model(made, flags, strict=False).y, np.array([True]))
    old = reduction("ReduceMax", 18, axes=[1], form="attribute")
    with pytest.raises(rk.OpsetError):
        backend.prepare(old)
    assert_same(backend.run_model(old, X, strict=False).y, rk.reduce_max(X, [1]))


def test_the_default_domain_in_both_spellings():
    made = model(
        [
            node("ReduceSum", ["x", "a"], ["s"], domain="ai.onnx"),
            node("Abs", ["s"], ["y"], domain="ai.onnx"),
        ],
        [value("x", "float32", [2, 3, 4])],
        [value("y", "float32", [1, 3, 4])],
        imports=[helper.make_opsetid("ai.onnx", 13)],
        initializers=[constant("a", [0])],
    )
    before = made.SerializeToString()
    assert_same(backend.run_model(made, [X]).y, rk.reduce_sum(X, [0]))
    assert made.SerializeToString() == before


def test_ir_version_2_has_no_imports_and_opset_1():
    made = reduction("ReduceMax", 1, axes=[1], shape=[2, 3, 4])
    made.ir_version = 2
    del made.opset_import[:]
    assert_same(backend.run_model(made, [X]).y, rk.reduce_max(X, [1], opset=1))


def test_an_opset_beyond_the_table_is_refused_by_name():
    made = reduction("ReduceMax", 18, axes=[1])
    made.opset_import[0].version = 99
    with pytest.raises(rk.OpsetError, match=r"ReduceMax 'r': .*opset 99 is unknown"):
        backend.prepare(made)


def test_models_from_bytes_and_files_with_external_data(tmp_path):
    made = model(
        [node("Add", ["x", "w"], ["s"]), node("ReduceSum", ["s", "a"], ["y"], keepdims=0)],
        [value("x", "float32", [2, 3, 4])],
        [value("y", "float32", [3, 4])],
        13,
        initializers=[numpy_helper.from_array(X, "w"), constant("a", [0])],
    )
    right = rk.reduce_sum(2 * X, [0], keepdims=False)
    assert_same(backend.run_model(made.SerializeToString(), [X]).y, right)
    path = tmp_path / "m.onnx"
    onnx.save(made, str(path), save_as_external_data=True, location="w.bin", size_threshold=8)
    assert_same(backend.run_model(path, [X]).y, right)
    bare = onnx.load(str(path), load_external_data=False)
    with pytest.raises(rk.ArgumentError, match=r"tensor 'w' lies in an external file; give the"):
        backend.prepare(bare)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(rk.ArgumentError, match=r"external data of .* cannot be read"):
        backend.prepare(path)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="model has type int; use"):
        backend.prepare(3)
    with pytest.raises(rk.ArgumentError, match="it holds no graph"):
        backend.prepare(b"")
    with pytest.raises(rk.ArgumentError, match="cannot be read as an ONNX model"):
        backend.prepare(b"\xff" * 9)
    with pytest.raises(FileNotFoundError):
        backend.prepare("no-such-file.onnx")


def test_a_sequence_is_no_tensor():
    made = model(
        [node("SequenceConstruct", ["x"], ["s"]), node("ReduceMax", ["s"], ["y"], name="bad")],
        [value("x", "float32", [2])],
        [value("y", "float32", None)],
    )
    with pytest.raises(TypeError, match="a list; a reduction takes a tensor") as caught:
        backend.run_model(made, [np.ones(2, np.float32)])
    assert caught.value.__notes__ == ["in node ReduceMax 'bad' with output 'y'"]


def test_bfloat16_tensors_in_the_model():
    ones = np.ones((300, 2), ml_dtypes.bfloat16)
    made = model(
        [node("ReduceSum", ["w", "a"], keepdims=0)],
        [],
        [value("y", "bfloat16", [2])],
        13,
        initializers=[numpy_helper.from_array(ones, "w"), constant("a", [0])],
    )
    assert_same(backend.run_model(made, []).y, np.array([300, 300], ml_dtypes.bfloat16))


def test_saved_model_runs(tmp_path):
    path = save(reduction("ReduceMin", 20, axes=[0, 2], keepdims=0), tmp_path / "m.onnx")
    assert_same(backend.run_model(str(path), [X]).y, rk.reduce_min(X, [0, 2], keepdims=False))
