"""Draw the pictures of the README and of the documentation: `python docs/make_images.py`.

The screenshots need Chromium and playwright (the `browser` extra).
"""

from pathlib import Path
from shutil import which

import matplotlib as mpl
import numpy as np

import reducekit as rk
from reducekit import plot
from reducekit.widgets import AxisExplorer

FOLDER = Path(__file__).parent / "images"
VALUES = np.array([[[1, 7], [3, 10], [6, 2]], [[9, 5], [4, 10], [0, 8]]], np.int32)
THREE = rk.Tensor(VALUES, dims=("image", "row", "column"), opset=18)
FOUR = rk.Tensor(
    np.arange(48).reshape(2, 2, 3, 4) * 7 % 19, dims=("batch", "channel", "row", "column")
)


def main():
    """Draw all of them."""
    FOLDER.mkdir(exist_ok=True)
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "reducekit"  # the same picture has the same bytes
    save(plot.collapse(THREE, "max", ["image", "row"]), "collapse.png")
    save(plot.collapse(THREE, "sum", ["column"], keepdims=False), "collapse-sum.svg")
    save(plot.collapse(FOUR, "max", ["channel", "column"]), "collapse-rank-4.svg")
    save(plot.timeline("max"), "timeline.svg")
    screenshots()


def save(ax, name):
    """Write a figure."""
    metadata = {"Date": None} if name.endswith("svg") else {}
    ax.figure.savefig(FOLDER / name, dpi=140, metadata=metadata, facecolor="white")


def screenshots():
    """Write the main states of the explorer, as a browser shows them."""
    from playwright.sync_api import sync_playwright

    odd = np.float32([[np.nan, 1, np.inf], [-0.0, 0.0, -1.5]])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"],
        )

        def shoot(name, widget, act=None, **options):
            page = browser.new_page(viewport={"width": 960, "height": 700}, **options)
            page.set_content(widget.to_html(page=True))
            page.wait_for_selector(".rkx")
            if act is not None:
                act(page)
            page.wait_for_timeout(200)
            page.locator(".rkx").screenshot(path=FOLDER / f"explorer-{name}.png")
            page.close()

        def point(page):
            page.locator(".rkx-output .rkx-cell").nth(1).focus()

        def three_steps(page):
            for _ in range(3):
                page.get_by_role("button", name="Step", exact=True).click()

        shoot("max", AxisExplorer(THREE, axes=[0, 1]), point)
        shoot("sum", AxisExplorer(FOUR, "sum", ["channel", "column"], False), point)
        shoot("forbidden", AxisExplorer(VALUES > 5, axes=[0], opset=18))
        shoot("step", AxisExplorer(THREE, axes=[0, 2]), three_steps, reduced_motion="reduce")
        shoot("atb", AxisExplorer(THREE, axes=[0, 1], api="atb"))
        shoot("odd", AxisExplorer(odd, "min", [1]), point, color_scheme="dark")
        browser.close()


if __name__ == "__main__":
    main()
