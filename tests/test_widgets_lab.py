"""The explorer in a real JupyterLab: the kernel and the page agree, and keys stay in the widget."""

import subprocess
import sys

import pytest
from browser import Watch, axe_violations
from jupyter import command, open_notebook, server

nbformat = pytest.importorskip("nbformat", reason="pip install 'reducekit[lab]'")
pytest.importorskip("anywidget", reason="the notebook extra is not installed")
pytest.importorskip("jupyterlab", reason="JupyterLab is missing: pip install 'reducekit[lab]'")

SOURCE = """\
import numpy as np, ipywidgets
from reducekit.widgets import AxisExplorer
data = np.arange(12, dtype="float32").reshape(2, 3, 2) * 7 % 11
w = AxisExplorer(data, axes=[0], opset=20)
heard = ipywidgets.Label()
def hear(change=None):
    heard.value = f"heard {w.op} {w.axes} {w.opset} {w.dtype} {np.shape(w.result)} {w.error[:20]}"
w.observe(hear, ["result", "error"]); hear()
display(heard)
w"""


def notebook(path, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    for number, cell in enumerate(cells):
        cell.id = f"cell{number}"
    book = nbformat.v4.new_notebook(cells=cells)
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, path)
    return path


@pytest.fixture(scope="module")
def lab(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("lab")
    with server(folder) as address:
        yield folder, address, browser


@pytest.fixture
def live(lab):
    """A notebook that has run, with its explorer on the screen."""
    folder, address, browser = lab
    notebook(folder / "live.ipynb", SOURCE, "w.result.shape")
    context = browser.new_context(viewport={"width": 1200, "height": 1000}, reduced_motion="reduce")
    page = context.new_page()
    watch = Watch(page)
    open_notebook(page, address, "live.ipynb")
    command(page, "notebook:run-all-cells")
    page.wait_for_selector(".rkx", timeout=60_000)
    page.get_by_text("heard max [0] 20").wait_for()
    yield page
    context.close()
    assert not watch.faults


def axis(page, position):
    return page.locator(f"button.rkx-bracket[aria-label^='axis {position}']")


def test_the_kernel_and_the_screen_agree_and_keys_stay_inside(live):
    page = live
    axis(page, 1).click()
    page.get_by_text("heard max [0, 1] 20 float32 (1, 1, 2)").wait_for()
    label = page.locator(".rkx-shapes").get_attribute("aria-label")
    assert label == "(2, 3, 2) becomes (1, 1, 2)"
    page.get_by_role("button", name="sum", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_text("heard sum [0, 1] 20").wait_for()
    page.get_by_label("element type").select_option("bool")
    page.get_by_text("heard sum [0, 1] 20 bool () reduce_sum: ReduceSum").wait_for()
    page.get_by_role("alert").filter(has_text="does not take bool").wait_for()
    page.get_by_label("element type").select_option("float32")
    page.get_by_text("heard sum [0, 1] 20 float32 (1, 1, 2)").wait_for()

    def cells():
        return page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"
            ".map((cell) => [cell.id, cell.cell_type, cell.source])"
        )

    before = cells()
    controls = page.locator(".rkx :is(button, input, select, pre, .rkx-cell[tabindex='0'])")
    pressed = 0
    for control in map(controls.nth, range(controls.count())):
        # A letter picks an entry of a list, which may hide what stood after it.
        if not control.is_visible() or not control.is_enabled():
            continue
        control.focus()
        for key in ("b", "a", "x", "y", "m", "d", "d"):
            page.keyboard.press(key)
        pressed += 1
        assert cells() == before, control.evaluate("n => n.outerHTML.slice(0, 120)")
    assert pressed > 15
    assert len(before) == 2
    assert page.locator(".rkx").count() == 1
    page.locator(".rkx-input .rkx-cell").first.focus()
    page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty = true")
    page.keyboard.press("Control+s")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    assert page.locator("[data-rk-key]").evaluate("n => n.contains(document.activeElement)")


@pytest.mark.slow
def test_every_theme_is_readable(live):
    page = live
    for theme in ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"):
        command(page, "apputils:change-theme", {"theme": theme})
        page.wait_for_function("t => document.body.dataset.jpThemeName === t", arg=theme)
        page.wait_for_timeout(300)
        page.locator(".rkx-output .rkx-cell").first.focus()
        assert axe_violations(page, ".rkx") == []
    command(page, "apputils:change-theme", {"theme": "JupyterLab Light"})


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [True, False])
def test_a_saved_notebook_that_was_not_run_shows_the_picture(lab, live, trusted):
    folder, address, browser = lab
    command(live, "docmanager:save")
    live.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    book = nbformat.read(folder / "live.ipynb", 4)
    if not trusted:
        book.cells[0].source += "  # edited elsewhere"
        for output in book.cells[0].outputs:
            output.metadata = {"from": "elsewhere"}
    nbformat.write(book, folder / "saved.ipynb")
    context = browser.new_context(viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    open_notebook(page, address, "saved.ipynb")
    picture = ".rkx" if trusted else ".jp-OutputArea img"
    page.wait_for_selector(picture)
    page.wait_for_function("s => document.querySelector(s).offsetHeight > 100", arg=picture)
    texts = page.locator(".jp-OutputArea-child:has(.rkx, img)").all_inner_texts()
    assert not any("model not found" in text for text in texts)
    if trusted:
        axis(page, 1).click()
        label = page.locator(".rkx-shapes").get_attribute("aria-label")
        assert label == "(2, 3, 2) becomes (1, 1, 2)"
    context.close()


@pytest.mark.slow
def test_a_large_tensor_is_walked_through_with_the_kernel(lab):
    folder, address, browser = lab
    source = (
        "import numpy as np\nfrom reducekit.widgets import AxisExplorer\n"
        "AxisExplorer(np.arange(1_000_000).reshape(1000, 1000), axes=[1])"
    )
    notebook(folder / "large.ipynb", source)
    page = browser.new_page()
    open_notebook(page, address, "large.ipynb")
    command(page, "notebook:run-all-cells")
    page.wait_for_selector(".rkx", timeout=60_000)
    page.get_by_role("button", name="later along axis 0").click()
    page.locator(".rkx-input [aria-label='index (6, 0) value 6000']").wait_for()
    page.locator(".rkx-output [aria-label='index (6, 0) value 6999']").wait_for()
    axis(page, 0).click()
    page.locator(".rkx-output [aria-label='index (0, 0) value 999999']").wait_for()
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("state", ["--ExecutePreprocessor.store_widget_state=False", ""])
def test_an_export_works_without_a_kernel_and_without_a_network(tmp_path, browser, state):
    pytest.importorskip("nbconvert")
    path = notebook(tmp_path / "page.ipynb", SOURCE)
    command_line = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", str(path)]
    subprocess.run([*command_line, *([state] if state else [])], check=True, capture_output=True)
    context = browser.new_context(viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
    page.goto(path.with_suffix(".html").as_uri())
    page.wait_for_selector(".rkx", timeout=20_000)
    axis(page, 1).click()
    label = page.locator(".rkx-shapes").get_attribute("aria-label")
    assert label == "(2, 3, 2) becomes (1, 1, 2)"
    page.locator(".rkx-output .rkx-cell").first.hover()
    assert page.locator(".rkx-input .rkx-lit").count() == 6
    context.close()
