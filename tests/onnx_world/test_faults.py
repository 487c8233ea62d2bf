"""The table of what runtimes get wrong: each row is seen again, and no row is missing.

A row names the version on which it was seen. On another version a fault may be
gone, and then this test says so: the row has to be looked at.
"""

import importlib.metadata
import itertools
import warnings

import numpy as np
import pytest
from onnx_world.builders import OPERATORS

import reducekit as rk
from reducekit import schema
from reducekit.dtypes import ELEMENT_TYPES
from reducekit.onnx import FAULTS, TensorType
from reducekit.onnx.faults import ONNX_RUNTIMES, RUNTIMES, reproduce, run_on

PACKAGE = {"onnx.reference": "onnx"}
KINDS = {
    "missing type", "nan", "saturation", "precision", "rounding", "overflow", "empty set",
    "result type", "zero sign",
}  # fmt: skip


def need(runtime):
    """Skip where the runtime is not installed; it is no part of the project."""
    pytest.importorskip(PACKAGE.get(runtime, runtime))


def nodes(fault):
    """Every operator, type and version that a row is about."""
    for op, dtype in itertools.product(fault.operators, fault.dtypes):
        for version in schema.history(op):
            later = [other.since_version for other in schema.history(op)]
            last = min([n - 1 for n in later if n > version.since_version] or [schema.NEWEST_OPSET])
            first, last = max(version.since_version, fault.opsets[0]), min(last, fault.opsets[1])
            if first <= last and version.allows(dtype):
                yield op, dtype, first
                if first != last:
                    yield op, dtype, last


@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda f: f"{f.runtime} {f.kind} {'/'.join(f.dtypes)}"
)
@pytest.mark.filterwarnings("ignore")
def test_each_row_is_seen_again(fault):
    need(fault.runtime)
    count = 0
    for op, dtype, opset in nodes(fault):
        assert reproduce(fault, op, dtype, opset) is not None, (
            f"gone: {fault} ({op}, {dtype}, {opset})"
        )
        count += 1
    assert count > 0


def test_rows_are_well_formed():
    assert {fault.kind for fault in FAULTS} <= KINDS
    assert {fault.runtime for fault in FAULTS} == set(RUNTIMES)
    assert len({str(fault) for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert set(fault.operators) <= set(OPERATORS)
        assert any(True for _ in nodes(fault)), fault


@pytest.mark.filterwarnings("default:.*rows were seen on")  # told, but no fault of ours
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_versions_of_the_table(runtime):
    """All rows of a runtime were seen on one version, so that it can be told in one word."""
    versions = {fault.version for fault in FAULTS if fault.runtime == runtime}
    assert len(versions) == 1
    need(runtime)
    installed = importlib.metadata.version(PACKAGE.get(runtime, runtime)).partition("+")[0]
    if installed not in versions:
        warnings.warn(f"{runtime}: rows were seen on {versions}, not {installed}", stacklevel=1)


def awkward(kind):
    """Data of one type by what is awkward about it, and the kinds of fault that may explain it."""
    rng = np.random.default_rng(5)
    dtype = kind.numpy_dtype
    plain = (rng.integers(0, 2, 24) if kind.kind == "bool" else rng.integers(0, 90, 24)).astype(
        dtype
    )
    yield "plain", plain, {"rounding"}
    yield "empty", np.zeros(0, dtype), {"empty set"}
    if kind.kind in ("int", "uint"):
        ends = np.array([kind.lowest, kind.highest, kind.highest - 1], dtype)
        yield "ends", rng.choice(ends, 24), {"saturation", "precision", "result type"}
    if kind.kind == "float":
        ordinary = rng.standard_normal(24).astype(dtype)
        yield "ordinary", ordinary, {"rounding"}
        with_nan = ordinary.copy()
        with_nan[[3, 10, 17, 23]] = np.nan
        yield "nan", with_nan, {"nan", "rounding"}
        yield "inf", rng.choice(np.array([np.inf, -np.inf, 1], dtype), 24), set()
        yield "zeros", rng.choice(np.array([0.0, -0.0], dtype), 24), {"zero sign"}
        yield "negative zeros", np.full(24, -0.0, dtype), {"zero sign"}


def agree(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    same = (got == want) | ((got != got) & (want != want))
    if want.dtype.kind == "f" or want.dtype.name == "bfloat16":
        same &= (want != want) | (np.signbit(got) == np.signbit(want))
    return bool(np.all(same))


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.filterwarnings("ignore")
def test_no_other_fault_is_found(runtime):
    """Where a runtime differs from the function, a row of the table says why."""
    need(runtime)
    opsets = (7, 12, 13, 20) if runtime in ONNX_RUNTIMES else (20,)
    differ = count = 0
    for op, opset, kind in itertools.product(OPERATORS, opsets, ELEMENT_TYPES):
        if not schema.resolve(op, opset).allows(kind.name):
            continue
        function = getattr(rk, schema.operator(op).function)
        for name, data, kinds in awkward(kind):
            for shape, axes in (((24,), (0,)), ((4, 6), (1,)), ((4, 6), (0,)), ((2, 3, 4), (0, 2))):
                whole = data.reshape(shape) if data.size else np.zeros((0, *shape[1:]), data.dtype)
                for keepdims in (True, False):
                    want = function(whole, axes, keepdims=keepdims, opset=opset)
                    count += 1
                    try:
                        got = run_on(runtime, op, opset, whole, axes, keepdims)
                    except Exception:
                        got = None
                    if got is not None and agree(got, want):
                        continue
                    differ += 1
                    allowed = {*kinds, "missing type", "result type"} if got is not None else {
                        *kinds, "missing type",
                    }  # fmt: skip
                    reasons = {
                        fault.kind
                        for fault in FAULTS
                        if fault.runtime == runtime
                        and fault.concerns(op, opset, TensorType(kind.name, whole.shape), axes)
                    }
                    where = f"{runtime} {op} {opset} {kind.name} {name} {whole.shape} {axes}"
                    assert reasons & allowed, f"{where}: {got} in place of {want}"
    assert count > 400
    assert 0 < differ < count


def test_concerns():
    (nan,) = (f for f in FAULTS if f.runtime == "onnxruntime" and f.kind == "nan")
    assert nan.concerns("ReduceMax", 13, TensorType("float32", ("N", 3)), [0])
    assert not nan.concerns("ReduceMax", 13, TensorType("int32", ("N", 3)), [0])
    assert not nan.concerns("ReduceSum", 13, TensorType("float32", ("N", 3)), [0])
    assert not nan.concerns("ReduceMax", 13, TensorType("float32", (1, 3)), [0])
    assert nan.concerns("ReduceMax", 13, TensorType("float32"))
    empty = next(f for f in FAULTS if f.runtime == "torch" and f.kind == "empty set")
    assert empty.concerns("ReduceMax", 13, TensorType("float32", ("N", 3)), [0])
    assert empty.concerns("ReduceMax", 13, TensorType("float32", (0, 3)), [0])
    assert not empty.concerns("ReduceMax", 13, TensorType("float32", (0, 3)), [1])
