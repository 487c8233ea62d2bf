"""The explorer in a browser, on a bare page and without a kernel: what it draws and answers."""

import base64
import itertools
import json
import re
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from browser import Watch, axe_violations

import reducekit as rk
from reducekit import _show, plot
from reducekit.dtypes import element_type
from reducekit.widgets import state

pytest.importorskip("anywidget", reason="the notebook extra is not installed")
from reducekit.widgets import AxisExplorer

MODULE = (Path(state.__file__).parent / "static" / "explorer.js").read_bytes()
DATA = np.float32([[[0, 7], [3, 10], [6, 2]], [[9, 5], [1, 10], [4, 0]]])
NAMED = rk.Tensor(DATA, dims=("image", "row", "column"))


@pytest.fixture
def show(browser):
    """Open a widget on a page of its own; at the end nothing must have gone wrong."""
    opened = []

    def open_page(widget, width=1000, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        page = context.new_page()
        watch = Watch(page)
        page.set_content(widget.to_html(page=True))
        page.wait_for_selector(".rkx")
        opened.append((context, watch))
        return page

    yield open_page
    for context, watch in opened:
        context.close()
        assert not watch.faults


@pytest.fixture(scope="module")
def functions(browser):
    """A page that can call the functions which the module exports."""
    page = browser.new_page()
    url = "data:text/javascript;base64," + base64.b64encode(MODULE).decode()
    page.evaluate("async (url) => { window.rkx = await import(url); }", url)
    yield page
    page.close()


def texts(array):
    kind = element_type(array.dtype)
    return [_show.value_text(value, kind)[0] for value in array.reshape(-1)]


def cells(page, kind):
    return page.locator(f".rkx-{kind} .rkx-cell").all_inner_texts()


def axis(page, position):
    return page.locator(f"button.rkx-bracket[aria-label^='axis {position}']")


def lit(page, kind):
    labels = page.locator(f".rkx-{kind} .rkx-cell.rkx-lit")
    return labels.evaluate_all("nodes => nodes.map(n => n.getAttribute('aria-label'))")


@pytest.mark.parametrize("axes", [[0, 1], [2], []])
def test_clicking_an_axis_collapses_it(show, axes):
    page = show(AxisExplorer(NAMED, axes=[1], keepdims=False))
    for position in {1} ^ set(axes or range(3)):
        axis(page, position).click()
    expected = rk.reduce_max(DATA, axes, keepdims=False)
    assert cells(page, "output") == texts(expected)
    for position in range(3):
        pressed = axis(page, position).get_attribute("aria-pressed")
        assert pressed == str(position in (axes or range(3))).lower()
    label = page.locator(".rkx-shapes").get_attribute("aria-label")
    assert label == f"(2, 3, 2) becomes {expected.shape}"


EVERY_CHOICE = """async (choices) => {
  const explorer = document.querySelector(".rkx").parentNode.rkExplorer;
  const found = [];
  for (const choice of choices) {
    for (const [name, value] of Object.entries(choice)) explorer.model.set(name, value);
    await new Promise((done) => queueMicrotask(() => queueMicrotask(done)));
    found.push([
      [...document.querySelectorAll(".rkx-output .rkx-cell")].map((n) => n.textContent),
      document.querySelector(".rkx-shapes").getAttribute("aria-label"),
      document.querySelector(".rkx-error").hidden,
      explorer.codes,
    ]);
  }
  return found;
}"""


@pytest.mark.parametrize(
    "data",
    [
        DATA, np.int8([[100, 100], [-100, 7]]), np.float32([[np.nan, np.inf], [-0.0, 0.1]]),
        np.array([[1.5, 3e38, 3e38]], ml_dtypes.bfloat16), np.zeros((2, 0, 3)), np.float64(3.25),
        np.random.default_rng(7).standard_normal((2, 2, 3, 2)).astype(np.float16),
    ],
    ids=["float32", "int8", "odd", "bfloat16", "empty", "rank0", "float16"],
)  # fmt: skip
def test_without_a_kernel_every_choice_gives_the_librarys_text(show, data):
    page = show(AxisExplorer(data))
    sets = [s for n in range(data.ndim + 1) for s in itertools.combinations(range(data.ndim), n)]
    choices = [
        {"op": op, "axes": list(axes), "keepdims": keepdims, "noop_with_empty_axes": noop}
        for op, axes, keepdims, noop in itertools.product(
            ("max", "min", "sum"), sets, (True, False), (True, False)
        )
    ]
    strict = data.dtype != np.int8
    page.evaluate(
        "v => document.querySelector('.rkx').parentNode.rkExplorer.model.set('strict', v)", strict
    )
    for choice, found in zip(choices, page.evaluate(EVERY_CHOICE, choices)):
        call = {
            "axes": choice["axes"], "keepdims": choice["keepdims"],
            "noop_with_empty_axes": choice["noop_with_empty_axes"], "strict": strict,
        }  # fmt: skip
        expected = getattr(rk, f"reduce_{choice['op']}")(data, **call)
        shown, label, allowed, code = found
        assert shown == texts(expected)
        assert label == f"{data.shape} becomes {expected.shape}"
        assert allowed
        e = rk.explain(choice["op"], data.shape, dtype=data.dtype, **call)
        wanted = e.code
        if not e.version.allows(e.dtype):
            assert code.pop("onnx").split("\n")[0] == wanted.pop("onnx").split("\n")[0]
        assert code == wanted


def test_pointing_at_an_output_shows_its_inputs_and_all_winners(show):
    page = show(AxisExplorer(NAMED, axes=[0, 1]))
    page.locator(".rkx-output .rkx-cell").nth(1).hover()
    inputs = {f"index ({i}, {j}, 1) value {v}" for (i, j), v in np.ndenumerate(DATA[:, :, 1])}
    assert set(lit(page, "input")) == inputs
    stars = page.locator(".rkx-win").evaluate_all("ns => ns.map(n => n.ariaLabel)")
    assert stars == [
        "index (0, 1, 1) value 10.0", "index (1, 0, 0) value 9.0", "index (1, 1, 1) value 10.0"
    ]  # fmt: skip
    page.get_by_text(
        "Output [0, 0, 1] = 10.0: the maximum of x[:, :, 1]. "
        "6 input cells collapse; 2 tie (starred)."
    ).wait_for()


def test_the_picture_at_rest_tells_ties_positions_and_the_other_shape(show):
    page = show(AxisExplorer(NAMED, axes=[0, 1]))
    page.get_by_text("Stars mark the winners; 1 output has a tie.").wait_for()
    page.get_by_text("Without keepdims: (2,).").wait_for()
    page.get_by_label("keepdims").first.uncheck()
    page.get_by_text("With keepdims: (1, 1, 2).").wait_for()
    rulers = page.locator(".rkx-input .rkx-ruler").all_inner_texts()
    assert [r.split() for r in rulers] == [["0", "1"], ["0", "1", "2"], ["0", "1"]]


def test_a_large_tensor_that_is_one_group_is_framed_as_a_whole(show):
    page = show(AxisExplorer((20, 50), axes=[0, 1]))
    page.locator(".rkx-output .rkx-cell").hover()
    page.get_by_text("the maximum of x[:, :]. 1,000 input cells collapse").wait_for()
    assert page.locator(".rkx-input .rkx-grid.rkx-lit").count() == 1
    page.mouse.move(5, 5)
    page.get_by_text("Point at a cell").wait_for()
    assert page.locator(".rkx-lit").count() == 0


def test_a_ruler_counts_from_where_the_drawn_part_begins(show):
    widget = AxisExplorer((900, 900), axes=[1])
    widget.corner = [30, 700]
    page = show(widget)
    rulers = page.locator(".rkx-input .rkx-ruler").all_inner_texts()
    assert [r.split() for r in rulers] == [
        [str(i) for i in range(30, 36)], [str(i) for i in range(700, 708)]
    ]  # fmt: skip
    box = "n => { const b = n.getBoundingClientRect(); return b.x + b.width / 2; }"
    columns = page.locator(".rkx-input .rkx-h1 .rkx-ruler i").evaluate_all(f"ns => ns.map({box})")
    first = page.locator(".rkx-input .rkx-row").first.locator(".rkx-cell")
    middles = first.evaluate_all(f"ns => ns.map({box})")
    assert max(abs(a - b) for a, b in zip(columns, middles)) < 3


def test_long_values_are_cut_in_the_grid_and_whole_in_words(show):
    page = show(AxisExplorer(np.full((2, 20), -(2**63), np.int64), axes=[1]))
    page.locator(".rkx-input .rkx-cell").first.hover()
    assert cells(page, "input")[0] == "-922337203\u2026"
    page.get_by_text("Input [0, 0] = -9223372036854775808 goes to").wait_for()
    page = show(AxisExplorer(np.full((20, 2), -(2**63), np.int64), axes=[1]))
    assert cells(page, "input")[0] == str(-(2**63))


def test_opsets_that_forbid_the_choice_are_struck_out(show):
    page = show(AxisExplorer(np.array([[True, False]]), axes=[1]))
    assert page.locator(".rkx-no").all_inner_texts() == ["1", "11", "12", "13", "18"]
    page.get_by_text("those struck out do not allow this choice").wait_for()


def test_pointing_at_an_input_shows_where_it_goes(show):
    page = show(AxisExplorer(NAMED, axes=[2]))
    page.locator(".rkx-input .rkx-cell").nth(5).hover()
    assert lit(page, "output") == ["index (0, 2, 0) value 6.0"]
    page.get_by_text(
        "Input [0, 2, 1] = 2.0 goes to output [0, 2, 0] = 6.0, with 1 other"
    ).wait_for()


def test_a_sum_shows_its_running_total(show):
    page = show(AxisExplorer(np.int32([[1, 2, 3]]), op="sum", axes=[1]))
    page.locator(".rkx-output .rkx-cell").first.focus()
    page.get_by_text("1 + 2 + 3. Running total: 1, 3, 6.").wait_for()


def test_everything_works_by_keyboard(show):
    page = show(AxisExplorer(NAMED, axes=[0]))
    axis(page, 1).focus()
    page.keyboard.press("Space")
    assert axis(page, 1).get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "axis 1 row (3)"
    page.keyboard.press("Enter")
    assert axis(page, 1).get_attribute("aria-pressed") == "false"
    page.locator(".rkx-input .rkx-cell[tabindex='0']").focus()
    where = "document.activeElement.getAttribute('aria-label').split(' value')[0]"
    for key, expected in [
        ("ArrowRight", "index (0, 0, 1)"), ("ArrowRight", "index (1, 0, 0)"),
        ("ArrowDown", "index (1, 1, 0)"), ("End", "index (1, 1, 1)"),
        ("PageUp", "index (0, 1, 1)"), ("Control+End", "index (1, 2, 1)"),
        ("Home", "index (1, 2, 0)"), ("ArrowUp", "index (1, 1, 0)"),
        ("ArrowLeft", "index (0, 1, 1)"), ("Control+Home", "index (0, 0, 0)"),
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate(where) == expected
    assert page.locator(".rkx-input .rkx-cell[tabindex='0']").count() == 1
    page.get_by_role("slider", name="opset").focus()
    page.keyboard.press("Home")
    assert page.get_by_text("1 \u2192 ReduceMax-1", exact=True).count()


def test_focus_stays_on_the_same_cell_through_a_change(show):
    page = show(AxisExplorer(NAMED, axes=[0], noop_with_empty_axes=True))
    cell = page.locator(".rkx-input .rkx-cell").nth(3)
    cell.focus()
    before = cell.get_attribute("aria-label")
    run = "choices => (" + EVERY_CHOICE + ")(choices)"
    page.evaluate(run, [{"axes": [1]}, {"op": "sum"}, {"keepdims": False}, {"opset": 18}])
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == before
    out = page.locator(".rkx-output .rkx-cell").nth(1)
    out.focus()
    page.evaluate(run, [{"op": "min"}, {"keepdims": True}])
    assert page.evaluate("document.activeElement.closest('.rkx-output') !== null")


def test_a_forbidden_choice_shows_the_librarys_words_and_the_way_out(show):
    data = np.array([[True, False], [True, True]])
    page = show(AxisExplorer(data, axes=[1], opset=20))
    slider = page.get_by_role("slider", name="opset")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    with pytest.raises(rk.DTypeError) as refused:
        rk.reduce_max(data, [1], opset=19)
    assert str(refused.value) in page.get_by_role("alert").inner_text()
    assert "not taken" in page.locator(".rkx-changes").inner_text()
    assert page.locator(".rkx-stage.rkx-dim").count() == 1
    assert cells(page, "output") == ["True", "True"]
    assert page.locator(".rkx-first").inner_text() == "20"
    page.get_by_role("button", name="Go to opset 20, the first that allows this").click()
    assert page.get_by_role("alert").count() == 0
    assert "bool arrives" in page.locator(".rkx-changes").inner_text()


def test_what_no_opset_allows_has_no_result_and_no_way_out(show):
    data = np.array([[True, False]])
    page = show(AxisExplorer(data, "sum", axes=[1]))
    with pytest.raises(rk.DTypeError) as refused:
        rk.reduce_sum(data, [1])
    assert str(refused.value) in page.get_by_role("alert").inner_text()
    assert page.get_by_role("button", name="Go to opset").count() == 0
    assert page.locator(".rkx-no").all_inner_texts() == ["1", "11", "13"]
    assert page.locator(".rkx-stage").get_attribute("data-note") == (
        "what would collapse, if an opset allowed it:"
    )
    page.locator(".rkx-output .rkx-cell").hover()
    page.get_by_text("Output [0, 0] = no result").wait_for()
    assert page.locator(".rkx-code").inner_text() == "no call does this"


def test_negative_axes_are_refused_below_opset_11(show):
    page = show(AxisExplorer(NAMED, axes=[0], opset=10))
    page.get_by_label("count axes from the end").check()
    with pytest.raises(rk.AxesError) as refused:
        rk.reduce_max(DATA, [-3], opset=10)
    assert str(refused.value) in page.get_by_role("alert").inner_text()
    page.get_by_label("strict").uncheck()
    assert page.get_by_role("alert").count() == 0


def test_the_atb_view(show):
    page = show(AxisExplorer(NAMED, axes=[0, 1], api="atb"))
    assert cells(page, "output") == texts(rk.reduce_max(DATA, [0, 1]))
    assert page.locator(".rkx-code").inner_text() == '{"reduceType": 1, "axis": [0, 1]}'
    assert "REDUCE_MAX (1)" in page.locator(".rkx-atb").inner_text()
    axis(page, 0).click()
    axis(page, 1).click()
    assert "axis is empty" in page.get_by_role("alert").inner_text()
    assert "broken: axis is not empty" in page.locator(".rkx-atb").inner_text()
    axis(page, 1).click()
    assert page.locator(".rkx-bad").count() == 0
    page.get_by_label("count axes from the end").check()
    with pytest.raises(rk.AxesError) as refused:
        rk.atb.ReduceOperation(rk.atb.ReduceParam(rk.atb.ReduceType.REDUCE_MAX, [-2]))
    assert str(refused.value) in page.get_by_role("alert").inner_text()
    assert "broken: each axis is 0 or more" in page.locator(".rkx-bad").inner_text()
    assert "REDUCE_UNDEFINED (0) is refused" in page.locator(".rkx-atb").inner_text()


def test_stepping_collapses_one_axis_after_another(show):
    page = show(AxisExplorer(NAMED, op="sum", axes=[0, 2]), reduced_motion="reduce")
    step = page.get_by_role("button", name="Step", exact=True)
    step.click()
    assert cells(page, "output") == ["9.0", "", "", "", "", ""]
    assert len(lit(page, "input")) == 2
    label = page.locator(".rkx-output .rkx-bracket").all_inner_texts()
    assert [" ".join(text.split()[:4]) for text in label] == [
        "axis 0 image (1)", "axis 1 row (3)", "axis 2 column (2)"
    ]  # fmt: skip
    page.get_by_text("collapsing axis 0 (1 of 2), cell 1 of 6; step 1 of 9").wait_for()
    page.get_by_role("button", name="Play").click()  # a whole axis, as motion is not wanted
    assert cells(page, "output") == texts(rk.reduce_sum(DATA, [0]))
    page.get_by_role("button", name="Play").click()
    assert cells(page, "output") == texts(rk.reduce_sum(DATA, [0, 2]))
    page.get_by_role("button", name="Leave stepping").click()
    assert page.locator(".rkx-input .rkx-cell").count() == 12


def test_playing_runs_to_the_end_and_can_be_paused(show):
    page = show(AxisExplorer(np.float32([[1, 2], [3, 4]]), axes=[0]))
    page.get_by_label("speed").fill("20")
    page.get_by_role("button", name="Play").click()
    page.get_by_text("step 2 of 2").wait_for()
    assert cells(page, "output") == ["3.0", "4.0"]


def test_axes_beyond_four_can_be_laid_out(show):
    data = np.arange(64.0).reshape((2,) * 6)
    page = show(AxisExplorer(data, axes=[5]))
    assert page.locator(".rkx-input .rkx-cell").count() == 16
    page.get_by_role("button", name="later along axis 0").click()
    assert cells(page, "input") == texts(data[1, 0])
    assert cells(page, "output") == texts(rk.reduce_max(data, [5])[1, 0])
    assert [axis(page, a).count() for a in range(6)] == [0, 0, 1, 1, 1, 1]
    page.get_by_label("lay out axis 0").select_option("in place of axis 4")
    page.get_by_label("lay out axis 1").select_option("in place of axis 2")
    assert [axis(page, a).count() for a in range(6)] == [1, 1, 0, 1, 0, 1]
    assert cells(page, "input") == texts(data[:, :, 0, :, 0, :])
    hues = page.locator(".rkx-input .rkx-cell").evaluate_all("ns => ns.map(n => n.rk.hue)")
    neighbours = np.reshape(hues, (2,) * 4).take(0, 3)
    for place in range(3):
        assert not np.any(neighbours.take(0, place) == neighbours.take(1, place))


def test_a_part_stands_until_python_has_laid_out_other_axes(show):
    page = show(AxisExplorer((30,) * 5, axes=[4]))
    before = cells(page, "input")
    page.evaluate(
        "async () => {"
        "  const { model } = document.querySelector('.rkx').parentNode.rkExplorer;"
        "  model.set('layout_axes', [0, 1, 3, 4]);"
        "  await new Promise((done) => setTimeout(done, 20)); }"
    )
    assert cells(page, "input") == before
    assert [axis(page, a).count() for a in range(5)] == [0, 1, 1, 1, 1]


def test_walking_over_equal_values_tells_each_cells_own_index(show):
    page = show(AxisExplorer(np.zeros((3, 2, 2, 2, 2)), axes=[4]))
    page.get_by_role("button", name="later along axis 0").click()
    first = page.locator(".rkx-input .rkx-cell").first
    assert first.get_attribute("aria-label") == "index (1, 0, 0, 0, 0) value 0.0"


def test_the_picture_and_the_page_have_the_same_colours(show):
    widget = AxisExplorer((2,) * 7, axes=[1, 6])
    widget.layout_axes = [0, 1, 5, 6]
    page = show(widget)
    hues = page.locator(".rkx-input .rkx-cell").evaluate_all("ns => ns.map(n => n.rk.hue)")
    drawn = re.findall(r'<rect [^>]*fill="(#\w{6})" fill-opacity', widget.to_svg())
    assert [plot.HUES[hue] for hue in hues] == drawn[: len(hues)]


SETTINGS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced colours": {"forced_colors": "active"},
    "narrow": {"width": 400},
    "contrast": {"contrast": "more", "color_scheme": "dark"},
}


@pytest.mark.parametrize(
    "setting",
    [
        name if name in ("light", "dark") else pytest.param(name, marks=pytest.mark.slow)
        for name in SETTINGS
    ],
)
def test_axe_finds_no_violation(show, setting):
    odd = np.float32([[np.nan, np.inf, -0.0], [1, 2, 3]])
    widgets = [AxisExplorer(NAMED, axes=[0, 1]), AxisExplorer(odd, axes=[1], opset=1, dtype="bool"),
               AxisExplorer((2, 0, 3), axes=[1]), AxisExplorer((900, 900), axes=[1])]  # fmt: skip
    for widget in widgets:
        page = show(widget, **SETTINGS[setting])
        if page.locator(".rkx-output .rkx-cell").count():
            page.locator(".rkx-output .rkx-cell").first.focus()
        assert axe_violations(page, ".rkx") == []
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


def test_states_are_told_apart_without_colour(show):
    page = show(AxisExplorer(NAMED, axes=[0, 1]), forced_colors="active")
    page.locator(".rkx-output .rkx-cell").nth(1).focus()

    def look(selector):
        return page.locator(selector).first.evaluate(
            "n => { const s = getComputedStyle(n);"
            "return [s.outlineStyle, s.outlineWidth, n.rk.win].join(); }"
        )

    looks = [look(s) for s in (
        ".rkx-input .rkx-cell:not(.rkx-lit)", ".rkx-input .rkx-lit:not(.rkx-win)",
        ".rkx-win:not(.rkx-lit)", ".rkx-lit.rkx-win", ".rkx-output .rkx-at",
    )]  # fmt: skip
    assert len(set(looks)) == 5
    kept, reduced = axis(page, 2), axis(page, 0)
    line = "n => getComputedStyle(n.querySelector('.rkx-line')).borderTopStyle"
    assert kept.evaluate(line) != reduced.evaluate(line)
    assert "reduced" in reduced.inner_text()
    refused = show(AxisExplorer(np.array([[True]]), axes=[1], opset=18), forced_colors="active")
    border = "n => getComputedStyle(n).borderTopStyle"
    assert refused.locator(".rkx-stage").evaluate(border) == "dashed"
    assert page.locator(".rkx-stage").evaluate(border) == "none"
    struck = "n => getComputedStyle(n).textDecorationLine"
    ticks = {n: refused.locator(".rkx-tick").nth(n).evaluate(struck) for n in (4, 5)}
    assert ticks == {4: "line-through", 5: "none"}


STARS = """() => [...document.querySelectorAll(".rkx-stars text")].flatMap((text) =>
  Array.from(text.textContent, (_, i) => {
    const box = text.getExtentOfChar(i), to = text.getScreenCTM();
    const place = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
    const { x, y } = place.matrixTransform(to);
    const cell = document.elementFromPoint(x, y);
    const { fill, display } = getComputedStyle(text);
    return [cell.ariaLabel, fill, display];
  }))"""


@pytest.mark.parametrize("colors", ["none", "active"])
def test_each_winner_and_no_other_has_a_star_on_it(show, colors):
    page = show(AxisExplorer(NAMED, axes=[0, 1]), forced_colors=colors)
    won = page.locator(".rkx-win").evaluate_all("ns => ns.map(n => n.ariaLabel)")
    assert len(won) == 3
    ink = page.locator(".rkx-cell").first.evaluate("n => getComputedStyle(n).color")
    assert sorted(page.evaluate(STARS)) == sorted([label, ink, "block"] for label in won)
    axis(page, 1).click()
    assert len(page.evaluate(STARS)) == page.locator(".rkx-win").count() == 7
    page.get_by_role("button", name="sum", exact=True).click()
    assert page.evaluate(STARS) == []


CONTRAST = """(cells) => cells.map((cell) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const ground = (node) => {
    if (node.parentElement) ground(node.parentElement);
    canvas.fillStyle = getComputedStyle(node).backgroundColor;
    canvas.fillRect(0, 0, 1, 1);
  };
  ground(document.querySelector(".rkx"));
  const lit = getComputedStyle(cell);
  const path = document.querySelector(`path.rkx-g${cell.rk.hue}`);
  canvas.globalAlpha = Number(getComputedStyle(path).fillOpacity);
  canvas.fillStyle = getComputedStyle(path).fill;
  canvas.fillRect(0, 0, 1, 1);
  canvas.globalAlpha = 1;
  canvas.fillStyle = lit.backgroundColor;
  canvas.fillRect(0, 0, 1, 1);
  const light = () => {
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const back = light();
  canvas.fillStyle = lit.color;
  canvas.fillRect(0, 0, 1, 1);
  const front = light();
  return Math.max(front / back, back / front);
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_values_are_legible_on_every_colour(show, scheme):
    page = show(AxisExplorer((3, 6), axes=[0]), color_scheme=scheme)
    assert page.locator(".rkx-input path").count() == 6
    rest = page.locator(".rkx-input .rkx-cell").evaluate_all(CONTRAST)
    lit = []
    for column in range(6):
        page.locator(".rkx-output .rkx-cell").nth(column).focus()
        lit += page.locator(".rkx-lit").evaluate_all(CONTRAST)
    assert len(rest) == 18
    assert len(lit) == 24
    assert min(rest + lit) > 4.5


def test_the_code_can_be_copied_or_is_selected_where_it_may_not(show):
    page = show(AxisExplorer(NAMED, axes=[0, 1]))
    page.get_by_role("button", name="NumPy").click()
    code = rk.explain("max", (2, 3, 2), [0, 1]).code["numpy"]
    page.get_by_role("button", name="Copy").click()  # a page without an address has no clipboard
    assert page.get_by_role("button", name="Selected").count() == 1
    assert page.evaluate("getSelection().toString()") == code
    axis(page, 1).click()
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        "{ value: { writeText: async (text) => { window.copied = text; } } })"
    )
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("copied") == rk.explain("max", (2, 3, 2), [0]).code["numpy"]


def test_a_page_that_reads_from_the_right_shows_the_same_picture(show):
    page = show(AxisExplorer(NAMED, axes=[0, 1]))
    before = page.locator(".rkx-stage").screenshot()
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert page.locator(".rkx-stage").screenshot() == before


def test_labels_do_not_overlap_cells_or_each_other(show):
    long = rk.Tensor(np.ones((2, 1, 2, 3)), dims=("a" * 60, "\u05e9\u05dc\u05d5\u05dd", "row", "c"))
    page = show(AxisExplorer(long, axes=[1, 3]))
    boxes = page.locator(".rkx-input :is(.rkx-bracket, .rkx-block)").evaluate_all(
        "ns => ns.map(n => { const b = n.getBoundingClientRect();"
        "return [b.left, b.top, b.right, b.bottom]; })"
    )
    assert all(b[2] > b[0] and b[3] > b[1] for b in boxes)
    for a, b in itertools.combinations(boxes, 2):
        apart = a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1
        assert apart, (a, b)


def test_two_views_of_one_model_agree_and_leave_nothing(show):
    page = show(AxisExplorer(NAMED, axes=[0]))
    url = "data:text/javascript;base64," + base64.b64encode(MODULE).decode()
    counts = page.evaluate(
        """async (url) => {
          const { render } = await import(url);
          const model = document.querySelector(".rkx").parentNode.rkExplorer.model;
          const el = document.body.appendChild(document.createElement("div"));
          const done = render({ model, el });
          el.querySelector("button.rkx-bracket[aria-label^='axis 2']").click();
          await new Promise((f) => setTimeout(f, 20));
          const shapes = [...document.querySelectorAll(".rkx-shapes")].map((n) => n.ariaLabel);
          done(); el.remove();
          model.set("op", "min");
          await new Promise((f) => setTimeout(f, 20));
          return shapes;
        }""",
        url,
    )
    assert counts == ["(2, 3, 2) becomes (1, 3, 1)"] * 2
    assert (
        page.get_by_role("button", name="min", exact=True).get_attribute("aria-pressed") == "true"
    )


def test_a_name_in_html_stays_text(show):
    t = rk.Tensor(np.zeros((1, 2)), dims=("</script><img src=x onerror=alert(1)>", "\u202eabc"))
    page = show(AxisExplorer(t, axes=[0]))
    assert page.locator(".rkx img").count() == 0


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (3, 2, 4), (2, 1, 3, 2)])
def test_groups_are_numpys(functions, shape):
    for axes in itertools.chain.from_iterable(
        itertools.combinations(range(len(shape)), n) for n in range(len(shape) + 1)
    ):
        out = [1 if i in axes else n for i, n in enumerate(shape)]
        numbers = np.arange(int(np.prod(out))).reshape(out)
        expected = np.broadcast_to(numbers, shape).reshape(-1).tolist()
        assert functions.evaluate("([s, a]) => rkx.groups(s, a)", [shape, list(axes)]) == expected


@pytest.mark.parametrize("seed", range(3))
def test_running_totals_are_exact_and_winners_are_the_librarys(functions, seed):
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal(20) * 10.0 ** rng.integers(-8, 9, 20)).tolist()
    totals = functions.evaluate("vs => rkx.runningTotals(vs, 'float', 64)", values)
    exact = list(itertools.accumulate(map(Fraction, values)))
    for shown, true in zip(totals, exact):
        assert abs(Fraction(shown) - true) <= abs(true) * Fraction(1, 10**5)
    bytes_ = rng.integers(-128, 128, 30).astype(np.int8)
    wrapped = functions.evaluate(
        "vs => rkx.runningTotals(vs.map(BigInt), 'int', 8)", bytes_.tolist()
    )
    assert wrapped == [str(rk.reduce_sum(bytes_[: n + 1], strict=False)[0]) for n in range(30)]
    small = rng.integers(-3, 4, 12).tolist()
    for op in ("max", "min"):
        best = getattr(np, op)(small)
        found = functions.evaluate(f"vs => rkx.winners(vs, '{op}')", small)
        assert found == [value == best for value in small]


def test_winners_follow_the_order_of_zeros_and_nan(functions):
    run = "(op) => rkx.winners([0, -0, 0].map((v) => v), op)"
    assert functions.evaluate(run, "max") == [True, False, True]
    assert functions.evaluate(run, "min") == [False, True, False]
    assert functions.evaluate("() => rkx.winners([1, NaN, Infinity, NaN], 'max')") == [
        False, True, False, True]  # fmt: skip
    odd = "() => rkx.runningTotals([-0, -0, Infinity, -Infinity], 'float', 32)"
    assert functions.evaluate(odd) == ["-0.0", "-0.0", "inf", "NaN"]


def test_where_no_script_runs_a_picture_and_text_stand(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(AxisExplorer(NAMED, axes=[0, 1]).to_html(page=True))
    image = page.locator("img")
    box = image.bounding_box()
    assert box["width"] > 300
    assert box["height"] > 100
    assert "max of (2, 3, 2) over axes 0, 1" in image.get_attribute("alt")
    assert "output [0, 0, 1]: max of {7.0" in page.locator("pre").inner_text()
    context.close()


def test_json_on_the_page_is_what_python_sent():
    widget = AxisExplorer(NAMED, axes=[0])
    page = widget.to_html()
    data = page[page.index("mount(place,") + len("mount(place,") : page.rindex(")}</script>")]
    assert json.loads(data) == json.loads(json.dumps(widget.snapshot()))
