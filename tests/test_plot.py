"""The figures: what they say, that nothing overlaps, and that nothing is shown by itself."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import reducekit as rk
from reducekit import plot, schema

mpl = pytest.importorskip(
    "matplotlib", reason="matplotlib is missing: pip install 'reducekit[demo]'"
)


@pytest.fixture(autouse=True)
def _figures():
    mpl.use("agg")
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


def words(ax):
    return [text.get_text() for text in ax.texts]


SHAPES = [(), (5,), (3, 4), (2, 3, 2), (2, 2, 3, 4), (2, 0), (1, 1, 1, 1), (30, 40, 50)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keepdims", [True, False])
def test_no_label_overlaps_another_at_any_rank(shape, keepdims):
    data = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    dims = [f"dimension{i}" for i in range(len(shape))]
    axes = list(range(0, len(shape), 2))
    ax = plot.collapse(data, "sum", axes, keepdims=keepdims, dims=dims)
    figure = ax.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in (*ax.texts, ax._left_title)]
    whole = figure.bbox
    for text, box in boxes:
        assert box.x0 >= whole.x0 - 1, text
        assert box.x1 <= whole.x1 + 1, text
    for (a, one), (b, other) in itertools.combinations(boxes, 2):
        assert not (len(a) and len(b) and one.shrunk(0.98, 0.98).overlaps(other)), (a, b)


def test_the_figure_says_what_the_library_says():
    data = np.float32([[[0, 7], [3, 10]], [[9, 5], [1, 10]]])
    t = rk.Tensor(data, dims=("image", "row", "column"), opset=13)
    ax = plot.collapse(t, "max", ["image", "row"])
    title = ax.get_title(loc="left")
    assert title.startswith("reduce_max over axes 0 (image), 1 (row): (2, 2, 2) becomes (1, 1, 2)")
    assert "ReduceMax-13 at opset 13, float32" in title
    assert "axis 1 row (2) reduced" in words(ax)
    for value in ("9.0", "10.0"):
        assert words(ax).count(value) == 1 + (data == float(value)).sum()


def test_winners_are_all_ties_and_follow_nan_and_zeros():
    def bold(data, op):
        ax = plot.collapse(np.asarray(data), op, [0])
        return [t.get_text() for t in ax.texts if t.get_weight() == "bold" and t.get_text() != op]

    assert bold([1.0, 3.0, 3.0], "max") == ["3.0", "3.0"]
    assert bold([1.0, np.nan], "min") == ["NaN"]
    assert bold([0.0, -0.0], "max") == ["0.0"]
    assert bold([0.0, -0.0], "min") == ["-0.0"]
    assert bold([1, 2], "sum") == []


def test_a_large_tensor_is_cut_but_its_results_are_true():
    data = np.zeros((50, 60), np.float32)
    data[:, 59] = 4
    ax = plot.collapse(data, "max", [1])
    assert words(ax).count("4.0") == 6
    assert "48 of 3,000 cells are drawn" in ax.get_title(loc="left")


@pytest.mark.parametrize("dtype", [np.int8, bool, ml_dtypes.bfloat16, np.uint64])
def test_every_kind_of_element_is_drawn(dtype):
    ax = plot.collapse(np.ones((2, 2), dtype), "max", [0], strict=False)
    assert ax.texts


def test_the_callers_axes_are_used_and_nothing_is_shown(monkeypatch):
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("shown"))
    _, axes = plt.subplots(1, 3)
    assert plot.collapse([[1, 2]], ax=axes[0]) is axes[0]
    assert plot.timeline("min", ax=axes[1]) is axes[1]
    rows = [{"case": "a", "numpy": 1.0, "reducekit": 0.5}]
    assert plot.bench(rows, ax=axes[2]) is axes[2]
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: plot.collapse(np.zeros((1,) * 5)), rk.ArgumentError),
        (lambda: plot.collapse([1], axes=[3]), rk.AxesError),
        (lambda: plot.collapse([True], opset=18), rk.DTypeError),
        (lambda: plot.timeline("mean"), rk.OpsetError),
        (lambda: plot.bench([{"case": "a", "torch": 1.0}]), rk.ArgumentError),
        (lambda: plot.bench([]), rk.ArgumentError),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("op", [row.short for row in schema.OPERATORS])
def test_the_timeline_follows_the_table(op):
    ax = plot.timeline(op)
    names = [label.get_text() for label in ax.get_yticklabels()]
    versions = schema.history(op)
    types = {name for v in versions for name in v.dtypes}
    assert set(names) == types | {"axes are", "negative axes", "noop_with_empty_axes"}
    bars = {}
    for patch in ax.patches:
        row = names[round(patch.get_y() + patch.get_height() / 2)]
        bars.setdefault(row, round(patch.get_x()))
    for name in types:
        assert bars[name] == schema.first_opset(op, name)
    assert bars["noop_with_empty_axes"] == schema.first_opset_with(op, "noop_with_empty_axes")


def test_bench_draws_how_many_times_faster():
    rows = {"results": [
        {"case": "a", "numpy": 2.0, "reducekit": 1.0, "torch": 4.0},
        {"case": "b", "numpy": 3.0, "reducekit": 1.0},
    ]}  # fmt: skip
    ax = plot.bench(rows)
    found = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert found["reducekit"] == [2.0, 3.0]
    assert found["torch"] == [0.5]


def test_bench_draws_a_file_that_the_benchmark_wrote(tmp_path):
    import json

    from reducekit import bench

    path = tmp_path / "bench.json"
    path.write_text(bench.to_json(bench.run(quick=True, only=["int* 2x3x2"], peers=["numpy"])))
    ax = plot.bench(json.loads(path.read_text()))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2x3x2 over 0,1"]
    (span,) = ax.collections[0].get_segments()
    (middle,) = next(line for line in ax.lines if line.get_label() == "reducekit").get_xdata()
    assert span[0][0] <= middle <= span[1][0]


def test_bench_takes_the_median_and_leaves_out_answers_that_differ():
    cells = [
        {"case": "a", "seconds": {"numpy": 1.0, "reducekit": r, "torch": 0.1},
         "answers": {"reducekit": "same", "torch": "differs"}}
        for r in (0.5, 0.25, 0.125)
    ]  # fmt: skip
    ax = plot.bench({"format": "reducekit bench 1", "cells": cells})
    found = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert found["reducekit"] == [4.0]
    assert "torch" not in found
