"""How fast the explorer is in a browser, and how large: `python tests/measure_explorer.py`.

Times are those of the page's main thread, from the browser's own trace: script, style, layout,
paint and the hand-over to the compositor. Beside the time that passed stands the time that the
processor worked, which other programs on the machine do not lengthen. Before a picture is on the
screen it is rastered and drawn too, by threads of their own and mostly by a graphics card; this
browser has none, and what that costs has rows of its own. With --lab the way through the kernel of
a JupyterLab is measured as well. Chromium and the `browser` extra are needed.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import numpy as np
from browser import chromium
from jupyter import command, open_notebook, server

from reducekit.widgets import AxisExplorer, state

HOVERS, CHANGES = 60, 24
RUN_TASK = ("RunTask", "ThreadControllerImpl::RunTask")
DRAW = "Display::DrawAndSwap"
WORK = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
LIMITS = {"hover": 16, "change": 10, "kernel": 150, "size": 60_000}

MIDDLES = """() => {
  const scroll = document.querySelector(".rkx-input .rkx-scroll").getBoundingClientRect();
  return [...document.querySelectorAll(".rkx-input .rkx-cell")]
    .map((cell) => cell.getBoundingClientRect())
    .filter((b) => b.left > scroll.left && b.right < scroll.right && b.bottom < innerHeight)
    .map((b) => [b.x + b.width / 2, b.y + b.height / 2]);
}"""

# From the click to the end of layout, without paint.
CLICK = """async (selector) => {
  const start = performance.now();
  document.querySelector(selector).click();
  await null; await null;
  document.querySelector(".rkx").getBoundingClientRect();
  return performance.now() - start;
}"""

# From the click to the first frame after an answer that only the kernel can have given.
ROUND_TRIP = """async ([selector, heard]) => {
  const label = [...document.querySelectorAll(".widget-label, .jupyter-widgets")]
    .find((node) => node.textContent.startsWith("heard"));
  const before = label.textContent, start = performance.now();
  document.querySelector(selector).click();
  while (label.textContent === before) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""

NOTEBOOK = """\
import ipywidgets, numpy as np
from reducekit.widgets import AxisExplorer
w = AxisExplorer(np.arange(1000.0).reshape(20, 50) * 7 % 19, axes=[1])
heard = ipywidgets.Label("heard")
w.observe(lambda change: setattr(heard, "value", f"heard {w.axes} {w.result.shape}"), "result")
display(heard)
w"""


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", action="store_true", help="also through a kernel in JupyterLab")
    options = parser.parse_args()
    static = Path(state.__file__).parent / "static"
    size = sum((static / name).stat().st_size for name in ("explorer.js", "explorer.css"))
    print(f"module and style sheet: {size:,} bytes (limit {LIMITS['size']:,})\n")
    print(f"{'milliseconds':<44}  limit  median longest   CPU: median longest")
    shapes = [((2, 4, 5, 50), [1, 3]), ((20, 100), [1]), ((2, 4, 5, 50), [0, 1, 2, 3])]
    with chromium() as browser:
        for shape, axes in shapes:
            row(f"hover, {shape} over {axes}", "hover", hovers(browser, shape, axes))
        for shape, axes in [((20, 50), [1]), ((2, 5, 10, 10), [1, 3])]:
            for name, times in axis_changes(browser, shape, axes).items():
                row(f"axis, {shape}: {name}", "change", times)
        if options.lab:
            row("axis, (20, 50), through the kernel", "kernel", round_trips(browser))


def row(name, limit, times):
    """One line: the time that passed, and the time that the processor worked."""
    passed, worked = [t for t, _ in times], [t for _, t in times if t is not None]
    text = f"{name:<44} {LIMITS[limit]:>6} {statistics.median(passed):>7.1f} {max(passed):>7.1f}"
    if worked:
        text += f"        {statistics.median(worked):>7.1f} {max(worked):>7.1f}"
    print(text, flush=True)


def example(shape):
    """Values with ties, as many as are drawn."""
    return np.arange(float(np.prod(shape))).reshape(shape) * 7 % 19


def opened(browser, shape, axes):
    """A page with an explorer, at rest."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_content(AxisExplorer(example(shape), axes=axes).to_html(page=True))
    page.wait_for_selector(".rkx")
    page.wait_for_timeout(500)
    return page


def hovers(browser, shape, axes):
    """The longest piece of work of the main thread after each of many moves of the pointer."""
    page = opened(browser, shape, axes)
    places = page.evaluate(MIDDLES)
    chosen = np.random.default_rng(0).integers(0, len(places), HOVERS)
    browser.start_tracing(page=page, categories=["devtools.timeline", "toplevel"])
    for place in chosen:
        page.mouse.move(*places[place])
        page.wait_for_timeout(130)
    found = tasks(json.loads(browser.stop_tracing()), "mousemove")
    page.close()
    return [max(work) for work in found if work]


def axis_changes(browser, shape, axes):
    """Each change of the axes: script, style and layout; with paint; and until it is drawn."""
    page = opened(browser, shape, axes)
    selectors = [f".rkx-input button.rkx-bracket[aria-label^='axis {a} ']" for a in (0, 1)]
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked():
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * sum(m["value"] for m in metrics if m["name"] in WORK)

    bare = []
    for i in range(CHANGES):
        before = worked()
        passed = page.evaluate(CLICK, selectors[i % 2])
        bare.append((passed, worked() - before))
        page.wait_for_timeout(100)
    session.detach()  # counting costs time of its own
    browser.start_tracing(page=page, categories=["devtools.timeline", "toplevel", "cc", "viz"])
    for i in range(CHANGES):
        # Without moving the focus, which would paint frames of its own.
        page.evaluate("(selector) => document.querySelector(selector).click()", selectors[i % 2])
        page.wait_for_timeout(250)
    trace = json.loads(browser.stop_tracing())
    page.close()
    painted = [total(work) for work in tasks(trace, "click")]
    rastered, drawn = (list(beside(trace, "click", name)) for name in ("RasterTask", DRAW))
    return {
        "script, style, layout": bare, "the same with paint": painted, "raster": rastered,
        "drawing": drawn, "all together": [total(t) for t in zip(painted, rastered, drawn)],
    }  # fmt: skip


def total(times):
    """Pairs of times, added."""
    return tuple(map(sum, zip(*times, strict=True)))


def dispatches(trace, kind):
    """When events of a kind were dispatched, each with the time of the next; and the thread."""
    events = [
        e for e in trace["traceEvents"]
        if e.get("ph") == "X" and e["name"] == "EventDispatch" and e["args"]["data"]["type"] == kind
    ]  # fmt: skip
    (thread,) = {(e["pid"], e["tid"]) for e in events}
    starts = sorted(e["ts"] for e in events)
    return list(zip(starts, [*starts[1:], float("inf")], strict=True)), thread


def beside(trace, kind, name):
    """For each event of a kind, the work of a name that any thread did until the next."""
    work = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e["name"] == name]
    for start, after in dispatches(trace, kind)[0]:
        mine = [e for e in work if start < e["ts"] < after]
        yield sum(e["dur"] for e in mine) / 1000, sum(e.get("tdur", 0) for e in mine) / 1000


def tasks(trace, kind):
    """For each event of a kind, the tasks from it to the end of its frame, in milliseconds."""
    spans, thread = dispatches(trace, kind)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    own = [e for e in events if (e["pid"], e["tid"]) == thread]
    work = sorted((e for e in own if e["name"] in RUN_TASK), key=lambda e: e["ts"])
    frames = sorted(e["ts"] + e["dur"] for e in own if e["name"] == "Paint")
    for start, after in spans:
        painted = next((end for end in frames if start < end < after), None)
        if painted is None:
            continue
        yield [
            (e["dur"] / 1000, e.get("tdur", 0) / 1000)
            for e in work
            if e["ts"] <= painted and e["ts"] + e["dur"] > start
        ]


def round_trips(browser):
    """From a click to the frame that shows what the kernel answered."""
    import nbformat

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
        book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(book, folder / "speed.ipynb")
        with server(folder) as address:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            open_notebook(page, address, "speed.ipynb")
            command(page, "notebook:run-all-cells")
            page.wait_for_selector(".rkx", timeout=60_000)
            page.wait_for_timeout(1000)
            times = []
            for i in range(CHANGES):
                selector = f".rkx-input button.rkx-bracket[aria-label^='axis {i % 2} ']"
                times.append((page.evaluate(ROUND_TRIP, [selector, "heard"]), None))
                page.wait_for_timeout(200)
            page.close()
    return times


if __name__ == "__main__":
    main()
