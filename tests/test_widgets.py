"""The explorer without a browser: traits, tables, text, and what stands in where nothing runs."""

import itertools
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import reducekit as rk
from reducekit import _show, atb, plot, schema
from reducekit.dtypes import ELEMENT_TYPES, by_name
from reducekit.widgets import fallback, state

pytest.importorskip("anywidget", reason="the notebook extra is not installed")
from reducekit.widgets import AxisExplorer

STATIC = Path(state.__file__).parent / "static"
OPS = [op.short for op in schema.OPERATORS]


def texts(array):
    array = np.asarray(array)
    kind = by_name(rk.explain("max", (), dtype=array.dtype, strict=False).dtype)
    return [_show.value_text(value, kind)[0] for value in array.reshape(-1)]


def subsets(ndim):
    return itertools.chain.from_iterable(
        itertools.combinations(range(ndim), n) for n in range(ndim + 1)
    )


def filled(entry, op, opset, strict=True):
    """What the page makes of a row of code."""
    version = schema.resolve(op, opset)
    onnx = entry["onnx_attribute"] if version.axes == "attribute" else entry["onnx"]
    lifted = "" if strict else ", strict=False"
    code = {
        "reducekit": entry["reducekit"].replace("{opset}", str(opset)).replace("{strict}", lifted),
        "numpy": entry["numpy"],
        "torch": entry["torch"],
        "onnx": onnx.replace("{note}", "").replace("{opset}", str(opset)),
    }
    return code | ({"atb": entry["atb"]} if "atb" in entry else {})


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 2), (1, 2, 1, 3), (2, 0, 3)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "bool"])
def test_the_tables_hold_every_result_and_all_code(shape, dtype):
    rng = np.random.default_rng(len(shape))
    data = rng.integers(-90, 90, shape).astype(by_name(dtype).numpy_dtype)
    view = state.view(data, None, range(len(shape)), [0] * len(shape))
    assert view["cells"] == texts(data)
    for op in OPS:
        if dtype == "bool" and op == "sum":
            assert op not in view["cube"]
            assert "cannot be summed" in view["ops"][op]["never"]
            continue
        function = getattr(rk, f"reduce_{op}")
        for axes, keepdims in itertools.product(subsets(len(shape)), (True, False)):
            noop = not axes
            expected = function(
                data, list(axes), keepdims=keepdims, noop_with_empty_axes=noop, strict=False
            )
            assert view["cube"][op][state.key_of(axes)] == texts(expected)
            if axes or not shape:
                entry = view["codes"][op][f"{state.key_of(axes)}|{int(keepdims)}"]
                for opset in (20, 13 if dtype == "int8" and op != "sum" else 20):
                    if not schema.resolve(op, opset).allows(dtype):
                        continue
                    e = rk.explain(op, shape, axes, keepdims, False, opset, dtype)
                    assert filled(entry, op, opset) == e.code
                    assert entry["say"] == e.summary


@pytest.mark.parametrize("dtype", [row.name for row in ELEMENT_TYPES])
def test_refusals_in_the_tables_are_the_librarys(dtype):
    shape = (2, 3)
    table = state.view(np.zeros(shape, by_name(dtype).numpy_dtype), None, [0, 1], [0, 0])["ops"]
    for op, opset in itertools.product(OPS, (1, 11, 12, 13, 18, 20, 28)):
        row = [v for v in table[op]["versions"] if v["since"] <= opset][-1]
        assert (row["dtype"] or "") == state.refusal(op, shape, [], opset=opset, dtype=dtype)
        lifted = state.refusal(op, shape, [-1], opset=opset, dtype=dtype, strict=False)
        assert (table[op]["never"] or "") == lifted
        if row["dtype"]:
            continue
        said = state.refusal(op, shape, [], True, True, opset, dtype)
        assert (row["noop"] or "") == said
        for axis in (-1, -2):
            said = state.refusal(op, shape, [axis], opset=opset, dtype=dtype)
            assert (row["negative"][axis] or "") == said


@pytest.mark.parametrize("op", OPS)
def test_every_choice_gives_the_librarys_result_or_its_words(op):
    data = np.arange(12, dtype=np.float32).reshape(2, 3, 2) * 7 % 11
    w = AxisExplorer(data, op=op)
    for axes, keepdims, noop, opset in itertools.product(
        ([], [0], [1, 2], [-1], [0, 1, 2]), (True, False), (True, False), (1, 11, 13, 18, 28)
    ):
        with w.hold_trait_notifications():
            w.axes, w.keepdims, w.noop_with_empty_axes, w.opset = axes, keepdims, noop, opset
        call = {"keepdims": keepdims, "noop_with_empty_axes": noop, "opset": opset}
        function = getattr(rk, f"reduce_{op}")
        if w.error:
            assert w.result is None
            with pytest.raises(rk.ReduceError) as refused:
                function(data, axes, **call)
            assert w.error == str(refused.value)
        else:
            expected = function(data, axes, **call)
            assert w.result.shape == expected.shape
            np.testing.assert_array_equal(w.result, expected)


def test_traits_can_be_observed_linked_and_set():
    import traitlets

    w = AxisExplorer((2, 3), op="ReduceMin", axes=-1, opset=18)
    assert (w.op, w.axes, w.opset, w.dtype) == ("min", [-1], 18, "float32")
    seen = []
    w.observe(lambda change: seen.append(np.shape(change.new)), "result")
    w.axes = [0]
    w.keepdims = False
    assert seen == [(1, 3), (3,)]
    other = AxisExplorer((4, 5))
    traitlets.link((w, "opset"), (other, "opset"))
    w.opset = 13
    assert other.opset == 13
    w.op = "reduce_sum"
    assert w.op == "sum"
    w.dtype = "int8"
    assert w.result is None
    assert "int8" in w.error


def test_names_opset_and_type_come_from_the_tensor():
    t = rk.Tensor(np.ones((2, 3), np.float16), dims=("row", "column"), opset=13)
    w = AxisExplorer(t, axes="column")
    assert (w.axes, w.opset, w.dtype, w.names) == ([1], 13, "float16", ("row", "column"))
    assert AxisExplorer(t, axes=["row"], opset=20).opset == 20
    with rk.opset(11):
        assert AxisExplorer((2,)).opset == 11


def test_names_come_from_xarray_and_pandas_and_lazy_data_is_computed():
    xr = pytest.importorskip("xarray")
    pd = pytest.importorskip("pandas")
    da = pytest.importorskip("dask.array")
    data = np.arange(6.0).reshape(2, 3)
    w = AxisExplorer(xr.DataArray(data, dims=("time", "place")), axes="time")
    assert (w.axes, w.names) == ([0], ("time", "place"))
    frame = pd.DataFrame(data, columns=list("abc"))
    w = AxisExplorer(frame, "sum", axes=[0])
    assert w.result.tolist() == [[3, 5, 7]]
    assert w.names == rk.Tensor.from_frame(frame).dims
    assert AxisExplorer(frame["b"], axes=[0]).result.tolist() == [4]
    w = AxisExplorer(rk.Tensor(da.from_array(data, chunks=2), dims=("y", "x")), axes="x")
    assert w.result.tolist() == [[2], [5]]
    assert AxisExplorer(da.from_array(data, chunks=2), axes=[1]).result.tolist() == [[2], [5]]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: AxisExplorer((2, 3), axes=[2]), rk.AxesError),
        (lambda: AxisExplorer((2, 3), axes=[0, 0]), rk.AxesError),
        (lambda: AxisExplorer((2, 3), axes=["row"]), rk.ReduceError),
        (lambda: AxisExplorer((2, 3), op="mean"), rk.OpsetError),
        (lambda: AxisExplorer((2, 3), opset=99), rk.OpsetError),
        (lambda: AxisExplorer((-2, 3)), rk.ArgumentError),
        (lambda: AxisExplorer(np.array(["a"])), rk.DTypeError),
        (lambda: AxisExplorer((2, 3), dtype="complex64"), rk.DTypeError),
        (lambda: setattr(AxisExplorer((2, 3)), "axes", [5]), rk.AxesError),
        (lambda: setattr(AxisExplorer((2, 3)), "layout_axes", [0, 0]), rk.ArgumentError),
        (lambda: setattr(AxisExplorer((2, 3)), "corner", [0]), rk.ArgumentError),
    ],
)
def test_what_no_opset_takes_is_refused(call, error):
    with pytest.raises(error):
        call()


def test_a_refused_choice_leaves_the_rest_usable():
    w = AxisExplorer(np.array([[True, False]]), axes=[1], opset=18)
    assert w.error.startswith("reduce_max: ReduceMax-18 does not take bool")
    w.opset = 20
    assert w.error == ""
    assert w.result.tolist() == [[True]]


def test_the_atb_view_follows_the_document():
    data = np.arange(6).reshape(2, 3)
    w = AxisExplorer(data, op="sum", axes=[0], api="atb")
    assert w.result.tolist() == [3, 5, 7]
    w.axes = []
    with pytest.raises(rk.AxesError) as refused:
        atb.ReduceOperation(atb.ReduceParam(atb.ReduceType.REDUCE_SUM, []))
    assert w.error == str(refused.value)
    w.axes = [-1]
    assert "negative" in w.error
    table = w._view["ops"]["sum"]["atb_errors"]
    assert table["negative"][-1] == w.error


EDGES = {
    "empty": (np.zeros((2, 0, 3), np.int8), [1], "-128"),
    "rank 0": (np.float64(2.5), None, "2.5"),
    "size 1": (np.ones((1, 1, 1)), [0], "1.0"),
    "odd": (np.float32([[np.nan, np.inf], [-0.0, -np.inf]]), [1], "-0.0"),
    "bfloat16": (np.array([[1.5, 2]], ml_dtypes.bfloat16), [1], "2.0"),
    "bool": (np.array([[True, False]]), [1], "True"),
    "uint64": (np.array([[2**64 - 1, 1]], np.uint64), [1], str(2**64 - 1)),
    "rank 7": (np.arange(128.0).reshape((2,) * 7), [0, 3], "126.0"),
}


@pytest.mark.parametrize("name", EDGES)
def test_edge_cases_are_drawn(name):
    data, axes, word = EDGES[name]
    w = AxisExplorer(data, axes=axes)
    assert w.error == ""
    expected = rk.reduce_max(data, axes)
    assert w.result.shape == expected.shape
    key = ",".join(str(a) for a in (axes or ()))
    if w._view["cube"]:
        assert w._view["cube"]["max"][key] == texts(expected)
    assert word in json.dumps(w._view) + str(w)
    ET.fromstring(w.to_svg())


def test_a_tensor_of_1e9_elements_is_sampled_with_true_results():
    row = np.zeros(1000, np.float32)
    row[777] = 5  # beyond what is drawn
    w = AxisExplorer(np.broadcast_to(row, (1000, 1000, 1000)), axes=[2])
    view = w._view
    assert not view["complete"]
    assert len(view["cells"]) <= state.MOST_CELLS
    assert set(w._answer["out"]) == {"5.0"}
    w.corner = [0, 0, 777]
    assert "5.0" in w._view["cells"]
    assert w._view["start"] == [0, 0, 777]


def test_a_cast_takes_no_memory_for_axes_of_stride_0():
    w = AxisExplorer((10**6, 10**6, 10), axes=[1])
    w.dtype = "int8"
    assert w.data.dtype == np.int8
    assert w.data.shape == (10**6, 10**6, 10)
    assert _show.occupied(w.data) < 10**8
    assert w.error == ""
    w = AxisExplorer(np.broadcast_to(np.float32(2.5), ()), dtype="int8")
    assert w.result == 2
    assert AxisExplorer((0, 3), dtype="float16").data.shape == (0, 3)


def test_walking_computes_no_result_again():
    w = AxisExplorer((100, 100, 100), axes=[2])
    before = w.result
    w.corner = [50, 60, 70]
    w.layout_axes = [0, 1]
    assert w.result is before
    assert w._view["start"][:2] == [50, 60]
    w.dtype = "int32"
    assert w.result is not before


def test_results_are_not_compared_with_each_other():
    compared = []

    class Array(np.ndarray):
        __hash__ = None

        def __eq__(self, other):
            compared.append(other)
            return False

    w = AxisExplorer((2, 3), axes=[0])
    seen = []
    w.observe(lambda change: seen.append(change.new.shape), "result")
    w.set_trait("result", w.result.view(Array))
    w.axes = [1]
    assert seen == [(1, 3), (2, 1)]
    assert not compared


def test_a_shape_too_large_to_compute_is_still_explained():
    w = AxisExplorer((2**20, 2**20), axes=[1])
    assert w.result is None
    assert w.error == ""
    assert w._answer == {}
    assert "1" in w._view["codes"]["max"]["1|1"]["reducekit"]


@pytest.mark.parametrize(("shape", "expected"), [((2, 3), set()), ((90, 90), {"_answer"})])
def test_nothing_is_sent_that_the_page_has(shape, expected):
    w = AxisExplorer(shape, axes=[1])
    before = {name: getattr(w, name) for name in ("_view", "_answer", "error")}
    seen = set()
    w.observe(lambda change: seen.add(change.name), list(before))
    w.set_state({"axes": [0], "op": "min"})
    assert w.result.shape == (1, shape[1])
    assert seen == expected


@pytest.mark.parametrize(
    ("shape", "expected"), [((2, 3), True), ((50, 50), False), ((0, 10**9), False), ((), True)]
)
def test_only_what_can_be_drawn_travels(shape, expected):
    start, count, complete = state.block(shape, range(len(shape)), [0] * len(shape))
    assert complete is expected
    assert all(s >= 0 and s + n <= size for s, n, size in zip(start, count, shape))


def test_example_values_have_the_shape_and_take_no_memory():
    huge = state.example((10**6, 10**6, 10))
    assert huge.shape == (10**6, 10**6, 10)
    assert _show.occupied(huge) < 10**8
    assert state.example((0, 3), "bool").shape == (0, 3)


def test_the_slider_says_what_changed():
    def words(op, since):
        table = state.view(np.zeros(2), None, [0], [0])["ops"][op]["versions"]
        return " ".join(next(v["up"] for v in table if v["since"] == since))

    assert "negative axes arrive" in words("max", 11)
    assert "uint8 and int8 arrive" in words("max", 12)
    assert "bfloat16 arrives" in words("min", 13)
    assert "axes move from attribute to input" in words("max", 18)
    assert "noop_with_empty_axes arrives" in words("max", 18)
    assert "bool arrives" in words("max", 20)
    assert "axes move from attribute to input" in words("sum", 13)


def test_the_mime_bundle_has_a_picture_and_text():
    w = AxisExplorer((2, 3), axes=[0])
    bundle = w._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("AxisExplorer: max of (2, 3) over axes 0")
    ET.fromstring(data["image/svg+xml"])
    assert "<script" not in data["image/svg+xml"]
    assert data["text/html"].isascii()


def test_what_a_notebook_saves_can_be_shown_where_nothing_runs(monkeypatch):
    from IPython import display

    published = []
    monkeypatch.setattr(display, "publish_display_data", lambda data, *_: published.append(data))
    AxisExplorer((2, 3), axes=[0])._ipython_display_()
    saved = published[-1]
    assert set(saved) == {"text/plain", "image/svg+xml", "text/html"}
    # Hosts that drop scripts, styles and pictures keep the text.
    plain = re.sub(r"<(script|style).*?</\1>|<[^>]*>", "", saved["text/html"], flags=re.DOTALL)
    for text in (plain, saved["text/plain"]):
        assert "max of (2, 3) over axes 0 at opset" in text
        assert "output [0, 1]: max of {" in text


def test_a_saved_output_stays_small():
    for shape, most in [((2, 3, 2), 110_000), ((20, 50), 250_000), ((2, 4, 5, 50), 450_000)]:
        w = AxisExplorer(shape, axes=[0])
        assert len(w.to_html()) < most
        assert len(w.to_svg()) < 60_000
    assert "cells of 1,000 drawn" in str(AxisExplorer((20, 50), axes=[0]))


HOSTILE = ("</script><script>alert(1)</script>", "<!--<script>", "\u05d0\u05d1\u05d2", "x" * 300)


def test_names_cannot_leave_their_place():
    t = rk.Tensor(np.zeros((1, 1, 1, 1)), dims=HOSTILE)
    page = AxisExplorer(t, axes=[0]).to_html(page=True)
    assert page.lower().count("<script") == page.lower().count("</script") == 1
    assert page.isascii()
    ET.fromstring(AxisExplorer(t).to_svg())


def test_html_asks_for_nothing_outside():
    page = AxisExplorer((2, 3)).to_html(page=True)
    found = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert found == {"http://www.w3.org/2000/svg"}  # a name, which nothing asks for


def test_the_module_and_its_style_are_small_ascii_files():
    files = [STATIC / "explorer.js", STATIC / "explorer.css"]
    assert sum(path.stat().st_size for path in files) < 60_000
    assert all(path.read_bytes().isascii() for path in files)


def test_pictures_and_pages_have_the_same_colours():
    css = (STATIC / "explorer.css").read_text()
    assert tuple(re.findall(r"--hue: (#\w+);", css)) == plot.HUES


@pytest.mark.parametrize("laid", [(0, 1, 2), (0, 1, 5, 6), (2, 3, 4, 5)])
def test_neighbouring_outputs_have_different_colours(laid):
    for index in itertools.product(range(2), repeat=7):
        for axis in laid:
            other = tuple(x + (i == axis) for i, x in enumerate(index))
            assert fallback._hue(index, laid) != fallback._hue(other, laid)


def test_without_the_extra_the_error_names_it(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import reducekit.widgets as w\n"
        "try:\n    w.AxisExplorer\nexcept ImportError as e:\n    print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'reducekit[notebook]'" in done.stdout
