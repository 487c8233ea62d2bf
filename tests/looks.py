"""The main states of the explorer, and what is stored of how each looks.

`python tests/looks.py` draws all states anew and writes `looks.json`; look at the pictures that
it leaves in a folder before you keep it. The documentation shows six of them.
"""

import json
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np

import reducekit as rk

STORED = Path(__file__).with_name("looks.json")
GRIDS = {"input": (20, 10), "output": (12, 6)}  # of the coarse grey pictures

VALUES = np.array([[[1, 7], [3, 10], [6, 2]], [[9, 5], [4, 10], [0, 8]]], np.int32)
THREE = rk.Tensor(VALUES, dims=("image", "row", "column"), opset=18)
FOUR = rk.Tensor(
    np.arange(48).reshape(2, 2, 3, 4) * 7 % 19, dims=("batch", "channel", "row", "column")
)
ODD = np.float32([[np.nan, 1, np.inf], [-0.0, 0.0, -1.5]])
LARGE = np.broadcast_to(np.arange(1000, dtype=np.float32), (1000, 1000, 1000))

# Whose boxes are stored. Parts without size, or that a state does not show, are left out.
PARTS = (
    ".rkx-bar", ".rkx-flags", ".rkx-opsetrow", ".rkx-changes", ".rkx-atb", ".rkx-error",
    ".rkx-shapes", ".rkx-say", ".rkx-input", ".rkx-input .rkx-grid", ".rkx-arrow", ".rkx-output",
    ".rkx-output .rkx-grid", ".rkx-status", ".rkx-others", ".rkx-steps", ".rkx-codebox",
)  # fmt: skip

BOXES = """(parts) => {
  const root = document.querySelector(".rkx").getBoundingClientRect();
  const found = {};
  for (const part of parts) {
    const box = document.querySelector(part)?.getBoundingClientRect();
    if (box && box.width) found[part] = [box.x - root.x, box.y - root.y, box.width, box.height];
  }
  found[".rkx"] = [0, 0, root.width, root.height];
  return found;
}"""

# What can be seen of the cells of a tensor.
VISIBLE = """(kind) => {
  const [grid, scroll] = [".rkx-grid", ".rkx-scroll"].map(
    (part) => document.querySelector(`.rkx-${kind} ${part}`).getBoundingClientRect());
  const right = Math.min(grid.right, scroll.right), bottom = Math.min(grid.bottom, scroll.bottom);
  return [grid.x + scrollX, grid.y + scrollY, right - grid.x, bottom - grid.y];
}"""

# Labels and cells whose texts lie over each other, or beyond their own boxes.
CLASHES = """() => {
  const boxes = [...document.querySelectorAll(
    ".rkx-axis, .rkx-cell, .rkx-cap, .rkx-shapes, .rkx-say, .rkx label, " +
    ".rkx button:not(.rkx-bracket)"
  )].filter((n) => n.offsetParent).map((n) => [n, n.getBoundingClientRect()]);
  const clashes = [];
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 1 && high > 1 && !a.contains(b) && !b.contains(a)) {
      clashes.push(`${a.className} ${a.textContent} | ${b.className} ${b.textContent}`);
    }
  }));
  return clashes;
}"""


def explorer(*arguments, **options):
    """An explorer, from the extra that may be missing."""
    from reducekit.widgets import AxisExplorer

    return AxisExplorer(*arguments, **options)


def point(page):
    """Move to the second output, or the first if there is one."""
    cells = page.locator(".rkx-output .rkx-cell")
    cells.nth(min(1, cells.count() - 1)).focus()
    page.wait_for_timeout(120)


def three_steps(page):
    """Step three times."""
    for _ in range(3):
        page.get_by_role("button", name="Step", exact=True).click()


def rest(page):
    """Touch nothing."""


DARK, CALM = {"color_scheme": "dark"}, {"reduced_motion": "reduce"}
STATES = {
    "max": (lambda: explorer(THREE, axes=[0, 1]), point, {}),
    "sum": (lambda: explorer(FOUR, "sum", ["channel", "column"], False), point, {}),
    "forbidden": (lambda: explorer(VALUES > 5, axes=[0], opset=18), rest, {}),
    "step": (lambda: explorer(THREE, axes=[0, 2]), three_steps, CALM),
    "atb": (lambda: explorer(THREE, axes=[0, 1], api="atb"), rest, {}),
    "odd": (lambda: explorer(ODD, "min", [1]), point, DARK),
    "empty": (lambda: explorer((2, 0, 3), axes=[1]), rest, {}),
    "rank 0": (lambda: explorer(np.float32(2.5)), point, {}),
    "large": (lambda: explorer(LARGE, axes=[2]), point, {}),
    "forced": (lambda: explorer(THREE, axes=[0, 1]), point, {"forced_colors": "active"}),
    "narrow": (lambda: explorer(FOUR, "min", [1]), point, {"width": 480}),
}


def open_state(browser, name):
    """A page that shows a state."""
    make, act, options = STATES[name]
    options = dict(options)
    size = {"width": options.pop("width", 1040), "height": 800}
    page = browser.new_page(viewport=size, **options)
    page.set_content(make().to_html(page=True))
    page.wait_for_selector(".rkx")
    act(page)
    page.wait_for_timeout(150)
    return page


def look(page):
    """What is kept of a page: the boxes of its parts, and coarse grey pictures of the cells."""
    from PIL import Image

    boxes = {name: [round(x) for x in box] for name, box in page.evaluate(BOXES, PARTS).items()}
    grey = {}
    for kind, size in GRIDS.items():
        x, y, width, height = page.evaluate(VISIBLE, kind)
        if width <= 0:
            continue
        picture = page.screenshot(
            clip={"x": x, "y": y, "width": width, "height": height}, full_page=True
        )
        small = Image.open(BytesIO(picture)).convert("L").resize(size, Image.Resampling.BOX)
        grey[kind] = small.tobytes().hex()
    return {"boxes": boxes, "grey": grey}


def main():
    """Store how all states look now."""
    from browser import chromium

    folder = Path(tempfile.mkdtemp(prefix="looks-"))
    found = {}
    with chromium() as browser:
        for name in STATES:
            page = open_state(browser, name)
            found[name] = look(page)
            page.locator(".rkx").screenshot(path=folder / f"{name}.png")
            page.close()
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
    STORED.write_text(f"{{\n{rows}\n}}\n")
    print(f"look at the pictures in {folder}")


if __name__ == "__main__":
    main()
